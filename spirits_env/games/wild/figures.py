"""Pictures of what is in the box: stones with their marks, Coyote, and the five animals of a board.

Data and a few lines that draw them; what lies where is none of their business.
"""

from __future__ import annotations

from typing import NamedTuple

from spirits_env.drawing import CREAM, DARK, Shape, disc, draw_shape, write
from spirits_env.games.wild.components import (
    BEAVER_BOTH_POINTS,
    BEAVER_PAIR_POINTS,
    BEAVER_TRIO_POINTS,
    PAIR_POINTS,
    RABBIT_POINTS,
    SPIRIT_STONE,
)

# Of what is half transparent, fill or stroke is so: an element with an opacity of its own costs a layer when drawn.

# --- stones and Coyote ------------------------------------------------------------------------------------

_STONE_COLOURS = ("#2F6BD0", "#18A398", "#EE8526", "#FBFAF5", "#7D41B4", "#F3CC33", "#EAF4FB")
_MARK_COLOURS = (CREAM, CREAM, DARK, DARK, CREAM, DARK, "#5B7FB5")
# Each colour has its mark, so that nobody needs to tell colours apart.
_MARKS = (
    Shape("", "M-6 -2.5Q-3 -6 0 -2.5T6 -2.5M-6 3.5Q-3 0 0 3.5T6 3.5"),
    Shape("M0 -6L5.6 4H-5.6Z", ""),
    Shape("M-4.4 -4.4H4.4V4.4H-4.4Z", ""),
    Shape("", disc(0, 0, 4.4)),
    Shape("", "M-4 -4L4 4M4 -4L-4 4"),
    Shape("", "M-3 -5V5M3 -5V5"),
    Shape("M0 -7L1.9 -2.3L7 -1.9L3.1 1.4L4.3 6.4L0 3.7L-4.3 6.4L-3.1 1.4L-7 -1.9L-1.9 -2.3Z", ""),
)
_FACETS = (
    '<path d="M0 -10L8.7 -5V5L0 10L-8.7 5V-5Z" fill="#EAF4FB"/><path d="M0 -10L8.7 -5L0 0Z" fill="#F9DDEB"/>'
    '<path d="M8.7 5L0 10L0 0Z" fill="#D9F2E6"/><path d="M-8.7 5V-5L0 0Z" fill="#FFF3CF"/>'
    f'<path d="M0 -10L8.7 -5V5L0 10L-8.7 5V-5Z" fill="none" stroke="{DARK}" stroke-width="1.2"/>'
)


def _pebble(kind: int) -> str:
    """Draw a stone's body around (0, 0), 10 units in radius."""
    if kind == SPIRIT_STONE:
        return _FACETS
    return (
        f'<circle r="9.6" fill="{_STONE_COLOURS[kind]}" stroke="{DARK}" stroke-width="1.1"/>'
        '<path d="M-6.8 -3A7.4 7.4 0 0 1 -1 -7.4" fill="none" stroke="#FFFFFF" stroke-width="1.5" '
        'stroke-linecap="round" stroke-opacity="0.6"/>'
    )


def draw_stone(kind: int, x: float, y: float, radius: float) -> str:
    """Draw a stone with its mark around a point."""
    body = f'<g transform="translate({x:g} {y:g}) scale({radius / 10:g})">{_pebble(kind)}</g>'
    return body + draw_shape(_MARKS[kind], x, y, radius * 0.72, _MARK_COLOURS[kind])


def draw_coyote(x: float, y: float, radius: float, colour: str = "#B4733A") -> str:
    """Draw Coyote's head around a point."""
    return (
        f'<g transform="translate({x:g} {y:g}) scale({radius / 20:g})">'
        f'<path d="M-17 -20C-9 -18 -8 -12 -6 -10H6C8 -12 9 -18 17 -20C19 -12 19 -5 17 1L9 10L4 18Q0 22 -4 18L-9 10'
        f'L-17 1C-19 -5 -19 -12 -17 -20Z" fill="{colour}" stroke="{DARK}" stroke-width="1.6" stroke-linejoin="round"/>'
        f'<path d="M-14 -15L-9 -9L-14 -5ZM14 -15L9 -9L14 -5Z" fill="{DARK}" fill-opacity="0.55"/>'
        f'<path d="M-15 1L-6 4L0 -2L6 4L15 1L8 9L4 17Q0 20 -4 17L-8 9Z" fill="{CREAM}"/>'
        f'<path d="M-9 -2L-4 1M9 -2L4 1" stroke="{DARK}" stroke-width="2.6" stroke-linecap="round"/>'
        f'<path d="M-4 14H4L0 19Z" fill="{DARK}" stroke="{DARK}" stroke-width="1.4" stroke-linejoin="round"/></g>'
    )


# --- animals ----------------------------------------------------------------------------------------------


class Figure(NamedTuple):
    """How an animal is drawn on its panel.

    Attributes:
        ground: Colour of the panel.
        body: Colour of the animal.
        dark: Colour of its lines.
        shape: The animal's body, as path data.
        lines: Lines upon it.
        eyes: Where its eyes are, and their radius.
        places: Where its spaces are, those that are filled together as one group.
        bonus: Where its bonus space is.
        worth: What is written beside the spaces, and where.
    """

    ground: str
    body: str
    dark: str
    shape: str
    lines: str
    eyes: tuple[tuple[float, float, float], ...]
    places: tuple[tuple[tuple[int, int], ...], ...]
    bonus: tuple[int, int]
    worth: tuple[tuple[str, int, int], ...]


FIGURES = (
    Figure(
        "#E9E4F0",
        "#B9A8D1",
        "#6A578A",
        "M30 28Q42 40 76 40Q110 40 122 28C128 52 130 84 126 112C122 146 100 162 76 162C52 162 30 146 26 112"
        "C22 84 24 52 30 28Z",
        "M76 64L71 70L76 78L81 70ZM26 100Q34 128 30 140M126 100Q118 128 122 140",
        ((56, 60, 12), (96, 60, 12)),
        tuple(((63, y), (89, y)) for y in (93, 118, 143)),
        (172, 104),
        tuple((str(PAIR_POINTS), 110, y) for y in (93, 118, 143)),
    ),
    Figure(
        "#E6EED9",
        "#B4CA93",
        "#5C773B",
        "M38 74C20 74 12 88 18 98C22 106 32 108 42 106C38 122 36 138 40 148Q34 158 48 160H124Q146 156 146 128"
        "C146 96 120 84 92 88C80 88 70 86 64 78C76 64 88 44 84 30C74 32 60 48 54 66C52 52 46 36 34 28C28 42 32 62 "
        "38 74Z" + disc(148, 138, 11),
        "M64 66Q72 54 78 42M46 64Q44 50 38 42M104 156Q92 138 108 124M16 94L6 92M17 98L8 101",
        ((34, 88, 3.6),),
        (((66, 112), (93, 106), (120, 118)),),
        (172, 104),
        ((str(RABBIT_POINTS), 82, 136),),
    ),
    Figure(
        "#F1E4D3",
        "#CDA57B",
        "#795230",
        "M30 66C12 70 8 88 16 98C22 106 30 106 34 108C32 130 36 150 52 158H92Q104 158 108 150"
        "C122 164 166 164 170 146C172 130 146 120 120 124C118 92 100 70 70 66C62 50 44 52 42 64Q36 64 30 66Z",
        "M128 130L160 156M148 130L168 148M124 146L146 126M136 158L166 134M12 88Q18 92 24 90M20 103V110H27V104",
        ((34, 80, 3.6),),
        (((54, 104), (82, 96), (80, 124)), ((124, 142), (150, 142))),
        (172, 96),
        ((str(BEAVER_TRIO_POINTS), 58, 130), (str(BEAVER_PAIR_POINTS), 106, 130), (f"+{BEAVER_BOTH_POINTS}", 108, 80)),
    ),
    Figure(
        "#F8E1D8",
        "#EAA790",
        "#9C4A35",
        "M6 106C20 70 52 54 84 62C104 66 122 82 134 100Q146 92 153 76Q151 104 155 136Q146 122 134 114"
        "C120 134 96 150 68 150C38 148 16 130 6 106Z",
        "M66 58Q78 40 100 48L94 64M62 150Q66 160 80 160L84 149M8 108Q16 112 24 108M36 74Q46 104 36 138",
        ((24, 96, 3.6),),
        (((54, 91), (81, 88), (108, 94), (54, 119), (81, 121), (108, 120)),),
        (178, 106),
        (),
    ),
    Figure(
        "#DCECE6",
        "#8CC0AC",
        "#376F5E",
        disc(76, 104, 48) + "M66 60C60 40 66 28 76 28C86 28 92 40 86 60ZM40 74C24 70 18 58 22 52C36 50 48 58 52 66Z"
        "M112 74C128 70 134 58 130 52C116 50 104 58 100 66ZM40 134C26 140 20 152 26 158C40 158 50 150 54 144Z"
        "M112 134C126 140 132 152 126 158C112 158 102 150 98 144Z",
        "M76 152V162" + disc(76, 104, 41),
        ((71, 40, 2.4), (81, 40, 2.4)),
        (((76, 78), (101, 96), (91, 125), (61, 125), (51, 96)),),
        (172, 104),
        (),
    ),
)


def draw_animal(figure: Figure) -> list[str]:
    """Draw an animal, and a light band through each group of its spaces."""
    eyes = [
        f'<path d="{disc(x, y, radius)}" fill="{CREAM}"/><path d="{disc(x, y, radius * 0.6)}" fill="{DARK}"/>'
        for x, y, radius in figure.eyes
    ]
    bands = ["M" + "L".join(f"{x} {y}" for x, y in group) for group in figure.places]
    style = f'fill="none" stroke="{figure.dark}" stroke-width="2" stroke-linecap="round" stroke-linejoin="round"'
    return [
        f'<path d="{figure.shape}" fill="{figure.body}"/><path d="{figure.lines}" {style} stroke-opacity="0.75"/>',
        *eyes,
        f'<path d="{"".join(bands)}" fill="none" stroke="#FFFFFF" stroke-width="29" stroke-linecap="round" '
        'stroke-linejoin="round" stroke-opacity="0.45"/>',
        *[write(text, x, y, 8, figure.dark, 0.5) for text, x, y in figure.worth],
    ]
