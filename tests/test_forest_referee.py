"""The compiled rules against the independent referee, decision by decision, over thousands of random games."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from numba import config
from referee.forest import Referee, random_setup

from spirits_env.games.forest.components import SPIRITS, TOKENS
from spirits_env.state import State

UNCOMPILED = bool(getattr(config, "DISABLE_JIT", False))
CHUNKS, GAMES = 6, 4 if UNCOMPILED else 60


def ends_with_foreign_gems(referee: Referee, state: State, actions: list[int]) -> list[int]:
    found = []
    for action in actions:
        if action < 8:
            column = int(state.record["left" if action % 2 == 0 else "right"][action // 2])
            tile = referee.tile(action // 2, column)
            if tile is not None and tile.gem not in (None, referee.seat):
                found.append(action)
    return found


def cells_at_ends(state: State, actions: list[int]) -> list[int]:
    ends = set()
    for row in range(4):
        ends |= {8 + 12 * row + int(state.record["left"][row]), 8 + 12 * row + int(state.record["right"][row])}
    return [action for action in actions if action in ends]


def choose(referee: Referee, state: State, rng: random.Random, seen: Counter[str]) -> int:
    """Mostly uniform, but with a taste for stealing and for gems on ends, so that rare rules come up."""
    actions = referee.legal()
    if referee.phase in ("first", "second"):
        steals = ends_with_foreign_gems(referee, state, actions)
        if steals and rng.random() < 0.5:
            seen[f"steal {referee.phase}"] += 1
            return rng.choice(steals)
    if referee.phase == "place":
        near = cells_at_ends(state, actions)
        if near and rng.random() < 0.7:
            return rng.choice(near)
    if 57 in actions and rng.random() < 0.5:
        seen[f"plus {referee.phase}"] += 1
        return 57
    return rng.choice(actions)


def compare_details(referee: Referee, state: State) -> None:
    record, players = state.record, state.players
    assert record["hand"][:players].tolist() == referee.hand
    assert record["removed"][:players].tolist() == referee.removed
    for seat in range(players):
        symbols = [0] * 9
        for tile in referee.collected[seat]:
            symbols[SPIRITS.index(tile.spirit)] += tile.symbols
        assert record["icons"][seat, :9].tolist() == symbols
        assert int(record["tiles"][seat]) == len(referee.collected[seat])
        held = [
            TOKENS[k]
            for k, s, t in zip(record["token"], record["token_seat"], record["token_status"], strict=True)
            if s == seat and t == 2
        ]
        assert sorted(held) == sorted(referee.held[seat])


def play_one(players: int, forced_steal: bool, seed: int, seen: Counter[str], reward: str = "win") -> None:
    rng = random.Random(seed)
    setup = random_setup(rng, players)
    referee = Referee(setup, players, forced_steal)
    state = State("forest", players, seed=0, setup=setup, forced_steal=forced_steal, reward=reward)
    plies = 0
    while True:
        assert state.legal_actions() == referee.legal()
        assert (state.phase, state.seat, state.turn) == (referee.phase, referee.seat, referee.turn)
        if referee.phase == "end":
            break
        seen[referee.phase] += 1
        if players > 1 and rng.random() < 0.1:
            compare_details(referee, state)
        action = choose(referee, state, rng, seen)
        before = referee.turn, sum(map(len, referee.collected))
        referee.play(action)
        state.play(action)
        if referee.turn >= before[0] + 2 and sum(map(len, referee.collected)) == before[1]:
            seen["turn without anything to do"] += 1
        plies += 1
    assert plies <= state.game.max_plies
    assert state.scores() == referee.scores()
    assert state.winners() == referee.winners()
    assert state.returns() == pytest.approx(referee.returns(reward), abs=1e-6)
    if players > 1:
        compare_details(referee, state)


@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("forced_steal", [True, False])
@pytest.mark.parametrize("players", [2, 3, 4])
def test_the_rules_agree_with_the_referee(players: int, forced_steal: bool, chunk: int) -> None:
    seen: Counter[str] = Counter()
    for game in range(GAMES):
        seed = 1_000_000 * players + 500_000 * forced_steal + GAMES * chunk + game
        play_one(players, forced_steal, seed, seen, "win" if game % 2 else "margin")
    assert all(seen[phase] for phase in ("first", "second", "pay", "place"))


def test_the_solitaire_agrees_with_the_referee() -> None:
    for game in range(5 if UNCOMPILED else 150):
        play_one(1, True, game, Counter(), "win" if game % 2 else "margin")


@pytest.mark.skipif(UNCOMPILED, reason="needs many games")
def test_random_play_reaches_every_rare_rule() -> None:
    seen: Counter[str] = Counter()
    for game in range(480):
        play_one(2 + game % 3, game % 2 == 0, 9_000_000 + game, seen)
    for rare in ("move", "pay", "steal first", "steal second", "plus first", "plus second", "plus pay", "plus place"):
        assert seen[rare] >= 3, (rare, seen)
