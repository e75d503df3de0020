"""Set-ups of Spirits of the Wild as JSON, and the records that start from them; what is impossible is refused."""

from __future__ import annotations

import copy
import json
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wild_play import (
    KIND_NAMES,
    POWER_SETS,
    RETURNING,
    UNCOMPILED,
    action_id,
    games_to_play,
    in_bag,
    in_bowl,
    lively_action,
    played,
    same_game,
    snapshots,
    walk,
)

from spirits_env import record as records
from spirits_env.batch import Batch
from spirits_env.state import State

FUZZ = settings(max_examples=20 if UNCOMPILED else 150, deadline=None, derandomize=True, database=None)
ONE_SENTENCE = r"^The setup.*\.\Z"
ENORMOUS = 10**5000
DEEP: list[Any] = []
for _ in range(5000):
    DEEP = [DEEP]


def by_hand(powers: bool = True) -> dict[str, Any]:
    """A set-up in which all lies in order: two blue and two teal stones in the bowl, then kind after kind."""
    bag = [kind for number, kind in enumerate(KIND_NAMES) for _ in range(6 if number < 2 else 8)]
    setup: dict[str, Any] = {"bowl": ["blue", "teal", "blue", "teal"], "bag": bag}
    if powers:
        setup["piles"] = [[3, 1, 5], [0, 4, 2]]
    return setup | {"chance": 12345}


def changed(*path: Any, to: Any, powers: bool = True) -> dict[str, Any]:
    """The set-up by hand with one entry replaced."""
    setup = by_hand(powers)
    inner: Any = setup
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = to
    return setup


def without(setup: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in setup.items() if key not in keys}


def refused(setup: Any, powers: Any = "house") -> str:
    """The one sentence with which a set-up is refused; the game is as it was."""
    state = State("wild", seed=1, powers=powers)
    state.play(state.legal_actions()[0])
    before = state.copy()
    with pytest.raises(ValueError, match=ONE_SENTENCE) as error:
        state.deal(3, setup)
    assert state == before
    assert state.history == before.history
    assert (state.mask() == before.mask()).all()
    with pytest.raises(ValueError, match=ONE_SENTENCE):
        State("wild", seed=1, setup=setup, powers=powers)
    return str(error.value)


# --- from a set-up to a game ------------------------------------------------------------------------------


def test_a_setup_lays_bowl_bag_and_piles_as_it_says() -> None:
    state = State("wild", seed=1, setup=by_hand())
    assert in_bowl(state.record) == "bbtt"
    assert in_bag(state.record) == "bbbbbbtttttt" + "oooooooowwwwwwwwppppppppyyyyyyyyssssssss"
    assert state.record["piles"].tolist() == [[3, 1, 5], [0, 4, 2]]
    assert (state.record["top"].tolist(), state.record["seen"].tolist()) == ([0, 0], [1, 1])
    assert (state.seat, state.phase, state.turn, state.history) == (0, "card", 0, [])
    assert state.record["down"].tolist() == [[0, 1, 0, 0, 0], [0, 0, 0, 0, 0]]
    assert int(state.record["chance"]) == 12345


def test_the_first_entry_of_the_bag_is_drawn_first() -> None:
    setup = changed("bag", 0, to="yellow")
    setup["bag"][setup["bag"].index("yellow", 1)] = "blue"
    state = State("wild", seed=1, setup=setup)
    state.play(action_id("play_add_three"))
    assert in_bowl(state.record) == "bbbbtty"


def test_a_setup_is_read_back_as_it_was_given_with_the_bowl_in_the_order_of_kinds() -> None:
    for powers in (True, False):
        setup = by_hand(powers)
        state = State("wild", seed=1, setup=setup, powers="house" if powers else "none")
        assert state.setup() == {**setup, "bowl": ["blue", "blue", "teal", "teal"]}


def test_the_same_setup_gives_the_same_game_whatever_the_seed() -> None:
    assert same_game(State("wild", seed=1, setup=by_hand()), State("wild", seed=2, setup=by_hand()))
    assert State("wild", seed=1, setup=by_hand()) != State("wild", seed=1, setup=changed("chance", to=12346))


def test_a_setup_leaves_the_next_deals_to_the_seed() -> None:
    lanes = Batch("wild", 3)
    lanes.reset([1, 2, 3], setup=by_hand())
    assert len(set(lanes.states["first_chance"].tolist())) == 1
    lanes.reset()
    assert len({bag.tobytes() for bag in lanes.states["bag"]}) == 3
    state = State("wild", seed=2, setup=by_hand())
    state.deal()
    assert state == State("wild", seed=2)


def test_without_its_chance_the_seed_decides_how_the_bag_is_mixed() -> None:
    setup = without(by_hand(), "chance")
    one = State("wild", seed=1, setup=setup)
    assert one == State("wild", seed=1, setup=setup)
    assert one.setup()["chance"] != State("wild", seed=2, setup=setup).setup()["chance"]
    assert int(one.record["chance"]) == one.setup()["chance"]


@pytest.mark.parametrize("powers", list(POWER_SETS))
def test_a_dealt_game_goes_round_through_its_setup_at_every_decision(powers: str) -> None:
    for seed in range(games_to_play(5, 1)):
        first = State("wild", seed=seed, powers=POWER_SETS[powers])
        setup = first.setup()
        assert same_game(State("wild", seed=99, setup=setup, powers=POWER_SETS[powers]), first)
        assert ("piles" in setup) is (powers != "none")
        for state in walk(seed, POWER_SETS[powers]):
            assert state.setup() == setup


def test_a_setup_is_plain_json() -> None:
    setup = State("wild", seed=4).setup()
    assert list(setup) == ["bowl", "bag", "piles", "chance"]
    assert json.loads(json.dumps(setup)) == setup
    assert (len(setup["bowl"]), len(setup["bag"])) == (4, 52)
    assert sorted(setup["bowl"] + setup["bag"]) == sorted(KIND_NAMES * 8)
    assert all(type(card) is int for pile in setup["piles"] for card in pile)


def test_tuples_and_whole_numbers_of_numpy_are_taken() -> None:
    setup = by_hand()
    other = {
        "bowl": tuple(setup["bowl"]),
        "bag": tuple(setup["bag"]),
        "piles": tuple(tuple(np.int8(card) for card in pile) for pile in setup["piles"]),
        "chance": np.uint64(12345),
    }
    assert State("wild", seed=1, setup=other) == State("wild", seed=1, setup=setup)


@pytest.mark.parametrize("chance", [1, 2**63, 2**64 - 1])
def test_every_number_a_generator_can_have_is_taken(chance: int) -> None:
    state = State("wild", seed=1, setup=changed("chance", to=chance))
    assert state.setup()["chance"] == chance == int(state.record["chance"])


def test_a_deal_from_a_setup_forgets_the_game_before() -> None:
    state = played(3)
    state.deal(5, by_hand())
    assert state == State("wild", seed=5, setup=by_hand())
    assert state.history == []
    again = played(4, RETURNING)
    assert again.record["put_back"] == 1
    again.deal(5, by_hand())
    assert (again.record["put_back"], again.record["origin"]) == (0, 1)


def test_nothing_is_left_of_a_game_that_is_dealt_anew_in_the_middle_of_any_decision() -> None:
    fresh = State("wild", seed=8, powers=RETURNING)
    laid = State("wild", seed=8, setup=by_hand(), powers=RETURNING)
    for seed in range(games_to_play(6, 2)):
        for state in snapshots(seed, RETURNING):
            other = state.copy()
            state.deal(8)
            assert state == fresh
            other.deal(8, by_hand())
            assert other == laid


# --- what is refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize("setup", [3, "bowl", [], ["bowl", "bag", "piles"], True], ids=repr)
def test_what_is_no_mapping_is_refused(setup: Any) -> None:
    assert refused(setup) == f"The setup was a {type(setup).__name__}; give a dict with the keys bowl, bag, piles."


@pytest.mark.parametrize("missing", ["bowl", "bag", "piles"])
def test_a_missing_key_is_refused(missing: str) -> None:
    text = refused(without(by_hand(), missing))
    given_keys = ", ".join(repr(key) for key in without(by_hand(), missing))
    assert text == f'The setup has the keys {given_keys}; it needs exactly bowl, bag, piles, and may have "chance".'


@pytest.mark.parametrize("key", ["tiles", "seed", 3, None, ""], ids=repr)
def test_an_unknown_key_is_refused(key: Any) -> None:
    assert repr(key) in refused({**by_hand(), key: 1})


def test_an_empty_setup_is_refused() -> None:
    assert refused({}).startswith("The setup has the keys none; ")


def test_piles_are_refused_without_powers_and_needed_with_them() -> None:
    assert "needs exactly bowl, bag, and" in refused(by_hand(), "none")
    assert "needs exactly bowl, bag, piles, and" in refused(by_hand(False), "house")
    assert "needs exactly bowl, bag, piles, and" in refused(by_hand(False), RETURNING)


@pytest.mark.parametrize(("key", "length"), [("bowl", 4), ("bag", 52)])
@pytest.mark.parametrize("value", [None, 3, {}, "blue", b"blue", [], ["blue"] * 3, ["blue"] * 53, {"blue"}], ids=repr)
def test_bowl_and_bag_are_lists_of_their_length(key: str, length: int, value: Any) -> None:
    text = refused(changed(key, to=value))
    assert text.startswith(f"The setup's {key} has ")
    assert text.endswith(f"; it needs a list of {length}.")


def test_a_text_of_the_right_length_is_no_list() -> None:
    assert "a str" in refused(changed("bowl", to="blue"))


@pytest.mark.parametrize("stone", ["Blue", "red", "", "spirit stone", 0, None, True, ["blue"], {"blue": 1}], ids=repr)
@pytest.mark.parametrize("key", ["bowl", "bag"])
def test_a_stone_of_no_kind_is_refused(key: str, stone: Any) -> None:
    names = "blue, teal, orange, white, purple, yellow, spirit_stone"
    assert refused(changed(key, 2, to=stone)) == f"The setup's {key} has the stone {stone!r}; stones are {names}."


def test_a_spirit_stone_in_the_bowl_is_refused() -> None:
    setup = changed("bowl", 0, to="spirit_stone")
    setup["bag"][setup["bag"].index("spirit_stone")] = "blue"
    text = refused(setup)
    assert text == "The setup has a Spirit Stone in the bowl; a game starts with four ordinary stones there."


# Put in place of the first orange stone in the bag; the first kind with a wrong number is named.
@pytest.mark.parametrize(
    ("stone", "said"),
    [("blue", "9 stones 'blue'"), ("teal", "9 stones 'teal'"), ("spirit_stone", "7 stones 'orange'")],
)
def test_other_than_eight_stones_of_a_kind_are_refused(stone: str, said: str) -> None:
    assert refused(changed("bag", 12, to=stone)) == f"The setup has {said}; the box holds 8 of each kind."


@pytest.mark.parametrize(
    "piles",
    [
        [[0, 1, 2], [3, 4, 4]],
        [[0, 1, 2], [3, 4, 6]],
        [[0, 1, 2], [3, 4, -1]],
        [[0, 1, 2], [3, 4, True]],
        [[0, True, 2], [3, 4, 5]],
        [[0, 1, 2], [3, 4, 5.0]],
        [[0, 1, 2], [3, 4, "5"]],
        [["R1", "R2", "R3"], ["R4", "R5", "R6"]],
        [[0, 1, 2], [3, 4, None]],
        [[0, 1, 2], [3, 4, [5]]],
    ],
    ids=repr,
)
def test_piles_that_do_not_hold_each_card_once_are_refused(piles: Any) -> None:
    text = refused(changed("piles", to=piles))
    assert text == f"The setup's piles are {piles!r}; give 2 lists of 3 that hold each card from 0 to 5 once."


@pytest.mark.parametrize("piles", [None, [], [[0, 1, 2]], [[0], [1], [2]], "01", 3, {}, [[0, 1, 2], 3], ["012", "345"]])
def test_piles_of_another_shape_are_refused(piles: Any) -> None:
    assert re.match(r"^The setup's piles? has .*; it needs a list of [23]\.$", refused(changed("piles", to=piles)))


def test_piles_of_another_size_are_refused() -> None:
    assert refused(changed("piles", to=[[0, 1], [2, 3, 4, 5]])) == (
        "The setup's pile has 2 entries; it needs a list of 3."
    )


@pytest.mark.parametrize("chance", [0, -1, 2**64, 1.0, "1", None, True, [1], np.float64(3), np.int64(-1)], ids=repr)
def test_a_chance_that_no_generator_can_have_is_refused(chance: Any) -> None:
    text = refused(changed("chance", to=chance))
    assert text == f"The setup's chance was {chance!r}; give a whole number from 1 to 18446744073709551615."


@pytest.mark.parametrize("junk", [DEEP, {"a": DEEP}, ENORMOUS, -ENORMOUS], ids=["list", "dict", "huge", "minus huge"])
@pytest.mark.parametrize(
    "path",
    [("bowl",), ("bowl", 1), ("bag",), ("bag", 5), ("piles",), ("piles", 1), ("piles", 0, 0), ("chance",)],
    ids=str,
)
def test_what_python_cannot_show_is_refused_in_one_sentence_all_the_same(path: tuple[Any, ...], junk: Any) -> None:
    assert "4300" not in refused(changed(*path, to=junk))


def test_a_key_that_python_cannot_show_is_refused_in_one_sentence_all_the_same() -> None:
    assert "4300" not in refused({**by_hand(), ENORMOUS: 1})


JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from([*KIND_NAMES, "bag"]),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)


@FUZZ
@given(setup=JUNK)
def test_any_junk_as_a_setup_is_refused(setup: Any) -> None:
    if setup is not None:
        refused(setup)


@FUZZ
@given(data=st.data(), junk=JUNK)
def test_any_junk_within_a_setup_is_refused_or_says_the_same(data: st.DataObject, junk: Any) -> None:
    setup = by_hand()
    place: Any = setup
    # Walk down at random, then put the junk there.
    while True:
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if not isinstance(place[key], list) or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = junk
    state = State("wild", seed=1)
    before, given_setup = state.copy(), copy.deepcopy(setup)
    said = None
    try:
        state.deal(1, setup)
    except ValueError as error:
        said = str(error)
    if said is None:
        assert without(state.setup(), "bowl", "chance") == without(by_hand(), "bowl", "chance")
        assert sorted(setup["bowl"]) == state.setup()["bowl"]
    else:
        assert re.match(ONE_SENTENCE, said)
        assert state == before
    assert repr(setup) == repr(given_setup)


# --- records ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reward", ["win", "margin"])
@pytest.mark.parametrize("powers", list(POWER_SETS))
def test_a_record_replays_to_the_same_game_and_is_written_the_same_again(powers: str, reward: str) -> None:
    returned = 0
    for seed in range(games_to_play(8, 2)):
        state = played(seed, POWER_SETS[powers], reward=reward)
        record = records.write(state)
        again = records.replay(json.loads(json.dumps(record)))
        # The generator too: it mixes the bag in the replay as it did in the game.
        assert same_game(again, state)
        assert again.history == state.history
        assert records.write(again) == record
        assert (again.scores(), again.winners(), again.returns()) == (state.scores(), state.winners(), state.returns())
        returned += int(state.record["put_back"])
    assert returned > 0 or powers in ("house", "none")


def test_a_house_game_in_which_the_bowl_went_back_replays() -> None:
    state = next(state for state in (played(seed) for seed in range(200)) if state.record["put_back"])
    assert same_game(records.replay(records.write(state)), state)


def test_a_record_is_written_as_the_page_says() -> None:
    state = played(2, RETURNING)
    record = records.write(state)
    assert list(record) == ["game", "version", "players", "options", "setup", "actions", "scores", "winners"]
    assert (record["game"], record["version"], record["players"]) == ("wild", 0, 2)
    assert record["options"]["reward"] == "win"
    assert record["options"]["powers"][1] == ["TAKE 2 any", "RETURN all"]
    assert (record["setup"], record["actions"]) == (state.setup(), state.history)
    assert (record["scores"], record["winners"]) == (state.scores(), state.winners())


def test_an_unfinished_game_is_written_without_an_outcome_and_replays() -> None:
    for state in snapshots(5, RETURNING)[:-1:7]:
        record = records.write(state)
        assert (record["scores"], record["winners"]) == ([], [])
        assert same_game(records.replay(record), state)


def test_a_record_in_which_stones_went_back_needs_its_chance() -> None:
    state = next(state for state in (played(seed, RETURNING) for seed in range(9)) if state.record["put_back"])
    record = records.write(state)
    record["setup"]["chance"] += 1
    assert different(record, state)


def different(record: dict[str, Any], state: State) -> bool:
    """Tell whether a record no longer replays to a game."""
    try:
        return records.replay(record) != state
    except ValueError:
        return True


def test_a_record_whose_setup_was_changed_is_refused() -> None:
    record = records.write(played(3))
    record["setup"]["bag"][0] = "spirit_stone" if record["setup"]["bag"][0] != "spirit_stone" else "blue"
    with pytest.raises(ValueError, match="the box holds 8 of each kind"):
        records.replay(record)
    record["setup"] = without(by_hand(), "piles")
    with pytest.raises(ValueError, match=r"^The setup has the keys"):
        records.replay(record)


def test_a_record_of_own_powers_needs_no_file(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text("\n".join("- [" + ", ".join(card) + "]" for card in RETURNING), encoding="utf-8")
    rng = random.Random(1)
    state = State("wild", seed=1, powers=str(path))
    while state.seat >= 0:
        state.play(lively_action(state, rng))
    records.save(state, tmp_path / "game.json")
    path.unlink()
    assert same_game(records.load(tmp_path / "game.json"), state)


# --- re-dealt games ---------------------------------------------------------------------------------------


def test_a_game_redealt_before_any_return_has_a_setup_that_replays_its_history_to_it() -> None:
    for powers in ("house", "none", "returning"):
        for state in snapshots(6, POWER_SETS[powers])[::5]:
            if state.record["put_back"]:
                continue
            other = state.redealt(0, 3)
            again = State("wild", seed=0, setup=other.setup(), powers=POWER_SETS[powers])
            for action in state.history:
                again.play(action)
            assert same_game(again, other)


def test_a_game_redealt_before_any_return_still_has_one_after_a_return() -> None:
    rng = random.Random(1)
    other = State("wild", seed=3, powers=RETURNING).redealt(0, 4)
    while not other.record["put_back"]:
        other.play(lively_action(other, rng))
    assert same_game(records.replay(records.write(other)), other)


def test_a_game_redealt_after_a_return_has_no_setup_and_says_so() -> None:
    refusals = 0
    for state in snapshots(7, RETURNING):
        if state.record["put_back"]:
            other = state.redealt(1, 3)
            for call in (other.setup, lambda other=other: records.write(other)):
                with pytest.raises(ValueError, match=r"^This game was re-dealt after stones had gone back .*\.$"):
                    call()
            # The game it comes from still has its own.
            assert state.setup()["bag"]
            refusals += 1
    assert refusals > 5


def test_a_new_deal_of_a_redealt_game_has_a_setup_again() -> None:
    state = next(state for state in snapshots(7, RETURNING) if state.record["put_back"]).redealt(1, 3)
    state.deal(5)
    assert state == State("wild", seed=5, powers=RETURNING)
    assert state.setup()["bag"]
