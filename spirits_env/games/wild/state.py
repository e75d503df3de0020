"""The record: one game of Spirits of the Wild as a few hundred bytes.

Stones are numbered by kind (six colours, then the Spirit Stone), spaces of one colour and of different ones apart.
"""

from __future__ import annotations

import numpy as np

from spirits_env.games.wild.components import (
    ANIMALS,
    BAG_AT_FIRST,
    CARDS,
    COLOURS,
    FIRST_BOWL,
    KINDS,
    PLAYERS,
    ROW_SIZES,
    SET_SIZES,
    STONES,
)
from spirits_env.games.wild.powers import MAX_STEPS, MAX_TAKE, PILE_SIZE, PILES, POWER_CARDS

PHASES = ("card", "pile", "stone", "place", "coyote", "return", "end")
CARD, PILE, STONE, PLACE, MOVE_COYOTE, PUT_BACK, END = range(7)

_I = np.int8

STATE = np.dtype(
    (
        np.record,
        [
            ("rng", np.uint64),  # generator of chance, of the deals
            ("chance", np.uint64),  # generator of what is drawn in play
            ("first_chance", np.uint64),  # the same as it was after the deal
            ("turn", np.int16),  # turns finished
            ("players", _I),
            ("reward", _I),  # option: 0 win, 1 margin
            ("powers", _I),  # option: 0 house, 1 none, 2 own
            ("seat", _I),  # seat to act, -1 at the end
            ("phase", _I),
            ("card", _I),  # action card being carried out, else -1
            ("power", _I),  # Spirit Power card being carried out, else -1
            ("pile", _I),  # the pile it came from, else -1
            ("step", _I),  # its next step
            ("choosing", _I),  # stones still to be chosen
            ("chosen", _I),  # stones chosen
            ("placing", _I),  # stones of the chosen ones dealt with
            ("returned", _I),  # stones put back into the bag in this step
            ("held", _I, (MAX_TAKE,)),  # kinds of the chosen stones in the order of choice, -1 for none
            ("coyote", _I),  # animals * board + animal, -1 beside the table
            ("passes", _I),  # passes in a row
            ("bag_size", _I),
            ("put_back", _I),  # whether stones ever went back to the bag
            ("origin", _I),  # whether the set-up is known
            ("bag", _I, (STONES,)),  # the next stone to be drawn is the last of the first `bag_size`
            ("in_bag", _I, (len(KINDS),)),
            ("bowl", _I, (len(KINDS),)),
            ("first_bag", _I, (BAG_AT_FIRST,)),  # the bag after the deal, the next stone last
            ("first_bowl", _I, (FIRST_BOWL,)),
            ("steps", _I, (POWER_CARDS, MAX_STEPS, 2)),  # each Spirit Power card's steps: act and count
            ("piles", _I, (PILES, PILE_SIZE)),  # Spirit Power cards as dealt
            ("top", _I, (PILES,)),  # place in its pile of the card on top
            ("seen", _I, (PILES,)),  # cards of the pile that have been on top
            ("down", _I, (PLAYERS, len(CARDS))),  # copies of each card face down
            ("colour", _I, (PLAYERS, len(SET_SIZES))),  # colour of each set, -1 for none
            ("count", _I, (PLAYERS, len(SET_SIZES))),  # stones in each set
            ("row", _I, (PLAYERS, len(ROW_SIZES), len(COLOURS))),  # stones of rabbit and salmon by colour
            ("bonus", _I, (PLAYERS, len(ANIMALS))),  # whether a Spirit Stone lies on the animal
        ],
    )
)
