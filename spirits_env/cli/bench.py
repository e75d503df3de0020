"""`spirits bench`: how fast the package is on this machine, in a few seconds."""

from __future__ import annotations

import argparse
import math
import sys
from typing import Any

from spirits_env import games
from spirits_env.arena.tables import Table
from spirits_env.cli.common import OK, OTHER_GAME, show_json, show_table

_ROUNDS = 5


def add(commands: Any) -> None:
    """Add `spirits bench`."""
    parser = commands.add_parser(
        "bench",
        help="measure how fast the package is here",
        description="Measure decisions per second of CPU time on this machine: batches, bare rules, every kind of "
        f"environment, a trained policy. Each figure is the median of {_ROUNDS} rounds, in which all take turns, with "
        "the lowest and the highest in brackets. On a machine that has not played the game before, its rules are "
        "compiled first.",
        examples=("spirits bench", f"spirits bench --game {OTHER_GAME} --seconds 10"),
    )
    parser.add_argument("--game", default=games.DEFAULT, help="name of the game (default: %(default)s)")
    parser.add_argument("--players", type=int, default=2, help="players at the table, 2 or more (default: %(default)s)")
    parser.add_argument(
        "--seconds", type=float, default=3.0, help="time for measuring, all figures together (default: %(default)g)"
    )
    parser.add_argument("--json", action="store_true", help="print all samples as JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run `spirits bench`."""
    game = games.load(arguments.game)
    players = game.check_players(arguments.players)
    if players == 1:
        raise ValueError("--players was 1; give 2 or more, since solitaire has no environment for many agents.")
    if not 0 <= arguments.seconds < math.inf:
        raise ValueError(f"--seconds was {arguments.seconds:g}; give a number of seconds, 0 or more.")
    from spirits_env.bench import first_look, processor, rates, say, spread

    cases = first_look(game.name, players)
    skipped: list[str] = []
    window = arguments.seconds / (_ROUNDS * len(cases))
    figures = rates(cases, _ROUNDS, window, skipped, say if sys.stderr.isatty() else _keep_quiet)
    if arguments.json:
        show_json({"processor": processor(), "figures": [figure.summary() for figure in figures], "skipped": skipped})
        return OK
    rows = tuple((figure.text, spread(figure, "cpu"), figure.unit) for figure in figures)
    show_table(Table((f"{game.title}, {players} players", "rate", "of"), rows, 1))
    print(
        "", f"Measured on {processor()}, per second of CPU time.", *(f"Left out: {line}" for line in skipped), sep="\n"
    )
    return OK


def _keep_quiet(text: str) -> None:
    """Say nothing of what is going on."""
