"""Re-deals keep what a seat knows and draw the rest fairly; and the chance that they and all deals stand on."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forest_play import PASS, PLUS, UNCOMPILED, edited, games_to_play, lively_action, snapshots, walk

from spirits_env.batch import kernels
from spirits_env.game import advance, choose_uniform, fork, scale, shuffle, stream
from spirits_env.games.forest import GAME
from spirits_env.games.forest.components import TOKENS, all_tiles, all_tokens
from spirits_env.games.forest.state import HELD, USED
from spirits_env.state import State

PLUS_KIND = TOKENS.index("plus")
DRAWS = 150 if UNCOMPILED else 6000
# Where nothing of a record but these may change in a re-deal.
REDRAWN = {"token", "unused", "rng"}
REDRAWN_ALONE = REDRAWN | {"spirit", "symbols", "power"}


def too_far(counts: Iterable[float], expected: Iterable[float]) -> bool:
    """A loose chi-square test: eight standard deviations are no accident."""
    pairs = list(zip(counts, expected, strict=True))
    freedom = max(1, len(pairs) - 1)
    distance = sum((count - wanted) ** 2 / wanted for count, wanted in pairs)
    return distance > freedom + 8 * math.sqrt(2 * freedom)


def redeals(state: State, seat: int, number: int = DRAWS) -> np.ndarray:
    """Many re-deals of one game at once, as records."""
    states = np.repeat(np.atleast_1d(state.record.copy()), number).astype(GAME.dtype)
    states["rng"] = [stream(77, i) for i in range(number)]
    kernels(GAME).redeal(states, np.full(number, seat, np.int8))
    return states


def is_known(state: State, seat: int, token: int) -> bool:
    status, owner = state.record["token_status"][token], state.record["token_seat"][token]
    return bool(status == USED or (status == HELD and owner == seat))


def all_kinds(record: Any) -> list[int]:
    return sorted([*record["token"].tolist(), *record["unused"].tolist()])


# --- what stays -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("players", [1, 2, 3, 4])
def test_a_redeal_keeps_all_the_seat_sees_and_the_box_and_leaves_the_game_alone(players: int) -> None:
    for seed in range(games_to_play(8, 1)):
        for state in walk(players, seed):
            before = state.copy()
            for seat in range(players):
                other = state.redealt(seat, 5)
                assert state == before
                assert state.history == other.history
                assert (other.observation(seat) == state.observation(seat)).all()
                fields = REDRAWN if players > 1 else REDRAWN_ALONE
                for name in GAME.dtype.names or ():
                    if name not in fields:
                        assert (other.record[name] == state.record[name]).all(), name
                for token in range(8):
                    if is_known(state, seat, token):
                        assert other.record["token"][token] == state.record["token"][token]
                assert all_kinds(other.record) == all_kinds(state.record)
    assert state.phase == "end"


def test_a_redealt_game_can_be_dealt_again_from_its_own_setup() -> None:
    # The set-up is checked against the box, so this shows that nothing was lost or doubled.
    for players in (1, 2, 3, 4):
        for state in snapshots(players, 6)[::20]:
            other = state.redealt(0, 3)
            again = State("forest", players, seed=0, setup=other.setup())
            assert again.setup() == other.setup()


@pytest.mark.parametrize("players", [1, 2, 3, 4])
def test_a_redealt_game_can_be_played_to_the_end(players: int) -> None:
    rng = np.random.default_rng(1)
    for state in snapshots(players, 7)[::9]:
        other = state.redealt(players - 1, 11)
        while other.seat >= 0:
            other.play(rng.choice(other.legal_actions()))
        assert other.winners() or players == 1


def test_the_future_of_a_redealt_game_is_its_own() -> None:
    state = State("forest", 2, seed=1)
    assert int(state.redealt(0, 9).record["rng"]) != int(state.record["rng"])
    assert state.redealt(0, 9) == state.redealt(0, 9)
    assert state.redealt(0, 9) != state.redealt(0, 10)


@pytest.mark.parametrize("players", [1, 2, 3, 4])
def test_a_redeal_hangs_on_what_the_seat_sees_and_on_nothing_hidden(players: int) -> None:
    # All re-deals of a game look the same to the seat, so with the same chance each must give the same.
    for seed in range(games_to_play(4, 1)):
        for ply, state in enumerate(walk(players, seed)):
            if ply % 3 == 0:
                for seat in range(players):
                    assert state.redealt(seat, 1).redealt(seat, 2) == state.redealt(seat, 2)


# --- what changes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("plies", [0, 40, 80])
def test_every_hidden_place_gets_every_hidden_kind_in_fair_shares(plies: int) -> None:
    seat = 1
    # A "+" that a decision shows makes other shares, see below.
    state = next(one for one in snapshots(2, 12)[plies:] if one.seat == seat or not shows_plus(one))
    hidden = [token for token in range(8) if not is_known(state, seat, token)]
    pool = [*state.record["token"][hidden].tolist(), *state.record["unused"].tolist()]
    shares = {kind: DRAWS * count / len(pool) for kind, count in Counter(pool).items()}
    states = redeals(state, seat)
    places = [states["token"][:, token] for token in hidden] + list(states["unused"].T)
    for place in places:
        counts = Counter(place.tolist())
        assert set(counts) <= set(shares)
        assert not too_far([counts[kind] for kind in shares], shares.values())


def test_two_hidden_places_are_drawn_without_putting_back_and_in_fair_shares() -> None:
    state = State("forest", 3, seed=2)
    states = redeals(state, 0)
    both = Counter((states["token"][:, 2] == PLUS_KIND) * 1 + (states["token"][:, 5] == PLUS_KIND) * 1)
    # Two "+" among fourteen tokens: both on these two cells in 1 of 91 deals, one of them in 24 of 91.
    expected = [DRAWS * share / 91 for share in (66, 24, 1)]
    assert not too_far([both[number] for number in range(3)], expected)


@pytest.mark.parametrize("plies", [0, 7])
def test_solitaires_hidden_tiles_and_tokens_are_redrawn_in_fair_shares(plies: int) -> None:
    state = snapshots(1, 3)[plies]
    record = state.record
    down = [
        cell
        for cell in np.flatnonzero(record["present"])
        if record["left"][cell // 12] < cell % 12 < record["right"][cell // 12]
    ]

    def tiles_of(one: Any) -> list[tuple[int, int, int]]:
        return [(int(one["spirit"][c]), int(one["symbols"][c]), int(one["power"][c])) for c in range(48)]

    before = tiles_of(record)
    shares = {tile: DRAWS * n / len(down) for tile, n in Counter(before[cell] for cell in down).items()}
    states = redeals(state, 0)
    for cell in (down[0], down[len(down) // 2], down[-1]):
        found = zip(*(states[name][:, cell].tolist() for name in ("spirit", "symbols", "power")), strict=True)
        counts = Counter(found)
        assert not too_far([counts[tile] for tile in shares], shares.values())
    for one in states[:20]:
        after = tiles_of(one)
        assert sorted(after) == sorted(all_tiles())
        assert all(after[cell] == before[cell] for cell in range(48) if cell not in down)
    tokens = Counter(states["token"][:, 1].tolist())
    # The player's own is known, so the opponent's first is one of the other eight.
    assert set(tokens) == set(range(9)) - {int(record["token"][0])}
    assert not too_far(tokens.values(), [DRAWS / 8] * 8)


def test_solitaires_opponent_tokens_that_turned_up_stay() -> None:
    for state in walk(1, 5):
        up = (state.record["token_status"] == USED) & (state.record["token"] >= 0)
        states = redeals(state, 0, 20)
        assert (states["token"][:, up] == state.record["token"][up]).all()
        assert (states["token"][:, 3:] == -1).all()


# --- a "+" that a decision has shown ----------------------------------------------------------------------


def shows_plus(state: State) -> bool:
    """Tell whether only a "+" can be why this decision is asked, seen from the list of legal actions."""
    legal = state.legal_actions()
    return PLUS in legal and (legal == [PLUS, PASS] or (state.phase == "pay" and len(legal) == 2))


def plus_positions(players: int, games: int) -> list[tuple[State, bool]]:
    """Decisions of a seat with a usable "+", and whether they show it."""
    found = []
    for seed in range(games):
        for state in walk(players, 500 + seed, forced_steal=seed % 2 == 0):
            record = state.record
            if state.seat < 0 or record["removed"][state.seat] == 0:
                continue
            mine = np.flatnonzero((record["token_seat"] == state.seat) & (record["token_status"] == HELD))
            if len(mine):
                kinds = record["token"].copy()
                kinds[mine[0]] = PLUS_KIND
                changed = edited(state, token=kinds)
                if PLUS in changed.legal_actions():
                    found.append((changed, shows_plus(changed)))
    return found


def test_a_redeal_keeps_a_plus_that_a_decision_has_shown_in_every_phase() -> None:
    phases: Counter[str] = Counter()
    for state, shown in plus_positions(2, games_to_play(150, 12)):
        if not shown:
            continue
        phases[state.phase] += 1
        for seed in range(4):
            assert state.redealt(1 - state.seat, seed).mask()[PLUS] == 1
    assert set(phases) >= ({"second", "place"} if UNCOMPILED else {"first", "second", "pay", "place"})


def test_a_redeal_may_take_away_a_plus_that_nothing_has_shown() -> None:
    taken = kept = 0
    for state, shown in plus_positions(2, games_to_play(10, 3)):
        if not shown:
            for seed in range(4):
                usable = int(state.redealt(1 - state.seat, seed).mask()[PLUS])
                kept, taken = kept + usable, taken + (1 - usable)
    assert taken > kept > 0


def test_the_holder_of_a_plus_keeps_it_in_its_own_redeals() -> None:
    for state, _ in plus_positions(3, games_to_play(4, 1)):
        assert state.redealt(state.seat, 1).mask()[PLUS] == 1


def test_a_shown_plus_leaves_the_other_tokens_to_fair_chance() -> None:
    for state, shown in plus_positions(2, games_to_play(60, 12)):
        record, seat = state.record, 1 - state.seat
        mine = (record["token_seat"] == state.seat) & (record["token_status"] == HELD)
        hidden = [token for token in range(8) if not is_known(state, seat, token)]
        pool = [*record["token"][hidden].tolist(), *record["unused"].tolist()]
        if shown and mine.sum() >= 2 and pool.count(PLUS_KIND) == 2:
            break
    else:
        pytest.fail("no position met")
    held, size = int(mine.sum()), len(pool)
    ways = [math.comb(2, n) * math.comb(size - 2, held - n) for n in (1, 2)]
    states = redeals(state, seat)
    counts = Counter((states["token"][:, mine] == PLUS_KIND).sum(axis=1).tolist())
    assert set(counts) <= {1, 2}
    assert not too_far([counts[1], counts[2]], [DRAWS * way / sum(ways) for way in ways])


# --- chance -----------------------------------------------------------------------------------------------


def test_streams_differ_for_different_keys_and_are_never_zero() -> None:
    keys = [(seed,) for seed in range(-50, 50)] + [(seed, lane) for seed in range(10) for lane in range(10)]
    keys += [(2**64 - 1000,), (2**63,), (1, 0, 0)]
    values = {stream(*key) for key in keys}
    assert len(values) == len(keys)
    assert all(0 < value < 2**64 for value in values)
    assert stream() == 1


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint64])
def test_a_stream_is_the_same_for_every_whole_number_type(kind: type) -> None:
    assert stream(kind(7), kind(3)) == stream(7, 3)
    assert State("forest", 2, seed=kind(7)) == State("forest", 2, seed=7)


@pytest.mark.parametrize("seed", [1.0, "1", True, [1], np.float64(1)])
def test_a_seed_that_is_no_whole_number_is_refused(seed: object) -> None:
    with pytest.raises(ValueError, match=r"^seed was .*; give a whole number"):
        State("forest", 2, seed=seed)  # type: ignore[arg-type]


def test_no_seed_gives_another_game_each_time_and_a_new_deal_goes_on_from_the_last() -> None:
    assert State("forest", 2) != State("forest", 2)
    state = State("forest", 2, seed=1)
    first = state.copy()
    state.deal()
    assert state != first
    state.deal(1)
    assert state == first


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 13, 48])
def test_scale_draws_every_number_below_the_bound_in_fair_shares(bound: int) -> None:
    chance = np.uint64(stream(3))
    counts: Counter[int] = Counter()
    draws = 1000 if UNCOMPILED else 20_000
    for _ in range(draws):
        chance = np.uint64(advance(chance))
        counts[int(scale(chance, bound))] += 1
    assert set(counts) == set(range(bound))
    assert not too_far((counts[number] for number in range(bound)), [draws / bound] * bound)


def test_shuffle_makes_every_order_in_fair_shares() -> None:
    state = State("forest", 2, seed=4).record
    counts: Counter[tuple[int, ...]] = Counter()
    draws = 600 if UNCOMPILED else 6000
    for _ in range(draws):
        values = np.arange(3)
        shuffle(state, values)
        counts[tuple(values.tolist())] += 1
    assert len(counts) == 6
    assert not too_far(counts.values(), [draws / 6] * 6)


def test_choose_uniform_draws_legal_actions_in_fair_shares_from_each_rows_generator() -> None:
    rows = 400 if UNCOMPILED else 8000
    mask = np.tile(np.array([0, 1, 1, 0, 1, 0, 1], np.int8), (rows, 1))
    chance = np.array([stream(5, row) for row in range(rows)], np.uint64)
    before = chance.copy()
    actions = np.empty(rows, np.int64)
    choose_uniform(chance, mask, actions)
    counts = Counter(actions.tolist())
    assert set(counts) == {1, 2, 4, 6}
    assert not too_far(counts.values(), [rows / 4] * 4)
    assert (chance != before).all()


def test_choose_uniform_gives_minus_one_where_nothing_is_legal_and_leaves_that_generator() -> None:
    chance = np.array([stream(1), stream(2)], np.uint64)
    actions = np.zeros(2, np.int64)
    choose_uniform(chance, np.array([[0, 0, 0], [0, 0, 1]], np.int8), actions)
    assert actions.tolist() == [-1, 2]
    assert int(chance[0]) == stream(1)
    assert int(chance[1]) != stream(2)


def test_fork_moves_the_parents_on_and_gives_children_a_course_of_their_own() -> None:
    parents = np.array([stream(n) for n in range(50)], np.uint64)
    before = parents.copy()
    children = fork(parents)
    assert (parents != before).all()
    assert parents.tolist() == [int(advance(value)) for value in before]
    assert children.dtype == np.uint64
    again = before.copy()
    assert (fork(again) == children).all()
    courses = {int(value) for value in [*before, *parents, *children, *fork(parents), *fork(children)]}
    assert len(courses) == 50 * 5


def test_deals_lay_every_tile_and_every_token_everywhere_in_fair_shares() -> None:
    deals = 300 if UNCOMPILED else 5000
    state = State("forest", 2, seed=6)
    spirits: Counter[int] = Counter()
    tokens: Counter[int] = Counter()
    unused: Counter[int] = Counter()
    for _ in range(deals):
        state.deal()
        spirits[int(state.record["spirit"][17])] += 1
        tokens[int(state.record["token"][3])] += 1
        unused[int(state.record["unused"][5])] += 1
    tiles = Counter(spirit for spirit, _, _ in all_tiles())
    assert not too_far((spirits[s] for s in range(9)), (deals * tiles[s] / 48 for s in range(9)))
    shares = Counter(all_tokens())
    for counts in (tokens, unused):
        assert not too_far((counts[kind] for kind in range(13)), (deals * shares[kind] / 14 for kind in range(13)))


# --- the same in every process ----------------------------------------------------------------------------

SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
from test_forest_redeal import digests
import json
print(json.dumps(digests()))
"""


@cache
def digests() -> list[str]:
    """Hashes of a few games: records, masks, everybody's views, re-deals and outcomes at every ply."""
    import random

    found = []
    for players, forced_steal in itertools.product((1, 2, 3, 4), (True, False)):
        rng = random.Random(10 * players + forced_steal)
        state = State("forest", players, seed=40 + players, forced_steal=forced_steal, reward="margin")
        digest = hashlib.sha256()
        while True:
            digest.update(state.record.tobytes() + state.mask().tobytes())
            for seat in range(players):
                digest.update(state.observation(seat).tobytes())
            digest.update(state.redealt(players - 1, 8).record.tobytes())
            digest.update(json.dumps([state.scores(), state.returns(), state.winners()]).encode())
            if state.seat < 0:
                break
            state.play(lively_action(state, rng))
        found.append(digest.hexdigest())
    return found


@pytest.mark.parametrize(
    "settings",
    [
        {"NUMBA_DISABLE_JIT": "1"},
        {"NUMBA_DISABLE_JIT": "0", "PYTHONHASHSEED": "1"},
        {"NUMBA_DISABLE_JIT": "0", "PYTHONHASHSEED": "2"},
    ],
    ids=["uncompiled", "compiled", "another hash seed"],
)
def test_games_are_the_same_bit_by_bit_in_a_fresh_process(settings: dict[str, str]) -> None:
    here = Path(__file__).parent
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(here)],
        env={**os.environ, **settings},
        cwd=here.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == digests()
