"""Spirit Power cards as steps in a small language, and the option that chooses a set of them.

The texts of the published cards are not known here; the built-in set is a reconstruction, "house powers" by name.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np

from spirits_env.game import Option, is_list, shown

POWER_CARDS = 6
PILES = 2
PILE_SIZE = 3
MAX_STEPS = 6
MAX_COUNT = 9
MAX_TAKE = 6

NOTHING, ADD, TAKE_ANY, TAKE_SAME, TAKE_DIFFERENT, COYOTE, RETURN, RETURN_ALL = range(8)
_TAKES = {"any": TAKE_ANY, "same": TAKE_SAME, "different": TAKE_DIFFERENT}
_FORMS = "ADD n, TAKE n any, TAKE n same, TAKE n different, COYOTE, RETURN n, RETURN all"

HOUSE, NONE, OWN = range(3)
HOUSE_REMARK = "house powers: the six Spirit Power cards are a reconstruction of this project, not the published ones"
OWN_REMARK = "own powers: the six Spirit Power cards are the user's own"

# What each step does, for people.
STEP_TEXTS = (
    ("ADD n", f"n stones (1 to {MAX_COUNT}) go from the bag to the bowl, or as many as there are"),
    ("TAKE n any", f"take n stones (1 to {MAX_TAKE}) from the bowl, or as many as there are, and place them"),
    ("TAKE n same", "the same, all of one kind"),
    ("TAKE n different", "the same, all of different kinds"),
    ("COYOTE", "the player may move Coyote to an animal of the opponent"),
    ("RETURN n", f"put up to n stones (1 to {MAX_COUNT}) of the player's choice from the bowl back into the bag"),
    ("RETURN all", "put all stones of the bowl back into the bag"),
)


class Step(NamedTuple):
    """One step of a card: what is done, and with how many stones (0 where the count says nothing)."""

    act: int
    stones: int


def _step(text: Any, card: int) -> Step:
    """Read one step."""
    words = text.split() if isinstance(text, str) else []
    act = words[0].upper() if words else ""
    rest = [word.lower() for word in words[1:]]
    if act == "COYOTE" and not rest:
        return Step(COYOTE, 0)
    if act == "RETURN" and rest == ["all"]:
        return Step(RETURN_ALL, 0)
    if rest and rest[0].isdecimal():
        count = int(rest[0]) if len(rest[0]) == 1 else MAX_COUNT + 1
        if act in ("ADD", "RETURN") and len(rest) == 1 and 1 <= count <= MAX_COUNT:
            return Step(ADD if act == "ADD" else RETURN, count)
        kind = rest[1] if len(rest) > 1 else "any"
        if act == "TAKE" and len(rest) <= 2 and kind in _TAKES and 1 <= count <= MAX_TAKE:
            return Step(_TAKES[kind], count)
    raise ValueError(
        f"Card {card} of the powers has the step {shown(text)}; a step is one of {_FORMS}, "
        f"with n from 1 to {MAX_COUNT} (1 to {MAX_TAKE} for TAKE)."
    )


def step_text(step: Step) -> str:
    """Write a step as it is read."""
    texts = {
        ADD: f"ADD {step.stones}",
        TAKE_ANY: f"TAKE {step.stones} any",
        TAKE_SAME: f"TAKE {step.stones} same",
        TAKE_DIFFERENT: f"TAKE {step.stones} different",
        COYOTE: "COYOTE",
        RETURN: f"RETURN {step.stones}",
        RETURN_ALL: "RETURN all",
    }
    return texts[step.act]


def read_cards(cards: Any) -> list[list[Step]]:
    """Read six cards, each a list of steps in their order.

    Raises:
        ValueError: If a card or a step is not one.
    """
    if not is_list(cards) or len(cards) != POWER_CARDS:
        given = f"{len(cards)} entries" if is_list(cards) else shown(cards)
        raise ValueError(f"The powers were {given}; give a list of {POWER_CARDS} cards, each a list of steps.")
    found = []
    for number, card in enumerate(cards):
        if not is_list(card) or not 1 <= len(card) <= MAX_STEPS:
            raise ValueError(
                f"Card {number} of the powers was {shown(card)}; give a list of 1 to {MAX_STEPS} steps such as "
                '["TAKE 2 any", "ADD 3"].'
            )
        found.append([_step(text, number) for text in card])
    return found


def _read_file(path: str | os.PathLike[str]) -> Any:
    """Read a YAML file of cards."""
    # PyYAML reads the file, imported only where somebody has one.
    import yaml

    try:
        with open(path, encoding="utf-8") as file:
            return yaml.safe_load(file)
    except OSError as error:
        raise ValueError(
            f"The powers file {shown(os.fspath(path))} can't be read ({error.strerror}); give the path of a YAML file "
            f"with {POWER_CARDS} cards."
        ) from None
    # What PyYAML makes of a wrong value behind a tag is whatever error that value runs into.
    except Exception as error:
        text = " ".join(f"{type(error).__name__}: {error}".split())
        raise ValueError(f"The powers file {shown(os.fspath(path))} is not YAML ({text}).") from None


# The set that is built in: reasons stand on the game's page.
HOUSE_CARDS = (
    ("R1", ("TAKE 2 any", "ADD 3")),
    ("R2", ("ADD 4", "TAKE 2 any")),
    ("R3", ("TAKE 3 same", "ADD 3")),
    ("R4", ("TAKE 3 different", "ADD 3")),
    ("R5", ("COYOTE", "TAKE 2 any", "ADD 2")),
    ("R6", ("RETURN all", "ADD 5", "TAKE 1 any")),
)


def _table(cards: list[list[Step]]) -> np.ndarray:
    """Turn cards into the array that a record holds, shape `(cards, steps, 2)`, int8."""
    table = np.zeros((POWER_CARDS, MAX_STEPS, 2), np.int8)
    for number, card in enumerate(cards):
        table[number, : len(card)] = np.array(card)
    return table


class PowersOption(Option):
    """Which Spirit Power cards are in the piles: a built-in set, none, or cards of the user's own."""

    def check(self, value: Any) -> Any:
        """Return "house", "none", or the user's cards as lists of steps.

        Args:
            value: One of the names, a list of six lists of steps, or the path of a YAML file that holds one.

        Raises:
            ValueError: If it is none of these, or a card is wrong.
        """
        if isinstance(value, str) and value in self.choices:
            return value
        if isinstance(value, os.PathLike) or (isinstance(value, str) and value.endswith((".yaml", ".yml"))):
            value = _read_file(value)
        elif not is_list(value):
            raise ValueError(
                f"Option {self.name!r} was {shown(value)}; give 'house', 'none', the path of a YAML file of "
                f"{POWER_CARDS} cards, or such cards as lists of steps."
            )
        return [[step_text(step) for step in card] for card in read_cards(value)]

    def store(self, states: np.ndarray, value: Any) -> None:
        """Write a checked value into records: which set, and the steps of its cards."""
        known = {"house": HOUSE, "none": NONE}
        states[self.name] = known[value] if isinstance(value, str) else OWN
        states["steps"] = 0
        if value == "house":
            value = [list(steps) for _, steps in HOUSE_CARDS]
        if value != "none":
            states["steps"] = _table(read_cards(value))

    def read(self, state: Any) -> Any:
        """Return the value that a record was made with."""
        if int(state[self.name]) != OWN:
            return self.choices[int(state[self.name])]
        return card_texts(state)

    def remark(self, value: Any) -> str:
        """Return what must be said of results with these cards."""
        return self.remarks.get(value, "") if isinstance(value, str) else OWN_REMARK


def card_texts(state: Any) -> list[list[str]]:
    """Return the steps of a record's six cards as text."""
    return [[step_text(Step(int(act), int(count))) for act, count in card if act != NOTHING] for card in state["steps"]]


def card_name(state: Any, card: int) -> str:
    """Return what people call a card of a record."""
    return HOUSE_CARDS[card][0] if int(state["powers"]) == HOUSE else f"card {card + 1}"


POWERS = PowersOption(
    "powers",
    ("house", "none"),
    "house",
    'The Spirit Power cards: "house" (this project\'s reconstruction), "none" (the card only recovers), the path of a '
    "YAML file with six cards of your own, or such cards as lists of steps.",
    {"house": HOUSE_REMARK},
)
