"""The built-in agents: legal, fair, of the strength they should have, and blind to what their seat may not know."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from forest_play import UNCOMPILED, games_to_play, snapshots

from spirits_env import GAMES
from spirits_env.agents import Agent, GreedyAgent, RandomAgent, make_agent
from spirits_env.arena import evaluate
from spirits_env.batch import Batch, Views
from spirits_env.game import IllegalAction, stream
from spirits_env.games import load
from spirits_env.games.forest import GAME
from spirits_env.state import State

PLAYERS = [1, 2, 3, 4]
TABLES = [(name, players) for name in GAMES for players in load(name).players]


def match(agents: list[Agent], players: int, games: int, seed: int = 0, game: str = "forest") -> Batch:
    """Play games to the end; agent `a` sits in seat `(a + number of the game) % players`."""
    batch = Batch(game, games, players=players)
    batch.reset(range(seed, seed + games))
    while True:
        open_lanes = np.flatnonzero(~batch.done)
        if len(open_lanes) == 0:
            return batch
        turn = (batch.seat[open_lanes] - open_lanes) % players
        for number, agent in enumerate(agents):
            lanes = open_lanes[turn == number]
            if len(lanes):
                batch.step(batch.ask(agent, lanes), lanes)


def batch_of(states: list[State], chance: int = 1) -> Batch:
    """Lanes with these games, all with the same chance for their agents."""
    batch = Batch(states[0].game, len(states), players=states[0].players)
    batch.states[:] = [state.record for state in states]
    batch.chance[:] = stream(chance)
    batch.restore(batch.snapshot())
    return batch


def positions(game: str, players: int, seed: int) -> list[State]:
    """A copy of a game at every decision and at the end, played at random."""
    rng = np.random.default_rng(seed)
    states = [State(game, players, seed)]
    while states[-1].seat >= 0:
        state = states[-1].copy()
        state.play(rng.choice(state.legal_actions()))
        states.append(state)
    return states


# --- random -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("plies", [0, 1, 30])
def test_random_is_uniform_over_the_legal_actions(plies: int) -> None:
    rows = 500 if UNCOMPILED else 20_000
    state = snapshots(2, 3)[plies]
    legal = state.legal_actions()
    batch = Batch("forest", rows)
    batch.states[:] = state.record
    batch.chance[:, 0] = batch.chance[:, 1] = [stream(4, row) for row in range(rows)]
    batch.restore(batch.snapshot())
    counts = Counter(batch.ask(RandomAgent(), batch.lanes).tolist())
    assert set(counts) <= set(legal)
    expected = rows / len(legal)
    distance = sum((counts[action] - expected) ** 2 / expected for action in legal)
    assert distance < len(legal) + 8 * math.sqrt(2 * len(legal))


@pytest.mark.parametrize(("game", "players"), TABLES)
def test_random_draws_anew_at_every_decision_and_the_same_for_the_same_seed(game: str, players: int) -> None:
    one, other = (match([RandomAgent()] * players, players, 4, seed=5, game=game) for _ in range(2))
    assert (one.states == other.states).all()
    assert (one.points == other.points).all()
    assert len({row.tobytes() for row in one.states}) == 4


# --- strength ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES)
def test_greedy_beats_random_in_well_over_95_of_100_games_for_two(game: str) -> None:
    games = games_to_play(400, 4)
    batch = match([GreedyAgent(), RandomAgent()], 2, games, game=game)
    utility = batch.utility[np.arange(games), np.arange(games) % 2]
    wins = (utility > 0).sum() + (utility == 0).sum() / 2
    assert wins / games > (0.7 if UNCOMPILED else 0.97)


@pytest.mark.parametrize("players", [1, 3, 4])
def test_greedy_does_better_than_random_alone_and_among_more(players: int) -> None:
    games = games_to_play(120, 1)
    greedy = match([GreedyAgent(), *[RandomAgent()] * (players - 1)], players, games)
    random = match([RandomAgent()] * players, players, games)
    seats = np.arange(games) % players
    gain = greedy.utility[np.arange(games), seats].mean() - random.utility[np.arange(games), seats].mean()
    assert UNCOMPILED or gain > 0.15


@pytest.mark.parametrize("agent", [RandomAgent(), GreedyAgent()], ids=str)
@pytest.mark.parametrize(("game", "players"), TABLES)
def test_a_built_in_agent_is_never_illegal_over_many_games(game: str, players: int, agent: Agent) -> None:
    # `ask` raises on the first illegal choice.
    batch = match([agent] * players, players, games_to_play(250, 1), seed=1000, game=game)
    assert batch.done.all()
    assert (batch.seat == -1).all()


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("agent", ["random", "greedy"])
def test_the_arena_counts_no_illegal_choice_of_a_built_in_agent_in_a_thousand_games(agent: str, game: str) -> None:
    # Unlike `ask`, the arena goes on and counts.
    match = evaluate(agent, "random", game=game, games=games_to_play(1000, 2), seed=3).matches[0]
    assert match.games == games_to_play(1000, 2)
    assert (match.illegal, match.opponent_illegal, match.illegal_example) == (0, 0, "")


# --- what an agent may know -------------------------------------------------------------------------------


@pytest.mark.parametrize(("game", "players"), TABLES)
def test_greedy_chooses_the_same_whatever_is_hidden(game: str, players: int) -> None:
    different = 0
    for state in positions(game, players, 8)[: -1 : 20 if UNCOMPILED else 2]:
        others = [state.redealt(state.seat, seed) for seed in range(3)]
        for other in others:
            # Every re-deal has a generator of its own; what lies hidden is told by the rest.
            plain = other.copy()
            plain.record["rng"] = state.record["rng"]
            different += plain != state
        for chance in range(2):
            batch = batch_of([state, *others], chance)
            actions = batch.ask(GreedyAgent(), batch.lanes)
            assert len(set(actions.tolist())) == 1
            assert len(set(batch.chance[:, state.seat].tolist())) == 1
    assert different > 0


@pytest.mark.parametrize(("game", "players"), TABLES)
def test_the_estimate_is_the_same_whatever_is_hidden_from_the_seat(game: str, players: int) -> None:
    rules = load(game)
    for state in positions(game, players, 9)[:: 20 if UNCOMPILED else 3]:
        for seat in range(players):
            value = rules.evaluate(state.record, seat)
            assert math.isfinite(value)
            for seed in range(3):
                assert rules.evaluate(state.redealt(seat, seed).record, seat) == value


def test_the_estimate_rises_with_what_is_good_for_the_seat() -> None:
    state = State("forest", 2, seed=1)
    even = GAME.evaluate(state.record, 0)
    richer, poorer = state.copy(), state.copy()
    richer.record["icons"][0] += 3
    poorer.record["removed"][0] = 1
    poorer.record["hand"][0] -= 1
    assert GAME.evaluate(richer.record, 0) > even > GAME.evaluate(poorer.record, 0)
    assert GAME.evaluate(richer.record, 1) < GAME.evaluate(state.record, 1) < GAME.evaluate(poorer.record, 1)


@pytest.mark.parametrize("agent", [RandomAgent(), GreedyAgent()], ids=str)
@pytest.mark.parametrize(("game", "players"), TABLES)
def test_asking_an_agent_changes_nothing_but_its_generator(game: str, players: int, agent: Agent) -> None:
    batch = Batch(game, 6, players)
    batch.reset(range(6))
    states, mask, chance = batch.states.copy(), batch.mask.copy(), batch.chance.copy()
    lanes = np.array([1, 4])
    batch.ask(agent, lanes)
    assert batch.states.tobytes() == states.tobytes()
    assert (batch.mask == mask).all()
    moved = batch.chance != chance
    assert moved[lanes, batch.seat[lanes]].all()
    assert moved.sum() == len(lanes)


@pytest.mark.parametrize("agent", [RandomAgent(), GreedyAgent()], ids=str)
@pytest.mark.parametrize(("game", "players"), TABLES)
def test_an_agent_chooses_the_same_for_one_view_as_for_many(game: str, players: int, agent: Agent) -> None:
    batch = Batch(game, 5, players)
    batch.reset(range(5))
    together = batch.ask(agent, batch.lanes)
    batch.reset(range(5))
    assert [int(batch.ask(agent, np.array([lane]))[0]) for lane in range(5)] == together.tolist()
    batch.reset(range(5))
    assert batch.ask(OneByOne(agent), batch.lanes).tolist() == together.tolist()


class OneByOne(Agent):
    """Overrides `act` only, so that `act_many` goes row by row."""

    name = "one by one"

    def __init__(self, inner: Agent) -> None:
        self.inner = inner

    def act(self, view: Views) -> int:
        assert len(view) == 1
        return self.inner.act(view)


# --- wrong agents -----------------------------------------------------------------------------------------


class Wrong(Agent):
    """Gives what it is told to."""

    name = "wrong one"

    def __init__(self, actions: object) -> None:
        self.actions = actions

    def act_many(self, views: Views) -> np.ndarray:
        return self.actions  # type: ignore[return-value]


@pytest.mark.parametrize("action", [58, 8, -1, 59, 2**40])
def test_an_agents_illegal_action_is_refused_and_named_with_the_agent(action: int) -> None:
    batch = Batch("forest", 2)
    batch.reset([1, 2])
    before = batch.states.copy()
    with pytest.raises(IllegalAction, match=rf"^Agent wrong one: .*[Aa]ction {action} ") as error:
        batch.ask(Wrong(np.array([0, action])), batch.lanes)
    assert "0 (take_row0_left)" in str(error.value)
    assert batch.states.tobytes() == before.tobytes()


@pytest.mark.parametrize("actions", [[0], [0, 1, 2], [0.0, 1.0], ["0", "1"], [True, True], [[0, 1]], None], ids=repr)
def test_actions_of_the_wrong_number_or_type_are_refused_and_named_with_the_agent(actions: object) -> None:
    batch = Batch("forest", 2)
    batch.reset([1, 2])
    with pytest.raises(IllegalAction, match=r"^Agent wrong one gave .*; give 2 whole numbers\.$"):
        batch.ask(Wrong(actions), batch.lanes)


def test_an_agent_that_overrides_nothing_says_what_to_override() -> None:
    batch = Batch("forest", 1)
    batch.reset([1])
    with pytest.raises(NotImplementedError, match="Agent must override act or act_many"):
        batch.ask(Agent(), batch.lanes)


def test_agents_are_made_by_name_and_told_by_name() -> None:
    assert (type(make_agent("random")), type(make_agent("greedy"))) == (RandomAgent, GreedyAgent)
    assert [str(make_agent(name)) for name in ("random", "greedy")] == ["random", "greedy"]
    own = RandomAgent()
    assert make_agent(own) is own
    own.check("forest", 4)


@pytest.mark.parametrize("spec", ["rando", "", None, 3, ["random"], RandomAgent], ids=repr)
def test_an_unknown_agent_is_refused_with_what_there_is(spec: object) -> None:
    with pytest.raises(ValueError, match="random, greedy"):
        make_agent(spec)
