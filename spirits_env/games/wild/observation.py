"""What a seat sees, as named slices of one int8 vector: the observer first, then the opponent.

Both seats know the same, so only the order of the seats differs.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from spirits_env.game import Layout, Slice, clear
from spirits_env.games.wild.components import (
    ANIMALS,
    CARDS,
    COLOURS,
    KINDS,
    MAX_TURNS,
    MOST_POINTS,
    PASSES_TO_END,
    PLAYERS,
    RECOVER,
    ROW_SIZES,
    SET_SIZES,
    STONES_PER_KIND,
)
from spirits_env.games.wild.places import animal_points
from spirits_env.games.wild.powers import MAX_COUNT, MAX_STEPS, MAX_TAKE, NONE, PILE_SIZE, PILES, POWER_CARDS
from spirits_env.games.wild.rules import spirit_stones_out
from spirits_env.games.wild.state import PHASES

_ANIMALS, _COLOURS, _KINDS, _SETS = len(ANIMALS), len(COLOURS), len(KINDS), len(SET_SIZES)

LAYOUT = Layout(
    (
        Slice("bowl", (_KINDS,), 0, STONES_PER_KIND, "stones in the bowl by kind"),
        Slice("bag", (_KINDS,), 0, STONES_PER_KIND, "stones in the bag by kind"),
        Slice("held", (MAX_TAKE, _KINDS), 0, 1, "chosen stones yet to be placed, the next one first, each one-hot"),
        Slice("choosing", (1,), 0, MAX_COUNT, "stones still to be chosen in this step"),
        Slice(
            "sets",
            (PLAYERS, _SETS, _COLOURS),
            0,
            max(map(int, SET_SIZES)),
            "stones by colour on spaces of one colour: the owl's three pairs, the beaver's trio and pair, the turtle",
        ),
        Slice("rows", (PLAYERS, len(ROW_SIZES), _COLOURS), 0, 1, "stones by colour with the rabbit and the salmon"),
        Slice("bonus", (PLAYERS, _ANIMALS), 0, 1, "a Spirit Stone lies on the animal: doubled and closed"),
        Slice("coyote", (PLAYERS, _ANIMALS), 0, 1, "Coyote is on the animal; zero while he is beside the table"),
        Slice("points", (PLAYERS, _ANIMALS), 0, 28, "points of each animal as it stands"),
        Slice("total", (PLAYERS,), 0, MOST_POINTS, "points of the board as it stands"),
        Slice("down", (PLAYERS, RECOVER), 0, 2, "copies face down of the cards " + ", ".join(CARDS[:RECOVER])),
        Slice("card", (len(CARDS),), 0, 1, "card being carried out, one-hot: " + ", ".join(CARDS)),
        Slice("power", (POWER_CARDS,), 0, 1, "Spirit Power being carried out, one-hot"),
        Slice("step", (MAX_STEPS,), 0, 1, "step of it that asks, one-hot"),
        Slice(
            "piles",
            (PILES, PILE_SIZE, POWER_CARDS),
            0,
            1,
            "card at each depth of each pile from the top, one-hot; zero for a card that was never on top",
        ),
        Slice("phase", (len(PHASES),), 0, 1, "phase, one-hot: " + ", ".join(PHASES)),
        Slice("own_seat", (PLAYERS,), 0, 1, "the observer's seat number, one-hot"),
        Slice("to_act", (PLAYERS,), 0, 1, "the seat to act, one-hot; zero at the end"),
        Slice("spirit_stones_out", (1,), 0, STONES_PER_KIND, "Spirit Stones out of the bag"),
        Slice("turn", (1,), 0, MAX_TURNS, "turns finished"),
        Slice("passes", (1,), 0, PASSES_TO_END, "passes in a row"),
        Slice("powers", (3,), 0, 1, "option, one-hot: house, none, own"),
    )
)

_BOWL = LAYOUT.start("bowl")
_BAG = LAYOUT.start("bag")
_HELD = LAYOUT.start("held")
_CHOOSING = LAYOUT.start("choosing")
_SETS_AT = LAYOUT.start("sets")
_ROWS = LAYOUT.start("rows")
_BONUS = LAYOUT.start("bonus")
_COYOTE = LAYOUT.start("coyote")
_POINTS = LAYOUT.start("points")
_TOTAL = LAYOUT.start("total")
_DOWN = LAYOUT.start("down")
_CARD = LAYOUT.start("card")
_POWER = LAYOUT.start("power")
_STEP = LAYOUT.start("step")
_PILES = LAYOUT.start("piles")
_PHASE = LAYOUT.start("phase")
_OWN_SEAT = LAYOUT.start("own_seat")
_TO_ACT = LAYOUT.start("to_act")
_OUT = LAYOUT.start("spirit_stones_out")
_TURN = LAYOUT.start("turn")
_PASSES = LAYOUT.start("passes")
_POWERS = LAYOUT.start("powers")


@njit
def observe(state, seat, out):
    """Write what a seat may know into an int8 vector of `LAYOUT.size` entries.

    Places in the vector are added up as int64: uncompiled, NumPy keeps the fields' int8 and would overflow.
    """
    seat = np.int64(seat)
    clear(out)
    observe_stones(state, out)
    for relative in range(PLAYERS):
        observe_board(state, seat ^ relative, relative, out)
    observe_turn(state, seat, out)
    if state.powers != NONE:
        observe_piles(state, out)


@njit
def observe_stones(state, out):
    """Write the stones in bowl and bag, and those being taken."""
    for kind in range(_KINDS):
        out[_BOWL + kind] = state.bowl[kind]
        out[_BAG + kind] = state.in_bag[kind]
    out[_CHOOSING] = state.choosing
    place = _HELD
    for stone in range(state.placing, state.chosen):
        out[place + np.int64(state.held[stone])] = 1
        place += _KINDS


@njit
def observe_board(state, seat, relative, out):
    """Write a seat's animals, points and cards."""
    for spaces in range(_SETS):
        if state.count[seat, spaces] > 0:
            colour = np.int64(state.colour[seat, spaces])
            out[_SETS_AT + (relative * _SETS + spaces) * _COLOURS + colour] = state.count[seat, spaces]
    for row in range(len(ROW_SIZES)):
        for colour in range(_COLOURS):
            out[_ROWS + (relative * len(ROW_SIZES) + row) * _COLOURS + colour] = state.row[seat, row, colour]
    total = 0
    for animal in range(_ANIMALS):
        points = animal_points(state, seat, animal)
        total += points
        out[_POINTS + relative * _ANIMALS + animal] = points
        out[_BONUS + relative * _ANIMALS + animal] = state.bonus[seat, animal]
    out[_TOTAL + relative] = total
    if state.coyote >= 0 and np.int64(state.coyote) // _ANIMALS == seat:
        out[_COYOTE + relative * _ANIMALS + np.int64(state.coyote) % _ANIMALS] = 1
    for card in range(RECOVER):
        out[_DOWN + relative * RECOVER + card] = state.down[seat, card]


@njit
def observe_turn(state, seat, out):
    """Write whose turn it is, what is being carried out, and how near the end is."""
    if state.card >= 0:
        out[_CARD + np.int64(state.card)] = 1
        out[_STEP + np.int64(state.step)] = 1
    if state.power >= 0:
        out[_POWER + np.int64(state.power)] = 1
    out[_PHASE + np.int64(state.phase)] = 1
    out[_OWN_SEAT + seat] = 1
    if state.seat >= 0:
        out[_TO_ACT + (np.int64(state.seat) ^ seat)] = 1
    out[_OUT] = spirit_stones_out(state)
    out[_TURN] = state.turn
    out[_PASSES] = state.passes
    out[_POWERS + np.int64(state.powers)] = 1


@njit
def observe_piles(state, out):
    """Write the cards of the piles that have been on top, from the top down."""
    for pile in range(PILES):
        for depth in range(PILE_SIZE):
            place = (np.int64(state.top[pile]) + depth) % PILE_SIZE
            if place < state.seen[pile]:
                card = np.int64(state.piles[pile, place])
                out[_PILES + (pile * PILE_SIZE + depth) * POWER_CARDS + card] = 1
