"""What all commands share: exit codes, one-line errors, options of a game, tables.

Tables are in boxes for people and plain Markdown for pipes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from spirits_env import games
from spirits_env.arena import Result, to_markdown, to_rich
from spirits_env.arena.tables import Table, markdown

OK, ILLEGAL, WRONG = 0, 1, 2


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Leave with one line and code 2."""
        self.exit(WRONG, f"{self.prog}: {message} (see {self.prog} --help)\n")


def option(text: str) -> tuple[str, Any]:
    """Read `name=value`; true, false and whole numbers are taken as such."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is no option; write name=value, for example reward=margin")
    known: dict[str, Any] = {"true": True, "false": False}
    if value.lower() in known:
        return name, known[value.lower()]
    return name, int(value) if value.lstrip("-").isdigit() else value


def add_setting(parser: argparse.ArgumentParser) -> None:
    """Add what says which games are played."""
    parser.add_argument("--game", default=games.DEFAULT, help="name of the game (default: %(default)s)")
    parser.add_argument("--players", type=int, default=2, help="players at the table (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="names the deals (default: %(default)s)")
    parser.add_argument(
        "--option",
        type=option,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the game; may be repeated",
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


def show_results(results: Sequence[Result]) -> None:
    """Print the tables of evaluations of one setting.

    Raises:
        ImportError: If boxes are due and rich is not installed.
    """
    if not sys.stdout.isatty():
        print(to_markdown(results), end="")
        return
    tables = to_rich(results)
    from rich.console import Console

    console = Console()
    for table in tables:
        console.print(table)


def show_table(table: Table) -> None:
    """Print a table of words and figures.

    Raises:
        ImportError: If boxes are due and rich is not installed.
    """
    if not sys.stdout.isatty():
        print(markdown(table))
        return
    try:
        from rich.console import Console
        from rich.table import Table as RichTable
    except ImportError:
        raise ImportError(
            'Tables in the terminal need rich, which is not installed; run `pip install "spirits-env[policy]"`.'
        ) from None
    box = RichTable()
    for number, column in enumerate(table.columns):
        box.add_column(column, justify="left" if number < table.labels else "right", overflow="fold")
    for row in table.rows:
        box.add_row(*row)
    Console(markup=False).print(box)
