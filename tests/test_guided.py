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
import pytest
from forest_play import UNCOMPILED, games_to_play, snapshots, walk
from test_policy import card_of, write_policy

from spirits_env import games
from spirits_env.agents import gumbel, guided, make_agent
from spirits_env.agents.guided import PolicySearchAgent
from spirits_env.agents.gumbel import Tree, back_up, choose, enter, halving_widths, improve, settle
from spirits_env.agents.policy import PolicyAgent
from spirits_env.batch import Batch
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


def test_what_one_seat_expects_the_others_lose_and_all_of_it_reaches_the_root() -> None:
    rules = games.load("forest")
    tree = Tree.allocate(rules, 1, 3)
    first = plain(enter)(tree, 0, 0, 4)
    second = plain(enter)(tree, 0, first, 2)
    assert (first, second, plain(enter)(tree, 0, 0, 4)) == (1, 2, 1)
    mask = np.zeros(len(rules.actions), np.int8)
    mask[[2, 5]] = 1
    logits = np.where(mask != 0, np.arange(len(mask)), LOW).astype(np.float32)
    plain(settle)(tree, 0, second, 1, 3, mask, logits, 0.5)
    np.testing.assert_allclose(tree.value[0, second], [-0.25, 0.5, -0.25, 0])
    # An action that was illegal then may be legal in another re-deal.
    assert tree.logits[0, second, [2, 5, 9]].tolist() == [2, 5, 2]
    plain(back_up)(tree, 0, second, tree.value[0, second])
    plain(back_up)(tree, 0, first, np.array([1.0, -0.5, -0.5, 0]))
    assert tree.visits[0].tolist() == [2, 2, 1]
    np.testing.assert_allclose(tree.total[0, 0], [0.75, 0, -0.75, 0])
    np.testing.assert_allclose(tree.total[0, 1], tree.total[0, 0])
    np.testing.assert_allclose(tree.total[0, 2], [-0.25, 0.5, -0.25, 0])


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
        monkeypatch.setattr(guided, name, plain(getattr(guided, name)))
    monkeypatch.setattr(guided, "play", play, raising=False)
    monkeypatch.setattr(guided, "legal", legal, raising=False)
    tree = Tree.allocate(games.load("forest"), 1, 5)
    for after_node, before, action in ((1, 0, 7), (2, 1, 0), (3, 1, 1)):
        assert plain(enter)(tree, 0, before, action) == after_node
    tree.known[0, 1] = True
    for node, values in ((2, [1, -1, 0, 0]), (3, [-1.5, 1, 0.5, 0])):
        plain(back_up)(tree, 0, node, np.array(values, np.float64))
    count = tree.child.shape[2]
    scratch = (np.zeros(count, np.int8), np.zeros(count, np.int64), np.zeros(count), np.zeros(count), np.zeros(4))
    assert gumbel._simulate(SimpleNamespace(seat=root), tree, 0, 7, 50.0, 1.0, *scratch) == wanted
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
    monkeypatch.setattr(guided, "_LEAVES", 40)
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
