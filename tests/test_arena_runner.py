"""The arena: every table on the same deals, every seat in turn, and no game lost, doubled or changed by how it ran."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spirits_env import games
from spirits_env.agents import Agent, GreedyAgent, RandomAgent
from spirits_env.arena import deal_seed, estimate_share
from spirits_env.arena.contest import Contest, GameTable, Played
from spirits_env.arena.ladder import climb
from spirits_env.arena.plan import make_seatings, make_tables
from spirits_env.arena.results import make_places, read
from spirits_env.arena.runner import ArenaError, run, run_gate
from spirits_env.batch import Batch, Views
from spirits_env.cli import main

FOREST = games.load("forest")


class Dawdler(RandomAgent):
    """Random, and may take its time."""

    name = "dawdler"

    def __init__(self, pause: float = 0.0) -> None:
        self.pause = pause

    def act_many(self, views: Views) -> np.ndarray:
        time.sleep(self.pause)
        return super().act_many(views)


class Faulty(RandomAgent):
    """Random, but does something wrong where seat 0 begins one deal: raises, dies, or chooses nonsense."""

    name = "faulty"

    def __init__(self, deal: int, fault: str) -> None:
        batch = Batch(FOREST, 1)
        batch.reset([deal_seed(1, deal)])
        self.start, self.fault = batch.observation[0].copy(), fault

    def act_many(self, views: Views) -> np.ndarray:
        actions = super().act_many(views)
        here = (views.observation == self.start).all(axis=1)
        if not here.any():
            return actions
        if self.fault == "raise":
            raise ZeroDivisionError("no\nluck")
        if self.fault == "die":
            os._exit(1)
        wrong = {"illegal": np.where(here, 99, actions), "halves": actions / 2}
        return wrong.get(self.fault, actions)


def facts(played: list[Played]) -> list[dict[str, Any]]:
    """All that must not depend on how the games were run."""
    return [{name: value for name, value in games.to_dict().items() if name != "seconds"} for games in played]


def units(played: list[Played]) -> list[tuple[tuple[int, ...], int]]:
    return [(games.table, games.deal) for games in played]


@pytest.fixture(scope="module")
def small() -> list[Played]:
    return run(["random", "greedy", "random"], deals=12)[1]


def test_a_field_is_every_pair_and_a_mixed_plan_every_set() -> None:
    assert make_tables("field", 4, 2) == list(combinations(range(4), 2))
    assert sorted(make_tables("field", 3, 4)) == sorted(permutations(range(3), 2))
    assert make_tables("mixed", 5, 4) == list(combinations(range(5), 4))
    assert make_tables("first", 4, 2) == [(0, 1), (0, 2), (0, 3)]


@pytest.mark.parametrize(
    ("table", "players"),
    [((1, 4), 2), ((1, 4), 3), ((4, 1), 4), ((0, 2, 3), 3), ((0, 2, 3, 5), 4)],
)
def test_within_a_deal_every_agent_sits_in_every_seat_equally_often(table: tuple[int, ...], players: int) -> None:
    seatings = make_seatings(table, players)
    assert len(set(seatings)) == len(seatings) == (6 if len(table) == 3 else players)
    for seats in zip(*seatings, strict=True):
        assert {seats.count(agent) for agent in table[: 1 if players > len(table) else None]} == {
            len(seatings) // players
        }
        assert set(seats) == set(table)


@pytest.mark.parametrize(
    ("players", "plan", "deals"),
    [(2, "field", 400), (3, "field", 200), (4, "field", 150), (3, "mixed", 100), (4, "mixed", 150)],
)
def test_equal_agents_win_their_share(players: int, plan: str, deals: int) -> None:
    agents = ["random"] * (players if plan == "mixed" else 2)
    contest, played = run(agents, players=players, plan=plan, deals=deals)
    assert contest.agents[:2] == ("random", "random (2)")
    for table in make_tables(plan, len(agents), players):
        own = [
            np.mean([share[seats.index(table[0])] for seats, share in zip(each.seats, each.share, strict=True)])
            for each in played
            if each.table == table
        ]
        assert len(own) == deals
        estimate = estimate_share(np.array(own))
        assert estimate.low is not None
        assert estimate.high is not None
        assert estimate.low < 1 / players < estimate.high
    shares = GameTable.of(played, players).share
    assert shares[:, 0].mean() > shares[:, -1].mean()


def test_shares_sum_to_one_and_ties_are_shared() -> None:
    table = GameTable.of(run(["random", "random"], players=4, deals=60)[1], 4)
    np.testing.assert_allclose(table.share.sum(axis=1), 1)
    winners = (table.share > 0).sum(axis=1)
    assert winners.max() > 1
    np.testing.assert_allclose(table.share.max(axis=1), 1 / winners)
    np.testing.assert_array_equal((table.place == 0).sum(axis=1), winners)
    rows = np.arange(len(winners))
    np.testing.assert_array_equal(table.points[rows, table.share.argmax(axis=1)], table.points.max(axis=1))


def test_places_go_by_points_and_then_by_who_won() -> None:
    assert make_places([(5, 7, 5, 1)], [(0.0, 1.0, 0.0, 0.0)]) == ((1, 0, 1, 3),)
    assert make_places([(7, 7, 7, 9)], [(0.0, 0.5, 0.5, 0.0)]) == ((3, 1, 1, 0),)


def test_all_tables_meet_the_same_distinct_deals(small: list[Played]) -> None:
    assert units(small) == [(table, deal) for table in combinations(range(3), 2) for deal in range(12)]
    assert len({deal_seed(1, deal) for deal in range(2000)}) == 2000
    assert facts(run(["random", "greedy"], deals=12)[1]) == facts(small)[:12]


def test_long_games_are_not_under_counted_whatever_the_number_of_lanes() -> None:
    # A random agent makes its games longer than a greedy one.
    one, many = (run(["random", "random", "greedy"], deals=20, lanes=lanes)[1] for lanes in (1, 64))
    assert facts(one) == facts(many)
    assert len(many) == 60
    long, short = ([each for each in many if each.table == table] for table in ((0, 1), (0, 2)))
    assert GameTable.of(long, 2).plies.mean() > GameTable.of(short, 2).plies.mean() + 5


def test_decisions_are_counted_by_agent_and_time_goes_with_them(small: list[Played]) -> None:
    for each in small:
        assert sum(each.decisions) == sum(each.plies)
        assert all(seconds > 0 for seconds in each.seconds)
    greedy = [each for each in small if each.table == (0, 1)]
    assert sum(each.seconds[1] for each in greedy) > sum(each.seconds[0] for each in greedy)


def test_two_processes_play_the_same_games(tmp_path: Path, small: list[Played]) -> None:
    seen: list[tuple[int, int, str]] = []
    agents = ["random", GreedyAgent(), Dawdler()]
    _, played = run(
        agents, deals=12, processes=2, path=tmp_path / "r.jsonl", progress=lambda *state: seen.append(state)
    )
    assert facts(played) == facts(small)
    assert sorted(units(read(tmp_path / "r.jsonl")[1])) == units(small)
    assert [state[0] for state in seen] == sorted(state[0] for state in seen)
    assert (seen[0], seen[-1][:2]) == ((0, 72, ""), (72, 72))


KILLED = """
import sys
sys.path.insert(0, {tests!r})
from test_arena_runner import Dawdler
from spirits_env.arena.runner import run
if __name__ == "__main__":
    run([Dawdler(0.005), "random"], deals=60, path={path!r}, lanes=8, processes=2)
"""


def test_a_killed_arena_goes_on_without_losing_or_doubling_a_game(tmp_path: Path) -> None:
    path, script = tmp_path / "r.jsonl", tmp_path / "script.py"
    script.write_text(KILLED.format(tests=str(Path(__file__).parent), path=str(path)))
    process = subprocess.Popen([sys.executable, str(script)])
    while (not path.exists() or path.read_bytes().count(b"\n") < 9) and process.poll() is None:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    before = path.read_bytes()
    assert 9 <= before.count(b"\n") < 61
    _, played = run([Dawdler(), "random"], deals=60, path=path, lanes=8)
    assert path.read_bytes().startswith(before)
    whole = tmp_path / "whole.jsonl"
    run([Dawdler(), "random"], deals=60, path=whole)
    assert sorted(units(read(path)[1])) == [((0, 1), deal) for deal in range(60)] == units(played)
    assert facts(played) == facts(read(whole)[1])


def test_an_interrupted_arena_keeps_its_games_and_says_so_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    words = [sys.executable, "-m", "spirits_env", "arena", "random", "greedy", "--deals", "100000", "--out", str(path)]
    process = subprocess.Popen(
        [*words, "--processes", "1"],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # Whoever runs the tests in the background may ignore interrupts, which children inherit.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    while (not path.exists() or path.read_bytes().count(b"\n") < 5) and process.poll() is None:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    out, shown = process.communicate()
    assert process.returncode == 130
    assert out == ""
    assert shown.splitlines()[-1].startswith("spirits: stopped; the games so far are in ")
    assert "Traceback" not in shown
    assert len(read(path)[1]) >= 4


INTERRUPTED = """
import sys
sys.path.insert(0, {tests!r})
from test_arena_runner import Dawdler
from spirits_env.arena.runner import run
if __name__ == "__main__":
    try:
        run(["random", "greedy", Dawdler(0.5)], deals=2, path={path!r}, lanes=1, processes=2)
    except KeyboardInterrupt:
        sys.exit(77)
"""


def test_a_second_interruption_gives_up_the_games_that_were_begun(tmp_path: Path) -> None:
    path, script = tmp_path / "r.jsonl", tmp_path / "script.py"
    script.write_text(INTERRUPTED.format(tests=str(Path(__file__).parent), path=str(path)))
    process = subprocess.Popen(
        [sys.executable, str(script)], preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    )
    while (not path.exists() or path.read_bytes().count(b"\n") < 3) and process.poll() is None:
        time.sleep(0.005)
    # Now the dawdler plays; one game of its takes some 20 seconds.
    for _ in range(2):
        time.sleep(1)
        process.send_signal(signal.SIGINT)
    assert process.wait() == 77
    # Two processes finish in any order.
    assert sorted(units(read(path)[1])) == [((0, 1), 0), ((0, 1), 1)]


def test_what_is_in_the_file_is_not_played_again(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    run(["random", "greedy"], deals=3, path=path)
    before = path.read_bytes()
    assert len(run(["random", "greedy"], deals=3, path=path)[1]) == 3
    assert path.read_bytes() == before
    assert len(run(["random", "greedy"], deals=5, path=path)[1]) == 5
    assert path.read_bytes().startswith(before)


def test_agents_may_join_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    run(["random", "greedy"], deals=3, path=path)
    contest, played = run(["random", "greedy", "greedy"], deals=3, path=path)
    assert read(path)[0] == contest
    assert contest.agents == ("random", "greedy", "greedy (2)")
    assert facts(played) == facts(run(["random", "greedy", "greedy"], deals=3)[1])
    with pytest.raises(ValueError, match=r"its agents is random, greedy, greedy \(2\), not random, greedy"):
        run(["random", "greedy"], deals=3, path=path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seed": 2}, "its seed is 1, not 2"),
        ({"players": 3}, "its players is 2, not 3"),
        ({"game": "wild"}, "its game is forest, not wild"),
        ({"options": {"reward": "margin"}}, "its options is .*margin"),
        ({"agents": ["greedy", "random"]}, "its agents is random, greedy, not greedy, random"),
    ],
)
def test_a_file_of_another_contest_is_refused_and_left_alone(
    tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    path = tmp_path / "r.jsonl"
    run(["random", "greedy"], deals=2, path=path)
    path.write_bytes(path.read_bytes() + b'{"cut')
    before = path.read_bytes()
    with pytest.raises(ValueError, match=words):
        run(**{"agents": ["random", "greedy"], "deals": 2, "path": path, "mend": True, **change})
    assert path.read_bytes() == before


def test_fields_and_mixed_tables_do_not_share_a_file(tmp_path: Path) -> None:
    run(["random"] * 3, players=3, deals=1, path=tmp_path / "r.jsonl")
    with pytest.raises(ValueError, match="another kind"):
        run(["random"] * 3, players=3, deals=1, path=tmp_path / "r.jsonl", plan="mixed")


def test_a_file_that_is_being_written_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"

    def again(done: int, total: int, label: str) -> None:
        with pytest.raises(ValueError, match="Another run is writing"):
            run(["random", "greedy"], deals=2, path=path)

    run(["random", "greedy"], deals=2, path=path, progress=again)


@pytest.fixture
def lines(tmp_path: Path) -> list[str]:
    run(["random", "greedy"], deals=4, path=tmp_path / "r.jsonl")
    return (tmp_path / "r.jsonl").read_text().splitlines(keepends=True)


def test_a_line_cut_short_is_named_and_mended_on_request(tmp_path: Path, lines: list[str]) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text("".join(lines)[:-30])
    cut = path.read_bytes()
    for attempt in (lambda: read(path), lambda: run(["random", "greedy"], deals=4, path=path)):
        with pytest.raises(ValueError, match=r"l, line 5, was cut short; the 4 lines before it are whole: .*mend"):
            attempt()
    assert path.read_bytes() == cut
    assert units(read(path, mend=True)[1]) == [((0, 1), deal) for deal in range(3)]
    assert path.read_bytes() == cut
    run(["random", "greedy"], deals=4, path=path, mend=True)
    assert facts(read(path)[1]) == facts([Played.from_dict(json.loads(line)) for line in lines[1:]])


def changed(line: str, **parts: Any) -> str:
    return json.dumps({**json.loads(line), **parts}) + "\n"


@pytest.mark.parametrize(
    "damage",
    [
        lambda line: line[:40] + "\n",
        lambda line: "\n",
        lambda line: "[1]\n",
        lambda line: "\0" * 50 + "\n",
        lambda line: "[" * 100_000 + "\n",
        lambda line: changed(line, table=[0, 7]),
        lambda line: changed(line, table=[1, 1]),
        lambda line: changed(line, deal=-1),
        lambda line: changed(line, share=[[1, 1], [0, 1]]),
        lambda line: changed(line, seats=[[0, 1], [0, 1]]),
        lambda line: changed(line, place=[[0, 0], [0, 0]]),
        lambda line: changed(line, points=[["a", "a"], ["a", "a"]]),
        lambda line: changed(line, share=[[-1, 2], [0, 1]]),
        lambda line: changed(line, plies=[1]),
        lambda line: changed(line, seconds=None),
        lambda line: changed(line, more=1),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, lines: list[str], damage: Any) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text("".join([*lines[:2], damage(lines[2]), *lines[3:]]))
    with pytest.raises(ValueError, match=r"r.jsonl, line 3, is damaged"):
        read(path, mend=True)


def test_games_that_come_twice_are_named(tmp_path: Path, lines: list[str]) -> None:
    (tmp_path / "r.jsonl").write_text("".join([*lines, lines[2]]))
    with pytest.raises(ValueError, match=r"line 6, repeats deal 1 of table \(0, 1\)"):
        read(tmp_path / "r.jsonl")


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("", "no header"),
        ("nonsense\n", "no header"),
        ('{"format": "other"}\n', "no header"),
        ('{"format": "spirits_env arena", "format_version": 2}\n', "format version 2, this package reads up to 1"),
        ('{"format": "spirits_env arena", "format_version": 1, "contest": {"game": 1}}\n', "damaged header .*game, "),
        ('{"format": "spirits_env arena", "format_version": 1, "contest": []}\n', "damaged header"),
    ],
)
def test_a_file_without_a_sound_header_is_refused(tmp_path: Path, lines: list[str], header: str, words: str) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(header + "".join(lines[1:]) if header else "")
    with pytest.raises(ValueError, match=words):
        read(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="can't be read"):
        read(tmp_path / "none.jsonl")


@pytest.mark.parametrize("processes", [1, 2])
def test_an_agent_that_raises_is_named_with_its_deal_and_earlier_games_are_kept(tmp_path: Path, processes: int) -> None:
    path = tmp_path / "r.jsonl"
    words = r"In deal 6 of random against faulty, agent faulty failed with ZeroDivisionError: no luck; the games before"
    with pytest.raises(ArenaError, match=words):
        run(["random", Faulty(6, "raise")], deals=9, path=path, processes=processes)
    assert set(range(4)) <= {each.deal for each in read(path)[1]}
    assert 6 not in {each.deal for each in read(path)[1]}


class Changed(RandomAgent):
    """Random, and another one each time its file is looked at."""

    name = "changed"
    looks = 0

    @property
    def fingerprint(self) -> str:  # type: ignore[override]
        self.looks += 1
        return str(self.looks)


def test_an_agent_whose_file_changes_meanwhile_is_named(tmp_path: Path) -> None:
    with pytest.raises(ArenaError, match="The file of agent changed changed since this run began; the games before"):
        run(["random", Changed()], deals=2, path=tmp_path / "r.jsonl")
    assert read(tmp_path / "r.jsonl")[1] == []


def test_a_process_that_dies_is_one_error_and_earlier_games_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with pytest.raises(ArenaError, match="A process that played was ended"):
        run(["random", Faulty(6, "die")], deals=9, path=path, processes=2)
    run(["random", Faulty(6, "none")], deals=9, path=path)
    assert sorted(each.deal for each in read(path)[1]) == list(range(9))


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("illegal", r"In deal 5 of faulty against random, agent faulty chose 99 \(no action\), which was illegal"),
        ("halves", "In deal 5 of faulty against random, agent faulty gave array.* whole numbers"),
    ],
)
def test_an_illegal_choice_is_named_with_its_deal(tmp_path: Path, fault: str, words: str) -> None:
    with pytest.raises(ArenaError, match=words):
        run([Faulty(5, fault), "random"], deals=9, path=tmp_path / "r.jsonl")
    assert [each.deal for each in read(tmp_path / "r.jsonl")[1]] == [0, 1, 2, 3]


class Local(Agent):
    name = "two players only"

    def check(self, game: str, players: int) -> None:
        if players != 2:
            raise ValueError("I play with two.")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"agents": ["random", "nobody"]}, "random, greedy"),
        ({"agents": ["random"]}, "at least 2 agents"),
        ({"agents": ["random", Local()], "players": 3}, "I play with two"),
        ({"deals": 0}, "deals was 0"),
        ({"deals": 1.5}, "deals was 1.5"),
        ({"processes": 0}, "processes was 0"),
        ({"lanes": 0}, "lanes was 0"),
        ({"seed": -1}, "seed was -1"),
        ({"players": 1}, "spirits evaluate"),
        ({"players": 7}, "players was 7"),
        ({"plan": "chaos"}, "the plans are field, mixed, first"),
        ({"plan": "mixed"}, "3 players or more"),
        ({"plan": "mixed", "players": 3}, "3 agents or more"),
        ({"options": {"colour": 1}}, "colour"),
        ({"game": "chess"}, "forest"),
        ({"path": "no/such/folder/r.jsonl"}, "folder of no/such/folder/r.jsonl does not exist"),
        ({"agents": ["random", type("Here", (Agent,), {})()], "processes": 2}, "can't be sent"),
    ],
)
def test_bad_arguments_are_refused_before_anything_is_played(
    tmp_path: Path, arguments: dict[str, Any], words: str
) -> None:
    path = tmp_path / "r.jsonl"
    with pytest.raises(ValueError, match=words):
        run(**{"agents": ["random", "greedy"], "path": path, **arguments})
    assert not path.exists()


def test_a_gate_stops_once_it_is_decided_and_judges_the_first_deals_alone(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    _, played, verdict = run_gate(["greedy", "random"], 0.02, path=path)
    assert (verdict.decision, verdict.deals) == ("better", 64)
    assert len(played) < 6000
    assert run_gate(["greedy", "random"], 0.02, lanes=2)[2] == verdict
    assert run_gate(["greedy", "random"], 0.02, path=path)[1] == played
    _, played, verdict = run_gate(["random", "greedy"], 0.05, players=3)
    assert verdict.decision == "not better"
    assert {each.table for each in played} == {(0, 1)}
    for agents, delta, words in ((["random"] * 3, 0.02, "two agents"), (["random"] * 2, 0.0, "delta was 0")):
        with pytest.raises(ValueError, match=words):
            run_gate(agents, delta)


def test_a_ladder_begins_with_the_games_of_its_anchors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spirits_env.arena.ladder.ANCHORS", ("random", "greedy"))
    base, path = tmp_path / "base.jsonl", tmp_path / "more.jsonl"
    climb([], base, base, "forest", deals=3)
    contest, played = climb([Dawdler()], path, base, "forest", deals=3)
    assert contest.agents == ("random", "greedy", "dawdler")
    assert path.read_text().splitlines()[1:4] == base.read_text().splitlines()[1:]
    assert len(played) == 9
    assert len(read(base)[1]) == 3
    with pytest.raises(ValueError, match="nobody"):
        climb(["nobody"], tmp_path / "none.jsonl", base, "forest", deals=3)
    with pytest.raises(ValueError, match=r"folder of .* does not exist"):
        climb([Dawdler()], tmp_path / "no" / "such.jsonl", base, "forest", deals=3)
    whole = base.read_bytes()
    cut = whole[:-30]
    base.write_bytes(cut)
    assert len(climb([Dawdler()], tmp_path / "mended.jsonl", base, "forest", deals=3, mend=True)[1]) == 9
    assert base.read_bytes() == cut
    assert {path.name for path in tmp_path.iterdir()} == {"base.jsonl", "more.jsonl", "mended.jsonl"}
    base.write_bytes(whole)
    other, _ = climb([Dawdler()], tmp_path / "other.jsonl", base, "forest", deals=3, seed=2)
    assert other.seed == 2


def test_the_commands_play_print_and_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("spirits_env.arena.ladder.ANCHORS", ("random", "greedy"))
    common = ["--deals", "8", "--processes", "1"]
    assert main(["arena", "random", "greedy", *common, "--html", "a.html", "--markdown", "a.md"]) == 0
    shown = capsys.readouterr()
    results = Path("runs/arena/forest-2p-random-greedy.jsonl")
    assert shown.out == Path("a.md").read_text() + f"\nResults: {results}\n"
    assert "<svg" in Path("a.html").read_text()
    assert shown.err.splitlines()[-1] == "16 of 16 games; random v greedy"
    assert main(["report", str(results), "--markdown", "b.md"]) == 0
    assert capsys.readouterr().out == Path("a.md").read_text() == Path("b.md").read_text()
    assert main(["ladder", *common]) == 0
    assert {path.name for path in Path("runs/ladder").iterdir()} == {
        f"forest-2p.{kind}" for kind in ("jsonl", "md", "html")
    }
    assert main(["arena", "greedy", "random", "--gate", "0.02", "--processes", "1"]) == 0
    assert "greedy against random: better by 0.02 after 64 deals" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        ["arena", "random", "nobody"],
        ["arena", "random"],
        ["arena", "random", "greedy", "--deals", "0"],
        ["arena", "random", "greedy", "--out", "no/such/x.jsonl"],
        ["arena", "random", "greedy", "--html", "no/such/x.html"],
        ["arena", "random", "greedy", "--html", "."],
        ["arena", "random", "greedy", "--game", "chess"],
        ["arena", "random", "greedy", "--gate", "-1"],
        ["ladder", "nobody"],
        ["report", "none.jsonl"],
    ],
)
def test_a_wrong_word_is_one_line_and_code_2(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("spirits: ")
    assert len(shown.err.splitlines()) == 1


def test_a_contest_goes_through_json() -> None:
    contest = run(["random", "random"], game="wild", deals=1)[0]
    assert Contest.from_dict(json.loads(json.dumps(contest.to_dict()))) == contest
    assert contest.remarks
