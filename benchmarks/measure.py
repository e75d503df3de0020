"""How things are timed: short windows in turn, several rounds, process CPU time and wall clock of each.

Everything to be measured is made ready first; then each round gives every case one window, so load hits all alike.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median


class NotInstalledError(Exception):
    """A case needs something that this environment lacks; the message says what."""


def nothing() -> None:
    """Do nothing: a trial with nothing to prepare."""


@dataclass(frozen=True)
class Trial:
    """A case made ready.

    Attributes:
        run: Does a piece of the work and returns how much it was, in the case's unit.
        before: Prepares each run, untimed.
    """

    run: Callable[[], int]
    before: Callable[[], None] = nothing


@dataclass(frozen=True)
class Case:
    """Something whose rate is measured.

    Attributes:
        name: Words separated by slashes, the group first.
        text: What runs, for people.
        prepare: Makes it ready: imports, compiles, deals.
        unit: What is counted.
    """

    name: str
    text: str
    prepare: Callable[[], Trial]
    unit: str = "decisions/s"


@dataclass
class Figure:
    """What came out, one sample per round.

    Attributes:
        name: The name of the case.
        text: What it is, for people.
        unit: The unit of the samples.
        samples: Under "cpu" those by process CPU time (all threads), under "wall" those by wall clock, under "value"
            those of what is no time.
    """

    name: str
    text: str
    unit: str
    samples: dict[str, list[float]] = field(default_factory=dict)

    def middle(self, clock: str) -> float:
        """The median of a clock's samples."""
        return median(self.samples[clock])

    def add(self, **values: float) -> None:
        """Add one sample per clock."""
        for clock, value in values.items():
            self.samples.setdefault(clock, []).append(value)

    def summary(self) -> dict[str, object]:
        """The figure as plain data."""
        clocks = {
            clock: {"median": median(values), "min": min(values), "max": max(values), "samples": values}
            for clock, values in self.samples.items()
        }
        return {"name": self.name, "text": self.text, "unit": self.unit, **clocks}


@dataclass(frozen=True)
class Ratio:
    """How many times one figure is another, round by round.

    Attributes:
        name: The name of the ratio.
        text: What it tells, for people.
        over: Name of the figure divided.
        under: Name of the figure it is divided by.
        clock: The clock of both.
    """

    name: str
    text: str
    over: str
    under: str
    clock: str = "cpu"

    def figure(self, figures: dict[str, Figure]) -> Figure | None:
        """The ratio as a figure, or None where one of the two was not measured."""
        if self.over not in figures or self.under not in figures:
            return None
        pairs = zip(figures[self.over].samples[self.clock], figures[self.under].samples[self.clock], strict=True)
        return Figure(self.name, self.text, "times", {self.clock: [over / under for over, under in pairs]})


def say(text: str) -> None:
    """Tell what is going on."""
    print(text, file=sys.stderr, flush=True)


def prepared(cases: Sequence[Case], skipped: list[str]) -> Iterator[tuple[Case, Trial]]:
    """Make the cases ready, and run each once to warm it up; those that can't be are added to `skipped`."""
    for case in cases:
        say(f"preparing {case.name}")
        try:
            trial = case.prepare()
        except NotInstalledError as error:
            skipped.append(f"{case.name}: {error}")
            continue
        trial.before()
        trial.run()
        yield case, trial


def window(trial: Trial, seconds: float) -> tuple[float, float]:
    """Run a trial for so many seconds, and return its rates by CPU time and by wall clock."""
    work, cpu, wall = 0, 0.0, 0.0
    # A coarse clock may show no CPU time yet.
    while wall < seconds or cpu == 0:
        trial.before()
        cpu_before, wall_before = time.process_time(), time.perf_counter()
        work += trial.run()
        wall += time.perf_counter() - wall_before
        cpu += time.process_time() - cpu_before
    return work / cpu, work / wall


def rates(cases: Sequence[Case], rounds: int, seconds: float, skipped: list[str]) -> list[Figure]:
    """Measure the rates of all cases in turn, round by round.

    Args:
        cases: What to measure.
        rounds: Windows per case.
        seconds: Length of a window.
        skipped: Takes one line per case that could not be measured.

    Returns:
        One figure per case measured.
    """
    ready = list(prepared(cases, skipped))
    figures = [Figure(case.name, case.text, case.unit) for case, _ in ready]
    for number in range(rounds if ready else 0):
        say(f"round {number + 1} of {rounds}")
        for (_, trial), figure in zip(ready, figures, strict=True):
            cpu, wall = window(trial, seconds)
            figure.add(cpu=cpu, wall=wall)
    return figures
