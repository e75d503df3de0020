"""Plays an arena: every table on every deal, over lanes and processes, with each finished game kept in a file.

What is played follows from the contest alone: neither the number of lanes or processes nor where a run was broken
off changes a game.
"""

from __future__ import annotations

import math
import pickle
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from os import _exit
from pathlib import Path
from typing import Any

import numpy as np

from spirits_env import __version__
from spirits_env import games as listing
from spirits_env.agents import Agent, make_agent
from spirits_env.arena.contest import Contest, Played
from spirits_env.arena.evaluation import LANES, deal_seed
from spirits_env.arena.plan import make_seatings, make_tables
from spirits_env.arena.play import Course, Side, check_count, deal_games, outcome, play_out, warm_up
from spirits_env.arena.results import Journal, make_places
from spirits_env.arena.sprt import CAP, Verdict, decide
from spirits_env.batch import Views
from spirits_env.game import shown

# A chunk of games is to take about so long: what a kill loses, and how often a bar moves.
_CHUNK_SECONDS = 2.0
_FIRST_CHUNK = 4
_GROWTH = 4
# A gate looks at its deals each time there are so many more.
_GATE_DEALS = 64

Progress = Callable[[int, int, str], None]
Enough = Callable[[Sequence[Played]], bool]


class ArenaError(ValueError):
    """An agent failed, chose something illegal, or took its process down; what was played before is kept."""


class _Seat(Side):
    """A side whose agent's errors are the arena's."""

    def __init__(self, agent: Agent, label: str) -> None:
        super().__init__(agent)
        self.name = label

    def act_many(self, views: Views) -> np.ndarray:
        """Ask the agent."""
        try:
            actions = super().act_many(views)
        except Exception as error:
            said = " ".join(str(error).split())
            raise ArenaError(f"agent {self.name} failed with {type(error).__name__}: {said}") from error
        if actions.shape != (len(views),) or not np.issubdtype(actions.dtype, np.integer):
            raise ArenaError(f"agent {self.name} gave {shown(actions)} where whole numbers were due, one per game")
        return actions


class _Host:
    """Plays chunks of an arena's games: one in each process."""

    def __init__(self, contest: Contest, specs: Sequence[Any]) -> None:
        self.contest = contest
        self.rules = listing.load(contest.game)
        self.specs = specs
        self.agents: dict[int, Agent] = {}

    def agent(self, number: int) -> Agent:
        """An agent, made and warmed up when it is first needed."""
        if number not in self.agents:
            agent, contest = make_agent(self.specs[number]), self.contest
            if agent.fingerprint != contest.fingerprints[number]:
                raise ArenaError(
                    f"The file of agent {contest.agents[number]} changed since this run began; the games before are "
                    "kept: give the old file again, or another results file."
                )
            try:
                warm_up(self.rules, contest.players, contest.options, _Seat(agent, contest.agents[number]))
            except ArenaError as error:
                raise ArenaError(f"Before the first game, {error}.") from error
            self.agents[number] = agent
        return self.agents[number]

    def play(self, table: tuple[int, ...], deals: Sequence[int]) -> tuple[list[Played], float]:
        """Play a table's games on some deals, and tell the seconds that took.

        Raises:
            ArenaError: If an agent fails or chooses something illegal; it names the agent and the deal.
        """
        for number in table:
            self.agent(number)
        started = time.perf_counter()
        try:
            return self._play(table, deals), time.perf_counter() - started
        except ArenaError as error:
            names = " against ".join(self.contest.agents[number] for number in table)
            if len(deals) == 1:
                raise ArenaError(f"In deal {deals[0]} of {names}, {error}; the games before are kept.") from error
            # Games don't depend on each other: played one deal at a time, they tell which deal it is.
            for deal in deals:
                self.play(table, [deal])
            raise ArenaError(
                f"In deals {deals[0]} to {deals[-1]} of {names}, but not when each was played anew, {error}; the games "
                "before are kept."
            ) from error

    def _play(self, table: tuple[int, ...], deals: Sequence[int]) -> list[Played]:
        """Play all games of a chunk side by side."""
        contest = self.contest
        seatings = make_seatings(table, contest.players)
        seeds = [deal_seed(contest.seed, deal) for deal in deals for _ in seatings]
        batch = deal_games(self.rules, contest.players, contest.options, seeds, list(range(len(seatings))) * len(deals))
        sides = [_Seat(self.agent(number), contest.agents[number]) for number in table]
        who = np.array([[table.index(number) for number in seats] for seats in seatings] * len(deals))
        course = play_out(batch, sides, who)
        for side in sides:
            if side.illegal:
                raise ArenaError(side.example)
        share, points = outcome(batch, course.lost)
        return _write(table, deals, seatings, share, points, course, sides)


def _write(
    table: tuple[int, ...],
    deals: Sequence[int],
    seatings: tuple[tuple[int, ...], ...],
    share: np.ndarray,
    points: np.ndarray,
    course: Course,
    sides: Sequence[Side],
) -> list[Played]:
    """Put finished games down, the rows of one deal after those of another; a side's time is shared by decisions."""
    pace = [side.seconds / max(side.decisions, 1) for side in sides]
    played = []
    for number, deal in enumerate(deals):
        rows = slice(number * len(seatings), (number + 1) * len(seatings))
        shares = tuple(tuple(game) for game in share[rows].tolist())
        scores = tuple(tuple(game) for game in points[rows].tolist())
        decisions = course.decisions[rows]
        own = tuple(decisions.sum(axis=0).tolist())
        played.append(
            Played(
                table=table,
                deal=deal,
                seats=seatings,
                share=shares,
                points=scores,
                place=make_places(scores, shares),
                plies=tuple(decisions.sum(axis=1).tolist()),
                decisions=own,
                seconds=tuple(round(count * each, 6) for count, each in zip(own, pace, strict=True)),
            )
        )
    return played


def run(
    agents: Sequence[Any],
    game: str = listing.DEFAULT,
    players: int = 2,
    deals: int = 200,
    seed: int = 1,
    options: Mapping[str, Any] | None = None,
    path: str | Path | None = None,
    plan: str = "field",
    processes: int = 1,
    lanes: int = LANES,
    progress: Progress | None = None,
    mend: bool = False,
    enough: Enough | None = None,
) -> tuple[Contest, list[Played]]:
    """Play an arena, or what is missing of it.

    Every table plays every deal in all its seatings; each game's agents draw from streams of their own. A script that
    asks for several processes must be guarded by `if __name__ == "__main__":`, since each of them imports it.

    Args:
        agents: At least two, each in any form that `make_agent` takes.
        game: Name of the game.
        players: Players at a table.
        deals: Deals 0, 1, ... that every table plays.
        seed: A whole number that all deals and choices follow from; see `deal_seed`.
        options: The game's options by name.
        path: Results file: what it holds isn't played again, and what is played is added; None keeps no file.
        plan: Who plays whom; see `PLANS`.
        processes: Processes that play; 1 plays in this one.
        lanes: Games that a process plays side by side, rounded up to whole deals; it changes speed, not results.
        progress: Called with the games finished, all games and the table that was played last.
        mend: Whether to drop a last line of the file that was cut short.
        enough: Asked now and then with all games so far; once it says True, nothing more is begun.

    Returns:
        The contest and all games of the file, sorted by table and deal.

    Raises:
        ValueError: If an argument is not allowed, an agent can't play this game, or the file is damaged or of another
            contest; nothing was played then.
        ArenaError: If an agent fails or chooses something illegal; what was played before is in the file.
    """
    for name, value in (("deals", deals), ("processes", processes), ("lanes", lanes)):
        check_count(name, value, 1)
    contest = make_contest(agents, game, players, seed, options)
    tables = make_tables(plan, len(contest.agents), contest.players)
    if processes > 1:
        _check_sendable(agents, contest)
    journal = Journal(path, contest, len(tables[0]), mend) if path is not None else None
    try:
        played = list(journal.played) if journal else []
        schedule = _Schedule(contest, tables, int(deals), int(lanes), int(processes), played)
        stop = partial(enough, played) if enough else bool
        if progress:
            progress(*schedule.count([]), "")
        for fresh in _play_all(contest, agents, schedule, int(processes), stop):
            if journal:
                journal.append(fresh)
            played.extend(fresh)
            if progress:
                names = " v ".join(contest.agents[number] for number in fresh[-1].table)
                progress(*schedule.count(fresh), names)
    finally:
        if journal:
            journal.close()
    return contest, sorted(played, key=lambda games: (games.table, games.deal))


def run_gate(
    agents: Sequence[Any], delta: float, players: int = 2, **settings: Any
) -> tuple[Contest, list[Played], Verdict]:
    """Play one agent against a field of another until it is told whether it is better; see `sprt.decide`.

    The verdict rests on the first deals that decide it, looked at 64 at a time, and so on nothing else that was played.

    Args:
        agents: The new agent and the old one.
        delta: By how much a better agent's win share exceeds that of equals.
        players: Players at a table.
        **settings: As `run` takes them, but for deals and plan.

    Returns:
        The contest, all games of the file and the verdict.

    Raises:
        ValueError: As `run` does, or if there are not two agents, or the delta makes no sense.
    """
    if len(agents) != 2:
        raise ValueError(f"A gate is for two agents, the new one and the old one, not {len(agents)}; name two.")
    if not 0 < delta <= 0.5:
        raise ValueError(f"delta was {shown(delta)}; give a share above 0, 0.5 at most, for example 0.02.")

    def enough(played: Sequence[Played]) -> bool:
        verdict = _verdict(played, players, delta)
        return verdict is not None and verdict.ended

    contest, played = run(agents, players=players, deals=CAP, plan="first", enough=enough, **settings)
    verdict = _verdict(played, players, delta)
    assert verdict is not None
    return contest, played, verdict


def _verdict(played: Sequence[Played], players: int, delta: float) -> Verdict | None:
    """Judge the deals from the first on without a gap; None while there are too few to look at."""
    means = {games.deal: _own_share(games) for games in played if games.table == (0, 1)}
    whole = next(deal for deal in range(len(means) + 1) if deal not in means)
    row = np.array([means[deal] for deal in range(whole)])
    verdict = None
    for deals in (*range(_GATE_DEALS, CAP, _GATE_DEALS), CAP):
        if deals > whole or (verdict and verdict.ended):
            break
        verdict = decide(row[:deals], 1 / players, delta)
    return verdict


def _own_share(games: Played) -> float:
    """Mean share of a pair's first agent, which sits in one seat of each game."""
    own = [share[seats.index(games.table[0])] for seats, share in zip(games.seats, games.share, strict=True)]
    return sum(own) / len(own)


def make_contest(
    agents: Sequence[Any], game: str, players: int, seed: int, options: Mapping[str, Any] | None
) -> Contest:
    """Check what is to be played; see `run` for arguments and errors.

    Agents of one name get labels that differ.
    """
    check_count("seed", seed, 0)
    rules = listing.load(game)
    players = rules.check_players(players)
    settings = rules.check_options(options or {})
    made = [make_agent(agent) for agent in agents]
    for agent in made:
        agent.check(rules.name, players)
    names = [agent.name for agent in made]
    return Contest(
        game=rules.name,
        game_version=rules.version,
        package_version=__version__,
        players=players,
        options=settings,
        remarks=rules.remarks(settings),
        seed=int(seed),
        agents=_labels(names),
        fingerprints=tuple(agent.fingerprint for agent in made),
    )


def _labels(names: Sequence[str]) -> tuple[str, ...]:
    """Number names that come again: greedy, greedy (2)."""
    labels: list[str] = []
    for name in names:
        label, count = name, 1
        while label in labels:
            count += 1
            label = f"{name} ({count})"
        labels.append(label)
    return tuple(labels)


def _check_sendable(agents: Sequence[Any], contest: Contest) -> None:
    """Refuse agents that can't be sent to another process."""
    for agent, label in zip(agents, contest.agents, strict=True):
        try:
            pickle.dumps(agent)
        except Exception as error:
            raise ValueError(
                f"Agent {label} can't be sent to other processes ({' '.join(str(error).split())}); give processes=1, "
                "or an agent of a class at the top of a module."
            ) from error


class _Schedule:
    """What is still to be played, in chunks that take about `_CHUNK_SECONDS`."""

    def __init__(
        self,
        contest: Contest,
        tables: Sequence[tuple[int, ...]],
        deals: int,
        lanes: int,
        processes: int,
        played: Sequence[Played],
    ) -> None:
        done = {(games.table, games.deal) for games in played}
        self.seatings = {table: len(make_seatings(table, contest.players)) for table in tables}
        missing = {table: [deal for deal in range(deals) if (table, deal) not in done] for table in tables}
        self._missing = {table: deque(left) for table, left in missing.items() if left}
        self._lanes = lanes
        self._processes = processes
        # Deals a chunk of each table may have.
        self._size = dict.fromkeys(tables, _FIRST_CHUNK)
        self._games = sum(deals * count for count in self.seatings.values())
        self._finished = self._games - sum(len(left) * self.seatings[table] for table, left in self._missing.items())

    @property
    def agents(self) -> list[int]:
        """Numbers of the agents that have something to play."""
        return sorted({number for table in self._missing for number in table})

    def next(self) -> tuple[tuple[int, ...], list[int]] | None:
        """Take a chunk, a table and deals; None when nothing is left."""
        if not self._missing:
            return None
        table, left = next(iter(self._missing.items()))
        # The last deals are for all processes.
        fair = math.ceil(sum(map(len, self._missing.values())) / self._processes)
        most = max(1, self._lanes // self.seatings[table])
        deals = [left.popleft() for _ in range(min(self._size[table], fair, most, len(left)))]
        if not left:
            del self._missing[table]
        return table, deals

    def learn(self, table: tuple[int, ...], deals: int, seconds: float) -> None:
        """Set the size of a table's next chunks by the time that one took."""
        fitting = deals * _CHUNK_SECONDS / max(seconds, 1e-3)
        self._size[table] = max(1, min(int(fitting), deals * _GROWTH))

    def count(self, fresh: Sequence[Played]) -> tuple[int, int]:
        """Add games to those that are finished; return these and all."""
        self._finished += sum(len(games.seats) for games in fresh)
        return self._finished, self._games


def _play_all(
    contest: Contest, specs: Sequence[Any], schedule: _Schedule, processes: int, enough: Callable[[], bool]
) -> Iterator[list[Played]]:
    """Play what is left, chunk by chunk, until nothing is or it is enough."""
    host = _Host(contest, specs)
    # Here first, and once: what an agent compiles, other processes find on the disk.
    for number in schedule.agents:
        host.agent(number)
    if processes > 1:
        yield from _play_in_processes(contest, specs, schedule, processes, enough)
        return
    while not enough() and (chunk := schedule.next()):
        played, seconds = host.play(*chunk)
        schedule.learn(chunk[0], len(chunk[1]), seconds)
        yield played


def _play_in_processes(
    contest: Contest, specs: Sequence[Any], schedule: _Schedule, processes: int, enough: Callable[[], bool]
) -> Iterator[list[Played]]:
    """Play chunks in a pool; whatever ends it, chunks that were begun are finished and kept.

    A second interruption gives them up.
    """
    running: dict[Future[tuple[list[Played], float]], tuple[tuple[int, ...], list[int]]] = {}
    failure: BaseException | None = None
    context = get_context("spawn")
    # Nothing is ever sent: the workers end once `kept` is closed, by hand or by the end of this process.
    lifeline, kept = context.Pipe(duplex=False)
    with lifeline, kept, ProcessPoolExecutor(processes, context, _start_worker, (contest, specs, lifeline)) as pool:
        while True:
            try:
                while failure is None and len(running) < processes and not enough() and (chunk := schedule.next()):
                    running[pool.submit(_work, *chunk)] = chunk
                if not running:
                    break
                finished, _ = wait(running, return_when=FIRST_COMPLETED)
            except (KeyboardInterrupt, BrokenProcessPool) as error:
                if isinstance(failure, KeyboardInterrupt):
                    kept.close()
                failure = failure or error
                continue
            for future in finished:
                table, deals = running.pop(future)
                failure = failure or future.exception()
                if future.exception() is None:
                    played, seconds = future.result()
                    schedule.learn(table, len(deals), seconds)
                    yield played
    if isinstance(failure, BrokenProcessPool):
        raise ArenaError(
            "A process that played was ended, for want of memory or because the script that began it is not guarded by "
            "if __name__ == '__main__'; the games before are kept, so mend that or go on with fewer processes."
        ) from failure
    if failure is not None:
        raise failure


_host: _Host | None = None


def _start_worker(contest: Contest, specs: Sequence[Any], lifeline: Connection) -> None:
    """Set a process of the pool up: it finishes its chunk if the run is interrupted, and ends with its lifeline."""
    global _host
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()
    _host = _Host(contest, specs)


def _end_with(lifeline: Connection) -> None:
    """Wait until the other end is closed, and end this process."""
    with suppress(EOFError, OSError):
        lifeline.recv_bytes()
    _exit(1)


def _work(table: tuple[int, ...], deals: Sequence[int]) -> tuple[list[Played], float]:
    """Play a chunk in a process of the pool."""
    assert _host is not None
    return _host.play(table, deals)
