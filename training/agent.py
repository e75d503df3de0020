"""The learner's current network as an agent, for the matches that make the curve.

It plays its best legal action, as the exported policy does.
"""

from __future__ import annotations

import numpy as np
import torch as th
from torch import nn

from spirits_env.agents import Agent
from spirits_env.batch import Views


class NetworkAgent(Agent):
    """Plays the best legal action of a network.

    Args:
        network: Maps observations to logits and values.
        name: How tables call it.
    """

    def __init__(self, network: nn.Module, name: str = "learner") -> None:
        self.network = network
        self.name = name

    def act_many(self, views: Views) -> np.ndarray:
        """Choose for many seats."""
        with th.no_grad():
            logits, _ = self.network(th.as_tensor(views.observation))
        logits = logits.masked_fill(th.as_tensor(views.mask) == 0, -th.inf)
        actions: np.ndarray = logits.argmax(dim=1).numpy()
        return actions
