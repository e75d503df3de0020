"""What is said of games: decisions and points in words, the last decision, themes of pictures, and lit choices.

Words are held against the record and a count of their own, never against the functions that write them.
"""

from __future__ import annotations

import pickle
import random
import re
from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import fromstring

import numpy as np
import pytest
from forest_play import HAND, PASS, PLUS, UNCOMPILED, edited, end_cell, games_to_play, walk

from spirits_env.drawing import CREAM, DARK, QUIET, THEMES, paint
from spirits_env.game import IllegalAction
from spirits_env.games import GAMES, load
from spirits_env.games.forest import drawing as forest_drawing
from spirits_env.games.forest.components import COLOURS, COLUMNS, ICONS, POWERS, ROWS, SPIRITS
from spirits_env.games.wild.components import ANIMALS, SALMON_POINTS, TURTLE_POINTS
from spirits_env.state import State

TILE = r"(?P<tile>[a-z ]+?(?: x2| with (?:moon|sun|fire))?)"


# The house powers return no single stones.
RETURNING = [["RETURN 2", "ADD 4", "TAKE 1 any"]] * 6


def random_walk(game: str, players: int, seed: int, **options: Any) -> Iterator[State]:
    chance = random.Random(seed)
    state = State(game, players, seed=seed, **options)
    yield state
    while state.seat >= 0:
        state.play(chance.choice(state.legal_actions()))
        yield state


def tile_name(state: State, cell: int) -> str:
    record = state.record
    name = SPIRITS[record.spirit[cell]].replace("_", " ")
    if record.symbols[cell] == 2:
        return f"{name} x2"
    return name if record.power[cell] < 0 else f"{name} with {POWERS[record.power[cell]]}"


# --- decisions in words -----------------------------------------------------------------------------------


@pytest.mark.parametrize("players", [1, 2, 3, 4])
def test_a_taken_tile_is_named_with_its_end_and_what_lies_on_it(players: int) -> None:
    for seed in range(games_to_play(4, 1)):
        for state in walk(players, seed):
            for action in state.legal_actions():
                if action >= 2 * ROWS:
                    continue
                row, side = divmod(action, 2)
                cell = end_cell(state.record, action)
                text = state.tell(action)
                assert text.startswith(f"Take {tile_name(state, cell)} ")
                alone = state.record.left[row] == state.record.right[row]
                place = f"as the last tile of row {row}" if alone else f"the {('left', 'right')[side]} end of row {row}"
                assert place in text
                gem = int(state.record.gem[cell])
                assert (f"seat {gem}'s gem" in text) == (gem >= 0 and gem != state.seat)
                assert ("the own gem" in text) == (gem == state.seat)
                lying = players > 1 and any(
                    (r, c) == divmod(cell, COLUMNS) and status == 0
                    for (r, c), status in zip(TOKEN_CELLS_OF_THE_RULES, state.record.token_status, strict=True)
                )
                assert ("a token" in text) == lying


# The cells that the rules text lists.
TOKEN_CELLS_OF_THE_RULES = [(0, 1), (0, 10), (1, 2), (1, 9), (2, 3), (2, 8), (3, 4), (3, 7)]


def test_what_is_done_with_a_gem_is_said_by_phase() -> None:
    verbs = {"pay": "Pay with the gem on", "move": "Put the lifted gem on"}
    seen = set()
    for seed in range(games_to_play(6, 2)):
        for state in walk(2, seed):
            for action in state.legal_actions():
                if not 2 * ROWS <= action < HAND:
                    continue
                cell = action - 2 * ROWS
                hand = state.record.hand[state.seat] > 0
                verb = verbs.get(state.phase) or ("Place a gem on" if hand else "Lift the gem from")
                seen.add(verb)
                row, column = divmod(cell, COLUMNS)
                assert state.tell(action) == f"{verb} {tile_name(state, cell)} in row {row}, column {column}."
    assert UNCOMPILED or len(seen) == 4


def test_the_other_choices_are_said_by_phase() -> None:
    told = {}
    for seed in range(games_to_play(12, 6)):
        for state in walk(2, seed):
            for action in state.legal_actions():
                if action >= HAND:
                    told[action, state.phase if action == PASS else ""] = state.tell(action)
    assert told[HAND, ""] == "Pay with a gem from the hand."
    assert told[PLUS, ""].startswith('Use a "+" token')
    assert told[PASS, "second"] == "Take no second tile."
    assert told[PASS, "place"] == "Place or move no gem."
    # Only where nothing can be taken can the first tile be passed, which these games may not bring up.
    state = State("forest", seed=1, forced_steal=False)
    assert state.game.tell(edited(state, phase=0).record, PASS) == "Take no tile."


def test_wild_tells_stones_places_and_powers() -> None:
    shapes = {
        "stone": r"Take (a Spirit Stone|an? (blue|teal|orange|white|purple|yellow) stone) from the bowl\.",
        "return": r"(Put (a Spirit Stone|an? \w+ stone) back into the bag|Return no more stones to the bag)\.",
        "place": r"Put the (\w+ stone|Spirit Stone) on the (owl|rabbit|beaver|salmon|turtle)[\w', ]*\.",
        "card": r"Use the card [\w ]+\.",
        "pile": r"Use (R|card )\d of pile \d: [\w ,]+\.",
        "coyote": r"(Move Coyote to the opponent's \w+|Leave Coyote where he is)\.",
    }
    seen = set()
    for seed in range(2 if UNCOMPILED else 8):
        for state in random_walk("wild", 2, seed, powers=RETURNING if seed % 2 else "house"):
            for action in state.legal_actions():
                assert re.fullmatch(shapes[state.phase], state.tell(action)), (state.phase, state.tell(action))
                seen.add(state.phase)
                if state.phase == "place" and state.game.actions[action].name.startswith("place_"):
                    kind = next(int(kind) for kind in state.record.held if kind >= 0)
                    assert state.game.actions[4 + 1 + kind].name == f"stone_{state.tell(action).split()[2]}"
    assert seen == set(shapes)


@pytest.mark.parametrize("action", [-1, 59, 10**30, 57, "pass", 1.0])
def test_only_legal_actions_are_told(action: Any) -> None:
    state = State("forest", seed=1)
    with pytest.raises(IllegalAction):
        state.tell(action)


# --- the last decision ------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES)
def test_the_last_decision_is_told_as_it_was_before(game: str) -> None:
    state = State(game, 2, seed=3)
    assert state.last is None
    chance = random.Random(3)
    for _ in range(12):
        seat, action = state.seat, chance.choice(state.legal_actions())
        text = state.tell(action)
        state.play(action)
        for same in (state, state.copy(), pickle.loads(pickle.dumps(state)), state.redealt(0, 7), state.redealt(1, 7)):
            assert same.last == (seat, action, text)
        for view in (None, 0, 1):
            said = f"last: seat {seat}: {text}"
            assert said in state.text(view).splitlines()
            (drawn,) = [part for part in fromstring(state.svg(view)).iter() if part.get("class") == "said"]
            assert [part.get("data-text") for part in drawn] == [said]
    with pytest.raises(IllegalAction):
        state.play(-1)
    assert state.last == (seat, action, text)
    assert State.of(state.game, state.record).last is None
    state.deal(3)
    assert state.last is None


def test_a_redealt_game_keeps_nothing_hidden_of_the_position_before() -> None:
    state = State("forest", 2, seed=5)
    state.play(0)
    true = list(state.record.token)
    kept = [list(np.frombuffer(state.redealt(0, seed)._before, state.game.dtype)[0]["token"]) for seed in range(8)]
    # Any one of them may equal the true tokens by chance; eight can't.
    assert any(tokens != true for tokens in kept)
    assert len({tuple(tokens) for tokens in kept}) > 1


def test_the_cell_of_the_last_decision_is_marked() -> None:
    for state in walk(3, 2):
        last = state.last
        marks = [part.get("data-cell") for part in fromstring(state.svg()).iter() if part.get("class") == "last"]
        before = None if last is None else np.frombuffer(state._before, state.game.dtype)[0]
        if last is None or last.action >= HAND:
            assert marks == []
        else:
            cell = end_cell(before, last.action) if last.action < 2 * ROWS else last.action - 2 * ROWS
            assert marks == [str(cell)]


def test_the_animal_of_the_last_decision_is_marked() -> None:
    seen = set()
    animals = {"owl_new": "owl", "owl_started": "owl", "beaver_trio": "beaver", "beaver_pair": "beaver"}
    for state in random_walk("wild", 2, 1):
        marks = [part.attrib for part in fromstring(state.svg()).iter() if part.get("class") == "last"]
        verb, _, name = state.game.actions[state.last.action].name.partition("_") if state.last else ("", "", "")
        if verb in ("place", "bonus", "coyote"):
            seat = state.last.seat if verb != "coyote" else 1 - state.last.seat
            (mark,) = marks
            assert (mark["data-seat"], mark["data-animal"]) == (str(seat), animals.get(name, name))
            seen.add(verb)
        else:
            assert marks == []
    assert seen == {"place", "bonus", "coyote"}


# --- choices ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("players", [1, 2, 4])
def test_who_acts_and_who_sees_all_can_choose_in_the_picture_and_nobody_else(players: int) -> None:
    for number, state in enumerate(walk(players, 4)):
        if number % 5:
            continue
        for seat in (None, *range(players)):
            lit = [int(part.get("data-legal", -1)) for part in fromstring(state.svg(seat)).iter()]
            lit = [action for action in lit if action >= 0]
            assert sorted(lit) == (state.legal_actions() if seat in (None, state.seat) else [])


# --- points in words --------------------------------------------------------------------------------------


@pytest.mark.parametrize("players", [2, 3, 4])
def test_every_icon_of_the_forest_is_explained(players: int) -> None:
    for seed in range(games_to_play(5, 1)):
        *_, state = walk(players, seed)
        record = state.record
        scores = state.explain()
        assert [score.category for score in scores] == list(ICONS)
        assert [sum(score.points[seat] for score in scores) for seat in range(players)] == state.scores()
        for icon, score in enumerate(scores):
            counts = [int(record.icons[seat, icon]) for seat in range(players)]
            for kind, holder, status in zip(record.token, record.token_seat, record.token_status, strict=True):
                if kind == icon and status == 2:
                    counts[holder] += 1
            most = max(counts)
            for seat in range(players):
                leads, without = counts[seat] == most > 0, record.icons[seat, icon] == 0
                assert score.points[seat] == most * leads - 3 * without
                first, *rest = score.text.split("; ")
                assert (f"seat {seat}" in first) == leads
                assert any(f"seat {seat}" in part for part in rest) == bool(without)
            assert f" the most, {most}" in score.text if most else "nobody has any" in score.text


def test_the_solitaire_is_explained() -> None:
    for seed in range(games_to_play(10, 2)):
        *_, lost = walk(1, seed)
        icons = lost.record.icons.copy()
        icons[1] = 0
        for state in (lost, edited(lost, icons=icons, token_status=np.zeros_like(lost.record.token_status))):
            scores = state.explain()
            short = [score for score in scores if "too few" in score.text]
            assert bool(short) == (state.winners() == []) == (state is lost)
            assert sum(score.points[0] for score in scores) == state.scores()[0]
            assert all("does not count" in score.text for score in scores[len(SPIRITS) :])
            for icon, score in enumerate(scores[: len(SPIRITS)]):
                assert ("no tile" in score.text) == (state.record.icons[0, icon] == 0)


def test_what_nobody_has_is_explained() -> None:
    texts = [score.text for score in State("forest", 2, seed=1).explain()]
    assert texts[0] == "branches: nobody has any; seat 0 and seat 1 have no tile of it: -3."


def test_every_animal_of_the_wild_is_explained() -> None:
    for seed in range(1 if UNCOMPILED else 6):
        *_, state = random_walk("wild", 2, seed)
        scores = state.explain()
        assert [score.category for score in scores] == list(ANIMALS)
        assert [sum(score.points[seat] for score in scores) for seat in range(2)] == state.scores()
        for score in scores:
            for seat, part in enumerate(score.text.removesuffix(".").split(": ", 1)[1].split("; ")):
                words = re.fullmatch(r"seat (\d) has (.+?)(, doubled by a Spirit Stone)?: (\d+)", part)
                assert words
                assert (int(words[1]), int(words[4])) == (seat, score.points[seat])
                number = int(words[2].split()[0]) if words[2][0].isdigit() else None
                worth = {
                    "owl": lambda pairs: 3 * pairs,
                    "rabbit": lambda stones: 6 if stones == 3 else 0,
                    "salmon": lambda stones: SALMON_POINTS[stones],
                    "turtle": lambda stones: TURTLE_POINTS[stones],
                }
                beaver = {"neither trio nor pair": 0, "trio": 5, "pair": 2, "trio and pair": 14}
                points = beaver[words[2]] if number is None else worth[score.category](number)
                assert score.points[seat] == points * (2 if words[3] else 1)


# --- themes -----------------------------------------------------------------------------------------------


def luminance(colour: str) -> float:
    """Relative luminance as the Web Content Accessibility Guidelines define it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", THEMES)
def test_what_is_written_and_marked_stands_out_in_every_theme(theme: str) -> None:
    colours = {name.strip("{}"): colour for name, colour in THEMES[theme].items()}
    for letters in ("ink", "faint", "red"):
        assert contrast(colours[letters], colours["paper"]) >= 4.5
    for plate in ("plate", "laurel"):
        assert contrast(colours["ink"], colours[plate]) >= 4.5
    assert contrast(colours["gold"], colours["paper"]) >= 3


def test_icons_stand_out_from_their_tiles_and_differ_in_shape() -> None:
    for letters in (DARK, QUIET):
        assert contrast(letters, CREAM) >= 4.5
    for colour, icon in zip(COLOURS, forest_drawing._ICON_COLOURS, strict=True):
        assert contrast(colour, icon) >= 3
    shapes = [forest_drawing._SHAPES[name] for name in ICONS]
    assert len(set(shapes)) == len(ICONS)


@pytest.mark.parametrize("game", GAMES)
def test_a_theme_changes_colours_alone(game: str) -> None:
    state = State(game, 2, seed=2)
    state.play(state.legal_actions()[0])
    light, dark, auto = (fromstring(state.svg(0, theme)) for theme in ("light", "dark", "auto"))
    colours = ("fill", "stroke")

    def shapes(root: Any) -> list[Any]:
        return [
            (part.tag, sorted((key, value) for key, value in part.attrib.items() if key not in colours))
            for part in root.iter()
            if not part.tag.endswith("style")
        ]

    assert shapes(light) == shapes(dark) == shapes(auto)
    assert state.svg(0) == state.svg(0, "light") != state.svg(0, "dark")
    for theme in ("light", "dark", "auto"):
        assert not re.search(r'="\{\w+\}"', state.svg(0, theme))
    (style,) = [part for part in auto.iter() if part.tag.endswith("style")]
    for name, colour in THEMES["light"].items():
        assert f"--{name.strip('{}')}:{colour}" in (style.text or "")
    used = {part.get(key) for part in auto.iter() for key in colours} - {None, "none"}
    assert {value for value in used if str(value).startswith("var(")} <= {
        f"var(--{n.strip('{}')})" for n in THEMES["dark"]
    }


def test_an_unknown_theme_is_named() -> None:
    with pytest.raises(ValueError, match=r"theme was 'sepia'; give 'light', 'dark' or 'auto'\."):
        State(seed=1).svg(theme="sepia")
    assert paint("{ink}", "dark") == THEMES["dark"]["{ink}"]


@pytest.mark.parametrize("game", GAMES)
def test_a_notebook_shows_the_board(game: str) -> None:
    state = State(game, 2, seed=2)
    assert state._repr_svg_() == state.svg()
    assert load(game).name == game
