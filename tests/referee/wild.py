"""Slow, plain referee of the game Spirits of the Wild, for two players.

It judges the fast rules, so it is written from the rule book and the game's page alone and shares no code with them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

COLOURS = ("blue", "teal", "orange", "white", "purple", "yellow")
SPIRIT_STONE = "spirit_stone"
KINDS = (*COLOURS, SPIRIT_STONE)
STONES_OF_A_KIND = 8
FIRST_BOWL = 4

ANIMALS = ("owl", "rabbit", "beaver", "salmon", "turtle")
# Where a stone of a colour can be put, and whose space that is.
ANIMAL_OF_PLACE = {
    "owl_new": "owl",
    "owl_started": "owl",
    "rabbit": "rabbit",
    "beaver_trio": "beaver",
    "beaver_pair": "beaver",
    "salmon": "salmon",
    "turtle": "turtle",
}
RABBIT_SPACES = 3
TRIO_SPACES = 3
PAIR_SPACES = 2
SALMON_SPACES = 6
TURTLE_SPACES = 5

OWL_PAIR_POINTS = 3
RABBIT_POINTS = 6
TRIO_POINTS = 5
PAIR_POINTS = 2
BOTH_POINTS = 7
SALMON_POINTS = (0, 1, 2, 4, 6, 9, 13)
TURTLE_POINTS = (0, 1, 3, 6, 9, 14)

# The basic cards, as steps; how many of each a player has; how many stones must lie in the bowl for it.
STEPS_OF_CARD = {
    "take_one": ("TAKE 1 any",),
    "take_two": ("TAKE 2 any",),
    "add_two": ("ADD 2", "TAKE 1 any"),
    "add_three": ("ADD 3", "COYOTE"),
}
COPIES = {"take_one": 2, "take_two": 1, "add_two": 1, "add_three": 1}
NEEDED_IN_BOWL = {"take_one": 1, "take_two": 2, "add_two": 0, "add_three": 0}
DOWN_FOR_RECOVER = 3

# The house powers, R1 to R6.
HOUSE = (
    ("TAKE 2 any", "ADD 3"),
    ("ADD 4", "TAKE 2 any"),
    ("TAKE 3 same", "ADD 3"),
    ("TAKE 3 different", "ADD 3"),
    ("COYOTE", "TAKE 2 any", "ADD 2"),
    ("RETURN all", "ADD 5", "TAKE 1 any"),
)
PILE_SIZE = 3

SPIRIT_STONES_AT_END = 5
PASSES_AT_END = 2
LAST_TURN = 120

ACTIONS = (
    "play_take_one",
    "play_take_two",
    "play_add_two",
    "play_add_three",
    "play_recover",
    *(f"stone_{kind}" for kind in KINDS),
    *(f"place_{place}" for place in ANIMAL_OF_PLACE),
    *(f"bonus_{animal}" for animal in ANIMALS),
    *(f"coyote_{animal}" for animal in ANIMALS),
    "leave_coyote",
    "pile_0",
    "pile_1",
    "stop",
)

Powers = str | Sequence[Sequence[str]]
Decisions = Generator[None, str, None]
Answer = Generator[None, str, str]


def random_setup(rng: random.Random, powers: Powers = "house") -> dict[str, Any]:
    """Shuffles the stones and the Spirit Powers and fills the bowl.

    Args:
        rng: Source of chance.
        powers: "house", "none" or six cards, each a list of steps.

    Returns:
        A set-up in the form of a game record.
    """
    bag = [kind for kind in KINDS for _ in range(STONES_OF_A_KIND)]
    rng.shuffle(bag)
    bowl: list[str] = []
    while len(bowl) < FIRST_BOWL:
        drawn = bag.pop(0)
        if drawn == SPIRIT_STONE:
            bag.append(drawn)
            rng.shuffle(bag)
        else:
            bowl.append(drawn)
    setup: dict[str, Any] = {"bowl": bowl, "bag": bag}
    if powers != "none":
        cards = list(range(2 * PILE_SIZE))
        rng.shuffle(cards)
        setup["piles"] = [cards[:PILE_SIZE], cards[PILE_SIZE:]]
    return setup


@dataclass
class Board:
    """The five animals of one player and the stones given to them.

    Attributes:
        owl: The colours on each of its three pairs.
        rabbit: The colours on it.
        beaver_trio: The colours on the beaver's trio.
        beaver_pair: The colours on the beaver's pair.
        salmon: The colours on it.
        turtle: The colours on it.
        spirit_stones: The animals with a Spirit Stone on their bonus space.
    """

    owl: list[list[str]] = field(default_factory=lambda: [[], [], []])
    rabbit: list[str] = field(default_factory=list)
    beaver_trio: list[str] = field(default_factory=list)
    beaver_pair: list[str] = field(default_factory=list)
    salmon: list[str] = field(default_factory=list)
    turtle: list[str] = field(default_factory=list)
    spirit_stones: list[str] = field(default_factory=list)

    def fits(self, stone: str, blocked: str | None) -> list[str]:
        """Returns the names of the actions that place a stone.

        Args:
            stone: Its kind.
            blocked: The animal that Coyote is on, None for none.
        """
        barred = [*self.spirit_stones, blocked]
        if stone == SPIRIT_STONE:
            return [f"bonus_{animal}" for animal in ANIMALS if animal not in barred]
        return [
            f"place_{place}"
            for place, has_space in self._spaces_for(stone).items()
            if has_space and ANIMAL_OF_PLACE[place] not in barred
        ]

    def _spaces_for(self, colour: str) -> dict[str, bool]:
        return {
            "owl_new": [] in self.owl,
            "owl_started": [colour] in self.owl,
            "rabbit": _takes_different(self.rabbit, RABBIT_SPACES, colour),
            "beaver_trio": _takes_same(self.beaver_trio, TRIO_SPACES, colour),
            "beaver_pair": _takes_same(self.beaver_pair, PAIR_SPACES, colour),
            "salmon": _takes_different(self.salmon, SALMON_SPACES, colour),
            "turtle": _takes_same(self.turtle, TURTLE_SPACES, colour),
        }

    def put(self, stone: str, action: str) -> None:
        """Places a stone by an action of `fits`."""
        if stone == SPIRIT_STONE:
            self.spirit_stones.append(action.removeprefix("bonus_"))
        else:
            self._spaces(stone, action.removeprefix("place_")).append(stone)

    def _spaces(self, colour: str, place: str) -> list[str]:
        spaces = {
            "owl_new": next((pair for pair in self.owl if pair == []), []),
            "owl_started": next((pair for pair in self.owl if pair == [colour]), []),
            "rabbit": self.rabbit,
            "beaver_trio": self.beaver_trio,
            "beaver_pair": self.beaver_pair,
            "salmon": self.salmon,
            "turtle": self.turtle,
        }
        return spaces[place]

    def stones(self, animal: str) -> list[str]:
        """Returns the colours given to an animal."""
        given = {
            "owl": [stone for pair in self.owl for stone in pair],
            "rabbit": self.rabbit,
            "beaver": self.beaver_trio + self.beaver_pair,
            "salmon": self.salmon,
            "turtle": self.turtle,
        }
        return given[animal]

    def points_by_animal(self) -> dict[str, int]:
        """Returns the points of each animal, doubled under a Spirit Stone."""
        trio = len(self.beaver_trio) == TRIO_SPACES
        pair = len(self.beaver_pair) == PAIR_SPACES
        points = {
            "owl": OWL_PAIR_POINTS * sum(len(pair) == PAIR_SPACES for pair in self.owl),
            "rabbit": RABBIT_POINTS if len(self.rabbit) == RABBIT_SPACES else 0,
            "beaver": TRIO_POINTS * trio + PAIR_POINTS * pair + BOTH_POINTS * (trio and pair),
            "salmon": SALMON_POINTS[len(self.salmon)],
            "turtle": TURTLE_POINTS[len(self.turtle)],
        }
        return {animal: points[animal] * (2 if animal in self.spirit_stones else 1) for animal in ANIMALS}

    def points(self) -> int:
        """Returns the points of all animals."""
        return sum(self.points_by_animal().values())


def _takes_different(stones: list[str], spaces: int, colour: str) -> bool:
    return len(stones) < spaces and colour not in stones


def _takes_same(stones: list[str], spaces: int, colour: str) -> bool:
    return len(stones) < spaces and stones == [colour] * len(stones)


def _left_as_it_is(bag: list[str]) -> list[str]:
    return bag


class Referee:
    """One game, played decision by decision.

    Attributes:
        phase: "card", "pile", "stone", "place", "coyote", "return" or "end".
        seat: Seat to act, -1 at the end.
        turn: Number of turns finished.
        passes: Passes in a row.
        bag: Kinds of the stones in the bag, the next to be drawn first.
        bowl: Kinds of the stones in the bowl.
        held: Kinds of the stones chosen and not yet dealt with, the next one first.
        boards: The board of each player.
        down: Names of each player's cards that are face down, one for each copy.
        coyote: The seat on whose board Coyote stands and the animal he is on, None beside the table.
        cards: The steps of the six Spirit Powers; none of them without powers.
        piles: Numbers of the Spirit Powers in both piles, from the top; empty without powers.
    """

    def __init__(
        self,
        setup: dict[str, Any],
        powers: Powers = "house",
        shake: Callable[[list[str]], list[str]] = _left_as_it_is,
    ) -> None:
        """Sets up a game.

        Args:
            setup: Bowl, bag and piles as in a game record; components are not checked.
            powers: "house", "none" or six cards, each a list of steps.
            shake: Given the bag after stones went back into it, returns its new order.
        """
        self.bag: list[str] = list(setup["bag"])
        self.bowl: list[str] = list(setup["bowl"])
        self.held: list[str] = []
        self.boards = [Board(), Board()]
        self.down: list[list[str]] = [["take_two"], []]
        self.coyote: tuple[int, str] | None = None
        self.piles: list[list[int]] = [list(pile) for pile in setup.get("piles", [])]
        self.cards = {"none": (), "house": HOUSE}[powers] if isinstance(powers, str) else powers
        self.phase = "card"
        self.seat = 0
        self.turn = 0
        self.passes = 0
        self._shake = shake
        self._allowed: Callable[[], list[str]] = list
        self._decisions = self._game()
        self._go_on(None)

    # Decisions

    def legal(self) -> list[int]:
        """Returns the sorted action ids of the seat to act; empty only at the end."""
        return sorted(ACTIONS.index(name) for name in self._allowed())

    def play(self, action: int) -> None:
        """Plays one decision, then whatever the rules resolve without asking.

        Args:
            action: Action id.

        Raises:
            ValueError: If the action is not legal; nothing has changed then.
        """
        if action not in self.legal():
            raise ValueError(f"action {action} is not legal in phase {self.phase}")
        self._go_on(ACTIONS[action])

    def _go_on(self, answer: str | None) -> None:
        """Runs the game up to the next decision or to the end."""
        try:
            if answer is None:
                next(self._decisions)
            else:
                self._decisions.send(answer)
        except StopIteration:
            self._allowed = list
            self.phase = "end"
            self.seat = -1

    def _ask(self, phase: str, allowed: Callable[[], list[str]]) -> Answer:
        """Waits for the player's answer; where there is only one, takes it without asking."""
        self.phase = phase
        self._allowed = allowed
        names = allowed()
        return names[0] if len(names) == 1 else (yield)

    # The game and its turns

    def _game(self) -> Decisions:
        yield from self._take_turn()
        self.turn += 1
        while not self._is_over():
            self.seat = self._opponent()
            yield from self._take_turn()
            self.turn += 1

    def _opponent(self) -> int:
        return 1 - self.seat

    def _is_over(self) -> bool:
        return (
            self.spirit_stones_out() >= SPIRIT_STONES_AT_END or self.passes == PASSES_AT_END or self.turn == LAST_TURN
        )

    def spirit_stones_out(self) -> int:
        """Returns how many Spirit Stones are outside the bag."""
        return STONES_OF_A_KIND - self.bag.count(SPIRIT_STONE)

    def _take_turn(self) -> Decisions:
        if not self._usable_cards():
            self._pass()
            return
        action = yield from self._ask("card", self._usable_cards)
        self.passes = 0
        card = action.removeprefix("play_")
        if card == "recover":
            yield from self._recover()
        else:
            yield from self._carry_out(STEPS_OF_CARD[card])
            self.down[self.seat].append(card)
            if card == "take_one" and self.down[self.seat].count(card) == COPIES[card]:
                yield from self._move_coyote("backs")

    def _pass(self) -> None:
        self.passes += 1

    def _usable_cards(self) -> list[str]:
        down = self.down[self.seat]
        usable = [
            f"play_{card}"
            for card, copies in COPIES.items()
            if down.count(card) < copies and len(self.bowl) >= NEEDED_IN_BOWL[card]
        ]
        return [*usable, "play_recover"] if len(down) >= DOWN_FOR_RECOVER else usable

    def _recover(self) -> Decisions:
        if self.piles:
            choice = yield from self._ask("pile", lambda: ["pile_0", "pile_1"])
            pile = self.piles[int(choice.removeprefix("pile_"))]
            yield from self._use_power(pile[0])
            pile.append(pile.pop(0))
        self.down[self.seat] = []

    def _use_power(self, card: int) -> Decisions:
        yield from self._carry_out(self.cards[card])

    # Steps of cards

    def _carry_out(self, steps: Sequence[str]) -> Decisions:
        for step in steps:
            words = step.split()
            if words[0] == "ADD":
                self._add(int(words[1]))
            elif words[0] == "TAKE":
                yield from self._take(int(words[1]), words[2] if len(words) == 3 else "any")
            elif words[0] == "COYOTE":
                yield from self._move_coyote("step")
            elif words[1] == "all":
                self._return_all()
            else:
                yield from self._return_chosen(int(words[1]))

    def _add(self, number: int) -> None:
        self.bowl += self.bag[:number]
        self.bag = self.bag[number:]

    def _take(self, number: int, which: str) -> Decisions:
        choose = {"any": self._choose_any, "same": self._choose_same, "different": self._choose_different}
        yield from choose[which](number)
        while self.held:
            yield from self._place(self.held[0])
            self.held.pop(0)

    def _choose_any(self, number: int) -> Decisions:
        for _ in range(min(number, len(self.bowl))):
            kind = yield from self._ask_stone("stone", lambda: self.bowl)
            self._hold(kind, 1)

    def _choose_same(self, number: int) -> Decisions:
        if self.bowl:
            kind = yield from self._ask_stone("stone", lambda: self.bowl)
            self._hold(kind, min(number, self.bowl.count(kind)))

    def _choose_different(self, number: int) -> Decisions:
        for _ in range(min(number, len(set(self.bowl)))):
            kind = yield from self._ask_stone("stone", lambda: [stone for stone in self.bowl if stone not in self.held])
            self._hold(kind, 1)

    def _hold(self, kind: str, number: int) -> None:
        for _ in range(number):
            self.bowl.remove(kind)
            self.held.append(kind)

    def _ask_stone(self, phase: str, stones: Callable[[], list[str]], *others: str) -> Answer:
        """Asks for one of the kinds among some stones."""
        answer = yield from self._ask(
            phase, lambda: [*(f"stone_{kind}" for kind in KINDS if kind in stones()), *others]
        )
        return answer.removeprefix("stone_")

    def _place(self, stone: str) -> Decisions:
        if self._fits(stone):
            action = yield from self._ask("place", lambda: self._fits(stone))
            self._put(stone, action)
        else:
            self._give_back(stone)

    def _fits(self, stone: str) -> list[str]:
        return self.boards[self.seat].fits(stone, self._animal_with_coyote(self.seat))

    def _put(self, stone: str, action: str) -> None:
        self.boards[self.seat].put(stone, action)

    def _give_back(self, stone: str) -> None:
        self.bowl.append(stone)

    def _animal_with_coyote(self, seat: int) -> str | None:
        return self.coyote[1] if self.coyote is not None and self.coyote[0] == seat else None

    def _move_coyote(self, reason: str) -> Decisions:
        """Asks where Coyote goes, for the "backs" of the cards or a "step" of a card."""
        action = yield from self._ask("coyote", self._coyote_targets)
        if action != "leave_coyote":
            self.coyote = (self._opponent(), action.removeprefix("coyote_"))

    def _coyote_targets(self) -> list[str]:
        already = self._animal_with_coyote(self._opponent())
        return [*(f"coyote_{animal}" for animal in ANIMALS if animal != already), "leave_coyote"]

    def _return_all(self) -> None:
        if self.bowl:
            self.bag += self.bowl
            self.bowl = []
            self.bag = self._shake(self.bag)

    def _return_chosen(self, number: int) -> Decisions:
        returned = 0
        for _ in range(min(number, len(self.bowl))):
            kind = yield from self._ask_stone("return", lambda: self.bowl, "stop")
            if kind == "stop":
                break
            self.bowl.remove(kind)
            self.bag.append(kind)
            returned += 1
        if returned > 0:
            self.bag = self._shake(self.bag)

    # End of the game

    def points(self) -> list[int]:
        """Returns each seat's points, as they would be counted now."""
        return [board.points() for board in self.boards]

    def winners(self) -> list[int]:
        """Returns the seats that win or share the win; empty before the end."""
        if self.phase != "end":
            return []
        first, second = self.points()
        if first != second:
            return [0] if first > second else [1]
        return [0, 1] if self.coyote is None else [self.coyote[0]]

    def returns(self, reward: str) -> list[float]:
        """Returns each seat's reward for the game; zeros before the end.

        Args:
            reward: "win" or "margin".

        Raises:
            ValueError: If the reward is another.
        """
        if reward not in ("win", "margin"):
            raise ValueError(f"rewards are win or margin, not {reward}")
        if self.phase != "end":
            return [0.0, 0.0]
        points, winners = self.points(), self.winners()
        if reward == "margin":
            return [own - sum(points) / 2 for own in points]
        if len(winners) == 2:
            return [0.0, 0.0]
        return [1.0 if seat in winners else -1.0 for seat in range(2)]
