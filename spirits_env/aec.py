"""The PettingZoo face: every seat is an agent, and they act one at a time.

The environment wraps one `State`; spaces and agents are made once, and a step touches only what it changes.
"""

from __future__ import annotations

import copy
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.utils import seeding
from pettingzoo import AECEnv
from pettingzoo.utils.conversions import turn_based_aec_to_parallel_wrapper
from pettingzoo.utils.wrappers import AssertOutOfBoundsWrapper, OrderEnforcingWrapper, TerminateIllegalWrapper

from spirits_env import GAMES, faces, games, record
from spirits_env.state import State


class RawEnv(AECEnv):  # type: ignore[misc]
    """One game for agents `player_0`, `player_1` and so on: seat by seat, as the game asks them.

    An observation is a dict of `observation` (int8, what that seat may know) and `action_mask` (int8, 0 or 1). The mask
    of a seat that is not to act, or has finished, is all 0; that of the seat to act never is. The same mask is in
    `infos[agent]["action_mask"]`. Every array handed out is fresh: writing to it changes nothing here.

    Rewards come with the last move, to all seats at once, and all seats finish in that step; then each is stepped once
    with None. An illegal action raises `IllegalAction` and changes nothing.

    `copy.deepcopy` and `pickle` keep the whole game, chance included, but for an open window.
    """

    def __init__(
        self,
        game: str = games.DEFAULT,
        players: int = 2,
        render_mode: str | None = None,
        render_width: int = faces.RENDER_WIDTH,
        **options: Any,
    ) -> None:
        """Make the agents; call `reset` to deal.

        Args:
            game: Name of the game.
            players: Number of players, at least 2.
            render_mode: "ansi" (text, in colour for a terminal), "rgb_array" (picture), "human" (a window that shows
                each position; without a display, text in the terminal) or None. All of them show everything, what
                the seat to act can't know included.
            render_width: Width of pictures in pixels, from 64 to 8192; their height is even and follows from it.
            **options: The game's options, such as `reward`.

        Raises:
            ValueError: If an argument is not allowed.
            TypeError: If an argument is unknown.
        """
        super().__init__()
        rules = faces.check_arguments(type(self), game, _plain_variant(game), players, options)
        faces.check_render_mode(render_mode)
        self._screen = faces.Screen(render_width)
        self.render_mode = render_mode
        self.metadata: dict[str, Any] = {
            "name": f"{game}_v{rules.version}",
            "render_modes": list(faces.RENDER_MODES),
            "render_fps": faces.RENDER_FPS,
            "is_parallelizable": False,
        }
        self._state = State(rules, players, **options)
        self.possible_agents = [f"player_{seat}" for seat in range(self._state.players)]
        self.agents: list[str] = []
        self._infos: dict[str, dict[str, Any]] = {}
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self._no_actions = np.zeros(len(rules.actions), np.int8)
        self._observation_spaces = {agent: _observation_space(rules) for agent in self.possible_agents}
        self._action_spaces = {agent: spaces.Discrete(len(rules.actions)) for agent in self.possible_agents}
        self.state_space = faces.observation_box(rules.layout, self._state.players)
        self.np_random_seed: int | None = None
        self._np_random: np.random.Generator | None = None

    @property
    def np_random(self) -> np.random.Generator:
        """A generator for whoever uses the environment, started from its seed; the game has its own in its state."""
        if self._np_random is None:
            self._np_random, self.np_random_seed = seeding.np_random(self.np_random_seed)
        return self._np_random

    def observation_space(self, agent: str) -> spaces.Dict:
        """The space of an agent's observations, always the same object."""
        return self._observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Discrete:
        """The space of an agent's actions, always the same object."""
        return self._action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a new game.

        Args:
            seed: Same seed, same game, that of `State(seed=seed)`; None goes on with the stream of deals.
            options: `{"setup": ...}` starts from a JSON set-up instead of a random deal. Other libraries' keys are
                ignored; misspelt ones and arguments of the constructor are refused.

        Raises:
            ValueError: If the seed or the options are not allowed; the game is then as it was.
        """
        setup = faces.read_setup(type(self), self._state.game, options)
        seed = None if seed is None else faces.check_seed(seed)
        self._state.deal(seed, setup)
        if seed is not None:
            self.np_random_seed, self._np_random = seed, None
        self._begin()

    def _begin(self) -> None:
        """Take over the state, whatever its point, with all agents in play."""
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self._skip_agent_selection = None
        self._hand_over()

    def _hand_over(self) -> None:
        """Select the agent that the game asks next, or finish all of them."""
        self._infos = {}
        if self._state.seat >= 0:
            self.agent_selection = self.possible_agents[self._state.seat]
        else:
            self.agent_selection = self.agents[0]
            self.rewards = dict(zip(self.agents, self._state.returns(), strict=True))
            self.terminations = dict.fromkeys(self.agents, True)
            self._accumulate_rewards()
        if self.render_mode == "human":
            self.render()

    def step(self, action: Any) -> None:
        """Play a decision of the selected agent; None where it has finished.

        Args:
            action: A whole number: an int, a NumPy integer or a 0-d array.

        Raises:
            IllegalAction: If the action is not legal; nothing changes.
            ValueError: If the agent has finished and the action is not None; nothing changes.
            ResetNeeded: If no agent is left, or there was no reset.
        """
        if not self.agents:
            raise ResetNeeded("There is no agent in play: call reset() before step().")
        agent = self.agent_selection
        if self.terminations[agent]:
            self._leave(agent, action)
        else:
            # Rewards come with the last move alone, so there is nothing to clear before it.
            self._state.play(action)
            self._hand_over()

    def _leave(self, agent: str, action: Any) -> None:
        """Take a finished agent out of play."""
        if action is not None:
            raise ValueError(
                f"The action was {action!r}, but {agent} has finished: call step(None) once for each agent "
                "that last() calls terminated, or reset()."
            )
        self._was_dead_step(None)

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        """What an agent sees, at any time.

        Returns:
            `observation`, shape `(layout.size,)`, and `action_mask`, shape `(actions,)`, both int8.
        """
        return {"observation": self._state.observation(self._seats[agent]), "action_mask": self._mask(agent)}

    def _mask(self, agent: str) -> np.ndarray:
        """An agent's legal actions."""
        if self._state.seat == self._seats[agent] and not self.terminations.get(agent, True):
            return self._state.mask()
        return self._no_actions.copy()

    @property
    def infos(self) -> dict[str, dict[str, Any]]:
        """The info of each agent in play: its `action_mask`; new after each step."""
        for agent in self.agents:
            self._info(agent)
        return self._infos

    def _info(self, agent: str) -> dict[str, Any]:
        """An agent's info, made when first asked for, since most are never looked at."""
        info = self._infos.get(agent)
        if info is None:
            info = self._infos[agent] = {"action_mask": self._mask(agent)}
            if self._state.seat < 0 and (remarks := self._state.remarks):
                info["remarks"] = remarks
        return info

    def _deads_step_first(self) -> str:
        """Select a finished agent; PettingZoo's wrapper calls it when it has ended the game by itself."""
        self._infos = {}
        selected: str = super()._deads_step_first()
        return selected

    def last(self, observe: bool = True) -> tuple[dict[str, np.ndarray] | None, float, bool, bool, dict[str, Any]]:
        """What the selected agent sees, its reward since its last step, whether it has finished, and its info."""
        if not self.agents:
            raise ResetNeeded("There is no agent in play: call reset() before last().")
        agent = self.agent_selection
        return (
            self.observe(agent) if observe else None,
            self._cumulative_rewards[agent],
            self.terminations[agent],
            self.truncations[agent],
            self._info(agent),
        )

    def state(self) -> np.ndarray:
        """All that any seat knows: the seats' observations one after the other, int8, within `state_space`."""
        return np.concatenate([self._state.observation(seat) for seat in range(self._state.players)])

    def render(self) -> Any:
        """Draw the game as it stands, all-seeing, in the render mode the environment was made with."""
        return self._screen.draw(self._state, self.render_mode, self.metadata["render_fps"])

    def _repr_svg_(self) -> str | None:
        """The game as it stands for a notebook, all-seeing; None before the first reset."""
        return self._state.svg() if "terminations" in vars(self) else None

    def close(self) -> None:
        """Close the window, if there is one."""
        self._screen.close()

    def clone(self) -> RawEnv:
        """Return an independent copy at the same point, cheaply, for search; spaces alone are shared."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._state = self._state.copy()
        other._screen = copy.copy(self._screen)
        other._infos = {}
        other._np_random = copy.deepcopy(self._np_random)
        for name in ("agents", "rewards", "_cumulative_rewards", "terminations", "truncations"):
            if name in vars(self):
                setattr(other, name, vars(self)[name].copy())
        return other

    @property
    def game_state(self) -> State:
        """The game as a value, a copy; setting it goes on from there, with all agents in play.

        Set it on `env.unwrapped`: wrappers pass on what is read, not what is set.

        Raises:
            ValueError: In setting, if it is of another game, player count or options.
        """
        return self._state.copy()

    @game_state.setter
    def game_state(self, value: State) -> None:
        ours, given = ((s.game.name, s.players, s.options) for s in (self._state, value))
        if ours != given:
            raise ValueError(f"The state was of {given}; this environment plays {ours}, so make another one for it.")
        self._state = value.copy()
        self._begin()

    def record(self) -> dict[str, Any]:
        """The game so far as a JSON record."""
        return record.write(self._state)


def _plain_variant(game: str) -> str | None:
    """Name of the game's id that fixes no arguments."""
    ids = GAMES[game].ids if game in GAMES else {}
    return next((name for name, fixed in ids.items() if not fixed), None)


def _observation_space(rules: Any) -> spaces.Dict:
    """Make the space of an observation with its mask."""
    mask = spaces.Box(0, 1, (len(rules.actions),), np.int8)
    return spaces.Dict({"observation": faces.observation_box(rules.layout), "action_mask": mask})


def wrapped_env(game: str = games.DEFAULT, **arguments: Any) -> Any:
    """Make a `RawEnv` in PettingZoo's usual wrappers, in which an illegal action ends the game as a loss.

    Args:
        game: Name of the game.
        **arguments: As for `RawEnv`.

    Returns:
        An AEC environment.
    """
    raw = RawEnv(game, **arguments)
    state = raw.game_state
    illegal_reward = state.game.worst_return(state.players, state.options)
    return OrderEnforcingWrapper(AssertOutOfBoundsWrapper(TerminateIllegalWrapper(raw, illegal_reward=illegal_reward)))


def parallel_env(game: str = games.DEFAULT, **arguments: Any) -> Any:
    """Make a `wrapped_env` that takes and gives dicts; in a step only the action of the agent to act counts.

    Args:
        game: Name of the game.
        **arguments: As for `RawEnv`.

    Returns:
        A parallel environment.
    """
    return turn_based_aec_to_parallel_wrapper(wrapped_env(game, **arguments))


class EntryPoints(NamedTuple):
    """A game's module in PettingZoo's form."""

    env: partial[Any]
    raw_env: partial[RawEnv]
    parallel_env: partial[Any]


def entry_points(game: str) -> EntryPoints:
    """Return the makers of a game's environments, which pickle by name."""
    return EntryPoints(partial(wrapped_env, game), partial(RawEnv, game), partial(parallel_env, game))
