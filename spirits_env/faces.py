"""What the faces share: checks of arguments, pictures, and games with a learner in one seat of each.

The single and the vector face only dress `LearnerLanes` up, so one seed is one game on both.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium import spaces

from spirits_env import GAMES, env_id, games
from spirits_env.agents import Agent, make_agent
from spirits_env.batch import SEATS, Batch
from spirits_env.game import Game, Layout, is_whole, shown, stream
from spirits_env.state import State

if TYPE_CHECKING:
    from spirits_env.render.window import Window

RENDER_MODES = ("human", "ansi", "rgb_array")
RENDER_FPS = 2
RENDER_WIDTH = 960
RENDER_WIDTHS = (64, 8192)


def check_arguments(face: type, game: str, variant: str | None, players: Any, options: Mapping[str, Any]) -> Game:
    """Judge what a face was made with, and return its game.

    Args:
        face: The class of the face.
        game: Name of the game.
        variant: Name of one of the game's ids, which fixes arguments and leaves others to other ids; None allows all.
        players: Number of players.
        options: Further keyword arguments.

    Raises:
        TypeError: If a keyword argument is known neither to the face nor to the game.
        ValueError: If there is no such game or variant, or it is not for these arguments.
    """
    rules = games.load(game)
    known = [option.name for option in rules.options]
    for name in options:
        if name not in known:
            given = ", ".join([*_own_arguments(face), *known])
            raise TypeError(f"{face.__name__} has no argument {name!r}; its arguments are {given}.")
    arguments = {"players": rules.check_players(players), **options}
    if variant is not None:
        _check_variant(game, variant, arguments)
    return rules


def _own_arguments(face: type) -> list[str]:
    """Names of a face's own arguments."""
    return [name for name in inspect.signature(face).parameters if name != "options"]


def _check_variant(game: str, variant: str, given: Mapping[str, Any]) -> None:
    """Refuse changes of an id's fixed arguments, and what belongs to a more special id."""
    ids = GAMES[game].ids
    if variant not in ids:
        raise ValueError(f"There is no variant {variant!r} of {game}; give {' or '.join(map(repr, ids))}, or None.")
    for name, value in ids[variant].items():
        if given.get(name) != value:
            raise ValueError(
                f"{name} was {given.get(name)!r}; "
                f"{env_id(game, variant)} is for {name}={value!r} alone, so leave it out."
            )
    for other, fixed in ids.items():
        special = fixed.items() - ids[variant].items()
        if special and all(given.get(name) == value for name, value in special):
            told = ", ".join(f"{name} was {value!r}" for name, value in special)
            raise ValueError(f"{told}; that is another environment, so make {env_id(game, other)} for it.")


def check_render_mode(render_mode: Any, modes: Sequence[str] = RENDER_MODES) -> None:
    """Refuse an unknown render mode.

    Raises:
        ValueError: If it is not one of the modes or None.
    """
    if render_mode is not None and render_mode not in modes:
        raise ValueError(f"render_mode was {render_mode!r}; give None or one of {', '.join(modes)}.")


def check_seed(seed: Any) -> int:
    """Return a seed as a Python int.

    Raises:
        ValueError: If it is not a whole number of at least 0.
    """
    if is_whole(seed) and seed >= 0:
        return int(seed)
    raise ValueError(f"seed was {seed!r}; give a whole number of at least 0, or None to go on with the present stream.")


def read_setup(face: type, game: Game, options: Any) -> Mapping[str, Any] | None:
    """Take the set-up out of the options of a reset.

    Other libraries' options pass unnoticed; what looks like a misplaced or misspelt one of ours doesn't.

    Raises:
        ValueError: If the options are no mapping, or hold an argument of the constructor or a misspelt "setup".
    """
    if options is None:
        return None
    if not isinstance(options, Mapping):
        raise ValueError(f'The reset options were {options!r}; give a dict such as {{"setup": ...}}, or None.')
    fixed = (*_own_arguments(face), *(option.name for option in game.options))
    for key in options:
        if key in fixed:
            raise ValueError(f"The reset options held {key!r}, which holds for all games: give it to the constructor.")
        if key != "setup" and isinstance(key, str) and get_close_matches(key.lower(), ("setup",), cutoff=0.75):
            raise ValueError(f'The reset options held {key!r}; the one this package knows is "setup".')
    setup: Mapping[str, Any] | None = options.get("setup")
    return setup


def observation_box(layout: Layout, views: int = 1) -> spaces.Box:
    """Make the space of so many observations in one vector, int8."""
    return spaces.Box(np.tile(layout.low(), views), np.tile(layout.high(), views), dtype=np.int8)


class Screen:
    """Where a face shows its game, all-seeing.

    A copy, by whatever means, has no window; it opens its own when it has something to show.

    Attributes:
        width: Width of pictures in pixels.
    """

    def __init__(self, width: Any) -> None:
        """Take the width; nothing is opened yet.

        Args:
            width: Width of pictures in pixels, a whole number within `RENDER_WIDTHS`.

        Raises:
            ValueError: If it is anything else.
        """
        if not is_whole(width) or not RENDER_WIDTHS[0] <= width <= RENDER_WIDTHS[1]:
            raise ValueError(
                f"render_width was {shown(width)}; give a whole number of pixels "
                f"from {RENDER_WIDTHS[0]} to {RENDER_WIDTHS[1]}."
            )
        self.width = int(width)
        self._window: Window | None = None
        self._can_open = True

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_window": None}

    def draw(self, state: State, render_mode: str | None, fps: float = RENDER_FPS) -> Any:
        """Show a game.

        Args:
            state: The game.
            render_mode: How to show it.
            fps: In a window, how many pictures a second there are at most.

        Returns:
            A str for "ansi", an array of shape `(height, width, 3)` uint8 for "rgb_array"; None for "human", which
            shows the picture in a window or, where there can be none, writes the text to the terminal; None without a
            render mode.
        """
        if render_mode is None:
            gymnasium.logger.warn("render() needs a render mode: make the environment with render_mode='ansi'.")
        elif render_mode == "rgb_array":
            from spirits_env.render import svg_to_rgb

            return svg_to_rgb(state.svg(), self.width)
        elif render_mode == "ansi":
            from spirits_env.render.text import draw_board

            return draw_board(state)
        else:
            self._show(state, fps)
        return None

    def _show(self, state: State, fps: float) -> None:
        """Show a game to a human, in a window if there can be one."""
        if self._window is None and self._can_open:
            self._open(state)
        if self._window is None:
            from spirits_env.render.text import show

            show(state)
        elif self._window.is_open:
            self._window.show(state.svg(), fps)

    def _open(self, state: State) -> None:
        """Open the window, or tell why there is none."""
        from spirits_env.render.window import Window

        try:
            self._window = Window(state.game.title, state.svg(), self.width)
        except (ImportError, OSError) as error:
            self._can_open = False
            gymnasium.logger.warn(
                "The board comes as text instead of in a window: %s. "
                'A window needs a display and pip install "spirits-env[render]".',
                error,
            )

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._window is not None:
            self._window.close()
            self._window = None


# What is known of the last decision after a deal.
_NOTHING = (b"", -1)


class LearnerLanes:
    """N games, each with a learner in one seat and agents in the others.

    A lane waits for its learner or is over. What happens in a lane depends on its own seed alone.

    Attributes:
        batch: The games.
        learner: The learner's seat in each lane, shape `(n,)` int8.
        over: Whether the lane's game has ended or was forfeited, `(n,)` bool; true before the first deal.
        forfeited: Whether it ended by the learner's illegal action, `(n,)` bool.
        reward: What the learner got in its last step, `(n,)` float64.
    """

    def __init__(
        self,
        count: int,
        game: str,
        players: int,
        seat: Any,
        opponents: Any,
        options: Mapping[str, Any],
        threads: int = 1,
        remember: bool = False,
    ) -> None:
        """Make the lanes; call `deal` to start games.

        Args:
            count: Number of lanes.
            game: Name of the game.
            players: Players in every game.
            seat: The learner's seat, or "rotate".
            opponents: What `make_agent` takes, for all other seats or as a list in turn order after the learner.
            options: The game's options by name.
            threads: Threads that step the lanes.
            remember: Whether to keep what pictures tell of the last decision in each lane; it costs a little.

        Raises:
            ValueError: If an argument is not allowed.
        """
        self.batch = Batch(game, count, players, options, threads)
        self.players = self.batch.players
        self._rotate = isinstance(seat, str) and seat == "rotate"
        first = 0 if self._rotate else _check_seat(seat, self.players)
        self.agents = _make_agents(opponents, self.batch.game, self.players)
        # Which of the agents plays in each turn after the learner's.
        self._owner = np.arange(self.players) % max(len(self.agents), 1)
        self.learner = np.full(count, first, np.int8)
        self._next = np.zeros(count, np.int8)
        self.over = np.ones(count, np.bool_)
        self.forfeited = np.zeros(count, np.bool_)
        self.reward = np.zeros(count, np.float64)
        # The record before the last decision in each lane, empty where it is not known, and the decision.
        self._last: list[tuple[bytes, int]] | None = [_NOTHING] * count if remember else None
        self._worst = self.batch.game.worst_return(self.players, self.batch.options)
        # Without seeds from the user, each lane goes on from a start of its own.
        self._seed(np.random.SeedSequence().generate_state(count, np.uint64).tolist(), self.batch.lanes)

    def _seed(self, seeds: Sequence[int], lanes: np.ndarray) -> None:
        """Start the chance of some lanes: deals, agents and the learner's first seat in rotation."""
        self.batch.seed(seeds, lanes)
        self._next[lanes] = [stream(seed, SEATS) % self.players for seed in seeds]

    def deal(
        self, lanes: np.ndarray, seeds: Sequence[int | None] | None = None, setup: Mapping[str, Any] | None = None
    ) -> None:
        """Start new games in some lanes and play up to the learner's first decision.

        Args:
            lanes: Lane numbers.
            seeds: One per lane; None, as a whole or for a lane, goes on with what is there.
            setup: A JSON set-up instead of random deals.

        Raises:
            ValueError: If the set-up is impossible; all is then as it was.
        """
        if setup is not None:
            self.batch.game.fill_setup(self.batch.states[lanes[0]].copy(), setup)
        if seeds is not None:
            seeded = [row for row, seed in enumerate(seeds) if seed is not None]
            self._seed([seed for seed in seeds if seed is not None], lanes[seeded])
        self.batch.reset(lanes=lanes, setup=setup)
        if self._last is not None:
            for lane in lanes:
                self._last[lane] = _NOTHING
        if self._rotate:
            self.learner[lanes] = self._next[lanes]
            self._next[lanes] = (self._next[lanes] + 1) % self.players
        self.forfeited[lanes] = False
        self._play_others(lanes)

    def step(self, lanes: np.ndarray, actions: np.ndarray) -> None:
        """Play the learner's actions and all decisions up to its next one; an illegal action forfeits the game.

        Args:
            lanes: Lane numbers, none of a game that is over.
            actions: One per lane, int64.
        """
        legal = self.batch.legal(actions, lanes)
        playing, forfeiting = lanes[legal], lanes[~legal]
        if len(forfeiting):
            self._forfeit(forfeiting)
        self._play(actions[legal], playing)
        self._play_others(playing)
        ended = lanes[self.over[lanes]]
        self.reward[lanes] = 0
        self.reward[ended] = self.batch.utility[ended, self.learner[ended]]

    def _play(self, actions: np.ndarray, lanes: np.ndarray) -> None:
        """Play one legal decision in each of some lanes."""
        if self._last is not None:
            for lane, action in zip(lanes, actions, strict=True):
                self._last[lane] = (self.batch.states[lane].tobytes(), int(action))
        self.batch.step(actions, lanes)

    def state(self, lane: int) -> State:
        """The game of a lane as a value, for drawing; it knows the last decision if the lanes were to remember it."""
        before, action = _NOTHING if self._last is None else self._last[lane]
        return State.of(self.batch.game, self.batch.states[lane], before, action)

    def _forfeit(self, lanes: np.ndarray) -> None:
        """End games as a loss of their learners: the others get 0, nobody wins, the points are those so far."""
        batch = self.batch
        batch.count(lanes)
        batch.utility[lanes] = 0
        batch.utility[lanes, self.learner[lanes]] = self._worst
        batch.won[lanes] = 0
        self.forfeited[lanes] = True
        self.over[lanes] = True

    def _play_others(self, lanes: np.ndarray) -> None:
        """Let the agents play until each lane waits for its learner or has ended."""
        batch = self.batch
        waiting = lanes
        while True:
            seats = batch.seat[waiting]
            waiting = waiting[(seats >= 0) & (seats != self.learner[waiting])]
            if len(waiting) == 0:
                break
            owners = self._owner[(batch.seat[waiting] - self.learner[waiting] - 1) % self.players]
            for number, agent in enumerate(self.agents):
                asked = waiting[owners == number]
                if len(asked):
                    self._play(batch.ask(agent, asked), asked)
        self.over[lanes] = batch.seat[lanes] < 0

    def mask(self, lanes: np.ndarray) -> np.ndarray:
        """The learners' legal actions, fresh, shape `(len(lanes), actions)` int8; all 0 where the game is over."""
        mask: np.ndarray = self.batch.mask[lanes]
        mask[self.over[lanes]] = 0
        return mask

    def observation(self, lanes: np.ndarray) -> np.ndarray:
        """What the learners see, fresh, shape `(len(lanes), layout.size)` int8."""
        observation: np.ndarray = self.batch.observation[lanes]
        ended = np.flatnonzero(self.batch.seat[lanes] < 0)
        if len(ended):
            observation[ended], _ = self.batch.view(lanes[ended], self.learner[lanes[ended]])
        return observation

    def info(self, lanes: np.ndarray) -> dict[str, np.ndarray]:
        """What the info of every step tells: `action_mask` and the learner's `seat`, one row per lane."""
        return {"action_mask": self.mask(lanes), "seat": self.learner[lanes].astype(np.int64)}

    def outcome(self, lanes: np.ndarray) -> dict[str, np.ndarray]:
        """What the info of a last step tells besides, one row per lane and one entry per seat.

        Returns:
            `returns` float64, `scores` int64 and `winners` bool; and `remarks`, one text per lane, if the game has any.
        """
        batch, seats = self.batch, slice(self.players)
        outcome = {
            "returns": batch.utility[lanes, seats].astype(np.float64),
            "scores": batch.points[lanes, seats].astype(np.int64),
            "winners": batch.won[lanes, seats] > 0,
        }
        return outcome | ({"remarks": np.full(len(lanes), batch.remarks)} if batch.remarks else {})


def _check_seat(seat: Any, players: int) -> int:
    """Return a seat number as an int, or raise ValueError."""
    if is_whole(seat) and 0 <= seat < players:
        return int(seat)
    raise ValueError(f'seat was {seat!r}; give a seat from 0 to {players - 1}, or "rotate".')


def _make_agents(opponents: Any, game: Game, players: int) -> list[Agent]:
    """Turn the opponents into agents: one for all turns after the learner's, or one for each."""
    if isinstance(opponents, (list, tuple)):
        if len(opponents) != players - 1:
            raise ValueError(
                f"opponents were {len(opponents)}; {players} players need {players - 1} beside the learner, "
                "in turn order after it, or one for all seats."
            )
        agents = [make_agent(spec) for spec in opponents]
    elif isinstance(opponents, (str, Path, Agent)):
        agents = [make_agent(opponents)]
    else:
        raise ValueError(
            f"opponents was {opponents!r}; give an agent's name, a policy file, an Agent, or a list of these."
        )
    for agent in agents:
        agent.check(game.name, players)
    return agents
