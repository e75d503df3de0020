"""Figures beside their targets, as a table, JSON or Markdown.

Rates are judged by CPU time, which other processes disturb least; what a person waits for, by wall clock.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from spirits_env import GAMES
from spirits_env.bench import Figure, number, processor, spread


@dataclass(frozen=True)
class Target:
    """What a figure should reach.

    Attributes:
        clock: Whose median is judged.
        bound: Where the line is.
        least: Whether the median must be at least, or at most, the bound.
    """

    clock: str
    bound: float
    least: bool = True

    def met(self, figure: Figure) -> bool:
        """Tell whether the figure reaches it."""
        middle = figure.middle(self.clock)
        return middle >= self.bound if self.least else middle <= self.bound

    def shown(self) -> str:
        """The target in words."""
        return f"at {'least' if self.least else 'most'} {number(self.bound)}"


# Every game has the same.
TARGETS = {
    "batch/1024x2/step": Target("cpu", 3e6),
    "threads/1024": Target("wall", 1.7),
    "threads/4096": Target("wall", 1.7),
    "search/uniform": Target("cpu", 60e3),
    "aec/raw": Target("cpu", 150e3),
    "startup/import": Target("wall", 0.4, least=False),
    "startup/aec-warm": Target("wall", 1.0, least=False),
    "startup/gym-warm": Target("wall", 1.0, least=False),
    "startup/aec-cold": Target("wall", 15.0, least=False),
    "startup/gym-cold": Target("wall", 15.0, least=False),
    "startup/aec-cold-told": Target("value", 1.0),
    "startup/gym-cold-told": Target("value", 1.0),
    "memory/state": Target("value", 400, least=False),
    "state/copy-in-plies": Target("cpu", 10, least=False),
}

_HEADS = ("what", "name", "unit", "CPU time: median (min to max)", "wall clock: median (min to max)", "target", "met")


def without_game(name: str) -> str:
    """A name without the game in front, if there is one."""
    first, _, rest = name.partition("/")
    return rest if first in GAMES else name


def verdict(figure: Figure) -> tuple[str, str]:
    """A figure's target and whether it is met, both empty where there is none."""
    target = TARGETS.get(without_game(figure.name))
    if target is None:
        return "", ""
    return target.shown(), "yes" if target.met(figure) else "no"


def rows(figures: Sequence[Figure]) -> list[tuple[str, ...]]:
    """The table, without its heads."""
    table: list[tuple[str, ...]] = []
    for figure in figures:
        value = spread(figure, "wall") or spread(figure, "value")
        table.append((figure.text, figure.name, figure.unit, spread(figure, "cpu"), value, *verdict(figure)))
    return table


def verdicts(figures: Sequence[Figure]) -> dict[str, dict[str, str]]:
    """Targets, and whether they are met, by the figure's name."""
    found = {figure.name: verdict(figure) for figure in figures}
    return {name: {"target": target, "met": met} for name, (target, met) in found.items() if target}


def missed(figures: Sequence[Figure]) -> list[str]:
    """Names of the figures that miss their targets."""
    return [figure.name for figure in figures if verdict(figure)[1] == "no"]


def load() -> float | None:
    """How many processes want a core, over the last minute, where the system tells."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def machine() -> dict[str, Any]:
    """What the figures were measured on and with."""
    packages = {name: version(name) for name in ("numpy", "numba", "gymnasium", "pettingzoo")}
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **packages,
    }


def markdown(report: dict[str, Any], figures: Sequence[Figure]) -> str:
    """The whole report as Markdown."""
    lines = [_conditions(report), "", f"| {' | '.join(_HEADS)} |", "|" + "---|" * len(_HEADS)]
    lines += [f"| {' | '.join(row)} |" for row in rows(figures)]
    if report["skipped"]:
        lines += ["", "Left out:", "", *(f"- {line}" for line in report["skipped"])]
    return "\n".join(lines) + "\n"


def _conditions(report: dict[str, Any]) -> str:
    """One sentence on machine, versions and load."""
    kept = ", ".join(f"{key} {value}" for key, value in report["machine"].items())
    settings = ", ".join(f"{key} {value}" for key, value in report["settings"].items())
    loads = " to ".join("?" if value is None else f"{value:.1f}" for value in report["load"])
    return f"Measured on {kept}; {settings}; load {loads}."


def text(report: dict[str, Any], figures: Sequence[Figure]) -> str:
    """The whole report as aligned text; what a name stands for, `--list` tells."""
    table = [row[1:] for row in rows(figures)]
    widths = [max(len(row[i]) for row in [_HEADS[1:], *table]) for i in range(len(_HEADS) - 1)]
    lines = [_conditions(report)]
    for row in [_HEADS[1:], tuple("-" * width for width in widths), *table]:
        lines.append("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    lines += [f"left out: {line}" for line in report["skipped"]]
    if missed(figures):
        lines.append(f"targets missed: {', '.join(missed(figures))}")
    return "\n".join(lines) + "\n"
