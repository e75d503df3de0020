"""Expert iteration: what is searched, what the search may know, its targets, the loss, and whole runs."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch as th
from test_ppo import Table, batch_of, number
from test_training import TINY, equal, stop_after, train

import training.expert
from spirits_env import games
from spirits_env.agents import gumbel
from spirits_env.agents.policy import read_card
from spirits_env.state import State
from training import checkpoint, expert, metrics
from training.config import dump, parse
from training.expert import Expert, ExpertConfig
from training.networks import Heads
from training.rollout import Asked
from training.run import Run, find_run

FOREST = games.load("forest")
SEARCH = ["--search.evaluations=8", "--search.considered=4", "--search.share=0.5"]
SMALL = [*TINY, *SEARCH, "--learner.games=2", "--evaluation.every=0", "--precision=float32"]


def config_of(*words: str) -> ExpertConfig:
    return parse([*SMALL, *words], ExpertConfig)


def begun(*words: str) -> Run:
    config = config_of(*words)
    return Run(Expert(config), find_run(config))


class Spy:
    """Stands in for the search and notes what it was given and gave."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[tuple[Any, ...]] = []
        monkeypatch.setattr(training.expert, "search", self)

    def __call__(self, game: Any, roots: np.ndarray, *rest: Any) -> gumbel.Found:
        given = roots.copy()
        found = gumbel.search(game, roots, *rest)
        self.calls.append((given, *rest, found))
        return found


# --- what is searched -------------------------------------------------------------------------------------


def test_the_share_asked_for_is_searched_and_its_targets_are_distributions_over_legal_actions() -> None:
    for share in (0.25, 1.0):
        rollout = Expert(config_of(f"--search.share={share}", "--players=[2, 3, 4]", "--learner.games=3")).play()
        searched, policy = rollout.kept["searched"] == 1, rollout.kept["policy"]
        assert searched.mean() == pytest.approx(share, abs=0.07)
        assert set(rollout.kept["searched"]) <= {0.0, 1.0}
        np.testing.assert_allclose(policy[searched].sum(axis=1), 1, atol=1e-5)
        assert (policy >= 0).all()
        assert not policy[rollout.mask == 0].any()
        assert not policy[~searched].any()
        assert (rollout.mask[np.arange(len(rollout)), rollout.action] == 1).all()
        assert (policy[searched] > 0).sum(axis=1).min() > 1
        assert policy.dtype == np.float32


def test_each_row_gets_what_the_search_found_for_it_from_its_own_seat(monkeypatch: pytest.MonkeyPatch) -> None:
    learner, spy = Expert(config_of("--players=[2, 3, 4]", "--learner.games=9")), Spy(monkeypatch)
    rollout = learner.play()
    rows = {row.tobytes(): i for i, row in enumerate(rollout.observation)}
    assert len(rows) == len(rollout)
    count = 0
    for roots, observation, mask, judge, rule, found in spy.calls:
        assert len(set(roots["players"].tolist())) == 1
        assert judge == learner.judge
        assert rule == (8, 4, *rule[2:])
        for root, seen, legal, *said in zip(roots, observation, mask, *found, strict=True):
            at, (action, policy, values) = rows[seen.tobytes()], said
            assert rollout.kept["searched"][at] == 1
            assert rollout.action[at] == action
            assert rollout.seat[at] == root["seat"]
            assert rollout.kept["value"][at] == values[root["seat"]]
            np.testing.assert_array_equal(rollout.kept["policy"][at], policy)
            np.testing.assert_array_equal(rollout.mask[at], legal)
            count += 1
    assert count == rollout.kept["searched"].sum()
    assert (rollout.kept["searched"] * (rollout.seat > 0)).sum() > 20


def test_decisions_without_a_search_are_drawn_from_the_policy_and_keep_the_networks_value() -> None:
    learner = Expert(config_of("--search.share=0.01"))
    # A policy that is nearly certain of the last legal action.
    last = th.nn.Parameter(th.arange(59, dtype=th.float32) * 3)
    learner.network = Fixed(last)  # type: ignore[assignment]
    rollout = learner.play()
    drawn = rollout.kept["searched"] == 0
    assert drawn.mean() > 0.9
    best = 58 - rollout.mask[:, ::-1].argmax(axis=1)
    assert 0.9 < (rollout.action == best)[drawn].mean() < 1
    np.testing.assert_array_equal(rollout.kept["value"][drawn], 0.25)


class Fixed(Table):
    """The same numbers for every row."""

    def heads(self, observation: th.Tensor, hidden: th.Tensor | None = None) -> Any:
        rows = len(observation)
        values = th.tensor([0.25, -0.5, 0.75, 1.0]).expand(rows, 4)
        nothing = th.zeros(rows, 4, 12)
        return Heads(self.logits.detach().expand(rows, 59), values, nothing, values, None)


def test_the_network_judges_every_seat_from_the_one_that_looks() -> None:
    learner = Expert(config_of())
    learner.network = Fixed(th.zeros(59))  # type: ignore[assignment]
    logits, values = learner.judge(np.zeros((3, FOREST.layout.size), np.int8), np.ones((3, 59), np.int8))
    assert (logits.shape, values.shape) == ((3, 59), (3, 4))
    np.testing.assert_allclose(values, [[0.25, -0.5, 0.75, 1.0]] * 3)


def test_the_search_is_given_re_deals_of_the_view_with_chance_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    learner, spy = Expert(config_of("--search.share=1", "--players=[3]")), Spy(monkeypatch)
    asked: list[Asked] = []
    choose = learner.choose

    def note(each: Asked) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        asked.append(each._replace(states=each.states.copy()))
        return choose(each)

    monkeypatch.setattr(learner, "choose", note)
    learner.play()
    hidden = 0
    for each, (roots, *_) in zip(asked, spy.calls, strict=True):
        for true, root in zip(each.states, roots, strict=True):
            one, other = State.of(FOREST, true), State.of(FOREST, root)
            assert one.seat == other.seat
            np.testing.assert_array_equal(one.observation(one.seat), other.observation(one.seat))
            assert true["rng"] != root["rng"]
            hidden += any((one.observation(s) != other.observation(s)).any() for s in range(3))
    assert hidden > 10
    seeds = [int(root["rng"]) for roots, *_ in spy.calls for root in roots]
    assert len(set(seeds)) == len(seeds)


def test_a_rollout_hangs_on_seed_and_number_alone() -> None:
    one, two, other = (Expert(config_of(*words)) for words in ([], [], ["--seed=2"]))
    first, same, differs = one.play(), two.play(), other.play()
    for name in ("policy", "searched", "value"):
        np.testing.assert_array_equal(first.kept[name], same.kept[name])
    np.testing.assert_array_equal(first.action, same.action)
    assert not np.array_equal(first.observation[:20], differs.observation[:20])
    two.number = 1
    assert not np.array_equal(first.observation[:20], two.play().observation[:20])


# --- the loss ---------------------------------------------------------------------------------------------


def test_the_policy_learns_the_divergence_from_the_target_and_only_where_there_was_a_search() -> None:
    learner = Expert(config_of())
    chances = np.array([[0.5, 0.3, 0.2], [0.2, 0.2, 0.6], [0.1, 0.8, 0.1], [0.25, 0.75, 0]])
    target = np.array([[0.7, 0.0, 0.3], [0, 0, 0], [0.2, 0.3, 0.5], [0.5, 0.5, 0]])
    searched = np.array([1.0, 0, 1, 1], np.float32)
    mask = np.array([[1, 1, 1]] * 3 + [[1, 1, 0]], np.int8)
    table = Table(np.log(np.maximum(chances, 1e-3)))
    learner.network = table  # type: ignore[assignment]
    batch = batch_of(4, 3, mask=mask, policy=target.astype(np.float32), searched=searched)
    loss, shown = learner.loss(batch)
    loss.backward()  # type: ignore[no-untyped-call]
    divergence = [
        0.7 * math.log(0.7 / 0.5) + 0.3 * math.log(0.3 / 0.2),
        0.2 * math.log(0.2 / 0.1) + 0.3 * math.log(0.3 / 0.8) + 0.5 * math.log(0.5 / 0.1),
        0.5 * math.log(0.5 / 0.25) + 0.5 * math.log(0.5 / 0.75),
    ]
    assert number(shown["train/policy_loss"]) == pytest.approx(sum(divergence) / 3, rel=1e-5)
    # The best action agrees in the first searched row, and in none else (of equals the first counts).
    assert number(shown["train/agreement"]) == pytest.approx(1 / 3)
    assert table.logits.grad is not None
    np.testing.assert_allclose(table.logits.grad, (chances - target) / 3 * searched[:, None], atol=1e-6)
    # Values are learned from all rows.
    batch["returns"] = th.ones(4, 4)
    table.zero_grad()
    learner.loss(batch)[0].backward()  # type: ignore[no-untyped-call]
    assert table.values.grad is not None
    assert (table.values.grad != 0).all()


def test_a_minibatch_without_any_search_teaches_values_alone() -> None:
    learner = Expert(config_of("--search.share=0.02", "--learner.batch_size=16"))
    shown = learner.iterate()
    assert all(np.isfinite(value) for value in shown.values())
    assert shown["train/value_loss"] > 0


def test_passes_over_one_rollout_bring_the_policy_to_its_targets_and_the_value_to_its_returns() -> None:
    learner = Expert(config_of("--learner.epochs=1", "--learner.learning_rate=0.01", "--search.share=1"))
    rollout = learner.play()
    first = learner.learn(rollout)
    for _ in range(40):
        last = learner.learn(rollout)
    assert last["train/policy_loss"] < 0.7 * first["train/policy_loss"]
    assert last["train/value_loss"] < 0.5 * first["train/value_loss"]
    assert last["train/agreement"] > first["train/agreement"]


# --- runs -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("--search.share=0", "search.share was 0"),
        ("--search.share=1.5", "search.share was 1.5"),
        ("--search.evaluations=0", "at least 1"),
        ("--search.considered=0", "at least 1"),
        ("--search.c_visit=-1", "search.c_visit was -1"),
        ("--learner.clip=0.1", "clip"),
        ("--learner.pool_share=0.5", "pool_share"),
    ],
)
def test_a_bad_configuration_is_one_line_and_code_2(bad: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        parse([bad], ExpertConfig)
    assert stopped.value.code == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("python -m training.expert: ")
    assert said in lines[0]


def test_a_configuration_written_reads_back_as_itself(tmp_path: Path) -> None:
    config = config_of("--search.gumbel=0.5")
    (tmp_path / "c.yaml").write_text(dump(config), encoding="utf-8")
    assert parse(["--config", str(tmp_path / "c.yaml")], ExpertConfig) == config


@pytest.fixture(scope="module")
def first_stage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of self-play to start from."""
    folder = tmp_path_factory.mktemp("first")
    words = ["--decisions=200", "--learner.games=2", "--evaluation.every=0", "--learner.oracle=true"]
    return train([*TINY, *words, f"--folder={folder}"]).folder


def test_a_run_starts_from_one_of_self_play_and_goes_through_every_step(first_stage: Path, tmp_path: Path) -> None:
    words = [f"--start={first_stage}", f"--folder={tmp_path}", "--decisions=200", "--players=[2, 3]"]
    best = checkpoint.load(checkpoint.folders(first_stage)[-1])["best"]
    start = begun(*words, "--name=start").learner.network.state_dict()
    assert all(th.equal(weights, best[name]) for name, weights in start.items())
    assert set(best) - set(start) == {f"oracle.{name}" for name in ("0.weight", "0.bias", "2.weight", "2.bias")}
    words += ["--name=x", "--evaluation.final_games=2", "--evaluation.against=[random]"]
    assert expert.main([*SMALL, *words]) == 0
    rows = metrics.read(tmp_path / "x")
    assert {"train/policy_loss", "train/agreement", "train/lead_loss"} <= set(rows[-1])
    assert read_card(tmp_path / "x/policy.onnx")["players"] == [2, 3]
    results = json.loads((tmp_path / "x/evaluation.json").read_text())
    assert [result["matches"][0]["illegal"] for result in results] == [0] * 4
    report = (tmp_path / "x/report.md").read_text()
    assert "Command: `python -m training.expert" in report
    # Each number of players has tables of its own.
    assert [report.count(f", {players} players, forced_steal") for players in (2, 3)] == [1, 1]


def test_a_start_of_another_size_is_one_sentence(
    first_stage: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [f"--start={first_stage}", f"--folder={tmp_path}", "--network.widths=[8]"]
    assert expert.main([*SMALL, *words]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert "whose network is another one; give the network.* of that run" in lines[0]


def test_a_stopped_run_goes_on_exactly_as_if_it_had_not_been(tmp_path: Path) -> None:
    words = [f"--folder={tmp_path}", "--decisions=600", "--players=[2, 3]"]
    whole, cut = begun(*words, "--name=whole"), begun(*words, "--name=cut")
    stop_after(cut, 1)
    whole.learn()
    cut.learn()
    assert cut.interrupted
    assert 0 < cut.learner.decisions < 600 <= whole.learner.decisions
    again = begun(*words, "--name=cut")
    again.learn()
    assert equal(whole.learner.state(), again.learner.state())
