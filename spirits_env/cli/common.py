"""What all commands share: exit codes, one-line errors, help with examples, options of a game, tables.

Tables are in boxes for people and plain Markdown for pipes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

from spirits_env import games
from spirits_env.arena import Result, to_markdown, to_rich
from spirits_env.arena.tables import Table, markdown

OK, ILLEGAL, WRONG = 0, 1, 2
# What examples name beside `policies.EXAMPLE`: another game than the default.
OTHER_GAME = list(games.GAMES)[-1]


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line that names what was probably meant, and whose help has examples.

    Attributes:
        examples: Command lines that the help ends with.
        summary: What the command does, in the few words that a list of commands has for it.
    """

    def __init__(self, *, examples: Sequence[str] = (), summary: str = "", **settings: Any) -> None:
        super().__init__(**settings)
        self.examples = tuple(examples)
        self.summary = summary

    def format_help(self) -> str:
        """Write the help."""
        return super().format_help() + listing("examples", self.examples)

    def error(self, message: str) -> NoReturn:
        """Leave with one line and code 2."""
        self.exit(WRONG, f"{self.prog}: {' '.join(message.split())} (see {self.prog} --help)\n")

    def parse_known_args(self, *arguments: Any, **named: Any) -> Any:
        """Parse, and leave with one line and code 2 if a word is left over: here each command refuses its own."""
        namespace, rest = super().parse_known_args(*arguments, **named)
        for word in rest:
            if word.startswith("-"):
                word = word.partition("=")[0]
                self.error(f"there is no option {word}{meant(word, self._option_string_actions)}")
        if rest:
            self.error(f"there is no place for {rest[0]!r}")
        return namespace, rest

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse what is none of an argument's choices."""
        if action.choices is None or value in action.choices:
            return
        known = [str(choice) for choice in action.choices]
        likely = meant(str(value), known)
        if action.dest == "command":
            self.error(f"there is no command {str(value)!r}{likely}")
        raise argparse.ArgumentError(action, f"there is no {str(value)!r}{likely or f'; give {join(known)}'}")


def join(words: Sequence[str]) -> str:
    """Write a choice among words."""
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last


def meant(word: str, known: Iterable[str]) -> str:
    """Ask whether the closest of the known words was meant; nothing where none is close."""
    close = get_close_matches(word, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""


def listing(head: str, lines: Sequence[str]) -> str:
    """Write a part of a help text; nothing where there are no lines."""
    return "".join(["\n", f"{head}:\n", *(f"  {line}\n" for line in lines)]) if lines else ""


def option(text: str) -> tuple[str, Any]:
    """Read `name=value`; true, false and whole numbers are taken as such."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is no option; write name=value, for example reward=margin")
    known: dict[str, Any] = {"true": True, "false": False}
    if value.lower() in known:
        return name, known[value.lower()]
    return name, int(value) if value.lstrip("-").isdigit() else value


def add_setting(parser: argparse.ArgumentParser, players: int | None = 2, seed: int | None = 1) -> None:
    """Add what says which games are played.

    Args:
        parser: Where to.
        players: Their number where none is given; None for one for each agent.
        seed: The seed where none is given; None for one that is drawn.
    """
    counted = "one for each agent" if players is None else "%(default)s"
    drawn = "one that is drawn" if seed is None else "%(default)s"
    parser.add_argument("--game", default=games.DEFAULT, help="name of the game (default: %(default)s)")
    parser.add_argument("--players", type=int, default=players, help=f"players at the table (default: {counted})")
    parser.add_argument("--seed", type=int, default=seed, help=f"names the deals (default: {drawn})")
    parser.add_argument(
        "--option",
        type=option,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help='an option of the game ("spirits games GAME" lists them); may be repeated',
    )


def check_files(*paths: Path | None) -> None:
    """Refuse files whose folder is missing, and folders in the place of files, before anything is played.

    Raises:
        ValueError: If one of those that were given can't be written.
    """
    for path in paths:
        if path is not None and not path.absolute().parent.is_dir():
            raise ValueError(f"The folder of {path} does not exist; make it first.")
        if path is not None and path.is_dir():
            raise ValueError(f"{path} is a folder; give the name of a file.")


def check_seat(seat: int | None, players: int) -> None:
    """Refuse the view of a seat where nobody plays.

    Raises:
        ValueError: If it is neither None nor a seat of the table.
    """
    if seat is not None and not 0 <= seat < players:
        raise ValueError(f"--seat was {seat}; give 0 to {players - 1}.")


def show_json(value: Any) -> None:
    """Print plain data for machines."""
    print(json.dumps(value, indent=2))


def show_results(results: Sequence[Result]) -> None:
    """Print the tables of evaluations of one setting; where rich is not installed, people get Markdown too."""
    try:
        tables = to_rich(results) if sys.stdout.isatty() else []
    except ImportError:
        tables = []
    if not tables:
        print(to_markdown(results), end="")
        return
    from rich.console import Console

    console = Console()
    for table in tables:
        console.print(table)


def show_table(table: Table) -> None:
    """Print a table of words and figures; where rich is not installed, people get Markdown too."""
    try:
        from rich.console import Console
        from rich.table import Table as RichTable
    except ImportError:
        boxes = False
    else:
        boxes = sys.stdout.isatty()
    if not boxes:
        print(markdown(table))
        return
    box = RichTable()
    for number, column in enumerate(table.columns):
        box.add_column(column, justify="left" if number < table.labels else "right", overflow="fold")
    for row in table.rows:
        box.add_row(*row)
    Console(markup=False).print(box)
