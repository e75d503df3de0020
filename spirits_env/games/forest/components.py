"""What lies in the box of Spirits of the Forest: tiles, tokens, gems and cells, as data.

Counts follow the printed components: 48 tiles with 65 spirit symbols and 27 power icons, 14 favor tokens.
"""

from __future__ import annotations

import numpy as np

SPIRITS = (
    "branches",
    "moss",
    "dew_drops",
    "mushrooms",
    "flowers",
    "web_spiders",
    "fruits",
    "vines",
    "leaves",
)
POWERS = ("moon", "sun", "fire")
ICONS = SPIRITS + POWERS
TOKENS = (*ICONS, "plus")
PLUS_TOKEN = len(ICONS)
TOKEN_COUNTS = (1,) * len(ICONS) + (2,)

ROWS, COLUMNS = 4, 12
CELLS = ROWS * COLUMNS
TOKEN_CELLS = ((0, 1), (0, 10), (1, 2), (1, 9), (2, 3), (2, 8), (3, 4), (3, 7))
UNUSED_TOKENS = 6
MAX_SEATS = 4
GEMS = (0, 0, 3, 2, 2)
MISSING_PENALTY = 3

# Per spirit: single tiles without a power, single tiles with moon, sun and fire, double tiles.
TILE_COUNTS = (
    (1, 1, 1, 1, 2),
    (0, 1, 1, 1, 1),
    (0, 1, 1, 1, 2),
    (0, 1, 1, 1, 2),
    (0, 1, 1, 0, 2),
    (1, 1, 1, 1, 3),
    (0, 1, 1, 2, 1),
    (1, 1, 1, 1, 2),
    (1, 1, 1, 1, 2),
)

# The colours people know the spirits by.
COLOURS = (
    "#535830",
    "#526937",
    "#256E68",
    "#654533",
    "#4D4E39",
    "#6B597F",
    "#B24655",
    "#DF9340",
    "#793A76",
)


def all_tiles() -> tuple[tuple[int, int, int], ...]:
    """Every tile as (spirit, symbols, power), power -1 for none, in table order."""
    tiles = []
    for spirit, (plain, moon, sun, fire, double) in enumerate(TILE_COUNTS):
        tiles += [(spirit, 1, -1)] * plain
        for power, count in enumerate((moon, sun, fire)):
            tiles += [(spirit, 1, power)] * count
        tiles += [(spirit, 2, -1)] * double
    return tuple(tiles)


def all_tokens() -> tuple[int, ...]:
    """Every favor token as an index into `TOKENS`."""
    return tuple(token for token, count in enumerate(TOKEN_COUNTS) for _ in range(count))


TILE_SPIRIT = np.array([tile[0] for tile in all_tiles()], np.int8)
TILE_SYMBOLS = np.array([tile[1] for tile in all_tiles()], np.int8)
TILE_POWER = np.array([tile[2] for tile in all_tiles()], np.int8)
TOKEN_POOL = np.array(all_tokens(), np.int8)
TOKEN_AT = np.full(CELLS, -1, np.int8)
for _index, (_row, _column) in enumerate(TOKEN_CELLS):
    TOKEN_AT[_row * COLUMNS + _column] = _index
ICON_TOTALS = np.array(
    [sum(tile[1] for tile in all_tiles() if tile[0] == spirit) for spirit in range(len(SPIRITS))]
    + [sum(tile[2] == power for tile in all_tiles()) for power in range(len(POWERS))],
    np.int8,
)
GEM_SUPPLY = np.array(GEMS, np.int8)
