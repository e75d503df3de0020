"""The record: one game of Spirits of the Forest as a few hundred bytes.

Cells are numbered row by row (12 * row + column), icons are the nine spirits and then the three powers.
"""

from __future__ import annotations

import numpy as np

from spirits_env.games.forest.components import CELLS, ICONS, MAX_SEATS, ROWS, TOKEN_CELLS, UNUSED_TOKENS

PHASES = ("first", "second", "pay", "place", "move", "end")
FIRST, SECOND, PAY, PLACE, MOVE, END = range(6)

# What has become of a favor token.
LYING, UNEXAMINED, HELD, USED = range(4)

_I = np.int8

STATE = np.dtype(
    (
        np.record,
        [
            ("rng", np.uint64),  # generator of chance
            ("turn", np.int16),  # turns finished
            ("players", _I),
            ("forced_steal", _I),  # option
            ("reward", _I),  # option: 0 win, 1 margin
            ("seat", _I),  # seat to act, -1 at the end
            ("phase", _I),
            ("first_spirit", _I),  # spirit of the first tile while a second may be taken, else -1
            ("paying", _I),  # cell of the tile being paid for, else -1
            ("lifted", _I),  # cell the lifted gem came from, else -1
            ("remaining", _I),  # tiles in the forest
            ("left", _I, (ROWS,)),  # column of the leftmost tile of each row
            ("right", _I, (ROWS,)),  # column of the rightmost; left > right when the row is empty
            ("spirit", _I, (CELLS,)),
            ("symbols", _I, (CELLS,)),
            ("power", _I, (CELLS,)),  # -1 for none
            ("present", _I, (CELLS,)),
            ("gem", _I, (CELLS,)),  # seat whose gem lies there, -1 for none
            ("token", _I, (len(TOKEN_CELLS),)),  # kind of each dealt token (solitaire: own, then two others)
            ("token_seat", _I, (len(TOKEN_CELLS),)),  # who took it, -1 while it lies
            ("token_status", _I, (len(TOKEN_CELLS),)),
            ("unused", _I, (UNUSED_TOKENS,)),
            ("hand", _I, (MAX_SEATS,)),  # gems in hand
            ("placed", _I, (MAX_SEATS,)),  # gems in the forest
            ("removed", _I, (MAX_SEATS,)),  # gems out of the game
            ("tiles", _I, (MAX_SEATS,)),  # tiles collected
            ("icons", _I, (MAX_SEATS, len(ICONS))),  # icons on collected tiles
        ],
    )
)
