"""Games that are mirror images of each other: turned rows, other rows' order, renamed spirits, changed places."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from forest_play import PASS, edited, end_cell, games_to_play, lively_action

from spirits_env.games.forest import GAME
from spirits_env.games.forest.components import POWERS, SPIRITS, TOKENS
from spirits_env.games.forest.observation import TILE_PLANES
from spirits_env.games.forest.state import USED
from spirits_env.state import State

ROW_ORDERS = list(itertools.permutations(range(4)))
FLIPS = list(itertools.product((False, True), repeat=4))
ALL = list(itertools.product(ROW_ORDERS, FLIPS))
# Spirits with the same tiles can change names, and so can moon and sun.
ALIKE = ((0, 7, 8), (2, 3))
LARGER = ("spirit", "symbols", "power")


# --- rows -------------------------------------------------------------------------------------------------


def new_cells(order: Sequence[int], flips: Sequence[bool]) -> np.ndarray:
    """Where each cell goes: row `r` becomes row `order[r]`, some rows are turned."""
    places = np.empty(48, np.int64)
    for row, column in itertools.product(range(4), range(12)):
        places[12 * row + column] = 12 * order[row] + (11 - column if flips[row] else column)
    return places


def move_tiles(state: State, places: np.ndarray) -> State:
    """Lay a fresh game's tiles elsewhere."""
    fields = {}
    for name in LARGER:
        fields[name] = np.empty_like(state.record[name])
        fields[name][places] = state.record[name]
    return edited(state, **fields)


def move_action(state: State, other: State, action: int, places: np.ndarray) -> int:
    """Name an action of one game in the other; a row's only tile has only a left side."""
    if action < 8:
        return end_of(other, places[end_cell(state.record, action)])
    return 8 + int(places[action - 8]) if action < 56 else action


def end_of(state: State, cell: int) -> int:
    row, column = divmod(int(cell), 12)
    return 2 * row + (column != state.record["left"][row])


def check_turned(state: State, other: State, places: np.ndarray) -> None:
    assert (other.phase, other.seat, other.turn) == (state.phase, state.seat, state.turn)
    assert other.legal_actions() == sorted(move_action(state, other, a, places) for a in state.legal_actions())
    assert other.scores() == state.scores()
    for seat in range(state.players):
        before, after = (GAME.layout.unpack(one.observation(seat)) for one in (state, other))
        for name in before:
            if name in TILE_PLANES:
                assert (after[name][..., places] == before[name]).all(), name
            else:
                assert (after[name] == before[name]).all(), name


def without_tokens(state: State) -> State:
    """Take all tokens out of a game: none lies, nobody has one, and none that is collected next can be a "+"."""
    return edited(state, token=0, token_status=USED, token_seat=-1)


def play_turned(state: State, other: State, places: np.ndarray, rng: random.Random, tokens: bool = True) -> None:
    check_turned(state, other, places)
    while state.seat >= 0:
        action = lively_action(state, rng)
        named = move_action(state, other, action, places)
        state.play(action)
        other.play(named)
        if not tokens:
            state, other = without_tokens(state), without_tokens(other)
        # What everybody sees is compared at a part of the decisions, for time.
        if rng.random() < 0.25 or state.seat < 0:
            check_turned(state, other, places)
    assert (other.winners(), other.returns()) == (state.winners(), state.returns())


@pytest.mark.parametrize("flips", FLIPS[1:])
def test_turned_rows_give_the_same_game_because_the_token_cells_are_symmetric(flips: tuple[bool, ...]) -> None:
    places = new_cells(range(4), flips)
    for players in (2, 3, 4):
        state = State("forest", players, seed=sum(flips))
        other = move_tiles(state, places)
        # Each token moves with its cell: the two of a row change places where the row is turned.
        kinds = state.record["token"].reshape(4, 2).copy()
        kinds[list(flips)] = kinds[list(flips), ::-1]
        play_turned(state, edited(other, token=kinds.reshape(8)), places, random.Random(players))


@pytest.mark.parametrize("players", [2, 3, 4])
def test_turned_rows_in_any_order_give_the_same_game_without_tokens(players: int) -> None:
    rng = random.Random(players)
    for order, flips in rng.sample(ALL, games_to_play(64, 1)):
        # The token cells differ from row to row, so that other orders are the same game only without tokens.
        state = without_tokens(State("forest", players, seed=rng.randrange(999)))
        places = new_cells(order, flips)
        play_turned(state, move_tiles(state, places), places, rng, tokens=False)


def test_all_384_arrangements_of_rows_give_the_same_solitaire() -> None:
    rng = random.Random(1)
    for order, flips in rng.sample(ALL, games_to_play(384, 4)):
        state = State("forest", 1, seed=rng.randrange(999))
        places = new_cells(order, flips)
        play_turned(state, move_tiles(state, places), places, rng)


# --- names ------------------------------------------------------------------------------------------------


def renamings() -> list[tuple[list[int], list[int]]]:
    """Every renaming of spirits with equal tiles, with and without moon and sun changing names."""
    found = []
    for first, second in itertools.product(*(itertools.permutations(group) for group in ALIKE)):
        spirits = list(range(9))
        for old, new in zip(ALIKE[0] + ALIKE[1], first + second, strict=True):
            spirits[old] = new
        found += [(spirits, powers) for powers in ([0, 1, 2], [1, 0, 2])]
    return found[1:]


def renamed_setup(setup: dict[str, Any], spirits: list[int], powers: list[int]) -> dict[str, Any]:
    kinds = [*spirits, *(9 + power for power in powers), 12]

    def token(name: str) -> str:
        return TOKENS[kinds[TOKENS.index(name)]]

    tiles = [[spirits[s], n, None if power is None else powers[power]] for s, n, power in setup["tiles"]]
    new: dict[str, Any] = {"tiles": tiles, "unused": [token(name) for name in setup["unused"]]}
    if "tokens" in setup:
        return {**new, "tokens": [[row, column, token(name)] for row, column, name in setup["tokens"]]}
    names = [token(name) for name in setup["opponent_tokens"]]
    return {**new, "player_token": token(setup["player_token"]), "opponent_tokens": names}


def renamed_view(view: dict[str, np.ndarray], spirits: list[int], powers: list[int]) -> dict[str, np.ndarray]:
    kinds = [*spirits, *(9 + power for power in powers), 12]
    new = {name: values.copy() for name, values in view.items()}
    for name in ("spirit", "first_spirit", "turned_up"):
        new[name][spirits] = view[name]
    new["power"][powers] = view["power"]
    new["own_tokens"][kinds] = view["own_tokens"]
    for name in ("icons", "missing", "own_icons", "icons_left"):
        new[name][..., kinds[:12]] = view[name]
    return new


@pytest.mark.parametrize("players", [1, 2, 3, 4])
def test_spirits_with_equal_tiles_and_moon_and_sun_can_change_names(players: int) -> None:
    assert [SPIRITS[i] for group in ALIKE for i in group] == ["branches", "vines", "leaves", "dew_drops", "mushrooms"]
    assert POWERS[:2] == ("moon", "sun")
    rng = random.Random(players)
    for spirits, powers in rng.sample(renamings(), games_to_play(23, 1)):
        state = State("forest", players, seed=rng.randrange(999))
        other = State("forest", players, seed=0, setup=renamed_setup(state.setup(), spirits, powers))
        while state.seat >= 0:
            assert other.legal_actions() == state.legal_actions()
            action = lively_action(state, rng)
            state.play(action)
            other.play(action)
            assert (other.phase, other.seat, other.turn) == (state.phase, state.seat, state.turn)
            if rng.random() < 0.1 or state.seat < 0:
                for seat in range(players):
                    before, after = (GAME.layout.unpack(one.observation(seat)) for one in (state, other))
                    for name, values in renamed_view(before, spirits, powers).items():
                        assert (after[name] == values).all(), name
        assert (other.scores(), other.winners()) == (state.scores(), state.winners())
        assert other.returns() == state.returns()


# --- places -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("players", [2, 3, 4])
def test_after_the_first_turn_the_game_is_the_same_from_every_place(players: int) -> None:
    rng = random.Random(10 + players)
    for seed, by in itertools.product(range(games_to_play(10, 1)), range(1, players)):
        state = State("forest", players, seed=seed)
        while state.turn == 0:
            state.play(lively_action(state, rng))
        other = moved_round(state, by)
        while state.seat >= 0:
            assert other.legal_actions() == state.legal_actions()
            assert (other.phase, other.turn) == (state.phase, state.turn)
            assert other.seat == (state.seat + by) % players
            action = lively_action(state, rng)
            state.play(action)
            other.play(action)
        assert other.scores() == np.roll(state.scores(), by).tolist()
        assert other.returns() == np.roll(state.returns(), by).tolist()
        assert other.winners() == sorted((seat + by) % players for seat in state.winners())


def moved_round(state: State, by: int) -> State:
    """Let everybody sit some places further to the left."""
    players, record = state.players, state.record
    fields: dict[str, Any] = {"seat": (state.seat + by) % players}
    for name in ("gem", "token_seat"):
        fields[name] = np.where(record[name] < 0, record[name], (record[name] + by) % players)
    for name in ("hand", "placed", "removed", "tiles", "icons"):
        fields[name] = np.concatenate([np.roll(record[name][:players], by, axis=0), record[name][players:]])
    return edited(state, **fields)


def test_a_turned_row_with_one_tile_is_taken_by_its_left_side() -> None:
    # The helpers of this file, on a case they could get wrong.
    state = State("forest", 2, seed=1)
    places = new_cells((0, 1, 2, 3), (True, False, False, False))
    last = edited(state, left=[0, 0, 0, 0], right=[0, 11, 11, 11])
    turned = edited(state, left=[11, 0, 0, 0], right=[11, 11, 11, 11])
    assert move_action(last, turned, 0, places) == 0
    assert move_action(last, turned, 3, places) == 3
    assert move_action(last, turned, PASS, places) == PASS
