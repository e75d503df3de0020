"""The Gymnasium vector face: N games for one learner, played by one compiled loop.

Lane i plays, for seed s, the games of the single face seeded s + i: deals, agents, seats and resets included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode
from gymnasium.vector import VectorEnv as GymnasiumVectorEnv
from gymnasium.vector.utils import batch_space

from spirits_env import faces, games
from spirits_env.game import IllegalAction

_RENDER_MODES = ("ansi", "rgb_array")


class VectorEnv(GymnasiumVectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """N games for one learner; see `SingleEnv` for what a game is.

    Everything returned is a fresh array. Infos are dicts of arrays with one row per lane, and under `_key` a bool array
    telling the lanes that have the key.

    What happens to a finished lane is the autoreset mode: in `NEXT_STEP` its next step ignores the action and returns
    the first observation of the next game; in `SAME_STEP` the next game is dealt at once, and the last observation and
    info of the finished one are in `final_obs` and `final_info`; in `DISABLED` it waits for a reset with a mask.
    """

    def __init__(
        self,
        num_envs: int = 1,
        game: str = games.DEFAULT,
        players: int = 2,
        seat: int | str = 0,
        opponents: Any = "random",
        render_mode: str | None = None,
        render_width: int = faces.RENDER_WIDTH,
        variant: str | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        threads: int = 1,
        **options: Any,
    ) -> None:
        """Seat everybody; call `reset` to deal.

        Args:
            num_envs: Number of games.
            game: Name of the game.
            players: Number of players, the learner included.
            seat: The learner's seat, or "rotate" (each lane by itself).
            opponents: As for `SingleEnv`; an agent is asked for all lanes at once.
            render_mode: "ansi", "rgb_array" or None, as for `SingleEnv`; `render` draws every game.
            render_width: Width of pictures in pixels, from 64 to 8192.
            variant: The registered id this is made under, without namespace and version.
            autoreset_mode: What happens to a finished lane.
            threads: Threads that step the games.
            **options: The game's options, such as `reward`.

        Raises:
            ValueError: If an argument is not allowed.
            TypeError: If an argument is unknown.
        """
        rules = faces.check_arguments(type(self), game, variant, players, options)
        faces.check_render_mode(render_mode, _RENDER_MODES)
        self._screen = faces.Screen(render_width)
        self.num_envs = num_envs
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {
            "render_modes": list(_RENDER_MODES),
            "render_fps": faces.RENDER_FPS,
            "autoreset_mode": self.autoreset_mode,
        }
        self.render_mode = render_mode
        self._lanes = faces.LearnerLanes(
            num_envs, game, players, seat, opponents, options, threads, remember=render_mode is not None
        )
        self._dealt = False
        self.single_observation_space = faces.observation_box(rules.layout)
        self.single_action_space = spaces.Discrete(len(rules.actions))
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start new games.

        Args:
            seed: A whole number s, for lane i to start all chance from s + i; or one per lane; None goes on with it.
            options: `{"setup": ...}` starts all games from a JSON set-up; `{"reset_mask": ...}`, shape `(n,)` bool,
                leaves the lanes alone where it is false.

        Returns:
            The learners' observations, shape `(n, layout.size)` int8, and the infos.

        Raises:
            ValueError: If a seed or an option is not allowed; all games are then as they were.
        """
        setup = faces.read_setup(type(self), self._lanes.batch.game, options)
        lanes = self._chosen(options or {})
        seeds = self._seeds(seed)
        self._lanes.deal(lanes, [seeds[lane] for lane in lanes], setup)
        self._dealt = True
        if seeds[0] is not None:
            self._np_random, self._np_random_seed = seeding.np_random(seeds[0])
        infos: dict[str, Any] = {}
        self._tell(infos, lanes, self._lanes.info(lanes))
        return self._lanes.observation(self._lanes.batch.lanes), infos

    def _chosen(self, options: Mapping[str, Any]) -> np.ndarray:
        """Return the lanes that a reset is for."""
        if "reset_mask" not in options:
            return self._lanes.batch.lanes
        mask = options["reset_mask"]
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (self.num_envs,):
            raise ValueError(f"reset_mask was {mask!r}; give a bool array of shape ({self.num_envs},).")
        if not mask.any() or not (mask | self._dealt).all():
            raise ValueError("reset_mask leaves out too much; choose a lane, and all of them in the first reset.")
        return np.flatnonzero(mask)

    def _seeds(self, seed: Any) -> list[int | None]:
        """Return one seed per lane."""
        if seed is None:
            return [None] * self.num_envs
        if not isinstance(seed, (list, tuple, np.ndarray)):
            first = faces.check_seed(seed)
            return [first + lane for lane in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise ValueError(
                f"The seeds were {len(seed)}; give one for each of the {self.num_envs} lanes, or one for all."
            )
        return [None if one is None else faces.check_seed(one) for one in seed]

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Play a decision of each learner and all others up to its next one.

        Args:
            actions: Whole numbers, shape `(n,)`; an illegal one forfeits its game.

        Returns:
            The learners' observations, shape `(n, layout.size)` int8, their rewards, shape `(n,)` float64, whether the
            games are over, shape `(n,)` bool, as many times False, and the infos.

        Raises:
            IllegalAction: If the actions are no whole numbers of that shape; all games are then as they were.
            ResetNeeded: If a lane has no game to play in.
        """
        core = self._lanes
        actions = self._check(actions)
        waiting = core.over.copy()
        if not self._dealt or (waiting.any() and self.autoreset_mode != AutoresetMode.NEXT_STEP):
            raise ResetNeeded(f"Lanes {np.flatnonzero(waiting)} have no game in progress: call reset() before step().")
        playing = np.flatnonzero(~waiting)
        core.reward[waiting] = 0
        core.step(playing, actions[playing])
        if waiting.any():
            core.deal(np.flatnonzero(waiting))
        over, reward = core.over.copy(), core.reward.copy()
        infos: dict[str, Any] = {}
        ended = np.flatnonzero(over)
        if self.autoreset_mode == AutoresetMode.SAME_STEP and len(ended):
            self._keep_final(infos, ended)
            core.deal(ended)
        elif len(ended):
            self._tell_outcome(infos, ended)
        self._tell(infos, core.batch.lanes, core.info(core.batch.lanes))
        return core.observation(core.batch.lanes), reward, over, np.zeros(self.num_envs, np.bool_), infos

    def _check(self, actions: Any) -> np.ndarray:
        """Return the actions as int64."""
        array = np.asarray(actions)
        if array.shape != (self.num_envs,) or not np.issubdtype(array.dtype, np.integer):
            raise IllegalAction(
                f"The actions were an array of shape {array.shape} and dtype {array.dtype}; "
                f"give whole numbers of shape ({self.num_envs},)."
            )
        return array.astype(np.int64, copy=False)

    def _keep_final(self, infos: dict[str, Any], ended: np.ndarray) -> None:
        """Put the last observations and infos of finished games into the infos."""
        last = np.full(self.num_envs, None, dtype=object)
        for lane, observation in zip(ended, self._lanes.observation(ended), strict=True):
            last[lane] = observation
        final: dict[str, Any] = {}
        self._tell(final, ended, self._lanes.info(ended))
        self._tell_outcome(final, ended)
        present = np.zeros(self.num_envs, np.bool_)
        present[ended] = True
        infos |= {"final_obs": last, "_final_obs": present, "final_info": final, "_final_info": present.copy()}

    def _tell_outcome(self, infos: dict[str, Any], ended: np.ndarray) -> None:
        """Put the outcomes of finished games into the infos."""
        self._tell(infos, ended, self._lanes.outcome(ended))
        forfeited = ended[self._lanes.forfeited[ended]]
        if len(forfeited):
            self._tell(infos, forfeited, {"illegal_action": np.ones(len(forfeited), np.bool_)})

    def _tell(self, infos: dict[str, Any], lanes: np.ndarray, facts: Mapping[str, np.ndarray]) -> None:
        """Spread facts, one row per given lane, over all lanes, and mark who has them."""
        for name, rows in facts.items():
            array = np.zeros((self.num_envs, *rows.shape[1:]), rows.dtype)
            array[lanes] = rows
            present = np.zeros(self.num_envs, np.bool_)
            present[lanes] = True
            infos |= {name: array, f"_{name}": present}

    def action_masks(self) -> np.ndarray:
        """The learners' legal actions, fresh, shape `(n, actions)` bool; all false where the game is over."""
        return self._lanes.mask(self._lanes.batch.lanes) > 0

    def render(self) -> tuple[Any, ...] | None:
        """Draw each game as it stands, all-seeing, in the render mode the environment was made with.

        Returns:
            A str or an array of shape `(height, width, 3)` uint8 for each lane.
        """
        if self.render_mode is None:
            gymnasium.logger.warn("render() needs a render mode: make the environment with render_mode='ansi'.")
            return None
        return tuple(self._screen.draw(self._lanes.state(lane), self.render_mode) for lane in range(self.num_envs))
