"""A game as JSON: written, read, checked and replayed.

A record holds the set-up and the decisions; scores and winners are kept to check the replay against.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from spirits_env import games
from spirits_env.game import check_keys, shown
from spirits_env.state import State

KEYS = ("game", "version", "players", "options", "setup", "actions", "scores", "winners")


def write(state: State) -> dict[str, Any]:
    """Turn a game, finished or not, into a record.

    Returns:
        A dict for `json.dump`; scores and winners are empty lists before the end.
    """
    over = state.seat < 0
    return {
        "game": state.game.name,
        "version": state.game.version,
        "players": state.players,
        "options": state.options,
        "setup": state.setup(),
        "actions": list(state.history),
        "scores": state.scores() if over else [],
        "winners": state.winners() if over else [],
    }


def save(state: State, path: str | Path) -> None:
    """Write a game to a JSON file."""
    Path(path).write_text(json.dumps(write(state)) + "\n", encoding="utf-8")


def load(path: str | Path, plies: int | None = None) -> State:
    """Replay the record in a JSON file.

    Args:
        path: The file.
        plies: Stop after so many decisions; None plays all.

    Raises:
        ValueError: If the file can't be read, is not JSON, or its record does not replay.
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{path} can't be read ({error.strerror}); give the path of a record.") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not a JSON file ({error}); give one written by spirits_env.record.save.") from None
    return replay(content, plies)


def walk(state: State) -> Iterator[State]:
    """Play a game once more, from its deal.

    Args:
        state: The game; stays as it is.

    Yields:
        The same other state, at each decision and where the game stands now.

    Raises:
        ValueError: If no set-up leads to the game.
    """
    again = State(state.game, state.players, seed=0, setup=state.setup(), **state.options)
    yield again
    for action in state.history:
        again.play(action)
        yield again


def replay(record: Any, plies: int | None = None) -> State:
    """Play a record through.

    Args:
        record: A dict as `write` makes it.
        plies: Stop after so many decisions; None plays all.

    Returns:
        The game after these decisions.

    Raises:
        ValueError: If a key is missing or unknown, the game or version is another one, the set-up is impossible, a
            decision is illegal, scores and winners are not those of the replayed game, or `plies` is no count.
    """
    if plies is not None and (type(plies) is not int or plies < 0):
        raise ValueError(f"plies was {shown(plies)}; give a whole number, 0 or more, or None for all.")
    state = _start(record)
    actions = record["actions"]
    if not isinstance(actions, list):
        raise ValueError(f"The record's actions are a {type(actions).__name__}; give a list of action ids.")
    for ply, action in enumerate(actions[:plies]):
        try:
            state.play(action)
        except ValueError as error:
            raise ValueError(f"The record does not replay at ply {ply}: {error}") from None
    if plies is None:
        _check_outcome(state, record)
    return state


def _start(record: Any) -> State:
    """Check a record's head and deal its set-up."""
    check_keys(record, "record", KEYS)
    if not isinstance(record["game"], str) or not isinstance(record["options"], Mapping):
        raise ValueError("The record needs a game name and a dict of options.")
    if not isinstance(record["setup"], Mapping):
        # To State, none would mean a random deal.
        raise ValueError(
            f"The record's setup was a {type(record['setup']).__name__}; give a dict as State.setup makes it."
        )
    game = games.load(record["game"])
    if type(record["version"]) is not int or record["version"] != game.version:
        version = shown(record["version"])
        raise ValueError(f"The record is of {game.name} version {version}; this package plays version {game.version}.")
    # Checked here, because as keyword arguments strange names would clash with State's own.
    options = game.check_options(record["options"])
    return State(game, record["players"], seed=0, setup=record["setup"], **options)


def _check_outcome(state: State, record: Mapping[str, Any]) -> None:
    """Compare scores and winners with those of the replayed game."""
    replayed = write(state)
    for key in ("scores", "winners"):
        if record[key] != replayed[key]:
            raise ValueError(f"The record says {key} {shown(record[key])}; its replay gives {replayed[key]!r}.")
