"""`spirits replay`: a recorded game in the terminal, step by step, or as one page for the browser."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from spirits_env import record
from spirits_env.agents import Agent, make_agent
from spirits_env.analysis import COSTLY, UNLIKELY, Judgement, analyse
from spirits_env.cli.arena import INTERRUPTED
from spirits_env.cli.common import OK, check_files, check_seat
from spirits_env.policies import EXAMPLE
from spirits_env.render.text import draw_board
from spirits_env.state import State

_CLEAR = "\x1b[2J\x1b[H"
_HELP = """Enter or n  next decision
b           one decision back
12          the position after 12 decisions
e           the end
m           the next likely mistake (with --policy)
?           this list
q           quit"""
_PROMPT = "Enter: next, b: back, ?: help, q: quit > "
# Choices of the policy that are listed.
_CHOICES = 5


def add(commands: Any) -> None:
    """Add `spirits replay`."""
    parser = commands.add_parser(
        "replay",
        help="replay a record",
        description="Step through a recorded game: in a terminal with Enter (? lists the keys), with --html on one "
        "self-contained page, and otherwise as the text of one position.",
        examples=(
            "spirits replay game.json",
            f"spirits replay game.json --policy {EXAMPLE} --html game.html",
            "spirits replay game.json --ply 12 --seat 0",
        ),
    )
    parser.add_argument("record", metavar="RECORD.json")
    parser.add_argument(
        "--ply",
        type=int,
        default=None,
        help="the position after so many decisions (default: the first one in a terminal, else the last one)",
    )
    parser.add_argument("--seat", type=int, default=None, help="show what this seat sees (default: everything)")
    parser.add_argument(
        "--policy",
        metavar="POLICY",
        help=f"a policy, such as {EXAMPLE}, {EXAMPLE}+search:64 or an .onnx file: show its value and its "
        f"probabilities at each decision, and likely mistakes, which it plays less often than in {100 * UNLIKELY:g} of "
        f"100 cases and which lower what it expects by {COSTLY} or more",
    )
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page for the browser")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run `spirits replay`."""
    ply, seat = arguments.ply, arguments.seat
    if ply is not None and ply < 0:
        raise ValueError(f"--ply was {ply}; give 0 or more.")
    check_files(arguments.html)
    whole = record.load(arguments.record)
    check_seat(seat, whole.players)
    agent = None if arguments.policy is None else make_agent(arguments.policy)
    if arguments.html is not None:
        return _write_page(arguments.html, whole, seat, agent, ply)
    walk = Walk(whole, seat, [] if agent is None else analyse(whole, agent))
    if sys.stdin.isatty() and sys.stdout.isatty():
        return _step(walk, ply or 0)
    print(walk.text(len(whole.history) if ply is None else ply))
    return OK


def _write_page(path: Path, whole: State, seat: int | None, agent: Agent | None, ply: int | None) -> int:
    """Write the page."""
    from spirits_env.render.page import replay_page

    if ply is not None:
        raise ValueError(f"--ply was {ply}, but a page shows every position; open {path.name}#{ply} for this one.")
    path.write_text(replay_page(whole, seat, agent), encoding="utf-8")
    print(f"{path}: {len(whole.history)} decisions, {path.stat().st_size / 1000:.0f} kB")
    return OK


class Walk:
    """The positions of a game, to be looked at in any order.

    Attributes:
        plies: Number of decisions; positions are numbered from 0 to this.
        judgements: What a policy thinks of each decision; empty without one.
    """

    def __init__(self, whole: State, seat: int | None, judgements: Sequence[Judgement]) -> None:
        """Replay a game.

        Args:
            whole: The game.
            seat: Whose view; None sees everything.
            judgements: One for each decision, or none.
        """
        self._seat = seat
        self._actions = list(whole.history)
        self.plies = len(self._actions)
        # What a policy thinks of a decision tells what its seat holds.
        self.judgements = {judged.ply: judged for judged in judgements if seat in (None, judged.seat)}
        self._states = [state.copy() for state in record.walk(whole)]

    def text(self, ply: int) -> str:
        """Return the board and what the policy says, for a position that exists or, beyond it, the last one."""
        ply = min(ply, self.plies)
        return "\n".join([draw_board(self._states[ply], self._seat), *self._judgement(ply)])

    def comment(self, ply: int) -> str:
        """Return what is said beside the board: points, the decision to come, or how the game ended."""
        return "\n".join(self._comment(ply))

    def next_mistake(self, ply: int) -> int | None:
        """Return the next likely mistake after a position; None if no more are to come."""
        return next((at for at, judged in self.judgements.items() if at > ply and judged.mistake), None)

    def _comment(self, ply: int) -> Iterator[str]:
        """Write the comment's lines."""
        state = self._states[ply]
        if self._seat is None and state.seat >= 0:
            points = ", ".join(f"seat {seat} {points}" for seat, points in enumerate(state.scores()))
            yield f"Points as they stand: {points}."
        if ply < self.plies:
            yield f"After {ply} of {self.plies}: seat {state.seat}: {state.tell(self._actions[ply])}"
        elif state.seat >= 0:
            yield f"After all {self.plies}: the record ends here, with seat {state.seat} to act."
        else:
            yield from tell_end(state)

    def _judgement(self, ply: int) -> Iterator[str]:
        """Write what the policy says of a decision."""
        judged = self.judgements.get(ply)
        if judged is None:
            return
        state = self._states[ply]
        said = f"The policy expects {judged.value:+.2f} for seat {judged.seat}"
        yield f"{said}; what was played costs {judged.loss:.2f}." + " Likely a mistake." * judged.mistake
        ordered = sorted(judged.probabilities.items(), key=lambda item: (-item[1], item[0]))
        for number, (action, chance) in enumerate(ordered):
            if number < _CHOICES or action == judged.action:
                mark = ">" if action == judged.action else " "
                yield f"{mark} {chance:6.1%}  {state.tell(action)}"


def tell_end(state: State, names: Sequence[str] = ()) -> Iterator[str]:
    """Say how a finished game was counted, and who has won.

    Args:
        state: The game.
        names: Who played in each seat; empty if unknown.
    """
    yield "  ".join(f"seat {seat}" for seat in range(state.players))
    for score in state.explain():
        row = "  ".join(f"{points:6d}" for points in score.points)
        yield f"{row}  {score.text}"
    winners = state.winners()
    for seat, points in enumerate(state.scores()):
        who = f"seat {seat} ({names[seat]})" if names else f"seat {seat}"
        verb = "" if seat not in winners else ", wins" if len(winners) == 1 else ", shares the win"
        yield f"{who}: {points} point{'s' if points != 1 else ''}{verb}"
    if not winners:
        yield "Nobody wins."
    if state.remarks:
        yield state.remarks


def _step(walk: Walk, ply: int) -> int:
    """Show positions and ask for the next one, until quit."""
    ply = min(ply, walk.plies)
    notice = ""
    while True:
        print(_CLEAR, walk.text(ply), "", walk.comment(ply), "", notice, sep="\n")
        try:
            word = input(_PROMPT).strip()
        except EOFError:
            print()
            return OK
        except KeyboardInterrupt:
            print()
            return INTERRUPTED
        if word == "q":
            return OK
        ply, notice = _go(walk, ply, word)


def _go(walk: Walk, ply: int, word: str) -> tuple[int, str]:
    """Return the position that a word leads to, and what to say of it."""
    if word == "?":
        return ply, _HELP
    if word == "m":
        mistake = walk.next_mistake(ply)
        if mistake is None:
            return ply, "No more likely mistakes." if walk.judgements else "Name a policy with --policy for this."
        return mistake, ""
    if word.isdecimal():
        return min(int(word), walk.plies), ""
    steps = {"": ply + 1, "n": ply + 1, "b": ply - 1, "e": walk.plies}
    if word not in steps:
        return ply, f"{word!r} is none of the keys; ? lists them."
    return min(max(steps[word], 0), walk.plies), ""
