"""Boards as text in colour, through rich, where that is wanted and can be had.

Colour never changes a letter: without its codes, a coloured text is the plain one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from spirits_env.state import State


def coloured(text: str, styles: Iterable[tuple[str, str]], force: bool | None = None) -> str:
    """Colour a text for the terminal.

    Args:
        text: The plain text.
        styles: Patterns (regular expressions) and the style, in rich's words, of all that matches; where several
            match, the later ones go over the earlier.
        force: Whether to colour; None leaves it to rich: in a terminal that has colours, unless `NO_COLOR` or
            `FORCE_COLOR` in the environment say otherwise.

    Returns:
        The text with colour codes; the plain text where there is to be no colour, or rich is not installed.
    """
    if force is False:
        return text
    try:
        from rich.console import Console
        from rich.text import Text
    except ImportError:
        return text
    forced: dict[str, Any] = {"force_terminal": True, "color_system": "truecolor", "no_color": False} if force else {}
    console = Console(force_jupyter=False, soft_wrap=True, **forced)
    # An old terminal of Windows has colours, but not by codes.
    if console.color_system is None or console.legacy_windows:
        return text
    painted = Text(text)
    for pattern, style in styles:
        painted.highlight_regex(pattern, style)
    with console.capture() as capture:
        console.print(painted, end="")
    return capture.get()


def draw_board(state: State, seat: int | None = None) -> str:
    """Return a game's board as text, in colour where the terminal has it.

    Args:
        state: The game.
        seat: Whose view; None sees everything.
    """
    return coloured(state.text(seat), state.game.text_styles)


def show(state: State, seat: int | None = None) -> None:
    """Print a game's board, in colour where the terminal has it.

    Args:
        state: The game.
        seat: Whose view; None sees everything.
    """
    print(draw_board(state, seat), flush=True)
