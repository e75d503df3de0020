"""A policy with a search: its formulas, its budget, what it may know, and that it finds what the policy misses."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
import random
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest
from forest_play import UNCOMPILED, games_to_play, snapshots, walk
from onnx import TensorProto, helper, numpy_helper
from test_policy import card_of, write_policy

from spirits_env import games
from spirits_env.agents import guided, gumbel, make_agent
from spirits_env.agents.guided import PolicySearchAgent
from spirits_env.agents.gumbel import Rule, Tree, back_up, choose, enter, halving_widths, improve, settle
from spirits_env.agents.policy import PolicyAgent
from spirits_env.batch import Batch
from spirits_env.bind import bind
from spirits_env.game import stream
from spirits_env.state import State

TABLES = [("forest", 1), ("forest", 2), ("forest", 3), ("forest", 4), ("wild", 2)]
LOW = -1e9


class Judge:
    """A policy of constant logits and value 0, row by row the same in every batch; counts what it is asked."""

    name, fingerprint = "judge", ""
    sample = False

    def __init__(self, game: str, logits: np.ndarray | None = None) -> None:
        self.weights = np.zeros(len(games.load(game).actions)) if logits is None else logits
        self.card = {"options": {"reward": "win"}}
        self.asked: list[int] = []

    def check(self, game: str, players: int) -> None:
        """Play everything."""

    def logits(self, observation: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        assert mask.any(axis=1).all()
        self.asked.append(len(mask))
        return np.where(mask != 0, self.weights, LOW).astype(np.float32), np.zeros(len(mask), np.float32)

    def margin(self, players: int) -> tuple[float, float]:
        """Values count what the game pays alone."""
        return 0.0, 1.0

    def judge(self, observation: np.ndarray, mask: np.ndarray, players: int) -> tuple[np.ndarray, np.ndarray]:
        """What one seat expects the others lose, the next one most of it."""
        logits, value = self.logits(observation, mask)
        others = np.arange(players - 1, 0, -1)
        values = np.full((len(mask), 4), 99, np.float32)
        values[:, 0] = value
        values[:, 1:players] = -value[:, None] * others / max(1, others.sum())
        return logits, values


class Reader(Judge):
    """A policy whose logits and value hang on all that is seen, in exact numbers."""

    def logits(self, observation: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        seen = observation.astype(np.int64) @ np.arange(1, observation.shape[1] + 1)
        logits = (seen[:, None] * (7 + np.arange(mask.shape[1]))) % 17 / 8
        return np.where(mask != 0, logits, LOW).astype(np.float32), (seen % 41 / 20 - 1).astype(np.float32)


def search(policy: Any, evaluations: int = 16, **options: Any) -> PolicySearchAgent:
    return PolicySearchAgent(policy, evaluations, **options)


def dealt(game: str, players: int, lanes: int, plies: int = 0) -> Batch:
    """Games after some random decisions, more of them in later lanes."""
    batch = Batch(game, lanes, players)
    batch.reset(range(lanes))
    rng = np.random.default_rng(3)
    for ply in range(plies):
        going = np.flatnonzero((batch.seat >= 0) & (np.arange(lanes) * plies > ply * lanes))
        batch.step(np.array([rng.choice(np.flatnonzero(mask)) for mask in batch.mask[going]], np.int64), going)
    return batch


def one_game(state: State, lanes: int = 1, chance: int = 1) -> Batch:
    """The same game in every lane, agents' chance included."""
    batch = Batch(state.game, lanes, state.players, state.options)
    batch.reset(range(lanes))
    batch.restore(
        {
            "states": np.repeat(np.atleast_1d(state.record.copy()).astype(state.game.dtype), lanes)
            .view(np.uint8)
            .reshape(lanes, -1),
            "chance": np.full(batch.chance.shape, stream(chance), np.uint64),
        }
    )
    return batch


def plain(function: Any) -> Any:
    """A compiled function's Python, which needs no compiling of its own for a test."""
    return getattr(function, "py_func", function)


# --- formulas ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("actions", "evaluations", "widths"),
    [
        (16, 64, [16] + [8] * 2 + [4] * 4 + [2] * 8),
        (4, 16, [4, 4, 2, 2, 2, 2]),
        (5, 7, [5, 2]),
        (3, 10, [3, 2, 2, 2, 1]),
        (2, 3, [2, 1]),
        (1, 9, []),
    ],
)
def test_the_halving_plan_is_the_papers(actions: int, evaluations: int, widths: list[int]) -> None:
    assert halving_widths(actions, evaluations) == widths


def test_a_halving_plan_spends_the_budget_and_never_widens() -> None:
    for actions in range(2, 20):
        for evaluations in range(actions, 200):
            widths = halving_widths(actions, evaluations)
            assert sum(widths) == evaluations
            assert widths[0] == actions
            assert widths == sorted(widths, reverse=True)


def test_values_are_completed_and_weighed_as_in_the_paper() -> None:
    logits = np.log(np.array([0.5, 0.3, 0.2, 0.9]))
    mask = np.array([1, 1, 1, 0], np.int8)
    visits, means = np.array([2, 1, 0, 7]), np.array([0.5, -0.25, 9.0, 9.0])
    out = np.empty(4)
    plain(improve)(logits, mask, visits, means, 0.1, 50.0, 0.1, out)
    # The visited actions' mean under the policy is (0.5 * 0.5 - 0.3 * 0.25) / 0.8, seen three times.
    mixed = (0.1 + 3 * 0.175 / 0.8) / 4
    np.testing.assert_allclose(out[:3] - logits[:3], 5.2 * np.array([0.5, -0.25, mixed]))
    assert out[3] == -np.inf
    plain(improve)(logits, mask, np.zeros(4, np.int64), means, 0.1, 50.0, 0.1, out)
    np.testing.assert_allclose(out[:3] - logits[:3], 5 * 0.1)


def test_inside_the_tree_the_action_is_chosen_whose_visits_fall_most_short() -> None:
    improved = np.array([*np.log([0.5, 0.3, 0.2]), -np.inf])
    picks = []
    visits = np.zeros(4, np.int64)
    for _ in range(4):
        picks.append(plain(choose)(improved, visits))
        visits[picks[-1]] += 1
    # Shares less visits / (1 + all visits): first .5 .3 .2, then 0 .3 .2, then .17 -.03 .2, and .25 .05 -.05.
    assert picks == [0, 1, 2, 0]


def test_what_each_seat_expects_is_kept_under_its_number_and_all_of_it_reaches_the_root() -> None:
    rules = games.load("forest")
    tree = Tree.allocate(rules, 1, 3)
    first = plain(enter)(tree, 0, 0, 4)
    second = plain(enter)(tree, 0, first, 2)
    assert (first, second, plain(enter)(tree, 0, 0, 4)) == (1, 2, 1)
    mask = np.zeros(len(rules.actions), np.int8)
    mask[[2, 5]] = 1
    logits = np.where(mask != 0, np.arange(len(mask)), LOW).astype(np.float32)
    # Values count the seats from the one to act, seat 1 of three: it, seat 2, seat 0.
    plain(settle)(tree, 0, second, 1, 3, mask, logits, np.array([0.5, -0.375, -0.125, 9.0]))
    np.testing.assert_allclose(tree.value[0, second], [-0.125, 0.5, -0.375, 0])
    # An action that was illegal then may be legal in another re-deal.
    assert tree.logits[0, second, [2, 5, 9]].tolist() == [2, 5, 2]
    plain(back_up)(tree, 0, second, tree.value[0, second])
    plain(back_up)(tree, 0, first, np.array([1.0, -0.5, -0.5, 0]))
    assert tree.visits[0].tolist() == [2, 2, 1]
    np.testing.assert_allclose(tree.total[0, 0], [0.875, 0, -0.875, 0])
    np.testing.assert_allclose(tree.total[0, 1], tree.total[0, 0])
    np.testing.assert_allclose(tree.total[0, 2], [-0.125, 0.5, -0.375, 0])


@pytest.mark.parametrize(("root", "seat", "wanted"), [(0, 0, 2), (1, 1, 3), (0, 1, 3), (1, 0, 2), (0, 2, 3), (2, 2, 3)])
def test_down_the_tree_each_seat_chooses_for_itself_and_may_be_asked_twice_in_a_row(
    root: int, seat: int, wanted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The game is a script: an action of the root's seat, then one of a seat with two actions tried before.
    actions, seats = [], [seat, 0]

    def play(state: Any, action: int) -> None:
        actions.append(action)
        state.seat = seats.pop(0)

    def legal(state: Any, mask: np.ndarray) -> None:
        mask[:2] = 1

    for name in ("gather", "improve", "choose", "enter"):
        monkeypatch.setattr(gumbel, name, plain(getattr(gumbel, name)))
    monkeypatch.setattr(gumbel, "play", play, raising=False)
    monkeypatch.setattr(gumbel, "legal", legal, raising=False)
    tree = Tree.allocate(games.load("forest"), 1, 5)
    for after_node, before, action in ((1, 0, 7), (2, 1, 0), (3, 1, 1)):
        assert plain(enter)(tree, 0, before, action) == after_node
    tree.known[0, 1] = True
    for node, values in ((2, [1, -1, 0, 0]), (3, [-1.5, 1, 0.5, 0])):
        plain(back_up)(tree, 0, node, np.array(values, np.float64))
    count = tree.child.shape[2]
    scratch = (np.zeros(count, np.int8), np.zeros(count, np.int64), np.zeros(count), np.zeros(count), np.zeros(4))
    rule = Rule(8, 4, 50.0, 1.0, 0.0)
    assert gumbel._simulate(SimpleNamespace(seat=root), tree, 0, 7, rule, *scratch) == wanted
    assert actions == [7, wanted - 2]


# --- play -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("game", "players"), TABLES)
def test_every_choice_is_legal_to_the_end_of_the_game(game: str, players: int) -> None:
    # `ask` raises on the first illegal choice.
    batch = dealt(game, players, games_to_play(12, 1))
    agent = search(Reader(game), 8 if not UNCOMPILED else 3, considered=4)
    live = batch.lanes
    while live.size:
        batch.step(batch.ask(agent, live), live)
        live = live[batch.seat[live] >= 0]
    assert batch.done.all()


@pytest.mark.parametrize("players", [2, 4])
def test_a_decision_costs_no_more_evaluations_than_said_and_few_calls(players: int) -> None:
    lanes = games_to_play(100, 2)
    judge, batch = Judge("forest"), dealt("forest", players, lanes, 5)
    batch.ask(search(judge, 64), batch.lanes)
    rounds = len(halving_widths(16, 64))
    # Fewer legal actions make narrower rounds, and more of them: two alone take half as many as evaluations.
    assert rounds < len(judge.asked) <= 1 + 32
    assert lanes < sum(judge.asked) <= lanes * 65
    assert judge.asked[0] == lanes


def test_one_legal_action_needs_no_search() -> None:
    judge = Judge("forest")
    state = next(state for state in walk(2, 1) if len(state.legal_actions()) == 1)
    batch = one_game(state)
    assert batch.ask(search(judge), batch.lanes).tolist() == state.legal_actions()
    assert judge.asked == [1]


@pytest.mark.parametrize(("game", "players"), TABLES)
def test_a_choice_hangs_on_chance_and_on_no_other_game_of_the_batch(
    game: str, players: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lanes = games_to_play(24, 3)
    agent = search(Reader(game), 12, gumbel=1.0)
    first, again = dealt(game, players, lanes, 20), dealt(game, players, lanes, 20)
    live = np.flatnonzero(first.seat >= 0)
    actions = first.ask(agent, live)
    single = [int(again.ask(agent, live[i : i + 1])[0]) for i in range(len(live))]
    assert actions.tolist() == single
    assert (first.chance == again.chance).all()
    parts = dealt(game, players, lanes, 20)
    monkeypatch.setattr(gumbel, "_LEAVES", 40)
    assert parts.ask(agent, live).tolist() == single


def test_noise_makes_choices_differ_by_chance_and_none_leaves_only_the_re_deals() -> None:
    state = State("forest", 2, seed=1)
    lanes = games_to_play(60, 12)
    batch = one_game(state, lanes)
    batch.chance[:] = [[stream(lane)] * batch.chance.shape[1] for lane in range(lanes)]
    loud = search(Judge("forest"), 2, gumbel=1.0)
    assert len(set(batch.ask(loud, batch.lanes).tolist())) > 4
    # Uniform logits and no value: without noise the first actions race and the first of them stays ahead.
    assert set(batch.ask(search(Judge("forest"), 2), batch.lanes).tolist()) == {state.legal_actions()[0]}


@pytest.mark.parametrize(("game", "players"), TABLES)
def test_the_choice_is_the_same_whatever_is_hidden(game: str, players: int) -> None:
    agent = search(Reader(game), 8)
    rng = random.Random(2)
    state, different = State(game, players, seed=5), 0
    while state.seat >= 0:
        if rng.random() < (0.02 if UNCOMPILED else 0.3):
            others = [state.redealt(state.seat, seed) for seed in range(3)]
            choices = []
            for other in (state, *others):
                plain = other.copy()
                plain.record["rng"] = state.record["rng"]
                different += plain != state
                batch = one_game(other)
                choices.append(int(batch.ask(agent, batch.lanes)[0]))
            assert len(set(choices)) == 1
        state.play(rng.choice(state.legal_actions()))
    assert UNCOMPILED or different > 0


# --- what a search finds ----------------------------------------------------------------------------------


def found_in(
    game: str, players: int, rule: Rule, monkeypatch: pytest.MonkeyPatch, judge: Any = None
) -> tuple[np.ndarray, np.ndarray, gumbel.Found, Tree]:
    """Search from some games at once: the roots, their masks, what was found, and the trees."""
    batch = dealt(game, players, games_to_play(12, 2), 30)
    live = np.flatnonzero(batch.seat >= 0)
    roots = batch.states[live].copy()
    roots["rng"] = [stream(lane) for lane in live]
    trees: list[Tree] = []
    allocate = Tree.allocate

    def noted(*arguments: Any) -> Tree:
        trees.append(allocate(*arguments))
        return trees[-1]

    monkeypatch.setattr(gumbel.Tree, "allocate", noted)
    judge = judge or (lambda observation, mask: Reader(game).judge(observation, mask, players))
    found = gumbel.search(batch.game, roots, batch.observation[live], batch.mask[live], judge, rule)
    (tree,) = trees
    return roots, batch.mask[live], found, tree


@pytest.mark.parametrize("noise", [0.0, 1.0])
@pytest.mark.parametrize(("game", "players"), TABLES)
def test_the_improved_policy_and_the_values_are_those_of_the_tree_recomputed(
    game: str, players: int, noise: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = Rule(evaluations=10, considered=4, c_visit=20.0, c_scale=0.05, gumbel=noise)
    roots, masks, found, tree = found_in(game, players, rule, monkeypatch)
    for row, (root, mask) in enumerate(zip(roots, masks, strict=True)):
        seat, legal = int(root["seat"]), np.flatnonzero(mask)
        logits, value = tree.logits[row, 0].astype(float), tree.value[row, 0]
        visits, means = {}, {}
        for action in legal:
            if child := tree.child[row, 0, action]:
                visits[action] = int(tree.visits[row, child])
                means[action] = tree.total[row, child, seat] / visits[action]
        simulations = sum(visits.values())
        assert simulations == tree.visits[row, 0] == (10 if len(legal) > 1 else 0)
        assert len(visits) <= 4
        completed = float(value[seat])
        if visits:
            weights = {action: math.exp(logits[action]) for action in visits}
            mean = sum(weights[action] * means[action] for action in visits) / sum(weights.values())
            completed = (completed + simulations * mean) / (1 + simulations)
        sigma = (20.0 + max(visits.values(), default=0)) * 0.05
        improved = np.array([logits[action] + sigma * means.get(action, completed) for action in legal])
        expected = np.zeros(len(mask))
        expected[legal] = np.exp(improved - improved.max()) / np.exp(improved - improved.max()).sum()
        np.testing.assert_allclose(found.policy[row], expected, atol=1e-6)
        assert found.policy[row].sum() == pytest.approx(1, abs=1e-5)
        assert (found.policy[row][legal] > 0).all()
        # The mean of what all simulations brought back and of what the network said of the root.
        ends = sum((tree.total[row, tree.child[row, 0, action]] for action in visits), np.zeros(4)[: len(value)])
        np.testing.assert_allclose(found.values[row], (ends + value) / (simulations + 1), atol=1e-6)
        if noise == 0 and visits:
            # Among those tried most, the best under the improved policy.
            most = [action for action in visits if visits[action] == max(visits.values())]
            assert found.actions[row] == max(most, key=lambda action: expected[action])
        assert found.actions[row] in (visits or legal)
    assert found.policy.dtype == found.values.dtype == np.float32
    assert found.actions.dtype == np.int64


@pytest.mark.parametrize("players", [2, 3, 4])
def test_values_of_all_seats_add_up_to_nothing_when_the_networks_do(
    players: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = Rule(evaluations=12, considered=4, c_visit=50.0, c_scale=1.0, gumbel=1.0)
    roots, _, found, tree = found_in("forest", players, rule, monkeypatch)
    np.testing.assert_allclose(found.values.sum(axis=1), 0, atol=1e-5)
    assert not found.values[:, players:].any()
    assert np.abs(found.values).max() > 0.1
    assert (np.abs(found.values[:, :players]).sum(axis=0) > 0).all()
    # What the network said of the root stands under each seat's own number.
    for row, root in enumerate(roots):
        view = State.of(games.load("forest"), root)
        observation, mask = view.observation(view.seat)[None], view.mask()[None]
        said = Reader("forest").judge(observation, mask, players)[1][0]
        for around in range(players):
            assert tree.value[row, 0, (view.seat + around) % players] == pytest.approx(said[around], abs=1e-6)


def test_of_a_decision_without_a_choice_the_network_alone_is_asked() -> None:
    state = next(state for state in walk(3, 1) if len(state.legal_actions()) == 1)
    roots = np.array([state.record], state.game.dtype)
    observation, mask = state.observation(state.seat)[None], state.mask()[None]
    judge = Reader("forest")
    found = gumbel.search(
        state.game,
        roots,
        observation,
        mask,
        lambda seen, legal: judge.judge(seen, legal, 3),
        Rule(8, 4, 50.0, 1.0, 1.0),
    )
    assert found.actions.tolist() == state.legal_actions()
    np.testing.assert_array_equal(found.policy[0], mask[0])
    said = judge.judge(observation, mask, 3)[1][0, :3]
    np.testing.assert_allclose(np.roll(found.values[0, :3], -state.seat), said, atol=1e-6)


# --- ends of games ----------------------------------------------------------------------------------------


def after(state: State, action: int) -> State:
    """The game after one more decision."""
    other = state.copy()
    other.play(action)
    return other


def outcome(state: State) -> list[float]:
    """What each seat gets if all play to the end for themselves, everything laid open."""
    if state.seat < 0:
        return state.returns()
    return max((outcome(after(state, action)) for action in state.legal_actions()), key=lambda end: end[state.seat])


def results(state: State, legal: list[int]) -> np.ndarray:
    """What the seat to act gets after each action, if all play for themselves from there."""
    return np.array([outcome(after(state, action))[state.seat] for action in legal])


def lessons(players: int) -> Iterator[tuple[State, list[int], list[int]]]:
    """Ends where, whatever is hidden, some actions win and some lose: those and these."""
    for seed in range(1000):
        rng = random.Random(seed)
        state = State("forest", players, seed=seed)
        while state.seat >= 0:
            legal = state.legal_actions()
            if state.record["remaining"] <= 2 and 1 < len(legal) < 8:
                values = results(state, legal)
                if values.max() == 1 and values.min() < 0:
                    others = [results(state.redealt(state.seat, world), legal) for world in range(4)]
                    best = np.flatnonzero(np.min([values, *others], axis=0) == 1)
                    worst = np.flatnonzero(np.max([values, *others], axis=0) < 0)
                    if best.size and worst.size:
                        yield state.copy(), [legal[i] for i in best], [legal[i] for i in worst]
            state.play(rng.choice(legal))


@pytest.mark.parametrize("players", [2, 3])
def test_a_search_finds_the_win_at_the_end_that_the_policy_misses(players: int) -> None:
    found = list(itertools.islice(lessons(players), games_to_play(6, 1)))
    assert len(found) == games_to_play(6, 1)
    for state, best, worst in found:
        # The policy would rather lose.
        weights = np.zeros(len(state.game.actions))
        weights[worst] = 3
        batch = one_game(state)
        assert int(batch.ask(search(Judge("forest", weights), 64), batch.lanes)[0]) in best


def test_ends_count_as_the_policys_card_says_whatever_the_game_pays() -> None:
    # Weighed so low, points and wins lead to different choices.
    agents = [search(Reader("forest"), 16, c_scale=0.01) for _ in range(2)]
    agents[1].policy.card = {"options": {"reward": "margin"}}
    other = 0
    for seed in range(games_to_play(6, 1)):
        pairs = zip(snapshots(2, seed), snapshots(2, seed, reward="margin"), strict=True)
        for win, margin in list(pairs)[-12:-1]:
            batches = [one_game(state) for state in (win, margin, win)]
            first, second = (int(batch.ask(agents[0], batch.lanes)[0]) for batch in batches[:2])
            assert first == second
            other += first != int(batches[2].ask(agents[1], batches[2].lanes)[0])
    assert other > 0


@pytest.mark.parametrize(("game", "players"), TABLES)
def test_an_end_is_worth_what_the_game_pays_mixed_with_the_squashed_margin(game: str, players: int) -> None:
    weight, scale = 0.3, 7.0
    write_end = bind(gumbel._write_end, games.load(game))
    margins = set()
    for seed in range(games_to_play(20, 3)):
        end, rng = State(game, players, seed=seed), random.Random(seed)
        while end.seat >= 0:
            end.play(rng.choice(end.legal_actions()))
        worth = np.full(4, 99, np.float32)
        write_end(end.record, worth, weight, scale)
        points = np.array(end.scores(), float)
        margin = points - (points.sum() - points) / max(1, players - 1)
        wanted = (1 - weight) * np.array(end.returns()) + weight * np.tanh(margin / scale)
        np.testing.assert_allclose(worth[:players], wanted, atol=1e-6)
        assert not worth[players:].any()
        margins.add(margin[0])
    # Alone, a game of random play is lost, which counts 0 points.
    assert len(margins) > (players > 1)


def test_a_search_counts_ends_as_the_values_of_its_policy_do(monkeypatch: pytest.MonkeyPatch) -> None:
    rules: list[Rule] = []

    def noted(*given: Any) -> Any:
        rules.append(given[-1])
        return gumbel.search(*given)

    monkeypatch.setattr("spirits_env.agents.guided.search", noted)
    policy = Judge("forest")
    monkeypatch.setattr(policy, "margin", lambda players: (0.1 * players, 4.0 * players))
    for players in (2, 3):
        batch = dealt("forest", players, 1)
        batch.ask(search(policy, 4), batch.lanes)
    assert [(rule.margin_weight, rule.margin_scale) for rule in rules] == [(0.2, 8.0), (pytest.approx(0.3), 12.0)]


# --- as an agent ------------------------------------------------------------------------------------------


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    actions = len(games.load("forest").actions)
    return write_policy(tmp_path / "p.onnx", np.linspace(-3, 3, actions), card_of())


def test_a_policy_file_gains_a_name_keeps_its_check_and_can_be_copied(policy: Path) -> None:
    agent = search(PolicyAgent(policy), 8, c_scale=0.001)
    assert agent.name == "test+search:8,c_scale=0.001"
    assert search(PolicyAgent(policy), 8, c_scale=guided.DEFAULTS["c_scale"]).name == "test+search:8"
    with pytest.raises(ValueError, match="wild"):
        agent.check("wild", 2)
    with pytest.raises(ValueError, match="players"):
        agent.check("forest", 4)
    agent.check("forest", 3)
    assert make_agent(f"{policy}+search:8,c_scale=0.001").name == agent.name
    expected = None
    for one in (agent, copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))):
        batch = dealt("forest", 3, 4, 10)
        actions = batch.ask(one, batch.lanes).tolist()
        expected = expected or actions
        assert actions == expected
        assert one.name == agent.name


def with_every_seat(path: Path, target: Path) -> Path:
    """Copy a policy file and give it values of every seat: the first four numbers that are seen."""
    model = onnx.load(path)
    model.graph.node.append(helper.make_node("Gather", ["seen", "first"], ["values"], axis=1))
    model.graph.initializer.append(numpy_helper.from_array(np.arange(4), "first"))
    model.graph.output.append(helper.make_tensor_value_info("values", TensorProto.FLOAT, ["batch", 4]))
    onnx.save(model, target)
    return target


@pytest.mark.parametrize("players", [2, 3])
def test_a_file_with_values_of_every_seat_is_asked_for_them_and_others_for_the_observers_alone(
    players: int, policy: Path, tmp_path: Path
) -> None:
    batch = dealt("forest", players, 6, 20)
    one, every = PolicyAgent(policy), PolicyAgent(with_every_seat(policy, tmp_path / "every.onnx"))
    logits, values = one.judge(batch.observation, batch.mask, players)
    seen = batch.observation.sum(axis=1, dtype=np.float32)
    np.testing.assert_allclose(values[:, 0], seen)
    for other in range(1, players):
        np.testing.assert_allclose(values[:, other], -seen / (players - 1), rtol=1e-6)
    np.testing.assert_allclose(values[:, :players].sum(axis=1), 0, atol=1e-3)
    same, all_values = every.judge(batch.observation, batch.mask, players)
    np.testing.assert_array_equal(logits, same)
    np.testing.assert_array_equal(all_values, batch.observation[:, :4])
    assert all_values.dtype == values.dtype == np.float32
    for agent in (one, every, pickle.loads(pickle.dumps(every))):
        np.testing.assert_array_equal(agent.logits(batch.observation, batch.mask)[1], seen)
        assert (batch.ask(search(agent, 6), batch.lanes) >= 0).all()
        assert agent.judge(batch.observation, batch.mask, players)[1].shape[1] >= players


@pytest.mark.parametrize(
    ("evaluations", "options", "words"),
    [
        (0, {}, "evaluations of the search was 0"),
        (2.5, {}, "evaluations of the search was 2.5"),
        (True, {}, "evaluations of the search was True"),
        (8, {"considered": 0}, "considered of the search was 0"),
        (8, {"considered": 1.5}, "considered of the search was 1.5"),
        (8, {"c_scale": -1}, "c_scale of the search was -1"),
        (8, {"c_visit": math.nan}, "c_visit of the search was nan"),
        (8, {"c_scale": math.inf}, "c_scale of the search was inf"),
        (8, {"gumbel": "1"}, "gumbel of the search was '1'"),
        (8, {"depth": 3}, "no option 'depth'; its options are considered, c_visit"),
    ],
)
def test_what_makes_no_search_is_refused_in_one_sentence(evaluations: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        PolicySearchAgent(Judge("forest"), evaluations, **options)  # type: ignore[arg-type]
    assert str(caught.value).count("\n") == 0
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("+search:0", "budget of .* was '0'"),
        ("+search:", "budget of .* was ''"),
        ("+search:0.2s", "budget of .* was '0.2s'"),
        ("+search:8,depth=3", "no option 'depth=3'"),
        ("+search:8,considered=x", "'x' of considered is no int"),
        (":sample+search:8", "draws its actions"),
    ],
)
def test_a_text_that_makes_no_search_is_refused(policy: Path, text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        make_agent(f"{policy}{text}")
    assert str(caught.value).count("\n") == 0


def test_a_policy_that_draws_is_refused(policy: Path) -> None:
    with pytest.raises(ValueError, match="draws its actions"):
        search(PolicyAgent(policy, sample=True))


def test_a_policy_without_numbers_is_an_error_and_no_move() -> None:
    batch = dealt("forest", 2, 3)
    with pytest.raises(ValueError, match="no finite number"):
        batch.ask(search(Judge("forest", np.full(59, np.nan))), batch.lanes)


def test_a_card_with_a_reward_that_is_none_is_an_error() -> None:
    judge, batch = Judge("forest"), dealt("forest", 2, 1)
    judge.card = {"options": {"reward": "fame"}}
    with pytest.raises(ValueError, match="Option 'reward' was 'fame'; give 'win' or 'margin'"):
        batch.ask(search(judge), batch.lanes)


def test_a_view_without_a_choice_is_an_error() -> None:
    state = list(walk(2, 1))[-1]
    batch = one_game(state)
    with pytest.raises(ValueError, match="nothing is legal"):
        batch.ask(search(Judge("forest")), batch.lanes)
