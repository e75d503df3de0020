"""`python -m benchmarks`: measure, compare with targets, print a table.

See `--help`; `benchmarks/README.md` tells how the figures are meant.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import ours, peers
from benchmarks.startup import Figure, figures
from benchmarks.timing import Candidate, measure

THREADS_GAIN = 1.7
COPY_PLIES = 10


def make_parser() -> argparse.ArgumentParser:
    """Make the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure speed beside the peers'.")
    parser.add_argument("--quick", action="store_true", help="short rounds, for a first look")
    parser.add_argument(
        "--only", nargs="+", metavar="GROUP", help="batch, threads, rules, aec, state, gym, sb3, peer, start"
    )
    parser.add_argument("--rounds", type=int, default=7, help="rounds in turn (default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table as Markdown")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    options = make_parser().parse_args(arguments)

    def wanted(name: str) -> bool:
        return not options.only or name.split(":")[0] in options.only

    others, absent = peers.candidates() if wanted("peer:") else ([], [])
    timed = [candidate for candidate in ours.candidates() + others if wanted(candidate.name)]
    measure(timed, 2 if options.quick else options.rounds, 0.1 if options.quick else 0.5)
    starts = []
    if wanted("start:"):
        starts = figures(1, 1) if options.quick else figures(5, 3)
    rows, missed = table(timed, starts)
    text = markdown(rows) + "".join(f"\n{line}" for line in absent) + "\n"
    print(text, end="")
    if options.markdown:
        options.markdown.write_text(text, encoding="utf-8")
    if options.json:
        options.json.write_text(json.dumps(values(timed, starts), indent=2) + "\n", encoding="utf-8")
    if missed:
        print("Missed: " + "; ".join(missed), file=sys.stderr)
    return 1 if options.check and missed else 0


def values(timed: Sequence[Candidate], starts: Sequence[Figure]) -> dict[str, list[float]]:
    """All rounds of all figures by name."""
    return {item.name: list(item.rates) for item in timed} | {item.name: item.values for item in starts}


def table(timed: Sequence[Candidate], starts: Sequence[Figure]) -> tuple[list[tuple[str, ...]], list[str]]:
    """Lay out rows of name, median, range, target; and name the targets missed."""
    rows, missed = [], []
    for item in timed:
        clock = "wall clock" if item.wall else "CPU time"
        goal = f"at least {item.target:,.0f}" if item.target else ""
        rows.append(
            (item.name, f"{item.median:,.0f}/s", f"{min(item.rates):,.0f} to {max(item.rates):,.0f}", clock, goal)
        )
        if item.target and item.median < item.target:
            missed.append(item.name)
    for name, median, low, high, goal, good in ratios(timed):
        rows.append((name, f"{median:.2f}", f"{low:.2f} to {high:.2f}", "ratio in turn", goal))
        if not good:
            missed.append(name)
    for figure in starts:
        span = f"{min(figure.values):,.2f} to {max(figure.values):,.2f}"
        goal = f"at most {figure.target:g}"
        rows.append((figure.name, f"{figure.median:,.2f} {figure.unit}", span, f"{len(figure.values)} runs", goal))
        if figure.median > figure.target:
            missed.append(figure.name)
    return rows, missed


def ratios(timed: Sequence[Candidate]) -> list[tuple[str, float, float, float, str, bool]]:
    """Ratios of figures taken in the same rounds: name, median, low, high, target, reached."""
    rates = {item.name: item.rates for item in timed}
    found = []
    pairs = (
        (
            "two threads over one",
            "threads: 4,096 games, 2 threads",
            "threads: 4,096 games, 1 thread",
            THREADS_GAIN,
            True,
        ),
        ("a copy in plies of play", "state: play", "state: copy", COPY_PLIES, False),
        (
            "raw AEC over PettingZoo connect_four raw",
            "aec: raw_env()",
            "peer: PettingZoo connect_four raw_env()",
            None,
            True,
        ),
        (
            "batch over PettingZoo connect_four env()",
            "batch: 1,024 games, 2 players, 1 thread",
            "peer: PettingZoo connect_four env()",
            None,
            True,
        ),
    )
    for name, upper, lower, target, at_least in pairs:
        if upper in rates and lower in rates:
            each = sorted(one / other for one, other in zip(rates[upper], rates[lower], strict=True))
            median = each[len(each) // 2]
            goal = "" if target is None else f"at {'least' if at_least else 'most'} {target:g}"
            good = target is None or (median >= target if at_least else median <= target)
            found.append((name, median, each[0], each[-1], goal, good))
    return found


def markdown(rows: Sequence[tuple[str, ...]]) -> str:
    """Write rows as a Markdown table."""
    head = ("figure", "median", "lowest to highest", "measured in", "target")
    lines = [head, ("---", "---:", "---:", "---", "---"), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
