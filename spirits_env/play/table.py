"""A game between a person and agents, the tables of a server, and the folder of saved games; no web in sight.

What a table shows is what the person's seat may know: hidden things, seeds and set-ups stay here until the end.
"""

from __future__ import annotations

import json
import logging
import re
import secrets
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from threading import Condition, Lock, Thread
from typing import Any, NamedTuple

import numpy as np

from spirits_env import games, policies, record
from spirits_env.agents import Agent, make_agent
from spirits_env.agents.policy import PolicyAgent, probabilities, read_card
from spirits_env.batch import AGENTS, Batch
from spirits_env.game import IllegalAction, is_list, is_whole, shown, stream
from spirits_env.state import State

YOU = "you"
RANDOM = "random"
# Who gives hints where the package has no policy.
SEARCHER = "search:400"
# Numbers below this are exact in every browser, and too many to be tried one by one.
SEEDS = 2**53
MOST_TABLES = 100
MOST_BYTES = 1_000_000

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _-]{0,59}")
_LOG = logging.getLogger(__name__)


class Refused(ValueError):
    """What can't be done at a table as it stands; nothing has changed."""


class Stale(Refused):
    """What was meant for a position that the table has left; nothing has changed."""


class Missing(ValueError):
    """What was asked for does not exist: a table, a saved game, a policy for this game."""


# --- who plays --------------------------------------------------------------------------------------------


@cache
def _cards() -> dict[str, Mapping[str, Any]]:
    """The cards of the package's policies by full name; none where onnxruntime is not installed."""
    try:
        return {policies.PREFIX + name: read_card(policies.PREFIX + name) for name in policies.names()}
    except ImportError:
        return {}


def policies_for(game: str, players: int | None = None) -> list[str]:
    """Return the package's policies for a game, best known first, and for a number of players where one is given."""
    fitting = [
        name
        for name, card in _cards().items()
        if card["game"] == game and (players is None or players in card["players"])
    ]
    return sorted(fitting, key=lambda name: name != policies.PREFIX + game)


def default_against(game: str, players: int) -> list[str]:
    """Return who plays against a person who names nobody: the game's policy where it can play, else greedy."""
    if players == 1:
        return []
    return (policies_for(game, players) or ["greedy"])[:1]


def seat_agents(against: Any, game: str, players: int, seat: int) -> list[Agent | None]:
    """Seat agents around a person, in turn order after it; too few of them are repeated.

    Args:
        against: A list of what `make_agent` takes.
        game: Name of the game.
        players: Players at the table.
        seat: The person's seat.

    Returns:
        One agent per seat, None for the person's.

    Raises:
        ValueError: If there are none or too many, or one is unknown or can't play this game.
        ImportError: If one needs a library that is not installed.
    """
    opponents = players - 1
    if not is_list(against):
        raise ValueError(f"against was {shown(against)}; give a list of agents, such as greedy or search:400.")
    if len(against) > opponents:
        raise ValueError(
            f"against names {len(against)} agents; a table of {players} has room for {opponents} beside you, so name "
            "no more."
        )
    if opponents and not len(against):
        raise ValueError("against names nobody; give at least one agent, such as greedy or search:400.")
    made = [make_agent(agent) for agent in against]
    for agent in made:
        agent.check(game, players)
    return _around(made, None, players, seat)


def _around(others: Sequence[Any], person: Any, players: int, seat: int) -> list[Any]:
    """Put a person in its seat and others around it in turn order, again and again until all seats are taken."""
    return [others[(place - seat - 1) % players % len(others)] if place != seat else person for place in range(players)]


def check_seat(seat: Any, players: int) -> int:
    """Return a seat of the table; "random" draws one.

    Raises:
        ValueError: If nobody plays there.
    """
    if isinstance(seat, str) and seat == RANDOM:
        return secrets.randbelow(players)
    if not is_whole(seat) or not 0 <= seat < players:
        raise ValueError(f'seat was {shown(seat)}; give a seat from 0 to {players - 1}, or "{RANDOM}".')
    return int(seat)


def check_seed(seed: Any) -> int:
    """Return a seed as an int.

    Raises:
        ValueError: If it is no whole number from 0 on, or too large for a browser.
    """
    if not is_whole(seed) or not 0 <= seed < SEEDS:
        raise ValueError(f"seed was {shown(seed)}; give a whole number from 0 to {SEEDS - 1}.")
    return int(seed)


# --- a table ----------------------------------------------------------------------------------------------


class Decision(NamedTuple):
    """One line of a table's log.

    Attributes:
        ply: Decisions before it.
        seat: Who took it.
        action: The action's id.
        sentence: What it did, in words that say only what everybody may know.
    """

    ply: int
    seat: int
    action: int
    sentence: str


class Hint(NamedTuple):
    """What an agent would do in the person's place.

    Attributes:
        agent: The agent's name.
        action: The action it would take.
        sentence: What that does.
        revision: The position this is about.
    """

    agent: str
    action: int
    sentence: str
    revision: int


class Advice(NamedTuple):
    """What a policy thinks of the person's decision.

    Attributes:
        policy: The policy's name.
        value: The return that it expects for the person, from -1 to 1.
        probabilities: How likely it would play each legal action; they add up to 1.
        revision: The position this is about.
    """

    policy: str
    value: float
    probabilities: dict[int, float]
    revision: int


class _Moment(NamedTuple):
    """A position, and the agents' generators in it, shape `(1, seats)`, uint64."""

    state: State
    chance: np.ndarray


class Table:
    """One game between a person and agents, for any number of threads.

    Agents think on a thread of the table's own, one at a time, each on its own stream of chance; each of their
    decisions is a revision. What an agent thought of a position that was taken back is put aside.

    Attributes:
        seat: The person's seat.
        agents: The agent in each seat, None in the person's.
        names: Who sits in each seat, by the names that were given; the person is "you".
        seed: The seed of the deal; None for a game from a set-up or a record.
        revision: Grows with every change.
        error: Why an agent could not go on; None if all is well.
    """

    def __init__(self, state: State, seat: Any, against: Any, chance: int, seed: int | None = None) -> None:
        """Sit down at a game that begins; call `start` to let the agents think.

        Args:
            state: The game, before its first decision.
            seat: The person's seat, or "random".
            against: The other players in turn order after the person; see `seat_agents`.
            chance: The seed of the agents' chance.
            seed: The seed of the deal, if there is one.

        Raises:
            ValueError: If seat or agents don't fit.
            ImportError: If an agent needs a library that is not installed.
        """
        self.seat = check_seat(seat, state.players)
        self.agents = seat_agents(against, state.game.name, state.players, self.seat)
        self.names: list[str] = _around([str(agent) for agent in against], YOU, state.players, self.seat)
        self.seed = seed
        self.revision = 0
        self.error: str | None = None
        self._chance = chance
        # As in `Batch.seed`, so that one seed is one game here and there.
        streams = [[stream(chance, AGENTS, number) for number in range(state.game.seats)]]
        self._moments = [_Moment(state, np.array(streams, np.uint64))]
        self._log: list[Decision] = []
        self._changed = Condition()
        self._worker: Thread | None = None
        self._closed = False
        self._view: dict[str, Any] = {}

    @classmethod
    def deal(
        cls,
        game: str,
        players: int,
        seat: Any,
        against: Any,
        options: Mapping[str, Any] | None = None,
        seed: int | None = None,
        setup: Mapping[str, Any] | None = None,
    ) -> Table:
        """Deal a game and start it.

        Args:
            game: Name of the game.
            players: Players at the table.
            seat: The person's seat, or "random".
            against: The other players; see `seat_agents`.
            options: The game's options by name.
            seed: Same seed, same game; None takes one from the system.
            setup: A JSON set-up instead of a random deal.

        Raises:
            ValueError: If an argument is not allowed.
            ImportError: If an agent needs a library that is not installed.
        """
        rules = games.load(game)
        checked = rules.check_options(options or {})
        if seed is not None and setup is not None:
            raise ValueError("Both a seed and a set-up were given; give one of them.")
        start = secrets.randbelow(SEEDS) if seed is None else check_seed(seed)
        state = State(rules, players, start, setup, **checked)
        table = cls(state, seat, against, start, start if setup is None else None)
        table.start()
        return table

    @classmethod
    def load(cls, content: Any, seat: Any, against: Any) -> Table:
        """Take up a recorded game where its record ends.

        Args:
            content: A record; see `spirits_env.record`.
            seat: The person's seat, or "random".
            against: The other players; see `seat_agents`.

        Raises:
            ValueError: If the record does not replay, or seat or agents don't fit.
            ImportError: If an agent needs a library that is not installed.
        """
        history = record.replay(content).history
        table = cls(record.replay(content, 0), seat, against, secrets.randbelow(SEEDS))
        with table._changed:
            for action in history:
                table._decide(action, table._now.chance)
            table.start()
        return table

    # --- what it is ---

    @property
    def _now(self) -> _Moment:
        return self._moments[-1]

    @property
    def decisions(self) -> int:
        """Decisions played."""
        return len(self._log)

    @property
    def over(self) -> bool:
        """Whether the game has ended."""
        return self._now.state.seat < 0

    def record(self) -> dict[str, Any]:
        """The game as a record, hidden things and all: for the disk, and for people after the end."""
        with self._changed:
            return record.write(self._now.state)

    def summary(self) -> dict[str, Any]:
        """Tell in a line what goes on here."""
        with self._changed:
            state = self._now.state
            return {
                "title": state.game.title,
                "players": state.players,
                "seat": self.seat,
                "against": self.names,
                "turn": state.turn,
                "over": state.seat < 0,
            }

    def view(self) -> dict[str, Any]:
        """What the person may see, as JSON; drawn once per revision."""
        with self._changed:
            if self._view.get("revision") != self.revision:
                self._view = self._look()
            return dict(self._view)

    def _look(self) -> dict[str, Any]:
        """Draw the view."""
        state, last = self._now.state, self._log[-1] if self._log else None
        over, yours = state.seat < 0, state.seat == self.seat
        legal = state.legal_actions() if yours else []
        return {
            "revision": self.revision,
            "game": state.game.name,
            **self.summary(),
            "options": state.options,
            "phase": state.phase,
            "actor": state.seat,
            "yours": yours,
            "thinking": self._due(),
            "error": self.error,
            **self._draw(state),
            "choices": [
                {"action": action, "name": state.game.actions[action].name, "sentence": state.tell(action)}
                for action in legal
            ],
            "can_undo": any(decision.seat == self.seat for decision in self._log),
            "log": [{"ply": line.ply, "seat": line.seat, "sentence": line.sentence} for line in self._log],
            "last": last and {"seat": last.seat, "action": last.action, "sentence": last.sentence},
            "scores": state.scores() if over else None,
            "winners": state.winners() if over else None,
            "explained": [score._asdict() for score in state.explain()] if over else None,
            "returns": state.returns() if over else None,
            "seed": self.seed if over else None,
        }

    def board(self, ply: int) -> dict[str, str]:
        """Show the position after so many decisions, as the person's seat saw it: as a drawing and in words.

        Raises:
            Missing: If the game has not come so far, or was taken back.
        """
        with self._changed:
            if not 0 <= ply < len(self._moments):
                raise Missing(f"ply was {ply}; give 0 to {len(self._moments) - 1}, the decisions played so far.")
            state = self._moments[ply].state
        return self._draw(state)

    def _draw(self, state: State) -> dict[str, str]:
        """Draw a position from the person's seat; all may be seen at the end."""
        seat = None if state.seat < 0 else self.seat
        return {"svg": state.svg(seat, theme="auto"), "text": state.text(seat)}

    def wait(self, revision: int, seconds: float) -> None:
        """Wait until the table's revision is another one, or so long."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self.revision != revision, seconds)

    # --- what is done at it ---

    def play(self, action: Any, revision: int | None = None) -> None:
        """Play a decision of the person.

        Args:
            action: A legal action id.
            revision: The position it is meant for; None for whatever it is.

        Raises:
            Stale: If the table has left that position.
            Refused: If the person is not to act.
            IllegalAction: If the action is not legal.
        """
        with self._changed:
            self._check(revision)
            self._check_turn()
            self._decide(action, self._now.chance)
            self.start()

    def undo(self, revision: int | None = None) -> None:
        """Go back to the person's last decision, before it was taken.

        Args:
            revision: The position it is meant for; None for whatever it is.

        Raises:
            Stale: If the table has left that position.
            Refused: If the person has taken no decision yet.
        """
        with self._changed:
            self._check(revision)
            plies = [decision.ply for decision in self._log if decision.seat == self.seat]
            if not plies:
                raise Refused("There is no decision of yours to take back.")
            del self._moments[plies[-1] + 1 :], self._log[plies[-1] :]
            self.error = None
            self._move_on()

    def start(self) -> None:
        """Let the agents think if it is their turn; nothing happens if they do."""
        with self._changed:
            if self._due() and self._worker is None:
                self._worker = Thread(target=self._think, name="agents at a table", daemon=True)
                self._worker.start()

    def close(self) -> None:
        """Send the agents home and wake up all who wait."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _check(self, revision: int | None) -> None:
        """Refuse what is meant for another position."""
        if revision is not None and revision != self.revision:
            raise Stale(
                f"The table has moved on: this was meant for revision {shown(revision)}, now it is {self.revision}."
            )

    def _check_turn(self) -> None:
        """Refuse what only the person to act may ask for."""
        seat = self._now.state.seat
        if seat != self.seat:
            who = "The game is over" if seat < 0 else f"Seat {seat} is to act"
            raise Refused(f"{who}; you sit in seat {self.seat}, so there is nothing for you to decide now.")

    def _decide(self, action: Any, chance: np.ndarray) -> None:
        """Play a decision of whoever is to act; nothing changes if it is illegal."""
        before = self._now.state
        # Positions are kept for `undo`, so none is ever changed.
        after = before.copy()
        after.play(action)
        number = after.history[-1]
        self._log.append(Decision(len(self._log), before.seat, number, before.tell(number)))
        self._moments.append(_Moment(after, chance))
        self._move_on()

    def _move_on(self) -> None:
        """Count a change and tell all who wait."""
        self.revision += 1
        self._changed.notify_all()

    # --- the agents ---

    def _due(self) -> bool:
        """Whether an agent is to decide and can."""
        seat = self._now.state.seat
        return seat >= 0 and seat != self.seat and self.error is None and not self._closed

    def _think(self) -> None:
        """Let agents decide until it is the person's turn, the game is over or one of them fails."""
        while True:
            with self._changed:
                if not self._due():
                    self._worker = None
                    return
                revision, moment = self.revision, self._now
            action, chance, error = self._ask(moment)
            with self._changed:
                if self._closed or self.revision != revision:
                    # What was thought of a position that was taken back is put aside.
                    continue
                if error:
                    self.error = error
                    self._move_on()
                else:
                    self._decide(action, chance)

    def _ask(self, moment: _Moment) -> tuple[int, np.ndarray, str]:
        """Ask the agent to act for its choice.

        Returns:
            The action, the generators afterwards, and why there is no choice; empty if there is one.
        """
        seat = moment.state.seat
        agent = self.agents[seat]
        lane = _lane(moment.state, moment.chance)
        try:
            return int(lane.ask(agent, lane.lanes)[0]), lane.chance, ""
        # Agents may be anybody's.
        except Exception as fault:
            _LOG.warning("Agent %s in seat %d failed: %s", agent, seat, " ".join(str(fault).split()))
            return -1, lane.chance, _excuse(agent, seat, fault)

    def hint(self, agent: Any = None) -> Hint:
        """Ask what an agent would do, knowing what the person knows.

        Args:
            agent: What `make_agent` takes; None for the game's policy where it can play, else a search.

        Raises:
            Refused: If the person is not to act.
            ValueError: If there is no such agent, it can't play this game, or it chooses an illegal action.
            ImportError: If it needs a library that is not installed.
        """
        state, revision = self._yours()
        name = (policies_for(state.game.name, state.players) or [SEARCHER])[0] if agent is None else agent
        asked = make_agent(name)
        asked.check(state.game.name, state.players)
        # A stream of its own: a hint changes nothing of what is to come, and is the same again after `undo`.
        ply = len(state.history)
        chance = np.full((1, state.game.seats), stream(self._chance, AGENTS, self.seat, ply), np.uint64)
        lane = _lane(state, chance)
        action = int(lane.ask(asked, lane.lanes)[0])
        return Hint(asked.name, action, state.tell(action), revision)

    def advice(self, policy: Any = None) -> Advice:
        """Ask a policy for its opinion, knowing what the person knows.

        Args:
            policy: A policy's name or file; None for the game's own.

        Raises:
            Refused: If the person is not to act.
            Missing: If none is named and the package has none for this game and number of players.
            ValueError: If it is no policy, or for another game or number of players.
            ImportError: If onnxruntime is not installed.
        """
        state, revision = self._yours()
        if policy is None:
            fitting = policies_for(state.game.name, state.players)
            if not fitting:
                raise Missing(
                    f"There is no policy for {state.game.title} with {state.players} players; ask for a hint instead."
                )
            policy = fitting[0]
        asked = make_agent(policy)
        if not isinstance(asked, PolicyAgent):
            raise ValueError(f"Agent {shown(policy)} is no policy, which alone gives advice; ask it for a hint.")
        asked.check(state.game.name, state.players)
        mask = state.mask()[None]
        logits, value = asked.logits(state.observation(self.seat)[None], mask)
        shares = probabilities(logits, mask)[0]
        expected = float(np.clip(value[0], -1, 1))
        return Advice(asked.name, expected, {a: float(shares[a]) for a in state.legal_actions()}, revision)

    def _yours(self) -> tuple[State, int]:
        """Copy the position that the person is to decide in, with its revision."""
        with self._changed:
            self._check_turn()
            return self._now.state.copy(), self.revision


def _lane(state: State, chance: np.ndarray) -> Batch:
    """Put a position into a batch of one: it gives agents their views and judges what they choose."""
    lane = Batch(state.game, 1, state.players, state.options)
    lane.restore({"states": np.frombuffer(state.record.tobytes(), np.uint8)[None], "chance": chance})
    return lane


def _excuse(agent: Agent | None, seat: int, fault: Exception) -> str:
    """Say that an agent failed, but not on what: its own words may tell what it sees."""
    what = "chose an illegal action" if isinstance(fault, IllegalAction) else f"failed ({type(fault).__name__})"
    return f"Agent {agent} in seat {seat} {what}, so the game stands still; take back a decision or start a new game."


# --- what a server keeps ----------------------------------------------------------------------------------


class Folder:
    """Saved games: records in one folder, none of which is ever overwritten.

    Attributes:
        path: The folder; made when the first game is saved.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = Lock()

    def save(self, content: Mapping[str, Any], name: str | None = None) -> str:
        """Write a record, numbered where there is one of its name.

        Args:
            content: The record.
            name: The file's name, with or without ".json"; None for one that tells the game.

        Returns:
            The name of the file.

        Raises:
            ValueError: If the name is none for a file here.
            OSError: If it can't be written.
        """
        if name is None:
            name = f"{content['game']}-{content['players']}-players"
        stem = name.removesuffix(".json")
        if not _NAME.fullmatch(stem):
            raise ValueError(
                f"name was {shown(name)}; give up to 60 letters, digits, blanks, - and _, the first a letter or digit."
            )
        text = json.dumps(content) + "\n"
        with self._lock:
            self.path.mkdir(parents=True, exist_ok=True)
            number, file = 1, f"{stem}.json"
            while (self.path / file).exists() or (self.path / file).is_symlink():
                number += 1
                file = f"{stem}-{number}.json"
            with (self.path / file).open("x", encoding="utf-8") as opened:
                opened.write(text)
        return file

    def listing(self) -> list[dict[str, Any]]:
        """Tell what is saved, the newest first; what is no record is left out."""
        files = sorted(self._files().values(), key=lambda file: file.stat().st_mtime_ns, reverse=True)
        lines = []
        for file in files:
            try:
                content = self._read(file)
                line = {
                    "file": file.name,
                    "game": games.load(str(content["game"])).name,
                    "players": int(content["players"]),
                    "decisions": len(content["actions"]),
                    "over": bool(content["scores"]),
                }
            except (OSError, ValueError, TypeError, KeyError):
                continue
            lines.append(line)
        return lines

    def load(self, file: Any) -> Any:
        """Read a record.

        Args:
            file: A name of `listing`.

        Raises:
            Missing: If there is none of this name in the folder.
            ValueError: If it can't be read.
        """
        files = self._files()
        if not isinstance(file, str) or file not in files:
            raise Missing(f"There is no saved game {shown(file)}; give the name of one that is listed.")
        try:
            return self._read(files[file])
        except (OSError, ValueError) as error:
            raise ValueError(f"{file} is no record ({error}); give another one.") from None

    def _files(self) -> dict[str, Path]:
        """The folder's own files by name: whatever else a name may mean, it can't lead out of here."""
        if not self.path.is_dir():
            return {}
        return {file.name: file for file in self.path.iterdir() if file.suffix == ".json" and file.is_file()}

    def _read(self, file: Path) -> Any:
        """Read a JSON file of a size that a game can have."""
        size = file.stat().st_size
        if size > MOST_BYTES:
            raise ValueError(f"it has {size} bytes")
        try:
            return json.loads(file.read_text(encoding="utf-8"))
        except RecursionError:
            raise ValueError("it is too deep") from None


class Tables:
    """The tables of a server, by unguessable names; the one that was left alone for longest makes room.

    Attributes:
        folder: Where games are saved.
        most: How many tables there may be.
    """

    def __init__(self, folder: Folder, most: int = MOST_TABLES) -> None:
        self.folder = folder
        self.most = most
        self._tables: OrderedDict[str, Table] = OrderedDict()
        self._numbers: dict[str, int] = {}
        self._lock = Lock()

    def add(self, table: Table) -> str:
        """Take a table in; a game that must make room for it is saved if it has begun and is not over.

        Returns:
            The table's name.
        """
        name = secrets.token_urlsafe(12)
        with self._lock:
            self._numbers[name] = max(self._numbers.values(), default=0) + 1
            self._tables[name] = table
            leaving = [self._tables.popitem(last=False) for _ in range(len(self._tables) - self.most)]
            for left, _ in leaving:
                del self._numbers[left]
        for _, left_table in leaving:
            self._leave(left_table)
        return name

    def _leave(self, table: Table) -> list[str]:
        """Close a table and save its game; returns the file's name, if there is one."""
        table.close()
        if table.decisions and not table.over:
            try:
                return [self.folder.save(table.record())]
            except OSError as error:
                _LOG.warning("A game that was left could not be saved: %s", error)
        return []

    def find(self, name: str) -> Table:
        """Return a table and note that somebody is there.

        Raises:
            Missing: If there is none of this name.
        """
        with self._lock:
            if name not in self._tables:
                raise Missing("There is no such table; it may have made room for others. Start a new game.")
            self._tables.move_to_end(name)
            return self._tables[name]

    def listing(self) -> list[dict[str, Any]]:
        """Tell of every table what goes on there, the newest first."""
        with self._lock:
            newest = sorted(self._tables, key=lambda name: -self._numbers[name])
            tables = [(name, self._tables[name]) for name in newest]
        return [{"id": name, **table.summary()} for name, table in tables]

    def close(self) -> list[str]:
        """Close all tables, for the server ends, and save the games that have begun and are not over.

        Returns:
            Names of their files in the folder.
        """
        with self._lock:
            tables = list(self._tables.values())
            self._tables.clear()
            self._numbers.clear()
        return [file for table in tables for file in self._leave(table)]
