"""A saved policy made stronger by a small search: its network judges positions that re-deals of the view lead to.

Many simulations run side by side, over games and over the actions compared, so that each round is one network call.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from spirits_env.agents import Agent
from spirits_env.agents.policy import PolicyAgent
from spirits_env.agents.search import read_options
from spirits_env.batch import Views
from spirits_env.bind import announce, bind
from spirits_env.game import REWARD, Game, draw, is_whole, shown, split

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

# Measured, 64 evaluations against the same policy without: a Forest policy for two of a million decisions won 57, 74,
# 88, 92 and 90 games of 100 with c_scale 0.02, 0.1, 0.3, 1 and 3.
DEFAULTS: dict[str, float] = {"considered": 16, "c_visit": 50.0, "c_scale": 1.0, "gumbel": 0.0}

# Bounds on the games searched side by side: leaves in one network call, and nodes of all their trees.
_LEAVES = 2048
_NODES = 1 << 18
# Bound on all options: a search is small, and weights stay finite.
_MOST = 100_000
_NO_LEAF = -1
_SEARCH, _SAMPLE = "+search:", ":sample"


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
def settle(tree, row, node, seat, players, mask, logits, value):
    """Keep what the network said of a node from the view of the seat to act.

    Other re-deals may allow other actions there: for those the lowest logit of a legal one stands in. What the seat
    expects to win the others lose, in equal parts: among four, asking the network for the searcher's own view as well
    gained less than twice the evaluations did (36 wins of 100 against 43, where equals have 25).
    """
    lowest = np.inf
    for action in range(mask.shape[0]):
        if mask[action]:
            lowest = min(lowest, logits[action])
    for action in range(mask.shape[0]):
        tree.logits[row, node, action] = logits[action] if mask[action] else lowest
    for other in range(players):
        tree.value[row, node, other] = value if other == seat else -value / (players - 1)
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


def _absorb(tree, leaves, players, logits, value):
    """Take in what the network said of leaves."""
    for i in range(value.shape[0]):
        row, node = leaves.row[i], leaves.node[i]
        settle(tree, row, node, leaves.seat[i], players, leaves.mask[i], logits[i], value[i])
        back_up(tree, row, node, tree.value[row, node])


def _start(roots, tree, race, gumbel, logits, value):
    """Give each root its policy, and the best actions under it, with noise, a place in the race."""
    for row in range(roots.shape[0]):
        state = roots[row]
        settle(tree, row, 0, np.int64(state.seat), np.int64(state.players), race.mask[row], logits[row], value[row])
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


def _finish(roots, tree, race, c_visit, c_scale, actions):
    """Write the winner of each race."""
    visits = np.zeros(race.mask.shape[1], np.int64)
    means, improved = np.zeros(len(visits)), np.zeros(len(visits))
    for row in range(roots.shape[0]):
        rank(tree, race, row, np.int64(roots[row].seat), c_visit, c_scale, visits, means, improved)
        actions[row] = race.runners[row, 0]


def _write_end(state, utility):
    """Write the utility of each seat at the end of a game."""
    points = np.zeros(utility.shape[0], np.int16)
    won = np.zeros(utility.shape[0], np.int8)
    for seat in range(utility.shape[0]):
        utility[seat] = 0
    scores(state, points)
    winners(state, points, won)
    returns(state, points, won, utility)


def _simulate(state, tree, row, action, c_visit, c_scale, mask, visits, means, improved, utility):
    """Play an action and go on down the tree to a node that the network must judge; return it.

    An end is counted by the rules at once, and the answer is then _NO_LEAF.
    """
    node = 0
    while True:
        node = enter(tree, row, node, action)
        play(state, action)
        seat = np.int64(state.seat)
        if seat < 0:
            write_end(state, utility)
            back_up(tree, row, node, utility)
            return _NO_LEAF
        if not tree.known[row, node]:
            return node
        legal(state, mask)
        gather(tree, row, node, seat, visits, means)
        improve(tree.logits[row, node], mask, visits, means, tree.value[row, node, seat], c_visit, c_scale, improved)
        action = choose(improved, visits)


def _round(roots, tree, race, widths, c_visit, c_scale, leaves):
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
            rank(tree, race, row, seat, c_visit, c_scale, visits, means, improved)
            race.alive[row] = width
        deals[0] = roots[row]
        deals[0].rng = split(roots[row])
        redeal(deals[0], seat)
        for i in range(width):
            trials[0] = deals[0]
            state = trials[0]
            action = race.runners[row, i]
            node = simulate(state, tree, row, action, c_visit, c_scale, mask, visits, means, improved, utility)
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


class PolicySearchAgent(Agent):
    """Improves a policy by a search of a few network evaluations, the same number for every decision.

    At the root sequential halving shares the evaluations out among the policy's best actions, and the winner is the
    best of logit + sigma(completed Q): Gumbel AlphaZero's rule (Danihelka et al., "Policy improvement by planning with
    Gumbel", ICLR 2022), here without noise unless asked for. Each round tries the actions on a fresh re-deal of the
    view, so nodes are sequences of actions, and what is legal and who acts is read from the re-dealt game. Values are
    kept for every seat, and each node chooses by that of the seat to act (max^n).

    Ends count by the reward option that the policy's card names, which is what its value has learnt: the plain reward
    option, though training may have mixed the margin into it on the way.

    Attributes:
        name: The policy's name, the number of evaluations, and the options that are not the defaults.
        policy: The policy.
        evaluations: Simulations per decision; the root's own evaluation comes on top, and what runs into an end
            needs no evaluation.
        considered: Actions compared at the root, at most.
        c_visit: Visits added to the most visited action's in the weight of values against logits.
        c_scale: What that sum is multiplied by.
        gumbel: Scale of the noise on the root's logits: 0 plays the best action found, 1 draws from the policy.
    """

    def __init__(self, policy: PolicyAgent, evaluations: int = 64, **options: float) -> None:
        """Wrap a policy.

        Args:
            policy: A policy that plays its best action.
            evaluations: Simulations per decision.
            **options: Any of `DEFAULTS`, see the class.

        Raises:
            ValueError: If an option is unknown, a value is not allowed, or the policy draws its actions.
        """
        values = _check(policy, evaluations, options)
        self.policy = policy
        self.evaluations = int(evaluations)
        self.considered = int(values["considered"])
        self.c_visit, self.c_scale, self.gumbel = (float(values[key]) for key in ("c_visit", "c_scale", "gumbel"))
        changed = (f",{key}={value}" for key, value in values.items() if value != DEFAULTS[key])
        self.name = f"{policy.name}+search:{self.evaluations}" + "".join(changed)
        self.fingerprint = policy.fingerprint

    def check(self, game: str, players: int) -> None:
        """Raise ValueError if the policy was made for something else."""
        self.policy.check(game, players)

    def act_many(self, views: Views) -> np.ndarray:
        """Search for each row.

        Raises:
            ValueError: If a row has no legal action, the policy gives no finite numbers, or its card names a reward
                option that the game hasn't.
        """
        if not views.mask.any(axis=1).all():
            raise ValueError(f"Agent {self.name!r} was asked where nothing is legal; ask it for seats to act only.")
        roots = views.redealt()
        for option in views.game.options:
            if option is REWARD:
                option.store(roots, option.check(self.policy.card["options"].get(option.name, option.default)))
        logits, value = self._judge(views.observation, views.mask)
        considered = min(self.considered, self.evaluations, views.mask.shape[1])
        size = max(1, min(_LEAVES // considered, _NODES // (self.evaluations + 1)))
        actions = np.empty(len(views), np.int64)
        for first in range(0, len(views), size):
            part = slice(first, first + size)
            race = Race.allocate(views.mask[part], considered)
            self._search(views.game, roots[part], race, logits[part], value[part], actions[part])
        return actions

    def _search(
        self, game: Game, roots: np.ndarray, race: Race, logits: np.ndarray, value: np.ndarray, actions: np.ndarray
    ) -> None:
        """Search side by side from some re-dealt views, and write the actions chosen."""
        count, considered = race.runners.shape
        players = int(roots["players"][0])
        run = loops(game)
        tree = Tree.allocate(game, count, self.evaluations + 1)
        leaves = Leaves.allocate(game, count * considered)
        run.start(roots, tree, race, self.gumbel, logits, value)
        for widths in _plans(considered, self.evaluations):
            found = run.round(roots, tree, race, widths, self.c_visit, self.c_scale, leaves)
            if found:
                judged = self._judge(leaves.observation[:found], leaves.mask[:found])
                run.absorb(tree, leaves, players, *judged)
        run.finish(roots, tree, race, self.c_visit, self.c_scale, actions)

    def _judge(self, observation: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Run the network and look at what it gives."""
        logits, value = self.policy.logits(observation, mask)
        if not (np.isfinite(value).all() and np.isfinite(logits[mask != 0]).all()):
            raise ValueError(
                f"Policy {self.policy.name!r} gave a value, or the logit of a legal action, that is no finite number; "
                "train or export it anew."
            )
        return logits, value


def _check(policy: PolicyAgent, evaluations: Any, options: dict[str, Any]) -> dict[str, float]:
    """Refuse what makes no search; returns all options."""
    if policy.sample:
        raise ValueError(
            f"Policy {policy.name!r} draws its actions, which a search can't improve; give it without sampling."
        )
    for key in options:
        if key not in DEFAULTS:
            raise ValueError(f"The search with a policy has no option {key!r}; its options are {', '.join(DEFAULTS)}.")
    values = {**DEFAULTS, **options}
    for key, whole in (("evaluations", evaluations), ("considered", values["considered"])):
        if not is_whole(whole) or not 1 <= whole <= _MOST:
            raise ValueError(f"{key} of the search was {shown(whole)}; give a whole number from 1 to {_MOST}.")
    for key in ("c_visit", "c_scale", "gumbel"):
        value = values[key]
        if not (is_whole(value) or isinstance(value, (float, np.floating))) or not 0 <= value <= _MOST:
            raise ValueError(f"{key} of the search was {shown(value)}; give a number from 0 to {_MOST}.")
    return values


def make_guided(text: str) -> PolicySearchAgent:
    """Make the agent from its text, such as "policy.onnx+search:64" or "policy.onnx+search:64,c_scale=0.5".

    Raises:
        ValueError: If the text is not of this form, the file is no policy, or the policy draws its actions.
        ImportError: If onnxruntime is not installed.
    """
    path, _, rest = text.rpartition(_SEARCH)
    budget, *words = rest.split(",")
    options = read_options(words, {key: type(value) for key, value in DEFAULTS.items()}, text)
    if not (budget.isascii() and budget.isdigit() and int(budget) > 0):
        raise ValueError(
            f"The budget of {shown(text)} was {shown(budget)}; give evaluations above 0, such as policy.onnx+search:64."
        )
    policy = PolicyAgent(path.removesuffix(_SAMPLE), sample=path.endswith(_SAMPLE))
    return PolicySearchAgent(policy, int(budget), **options)
