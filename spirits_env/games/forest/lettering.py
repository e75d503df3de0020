"""Letters and digits as strokes, so that a picture reads the same where no font is installed.

Each glyph stands on a grid of 5 by 7 points: pairs of digits are points (x, y), a blank lifts the pen.
"""

from __future__ import annotations

from functools import lru_cache
from html import escape

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
