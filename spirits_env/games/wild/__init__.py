"""Spirits of the Wild: two players draw stones from a bag and give them to five animals each.

This file binds the rooms of the folder to the contract.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spirits_env.game import REWARD, Game
from spirits_env.games.wild import rules
from spirits_env.games.wild.actions import ACTIONS
from spirits_env.games.wild.components import ANIMALS, MAX_TURNS, MOST_POINTS, PLAYERS
from spirits_env.games.wild.drawing import STYLES, draw_scene, draw_text
from spirits_env.games.wild.heuristic import evaluate
from spirits_env.games.wild.observation import LAYOUT, observe
from spirits_env.games.wild.powers import MAX_STEPS, MAX_TAKE, POWERS
from spirits_env.games.wild.setup import fill_setup, read_setup
from spirits_env.games.wild.state import PHASES, STATE
from spirits_env.games.wild.telling import explain, tell

# Players who keep taking stones that fit nowhere, or keep putting stones back, would never end a game, so the count
# of turns is bounded. A turn asks at most for a card, a pile, and in each step of a Spirit Power for the choice and
# the place of so many stones.
_PLIES_PER_TURN = 2 + MAX_STEPS * 2 * MAX_TAKE


def worst_return(players: int, options: Mapping[str, Any]) -> float:
    """Return a utility that no finished game undercuts: a loss for `win`, none of all points for `margin`."""
    return -1.0 if options["reward"] == "win" else -MOST_POINTS / players


GAME = Game(
    name="wild",
    title="Spirits of the Wild",
    version=0,
    dtype=STATE,
    players=(PLAYERS,),
    seats=PLAYERS,
    actions=ACTIONS,
    phases=PHASES,
    options=(POWERS, REWARD),
    layout=LAYOUT,
    max_plies=MAX_TURNS * _PLIES_PER_TURN,
    deal=rules.deal,
    begin=rules.begin,
    legal=rules.legal,
    play=rules.play,
    observe=observe,
    scores=rules.scores,
    categories=ANIMALS,
    breakdown=rules.breakdown,
    winners=rules.winners,
    returns=rules.returns,
    redeal=rules.redeal,
    evaluate=evaluate,
    margin_scale={2: 8.0},
    worst_return=worst_return,
    fill_setup=fill_setup,
    read_setup=read_setup,
    tell=tell,
    explain=explain,
    draw_text=draw_text,
    draw_scene=draw_scene,
    text_styles=STYLES,
)
