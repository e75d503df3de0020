"""`spirits games` and `spirits actions`: the games, what can be set in each, and what can be done in it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from spirits_env import env_id, games
from spirits_env.arena.tables import Table
from spirits_env.cli.common import OK, show_table
from spirits_env.game import Game


def add(commands: Any) -> None:
    """Add the commands."""
    listing = commands.add_parser(
        "games",
        help="list the games, or tell all of one",
        description="List the games with their ids and options, or tell what there is to know of one: ids, players, "
        "options, phases, and the sizes of its actions and its observation.",
        examples=("spirits games", f"spirits games {games.DEFAULT}"),
    )
    listing.add_argument("game", nargs="?", metavar="GAME", help="a name of the list; the list if left out")
    listing.set_defaults(run=_games)
    actions = commands.add_parser(
        "actions",
        help="show a game's action table",
        description="Show the id of every action of a game, its name, and what it does.",
        examples=("spirits actions", f"spirits actions --game {games.DEFAULT}"),
    )
    actions.add_argument("--game", default=games.DEFAULT, help="name of the game (default: %(default)s)")
    actions.set_defaults(run=_actions)


def _games(arguments: argparse.Namespace) -> int:
    """Run `spirits games`."""
    if arguments.game is not None:
        return _tell(games.load(arguments.game))
    columns = ("game", "title", "players", "version", "ids", "options")
    listed = [games.load(name) for name in games.GAMES]
    rows = [
        (
            game.name,
            game.title,
            _range(game.players),
            str(game.version),
            ", ".join(_ids(game)),
            ", ".join(option.name for option in game.options),
        )
        for game in listed
    ]
    show_table(Table(columns, tuple(rows), len(columns)))
    remarks = [f"{game.name}: {remark}" for game in listed for remark in game.remarks(game.check_options({}))]
    if remarks:
        print("", *remarks, sep="\n")
    return OK


def _tell(game: Game) -> int:
    """Tell all of one game."""
    facts = (
        ("name", game.name),
        ("players", _range(game.players)),
        ("rules version", str(game.version)),
        ("Gymnasium ids", ", ".join(_ids(game))),
        ("PettingZoo", f"from spirits_env import {game.name}_v{game.version}"),
        ("actions", f"{len(game.actions)}, listed by spirits actions --game {game.name}"),
        ("phases", ", ".join(game.phases)),
        ("observation", f"{game.layout.size} entries in {len(game.layout.slices)} named parts, int8"),
        ("points are counted for", ", ".join(game.categories)),
        ("most decisions in a game", f"{game.max_plies:,}"),
        *(("results", remark) for remark in game.remarks(game.check_options({}))),
    )
    show_table(Table((game.title, ""), facts, 2))
    print()
    options = tuple(
        (
            option.name,
            ", ".join(_written(choice) for choice in option.choices),
            _written(option.default),
            option.text,
        )
        for option in game.options
    )
    show_table(Table(("option", "values", "default", "what it changes"), options, 4))
    return OK


def _written(value: Any) -> str:
    """Write a value of an option as `--option` takes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _range(counts: Sequence[int]) -> str:
    """Write player counts, in their order."""
    first, last = counts[0], counts[-1]
    whole = last > first and tuple(counts) == tuple(range(first, last + 1))
    return f"{first} to {last}" if whole else ", ".join(map(str, counts))


def _ids(game: Game) -> list[str]:
    """The ids of a game's environments."""
    return [env_id(game.name, name) for name in games.GAMES[game.name].ids]


def _actions(arguments: argparse.Namespace) -> int:
    """Run `spirits actions`."""
    for action in games.load(arguments.game).actions:
        print(f"{action.id:3d}  {action.name:18s}  {action.sentence}")
    return OK
