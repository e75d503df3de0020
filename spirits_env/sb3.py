"""The stable-baselines3 face: a native VecEnv for self-play.

Each lane is one game; each step is one decision, with the view and mask of the seat that makes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from stable_baselines3.common.vec_env import VecEnv

from spirits_env import games
from spirits_env.batch import Batch
from spirits_env.game import Game


class SelfPlayVecEnv(VecEnv):
    """N games played by whoever calls `step`, all seats alike.

    The observation is the view of the seat to act and `env_method("action_masks")` its masks. The reward is that of
    the seat that acted, which is all it will hear of its last decision only if it made the last of the game: so the
    final utilities of all seats are in `outcomes`, and who acted in `acted`. Learners must credit them per seat
    (`training.sb3.buffer` does). Finished games are dealt anew at once; the infos of that step hold
    `terminal_observation` (what the seat that acted last sees), `returns`, `scores` and `winners`.

    Attributes:
        batch: The games.
        acted: The seat that acted in each lane's last step, shape `(n,)`.
        dones: Whether that step ended the game, shape `(n,)`.
        outcomes: Where it did, the utility of each seat, shape `(n, seats)` float32.
        margin_weight: Share of the margin in the utilities, 0 for the plain reward option.
        margin_scale: Points of margin that count as much as 0.76 of a win: the margin enters as tanh(margin / scale).
    """

    def __init__(
        self,
        game: str | Game = games.DEFAULT,
        num_envs: int = 64,
        players: int = 2,
        margin_weight: float = 0.0,
        margin_scale: float = 12.0,
        threads: int = 1,
        **options: Any,
    ) -> None:
        """Make the games.

        Args:
            game: A game or its name.
            num_envs: Number of games.
            players: Players in each.
            margin_weight: See the class.
            margin_scale: See the class.
            threads: Threads that step the games.
            **options: The game's options.

        Raises:
            ValueError: If an argument is not allowed.
        """
        self.batch = Batch(game, num_envs, players, options, threads)
        if not 0 <= margin_weight <= 1 or margin_scale <= 0:
            raise ValueError(
                f"margin_weight was {margin_weight} and margin_scale {margin_scale}; "
                "give a weight from 0 to 1 and a scale above 0."
            )
        self.margin_weight = margin_weight
        self.margin_scale = margin_scale
        layout = self.batch.game.layout
        self.render_mode = None
        super().__init__(
            num_envs,
            spaces.Box(layout.low(), layout.high(), dtype=np.int8),
            spaces.Discrete(len(self.batch.game.actions)),
        )
        self.acted = np.zeros(num_envs, np.int8)
        self.dones = np.zeros(num_envs, np.bool_)
        self.outcomes = np.zeros((num_envs, players), np.float32)
        self._actions = np.zeros(num_envs, np.int64)
        self._seeded = False

    def reset(self) -> np.ndarray:
        """Deal new games in all lanes and return the first views, shape `(n, layout.size)` int8."""
        seeds = None
        if any(seed is not None for seed in self._seeds):
            seeds = [int(seed) for seed in self._seeds if seed is not None]
        elif not self._seeded:
            entropy = np.random.SeedSequence().generate_state(self.num_envs, np.uint64)
            # Seeds with the top bit set are kept for evaluation.
            seeds = [int(seed) >> 1 for seed in entropy]
        self.batch.reset(seeds)
        self._seeded = True
        self._reset_seeds()
        self._reset_options()
        self.dones[:] = False
        return self.batch.observation.copy()

    def step_async(self, actions: np.ndarray) -> None:
        """Take the actions of the seats to act, shape `(n,)`."""
        self._actions = np.asarray(actions)

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Play them.

        Returns:
            The next views, the rewards of the seats that acted (float32), the ends, and the infos.

        Raises:
            IllegalAction: If any action is illegal; then nothing at all was played.
        """
        batch = self.batch
        acted = batch.seat.copy()
        batch.step(self._actions)
        self.acted = acted
        self.dones = batch.done.copy()
        rewards = np.zeros(self.num_envs, np.float32)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        ended = np.flatnonzero(self.dones)
        if len(ended):
            self.outcomes[ended] = batch.utilities(ended, self.margin_weight, self.margin_scale)
            rewards[ended] = self.outcomes[ended, acted[ended]]
            last, _ = batch.view(ended, acted[ended])
            for row, lane in enumerate(ended):
                infos[lane] = self._final_info(lane, last[row])
            batch.reset(lanes=ended)
        return batch.observation.copy(), rewards, self.dones.copy(), infos

    def _final_info(self, lane: int | np.integer[Any], observation: np.ndarray) -> dict[str, Any]:
        """Tell how a game ended."""
        batch = self.batch
        info = {
            "terminal_observation": observation,
            "TimeLimit.truncated": False,
            "returns": batch.utility[lane, : batch.players].tolist(),
            "scores": batch.points[lane, : batch.players].tolist(),
            "winners": np.flatnonzero(batch.won[lane]).tolist(),
        }
        return info | ({"remarks": batch.remarks} if batch.remarks else {})

    def action_masks(self) -> np.ndarray:
        """Legal actions of the seats to act, shape `(n, actions)` bool, fresh."""
        return self.batch.mask.astype(np.bool_)

    def snapshot(self) -> dict[str, np.ndarray]:
        """Copy the games, for `restore`."""
        return self.batch.snapshot()

    def restore(self, snapshot: Mapping[str, np.ndarray]) -> np.ndarray:
        """Put the games back to a snapshot and return the views of the seats to act."""
        self.batch.restore(snapshot)
        self._seeded = True
        return self.batch.observation.copy()

    def _chosen(self, indices: int | Iterable[int] | None) -> list[int]:
        """Turn stable-baselines3's way of naming lanes into a list."""
        return list(self._get_indices(indices))

    def get_attr(self, attr_name: str, indices: int | Iterable[int] | None = None) -> list[Any]:
        """Return an attribute once per lane."""
        value = getattr(self, attr_name)
        return [value for _ in self._chosen(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: int | Iterable[int] | None = None) -> None:
        """Set an attribute of all lanes alike."""
        setattr(self, attr_name, value)

    def env_method(
        self,
        method_name: str,
        *method_args: Any,
        indices: int | Iterable[int] | None = None,
        **method_kwargs: Any,
    ) -> list[Any]:
        """Call a method once and hand out its result lane by lane (for `action_masks`)."""
        result = getattr(self, method_name)(*method_args, **method_kwargs)
        return [result[lane] for lane in self._chosen(indices)]

    def env_is_wrapped(self, wrapper_class: type[Any], indices: int | Iterable[int] | None = None) -> list[bool]:
        """Lanes are never wrapped."""
        return [False for _ in self._chosen(indices)]

    def get_images(self) -> Sequence[np.ndarray | None]:
        """Lanes have no pictures."""
        return [None] * self.num_envs

    def close(self) -> None:
        """Nothing to close."""
