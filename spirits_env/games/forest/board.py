"""How observation and actions lie on the four rows of tiles, for networks that share weights over cells.

What each attribute means is told by the network that reads it, `training.networks.TileBoard`.
"""

from __future__ import annotations

from typing import NamedTuple

from spirits_env.games.forest.components import COLUMNS, ROWS
from spirits_env.games.forest.observation import TILE_PLANES


class Board(NamedTuple):
    """Rows of tiles with ends, as `training.networks.TileBoard` wants them."""

    rows: int = ROWS
    columns: int = COLUMNS
    planes: tuple[str, ...] = TILE_PLANES
    present: str = "present"
    icons: tuple[str, str] = ("spirit", "power")
    counts: tuple[str, str, str, str] = ("own_icons", "icons", "icons_left", "missing")
    picked: str = "first_spirit"


BOARD = Board()
