"""An agent that always passes, legal or not: for tests of what becomes of illegal choices."""

from __future__ import annotations

import numpy as np

from spirits_env.agents import Agent
from spirits_env.batch import Views


class Passer(Agent):
    name = "passer"

    def act_many(self, views: Views) -> np.ndarray:
        return np.full(len(views), 58)
