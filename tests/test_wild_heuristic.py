"""The estimate of Spirits of the Wild: what a greedy seat must prefer, and what it must shun."""

from __future__ import annotations

from typing import Any

import pytest
from wild_play import PHASES, position

from spirits_env.games.wild import GAME
from spirits_env.games.wild.powers import POWERS


def value(drawing: str = "", seat: int = 0, **rest: Any) -> float:
    return float(GAME.evaluate(position(drawing, **rest), seat))


def ended(drawing: str) -> Any:
    record = position(drawing)
    record["seat"], record["phase"] = -1, PHASES.index("end")
    return record


def test_one_seats_prospects_are_the_others_loss() -> None:
    for drawing in ("salmon bto... | turtle www..", "owl bb t. .. C | rabbit bto *", ""):
        record = position(drawing, bowl="btss")
        assert GAME.evaluate(record, 0) == pytest.approx(-GAME.evaluate(record, 1))


def test_at_the_end_the_margin_and_the_win_count() -> None:
    # Nine points of three pairs against the turtle's six.
    record = ended("owl bb tt oo | turtle www..")
    assert GAME.evaluate(record, 0) == pytest.approx(9 - 6 + 20)
    assert GAME.evaluate(record, 1) == pytest.approx(6 - 9 - 20)


@pytest.mark.parametrize(
    ("drawing", "expected"),
    [
        ("rabbit bto | turtle www..", 0),
        ("rabbit bto C | turtle www..", 20),
        ("rabbit bto | turtle www.. C", -20),
    ],
)
def test_at_the_end_a_tie_goes_to_the_seat_with_coyote(drawing: str, expected: float) -> None:
    assert GAME.evaluate(ended(drawing), 0) == pytest.approx(expected)


def test_a_complete_collection_is_worth_more_than_a_started_one() -> None:
    for whole, part in (
        ("owl bb .. ..", "owl b. .. .."),
        ("rabbit bto", "rabbit bt."),
        ("beaver bbb tt", "beaver bbb t."),
        ("beaver bbb tt", "beaver bb. tt"),
        ("salmon btowpy", "salmon btowp."),
        ("turtle bbbbb", "turtle bbbb."),
    ):
        assert value(whole) > value(part) > value("")


def test_a_spirit_stone_is_worth_more_on_the_animal_with_more_points() -> None:
    both = "salmon btowp. {salmon} | \nrabbit bto {rabbit} |"
    assert value(both.format(salmon="*", rabbit="")) > value(both.format(salmon="", rabbit="*"))


def test_coyote_costs_what_a_started_animal_promises_and_nothing_on_a_closed_one() -> None:
    assert value("turtle bbb.. C |") < value("turtle bbb.. |")
    assert value("turtle bbb.. * C |") == pytest.approx(value("turtle bbb.. * |"))


def test_promises_fade_as_spirit_stones_come_out() -> None:
    far, near, over = (value("turtle bbb.. |", bag=bag) for bag in ("sssssss", "ssss", "s"))
    assert far > near > over == 6


def test_the_bowl_is_worth_more_to_the_seat_that_is_next() -> None:
    mine = value("owl b. .. .. | owl b. .. ..", bowl="bb", seat=0)
    assert mine > 0
    record = position("owl b. .. .. | owl b. .. ..", bowl="bb", seat=1)
    assert GAME.evaluate(record, 0) < 0


def test_a_bowl_offers_nothing_to_a_seat_without_take_cards() -> None:
    down = ("take_one take_one take_two", "take_one take_one take_two")
    assert value(bowl="bbtt", down=down) == pytest.approx(value(bowl="", down=down))


def test_the_stones_of_a_take_that_has_begun_count_before_they_are_placed() -> None:
    record = position("turtle bbbb. |", bowl="bo")
    record["card"], record["choosing"], record["phase"] = 0, 1, PHASES.index("stone")
    before = GAME.evaluate(record, 0)
    record["bowl"][0] -= 1
    record["held"][0], record["chosen"], record["choosing"], record["phase"] = 0, 1, 0, PHASES.index("place")
    assert GAME.evaluate(record, 0) == pytest.approx(before, abs=1.0)
    assert before > value("turtle bbbb. |", bowl="o")


def test_the_option_of_powers_is_no_part_of_the_estimate() -> None:
    record = position("salmon bto... |", bowl="bt")
    before = GAME.evaluate(record, 0)
    POWERS.store(record, POWERS.check("house"))
    assert GAME.evaluate(record, 0) == before
