"""Start-up in fresh processes, with and without compiled loops on disk, and the size of a game.

What is timed in a process begins after Python itself has started.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from spirits_env import GAMES, env_id, games
from spirits_env.bench import Figure, say

_ROOT = Path(__file__).parent.parent

_TIMED = """
import json, time
cpu, wall = time.process_time(), time.perf_counter()
{code}
print(json.dumps([time.process_time() - cpu, time.perf_counter() - wall]))
"""
_IMPORT = "import spirits_env"
_AEC = """
from spirits_env import {module}
env = {module}.env()
env.reset(seed=0)
env.step(int(env.last()[0]["action_mask"].argmax()))
"""
_GYMNASIUM = """
import gymnasium, spirits_env
env = gymnasium.make("{gym_id}")
_, info = env.reset(seed=0)
env.step(int(info["action_mask"].argmax()))
"""
_FIRSTS = {"aec": ("PettingZoo env()", _AEC), "gym": ("Gymnasium, random opponents", _GYMNASIUM)}
IMPORT = "startup/import"


def in_fresh_process(code: str, cache: str | None = None) -> tuple[float, float, bool]:
    """Time code in a process of its own.

    Args:
        code: What to time.
        cache: Folder for compiled loops; None leaves them where they are.

    Returns:
        CPU seconds, wall clock seconds, and whether it told that it was compiling.
    """
    environment = dict(os.environ) if cache is None else {**os.environ, "NUMBA_CACHE_DIR": cache}
    command = [sys.executable, "-c", _TIMED.format(code=code)]
    done = subprocess.run(command, cwd=_ROOT, env=environment, capture_output=True, text=True, check=True)
    cpu, wall = json.loads(done.stdout.splitlines()[-1])
    return cpu, wall, "compiling" in done.stderr


def warm(name: str, text: str, code: str, rounds: int) -> Figure:
    """Time code in fresh processes, all that can be kept on disk being there."""
    say(f"timing {name}")
    figure = Figure(name, text, "s")
    in_fresh_process(code)
    for _ in range(rounds):
        cpu, wall, _ = in_fresh_process(code)
        figure.add(cpu=cpu, wall=wall)
    return figure


def cold(name: str, text: str, code: str, rounds: int) -> list[Figure]:
    """Time code in fresh processes that find no compiled loops, and count those that said so."""
    figure = Figure(name, text, "s")
    told = Figure(f"{name}-told", f"{text}: share that said it was compiling", "", {"value": []})
    for number in range(rounds):
        say(f"timing {name}, {number + 1} of {rounds}")
        with tempfile.TemporaryDirectory() as cache:
            cpu, wall, notice = in_fresh_process(code, cache)
        figure.add(cpu=cpu, wall=wall)
        told.add(value=float(notice))
    return [figure, told]


def first_decision(game: str, face: str) -> str:
    """The code that makes a face of a game and takes a first decision."""
    plain = next(name for name, fixed in GAMES[game].ids.items() if not fixed)
    return _FIRSTS[face][1].format(module=f"{game}_v{GAMES[game].version}", gym_id=env_id(game, plain))


def startup_import(rounds: int) -> list[Figure]:
    """Measure the import alone, which no game has a part in."""
    return [warm(IMPORT, "import spirits_env", _IMPORT, rounds)]


def startup_names(game: str) -> dict[str, str]:
    """What `startup` measures of a game."""
    states = {"warm": "loops on disk", "cold": "nothing on disk"}
    return {
        f"{game}/startup/{face}-{state}": f"first decision, {title}: {text}"
        for state, text in states.items()
        for face, (title, _) in _FIRSTS.items()
    }


def startup(name: str, rounds: int, cold_rounds: int) -> list[Figure]:
    """Measure one of `startup_names`; without cold rounds, nothing is measured cold."""
    game, _, kind = name.split("/")
    face, state = kind.split("-")
    text, code = startup_names(game)[name], first_decision(game, face)
    if state == "warm":
        return [warm(name, text, code, rounds)]
    return cold(name, text, code, cold_rounds) if cold_rounds else []


def memory_name(game: str) -> str:
    """What `memory` is called."""
    return f"{game}/memory/state"


def memory(game: str) -> list[Figure]:
    """The size of one game."""
    size = float(games.load(game).dtype.itemsize)
    return [Figure(memory_name(game), "record of one game", "bytes", {"value": [size]})]
