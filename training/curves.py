"""Puts the learning curves of several runs together: one line per kind of run, with the range over its seeds.

It reads what runs leave, so that a figure in the docs can be made again by one command.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import numpy as np

from spirits_env.arena.tables import Table, markdown
from training import metrics

_POINTS = 200


@dataclass(frozen=True)
class Curve:
    """One metric of one run.

    Attributes:
        x: Decisions, or minutes of the run.
        y: The metric.
    """

    x: np.ndarray
    y: np.ndarray

    def reach(self, target: float) -> float | None:
        """Return where the metric first reaches a target, between its points; None if it never does."""
        for i in range(len(self.y)):
            if self.y[i] >= target:
                if i == 0:
                    return float(self.x[0])
                share = (target - self.y[i - 1]) / (self.y[i] - self.y[i - 1])
                return float(self.x[i - 1] + share * (self.x[i] - self.x[i - 1]))
        return None


def read_curve(run: Path, metric: str, over: str) -> Curve:
    """Read a metric of a run.

    Raises:
        ValueError: If the run has no such metric.
    """
    rows = [row for row in metrics.read(run) if metric in row and over in row]
    if not rows:
        raise ValueError(f"{run} has no metric {metric!r} over {over!r}; see its metrics.jsonl for what it has.")
    return Curve(np.array([row[over] for row in rows]), np.array([row[metric] for row in rows]))


def read_kinds(words: Sequence[str], metric: str, over: str) -> dict[str, list[Curve]]:
    """Read runs from words such as "tile net=runs/tiles-*".

    Raises:
        ValueError: If a word has another form, or fits no run.
    """
    kinds = {}
    for word in words:
        label, _, pattern = word.partition("=")
        folders = sorted(path.parent for path in Path().glob(f"{pattern}/{metrics.FILE}")) if pattern else []
        if not folders:
            raise ValueError(f"{word!r} fits no run; give a label and a pattern, as in 'tile net=runs/tiles-*'.")
        kinds[label] = [read_curve(folder, metric, over) for folder in folders]
    return kinds


def tabulate(kinds: dict[str, list[Curve]], target: float, over: str) -> str:
    """Tell for each kind of run how far it came and when it reached a target: medians and ranges over seeds."""
    rows: list[tuple[str, ...]] = []
    for label, curves in kinds.items():
        reached = [curve.reach(target) for curve in curves]
        known = [where for where in reached if where is not None]
        text = spread(known, "{:,.0f}" if over == "decisions" else "{:.1f}") if known else "-"
        end = spread([curve.y[-1] for curve in curves], "{:.1%}")
        rows.append((label, str(len(curves)), end, str(len(known)), text))
    last = f"{over.split('/')[-1]} to {target:.0%}"
    return markdown(Table(("runs", "seeds", "at the end", f"reached {target:.0%}", last), tuple(rows), labels=1))


def spread(values: Sequence[float], form: str) -> str:
    """Say the median, and the range of several."""
    middle = form.format(statistics.median(values))
    return middle if len(values) == 1 else f"{middle} ({form.format(min(values))} to {form.format(max(values))})"


def draw(kinds: dict[str, list[Curve]], metric: str, over: str, path: Path) -> None:
    """Draw the median of each kind of run, with the range over its seeds."""
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(7, 4.2), layout="constrained")
    for label, curves in kinds.items():
        grid = np.linspace(max(curve.x[0] for curve in curves), min(curve.x[-1] for curve in curves), _POINTS)
        lines = np.array([np.interp(grid, curve.x, curve.y) for curve in curves])
        (line,) = axis.plot(grid, np.median(lines, axis=0), label=label)
        axis.fill_between(grid, lines.min(axis=0), lines.max(axis=0), color=line.get_color(), alpha=0.2, linewidth=0)
    axis.set(xlabel=over.split("/")[-1], ylabel=metric.split("/")[-1].replace("_", " "), ylim=(0, None))
    axis.grid(alpha=0.25)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False)
    figure.savefig(path)
    pyplot.close(figure)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m training.curves", description=__doc__)
    parser.add_argument("runs", nargs="+", help="a label and a pattern of runs' folders: 'tile net=runs/tiles-*'")
    parser.add_argument("--metric", default="match_2p/win_share_greedy", help="what to draw (default: %(default)s)")
    parser.add_argument("--over", default="decisions", choices=("decisions", "time/minutes"), help="over what")
    parser.add_argument("--target", type=float, default=0.5, help="tell when it was reached (default: %(default)s)")
    parser.add_argument("--out", type=Path, required=True, help="the picture, .svg or .png")
    words = parser.parse_args(arguments)
    try:
        kinds = read_kinds(words.runs, words.metric, words.over)
    except ValueError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    draw(kinds, words.metric, words.over, words.out)
    print(tabulate(kinds, words.target, words.over))
    return 0


if __name__ == "__main__":
    sys.exit(main())
