"""A table between a person and agents: whole games, undo, hints, advice, records, and nothing hidden on view."""

from __future__ import annotations

import copy
import json
import random
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from threading import Barrier, Event, Thread
from typing import Any

import numpy as np
import pytest

from spirits_env import record
from spirits_env.agents import BUILT_IN, Agent, GreedyAgent, make_agent
from spirits_env.agents.policy import PolicyAgent
from spirits_env.batch import Views
from spirits_env.faces import LearnerLanes
from spirits_env.game import IllegalAction
from spirits_env.play import table as tables
from spirits_env.play.table import (
    MOST_BYTES,
    YOU,
    Folder,
    Missing,
    Refused,
    Stale,
    Table,
    Tables,
    default_against,
    policies_for,
    seat_agents,
)
from spirits_env.state import State

SETTINGS = [("forest", 1), ("forest", 2), ("forest", 3), ("forest", 4), ("wild", 2)]
PATIENCE = 60.0


def settle(table: Table) -> dict[str, Any]:
    """Wait until no agent is thinking."""
    while (view := table.view())["thinking"]:
        table.wait(view["revision"], PATIENCE)
    return view


def deal(game: str = "forest", players: int = 2, seat: Any = 0, against: Any = ("greedy",), **more: Any) -> Table:
    return Table.deal(game, players, seat, against if players > 1 else [], **{"seed": 5, **more})


def go_on(table: Table, seed: int = 0, decisions: int = 1000) -> Table:
    """Play decisions of the person at random."""
    rng = random.Random(seed)
    for _ in range(decisions):
        view = settle(table)
        assert view["error"] is None
        if view["over"]:
            break
        table.play(rng.choice(view["choices"])["action"], view["revision"])
    settle(table)
    return table


def play_turn(table: Table) -> int:
    """Play decisions of the person until it is another's turn; returns how many there were before the last one."""
    before = table.decisions
    while (view := table.view())["yours"]:
        before = table.decisions
        table.play(view["choices"][-1]["action"], view["revision"])
    return before


@cache
def finished(game: str, players: int) -> Table:
    """A game that is over, which no test changes."""
    return go_on(deal(game, players))


class Scripted(Agent):
    """Does what a test says; a greedy choice where it says nothing."""

    def __init__(self, name: str = "scripted") -> None:
        self.name = name
        self.failure: Exception | None = None
        self.action: int | None = None
        self.asked, self.go = Event(), Event()
        self.go.set()

    def act(self, view: Views) -> int:
        self.asked.set()
        assert self.go.wait(PATIENCE)
        if self.failure is not None:
            raise self.failure
        return self.action if self.action is not None else GreedyAgent().act(view)

    def act_many(self, views: Views) -> np.ndarray:
        return np.array([self.act(views[0])])


# --- whole games ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("game", "players"), SETTINGS)
def test_a_game_is_played_to_its_end(game: str, players: int) -> None:
    for seat in {0, players - 1}:
        table = go_on(deal(game, players, seat, seed=seat), seat)
        view, content = table.view(), table.record()
        state = record.replay(content)
        assert view["over"]
        assert not view["yours"]
        assert view["choices"] == []
        assert (view["actor"], view["phase"], view["turn"]) == (-1, state.phase, state.turn)
        assert view["against"] == [YOU if place == seat else "greedy" for place in range(players)]
        assert (view["scores"], view["winners"], view["returns"]) == (state.scores(), state.winners(), state.returns())
        totals = np.array([line["points"] for line in view["explained"]]).sum(axis=0)
        assert totals.tolist() == state.scores()
        assert [line["category"] for line in view["explained"]] == list(state.game.categories)
        assert view["seed"] == seat
        assert view["svg"] == state.svg(theme="auto")
        assert json.loads(json.dumps(view)) == view


@pytest.mark.parametrize(("game", "players"), SETTINGS)
def test_the_log_tells_each_decision_as_it_stood_before_it(game: str, players: int) -> None:
    table = finished(game, players)
    view, content = table.view(), table.record()
    state = record.replay(content, 0)
    for ply, action in enumerate(content["actions"]):
        assert view["log"][ply] == {"ply": ply, "seat": state.seat, "sentence": state.tell(action)}
        before = state.copy()
        state.play(action)
    assert view["last"] == {"seat": before.seat, "action": action, "sentence": before.tell(action)}
    assert len(view["log"]) == len(content["actions"]) == table.decisions


@pytest.mark.parametrize(("game", "players"), [("forest", 3), ("wild", 2)])
def test_earlier_boards_are_shown_as_the_person_saw_them(game: str, players: int) -> None:
    table = go_on(deal(game, players, 1, seed=3), 3)
    content = table.record()
    for ply in range(0, table.decisions + 1, 9):
        state = record.replay(content, ply)
        assert table.board(ply) == {"svg": state.svg(1, theme="auto"), "text": state.text(1)}
    last = record.replay(content)
    assert table.board(table.decisions) == {"svg": last.svg(theme="auto"), "text": last.text()}
    for ply in (-1, table.decisions + 1):
        with pytest.raises(Missing, match=f"ply was {ply}; give 0 to {table.decisions}"):
            table.board(ply)


@pytest.mark.parametrize(("game", "players"), [("forest", 3), ("wild", 2)])
def test_one_seed_is_the_game_that_a_learner_would_play(game: str, players: int) -> None:
    lanes = LearnerLanes(1, game, players, 1, ["greedy", "random"][: players - 1], {})
    lanes.deal(lanes.batch.lanes, [11])
    table = deal(game, players, 1, ["greedy", "random"][: players - 1], seed=11)
    while not (view := settle(table))["over"]:
        assert table._moments[-1].state.record.tobytes() == lanes.batch.states[0].tobytes()
        action = view["choices"][-1]["action"]
        table.play(action)
        lanes.step(lanes.batch.lanes, np.array([action]))
    assert lanes.over.all()
    assert view["scores"] == lanes.batch.points[0, :players].tolist()


def test_what_the_person_sees_is_its_seats_view() -> None:
    table = deal("forest", 3, 1, ["random"])
    view = settle(table)
    state = table._moments[-1].state
    assert view["svg"] == state.svg(1, theme="auto")
    assert view["yours"]
    assert view["actor"] == 1
    assert [choice["action"] for choice in view["choices"]] == state.legal_actions()
    for choice in view["choices"]:
        assert choice["sentence"] == state.tell(choice["action"])
        assert choice["name"] == state.game.actions[choice["action"]].name
    assert (view["scores"], view["winners"], view["explained"], view["returns"], view["seed"]) == (None,) * 5


def test_each_decision_is_a_revision_and_views_are_shown_while_agents_think() -> None:
    slow = Scripted()
    slow.go.clear()
    table = deal("forest", 3, 0, [slow, "greedy"])
    play_turn(table)
    view = table.view()
    assert view["thinking"]
    assert view["revision"] == table.decisions > 0
    slow.go.set()
    assert settle(table)["revision"] == table.decisions
    assert {0, 1, 2} == {decision.seat for decision in table._log}


def test_a_seat_is_drawn_by_chance() -> None:
    seats = {deal("forest", 4, "random").seat for _ in range(60)}
    # Each seat stays away with a chance of (3/4)^60, about 3e-8.
    assert seats == {0, 1, 2, 3}


# --- who plays --------------------------------------------------------------------------------------------


def test_agents_sit_in_turn_order_and_are_repeated() -> None:
    agents = seat_agents(["random", "greedy"], "forest", 4, 2)
    assert [agent and agent.name for agent in agents] == ["greedy", "random", None, "random"]
    assert deal("forest", 4, 2, ["random", "greedy"]).names == ["greedy", "random", YOU, "random"]
    assert seat_agents([], "forest", 1, 0) == [None]


@pytest.mark.parametrize(
    ("against", "players", "words"),
    [
        (["greedy", "greedy"], 2, "names 2 agents"),
        (["greedy"], 1, "names 1 agents"),
        ([], 2, "names nobody"),
        ("greedy", 2, "give a list"),
        (["nobody"], 2, "There is no agent 'nobody'"),
        ([None], 2, "There is no agent None"),
        (["policy:wild"], 2, "plays 'wild', not 'forest'"),
    ],
)
def test_other_players_that_can_not_be_are_refused(against: Any, players: int, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Table.deal("forest", players, 0, against)


@pytest.mark.parametrize("seat", [-1, 2, True, 0.0, "0", "rotate", None, [0]])
def test_a_seat_that_is_none_is_refused(seat: Any) -> None:
    with pytest.raises(ValueError, match=r"^seat was .*give a seat from 0 to 1"):
        Table.deal("forest", 2, seat, ["greedy"])


@pytest.mark.parametrize("seed", [-1, 2**53, 1.0, "1", True])
def test_a_seed_that_is_none_is_refused(seed: Any) -> None:
    with pytest.raises(ValueError, match=r"^seed was "):
        Table.deal("forest", 2, 0, ["greedy"], seed=seed)


def test_a_seed_and_a_set_up_exclude_each_other() -> None:
    setup = State("forest", 2, seed=3).setup()
    with pytest.raises(ValueError, match="give one of them"):
        Table.deal("forest", 2, 0, ["greedy"], seed=1, setup=setup)
    table = Table.deal("forest", 2, 0, ["greedy"], setup=setup)
    assert table.record()["setup"] == setup
    assert table.seed is None


def test_the_policy_of_the_package_plays_where_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [default_against("forest", players) for players in (1, 2, 4)] == [[], ["policy:forest"], ["policy:forest"]]
    assert default_against("wild", 2) == policies_for("wild") == ["policy:wild"]
    assert policies_for("forest", 1) == []
    tables._cards.cache_clear()
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    try:
        assert default_against("forest", 2) == ["greedy"]
        assert policies_for("forest") == []
    finally:
        tables._cards.cache_clear()


# --- what can't be done -----------------------------------------------------------------------------------


@pytest.mark.parametrize("action", [57, -1, 59, 10**30, True, 0.0, "0", None, [0]])
def test_an_illegal_action_changes_nothing(action: Any) -> None:
    table = deal()
    before = settle(table)
    assert 57 not in [choice["action"] for choice in before["choices"]]
    with pytest.raises(IllegalAction):
        table.play(action)
    assert table.view() == before


def test_what_was_meant_for_another_position_changes_nothing() -> None:
    table = go_on(deal(), decisions=3)
    before = settle(table)
    for revision in (before["revision"] - 1, before["revision"] + 1):
        with pytest.raises(Stale, match="has moved on"):
            table.play(before["choices"][0]["action"], revision)
        with pytest.raises(Stale):
            table.undo(revision)
    assert table.view() == before


def test_out_of_turn_there_is_nothing_to_decide() -> None:
    slow = Scripted()
    slow.go.clear()
    table = deal("forest", 2, 1, [slow])
    assert slow.asked.wait(PATIENCE)
    before = table.view()
    assert before["thinking"]
    assert before["choices"] == []
    for call in (lambda: table.play(0), table.hint, table.advice):
        with pytest.raises(Refused, match="Seat 0 is to act; you sit in seat 1"):
            call()
    with pytest.raises(Refused, match="no decision of yours"):
        table.undo()
    assert table.view() == before
    slow.go.set()
    ended = go_on(table)
    with pytest.raises(Refused, match="The game is over"):
        ended.play(0)


# --- undo -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("game", "players"), SETTINGS)
def test_undo_goes_back_through_the_whole_game_and_the_same_game_comes_again(game: str, players: int) -> None:
    table = deal(game, players, players - 1)
    shown, actions = [], []
    rng = random.Random(3)
    while not (view := settle(table))["over"]:
        shown.append(view)
        actions.append(rng.choice(view["choices"])["action"])
        table.play(actions[-1])
    final = {**view, "revision": 0}
    for earlier in reversed(shown):
        assert table.view()["can_undo"]
        revision = table.revision
        table.undo()
        assert table.revision == revision + 1
        assert table.view() == {**earlier, "revision": revision + 1}
    assert not table.view()["can_undo"]
    for action in actions:
        settle(table)
        table.play(action)
    assert {**settle(table), "revision": 0} == final


def test_what_was_thought_of_a_position_that_was_taken_back_is_put_aside() -> None:
    slow = Scripted()
    table = deal("forest", 2, 0, [slow])
    play_turn(table)
    settle(table)
    slow.asked.clear()
    slow.go.clear()
    decisions = play_turn(table)
    assert slow.asked.wait(PATIENCE)
    table.undo()
    before = table.view()
    assert before["yours"]
    assert not before["thinking"]
    slow.go.set()
    worker = table._worker
    if worker is not None:
        worker.join(PATIENCE)
    assert table.view() == before
    assert table.decisions == decisions


def test_the_agents_go_on_after_an_undo_in_their_turn() -> None:
    table = go_on(deal("forest", 4, 2, ["greedy"]), decisions=4)
    table.undo()
    assert go_on(table).over


# --- agents that fail -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("failure", "action", "words"),
    [
        (RuntimeError("token 7 under the tile"), None, "Agent scripted in seat 1 failed (RuntimeError)"),
        (None, 57, "Agent scripted in seat 1 chose an illegal action"),
        (None, -3, "Agent scripted in seat 1 chose an illegal action"),
        (None, 10**6, "Agent scripted in seat 1 chose an illegal action"),
    ],
)
def test_an_agent_that_fails_leaves_the_game_where_it_was(
    failure: Exception | None, action: int | None, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    agent = Scripted()
    table = deal("forest", 2, 0, [agent])
    agent.failure, agent.action = failure, action
    view = settle(table)
    while view["yours"]:
        table.play(view["choices"][0]["action"])
        view = settle(table)
    assert view["error"].startswith(words)
    assert not view["thinking"]
    assert view["actor"] == 1
    # What it says itself may tell what it sees; that is for the terminal alone.
    sent = json.dumps(view)
    assert "token 7 under" not in sent
    assert "legal actions are" not in sent
    assert "scripted" in caplog.text
    with pytest.raises(Refused, match="Seat 1 is to act"):
        table.play(0)
    agent.failure = agent.action = None
    table.undo()
    assert table.view()["error"] is None
    assert go_on(table).over


def test_an_agent_that_gives_no_action_at_all_is_no_crash() -> None:
    class Mute(Agent):
        name = "mute"

        def act_many(self, views: Views) -> np.ndarray:
            return np.array(["pass"])

    table = deal("forest", 2, 1, [Mute()])
    assert "chose an illegal action" in settle(table)["error"]
    assert not table.view()["can_undo"]


# --- hints and advice -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("game", "players"), SETTINGS)
def test_hints_are_legal_and_change_nothing(game: str, players: int) -> None:
    table = deal(game, players, 0, ["random"])
    for number in range(8):
        view = settle(table)
        for agent in ("greedy", None):
            hint = table.hint(agent)
            assert hint == table.hint(agent)
            chosen = {choice["action"]: choice["sentence"] for choice in view["choices"]}
            assert chosen[hint.action] == hint.sentence
            assert hint.revision == view["revision"]
            assert hint.agent == (agent or (policies_for(game, players) or [tables.SEARCHER])[0])
        assert table.view() == view
        go_on(table, number, 1)


def test_hints_of_an_unfit_agent_are_refused() -> None:
    table = deal()
    for agent, words in (("nobody", "no agent 'nobody'"), ("policy:wild", "plays 'wild'"), (3, "no agent 3")):
        with pytest.raises(ValueError, match=words):
            table.hint(agent)
    wrong = Scripted("wrong")
    wrong.action = 57
    with pytest.raises(IllegalAction):
        table.hint(wrong)
    assert settle(table)["error"] is None


@pytest.mark.parametrize(("game", "players"), SETTINGS[1:])
def test_advice_is_what_the_policy_would_do(game: str, players: int) -> None:
    table = deal(game, players, players - 1, ["random"])
    policy = make_agent(f"policy:{game}")
    assert isinstance(policy, PolicyAgent)
    for number in range(8):
        view = settle(table)
        advice = table.advice()
        assert list(advice.probabilities) == [choice["action"] for choice in view["choices"]]
        assert sum(advice.probabilities.values()) == pytest.approx(1, abs=1e-12)
        assert min(advice.probabilities.values()) >= 0
        state = table._moments[-1].state
        logits, value = policy.logits(state.observation(players - 1)[None], state.mask()[None])
        assert advice.value == pytest.approx(float(value[0]), abs=1e-6)
        assert -1 <= advice.value <= 1
        # Ratios of probabilities are differences of logits.
        first, last = view["choices"][0]["action"], view["choices"][-1]["action"]
        ratio = np.exp(float(logits[0, first]) - float(logits[0, last]))
        assert advice.probabilities[first] == pytest.approx(ratio * advice.probabilities[last], rel=1e-4)
        assert max(advice.probabilities, key=lambda action: advice.probabilities[action]) == table.hint().action
        assert (advice.policy, advice.revision) == (f"policy:{game}", view["revision"])
        assert table.view() == view
        go_on(table, number, 1)


def test_advice_needs_a_policy_that_fits() -> None:
    with pytest.raises(Missing, match="no policy for Spirits of the Forest with 1 players"):
        deal("forest", 1).advice()
    with pytest.raises(ValueError, match="trained for 2 or 3 or 4 players"):
        deal("forest", 1).advice("policy:forest")
    with pytest.raises(ValueError, match="plays 'wild'"):
        deal().advice("policy:wild")
    with pytest.raises(ValueError, match="no policy, which alone gives advice"):
        deal().advice("greedy")


# --- records ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("game", "players"), SETTINGS)
@pytest.mark.parametrize("share", [0.5, 1.0])
def test_a_record_is_taken_up_where_it_ends(game: str, players: int, share: float) -> None:
    whole = finished(game, players).record()
    plies = round(share * len(whole["actions"]))
    content = whole if share == 1 else {**whole, "actions": whole["actions"][:plies], "scores": [], "winners": []}
    seat = players - 1
    table = Table.load(content, seat, ["greedy"] if players > 1 else [])
    assert table.record()["actions"][:plies] == content["actions"]
    assert table.record()["setup"] == whole["setup"]
    assert table.view()["log"][:plies] == finished(game, players).view()["log"][:plies]
    assert table.over == (share == 1)
    settle(table)
    for _ in range(5):
        table.undo()
        state = record.replay({**content, "scores": [], "winners": []}, table.decisions)
        assert table._moments[-1].state.record["seat"] == state.seat == seat
        assert table.view()["svg"] == state.svg(seat, theme="auto")
    assert go_on(table).over
    assert record.write(record.replay(table.record())) == table.record()


@pytest.mark.parametrize("content", [None, [], "x", {}, {"game": "forest"}])
def test_what_is_no_record_is_refused(content: Any) -> None:
    with pytest.raises(ValueError, match="record"):
        Table.load(content, 0, ["greedy"])


def test_a_record_with_a_false_score_is_refused() -> None:
    content = finished("forest", 2).record()
    content["scores"][0] += 1
    with pytest.raises(ValueError, match="its replay gives"):
        Table.load(content, 0, ["greedy"])


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../x", "a/b", "a\\b", "/etc/x", "a.b", ".json", "-x", " x", "x\n", "é", "a\0", "x" * 61]
)
def test_a_name_that_could_lead_elsewhere_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^name was "):
        Folder(tmp_path / "games").save(deal().record(), name)
    assert list(tmp_path.iterdir()) == []


def test_saved_games_are_numbered_listed_and_read_again(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "some" / "games")
    assert folder.listing() == []
    begun, ended = deal("forest", 3), finished("wild", 2)
    names = [folder.save(begun.record()), folder.save(begun.record()), folder.save(ended.record(), "my game.json")]
    assert names == ["forest-3-players.json", "forest-3-players-2.json", "my game.json"]
    (folder.path / "forest-3-players-3.json").symlink_to(tmp_path / "outside")
    assert folder.save(begun.record()) == "forest-3-players-4.json"
    assert not (tmp_path / "outside").exists()
    assert folder.load("my game.json") == ended.record()
    (folder.path / "junk.json").write_text("{}")
    (folder.path / "list.json").write_text("[1]")
    (folder.path / "cut.json").write_text('{"game"')
    (folder.path / "deep.json").write_text("[" * 100_000)
    (folder.path / "large.json").write_text(" " * (MOST_BYTES + 1))
    (folder.path / "strange.json").write_text('{"game": "chess", "players": 2, "actions": [], "scores": []}')
    (folder.path / "notes.txt").write_text("")
    lines = {line["file"]: line for line in folder.listing()}
    assert set(lines) == {*names, "forest-3-players-4.json"}
    decisions = len(ended.record()["actions"])
    assert lines["my game.json"] == {
        "file": "my game.json",
        "game": "wild",
        "players": 2,
        "decisions": decisions,
        "over": True,
    }
    assert not lines["forest-3-players.json"]["over"]
    for file in ("cut.json", "deep.json", "large.json"):
        with pytest.raises(ValueError, match=f"{file} is no record"):
            folder.load(file)
    (tmp_path / "some" / "other.json").write_text("{}")
    for name in ("nothing.json", "../other.json", str(tmp_path / "some" / "other.json"), "notes.txt", "", ".", None, 3):
        with pytest.raises(Missing, match="There is no saved game"):
            folder.load(name)


# --- the tables of a server -------------------------------------------------------------------------------


def test_the_table_left_alone_for_longest_makes_room_and_is_saved(tmp_path: Path) -> None:
    kept = Tables(Folder(tmp_path), most=3)
    begun, ended, fresh = go_on(deal(), decisions=2), finished("forest", 2), deal()
    names = [kept.add(table) for table in (begun, ended, fresh)]
    assert [line["id"] for line in kept.listing()] == names[::-1]
    assert kept.find(names[1]) is ended
    newest = [kept.add(deal("wild"))]
    with pytest.raises(Missing, match="no such table"):
        kept.find(names[0])
    saved = [kept.folder.load(line["file"]) for line in kept.folder.listing()]
    assert [content["actions"] for content in saved] == [begun.record()["actions"]]
    # Neither an ended game nor one without a decision is worth keeping.
    newest += [kept.add(deal()), kept.add(deal())]
    assert [line["id"] for line in kept.listing()] == newest[::-1]
    assert len(kept.folder.listing()) == 1


def test_a_game_that_can_not_be_saved_still_makes_room(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    kept = Tables(Folder(tmp_path / "file"), most=1)
    kept.add(go_on(deal(), decisions=2))
    name = kept.add(deal())
    assert [line["id"] for line in kept.listing()] == [name]
    assert "could not be saved" in caplog.text


def test_names_of_tables_can_not_be_guessed(tmp_path: Path) -> None:
    kept, table = Tables(Folder(tmp_path)), deal()
    names = {kept.add(table) for _ in range(50)}
    assert len(names) == 50
    assert min(len(name) for name in names) >= 16
    with pytest.raises(Missing):
        kept.find("")


def test_a_closed_table_stays_as_it_is() -> None:
    slow = Scripted()
    slow.go.clear()
    table = deal("forest", 2, 1, [slow])
    assert slow.asked.wait(PATIENCE)
    worker = table._worker
    table.close()
    slow.go.set()
    assert worker is not None
    worker.join(PATIENCE)
    assert (table.decisions, table.view()["thinking"]) == (0, False)


def test_who_waits_is_woken_by_a_change_and_by_the_end() -> None:
    table = deal()
    settle(table)
    for change in (lambda: table.play(table.view()["choices"][0]["action"]), table.close):
        waiter = Thread(target=table.wait, args=(table.revision, 10 * PATIENCE))
        waiter.start()
        change()
        waiter.join(PATIENCE)
        assert not waiter.is_alive()
    table.wait(-1, PATIENCE)


def test_of_two_who_play_the_same_at_once_one_succeeds() -> None:
    for number in range(10):
        table = deal("forest", 2, 0, seed=number)
        view = settle(table)
        start, outcomes = Barrier(2), []

        def play(table: Table = table, view: Any = view, start: Barrier = start, outcomes: Any = outcomes) -> None:
            start.wait(PATIENCE)
            try:
                table.play(view["choices"][0]["action"], view["revision"])
                outcomes.append("played")
            except Stale:
                outcomes.append("stale")

        threads = [Thread(target=play) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        assert sorted(outcomes) == ["played", "stale"]
        assert [decision.seat for decision in table._log].count(0) == 1


# --- what is hidden ---------------------------------------------------------------------------------------


def looked_at(table: Table, ply: int, state: State) -> dict[str, Any]:
    """What a table would show after so many decisions if this were the game."""
    other = copy.copy(table)
    other._moments = [*table._moments[:ply], table._moments[ply]._replace(state=state)]
    other._log = table._log[:ply]
    other._view = {}
    other.revision = ply
    return other.view()


def twins(table: Table, every: int) -> Iterator[tuple[int, State, State]]:
    """Positions before the end, and to each a game that the person can't tell from it."""
    for ply, moment in list(enumerate(table._moments[:-1]))[::every]:
        other = moment.state.redealt(table.seat, ply)
        assert (other.observation(table.seat) == moment.state.observation(table.seat)).all()
        yield ply, moment.state, other


@pytest.mark.parametrize(("game", "players"), SETTINGS)
@pytest.mark.parametrize("seat", ["first", "last"])
def test_no_view_tells_games_apart_that_the_person_can_not(game: str, players: int, seat: str) -> None:
    table = deal(game, players, 0 if seat == "first" else players - 1, ["random", "greedy"][: players - 1], seed=None)
    differed, told = 0, 0
    for ply, state, other in twins(go_on(table), 3):
        differed += state != other
        assert looked_at(table, ply, state) == looked_at(table, ply, other)
        # What was said of a decision was said of the position before it.
        line = table._log[ply]
        if line.seat != table.seat and line.action in other.legal_actions():
            told += 1
            assert other.tell(line.action) == line.sentence
    assert differed
    assert told or players == 1


@pytest.mark.parametrize(("game", "players"), SETTINGS[1:])
def test_neither_advice_nor_a_policys_hint_tells_such_games_apart(game: str, players: int) -> None:
    table = go_on(deal(game, players, 0, ["random"], seed=None))
    for ply, state, other in twins(table, 1):
        if state.seat != 0 or ply % 4:
            continue
        asked = []
        for underneath in (state, other):
            copied = copy.copy(table)
            copied._moments = [table._moments[ply]._replace(state=underneath)]
            copied.revision = ply
            asked.append((copied.advice(), copied.hint()))
        assert asked[0] == asked[1]


def test_a_drawn_seed_is_shown_after_the_end_alone() -> None:
    table = deal(seed=None)
    while not (view := settle(table))["over"]:
        assert str(table.seed) not in json.dumps(view)
        table.play(view["choices"][0]["action"])
    again = deal(seed=view["seed"])
    assert again.record()["setup"] == table.record()["setup"]


def test_two_deals_without_a_seed_differ() -> None:
    assert deal(seed=None).record()["setup"] != deal(seed=None).record()["setup"]


def test_agents_by_name_are_made_anew_for_every_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BUILT_IN, "scripted", Scripted)
    first, second = deal("forest", 3, 0, ["scripted"]), deal("forest", 3, 0, ["scripted"])
    assert first.agents[1] is first.agents[2]
    assert first.agents[1] is not second.agents[1]
