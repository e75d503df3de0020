"""Judges agents: evaluations of one agent, and arenas of many; the same deals for all, every seat in turn."""

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

__all__ = [
    "Estimate",
    "Games",
    "Match",
    "Result",
    "SeatRow",
    "deal_seed",
    "estimate_mean",
    "estimate_share",
    "evaluate",
    "play_games",
    "to_markdown",
    "to_rich",
]
