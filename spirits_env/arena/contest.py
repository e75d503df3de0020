"""What an arena's games come to: the facts of a contest, and the games of each table on each deal, as plain JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

_LISTS = ("remarks", "agents", "fingerprints")


@dataclass(frozen=True)
class Contest:
    """What all games of an arena share.

    Attributes:
        game: Name of the game.
        game_version: Version of its rules.
        package_version: Version of this package.
        players: Players at a table.
        options: All options of the game.
        remarks: What must be said of every result with these options.
        seed: The seed that all deals and choices follow from.
        agents: Names of the agents; an agent's number is its index.
        fingerprints: What tells each from others of its name; empty where the name says all.
    """

    game: str
    game_version: int
    package_version: str
    players: int
    options: dict[str, Any]
    remarks: tuple[str, ...]
    seed: int
    agents: tuple[str, ...]
    fingerprints: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The facts as plain JSON values; `from_dict` takes them back."""
        lists = {name: list(getattr(self, name)) for name in _LISTS}
        return {**asdict(self), **lists}

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Contest:
        """Rebuild a contest from what `to_dict` gave."""
        return cls(**{**value, **{name: tuple(value[name]) for name in _LISTS}})


@dataclass(frozen=True)
class Played:
    """The games of one table on one deal: one per seating of its agents. One line of a results file.

    Attributes:
        table: Agents at the table by number: agent and opponent of a field, or all agents of a mixed table.
        deal: The deal's number.
        seats: Who sat where: per game, the agent's number in each seat.
        share: Per game and seat: what the seat won; a shared win is shared, and each game's shares sum to 1.
        points: Per game and seat: what the seat wrote down.
        place: Per game and seat: how many seats did better; equal for seats that are level.
        plies: Decisions in each game.
        decisions: Per agent of `table`: decisions it made in these games.
        seconds: Per agent of `table`: time these took.
    """

    table: tuple[int, ...]
    deal: int
    seats: tuple[tuple[int, ...], ...]
    share: tuple[tuple[float, ...], ...]
    points: tuple[tuple[int, ...], ...]
    place: tuple[tuple[int, ...], ...]
    plies: tuple[int, ...]
    decisions: tuple[int, ...]
    seconds: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """The games as plain JSON values; `from_dict` takes them back."""
        return dict(vars(self))

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Played:
        """Rebuild games from what `to_dict` gave, or from JSON, where tuples are lists."""
        return cls(**{name: _frozen(part) for name, part in value.items()})


def _frozen(value: Any) -> Any:
    """Turn lists within lists into tuples."""
    return tuple(_frozen(part) for part in value) if isinstance(value, (list, tuple)) else value


@dataclass(frozen=True)
class GameTable:
    """All games of a contest as arrays, one row per game.

    Attributes:
        deal: Deal numbers, shape `(games,)`, int64.
        seats: Agent numbers, shape `(games, players)`, int64.
        share: What each seat won, shape `(games, players)`, float64.
        points: What each seat wrote down, shape `(games, players)`, float64.
        place: How many seats did better, shape `(games, players)`, int64.
        plies: Decisions, shape `(games,)`, int64.
    """

    deal: np.ndarray
    seats: np.ndarray
    share: np.ndarray
    points: np.ndarray
    place: np.ndarray
    plies: np.ndarray

    @classmethod
    def of(cls, played: Sequence[Played], players: int) -> GameTable:
        """Put the games of all tables and deals into arrays."""
        return cls(
            deal=np.array([each.deal for each in played for _ in each.seats], np.int64),
            seats=np.array([game for each in played for game in each.seats], np.int64).reshape(-1, players),
            share=np.array([game for each in played for game in each.share], np.float64).reshape(-1, players),
            points=np.array([game for each in played for game in each.points], np.float64).reshape(-1, players),
            place=np.array([game for each in played for game in each.place], np.int64).reshape(-1, players),
            plies=np.array([game for each in played for game in each.plies], np.int64),
        )
