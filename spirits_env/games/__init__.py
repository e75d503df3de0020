"""The list of games: adding a game is a folder and one line here.

Plain data only, so that registering every id imports no rules.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spirits_env.game import Game


@dataclass(frozen=True)
class Listing:
    """What must be known of a game before its rules are imported.

    Attributes:
        module: Where its `GAME` lives.
        version: Rules version, the `N` of `-vN`.
        ids: Gymnasium names (without namespace and version) and the arguments each stands for.
    """

    module: str
    version: int
    ids: dict[str, dict[str, Any]] = field(default_factory=dict)


GAMES = {
    "forest": Listing("spirits_env.games.forest", 0, {"Forest": {}, "ForestSolo": {"players": 1}}),
    "wild": Listing("spirits_env.games.wild", 0, {"Wild": {}}),
}

# The game of whoever names none.
DEFAULT = next(iter(GAMES))


@cache
def load(name: str) -> Game:
    """Import a game by name.

    Raises:
        ValueError: If there is no such game.
    """
    if name not in GAMES:
        raise ValueError(f"There is no game named {name!r}; the games are {', '.join(GAMES)}.")
    game: Game = import_module(GAMES[name].module).GAME
    return game
