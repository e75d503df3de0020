"""Runs the benchmarks and reports them; nothing fails unless `--check` is given.

`python -m benchmarks --quick` takes a fraction of a minute, the whole some minutes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import fixed, ours, peers, report
from benchmarks.ratio import Ratio
from spirits_env import GAMES
from spirits_env.bench import Case, Figure, rates


@dataclass(frozen=True)
class Settings:
    """How long to measure.

    Attributes:
        rounds: Windows per rate.
        seconds: Length of a window.
        processes: Fresh processes per start-up figure.
        cold: Fresh processes without compiled loops.
    """

    rounds: int
    seconds: float
    processes: int
    cold: int


FULL = Settings(rounds=7, seconds=0.5, processes=5, cold=2)
QUICK = Settings(rounds=3, seconds=0.05, processes=1, cold=0)


def make_parser() -> argparse.ArgumentParser:
    """Make the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure speed, start-up and memory.")
    parser.add_argument("--quick", action="store_true", help="short windows, and no cold starts")
    parser.add_argument(
        "--only",
        nargs="+",
        metavar="NAME",
        help="names or groups, of one game (forest/aec/raw) or of each (aec/raw, batch)",
    )
    parser.add_argument(
        "--game", action="append", choices=list(GAMES), help="only this game; may be repeated (default: each)"
    )
    parser.add_argument("--list", action="store_true", help="list the names and stop")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything as JSON")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table as Markdown")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    return parser


def cases(games: Sequence[str]) -> list[Case]:
    """Everything whose rate can be measured: ours for these games, and the peers."""
    return [case for game in games for case in ours.all_cases(game)] + peers.all_cases()


def ratios(games: Sequence[str]) -> list[Ratio]:
    """Everything that is compared."""
    return [ratio for game in games for ratio in ours.ratios(game) + peers.ratios(game)]


def known(games: Sequence[str] = tuple(GAMES)) -> dict[str, str]:
    """Every name that `--only` takes, and what it is."""
    named = {fixed.IMPORT: "import spirits_env"}
    for game in games:
        named |= fixed.startup_names(game)
    named |= {fixed.memory_name(game): "size of a game" for game in games}
    return named | {case.name: case.text for case in cases(games)}


def _in_group(name: str, group: str) -> bool:
    """Tell whether a name is in a group, or is it."""
    return f"{name}/".startswith(group.rstrip("/") + "/")


def chosen(only: Sequence[str] | None, games: Sequence[str] = tuple(GAMES)) -> set[str]:
    """The names asked for: all, or those named by themselves or by a group they are in, with or without the game.

    Raises:
        ValueError: If one names nothing.
    """
    names = set(known(games))
    if only is None:
        return names
    found: set[str] = set()
    for part in only:
        matching = {name for name in names if _in_group(name, part) or _in_group(report.without_game(name), part)}
        if not matching:
            raise ValueError(f"There is no benchmark {part!r} of {' or '.join(games)}; --list tells the names.")
        found |= matching
    return found


def measure(settings: Settings, games: Sequence[str], names: set[str], skipped: list[str]) -> list[Figure]:
    """Measure what is asked for: start-up first, while no peer runs threads of its own."""
    figures = fixed.startup_import(settings.processes) if fixed.IMPORT in names else []
    for game in games:
        for name in fixed.startup_names(game):
            if name in names:
                figures += fixed.startup(name, settings.processes, settings.cold)
    for game in games:
        if fixed.memory_name(game) in names:
            figures += fixed.memory(game)
    asked = [case for case in cases(games) if case.name in names]
    figures += rates(asked, settings.rounds, settings.seconds, skipped)
    by_name = {figure.name: figure for figure in figures}
    compared = [ratio.figure(by_name) for ratio in ratios(games)]
    return figures + [figure for figure in compared if figure is not None]


def collect(settings: Settings, games: Sequence[str], names: set[str]) -> tuple[list[Figure], dict[str, Any]]:
    """Measure, and return the figures and all there is to report as plain data."""
    skipped: list[str] = []
    before = report.load()
    figures = measure(settings, games, names, skipped)
    return figures, {
        "machine": report.machine(),
        "settings": vars(settings),
        "load": [before, report.load()],
        "figures": [figure.summary() for figure in figures],
        "targets": report.verdicts(figures),
        "skipped": skipped,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    parser = make_parser()
    options = parser.parse_args(arguments)
    games = [game for game in GAMES if options.game is None or game in options.game]
    if options.list:
        print("\n".join(f"{name:32} {text}" for name, text in known(games).items()))
        return 0
    try:
        names = chosen(options.only, games)
    except ValueError as error:
        parser.error(str(error))
    figures, data = collect(QUICK if options.quick else FULL, games, names)
    print(report.text(data, figures), end="")
    if options.json:
        options.json.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    if options.markdown:
        options.markdown.write_text(report.markdown(data, figures), encoding="utf-8")
    return 1 if options.check and report.missed(figures) else 0


if __name__ == "__main__":
    sys.exit(main())
