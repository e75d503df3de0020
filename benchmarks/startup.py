"""Start-up in fresh processes, and sizes.

A cold start compiles into an empty folder; a warm one loads what an earlier process compiled.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass

_IMPORT = "import time; t = time.perf_counter(); import spirits_env; print(time.perf_counter() - t)"
_FIRST = """
import time
t = time.perf_counter()
from spirits_env import forest_v0
env = forest_v0.raw_env()
env.reset(seed=1)
env.step(int(env.last()[0]["action_mask"].argmax()))
env.last()
print(time.perf_counter() - t)
"""


@dataclass
class Figure:
    """One figure that is no rate.

    Attributes:
        name: What the table calls it.
        values: What was measured, one per process.
        unit: Its unit.
        target: What it should not exceed.
    """

    name: str
    values: list[float]
    unit: str
    target: float

    @property
    def median(self) -> float:
        """Median value."""
        return statistics.median(self.values)


def _seconds(code: str, cache: str) -> float:
    """Run code in a fresh process with its own Numba cache, and read the seconds it prints."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def figures(processes: int, cold: int) -> list[Figure]:
    """Measure imports, first decisions and sizes.

    Args:
        processes: Fresh processes per warm figure.
        cold: Fresh processes with an empty cache.
    """
    from spirits_env import games

    colds = []
    for _ in range(cold):
        with tempfile.TemporaryDirectory() as empty:
            colds.append(_seconds(_FIRST, empty))
    with tempfile.TemporaryDirectory() as cache:
        _seconds(_FIRST, cache)
        warm = [_seconds(_FIRST, cache) for _ in range(processes)]
        imports = [_seconds(_IMPORT, cache) for _ in range(processes)]
    size = float(games.load("forest").dtype.itemsize)
    return [
        Figure("start: import spirits_env", imports, "s", 0.4),
        Figure("start: first decision, warm cache", warm, "s", 1.0),
        Figure("start: first decision, cold cache", colds, "s", 15.0),
        Figure("memory: a state", [size], "bytes", 600.0),
    ]
