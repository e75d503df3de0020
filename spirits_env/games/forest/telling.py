"""Sentences for people: what a decision does, and why points are what they are.

They say what everybody at the table may know; only the explanations of a count tell hidden tokens.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spirits_env.games.forest import rules, solitaire
from spirits_env.games.forest.actions import ACTIONS, FIRST_CELL, HAND, PASS
from spirits_env.games.forest.components import COLUMNS, ICONS, MISSING_PENALTY, POWERS, SPIRITS, TOKEN_AT
from spirits_env.games.forest.state import FIRST, LYING, PAY, PLACE, SECOND

_SIDES = ("left", "right")
_NOTHING = {FIRST: "Take no tile.", SECOND: "Take no second tile.", PLACE: "Place or move no gem."}


def icon_name(icon: int) -> str:
    """Return an icon's name as people read it."""
    return ICONS[icon].replace("_", " ")


def _tile(state: Any, cell: int) -> str:
    """Name a tile."""
    name = SPIRITS[state.spirit[cell]].replace("_", " ")
    if state.symbols[cell] > 1:
        return f"{name} x{state.symbols[cell]}"
    return f"{name} with {POWERS[state.power[cell]]}" if state.power[cell] >= 0 else name


def _where(cell: int) -> str:
    """Say where a tile lies."""
    return f"row {cell // COLUMNS}, column {cell % COLUMNS}"


def end_cell(state: Any, action: int) -> int:
    """Return the cell of the tile that an action takes."""
    row, side = divmod(action, 2)
    column = int(state.right[row]) if side else int(state.left[row])
    return row * COLUMNS + column


def _tell_take(state: Any, action: int) -> str:
    """Say which tile is taken, and what lies on it."""
    row, side = divmod(action, 2)
    cell = end_cell(state, action)
    alone = state.left[row] == state.right[row]
    end = f"as the last tile of row {row}" if alone else f"from the {_SIDES[side]} end of row {row}"
    things = []
    if state.players > 1 and TOKEN_AT[cell] >= 0 and state.token_status[TOKEN_AT[cell]] == LYING:
        things.append("a token")
    if state.gem[cell] >= 0:
        things.append("the own gem" if state.gem[cell] == state.seat else f"seat {state.gem[cell]}'s gem")
    lies = f"; {' and '.join(things)} {'lie' if len(things) > 1 else 'lies'} on it" if things else ""
    return f"Take {_tile(state, cell)} {end}{lies}."


def _tell_cell(state: Any, cell: int) -> str:
    """Say what is done with the gem on a tile, or for it."""
    tile = f"{_tile(state, cell)} in {_where(cell)}"
    if state.phase == PAY:
        return f"Pay with the gem on {tile}."
    if state.phase == PLACE:
        return f"Place a gem on {tile}." if state.hand[state.seat] else f"Lift the gem from {tile}."
    return f"Put the lifted gem on {tile}."


def tell(state: Any, action: int) -> str:
    """Say what a legal action does in a position.

    Args:
        state: One record of the game.
        action: A legal action of the seat to act.
    """
    if action < FIRST_CELL:
        return _tell_take(state, action)
    if action < HAND:
        return _tell_cell(state, action - FIRST_CELL)
    if action == PASS:
        return _NOTHING[int(state.phase)]
    return "Pay with a gem from the hand." if action == HAND else ACTIONS[action].sentence


def _seats(seats: list[int]) -> str:
    """Name seats in a row."""
    names = [f"seat {seat}" for seat in seats]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _explain_icon(state: Any, icon: int) -> str:
    """Say who leads in an icon, and who has no tile of it."""
    players = range(int(state.players))
    counts = [int(rules.counted(state, seat, icon)) for seat in players]
    most = max(counts)
    leaders = [seat for seat in players if counts[seat] == most > 0]
    without = [seat for seat in players if not state.icons[seat, icon]]
    said = []
    if leaders:
        many = len(leaders) > 1
        said.append(f"{_seats(leaders)} {'have' if many else 'has'} the most, {most}{' each' if many else ''}")
    else:
        said.append("nobody has any")
    if without:
        many = len(without) > 1
        said.append(f"{_seats(without)} {'have' if many else 'has'} no tile of it: -{MISSING_PENALTY}")
    return "; ".join(said)


def _explain_alone(state: Any, icon: int) -> str:
    """Say how the player's symbols of an icon compare with the opponent's."""
    if icon >= len(SPIRITS):
        return "does not count in the game for one"
    own, other = int(solitaire.own_symbols(state, icon)), int(solitaire.opponent_symbols(state, icon))
    said = f"{own} to {other}, " + ("enough" if own >= other else f"{other - own} too few")
    return said if state.icons[0, icon] else f"{said}; no tile of it: -{MISSING_PENALTY}"


def explain(state: Any, points: np.ndarray) -> list[str]:
    """Say for each icon why the seats get their points, as they would be counted now.

    Args:
        state: One record of the game.
        points: Each seat's points for each icon, shape `(players, icons)`.
    """
    explain_icon = _explain_alone if state.players == 1 else _explain_icon
    return [f"{icon_name(icon)}: {explain_icon(state, icon)}." for icon in range(len(ICONS))]
