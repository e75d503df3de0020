"""`spirits arena`, `spirits ladder` and `spirits report`: many agents, each against every other."""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from spirits_env import games
from spirits_env.arena.contest import Contest, Played
from spirits_env.arena.plan import PLANS
from spirits_env.cli.common import OK, OTHER_GAME, add_setting, check_files
from spirits_env.policies import EXAMPLE

INTERRUPTED = 130

_FOLDER = Path("runs")
_LONGEST_NAME = 100


def add(commands: Any) -> None:
    """Add the commands."""
    arena = commands.add_parser(
        "arena",
        help="let agents play each other",
        description="Let agents play each other on the same deals, every seat in turn, and print the standings. The "
        "games are kept in a file: the same command goes on where it was stopped.",
        examples=(
            f"spirits arena random greedy search:100 {EXAMPLE} --html arena.html",
            f"spirits arena {EXAMPLE} greedy --gate 0.02",
        ),
    )
    arena.add_argument("agents", nargs="+", metavar="AGENT", help="random, greedy, search:400, an .onnx file, ...")
    _add_contest(arena)
    arena.add_argument("--deals", type=int, default=200, help="deals each table plays (default: %(default)s)")
    arena.add_argument(
        "--plan",
        choices=PLANS,
        default="field",
        help="; ".join(f"{name}: {text}" for name, text in PLANS.items()) + " (default: %(default)s)",
    )
    arena.add_argument(
        "--gate",
        type=float,
        metavar="DELTA",
        help="play two agents, whatever --deals and --plan say, until it is told whether the first wins DELTA more "
        "than equals would (0.02, say)",
    )
    _add_report(arena)
    arena.set_defaults(run=_arena)

    ladder = commands.add_parser(
        "ladder",
        help="measure the anchors of a game, and agents among them",
        description="Let the anchors, from random to deep search, and any further agents play each other, and write "
        "results, Markdown and HTML under runs/ladder. The same command goes on where it was stopped.",
        examples=(f"spirits ladder {EXAMPLE}", f"spirits ladder --game {OTHER_GAME}"),
    )
    ladder.add_argument("agents", nargs="*", metavar="AGENT", help="agents to place on the ladder")
    _add_contest(ladder)
    ladder.add_argument("--deals", type=int, default=None, help="deals each table plays (default: 100)")
    _add_report(ladder)
    ladder.set_defaults(run=_ladder)

    report = commands.add_parser(
        "report",
        help="show the standings of a results file",
        description="Show the standings of a results file, which an arena or a ladder wrote or is writing.",
        examples=("spirits report runs/arena/games.jsonl --html arena.html",),
    )
    report.add_argument("results", type=Path, metavar="FILE.jsonl")
    report.add_argument("--mend", action="store_true", help="leave out a last line that was cut short")
    _add_report(report)
    report.set_defaults(run=_report)


def _add_contest(parser: argparse.ArgumentParser) -> None:
    """Add what says which games are played, how and where they are kept."""
    add_setting(parser)
    parser.add_argument(
        "--processes",
        type=int,
        default=os.cpu_count() or 1,
        help="processes that play; no game depends on it (default: one per core, %(default)s)",
    )
    parser.add_argument("--out", type=Path, metavar="FILE.jsonl", help="results file (default: under runs)")
    parser.add_argument("--mend", action="store_true", help="drop a last line of the file that was cut short")


def _add_report(parser: argparse.ArgumentParser) -> None:
    """Add where the report goes."""
    parser.add_argument("--html", type=Path, metavar="FILE", help="write the report as one HTML page")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the report as Markdown")


def _arena(arguments: argparse.Namespace) -> int:
    """Run `spirits arena`."""
    from spirits_env.arena.runner import run, run_gate

    check_files(getattr(arguments, "out", None), arguments.html, arguments.markdown)
    kind = "-mixed" if arguments.plan == "mixed" and arguments.gate is None else ""
    path = arguments.out or _default_path(arguments, "arena", arguments.agents, kind)
    with _kept(path), _shown_progress() as progress:
        settings = _settings(arguments, progress)
        if arguments.gate is not None:
            contest, played, verdict = run_gate(arguments.agents, arguments.gate, path=path, **settings)
        else:
            contest, played = run(arguments.agents, path=path, deals=arguments.deals, plan=arguments.plan, **settings)
    _show(contest, played, arguments.html, arguments.markdown)
    if arguments.gate is not None:
        print(
            f"\n{contest.agents[0]} against {contest.agents[1]}: {verdict.decision} by {arguments.gate:g} after "
            f"{verdict.deals} deals, win share {verdict.mean:.1%}, log-likelihood ratio {verdict.llr:+.2f} of "
            f"±{verdict.bound:.2f}."
        )
    print(f"\nResults: {path}")
    return OK


def _ladder(arguments: argparse.Namespace) -> int:
    """Run `spirits ladder`."""
    from spirits_env.arena.ladder import DEALS, climb

    check_files(getattr(arguments, "out", None), arguments.html, arguments.markdown)
    path = arguments.out or _default_path(arguments, "ladder", arguments.agents)
    anchors = _default_path(arguments, "ladder", ())
    with _kept(path), _shown_progress() as progress:
        settings = _settings(arguments, progress)
        deals = DEALS if arguments.deals is None else arguments.deals
        contest, played = climb(arguments.agents, path, anchors, deals=deals, **settings)
    html = arguments.html or path.with_suffix(".html")
    _show(contest, played, html, arguments.markdown or path.with_suffix(".md"))
    print(f"\nResults: {path}; page: {html}")
    return OK


def _report(arguments: argparse.Namespace) -> int:
    """Run `spirits report`."""
    from spirits_env.arena.results import read

    check_files(getattr(arguments, "out", None), arguments.html, arguments.markdown)
    _show(*read(arguments.results, arguments.mend), arguments.html, arguments.markdown)
    return OK


def _default_path(arguments: argparse.Namespace, command: str, agents: Sequence[str], kind: str = "") -> Path:
    """The results file of who names none."""
    games.load(arguments.game)
    names = [re.sub(r"[^A-Za-z0-9.]+", "_", Path(agent).name) for agent in agents]
    stem = "-".join([arguments.game, f"{arguments.players}p", *names])[:_LONGEST_NAME]
    return _FOLDER / command / f"{stem}{kind}.jsonl"


def _settings(arguments: argparse.Namespace, progress: Callable[[int, int, str], None]) -> dict[str, Any]:
    """What all runs take."""
    return {
        "game": arguments.game,
        "players": arguments.players,
        "seed": arguments.seed,
        "options": dict(arguments.option),
        "processes": arguments.processes,
        "mend": arguments.mend,
        "progress": progress,
    }


@contextmanager
def _kept(path: Path) -> Iterator[None]:
    """Make the folder of a results file, and say where the games are if the run is interrupted."""
    path.absolute().parent.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except KeyboardInterrupt:
        print(f"\nspirits: stopped; the games so far are in {path}: the same command goes on.", file=sys.stderr)
        raise SystemExit(INTERRUPTED) from None


@contextmanager
def _shown_progress() -> Iterator[Callable[[int, int, str], None]]:
    """Show how far it is: a bar where somebody looks on, else a line for each tenth."""
    if not sys.stderr.isatty():
        yield _Tenths()
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    except ImportError:
        yield _Tenths()
        return
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("games, {task.fields[rate]} a second,"),
        TimeRemainingColumn(),
        TextColumn("left; {task.description}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=None, rate="–")
        first = -1
        started = time.perf_counter()

        def update(done: int, total: int, label: str) -> None:
            nonlocal first
            first = done if first < 0 else first
            rate = (done - first) / max(time.perf_counter() - started, 1e-9)
            bar.update(task, completed=done, total=total, description=label, rate=f"{rate:.3g}")

        yield update


class _Tenths:
    """Prints a line for each tenth of the games."""

    def __init__(self) -> None:
        self.tenth = -1

    def __call__(self, done: int, total: int, label: str) -> None:
        """Take the state of things."""
        tenth = 10 * done // total
        if self.tenth >= 0 and tenth > self.tenth:
            print(f"{done} of {total} games; {label}", file=sys.stderr, flush=True)
        self.tenth = tenth


def _show(contest: Contest, played: Sequence[Played], html: Path | None, markdown: Path | None) -> None:
    """Print the standings and write the report's files."""
    from spirits_env.arena.report import to_html, to_markdown
    from spirits_env.arena.standings import standings

    if not played:
        raise ValueError("The results file holds no games yet; play some first.")
    result = standings(contest, played)
    text = to_markdown(result)
    if html is not None:
        html.write_text(to_html(result), encoding="utf-8")
    if markdown is not None:
        markdown.write_text(text, encoding="utf-8")
    print(text, end="")
