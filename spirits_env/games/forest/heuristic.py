"""A hand-made estimate of a seat's prospects, read only from what that seat may know.

Points it expects above the opponents' mean: likely majorities, the risk of having no tile, and gems.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from spirits_env.games.forest import solitaire
from spirits_env.games.forest.components import (
    CELLS,
    COLUMNS,
    ICON_TOTALS,
    ICONS,
    MISSING_PENALTY,
    SPIRITS,
    TOKEN_AT,
)
from spirits_env.games.forest.rules import counted
from spirits_env.games.forest.state import HELD, LYING, UNEXAMINED

_ICONS, _SPIRITS = len(ICONS), len(SPIRITS)
_GEM_IN_HAND = 0.9
_TOKEN_WORTH = 0.8
_RESERVED = 0.35
_REACH = 0.75


@njit
def evaluate(state, seat):
    """Return the points a seat may expect above the mean of its opponents (solitaire: above the forest)."""
    if state.players == 1:
        return evaluate_alone(state)
    players = state.players
    own = np.zeros(_ICONS, np.int64)
    value = 0.0
    for icon in range(_ICONS):
        own[icon] = counted(state, seat, icon)
    for icon in range(_ICONS):
        value += icon_value(state, seat, icon, own[icon])
    for other in range(players):
        gems = _GEM_IN_HAND * (state.hand[other] + state.placed[other])
        tokens = _TOKEN_WORTH * unknown_tokens(state, other, seat)
        value += (gems + tokens) if other == seat else -(gems + tokens) / (players - 1)
    for cell in range(CELLS):
        gem = state.gem[cell]
        if gem >= 0:
            worth = _RESERVED * tile_value(state, gem, cell, own, seat)
            value += worth if gem == seat else -worth / (players - 1)
    return value


@njit
def icon_value(state, seat, icon, mine):
    """Return what an icon promises the seat above the mean of the others."""
    players = state.players
    left = icons_left(state, icon)
    value = 0.0
    for one in range(players):
        count = mine if one == seat else np.int64(state.icons[one, icon])
        rival = 0
        for other in range(players):
            if other != one:
                rival = max(rival, mine if other == seat else np.int64(state.icons[other, icon]))
        expected = majority_value(count, rival, left, players)
        if state.icons[one, icon] == 0:
            expected -= MISSING_PENALTY * missing_risk(left, players)
        value += expected if one == seat else -expected / (players - 1)
    return value


@njit
def icons_left(state, icon):
    """Return how many of an icon lie on tiles in the forest."""
    left = np.int64(ICON_TOTALS[icon])
    for seat in range(state.players):
        left -= state.icons[seat, icon]
    return left


@njit
def majority_value(count, rival, left, players):
    """Return the points a count promises against the best rival with some icons still to be had."""
    final = count + left / players
    chance = 1.0 / (1.0 + np.exp(-2.0 * (count - rival + 0.25) / np.sqrt(left + 0.3)))
    return chance * final


@njit
def missing_risk(left, players):
    """Return the chance to end without a tile, given the icons left."""
    return ((players - 1) / players) ** left


@njit
def unknown_tokens(state, owner, seat):
    """Return how many tokens an owner holds whose kind the seat does not count by name."""
    count = 0
    for token in range(len(state.token)):
        status = state.token_status[token]
        if state.token_seat[token] == owner and (status == UNEXAMINED or (status == HELD and owner != seat)):
            count += 1
    return count


@njit
def tile_value(state, owner, cell, own, seat):
    """Return what a reserved tile would add for its owner, less the further it is from an end."""
    spirit = state.spirit[cell]
    gain = icon_gain(state, owner, spirit, np.int64(state.symbols[cell]), own, seat)
    power = state.power[cell]
    if power >= 0:
        gain += icon_gain(state, owner, _SPIRITS + power, 1, own, seat)
    token = token_on(state, cell)
    if token:
        gain += _TOKEN_WORTH
    row = cell // COLUMNS
    column = cell - row * COLUMNS
    depth = min(column - state.left[row], state.right[row] - column)
    return gain * _REACH ** abs(depth - 1)


@njit
def token_on(state, cell):
    """Tell whether a token lies on a cell."""
    index = TOKEN_AT[cell]
    return index >= 0 and state.token_status[index] == LYING


@njit
def icon_gain(state, owner, icon, amount, own, seat):
    """Return what some more of an icon would add for an owner."""
    players = state.players
    left = icons_left(state, icon)
    mine = own[icon] if owner == seat else np.int64(state.icons[owner, icon])
    rival = 0
    for other in range(players):
        if other != owner:
            rival = max(rival, own[icon] if other == seat else np.int64(state.icons[other, icon]))
    after = majority_value(mine + amount, rival, left - amount, players)
    gain = after - majority_value(mine, rival, left, players)
    if state.icons[owner, icon] == 0:
        gain += MISSING_PENALTY * missing_risk(left, players)
    return gain


@njit
def evaluate_alone(state):
    """Return minus the expected deficit: what the forest leads by, beyond what is left to catch up."""
    value = 0.0
    for spirit in range(_SPIRITS):
        lead = solitaire.own_symbols(state, spirit) - solitaire.opponent_symbols(state, spirit)
        left = ICON_TOTALS[spirit] - state.icons[0, spirit] - state.icons[1, spirit]
        spread = np.sqrt(left + 0.3)
        value -= spread * np.log1p(np.exp(-2.0 * lead / spread))
    return value
