"""The page of `spirits play` in a real Chromium: people play whole games on it, and lose nothing."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from spirits_env import record
from spirits_env.drawing import THEMES
from spirits_env.state import State

if TYPE_CHECKING:
    from browser import Pages

pytest_plugins = ["browser"]
pytestmark = pytest.mark.browser

NARROW = {"width": 360, "height": 740, "has_touch": True, "is_mobile": True}
AT_ONCE = "if (!localStorage.getItem('spirits-play-speed')) localStorage.setItem('spirits-play-speed', '0')"
# What can be done now, and what has been: a decision is over when the log is longer and somebody waits for another.
READY = """plies => document.querySelectorAll("#log li").length > plies
    && document.querySelector("#board .lit, #result:not([hidden])") !== null"""


class Server:
    """A running `spirits play`, asked past the page."""

    def __init__(self, address: str) -> None:
        self.address = address

    def ask(self, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = Request(self.address + path, data, {"Content-Type": "application/json"})
        with urlopen(request, timeout=20) as answer:
            return json.load(answer)

    def deal(self, **changes: Any) -> str:
        """Open a table and return its id."""
        body = {"game": "forest", "players": 2, "seat": 0, "against": ["greedy"], "seed": 5, **changes}
        return str(self.ask("/api/tables", body)["id"])

    def view(self, table: str) -> Any:
        return self.ask(f"/api/tables/{table}")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = str(tmp_path_factory.mktemp("saved"))
    words = [sys.executable, "-m", "spirits_env", "play", "--no-browser", "--port", "0", "--against", "greedy"]
    process = subprocess.Popen([*words, "--folder", folder], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        running = Server(line.split()[2].rstrip("/"))
        # Where nothing is compiled yet, the first decision of an agent takes longer than a page should.
        for game in ("forest", "wild"):
            view = running.view(running.deal(game=game, seat=1))
            while not view["yours"]:
                view = running.ask(f"/api/tables/{view['id']}?after={view['revision']}&wait=10")
        yield running
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()


@pytest.fixture
def table(server: Server, page_of: Pages) -> Callable[..., tuple[Page, str]]:
    """Open a table of its own in a page of its own."""

    def opened(screen: dict[str, Any] | None = None, **changes: Any) -> tuple[Page, str]:
        page = page_of(**(screen or {}))
        page.add_init_script(AT_ONCE)
        name = server.deal(**changes)
        page.goto(f"{server.address}/#{name}")
        expect(page.locator("#board .lit, #result:not([hidden])").first).to_be_visible()
        return page, name

    return opened


# --- how people play --------------------------------------------------------------------------------------


def plies(page: Page) -> int:
    return page.locator("#log li").count()


def lit(page: Page) -> Locator:
    return page.locator("#board .lit")


# Playwright's own click waits for more than whole games have time for.
AIM = """share => {
    if (!document.getElementById("result").hidden) return null;
    const places = document.querySelectorAll("#board .lit");
    const place = places[Math.floor(share * places.length)];
    place.scrollIntoView({block: "nearest", inline: "nearest"});
    const box = place.getBoundingClientRect();
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    const hit = document.elementFromPoint(x, y)?.closest(".lit") === place;
    return {x, y, hit, action: Number(place.dataset.legal), plies: document.getElementById("log").children.length};
}"""


def click_one(page: Page, chance: random.Random) -> int | None:
    """Click a lit place of the board; return the action it stands for, once the next decision is due: None if over."""
    aim = page.evaluate(AIM, chance.random())
    if aim is None:
        return None
    assert aim["hit"], aim
    page.mouse.click(aim["x"], aim["y"])
    page.wait_for_function(READY, arg=aim["plies"])
    return int(aim["action"])


def click_through(page: Page, chance: random.Random, most: int = 1000) -> list[int]:
    """Click until the end, or so often."""
    actions: list[int] = []
    while len(actions) < most and (action := click_one(page, chance)) is not None:
        actions.append(action)
    return actions


def ended(players: int) -> dict[str, Any]:
    """Return the record of a game that was played to its end."""
    chance = random.Random(players)
    state = State("forest", players=players, seed=players)
    while state.seat >= 0:
        state.play(chance.choice(state.legal_actions()))
    return record.write(state)


def shown_totals(page: Page) -> list[int]:
    cells = page.locator("#scores tfoot td span").all_inner_texts()
    return [int(text.replace("−", "-")) for text in cells]


def check_end(server: Server, page: Page, name: str, actions: list[int]) -> State:
    """Compare what the page shows at the end, and what was chosen, with the replayed record."""
    with page.expect_download() as download:
        page.click("#download")
    content = json.loads(Path(download.value.path()).read_text())
    state = record.replay(content)
    view = server.view(name)
    assert shown_totals(page) == state.scores() == content["scores"]
    rows = page.locator("#scores tbody tr")
    shown = [[int(text.replace("−", "-")) for text in row.locator("td").all_inner_texts()] for row in rows.all()]
    assert shown == [list(score.points) for score in state.explain()]
    own = [entry["ply"] for entry in view["log"] if entry["seat"] == view["seat"]]
    assert [content["actions"][ply] for ply in own] == actions
    assert len(content["actions"]) == plies(page) == len(view["log"])
    winners = [seat for seat in range(state.players) if "wins" in (head_of(page, seat).get_attribute("class") or "")]
    assert winners == state.winners()
    return state


def head_of(page: Page, seat: int) -> Locator:
    return page.locator("#scores thead th").nth(seat + 1)


@pytest.mark.parametrize("players", [2, 4])
def test_a_whole_game_is_clicked_through_on_the_board(server, table, players):
    page, name = table(players=players, seat=players - 1)
    actions = click_through(page, random.Random(players))
    assert len(actions) > 10
    state = check_end(server, page, name, actions)
    seat = players - 1
    won = state.winners() == [seat]
    assert page.inner_text("#result-heading").startswith("You") == (seat in state.winners())
    assert ("You win." in page.inner_text("#result-heading")) == won
    page.click("#again")
    expect(page.locator("#result")).to_be_hidden()
    again = server.view(page.url.split("#")[1])
    assert (again["seat"], again["players"]) == (0, players)


def test_a_whole_game_of_wild_is_clicked_through_on_the_board(server, table):
    page, name = table(game="wild")
    check_end(server, page, name, click_through(page, random.Random(1)))


def test_a_game_alone_is_clicked_through_on_the_board(server, table):
    page, name = table(players=1, against=[])
    actions = click_through(page, random.Random(1))
    # Two tiles of a row per turn, until three rows are empty.
    assert 18 <= len(actions) <= 23
    state = check_end(server, page, name, actions)
    assert page.inner_text("#result-heading") == ("You win." if state.winners() else "You lose.")


def test_a_whole_game_is_played_by_keys_alone(server, table):
    page, name = table(seed=11)
    chance = random.Random(3)
    actions = []
    while not page.locator("#result").is_visible():
        before = plies(page)
        if len(actions) < 12:
            # In the list: its number, then Enter.
            page.keyboard.type(str(1 + chance.randrange(page.locator("#choices button").count())))
        elif len(actions) == 12:
            # To the board, back from the list.
            while not page.evaluate("document.activeElement.matches('#board .lit')"):
                page.keyboard.press("Shift+Tab")
        else:
            # The page keeps the focus on the board, where arrows move it.
            page.keyboard.press(chance.choice(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]))
        focused = page.evaluate("({...document.activeElement.dataset})")
        actions.append(int(focused["action"] if "action" in focused else focused["legal"]))
        page.keyboard.press("Enter" if len(actions) % 2 else "Space")
        page.wait_for_function(READY, arg=before)
    assert page.evaluate("document.activeElement.id") == "result"
    check_end(server, page, name, actions)


def test_choices_in_the_list_are_the_ones_on_the_board(server, table):
    page, name = table()
    choices = {choice["action"]: choice["sentence"] for choice in server.view(name)["choices"]}
    buttons = page.locator("#choices button")
    listed = {int(b.get_attribute("data-action") or -1): b.locator(".words").inner_text() for b in buttons.all()}
    assert listed == choices
    labels = {int(e.get_attribute("data-legal") or -1): e.get_attribute("aria-label") for e in lit(page).all()}
    assert labels == choices
    assert {e.get_attribute("role") for e in lit(page).all()} == {"button"}
    # Pointing at one shows the other.
    action = min(choices)
    buttons.first.hover()
    expect(page.locator(f'#board [data-legal="{action}"]')).to_have_class("takeable lit twin")
    lit(page).last.hover()
    expect(buttons.last).to_have_class("twin")
    expect(buttons.first).not_to_have_class("twin")


# --- nothing is lost --------------------------------------------------------------------------------------


def test_a_reload_keeps_the_game(server, table):
    page, name = table()
    chance = random.Random(1)
    click_through(page, chance, 5)
    page.mouse.move(0, 0)
    before = page.inner_html("#board"), page.inner_text("#log"), page.inner_text("#choices")
    page.reload()
    expect(lit(page).first).to_be_visible()
    page.mouse.move(0, 0)
    assert (page.inner_html("#board"), page.inner_text("#log"), page.inner_text("#choices")) == before
    click_through(page, chance, 3)
    assert plies(page) == len(server.view(name)["log"])


def test_a_second_tab_follows_and_a_stale_click_changes_nothing(server, table, page_of):
    page, name = table()
    other = page.context.new_page()
    other.goto(page.url)
    chance = random.Random(1)
    expect(lit(other).first).to_be_visible()
    click_through(other, chance, 4)
    expect(page.locator("#log li")).to_have_count(plies(other))
    assert page.inner_text("#log") == other.inner_text("#log")
    expect(page.locator("#choices button")).to_have_count(other.locator("#choices button").count())

    # Answers to its polls are kept from the first tab, so that it does not know of the second one's next click.
    page.route("**/api/tables/*?after=*", lambda route: None)
    page.reload()
    expect(lit(page).first).to_be_visible()
    click_one(other, chance)
    before = server.view(name)
    lit(page).first.click()
    expect(page.locator("#message")).to_contain_text("moved on")
    after = server.view(name)
    assert (after["revision"], after["log"]) == (before["revision"], before["log"])
    expect(page.locator("#log li")).to_have_count(len(after["log"]))
    assert [fault for fault in page_of.take_faults() if "409" not in fault] == []


def own_decisions(server: Server, name: str) -> int:
    return sum(entry["seat"] == 0 for entry in server.view(name)["log"])


def test_a_decision_made_without_a_connection_arrives_once(server, table, page_of):
    page, name = table()
    page.context.set_offline(True)
    lit(page).first.click()
    expect(page.locator("#banner")).to_be_visible()
    expect(lit(page)).to_have_count(0)
    assert own_decisions(server, name) == 0
    page.context.set_offline(False)
    page.wait_for_function(READY, arg=0)
    assert own_decisions(server, name) == 1
    expect(page.locator("#banner")).to_be_hidden()
    click_through(page, random.Random(1), 2)
    assert own_decisions(server, name) == 3
    assert [fault for fault in page_of.take_faults() if "net::ERR" not in fault] == []


def test_a_decision_whose_answer_was_lost_is_not_made_twice(server, table, page_of):
    page, name = table()
    sent = []

    def lose_answer(route: Route) -> None:
        sent.append(route.request.post_data_json["action"])
        route.fetch()
        route.abort()

    page.route("**/play", lose_answer)
    # Else a poll could tell the page that its decision has arrived.
    page.route("**/api/tables/*?after=*", lambda route: None)
    page.reload()
    expect(lit(page).first).to_be_visible()
    lit(page).first.click()
    page.wait_for_function(READY, arg=0)
    assert own_decisions(server, name) == len(sent) == 1
    assert [fault for fault in page_of.take_faults() if "net::ERR" not in fault] == []


def test_a_lost_connection_is_found_again(server, page_of):
    page = page_of()
    page.route("**/api/tables/*?after=*", lambda route: route.abort())
    name = server.deal(seat=1)
    page.goto(f"{server.address}/#{name}")
    expect(page.locator("#banner")).to_contain_text("No connection")
    page.unroute("**/api/tables/*?after=*")
    page.click("#retry")
    expect(page.locator("#banner")).to_be_hidden()
    expect(lit(page).first).to_be_visible()
    assert plies(page) == len(server.view(name)["log"]) > 0
    assert [fault for fault in page_of.take_faults() if "net::ERR" not in fault] == []


def test_an_address_without_a_table_goes_on_with_the_newest(server, table, page_of):
    _, name = table()
    page = page_of()
    page.goto(f"{server.address}/")
    expect(lit(page).first).to_be_visible()
    assert page.url.endswith(f"#{name}")
    page.goto("about:blank")
    page.goto(f"{server.address}/#no-such-table")
    expect(page.locator("#message")).to_contain_text("no such table")
    expect(lit(page).first).to_be_visible()
    assert page.url.endswith(f"#{name}")
    assert [fault for fault in page_of.take_faults() if "404" not in fault] == []


# --- help -------------------------------------------------------------------------------------------------


def test_undo_goes_back_to_the_own_decision(table):
    page, _ = table()
    expect(page.locator("#undo")).to_be_disabled()
    chance = random.Random(4)
    click_through(page, chance, 3)
    before = page.inner_text("#log"), page.inner_text("#choices")
    count = plies(page)
    click_one(page, chance)
    page.click("#undo")
    expect(page.locator("#log li")).to_have_count(count)
    expect(lit(page).first).to_be_visible()
    assert (page.inner_text("#log"), page.inner_text("#choices")) == before
    page.keyboard.press("u")
    page.wait_for_function("count => document.querySelectorAll('#log li').length < count", arg=count)


def test_a_hint_is_said_and_marked(server, table):
    page, name = table()
    hint = server.ask(f"/api/tables/{name}/hint")
    page.keyboard.press("h")
    expect(page.locator("#message")).to_contain_text(hint["sentence"])
    assert page.locator("#choices .hinted").get_attribute("data-action") == str(hint["action"])
    assert page.locator("#board .hinted").get_attribute("data-legal") == str(hint["action"])
    click_one(page, random.Random(1))
    expect(page.locator(".hinted")).to_have_count(0)
    expect(page.locator("#message")).to_be_hidden()


def test_advice_shows_probabilities_and_value(server, table):
    page, name = table()
    advice = server.ask(f"/api/tables/{name}/advice?policy=policy:forest")
    page.keyboard.press("a")
    expect(page.locator("#advised h3")).to_have_text("Advice of policy:forest")
    value = page.inner_text("#advised p >> nth=0").replace("−", "-")
    assert f"{advice['value']:+.2f}" in value
    best = max(advice["actions"], key=lambda choice: choice["probability"])
    share = f"{best['probability']:.0%}".replace("%", " %")
    assert page.inner_text("#advised .percent >> nth=0") == share
    assert page.inner_text(f'#choices [data-action="{best["action"]}"] .share') == share
    assert page.locator("#choices .share:visible").count() == len(advice["actions"])


def test_the_pause_between_agents_shows_one_decision_after_the_other(server, table):
    page, _ = table(players=4, against=["random"], seat=0)
    page.select_option("#speed", "0.5")
    page.evaluate("""() => {
        const log = document.getElementById("log");
        window.steps = [];
        new MutationObserver(() => window.steps.push(log.children.length)).observe(log, {childList: true});
        const board = document.getElementById("board");
        window.boards = [];
        const said = () => window.boards.push(board.querySelector(".said [data-text]").dataset.text);
        new MutationObserver(said).observe(board, {childList: true});
    }""")
    # Nothing is left to ask of the person before the agents' turns.
    click_one(page, random.Random(1))
    while lit(page).count() == 0 or page.evaluate("window.steps.at(-1)") < 4:
        click_one(page, random.Random(1))
    steps = page.evaluate("window.steps")
    assert steps == list(range(1, steps[-1] + 1))
    # However fast they were, the board was shown after each of their decisions.
    boards = page.evaluate("window.boards")
    for line in server.view(page.url.split("#")[1])["log"]:
        assert line["seat"] == 0 or f"last: seat {line['seat']}: {line['sentence']}" in boards
    page.reload()
    expect(page.locator("#speed")).to_have_value("0.5")


def test_the_board_is_there_in_words(server, table):
    page, name = table(players=3, against=["greedy"], seat=0, seed=5)
    click_one(page, random.Random(1))
    expect(lit(page).first).to_be_visible()
    page.click("summary >> text=Board in words")
    expect(page.locator("#words")).to_have_text(server.view(name)["text"], use_inner_text=True)


# --- other games ------------------------------------------------------------------------------------------


def start(page: Page, server: Server) -> Any:
    """Press Start in the dialog; return the view of the new table."""
    old = page.url
    page.click("#fresh [type=submit]")
    page.wait_for_function("old => location.href !== old", arg=old)
    expect(lit(page).first).to_be_visible()
    return server.view(page.url.split("#")[1])


def test_a_seed_names_a_game(server, table):
    page, _ = table()
    boards = []
    page.click("#new")
    page.click("#setup summary")
    for _ in range(2):
        page.keyboard.press("n")
        page.fill("#seed", "77")
        view = start(page, server)
        page.mouse.move(0, 0)
        boards.append((page.inner_html("#board svg"), view["svg"]))
    assert boards[0] == boards[1]
    assert boards[0][1] == State("forest", players=2, seed=77).svg(0, theme="auto")


def test_the_dialog_sets_the_table(server, table):
    page, _ = table()
    page.click("#new")
    page.select_option("#players", "3")
    page.select_option("#seat", "0")
    page.locator(".agent select").nth(0).select_option('"random"')
    page.locator(".agent select").nth(1).select_option('""')
    page.locator(".agent input").nth(1).fill("search:2")
    page.select_option("#option-forced_steal", "false")
    page.click("#setup summary")
    setup = State("forest", players=2, seed=123).setup()
    page.fill("#deal", json.dumps(setup))
    view = start(page, server)
    assert (view["players"], view["against"]) == (3, ["you", "random", "search:2"])
    assert view["options"]["forced_steal"] is False
    assert view["svg"] == State("forest", 3, setup=setup, forced_steal=False).svg(0, theme="auto")


def test_what_is_wrong_is_said_in_the_dialog(server, table, page_of):
    page, _ = table()
    old = page.url
    page.click("#new")
    page.click("#setup summary")
    wrong = {
        "#seed": {"seven": "The seed was seven", "-1": "whole number"},
        "#deal": {"{": "The set-up is not JSON", '{"tiles": []}': "tiles"},
    }
    for field, texts in wrong.items():
        for text, words in texts.items():
            page.fill(field, text)
            page.click("#fresh [type=submit]")
            expect(page.locator("#setup-error")).to_contain_text(words)
        page.fill(field, "")
    page.locator(".agent select").select_option('""')
    page.locator(".agent input").fill("nobody")
    page.click("#fresh [type=submit]")
    expect(page.locator("#setup-error")).to_contain_text("There is no agent 'nobody'")
    unplayable = {**ended(2), "actions": [8]}
    files = {
        "no JSON": "is not JSON",
        '{"game": "forest"}': "it needs exactly",
        json.dumps(unplayable): "does not replay at ply 0",
    }
    for text, words in files.items():
        file = {"name": "game.json", "mimeType": "application/json", "buffer": text.encode()}
        page.set_input_files("#file", [file])
        page.click("#stored [type=submit]")
        expect(page.locator("#setup-error")).to_contain_text(words)
    assert page.locator("#setup").is_visible()
    assert page.url == old
    assert [fault for fault in page_of.take_faults() if "422" not in fault] == []


def test_games_are_saved_and_loaded(server, table):
    page, name = table()
    chance = random.Random(1)
    click_through(page, chance, 4)
    log, board = page.inner_text("#log"), server.view(name)["svg"]
    page.click("#save")
    expect(page.locator("#message")).to_contain_text("Saved as ")
    file = page.inner_text("#message").removeprefix("Saved as ").rstrip(".")
    page.click("#new")
    page.select_option("#records", json.dumps(file))
    page.select_option("#stored-against", '"greedy"')
    page.click("#stored [type=submit]")
    page.wait_for_function("name => !location.hash.endsWith(name)", arg=name)
    expect(lit(page).first).to_be_visible()
    assert page.inner_text("#log") == log
    loaded = page.url.split("#")[1]
    assert server.view(loaded)["svg"] == board
    # Back leads to the table that was left.
    page.go_back()
    page.wait_for_function("name => location.hash.endsWith(name)", arg=name)
    expect(lit(page).first).to_be_visible()


def test_a_record_from_the_computer_is_loaded(table):
    page, _ = table()
    content = ended(3)
    page.click("#new")
    file = {"name": "game.json", "mimeType": "application/json", "buffer": json.dumps(content).encode()}
    page.set_input_files("#file", [file])
    page.select_option("#stored-seat", "2")
    page.click("#stored [type=submit]")
    expect(page.locator("#result")).to_be_visible()
    assert shown_totals(page) == content["scores"]
    expect(page.locator("#log li")).to_have_count(len(content["actions"]))
    assert head_of(page, 2).locator("span").inner_text() == "you"


# --- every screen, every person ---------------------------------------------------------------------------


def overflow(page: Page) -> int:
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


@pytest.mark.parametrize("game", ["forest", "wild"])
def test_a_narrow_screen_shows_and_plays_everything(table, game):
    page, _ = table(NARROW, game=game)
    chance = random.Random(1)
    for _ in range(4):
        assert overflow(page) == 0
        before = plies(page)
        lit(page).nth(chance.randrange(lit(page).count())).tap()
        page.wait_for_function(READY, arg=before)
    board = page.locator("#board")
    assert board.evaluate("board => board.scrollWidth > board.clientWidth")
    page.tap("#smaller")
    page.tap("#smaller")
    assert board.evaluate("board => board.scrollWidth === board.clientWidth")
    small = page.evaluate("""() => [...document.querySelectorAll("button, select, a.button")]
        .filter(element => element.checkVisibility() && element.getBoundingClientRect().height < 40)
        .map(element => element.id || element.textContent)""")
    assert small == []
    page.tap("#new")
    expect(page.locator("#setup")).to_be_visible()
    assert overflow(page) == 0
    assert page.locator("#setup").evaluate("dialog => dialog.scrollWidth === dialog.clientWidth")


def test_the_end_fits_a_narrow_screen(server, page_of):
    body = {"record": ended(4), "seat": 3, "against": ["policy:forest"]}
    name = server.ask("/api/tables", body)["id"]
    page = page_of(**NARROW)
    page.goto(f"{server.address}/#{name}")
    expect(page.locator("#result")).to_be_visible()
    assert shown_totals(page) == body["record"]["scores"]
    assert overflow(page) == 0


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_has_the_colours_of_the_drawing(table, theme):
    page, _ = table({"colour_scheme": theme})
    names = [name.strip("{}") for name in THEMES[theme]]
    script = "names => names.map(name => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`))"
    assert page.evaluate(script, names) == [colour.lower() for colour in THEMES[theme].values()]


def test_colours_follow_the_scheme(table):
    def brightness(colour_scheme: str) -> list[float]:
        page, _ = table({"colour_scheme": colour_scheme})
        script = """() => [getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color,
            getComputedStyle(document.querySelector("#board svg rect")).fill]"""
        return [sum(int(part) for part in text[4:-1].split(",")) / 765 for text in page.evaluate(script)]

    paper, ink, board = brightness("light")
    assert paper > 0.9 > 0.3 > ink
    assert board > 0.9
    paper, ink, board = brightness("dark")
    assert paper < 0.2 < 0.8 < ink
    assert board < 0.2


@pytest.mark.parametrize("screen", [{}, {"colour_scheme": "dark"}, NARROW], ids=["wide", "dark", "narrow"])
def test_nothing_keeps_people_out(server, table, page_of, screen):
    from browser import barriers

    page, _ = table(screen, players=3, against=["greedy"])
    click_through(page, random.Random(1), most=6)
    page.keyboard.press("a")
    expect(page.locator("#advised")).to_be_visible()
    assert barriers(page) == []
    page.keyboard.press("n")
    expect(page.locator("#records")).to_be_visible()
    assert barriers(page) == []
    page = page_of(**screen)
    over = server.ask("/api/tables", {"seat": 0, "against": ["greedy"], "record": ended(4)})
    page.goto(f"{server.address}/#{over['id']}")
    expect(page.locator("#result")).to_be_visible()
    assert barriers(page) == []


def test_the_page_has_an_order(table):
    page, _ = table(players=4)
    page.keyboard.press("a")
    expect(page.locator("#advised")).to_be_visible()
    page.keyboard.press("n")
    expect(page.locator("#records")).to_be_visible()
    assert page.locator("h1").count() == 1
    assert page.get_attribute("html", "lang") == "en"
    assert [page.locator(tag).count() for tag in ("main", "header", "nav")] == [1, 1, 1]
    assert page.get_attribute("#status", "role") == "status"
    levels = page.evaluate("[...document.querySelectorAll('h1, h2, h3')].map(e => Number(e.tagName[1]))")
    assert all(after - before <= 1 for before, after in pairwise(levels))
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(element => element.id)")
    assert len(ids) == len(set(ids))


def test_keys_are_told_and_leave_fields_alone(table):
    page, name = table()
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    page.click("#setup summary")
    page.locator("#deal").press_sequentially("nuha?1")
    assert page.input_value("#deal") == "nuha?1"
    assert not page.locator("#help").is_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#setup")).to_be_hidden()
    # The first stop of the tab key leads past everything, and keeps the table in the address.
    page.reload()
    expect(lit(page).first).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.parentElement.parentElement.id") == "choices"
    assert page.url.endswith(f"#{name}")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.firstChild.textContent") == "2"


def test_nothing_moves_for_people_who_ask_for_that(table):
    page, _ = table({"reduced_motion": "reduce"})
    page.keyboard.press("h")
    hinted = page.locator("#board .hinted")
    expect(hinted).to_be_visible()
    assert hinted.evaluate("element => element.getAnimations().length") == 0


def test_the_page_asks_its_own_server_alone(server, page_of, table):
    page, _ = table()
    click_through(page, random.Random(1), 2)
    page.click("#new")
    expect(page.locator("#setup")).to_be_visible()
    assert {request.split("/", 3)[2] for request in page_of.requests} == {server.address.split("//")[1]}
