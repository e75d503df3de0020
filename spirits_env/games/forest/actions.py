"""The action table: id <-> name <-> sentence.

One flat table serves all phases; the phase says which act a cell stands for.
"""

from __future__ import annotations

from spirits_env.game import Action
from spirits_env.games.forest.components import COLUMNS, ROWS

FIRST_CELL = 2 * ROWS
HAND = FIRST_CELL + ROWS * COLUMNS
PLUS = HAND + 1
PASS = PLUS + 1
ACTION_COUNT = PASS + 1

_SIDES = ("left", "right")


def _table() -> tuple[Action, ...]:
    """Build the table in id order."""
    rows: list[tuple[str, str]] = []
    for row in range(ROWS):
        for side in _SIDES:
            rows.append((f"take_row{row}_{side}", f"Take the tile at the {side} end of row {row}."))
    for row in range(ROWS):
        for column in range(COLUMNS):
            rows.append(
                (
                    f"cell_{row}_{column}",
                    f"Use the tile in row {row}, column {column}: give up the gem there (pay), "
                    "place a gem there or lift the own one (place), put the lifted gem there (move).",
                )
            )
    rows.append(("give_from_hand", "Give up a gem from the hand."))
    rows.append(("use_plus", 'Use a "+" token: a lost gem comes back to the hand.'))
    rows.append(("pass", "Pass: no tile, no second tile or no gem."))
    return tuple(Action(i, name, sentence) for i, (name, sentence) in enumerate(rows))


ACTIONS = _table()
