"""What the drawings of all games share: colours, letters as strokes, shapes, and the frame of a picture.

Letters are drawn, so that a picture reads the same where no font is installed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from html import escape
from typing import NamedTuple

# What stands on paper: a scene names these colours, and `paint` gives them the values of a theme.
INK, FAINT, PAPER, LINE = "{ink}", "{faint}", "{paper}", "{line}"
# What can be chosen, what is going on, who leads, and who has won.
GOLD, RED, PLATE, LAUREL = "{gold}", "{red}", "{plate}", "{laurel}"
# Things keep their colours whatever they lie on: their outlines and letters, quiet letters, and light faces.
DARK, QUIET, CREAM = "#2E2C28", "#6C665F", "#FBF6E9"

THEMES: Mapping[str, Mapping[str, str]] = {
    "light": {
        INK: "#2E2C28",
        FAINT: "#6C665F",
        PAPER: "#F3EFE6",
        LINE: "#DDD6C8",
        GOLD: "#A97300",
        RED: "#C62828",
        PLATE: "#DCE8CC",
        LAUREL: "#F6DD96",
    },
    "dark": {
        INK: "#EDE7DA",
        FAINT: "#A39C8F",
        PAPER: "#1F241F",
        LINE: "#3C433B",
        GOLD: "#F2B632",
        RED: "#FF8A80",
        PLATE: "#3F5730",
        LAUREL: "#7A5F14",
    },
}
AUTO = "auto"

# --- letters ----------------------------------------------------------------------------------------------

# Each glyph stands on a grid of 5 by 7 points: pairs of digits are points (x, y), a blank lifts the pen.
_GLYPHS = {
    " ": "",
    "A": "0602204246 0444",
    "B": "00063645443303 0030414233",
    "C": "4130100105163645",
    "D": "00063645413000",
    "E": "40000646 0333",
    "F": "400006 0333",
    "G": "41301001051636454323",
    "H": "0006 4046 0343",
    "I": "1030 2026 1636",
    "J": "404536160504",
    "K": "0006 4003 1346",
    "L": "000646",
    "M": "0600234046",
    "N": "06004640",
    "O": "100105163645413010",
    "P": "060030414233 3303",
    "Q": "100105163645413010 2446",
    "R": "060030414233 3303 2346",
    "S": "413010010213334445361605",
    "T": "0040 2026",
    "U": "000516364540",
    "V": "002640",
    "W": "0016233640",
    "X": "0046 4006",
    "Y": "002340 2326",
    "Z": "00400646",
    "0": "100105163645413010",
    "1": "012026 0646",
    "2": "01103041420646",
    "3": "0110304142334445361605 3313",
    "4": "36300444",
    "5": "400002324345361605",
    "6": "413010010516364544331304",
    "7": "004016",
    "8": "13020110304142331304051636454433",
    "9": "051636454130100102133342",
    "+": "0343 2125",
    "-": "1333",
    ":": "2122 2425",
    "/": "0640",
    ".": "2526",
    ",": "252617",
    ";": "2122 252617",
    "'": "2022",
    '"': "1012 3032",
    "(": "30212536",
    ")": "10212516",
    "?": "01103041422324 2526",
    "=": "1232 1434",
    "*": "2125 0244 0442",
}
_HEIGHT = 6
_ADVANCE = 6
_WIDTH = 4
_STROKE = 0.95


def text_width(text: str, height: float) -> float:
    """Return the width of a line of text whose capitals have the given height."""
    return max(0, len(text) * _ADVANCE - (_ADVANCE - _WIDTH)) * height / _HEIGHT


def letter_path(text: str, x: float, y: float, height: float) -> str:
    """Return the path data of a line of text.

    Args:
        text: Letters (drawn as capitals), digits and simple punctuation; "?" stands in for anything else.
        x: Left edge.
        y: Upper edge.
        height: Height of a capital.
    """
    scale = height / _HEIGHT
    parts = []
    for index, character in enumerate(text.upper()):
        for stroke in _GLYPHS.get(character, _GLYPHS["?"]).split():
            points = (
                f"{x + (index * _ADVANCE + int(stroke[i])) * scale:.1f} {y + int(stroke[i + 1]) * scale:.1f}"
                for i in range(0, len(stroke), 2)
            )
            parts.append("M" + "L".join(points))
    return "".join(parts)


# Most of what a drawing says stands in the next one too.
@lru_cache(maxsize=1024)
def write(text: str, x: float, y: float, height: float, colour: str, anchor: float = 0.0) -> str:
    """Return a line of text as an SVG path.

    Args:
        text: What to write.
        x: Where the text is anchored.
        y: Middle of the line.
        height: Height of a capital.
        colour: Colour of the strokes.
        anchor: Part of the width that lies left of `x`: 0 starts there, 0.5 centres, 1 ends there.
    """
    left = x - anchor * text_width(text, height)
    path = letter_path(text, left, y - height / 2, height)
    return (
        f'<path class="text" data-text="{escape(text)}" d="{path}" fill="none" stroke="{colour}" '
        f'stroke-width="{_STROKE * height / _HEIGHT:.2f}" stroke-linecap="round" stroke-linejoin="round"/>'
    )


# --- shapes -----------------------------------------------------------------------------------------------


class Shape(NamedTuple):
    """A picture of one colour around (0, 0), about 20 units across: path data of its filled and stroked parts."""

    filled: str
    stroked: str


def disc(x: float, y: float, radius: float) -> str:
    """Return the path data of a disc."""
    return f"M{x - radius} {y}a{radius} {radius} 0 1 0 {2 * radius} 0a{radius} {radius} 0 1 0 {-2 * radius} 0Z"


def draw_shape(shape: Shape, x: float, y: float, radius: float, colour: str) -> str:
    """Draw a shape around a point."""
    parts = [f'<path d="{shape.filled}" fill="{colour}"/>'] if shape.filled else []
    if shape.stroked:
        style = f'fill="none" stroke="{colour}" stroke-width="2.6" stroke-linecap="round"'
        parts.append(f'<path d="{shape.stroked}" {style}/>')
    return f'<g transform="translate({x:g} {y:g}) scale({radius / 10:g})">{"".join(parts)}</g>'


# --- frame ------------------------------------------------------------------------------------------------


def tell_result(turns: int, winners: Sequence[str]) -> str:
    """Say who has won."""
    verb = "wins" if len(winners) == 1 else "share the win"
    return f"end after {turns} turns: {' and '.join(winners)} {verb}"


# How terminals colour what the texts of all games have: seats, what can be chosen, what is going on. These colours are
# seen on black and on white.
SEAT_STYLES = ("bold #3F86D8", "bold #B8860B", "bold #8A8A8A", "bold #2C9960")
TEXT_STYLES = (
    *((rf"\bseat {seat}\b", style) for seat, style in enumerate(SEAT_STYLES)),
    (r"[\[\]]", "bold #BD8200"),
    (r"[{}]", "bold #DB4437"),
)


def finish_text(lines: Iterable[str]) -> str:
    """Join lines, none of them with blanks at its end."""
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _variables(theme: str) -> str:
    """Write a theme's colours as CSS variables."""
    return ";".join(f"--{name.strip('{}')}:{colour}" for name, colour in THEMES[theme].items())


def paint(scene: str, theme: str) -> str:
    """Give the colours of a scene that stand on paper the values of a theme.

    Args:
        scene: A scene as `finish_scene` makes it.
        theme: "light", "dark", or "auto", which follows what the reader of a page prefers.

    Returns:
        The finished SVG document.

    Raises:
        ValueError: If there is no such theme.
    """
    if theme == AUTO:
        style = f"svg{{{_variables('light')}}}@media(prefers-color-scheme:dark){{svg{{{_variables('dark')}}}}}"
        scene = scene.replace("\n", f"\n<style>{style}</style>\n", 1)
        for name in THEMES["light"]:
            scene = scene.replace(name, f"var(--{name.strip('{}')})")
        return scene
    if theme not in THEMES:
        raise ValueError(f"theme was {theme!r}; give {', '.join(map(repr, THEMES))} or {AUTO!r}.")
    for name, colour in THEMES[theme].items():
        scene = scene.replace(name, colour)
    return scene


def finish_scene(width: int, height: int, turn: int, phase: str, seat: int, parts: Iterable[str]) -> str:
    """Return an SVG document on paper, which tells the turn, the phase and the seat to act (-1 at the end)."""
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" data-turn="{turn}" data-phase="{phase}" data-seat="{seat}">'
    )
    paper = f'<rect width="{width}" height="{height}" fill="{PAPER}"/>'
    return "\n".join([opening, paper, *parts, "</svg>"]) + "\n"
