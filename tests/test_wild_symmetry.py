"""Games of Spirits of the Wild that are images of each other: renamed colours, changed pairs, piles and seats."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from wild_play import (
    KIND_NAMES,
    POWER_SETS,
    action_id,
    cards_down,
    edited,
    games_to_play,
    legal,
    lively_action,
    outcome,
    points,
    position,
    walk,
)

from spirits_env.games.wild import GAME, rules
from spirits_env.state import State

COLOUR_ORDERS = list(itertools.permutations(range(6)))[1:]
# The bag is mixed after a return by the places at which stones lie in it, and a whole bowl goes back in the order of
# the colours' numbers: so a game renamed has another, equally likely, bag from there on.
UNSHAKEN = {
    "none": "none",
    "all but the return of all": [
        ["TAKE 2", "ADD 3"],
        ["ADD 4", "TAKE 2"],
        ["TAKE 3 same", "ADD 3"],
        ["TAKE 3 different", "ADD 3"],
        ["COYOTE", "TAKE 2", "ADD 2"],
        ["RETURN 3", "ADD 5", "TAKE 1"],
    ],
    "returning some": [
        ["RETURN 2", "ADD 4", "TAKE 1"],
        ["RETURN 1", "TAKE 6"],
        ["TAKE 6 different"],
        ["RETURN 9", "COYOTE"],
        ["TAKE 6 same", "RETURN 1"],
        ["ADD 9", "RETURN 4", "ADD 5"],
    ],
}


def random_colours(rng: random.Random) -> list[int]:
    """A new number for each kind of stones; Spirit Stones keep theirs."""
    return [*rng.choice(COLOUR_ORDERS), 6]


def renamed_kind(kinds: np.ndarray, new: Sequence[int]) -> np.ndarray:
    """Rename kinds by number, -1 for none."""
    return np.array([*new, -1], np.int8)[kinds]


def renamed_setup(setup: dict[str, Any], new: Sequence[int]) -> dict[str, Any]:
    """Rename the stones of a set-up."""
    names = {KIND_NAMES[old]: KIND_NAMES[number] for old, number in enumerate(new)}
    return {**setup, "bowl": [names[kind] for kind in setup["bowl"]], "bag": [names[kind] for kind in setup["bag"]]}


def renamed_action(action: int, new: Sequence[int]) -> int:
    """Name an action in the renamed game; only actions that choose a stone have another name."""
    return 5 + new[action - 5] if 5 <= action < 12 else action


def renamed_record(record: Any, new: Sequence[int]) -> Any:
    """Rename the stones of a position."""
    other = record.copy()
    for name in ("bag", "held", "first_bag", "colour"):
        other[name] = renamed_kind(record[name], new)
    other["first_bowl"] = np.sort(renamed_kind(record["first_bowl"], new))
    for name in ("bowl", "in_bag"):
        other[name][list(new)] = record[name]
    other["row"][..., list(new[:6])] = record["row"]
    return other


def renamed_view(view: dict[str, np.ndarray], new: Sequence[int]) -> dict[str, np.ndarray]:
    """Rename the stones of what a seat sees."""
    other = {name: values.copy() for name, values in view.items()}
    for name in ("bowl", "bag", "held"):
        other[name][..., list(new)] = view[name]
    for name in ("sets", "rows"):
        other[name][..., list(new[:6])] = view[name]
    return other


def check_renamed(state: State, other: State, new: Sequence[int]) -> None:
    assert (other.phase, other.seat, other.turn) == (state.phase, state.seat, state.turn)
    assert sorted(renamed_action(action, new) for action in state.legal_actions()) == other.legal_actions()
    assert other.scores() == state.scores()
    for seat in range(2):
        before, after = (GAME.layout.unpack(one.observation(seat)) for one in (state, other))
        for name, values in renamed_view(before, new).items():
            assert (after[name] == values).all(), name


# --- colours ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("powers", list(UNSHAKEN))
def test_renamed_colours_give_the_same_game_from_the_setup_to_the_end(powers: str) -> None:
    rng = random.Random(1)
    for seed in range(games_to_play(40, 2)):
        new = random_colours(rng)
        state = State("wild", seed=seed, powers=UNSHAKEN[powers], reward="margin")
        setup = renamed_setup(state.setup(), new)
        other = State("wild", seed=seed, setup=setup, powers=UNSHAKEN[powers], reward="margin")
        check_renamed(state, other, new)
        while state.seat >= 0:
            action = lively_action(state, rng)
            state.play(action)
            other.play(renamed_action(action, new))
            check_renamed(state, other, new)
        assert (other.winners(), other.returns()) == (state.winners(), state.returns())
        wanted = renamed_record(state.record, new)
        wanted["rng"] = other.record["rng"]
        assert other == State.of(GAME, wanted)


@pytest.mark.parametrize("powers", list(POWER_SETS))
def test_every_decision_in_a_renamed_position_leads_to_the_renamed_position(powers: str) -> None:
    rng = random.Random(2)
    compared = 0
    for seed in range(games_to_play(10, 1)):
        for state in walk(seed, POWER_SETS[powers]):
            new = random_colours(rng)
            other = State.of(GAME, renamed_record(state.record, new))
            check_renamed(state, other, new)
            if state.seat < 0:
                continue
            action = rng.choice(state.legal_actions())
            after = state.copy()
            after.play(action)
            other.play(renamed_action(action, new))
            if returned_all(state, after):
                # Another bag, so what comes out of it is another; what went in is the same.
                assert other.record["put_back"] == 1
                continue
            assert other == State.of(GAME, renamed_record(after.record, new))
            compared += 1
    assert compared > 20


def returned_all(before: State, after: State) -> bool:
    """Tell whether a decision may have brought a return of the whole bowl."""
    moved = before.record["chance"] != after.record["chance"]
    return bool(moved and 7 in after.record["steps"][..., 0])


def test_a_return_of_the_whole_bowl_gives_the_renamed_bowl_and_bag() -> None:
    new = [3, 0, 5, 1, 2, 4, 6]
    cards = [["RETURN all"], *(["ADD 1"] for _ in range(5))]
    record = position(powers=cards, bowl="bbtows", down=["take_one take_two add_two", ""])
    other = renamed_record(record, new)
    for one in (record, other):
        for action in ("play_recover", "pile_0"):
            rules.play(one, action_id(action))
    assert renamed_record(record, new)["in_bag"].tolist() == other["in_bag"].tolist() == [8] * 7
    assert record["bowl"].tolist() == other["bowl"].tolist() == [0] * 7
    assert np.sort(renamed_kind(record["bag"], new)).tolist() == np.sort(other["bag"]).tolist()


def test_the_heuristic_judges_a_renamed_position_the_same() -> None:
    rng = random.Random(4)
    for powers, seed in itertools.product(POWER_SETS.values(), range(games_to_play(5, 1))):
        for state in walk(seed, powers):
            other = renamed_record(state.record, random_colours(rng))
            for seat in range(2):
                assert GAME.evaluate(other, seat) == pytest.approx(GAME.evaluate(state.record, seat), abs=1e-9)


def test_the_renaming_of_this_file_renames() -> None:
    # The helpers, on a case they could get wrong: blue becomes teal, teal orange, orange blue.
    new = [1, 2, 0, 3, 4, 5, 6]
    board = "owl b. .. .. | turtle oo...\nsalmon bt.... | rabbit otw"
    image = "owl t. .. .. | turtle bb...\nsalmon to.... | rabbit bow"
    one, other = position(board, bowl="bbts", draws="oys"), position(image, bowl="tots", draws="bys")
    renamed = renamed_record(one, new)
    for name in ("bowl", "in_bag", "colour", "count", "row", "bonus"):
        assert renamed[name].tolist() == other[name].tolist(), name
    assert renamed["bag"][:52][renamed["bag_size"] - 3 : renamed["bag_size"]].tolist() == [6, 5, 0]
    assert [renamed_action(action_id(f"stone_{name}"), new) for name in ("blue", "spirit_stone")] == [6, 11]
    assert renamed_action(action_id("place_turtle"), new) == action_id("place_turtle")


# --- pairs of the owl -------------------------------------------------------------------------------------


def with_pairs(record: Any, order: Sequence[int]) -> Any:
    """Lay the owl's pairs of both boards in another order."""
    other = record.copy()
    for name in ("colour", "count"):
        other[name][:, :3] = record[name][:, list(order)]
    return other


def pairs_in_order(record: Any) -> Any:
    """Lay the owl's pairs in the one order that all their orders come to."""
    other = record.copy()
    for seat in range(2):
        pairs = sorted(zip(record["colour"][seat, :3].tolist(), record["count"][seat, :3].tolist(), strict=True))
        other["colour"][seat, :3], other["count"][seat, :3] = zip(*pairs, strict=True)
    return other


def test_the_order_of_the_owls_pairs_plays_no_part() -> None:
    rng = random.Random(5)
    orders = list(itertools.permutations(range(3)))[1:]
    for seed in range(games_to_play(20, 1)):
        state = State("wild", seed=seed)
        other = state.copy()
        while state.seat >= 0:
            # Changed anew before every decision, so the two wander apart as far as they can.
            other = State.of(GAME, with_pairs(other.record, rng.choice(orders)))
            assert other.legal_actions() == state.legal_actions()
            assert other.scores() == state.scores()
            for seat in range(2):
                assert GAME.evaluate(other.record, seat) == pytest.approx(GAME.evaluate(state.record, seat), abs=1e-9)
            action = lively_action(state, rng)
            state.play(action)
            other.play(action)
            assert pairs_in_order(other.record).tobytes() == pairs_in_order(state.record).tobytes()
        assert other.returns() == state.returns()


# --- piles ------------------------------------------------------------------------------------------------


def test_the_two_piles_can_change_places() -> None:
    rng = random.Random(6)
    swap = {action_id("pile_0"): action_id("pile_1"), action_id("pile_1"): action_id("pile_0")}
    for seed in range(games_to_play(20, 1)):
        state = State("wild", seed=seed)
        setup = state.setup()
        other = State("wild", seed=0, setup={**setup, "piles": setup["piles"][::-1]})
        while state.seat >= 0:
            assert other.legal_actions() == state.legal_actions()
            assert (other.record["power"], other.phase) == (state.record["power"], state.phase)
            action = lively_action(state, rng)
            state.play(action)
            other.play(swap.get(action, action))
            for name in ("top", "seen", "piles"):
                assert (other.record[name] == state.record[name][::-1]).all()
        assert (other.scores(), other.returns()) == (state.scores(), state.returns())


# --- seats ------------------------------------------------------------------------------------------------


def seats_changed(record: Any) -> dict[str, Any]:
    """The fields of a position in which the players have changed seats."""
    coyote, seat = int(record["coyote"]), int(record["seat"])
    fields: dict[str, Any] = {name: record[name][::-1] for name in ("down", "colour", "count", "row", "bonus")}
    fields["coyote"] = coyote if coyote < 0 else (coyote + 5) % 10
    fields["seat"] = seat if seat < 0 else 1 - seat
    return fields


@pytest.mark.parametrize("powers", list(POWER_SETS))
def test_the_game_is_the_same_from_both_seats(powers: str) -> None:
    rng = random.Random(7)
    for seed in range(games_to_play(15, 1)):
        state = State("wild", seed=seed, powers=POWER_SETS[powers])
        other = edited(state, **seats_changed(state.record))
        while state.seat >= 0:
            assert other.seat == 1 - state.seat
            assert (other.phase, other.turn) == (state.phase, state.turn)
            assert other.legal_actions() == state.legal_actions()
            for seat in range(2):
                values = [GAME.evaluate(one.record, of) for one, of in ((state, seat), (other, 1 - seat))]
                assert values[0] == pytest.approx(values[1], abs=1e-9)
            action = lively_action(state, rng)
            state.play(action)
            other.play(action)
            assert other == edited(state, **seats_changed(state.record))
        assert other.scores() == state.scores()[::-1]
        assert other.returns() == state.returns()[::-1]
        assert other.winners() == sorted(1 - seat for seat in state.winners())


def test_a_drawn_position_and_its_mirror_have_mirrored_points_and_winners() -> None:
    board = ["owl bb t. ..", "rabbit bto C", "salmon btow.. *"]
    left = position("\n".join(f"{line} |" for line in board) + "\n| turtle www..")
    right = position("\n".join(f"| {line}" for line in board) + "\nturtle www..")
    assert points(left) == points(right)[::-1] == [3 + 6 + 12, 6]
    assert (outcome(left)[0], outcome(right)[0]) == ([0], [1])


# --- the two Take Ones ------------------------------------------------------------------------------------


def test_a_position_does_not_tell_the_two_take_ones_apart() -> None:
    # Which of the two was used can't even be written down: the record counts those that are down.
    record = position(bowl="bb", down=["take_one", ""])
    assert record["down"].shape == (2, 5)
    assert cards_down(record, 0) == ["take_one"]
    assert legal(record).count("play_take_one") == 1


@pytest.mark.parametrize("change", [renamed_record, with_pairs])
def test_the_changes_of_this_file_change_something(change: Callable[..., Any]) -> None:
    record = position("owl b. tt ..", bowl="bto")
    assert (
        change(record, [1, 2, 0, 3, 4, 5, 6] if change is renamed_record else [1, 2, 0]).tobytes() != record.tobytes()
    )
