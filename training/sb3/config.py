"""What a run with stable-baselines3 is: that of `training.config` with a learner of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from training.config import Config, check_range


@dataclass
class SB3LearnerConfig:
    """MaskablePPO.

    Attributes:
        lanes: Games played at once, each going on from rollout to rollout.
        steps: Decisions per lane and rollout, those without a choice among them.
        batch_size: Decisions per gradient step, nearly.
        epochs: Passes over each rollout.
        learning_rate: Adam's step size at the start.
        final_learning_rate: Adam's step size at the end, falling linearly.
        clip: Clipping range of the policy ratio.
        gamma: Discount per decision; anything below 1 pays for taking fewer decisions.
        gae_lambda: Trace of the advantage estimate.
        entropy: Weight of the entropy bonus at the start.
        final_entropy: Weight of the entropy bonus at the end, falling linearly.
        value_weight: Weight of the squared error of the value.
        max_grad_norm: Gradients are scaled down to this norm.
        target_kl: An update stops early when the policy has moved 1.5 times so far; 0 for no such limit.
        credit: "seat" credits each decision with the future of the seat that made it; "stream" with whatever comes
            next in the lane, whoever decides there: the stock way, which is wrong in games of turns, to compare with.
    """

    lanes: int = 64
    steps: int = 128
    batch_size: int = 512
    epochs: int = 2
    learning_rate: float = 2.5e-3
    final_learning_rate: float = 1e-4
    clip: float = 0.2
    gamma: float = 1.0
    gae_lambda: float = 0.95
    entropy: float = 0.02
    final_entropy: float = 0.005
    value_weight: float = 0.5
    max_grad_norm: float = 0.5
    target_kl: float = 0.03
    credit: Literal["seat", "stream"] = "seat"

    def check(self, players: int) -> None:
        """Raise ValueError for a value that can't work, with so many numbers of players."""
        check_range("learner", self, at_least_one=("lanes", "steps", "epochs"))
        check_range("learner", self, at_most_one=("gamma", "gae_lambda"))
        check_range("learner", self, above_zero=("gamma", "learning_rate", "clip", "max_grad_norm"))
        rollout = self.lanes * self.steps
        if not 2 <= self.batch_size <= rollout:
            raise ValueError(
                f"learner.batch_size was {self.batch_size}; give 2 or more, and no more than the {rollout} decisions "
                "of a rollout (learner.lanes times learner.steps)."
            )
        if self.credit == "stream" and rollout % self.batch_size:
            raise ValueError(
                f"learner.batch_size was {self.batch_size}; with learner.credit 'stream' give one that divides the "
                f"{rollout} decisions of a rollout (learner.lanes times learner.steps)."
            )


@dataclass
class SB3Config(Config):
    """A training run with stable-baselines3.

    Attributes:
        players: The number of players that the network learns, one only.
        learner: The learner.
    """

    PROGRAM: ClassVar[str] = "python -m training.sb3"
    PURPOSE: ClassVar[str] = "Fit a self-play policy with MaskablePPO of sb3-contrib, export it and judge it."

    learner: SB3LearnerConfig = field(default_factory=SB3LearnerConfig)  # type: ignore[assignment]

    def check(self) -> None:
        """Raise ValueError for a value that can't work."""
        super().check()
        if len(self.players) > 1:
            raise ValueError(
                f"players was {list(self.players)}; the lanes of stable-baselines3 all have the same number of "
                f"players, so give one, as in [{self.players[0]}]."
            )
