"""The check for games catches broken games and names the fault.

Each is Spirits of the Forest with something exchanged. What is compiled runs uncompiled here, in a process of its own:
no game needs compiling, and none that is broken can come near the machine code that is kept of the sound one.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from spirits_env.aec import RawEnv
from spirits_env.batch import Batch
from spirits_env.faces import LearnerLanes
from spirits_env.game import REWARD, Action, Game, Layout, Option, draw
from spirits_env.games import GAMES, Listing, load
from spirits_env.games.forest.components import ICONS
from spirits_env.games.forest.state import FIRST, LYING
from spirits_env.sb3 import SelfPlayVecEnv
from spirits_env.single import SingleEnv
from spirits_env.testing import TOPICS, GameError, check_game

FOREST = load("forest")
LAYOUT = FOREST.layout
TITLE = re.escape(FOREST.title)
HERE = Path(__file__).parent
NUMBERS = itertools.count()


def listed(patch: pytest.MonkeyPatch, changes: Mapping[str, Any]) -> Game:
    """List a changed Forest for two, without its rule option, under a name of its own."""
    number = next(NUMBERS)
    module = ModuleType(f"broken_game_{number}")
    module.__file__ = __file__
    plain = {"name": f"broken_{number}", "players": (2,), "seats": 2, "options": (REWARD,)}
    game = replace(FOREST, **plain | dict(changes))
    module.GAME = game  # type: ignore[attr-defined]
    patch.setitem(sys.modules, module.__name__, module)
    patch.setitem(GAMES, game.name, Listing(module.__name__, 0, {"Broken": {}}))
    return game


# --- broken tables ----------------------------------------------------------------------------------------

PASS = FOREST.actions[-1]
TURN = next(part for part in LAYOUT.slices if part.name == "turn")


def with_slice(**changes: Any) -> Layout:
    """The layout with something else in the place of the turn."""
    return Layout(tuple(replace(part, **changes) if part is TURN else part for part in LAYOUT.slices))


def with_action(action: Action) -> tuple[Action, ...]:
    """The action table with another last row."""
    return (*FOREST.actions[:-1], action)


def without_field(name: str) -> Any:
    """The record without a field."""
    assert FOREST.dtype.fields is not None
    return np.dtype((np.record, [(key, kind[0]) for key, kind in FOREST.dtype.fields.items() if key != name]))


TABLES: dict[str, tuple[dict[str, Any], str]] = {
    "a name in capitals": ({"name": "Forest2"}, "the name 'Forest2' is not snake case"),
    "no title": ({"title": " "}, "the title is empty"),
    "another version": ({"version": 1}, "the version is 1, but the list of games says 0"),
    "players out of order": ({"players": (2, 1)}, r"`players` \(2, 1\) are not in order"),
    "no players": ({"players": (0,)}, "`players` are not all whole numbers above 0"),
    "too few seats": ({"players": (2, 3)}, "`seats` is 2, but the largest player count is 3"),
    "no plies": ({"max_plies": 0}, "`max_plies` is 0"),
    "no end": ({"phases": FOREST.phases[:-1]}, "no phase is named 'end'"),
    "two phases of one name": ({"phases": ("end", "end")}, "two phases have one name"),
    "a record without a turn": ({"dtype": without_field("turn")}, "`dtype` has no field 'turn'"),
    "a record without an option": (
        {"options": (replace(REWARD, name="tax"),)},
        "`dtype` has no field 'tax'",
    ),
    "a plain dtype": ({"dtype": np.dtype([("rng", np.uint64)])}, "no dtype of `np.record`"),
    "a wrong id": ({"actions": with_action(replace(PASS, id=3))}, "action 'pass' has the id 3 in place 58"),
    "a name twice": (
        {"actions": with_action(replace(PASS, name="use_plus"))},
        "two actions are named 'use_plus'",
    ),
    "a name of words": (
        {"actions": with_action(replace(PASS, name="pass it"))},
        "the name 'pass it' of action 58 is not snake case",
    ),
    "no sentence": ({"actions": with_action(replace(PASS, sentence="pass"))}, "says is no sentence: 'pass'"),
    "a slice twice": ({"layout": with_slice(name="hand")}, "two slices of the observation are named 'hand'"),
    "a slice beyond int8": ({"layout": with_slice(high=128)}, "the slice 'turn' goes from 0 to 128"),
    "an empty slice": ({"layout": with_slice(shape=(0,))}, "the slice 'turn' is empty"),
    "a slice known to nobody": ({"layout": with_slice(known="nobody")}, "the slice 'turn' is known to 'nobody'"),
    "a silent slice": ({"layout": with_slice(text="")}, "the slice 'turn' doesn't say what it holds"),
    "no categories": ({"categories": ()}, "`categories` is empty"),
    "a category twice": ({"categories": (*ICONS[:-1], "moss")}, "two categories are named 'moss'"),
    "a category of words": (
        {"categories": (*ICONS[:-1], "Fire power")},
        "the name 'Fire power' of a category is not snake case",
    ),
    "a default that is no choice": (
        {"options": (replace(REWARD, default="both"),)},
        "checking the default of the option 'reward' raised ValueError: Option 'reward' was 'both'",
    ),
    "an option named like an argument": (
        {"options": (Option("seat", (0, 1), 0, "Something."),)},
        "the option 'seat' has the name of something else",
    ),
    "a silent option": ({"options": (replace(REWARD, text=""),)}, "the option 'reward' doesn't say what it changes"),
    "a margin without size": ({"margin_scale": {2: 0.0}}, "`margin_scale` is 0.0 for 2 players"),
    "a gain for forfeiting": ({"worst_return": lambda players, options: 1.0}, "`worst_return` is 1.0 for 2 players"),
}


@pytest.mark.parametrize("fault", TABLES)
def test_a_broken_table_is_named(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    changes, message = TABLES[fault]
    with pytest.raises(GameError, match=rf": .*{message}.*\.$"):
        check_game(listed(monkeypatch, changes))


def test_a_sound_table_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    check_game(listed(monkeypatch, {}), topics=["facts"])


# --- broken rules -----------------------------------------------------------------------------------------

Rule = Callable[..., Any]


def observe_nothing(state: Any, seat: int, out: np.ndarray) -> None:
    """Spare the time that an observation takes uncompiled."""
    out[:] = 0


def and_then(rule: Rule, more: Rule) -> Rule:
    """Do more after a rule."""

    def both(*arguments: Any) -> None:
        rule(*arguments)
        more(*arguments)

    return both


def first(rule: Rule, more: Rule) -> Rule:
    """Do more before a rule."""
    return and_then(more, rule)


def allow_gifts(state: Any, mask: np.ndarray) -> None:
    if state.phase == FIRST:
        mask[FOREST.action_id("give_from_hand")] = 1


def forbid_all_in_turn_3(state: Any, mask: np.ndarray) -> None:
    if state.turn == 3:
        mask[:] = 0


def allow_pass(state: Any, mask: np.ndarray) -> None:
    mask[PASS.id] = 1


def add_what_is_legal(state: Any, mask: np.ndarray) -> None:
    fresh = np.zeros_like(mask)
    FOREST.legal(state, fresh)
    mask[fresh == 1] = 1


def seat_another(state: Any, action: int) -> None:
    if state.turn == 2:
        state.seat = 2


def turn_back(state: Any, action: int) -> None:
    if state.turn == 5:
        state.turn = 1


def change_the_reward(state: Any, action: int) -> None:
    state.reward = 1


def leave_out_the_last_entry(state: Any, seat: int, out: np.ndarray) -> None:
    last = out[-1]
    FOREST.observe(state, seat, out)
    out[-1] = last


def count_looks(state: Any, seat: int, out: np.ndarray) -> None:
    state.tiles[3] += 1


def show_an_unseen_token(state: Any, seat: int, out: np.ndarray) -> None:
    out[LAYOUT["turn"]] = state.token[0]


def redeal_nothing(state: Any, seat: int) -> None:
    pass


def redeal_in_the_old_order(state: Any, seat: int) -> None:
    lying = np.flatnonzero(state.token_status == LYING)
    if len(lying):
        state.token[lying] = np.roll(state.token[lying], draw(state, len(lying)))


def redeal_a_gem(state: Any, seat: int) -> None:
    state.hand[0] -= 1


def redeal_a_legal_tile(state: Any, seat: int) -> None:
    if state.seat == seat and state.phase == FIRST:
        state.left[0] = state.right[0]


def redeal_the_turn(state: Any, seat: int) -> None:
    state.turn += 1


def nobody_wins(state: Any, points: np.ndarray, won: np.ndarray) -> None:
    won[:] = 0


def pay_nothing(state: Any, points: np.ndarray, won: np.ndarray, utility: np.ndarray) -> None:
    utility[:] = 0


def pay_winners(state: Any, points: np.ndarray, won: np.ndarray, utility: np.ndarray) -> None:
    utility[:] = won


def pay_losers(state: Any, points: np.ndarray, won: np.ndarray, utility: np.ndarray) -> None:
    utility[:] = -utility


def count_scores(state: Any, points: np.ndarray) -> None:
    state.tiles[3] += 1


def count_points_in_parts(state: Any, seat: int, out: np.ndarray) -> None:
    state.tiles[3] += 1


def leave_out_the_penalties(state: Any, seat: int, out: np.ndarray) -> None:
    out[out < 0] = 0


def leave_out_the_powers(state: Any, seat: int, out: np.ndarray) -> None:
    powers = out[-3:].copy()
    FOREST.breakdown(state, seat, out)
    out[-3:] = powers


def keep_the_tiles(state: Any) -> None:
    kept = state.tiles.copy()
    FOREST.begin(state)
    state.tiles = kept


def deal_from_outside(state: Any) -> None:
    state.token = np.roll(state.token, next(NUMBERS))


def forget_the_seed(state: Any) -> None:
    state.rng = np.uint64(5)


def fill_first(state: Any, setup: Any) -> None:
    state["turn"] = 9


def fill_what_is_known(state: Any, setup: Any) -> None:
    known = ("tiles", "tokens", "unused")
    FOREST.fill_setup(state, {key: setup[key] for key in known if key in setup} if isinstance(setup, dict) else setup)


def read_unused_in_turn(state: Any) -> dict[str, Any]:
    setup = FOREST.read_setup(state)
    return setup | {"unused": list(np.roll(setup["unused"], int(state["turn"])))}


def read_small_numbers(state: Any) -> dict[str, Any]:
    return FOREST.read_setup(state) | {"unused": list(state["unused"])}


def take_estimates_from_hidden_tokens(state: Any, seat: int) -> float:
    return float(state.token[0])


def no_estimate(state: Any, seat: int) -> float:
    return float("nan")


def draw_on_the_record(state: Any, seat: int | None, standing: Any) -> str:
    state["turn"] += 1
    return "turn"


def draw_hidden_tokens(state: Any, seat: int | None, standing: Any) -> str:
    return str(state["token"])


def draw_an_open_tag(state: Any, seat: int | None, standing: Any) -> str:
    return '<svg xmlns="http://www.w3.org/2000/svg">'


def draw_html(state: Any, seat: int | None, standing: Any) -> str:
    return "<html/>"


def draw_tokens(state: Any, seat: int | None, standing: Any) -> str:
    return f'<svg xmlns="http://www.w3.org/2000/svg"><title>{state["token"]}</title></svg>'


def draw_no_choices(state: Any, seat: int | None, standing: Any) -> str:
    return re.sub(r'data-legal="\d+"', "", FOREST.draw_scene(state, seat, standing))


def tell_nothing(state: Any, action: int) -> str:
    return ""


def tell_the_row(state: Any, action: int) -> str:
    return f"Row {action // 2}."


def tell_the_token(state: Any, action: int) -> str:
    return f"Action {action} beside {state.token[state.token_status == 0]}."


def explain_half(state: Any, points: Any) -> list[str]:
    return [""] * len(FOREST.categories)


def draw_umlauts(state: Any, seat: int | None, standing: Any) -> str:
    return "B\u00e4ume"


def draw_wide(state: Any, seat: int | None, standing: Any) -> str:
    return "-" * 111 + "\n"


QUICK = {"observe": observe_nothing}
SOUND = QUICK | {"options": (replace(REWARD, choices=("win",)),)}

# The topic that finds it, what is exchanged, and what the error says.
RULES: dict[str, tuple[str, dict[str, Any], str]] = {
    "a legal action that is none": (
        "play",
        QUICK | {"legal": and_then(FOREST.legal, allow_gifts)},
        r"playing action 56 \(give_from_hand\), which is legal, raised IndexError: .*, ply 0\)",
    ),
    "no legal action": (
        "play",
        QUICK | {"legal": and_then(FOREST.legal, forbid_all_in_turn_3)},
        r"`legal` leaves seat 1 no action before the end \(players 2, options {'reward': 'win'}, seed 0, ply \d+\)",
    ),
    "a mask at the end": (
        "play",
        QUICK | {"legal": and_then(FOREST.legal, allow_pass), "max_plies": 5000},
        "`legal` allows something after the end|playing action 58",
    ),
    "a mask that is not written": (
        "play",
        QUICK | {"legal": add_what_is_legal},
        r"`legal` writes nothing for action 8 \(cell_0_0\) .*ply 0\)",
    ),
    "a bound that is too low": (
        "play",
        QUICK | {"max_plies": 20},
        "the game goes on after `max_plies` = 20 decisions .*ply 20",
    ),
    "a seat that is none": ("play", QUICK | {"play": and_then(FOREST.play, seat_another)}, "`seat` is 2 "),
    "a turn that falls": ("play", QUICK | {"play": and_then(FOREST.play, turn_back)}, "`turn` fell from 4 to 1 "),
    "another option in play": (
        "play",
        QUICK | {"play": and_then(FOREST.play, change_the_reward)},
        "the options have become {'reward': 'margin'} ",
    ),
    "a view that is not written": (
        "play",
        {"observe": leave_out_the_last_entry},
        "`observe` doesn't write all of 'icons_left' .*ply 0",
    ),
    "a view out of bounds": (
        "play",
        {"layout": with_slice(high=3)},
        "`observe` writes 4, 4 for the seats into 'turn', out of its bounds ",
    ),
    "a view that counts": (
        "play",
        {"observe": and_then(observe_nothing, count_looks)},
        "`legal` or `observe` changes the record .*ply 0",
    ),
    "scores that count": (
        "play",
        QUICK | {"scores": and_then(FOREST.scores, count_scores)},
        "counting the points changes the record .*ply 0",
    ),
    "parts that count": (
        "play",
        QUICK | {"breakdown": and_then(FOREST.breakdown, count_points_in_parts)},
        "counting the points changes the record .*ply 0",
    ),
    "parts that don't add up": (
        "play",
        QUICK | {"breakdown": and_then(FOREST.breakdown, leave_out_the_penalties)},
        "`breakdown` adds up to 0 for seat 0, which scores -36 .*ply 0",
    ),
    "parts that are not written": (
        "play",
        QUICK | {"breakdown": leave_out_the_powers},
        "`breakdown` writes nothing for moon, sun, fire .*ply 0",
    ),
    "fewer parts than categories": (
        "play",
        QUICK | {"categories": (*ICONS, "gems")},
        "`breakdown` writes nothing for gems .*ply 0",
    ),
    "more parts than categories": (
        "play",
        QUICK | {"categories": ICONS[:-1]},
        "playing raised IndexError: index 11 is out of bounds",
    ),
    "no winners": ("play", QUICK | {"winners": nobody_wins, "returns": pay_nothing}, "nobody wins "),
    "returns that don't add up": (
        "play",
        QUICK | {"returns": pay_winners},
        r"the returns \[.*\] don't add up to 0 ",
    ),
    "returns to the losers": (
        "play",
        QUICK | {"returns": and_then(FOREST.returns, pay_losers)},
        r"the returns \[.*\] don't favour the winners \[.\] ",
    ),
    "returns below the worst": (
        "play",
        QUICK | {"worst_return": lambda players, options: -0.5},
        r"the returns \[.*\] go below `worst_return`, -0.5 ",
    ),
    "a deal with leftovers": (
        "value",
        QUICK | {"begin": keep_the_tiles},
        "`deal` leaves what an earlier game wrote into tiles ",
    ),
    "a deal from outside": (
        "value",
        QUICK | {"deal": and_then(FOREST.deal, deal_from_outside)},
        "the same seed deals two different games ",
    ),
    "a deal without its seed": (
        "value",
        QUICK | {"deal": first(FOREST.deal, forget_the_seed)},
        "games with different seeds look the same from the deal to the end ",
    ),
    "a set-up that is half written": (
        "value",
        QUICK | {"fill_setup": first(FOREST.fill_setup, fill_first)},
        "`fill_setup` refuses None only after changing the record ",
    ),
    "a set-up with more": (
        "value",
        QUICK | {"fill_setup": fill_what_is_known},
        "`fill_setup` takes a set-up with an unknown key ",
    ),
    "a set-up that changes": (
        "value",
        QUICK | {"read_setup": read_unused_in_turn},
        "`read_setup` gives another set-up than after the deal ",
    ),
    "a set-up that is no JSON": (
        "value",
        QUICK | {"read_setup": read_small_numbers},
        "copying and replaying raised TypeError: Object of type int8 is not JSON serializable ",
    ),
    "a view of what is hidden": (
        "chance",
        {"observe": and_then(FOREST.observe, show_an_unseen_token)},
        "seat 0 sees in 'turn' that its re-deal is another game: either `observe` shows what is hidden.*ply 0",
    ),
    "no re-deal": ("chance", QUICK | {"redeal": redeal_nothing}, "`redeal` never changed anything but the generator"),
    "a re-deal in the old order": (
        "chance",
        {"redeal": redeal_in_the_old_order},
        "`redeal` for seat 0 lets through what was hidden before it, in token ",
    ),
    "a re-deal of a gem": (
        "chance",
        {"redeal": and_then(FOREST.redeal, redeal_a_gem)},
        "seat 0 sees in 'hand' that its re-deal is another game",
    ),
    "a re-deal of an action": (
        "chance",
        QUICK | {"redeal": and_then(FOREST.redeal, redeal_a_legal_tile)},
        "a re-deal for seat 0, which is to act, changes its mask ",
    ),
    "a re-deal of the turn": (
        "chance",
        QUICK | {"redeal": and_then(FOREST.redeal, redeal_the_turn)},
        "a re-deal for seat 0 changes turn ",
    ),
    "an estimate from what is hidden": (
        "agents",
        QUICK | {"evaluate": take_estimates_from_hidden_tokens},
        "`evaluate` gives seat 0 another estimate after a re-deal of what it can't know ",
    ),
    "no estimate": ("agents", QUICK | {"evaluate": no_estimate}, "`evaluate` gives seat 0 nan "),
    "a text on the record": (
        "drawing",
        QUICK | {"draw_text": draw_on_the_record},
        "drawing for everybody changes the record .*ply 0",
    ),
    "a text of what is hidden": (
        "drawing",
        QUICK | {"draw_text": draw_hidden_tokens},
        "the text for seat 0 shows what the seat can't know ",
    ),
    "a text beyond ASCII": (
        "drawing",
        QUICK | {"draw_text": draw_umlauts},
        "the text for everybody has more than plain characters ",
    ),
    "a wide text": (
        "drawing",
        QUICK | {"draw_text": draw_wide},
        "the text for everybody is 111 columns wide, more than 110 ",
    ),
    "a picture that is not closed": (
        "drawing",
        QUICK | {"draw_scene": draw_an_open_tag},
        "the picture for everybody is no well-formed XML ",
    ),
    "a picture of another kind": (
        "drawing",
        QUICK | {"draw_scene": draw_html},
        "the picture for everybody is no SVG but html ",
    ),
    "a picture without choices": (
        "drawing",
        QUICK | {"draw_scene": draw_no_choices},
        "`data-legal` in the picture and `legal` differ in action 0 ",
    ),
    "no sentence": ("drawing", QUICK | {"tell": tell_nothing}, "`tell` says '' of action 0, which is no sentence "),
    "one sentence for two": ("drawing", QUICK | {"tell": tell_the_row}, "`tell` says the same of two actions "),
    "a sentence of what is hidden": (
        "drawing",
        QUICK | {"tell": tell_the_token},
        "`tell` says what the seat to act can't know |the picture for seat . shows ",
    ),
    "no explanation": ("drawing", QUICK | {"explain": explain_half}, "`explain` gives .*, not all of them sentences "),
    "a picture of what is hidden": (
        "drawing",
        QUICK | {"draw_scene": draw_tokens},
        "the picture for seat 0 shows what the seat can't know ",
    ),
}


def told(topic: str, changes: Mapping[str, Any], hidden: bool = True) -> str:
    """What the check says of a changed game; empty if it finds nothing."""
    with pytest.MonkeyPatch.context() as patch:
        try:
            check_game(listed(patch, changes), games=1, topics=[topic], hidden=hidden)
        except GameError as error:
            return str(error)
    return ""


def all_told() -> dict[str, str]:
    """What the check says of each broken game, of sound ones by topic, and of a re-deal with nothing to re-deal."""
    answers = {fault: told(topic, changes) for fault, (topic, changes, _) in RULES.items()}
    answers |= {topic: told(topic, SOUND) for topic in dict.fromkeys(topic for topic, _, _ in RULES.values())}
    return answers | {"nothing hidden": told("chance", QUICK | {"redeal": redeal_nothing}, hidden=False)}


@cache
def answers() -> dict[str, str]:
    """The same from a process without compiling."""
    run = subprocess.run(
        [sys.executable, "-c", "import json, test_testing; print(json.dumps(test_testing.all_told()))"],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        cwd=HERE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    found: dict[str, str] = json.loads(run.stdout)
    return found


@pytest.mark.parametrize("fault", RULES)
def test_a_broken_rule_is_named(fault: str) -> None:
    assert re.search(rf"^{TITLE}: (.*){RULES[fault][2]}", answers()[fault])


def test_sound_rules_pass() -> None:
    assert {topic: answers()[topic] for topic, _, _ in RULES.values()} == {
        "play": "",
        "value": "",
        "chance": "",
        "agents": "",
        "drawing": "",
    }


def test_a_game_that_hides_nothing_may_redeal_nothing() -> None:
    assert answers()["no re-deal"] != ""
    assert answers()["nothing hidden"] == ""


# --- broken faces ------------------------------------------------------------------------------------------


def nothing_seen(self: LearnerLanes, lanes: np.ndarray) -> np.ndarray:
    return np.zeros((len(lanes), LAYOUT.size), np.int8)


def nothing_legal(self: RawEnv, agent: str) -> np.ndarray:
    return np.zeros(len(FOREST.actions), np.int8)


def all_legal(self: SelfPlayVecEnv) -> np.ndarray:
    return np.ones(self.batch.mask.shape, np.bool_)


def other_seeds(self: Batch, seeds: Sequence[int], lanes: np.ndarray | None = None) -> None:
    self.states["rng"] = 7


def no_snapshot(self: Batch, snapshot: Any) -> None:
    self.reset()


def no_info(self: SingleEnv, *, seed: int | None = None, options: Any = None) -> Any:
    return np.zeros(LAYOUT.size, np.int8)


@pytest.mark.parametrize(
    ("topic", "face", "method", "broken", "message"),
    [
        (
            "faces",
            LearnerLanes,
            "observation",
            nothing_seen,
            "the single face in seat 0 shows another observation than",
        ),
        ("faces", RawEnv, "_mask", nothing_legal, "the raw AEC face shows another mask than the game itself"),
        ("faces", SelfPlayVecEnv, "action_masks", all_legal, "the stable-baselines3 face shows another mask than"),
        ("batch", Batch, "seed", other_seeds, "a batch shows another observation than the game itself"),
        ("batch", Batch, "restore", no_snapshot, "playing in a batch raised IllegalAction|a batch "),
        ("stock", SingleEnv, "reset", no_info, "a stock checker raised .*tuple"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else getattr(value, "__name__", ""),
)
def test_a_face_that_shows_another_game_is_named(
    topic: str, face: type, method: str, broken: Rule, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(face, method, broken)
    with pytest.raises(GameError, match=rf"^{TITLE}: .*({message}).* \(players \d, options .*\)\.$"):
        check_game("forest", games=1, topics=[topic])


# --- what is given to the check ---------------------------------------------------------------------------


def test_a_game_that_is_not_the_listed_one_is_refused() -> None:
    with pytest.raises(GameError, match="the list of games has another game named 'forest'; put this one into"):
        check_game(replace(FOREST, max_plies=9999))
    with pytest.raises(GameError, match="the list of games has no game named 'meadow'; put this one into"):
        check_game(replace(FOREST, name="meadow"))


def test_an_unknown_name_or_topic_is_refused() -> None:
    with pytest.raises(ValueError, match="There is no game named 'meadow'; the games are forest"):
        check_game("meadow")
    with pytest.raises(ValueError, match="There is no topic 'luck'; the topics are facts, play, "):
        check_game("forest", topics=["luck"])


@pytest.mark.parametrize("games", [0, -1, 1.5, True, None, "1"], ids=repr)
def test_no_number_of_games_is_refused(games: Any) -> None:
    with pytest.raises(ValueError, match=r"^games was .*; give a whole number of at least 1\.$"):
        check_game("forest", games=games, topics=TOPICS[:1])


def test_importing_the_check_imports_no_training_library_and_no_checkers() -> None:
    heavy = ("torch", "stable_baselines3", "sb3_contrib", "pettingzoo.test", "PIL", "resvg_py", "matplotlib", "pytest")
    code = f"import sys, spirits_env.testing; print([name for name in {heavy} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
