"""A set-up as JSON: checked against the components, put into a record, and read back.

Checks come before any change, so a refused set-up leaves the record as it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spirits_env.game import is_whole, shown
from spirits_env.games.wild.components import BAG_AT_FIRST, FIRST_BOWL, KINDS, SPIRIT_STONE, STONES_PER_KIND
from spirits_env.games.wild.powers import NONE, PILE_SIZE, PILES, POWER_CARDS
from spirits_env.games.wild.rules import begin


def fill_setup(state: Any, setup: Any) -> None:
    """Start a record from a set-up instead of a random deal.

    Args:
        state: A record with players and options set.
        setup: `{"bowl": [kind * 4], "bag": [kind * 52], "piles": [[card * 3] * 2], "chance": number}`: kinds by name,
            the bag in the order in which it is drawn, piles from the top (no such key without powers); without
            `"chance"` the state's generator goes on.

    Raises:
        ValueError: If the set-up could not come out of the box; the record is then unchanged.
    """
    powers = int(state["powers"]) != NONE
    _check_keys(setup, ("bowl", "bag", "piles") if powers else ("bowl", "bag"))
    bowl = _kinds(setup["bowl"], "bowl", FIRST_BOWL)
    bag = _kinds(setup["bag"], "bag", BAG_AT_FIRST)
    _check_stones(bowl, bag)
    piles = _check_piles(setup["piles"]) if powers else [list(range(PILE_SIZE)), list(range(PILE_SIZE, POWER_CARDS))]
    chance = _check_chance(setup.get("chance", int(state["rng"])))
    state["rng"] = state["dealt_rng"] = chance
    state["first_bowl"] = sorted(bowl)
    state["first_bag"] = bag[::-1]
    state["piles"] = piles
    begin(state)


def read_setup(state: Any) -> dict[str, Any]:
    """Return the set-up a record was dealt from, in the form `fill_setup` takes.

    Raises:
        ValueError: If it is a re-dealt game in which stones had gone back to the bag: no set-up leads to it.
    """
    if not state["origin"]:
        raise ValueError(
            "This game was re-dealt after stones had gone back to the bag, so no set-up leads to it; "
            "write a record of the game it was re-dealt from."
        )
    setup: dict[str, Any] = {
        "bowl": [KINDS[kind] for kind in state["first_bowl"]],
        "bag": [KINDS[kind] for kind in state["first_bag"][::-1]],
    }
    if int(state["powers"]) != NONE:
        setup["piles"] = [[int(card) for card in pile] for pile in state["piles"]]
    return setup | {"chance": int(state["dealt_rng"])}


def _check_keys(setup: Any, keys: tuple[str, ...]) -> None:
    """Demand a mapping with exactly these keys, and perhaps "chance"."""
    if not isinstance(setup, Mapping):
        raise ValueError(f"The setup was a {type(setup).__name__}; give a dict with the keys {', '.join(keys)}.")
    if set(setup) - {"chance"} != set(keys):
        given = ", ".join(repr(key) for key in setup) or "none"
        raise ValueError(f'The setup has the keys {given}; it needs exactly {", ".join(keys)}, and may have "chance".')


def _sequence(value: Any, what: str, length: int) -> Sequence[Any]:
    """Demand a list of a given length."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence) or len(value) != length:
        size = f"{len(value)} entries" if isinstance(value, Sequence) else f"a {type(value).__name__}"
        raise ValueError(f"The setup's {what} has {size}; it needs a list of {length}.")
    return value


def _kinds(names: Any, what: str, length: int) -> list[int]:
    """Turn names of kinds into their numbers."""
    for name in _sequence(names, what, length):
        if not isinstance(name, str) or name not in KINDS:
            raise ValueError(f"The setup's {what} has the stone {shown(name)}; stones are {', '.join(KINDS)}.")
    return [KINDS.index(name) for name in names]


def _check_stones(bowl: list[int], bag: list[int]) -> None:
    """Demand that bowl and bag together are the stones of the box, with no Spirit Stone in the bowl."""
    if SPIRIT_STONE in bowl:
        raise ValueError("The setup has a Spirit Stone in the bowl; a game starts with four ordinary stones there.")
    for kind, name in enumerate(KINDS):
        count = bowl.count(kind) + bag.count(kind)
        if count != STONES_PER_KIND:
            raise ValueError(f"The setup has {count} stones {name!r}; the box holds {STONES_PER_KIND} of each kind.")


def _check_piles(piles: Any) -> list[list[int]]:
    """Demand two piles with each card once."""
    found = [list(_sequence(pile, "pile", PILE_SIZE)) for pile in _sequence(piles, "piles", PILES)]
    cards = [card for pile in found for card in pile]
    if not all(is_whole(card) for card in cards) or sorted(cards) != list(range(POWER_CARDS)):
        raise ValueError(
            f"The setup's piles are {shown(found)}; give {PILES} lists of {PILE_SIZE} that hold each card "
            f"from 0 to {POWER_CARDS - 1} once."
        )
    return found


def _check_chance(chance: Any) -> int:
    """Demand a number that a generator can have; 0 stands for one that was never seeded."""
    if not is_whole(chance) or not 0 <= chance < 1 << 64:
        raise ValueError(f"The setup's chance was {shown(chance)}; give a whole number from 1 to {(1 << 64) - 1}.")
    return int(chance)
