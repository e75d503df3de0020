"""What several tests of the forest share: play that brings rare rules up, and games on package and referee at once."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
from numba import config
from referee.forest import Referee, random_setup

from spirits_env.games.forest import GAME
from spirits_env.state import State

UNCOMPILED = bool(getattr(config, "DISABLE_JIT", False))
HAND, PLUS, PASS = 56, 57, 58


def games_to_play(number: int, uncompiled: int = 2) -> int:
    """The number of games a test plays: few where the rules run uncompiled, some hundred times slower."""
    return min(number, uncompiled) if UNCOMPILED else number


def lively_action(state: State, rng: random.Random) -> int:
    """Choose at random, with a taste for stealing and for gems on ends, and rarely using a "+"."""
    legal, record = state.legal_actions(), state.record
    preferred: list[int] = []
    if PLUS in legal and rng.random() < 0.2:
        return PLUS
    if state.phase in ("first", "second") and rng.random() < 0.5:
        preferred = [a for a in legal if a < 8 and record["gem"][end_cell(record, a)] not in (-1, state.seat)]
    elif state.phase == "place" and rng.random() < 0.7:
        preferred = [a for a in legal if 8 <= a < HAND and is_end(record, a - 8)]
    return rng.choice(preferred or [a for a in legal if a != PLUS])


def end_cell(record: Any, end: int) -> int:
    row, side = divmod(end, 2)
    return 12 * row + int(record["right" if side else "left"][row])


def is_end(record: Any, cell: int) -> bool:
    row, column = divmod(cell, 12)
    return column in (record["left"][row], record["right"][row])


def walk(players: int, seed: int, **options: Any) -> Iterator[State]:
    """Play a lively game and show the same state at every decision and at the end."""
    rng = random.Random(seed)
    state = State("forest", players, seed=seed, **options)
    yield state
    while state.seat >= 0:
        state.play(lively_action(state, rng))
        yield state


def walk_both(players: int, seed: int, forced_steal: bool = True) -> Iterator[tuple[State, Referee]]:
    """The same, with the referee beside it."""
    rng = random.Random(seed)
    setup = random_setup(rng, players)
    state = State("forest", players, seed=seed, setup=setup, forced_steal=forced_steal)
    referee = Referee(setup, players, forced_steal)
    yield state, referee
    while state.seat >= 0:
        action = lively_action(state, rng)
        state.play(action)
        referee.play(action)
        yield state, referee


def edited(state: State, **fields: Any) -> State:
    """Copy a state with some fields of its record changed; the copy's mask and observation follow."""
    raw = state.copy()
    for name, value in fields.items():
        raw.record[name] = value
    return raw.copy()


def slices(state: State, seat: int) -> dict[str, np.ndarray]:
    """What a seat sees, by name."""
    return GAME.layout.unpack(state.observation(seat))


def snapshots(players: int, seed: int, **options: Any) -> list[State]:
    """A copy of a lively game at every decision and at the end."""
    return [state.copy() for state in walk(players, seed, **options)]
