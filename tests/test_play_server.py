"""The server of `spirits play`: every address, every malformed request, and the command itself."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from http.client import HTTPConnection
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import httpx
import pytest

from spirits_env import __version__, games, record
from spirits_env.agents import BUILT_IN, GreedyAgent
from spirits_env.cli import main
from spirits_env.play import server
from spirits_env.play.server import App, Settings
from spirits_env.state import State

BASE = "http://127.0.0.1:8000"
ORDER = {"game": "forest", "players": 2, "seat": 0, "against": ["greedy"], "seed": 3}
PATIENCE = 60
VIEW = {
    *("id", "revision", "game", "title", "players", "seat", "against", "options", "turn", "phase", "actor", "over"),
    *("yours", "thinking", "error", "svg", "text", "choices", "can_undo", "log", "last", "scores", "winners"),
    *("explained", "returns", "seed"),
}


class Client:
    """A browser at the server; what it gets is checked for the headers that every answer has."""

    def __init__(self, app: App, base: str = BASE) -> None:
        self.app, self.base = app, base

    def request(self, method: str, address: str, **content: Any) -> httpx.Response:
        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(app=self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url=self.base, trust_env=False) as browser:
                return await browser.request(method, address, **content)

        answer = asyncio.run(ask())
        for name, value in server.HEADERS.items():
            assert answer.headers[name] == value
        return answer

    def get(self, address: str, **content: Any) -> httpx.Response:
        return self.request("GET", address, **content)

    def post(self, address: str, **content: Any) -> httpx.Response:
        return self.request("POST", address, **content)

    def view(self, name: str) -> dict[str, Any]:
        answer = self.get(f"/api/tables/{name}")
        assert answer.status_code == 200
        return answer.json()

    def open(self, **changed: Any) -> dict[str, Any]:
        answer = self.post("/api/tables", json={**ORDER, **changed})
        assert answer.status_code == 201, answer.text
        return self.settle(answer.json())

    def settle(self, view: dict[str, Any]) -> dict[str, Any]:
        """Wait for the agents."""
        while view["thinking"]:
            query = {"after": view["revision"], "wait": 25}
            view = self.get(f"/api/tables/{view['id']}", params=query).json()
        return view

    def play(self, view: dict[str, Any], choice: int = 0) -> dict[str, Any]:
        body = {"revision": view["revision"], "action": view["choices"][choice]["action"]}
        answer = self.post(f"/api/tables/{view['id']}/play", json=body)
        assert answer.status_code == 200, answer.text
        return self.settle(answer.json())

    def play_out(self, view: dict[str, Any]) -> dict[str, Any]:
        while not view["over"]:
            view = self.play(view)
        return view


def make_client(folder: Path, **settings: Any) -> Client:
    return Client(App(Settings(folder=folder, **settings)))


@pytest.fixture
def client(tmp_path: Path) -> Client:
    return make_client(tmp_path / "games")


def sentence(answer: httpx.Response, status: int) -> str:
    """What an error says: one line, one sentence, and no more than that, but for the view that comes with a 409."""
    assert answer.status_code == status, answer.text
    content = answer.json()
    assert set(content) - {"view"} == {"error"}
    text: str = content["error"]
    assert len(text) < 2100
    assert re.fullmatch(r"[A-Za-z].*\.", text), text
    assert "Traceback" not in text
    return text


@cache
def finished_record() -> dict[str, Any]:
    state = State("forest", 2, seed=8)
    while state.seat >= 0:
        state.play(state.legal_actions()[0])
    return record.write(state)


# --- every address ----------------------------------------------------------------------------------------


def test_the_page_and_its_files_are_served(client: Client) -> None:
    page = client.get("/")
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.text == (server.STATIC / "index.html").read_text(encoding="utf-8")
    files = re.findall(r'(?:href|src)="(/static/[^"]+)"', page.text)
    assert files
    for file in files:
        assert client.get(file).status_code == 200
    assert client.request("HEAD", "/").status_code == 200
    assert client.get("/healthz").json() == {"ok": True}


@pytest.mark.parametrize("path", ["/static/../server.py", "/static/%2e%2e/server.py", "/static/..%2fserver.py", "/x"])
def test_nothing_else_is_served(client: Client, path: str) -> None:
    assert sentence(client.get(path), 404) == "There is nothing at this address."


def test_the_set_up_tells_what_can_be_played(tmp_path: Path) -> None:
    settings = {"game": "wild", "seat": "random", "against": ("own.onnx",), "options": {"powers": "none"}}
    told = make_client(tmp_path, **settings).get("/api/setup").json()
    assert set(told) == {"version", "games", "agents", "defaults"}
    assert told["version"] == __version__
    assert [game["name"] for game in told["games"]] == list(games.GAMES)
    for game in told["games"]:
        rules = games.load(game["name"])
        assert set(game) == {"name", "title", "players", "options", "policies"}
        assert (game["title"], game["players"]) == (rules.title, list(rules.players))
        assert game["policies"] == [f"policy:{rules.name}"]
        for told_option, option in zip(game["options"], rules.options, strict=True):
            choices = list(option.choices)
            assert told_option == {
                "name": option.name,
                "choices": choices,
                "default": option.default,
                "text": option.text,
            }
    assert {"random", "greedy", "search:400", "policy:forest", "own.onnx"} <= set(told["agents"])
    assert len(set(told["agents"])) == len(told["agents"])
    assert told["defaults"] == {
        "game": "wild",
        "players": 2,
        "seat": "random",
        "against": ["own.onnx"],
        "options": {"powers": "none"},
    }


@pytest.mark.parametrize(("game", "players"), [("forest", 1), ("forest", 4), ("wild", 2)])
def test_a_game_is_played_over_the_web(client: Client, game: str, players: int) -> None:
    sent = []
    view = client.open(game=game, players=players, seat=players - 1, against=["random"][: players - 1], options={})
    assert set(view) == VIEW
    while not view["over"]:
        sent.append(json.dumps(view))
        view = client.play(view, -1)
    listed = client.get("/api/tables").json()["tables"]
    assert [set(line) for line in listed] == [{"id", "title", "players", "seat", "against", "turn", "over"}]
    assert {name: view[name] for name in listed[0]} == listed[0]
    download = client.get(f"/api/tables/{view['id']}/record")
    assert download.status_code == 200
    assert download.headers["content-disposition"].startswith("attachment")
    state = record.replay(download.json())
    assert (state.scores(), state.winners()) == (view["scores"], view["winners"])
    assert view["seed"] == 3
    # Before the end neither the set-up nor anything else of the record was sent.
    for text in sent:
        assert "setup" not in text
        assert not {"scores", "winners", "explained", "returns", "seed"} & {
            name for name, value in json.loads(text).items() if value is not None
        }


def test_hint_and_advice_are_given(client: Client) -> None:
    view = client.open()
    legal = {choice["action"]: choice["sentence"] for choice in view["choices"]}
    for query in ({}, {"agent": "greedy"}):
        hint = client.get(f"/api/tables/{view['id']}/hint", params=query).json()
        assert set(hint) == {"agent", "action", "sentence", "revision"}
        assert hint["agent"] == query.get("agent", "policy:forest")
        assert legal[hint["action"]] == hint["sentence"]
    for query in ({}, {"policy": "policy:forest"}):
        advice = client.get(f"/api/tables/{view['id']}/advice", params=query).json()
        assert set(advice) == {"policy", "value", "actions", "revision"}
        assert [line["action"] for line in advice["actions"]] == list(legal)
        assert sum(line["probability"] for line in advice["actions"]) == pytest.approx(1)
        assert -1 <= advice["value"] <= 1
        assert (advice["policy"], advice["revision"]) == ("policy:forest", view["revision"])
    assert client.view(view["id"]) == view


def test_a_game_is_taken_back(client: Client) -> None:
    first = client.open()
    later = client.play(client.play(first))
    answer = client.post(f"/api/tables/{first['id']}/undo", json={"revision": later["revision"]})
    assert answer.status_code == 200
    assert answer.json()["revision"] == later["revision"] + 1
    again = client.post(f"/api/tables/{first['id']}/undo", json={"revision": later["revision"] + 1})
    assert {**again.json(), "revision": first["revision"]} == first


def test_a_game_is_saved_listed_and_loaded(client: Client) -> None:
    view = client.play(client.open(game="forest", players=3, seat=1))
    address = f"/api/tables/{view['id']}/save"
    assert client.post(address, json={}).json() == {"file": "forest-3-players.json"}
    assert client.post(address, json={"name": "mine"}).json() == {"file": "mine.json"}
    assert client.post(address, json={"name": "mine"}).json() == {"file": "mine-2.json"}
    records = client.get("/api/records").json()["records"]
    assert {line["file"] for line in records} == {"forest-3-players.json", "mine.json", "mine-2.json"}
    decisions = len(view["log"])
    assert all(line["decisions"] == decisions and line["players"] == 3 and not line["over"] for line in records)
    loaded = client.post("/api/records/load", json={"file": "mine.json", "seat": 1, "against": ["greedy"]})
    assert loaded.status_code == 201
    assert {**loaded.json(), "id": 0, "revision": 0} == {**view, "id": 0, "revision": 0}
    usual = client.post("/api/records/load", json={"file": "mine.json"}).json()
    assert (usual["seat"], usual["against"]) == (0, ["you", "policy:forest", "policy:forest"])


def test_a_record_from_the_browser_is_taken_up(client: Client) -> None:
    content = finished_record()
    answer = client.post("/api/tables", json={"record": content, "seat": 1, "against": ["greedy"]})
    assert answer.status_code == 201
    view = answer.json()
    assert view["over"]
    assert view["scores"] == content["scores"]
    assert view["seed"] is None
    undone = client.post(f"/api/tables/{view['id']}/undo", json={"revision": view["revision"]}).json()
    assert undone["yours"]
    given = {**ORDER, "record": content}
    del given["seed"]
    assert client.post("/api/tables", json=given).status_code == 201


def test_a_set_up_from_the_browser_is_played(client: Client) -> None:
    setup = State("forest", 2, seed=77).setup()
    order = {name: value for name, value in ORDER.items() if name != "seed"}
    view = client.post("/api/tables", json={**order, "setup": setup}).json()
    ended = client.play_out(client.settle(view))
    assert ended["seed"] is None
    assert client.get(f"/api/tables/{view['id']}/record").json()["setup"] == setup


def test_the_record_is_kept_until_the_end(client: Client) -> None:
    view = client.play(client.open())
    text = sentence(client.get(f"/api/tables/{view['id']}/record"), 409)
    assert "after the end" in text
    assert client.view(view["id"]) == view


# --- several at once --------------------------------------------------------------------------------------


def test_a_long_poll_answers_when_something_changes(client: Client) -> None:
    view = client.open()
    answers: list[dict[str, Any]] = []
    address = f"/api/tables/{view['id']}?after={view['revision']}&wait=25"
    poll = Thread(target=lambda: answers.append(client.get(address).json()))
    poll.start()
    assert client.get(f"/api/tables/{view['id']}?after={view['revision']}&wait=0.2").json() == view
    assert client.get(f"/api/tables/{view['id']}?after={view['revision']}").json() == view
    assert poll.is_alive()
    client.play(view)
    poll.join(PATIENCE)
    assert answers[0]["revision"] > view["revision"]
    # One who knows something else is told at once.
    assert client.get(f"/api/tables/{view['id']}?after=99999&wait=25").status_code == 200


def test_two_browsers_share_a_table(client: Client) -> None:
    other = Client(client.app, "http://localhost:8000")
    view = client.open()
    assert other.view(view["id"]) == view
    moved = client.play(view)
    late = other.post(
        f"/api/tables/{view['id']}/play",
        json={"revision": view["revision"], "action": view["choices"][0]["action"]},
    )
    assert "has moved on" in sentence(late, 409)
    assert late.json()["view"] == moved == other.view(view["id"])
    assert other.play(moved) == client.view(view["id"])


def test_of_two_who_post_the_same_at_once_one_succeeds(client: Client) -> None:
    for seed in range(5):
        view = client.open(seed=seed)
        body = {"revision": view["revision"], "action": view["choices"][0]["action"]}
        start, statuses = Barrier(2), []

        def post(view: Any = view, body: Any = body, start: Barrier = start, statuses: list[int] = statuses) -> None:
            start.wait(PATIENCE)
            statuses.append(client.post(f"/api/tables/{view['id']}/play", json=body).status_code)

        threads = [Thread(target=post) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        assert sorted(statuses) == [200, 409]
        played = client.settle(client.view(view["id"]))
        assert played["log"][0]["sentence"] == view["choices"][0]["sentence"]


# --- malformed requests -----------------------------------------------------------------------------------

JSON = {"Content-Type": "application/json"}
ONE_TOO_MANY = {**ORDER, "against": ["greedy", "greedy"]}
# Address ("ID" stands for a table), body, status.
POSTS: list[tuple[str, Any, int]] = [
    *(("/api/tables", body, 422) for body in ({}, {"game": "forest"}, {**ORDER, "colour": "red"})),
    *(("/api/tables", {**ORDER, "game": game}, 422) for game in ("chess", 3, None, ["forest"], {}, "")),
    *(("/api/tables", {**ORDER, "players": count}, 422) for count in (0, 5, "2", 2.0, True, None, [2])),
    *(("/api/tables", {**ORDER, "seat": seat}, 422) for seat in (-1, 2, "0", "rotate", 0.0, False, None)),
    *(("/api/tables", {**ORDER, "against": names}, 422) for names in ([], "greedy", ["nobody"], [3], None, {}, [[]])),
    *(("/api/tables", {**ORDER, "against": names}, 422) for names in (["policy:wild"], ["search:0"], ["policy:x"])),
    ("/api/tables", ONE_TOO_MANY, 422),
    *(("/api/tables", {**ORDER, "seed": seed}, 422) for seed in (-1, 2**53, "1", 1.5, True, None, [])),
    *(
        ("/api/tables", {**ORDER, "options": options}, 422)
        for options in ({"x": 1}, [], "win", {"reward": "fun"}, 3, None)
    ),
    ("/api/tables", {**ORDER, "options": {"reward": ["win"]}}, 422),
    ("/api/tables", {**ORDER, "game": "wild", "options": {"powers": "/etc/hostname.yaml"}}, 422),
    ("/api/tables", {**ORDER, "game": "wild", "options": {"powers": [["ADD 1"]]}}, 422),
    ("/api/tables", {**ORDER, "setup": {}}, 422),
    ("/api/tables", {"game": "forest", "players": 2, "seat": 0, "against": ["greedy"], "setup": {}}, 422),
    ("/api/tables", {"game": "forest", "players": 2, "seat": 0, "against": ["greedy"], "setup": None}, 422),
    ("/api/tables", {**ORDER, "record": {}}, 422),
    *(
        ("/api/tables", {"seat": 0, "against": ["greedy"], "record": content}, 422)
        for content in ({}, [], None, "x", {"game": "wild", "options": {"powers": "/etc/hostname.yaml"}})
    ),
    *(
        ("/api/tables/ID/play", body, 422)
        for body in ({}, {"revision": 0}, {"action": 0}, {"revision": 0, "action": 0, "x": 1})
    ),
    *(("/api/tables/ID/play", {"revision": 0, "action": x}, 422) for x in (57, -1, 99, 2**70, "0", 0.0, True, [])),
    *(("/api/tables/ID/play", {"revision": x, "action": 0}, 422) for x in ("0", 0.0, None, True, [])),
    *(("/api/tables/ID/play", {"revision": x, "action": 0}, 409) for x in (1, -1, 2**70)),
    *(("/api/tables/ID/undo", body, 422) for body in ({}, {"revision": "0"}, {"revision": 0, "action": 1})),
    *(("/api/tables/ID/undo", {"revision": revision}, 409) for revision in (0, 1, -1)),
    *(("/api/tables/ID/save", {"name": name}, 422) for name in ("../x", "", "a/b", 3, None, [], "\ud800")),
    ("/api/tables/ID/save", {"file": "x"}, 422),
    ("/api/tables", {**ORDER, "game": "x" * 900_000}, 422),
    *(("/api/records/load", body, 422) for body in ({}, {"file": "x.json", "x": 1})),
    *(("/api/records/load", {"file": file}, 404) for file in ("x.json", "../x.json", "/etc/passwd", 3, None, [])),
    *((f"/api/tables/{name}/play", {"revision": 0, "action": 0}, 404) for name in ("none", "%2e%2e", "ID%20")),
    ("/api/tables/none/undo", {"revision": 0}, 404),
    ("/api/tables/none/save", {}, 404),
    ("/api/setup", {}, 405),
    ("/api/tables/ID", {}, 405),
    ("/api/tables/ID/hint", {}, 405),
    ("/api/tables/ID/board", {}, 405),
    ("/healthz", {}, 405),
    ("/", {}, 405),
    ("/api/nothing", {}, 404),
]
GETS = [
    *((f"/api/tables/ID?{query}", 422) for query in ("after=x", "after=-1", "after=", "after=1.5", "after=1e3")),
    *((f"/api/tables/ID?after=0&wait={wait}", 422) for wait in ("x", "-1", "26", "nan", "inf", "", "1e1")),
    *((f"/api/tables/ID?{query}", 422) for query in ("wait=1", "before=3", "after=0&x=1", "after=²")),
    *((f"/api/tables/ID/hint?agent={agent}", 422) for agent in ("nobody", "policy:wild", "", "search:x", "policy:x")),
    ("/api/tables/ID/hint?who=greedy", 422),
    *((f"/api/tables/ID/board{query}", 422) for query in ("", "?ply=", "?ply=x", "?ply=-1", "?ply=1.5", "?plies=0")),
    ("/api/tables/ID/board?ply=500", 404),
    *((f"/api/tables/ID/advice?policy={policy}", 422) for policy in ("greedy", "policy:wild", "", "policy:x")),
    ("/api/tables/ID/advice?agent=policy:forest", 422),
    *((f"{address}?x=1", 422) for address in ("/api/tables/ID/record", "/api/tables", "/api/records", "/api/setup")),
    ("/api/tables/ID/record", 409),
    *((f"/api/tables/none{rest}", 404) for rest in ("", "?after=0&wait=20", "/hint", "/advice", "/record")),
    ("/api/tables/ID/play", 405),
    ("/api/tables/ID/undo", 405),
    ("/api/records/load", 405),
    ("/api/tables/ID/nothing", 404),
    ("/api/", 404),
]


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, str]]:
    """A server with one table, which no test of malformed requests may change."""
    client = make_client(tmp_path_factory.mktemp("play") / "games")
    name = client.open()["id"]
    before = (client.view(name), client.get("/api/tables").json(), client.get("/api/records").json())
    yield client, name
    assert before == (client.view(name), client.get("/api/tables").json(), client.get("/api/records").json())
    assert len(before[1]["tables"]) == 1
    assert before[2] == {"records": []}


@pytest.mark.parametrize(("address", "body", "status"), POSTS)
def test_a_malformed_post_changes_nothing(standing: tuple[Client, str], address: str, body: Any, status: int) -> None:
    client, name = standing
    before = client.view(name)
    answer = client.post(address.replace("ID", name), content=json.dumps(body), headers=JSON)
    sentence(answer, status)
    if status == 409:
        assert answer.json()["view"] == before
    assert client.view(name) == before
    assert len(client.get("/api/tables").json()["tables"]) == 1


@pytest.mark.parametrize(("address", "status"), GETS)
def test_a_malformed_question_changes_nothing(standing: tuple[Client, str], address: str, status: int) -> None:
    client, name = standing
    before = client.view(name)
    sentence(client.get(address.replace("ID", name)), status)
    assert client.view(name) == before


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"revision=0", 400),
        (b"\xff\xfe", 400),
        (b"[]", 400),
        (b"3", 400),
        (b"null", 400),
        (b'"x"', 400),
        (b'{"revision": NaN, "action": 0}', 400),
        (b'{"revision": Infinity, "action": 0}', 400),
        (b'{"revision": ' + b"1" * 5000 + b', "action": 0}', 400),
        (b'{"revision": ' + b"[" * 100_000, 400),
        (b" " * 1_000_001, 413),
        (b'{"revision": 0, "action": "' + b"x" * 1_000_000 + b'"}', 413),
    ],
)
def test_a_body_that_is_no_json_changes_nothing(standing: tuple[Client, str], body: bytes, status: int) -> None:
    client, name = standing
    before = client.view(name)
    sentence(client.post(f"/api/tables/{name}/play", content=body, headers=JSON), status)
    assert client.view(name) == before


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS"])
def test_other_methods_change_nothing(standing: tuple[Client, str], method: str) -> None:
    client, name = standing
    for address in ("/api/tables", f"/api/tables/{name}", f"/api/tables/{name}/play", "/", "/healthz"):
        sentence(client.request(method, address), 405)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "json"])
def test_what_a_form_of_another_page_can_post_is_refused(standing: tuple[Client, str], kind: str) -> None:
    client, name = standing
    before = client.view(name)
    body = json.dumps({"revision": 0, "action": before["choices"][0]["action"]})
    sentence(client.post(f"/api/tables/{name}/play", content=body, headers={"Content-Type": kind}), 415)
    assert client.view(name) == before


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "[::2]:80", "[", ""])
def test_another_name_for_the_server_is_refused(standing: tuple[Client, str], host: str) -> None:
    client, name = standing
    for address in ("/", "/api/tables", f"/api/tables/{name}", "/static/play.js"):
        sentence(client.get(address, headers={"Host": host}), 403)
    sentence(client.post("/api/tables", json=ORDER, headers={"Host": host}), 403)


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost", "LOCALHOST:9", "[::1]:8000", "127.0.0.1"])
def test_its_own_names_are_answered_to(standing: tuple[Client, str], host: str) -> None:
    client, _ = standing
    assert client.get("/healthz", headers={"Host": host}).status_code == 200
    assert client.get("/healthz", headers={"Host": host, "Origin": f"http://{host}"}).status_code == 200


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "", "http://127.0.0.1:9000", "http://localhost:8000", "ftp://127.0.0.1:8000"],
)
@pytest.mark.parametrize("everywhere", [False, True])
def test_other_pages_are_refused(origin: str, everywhere: bool, tmp_path: Path) -> None:
    client = make_client(tmp_path, host="0.0.0.0" if everywhere else "127.0.0.1")
    sentence(client.post("/api/tables", json=ORDER, headers={"Origin": origin}), 403)
    sentence(client.get("/api/tables", headers={"Origin": origin}), 403)
    assert client.get("/api/tables", headers={"Origin": BASE}).json() == {"tables": []}


def test_a_server_for_everybody_has_any_name_but_takes_no_files(tmp_path: Path) -> None:
    policy = str(Path(server.policies.FOLDER) / "forest.onnx")
    headers = {"Host": "my.machine:8000", "Origin": "http://my.machine:8000"}
    order = {**ORDER, "against": [policy]}
    open_to_all = make_client(tmp_path, host="0.0.0.0")
    assert "no agent" in sentence(open_to_all.post("/api/tables", json=order, headers=headers), 422)
    named = make_client(tmp_path, host="0.0.0.0", against=(policy,))
    assert named.post("/api/tables", json=order, headers=headers).json()["against"] == ["you", policy]
    assert make_client(tmp_path).post("/api/tables", json=order).status_code == 201


def test_a_server_with_a_name_of_its_own_answers_to_it(tmp_path: Path) -> None:
    client = make_client(tmp_path, host="192.0.2.7")
    assert client.get("/healthz", headers={"Host": "192.0.2.7:8000"}).status_code == 200
    sentence(client.get("/healthz", headers={"Host": "evil.example"}), 403)


def test_a_mistake_of_the_server_shows_no_trace(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> None:
        raise KeyError("secret")

    view = client.open()
    monkeypatch.setattr(server.Table, "hint", fail)
    answer = client.get(f"/api/tables/{view['id']}/hint")
    assert "secret" not in sentence(answer, 500)
    assert "secret" in caplog.text
    assert client.view(view["id"]) == view


def test_a_disk_that_can_not_be_written_to_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    client = make_client(tmp_path / "file")
    view = client.open()
    assert "disk" in sentence(client.post(f"/api/tables/{view['id']}/save", json={}), 500)
    assert client.view(view["id"]) == view


def test_an_agent_that_fails_is_told_on_the_page(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(GreedyAgent):
        def act_many(self, views: Any) -> Any:
            raise RuntimeError("secret")

    monkeypatch.setitem(BUILT_IN, "broken", Broken)
    view = client.open(seat=1, against=["broken"])
    assert view["error"].startswith("Agent greedy in seat 0 failed (RuntimeError)")
    assert "secret" not in json.dumps(view)
    answer = client.post(f"/api/tables/{view['id']}/play", json={"revision": view["revision"], "action": 0})
    assert "Seat 0 is to act" in sentence(answer, 409)
    assert client.play_out(client.open())["over"]


# --- the command ------------------------------------------------------------------------------------------


def start(folder: Path, *words: str) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, "-m", "spirits_env", "play", "--no-browser", "--port", "0", "--folder", str(folder)]
    process = subprocess.Popen([*command, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    found = re.fullmatch(r"Play at (http://127\.0\.0\.1:\d+/) \(Ctrl-C ends it\)\n", process.stdout.readline())
    assert found
    return process, found[1]


def told_again(game: State) -> list[str]:
    """The decisions of a game in words."""
    state = record.replay(record.write(game), 0)
    sentences = []
    for action in game.history:
        sentences.append(state.tell(action))
        state.play(action)
    return sentences


@pytest.mark.skipif(os.name == "nt", reason="SIGINT can't be sent to one process on Windows")
def test_the_command_serves_until_it_is_stopped(tmp_path: Path) -> None:
    process, address = start(tmp_path / "games", "--players", "3", "--against", "greedy", "--seed", "4", "--seat", "2")
    try:
        with httpx.Client(base_url=address, timeout=PATIENCE) as browser:
            assert browser.get("/").text.startswith("<!doctype html>")
            told = browser.get("/api/setup").json()["defaults"]
            assert told["against"] == ["greedy"]
            assert (told["game"], told["players"], told["seat"]) == ("forest", 3, 2)
            (line,) = browser.get("/api/tables").json()["tables"]
            for _ in range(3):
                view = browser.get(f"/api/tables/{line['id']}").json()
                while view["thinking"]:
                    query = {"after": view["revision"], "wait": 25}
                    view = browser.get(f"/api/tables/{line['id']}", params=query).json()
                body = {"revision": view["revision"], "action": view["choices"][0]["action"]}
                view = browser.post(f"/api/tables/{line['id']}/play", json=body).json()
            while view["thinking"]:
                view = browser.get(f"/api/tables/{line['id']}", params={"after": view["revision"], "wait": 25}).json()
            history = [decision["sentence"] for decision in view["log"]]
            # Somebody waits for a change; this has arrived when what comes after it is answered.
            poll = HTTPConnection("127.0.0.1", int(address.split(":")[-1].strip("/")), timeout=PATIENCE)
            poll.request("GET", f"/api/tables/{line['id']}?after={view['revision']}&wait=25")
            assert browser.get("/healthz").json() == {"ok": True}
            process.send_signal(signal.SIGINT)
            assert poll.getresponse().status == 200
            poll.close()
            out, errors = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.communicate()
    assert (process.returncode, errors) == (0, "")
    # The game was not over, so it was saved.
    saved = tmp_path / "games" / "forest-3-players.json"
    assert out == f"Saved {saved}; spirits play --load goes on with it\n"
    assert told_again(record.load(saved)) == history


@pytest.mark.skipif(os.name == "nt", reason="SIGINT can't be sent to one process on Windows")
@pytest.mark.parametrize("agent", ["search:10000000", "policy:forest+search:100000"])
def test_the_command_stops_at_once_while_agents_think(tmp_path: Path, agent: str) -> None:
    process, address = start(tmp_path, "--against", agent, "--seat", "1")
    try:
        (line,) = httpx.get(f"{address}api/tables", timeout=PATIENCE).json()["tables"]
        assert httpx.get(f"{address}api/tables/{line['id']}", timeout=PATIENCE).json()["thinking"]
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 0
    assert out == ""
    # All that may be said is that the search had to be compiled.
    assert [words for words in errors.splitlines() if not words.startswith("spirits_env: compiling")] == []


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[App]:
    """What the command would serve."""
    apps: list[App] = []
    monkeypatch.setattr(server, "serve", lambda app, listener: apps.append(app))
    return apps


def test_a_file_is_no_folder_for_games(served: list[App], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(["play", "--no-browser", "--port", "0", "--folder", str(tmp_path / "file")]) == 2
    assert "which is a file; give a folder" in capsys.readouterr().err
    assert not served


def test_the_command_opens_the_browser(served: list[App], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    opened: list[str] = []
    monkeypatch.setattr("spirits_env.cli.play._open_browser", opened.append)
    assert main(["play", "--port", "0", "--folder", str(tmp_path)]) == 0
    assert len(opened) == 1
    assert opened[0].startswith("http://127.0.0.1:")
    assert main(["play", "--port", "0", "--folder", str(tmp_path), "--no-browser"]) == 0
    assert len(opened) == 1
    (line,) = served[0].tables.listing()
    assert line["against"] == ["you", "policy:forest"]


def test_the_command_goes_on_with_a_record(served: list[App], tmp_path: Path) -> None:
    state = State("wild", seed=2, powers="none")
    for _ in range(6):
        state.play(state.legal_actions()[0])
    record.save(state, tmp_path / "game.json")
    assert main(["play", "--no-browser", "--port", "0", "--load", str(tmp_path / "game.json"), "--seat", "1"]) == 0
    (line,) = served[0].tables.listing()
    assert (line["title"], line["against"]) == ("Spirits of the Wild", ["policy:wild", "you"])
    table = served[0].tables.find(line["id"])
    assert table.record()["actions"][:6] == state.history
    assert table.record()["options"] == {"powers": "none", "reward": "win"}


def test_a_server_that_others_can_reach_is_warned_of(
    served: list[App], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ["play", "--no-browser", "--port", "0", "--folder", str(tmp_path), "--players", "1"]
    assert main([*words, "--host", "0.0.0.0"]) == 0
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert main(words) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "words",
    [
        ["--against", "nobody"],
        ["--against", "missing.onnx"],
        ["--against", "greedy", "greedy"],
        ["--against", "policy:wild"],
        ["--players", "1", "--against", "greedy"],
        ["--players", "1", "--against", "policy:forest"],
        ["--players", "5"],
        ["--game", "chess"],
        ["--seat", "2"],
        ["--seed", "-1"],
        ["--option", "forced_steal=perhaps"],
        ["--option", "seed=3"],
        ["--load", "missing.json"],
        ["--load", "missing.json", "--seed", "3"],
        ["--port", "-1"],
        ["--port", "70000"],
        ["--host", "no such host"],
    ],
)
def test_what_can_not_be_played_is_one_line(
    words: list[str], served: list[App], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["play", "--no-browser", "--port", "0", *words]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("spirits: ")
    assert len(shown.err.splitlines()) == 1
    assert served == []


def test_a_seat_that_is_no_number_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["play", "--seat", "x"])
    assert stopped.value.code == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_port_in_use_is_one_line(served: list[App], capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["play", "--no-browser", "--port", str(port)]) == 2
    assert f"port {port} can't be served" in capsys.readouterr().err
    assert served == []


def test_without_its_libraries_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "spirits_env.play.server")
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["play", "--no-browser", "--port", "0"]) == 2
    assert 'pip install "spirits-env[play]"' in capsys.readouterr().err
