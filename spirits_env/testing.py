"""A check for authors of games: all that must hold of any game, whatever its rules.

Everything goes through the contract and the faces; heavy libraries are imported by the checks that need them.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import io
import itertools
import json
import pickle
import random
import re
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numba import config

from spirits_env import GAMES, env_id, record
from spirits_env import games as list_of_games
from spirits_env.agents import BUILT_IN, Agent, make_agent
from spirits_env.batch import Batch, Views, kernels
from spirits_env.game import Game, IllegalAction, Layout, is_whole, shown
from spirits_env.state import State

_SNAKE_CASE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_INT8 = np.iinfo(np.int8)
# The fields of every record, beside one per option.
_FIELDS = ("rng", "players", "seat", "turn", "phase")
# What stands in a buffer before a game writes to it: no two of them agree on what was left out.
_GARBAGE = (85, -86)
# What stands in a breakdown before a game writes to it: no points are so low.
_NO_POINTS = np.iinfo(np.int16).min
# The widest line that still fits a terminal beside a log.
_TEXT_WIDTH = 110
# Search meets all that a game's functions have to stand: other re-deals of one position, played to the end.
_SHORT_SEARCH = "search:6,horizon=0"
# Costly checks look at one position in so many.
_STRIDE, _RARE_STRIDE = 7, 23


class GameError(AssertionError):
    """A game breaks the contract; the message says how, and in which game it showed."""


@dataclass
class _Subject:
    """What is checked, and what an error must tell for a fault to be found again."""

    game: Game

    def place(self) -> str:
        """Where a fault showed, in words; empty for the game as a whole."""
        return ""

    def error(self, fault: str) -> GameError:
        """Make the error for a fault."""
        place = self.place()
        return GameError(f"{self.game.title}: {fault}" + (f" ({place})." if place else "."))

    def demand(self, holds: Any, fault: str) -> None:
        """Raise the error for a fault unless something holds."""
        if not holds:
            raise self.error(fault)

    @contextmanager
    def told(self, doing: str) -> Iterator[None]:
        """Turn what goes wrong inside into an error that tells of this game; what overflows uncompiled goes wrong."""
        try:
            with np.errstate(over="raise"):
                yield
        except GameError:
            raise
        except Exception as error:
            text = " ".join(str(error).split()).removesuffix(".")
            raise self.error(f"{doing} raised {type(error).__name__}: {text}") from error

    def action_at(self, places: Sequence[int] | np.ndarray) -> str:
        """Name the first of some actions."""
        return f"action {places[0]} ({self.game.actions[places[0]].name})"

    def slice_at(self, places: np.ndarray) -> str:
        """Name the part of the observation that holds the first of some entries."""
        layout = self.game.layout
        return next(repr(name) for name in layout if layout[name].start <= places[0] < layout[name].stop)


@dataclass
class _Trial(_Subject):
    """One game to be played."""

    players: int
    options: dict[str, Any]
    seed: int
    ply: int | None = None

    def place(self) -> str:
        """Players, options, seed and the number of decisions that were played."""
        ply = "" if self.ply is None else f", ply {self.ply}"
        return f"players {self.players}, options {self.options}, seed {self.seed}{ply}"

    def deal(self) -> State:
        """Deal the game."""
        self.ply = 0
        return State(self.game, self.players, self.seed, **self.options)

    def walk(self, choose: Callable[[State], int] | None = None) -> Iterator[State]:
        """Play the game and show the same state at every decision and at the end.

        Args:
            choose: Chooses an action; None plays at random, the same way for the same seed.
        """
        chance = random.Random(self.seed)
        state = self.deal()
        while True:
            self.ply = len(state.history)
            yield state
            if state.seat < 0:
                return
            self.demand_action(state)
            self.play(state, choose(state) if choose else chance.choice(state.legal_actions()))

    def demand_action(self, state: State) -> None:
        """Demand that a seat asked in time has something to choose from."""
        self.demand(
            len(state.history) < self.game.max_plies,
            f"the game goes on after `max_plies` = {self.game.max_plies} decisions",
        )
        self.demand(state.legal_actions(), f"`legal` leaves seat {state.seat} no action before the end")

    def play(self, state: State, action: int) -> None:
        """Play a legal action."""
        with self.told(f"playing {self.action_at([action])}, which is legal,"):
            state.play(action)


@dataclass
class _Plan:
    """What to check a game with; see `check_game`."""

    game: Game
    games: int
    seed: int
    hidden: bool

    def combinations(self) -> Iterator[dict[str, Any]]:
        """Every combination of the options' choices."""
        names = [option.name for option in self.game.options]
        for values in itertools.product(*(option.choices for option in self.game.options)):
            yield dict(zip(names, values, strict=True))

    def tables(self, players: int | None = None) -> Iterator[_Trial]:
        """One trial for each combination of options, for one player count or for all."""
        for count in self.game.players if players is None else (players,):
            for options in self.combinations():
                yield _Trial(self.game, count, options, self.seed)

    def trials(self, players: int | None = None) -> Iterator[_Trial]:
        """The same with all games."""
        for table in self.tables(players):
            for number in range(self.games):
                yield replace(table, seed=self.seed + number)


def check_game(
    game: str | Game,
    games: int = 2,
    seed: int = 0,
    topics: Sequence[str] | None = None,
    hidden: bool = True,
) -> None:
    """Check that a game keeps the contract, `spirits_env.game.Game`, on every face; say nothing if it does.

    The game must be in the list, since copies, pickles, faces and compiled loops find it there by its name. A game of
    another package is listed by that package:

        from spirits_env.games import GAMES, Listing

        GAMES["mine"] = Listing("my_package.mine", version=0, ids={"Mine": {}})

    where the module `my_package.mine` holds the `Game` as `GAME`, and the folder of that module all its rules. A
    changed game, made by `dataclasses.replace`, needs a name, a module and a listing of its own.

    Compiled code reads and writes past the end of an array without a word. So check a new game uncompiled too, with
    `NUMBA_DISABLE_JIT=1` and `games=1`: that takes minutes, and finds such places and overflowing small numbers.

    Args:
        game: A game or its name.
        games: Random games for each player count and each combination of options.
        seed: Seed of the first of them.
        topics: Some of `TOPICS`; None checks all.
        hidden: Whether there is anything that some seat can't know, the future included. A game in which everything
            lies open, and nothing is drawn after the deal, is checked with False: its re-deals change nothing.

    Raises:
        GameError: If the game does something wrong: what it was, with the players, options, seed and decision.
        ValueError: If there is no such game or topic, or no number of games.
    """
    for topic in topics or ():
        if topic not in TOPICS:
            raise ValueError(f"There is no topic {topic!r}; the topics are {', '.join(TOPICS)}.")
    if not is_whole(games) or games < 1:
        raise ValueError(f"games was {shown(games)}; give a whole number of at least 1.")
    plan = _Plan(_listed(game), int(games), seed, hidden)
    for topic in TOPICS if topics is None else topics:
        _CHECKS[topic](plan)


def _listed(game: str | Game) -> Game:
    """Return a game of the list."""
    if isinstance(game, str):
        return list_of_games.load(game)
    if game.name not in GAMES or list_of_games.load(game.name) is not game:
        raise _Subject(game).error(
            f"the list of games has {'another' if game.name in GAMES else 'no'} game named {game.name!r}; put this one "
            "into spirits_env.games.GAMES under a name of its own"
        )
    return game


# --- facts: the tables of the game ------------------------------------------------------------------------


def _check_facts(plan: _Plan) -> None:
    """Names, tables, options and layout are complete and agree with each other."""
    subject = _Subject(plan.game)
    with subject.told("reading the game's tables"):
        _check_names(subject)
        _check_record(subject)
        _check_actions(subject)
        _check_layout(subject)
        _check_categories(subject)
        _check_options(plan, subject)
        _check_ids(subject)
        _check_bounds(plan, subject)


def _check_names(subject: _Subject) -> None:
    """Name, version and players."""
    game = subject.game
    subject.demand(_SNAKE_CASE.fullmatch(game.name), f"the name {game.name!r} is not snake case")
    subject.demand(game.title.strip(), "the title is empty")
    listed = GAMES[game.name].version
    subject.demand(game.version == listed, f"the version is {game.version}, but the list of games says {listed}")
    subject.demand(
        game.players and all(is_whole(n) and n > 0 for n in game.players), "`players` are not all whole numbers above 0"
    )
    subject.demand(list(game.players) == sorted(set(game.players)), f"`players` {game.players} are not in order")
    subject.demand(
        game.seats == max(game.players), f"`seats` is {game.seats}, but the largest player count is {max(game.players)}"
    )
    subject.demand(is_whole(game.max_plies) and game.max_plies > 0, f"`max_plies` is {game.max_plies!r}")
    subject.demand("end" in game.phases, f"no phase is named 'end' among {game.phases}")
    subject.demand(len(set(game.phases)) == len(game.phases), f"two phases have one name in {game.phases}")


def _check_record(subject: _Subject) -> None:
    """The record's fields."""
    dtype = subject.game.dtype
    fields: Mapping[str, Any] = dtype.fields or {}
    subject.demand(dtype.type is np.record, "`dtype` is no dtype of `np.record`, whose fields the rules can name")
    subject.demand(not dtype.hasobject, "`dtype` holds Python objects")
    for name in (*_FIELDS, *(option.name for option in subject.game.options)):
        subject.demand(name in fields, f"`dtype` has no field {name!r}")
        kind = fields[name][0]
        subject.demand(np.issubdtype(kind, np.integer), f"the field {name!r} holds {kind} instead of one whole number")
    subject.demand(fields["rng"][0] == np.uint64, f"the field 'rng' holds {fields['rng'][0]} instead of uint64")
    subject.demand(
        np.issubdtype(fields["seat"][0], np.signedinteger), "the field 'seat' is unsigned, so it can't be -1 at the end"
    )


def _check_actions(subject: _Subject) -> None:
    """Ids, names and sentences of the actions."""
    known: set[str] = set()
    for place, action in enumerate(subject.game.actions):
        subject.demand(action.id == place, f"action {action.name!r} has the id {action.id} in place {place}")
        subject.demand(
            _SNAKE_CASE.fullmatch(action.name), f"the name {action.name!r} of action {place} is not snake case"
        )
        subject.demand(action.name not in known, f"two actions are named {action.name!r}")
        known.add(action.name)
        sentence = action.sentence
        subject.demand(
            sentence[:1].isupper() and sentence.endswith("."),
            f"what action {action.name!r} says is no sentence: {sentence!r}",
        )


def _check_layout(subject: _Subject) -> None:
    """Slices of the observation."""
    layout: Layout = subject.game.layout
    names = [part.name for part in layout.slices]
    stop = 0
    for part in layout.slices:
        subject.demand(names.count(part.name) == 1, f"two slices of the observation are named {part.name!r}")
        subject.demand(part.size > 0, f"the slice {part.name!r} is empty")
        subject.demand(layout[part.name] == slice(stop, stop + part.size), f"the slice {part.name!r} leaves a gap")
        stop += part.size
        subject.demand(
            _INT8.min <= part.low < part.high <= _INT8.max,
            f"the slice {part.name!r} goes from {part.low} to {part.high}, which are no bounds within int8",
        )
        subject.demand(part.known in ("all", "own"), f"the slice {part.name!r} is known to {part.known!r}")
        subject.demand(part.text.strip(), f"the slice {part.name!r} doesn't say what it holds")
    subject.demand(layout.size == stop, f"the layout's size is {layout.size}, but its slices have {stop} entries")


def _check_categories(subject: _Subject) -> None:
    """Names of what points are counted for."""
    names = subject.game.categories
    subject.demand(names, "`categories` is empty")
    for name in names:
        subject.demand(_SNAKE_CASE.fullmatch(name), f"the name {name!r} of a category is not snake case")
        subject.demand(names.count(name) == 1, f"two categories are named {name!r}")


def _check_options(plan: _Plan, subject: _Subject) -> None:
    """Every choice of every option can be checked, written into a record and read back."""
    taken = _names_of_arguments()
    for option in plan.game.options:
        name = option.name
        subject.demand(name not in taken, f"the option {name!r} has the name of something else")
        subject.demand(option.text.strip(), f"the option {name!r} doesn't say what it changes")
        subject.demand(option.choices, f"the option {name!r} has no choices")
        with subject.told(f"checking the default of the option {name!r}"):
            option.check(option.default)
    for options in plan.combinations():
        subject.demand(plan.game.check_options(options) == options, f"the options {options} don't pass their own check")
        states = plan.game.blank(1, plan.game.players[0], options)
        back = plan.game.read_options(states[0])
        subject.demand(back == options, f"the options {options} are read from a record as {back}")
        subject.demand(all(isinstance(text, str) for text in plan.game.remarks(options)), "a remark is no text")


def _check_ids(subject: _Subject) -> None:
    """The arguments that an id fixes are allowed."""
    game = subject.game
    for name, fixed in GAMES[game.name].ids.items():
        with subject.told(f"checking the arguments of the id {name!r}"):
            game.check_players(fixed.get("players", game.players[-1]))
            game.check_options({key: value for key, value in fixed.items() if key != "players"})


def _names_of_arguments() -> set[str]:
    """Every argument that a face takes beside options, and every field that all records have."""
    from spirits_env.aec import RawEnv
    from spirits_env.single import SingleEnv
    from spirits_env.vector import VectorEnv

    faces: tuple[Callable[..., Any], ...] = (State, RawEnv, SingleEnv, VectorEnv)
    return {*_FIELDS, *(name for face in faces for name in inspect.signature(face).parameters)}


def _check_bounds(plan: _Plan, subject: _Subject) -> None:
    """The price of forfeiting and the size of a margin are known for all games."""
    for players in plan.game.players:
        scale = plan.game.margin_scale.get(players, 0.0)
        subject.demand(0 < scale < np.inf, f"`margin_scale` is {scale} for {players} players")
        for options in plan.combinations():
            worst = plan.game.worst_return(players, options)
            subject.demand(
                np.isfinite(worst) and worst < 0, f"`worst_return` is {worst} for {players} players with {options}"
            )


# --- play: random games from the deal to the end ----------------------------------------------------------


def _check_play(plan: _Plan) -> None:
    """Random games keep the rules' promises at every decision, and end."""
    for trial in plan.trials():
        with trial.told("playing"):
            turn = 0
            for state in trial.walk():
                trial.demand(state.seat >= 0 or state.history, "the game is over before the first decision")
                _check_position(trial, state)
                trial.demand(state.turn >= turn, f"`turn` fell from {turn} to {state.turn}")
                turn = state.turn
                if len(state.history) % _STRIDE == 0:
                    _check_every_action(trial, state)
            _check_outcome(trial, state)


def _check_position(trial: _Trial, state: State) -> None:
    """Seat, phase, mask and every seat's view of one position."""
    over = state.seat < 0
    trial.demand(-1 <= state.seat < state.players, f"`seat` is {state.seat}")
    trial.demand(0 <= int(state.record["phase"]) < len(trial.game.phases), f"`phase` is {int(state.record['phase'])}")
    trial.demand(over == (state.phase == "end"), f"the phase is {state.phase!r} where `seat` is {state.seat}")
    trial.demand(state.players == trial.players, f"`players` has become {state.players}")
    trial.demand(state.options == trial.options, f"the options have become {state.options}")
    trial.demand(not (over and state.mask().any()), "`legal` allows something after the end")
    _check_views(trial, state)
    before = state.record.tobytes()
    _check_points(trial, state)
    trial.demand(state.record.tobytes() == before, "counting the points changes the record")


def _check_points(trial: _Trial, state: State) -> None:
    """Every seat's breakdown is complete and adds up to its score."""
    names = trial.game.categories
    for seat, score in enumerate(state.scores()):
        points = np.full(len(names), _NO_POINTS, np.int16)
        trial.game.breakdown(state.record, seat, points)
        unwritten = [name for name, value in zip(names, points, strict=True) if value == _NO_POINTS]
        trial.demand(not unwritten, f"`breakdown` writes nothing for {', '.join(unwritten)}")
        total = int(points.sum())
        trial.demand(total == score, f"`breakdown` adds up to {total} for seat {seat}, which scores {score}")


def _check_views(trial: _Trial, state: State) -> None:
    """What `legal` and `observe` write: everything, nothing else, and what they may."""
    masks, views = _look(trial, state, _GARBAGE[0])
    other_masks, other_views = _look(trial, state, _GARBAGE[1])
    unwritten = np.flatnonzero((masks != other_masks).any(axis=0))
    if len(unwritten):
        raise trial.error(f"`legal` writes nothing for {trial.action_at(unwritten)}")
    trial.demand(((masks == 0) | (masks == 1)).all(), "`legal` writes something else than 0 and 1")
    answers_alike = state.seat < 0 or (masks[state.seat] == state.mask()).all()
    trial.demand(answers_alike, "`legal` answers otherwise when asked again")
    unwritten = np.flatnonzero((views != other_views).any(axis=0))
    if len(unwritten):
        raise trial.error(f"`observe` doesn't write all of {trial.slice_at(unwritten)}")
    outside = np.flatnonzero(((views < trial.game.layout.low()) | (views > trial.game.layout.high())).any(axis=0))
    if len(outside):
        values = ", ".join(str(value) for value in views[:, outside[0]])
        raise trial.error(f"`observe` writes {values} for the seats into {trial.slice_at(outside)}, out of its bounds")


def _look(trial: _Trial, state: State, garbage: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Let every seat look at a game, through buffers full of something else.

    Returns:
        Masks of shape `(players, actions)` and observations of shape `(players, layout.size)`, int8.
    """
    states = np.empty(1, state.game.dtype)
    states[0] = state.record
    seats = np.arange(state.players, dtype=np.int8)
    masks = np.full((state.players, len(state.game.actions)), garbage, np.int8)
    views = np.full((state.players, state.game.layout.size), garbage, np.int8)
    kernels(state.game).view(states, np.zeros(state.players, np.int64), seats, masks, views)
    trial.demand(states[0].tobytes() == state.record.tobytes(), "`legal` or `observe` changes the record")
    return masks, views


def _check_every_action(trial: _Trial, state: State) -> None:
    """Each legal action can be played, each other one is refused."""
    legal = state.legal_actions()
    for action in legal:
        other = state.copy()
        trial.play(other, action)
        after = replace(trial, ply=len(other.history))
        if other.seat >= 0:
            after.demand_action(other)
        _check_position(after, other)
    before = state.copy()
    for action in (-1, *range(len(trial.game.actions) + 1)):
        if action not in legal:
            refused = False
            try:
                state.play(action)
            except IllegalAction:
                refused = True
            trial.demand(refused, f"action {action} is played, though it is illegal")
            trial.demand(state == before and state.history == before.history, f"refusing {action} changes the game")


def _check_outcome(trial: _Trial, state: State) -> None:
    """Winners and returns of a finished game."""
    utilities, winners = state.returns(), state.winners()
    several = state.players > 1
    trial.demand(np.isfinite(utilities).all(), f"the returns are {utilities}")
    trial.demand(winners or not several, "nobody wins")
    if several and "reward" in trial.options:
        trial.demand(abs(sum(utilities)) < 1e-4, f"the returns {utilities} don't add up to 0")
    if several and trial.options.get("reward") == "win":
        least = min(utilities[seat] for seat in winners)
        trial.demand(least >= max(utilities), f"the returns {utilities} don't favour the winners {winners}")
    worst = trial.game.worst_return(state.players, trial.options)
    trial.demand(min(utilities) >= worst - 1e-4, f"the returns {utilities} go below `worst_return`, {worst}")


# --- value: copies, pickles, records, seeds ---------------------------------------------------------------


def _check_value(plan: _Plan) -> None:
    """A game is a value: nothing of it lies outside its record, and its set-up and decisions lead to it."""
    for table in plan.tables():
        with table.told("dealing"):
            _check_seeds(table)
    for trial in plan.trials():
        with trial.told("copying and replaying"):
            setup = trial.deal().setup()
            for state in trial.walk():
                if len(state.history) % _RARE_STRIDE == 0 or state.seat < 0:
                    _check_copies(trial, state)
                    trial.demand(state.setup() == setup, "`read_setup` gives another set-up than after the deal")
                    _check_replay(trial, state)
            _check_redealing(trial, state, setup)
            _check_junk(trial, setup)


def _check_seeds(trial: _Trial) -> None:
    """The same seed gives the same game; different seeds don't always give the same one."""
    trial.demand(trial.deal() == trial.deal(), "the same seed deals two different games")
    stories = set()
    for number in range(4):
        other = replace(trial, seed=trial.seed + number)
        # The same luck in choosing, so that nothing but the game's own chance makes a difference.
        luck = random.Random(0)
        walk = other.walk(lambda state, luck=luck: luck.choice(state.legal_actions()))  # type: ignore[misc]
        stories.add(b"".join(_look(other, state)[1].tobytes() for state in walk))
    trial.demand(len(stories) > 1, "games with different seeds look the same from the deal to the end")


def _check_copies(trial: _Trial, state: State) -> None:
    """Copies are equal and independent."""
    for how, other in (
        ("copy", state.copy()),
        ("deep copy", copy.deepcopy(state)),
        ("pickle", pickle.loads(pickle.dumps(state))),
    ):
        trial.demand(other == state and hash(other) == hash(state), f"a {how} is not equal to the game")
        trial.demand(other.legal_actions() == state.legal_actions(), f"a {how} has other legal actions")
        before = state.record.tobytes()
        if other.seat >= 0:
            other.play(other.legal_actions()[0])
        trial.demand(state.record.tobytes() == before, f"playing on in a {how} changes the game")


def _differing(one: State, other: State, but: Sequence[str] = ()) -> list[str]:
    """Names of the fields in which two games differ."""
    names = one.game.dtype.names or ()
    return [name for name in names if name not in but and np.any(one.record[name] != other.record[name])]


def _check_replay(trial: _Trial, state: State) -> None:
    """Written as JSON and replayed, the game is the same, but for chance that nothing asks for again."""
    written = record.write(state)
    text = json.dumps(written)
    trial.demand(json.loads(text) == written, "a record changes on its way through JSON")
    again = record.replay(json.loads(text))
    fields = _differing(again, state, but=("rng",))
    trial.demand(not fields, f"a replay of the record differs in {', '.join(fields)}")
    trial.demand((again.mask() == state.mask()).all(), "a replay of the record has other legal actions")


def _check_redealing(trial: _Trial, state: State, setup: dict[str, Any]) -> None:
    """A deal leaves nothing of the game that was played before on the same record."""
    fields = _differing(_dealt(state, trial.seed, None), trial.deal())
    trial.demand(not fields, f"`deal` leaves what an earlier game wrote into {', '.join(fields)}")
    fresh = State(trial.game, state.players, trial.seed, setup, **trial.options)
    fields = _differing(_dealt(state, trial.seed, setup), fresh)
    trial.demand(not fields, f"`fill_setup` leaves what an earlier game wrote into {', '.join(fields)}")
    trial.demand(fresh.setup() == setup, "`read_setup` doesn't give back what `fill_setup` was given")
    mask = fresh.mask()
    trial.demand(fresh.seat < 0 or mask.any(), "after `fill_setup` nobody has an action")


def _dealt(state: State, seed: int | None, setup: dict[str, Any] | None) -> State:
    """Copy a game and deal a new one on the copy's record."""
    other = state.copy()
    other.deal(seed, setup)
    return other


def _check_junk(trial: _Trial, setup: dict[str, Any]) -> None:
    """A set-up that is none is refused with a ValueError, and leaves the record as it was."""
    junk: dict[str, Any] = {"None": None, "a list": [], "an empty dict": {}, "an unknown key": setup | {"no such": 1}}
    junk |= {f"nonsense for {key!r}": setup | {key: "no such thing"} for key in setup}
    state = trial.deal()
    before = state.record.tobytes()
    for what, wrong in junk.items():
        refused = False
        try:
            trial.game.fill_setup(state.record, wrong)
        except ValueError:
            refused = True
        trial.demand(refused, f"`fill_setup` takes a set-up with {what}")
        trial.demand(state.record.tobytes() == before, f"`fill_setup` refuses {what} only after changing the record")


# --- chance: re-deals -------------------------------------------------------------------------------------


def _check_chance(plan: _Plan) -> None:
    """A re-deal keeps what its seat knows, hangs on nothing else, and redraws the rest."""
    for players in plan.game.players:
        changed = 0
        for trial in plan.trials(players):
            with trial.told("re-dealing"):
                for state in trial.walk():
                    if len(state.history) % _STRIDE == 0:
                        changed += sum(_check_redeals(trial, state, seat) for seat in range(players))
        trial.demand(
            changed or not plan.hidden,
            "`redeal` never changed anything but the generator, so a search would know what is hidden; if nothing "
            "is, check the game with hidden=False",
        )


def _check_redeals(trial: _Trial, state: State, seat: int) -> int:
    """Check some re-deals of one position for one seat; return how many of them changed more than the generator."""
    before = state.copy()
    last = state.redealt(seat, 3)
    changed = 0
    for seed in (1, 2):
        other = state.redealt(seat, seed)
        _check_looks_alike(trial, state, other, seat)
        changed += bool(_differing(state, other, but=("rng",)))
        again = other.redealt(seat, 3)
        fields = _differing(again, last)
        if fields and state.seat >= 0:
            _check_same_future(trial, again, last, seat, fields)
    trial.demand(state == before, "`redeal` changes the game that it is given a copy of")
    generators = [name for name in trial.game.dtype.names or () if trial.game.dtype[name].base == np.uint64]
    kept = [name for name in generators if np.any(last.record[name] == state.record["rng"])]
    trial.demand(not kept, f"`redeal` leaves the game's generator in {', '.join(kept)}, so its future is known")
    if state.seat >= 0 and len(state.history) % _RARE_STRIDE == 0:
        _play_out(trial, last)
    return changed


def _check_looks_alike(trial: _Trial, state: State, other: State, seat: int) -> None:
    """The seat can't tell a re-deal from the game."""
    seen = np.flatnonzero(state.observation(seat) != other.observation(seat))
    if len(seen):
        raise trial.error(
            f"seat {seat} sees in {trial.slice_at(seen)} that its re-deal is another game: either `observe` shows what "
            "is hidden, or `redeal` changes what is known"
        )
    if seat == state.seat:
        trial.demand(
            (state.mask() == other.mask()).all(), f"a re-deal for seat {seat}, which is to act, changes its mask"
        )
    fields = [name for name in _differing(state, other) if name in ("players", "seat", "turn", "phase")]
    trial.demand(not fields, f"a re-deal for seat {seat} changes {', '.join(fields)}")


def _check_same_future(trial: _Trial, one: State, other: State, seat: int, fields: list[str]) -> None:
    """Two re-deals with the same chance, of games that look the same, may differ in what has no effect alone."""
    one, other = one.copy(), other.copy()
    chance = random.Random(trial.seed)
    fault = f"`redeal` for seat {seat} lets through what was hidden before it, in {', '.join(fields)}"
    while one.seat >= 0:
        trial.demand(one.legal_actions() == other.legal_actions(), fault)
        action = chance.choice(one.legal_actions())
        trial.play(one, action)
        trial.play(other, action)
        trial.demand((_look(trial, one)[1] == _look(trial, other)[1]).all(), fault)
    trial.demand((one.seat, one.scores()) == (other.seat, other.scores()), fault)


def _play_out(trial: _Trial, state: State) -> None:
    """A re-dealt game can be played to the end."""
    chance = random.Random(trial.seed)
    while state.seat >= 0:
        trial.demand_action(state)
        trial.play(state, chance.choice(state.legal_actions()))
    _check_outcome(trial, state)


# --- batch: many games at once ----------------------------------------------------------------------------


def _choice(observation: np.ndarray, mask: np.ndarray) -> int:
    """Choose a legal action by nothing but what the seat sees, so that all faces choose alike."""
    legal = np.flatnonzero(mask)
    return int(legal[zlib.crc32(observation.tobytes()) % len(legal)])


class _Hashing(Agent):
    """Plays that choice."""

    name = "hashing"

    def act(self, view: Views) -> int:
        return _choice(view.observation[0], view.mask[0])


@dataclass
class _Line:
    """A game played by that choice on the value itself: seat, view, mask and action of each decision; then its end."""

    plies: list[tuple[int, np.ndarray, np.ndarray, int]]
    final: State

    @classmethod
    def of(cls, trial: _Trial) -> _Line:
        """Play a game."""
        plies = []

        def choose(state: State) -> int:
            view, mask = state.observation(state.seat), state.mask()
            plies.append((state.seat, view, mask, _choice(view, mask)))
            return plies[-1][3]

        for state in trial.walk(choose):
            final = state
        return cls(plies, final)


def _same_view(trial: _Trial, face: str, seen: Any, mask: Any, view: np.ndarray, legal: np.ndarray) -> None:
    """Demand that a face shows what the value shows."""
    trial.demand(np.array_equal(seen, view), f"{face} shows another observation than the game itself")
    trial.demand(np.array_equal(mask, legal), f"{face} shows another mask than the game itself")


def _table_lines(plan: _Plan, table: _Trial) -> tuple[list[int], list[_Line]]:
    """Seeds and games for the lanes of a batch, at least three, so that lanes end apart."""
    seeds = [plan.seed + lane for lane in range(max(plan.games, 3))]
    return seeds, [_Line.of(replace(table, seed=seed)) for seed in seeds]


def _check_batch(plan: _Plan) -> None:
    """The lanes of a batch play the games of single states, in one thread or more, and can be put back."""
    for table in plan.tables():
        with table.told("playing in a batch"):
            seeds, lines = _table_lines(plan, table)
            batch = _batch(table, len(seeds))
            batch.reset(seeds)
            snapshots = [batch.snapshot()]
            for ply in range(max(len(line.plies) for line in lines)):
                _step_lines(table, batch, lines, ply)
                snapshots.append(batch.snapshot())
            for lane, line in enumerate(lines):
                _check_lane_end(table, batch, lane, line)
            _check_restored(table, batch, lines, snapshots)
            _check_next_deal(table, seeds, lines)
            _check_threads(table, seeds)


def _batch(trial: _Trial, count: int, **arguments: Any) -> Batch:
    """Make a batch for a trial's games."""
    return Batch(trial.game, count, trial.players, trial.options, **arguments)


def _step_lines(trial: _Trial, batch: Batch, lines: list[_Line], ply: int) -> None:
    """Compare one decision of all lanes whose games go on, and play it."""
    trial.ply = ply
    lanes = np.array([lane for lane, line in enumerate(lines) if ply < len(line.plies)])
    for lane in lanes:
        seat, view, legal, _ = lines[lane].plies[ply]
        trial.demand(batch.seat[lane] == seat, f"lane {lane} of a batch asks seat {batch.seat[lane]}, not {seat}")
        _same_view(trial, "a batch", batch.observation[lane], batch.mask[lane], view, legal)
    batch.step(np.array([lines[lane].plies[ply][3] for lane in lanes]), lanes)


def _check_lane_end(trial: _Trial, batch: Batch, lane: int, line: _Line) -> None:
    """Compare the end of a lane with that of its game."""
    players, final = line.final.players, line.final
    trial.demand(batch.done[lane], "a lane of a batch goes on after its game's end")
    trial.demand(batch.states[lane].tobytes() == final.record.tobytes(), "a lane of a batch ends in another record")
    trial.demand(batch.utility[lane, :players].tolist() == final.returns(), "a lane of a batch has other returns")
    trial.demand(batch.points[lane, :players].tolist() == final.scores(), "a lane of a batch has other scores")
    trial.demand(np.flatnonzero(batch.won[lane]).tolist() == final.winners(), "a lane of a batch has other winners")


def _check_restored(trial: _Trial, batch: Batch, lines: list[_Line], snapshots: list[dict[str, np.ndarray]]) -> None:
    """Put back to the middle, the games go on as before."""
    middle = len(snapshots) // 2
    batch.restore(snapshots[middle])
    for ply in range(middle, len(snapshots) - 1):
        _step_lines(trial, batch, lines, ply)
    trial.demand(
        (batch.snapshot()["states"] == snapshots[-1]["states"]).all(), "games put back to a snapshot end otherwise"
    )


def _check_next_deal(trial: _Trial, seeds: list[int], lines: list[_Line]) -> None:
    """A lane that ended deals the game that its state would deal next."""
    batch = _batch(trial, len(seeds), autoreset=True)
    batch.reset(seeds)
    for _, _, _, action in lines[0].plies:
        batch.step(np.array([action]), batch.lanes[:1])
    state = lines[0].final.copy()
    state.deal()
    trial.demand(batch.states[0].tobytes() == state.record.tobytes(), "a lane deals another next game than its state")


def _check_threads(trial: _Trial, seeds: list[int]) -> None:
    """Two threads play the same games as one."""
    if getattr(config, "NUMBA_NUM_THREADS", 1) < 2:
        return
    ends = []
    for threads in (1, 2):
        batch = _batch(trial, len(seeds), threads=threads)
        batch.reset(seeds)
        _play_batch(trial, batch, make_agent("random"))
        ends.append(batch.snapshot()["states"].tobytes())
    trial.demand(ends[0] == ends[1], "two threads play other games than one")


def _play_batch(trial: _Trial, batch: Batch, agent: Agent) -> None:
    """Let an agent play all lanes to their ends."""
    for ply in range(trial.game.max_plies + 1):
        lanes = np.flatnonzero(batch.seat >= 0)
        if len(lanes) == 0:
            return
        trial.ply = ply
        batch.step(batch.ask(agent, lanes), lanes)
    raise trial.error(f"games of the agent {agent} go on after `max_plies` = {trial.game.max_plies} decisions")


# --- faces: what every library sees -----------------------------------------------------------------------


def _check_faces(plan: _Plan) -> None:
    """Every face shows the same game, move by move, for the same seed."""
    for trial in plan.trials():
        with trial.told("playing on the faces"):
            line = _Line.of(trial)
            if line.final.players > 1:
                _check_aec(trial, line)
            for seat in range(line.final.players):
                _check_single(trial, line, seat)
    for table in plan.tables():
        with table.told("playing on the faces"):
            seeds, lines = _table_lines(plan, table)
            _check_vector(table, lines)
            if find_spec("stable_baselines3"):
                _check_selfplay(table, seeds, lines)


def _check_aec(trial: _Trial, line: _Line) -> None:
    """PettingZoo's agents see and get what their seats do."""
    from spirits_env.aec import RawEnv, wrapped_env

    makers: tuple[tuple[str, Callable[..., Any]], ...] = (("the raw AEC face", RawEnv), ("the AEC face", wrapped_env))
    for face, make in makers:
        env = make(trial.game.name, players=trial.players, **trial.options)
        env.reset(seed=trial.seed)
        for ply, (seat, view, legal, action) in enumerate(line.plies):
            trial.ply = ply
            trial.demand(env.agent_selection == f"player_{seat}", f"{face} asks {env.agent_selection}, not seat {seat}")
            seen = env.last()[0]
            _same_view(trial, face, seen["observation"], seen["action_mask"], view, legal)
            env.step(action)
        trial.demand(all(env.terminations.values()), f"{face} goes on after the end")
        rewards = [env.rewards[agent] for agent in env.possible_agents]
        trial.demand(rewards == line.final.returns(), f"{face} gives the rewards {rewards}, not {line.final.returns()}")
        trial.demand(env.unwrapped.game_state == line.final, f"{face} ends in another game")


def _check_single(trial: _Trial, line: _Line, seat: int) -> None:
    """A learner in each seat sees and gets what the seat does."""
    from spirits_env.single import SingleEnv

    face = f"the single face in seat {seat}"
    env = SingleEnv(trial.game.name, trial.players, seat, _Hashing(), **trial.options)
    seen, info = env.reset(seed=trial.seed)
    over, reward = False, 0.0
    for ply, (acting, view, legal, action) in enumerate(line.plies):
        if acting == seat:
            trial.ply = ply
            _same_view(trial, face, seen, info["action_mask"], view, legal)
            seen, reward, over, _, info = env.step(action)
            trial.demand(reward == 0 or over, f"{face} gives a reward before the end")
    if any(ply[0] == seat for ply in line.plies):
        trial.demand(over, f"{face} goes on after the end")
        trial.demand(reward == line.final.returns()[seat], f"{face} gives the reward {reward}")
        _check_end(trial, face, seen, info, seat, line.final)


def _check_end(trial: _Trial, face: str, seen: Any, info: Any, seat: int, final: State) -> None:
    """Compare a last observation and info with the end of a game."""
    trial.demand(np.array_equal(seen, final.observation(seat)), f"{face} shows another last observation")
    for name, wanted in (("returns", final.returns()), ("scores", final.scores())):
        trial.demand(info[name].tolist() == wanted, f"{face} tells the {name} {info[name].tolist()}, not {wanted}")
    winners = np.flatnonzero(info["winners"]).tolist()
    trial.demand(winners == final.winners(), f"{face} tells the winners {winners}, not {final.winners()}")


def _check_vector(trial: _Trial, lines: list[_Line]) -> None:
    """Lanes of the vector face show the games of their seeds, with the learner in the last seat."""
    from spirits_env.vector import VectorEnv

    seat = trial.players - 1
    own = [[ply for ply in line.plies if ply[0] == seat] for line in lines]
    env = VectorEnv(len(lines), trial.game.name, trial.players, seat, _Hashing(), **trial.options)
    seen, infos = env.reset(seed=trial.seed)
    for step in range(max(len(plies) for plies in own)):
        actions = np.zeros(len(lines), np.int64)
        for lane, plies in enumerate(own):
            if step < len(plies):
                _, view, legal, action = plies[step]
                actions[lane] = action
                _same_view(trial, "the vector face", seen[lane], infos["action_mask"][lane], view, legal)
        seen, _, over, _, infos = env.step(actions)
        for lane, plies in enumerate(own):
            if step == len(plies) - 1:
                trial.demand(over[lane], "the vector face goes on after the end")
                told = {name: infos[name][lane] for name in ("returns", "scores", "winners")}
                _check_end(trial, "the vector face", seen[lane], told, seat, lines[lane].final)


def _check_selfplay(trial: _Trial, seeds: list[int], lines: list[_Line]) -> None:
    """Lanes of the stable-baselines3 face show the games of their seeds, seat by seat."""
    from spirits_env.sb3 import SelfPlayVecEnv

    face = "the stable-baselines3 face"
    env = SelfPlayVecEnv(trial.game, len(lines), trial.players, **trial.options)
    env.seed(seeds[0])
    seen: Any = env.reset()
    for ply in range(max(len(line.plies) for line in lines)):
        trial.ply = ply
        masks = np.array(env.env_method("action_masks"))
        actions = masks.argmax(axis=1)
        for lane, line in enumerate(lines):
            if ply < len(line.plies):
                _, view, legal, action = line.plies[ply]
                actions[lane] = action
                _same_view(trial, face, seen[lane], masks[lane], view, legal)
        seen, rewards, over, infos = env.step(actions)
        for lane, line in enumerate(lines):
            if ply == len(line.plies) - 1:
                returns, seat = line.final.returns(), line.plies[ply][0]
                trial.demand(over[lane], f"{face} goes on after the end")
                trial.demand(rewards[lane] == returns[seat], f"{face} gives the reward {rewards[lane]}")
                trial.demand(env.outcomes[lane].tolist() == returns, f"{face} tells other returns")
                last = infos[lane]["terminal_observation"]
                trial.demand(
                    np.array_equal(last, line.final.observation(seat)), f"{face} shows another last observation"
                )


def _check_stock(plan: _Plan) -> None:
    """The checkers that come with PettingZoo, Gymnasium and stable-baselines3 are content, warnings included."""
    for players in plan.game.players:
        trial = _Trial(plan.game, players, plan.game.check_options({}), plan.seed)
        with trial.told("a stock checker"), _strict_and_silent():
            _run_gymnasium_checkers(trial)
            if players > 1:
                _run_pettingzoo_checkers(trial)


@contextmanager
def _strict_and_silent() -> Iterator[None]:
    """Make warnings errors, but for those that any Dict observation gets, and keep what is drawn from the terminal."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".*The board comes as text instead of in a window", UserWarning)
        # With pygame installed, PettingZoo's checkers make an environment in a way that it has given up.
        warnings.filterwarnings("ignore", "The old environment creation API", DeprecationWarning)
        warnings.filterwarnings("ignore", "Observation is not a NumPy array", UserWarning)
        warnings.filterwarnings("ignore", "Observation space for each agent probably should be", UserWarning)
        yield


def _has_renderer() -> bool:
    """Tell whether the libraries for pictures are there."""
    return all(find_spec(name) for name in ("PIL", "resvg_py"))


def _run_gymnasium_checkers(trial: _Trial) -> None:
    """Check a learner's environment with Gymnasium's checker, and stable-baselines3's where it is installed."""
    from gymnasium.envs.registration import EnvSpec
    from gymnasium.utils.env_checker import check_env

    arguments = {"game": trial.game.name, "players": trial.players, "seat": "rotate"}
    name = env_id(trial.game.name, "".join(word.title() for word in trial.game.name.split("_")))
    spec = EnvSpec(name, entry_point="spirits_env.single:SingleEnv", kwargs=arguments)
    check_env(spec.make().unwrapped, skip_render_check=not _has_renderer())
    if find_spec("stable_baselines3"):
        from stable_baselines3.common.env_checker import check_env as check_for_sb3

        check_for_sb3(spec.make().unwrapped)


def _run_pettingzoo_checkers(trial: _Trial) -> None:
    """Check the agents' environments, with their wrappers and without, with PettingZoo's checkers."""
    from pettingzoo.test import api_test, parallel_api_test, seed_test

    from spirits_env.aec import RawEnv, parallel_env, wrapped_env

    name, players = trial.game.name, trial.players
    makers: tuple[Callable[..., Any], ...] = (RawEnv, wrapped_env)
    for make in makers:
        api_test(make(name, players=players), num_cycles=200)
        seed_test(lambda make=make: make(name, players=players), num_cycles=30)
    parallel_api_test(parallel_env(name, players=players), num_cycles=200)


# --- agents -----------------------------------------------------------------------------------------------


def _check_agents(plan: _Plan) -> None:
    """The built-in agents play whole games, the same for the same seed, and see no more than they may."""
    for table in plan.tables():
        with table.told("an agent"):
            _check_estimates(table)
            for name in (*BUILT_IN, _SHORT_SEARCH):
                ends = []
                for _ in range(2):
                    batch = _batch(table, plan.games)
                    batch.reset([plan.seed + lane for lane in range(plan.games)])
                    _play_batch(table, batch, make_agent(name))
                    ends.append(batch.snapshot()["states"].tobytes())
                table.demand(ends[0] == ends[1], f"the agent {name} plays two different games with one seed")


def _check_estimates(trial: _Trial) -> None:
    """The estimate is a number, and the same whatever the seat can't know."""
    evaluate = trial.game.evaluate
    for state in trial.walk():
        if len(state.history) % _RARE_STRIDE == 0 or state.seat < 0:
            before = state.record.tobytes()
            for seat in range(state.players):
                value = evaluate(state.record, seat)
                trial.demand(np.isfinite(value), f"`evaluate` gives seat {seat} {value}")
                for seed in range(2):
                    trial.demand(
                        evaluate(state.redealt(seat, seed).record, seat) == value,
                        f"`evaluate` gives seat {seat} another estimate after a re-deal of what it can't know",
                    )
            trial.demand(state.record.tobytes() == before, "`evaluate` changes the record")


# --- drawing ----------------------------------------------------------------------------------------------


def _check_drawing(plan: _Plan) -> None:
    """Texts and pictures are well-formed, leave the game alone, and show a seat nothing that it can't know."""
    for trial in plan.tables():
        with trial.told("drawing"):
            for state in trial.walk():
                if len(state.history) % _RARE_STRIDE == 0 or state.seat < 0:
                    for seat in (None, *range(state.players)):
                        _check_drawings(trial, state, seat)
                    _check_words(trial, state)


def _check_drawings(trial: _Trial, state: State, seat: int | None) -> None:
    """Check both drawings of one position from one view."""
    viewer = "everybody" if seat is None else f"seat {seat}"
    before = state.record.tobytes()
    text, scene = state.text(seat), state.svg(seat)
    trial.demand(state.record.tobytes() == before, f"drawing for {viewer} changes the record")
    trial.demand((state.text(seat), state.svg(seat)) == (text, scene), f"two drawings for {viewer} differ")
    trial.demand(text.strip(), f"the text for {viewer} is empty")
    trial.demand(
        text.isascii() and text.replace("\n", "").isprintable(), f"the text for {viewer} has more than plain characters"
    )
    width = max(map(len, text.splitlines()))
    trial.demand(width <= _TEXT_WIDTH, f"the text for {viewer} is {width} columns wide, more than {_TEXT_WIDTH}")
    _check_svg(trial, scene, viewer)
    if seat is not None and state.seat >= 0:
        for seed in range(2):
            other = state.redealt(seat, seed)
            trial.demand(other.text(seat) == text, f"the text for {viewer} shows what the seat can't know")
            trial.demand(other.svg(seat) == scene, f"the picture for {viewer} shows what the seat can't know")


def _check_svg(trial: _Trial, scene: str, viewer: str) -> None:
    """The picture is one SVG document."""
    try:
        root = ElementTree.fromstring(scene)
    except ElementTree.ParseError as error:
        raise trial.error(f"the picture for {viewer} is no well-formed XML ({error})") from None
    trial.demand(root.tag == "{http://www.w3.org/2000/svg}svg", f"the picture for {viewer} is no SVG but {root.tag}")


def _check_words(trial: _Trial, state: State) -> None:
    """Every choice has a place in the picture and a sentence of its own; every category is explained."""
    drawn = {int(action) for action in re.findall(r'data-legal="(\d+)"', state.svg())}
    missing = sorted(set(state.legal_actions()) ^ drawn)
    if missing:
        raise trial.error(f"`data-legal` in the picture and `legal` differ in {trial.action_at(np.array(missing))}")
    before = state.record.tobytes()
    told = {action: state.tell(action) for action in state.legal_actions()}
    for action, text in told.items():
        trial.demand(text.endswith("."), f"`tell` says {text!r} of action {action}, which is no sentence")
    trial.demand(len(set(told.values())) == len(told), "`tell` says the same of two actions")
    lines = [score.text for score in state.explain()]
    trial.demand(all(line.endswith(".") for line in lines), f"`explain` gives {lines}, not all of them sentences")
    trial.demand(state.record.tobytes() == before, "telling what happens changes the record")
    if state.seat >= 0:
        other = state.redealt(state.seat, 1)
        trial.demand({a: other.tell(a) for a in told} == told, "`tell` says what the seat to act can't know")


_CHECKS: dict[str, Callable[[_Plan], None]] = {
    "facts": _check_facts,
    "play": _check_play,
    "value": _check_value,
    "chance": _check_chance,
    "batch": _check_batch,
    "faces": _check_faces,
    "stock": _check_stock,
    "agents": _check_agents,
    "drawing": _check_drawing,
}

# What `check_game` looks at, in that order.
TOPICS = tuple(_CHECKS)
