"""What this package is measured at: batches, bare rules, and every face.

All play is uniformly random over the legal actions, so games end and are dealt anew.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.measure import Case, NotInstalledError, Ratio, Trial
from spirits_env import forest_v0, games
from spirits_env.batch import Batch, _bind, _source_hash
from spirits_env.game import choose_uniform
from spirits_env.single import SingleEnv
from spirits_env.state import State
from spirits_env.vector import VectorEnv

COUNTS = (64, 1024, 4096)
_PLIES_PER_RUN = 100_000
_GAMES_PER_RUN = 10
# Decisions that the foremost game of a batch is ahead of the last: about two games.
_SPREAD = 200


def _players_text(players: int) -> str:
    """Tell how many play, for people."""
    return "solitaire" if players == 1 else f"{players} players"


def pick(mask: np.ndarray, chance: random.Random) -> int:
    """Pick a legal action, cheaply."""
    legal_actions = np.flatnonzero(mask)
    return int(legal_actions[int(chance.random() * len(legal_actions))])


# --- batches ----------------------------------------------------------------------------------------------


def _batch(count: int, players: int, threads: int = 1) -> tuple[Batch, np.ndarray]:
    """Make a batch of games at all points between the deal and the end, with a generator of choices per game."""
    batch = Batch("forest", count, players, threads=threads, autoreset=True)
    batch.reset(range(count))
    chance = batch.chance[:, 0].copy()
    actions = np.empty(count, np.int64)
    for lead in range(_SPREAD):
        lanes = batch.lanes[lead * count // _SPREAD :]
        choose_uniform(chance, batch.mask, actions)
        batch.step(actions[lanes], lanes)
    return batch, chance


def batch_loop(count: int, players: int) -> Trial:
    """Choose at random and step, over and over."""
    batch, chance = _batch(count, players)
    actions = np.empty(count, np.int64)
    steps = max(1, _PLIES_PER_RUN // count)

    def run() -> int:
        for _ in range(steps):
            choose_uniform(chance, batch.mask, actions)
            batch.step(actions)
        return steps * count

    return Trial(run)


def batch_step(count: int, players: int, threads: int = 1) -> Trial:
    """Step alone: the same games again with the actions that were chosen before."""
    batch, chance = _batch(count, players, threads)
    start = batch.snapshot()
    choices = np.empty((max(1, _PLIES_PER_RUN // count), count), np.int64)
    for actions in choices:
        choose_uniform(chance, batch.mask, actions)
        batch.step(actions)

    def run() -> int:
        for actions in choices:
            batch.step(actions)
        return choices.size

    return Trial(run, partial(batch.restore, start))


def batch_cases() -> list[Case]:
    """Batches of several sizes and player counts, on one thread."""
    cases = []
    for count, players in [*((count, 2) for count in COUNTS), *((1024, players) for players in (3, 4, 1))]:
        name, text = f"batch/{count}x{players}", f"batch of {count:,}, {_players_text(players)}"
        cases += [
            Case(f"{name}/step", f"{text}: step alone", partial(batch_step, count, players)),
            Case(f"{name}/loop", f"{text}: choice and step", partial(batch_loop, count, players)),
        ]
    return cases


def _two_threads(count: int) -> Trial:
    """Step on two threads, if there are two cores to run them."""
    if (os.cpu_count() or 1) < 2:
        raise NotInstalledError("this machine has one core")
    return batch_step(count, 2, threads=2)


def thread_cases() -> list[Case]:
    """One thread and two, one right after the other."""
    cases = []
    for count in COUNTS[1:]:
        text = f"batch of {count:,}, 2 players: step alone"
        cases += [
            Case(f"threads/{count}/one", f"{text}, 1 thread", partial(batch_step, count, 2)),
            Case(f"threads/{count}/two", f"{text}, 2 threads", partial(_two_threads, count)),
        ]
    return cases


# --- bare rules -------------------------------------------------------------------------------------------


def _playouts(states, chance, mask, plies):  # type: ignore[no-untyped-def]
    """Play random decisions in each game, dealing anew at each end: no observation, no Python.

    The rules are those of the game that this is bound to.
    """
    for i in range(states.shape[0]):
        state = states[i]
        actions = np.zeros(1, np.int64)
        for _ in range(plies):
            legal(state, mask[0])  # type: ignore[name-defined]  # noqa: F821
            choose_uniform(chance[i : i + 1], mask, actions)
            play(state, actions[0])  # type: ignore[name-defined]  # noqa: F821
            if state.seat < 0:
                deal(state)  # type: ignore[name-defined]  # noqa: F821


def rules_playouts(players: int) -> Trial:
    """Compile the playouts with the game's rules, as the batch compiles its loops."""
    game = games.load("forest")
    kernel = _bind(_playouts, game, f"{game.name}_{_source_hash(game)}_playouts")
    batch, chance = _batch(64, players)
    mask = np.zeros((1, len(game.actions)), np.int8)
    plies = _PLIES_PER_RUN // len(batch)

    def run() -> int:
        kernel(batch.states, chance, mask, plies)
        return plies * len(batch)

    return Trial(run)


def rules_cases() -> list[Case]:
    """Rules and legal actions alone."""
    return [
        Case(
            f"rules/{players}",
            f"compiled playouts, {_players_text(players)}: legal, choose, play",
            partial(rules_playouts, players),
        )
        for players in (2, 4)
    ]


# --- faces ------------------------------------------------------------------------------------------------


def aec_loop(make: Callable[[], Any]) -> Trial:
    """The loop that PettingZoo documents, with a cheap picker."""
    env = make()
    chance = random.Random(0)
    env.reset(seed=0)

    def run() -> int:
        decisions = 0
        for _ in range(_GAMES_PER_RUN):
            env.reset()
            for _ in env.agent_iter():
                observation, _, terminated, truncated, _ = env.last()
                if terminated or truncated:
                    env.step(None)
                    continue
                env.step(pick(observation["action_mask"], chance))
                decisions += 1
        return decisions

    return Trial(run)


def state_loop() -> Trial:
    """One `State`: mask and observation of the seat to act, play."""
    state = State("forest", seed=0)
    chance = random.Random(0)

    def run() -> int:
        decisions = 0
        for _ in range(_GAMES_PER_RUN):
            state.deal()
            while state.seat >= 0:
                state.observation(state.seat)
                state.play(pick(state.mask(), chance))
                decisions += 1
        return decisions

    return Trial(run)


def state_play() -> Trial:
    """One `State`: play alone, the same game again."""
    state = State("forest", seed=0)
    chance = random.Random(0)
    while state.seat >= 0:
        state.play(pick(state.mask(), chance))
    choices = list(state.history)

    def run() -> int:
        for action in choices:
            state.play(action)
        return len(choices)

    return Trial(run, partial(state.deal, 0))


def state_copy() -> Trial:
    """Copies of one `State` in the middle of a game."""
    state = State("forest", seed=0)
    chance = random.Random(0)
    for _ in range(40):
        state.play(pick(state.mask(), chance))

    def run() -> int:
        for _ in range(100):
            state.copy()
        return 100

    return Trial(run)


def gymnasium_loop() -> Trial:
    """One learner against a random opponent."""
    env = SingleEnv("forest", opponents="random")
    chance = random.Random(0)
    env.reset(seed=0)

    def run() -> int:
        steps = 0
        for _ in range(_GAMES_PER_RUN):
            _, info = env.reset()
            over = False
            while not over:
                _, _, over, _, info = env.step(pick(info["action_mask"], chance))
                steps += 1
        return steps

    return Trial(run)


def vector_loop(count: int) -> Trial:
    """Learners against random opponents, one per lane, finished games dealt anew in the same step."""
    env = VectorEnv(count, "forest", opponents="random", autoreset_mode="SameStep")
    _, info = env.reset(seed=0)
    chance = np.arange(1, count + 1, dtype=np.uint64)
    actions = np.empty(count, np.int64)
    steps = max(1, _PLIES_PER_RUN // 4 // count)

    def run() -> int:
        nonlocal info
        for _ in range(steps):
            choose_uniform(chance, info["action_mask"], actions)
            info = env.step(actions)[-1]
        return steps * count

    return Trial(run)


def sb3_loop(count: int) -> Trial:
    """Self-play for stable-baselines3, masks fetched as its learners do."""
    if find_spec("stable_baselines3") is None:
        raise NotInstalledError("stable-baselines3 is not installed")
    from spirits_env.sb3 import SelfPlayVecEnv

    env = SelfPlayVecEnv("forest", count)
    env.seed(0)
    env.reset()
    chance = np.arange(1, count + 1, dtype=np.uint64)
    actions = np.empty(count, np.int64)
    steps = max(1, _PLIES_PER_RUN // 4 // count)

    def run() -> int:
        for _ in range(steps):
            masks = np.stack(env.env_method("action_masks")).view(np.int8)
            choose_uniform(chance, masks, actions)
            env.step(actions)
        return steps * count

    return Trial(run)


def face_cases() -> list[Case]:
    """One game at a time, and the vector faces."""
    steps = "learner steps/s"
    return [
        Case("aec/raw", "PettingZoo raw_env(): documented loop", partial(aec_loop, forest_v0.raw_env)),
        Case("aec/env", "PettingZoo env(), in its wrappers: documented loop", partial(aec_loop, forest_v0.env)),
        Case("state/loop", "State: mask, observation, play", state_loop),
        Case("state/play", "State: play alone", state_play),
        Case("state/copy", "State: copy", state_copy, "copies/s"),
        Case("gym/one", "Gymnasium, against a random opponent", gymnasium_loop, steps),
        Case("gym/1024", "Gymnasium VectorEnv of 1,024, random opponents", partial(vector_loop, 1024), steps),
        Case("sb3/64", "stable-baselines3 SelfPlayVecEnv of 64", partial(sb3_loop, 64)),
        Case("sb3/1024", "stable-baselines3 SelfPlayVecEnv of 1,024", partial(sb3_loop, 1024)),
    ]


def all_cases() -> list[Case]:
    """Everything of ours."""
    return batch_cases() + thread_cases() + rules_cases() + face_cases()


RATIOS = [
    *(
        Ratio(
            f"threads/{count}",
            f"batch of {count:,}: 2 threads over 1",
            f"threads/{count}/two",
            f"threads/{count}/one",
            "wall",
        )
        for count in COUNTS[1:]
    ),
    Ratio("state/copy-in-plies", "State: plies played alone in the time of a copy", "state/play", "state/copy"),
]
