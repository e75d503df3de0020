"""Rewrites what the docs take from the code: the tables between markers, and the picture of each game.

`python docs/make.py` rewrites what is stale; with `--check` it says what is, and the exit code is 1 if anything is.
A game's page is `<game>.md`; tables that only it has come from `<game>_tables.py` beside this file.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from spirits_env import GAMES, SingleEnv, VectorEnv, env_id, faces, record
from spirits_env.aec import RawEnv
from spirits_env.game import Game
from spirits_env.games import load

DOCS = Path(__file__).parent

# The heads of the columns, and the rows.
Table = tuple[Sequence[str], Sequence[Sequence[Any]]]


def markdown(table: Table) -> str:
    """Write a table in Markdown."""
    columns, rows = table
    cells = [[str(cell).replace("|", "\\|") for cell in row] for row in rows]
    lines = [list(columns), ["---"] * len(columns), *cells]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


@cache
def own(game: str) -> ModuleType:
    """Import what only one game's page has.

    Returns:
        A module with `TABLES` (tables by name), `action_groups` (names for the page, formula, ids, names in order and
        meaning of each kind of action), and the point of the recorded game in the picture: `PICTURE_PLY` and
        `PICTURE_SEAT`.
    """
    spec = importlib.util.spec_from_file_location(f"{game}_tables", DOCS / f"{game}_tables.py")
    if spec is None or spec.loader is None:
        raise ImportError(f"docs/{game}_tables.py can't be imported.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- the game's page --------------------------------------------------------------------------------------


def several(game: Game) -> list[int]:
    """The player counts of a game but for one alone."""
    return [players for players in game.players if players > 1]


def ids_text(game: Game) -> str:
    """The Gymnasium ids with the arguments that each fixes, or else the player counts left to it."""
    ids = GAMES[game.name].ids
    fixed_counts = [fixed["players"] for fixed in ids.values() if "players" in fixed]
    counts = [players for players in game.players if players not in fixed_counts]
    span = f"{counts[0]} players" if len(counts) == 1 else f"{counts[0]} to {counts[-1]} players"
    told = []
    for name, fixed in ids.items():
        arguments = ", ".join(f"`{argument}={value!r}`" for argument, value in fixed.items())
        told.append(f"`{env_id(game.name, name)}` ({arguments or span})")
    return ", ".join(told)


def specification(game: Game) -> Table:
    """The facts of a game at a glance."""
    size, actions = game.layout.size, len(game.actions)
    plain = ", ".join(f"`{env_id(game.name, name)}`" for name, fixed in GAMES[game.name].ids.items() if not fixed)
    agents = ", ".join(f"`player_{seat}`" for seat in range(game.seats))
    spans = [f"{game.worst_return(n, game.check_options({})):.3g} to 1 with {n} players" for n in several(game)]
    rows = [
        ("Gymnasium ids" if len(GAMES[game.name].ids) > 1 else "Gymnasium id", ids_text(game)),
        ("PettingZoo id", f"{plain}; module `spirits_env.{game.name}_v{game.version}`"),
        ("Version of the rules", game.version),
        ("Players", ", ".join(str(n) for n in game.players)),
        ("Agents (PettingZoo)", agents + (", as many as play" if len(several(game)) > 1 else "")),
        ("First to act", "seat 0"),
        ("Action space", f"`Discrete({actions})`"),
        ("Action mask", f"`({actions},)` int8; `action_masks()` bool"),
        ("Observation space", f"`Box` of shape `({size},)`, int8; on the AEC face in a `Dict` with the mask"),
        ("Reward (`win`)", "at the end only: " + "; ".join(spans)),
        ("Longest game", f"at most {game.max_plies} decisions (proven bound)"),
        ("State", f"one record of {game.dtype.itemsize} bytes"),
        ("Parallel form", "`parallel_env()`, for tools that need dicts; the game itself is strictly turn by turn"),
        ("Render modes", ", ".join(f"`{mode}`" for mode in faces.RENDER_MODES)),
        *(("Results with default options", remark) for remark in game.remarks(game.check_options({}))),
    ]
    return ("", ""), rows


def observation(game: Game) -> Table:
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
    return ("name", "start:stop", "shape", "values", "known to", "meaning"), rows


def actions(game: Game) -> Table:
    """The action table by kinds."""
    rows = []
    for names, formula, ids, _, meaning in own(game.name).action_groups():
        span = str(ids[0]) if len(ids) == 1 else f"{ids[0]} to {ids[-1]}"
        rows.append((span, formula, ", ".join(f"`{name}`" for name in names.split(", ")), meaning))
    return ("ids", "id", "name", "does"), rows


def final_returns(game: Game, players: int, winners: int) -> list[float]:
    """Ask the rules for the returns of a game that the first so many seats win."""
    state = game.blank(1, players, {})[0]
    points, won = np.zeros(game.seats, np.int16), np.zeros(game.seats, np.int8)
    won[:winners] = 1
    utility = np.zeros(game.seats, np.float32)
    game.returns(state, points, won, utility)
    return [float(value) for value in utility[:players]]


def rewards(game: Game) -> Table:
    """Final rewards by players and by how many share the win."""
    rows = []
    for players in several(game):
        for winners in range(1, players + 1):
            values = final_returns(game, players, winners)
            loser = "–" if winners == players else f"{values[-1]:+.3g}"
            rows.append((players, winners, f"{values[0]:+.3g}" if values[0] else "0", loser))
    return ("players", "seats that win", "each winner gets", "each loser gets"), rows


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


def face_arguments(face: type[Any]) -> Table:
    """The arguments of a face as a table."""
    return ("argument", "default", "meaning"), list(arguments(face))


def options(game: Game) -> Table:
    """The game's options as a table."""
    rows = [
        (f"`{one.name}`", ", ".join(f"`{choice!r}`" for choice in one.choices), f"`{one.default!r}`", one.text)
        for one in game.options
    ]
    return ("option", "values", "default", "meaning"), rows


# --- the pages --------------------------------------------------------------------------------------------

# Every game's page has these.
SHARED: dict[str, Callable[[Game], Table]] = {
    "specification": specification,
    "observation": observation,
    "actions": actions,
    "rewards": rewards,
    "options": options,
}

# These are the same for every game, so one page shows them.
FACES: dict[str, Callable[[], Table]] = {
    "arguments-aec": partial(face_arguments, RawEnv),
    "arguments-single": partial(face_arguments, SingleEnv),
    "arguments-vector": partial(face_arguments, VectorEnv),
}


def tables(game: str) -> dict[str, Callable[[], Table]]:
    """All tables that a game's page may show."""
    return {**{name: partial(make, load(game)) for name, make in SHARED.items()}, **FACES, **own(game).TABLES}


def fill_tables(text: str, game: str) -> str:
    """Put the tables of a game between their markers.

    Raises:
        KeyError: If the text names a table that isn't made for it.
    """
    made = tables(game)

    def fill(match: re.Match[str]) -> str:
        name = match["name"]
        return f"<!-- table:{name} -->\n\n{markdown(made[name]())}\n\n<!-- /table:{name} -->"

    return re.sub(r"<!-- table:(?P<name>[\w-]+) -->.*?<!-- /table:(?P=name) -->", fill, text, flags=re.DOTALL)


def picture(game: str) -> str:
    """The board of the checked-in game after some decisions, as one seat sees it."""
    played = json.loads((DOCS / f"{game}.json").read_text(encoding="utf-8"))
    drawing: str = record.replay(played, own(game).PICTURE_PLY).svg(own(game).PICTURE_SEAT, "auto")
    return drawing.rstrip("\n") + "\n"


def wanted() -> dict[Path, str]:
    """What each file that is made from the code should hold."""
    found = {}
    for game in GAMES:
        page = DOCS / f"{game}.md"
        found[page] = fill_tables(page.read_text(encoding="utf-8"), game)
        found[DOCS / f"{game}.svg"] = picture(game)
    return found


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
