"""The `spirits` command: judge agents, list games and actions, read policy files, replay records.

Errors are one line on the standard error stream: exit code 2; illegal choices in an evaluation: exit code 1.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from spirits_env import games, record
from spirits_env.agents import make_agent
from spirits_env.arena import Result, evaluate, to_markdown, to_rich

OK, ILLEGAL, WRONG = 0, 1, 2


class _Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(WRONG, f"{self.prog}: {message} (see {self.prog} --help)\n")


def _option(text: str) -> tuple[str, Any]:
    """Read `name=value`; true, false and whole numbers are taken as such."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is no option; write name=value, for example reward=margin")
    known: dict[str, Any] = {"true": True, "false": False}
    if value.lower() in known:
        return name, known[value.lower()]
    return name, int(value) if value.lstrip("-").isdigit() else value


def make_parser() -> argparse.ArgumentParser:
    """Make the command line."""
    parser = _Parser(prog="spirits", description="Environments for board games about spirits.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_evaluate(commands)
    listing = commands.add_parser("games", help="list the games", description="List the games and their ids.")
    listing.set_defaults(run=_games)
    info = commands.add_parser("info", help="show a policy file's card", description="Show a policy file's card.")
    info.add_argument("policy", metavar="FILE.onnx")
    info.set_defaults(run=_info)
    actions = commands.add_parser("actions", help="show a game's action table", description="Show the action table.")
    actions.add_argument("--game", default=games.DEFAULT, help="name of the game (default: %(default)s)")
    actions.set_defaults(run=_actions)
    replay = commands.add_parser("replay", help="replay a record", description="Replay a record and show the board.")
    replay.add_argument("record", metavar="RECORD.json")
    replay.add_argument("--ply", type=int, default=None, help="stop after so many decisions (default: play all)")
    replay.add_argument("--seat", type=int, default=None, help="show what this seat sees (default: everything)")
    replay.set_defaults(run=_replay)
    return parser


def _add_evaluate(commands: Any) -> None:
    """Add `spirits evaluate`."""
    parser = commands.add_parser(
        "evaluate",
        help="measure agents against opponents",
        description="Measure each policy against a field of each opponent: every deal is played with the policy in "
        "every seat, all policies and opponents meet the same deals, shared wins are shared.",
    )
    parser.add_argument(
        "policies",
        nargs="+",
        metavar="POLICY",
        help='an .onnx file (its best action), the file with ":sample" after it (drawn), random or greedy',
    )
    parser.add_argument(
        "--against", nargs="*", default=None, metavar="AGENT", help="opponents (default: random greedy)"
    )
    parser.add_argument("--game", default=games.DEFAULT, help="name of the game (default: %(default)s)")
    parser.add_argument("--players", type=int, default=2, help="players at the table (default: %(default)s)")
    parser.add_argument("--games", type=int, default=1000, help="games per opponent (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="names the deals (default: %(default)s)")
    parser.add_argument(
        "--option",
        type=_option,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the game; may be repeated",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results as JSON")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the results as Markdown tables")
    parser.set_defaults(run=_evaluate)


def _evaluate(arguments: argparse.Namespace) -> int:
    """Run `spirits evaluate`."""
    against = arguments.against
    if against is None:
        against = [] if arguments.players == 1 else ["random", "greedy"]
    for path in (arguments.json, arguments.markdown):
        if path is not None and not path.absolute().parent.is_dir():
            raise ValueError(f"The folder of {path} does not exist; make it first.")
    agents = [make_agent(policy) for policy in arguments.policies]
    for agent in agents:
        agent.check(arguments.game, arguments.players)
    results = [
        evaluate(
            agent,
            against,
            game=arguments.game,
            players=arguments.players,
            games=arguments.games,
            seed=arguments.seed,
            options=dict(arguments.option),
            progress=_progress(agent.name),
        )
        for agent in agents
    ]
    # What was played must not be lost to a fault in showing it.
    if arguments.json is not None:
        arguments.json.write_text("[" + ",\n".join(result.to_json() for result in results) + "]\n", encoding="utf-8")
    if arguments.markdown is not None:
        arguments.markdown.write_text(to_markdown(results), encoding="utf-8")
    _show(results)
    for match in (match for result in results for match in result.matches if match.illegal_example):
        print(f"spirits: {match.illegal_example}", file=sys.stderr)
    return ILLEGAL if any(result.illegal for result in results) else OK


def _progress(agent: str) -> Callable[[int, int], None] | None:
    """Show a line of progress where somebody looks on."""
    if not sys.stderr.isatty():
        return None

    def report(finished: int, total: int) -> None:
        end = "\n" if finished >= total else ""
        print(f"\r{agent}: {finished} of {total} games", end=end, file=sys.stderr, flush=True)

    return report


def _show(results: Sequence[Result]) -> None:
    """Print tables: in boxes for people, as plain Markdown for pipes."""
    if not sys.stdout.isatty():
        print(to_markdown(results), end="")
        return
    tables = to_rich(results)
    from rich.console import Console

    console = Console()
    for table in tables:
        console.print(table)


def _games(arguments: argparse.Namespace) -> int:
    """Run `spirits games`."""
    for name, listing in games.GAMES.items():
        game = games.load(name)
        players = ", ".join(str(count) for count in game.players)
        ids = ", ".join(f"spirits/{label}-v{listing.version}" for label in listing.ids)
        remarks = "".join(f"; {remark}" for remark in game.remarks(game.check_options({})))
        print(f"{name}: {game.title}, {players} players, rules version {game.version}; Gymnasium ids {ids}{remarks}")
    return OK


def _info(arguments: argparse.Namespace) -> int:
    """Run `spirits info`."""
    import json

    from spirits_env.agents.policy import read_card

    print(json.dumps(read_card(arguments.policy), indent=2))
    return OK


def _actions(arguments: argparse.Namespace) -> int:
    """Run `spirits actions`."""
    for action in games.load(arguments.game).actions:
        print(f"{action.id:3d}  {action.name:18s}  {action.sentence}")
    return OK


def _replay(arguments: argparse.Namespace) -> int:
    """Run `spirits replay`."""
    if arguments.ply is not None and arguments.ply < 0:
        raise ValueError(f"--ply was {arguments.ply}; give 0 or more.")
    state = record.load(arguments.record, arguments.ply)
    if arguments.seat is not None and not 0 <= arguments.seat < state.players:
        raise ValueError(f"--seat was {arguments.seat}; give 0 to {state.players - 1}.")
    print(state.text(arguments.seat))
    return OK


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: Words after `spirits`; None takes the process's own.

    Returns:
        The exit code.
    """
    parser = make_parser()
    parsed = parser.parse_args(arguments)
    try:
        code: int = parsed.run(parsed)
    except (ValueError, ImportError, OSError) as error:
        print(f"spirits: {' '.join(str(error).split())}", file=sys.stderr)
        return WRONG
    return code
