"""Tests of the referee of Spirits of the Wild.

The referee judges the fast rules, so its expected values are worked out by hand from the rules text and the page.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from referee.wild import ACTIONS, ANIMALS, COLOURS, KINDS, SPIRIT_STONE, Board, Powers, Referee, random_setup

GAMES = 100


def position(
    bowl: str = "",
    bag: str = "yellow " * 20,
    down: tuple[str, str] = ("", ""),
    coyote: tuple[int, str] | None = None,
    powers: Powers = "house",
    boards: tuple[Board, Board] | None = None,
    **rest: Any,
) -> Referee:
    """Builds a position in which seat 0 chooses a card; all Spirit Stones lie at the bottom of the bag."""
    setup: dict[str, Any] = {"bowl": bowl.split(), "bag": bag.split() + [SPIRIT_STONE] * 8}
    if powers != "none":
        setup["piles"] = [[0, 1, 2], [3, 4, 5]]
    referee = Referee(setup, powers, **rest)
    referee.down = [cards.split() for cards in down]
    referee.coyote = coyote
    referee.boards = list(boards or (Board(), Board()))
    return referee


def with_power(*steps: str, bowl: str = "", bag: str = "yellow " * 20, **rest: Any) -> Referee:
    """Builds a position in which seat 0 has chosen Recover, and all six Spirit Powers have these steps."""
    referee = position(bowl, bag, ("take_one take_two add_two", ""), powers=[list(steps)] * 6, **rest)
    play(referee, "play_recover")
    return referee


def play(referee: Referee, *names: str) -> None:
    for name in names:
        referee.play(ACTIONS.index(name))


def legal(referee: Referee) -> list[str]:
    return [ACTIONS[action] for action in referee.legal()]


def spirit_stones_out(referee: Referee, number: int) -> None:
    """Takes Spirit Stones from the bottom of the bag out of sight."""
    assert referee.bag[-number:] == [SPIRIT_STONE] * number
    del referee.bag[-number:]


def full_board() -> Board:
    return Board(
        owl=[["blue", "blue"], ["blue", "blue"], ["teal", "teal"]],
        rabbit=["blue", "white", "yellow"],
        beaver_trio=["orange"] * 3,
        beaver_pair=["orange"] * 2,
        salmon=list(COLOURS),
        turtle=["purple"] * 5,
    )


# Components and set-up


def test_33_actions_have_the_ids_of_the_page() -> None:
    assert len(ACTIONS) == 33
    assert ACTIONS[:5] == ("play_take_one", "play_take_two", "play_add_two", "play_add_three", "play_recover")
    assert (ACTIONS[5], ACTIONS[11], ACTIONS[12], ACTIONS[18]) == (
        "stone_blue",
        "stone_spirit_stone",
        "place_owl_new",
        "place_turtle",
    )
    assert (ACTIONS[19], ACTIONS[23], ACTIONS[24], ACTIONS[28]) == (
        "bonus_owl",
        "bonus_turtle",
        "coyote_owl",
        "coyote_turtle",
    )
    assert ACTIONS[29:] == ("leave_coyote", "pile_0", "pile_1", "stop")


def test_random_setup_holds_eight_of_each_of_seven_kinds() -> None:
    setup = random_setup(random.Random(1))
    assert (len(setup["bowl"]), len(setup["bag"])) == (4, 52)
    assert Counter(setup["bowl"] + setup["bag"]) == {
        "blue": 8,
        "teal": 8,
        "orange": 8,
        "white": 8,
        "purple": 8,
        "yellow": 8,
        "spirit_stone": 8,
    }


def test_random_setup_puts_no_spirit_stone_into_the_bowl() -> None:
    assert not any(SPIRIT_STONE in random_setup(random.Random(seed))["bowl"] for seed in range(GAMES))


def test_random_setup_deals_six_powers_in_two_piles_of_three() -> None:
    piles = random_setup(random.Random(1))["piles"]
    assert [len(pile) for pile in piles] == [3, 3]
    assert sorted(piles[0] + piles[1]) == [0, 1, 2, 3, 4, 5]


def test_random_setup_without_powers_has_no_piles() -> None:
    assert "piles" not in random_setup(random.Random(1), "none")


def test_the_starting_player_has_take_two_face_down() -> None:
    referee = Referee(random_setup(random.Random(1)))
    assert (referee.seat, referee.phase, referee.turn, referee.coyote) == (0, "card", 0, None)
    assert referee.down == [["take_two"], []]
    assert legal(referee) == ["play_take_one", "play_add_two", "play_add_three"]


def test_the_second_player_has_all_cards_face_up() -> None:
    referee = Referee({"bowl": ["blue"] * 4, "bag": ["teal"] * 12 + [SPIRIT_STONE] * 8})
    play(referee, "play_take_one", "place_turtle")
    assert referee.seat == 1
    assert legal(referee) == ["play_take_one", "play_take_two", "play_add_two", "play_add_three"]


# Points


@pytest.mark.parametrize(("stones", "points"), list(enumerate([0, 1, 2, 4, 6, 9, 13])))
def test_points_of_the_salmon(stones: int, points: int) -> None:
    assert Board(salmon=list(COLOURS[:stones])).points() == points
    assert Board(salmon=list(COLOURS[:stones]), spirit_stones=["salmon"]).points() == 2 * points


@pytest.mark.parametrize(("stones", "points"), list(enumerate([0, 1, 3, 6, 9, 14])))
def test_points_of_the_turtle(stones: int, points: int) -> None:
    assert Board(turtle=["blue"] * stones).points() == points
    assert Board(turtle=["blue"] * stones, spirit_stones=["turtle"]).points() == 2 * points


@pytest.mark.parametrize(("stones", "points"), list(enumerate([0, 0, 0, 6])))
def test_points_of_the_rabbit(stones: int, points: int) -> None:
    assert Board(rabbit=list(COLOURS[:stones])).points() == points


@pytest.mark.parametrize(
    ("trio", "pair", "points"), [(0, 0, 0), (2, 1, 0), (3, 0, 5), (3, 1, 5), (0, 2, 2), (2, 2, 2), (3, 2, 14)]
)
def test_points_of_the_beaver(trio: int, pair: int, points: int) -> None:
    assert Board(beaver_trio=["blue"] * trio, beaver_pair=["teal"] * pair).points() == points


@pytest.mark.parametrize(("pairs", "points"), [(("", "", ""), 0), (("b", "b", "t"), 0), (("bb", "t", ""), 3)])
def test_points_of_the_owl(pairs: tuple[str, ...], points: int) -> None:
    assert Board(owl=[list(pair) for pair in pairs]).points() == points


def test_a_full_board_makes_56_points() -> None:
    board = full_board()
    assert board.points_by_animal() == {"owl": 9, "rabbit": 6, "beaver": 14, "salmon": 13, "turtle": 14}
    assert board.points() == 56


def test_a_full_board_with_five_spirit_stones_makes_112_points() -> None:
    board = full_board()
    board.spirit_stones = list(ANIMALS)
    assert board.points_by_animal() == {"owl": 18, "rabbit": 12, "beaver": 28, "salmon": 26, "turtle": 28}
    assert board.points() == 112


def test_a_spirit_stone_on_an_empty_animal_is_worth_nothing() -> None:
    assert Board(spirit_stones=list(ANIMALS)).points() == 0


# Where stones fit

ALL_NEW = ["owl_new", "rabbit", "beaver_trio", "beaver_pair", "salmon", "turtle"]


@pytest.mark.parametrize(
    ("board", "fits"),
    [
        (Board(), ALL_NEW),
        (Board(owl=[["blue"], [], []]), ["owl_new", "owl_started", *ALL_NEW[1:]]),
        (Board(owl=[["teal"], [], []]), ALL_NEW),
        (Board(owl=[["teal"], ["teal"], ["teal"]]), ALL_NEW[1:]),
        (Board(owl=[["teal"], ["blue"], ["blue"]]), ["owl_started", *ALL_NEW[1:]]),
        (Board(owl=[["blue", "blue"], ["teal"], ["white"]]), ALL_NEW[1:]),
        (Board(owl=[["blue", "blue"], ["teal"], []]), ALL_NEW),
        (Board(rabbit=["blue"]), ["owl_new", "beaver_trio", "beaver_pair", "salmon", "turtle"]),
        (Board(rabbit=["teal", "white"]), ALL_NEW),
        (Board(rabbit=["teal", "white", "orange"]), ["owl_new", "beaver_trio", "beaver_pair", "salmon", "turtle"]),
        (Board(beaver_trio=["blue"] * 2, beaver_pair=["blue"]), ALL_NEW),
        (Board(beaver_trio=["blue"] * 3, beaver_pair=["blue"] * 2), ["owl_new", "rabbit", "salmon", "turtle"]),
        (Board(beaver_trio=["teal"]), ["owl_new", "rabbit", "beaver_pair", "salmon", "turtle"]),
        (Board(beaver_pair=["teal"]), ["owl_new", "rabbit", "beaver_trio", "salmon", "turtle"]),
        (Board(salmon=["teal", "blue"]), ["owl_new", "rabbit", "beaver_trio", "beaver_pair", "turtle"]),
        (Board(salmon=list(COLOURS[1:])), ALL_NEW),
        (Board(turtle=["blue"] * 4), ALL_NEW),
        (Board(turtle=["blue"] * 5), ["owl_new", "rabbit", "beaver_trio", "beaver_pair", "salmon"]),
        (Board(turtle=["teal"]), ["owl_new", "rabbit", "beaver_trio", "beaver_pair", "salmon"]),
        (Board(spirit_stones=["beaver", "owl"]), ["rabbit", "salmon", "turtle"]),
        (Board(spirit_stones=list(ANIMALS)), []),
    ],
)
def test_where_a_blue_stone_fits(board: Board, fits: list[str]) -> None:
    assert board.fits("blue", None) == [f"place_{place}" for place in fits]


@pytest.mark.parametrize("animal", ANIMALS)
def test_no_stone_fits_on_the_animal_that_coyote_is_on(animal: str) -> None:
    # Both of the beaver's sets are named after him, and so is the owl's pair.
    assert Board().fits("blue", animal) == [f"place_{place}" for place in ALL_NEW if not place.startswith(animal)]
    assert Board().fits(SPIRIT_STONE, animal) == [f"bonus_{other}" for other in ANIMALS if other != animal]


def test_a_spirit_stone_fits_on_each_bonus_space_that_is_free() -> None:
    board = full_board()
    assert board.fits(SPIRIT_STONE, None) == [f"bonus_{animal}" for animal in ANIMALS]
    board.spirit_stones = ["owl", "turtle"]
    assert board.fits(SPIRIT_STONE, None) == ["bonus_rabbit", "bonus_beaver", "bonus_salmon"]
    assert board.fits(SPIRIT_STONE, "salmon") == ["bonus_rabbit", "bonus_beaver"]


def test_stones_lie_where_they_were_put() -> None:
    board = Board()
    for action in ("place_owl_new", "place_owl_new", "place_owl_started", "place_rabbit", "place_beaver_trio"):
        board.put("blue", action)
    for action in ("place_beaver_pair", "place_salmon", "place_turtle"):
        board.put("teal", action)
    board.put(SPIRIT_STONE, "bonus_rabbit")
    assert board == Board(
        [["blue", "blue"], ["blue"], []], ["blue"], ["blue"], ["teal"], ["teal"], ["teal"], ["rabbit"]
    )
    assert board.stones("owl") == ["blue"] * 3
    assert board.stones("beaver") == ["blue", "teal"]


# Cards


@pytest.mark.parametrize(
    ("bowl", "down", "usable"),
    [
        ("", "", ["add_two", "add_three"]),
        ("blue", "", ["take_one", "add_two", "add_three"]),
        ("blue blue", "", ["take_one", "take_two", "add_two", "add_three"]),
        ("blue blue", "take_one", ["take_one", "take_two", "add_two", "add_three"]),
        ("blue blue", "take_one take_one", ["take_two", "add_two", "add_three"]),
        ("blue blue", "take_one take_one add_two", ["take_two", "add_three", "recover"]),
        ("blue blue", "take_two add_two add_three", ["take_one", "recover"]),
        ("", "take_two add_two take_one", ["add_three", "recover"]),
        ("blue", "add_two add_three", ["take_one"]),
        ("", "add_two add_three", []),
    ],
)
def test_which_cards_can_be_used(bowl: str, down: str, usable: list[str]) -> None:
    assert legal(position(bowl, down=(down, ""))) == [f"play_{card}" for card in usable]


def test_take_one_takes_a_stone_and_is_turned_down() -> None:
    referee = position("blue teal teal")
    play(referee, "play_take_one")
    assert (referee.phase, legal(referee)) == ("stone", ["stone_blue", "stone_teal"])
    play(referee, "stone_teal")
    assert (referee.phase, referee.bowl, referee.held, referee.down[0]) == ("place", ["blue", "teal"], ["teal"], [])
    assert legal(referee) == [f"place_{place}" for place in ALL_NEW]
    play(referee, "place_turtle")
    assert (referee.phase, referee.seat, referee.turn) == ("card", 1, 1)
    assert referee.boards[0].turtle == ["teal"]
    assert referee.down == [["take_one"], []]


def test_take_two_chooses_both_stones_first_and_places_them_in_the_order_of_choice() -> None:
    referee = position("blue teal white")
    play(referee, "play_take_two", "stone_white")
    assert (referee.phase, legal(referee)) == ("stone", ["stone_blue", "stone_teal"])
    play(referee, "stone_blue")
    assert (referee.phase, referee.held, referee.bowl) == ("place", ["white", "blue"], ["teal"])
    play(referee, "place_turtle")
    assert (referee.held, referee.boards[0].turtle) == (["blue"], ["white"])
    play(referee, "place_salmon")
    assert referee.boards[0].salmon == ["blue"]
    assert referee.down[0] == ["take_two"]


def test_add_two_adds_before_it_takes() -> None:
    referee = position("blue", "teal white orange")
    play(referee, "play_add_two")
    assert referee.bowl == ["blue", "teal", "white"]
    assert legal(referee) == ["stone_blue", "stone_teal", "stone_white"]
    play(referee, "stone_white", "place_rabbit")
    assert (referee.bowl, referee.down[0], referee.seat) == (["blue", "teal"], ["add_two"], 1)


def test_add_three_adds_and_then_may_move_coyote() -> None:
    referee = position("blue", "teal white orange blue")
    play(referee, "play_add_three")
    assert (referee.bowl, referee.phase) == (["blue", "teal", "white", "orange"], "coyote")
    assert legal(referee) == [*(f"coyote_{animal}" for animal in ANIMALS), "leave_coyote"]
    play(referee, "coyote_salmon")
    assert (referee.coyote, referee.down[0], referee.seat) == ((1, "salmon"), ["add_three"], 1)


def test_the_second_take_one_may_move_coyote_after_it_is_turned_down() -> None:
    referee = position("blue teal", down=("take_one", ""))
    play(referee, "play_take_one", "stone_blue", "place_owl_new")
    assert (referee.phase, referee.seat, referee.turn, referee.down[0]) == ("coyote", 0, 0, ["take_one", "take_one"])
    play(referee, "leave_coyote")
    assert (referee.coyote, referee.seat, referee.turn) == (None, 1, 1)


def test_coyote_can_go_to_another_animal_of_the_same_board() -> None:
    referee = position(coyote=(1, "rabbit"))
    play(referee, "play_add_three")
    assert legal(referee) == ["coyote_owl", "coyote_beaver", "coyote_salmon", "coyote_turtle", "leave_coyote"]
    play(referee, "coyote_turtle")
    assert referee.coyote == (1, "turtle")


def test_coyote_goes_from_the_own_board_to_any_animal_of_the_opponent() -> None:
    referee = position(coyote=(0, "rabbit"))
    play(referee, "play_add_three")
    assert legal(referee) == [*(f"coyote_{animal}" for animal in ANIMALS), "leave_coyote"]
    play(referee, "coyote_rabbit")
    assert referee.coyote == (1, "rabbit")


def test_coyote_can_go_to_a_closed_animal() -> None:
    referee = position(boards=(Board(), Board(spirit_stones=["owl"])))
    play(referee, "play_add_three")
    assert "coyote_owl" in legal(referee)


def test_coyote_blocks_only_the_board_that_he_is_on() -> None:
    referee = position("blue teal", coyote=(1, "turtle"))
    play(referee, "play_take_one", "stone_blue")
    assert "place_turtle" in legal(referee)
    referee = position("blue teal", coyote=(0, "turtle"))
    play(referee, "play_take_one", "stone_blue")
    assert "place_turtle" not in legal(referee)


def test_a_stone_that_fits_nowhere_goes_back_to_the_bowl() -> None:
    closed = Board(spirit_stones=["owl", "rabbit", "beaver", "salmon"], turtle=["blue"])
    referee = position("teal blue", boards=(closed, Board()))
    play(referee, "play_take_one", "stone_teal")
    assert (sorted(referee.bowl), referee.seat, referee.down[0]) == (["blue", "teal"], 1, ["take_one"])
    assert referee.boards[0] == Board(spirit_stones=["owl", "rabbit", "beaver", "salmon"], turtle=["blue"])


def test_a_stone_can_lose_its_place_to_the_one_before() -> None:
    closed = Board(spirit_stones=["owl", "rabbit", "beaver", "salmon"])
    referee = position("teal blue white", boards=(closed, Board()))
    play(referee, "play_take_two", "stone_white", "stone_blue")
    assert (referee.boards[0].turtle, sorted(referee.bowl)) == (["white"], ["blue", "teal"])


def test_a_spirit_stone_without_a_bonus_space_goes_back_to_the_bowl_and_is_still_out_of_the_bag() -> None:
    closed = Board(spirit_stones=["owl", "rabbit", "beaver", "salmon"])
    referee = position("teal spirit_stone", boards=(closed, Board()), coyote=(0, "turtle"))
    spirit_stones_out(referee, 1)
    play(referee, "play_take_one", "stone_spirit_stone")
    assert (sorted(referee.bowl), referee.seat) == (["spirit_stone", "teal"], 1)
    assert referee.spirit_stones_out() == 1


# Decisions with one answer


def test_a_choice_among_equal_stones_resolves_by_itself() -> None:
    referee = position("blue blue blue")
    play(referee, "play_take_two")
    assert (referee.phase, referee.held, referee.bowl) == ("place", ["blue", "blue"], ["blue"])


def test_a_place_without_another_resolves_by_itself() -> None:
    closed = Board(spirit_stones=["owl", "rabbit", "beaver", "salmon"])
    referee = position("teal blue", boards=(closed, Board()))
    play(referee, "play_take_one", "stone_blue")
    assert (referee.boards[0].turtle, referee.seat) == (["blue"], 1)


def test_a_card_without_another_resolves_by_itself() -> None:
    referee = position("blue", "teal white " * 9, down=("", "add_two"))
    play(referee, "play_take_one", "place_owl_new")
    assert (referee.phase, referee.seat, referee.turn, len(referee.bowl)) == ("coyote", 1, 1, 3)


def test_a_recovery_without_powers_can_resolve_by_itself() -> None:
    referee = position("blue", down=("", "add_two add_three take_one take_one take_two"), powers="none")
    play(referee, "play_take_one", "place_owl_new")
    assert (referee.seat, referee.turn, referee.down) == (0, 2, [["take_one"], []])


def test_every_decision_of_random_games_has_two_answers_at_least() -> None:
    for seed in range(GAMES):
        rng = random.Random(seed)
        referee = Referee(random_setup(rng), shake=lambda bag: bag[::-1])
        while referee.phase != "end":
            assert len(referee.legal()) > 1
            referee.play(rng.choice(referee.legal()))


def test_stones_are_neither_made_nor_lost_in_random_games() -> None:
    for seed in range(GAMES):
        rng = random.Random(seed)
        referee = Referee(random_setup(rng), shake=lambda bag: bag[::-1])
        while referee.phase != "end":
            referee.play(rng.choice(referee.legal()))
            given = [stone for board in referee.boards for animal in ANIMALS for stone in board.stones(animal)]
            given += [SPIRIT_STONE for board in referee.boards for _ in board.spirit_stones]
            assert Counter(referee.bag + referee.bowl + referee.held + given) == dict.fromkeys(KINDS, 8)


# Spirit Power and Recover


def test_recover_turns_all_cards_up_and_its_own_too() -> None:
    referee = position("blue", down=("take_one take_two add_two", "take_one"), powers="none")
    play(referee, "play_recover")
    assert (referee.down, referee.seat, referee.turn) == ([[], ["take_one"]], 1, 1)


def test_recover_uses_the_top_of_either_pile_and_puts_it_under_its_own() -> None:
    referee = position("blue teal white", down=("take_one take_two add_two", ""))
    play(referee, "play_recover")
    assert (referee.phase, legal(referee)) == ("pile", ["pile_0", "pile_1"])
    # R4 takes three different stones, and adds three.
    play(referee, "pile_1", "stone_blue", "stone_teal")
    assert (referee.phase, referee.held) == ("place", ["blue", "teal", "white"])
    assert (referee.piles, referee.down[0]) == ([[0, 1, 2], [3, 4, 5]], ["take_one", "take_two", "add_two"])
    play(referee, "place_salmon", "place_salmon", "place_salmon")
    assert (referee.piles, referee.down[0], referee.bowl) == ([[0, 1, 2], [4, 5, 3]], [], ["yellow"] * 3)


def test_a_card_is_on_top_again_after_the_two_others() -> None:
    tops = []
    referee = position("", down=("", ""), powers=[["COYOTE"]] * 6)
    for _ in range(4):
        referee.down[referee.seat] = ["take_one", "take_two", "add_two"]
        tops.append(referee.piles[0][0])
        play(referee, "play_recover", "pile_0", "leave_coyote")
    assert tops == [0, 1, 2, 0]


def house(card: int, bowl: str, bag: str) -> Referee:
    referee = position(bowl, bag, ("take_one take_two add_two", ""))
    referee.piles = [[card], []]
    play(referee, "play_recover", "pile_0")
    return referee


def test_house_power_r1_takes_two_and_adds_three() -> None:
    referee = house(0, "blue blue teal", "white orange purple yellow")
    play(referee, "stone_blue", "stone_teal", "place_salmon", "place_salmon")
    assert referee.bowl == ["blue", "white", "orange", "purple"]


def test_house_power_r2_adds_four_and_takes_two() -> None:
    referee = house(1, "blue", "white orange purple yellow teal")
    assert referee.bowl == ["blue", "white", "orange", "purple", "yellow"]
    play(referee, "stone_blue", "stone_purple", "place_salmon", "place_salmon")
    assert (referee.bowl, referee.seat) == (["white", "orange", "yellow"], 1)


def test_house_power_r3_takes_up_to_three_of_a_kind_and_adds_three() -> None:
    referee = house(2, "blue teal blue", "white orange purple yellow")
    assert legal(referee) == ["stone_blue", "stone_teal"]
    play(referee, "stone_blue")
    assert (referee.phase, referee.held) == ("place", ["blue", "blue"])
    play(referee, "place_turtle", "place_turtle")
    assert referee.bowl == ["teal", "white", "orange", "purple"]


def test_house_power_r4_takes_up_to_three_different_and_adds_three() -> None:
    referee = house(3, "blue teal blue", "white orange purple yellow")
    play(referee, "stone_blue")
    # The second stone can only be teal, and there is no third kind.
    assert (referee.phase, referee.held) == ("place", ["blue", "teal"])
    play(referee, "place_turtle", "place_rabbit")
    assert referee.bowl == ["blue", "white", "orange", "purple"]


def test_house_power_r5_moves_coyote_takes_two_and_adds_two() -> None:
    referee = house(4, "blue teal", "white orange purple yellow")
    assert referee.phase == "coyote"
    play(referee, "coyote_owl", "stone_blue", "place_turtle", "place_rabbit")
    assert (referee.coyote, referee.bowl) == ((1, "owl"), ["white", "orange"])


def test_house_power_r6_returns_all_adds_five_and_takes_one() -> None:
    referee = position("blue teal", "white", ("take_one take_two add_two", ""), shake=lambda bag: bag[::-1])
    referee.piles = [[5], []]
    play(referee, "play_recover", "pile_0")
    # The bag was white, eight Spirit Stones, blue, teal; mixed, it is the other way round.
    assert referee.bowl == ["teal", "blue", SPIRIT_STONE, SPIRIT_STONE, SPIRIT_STONE]
    play(referee, "stone_blue", "place_turtle")
    assert (referee.bag, referee.turn) == ([SPIRIT_STONE] * 5 + ["white"], 1)


# Steps of own cards


def test_take_without_a_word_takes_any() -> None:
    referee = with_power("TAKE 2", bowl="blue blue teal")
    play(referee, "pile_0", "stone_blue")
    assert legal(referee) == ["stone_blue", "stone_teal"]


def test_take_any_takes_at_most_what_there_is() -> None:
    referee = with_power("TAKE 6 any", bowl="blue blue teal")
    play(referee, "pile_0", "stone_blue", "stone_teal")
    assert (referee.phase, referee.held, referee.bowl) == ("place", ["blue", "teal", "blue"], [])


def test_take_same_takes_at_most_its_number() -> None:
    referee = with_power("TAKE 2 same", bowl="blue blue blue teal")
    play(referee, "pile_0", "stone_blue")
    assert (referee.held, referee.bowl) == (["blue", "blue"], ["blue", "teal"])


def test_take_same_takes_spirit_stones_as_a_kind() -> None:
    referee = with_power("TAKE 3 same", bowl="spirit_stone teal spirit_stone")
    play(referee, "pile_0", "stone_spirit_stone")
    assert (referee.held, legal(referee)) == ([SPIRIT_STONE] * 2, [f"bonus_{animal}" for animal in ANIMALS])


def test_take_different_offers_kinds_not_chosen_yet() -> None:
    referee = with_power("TAKE 3 different", bowl="blue blue teal white spirit_stone")
    play(referee, "pile_0", "stone_blue")
    assert legal(referee) == ["stone_teal", "stone_white", "stone_spirit_stone"]
    play(referee, "stone_spirit_stone", "stone_teal")
    assert (referee.phase, referee.held) == ("place", ["blue", SPIRIT_STONE, "teal"])


@pytest.mark.parametrize("step", ["TAKE 3 any", "TAKE 3 same", "TAKE 3 different", "RETURN 3", "RETURN all"])
def test_a_step_without_stones_in_the_bowl_is_skipped(step: str) -> None:
    shaken: list[str] = []
    referee = with_power(step, "ADD 1", shake=lambda bag: shaken.append("shaken") or bag)
    play(referee, "pile_0")
    assert (referee.seat, referee.bowl, referee.phase, shaken) == (1, ["yellow"], "card", [])


def test_add_adds_what_there_is() -> None:
    referee = with_power("ADD 9", "TAKE 1", bag="blue teal")
    spirit_stones_out(referee, 4)
    play(referee, "pile_0")
    assert (referee.bowl, referee.bag) == (["blue", "teal", *[SPIRIT_STONE] * 4], [])


def test_return_puts_up_to_its_number_back_one_by_one_and_then_mixes_the_bag() -> None:
    shaken: list[list[str]] = []

    def shake(bag: list[str]) -> list[str]:
        shaken.append(bag)
        return sorted(bag)

    referee = with_power("RETURN 2", "ADD 1", bowl="white blue teal", bag="yellow", shake=shake)
    play(referee, "pile_0")
    assert (referee.phase, legal(referee)) == ("return", ["stone_blue", "stone_teal", "stone_white", "stop"])
    play(referee, "stone_white")
    assert (referee.phase, legal(referee), shaken) == ("return", ["stone_blue", "stone_teal", "stop"], [])
    play(referee, "stone_blue")
    assert shaken == [["yellow", *[SPIRIT_STONE] * 8, "white", "blue"]]
    assert (referee.seat, referee.bowl) == (1, ["teal", "blue"])


def test_return_can_stop_after_some() -> None:
    referee = with_power("RETURN 9", "ADD 1", bowl="blue blue", bag="yellow", shake=lambda bag: bag[::-1])
    play(referee, "pile_0", "stone_blue")
    assert legal(referee) == ["stone_blue", "stop"]
    play(referee, "stop")
    assert (referee.seat, referee.bowl) == (1, ["blue", "blue"])
    assert referee.bag == [SPIRIT_STONE] * 8 + ["yellow"]


def test_a_bag_into_which_nothing_went_is_not_mixed() -> None:
    referee = with_power("RETURN 9", "ADD 1", bowl="blue blue", bag="yellow", shake=lambda bag: bag[::-1])
    play(referee, "pile_0", "stop")
    assert (referee.seat, referee.bowl, referee.bag) == (1, ["blue", "blue", "yellow"], [SPIRIT_STONE] * 8)


def test_return_ends_with_an_empty_bowl() -> None:
    referee = with_power("RETURN 9", bowl="blue blue")
    play(referee, "pile_0", "stone_blue", "stone_blue")
    assert (referee.seat, referee.bowl, len(referee.bag)) == (1, [], 30)


# The end


@pytest.mark.parametrize(("out", "over"), [(3, False), (4, True)])
def test_the_game_ends_after_the_turn_with_the_fifth_spirit_stone(out: int, over: bool) -> None:
    referee = position("blue", "teal")
    spirit_stones_out(referee, out)
    referee.bag.insert(0, referee.bag.pop())
    play(referee, "play_add_two")
    # The turn goes on to its end.
    assert (referee.phase, referee.seat) == ("stone", 0)
    play(referee, "stone_spirit_stone", "bonus_owl")
    assert (referee.phase, referee.seat, referee.turn) == (("end", -1, 1) if over else ("card", 1, 1))


def test_spirit_stones_that_went_back_to_the_bag_delay_the_end() -> None:
    referee = with_power("RETURN all", bowl="spirit_stone blue")
    spirit_stones_out(referee, 5)
    play(referee, "pile_0")
    assert (referee.spirit_stones_out(), referee.seat) == (4, 1)


@pytest.mark.parametrize(("turn", "phase"), [(118, "card"), (119, "end")])
def test_the_game_ends_after_turn_120(turn: int, phase: str) -> None:
    referee = position("blue teal white")
    referee.turn = turn
    play(referee, "play_take_one", "stone_blue", "place_turtle")
    assert (referee.turn, referee.phase) == (turn + 1, phase)


def test_whoever_can_use_no_card_passes() -> None:
    referee = position("blue", down=("take_two", "add_two add_three"))
    play(referee, "play_take_one", "place_turtle")
    assert (referee.seat, referee.turn, referee.passes) == (0, 2, 1)
    assert legal(referee) == ["play_add_two", "play_add_three"]
    play(referee, "play_add_three", "leave_coyote")
    # Seat 1 can take again.
    assert (referee.seat, referee.passes, legal(referee)) == (1, 0, ["play_take_one", "play_take_two"])


def test_a_pass_can_be_turn_120() -> None:
    referee = position("blue", down=("take_two", "add_two add_three"))
    referee.turn = 118
    play(referee, "play_take_one", "place_turtle")
    assert (referee.phase, referee.turn, referee.passes) == ("end", 120, 1)


def test_two_passes_in_a_row_end_the_game() -> None:
    referee = position(down=("", "add_two add_three"))
    play(referee, "play_add_three")
    referee.bowl, referee.down[0] = [], ["add_two"]
    play(referee, "leave_coyote")
    assert (referee.phase, referee.seat, referee.turn, referee.passes) == ("end", -1, 3, 2)


def test_at_the_end_nothing_is_legal() -> None:
    referee = ended()
    assert referee.legal() == []
    with pytest.raises(ValueError, match="action 0 is not legal in phase end"):
        referee.play(0)


def test_an_illegal_action_changes_nothing() -> None:
    referee = position("blue")
    with pytest.raises(ValueError, match="action 1 is not legal in phase card"):
        play(referee, "play_take_two")
    assert (referee.phase, referee.bowl, legal(referee)[0]) == ("card", ["blue"], "play_take_one")


# Winners and rewards


def ended(first: int = 0, second: int = 0, coyote: tuple[int, str] | None = None) -> Referee:
    """A game that has ended with so many stones on each player's turtle."""
    boards = (Board(turtle=["blue"] * first), Board(turtle=["blue"] * second))
    referee = position("blue", coyote=coyote, boards=boards)
    referee.turn = 119
    play(referee, "play_add_three", "leave_coyote")
    assert referee.phase == "end"
    return referee


def test_most_points_win() -> None:
    assert (ended(5, 4).points(), ended(5, 4).winners()) == ([14, 9], [0])
    assert ended(0, 1, (0, "owl")).winners() == [1]


@pytest.mark.parametrize("seat", [0, 1])
def test_a_tie_goes_to_the_player_on_whose_board_coyote_stands(seat: int) -> None:
    referee = ended(3, 3, (seat, "salmon"))
    assert referee.winners() == [seat]
    assert referee.returns("win") == ([1.0, -1.0] if seat == 0 else [-1.0, 1.0])
    assert referee.returns("margin") == [0.0, 0.0]


def test_a_tie_without_coyote_is_shared() -> None:
    referee = ended(3, 3)
    assert referee.winners() == [0, 1]
    assert referee.returns("win") == [0.0, 0.0]


def test_rewards_of_a_win() -> None:
    referee = ended(2, 5)
    assert referee.returns("win") == [-1.0, 1.0]
    # Three points against fourteen; their mean is 8.5.
    assert referee.returns("margin") == [-5.5, 5.5]


def test_before_the_end_nobody_wins_and_rewards_are_zero() -> None:
    referee = position("blue", boards=(Board(turtle=["blue"]), Board()))
    assert (referee.points(), referee.winners()) == ([1, 0], [])
    assert referee.returns("win") == referee.returns("margin") == [0.0, 0.0]


def test_an_unknown_reward_is_refused() -> None:
    with pytest.raises(ValueError, match="rewards are win or margin, not draw"):
        ended().returns("draw")
