"""What this package is measured at, game by game: batches, bare rules, and every face.

All play is uniformly random over the legal actions, so games end and are dealt anew. Names start with the game's.
"""

from __future__ import annotations

import os
import random
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.ratio import Ratio
from spirits_env import games
from spirits_env.aec import RawEnv, wrapped_env
from spirits_env.agents.search import SearchAgent
from spirits_env.batch import Batch
from spirits_env.bench import (
    GAMES_PER_RUN,
    PLIES_PER_RUN,
    Case,
    NotInstalledError,
    Trial,
    aec_loop,
    batch_loop,
    batch_step,
    gymnasium_loop,
    pick,
    rules_playouts,
    usual_players,
    vector_loop,
)
from spirits_env.game import choose_uniform
from spirits_env.state import State

COUNTS = (64, 1024, 4096)
_PLAYOUTS_PER_RUN = 5_000


def _players_text(players: int) -> str:
    """Tell how many play, for people."""
    return "solitaire" if players == 1 else f"{players} players"


# --- batches ----------------------------------------------------------------------------------------------


def batch_cases(game: str) -> list[Case]:
    """Batches of several sizes and player counts, on one thread."""
    usual = usual_players(game)
    # Solitaire comes last.
    others = sorted(set(games.load(game).players) - {usual}, key=lambda players: (players == 1, players))
    cases = []
    for count, players in [*((count, usual) for count in COUNTS), *((1024, players) for players in others)]:
        name, text = f"{game}/batch/{count}x{players}", f"batch of {count:,}, {_players_text(players)}"
        cases += [
            Case(f"{name}/step", f"{text}: step alone", partial(batch_step, game, count, players)),
            Case(f"{name}/loop", f"{text}: choice and step", partial(batch_loop, game, count, players)),
        ]
    return cases


def _two_threads(game: str, count: int) -> Trial:
    """Step on two threads, if there are two cores to run them."""
    if (os.cpu_count() or 1) < 2:
        raise NotInstalledError("this machine has one core")
    return batch_step(game, count, usual_players(game), threads=2)


def thread_cases(game: str) -> list[Case]:
    """One thread and two, one right after the other."""
    players = usual_players(game)
    cases = []
    for count in COUNTS[1:]:
        name, text = f"{game}/threads/{count}", f"batch of {count:,}, {_players_text(players)}: step alone"
        cases += [
            Case(f"{name}/one", f"{text}, 1 thread", partial(batch_step, game, count, players)),
            Case(f"{name}/two", f"{text}, 2 threads", partial(_two_threads, game, count)),
        ]
    return cases


# --- bare rules -------------------------------------------------------------------------------------------


def rules_cases(game: str) -> list[Case]:
    """Rules and legal actions alone."""
    return [
        Case(
            f"{game}/rules/{players}",
            f"compiled playouts, {_players_text(players)}: legal, choose, play",
            partial(rules_playouts, game, players),
        )
        for players in sorted({usual_players(game), max(games.load(game).players)})
    ]


# --- agents -----------------------------------------------------------------------------------------------


def search_playouts(game: str, players: int, **options: Any) -> Trial:
    """One decision of a search at the opening: re-deal, tree, rollout and all."""
    agent = SearchAgent(_PLAYOUTS_PER_RUN, reuse=False, **options)
    batch = Batch(game, 1, players)
    batch.reset([0])

    def run() -> int:
        batch.ask(agent, batch.lanes)
        return _PLAYOUTS_PER_RUN

    return Trial(run)


def search_cases(game: str) -> list[Case]:
    """Playouts of uniform decisions to the end, as searches are compared by, and those of the default."""
    players, unit = usual_players(game), "playouts/s"
    return [
        Case(
            f"{game}/search/uniform",
            "search, uniform to the end",
            partial(search_playouts, game, players, horizon=0),
            unit,
        ),
        Case(f"{game}/search/default", "search, its defaults", partial(search_playouts, game, players), unit),
    ]


# --- faces ------------------------------------------------------------------------------------------------


def state_loop(game: str) -> Trial:
    """One `State`: mask and observation of the seat to act, play."""
    state = State(game, usual_players(game), seed=0)
    chance = random.Random(0)

    def run() -> int:
        decisions = 0
        for _ in range(GAMES_PER_RUN):
            state.deal()
            while state.seat >= 0:
                state.observation(state.seat)
                state.play(pick(state.mask(), chance))
                decisions += 1
        return decisions

    return Trial(run)


def _played(game: str) -> State:
    """Play one random game to its end."""
    state = State(game, usual_players(game), seed=0)
    chance = random.Random(0)
    while state.seat >= 0:
        state.play(pick(state.mask(), chance))
    return state


def state_play(game: str) -> Trial:
    """One `State`: play alone, the same game again."""
    state = _played(game)
    choices = list(state.history)

    def run() -> int:
        for action in choices:
            state.play(action)
        return len(choices)

    return Trial(run, partial(state.deal, 0))


def state_copy(game: str) -> Trial:
    """Copies of one `State` in the middle of a game."""
    state = _played(game)
    choices = list(state.history)
    state.deal(0)
    for action in choices[: len(choices) // 2]:
        state.play(action)

    def run() -> int:
        for _ in range(100):
            state.copy()
        return 100

    return Trial(run)


def sb3_loop(game: str, count: int) -> Trial:
    """Self-play for stable-baselines3, masks fetched as its learners do."""
    if find_spec("stable_baselines3") is None:
        raise NotInstalledError("stable-baselines3 is not installed")
    from spirits_env.sb3 import SelfPlayVecEnv

    env = SelfPlayVecEnv(game, count, usual_players(game))
    env.seed(0)
    env.reset()
    chance = np.arange(1, count + 1, dtype=np.uint64)
    actions = np.empty(count, np.int64)
    steps = max(1, PLIES_PER_RUN // 4 // count)

    def run() -> int:
        for _ in range(steps):
            masks = np.stack(env.env_method("action_masks")).view(np.int8)
            choose_uniform(chance, masks, actions)
            env.step(actions)
        return steps * count

    return Trial(run)


def face_cases(game: str) -> list[Case]:
    """One game at a time, and the vector faces."""
    steps, players = "learner steps/s", usual_players(game)
    raw, wrapped = partial(RawEnv, game, players), partial(wrapped_env, game, players=players)
    cases = [
        Case("aec/raw", "PettingZoo raw_env(): documented loop", partial(aec_loop, raw)),
        Case("aec/env", "PettingZoo env(), in its wrappers: documented loop", partial(aec_loop, wrapped)),
        Case("state/loop", "State: mask, observation, play", partial(state_loop, game)),
        Case("state/play", "State: play alone", partial(state_play, game)),
        Case("state/copy", "State: copy", partial(state_copy, game), "copies/s"),
        Case("gym/one", "Gymnasium, against random opponents", partial(gymnasium_loop, game, players), steps),
        Case(
            "gym/1024",
            "Gymnasium VectorEnv of 1,024, random opponents",
            partial(vector_loop, game, 1024, players),
            steps,
        ),
        Case("sb3/64", "stable-baselines3 SelfPlayVecEnv of 64", partial(sb3_loop, game, 64)),
        Case("sb3/1024", "stable-baselines3 SelfPlayVecEnv of 1,024", partial(sb3_loop, game, 1024)),
    ]
    return [replace(case, name=f"{game}/{case.name}") for case in cases]


def all_cases(game: str) -> list[Case]:
    """Everything of ours for one game."""
    return batch_cases(game) + thread_cases(game) + rules_cases(game) + search_cases(game) + face_cases(game)


def ratios(game: str) -> list[Ratio]:
    """What is compared within one game."""
    return [
        *(
            Ratio(
                f"{game}/threads/{count}",
                f"batch of {count:,}: 2 threads over 1",
                f"{game}/threads/{count}/two",
                f"{game}/threads/{count}/one",
                "wall",
            )
            for count in COUNTS[1:]
        ),
        Ratio(
            f"{game}/state/copy-in-plies",
            "State: plies played alone in the time of a copy",
            f"{game}/state/play",
            f"{game}/state/copy",
        ),
    ]
