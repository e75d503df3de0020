"""Matches that measure an agent: the same deals for everybody, every seat in turn, and honest intervals.

One agent meets a field of copies of one opponent; games are planned before the first move, so that every game
counts that was started, however long it takes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spirits_env import __version__
from spirits_env import games as listing
from spirits_env.agents import Agent, make_agent
from spirits_env.arena.estimates import Estimate, deal_efficiency, estimate_mean, estimate_share
from spirits_env.arena.play import Side, check_count, deal_games, outcome, play_out, warm_up
from spirits_env.arena.tables import Table, markdown, mean, milliseconds, plain, span
from spirits_env.batch import Batch
from spirits_env.game import Game, stream

if TYPE_CHECKING:
    from rich.table import Table as RichTable

LANES = 1024
# Deals of an evaluation have seeds with this bit; training keeps below it, so they never share a seed.
EVALUATION_BIT = 1 << 63
_DEALS = 3

Progress = Callable[[int, int], None]


def deal_seed(seed: int, deal: int) -> int:
    """Return the seed that deals an evaluation's game.

    Seeds of evaluations are the whole numbers from 2**63 to 2**64 - 1, those of training the ones below: no
    policy is measured on a deal that was started from a seed it was trained with.

    Args:
        seed: The evaluation's seed.
        deal: The deal's number, from 0.
    """
    return EVALUATION_BIT | (stream(seed, _DEALS, deal) >> 1)


@dataclass(frozen=True)
class SeatRow:
    """How the agent fared in one seat.

    Attributes:
        seat: The seat.
        games: Games played there.
        share: Win share, shared wins counted 1 by the number of winners.
        points: Mean points.
    """

    seat: int
    games: int
    share: float
    points: float


@dataclass(frozen=True)
class Match:
    """One agent against a field of one opponent.

    Attributes:
        opponent: Who sat in the other seats; None in solitaire.
        games: Games played.
        deals: Deals, each played once per seat.
        distinct_deals: How many of the deals differ in more than their generator.
        share: Win share; a shared win counts 1 by the number of winners.
        points: Own points.
        margin: Own points minus the mean of the others'; None in solitaire.
        seats: The same by seat.
        shared_wins: Games played out and won by several seats, whoever they were.
        illegal: Illegal choices of the agent; each ended its game as a loss, with the points as they stood.
        opponent_illegal: Illegal choices of opponents; each ended its game as a loss of that seat.
        illegal_example: The first of these in words, with the agent's name; empty without any.
        decisions: Mean decisions per game, of all seats together.
        agent_ms: Mean time of the agent's decisions in milliseconds, as asked in batches.
        opponent_ms: The same of the opponent's; None if it had none.
        deal_efficiency: Variance of a game's win by that of a deal's mean and the number of seatings: how much more
            than independent games these tell. None if it can't be told.
    """

    opponent: str | None
    games: int
    deals: int
    distinct_deals: int
    share: Estimate
    points: Estimate
    margin: Estimate | None
    seats: tuple[SeatRow, ...]
    shared_wins: int
    illegal: int
    opponent_illegal: int
    illegal_example: str
    decisions: float
    agent_ms: float
    opponent_ms: float | None
    deal_efficiency: float | None


@dataclass(frozen=True)
class Result:
    """An evaluation: one agent against each of some opponents, all on the same deals.

    Attributes:
        agent: The agent measured.
        game: Name of the game.
        game_version: Version of its rules.
        package_version: Version of this package.
        players: Players in each game.
        options: All options of the game.
        remarks: What must be said of every result with these options.
        seed: The seed that all deals and choices follow from.
        par: Win share of equals, 1 / players; None in solitaire.
        matches: One per opponent.
    """

    agent: str
    game: str
    game_version: int
    package_version: str
    players: int
    options: dict[str, Any]
    remarks: tuple[str, ...]
    seed: int
    par: float | None
    matches: tuple[Match, ...]

    @property
    def illegal(self) -> int:
        """Illegal choices of anybody; 0 in a sound evaluation."""
        return sum(match.illegal + match.opponent_illegal for match in self.matches)

    def to_dict(self) -> dict[str, Any]:
        """The result as plain JSON values; `from_dict` takes them back."""
        matches = [_plain_match(match) for match in self.matches]
        return {**asdict(self), "remarks": list(self.remarks), "matches": matches}

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Result:
        """Rebuild a result from what `to_dict` gave."""
        matches = tuple(_match_of(match) for match in value["matches"])
        return cls(**{**value, "remarks": tuple(value["remarks"]), "matches": matches})

    def to_json(self) -> str:
        """The result as JSON text."""
        return json.dumps(self.to_dict(), indent=2)

    def to_markdown(self) -> str:
        """The result as Markdown tables."""
        return to_markdown([self])

    def __str__(self) -> str:
        return self.to_markdown()


def _plain_match(match: Match) -> dict[str, Any]:
    """A match as JSON values."""
    return {**asdict(match), "seats": [asdict(row) for row in match.seats]}


def _match_of(value: Mapping[str, Any]) -> Match:
    """A match from JSON values."""
    estimates = {key: value[key] and Estimate(**value[key]) for key in ("share", "points", "margin")}
    return Match(**{**value, **estimates, "seats": tuple(SeatRow(**row) for row in value["seats"])})


@dataclass(frozen=True)
class Games:
    """What came of a match's games, in the order of the plan: every deal in turn, the agent in seat 0, 1, ...

    Attributes:
        seat: The agent's seat in each game, shape `(games,)`.
        share: What each seat won, shape `(games, players)`; sums to 1 per game with several players.
        points: What each seat wrote down, shape `(games, players)`; as it stood where the game was forfeited.
        plies: Decisions in each game, shape `(games,)`.
        lost: The seat whose illegal choice ended the game, else -1, shape `(games,)`.
        distinct_deals: How many of the deals differ in more than their generator.
        sides: The agent's and the opponent's count of decisions, seconds and illegal choices.
    """

    seat: np.ndarray
    share: np.ndarray
    points: np.ndarray
    plies: np.ndarray
    lost: np.ndarray
    distinct_deals: int
    sides: tuple[Side, Side]


def evaluate(
    agent: Any,
    against: Any = ("random", "greedy"),
    game: str = listing.DEFAULT,
    players: int = 2,
    games: int = 1000,
    seed: int = 1,
    options: Mapping[str, Any] | None = None,
    lanes: int = LANES,
    progress: Progress | None = None,
) -> Result:
    """Measure an agent against a field of copies of one opponent, for each opponent.

    Every deal is played with the agent in each seat once. All opponents, and all agents measured with the same
    seed, meet the same deals; each game's agents draw from streams of their own.

    Args:
        agent: The agent to measure, in any form that `make_agent` takes.
        against: One opponent, or several in a list; none in solitaire.
        game: Name of the game.
        players: Players in each game.
        games: Games against each opponent, rounded up to whole deals: `ceil(games / players)` deals.
        seed: A whole number that all deals and choices follow from; see `deal_seed`.
        options: The game's options by name.
        lanes: Games played side by side; it changes speed, not results.
        progress: Called with the games finished and all games, now and then.

    Returns:
        Win shares, margins and all that belongs to them.

    Raises:
        ValueError: If an argument is not allowed or an agent can't play this game; nothing was played then.
        IllegalAction: If an agent returns no whole numbers at all.
    """
    rules = listing.load(game)
    players = rules.check_players(players)
    settings = rules.check_options(options or {})
    for name, value, least in (("games", games, 1), ("lanes", lanes, 1), ("seed", seed, 0)):
        check_count(name, value, least)
    games, seed, lanes = int(games), int(seed), int(lanes)
    learner = make_agent(agent)
    field = [make_agent(one) for one in _listed(against)]
    _check_field(rules, players, learner, field)
    deals = math.ceil(games / players)
    total = deals * players * max(len(field), 1)
    matches = []
    for number, opponent in enumerate(field or [None]):
        report = progress and _shifted(progress, number * deals * players, total)
        played = play_games(rules, players, settings, learner, opponent, deals, seed, lanes, report)
        matches.append(_summarise(played, opponent, players))
    return Result(
        agent=learner.name,
        game=rules.name,
        game_version=rules.version,
        package_version=__version__,
        players=players,
        options=settings,
        remarks=rules.remarks(settings),
        seed=seed,
        par=1 / players if players > 1 else None,
        matches=tuple(matches),
    )


def _listed(against: Any) -> list[Any]:
    """Opponents as a list, whether one or several were given."""
    return list(against) if isinstance(against, Sequence) and not isinstance(against, str) else [against]


def _check_field(rules: Game, players: int, learner: Agent, field: Sequence[Agent]) -> None:
    """Refuse agents that can't play, no opponents at all, and opponents in solitaire."""
    if players == 1 and field:
        raise ValueError(f"{rules.title} for one has no opponents; give none in against.")
    if players > 1 and not field:
        raise ValueError("No opponent was given; name one or more in against.")
    for agent in (learner, *field):
        agent.check(rules.name, players)


def _shifted(progress: Progress, before: int, total: int) -> Progress:
    """Turn the count of one match into that of all."""
    return lambda finished, _: progress(before + finished, total)


def play_games(
    rules: Game,
    players: int,
    options: Mapping[str, Any],
    agent: Agent,
    opponent: Agent | None,
    deals: int,
    seed: int,
    lanes: int = LANES,
    progress: Progress | None = None,
) -> Games:
    """Play each deal once with the agent in each seat; see `evaluate` for the arguments.

    Returns:
        The games in the order of the plan.
    """
    sides = (Side(agent), Side(opponent or agent))
    for one in {agent, opponent or agent}:
        warm_up(rules, players, options, one)
    count = deals * players
    seat = np.arange(count) % players
    who = (np.arange(players) != seat[:, None]).astype(np.int64)
    share = np.zeros((count, players))
    points = np.zeros((count, players))
    plies, lost = np.zeros(count, np.int64), np.zeros(count, np.int64)
    dealt: set[bytes] = set()
    for numbers in _chunks(count, lanes):
        seeds = [deal_seed(seed, int(number) // players) for number in numbers]
        batch = deal_games(rules, players, options, seeds, (numbers % players).tolist())
        dealt |= _fingerprints(batch)
        lost[numbers], decisions = play_out(batch, sides, who[numbers])
        plies[numbers] = decisions.sum(axis=1)
        share[numbers], points[numbers] = outcome(batch, lost[numbers])
        if progress:
            progress(int(numbers[-1]) + 1, count)
    return Games(seat, share, points, plies, lost, len(dealt), sides)


def _chunks(count: int, lanes: int) -> Iterator[np.ndarray]:
    """Cut the plan into runs of games that are played side by side."""
    for first in range(0, count, lanes):
        yield np.arange(first, min(first + lanes, count))


def _fingerprints(batch: Batch) -> set[bytes]:
    """The dealt games without their generators."""
    states = batch.states.copy()
    states["rng"] = 0
    return {state.tobytes() for state in states}


def _summarise(games: Games, opponent: Agent | None, players: int) -> Match:
    """Turn games into figures."""
    count = len(games.seat)
    rows = np.arange(count)
    share = games.share[rows, games.seat]
    own = games.points[rows, games.seat]
    margin = own - (games.points.sum(axis=1) - own) / max(players - 1, 1)
    by_deal = share.reshape(-1, players).mean(axis=1)
    shared = ((games.share > 0) & (games.share < 1)).any(axis=1)
    agent, other = games.sides
    return Match(
        opponent=opponent.name if opponent else None,
        games=count,
        deals=count // players,
        distinct_deals=games.distinct_deals,
        share=estimate_share(by_deal),
        points=estimate_mean(own.reshape(-1, players).mean(axis=1)),
        margin=estimate_mean(margin.reshape(-1, players).mean(axis=1)) if opponent else None,
        seats=tuple(_seat_row(seat, games.seat == seat, share, own) for seat in range(players)),
        shared_wins=int((shared & (games.lost < 0)).sum()),
        illegal=agent.illegal,
        opponent_illegal=other.illegal,
        illegal_example=agent.example or other.example,
        decisions=float(games.plies.mean()),
        agent_ms=1000 * agent.seconds / max(agent.decisions, 1),
        opponent_ms=1000 * other.seconds / other.decisions if other.decisions else None,
        deal_efficiency=deal_efficiency(share, by_deal),
    )


def _seat_row(seat: int, sat: np.ndarray, share: np.ndarray, points: np.ndarray) -> SeatRow:
    """Figures of the games where the agent sat here."""
    return SeatRow(seat, int(sat.sum()), float(share[sat].mean()), float(points[sat].mean()))


def _match_table(results: Sequence[Result]) -> Table:
    """All matches; the agent's figure comes before the opponent's where there are two."""
    rows = [
        (
            result.agent,
            match.opponent or "–",
            str(match.games),
            mean(match.share, "{:.1%}"),
            span(match.share, "{:.1%}"),
            mean(match.points, "{:.1f}"),
            mean(match.margin, "{:+.1f}"),
            span(match.margin, "{:+.1f}"),
            f"{match.shared_wins} ({match.shared_wins / match.games:.1%})",
            f"{match.illegal}, {match.opponent_illegal}" if match.opponent else str(match.illegal),
            milliseconds(match.agent_ms) + (f", {milliseconds(match.opponent_ms)}" if match.opponent else ""),
        )
        for result in results
        for match in result.matches
    ]
    interval = "95 % interval"
    columns = ("agent", "against", "games", "win share", interval, "points", "margin", interval)
    return Table((*columns, "shared wins", "illegal", "ms a decision"), tuple(rows), 2)


def _seat_table(results: Sequence[Result]) -> Table:
    """All matches by seat of the agent."""
    rows = [
        (result.agent, match.opponent or "–", str(row.seat), str(row.games), f"{row.share:.1%}", f"{row.points:.1f}")
        for result in results
        for match in result.matches
        for row in match.seats
    ]
    return Table(("agent", "against", "seat", "games", "win share", "points"), tuple(rows), 2)


def heading(result: Result) -> str:
    """One line that says what was played, the same for all results of a report."""
    match = result.matches[0]
    options = ", ".join(f"{name}={value}" for name, value in result.options.items())
    par = f"; equals would win {result.par:.1%}" if result.par else ""
    people = "1 player" if result.players == 1 else f"{result.players} players"
    remarks = "".join(f"; {remark}" for remark in result.remarks)
    return (
        f"{listing.load(result.game).title}, rules version {result.game_version}, {people}, {options}; "
        f"seed {result.seed}, {match.deals} deals ({match.distinct_deals} distinct), each with the agent in every seat"
        f"{par}; {match.decisions:.1f} decisions a game; spirits-env {result.package_version}{remarks}"
    )


def to_markdown(results: Sequence[Result]) -> str:
    """Results of one setting as Markdown: a line of facts and two tables.

    Args:
        results: At least one; all with the same game, players, options and seed.
    """
    tables = (_match_table(results), _seat_table(results))
    return "\n\n".join([plain(heading(results[0])) + ".", *map(markdown, tables)]) + "\n"


def to_rich(results: Sequence[Result]) -> list[RichTable]:
    """The tables of `to_markdown` for a terminal.

    Raises:
        ImportError: If rich is not installed.
    """
    try:
        from rich.table import Table as RichTable
    except ImportError:
        raise ImportError(
            'Tables in the terminal need rich, which is not installed; run `pip install "spirits-env[policy]"`.'
        ) from None
    tables = []
    for title, shown in ((heading(results[0]), _match_table(results)), ("By seat of the agent", _seat_table(results))):
        table = RichTable(title=title, title_justify="left", title_style="")
        for number, column in enumerate(shown.columns):
            table.add_column(column, justify="left" if number < shown.labels else "right", overflow="fold")
        for row in shown.rows:
            table.add_row(*row)
        tables.append(table)
    return tables
