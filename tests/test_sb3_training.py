"""Training with stable-baselines3: credit per seat, exact resume, whole runs, and the comparison of learners."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch as th
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer
from stable_baselines3.common.callbacks import BaseCallback

from spirits_env import games
from spirits_env.agents.policy import read_card
from spirits_env.sb3 import SelfPlayVecEnv
from training import checkpoint, compare, metrics
from training.config import Config, NetworkConfig, UtilityConfig, dump, parse
from training.learner import DivergedError
from training.ppo import PPO
from training.run import Run, find_run
from training.sb3.__main__ import main
from training.sb3.buffer import SeatRolloutBuffer
from training.sb3.config import SB3Config, SB3LearnerConfig
from training.sb3.learner import SB3Learner

ROOT = Path(__file__).parent.parent
FOREST = games.load("forest")
TINY = [
    *(f"--config={ROOT / 'configs' / name}.yaml" for name in ("forest", "sb3")),
    *("--threads=1", "--device=cpu", "--progress=false", "--precision=float32", "--decisions=1500"),
    *("--learner.lanes=8", "--learner.steps=64", "--learner.batch_size=128", "--learner.epochs=1"),
    *("--network.width=8", "--network.context=16", "--checkpoint_every=500"),
    *("--evaluation.every=1000", "--evaluation.games=4", "--evaluation.final_games=4", "--evaluation.gate=0"),
]


def learner(players: int = 2, utility: UtilityConfig | None = None, **changes: Any) -> SB3Learner:
    settings = {"lanes": 8, "steps": 128, "batch_size": 128, "epochs": 1, **changes}
    return SB3Learner(
        SB3Config(
            players=(players,),
            threads=1,
            device="cpu",
            precision="float32",
            network=NetworkConfig(kind="mlp", widths=(16,)),
            utility=utility or UtilityConfig(),
            learner=SB3LearnerConfig(**settings),
        )
    )


def filled(players: int = 2, **changes: Any) -> tuple[SeatRolloutBuffer, SB3Learner]:
    made = learner(players, **changes)
    buffer = collect(made)
    assert isinstance(buffer, SeatRolloutBuffer)
    return buffer, made


def collect(made: SB3Learner, callback: BaseCallback | None = None) -> MaskableRolloutBuffer:
    """Play one rollout without learning from it."""
    model, buffer = made.model, made.model.rollout_buffer
    assert isinstance(buffer, MaskableRolloutBuffer)
    _, callback = model._setup_learn(1, callback, reset_num_timesteps=False)
    model.collect_rollouts(made.env, callback, buffer, model.n_steps)
    return buffer


def weights_of(made: SB3Learner) -> dict[str, th.Tensor]:
    return {name: values.clone() for name, values in made.network.state_dict().items()}


def same(one: dict[str, th.Tensor], other: dict[str, th.Tensor]) -> bool:
    return one.keys() == other.keys() and all(th.equal(one[key], other[key]) for key in one)


# --- credit -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("players", [2, 3, 4])
def test_each_decision_is_credited_with_its_own_seats_outcome(players: int) -> None:
    buffer, _ = filled(players, gae_lambda=1.0)
    checked = 0
    for lane in range(buffer.n_envs):
        outcome = None
        for step in reversed(range(buffer.buffer_size)):
            if buffer.ends[step, lane]:
                outcome = buffer.outcomes[step, lane]
            if outcome is not None:
                assert buffer.kept[step, lane]
                assert buffer.returns[step, lane] == pytest.approx(outcome[buffer.seats[step, lane]], abs=1e-5)
                checked += 1
    assert checked > 500


def test_the_stock_buffer_pays_the_loser_like_the_winner_and_ours_does_not() -> None:
    # Paid for winning alone, so that all ends have a loser and a winner.
    ours, made = filled(gae_lambda=1.0, utility=UtilityConfig(margin_weight=0.0))
    stock = MaskableRolloutBuffer(128, made.env.observation_space, made.env.action_space, "cpu", 1.0, 1.0, 8)
    stock.values, stock.full = ours.values, True
    stock.rewards, stock.episode_starts = ours.rewards, ours.episode_starts
    stock.compute_returns_and_advantage(th.zeros(8, 1), made.env.dones)
    wrong = 0
    for lane in range(8):
        ends = np.flatnonzero(ours.ends[:, lane])
        before = slice(0, ends[0] + 1)
        losers = ours.outcomes[ends[0], lane, ours.seats[before, lane]] < -0.5
        wrong += int((stock.returns[before, lane][losers] > 0).sum())
        assert (ours.returns[before, lane][losers] < 0).all()
    assert wrong > 0


def test_a_hand_made_rollout_with_three_seats() -> None:
    # Seats 0 0 1 2 0 | end, then 1 0 cut off with seat 0 to act; gamma 1, lambda 0.5, all by hand.
    env = SelfPlayVecEnv("forest", 1, 3)
    env.seed(1)
    env.reset()
    buffer = SeatRolloutBuffer(7, env.observation_space, env.action_space, "cpu", 0.5, 1.0, 1, env=env)
    values = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
    seats = [0, 0, 1, 2, 0, 1, 0]
    mask = np.ones((1, 59), np.bool_)
    for step in range(7):
        env.acted, env.dones = np.array([seats[step]]), np.array([step == 4])
        env.outcomes = np.array([[1.0, -0.5, -0.5]], np.float32)
        buffer.add(
            np.zeros((1, env.batch.game.layout.size)), np.array([[0]]), np.zeros(1), np.zeros(1),
            th.tensor([[values[step]]]), th.tensor([0.0]), action_masks=mask,
        )  # fmt: skip
    env.batch.seat[:] = 0
    buffer.compute_returns_and_advantage(th.tensor([[0.9]]), np.array([False]))
    last = 0.9 - 0.7  # seat 0, bootstrapped
    fifth = 1.0 - 0.5
    second = (0.5 - 0.2) + 0.5 * fifth
    first = (0.2 - 0.1) + 0.5 * second
    expected = [first, second, -0.5 - 0.3, -0.5 - 0.4, fifth, 0.0, last]
    np.testing.assert_allclose(buffer.advantages[:, 0], expected, rtol=1e-5)
    assert buffer.kept[:, 0].tolist() == [True] * 5 + [False, True]


class Rewards(BaseCallback):
    """Notes what the games paid, and whether they ended, step by step."""

    def __init__(self) -> None:
        super().__init__()
        self.rewards: list[np.ndarray] = []
        self.dones: list[np.ndarray] = []

    def _on_step(self) -> bool:
        self.rewards.append(self.locals["rewards"].copy())
        self.dones.append(self.locals["dones"].copy())
        return True


def test_credit_along_the_stream_really_is_one_stream() -> None:
    made = learner(credit="stream", gae_lambda=1.0)
    seen = Rewards()
    buffer = collect(made, seen)
    assert type(buffer) is MaskableRolloutBuffer
    # With trace and discount 1, every decision of a game is credited with what the last one was paid.
    checked = 0
    for lane in range(8):
        paid = None
        for step in reversed(range(128)):
            if seen.dones[step][lane]:
                paid = seen.rewards[step][lane]
            if paid is not None:
                assert buffer.returns[step, lane] == pytest.approx(paid, abs=1e-5)
                checked += 1
    assert checked > 500


def test_credit_along_the_stream_learns_from_another_rollout_than_credit_per_seat() -> None:
    found = []
    for credit in ("seat", "stream"):
        made = learner(credit=credit)
        before = weights_of(made)
        assert np.isfinite(made.iterate()["train/value_loss"])
        assert not same(before, weights_of(made))
        found.append(weights_of(made))
    assert not same(*found)


def test_minibatches_hold_each_kept_decision_once_and_nothing_else() -> None:
    buffer, _ = filled(3)
    # Marked by the values, which nobody looks at from here on.
    buffer.values[:] = np.arange(buffer.values.size).reshape(buffer.values.shape)
    kept = buffer.values[buffer.kept].tolist()
    assert len(kept) < buffer.kept.size
    batches = [batch.old_values.tolist() for batch in buffer.get(100)]
    assert sorted(value for batch in batches for value in batch) == sorted(kept)
    assert max(map(len, batches)) - min(map(len, batches)) <= 1


def test_log_probabilities_before_the_first_update_are_those_of_acting() -> None:
    buffer, made = filled()
    for batch in buffer.get(256):
        _, log_prob, _ = made.model.policy.evaluate_actions(
            batch.observations, batch.actions.long().flatten(), action_masks=batch.action_masks
        )
        np.testing.assert_allclose((log_prob - batch.old_log_prob).exp().detach().numpy(), 1.0, atol=1e-5)


def test_a_stored_action_must_be_legal_under_the_stored_mask() -> None:
    buffer, _ = filled()
    buffer.reset()
    mask = np.ones((8, 59), np.bool_)
    mask[3, 7] = False
    with pytest.raises(ValueError, match="not legal under the mask"):
        buffer.add(np.zeros((8, 1)), np.full((8, 1), 7), action_masks=mask)


def test_all_seats_are_data() -> None:
    buffer, _ = filled(4)
    counts = np.bincount(buffer.seats[buffer.kept], minlength=4) / buffer.kept.sum()
    assert counts.min() > 0.2


def test_a_single_legal_action_gives_finite_gradients() -> None:
    made = learner()
    observation = th.zeros(2, FOREST.layout.size)
    mask = th.zeros(2, 59)
    mask[:, 58] = 1
    values, log_prob, entropy = made.model.policy.evaluate_actions(observation, th.tensor([58, 58]), mask)
    assert entropy is not None
    (values.sum() + log_prob.sum() + entropy.sum()).backward()
    assert all(w.grad is None or th.isfinite(w.grad).all() for w in made.network.parameters())


# --- the learner ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("credit", ["seat", "stream"])
def test_a_learner_goes_on_from_its_state_exactly(credit: str, tmp_path: Path) -> None:
    whole, before = learner(credit=credit, steps=64), learner(credit=credit, steps=64)
    for _ in range(4):
        whole.iterate()
    for _ in range(2):
        before.iterate()
    path = tmp_path / "state.pt"
    th.save(before.state(), path)
    after = learner(credit=credit, steps=64)
    after.load_state(th.load(path, weights_only=True))
    # What others draw between two rollouts must not matter.
    th.rand(3)
    np.random.random(3)  # noqa: NPY002
    for _ in range(2):
        after.iterate()
    assert same(weights_of(whole), weights_of(after))
    assert (whole.number, whole.decisions) == (after.number, after.decisions)
    one, other = whole.optimizer.state_dict()["state"], after.optimizer.state_dict()["state"]
    assert all(th.equal(one[key]["exp_avg_sq"], other[key]["exp_avg_sq"]) for key in one)


def test_same_seed_same_weights_and_another_seed_others() -> None:
    made = [learner(steps=64) for _ in range(3)]
    made[2].config.seed = 2
    for one in made:
        one.iterate()
    assert same(weights_of(made[0]), weights_of(made[1]))
    assert not same(weights_of(made[0]), weights_of(made[2]))


def test_it_starts_from_the_weights_that_ppo_starts_from() -> None:
    network = NetworkConfig(kind="mlp", widths=(16,))
    other = PPO(Config(threads=1, device="cpu", precision="float32", network=network))
    assert same(weights_of(learner()), other.network.state_dict())


def test_low_precision_reaches_acting_and_learning() -> None:
    config = parse([*TINY, "--precision=bfloat16", "--network.kind=mlp", "--network.widths=[16]"], SB3Config)
    made = SB3Learner(config)
    seen = []
    made.network.trunk.register_forward_hook(lambda module, inputs, output: seen.append(output.dtype))
    assert np.isfinite(made.iterate()["train/value_loss"])
    assert set(seen) == {th.bfloat16}


def test_decisions_without_a_choice_are_not_counted() -> None:
    made = learner()
    made.iterate()
    masks = made.model.rollout_buffer.action_masks.reshape(-1, 59)
    assert made.decisions == int((masks.sum(axis=1) > 1).sum())
    assert 0 < made.decisions < 8 * 128


def test_schedules_run_over_the_whole_run() -> None:
    made = learner(steps=64, learning_rate=1e-3, final_learning_rate=0.0, entropy=0.02, final_entropy=0.0)
    made.config.decisions = 2 * 512
    made.decisions = 512
    found = made.iterate()
    assert made.optimizer.param_groups[0]["lr"] == pytest.approx(5e-4)
    assert found["train/learning_rate"] == pytest.approx(5e-4)
    assert made.model.ent_coef == pytest.approx(0.01)
    assert made.env.margin_weight == pytest.approx(0.25)


def test_the_margin_is_scaled_as_the_configuration_says() -> None:
    # Spirits of the Forest gives 8 points for three players.
    made = learner(players=3, utility=UtilityConfig(margin_weight=1.0, final_margin_weight=1.0, margin_width=0.5))
    assert made.env.margin_scale == pytest.approx(4.0)
    made.iterate()
    assert made.env.margin_weight == 1.0


def test_weights_that_are_not_finite_stop_the_learner() -> None:
    made = learner(steps=64)
    with th.no_grad():
        next(made.network.parameters()).fill_(th.nan)
    with pytest.raises(DivergedError, match="not finite"):
        made.iterate()


# --- a whole run ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    assert main([*TINY, f"--folder={folder}", "--name=whole"]) == 0
    return folder / "whole"


def test_a_run_leaves_a_report_and_a_policy(whole_run: Path) -> None:
    assert "| whole | greedy |" in " ".join((whole_run / "report.md").read_text(encoding="utf-8").split())
    assert "python -m training.sb3" in (whole_run / "report.md").read_text(encoding="utf-8")
    card = read_card(whole_run / "policy.onnx")
    assert card["players"] == [2]
    assert card["training"]["decisions"] >= 1500
    rows = metrics.read(whole_run)
    named = {key for row in rows for key in row}
    assert {"match_2p/win_share_greedy", "train/approx_kl", "rollout/games", "rollout/utility_2p_seat1"} <= named
    results = json.loads((whole_run / "evaluation.json").read_text(encoding="utf-8"))
    assert all(match["illegal"] == 0 for result in results for match in result["matches"])
    text = (whole_run / "config.yaml").read_text(encoding="utf-8")
    assert dump(parse(["--config", str(whole_run / "config.yaml")], SB3Config)) == text


def test_a_run_stopped_half_way_goes_on_exactly(whole_run: Path, tmp_path: Path) -> None:
    config = parse([*TINY, f"--folder={tmp_path}", "--name=whole", "--evaluation.every=0"], SB3Config)
    stopped = Run(SB3Learner(config), find_run(config))
    iterate = stopped.learner.iterate

    def iterate_once() -> dict[str, float]:
        stopped.interrupted = True
        return iterate()

    stopped.learner.iterate = iterate_once
    stopped.learn()
    assert stopped.learner.decisions < 1500
    Run(SB3Learner(config), find_run(config)).learn()
    found = [checkpoint.load(checkpoint.folders(run)[-1]) for run in (whole_run, tmp_path / "whole")]
    assert found[0]["learner"]["decisions"] == found[1]["learner"]["decisions"]
    assert same(*(content["learner"]["network"] for content in found))


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (["--players=[2,3]"], "all have the same number"),
        (["--players=[1]"], "at least 2 players"),
        (["--learner.games=8"], "games"),
        (["--learner.steps=0"], "learner.steps was 0"),
        (["--learner.batch_size=1"], "give 2 or more"),
        (["--learner.batch_size=513"], "512 decisions"),
        (["--learner.credit=team"], "credit"),
        (["--learner.credit=stream", "--learner.batch_size=100"], "divides"),
        (["--learner.gamma=1.5"], "learner.gamma was 1.5"),
    ],
)
def test_a_bad_configuration_is_one_line_and_code_2(
    bad: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        parse([*TINY, *bad], SB3Config)
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    assert len(error.strip().splitlines()) == 1
    assert said in error


# --- the comparison ---------------------------------------------------------------------------------------

SIDE_BY_SIDE = [
    *("--threads=1", "--device=cpu", "--precision=float32", "--against=random", "--games=4", "--target=0.001"),
    *("--network.width=8", "--network.context=16", "--minutes=0.002", "--every=0.001", "--ppo.games=2"),
    *("--sb3.lanes=2", "--sb3.steps=16", "--sb3.batch_size=16", "--sb3.epochs=1"),
]


def compared(folder: Path, *arguments: str) -> int:
    return compare.main([*SIDE_BY_SIDE, f"--folder={folder}", *arguments])


def test_a_comparison_leaves_its_files_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert compared(tmp_path, "--seeds=[5]") == 0
    folder = tmp_path / "compare"
    assert sorted(path.name for path in folder.iterdir()) == [compare.FILE, compare.TABLE, compare.PICTURE]
    first = json.loads((folder / compare.FILE).read_text(encoding="utf-8"))["outcomes"]
    assert [(one["learner"], one["seed"]) for one in first] == [("ppo", 5), ("sb3", 5)]
    assert compared(tmp_path, "--seeds=[5,6]") == 0
    second = json.loads((folder / compare.FILE).read_text(encoding="utf-8"))["outcomes"]
    assert second[:2] == first
    assert [(one["learner"], one["seed"]) for one in second[2:]] == [("ppo", 6), ("sb3", 6)]
    for one in second:
        assert all(a["decisions"] < b["decisions"] for a, b in zip(one["curve"], one["curve"][1:], strict=False))
        assert one["curve"][-1]["decisions"] == one["decisions"]
    assert (folder / compare.TABLE).read_text(encoding="utf-8").count("| training.sb3 |") == 3

    def measured_again(*_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(compare, "measure", measured_again)
    assert compared(tmp_path, "--seeds=[5,6]") == 0
    assert compared(tmp_path, "--seeds=[5]", "--games=6") == 2
    assert "other values of games" in capsys.readouterr().err


def test_what_was_measured_before_an_interruption_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def measure(config: compare.CompareConfig, name: str, seed: int) -> compare.Outcome:
        if name == "sb3":
            raise KeyboardInterrupt
        return outcome(name, seed, 600, 1000, 1.0)

    monkeypatch.setattr(compare, "measure", measure)
    monkeypatch.setattr(compare, "warm_up", lambda *_: None)
    assert compared(tmp_path, "--seeds=[5]") == 130
    assert "goes on" in capsys.readouterr().out
    kept = json.loads((tmp_path / "compare" / compare.FILE).read_text(encoding="utf-8"))["outcomes"]
    assert [one["learner"] for one in kept] == ["ppo"]


def outcome(name: str, seed: int, speed: int, decisions: int | None, minutes: float) -> compare.Outcome:
    reached = None if decisions is None else compare.Point(minutes, decisions, 0.5)
    return compare.Outcome(name, seed, [compare.Point(minutes, decisions or 1, 0.5)], reached, 10.0, speed * 600)


def table(outcomes: Sequence[compare.Outcome]) -> str:
    config = parse(["--seeds=[1,2,3]", "--minutes=10"], compare.CompareConfig)
    return compare.to_markdown(config, outcomes)


def test_medians_and_ratios_are_those_of_the_seeds() -> None:
    text = table(
        [
            *(outcome("ppo", 1, 3000, 100_000, 1.0), outcome("sb3", 1, 1500, 400_000, 5.0)),
            *(outcome("ppo", 2, 2000, 200_000, 2.0), outcome("sb3", 2, 1200, 500_000, 4.0)),
            *(outcome("ppo", 3, 2500, 300_000, 3.0), outcome("sb3", 3, 1000, 300_000, 9.0)),
        ]
    )
    assert "| training.selfplay | median | 2,500 | 200,000 | 2.00 |" in text
    assert "| training.sb3 | median | 1,200 | 400,000 | 5.00 |" in text
    assert "- decisions per second: 0.50 (0.40 to 0.60)" in text
    assert "- decisions to the target: 2.50 (1.00 to 4.00)" in text
    assert "- minutes to the target: 3.00 (2.00 to 5.00)" in text


def test_a_target_that_is_not_reached_is_said_and_left_out_of_ratios() -> None:
    text = table(
        [
            *(outcome("ppo", 1, 3000, 100_000, 1.0), outcome("sb3", 1, 1500, None, 5.0)),
            *(outcome("ppo", 2, 2000, 200_000, 2.0), outcome("sb3", 2, 1200, None, 4.0)),
            *(outcome("ppo", 3, 2500, 300_000, 3.0), outcome("sb3", 3, 1000, 300_000, 9.0)),
        ]
    )
    assert "| training.sb3 | 1 | 1,500 | not reached | not reached |" in text
    assert "| training.sb3 | median | 1,200 | not reached | not reached |" in text
    assert "- minutes to the target: 3.00 (3.00 to 3.00); 2 of 3 seeds left out" in text


@pytest.mark.parametrize(
    ("shares", "first"),
    [
        ([0.2, 0.6, 0.4, 0.5, 0.5], 3),
        ([0.6, 0.6], 0),
        ([0.6], None),
        ([0.6, 0.4, 0.6], None),
        ([], None),
    ],
)
def test_the_target_is_reached_at_the_first_of_two_matches_in_a_row(shares: list[float], first: int | None) -> None:
    curve = [compare.Point(float(number), number, share) for number, share in enumerate(shares)]
    assert compare.first_of_two(curve, 0.5) == (None if first is None else curve[first])


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("--seeds=[1,1]", "each once"),
        ("--seeds=[]", "at least one"),
        ("--target=0", "target was 0"),
        ("--target=1.5", "target was 1.5"),
        ("--minutes=0", "minutes was 0"),
        ("--against=nobody", "nobody"),
        ("--sb3.batch_size=0", "sb3.batch_size was 0"),
        ("--ppo.games=0", "ppo.games was 0"),
        ("--players=7", "7"),
        ("--stepz=3", "stepz"),
    ],
)
def test_a_bad_comparison_is_one_line_and_code_2(bad: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        compare.main([bad])
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    assert len(error.strip().splitlines()) == 1
    assert said in error


def test_a_damaged_comparison_is_refused_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "compare" / compare.FILE
    path.parent.mkdir()
    path.write_text("{", encoding="utf-8")
    assert compared(tmp_path) == 2
    assert "can't be read" in capsys.readouterr().err
