"""What is timed of this package: the batch, playouts and every face.

All play is uniformly random over the legal actions.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from benchmarks.timing import Candidate, until
from spirits_env import forest_v0
from spirits_env.batch import Batch, kernels
from spirits_env.game import Game, choose_uniform, draw
from spirits_env.single import SingleEnv
from spirits_env.state import State
from spirits_env.vector import VectorEnv

GAME = "forest"


class BatchSteps:
    """Steps of a batch with mask and observation written, the random choices made beforehand where possible."""

    def __init__(self, count: int, players: int = 2, threads: int = 1) -> None:
        self.batch = Batch(GAME, count, players, threads=threads, autoreset=True)
        self.batch.reset(range(count))
        self.chance = self.batch.chance[:, 0].copy()
        self.actions = np.empty(count, np.int64)

    def __call__(self, seconds: float) -> int:
        """Choose and step."""
        return until(seconds, self._step)

    def _step(self) -> int:
        choose_uniform(self.chance, self.batch.mask, self.actions)
        self.batch.step(self.actions)
        return len(self.batch)


def playouts(game: Game, players: int) -> Callable[[float], int]:
    """Compile random playouts with rules and masks only."""
    legal, play, deal = game.legal, game.play, game.deal

    @njit
    def play_out(states: Any, mask: Any) -> int:
        plies = 0
        for i in range(states.shape[0]):
            state = states[i]
            deal(state)
            while state.seat >= 0:
                legal(state, mask)
                chosen = draw(state, mask.sum())
                for action in range(mask.shape[0]):
                    if mask[action]:
                        if chosen == 0:
                            break
                        chosen -= 1
                play(state, action)
                plies += 1
        return plies

    states = game.blank(64, players, {})
    states["rng"] = np.arange(1, 65)
    mask = np.zeros(len(game.actions), np.int8)
    return lambda seconds: until(seconds, lambda: int(play_out(states, mask)))


def aec(env: Any, seed: int = 0) -> Callable[[float], int]:
    """The documented AEC loop with a cheap choice."""
    rng = random.Random(seed)

    def game() -> int:
        env.reset(seed=rng.getrandbits(30))
        plies = 0
        for agent in env.agent_iter():
            observation, _, termination, truncation, info = env.last()
            if termination or truncation:
                env.step(None)
                continue
            mask = observation["action_mask"]
            legal = np.flatnonzero(mask)
            env.step(int(legal[int(rng.random() * len(legal))]))
            plies += 1
            del agent, info
        return plies

    return lambda seconds: until(seconds, game)


def one_state(seconds: float) -> int:
    """Play single states."""
    rng = random.Random(0)

    def game() -> int:
        state = State(GAME, seed=rng.getrandbits(30))
        while state.seat >= 0:
            legal = state.legal_actions()
            state.play(legal[int(rng.random() * len(legal))])
        return len(state.history)

    return until(seconds, game)


def state_copies(seconds: float) -> int:
    """Copy a state in mid-game; a copy counts as a decision."""
    state = State(GAME, seed=1)
    for _ in range(40):
        state.play(state.legal_actions()[0])

    def copies() -> int:
        for _ in range(100):
            state.copy()
        return 100

    return until(seconds, copies)


def single(seconds: float) -> int:
    """The Gymnasium face against a random opponent; the learner's decisions count."""
    env = SingleEnv(GAME)
    rng = random.Random(0)
    _, info = env.reset(seed=0)

    def step() -> int:
        nonlocal info
        legal = np.flatnonzero(info["action_mask"])
        _, _, terminated, _, info = env.step(int(legal[int(rng.random() * len(legal))]))
        if terminated:
            _, info = env.reset()
        return 1

    return until(seconds, step)


def vector(count: int) -> Callable[[float], int]:
    """The vector face against random opponents; the learners' decisions count."""
    env = VectorEnv(count, GAME)
    chance = np.arange(1, count + 1).astype(np.uint64)
    actions = np.empty(count, np.int64)
    _, info = env.reset(seed=0)

    def step() -> int:
        nonlocal info
        choose_uniform(chance, np.ascontiguousarray(info["action_mask"]), actions)
        # The step after the end ignores its action.
        _, _, _, _, info = env.step(np.maximum(actions, 0))
        return count

    return lambda seconds: until(seconds, step)


def self_play(count: int) -> Callable[[float], int] | None:
    """The stable-baselines3 face, or None where that is not installed."""
    try:
        from spirits_env.sb3 import SelfPlayVecEnv
    except ImportError:
        return None
    env = SelfPlayVecEnv(GAME, count)
    env.seed(0)
    env.reset()
    chance = np.arange(1, count + 1).astype(np.uint64)
    actions = np.empty(count, np.int64)

    def step() -> int:
        choose_uniform(chance, env.batch.mask, actions)
        env.step(actions)
        return count

    return lambda seconds: until(seconds, step)


def candidates() -> list[Candidate]:
    """All that is timed of ours, named `group: what`."""
    game = Batch(GAME, 1).game
    kernels(game)
    found = [
        Candidate("batch: 1,024 games, 2 players, 1 thread", BatchSteps(1024), target=3e6),
        Candidate("batch: 64 games, 2 players, 1 thread", BatchSteps(64)),
        Candidate("batch: 4,096 games, 2 players, 1 thread", BatchSteps(4096)),
        Candidate("batch: 1,024 games, 3 players, 1 thread", BatchSteps(1024, 3)),
        Candidate("batch: 1,024 games, 4 players, 1 thread", BatchSteps(1024, 4)),
        Candidate("batch: 1,024 solitaires, 1 thread", BatchSteps(1024, 1)),
        Candidate("threads: 4,096 games, 1 thread", BatchSteps(4096), wall=True),
        Candidate("threads: 4,096 games, 2 threads", BatchSteps(4096, threads=2), wall=True),
        Candidate("rules: random playouts, 2 players", playouts(game, 2)),
        Candidate("aec: raw_env()", aec(forest_v0.raw_env()), target=150e3),
        Candidate("aec: env() with its wrappers", aec(forest_v0.env())),
        Candidate("state: play", one_state),
        Candidate("state: copy", state_copies),
        Candidate("gym: SingleEnv", single),
        Candidate("gym: VectorEnv, 1,024 games", vector(1024)),
    ]
    for count in (64, 1024):
        run = self_play(count)
        if run is not None:
            found.append(Candidate(f"sb3: SelfPlayVecEnv, {count:,} games", run))
    return found
