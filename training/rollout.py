"""Plays whole games with a network in the seats, and credits each decision with what came of it.

Games are dealt anew for every rollout from its number, so a run goes on exactly without keeping any game.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numba import njit

from spirits_env.agents import Agent
from spirits_env.batch import Batch, copied
from spirits_env.bind import bind
from spirits_env.game import Game, stream

# The name a loop below finds bound to its game's function.
breakdown: Any

# Purposes that name streams of chance of a run, beside a rollout's number.
_DEALS, _SEATS, CHOICES, ORDER, OPPONENT = range(10, 15)


def run_seed(seed: int, purpose: int, *keys: int) -> int:
    """Name a stream of a run's chance by a number that torch, NumPy and the games take; training's keep below 2**63."""
    return stream(seed, purpose, *keys) >> 1


class Asked(NamedTuple):
    """Seats of the learner that are to act, one row each, from games of any number of players.

    Attributes:
        states: Copies of the games, shape `(k,)`: of the true ones, for a critic that sees what is hidden.
        observation: What the seats see, shape `(k, size)`, int8.
        mask: Their legal actions, shape `(k, actions)`, int8.
        seat: Which seats, shape `(k,)`, int64.
        lane: In which games of the rollout, shape `(k,)`, int64.
    """

    states: np.ndarray
    observation: np.ndarray
    mask: np.ndarray
    seat: np.ndarray
    lane: np.ndarray


class Choices(Protocol):
    """Chooses for the learner in a rollout, and says what is to be kept of each decision."""

    def choose(self, asked: Asked) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Choose for some seats.

        Returns:
            Legal actions, shape `(k,)`, int64, and arrays with one row per seat.
        """


@dataclass(frozen=True)
class Table:
    """Games for one number of players, played side by side in a rollout.

    Attributes:
        batch: The games.
        learner: Whether the learner sits in a seat, shape `(lanes, players)`; frozen opponents have the others.
        opponent: Which opponent a lane has, shape `(lanes,)`; of no meaning where the learner has all seats.
        first_lane: The rollout's number of the first lane.
    """

    batch: Batch
    learner: np.ndarray
    opponent: np.ndarray
    first_lane: int


@dataclass(frozen=True)
class Rollout:
    """The learner's decisions in some whole games, in the order in which they were made; n decisions, k games.

    Attributes:
        observation: What the seat to act saw, shape `(n, size)`, int8.
        mask: Its legal actions, shape `(n, actions)`, int8.
        action: What it chose, shape `(n,)`, int64.
        lane: In which game, shape `(n,)`, int64.
        seat: The seat, shape `(n,)`, int64.
        kept: What else was kept of each decision, by name, each with n rows.
        utility: What each seat was paid at the end of each game, shape `(k, seats)`, float32; 0 for absent seats.
        margin: Points above the mean of the others, shape `(k, seats)`, float32.
        lead: Whether a seat ended with points above 0 in a category, shape `(k, seats, categories)`, int8.
        players: Players in each game, shape `(k,)`, int64.
        learner: Whether the learner sat in a seat, shape `(k, seats)`, bool.
    """

    observation: np.ndarray
    mask: np.ndarray
    action: np.ndarray
    lane: np.ndarray
    seat: np.ndarray
    kept: dict[str, np.ndarray]
    utility: np.ndarray
    margin: np.ndarray
    lead: np.ndarray
    players: np.ndarray
    learner: np.ndarray

    def __len__(self) -> int:
        return len(self.action)

    def seats_from(self, values: np.ndarray) -> np.ndarray:
        """Look up per-seat values of games for each decision, the seats counted from the one that decided.

        Args:
            values: Shape `(k, seats, ...)`.

        Returns:
            Shape `(n, seats, ...)`.
        """
        return values[self.lane[:, None], self.seat_order]

    @property
    def seat_order(self) -> np.ndarray:
        """The seats counted from the one that decided, absent ones last, shape `(n, seats)`, int64."""
        seats = self.utility.shape[1]
        players = self.players[self.lane][:, None]
        around = np.arange(seats)[None]
        order: np.ndarray = np.where(around < players, (self.seat[:, None] + around) % players, around)
        return order

    @property
    def present(self) -> np.ndarray:
        """Whether somebody plays in the seats counted from the one that decided, shape `(n, seats)`, bool."""
        here: np.ndarray = np.arange(self.utility.shape[1])[None] < self.players[self.lane][:, None]
        return here


def _write_leads(states, lead):
    """Write for every seat whether it has points above 0 in each category."""
    points = np.zeros(lead.shape[2], np.int16)
    for i in range(states.shape[0]):
        state = states[i]
        for seat in range(state.players):
            breakdown(state, seat, points)
            for category in range(points.shape[0]):
                lead[i, seat, category] = points[category] > 0


@njit(cache=True)
def credit(lane, seat, value, utility, gamma, trace, advantage):
    """Write the advantage of each decision: generalised advantage estimation along each seat's own decisions.

    The successor of a decision is the same seat's next one in the game, and a seat's last decision is followed by
    what the seat was paid (Schulman et al., "High-dimensional continuous control using generalized advantage
    estimation", ICLR 2016, equation 16, once per seat).

    Args:
        lane: Game of each decision, in the order in which they were made, shape `(n,)`.
        seat: Seat that made it, shape `(n,)`.
        value: What it expected, shape `(n,)`, float32.
        utility: What each seat was paid in each game, shape `(k, seats)`, float32.
        gamma: Discount per own decision.
        trace: The estimate's lambda.
        advantage: Written, shape `(n,)`, float32.
    """
    reward = utility.copy()
    following = np.zeros(utility.shape, np.float32)
    pending = np.zeros(utility.shape, np.float32)
    for i in range(len(lane) - 1, -1, -1):
        k, s = lane[i], seat[i]
        surprise = reward[k, s] + gamma * following[k, s] - value[i]
        pending[k, s] = surprise + gamma * trace * pending[k, s]
        advantage[i] = pending[k, s]
        following[k, s] = value[i]
        reward[k, s] = 0.0


def share_lanes(count: int, shares: Sequence[float]) -> list[int]:
    """Share games out among player counts, in proportion, with at least one each."""
    total = sum(shares)
    lanes = [max(1, round(count * share / total)) for share in shares]
    lanes[lanes.index(max(lanes))] += count - sum(lanes)
    return lanes


class Games:
    """The games of a run: some lanes for each number of players.

    Args:
        game: The game.
        players: Numbers of players.
        lanes: Games for each of them.
        options: The game's options.
        share: Share of the games with an opponent in all seats but one.
    """

    def __init__(
        self,
        game: Game,
        players: Sequence[int],
        lanes: Sequence[int],
        options: dict[str, Any],
        share: float = 0.0,
    ) -> None:
        self.game = game
        self.share = share
        self.batches = [Batch(game, count, n, options) for n, count in zip(players, lanes, strict=True)]
        self._leads = bind(_write_leads, game)

    def deal(self, seed: int, number: int, opponents: Sequence[Agent]) -> list[Table]:
        """Deal the games of a rollout.

        Each frozen opponent sits in all seats of a game but one, from the first decision to the last; the learner's
        seat there and the opponent go round from game to game, so that both are spread evenly.

        Args:
            seed: The run's seed.
            number: The rollout's number.
            opponents: Frozen agents.
        """
        tables = []
        first = 0
        for batch in self.batches:
            count, players = len(batch), batch.players
            batch.reset([run_seed(seed, _DEALS, number, first + lane) for lane in range(count)])
            met = round(count * self.share) if opponents else 0
            learner = np.ones((count, players), np.bool_)
            turn = run_seed(seed, _SEATS, number) % (players * max(1, len(opponents))) + np.arange(met)
            learner[:met] = np.arange(players)[None] == (turn % players)[:, None]
            opponent = np.full(count, -1)
            if met:
                opponent[:met] = turn // players % len(opponents)
            tables.append(Table(batch, learner, opponent, first))
            first += count
        return tables

    def play(self, choices: Choices, seed: int, number: int, opponents: Sequence[Agent] = ()) -> Rollout:
        """Play a rollout: every game from its deal to its end.

        Args:
            choices: The learner's.
            seed: The run's seed.
            number: The rollout's number.
            opponents: Frozen agents.

        Raises:
            IllegalAction: If anybody chooses an illegal action.
        """
        tables = self.deal(seed, number, opponents)
        steps: list[dict[str, np.ndarray]] = []
        while True:
            for table in tables:
                play_forced(table.batch)
            playing = [np.flatnonzero(table.batch.seat >= 0) for table in tables]
            if not any(map(len, playing)):
                return self._gather(tables, steps)
            self._answer(tables, playing, choices, opponents, steps)

    def _answer(
        self,
        tables: Sequence[Table],
        playing: Sequence[np.ndarray],
        choices: Choices,
        opponents: Sequence[Agent],
        steps: list[dict[str, np.ndarray]],
    ) -> None:
        """Let whoever is to act decide once in each of some lanes of each table; the learner in all of them at once."""
        actions = [np.zeros(len(table.batch), np.int64) for table in tables]
        mine: list[np.ndarray] = []
        for table, lanes, chosen in zip(tables, playing, actions, strict=True):
            own = table.learner[lanes, table.batch.seat[lanes]]
            mine.append(lanes[own])
            theirs = lanes[~own]
            for number in np.unique(table.opponent[theirs]):
                part = theirs[table.opponent[theirs] == number]
                chosen[part] = table.batch.ask(opponents[number], part)
        if any(map(len, mine)):
            asked = ask(tables, mine)
            answer, kept = choices.choose(asked)
            steps.append({**asked._asdict(), "action": answer, **kept})
            del steps[-1]["states"]
            start = 0
            for lanes, chosen in zip(mine, actions, strict=True):
                chosen[lanes] = answer[start : start + len(lanes)]
                start += len(lanes)
        for table, lanes, chosen in zip(tables, playing, actions, strict=True):
            table.batch.step(chosen[lanes], lanes)

    def _gather(self, tables: Sequence[Table], steps: list[dict[str, np.ndarray]]) -> Rollout:
        """Put the decisions and the ends of the games together."""
        seats, categories = self.game.seats, len(self.game.categories)
        count = sum(len(table.batch) for table in tables)
        utility, margin = np.zeros((count, seats), np.float32), np.zeros((count, seats), np.float32)
        lead = np.zeros((count, seats, categories), np.int8)
        players = np.zeros(count, np.int64)
        learner = np.zeros((count, seats), np.bool_)
        for table in tables:
            batch = table.batch
            rows = slice(table.first_lane, table.first_lane + len(batch))
            n = batch.players
            players[rows] = n
            learner[rows, :n] = table.learner
            batch.count(batch.lanes)
            utility[rows] = batch.utility
            points = batch.points[:, :n].astype(np.float32)
            margin[rows, :n] = points - (points.sum(axis=1, keepdims=True) - points) / (n - 1)
            self._leads(batch.states, lead[rows])
        joined = {name: np.concatenate([step[name] for step in steps]) for name in steps[0]}
        own = {name: joined.pop(name) for name in ("observation", "mask", "action", "lane", "seat")}
        return Rollout(
            **own,
            kept=joined,
            utility=utility,
            margin=margin,
            lead=lead,
            players=players,
            learner=learner,
        )


def ask(tables: Sequence[Table], lanes: Sequence[np.ndarray]) -> Asked:
    """Put what the seats to act in some lanes of each table see into one list."""
    pairs = [(table, rows) for table, rows in zip(tables, lanes, strict=True) if len(rows)]
    return Asked(
        states=np.concatenate([copied(table.batch.states, rows) for table, rows in pairs]),
        observation=np.concatenate([table.batch.observation[rows] for table, rows in pairs]),
        mask=np.concatenate([table.batch.mask[rows] for table, rows in pairs]),
        seat=np.concatenate([table.batch.seat[rows] for table, rows in pairs]).astype(np.int64),
        lane=np.concatenate([rows + table.first_lane for table, rows in pairs]),
    )


def play_forced(batch: Batch) -> None:
    """Play on in every lane through decisions that leave no choice, which nobody can learn from."""
    while True:
        lanes = np.flatnonzero((batch.seat >= 0) & (batch.mask.sum(axis=1) == 1))
        if not len(lanes):
            return
        batch.step(batch.mask[lanes].argmax(axis=1), lanes)


def mixed_utility(rollout: Rollout, scales: np.ndarray, weight: float) -> np.ndarray:
    """Mix what the game pays with the squashed margin.

    Args:
        rollout: Whole games.
        scales: Points of margin that count as much as 0.76 of a win, by number of players, shape `(seats + 1,)`.
        weight: Share of tanh(margin / scale).

    Returns:
        Shape `(k, seats)`, float32.
    """
    squashed = squashed_margin(rollout, scales)
    mixed: np.ndarray = ((1 - weight) * rollout.utility + weight * squashed).astype(np.float32)
    return mixed


def squashed_margin(rollout: Rollout, scales: np.ndarray) -> np.ndarray:
    """Return tanh(margin / scale) of every seat of every game, shape `(k, seats)`, float32."""
    squashed: np.ndarray = np.tanh(rollout.margin / scales[rollout.players][:, None]).astype(np.float32)
    return squashed
