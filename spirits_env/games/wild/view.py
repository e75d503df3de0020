"""What may be seen of a position: the facts that text and picture show, and no others.

What is legal, who leads and what each animal is worth comes from the rules, by way of `Standing`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from spirits_env.game import Standing
from spirits_env.games.wild.actions import (
    FIRST_BONUS,
    FIRST_CARD,
    FIRST_COYOTE,
    FIRST_PILE,
    FIRST_PLACE,
    FIRST_STONE,
    LEAVE,
    ON_PAIR,
    ON_RABBIT,
    ON_SALMON,
    ON_TRIO,
    ON_TURTLE,
    OWL_NEW,
    OWL_STARTED,
    PLACE_ANIMALS,
    STOP,
)
from spirits_env.games.wild.components import (
    ANIMALS,
    CARD_COPIES,
    KINDS,
    OWL_PAIRS,
    PAIR,
    PLAYERS,
    ROW_ANIMALS,
    ROW_SIZES,
    SET_ANIMALS,
    SET_SIZES,
    SHELL,
    TRIO,
)
from spirits_env.games.wild.observation import LAYOUT
from spirits_env.games.wild.powers import HOUSE, NONE, PILE_SIZE, PILES, card_name, card_texts
from spirits_env.games.wild.state import END
from spirits_env.games.wild.telling import tell

NO_ACTION = -1
_NEXT_STONES = 5
_SET_NAMES = ("pair_0", "pair_1", "pair_2", "trio", "pair", "shell")


@dataclass(frozen=True)
class Spaces:
    """Spaces of an animal that are filled together: kinds of the stones there, and the action that adds one."""

    name: str
    size: int
    kinds: list[int]
    choice: int


@dataclass(frozen=True)
class Animal:
    """An animal of a board, its points as they stand, and the actions that put something on it (-1 for none)."""

    spaces: list[Spaces]
    spirit_stone: bool
    bonus_choice: int
    coyote: bool
    coyote_choice: int
    points: int


@dataclass(frozen=True)
class Card:
    """An action card before a player."""

    card: int
    copy: int
    down: bool
    used: bool
    choice: int


@dataclass(frozen=True)
class Seat:
    """What lies before a player."""

    number: int
    acts: bool
    wins: bool
    points: int
    cards: list[Card]
    animals: list[Animal]


@dataclass(frozen=True)
class Power:
    """A Spirit Power card in its pile; face down its number, name and steps are None."""

    number: int | None
    name: str | None
    steps: list[str] | None
    step: int  # the one being carried out, else -1
    known: bool  # to the players


@dataclass(frozen=True)
class Pile:
    """A pile of Spirit Powers from the top."""

    cards: list[Power]
    choice: int


@dataclass(frozen=True)
class View:
    """All facts of a position that a drawing shows; an action is -1 where it is not legal."""

    turn: int
    phase: int
    actor: int
    card: int
    choosing: int
    passes: int
    seats: list[Seat]  # the observer's first
    bowl: list[int]
    bowl_choices: list[int]
    bag: list[int]
    following: list[int] | None  # the next stones out of the bag, for who sees all
    held: list[int]
    coyote: tuple[int, int] | None  # seat and animal, None beside the table
    leave: int
    stop: int
    powers: str
    piles: list[Pile]
    said: str  # the last decision
    last: tuple[int, int] | None  # seat and animal that it changed


def _choice(mask: np.ndarray, action: int) -> int:
    """Return an action if it is legal, else -1."""
    return action if mask[action] else NO_ACTION


def _held(state: Any) -> list[int]:
    """Return the kinds of the chosen stones that are still to be placed, the next one first."""
    return [int(kind) for kind in state.held if kind >= 0]


def _set_place(state: Any, owner: int, spaces: int) -> int:
    """Return the place of the action table that a set belongs to now; an owl's pair that fits no stone has none."""
    if spaces >= OWL_PAIRS:
        return {TRIO: ON_TRIO, PAIR: ON_PAIR, SHELL: ON_TURTLE}[spaces]
    if int(state.count[owner, spaces]) == 0:
        return OWL_NEW
    fits = int(state.count[owner, spaces]) == 1 and _held(state)[:1] == [int(state.colour[owner, spaces])]
    return OWL_STARTED if fits else NO_ACTION


def _spaces(state: Any, owner: int, animal: int, mask: np.ndarray | None) -> list[Spaces]:
    """Return an animal's spaces; a mask tells which of them take the next stone."""
    found = []
    for spaces in np.flatnonzero(animal == SET_ANIMALS):
        kinds = [int(state.colour[owner, spaces])] * int(state.count[owner, spaces])
        place = _set_place(state, owner, int(spaces))
        choice = NO_ACTION if mask is None or place == NO_ACTION else _choice(mask, FIRST_PLACE + place)
        found.append(Spaces(_SET_NAMES[spaces], int(SET_SIZES[spaces]), kinds, choice))
    for row in np.flatnonzero(animal == ROW_ANIMALS):
        kinds = [int(kind) for kind in np.flatnonzero(state.row[owner, row])]
        choice = NO_ACTION if mask is None else _choice(mask, FIRST_PLACE + (ON_RABBIT, ON_SALMON)[row])
        found.append(Spaces("row", int(ROW_SIZES[row]), kinds, choice))
    return found


def _animals(state: Any, owner: int, mask: np.ndarray, points: np.ndarray) -> list[Animal]:
    """Return the animals of a board."""
    acts = owner == int(state.seat)
    animals = []
    for animal in range(len(ANIMALS)):
        animals.append(
            Animal(
                spaces=_spaces(state, owner, animal, mask if acts else None),
                spirit_stone=bool(state.bonus[owner, animal]),
                bonus_choice=_choice(mask, FIRST_BONUS + animal) if acts else NO_ACTION,
                coyote=int(state.coyote) == owner * len(ANIMALS) + animal,
                coyote_choice=NO_ACTION if acts else _choice(mask, FIRST_COYOTE + animal),
                points=int(points[animal]),
            )
        )
    return animals


def _cards(state: Any, owner: int, mask: np.ndarray) -> list[Card]:
    """Return a player's six action cards; of equal ones those face down come first."""
    acts = owner == int(state.seat)
    cards = []
    for card, copies in enumerate(CARD_COPIES):
        turned = int(state.down[owner, card])
        for copy in range(copies):
            choice = _choice(mask, FIRST_CARD + card) if acts and copy >= turned else NO_ACTION
            used = acts and int(state.card) == card and copy == turned
            cards.append(Card(card, copy, copy < turned, used, choice))
    return cards


def _seat(state: Any, owner: int, standing: Standing, points: np.ndarray) -> Seat:
    """Return what lies before a player, given the points of each animal."""
    return Seat(
        number=owner,
        acts=owner == int(state.seat),
        wins=int(state.phase) == END and bool(standing.won[owner]),
        points=int(standing.points[owner]),
        cards=_cards(state, owner, standing.mask),
        animals=_animals(state, owner, standing.mask, points),
    )


def _pile(state: Any, seat: int | None, pile: int, mask: np.ndarray) -> Pile:
    """Return a pile from the top; cards that were never on top can be seen by nobody but who sees all."""
    texts = card_texts(state)
    cards = []
    for depth in range(PILE_SIZE):
        place = (int(state.top[pile]) + depth) % PILE_SIZE
        known = place < int(state.seen[pile])
        number = int(state.piles[pile, place])
        if not known and seat is not None:
            cards.append(Power(None, None, None, NO_ACTION, known))
            continue
        used = depth == 0 and int(state.pile) == pile
        cards.append(
            Power(number, card_name(state, number), texts[number], int(state.step) if used else NO_ACTION, known)
        )
    return Pile(cards, _choice(mask, FIRST_PILE + pile))


def _said(standing: Standing) -> str:
    """Say what the last decision was."""
    if standing.before is None:
        return ""
    return f"last: seat {standing.before.seat}: {tell(standing.before, standing.action)}"


def _last(standing: Standing) -> tuple[int, int] | None:
    """Return the seat and the animal that the last decision changed."""
    if standing.before is None:
        return None
    seat, action = int(standing.before.seat), standing.action
    if FIRST_PLACE <= action < FIRST_BONUS:
        return seat, PLACE_ANIMALS[action - FIRST_PLACE]
    if FIRST_BONUS <= action < FIRST_COYOTE:
        return seat, action - FIRST_BONUS
    return (PLAYERS - 1 - seat, action - FIRST_COYOTE) if FIRST_COYOTE <= action < LEAVE else None


def look(state: Any, seat: int | None, standing: Standing) -> View:
    """Gather what a seat may see.

    Args:
        state: One record of the game.
        seat: Whose view; None sees everything.
        standing: What the rules say of the position.
    """
    mask = standing.mask
    points = LAYOUT.unpack(standing.observation)["points"]
    observer = seat or 0
    coyote = int(state.coyote)
    powers = int(state.powers)
    following = [int(kind) for kind in state.bag[: int(state.bag_size)][::-1][:_NEXT_STONES]]
    return View(
        turn=int(state.turn),
        phase=int(state.phase),
        actor=int(state.seat),
        card=int(state.card),
        choosing=int(state.choosing),
        passes=int(state.passes),
        seats=[
            _seat(state, owner, standing, points[relative])
            for relative, owner in enumerate((observer, PLAYERS - 1 - observer))
        ],
        bowl=[int(count) for count in state.bowl],
        bowl_choices=[_choice(mask, FIRST_STONE + kind) for kind in range(len(KINDS))],
        bag=[int(count) for count in state.in_bag],
        following=following if seat is None else None,
        held=_held(state),
        coyote=(coyote // len(ANIMALS), coyote % len(ANIMALS)) if coyote >= 0 else None,
        leave=_choice(mask, LEAVE),
        stop=_choice(mask, STOP),
        powers="no powers" if powers == NONE else "house powers" if powers == HOUSE else "own powers",
        said=_said(standing),
        last=_last(standing),
        piles=[] if powers == NONE else [_pile(state, seat, pile, mask) for pile in range(PILES)],
    )
