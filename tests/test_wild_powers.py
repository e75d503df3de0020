"""Spirit Powers: the language of their steps, the option that chooses them, and each step played out by hand."""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wild_play import (
    ANIMAL_NAMES,
    POWER_SETS,
    RETURNING,
    UNCOMPILED,
    animal,
    asked,
    cards_down,
    in_bag,
    in_bowl,
    legal,
    lively_action,
    phase,
    play,
    position,
    too_far,
)

from spirits_env import record as records
from spirits_env.game import stream
from spirits_env.games.wild import GAME
from spirits_env.games.wild.powers import HOUSE_CARDS, HOUSE_REMARK, OWN_REMARK, POWERS, Step, card_name, read_cards
from spirits_env.state import State

FUZZ = settings(max_examples=30 if UNCOMPILED else 200, deadline=None, derandomize=True, database=None)
FORMS = "a step is one of ADD n, TAKE n any, TAKE n same, TAKE n different, COYOTE, RETURN n, RETURN all"
THREE = "take_one take_one take_two"
# Without a line break, which a dot does not match.
ONE_SENTENCE = r"^(Card|The powers|Option 'powers') .*\.\Z"
SHAKES = 300 if UNCOMPILED else 3000


def six(*steps: Any) -> list[list[Any]]:
    """Six cards, the first of which has these steps."""
    return [list(steps), *(["ADD 1"] for _ in range(5))]


def refused(value: Any) -> str:
    """The one sentence with which a value of the option is refused."""
    with pytest.raises(ValueError, match=ONE_SENTENCE) as error:
        POWERS.check(value)
    return str(error.value)


# --- the language -----------------------------------------------------------------------------------------

FORMS_READ = {
    "ADD 1": "ADD 1",
    "add 9": "ADD 9",
    "  Add   4 ": "ADD 4",
    "TAKE 1": "TAKE 1 any",
    "TAKE 6": "TAKE 6 any",
    "take 2 ANY": "TAKE 2 any",
    "TAKE 3 same": "TAKE 3 same",
    "TAKE 6 Different": "TAKE 6 different",
    "coyote": "COYOTE",
    "COYOTE": "COYOTE",
    "RETURN 1": "RETURN 1",
    "return 9": "RETURN 9",
    "RETURN ALL": "RETURN all",
    "RETURN\tall": "RETURN all",
}


@pytest.mark.parametrize("text", list(FORMS_READ))
def test_a_step_is_read_in_any_case_and_spacing_and_written_in_one_form(text: str) -> None:
    canonical = FORMS_READ[text]
    assert POWERS.check(six(text)) == six(canonical)
    assert POWERS.check(six(canonical)) == six(canonical)


def test_cards_have_one_to_six_steps_in_their_order() -> None:
    steps = ["ADD 1", "TAKE 2 same", "COYOTE", "RETURN 3", "RETURN all", "TAKE 6 different"]
    for number in range(1, 7):
        cards = [steps[:number]] * 6
        assert POWERS.check(cards) == cards


def test_cards_may_be_tuples() -> None:
    assert POWERS.check(tuple(("ADD 1", "TAKE 1") for _ in range(6))) == [["ADD 1", "TAKE 1 any"]] * 6


WRONG_STEPS = """
    ADD 0 | ADD 10 | ADD 99999 | ADD -1 | ADD 1.5 | ADD +1 | ADD 01 | ADD | ADD n | ADD all | ADD ½ | ADD ² | ADD3
    ADD 3 any | ADD 3 stones | ADD,3 | ADD 1, TAKE 2 | ADD 1 TAKE 2 | ADD 1;
    TAKE 0 | TAKE 7 | TAKE 9 | TAKE 10 | TAKE | TAKE any | TAKE all | TAKE same 3 | TAKE 3 equal | TAKE3
    TAKE 3 same different | TAKE 3 same same | TAKE 3 any stones
    COYOTE 1 | COYOTE all | MOVE COYOTE | COYOTES
    RETURN | RETURN 0 | RETURN 10 | RETURN any | RETURN all all | RETURN 2 any | RETURN all 2
    STEAL 2 | 2 ADD | NOTHING | house | Dig 2
"""
WRONG_STEPS_READ = [step.strip() for step in re.split(r"[|\n]", WRONG_STEPS.strip())]


@pytest.mark.parametrize("step", [*WRONG_STEPS_READ, "", " ", "ADD " + "9" * 5000], ids=lambda step: repr(step[:20]))
def test_a_step_of_another_form_is_refused_with_the_forms_there_are(step: str) -> None:
    text = refused([*six()[1:], ["TAKE 2", step]])
    assert text.startswith("Card 5 of the powers has the step ")
    assert FORMS in text
    assert "with n from 1 to 9 (1 to 6 for TAKE)" in text
    if len(step) < 100:
        assert repr(step) in text


@pytest.mark.parametrize(
    "step", [None, 3, True, 1.5, ["ADD 1"], ("ADD", 1), {"ADD": 3}, b"ADD 1", [[["ADD 1"]]]], ids=repr
)
def test_a_step_that_is_no_text_is_refused(step: Any) -> None:
    assert refused(six("ADD 1", step)).startswith(f"Card 0 of the powers has the step {step!r}; {FORMS}")


@pytest.mark.parametrize(
    "card", [[], ["ADD 1"] * 7, "ADD 1", "ADD 12", b"ADD 1", None, 3, {}, {"ADD": 1}, set()], ids=repr
)
def test_a_card_that_is_no_list_of_one_to_six_steps_is_refused(card: Any) -> None:
    text = refused([["ADD 1"], ["ADD 1"], card, ["ADD 1"], ["ADD 1"], ["ADD 1"]])
    assert text.startswith(f"Card 2 of the powers was {card!r}; give a list of 1 to 6 steps such as ")


@pytest.mark.parametrize("number", [0, 1, 5, 7, 12])
def test_other_than_six_cards_are_refused(number: int) -> None:
    text = refused([["ADD 1"]] * number)
    assert text == f"The powers were {number} entries; give a list of 6 cards, each a list of steps."


@pytest.mark.parametrize(
    "value",
    [None, True, 3, 1.5, "House", "NONE", "", "own", "cards", "a.json", b"house", {}, {"cards": []}, set()],
    ids=repr,
)
def test_what_is_neither_a_name_nor_a_path_nor_cards_is_refused(value: Any) -> None:
    assert refused(value) == (
        f"Option 'powers' was {value!r}; give 'house', 'none', the path of a YAML file of 6 cards, "
        "or such cards as lists of steps."
    )


def test_what_python_cannot_show_is_refused_in_one_sentence_all_the_same() -> None:
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    for junk in (10**5000, deep):
        refused(six("ADD 1", junk))
        refused([junk] * 6)
        refused(junk)
    loop: list[Any] = []
    loop += [loop] * 6
    assert "has the step [" in refused(loop)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(list(FORMS_READ)),
    lambda inner: st.lists(inner, max_size=7) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=20,
)


@FUZZ
@given(value=JUNK | st.lists(st.lists(JUNK, max_size=3), min_size=6, max_size=6))
def test_any_junk_is_refused_in_one_sentence_or_is_six_cards(value: Any) -> None:
    found = None
    try:
        found = POWERS.check(value)
    except ValueError as error:
        said = str(error)
    if found is None:
        assert re.match(ONE_SENTENCE, said)
    else:
        assert len(found) == len(value) == 6
        assert POWERS.check(found) == found
        assert {step for card in found for step in card} <= {*FORMS_READ.values()}


# --- files ------------------------------------------------------------------------------------------------

OWN = """
- [TAKE 2, ADD 3]
- [ADD 4, TAKE 2]
- [TAKE 3 same, ADD 3]
- [take 3 different, add 3]
- [COYOTE, TAKE 2, ADD 2]
-
  - RETURN 2
  - ADD 4
  - TAKE 1
"""
OWN_CARDS = [
    ["TAKE 2 any", "ADD 3"],
    ["ADD 4", "TAKE 2 any"],
    ["TAKE 3 same", "ADD 3"],
    ["TAKE 3 different", "ADD 3"],
    ["COYOTE", "TAKE 2 any", "ADD 2"],
    ["RETURN 2", "ADD 4", "TAKE 1 any"],
]


@pytest.mark.parametrize("name", ["own.yaml", "own.yml", "with space.yaml"])
def test_cards_are_read_from_a_yaml_file_by_its_path_as_text_or_as_a_path(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(OWN, encoding="utf-8")
    assert POWERS.check(path) == POWERS.check(str(path)) == OWN_CARDS


def test_a_path_object_may_have_any_suffix(tmp_path: Path) -> None:
    path = tmp_path / "own.txt"
    path.write_text(OWN, encoding="utf-8")
    assert POWERS.check(path) == OWN_CARDS


def test_cards_by_list_and_by_file_give_equal_games(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(OWN, encoding="utf-8")
    one, other = State("wild", seed=3, powers=OWN_CARDS), State("wild", seed=3, powers=str(path))
    rng = random.Random(1)
    assert one == other
    while one.seat >= 0:
        action = lively_action(one, rng)
        one.play(action)
        other.play(action)
        assert one == other
    assert one.options == other.options == {"powers": OWN_CARDS, "reward": "win"}


NO_CARDS = [
    "[",
    "- [TAKE 2, ADD 3",
    "a: b: c",
    "- !!python/object:os.system x",
    "\t- x",
    "- *nobody",
    "{[]: 1}",
    "\x00",
]
WRONG_VALUES = ["- &a", "- 2020-99-99", "- !!int ''", "- !!bool x", "- !!timestamp x", "--- 1\n--- 2\n"]
TOO_LARGE = ["[" * 3000, "- " + "9" * 5000]


@pytest.mark.parametrize("text", [*NO_CARDS, *WRONG_VALUES, *TOO_LARGE], ids=lambda text: repr(text[:20]))
def test_a_file_that_is_not_yaml_or_holds_no_cards_is_refused_in_one_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(text, encoding="utf-8")
    assert refused(path) == refused(str(path))


def test_a_file_with_a_syntax_error_is_named_with_the_place_of_the_error(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text("- [TAKE 2, ADD 3]\n- [ADD 4\n- [ADD 1]\n", encoding="utf-8")
    assert re.match(r"^The powers file '.*own.yaml' is not YAML \(.*line 3, column 3\)\.$", refused(path))


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_bytes(b"\xff\xfe\x00\x81")
    assert "is not YAML" in refused(path)


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    for text in ("", "\n\n", "# only words\n"):
        path.write_text(text, encoding="utf-8")
        assert refused(path) == "The powers were None; give a list of 6 cards, each a list of steps."


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    for text, given_was in [
        ("house", "'house'"),
        ("3", "3"),
        ("cards: []", "{'cards': []}"),
        ("- [ADD 1]", "1 entries"),
    ]:
        path.write_text(text, encoding="utf-8")
        assert refused(path) == f"The powers were {given_was}; give a list of 6 cards, each a list of steps."


def test_a_file_with_a_wrong_step_is_refused_as_the_list_is(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(OWN.replace("ADD 4", "ADD 14"), encoding="utf-8")
    assert refused(path).startswith("Card 1 of the powers has the step 'ADD 14'; ")


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    assert refused(tmp_path / "none.yaml").endswith(
        "none.yaml' can't be read (No such file or directory); give the path of a YAML file with 6 cards."
    )
    assert refused(str(tmp_path / "none.yml")).endswith(
        "none.yml' can't be read (No such file or directory); give the path of a YAML file with 6 cards."
    )
    folder = tmp_path / "folder.yaml"
    folder.mkdir()
    assert "can't be read" in refused(folder)


# --- the option -------------------------------------------------------------------------------------------


def test_the_house_powers_are_the_reconstruction_of_the_specification() -> None:
    assert [(name, list(steps)) for name, steps in HOUSE_CARDS] == [
        ("R1", ["TAKE 2 any", "ADD 3"]),
        ("R2", ["ADD 4", "TAKE 2 any"]),
        ("R3", ["TAKE 3 same", "ADD 3"]),
        ("R4", ["TAKE 3 different", "ADD 3"]),
        ("R5", ["COYOTE", "TAKE 2 any", "ADD 2"]),
        ("R6", ["RETURN all", "ADD 5", "TAKE 1 any"]),
    ]


def test_house_is_the_default_and_names_are_kept_as_they_are() -> None:
    assert State("wild", seed=1) == State("wild", seed=1, powers="house")
    for name in ("house", "none"):
        assert POWERS.check(name) == name
        assert State("wild", seed=1, powers=name).options == {"powers": name, "reward": "win"}


def test_house_steps_are_in_the_record_and_without_powers_there_are_none() -> None:
    steps = State("wild", seed=1).record["steps"]
    # ADD 1, TAKE any 2, TAKE same 3, TAKE different 4, COYOTE 5, RETURN all 7, by act and count.
    assert steps[5].tolist() == [[7, 0], [1, 5], [2, 1], [0, 0], [0, 0], [0, 0]]
    assert steps[4].tolist() == [[5, 0], [2, 2], [1, 2], [0, 0], [0, 0], [0, 0]]
    assert (State("wild", seed=1, powers="none").record["steps"] == 0).all()


@pytest.mark.parametrize("cards", [OWN_CARDS, RETURNING, POWER_SETS["single"], [["COYOTE"] * 6] * 6], ids=str)
def test_own_cards_go_round_through_the_record_a_state_and_a_json_record(cards: Any) -> None:
    canonical = POWERS.check(cards)
    state = State("wild", seed=1, powers=cards)
    assert state.options["powers"] == canonical
    assert POWERS.read(state.record) == canonical
    record = records.write(state)
    assert record["options"]["powers"] == canonical
    assert records.replay(record).options == state.options
    assert State("wild", seed=1, **state.options) == state


def test_own_cards_that_are_the_house_cards_are_still_own() -> None:
    cards = [list(steps) for _, steps in HOUSE_CARDS]
    own, house = State("wild", seed=1, powers=cards), State("wild", seed=1)
    assert own.options["powers"] == cards
    assert own != house
    assert (own.record["steps"] == house.record["steps"]).all()
    assert [card_name(own.record, card) for card in (0, 5)] == ["card 1", "card 6"]
    assert [card_name(house.record, card) for card in (0, 5)] == ["R1", "R6"]


def test_storing_a_value_leaves_nothing_of_another_set() -> None:
    states = GAME.blank(2, 2, {"powers": RETURNING})
    POWERS.store(states, "none")
    assert (states["steps"] == 0).all()
    POWERS.store(states, POWERS.check(OWN_CARDS))
    assert states["steps"][1, 0].tolist() == [[2, 2], [1, 3], [0, 0], [0, 0], [0, 0], [0, 0]]


def test_remarks_say_whose_powers_they_are() -> None:
    assert GAME.remarks(GAME.check_options({})) == (HOUSE_REMARK,)
    assert GAME.remarks(GAME.check_options({"powers": "none"})) == ()
    assert GAME.remarks(GAME.check_options({"powers": OWN_CARDS})) == (OWN_REMARK,)
    assert HOUSE_REMARK.startswith("house powers: ")
    assert OWN_REMARK.startswith("own powers: ")


def test_a_refused_option_makes_no_game() -> None:
    with pytest.raises(ValueError, match="Card 0 of the powers has the step 'DIG 2'"):
        State("wild", seed=1, powers=six("DIG 2"))


def test_read_cards_gives_steps_with_their_counts() -> None:
    assert read_cards(six("RETURN all", "TAKE 2", "COYOTE"))[0] == [Step(7, 0), Step(2, 2), Step(5, 0)]


# --- each step, played out --------------------------------------------------------------------------------


def power(*steps: str, drawing: str = "", **arguments: Any) -> Any:
    """A position in which seat 0 has just chosen a pile whose top card has these steps."""
    arguments = {"down": [THREE, ""], **arguments}
    return play(position(drawing, powers=six(*steps), **arguments), "play_recover", "pile_0")


def done(record: Any) -> bool:
    """Tell whether seat 0's recovering is over: all its cards are up, and seat 1 chooses a card."""
    return asked(record) == (1, "card") and cards_down(record, 0) == [] and int(record["top"][0]) == 1


def test_add_brings_stones_from_the_bag_into_the_bowl() -> None:
    record = power("ADD 4", bowl="b", draws="tsoow")
    assert done(record)
    assert (in_bowl(record), in_bag(record)[0]) == ("btoos", "w")


def test_ruling_14_adding_more_than_the_bag_has_adds_what_there_is() -> None:
    record = power("ADD 5", "TAKE 1", bowl="b", bag="tpp")
    assert (in_bowl(record), in_bag(record), record["bag_size"]) == ("btpp", "", 0)
    assert record["in_bag"].tolist() == [0] * 7
    assert asked(record) == (0, "stone")


def test_take_any_asks_for_stones_of_any_kind_and_places_them_in_the_order_of_choice() -> None:
    record = power("TAKE 3", bowl="bbts")
    assert (asked(record), legal(record)) == ((0, "stone"), ["stone_blue", "stone_teal", "stone_spirit_stone"])
    play(record, "stone_blue", "stone_spirit_stone", "stone_blue")
    assert (asked(record), in_bowl(record), record["held"].tolist()) == ((0, "place"), "t", [0, 6, 0, -1, -1, -1])
    play(record, "place_turtle", "bonus_turtle", "place_salmon")
    assert (animal(record, 0, "turtle"), animal(record, 0, "salmon")) == ("b.... *", "b.....")
    assert done(record)


def test_ruling_14_a_take_of_more_than_the_bowl_has_takes_what_there_is() -> None:
    record = power("TAKE 4", bowl="bt")
    # Two stones for the two in the bowl; which is placed first is still to be chosen.
    play(record, "stone_teal", "place_turtle", "place_salmon")
    assert (animal(record, 0, "turtle"), animal(record, 0, "salmon"), in_bowl(record)) == ("t....", "b.....", "")
    assert done(record)


def test_ruling_14_a_take_from_an_empty_bowl_takes_nothing_and_the_card_goes_on() -> None:
    for take in ("TAKE 2", "TAKE 2 same", "TAKE 2 different"):
        record = power(take, "ADD 2", bowl="", draws="bt")
        assert done(record)
        assert in_bowl(record) == "bt"


def test_take_same_takes_all_up_to_its_number_by_one_choice() -> None:
    record = power("TAKE 3 same", bowl="bbbbtts")
    assert legal(record) == ["stone_blue", "stone_teal", "stone_spirit_stone"]
    play(record, "stone_blue")
    assert (asked(record), in_bowl(record), record["held"].tolist()) == ((0, "place"), "btts", [0, 0, 0, -1, -1, -1])
    play(record, "place_turtle", "place_turtle", "place_rabbit")
    assert (animal(record, 0, "turtle"), animal(record, 0, "rabbit")) == ("bb...", "b..")
    assert done(record)


def test_take_same_takes_fewer_where_there_are_fewer() -> None:
    record = power("TAKE 3 same", bowl="bbbbtts")
    play(record, "stone_teal", "place_turtle", "place_turtle")
    assert (animal(record, 0, "turtle"), in_bowl(record)) == ("tt...", "bbbbs")
    assert done(record)


def test_ruling_14_spirit_stones_are_a_kind_of_their_own_for_the_same() -> None:
    record = power("TAKE 3 same", bowl="bss")
    play(record, "stone_spirit_stone", "bonus_owl", "bonus_salmon")
    assert (animal(record, 0, "owl"), animal(record, 0, "salmon")) == (".. .. .. *", "...... *")


def test_take_same_of_one_kind_asks_only_for_the_places() -> None:
    record = power("TAKE 3 same", bowl="bb")
    assert (asked(record), in_bowl(record)) == ((0, "place"), "")


def test_take_different_never_offers_a_kind_twice() -> None:
    record = power("TAKE 3 different", bowl="bbbtos")
    play(record, "stone_blue")
    assert legal(record) == ["stone_teal", "stone_orange", "stone_spirit_stone"]
    play(record, "stone_spirit_stone")
    assert legal(record) == ["stone_teal", "stone_orange"]
    play(record, "stone_orange")
    assert (asked(record), in_bowl(record), record["held"].tolist()) == ((0, "place"), "bbt", [0, 6, 2, -1, -1, -1])


def test_take_different_takes_fewer_where_there_are_fewer_kinds() -> None:
    record = power("TAKE 3 different", bowl="bbbtt")
    play(record, "stone_teal")
    # Blue is the only other kind, so it was chosen unasked, and a third there is not.
    assert (asked(record), in_bowl(record), record["held"].tolist()) == ((0, "place"), "bbt", [1, 0, -1, -1, -1, -1])


def test_take_different_of_one_kind_takes_one() -> None:
    record = power("TAKE 3 different", bowl="bbb")
    assert (asked(record), in_bowl(record), record["chosen"]) == ((0, "place"), "bb", 1)


def test_a_stone_of_a_power_that_fits_nowhere_goes_back() -> None:
    full = "owl bb bb tt\nrabbit bto\nbeaver ttt oo\nsalmon btowpy\nturtle wwww."
    record = power("TAKE 3", "ADD 1", drawing=full, bowl="ypw", draws="y")
    play(record, "stone_yellow", "stone_white")
    # Purple was the last; only white fits, on the turtle.
    assert (animal(record, 0, "turtle"), in_bowl(record)) == ("wwwww", "pyy")
    assert done(record)


def test_coyote_may_be_moved_and_the_card_goes_on() -> None:
    for choice, place in [("coyote_salmon", 8), ("leave_coyote", 2)]:
        record = power("COYOTE", "ADD 1", drawing="beaver C", draws="b")
        assert legal(record) == [*(f"coyote_{name}" for name in ANIMAL_NAMES), "leave_coyote"]
        play(record, choice)
        assert (record["coyote"], in_bowl(record)) == (place, "b")
        assert done(record)


def test_coyote_on_an_animal_of_the_opponent_is_not_put_there_again() -> None:
    record = power("COYOTE", drawing="| owl C")
    assert "coyote_owl" not in legal(record)


def test_coyote_taken_off_the_own_board_first_opens_the_animal_for_the_stones_that_follow() -> None:
    record = power("COYOTE", "TAKE 2", drawing="turtle bbb.. C", bowl="bb")
    play(record, "coyote_turtle", "place_turtle", "place_turtle")
    assert (animal(record, 0, "turtle"), animal(record, 1, "turtle")) == ("bbbbb", "..... C")


def test_return_puts_back_as_many_as_the_player_likes_up_to_its_number() -> None:
    record = power("RETURN 2", bowl="bbts", draws="w")
    size = int(record["bag_size"])
    assert (asked(record), legal(record)) == (
        (0, "return"),
        ["stone_blue", "stone_teal", "stone_spirit_stone", "stop"],
    )
    play(record, "stone_blue")
    assert (asked(record), legal(record), in_bowl(record)) == (
        (0, "return"),
        ["stone_blue", "stone_teal", "stone_spirit_stone", "stop"],
        "bts",
    )
    play(record, "stone_spirit_stone")
    assert (in_bowl(record), record["bag_size"], record["put_back"]) == ("bt", size + 2, 1)
    assert done(record)


def test_return_can_be_stopped_at_once_or_later() -> None:
    for choices, bowl, back in [(["stop"], "bt", 0), (["stone_teal", "stop"], "b", 1)]:
        record = power("RETURN 2", "ADD 1", bowl="bt", bag="www")
        play(record, *choices)
        assert record["put_back"] == back
        # Three white stones, and the teal one if it is back.
        assert Counter(in_bowl(record) + in_bag(record)) == Counter("btwww")
        assert len(in_bowl(record)) == len(bowl) + 1


def test_a_return_of_nothing_leaves_the_bag_and_the_generator() -> None:
    record = power("RETURN 9", bowl="bt", draws="yypp")
    before, chance = in_bag(record), int(record["chance"])
    play(record, "stop")
    assert (in_bag(record), record["chance"], record["put_back"]) == (before, chance, 0)


def test_a_second_return_of_a_card_starts_anew() -> None:
    record = power("RETURN 1", "RETURN 1", bowl="bt")
    play(record, "stone_blue")
    before, chance = in_bag(record), int(record["chance"])
    # Nothing goes back by the second one, so the bag is not mixed again.
    play(record, "stop")
    assert (in_bag(record), record["chance"], in_bowl(record)) == (before, chance, "t")
    assert done(record)


def test_ruling_14_a_return_of_more_than_the_bowl_has_ends_with_the_last_stone() -> None:
    record = power("RETURN 9", bowl="bt", bag="www")
    play(record, "stone_blue")
    assert legal(record) == ["stone_teal", "stop"]
    play(record, "stone_teal")
    assert (in_bowl(record), sorted(in_bag(record))) == ("", list("btwww"))


def test_a_return_from_an_empty_bowl_does_nothing() -> None:
    for step in ("RETURN 3", "RETURN all"):
        record = position(powers=six(step, "ADD 1"), draws="b", down=[THREE, ""])
        chance = int(record["chance"])
        play(record, "play_recover", "pile_0")
        assert (in_bowl(record), record["chance"], record["put_back"]) == ("b", chance, 0)
        assert done(record)


def test_return_all_puts_the_whole_bowl_back() -> None:
    record = power("RETURN all", bowl="bbtss", draws="w")
    assert (in_bowl(record), record["in_bag"].tolist()) == ("", [8] * 7)
    assert Counter(in_bag(record)) == dict.fromkeys("btowpys", 8)
    assert (record["bag_size"], record["put_back"]) == (56, 1)
    # The bowl is empty, so seat 1 can only add.
    assert (done(record), legal(record)) == (True, ["play_add_two", "play_add_three"])


@pytest.mark.parametrize("steps", [["RETURN all"], ["RETURN 9"]], ids=str)
def test_returned_stones_and_the_rest_of_the_bag_are_mixed_in_fair_shares(steps: list[str]) -> None:
    # Three blue stones come to a bag of five: after the shake each place holds blue in 3 of 8 bags.
    base = position(powers=six(*steps), bowl="bbb", bag="ttttt", down=[THREE, ""])
    blue: Counter[int] = Counter()
    chance = [stream(9, number) for number in range(SHAKES)]
    for value in chance:
        record = base.copy()
        record["chance"] = value
        play(record, "play_recover", "pile_0")
        while phase(record) == "return":
            play(record, "stone_blue")
        bag = in_bag(record)
        assert sorted(bag) == list("bbbttttt")
        blue.update(place for place, letter in enumerate(bag) if letter == "b")
    assert not too_far((blue[place] for place in range(8)), [SHAKES * 3 / 8] * 8)


def test_stones_drawn_after_a_return_come_from_the_mixed_bag() -> None:
    found: Counter[str] = Counter()
    for number in range(60):
        record = position(powers=six("RETURN all", "ADD 1"), bowl="bbb", bag="ttt", down=[THREE, ""])
        record["chance"] = stream(10, number)
        found[in_bowl(play(record, "play_recover", "pile_0"))] += 1
    assert set(found) == {"b", "t"}
    assert not too_far(found.values(), [30, 30])


def test_ruling_10_steps_are_done_in_printed_order() -> None:
    record = power("ADD 2", "TAKE 1", "ADD 1", "COYOTE", "TAKE 1", "ADD 1", bowl="", draws="bbtow")
    assert in_bowl(record) == "b"
    play(record, "place_turtle")
    assert (asked(record), in_bowl(record)) == ((0, "coyote"), "bt")
    play(record, "coyote_owl")
    assert legal(record) == ["stone_blue", "stone_teal"]
    play(record, "stone_teal", "place_salmon")
    assert (in_bowl(record), animal(record, 0, "salmon")) == ("bo", "t.....")
    assert done(record)


# --- the house powers -------------------------------------------------------------------------------------


def house(card: int, **arguments: Any) -> Any:
    """A position in which seat 0 has just chosen this house power; the other cards lie below it in their order."""
    below = [other for other in range(6) if other != card]
    piles = [[card, *below[:2]], below[2:]]
    arguments = {"down": [THREE, ""], **arguments}
    return play(position(powers="house", piles=piles, **arguments), "play_recover", "pile_0")


def test_r1_takes_two_and_adds_three_for_the_opponent() -> None:
    record = house(0, bowl="bbbt", draws="ops")
    play(record, "stone_blue", "stone_teal", "place_turtle", "place_rabbit")
    assert (in_bowl(record), done(record)) == ("bbops", True)


def test_r2_adds_four_and_takes_two_of_them_or_others() -> None:
    record = house(1, bowl="b", draws="tops")
    assert in_bowl(record) == "btops"
    play(record, "stone_spirit_stone", "stone_purple", "bonus_owl", "place_turtle")
    assert (in_bowl(record), done(record)) == ("bto", True)


def test_r3_takes_up_to_three_of_one_colour_and_adds_three() -> None:
    record = house(2, bowl="bbbbt", draws="ops")
    play(record, "stone_blue", "place_turtle", "place_turtle", "place_turtle")
    assert (animal(record, 0, "turtle"), in_bowl(record), done(record)) == ("bbb..", "btops", True)


def test_r4_takes_up_to_three_different_and_adds_three() -> None:
    record = house(3, bowl="bbtow", draws="pss")
    play(record, "stone_blue", "stone_teal", "stone_white", "place_salmon", "place_salmon", "place_salmon")
    assert (animal(record, 0, "salmon"), in_bowl(record), done(record)) == ("btw...", "bopss", True)


def test_r5_moves_coyote_takes_two_and_adds_two() -> None:
    record = house(4, bowl="bb", draws="to")
    assert asked(record) == (0, "coyote")
    play(record, "coyote_rabbit", "place_turtle", "place_turtle")
    assert (animal(record, 1, "rabbit"), in_bowl(record), done(record)) == ("... C", "to", True)


def test_r6_returns_the_bowl_adds_five_and_takes_one_and_so_delays_the_end() -> None:
    # Four Spirit Stones lie in the bowl. They go back, and of the bag's 56 stones five come out.
    ended = 0
    for number in range(40):
        record = position(powers="house", piles=[[5, 0, 1], [2, 3, 4]], bowl="ssssb", down=[THREE, ""])
        record["chance"] = stream(11, number)
        play(record, "play_recover", "pile_0")
        assert phase(record) in ("stone", "place")
        stones = in_bowl(record) + "".join("btowpys"[kind] for kind in record["held"] if kind >= 0)
        assert (len(stones), int(record["bag_size"])) == (5, 51)
        assert int(record["in_bag"][6]) == 8 - stones.count("s")
        ended += stones.count("s") == 5
    assert ended == 0


def test_the_game_ends_after_a_power_that_brings_the_fifth_spirit_stone_out_and_not_within_it() -> None:
    # R2 adds four, among them the fifth; the two stones are still taken and placed.
    record = house(1, bowl="ssss", draws="sbbb")
    assert asked(record) == (0, "stone")
    play(record, "stone_spirit_stone", "stone_spirit_stone", "bonus_owl")
    assert asked(record) == (0, "place")
    play(record, "bonus_turtle")
    assert (phase(record), cards_down(record, 0)) == ("end", [])


def test_a_return_within_the_turn_takes_the_fifth_spirit_stone_back_before_the_end_is_looked_at() -> None:
    for choices, over in [(["stop"], True), (["stone_spirit_stone"], False)]:
        record = power("ADD 3", "RETURN 1", bowl="ssss", draws="sbb")
        play(record, *choices)
        assert (phase(record) == "end") is over


def test_the_second_take_one_of_old_is_forgotten_by_a_power_that_turned_the_cards_up() -> None:
    record = power("TAKE 1", bowl="b", down=["take_one take_one take_two", ""])
    play(record, "place_turtle")
    # Both Take Ones were down and are up again; Coyote is not asked for.
    assert done(record)


def test_no_powers_no_piles_and_no_steps_in_play() -> None:
    record = position(powers="none", bowl="bb", down=[THREE, ""])
    play(record, "play_recover")
    assert (record["top"].tolist(), record["seen"].tolist(), asked(record)) == ([0, 0], [1, 1], (1, "card"))


def test_equal_cards_are_allowed() -> None:
    record = position(powers=[["ADD 1"]] * 6, down=[THREE, ""], draws="b")
    play(record, "play_recover", "pile_1")
    assert (in_bowl(record), record["top"].tolist()) == ("b", [0, 1])
    assert np.array_equal(record["steps"][0], record["steps"][5])
