"""A game as a value and as JSON: copied, compared, written, replayed; what is impossible is refused in one sentence."""

from __future__ import annotations

import copy
import json
import math
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forest_play import PASS, UNCOMPILED, games_to_play, lively_action, snapshots, walk
from hypothesis import given, settings
from hypothesis import strategies as st

from spirits_env import record as records
from spirits_env.game import IllegalAction
from spirits_env.games.forest import GAME
from spirits_env.games.forest.components import ICONS, TOKENS
from spirits_env.state import State

FUZZ = settings(max_examples=20 if UNCOMPILED else 150, deadline=None, derandomize=True, database=None)
LARGE = 2**70
# More digits than Python turns into text (4,300), and lists too deep for it to show.
ENORMOUS = 10**5000
DEEP: list[Any] = []
for _ in range(5000):
    DEEP = [DEEP]


def played(players: int = 2, seed: int = 1, **options: Any) -> State:
    """A finished game."""
    *_, state = walk(players, seed, **options)
    return state


def check_sentence(error: pytest.ExceptionInfo[Exception]) -> str:
    """An error is one sentence that starts with a capital or the name of an argument and ends with a full stop."""
    text = str(error.value)
    assert "\n" not in text
    assert re.match(r"^[A-Zps]", text), text
    assert text.endswith("."), text
    return text


def refusal(call: Callable[[], object]) -> str | None:
    """The words of the ValueError that a call ends in, None if it doesn't; any other error goes through."""
    try:
        call()
    except ValueError as error:
        return str(error)
    return None


# --- a value ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("copied", [State.copy, copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
@pytest.mark.parametrize("players", [1, 2, 3, 4])
def test_a_copy_is_equal_and_independent_and_goes_on_the_same(players: int, copied: Callable[[State], State]) -> None:
    for state in snapshots(players, 3)[::15]:
        other = copied(state)
        assert other is not state
        assert other == state
        assert hash(other) == hash(state)
        assert (other.history, other.seat, other.phase) == (state.history, state.seat, state.phase)
        assert (other.mask() == state.mask()).all()
        assert all((other.observation(s) == state.observation(s)).all() for s in range(players))
        if state.seat >= 0:
            before = state.copy()
            action = state.legal_actions()[0]
            other.play(action)
            assert state == before
            assert state.history == before.history
            assert other != state
            before.play(action)
            assert other == before


def test_different_games_are_unequal_and_nothing_else_equals_a_game() -> None:
    states = [State("forest", players, seed=seed) for players in (1, 2, 3, 4) for seed in (1, 2)]
    states += [State("forest", 2, seed=1, reward="margin"), State("forest", 2, seed=1, forced_steal=False)]
    assert len(set(states)) == len(states)
    assert State("forest", 2, seed=1) in states
    assert states[0] != "forest"
    assert states[0] != states[0].record.tobytes()


def test_same_seed_and_same_actions_give_the_same_game() -> None:
    one, other = played(3, 4), played(3, 4)
    assert one == other
    assert one.history == other.history


def test_a_deal_starts_afresh_with_the_same_players_and_options() -> None:
    state = played(3, 1, forced_steal=False, reward="margin")
    state.deal(7)
    assert state == State("forest", 3, seed=7, forced_steal=False, reward="margin")
    assert (state.history, state.seat, state.phase, state.turn) == ([], 0, "first", 0)


def test_facts_of_a_state_are_those_of_its_record() -> None:
    state = State("forest", 4, seed=2, forced_steal=False)
    assert (state.players, state.options) == (4, {"forced_steal": False, "reward": "win"})
    assert repr(state) == "<State of Spirits of the Forest: 4 players, turn 0, first, seat 0>"
    assert isinstance(state.text(0), str)
    assert isinstance(state.svg(), str)


def test_before_the_end_there_are_no_winners_and_no_returns_but_points() -> None:
    state = State("forest", 3, seed=2)
    assert (state.winners(), state.returns()) == ([], [0.0, 0.0, 0.0])
    # Nobody has a tile: every icon is tied at nothing and costs everybody 3.
    assert state.scores() == [-3 * len(ICONS)] * 3


def test_a_finished_game_refuses_every_action_and_says_so() -> None:
    state = played()
    before = state.copy()
    for action in (0, PASS):
        with pytest.raises(IllegalAction, match=r"the game is over, so reset it first\.$"):
            state.play(action)
    assert state == before
    assert not state.mask().any()


@pytest.mark.parametrize("reward", ["win", "margin"])
@pytest.mark.parametrize("players", [1, 2, 3, 4])
def test_no_game_ends_below_the_worst_return(players: int, reward: str) -> None:
    worst = GAME.worst_return(players, {"reward": reward})
    lowest = min(min(played(players, seed, reward=reward).returns()) for seed in range(games_to_play(30, 2)))
    # A lone win leaves the others with just that; a margin so bad takes more luck.
    assert lowest >= worst - 1e-6
    if reward == "win" and not UNCOMPILED:
        assert lowest == pytest.approx(worst)


# --- actions ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "action",
    [
        *(None, 1.5, 1.0, math.nan, True, False, "3", "take_row0_left", b"1", [1], (1,), {}, object, 1j),
        *(np.float64(1), np.float32(0), np.bool_(True), np.array([1]), np.array([]), np.array(1.0), np.array("1")),
    ],
    ids=repr,
)
def test_an_action_that_is_no_whole_number_is_refused_by_name_and_changes_nothing(action: Any) -> None:
    state = State("forest", 2, seed=1)
    before = state.copy()
    with pytest.raises(IllegalAction) as error:
        state.play(action)
    text = check_sentence(error)
    assert repr(action) in text
    assert type(action).__name__ in text
    assert "give a whole number from 0 to 58" in text
    assert (state, state.history) == (before, [])


@pytest.mark.parametrize("action", [-1, 8, 56, 57, 58, 59, 58 + 1, 2**31, 2**63, LARGE, -LARGE, np.uint64(2**64 - 1)])
def test_a_number_that_is_no_legal_action_is_refused_with_the_legal_ones_and_changes_nothing(action: Any) -> None:
    state = State("forest", 2, seed=1)
    before = state.copy()
    with pytest.raises(IllegalAction) as error:
        state.play(action)
    text = check_sentence(error)
    assert text.startswith(f"Action {int(action)} (")
    assert "'first'" in text
    assert "0 (take_row0_left), 1 (take_row0_right)" in text
    assert (state, state.history) == (before, [])


@pytest.mark.parametrize("action", [DEEP, ENORMOUS, -ENORMOUS, np.zeros((2, 2), int)], ids=["deep", "+", "-", "array"])
def test_an_action_too_large_to_show_is_refused_in_one_sentence(action: Any) -> None:
    state = State("forest", 2, seed=1)
    before = state.copy()
    with pytest.raises(IllegalAction) as error:
        state.play(action)
    assert "4300" not in check_sentence(error)
    assert (state, state.history) == (before, [])


@pytest.mark.parametrize("kind", [int, np.int8, np.int64, np.uint8, np.array])
def test_every_whole_number_type_plays(kind: Callable[[int], Any]) -> None:
    state, other = State("forest", 2, seed=1), State("forest", 2, seed=1)
    state.play(kind(3))
    other.play(3)
    assert state == other
    assert state.history == [3]
    assert type(state.history[0]) is int


def test_every_illegal_number_of_every_phase_is_refused_and_changes_nothing() -> None:
    phases = set()
    for state in snapshots(2, 2) if UNCOMPILED else snapshots(2, 2) + snapshots(4, 3):
        phases.add(state.phase)
        before = state.copy()
        for action in set(range(59)) - set(state.legal_actions()):
            with pytest.raises(IllegalAction):
                state.play(action)
        assert state == before
        assert state.history == before.history
    assert phases >= {"first", "second", "place", "end"}


@pytest.mark.parametrize("name", ["take_row9_left", "", "Pass"])
def test_an_unknown_action_name_is_refused(name: str) -> None:
    assert GAME.action_id("pass") == PASS
    with pytest.raises(ValueError, match="no action named"):
        GAME.action_id(name)


# --- players and options ----------------------------------------------------------------------------------


@pytest.mark.parametrize("players", [0, 5, -1, 2.0, "2", None, True, [2], math.nan, LARGE], ids=repr)
def test_a_wrong_player_count_is_refused(players: Any) -> None:
    with pytest.raises(ValueError, match="players was ") as error:
        State("forest", players)
    text = check_sentence(error)
    assert repr(players) in text
    assert "1, 2, 3, 4" in text


@pytest.mark.parametrize("value", [1, 0, None, "True", 1.0, [True], math.nan], ids=repr)
def test_a_wrong_option_value_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="'forced_steal'") as error:
        State("forest", 2, forced_steal=value)
    text = check_sentence(error)
    assert repr(value) in text
    assert "False or True" in text


@pytest.mark.parametrize("value", ["Win", "", None, 0, ["win"]], ids=repr)
def test_a_wrong_reward_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="'win' or 'margin'"):
        State("forest", 2, reward=value)


def test_an_unknown_option_and_an_unknown_game_are_refused_with_what_there_is() -> None:
    with pytest.raises(ValueError, match=r"'rewards' is unknown .* forced_steal, reward\."):
        State("forest", 2, rewards="win")
    with pytest.raises(ValueError, match="no game named 'woods'; the games are forest"):
        State("woods")


# --- set-ups ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("players", [1, 2, 3, 4])
def test_a_game_starts_from_the_setup_of_another_and_from_its_json(players: int) -> None:
    for state in snapshots(players, 6)[::40]:
        setup = state.setup()
        assert json.loads(json.dumps(setup)) == setup
        again = State("forest", players, seed=0, setup=setup)
        assert again.setup() == setup
        assert (again.turn, again.history) == (0, [])
        fresh = State("forest", players, seed=6)
        assert fresh.setup() == setup
        for seat in range(players):
            assert (again.observation(seat) == fresh.observation(seat)).all()


def test_a_setup_is_written_as_the_contract_says() -> None:
    setup = State("forest", 2, seed=1).setup()
    assert list(setup) == ["tiles", "tokens", "unused"]
    assert len(setup["tiles"]) == 48
    assert all(type(value) is int for tile in setup["tiles"] for value in tile[:2])
    assert all(power is None or power in (0, 1, 2) for _, _, power in setup["tiles"])
    assert all(name in TOKENS for _, _, name in setup["tokens"])
    alone = State("forest", 1, seed=1).setup()
    assert list(alone) == ["tiles", "player_token", "opponent_tokens", "unused"]
    assert sorted([alone["player_token"], *alone["opponent_tokens"], *alone["unused"]]) == sorted(ICONS[:9])


def test_token_entries_may_come_in_any_order() -> None:
    setup = State("forest", 2, seed=1).setup()
    shuffled = {**setup, "tokens": setup["tokens"][::-1]}
    assert State("forest", 2, seed=0, setup=shuffled).setup() == setup


def setup_of(players: int) -> dict[str, Any]:
    return State("forest", players, seed=9).setup()


def changed(players: int, *path: Any, to: Any) -> dict[str, Any]:
    """A set-up with one value replaced."""
    setup = copy.deepcopy(setup_of(players))
    place: Any = setup
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return setup


def without(players: int, key: str) -> dict[str, Any]:
    return {name: value for name, value in setup_of(players).items() if name != key}


def tile_other_than(setup: dict[str, Any], index: int) -> list[Any]:
    return next(tile for tile in setup["tiles"] if tile != setup["tiles"][index])


# A tile without a power, which only null stands for.
PLAIN = next(i for i, tile in enumerate(setup_of(2)["tiles"]) if tile[2] is None)
BAD_SETUPS: dict[str, tuple[int, Any, str]] = {
    "a list": (2, [], "setup was a list"),
    "a string": (2, "tiles", "setup was a str"),
    "a number": (2, 3, "setup was a int"),
    "empty": (2, {}, "keys none"),
    "no tiles": (2, without(2, "tiles"), "'tokens', 'unused'; it needs exactly tiles, tokens, unused"),
    "no unused": (2, without(2, "unused"), "exactly tiles, tokens, unused"),
    "one key more": (2, {**setup_of(2), "gems": []}, "'gems'; it needs exactly"),
    "a key that is no string": (2, {**without(2, "unused"), 3: []}, "3; it needs exactly"),
    "that of a solitaire": (2, setup_of(1), "exactly tiles, tokens, unused"),
    "that of others, alone": (1, setup_of(2), "exactly tiles, player_token, opponent_tokens, unused"),
    "tiles as a number": (2, changed(2, "tiles", to=48), "tiles has a int"),
    "tiles as a string": (2, changed(2, "tiles", to="x" * 48), "needs a list of 48"),
    "tiles as bytes": (2, changed(2, "tiles", 0, to=b"\0\1\0"), "needs a list of 3"),
    "tiles as a dict": (2, changed(2, "tiles", to=dict.fromkeys(range(48))), "tiles has a dict"),
    "too few tiles": (2, changed(2, "tiles", to=setup_of(2)["tiles"][:-1]), "has 47 entries"),
    "too many tiles": (2, changed(2, "tiles", to=setup_of(2)["tiles"] * 2), "has 96 entries"),
    "a tile twice": (2, changed(2, "tiles", 0, to=tile_other_than(setup_of(2), 0)), "times; the box holds it"),
    "a tile that is none": (2, changed(2, "tiles", 5, to=None), "tile 5 has a NoneType"),
    "a short tile": (2, changed(2, "tiles", 5, to=[1, 1]), "tile 5 has 2 entries"),
    "a tile nested too deep": (2, changed(2, "tiles", 5, to=[[1, 1, 0]] * 3), "Tile 5 of the setup is"),
    "a spirit by name": (2, changed(2, "tiles", 5, 0, to="moss"), "give [spirit, symbols, power or null]"),
    "a spirit too large": (2, changed(2, "tiles", 5, 0, to=9), "has the tile [9,"),
    "a spirit far too large": (2, changed(2, "tiles", 5, 0, to=LARGE), f"has the tile [{LARGE},"),
    "a negative spirit": (2, changed(2, "tiles", 5, 0, to=-1), "has the tile [-1,"),
    "a spirit that is true": (2, changed(2, "tiles", 5, 0, to=True), "Tile 5 of the setup is [True"),
    "a spirit that is no number": (2, changed(2, "tiles", 5, 0, to=math.nan), "Tile 5 of the setup is [nan"),
    "a fractional spirit": (2, changed(2, "tiles", 5, 0, to=1.0), "Tile 5 of the setup is [1.0"),
    "three symbols": (2, changed(2, "tiles", 5, 1, to=3), "the box holds it 0 times"),
    "power -1 for none": (2, changed(2, "tiles", PLAIN, 2, to=-1), f"Tile {PLAIN} of the setup is ["),
    "power -1 on a single": (2, changed(2, "tiles", 5, to=[1, 1, -1]), "is [1, 1, -1]; give [spirit, symbols, power"),
    "power -2 on a single": (2, changed(2, "tiles", 5, to=[1, 1, -2]), "is [1, 1, -2]; give [spirit, symbols, power"),
    "a double with a power": (2, changed(2, "tiles", 5, to=[5, 2, 0]), "[5, 2, 0] 1 times; the box holds it 0"),
    "a power by name": (2, changed(2, "tiles", 5, 2, to="sun"), "Tile 5 of the setup is"),
    "tokens as none": (2, changed(2, "tokens", to=None), "tokens has a NoneType"),
    "seven tokens": (2, changed(2, "tokens", to=setup_of(2)["tokens"][:-1]), "tokens has 7 entries"),
    "a token on another cell": (2, changed(2, "tokens", 0, 1, to=2), "lays a token on (0, 2); lay one on each of"),
    "a token outside": (2, changed(2, "tokens", 0, 0, to=LARGE), "lays a token on"),
    "two tokens on a cell": (2, changed(2, "tokens", 1, to=[0, 1, "moss"]), "lays a token on (0, 1); lay one on"),
    "a token on a fractional cell": (2, changed(2, "tokens", 0, 1, to=1.0), "lays a token on (0, 1.0)"),
    "a token on a cell that is true": (2, changed(2, "tokens", 0, 1, to=True), "lays a token on (0, True)"),
    "a token on a nested cell": (2, changed(2, "tokens", 0, 0, to=[0]), "lays a token on ([0], 1)"),
    "a token entry without a name": (2, changed(2, "tokens", 0, to=[0, 1]), "token entry has 2 entries"),
    "an unknown token": (2, changed(2, "tokens", 0, 2, to="rain"), "names the token 'rain'; tokens are branches"),
    "a token by number": (2, changed(2, "tokens", 0, 2, to=3), "names the token 3"),
    "a token that is a list": (2, changed(2, "tokens", 0, 2, to=["moss"]), "names the token ['moss']"),
    "an unused token unknown": (2, changed(2, "unused", 0, to=None), "names the token None"),
    "five unused tokens": (2, changed(2, "unused", to=setup_of(2)["unused"][:-1]), "unused has 5 entries"),
    "unused as a string": (2, changed(2, "unused", to="plus"), "needs a list of 6"),
    "three plus tokens": (2, changed(2, "unused", to=["plus"] * 6), "'plus' "),
    "a token twice": (2, changed(2, "unused", to=["moon"] * 6), "times; there are 1 in play"),
    "alone, a power as a token": (1, changed(1, "player_token", to="moon"), "'moon' 1 times; there are 0 in play"),
    "alone, three opponent tokens": (1, changed(1, "opponent_tokens", to=["moss"] * 3), "has 3 entries"),
    "alone, a token that is none": (1, changed(1, "player_token", to=None), "names the token None"),
    "alone, a token twice": (1, changed(1, "opponent_tokens", to=["moss", "moss"]), "'moss' "),
}


@pytest.mark.parametrize("case", BAD_SETUPS)
def test_an_impossible_setup_is_refused_in_one_sentence_and_changes_nothing(case: str) -> None:
    players, setup, says = BAD_SETUPS[case]
    state = snapshots(players, 3)[11]
    before = state.copy()
    with pytest.raises(ValueError, match=re.escape(says)) as error:
        state.deal(1, setup)
    check_sentence(error)
    assert state == before
    assert state.history == before.history
    assert (state.mask() == before.mask()).all()
    with pytest.raises(ValueError, match=re.escape(says)):
        State("forest", players, seed=1, setup=setup)


@pytest.mark.parametrize("junk", [DEEP, {"a": DEEP}, ENORMOUS, -ENORMOUS], ids=["list", "dict", "huge", "minus huge"])
@pytest.mark.parametrize(
    "path",
    [("tiles",), ("tiles", 5), ("tiles", 5, 0), ("tiles", 5, 2), ("tokens",), ("tokens", 0, 0), ("unused", 0)],
    ids=str,
)
def test_what_python_cannot_show_is_refused_in_one_sentence_all_the_same(path: tuple[Any, ...], junk: Any) -> None:
    setup = changed(2, *path, to=junk)
    state = State("forest", 2, seed=1)
    before = state.copy()
    with pytest.raises(ValueError, match=r"[Ss]etup") as error:
        state.deal(1, setup)
    assert "4300" not in check_sentence(error)
    assert state == before


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from([*TOKENS, "tiles"]),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)


@FUZZ
@given(setup=JUNK, players=st.integers(1, 4))
def test_any_junk_as_a_setup_is_refused(setup: Any, players: int) -> None:
    if setup is None:
        return  # That asks for a random deal.
    state = State("forest", players, seed=1)
    before = state.copy()
    with pytest.raises(ValueError, match="setup") as error:
        state.deal(1, setup)
    check_sentence(error)
    assert state == before


@FUZZ
@given(data=st.data(), players=st.integers(1, 2), junk=JUNK)
def test_any_junk_within_a_setup_is_refused_or_gives_a_possible_game(
    data: st.DataObject, players: int, junk: Any
) -> None:
    setup = copy.deepcopy(setup_of(players))
    place: Any = setup
    # Walk down at random, then put the junk there.
    while True:
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        inner = place[key]
        if not isinstance(inner, (dict, list)) or data.draw(st.booleans()):
            break
        place = inner
    place[key] = junk
    state = State("forest", players, seed=1)
    before = state.copy()
    refused = refusal(lambda: state.deal(1, setup))
    if refused is None:
        # Only what says the same as before can still be a possible deal.
        assert state.setup() == setup_of(players)
    else:
        assert refused.endswith(".")
        assert "\n" not in refused
        assert state == before


# --- records ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"forced_steal": False, "reward": "margin"}], ids=str)
@pytest.mark.parametrize("players", [1, 2, 3, 4])
def test_a_record_replays_to_the_same_game_and_is_written_the_same_again(players: int, options: dict[str, Any]) -> None:
    for seed in range(games_to_play(5, 1)):
        state = played(players, seed, **options)
        record = records.write(state)
        again = records.replay(json.loads(json.dumps(record)))
        assert records.write(again) == record
        assert again.history == state.history
        assert (again.scores(), again.winners(), again.returns()) == (
            state.scores(),
            state.winners(),
            state.returns(),
        )
        # All but the generator of chance, which plays no part after the deal.
        again.record["rng"] = state.record["rng"]
        assert again == state


def test_a_record_is_written_as_the_contract_says() -> None:
    state = played(3, 2)
    record = records.write(state)
    assert list(record) == ["game", "version", "players", "options", "setup", "actions", "scores", "winners"]
    assert (record["game"], record["version"], record["players"]) == ("forest", 0, 3)
    assert record["options"] == {"forced_steal": True, "reward": "win"}
    assert (record["setup"], record["actions"]) == (state.setup(), state.history)
    assert (record["scores"], record["winners"]) == (state.scores(), state.winners())


def test_an_unfinished_game_is_written_without_an_outcome_and_replays() -> None:
    for state in snapshots(2, 5)[:-1:10]:
        record = records.write(state)
        assert (record["scores"], record["winners"]) == ([], [])
        assert records.write(records.replay(record)) == record


def test_a_replay_stops_after_so_many_plies_and_checks_no_outcome_then() -> None:
    record = {**records.write(played()), "scores": ["not looked at"]}
    for plies in (0, 1, 30):
        assert records.replay(record, plies).history == record["actions"][:plies]
    assert records.replay(record, 10_000).seat == -1


def test_a_lost_solitaire_has_no_winners() -> None:
    lost = next(state for state in (played(1, seed) for seed in range(99)) if not state.winners())
    record = records.write(lost)
    assert (record["scores"], record["winners"]) == ([0], [])
    assert records.replay(record).returns() == [-1.0]


def test_saving_and_loading_a_file(tmp_path: Path) -> None:
    state, path = played(4, 3), tmp_path / "game.json"
    records.save(state, path)
    assert records.write(records.load(path)) == records.write(state)
    assert records.load(str(path), 5).history == state.history[:5]
    assert path.read_text(encoding="utf-8").endswith("}\n")


@pytest.mark.parametrize("content", [b"", b"{", b"nonsense", b"\xff\xfe\x00", b"{'game': 1}"])
def test_a_file_that_is_not_json_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "game.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is not a JSON file") as error:
        records.load(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize("content", ["[" * 200_000, '{"a":' * 200_000, "1" * 5000], ids=["lists", "dicts", "digits"])
def test_a_file_too_deep_or_with_too_long_a_number_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "game.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match="is not a JSON file") as error:
        records.load(path)
    text = str(error.value)
    assert text.startswith(str(path))
    assert "\n" not in text


def test_a_truncated_file_and_a_missing_one_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "game.json"
    records.save(played(), path)
    text = path.read_text(encoding="utf-8")
    for length in (1, len(text) // 2, len(text) - 3):
        path.write_text(text[:length], encoding="utf-8")
        with pytest.raises(ValueError, match="is not a JSON file"):
            records.load(path)
    with pytest.raises(ValueError, match="can't be read"):
        records.load(tmp_path / "none.json")
    with pytest.raises(ValueError, match="can't be read"):
        records.load(tmp_path)


RECORD = records.write(played())
MIDDLE = len(RECORD["actions"]) // 2
FIRST_ILLEGAL = [*RECORD["actions"][:MIDDLE], 59, *RECORD["actions"][MIDDLE:]]
BAD_RECORDS: dict[str, tuple[Any, str]] = {
    "none": (None, "record was a NoneType"),
    "a list": ([RECORD], "record was a list"),
    "a string": ("forest", "record was a str"),
    "empty": ({}, "keys none; it needs exactly game, version"),
    "one key more": ({**RECORD, "seed": 3}, "'seed'; it needs exactly"),
    "a key that is no string": ({**RECORD, 3: 3}, "3; it needs exactly"),
    "a key less": ({k: v for k, v in RECORD.items() if k != "actions"}, "it needs exactly"),
    "an unknown game": ({**RECORD, "game": "woods"}, "no game named 'woods'"),
    "a game that is no name": ({**RECORD, "game": ["forest"]}, "needs a game name"),
    "another version": ({**RECORD, "version": 1}, "version 1; this package plays version 0"),
    "a version that is false": ({**RECORD, "version": False}, "version False; this package plays"),
    "a version as a string": ({**RECORD, "version": "0"}, "version '0'; this package plays"),
    "too many players": ({**RECORD, "players": 5}, "players was 5"),
    "players as a string": ({**RECORD, "players": "2"}, "players was '2'"),
    "players of a solitaire": ({**RECORD, "players": 1}, "exactly tiles, player_token"),
    "options as a list": ({**RECORD, "options": []}, "dict of options"),
    "an unknown option": ({**RECORD, "options": {"gems": 3}}, "'gems' is unknown"),
    "an option of another name": ({**RECORD, "options": {"seed": 3}}, "'seed' is unknown"),
    "an option named like an argument": ({**RECORD, "options": {"players": 3}}, "'players' is unknown"),
    "an option that is no name": ({**RECORD, "options": {3: 3}}, "3 is unknown"),
    "a wrong option": ({**RECORD, "options": {"reward": 1}}, "'reward' was 1; give 'win' or 'margin'"),
    "no setup": ({**RECORD, "setup": None}, "setup was a NoneType"),
    "a wrong setup": ({**RECORD, "setup": {}}, "setup has the keys none"),
    "actions as a string": ({**RECORD, "actions": "012"}, "actions are a str"),
    "actions as none": ({**RECORD, "actions": None}, "actions are a NoneType"),
    "an illegal action": ({**RECORD, "actions": FIRST_ILLEGAL}, f"at ply {MIDDLE}: Action 59 (no action)"),
    "an action by name": ({**RECORD, "actions": ["pass"]}, "at ply 0: The action was 'pass' (str)"),
    "an action that is true": ({**RECORD, "actions": [True]}, "at ply 0: The action was True (bool)"),
    "a huge action": ({**RECORD, "actions": [LARGE]}, f"at ply 0: Action {LARGE}"),
    "an action too many": ({**RECORD, "actions": [*RECORD["actions"], 0]}, "the game is over"),
    "an action missing": ({**RECORD, "actions": RECORD["actions"][:-1]}, "replay gives []"),
    "wrong scores": ({**RECORD, "scores": [s + 1 for s in RECORD["scores"]]}, "says scores"),
    "no scores": ({**RECORD, "scores": []}, "says scores []; its replay gives"),
    "wrong winners": ({**RECORD, "winners": [0, 1]}, "says winners [0, 1]; its replay gives"),
    "scores too deep": ({**RECORD, "scores": DEEP}, "The record says scores <list too large to show>; its replay"),
    "a score too long": ({**RECORD, "scores": [ENORMOUS]}, "The record says scores <list too large to show>;"),
    "an action too deep": ({**RECORD, "actions": [DEEP]}, "at ply 0: The action was <list too large to show> (list)"),
    "an action too long": ({**RECORD, "actions": [ENORMOUS]}, "at ply 0: Action <int too large to show> (no action)"),
    "a version too long": ({**RECORD, "version": ENORMOUS}, "version <int too large to show>; this package plays"),
    "players too deep": ({**RECORD, "players": DEEP}, "players was <list too large to show>; "),
    "an option too deep": ({**RECORD, "options": {"reward": DEEP}}, "'reward' was <list too large to show>; give"),
    "a setup too deep": ({**RECORD, "setup": DEEP}, "setup was a list"),
    "winners as none": ({**RECORD, "winners": None}, "says winners None; its replay gives"),
}


@pytest.mark.parametrize("case", BAD_RECORDS)
def test_an_impossible_record_is_refused_in_one_sentence(case: str) -> None:
    record, says = BAD_RECORDS[case]
    # Two levels are copied: some entries are too deep for `deepcopy`.
    before = {key: copy.copy(value) for key, value in record.items()} if isinstance(record, dict) else record
    with pytest.raises(ValueError, match=re.escape(says)) as error:
        records.replay(record)
    check_sentence(error)
    # A record is read, never written to.
    assert record == before


def test_options_left_out_of_a_record_are_the_defaults() -> None:
    assert records.write(records.replay({**RECORD, "options": {}})) == RECORD


@FUZZ
@given(junk=JUNK, key=st.sampled_from(records.KEYS))
def test_any_junk_within_a_record_is_refused_or_says_the_same(junk: Any, key: str) -> None:
    plies = 0 if key == "actions" else 3
    refused = refusal(lambda: records.replay({**RECORD, key: junk}, plies))
    if refused is None:
        assert records.replay({**RECORD, key: junk}, plies).setup() == RECORD["setup"]
    else:
        assert refused.endswith(".")


@FUZZ
@given(junk=JUNK)
def test_any_junk_as_a_record_is_refused(junk: Any) -> None:
    with pytest.raises(ValueError, match="record"):
        records.replay(junk)


def test_a_record_written_midway_and_gone_on_with_ends_as_the_whole() -> None:
    import random

    whole = played(3, 9)
    half = records.replay(records.write(whole), plies=len(whole.history) // 2)
    for action in whole.history[len(half.history) :]:
        half.play(action)
    assert records.write(half) == records.write(whole)
    rng = random.Random(1)
    other = records.replay(records.write(whole), plies=4)
    while other.seat >= 0:
        other.play(lively_action(other, rng))
    assert records.replay(records.write(other)).scores() == other.scores()


# --- without assertions -----------------------------------------------------------------------------------

SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
from test_state_record import accepted_wrongly
print(__debug__, accepted_wrongly())
"""
BAD_ACTIONS: list[Any] = [None, 1.5, True, "3", -1, 59, LARGE, np.float64(3), np.array([3]), DEEP, ENORMOUS]


def accepted_wrongly() -> list[str]:
    """Name all that should be refused and is not, or changes the game: without `assert`, which `python -O` drops."""
    state = snapshots(2, 3)[11]
    before = state.copy()
    calls: dict[str, Callable[[], object]] = {}
    for number, action in enumerate(BAD_ACTIONS):
        calls[f"action {number}"] = lambda action=action: state.play(action)
    for action in set(range(59)) - set(state.legal_actions()):
        calls[f"illegal action {action}"] = lambda action=action: state.play(action)
    for case, (players, setup, _) in BAD_SETUPS.items():
        if players == 2:
            calls[f"setup {case}"] = lambda setup=setup: state.deal(1, setup)
    for case, (record, _) in BAD_RECORDS.items():
        calls[f"record {case}"] = lambda record=record: records.replay(record)
    for number, players in enumerate((0, 5, True, 2.0, "2")):
        calls[f"players {number}"] = lambda players=players: State("forest", players)
    calls["option value"] = lambda: State("forest", 2, forced_steal=1)
    calls["option name"] = lambda: State("forest", 2, gems=1)
    return [name for name, call in calls.items() if refusal(call) is None or state != before]


@pytest.mark.parametrize("flags", [[], ["-O"]], ids=["plain", "without assertions"])
def test_the_same_is_refused_in_a_process_without_assertions(flags: list[str]) -> None:
    here = Path(__file__).parent
    run = subprocess.run(
        [sys.executable, *flags, "-c", SCRIPT, str(here)], cwd=here.parent, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.split(maxsplit=1) == [str(not flags), "[]\n"]


@pytest.mark.parametrize("plies", [-1, 1.5, True, "3"])
def test_a_strange_number_of_plies_is_refused(plies: Any) -> None:
    written = records.write(State("forest", 2, seed=1))
    with pytest.raises(ValueError, match="plies was"):
        records.replay(written, plies)


def test_seeds_and_seats_too_deep_to_show_are_refused_like_others() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    state = State("forest", 2, seed=1)
    with pytest.raises(ValueError, match="too large to show"):
        state.deal(deep)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="too large to show"):
        state.observation(deep)  # type: ignore[arg-type]
