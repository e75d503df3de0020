"""Spirits of the Forest: two to four players collect spirits from the ends of four rows, or one against the forest.

This file binds the rooms of the folder to the contract.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spirits_env.game import REWARD, Game, Option
from spirits_env.games.forest import rules
from spirits_env.games.forest.actions import ACTIONS
from spirits_env.games.forest.board import BOARD
from spirits_env.games.forest.components import (
    CELLS,
    ICON_TOTALS,
    ICONS,
    MAX_SEATS,
    MISSING_PENALTY,
    SPIRITS,
)
from spirits_env.games.forest.drawing import STYLES, draw_scene, draw_text
from spirits_env.games.forest.heuristic import evaluate
from spirits_env.games.forest.observation import LAYOUT, observe
from spirits_env.games.forest.setup import fill_setup, read_setup
from spirits_env.games.forest.state import PHASES, STATE
from spirits_env.games.forest.telling import explain, tell

# A seat with a gem on an end must take a tile in its turn, and a seat is only kept from taking by such gems: so
# each round of turns takes at least one tile. A turn asks at most six decisions, and two "+" may be used.
_PLIES_PER_TURN = 6
_PLUS_TOKENS = 2


def worst_return(players: int, options: Mapping[str, Any]) -> float:
    """Return a utility that no finished game undercuts: a lone loss for `win`, a bound on points for `margin`."""
    if options["reward"] == "win":
        return -1.0 if players == 1 else -1.0 / (players - 1)
    spirits = int(ICON_TOTALS[: len(SPIRITS)].sum())
    if players == 1:
        return -float(spirits)
    everything = int(ICON_TOTALS.sum()) + len(ICONS)
    return -float(everything + MISSING_PENALTY * len(ICONS))


GAME = Game(
    name="forest",
    title="Spirits of the Forest",
    version=0,
    dtype=STATE,
    players=(1, 2, 3, 4),
    seats=MAX_SEATS,
    actions=ACTIONS,
    phases=PHASES,
    options=(
        Option(
            "forced_steal",
            (False, True),
            True,
            "Whether a player who could only take tiles with opponents' gems must take one (and pay).",
        ),
        REWARD,
    ),
    layout=LAYOUT,
    max_plies=CELLS * MAX_SEATS * _PLIES_PER_TURN + _PLUS_TOKENS,
    deal=rules.deal,
    begin=rules.begin,
    legal=rules.legal,
    play=rules.play,
    observe=observe,
    scores=rules.scores,
    categories=ICONS,
    breakdown=rules.breakdown,
    winners=rules.winners,
    returns=rules.returns,
    redeal=rules.redeal,
    evaluate=evaluate,
    margin_scale={1: 6.0, 2: 12.0, 3: 8.0, 4: 6.0},
    worst_return=worst_return,
    fill_setup=fill_setup,
    read_setup=read_setup,
    tell=tell,
    explain=explain,
    draw_text=draw_text,
    draw_scene=draw_scene,
    board=BOARD,
    text_styles=STYLES,
)
