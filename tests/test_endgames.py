"""The end positions that agents are judged by, and the judging."""

from __future__ import annotations

import json
import random
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from endgames.make import GAME, PLAYERS, POSITIONS, TABLES, WORLDS, truth, worlds

from spirits_env import endgames
from spirits_env.agents import BUILT_IN, Agent, GreedyAgent, RandomAgent
from spirits_env.batch import Views
from spirits_env.cli import main
from spirits_env.endgames import Endgame, judge
from spirits_env.game import IllegalAction
from spirits_env.solver import Solver

FILE = endgames.path_of(GAME, PLAYERS)


@cache
def positions() -> tuple[Endgame, ...]:
    return endgames.load(GAME, PLAYERS)


class Knowing(Agent):
    """Plays the stored truth, looked up by what it sees: the best action or the worst."""

    def __init__(self, worst: bool = False) -> None:
        self.name = "worst" if worst else "best"
        self.actions = {}
        for endgame in positions():
            seen = endgame.state.observation(endgame.state.seat).tobytes()
            worst_action = min(endgame.values, key=lambda action: endgame.values[action])
            self.actions[seen] = worst_action if worst else endgame.best[-1]

    def act(self, view: Views) -> int:
        return self.actions[view.observation[0].tobytes()]


class Wrong(Agent):
    name = "wrong"

    def act_many(self, views: Views) -> np.ndarray:
        return np.argmin(views.mask, axis=1)


def test_the_file_holds_enough_different_games() -> None:
    assert len(positions()) == POSITIONS >= 500
    deals = {json.dumps(endgame.state.setup()) for endgame in positions()}
    assert len(deals) == POSITIONS


def test_the_file_holds_every_kind_of_position() -> None:
    found = positions()
    phases = Counter(endgame.state.phase for endgame in found)
    assert {*phases} == {*found[0].state.game.phases} - {"end"}
    assert max(phases.values()) <= 0.4 * POSITIONS
    lefts = Counter(endgame.left for endgame in found)
    assert {*lefts} == {3, 4, 5, 6, 7, 8}
    assert min(lefts.values()) >= 10
    assert {endgame.agents for endgame in found} == {*TABLES}
    assert {endgame.state.seat for endgame in found} == {0, 1}


def test_every_position_tells_the_worth_of_its_legal_actions() -> None:
    for endgame in positions():
        state = endgame.state
        assert state.record["remaining"] == endgame.left
        assert list(endgame.values) == state.legal_actions()
        most = max(endgame.values.values())
        assert endgame.best == tuple(action for action, value in endgame.values.items() if value == most)
        assert 0 < len(endgame.best) < len(endgame.values)
        # Worse in every world by a whole point or more, so on average too; means are rounded.
        assert all(lost > 0.999 for action, lost in endgame.lost.items() if action not in endgame.best)
        assert 1 <= endgame.worlds <= WORLDS


def test_lines_come_back_from_positions() -> None:
    lines = FILE.read_text(encoding="utf-8").splitlines()
    for line, endgame in zip(lines, positions(), strict=True):
        assert endgames.plain(endgame) == json.loads(line)


def check_truth(found: list[Endgame]) -> None:
    for endgame in found:
        assert truth(endgame.state, Solver(endgame.state.game)) == (endgame.worlds, endgame.values, endgame.best)


def test_the_truth_comes_out_again_in_a_sample() -> None:
    quick = [endgame for endgame in positions() if endgame.left <= 6]
    check_truth(random.Random(1).sample(quick, 20))


@pytest.mark.slow
@pytest.mark.parametrize("left", range(3, 9))
def test_the_truth_comes_out_again(left: int) -> None:
    check_truth([endgame for endgame in positions() if endgame.left == left])


def test_worlds_look_alike_to_the_seat_to_act_and_differ() -> None:
    for endgame in positions()[:20]:
        state = endgame.state
        others = list(worlds(state))
        assert len(others) == endgame.worlds
        assert len({world.record["token"].tobytes() for world in others}) == len(others)
        for world in others:
            assert (world.observation(state.seat) == state.observation(state.seat)).all()


def test_whoever_knows_the_truth_loses_nothing() -> None:
    result = judge(Knowing())
    assert (result.agent, result.game, result.players) == ("best", GAME, PLAYERS)
    for row in (result.total, *result.phases, *result.left):
        assert (row.optimal.mean, row.lost.mean) == (1, 0)
    assert result.total.positions == POSITIONS
    assert sum(row.positions for row in result.phases) == sum(row.positions for row in result.left) == POSITIONS
    assert [row.name for row in result.left] == ["3", "4", "5", "6", "7", "8"]


def test_whoever_always_errs_loses_most() -> None:
    row = judge(Knowing(worst=True)).total
    assert row.optimal.mean == 0
    lost = [max(endgame.lost.values()) for endgame in positions()]
    assert row.lost.mean == pytest.approx(np.mean(lost))
    # Wilson's interval of none in n, with Student's quantile for so many positions, which is near the normal's 1.96.
    assert row.optimal.high == pytest.approx(1.96**2 / (POSITIONS + 1.96**2), rel=0.01)


def test_the_random_agent_gets_what_a_uniform_choice_gets() -> None:
    row = judge(RandomAgent()).total
    assert row.optimal.error is not None
    assert row.lost.error is not None
    assert abs(row.optimal.mean - row.uniform_optimal) < 3 * row.optimal.error
    assert abs(row.lost.mean - row.uniform_lost) < 3 * row.lost.error
    best, total = np.transpose([(len(endgame.best), len(endgame.values)) for endgame in positions()])
    assert row.uniform_optimal == pytest.approx((best / total).mean())


def test_a_seed_fixes_the_result() -> None:
    assert judge(RandomAgent(), seed=3) == judge(RandomAgent(), seed=3)
    assert judge(RandomAgent(), seed=3) != judge(RandomAgent(), seed=4)


def test_greedy_beats_a_uniform_choice() -> None:
    row = judge(GreedyAgent()).total
    assert row.optimal.low is not None
    assert row.optimal.low > row.uniform_optimal


def test_an_illegal_choice_is_an_error_that_names_the_agent() -> None:
    with pytest.raises(IllegalAction, match=r"Agent wrong: .* is not legal"):
        judge(Wrong())


@pytest.mark.parametrize(("game", "players"), [("forest", 3), ("wild", 2)])
def test_without_positions_one_sentence_says_where_there_are_some(game: str, players: int) -> None:
    with pytest.raises(ValueError, match=f"no end positions for {game} with {players} players; there are .* forest_2p"):
        judge(RandomAgent(), game, players)


@pytest.mark.parametrize("line", ["", "{", "[]", "{}", '{"record": {}}'])
def test_a_damaged_file_is_one_sentence(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endgames, "FOLDER", tmp_path)
    whole = FILE.read_text(encoding="utf-8").splitlines()[0]
    for text, number in ((f"{whole}\n{line}\n", 2), (line, 1)):
        (tmp_path / FILE.name).write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match=f"Line {number} of .*{FILE.name} is no end position .*; install") as error:
            endgames.load(GAME, PLAYERS)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("seed", [1.5, None, True])
def test_what_is_no_seed_is_refused(seed: object) -> None:
    with pytest.raises(ValueError, match="give a whole number"):
        judge(RandomAgent(), seed=seed)  # type: ignore[arg-type]


def test_the_command_prints_and_writes_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [f"--json={tmp_path / 'r.json'}", f"--markdown={tmp_path / 'r.md'}"]
    assert main(["evaluate", "random", "greedy", "--endgames", "--seed", "7", *files]) == 0
    shown = capsys.readouterr().out
    assert (tmp_path / "r.md").read_text() == shown
    results = json.loads((tmp_path / "r.json").read_text())
    assert [result["agent"] for result in results] == ["random", "greedy"]
    assert results == json.loads(
        json.dumps([judge(agent, seed=7).to_dict() for agent in (RandomAgent(), GreedyAgent())])
    )
    row = results[1]["total"]
    words = " ".join(shown.split())
    assert f"| greedy | {POSITIONS} | {row['optimal']['mean']:.1%} | " in words
    assert words.count("| phase place |") == words.count("| 5 left |") == 2


def test_an_illegal_choice_has_its_own_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(BUILT_IN, "wrong", Wrong)
    assert main(["evaluate", "random", "wrong", "--endgames"]) == 1
    shown = capsys.readouterr()
    assert "Agent wrong: Action 0" in shown.err
    # Those before it keep their results.
    assert f"| random | {POSITIONS} |" in " ".join(shown.out.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--players", "4"], "There are no end positions for forest with 4 players"),
        (["--against", "greedy"], "leave out --against and --option"),
        (["--option", "reward=margin"], "leave out --against and --option"),
    ],
)
def test_the_command_refuses_in_one_line(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "random", "--endgames", *words]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
