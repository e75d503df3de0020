"""N games in one array of records, stepped by one compiled loop; every face stands on these kernels.

The loops are written once and bound to a game's functions, so that Numba can keep each game's on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import get_num_threads, njit, prange, set_num_threads

from spirits_env import games
from spirits_env.bind import announce, bind
from spirits_env.game import Game, IllegalAction, fork, stream

# The names a kernel below finds bound to its game's functions.
deal: Any
begin: Any
legal: Any
play: Any
observe: Any
scores: Any
winners: Any
returns: Any
redeal: Any
evaluate: Any
# And these to other loops of the game.
write_outcome: Any
step: Any

NO_LANE = -1

# What the stepping loop does in each lane: play a decision, deal a new game, or begin one from a set-up.
PLAY, DEAL, BEGIN = range(3)


@njit
def first_illegal(lanes, actions, mask):
    """Return the first position in `lanes` whose action the mask does not allow, else NO_LANE."""
    for j in range(lanes.shape[0]):
        action = actions[j]
        if action < 0 or action >= mask.shape[1] or mask[lanes[j], action] == 0:
            return j
    return NO_LANE


def _write_outcome(state, utility, points, won):
    """Write a game's utilities, scores and winners as they stand, 0 for seats that nobody plays in."""
    for seat in range(points.shape[0]):
        utility[seat] = 0
        points[seat] = 0
        won[seat] = 0
    scores(state, points)
    winners(state, points, won)
    returns(state, points, won, utility)


def _step(states, lanes, actions, what, autoreset, mask, observation, seat, done, utility, points, won):
    """Play one decision in each lane, deal it or begin it, and write what the next seat to act sees.

    Nothing is played if any action is illegal: the first such position in `lanes` is returned, else NO_LANE. Dealing
    and playing share this loop because most of the time it takes to compile goes into what both need.
    """
    if what == PLAY:
        wrong = first_illegal(lanes, actions, mask)
        if wrong != NO_LANE:
            return wrong
    for j in range(lanes.shape[0]):
        i = lanes[j]
        state = states[i]
        if what == PLAY:
            play(state, actions[j])
        done[i] = state.seat < 0 and what == PLAY
        if done[i]:
            write_outcome(state, utility[i], points[i], won[i])
        if what == DEAL or (autoreset and done[i]):
            deal(state)
        if what != PLAY or (autoreset and done[i]):
            begin(state)
        seat[i] = state.seat
        legal(state, mask[i])
        observe(state, max(state.seat, 0), observation[i])
    return NO_LANE


def _step_threads(
    states, lanes, actions, what, autoreset, mask, observation, seat, done, utility, points, won, threads
):
    """Do as `_step` does, in several threads, each on its share of the lanes with the loop of one thread."""
    if what == PLAY:
        wrong = first_illegal(lanes, actions, mask)
        if wrong != NO_LANE:
            return wrong
    count = lanes.shape[0]
    for share in prange(threads):
        part = slice(count * share // threads, count * (share + 1) // threads)
        step(
            states,
            lanes[part],
            actions[part],
            what,
            autoreset,
            mask,
            observation,
            seat,
            done,
            utility,
            points,
            won,
        )
    return NO_LANE


def _view(states, lanes, seats, mask, observation):
    """Write what the given seats see; the mask of a seat that is not to act is 0."""
    for j in range(lanes.shape[0]):
        state = states[lanes[j]]
        observe(state, np.int64(seats[j]), observation[j])
        if state.seat == seats[j]:
            legal(state, mask[j])
        else:
            mask[j] = 0


def _outcome(states, lanes, utility, points, won):
    """Write utilities, scores and winners of each lane as they stand."""
    for j in range(lanes.shape[0]):
        i = lanes[j]
        write_outcome(states[i], utility[i], points[i], won[i])


def _redeal(states, seats):
    """Redraw in each record what a seat can't know."""
    for i in range(states.shape[0]):
        redeal(states[i], seats[i])


def _lookahead(states, mask, values):
    """Write the hand-made estimate after each legal action, for the seat to act; -inf where illegal."""
    trial = states[:1].copy()
    for i in range(states.shape[0]):
        seat = states[i].seat
        for action in range(mask.shape[1]):
            values[i, action] = -np.inf
            if mask[i, action]:
                trial[0] = states[i]
                play(trial[0], action)
                values[i, action] = evaluate(trial[0], seat)


@dataclass(frozen=True)
class Kernels:
    """A game's compiled loops; see the functions of the same names in this module."""

    step: Callable[..., int]
    step_threads: Callable[..., int]
    view: Callable[..., None]
    outcome: Callable[..., None]
    redeal: Callable[..., None]
    lookahead: Callable[..., None]


@cache
def kernels(game: Game) -> Kernels:
    """Return a game's compiled loops, compiled at first use and kept on disk.

    Raises:
        ValueError: If the game is not in the list of games.
    """
    outcome_of_one = bind(_write_outcome, game)
    step = bind(_step, game, write_outcome=outcome_of_one)
    announce(step, game.title)
    return Kernels(
        step=step,
        step_threads=bind(_step_threads, game, parallel=True, step=step),
        view=bind(_view, game),
        outcome=bind(_outcome, game, write_outcome=outcome_of_one),
        redeal=bind(_redeal, game),
        lookahead=bind(_lookahead, game),
    )


class Buffers(NamedTuple):
    """What the compiled loops write, in the order in which they take it; see `Batch`."""

    mask: np.ndarray
    observation: np.ndarray
    seat: np.ndarray
    done: np.ndarray
    utility: np.ndarray
    points: np.ndarray
    won: np.ndarray

    @classmethod
    def allocate(cls, game: Game, count: int) -> Buffers:
        """Make buffers for so many games, none of them dealt."""
        return cls(
            mask=np.zeros((count, len(game.actions)), np.int8),
            observation=np.zeros((count, game.layout.size), np.int8),
            seat=np.full(count, -1, np.int8),
            done=np.zeros(count, np.bool_),
            utility=np.zeros((count, game.seats), np.float32),
            points=np.zeros((count, game.seats), np.int16),
            won=np.zeros((count, game.seats), np.int8),
        )


def copied(states: np.ndarray, lanes: np.ndarray | None = None) -> np.ndarray:
    """Copy records, all or some, as plain bytes: left to itself, NumPy copies them field by field and far slower."""
    whole = states.view(np.dtype((np.void, states.dtype.itemsize)))
    copies: np.ndarray = (whole.copy() if lanes is None else whole[lanes]).view(states.dtype)
    return copies


# Purposes that name streams of chance beside the deals: agents' choices, and seats in rotation.
AGENTS, SEATS = 1, 2


@dataclass(frozen=True)
class Views:
    """What some seats to act may know, one row per game: all that an agent is ever given.

    Attributes:
        game: The game being played.
        observation: Shape `(k, game.layout.size)`, int8.
        mask: Legal actions, shape `(k, len(game.actions))`, int8.
        seat: Seat numbers, shape `(k,)`, int8.
        chance: A generator of chance per row, shape `(k,)`, uint64; drawing moves it on.
    """

    game: Game
    observation: np.ndarray
    mask: np.ndarray
    seat: np.ndarray
    chance: np.ndarray
    _states: np.ndarray = field(repr=False)

    def __len__(self) -> int:
        return len(self.seat)

    def __getitem__(self, row: int) -> Views:
        """Return one row as views of length one; its generator is shared."""
        part = slice(row, row + 1)
        return Views(
            self.game, self.observation[part], self.mask[part], self.seat[part], self.chance[part], self._states[part]
        )

    def take(self, rows: np.ndarray) -> Views:
        """Return copies of some rows, any of them more than once, their generators too."""
        return Views(
            self.game,
            self.observation[rows],
            self.mask[rows],
            self.seat[rows],
            self.chance[rows],
            copied(self._states, rows),
        )

    def redealt(self) -> np.ndarray:
        """Copy the games with all that the seats can't know redrawn, for agents that look ahead.

        Returns:
            Records of shape `(k,)`, consistent with what each seat sees.
        """
        states = copied(self._states)
        # The copies' chance must not be the true games' future.
        states["rng"] = fork(self.chance)
        kernels(self.game).redeal(states, self.seat)
        return states


class Batch:
    """N games stepped together; each lane deals its games from its own generator.

    The arrays are the batch's own buffers: read them before the next step, or copy.

    Attributes:
        states: The records, shape `(n,)`.
        mask: Legal actions of the seat to act, `(n, actions)` int8.
        observation: What the seat to act sees, `(n, layout.size)` int8.
        seat: The seat to act, `(n,)` int8; -1 at the end.
        done: Whether the lane's game ended in its last step, `(n,)` bool.
        utility: Returns per seat of the games that ended, `(n, seats)` float32.
        points: Their scores, `(n, seats)` int16.
        won: Their winners as 0/1, `(n, seats)` int8.
        chance: Generators for the agents in each lane and seat, `(n, seats)` uint64.
        remarks: What must be said of every result of these games; empty for nothing.
    """

    def __init__(
        self,
        game: str | Game,
        count: int,
        players: int = 2,
        options: Mapping[str, Any] | None = None,
        threads: int = 1,
        autoreset: bool = False,
    ) -> None:
        """Make the lanes; call `reset` to deal.

        Args:
            game: A game or its name.
            count: Number of lanes.
            players: Players in every game.
            options: The game's options by name.
            threads: Threads that step the lanes.
            autoreset: Whether a finished lane deals its next game within the step.

        Raises:
            ValueError: If an argument is not allowed.
        """
        self.game = games.load(game) if isinstance(game, str) else game
        if count < 1:
            raise ValueError(f"The number of games was {count}; give at least 1.")
        if threads < 1:
            raise ValueError(f"The number of threads was {threads}; give at least 1.")
        self.players = self.game.check_players(players)
        self.options = self.game.check_options(options or {})
        self.remarks = "; ".join(self.game.remarks(self.options))
        self.states = self.game.blank(count, players, self.options)
        self.lanes = np.arange(count)
        self.threads = threads
        self.autoreset = autoreset
        self._buffers = Buffers.allocate(self.game, count)
        self.mask, self.observation, self.seat, self.done, self.utility, self.points, self.won = self._buffers
        self.chance = np.zeros((count, self.game.seats), np.uint64)
        self._bind()

    def _bind(self) -> None:
        """Fetch the game's compiled loops."""
        self._kernels = kernels(self.game)

    def __getstate__(self) -> dict[str, Any]:
        value = {name: item for name, item in vars(self).items() if name != "_kernels"}
        return {**value, "game": self.game.name}

    def __setstate__(self, value: dict[str, Any]) -> None:
        vars(self).update(value)
        self.game = games.load(value["game"])
        self._bind()

    def __len__(self) -> int:
        return len(self.lanes)

    def seed(self, seeds: Sequence[int], lanes: np.ndarray | None = None) -> None:
        """Start the generators of some lanes from whole-number seeds."""
        for lane, seed in zip(self.lanes if lanes is None else lanes, seeds, strict=True):
            self.states["rng"][lane] = stream(seed)
            for seat in range(self.game.seats):
                self.chance[lane, seat] = stream(seed, AGENTS, seat)

    def reset(
        self,
        seeds: Sequence[int] | None = None,
        lanes: np.ndarray | None = None,
        setup: Mapping[str, Any] | None = None,
    ) -> None:
        """Deal new games in some lanes (all by default).

        Args:
            seeds: One seed per lane; None goes on with each lane's generator.
            lanes: Lane numbers.
            setup: A JSON set-up to start all of them from instead of random deals.

        Raises:
            ValueError: If the lanes were never seeded, or the set-up is impossible; all games are then as they were.
        """
        lanes = self.lanes if lanes is None else lanes
        if setup is not None:
            self.game.fill_setup(self.states[lanes[0]].copy(), setup)
        if seeds is not None:
            self.seed(seeds, lanes)
        elif not self.states["rng"][lanes].all():
            raise ValueError("These games were never seeded; give seeds to the first reset.")
        if setup is None:
            self._run(lanes, lanes, DEAL)
        else:
            for lane in lanes:
                self.game.fill_setup(self.states[lane], setup)
            self._run(lanes, lanes, BEGIN)

    def step(self, actions: np.ndarray, lanes: np.ndarray | None = None) -> None:
        """Play one decision in each of some lanes (all by default).

        Args:
            actions: Whole numbers, one per lane.
            lanes: Lane numbers, each at most once.

        Raises:
            IllegalAction: If any action is illegal; then nothing at all was played.
        """
        lanes = self.lanes if lanes is None else lanes
        actions = np.asarray(actions)
        if actions.shape != lanes.shape or not np.issubdtype(actions.dtype, np.integer):
            raise IllegalAction(
                f"The actions were an array of shape {actions.shape} and dtype {actions.dtype}; "
                f"give whole numbers of shape {lanes.shape}."
            )
        wrong = self._run(lanes, actions.astype(np.int64, copy=False), PLAY)
        if wrong != NO_LANE:
            lane = lanes[wrong]
            error = self.game.refusal(int(actions[wrong]), int(self.states["phase"][lane]), self.mask[lane])
            raise IllegalAction(f"In game {lane}: {error}")

    def _run(self, lanes: np.ndarray, actions: np.ndarray, what: int) -> int:
        """Run the compiled loop over some lanes; `actions` are looked at where they are played alone."""
        if self.threads > 1 and self.threads != get_num_threads():
            set_num_threads(self.threads)
        arguments = (self.states, lanes, actions, what, self.autoreset, *self._buffers)
        if self.threads > 1:
            return self._kernels.step_threads(*arguments, self.threads)
        return self._kernels.step(*arguments)

    def view(self, lanes: np.ndarray, seats: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return fresh observations and masks of the given seats in the given lanes."""
        observation = np.empty((len(lanes), self.game.layout.size), np.int8)
        mask = np.empty((len(lanes), len(self.game.actions)), np.int8)
        self._kernels.view(self.states, lanes, seats, mask, observation)
        return observation, mask

    def utilities(self, lanes: np.ndarray, margin_weight: float = 0.0, margin_scale: float = 1.0) -> np.ndarray:
        """What finished games are worth to learners: the returns, mixed with the squashed margin.

        Args:
            lanes: Lanes whose games ended.
            margin_weight: Share of tanh(margin / scale), the margin being points above the mean of the others.
            margin_scale: In points.

        Returns:
            Shape `(k, players)`, float32.
        """
        returns: np.ndarray = self.utility[lanes, : self.players]
        if margin_weight == 0 or self.players == 1:
            return returns
        points = self.points[lanes, : self.players].astype(np.float32)
        others = (points.sum(axis=1, keepdims=True) - points) / (self.players - 1)
        squashed = np.tanh((points - others) / margin_scale)
        mixed: np.ndarray = (1 - margin_weight) * returns + margin_weight * squashed
        return mixed

    def count(self, lanes: np.ndarray) -> None:
        """Write utilities, scores and winners of some lanes as they stand, finished or not."""
        self._kernels.outcome(self.states, lanes, self.utility, self.points, self.won)

    def snapshot(self) -> dict[str, np.ndarray]:
        """Copy all that the games' future depends on, as plain arrays for `restore`."""
        return {"states": self.states.view(np.uint8).reshape(len(self), -1).copy(), "chance": self.chance.copy()}

    def restore(self, snapshot: Mapping[str, np.ndarray]) -> None:
        """Put the games back to a snapshot of a batch of the same size and game.

        Raises:
            ValueError: If the snapshot's arrays have other shapes.
        """
        wanted = self.snapshot()
        if any(np.shape(snapshot[key]) != wanted[key].shape for key in wanted):
            raise ValueError("The snapshot is of another batch; give one of the same game and number of games.")
        self.states[...] = np.ascontiguousarray(snapshot["states"]).view(self.states.dtype)[:, 0]
        self.chance[...] = snapshot["chance"]
        self.seat[...] = self.states["seat"]
        self.done[...] = self.seat < 0
        seats = np.maximum(self.seat, 0)
        self._kernels.view(self.states, self.lanes, seats, self.mask, self.observation)

    def ask(self, agent: Any, lanes: np.ndarray) -> np.ndarray:
        """Let an agent choose for the seats to act in some lanes.

        Returns:
            Actions, shape `(len(lanes),)`, int64.

        Raises:
            IllegalAction: If the agent chooses an illegal action.
        """
        seats = self.seat[lanes]
        views = Views(
            self.game,
            self.observation[lanes],
            self.mask[lanes],
            seats,
            self.chance[lanes, seats],
            copied(self.states, lanes),
        )
        actions = np.asarray(agent.act_many(views))
        self.chance[lanes, seats] = views.chance
        if actions.shape != lanes.shape or not np.issubdtype(actions.dtype, np.integer):
            raise IllegalAction(f"Agent {agent} gave {actions!r}; give {len(lanes)} whole numbers.")
        legal = self.legal(actions, lanes)
        if not legal.all():
            lane, action = lanes[~legal][0], int(actions[~legal][0])
            error = self.game.refusal(action, int(self.states["phase"][lane]), self.mask[lane])
            raise IllegalAction(f"Agent {agent}: {error}")
        return actions.astype(np.int64, copy=False)

    def legal(self, actions: np.ndarray, lanes: np.ndarray) -> np.ndarray:
        """Tell which whole numbers are legal actions of the seats to act in some lanes, shape `(len(lanes),)` bool."""
        inside = (actions >= 0) & (actions < self.mask.shape[1])
        legal: np.ndarray = inside & (self.mask[lanes, np.where(inside, actions, 0)] == 1)
        return legal
