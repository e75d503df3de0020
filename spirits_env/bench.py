"""Measures speed: rates of batches, rules, faces and policies in short windows in turn, by CPU time and wall clock.

Everything to be measured is made ready first; then each round gives every case one window, so load hits all alike.
"""

from __future__ import annotations

import platform
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from spirits_env import games, policies
from spirits_env.aec import RawEnv, wrapped_env
from spirits_env.agents import Agent
from spirits_env.batch import Batch
from spirits_env.bind import bind
from spirits_env.game import choose_uniform
from spirits_env.single import SingleEnv
from spirits_env.vector import VectorEnv

PLIES_PER_RUN = 100_000
GAMES_PER_RUN = 10
# Decisions that the foremost game of a batch is ahead of the last: two games or more.
_SPREAD = 200


class NotInstalledError(Exception):
    """A case needs something that this environment lacks; the message says what."""


def nothing() -> None:
    """Do nothing: a trial with nothing to prepare."""


@dataclass(frozen=True)
class Trial:
    """A case made ready.

    Attributes:
        run: Does a piece of the work and returns how much it was, in the case's unit.
        before: Prepares each run, untimed.
    """

    run: Callable[[], int]
    before: Callable[[], None] = nothing


@dataclass(frozen=True)
class Case:
    """Something whose rate is measured.

    Attributes:
        name: Words separated by slashes, the group first.
        text: What runs, for people.
        prepare: Makes it ready: imports, compiles, deals.
        unit: What is counted.
    """

    name: str
    text: str
    prepare: Callable[[], Trial]
    unit: str = "decisions/s"


@dataclass
class Figure:
    """What came out, one sample per round.

    Attributes:
        name: The name of the case.
        text: What it is, for people.
        unit: The unit of the samples.
        samples: Under "cpu" those by process CPU time (all threads), under "wall" those by wall clock, under "value"
            those of what is no time.
    """

    name: str
    text: str
    unit: str
    samples: dict[str, list[float]] = field(default_factory=dict)

    def middle(self, clock: str) -> float:
        """The median of a clock's samples."""
        return median(self.samples[clock])

    def add(self, **values: float) -> None:
        """Add one sample per clock."""
        for clock, value in values.items():
            self.samples.setdefault(clock, []).append(value)

    def summary(self) -> dict[str, object]:
        """The figure as plain data."""
        clocks = {
            clock: {"median": median(values), "min": min(values), "max": max(values), "samples": values}
            for clock, values in self.samples.items()
        }
        return {"name": self.name, "text": self.text, "unit": self.unit, **clocks}


def number(value: float) -> str:
    """A number with three digits that count."""
    for size, letter in ((1e6, " M"), (1e3, " k")):
        if value >= size:
            return f"{value / size:#.3g}".rstrip(".") + letter
    return f"{value:.0f}" if value == int(value) else f"{value:.3g}"


def spread(figure: Figure, clock: str) -> str:
    """A clock's median and range."""
    values = figure.samples.get(clock)
    if not values:
        return ""
    middle = number(figure.middle(clock))
    return middle if min(values) == max(values) else f"{middle} ({number(min(values))} to {number(max(values))})"


def processor() -> str:
    """The processor's name, as well as the system knows it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def say(text: str) -> None:
    """Tell what is going on."""
    print(text, file=sys.stderr, flush=True)


def prepared(
    cases: Sequence[Case], skipped: list[str], tell: Callable[[str], None] = say
) -> Iterator[tuple[Case, Trial]]:
    """Make the cases ready, and run each once to warm it up; those that can't be are added to `skipped`."""
    for case in cases:
        tell(f"preparing {case.name}")
        try:
            trial = case.prepare()
        except NotInstalledError as error:
            skipped.append(f"{case.name}: {error}")
            continue
        trial.before()
        trial.run()
        yield case, trial


def window(trial: Trial, seconds: float) -> tuple[float, float]:
    """Run a trial for so many seconds, and return its rates by CPU time and by wall clock."""
    work, cpu, wall = 0, 0.0, 0.0
    # A coarse clock may show no CPU time yet.
    while wall < seconds or cpu == 0:
        trial.before()
        cpu_before, wall_before = time.process_time(), time.perf_counter()
        work += trial.run()
        wall += time.perf_counter() - wall_before
        cpu += time.process_time() - cpu_before
    return work / cpu, work / wall


def rates(
    cases: Sequence[Case], rounds: int, seconds: float, skipped: list[str], tell: Callable[[str], None] = say
) -> list[Figure]:
    """Measure the rates of all cases in turn, round by round.

    Args:
        cases: What to measure.
        rounds: Windows per case.
        seconds: Length of a window.
        skipped: Takes one line per case that could not be measured.
        tell: Takes a line on what is going on.

    Returns:
        One figure per case measured.
    """
    ready = list(prepared(cases, skipped, tell))
    figures = [Figure(case.name, case.text, case.unit) for case, _ in ready]
    for turn in range(rounds if ready else 0):
        tell(f"round {turn + 1} of {rounds}")
        for (_, trial), figure in zip(ready, figures, strict=True):
            cpu, wall = window(trial, seconds)
            figure.add(cpu=cpu, wall=wall)
    return figures


def usual_players(game: str) -> int:
    """The smallest player count that isn't solitaire: what is measured where nothing else is said."""
    return min(players for players in games.load(game).players if players > 1)


def pick(mask: np.ndarray, chance: random.Random) -> int:
    """Pick a legal action, cheaply."""
    legal_actions = np.flatnonzero(mask)
    return int(legal_actions[int(chance.random() * len(legal_actions))])


def spread_batch(game: str, count: int, players: int, threads: int = 1) -> tuple[Batch, np.ndarray]:
    """Make a batch of games at all points between the deal and the end, with a generator of choices per game."""
    batch = Batch(game, count, players, threads=threads, autoreset=True)
    batch.reset(range(count))
    chance = batch.chance[:, 0].copy()
    actions = np.empty(count, np.int64)
    for lead in range(_SPREAD):
        lanes = batch.lanes[lead * count // _SPREAD :]
        choose_uniform(chance, batch.mask, actions)
        batch.step(actions[lanes], lanes)
    return batch, chance


def batch_loop(game: str, count: int, players: int) -> Trial:
    """Choose at random and step, over and over."""
    batch, chance = spread_batch(game, count, players)
    actions = np.empty(count, np.int64)
    steps = max(1, PLIES_PER_RUN // count)

    def run() -> int:
        for _ in range(steps):
            choose_uniform(chance, batch.mask, actions)
            batch.step(actions)
        return steps * count

    return Trial(run)


def batch_step(game: str, count: int, players: int, threads: int = 1) -> Trial:
    """Step alone: the same games again with the actions that were chosen before."""
    batch, chance = spread_batch(game, count, players, threads)
    start = batch.snapshot()
    choices = np.empty((max(1, PLIES_PER_RUN // count), count), np.int64)
    for actions in choices:
        choose_uniform(chance, batch.mask, actions)
        batch.step(actions)

    def run() -> int:
        for actions in choices:
            batch.step(actions)
        return choices.size

    return Trial(run, partial(batch.restore, start))


def _playouts(states, chance, mask, plies):  # type: ignore[no-untyped-def]
    """Play random decisions in each game, dealing anew at each end: no observation, no Python.

    The rules are those of the game that this is bound to.
    """
    for i in range(states.shape[0]):
        state = states[i]
        actions = np.zeros(1, np.int64)
        for _ in range(plies):
            legal(state, mask[0])  # type: ignore[name-defined]  # noqa: F821
            choose_uniform(chance[i : i + 1], mask, actions)
            play(state, actions[0])  # type: ignore[name-defined]  # noqa: F821
            if state.seat < 0:
                deal(state)  # type: ignore[name-defined]  # noqa: F821
                begin(state)  # type: ignore[name-defined]  # noqa: F821


def rules_playouts(game: str, players: int) -> Trial:
    """Compile the playouts with the game's rules, as the batch compiles its loops."""
    rules = games.load(game)
    kernel = bind(_playouts, rules)
    batch, chance = spread_batch(game, 64, players)
    mask = np.zeros((1, len(rules.actions)), np.int8)
    plies = PLIES_PER_RUN // len(batch)

    def run() -> int:
        kernel(batch.states, chance, mask, plies)
        return plies * len(batch)

    return Trial(run)


def aec_loop(make: Callable[[], Any]) -> Trial:
    """The loop that PettingZoo documents, with a cheap picker."""
    env = make()
    chance = random.Random(0)
    env.reset(seed=0)

    def run() -> int:
        decisions = 0
        for _ in range(GAMES_PER_RUN):
            env.reset()
            for _ in env.agent_iter():
                observation, _, terminated, truncated, _ = env.last()
                if terminated or truncated:
                    env.step(None)
                    continue
                env.step(pick(observation["action_mask"], chance))
                decisions += 1
        return decisions

    return Trial(run)


def gymnasium_loop(game: str, players: int) -> Trial:
    """One learner against random opponents."""
    env = SingleEnv(game, players, opponents="random")
    chance = random.Random(0)
    env.reset(seed=0)

    def run() -> int:
        steps = 0
        for _ in range(GAMES_PER_RUN):
            _, info = env.reset()
            over = False
            while not over:
                _, _, over, _, info = env.step(pick(info["action_mask"], chance))
                steps += 1
        return steps

    return Trial(run)


def vector_loop(game: str, count: int, players: int) -> Trial:
    """Learners against random opponents, one per lane, finished games dealt anew in the same step."""
    env = VectorEnv(count, game, players, opponents="random", autoreset_mode="SameStep")
    _, info = env.reset(seed=0)
    chance = np.arange(1, count + 1, dtype=np.uint64)
    actions = np.empty(count, np.int64)
    steps = max(1, PLIES_PER_RUN // 4 // count)

    def run() -> int:
        nonlocal info
        for _ in range(steps):
            choose_uniform(chance, info["action_mask"], actions)
            info = env.step(actions)[-1]
        return steps * count

    return Trial(run)


def trained_policy(game: str, players: int) -> Agent:
    """Load the first policy of the package that plays a game with so many players.

    Raises:
        NotInstalledError: If there is none, or onnxruntime is not installed.
    """
    try:
        from spirits_env.agents.policy import PolicyAgent

        agents = [PolicyAgent(policies.PREFIX + name) for name in policies.names()]
    except ImportError as error:
        raise NotInstalledError(str(error)) from None
    for agent in agents:
        if agent.card["game"] == game and players in agent.card["players"]:
            return agent
    raise NotInstalledError(f"the package has no policy for {game} with {players} players")


def policy_decisions(game: str, count: int, players: int) -> Trial:
    """Ask a policy of the package for its best actions in as many games at once, at all points of them."""
    agent = trained_policy(game, players)
    batch, _ = spread_batch(game, count, players)

    def run() -> int:
        batch.ask(agent, batch.lanes)
        return count

    return Trial(run)


def first_look(game: str, players: int) -> list[Case]:
    """A handful of cases that tell how fast a machine is, from bare rules to a policy's decisions.

    Args:
        game: Name of the game.
        players: Players at the table, at least 2.
    """
    raw, wrapped = partial(RawEnv, game, players), partial(wrapped_env, game, players=players)
    learner = "learner's decisions/s"
    return [
        Case("batch/step", "1,024 games in a batch, step alone", partial(batch_step, game, 1024, players)),
        Case("batch/loop", "the same with random choices", partial(batch_loop, game, 1024, players)),
        Case("rules", "playouts with rules and masks only", partial(rules_playouts, game, players)),
        Case("aec/raw", "PettingZoo raw_env()", partial(aec_loop, raw)),
        Case("aec/env", "PettingZoo env() in its wrappers", partial(aec_loop, wrapped)),
        Case("gym/one", "Gymnasium, random opponents", partial(gymnasium_loop, game, players), learner),
        Case("gym/1024", "VectorEnv of 1,024, random opponents", partial(vector_loop, game, 1024, players), learner),
        Case("policy/1", "trained policy, one game", partial(policy_decisions, game, 1, players)),
        Case("policy/256", "trained policy, 256 games at once", partial(policy_decisions, game, 256, players)),
    ]
