"""Judges agents: evaluations of one agent, and arenas of many; the same deals for all, every seat in turn."""

from spirits_env.arena.contest import Contest, Played
from spirits_env.arena.estimates import Estimate, estimate_mean, estimate_share
from spirits_env.arena.evaluation import (
    Games,
    Match,
    Result,
    SeatRow,
    deal_seed,
    evaluate,
    play_games,
    to_markdown,
    to_rich,
)
from spirits_env.arena.runner import ArenaError, run, run_gate

__all__ = [
    "ArenaError",
    "Contest",
    "Estimate",
    "Games",
    "Match",
    "Played",
    "Result",
    "SeatRow",
    "deal_seed",
    "estimate_mean",
    "estimate_share",
    "evaluate",
    "play_games",
    "run",
    "run_gate",
    "to_markdown",
    "to_rich",
]
