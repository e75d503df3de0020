"""What only the page of Spirits of the Wild has: animals, cards, powers, kinds of actions, the point of its picture.

`make.py` puts them on the page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from spirits_env.games.wild import actions, components, powers
from spirits_env.games.wild.components import ANIMALS, CARDS, KINDS

Table = tuple[Sequence[str], Sequence[Sequence[Any]]]

PICTURE_PLY = 99
PICTURE_SEAT = 0

_POINTS = {
    "owl": f"{components.PAIR_POINTS} for each complete pair",
    "rabbit": f"{components.RABBIT_POINTS} when complete, else 0",
    "beaver": (
        f"trio {components.BEAVER_TRIO_POINTS}, pair {components.BEAVER_PAIR_POINTS}, "
        f"and {components.BEAVER_BOTH_POINTS} more for both"
    ),
    "salmon": "by stones from 0: " + ", ".join(map(str, components.SALMON_POINTS)),
    "turtle": "by stones from 0: " + ", ".join(map(str, components.TURTLE_POINTS)),
}
_MOST = {
    "owl": components.PAIR_POINTS * components.OWL_PAIRS,
    "rabbit": components.RABBIT_POINTS,
    "beaver": components.BEAVER_TRIO_POINTS + components.BEAVER_PAIR_POINTS + components.BEAVER_BOTH_POINTS,
    "salmon": components.SALMON_POINTS.max(),
    "turtle": components.TURTLE_POINTS.max(),
}
_STONES = {
    "owl": "each pair of one colour; pairs may have the same",
    "rabbit": "three different colours",
    "beaver": "trio of one colour, pair of one colour, perhaps the same",
    "salmon": "one of each colour",
    "turtle": "all of one colour",
}
_SHAPES = {"owl": "three pairs", "beaver": "trio and pair"}


def _spaces(animal: int) -> int:
    """How many stones an animal holds, Spirit Stones not counted."""
    sets = components.SET_SIZES[animal == components.SET_ANIMALS]
    rows = components.ROW_SIZES[animal == components.ROW_ANIMALS]
    return int(np.concatenate([sets, rows]).sum())


def animals() -> Table:
    """What each animal takes, and what it is worth."""
    columns = ("id", "animal", "spaces", "stones", "points", "most", "most with a Spirit Stone")
    rows: list[Sequence[Any]] = []
    for number, name in enumerate(ANIMALS):
        shape = f"{_spaces(number)}: {_SHAPES[name]}" if name in _SHAPES else _spaces(number)
        rows.append((number, name, shape, _STONES[name], _POINTS[name], _MOST[name], 2 * _MOST[name]))
    most = sum(_MOST.values())
    rows.append(("", "all", sum(_spaces(number) for number in range(len(ANIMALS))), "", "", most, 2 * most))
    return columns, rows


def cards() -> Table:
    """The action cards of a player."""
    texts = (
        ("1 stone in the bowl", "take a stone from the bowl and place it"),
        ("2 stones in the bowl", "take two stones from the bowl and place them"),
        ("always", "two stones go from the bag to the bowl; then take one and place it"),
        ("always", "three stones go from the bag to the bowl; then Coyote may be moved"),
        (
            f"{components.DOWN_TO_RECOVER} of the other five cards face down",
            "carry out the Spirit Power on top of one of the two piles; then turn all own cards face up",
        ),
    )
    rows = [
        (f"`{name}`", title, copies, *text)
        for name, title, copies, text in zip(CARDS, components.CARD_TITLES, components.CARD_COPIES, texts, strict=True)
    ]
    return ("name", "card", "copies", "can be used with", "does"), rows


def steps() -> Table:
    """What a step of a Spirit Power can be."""
    return ("step", "does"), [(f"`{step}`", text) for step, text in powers.STEP_TEXTS]


def house_powers() -> Table:
    """The built-in Spirit Powers, and why they are so."""
    reasons = (
        "take first; the opponent gets fresh stones",
        "digs for Spirit Stones; the bag always has four stones at the start of a turn",
        "serves the turtle and the beaver",
        "serves the salmon and the rabbit",
        "a third way to move Coyote",
        "puts Spirit Stones back, and so can delay the end",
    )
    rows = [
        (number, name, ", ".join(f"`{step}`" for step in card), reason)
        for number, ((name, card), reason) in enumerate(zip(powers.HOUSE_CARDS, reasons, strict=True))
    ]
    return ("id", "house power", "steps", "reasoning"), rows


def action_groups() -> list[tuple[str, str, list[int], list[str], str]]:
    """Names for the page, formula, ids, names in order and meaning of each kind of action."""

    def group(first: int, names: Sequence[str]) -> tuple[list[int], list[str]]:
        return list(range(first, first + len(names))), list(names)

    plays = [f"play_{card}" for card in CARDS]
    places = [f"place_{place}" for place in actions.PLACES]
    bonuses, coyotes = ([f"{word}_{animal}" for animal in ANIMALS] for word in ("bonus", "coyote"))
    return [
        (", ".join(plays), "in this order", *group(actions.FIRST_CARD, plays), "use that card"),
        (
            "stone_<kind>",
            f"{actions.FIRST_STONE} + kind",
            *group(actions.FIRST_STONE, [f"stone_{kind}" for kind in KINDS]),
            "choose a stone of that kind in the bowl, to take it or to put it back into the bag",
        ),
        (
            ", ".join(places),
            "in this order",
            *group(actions.FIRST_PLACE, places),
            "give the stone in hand to that animal; to the owl on an empty pair, or on a pair with one stone",
        ),
        (
            "bonus_<animal>",
            f"{actions.FIRST_BONUS} + animal",
            *group(actions.FIRST_BONUS, bonuses),
            "put the Spirit Stone in hand on that animal's bonus space",
        ),
        (
            "coyote_<animal>",
            f"{actions.FIRST_COYOTE} + animal",
            *group(actions.FIRST_COYOTE, coyotes),
            "move Coyote to that animal of the opponent",
        ),
        ("leave_coyote", str(actions.LEAVE), *group(actions.LEAVE, ["leave_coyote"]), "leave Coyote where he is"),
        (
            "pile_<pile>",
            f"{actions.FIRST_PILE} + pile",
            *group(actions.FIRST_PILE, [f"pile_{pile}" for pile in range(powers.PILES)]),
            "use the Spirit Power on top of that pile",
        ),
        ("stop", str(actions.STOP), *group(actions.STOP, ["stop"]), "put no more stones back into the bag"),
    ]


TABLES: dict[str, Callable[[], Table]] = {
    "animals": animals,
    "cards": cards,
    "steps": steps,
    "powers": house_powers,
}
