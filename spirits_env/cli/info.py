"""`spirits info`: what is installed here, and what a file is: a policy, a record, results of any kind."""

from __future__ import annotations

import argparse
import json
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from spirits_env import __version__, endgames, games, policies, record
from spirits_env.arena import Estimate, Result, results, to_markdown
from spirits_env.arena.tables import Table
from spirits_env.cli.common import OK, show_json, show_results, show_table
from spirits_env.cli.policies import show_card


class Library(NamedTuple):
    """A library that the package uses.

    Attributes:
        name: Its name where packages are installed from.
        brings: What it is for.
        part: The part of the install that brings it; empty for what is always there.
    """

    name: str
    brings: str
    part: str = ""


LIBRARIES = (
    Library("gymnasium", "environments for one learner"),
    Library("numba", "compiled rules"),
    Library("numpy", "everything"),
    Library("pettingzoo", "environments for many agents"),
    Library("PyYAML", "files of options"),
    Library("onnxruntime", "saved policies", "policy"),
    Library("rich", "tables in boxes, the board in colour", "policy"),
    Library("Pillow", "pictures in files", "render"),
    Library("pygame-ce", "a window", "render"),
    Library("resvg_py", "pictures as arrays", "render"),
    Library("shtab", "completion in the shell", "play"),
    Library("starlette", "play in the browser", "play"),
    Library("uvicorn", "play in the browser", "play"),
    Library("jsonargparse", "configurations of training", "train"),
    Library("matplotlib", "curves of training", "train"),
    Library("onnx", "policies as files", "train"),
    Library("onnxscript", "policies as files", "train"),
    Library("sb3-contrib", "training with masks on stable-baselines3", "train"),
    Library("stable-baselines3", "training on stable-baselines3", "train"),
    Library("tensorboard", "curves while training", "train"),
    Library("torch", "training", "train"),
    Library("tqdm", "progress of training", "train"),
    Library("ray", "training on many machines", "rllib"),
)


def add(commands: Any) -> None:
    """Add `spirits info`."""
    parser = commands.add_parser(
        "info",
        help="tell what is installed here, or what a file is",
        description="Tell which versions are installed here, which libraries are missing and what they would bring: "
        "what a report of a fault should have. With a file, tell what it is: the card of a policy, the outcome of a "
        "recorded game, the agents and games of an arena, the tables of evaluations.",
        examples=("spirits info", f"spirits info policy:{games.DEFAULT}", "spirits info game.json --json"),
    )
    parser.add_argument(
        "file", nargs="?", metavar="FILE", help='a file that this package wrote, or a policy of "spirits policies"'
    )
    parser.add_argument("--json", action="store_true", help="print it as JSON, for machines")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run `spirits info`."""
    if arguments.file is None:
        return _print_here(arguments.json)
    kind, facts, show = _read(arguments.file)
    if arguments.json:
        show_json({"kind": kind, **facts})
    else:
        show()
    return OK


# --- this installation ------------------------------------------------------------------------------------


def _print_here(as_json: bool) -> int:
    """Tell what is installed."""
    facts = {
        "spirits_env": __version__,
        "python": f"{platform.python_version()} ({platform.python_implementation()})",
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "package": str(Path(__file__).parent.parent),
        "compiled rules": _compiled_folder(),
        "games": [f"{name} v{listing.version}" for name, listing in games.GAMES.items()],
        "policies": [policies.PREFIX + name for name in policies.names()],
    }
    versions = {library.name: _version(library.name) for library in LIBRARIES}
    if as_json:
        show_json({**facts, "libraries": versions})
        return OK
    rows = [(key, ", ".join(value) if isinstance(value, list) else str(value)) for key, value in facts.items()]
    show_table(Table(("what", "here"), tuple(rows), 2))
    print()
    listed = [(library.name, versions[library.name] or "not installed", library.brings) for library in LIBRARIES]
    show_table(Table(("library", "version", "brings"), tuple(listed), 3))
    missing: dict[str, list[str]] = {}
    for library in LIBRARIES:
        if versions[library.name] is None:
            missing.setdefault(library.part, []).append(library.name)
    if missing:
        print()
    for part, names in missing.items():
        print(f'`pip install "spirits-env{f"[{part}]" if part else ""}"` brings {", ".join(names)}.')
    return OK


def _version(name: str) -> str | None:
    """The version of a library; None if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _compiled_folder() -> str:
    """Where compiled rules are kept."""
    from numba.extending import is_jitted

    from spirits_env.batch import kernels

    step = kernels(games.load(games.DEFAULT)).step
    return str(step.stats.cache_path) if is_jitted(step) else "none, since NUMBA_DISABLE_JIT is set"


# --- a file -----------------------------------------------------------------------------------------------

# How an ONNX file begins: with the field of its version.
_ONNX = b"\x08"

# What a file is, all that it says as plain data, and what shows it to people.
Told = tuple[str, dict[str, Any], Callable[[], None]]


def _read(name: str) -> Told:
    """Find out what a file is.

    Raises:
        ValueError: If it can't be read, or is nothing that this package writes.
    """
    if policies.is_named(name):
        return _policy(name)
    path = Path(name)
    try:
        content = path.read_bytes()
    except OSError as error:
        known = ", ".join(policies.PREFIX + each for each in policies.names())
        raise ValueError(
            f"{name} can't be read ({error.strerror or type(error).__name__}); give a file that this package wrote, "
            f"or one of {known}."
        ) from None
    if path.suffix == ".onnx" or content.startswith(_ONNX):
        return _policy(name)
    first = _parsed(content.partition(b"\n")[0])
    if isinstance(first, dict) and first.get("format") == results.FORMAT:
        return _arena(path)
    whole = _parsed(content)
    if isinstance(whole, dict) and "actions" in whole:
        return _game(whole)
    if isinstance(whole, list) and whole:
        return _evaluations(name, whole)
    raise ValueError(
        f"{name} is no file of this package; give a policy (.onnx), a record, or the results of an arena or evaluation."
    )


def _parsed(text: bytes) -> Any:
    """Read JSON; None if it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _policy(name: str) -> Told:
    """A policy: its card."""
    from spirits_env.agents.policy import read_card

    card = read_card(name)
    return "policy", {"card": card}, lambda: show_card(name, card)


def _game(content: Mapping[str, Any]) -> Told:
    """A record: which game, and how it stands or ended."""
    state = record.replay(content)
    over = state.seat < 0
    facts = {
        "game": state.game.name,
        "version": state.game.version,
        "players": state.players,
        "options": state.options,
        "decisions": len(state.history),
        "finished": over,
        "scores": state.scores() if over else [],
        "winners": state.winners() if over else [],
    }

    def show() -> None:
        outcome = (
            [
                ("points", ", ".join(f"seat {seat}: {points}" for seat, points in enumerate(state.scores()))),
                ("winners", ", ".join(f"seat {seat}" for seat in state.winners())),
            ]
            if over
            else [("to act", f"seat {state.seat}, phase {state.phase}")]
        )
        rows = [
            ("game", state.game.title),
            ("rules version", str(state.game.version)),
            ("players", str(state.players)),
            ("options", _pairs(state.options)),
            ("decisions", str(len(state.history))),
            *outcome,
        ]
        show_table(Table(("record", ""), tuple(rows), 2))

    return "record", facts, show


def _arena(path: Path) -> Told:
    """Results of an arena: what all its games share, and how many each agent has played."""
    contest, played = results.read(path, mend=True)
    counts = [0] * len(contest.agents)
    for games_of_table in played:
        for agent in games_of_table.table:
            counts[agent] += len(games_of_table.seats)
    total = sum(len(games_of_table.seats) for games_of_table in played)
    facts = {**contest.to_dict(), "games": total, "games_of_agents": counts}

    def show() -> None:
        rows = (
            ("game", f"{contest.game}, rules version {contest.game_version}"),
            ("played with", f"spirits_env {contest.package_version}"),
            ("players", str(contest.players)),
            ("options", _pairs(contest.options)),
            ("seed", str(contest.seed)),
            ("games", f"{total:,}"),
            *(("results", remark) for remark in contest.remarks),
        )
        show_table(Table(("arena", ""), rows, 2))
        print()
        agents = zip(contest.agents, contest.fingerprints, counts, strict=True)
        lines = tuple((name, fingerprint or "–", f"{count:,}") for name, fingerprint, count in agents)
        show_table(Table(("agent", "file's hash", "games"), lines, 2))
        print("", f"spirits report {path} shows the standings.", sep="\n")

    return "arena", facts, show


def _evaluations(name: str, listed: Sequence[Any]) -> Told:
    """Results of `spirits evaluate --json`, of matches or of end positions: their tables."""
    try:
        if "total" in listed[0]:
            judged = [_judged(value) for value in listed]
            text = endgames.to_markdown(judged)
            return "endgames", {"results": list(listed)}, lambda: print(text, end="")
        found = [Result.from_dict(value) for value in listed]
        to_markdown(found)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        raise ValueError(f"{name} is a list, but not one that spirits evaluate --json wrote.") from None
    return "evaluations", {"results": list(listed)}, lambda: show_results(found)


def _judged(value: Mapping[str, Any]) -> endgames.EndgameResult:
    """Rebuild what an agent's decisions in end positions came to."""

    def row(plain: Mapping[str, Any]) -> endgames.Row:
        return endgames.Row(**{**plain, "optimal": Estimate(**plain["optimal"]), "lost": Estimate(**plain["lost"])})

    parts = {name: tuple(row(plain) for plain in value[name]) for name in ("phases", "left")}
    return endgames.EndgameResult(**{**value, **parts, "total": row(value["total"])})


def _pairs(options: Mapping[str, Any]) -> str:
    """Options of a game in words."""
    return ", ".join(f"{name}={value}" for name, value in options.items())
