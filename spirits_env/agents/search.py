"""Information-set Monte Carlo tree search: looks ahead by playing on from what a seat may know, for any game.

Each playout starts from a fresh re-deal of all the seat can't see; nodes are sequences of actions (Cowling, Powley and
Whitehouse, 2012: single observer), and every node keeps one value per seat (max^n: Luckhardt and Irani, 1986).
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

import numpy as np
from numba import njit

from spirits_env.agents import SEARCH, Agent
from spirits_env.batch import Views
from spirits_env.bind import announce, bind
from spirits_env.game import Game, draw, is_whole, shown, stream

# The names a loop below finds bound to its game's functions.
legal: Any
play: Any
scores: Any
winners: Any
redeal: Any
evaluate: Any
# And to other loops of the game.
roll_out: Any
reward: Any
grow: Any

# Columns of a tree's links.
FIRST, NEXT, ACTION, VISITS, OFFERED, SEAT = range(6)
_COLUMNS = 6
_MOST_PLAYOUTS = 10_000_000
# Nodes kept for next decisions, of all games together.
_MOST_KEPT = 1 << 22
# Under a limit of time, playouts come in shares: the first is so large, and none is to take more than this part.
_FIRST_SHARE, _SHARES = 8, 20
_WORD = 8
_BYTE, _PAIR, _HALF = np.uint64(8), np.uint64(16), np.uint64(32)
_BYTES, _PAIRS = np.uint64(0x00FF00FF00FF00FF), np.uint64(0x0000FFFF0000FFFF)
_LOW, _SUM = np.uint64(0xFF), np.uint64(0xFFFF)


@njit
def add_bytes(word):
    """Add up the eight bytes of a word; halves are added so that nothing overflows, compiled or not."""
    word = (word & _BYTES) + ((word >> _BYTE) & _BYTES)
    word = (word & _PAIRS) + ((word >> _PAIR) & _PAIRS)
    return (word + (word >> _HALF)) & _SUM


@njit
def count_legal(words):
    """Count the ones of a mask, given as words of eight bytes of 0 or 1; at most 255 words."""
    total = np.uint64(0)
    for i in range(words.shape[0]):
        total += words[i]
    return np.int64(add_bytes(total))


@njit
def nth_legal(words, nth):
    """Return the index of a mask's one, counted from 0."""
    i = 0
    left = np.uint64(nth)
    while True:
        count = add_bytes(words[i])
        if left < count:
            break
        left -= count
        i += 1
    word = words[i]
    action = _WORD * i
    while True:
        one = word & _LOW
        if one > left:
            return action
        left -= one
        word >>= _BYTE
        action += 1


@njit
def draw_legal(state, words):
    """Draw a legal action uniformly from the state's generator."""
    return nth_legal(words, draw(state, count_legal(words)))


def _reward(state, points, won, utility, margin_weight, margin_scale):
    """Write each seat's reward at the end of a rollout, from -1 to 1: its rank and its margin, mixed.

    The rank counts seats beaten less seats that beat it; winners beat whoever is level with them on points. Alone,
    the win stands for the rank and the game's estimate of the final position for the margin. A rollout that was cut
    short is worth what the game's estimate says.
    """
    if state.seat >= 0:
        for seat in range(np.int64(state.players)):
            utility[seat] = np.tanh(evaluate(state, seat) / margin_scale)
        return
    scores(state, points)
    winners(state, points, won)
    players = np.int64(state.players)
    if players == 1:
        margin = np.tanh(evaluate(state, 0) / margin_scale)
        utility[0] = (1 - margin_weight) * (2 * won[0] - 1) + margin_weight * margin
        return
    total = 0
    for seat in range(players):
        total += points[seat]
    for seat in range(players):
        rank = 0
        for other in range(players):
            ahead = np.int64(points[seat]) - points[other]
            if ahead == 0:
                ahead = np.int64(won[seat]) - won[other]
            rank += np.sign(ahead)
        margin = points[seat] - (total - points[seat]) / (players - 1)
        utility[seat] = (1 - margin_weight) * rank / (players - 1) + margin_weight * np.tanh(margin / margin_scale)


def _roll_out(trial, other, mask, words, guide, horizon):
    """Play a game on: each decision is the best of `guide` legal ones, drawn with repetition; at most `horizon`."""
    state = trial[0]
    while state.seat >= 0 and horizon > 0:
        horizon -= 1
        legal(state, mask)
        action = draw_legal(state, words)
        if guide > 1:
            seat = np.int64(state.seat)
            chosen = -1
            best = -np.inf
            for i in range(guide):
                if i > 0:
                    action = draw_legal(state, words)
                if action == chosen:
                    continue
                other[0] = trial[0]
                play(other[0], action)
                value = evaluate(other[0], seat)
                if value > best:
                    best = value
                    chosen = action
            action = chosen
        play(state, action)


def _grow(
    root, seat, playouts, size, links, values, path, actions, exploration, margin_weight, margin_scale, guide, horizon
):
    """Add playouts to a tree; returns its new size.

    Args:
        root: One record, whose generator feeds all chance of the search and is moved on.
        seat: The searching seat: what it can't know is redrawn before each playout.
        playouts: How many to play.
        size: Nodes in use, at least 1; each playout adds at most one.
        links: Nodes by row: first child, next sibling, action, visits, how often it could be chosen, and the seat that
            acted there last; int32.
        values: Sum of the rewards per seat of the playouts through each node, float64.
        path: Room for the nodes of one playout, int64.
        actions: Number of the game's actions.
        exploration: Weight of the upper confidence bound.
        margin_weight: Share of the margin in the reward.
        margin_scale: Margin in points whose tanh is 0.76.
        guide: How many legal actions a rollout's decision compares by the game's estimate; 1 for uniform.
        horizon: Decisions after which a rollout is cut short.
    """
    trial = root.copy()
    other = root.copy()
    buffer = np.zeros((actions + _WORD - 1) // _WORD * _WORD, np.uint8)
    mask = buffer[:actions].view(np.int8)
    words = buffer.view(np.uint64)
    points = np.zeros(values.shape[1], np.int16)
    won = np.zeros(values.shape[1], np.int8)
    utility = np.zeros(values.shape[1], np.float64)
    for _ in range(playouts):
        trial[0] = root[0]
        state = trial[0]
        redeal(state, seat)
        node = 0
        path[0] = 0
        depth = 1
        while state.seat >= 0:
            links[node, SEAT] = state.seat
            legal(state, mask)
            child = choose_child(node, np.int64(state.seat), mask, links, values, exploration)
            fresh = count_legal(words) > 0
            if fresh:
                child = add_child(node, draw_legal(state, words), size, links, values)
                size += 1
            node = child
            path[depth] = node
            depth += 1
            play(state, np.int64(links[node, ACTION]))
            if fresh:
                roll_out(trial, other, mask, words, guide, horizon)
                break
        reward(state, points, won, utility, margin_weight, margin_scale)
        for i in range(depth):
            links[path[i], VISITS] += 1
            for one in range(values.shape[1]):
                values[path[i], one] += utility[one]
        root[0].rng = state.rng
    return size


@njit
def choose_child(node, seat, mask, links, values, exploration):
    """Return the child that is legal and has the highest upper confidence bound for the seat to act; -1 without any.

    Counts how often each child could be chosen (UCB1 of Auer, Cesa-Bianchi and Fischer, 2002, with availability in the
    place of the parent's visits), and takes the children's actions out of the mask: what is left was never tried.
    """
    best = -1
    highest = -np.inf
    child = links[node, FIRST]
    while child >= 0:
        action = links[child, ACTION]
        if mask[action]:
            mask[action] = 0
            links[child, OFFERED] += 1
            visits = links[child, VISITS]
            bound = values[child, seat] / visits + exploration * np.sqrt(np.log(links[child, OFFERED]) / visits)
            if bound > highest:
                highest = bound
                best = child
        child = links[child, NEXT]
    return best


@njit
def add_child(node, action, child, links, values):
    """Hang a new child under a node."""
    links[child, FIRST] = -1
    links[child, NEXT] = links[node, FIRST]
    links[child, ACTION] = action
    links[child, VISITS] = 0
    links[child, OFFERED] = 1
    links[child, SEAT] = -1
    links[node, FIRST] = child
    for seat in range(values.shape[1]):
        values[child, seat] = 0.0
    return child


@njit(cache=True)
def extract(node, size, links, values, kept_links, kept_values):
    """Copy the part of a tree under a node, which becomes its root; returns the number of nodes copied.

    Args:
        node: The new root.
        size: Nodes in use.
        links: The tree's links, int32.
        values: The tree's values, float64.
        kept_links: Room for as many links.
        kept_values: Room for as many values.
    """
    origin = np.empty(size, np.int64)
    origin[0] = node
    kept_links[0, NEXT] = -1
    kept = 1
    done = 0
    while done < kept:
        source = origin[done]
        for column in range(ACTION, links.shape[1]):
            kept_links[done, column] = links[source, column]
        for seat in range(values.shape[1]):
            kept_values[done, seat] = values[source, seat]
        child = links[source, FIRST]
        kept_links[done, FIRST] = kept if child >= 0 else -1
        while child >= 0:
            origin[kept] = child
            # Siblings lie one after the other in the copy.
            kept_links[kept, NEXT] = kept + 1 if links[child, NEXT] >= 0 else -1
            kept += 1
            child = links[child, NEXT]
        done += 1
    return kept


# A turn of some game, by the game's name and the turn's number.
_Turn = tuple[str, int]


class Tree:
    """A search tree that grows with its playouts.

    Attributes:
        size: Nodes in use.
        links: See `_grow`, int32.
        values: Sums of rewards per seat, float64.
    """

    def __init__(self, seats: int) -> None:
        self.size = 1
        self.links = np.full((1, _COLUMNS), -1, np.int32)
        self.links[0, VISITS:] = 0
        self.values = np.zeros((1, seats))

    def reserve(self, nodes: int) -> None:
        """Make room for so many more nodes."""
        wanted = self.size + nodes
        if wanted > len(self.links):
            room = max(wanted, 2 * len(self.links)) - len(self.links)
            self.links = np.concatenate([self.links, np.empty((room, _COLUMNS), np.int32)])
            self.values = np.concatenate([self.values, np.empty((room, self.values.shape[1]))])

    def children(self) -> np.ndarray:
        """Nodes right under the root, int64."""
        found = []
        child = self.links[0, FIRST]
        while child >= 0:
            found.append(child)
            child = self.links[child, NEXT]
        return np.array(found, np.int64)

    def under(self, action: int, seat: int) -> Tree | None:
        """Return a copy of the part under one of the root's actions where a seat acts again; None if it doesn't."""
        for child in self.children():
            if self.links[child, ACTION] == action and self.links[child, SEAT] == seat:
                part = Tree(self.values.shape[1])
                part.reserve(int(self.links[child, VISITS]))
                part.size = extract(child, self.size, self.links, self.values, part.links, part.values)
                return part
        return None


@dataclass(frozen=True)
class SearchOptions:
    """How a search goes about it; the defaults are measured.

    Attributes:
        exploration: Weight of the upper confidence bound; rewards lie between -1 and 1.
        margin: Share of the margin in the reward, from 0 to 1; the rest is the rank.
        guide: How many legal actions a rollout's decision compares by the game's estimate; 1 for uniform rollouts.
        horizon: Decisions after which a rollout is cut short and estimated; 0 to play to the end.
        choice: "visits" for the most visited action, "value" for the one with the best mean.
        reuse: Whether a tree is kept for the next decision of the same turn.
        threads: Trees grown side by side, each with its share of the playouts, and added up at the root.
    """

    exploration: float = 0.5
    margin: float = 0.5
    guide: int = 1
    horizon: int = 10
    choice: str = "visits"
    reuse: bool = True
    threads: int = 1

    def __post_init__(self) -> None:
        """Refuse what can't be."""
        _check(self.exploration, "exploration", 0, 100)
        _check(self.margin, "margin", 0, 1)
        _check(self.guide, "guide", 1, 1000)
        _check(self.horizon, "horizon", 0, 100_000)
        _check(self.threads, "threads", 1, 256)
        if self.choice not in ("visits", "value"):
            raise ValueError(f"The search's choice was {shown(self.choice)}; give visits or value.")
        if not isinstance(self.reuse, bool):
            raise ValueError(f"The search's reuse was {shown(self.reuse)}; give true or false.")


def _check(value: Any, name: str, least: float, most: float) -> None:
    """Refuse a number that is out of bounds or of another kind than the option's default."""
    whole = isinstance(getattr(SearchOptions, name), int)
    fits = is_whole(value) if whole else isinstance(value, (int, float)) and not isinstance(value, bool)
    if not fits or not least <= value <= most:
        kind = "whole number" if whole else "number"
        raise ValueError(f"The search's {name} was {shown(value)}; give a {kind} from {least} to {most}.")


@cache
def _grower(game: Game) -> Any:
    """Return a game's compiled search."""
    loop = bind(_grow, game, nogil=True, roll_out=bind(_roll_out, game), reward=bind(_reward, game))
    announce(loop, f"the search of {game.title}")
    return loop


class SearchAgent(Agent):
    """Chooses by information-set Monte Carlo tree search from what its seat may know.

    Trees are kept between the decisions of a turn, under the generator that the decision left behind: only the next
    decision of the same seat in the same game starts from it. For one seed the choices are the same every time, except
    under a limit of time.

    Attributes:
        name: The text that makes this agent, "search:400" or "search:0.2s" with options after it.
        playouts: Playouts per decision; None under a limit of time.
        seconds: Time per decision; None under a limit of playouts.
        options: How the search goes about it.
    """

    def __init__(self, playouts: int | None = None, seconds: float | None = None, **options: Any) -> None:
        """Make the agent.

        Args:
            playouts: Playouts per decision.
            seconds: Time per decision instead.
            **options: See `SearchOptions`.

        Raises:
            ValueError: If the budget or an option is not allowed.
        """
        known = [option.name for option in fields(SearchOptions)]
        for name in options:
            if name not in known:
                raise ValueError(f"Search has no option {shown(name)}; its options are {', '.join(known)}.")
        if (playouts is None) == (seconds is None):
            raise ValueError("A search needs one budget; give playouts or seconds.")
        if playouts is not None and not (is_whole(playouts) and 1 <= playouts <= _MOST_PLAYOUTS):
            raise ValueError(f"The search's playouts were {shown(playouts)}; give 1 to {_MOST_PLAYOUTS}.")
        number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
        if seconds is not None and not (number and 0 < seconds < float("inf")):
            raise ValueError(f"The search's seconds were {shown(seconds)}; give a number above 0.")
        self.playouts = playouts
        self.seconds = seconds
        self.options = SearchOptions(**options)
        budget = f"{playouts}" if seconds is None else f"{float(seconds)!r}".removesuffix(".0") + "s"
        changed = [name for name in known if getattr(self.options, name) != getattr(SearchOptions, name)]
        said = "".join(f",{name}={_word(getattr(self.options, name))}" for name in changed)
        self.name = SEARCH + budget + said
        self._kept: OrderedDict[int, tuple[_Turn, list[Tree]]] = OrderedDict()
        # Counted along, as every decision of every game looks at it.
        self._kept_nodes = 0

    def act_many(self, views: Views) -> np.ndarray:
        """Search for each row in turn."""
        before = [int(chance) for chance in views.chance]
        states = views.redealt()
        return np.array([self._act(views[row], states[row : row + 1], before[row]) for row in range(len(views))])

    def _act(self, view: Views, state: np.ndarray, before: int) -> int:
        """Search for one row.

        Args:
            view: The row.
            state: Its game, with what the seat can't know redrawn, shape `(1,)`.
            before: The row's generator before this decision, which may name trees that were kept.
        """
        seat, turn = int(view.seat[0]), (view.game.name, int(state["turn"][0]))
        turn_then, trees = self._take(before)
        if turn_then != turn:
            trees = [Tree(view.game.seats) for _ in range(self.options.threads)]
        legal_actions = np.flatnonzero(view.mask[0])
        if len(legal_actions) == 1:
            action = int(legal_actions[0])
        else:
            self._search(view.game, state, seat, trees)
            action = self._choose(trees, view.mask[0], seat)
        if self.options.reuse:
            parts = [part for tree in trees if (part := tree.under(action, seat)) is not None]
            if len(parts) == len(trees):
                self._keep(int(view.chance[0]), turn, parts)
        return action

    def _take(self, chance: int) -> tuple[_Turn | None, list[Tree]]:
        """Take out the trees that were kept under a generator, with their turn; none if there are none."""
        turn, trees = self._kept.pop(chance, (None, []))
        self._kept_nodes -= sum(tree.size for tree in trees)
        return turn, trees

    def _keep(self, after: int, turn: _Turn, trees: list[Tree]) -> None:
        """Keep trees for the next decision of the turn; what was kept longest makes room."""
        self._take(after)
        self._kept[after] = (turn, trees)
        self._kept_nodes += sum(tree.size for tree in trees)
        while self._kept_nodes > _MOST_KEPT:
            self._take(next(iter(self._kept)))

    def _search(self, game: Game, state: np.ndarray, seat: int, trees: list[Tree]) -> None:
        """Grow the trees by the budget."""
        count = len(trees)
        roots = [state.copy() for _ in trees]
        for number, root in enumerate(roots):
            root["rng"] = stream(int(state["rng"][0]), number)
        if count == 1:
            self._grow(game, roots[0], seat, trees[0], self.playouts)
            return
        shares = [None if self.playouts is None else (self.playouts + number) // count for number in range(count)]
        with ThreadPoolExecutor(count) as pool:
            for future in [
                pool.submit(self._grow, game, root, seat, tree, share)
                for root, tree, share in zip(roots, trees, shares, strict=True)
            ]:
                future.result()

    def _grow(self, game: Game, root: np.ndarray, seat: int, tree: Tree, playouts: int | None) -> None:
        """Grow one tree by a number of playouts, or for the time there is."""
        if playouts is not None:
            self._add(game, root, seat, tree, playouts)
            return
        assert self.seconds is not None
        started = time.perf_counter()
        share, now = _FIRST_SHARE, started
        while now - started < self.seconds:
            self._add(game, root, seat, tree, share)
            now, last = time.perf_counter(), now
            if now - last < self.seconds / _SHARES:
                share *= 2

    def _add(self, game: Game, root: np.ndarray, seat: int, tree: Tree, playouts: int) -> None:
        """Add playouts to one tree."""
        tree.reserve(playouts)
        options = self.options
        tree.size = _grower(game)(
            root,
            seat,
            playouts,
            tree.size,
            tree.links,
            tree.values,
            np.empty(game.max_plies + 1, np.int64),
            len(game.actions),
            float(options.exploration),
            float(options.margin),
            game.margin_scale[int(root["players"][0])],
            options.guide,
            options.horizon or game.max_plies,
        )

    def _choose(self, trees: list[Tree], mask: np.ndarray, seat: int) -> int:
        """Choose among the root's legal actions by the visits or the mean values of all trees together."""
        visits, values = np.zeros(len(mask)), np.zeros(len(mask))
        for tree in trees:
            for child in tree.children():
                visits[tree.links[child, ACTION]] += tree.links[child, VISITS]
                values[tree.links[child, ACTION]] += tree.values[child, seat]
        # What was kept from before may hold actions that what was seen since rules out.
        visits *= mask
        means = np.where(visits > 0, values / np.maximum(visits, 1), -np.inf)
        first, second = (visits, means) if self.options.choice == "visits" else (means, visits)
        return int(np.lexsort((second, first))[-1])

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_kept": OrderedDict(), "_kept_nodes": 0}


def _word(value: Any) -> str:
    """Write an option's value as `make_search` reads it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def read_options(words: list[str], kinds: Mapping[str, type], text: str) -> dict[str, Any]:
    """Read `name=value` words as options of these kinds.

    Raises:
        ValueError: If a word is no option, its name is unknown or its value of another kind; it names the text.
    """
    options: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if name in options:
            raise ValueError(f"{text!r} gives {name} twice; give it once.")
        if not equals or name not in kinds:
            raise ValueError(f"{text!r} has no option {word!r}; give name=value with the names {', '.join(kinds)}.")
        try:
            options[name] = {"true": True, "false": False}[value] if kinds[name] is bool else kinds[name](value)
        except (KeyError, ValueError):
            raise ValueError(f"In {text!r} the value {value!r} of {name} is no {kinds[name].__name__}.") from None
    return options


def make_search(text: str) -> SearchAgent:
    """Make a search agent from its text, such as "search:400" or "search:0.2s,exploration=0.5".

    Raises:
        ValueError: If the text is not of this form.
    """
    budget, *words = text.removeprefix(SEARCH).split(",")
    kinds = {option.name: type(option.default) for option in fields(SearchOptions)}
    options = read_options(words, kinds, text)
    if budget.isascii() and budget.isdigit() and int(budget) > 0:
        return SearchAgent(int(budget), **options)
    try:
        seconds = float(budget.removesuffix("s")) if budget.endswith("s") else 0.0
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise ValueError(
            f"The budget of {text!r} was {budget!r}; give playouts, such as search:400, or seconds, such as "
            "search:0.2s, above 0."
        )
    return SearchAgent(seconds=seconds, **options)
