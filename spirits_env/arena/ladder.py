"""The ladder: the anchors that every game's agents are measured against, the same for all games."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from spirits_env.arena.contest import Contest, Played
from spirits_env.arena.results import read
from spirits_env.arena.runner import make_contest, run

ANCHORS = ("random", "greedy", "search:25", "search:100", "search:400", "search:1600")
DEALS = 100


def climb(
    agents: Sequence[Any], path: str | Path, anchors_path: str | Path, game: str, **settings: Any
) -> tuple[Contest, list[Played]]:
    """Play the anchors and further agents, every one against every other.

    Args:
        agents: Agents to place on the ladder; none plays the anchors alone.
        path: Results file.
        anchors_path: Results file of the anchors alone: a new file begins with its games if it is there. It stays as
            it is.
        game: Name of the game.
        **settings: As `run` takes them.

    Returns:
        The contest and all its games.

    Raises:
        ValueError: As `run` does.
    """
    path, anchors_path = Path(path), Path(anchors_path)
    if agents and anchors_path.exists() and path.absolute().parent.is_dir() and not path.exists():
        facts = settings.get("players", 2), settings.get("seed", 1), settings.get("options")
        # With the agents, so that nothing is copied for one that can't play.
        wanted = make_contest([*ANCHORS, *agents], game, *facts)
        names, fingerprints = wanted.agents[: len(ANCHORS)], wanted.fingerprints[: len(ANCHORS)]
        found, _ = read(anchors_path, settings.get("mend", False))
        if found == replace(wanted, agents=names, fingerprints=fingerprints):
            fresh = path.with_name(path.name + ".new")
            fresh.write_bytes(anchors_path.read_bytes())
            fresh.replace(path)
    return run([*ANCHORS, *agents], game, path=path, **{"deals": DEALS, **settings})
