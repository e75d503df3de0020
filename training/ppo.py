"""PPO straight on batches of whole games: one network in all seats, every seat's decisions as data.

Proximal policy optimisation after Schulman et al. (2017), with the credit of each seat on its own.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch as th

from spirits_env import games
from spirits_env.agents import Agent
from spirits_env.batch import kernels
from training.agent import NetworkAgent
from training.config import Config
from training.learner import Learner, entropy_of, masked_log_softmax
from training.networks import Network
from training.rollout import CHOICES, OPPONENT, Asked, Games, Rollout, run_seed, share_lanes

_TINY = 1e-8


class PPO(Learner):
    """Fits a network by self-play, or against frozen opponents.

    Args:
        config: The run.
        opponents: Frozen agents that have all seats but one in every game; none for self-play.

    Attributes:
        pool: Weights of past selves with the decisions they had, oldest first.
        average: A slow average of the network, where it is pulled towards one.
    """

    def __init__(self, config: Config, opponents: Sequence[Agent] = ()) -> None:
        learner = config.learner
        self.own = [part for part in games.load(config.game).layout.slices if part.known == "own"]
        seats = games.load(config.game).seats
        super().__init__(config, hidden=(seats - 1) * sum(part.size for part in self.own) if learner.oracle else 0)
        self.opponents = tuple(opponents)
        lanes = share_lanes(learner.games, config.shares or (1.0,) * len(config.players))
        share = 1.0 if opponents else learner.pool_share
        self.games = Games(self.game, config.players, lanes, config.options, share)
        self.pool: list[tuple[int, dict[str, th.Tensor]]] = []
        self.average = copy.deepcopy(self.network).requires_grad_(False) if learner.pull else None
        self._chance = th.Generator(self.device)

    def play(self) -> Rollout:
        """Play the next rollout."""
        self._keep_self()
        self._chance.manual_seed(run_seed(self.config.seed, CHOICES, self.number))
        return self.games.play(self, self.config.seed, self.number, self.opponents or self._past_self())

    def choose(self, asked: Asked) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Draw from the policy; keeps the log-probability and the value."""
        kept = {}
        hidden = None
        if self.network.hidden:
            kept["hidden"] = self.unseen(asked)
            hidden = th.as_tensor(kept["hidden"], device=self.device)
        with th.no_grad(), self.autocast():
            heads = self.network.heads(th.as_tensor(asked.observation, device=self.device), hidden)
        chances = masked_log_softmax(heads.logits, th.as_tensor(asked.mask, device=self.device))
        noise = th.rand(chances.shape, generator=self._chance, device=self.device).clamp_(min=1e-20)
        action = (chances - (-noise.log()).log()).argmax(dim=1)
        value = heads.values[:, 0] if heads.oracle is None else heads.oracle
        kept["log_prob"] = chances.gather(1, action.unsqueeze(1)).squeeze(1).cpu().numpy()
        kept["value"] = value.cpu().numpy()
        return action.cpu().numpy(), kept

    def unseen(self, asked: Asked) -> np.ndarray:
        """Write what only the other seats know, counted from the one to act: shape `(k, hidden)`, float32."""
        layout, seats = self.game.layout, self.game.seats
        lanes = np.arange(len(asked.seat))
        players = asked.states["players"].astype(np.int64)
        observation, mask = np.zeros_like(asked.observation), np.zeros_like(asked.mask)
        parts = []
        for around in range(1, seats):
            kernels(self.game).view(asked.states, lanes, (asked.seat + around) % players, mask, observation)
            for part in self.own:
                known = observation[:, layout[part.name]] / np.float32(part.high)
                known[around >= players] = 0.0
                parts.append(known)
        return np.concatenate(parts, axis=1)

    @property
    def entropy_weight(self) -> float:
        """Weight of the entropy bonus now."""
        return self.between(self.config.learner.entropy, self.config.learner.final_entropy)

    def loss(self, batch: dict[str, th.Tensor]) -> tuple[th.Tensor, dict[str, th.Tensor]]:
        """Return the loss of a minibatch, and metrics."""
        learner = self.config.learner
        with self.autocast():
            heads = self.network.heads(batch["observation"], batch.get("hidden"))
        chances = masked_log_softmax(heads.logits, batch["mask"])
        log_ratio = chances.gather(1, batch["action"].unsqueeze(1)).squeeze(1) - batch["log_prob"]
        ratio = log_ratio.exp()
        advantage = batch["advantage"]
        advantage = (advantage - advantage.mean()) / (advantage.std(correction=0) + _TINY)
        clipped = ratio.clamp(1 - learner.clip, 1 + learner.clip)
        policy_loss = -th.minimum(ratio * advantage, clipped * advantage).mean()
        entropy = entropy_of(chances)
        forecasts = self.forecast_losses(heads, batch)
        metrics = {
            "train/policy_loss": policy_loss,
            "train/entropy": entropy,
            "train/approx_kl": ((ratio - 1) - log_ratio).mean(),
            "train/clip_fraction": ((ratio - 1).abs() > learner.clip).float().mean(),
            **{name: value for name, (_, value) in forecasts.items()},
        }
        loss = policy_loss - self.entropy_weight * entropy
        for weight, value in forecasts.values():
            loss = loss + weight * value
        if self.average is not None:
            metrics["train/pull"] = self._divergence(self.average, batch, chances)
            loss = loss + learner.pull * metrics["train/pull"]
        return loss, metrics

    def after_step(self) -> None:
        """Let the average follow the network."""
        if self.average is not None:
            with th.no_grad():
                for slow, fast in zip(self.average.parameters(), self.network.parameters(), strict=True):
                    slow.lerp_(fast, 1 - self.config.learner.pull_decay)

    def schedules(self) -> dict[str, float]:
        """Return what is scheduled, as it is now, by the names of metrics."""
        return {**super().schedules(), "train/entropy_weight": self.entropy_weight}

    def moved_far(self, metrics: dict[str, float]) -> bool:
        """Tell whether the policy has moved as far as an update may move it."""
        return 0 < 1.5 * self.config.learner.target_kl < metrics["train/approx_kl"]

    def _divergence(self, other: Network, batch: dict[str, th.Tensor], chances: th.Tensor) -> th.Tensor:
        """Return the mean Kullback-Leibler divergence of the policy from another network's."""
        with th.no_grad(), self.autocast():
            logits, _ = other(batch["observation"])
        target = masked_log_softmax(logits, batch["mask"])
        return (chances.exp() * (chances - target)).sum(dim=1).mean()

    def _past_self(self) -> tuple[Agent, ...]:
        """Draw the past self that this rollout's pool games are against."""
        if not self.pool or not self.config.learner.pool_share:
            return ()
        drawn = run_seed(self.config.seed, OPPONENT, self.number) % len(self.pool)
        decisions, weights = self.pool[drawn]
        network = copy.deepcopy(self.network)
        network.load_state_dict(weights)
        return (NetworkAgent(network, f"past self of {decisions} decisions", sample=True),)

    def _keep_self(self) -> None:
        """Put the present weights into the pool when they are due; of a full one the most crowded past self goes."""
        learner = self.config.learner
        if not learner.pool_share:
            return
        newest = self.pool[-1][0] if self.pool else 0
        if self.decisions - newest >= learner.pool_every:
            weights = {name: values.detach().cpu().clone() for name, values in self.network.state_dict().items()}
            self.pool.append((self.decisions, weights))
            if len(self.pool) > learner.pool_size:
                at = [0, *(decisions for decisions, _ in self.pool)]
                del self.pool[min(range(len(self.pool) - 1), key=lambda i: at[i + 2] - at[i])]

    def state(self) -> dict[str, Any]:
        """Return all that the rest of the run depends on, in a form that torch saves."""
        return {
            **super().state(),
            "pool": self.pool,
            "average": None if self.average is None else self.average.state_dict(),
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on from what `state` returned."""
        super().load_state(state)
        self.pool = [(decisions, weights) for decisions, weights in state["pool"]]
        if self.average is not None:
            self.average.load_state_dict(state["average"])
