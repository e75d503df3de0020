"""What a seat sees, as named slices of one int8 vector: observer first, the others in turn order.

Tile facts are plane-major (plane, cell): whole planes are written by loops over slices, which vectorise.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from spirits_env.game import Layout, Slice, clear
from spirits_env.games.forest import solitaire
from spirits_env.games.forest.components import (
    CELLS,
    COLUMNS,
    ICON_TOTALS,
    ICONS,
    MAX_SEATS,
    PLUS_TOKEN,
    POWERS,
    ROWS,
    SPIRITS,
    TOKEN_CELLS,
    TOKENS,
)
from spirits_env.games.forest.rules import can_take, end_cell
from spirits_env.games.forest.state import HELD, LYING, PHASES, USED

_ICONS, _SPIRITS, _POWERS, _TOKENS = len(ICONS), len(SPIRITS), len(POWERS), len(TOKENS)

LAYOUT = Layout(
    (
        Slice("present", (CELLS,), 0, 1, "a tile lies on this cell"),
        Slice("spirit", (_SPIRITS, CELLS), 0, 1, "the tile's spirit (zero where the tile lies face down)"),
        Slice("double", (CELLS,), 0, 1, "the tile has two symbols"),
        Slice("power", (_POWERS, CELLS), 0, 1, "the tile's power icon: moon, sun, fire"),
        Slice("gem", (MAX_SEATS, CELLS), 0, 1, "a gem of this seat lies on the tile"),
        Slice("token", (CELLS,), 0, 1, "a favor token lies face down on the tile"),
        Slice("end", (CELLS,), 0, 1, "the tile is an end of its row"),
        Slice("takeable", (MAX_SEATS, CELLS), 0, 1, "an end this seat could take: free, own gem, or a gem to pay"),
        Slice("paying", (CELLS,), 0, 1, "the tile being paid for"),
        Slice("lifted", (CELLS,), 0, 1, "the tile the lifted gem came from"),
        Slice("seat_present", (MAX_SEATS,), 0, 1, "somebody plays in this seat (solitaire: the forest is the second)"),
        Slice("players", (MAX_SEATS,), 0, 1, "player count, 1 to 4, one-hot"),
        Slice("own_seat", (MAX_SEATS,), 0, 1, "the observer's seat number, one-hot"),
        Slice("to_act", (MAX_SEATS,), 0, 1, "the seat to act, one-hot; zero at the end"),
        Slice("phase", (len(PHASES),), 0, 1, "phase, one-hot: " + ", ".join(PHASES)),
        Slice("first_spirit", (_SPIRITS,), 0, 1, "spirit of the first tile while a second may be taken, one-hot"),
        Slice("turn", (1,), 0, 127, "turns finished (capped at 127)"),
        Slice("forced_steal", (1,), 0, 1, "option: a tile must be taken even if every one carries an opponent's gem"),
        Slice("hand", (MAX_SEATS,), 0, 3, "gems in hand"),
        Slice("placed", (MAX_SEATS,), 0, 3, "gems in the forest"),
        Slice("removed", (MAX_SEATS,), 0, 3, "gems out of the game"),
        Slice("tokens_held", (MAX_SEATS,), 0, 8, "favor tokens held: neither used nor turned up against the player"),
        Slice("plus_used", (MAX_SEATS,), 0, 2, 'used "+" tokens'),
        Slice("own_tokens", (_TOKENS,), 0, 2, "own examined tokens by kind: " + ", ".join(TOKENS), "own"),
        Slice("turned_up", (_SPIRITS,), 0, 1, "solitaire: the opponent's tokens that have turned up, by spirit"),
        Slice("tiles", (MAX_SEATS,), 0, CELLS, "tiles collected"),
        Slice("tiles_left", (1,), 0, CELLS, "tiles in the forest"),
        Slice("icons", (MAX_SEATS, _ICONS), 0, 14, "icons on collected tiles: nine spirits, three powers"),
        Slice("own_icons", (_ICONS,), 0, 14, "the observer's icons, own examined tokens included", "own"),
        Slice("missing", (MAX_SEATS, _ICONS), 0, 1, "the seat has no tile with this icon (it would lose 3)"),
        Slice("icons_left", (_ICONS,), 0, 14, "icons on tiles still in the forest"),
    )
)

TILE_PLANES = tuple(part.name for part in LAYOUT.slices if part.shape[-1] == CELLS)

_PRESENT = LAYOUT.start("present")
_SPIRIT = LAYOUT.start("spirit")
_DOUBLE = LAYOUT.start("double")
_POWER = LAYOUT.start("power")
_TOKEN = LAYOUT.start("token")
_GEM = LAYOUT.start("gem")
_END = LAYOUT.start("end")
_TAKEABLE = LAYOUT.start("takeable")
_PAYING = LAYOUT.start("paying")
_LIFTED = LAYOUT.start("lifted")
_SEAT_PRESENT = LAYOUT.start("seat_present")
_PLAYERS = LAYOUT.start("players")
_OWN_SEAT = LAYOUT.start("own_seat")
_TO_ACT = LAYOUT.start("to_act")
_PHASE = LAYOUT.start("phase")
_FIRST_SPIRIT = LAYOUT.start("first_spirit")
_TURN = LAYOUT.start("turn")
_FORCED_STEAL = LAYOUT.start("forced_steal")
_HAND = LAYOUT.start("hand")
_PLACED = LAYOUT.start("placed")
_REMOVED = LAYOUT.start("removed")
_TOKENS_HELD = LAYOUT.start("tokens_held")
_PLUS_USED = LAYOUT.start("plus_used")
_OWN_TOKENS = LAYOUT.start("own_tokens")
_TURNED_UP = LAYOUT.start("turned_up")
_TILES = LAYOUT.start("tiles")
_TILES_LEFT = LAYOUT.start("tiles_left")
_ICONS_AT = LAYOUT.start("icons")
_OWN_ICONS = LAYOUT.start("own_icons")
_MISSING = LAYOUT.start("missing")
_ICONS_LEFT = LAYOUT.start("icons_left")
_MAX_TURN = 127
_NOBODY = -2
_I0, _I1, _I2, _I3, _I4, _I5, _I6, _I7, _I8 = (np.int8(i) for i in range(9))


@njit
def observe(state, seat, out):
    """Write what a seat may know into an int8 vector of `LAYOUT.size` entries.

    Places in the vector are added up as int64: uncompiled, NumPy keeps the fields' int8 and would overflow.
    """
    seat = np.int64(seat)
    observe_tiles(state, seat, out)
    clear(out[_TOKEN:])
    observe_ends(state, seat, out)
    observe_table(state, seat, out)
    observe_seats(state, seat, out)
    observe_tokens(state, seat, out)


@njit
def observe_tiles(state, seat, out):
    """Write the planes of what is printed on the tiles, the visible ones only, and of the gems."""
    players = state.players
    gems = (
        np.int8(seat),
        np.int8((seat + 1) % players if players > 1 else _NOBODY),
        np.int8((seat + 2) % players if players > 2 else _NOBODY),
        np.int8((seat + 3) % players if players > 3 else _NOBODY),
    )
    if players > 1:
        write_planes(out, state.present, state.present, state.spirit, state.symbols, state.power, state.gem, gems)
        return
    visible = np.zeros(CELLS, np.int8)
    for cell in range(CELLS):
        visible[cell] = state.present[cell] and not solitaire.is_face_down(state, cell)
    write_planes(out, state.present, visible, state.spirit, state.symbols, state.power, state.gem, gems)


@njit
def write_planes(out, present, visible, spirit, symbols, power, gem, gems):
    """Write all tile planes in one pass over the cells.

    One loop with a line per plane, each comparing int8 with int8, is the form that the compiler vectorises, as long
    as it keeps the function apart: inlined (as it would be with one caller) it takes ten times as long.
    """
    cells = present.shape[0]
    for i in range(cells):
        seen = visible[i]
        out[_PRESENT + i] = present[i]
        out[_SPIRIT + i] = seen & np.int8(spirit[i] == _I0)
        out[_SPIRIT + cells + i] = seen & np.int8(spirit[i] == _I1)
        out[_SPIRIT + 2 * cells + i] = seen & np.int8(spirit[i] == _I2)
        out[_SPIRIT + 3 * cells + i] = seen & np.int8(spirit[i] == _I3)
        out[_SPIRIT + 4 * cells + i] = seen & np.int8(spirit[i] == _I4)
        out[_SPIRIT + 5 * cells + i] = seen & np.int8(spirit[i] == _I5)
        out[_SPIRIT + 6 * cells + i] = seen & np.int8(spirit[i] == _I6)
        out[_SPIRIT + 7 * cells + i] = seen & np.int8(spirit[i] == _I7)
        out[_SPIRIT + 8 * cells + i] = seen & np.int8(spirit[i] == _I8)
        out[_DOUBLE + i] = seen & np.int8(symbols[i] == _I2)
        out[_POWER + i] = seen & np.int8(power[i] == _I0)
        out[_POWER + cells + i] = seen & np.int8(power[i] == _I1)
        out[_POWER + 2 * cells + i] = seen & np.int8(power[i] == _I2)
        out[_GEM + i] = np.int8(gem[i] == gems[0])
        out[_GEM + cells + i] = np.int8(gem[i] == gems[1])
        out[_GEM + 2 * cells + i] = np.int8(gem[i] == gems[2])
        out[_GEM + 3 * cells + i] = np.int8(gem[i] == gems[3])


@njit
def observe_ends(state, seat, out):
    """Write which tiles are ends of their rows and who could take them, what is paid for, what was lifted."""
    players = np.int64(state.players)
    for end in range(2 * ROWS):
        cell = end_cell(state, end)
        if cell < 0:
            continue
        out[_END + cell] = 1
        for relative in range(players):
            if can_take(state, (seat + relative) % players, cell):
                out[_TAKEABLE + relative * CELLS + cell] = 1
    if state.paying >= 0:
        out[_PAYING + np.int64(state.paying)] = 1
    if state.lifted >= 0:
        out[_LIFTED + np.int64(state.lifted)] = 1


@njit
def observe_table(state, seat, out):
    """Write the facts that belong to no seat."""
    players = np.int64(state.players)
    out[_PLAYERS + players - 1] = 1
    out[_OWN_SEAT + seat] = 1
    if state.seat >= 0:
        out[_TO_ACT + (state.seat - seat) % players] = 1
    out[_PHASE + np.int64(state.phase)] = 1
    if state.first_spirit >= 0:
        out[_FIRST_SPIRIT + np.int64(state.first_spirit)] = 1
    out[_TURN] = min(state.turn, _MAX_TURN)
    out[_FORCED_STEAL] = state.forced_steal
    out[_TILES_LEFT] = state.remaining


@njit
def observe_seats(state, seat, out):
    """Write each seat's collection and gems."""
    collectors = max(np.int64(state.players), 2)
    left = out[_ICONS_LEFT : _ICONS_LEFT + _ICONS]
    for icon in range(_ICONS):
        left[icon] = ICON_TOTALS[icon]
        out[_OWN_ICONS + icon] = state.icons[seat, icon]
    for relative in range(collectors):
        absolute = (seat + relative) % collectors
        out[_SEAT_PRESENT + relative] = 1
        out[_HAND + relative] = state.hand[absolute]
        out[_PLACED + relative] = state.placed[absolute]
        out[_REMOVED + relative] = state.removed[absolute]
        out[_TILES + relative] = state.tiles[absolute]
        start = relative * _ICONS
        write_icons(
            state.icons[absolute],
            out[_ICONS_AT + start : _ICONS_AT + start + _ICONS],
            out[_MISSING + start : _MISSING + start + _ICONS],
            left,
        )


@njit
def write_icons(icons, out, missing, left):
    """Write one seat's icons and which it lacks, and take them off what is left in the forest."""
    for i in range(icons.shape[0]):
        out[i] = icons[i]
        missing[i] = icons[i] == 0
        left[i] -= icons[i]


@njit
def observe_tokens(state, seat, out):
    """Write tokens lying and held, and the observer's own by kind and among its icons."""
    collectors = max(np.int64(state.players), 2)
    for token in range(len(TOKEN_CELLS)):
        status = state.token_status[token]
        if status == LYING:
            row, column = TOKEN_CELLS[token]
            out[_TOKEN + row * COLUMNS + column] = 1
            continue
        owner = state.token_seat[token]
        if owner < 0:
            continue
        relative = (owner - seat) % collectors
        kind = np.int64(state.token[token])
        if status == USED:
            if kind == PLUS_TOKEN:
                out[_PLUS_USED + relative] += 1
            else:
                out[_TURNED_UP + kind] = 1
        else:
            out[_TOKENS_HELD + relative] += 1
            if owner == seat and status == HELD:
                out[_OWN_TOKENS + kind] += 1
                if kind != PLUS_TOKEN:
                    out[_OWN_ICONS + kind] += 1
