"""The web server behind the page of `spirits play`; everything is JSON, and tables keep what must stay hidden.

GET  /                          the page; its files under /static
GET  /api/setup                 games, agents, and what the command line says
GET  /api/tables                tables, the newest first; POST opens one and gives its view
GET  /api/tables/ID             the view; with ?after=REVISION&wait=SECONDS once it is another one
POST /api/tables/ID/play        {revision, action}, gives the view; /undo takes {revision}
GET  /api/tables/ID/board       with ?ply=N the position after N decisions as {svg, text}
GET  /api/tables/ID/hint        what an agent would do; /advice what a policy thinks
POST /api/tables/ID/save        {name?}, writes a record to the server's disk; GET /record gives it after the end
GET  /api/records               saved games; POST /api/records/load {file, seat?, against?} opens a table
GET  /healthz                   {ok: true}

What is wrong with a request is said in {error: sentence} under a status from 400 to 499, and nothing has changed.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from socket import socket
from threading import Thread
from threading import enumerate as enumerate_threads
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from spirits_env import __version__, games, policies
from spirits_env.agents import BUILT_IN, SEARCH
from spirits_env.game import Game, check_keys, is_list, is_whole, shown
from spirits_env.play.table import (
    MOST_BYTES,
    Folder,
    Missing,
    Refused,
    Table,
    Tables,
    default_against,
    policies_for,
)
from spirits_env.policies import EXAMPLE

STATIC = Path(__file__).parent / "static"
LONGEST_WAIT = 25
LONGEST_LINE = 2000
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
}
# Offered by the page; others of their kind can be named as well.
OFFERED = ("random", "greedy", "search:100", "search:400", "search:1600")
GUIDED = "+search:64"
_OWN_NAMES = ("localhost", "127.0.0.1", "::1")

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Settings:
    """What the command line says.

    Attributes:
        game: Name of the game that the page offers first.
        players: Likewise.
        seat: The person's seat, or "random".
        against: The other players.
        options: The game's options, checked.
        folder: Where games are saved.
        host: The name or address that is served. At one that others can reach, no files of policies can be named but
            those of `against`.
    """

    game: str = games.DEFAULT
    players: int = 2
    seat: int | str = 0
    against: Sequence[str] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    folder: Path = Path("runs/play")
    host: str = "127.0.0.1"


class Problem(Exception):
    """A request that can't be answered.

    Attributes:
        status: The HTTP status.
        sentence: What is wrong.
    """

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence


class Call(NamedTuple):
    """A request: the words of its path, its query and its JSON body."""

    path: Mapping[str, Any]
    query: Mapping[str, str]
    body: dict[str, Any]


class Answer(NamedTuple):
    """An answer: HTTP status, JSON and further headers."""

    status: int
    content: Any
    headers: Mapping[str, str] = {}


Handler = Callable[[Call], Answer]


class Api:
    """Answers requests; knows no web beyond their words.

    Attributes:
        settings: What the command line says.
        tables: The tables.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.tables = Tables(Folder(settings.folder))

    def answer(self, handler: Handler, names: Sequence[str], call: Call) -> Answer:
        """Answer a request, whatever it is.

        Args:
            handler: What answers it if all is well.
            names: What its query may have.
            call: The request.
        """
        try:
            _check_query(call, names)
            return self._ask(handler, call)
        except Missing as missing:
            return Answer(404, {"error": _line(missing)})
        except (ValueError, ImportError) as error:
            return Answer(422, {"error": _line(error)})
        except OSError as error:
            return Answer(
                500, {"error": f"The server's disk does not do this ({error.strerror or 'no reason given'})."}
            )
        except Exception:
            _LOG.exception("An answer failed")
            return Answer(500, {"error": "The server made a mistake of its own; its terminal tells more."})

    def _ask(self, handler: Handler, call: Call) -> Answer:
        """Answer a request; what a table refuses comes with its view."""
        try:
            return handler(call)
        except Refused as refused:
            name = call.path["id"]
            return Answer(409, {"error": _line(refused), "view": self._view(name, self.tables.find(name)).content})

    def health(self, call: Call) -> Answer:
        """Say that the server is there."""
        return Answer(200, {"ok": True})

    def setup(self, call: Call) -> Answer:
        """Tell what can be played."""
        settings = self.settings
        known = [name for game in games.GAMES for name in policies_for(game)]
        agents = [*OFFERED, *known, *(name + GUIDED for name in known)]
        content = {
            "version": __version__,
            "games": [_describe(games.load(name)) for name in games.GAMES],
            "agents": [*agents, *(name for name in dict.fromkeys(settings.against) if name not in agents)],
            "defaults": {
                "game": settings.game,
                "players": settings.players,
                "seat": settings.seat,
                "against": list(settings.against),
                "options": dict(settings.options),
            },
        }
        return Answer(200, content)

    def list_tables(self, call: Call) -> Answer:
        """List the tables."""
        return Answer(200, {"tables": self.tables.listing()})

    def open_table(self, call: Call) -> Answer:
        """Open a table for a new game or an uploaded record."""
        body = call.body
        sources = ("seed", "setup", "record")
        if "record" in body:
            check_keys(body, "request", ("seat", "against", "record"), ("game", "players", "options", *sources[:2]))
        else:
            check_keys(body, "request", ("game", "players", "seat", "against"), ("options", *sources))
        given = [name for name in sources if name in body]
        if len(given) > 1:
            raise ValueError(f"The request has {' and '.join(given)}; give one of them.")
        against = self._agents(body["against"])
        if "record" in body:
            _check_plain(body["record"])
            return self._seated(Table.load(body["record"], body["seat"], against))
        _check_plain(body)
        options, setup = body.get("options", {}), body.get("setup")
        if not isinstance(body["game"], str):
            raise ValueError(f"game was {shown(body['game'])}; give the name of a game.")
        if "setup" in body and not isinstance(setup, Mapping):
            raise ValueError(f"setup was {shown(setup)}; give a set-up as a record has it.")
        if "seed" in body and not is_whole(body["seed"]):
            raise ValueError(f"seed was {shown(body['seed'])}; give a whole number, or leave it out.")
        seed = body.get("seed")
        return self._seated(Table.deal(body["game"], body["players"], body["seat"], against, options, seed, setup))

    def load_record(self, call: Call) -> Answer:
        """Open a table for a saved game."""
        check_keys(call.body, "request", ("file",), ("seat", "against"))
        content = self.tables.folder.load(call.body["file"])
        seat = call.body.get("seat", 0)
        against = self._agents(call.body["against"]) if "against" in call.body else _usual(content)
        return self._seated(Table.load(content, seat, against))

    def _seated(self, table: Table) -> Answer:
        """Answer with a table that was opened."""
        return self._view(self.tables.add(table), table, 201)

    def _agents(self, against: Any) -> list[str]:
        """Check that these are agents whom a page may name."""
        if not is_list(against):
            raise ValueError(f"against was {shown(against)}; give a list of agents, such as greedy or search:400.")
        return [self._agent(name) for name in against]

    def _agent(self, name: Any) -> str:
        """Refuse other things than names; and names of files where somebody else may ask which there are."""
        if not isinstance(name, str):
            raise ValueError(f"There is no agent {shown(name)}; give a name such as greedy, search:400 or {EXAMPLE}.")
        plain = name in BUILT_IN or name.startswith(SEARCH) or policies.is_named(name) or name in self.settings.against
        if not plain and not is_loopback(self.settings.host):
            raise ValueError(
                f"There is no agent {shown(name)} here; give random, greedy, search:400 (playouts), {EXAMPLE} or "
                "one that the server was started with."
            )
        return name

    @staticmethod
    def _view(name: str, table: Table, status: int = 200) -> Answer:
        return Answer(status, {"id": name, **table.view()})

    def show(self, call: Call) -> Answer:
        """Show a table, at once or when it has changed."""
        table = self.tables.find(call.path["id"])
        if "wait" in call.query and "after" not in call.query:
            raise ValueError("wait was given without after; give the revision that you know as after.")
        if "after" in call.query:
            table.wait(_whole(call.query["after"], "after"), _seconds(call.query.get("wait", "0")))
        return self._view(call.path["id"], table)

    def board(self, call: Call) -> Answer:
        """Show an earlier position, for a page that shows one decision after the other."""
        table = self.tables.find(call.path["id"])
        return Answer(200, table.board(_whole(call.query.get("ply", ""), "ply")))

    def play(self, call: Call) -> Answer:
        """Play a decision of the person."""
        check_keys(call.body, "request", ("revision", "action"))
        table = self.tables.find(call.path["id"])
        table.play(call.body["action"], _revision(call))
        return self._view(call.path["id"], table)

    def undo(self, call: Call) -> Answer:
        """Take back the person's last decision."""
        check_keys(call.body, "request", ("revision",))
        table = self.tables.find(call.path["id"])
        table.undo(_revision(call))
        return self._view(call.path["id"], table)

    def hint(self, call: Call) -> Answer:
        """Tell what an agent would do."""
        table = self.tables.find(call.path["id"])
        agent = self._agent(call.query["agent"]) if "agent" in call.query else None
        return Answer(200, table.hint(agent)._asdict())

    def advice(self, call: Call) -> Answer:
        """Tell what a policy thinks."""
        table = self.tables.find(call.path["id"])
        policy = self._agent(call.query["policy"]) if "policy" in call.query else None
        advice = table.advice(policy)
        actions = [{"action": action, "probability": share} for action, share in advice.probabilities.items()]
        content = {
            "policy": advice.policy,
            "value": advice.value,
            "actions": actions,
            "revision": advice.revision,
        }
        return Answer(200, content)

    def save(self, call: Call) -> Answer:
        """Save a game on the server's disk."""
        check_keys(call.body, "request", (), ("name",))
        if not isinstance(call.body.get("name", ""), str):
            raise ValueError(f"name was {shown(call.body['name'])}; give a text, or leave it out.")
        table = self.tables.find(call.path["id"])
        return Answer(200, {"file": self.tables.folder.save(table.record(), call.body.get("name"))})

    def list_records(self, call: Call) -> Answer:
        """List the saved games."""
        return Answer(200, {"records": self.tables.folder.listing()})

    def give_record(self, call: Call) -> Answer:
        """Give the record of a game that is over."""
        table = self.tables.find(call.path["id"])
        content = table.record()
        if not content["scores"]:
            raise Refused("The record tells what is hidden, so it can be had after the end; save the game instead.")
        name = f"{content['game']}-{content['players']}-players.json"
        return Answer(200, content, {"Content-Disposition": f'attachment; filename="{name}"'})


def _describe(game: Game) -> dict[str, Any]:
    """Tell of a game what the page must know to offer it."""
    return {
        "name": game.name,
        "title": game.title,
        "players": list(game.players),
        "options": [
            {"name": option.name, "choices": list(option.choices), "default": option.default, "text": option.text}
            for option in game.options
        ],
        "policies": policies_for(game.name),
    }


def _usual(content: Any) -> list[str]:
    """Return who plays on in a record by default; one that is none is refused by the table."""
    game, players = (content.get(key) if isinstance(content, Mapping) else None for key in ("game", "players"))
    return default_against(game, players) if isinstance(game, str) and isinstance(players, int) else []


def _check_plain(content: Any) -> None:
    """Refuse options that name files: who asks may see which there are. All else is checked by the game."""
    if not isinstance(content, Mapping):
        return
    game, options = content.get("game"), content.get("options", {})
    if not isinstance(options, Mapping):
        raise ValueError(f"options was {shown(options)}; give a dict from names to values.")
    if not isinstance(game, str) or not options:
        return
    for option in games.load(game).options:
        value = options.get(option.name)
        if isinstance(value, str) and value not in option.choices:
            allowed = ", ".join(shown(choice) for choice in option.choices)
            raise ValueError(f"Option {option.name!r} was {shown(value)}; give one of {allowed}.")


def _check_query(call: Call, names: Sequence[str]) -> None:
    """Refuse what the query should not have."""
    for name in call.query:
        if name not in names:
            raise ValueError(f"The query has {shown(name)}; it may have {', '.join(names) or 'nothing'}.")


def _whole(text: str, name: str) -> int:
    """Read a whole number of a query."""
    if not re.fullmatch(r"[0-9]{1,15}", text):
        raise ValueError(f"{name} was {shown(text)}; give a whole number.")
    return int(text)


def _seconds(text: str) -> float:
    """Read how long somebody would wait."""
    if not re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,6})?", text) or float(text) > LONGEST_WAIT:
        raise ValueError(f"wait was {shown(text)}; give seconds from 0 to {LONGEST_WAIT}.")
    return float(text)


def _revision(call: Call) -> int:
    """Read the revision that a change is meant for."""
    revision = call.body["revision"]
    if not is_whole(revision):
        raise ValueError(f"revision was {shown(revision)}; give the whole number of the view you have.")
    return int(revision)


# --- the web ----------------------------------------------------------------------------------------------


class App:
    """The ASGI application: guards the server against other pages, and adds its headers to every answer.

    Attributes:
        tables: The tables.
    """

    def __init__(self, settings: Settings) -> None:
        """Make the application.

        Args:
            settings: What the command line says.
        """
        api = Api(settings)
        self.tables = api.tables
        # Where all addresses of the machine are served, nobody knows all of its names.
        self._hosts = None if is_everywhere(settings.host) else {settings.host.lower(), *_OWN_NAMES}
        self._inner: ASGIApp = _make_routes(api)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return

        async def send_on(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        problem = self._judge(scope["method"], Headers(scope=scope))
        inner = self._inner if problem is None else _respond(problem.status, {"error": problem.sentence})
        await inner(scope, receive, send_on)

    def _judge(self, method: str, headers: Headers) -> Problem | None:
        """Say what is wrong with where a request comes from."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if self._hosts is not None and _name_of(host) not in self._hosts:
            return Problem(403, "This server answers under its own name alone; open the address that it printed.")
        if origin is not None and origin.lower() not in (f"http://{host.lower()}", f"https://{host.lower()}"):
            return Problem(403, "Other pages may not ask this server; open the address that it printed.")
        kind = headers.get("content-type", "").split(";")[0].strip().lower()
        if method == "POST" and kind != "application/json":
            return Problem(415, "What is posted here must be JSON; send it with Content-Type: application/json.")
        return None


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def is_everywhere(host: str) -> bool:
    """Tell whether an address stands for all that the machine has, such as 0.0.0.0."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def _name_of(host: str) -> str:
    """Take the name out of a Host header: without its port and the brackets of an IPv6 address."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _respond(status: int, content: Any, headers: Mapping[str, str] | None = None) -> Response:
    """Make an answer of JSON; in ASCII, since texts from outside may not be Unicode in full."""
    text = json.dumps(content, allow_nan=False)
    return Response(text, status, headers, "application/json")


def _make_routes(api: Api) -> Starlette:
    """Bind addresses to what answers them."""
    table = "/api/tables/{id}"
    routes = [
        Route("/", _page),
        Mount("/static", StaticFiles(directory=STATIC, check_dir=False)),
        _route(api, "/healthz", get=api.health),
        _route(api, "/api/setup", get=api.setup),
        _route(api, "/api/tables", get=api.list_tables, post=api.open_table),
        _route(api, "/api/records", get=api.list_records),
        _route(api, "/api/records/load", post=api.load_record),
        _route(api, table, get=api.show, query=("after", "wait")),
        _route(api, f"{table}/play", post=api.play),
        _route(api, f"{table}/undo", post=api.undo),
        _route(api, f"{table}/board", get=api.board, query=("ply",)),
        _route(api, f"{table}/hint", get=api.hint, query=("agent",)),
        _route(api, f"{table}/advice", get=api.advice, query=("policy",)),
        _route(api, f"{table}/save", post=api.save),
        _route(api, f"{table}/record", get=api.give_record),
    ]

    async def failed(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        sentence = {404: "There is nothing at this address.", 405: "This address takes other methods alone."}
        return _respond(error.status_code, {"error": sentence.get(error.status_code, error.detail)}, error.headers)

    return Starlette(routes=routes, exception_handlers={HTTPException: failed})


async def _page(request: Request) -> Response:
    """Give the page."""
    return Response((STATIC / "index.html").read_bytes(), media_type="text/html")


def _route(
    api: Api, path: str, get: Handler | None = None, post: Handler | None = None, query: Sequence[str] = ()
) -> Route:
    """Bind an address to one handler per method, and tell what its query may have."""
    handlers = {method: handler for method, handler in (("GET", get), ("POST", post)) if handler}

    async def answer(request: Request) -> Response:
        handler = handlers["GET" if request.method == "HEAD" else request.method]
        try:
            body = await _read_body(request) if request.method == "POST" else {}
        except Problem as problem:
            return _respond(problem.status, {"error": problem.sentence})
        call = Call(request.path_params, dict(request.query_params), body)
        return _respond(*await _in_thread(partial(api.answer, handler, query, call)))

    return Route(path, answer, methods=list(handlers))


async def _read_body(request: Request) -> dict[str, Any]:
    """Read the JSON of a request.

    Raises:
        Problem: If it is too large, or no JSON object.
    """
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BYTES:
            raise Problem(413, f"The request has more than {MOST_BYTES} bytes; no game needs so many.")
    try:
        content = json.loads(body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise Problem(400, "The request is no JSON; send a JSON object.") from None
    if not isinstance(content, dict):
        raise Problem(400, f"The request is a JSON {type(content).__name__}; send a JSON object.")
    return content


def _refuse_constant(text: str) -> float:
    """Refuse NaN and Infinity, which are no JSON."""
    raise ValueError(text)


def _line(error: Exception) -> str:
    """Return what an error says, on one line of bearable length: it may quote the request."""
    line = " ".join(str(error).split())
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]} ..."


async def _in_thread(work: Callable[[], Answer]) -> Answer:
    """Work on a daemon thread, so that a search or a wait never holds up the end of the server."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Answer] = loop.create_future()

    def settle(answer: Answer) -> None:
        if not done.done():
            done.set_result(answer)

    def run() -> None:
        answer = work()
        # Without a loop nobody waits any more.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, answer)

    Thread(target=run, name="an answer", daemon=True).start()
    return await done


class _Server(uvicorn.Server):
    """A server that wakes up who waits for a table before it ends, and saves the games.

    Attributes:
        saved: Files of the games that were not over.
    """

    def __init__(self, config: uvicorn.Config, tables: Tables) -> None:
        super().__init__(config)
        self._tables = tables
        self.saved: list[str] = []

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        """Wake them up, then end as any server does."""
        self.saved = self._tables.close()
        await super().shutdown(sockets)


def serve(app: App, listener: socket) -> None:
    """Serve on a socket that listens, until Ctrl-C; it ends the process with code 0 if agents still think then.

    Args:
        app: The application.
        listener: The socket.
    """
    config = uvicorn.Config(
        app,
        lifespan="off",
        ws="none",
        # Faults are logged where they happen; uvicorn would only add what it says when it is stopped.
        log_level="critical",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    server = _Server(config, app.tables)
    # Ctrl-C is how people end it.
    with suppress(KeyboardInterrupt):
        server.run([listener])
    for file in server.saved:
        print(f"Saved {app.tables.folder.path / file}; spirits play --load goes on with it")
    if any(thread.daemon for thread in enumerate_threads()):
        # Python would end these threads on its way out, and one inside a compiled library takes the process down.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
