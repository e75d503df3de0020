"""Expert iteration: a search over the network plays, and the network learns what the search found.

The second stage, after PPO: `start` names the run to go on from. See `training.run` for what a run leaves.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import torch as th

from spirits_env.agents.gumbel import Rule, search
from spirits_env.batch import copied, kernels
from training.config import Config, ForecastConfig, UtilityConfig, parse
from training.learner import Learner, entropy_of, masked_log_softmax, mean_of
from training.rollout import CHOICES, Asked, Games, Rollout, run_seed, share_lanes
from training.run import carry_out


@dataclass
class ImitationConfig(ForecastConfig):
    """Learning what the search found, on whole games.

    Attributes:
        games: Games per rollout, all played to their ends; the player counts share them.
        batch_size: Decisions per gradient step, nearly.
        epochs: Passes over each rollout.
        learning_rate: Adam's step size at the start.
        final_learning_rate: Adam's step size at the end, falling linearly.
    """

    games: int = 512
    batch_size: int = 512
    epochs: int = 2
    learning_rate: float = 5e-4
    final_learning_rate: float = 2e-5


@dataclass
class SearchConfig:
    """The search that makes the targets: `spirits_env.agents.gumbel` over the network itself.

    Attributes:
        share: Share of the decisions that are searched, and whose policy is learned; the others are drawn from the
            policy, and only what came of them is learned. More games then come of the same time.
        evaluations: Network evaluations per search.
        considered: Actions compared at the root, at most.
        c_visit: Visits added to the most visited action's in the weight of values against logits.
        c_scale: What that sum is multiplied by.
        gumbel: Scale of the noise on the root's logits: it makes the games differ.
    """

    share: float = 0.25
    evaluations: int = 32
    considered: int = 16
    c_visit: float = 50.0
    c_scale: float = 0.3
    gumbel: float = 1.0


@dataclass
class ExpertConfig(Config):
    """A run of expert iteration.

    Attributes:
        start: A checkpoint's folder or a run's, whose best weights to begin with; empty for fresh ones.
        learner: The learner.
        search: The search.
        utility: What it is paid.
    """

    PROGRAM: ClassVar[str] = "python -m training.expert"
    PURPOSE: ClassVar[str] = "Fit a policy to what a search over it finds, export it and judge it."

    learner: ImitationConfig = field(default_factory=ImitationConfig)  # type: ignore[assignment]
    search: SearchConfig = field(default_factory=SearchConfig)
    utility: UtilityConfig = field(default_factory=lambda: UtilityConfig(margin_weight=0.0))

    def check(self) -> None:
        """Raise ValueError for a value that can't work."""
        super().check()
        search = self.search
        if not 0 < search.share <= 1:
            raise ValueError(f"search.share was {search.share}; give a number above 0, at most 1.")
        if search.evaluations < 1 or search.considered < 1:
            raise ValueError("search.evaluations and search.considered must be at least 1.")


class Expert(Learner):
    """Fits a network to a search over it.

    Args:
        config: The run.
    """

    config: ExpertConfig

    def __init__(self, config: ExpertConfig) -> None:
        super().__init__(config)
        lanes = share_lanes(config.learner.games, config.shares or (1.0,) * len(config.players))
        self.games = Games(self.game, config.players, lanes, config.options)
        wanted = config.search
        self.rule = Rule(wanted.evaluations, wanted.considered, wanted.c_visit, wanted.c_scale, wanted.gumbel)
        self._chance = np.random.default_rng()

    def play(self) -> Rollout:
        """Play the next rollout."""
        self._chance = np.random.default_rng(run_seed(self.config.seed, CHOICES, self.number))
        return self.games.play(self, self.config.seed, self.number)

    def choose(self, asked: Asked) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Search for some of the seats and draw from the policy for the others.

        Keeps the policy to learn, whether there is one, and the value.
        """
        count = len(asked.seat)
        logits, values = self.judge(asked.observation, asked.mask)
        scores = np.where(asked.mask != 0, logits, -np.inf)
        action = (scores + self._chance.gumbel(size=scores.shape)).argmax(axis=1)
        value = values[:, 0].copy()
        policy = np.zeros(scores.shape, np.float32)
        searched = self._chance.random(count) < self.config.search.share
        players = asked.states["players"]
        for number in np.unique(players[searched]):
            rows = np.flatnonzero(searched & (players == number))
            roots = copied(asked.states, rows)
            roots["rng"] = self._chance.integers(1, 1 << 63, len(rows), dtype=np.uint64)
            kernels(self.game).redeal(roots, asked.seat[rows].astype(np.int8))
            rule = self.rule._replace(margin_weight=self.utility_margin_weight, margin_scale=self.scales[number])
            found = search(self.game, roots, asked.observation[rows], asked.mask[rows], self.judge, rule)
            action[rows], policy[rows] = found.actions, found.policy
            value[rows] = found.values[np.arange(len(rows)), asked.seat[rows]]
        kept = {"policy": policy, "searched": searched.astype(np.float32), "value": value}
        return action, kept

    def judge(self, observation: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Run the network for the search: logits `(m, actions)` and values `(m, seats)`."""
        with th.no_grad(), self.autocast():
            heads = self.network.heads(th.as_tensor(observation, device=self.device))
        return heads.logits.cpu().numpy(), heads.values.cpu().numpy()

    def loss(self, batch: dict[str, th.Tensor]) -> tuple[th.Tensor, dict[str, th.Tensor]]:
        """Return the loss of a minibatch, and metrics."""
        with self.autocast():
            heads = self.network.heads(batch["observation"])
        chances = masked_log_softmax(heads.logits, batch["mask"])
        searched, policy = batch["searched"], batch["policy"]
        missed = policy * (policy.clamp(min=1e-20).log() - chances)
        policy_loss = mean_of(missed.sum(dim=1), searched)
        agreed = mean_of((chances.argmax(dim=1) == policy.argmax(dim=1)).float(), searched)
        forecasts = self.forecast_losses(heads, batch)
        metrics = {
            "train/policy_loss": policy_loss,
            "train/agreement": agreed,
            "train/entropy": entropy_of(chances),
            **{name: value for name, (_, value) in forecasts.items()},
        }
        loss = policy_loss
        for weight, value in forecasts.values():
            loss = loss + weight * value
        return loss, metrics


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    config = parse(arguments, ExpertConfig)
    return carry_out(config, lambda: Expert(config))


if __name__ == "__main__":
    sys.exit(main())
