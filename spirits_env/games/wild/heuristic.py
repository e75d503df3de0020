"""An estimate of a seat's prospects by hand, for the greedy agent and for search.

Points as they stand, what started collections promise while the game lasts, and what the bowl offers to whom.
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
    CARD_COPIES,
    KINDS,
    OWL,
    OWL_PAIRS,
    PAIR,
    PAIR_POINTS,
    PLAYERS,
    RABBIT,
    RABBIT_POINTS,
    RECOVER,
    SALMON,
    SALMON_POINTS,
    SHELL,
    SPIRIT_STONE,
    SPIRIT_STONES_TO_END,
    TAKE_ONE,
    TAKE_TWO,
    TRIO,
    TURTLE,
    TURTLE_POINTS,
)
from spirits_env.games.wild.places import bonus_spaces, places_for, stones_in_row
from spirits_env.games.wild.rules import spirit_stones_out
from spirits_env.games.wild.state import CARD, STONE

_ANIMALS, _KINDS = len(ANIMALS), len(KINDS)

# What a collection that has begun promises beyond its points, by stones laid.
_HALF_PAIR = 1.3
_RABBIT_PROMISE = np.array([0.0, 1.4, 3.4, 0.0])
_TRIO_PROMISE = np.array([0.0, 1.3, 3.0, 0.0])
_PAIR_PROMISE = np.array([0.0, 0.9, 0.0])
_SALMON_PROMISE = np.array([0.0, 0.9, 1.6, 1.8, 2.0, 1.6, 0.0])
_TURTLE_PROMISE = np.array([0.0, 0.9, 1.6, 1.8, 2.0, 0.0])
# The share of its points that an open animal may hope to gain by a Spirit Stone yet to come.
_DOUBLING = 0.35
_BLOCKED = 0.55
# Of what the bowl offers a seat that is next, or has a turn later.
_NEXT = 0.8
_CARD_UP = 0.5
_TO_COME = 3.0


@njit
def evaluate(state, seat):
    """Return the points a seat may expect above its opponent's."""
    if state.seat < 0:
        ahead = board_worth(state, seat, 0.0) - board_worth(state, 1 - seat, 0.0)
        return ahead + end_bonus(state, seat, ahead)
    time = time_left(state)
    value = 0.0
    for one in range(PLAYERS):
        prospects = board_worth(state, one, time) + _CARD_UP * cards_up(state, one) * time
        if one == state.seat and state.phase != CARD:
            prospects += pending(state, one, time)
        else:
            prospects += _NEXT * offer(state, one, time) * (1.0 if one == state.seat else 0.5)
        value += prospects if one == seat else -prospects
    return value


@njit
def end_bonus(state, seat, ahead):
    """Return what the win is worth at the end: more than any points."""
    if ahead == 0.0:
        if state.coyote < 0:
            return 0.0
        return 20.0 if np.int64(state.coyote) // _ANIMALS == seat else -20.0
    return 20.0 if ahead > 0.0 else -20.0


@njit
def time_left(state):
    """Return 1 while the end is far, falling to 0 with the Spirit Stones that come out of the bag."""
    return min(1.0, max(0.0, (SPIRIT_STONES_TO_END - spirit_stones_out(state)) / _TO_COME))


@njit
def cards_up(state, seat):
    """Return how many cards lie face up."""
    cards = 0
    for card in range(RECOVER):
        cards += CARD_COPIES[card] - state.down[seat, card]
    return cards


# --- what animals are worth -------------------------------------------------------------------------------


@njit
def owl_worth(pairs, halves, time):
    """Points of complete pairs, and the promise of started ones."""
    return PAIR_POINTS * pairs * (1.0 + _DOUBLING * time) + _HALF_PAIR * halves * time


@njit
def rabbit_worth(stones, time):
    """Points of a complete rabbit, or its promise."""
    points = RABBIT_POINTS if stones == 3 else 0
    return points * (1.0 + _DOUBLING * time) + _RABBIT_PROMISE[stones] * time


@njit
def beaver_worth(trio, pair, time):
    """Points of trio and pair, their promises, and that of both."""
    points = 0
    if trio == 3:
        points += BEAVER_TRIO_POINTS
    if pair == 2:
        points += BEAVER_PAIR_POINTS
    promise = _TRIO_PROMISE[trio] + _PAIR_PROMISE[pair]
    if trio == 3 and pair == 2:
        points += BEAVER_BOTH_POINTS
    else:
        progress = (trio + pair) / 5.0
        promise += BEAVER_BOTH_POINTS * progress * progress * progress
    return points * (1.0 + _DOUBLING * time) + promise * time


@njit
def salmon_worth(stones, time):
    """Points of the salmon, and its promise."""
    return SALMON_POINTS[stones] * (1.0 + _DOUBLING * time) + _SALMON_PROMISE[stones] * time


@njit
def turtle_worth(stones, time):
    """Points of the turtle, and its promise."""
    return TURTLE_POINTS[stones] * (1.0 + _DOUBLING * time) + _TURTLE_PROMISE[stones] * time


@njit
def count_pairs(state, seat, stones):
    """Return how many of the owl's pairs have so many stones."""
    pairs = 0
    for pair in range(OWL_PAIRS):
        pairs += state.count[seat, pair] == stones
    return pairs


@njit
def open_worth(state, seat, animal, time):
    """Return what an animal is worth that is not closed."""
    if animal == OWL:
        return owl_worth(count_pairs(state, seat, 2), count_pairs(state, seat, 1), time)
    if animal == RABBIT:
        return rabbit_worth(stones_in_row(state, seat, 0), time)
    if animal == BEAVER:
        return beaver_worth(np.int64(state.count[seat, TRIO]), np.int64(state.count[seat, PAIR]), time)
    if animal == SALMON:
        return salmon_worth(stones_in_row(state, seat, 1), time)
    return turtle_worth(np.int64(state.count[seat, SHELL]), time)


@njit
def board_worth(state, seat, time):
    """Return what a seat's animals are worth: twice the points where closed, less promise where Coyote is."""
    worth = 0.0
    for animal in range(_ANIMALS):
        if state.bonus[seat, animal]:
            worth += 2.0 * open_worth(state, seat, animal, 0.0)
        elif state.coyote == seat * _ANIMALS + animal:
            worth += open_worth(state, seat, animal, _BLOCKED * time)
        else:
            worth += open_worth(state, seat, animal, time)
    return worth


# --- what stones are worth --------------------------------------------------------------------------------


@njit
def place_worth(state, seat, place, time):
    """Return what an animal would be worth with one more stone on a place."""
    if place == OWL_NEW:
        return owl_worth(count_pairs(state, seat, 2), count_pairs(state, seat, 1) + 1, time)
    if place == OWL_STARTED:
        return owl_worth(count_pairs(state, seat, 2) + 1, count_pairs(state, seat, 1) - 1, time)
    if place == ON_RABBIT:
        return rabbit_worth(stones_in_row(state, seat, 0) + 1, time)
    if place == ON_TRIO:
        return beaver_worth(np.int64(state.count[seat, TRIO]) + 1, np.int64(state.count[seat, PAIR]), time)
    if place == ON_PAIR:
        return beaver_worth(np.int64(state.count[seat, TRIO]), np.int64(state.count[seat, PAIR]) + 1, time)
    if place == ON_SALMON:
        return salmon_worth(stones_in_row(state, seat, 1) + 1, time)
    return turtle_worth(np.int64(state.count[seat, SHELL]) + 1, time)


@njit
def animal_at(place):
    """Return the animal that a place belongs to."""
    if place in (OWL_NEW, OWL_STARTED):
        return OWL
    if place == ON_RABBIT:
        return RABBIT
    if place == ON_SALMON:
        return SALMON
    return TURTLE if place == ON_TURTLE else BEAVER


@njit
def stone_worth(state, seat, kind, time):
    """Return what a stone would add at its best place; 0 if it fits nowhere, and what must be placed may cost."""
    best = -np.inf
    if kind == SPIRIT_STONE:
        spaces = bonus_spaces(state, seat)
        for animal in range(_ANIMALS):
            if (spaces >> animal) & 1:
                gain = 2.0 * open_worth(state, seat, animal, 0.0) - open_worth(state, seat, animal, time)
                best = max(best, gain)
    else:
        places = places_for(state, seat, kind)
        for place in range(ON_TURTLE + 1):
            if (places >> place) & 1:
                gain = place_worth(state, seat, place, time) - open_worth(state, seat, animal_at(place), time)
                best = max(best, gain)
    return 0.0 if best == -np.inf else best


@njit
def best_stones(state, seat, count, time):
    """Return what the best so many stones of the bowl would add, each judged by itself."""
    worth = np.zeros(_KINDS, np.float64)
    left = np.zeros(_KINDS, np.int64)
    for kind in range(_KINDS):
        left[kind] = state.bowl[kind]
        if left[kind]:
            worth[kind] = stone_worth(state, seat, kind, time)
    total = 0.0
    for _ in range(count):
        chosen = -1
        for kind in range(_KINDS):
            if left[kind] and (chosen < 0 or worth[kind] > worth[chosen]):
                chosen = kind
        if chosen < 0:
            break
        left[chosen] -= 1
        total += worth[chosen]
    return total


@njit
def pending(state, seat, time):
    """Return what the stones of a take that has begun will add."""
    value = 0.0
    for stone in range(state.placing, state.chosen):
        value += stone_worth(state, seat, np.int64(state.held[stone]), time)
    if state.phase == STONE:
        value += best_stones(state, seat, np.int64(state.choosing), time)
    return value


@njit
def offer(state, seat, time):
    """Return what the bowl offers a seat by the take cards it has face up."""
    if state.down[seat, TAKE_TWO] == 0:
        return best_stones(state, seat, 2, time)
    if state.down[seat, TAKE_ONE] < CARD_COPIES[TAKE_ONE]:
        return best_stones(state, seat, 1, time)
    return 0.0
