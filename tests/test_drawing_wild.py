"""Drawings of Spirits of the Wild: they show every fact of a position, and nothing that a seat may not know."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import fromstring

import numpy as np
import pytest
from numba import config
from numba.core.registry import CPUDispatcher
from wild_play import (
    ANIMAL_NAMES,
    CARD_NAMES,
    KIND_NAMES,
    LETTERS,
    RETURNING,
    ROWS,
    SETS,
    SPACES,
    animal,
    cards_down,
    in_bag,
    position,
    snapshots,
)

from spirits_env import games
from spirits_env.games.wild import drawing, figures, view
from spirits_env.render import svg_to_rgb
from spirits_env.state import State

SIX_STEPS = [["TAKE 6 different", "TAKE 6 same", "RETURN all", "ADD 9", "COYOTE", "RETURN 9"]] * 6
NAMES = [*KIND_NAMES[:6], "Spirit Stone"]
HOUSE = [
    "R1: TAKE 2 any, ADD 3",
    "R2: ADD 4, TAKE 2 any",
    "R3: TAKE 3 same, ADD 3",
    "R4: TAKE 3 different, ADD 3",
    "R5: COYOTE, TAKE 2 any, ADD 2",
    "R6: RETURN all, ADD 5, TAKE 1 any",
]
GAME = games.load("wild")
SPACE_NAMES = ("pair_0", "pair_1", "pair_2", "trio", "pair", "shell")
VIEWS = (None, 0, 1)


def positions(seed: int, powers: Any = "house", every: int = 6) -> Iterator[State]:
    """Positions of a lively game, one in so many, and the last two."""
    states = snapshots(seed, powers)
    yield from states[:-2:every]
    yield from states[-2:]


def drawn(scene: str = "", **arguments: Any) -> State:
    """A drawn position as a state."""
    return State.of(games.load("wild"), position(scene, **arguments))


def by_class(svg: str, name: str, **values: Any) -> list[dict[str, str]]:
    """Return the attributes of all elements of a class that have these values."""
    found = [element.attrib for element in fromstring(svg).iter() if element.get("class") == name]
    return [
        attributes for attributes in found if all(attributes.get(f"data-{key}") == str(values[key]) for key in values)
    ]


def written(svg: str, name: str) -> list[str]:
    """Return what is written in the elements of a class."""
    return [
        text.attrib["data-text"]
        for element in fromstring(svg).iter()
        if element.get("class") == name
        for text in element.iter()
        if text.get("class") == "text"
    ]


def line_of(text: str, start: str) -> str:
    """Return the one line that starts so."""
    (line,) = [line for line in text.splitlines() if line.startswith(start)]
    return line


def boards(text: str, seat: int | None) -> dict[tuple[int, str], list[str]]:
    """Return what the text says of each seat's animals: groups of spaces, bonus space, Coyote, points."""
    found = {}
    for name in ANIMAL_NAMES:
        line = line_of(text, name).ljust(110)
        for index, owner in enumerate((seat or 0, 1 - (seat or 0))):
            half = line[8 + 48 * index : 56 + 48 * index]
            found[owner, name] = [*half[:16].split(), *half[16:].split()]
    return found


def unlit(words: list[str]) -> list[str]:
    return [word.strip("[]") for word in words]


def counts_in(line: str) -> dict[str, int]:
    """Read the counts of a line of stones by kind."""
    parts = re.findall(r"([A-Za-z][A-Za-z ]*) (\d+)", line.split(":", 1)[1])
    return {name: int(count) for name, count in parts}


# --- what lies on the table -------------------------------------------------------------------------------


def test_every_stone_on_the_boards_is_drawn_in_its_space() -> None:
    for seed, powers in enumerate(("house", RETURNING)):
        for state in positions(seed, powers):
            expected = []
            for owner in (0, 1):
                for name in ANIMAL_NAMES:
                    for group, stones in enumerate(animal(state.record, owner, name).split()[: len(SPACES[name])]):
                        space = "row" if name in ROWS else SPACE_NAMES[SETS[name][group]]
                        expected += [(owner, name, space, LETTERS.index(s)) for s in stones if s != "."]
                    if state.record.bonus[owner, ANIMAL_NAMES.index(name)]:
                        expected.append((owner, name, "bonus", 6))
            for seat in VIEWS:
                found = [
                    (
                        int(stone["data-seat"]),
                        stone["data-animal"],
                        stone["data-space"],
                        KIND_NAMES.index(stone["data-kind"]),
                    )
                    for stone in by_class(state.svg(seat), "stone")
                    if "data-animal" in stone
                ]
                assert sorted(found) == sorted(expected)


def test_every_space_without_a_stone_is_drawn() -> None:
    for state in positions(2):
        svg = state.svg(1)
        for owner in (0, 1):
            # 25 spaces and 5 bonus spaces on each board.
            assert len(by_class(svg, "space", seat=owner)) + len(by_class(svg, "stone", seat=owner)) == 30


def test_the_text_shows_both_boards_the_observers_first() -> None:
    for seed in (3, 4):
        for state in positions(seed, RETURNING if seed == 4 else "house"):
            for seat in VIEWS:
                text = state.text(seat)
                heads = re.findall(r"seat (\d)", text.splitlines()[4])
                assert heads == [str(seat or 0), str(1 - (seat or 0))]
                for (owner, name), words in boards(text, seat).items():
                    *groups, bonus, coyote, _ = unlit(words)
                    letters = animal(state.record, owner, name).split()
                    assert groups == [group.upper() for group in letters if group not in ("*", "C")]
                    assert (bonus, coyote) == ("S" if "*" in letters else ".", "C" if "C" in letters else ".")


def test_a_drawn_position_is_written_as_one_reads_it() -> None:
    state = drawn(
        """
        owl bb t. ..        | owl ww ww ww *
        rabbit bow          | rabbit t..
        beaver ttt p. *     | beaver ppp oo
        salmon bo....       | salmon btowpy *
        turtle .....        | turtle yyyyy * C
        """,
        bowl="ps",
        down=("take_one take_two", "take_one take_one recover"),
    )
    # By hand: owl 3, rabbit 6, trio doubled 10, two salmon stones 2; doubled pairs 18, 0, 14, 26, 28.
    assert state.text(0).splitlines()[4:11] == [
        "        seat 0 to act    bonus  Coyote  points          seat 1           bonus  Coyote  points",
        "owl     BB T. ..           .      .         3           WW WW WW           S      .        18",
        "rabbit  BOW                .      .         6           T..                .      .         0",
        "beaver  TTT P.             S      .        10           PPP OO             .      .        14",
        "salmon  BO....             .      .         2           BTOWPY             S      .        26",
        "turtle  .....              .      .         0           YYYYY              S      C        28",
        "total                                      21                                              86",
    ]


ROW_POINTS = {"salmon": [0, 1, 2, 4, 6, 9, 13], "turtle": [0, 1, 3, 6, 9, 14]}


def points_of(record: Any, owner: int, name: str) -> int:
    """Points of an animal by the printed rules."""
    groups = animal(record, owner, name).split()[: len(SPACES[name])]
    full = ["." not in group for group in groups]
    if name == "owl":
        points = 3 * sum(full)
    elif name == "rabbit":
        points = 6 if full[0] else 0
    elif name == "beaver":
        points = {(False, False): 0, (True, False): 5, (False, True): 2, (True, True): 14}[full[0], full[1]]
    else:
        points = ROW_POINTS[name][len(groups[0].strip("."))]
    return points * (2 if record.bonus[owner, ANIMAL_NAMES.index(name)] else 1)


def test_the_points_of_every_animal_and_board_are_drawn() -> None:
    for seed in range(2):
        for state in positions(10 + seed, RETURNING if seed else "house"):
            for seat in VIEWS:
                svg, text = state.svg(seat), state.text(seat)
                for owner in (0, 1):
                    points = {name: points_of(state.record, owner, name) for name in ANIMAL_NAMES}
                    marks = by_class(svg, "points", seat=owner)
                    assert {mark["data-animal"]: int(mark["data-value"]) for mark in marks} == points
                    assert {name: int(boards(text, seat)[owner, name][-1]) for name in ANIMAL_NAMES} == points
                    (total,) = by_class(svg, "total", seat=owner)
                    assert int(total["data-value"]) == state.scores()[owner] == sum(points.values())
                totals = [int(word) for word in line_of(text, "total").split()[1:]]
                assert totals == (state.scores()[::-1] if seat == 1 else state.scores())


def test_an_animal_with_a_spirit_stone_is_drawn_closed() -> None:
    state = drawn("rabbit bt. *\nowl oo .. .. | turtle ..... *", bowl="bto")
    closed = {(mark["data-seat"], mark["data-animal"]) for mark in by_class(state.svg(), "closed")}
    assert closed == {("0", "rabbit"), ("1", "turtle")}


def test_bowl_and_bag_are_drawn_by_kind() -> None:
    for seed in range(2):
        for state in positions(20 + seed, RETURNING if seed else "house"):
            record = state.record
            for seat in VIEWS:
                svg, text = state.svg(seat), state.text(seat)
                for place, counts in (("bowl", record.bowl), ("bag", record.in_bag)):
                    heaps = {heap["data-kind"]: int(heap["data-count"]) for heap in by_class(svg, place)}
                    assert [heaps[kind] for kind in KIND_NAMES] == counts.tolist()
                    line = line_of(text, place)
                    assert counts_in(line) == {
                        name: count for name, count in zip(NAMES, counts.tolist(), strict=True) if count
                    }
                    assert int(line[8:10]) == counts.sum()
                stones = [stone["data-kind"] for stone in by_class(svg, "stone", place="bowl")]
                assert [stones.count(kind) for kind in KIND_NAMES] == record.bowl.tolist()
                (bag,) = by_class(svg, "in-bag")
                assert int(bag["data-value"]) == record.bag_size


def test_an_empty_bowl_and_an_empty_bag_are_called_empty() -> None:
    state = drawn(bowl="", bag="")
    assert line_of(state.text(), "bowl") == "bowl     0: empty"
    assert line_of(state.text(), "bag") == "bag      0: empty"
    assert line_of(state.text(), "next") == "next      : none"


def test_the_spirit_stones_out_of_the_bag_are_counted() -> None:
    for out in (0, 4, 6):
        state = drawn(bowl="s" * out + "b")
        (marks,) = by_class(state.svg(0), "out")
        assert int(marks["data-value"]) == out == len(by_class(state.svg(0), "stone", place="out"))
        assert f"{out} Spirit Stones of 5" in state.text(0)


def test_only_who_sees_all_sees_the_next_stones() -> None:
    for state in positions(30, RETURNING):
        order = [LETTERS.index(letter) for letter in in_bag(state.record)[:5]]
        following = sorted(by_class(state.svg(), "stone", place="next"), key=lambda stone: stone["data-order"])
        assert [stone["data-kind"] for stone in following] == [KIND_NAMES[kind] for kind in order]
        assert line_of(state.text(), "next")[12:] == (", ".join(NAMES[kind] for kind in order) or "none")
        for seat in (0, 1):
            assert not by_class(state.svg(seat), "stone", place="next")
            assert "next" not in state.text(seat)


def test_the_stones_held_are_drawn_in_order() -> None:
    most = 0
    for seed in range(4):
        for state in positions(seed, RETURNING, every=1):
            held = [int(kind) for kind in state.record.held if kind >= 0]
            stones = by_class(state.svg(0), "stone", place="held")
            assert [stone["data-kind"] for stone in stones] == [KIND_NAMES[kind] for kind in held]
            assert [stone["data-order"] for stone in stones] == [str(order) for order in range(len(held))]
            assert line_of(state.text(1), "held")[12:] == (", ".join(NAMES[kind] for kind in held) or "none")
            most = max(most, len(held))
    assert most >= 3


def test_coyote_is_drawn_where_he_is() -> None:
    places = set()
    for state in positions(41):
        place = int(state.record.coyote)
        places.add(place)
        for seat in VIEWS:
            (head,) = by_class(state.svg(seat), "coyote")
            line = line_of(state.text(seat), "Coyote")
            if place < 0:
                assert "data-seat" not in head
                assert line == "Coyote    : beside the table"
            else:
                owner, name = place // 5, ANIMAL_NAMES[place % 5]
                assert (head["data-seat"], head["data-animal"]) == (str(owner), name)
                assert line == f"Coyote    : on seat {owner}'s {name}"
    assert -1 in places
    assert len(places) > 2


# --- cards ------------------------------------------------------------------------------------------------


def test_every_action_card_is_drawn_face_up_or_down() -> None:
    for state in positions(50, every=3):
        for seat in VIEWS:
            svg, text = state.svg(seat), state.text(seat)
            for owner in (0, 1):
                cards = by_class(svg, "card", seat=owner)
                assert [card["data-card"] for card in cards] == ["take_one", *CARD_NAMES]
                down = [card["data-card"] for card in cards if card["data-down"] == "1"]
                words = line_of(text, f"seat {owner}  cards: ").split()[3:]
                assert [word.strip("[](){}") for word in words] == ["take_one", *CARD_NAMES]
                assert down == cards_down(state.record, owner) == [word[1:-1] for word in words if word[0] == "("]


def test_the_card_in_use_is_marked() -> None:
    for state in positions(51, every=1):
        used = [(card["data-seat"], card["data-card"]) for card in by_class(state.svg(0), "card", used=1)]
        card = int(state.record.card)
        assert used == ([(str(state.seat), CARD_NAMES[card])] if card >= 0 else [])
        assert re.findall(r"{(\w+)}", " ".join(state.text(0).splitlines()[12:15])) == [name for _, name in used]


@pytest.mark.parametrize(("powers", "texts"), [("house", HOUSE), (RETURNING, None)])
def test_every_power_that_was_on_top_is_drawn_in_the_order_of_its_pile(powers: Any, texts: list[str] | None) -> None:
    if texts is None:
        texts = [f"card {number + 1}: {', '.join(steps)}" for number, steps in enumerate(powers)]
        texts = [re.sub(r"TAKE (\d)(?! [sd])", r"TAKE \1 any", text) for text in texts]
    hidden = 0
    for state in positions(60, powers, every=4):
        record = state.record
        for seat in VIEWS:
            svg, text = state.svg(seat), state.text(seat)
            for pile in (0, 1):
                order = [(int(record.top[pile]) + depth) % 3 for depth in range(3)]
                lines = text.split(f"\npile {pile}")[1].splitlines()[:3]
                for depth, place in enumerate(order):
                    (power,) = by_class(svg, "power", pile=pile, place=depth)
                    line = re.sub(r"[\[\]{}]", "", lines[depth]).strip()
                    seen = place < record.seen[pile]
                    if seen or seat is None:
                        number = int(record.piles[pile, place])
                        assert (power["data-card"], power["data-known"]) == (str(number), str(int(seen)))
                        assert line == texts[number] + ("" if seen else " (not seen yet)")
                    else:
                        assert power == {"class": "power", "data-pile": str(pile), "data-place": str(depth)}
                        assert line == "face down"
                        hidden += 1
    assert hidden


def test_the_steps_of_the_powers_are_written_on_them() -> None:
    state = drawn(powers="house", piles=((3, 0, 1), (5, 2, 4)))
    words = written(state.svg(0), "power")
    assert words == [
        *["R4", "TAKE 3 different", "ADD 3", "?", "?"],
        *["R6", "RETURN all", "ADD 5", "TAKE 1 any", "?", "?"],
    ]
    assert "not seen yet" in written(state.svg(), "power")


def test_the_step_being_carried_out_is_marked() -> None:
    steps = set()
    for state in positions(61, every=1):
        power, svg = int(state.record.power), state.svg(1)
        marks = [int(mark["data-step"]) for mark in by_class(svg, "step")]
        assert marks == ([int(state.record.step)] if power >= 0 else [])
        if power >= 0:
            name, _, rest = HOUSE[power].partition(": ")
            step = rest.split(", ")[state.record.step]
            said = f"{name}, step {marks[0] + 1} of {rest.count(',') + 1}: {step}"
            assert state.text(0).splitlines()[1] == f"in use: Spirit Power and Recover, {said}"
            assert written(svg, "use") == [state.text(0).splitlines()[1]]
            assert f"{{{step}}}" in state.text(0)
            steps.add(step)
    assert steps


@pytest.mark.parametrize(
    ("powers", "name"),
    [("house", "house powers"), (RETURNING, "own powers"), ("none", "no powers: the card only recovers")],
)
def test_the_set_of_powers_is_named(powers: Any, name: str) -> None:
    state = State("wild", seed=1, powers=powers)
    assert name in state.text(0).splitlines()
    assert all(text.startswith(name) for text in written(state.svg(0), "powers"))
    assert written(state.svg(0), "powers")
    assert len(by_class(state.svg(), "power")) == (0 if powers == "none" else 6)


# --- what can be chosen -----------------------------------------------------------------------------------


def lit_in_picture(svg: str) -> list[tuple[int, str]]:
    """Return the action of each lit element, and the name that its place stands for."""
    found = []
    for mark in by_class(svg, "choice"):
        action, name = int(mark["data-legal"]), mark.get("data-animal", "")
        space = mark.get("data-space", "")
        if "data-card" in mark:
            meaning = f"play_{mark['data-card']}"
        elif mark.get("data-place") == "bowl":
            meaning = f"stone_{mark['data-kind']}"
        elif "data-pile" in mark:
            assert mark["data-place"] == "0"
            meaning = f"pile_{mark['data-pile']}"
        elif space == "bonus":
            meaning = f"bonus_{name}"
        elif space in ("trio", "pair"):
            meaning = f"place_beaver_{space}"
        elif space.startswith("pair_"):
            stones = by_class(svg, "stone", seat=mark["data-seat"], space=space)
            meaning = "place_owl_started" if stones else "place_owl_new"
        elif space:
            meaning = f"place_{name}"
        else:
            meaning = f"coyote_{name}" if name else ""
        found.append((action, meaning))
    return found


def lit_in_text(text: str, seat: int | None, actor: int) -> set[str]:
    """Return the names of what stands in brackets."""
    found = {f"play_{name}" for name in re.findall(r"\[(\w+)\]", line_of(text, f"seat {actor}  cards"))}
    for name in re.findall(r"\[([A-Za-z ]+) \d\]", line_of(text, "bowl")):
        found.add(f"stone_{KIND_NAMES[NAMES.index(name)]}")
    for (owner, name), words in boards(text, seat).items():
        *groups, bonus, coyote, _ = words
        for number, group in enumerate(groups):
            if group.startswith("["):
                assert owner == actor
                part = "_new" if group == "[..]" else "_started"
                parts = {"owl": part, "beaver": ("_trio", "_pair")[number % 2]}
                found.add(f"place_{name}{parts.get(name, '')}")
        if bonus.startswith("["):
            assert owner == actor
            found.add(f"bonus_{name}")
        if coyote.startswith("["):
            assert owner == 1 - actor
            found.add(f"coyote_{name}")
    assert not re.search(r"^ {8}\[", text, re.MULTILINE)
    found |= {f"pile_{pile}" for pile in re.findall(r"pile (\d)  \[", text)}
    return found | {name for name, mark in (("leave_coyote", "[leave Coyote]"), ("stop", "[stop]")) if mark in text}


def test_what_is_lit_is_what_is_legal() -> None:
    phases = set()
    for seed, powers in enumerate(("house", RETURNING, RETURNING, "none")):
        for state in positions(70 + seed, powers, every=1 if seed < 3 else 5):
            phases.add(state.phase)
            legal = [GAME.actions[action].name for action in state.legal_actions()]
            for seat in VIEWS[: 1 + (seed == 0) * 2]:
                lit = lit_in_picture(state.svg(seat))
                assert {action for action, _ in lit} == set(state.legal_actions())
                for mark in by_class(state.svg(seat), "choice"):
                    owner = 1 - state.seat if state.phase == "coyote" else state.seat
                    assert int(mark.get("data-seat", owner)) == owner
                for action, meaning in lit:
                    assert meaning in (GAME.actions[action].name, "")
                assert {GAME.actions[action].name for action, meaning in lit if not meaning} <= {"leave_coyote", "stop"}
                if state.seat >= 0:
                    assert lit_in_text(state.text(seat), seat, state.seat) == set(legal)
    assert phases == set(GAME.phases)


def test_only_spaces_that_take_the_next_stone_are_lit() -> None:
    state = drawn(
        """
        owl b. t. ..    | owl b. .. ..
        rabbit b..
        beaver bb. bb
        salmon t.....
        turtle o....
        """,
        bowl="bt",
        down=("", ""),
    )
    state.play(GAME.action_id("play_take_one"))
    state.play(GAME.action_id("stone_blue"))
    lit = [(mark["data-animal"], mark["data-space"]) for mark in by_class(state.svg(1), "choice")]
    assert lit == [("owl", "pair_0"), ("owl", "pair_2"), ("beaver", "trio"), ("salmon", "row")]
    assert {mark["data-seat"] for mark in by_class(state.svg(1), "choice")} == {"0"}
    assert boards(state.text(0), 0)[0, "owl"][:3] == ["[B.]", "T.", "[..]"]


def test_both_take_one_are_lit_where_both_can_be_used() -> None:
    state = drawn(bowl="bt", down=("", ""))
    assert len(by_class(state.svg(), "choice", card="take_one")) == 2
    state = drawn(bowl="bt", down=("take_one", ""))
    assert [mark["data-copy"] for mark in by_class(state.svg(), "choice", card="take_one")] == ["1"]


# --- what is said -----------------------------------------------------------------------------------------


def test_the_headline_tells_whose_decision_it_is() -> None:
    tasks = {
        "card": "which card to use",
        "pile": "which Spirit Power to use",
        "stone": "which stone to take (",
        "place": "where the ",
        "coyote": "where Coyote goes",
        "return": "which stone goes back into the bag (up to ",
    }
    for state in positions(71, RETURNING, every=1):
        svg, text = state.svg(1), state.text(0)
        root = fromstring(svg)
        assert root.get("data-turn") == str(state.turn)
        assert root.get("data-phase") == state.phase
        assert root.get("data-seat") == str(state.seat)
        assert written(svg, "headline") == text.splitlines()[:1]
        if state.seat >= 0:
            assert text.startswith(f"turn {state.turn + 1}: seat {state.seat}, {tasks[state.phase]}")
            assert [mark["data-seat"] for mark in by_class(svg, "actor")] == [str(state.seat)]
            assert f"seat {state.seat} to act" in text


def test_the_stone_to_be_placed_is_named() -> None:
    state = drawn(bowl="bbs", seat=1)
    lines = []
    for name in ("play_take_two", "stone_blue", "stone_spirit_stone", "place_turtle"):
        state.play(GAME.action_id(name))
        lines.append(state.text(0).splitlines()[0])
    assert lines == [
        "turn 11: seat 1, which stone to take (2 to go)",
        "turn 11: seat 1, which stone to take (1 to go)",
        "turn 11: seat 1, where the blue stone goes",
        "turn 11: seat 1, where the Spirit Stone goes",
    ]
    assert state.text(0).splitlines()[1] == "in use: Take Two"


def test_a_move_of_coyote_after_the_backs_is_explained() -> None:
    state = drawn(bowl="b", down=("take_one", ""))
    state.play(GAME.action_id("play_take_one"))
    state.play(GAME.action_id("place_rabbit"))
    assert state.phase == "coyote"
    assert state.text().splitlines()[1] == "both Take One are face down: their backs show Coyote"


def test_a_pass_is_told() -> None:
    state = drawn(bowl="b")
    state.record.passes = 1
    assert state.text().splitlines()[1] == "seat 1 has passed"
    assert written(state.svg(), "use") == ["seat 1 has passed"]


def test_the_end_shows_the_winner() -> None:
    for seed in range(3):
        *_, before, after = positions(80 + seed)
        (winner,) = after.winners()
        for seat in VIEWS:
            assert [mark["data-seat"] for mark in by_class(after.svg(seat), "winner")] == [str(winner)]
            assert after.text(seat).splitlines()[0] == f"end after {after.turn} turns: seat {winner} wins"
            assert f"seat {winner} wins  " in after.text(seat).splitlines()[4]
            assert not by_class(before.svg(seat), "winner")
            assert not by_class(after.svg(seat), "choice")


def test_a_shared_win_is_told() -> None:
    state = drawn()
    state.record.phase, state.record.seat, state.record.turn = GAME.phases.index("end"), -1, 30
    for seat in VIEWS:
        assert state.text(seat).startswith("end after 30 turns: seat 0 and seat 1 share the win\n")
        assert len(by_class(state.svg(seat), "winner")) == 2


# --- what holds of every drawing --------------------------------------------------------------------------


def test_what_a_seat_cannot_know_is_not_drawn() -> None:
    changed = set()
    for powers in ("house", "none"):
        for state in positions(90, powers, every=5):
            if state.seat < 0:
                continue
            for seat in (0, 1):
                other = state.redealt(seat, 1)
                assert other.svg(seat) == state.svg(seat)
                assert other.text(seat) == state.text(seat)
                if other.svg() != state.svg() and other.text() != state.text():
                    changed.add(powers)
    assert changed == {"house", "none"}


def test_text_is_plain_and_narrow() -> None:
    for powers in ("house", "none", RETURNING, SIX_STEPS):
        for state in positions(91, powers, every=4):
            for seat in VIEWS:
                text = state.text(seat)
                assert text.isascii()
                assert text.replace("\n", "").isprintable()
                assert max(map(len, text.splitlines())) <= 110


def test_drawing_leaves_the_game_alone() -> None:
    for state in positions(92, every=5):
        before = state.record.tobytes()
        for seat in VIEWS:
            state.svg(seat)
            state.text(seat)
        assert state.record.tobytes() == before


def test_the_picture_needs_no_font_and_nothing_from_outside() -> None:
    for powers in ("house", "none", SIX_STEPS):
        for state in positions(93, powers, every=9):
            root = fromstring(state.svg())
            tags = {element.tag.split("}")[1] for element in root.iter()}
            assert tags <= {"svg", "g", "rect", "path", "circle", "ellipse", "title"}
            assert root.get("viewBox", "").startswith("0 0 1100 ")
            assert not {name for element in root.iter() for name in element.attrib if "href" in name or name == "id"}


def test_kinds_of_stones_differ_by_more_than_colour() -> None:
    shapes = {re.sub(r"#[0-9A-F]{6}", "", figures.draw_stone(kind, 0, 0, 10)) for kind in range(7)}
    assert len(shapes) == 7


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")
def test_no_drawing_calls_a_compiled_rule() -> None:
    for module in (drawing, figures, view):
        assert not [name for name, value in vars(module).items() if isinstance(value, CPUDispatcher)]


@pytest.mark.parametrize("width", [300, 960])
def test_a_picture_has_the_asked_width(width: int) -> None:
    for powers in ("house", "none"):
        picture = svg_to_rgb(State("wild", seed=2, powers=powers).svg(0), width)
        assert picture.dtype == np.uint8
        assert picture.shape[1:] == (width, 3)
        assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 20


def test_a_picture_shows_another_position_otherwise() -> None:
    first, second = State("wild", seed=2), State("wild", seed=2)
    second.play(second.legal_actions()[0])
    assert (svg_to_rgb(first.svg()) != svg_to_rgb(second.svg())).any()
