"""The solitaire rules: one player against the forest, on the same record.

The opponent's collection is kept at index 1 of the per-seat fields.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from spirits_env.game import draw, shuffle
from spirits_env.games.forest.components import COLUMNS, ROWS, SPIRITS, TOKEN_CELLS
from spirits_env.games.forest.state import END, HELD, UNEXAMINED, USED

_ENDS = 2 * ROWS
_SPIRITS = len(SPIRITS)
_TOKENS = len(TOKEN_CELLS)
OPPONENT = 1
OWN_TOKEN = 0
OPPONENT_TOKENS = (1, 2)
MISSING_PENALTY = 3


@njit
def deal_tokens(state):
    """Draw three of the nine spirit tokens: one for the player, two for the opponent."""
    pool = np.arange(_SPIRITS).astype(np.int8)
    shuffle(state, pool)
    state.token[:] = -1
    state.token[:3] = pool[:3]
    state.unused[:] = pool[3:]


@njit
def begin(state):
    """The player's token lies face up, the opponent's two face down."""
    state.token_status[:] = USED
    state.token_seat[OWN_TOKEN] = 0
    state.token_status[OWN_TOKEN] = HELD
    for token in OPPONENT_TOKENS:
        state.token_seat[token] = OPPONENT
        state.token_status[token] = UNEXAMINED


@njit
def legal(state, mask):
    """Write 1 for the visible tile at each end of the rows that still have tiles."""
    if state.phase == END:
        return
    for row in range(ROWS):
        if state.left[row] <= state.right[row]:
            mask[2 * row] = 1
            mask[2 * row + 1] = 1


@njit
def play(state, end):
    """The player takes a tile, the opponent the one at the other end of the row; new ends turn up."""
    row = end >> 1
    gain_end(state, 0, row, end & 1)
    gain_end(state, OPPONENT, row, 1 - (end & 1))
    state.turn += 1
    if state.left[row] > state.right[row]:
        close_row(state)


@njit
def gain_end(state, owner, row, side):
    """Move the tile at one end of a row to an owner."""
    if side == 0:
        cell = row * COLUMNS + state.left[row]
        state.left[row] += 1
    else:
        cell = row * COLUMNS + state.right[row]
        state.right[row] -= 1
    state.present[cell] = 0
    state.remaining -= 1
    state.tiles[owner] += 1
    state.icons[owner, state.spirit[cell]] += state.symbols[cell]
    power = state.power[cell]
    if power >= 0:
        state.icons[owner, _SPIRITS + power] += 1


@njit
def close_row(state):
    """A row is empty: the opponent's next token turns up and counts, or the third ends the game."""
    for token in OPPONENT_TOKENS:
        if state.token_status[token] == UNEXAMINED:
            state.token_status[token] = USED
            return
    state.seat = -1
    state.phase = END


@njit
def own_symbols(state, spirit):
    """Return the player's symbols of a spirit, the face-up token included."""
    return np.int64(state.icons[0, spirit]) + (state.token[OWN_TOKEN] == spirit)


@njit
def opponent_symbols(state, spirit):
    """Return the opponent's symbols of a spirit, the tokens that have turned up included."""
    symbols = np.int64(state.icons[OPPONENT, spirit])
    for token in OPPONENT_TOKENS:
        symbols += state.token_status[token] == USED and state.token[token] == spirit
    return symbols


@njit
def deficit(state):
    """Return by how many symbols the player is behind, added up over the nine spirits."""
    behind = 0
    for spirit in range(_SPIRITS):
        behind += max(0, opponent_symbols(state, spirit) - own_symbols(state, spirit))
    return behind


@njit
def scores(state, out):
    """Write the player's points, spirits only; a lost game scores nothing."""
    points = 0
    for spirit in range(_SPIRITS):
        mine = own_symbols(state, spirit)
        if mine >= opponent_symbols(state, spirit):
            points += mine
        if state.icons[0, spirit] == 0:
            points -= MISSING_PENALTY
    out[0] = points if state.phase != END or deficit(state) == 0 else 0


@njit
def winners(state, out):
    """Write 1 if the player has at least as many symbols as the opponent in every spirit."""
    out[0] = deficit(state) == 0


@njit
def returns(state, out):
    """Write the player's utility: `win` is +1 or -1, `margin` minus the symbols missing."""
    behind = deficit(state)
    if state.reward == 0:
        out[0] = 1.0 if behind == 0 else -1.0
    else:
        out[0] = -behind


@njit
def is_face_down(state, cell):
    """Tell whether a forest tile is turned down: every tile but the two ends of its row."""
    row = cell // COLUMNS
    column = cell - row * COLUMNS
    return state.left[row] < column < state.right[row]


@njit
def redeal(state):
    """Redraw the tiles that lie face down, and the opponent's tokens that are not turned up yet."""
    for cell in range(state.spirit.shape[0] - 1, 0, -1):
        if not is_face_down(state, cell):
            continue
        down = 0
        for other in range(cell + 1):
            down += is_face_down(state, other)
        chosen = draw(state, down)
        for other in range(cell + 1):
            if is_face_down(state, other):
                if chosen == 0:
                    swap_tiles(state, cell, other)
                    break
                chosen -= 1
    pool = np.empty(_TOKENS, np.int8)
    count = 0
    for token in OPPONENT_TOKENS:
        if state.token_status[token] == UNEXAMINED:
            pool[count] = state.token[token]
            count += 1
    unused = state.unused.shape[0]
    pool[count : count + unused] = state.unused
    shuffle(state, pool[: count + unused])
    count = 0
    for token in OPPONENT_TOKENS:
        if state.token_status[token] == UNEXAMINED:
            state.token[token] = pool[count]
            count += 1
    state.unused[:] = pool[count : count + unused]


@njit
def swap_tiles(state, one, other):
    """Swap two tiles of the forest."""
    for field in (state.spirit, state.symbols, state.power):
        kept = field[one]
        field[one] = field[other]
        field[other] = kept
