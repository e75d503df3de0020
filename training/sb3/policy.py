"""The stable-baselines3 policy around one of our networks.

One network gives logits and value together, so a decision costs one pass; masking is sb3-contrib's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch as th
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.distributions import MaskableDistribution
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.type_aliases import PyTorchObs, Schedule

from spirits_env import games
from training.networks import Network, make_network


def network_of(model: MaskablePPO) -> Network:
    """Return the network of a learner that was made with `NetworkPolicy`."""
    policy = model.policy
    assert isinstance(policy, NetworkPolicy)
    return policy.network


class NetworkPolicy(MaskableActorCriticPolicy):
    """Actor and critic on one network of `training.networks`.

    Args:
        game: Name of the game.
        kind: Name of the network.
        sizes: Its size arguments.
        precision: Numbers of its layers: "float32" or "bfloat16".
    """

    network: Network

    def __init__(
        self,
        *args: Any,
        game: str = games.DEFAULT,
        kind: str = "mlp",
        sizes: dict[str, Any] | None = None,
        precision: str = "float32",
        **kwargs: Any,
    ) -> None:
        self.game = game
        self.kind = kind
        self.sizes = dict(sizes or {})
        self.precision = precision
        super().__init__(*args, **kwargs)

    def _build(self, lr_schedule: Schedule) -> None:
        """Make the network and the optimiser."""
        self.network = make_network(self.kind, games.load(self.game), **self.sizes)
        self.optimizer = self.optimizer_class(
            self.parameters(),
            lr=lr_schedule(1),  # type: ignore[call-arg]
            **self.optimizer_kwargs,
        )

    def _get_constructor_parameters(self) -> dict[str, Any]:
        data = super()._get_constructor_parameters()
        data.update(game=self.game, kind=self.kind, sizes=self.sizes, precision=self.precision)
        return data

    def _look(self, obs: PyTorchObs, action_masks: Any) -> tuple[MaskableDistribution, th.Tensor]:
        """Run the network: the masked distribution, and values of shape `(b, 1)`."""
        with th.autocast(self.device.type, dtype=th.bfloat16, enabled=self.precision == "bfloat16"):
            logits, value = self.network(obs)
        distribution = self.action_dist.proba_distribution(action_logits=logits)
        if action_masks is not None:
            distribution.apply_masking(action_masks)
        return distribution, value.unsqueeze(1)

    def forward(
        self, obs: th.Tensor, deterministic: bool = False, action_masks: np.ndarray | None = None
    ) -> tuple[th.Tensor, th.Tensor, th.Tensor]:
        """Choose actions: actions `(b,)`, values `(b, 1)`, log-probabilities `(b,)`."""
        distribution, values = self._look(obs, action_masks)
        actions = distribution.get_actions(deterministic=deterministic)
        return actions, values, distribution.log_prob(actions)

    def evaluate_actions(
        self, obs: th.Tensor, actions: th.Tensor, action_masks: th.Tensor | None = None
    ) -> tuple[th.Tensor, th.Tensor, th.Tensor | None]:
        """Judge given actions: values, log-probabilities, entropies."""
        distribution, values = self._look(obs, action_masks)
        return values, distribution.log_prob(actions), distribution.entropy()

    def get_distribution(self, obs: PyTorchObs, action_masks: np.ndarray | None = None) -> MaskableDistribution:
        """Return the masked distribution over actions."""
        return self._look(obs, action_masks)[0]

    def predict_values(self, obs: PyTorchObs) -> th.Tensor:
        """Return values of shape `(b, 1)`."""
        return self._look(obs, None)[1]
