"""The `spirits` command: play and watch games, judge agents, look things up; its help leads to everything.

Errors are one line on the standard error stream: exit code 2; illegal choices in an evaluation: exit code 1.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from spirits_env import __version__
from spirits_env.cli import arena, bench, completion, evaluate, games, info, play, policies, replay, solve, watch
from spirits_env.cli.common import OK, WRONG, Parser, listing
from spirits_env.policies import EXAMPLE

# As a process gives that is ended by the signal of a broken pipe.
_CUT_OFF = 141


class Commands(Parser):
    """The parser of the whole command line: its help lists the commands in groups.

    Attributes:
        groups: Under each head its commands by name.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.groups: dict[str, dict[str, Parser]] = {}
        self._taking = self.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)

    def begin(self, head: str) -> None:
        """Begin a group."""
        self.groups[head] = {}

    def add_parser(self, name: str, help: str, **settings: Any) -> Parser:
        """Add a command to the group that was begun last."""
        command = self._taking.add_parser(name, help=help, summary=help, **settings)
        list(self.groups.values())[-1][name] = command
        return command

    def format_help(self) -> str:
        """Write the help."""
        width = max(len(name) for group in self.groups.values() for name in group)
        lines = [f"usage: {self.prog} COMMAND ...\n\n{self.description}\n"]
        for head, group in self.groups.items():
            lines.append(listing(head, [f"{name:{width}}  {command.summary}" for name, command in group.items()]))
        options = {
            "-h, --help": "show this help; after a command, that of the command",
            "--version": "tell the version",
        }
        lines.append(listing("options", [f"{name:{width}}  {text}" for name, text in options.items()]))
        lines.append(listing("examples", self.examples))
        lines.append("\nThe README and the pages in docs/ of the project tell more.\n")
        return "".join(lines)


def make_parser() -> Commands:
    """Make the command line."""
    groups: dict[str, Sequence[Callable[[Any], None]]] = {
        "play and watch": (play.add, watch.add, replay.add),
        "judge": (evaluate.add, arena.add, solve.add),
        "look up": (games.add, policies.add, info.add, bench.add),
        "set up": (completion.add,),
    }
    parser = Commands(
        prog="spirits",
        description="Environments for board games about spirits: play, watch, judge who plays.",
        examples=(
            f"spirits play --against {EXAMPLE}",
            f"spirits watch greedy {EXAMPLE}",
            "spirits evaluate greedy --against random --games 200",
            "spirits arena random greedy search:100 --html arena.html",
            f"spirits info {EXAMPLE}",
        ),
    )
    parser.add_argument("--version", action="version", version=f"spirits_env {__version__}")
    for head, adders in groups.items():
        parser.begin(head)
        for add in adders:
            add(parser)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: Words after `spirits`; None takes the process's own.

    Returns:
        The exit code.
    """
    try:
        try:
            return _run(arguments)
        finally:
            # A reader that has gone is noticed here, where it can be dealt with, and not when the process ends.
            sys.stdout.flush()
    except BrokenPipeError:
        # What Python still holds for the reader goes nowhere, instead of failing once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _CUT_OFF
    except KeyboardInterrupt:
        print("\nspirits: stopped.", file=sys.stderr)
        return arena.INTERRUPTED
    except (ValueError, ImportError, OSError) as error:
        print(f"spirits: {' '.join(str(error).split())}", file=sys.stderr)
        return WRONG


def _run(arguments: Sequence[str] | None) -> int:
    """Parse the words and run the command that they name; none asks for the help."""
    parser = make_parser()
    parsed = parser.parse_args(arguments)
    if parsed.command is None:
        parser.print_help()
        return OK
    code: int = parsed.run(parsed)
    return code
