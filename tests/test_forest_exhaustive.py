"""The last tiles of a game searched to the end twice, by the package and by the referee: same tree, same best play."""

from __future__ import annotations

import copy
import random
from collections import Counter
from dataclasses import dataclass, field

import pytest
from numba import config
from referee.forest import Referee, random_setup

from spirits_env.state import State

# Seeds, tiles left and option of games whose ends ask many phases and, with few gems, make trees of a few hundred
# leaves: gems multiply them.
POSITIONS = [
    (5123, 5, True),
    (5058, 5, True),
    (5394, 5, True),
    (5303, 5, True),
    (5123, 5, False),
    (5394, 5, False),
    (5058, 5, False),
    (6227, 6, True),
    (6144, 6, True),
    (6236, 6, True),
    (6227, 6, False),
    (6060, 6, False),
]


@dataclass
class Tree:
    """What a search to the end found.

    Attributes:
        leaves: How often each pair of final scores was reached.
        phases: How often each phase was asked.
    """

    leaves: Counter[tuple[int, ...]] = field(default_factory=Counter)
    phases: Counter[str] = field(default_factory=Counter)


def search_package(state: State, tree: Tree) -> int:
    """Return the best margin of seat 0 over seat 1 when both play for the margin."""
    if state.seat < 0:
        scores = state.scores()
        tree.leaves[tuple(scores)] += 1
        return scores[0] - scores[1]
    tree.phases[state.phase] += 1
    values = []
    for action in state.legal_actions():
        after = state.copy()
        after.play(action)
        values.append(search_package(after, tree))
    return max(values) if state.seat == 0 else min(values)


def search_referee(referee: Referee, tree: Tree) -> int:
    """The same with the referee."""
    if referee.phase == "end":
        scores = referee.scores()
        tree.leaves[tuple(scores)] += 1
        return scores[0] - scores[1]
    tree.phases[referee.phase] += 1
    values = []
    for action in referee.legal():
        after = copy.deepcopy(referee)
        after.play(action)
        values.append(search_referee(after, tree))
    return max(values) if referee.seat == 0 else min(values)


def tiny_forest(seed: int, tiles: int, forced_steal: bool) -> tuple[State, Referee]:
    """Play at random until few tiles are left and a first tile is asked."""
    rng = random.Random(seed)
    setup = random_setup(rng, 2)
    state = State("forest", 2, seed=seed, setup=setup, forced_steal=forced_steal)
    referee = Referee(setup, 2, forced_steal)
    while sum(map(len, referee.rows)) > tiles or referee.phase != "first":
        action = rng.choice(referee.legal())
        state.play(action)
        referee.play(action)
    return state, referee


if getattr(config, "DISABLE_JIT", False):
    POSITIONS = POSITIONS[:1]


@pytest.mark.parametrize(("seed", "tiles", "forced_steal"), POSITIONS)
def test_a_tiny_forest_has_the_same_tree_and_the_same_best_play(seed: int, tiles: int, forced_steal: bool) -> None:
    state, referee = tiny_forest(seed, tiles, forced_steal)
    tree, judged = Tree(), Tree()
    assert search_package(state, tree) == search_referee(referee, judged)
    assert tree == judged
    assert tree.leaves.total() > 100
    assert {"first", "place", "move"} <= set(tree.phases)
