"""Exact values of ends of two-player games, all cards open and all chance known: what perfect play makes of a position.

An alpha-beta search over the game's own rules with a transposition table on the record's bytes; no game is named.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numba import njit

from spirits_env.bind import announce, bind
from spirits_env.game import Game, shown, stream
from spirits_env.state import State

# The names a loop below finds bound to its game's functions.
legal: Any
play: Any
scores: Any
winners: Any
# And this to another loop of the game.
enter: Any

OBJECTIVES = ("points", "result")
POINTS = 0

# The table has 2**_BUCKET_BITS buckets of two entries.
_BUCKET_BITS = 21
_BUCKET_SHIFT = np.uint64(64 - _BUCKET_BITS)
_ENTRY = np.dtype(
    (
        np.record,
        [
            ("key", np.uint64),
            ("low", np.int16),  # the value is at least this
            ("high", np.int16),  # and at most this
            ("action", np.int16),  # best action so far, -1 for none
            ("effort", np.int16),  # positions searched below, as far as they can be counted here
        ],
    )
)
_LOWEST, _HIGHEST, _MOST_EFFORT = -32768, 32767, 32767
# No value lies outside these, by objective.
_BOUNDS = {"points": (_LOWEST, _HIGHEST), "result": (-1, 1)}

# What is kept of each position on the way from the root to the one being searched.
_FIELDS = 9
_SEAT, _GOAL, _BEST, _CHOICE, _ACTION, _COUNT, _NEXT, _HINT, _START = range(_FIELDS)
# And of the search as a whole.
_DEPTH, _ENTERING, _NODES, _HITS = range(4)  # a depth of -1 asks for a new root

# Positions per call of the compiled loop, between two looks at the clock.
_SLICE = 20_000

_HALF = np.uint64(32)
_LOW_HALF = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(29)
_ODD_A, _ODD_B = np.uint64(0x9E3779B1), np.uint64(0x85EBCA77)
_ODD_C, _ODD_D = np.uint64(0xC2B2AE3D), np.uint64(0x27D4EB2F)


class UnsolvedError(ValueError):
    """A position that could not be solved within the time given."""


@njit
def _mix(word):
    """Scramble 64 bits; its products of 32-bit halves cannot overflow, so uncompiled code agrees bit by bit."""
    turned = (word & _LOW_HALF) * _ODD_B
    word = ((word >> _HALF) * _ODD_A) ^ (turned << _HALF) ^ (turned >> _HALF)
    word ^= word >> _SHIFT
    turned = (word & _LOW_HALF) * _ODD_D
    word = ((word >> _HALF) * _ODD_C) ^ (turned << _HALF) ^ (turned >> _HALF)
    return word ^ (word >> _HALF)


@njit
def _hash(words, salts):
    """Return the hash of a record, given as words."""
    key = np.uint64(0)
    for i in range(words.shape[0]):
        key ^= _mix(words[i] ^ salts[i])
    return key


@njit
def _rehash(key, old, new, salts):
    """Return a record's hash from that of another record: only the words that differ are hashed."""
    for i in range(old.shape[0]):
        if old[i] != new[i]:
            key ^= _mix(old[i] ^ salts[i]) ^ _mix(new[i] ^ salts[i])
    return key


@njit
def _find(table, key):
    """Return the slot of a position in the table, or -1."""
    slot = np.int64(key >> _BUCKET_SHIFT) * 2
    if table[slot].key == key:
        return slot
    if table[slot + 1].key == key:
        return slot + 1
    return -1


@njit
def _slot_for(table, key, effort):
    """Return the slot to write a position to: the first of a bucket keeps what took most effort."""
    slot = _find(table, key)
    if slot >= 0:
        return slot
    slot = np.int64(key >> _BUCKET_SHIFT) * 2
    if effort >= table[slot].effort:
        table[slot + 1] = table[slot]
    else:
        slot += 1
    table[slot].key = key
    table[slot].low = _LOWEST
    table[slot].high = _HIGHEST
    table[slot].action = -1
    return slot


@njit
def _store(table, key, frame, effort):
    """Keep in the table what a search of a position has shown."""
    effort = min(effort, _MOST_EFFORT)
    entry = table[_slot_for(table, key, effort)]
    entry.effort = effort
    best = frame[_BEST]
    if best >= frame[_GOAL]:
        entry.low = max(best, np.int64(entry.low))
        entry.action = frame[_CHOICE]
    else:
        entry.high = min(best, np.int64(entry.high))
        if entry.action < 0:
            entry.action = frame[_CHOICE]


@njit
def _answered(table, key, frame):
    """Tell whether the table answers the question of a position; else take its best action as a hint."""
    slot = _find(table, key)
    if slot < 0:
        return False
    entry = table[slot]
    if entry.low >= frame[_GOAL]:
        frame[_BEST] = entry.low
        return True
    if entry.high < frame[_GOAL]:
        frame[_BEST] = entry.high
        return True
    frame[_HINT] = entry.action
    return False


@njit
def _list_actions(mask, frame, actions):
    """List the legal actions of a position that is to be searched."""
    count = 0
    for action in range(mask.shape[0]):
        if mask[action]:
            actions[count] = action
            count += 1
    frame[_COUNT] = count
    frame[_NEXT] = 0
    frame[_BEST] = _LOWEST
    frame[_CHOICE] = -1


@njit
def _pick(frame, actions, history):
    """Move the most promising action that is left to the front, and return it."""
    first = frame[_NEXT]
    best = first
    if first == 0 and frame[_HINT] >= 0:
        # Looked for and not taken at its word: another position of the same hash may have left it.
        for i in range(frame[_COUNT]):
            if actions[i] == frame[_HINT]:
                best = i
                break
    else:
        for i in range(first + 1, frame[_COUNT]):
            if history[actions[i]] > history[actions[best]]:
                best = i
    action = np.int64(actions[best])
    actions[best] = actions[first]
    actions[first] = action
    frame[_NEXT] = first + 1
    frame[_ACTION] = action
    return action


@njit
def _take_back(frame, child, history, effort):
    """Take in the value of the position after the last action; tell whether the goal is reached."""
    value = child[_BEST] if child[_SEAT] == frame[_SEAT] else -child[_BEST]
    if value > frame[_BEST]:
        frame[_BEST] = value
        frame[_CHOICE] = frame[_ACTION]
    if value < frame[_GOAL]:
        return False
    history[frame[_ACTION]] += effort
    return True


def _enter(state, key, frame, actions, table, objective, mask, points, won):
    """Begin a position: tell whether its question is answered at once, by the end of the game or the table."""
    frame[_HINT] = -1
    if state.seat >= 0:
        if _answered(table, key, frame):
            return True
        legal(state, mask)
        _list_actions(mask, frame, actions)
        return False
    scores(state, points)
    frame[_BEST] = np.int64(points[0]) - np.int64(points[1])
    if objective != POINTS:
        winners(state, points, won)
        frame[_BEST] = np.int64(won[0]) - np.int64(won[1])
    return True


def _search(
    states, words, salts, keys, frames, actions, table, history, progress, objective, mask, points, won, budget
):
    """Ask whether the position at the root is worth its goal; stop after so many positions, to be called again.

    All is kept in the arrays. The value left in the root's frame is at least the goal, and a lower bound, or below
    it, and an upper bound.

    Returns:
        Whether the question is answered.
    """
    depth = progress[_DEPTH]
    entering = progress[_ENTERING]
    if depth < 0:
        depth = 0
        keys[0] = _hash(words[0], salts)
    while True:
        frame = frames[depth]
        if entering:
            if budget == 0:
                progress[_DEPTH] = depth
                progress[_ENTERING] = 1
                return False
            budget -= 1
            frame[_START] = progress[_NODES]
            progress[_NODES] += 1
            known = enter(states[depth], keys[depth], frame, actions[depth], table, objective, mask, points, won)
            progress[_HITS] += known and states[depth].seat >= 0
        else:
            child = frames[depth + 1]
            known = _take_back(frame, child, history[frame[_SEAT]], progress[_NODES] - child[_START])
            if known or frame[_NEXT] == frame[_COUNT]:
                _store(table, keys[depth], frame, progress[_NODES] - frame[_START])
                known = True
        if known:
            if depth == 0:
                return True
            depth -= 1
            entering = 0
        else:
            action = _pick(frame, actions[depth], history[frame[_SEAT]])
            for i in range(words.shape[1]):
                words[depth + 1, i] = words[depth, i]
            play(states[depth + 1], action)
            keys[depth + 1] = _rehash(keys[depth], words[depth], words[depth + 1], salts)
            child = frames[depth + 1]
            child[_SEAT] = max(states[depth + 1].seat, 0)
            child[_GOAL] = frame[_GOAL] if child[_SEAT] == frame[_SEAT] else 1 - frame[_GOAL]
            depth += 1
            entering = 1


@cache
def _loop(game: Game) -> Any:
    """Return a game's search, compiled at first use and kept on disk."""
    loop = bind(_search, game, enter=bind(_enter, game))
    announce(loop, f"the solver of {game.title}")
    return loop


@dataclass(frozen=True)
class Solution:
    """What perfect play makes of a position, with all cards open to both, and all chance to come.

    Attributes:
        seat: The seat to act.
        objective: What was solved for: "points" (own points minus the other's) or "result" (1 for a win, 0 for a
            shared one, -1 for a loss).
        value: The value for the seat to act.
        values: The same after each of its legal actions.
        best: The actions with the best value.
        line: One course of perfect play, as action ids, to the end of the game.
        nodes: Positions visited.
        table_hits: How many of them the table answered.
        seconds: Time taken.
    """

    seat: int
    objective: str
    value: int
    values: dict[int, int]
    best: tuple[int, ...]
    line: tuple[int, ...]
    nodes: int
    table_hits: int
    seconds: float

    def value_for(self, seat: int) -> int:
        """The value for either seat."""
        return self.value if seat == self.seat else -self.value


class _Unfinished(Exception):
    """The deadline passed."""


class Solver:
    """Solves positions of one game for one objective; what one of them shows helps with the next.

    Attributes:
        game: The game.
        objective: "points" or "result".
    """

    def __init__(self, game: Game, objective: str = "points") -> None:
        """Make the tables.

        Raises:
            ValueError: If there is no such objective.
        """
        if objective not in OBJECTIVES:
            allowed = " or ".join(repr(name) for name in OBJECTIVES)
            raise ValueError(f"objective was {shown(objective)}; give {allowed}.")
        self.game = game
        self.objective = objective
        deepest, size = game.max_plies + 2, len(game.actions)
        # Records start at whole words, so that they can be hashed word by word.
        width = -(-game.dtype.itemsize // 8)
        self._words = np.zeros((deepest, width), np.uint64)
        self._states: np.ndarray = np.ndarray((deepest,), game.dtype, self._words, strides=(8 * width,))
        self._salts = np.array([stream(word) for word in range(width)], np.uint64)
        self._keys = np.zeros(deepest, np.uint64)
        self._frames = np.zeros((deepest, _FIELDS), np.int64)
        self._actions = np.zeros((deepest, size), np.int16)
        self._table = np.zeros(2 << _BUCKET_BITS, _ENTRY)
        self._history = np.zeros((2, size), np.int64)
        self._progress = np.zeros(4, np.int64)
        self._mask = np.zeros(size, np.int8)
        self._points, self._won = np.zeros(game.seats, np.int16), np.zeros(game.seats, np.int8)
        self._deadline = np.inf

    def solve(self, state: State, seconds: float | None = None) -> Solution:
        """Solve a position.

        Args:
            state: A two-player game that is not over; all of its record counts as known to both seats.
            seconds: Time limit; None for none.

        Raises:
            UnsolvedError: If the time is up first.
            ValueError: If the position can't be solved at all, or the limit is no time.
        """
        self._check(state, seconds)
        self._progress[:] = 0
        self._progress[_ENTERING] = 1
        # Compiled, where that is due, before the clock starts.
        self._run(0)
        start = time.perf_counter()
        self._deadline = np.inf if seconds is None else start + seconds
        try:
            values = self._values(state)
            line = self._line(state, max(values.values()))
        except _Unfinished:
            raise UnsolvedError(
                f"The position at ply {len(state.history)} was not solved within {seconds:g} s; give a later ply or "
                "more time."
            ) from None
        value = max(values.values())
        return Solution(
            seat=state.seat,
            objective=self.objective,
            value=value,
            values=values,
            best=tuple(action for action, reached in values.items() if reached == value),
            line=line,
            nodes=int(self._progress[_NODES]),
            table_hits=int(self._progress[_HITS]),
            seconds=time.perf_counter() - start,
        )

    def _check(self, state: State, seconds: Any) -> None:
        """Refuse what can't be solved."""
        if state.game is not self.game:
            raise ValueError(f"The position is of {state.game.title}; this solver is for {self.game.title}.")
        if state.players != 2:
            raise ValueError(f"The game has {state.players} players; only games of 2 can be solved.")
        if state.seat < 0:
            raise ValueError("The game is over; give a position with a decision to take.")
        is_time = isinstance(seconds, (int, float, np.integer, np.floating)) and not isinstance(seconds, bool)
        if seconds is not None and not (is_time and seconds > 0):
            raise ValueError(f"The time limit was {shown(seconds)}; give more than 0 seconds.")

    def _values(self, state: State) -> dict[int, int]:
        """Return the value of every legal action, for the seat to act."""
        points = state.scores()
        guess = points[state.seat] - points[1 - state.seat] if self.objective == "points" else 0
        values = {}
        # The likely best first: its value is the best guess at those of the others.
        for action in self._likely(state):
            guess = self._value_after(state, action, guess)
            values[action] = guess
        return {action: values[action] for action in sorted(values)}

    def _value_after(self, state: State, action: int, guess: int) -> int:
        """Return the value of an action for the seat to act: MTD(f) (Plaat and others, 1996)."""
        after = state.copy()
        after.play(action)
        sign = 1 if max(after.seat, 0) == state.seat else -1
        value = sign * guess
        low, high = _BOUNDS[self.objective]
        while low < high:
            goal = max(value, low + 1)
            value = self._ask(after, goal)
            if value >= goal:
                low = value
            else:
                high = value
        return sign * value

    def _ask(self, state: State, goal: int) -> int:
        """Bound a position's value for its seat to act (seat 0 at the end): from below by `goal` or more, or above."""
        self._states[0] = state.record
        self._frames[0, _SEAT] = max(state.seat, 0)
        self._frames[0, _GOAL] = goal
        self._progress[_DEPTH], self._progress[_ENTERING] = -1, 1
        answered = False
        while not answered:
            # Looked at before each slice, since many questions take less than one.
            if time.perf_counter() > self._deadline:
                raise _Unfinished
            answered = self._run(_SLICE)
        return int(self._frames[0, _BEST])

    def _run(self, budget: int) -> bool:
        """Search on by so many positions; tell whether the question is answered."""
        answered: bool = _loop(self.game)(
            self._states,
            self._words,
            self._salts,
            self._keys,
            self._frames,
            self._actions,
            self._table,
            self._history,
            self._progress,
            OBJECTIVES.index(self.objective),
            self._mask,
            self._points,
            self._won,
            budget,
        )
        return answered

    def _line(self, state: State, value: int) -> tuple[int, ...]:
        """Return one course of perfect play from a position of known value."""
        line = []
        state = state.copy()
        while state.seat >= 0:
            seat = state.seat
            action = next(action for action in self._likely(state) if self._keeps(state, action, value))
            line.append(action)
            state.play(action)
            value = value if max(state.seat, 0) == seat else -value
        return tuple(line)

    def _likely(self, state: State) -> list[int]:
        """Return the legal actions, the likely best first."""
        return sorted(state.legal_actions(), key=lambda action: -self._history[state.seat, action])

    def _keeps(self, state: State, action: int, value: int) -> bool:
        """Tell whether an action is worth the position's value."""
        after = state.copy()
        after.play(action)
        if max(after.seat, 0) == state.seat:
            return self._ask(after, value) >= value
        return self._ask(after, 1 - value) <= -value


def solve(state: State, seconds: float | None = None, objective: str = "points") -> Solution:
    """Solve a position of a two-player game with all cards open, and all chance to come; see `Solver.solve`.

    Args:
        state: A game that is not over; it is left as it is.
        seconds: Time limit; None for none.
        objective: "points" for the margin of points, "result" for win, shared win or loss.

    Returns:
        Its value, the value of every legal action and a course of perfect play.

    Raises:
        UnsolvedError: If the time is up first.
        ValueError: If the game has not two players or is over, or an argument is not allowed.
    """
    return Solver(state.game, objective).solve(state, seconds)
