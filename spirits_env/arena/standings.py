"""What an arena's games say: who beats whom by how much, ratings, the worth of a seat, and where ratings mislead.

Every interval counts deals, not games: the games of a deal share its luck.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from spirits_env.arena import ratings
from spirits_env.arena.contest import Contest, GameTable, Played
from spirits_env.arena.estimates import Estimate, deal_efficiency, estimate_mean, estimate_share


@dataclass(frozen=True)
class Cell:
    """How one agent fared against another: a cell of the matrix.

    Attributes:
        agent: The agent's number in the contest.
        opponent: The opponent's number.
        games: Games that count here.
        deals: Deals they were played on.
        share: In a field: the agent's win share where all other seats are copies of the opponent. In mixed tables:
            how often it finished ahead of the opponent where both sat, level counted one half.
        margin: The agent's points minus the mean of the others' in a field, minus the opponent's in mixed tables.
        predicted: The share that the fitted ratings and seat offsets predict for the same seatings.
        shared_wins: Games among these that several seats won, whoever they were.
        plies: Mean decisions per game, of all seats.
        deal_efficiency: Variance of a game's share by that of a deal's mean and the number of seatings: how much more
            than independent games these tell. None if it can't be told.
    """

    agent: int
    opponent: int
    games: int
    deals: int
    share: Estimate
    margin: Estimate
    predicted: float
    shared_wins: int
    plies: float
    deal_efficiency: float | None

    @property
    def residual(self) -> float:
        """Measured share minus the predicted one: what the ratings do not tell."""
        return self.share.mean - self.predicted


@dataclass(frozen=True)
class SeatShare:
    """How an agent fared in one seat.

    Attributes:
        seat: The seat.
        games: Games it played there as the agent measured.
        share: Its win share in them; None without any.
    """

    seat: int
    games: int
    share: float | None


@dataclass(frozen=True)
class AgentRow:
    """One agent over all its games as the agent measured: not as one of a field's copies.

    Attributes:
        agent: The agent's number in the contest.
        name: Its name.
        games: Its games.
        share: Its win share; par is `Standings.par`. None without games, for who only filled fields.
        margin: Its points minus the mean of the others'; None without games.
        rating: Fitted rating in Elo; the anchor's is 0.
        low: Lower end of the rating's 95 % interval, 0 for the anchor; None where there are fewer than two deals.
        high: Upper end.
        lead: Its rating minus that of the agent next below; None for the last.
        lead_low: Lower end of the lead's 95 % interval. Doubt about the anchor is in every rating, but not in a lead.
        lead_high: Upper end.
        ms: Mean time of its decisions in milliseconds, as asked in batches, wherever it sat; None if it made none.
        decisions: Decisions it made, wherever it sat.
        seats: The same games by seat.
    """

    agent: int
    name: str
    games: int
    share: Estimate | None
    margin: Estimate | None
    rating: float
    low: float | None
    high: float | None
    lead: float | None
    lead_low: float | None
    lead_high: float | None
    ms: float | None
    decisions: int
    seats: tuple[SeatShare, ...]


@dataclass(frozen=True)
class SeatEffect:
    """What a seat is worth.

    Attributes:
        seat: The seat.
        share: Its win share over all games.
        elo: Fitted offset in Elo; the offsets of all seats sum to 0.
        low: Lower end of the offset's 95 % interval; None where there are fewer than two deals.
        high: Upper end.
    """

    seat: int
    share: Estimate
    elo: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Standings:
    """All that an arena's games say.

    Attributes:
        contest: What the games share.
        kind: "field": cells are one agent against copies of one opponent (two players: the pair); "mixed": tables of
            different agents, cells compare two of them in the games where both sat.
        games: Games in all.
        deals: Different deals they were played on.
        par: Win share of equals, 1 / players.
        cell_par: The share of equals in a cell: `par` in a field, 1/2 in mixed tables.
        plies: Mean decisions per game.
        shared_wins: Games won by several seats.
        anchor: Number of the agent whose rating is fixed at 0.
        resamples: Resamples of deals behind the intervals of ratings and seat offsets.
        log_likelihood: Of all games under the fit, in natural logarithms.
        cells: One per ordered pair of agents that met.
        rows: One per agent that sat at a table, best rating first.
        seats: One per seat.
        triples: Each a, b, c such that a beats b, b beats c and c beats a, smallest number first; one agent beats
            another if the whole 95 % interval of its share in their cell lies above `cell_par`.
    """

    contest: Contest
    kind: str
    games: int
    deals: int
    par: float
    cell_par: float
    plies: float
    shared_wins: int
    anchor: int
    resamples: int
    log_likelihood: float
    cells: tuple[Cell, ...]
    rows: tuple[AgentRow, ...]
    seats: tuple[SeatEffect, ...]
    triples: tuple[tuple[int, int, int], ...]

    @property
    def residuals(self) -> tuple[Cell, ...]:
        """The cells, those first whose share lies farthest from what the ratings predict."""
        return tuple(sorted(self.cells, key=lambda cell: -abs(cell.residual)))

    def cell(self, agent: int, opponent: int) -> Cell | None:
        """The cell of an ordered pair; None if they did not meet."""
        return next((c for c in self.cells if (c.agent, c.opponent) == (agent, opponent)), None)

    def to_dict(self) -> dict[str, Any]:
        """The standings as plain JSON values."""
        cells = [{**asdict(cell), "residual": cell.residual} for cell in self.cells]
        rows = [{**asdict(row), "seats": [asdict(seat) for seat in row.seats]} for row in self.rows]
        return {
            **asdict(self),
            "contest": self.contest.to_dict(),
            "cells": cells,
            "rows": rows,
            "seats": [asdict(seat) for seat in self.seats],
            "triples": [list(triple) for triple in self.triples],
        }


def standings(contest: Contest, played: Sequence[Played], bootstrap: int = 2000, seed: int = 1) -> Standings:
    """Work out the standings of a contest.

    The anchor of the ratings is "random" if it played, else the first agent that did.

    Args:
        contest: What the games share.
        played: The games: at least one, of fields only or of mixed tables only.
        bootstrap: Resamples of deals for the intervals of ratings and seat offsets.
        seed: Seed of the resampling.

    Raises:
        ValueError: If there are no games, or both kinds of tables.
    """
    kind = _kind(played, contest.players)
    table = GameTable.of(played, contest.players)
    agents, players = len(contest.agents), contest.players
    present = [agent for agent in range(agents) if (table.seats == agent).any()]
    anchor = next((agent for agent in present if contest.agents[agent] == "random"), present[0])
    fitted = ratings.fit(table.seats, table.place, agents, anchor)
    spans = None
    if len(np.unique(table.deal)) > 1:
        spans = ratings.bootstrap(table.deal, table.seats, table.place, agents, anchor, bootstrap, seed)
    meetings = _field_meetings(played, table, fitted) if kind == "field" else _mixed_meetings(table, fitted)
    cell_par = 1 / players if kind == "field" else 1 / 2
    cells = tuple(
        _cell(agent, opponent, table, meetings)
        for agent in present
        for opponent in present
        if ((meetings.agent == agent) & (meetings.opponent == opponent)).any()
    )
    order = sorted(present, key=lambda agent: -fitted.ratings[agent])
    rows = [
        _row(agent, below, contest.agents[agent], played, table, meetings, fitted, spans)
        for agent, below in zip(order, [*order[1:], None], strict=True)
    ]
    return Standings(
        contest=contest,
        kind=kind,
        games=len(table.deal),
        deals=len(np.unique(table.deal)),
        par=1 / players,
        cell_par=cell_par,
        plies=float(table.plies.mean()),
        shared_wins=int(_shared(table).sum()),
        anchor=anchor,
        resamples=bootstrap,
        log_likelihood=fitted.log_likelihood,
        cells=cells,
        rows=tuple(rows),
        seats=tuple(_seat(seat, table, fitted, spans) for seat in range(players)),
        triples=_triples(cells, cell_par),
    )


def _kind(played: Sequence[Played], players: int) -> str:
    """Tell fields from mixed tables; two players are a field of one."""
    sizes = {len(each.table) for each in played}
    if sizes == {2}:
        return "field"
    if sizes == {players}:
        return "mixed"
    if not sizes:
        raise ValueError("There are no games to work out standings from; give at least those of one table on one deal.")
    raise ValueError(
        f"The tables name {' or '.join(map(str, sorted(sizes)))} agents; give fields only (2 agents: who is measured, "
        f"who fills the other seats) or mixed tables only ({players} agents)."
    )


@dataclass(frozen=True, eq=False)
class _Meetings:
    """Who met whom: one row for each time that an agent was measured against an opponent.

    Attributes:
        game: Row of the `GameTable`.
        seat: Where the agent sat.
        agent: The agent.
        opponent: The opponent.
        share: What the agent made of it (see `Cell.share`).
        margin: By how many points.
        predicted: The share that the fit predicts.
    """

    game: np.ndarray
    seat: np.ndarray
    agent: np.ndarray
    opponent: np.ndarray
    share: np.ndarray
    margin: np.ndarray
    predicted: np.ndarray


def _field_meetings(played: Sequence[Played], table: GameTable, fitted: ratings.Fit) -> _Meetings:
    """The agent of each field against the copies in all other seats; of two players, each against the other."""
    players = table.seats.shape[1]
    measured = np.array([each.table[0] for each in played for _ in each.seats])
    mirror = np.array([each.table[0] == each.table[1] for each in played for _ in each.seats])
    counts = (table.seats == measured[:, None]) | (players == 2)
    game, seat = np.nonzero(counts & ~mirror[:, None])
    return _Meetings(
        game=game,
        seat=seat,
        agent=table.seats[game, seat],
        opponent=table.seats[game, (seat + 1) % players],
        share=table.share[game, seat],
        margin=_margins(table)[game, seat],
        predicted=ratings.chances(fitted.strengths(table.seats))[game, seat],
    )


def _mixed_meetings(table: GameTable, fitted: ratings.Fit) -> _Meetings:
    """Each agent of a table against each other one there."""
    players = table.seats.shape[1]
    pairs = np.array([(own, other) for own in range(players) for other in range(players) if own != other])
    game, pair = np.nonzero(table.seats[:, pairs[:, 0]] != table.seats[:, pairs[:, 1]])
    own, other = pairs[pair, 0], pairs[pair, 1]
    lead = table.place[game, other] - table.place[game, own]
    strengths = fitted.strengths(table.seats)
    return _Meetings(
        game=game,
        seat=own,
        agent=table.seats[game, own],
        opponent=table.seats[game, other],
        share=(1 + np.sign(lead)) / 2,
        margin=table.points[game, own] - table.points[game, other],
        predicted=ratings.chances(np.stack([strengths[game, own], strengths[game, other]], axis=1))[:, 0],
    )


def _margins(table: GameTable) -> np.ndarray:
    """Points of each seat minus the mean of the other seats."""
    players = table.points.shape[1]
    return (players * table.points - table.points.sum(axis=1, keepdims=True)) / (players - 1)


def _shared(table: GameTable) -> np.ndarray:
    """Whether several seats won a game."""
    return np.count_nonzero(table.share, axis=1) > 1


def _by_deal(deal: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Mean of the values of each deal."""
    _, row, count = np.unique(deal, return_inverse=True, return_counts=True)
    return np.bincount(row, values) / count


def _cell(agent: int, opponent: int, table: GameTable, meetings: _Meetings) -> Cell:
    """One cell of the matrix."""
    here = (meetings.agent == agent) & (meetings.opponent == opponent)
    share, games = meetings.share[here], np.unique(meetings.game[here])
    deal = table.deal[meetings.game[here]]
    by_deal = _by_deal(deal, share)
    return Cell(
        agent=agent,
        opponent=opponent,
        games=len(games),
        deals=len(by_deal),
        share=estimate_share(by_deal),
        margin=estimate_mean(_by_deal(deal, meetings.margin[here])),
        predicted=float(_by_deal(deal, meetings.predicted[here]).mean()),
        shared_wins=int(_shared(table)[games].sum()),
        plies=float(table.plies[games].mean()),
        deal_efficiency=deal_efficiency(share, by_deal),
    )


def _row(
    agent: int,
    below: int | None,
    name: str,
    played: Sequence[Played],
    table: GameTable,
    meetings: _Meetings,
    fitted: ratings.Fit,
    spans: ratings.Intervals | None,
) -> AgentRow:
    """One agent over all its games; `below` is the next in the order of ratings."""
    sat = np.unique(np.stack([meetings.game, meetings.seat], axis=1)[meetings.agent == agent], axis=0)
    game, seat = sat[:, 0], sat[:, 1]
    deal, share, margin = table.deal[game], table.share[game, seat], _margins(table)[game, seat]
    spent = [(each.table.index(agent), each) for each in played if agent in each.table]
    decisions = sum(each.decisions[at] for at, each in spent)
    low, high = spans.ratings[agent].tolist() if spans else (None, None)
    lead_low, lead_high = spans.lead(agent, below) if spans and below is not None else (None, None)
    return AgentRow(
        agent=agent,
        name=name,
        games=len(game),
        share=estimate_share(_by_deal(deal, share)) if len(game) else None,
        margin=estimate_mean(_by_deal(deal, margin)) if len(game) else None,
        rating=float(fitted.ratings[agent]),
        low=low,
        high=high,
        lead=float(fitted.ratings[agent] - fitted.ratings[below]) if below is not None else None,
        lead_low=lead_low,
        lead_high=lead_high,
        ms=1000 * sum(each.seconds[at] for at, each in spent) / decisions if decisions else None,
        decisions=decisions,
        seats=tuple(_seat_share(number, share[seat == number]) for number in range(table.seats.shape[1])),
    )


def _seat_share(seat: int, share: np.ndarray) -> SeatShare:
    """An agent's games in one seat."""
    return SeatShare(seat, len(share), float(share.mean()) if len(share) else None)


def _seat(seat: int, table: GameTable, fitted: ratings.Fit, spans: ratings.Intervals | None) -> SeatEffect:
    """What one seat is worth."""
    low, high = spans.seat_offsets[seat].tolist() if spans else (None, None)
    share = estimate_share(_by_deal(table.deal, table.share[:, seat]))
    return SeatEffect(seat, share, float(fitted.seat_offsets[seat]), low, high)


def _triples(cells: Sequence[Cell], par: float) -> tuple[tuple[int, int, int], ...]:
    """Where each of three agents beats the next, all round."""
    beats = {(c.agent, c.opponent) for c in cells if c.share.low is not None and c.share.low > par}
    return tuple(
        sorted((a, b, c) for a, b in beats for middle, c in beats if middle == b and (c, a) in beats and a < min(b, c))
    )
