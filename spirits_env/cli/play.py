"""`spirits play`: a person against agents, on a local web page."""

from __future__ import annotations

import argparse
import os
import socket
import sys
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from spirits_env import games, record
from spirits_env.cli.common import OK, add_setting
from spirits_env.play.table import RANDOM, Table, default_against
from spirits_env.policies import EXAMPLE

if TYPE_CHECKING:
    from spirits_env.play.server import Settings


def add(commands: Any) -> None:
    """Add `spirits play`."""
    parser = commands.add_parser(
        "play",
        help="play against agents in the browser",
        description="Play against agents on a local web page: legal choices light up, with undo, hints and a policy's "
        "advice. Ctrl-C ends it.",
        examples=(
            "spirits play",
            f"spirits play --game {games.DEFAULT} --players 3 --against {EXAMPLE} search:400 --seat random",
            "spirits play --load game.json --against greedy",
        ),
    )
    parser.add_argument(
        "--against",
        nargs="+",
        default=None,
        metavar="AGENT",
        help="the other players in turn order after you, repeated if they are too few: names as for spirits evaluate "
        "(default: the policy that comes with the package where it can play, else greedy)",
    )
    parser.add_argument("--seat", type=_seat, default=0, help='your seat, or "random" (default: %(default)s)')
    add_setting(parser, seed=None)
    parser.add_argument(
        "--load", type=Path, default=None, metavar="RECORD.json", help="go on with a recorded game instead"
    )
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path("runs/play"),
        metavar="DIR",
        help="where saved games lie (default: %(default)s)",
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to serve (default: %(default)s)")
    parser.add_argument("--port", type=int, default=8000, help="0 takes any free one (default: %(default)s)")
    parser.add_argument("--no-browser", action="store_true", help="don't open the browser")
    parser.set_defaults(run=run)


def _seat(text: str) -> int | str:
    """Read a seat."""
    if text != RANDOM and not text.isdecimal():
        raise argparse.ArgumentTypeError(f'{text!r} is no seat; give its number, or "{RANDOM}"')
    return text if text == RANDOM else int(text)


def run(arguments: argparse.Namespace) -> int:
    """Run `spirits play`."""
    try:
        from spirits_env.play.server import App, is_everywhere, is_loopback, serve
    except ImportError:
        raise ImportError(
            'Playing in the browser needs starlette and uvicorn; run `pip install "spirits-env[play]"`.'
        ) from None
    settings, table = _prepare(arguments)
    app = App(settings)
    with _listen(arguments.host, arguments.port) as listener:
        app.tables.add(table)
        port = listener.getsockname()[1]
        address = _address("localhost" if is_everywhere(arguments.host) else arguments.host, port)
        if not is_loopback(arguments.host):
            print(f"spirits: whoever can reach port {port} of this machine can play there too", file=sys.stderr)
        print(f"Play at {address} (Ctrl-C ends it)", flush=True)
        if not arguments.no_browser:
            _open_browser(address)
        serve(app, listener)
    return OK


def _prepare(arguments: argparse.Namespace) -> tuple[Settings, Table]:
    """Judge all that was said, and set up the first table."""
    from spirits_env.play.server import Settings

    if arguments.folder.exists() and not arguments.folder.is_dir():
        raise ValueError(f"--folder was {arguments.folder}, which is a file; give a folder, which need not exist yet.")
    content = None
    if arguments.load is None:
        game, players = arguments.game, games.load(arguments.game).check_players(arguments.players)
        options = games.load(game).check_options(dict(arguments.option))
    elif arguments.seed is not None or arguments.option:
        raise ValueError("--load goes on with a game as it was dealt; leave out --seed and --option.")
    else:
        content = record.write(record.load(arguments.load))
        game, players, options = content["game"], content["players"], content["options"]
    against = default_against(game, players) if arguments.against is None else arguments.against
    if content is None:
        table = Table.deal(game, players, arguments.seat, against, options, arguments.seed)
    else:
        table = Table.load(content, arguments.seat, against)
    settings = Settings(
        game=game,
        players=players,
        seat=arguments.seat,
        against=tuple(against),
        options=options,
        folder=arguments.folder,
        host=arguments.host,
    )
    return settings, table


def _listen(host: str, port: int) -> socket.socket:
    """Take an address.

    Raises:
        ValueError: If it can't be had.
    """
    if not 0 <= port <= 65535:
        raise ValueError(f"--port was {port}; give 0 to 65535.")
    try:
        family, *_, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return socket.create_server(place[:2], family=family)
    except OSError as error:
        # What the library adds to the system's words says nothing new; names that lead nowhere have no errno.
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else "no such address"
        raise ValueError(
            f"{host} port {port} can't be served ({reason}); give another --port, 0 for any that is free, or another "
            "--host."
        ) from None


def _address(host: str, port: int) -> str:
    """Return what to type into a browser."""
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def _open_browser(address: str) -> None:
    """Open the browser; on a thread, since some browsers come back only when they are closed."""
    import webbrowser

    Thread(target=webbrowser.open, args=(address,), daemon=True).start()
