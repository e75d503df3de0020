"""Agents: anything that picks a legal action for a seat from what that seat may know.

All chance comes from the view, and what an agent keeps between decisions changes no rule: a seed fixes a whole match.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from spirits_env.batch import Views, kernels
from spirits_env.game import choose_uniform, shown
from spirits_env.policies import PREFIX, is_named, names


class Agent:
    """Base of all agents: override `act`, or `act_many` for whole batches at once.

    Attributes:
        name: How tables and errors call it.
        fingerprint: What tells agents of one name apart, such as the hash of a file; empty where the name says all.
    """

    name = "agent"
    fingerprint = ""

    def act(self, view: Views) -> int:
        """Choose for one seat.

        Args:
            view: Views of length 1.

        Returns:
            A legal action id.
        """
        return int(self.act_many(view)[0])

    def act_many(self, views: Views) -> np.ndarray:
        """Choose for many seats.

        Returns:
            Legal action ids, shape `(len(views),)`, int64.
        """
        if type(self).act is Agent.act:
            raise NotImplementedError(f"{type(self).__name__} must override act or act_many.")
        return np.array([self.act(views[row]) for row in range(len(views))], np.int64)

    def check(self, game: str, players: int) -> None:
        """Raise ValueError if the agent can't play this game with so many players."""

    def __str__(self) -> str:
        return self.name


class RandomAgent(Agent):
    """Uniform over the legal decisions (not over whole turns)."""

    name = "random"

    def act_many(self, views: Views) -> np.ndarray:
        """Draw each action from the view's generator."""
        actions = np.empty(len(views), np.int64)
        choose_uniform(views.chance, views.mask, actions)
        return actions


class GreedyAgent(Agent):
    """Looks one decision ahead with the game's hand-made estimate, on a re-dealt copy; ties fall at random."""

    name = "greedy"

    def act_many(self, views: Views) -> np.ndarray:
        """Take one of the best actions."""
        values = np.empty(views.mask.shape, np.float64)
        kernels(views.game).lookahead(views.redealt(), views.mask, values)
        best = (values >= values.max(axis=1, keepdims=True) - 1e-9).astype(np.int8)
        actions = np.empty(len(views), np.int64)
        choose_uniform(views.chance, best & views.mask, actions)
        return actions


BUILT_IN: dict[str, type[Agent]] = {"random": RandomAgent, "greedy": GreedyAgent}


SEARCH = "search:"


def make_agent(spec: Any) -> Agent:
    """Turn a name, a policy file or an agent object into an agent.

    Args:
        spec: "random", "greedy", "search:400" (playouts) or "search:0.2s" (time), the path of an ONNX policy or the
            name of one that comes with the package, such as "policy:forest" (plays its best action), either with
            ":sample" after it (draws from the policy) or "+search:64" (searches with it), or an `Agent`. Options of a
            search follow as ",name=value".

    Raises:
        ValueError: If it is none of these, or the file is no policy of ours.
    """
    if isinstance(spec, Agent):
        return spec
    if isinstance(spec, str) and spec in BUILT_IN:
        return BUILT_IN[spec]()
    if isinstance(spec, str) and spec.startswith(SEARCH):
        from spirits_env.agents.search import make_search

        return make_search(spec)
    if isinstance(spec, str) and f"+{SEARCH}" in spec:
        from spirits_env.agents.guided import make_guided

        return make_guided(spec)
    if isinstance(spec, (str, Path)):
        path, sample = str(spec).removesuffix(":sample"), str(spec).endswith(":sample")
        if is_named(path) or path.endswith(".onnx") or Path(path).is_file():
            from spirits_env.agents.policy import PolicyAgent

            return PolicyAgent(path, sample=sample)
    known = ", ".join([*BUILT_IN, *(PREFIX + name for name in names())])
    raise ValueError(
        f"There is no agent {shown(spec)}; give {known}, search:400 (playouts), search:0.2s (time), the path of an "
        ".onnx policy, a policy with +search:64 after it, or an Agent object."
    )
