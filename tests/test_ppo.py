"""PPO: its loss against one by hand, the targets of the forecasts, pull, pool, the critic that sees all, learning."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch as th
from torch import nn

from spirits_env import games
from spirits_env.agents import RandomAgent
from spirits_env.arena import evaluate
from spirits_env.state import State
from training import learner as learners
from training.agent import NetworkAgent
from training.config import Config, LearnerConfig, NetworkConfig, UtilityConfig
from training.learner import entropy_of, masked_log_softmax, mean_of, pick_device, pick_precision
from training.networks import Heads
from training.ppo import PPO
from training.rollout import Asked

FOREST = games.load("forest")
ACTIONS, CATEGORIES = len(FOREST.actions), len(FOREST.categories)


def make(
    players: tuple[int, ...] = (2,),
    opponents: tuple[Any, ...] = (),
    utility: UtilityConfig | None = None,
    **changes: Any,
) -> PPO:
    settings = {"games": 3, "batch_size": 128, "epochs": 1, **changes}
    config = Config(
        players=players,
        threads=1,
        device="cpu",
        precision="float32",
        network=NetworkConfig(width=8, context=16, icon=8),
        learner=LearnerConfig(**settings),
        utility=utility or UtilityConfig(margin_weight=0.0),
    )
    config.check()
    return PPO(config, opponents)


def tensors(rows: dict[str, np.ndarray]) -> dict[str, th.Tensor]:
    return {name: th.as_tensor(values) for name, values in rows.items()}


def number(value: th.Tensor) -> float:
    return float(value.detach())


def flat(network: nn.Module) -> th.Tensor:
    return nn.utils.parameters_to_vector(network.parameters()).detach().clone()


class Table(nn.Module):
    """A network of free numbers: one row of logits, values and forecasts for each row of the batch."""

    def __init__(self, logits: Any, **heads: Any) -> None:
        super().__init__()
        self.logits = nn.Parameter(th.as_tensor(logits, dtype=th.float32))
        rows = len(self.logits)
        self.values = nn.Parameter(th.as_tensor(heads.get("values", th.zeros(rows, 4)), dtype=th.float32))
        self.leads = nn.Parameter(th.as_tensor(heads.get("leads", th.zeros(rows, 4, 2)), dtype=th.float32))
        self.margins = nn.Parameter(th.as_tensor(heads.get("margins", th.zeros(rows, 4)), dtype=th.float32))
        self.oracle = heads.get("oracle")
        self.hidden = 0

    def heads(self, observation: th.Tensor, hidden: th.Tensor | None = None) -> Heads:
        return Heads(self.logits, self.values, self.leads, self.margins, self.oracle)

    def forward(self, observation: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        return self.logits, self.values[:, 0]


def batch_of(rows: int, actions: int, **changes: Any) -> dict[str, th.Tensor]:
    """A minibatch for a table."""
    batch = {
        "observation": th.zeros(rows, 1),
        "mask": th.ones(rows, actions, dtype=th.int8),
        "action": th.zeros(rows, dtype=th.int64),
        "log_prob": th.full((rows,), -math.log(actions)),
        "advantage": th.zeros(rows),
        "returns": th.zeros(rows, 4),
        "present": th.ones(rows, 4),
        "lead": th.zeros(rows, 4, 2),
        "margin": th.zeros(rows, 4),
    }
    return {**batch, **{name: th.as_tensor(value) for name, value in changes.items()}}


# --- the loss ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("oracle", [False, True])
def test_before_the_first_update_every_action_is_as_likely_as_when_it_was_drawn(oracle: bool) -> None:
    ppo = make((2, 3), oracle=oracle)
    rollout = ppo.play()
    data = tensors(ppo.prepare(rollout))
    with th.no_grad():
        heads = ppo.network.heads(data["observation"], data.get("hidden"))
        chances = masked_log_softmax(heads.logits, data["mask"])
        _, metrics = ppo.loss(data)
    np.testing.assert_allclose(
        chances[th.arange(len(rollout)), data["action"]].exp(), np.exp(rollout.kept["log_prob"]), rtol=1e-5
    )
    value = heads.oracle if oracle else heads.values[:, 0]
    assert value is not None
    np.testing.assert_allclose(value, rollout.kept["value"], atol=1e-5)
    assert number(metrics["train/approx_kl"]) == pytest.approx(0, abs=1e-6)
    assert number(metrics["train/clip_fraction"]) == 0
    # With ratio 1 the policy loss is the mean of the normalised advantages.
    assert number(metrics["train/policy_loss"]) == pytest.approx(0, abs=1e-5)
    assert (rollout.mask[np.arange(len(rollout)), rollout.action] == 1).all()


def test_the_gradient_of_the_clipped_loss_is_that_by_hand() -> None:
    ppo = make(
        clip=0.2, entropy=0.0, final_entropy=0.0, value_weight=0, others_weight=0, lead_weight=0, margin_weight=0
    )
    logits = np.log([[0.5, 0.3, 0.2], [0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8], [0.4, 0.4, 0.2]])
    action = np.array([0, 0, 1, 0, 1])
    now = np.exp(logits)[np.arange(5), action]
    # As likely as before, or so much more or less.
    ratio = np.array([1.0, 1.5, 1.5, 0.5, 0.5])
    raw = np.array([2.0, 3.0, -4.0, -1.0, 1.0])
    ppo.network = Table(logits)  # type: ignore[assignment]
    loss, metrics = ppo.loss(
        batch_of(5, 3, action=action, log_prob=np.log(now / ratio).astype(np.float32), advantage=raw.astype(np.float32))
    )
    loss.backward()  # type: ignore[no-untyped-call]
    advantage = (raw - raw.mean()) / raw.std()
    by_hand = [
        advantage[0],
        1.2 * advantage[1],  # more likely already and good: clipped
        1.5 * advantage[2],  # more likely though bad
        0.8 * advantage[3],  # less likely already and bad: clipped
        0.5 * advantage[4],  # less likely though good
    ]
    assert number(metrics["train/policy_loss"]) == pytest.approx(-np.mean(by_hand), rel=1e-5)
    assert number(loss) == pytest.approx(-np.mean(by_hand), rel=1e-5)
    assert number(metrics["train/clip_fraction"]) == pytest.approx(0.8)
    one_hot = np.eye(3)[action]
    expected = -(advantage * ratio)[:, None] * (one_hot - np.exp(logits)) / 5
    expected[[1, 3]] = 0
    assert ppo.network.logits.grad is not None
    np.testing.assert_allclose(ppo.network.logits.grad, expected, atol=1e-6)


def test_entropy_is_over_legal_actions_and_its_bonus_falls_over_the_run() -> None:
    mask = th.zeros(3, 8, dtype=th.int8)
    mask[0, :4] = mask[1, :1] = mask[2, 5:7] = 1
    logits = th.zeros(3, 8)
    logits[2, 5] = math.log(3)
    expected = (math.log(4) + 0 - (0.75 * math.log(0.75) + 0.25 * math.log(0.25))) / 3
    assert float(entropy_of(masked_log_softmax(logits, mask))) == pytest.approx(expected, rel=1e-6)
    ppo = make(entropy=0.02, final_entropy=0.004)
    ppo.network = Table(logits)  # type: ignore[assignment]
    batch = batch_of(3, 8, mask=mask, action=np.array([0, 0, 5]))
    for done, weight in ((0, 0.02), (0.25, 0.016), (1, 0.004), (1.5, 0.004)):
        ppo.decisions = int(done * ppo.config.decisions)
        loss, metrics = ppo.loss(batch)
        rest = sum(number(metrics[f"train/{name}_loss"]) * w for name, w in WEIGHTS.items())
        assert number(loss) == pytest.approx(rest - weight * expected, rel=1e-5)


WEIGHTS = {"policy": 1.0, "value": 0.5, "others": 0.1, "lead": 0.1, "margin": 0.1}


def test_the_step_size_and_the_share_of_the_margin_fall_over_the_run() -> None:
    utility = UtilityConfig(margin_weight=0.5, final_margin_weight=0.1)
    ppo = make(utility=utility, learning_rate=1e-3, final_learning_rate=2e-4)
    ppo.decisions = ppo.config.decisions // 4
    assert (ppo.learning_rate, ppo.utility_margin_weight) == (pytest.approx(8e-4), pytest.approx(0.4))
    rollout = ppo.play()
    metrics = ppo.learn(rollout)
    assert ppo.optimizer.param_groups[0]["lr"] == pytest.approx(8e-4)
    assert metrics["train/learning_rate"] == pytest.approx(8e-4)
    assert metrics["train/utility_margin_weight"] == pytest.approx(0.4)


def test_a_single_legal_action_gives_finite_gradients() -> None:
    ppo = make()
    mask = np.zeros((2, ACTIONS), np.int8)
    mask[:, 58] = 1
    loss, _ = ppo.loss(
        batch_of(
            2, ACTIONS, observation=np.zeros((2, FOREST.layout.size), np.int8), mask=mask, action=np.array([58, 58]),
            log_prob=np.zeros(2, np.float32), lead=np.zeros((2, 4, CATEGORIES), np.float32),
        )
    )  # fmt: skip
    loss.backward()  # type: ignore[no-untyped-call]
    assert all(w.grad is None or th.isfinite(w.grad).all() for w in ppo.network.parameters())


# --- forecasts --------------------------------------------------------------------------------------------


def test_forecasts_are_of_each_seat_counted_from_the_one_that_decides() -> None:
    ppo = make((2, 3, 4), utility=UtilityConfig(margin_weight=0.25, margin_width=0.5), games=6, gae_lambda=1.0)
    ppo.decisions = ppo.config.decisions // 2  # the margin's share is then half of that
    rollout = ppo.play()
    data = ppo.prepare(rollout)
    scale = {2: 6.0, 3: 4.0, 4: 3.0}
    for row in range(0, len(rollout), 7):
        lane, seat = rollout.lane[row], rollout.seat[row]
        n = int(rollout.players[lane])
        assert data["present"][row].tolist() == [1.0] * n + [0.0] * (4 - n)
        for around in range(n):
            other = (seat + around) % n
            squashed = math.tanh(rollout.margin[lane, other] / scale[n])
            paid = 0.875 * rollout.utility[lane, other] + 0.125 * squashed
            # With lambda 1 the observer's own return is what it was paid, too.
            assert data["returns"][row, around] == pytest.approx(paid, abs=1e-5)
            assert data["margin"][row, around] == pytest.approx(squashed, abs=1e-6)
            np.testing.assert_array_equal(data["lead"][row, around], rollout.lead[lane, other])
    np.testing.assert_allclose(data["advantage"], data["returns"][:, 0] - rollout.kept["value"], atol=1e-5)
    assert all(len(rows) == len(rollout) for rows in data.values())


def test_losses_of_forecasts_by_hand_leave_absent_seats_out() -> None:
    ppo = make()
    values = [[0.5, 0.1, 9, 9], [0.0, -0.5, 0.5, 9]]
    margins = [[0.2, 0.4, 9, 9], [0.0, 0.0, 0.6, 9]]
    leads = np.full((2, 4, 2), 9.0)
    leads[0, :2] = [[0, 2], [0, 0]]
    leads[1, :3] = [[0, 0], [0, 0], [-1, 0]]
    lead = np.zeros((2, 4, 2), np.float32)
    lead[0, 0, 1] = lead[1, 2, 0] = 1
    ppo.network = Table(np.zeros((2, 3)), values=values, margins=margins, leads=leads)  # type: ignore[assignment]
    batch = batch_of(
        2, 3, returns=[[1.0, -1, 5, 5], [0.0, 0, 1, 5]], lead=lead, present=[[1.0, 1, 0, 0], [1.0, 1, 1, 0]]
    )
    losses = ppo.forecast_losses(ppo.network.heads(batch["observation"]), batch)
    assert {name: weight for name, (weight, _) in losses.items()} == {
        f"train/{name}_loss": weight for name, weight in WEIGHTS.items() if name != "policy"
    }
    found = {name: number(value) for name, (_, value) in losses.items()}
    assert found["train/value_loss"] == pytest.approx((0.5**2 + 0) / 2)
    assert found["train/others_loss"] == pytest.approx((1.1**2 + 0.5**2 + 0.5**2) / 3)
    assert found["train/margin_loss"] == pytest.approx((0.2**2 + 0.4**2 + 0.6**2) / 5)
    even, right, wrong = math.log(2), math.log(1 + math.exp(-2)), math.log(1 + math.exp(1))
    assert found["train/lead_loss"] == pytest.approx((8 * even + right + wrong) / 10)


def test_a_mean_under_weights() -> None:
    values = th.tensor([1.0, 2.0, 9.0], requires_grad=True)
    assert number(mean_of(values, th.tensor([1.0, 3.0, 0.0]))) == 1.75
    nothing = mean_of(values, th.zeros(3))
    nothing.backward()  # type: ignore[no-untyped-call]
    assert number(nothing) == 0
    assert values.grad is not None
    assert not values.grad.any()


# --- passes over a rollout --------------------------------------------------------------------------------


def test_each_pass_uses_every_decision_once_in_minibatches_of_nearly_one_size(monkeypatch: pytest.MonkeyPatch) -> None:
    ppo = make((2, 3), epochs=2, batch_size=100, target_kl=0)
    rollout = ppo.play()
    parts: list[list[bytes]] = []

    def step(batch: dict[str, th.Tensor]) -> dict[str, float]:
        parts.append([row.numpy().tobytes() for row in th.column_stack([batch["log_prob"], batch["advantage"]])])
        return {"train/approx_kl": 0.0}

    monkeypatch.setattr(ppo, "step", step)
    ppo.learn(rollout)
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 1
    assert len(parts) == 2 * round(len(rollout) / 100)
    half = len(parts) // 2
    first, second = (sorted(itertools.chain(*some)) for some in (parts[:half], parts[half:]))
    data = ppo.prepare(rollout)
    rows = np.column_stack([data["log_prob"], data["advantage"]])
    assert first == second == sorted(row.tobytes() for row in rows)
    assert parts[:half] != parts[half:]


def test_an_update_stops_when_the_policy_has_moved_too_far() -> None:
    steps = {}
    for target in (0.0, 1e-6, 1e3):
        ppo = make(epochs=3, target_kl=target)
        steps[target] = ppo.learn(ppo.play())["train/steps"]
    assert steps[0.0] == steps[1e3] > 3
    assert 1 <= steps[1e-6] < steps[0.0]
    assert not make(target_kl=0.02).moved_far({"train/approx_kl": 0.0299})
    assert make(target_kl=0.02).moved_far({"train/approx_kl": 0.0301})


def test_an_iteration_counts_and_says_how_the_games_went() -> None:
    ppo = make((2, 3), games=4)
    metrics = ppo.iterate()
    assert ppo.number == 1
    assert ppo.decisions == metrics["rollout/decisions_per_game"] * 4
    assert sum(metrics[f"rollout/utility_2p_seat{seat}"] for seat in range(2)) == pytest.approx(0, abs=1e-6)
    assert sum(metrics[f"rollout/utility_3p_seat{seat}"] for seat in range(3)) == pytest.approx(0, abs=1e-6)
    assert not any("against" in name for name in metrics)
    before = ppo.decisions
    assert ppo.decisions + len(ppo.play()) > before
    assert (ppo.number, ppo.decisions) == (1, before)


# --- pull -------------------------------------------------------------------------------------------------


def test_the_average_follows_the_network_and_the_divergence_from_it_starts_at_0() -> None:
    ppo = make(pull=0.5, pull_decay=0.9, target_kl=0)
    assert ppo.average is not None
    assert th.equal(flat(ppo.average), flat(ppo.network))
    data = tensors(ppo.prepare(ppo.play()))
    _, metrics = ppo.loss(data)
    assert number(metrics["train/pull"]) == pytest.approx(0, abs=1e-7)
    slow = flat(ppo.average)
    for _ in range(3):
        ppo.step(data)
        slow = 0.9 * slow + 0.1 * flat(ppo.network)
        np.testing.assert_allclose(flat(ppo.average), slow, atol=1e-7)
    loss, metrics = ppo.loss(data)
    with th.no_grad():
        mine, theirs = (network(data["observation"])[0].double() for network in (ppo.network, ppo.average))
    shut = data["mask"] == 0
    p, q = (th.softmax(logits.masked_fill(shut, -math.inf), dim=1) for logits in (mine, theirs))
    divergence = float(th.where(shut, 0.0, p * (p / q).nan_to_num(1.0).log()).sum(dim=1).mean())
    assert divergence > 1e-7
    assert number(metrics["train/pull"]) == pytest.approx(divergence, rel=1e-2, abs=1e-8)
    rest = sum(number(metrics[f"train/{name}_loss"]) * w for name, w in WEIGHTS.items())
    rest -= ppo.entropy_weight * number(metrics["train/entropy"])
    assert number(loss) - rest == pytest.approx(0.5 * number(metrics["train/pull"]), abs=1e-6)
    assert all(not weights.requires_grad for weights in ppo.average.parameters())
    assert make().average is None


# --- past selves ------------------------------------------------------------------------------------------


def test_past_selves_are_kept_on_schedule_and_thinned_to_the_size_spread_over_the_run() -> None:
    ppo = make(pool_share=0.5, pool_every=100, pool_size=4)
    kept: dict[int, list[int]] = {}
    for decisions in range(0, 2000, 50):
        ppo.decisions = decisions
        next(ppo.network.parameters()).data.fill_(decisions)
        ppo._keep_self()
        kept[decisions] = [at for at, _ in ppo.pool]
    assert kept[50] == []
    assert kept[100] == kept[150] == [100]
    assert kept[400] == [100, 200, 300, 400]
    for decisions, pool in kept.items():
        assert len(pool) == min(4, decisions // 100)
        assert pool == sorted(set(pool))
        # The newest is never older than the schedule says.
        assert not pool or decisions - pool[-1] < 100
        # No part of the run is without one for long.
        assert not np.diff([0, *pool]).size or np.diff([0, *pool]).max() <= max(200, decisions / 2)
    name = next(name for name, _ in ppo.network.named_parameters())
    assert all((weights[name] == at).all() for at, weights in ppo.pool)
    none = make(pool_share=0.0, pool_every=100)
    none.decisions = 5000
    none._keep_self()
    assert none.pool == []


def test_of_a_pool_for_one_the_newest_stays() -> None:
    ppo = make(pool_share=0.5, pool_every=100, pool_size=1)
    for ppo.decisions in (100, 250, 300, 420):
        ppo._keep_self()
    assert [at for at, _ in ppo.pool] == [420]


@pytest.mark.parametrize("share", [0.25, 1.0])
def test_past_selves_play_in_the_share_of_games_that_was_asked_for(share: float) -> None:
    ppo = make((2, 3), games=16, pool_share=share, pool_every=1, pool_size=3)
    first = ppo.play()
    assert first.learner.sum(axis=1).tolist() == first.players.tolist()
    ppo.decisions = 10
    rollout = ppo.play()
    alone = rollout.learner.sum(axis=1) == 1
    assert [int(alone[rollout.players == n].sum()) for n in (2, 3)] == [8 * share] * 2
    for lane in np.flatnonzero(alone):
        assert set(rollout.seat[rollout.lane == lane]) == {rollout.learner[lane].argmax()}
    metrics = learners.describe(rollout)
    own = rollout.utility[alone & (rollout.players == 2)][rollout.learner[alone & (rollout.players == 2)]]
    assert metrics["rollout/utility_2p_against_opponents"] == pytest.approx(float(own.mean()))
    assert ("rollout/utility_2p_seat0" in metrics) == (share < 1)


def test_the_past_self_changes_from_rollout_to_rollout_and_plays_with_its_own_weights() -> None:
    ppo = make(pool_share=0.5, pool_every=1, pool_size=3)
    start = flat(ppo.network)
    for decisions in (1, 2, 3):
        nn.utils.vector_to_parameters(start + decisions, ppo.network.parameters())
        ppo.decisions = decisions
        ppo._keep_self()
    drawn = set()
    for number in range(40):
        ppo.number = number
        (agent,) = ppo._past_self()
        assert isinstance(agent, NetworkAgent)
        assert agent.sample
        shift = flat(agent.network) - start
        drawn.add(round(float(shift.mean())))
        np.testing.assert_allclose(shift, shift[0], atol=1e-5)
    assert drawn == {1, 2, 3}
    assert th.equal(flat(ppo.network), start + 3)


def test_against_opponents_every_game_has_one_seat_of_the_learner() -> None:
    ppo = make((3,), opponents=(RandomAgent(),), games=6, gae_lambda=1.0)
    rollout = ppo.play()
    assert (rollout.learner.sum(axis=1) == 1).all()
    assert sorted(rollout.learner.argmax(axis=1)) == [0, 0, 1, 1, 2, 2]
    returns = ppo.prepare(rollout)["returns"][:, 0]
    np.testing.assert_allclose(returns, rollout.utility[rollout.lane, rollout.seat], atol=1e-5)
    assert ppo.pool == []


# --- the critic that sees everything ----------------------------------------------------------------------


def asked_in(rollout_of: PPO) -> list[Asked]:
    """All that the learner is asked in a rollout."""
    seen: list[Asked] = []
    choose = rollout_of.choose

    def note(asked: Asked) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        seen.append(asked)
        return choose(asked)

    rollout_of.choose = note  # type: ignore[method-assign]
    rollout_of.play()
    return seen


def test_what_only_others_know_is_what_their_own_views_say() -> None:
    ppo = make((2, 3, 4), games=4, oracle=True)
    own = [part for part in FOREST.layout.slices if part.known == "own"]
    size = sum(part.size for part in own)
    assert size > 0
    told = 0
    for asked in asked_in(ppo)[::9]:
        unseen = ppo.unseen(asked)
        assert unseen.dtype == np.float32
        assert unseen.shape == (len(asked.seat), 3 * size)
        for row, record in enumerate(asked.states):
            state = State.of(FOREST, record)
            for around in range(1, 4):
                expected = np.zeros(size)
                if around < state.players:
                    view = state.observation((state.seat + around) % state.players)
                    expected = np.concatenate([view[FOREST.layout[part.name]] / part.high for part in own])
                np.testing.assert_allclose(unseen[row, (around - 1) * size : around * size], expected, rtol=1e-6)
                told += expected.any()
    assert told > 0


def test_the_critic_sees_what_is_hidden_and_the_policy_does_not() -> None:
    ppo = make((3,), oracle=True)
    for weights in ppo.network.parameters():
        weights.data += 0.1 * th.randn(weights.shape, generator=th.Generator().manual_seed(1))
    changed = 0
    for asked in asked_in(ppo)[10::10]:
        state = State.of(FOREST, asked.states[0])
        others = [state.redealt(state.seat, seed) for seed in range(6)]
        states = np.array([other.record for other in others], FOREST.dtype)
        mask = np.array([other.mask() for other in others])
        observation = np.array([other.observation(other.seat) for other in others])
        hidden = ppo.unseen(Asked(states, observation, mask, np.full(6, state.seat), np.zeros(6, np.int64)))
        with th.no_grad():
            heads = ppo.network.heads(th.as_tensor(observation), th.as_tensor(hidden))
        assert heads.oracle is not None
        for head in (heads.logits, heads.values, heads.leads, heads.margins):
            np.testing.assert_allclose(head, head[:1].expand_as(head), atol=1e-5)
        differs = (hidden != hidden[0]).any(axis=1)
        oracle = heads.oracle.numpy()
        changed += int((np.abs(oracle - oracle[0])[differs] > 1e-5).sum())
        np.testing.assert_allclose(oracle[~differs], oracle[0], atol=1e-5)
    assert changed > 5


def test_the_critic_that_sees_all_is_fitted_to_the_observers_returns() -> None:
    ppo = make(oracle=True)
    ppo.network = Table(np.zeros((2, 3)), values=[[0.0] * 4] * 2, oracle=th.tensor([0.5, -1.0]))  # type: ignore[assignment]
    batch = batch_of(2, 3, returns=[[1.0, 0, 0, 0], [-0.5, 0, 0, 0]])
    weight, loss = ppo.forecast_losses(ppo.network.heads(batch["observation"]), batch)["train/oracle_loss"]
    assert (weight, number(loss)) == (0.5, pytest.approx(0.25))
    plain = make()
    assert not hasattr(plain.network, "oracle")
    assert "train/oracle_loss" not in plain.iterate()


# --- machines ---------------------------------------------------------------------------------------------


def test_precision_and_device_are_those_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(th.cuda, "is_available", lambda: False)
    assert pick_device("auto").type == pick_device("cpu").type == "cpu"
    with pytest.raises(ValueError, match="device was 'cuda', but torch finds no CUDA device; give 'cpu' or 'auto'"):
        pick_device("cuda")
    for has, wanted in ((True, "bfloat16"), (False, "float32")):
        monkeypatch.setattr(th.cpu, "_is_avx512_bf16_supported", lambda has=has: has)
        monkeypatch.setattr(th.cuda, "is_bf16_supported", lambda has=has: not has)
        assert pick_precision("auto", th.device("cpu")) == wanted
        assert pick_precision("auto", SimpleNamespace(type="cuda")) != wanted  # type: ignore[arg-type]
        assert pick_precision("float32", th.device("cpu")) == "float32"


# --- learning ---------------------------------------------------------------------------------------------


def against_random(ppo: PPO) -> Any:
    return evaluate(NetworkAgent(ppo.network), RandomAgent(), games=100).matches[0]


def test_self_play_learns_to_win() -> None:
    utility = UtilityConfig(margin_weight=0.9, final_margin_weight=0.5)
    ppo = make(utility=utility, games=32, batch_size=256, epochs=4, learning_rate=3e-3, final_learning_rate=1e-3)
    ppo.config.decisions = 22_000
    before = against_random(ppo)
    seen: list[dict[str, float]] = []
    while ppo.decisions < 22_000:
        seen.append(ppo.iterate())
    after = against_random(ppo)
    assert after.share.mean > max(0.75, before.share.mean + 0.1)
    assert after.margin.mean > before.margin.mean + 3
    assert seen[-1]["train/explained_variance"] > 0.2
    assert seen[-1]["train/lead_loss"] < seen[0]["train/lead_loss"]
