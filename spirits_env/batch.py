"""N games in one array of records, stepped by one compiled loop; every face stands on these kernels.

The loops are written once and bound to a game's functions, so that Numba can keep each game's on disk.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
from numba import config, get_num_threads, njit, prange, set_num_threads

from spirits_env import games
from spirits_env.game import Game, draw, stream

# The names a kernel below finds bound to its game's functions.
deal: Any
legal: Any
play: Any
observe: Any
scores: Any
winners: Any
returns: Any
redeal: Any
evaluate: Any

NO_LANE = -1


def _step(states, lanes, actions, autoreset, mask, observation, seat, done, utility, points, won):
    """Play one decision in each lane, and write what the next seat to act sees.

    Nothing is played if any action is illegal: the first such position in `lanes` is returned, else NO_LANE.
    """
    for j in range(lanes.shape[0]):
        action = actions[j]
        if action < 0 or action >= mask.shape[1] or mask[lanes[j], action] == 0:
            return j
    for j in prange(lanes.shape[0]):
        i = lanes[j]
        state = states[i]
        play(state, actions[j])
        done[i] = state.seat < 0
        if done[i]:
            utility[i] = 0
            points[i] = 0
            won[i] = 0
            returns(state, utility[i])
            scores(state, points[i])
            winners(state, won[i])
            if autoreset:
                deal(state)
        seat[i] = state.seat
        legal(state, mask[i])
        observe(state, max(state.seat, 0), observation[i])
    return NO_LANE


def _deal(states, lanes, mask, observation, seat):
    """Deal a new game in each lane, and write what the first seat to act sees."""
    for j in range(lanes.shape[0]):
        i = lanes[j]
        deal(states[i])
        seat[i] = states[i].seat
        legal(states[i], mask[i])
        observe(states[i], max(states[i].seat, 0), observation[i])


def _view(states, lanes, seats, mask, observation):
    """Write what the given seats see; the mask of a seat that is not to act is 0."""
    for j in range(lanes.shape[0]):
        state = states[lanes[j]]
        observe(state, seats[j], observation[j])
        if state.seat == seats[j]:
            legal(state, mask[j])
        else:
            mask[j] = 0


def _outcome(states, lanes, utility, points, won):
    """Write utilities, scores and winners as they stand."""
    for j in range(lanes.shape[0]):
        state = states[lanes[j]]
        utility[j] = 0
        points[j] = 0
        won[j] = 0
        returns(state, utility[j])
        scores(state, points[j])
        winners(state, won[j])


def _redeal(states, seats):
    """Redraw in each record what a seat can't know."""
    for i in range(states.shape[0]):
        redeal(states[i], seats[i])


def _lookahead(states, mask, values):
    """Write the hand-made estimate after each legal action, for the seat to act; -inf where illegal."""
    trial = states[:1].copy()
    for i in range(states.shape[0]):
        seat = states[i].seat
        for action in range(mask.shape[1]):
            values[i, action] = -np.inf
            if mask[i, action]:
                trial[0] = states[i]
                play(trial[0], action)
                values[i, action] = evaluate(trial[0], seat)


@njit(cache=True)
def choose_uniform(states, mask, actions):
    """Draw a legal action for each record, uniformly, from the record's generator; -1 where there is none."""
    for i in range(states.shape[0]):
        legal_actions = 0
        for action in range(mask.shape[1]):
            legal_actions += mask[i, action]
        actions[i] = -1
        if legal_actions == 0:
            continue
        chosen = draw(states[i], legal_actions)
        for action in range(mask.shape[1]):
            if mask[i, action]:
                if chosen == 0:
                    actions[i] = action
                    break
                chosen -= 1


@dataclass(frozen=True)
class Kernels:
    """A game's compiled loops; see the functions of the same names in this module."""

    step: Callable[..., int]
    step_threads: Callable[..., int]
    deal: Callable[..., None]
    view: Callable[..., None]
    outcome: Callable[..., None]
    redeal: Callable[..., None]
    lookahead: Callable[..., None]


def _source_hash(game: Game) -> str:
    """Hash the sources that a game's kernels are compiled from."""
    module: ModuleType = sys.modules[games.GAMES[game.name].module]
    folder = Path(str(module.__file__)).parent
    here = Path(__file__).parent
    digest = hashlib.sha256()
    for path in [here / "batch.py", here / "game.py", *sorted(folder.glob("*.py"))]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _bind(template: FunctionType, game: Game, label: str, parallel: bool = False) -> Any:
    """Compile a loop with the game's functions in the place of its global names.

    Numba keeps no closure over compiled functions on disk, but it does keep a function of a module: so each bound
    loop is one, with its own globals. Its name carries the hash of all sources it is compiled from, because
    Numba itself only looks at the file of the outermost function.
    """
    functions = {
        name: getattr(game, name)
        for name in ("deal", "legal", "play", "observe", "scores", "winners", "returns", "redeal", "evaluate")
    }
    bound = FunctionType(template.__code__, {**template.__globals__, **functions}, label)
    bound.__qualname__ = label
    return njit(bound, cache=True, parallel=parallel)


@cache
def kernels(game: Game) -> Kernels:
    """Return a game's compiled loops, compiled at first use and kept on disk."""
    tag = f"{game.name}_{_source_hash(game)}"
    made = {
        name: _bind(template, game, f"{tag}_{name}")
        for name, template in (
            ("step", _step),
            ("deal", _deal),
            ("view", _view),
            ("outcome", _outcome),
            ("redeal", _redeal),
            ("lookahead", _lookahead),
        )
    }
    made["step_threads"] = _bind(_step, game, f"{tag}_step_threads", parallel=True)
    if not config.DISABLE_JIT and not list(Path(made["step"].stats.cache_path).glob(f"*{tag}_step-*.nbi")):
        print(
            f"spirits_env: compiling {game.title} for this machine; this happens once and takes some seconds.",
            file=sys.stderr,
        )
    return Kernels(**made)
