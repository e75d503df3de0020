"""The contract: what a game is, so that every face, agent and tool is written once.

A game is data (tables of actions, observation slices and options) and compiled functions over one flat record.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numba import njit

_MASK64 = (1 << 64) - 1
_SHIFT_A = np.uint64(13)
_SHIFT_B = np.uint64(7)
_SHIFT_C = np.uint64(17)
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_SCRAMBLE = np.uint64(0x9E3779B1)


class IllegalAction(ValueError):
    """An action that is no legal action of the seat to act; the game is as it was before."""


def shown(value: Any) -> str:
    """Show a value in an error, on one line; Python itself fails on lists too deep and on numbers too long."""
    try:
        return repr(value).replace("\n", " ")
    except (RecursionError, ValueError):
        return f"<{type(value).__name__} too large to show>"


def is_whole(value: Any) -> bool:
    """Tell whether a value is a whole number of Python's or NumPy's; True and False are not."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_list(value: Any) -> bool:
    """Tell whether a value is a list of things, of whatever kind; a text is none."""
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def check_keys(value: Any, what: str, keys: Sequence[str], optional: Sequence[str] = ()) -> None:
    """Demand a mapping with exactly these keys, and perhaps some of the optional ones.

    Raises:
        ValueError: If it is none; the message calls it `what`.
    """
    if not isinstance(value, Mapping):
        raise ValueError(f"The {what} was a {type(value).__name__}; give a dict with the keys {', '.join(keys)}.")
    if set(value) - set(optional) != set(keys):
        given = ", ".join(shown(key) for key in value) or "none"
        more = ", and may have " + ", ".join(f'"{key}"' for key in optional) if optional else ""
        raise ValueError(f"The {what} has the keys {given}; it needs exactly {', '.join(keys)}{more}.")


def check_list(value: Any, what: str, length: int) -> Sequence[Any]:
    """Return a value that is a list of a given length.

    Raises:
        ValueError: If it is none; the message calls it `what`.
    """
    if not is_list(value) or len(value) != length:
        size = f"{len(value)} entries" if is_list(value) else f"a {type(value).__name__}"
        raise ValueError(f"The {what} has {size}; it needs a list of {length}.")
    listed: Sequence[Any] = value
    return listed


def stream(*keys: int) -> int:
    """Turn whole numbers into the starting point of an independent stream of chance.

    Args:
        *keys: A seed, and any further numbers that name the stream (a lane, a seat, a purpose).

    Returns:
        A 64-bit number other than 0, for the `rng` field of a state.
    """
    mixed = 0
    for key in keys:
        mixed = (mixed + (operator.index(key) & _MASK64) + 0x9E3779B97F4A7C15) & _MASK64
        # The finaliser of SplitMix64 (Steele, Lea and Flood, 2014).
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK64
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK64
        mixed ^= mixed >> 31
    return mixed or 1


def _xorshift(chance):
    """Return what follows a generator's value, or an array of them: one step of xorshift64 (Marsaglia, 2003)."""
    chance = chance ^ (chance << _SHIFT_A)
    chance = chance ^ (chance >> _SHIFT_B)
    return chance ^ (chance << _SHIFT_C)


advance = njit(_xorshift)


@njit
def scale(chance, bound):
    """Turn a generator's value into a whole number from 0 to `bound - 1`.

    The upper half is scrambled by a multiplication that cannot overflow, so that the compiled and the uncompiled
    code agree bit by bit.
    """
    upper = ((chance >> _HALF) * _SCRAMBLE) & _LOW
    return np.int64((upper * np.uint64(bound)) >> _HALF)


@njit
def draw(state, bound):
    """Draw a whole number from 0 to `bound - 1` and move the state's generator on."""
    state.rng = advance(state.rng)
    return scale(state.rng, bound)


@njit
def split(state):
    """Split a generator off the state's, as a value other than 0: two draws make its bits."""
    upper = np.uint64(draw(state, 1 << 32)) << _HALF
    return upper | np.uint64(draw(state, 1 << 32)) | np.uint64(1)


@njit(cache=True)
def choose_uniform(chance, mask, actions):
    """Draw a legal action per row, uniformly, from the row's generator (uint64); -1 where there is none."""
    for i in range(mask.shape[0]):
        legal_actions = 0
        for action in range(mask.shape[1]):
            legal_actions += mask[i, action]
        actions[i] = -1
        if legal_actions == 0:
            continue
        chance[i] = advance(chance[i])
        chosen = scale(chance[i], legal_actions)
        for action in range(mask.shape[1]):
            if mask[i, action]:
                if chosen == 0:
                    actions[i] = action
                    break
                chosen -= 1


def fork(chance: np.ndarray) -> np.ndarray:
    """Split generators: move each one step on and return as many new ones with another course.

    Args:
        chance: Generators, shape `(k,)`, uint64; changed in place.

    Returns:
        Generators of the same shape.
    """
    chance[:] = _xorshift(chance)
    return np.array([stream(int(value)) for value in chance], np.uint64)


@njit
def clear(values):
    """Write zeros, over a slice, so that the loop becomes a block fill."""
    for i in range(values.shape[0]):
        values[i] = 0


@njit
def sort(values):
    """Sort a short one-dimensional array in place."""
    for i in range(1, len(values)):
        j = i
        while j > 0 and values[j - 1] > values[j]:
            values[j - 1], values[j] = values[j], values[j - 1]
            j -= 1


@njit
def shuffle(state, values):
    """Shuffle a one-dimensional array in place with the state's generator (Fisher and Yates)."""
    for i in range(len(values) - 1, 0, -1):
        j = draw(state, i + 1)
        kept = values[i]
        values[i] = values[j]
        values[j] = kept


@njit
def share_out(state, points, won, utility):
    """Write each seat's utility under the option `REWARD`: `win` shares one win, `margin` is points above the mean.

    A win of one among n seats is worth 1, a loss -1 / (n - 1), and all utilities add up to 0.
    """
    players = np.int64(state.players)
    total = 0
    sharers = 0
    for seat in range(players):
        total += points[seat]
        sharers += won[seat]
    for seat in range(players):
        if state.reward == 0:
            share = won[seat] / sharers
            utility[seat] = (players * share - 1) / (players - 1)
        else:
            utility[seat] = points[seat] - total / players


@dataclass(frozen=True)
class Action:
    """One row of a game's action table.

    Attributes:
        id: The number an agent picks.
        name: A short unique name in snake case.
        sentence: What the action does, for people.
    """

    id: int
    name: str
    sentence: str


@dataclass(frozen=True)
class Option:
    """One rule or reward option of a game: a choice among a few values, its index kept in the state.

    A game whose option is more than that overrides `check`, `store` and `read`.

    Attributes:
        name: The keyword argument of every face, and the field of the record.
        choices: The allowed values.
        default: The value when nothing is said.
        text: What it changes.
        remarks: What must be said of every result obtained with a choice, for choices that need it.
    """

    name: str
    choices: tuple[Any, ...]
    default: Any
    text: str
    remarks: Mapping[Any, str] = field(default_factory=dict)

    def check(self, value: Any) -> Any:
        """Return a value in the form in which records and policy files keep it.

        Raises:
            ValueError: If it is not allowed.
        """
        for choice in self.choices:
            if type(choice) is type(value) and choice == value:
                return choice
        allowed = " or ".join(repr(choice) for choice in self.choices)
        raise ValueError(f"Option {self.name!r} was {shown(value)}; give {allowed}.")

    def store(self, states: np.ndarray, value: Any) -> None:
        """Write a checked value into records."""
        states[self.name] = self.choices.index(value)

    def read(self, state: Any) -> Any:
        """Return the value that a record was made with."""
        return self.choices[int(state[self.name])]

    def remark(self, value: Any) -> str:
        """Return what must be said of results with a checked value; empty for nothing."""
        return self.remarks.get(value, "")


REWARD = Option(
    "reward",
    ("win", "margin"),
    "win",
    "What the final reward counts: the win, or points above the mean of all players.",
)


@dataclass(frozen=True)
class Slice:
    """One named part of the observation vector.

    Attributes:
        name: Its name in the docs and in `Layout`.
        shape: Its shape; the part of the vector is this array in C order.
        low: The smallest value an entry can take.
        high: The largest value an entry can take.
        text: What it holds.
        known: Who may know it: "all", or "own" for what only the observer may know.
    """

    name: str
    shape: tuple[int, ...]
    low: int
    high: int
    text: str
    known: str = "all"

    @property
    def size(self) -> int:
        """Number of entries."""
        return int(np.prod(self.shape))


class Standing(NamedTuple):
    """What the rules say of a position, for its drawing: so that no drawing has rules of its own.

    Attributes:
        mask: Legal actions of the seat to act, shape `(actions,)`, int8; all 0 at the end.
        points: Points of each seat as they stand, shape `(seats,)`, int16.
        won: Who would win with them, shape `(seats,)`, int8.
        observation: What the viewer sees, seat 0 for who sees all, shape `(layout.size,)`, int8.
        before: The record before the last decision; None where it is not known, as after the deal.
        action: The last decision, -1 where it is not known.
    """

    mask: np.ndarray
    points: np.ndarray
    won: np.ndarray
    observation: np.ndarray
    before: Any = None
    action: int = -1


class Layout(Mapping[str, slice]):
    """The observation vector as named slices; a mapping from a name to the `slice` of the vector."""

    def __init__(self, slices: tuple[Slice, ...]) -> None:
        self.slices = slices
        self._at: dict[str, slice] = {}
        start = 0
        for part in slices:
            self._at[part.name] = slice(start, start + part.size)
            start += part.size
        self.size = start

    def __getitem__(self, name: str) -> slice:
        return self._at[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._at)

    def __len__(self) -> int:
        return len(self._at)

    def start(self, name: str) -> np.int64:
        """Where a part starts: a whole word, so that adding a record's small integers can't overflow uncompiled."""
        return np.int64(self._at[name].start)

    def low(self) -> np.ndarray:
        """Smallest value of each entry, shape `(size,)`, int8."""
        return np.concatenate([np.full(part.size, part.low, np.int8) for part in self.slices])

    def high(self) -> np.ndarray:
        """Largest value of each entry, shape `(size,)`, int8."""
        return np.concatenate([np.full(part.size, part.high, np.int8) for part in self.slices])

    def fingerprint(self) -> str:
        """A short hash of names, shapes and bounds: equal only for the same layout."""
        text = ";".join(f"{p.name}{p.shape}{p.low}:{p.high}" for p in self.slices)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def unpack(self, observation: np.ndarray) -> dict[str, np.ndarray]:
        """Cut observations into named arrays.

        Args:
            observation: Array of shape `(..., size)`.

        Returns:
            A dict from slice name to an array of shape `(..., *slice.shape)`.
        """
        lead = observation.shape[:-1]
        return {p.name: observation[..., self[p.name]].reshape(*lead, *p.shape) for p in self.slices}


@dataclass(frozen=True, eq=False)
class Game:
    """Everything the shared code knows of a game.

    Compiled functions take one record (`states[i]`) first; arrays they fill come last.

    Attributes:
        name: Name in ids, records and policy files.
        title: Name for people.
        version: Rules version, the `N` of `-vN`.
        dtype: The NumPy dtype of the record. Every game's has `rng`, `players`, `seat` (-1 at the end), `turn`,
            `phase` and one field per option.
        players: Allowed player counts.
        seats: Size of per-seat arrays: the largest player count.
        actions: The action table; an action's id is its index.
        phases: Phase names; `state.phase` is an index.
        options: Rule and reward options.
        layout: The observation.
        max_plies: No game has more decisions than this.
        deal: `(state)`: deals from the state's generator what a set-up holds, for its players and options.
        begin: `(state)`: puts all else in its place, up to the first decision of a game that was dealt or set up.
        legal: `(state, mask)`: writes 0/1 for every action of the seat to act; never all 0 before the end.
        play: `(state, action)`: one legal decision; ends in the next real decision or in the end.
        observe: `(state, seat, out)`: writes what that seat may know.
        scores: `(state, points)`: writes what the players would write down, for the seats in play.
        categories: What points are counted for, by name: every point of a seat belongs to one of them.
        breakdown: `(state, seat, out)`: writes the seat's points for each category, shape `(categories,)`, int16,
            which add up to its score at every position.
        winners: `(state, points, won)`: writes 1 for each seat that wins or shares the win, given the scores.
        returns: `(state, points, won, utility)`: writes the final utility of each seat under the state's reward
            option, given scores and winners.
        redeal: `(state, seat)`: redraws all that the seat can't know, consistent with what it sees.
        evaluate: `(state, seat) -> float`: a hand-made estimate of the seat's prospects from what it may know.
        margin_scale: About the standard deviation of a final margin between like players, by player count; alone, of
            the estimate of a final position.
        worst_return: `(players, options) -> float`: a bound no real game goes below; the price of forfeiting.
        fill_setup: `(state, setup)`: puts a checked JSON set-up into a record, for `begin`, or raises ValueError.
        read_setup: `(state) -> setup`: the JSON set-up that a state was dealt from.
        tell: `(state, action) -> str`: what a legal action does in this position, one sentence for people that says
            only what everybody at the table may know.
        explain: `(state, points) -> list of str`: for each category, why the seats get their points, shape
            `(players, categories)`: one sentence for people, who see everything.
        draw_text: `(state, seat, standing) -> str`: the board as text from a seat's view, or all-seeing for None.
        draw_scene: `(state, seat, standing) -> str`: the same as an SVG document, to be painted with
            `spirits_env.drawing.paint`. What stands for a legal action of the seat to act has its id as `data-legal`.
        board: How observation and actions lie on a board, in terms of a network that is made for such boards (see
            `training.networks`); None for a game that plain networks serve.
        text_styles: What the text is coloured by in a terminal: patterns (regular expressions) and rich's names of
            styles, the later ones over the earlier.
    """

    name: str
    title: str
    version: int
    dtype: np.dtype[Any]
    players: tuple[int, ...]
    seats: int
    actions: tuple[Action, ...]
    phases: tuple[str, ...]
    options: tuple[Option, ...]
    layout: Layout
    max_plies: int
    deal: Callable[..., Any]
    begin: Callable[..., Any]
    legal: Callable[..., Any]
    play: Callable[..., Any]
    observe: Callable[..., Any]
    scores: Callable[..., Any]
    categories: tuple[str, ...]
    breakdown: Callable[..., Any]
    winners: Callable[..., Any]
    returns: Callable[..., Any]
    redeal: Callable[..., Any]
    evaluate: Callable[..., float]
    margin_scale: Mapping[int, float]
    worst_return: Callable[[int, Mapping[str, Any]], float]
    fill_setup: Callable[[Any, Any], None]
    read_setup: Callable[[Any], dict[str, Any]]
    tell: Callable[[Any, int], str]
    explain: Callable[[Any, np.ndarray], list[str]]
    draw_text: Callable[[Any, int | None, Standing], str]
    draw_scene: Callable[[Any, int | None, Standing], str]
    board: Any = None
    text_styles: tuple[tuple[str, str], ...] = ()

    def check_players(self, players: Any) -> int:
        """Return the player count as an int.

        Raises:
            ValueError: If this game cannot be played by so many.
        """
        if is_whole(players) and players in self.players:
            return int(players)
        allowed = ", ".join(str(n) for n in self.players)
        raise ValueError(f"players was {shown(players)}; {self.title} is for {allowed} players, so give one of these.")

    def check_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Fill in defaults and return all options in the form in which records keep them.

        Raises:
            ValueError: If a name is unknown or a value is not allowed.
        """
        known = {option.name: option for option in self.options}
        for name in options:
            if name not in known:
                raise ValueError(f"Option {name!r} is unknown to {self.title}; its options are {', '.join(known)}.")
        return {name: option.check(options.get(name, option.default)) for name, option in known.items()}

    def remarks(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Return what must be said of every result obtained with checked options."""
        said = (option.remark(options[option.name]) for option in self.options)
        return tuple(remark for remark in said if remark)

    def blank(self, count: int, players: int, options: Mapping[str, Any]) -> np.ndarray:
        """Make `count` records with players and options set and nothing dealt.

        Returns:
            Array of shape `(count,)` of the game's dtype.
        """
        values = self.check_options(options)
        states = np.zeros(count, self.dtype)
        states["players"] = self.check_players(players)
        for option in self.options:
            option.store(states, values[option.name])
        return states

    def read_options(self, state: Any) -> dict[str, Any]:
        """The options a record was made with, by name."""
        return {option.name: option.read(state) for option in self.options}

    def check_action(self, action: Any) -> int:
        """Return an action as a Python int, whatever whole-number type it came as.

        Raises:
            IllegalAction: If it is not a whole number (an int, a NumPy integer or a 0-d integer array).
        """
        # Most actions are plain ints, and every decision comes through here.
        if type(action) is int or is_whole(action):
            return int(action)
        if isinstance(action, np.ndarray) and action.shape == () and np.issubdtype(action.dtype, np.integer):
            return int(action)
        raise IllegalAction(
            f"The action was {shown(action)} ({type(action).__name__}); "
            f"give a whole number from 0 to {len(self.actions) - 1}."
        )

    def refusal(self, action: int, phase: int, mask: np.ndarray) -> IllegalAction:
        """Make the error for an action that the mask does not allow."""
        name = self.actions[action].name if 0 <= action < len(self.actions) else "no action"
        allowed = ", ".join(f"{i} ({self.actions[i].name})" for i in np.flatnonzero(mask))
        return IllegalAction(
            f"Action {shown(action)} ({name}) is not legal in phase {self.phases[phase]!r}; "
            + (f"the legal actions are {allowed}." if allowed else "the game is over, so reset it first.")
        )

    def action_id(self, name: str) -> int:
        """Return the id of the action with this name.

        Raises:
            ValueError: If there is none.
        """
        for action in self.actions:
            if action.name == name:
                return action.id
        raise ValueError(f"{self.title} has no action named {name!r}; Game.actions lists the names.")
