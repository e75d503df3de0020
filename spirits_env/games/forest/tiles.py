"""What both rule sets do with tiles: lay them out, take them away, count them for their owner.

Plain loops throughout: NumPy's array operations cost seconds to compile.
"""

from __future__ import annotations

from numba import njit

from spirits_env.game import draw
from spirits_env.games.forest.components import CELLS, COLUMNS, SPIRITS, TILE_POWER, TILE_SPIRIT, TILE_SYMBOLS

_SPIRITS = len(SPIRITS)


@njit
def lay_tiles(state):
    """Shuffle the 48 tiles and lay them out in rows."""
    for cell in range(CELLS):
        state.spirit[cell] = TILE_SPIRIT[cell]
        state.symbols[cell] = TILE_SYMBOLS[cell]
        state.power[cell] = TILE_POWER[cell]
    for cell in range(CELLS - 1, 0, -1):
        swap_tiles(state, cell, draw(state, cell + 1))


@njit
def swap_tiles(state, one, other):
    """Swap two tiles of the forest."""
    spirit, symbols, power = state.spirit[one], state.symbols[one], state.power[one]
    state.spirit[one], state.symbols[one], state.power[one] = (
        state.spirit[other],
        state.symbols[other],
        state.power[other],
    )
    state.spirit[other], state.symbols[other], state.power[other] = spirit, symbols, power


@njit
def remove_tile(state, cell):
    """Take a tile at an end of its row out of the forest."""
    row = cell // COLUMNS
    if cell - row * COLUMNS == state.left[row]:
        state.left[row] += 1
    else:
        state.right[row] -= 1
    state.present[cell] = 0
    state.remaining -= 1


@njit
def gain_tile(state, seat, cell):
    """Count a collected tile and its icons for a seat."""
    state.tiles[seat] += 1
    state.icons[seat, state.spirit[cell]] += state.symbols[cell]
    power = state.power[cell]
    if power >= 0:
        state.icons[seat, _SPIRITS + power] += 1
