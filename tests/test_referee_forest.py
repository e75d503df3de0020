"""Tests of the referee of Spirits of the Forest.

The referee judges the fast rules, so its expected values are worked out by hand from the rule book.
"""

from __future__ import annotations

import copy
import random
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest
from referee.forest import POWERS, SPIRITS, Referee, Tile, random_setup

FROM_HAND, PLUS, PASS = 56, 57, 58
MOSS, LEAVES = 1, 8
GAMES = 300


def cell(row: int, col: int) -> int:
    return 8 + 12 * row + col


def parse(code: str) -> list[int | None]:
    """Reads a tile such as "moss2" or "moss1/sun"."""
    spirit, _, power = code.partition("/")
    return [SPIRITS.index(spirit[:-1]), int(spirit[-1]), POWERS.index(power) if power else None]


def position(
    *rows: str,
    players: int = 2,
    turn: int = 1,
    forced_steal: bool = True,
    tokens: list[list[Any]] | None = None,
) -> Referee:
    """Builds a small forest whose missing tiles have simply left, seat 0 to take its first tile."""
    codes = [row.split() for row in rows] + [[]] * (4 - len(rows))
    tiles = [parse(code) for row in codes for code in row + ["branches1"] * (12 - len(row))]
    referee = Referee({"tiles": tiles, "tokens": tokens or [], "unused": []}, players, forced_steal)
    for row in range(4):
        del referee.rows[row][len(codes[row]) :]
    referee.turn = turn
    return referee


def put(referee: Referee, seat: int, row: int, col: int) -> None:
    on_tile(referee, row, col).gem = seat
    referee.hand[seat] -= 1


def lose(referee: Referee, seat: int, gems: int) -> None:
    referee.hand[seat] -= gems
    referee.removed[seat] += gems


def on_tile(referee: Referee, row: int, col: int) -> Tile:
    tile = referee.tile(row, col)
    assert tile is not None
    return tile


def names(tiles: list[Tile]) -> list[str]:
    return [f"{tile.spirit}{tile.symbols}" for tile in tiles]


# Components


def test_random_setup_holds_the_components() -> None:
    setup = random_setup(random.Random(1), 3)
    tiles = setup["tiles"]
    printed = [sum(symbols for spirit, symbols, _ in tiles if spirit == which) for which in range(9)]
    assert len(tiles) == 48
    assert printed == [8, 5, 7, 7, 6, 10, 6, 8, 8]
    assert Counter(power for _, _, power in tiles) == {None: 21, 0: 9, 1: 9, 2: 9}
    assert Counter(spirit for spirit, symbols, _ in tiles if symbols == 2) == {
        0: 2,
        1: 1,
        2: 2,
        3: 2,
        4: 2,
        5: 3,
        6: 1,
        7: 2,
        8: 2,
    }
    assert all(power is None for _, symbols, power in tiles if symbols == 2)
    plain = sorted(spirit for spirit, symbols, power in tiles if symbols == 1 and power is None)
    assert plain == [0, 5, 7, 8]
    assert sorted(spirit for spirit, _, power in tiles if power == 0) == [0, 1, 2, 3, 4, 5, 6, 7, 8]
    assert sorted(spirit for spirit, _, power in tiles if power == 1) == [0, 1, 2, 3, 4, 5, 6, 7, 8]
    assert sorted(spirit for spirit, _, power in tiles if power == 2) == [0, 1, 2, 3, 5, 6, 6, 7, 8]


def test_random_setup_deals_eight_tokens_and_leaves_six() -> None:
    setup = random_setup(random.Random(2), 2)
    cells = [(row, col) for row, col, _ in setup["tokens"]]
    assert cells == [(0, 1), (0, 10), (1, 2), (1, 9), (2, 3), (2, 8), (3, 4), (3, 7)]
    dealt = [name for _, _, name in setup["tokens"]]
    assert len(setup["unused"]) == 6
    assert Counter(dealt + setup["unused"]) == Counter([*SPIRITS, "moon", "sun", "fire", "plus", "plus"])


def test_random_setup_of_solitaire_has_only_spirit_tokens() -> None:
    setup = random_setup(random.Random(3), 1)
    dealt = [setup["player_token"], *setup["opponent_tokens"], *setup["unused"]]
    assert len(setup["opponent_tokens"]) == 2
    assert sorted(dealt) == sorted(SPIRITS)
    assert "tokens" not in setup


def test_tiles_lie_row_by_row_with_their_tokens() -> None:
    setup = random_setup(random.Random(4), 2)
    referee = Referee(setup, 2)
    tile = on_tile(referee, 2, 3)
    spirit, symbols, power = setup["tiles"][27]
    assert (tile.spirit, tile.symbols) == (SPIRITS[spirit], symbols)
    assert tile.power == (None if power is None else POWERS[power])
    assert (tile.row, tile.col, tile.gem) == (2, 3, None)
    assert [2, 3, tile.token] in setup["tokens"]
    assert on_tile(referee, 0, 0).token is None


@pytest.mark.parametrize(("players", "gems"), [(2, 3), (3, 2), (4, 2)])
def test_gems_at_the_start(players: int, gems: int) -> None:
    referee = Referee(random_setup(random.Random(5), players), players)
    assert referee.hand == [gems] * players
    assert referee.removed == [0] * players
    assert (referee.seat, referee.turn, referee.phase) == (0, 0, "first")


@pytest.mark.parametrize("players", [0, 5])
def test_other_numbers_of_players_are_refused(players: int) -> None:
    with pytest.raises(ValueError, match="players"):
        Referee(random_setup(random.Random(6), 2), players)


# Collect tiles


def test_first_turn_offers_the_eight_ends_and_takes_one_tile() -> None:
    referee = Referee(random_setup(random.Random(7), 2), 2)
    assert referee.legal() == [0, 1, 2, 3, 4, 5, 6, 7]
    small = position("moss1 moss1 vines1", "moss1", turn=0)
    small.play(0)
    assert small.phase == "place"
    assert names(small.collected[0]) == ["moss1"]


def test_first_turn_limit_holds_for_the_first_player_only() -> None:
    referee = position("moss1 vines1 leaves1 leaves1", "vines1 vines1", turn=0)
    referee.play(0)
    referee.play(PASS)
    assert (referee.turn, referee.seat, referee.phase) == (1, 1, "first")
    referee.play(0)
    assert referee.phase == "second"


def test_double_tile_ends_the_collect_step() -> None:
    referee = position("moss2 moss1 vines1", "moss1 moss2")
    referee.play(0)
    assert referee.phase == "place"
    assert names(referee.collected[0]) == ["moss2"]


def test_right_side_takes_the_right_end() -> None:
    referee = position("moss2 vines1", "leaves1 fruits2 web_spiders2")
    assert referee.legal() == [0, 1, 2, 3]
    referee.play(3)
    assert names(referee.collected[0]) == ["web_spiders2"]
    assert referee.tile(1, 2) is None
    assert referee.legal()[:2] == [cell(0, 0), cell(0, 1)]


def test_row_with_one_tile_has_only_its_left_side() -> None:
    referee = position("moss1", "", "vines1 leaves2")
    assert referee.legal() == [0, 4, 5]


def test_second_tile_is_a_single_of_the_same_spirit_and_may_be_just_exposed() -> None:
    referee = position("moss1 moss1 leaves1", "leaves1 moss1", "moss2 moss1 vines1")
    referee.play(0)
    assert (referee.phase, referee.first_spirit) == ("second", MOSS)
    assert referee.legal() == [0, 3, PASS]
    referee.play(0)
    assert names(referee.collected[0]) == ["moss1", "moss1"]
    assert [tile.col for tile in referee.collected[0]] == [0, 1]
    assert (referee.phase, referee.first_spirit) == ("place", None)


def test_no_more_than_two_tiles() -> None:
    referee = position("moss1 moss1 moss1 vines1")
    referee.play(0)
    referee.play(0)
    assert referee.phase == "place"
    assert referee.tile(0, 2) is not None


def test_second_tile_may_be_declined() -> None:
    referee = position("moss1 moss1 vines1")
    referee.play(0)
    referee.play(PASS)
    assert (referee.phase, referee.first_spirit, referee.seat) == ("place", None, 0)
    assert names(referee.collected[0]) == ["moss1"]


def test_second_tile_is_not_asked_when_none_fits() -> None:
    referee = position("moss1 moss2 vines1", "leaves1")
    referee.play(0)
    assert (referee.phase, referee.first_spirit) == ("place", None)


def test_second_tile_is_asked_with_a_usable_plus_though_none_fits() -> None:
    referee = position("moss1 vines1", "leaves1")
    lose(referee, 0, 1)
    referee.held[0].append("plus")
    referee.play(0)
    assert (referee.phase, referee.legal()) == ("second", [PLUS, PASS])
    referee.play(PLUS)
    assert (referee.phase, referee.hand[0]) == ("place", 3)


# The gem rule


def test_free_own_and_opponents_ends_can_be_taken_with_a_gem() -> None:
    referee = position("moss1 vines1", "fruits1 leaves1")
    put(referee, 0, 0, 0)
    put(referee, 1, 0, 1)
    assert referee.legal() == [0, 1, 2, 3]


def test_opponents_end_can_be_taken_with_a_gem_in_the_forest_only() -> None:
    referee = position("moss1 vines1 leaves1")
    lose(referee, 0, 2)
    put(referee, 0, 0, 1)
    put(referee, 1, 0, 0)
    assert referee.hand[0] == 0
    assert referee.legal() == [0, 1]


def test_opponents_end_cannot_be_taken_without_any_gem() -> None:
    referee = position("moss1 vines1 leaves1")
    lose(referee, 0, 3)
    put(referee, 1, 0, 0)
    assert referee.legal() == [1]


def test_opponents_second_tile_needs_a_gem() -> None:
    referee = position("moss1 moss1 leaves1", "moss1")
    lose(referee, 0, 3)
    put(referee, 1, 0, 1)
    referee.play(0)
    assert referee.legal() == [2, PASS]


def test_pass_is_not_offered_when_only_steals_are_possible() -> None:
    referee = position("moss2 vines2")
    put(referee, 1, 0, 0)
    put(referee, 1, 0, 1)
    assert referee.legal() == [0, 1]


def test_steals_may_be_declined_without_forced_steal() -> None:
    referee = position("moss2 leaves1 vines2", forced_steal=False)
    put(referee, 1, 0, 0)
    put(referee, 1, 0, 2)
    assert referee.legal() == [0, 1, PASS]
    referee.play(PASS)
    assert (referee.phase, referee.seat, referee.collected[0]) == ("place", 0, [])


@pytest.mark.parametrize("own", [True, False])
def test_pass_is_not_offered_without_forced_steal_while_another_end_is_left(own: bool) -> None:
    referee = position("moss2 vines2", forced_steal=False)
    put(referee, 1, 0, 0)
    if own:
        put(referee, 0, 0, 1)
    assert referee.legal() == [0, 1]


def test_skipped_turn_without_any_decision_resolves_by_itself() -> None:
    referee = position("moss1 leaves1 vines2", "fruits1")
    lose(referee, 0, 3)
    for row, col in ((0, 0), (0, 2)):
        put(referee, 1, row, col)
    referee.seat = 1
    referee.play(2)
    referee.play(PASS)
    assert (referee.turn, referee.seat, referee.phase) == (3, 1, "first")
    assert referee.collected[0] == []


def test_skipped_collect_still_leads_to_the_gem_step() -> None:
    referee = position("moss1 leaves1 vines2")
    lose(referee, 0, 3)
    referee.held[0].append("plus")
    put(referee, 1, 0, 0)
    put(referee, 1, 0, 2)
    assert referee.legal() == [PLUS, PASS]
    referee.play(PASS)
    assert (referee.phase, referee.seat, referee.legal()) == ("place", 0, [PLUS, PASS])
    referee.play(PLUS)
    assert (referee.phase, referee.legal()) == ("place", [cell(0, 1), PASS])
    referee.play(cell(0, 1))
    assert on_tile(referee, 0, 1).gem == 0
    assert (referee.seat, referee.hand[0], referee.removed[0]) == (1, 0, 2)


def test_plus_in_the_first_phase_makes_steals_possible() -> None:
    referee = position("moss1 leaves1 vines2")
    lose(referee, 0, 3)
    referee.held[0].append("plus")
    put(referee, 1, 0, 0)
    put(referee, 1, 0, 2)
    referee.play(PLUS)
    assert (referee.phase, referee.legal()) == ("first", [0, 1])
    referee.play(0)
    assert (referee.hand, referee.removed) == ([0, 2], [3, 0])


# Paying


def test_payment_with_hand_gems_only_resolves_by_itself() -> None:
    referee = position("moss2 vines1 leaves1")
    put(referee, 1, 0, 0)
    referee.play(0)
    assert (referee.phase, referee.paying) == ("place", None)
    assert (referee.hand, referee.removed) == ([2, 3], [1, 0])
    assert names(referee.collected[0]) == ["moss2"]


def test_payment_with_the_only_forest_gem_resolves_by_itself() -> None:
    referee = position("moss2 vines1 leaves1")
    lose(referee, 0, 2)
    put(referee, 0, 0, 1)
    put(referee, 1, 0, 0)
    referee.play(0)
    assert on_tile(referee, 0, 1).gem is None
    assert (referee.hand, referee.removed) == ([0, 3], [3, 0])
    assert (referee.seat, referee.phase) == (1, "first")


def test_payment_is_a_choice_between_hand_and_forest_gems() -> None:
    referee = position("moss2 vines1 leaves1", "fruits1")
    put(referee, 0, 0, 1)
    put(referee, 0, 1, 0)
    put(referee, 1, 0, 0)
    referee.play(0)
    assert (referee.phase, referee.paying, referee.seat) == ("pay", (0, 0), 0)
    assert referee.tile(0, 0) is not None
    assert referee.collected[0] == []
    assert referee.legal() == [cell(0, 1), cell(1, 0), FROM_HAND]
    by_hand = copy.deepcopy(referee)
    by_hand.play(FROM_HAND)
    assert (by_hand.hand, by_hand.removed) == ([0, 3], [1, 0])
    referee.play(cell(0, 1))
    assert on_tile(referee, 0, 1).gem is None
    assert on_tile(referee, 1, 0).gem == 0
    assert (referee.hand, referee.removed) == ([1, 3], [1, 0])
    assert (referee.phase, referee.paying) == ("place", None)


def test_the_stolen_tile_counts_as_the_first_of_two() -> None:
    referee = position("moss1 moss1 leaves1")
    put(referee, 0, 0, 2)
    put(referee, 1, 0, 0)
    referee.play(0)
    assert (referee.phase, referee.first_spirit) == ("pay", None)
    referee.play(FROM_HAND)
    assert (referee.phase, referee.first_spirit, referee.legal()) == ("second", MOSS, [0, PASS])


def test_the_second_tile_is_paid_for_too() -> None:
    referee = position("leaves1 leaves1 moss1", "vines1")
    put(referee, 0, 1, 0)
    put(referee, 1, 0, 0)
    put(referee, 1, 0, 1)
    referee.play(0)
    referee.play(cell(1, 0))
    assert referee.phase == "second"
    put(referee, 0, 1, 0)
    referee.play(0)
    assert (referee.phase, referee.paying, referee.first_spirit) == ("pay", (0, 1), LEAVES)
    assert referee.legal() == [cell(1, 0), FROM_HAND]
    referee.play(FROM_HAND)
    assert (referee.phase, referee.first_spirit) == ("place", None)
    assert (referee.hand, referee.removed) == ([0, 3], [2, 0])


def test_gem_returns_to_the_opponent_who_owned_it() -> None:
    referee = position("moss2 vines1", players=3)
    put(referee, 2, 0, 0)
    referee.play(0)
    assert (referee.hand, referee.removed) == ([1, 2, 2], [1, 0, 0])


def test_own_gem_returns_and_pays_for_the_second_tile() -> None:
    referee = position("moss1 leaves2", "moss1 vines2")
    lose(referee, 0, 2)
    put(referee, 0, 0, 0)
    put(referee, 1, 1, 0)
    referee.play(0)
    assert (referee.phase, referee.hand[0], referee.legal()) == ("second", 1, [2, PASS])
    referee.play(2)
    assert names(referee.collected[0]) == ["moss1", "moss1"]
    assert (referee.hand, referee.removed) == ([0, 3], [3, 0])
    assert referee.seat == 1


def test_own_gem_returns_and_can_be_placed_this_turn() -> None:
    referee = position("moss2 leaves2", "moss1 vines2")
    lose(referee, 0, 2)
    put(referee, 0, 0, 0)
    referee.play(0)
    assert (referee.phase, referee.hand[0]) == ("place", 1)
    assert referee.legal() == [cell(0, 1), cell(1, 0), cell(1, 1), PASS]


# "+" tokens


def test_plus_is_a_second_way_out_of_a_forest_payment() -> None:
    referee = position("moss2 vines1 leaves1")
    lose(referee, 0, 2)
    referee.held[0].append("plus")
    put(referee, 0, 0, 1)
    put(referee, 1, 0, 0)
    referee.play(0)
    assert (referee.phase, referee.legal()) == ("pay", [cell(0, 1), PLUS])
    referee.play(PLUS)
    assert (referee.phase, referee.legal()) == ("pay", [cell(0, 1), FROM_HAND])
    assert (referee.held[0], referee.used_plus) == ([], [1, 0])
    referee.play(FROM_HAND)
    assert on_tile(referee, 0, 1).gem == 0
    assert (referee.hand, referee.removed) == ([0, 3], [2, 0])


def test_payment_resolves_once_plus_leaves_a_single_way() -> None:
    referee = position("moss2 vines1 leaves1")
    lose(referee, 0, 2)
    referee.held[0].append("plus")
    put(referee, 1, 0, 0)
    referee.play(0)
    assert (referee.phase, referee.legal()) == ("pay", [FROM_HAND, PLUS])
    referee.play(PLUS)
    assert (referee.phase, referee.hand, referee.removed) == ("place", [1, 3], [2, 0])


def test_plus_needs_a_lost_gem() -> None:
    referee = position("moss2 vines1", "leaves1")
    referee.held[0].append("plus")
    assert referee.legal() == [0, 1, 2]
    lose(referee, 0, 1)
    assert referee.legal() == [0, 1, 2, PLUS]
    referee.play(PLUS)
    assert (referee.phase, referee.seat, referee.hand[0]) == ("first", 0, 3)
    assert referee.legal() == [0, 1, 2]


def test_two_plus_tokens_are_used_one_by_one() -> None:
    referee = position("moss2 vines1", "leaves1")
    referee.held[0] += ["plus", "sun", "plus"]
    lose(referee, 0, 3)
    referee.play(PLUS)
    assert (referee.hand[0], referee.removed[0], referee.used_plus[0]) == (1, 2, 1)
    referee.play(PLUS)
    assert (referee.hand[0], referee.removed[0], referee.used_plus[0]) == (2, 1, 2)
    assert (referee.held[0], referee.legal()) == (["sun"], [0, 1, 2])


def test_only_the_holder_uses_a_plus() -> None:
    referee = position("moss2 vines1", "leaves1")
    referee.held[1].append("plus")
    lose(referee, 0, 1)
    lose(referee, 1, 1)
    assert referee.legal() == [0, 1, 2]


def test_plus_on_the_first_tile_cannot_pay_for_the_second() -> None:
    referee = position("moss1 moss1 leaves1", "vines1", tokens=[[0, 0, "plus"]])
    lose(referee, 0, 3)
    put(referee, 1, 0, 1)
    referee.play(0)
    assert names(referee.collected[0]) == ["moss1"]
    assert (referee.phase, referee.legal()) == ("place", [PLUS, PASS])
    assert (referee.held[0], referee.unexamined[0]) == (["plus"], [])


def test_tokens_are_examined_when_the_collect_step_is_over() -> None:
    referee = position("moss1 moss1 leaves1", tokens=[[0, 0, "plus"], [0, 1, "sun"]])
    lose(referee, 0, 1)
    referee.play(0)
    assert (referee.unexamined[0], referee.held[0], referee.legal()) == (["plus"], [], [0, PASS])
    referee.play(0)
    assert (referee.unexamined[0], referee.held[0]) == ([], ["plus", "sun"])
    assert referee.legal() == [cell(0, 2), PLUS, PASS]


def test_plus_is_not_asked_while_a_gem_is_lifted() -> None:
    referee = position("moss2 vines1 leaves1")
    lose(referee, 0, 2)
    put(referee, 0, 0, 1)
    referee.held[0].append("plus")
    referee.play(0)
    assert referee.legal() == [cell(0, 1), PLUS, PASS]
    referee.play(cell(0, 1))
    assert (referee.phase, referee.legal()) == ("move", [cell(0, 2)])


# Place gemstones


def test_gem_from_hand_goes_to_any_tile_without_a_gem() -> None:
    referee = position("leaves2 moss1 vines1", "fruits1 moss2 fruits1", tokens=[[1, 1, "sun"]])
    put(referee, 0, 0, 1)
    put(referee, 1, 1, 0)
    referee.play(0)
    assert referee.legal() == [cell(0, 2), cell(1, 1), cell(1, 2), PASS]
    referee.play(cell(1, 1))
    assert on_tile(referee, 1, 1).gem == 0
    assert on_tile(referee, 1, 1).token == "sun"
    assert (referee.hand[0], referee.turn, referee.seat, referee.phase) == (1, 2, 1, "first")


def test_gem_step_may_be_declined() -> None:
    referee = position("leaves2 moss1 vines1")
    referee.play(0)
    referee.play(PASS)
    assert (referee.hand[0], referee.turn, referee.seat, referee.phase) == (3, 2, 1, "first")


def test_gem_in_the_forest_moves_when_the_hand_is_empty() -> None:
    referee = position("leaves2 moss1 vines1", "fruits1 moss2")
    lose(referee, 0, 1)
    put(referee, 0, 0, 1)
    put(referee, 0, 1, 0)
    put(referee, 1, 1, 1)
    referee.play(0)
    assert referee.legal() == [cell(0, 1), cell(1, 0), PASS]
    referee.play(cell(0, 1))
    assert (referee.phase, referee.seat, referee.lifted) == ("move", 0, (0, 1))
    assert on_tile(referee, 0, 1).gem is None
    assert (referee.hand[0], referee.legal()) == (0, [cell(0, 2)])
    referee.play(cell(0, 2))
    assert on_tile(referee, 0, 2).gem == 0
    assert (referee.lifted, referee.seat, referee.phase, referee.turn) == (None, 1, "first", 2)


def test_plus_in_the_gem_step_turns_moving_into_placing() -> None:
    referee = position("leaves2 moss1 vines1")
    lose(referee, 0, 2)
    put(referee, 0, 0, 1)
    referee.held[0].append("plus")
    referee.play(0)
    assert referee.legal() == [cell(0, 1), PLUS, PASS]
    referee.play(PLUS)
    assert referee.legal() == [cell(0, 2), PASS]


@pytest.mark.parametrize("in_hand", [0, 1])
def test_gem_step_is_not_asked_when_no_tile_can_receive_a_gem(in_hand: int) -> None:
    referee = position("leaves2 moss1 vines1")
    lose(referee, 0, 2 - in_hand)
    put(referee, 0, 0, 1)
    put(referee, 1, 0, 2)
    referee.play(0)
    assert (referee.seat, referee.phase, referee.hand[0]) == (1, "first", in_hand)


def test_turns_go_round_the_table() -> None:
    referee = position("leaves2 moss2 vines2 leaves2 moss2", players=3)
    for seat in (0, 1, 2, 0):
        assert referee.seat == seat
        referee.play(0)
        referee.play(PASS)
    assert referee.seat == 1


# Illegal actions


@pytest.mark.parametrize("action", [-1, 2, 7, cell(0, 0), FROM_HAND, PLUS, PASS, 59])
def test_illegal_action_is_refused_and_changes_nothing(action: int) -> None:
    referee = position("moss1 moss1 vines1")
    before = copy.deepcopy(vars(referee))
    with pytest.raises(ValueError, match="not legal"):
        referee.play(action)
    assert vars(referee) == before


# End of the game


def test_last_tile_ends_the_game_at_once() -> None:
    referee = position("moss1", tokens=[[0, 0, "plus"]])
    lose(referee, 0, 1)
    referee.play(0)
    assert (referee.phase, referee.seat, referee.turn) == ("end", -1, 2)
    assert (referee.held[0], referee.unexamined[0], referee.hand[0]) == (["plus"], [], 2)
    assert (referee.legal(), referee.first_spirit) == ([], None)
    with pytest.raises(ValueError, match="not legal"):
        referee.play(PASS)


def test_last_tile_as_second_tile_examines_both_tokens() -> None:
    referee = position("moss1 moss1", tokens=[[0, 0, "sun"], [0, 1, "moss"]])
    referee.play(0)
    referee.play(0)
    assert (referee.phase, referee.held[0], referee.first_spirit) == ("end", ["sun", "moss"], None)
    # Moss 2 on tiles and 1 token; sun a token only; ten other icons nobody has.
    assert referee.scores() == [3 + (1 - 3) - 30, -36]


def test_last_tile_can_be_stolen() -> None:
    referee = position("moss2")
    put(referee, 1, 0, 0)
    put_back = referee.hand[1]
    referee.play(0)
    assert (referee.phase, put_back, referee.hand, referee.removed) == ("end", 2, [2, 3], [1, 0])


# Score


def finished(collected: list[str], held: list[str] | None = None) -> Referee:
    """Builds a game that is over, each seat's tiles and tokens given as words."""
    referee = position("", players=len(collected))
    for seat, words in enumerate(collected):
        for code in words.split():
            spirit, symbols, power = parse(code)
            assert spirit is not None
            assert symbols is not None
            power_name = None if power is None else POWERS[power]
            referee.collected[seat].append(Tile(SPIRITS[spirit], symbols, power_name, 0, 0, None, None))
    for seat, words in enumerate(held or []):
        referee.held[seat] += words.split()
    referee.phase, referee.seat = "end", -1
    return referee


def test_rule_book_example_of_the_leaves() -> None:
    referee = finished(["leaves2 leaves2", "leaves2 leaves1 leaves1", ""], ["", "leaves", ""])
    # The eleven other icons cost everybody 3 each.
    assert referee.scores() == [-33, 5 - 33, -36]


def test_tied_majorities_all_score() -> None:
    referee = finished(["leaves2 leaves2", "leaves2 leaves1 leaves1", "leaves1"])
    assert referee.scores() == [4 - 33, 4 - 33, -33]


def test_powers_score_like_spirits() -> None:
    referee = finished(["moss1/sun vines1/sun", "moss1/sun leaves1/moon"])
    # Seat 0: moss tied 1, vines 1, sun 2; without leaves, moon and eight others... nine icons missing.
    assert referee.scores()[0] == 1 + 1 + 2 - 3 * 9
    # Seat 1: moss tied 1, leaves 1, moon 1, sun beaten; eight icons missing.
    assert referee.scores()[1] == 1 + 1 + 1 - 3 * 8


def test_tokens_count_for_the_majority_but_not_against_the_penalty() -> None:
    referee = finished(["moss1", ""], ["fire", "moss vines plus"])
    # Seat 0: moss tied 1, fire 1 by token; eleven icons without a tile.
    # Seat 1: moss tied 1, vines 1; twelve icons without a tile.
    assert referee.scores() == [1 + 1 - 33, 1 + 1 - 36]


def test_score_before_the_end_counts_what_is_there() -> None:
    referee = position("moss1 moss1 vines1", tokens=[[0, 0, "moss"]])
    referee.play(0)
    assert referee.scores() == [1 - 33, -36]
    referee.play(PASS)
    assert referee.scores() == [2 - 33, -36]
    assert (referee.winners(), referee.returns("win"), referee.returns("margin")) == ([], [0, 0], [0, 0])


# Winners and rewards


def test_most_points_win() -> None:
    referee = finished(["moss1", "moss2 moss2 leaves1"])
    # Seat 1: moss 4 and leaves 1, more tiles but more points.
    assert referee.scores() == [-33, 5 - 30]
    assert referee.winners() == [1]
    assert referee.returns("win") == pytest.approx([-1, 1])
    assert referee.returns("margin") == pytest.approx([-4, 4])


def test_tied_points_go_to_the_fewest_tiles() -> None:
    referee = finished(["leaves1 leaves1", "leaves2"])
    assert referee.scores() == [-31, -31]
    assert referee.winners() == [1]
    assert referee.returns("win") == pytest.approx([-1, 1])
    assert referee.returns("margin") == pytest.approx([0, 0])


def test_fewest_tiles_count_among_the_tied_only() -> None:
    referee = finished(["leaves1 leaves1", "leaves1 leaves1", "moss1"], ["", "", ""])
    # Seats 0 and 1: leaves 2; seat 2: moss 1, fewer tiles but fewer points.
    assert referee.scores() == [-31, -31, -32]
    assert referee.winners() == [0, 1]


def test_fully_tied_players_share() -> None:
    referee = finished(["leaves2", "leaves2"])
    assert referee.winners() == [0, 1]
    assert referee.returns("win") == pytest.approx([0, 0])


def test_three_player_rewards() -> None:
    alone = finished(["leaves2 leaves2", "leaves2 leaves1 leaves1", ""], ["", "leaves", ""])
    assert alone.returns("win") == pytest.approx([-0.5, 1, -0.5])
    # -33, -28, -36: mean -97/3.
    assert alone.returns("margin") == pytest.approx([-2 / 3, 13 / 3, -11 / 3])
    shared = finished(["leaves2", "leaves2", ""])
    assert shared.returns("win") == pytest.approx([0.25, 0.25, -0.5])
    assert finished(["leaves2", "leaves2", "leaves2"]).returns("win") == pytest.approx([0, 0, 0])


def test_four_player_rewards() -> None:
    third = 1 / 3
    alone = finished(["leaves2", "", "", "moss1"])
    # Leaves 2 against moss 1, one penalty saved by each.
    assert alone.scores() == [-31, -36, -36, -32]
    assert alone.returns("win") == pytest.approx([1, -third, -third, -third])
    assert alone.returns("margin") == pytest.approx([2.75, -2.25, -2.25, 1.75])
    two = finished(["leaves2", "", "leaves2", ""])
    assert two.returns("win") == pytest.approx([third, -third, third, -third])
    three = finished(["leaves2", "leaves2", "leaves2", ""])
    assert three.returns("win") == pytest.approx([1 / 9, 1 / 9, 1 / 9, -third])
    assert finished(["leaves2"] * 4).returns("win") == pytest.approx([0] * 4)


def test_unknown_reward_is_refused() -> None:
    with pytest.raises(ValueError, match="win or margin"):
        finished(["leaves2", "leaves2"]).returns("points")


# Solitaire


def solitaire(first_tile: str, player: str, opponent: list[str]) -> Referee:
    """Builds rows of six double moss left and six single moss right; one tile differs."""
    row = ["moss2"] * 6 + ["moss1"] * 6
    codes = [first_tile, *row[1:], *row, *row, *row]
    setup = {
        "tiles": [parse(code) for code in codes],
        "player_token": player,
        "opponent_tokens": opponent,
        "unused": [],
    }
    return Referee(setup, 1)


def test_solitaire_gives_the_other_end_to_the_opponent() -> None:
    referee = solitaire("vines1", "leaves", ["moss", "vines"])
    assert (referee.legal(), referee.phase, referee.seat) == ([0, 1, 2, 3, 4, 5, 6, 7], "first", 0)
    assert (referee.hand, referee.held) == ([0], [["leaves"]])
    referee.play(0)
    assert names(referee.collected[0]) == ["vines1"]
    assert names(referee.opponent_collected) == ["moss1"]
    assert (referee.tile(0, 0), referee.tile(0, 11)) == (None, None)
    assert (referee.turn, referee.phase, referee.seat) == (1, "first", 0)
    referee.play(1)
    assert names(referee.collected[0]) == ["vines1", "moss1"]
    assert names(referee.opponent_collected) == ["moss1", "moss2"]


def test_solitaire_tokens_of_the_opponent_and_end_after_eighteen_turns() -> None:
    referee = solitaire("vines1", "leaves", ["moss", "vines"])
    tokens_after = {}
    for turn in range(1, 19):
        assert referee.phase == "first"
        referee.play(2 * ((turn - 1) // 6))
        tokens_after[turn] = list(referee.opponent_held)
    assert tokens_after[5] == []
    assert tokens_after[6] == tokens_after[11] == ["moss"]
    assert tokens_after[12] == tokens_after[18] == ["moss", "vines"]
    assert (referee.phase, referee.seat, referee.turn, referee.legal()) == ("end", -1, 18, [])
    assert len(referee.collected[0]) == len(referee.opponent_collected) == 18


def test_solitaire_win_with_ties() -> None:
    referee = solitaire("vines1", "leaves", ["moss", "vines"])
    for turn in range(18):
        referee.play(2 * (turn // 6))
    # Moss 10 + 12 + 12 against 18 and a token; vines 1 against a token; leaves 1 by token without a tile.
    assert referee.scores() == [34 + 1 + (1 - 3) - 6 * 3]
    assert referee.winners() == [0]
    assert referee.returns("win") == [1.0]
    assert referee.returns("margin") == [0.0]


def test_solitaire_loss_by_one_token() -> None:
    referee = solitaire("moss2", "leaves", ["moss", "vines"])
    for turn in range(18):
        referee.play(2 * (turn // 6))
    assert (referee.scores(), referee.winners()) == ([0], [])
    assert referee.returns("win") == [-1.0]
    assert referee.returns("margin") == [-1.0]


def test_solitaire_deficits_add_up() -> None:
    referee = solitaire("vines1", "leaves", ["fruits", "flowers"])
    for turn in range(18):
        referee.play(2 * (turn // 6) + 1)
    # The player has moss 18; the opponent moss 34, vines 1, fruits 1, flowers 1.
    assert referee.returns("margin") == [-(16.0 + 1 + 1 + 1)]
    assert referee.returns("win") == [-1.0]


def test_solitaire_lasts_longer_when_the_last_row_was_played_in() -> None:
    referee = solitaire("vines1", "leaves", ["moss", "vines"])
    for _ in range(5):
        referee.play(6)
    for turn in range(18):
        assert referee.phase == "first"
        referee.play(2 * (turn // 6))
    assert (referee.phase, referee.turn, len(referee.rows[3])) == ("end", 23, 2)


# Random games


@dataclass
class Played:
    """What a finished random game is counted by."""

    referee: Referee
    takes: int
    ends: list[int]


def check_invariants(referee: Referee, supply: int) -> None:
    forest = [tile for row in referee.rows for tile in row]
    assert len(forest) + sum(map(len, referee.collected)) == 48
    for seat in range(referee.players):
        in_forest = sum(1 for tile in forest if tile.gem == seat)
        lifted = 1 if referee.phase == "move" and referee.seat == seat else 0
        assert referee.hand[seat] >= 0
        assert referee.removed[seat] >= 0
        assert referee.hand[seat] + in_forest + referee.removed[seat] + lifted == supply
    on_tiles = sum(1 for tile in forest if tile.token is not None)
    with_players = sum(map(len, referee.held)) + sum(map(len, referee.unexamined)) + sum(referee.used_plus)
    assert on_tiles + with_players == 8
    assert (referee.lifted is not None) == (referee.phase == "move")
    assert (referee.paying is not None) == (referee.phase == "pay")
    if referee.phase in ("first", "place", "move", "end"):
        assert referee.first_spirit is None
        assert not any(referee.unexamined)


def check_decision(referee: Referee, legal: list[int]) -> None:
    assert legal == sorted(set(legal))
    assert legal
    assert legal != [PASS]
    assert 0 <= referee.seat < referee.players
    if referee.phase == "pay":
        assert len(legal) > 1


def play_random(rng: random.Random, players: int, gem_chance: float | None, forced_steal: bool) -> Played:
    """Plays uniformly; with a gem chance the gem step is first declined or not by that chance."""
    referee = Referee(random_setup(rng, players), players, forced_steal)
    supply = referee.hand[0]
    game = Played(referee, 0, [])
    while referee.phase != "end":
        legal = referee.legal()
        check_decision(referee, legal)
        action = rng.choice(legal)
        if referee.phase == "place" and gem_chance is not None:
            others = [other for other in legal if other != PASS]
            action = rng.choice(others) if others and rng.random() < gem_chance else PASS
        if referee.phase == "first" and action < 8:
            game.takes += 1
            game.ends.append(sum(1 for other in legal if other < 8))
        referee.play(action)
        check_invariants(referee, supply)
    return game


@pytest.mark.parametrize("forced_steal", [True, False])
@pytest.mark.parametrize("players", [2, 3, 4])
def test_random_games_keep_the_invariants(players: int, forced_steal: bool) -> None:
    rng = random.Random(100 + players)
    for _ in range(GAMES // 3):
        referee = play_random(rng, players, None, forced_steal).referee
        assert 24 <= referee.turn <= 100
        assert all(not row for row in referee.rows)
        assert referee.winners()
        assert sum(referee.returns("win")) == pytest.approx(0)
        assert sum(referee.returns("margin")) == pytest.approx(0)


REFERENCE_POINTS = {2: 34.5, 3: 16.5, 4: 7.2}
REFERENCE_SHARES = {2: (0.548, 0.452), 3: (0.407, 0.335, 0.258), 4: (0.319, 0.273, 0.229, 0.178)}


@pytest.mark.parametrize("players", [2, 3, 4])
def test_random_games_resemble_the_reference_figures(players: int) -> None:
    rng = random.Random(200 + players)
    games = [play_random(rng, players, 0.5, True) for _ in range(GAMES)]
    points = [score for game in games for score in game.referee.scores()]
    assert sum(points) / len(points) == pytest.approx(REFERENCE_POINTS[players], abs=2)
    turns = [game.referee.turn for game in games]
    assert sum(turns) / GAMES == pytest.approx(44.2, abs=2)
    ends = [count for game in games for count in game.ends]
    assert sum(ends) / len(ends) == pytest.approx(6.7, abs=0.4)
    skipped = sum(game.referee.turn - game.takes for game in games) / GAMES
    assert 0 < skipped < 2
    shares = [0.0] * players
    for game in games:
        winners = game.referee.winners()
        for seat in winners:
            shares[seat] += 1 / len(winners) / GAMES
    assert shares == pytest.approx(list(REFERENCE_SHARES[players]), abs=0.1)


def test_random_solitaires_keep_the_invariants() -> None:
    rng = random.Random(300)
    for _ in range(GAMES):
        referee = Referee(random_setup(rng, 1), 1)
        while referee.phase != "end":
            assert referee.phase == "first"
            assert referee.seat == 0
            legal = referee.legal()
            assert legal == [2 * row + side for row in range(4) for side in (0, 1) if referee.rows[row]]
            referee.play(rng.choice(legal))
            assert len(referee.collected[0]) == len(referee.opponent_collected) == referee.turn
            assert all(len(row) % 2 == 0 for row in referee.rows)
        assert 18 <= referee.turn <= 23
        assert sum(1 for row in referee.rows if row) == 1
        assert len(referee.opponent_held) == 2
        won = referee.winners() == [0]
        assert referee.returns("win") == [1.0 if won else -1.0]
        assert (referee.returns("margin") == [0.0]) == won
