"""Search: its parts by hand, what it may know, where its values go, and its texts."""

from __future__ import annotations

import copy
import itertools
import pickle
import re
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from numba import njit

from spirits_env import games
from spirits_env.agents import make_agent
from spirits_env.agents.search import (
    ACTION,
    FIRST,
    NEXT,
    OFFERED,
    VISITS,
    SearchAgent,
    Tree,
    _grow,
    _reward,
    _roll_out,
    add_bytes,
    add_child,
    choose_child,
    count_legal,
    extract,
    nth_legal,
)
from spirits_env.arena import evaluate, play_games
from spirits_env.batch import Batch, Views
from spirits_env.bind import bind
from spirits_env.game import Game, stream
from spirits_env.single import SingleEnv
from spirits_env.state import State

TABLES = [(name, players) for name in games.GAMES for players in games.load(name).players]
CONTESTS = [table for table in TABLES if table[1] > 1]


def views_of(state: State, chance: int = 1) -> Views:
    """What the seat to act may know, as agents get it."""
    seat = np.array([state.seat], np.int8)
    generator = np.array([stream(chance)], np.uint64)
    return Views(state.game, state.observation(state.seat)[None], state.mask()[None], seat, generator, state._states)


def grown(state: State, playouts: int, **options: Any) -> Tree:
    """A tree of the seat to act, grown from a re-dealt copy."""
    tree = Tree(state.game.seats)
    root = state.redealt(state.seat, seed=1)._states
    SearchAgent(playouts, **options)._add(state.game, root, state.seat, tree, playouts)
    return tree


def played(game: str, players: int, seed: int) -> State:
    """A game played at random to its end."""
    state, rng = State(game, players, seed=seed), np.random.default_rng(seed)
    while state.seat >= 0:
        state.play(rng.choice(state.legal_actions()))
    return state


def late(game: str, players: int, seed: int, left: int) -> State:
    """A game played at random up to so many decisions before its end."""
    actions = played(game, players, seed).history
    state = State(game, players, seed=seed)
    for action in actions[: len(actions) - left]:
        state.play(action)
    return state


# --- parts ------------------------------------------------------------------------------------------------


def test_legal_actions_are_counted_and_found_by_words() -> None:
    rng = np.random.default_rng(0)
    for actions in (8, 33, 59, 64):
        buffer = np.zeros(-(-actions // 8) * 8, np.uint8)
        for share in (0.05, 0.5, 1.0):
            buffer[:actions] = rng.random(actions) < share
            there = np.flatnonzero(buffer)
            words = buffer.view(np.uint64)
            assert count_legal(words) == len(there)
            assert [nth_legal(words, i) for i in range(len(there))] == there.tolist()


def test_bytes_are_added() -> None:
    for word in (0, 2**64 - 1, 0x0101010101010101, 0xFF00000000000000, 0x00FF000100FE0002):
        assert int(add_bytes(np.uint64(word))) == sum(word.to_bytes(8, "little"))


def test_the_bound_is_that_of_the_seat_to_act_and_counts_offers() -> None:
    links, values = np.zeros((4, 6), np.int32), np.zeros((4, 2))
    links[0, FIRST] = -1
    for child, action in ((1, 5), (2, 3), (3, 4)):
        add_child(0, action, child, links, values)
    links[1:, VISITS], links[1:, OFFERED] = (4, 9, 1), (20, 20, 1)
    values[1:] = [(2.0, -2.0), (0.9, -0.9), (-1.0, 1.0)]
    bounds = {
        (child, seat): values[child, seat] / links[child, VISITS]
        + 0.5 * np.sqrt(np.log(links[child, OFFERED] + 1) / links[child, VISITS])
        for child in (1, 2, 3)
        for seat in (0, 1)
    }
    for seat in (0, 1):
        mask = np.array([0, 1, 0, 1, 0, 1, 0, 0], np.int8)
        expected = max((1, 2), key=lambda child: bounds[child, seat])
        trial = links.copy()
        assert choose_child(0, seat, mask, trial, values, 0.5) == expected
        assert mask.tolist() == [0, 1, 0, 0, 0, 0, 0, 0]
        assert trial[1:, OFFERED].tolist() == [21, 21, 1]
    assert choose_child(0, 0, np.zeros(8, np.int8), links, values, 0.5) == -1


@cache
def compiled_reward(game: Game) -> Any:
    """The reward of a game, fetched once."""
    return bind(_reward, game)


def reward_of(state: State, weight: float, scale: float) -> np.ndarray:
    """What the compiled search pays each seat."""
    seats = state.game.seats
    utility = np.zeros(seats)
    compiled_reward(state.game)(
        state.record, np.zeros(seats, np.int16), np.zeros(seats, np.int8), utility, weight, scale
    )
    return utility


@pytest.mark.parametrize(("game", "players"), CONTESTS)
def test_the_reward_mixes_rank_and_margin(game: str, players: int) -> None:
    for seed in range(20):
        state = played(game, players, seed)
        points = np.array(state.scores(), float)
        strength = points + 0.5 * np.isin(np.arange(players), state.winners())
        for weight in (0.0, 0.5, 1.0):
            utility = reward_of(state, weight, 10.0)
            for seat in range(players):
                rank = np.mean(np.sign(strength[seat] - np.delete(strength, seat)))
                margin = points[seat] - np.mean(np.delete(points, seat))
                assert utility[seat] == pytest.approx((1 - weight) * rank + weight * np.tanh(margin / 10))
            assert not utility[players:].any()


def test_alone_the_win_is_the_rank() -> None:
    for seed in range(5):
        state = played("forest", 1, seed)
        assert reward_of(state, 0.0, 6.0)[0] == (1 if state.winners() else -1)
        assert -1 <= reward_of(state, 1.0, 6.0)[0] <= 0


def test_a_rollout_cut_short_is_worth_the_estimate() -> None:
    state = State("forest", 3, seed=1)
    expected = [np.tanh(state.game.evaluate(state.record, seat) / 8.0) for seat in range(3)]
    assert reward_of(state, 0.5, 8.0)[:3] == pytest.approx(expected)


def test_a_part_of_a_tree_is_copied_whole() -> None:
    tree = grown(State("forest", 2, seed=1), 300)
    for child in tree.children():
        room = int(tree.links[child, VISITS])
        links, values = np.zeros((room, 6), np.int32), np.zeros((room, 4))
        size = extract(child, tree.size, tree.links, tree.values, links, values)

        def described(links: np.ndarray, values: np.ndarray, node: int) -> Any:
            below, one = [], links[node, FIRST]
            while one >= 0:
                below.append(described(links, values, one))
                one = links[one, NEXT]
            return links[node, ACTION:].tolist(), values[node].tolist(), below

        def count(description: Any) -> int:
            return 1 + sum(count(part) for part in description[2])

        assert described(links, values, 0) == described(tree.links, tree.values, child)
        assert size == count(described(tree.links, tree.values, child))


# --- the tree ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("game", "players"), TABLES)
def test_every_playout_is_counted_once_for_every_seat(game: str, players: int) -> None:
    tree = grown(State(game, players, seed=5), 200)
    assert tree.links[0, VISITS] == 200
    assert tree.links[tree.children(), VISITS].sum() == 200
    assert tree.size <= 201
    assert tree.values[tree.children()].sum(axis=0) == pytest.approx(tree.values[0])
    assert not tree.values[:, players:].any()
    if players > 1:
        # Ranks add up to nothing. Estimates don't: each is made of what its seat may know.
        assert abs(grown(State(game, players, seed=5), 50, margin=0.0, horizon=0).values[0].sum()) < 1e-9


class TooLargeError(Exception):
    """More positions than a test has time for."""


def max_n(state: State, scale: float, room: list[int]) -> np.ndarray:
    """Exact values of an open game: every seat takes what is best for itself; looks at so many positions at most."""
    room[0] -= 1
    if room[0] < 0:
        raise TooLargeError
    if state.seat < 0:
        return reward_of(state, 0.5, scale)
    values = [max_n(after(state, action), scale, room) for action in state.legal_actions()]
    best: np.ndarray = max(values, key=lambda value: float(value[state.seat]))
    return best


def exact_values(state: State, scale: float) -> dict[int, float]:
    """The acting seat's value of each legal action; none where that takes too long or all are about equal."""
    room = [300]
    try:
        values = {
            action: float(max_n(after(state, action), scale, room)[state.seat]) for action in state.legal_actions()
        }
    except TooLargeError:
        return {}
    return values if max(values.values()) - min(values.values()) > 0.05 else {}


def after(state: State, action: int) -> State:
    """A copy of a game after one more decision."""
    trial = state.copy()
    trial.play(action)
    return trial


@njit
def keep(state, seat):  # type: ignore[no-untyped-def]
    """Redeal nothing: the search of an open game."""


@pytest.mark.parametrize(("game", "players"), [("forest", 2), ("forest", 3), ("forest", 4), ("wild", 2)])
def test_ends_of_open_games_are_solved(game: str, players: int) -> None:
    """Several decisions of one seat in a row, up to four seats: what search prefers is best by brute force."""
    rules = games.load(game)
    loops = {"roll_out": bind(_roll_out, rules), "reward": bind(_reward, rules), "redeal": keep}
    grow = bind(_grow, rules, **loops)
    scale = rules.margin_scale[players]
    best = repeated = 0
    positions = []
    for seed in range(100):
        state = late(game, players, seed, left=2 + seed % 3)
        values = exact_values(state, scale)
        if not values or len(positions) == 15:
            continue
        repeated += any(after(state, action).seat == state.seat for action in values)
        tree = Tree(rules.seats)
        tree.reserve(20_000)
        path = np.empty(rules.max_plies + 1, np.int64)
        more = (len(rules.actions), 1.0, 0.5, scale, 1, rules.max_plies)
        grow(state.copy()._states, state.seat, 20_000, 1, tree.links, tree.values, path, *more)
        chosen = max(tree.children(), key=lambda child: tree.links[child, VISITS])
        best += values[int(tree.links[chosen, ACTION])] > max(values.values()) - 1e-9
        positions.append(seed)
    assert len(positions) >= 8
    assert repeated >= 1
    assert best >= 0.9 * len(positions)


# --- what it may know, and chance -------------------------------------------------------------------------


@pytest.mark.parametrize(("game", "players"), CONTESTS)
def test_hidden_things_change_no_choice(game: str, players: int) -> None:
    agent = SearchAgent(60)
    changed = 0
    for seed in range(12):
        state = late(game, players, seed, left=20)
        other = state.redealt(state.seat, seed=seed + 100)
        changed += other._states.tobytes() != state._states.tobytes()
        assert (other.observation(state.seat) == state.observation(state.seat)).all()
        assert agent.act(views_of(state)) == agent.act(views_of(other))
    assert changed >= 6


@pytest.mark.parametrize("options", [{}, {"reuse": False}, {"threads": 2}, {"guide": 2}, {"horizon": 0}])
@pytest.mark.parametrize(("game", "players"), [("forest", 2), ("wild", 2), ("forest", 4), ("forest", 1)])
def test_a_seed_fixes_all_choices(game: str, players: int, options: dict[str, Any]) -> None:
    def choices() -> list[int]:
        agent, batch = SearchAgent(30, **options), Batch(game, 3, players)
        batch.reset([1, 2, 3])
        chosen = []
        for _ in range(8):
            actions = batch.ask(agent, batch.lanes)
            batch.step(actions)
            chosen += actions.tolist()
        return chosen

    assert choices() == choices()


def test_lanes_change_no_result_though_trees_are_kept() -> None:
    shares = [
        play_games(games.load("forest"), 2, games.load("forest").check_options({}), agent, agent, 4, 1, lanes).points
        for agent, lanes in ((SearchAgent(20), 1), (SearchAgent(20), 8))
    ]
    assert (shares[0] == shares[1]).all()


# --- trees that are kept ----------------------------------------------------------------------------------


def test_a_tree_is_kept_for_the_next_decision_of_the_turn_alone() -> None:
    agent, batch = SearchAgent(150), Batch("forest", 1)
    batch.reset([4])
    kept_at_all = False
    sizes: list[int] = []
    add = agent._add

    def counting(game: Any, root: Any, seat: int, tree: Tree, playouts: int) -> None:
        sizes.append(int(tree.links[0, VISITS]))
        add(game, root, seat, tree, playouts)

    agent._add = counting  # type: ignore[method-assign]
    seat, turn = -1, -1
    for _ in range(40):
        same = (batch.seat[0], int(batch.states["turn"][0])) == (seat, turn)
        seat, turn = int(batch.seat[0]), int(batch.states["turn"][0])
        sizes.clear()
        batch.step(batch.ask(agent, batch.lanes))
        if sizes and sizes[0]:
            kept_at_all = True
            assert same
        assert len(agent._kept) <= 1
    assert kept_at_all


def test_a_tree_is_not_taken_for_another_turn() -> None:
    """The same generator in another turn, as in a game that was set back, finds nothing."""
    agent, begun = SearchAgent(40), []
    add = agent._add

    def counting(game: Any, root: Any, seat: int, tree: Tree, playouts: int) -> None:
        begun.append(int(tree.links[0, VISITS]))
        add(game, root, seat, tree, playouts)

    agent._add = counting  # type: ignore[method-assign]
    first = State("forest", 2, seed=1)
    views = views_of(first)
    first.play(agent.act(views))
    assert first.turn == 0
    assert agent._kept
    for state, kept in ((late("forest", 2, 1, left=30), False), (first, True)):
        trees = dict(agent._kept)
        agent.act(replace(views_of(state), chance=views.chance.copy()))
        assert (begun.pop() > 0) == kept
        agent._kept.update(trees)


def test_trees_that_are_kept_longest_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spirits_env.agents.search._MOST_KEPT", 300)
    agent, batch = SearchAgent(40), Batch("forest", 20)
    batch.reset(range(20))
    most = 0
    for _ in range(30):
        batch.step(batch.ask(agent, batch.lanes))
        nodes = sum(tree.size for _, trees in agent._kept.values() for tree in trees)
        assert agent._kept_nodes == nodes <= 300
        most = max(most, nodes)
    assert most > 250


# --- playing ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"guide": 3}, {"horizon": 0}, {"choice": "value"}, {"threads": 3}])
@pytest.mark.parametrize(("game", "players"), TABLES)
def test_whole_games_are_legal(game: str, players: int, options: dict[str, Any]) -> None:
    against = ["random"] if players > 1 else []
    result = evaluate(SearchAgent(6, **options), against, game=game, players=players, games=players)
    assert result.illegal == 0


def test_a_hundred_playouts_beat_random() -> None:
    match = evaluate("search:100", "random", games=60).matches[0]
    assert match.share.low is not None
    assert match.share.low > 0.8


def test_a_limit_of_time_plays() -> None:
    agent = make_agent("search:0.002s,threads=2")
    assert evaluate(agent, "random", games=2).illegal == 0


def test_a_limit_of_time_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that moves on by one at each look: looks at 1 to 5, and shares of 8 playouts that are never too short."""
    ticks = itertools.count()
    monkeypatch.setattr("spirits_env.agents.search.time.perf_counter", lambda: float(next(ticks)))
    tree, state = Tree(4), State("forest", 2, seed=1)
    SearchAgent(seconds=5)._grow(state.game, state.copy()._states, 0, tree, None)
    assert tree.links[0, VISITS] == 5 * 8


def test_playouts_are_split_over_the_threads() -> None:
    agent = SearchAgent(101, threads=3)
    trees = [Tree(4) for _ in range(3)]
    state = State("forest", 2, seed=1)
    agent._search(state.game, state.copy()._states, 0, trees)
    assert sorted(int(tree.links[0, VISITS]) for tree in trees) == [33, 34, 34]
    assert len({tree.values.tobytes() for tree in trees}) == 3


def test_an_agent_is_copied_and_pickled_without_its_trees() -> None:
    agent = SearchAgent(30, exploration=0.8)
    agent.act(views_of(State("forest", 2, seed=1)))
    for other in (copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))):
        assert other.name == "search:30,exploration=0.8"
        assert not other._kept


@pytest.mark.parametrize("players", [2, 4])
def test_a_face_seats_searching_opponents(players: int) -> None:
    """Games against them end, and are the same for the same seed."""

    def game() -> list[bytes]:
        env = SingleEnv("forest", players, opponents="search:5")
        observation, info = env.reset(seed=3)
        seen, over = [observation.tobytes()], False
        while not over:
            observation, _, over, _, info = env.step(int(np.flatnonzero(info["action_mask"])[0]))
            seen.append(observation.tobytes())
        return seen

    assert game() == game()


# --- texts and errors -------------------------------------------------------------------------------------


def test_texts_make_agents_with_names_that_make_them_again() -> None:
    for text in (
        "search:400",
        "search:0.2s",
        "search:25,exploration=0.8,choice=value,reuse=false",
        "search:1s,guide=2",
    ):
        agent = make_agent(text)
        assert isinstance(agent, SearchAgent)
        assert agent.name == text
        assert make_agent(agent.name).name == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("search:0", "budget of 'search:0' was '0'"),
        ("search:", "budget of 'search:' was ''"),
        ("search:-3", "was '-3'; give playouts, such as search:400, or seconds"),
        ("search:0s", "was '0s'"),
        ("search:nans", "was 'nans'"),
        ("search:infs", "was 'infs'"),
        ("search:1e3", "was '1e3'"),
        ("search:99999999999", "give 1 to 10000000"),
        ("search:10,depth=3", "has no option 'depth=3'; give name=value with the names exploration"),
        ("search:10,guide", "has no option 'guide'"),
        ("search:10,guide=2,guide=3", "gives guide twice"),
        ("search:10,guide=two", "the value 'two' of guide is no int"),
        ("search:10,guide=0", "guide was 0; give a whole number from 1"),
        ("search:10,margin=1.5", "margin was 1.5; give a number from 0 to 1"),
        ("search:10,choice=best", "choice was 'best'; give visits or value"),
        ("search:10,reuse=maybe", "the value 'maybe' of reuse is no bool"),
        ("search:10,threads=0", "threads was 0"),
        ("search:10,exploration=nan", "exploration was nan"),
        ("serach:10", "no agent 'serach:10'; give random, greedy, policy:forest, policy:wild, search:400"),
    ],
)
def test_wrong_texts_are_one_clear_error(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        make_agent(text)
    assert "\n" not in str(error.value)


def test_wrong_arguments_are_one_clear_error() -> None:
    for arguments, message in (
        ({}, "one budget"),
        ({"playouts": 5, "seconds": 1.0}, "one budget"),
        ({"playouts": 0}, "playouts were 0"),
        ({"playouts": True}, "playouts were True"),
        ({"seconds": 0.0}, "seconds were 0.0"),
        ({"seconds": "5"}, "seconds were '5'"),
        ({"seconds": True}, "seconds were True"),
        ({"playouts": 5, "depth": 3}, "no option 'depth'"),
    ):
        with pytest.raises(ValueError, match=message):
            SearchAgent(**arguments)
