"""The Gymnasium face: a learner in one seat, agents in the others, one step per decision of the learner.

Rewards are summed up to the learner's next decision, so nothing that happens in between is lost.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.utils import seeding

from spirits_env import faces, games

_ONLY = np.zeros(1, np.int64)


class SingleEnv(gymnasium.Env[np.ndarray, Any]):
    """One game for one learner.

    The observation is what the learner's seat may know, the mask of its legal actions is in `info["action_mask"]`
    (int8) and from `action_masks()` (bool). The last step's info also tells `returns`, `scores` and `winners`, one
    entry per seat. An illegal action ends the game as a loss: the reward is the worst there is, the others get 0, and
    `info["illegal_action"]` is true. After the end the mask is all 0.

    One seed fixes the deal (the same as of `State(seed=seed)`), the agents' choices and, in rotation, the learner's
    first seat; `reset()` without a seed goes on with all three. With `seat="rotate"` the learner sits one seat further
    in each next game, however it was reset.

    A copy, by `copy.deepcopy` or `pickle`, is a game of its own at the same point, without an open window.
    """

    metadata: dict[str, Any] = {"render_modes": list(faces.RENDER_MODES), "render_fps": faces.RENDER_FPS}  # noqa: RUF012

    def __init__(
        self,
        game: str = games.DEFAULT,
        players: int = 2,
        seat: int | str = 0,
        opponents: Any = "random",
        render_mode: str | None = None,
        render_width: int = faces.RENDER_WIDTH,
        variant: str | None = None,
        **options: Any,
    ) -> None:
        """Seat everybody; call `reset` to deal.

        Args:
            game: Name of the game.
            players: Number of players, the learner included.
            seat: The learner's seat, or "rotate".
            opponents: What the other seats are played by: an agent's name, a policy file or an `Agent` for all of them,
                or a list with one of these for each, in turn order after the learner.
            render_mode: "ansi" (text, in colour for a terminal), "rgb_array" (picture), "human" (a window that shows
                each position; without a display, text in the terminal) or None. All of them show everything, what
                the learner can't know included.
            render_width: Width of pictures in pixels, from 64 to 8192; their height is even and follows from it.
            variant: The registered id this is made under, without namespace and version.
            **options: The game's options, such as `reward`.

        Raises:
            ValueError: If an argument is not allowed.
            TypeError: If an argument is unknown.
        """
        rules = faces.check_arguments(type(self), game, variant, players, options)
        faces.check_render_mode(render_mode)
        self._screen = faces.Screen(render_width)
        self.render_mode = render_mode
        self._lanes = faces.LearnerLanes(1, game, players, seat, opponents, options, remember=render_mode is not None)
        self._dealt = False
        self.observation_space = faces.observation_box(rules.layout)
        self.action_space = spaces.Discrete(len(rules.actions))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start a new game.

        Args:
            seed: A whole number to start all chance from; None goes on with it.
            options: `{"setup": ...}` starts from a JSON set-up instead of a random deal.

        Returns:
            The learner's observation, shape `(layout.size,)` int8, and the info.

        Raises:
            ValueError: If the seed or the set-up is not allowed; the game is then as it was.
        """
        setup = faces.read_setup(type(self), self._lanes.batch.game, options)
        seed = None if seed is None else faces.check_seed(seed)
        self._lanes.deal(_ONLY, [seed], setup)
        self._dealt = True
        if seed is not None:
            self._np_random, self._np_random_seed = seeding.np_random(seed)
        return self._see()

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Play a decision of the learner and all others up to its next one.

        Args:
            action: A whole number; an illegal one forfeits the game.

        Returns:
            The learner's observation, its reward, whether the game is over, False, and the info.

        Raises:
            IllegalAction: If the action is not a whole number; the game is then as it was.
            ResetNeeded: If there is no game to play in.
        """
        lanes = self._lanes
        game = lanes.batch.game
        number = game.check_action(action)
        if lanes.over[0]:
            raise ResetNeeded("There is no game in progress: call reset() before step().")
        # Any number that is no action forfeits, even one that the array could not hold.
        number = number if 0 <= number < len(game.actions) else -1
        lanes.step(_ONLY, np.array([number]))
        observation, info = self._see()
        over = bool(lanes.over[0])
        if over:
            info |= {name: rows[0] for name, rows in lanes.outcome(_ONLY).items()}
            if lanes.forfeited[0]:
                info["illegal_action"] = True
        return observation, float(lanes.reward[0]), over, False, info

    def _see(self) -> tuple[np.ndarray, dict[str, Any]]:
        """Return the learner's observation and info, and show the game to a human."""
        if self.render_mode == "human":
            self.render()
        info = self._lanes.info(_ONLY)
        return self._lanes.observation(_ONLY)[0], {"action_mask": info["action_mask"][0], "seat": int(info["seat"][0])}

    def action_masks(self) -> np.ndarray:
        """The learner's legal actions as a fresh bool array of shape `(actions,)`; all false after the end."""
        legal: np.ndarray = self._lanes.mask(_ONLY)[0] > 0
        return legal

    def render(self) -> Any:
        """Draw the game as it stands, all-seeing, in the render mode the environment was made with."""
        return self._screen.draw(self._lanes.state(0), self.render_mode, self.metadata["render_fps"])

    def _repr_svg_(self) -> str | None:
        """The game as it stands for a notebook, all-seeing; None before the first reset."""
        return self._lanes.state(0).svg() if self._dealt else None

    def close(self) -> None:
        """Close the window, if there is one."""
        self._screen.close()
