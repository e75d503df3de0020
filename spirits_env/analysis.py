"""What a policy thinks of a game that was played: its choices, its expectations, and what each decision cost.

It is asked what it would have been asked at the table: nothing that the seat to act could not know comes in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from spirits_env import policies, record
from spirits_env.agents import Agent
from spirits_env.agents.policy import PolicyAgent, judge_soundly, pay_as_trained, probabilities
from spirits_env.batch import Batch, Views
from spirits_env.game import Game, shown, stream
from spirits_env.state import State

# A mistake is a decision that the policy would hardly take, and by which the mover loses so much of its return. A win
# and a loss are 2 apart for two players.
UNLIKELY = 0.05
COSTLY = 0.1

# Re-deals over which a loss is averaged, the same ones for both actions compared.
REDEALS = 32

# Positions in one network call: more make none of them faster.
_ROWS = 512

# The purpose that names the streams of chance drawn here.
_ANALYSIS = 3


@dataclass(frozen=True)
class Judgement:
    """What a policy thinks of one decision.

    Attributes:
        ply: Number of decisions before it.
        seat: Who decided.
        action: What was played.
        probabilities: How likely the policy is to play each legal action; they add up to 1.
        value: The return that the policy expects for the seat before the decision.
        best: The action that the policy likes most.
        loss: By how much the decision lowers what the policy expects for the seat, against `best`; never below 0.
    """

    ply: int
    seat: int
    action: int
    probabilities: Mapping[int, float]
    value: float
    best: int
    loss: float

    @property
    def mistake(self) -> bool:
        """Whether the policy would hardly have played it (below `UNLIKELY`) and it cost much (`COSTLY` or more)."""
        return self.probabilities[self.action] < UNLIKELY and self.loss >= COSTLY


class _Mind:
    """How an agent with a policy judges positions of a game.

    Attributes:
        policy: The saved policy.
        searcher: The agent, if it searches; None if it plays by the network alone.
        players: Players at the table.
    """

    def __init__(self, agent: Agent, rules: Game, players: int) -> None:
        from spirits_env.agents.guided import PolicySearchAgent

        if not isinstance(agent, (PolicyAgent, PolicySearchAgent)):
            raise ValueError(
                f"Agent {shown(str(agent))} has no policy to ask; give a saved policy such as "
                f"{policies.EXAMPLE}, alone or with +search:64 after it."
            )
        agent.check(rules.name, players)
        self.players = players
        self.policy = agent if isinstance(agent, PolicyAgent) else agent.policy
        self.searcher = agent if isinstance(agent, PolicySearchAgent) else None

    def judge(self, observation: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return logits `(k, actions)` and values `(k, players)` or wider, the seats counted from the observer."""
        return judge_soundly(self.policy, observation, mask, self.players)

    def choose(self, views: Views) -> tuple[np.ndarray, np.ndarray]:
        """Return how likely each action is, `(k, actions)`, and the value of the seat to act, `(k,)`."""
        if self.searcher is not None:
            found = self.searcher.search(views)
            return found.policy.astype(np.float64), found.values[np.arange(len(views)), views.seat]
        logits, values = self.judge(views.observation, views.mask)
        return probabilities(logits, views.mask), values[:, 0]


def analyse(game: State | Mapping[str, Any], agent: Agent) -> list[Judgement]:
    """Judge all decisions of a game.

    Probabilities and value come from the policy's network, or from the search where the agent is a policy with a
    search, and from the observation of the seat to act alone.

    The loss of a decision compares two futures, after the policy's best action and after the one that was played. The
    position is re-dealt `REDEALS` times from the mover's view, both actions are played on each copy with the same
    chance to come, and the network says what it expects for the mover afterwards, from the view of whoever acts next
    there: it has learnt to judge for seats to act only. Where a game ends, its true return counts, under the reward
    option that the policy was trained for. The loss is the mean of the differences; it is 0 where both actions are the
    same, and where the network likes the played action's future no less.

    Args:
        game: A game, finished or not, or its record.
        agent: A `PolicyAgent`, or one improved by a search.

    Returns:
        One judgement per decision, in order.

    Raises:
        ValueError: If the agent has no policy to ask, the policy was made for another game or number of players, or
            the record does not replay.
        ImportError: If onnxruntime is not installed.
    """
    whole = game if isinstance(game, State) else record.replay(game)
    mind = _Mind(agent, whole.game, whole.players)
    views = _views(whole)
    if not len(views):
        return []
    played = np.array(whole.history)
    probabilities, values = mind.choose(views)
    best = np.where(views.mask != 0, probabilities, -1.0).argmax(axis=1)
    losses = np.zeros(len(views))
    differ = np.flatnonzero(best != played)
    if len(differ):
        losses[differ] = _losses(views.take(differ), best[differ], played[differ], mind)
    return [
        Judgement(
            ply=ply,
            seat=int(views.seat[ply]),
            action=int(played[ply]),
            probabilities={int(a): float(probabilities[ply, a]) for a in np.flatnonzero(views.mask[ply])},
            value=float(values[ply]),
            best=int(best[ply]),
            loss=float(losses[ply]),
        )
        for ply in range(len(views))
    ]


def _views(game: State) -> Views:
    """What each seat to act could know at each decision of a game."""
    count = len(game.history)
    states = np.empty(count, game.game.dtype)
    observation = np.empty((count, game.game.layout.size), np.int8)
    mask = np.empty((count, len(game.game.actions)), np.int8)
    for ply, state in zip(range(count), record.walk(game), strict=False):
        states[ply] = state.record
        observation[ply] = state.observation(state.seat)
        mask[ply] = state.mask()
    chance = np.array([stream(_ANALYSIS, ply) for ply in range(count)], np.uint64)
    return Views(game.game, observation, mask, states["seat"].astype(np.int8), chance, states)


def _losses(views: Views, best: np.ndarray, played: np.ndarray, mind: _Mind) -> np.ndarray:
    """Return what playing other actions than the best cost, shape `(k,)`."""
    rows = np.repeat(np.arange(len(views)), REDEALS)
    copies = views.take(rows)
    copies.chance[:] = [stream(int(value), number) for number, value in enumerate(copies.chance)]
    deals = pay_as_trained(mind.policy, views.game, copies.redealt())
    better = _expect(deals, copies, best[rows], mind)
    loss = (better - _expect(deals, copies, played[rows], mind)).reshape(-1, REDEALS).mean(axis=1)
    return np.maximum(loss, 0.0)


def _expect(deals: np.ndarray, copies: Views, actions: np.ndarray, mind: _Mind) -> np.ndarray:
    """Return what the movers may expect after an action on each re-deal, shape `(k,)`."""
    game, count = copies.game, len(copies)
    batch = Batch(game, count, mind.players, game.read_options(deals[0]))
    batch.restore({"states": deals.view(np.uint8).reshape(count, -1), "chance": batch.chance})
    batch.step(actions)
    movers = copies.seat.astype(np.int64)
    values = batch.utilities(batch.lanes, *mind.policy.margin(mind.players))[np.arange(count), movers]
    live = np.flatnonzero(batch.seat >= 0)
    for first in range(0, len(live), _ROWS):
        part = live[first : first + _ROWS]
        judged = mind.judge(batch.observation[part], batch.mask[part])[1]
        values[part] = judged[np.arange(len(part)), (movers[part] - batch.seat[part]) % mind.players]
    return values
