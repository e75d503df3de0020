"""What a seat sees, slice by slice against the referee, and what no seat may see."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np
import pytest
from forest_play import PASS, PLUS, UNCOMPILED, edited, games_to_play, slices, walk, walk_both
from referee.forest import PLUS_TOKEN, POWERS, SPIRITS, TOKEN_CELLS, Referee, Tile, icons_on

from spirits_env.batch import Batch
from spirits_env.game import Layout, Slice
from spirits_env.games.forest import GAME
from spirits_env.games.forest.state import HELD, LYING, UNEXAMINED, USED
from spirits_env.state import State

LAYOUT = GAME.layout
SEATS = 4
ICONS = SPIRITS + POWERS
TOKENS = (*ICONS, PLUS_TOKEN)
PHASES = ("first", "second", "pay", "place", "move", "end")
PLAYERS = [1, 2, 3, 4]
# The first axis of these is a seat, the observer's own first.
BY_SEAT = (
    *("gem", "takeable", "seat_present", "to_act", "hand", "placed", "removed"),
    *("tokens_held", "plus_used", "tiles", "icons", "missing"),
)


# --- what the referee says each slice should hold ---------------------------------------------------------


def forest(referee: Referee) -> list[Tile]:
    return [tile for row in referee.rows for tile in row]


def end_tiles(referee: Referee) -> list[Tile]:
    return [row[side] for row in referee.rows if row for side in (0, -1)]


def shown(referee: Referee) -> list[Tile]:
    """Solitaire's tiles lie face down but for the two ends of each row."""
    return end_tiles(referee) if referee.players == 1 else forest(referee)


def collections(referee: Referee) -> list[list[Tile]]:
    """Everybody's tiles; solitaire's opponent takes the second place."""
    return referee.collected if referee.players > 1 else [referee.collected[0], referee.opponent_collected]


def plane(cells: Iterable[tuple[int, int]]) -> np.ndarray:
    out = np.zeros(48, np.int8)
    for row, column in cells:
        out[12 * row + column] = 1
    return out


def where(tiles: Iterable[Tile]) -> np.ndarray:
    return plane((tile.row, tile.col) for tile in tiles)


def one_hot(index: int | None, size: int) -> np.ndarray:
    return np.array([index == place for place in range(size)], np.int8)


def around(referee: Referee, seat: int, value: Callable[[int], object]) -> np.ndarray:
    """Values by seat, the observer's first, zero where nobody sits."""
    count = len(collections(referee))
    values = [np.asarray(value((seat + step) % count)) for step in range(count)]
    return np.array(values + [np.zeros_like(values[0])] * (SEATS - count), np.int8)


def may_take(referee: Referee, seat: int, tile: Tile) -> bool:
    owns = any(other.gem == seat for other in forest(referee))
    return tile.gem in (None, seat) or owns or referee.hand[seat] > 0


def takeable(referee: Referee, seat: int) -> np.ndarray:
    def of(owner: int) -> np.ndarray:
        if owner >= referee.players:
            return np.zeros(48, np.int8)
        return where(tile for tile in end_tiles(referee) if may_take(referee, owner, tile))

    return around(referee, seat, of)


def per_player(values: list[int]) -> Callable[[int], int]:
    """Solitaire's opponent has no gems and no "+"."""
    return lambda owner: values[owner] if owner < len(values) else 0


def tokens_held(referee: Referee, owner: int) -> int:
    if owner >= referee.players:
        return 2 - len(referee.opponent_held)
    return len(referee.held[owner]) + len(referee.unexamined[owner])


def icon_counts(tiles: list[Tile]) -> list[int]:
    return [icons_on(tiles, icon) for icon in ICONS]


EXPECTED: dict[str, Callable[[Referee, int], object]] = {
    "present": lambda r, s: where(forest(r)),
    "spirit": lambda r, s: [where(t for t in shown(r) if t.spirit == spirit) for spirit in SPIRITS],
    "double": lambda r, s: where(t for t in shown(r) if t.symbols == 2),
    "power": lambda r, s: [where(t for t in shown(r) if t.power == power) for power in POWERS],
    "gem": lambda r, s: around(r, s, lambda owner: where(t for t in forest(r) if t.gem == owner)),
    "token": lambda r, s: where(t for t in forest(r) if t.token is not None),
    "end": lambda r, s: where(end_tiles(r)),
    "takeable": takeable,
    "paying": lambda r, s: plane([r.paying] if r.paying else []),
    "lifted": lambda r, s: plane([r.lifted] if r.lifted else []),
    "seat_present": lambda r, s: around(r, s, lambda owner: 1),
    "players": lambda r, s: one_hot(r.players - 1, SEATS),
    "own_seat": lambda r, s: one_hot(s, SEATS),
    "to_act": lambda r, s: around(r, s, lambda owner: owner == r.seat),
    "phase": lambda r, s: one_hot(PHASES.index(r.phase), 6),
    "first_spirit": lambda r, s: one_hot(r.first_spirit, 9),
    "turn": lambda r, s: [r.turn],
    "forced_steal": lambda r, s: [r.forced_steal],
    "hand": lambda r, s: around(r, s, per_player(r.hand)),
    "placed": lambda r, s: around(r, s, lambda owner: sum(t.gem == owner for t in forest(r))),
    "removed": lambda r, s: around(r, s, per_player(r.removed)),
    "tokens_held": lambda r, s: around(r, s, lambda owner: tokens_held(r, owner)),
    "plus_used": lambda r, s: around(r, s, per_player(r.used_plus)),
    "own_tokens": lambda r, s: [r.held[s].count(name) for name in TOKENS],
    "turned_up": lambda r, s: [r.opponent_held.count(spirit) for spirit in SPIRITS],
    "tiles": lambda r, s: around(r, s, lambda owner: len(collections(r)[owner])),
    "tiles_left": lambda r, s: [len(forest(r))],
    "icons": lambda r, s: around(r, s, lambda owner: icon_counts(collections(r)[owner])),
    "own_icons": lambda r, s: [icons_on(r.collected[s], icon) + r.held[s].count(icon) for icon in ICONS],
    "missing": lambda r, s: around(r, s, lambda owner: [n == 0 for n in icon_counts(collections(r)[owner])]),
    "icons_left": lambda r, s: icon_counts(forest(r)),
}


def test_the_referee_speaks_of_every_slice() -> None:
    assert list(EXPECTED) == list(LAYOUT)


@pytest.mark.parametrize("forced_steal", [True, False])
@pytest.mark.parametrize("players", PLAYERS)
def test_every_slice_holds_what_the_referee_says_for_every_seat(players: int, forced_steal: bool) -> None:
    for seed in range(games_to_play(12, 1)):
        for ply, (state, referee) in enumerate(walk_both(players, seed, forced_steal)):
            if ply % 5 and referee.phase not in ("pay", "move", "end"):
                continue
            for seat in range(players):
                for name, seen in slices(state, seat).items():
                    expected = np.asarray(EXPECTED[name](referee, seat), np.int8)
                    assert (seen == expected).all(), (name, seat, seed, ply)


# --- form -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("players", PLAYERS)
def test_every_entry_stays_within_its_bounds_at_every_ply(players: int) -> None:
    low, high = LAYOUT.low(), LAYOUT.high()
    assert low.shape == high.shape == (LAYOUT.size,)
    for seed in range(games_to_play(20, 1)):
        for state in walk(players, seed):
            for seat in range(players):
                seen = state.observation(seat)
                assert seen.dtype == np.int8
                assert ((low <= seen) & (seen <= high)).all()


def test_the_vector_has_the_same_size_for_every_player_count() -> None:
    sizes = {State("forest", players, seed=1).observation(0).shape for players in PLAYERS}
    assert sizes == {(LAYOUT.size,)}
    assert LAYOUT.size == sum(part.size for part in LAYOUT.slices)


@pytest.mark.parametrize("players", PLAYERS)
def test_absent_seats_are_zero_and_marked_as_absent(players: int) -> None:
    collectors = max(players, 2)
    assert {part.name for part in LAYOUT.slices if part.shape[0] == SEATS} == {*BY_SEAT, "players", "own_seat"}
    for seed in range(games_to_play(5, 1)):
        for state in walk(players, seed):
            seen = slices(state, 0)
            assert seen["seat_present"].tolist() == [1] * collectors + [0] * (SEATS - collectors)
            assert not any(seen[name][collectors:].any() for name in BY_SEAT)


def test_the_turn_is_capped_at_127() -> None:
    state = State("forest", 2, seed=1)
    assert slices(edited(state, turn=127), 0)["turn"] == [127]
    assert slices(edited(state, turn=128), 0)["turn"] == [127]


def test_the_slices_follow_each_other_without_gaps_and_the_tile_planes_come_first() -> None:
    starts = [LAYOUT[name].start for name in LAYOUT]
    stops = [LAYOUT[name].stop for name in LAYOUT]
    assert starts == [0, *stops[:-1]]
    assert stops[-1] == LAYOUT.size
    assert len(LAYOUT) == len(set(LAYOUT)) == len(LAYOUT.slices)
    board = GAME.board
    assert board.planes == tuple(LAYOUT)[: len(board.planes)]
    assert all(part.shape[-1] == board.rows * board.columns == 48 for part in LAYOUT.slices[: len(board.planes)])
    assert {board.present, *board.icons, *board.counts, board.picked} <= set(LAYOUT)


@pytest.mark.parametrize("lead", [(), (3,), (2, 5)])
def test_unpack_cuts_the_vector_and_joined_again_it_is_the_same(lead: tuple[int, ...]) -> None:
    vector = np.random.default_rng(1).integers(0, 2, (*lead, LAYOUT.size)).astype(np.int8)
    parts = LAYOUT.unpack(vector)
    assert [parts[part.name].shape for part in LAYOUT.slices] == [(*lead, *part.shape) for part in LAYOUT.slices]
    joined = np.concatenate([part.reshape(*lead, -1) for part in parts.values()], axis=-1)
    assert (joined == vector).all()


@pytest.mark.parametrize("change", [{"name": "hands"}, {"shape": (5,)}, {"low": -1}, {"high": 4}])
def test_the_fingerprint_changes_with_a_slices_name_shape_or_bounds(change: dict[str, object]) -> None:
    changed = tuple(dataclasses.replace(part, **change) if part.name == "hand" else part for part in LAYOUT.slices)
    assert Layout(changed).fingerprint() != LAYOUT.fingerprint()


def test_the_fingerprint_changes_with_the_order_and_number_of_slices_and_not_with_their_words() -> None:
    assert Layout(LAYOUT.slices[::-1]).fingerprint() != LAYOUT.fingerprint()
    assert Layout(LAYOUT.slices[:-1]).fingerprint() != LAYOUT.fingerprint()
    reworded = tuple(dataclasses.replace(part, text="other words") for part in LAYOUT.slices)
    assert Layout(reworded).fingerprint() == LAYOUT.fingerprint()


def test_a_batch_shows_the_seat_to_act_the_same_as_a_state() -> None:
    batch = Batch("forest", 3, players=3)
    batch.reset([5, 6, 7])
    states = [State("forest", 3, seed=seed) for seed in (5, 6, 7)]
    for _ in range(20):
        actions = [state.legal_actions()[-1] for state in states]
        batch.step(np.array(actions))
        for lane, (state, action) in enumerate(zip(states, actions, strict=True)):
            state.play(action)
            assert (batch.observation[lane] == state.observation(state.seat)).all()
            assert (batch.mask[lane] == state.mask()).all()


def test_the_array_handed_out_is_the_callers_own() -> None:
    state = State("forest", 2, seed=1)
    for seat in (0, 1):
        state.observation(seat)[:] = 9
        state.mask()[:] = 9
        assert state.observation(seat).max() <= 48
    assert state.mask().max() == 1


@pytest.mark.parametrize("seat", [-1, 2, True, 0.0, "0", None])
def test_a_seat_that_nobody_plays_in_is_refused(seat: object) -> None:
    state = State("forest", 2, seed=1)
    with pytest.raises(ValueError, match=r"^seat was .*; give a seat from 0 to 1\.$"):
        state.observation(seat)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^seat was .*; give a seat from 0 to 1\.$"):
        state.redealt(seat, 1)  # type: ignore[arg-type]


# --- seats ------------------------------------------------------------------------------------------------


def rotated(state: State, by: int) -> State:
    """The same game with everybody sitting `by` seats further to the left."""
    players, record = state.players, state.record
    fields: dict[str, object] = {}
    for name in ("gem", "token_seat"):
        fields[name] = np.where(record[name] < 0, record[name], (record[name] + by) % players)
    for name in ("hand", "placed", "removed", "tiles", "icons"):
        fields[name] = np.concatenate([np.roll(record[name][:players], by, axis=0), record[name][players:]])
    return edited(state, seat=-1 if state.seat < 0 else (state.seat + by) % players, **fields)


@pytest.mark.parametrize("players", [2, 3, 4])
def test_relabelling_the_seats_changes_no_view_but_for_the_seat_number(players: int) -> None:
    for seed in range(games_to_play(4, 1)):
        for ply, state in enumerate(walk(players, seed)):
            if UNCOMPILED and ply % 4:
                continue
            for by in range(1, players):
                other = rotated(state, by)
                assert other.legal_actions() == state.legal_actions()
                for seat in range(players):
                    place = (seat + by) % players
                    before, after = state.observation(seat), other.observation(place)
                    before[LAYOUT["own_seat"]] = after[LAYOUT["own_seat"]]
                    assert (before == after).all()
                    assert slices(other, place)["own_seat"].tolist() == one_hot(place, SEATS).tolist()


# --- what a seat may not know -----------------------------------------------------------------------------


def hidden_from_all(state: State) -> np.ndarray:
    """Tokens that only their holder may have seen, and those that nobody has."""
    return np.flatnonzero(state.record["token_status"] != USED)


def test_every_slice_says_who_may_know_it() -> None:
    assert {part.known for part in LAYOUT.slices} == {"all", "own"}
    assert [part.name for part in LAYOUT.slices if part.known == "own"] == ["own_tokens", "own_icons"]


@pytest.mark.parametrize("part", LAYOUT.slices, ids=lambda part: part.name)
def test_a_slice_known_to_all_does_not_hang_on_tokens_and_an_own_one_on_the_observers_alone(part: Slice) -> None:
    changed = 0
    for seed in range(games_to_play(2, 1)):
        for ply, state in enumerate(walk(3, seed)):
            if ply % 7:
                continue
            for seat in range(3):
                before = slices(state, seat)[part.name]
                own = [i for i in hidden_from_all(state) if state.record["token_seat"][i] == seat]
                seen = [i for i in own if state.record["token_status"][i] == HELD]
                rest = [i for i in hidden_from_all(state) if i not in seen]
                # One kind further for all the rest is another deal of what the seat has not seen.
                kinds = state.record["token"].copy()
                kinds[rest] = (kinds[rest] + 1) % len(TOKENS)
                assert (slices(edited(state, token=kinds), seat)[part.name] == before).all()
                kinds[seen] = (kinds[seen] + 1) % len(TOKENS)
                changed += bool((slices(edited(state, token=kinds), seat)[part.name] != before).any())
    assert (changed > 0) == (part.known == "own")


@pytest.mark.parametrize("players", [2, 3, 4])
def test_what_all_may_know_is_the_same_for_every_observer_up_to_who_comes_first(players: int) -> None:
    differ = 0
    for seed in range(games_to_play(4, 1)):
        for state in walk(players, seed):
            views = [slices(state, seat) for seat in range(players)]
            differ += len({view["own_tokens"].tobytes() for view in views}) > 1
            for part in LAYOUT.slices:
                # Their own tokens are what observers may differ in, and the number of their seat.
                if part.known == "own" or part.name == "own_seat":
                    continue
                first = views[0][part.name]
                for seat, view in enumerate(views):
                    expected = first.copy()
                    if part.name in BY_SEAT:
                        expected[:players] = np.roll(first[:players], -seat, axis=0)
                    assert (view[part.name] == expected).all(), (part.name, seat)
    assert differ > 0


def places_by_secrecy(state: State, seat: int) -> dict[str, list[int]]:
    """Tokens by what a seat may know of them: the dealt ones by their number, the unused ones from 8 on."""
    found: dict[str, list[int]] = {"known": [], "lying": [], "unexamined": [], "others'": [], "unused": [*range(8, 14)]}
    record = state.record
    for token in range(8):
        status, owner = record["token_status"][token], record["token_seat"][token]
        if status == LYING:
            found["lying"].append(token)
        elif status == UNEXAMINED:
            found["unexamined" if owner == seat else "others'"].append(token)
        elif status == HELD:
            found["known" if owner == seat else "others'"].append(token)
    return found


def exchanged(state: State, one: int, other: int) -> State:
    """Let two tokens, dealt or unused, change their kinds."""
    kinds = np.concatenate([state.record["token"], state.record["unused"]])
    kinds[[one, other]] = kinds[[other, one]]
    return edited(state, token=kinds[:8], unused=kinds[8:])


@pytest.mark.parametrize("players", [2, 3, 4])
def test_two_tokens_may_change_places_unseen_unless_the_seat_knows_one_of_them(players: int) -> None:
    unseen: Counter[str] = Counter()
    pluses: Counter[str] = Counter()
    seen = 0
    for seed in range(games_to_play(12, 3)):
        for ply, state in enumerate(walk(players, seed)):
            if ply % (12 if UNCOMPILED else 4) and UNEXAMINED not in state.record["token_status"]:
                continue
            kinds = [*state.record["token"].tolist(), *state.record["unused"].tolist()]
            for seat in range(players):
                places = places_by_secrecy(state, seat)
                known = places.pop("known")
                for name, tokens in places.items():
                    # One of each sort against one unused token of another kind is enough, a "+" if there is any.
                    tokens.sort(key=lambda token: kinds[token] != TOKENS.index(PLUS_TOKEN))
                    for token in tokens[:1]:
                        spare = next(i for i in range(13, 7, -1) if kinds[i] != kinds[token])
                        other = exchanged(state, token, spare)
                        assert other != state
                        assert (other.observation(seat) == state.observation(seat)).all(), (name, seed, ply)
                        if state.seat == seat:
                            assert (other.mask() == state.mask()).all(), (name, seed, ply)
                        unseen[name] += 1
                        pluses[name] += kinds[token] == TOKENS.index(PLUS_TOKEN)
                for token in known:
                    spare = next(i for i in range(8, 14) if kinds[i] != kinds[token])
                    assert (exchanged(state, token, spare).observation(seat) != state.observation(seat)).any()
                    seen += 1
    assert set(unseen) == {"lying", "unexamined", "others'", "unused"}
    assert pluses["others'"] > 0
    assert seen > 0


@pytest.mark.parametrize("players", PLAYERS)
def test_a_redealt_game_looks_the_same_to_the_seat_and_offers_it_the_same(players: int) -> None:
    different = 0
    for seed in range(games_to_play(10, 1)):
        for state in walk(players, seed):
            for seat in range(players):
                other = state.redealt(seat, seed + 1)
                assert (other.observation(seat) == state.observation(seat)).all()
                different += (other.record["token"] != state.record["token"]).any()
                if state.seat == seat:
                    assert (other.mask() == state.mask()).all()
    assert different > 0


def holding(state: State, index: int, kind: str) -> State:
    """Give a dealt token another kind; the one it had goes to the unused."""
    kinds = state.record["token"].copy()
    kinds[index] = TOKENS.index(kind)
    return edited(state, token=kinds)


def test_an_opponents_hidden_plus_does_not_show_to_others_and_not_in_their_mask() -> None:
    compared = 0
    for seed in range(games_to_play(30, 2)):
        for state in walk(3, seed):
            record = state.record
            for index in np.flatnonzero(record["token_status"] == HELD):
                owner = int(record["token_seat"][index])
                # With a lost gem, a "+" in hand is what could show most.
                if record["removed"][owner] == 0:
                    continue
                plus, moon = holding(state, index, "plus"), holding(state, index, "moon")
                for seat in range(3):
                    if seat != owner:
                        assert (plus.observation(seat) == moon.observation(seat)).all()
                if state.seat not in (owner, -1):
                    assert (plus.mask() == moon.mask()).all()
                    compared += 1
    assert compared > 0


def test_a_token_on_the_first_tile_is_unknown_to_its_owner_until_the_collect_step_is_over() -> None:
    met = 0
    for seed in range(games_to_play(40, 10)):
        for state in walk(2, seed):
            fresh = np.flatnonzero(state.record["token_status"] == UNEXAMINED)
            if len(fresh) == 0:
                continue
            assert state.phase in ("second", "pay")
            plus, moon = holding(state, fresh[0], "plus"), holding(state, fresh[0], "moon")
            assert (plus.observation(state.seat) == moon.observation(state.seat)).all()
            assert (plus.mask() == moon.mask()).all()
            assert slices(state, state.seat)["tokens_held"][0] >= 1
            if state.phase == "second":
                met += 1
                actor = state.seat
                plus.play(PASS)
                moon.play(PASS)
                assert slices(plus, actor)["own_tokens"][TOKENS.index("plus")] >= 1
                assert slices(moon, actor)["own_tokens"][TOKENS.index("moon")] >= 1
    assert met > 0


def test_a_used_plus_shows_to_everybody() -> None:
    used = 0
    for seed in range(games_to_play(40, 6)):
        for state in walk(2, seed):
            if PLUS in state.legal_actions():
                actor, before = state.seat, slices(state, 1 - state.seat)["plus_used"][1]
                after = state.copy()
                after.play(PLUS)
                assert slices(after, 1 - actor)["plus_used"][1] == before + 1
                assert slices(after, actor)["plus_used"][0] == before + 1
                used += 1
    assert used > 0


@pytest.mark.parametrize("players", PLAYERS)
def test_the_generator_of_chance_shows_in_no_view_and_no_mask(players: int) -> None:
    for ply, state in enumerate(walk(players, 4)):
        if ply % 10 == 0:
            other = edited(state, rng=int(state.record["rng"]) ^ 0xABCDEF)
            assert other != state
            assert (other.mask() == state.mask()).all()
            for seat in range(players):
                assert (other.observation(seat) == state.observation(seat)).all()


def test_tokens_lie_face_down_on_their_cells_for_everybody() -> None:
    state = State("forest", 4, seed=3)
    for seat in range(4):
        seen = slices(state, seat)
        assert (seen["token"] == plane(TOKEN_CELLS)).all()
        assert not seen["own_tokens"].any()
        assert not seen["tokens_held"].any()


def test_others_tokens_stay_hidden_to_the_end() -> None:
    *_, state = walk(3, 8)
    assert state.phase == "end"
    record = state.record
    assert LYING not in record["token_status"]
    for seat in range(3):
        others = (record["token_seat"] != seat) & (record["token_status"] == HELD)
        kinds = record["token"].copy()
        kinds[others] = (kinds[others] + 1) % len(TOKENS)
        assert (edited(state, token=kinds).observation(seat) == state.observation(seat)).all()
        mine = (record["token_seat"] == seat) & (record["token_status"] == HELD)
        own = Counter(TOKENS[kind] for kind in record["token"][mine])
        assert slices(state, seat)["own_tokens"].tolist() == [own[name] for name in TOKENS]


# --- solitaire --------------------------------------------------------------------------------------------


def test_solitaire_hides_the_tiles_between_the_ends_and_shows_the_ends() -> None:
    for state in walk(1, 2):
        seen, record = slices(state, 0), state.record
        down = (seen["present"] == 1) & (seen["end"] == 0)
        for name in ("spirit", "double", "power"):
            assert not seen[name][..., down].any()
        assert (seen["spirit"].sum(axis=0) == seen["end"]).all()
        cells = np.flatnonzero(down)
        if len(cells) >= 2:
            swapped = {name: record[name].copy() for name in ("spirit", "symbols", "power")}
            for values in swapped.values():
                values[cells] = np.roll(values[cells], 1)
            other = edited(state, **swapped)
            assert (other.observation(0) == state.observation(0)).all()


def test_solitaire_hides_the_opponents_tokens_until_they_turn_up() -> None:
    turned = set()
    for state in walk(1, 3):
        record = state.record
        up = int((record["token_status"][1:3] == USED).sum())
        emptied = int((record["left"] > record["right"]).sum())
        assert up == min(emptied, 2)
        turned.add(up)
        kinds = record["token"].copy()
        kinds[1 + up : 3] = (kinds[1 + up : 3] + 1) % 9
        assert (edited(state, token=kinds).observation(0) == state.observation(0)).all()
        assert slices(state, 0)["turned_up"].sum() == up
    assert turned == {0, 1, 2}
