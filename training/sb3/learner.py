"""MaskablePPO of sb3-contrib on `SelfPlayVecEnv`: the latest policy in all seats, one stream of decisions per lane.

Each rollout's chance is named by its number, and the games go on from rollout to rollout, so a checkpoint keeps them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch as th
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.utils import set_random_seed

from spirits_env.sb3 import SelfPlayVecEnv
from training.learner import Learner
from training.rollout import CHOICES, run_seed
from training.sb3.buffer import SeatRolloutBuffer
from training.sb3.config import SB3Config
from training.sb3.policy import NetworkPolicy, network_of

# What the two learners measure alike, by its name here and that of stable-baselines3, with the sign between them.
_SAME = {
    "train/policy_loss": ("train/policy_gradient_loss", 1),
    "train/value_loss": ("train/value_loss", 1),
    "train/entropy": ("train/entropy_loss", -1),
    "train/approx_kl": ("train/approx_kl", 1),
    "train/clip_fraction": ("train/clip_fraction", 1),
    "train/explained_variance": ("train/explained_variance", 1),
}
# NumPy's generator takes seeds below this.
_SEEDS = 2**32


class Ends(BaseCallback):
    """Notes how the games of a rollout ended.

    Attributes:
        outcomes: For each step, the utility of every seat in the games that it ended, shape `(k, players)`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.outcomes: list[np.ndarray] = []

    def _on_step(self) -> bool:
        env = self.training_env
        assert isinstance(env, SelfPlayVecEnv)
        self.outcomes.append(env.outcomes[env.dones])
        return True


class SB3Learner(Learner):
    """Fits a network by self-play with MaskablePPO.

    stable-baselines3 draws from the global generators of torch, NumPy and Python, which are seeded anew before every
    rollout. Fresh weights are those of `training.ppo` with the same seed.

    Args:
        config: The run.

    Attributes:
        env: The games.
        model: The learner of sb3-contrib.
    """

    config: SB3Config

    def __init__(self, config: SB3Config) -> None:
        super().__init__(config)
        learner = config.learner
        players = config.players[0]
        scale = float(self.scales[players])
        self.env = SelfPlayVecEnv(
            config.game, learner.lanes, players, self.utility_margin_weight, scale, **config.options
        )
        # Runs of different seeds share no deal.
        self.env.seed(config.seed * learner.lanes)
        seats = learner.credit == "seat"
        self.model = MaskablePPO(
            NetworkPolicy,
            self.env,
            # What is left of a call of `learn` says nothing here: the schedules are those of the whole run.
            learning_rate=lambda remaining: self.learning_rate,
            n_steps=learner.steps,
            batch_size=learner.batch_size,
            n_epochs=learner.epochs,
            gamma=learner.gamma,
            gae_lambda=learner.gae_lambda,
            clip_range=learner.clip,
            ent_coef=learner.entropy,
            vf_coef=learner.value_weight,
            max_grad_norm=learner.max_grad_norm,
            target_kl=learner.target_kl or None,
            rollout_buffer_class=SeatRolloutBuffer if seats else MaskableRolloutBuffer,
            rollout_buffer_kwargs={"env": self.env} if seats else {},
            policy_kwargs={
                "game": config.game,
                "kind": config.network.kind,
                "sizes": config.network.sizes(),
                "precision": self.precision,
            },
            device=self.device,
        )
        self.model.set_logger(Logger(None, []))
        network_of(self.model).load_state_dict(self.network.state_dict())
        self.network = network_of(self.model)
        optimizer = self.model.policy.optimizer
        assert isinstance(optimizer, th.optim.Adam)
        self.optimizer = optimizer
        self._begin(self.env.reset())

    def _begin(self, observation: np.ndarray) -> None:
        """Tell stable-baselines3 what its next rollout begins with."""
        self.model._last_obs = observation
        # No buffer asks whether its first decision began a game.
        self.model._last_episode_starts = np.zeros(len(observation), np.bool_)

    def iterate(self) -> dict[str, float]:
        """Play a rollout and learn from it; returns its metrics.

        Raises:
            DivergedError: If a weight is no finite number.
        """
        learner, model = self.config.learner, self.model
        model.ent_coef = self.between(learner.entropy, learner.final_entropy)
        self.env.margin_weight = self.utility_margin_weight
        metrics = self.schedules()
        set_random_seed(run_seed(self.config.seed, CHOICES, self.number) % _SEEDS)
        ends = Ends()
        try:
            model.learn(learner.lanes * learner.steps, ends, reset_num_timesteps=False)
        finally:
            # torch refuses to draw from a policy that is not finite, in words that don't help.
            self.check_finite()
        choices = model.rollout_buffer.action_masks.sum(axis=-1)
        self.number += 1
        self.decisions += int((choices > 1).sum())
        found = model.logger.name_to_value
        metrics |= {name: sign * float(found[theirs]) for name, (theirs, sign) in _SAME.items()}
        return {**metrics, **self._describe(np.concatenate(ends.outcomes), choices)}

    def _describe(self, ended: np.ndarray, choices: np.ndarray) -> dict[str, float]:
        """Return metrics of a rollout's games: utilities of those that ended, `(k, players)`, and counts of actions."""
        players = self.config.players[0]
        metrics = {
            "rollout/games": float(len(ended)),
            "rollout/legal_actions": float(choices[choices > 1].mean()),
        }
        for seat in range(players if len(ended) else 0):
            metrics[f"rollout/utility_{players}p_seat{seat}"] = float(ended[:, seat].mean())
        buffer = self.model.rollout_buffer
        if isinstance(buffer, SeatRolloutBuffer):
            metrics["rollout/kept_share"] = float(buffer.kept.mean())
        return metrics

    def state(self) -> dict[str, Any]:
        """Return all that the rest of the run depends on, in a form that torch saves."""
        return {
            **super().state(),
            "games": {name: th.from_numpy(values.view(np.uint8)) for name, values in self.env.snapshot().items()},
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on from what `state` returned."""
        super().load_state(state)
        known = self.env.snapshot()
        games = {name: values.numpy().view(known[name].dtype) for name, values in state["games"].items()}
        self._begin(self.env.restore(games))
