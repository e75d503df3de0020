"""The board as text and as an SVG document, from a seat's view or all-seeing.

Both are drawn from the same facts; the record itself is never changed.
"""

from __future__ import annotations

from typing import Any

from spirits_env.game import Standing


def draw_text(state: Any, seat: int | None, standing: Standing) -> str:
    """Draw a position as text."""
    return f"turn {int(state.turn)} seat {int(state.seat)} points {standing.points.tolist()}\n"


def draw_scene(state: Any, seat: int | None, standing: Standing) -> str:
    """Draw a position as an SVG document."""
    return '<svg xmlns="http://www.w3.org/2000/svg" width="100" height="100"/>\n'
