"""A rollout buffer that credits each seat with its own future.

In self-play one stream holds the decisions of all seats; the successor of a decision is the same seat's next one.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np
import torch as th
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer, MaskableRolloutBufferSamples

from spirits_env.sb3 import SelfPlayVecEnv


class SeatRolloutBuffer(MaskableRolloutBuffer):
    """Generalised advantage estimation per seat (Schulman et al., 2016, along each seat's own decisions).

    A seat's return at the end of a game goes to its own last decision, whoever moved since. At the end of the rollout
    only the seat to act has a value to bootstrap from: the last decisions of the other seats are left out.

    Attributes:
        seats: The seat of each decision, shape `(steps, lanes)`.
        kept: Whether a decision is used for learning, shape `(steps, lanes)`.
    """

    def __init__(self, *args: Any, env: SelfPlayVecEnv, **kwargs: Any) -> None:
        self.env = env
        super().__init__(*args, **kwargs)

    def reset(self) -> None:
        """Empty the buffer."""
        super().reset()
        shape = (self.buffer_size, self.n_envs)
        self.seats = np.zeros(shape, np.int64)
        self.ends = np.zeros(shape, np.bool_)
        self.outcomes = np.zeros((*shape, self.env.batch.players), np.float32)
        self.kept = np.ones(shape, np.bool_)

    def add(self, *args: Any, action_masks: np.ndarray | None = None, **kwargs: Any) -> None:
        """Store one decision per lane, with who made it and what it ended in.

        Raises:
            ValueError: If a stored action is not legal under the stored mask.
        """
        actions = np.asarray(args[1]).reshape(-1)
        if action_masks is None or not action_masks[np.arange(self.n_envs), actions].all():
            raise ValueError(
                "An action is not legal under the mask stored with it; masks must come from the same step."
            )
        self.seats[self.pos] = self.env.acted
        self.ends[self.pos] = self.env.dones
        self.outcomes[self.pos] = self.env.outcomes
        super().add(*args, action_masks=action_masks, **kwargs)

    def compute_returns_and_advantage(self, last_values: th.Tensor, dones: np.ndarray) -> None:
        """Scan backwards with one pending value, advantage and outcome per lane and seat.

        Args:
            last_values: Value of the view of the seat to act after the rollout, shape `(lanes, 1)`.
            dones: Whether the last step ended the game, shape `(lanes,)`; the next game's view is then no successor.
        """
        lanes = np.arange(self.n_envs)
        shape = (self.n_envs, self.env.batch.players)
        value, advantage, pending = (np.zeros(shape, np.float32) for _ in range(3))
        known = np.zeros(shape, np.bool_)
        to_act = self.env.batch.seat.astype(np.int64)
        value[lanes, to_act] = last_values.detach().cpu().numpy().reshape(-1)
        known[lanes, to_act] = True
        for step in reversed(range(self.buffer_size)):
            ended = self.ends[step]
            value[ended], advantage[ended], known[ended] = 0.0, 0.0, True
            pending[ended] = self.outcomes[step, ended]
            at = (lanes, self.seats[step])
            delta = pending[at] + self.gamma * value[at] - self.values[step]
            estimate = np.where(known[at], delta + self.gamma * self.gae_lambda * advantage[at], 0.0)
            self.advantages[step] = estimate
            self.kept[step] = known[at]
            value[at], advantage[at], pending[at], known[at] = self.values[step], estimate, 0.0, True
        self.returns = self.advantages + self.values

    def get(  # type: ignore[override]
        self, batch_size: int | None = None
    ) -> Generator[MaskableRolloutBufferSamples, None, None]:
        """Give the kept decisions once, shuffled, in minibatches of nearly equal size."""
        if not self.generator_ready:
            names = ("observations", "actions", "values", "log_probs", "advantages", "returns", "action_masks")
            for name in names:
                setattr(self, name, self.swap_and_flatten(getattr(self, name)))
            self.generator_ready = True
        kept = np.flatnonzero(self.kept.swapaxes(0, 1).reshape(-1))
        # stable-baselines3 seeds NumPy's global generator and draws its own buffers' orders from it.
        order = np.random.permutation(kept)  # noqa: NPY002
        parts = 1 if batch_size is None else max(1, round(len(order) / batch_size))
        for part in np.array_split(order, parts):
            yield self._get_samples(part)
