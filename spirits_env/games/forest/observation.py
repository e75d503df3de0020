"""What a seat sees, as named slices of one int8 vector: observer first, the others in turn order.

Tile facts are plane-major (plane, cell): whole planes are written by loops over slices, which vectorise.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from spirits_env.game import Layout, Slice
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
from spirits_env.games.forest.rules import can_take, end_cell, with_tokens
from spirits_env.games.forest.state import HELD, LYING, PHASES, USED

_ICONS, _SPIRITS, _POWERS, _TOKENS = len(ICONS), len(SPIRITS), len(POWERS), len(TOKENS)

LAYOUT = Layout(
    (
        Slice("present", (CELLS,), 0, 1, "a tile lies on this cell"),
        Slice("spirit", (_SPIRITS, CELLS), 0, 1, "the tile's spirit (zero where the tile lies face down)"),
        Slice("double", (CELLS,), 0, 1, "the tile has two symbols"),
        Slice("power", (_POWERS, CELLS), 0, 1, "the tile's power icon: moon, sun, fire"),
        Slice("token", (CELLS,), 0, 1, "a favor token lies face down on the tile"),
        Slice("gem", (MAX_SEATS, CELLS), 0, 1, "a gem of this seat lies on the tile"),
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
        Slice("tokens_held", (MAX_SEATS,), 0, 8, "favor tokens held face down"),
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

_PRESENT = LAYOUT["present"].start
_SPIRIT = LAYOUT["spirit"].start
_DOUBLE = LAYOUT["double"].start
_POWER = LAYOUT["power"].start
_TOKEN = LAYOUT["token"].start
_GEM = LAYOUT["gem"].start
_END = LAYOUT["end"].start
_TAKEABLE = LAYOUT["takeable"].start
_PAYING = LAYOUT["paying"].start
_LIFTED = LAYOUT["lifted"].start
_SEAT_PRESENT = LAYOUT["seat_present"].start
_PLAYERS = LAYOUT["players"].start
_OWN_SEAT = LAYOUT["own_seat"].start
_TO_ACT = LAYOUT["to_act"].start
_PHASE = LAYOUT["phase"].start
_FIRST_SPIRIT = LAYOUT["first_spirit"].start
_TURN = LAYOUT["turn"].start
_FORCED_STEAL = LAYOUT["forced_steal"].start
_HAND = LAYOUT["hand"].start
_PLACED = LAYOUT["placed"].start
_REMOVED = LAYOUT["removed"].start
_TOKENS_HELD = LAYOUT["tokens_held"].start
_PLUS_USED = LAYOUT["plus_used"].start
_OWN_TOKENS = LAYOUT["own_tokens"].start
_TURNED_UP = LAYOUT["turned_up"].start
_TILES = LAYOUT["tiles"].start
_TILES_LEFT = LAYOUT["tiles_left"].start
_ICONS_AT = LAYOUT["icons"].start
_OWN_ICONS = LAYOUT["own_icons"].start
_MISSING = LAYOUT["missing"].start
_ICONS_LEFT = LAYOUT["icons_left"].start
_MAX_TURN = 127


@njit
def observe(state, seat, out):
    """Write what a seat may know into an int8 vector of `LAYOUT.size` entries."""
    out[:] = 0
    observe_tiles(state, out)
    observe_ends(state, seat, out)
    observe_gems(state, seat, out)
    observe_table(state, seat, out)
    observe_seats(state, seat, out)
    observe_tokens(state, seat, out)


@njit
def write_and(out, one, other):
    """Write one plane as the product of two, over slices, so that the loop vectorises."""
    for i in range(out.shape[0]):
        out[i] = one[i] & other[i]


@njit
def write_equal(out, values, value, gate):
    """Write one plane: 1 where the value is met and the gate is open."""
    for i in range(out.shape[0]):
        out[i] = (values[i] == value) & gate[i]


@njit
def observe_tiles(state, out):
    """Write the planes of what is printed on the tiles, the visible ones only."""
    present = out[_PRESENT : _PRESENT + CELLS]
    present[:] = state.present
    visible = present
    if state.players == 1:
        visible = np.zeros(CELLS, np.int8)
        for row in range(ROWS):
            if state.left[row] <= state.right[row]:
                visible[row * COLUMNS + state.left[row]] = 1
                visible[row * COLUMNS + state.right[row]] = 1
    for spirit in range(_SPIRITS):
        start = _SPIRIT + spirit * CELLS
        write_equal(out[start : start + CELLS], state.spirit, spirit, visible)
    write_equal(out[_DOUBLE : _DOUBLE + CELLS], state.symbols, 2, visible)
    for power in range(_POWERS):
        start = _POWER + power * CELLS
        write_equal(out[start : start + CELLS], state.power, power, visible)


@njit
def observe_ends(state, seat, out):
    """Write which tiles are ends of their rows, and who could take them."""
    players = state.players
    for end in range(2 * ROWS):
        cell = end_cell(state, end)
        if cell < 0:
            continue
        out[_END + cell] = 1
        for relative in range(players):
            if can_take(state, (seat + relative) % players, cell):
                out[_TAKEABLE + relative * CELLS + cell] = 1


@njit
def observe_gems(state, seat, out):
    """Write gems on tiles, the tile being paid for and where the lifted gem came from."""
    players = state.players
    for relative in range(players):
        absolute = (seat + relative) % players
        if state.placed[absolute] > 0:
            start = _GEM + relative * CELLS
            write_equal(out[start : start + CELLS], state.gem, absolute, state.present)
    if state.paying >= 0:
        out[_PAYING + state.paying] = 1
    if state.lifted >= 0:
        out[_LIFTED + state.lifted] = 1


@njit
def observe_table(state, seat, out):
    """Write the facts that belong to no seat."""
    players = state.players
    out[_PLAYERS + players - 1] = 1
    out[_OWN_SEAT + seat] = 1
    if state.seat >= 0:
        out[_TO_ACT + (state.seat - seat) % players] = 1
    out[_PHASE + state.phase] = 1
    if state.first_spirit >= 0:
        out[_FIRST_SPIRIT + state.first_spirit] = 1
    out[_TURN] = min(state.turn, _MAX_TURN)
    out[_FORCED_STEAL] = state.forced_steal
    out[_TILES_LEFT] = state.remaining


@njit
def observe_seats(state, seat, out):
    """Write each seat's collection and gems."""
    players = state.players
    collectors = max(players, 2)
    left = out[_ICONS_LEFT : _ICONS_LEFT + _ICONS]
    left[:] = ICON_TOTALS
    for relative in range(collectors):
        absolute = (seat + relative) % collectors
        out[_SEAT_PRESENT + relative] = 1
        out[_HAND + relative] = state.hand[absolute]
        out[_PLACED + relative] = state.placed[absolute]
        out[_REMOVED + relative] = state.removed[absolute]
        out[_TILES + relative] = state.tiles[absolute]
        for icon in range(_ICONS):
            count = state.icons[absolute, icon]
            out[_ICONS_AT + relative * _ICONS + icon] = count
            out[_MISSING + relative * _ICONS + icon] = count == 0
            left[icon] -= count
    with_tokens(state, seat, out[_OWN_ICONS : _OWN_ICONS + _ICONS])


@njit
def observe_tokens(state, seat, out):
    """Write tokens lying and held, and the observer's own by kind."""
    collectors = max(state.players, 2)
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
        if status == USED:
            if state.token[token] == PLUS_TOKEN:
                out[_PLUS_USED + relative] += 1
            else:
                out[_TURNED_UP + state.token[token]] = 1
        else:
            out[_TOKENS_HELD + relative] += 1
            if owner == seat and status == HELD:
                out[_OWN_TOKENS + state.token[token]] += 1
