"""The gate of a run: is the network now better than the best so far, at all its numbers of players together?

A sequential test on fresh deals tells, with as few of them as the answer needs.
"""

from __future__ import annotations

import numpy as np

from spirits_env import games
from spirits_env.arena import play_games
from spirits_env.arena.sprt import Verdict, decide
from spirits_env.game import stream
from training.agent import NetworkAgent
from training.config import Config
from training.networks import Network

# Deals, for each number of players, between looks, and at most.
_LOOK, _MOST = 64, 1536
_PURPOSE = 20


def compare(network: Network, rival: Network, config: Config, number: int) -> Verdict:
    """Play a network against fields of another, best actions of both, until the test ends.

    With several numbers of players a deal's figure is the mean over them of the agent's win share, stretched so that
    equals have 1/2 and who wins every game has 1: 1/2 + (share - 1/n) n / (2 (n - 1)).

    Args:
        network: The network to be judged.
        rival: The best so far.
        config: The run: its game, players, options, `evaluation.gate` and the seed of its matches.
        number: Names the deals, beside the seed.

    Returns:
        The verdict; "undecided" if the most deals were played.
    """
    rules = games.load(config.game)
    agent, other = NetworkAgent(network), NetworkAgent(rival, "best so far")
    figures = np.zeros(0)
    while True:
        seed = stream(config.evaluation.seed, _PURPOSE, number, len(figures))
        looks = []
        for players in config.players:
            played = play_games(rules, players, rules.check_options(config.options), agent, other, _LOOK, seed)
            share = played.share[np.arange(len(played.seat)), played.seat].reshape(_LOOK, players).mean(axis=1)
            looks.append(0.5 + (share - 1 / players) * players / (2 * (players - 1)))
        figures = np.concatenate([figures, np.mean(looks, axis=0)])
        verdict = decide(figures, 0.5, config.evaluation.gate)
        if verdict.ended or len(figures) >= _MOST:
            return verdict
