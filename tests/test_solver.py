"""The exact solver against a plain minimax that keeps nothing and skips nothing."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from forest_play import UNCOMPILED, walk

from spirits_env import record, solver
from spirits_env.cli import main
from spirits_env.solver import OBJECTIVES, Solver, UnsolvedError, solve
from spirits_env.state import State


def worth(state: State, objective: str) -> int:
    """Value for seat 0 under perfect play, by trying everything."""
    if state.seat < 0:
        if objective == "points":
            first, second = state.scores()
            return first - second
        return (0 in state.winners()) - (1 in state.winners())
    values = [worth(after(state, action), objective) for action in state.legal_actions()]
    return max(values) if state.seat == 0 else min(values)


def after(state: State, action: int) -> State:
    other = state.copy()
    other.play(action)
    return other


def plain_values(state: State, objective: str) -> dict[int, int]:
    """Value of every legal action for the seat to act, by trying everything."""
    sign = 1 if state.seat == 0 else -1
    return {action: sign * worth(after(state, action), objective) for action in state.legal_actions()}


def ends(tiles: int, games: int, seed: int = 0) -> list[State]:
    """All decisions with at most so many tiles left, of games with much stealing."""
    games = min(games, 1) if UNCOMPILED else games
    return [
        state.copy()
        for number in range(games)
        for state in walk(2, seed + number)
        if state.seat >= 0 and state.record["remaining"] <= tiles
    ]


def random_game(game: str, players: int, seed: int) -> State:
    state, rng = State(game, players, seed=seed), random.Random(seed)
    while state.seat >= 0:
        state.play(rng.choice(state.legal_actions()))
    return state


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_every_action_is_worth_what_trying_everything_says(objective: str) -> None:
    shared = Solver(State("forest", 2, seed=0).game, objective)
    positions = ends(tiles=3, games=12)
    assert {state.phase for state in positions} >= {"first", "place"}
    for state in positions:
        solution = shared.solve(state)
        expected = plain_values(state, objective)
        assert solution.values == expected
        assert solution.value == max(expected.values())
        assert solution.best == tuple(a for a, value in expected.items() if value == solution.value)
        assert (solution.value_for(state.seat), solution.value_for(1 - state.seat)) == (solution.value, -solution.value)


@pytest.mark.slow
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_four_tiles_are_worth_what_trying_everything_says(objective: str) -> None:
    for state in ends(tiles=4, games=6, seed=100):
        assert solve(state, objective=objective).values == plain_values(state, objective)


def test_a_seat_that_decides_several_times_in_a_row_keeps_its_view() -> None:
    # The same seat is to act after the best action, and after another one the other seat is.
    for state in ends(tiles=3, games=30, seed=50):
        actors = {action: after(state, action).seat for action in state.legal_actions()}
        if state.seat in actors.values() and 1 - state.seat in actors.values():
            values = solve(state).values
            break
    else:
        raise AssertionError("no such position; take more games")
    assert values == plain_values(state, "points")
    for action, seat in actors.items():
        if seat == state.seat:
            assert values[action] == solve(after(state, action)).value
        elif seat >= 0:
            assert values[action] == -solve(after(state, action)).value


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_line_is_played_to_the_value_and_every_step_of_it_is_best(objective: str) -> None:
    positions = ends(tiles=5, games=3, seed=20)
    shared = Solver(positions[0].game, objective)
    for state in positions:
        solution = solve(state, objective=objective)
        seat, course = state.seat, state.copy()
        for action in solution.line:
            assert action in shared.solve(course).best
            course.play(action)
        assert course.seat < 0
        assert worth(course, objective) * (1 if seat == 0 else -1) == solution.value


def test_tables_of_other_positions_change_nothing() -> None:
    positions = ends(tiles=6, games=3, seed=7)
    shared = Solver(positions[0].game)
    for state in [*positions, *reversed(positions)]:
        kept, before = shared.solve(state), state.copy()
        fresh = solve(state)
        assert (kept.values, kept.best) == (fresh.values, fresh.best)
        assert state == before
        assert state.history == before.history


def test_other_hidden_tokens_are_another_position() -> None:
    shared = Solver(State("forest", 2, seed=0).game)
    differ = 0
    for state in ends(tiles=2, games=4, seed=3):
        found = []
        for seed in range(3):
            world = state.redealt(state.seat, seed)
            found.append(shared.solve(world).values)
            assert found[-1] == plain_values(world, "points")
        differ += found[0] != found[1]
    assert UNCOMPILED or differ > 0


@pytest.mark.slow
def test_another_game_is_solved_with_its_chance_known() -> None:
    game = random_game("wild", 2, 1)
    state = record.replay(record.write(game), plies=len(game.history) - 2)
    assert solve(state).values == plain_values(state, "points")
    assert solve(state, objective="result").values == plain_values(state, "result")


def test_too_little_time_is_an_error_that_names_the_ply() -> None:
    state = State("forest", 2, seed=1)
    state.play(state.legal_actions()[0])
    with pytest.raises(UnsolvedError, match=r"at ply 1 was not solved within 1e-09 s; give a later ply"):
        solve(state, seconds=1e-9)
    # The same tables go on to solve what there is time for.
    shared = Solver(state.game)
    with pytest.raises(UnsolvedError):
        shared.solve(state, seconds=1e-9)
    end = ends(tiles=2, games=1)[0]
    assert shared.solve(end).values == plain_values(end, "points")


def test_the_limit_counts_for_all_questions_together(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each look at the clock is a second later, and each question takes one look at least.
    state = ends(tiles=2, games=1)[0]
    assert len(state.legal_actions()) > 1
    clock = itertools.count()
    monkeypatch.setattr(solver, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    with pytest.raises(UnsolvedError):
        solve(state, seconds=1.5)
    assert solve(state, seconds=1000).values == plain_values(state, "points")


def test_a_search_that_is_broken_off_goes_on_as_if_it_had_not_been(monkeypatch: pytest.MonkeyPatch) -> None:
    state = ends(tiles=3, games=1, seed=60)[0]
    whole = solve(state)
    assert whole.nodes > 20
    monkeypatch.setattr(solver, "_SLICE", 3)
    parts = solve(state)
    assert (parts.values, parts.line, parts.nodes) == (whole.values, whole.line, whole.nodes)


def test_a_result_is_not_looked_for_beyond_a_win_or_a_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    ask = Solver._ask

    def listen(self: Solver, state: State, goal: int) -> int:
        asked.append(goal)
        return ask(self, state, goal)

    monkeypatch.setattr(Solver, "_ask", listen)
    monkeypatch.setattr(Solver, "_line", lambda *_: ())
    for state in ends(tiles=2, games=3):
        assert solve(state, objective="result").values == plain_values(state, "result")
    assert set(asked) == {0, 1}


@pytest.mark.parametrize("players", [1, 3])
def test_only_games_of_two_are_solved(players: int) -> None:
    with pytest.raises(ValueError, match=f"has {players} player"):
        solve(State("forest", players, seed=1))


def test_a_finished_game_is_refused() -> None:
    with pytest.raises(ValueError, match="is over"):
        solve(random_game("forest", 2, 1))


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan"), True, "5"])
def test_what_is_no_time_limit_is_refused(seconds: Any) -> None:
    with pytest.raises(ValueError, match="more than 0 seconds"):
        solve(ends(tiles=1, games=1)[0], seconds=seconds)


def test_an_unknown_objective_is_refused() -> None:
    with pytest.raises(ValueError, match="objective was 'elo'; give 'points' or 'result'"):
        solve(ends(tiles=1, games=1)[0], objective="elo")


def test_a_solver_is_for_one_game() -> None:
    with pytest.raises(ValueError, match="this solver is for Spirits of the Wild"):
        Solver(State("wild", 2, seed=1).game).solve(State("forest", 2, seed=1))


@pytest.mark.skipif(UNCOMPILED, reason="there is nothing to compare with")
def test_hashes_are_the_same_uncompiled() -> None:
    words = np.random.default_rng(1).integers(0, 2**64, 1000, np.uint64)
    assert [int(solver._mix(word)) for word in words] == [int(solver._mix.py_func(word)) for word in words]


def test_a_hash_is_the_same_on_every_way_and_another_for_every_word() -> None:
    salts = np.random.default_rng(2).integers(0, 2**64, 4, np.uint64)
    first, second = np.array([1, 2, 3, 4], np.uint64), np.array([2, 1, 3, 0], np.uint64)
    assert solver._rehash(solver._hash(first, salts), first, second, salts) == solver._hash(second, salts)
    # Small numbers, as records hold them, in every place.
    words = [np.roll([n, 0, 0, 0], at).astype(np.uint64) for n in range(1, 500) for at in range(4)]
    assert len({int(solver._hash(word, salts)) for word in words}) == 4 * 499


def test_a_full_bucket_keeps_what_took_most_effort_and_what_came_last() -> None:
    table = np.zeros(2 << solver._BUCKET_BITS, solver._ENTRY)
    frame = np.zeros(solver._FIELDS, np.int64)
    frame[solver._GOAL], frame[solver._CHOICE] = 5, 3
    for key, best, effort in ((1, 7, 100), (2, 8, 10), (3, 4, 20)):
        frame[solver._BEST] = best
        solver._store(table, np.uint64(key), frame, effort)
    found = {key: solver._find(table, np.uint64(key)) for key in (1, 2, 3)}
    assert found == {1: 0, 2: -1, 3: 1}
    assert (table[0].low, table[0].high, table[0].action) == (7, solver._HIGHEST, 3)
    assert (table[1].low, table[1].high) == (solver._LOWEST, 4)
    # What another position of the same hash left is no action here: then the history decides.
    frame[solver._NEXT], frame[solver._COUNT], frame[solver._HINT] = 0, 2, 7
    assert solver._pick(frame, np.array([4, 6, 7], np.int16), np.zeros(9, np.int64)) in (4, 6)
    # A second result for the same position joins the first.
    frame[solver._GOAL], frame[solver._BEST] = 9, 8
    solver._store(table, np.uint64(1), frame, 5)
    assert (table[0].low, table[0].high) == (7, 8)


def saved(path: Path, seed: int = 4) -> State:
    state = random_game("forest", 2, seed)
    record.save(state, path)
    return state


def test_solve_prints_values_actions_and_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    game = saved(tmp_path / "r.json")
    ply = len(game.history) - 4
    assert main(["solve", str(tmp_path / "r.json"), "--from", str(ply)]) == 0
    shown = capsys.readouterr().out
    state = record.load(tmp_path / "r.json", ply)
    solution = solve(state)
    assert f"ply {ply}, {state.phase}: seat {state.seat} to act." in shown
    assert f"a margin of {solution.value:+d} points for seat {state.seat}." in shown
    for action, value in solution.values.items():
        mark = "*" if action in solution.best else " "
        assert f"\n{mark} {value:+4d}  {action:3d}  {state.game.actions[action].name}" in shown
    assert shown.count("  seat ") == len(solution.line)


def test_solve_starts_at_the_last_decision(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    game = saved(tmp_path / "r.json")
    assert main(["solve", str(tmp_path / "r.json"), "--objective", "result"]) == 0
    shown = capsys.readouterr().out
    assert f"ply {len(game.history) - 1}," in shown
    # An unfinished record is solved where it ends.
    part = record.write(record.replay(record.write(game), plies=len(game.history) - 2))
    (tmp_path / "part.json").write_text(json.dumps(part))
    assert main(["solve", str(tmp_path / "part.json")]) == 0
    assert f"ply {len(game.history) - 2}," in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--from", "-1"], "--from was -1; give 0 or more."),
        (["--from", "9999"], "the record's last position with a decision to take is"),
        (["--seconds", "0"], "give more than 0 seconds"),
        (["--from", "0", "--seconds", "0.001"], "at ply 0 was not solved within 0.001 s"),
    ],
)
def test_what_cannot_be_solved_is_one_line(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved(tmp_path / "r.json")
    assert main(["solve", str(tmp_path / "r.json"), *words]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
