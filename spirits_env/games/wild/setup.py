"""A set-up as JSON: checked against the components, put into a record, and read back.

Checks come before any change, so a refused set-up leaves the record as it was.
"""

from __future__ import annotations

from typing import Any

from spirits_env.game import check_keys, check_list, is_whole, shown, stream
from spirits_env.games.wild.components import BAG_AT_FIRST, FIRST_BOWL, KINDS, SPIRIT_STONE, STONES_PER_KIND
from spirits_env.games.wild.powers import NONE, PILE_SIZE, PILES, POWER_CARDS


def fill_setup(state: Any, setup: Any) -> None:
    """Put a set-up into a record instead of a random deal.

    Args:
        state: A record with players and options set.
        setup: `{"bowl": [kind * 4], "bag": [kind * 52], "piles": [[card * 3] * 2], "chance": number}`: kinds by name,
            the bag in the order in which it is drawn, piles from the top (no such key without powers); without
            `"chance"` it follows from the state's generator.

    Raises:
        ValueError: If the set-up could not come out of the box; the record is then unchanged.
    """
    powers = int(state["powers"]) != NONE
    check_keys(setup, "setup", ("bowl", "bag", "piles") if powers else ("bowl", "bag"), ("chance",))
    bowl = _kinds(setup["bowl"], "bowl", FIRST_BOWL)
    bag = _kinds(setup["bag"], "bag", BAG_AT_FIRST)
    _check_stones(bowl, bag)
    piles = _check_piles(setup["piles"]) if powers else [list(range(PILE_SIZE)), list(range(PILE_SIZE, POWER_CARDS))]
    chance = _check_chance(setup["chance"]) if "chance" in setup else stream(int(state["rng"]))
    state["first_chance"] = chance
    state["first_bowl"] = sorted(bowl)
    state["first_bag"] = bag[::-1]
    state["piles"] = piles


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
    return setup | {"chance": int(state["first_chance"])}


def _kinds(names: Any, what: str, length: int) -> list[int]:
    """Turn names of kinds into their numbers."""
    for name in check_list(names, f"setup's {what}", length):
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
    found = [list(check_list(pile, "setup's pile", PILE_SIZE)) for pile in check_list(piles, "setup's piles", PILES)]
    cards = [card for pile in found for card in pile]
    if not all(is_whole(card) for card in cards) or sorted(cards) != list(range(POWER_CARDS)):
        raise ValueError(
            f"The setup's piles are {shown(found)}; give {PILES} lists of {PILE_SIZE} that hold each card "
            f"from 0 to {POWER_CARDS - 1} once."
        )
    return found


def _check_chance(chance: Any) -> int:
    """Demand a number that a generator can have."""
    if not is_whole(chance) or not 0 < chance < 1 << 64:
        raise ValueError(f"The setup's chance was {shown(chance)}; give a whole number from 1 to {(1 << 64) - 1}.")
    return int(chance)
