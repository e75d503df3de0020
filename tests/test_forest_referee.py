"""The compiled rules against the independent referee, decision by decision, over thousands of random games."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest
from numba import config
from referee.forest import POWERS, SPIRITS, Referee, Tile, icons_on, random_setup

from spirits_env.games.forest.components import TOKEN_CELLS, TOKENS
from spirits_env.games.forest.state import HELD, LYING, USED
from spirits_env.state import State

UNCOMPILED = bool(getattr(config, "DISABLE_JIT", False))
CHUNKS = 6
GAMES = 3 if UNCOMPILED else 60
SOLITAIRES = 5 if UNCOMPILED else 100
RARE_GAMES = 240

HAND, PLUS, PASS = 56, 57, 58
REWARDS = ("win", "margin")
# How often each must at least happen in the games that look for rare events.
RARE = {
    "skipped collect": 200,
    "declined steals": 5,
    "plus legal in first": 200,
    "plus legal in second": 100,
    "plus legal in pay": 10,
    "plus legal in place": 200,
    "plus used in first": 30,
    "plus used in second": 15,
    "plus used in pay": 3,
    "plus used in place": 30,
    "asked for a plus only in first": 10,
    "asked for a plus only in second": 30,
    "asked for a plus only in place": 30,
    "move": 500,
    "steal as first": 500,
    "steal as second": 15,
    "paid from hand": 300,
    "paid from forest": 300,
    "paid without being asked": 400,
    "passed first without being asked": 100,
    "passed second without being asked": 500,
    "passed place without being asked": 100,
    "ended on a second tile": 5,
}


class WatchedReferee(Referee):
    """A referee that counts what happens, also what resolves without being asked."""

    def __init__(self, setup: dict[str, Any], players: int, forced_steal: bool, seen: Counter[str]) -> None:
        super().__init__(setup, players, forced_steal)
        self.seen = seen

    def _apply(self, action: int) -> None:
        phase, legal = self.phase, self.legal()
        if legal == [PASS]:
            self.seen[f"passed {phase} without being asked"] += 1
        if legal == [PLUS, PASS]:
            self.seen[f"asked for a plus only in {phase}"] += 1
        if PLUS in legal:
            self.seen[f"plus legal in {phase}"] += 1
        if action == PLUS:
            self.seen[f"plus used in {phase}"] += 1
        elif phase == "first" and action == PASS:
            self.seen["declined steals" if any(end < 8 for end in legal) else "skipped collect"] += 1
        elif phase == "pay":
            self.seen["paid from hand" if action == HAND else "paid from forest"] += 1
            self.seen["paid without being asked"] += len(legal) == 1
        elif phase == "move":
            self.seen["move"] += 1
        super()._apply(action)
        if self.phase == "pay" and action < 8:
            self.seen[f"steal as {phase}"] += 1
        if self.phase == "end" and phase == "second":
            self.seen["ended on a second tile"] += 1


def end_tile(referee: Referee, action: int) -> Tile:
    return referee.rows[action // 2][0 if action % 2 == 0 else -1]


def is_end(referee: Referee, action: int) -> bool:
    row, column = divmod(action - 8, 12)
    tiles = referee.rows[row] if row < 4 else []
    return bool(tiles) and column in (tiles[0].col, tiles[-1].col)


def choose(referee: Referee, rng: random.Random) -> int:
    """Uniform, but with a taste for stealing, for gems on ends and for keeping a "+", so that rare rules come up."""
    legal = referee.legal()
    preferred: list[int] = []
    if PLUS in legal and rng.random() < (0.5 if referee.phase == "pay" else 0.15):
        preferred = [PLUS]
    elif referee.phase in ("first", "second") and rng.random() < 0.5:
        # Where stealing may be declined, nothing else can be taken.
        preferred = (
            [PASS]
            if legal[-1] == PASS and referee.phase == "first"
            else [
                action for action in legal if action < 8 and end_tile(referee, action).gem not in (None, referee.seat)
            ]
        )
    elif referee.phase == "place" and rng.random() < 0.7:
        preferred = [action for action in legal if is_end(referee, action)]
    return rng.choice(preferred or [action for action in legal if action != PLUS])


def icons(tiles: list[Tile]) -> list[int]:
    return [icons_on(tiles, icon) for icon in SPIRITS + POWERS]


def tokens_of(record: Any, seat: int, status: int) -> list[str]:
    """Names of the tokens a seat took that are held or used."""
    rows = zip(record["token"], record["token_seat"], record["token_status"], strict=True)
    return sorted(TOKENS[kind] for kind, owner, now in rows if (owner, now) == (seat, status))


def check_belongings(referee: Referee, state: State) -> None:
    """Compare what lies in front of everybody and on the forest."""
    record, players = state.record, state.players
    assert record["hand"][:players].tolist() == referee.hand
    assert record["removed"][:players].tolist() == referee.removed
    for seat in range(players):
        assert record["icons"][seat].tolist() == icons(referee.collected[seat])
        assert record["tiles"][seat] == len(referee.collected[seat])
        assert tokens_of(record, seat, HELD) == sorted(referee.held[seat])
        if players > 1:
            assert tokens_of(record, seat, USED) == ["plus"] * referee.used_plus[seat]
    if players == 1:
        assert record["icons"][1].tolist() == icons(referee.opponent_collected)
        assert tokens_of(record, 1, USED) == sorted(referee.opponent_held)
    dealt = zip(TOKEN_CELLS, record["token"], record["token_status"], strict=True)
    on_cells = {cell: TOKENS[kind] for cell, kind, now in dealt if now == LYING}
    assert on_cells == {(tile.row, tile.col): tile.token for row in referee.rows for tile in row if tile.token}
    lying = {8 + 12 * tile.row + tile.col: tile for row in referee.rows for tile in row}
    for cell in range(48):
        tile = lying.get(8 + cell)
        assert record["present"][cell] == (tile is not None)
        assert record["gem"][cell] == (-1 if tile is None or tile.gem is None else tile.gem)


def check_points(referee: Referee, state: State) -> None:
    """Compare what everybody scores, on the whole and for each icon."""
    assert state.scores() == referee.scores()
    assert state.game.categories == SPIRITS + POWERS
    by_icon = [referee.points_on((icon,)) for icon in SPIRITS + POWERS]
    for seat in range(state.players):
        points = np.full(len(by_icon), -1000, np.int16)
        state.game.breakdown(state.record, seat, points)
        assert points.tolist() == [of_seats[seat] for of_seats in by_icon]


def play_both(players: int, forced_steal: bool, reward: str, seed: int, seen: Counter[str]) -> None:
    """Play one game on both and compare them at every decision and at the end."""
    rng = random.Random(seed)
    setup = random_setup(rng, players)
    referee = WatchedReferee(setup, players, forced_steal, seen)
    state = State("forest", players, seed=seed, setup=setup, forced_steal=forced_steal, reward=reward)
    plies = 0
    while True:
        assert state.legal_actions() == referee.legal()
        assert (state.phase, state.seat, state.turn) == (referee.phase, referee.seat, referee.turn)
        if referee.phase == "end":
            break
        if plies % 16 == 15:
            check_belongings(referee, state)
            check_points(referee, state)
        action = choose(referee, rng)
        referee.play(action)
        state.play(action)
        plies += 1
    assert plies <= state.game.max_plies
    check_belongings(referee, state)
    check_points(referee, state)
    assert state.winners() == referee.winners()
    for kind in REWARDS:
        # The reward plays no part before the end, so one game serves to check both.
        state.record["reward"] = REWARDS.index(kind)
        assert state.returns() == pytest.approx(referee.returns(kind), abs=1e-5)


@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("forced_steal", [True, False])
@pytest.mark.parametrize("players", [2, 3, 4])
def test_rules_agree_with_the_referee(players: int, forced_steal: bool, chunk: int) -> None:
    for game in range(GAMES):
        seed = 1_000_000 * players + 100_000 * forced_steal + GAMES * chunk + game
        play_both(players, forced_steal, REWARDS[game % 2], seed, Counter())


def test_solitaire_agrees_with_the_referee() -> None:
    for game in range(SOLITAIRES):
        play_both(1, True, REWARDS[game % 2], game, Counter())


@pytest.mark.skipif(UNCOMPILED, reason="rare events need many games")
def test_random_play_meets_every_rare_event() -> None:
    seen: Counter[str] = Counter()
    for game in range(RARE_GAMES):
        play_both(2 + game % 3, game // 3 % 2 == 0, "win", 9_000_000 + game, seen)
    missing = {event: seen[event] for event, least in RARE.items() if seen[event] < least}
    assert not missing
