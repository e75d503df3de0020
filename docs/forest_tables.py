"""What only the page of Spirits of the Forest has: its tiles, its kinds of actions, the point of its picture.

`make.py` puts them on the page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from spirits_env.games.forest import components
from spirits_env.games.forest.actions import ACTIONS, FIRST_CELL, HAND, PASS, PLUS

Table = tuple[Sequence[str], Sequence[Sequence[Any]]]

PICTURE_PLY = 38
PICTURE_SEAT = 0


def tiles() -> Table:
    """How often each tile is in the box."""
    columns = ("id", "spirit", "plain", *components.POWERS, "double", "symbols in all")
    rows = [
        (spirit, name, *components.TILE_COUNTS[spirit], components.ICON_TOTALS[spirit])
        for spirit, name in enumerate(components.SPIRITS)
    ]
    return columns, rows


def action_groups() -> list[tuple[str, str, list[int], list[str], str]]:
    """Names for the page, formula, ids, names in order and meaning of each kind of action."""
    ends = [(row, side) for row in range(components.ROWS) for side in (0, 1)]
    cells = [(row, column) for row in range(components.ROWS) for column in range(components.COLUMNS)]
    return [
        (
            "take_row<row>_left, take_row<row>_right",
            "2 * row + side (left 0, right 1)",
            [2 * row + side for row, side in ends],
            [f"take_row{row}_{('left', 'right')[side]}" for row, side in ends],
            "take the tile at that end of the row; a row with one tile left has a left end only",
        ),
        (
            "cell_<row>_<column>",
            f"{FIRST_CELL} + {components.COLUMNS} * row + column",
            [FIRST_CELL + components.COLUMNS * row + column for row, column in cells],
            [f"cell_{row}_{column}" for row, column in cells],
            "that cell, for a gem: pay with the one there, place one there, lift the own one, put the lifted one there",
        ),
        ("give_from_hand", str(HAND), [HAND], ["give_from_hand"], "pay with a gem from the hand"),
        ("use_plus", str(PLUS), [PLUS], ["use_plus"], 'use a "+" token: a lost gem comes back to the hand'),
        ("pass", str(PASS), [PASS], ["pass"], "no tile, no second tile, or no gem"),
    ]


def action_ids() -> Table:
    """The id of every end and every cell, laid out as the forest."""
    number = {action.name: action.id for action in ACTIONS}
    rows = [
        (
            f"row {row}",
            number[f"take_row{row}_left"],
            *(number[f"cell_{row}_{column}"] for column in range(components.COLUMNS)),
            number[f"take_row{row}_right"],
        )
        for row in range(components.ROWS)
    ]
    return ("", "left end", *(f"col {column}" for column in range(components.COLUMNS)), "right end"), rows


TABLES: dict[str, Callable[[], Table]] = {"tiles": tiles, "action-ids": action_ids}
