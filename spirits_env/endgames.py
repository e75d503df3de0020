"""Judges agents by exact truth: one decision in each of a fixed set of end positions that a solver has worked out.

The positions are files of this package, one per game and number of players; `tests/endgames/make.py` writes them.
Exact play knows all cards, which no seat ever does: so a position is only in the set if the best actions of its seat
are the same in many different deals of all that it can't know. Who plays by what it sees can then find them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from spirits_env import __version__, games, record
from spirits_env.agents import Agent
from spirits_env.arena import Estimate, estimate_mean, estimate_share
from spirits_env.arena.tables import Table, markdown, mean, span
from spirits_env.batch import AGENTS, Batch
from spirits_env.game import is_whole, shown, stream
from spirits_env.state import State

FOLDER = Path(__file__).parent / "data" / "endgames"


@dataclass(frozen=True)
class Endgame:
    """A position near the end of a game, and the worth of every decision in it.

    Attributes:
        state: The position, all cards open; agents get its seat's view.
        left: How much of the game is left, counted in what the game runs out of (forest tiles).
        agents: Who played the game up to here, by seat.
        worlds: How many different deals of what the seat can't know were solved.
        values: Of each legal action, the mean over these of the margin of points that perfect play reaches.
        best: The best actions; the same in each of these deals.
    """

    state: State
    left: int
    agents: tuple[str, ...]
    worlds: int
    values: dict[int, float]
    best: tuple[int, ...]

    @property
    def lost(self) -> dict[int, float]:
        """Mean points that each legal action gives away."""
        most = max(self.values.values())
        return {action: most - value for action, value in self.values.items()}


@dataclass(frozen=True)
class Row:
    """How an agent decided in some end positions, each from a game of its own.

    Attributes:
        name: What the positions have in common.
        positions: Their number.
        optimal: Share of the decisions that were optimal.
        lost: Points lost per decision.
        uniform_optimal: The share that a uniform choice among the legal actions would get on average.
        uniform_lost: The points that it would lose.
    """

    name: str
    positions: int
    optimal: Estimate
    lost: Estimate
    uniform_optimal: float
    uniform_lost: float


@dataclass(frozen=True)
class EndgameResult:
    """An agent's decisions in the end positions of a game.

    Attributes:
        agent: The agent.
        game: Name of the game.
        game_version: Version of its rules.
        package_version: Version of this package.
        players: Players in each game.
        seed: The seed that the agent's chance follows from.
        total: All positions.
        phases: The same by phase.
        left: The same by how much of the game is left.
    """

    agent: str
    game: str
    game_version: int
    package_version: str
    players: int
    seed: int
    total: Row
    phases: tuple[Row, ...]
    left: tuple[Row, ...]

    def to_dict(self) -> dict[str, Any]:
        """The result as plain JSON values."""
        return {
            **asdict(self),
            "phases": [asdict(row) for row in self.phases],
            "left": [asdict(row) for row in self.left],
        }

    def to_json(self) -> str:
        """The result as JSON text."""
        return json.dumps(self.to_dict(), indent=2)


def path_of(game: str, players: int) -> Path:
    """Return where the end positions of a game belong, whether there are any or not."""
    return FOLDER / f"{game}_{players}p.jsonl"


def load(game: str = games.DEFAULT, players: int = 2) -> tuple[Endgame, ...]:
    """Load the end positions of a game.

    Raises:
        ValueError: If the game is unknown, there are none for it, or their file is damaged.
    """
    checked = games.load(game).check_players(players)
    path = path_of(game, checked)
    if not path.is_file():
        known = ", ".join(sorted(file.stem for file in FOLDER.glob("*.jsonl")))
        raise ValueError(f"There are no end positions for {game} with {players} players; there are some for {known}.")
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines() or [""], 1):
        try:
            found.append(parse(json.loads(line)))
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(
                f"Line {number} of {path} is no end position ({error}); install this package again."
            ) from None
    return tuple(found)


def parse(line: Mapping[str, Any]) -> Endgame:
    """Turn a line of a file of end positions, as `plain` makes it, into a position.

    Raises:
        ValueError: If its record does not replay, or a value is of another kind.
        KeyError: If a part of it is missing.
        TypeError: If it is of another kind.
    """
    return Endgame(
        state=record.replay(line["record"]),
        left=line["left"],
        agents=tuple(line["agents"]),
        worlds=line["worlds"],
        values={int(action): value for action, value in line["values"].items()},
        best=tuple(line["best"]),
    )


def plain(endgame: Endgame) -> dict[str, Any]:
    """Turn a position into plain JSON values, one line of a file."""
    return {
        "record": record.write(endgame.state),
        "left": endgame.left,
        "agents": list(endgame.agents),
        "worlds": endgame.worlds,
        "values": {str(action): value for action, value in endgame.values.items()},
        "best": list(endgame.best),
    }


def judge(agent: Agent, game: str = games.DEFAULT, players: int = 2, seed: int = 1) -> EndgameResult:
    """Ask an agent for one decision in each end position of a game.

    Each position comes from a game of its own, so all decisions count as independent.

    Args:
        agent: The agent; it sees what the seat to act may know.
        game: Name of the game.
        players: Number of players.
        seed: A whole number that the agent's chance follows from.

    Raises:
        ValueError: If there are no positions, the agent can't play this game, or the seed is no whole number.
        IllegalAction: If the agent chooses an illegal action.
    """
    if not is_whole(seed):
        raise ValueError(f"seed was {shown(seed)}; give a whole number.")
    endgames = load(game, players)
    agent.check(game, players)
    actions = _ask(agent, endgames, seed)
    chosen = list(zip(endgames, actions, strict=True))
    state = endgames[0].state
    return EndgameResult(
        agent=agent.name,
        game=game,
        game_version=state.game.version,
        package_version=__version__,
        players=state.players,
        seed=int(seed),
        total=_row("all", chosen),
        phases=_rows(chosen, lambda endgame: endgame.state.phase, state.game.phases),
        left=_rows(chosen, lambda endgame: str(endgame.left), [str(left) for left in _lefts(endgames)]),
    )


def _lefts(endgames: Sequence[Endgame]) -> list[int]:
    """Return how much may be left, in order."""
    return sorted({endgame.left for endgame in endgames})


def _ask(agent: Agent, endgames: Sequence[Endgame], seed: int) -> list[int]:
    """Return an agent's decisions, asked for all at once."""
    first = endgames[0].state
    batch = Batch(first.game, len(endgames), first.players, first.options)
    states = np.array([endgame.state.record for endgame in endgames], first.game.dtype)
    chance = [
        [stream(seed, AGENTS, seat, position) for seat in range(first.game.seats)] for position in range(len(endgames))
    ]
    batch.restore(
        {"states": states.view(np.uint8).reshape(len(endgames), -1), "chance": np.array(chance, np.uint64)},
    )
    return [int(action) for action in batch.ask(agent, batch.lanes)]


def _rows(
    chosen: Sequence[tuple[Endgame, int]], name_of: Callable[[Endgame], str], names: Sequence[str]
) -> tuple[Row, ...]:
    """Sum up the decisions by a name of their positions, in the order of the names."""
    groups = {name: [pair for pair in chosen if name_of(pair[0]) == name] for name in names}
    return tuple(_row(name, group) for name, group in groups.items() if group)


def _row(name: str, chosen: Sequence[tuple[Endgame, int]]) -> Row:
    """Sum up some decisions."""
    return Row(
        name=name,
        positions=len(chosen),
        optimal=estimate_share(np.array([float(action in endgame.best) for endgame, action in chosen])),
        lost=estimate_mean(np.array([endgame.lost[action] for endgame, action in chosen])),
        uniform_optimal=float(np.mean([len(endgame.best) / len(endgame.values) for endgame, _ in chosen])),
        uniform_lost=float(np.mean([np.mean(list(endgame.lost.values())) for endgame, _ in chosen])),
    )


def to_markdown(results: Sequence[EndgameResult]) -> str:
    """Show results as Markdown tables: one over all positions, and one per agent by phase and by what is left."""
    first = results[0]
    uniform = first.total
    parts = [
        f"{games.load(first.game).title}, {first.players} players: {uniform.positions} end positions, one decision "
        f"each, judged by exact play; seed {first.seed}. Intervals are 95 %. A uniform choice would find "
        f"{uniform.uniform_optimal:.1%} and lose {uniform.uniform_lost:.2f} points.",
        _table("agent", [(result.agent, result.total) for result in results]),
    ]
    for result in results:
        rows = [(f"phase {row.name}", row) for row in result.phases]
        rows += [(f"{row.name} left", row) for row in result.left]
        parts += [f"{result.agent}, by phase and by what is left:", _table("positions", rows)]
    return "\n\n".join(parts) + "\n"


def _table(head: str, rows: Sequence[tuple[str, Row]]) -> str:
    """Make a Markdown table."""
    columns = (head, "positions", "optimal decisions", "95 % interval", "points lost a decision", "95 % interval")
    cells = tuple(
        (
            name,
            str(row.positions),
            mean(row.optimal, "{:.1%}"),
            span(row.optimal, "{:.1%}"),
            mean(row.lost, "{:.2f}"),
            span(row.lost, "{:.2f}"),
        )
        for name, row in rows
    )
    return markdown(Table(columns, cells, 1))
