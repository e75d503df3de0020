"""Reinforcement-learning environments for board games about spirits.

Importing it registers every id with Gymnasium and PettingZoo, and nothing heavier: rules come with the first game.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import gymnasium

from spirits_env.games import GAMES

if TYPE_CHECKING:
    from spirits_env.agents import Agent, make_agent
    from spirits_env.batch import Batch, Views
    from spirits_env.game import IllegalAction
    from spirits_env.single import SingleEnv
    from spirits_env.state import State
    from spirits_env.vector import VectorEnv

__all__ = [
    "GAMES",
    "Agent",
    "Batch",
    "IllegalAction",
    "SingleEnv",
    "State",
    "VectorEnv",
    "Views",
    "__version__",
    "env_id",
    "make_agent",
]
__version__ = "0.5.0"

NAMESPACE = "spirits"

_LAZY = {
    "Agent": "spirits_env.agents",
    "Batch": "spirits_env.batch",
    "IllegalAction": "spirits_env.game",
    "SingleEnv": "spirits_env.single",
    "State": "spirits_env.state",
    "VectorEnv": "spirits_env.vector",
    "Views": "spirits_env.batch",
    "make_agent": "spirits_env.agents",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)


def env_id(game: str, name: str) -> str:
    """Return the full id of one of a game's environments.

    Args:
        game: Name of the game.
        name: One of the names in its listing.
    """
    return f"{NAMESPACE}/{name}-v{GAMES[game].version}"


def _register_gymnasium() -> None:
    """Register the single-agent environments that are not registered yet."""
    for game, listing in GAMES.items():
        for name, fixed in listing.ids.items():
            if env_id(game, name) not in gymnasium.registry:
                gymnasium.register(
                    env_id(game, name),
                    entry_point="spirits_env.single:SingleEnv",
                    vector_entry_point="spirits_env.vector:VectorEnv",
                    kwargs={"game": game, "variant": name, **fixed},
                )


def _register_pettingzoo() -> None:
    """Register the multi-agent environments that are not registered yet."""
    try:
        from pettingzoo import aec_registry, register
    except ImportError:
        # The registry came with PettingZoo 1.27; before it, the games' modules `<game>_v<version>` are the only way.
        return
    for game, listing in GAMES.items():
        for name, fixed in listing.ids.items():
            if not fixed and env_id(game, name) not in aec_registry:
                register("aec", env_id(game, name), f"spirits_env.{game}_v{listing.version}:env")


_register_gymnasium()
_register_pettingzoo()
