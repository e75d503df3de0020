"""Other libraries' games, measured in the same run; each is left out where it is not installed.

They are other games: the ratios say what the machinery costs, not that one library is better than another.
"""

from __future__ import annotations

import os
import random
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.ratio import Ratio
from spirits_env.bench import Case, NotInstalledError, Trial, aec_loop, pick, usual_players

_GAMES_PER_RUN = 10
_ROLLOUTS = 500
_PGX_STEPS = 64
_PGX_COUNT = 1024


def _need(module: str, package: str) -> Any:
    """Import a peer, or say what to install."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return import_module(module)
    except ImportError as error:
        raise NotInstalledError(f"{package} is not installed ({error})") from None


# --- PettingZoo -------------------------------------------------------------------------------------------


def connect_four(kind: str) -> Trial:
    """PettingZoo's connect four, raw or in its wrappers."""
    _need("pygame", "pygame-ce")
    module = _need("pettingzoo.classic.connect_four_v3", "pettingzoo[classic]")
    return aec_loop(getattr(module, kind))


# --- OpenSpiel --------------------------------------------------------------------------------------------


def open_spiel_python(game_name: str) -> Trial:
    """OpenSpiel from Python: mask and observation as arrays, then the action."""
    game = _need("pyspiel", "open-spiel").load_game(game_name)
    chance = random.Random(0)

    def run() -> int:
        decisions = 0
        for _ in range(_GAMES_PER_RUN):
            state = game.new_initial_state()
            while not state.is_terminal():
                np.array(state.observation_tensor(), np.float32)
                state.apply_action(pick(np.array(state.legal_actions_mask(), np.int8), chance))
                decisions += 1
        return decisions

    return Trial(run)


def _mean_length(game: Any, playouts: int = 2000) -> float:
    """Mean length of a random game."""
    chance = random.Random(0)
    plies = 0
    for _ in range(playouts):
        state = game.new_initial_state()
        while not state.is_terminal():
            state.apply_action(chance.choice(state.legal_actions()))
            plies += 1
    return plies / playouts


def open_spiel_playouts(game_name: str) -> Trial:
    """OpenSpiel's own compiled playouts: one simulation of its tree search is so many from the first position.

    It does not count decisions, so games are counted at their mean length.
    """
    spiel = _need("pyspiel", "open-spiel")
    game = spiel.load_game(game_name)
    evaluator = spiel.RandomRolloutEvaluator(_ROLLOUTS, 0)
    policy = spiel.ChildSelectionPolicy.UCT
    bot = spiel.MCTSBot(game, evaluator, 1.0, 1, 100, False, 0, False, policy)
    state = game.new_initial_state()
    decisions = round(_mean_length(game) * _ROLLOUTS)

    def run() -> int:
        bot.mcts_search(state)
        return decisions

    return Trial(run)


# --- Pgx --------------------------------------------------------------------------------------------------


@contextmanager
def one_core() -> Iterator[None]:
    """Keep what runs inside, and the threads it starts, on one core, where the system can."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def _pgx_scan(env: Any, jax: Any, auto_reset: Any) -> Callable[[Any, Any], Any]:
    """Compile a loop of random steps; each computes observation and mask, and finished games start anew."""
    step = jax.vmap(auto_reset(env.step, env.init))
    numpy = jax.numpy

    def one(carry: tuple[Any, Any], _: None) -> tuple[tuple[Any, Any], None]:
        state, key = carry
        key, now, dealing = jax.random.split(key, 3)
        order = numpy.cumsum(state.legal_action_mask, axis=1)
        chosen = (jax.random.uniform(now, (_PGX_COUNT, 1)) * order[:, -1:]).astype(numpy.int32)
        action = numpy.argmax(order > chosen, axis=1)
        return (step(state, action, jax.random.split(dealing, _PGX_COUNT)), key), None

    scan: Callable[[Any, Any], Any] = jax.jit(
        lambda state, key: jax.lax.scan(one, (state, key), None, length=_PGX_STEPS)[0]
    )
    return scan


def pgx_loop(game_name: str) -> Trial:
    """Pgx on one core, many games at once."""
    with one_core(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        jax, pgx = _need("jax", "jax"), _need("pgx", "pgx")
        env = pgx.make(game_name)
        scan = _pgx_scan(env, jax, _need("pgx.experimental", "pgx").auto_reset)
        carry = (jax.vmap(env.init)(jax.random.split(jax.random.PRNGKey(0), _PGX_COUNT)), jax.random.PRNGKey(1))
        carry = jax.block_until_ready(scan(*carry))

    def run() -> int:
        nonlocal carry
        with one_core():
            carry = jax.block_until_ready(scan(*carry))
        return _PGX_STEPS * _PGX_COUNT

    return Trial(run)


def all_cases() -> list[Case]:
    """Every peer."""
    seen = "mask and observation"
    spiel = {"connect_four": "connect_four", "hex": "hex(board_size=11)"}
    return [
        Case("peers/pettingzoo-raw", "PettingZoo connect_four raw_env(): same loop", partial(connect_four, "raw_env")),
        Case("peers/pettingzoo-env", "PettingZoo connect_four env(): same loop", partial(connect_four, "env")),
        *(
            Case(f"peers/openspiel-{name}", f"OpenSpiel {full}, Python: {seen}", partial(open_spiel_python, full))
            for name, full in spiel.items()
        ),
        Case(
            "peers/openspiel-playouts",
            "OpenSpiel connect_four, C++ playouts",
            partial(open_spiel_playouts, "connect_four"),
        ),
        *(
            Case(f"peers/pgx-{name}", f"Pgx {name}, batch of {_PGX_COUNT:,}: {seen}", partial(pgx_loop, name))
            for name in ("connect_four", "hex")
        ),
    ]


def ratios(game: str) -> list[Ratio]:
    """One of our games over the peers."""
    players = usual_players(game)
    loop, rules = f"batch/1024x{players}/loop", f"rules/{players}"
    compared = [
        ("batch-pettingzoo-env", "batch of 1,024 over PettingZoo env()", loop, "pettingzoo-env"),
        ("batch-openspiel-hex", "batch of 1,024 over OpenSpiel hex", loop, "openspiel-hex"),
        ("batch-pgx-connect_four", "batch of 1,024 over Pgx connect_four", loop, "pgx-connect_four"),
        ("batch-pgx-hex", "batch of 1,024 over Pgx hex", loop, "pgx-hex"),
        ("rules-openspiel", "playouts over OpenSpiel's C++ playouts", rules, "openspiel-playouts"),
        ("aec-raw", "raw_env() over PettingZoo connect_four raw_env()", "aec/raw", "pettingzoo-raw"),
        ("aec-env", "env() over PettingZoo connect_four env()", "aec/env", "pettingzoo-env"),
        ("aec-raw-env", "raw_env() over PettingZoo connect_four env()", "aec/raw", "pettingzoo-env"),
    ]
    return [Ratio(f"{game}/ratio/{name}", text, f"{game}/{own}", f"peers/{peer}") for name, text, own, peer in compared]
