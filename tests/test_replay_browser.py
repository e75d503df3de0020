"""The page of a game, opened from the disk in a real browser."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from playwright.sync_api import expect

from spirits_env import record
from spirits_env.agents import make_agent
from spirits_env.analysis import analyse
from spirits_env.render.page import replay_page
from spirits_env.state import State

if TYPE_CHECKING:
    from browser import Pages
    from playwright.sync_api import Page

pytest_plugins = ["browser"]
pytestmark = pytest.mark.browser

# Whether the board on the page is the given drawing, node by node.
_SAME_BOARD = """svg => {
  const other = document.createElement("div");
  other.innerHTML = svg;
  return document.querySelector("#board svg").isEqualNode(other.querySelector("svg"));
}"""


def played(game: str = "forest", players: int = 2, seed: int = 0) -> State:
    state, rng = State(game, players, seed=seed), np.random.default_rng(seed)
    while state.seat >= 0:
        state.play(rng.choice(state.legal_actions()))
    return state


@pytest.fixture(scope="module")
def whole() -> State:
    return played(seed=4)


@pytest.fixture(scope="module")
def slips(whole: State) -> list[int]:
    found = [one.ply for one in analyse(whole, make_agent("policy:forest")) if one.mistake]
    assert len(found) > 3
    return found


@pytest.fixture(scope="module")
def address(whole: State, tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("page") / "game.html"
    file.write_text(replay_page(whole, agent="policy:forest"), encoding="utf-8")
    return file.as_uri()


def opened(pages: Pages, address: str, **settings: Any) -> Page:
    page = pages(**settings)
    page.goto(address)
    return page


def at(page: Page) -> int:
    """The position shown, on which slider, list, chart and address agree."""
    ply = int(page.locator("#slider").input_value())
    assert page.locator("#list [aria-current=step]").get_attribute("data-ply") == str(ply)
    assert {line.get_attribute("data-ply") for line in page.locator(".chart .now").all()} == {str(ply)}
    return ply


def position(whole: State, ply: int) -> State:
    return record.replay(record.write(whole), ply)


def check_board(page: Page, state: State, seat: int | None = None) -> None:
    assert page.evaluate(_SAME_BOARD, state.svg(seat, "auto"))
    tiles = re.findall('class="tile"', state.svg(seat))
    assert page.locator("#board .tile").count() == len(tiles)


def test_every_board_is_the_drawing_of_its_position(page_of: Pages, address: str, whole: State) -> None:
    page = opened(page_of, address)
    assert at(page) == 0
    state = position(whole, 0)
    for action in whole.history:
        check_board(page, state)
        status = page.locator("#status").inner_text()
        assert state.tell(action) in status
        assert f"Seat {state.seat}:" in status
        state.play(action)
        page.keyboard.press("ArrowRight")
    check_board(page, state)
    assert at(page) == len(whole.history)
    assert f"Seat {whole.winners()[0]} wins" in page.locator("#status").inner_text()
    assert page_of.requests == [address]


@pytest.mark.parametrize(("game", "players", "seat"), [("forest", 4, None), ("forest", 3, 2), ("wild", 2, None)])
def test_other_games_and_views_are_shown(
    page_of: Pages, tmp_path: Path, game: str, players: int, seat: int | None
) -> None:
    whole = played(game, players, seed=players)
    file = tmp_path / "game.html"
    file.write_text(replay_page(whole, seat), encoding="utf-8")
    page = opened(page_of, file.as_uri())
    for ply in (0, 17, 40, len(whole.history)):
        page.goto(f"{file.as_uri()}#{ply}")
        check_board(page, position(whole, ply), seat)
    assert page.locator("#points-section").is_visible() == (seat is None)
    assert page.locator("#thought-section").is_hidden()
    assert page.locator("#mistake").is_hidden()
    assert page.locator("#seats li").count() == players
    assert page.locator("#count-body tr").count() == len(whole.explain())


def test_keys_go_through_the_game(page_of: Pages, address: str, whole: State) -> None:
    page = opened(page_of, address)
    last = len(whole.history)
    steps = [("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", last), ("ArrowRight", last)]
    steps += [("ArrowLeft", last - 1), ("Home", 0), ("ArrowLeft", 0)]
    for key, ply in steps:
        page.keyboard.press(key)
        assert at(page) == ply
        assert page.url.endswith(f"#{ply}")
    # On the slider and in the list the keys mean the same, and count once.
    for place in ("#slider", "#list [data-ply='0']", "#frame"):
        page.locator(place).focus()
        page.keyboard.press("Home")
        page.keyboard.press("ArrowRight")
        assert at(page) == 1


def test_buttons_go_through_the_game(page_of: Pages, address: str, whole: State) -> None:
    page = opened(page_of, address)
    last = len(whole.history)
    assert page.locator("#back").is_disabled()
    for button, ply in (("next", 1), ("next", 2), ("back", 1), ("last", last), ("back", last - 1), ("first", 0)):
        page.locator(f"#{button}").click()
        assert at(page) == ply
    page.locator("#slider").fill("33")
    assert at(page) == 33
    check_board(page, position(whole, 33))


def test_a_click_in_the_list_or_a_chart_goes_there(page_of: Pages, address: str, whole: State) -> None:
    page = opened(page_of, address)
    page.locator("#list button[data-ply='41']").click()
    assert at(page) == 41
    check_board(page, position(whole, 41))
    before = page.evaluate("window.scrollY")
    for chart in ("#points-chart", "#value-chart"):
        # The line of the present position tells where positions lie.
        places = {}
        for ply in (0, len(whole.history)):
            page.evaluate(f"location.hash = '#{ply}'")
            expect(page.locator("#slider")).to_have_value(str(ply))
            box = page.locator(f"{chart} .now").bounding_box()
            assert box is not None
            places[ply] = box["x"] + box["width"] / 2
        frame = page.locator(chart).bounding_box()
        assert frame is not None
        for ply in (25, 60):
            share = ply / len(whole.history)
            x = places[0] + share * (places[len(whole.history)] - places[0]) - frame["x"]
            page.locator(chart).click(position={"x": x, "y": 60})
            assert at(page) == ply
    assert page.evaluate("window.scrollY") >= before


def test_the_list_follows_the_game(page_of: Pages, address: str, whole: State) -> None:
    page = opened(page_of, address)
    for ply in (0, 50, len(whole.history), 20):
        page.locator("#slider").fill(str(ply))
        inside = page.evaluate(
            """() => {
              const entry = document.querySelector("#list [aria-current]").getBoundingClientRect();
              const list = document.querySelector("#list").getBoundingClientRect();
              return entry.top >= list.top - 1 && entry.bottom <= list.bottom + 1;
            }"""
        )
        assert inside
        assert page.evaluate("window.scrollY") == 0


def test_the_game_plays_by_itself_until_its_end(page_of: Pages, address: str, whole: State) -> None:
    page = opened(page_of, address)
    last = len(whole.history)
    page.locator("#speed").select_option(label="fastest")
    page.locator("#slider").fill(str(last - 3))
    page.locator("h1").click()
    page.keyboard.press("Space")
    assert page.locator("#play").get_attribute("aria-pressed") == "true"
    assert page.locator("#play").inner_text() == "Pause"
    expect(page.locator("#slider")).to_have_value(str(last))
    expect(page.locator("#play")).to_have_attribute("aria-pressed", "false")
    # At the end it begins anew; a second press stops it.
    page.locator("#play").click()
    expect(page.locator("#slider")).to_have_value("2")
    page.keyboard.press("Space")
    assert page.locator("#play").inner_text() == "Play"
    stopped = at(page)
    page.wait_for_timeout(400)
    assert at(page) == stopped


def test_mistakes_are_marked_and_found(page_of: Pages, address: str, slips: list[int]) -> None:
    page = opened(page_of, address)
    for place in ("#marks [data-ply]", "#value-chart .slip", "#list button:has(.flag)"):
        assert [int(mark.get_attribute("data-ply") or -1) for mark in page.locator(place).all()] == slips
    first = [ply for ply in slips if ply > 0]
    page.keyboard.press("m")
    assert at(page) == first[0]
    page.locator("#mistake").click()
    assert at(page) == first[1]
    assert "Likely a mistake." in page.locator("#status").inner_text()
    page.keyboard.press("Shift+M")
    assert at(page) == first[0]
    page.keyboard.press("End")
    page.keyboard.press("m")
    assert at(page) == slips[0]


def test_the_policys_mind_is_told_at_each_decision(page_of: Pages, address: str, whole: State) -> None:
    judged = analyse(whole, make_agent("policy:forest"))
    page = opened(page_of, address)
    assert page.locator("#thought-heading").inner_text() == "What policy:forest thinks"
    for ply in (0, 12, 31, 58):
        page.goto(f"{address}#{ply}")
        one = judged[ply]
        text = page.locator("#thought-text").inner_text()
        assert f"{abs(one.value):.2f} for seat {one.seat}" in text
        rows = page.locator("#choices .row")
        assert rows.count() == len(one.probabilities)
        marked = page.locator("#choices li.played")
        assert marked.count() == 1
        state = position(whole, ply)
        assert state.tell(one.action) in marked.inner_text()
        assert state.tell(one.best) in rows.first.inner_text()
        width = page.locator("#choices .bar i").first.evaluate("bar => parseFloat(bar.style.width)")
        assert width == pytest.approx(100 * one.probabilities[one.best], abs=0.1)
    page.keyboard.press("End")
    assert page.locator("#choices li").count() == 0


def test_an_address_leads_to_its_position(page_of: Pages, address: str, whole: State) -> None:
    page = opened(page_of, f"{address}#37")
    assert at(page) == 37
    check_board(page, position(whole, 37))
    page.goto(f"{address}#12")
    assert at(page) == 12
    assert at(opened(page_of, f"{address}#99999")) == len(whole.history)
    assert at(opened(page_of, f"{address}#nonsense")) == 0


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_no_width_makes_the_page_overflow(page_of: Pages, address: str, width: int) -> None:
    page = opened(page_of, f"{address}#36", width=width, height=780)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    for button in page.locator(".controls button").all():
        box = button.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["height"] >= 36
    page.locator("#next").click()
    assert at(page) == 37


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_and_board_follow_the_colours_that_the_reader_prefers(page_of: Pages, address: str, scheme: str) -> None:
    page = opened(page_of, address, colour_scheme=scheme)

    def lightness(selector: str, value: str) -> float:
        colour = page.locator(selector).first.evaluate(f"element => getComputedStyle(element).{value}")
        return sum(map(int, re.findall(r"\d+", colour)[:3])) / 3

    paper, text = lightness("body", "backgroundColor"), lightness("body", "color")
    board = lightness("#board svg > rect", "fill")
    assert (paper > 200) == (board > 200) == (text < 100) == (scheme == "light")
    assert (paper < 60) == (board < 60) == (scheme == "dark")


@pytest.mark.parametrize("screen", [{}, {"colour_scheme": "dark"}, {"width": 360, "height": 740}])
def test_nothing_keeps_people_out(page_of: Pages, address: str, screen: dict[str, Any]) -> None:
    from browser import barriers

    page = page_of(**screen)
    page.goto(f"{address}#20")
    assert barriers(page) == []
    page.keyboard.press("End")
    assert barriers(page) == []


def test_screen_readers_get_names_headings_and_news(page_of: Pages, address: str, whole: State) -> None:
    page = opened(page_of, address)
    assert page.locator("html").get_attribute("lang") == "en"
    assert page.get_by_role("heading", level=1).count() == 1
    last = len(whole.history)
    assert page.get_by_role("img", name=f"Board after 0 of {last} decisions").count() == 1
    names = ["First position", "One decision back", "Play", "One decision on", "Last position", "Next mistake"]
    for name in names:
        assert page.get_by_role("button", name=name, exact=True).count() == 1
    slider = page.get_by_role("slider", name="Position")
    assert slider.get_attribute("aria-valuetext") == f"0 of {last}"
    assert page.locator("#status").get_attribute("aria-live") == "polite"
    page.keyboard.press("Space")
    assert page.locator("#status").get_attribute("aria-live") == "off"
    page.keyboard.press("Space")
    state = position(whole, 0)
    entry = page.locator("#list button[data-ply='0']")
    assert entry.text_content() == f"00seat {state.seat}: {state.tell(whole.history[0])}"
    assert page.locator(".chart svg[role=img][aria-label]").count() == 2
    assert page.get_by_role("columnheader").count() == whole.players + 1


def test_strange_names_stay_text(page_of: Pages, whole: State, tmp_path: Path) -> None:
    name = "</script><img src=x onerror=alert(1)>\"'&<!--"
    agent = make_agent("policy:forest")
    agent.name = name
    file = tmp_path / "game.html"
    file.write_text(replay_page(whole, agent=agent, title=name), encoding="utf-8")
    page = opened(page_of, file.as_uri())
    assert page.locator("h1").text_content() == name
    assert page.locator("#thought-heading").text_content() == f"What {name} thinks"
    assert page.locator("main img").count() == 0
    assert page.title() == name


def test_the_page_works_in_the_frame_of_a_notebook(page_of: Pages, whole: State, tmp_path: Path) -> None:
    file = tmp_path / "notebook.html"
    source = escape(replay_page(whole, agent="policy:forest"))
    file.write_text(f'<meta charset="utf-8"><iframe width="1000" height="800" srcdoc="{source}"></iframe>', "utf-8")
    page = opened(page_of, file.as_uri())
    frame = page.frame_locator("iframe")
    frame.locator("#next").click()
    frame.locator("#next").click()
    expect(frame.locator("#slider")).to_have_value("2")


def test_a_game_without_decisions_has_a_page(page_of: Pages, tmp_path: Path) -> None:
    file = tmp_path / "game.html"
    state = State("forest", 3, seed=1)
    file.write_text(replay_page(state, agent="policy:forest"), encoding="utf-8")
    page = opened(page_of, file.as_uri())
    assert at(page) == 0
    check_board(page, state)
    page.keyboard.press("m")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowRight")
    assert at(page) == 0
