"""Rounds in turn: whatever else the machine does hits every candidate alike.

Rates are per second of the process's own CPU time, and per second of wall clock where threads are compared.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

# Runs for about this many seconds and returns how many decisions it made.
Run = Callable[[float], int]


@dataclass
class Candidate:
    """Something to be timed.

    Attributes:
        name: What the table calls it.
        run: Makes decisions for about so many seconds and returns how many.
        wall: Whether wall clock counts instead of CPU time (for threads).
        target: The rate it should reach, or None.
        rates: Decisions per second, one per round.
    """

    name: str
    run: Run
    wall: bool = False
    target: float | None = None
    rates: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        """Median rate."""
        return statistics.median(self.rates)


def measure(candidates: list[Candidate], rounds: int, seconds: float) -> None:
    """Time each candidate once per round, in turn, after one short warm-up each."""
    for candidate in candidates:
        candidate.run(seconds / 10)
    for _ in range(rounds):
        for candidate in candidates:
            clock = time.perf_counter if candidate.wall else time.process_time
            began = clock()
            decisions = candidate.run(seconds)
            candidate.rates.append(decisions / (clock() - began))


def until(seconds: float, some: Callable[[], int]) -> int:
    """Repeat a piece of work until the time is up and return how many decisions it made."""
    done = 0
    stop = time.perf_counter() + seconds
    while time.perf_counter() < stop:
        done += some()
    return done
