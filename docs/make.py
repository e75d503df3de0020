"""Rewrites what the docs take from the code: the tables between markers, and the picture.

`python docs/make.py` rewrites what is stale; with `--check` it says what is, and the exit code is 1 if anything is.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from spirits_env import GAMES, SingleEnv, VectorEnv, env_id, faces, record
from spirits_env.aec import RawEnv
from spirits_env.batch import kernels
from spirits_env.game import Game
from spirits_env.games import load
from spirits_env.games.forest import components
from spirits_env.games.forest.actions import FIRST_CELL, HAND, PASS, PLUS

DOCS = Path(__file__).parent
PAGE = DOCS / "forest.md"
RECORD = DOCS / "forest.json"
PICTURE = DOCS / "forest.svg"
PICTURE_PLY = 38
PICTURE_SEAT = 0

FOREST = load("forest")
END_PHASE = FOREST.phases.index("end")


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Write a Markdown table."""
    cells = [[str(cell).replace("|", "\\|") for cell in row] for row in rows]
    lines = [list(columns), ["---"] * len(columns), *cells]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


# --- the game's page --------------------------------------------------------------------------------------


def specification(game: Game) -> str:
    """The facts of a game at a glance."""
    size, actions = game.layout.size, len(game.actions)
    ids = {name: env_id(game.name, name) for name in GAMES[game.name].ids}
    several = [n for n in game.players if n > 1]
    spans = [f"{game.worst_return(n, game.check_options({})):.3g} to 1 with {n} players" for n in several]
    rows = [
        ("Gymnasium ids", f"`{ids['Forest']}` ({several[0]} to {several[-1]} players), `{ids['ForestSolo']}` (one)"),
        ("PettingZoo id", f"`{ids['Forest']}`; module `spirits_env.{game.name}_v{game.version}`"),
        ("Version of the rules", game.version),
        ("Players", ", ".join(str(n) for n in game.players)),
        ("Agents (PettingZoo)", ", ".join(f"`player_{seat}`" for seat in range(game.seats)) + ", as many as play"),
        ("First to act", "seat 0"),
        ("Action space", f"`Discrete({actions})`"),
        ("Action mask", f"`({actions},)` int8; `action_masks()` bool"),
        ("Observation space", f"`Box` of shape `({size},)`, int8; on the AEC face in a `Dict` with the mask"),
        ("Reward (`win`)", "at the end only: " + "; ".join(spans)),
        ("Longest game", f"at most {game.max_plies} decisions (proven bound)"),
        ("State", f"one record of {game.dtype.itemsize} bytes"),
        ("Parallel form", "`parallel_env()`, for tools that need dicts; the game itself is strictly turn by turn"),
        ("Render modes", ", ".join(f"`{mode}`" for mode in faces.RENDER_MODES)),
    ]
    return table(("", ""), rows)


def tiles() -> str:
    """How often each tile is in the box."""
    columns = ("id", "spirit", "plain", *components.POWERS, "double", "symbols in all")
    rows = [
        (spirit, name, *components.TILE_COUNTS[spirit], components.ICON_TOTALS[spirit])
        for spirit, name in enumerate(components.SPIRITS)
    ]
    return table(columns, rows)


def observation(game: Game) -> str:
    """Every slice of the observation."""
    rows = [
        (
            f"`{part.name}`",
            f"{game.layout[part.name].start}:{game.layout[part.name].stop}",
            "×".join(str(n) for n in part.shape),
            f"{part.low} to {part.high}",
            "everybody" if part.known == "all" else "the observer only",
            part.text,
        )
        for part in game.layout.slices
    ]
    return table(("name", "start:stop", "shape", "values", "known to", "meaning"), rows)


def action_groups() -> list[tuple[str, str, list[int], list[str], str]]:
    """Ids, formula, ids in order, names in order and meaning of each kind of action."""
    ends = [(row, side) for row in range(components.ROWS) for side in (0, 1)]
    cells = [(row, column) for row in range(components.ROWS) for column in range(components.COLUMNS)]
    return [
        (
            "take_row<row>_left, take_row<row>_right",
            "2 * row + side (left 0, right 1)",
            [2 * row + side for row, side in ends],
            [f"take_row{row}_{('left', 'right')[side]}" for row, side in ends],
            "take the tile at that end of the row; a row with one tile left has a left end only",
        ),
        (
            "cell_<row>_<column>",
            f"{FIRST_CELL} + {components.COLUMNS} * row + column",
            [FIRST_CELL + components.COLUMNS * row + column for row, column in cells],
            [f"cell_{row}_{column}" for row, column in cells],
            "that cell, for a gem: pay with the one there, place one there, lift the own one, put the lifted one there",
        ),
        ("give_from_hand", str(HAND), [HAND], ["give_from_hand"], "pay with a gem from the hand"),
        ("use_plus", str(PLUS), [PLUS], ["use_plus"], 'use a "+" token: a lost gem comes back to the hand'),
        ("pass", str(PASS), [PASS], ["pass"], "no tile, no second tile, or no gem"),
    ]


def actions() -> str:
    """The action table by kinds."""
    rows = []
    for names, formula, ids, _, meaning in action_groups():
        span = str(ids[0]) if len(ids) == 1 else f"{ids[0]} to {ids[-1]}"
        rows.append((span, formula, ", ".join(f"`{name}`" for name in names.split(", ")), meaning))
    return table(("ids", "id", "name", "does"), rows)


def cell_ids(game: Game) -> str:
    """The id of every end and every cell, laid out as the forest."""
    number = {action.name: action.id for action in game.actions}
    rows = [
        (
            f"row {row}",
            number[f"take_row{row}_left"],
            *(number[f"cell_{row}_{column}"] for column in range(components.COLUMNS)),
            number[f"take_row{row}_right"],
        )
        for row in range(components.ROWS)
    ]
    return table(("", "left end", *(f"col {column}" for column in range(components.COLUMNS)), "right end"), rows)


def final_returns(game: Game, players: int, winners: int) -> list[float]:
    """Ask the rules for the returns of a finished game that so many seats win: one of each icon for these alone."""
    states = game.blank(1, players, {})
    states["phase"], states["seat"] = END_PHASE, -1
    states["token_seat"] = -1
    states["icons"][0, :winners] = 1
    utility, points = np.zeros((1, game.seats), np.float32), np.zeros((1, game.seats), np.int16)
    won = np.zeros((1, game.seats), np.int8)
    kernels(game).outcome(states, np.zeros(1, np.int64), utility, points, won)
    return [float(value) for value in utility[0, :players]]


def rewards(game: Game) -> str:
    """Final rewards by players and by how many share the win."""
    rows = []
    for players in (n for n in game.players if n > 1):
        for winners in range(1, players + 1):
            values = final_returns(game, players, winners)
            loser = "–" if winners == players else f"{values[-1]:+.3g}"
            rows.append((players, winners, f"{values[0]:+.3g}" if values[0] else "0", loser))
    return table(("players", "seats that win", "each winner gets", "each loser gets"), rows)


# --- arguments --------------------------------------------------------------------------------------------


def docstring_arguments(function: Callable[..., Any]) -> dict[str, str]:
    """Read what a Google docstring says of each argument."""
    text = inspect.getdoc(function) or ""
    part = text.split("Args:\n")[1].split("\n\n")[0]
    found: dict[str, str] = {}
    for entry in re.split(r"\n {4}(?=\S)", "\n" + part.rstrip()):
        name, colon, meaning = entry.strip().partition(":")
        if colon:
            found[name.lstrip("*")] = " ".join(meaning.split())
    return found


def arguments(
    face: type[Any], left_out: Sequence[str] = ("game", "variant", "options")
) -> Iterator[tuple[str, str, str]]:
    """The arguments of a face's constructor: name, default, meaning."""
    told = docstring_arguments(vars(face)["__init__"])
    for name, parameter in inspect.signature(face).parameters.items():
        if name not in left_out:
            default = parameter.default
            shown = getattr(default, "value", default)
            yield f"`{name}`", f"`{shown!r}`" if isinstance(shown, str) else f"`{shown}`", told[name]


def face_arguments(face: type[Any]) -> str:
    """The arguments of a face as a table."""
    return table(("argument", "default", "meaning"), list(arguments(face)))


def options(game: Game) -> str:
    """The game's options as a table."""
    rows = [
        (f"`{one.name}`", ", ".join(f"`{choice!r}`" for choice in one.choices), f"`{one.default!r}`", one.text)
        for one in game.options
    ]
    return table(("option", "values", "default", "meaning"), rows)


TABLES: dict[str, Callable[[], str]] = {
    "specification": lambda: specification(FOREST),
    "tiles": tiles,
    "observation": lambda: observation(FOREST),
    "actions": actions,
    "action-ids": lambda: cell_ids(FOREST),
    "rewards": lambda: rewards(FOREST),
    "options": lambda: options(FOREST),
    "arguments-aec": lambda: face_arguments(RawEnv),
    "arguments-single": lambda: face_arguments(SingleEnv),
    "arguments-vector": lambda: face_arguments(VectorEnv),
}


def fill_tables(text: str) -> str:
    """Put the tables between their markers.

    Raises:
        KeyError: If the text names a table that isn't made here.
    """

    def fill(match: re.Match[str]) -> str:
        name = match["name"]
        return f"<!-- table:{name} -->\n\n{TABLES[name]()}\n\n<!-- /table:{name} -->"

    return re.sub(r"<!-- table:(?P<name>[\w-]+) -->.*?<!-- /table:(?P=name) -->", fill, text, flags=re.DOTALL)


# --- the picture ------------------------------------------------------------------------------------------


def picture() -> str:
    """The board of the checked-in game after some decisions, as one seat sees it."""
    game = json.loads(RECORD.read_text(encoding="utf-8"))
    drawing: str = record.replay(game, PICTURE_PLY).svg(PICTURE_SEAT)
    return drawing.rstrip("\n") + "\n"


def wanted() -> dict[Path, str]:
    """What each file that is made from the code should hold."""
    return {PAGE: fill_tables(PAGE.read_text(encoding="utf-8")), PICTURE: picture()}


def main(words: Sequence[str]) -> int:
    """Rewrite or check; returns the exit code."""
    stale = [
        (path, text)
        for path, text in wanted().items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]
    for path, text in stale:
        print(f"docs/{path.name} is stale" if "--check" in words else f"docs/{path.name} rewritten")
        if "--check" not in words:
            path.write_text(text, encoding="utf-8", newline="\n")
    return 1 if stale and "--check" in words else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
