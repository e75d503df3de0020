"""What all commands share: exit codes, one-line errors, options of a game."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NoReturn

from spirits_env import games

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
