"""The compiled rules against the independent referee, decision by decision, over thousands of random games."""

from __future__ import annotations

import copy
import random
from collections import Counter
from collections.abc import Generator, Sequence
from typing import Any

import numpy as np
import pytest
from numba import config
from referee.wild import ACTIONS, ANIMALS, COLOURS, KINDS, SPIRIT_STONE, Board, Powers, Referee, random_setup

from spirits_env.state import State

UNCOMPILED = bool(getattr(config, "DISABLE_JIT", False))
CHUNKS = 6
GAMES = 2 if UNCOMPILED else 120
RARE_GAMES = 900

CARDS = ("take_one", "take_two", "add_two", "add_three", "recover")
ADDS = ["add_three", "add_two"]
SPACES = {"owl": 6, "rabbit": 3, "beaver": 5, "salmon": 6, "turtle": 5}
REWARDS = ("win", "margin")
POWERS = ("house", "none", "own")
STYLES = ("uniform", "frugal", "hasty", "starving", "restless", "greedy", "spirited")
# How often each must at least happen in the games that look for rare events.
RARE = {
    "Coyote blocks the only place": 200,
    "Coyote leaves another place": 200,
    "stone fits nowhere": 1000,
    "stone fits nowhere though another would": 200,
    "Spirit Stone without a bonus space": 3,
    "Spirit Stone kept off by Coyote": 20,
    "Spirit Stone on an empty animal": 200,
    "Spirit Stone on a complete animal": 20,
    "Coyote moved by backs": 500,
    "Coyote moved by card": 500,
    "Coyote moved by power": 200,
    "Coyote left by backs": 200,
    "Coyote left by card": 200,
    "Coyote left by power": 50,
    "Coyote from one animal of a board to another": 200,
    "Coyote from board to board": 200,
    "Coyote on a closed animal": 100,
    "two started pairs of one colour": 100,
    "two pairs of one colour": 20,
    "trio and pair of one colour": 20,
    "pair before trio": 200,
    **{f"recovered by house card {card}": 100 for card in range(6)},
    "recovered by own card": 500,
    "recovered without powers": 500,
    "bottom card of a pile on top": 50,
    "card without being asked": 50,
    "stone without being asked": 500,
    "place without being asked": 1000,
    "card and all it asks without being asked": 5,
    "chose the same": 200,
    "chose as many of the same as there were": 100,
    "chose different": 200,
    "chose one of each kind there was": 100,
    "took all there was": 100,
    "took from an empty bowl": 20,
    "added all there was": 10,
    "returned all": 200,
    "returned from an empty bowl": 10,
    "returned as many as allowed": 50,
    "returned the whole bowl by choice": 20,
    "stopped after some": 50,
    "stopped at once": 50,
    "mixed bag": 300,
    "pass": 5,
    "end with five Spirit Stones": 200,
    "end with more than five Spirit Stones": 50,
    "end after turn 120": 10,
    "win": 500,
    "tie decided by Coyote": 20,
    "shared win": 10,
    **{f"salmon with {stones}": 20 for stones in range(7)},
    **{f"turtle with {stones}": 10 for stones in range(6)},
    **{f"rabbit with {stones}": 20 for stones in range(4)},
    **{f"owl with {pairs} pairs": 20 for pairs in range(4)},
    **{f"beaver with {trio} in the trio and {pair} in the pair": 8 for trio in range(4) for pair in range(3)},
    **{f"{animal} doubled": 50 for animal in ANIMALS},
}


class WatchedReferee(Referee):
    """A referee that counts what happens, also what resolves without being asked, and mixes the bag as the state did.

    The state plays first. Stones drawn since the bag was mixed still stand where they were drawn from, so the whole
    order can be read, as long as no decision of the referee mixes the bag twice.
    """

    def __init__(self, state: State, setup: dict[str, Any], powers: Powers, seen: Counter[str]) -> None:
        self.state = state
        self.seen = seen
        self.named = powers if isinstance(powers, str) else "own"
        self.in_power = False
        self.asked = 0
        self.mixed = 0
        self.bottoms = [pile[-1] for pile in setup.get("piles", [])]
        super().__init__(setup, powers, self.as_in_the_state)

    def as_in_the_state(self, bag: list[str]) -> list[str]:
        self.mixed += 1
        assert self.mixed == 1
        order = [KINDS[kind] for kind in self.state.record["bag"][: len(bag)][::-1]]
        assert sorted(order) == sorted(bag)
        self.seen["mixed bag"] += order != bag
        return order

    def play(self, action: int) -> None:
        self.mixed = 0
        super().play(action)

    def _ask(self, phase: str, allowed: Any) -> Generator[None, str, str]:
        self.seen[f"{phase} without being asked"] += len(allowed()) == 1
        self.asked += len(allowed()) > 1
        return (yield from super()._ask(phase, allowed))

    def _take_turn(self) -> Generator[None, str, None]:
        before = self.asked
        yield from super()._take_turn()
        self.seen["card and all it asks without being asked"] += self.asked == before and self.passes == 0

    def _pass(self) -> None:
        super()._pass()
        self.seen["pass"] += 1

    def _recover(self) -> Generator[None, str, None]:
        if not self.piles:
            self.seen["recovered without powers"] += 1
        yield from super()._recover()
        self.seen["bottom card of a pile on top"] += self.bottoms == [pile[0] for pile in self.piles] != []

    def _use_power(self, card: int) -> Generator[None, str, None]:
        which = f"house card {card}" if self.named == "house" else "own card"
        self.seen[f"recovered by {which}"] += 1
        self.in_power = True
        yield from super()._use_power(card)
        self.in_power = False

    def _add(self, number: int) -> None:
        self.seen["added all there was"] += number > len(self.bag)
        super()._add(number)

    def _take(self, number: int, which: str) -> Generator[None, str, None]:
        self.seen["took from an empty bowl"] += not self.bowl
        self.seen["took all there was"] += 0 < len(self.bowl) < number
        yield from super()._take(number, which)

    def _choose_any(self, number: int) -> Generator[None, str, None]:
        before = list(self.bowl)
        yield from super()._choose_any(number)
        unplaceable = [not self._fits(stone) for stone in self.held]
        self.seen["stone fits nowhere though another would"] += any(unplaceable) and any(map(self._fits, before))

    def _choose_same(self, number: int) -> Generator[None, str, None]:
        before = Counter(self.bowl)
        yield from super()._choose_same(number)
        self.seen["chose the same"] += len(self.held) > 1
        self.seen["chose as many of the same as there were"] += 1 < before[(self.held or [""])[0]] < number

    def _choose_different(self, number: int) -> Generator[None, str, None]:
        kinds, stones = len(set(self.bowl)), len(self.bowl)
        yield from super()._choose_different(number)
        self.seen["chose different"] += len(self.held) > 1
        self.seen["chose one of each kind there was"] += 1 < kinds < min(number, stones)

    def _place(self, stone: str) -> Generator[None, str, None]:
        open_to = self._fits(stone)
        without_coyote = self.boards[self.seat].fits(stone, None)
        if stone == SPIRIT_STONE:
            self.seen["Spirit Stone without a bonus space"] += not open_to
            self.seen["Spirit Stone kept off by Coyote"] += open_to != without_coyote
        else:
            self.seen["stone fits nowhere"] += not open_to
        self.seen["Coyote blocks the only place"] += not open_to and len(without_coyote) == 1
        self.seen["Coyote leaves another place"] += bool(open_to) and open_to != without_coyote
        yield from super()._place(stone)

    def _put(self, stone: str, action: str) -> None:
        board = self.boards[self.seat]
        if stone == SPIRIT_STONE:
            given = len(board.stones(action.removeprefix("bonus_")))
            self.seen["Spirit Stone on an empty animal"] += given == 0
            self.seen["Spirit Stone on a complete animal"] += given == SPACES[action.removeprefix("bonus_")]
        super()._put(stone, action)
        if action == "place_owl_new":
            self.seen["two started pairs of one colour"] += board.owl.count([stone]) > 1
        if action == "place_owl_started":
            self.seen["two pairs of one colour"] += board.owl.count([stone, stone]) > 1
        if action == "place_beaver_pair":
            self.seen["pair before trio"] += not board.beaver_trio
            self.seen["trio and pair of one colour"] += stone in board.beaver_trio

    def _move_coyote(self, reason: str) -> Generator[None, str, None]:
        before = self.coyote
        yield from super()._move_coyote(reason)
        why = "backs" if reason == "backs" else "power" if self.in_power else "card"
        if self.coyote == before:
            self.seen[f"Coyote left by {why}"] += 1
            return
        self.seen[f"Coyote moved by {why}"] += 1
        assert self.coyote is not None
        if before is not None:
            same_board = before[0] == self.coyote[0]
            self.seen[f"Coyote from {'one animal of a board to another' if same_board else 'board to board'}"] += 1
        self.seen["Coyote on a closed animal"] += self.coyote[1] in self.boards[self.coyote[0]].spirit_stones

    def _return_all(self) -> None:
        self.seen["returned all" if self.bowl else "returned from an empty bowl"] += 1
        super()._return_all()

    def _return_chosen(self, number: int) -> Generator[None, str, None]:
        before = len(self.bowl)
        yield from super()._return_chosen(number)
        returned = before - len(self.bowl)
        self.seen["returned from an empty bowl"] += before == 0
        self.seen["returned as many as allowed"] += returned == number
        self.seen["returned the whole bowl by choice"] += 0 < before == returned
        self.seen["stopped after some"] += 0 < returned < min(number, before)
        self.seen["stopped at once"] += returned == 0 < before

    def watch_end(self) -> None:
        out = self.spirit_stones_out()
        self.seen["end with five Spirit Stones"] += out == 5
        self.seen["end with more than five Spirit Stones"] += out > 5
        self.seen["end after turn 120"] += self.turn == 120 and out < 5
        first, second = self.points()
        tie = "tie decided by Coyote" if self.coyote is not None else "shared win"
        self.seen[tie if first == second else "win"] += 1
        for board in self.boards:
            self.watch_board(board)

    def watch_board(self, board: Board) -> None:
        trio, pair = len(board.beaver_trio), len(board.beaver_pair)
        self.seen[f"beaver with {trio} in the trio and {pair} in the pair"] += 1
        self.seen[f"owl with {sum(len(pair) == 2 for pair in board.owl)} pairs"] += 1
        for animal in ("rabbit", "salmon", "turtle"):
            self.seen[f"{animal} with {len(board.stones(animal))}"] += 1
        for animal in board.spirit_stones:
            self.seen[f"{animal} doubled"] += board.points_by_animal()[animal] > 0


# Cards of the user's own


def own_cards(rng: random.Random) -> list[list[str]]:
    """Six cards of random steps, with at most one RETURN each so that no play mixes the bag twice."""
    most = rng.choice([0, 4, 4, 9])
    return [own_card(rng, most) for _ in range(6)]


def own_card(rng: random.Random, most: int) -> list[str]:
    """A card of up to six steps that adds at most so many stones in one of them."""
    if most == 9 and rng.random() < 0.3:
        return ["ADD 9"] * 4 + [own_step(rng, 0) for _ in range(2)]
    steps = [own_step(rng, most) for _ in range(rng.randint(1, 5))]
    if rng.random() < 0.6:
        back = "RETURN all" if rng.random() < 0.4 else f"RETURN {rng.randint(1, 9)}"
        steps.insert(rng.randint(0, len(steps)), back)
    return steps


def own_step(rng: random.Random, most: int) -> str:
    kind = rng.randrange(6)
    if kind == 0:
        return "COYOTE"
    if kind <= 2 and most > 0:
        return f"ADD {rng.randint(1, most)}"
    number = rng.randint(1, 6)
    return f"TAKE {number} {rng.choice(['any', 'same', 'different'])}" if rng.random() < 0.9 else f"TAKE {number}"


def some_powers(name: str, rng: random.Random) -> Powers:
    return own_cards(rng) if name == "own" else name


# Ways to choose


def choose(referee: Referee, style: str, rng: random.Random) -> int:
    """Uniform, but in each style with a taste of its own, so that rare rules come up."""
    legal = [ACTIONS[action] for action in referee.legal()]
    tastes = {
        "frugal": frugal,
        "hasty": hasty,
        "starving": starving,
        "restless": restless,
        "greedy": greedy,
        "spirited": spirited,
    }
    wanted: list[str] = []
    if style == "frugal" or (style != "uniform" and rng.random() < 0.97):
        wanted = tastes[style](referee, legal)
    return ACTIONS.index(rng.choice(wanted or legal))


def frugal(referee: Referee, legal: Sequence[str]) -> list[str]:
    """Keeps stones in the bag: takes those that fit nowhere, adds none if there are such."""
    if referee.phase == "card":
        idle = [stone for stone in referee.bowl if fits_nowhere(referee, stone)]
        return [name for name in legal if "add" not in name] if len(idle) > 1 else []
    if referee.phase == "stone":
        return [name for name in legal if fits_nowhere(referee, name.removeprefix("stone_"))]
    if referee.phase == "pile":
        return tops(referee, legal, lambda steps: not any(step[:3] == "ADD" or step[-3:] == "all" for step in steps))
    if referee.phase == "return":
        return [name for name in legal if name == "stone_spirit_stone"] or ["stop"]
    if referee.phase == "place":
        return [name for name in legal if name == "place_owl_new"]
    return []


def fits_nowhere(referee: Referee, stone: str) -> bool:
    return not referee.boards[referee.seat].fits(stone, referee._animal_with_coyote(referee.seat))


def tops(referee: Referee, legal: Sequence[str], wanted: Any) -> list[str]:
    """Piles whose top card is as wanted."""
    return [name for name in legal if wanted(referee.cards[referee.piles[int(name[-1])][0]])]


def hasty(referee: Referee, legal: Sequence[str]) -> list[str]:
    """Adds what it can and leaves Coyote alone, so that games are short and often level."""
    return [name for name in legal if name in ("play_add_two", "play_add_three", "leave_coyote")]


def starving(referee: Referee, legal: Sequence[str]) -> list[str]:
    """Adds first, and empties the bowl when the opponent can add nothing."""
    starved = sorted(referee.down[1 - referee.seat]) == ADDS
    if referee.phase == "card":
        if starved:
            return [name for name in legal if name == "play_recover"] or [name for name in legal if "take" in name]
        adds = [name for name in legal if name in ("play_add_two", "play_add_three")]
        recover = [name for name in legal if name == "play_recover"]
        return adds if not set(referee.down[referee.seat]) - set(ADDS) else recover
    if referee.phase == "pile" and starved:
        return tops(referee, legal, lambda steps: steps[-1] == "RETURN all" or steps[-1] == "TAKE 6 any")
    return []


def restless(referee: Referee, legal: Sequence[str]) -> list[str]:
    """Moves Coyote when it can, to where he hurts or to an animal that is closed, and likes to fill animals."""
    if referee.phase == "coyote":
        closed = referee.boards[1 - referee.seat].spirit_stones
        return [name for name in legal if name.removeprefix("coyote_") in closed] or list(legal[:-1])
    if referee.phase == "place":
        return [name for name in legal if name in ("place_owl_started", "place_beaver_trio", "place_turtle")]
    return [name for name in legal if name != "stop"]


def greedy(referee: Referee, legal: Sequence[str]) -> list[str]:
    """Completes collections: first what makes points, then what goes on with a colour."""
    if referee.phase == "stone":
        board, blocked = referee.boards[referee.seat], referee._animal_with_coyote(referee.seat)
        stones = [name.removeprefix("stone_") for name in legal if name in ACTIONS[5:12]]
        values = {f"stone_{stone}": best_value(board, stone, board.fits(stone, blocked)) for stone in stones}
        return [name for name, value in values.items() if value == max(values.values())]
    if referee.phase == "place":
        board, stone = referee.boards[referee.seat], referee.held[0]
        best = best_value(board, stone, legal)
        return [name for name in legal if best_value(board, stone, [name]) == best]
    return [name for name in legal if name in ("play_take_one", "play_take_two", "leave_coyote")]


def best_value(board: Board, stone: str, places: Sequence[str]) -> tuple[int, int]:
    """Most points won by a stone on one of some places, and then how many stones lie in sets that were gone on with."""
    values = [(-1, 0)]
    for place in places:
        after = copy.deepcopy(board)
        after.put(stone, place)
        sets = (*after.owl, after.beaver_trio, after.beaver_pair, after.turtle)
        values.append((after.points() - board.points(), sum(len(stones) ** 2 for stones in sets)))
    return max(values)


def spirited(referee: Referee, legal: Sequence[str]) -> list[str]:
    """Takes Spirit Stones, and puts Coyote on the last animal without one."""
    if referee.phase == "coyote":
        closed = referee.boards[1 - referee.seat].spirit_stones
        return [name for name in legal[:-1] if name.removeprefix("coyote_") not in closed]
    if referee.phase == "card":
        spirits = SPIRIT_STONE in referee.bowl
        return [name for name in legal if ("take" in name if spirits else name in ("play_add_two", "play_recover"))]
    if referee.phase == "pile":
        wanted = tops(referee, legal, lambda steps: steps[0] == "ADD 9" and "TAKE" in " ".join(steps[4:]))
        return wanted or tops(referee, legal, lambda steps: any(step.startswith("TAKE") for step in steps[1:]))
    return [name for name in legal if name == "stone_spirit_stone"]


# Both at once


def check_position(referee: Referee, state: State) -> None:
    """Compare all that lies on the table."""
    record = state.record
    assert (state.phase, state.seat, state.turn) == (referee.phase, referee.seat, referee.turn)
    assert state.legal_actions() == referee.legal()
    assert record["passes"] == referee.passes
    assert record["bowl"].tolist() == counts(referee.bowl, KINDS)
    assert record["in_bag"].tolist() == counts(referee.bag, KINDS)
    assert record["bag_size"] == len(referee.bag)
    if state.phase != "return":
        # Stones on their way back may lie anywhere until the bag is mixed.
        assert [KINDS[kind] for kind in record["bag"][: len(referee.bag)][::-1]] == referee.bag
    assert [KINDS[kind] for kind in record["held"][record["placing"] : record["chosen"]]] == referee.held
    assert record["down"].tolist() == [counts(down, CARDS) for down in referee.down]
    coyote = -1 if referee.coyote is None else 5 * referee.coyote[0] + ANIMALS.index(referee.coyote[1])
    assert record["coyote"] == coyote
    for pile, cards in enumerate(referee.piles):
        dealt, top = record["piles"][pile].tolist(), int(record["top"][pile])
        assert dealt[top:] + dealt[:top] == cards
    for seat, board in enumerate(referee.boards):
        check_board(board, record, seat)
        points = np.full(len(state.game.categories), -1000, np.int16)
        state.game.breakdown(record, seat, points)
        assert dict(zip(state.game.categories, points.tolist(), strict=True)) == board.points_by_animal()
    assert state.scores() == referee.points()


def counts(things: Sequence[str], kinds: Sequence[str]) -> list[int]:
    return [things.count(kind) for kind in kinds]


def check_board(board: Board, record: Any, seat: int) -> None:
    sets = list(zip(record["colour"][seat].tolist(), record["count"][seat].tolist(), strict=True))
    # Which of the owl's pairs is which plays no part.
    assert sorted(sets[:3]) == sorted(map(as_set, board.owl))
    assert sets[3:] == [as_set(board.beaver_trio), as_set(board.beaver_pair), as_set(board.turtle)]
    assert record["row"][seat].tolist() == [counts(board.rabbit, COLOURS), counts(board.salmon, COLOURS)]
    assert record["bonus"][seat].tolist() == [animal in board.spirit_stones for animal in ANIMALS]


def as_set(stones: Sequence[str]) -> tuple[int, int]:
    """Colour and number of stones of one colour."""
    return (COLOURS.index(stones[0]) if stones else -1, len(stones))


def play_both(name: str, style: str, seed: int, seen: Counter[str]) -> None:
    """Play one game on both and compare them at every decision and at the end."""
    rng = random.Random(seed)
    powers = some_powers(name, rng)
    # Half of the games are dealt by the rules, half set up by the referee.
    setup = random_setup(rng, powers) if seed % 2 else None
    state = State("wild", seed=seed, setup=setup, powers=powers)
    referee = WatchedReferee(state, setup or state.setup(), powers, seen)
    plies = 0
    check_position(referee, state)
    while referee.phase != "end":
        assert len(state.legal_actions()) > 1
        assert state.winners() == []
        action = choose(referee, style, rng)
        state.play(action)
        referee.play(action)
        plies += 1
        check_position(referee, state)
    assert plies <= state.game.max_plies
    check_outcome(referee, state)
    referee.watch_end()


def check_outcome(referee: Referee, state: State) -> None:
    assert state.winners() == referee.winners()
    for reward in REWARDS:
        # The reward plays no part before the end, so one game serves to check both.
        state.record["reward"] = REWARDS.index(reward)
        assert state.returns() == referee.returns(reward)


@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("powers", POWERS)
def test_rules_agree_with_the_referee(powers: str, chunk: int) -> None:
    for game in range(GAMES):
        seed = 1_000_000 * POWERS.index(powers) + GAMES * chunk + game
        play_both(powers, STYLES[game % 7], seed, Counter())


@pytest.mark.skipif(UNCOMPILED, reason="rare events need many games")
def test_random_play_meets_every_rare_event() -> None:
    seen: Counter[str] = Counter()
    for game in range(RARE_GAMES):
        play_both(POWERS[game % 3], STYLES[game // 3 % 7], 9_000_000 + game, seen)
    missing = {event: seen[event] for event, least in RARE.items() if seen[event] < least}
    assert not missing


# Positions that random play does not reach


def with_an_empty_bowl(down: list[list[str]]) -> tuple[Referee, State]:
    """Seat 0 has used Add Three and may move Coyote; the stones of the bowl are put back, cards turned as given."""
    setup = random_setup(random.Random(1), "house")
    referee, state = Referee(setup), State("wild", seed=1, setup=setup)
    for side in (referee, state):
        side.play(ACTIONS.index("play_add_three"))
    referee.bag, referee.bowl, referee.down = referee.bag + referee.bowl, [], down
    record = state.record
    record["bag"][:56] = [KINDS.index(stone) for stone in reversed(referee.bag)]
    record["bag_size"], record["in_bag"], record["bowl"] = 56, 8, 0
    record["down"] = [counts(cards, CARDS) for cards in down]
    state = State.of(state.game, record)
    check_position(referee, state)
    return referee, state


def test_passes_agree_where_one_player_passes() -> None:
    referee, state = with_an_empty_bowl([["take_one", "take_two"], list(ADDS)])
    for side in (referee, state):
        side.play(ACTIONS.index("leave_coyote"))
    assert (referee.seat, referee.turn, referee.passes) == (0, 2, 1)
    check_position(referee, state)
    for side in (referee, state):
        side.play(ACTIONS.index("play_add_two"))
    assert referee.passes == 0
    check_position(referee, state)


def test_passes_agree_where_two_in_a_row_end_the_game() -> None:
    # Who empties the bowl has used a card to take or has turned all cards up, so this can't come up in a game.
    referee, state = with_an_empty_bowl([["add_two"], list(ADDS)])
    for side in (referee, state):
        side.play(ACTIONS.index("leave_coyote"))
    assert (referee.phase, referee.turn, referee.winners()) == ("end", 3, [0, 1])
    check_position(referee, state)
    check_outcome(referee, state)
