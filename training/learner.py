"""What every way of learning shares: a network, its optimiser, schedules, and what a checkpoint keeps of them.

A learner plays a rollout and learns from it, again and again; `training.run` does everything around that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch as th
from torch import nn

from spirits_env import games
from training.config import Config
from training.networks import Heads, Network, make_network
from training.rollout import ORDER, Rollout, credit, mixed_utility, run_seed, squashed_margin

_TINY = 1e-8


class DivergedError(RuntimeError):
    """Something is no longer a finite number; the last checkpoint is still good."""


class Learner:
    """What every way of learning shares: a network, its optimiser, and counters.

    Attributes:
        config: The run.
        network: The network.
        optimizer: Adam.
        number: Rollouts so far.
        decisions: Decisions learned from so far.
    """

    def __init__(self, config: Config, hidden: int = 0) -> None:
        th.set_num_threads(config.threads)
        self.config = config
        self.game = games.load(config.game)
        self.device = pick_device(config.device)
        self.precision = pick_precision(config.precision, self.device)
        with th.random.fork_rng(devices=[]):
            th.manual_seed(config.seed)
            sizes = config.network.sizes()
            self.network: Network = make_network(config.network.kind, self.game, hidden=hidden, **sizes).to(self.device)
        self.optimizer = th.optim.Adam(self.network.parameters(), lr=config.learner.learning_rate, eps=1e-5, fused=True)
        self.scales = np.array([self.game.margin_scale.get(n, 1.0) for n in range(self.game.seats + 1)], np.float32)
        self.scales *= config.utility.margin_width
        self.number = 0
        self.decisions = 0

    def between(self, first: float, last: float, decisions: int | None = None) -> float:
        """Go linearly from one value to another over the run; where it is after so many decisions, or now."""
        progress = (self.decisions if decisions is None else decisions) / self.config.decisions
        return first + min(1.0, progress) * (last - first)

    def autocast(self) -> th.autocast:
        """Compute the layers in the run's precision."""
        return th.autocast(self.device.type, dtype=th.bfloat16, enabled=self.precision == "bfloat16")

    def check_finite(self) -> None:
        """Raise DivergedError if a weight is no finite number."""
        for name, weights in self.network.named_parameters():
            if not th.isfinite(weights).all():
                raise DivergedError(f"After {self.decisions} decisions the weights {name} are not finite")

    @property
    def learning_rate(self) -> float:
        """Adam's step size now."""
        return self.between(self.config.learner.learning_rate, self.config.learner.final_learning_rate)

    @property
    def utility_margin_weight(self) -> float:
        """Share of the margin in the utility now."""
        return self.margin_weight_at(self.decisions)

    def margin_weight_at(self, decisions: int) -> float:
        """Return the share of the margin in the utility after so many decisions."""
        utility = self.config.utility
        return self.between(utility.margin_weight, utility.final_margin_weight, decisions)

    def iterate(self) -> dict[str, float]:
        """Play a rollout and learn from it; returns its metrics."""
        rollout = self.play()
        metrics = {**describe(rollout), **self.learn(rollout)}
        self.number += 1
        self.decisions += len(rollout)
        return metrics

    def play(self) -> Rollout:
        """Play the next rollout."""
        raise NotImplementedError

    def loss(self, batch: dict[str, th.Tensor]) -> tuple[th.Tensor, dict[str, th.Tensor]]:
        """Return the loss of a minibatch, and metrics."""
        raise NotImplementedError

    def after_step(self) -> None:
        """Do what follows every gradient step."""

    def schedules(self) -> dict[str, float]:
        """Return what is scheduled, as it is now, by the names of metrics."""
        return {
            "train/learning_rate": self.learning_rate,
            "train/utility_margin_weight": self.utility_margin_weight,
        }

    def moved_far(self, metrics: dict[str, float]) -> bool:
        """Tell from the metrics of a step whether the passes over this rollout must end."""
        return False

    def prepare(self, rollout: Rollout) -> dict[str, np.ndarray]:
        """Credit the decisions and lay out all that learning needs, one row per decision."""
        learner = self.config.learner
        utility = mixed_utility(rollout, self.scales, self.utility_margin_weight)
        advantage = np.zeros(len(rollout), np.float32)
        value = rollout.kept["value"]
        credit(rollout.lane, rollout.seat, value, utility, learner.gamma, learner.gae_lambda, advantage)
        returns = rollout.seats_from(utility)
        returns[:, 0] = advantage + value
        return {
            **rollout.kept,
            "observation": rollout.observation,
            "mask": rollout.mask,
            "action": rollout.action,
            "advantage": advantage,
            "returns": returns,
            "present": rollout.present.astype(np.float32),
            "lead": rollout.seats_from(rollout.lead).astype(np.float32),
            "margin": rollout.seats_from(squashed_margin(rollout, self.scales)),
        }

    def learn(self, rollout: Rollout) -> dict[str, float]:
        """Make the passes over a rollout; returns metrics.

        Raises:
            DivergedError: If a loss or a gradient is no finite number.
        """
        learner = self.config.learner
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate
        data = {name: th.as_tensor(rows, device=self.device) for name, rows in self.prepare(rollout).items()}
        order = np.random.default_rng(run_seed(self.config.seed, ORDER, self.number))
        parts = max(1, round(len(rollout) / learner.batch_size))
        seen: list[dict[str, float]] = []
        for epoch in range(learner.epochs):
            for number, rows in enumerate(np.array_split(order.permutation(len(rollout)), parts)):
                at = th.as_tensor(rows, device=self.device)
                seen.append(self.step({name: values[at] for name, values in data.items()}))
                wrong = " and ".join(name for name, value in seen[-1].items() if not np.isfinite(value))
                if wrong:
                    where = f"in rollout {self.number}, pass {epoch}, minibatch {number}"
                    raise DivergedError(f"After {self.decisions} decisions, {where}, {wrong} is not finite")
                if self.moved_far(seen[-1]):
                    break
            if self.moved_far(seen[-1]):
                break
        returns, value = data["returns"][:, 0], data["value"]
        return {
            **{name: float(np.mean([each[name] for each in seen])) for name in seen[0]},
            "train/steps": float(len(seen)),
            "train/explained_variance": 1 - float((returns - value).var()) / max(float(returns.var()), _TINY),
            **self.schedules(),
        }

    def step(self, batch: dict[str, th.Tensor]) -> dict[str, float]:
        """Make one gradient step; returns its metrics."""
        loss, metrics = self.loss(batch)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        norm = nn.utils.clip_grad_norm_(self.network.parameters(), self.config.learner.max_grad_norm)
        self.optimizer.step()
        self.after_step()
        metrics = {"train/loss": loss, "train/gradient_norm": norm, **metrics}
        values = th.stack([value.detach().float() for value in metrics.values()]).tolist()
        return dict(zip(metrics, values, strict=True))

    def forecast_losses(self, heads: Heads, batch: dict[str, th.Tensor]) -> dict[str, tuple[float, th.Tensor]]:
        """Return weight and loss of each head but the policy, by the name of its metric."""
        learner = self.config.learner
        present, returns = batch["present"], batch["returns"]
        others = present[:, 1:]
        leads = nn.functional.binary_cross_entropy_with_logits(heads.leads, batch["lead"], reduction="none").mean(dim=2)
        losses = {
            "train/value_loss": (learner.value_weight, (heads.values[:, 0] - returns[:, 0]).square().mean()),
            "train/others_loss": (
                learner.others_weight,
                mean_of((heads.values[:, 1:] - returns[:, 1:]).square(), others),
            ),
            "train/lead_loss": (learner.lead_weight, mean_of(leads, present)),
            "train/margin_loss": (
                learner.margin_weight,
                mean_of((heads.margins - batch["margin"]).square(), present),
            ),
        }
        if heads.oracle is not None:
            losses["train/oracle_loss"] = (learner.value_weight, (heads.oracle - returns[:, 0]).square().mean())
        return losses

    def state(self) -> dict[str, Any]:
        """Return all that the rest of the run depends on, in a form that torch saves."""
        return {
            "network": self.network.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "number": self.number,
            "decisions": self.decisions,
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on from what `state` returned."""
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.number = state["number"]
        self.decisions = state["decisions"]


def pick_device(name: str) -> th.device:
    """Return the device of a name, CUDA for "auto" where there is one.

    Raises:
        ValueError: If CUDA is asked for and not there.
    """
    if name == "cuda" and not th.cuda.is_available():
        raise ValueError("device was 'cuda', but torch finds no CUDA device; give 'cpu' or 'auto'.")
    return th.device("cuda" if name != "cpu" and th.cuda.is_available() else "cpu")


def pick_precision(name: str, device: th.device) -> str:
    """Return the precision of a name, for "auto" bfloat16 where the device has instructions for it."""
    if name != "auto":
        return name
    if device.type == "cuda":
        return "bfloat16" if th.cuda.is_bf16_supported() else "float32"
    return "bfloat16" if th.cpu._is_avx512_bf16_supported() else "float32"


def mean_of(values: th.Tensor, weights: th.Tensor) -> th.Tensor:
    """Return the mean of values under weights of the same shape; 0 where all weights are 0."""
    return (values * weights).sum() / weights.sum().clamp(min=_TINY)


def masked_log_softmax(logits: th.Tensor, mask: th.Tensor) -> th.Tensor:
    """Return log-probabilities over legal actions, shape `(b, actions)`; illegal ones get a very low finite number."""
    return th.log_softmax(logits.masked_fill(mask == 0, -1e9), dim=1)


def entropy_of(chances: th.Tensor) -> th.Tensor:
    """Return the mean entropy of log-probabilities in nats."""
    return -(chances.exp() * chances).sum(dim=1).mean()


def describe(rollout: Rollout) -> dict[str, float]:
    """Return metrics of the games of a rollout."""
    metrics = {
        "rollout/games": float(len(rollout.players)),
        "rollout/decisions_per_game": len(rollout) / len(rollout.players),
        "rollout/legal_actions": float(rollout.mask.sum(axis=1).mean()),
    }
    for players in np.unique(rollout.players):
        rows = rollout.players == players
        whole = rollout.learner[rows, :players].all(axis=1)
        if whole.any():
            for seat in range(players):
                metrics[f"rollout/utility_{players}p_seat{seat}"] = float(rollout.utility[rows][whole, seat].mean())
        if not whole.all():
            own = rollout.learner[rows][~whole]
            metrics[f"rollout/utility_{players}p_against_opponents"] = float(rollout.utility[rows][~whole][own].mean())
    return metrics
