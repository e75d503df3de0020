"""The forest drawn as text and as a scene: everything a seat may know is there, and nothing else."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

from spirits_env import games
from spirits_env.batch import Batch, kernels
from spirits_env.game import choose_uniform, stream
from spirits_env.games.forest.components import (
    CELLS,
    COLUMNS,
    ICONS,
    PLUS_TOKEN,
    POWERS,
    SPIRITS,
    TOKEN_AT,
    TOKENS,
)
from spirits_env.games.forest.state import END, FIRST, HELD, LYING, PHASES, SECOND, USED
from spirits_env.render import strokes_for_text, svg_to_rgb

GAME = games.load("forest")
CODES = ("Br", "Mo", "Dd", "Mu", "Fl", "Ws", "Fr", "Vi", "Le")


@dataclass(frozen=True)
class Position:
    """A state as an array of one record, with the mask of the seat to act and the points as they stand."""

    states: np.ndarray
    mask: np.ndarray
    points: np.ndarray
    won: np.ndarray

    @property
    def state(self) -> Any:
        return self.states[0]


@cache
def positions(players: int, seed: int, forced_steal: bool = True) -> tuple[Position, ...]:
    """Every position of one random game."""
    batch = Batch(GAME, 1, players, {"forced_steal": forced_steal})
    batch.reset([seed])
    actions = np.zeros(1, np.int64)
    path = []
    while True:
        utility, points, won = batch.utility.copy(), batch.points.copy(), batch.won.copy()
        kernels(GAME).outcome(batch.states, batch.lanes, utility, points, won)
        path.append(Position(batch.states.copy(), batch.mask[0].copy(), points[0], won[0]))
        if batch.seat[0] < 0:
            return tuple(path)
        choose_uniform(batch.chance[:, 0], batch.mask, actions)
        batch.step(actions)


def one_per_phase(players: int) -> list[Position]:
    """Positions of a few games: for each phase some, early and late."""
    found: dict[tuple[int, int], Position] = {}
    for seed in range(6):
        for position in positions(players, seed):
            found[int(position.state.phase), int(position.state.turn) // 12] = position
    return list(found.values())


def viewers(position: Position) -> list[int | None]:
    return [None, *range(int(position.state.players))]


def groups(svg: str, kind: str) -> list[ET.Element]:
    """The groups of a class in a scene."""
    return [element for element in ET.fromstring(svg).iter() if element.get("class") == kind]


def facts(svg: str, kind: str, *names: str) -> list[tuple[str, ...]]:
    """The `data-` attributes of the groups of a class, sorted."""
    return sorted(tuple(group.get(f"data-{name}", "") for name in names) for group in groups(svg, kind))


def strings(rows: list[tuple[object, ...]]) -> list[tuple[str, ...]]:
    return sorted(tuple(str(value) for value in row) for row in rows)


def is_seen(state: Any, seat: int | None, cell: int) -> bool:
    """Tell whether a tile's face is known: alone, only the ends of the rows are."""
    row, column = divmod(cell, COLUMNS)
    return seat is None or state.players > 1 or column in (state.left[row], state.right[row])


def known_tokens(state: Any, seat: int | None) -> list[tuple[int, str, int]]:
    """Owner, name and use of each collected token, as the viewer may know it."""
    made = []
    for kind, owner, status in zip(state.token, state.token_seat, state.token_status, strict=True):
        if status == LYING or owner < 0:
            continue
        known = seat is None or state.phase == END or status == USED or (status == HELD and owner == seat)
        used = int(status == USED and state.players > 1)
        made.append((int(owner), TOKENS[kind] if known else "?", used))
    return made


@pytest.mark.parametrize("players", GAME.players)
def test_the_scene_holds_every_tile_gem_and_lying_token(players: int) -> None:
    for position in one_per_phase(players):
        state = position.state
        for seat in viewers(position):
            svg = GAME.draw_scene(state, seat)
            tiles, gems, tokens = [], [], []
            for cell in np.flatnonzero(state.present):
                seen = is_seen(state, seat, cell)
                power = POWERS[state.power[cell]] if seen and state.power[cell] >= 0 else ""
                tiles.append((cell, SPIRITS[state.spirit[cell]] if seen else "?", state.symbols[cell] * seen, power))
                if state.gem[cell] >= 0:
                    gems.append((cell, state.gem[cell]))
                if players > 1 and TOKEN_AT[cell] >= 0:
                    tokens.append((cell, TOKENS[state.token[TOKEN_AT[cell]]] if seat is None else "?"))
            assert facts(svg, "tile", "cell", "spirit", "symbols", "power") == strings(tiles)
            assert facts(svg, "gem", "cell", "seat") == strings(gems)
            assert facts(svg, "token", "cell", "name") == strings(tokens)
            empty = [(cell,) for cell in range(CELLS) if not state.present[cell]]
            assert facts(svg, "empty", "cell") == strings(empty)


@pytest.mark.parametrize("players", GAME.players)
def test_the_scene_holds_what_lies_before_each_seat(players: int) -> None:
    for position in one_per_phase(players):
        state = position.state
        collectors = range(max(players, 2))
        for seat in viewers(position):
            svg = GAME.draw_scene(state, seat)
            counts = [(i, name, state.icons[i, n]) for i in collectors for n, name in enumerate(ICONS)]
            assert facts(svg, "count", "seat", "icon", "count") == strings(counts)
            sides = [(i, state.tiles[i], state.hand[i], state.removed[i], int(state.seat == i)) for i in collectors]
            assert facts(svg, "side", "seat", "tiles", "hand", "removed", "acts") == strings(sides)
            assert facts(svg, "held-token", "seat", "name", "used") == strings(known_tokens(state, seat))
            for kind, numbers in (("hand-gem", state.hand), ("removed-gem", state.removed)):
                key = kind == "removed-gem" and players > 1  # one more is in the legend
                assert len(groups(svg, kind)) == int(numbers.sum()) + key
            unused = [(TOKENS[kind],) for kind in state.unused] if seat is None else []
            assert facts(svg, "unused-token", "name") == strings(unused)


@pytest.mark.parametrize("players", GAME.players)
def test_marks_show_the_decision(players: int) -> None:
    for position in one_per_phase(players):
        state = position.state
        marks = {
            int(tile.get("data-cell", "")): tile.get("data-mark", "")
            for tile in groups(GAME.draw_scene(state, 0), "tile")
        }
        ends = set()
        if state.phase in (FIRST, SECOND):
            for end in np.flatnonzero(position.mask[:8]):
                row, side = divmod(int(end), 2)
                ends.add(row * COLUMNS + int((state.left, state.right)[side][row]))
        assert {cell for cell, mark in marks.items() if mark == "takeable"} == ends
        for name, cell in (("paying", state.paying), ("lifted", state.lifted)):
            marked = [at for at, mark in marks.items() if mark == name]
            assert marked == ([cell] if cell >= 0 else [])


@pytest.mark.parametrize("players", GAME.players)
def test_points_leaders_and_winners_are_those_of_the_rules(players: int) -> None:
    for position in one_per_phase(players):
        state, over = position.state, position.state.phase == END
        for seat in viewers(position):
            svg = GAME.draw_scene(state, seat)
            shown = over or seat is None
            for side in groups(svg, "side"):
                i = int(side.get("data-seat", ""))
                points = str(position.points[i]) if shown and i < players else ""
                assert side.get("data-points") == points
                assert side.get("data-wins") == str(int(over and i < players and position.won[i]))
            counts = facts(svg, "count", "icon", "seat", "count", "tokens", "leads")
            for icon in SPIRITS if players == 1 else ICONS:
                totals = {row[1]: int(row[2]) + int(row[3]) for row in counts if row[0] == icon}
                leaders = {row[1] for row in counts if row[0] == icon and row[4] == "1"}
                most = max(totals.values())
                assert leaders == {i for i, total in totals.items() if total == most > 0}


@pytest.mark.parametrize("players", GAME.players)
def test_the_text_holds_the_same_facts(players: int) -> None:
    for position in one_per_phase(players):
        state = position.state
        for seat in viewers(position):
            text = GAME.draw_text(state, seat)
            assert text.isascii()
            lines = text.splitlines()
            assert max(len(line) for line in lines) <= 110
            for cell in range(CELLS):
                row, column = divmod(cell, COLUMNS)
                top, below = (lines[4 + 2 * row + i].ljust(110)[4 + 8 * column : 12 + 8 * column] for i in (0, 1))
                assert top[1:].strip(" ()") == expected_tile(state, seat, cell)
                assert (f"g{state.gem[cell]}" in below) == (state.gem[cell] >= 0)
                lying = players > 1 and state.present[cell] and TOKEN_AT[cell] >= 0
                assert ("(" in below) == bool(lying)
            for i in range(max(players, 2)):
                check_text_side(state, lines, i)


def expected_tile(state: Any, seat: int | None, cell: int) -> str:
    """What the text shows of a tile, brackets and marks aside."""
    if not state.present[cell]:
        return "."
    if not is_seen(state, seat, cell):
        return "??"
    row, column = divmod(cell, COLUMNS)
    power = POWERS[state.power[cell]] if state.power[cell] >= 0 else ""
    if state.players == 1 and column not in (state.left[row], state.right[row]):
        power = power[:1]
    return CODES[state.spirit[cell]] * state.symbols[cell] + f"-{power}" * bool(power)


def check_text_side(state: Any, lines: list[str], i: int) -> None:
    """Compare one line of the text's table with the state."""
    name = "opponent" if i >= state.players else f"seat {i}"
    line = next(line for line in lines if line[2:].startswith(f"{name} ") and "tokens" not in line)
    assert (line[0] == ">") == (state.seat == i)
    fields = line[12:].split()
    assert [int(field.rstrip("*!").split("+")[0]) for field in fields[:12]] == state.icons[i].tolist()
    rest = [state.tiles[i]] + ([state.hand[i], state.removed[i]] if state.players > 1 else [])
    assert [int(field) for field in fields[12 : 12 + len(rest)]] == rest


@pytest.mark.parametrize("players", GAME.players)
def test_a_seat_is_drawn_nothing_that_it_can_not_know(players: int) -> None:
    changed = 0
    for position in one_per_phase(players):
        if position.state.phase == END:
            continue
        for seat in range(players):
            other = position.states.copy()
            other["rng"] = stream(seat, 99)
            kernels(GAME).redeal(other, np.array([seat], np.int8))
            assert GAME.draw_scene(other[0], seat) == GAME.draw_scene(position.state, seat)
            assert GAME.draw_text(other[0], seat) == GAME.draw_text(position.state, seat)
            changed += GAME.draw_scene(other[0], None) != GAME.draw_scene(position.state, None)
            changed += GAME.draw_text(other[0], None) != GAME.draw_text(position.state, None)
    assert changed


def test_no_name_of_a_hidden_token_is_in_another_seats_view() -> None:
    checked = 0
    for position in one_per_phase(2):
        state = position.state
        held = [TOKENS[kind] for kind, *where in held_tokens(state) if where == [1, HELD]]
        if state.phase == END or not held:
            continue
        checked += 1
        line = next(x for x in GAME.draw_text(state, 0).splitlines() if x.startswith("seat 1 tokens"))
        names = line.replace(",", "").replace("plus (used)", "").split()[3:]
        assert not set(names) & {word for name in held for word in name.split("_")}
        own = next(x for x in GAME.draw_text(state, 1).splitlines() if x.startswith("seat 1 tokens"))
        assert all(name.replace("_", " ") in own for name in held)
    assert checked


def held_tokens(state: Any) -> list[tuple[int, int, int]]:
    """Kind, owner and status of each dealt token."""
    return [tuple(map(int, row)) for row in zip(state.token, state.token_seat, state.token_status, strict=True)]


def test_a_used_plus_is_shown_to_all() -> None:
    for seed in range(200):
        position = next(
            (p for p in positions(3, seed) if (p.state.token_status == USED).any() and p.state.seat >= 0),
            None,
        )
        if position is not None:
            break
    assert position is not None
    token = int(np.flatnonzero(position.state.token_status == USED)[0])
    assert position.state.token[token] == PLUS_TOKEN
    for seat in viewers(position):
        shown = facts(GAME.draw_scene(position.state, seat), "held-token", "seat", "name", "used")
        assert (str(position.state.token_seat[token]), "plus", "1") in shown
        assert "plus (used)" in GAME.draw_text(position.state, seat)


@pytest.mark.parametrize("players", GAME.players)
def test_the_end_differs_from_the_position_before_it(players: int) -> None:
    *_, before, last = positions(players, 0)
    for seat in viewers(last):
        assert GAME.draw_scene(last.state, seat) != GAME.draw_scene(before.state, seat)
        assert GAME.draw_text(last.state, seat) != GAME.draw_text(before.state, seat)
        assert "Game over" in GAME.draw_scene(last.state, seat)
        assert "Game over" in GAME.draw_text(last.state, seat)


def test_drawing_changes_nothing_and_says_the_phase() -> None:
    headlines = {}
    for position in one_per_phase(2) + one_per_phase(4):
        kept = position.states.copy()
        text = GAME.draw_text(position.state, 0)
        GAME.draw_scene(position.state, 0)
        assert position.states.tobytes() == kept.tobytes()
        headlines[PHASES[position.state.phase]] = " ".join(text.split()[2:4])
        if position.state.seat >= 0:
            assert text.startswith(f"Seat {position.state.seat} ")
    assert set(headlines) == set(PHASES)
    assert len(set(headlines.values())) >= 4


def test_the_option_is_told_where_it_is_not_the_default() -> None:
    for forced, told in ((True, False), (False, True)):
        state = positions(2, 0, forced)[0].state
        assert ("no forced steal" in GAME.draw_text(state, 0)) is told
        assert ("no forced steal" in GAME.draw_scene(state, 0)) is told


def test_the_scene_needs_no_other_file() -> None:
    svg = GAME.draw_scene(positions(4, 0)[10].state, None)
    root = ET.fromstring(svg)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"
    assert "href" not in svg
    assert "url(" not in svg
    # Several scenes may stand on one page.
    assert not [element for element in root.iter() if element.get("id")]


@pytest.mark.parametrize("players", GAME.players)
def test_a_picture_has_the_asked_width(players: int) -> None:
    pytest.importorskip("resvg_py")
    pytest.importorskip("PIL")
    svg = GAME.draw_scene(positions(players, 0)[5].state, 0)
    for width in (320, 960):
        picture = svg_to_rgb(svg, width)
        assert picture.dtype == np.uint8
        assert picture.shape[1:] == (width, 3)
        assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 50


def test_letters_need_no_font() -> None:
    pytest.importorskip("resvg_py")
    pytest.importorskip("PIL")
    box = '<svg xmlns="http://www.w3.org/2000/svg" width="100" height="20" fill="#f00">'
    picture = svg_to_rgb(f'{box}<text x="50" y="15" text-anchor="middle">ab 12</text></svg>', 200)
    inked = np.argwhere(picture[:, :, 1] < 128)
    assert len(inked) > 100
    # Red by inheritance, and in the middle.
    assert picture[tuple(inked[0])][0] > 200
    assert abs(inked[:, 1].mean() - 100) < 10


def test_every_printable_character_has_its_own_strokes() -> None:
    def drawn(letter: str) -> str:
        text = letter.replace("&", "&amp;").replace("<", "&lt;")
        return strokes_for_text(f'<svg xmlns="http://www.w3.org/2000/svg"><text y="1">{text}</text></svg>')

    printable = [chr(code) for code in range(33, 127)]
    assert len({drawn(letter) for letter in [*printable, "\u2603"]}) == len(printable) + 1


def test_missing_packages_are_one_clear_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(ImportError, match=r'pip install "spirits-env\[render\]"'):
        svg_to_rgb("<svg/>")
