"""The player board, compiled: where a stone fits, what lies where, and what the animals are worth.

An animal's spaces are sets (stones of one colour) or a row (stones that all differ); one rule serves each form.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from spirits_env.games.wild.actions import ON_PAIR, ON_RABBIT, ON_SALMON, ON_TRIO, ON_TURTLE, OWL_NEW, OWL_STARTED
from spirits_env.games.wild.components import (
    ANIMALS,
    BEAVER,
    BEAVER_BOTH_POINTS,
    BEAVER_PAIR_POINTS,
    BEAVER_TRIO_POINTS,
    COLOURS,
    OWL,
    OWL_PAIRS,
    PAIR,
    PAIR_POINTS,
    RABBIT,
    RABBIT_POINTS,
    ROW_SIZES,
    SALMON,
    SALMON_POINTS,
    SET_SIZES,
    SHELL,
    SPIRIT_STONE,
    TRIO,
    TURTLE,
    TURTLE_POINTS,
)

_ANIMALS = len(ANIMALS)
_PLACES = ON_TURTLE + 1


# --- where a stone may go ---------------------------------------------------------------------------------


@njit
def is_open(state, seat, animal):
    """Tell whether an animal takes stones: not closed by a Spirit Stone, not blocked by Coyote."""
    return state.bonus[seat, animal] == 0 and state.coyote != seat * _ANIMALS + animal


@njit
def fits_set(state, seat, spaces, colour):
    """Tell whether a set has room for a colour: it is empty, or started with this colour and not full."""
    count = state.count[seat, spaces]
    return count == 0 or (count < SET_SIZES[spaces] and state.colour[seat, spaces] == colour)


@njit
def new_pair(state, seat):
    """Return the owl's first empty pair, or -1."""
    for pair in range(OWL_PAIRS):
        if state.count[seat, pair] == 0:
            return pair
    return -1


@njit
def started_pair(state, seat, colour):
    """Return the owl's first pair that this colour completes, or -1."""
    for pair in range(OWL_PAIRS):
        if state.count[seat, pair] == 1 and state.colour[seat, pair] == colour:
            return pair
    return -1


@njit
def stones_in_row(state, seat, row):
    """Return how many stones lie with the rabbit (row 0) or the salmon (row 1)."""
    stones = 0
    for colour in range(len(COLOURS)):
        stones += state.row[seat, row, colour]
    return stones


@njit
def fits_row(state, seat, row, colour):
    """Tell whether a row has room for a colour: one it hasn't got."""
    return state.row[seat, row, colour] == 0 and stones_in_row(state, seat, row) < ROW_SIZES[row]


@njit
def places_for(state, seat, colour):
    """Return the places for an ordinary stone as bits in the order of `PLACES`."""
    places = 0
    if is_open(state, seat, OWL):
        if new_pair(state, seat) >= 0:
            places |= 1 << OWL_NEW
        if started_pair(state, seat, colour) >= 0:
            places |= 1 << OWL_STARTED
    if is_open(state, seat, RABBIT) and fits_row(state, seat, 0, colour):
        places |= 1 << ON_RABBIT
    if is_open(state, seat, BEAVER):
        if fits_set(state, seat, TRIO, colour):
            places |= 1 << ON_TRIO
        if fits_set(state, seat, PAIR, colour):
            places |= 1 << ON_PAIR
    if is_open(state, seat, SALMON) and fits_row(state, seat, 1, colour):
        places |= 1 << ON_SALMON
    if is_open(state, seat, TURTLE) and fits_set(state, seat, SHELL, colour):
        places |= 1 << ON_TURTLE
    return places


@njit
def bonus_spaces(state, seat):
    """Return the animals that take a Spirit Stone as bits in the order of `ANIMALS`."""
    spaces = 0
    for animal in range(_ANIMALS):
        if is_open(state, seat, animal):
            spaces |= 1 << animal
    return spaces


@njit
def places_of_kind(state, seat, kind):
    """Return where a stone of any kind may go as bits: the places for colours, then the bonus spaces."""
    if kind == SPIRIT_STONE:
        return bonus_spaces(state, seat) << _PLACES
    return places_for(state, seat, kind)


# --- giving it --------------------------------------------------------------------------------------------


@njit
def add_to_set(state, seat, spaces, colour):
    """Lay a stone on the spaces of one colour."""
    state.colour[seat, spaces] = colour
    state.count[seat, spaces] += 1


@njit
def give(state, seat, place, kind):
    """Lay a stone on a place that it fits: one of `PLACES`, or after them a bonus space."""
    if place >= _PLACES:
        state.bonus[seat, place - _PLACES] = 1
    elif place == OWL_NEW:
        add_to_set(state, seat, new_pair(state, seat), kind)
    elif place == OWL_STARTED:
        add_to_set(state, seat, started_pair(state, seat, kind), kind)
    elif place == ON_TRIO:
        add_to_set(state, seat, TRIO, kind)
    elif place == ON_PAIR:
        add_to_set(state, seat, PAIR, kind)
    elif place == ON_TURTLE:
        add_to_set(state, seat, SHELL, kind)
    else:
        state.row[seat, 0 if place == ON_RABBIT else 1, kind] = 1


# --- what it is worth -------------------------------------------------------------------------------------


@njit
def owl_points(state, seat):
    """Three points for each complete pair."""
    pairs = 0
    for pair in range(OWL_PAIRS):
        pairs += state.count[seat, pair] == SET_SIZES[pair]
    return PAIR_POINTS * pairs


@njit
def rabbit_points(state, seat):
    """Six points for three different colours, nothing for fewer."""
    return RABBIT_POINTS if stones_in_row(state, seat, 0) == ROW_SIZES[0] else 0


@njit
def beaver_points(state, seat):
    """Five points for the trio, two for the pair, seven more for both."""
    trio = state.count[seat, TRIO] == SET_SIZES[TRIO]
    pair = state.count[seat, PAIR] == SET_SIZES[PAIR]
    points = 0
    if trio:
        points += BEAVER_TRIO_POINTS
    if pair:
        points += BEAVER_PAIR_POINTS
    if trio and pair:
        points += BEAVER_BOTH_POINTS
    return points


@njit
def animal_points(state, seat, animal):
    """Return an animal's points, doubled where a Spirit Stone lies on its bonus space."""
    if animal == OWL:
        points = owl_points(state, seat)
    elif animal == RABBIT:
        points = rabbit_points(state, seat)
    elif animal == BEAVER:
        points = beaver_points(state, seat)
    elif animal == SALMON:
        points = SALMON_POINTS[stones_in_row(state, seat, 1)]
    else:
        points = TURTLE_POINTS[np.int64(state.count[seat, SHELL])]
    return 2 * points if state.bonus[seat, animal] else points


@njit
def board_points(state, seat):
    """Return the points of a whole board."""
    points = 0
    for animal in range(_ANIMALS):
        points += animal_points(state, seat, animal)
    return points
