"""A set-up as JSON: checked against the components, put into a record, and read back.

Checks come before any change, so a refused set-up leaves the record as it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from spirits_env.game import check_keys, check_list, is_whole, shown
from spirits_env.games.forest.components import (
    CELLS,
    ICONS,
    POWERS,
    SPIRITS,
    TOKEN_CELLS,
    TOKENS,
    UNUSED_TOKENS,
    all_tiles,
    all_tokens,
)

_SHARED_KEYS = ("tiles", "tokens", "unused")
_SOLITAIRE_KEYS = ("tiles", "player_token", "opponent_tokens", "unused")


def fill_setup(state: Any, setup: Any) -> None:
    """Put a set-up into a record instead of a random deal.

    Args:
        state: A record with players and options set.
        setup: `{"tiles": [[spirit, symbols, power or None] * 48], "tokens": [[row, column, name] * 8],
            "unused": [name * 6]}`; solitaire has `"player_token"` (a name) and `"opponent_tokens"` (two
            names) instead of `"tokens"`.

    Raises:
        ValueError: If the set-up could not come out of the box; the record is then unchanged.
    """
    solitaire = int(state["players"]) == 1
    check_keys(setup, "setup", _SOLITAIRE_KEYS if solitaire else _SHARED_KEYS)
    tiles = _check_tiles(setup["tiles"])
    tokens = _check_solitaire_tokens(setup) if solitaire else _check_tokens(setup)
    unused = _names(setup["unused"], "unused", UNUSED_TOKENS)
    _check_pool(tokens + unused, all_tokens()[: len(SPIRITS)] if solitaire else all_tokens())
    state["spirit"], state["symbols"], state["power"] = np.array(tiles, np.int8).T
    state["token"] = tokens + [-1] * (len(TOKEN_CELLS) - len(tokens))
    state["unused"] = unused


def read_setup(state: Any) -> dict[str, Any]:
    """Return the set-up a record was dealt from, in the form `fill_setup` takes."""
    tiles = [
        [int(spirit), int(symbols), None if power < 0 else int(power)]
        for spirit, symbols, power in zip(state["spirit"], state["symbols"], state["power"], strict=True)
    ]
    names = [TOKENS[token] for token in state["token"] if token >= 0]
    unused = [TOKENS[token] for token in state["unused"]]
    if int(state["players"]) == 1:
        return {"tiles": tiles, "player_token": names[0], "opponent_tokens": names[1:], "unused": unused}
    tokens = [[row, column, name] for (row, column), name in zip(TOKEN_CELLS, names, strict=True)]
    return {"tiles": tiles, "tokens": tokens, "unused": unused}


def _check_tiles(tiles: Any) -> list[tuple[int, int, int]]:
    """Demand the 48 tiles of the box in some order."""
    found = []
    for cell, tile in enumerate(check_list(tiles, "setup's tiles", CELLS)):
        spirit, symbols, power = check_list(tile, f"setup's tile {cell}", 3)
        # Inside, -1 stands for no power; a set-up says null.
        if not (is_whole(spirit) and is_whole(symbols) and (power is None or (is_whole(power) and power >= 0))):
            raise ValueError(f"Tile {cell} of the setup is {shown(list(tile))}; give [spirit, symbols, power or null].")
        found.append((int(spirit), int(symbols), -1 if power is None else int(power)))
    difference = Counter(found)
    difference.subtract(Counter(all_tiles()))
    for (spirit, symbols, power), count in difference.items():
        if count > 0:
            printed = all_tiles().count((spirit, symbols, power))
            tile = [spirit, symbols, None if power < 0 else power]
            raise ValueError(
                f"The setup has the tile {shown(tile)} {printed + count} times; the box holds it {printed} times "
                f"(spirits 0-{len(SPIRITS) - 1}, powers 0-{len(POWERS) - 1})."
            )
    return found


def _names(names: Any, what: str, length: int) -> list[int]:
    """Turn token names into indices into `TOKENS`."""
    return [_token(name) for name in check_list(names, f"setup's {what}", length)]


def _token(name: Any) -> int:
    """Turn a token name into an index into `TOKENS`."""
    if not isinstance(name, str) or name not in TOKENS:
        raise ValueError(f"The setup names the token {shown(name)}; tokens are {', '.join(TOKENS)}.")
    return TOKENS.index(name)


def _check_tokens(setup: Mapping[str, Any]) -> list[int]:
    """Demand one token on each of the eight cells, in cell order."""
    on_cell: dict[tuple[int, int], int] = {}
    for entry in check_list(setup["tokens"], "setup's tokens", len(TOKEN_CELLS)):
        row, column, name = check_list(entry, "setup's token entry", 3)
        whole = is_whole(row) and is_whole(column)
        if not whole or (row, column) not in TOKEN_CELLS or (row, column) in on_cell:
            cells = ", ".join(str(cell) for cell in TOKEN_CELLS)
            raise ValueError(f"The setup lays a token on ({shown(row)}, {shown(column)}); lay one on each of {cells}.")
        on_cell[int(row), int(column)] = _token(name)
    return [on_cell[cell] for cell in TOKEN_CELLS]


def _check_solitaire_tokens(setup: Mapping[str, Any]) -> list[int]:
    """Demand the player's token and the opponent's two."""
    return [_token(setup["player_token"]), *_names(setup["opponent_tokens"], "opponent_tokens", 2)]


def _check_pool(tokens: list[int], pool: tuple[int, ...]) -> None:
    """Demand that dealt and unused tokens together are those of the box."""
    difference = Counter(tokens)
    difference.subtract(Counter(pool))
    for token, count in difference.items():
        if count > 0:
            raise ValueError(
                f"The setup has the token {TOKENS[token]!r} {pool.count(token) + count} times; "
                f"there are {pool.count(token)} in play (icons: {', '.join(ICONS)})."
            )
