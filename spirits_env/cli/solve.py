"""`spirits solve`: what perfect play makes of a position of a recorded game."""

from __future__ import annotations

import argparse
from typing import Any

from spirits_env import record
from spirits_env.cli.common import OK
from spirits_env.solver import OBJECTIVES, Solution, solve
from spirits_env.state import State


def add(commands: Any) -> None:
    """Add `spirits solve`."""
    parser = commands.add_parser(
        "solve",
        help="solve the end of a recorded game",
        description="Solve a position of a recorded game for two, with all cards open to both, and all chance to come: "
        "the exact value of every legal action, and one course of perfect play.",
        examples=("spirits solve game.json --from 78", "spirits solve game.json --seconds 600 --objective result"),
    )
    parser.add_argument("record", metavar="RECORD.json")
    parser.add_argument(
        "--from",
        dest="ply",
        type=int,
        default=None,
        metavar="PLY",
        help="the position after so many decisions (default: where the record ends; if the game is over, its last "
        "decision)",
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="time limit, inf for none (default: %(default)g)")
    parser.add_argument(
        "--objective",
        choices=OBJECTIVES,
        default=OBJECTIVES[0],
        help="play for the margin of points, or for win (1), shared win (0) or loss (-1) (default: %(default)s)",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run `spirits solve`."""
    state = _position(arguments.record, arguments.ply)
    solution = solve(state, arguments.seconds, arguments.objective)
    print(_text(state, solution))
    return OK


def _position(path: str, ply: int | None) -> State:
    """Replay a record to the position to be solved."""
    if ply is not None and ply < 0:
        raise ValueError(f"--from was {ply}; give 0 or more.")
    state = record.load(path)
    plies = len(state.history)
    if ply is None:
        ply = plies - 1 if state.seat < 0 else plies
    if ply > plies or (ply == plies and state.seat < 0):
        last = plies - 1 if state.seat < 0 else plies
        raise ValueError(f"--from was {ply}; the record's last position with a decision to take is {last}.")
    return record.load(path, ply)


def _text(state: State, solution: Solution) -> str:
    """Tell in words what a solution says."""
    if solution.objective == "points":
        outcome = f"a margin of {solution.value:+d} points"
    else:
        outcome = ("a shared win", "a win", "a loss")[solution.value]
    rate = solution.nodes / max(solution.seconds, 1e-9)
    return "\n".join(
        [
            f"{state.game.title}, ply {len(state.history)}, {state.phase}: seat {solution.seat} to act.",
            f"Perfect play of both ends in {outcome} for seat {solution.seat}.",
            "",
            *_actions(state, solution),
            "",
            "One course of perfect play:",
            *_line(state, solution),
            "",
            f"{solution.nodes:,} positions in {solution.seconds:.2f} s, {rate:,.0f} a second, "
            f"{solution.table_hits:,} of them known from the table.",
        ]
    )


def _actions(state: State, solution: Solution) -> list[str]:
    """List the legal actions, the best first."""
    ordered = sorted(solution.values, key=lambda action: (-solution.values[action], action))
    lines = []
    for action in ordered:
        row = state.game.actions[action]
        mark = "*" if action in solution.best else " "
        lines.append(f"{mark} {solution.values[action]:+4d}  {action:3d}  {row.name:18s}  {row.sentence}")
    return lines


def _line(state: State, solution: Solution) -> list[str]:
    """Tell the line of play, one decision after the other."""
    state = state.copy()
    lines = []
    for action in solution.line:
        lines.append(f"  seat {state.seat}, {state.phase}: {state.game.actions[action].sentence}")
        state.play(action)
    points = state.scores()
    return [*lines, f"  points: {points[0]} to {points[1]}"]
