"""The solitaire rules: one player against the forest, on the same record.

The opponent's collection is kept at index 1 of the per-seat fields.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from spirits_env.game import clear, draw, shuffle, sort
from spirits_env.games.forest.components import (
    CELLS,
    COLUMNS,
    MISSING_PENALTY,
    ROWS,
    SPIRITS,
    TOKEN_CELLS,
    UNUSED_TOKENS,
)
from spirits_env.games.forest.state import END, HELD, UNEXAMINED, USED
from spirits_env.games.forest.tiles import gain_tile, remove_tile, swap_tiles

_SPIRITS = len(SPIRITS)
_TOKENS = len(TOKEN_CELLS)
OPPONENT = 1
OWN_TOKEN = 0
OPPONENT_TOKENS = (1, 2)
_DRAWN = 3


@njit
def deal_tokens(state):
    """Draw three of the nine spirit tokens: one for the player, two for the opponent."""
    pool = np.arange(_SPIRITS)
    shuffle(state, pool)
    for token in range(_TOKENS):
        state.token[token] = pool[token] if token < _DRAWN else -1
    for token in range(_SPIRITS - _DRAWN):
        state.unused[token] = pool[_DRAWN + token]


@njit
def begin(state):
    """The player's token lies face up, the opponent's two face down."""
    for token in range(_TOKENS):
        state.token_status[token] = USED
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
    cell = row * COLUMNS + (state.left[row] if side == 0 else state.right[row])
    remove_tile(state, cell)
    gain_tile(state, owner, cell)


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
def is_lost(state):
    """Tell whether the game is over and lost."""
    return state.phase == END and deficit(state) > 0


@njit
def points_for(state, spirit):
    """Return the player's points for a spirit in a game that is not lost."""
    mine = own_symbols(state, spirit)
    points = mine if mine >= opponent_symbols(state, spirit) else 0
    if state.icons[0, spirit] == 0:
        points -= MISSING_PENALTY
    return points


@njit
def score(state):
    """Return the player's points, spirits only; a lost game scores nothing."""
    if is_lost(state):
        return 0
    points = 0
    for spirit in range(_SPIRITS):
        points += points_for(state, spirit)
    return points


@njit
def breakdown(state, out):
    """Write the player's points for each icon: none for powers, and none at all for a lost game."""
    clear(out)
    if not is_lost(state):
        for spirit in range(_SPIRITS):
            out[spirit] = points_for(state, spirit)


@njit
def utility(state):
    """Return the player's utility: `win` is +1 or -1, `margin` minus the symbols missing."""
    behind = deficit(state)
    if state.reward == 0:
        return 1.0 if behind == 0 else -1.0
    return -float(behind)


@njit
def is_face_down(state, cell):
    """Tell whether a forest tile is turned down: every tile but the two ends of its row."""
    row = cell // COLUMNS
    column = cell - row * COLUMNS
    return state.left[row] < column < state.right[row]


@njit
def redeal(state):
    """Redraw the tiles that lie face down, and the opponent's tokens that are not turned up yet.

    They are put in order first, so that the outcome hangs on chance and on what the player sees, and on nothing else.
    """
    redeal_tiles(state)
    pool = np.empty(len(OPPONENT_TOKENS) + UNUSED_TOKENS, np.int8)
    count = 0
    for token in OPPONENT_TOKENS:
        if state.token_status[token] == UNEXAMINED:
            pool[count] = state.token[token]
            count += 1
    for token in range(UNUSED_TOKENS):
        pool[count] = state.unused[token]
        count += 1
    pool = pool[:count]
    sort(pool)
    shuffle(state, pool)
    count = 0
    for token in OPPONENT_TOKENS:
        if state.token_status[token] == UNEXAMINED:
            state.token[token] = pool[count]
            count += 1
    for token in range(UNUSED_TOKENS):
        state.unused[token] = pool[count + token]


@njit
def redeal_tiles(state):
    """Redraw the tiles that lie face down."""
    down = np.empty(CELLS, np.int64)
    count = 0
    for cell in range(CELLS):
        if is_face_down(state, cell):
            down[count] = cell
            count += 1
    for i in range(1, count):
        j = i
        while j > 0 and tile_rank(state, down[j - 1]) > tile_rank(state, down[j]):
            swap_tiles(state, down[j - 1], down[j])
            j -= 1
    for i in range(count - 1, 0, -1):
        swap_tiles(state, down[i], down[draw(state, i + 1)])


@njit
def tile_rank(state, cell):
    """Return a number that differs for different tiles."""
    return (np.int64(state.spirit[cell]) * 2 + state.symbols[cell] - 1) * 4 + state.power[cell] + 1
