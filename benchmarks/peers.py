"""Peers' board games, timed in the same run where they are installed.

See README.md beside this file for how to install them away from the project's own environment.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.ours import aec
from benchmarks.timing import Candidate, until


def pettingzoo() -> list[Candidate]:
    """PettingZoo's Connect Four, raw and wrapped."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from pettingzoo.classic import connect_four_v3
    return [
        Candidate("peer: PettingZoo connect_four raw_env()", aec(connect_four_v3.raw_env())),
        Candidate("peer: PettingZoo connect_four env()", aec(connect_four_v3.env())),
    ]


def open_spiel() -> list[Candidate]:
    """OpenSpiel's Connect Four from Python, with mask and observation as arrays."""
    import pyspiel

    game = pyspiel.load_game("connect_four")
    rng = random.Random(0)

    def play() -> int:
        state = game.new_initial_state()
        plies = 0
        while not state.is_terminal():
            np.array(state.observation_tensor(), np.float32)
            np.array(state.legal_actions_mask(), np.int8)
            legal = state.legal_actions()
            state.apply_action(legal[int(rng.random() * len(legal))])
            plies += 1
        return plies

    return [Candidate("peer: OpenSpiel connect_four, mask and observation", lambda seconds: until(seconds, play))]


def pgx() -> list[Candidate]:
    """Pgx's Connect Four in a batch of 1,024, compiled for the CPU."""
    import jax
    import pgx as library
    from pgx.experimental import auto_reset

    env = library.make("connect_four")
    init, step = jax.jit(jax.vmap(env.init)), jax.jit(jax.vmap(auto_reset(env.step, env.init)))

    @jax.jit
    def advance(state: Any, key: Any) -> tuple[Any, Any]:
        key, choice, fresh = jax.random.split(key, 3)
        logits = jax.numpy.where(state.legal_action_mask, 0.0, -1e9)
        action = jax.random.categorical(choice, logits, axis=1)
        return step(state, action, jax.random.split(fresh, 1024)), key

    def run() -> Callable[[float], int]:
        state, key = init(jax.random.split(jax.random.PRNGKey(0), 1024)), jax.random.PRNGKey(1)

        def steps() -> int:
            nonlocal state, key
            for _ in range(20):
                state, key = advance(state, key)
            state.observation.block_until_ready()
            return 20 * 1024

        return lambda seconds: until(seconds, steps)

    return [Candidate("peer: Pgx connect_four, batch of 1,024", run())]


def candidates() -> tuple[list[Candidate], list[str]]:
    """All installed peers, and a line for each that is not."""
    found: list[Candidate] = []
    absent = []
    for name, make in (("PettingZoo classic", pettingzoo), ("OpenSpiel", open_spiel), ("Pgx", pgx)):
        try:
            found += make()
        except ImportError as error:
            absent.append(f"{name}: not installed ({error.name or error})")
    return found, absent
