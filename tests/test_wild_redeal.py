"""Re-deals of Spirits of the Wild keep what the seats know, draw the rest fairly, and see nothing of the future."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from typing import Any

import numpy as np
import pytest
from wild_play import (
    LETTERS,
    POWER_SETS,
    RETURNING,
    UNCOMPILED,
    action_id,
    edited,
    games_to_play,
    in_bag,
    lively_action,
    position,
    same_game,
    snapshots,
    too_far,
    walk,
)

from spirits_env.batch import kernels
from spirits_env.game import stream
from spirits_env.games.wild import GAME
from spirits_env.state import State

DRAWS = 300 if UNCOMPILED else 6000
# Nothing of a record but these may change in a re-deal.
REDRAWN = {"rng", "chance", "first_chance", "bag", "first_bag", "piles", "origin"}


def redeals(state: State, number: int = DRAWS, seat: int = 0) -> np.ndarray:
    """Many re-deals of one game at once, as records."""
    states = np.repeat(np.atleast_1d(state.record.copy()), number).astype(GAME.dtype)
    states["rng"] = [stream(77, i) for i in range(number)]
    kernels(GAME).redeal(states, np.full(number, seat, np.int8))
    return states


def unseen(record: Any) -> list[tuple[int, int]]:
    """Where the cards lie that have never been on top: pile and place in it."""
    return [(pile, place) for pile in range(2) for place in range(int(record["seen"][pile]), 3)]


def walks(number: int) -> Any:
    """Every decision of some games with each set of powers."""
    for powers, seed in itertools.product(POWER_SETS, range(number)):
        yield from walk(seed, POWER_SETS[powers])


# --- what stays -------------------------------------------------------------------------------------------


def test_a_redeal_keeps_all_that_is_seen_and_all_public_fields_and_leaves_the_game_alone() -> None:
    for state in walks(games_to_play(8, 1)):
        before = state.copy()
        for seat in range(2):
            other = state.redealt(seat, 5)
            assert state == before
            assert (other.history, other.seat, other.phase) == (state.history, state.seat, state.phase)
            assert (other.mask() == state.mask()).all()
            for observer in range(2):
                assert (other.observation(observer) == state.observation(observer)).all()
            for name in GAME.dtype.names or ():
                if name not in REDRAWN:
                    assert (other.record[name] == state.record[name]).all(), name
            assert (other.scores(), other.winners(), other.returns()) == (
                state.scores(),
                state.winners(),
                state.returns(),
            )


def test_a_redeal_keeps_the_stones_of_the_bag_and_the_cards_of_the_piles_and_those_that_were_on_top() -> None:
    for state in walks(games_to_play(8, 1)):
        record, other = state.record, state.redealt(0, 5).record
        assert Counter(in_bag(other)) == Counter(in_bag(record))
        assert (other["bag"][record["bag_size"] :] == record["bag"][record["bag_size"] :]).all()
        assert sorted(other["piles"].ravel()) == sorted(record["piles"].ravel())
        hidden = unseen(record)
        for pile, place in itertools.product(range(2), range(3)):
            if (pile, place) not in hidden:
                assert other["piles"][pile, place] == record["piles"][pile, place]


def test_a_pile_that_was_once_gone_through_keeps_all_its_cards() -> None:
    state = edited(State("wild", seed=3), seen=[3, 1])
    states = redeals(state)
    assert (states["piles"][:, 0] == state.record["piles"][0]).all()
    # Two cards of the other pile have never been seen.
    assert {tuple(pile[1:]) for pile in states["piles"][:, 1].tolist()} == set(
        itertools.permutations(state.record["piles"][1, 1:].tolist())
    )


def test_the_only_card_that_was_never_on_top_is_known_and_stays() -> None:
    state = edited(State("wild", seed=3), seen=[3, 2])
    assert (redeals(state)["piles"] == state.record["piles"]).all()


def test_both_seats_know_the_same_so_a_redeal_is_the_same_for_both() -> None:
    for state in walks(games_to_play(3, 1)):
        assert state.redealt(0, 4) == state.redealt(1, 4)


# --- what changes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("plies", [0, 25])
def test_every_place_in_the_bag_gets_every_kind_in_fair_shares(plies: int) -> None:
    state = snapshots(12)[plies]
    bag = in_bag(state.record)
    assert len(set(bag)) == 7
    states = redeals(state)
    for place in (0, 1, len(bag) // 2, len(bag) - 2, len(bag) - 1):
        counts = Counter(states["bag"][:, place].tolist())
        assert not too_far(
            (counts[kind] for kind in range(7)), (DRAWS * bag.count(letter) / len(bag) for letter in LETTERS)
        )


def test_a_small_bag_comes_in_every_order_in_fair_shares() -> None:
    state = State.of(GAME, position(bag="bts", bowl="oo"))
    orders = Counter("".join(LETTERS[kind] for kind in bag) for bag in redeals(state)["bag"][:, :3].tolist())
    assert set(orders) == {"".join(order) for order in itertools.permutations("bts")}
    assert not too_far(orders.values(), [DRAWS / 6] * 6)


def test_two_places_of_the_bag_are_drawn_without_putting_back() -> None:
    state = State("wild", seed=2)
    states = redeals(state)
    both = Counter(((states["bag"][:, 51] == 6) * 1 + (states["bag"][:, 3] == 6) * 1).tolist())
    # Eight Spirit Stones among 52: on both places in 8 * 7 of 52 * 51 bags, on neither in 44 * 43.
    pairs = 52 * 51
    expected = [DRAWS * share / pairs for share in (44 * 43, 2 * 44 * 8, 8 * 7)]
    assert not too_far([both[number] for number in range(3)], expected)


def test_unseen_cards_of_both_piles_are_mixed_together_in_fair_shares() -> None:
    state = edited(State("wild", seed=4), piles=[[2, 0, 5], [1, 3, 4]], seen=[2, 1], top=[1, 0])
    # Cards 2, 0 and 1 have been on top; 5, 3 and 4 may lie anywhere below.
    states = redeals(state)
    assert (states["piles"][:, 0, :2] == [2, 0]).all()
    assert (states["piles"][:, 1, 0] == 1).all()
    hidden = np.column_stack([states["piles"][:, 0, 2], states["piles"][:, 1, 1:]])
    orders = Counter(tuple(row) for row in hidden.tolist())
    assert set(orders) == set(itertools.permutations([3, 4, 5]))
    assert not too_far(orders.values(), [DRAWS / 6] * 6)


def test_the_true_order_is_kept_no_more_often_than_chance_has_it() -> None:
    # Every bag of four different stones: a re-deal keeps it in 1 of 24 cases, and every other order as often.
    kept = 0
    orders = list(itertools.permutations("btos"))
    each = 10 if UNCOMPILED else 200
    for order in orders:
        state = State.of(GAME, position(bag="".join(order), bowl="ww"))
        bags = redeals(state, each)["bag"][:, :4]
        kept += int((bags == state.record["bag"][:4]).all(axis=1).sum())
    number = each * len(orders)
    assert not too_far([kept, number - kept], [number / 24, number * 23 / 24])


def test_a_whole_bag_is_never_kept() -> None:
    state = State("wild", seed=5)
    assert not (redeals(state)["bag"] == state.record["bag"]).all(axis=1).any()


def test_bag_and_piles_are_redrawn_independently() -> None:
    state = edited(State.of(GAME, position(bag="bt", bowl="ss", powers="house")), seen=[2, 2])
    states = redeals(state)
    first, card = states["bag"][:, 0], states["piles"][:, 0, 2]
    counts = Counter(zip(first.tolist(), card.tolist(), strict=True))
    assert not too_far([counts[key] for key in itertools.product((0, 1), (2, 5))], [DRAWS / 4] * 4)


def test_without_powers_there_are_no_piles_to_redraw() -> None:
    state = State("wild", seed=5, powers="none")
    assert (redeals(state)["piles"] == [[0, 1, 2], [3, 4, 5]]).all()


# --- chance and nothing hidden ----------------------------------------------------------------------------


def test_a_redeal_draws_only_from_the_states_generator() -> None:
    state = snapshots(6)[10]
    random.seed(1)
    one = state.redealt(0, 9)
    random.seed(2)
    assert state.redealt(0, 9) == one
    assert state.redealt(0, 10) != one
    # What is drawn in play comes from a generator that is split off.
    assert int(one.record["chance"]) == int(one.record["first_chance"])
    assert len({int(one.record["chance"]), int(one.record["rng"]), int(state.record["chance"]), stream(9)}) == 4


def test_a_redeal_hangs_on_what_is_known_and_on_nothing_hidden() -> None:
    # All re-deals of a game look the same to the seats, so with the same chance each must give the same.
    for ply, state in enumerate(walks(games_to_play(4, 1))):
        if ply % 3 == 0:
            for first in (1, 5, 8):
                assert state.redealt(0, first).redealt(1, 2) == state.redealt(0, 2)


def hidden_twin(state: State, rng: random.Random) -> State:
    """The same game to the seats, with another order of the bag and of the unseen cards."""
    record = state.record
    size = int(record["bag_size"])
    bag, piles = record["bag"].copy(), record["piles"].copy()
    bag[:size] = rng.sample(bag[:size].tolist(), size)
    hidden = unseen(record) if state.options["powers"] != "none" else []
    cards = [piles[place] for place in hidden]
    for place, card in zip(hidden, rng.sample(cards, len(cards)), strict=True):
        piles[place] = card
    fields: dict[str, Any] = {"bag": bag, "piles": piles}
    if not record["put_back"]:
        fields["first_bag"] = np.concatenate([bag[:size], record["first_bag"][size:]])[:52]
    return edited(state, **fields)


@pytest.mark.parametrize("powers", list(POWER_SETS))
def test_two_games_that_differ_only_in_what_is_hidden_have_the_same_redealt_future(powers: str) -> None:
    rng = random.Random(3)
    differed = returned = 0
    for seed in range(games_to_play(6, 1)):
        for state in snapshots(seed, POWER_SETS[powers])[:-1:4]:
            twin = hidden_twin(state, rng)
            differed += twin != state
            # The twin's own future is another; the re-dealt one must not be, returns to the bag included.
            one, other = state.redealt(state.seat, 21), twin.redealt(state.seat, 21)
            assert one == other
            while one.seat >= 0:
                assert one.legal_actions() == other.legal_actions()
                action = lively_action(one, rng)
                one.play(action)
                other.play(action)
                assert (one.observation(0) == other.observation(0)).all()
            assert one == other
            assert one.returns() == other.returns()
            returned += int(one.record["put_back"])
    assert differed > 10
    assert returned > 0 or powers in ("house", "none")


def test_the_true_future_differs_from_game_to_game() -> None:
    # The check above could not fail if nothing hidden mattered.
    state = State("wild", seed=1)
    twin = hidden_twin(state, random.Random(1))
    for one in (state, twin):
        one.play(action_id("play_add_three"))
    assert (state.observation(0) != twin.observation(0)).any()


def test_redealt_games_have_futures_in_fair_shares() -> None:
    # Three stones come out of a new bag: how many of them are Spirit Stones, in C(52, 3) ways.
    state = State("wild", seed=8)
    found: Counter[int] = Counter()
    number = 200 if UNCOMPILED else 2000
    for seed in range(number):
        other = state.redealt(0, seed)
        other.play(action_id("play_add_three"))
        found[int(other.record["bowl"][6])] += 1
    ways = [math.comb(8, stones) * math.comb(44, 3 - stones) for stones in range(4)]
    assert sum(ways) == math.comb(52, 3)
    assert not too_far((found[stones] for stones in range(4)), (number * way / math.comb(52, 3) for way in ways))


# --- re-dealt games ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("powers", list(POWER_SETS))
def test_a_redealt_game_can_be_played_to_the_end_with_all_stones(powers: str) -> None:
    rng = random.Random(1)
    for state in snapshots(7, POWER_SETS[powers])[::6]:
        other = state.redealt(1, 11)
        while other.seat >= 0:
            other.play(rng.choice(other.legal_actions()))
        assert other.winners()
        assert other.record["in_bag"].tolist() == [in_bag(other.record).count(letter) for letter in LETTERS]


def test_a_redealt_game_without_a_return_has_a_setup_that_replays_its_history_to_the_same_state() -> None:
    replayed = 0
    for powers, seed in itertools.product(POWER_SETS, range(games_to_play(5, 1))):
        for state in snapshots(seed, POWER_SETS[powers])[::3]:
            if not state.record["put_back"]:
                other = state.redealt(1, 6)
                again = State("wild", seed=0, setup=other.setup(), powers=POWER_SETS[powers])
                for action in other.history:
                    again.play(action)
                assert same_game(again, other)
                replayed += 1
    assert replayed > 20


def test_a_redeal_in_the_middle_of_a_return_has_no_setup_that_lies() -> None:
    # One stone is back in the bag, which is shaken only after the last; whatever the set-up says must be true.
    found = 0
    for seed in range(games_to_play(20, 4)):
        for state in walk(seed, RETURNING):
            if state.phase == "return" and not state.record["put_back"]:
                other = state.redealt(0, 6)
                if not other.record["origin"]:
                    with pytest.raises(ValueError, match=r"^This game was re-dealt"):
                        other.setup()
                    continue
                again = State("wild", seed=0, setup=other.setup(), powers=RETURNING)
                for action in other.history:
                    again.play(action)
                assert same_game(again, other)
                found += 1
    assert found > 0


def test_a_redeal_of_a_finished_game_is_finished() -> None:
    *_, state = walk(3)
    other = state.redealt(0, 4)
    assert (other.seat, other.legal_actions(), other.scores()) == (-1, [], state.scores())
