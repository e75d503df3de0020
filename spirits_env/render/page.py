"""A game as one page of HTML to step through: boards, decisions, scores, and what a policy thinks of them.

The page needs nothing but itself: it opens from a disk, asks for nothing from anywhere, and runs its own script alone.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from spirits_env import record
from spirits_env.agents import Agent, make_agent
from spirits_env.analysis import COSTLY, UNLIKELY, Judgement, analyse
from spirits_env.drawing import AUTO
from spirits_env.state import State

# Where scenes are cut, from coarse to fine: lines, groups, elements and the strokes of letters. Scenes of one game
# share most of these.
_CUTS = tuple(map(re.compile, (r"(?<=\n)", "(?=<g)", "(?=[M<])")))


def replay_page(
    game: State | Mapping[str, Any],
    seat: int | None = None,
    agent: str | Agent | None = None,
    title: str | None = None,
) -> str:
    """Make a page on which a game can be stepped through.

    What only others than `seat` may know stays out of the page until the game is over: the points on the way, and
    what a policy thinks at the decisions of other seats, included.

    Args:
        game: A game, finished or not, or its record.
        seat: Whose view; None sees everything.
        agent: A policy, or one improved by a search, as an agent or as its name, to say what it thinks of each
            decision; None for none.
        title: Heading of the page; None for the game's title and the number of players.

    Returns:
        The whole page, as HTML.

    Raises:
        ValueError: If the record does not replay, nobody plays in that seat, or the agent has no policy for this game.
        ImportError: If onnxruntime is not installed and a policy is named.
    """
    whole = game if isinstance(game, State) else record.replay(game)
    judge = None if agent is None else make_agent(agent)
    judgements = [] if judge is None else analyse(whole, judge)
    heading = f"{whole.game.title}, {whole.players} player{'s' if whole.players > 1 else ''}"
    content = {
        "title": title or heading,
        "seat": seat,
        "players": whole.players,
        "remarks": whole.remarks,
        "policy": None if judge is None else judge.name,
        "unlikely": UNLIKELY,
        "costly": COSTLY,
        **_course(whole, seat, judgements),
        **_end(whole, seat),
    }
    script = _part("replay.js")
    return Template(_part("replay.html")).substitute(
        title=escape(title or heading),
        style=_part("replay.css"),
        script=script,
        hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        # Within a script element nothing but "<" can end it.
        content=json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c"),
    )


def _part(name: str) -> str:
    """Read a file that lies beside this module."""
    return files("spirits_env.render").joinpath(name).read_text(encoding="utf-8")


def _course(whole: State, seat: int | None, judgements: Sequence[Judgement]) -> dict[str, Any]:
    """Collect what the page shows of each position: the board, who decides what, the points, and the judgement."""
    scenes, decisions, points, thoughts = [], [], [], []
    for ply, state in enumerate(record.walk(whole)):
        scenes.append(state.svg(seat, AUTO))
        points.append(state.scores())
        if ply == len(whole.history):
            break
        action = whole.history[ply]
        decisions.append({"seat": state.seat, "turn": state.turn, "text": state.tell(action)})
        known = judgements and seat in (None, state.seat)
        thoughts.append(_thought(state, judgements[ply]) if known else None)
    levels, pieces = _fold(scenes)
    return {
        "levels": levels,
        "pieces": pieces,
        "decisions": decisions,
        "points": points if seat is None else None,
        "thoughts": thoughts,
    }


def _fold(texts: Sequence[str]) -> tuple[list[list[list[int]]], list[str]]:
    """Cut texts into pieces, and keep every piece once.

    Returns:
        For each cut the texts of its level as numbers of the texts of the next one, and the texts of the last level.
    """
    levels = []
    for cut in _CUTS:
        known: dict[str, int] = {}
        levels.append([[known.setdefault(part, len(known)) for part in cut.split(text)] for text in texts])
        texts = list(known)
    return levels, list(texts)


def _thought(state: State, judgement: Judgement) -> dict[str, Any]:
    """Put a judgement into words: each legal action, the likeliest first."""
    ordered = sorted(judgement.probabilities.items(), key=lambda item: (-item[1], item[0]))
    return {
        "value": round(judgement.value, 3),
        "loss": round(judgement.loss, 3),
        "mistake": judgement.mistake,
        "choices": [
            {"text": state.tell(action), "chance": round(chance, 4), "played": action == judgement.action}
            for action, chance in ordered
        ],
    }


def _end(whole: State, seat: int | None) -> dict[str, Any]:
    """Collect how the game ended, and why; of a game that goes on, only for who sees everything."""
    over = whole.seat < 0
    if not over and seat is not None:
        return {"over": False, "next": whole.seat, "winners": [], "scores": None, "count": []}
    count = [{"points": score.points, "text": score.text} for score in whole.explain()]
    return {"over": over, "next": whole.seat, "winners": whole.winners(), "scores": whole.scores(), "count": count}
