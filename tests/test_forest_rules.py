"""Every clause of the rules of Spirits of the Forest on a drawn position, with results worked out by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from spirits_env.game import IllegalAction
from spirits_env.games.forest import GAME, rules, solitaire
from spirits_env.games.forest.components import GEMS, ICONS, POWERS, SPIRITS, TOKEN_CELLS, TOKENS, all_tiles
from spirits_env.games.forest.state import HELD, LYING, USED
from spirits_env.state import State

HAND, PLUS, PASS = 56, 57, 58
LETTERS = "bmdufwrvl"  # branches moss dew mushrooms(u) flowers web fruits(r) vines leaves
POWER_LETTERS = "osf"  # moon(o) sun fire


def take(row: int, side: int = 0) -> int:
    return 2 * row + side


def cell(row: int, column: int) -> int:
    return 8 + 12 * row + column


def position(
    drawing: str,
    players: int = 2,
    *,
    seat: int = 0,
    turn: int = 1,
    phase: str = "first",
    removed: Mapping[int, int] | None = None,
    tokens: Mapping[tuple[int, int], str] | None = None,
    held: Mapping[int, Sequence[str]] | None = None,
    forced_steal: bool = True,
    reward: str = "win",
) -> Any:
    """Turn a drawing into a record.

    A line is a row, a word a tile from the left: a letter for the spirit, the number of symbols, a letter for the
    power if any, and `@seat` for a gem; a dot is a collected tile, and so is all that a line leaves out. Gems that
    are neither drawn nor removed are in hand.
    """
    record = State("forest", players, seed=1, forced_steal=forced_steal, reward=reward).record
    lines = [line.split() for line in drawing.strip("\n").splitlines()] + [[]] * 4
    record["present"] = 0
    for row in range(4):
        columns = [column for column, code in enumerate(lines[row]) if code != "."]
        assert columns == list(range(columns[0], columns[-1] + 1)) if columns else True
        record["left"][row], record["right"][row] = (columns[0], columns[-1]) if columns else (6, 5)
        for column in columns:
            lay(record, 12 * row + column, lines[row][column])
    record["remaining"] = record["present"].sum()
    lay_tokens(record, tokens or {}, held or {})
    for owner in range(players):
        record["removed"][owner] = (removed or {}).get(owner, 0)
        record["placed"][owner] = (record["gem"] == owner).sum()
        record["hand"][owner] = GEMS[players] - record["placed"][owner] - record["removed"][owner]
    record["seat"], record["turn"], record["phase"] = seat, turn, GAME.phases.index(phase)
    return record


def lay(record: Any, index: int, code: str) -> None:
    code, _, gem = code.partition("@")
    record["present"][index] = 1
    record["spirit"][index] = LETTERS.index(code[0])
    record["symbols"][index] = int(code[1])
    record["power"][index] = POWER_LETTERS.index(code[2]) if len(code) == 3 else -1
    record["gem"][index] = int(gem) if gem else -1


def lay_tokens(record: Any, tokens: Mapping[tuple[int, int], str], held: Mapping[int, Sequence[str]]) -> None:
    """Lay tokens (branches where nothing is said), and give some from collected tiles to seats."""
    given = [(owner, name) for owner, names in held.items() for name in names]
    for index, (row, column) in enumerate(TOKEN_CELLS):
        lies = record["present"][12 * row + column]
        record["token"][index] = TOKENS.index(tokens.get((row, column), "branches"))
        record["token_status"][index], record["token_seat"][index] = (LYING if lies else USED), -1
        if not lies and given:
            record["token_seat"][index], name = given.pop()
            record["token"][index], record["token_status"][index] = TOKENS.index(name), HELD
    assert not given, "the drawing leaves too few collected tiles for the tokens held"


def legal(record: Any) -> list[int]:
    mask = np.ones(len(GAME.actions), np.int8)
    rules.legal(record, mask)
    return [int(action) for action in np.flatnonzero(mask)]


def play(record: Any, *actions: int) -> Any:
    for action in actions:
        assert action in legal(record)
        rules.play(record, action)
    return record


def phase(record: Any) -> str:
    return GAME.phases[int(record["phase"])]


def gems(record: Any, seat: int) -> tuple[int, int, int]:
    """Gems in hand, in the forest, out of the game."""
    return int(record["hand"][seat]), int(record["placed"][seat]), int(record["removed"][seat])


# --- components and start ---------------------------------------------------------------------------------


def test_the_action_table_is_the_contracts() -> None:
    names = [action.name for action in GAME.actions]
    assert len(names) == len(set(names)) == 59
    assert [action.id for action in GAME.actions] == list(range(59))
    assert names[:3] == ["take_row0_left", "take_row0_right", "take_row1_left"]
    assert (names[8], names[8 + 12 * 2 + 5], names[55]) == ("cell_0_0", "cell_2_5", "cell_3_11")
    assert names[56:] == ["give_from_hand", "use_plus", "pass"]
    assert GAME.phases == ("first", "second", "pay", "place", "move", "end")


def test_the_box_holds_48_tiles_65_symbols_27_powers_and_no_double_with_a_power() -> None:
    tiles = all_tiles()
    assert len(tiles) == 48
    assert [sum(t[1] for t in tiles if t[0] == spirit) for spirit in range(9)] == [8, 5, 7, 7, 6, 10, 6, 8, 8]
    assert [sum(t[2] == power for t in tiles) for power in range(3)] == [9, 9, 9]
    assert all(power < 0 for _, symbols, power in tiles if symbols == 2)


# Single tiles without a power, with moon, with sun, with fire; double tiles.
PRINTED = {
    "branches": (1, 1, 1, 1, 2),
    "moss": (0, 1, 1, 1, 1),
    "dew_drops": (0, 1, 1, 1, 2),
    "mushrooms": (0, 1, 1, 1, 2),
    "flowers": (0, 1, 1, 0, 2),
    "web_spiders": (1, 1, 1, 1, 3),
    "fruits": (0, 1, 1, 2, 1),
    "vines": (1, 1, 1, 1, 2),
    "leaves": (1, 1, 1, 1, 2),
}


@pytest.mark.parametrize("players", [1, 2, 4])
def test_every_deal_lays_the_tiles_of_the_box(players: int) -> None:
    assert (*PRINTED, "moon", "sun", "fire") == ICONS
    tiles = State("forest", players, seed=players).setup()["tiles"]
    for spirit, printed in enumerate(PRINTED.values()):
        kinds = [[spirit, 1, None], [spirit, 1, 0], [spirit, 1, 1], [spirit, 1, 2], [spirit, 2, None]]
        assert tuple(tiles.count(kind) for kind in kinds) == printed


@pytest.mark.parametrize(("players", "each"), [(2, 3), (3, 2), (4, 2)])
def test_everybody_starts_with_the_gems_for_the_player_count_and_seat_0_begins(players: int, each: int) -> None:
    state = State("forest", players, seed=3)
    assert state.record["hand"].tolist() == [each] * players + [0] * (4 - players)
    assert (state.seat, state.turn, state.phase) == (0, 0, "first")
    assert state.legal_actions() == list(range(8))


def test_the_tokens_lie_on_their_cells_and_six_are_unused() -> None:
    setup = State("forest", 2, seed=3).setup()
    cells = [[0, 1], [0, 10], [1, 2], [1, 9], [2, 3], [2, 8], [3, 4], [3, 7]]
    assert [token[:2] for token in setup["tokens"]] == cells
    assert sorted([token[2] for token in setup["tokens"]] + setup["unused"]) == sorted([*ICONS, "plus", "plus"])


# --- first tile -------------------------------------------------------------------------------------------


def test_first_offers_both_ends_of_a_row_one_side_of_a_single_tile_and_nothing_of_an_empty_row() -> None:
    record = position(
        """
        b1 m1 d1
        . . u2
        .
        v1 l1
        """
    )
    assert legal(record) == [take(0, 0), take(0, 1), take(1, 0), take(3, 0), take(3, 1)]


def test_first_takes_the_end_of_the_side_named() -> None:
    record = play(position(". b2 m2 d2 ."), take(0, 1))
    assert record["present"][:5].tolist() == [0, 1, 1, 0, 0]
    assert record["icons"][0].tolist() == [0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    assert (record["left"][0], record["right"][0], record["remaining"]) == (1, 2, 2)


def test_first_counts_the_power_of_a_tile() -> None:
    record = play(position("w1f b1 b1"), take(0, 0))
    assert record["icons"][0].tolist() == [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1]
    assert record["tiles"][0] == 1


def test_first_offers_a_tile_with_an_own_gem_even_to_a_seat_without_any_other() -> None:
    record = position("b1@0 m1 d1@1", removed={0: 2})
    assert take(0, 0) in legal(record)


def test_first_offers_an_opponents_gemmed_tile_with_a_gem_in_hand() -> None:
    assert legal(position("b1@1 m1 d1", removed={0: 2})) == [take(0, 0), take(0, 1)]


def test_first_offers_an_opponents_gemmed_tile_with_a_gem_in_the_forest_only() -> None:
    assert legal(position("b1@1 m1@0 d1", removed={0: 2})) == [take(0, 0), take(0, 1)]


def test_first_keeps_an_opponents_gemmed_tile_from_a_seat_without_gems() -> None:
    assert legal(position("b1@1 m1 d1", removed={0: 3})) == [take(0, 1)]


def test_first_offers_no_pass_while_a_tile_can_be_taken() -> None:
    assert PASS not in legal(position("b1@1 m1 d1"))


def test_first_asks_for_a_single_takeable_tile_too() -> None:
    record = play(position("u2 b1@0 m1 d1", removed={1: 3}), take(0, 0), PASS)
    assert (record["seat"], phase(record), legal(record)) == (1, "first", [take(0, 1)])
    last = play(position("u2 b2"), take(0, 0), PASS)
    assert (last["seat"], phase(last), legal(last)) == (1, "first", [take(0, 0)])


def test_first_must_steal_when_nothing_else_can_be_taken() -> None:
    assert legal(position("b1@1 m1 d1@1")) == [take(0, 0), take(0, 1)]


def test_first_may_pass_rather_than_steal_without_forced_steal() -> None:
    record = position("b1@1 m1 d1@1", forced_steal=False)
    assert legal(record) == [take(0, 0), take(0, 1), PASS]
    play(record, PASS)
    assert (phase(record), record["seat"], record["turn"], record["tiles"][0]) == ("place", 0, 1, 0)


@pytest.mark.parametrize("other", ["d1", "d1@0"])
def test_first_may_not_pass_without_forced_steal_while_a_free_or_own_tile_is_there(other: str) -> None:
    assert PASS not in legal(position(f"b1@1 m1 {other}", forced_steal=False))


def test_first_and_gem_step_without_anything_to_do_resolve_and_the_turn_counts() -> None:
    record = position("u2 b1@0 m1 d1@0", removed={1: 3})
    play(record, take(0, 0), PASS)
    assert (record["seat"], record["turn"], phase(record)) == (0, 3, "first")
    assert legal(record) == [take(0, 0), take(0, 1)]


def test_first_without_a_takeable_tile_is_asked_where_a_plus_can_be_used() -> None:
    record = position("u2 b1@0 m1 d1@0", removed={1: 3}, held={1: ["plus"]})
    play(record, take(0, 0), PASS)
    assert (record["seat"], legal(record)) == (1, [PLUS, PASS])
    play(record, PLUS)
    # The gem that came back can pay, and stealing is forced.
    assert (phase(record), legal(record), gems(record, 1)) == ("first", [take(0, 0), take(0, 1)], (1, 0, 2))


def test_a_skipped_collect_still_leads_to_the_gem_step() -> None:
    record = position("u2 b1@0 m1 d1@0", removed={1: 3}, held={1: ["plus"]})
    play(record, take(0, 0), PASS, PASS)
    # Nothing was taken; the "+" can be used now as well, and then the gem be placed.
    assert (record["seat"], phase(record), legal(record)) == (1, "place", [PLUS, PASS])
    play(record, PLUS)
    assert legal(record) == [cell(0, 2), PASS]


# --- second tile ------------------------------------------------------------------------------------------


def test_second_is_asked_after_a_single_and_offers_singles_of_the_spirit_and_pass() -> None:
    record = position(
        """
        m1 b1 b1 m1s
        m2 b1 b1
        d1 m1
        m1
        """
    )
    play(record, take(0, 0))
    assert (phase(record), record["seat"], record["turn"]) == ("second", 0, 1)
    assert legal(record) == [take(0, 1), take(2, 1), take(3, 0), PASS]


def test_second_may_be_the_neighbour_just_exposed() -> None:
    record = play(position("m1 m1 b1 d1"), take(0, 0))
    assert legal(record) == [take(0, 0), PASS]
    play(record, take(0, 0))
    assert (phase(record), record["icons"][0][1], record["tiles"][0]) == ("place", 2, 2)


def test_second_is_not_asked_after_a_double() -> None:
    assert phase(play(position("m2 m1 b1 m1"), take(0, 0))) == "place"


def test_second_is_not_asked_on_the_first_turn_of_the_game() -> None:
    assert phase(play(position("m1 m1 b1 m1", turn=0), take(0, 0))) == "place"


def test_second_is_asked_on_every_other_turn_also_of_the_second_player() -> None:
    assert phase(play(position("m1 m1 b1 m1", turn=1, seat=1), take(0, 0))) == "second"


def test_second_is_not_asked_when_no_tile_fits() -> None:
    assert phase(play(position("m1 m2 b1 d1"), take(0, 0))) == "place"


def test_second_may_be_declined_and_is_not_a_third() -> None:
    assert phase(play(position("m1 m1 m1 b1"), take(0, 0), PASS)) == "place"
    assert phase(play(position("m1 m1 m1 b1"), take(0, 0), take(0, 0))) == "place"


def test_second_with_an_opponents_gem_needs_a_gem() -> None:
    assert take(0, 1) in legal(play(position("m1 m1 b1 m1@1"), take(0, 0)))
    assert legal(play(position("m1 m1 b1 m1@1", removed={0: 3}), take(0, 0))) == [take(0, 0), PASS]


def test_second_without_a_fitting_tile_is_asked_where_a_plus_can_be_used() -> None:
    record = play(position("m1 b1 b1 m1@1", removed={0: 3}, held={0: ["plus"]}), take(0, 0))
    assert (phase(record), legal(record)) == ("second", [PLUS, PASS])
    play(record, PLUS)
    assert (phase(record), legal(record)) == ("second", [take(0, 1), PASS])


def test_an_own_gem_on_the_first_tile_returns_at_once_and_pays_for_the_second() -> None:
    record = position("m1@0 b1 b1 m1@1", removed={0: 2})
    play(record, take(0, 0))
    assert (phase(record), gems(record, 0)) == ("second", (1, 0, 2))
    play(record, take(0, 1))
    # One gem only, in hand: the payment resolves by itself.
    assert (gems(record, 0), gems(record, 1), record["tiles"][0]) == ((0, 0, 3), (3, 0, 0), 2)


def test_an_own_gem_that_returned_can_be_placed_this_turn() -> None:
    record = play(position("m2@0 b1 b1", removed={0: 2}), take(0, 0))
    assert legal(record) == [cell(0, 1), cell(0, 2), PASS]


# --- payment ----------------------------------------------------------------------------------------------


def test_pay_offers_every_own_gem_in_the_forest_and_one_from_hand() -> None:
    record = play(position("m2@1 b1@0 b1 b1@0 d1"), take(0, 0))
    assert (phase(record), legal(record)) == ("pay", [cell(0, 1), cell(0, 3), HAND])


def test_pay_is_asked_before_the_tile_is_taken() -> None:
    record = play(position("m2@1 b1@0 b1 d1"), take(0, 0))
    assert (record["remaining"], record["tiles"][0], record["gem"][0], record["paying"]) == (4, 0, 1, 0)


def test_pay_from_hand_removes_a_gem_from_the_game_and_returns_the_opponents() -> None:
    record = play(position("m2@1 b1@0 b1 d1"), take(0, 0), HAND)
    assert (gems(record, 0), gems(record, 1)) == ((1, 1, 1), (3, 0, 0))
    assert (record["tiles"][0], record["icons"][0][1], phase(record)) == (1, 2, "place")


def test_pay_from_the_forest_frees_that_tile() -> None:
    record = play(position("m2@1 b1@0 b1 b1@0 d1"), take(0, 0), cell(0, 3))
    assert (gems(record, 0), record["gem"][1], record["gem"][3]) == ((1, 1, 1), 0, -1)


def test_pay_with_hand_gems_only_resolves_by_itself() -> None:
    record = play(position("m2@1 b1 d1"), take(0, 0))
    assert (phase(record), gems(record, 0), gems(record, 1)) == ("place", (2, 0, 1), (3, 0, 0))


def test_pay_with_one_forest_gem_only_resolves_by_itself() -> None:
    record = play(position("m2@1 b1@0 d1", removed={0: 2}), take(0, 0))
    assert (record["gem"][1], gems(record, 0), record["tiles"][0]) == (-1, (0, 0, 3), 1)


def test_pay_with_two_forest_gems_is_asked() -> None:
    record = play(position("m2@1 b1@0 d1 d1@0 d1", removed={0: 1}), take(0, 0))
    assert legal(record) == [cell(0, 1), cell(0, 3)]


def test_pay_with_a_single_way_is_asked_where_a_plus_can_be_used() -> None:
    record = play(position("m2@1 b1@0 d1", removed={0: 2}, held={0: ["plus"]}), take(0, 0))
    assert (phase(record), legal(record)) == ("pay", [cell(0, 1), PLUS])
    play(record, PLUS)
    # The gem is back in hand and the same payment goes on.
    assert (phase(record), legal(record)) == ("pay", [cell(0, 1), HAND])


def test_pay_resolves_once_a_plus_leaves_a_single_way() -> None:
    record = play(position("m2@1 b1 d1", removed={0: 2}, held={0: ["plus"]}), take(0, 0))
    assert legal(record) == [HAND, PLUS]
    play(record, PLUS)
    assert (phase(record), gems(record, 0), record["tiles"][0]) == ("place", (1, 0, 2), 1)


def test_pay_is_asked_per_tile() -> None:
    record = play(position("m1@1 b1@0 d1 m1@1"), take(0, 0), HAND)
    assert (phase(record), gems(record, 0)) == ("second", (1, 1, 1))
    play(record, take(0, 1))
    assert (phase(record), legal(record)) == ("pay", [cell(0, 1), HAND])
    play(record, cell(0, 1))
    assert (phase(record), gems(record, 0), gems(record, 1)) == ("place", (1, 0, 2), (3, 0, 0))


def test_a_stolen_double_or_a_stolen_first_turn_tile_ends_the_collect_step() -> None:
    assert phase(play(position("m2@1 m1 d1"), take(0, 0))) == "place"
    assert phase(play(position("m1@1 m1 d1", turn=0), take(0, 0))) == "place"


def test_the_gem_goes_back_to_the_opponent_it_belongs_to() -> None:
    record = play(position("m2@2 b1@1 d1", players=3), take(0, 0))
    assert [gems(record, seat) for seat in range(3)] == [(1, 0, 1), (1, 1, 0), (2, 0, 0)]


# --- favor tokens -----------------------------------------------------------------------------------------


def test_a_plus_on_the_first_tile_cannot_pay_for_the_second() -> None:
    record = position(". m1 b1 m1@1", removed={0: 3}, tokens={(0, 1): "plus"})
    play(record, take(0, 0))
    # The second is out of reach without a gem, so the collect step is over; only now the token is examined.
    assert (phase(record), legal(record)) == ("place", [PLUS, PASS])


def test_a_plus_on_the_first_tile_is_not_seen_while_a_second_is_asked() -> None:
    record = position(". m1 m1 b1", removed={0: 1}, tokens={(0, 1): "plus"})
    play(record, take(0, 0))
    assert (phase(record), PLUS in legal(record)) == ("second", False)
    play(record, take(0, 0))
    assert PLUS in legal(record)


def test_a_plus_on_the_second_tile_is_seen_after_the_collect_step() -> None:
    record = position("m1 m1 b1 b1", removed={0: 1}, tokens={(0, 1): "plus"})
    assert PLUS in legal(play(record, take(0, 0), take(0, 0)))


@pytest.mark.parametrize("where", ["first", "second", "pay", "place"])
def test_a_plus_can_be_used_in_every_phase_but_move_and_the_phase_goes_on(where: str) -> None:
    record = position("m1 m1@1 b1@0 m1@1 b1 b1 b1", removed={0: 1}, held={0: ["plus"]})
    leading = {"first": [], "second": [take(0)], "pay": [take(0), take(0)], "place": [take(0), PASS]}
    play(record, *leading[where])
    assert (phase(record), PLUS in legal(record)) == (where, True)
    before = gems(record, 0)
    play(record, PLUS)
    assert (phase(record), PLUS in legal(record)) == (where, False)
    assert gems(record, 0) == (before[0] + 1, before[1], 0)
    assert sum(gems(record, 0)) == 3
    assert USED in record["token_status"][record["token_seat"] == 0]


def test_a_plus_cannot_be_used_in_the_move_phase() -> None:
    record = position("m2 m1@0 b1 b1", removed={0: 2}, held={0: ["plus"]})
    play(record, take(0, 0), cell(0, 1))
    assert (phase(record), legal(record)) == ("move", [cell(0, 2), cell(0, 3)])


def test_a_plus_needs_a_lost_gem_so_that_the_hand_stays_within_the_supply() -> None:
    assert PLUS not in legal(position("m2 m1@0 b1", held={0: ["plus"]}))


def test_a_plus_serves_its_holder_only() -> None:
    assert PLUS not in legal(position("m2 m1 b1", removed={0: 1, 1: 1}, held={1: ["plus"]}))


def test_two_plus_tokens_are_used_one_by_one() -> None:
    record = position("m2 m1 b1", removed={0: 3}, held={0: ["plus", "plus"]})
    play(record, PLUS)
    assert (gems(record, 0), PLUS in legal(record)) == ((1, 0, 2), True)
    play(record, PLUS)
    assert (gems(record, 0), PLUS in legal(record)) == ((2, 0, 1), False)


# --- gem step ---------------------------------------------------------------------------------------------


def test_place_offers_every_tile_without_a_gem_inner_ones_too_and_pass() -> None:
    record = position(
        """
        m2 b1 b1@0 b1 b1@1
        u1 u1@1
        """
    )
    play(record, take(0, 0))
    assert (phase(record), legal(record)) == ("place", [cell(0, 1), cell(0, 3), cell(1, 0), PASS])


def test_place_puts_one_gem_and_ends_the_turn() -> None:
    record = play(position("m2 b1 b1"), take(0, 0), cell(0, 2))
    assert (record["gem"][2], gems(record, 0)) == (0, (2, 1, 0))
    assert (record["seat"], record["turn"], phase(record)) == (1, 2, "first")


def test_place_may_be_declined() -> None:
    record = play(position("m2 b1 b1"), take(0, 0), PASS)
    assert (gems(record, 0), record["seat"], record["turn"]) == ((3, 0, 0), 1, 2)


def test_place_with_an_empty_hand_lifts_an_own_gem_and_moves_it() -> None:
    record = position("m2 b1@0 b1@1 b1@0 b1 b1@0")
    play(record, take(0, 0))
    assert legal(record) == [cell(0, 1), cell(0, 3), cell(0, 5), PASS]
    play(record, cell(0, 3))
    # Not back to where it came from.
    assert (phase(record), legal(record)) == ("move", [cell(0, 4)])
    play(record, cell(0, 4))
    assert (record["gem"][3], record["gem"][4], gems(record, 0)) == (-1, 0, (0, 3, 0))
    assert (record["seat"], record["turn"], record["lifted"]) == (1, 2, -1)


def test_place_never_lifts_while_a_gem_is_in_hand() -> None:
    assert cell(0, 1) not in legal(play(position("m2 b1@0 b1@0 b1"), take(0, 0)))


def test_place_is_not_asked_when_no_tile_is_free_to_receive_a_gem() -> None:
    lifted = play(position("m2 b1@0 b1@0 b1@0"), take(0, 0))
    placed = play(position("m2 b1@0 b1@0 b1@1"), take(0, 0))
    assert (lifted["seat"], placed["seat"]) == (1, 1)


def test_place_is_not_asked_of_a_seat_without_gems() -> None:
    assert play(position("m2 b1 b1", removed={0: 3}), take(0, 0))["seat"] == 1


def test_place_is_asked_of_a_seat_without_gems_that_can_use_a_plus() -> None:
    record = play(position("m2 b1 b1", removed={0: 3}, held={0: ["plus"]}), take(0, 0))
    assert legal(record) == [PLUS, PASS]


def test_a_plus_in_the_gem_step_turns_moving_into_placing() -> None:
    record = play(position("m2 b1@0 b1", removed={0: 2}, held={0: ["plus"]}), take(0, 0))
    assert legal(record) == [cell(0, 1), PLUS, PASS]
    assert legal(play(record, PLUS)) == [cell(0, 2), PASS]


@pytest.mark.parametrize("players", [2, 3, 4])
def test_the_player_to_the_left_is_next(players: int) -> None:
    record = position("m2 b2 b2 b2 b2 b2", players)
    seats = [int(play(record, take(0, 0), PASS)["seat"]) for _ in range(players)]
    assert seats == [*range(1, players), 0]


# --- end --------------------------------------------------------------------------------------------------


def test_the_last_tile_ends_the_game_without_a_gem_step() -> None:
    record = play(position("m1"), take(0, 0))
    assert (phase(record), record["seat"], record["turn"], legal(record)) == ("end", -1, 2, [])


def test_the_last_tile_as_a_second_tile_ends_the_game_and_its_token_counts() -> None:
    record = position("m1 m1", tokens={(0, 1): "moss"})
    play(record, take(0, 0), take(0, 0))
    # Seat 0 has three moss and no tile of the other eleven icons, seat 1 no tile at all.
    assert (phase(record), points_of(record)) == ("end", [3 - 3 * 11, -3 * 12])


def test_the_last_tile_can_be_stolen() -> None:
    record = play(position("m1@1"), take(0, 0))
    assert (phase(record), gems(record, 0), gems(record, 1)) == ("end", (2, 0, 1), (3, 0, 0))


# --- score ------------------------------------------------------------------------------------------------


def finished(
    *icons: Mapping[str, int],
    held: Mapping[int, Sequence[str]] | None = None,
    tiles: Sequence[int] | None = None,
    reward: str = "win",
) -> Any:
    """A finished game in which each seat owns one of every icon, but for those it is given another number of."""
    record = position("", len(icons), phase="end", held=held, reward=reward, seat=-1)
    for seat, counts in enumerate(icons):
        record["icons"][seat] = [counts.get(icon, 1) for icon in ICONS]
        record["tiles"][seat] = tiles[seat] if tiles else 10
    return record


def points_of(record: Any) -> list[int]:
    points = np.zeros(4, np.int16)
    rules.scores(record, points)
    return points[: record["players"]].tolist()


def breakdown_of(record: Any, seat: int) -> dict[str, int]:
    """A seat's points for each icon."""
    points = np.full(len(GAME.categories), -1000, np.int16)
    rules.breakdown(record, seat, points)
    return dict(zip(GAME.categories, points.tolist(), strict=True))


def winners_of(record: Any) -> list[int]:
    points, won = np.zeros(4, np.int16), np.zeros(4, np.int8)
    rules.scores(record, points)
    rules.winners(record, points, won)
    return np.flatnonzero(won).tolist()


def returns_of(record: Any) -> list[float]:
    points, won, utility = np.zeros(4, np.int16), np.zeros(4, np.int8), np.zeros(4, np.float32)
    rules.scores(record, points)
    rules.winners(record, points, won)
    rules.returns(record, points, won, utility)
    return utility[: record["players"]].tolist()


def test_score_the_majority_scores_its_icons_and_the_others_nothing() -> None:
    # Eleven icons are tied at one for all.
    assert points_of(finished({"moss": 4}, {"moss": 3}, {})) == [11 + 4, 11, 11]


def test_score_a_tied_majority_scores_for_all_who_tie() -> None:
    assert points_of(finished({"fire": 4}, {"fire": 4}, {"fire": 2})) == [15, 15, 11]


def test_score_an_icon_without_a_tile_costs_3() -> None:
    assert points_of(finished({"sun": 0}, {"sun": 2})) == [11 - 3, 11 + 2]


def test_score_an_icon_nobody_owns_costs_everybody_3() -> None:
    assert points_of(finished({"sun": 0}, {"sun": 0})) == [8, 8]


def test_score_powers_count_like_spirits() -> None:
    assert points_of(finished({"moon": 5}, {"fire": 3})) == [10 + 5, 10 + 3]


def test_score_tokens_count_for_the_majority() -> None:
    assert points_of(finished({"moss": 2}, {"moss": 2}, held={1: ["moss"]})) == [11, 11 + 3]


def test_score_tokens_do_not_save_from_the_penalty_but_score() -> None:
    # A token for an icon without tiles: one counts against nobody's, and 3 are lost all the same.
    assert points_of(finished({"moss": 0}, {"moss": 0}, held={0: ["moss"]})) == [11 + 1 - 3, 11 - 3]


def test_score_a_plus_token_is_no_icon() -> None:
    assert points_of(finished({}, {}, held={0: ["plus", "plus"]})) == [12, 12]


TIED = dict.fromkeys(ICONS, 1)


def test_breakdown_a_majority_scores_its_icons_and_the_others_nothing() -> None:
    record = finished({"moss": 4}, {"moss": 3}, {})
    assert breakdown_of(record, 0) == TIED | {"moss": 4}
    assert breakdown_of(record, 1) == breakdown_of(record, 2) == TIED | {"moss": 0}


def test_breakdown_a_tied_majority_scores_for_all_who_tie() -> None:
    record = finished({"fire": 4}, {"fire": 4}, {"fire": 2})
    assert [breakdown_of(record, seat)["fire"] for seat in range(3)] == [4, 4, 0]


def test_breakdown_an_icon_without_a_tile_costs_3_there() -> None:
    record = finished({"sun": 0}, {"sun": 2})
    assert [breakdown_of(record, seat) for seat in range(2)] == [TIED | {"sun": -3}, TIED | {"sun": 2}]


def test_breakdown_a_token_counts_for_its_icon_and_does_not_save_from_the_penalty() -> None:
    record = finished({"moss": 0, "sun": 2}, {"moss": 0, "sun": 2}, held={0: ["moss", "plus"], 1: ["sun"]})
    assert [breakdown_of(record, seat) for seat in range(2)] == [
        TIED | {"moss": 1 - 3, "sun": 0},
        TIED | {"moss": -3, "sun": 3},
    ]


def test_score_most_points_win() -> None:
    assert winners_of(finished({"moss": 3}, {"moss": 4}, {}, tiles=[1, 30, 2])) == [1]


def test_score_tied_points_go_to_the_fewest_tiles() -> None:
    assert winners_of(finished({}, {}, {}, tiles=[12, 11, 13])) == [1]


def test_score_fewest_tiles_decide_among_the_tied_only() -> None:
    assert winners_of(finished({"moss": 0}, {}, {}, tiles=[3, 12, 11])) == [2]


def test_score_a_tie_in_points_and_tiles_is_shared() -> None:
    assert winners_of(finished({}, {}, {"moss": 0}, {}, tiles=[12, 13, 2, 12])) == [0, 3]
    assert winners_of(finished({}, {}, {}, {})) == [0, 1, 2, 3]


# --- rewards ----------------------------------------------------------------------------------------------

# Seats that share the win -> reward: n / (n - 1) * (share - 1 / n).
WIN_REWARDS = {
    (2, (0,)): [1, -1],
    (2, (1,)): [-1, 1],
    (2, (0, 1)): [0, 0],
    (3, (1,)): [-0.5, 1, -0.5],
    (3, (0, 2)): [0.25, -0.5, 0.25],
    (3, (0, 1, 2)): [0, 0, 0],
    (4, (3,)): [-1 / 3, -1 / 3, -1 / 3, 1],
    (4, (0, 1)): [1 / 3, 1 / 3, -1 / 3, -1 / 3],
    (4, (0, 1, 3)): [1 / 9, 1 / 9, -1 / 3, 1 / 9],
    (4, (0, 1, 2, 3)): [0, 0, 0, 0],
}


@pytest.mark.parametrize(("players", "sharers"), list(WIN_REWARDS))
def test_reward_win_shares_one_win_and_sums_to_zero(players: int, sharers: tuple[int, ...]) -> None:
    record = finished(*({} if seat in sharers else {"moss": 0} for seat in range(players)))
    assert winners_of(record) == list(sharers)
    assert returns_of(record) == pytest.approx(WIN_REWARDS[players, sharers], abs=1e-6)
    assert sum(returns_of(record)) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(
    ("icons", "expected"),
    [
        # Points 15 and 11, mean 13.
        (({"moss": 4}, {}), [2, -2]),
        # Points 15, 11 and 8 (no moss), mean 34 / 3.
        (({"moss": 4}, {}, {"moss": 0}), [11 / 3, -1 / 3, -10 / 3]),
        # Points 15, 15, 11 and 11, mean 13; a tie-break on tiles plays no part.
        (({"moss": 4}, {"moss": 4}, {}, {}), [2, 2, -2, -2]),
    ],
)
def test_reward_margin_is_points_above_the_mean(icons: tuple[dict[str, int], ...], expected: list[float]) -> None:
    record = finished(*icons, reward="margin", tiles=[12, 13, 14, 9])
    assert returns_of(record) == pytest.approx(expected, abs=1e-5)


def test_rewards_come_only_at_the_end() -> None:
    state = State("forest", 3, seed=5, reward="margin")
    state.play(0)
    assert (state.returns(), state.winners()) == ([0, 0, 0], [])


# --- solitaire --------------------------------------------------------------------------------------------


def solo(player_token: str, opponent_tokens: list[str], reward: str = "win") -> State:
    """Every row's tiles lie in box order, so what a game gives can be counted."""
    tiles = [[spirit, symbols, None if power < 0 else power] for spirit, symbols, power in all_tiles()]
    unused = [name for name in ICONS[:9] if name not in (player_token, *opponent_tokens)]
    setup = {"tiles": tiles, "player_token": player_token, "opponent_tokens": opponent_tokens, "unused": unused}
    return State("forest", 1, setup=setup, reward=reward)


def alone(mine: Mapping[str, int], theirs: Mapping[str, int], reward: str = "win", ended: bool = True) -> Any:
    """A solitaire with one of each spirit on both sides, but for those given.

    The own token is branches; the opponent's are moss and dew drops, turned up once the game has ended.
    """
    record = solo("branches", ["moss", "dew_drops"], reward).record
    record["icons"][0][:9] = [mine.get(icon, 1) for icon in ICONS[:9]]
    record["icons"][1][:9] = [theirs.get(icon, 1) for icon in ICONS[:9]]
    if ended:
        record["token_status"][list(solitaire.OPPONENT_TOKENS)] = USED
        record["phase"], record["seat"] = GAME.phases.index("end"), -1
    return record


def test_solitaire_has_no_gems_and_nothing_but_ends_to_take() -> None:
    state = solo("leaves", ["vines", "moss"])
    assert state.record["hand"].tolist() == [0, 0, 0, 0]
    assert state.legal_actions() == list(range(8))
    state.play(0)
    assert (state.phase, state.seat, state.legal_actions()) == ("first", 0, list(range(8)))


def test_solitaire_the_opponent_gets_the_other_end_of_the_row() -> None:
    state = solo("leaves", ["vines", "moss"])
    # Row 0 starts with four single branches (none, moon, sun, fire); its last tile is the second single dew drop.
    state.play(take(0, 0))
    assert state.record["icons"][0].tolist() == [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    assert state.record["icons"][1].tolist() == [0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0]
    state.play(take(0, 1))
    # The player took the dew drop with a moon at the right end, the opponent the branches with a moon at the left.
    assert state.record["icons"][0].tolist() == [1, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0]
    assert state.record["icons"][1].tolist() == [1, 0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0]
    assert (state.record["left"][0], state.record["right"][0], state.turn) == (2, 9, 2)


def test_solitaire_an_emptied_row_turns_up_the_opponents_next_token_and_the_third_ends_the_game() -> None:
    state = solo("leaves", ["vines", "moss"])
    record = state.record
    counts = []
    for row in (2, 0, 3):
        assert state.phase == "first"
        for _ in range(6):
            state.play(take(row, 0))
        assert not {take(row, 0), take(row, 1)} & set(state.legal_actions())
        record = state.record
        printed = [int(n) for n in record["icons"][1][[7, 1]]]
        counts.append([solitaire.opponent_symbols(record, spirit) for spirit in (7, 1)])
        counts[-1] = [whole - part for whole, part in zip(counts[-1], printed, strict=True)]
    # Vines join with the first row, moss with the second.
    assert counts == [[1, 0], [1, 1], [1, 1]]
    assert (state.turn, state.phase, state.seat, state.legal_actions()) == (18, "end", -1, [])


def test_solitaire_lasts_longer_than_18_turns_if_the_row_left_was_played_in() -> None:
    state = State("forest", 1, seed=3)
    for action in [take(3, 0)] * 5 + [take(row, 1) for row in (0, 1, 2) for _ in range(6)]:
        assert state.seat == 0
        state.play(action)
    assert (state.turn, state.phase, state.record["remaining"]) == (23, "end", 2)


def test_solitaire_ties_in_all_spirits_win_and_score_points() -> None:
    # Own: branches 1 + token; moss and dew drops 2 each against 1 + token.
    record = alone({"moss": 2, "dew_drops": 2}, {})
    assert (winners_of(record), returns_of(record)) == ([0], [1])
    assert points_of(record) == [2 + 2 + 2 + 6]


def test_solitaire_powers_do_not_score_and_a_spirit_without_a_tile_costs_3() -> None:
    # Branches are held by the token alone: 1 against 0 scores 1 and costs 3.
    record = alone({"branches": 0, "moss": 2, "dew_drops": 2}, {"branches": 0})
    record["icons"][0][9:] = [5, 5, 5]
    assert points_of(record) == [1 - 3 + 2 + 2 + 6]


def test_solitaire_one_symbol_behind_loses_and_scores_nothing() -> None:
    # The opponent's dew drop token makes two against one.
    record = alone({"moss": 2}, {})
    assert (winners_of(record), returns_of(record), points_of(record)) == ([], [-1], [0])


def test_solitaire_breakdown_has_nothing_for_powers_nor_for_a_lead_of_the_opponent() -> None:
    # Branches are held by the token alone; in dew drops the opponent leads.
    record = alone({"branches": 0, "moss": 2}, {"branches": 0, "dew_drops": 2}, ended=False)
    expected = dict.fromkeys(SPIRITS, 1) | {"branches": 1 - 3, "moss": 2, "dew_drops": 0}
    assert breakdown_of(record, 0) == expected | dict.fromkeys(POWERS, 0)
    assert points_of(record) == [-2 + 2 + 0 + 6]


def test_solitaire_breakdown_of_a_lost_game_is_nothing_at_all() -> None:
    assert breakdown_of(alone({"moss": 2}, {}), 0) == dict.fromkeys(ICONS, 0)
    won = alone({"moss": 2, "dew_drops": 2}, {})
    assert sum(breakdown_of(won, 0).values()) == 12


def test_solitaire_margin_is_minus_the_sum_of_the_deficits() -> None:
    # Moss 1 against 2, dew drops 1 against 2, leaves 1 against 4; a lead in vines makes up for nothing.
    assert returns_of(alone({"vines": 8}, {"leaves": 4}, "margin")) == [-5]
    assert returns_of(alone({"moss": 2, "dew_drops": 2}, {}, "margin")) == [0]


def test_solitaire_tokens_still_face_down_do_not_count() -> None:
    record = alone({}, {}, ended=False)
    # Everything is tied with one, and the own branches token leads: 2 + 8.
    assert points_of(record) == [10]


# --- refusals ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("action", [8, HAND, PLUS, PASS, 59, -1, 10**30])
def test_an_action_that_is_not_legal_is_refused_and_changes_nothing(action: int) -> None:
    state = State("forest", 2, seed=7)
    before = state.copy()
    with pytest.raises(IllegalAction):
        state.play(action)
    assert state == before
    assert state.history == []
