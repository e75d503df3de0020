"""A network in training as an agent: for matches, and as a frozen past self.

It plays its best legal action, as the exported policy does, or draws from the policy.
"""

from __future__ import annotations

import numpy as np
import torch as th

from spirits_env.agents import Agent
from spirits_env.agents.policy import draw_softmax
from spirits_env.batch import Views
from training.networks import Network


class NetworkAgent(Agent):
    """Plays a network.

    Args:
        network: The network.
        name: How tables call it.
        sample: Whether actions are drawn from the policy instead of being its best.
    """

    def __init__(self, network: Network, name: str = "learner", sample: bool = False) -> None:
        self.network = network
        self.name = name
        self.sample = sample

    def act_many(self, views: Views) -> np.ndarray:
        """Choose for many seats."""
        device = self.network.scales.device
        with th.no_grad():
            logits, _ = self.network(th.as_tensor(views.observation, device=device))
        scores = np.where(views.mask != 0, logits.cpu().numpy().astype(np.float64), -np.inf)
        if self.sample:
            return draw_softmax(scores, views.chance)
        actions: np.ndarray = scores.argmax(axis=1)
        return actions
