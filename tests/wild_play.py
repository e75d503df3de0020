"""What several tests of Spirits of the Wild share: drawn positions, play by names of actions, and random games."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numba import config

from spirits_env.game import stream
from spirits_env.games.wild import GAME, rules
from spirits_env.games.wild.actions import ACTIONS
from spirits_env.games.wild.powers import POWERS
from spirits_env.games.wild.state import PHASES, STATE
from spirits_env.state import State

UNCOMPILED = bool(getattr(config, "DISABLE_JIT", False))

# A letter for each kind of stone, as in the drawings below.
LETTERS = "btowpys"
KIND_NAMES = ("blue", "teal", "orange", "white", "purple", "yellow", "spirit_stone")
ANIMAL_NAMES = ("owl", "rabbit", "beaver", "salmon", "turtle")
CARD_NAMES = ("take_one", "take_two", "add_two", "add_three", "recover")
# The sizes of each animal's groups of spaces, and where the record keeps them.
SPACES = {"owl": (2, 2, 2), "rabbit": (3,), "beaver": (3, 2), "salmon": (6,), "turtle": (5,)}
SETS = {"owl": (0, 1, 2), "beaver": (3, 4), "turtle": (5,)}
ROWS = {"rabbit": 0, "salmon": 1}

# Cards of one step each, and cards that return stones often: what the house powers seldom or never do.
SINGLE_STEPS = [["ADD 1"], ["TAKE 2"], ["TAKE 3 same"], ["TAKE 3 different"], ["COYOTE"], ["RETURN 2"]]
RETURNING = [
    ["RETURN 2", "ADD 4", "TAKE 1"],
    ["TAKE 2", "RETURN all"],
    ["RETURN all", "ADD 9", "TAKE 6 different"],
    ["RETURN 9", "COYOTE", "ADD 2"],
    ["TAKE 6 same", "RETURN 1", "ADD 1"],
    ["ADD 9", "TAKE 6", "RETURN 3", "COYOTE", "ADD 5", "TAKE 2 different"],
]
POWER_SETS: dict[str, Any] = {"house": "house", "none": "none", "single": SINGLE_STEPS, "returning": RETURNING}


def games_to_play(number: int, uncompiled: int = 2) -> int:
    """The number of games a test plays: few where the rules run uncompiled, some hundred times slower."""
    return min(number, uncompiled) if UNCOMPILED else number


def too_far(counts: Iterable[float], expected: Iterable[float]) -> bool:
    """A loose chi-square test: eight standard deviations are no accident."""
    pairs = list(zip(counts, expected, strict=True))
    freedom = max(1, len(pairs) - 1)
    distance = sum((count - wanted) ** 2 / wanted for count, wanted in pairs)
    return distance > freedom + 8 * math.sqrt(2 * freedom)


def same_game(one: State, other: State) -> bool:
    """Tell whether two games are equal but for the generator that their next deals come from."""
    records = [state.record.copy() for state in (one, other)]
    for record in records:
        record["rng"] = 0
    return records[0].tobytes() == records[1].tobytes() and one.history == other.history


# --- drawn positions --------------------------------------------------------------------------------------


def position(
    drawing: str = "",
    *,
    bowl: str | None = "",
    draws: str = "",
    bag: str | None = None,
    down: Sequence[str] = ("", ""),
    seat: int = 0,
    turn: int = 10,
    powers: Any = "none",
    piles: Sequence[Sequence[int]] = ((0, 1, 2), (3, 4, 5)),
    reward: str = "win",
) -> Any:
    """Turn a drawing into a record in which a seat chooses a card.

    A line is an animal, on seat 0's board left of a bar and on seat 1's right of it: its name, its stones by letter
    in groups, a dot for a free space, `*` for a Spirit Stone on the bonus space, `C` for Coyote. What is not drawn is
    free. An owl's and a beaver's groups are their pairs, and the trio with the pair.

    Args:
        drawing: The boards.
        bowl: Stones in the bowl, None for all that are neither on the boards nor in the bag.
        draws: The stones that come out of the bag first; all others of the box follow, Spirit Stones last.
        bag: All stones in the bag instead; then the box may be short of stones.
        down: Each seat's cards face down, by name.
        seat: The seat to act.
        turn: Turns finished.
        powers: The option.
        piles: The cards of each pile from the top.
        reward: The option.
    """
    record = np.zeros(1, STATE)[0]
    record["players"], record["reward"] = 2, ("win", "margin").index(reward)
    POWERS.store(record, POWERS.check(powers))
    record["rng"], record["chance"], record["first_chance"] = stream(5), stream(6), stream(6)
    record["seat"], record["turn"], record["phase"] = seat, turn, PHASES.index("card")
    for name in ("card", "power", "pile", "coyote", "held", "bag", "first_bag", "colour"):
        record[name] = -1
    record["piles"], record["seen"] = piles, 1
    for owner, names in enumerate(down):
        for name in names.split():
            record["down"][owner, CARD_NAMES.index(name)] += 1
    for line in drawing.strip().splitlines():
        for owner, half in enumerate(line.split("|")):
            if half.split():
                draw_animal(record, owner, *half.split())
    fill_bowl_and_bag(record, bowl, draws, bag)
    return record


def draw_animal(record: Any, seat: int, name: str, *marks: str) -> None:
    """Lay the stones of one animal."""
    index = ANIMAL_NAMES.index(name)
    groups = [mark for mark in marks if mark not in ("*", "C")]
    if "*" in marks:
        record["bonus"][seat, index] = 1
    if "C" in marks:
        record["coyote"] = 5 * seat + index
    for group, size in zip(groups, SPACES[name], strict=False):
        assert len(group) == size, f"{name} has groups of {SPACES[name]}, not {group}"
    for number, group in enumerate(groups):
        kinds = [LETTERS.index(letter) for letter in group if letter != "."]
        if name in ROWS:
            assert len(kinds) == len(set(kinds)), f"{name} takes different colours, not {group}"
            record["row"][seat, ROWS[name], kinds] = 1
        elif kinds:
            assert len(set(kinds)) == 1, f"a set of the {name} has one colour, not {group}"
            record["colour"][seat, SETS[name][number]] = kinds[0]
            record["count"][seat, SETS[name][number]] = len(kinds)


def fill_bowl_and_bag(record: Any, bowl: str | None, draws: str, bag: str | None) -> None:
    """Share the stones that are not on the boards out to bowl and bag."""
    left = [8 - number for number in stones_on_boards(record)]
    if bag is None:
        assert bowl is not None, "give the bowl or the bag"
        rest = "".join(letter * (left[kind] - (bowl + draws).count(letter)) for kind, letter in enumerate(LETTERS))
        bag = draws + rest
    elif bowl is None:
        bowl = "".join(letter * (left[kind] - bag.count(letter)) for kind, letter in enumerate(LETTERS))
    for kind, letter in enumerate(LETTERS):
        record["bowl"][kind], record["in_bag"][kind] = bowl.count(letter), bag.count(letter)
        assert bowl.count(letter) + bag.count(letter) <= left[kind], f"more than eight stones {letter}"
    record["bag_size"] = len(bag)
    record["bag"][: len(bag)] = [LETTERS.index(letter) for letter in reversed(bag)]


def stones_on_boards(record: Any) -> list[int]:
    """How many stones of each kind lie on the boards."""
    counts = [
        int(record["row"][:, :, kind].sum() + record["count"][record["colour"] == kind].sum()) for kind in range(6)
    ]
    return [*counts, int(record["bonus"].sum())]


# --- what a record shows ----------------------------------------------------------------------------------


def animal(record: Any, seat: int, name: str) -> str:
    """Draw an animal's stones as `position` reads them, a row's in the order of the letters."""
    if name in ROWS:
        stones = "".join(LETTERS[kind] for kind in np.flatnonzero(record["row"][seat, ROWS[name]]))
        groups = [stones.ljust(SPACES[name][0], ".")]
    else:
        groups = []
        for spaces, size in zip(SETS[name], SPACES[name], strict=True):
            count = int(record["count"][seat, spaces])
            letter = LETTERS[record["colour"][seat, spaces]] if count else "."
            groups.append((letter * count).ljust(size, "."))
    index = ANIMAL_NAMES.index(name)
    marks = ["*"] * int(record["bonus"][seat, index]) + ["C"] * int(record["coyote"] == 5 * seat + index)
    return " ".join(groups + marks)


def in_bowl(record: Any) -> str:
    """The stones in the bowl by letter."""
    return "".join(letter * int(record["bowl"][kind]) for kind, letter in enumerate(LETTERS))


def in_bag(record: Any) -> str:
    """The stones in the bag by letter, in the order in which they are drawn."""
    return "".join(LETTERS[kind] for kind in record["bag"][: record["bag_size"]][::-1])


def cards_down(record: Any, seat: int) -> list[str]:
    """Names of a seat's cards that are face down."""
    return [name for card, name in enumerate(CARD_NAMES) for _ in range(int(record["down"][seat, card]))]


def phase(record: Any) -> str:
    return PHASES[int(record["phase"])]


def asked(record: Any) -> tuple[int, str]:
    """The seat to act and the phase."""
    return int(record["seat"]), phase(record)


def points(record: Any) -> list[int]:
    found = np.zeros(2, np.int16)
    rules.scores(record, found)
    return [int(value) for value in found]


def breakdown(record: Any, seat: int) -> dict[str, int]:
    """A seat's points for each animal."""
    found = np.full(len(GAME.categories), -1000, np.int16)
    rules.breakdown(record, seat, found)
    return dict(zip(GAME.categories, found.tolist(), strict=True))


def outcome(record: Any) -> tuple[list[int], list[float]]:
    """Who wins, and each seat's utility."""
    found, won, utility = np.zeros(2, np.int16), np.full(2, 7, np.int8), np.full(2, 7.0)
    rules.scores(record, found)
    rules.winners(record, found, won)
    rules.returns(record, found, won, utility)
    return [seat for seat in range(2) if won[seat]], [float(value) for value in utility]


# --- play -------------------------------------------------------------------------------------------------


def action_id(name: str) -> int:
    return next(action.id for action in ACTIONS if action.name == name)


def legal(record: Any) -> list[str]:
    """Names of the legal actions, in the order of the table."""
    mask = np.full(len(ACTIONS), 7, np.int8)
    rules.legal(record, mask)
    assert set(mask.tolist()) <= {0, 1}
    return [action.name for action in ACTIONS if mask[action.id]]


def play(record: Any, *names: str) -> Any:
    """Play decisions by name, each of which must be legal; by the rules, in place."""
    for name in names:
        assert name in legal(record), f"{name} is not among {legal(record)}"
        rules.play(record, action_id(name))
    return record


def lively_action(state: State, rng: random.Random) -> int:
    """Choose at random, with a taste for Spirit Powers, for long games and for returning stones."""
    choices = state.legal_actions()
    if 4 in choices and rng.random() < 0.5:
        return 4
    if state.phase == "return" and rng.random() < 0.7:
        choices = [action for action in choices if action != action_id("stop")]
    if state.phase == "stone" and len(choices) > 1 and rng.random() < 0.5:
        choices = [action for action in choices if action != action_id("stone_spirit_stone")]
    return rng.choice(choices)


def walk(seed: int, powers: Any = "house", **arguments: Any) -> Iterator[State]:
    """Play a lively game and show the same state at every decision and at the end."""
    rng = random.Random(seed)
    state = State("wild", seed=seed, powers=powers, **arguments)
    yield state
    while state.seat >= 0:
        state.play(lively_action(state, rng))
        yield state


def snapshots(seed: int, powers: Any = "house", **arguments: Any) -> list[State]:
    """A copy of a lively game at every decision and at the end."""
    return [state.copy() for state in walk(seed, powers, **arguments)]


def played(seed: int, powers: Any = "house", **arguments: Any) -> State:
    """A finished game."""
    *_, state = walk(seed, powers, **arguments)
    return state


def edited(state: State, **fields: Any) -> State:
    """Copy a state with some fields of its record changed; the copy's mask and observation follow."""
    raw = state.copy()
    for name, value in fields.items():
        raw.record[name] = value
    return raw.copy()
