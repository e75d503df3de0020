"""The search of Gumbel AlphaZero over re-deals of a view, with whatever network is given to judge positions.

Many simulations run side by side, over games and over the actions compared, so that each round is one network call.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from spirits_env.bind import announce, bind
from spirits_env.game import Game, draw, split

# The names a loop below finds bound to its game's functions.
legal: Any
play: Any
observe: Any
scores: Any
winners: Any
returns: Any
redeal: Any
# And these to other loops of the game.
write_end: Any
simulate: Any

# Maps observations `(m, size)` and masks `(m, actions)`, int8, to logits `(m, actions)` and values `(m, seats)`,
# float32, the seats counted from the observer.
Judge = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]

# Bounds on the games searched side by side: leaves in one network call, and nodes of all their trees.
_LEAVES = 4096
_NODES = 1 << 18
_NO_LEAF = -1


class Rule(NamedTuple):
    """How to search.

    Attributes:
        evaluations: Simulations per decision; the root's own evaluation comes on top, and what runs into an end
            needs no evaluation.
        considered: Actions compared at the root, at most.
        c_visit: Visits added to the most visited action's in the weight of values against logits.
        c_scale: What that sum is multiplied by.
        gumbel: Scale of the noise on the root's logits: 0 plays the best action found, 1 draws from the policy.
        margin_weight: Share of tanh(margin / margin_scale) in what an end is worth, as in the values of the network.
        margin_scale: In points above the mean of the others.
    """

    evaluations: int
    considered: int
    c_visit: float
    c_scale: float
    gumbel: float
    margin_weight: float = 0.0
    margin_scale: float = 1.0


class Found(NamedTuple):
    """What a search found, one row per root.

    Attributes:
        actions: The best action of each, shape `(k,)`, int64.
        policy: The improved policy: softmax of logit + sigma(completed Q), shape `(k, actions)`, float32.
        values: What each seat may expect, by its own number, shape `(k, seats)`, float32.
    """

    actions: np.ndarray
    policy: np.ndarray
    values: np.ndarray


class Tree(NamedTuple):
    """The trees of many games: nodes are sequences of actions from the root, which is node 0; k games, n nodes.

    Attributes:
        used: Nodes in use, shape `(k,)`.
        parent: Shape `(k, n)`.
        child: Node after each action, shape `(k, n, actions)`; 0 for none.
        visits: Simulations that came through, shape `(k, n)`.
        total: Sums of the values they brought back, shape `(k, n, seats)`.
        known: Whether the network has judged the node, shape `(k, n)`.
        logits: What it said, shape `(k, n, actions)`.
        value: What it said, per seat, shape `(k, n, seats)`.
    """

    used: np.ndarray
    parent: np.ndarray
    child: np.ndarray
    visits: np.ndarray
    total: np.ndarray
    known: np.ndarray
    logits: np.ndarray
    value: np.ndarray

    @classmethod
    def allocate(cls, game: Game, count: int, nodes: int) -> Tree:
        """Make trees of nothing but a root."""
        actions = len(game.actions)
        return cls(
            used=np.ones(count, np.int64),
            parent=np.zeros((count, nodes), np.int32),
            child=np.zeros((count, nodes, actions), np.int32),
            visits=np.zeros((count, nodes), np.int32),
            total=np.zeros((count, nodes, game.seats), np.float64),
            known=np.zeros((count, nodes), np.bool_),
            logits=np.zeros((count, nodes, actions), np.float32),
            value=np.zeros((count, nodes, game.seats), np.float64),
        )


class Leaves(NamedTuple):
    """Positions that wait for the network, one row each.

    Attributes:
        row: Whose tree, shape `(m,)`.
        node: Which node of it, shape `(m,)`.
        seat: The seat to act there, shape `(m,)`.
        mask: Its legal actions, shape `(m, actions)`, int8.
        observation: What it sees, shape `(m, size)`, int8.
    """

    row: np.ndarray
    node: np.ndarray
    seat: np.ndarray
    mask: np.ndarray
    observation: np.ndarray

    @classmethod
    def allocate(cls, game: Game, count: int) -> Leaves:
        """Make room for so many."""
        return cls(
            row=np.zeros(count, np.int64),
            node=np.zeros(count, np.int64),
            seat=np.zeros(count, np.int64),
            mask=np.zeros((count, len(game.actions)), np.int8),
            observation=np.zeros((count, game.layout.size), np.int8),
        )


class Race(NamedTuple):
    """The actions compared at each root.

    Attributes:
        mask: Legal actions, shape `(k, actions)`, int8.
        prior: Their logits with the noise added, shape `(k, actions)`.
        runners: Actions still in the race, the best `alive` ones first, shape `(k, considered)`.
        alive: How many, shape `(k,)`.
        started: How many there were at first, shape `(k,)`.
    """

    mask: np.ndarray
    prior: np.ndarray
    runners: np.ndarray
    alive: np.ndarray
    started: np.ndarray

    @classmethod
    def allocate(cls, mask: np.ndarray, considered: int) -> Race:
        """Make races without runners."""
        return cls(
            mask=mask,
            prior=np.zeros(mask.shape, np.float64),
            runners=np.zeros((len(mask), considered), np.int64),
            alive=np.zeros(len(mask), np.int64),
            started=np.zeros(len(mask), np.int64),
        )


def halving_widths(actions: int, evaluations: int) -> list[int]:
    """Plan sequential halving: how many actions are tried in each round, each of them once.

    After a round with fewer actions than before only these stay in the race. The budget is shared equally by the
    ceil(log2(actions)) halvings; what is left over goes to the last two, or fewer at the very end (Danihelka et al.,
    "Policy improvement by planning with Gumbel", ICLR 2022, section 3.3).

    Args:
        actions: Actions in the race at first.
        evaluations: Simulations in all, at least as many as actions.

    Returns:
        Numbers of actions that add up to `evaluations`; nothing for a single action, which needs no race.
    """
    if actions < 2:
        return []
    halvings = math.ceil(math.log2(actions))
    widths: list[int] = []
    left, width = evaluations, actions
    while left:
        for _ in range(max(1, evaluations // (halvings * width))):
            widths.append(min(width, left))
            left -= widths[-1]
            if not left:
                break
        width = max(2, width // 2)
    return widths


@njit
def improve(logits, mask, visits, means, value, c_visit, c_scale, out):
    """Write the improved logits of legal actions, logit + sigma(completed Q), and -inf elsewhere.

    sigma(q) = (c_visit + most visits) c_scale q. An action without visits is completed with the mixed value: the
    network's own value and the visited actions' mean under the policy, weighted 1 to the number of visits
    (equations 8 and 33 of the paper).
    """
    highest = -np.inf
    most = 0
    total = 0
    for action in range(mask.shape[0]):
        if mask[action] and visits[action] > 0:
            highest = max(highest, logits[action])
            most = max(most, visits[action])
            total += visits[action]
    weight = 0.0
    weighted = 0.0
    for action in range(mask.shape[0]):
        if mask[action] and visits[action] > 0:
            share = math.exp(logits[action] - highest)
            weight += share
            weighted += share * means[action]
    mixed = value
    if total > 0:
        mixed = (value + total * weighted / weight) / (1 + total)
    for action in range(mask.shape[0]):
        out[action] = -np.inf
        if mask[action]:
            completed = means[action] if visits[action] > 0 else mixed
            out[action] = logits[action] + (c_visit + most) * c_scale * completed


@njit
def choose(improved, visits):
    """Choose inside the tree: the action whose share of the visits falls most short of the improved policy."""
    highest = improved.max()
    total = 0
    weight = 0.0
    for action in range(improved.shape[0]):
        if improved[action] > -np.inf:
            weight += math.exp(improved[action] - highest)
            total += visits[action]
    best = -1
    gap = -np.inf
    for action in range(improved.shape[0]):
        if improved[action] > -np.inf:
            share = math.exp(improved[action] - highest) / weight
            short = share - visits[action] / (1 + total)
            if short > gap:
                best, gap = action, short
    return best


@njit
def gather(tree, row, node, seat, visits, means):
    """Write visits and mean values, for a seat, of the actions tried from a node."""
    for action in range(visits.shape[0]):
        after = tree.child[row, node, action]
        visits[action] = tree.visits[row, after] if after > 0 else 0
        means[action] = tree.total[row, after, seat] / visits[action] if visits[action] > 0 else 0.0


@njit
def enter(tree, row, node, action):
    """Return the node after an action, made if there was none."""
    after = np.int64(tree.child[row, node, action])
    if after == 0:
        after = tree.used[row]
        tree.used[row] += 1
        tree.child[row, node, action] = after
        tree.parent[row, after] = node
    return after


@njit
def back_up(tree, row, node, values):
    """Bring the value of every seat back from a node to the root."""
    while True:
        tree.visits[row, node] += 1
        for seat in range(values.shape[0]):
            tree.total[row, node, seat] += values[seat]
        if node == 0:
            return
        node = np.int64(tree.parent[row, node])


@njit
def settle(tree, row, node, seat, players, mask, logits, values):
    """Keep what the network said of a node from the view of the seat to act, whose values count the seats from it.

    Other re-deals may allow other actions there: for those the lowest logit of a legal one stands in.
    """
    lowest = np.inf
    for action in range(mask.shape[0]):
        if mask[action]:
            lowest = min(lowest, logits[action])
    for action in range(mask.shape[0]):
        tree.logits[row, node, action] = logits[action] if mask[action] else lowest
    for around in range(players):
        tree.value[row, node, (seat + around) % players] = values[around]
    tree.known[row, node] = True


@njit
def rank(tree, race, row, seat, c_visit, c_scale, visits, means, improved):
    """Sort the actions in a race, the best first; of equals the first action."""
    gather(tree, row, 0, seat, visits, means)
    improve(race.prior[row], race.mask[row], visits, means, tree.value[row, 0, seat], c_visit, c_scale, improved)
    runners = race.runners[row, : race.alive[row]]
    for i in range(1, len(runners)):
        j = i
        while j > 0 and improved[runners[j - 1]] < improved[runners[j]]:
            runners[j - 1], runners[j] = runners[j], runners[j - 1]
            j -= 1


def _absorb(tree, leaves, players, logits, values):
    """Take in what the network said of leaves."""
    for i in range(values.shape[0]):
        row, node = leaves.row[i], leaves.node[i]
        settle(tree, row, node, leaves.seat[i], players, leaves.mask[i], logits[i], values[i])
        back_up(tree, row, node, tree.value[row, node])


def _start(roots, tree, race, gumbel, logits, values):
    """Give each root its policy, and the best actions under it, with noise, a place in the race."""
    for row in range(roots.shape[0]):
        state = roots[row]
        settle(tree, row, 0, np.int64(state.seat), np.int64(state.players), race.mask[row], logits[row], values[row])
        for action in range(logits.shape[1]):
            race.prior[row, action] = -np.inf
            if race.mask[row, action]:
                race.prior[row, action] = logits[row, action]
                if gumbel > 0:
                    uniform = (draw(state, 1 << 32) + 0.5) / 2.0**32
                    race.prior[row, action] -= gumbel * math.log(-math.log(uniform))
                race.started[row] += 1
        race.started[row] = min(race.started[row], race.runners.shape[1])
        race.alive[row] = race.started[row]
        left = race.prior[row].copy()
        for i in range(race.started[row]):
            race.runners[row, i] = left.argmax()
            left[race.runners[row, i]] = -np.inf


def _finish(roots, tree, race, c_visit, c_scale, actions, policy, values):
    """Write the winner of each race, the improved policy (without noise), and the root's value for each seat.

    The value is the mean of what all simulations and the network's own judgement of the root say.
    """
    visits = np.zeros(race.mask.shape[1], np.int64)
    means, improved = np.zeros(len(visits)), np.zeros(len(visits))
    for row in range(roots.shape[0]):
        seat = np.int64(roots[row].seat)
        rank(tree, race, row, seat, c_visit, c_scale, visits, means, improved)
        actions[row] = race.runners[row, 0]
        improve(
            tree.logits[row, 0], race.mask[row], visits, means, tree.value[row, 0, seat], c_visit, c_scale, improved
        )
        policy[row] = np.exp(improved - improved.max())
        policy[row] /= policy[row].sum()
        for other in range(values.shape[1]):
            total = tree.total[row, 0, other] + tree.value[row, 0, other]
            values[row, other] = total / (tree.visits[row, 0] + 1)


def _write_end(state, utility, margin_weight, margin_scale):
    """Write what the end of a game is worth to each seat: what the game pays, mixed with the squashed margin."""
    points = np.zeros(utility.shape[0], np.int16)
    won = np.zeros(utility.shape[0], np.int8)
    for seat in range(utility.shape[0]):
        utility[seat] = 0
    scores(state, points)
    winners(state, points, won)
    returns(state, points, won, utility)
    players = np.int64(state.players)
    total = points[:players].sum()
    for seat in range(players):
        margin = points[seat] - (total - points[seat]) / max(1, players - 1)
        utility[seat] += margin_weight * (math.tanh(margin / margin_scale) - utility[seat])


def _simulate(state, tree, row, action, rule, mask, visits, means, improved, utility):
    """Play an action and go on down the tree to a node that the network must judge; return it.

    An end is counted by the rules at once, and the answer is then _NO_LEAF.
    """
    node = 0
    while True:
        node = enter(tree, row, node, action)
        play(state, action)
        seat = np.int64(state.seat)
        if seat < 0:
            write_end(state, utility, rule.margin_weight, rule.margin_scale)
            back_up(tree, row, node, utility)
            return _NO_LEAF
        if not tree.known[row, node]:
            return node
        legal(state, mask)
        gather(tree, row, node, seat, visits, means)
        value = tree.value[row, node, seat]
        improve(tree.logits[row, node], mask, visits, means, value, rule.c_visit, rule.c_scale, improved)
        action = choose(improved, visits)


def _round(roots, tree, race, widths, rule, leaves):
    """Try each action in each race once, all of a game on the same fresh re-deal; return the number of leaves.

    The same re-deal and the same chance for all actions: their differences then owe less to luck.
    """
    deals = roots[:1].copy()
    trials = roots[:1].copy()
    mask = np.zeros(race.mask.shape[1], np.int8)
    visits = np.zeros(len(mask), np.int64)
    means, improved = np.zeros(len(mask)), np.zeros(len(mask))
    utility = np.zeros(tree.total.shape[2], np.float32)
    count = 0
    for row in range(roots.shape[0]):
        width = widths[race.started[row]]
        if width == 0:
            continue
        seat = np.int64(roots[row].seat)
        if width < race.alive[row]:
            rank(tree, race, row, seat, rule.c_visit, rule.c_scale, visits, means, improved)
            race.alive[row] = width
        deals[0] = roots[row]
        deals[0].rng = split(roots[row])
        redeal(deals[0], seat)
        for i in range(width):
            trials[0] = deals[0]
            state = trials[0]
            action = race.runners[row, i]
            node = simulate(state, tree, row, action, rule, mask, visits, means, improved, utility)
            if node != _NO_LEAF:
                leaves.row[count] = row
                leaves.node[count] = node
                leaves.seat[count] = state.seat
                legal(state, leaves.mask[count])
                observe(state, np.int64(state.seat), leaves.observation[count])
                count += 1
    return count


@dataclass(frozen=True)
class Loops:
    """A game's compiled loops; see the functions of the same names in this module."""

    start: Any
    round: Any
    absorb: Any
    finish: Any


@cache
def loops(game: Game) -> Loops:
    """Return a game's compiled loops, compiled at first use and kept on disk.

    Raises:
        ValueError: If the game is not in the list of games.
    """
    one = bind(_simulate, game, write_end=bind(_write_end, game))
    whole = bind(_round, game, simulate=one)
    announce(whole, f"the search with a policy for {game.title}")
    return Loops(
        start=bind(_start, game),
        round=whole,
        absorb=bind(_absorb, game),
        finish=bind(_finish, game),
    )


@cache
def _plans(considered: int, evaluations: int) -> np.ndarray:
    """Return the widths of each round for races of 0, 1, ... actions, shape `(rounds, considered + 1)`."""
    plans = [halving_widths(actions, evaluations) for actions in range(considered + 1)]
    table = np.zeros((max(map(len, plans)), considered + 1), np.int64)
    for actions, widths in enumerate(plans):
        table[: len(widths), actions] = widths
    return table


def search(game: Game, roots: np.ndarray, observation: np.ndarray, mask: np.ndarray, judge: Judge, rule: Rule) -> Found:
    """Search from some re-dealt views, the same number of evaluations for each.

    At the root sequential halving shares the evaluations out among the policy's best actions, and the winner is the
    best of logit + sigma(completed Q) (Danihelka et al., "Policy improvement by planning with Gumbel", ICLR 2022).
    Each round tries the actions on a fresh re-deal of the view, so nodes are sequences of actions, and what is legal
    and who acts is read from the re-dealt game. Values are kept for every seat, and each node chooses by that of the
    seat to act (max^n).

    Args:
        game: The game.
        roots: Re-dealt games of one number of players, shape `(k,)`; their chance moves on.
        observation: What the seats to act see, shape `(k, size)`, int8.
        mask: Their legal actions, shape `(k, actions)`, int8, one at least.
        judge: The network.
        rule: How to search.
    """
    considered = min(rule.considered, rule.evaluations, mask.shape[1])
    size = max(1, min(_LEAVES // considered, _NODES // (rule.evaluations + 1)))
    # Whole numbers would make Numba compile the loops a second time.
    rule = Rule(rule.evaluations, rule.considered, *map(float, rule[2:]))
    found = Found(
        np.empty(len(roots), np.int64),
        np.empty(mask.shape, np.float32),
        np.zeros((len(roots), game.seats), np.float32),
    )
    logits, values = judge(observation, mask)
    for first in range(0, len(roots), size):
        part = slice(first, first + size)
        race = Race.allocate(mask[part], considered)
        rows = Found(*(array[part] for array in found))
        _search_side_by_side(game, roots[part], race, logits[part], values[part], judge, rule, rows)
    return found


def _search_side_by_side(
    game: Game,
    roots: np.ndarray,
    race: Race,
    logits: np.ndarray,
    values: np.ndarray,
    judge: Judge,
    rule: Rule,
    found: Found,
) -> None:
    """Search from as many roots as fit into memory at once, and write what is found."""
    count, considered = race.runners.shape
    players = int(roots["players"][0])
    run = loops(game)
    tree = Tree.allocate(game, count, rule.evaluations + 1)
    leaves = Leaves.allocate(game, count * considered)
    run.start(roots, tree, race, rule.gumbel, logits, values)
    for widths in _plans(considered, rule.evaluations):
        waiting = run.round(roots, tree, race, widths, rule, leaves)
        if waiting:
            run.absorb(tree, leaves, players, *judge(leaves.observation[:waiting], leaves.mask[:waiting]))
    run.finish(roots, tree, race, rule.c_visit, rule.c_scale, *found)
