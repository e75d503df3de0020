"""Every clause of the rules of Spirits of the Wild on a drawn position, with results worked out by hand."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from typing import Any

import numpy as np
import pytest
from wild_play import (
    ANIMAL_NAMES,
    LETTERS,
    POWER_SETS,
    UNCOMPILED,
    animal,
    asked,
    breakdown,
    cards_down,
    games_to_play,
    in_bag,
    in_bowl,
    legal,
    outcome,
    phase,
    play,
    points,
    position,
    stones_on_boards,
    too_far,
    walk,
)

from spirits_env.game import IllegalAction
from spirits_env.games.wild import GAME, rules
from spirits_env.games.wild.places import give, places_of_kind
from spirits_env.state import State

ALL_CARDS = ["play_take_one", "play_take_two", "play_add_two", "play_add_three"]
ALL_COYOTE = [f"coyote_{name}" for name in ANIMAL_NAMES]
ALL_BONUS = [f"bonus_{name}" for name in ANIMAL_NAMES]
# A board on which no ordinary stone fits: the sets are full or of other colours, rabbit and salmon are full.
FULL = """
    owl bb bb tt
    rabbit bto
    beaver ttt oo
    salmon btowpy
    turtle wwwww
"""
DEALS = 200 if UNCOMPILED else 5000


def on_the_right(drawing: str) -> str:
    """Move a drawing to seat 1's board."""
    return "\n".join(f"| {line.strip()}" for line in drawing.strip().splitlines())


# --- components -------------------------------------------------------------------------------------------


def test_the_action_table_is_the_contracts() -> None:
    names = [action.name for action in GAME.actions]
    assert [action.id for action in GAME.actions] == list(range(33))
    assert names[:5] == [*ALL_CARDS, "play_recover"]
    kinds = ["blue", "teal", "orange", "white", "purple", "yellow", "spirit_stone"]
    assert names[5:12] == [f"stone_{kind}" for kind in kinds]
    places = ["owl_new", "owl_started", "rabbit", "beaver_trio", "beaver_pair", "salmon", "turtle"]
    assert names[12:19] == [f"place_{place}" for place in places]
    assert names[19:24] == ALL_BONUS
    assert names[24:30] == [*ALL_COYOTE, "leave_coyote"]
    assert names[30:] == ["pile_0", "pile_1", "stop"]
    assert GAME.phases == ("card", "pile", "stone", "place", "coyote", "return", "end")


@pytest.mark.parametrize("players", [0, 1, 3, 4])
def test_the_game_is_for_two(players: int) -> None:
    with pytest.raises(ValueError, match=r"^players was .; Spirits of the Wild is for 2 players"):
        State("wild", players, seed=1)


# --- set-up -----------------------------------------------------------------------------------------------


def test_setup_four_ordinary_stones_lie_in_the_bowl_and_the_other_52_in_the_bag() -> None:
    for seed in range(games_to_play(200, 20)):
        record = State("wild", seed=seed).record
        assert len(in_bowl(record)) == 4
        assert "s" not in in_bowl(record)
        assert len(in_bag(record)) == record["bag_size"] == 52
        assert Counter(in_bowl(record) + in_bag(record)) == dict.fromkeys(LETTERS, 8)
        assert record["in_bag"].tolist() == [in_bag(record).count(letter) for letter in LETTERS]


def test_setup_every_ordinary_colour_comes_into_the_bowl_in_fair_shares() -> None:
    state = State("wild", seed=1)
    colours: Counter[str] = Counter()
    patterns: Counter[tuple[int, ...]] = Counter()
    for _ in range(DEALS):
        state.deal()
        colours.update(in_bowl(state.record))
        patterns[tuple(sorted(Counter(in_bowl(state.record)).values()))] += 1
    assert not too_far((colours[letter] for letter in "btowpy"), [DEALS * 4 / 6] * 6)
    # Of C(48, 4) = 194,580 bowls: colours to choose, then stones of each.
    ways = {
        (1, 1, 1, 1): 15 * 8**4,
        (1, 1, 2): 60 * 28 * 8 * 8,
        (2, 2): 15 * 28 * 28,
        (1, 3): 30 * 56 * 8,
        (4,): 6 * 70,
    }
    assert sum(ways.values()) == math.comb(48, 4)
    assert not too_far((patterns[one] for one in ways), (DEALS * way / math.comb(48, 4) for way in ways.values()))


def test_setup_the_bag_is_shaken_so_that_every_kind_lies_at_every_place_in_fair_shares() -> None:
    state = State("wild", seed=2)
    places: Counter[int] = Counter()
    kinds = [Counter[str]() for _ in range(3)]
    neighbours = 0
    for _ in range(DEALS):
        state.deal()
        bag = in_bag(state.record)
        places.update(place for place, letter in enumerate(bag) if letter == "s")
        for place, found in zip((0, 25, 51), kinds, strict=True):
            found[bag[place]] += 1
        neighbours += bag[:2] == "ss"
    # Eight Spirit Stones among 52; the other 44 are any ordinary ones.
    assert not too_far((places[place] for place in range(52)), [DEALS * 8 / 52] * 52)
    for found in kinds:
        assert not too_far((found[letter] for letter in LETTERS), [DEALS * 44 / 52 / 6] * 6 + [DEALS * 8 / 52])
    # Two Spirit Stones first: 8 * 7 of 52 * 51 bags.
    expected = DEALS * 8 * 7 / (52 * 51)
    assert not too_far([neighbours, DEALS - neighbours], [expected, DEALS - expected])


def test_setup_all_cards_are_face_up_but_the_starting_players_take_two_and_seat_0_starts() -> None:
    for powers in ("house", "none"):
        state = State("wild", seed=4, powers=powers)
        assert cards_down(state.record, 0) == ["take_two"]
        assert cards_down(state.record, 1) == []
        assert asked(state.record) == (0, "card")
        assert state.turn == 0
        assert legal(state.record) == ["play_take_one", "play_add_two", "play_add_three"]


def test_setup_boards_are_empty_and_coyote_is_beside_the_table() -> None:
    record = State("wild", seed=5).record
    assert stones_on_boards(record) == [0] * 7
    assert (record["coyote"], record["passes"], record["put_back"]) == (-1, 0, 0)
    assert points(record) == [0, 0]


def test_setup_the_six_spirit_powers_lie_in_two_piles_of_three_in_any_order() -> None:
    state = State("wild", seed=6)
    tops: Counter[tuple[int, int]] = Counter()
    lowest: Counter[int] = Counter()
    for _ in range(DEALS):
        state.deal()
        piles = state.record["piles"]
        assert sorted(piles.ravel().tolist()) == [0, 1, 2, 3, 4, 5]
        assert piles.shape == (2, 3)
        tops[int(piles[0, 0]), int(piles[1, 0])] += 1
        lowest[int(piles[1, 2])] += 1
    pairs = list(itertools.permutations(range(6), 2))
    assert set(tops) <= set(pairs)
    assert not too_far((tops[pair] for pair in pairs), [DEALS / 30] * 30)
    assert not too_far((lowest[card] for card in range(6)), [DEALS / 6] * 6)


def test_setup_same_seed_same_game_and_the_powers_change_neither_bowl_nor_bag() -> None:
    one, other = State("wild", seed=9), State("wild", seed=9, powers="none")
    assert one == State("wild", seed=9)
    assert one != State("wild", seed=10)
    assert (in_bowl(one.record), in_bag(one.record)) == (in_bowl(other.record), in_bag(other.record))


# --- a turn: one card that is face up ---------------------------------------------------------------------


def test_turn_the_seat_chooses_among_its_cards_that_are_face_up() -> None:
    assert legal(position(bowl="bt")) == ALL_CARDS
    assert legal(position(bowl="bt", down=["take_two", "add_two"])) == [
        "play_take_one",
        "play_add_two",
        "play_add_three",
    ]
    assert legal(position(bowl="bt", down=["take_two", "add_two"], seat=1)) == [
        "play_take_one",
        "play_take_two",
        "play_add_three",
    ]


@pytest.mark.parametrize(
    ("card", "rest"),
    [
        ("take_one", ["place_turtle"]),
        ("take_two", ["place_turtle", "place_turtle"]),
        ("add_two", ["stone_blue", "place_turtle"]),
        ("add_three", ["leave_coyote"]),
    ],
)
def test_turn_the_card_is_turned_face_down_when_it_is_done_and_the_other_player_is_next(
    card: str, rest: list[str]
) -> None:
    record = position(bowl="bb", draws="ttt")
    play(record, f"play_{card}")
    assert cards_down(record, 0) == []
    assert int(record["card"]) == ["take_one", "take_two", "add_two", "add_three"].index(card)
    play(record, *rest)
    assert cards_down(record, 0) == [card]
    assert cards_down(record, 1) == []
    assert asked(record) == (1, "card")
    assert (record["turn"], record["card"]) == (11, -1)


def test_turn_the_other_seats_cards_are_its_own() -> None:
    record = position(bowl="bb", draws="ttt", down=["take_one", "take_two"], seat=1)
    play(record, "play_add_three", "leave_coyote")
    assert (cards_down(record, 0), cards_down(record, 1)) == (["take_one"], ["take_two", "add_three"])
    assert record["seat"] == 0


@pytest.mark.parametrize(
    ("bowl", "cards"),
    [
        ("", ["play_add_two", "play_add_three"]),
        ("b", ["play_take_one", "play_add_two", "play_add_three"]),
        ("bb", ALL_CARDS),
        ("bs", ALL_CARDS),
        ("s", ["play_take_one", "play_add_two", "play_add_three"]),
    ],
)
def test_ruling_2_a_card_that_takes_stones_needs_as_many_in_the_bowl_and_the_adding_cards_none(
    bowl: str, cards: list[str]
) -> None:
    assert legal(position(bowl=bowl)) == cards


def test_ruling_2_the_adding_cards_can_be_used_even_with_an_empty_bag() -> None:
    # Only a position by hand has so few stones: see ruling 14.
    record = position(bag="", bowl="")
    assert legal(record) == ["play_add_two", "play_add_three"]
    play(record, "play_add_two")
    # Nothing was added, so there was nothing to take; without a Spirit Stone in the bag the game is over.
    assert (in_bowl(record), phase(record)) == ("", "end")


def test_ruling_5_two_take_ones_are_one_choice_until_both_are_down() -> None:
    for down, offered in [("", True), ("take_one", True), ("take_one take_one", False)]:
        assert ("play_take_one" in legal(position(bowl="bt", down=[down, ""]))) is offered


# --- Take One, Take Two -----------------------------------------------------------------------------------


def test_take_one_takes_a_stone_of_the_bowl_and_places_it() -> None:
    record = position(bowl="bts", draws="oo")
    play(record, "play_take_one")
    assert asked(record) == (0, "stone")
    assert legal(record) == ["stone_blue", "stone_teal", "stone_spirit_stone"]
    play(record, "stone_teal")
    assert asked(record) == (0, "place")
    assert in_bowl(record) == "bs"
    play(record, "place_rabbit")
    assert animal(record, 0, "rabbit") == "t.."
    assert (in_bowl(record), in_bag(record)[:2]) == ("bs", "oo")


def test_take_one_from_a_bowl_of_one_kind_asks_only_for_the_place() -> None:
    record = position(bowl="bbb")
    play(record, "play_take_one")
    assert asked(record) == (0, "place")
    assert in_bowl(record) == "bb"


def test_take_two_takes_two_stones_and_places_both() -> None:
    record = position(bowl="btt")
    play(record, "play_take_two")
    assert legal(record) == ["stone_blue", "stone_teal"]
    play(record, "stone_blue")
    # Only teal is left, so the second stone is no question.
    assert (asked(record), in_bowl(record), record["held"][:3].tolist()) == ((0, "place"), "t", [0, 1, -1])
    play(record, "place_salmon", "place_turtle")
    assert (animal(record, 0, "salmon"), animal(record, 0, "turtle")) == ("b.....", "t....")
    assert in_bowl(record) == "t"


def test_take_two_may_take_two_of_one_kind() -> None:
    record = position(bowl="bbt")
    play(record, "play_take_two", "stone_blue")
    assert legal(record) == ["stone_blue", "stone_teal"]
    play(record, "stone_blue", "place_owl_new", "place_owl_started")
    assert animal(record, 0, "owl") == "bb .. .."


def test_ruling_3_all_stones_are_chosen_before_the_first_is_placed_in_the_order_of_choice() -> None:
    record = position(bowl="bto")
    play(record, "play_take_two", "stone_orange")
    assert (asked(record), in_bowl(record)) == ((0, "stone"), "bt")
    play(record, "stone_blue")
    assert in_bowl(record) == "t"
    # The orange one was chosen first: so the turtle is orange's, and blue no longer fits there.
    play(record, "place_turtle")
    assert "place_turtle" not in legal(record)
    play(record, "place_rabbit")
    assert (animal(record, 0, "turtle"), animal(record, 0, "rabbit")) == ("o....", "b..")


def test_ruling_3_the_order_of_choice_decides_which_stone_gets_the_last_space() -> None:
    for first, second, rabbit, bowl in [("purple", "white", "btp", "wy"), ("white", "purple", "btw", "py")]:
        # The rabbit's last space is the only one for purple and for white.
        record = position(FULL.replace("rabbit bto", "rabbit bt."), bowl="pwy")
        play(record, "play_take_two", f"stone_{first}", f"stone_{second}")
        assert (animal(record, 0, "rabbit"), in_bowl(record)) == (rabbit, bowl)


def test_ruling_3_a_stone_that_fits_must_be_placed() -> None:
    record = position(FULL.replace("wwwww", "wwww."), bowl="wy")
    play(record, "play_take_one", "stone_white")
    # The turtle was white's only place, so it lies there unasked.
    assert (animal(record, 0, "turtle"), in_bowl(record), asked(record)) == ("wwwww", "y", (1, "card"))


def test_ruling_3_a_stone_that_fits_nowhere_goes_back_and_may_be_taken_on_purpose() -> None:
    record = position(FULL.replace("wwwww", "wwww."), bowl="wy")
    play(record, "play_take_one")
    assert legal(record) == ["stone_white", "stone_yellow"]
    play(record, "stone_yellow")
    assert (in_bowl(record), animal(record, 0, "turtle")) == ("wy", "wwww.")
    assert (cards_down(record, 0), asked(record)) == (["take_one"], (1, "card"))


def test_ruling_3_a_second_stone_goes_back_where_the_first_took_the_last_place() -> None:
    record = position(FULL.replace("wwwww", "wwww."), bowl="www")
    play(record, "play_take_two")
    assert (animal(record, 0, "turtle"), in_bowl(record)) == ("wwwww", "ww")


def test_ruling_4_a_stone_that_goes_back_does_so_at_once_and_changes_nothing_for_the_next() -> None:
    record = position(
        """
        owl bb bb bb
        rabbit bto
        beaver ttt oo
        salmon p..... C
        turtle wwwww
        """,
        bowl="yw",
    )
    play(record, "play_take_two", "stone_yellow")
    # Coyote bars the salmon: neither stone fits.
    assert (in_bowl(record), asked(record)) == ("wy", (1, "card"))
    record = position(FULL.replace("btowpy", "btowp.").replace("wwwww", "wwww."), bowl="bwy")
    play(record, "play_take_two", "stone_blue", "stone_white")
    # Blue went back before white was placed, and lies in the bowl as after it.
    assert (in_bowl(record), animal(record, 0, "turtle")) == ("by", "wwwww")


def test_ruling_4_no_stone_comes_to_fit_by_the_placing_of_another() -> None:
    for seed in range(games_to_play(40, 3)):
        for state in walk(seed):
            if state.phase != "place":
                continue
            before = set(fitting(state.record, state.seat))
            for action in state.legal_actions():
                after = state.record.copy()
                give(after, state.seat, action - 12, int(after["held"][after["placing"]]))
                assert set(fitting(after, state.seat)) <= before


def fitting(record: Any, seat: int) -> list[int]:
    """The kinds of stones that fit somewhere on a board."""
    return [kind for kind in range(7) if places_of_kind(record, seat, kind)]


def test_ruling_4_a_stone_back_in_the_bowl_is_not_taken_again_by_the_same_card() -> None:
    record = position(FULL, bowl="bp")
    play(record, "play_take_two", "stone_blue")
    assert (in_bowl(record), asked(record)) == ("bp", (1, "card"))


# --- Add Two and Take One ---------------------------------------------------------------------------------


def test_add_two_draws_two_stones_before_one_is_taken() -> None:
    record = position(bowl="b", draws="tso")
    play(record, "play_add_two")
    assert (in_bowl(record), in_bag(record)[0]) == ("bts", "o")
    assert legal(record) == ["stone_blue", "stone_teal", "stone_spirit_stone"]
    play(record, "stone_spirit_stone", "bonus_turtle")
    assert (in_bowl(record), animal(record, 0, "turtle")) == ("bt", "..... *")
    assert cards_down(record, 0) == ["add_two"]


def test_add_two_works_with_an_empty_bowl() -> None:
    record = position(draws="tt")
    play(record, "play_add_two", "place_turtle")
    assert (in_bowl(record), animal(record, 0, "turtle")) == ("t", "t....")


def test_stones_come_out_of_the_bag_in_its_order_and_are_counted() -> None:
    record = position(bowl="", draws="btowpys")
    before = record["in_bag"].copy()
    play(record, "play_add_three", "leave_coyote", "play_add_three", "leave_coyote")
    assert in_bowl(record) == "btowpy"
    assert in_bag(record)[0] == "s"
    assert (before - record["in_bag"]).tolist() == [1, 1, 1, 1, 1, 1, 0]
    assert record["bag_size"] == 50


# --- Add Three and Move Coyote, and Coyote ----------------------------------------------------------------


def test_add_three_draws_three_stones_before_coyote_may_be_moved() -> None:
    record = position(bowl="b", draws="tso")
    play(record, "play_add_three")
    assert (in_bowl(record), asked(record)) == ("btos", (0, "coyote"))
    assert legal(record) == [*ALL_COYOTE, "leave_coyote"]


@pytest.mark.parametrize(("seat", "number"), [(seat, number) for seat in range(2) for number in range(5)])
def test_coyote_is_put_on_an_animal_of_the_opponent(seat: int, number: int) -> None:
    record = position(bowl="bb", seat=seat)
    play(record, "play_add_three", f"coyote_{ANIMAL_NAMES[number]}")
    assert record["coyote"] == 5 * (1 - seat) + number
    assert animal(record, 1 - seat, ANIMAL_NAMES[number]).endswith("C")


def test_coyote_may_be_left_where_he_is_on_either_board_or_beside_the_table() -> None:
    for drawing, coyote in [("", -1), ("turtle C", 4), ("| owl C", 5)]:
        record = position(drawing, bowl="bb")
        play(record, "play_add_three", "leave_coyote")
        assert (record["coyote"], asked(record)) == (coyote, (1, "card"))


def test_coyote_moves_away_from_the_own_board() -> None:
    record = position("salmon C", bowl="bb")
    play(record, "play_add_three")
    assert legal(record) == [*ALL_COYOTE, "leave_coyote"]
    play(record, "coyote_salmon")
    assert (animal(record, 0, "salmon"), animal(record, 1, "salmon")) == ("......", "...... C")


def test_ruling_8_coyote_moves_from_one_animal_of_the_opponent_to_another_and_never_to_where_he_is() -> None:
    record = position("| beaver C", bowl="bb")
    play(record, "play_add_three")
    assert legal(record) == ["coyote_owl", "coyote_rabbit", "coyote_salmon", "coyote_turtle", "leave_coyote"]
    play(record, "coyote_owl")
    assert (animal(record, 1, "beaver"), animal(record, 1, "owl")) == ("... ..", ".. .. .. C")


def test_ruling_8_coyote_may_be_put_on_a_closed_animal() -> None:
    record = position("| turtle ttttt *", bowl="bb")
    play(record, "play_add_three", "coyote_turtle")
    assert animal(record, 1, "turtle") == "ttttt * C"


@pytest.mark.parametrize(
    ("name", "barred"),
    [
        ("owl", ["place_owl_new", "place_owl_started"]),
        ("rabbit", ["place_rabbit"]),
        ("beaver", ["place_beaver_trio", "place_beaver_pair"]),
        ("salmon", ["place_salmon"]),
        ("turtle", ["place_turtle"]),
    ],
)
def test_coyote_bars_ordinary_stones_from_his_animal_only_and_from_its_owner_only(name: str, barred: list[str]) -> None:
    everywhere = [f"place_{place}" for place in ("owl_new", "owl_started", "rabbit", "beaver_trio", "beaver_pair")]
    everywhere += ["place_salmon", "place_turtle"]
    for seat in range(2):
        bar = "| " * seat
        free = position(f"{bar}owl b.\n{'' if seat else '|'} {name} C", bowl="b", seat=seat)
        play(free, "play_take_one")
        assert legal(free) == everywhere
        blocked = position(f"{bar}owl b.\n{bar}{name} C", bowl="b", seat=seat)
        play(blocked, "play_take_one")
        assert legal(blocked) == [place for place in everywhere if place not in barred]


@pytest.mark.parametrize("name", ANIMAL_NAMES)
def test_ruling_8_coyote_bars_spirit_stones_too(name: str) -> None:
    for seat in range(2):
        record = position("| " * seat + f"{name} C", bowl="s", seat=seat)
        play(record, "play_take_one")
        assert legal(record) == [bonus for bonus in ALL_BONUS if bonus != f"bonus_{name}"]


def test_the_animal_that_coyote_leaves_takes_stones_again() -> None:
    record = position("turtle bb... C", bowl="b", draws="ttt")
    play(record, "play_add_three", "coyote_turtle", "play_add_three", "leave_coyote", "play_take_one", "stone_blue")
    assert "place_turtle" in legal(record)
    play(record, "place_turtle")
    assert animal(record, 0, "turtle") == "bbb.."


# --- the backs of the two Take Ones -----------------------------------------------------------------------


def test_the_second_take_one_turned_down_lets_coyote_be_moved() -> None:
    record = position(bowl="bb", down=["take_one", ""])
    play(record, "play_take_one", "place_turtle")
    assert (asked(record), cards_down(record, 0)) == ((0, "coyote"), ["take_one", "take_one"])
    assert legal(record) == [*ALL_COYOTE, "leave_coyote"]
    play(record, "coyote_beaver")
    assert (animal(record, 1, "beaver"), asked(record), record["turn"]) == ("... .. C", (1, "card"), 11)


def test_the_second_take_one_leaves_the_choice_to_leave_him() -> None:
    record = position("turtle C", bowl="bb", down=["take_one", ""])
    play(record, "play_take_one", "place_owl_new", "leave_coyote")
    assert (record["coyote"], asked(record)) == (4, (1, "card"))


def test_ruling_9_coyote_is_moved_only_after_the_stone_is_placed() -> None:
    record = position("turtle bbbb. C", bowl="b", down=["take_one", ""])
    play(record, "play_take_one")
    # He still bars the turtle while the stone is placed.
    assert "place_turtle" not in legal(record)
    play(record, "place_owl_new", "coyote_owl")
    assert (animal(record, 0, "turtle"), animal(record, 1, "owl")) == ("bbbb.", ".. .. .. C")


def test_ruling_9_a_stone_that_goes_back_is_no_hindrance_to_the_move() -> None:
    record = position(FULL, bowl="y", down=["take_one", ""])
    play(record, "play_take_one")
    assert (asked(record), in_bowl(record)) == ((0, "coyote"), "y")


def test_the_first_take_one_does_not_move_coyote() -> None:
    record = position(bowl="bb")
    play(record, "play_take_one", "place_turtle")
    assert asked(record) == (1, "card")


def test_no_other_card_turned_down_moves_coyote_though_both_take_ones_are_down() -> None:
    record = position(bowl="bb", down=["take_one take_one", ""])
    play(record, "play_take_two", "place_turtle", "place_turtle")
    assert (asked(record), cards_down(record, 0)) == ((1, "card"), ["take_one", "take_one", "take_two"])


def test_after_recovering_the_two_take_ones_show_coyote_anew() -> None:
    record = position(bowl="bbbb", down=["take_one take_one take_two", ""], draws="tttttttt")
    play(record, "play_recover", "play_add_three", "leave_coyote", "play_take_one", "stone_blue", "place_turtle")
    assert asked(record) == (1, "card")
    play(record, "play_add_two", "stone_blue", "place_turtle", "play_take_one", "stone_blue", "place_turtle")
    assert asked(record) == (0, "coyote")


# --- Spirit Power and Recover -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("down", "offered"),
    [
        ("", False),
        ("take_two", False),
        ("take_one take_one", False),
        ("add_two add_three", False),
        ("take_one take_one take_two", True),
        ("take_one add_two add_three", True),
        ("take_one take_two add_two add_three", True),
        ("take_one take_one take_two add_two", True),
        ("take_one take_one take_two add_two add_three", True),
    ],
)
def test_recover_needs_three_of_the_other_five_cards_face_down(down: str, offered: bool) -> None:
    for powers in ("none", "house"):
        mask = np.zeros(len(GAME.actions), np.int8)
        rules.legal(position(bowl="bt", down=[down, ""], powers=powers), mask)
        assert bool(mask[GAME.action_id("play_recover")]) is offered


def test_recover_counts_the_own_cards_only() -> None:
    assert "play_recover" not in legal(position(bowl="bt", down=["", "take_one take_two add_two"]))


@pytest.mark.parametrize("powers", ["none", "house"])
def test_ruling_2_after_recovering_all_six_cards_are_face_up(powers: str) -> None:
    down = "take_one take_one add_two add_three"
    record = position(bowl="bb", down=[down, "take_two"], powers=powers)
    play(record, "play_recover")
    if powers == "house":
        # R1: take two, add three.
        play(record, "pile_0", "place_turtle", "place_turtle")
    assert (cards_down(record, 0), cards_down(record, 1)) == ([], ["take_two"])
    assert asked(record) == (1, "card")


def test_recover_without_powers_does_nothing_else() -> None:
    record = position("turtle C", bowl="bt", down=["take_one take_one take_two", ""], draws="ww")
    play(record, "play_recover")
    assert (in_bowl(record), in_bag(record)[:2], record["coyote"], record["turn"]) == ("bt", "ww", 4, 11)
    assert asked(record) == (1, "card")


def test_recover_asks_which_pile_and_carries_out_the_card_on_top() -> None:
    # R1 takes first, R4 (card 3) takes three different ones.
    for pile, power, chosen in [("pile_0", 0, 2), ("pile_1", 3, 3)]:
        record = position(bowl="btowp", down=["take_one take_two add_two", ""], powers="house")
        play(record, "play_recover")
        assert (asked(record), legal(record)) == ((0, "pile"), ["pile_0", "pile_1"])
        play(record, pile)
        assert (asked(record), record["power"], record["choosing"]) == ((0, "stone"), power, chosen)


def test_ruling_10_the_cards_are_turned_up_after_the_power_and_the_power_goes_under_its_own_pile() -> None:
    record = position(bowl="bb", down=["take_one take_two add_two", ""], powers="house")
    play(record, "play_recover", "pile_0")
    assert cards_down(record, 0) == ["take_one", "take_two", "add_two"]
    assert record["top"].tolist() == [0, 0]
    play(record, "place_turtle", "place_turtle")
    assert cards_down(record, 0) == []
    assert (record["top"].tolist(), record["seen"].tolist()) == ([1, 0], [2, 1])
    assert record["piles"].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_ruling_10_a_pile_goes_round_its_three_cards() -> None:
    record = position(powers=[["ADD 1"]] * 6, piles=[[5, 3, 1], [0, 2, 4]], draws="btowpyb")
    used = []
    for _ in range(4):
        record["down"][record["seat"]] = [2, 1, 0, 0, 0]
        play(record, "play_recover")
        used.append(int(record["piles"][0, record["top"][0]]))
        play(record, "pile_0")
    assert used == [5, 3, 1, 5]
    assert (record["top"].tolist(), record["seen"].tolist()) == ([1, 0], [3, 1])


def test_a_pile_serves_both_players() -> None:
    three = "take_one take_one take_two"
    record = position(powers="house", piles=[[1, 2, 0], [3, 4, 5]], bowl="bbbb", down=[three, three], draws="bbbb")
    # R2 for seat 0: add four, take two. Then seat 1 finds R3 on top: take three of one kind.
    play(record, "play_recover", "pile_0", "place_turtle", "place_turtle", "play_recover", "pile_0")
    assert (asked(record), record["power"], record["held"].tolist()) == ((1, "place"), 2, [0, 0, 0, -1, -1, -1])


# --- animals: where a stone fits --------------------------------------------------------------------------


def places(drawing: str, stone: str) -> list[str]:
    """Where a stone fits on a board, without the prefix."""
    record = position(drawing, bowl=stone)
    record["phase"], record["card"], record["chosen"], record["held"][0] = 3, 0, 1, LETTERS.index(stone)
    return [name.removeprefix("place_") for name in legal(record)]


def test_an_empty_board_takes_any_colour_everywhere_and_a_spirit_stone_only_on_bonus_spaces() -> None:
    for stone in "btowpy":
        assert places("", stone) == ["owl_new", "rabbit", "beaver_trio", "beaver_pair", "salmon", "turtle"]
    assert places("", "s") == ALL_BONUS


ONLY_OWL = "rabbit *\nbeaver *\nsalmon *\nturtle *\n"


@pytest.mark.parametrize(
    ("owl", "stone", "expected"),
    [
        (".. .. ..", "b", ["owl_new"]),
        ("b. .. ..", "b", ["owl_new", "owl_started"]),
        ("b. .. ..", "t", ["owl_new"]),
        ("b. t. ..", "t", ["owl_new", "owl_started"]),
        ("b. b. ..", "b", ["owl_new", "owl_started"]),
        ("b. b. b.", "b", ["owl_started"]),
        ("b. t. o.", "o", ["owl_started"]),
        ("b. t. o.", "w", []),
        ("bb t. o.", "b", []),
        ("bb .. ..", "b", ["owl_new"]),
        ("bb bb bb", "b", []),
    ],
)
def test_the_owl_takes_pairs_of_one_colour_started_in_any_order(owl: str, stone: str, expected: list[str]) -> None:
    assert places(ONLY_OWL + f"owl {owl}", stone) == expected


def test_ruling_5_several_pairs_of_the_owl_may_have_one_colour() -> None:
    record = position(ONLY_OWL + "owl b. .. ..", bowl="bbb")
    play(record, "play_take_two", "place_owl_new")
    # Two pairs started with blue are one choice: the second blue stone completes one of them.
    assert legal(record) == ["place_owl_new", "place_owl_started"]
    play(record, "place_owl_started")
    assert sorted(animal(record, 0, "owl").split()) == ["..", "b.", "bb"]


def test_ruling_5_two_empty_pairs_are_one_choice() -> None:
    record = position(ONLY_OWL, bowl="bt")
    play(record, "play_take_one", "stone_teal")
    # One choice, so it is no question.
    assert (animal(record, 0, "owl"), asked(record)) == ("t. .. ..", (1, "card"))


ONLY_RABBIT = "owl *\nbeaver *\nsalmon *\nturtle *\n"


@pytest.mark.parametrize(
    ("rabbit", "stone", "fits"),
    [
        ("...", "b", True),
        ("b..", "b", False),
        ("b..", "t", True),
        ("bt.", "o", True),
        ("bt.", "t", False),
        ("bto", "w", False),
        ("bto", "b", False),
    ],
)
def test_the_rabbit_takes_three_different_colours(rabbit: str, stone: str, fits: bool) -> None:
    assert places(ONLY_RABBIT + f"rabbit {rabbit}", stone) == ["rabbit"] * fits


ONLY_BEAVER = "owl *\nrabbit *\nsalmon *\nturtle *\n"


@pytest.mark.parametrize(
    ("beaver", "stone", "expected"),
    [
        ("... ..", "b", ["beaver_trio", "beaver_pair"]),
        ("b.. ..", "b", ["beaver_trio", "beaver_pair"]),
        ("b.. ..", "t", ["beaver_pair"]),
        ("... t.", "t", ["beaver_trio", "beaver_pair"]),
        ("... t.", "b", ["beaver_trio"]),
        ("bb. b.", "b", ["beaver_trio", "beaver_pair"]),
        ("bbb b.", "b", ["beaver_pair"]),
        ("bb. bb", "b", ["beaver_trio"]),
        ("bb. tt", "t", []),
        ("bbb tt", "b", []),
    ],
)
def test_the_beaver_takes_a_trio_and_a_pair_in_any_order_each_of_one_colour(
    beaver: str, stone: str, expected: list[str]
) -> None:
    assert places(ONLY_BEAVER + f"beaver {beaver}", stone) == expected


def test_ruling_5_trio_and_pair_of_the_beaver_may_have_one_colour() -> None:
    record = position(ONLY_BEAVER + "beaver bbb b.", bowl="b")
    play(record, "play_take_one")
    assert (animal(record, 0, "beaver"), points(record)[0]) == ("bbb bb", 14)


ONLY_SALMON = "owl *\nrabbit *\nbeaver *\nturtle *\n"


@pytest.mark.parametrize(
    ("salmon", "stone", "fits"),
    [
        ("......", "b", True),
        ("b.....", "b", False),
        ("btowp.", "y", True),
        ("btowp.", "p", False),
        ("btowpy", "y", False),
        ("towpy.", "b", True),
    ],
)
def test_the_salmon_takes_one_stone_of_each_colour(salmon: str, stone: str, fits: bool) -> None:
    assert places(ONLY_SALMON + f"salmon {salmon}", stone) == ["salmon"] * fits


ONLY_TURTLE = "owl *\nrabbit *\nbeaver *\nsalmon *\n"


@pytest.mark.parametrize(
    ("turtle", "stone", "fits"),
    [
        (".....", "b", True),
        ("b....", "b", True),
        ("b....", "t", False),
        ("bbbb.", "b", True),
        ("bbbbb", "b", False),
        ("yyyy.", "b", False),
    ],
)
def test_the_turtle_takes_stones_of_one_colour(turtle: str, stone: str, fits: bool) -> None:
    assert places(ONLY_TURTLE + f"turtle {turtle}", stone) == ["turtle"] * fits


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("place_owl_new", ("owl", "t. b. ..")),
        ("place_owl_started", ("owl", "tt .. ..")),
        ("place_rabbit", ("rabbit", "tw.")),
        ("place_beaver_trio", ("beaver", "tt. t.")),
        ("place_beaver_pair", ("beaver", "t.. tt")),
        ("place_salmon", ("salmon", "tp....")),
        ("place_turtle", ("turtle", "ttt..")),
    ],
)
def test_a_stone_lies_where_it_was_placed_and_nowhere_else(place: str, expected: tuple[str, str]) -> None:
    board = "owl t. .. ..\nrabbit w..\nbeaver t.. t.\nsalmon p.....\nturtle tt..."
    record = position(on_the_right(board), bowl="bt", seat=1)
    before = {name: animal(record, 1, name) for name in ANIMAL_NAMES}
    name, drawn = expected
    play(record, "play_take_one", "stone_blue" if place == "place_owl_new" else "stone_teal", place)
    assert {name: animal(record, 1, name) for name in ANIMAL_NAMES} == {**before, name: drawn}
    assert all(set(animal(record, 0, one)) <= set(". ") for one in ANIMAL_NAMES)


def test_ruling_13_stones_never_move_once_placed() -> None:
    # What lies on a space of one colour stays: counts only grow, and colours change only where there was none.
    for powers in POWER_SETS.values():
        for seed in range(games_to_play(6, 1)):
            before: Any = None
            for state in walk(seed, powers):
                record = state.record.copy()
                if before is not None:
                    assert (record["count"] >= before["count"]).all()
                    assert (record["colour"] == before["colour"])[before["count"] > 0].all()
                    assert (record["row"] >= before["row"]).all()
                    assert (record["bonus"] >= before["bonus"]).all()
                before = record


# --- Spirit Stones ----------------------------------------------------------------------------------------


def test_a_spirit_stone_closes_its_animal_to_all_stones() -> None:
    board = "owl b. .. .. *\nrabbit *\nbeaver *\nsalmon *\nturtle b...."
    assert places(board, "b") == ["turtle"]
    assert places(board, "s") == ["bonus_turtle"]
    # With the turtle closed too, nothing fits any more.
    assert places(board + " *", "b") == places(board + " *", "s") == []


def test_a_spirit_stone_goes_on_a_full_animal() -> None:
    record = position(FULL, bowl="s")
    play(record, "play_take_one")
    assert legal(record) == ALL_BONUS
    play(record, "bonus_turtle")
    assert animal(record, 0, "turtle") == "wwwww *"
    # 9 + 6 + 14 + 13, and the turtle's 14 twice.
    assert points(record)[0] == 9 + 6 + 14 + 13 + 28


def test_ruling_6_a_spirit_stone_may_go_on_an_animal_without_stones_and_doubles_nothing_there() -> None:
    record = position("turtle bb...", bowl="s")
    play(record, "play_take_one", "bonus_salmon")
    assert (animal(record, 0, "salmon"), points(record)[0]) == ("...... *", 3)


def test_ruling_7_a_spirit_stone_without_an_open_bonus_space_goes_back_and_counts_as_out_of_the_bag() -> None:
    board = "owl *\nrabbit *\nbeaver *\nsalmon C\nturtle *"
    record = position(board, bowl="s", draws="tttttt")
    before = in_bag(record)
    play(record, "play_take_one")
    # All but the salmon are closed, and Coyote is on the salmon; five are out, so the game is over.
    assert (in_bowl(record), in_bag(record)) == ("s", before)
    assert (phase(record), record["in_bag"][6]) == ("end", 3)


def test_a_spirit_stone_is_never_an_ordinary_colour() -> None:
    record = position(bowl="s")
    play(record, "play_take_one")
    assert legal(record) == ALL_BONUS


# --- ruling 1: nobody is asked where there is no choice ---------------------------------------------------


def test_ruling_1_a_card_that_is_the_only_one_is_used_unasked() -> None:
    # Seat 1 has Add Two down and an empty bowl: only Add Three is left to it.
    record = position(bowl="b", draws="tos", down=["", "add_two"])
    play(record, "play_take_one", "place_turtle")
    assert (asked(record), in_bowl(record)) == ((1, "coyote"), "tos")
    assert record["card"] == 3


def test_ruling_1_a_whole_turn_without_a_choice_resolves_by_itself() -> None:
    # Seat 1 can only add two and take one: both are teal, and only its salmon is open.
    record = position(
        "| owl *\n| rabbit *\n| beaver *\n| turtle *", bowl="b", draws="tt", down=["take_one", "add_three take_two"]
    )
    assert record["in_bag"][6] == 4
    play(record, "play_take_one", "place_turtle", "leave_coyote")
    assert animal(record, 1, "salmon") == "t....."
    assert cards_down(record, 1) == ["take_two", "add_two", "add_three"]
    assert (asked(record), in_bowl(record), record["turn"]) == ((0, "card"), "t", 12)


@pytest.mark.parametrize("powers", list(POWER_SETS))
def test_ruling_1_whoever_is_asked_has_at_least_two_choices(powers: str) -> None:
    for seed in range(games_to_play(40, 2)):
        for state in walk(seed, POWER_SETS[powers]):
            assert (len(state.legal_actions()) >= 2) is (state.seat >= 0)
        assert state.legal_actions() == []


# --- ruling 11: passes ------------------------------------------------------------------------------------


def test_ruling_11_whoever_can_use_no_card_passes() -> None:
    # Seat 1 has both adding cards down, only two of its cards are, and the bowl is empty.
    record = position(bowl="b", down=["", "add_two add_three"])
    play(record, "play_take_one", "place_turtle")
    assert (asked(record), record["turn"], record["passes"]) == ((0, "card"), 12, 1)
    assert cards_down(record, 1) == ["add_two", "add_three"]
    # Only what adds stones is possible now; a card used ends the row of passes.
    assert legal(record) == ["play_add_two", "play_add_three"]
    play(record, "play_add_three")
    assert record["passes"] == 0


def test_ruling_11_one_stone_in_the_bowl_is_enough_not_to_pass() -> None:
    record = position(bowl="bb", down=["", "add_two add_three"])
    play(record, "play_take_one", "place_turtle")
    # Take One is seat 1's only card and blue its only stone, so it is asked where to put it.
    assert (asked(record), record["passes"], record["turn"]) == ((1, "place"), 0, 11)


def test_ruling_11_two_passes_in_a_row_end_the_game_as_it_stands() -> None:
    # No play leads here (see below), so the rule is asked itself.
    record = position("turtle bb...", down=["add_two add_three", "add_two add_three"])
    rules.ask_card(record)
    assert (phase(record), record["seat"], record["turn"], record["passes"]) == ("end", -1, 12, 2)
    assert outcome(record)[0] == [0]


@pytest.mark.parametrize("powers", list(POWER_SETS))
def test_ruling_11_two_passes_in_a_row_never_come_about_in_play(powers: str) -> None:
    # To pass after the opponent's pass, the own turn before must have been an adding card that left the bowl empty.
    # Neither can: while the game lasts, at least four stones are in the bag.
    for seed in range(games_to_play(40, 2)):
        for state in walk(seed, POWER_SETS[powers]):
            assert state.record["passes"] < 2


@pytest.mark.parametrize("powers", list(POWER_SETS))
def test_the_bag_is_never_empty_at_the_start_of_a_turn(powers: str) -> None:
    # At most four Spirit Stones are out of it then.
    for seed in range(games_to_play(20, 2)):
        for state in walk(seed, POWER_SETS[powers]):
            if state.phase == "card":
                assert in_bag(state.record).count("s") >= 4


# --- the end ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("boards", ["owl *\nrabbit * | rabbit *", "| owl *\n| rabbit *\n| beaver *"])
def test_end_the_game_is_over_when_five_spirit_stones_are_out_in_the_bowl_or_on_the_boards(boards: str) -> None:
    # Three on the boards, one in the bowl, and one more or none of the three that are added.
    for draws, over in [("tso", True), ("ttt", False)]:
        record = position(boards, bowl="s", draws=draws)
        play(record, "play_add_three", "leave_coyote")
        assert (phase(record) == "end") is over
        assert (record["seat"], record["turn"]) == (-1 if over else 1, 11)


def test_end_five_spirit_stones_in_the_bowl_are_enough() -> None:
    record = position(bowl="ss", draws="sss")
    play(record, "play_add_three", "leave_coyote")
    assert phase(record) == "end"


def test_end_more_than_five_end_the_game_as_well() -> None:
    record = position(bowl="ssss", draws="sss")
    play(record, "play_add_three", "leave_coyote")
    assert (phase(record), record["in_bag"][6]) == ("end", 1)


def test_end_comes_only_after_the_turn_so_the_fifth_spirit_stone_may_still_be_placed() -> None:
    record = position("turtle bbbbb\nowl *\nrabbit * | owl *", bowl="s", draws="st")
    play(record, "play_add_two")
    assert asked(record) == (0, "stone")
    play(record, "stone_spirit_stone", "bonus_turtle")
    assert (phase(record), points(record)) == ("end", [28, 0])


def test_end_comes_after_coyote_was_moved_by_the_backs() -> None:
    record = position("owl *\nrabbit *\nbeaver *\nsalmon *", bowl="s", down=["take_one", ""])
    play(record, "play_take_one")
    # Only the turtle took the stone; it is the fifth, but was so in the bowl.
    assert asked(record) == (0, "coyote")
    play(record, "coyote_owl")
    assert (phase(record), animal(record, 1, "owl")) == ("end", ".. .. .. C")


def test_end_turns_may_be_unequal() -> None:
    record = position(bowl="ssss", draws="s", turn=4)
    play(record, "play_add_three", "leave_coyote")
    assert (phase(record), record["turn"]) == ("end", 5)


def test_end_nothing_is_legal_and_nothing_is_left_of_the_turn() -> None:
    record = position(bowl="ssss", draws="s")
    play(record, "play_add_three", "leave_coyote")
    assert legal(record) == []
    for name in ("card", "power", "pile", "seat"):
        assert record[name] == -1
    assert record["held"].tolist() == [-1] * 6


def test_four_spirit_stones_out_do_not_end_the_game() -> None:
    record = position("owl *\nrabbit * | rabbit *", bowl="s", draws="ttt")
    play(record, "play_take_one", "bonus_turtle")
    assert asked(record) == (1, "card")


# --- ruling 15: no game goes on for ever ------------------------------------------------------------------


def test_ruling_15_the_game_ends_after_turn_120() -> None:
    for turn, over in [(118, False), (119, True)]:
        record = position("turtle bb...", bowl="tt", turn=turn)
        play(record, "play_add_three", "leave_coyote")
        assert (phase(record) == "end", record["turn"]) == (over, turn + 1)
    assert outcome(record)[0] == [0]


def test_ruling_15_a_pass_counts_as_a_turn() -> None:
    record = position(bowl="b", down=["", "add_two add_three"], turn=118)
    play(record, "play_take_one", "place_turtle")
    assert (phase(record), record["turn"], record["passes"]) == ("end", 120, 1)


def test_ruling_15_players_who_take_what_fits_nowhere_come_to_turn_120() -> None:
    record = position(
        """
        owl b. t. o.   | owl b. t. o.
        rabbit y..     | rabbit y..
        beaver b.. t.  | beaver b.. t.
        salmon y.....  | salmon y.....
        turtle w....   | turtle w....
        """,
        bowl="yyy",
        turn=0,
    )
    never = {"play_add_two", "play_add_three", *ALL_COYOTE}
    while record["seat"] >= 0:
        play(record, next(name for name in legal(record) if name not in never))
    assert (record["turn"], in_bowl(record), outcome(record)) == (120, "yyy", ([0, 1], [0, 0]))


# --- score ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("board", "expected"),
    [
        ("owl .. .. ..", 0),
        ("owl b. t. o.", 0),
        ("owl bb .. ..", 3),
        ("owl b. tt ..", 3),
        ("owl bb tt ..", 6),
        ("owl b. tt oo", 6),
        ("owl bb bb tt", 9),
        ("rabbit ...", 0),
        ("rabbit b..", 0),
        ("rabbit bt.", 0),
        ("rabbit bto", 6),
        ("beaver bb. t.", 0),
        ("beaver bbb t.", 5),
        ("beaver bb. tt", 2),
        ("beaver bbb tt", 14),
        ("beaver bbb bb", 14),
        ("salmon ......", 0),
        ("salmon b.....", 1),
        ("salmon bt....", 2),
        ("salmon bto...", 4),
        ("salmon btow..", 6),
        ("salmon btowp.", 9),
        ("salmon btowpy", 13),
        ("turtle .....", 0),
        ("turtle b....", 1),
        ("turtle bb...", 3),
        ("turtle bbb..", 6),
        ("turtle bbbb.", 9),
        ("turtle bbbbb", 14),
    ],
)
def test_score_of_each_animal_and_twice_with_a_spirit_stone_and_the_same_under_coyote(
    board: str, expected: int
) -> None:
    assert points(position(board)) == [expected, 0]
    assert points(position(f"| {board}")) == [0, expected]
    assert points(position(f"{board} *")) == [2 * expected, 0]
    assert points(position(f"{board} C")) == [expected, 0]
    assert points(position(f"{board} * C")) == [2 * expected, 0]


def test_score_a_full_board_is_worth_56_and_112_with_all_spirit_stones() -> None:
    assert points(position(FULL)) == [56, 0]
    assert points(position("\n".join(f"{line} *" for line in FULL.strip().splitlines()))) == [112, 0]


MIXED = """
    owl bb t. oo *    | owl w. .. ..
    rabbit bt. *      | rabbit wpy
    beaver ttt b.     | beaver ... ww *
    salmon btow..     | salmon p.....
    turtle yyy..  *   | turtle www..
"""


def test_score_is_the_sum_of_the_animals_each_doubled_alone() -> None:
    record = position(MIXED)
    assert points(record) == [2 * 6 + 0 + 5 + 6 + 2 * 6, 0 + 6 + 2 * 2 + 1 + 6]


def test_breakdown_is_the_points_of_each_animal_doubled_by_its_own_spirit_stone() -> None:
    record = position(MIXED)
    assert breakdown(record, 0) == {"owl": 2 * 6, "rabbit": 0, "beaver": 5, "salmon": 6, "turtle": 2 * 6}
    assert breakdown(record, 1) == {"owl": 0, "rabbit": 6, "beaver": 2 * 2, "salmon": 1, "turtle": 6}


def ended(drawing: str, reward: str = "win") -> Any:
    record = position(drawing, bowl="ssss", draws="s", reward=reward)
    return play(record, "play_add_three", "leave_coyote")


# Turtles: two stones are 3 points, one is 1.
@pytest.mark.parametrize(
    ("drawing", "winners", "utility"),
    [
        ("turtle bb... | turtle b....", [0], [1, -1]),
        ("turtle b.... | turtle bb...", [1], [-1, 1]),
        # More points win whoever has Coyote.
        ("turtle bb...\nowl C | turtle b....", [0], [1, -1]),
        ("turtle bb... | turtle b....\n| owl C", [0], [1, -1]),
        # In a tie, the player with Coyote on his board wins.
        ("turtle b.... | turtle t....\nowl C", [0], [1, -1]),
        ("turtle b.... C | turtle t....", [0], [1, -1]),
        ("turtle b.... | turtle t....\n| owl C", [1], [-1, 1]),
        ("| turtle C", [1], [-1, 1]),
    ],
)
def test_winner_has_most_points_and_in_a_tie_coyote(drawing: str, winners: list[int], utility: list[float]) -> None:
    assert outcome(ended(drawing)) == (winners, utility)


def test_ruling_12_a_tie_before_coyote_was_ever_moved_is_shared() -> None:
    assert outcome(ended("turtle b.... | turtle t....")) == ([0, 1], [0, 0])
    assert outcome(ended("turtle b.... | turtle t....", "margin")) == ([0, 1], [0, 0])


@pytest.mark.parametrize(
    ("drawing", "utility"),
    [
        # 14 and 3 points: the mean is 8.5.
        ("turtle bbbbb | turtle tt...", [5.5, -5.5]),
        ("turtle bb... | turtle tttt.", [-3, 3]),
        # Coyote breaks the tie for the win, not for the margin.
        ("turtle bb... C | turtle tt...", [0, 0]),
        ("turtle bb... *", [3, -3]),
    ],
)
def test_reward_margin_is_points_above_the_mean_of_both(drawing: str, utility: list[float]) -> None:
    assert outcome(ended(drawing, "margin"))[1] == pytest.approx(utility)


def test_reward_margin_is_never_worse_than_minus_56() -> None:
    # Nobody gets more points than 112.
    record = position(
        "\n".join(f"| {line} *" for line in FULL.strip().splitlines()), bowl="bo", reward="margin", seat=1
    )
    play(record, "play_add_three", "leave_coyote")
    assert (phase(record), outcome(record)) == ("end", ([1], [-56, 56]))
    assert GAME.worst_return(2, {"reward": "margin"}) == -56
    assert GAME.worst_return(2, {"reward": "win"}) == -1


def test_rewards_come_only_at_the_end() -> None:
    state = State.of(GAME, position("turtle bb...", bowl="bt", reward="margin"))
    assert (state.returns(), state.winners(), state.scores()) == ([0, 0], [], [3, 0])


# --- whole games ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("powers", list(POWER_SETS))
def test_no_stone_is_ever_lost_or_doubled_and_the_counts_of_the_record_agree(powers: str) -> None:
    for seed in range(games_to_play(30, 2)):
        for state in walk(seed, POWER_SETS[powers]):
            record = state.record
            held = [int(kind) for kind in record["held"][record["placing"] : record["chosen"]] if kind >= 0]
            if state.phase == "return":
                assert held == []
            bag = in_bag(record)
            boards = stones_on_boards(record)
            for kind, letter in enumerate(LETTERS):
                assert record["in_bag"][kind] == bag.count(letter)
                assert record["bowl"][kind] + bag.count(letter) + boards[kind] + held.count(kind) == 8
            assert (record["down"] <= [2, 1, 1, 1, 0]).all()
            assert record["turn"] <= 120
        # In these games none goes on to turn 120: they end with the fifth Spirit Stone.
        assert (8 - record["in_bag"][6] >= 5) or record["turn"] == 120


def test_every_action_and_every_phase_comes_up_in_play() -> None:
    actions: set[int] = set()
    phases: set[str] = set()
    for powers in POWER_SETS.values():
        for seed in range(games_to_play(20, 12)):
            for state in walk(seed, powers):
                actions.update(state.legal_actions())
                phases.add(state.phase)
    assert phases == set(GAME.phases)
    assert actions == set(range(33))


@pytest.mark.parametrize("action", ["play_recover", "play_take_two", "stone_blue", "stop", "leave_coyote"])
def test_an_action_that_is_not_legal_is_refused_and_changes_nothing(action: str) -> None:
    state = State("wild", seed=7)
    before = state.copy()
    with pytest.raises(IllegalAction, match=rf"^Action \d+ \({action}\) is not legal in phase 'card'; .*\.$"):
        state.play(GAME.action_id(action))
    assert state == before


@pytest.mark.parametrize("action", [33, -1, 10**30])
def test_an_action_that_is_none_is_refused(action: int) -> None:
    state = State("wild", seed=7)
    with pytest.raises(IllegalAction, match="no action"):
        state.play(action)


def test_a_rule_writes_nothing_but_the_record_and_the_array_it_fills() -> None:
    # Positions by hand and a random walk on the bare rules, as a search would use them.
    rng = random.Random(3)
    record = position(bowl="btow", powers="house")
    while record["seat"] >= 0:
        before = record.copy()
        names = legal(record)
        points(record)
        outcome(record)
        assert record == before
        play(record, rng.choice(names))
