"""Sentences for people: what a decision does, and why points are what they are.

They say what everybody at the table may know, which in this game is all but the order of the bag and unseen powers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spirits_env.games.wild.actions import (
    ACTIONS,
    FIRST_BONUS,
    FIRST_PILE,
    FIRST_PLACE,
    FIRST_STONE,
    ON_PAIR,
    ON_RABBIT,
    ON_SALMON,
    ON_TRIO,
    ON_TURTLE,
    OWL_NEW,
    OWL_STARTED,
    STOP,
    a_stone,
)
from spirits_env.games.wild.components import (
    ANIMALS,
    BEAVER,
    KINDS,
    OWL,
    OWL_PAIRS,
    PAIR,
    RABBIT,
    ROW_SIZES,
    SALMON,
    SET_SIZES,
    SHELL,
    SPIRIT_STONE,
    TRIO,
)
from spirits_env.games.wild.powers import PILE_SIZE, card_name, card_texts
from spirits_env.games.wild.state import PUT_BACK

_PLACES = {
    OWL_NEW: "on the owl, for a new pair",
    OWL_STARTED: "on the owl, completing a pair",
    ON_RABBIT: "on the rabbit",
    ON_TRIO: "on the beaver's trio",
    ON_PAIR: "on the beaver's pair",
    ON_SALMON: "on the salmon",
    ON_TURTLE: "on the turtle",
}


def stone_name(kind: int) -> str:
    """Return a kind of stone as people read it."""
    return "Spirit Stone" if kind == SPIRIT_STONE else KINDS[kind]


def _tell_pile(state: Any, pile: int) -> str:
    """Say which Spirit Power lies on top of a pile, and what it does."""
    card = int(state.piles[pile, int(state.top[pile]) % PILE_SIZE])
    return f"Use {card_name(state, card)} of pile {pile}: {', '.join(card_texts(state)[card])}."


def tell(state: Any, action: int) -> str:
    """Say what a legal action does in a position.

    Args:
        state: One record of the game.
        action: A legal action of the seat to act.
    """
    if FIRST_STONE <= action < FIRST_PLACE:
        stone = a_stone(action - FIRST_STONE)
        return f"Put {stone} back into the bag." if state.phase == PUT_BACK else f"Take {stone} from the bowl."
    if FIRST_PLACE <= action < FIRST_BONUS:
        kind = next(int(kind) for kind in state.held if kind >= 0)
        return f"Put the {stone_name(kind)} stone {_PLACES[action - FIRST_PLACE]}."
    if FIRST_PILE <= action < STOP:
        return _tell_pile(state, action - FIRST_PILE)
    return ACTIONS[action].sentence


def _filled(state: Any, seat: int, animal: int) -> str:
    """Say what of an animal is filled."""
    counts = state.count[seat]
    if animal == OWL:
        return f"{int((counts[:OWL_PAIRS] == SET_SIZES[:OWL_PAIRS]).sum())} of {OWL_PAIRS} pairs"
    if animal == BEAVER:
        parts = [name for spaces, name in ((TRIO, "trio"), (PAIR, "pair")) if counts[spaces] == SET_SIZES[spaces]]
        return " and ".join(parts) or "neither trio nor pair"
    if animal in (RABBIT, SALMON):
        row = (RABBIT, SALMON).index(animal)
        return f"{int(state.row[seat, row].sum())} of {ROW_SIZES[row]} stones"
    return f"{int(counts[SHELL])} of {SET_SIZES[SHELL]} stones"


def explain(state: Any, points: np.ndarray) -> list[str]:
    """Say for each animal why the seats get their points, as they would be counted now.

    Args:
        state: One record of the game.
        points: Each seat's points for each animal, shape `(players, animals)`.
    """
    texts = []
    for animal, name in enumerate(ANIMALS):
        said = []
        for seat in range(int(state.players)):
            doubled = ", doubled by a Spirit Stone" if state.bonus[seat, animal] else ""
            said.append(f"seat {seat} has {_filled(state, seat, animal)}{doubled}: {points[seat, animal]}")
        texts.append(f"{name}: {'; '.join(said)}.")
    return texts
