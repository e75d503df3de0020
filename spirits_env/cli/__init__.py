"""The `spirits` command: judge agents, list games, actions and policies, read policy files, replay records.

Errors are one line on the standard error stream: exit code 2; illegal choices in an evaluation: exit code 1.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from spirits_env import games, record
from spirits_env.cli import arena, evaluate, policies, solve
from spirits_env.cli.common import OK, WRONG, Parser


def make_parser() -> argparse.ArgumentParser:
    """Make the command line."""
    parser = Parser(prog="spirits", description="Environments for board games about spirits.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    evaluate.add(commands)
    arena.add(commands)
    solve.add(commands)
    policies.add(commands)
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
