"""Looking at games: `spirits replay` in the terminal and as a page, and `spirits watch`."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from passer import Passer

from spirits_env import record
from spirits_env.agents import BUILT_IN, GreedyAgent, make_agent
from spirits_env.analysis import analyse
from spirits_env.batch import Views
from spirits_env.cli import main
from spirits_env.render.page import replay_page
from spirits_env.state import State

GAMES = [("forest", 1), ("forest", 2), ("forest", 3), ("forest", 4), ("wild", 2)]


def played(game: str = "forest", players: int = 2, seed: int = 0, plies: int = 1000) -> State:
    state, rng = State(game, players, seed=seed), np.random.default_rng(seed)
    while state.seat >= 0 and len(state.history) < plies:
        state.play(rng.choice(state.legal_actions()))
    return state


def positions(whole: State) -> list[State]:
    content = record.write(whole)
    return [record.replay(content, ply) for ply in range(len(whole.history) + 1)]


def content_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="content">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    content: dict[str, Any] = json.loads(found[1])
    return content


def scenes_of(content: dict[str, Any]) -> list[str]:
    texts = content["pieces"]
    for level in reversed(content["levels"]):
        texts = ["".join(texts[part] for part in parts) for parts in level]
    return texts


# --- the page ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("game", "players"), GAMES)
@pytest.mark.parametrize("seat", [None, 0])
def test_the_page_holds_every_board_and_decision(game: str, players: int, seat: int | None) -> None:
    whole = played(game, players, seed=players)
    content = content_of(replay_page(record.write(whole), seat))
    states = positions(whole)
    assert scenes_of(content) == [state.svg(seat, "auto") for state in states]
    decisions = [
        {"seat": state.seat, "turn": state.turn, "text": state.tell(action)}
        for state, action in zip(states, whole.history, strict=False)
    ]
    assert content["decisions"] == decisions
    assert content["points"] == ([state.scores() for state in states] if seat is None else None)
    assert content["scores"] == whole.scores()
    assert content["winners"] == whole.winners()
    assert [row["text"] for row in content["count"]] == [score.text for score in whole.explain()]
    assert content["remarks"] == whole.remarks


@pytest.mark.parametrize(("game", "players"), [("forest", 2), ("forest", 4), ("wild", 2)])
def test_the_page_of_a_seat_tells_nothing_that_the_seat_cannot_know(game: str, players: int) -> None:
    whole = played(game, players, seed=9, plies=25)
    differ = 0
    for seat in range(players):
        other = whole.redealt(seat, seed=4)
        differ += other.setup() != whole.setup()
        assert replay_page(other, seat) == replay_page(whole, seat)
    assert differ
    assert replay_page(other) != replay_page(whole)


def test_the_page_of_a_seat_tells_the_policys_mind_for_this_seat_alone() -> None:
    whole = played(seed=3)
    content = content_of(replay_page(whole, 1, "policy:forest"))
    told = [thought is not None for thought in content["thoughts"]]
    assert told == [decision["seat"] == 1 for decision in content["decisions"]]


def test_the_page_tells_what_the_policy_thinks() -> None:
    whole = played(seed=3)
    agent = make_agent("policy:forest")
    content = content_of(replay_page(whole, agent=agent))
    assert content["policy"] == "policy:forest"
    for judged, thought, state in zip(analyse(whole, agent), content["thoughts"], positions(whole), strict=False):
        assert thought["value"] == pytest.approx(judged.value, abs=1e-3)
        assert thought["loss"] == pytest.approx(judged.loss, abs=1e-3)
        assert thought["mistake"] == judged.mistake
        chances = [choice["chance"] for choice in thought["choices"]]
        assert chances == sorted(chances, reverse=True)
        texts = {state.tell(action): chance for action, chance in judged.probabilities.items()}
        assert {choice["text"]: choice["chance"] for choice in thought["choices"]} == pytest.approx(texts, abs=1e-3)
        assert [c["text"] for c in thought["choices"] if c["played"]] == [state.tell(judged.action)]


def test_the_page_runs_its_own_script_alone_and_asks_for_nothing() -> None:
    page = replay_page(played(seed=1))
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    rules = dict(rule.split(" ", 1) for rule in policy[1].split("; "))
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert len(scripts) == 1
    # Whatever the encoding of a page around it, the script has the same bytes.
    assert scripts[0].isascii()
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert rules["script-src"] == f"'sha256-{digest}'"
    assert rules["default-src"] == "'none'"
    assert not re.search(r"""\b(src|href|action)=|url\(|@import|\bfetch\(|XMLHttp|\bon[a-z]+=""", page)


def test_whatever_a_page_is_called_stays_text() -> None:
    name = "</script><script>alert('&\"')</script><!--"
    agent = make_agent("policy:forest")
    agent.name = name
    page = replay_page(played(seed=1), agent=agent, title=name)
    assert page.count("<script") == 2
    assert page.count("</script") == 2
    assert "<!--" not in page
    content = content_of(page)
    assert content["title"] == content["policy"] == name
    heading = re.search("<h1>(.*?)</h1>", page)
    assert heading is not None
    assert unescape(heading[1]) == name


def test_a_page_stays_small() -> None:
    whole = record.load(Path(__file__).parent.parent / "docs" / "forest.json")
    assert len(whole.history) > 80
    assert len(replay_page(whole, agent="policy:forest").encode()) < 700_000


@pytest.mark.parametrize("seat", [None, 1])
def test_a_game_that_goes_on_has_a_page(seat: int | None) -> None:
    whole = played(players=3, seed=2, plies=10)
    content = content_of(replay_page(whole, seat))
    assert not content["over"]
    assert content["next"] == whole.seat
    assert content["scores"] == (whole.scores() if seat is None else None)
    assert bool(content["count"]) == (seat is None)


def test_what_makes_no_page_is_refused() -> None:
    whole = played(seed=1)
    with pytest.raises(ValueError, match="seat was 2; give a seat from 0 to 1"):
        replay_page(whole, 2)
    with pytest.raises(ValueError, match="has no policy to ask"):
        replay_page(whole, agent="greedy")


# --- spirits replay ---------------------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path: Path) -> tuple[str, State]:
    whole = played(seed=4)
    record.save(whole, tmp_path / "game.json")
    return str(tmp_path / "game.json"), whole


def test_replay_writes_a_page(saved: tuple[str, State], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, whole = saved
    page = tmp_path / "game.html"
    assert main(["replay", path, "--html", str(page), "--seat", "1", "--policy", "policy:forest"]) == 0
    assert page.read_text(encoding="utf-8") == replay_page(whole, 1, "policy:forest")
    assert capsys.readouterr().out.startswith(f"{page}: {len(whole.history)} decisions, ")


@pytest.mark.parametrize(
    "words",
    [
        ["--html", "no/such/folder/x.html"],
        ["--html", "{folder}/x.html", "--ply", "3"],
        ["--html", "{folder}/x.html", "--policy", "greedy"],
        ["--html", "{folder}/x.html", "--policy", "policy:wild"],
        ["--html", "{folder}/x.html", "--seat", "2"],
        ["--policy", "missing.onnx"],
    ],
)
def test_replay_refuses_in_one_line_and_writes_nothing(
    words: list[str], saved: tuple[str, State], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", saved[0], *(word.format(folder=tmp_path) for word in words)]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert len(shown.err.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["game.json"]


def test_without_a_terminal_the_policys_mind_follows_the_board(
    saved: tuple[str, State], capsys: pytest.CaptureFixture[str]
) -> None:
    path, whole = saved
    judged = analyse(whole, make_agent("policy:forest"))
    ply = next(one.ply for one in judged if one.mistake)
    assert main(["replay", path, "--ply", str(ply), "--policy", "policy:forest"]) == 0
    shown = capsys.readouterr().out
    state = record.replay(record.write(whole), ply)
    assert shown.startswith(state.text())
    lines = shown[len(state.text()) :].splitlines()
    assert f"{judged[ply].value:+.2f}" in lines[1]
    assert lines[1].endswith(f"costs {judged[ply].loss:.2f}. Likely a mistake.")
    assert next(line for line in lines if line.startswith(">")).endswith(state.tell(whole.history[ply]))
    # Of a seat's view the minds of the others are no part.
    assert main(["replay", path, "--ply", str(ply), "--seat", str(1 - state.seat), "--policy", "policy:forest"]) == 0
    assert "expects" not in capsys.readouterr().out


Types = Callable[..., None]


@pytest.fixture
def types(monkeypatch: pytest.MonkeyPatch) -> Iterator[Types]:
    """Pretend that a person at a terminal types words, and then ends the input."""
    words: list[Any] = []

    def take(prompt: str = "") -> str:
        word = words.pop(0) if words else EOFError
        if isinstance(word, str):
            return word
        raise word

    def put(*typed: Any) -> None:
        words.extend(typed)
        monkeypatch.setattr("sys.stdin.isatty", lambda: True)
        monkeypatch.setattr("sys.stdout.isatty", lambda: True)
        monkeypatch.setattr("builtins.input", take)
        monkeypatch.setenv("TERM", "dumb")

    yield put
    assert not words


def boards(shown: str) -> list[str]:
    return shown.split("\x1b[2J\x1b[H\n")[1:]


def test_keys_step_through_a_game(saved: tuple[str, State], types: Types, capsys: pytest.CaptureFixture[str]) -> None:
    path, whole = saved
    states = positions(whole)
    last = len(whole.history)
    types("", "n", "b", "12", "e", "n", "99999", "b", "0", "b", "q")
    assert main(["replay", path]) == 0
    walked = [0, 1, 2, 1, 12, last, last, last, last - 1, 0, 0]
    for ply, shown in zip(walked, boards(capsys.readouterr().out), strict=True):
        assert shown.startswith(states[ply].text())
        if ply < last:
            assert f"After {ply} of {last}: seat {states[ply].seat}: {states[ply].tell(whole.history[ply])}" in shown
            points = states[ply].scores()
            assert f"Points as they stand: seat 0 {points[0]}, seat 1 {points[1]}." in shown
        else:
            assert all(score.text in shown for score in whole.explain())


def test_m_goes_from_mistake_to_mistake(
    saved: tuple[str, State], types: Types, capsys: pytest.CaptureFixture[str]
) -> None:
    path, whole = saved
    slips = [one.ply for one in analyse(whole, make_agent("policy:forest")) if one.mistake]
    assert len(slips) > 3
    types("m", "m", "e", "m", "q")
    assert main(["replay", path, "--policy", "policy:forest", "--ply", str(slips[0])]) == 0
    shown = boards(capsys.readouterr().out)
    for ply, text in zip([*slips[:3]], shown, strict=False):
        assert f"After {ply} of" in text
        assert "Likely a mistake." in text
    assert "No more likely mistakes." in shown[-1]


def test_other_words_help_and_change_nothing(
    saved: tuple[str, State], types: Types, capsys: pytest.CaptureFixture[str]
) -> None:
    types("?", "xyz", "m")
    assert main(["replay", saved[0], "--ply", "5", "--seat", "0"]) == 0
    shown = boards(capsys.readouterr().out)
    assert all(text.startswith(positions(saved[1])[5].text(0)) for text in shown)
    # What the others hold counts in the points.
    assert not any("Points as they stand" in text for text in shown)
    assert "back" in shown[1]
    assert "'xyz' is none of the keys" in shown[2]
    assert "--policy" in shown[3]


def test_an_interrupt_ends_replay_with_code_130(saved: tuple[str, State], types: Types) -> None:
    types("", KeyboardInterrupt)
    assert main(["replay", saved[0]]) == 130


# --- spirits watch ----------------------------------------------------------------------------------------


def test_watch_plays_one_game_to_its_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "w.json"
    words = ["watch", "greedy", "random", "--seed", "8", "--save", str(file)]
    assert main(words) == 0
    shown = capsys.readouterr().out
    whole = record.load(file)
    lines = shown.splitlines()
    assert lines[0] == "Spirits of the Forest, seed 8, seat 0: greedy, seat 1: random"
    names = ["greedy", "random"]
    for line, state, action in zip(lines[1:], positions(whole), whole.history, strict=False):
        assert line == f"seat {state.seat} ({names[state.seat]}): {state.tell(action)}"
    assert whole.text() in shown
    assert all(score.text in shown for score in whole.explain())
    for seat, points in enumerate(whole.scores()):
        won = ", wins" if whole.winners() == [seat] else ""
        assert f"seat {seat} ({names[seat]}): {points} points{won}" in lines
    assert main(words) == 0
    assert capsys.readouterr().out == shown
    assert main([*words[:3], "--seed", "9"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] != lines[1:]


def test_watch_deals_the_game_that_the_seed_names(tmp_path: Path) -> None:
    file = tmp_path / "w.json"
    words = ["--game", "wild", "--seed", "6", "--option", "reward=margin", "--save", str(file)]
    assert main(["watch", "random", "greedy", *words]) == 0
    whole = record.load(file)
    assert whole.setup() == State("wild", 2, seed=6).setup()
    assert whole.options["reward"] == "margin"


def test_without_a_seed_every_game_is_another_one_and_tells_its_seed(capsys: pytest.CaptureFixture[str]) -> None:
    heads = []
    for _ in range(2):
        assert main(["watch", "random", "random"]) == 0
        heads.append(capsys.readouterr().out)
    assert heads[0].splitlines()[0] != heads[1].splitlines()[0]
    seed = re.search(r"seed (\d+)", heads[0])
    assert seed is not None
    assert main(["watch", "random", "random", "--seed", seed[1]]) == 0
    assert capsys.readouterr().out == heads[0]


def test_agents_come_in_turn_where_players_are_more(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", "greedy", "random", "--players", "3", "--seed", "1"]) == 0
    assert "seat 0: greedy, seat 1: random, seat 2: greedy" in capsys.readouterr().out
    assert main(["watch", "greedy", "--seed", "1"]) == 0
    assert "seed 1, seat 0: greedy\n" in capsys.readouterr().out


def test_watch_shows_a_seats_view(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "w.json"
    assert main(["watch", "random", "random", "--seed", "1", "--seat", "1", "--save", str(file)]) == 0
    assert record.load(file).text(1) in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        ["greedy", "random", "greedy", "--players", "2"],
        ["greedy", "random", "--delay", "-1"],
        ["greedy", "random", "--delay", "nan"],
        ["greedy", "random", "--seat", "2"],
        ["greedy", "random", "--seed", "-3"],
        ["greedy", "random", "--players", "5"],
        ["greedy", "nobody"],
        ["greedy", "policy:wild"],
        ["greedy", "random", "--game", "chess"],
        ["greedy", "random", "--option", "colour=red"],
        ["greedy", "random", "--save", "no/such/folder/x.json"],
    ],
)
def test_watch_refuses_in_one_line(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", *words]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert len(shown.err.splitlines()) == 1


def test_an_illegal_choice_ends_the_game_with_code_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(BUILT_IN, "passer", Passer)
    assert main(["watch", "passer", "random", "--seed", "1"]) == 1
    assert capsys.readouterr().err == "spirits: agent passer chose 58 (pass), which was illegal\n"


def test_an_interrupt_is_quiet_and_keeps_what_was_played(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Leaver(GreedyAgent):
        name = "leaver"

        def act_many(self, views: Views) -> np.ndarray:
            if views.game.layout.unpack(views.observation[0])["turn"][0] >= 4:
                raise KeyboardInterrupt
            return super().act_many(views)

    monkeypatch.setitem(BUILT_IN, "leaver", Leaver)
    file = tmp_path / "w.json"
    assert main(["watch", "leaver", "random", "--seed", "1", "--save", str(file)]) == 130
    assert capsys.readouterr().err == ""
    assert record.load(file).turn == 4


def test_in_a_terminal_the_board_changes_in_place(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("spirits_env.cli.watch.time.sleep", pauses.append)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("LINES", "60")
    file = tmp_path / "w.json"
    assert main(["watch", "greedy", "random", "--seed", "8", "--delay", "0.25", "--save", str(file)]) == 0
    whole = record.load(file)
    assert pauses == [0.25] * (len(whole.history) + 1)
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capsys.readouterr().out).replace("\r", "\n")
    at = 0
    for state in positions(whole):
        headline = state.text().splitlines()[0]
        at = shown.find(headline, at) + 1
        assert at > 0
    assert all(line in shown for line in whole.text().splitlines())
