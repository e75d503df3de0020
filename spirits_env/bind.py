"""Compiles a loop with a game's functions in the place of its global names, so that Numba can keep it on disk.

A loop is written once, as a template: plain code that calls `deal`, `legal`, `play` and so on, and other bound loops.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

from numba import njit
from numba.extending import is_jitted

from spirits_env import games
from spirits_env.game import Game

# The functions of a game that a template finds bound under their names.
FUNCTIONS = (
    "deal",
    "begin",
    "legal",
    "play",
    "observe",
    "scores",
    "breakdown",
    "winners",
    "returns",
    "redeal",
    "evaluate",
)


def check_listed(game: Game) -> None:
    """Refuse a game that is not in the list of games, whose names tell the loops on disk apart.

    Raises:
        ValueError: If the list has another game under this name, or none.
    """
    if game.name not in games.GAMES or games.load(game.name) is not game:
        raise ValueError(
            f"The game {game.name!r} is not the one that the list of games has under this name; "
            "put it into spirits_env.games.GAMES under a name of its own."
        )


@cache
def _source_hash(game: Game, template_file: str, loops: tuple[str, ...]) -> str:
    """Hash all that a bound loop is compiled from; other loops are named after their own hashes."""
    folder = Path(str(sys.modules[games.GAMES[game.name].module].__file__)).parent
    here = Path(__file__)
    digest = hashlib.sha256()
    for path in [here, here.parent / "game.py", Path(template_file), *sorted(folder.glob("*.py"))]:
        digest.update(path.read_bytes())
    for loop in loops:
        digest.update(loop.encode())
    return digest.hexdigest()[:12]


def bind(template: Callable[..., Any], game: Game, parallel: bool = False, nogil: bool = False, **loops: Any) -> Any:
    """Compile a template with a game's functions, and other bound loops, in the place of its global names.

    Numba keeps no closure over compiled functions on disk, but it does keep a function of a module: so each bound
    loop is one, with its own globals. Its name carries the hash of all sources it is compiled from, because
    Numba itself only looks at the file of the outermost function.

    Args:
        template: The loop; compiled helpers that it calls stand in its own file or in `game.py`.
        game: A game of the list.
        parallel: Whether `prange` runs in threads.
        nogil: Whether other threads of Python may run meanwhile.
        **loops: Other loops bound to the same game, by the names the template calls them.

    Returns:
        The compiled function; compiled at its first call, or fetched from disk.

    Raises:
        ValueError: If the game is not in the list of games.
    """
    check_listed(game)
    bindings = {name: getattr(game, name) for name in FUNCTIONS} | loops
    labels = tuple(loop.__name__ for loop in loops.values())
    label = f"{game.name}_{_source_hash(game, template.__code__.co_filename, labels)}{template.__name__}"
    bound = FunctionType(template.__code__, {**template.__globals__, **bindings}, label)
    bound.__qualname__ = label
    return njit(bound, cache=True, parallel=parallel, nogil=nogil)


def announce(loop: Any, what: str) -> None:
    """Say on the standard error stream that a bound loop must be compiled first; nothing if it lies on disk.

    Args:
        loop: The loop, not called yet.
        what: What it is, for people.
    """
    name = loop.__name__
    if is_jitted(loop) and not any(Path(str(loop.stats.cache_path)).glob(f"*{name}-*.nbi")):
        print(
            f"spirits_env: compiling {what} for this machine; this happens once and takes some seconds.",
            file=sys.stderr,
        )
