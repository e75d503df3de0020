"""Drawings of Spirits of the Forest: they show every fact of a position, and nothing that a seat may not know."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from xml.etree.ElementTree import Element, fromstring

import numpy as np
import pytest
from numba import config

from spirits_env import games
from spirits_env.drawing import letter_path, text_width, write
from spirits_env.games.forest.components import COLUMNS, ICONS, POWERS, SPIRITS, TOKEN_CELLS, TOKENS
from spirits_env.games.forest.state import END, HELD, LYING, PHASES
from spirits_env.render import svg_to_rgb
from spirits_env.state import State

CODES = [icon[:3] for icon in ICONS]
PLAYERS = [1, 2, 3, 4]


@pytest.fixture(autouse=True)
def no_observations(monkeypatch: pytest.MonkeyPatch) -> None:
    # Uncompiled, observations would take most of the time; nothing here looks at them.
    if config.DISABLE_JIT:
        monkeypatch.setattr(games, "load", lambda name: BLIND_GAME)


def observe_nothing(state: object, seat: int, out: np.ndarray) -> None:
    pass


BLIND_GAME = replace(games.load("forest"), observe=observe_nothing)


def positions(players: int, seed: int, every: int = 7, **options: object) -> Iterator[State]:
    """Play a game uniformly at random; yield a position now and then, and the last two."""
    chance = random.Random(seed)
    state = State("forest", players=players, seed=seed, **options)
    plies = 0
    while state.seat >= 0:
        before = state.copy()
        if plies % every == 0:
            yield before
        state.play(chance.choice(state.legal_actions()))
        plies += 1
    yield before
    yield state


def reach(players: int, phase: str) -> State:
    """Play at random until a phase is asked."""
    for seed in range(100):
        for state in positions(players, seed, every=1):
            if state.phase == phase:
                return state
    raise AssertionError(phase)


def by_class(svg: str, name: str) -> list[dict[str, str]]:
    """Return the attributes of all elements of a class."""
    return [element.attrib for element in fromstring(svg).iter() if element.get("class") == name]


def views(state: State) -> list[int | None]:
    return [None, *range(state.players)]


def face_up(state: State, seat: int | None, cell: int) -> bool:
    row, column = divmod(cell, COLUMNS)
    return seat is None or state.players > 1 or column in (state.record.left[row], state.record.right[row])


def known_count(state: State, seat: int | None, owner: int, icon: int) -> int:
    record = state.record
    count = int(record.icons[owner, icon])
    for kind, holder, status in zip(record.token, record.token_seat, record.token_status, strict=True):
        if holder != owner or kind != icon:
            continue
        if state.players == 1:
            count += int(owner == 0 or status > HELD)
        else:
            count += int(status == HELD and (seat in (None, owner) or state.seat < 0))
    return count


def end_cells(state: State) -> set[int]:
    """Return the cells that the legal actions 0 to 7 stand for."""
    cells = set()
    for action in state.legal_actions():
        if action < 8:
            row, side = divmod(action, 2)
            cells.add(row * COLUMNS + int((state.record.right if side else state.record.left)[row]))
    return cells


def board_lines(state: State, text: str) -> tuple[list[str], list[str]]:
    """Return the text of each cell's tile, and of what lies on it."""
    lines = text.splitlines()
    tiles, things = [], []
    for row in range(4):
        start = next(i for i, line in enumerate(lines) if line.startswith(f"row {row}"))
        for column in range(COLUMNS):
            place = slice(7 + 8 * column, 15 + 8 * column)
            tiles.append(lines[start][place].strip())
            things.append(lines[start + 1][place].strip() if state.players > 1 else "")
    return tiles, things


def test_every_tile_is_drawn() -> None:
    for players in PLAYERS:
        for state in positions(players, players):
            for seat in views(state):
                record = state.record
                drawn = {int(tile["data-cell"]): tile for tile in by_class(state.svg(seat), "tile")}
                text, _ = board_lines(state, state.text(seat))
                assert sorted(drawn) == np.flatnonzero(record.present).tolist()
                for cell in range(48):
                    if not record.present[cell]:
                        assert text[cell] == "."
                    elif not face_up(state, seat, cell):
                        assert drawn[cell] == {"class": "tile", "data-cell": str(cell), "data-spirit": "hidden"}
                        assert text[cell] == "???"
                    else:
                        power = POWERS[record.power[cell]] if record.power[cell] >= 0 else None
                        assert drawn[cell]["data-spirit"] == SPIRITS[record.spirit[cell]]
                        assert drawn[cell]["data-symbols"] == str(record.symbols[cell])
                        assert drawn[cell].get("data-power") == power
                        words = f"{CODES[record.spirit[cell]]}{record.symbols[cell]}{power[0] if power else ''}"
                        assert text[cell].strip("[]{}") == words


def test_every_gem_and_lying_token_is_drawn() -> None:
    for players in PLAYERS[1:]:
        for state in positions(players, 10 + players):
            record = state.record
            for seat in views(state):
                svg = state.svg(seat)
                gems = {int(gem["data-cell"]): int(gem["data-seat"]) for gem in by_class(svg, "gem")}
                tokens = {int(token["data-cell"]): token.get("data-kind") for token in by_class(svg, "token")}
                _, text = board_lines(state, state.text(seat))
                assert gems == {cell: gem for cell, gem in enumerate(record.gem) if gem >= 0}
                assert tokens == {
                    row * COLUMNS + column: TOKENS[kind] if seat is None else None
                    for (row, column), kind, status in zip(TOKEN_CELLS, record.token, record.token_status, strict=True)
                    if status == LYING
                }
                for cell in range(48):
                    gem, *token = text[cell].split() if cell in gems else ["", *text[cell].split()]
                    assert gem == (f"g{gems[cell]}" if cell in gems else "")
                    name = tokens.get(cell)
                    code = [] if cell not in tokens else ["o" if name is None else "+" if name == "plus" else name[:3]]
                    assert [word for word in token if not word.startswith("^")] == code


def table(state: State, text: str) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows of the text's table."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.lstrip().startswith("bra "))
    return lines[start].split(), [lines[start + 1 + owner][9:].split() for owner in range(max(2, state.players))]


def test_every_count_is_drawn() -> None:
    for players in PLAYERS:
        icons = 9 if players == 1 else 12
        for state in positions(players, 20 + players):
            for seat in views(state):
                drawn = {(int(c["data-seat"]), c["data-icon"]): c for c in by_class(state.svg(seat), "count")}
                header, rows = table(state, state.text(seat))
                assert len(drawn) == len(rows) * icons
                assert header[:icons] == CODES[:icons]
                for icon in range(icons):
                    column = [known_count(state, seat, owner, icon) for owner in range(len(rows))]
                    for owner, count in enumerate(column):
                        leads = 0 < count == max(column)
                        missing = not state.record.icons[owner, icon] and (players > 1 or owner == 0)
                        element = drawn[owner, ICONS[icon]]
                        assert element["data-value"] == str(count)
                        assert ("data-leads" in element, "data-missing" in element) == (leads, missing)
                        assert rows[owner][icon] == f"{count}{'*' * leads}{'!' * missing}"


def test_possessions_and_points_are_drawn() -> None:
    fields = {"tiles": "tiles", "hand": "hand", "lost": "removed"}
    names = {"lost": "out"}
    for players in PLAYERS:
        for state in positions(players, 30 + players):
            for seat in views(state):
                svg = state.svg(seat)
                header, rows = table(state, state.text(seat))
                for word in header[9 if players == 1 else 12 :]:
                    drawn = [int(number["data-value"]) for number in by_class(svg, names.get(word, word))]
                    written = [int(row[header.index(word)]) for row in rows if len(row) > header.index(word)]
                    facts = state.scores() if word == "points" else state.record[fields[word]][: len(rows)].tolist()
                    assert drawn == written == facts
                assert ("points" in header) == (seat is None or state.seat < 0)


def test_own_tokens_are_named_and_others_counted() -> None:
    seen = 0
    for state in positions(3, 2, every=1):
        record = state.record
        for seat in views(state):
            held = by_class(state.svg(seat), "held")
            lines = [line for line in state.text(seat).splitlines() if " tokens: " in line]
            for owner, line in enumerate(lines):
                mine = [int(kind) for kind, who in zip(record.token, record.token_seat, strict=True) if who == owner]
                used = sum((record.token_seat == owner) & (record.token_status > HELD))
                assert (f"{used} used +" in line) == (used > 0)
                discs = [token for token in held if token["data-seat"] == str(owner)]
                assert len(discs) == len(mine) - used
                if seat is None:
                    names = [TOKENS[kind] for kind in mine]
                    assert sorted([disc["data-kind"] for disc in discs] + ["plus"] * used) == sorted(names)
                if seat not in (None, owner) and state.seat >= 0:
                    assert not any("data-kind" in disc for disc in discs)
                    assert (f"{len(discs)} hidden" in line) == (len(discs) > 0)
                    seen += len(discs)
    assert seen


def test_names_of_many_tokens_leave_room_for_the_numbers() -> None:
    state = State("forest", 2, seed=1)
    for held in range(len(TOKEN_CELLS) + 1):
        state.record.token_status[:held] = HELD
        state.record.token_seat[:held] = 0
        svg = state.svg()
        assert len(by_class(svg, "held")) == held
        for part in fromstring(svg).iter():
            if part.get("class") == "text" and ", " in str(part.get("data-text")):
                ends = [float(x) for x in re.findall(r"[ML]([\d.]+) ", str(part.get("d")))]
                assert max(ends) < 910


def test_ends_that_can_be_taken_are_outlined() -> None:
    for players in PLAYERS:
        for forced_steal in (True, False):
            for state in positions(players, 40 + players, forced_steal=forced_steal):
                outlined = {int(end["data-cell"]) for end in by_class(state.svg(None), "takeable")}
                assert outlined == end_cells(state)
                text, _ = board_lines(state, state.text(0))
                assert {cell for cell, words in enumerate(text) if words.startswith("[")} == outlined


def test_a_player_without_gems_cannot_take_gemmed_ends() -> None:
    for seed in range(3):
        for state in positions(4, seed, every=1):
            if state.seat >= 0 and state.record.hand[state.seat] + state.record.placed[state.seat] == 0:
                assert {int(end["data-cell"]) for end in by_class(state.svg(0), "takeable")} == end_cells(state)


def test_the_tile_being_paid_for_is_marked() -> None:
    state = reach(2, "pay")
    cell = int(state.record.paying)
    assert [mark["data-cell"] for mark in by_class(state.svg(0), "paying")] == [str(cell)]
    text, _ = board_lines(state, state.text(0))
    assert [i for i, words in enumerate(text) if words.startswith("{")] == [cell]
    assert "payment" in state.text(1)


def test_the_origin_of_the_lifted_gem_is_marked() -> None:
    state = reach(2, "move")
    cell = int(state.record.lifted)
    assert [mark["data-cell"] for mark in by_class(state.svg(0), "lifted")] == [str(cell)]
    _, text = board_lines(state, state.text(0))
    assert [i for i, words in enumerate(text) if words.startswith("^")] == [cell]


@pytest.mark.parametrize("players", PLAYERS)
def test_what_a_seat_cannot_know_is_not_drawn(players: int) -> None:
    changed = False
    for state in positions(players, 50 + players, every=5):
        if state.seat < 0:
            continue
        for seat in range(players):
            other = state.redealt(seat, 1)
            assert other.svg(seat) == state.svg(seat)
            assert other.text(seat) == state.text(seat)
            changed |= other.svg() != state.svg() and other.text() != state.text()
    assert changed


def test_the_headline_tells_whose_decision_it_is() -> None:
    for state in positions(3, 60):
        root: Element = fromstring(state.svg(1))
        assert root.get("data-turn") == str(state.turn)
        assert root.get("data-phase") == state.phase == PHASES[state.record.phase]
        assert root.get("data-seat") == str(state.seat)
        if state.seat >= 0:
            assert state.text(2).startswith(f"turn {state.turn + 1}: seat {state.seat}, ")


def test_the_end_shows_the_winners() -> None:
    results = set()
    for players, seed in [(1, 0), (2, 0), (2, 1), (3, 0), (4, 0)]:
        *_, before, after = positions(players, 70 + seed)
        assert after.record.phase == END
        for seat in views(after):
            assert before.svg(seat) != after.svg(seat)
            assert before.text(seat) != after.text(seat)
            winners = sorted({int(mark["data-seat"]) for mark in by_class(after.svg(seat), "winner")})
            assert winners == (after.winners() or [1])
            headline = after.text(seat).splitlines()[0]
            names = ["opponent" if players == 1 and owner else f"seat {owner}" for owner in winners]
            assert headline.split(": ")[1].startswith(" and ".join(names))
            results.add(headline.split()[-1])
            assert not by_class(before.svg(seat), "winner")
    assert results >= {"wins"}


def test_a_shared_win_is_told() -> None:
    *_, state = positions(2, 0)
    record = state.record
    for field in ("icons", "tiles"):
        record[field][:2] = record[field][0]
    record.token_seat[:] = -1
    assert state.winners() == [0, 1]
    assert "seat 0 and seat 1 share the win" in state.text()


def test_a_solitaire_win_is_told() -> None:
    *_, state = positions(1, 0)
    state.record.icons[0] = 9
    assert state.winners() == [0]
    assert "seat 0 wins" in state.text(0)
    assert [int(number["data-value"]) for number in by_class(state.svg(0), "points")] == state.scores()


def test_solitaire_shows_the_opponents_tokens_as_they_turn_up() -> None:
    kinds = set()
    for state in positions(1, 3, every=1):
        held = [token for token in by_class(state.svg(0), "held") if token["data-seat"] == "1"]
        up = [status > HELD for status in state.record.token_status[1:3]]
        assert len(held) == 2
        assert sum("data-kind" in token for token in held) == sum(up)
        assert all("data-kind" in token for token in by_class(state.svg(), "held"))
        kinds.add(sum(up))
    assert kinds == {0, 1, 2}


def test_text_is_plain_and_narrow() -> None:
    for players in PLAYERS:
        for state in positions(players, 80 + players, every=11):
            for seat in views(state):
                text = state.text(seat)
                assert text.isascii()
                assert text.replace("\n", "").isprintable()
                assert max(map(len, text.splitlines())) <= 110


def test_drawing_leaves_the_game_alone() -> None:
    for state in positions(2, 90, every=20):
        before = state.record.tobytes()
        state.svg(0)
        state.text(1)
        assert state.record.tobytes() == before


def test_the_picture_needs_no_font_and_nothing_from_outside() -> None:
    for players in PLAYERS:
        root = fromstring(State("forest", players=players, seed=1).svg())
        tags = {element.tag.split("}")[1] for element in root.iter()}
        assert tags <= {"svg", "g", "rect", "path", "circle", "title"}
        assert root.get("viewBox", "").startswith("0 0 1100 ")


@pytest.mark.parametrize("width", [300, 960])
def test_a_picture_has_the_asked_width(width: int) -> None:
    picture = svg_to_rgb(State("forest", seed=2).svg(0), width)
    assert picture.dtype == np.uint8
    assert picture.shape[1:] == (width, 3)
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 20


def test_a_picture_shows_another_position_otherwise() -> None:
    first, second = State("forest", seed=2), State("forest", seed=2)
    second.play(0)
    assert (svg_to_rgb(first.svg()) != svg_to_rgb(second.svg())).any()


@pytest.mark.parametrize("library", ["PIL", "resvg_py"])
def test_missing_libraries_are_named(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=r'pip install "spirits-env\[render\]"'):
        svg_to_rgb("<svg/>")


def test_letters_are_strokes() -> None:
    paths = [letter_path(character, 0, 0, 6) for character in "ABCDEFGHIJKLMNPQRSTUVWXYZ0123456789+-:/.,'\"()?"]
    assert len(set(paths)) == len(paths)
    assert all(path.startswith("M") for path in paths)
    assert letter_path(" ", 0, 0, 6) == ""
    assert letter_path("é", 0, 0, 6) == letter_path("?", 0, 0, 6)
    assert text_width("", 6) == 0
    assert text_width("ab", 6) == 10
    assert 'data-text="&lt;&quot;"' in write('<"', 0, 0, 6, "black", 0.5)
