"""`spirits watch`: agents play one game before your eyes, each asked with what its seat may know."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from spirits_env import games, policies, record
from spirits_env.agents import Agent, make_agent
from spirits_env.arena.play import Side, deal_games
from spirits_env.batch import Batch
from spirits_env.cli.arena import INTERRUPTED
from spirits_env.cli.common import ILLEGAL, OK, OTHER_GAME, add_setting, check_files, check_seat
from spirits_env.cli.replay import tell_end
from spirits_env.policies import EXAMPLE
from spirits_env.render.text import draw_board
from spirits_env.state import State

# Seeds drawn for games without one are short enough to be typed again.
_SEEDS = 1_000_000


def add(commands: Any) -> None:
    """Add `spirits watch`."""
    parser = commands.add_parser(
        "watch",
        help="watch agents play a game",
        description="Deal one game and let agents play it: in a terminal on a board that changes in place, otherwise "
        "as one sentence per decision and the board at the end.",
        examples=(
            f"spirits watch greedy {EXAMPLE}",
            f"spirits watch {EXAMPLE} greedy random --delay 1 --seed 7",
            f"spirits watch {policies.PREFIX}{OTHER_GAME}+search:64 greedy --game {OTHER_GAME} --save game.json",
        ),
    )
    parser.add_argument(
        "agents", nargs="+", metavar="AGENT", help="who sits in seat 0, 1, ...; with more players they come in turn"
    )
    add_setting(parser, players=None, seed=None)
    parser.add_argument(
        "--delay",
        type=float,
        default=0.5,
        metavar="SECONDS",
        help="pause after each decision in a terminal (default: %(default)g)",
    )
    parser.add_argument("--seat", type=int, default=None, help="show what this seat sees (default: everything)")
    parser.add_argument("--save", type=Path, metavar="RECORD.json", help="write the game as a record")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run `spirits watch`."""
    check_files(arguments.save)
    if not 0 <= arguments.delay < math.inf:
        raise ValueError(f"--delay was {arguments.delay:g}; give a number of seconds, 0 or more.")
    table = Table(arguments)
    try:
        with _screen(table, arguments.seat, arguments.delay) as show:
            wrong = _play(table, show)
    except KeyboardInterrupt:
        print()
        return INTERRUPTED
    finally:
        # A game that was broken off is kept as far as it went.
        if arguments.save is not None:
            record.save(table.state, arguments.save)
    if wrong:
        print(f"spirits: {wrong}", file=sys.stderr)
        return ILLEGAL
    print("", *tell_end(table.state, [agent.name for agent in table.agents]), sep="\n")
    return OK


class Table:
    """One game between agents.

    Attributes:
        seed: The seed of its deal.
        agents: Who plays in each seat.
        state: The game, for the board and for the record; the agents never see it.
    """

    def __init__(self, arguments: argparse.Namespace) -> None:
        players = len(arguments.agents) if arguments.players is None else arguments.players
        rules = games.load(arguments.game)
        options = rules.check_options(dict(arguments.option))
        rules.check_players(players)
        if len(arguments.agents) > players:
            raise ValueError(
                f"{len(arguments.agents)} agents were given for {players} players; name at most one for each seat."
            )
        check_seat(arguments.seat, players)
        if arguments.seed is not None and arguments.seed < 0:
            raise ValueError(f"--seed was {arguments.seed}; give 0 or more.")
        made = [make_agent(spec) for spec in arguments.agents]
        for agent in made:
            agent.check(rules.name, players)
        self.agents: list[Agent] = [made[seat % len(made)] for seat in range(players)]
        drawn = int(np.random.SeedSequence().generate_state(1)[0]) % _SEEDS
        self.seed: int = drawn if arguments.seed is None else arguments.seed
        self._batch: Batch = deal_games(rules, players, options, [self.seed], [0])
        setup = rules.read_setup(self._batch.states[0])
        self.state = State(rules, players, seed=0, setup=setup, **options)

    def choose(self) -> tuple[int, str]:
        """Ask the agent that is to act; return its action, and what was illegal about it, if anything."""
        side = Side(self.agents[self.state.seat])
        actions = self._batch.ask(side, self._batch.lanes)
        return int(actions[0]), side.example

    def play(self, action: int) -> None:
        """Play a legal action."""
        self._batch.step(np.array([action]))
        self.state.play(action)

    def title(self) -> str:
        """Name the game, the deal and who plays."""
        seats = ", ".join(f"seat {seat}: {agent.name}" for seat, agent in enumerate(self.agents))
        return f"{self.state.game.title}, seed {self.seed}, {seats}"


def _play(table: Table, show: Callable[[str], None]) -> str:
    """Play the game to its end, or to an illegal choice, which is told."""
    state = table.state
    show(table.title())
    while state.seat >= 0:
        seat = state.seat
        action, wrong = table.choose()
        if wrong:
            return wrong
        sentence = f"seat {seat} ({table.agents[seat].name}): {state.tell(action)}"
        table.play(action)
        show(sentence)
    return ""


@contextmanager
def _screen(table: Table, seat: int | None, delay: float) -> Iterator[Callable[[str], None]]:
    """Open what shows the game after each decision, given a sentence that tells it."""
    try:
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text
    except ImportError:
        boards = False
    else:
        boards = sys.stdout.isatty()

    if not boards:
        # Nobody looks on where this is no terminal.
        pause = delay if sys.stdout.isatty() else 0.0

        def say(sentence: str) -> None:
            print(sentence, flush=True)
            time.sleep(pause)

        yield say
        print("", draw_board(table.state, seat), sep="\n")
        return

    with Live(console=Console(highlight=False), auto_refresh=False, vertical_overflow="crop") as live:

        def draw(sentence: str) -> None:
            board = Text.from_ansi(draw_board(table.state, seat))
            picture = Text(f"{table.title()}\n\n", no_wrap=True, overflow="crop") + board
            live.update(picture, refresh=True)
            time.sleep(delay)

        yield draw
