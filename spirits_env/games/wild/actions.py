"""The action table: id <-> name <-> sentence.

One flat table serves all phases; each id means the same in every phase but for stones, which are taken or returned.
"""

from __future__ import annotations

from spirits_env.game import Action
from spirits_env.games.wild.components import (
    ANIMALS,
    BEAVER,
    CARD_TITLES,
    CARDS,
    KINDS,
    OWL,
    RABBIT,
    SALMON,
    SPIRIT_STONE,
    TURTLE,
)
from spirits_env.games.wild.powers import PILES

PLACES = ("owl_new", "owl_started", "rabbit", "beaver_trio", "beaver_pair", "salmon", "turtle")
OWL_NEW, OWL_STARTED, ON_RABBIT, ON_TRIO, ON_PAIR, ON_SALMON, ON_TURTLE = range(7)
# The animal that each place belongs to.
PLACE_ANIMALS = (OWL, OWL, RABBIT, BEAVER, BEAVER, SALMON, TURTLE)

FIRST_CARD = 0
FIRST_STONE = FIRST_CARD + len(CARDS)
FIRST_PLACE = FIRST_STONE + len(KINDS)
FIRST_BONUS = FIRST_PLACE + len(PLACES)
FIRST_COYOTE = FIRST_BONUS + len(ANIMALS)
LEAVE = FIRST_COYOTE + len(ANIMALS)
FIRST_PILE = LEAVE + 1
STOP = FIRST_PILE + PILES

_PLACE_TEXTS = (
    "Start a new pair of the owl with the stone.",
    "Complete a pair of the owl with the stone.",
    "Give the stone to the rabbit.",
    "Add the stone to the beaver's trio.",
    "Add the stone to the beaver's pair.",
    "Give the stone to the salmon.",
    "Give the stone to the turtle.",
)


def a_stone(kind: int) -> str:
    """Name one stone of a kind for people."""
    if kind == SPIRIT_STONE:
        return "a Spirit Stone"
    return f"{'an' if KINDS[kind][0] in 'aeiou' else 'a'} {KINDS[kind]} stone"


def _table() -> tuple[Action, ...]:
    """Build the table in id order."""
    rows = [(f"play_{name}", f"Use the card {title}.") for name, title in zip(CARDS, CARD_TITLES, strict=True)]
    rows += [
        (f"stone_{name}", f"Choose {a_stone(kind)} in the bowl, to take or (return) to put back.")
        for kind, name in enumerate(KINDS)
    ]
    rows += [(f"place_{name}", text) for name, text in zip(PLACES, _PLACE_TEXTS, strict=True)]
    rows += [(f"bonus_{animal}", f"Put the Spirit Stone on the {animal}'s bonus space.") for animal in ANIMALS]
    rows += [(f"coyote_{animal}", f"Move Coyote to the opponent's {animal}.") for animal in ANIMALS]
    rows.append(("leave_coyote", "Leave Coyote where he is."))
    rows += [(f"pile_{pile}", f"Use the Spirit Power on top of pile {pile}.") for pile in range(PILES)]
    rows.append(("stop", "Return no more stones to the bag."))
    return tuple(Action(i, name, sentence) for i, (name, sentence) in enumerate(rows))


ACTIONS = _table()
