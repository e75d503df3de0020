"""Every listed game keeps the contract and imports only what it may; and no shared code asks which game it is."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from spirits_env import GAMES
from spirits_env.testing import TOPICS, check_game

ROOT = Path(__file__).parent.parent
SHARED = sorted(path for folder in ("spirits_env", "training") for path in (ROOT / folder).rglob("*.py"))
# What a game's folder may import beside the standard library and its own files.
CONTRACT = ("numpy", "numba", "spirits_env.game", "spirits_env.drawing")
ROOMS = ("__init__", "actions", "components", "drawing", "heuristic", "observation", "rules", "setup", "state")
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")


def folder_of(game: str) -> Path:
    spec = find_spec(GAMES[game].module)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def entry_of(game: str) -> Path:
    return ROOT / "spirits_env" / f"{game}_v{GAMES[game].version}.py"


@pytest.mark.parametrize("topic", TOPICS)
@pytest.mark.parametrize("game", GAMES)
def test_a_game_keeps_the_contract(game: str, topic: str) -> None:
    check_game(game, topics=[topic])


@pytest.mark.parametrize("game", GAMES)
def test_a_game_has_a_module_of_its_name_and_version_for_pettingzoo(game: str) -> None:
    assert entry_of(game).is_file()


@pytest.mark.parametrize("game", GAMES)
def test_a_games_folder_has_the_same_rooms_as_the_others(game: str) -> None:
    rooms = {path.stem for path in folder_of(game).glob("*.py")}
    assert rooms >= set(ROOMS)


# --- arrows -----------------------------------------------------------------------------------------------


def imports(tree: ast.AST, lazily: bool = False) -> Iterator[tuple[str, bool]]:
    """Every module that a file imports, and whether that happens only within a function."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, lazily) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            # `from spirits_env.games import forest` imports two modules, `from x import name` one and a name of it.
            name = "." * node.level + (node.module or "")
            yield from ((f"{name}.{alias.name}", lazily) for alias in node.names)
        inside = lazily or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        yield from imports(node, inside)


def is_within(name: str, modules: tuple[str, ...]) -> bool:
    return any(name == module or name.startswith(f"{module}.") for module in modules)


def forbidden_imports(source: str, own: str) -> list[str]:
    """What a file of a game's folder imports, though it may not."""
    wrong = []
    for name, lazily in imports(ast.parse(source)):
        first = name.split(".")[0]
        allowed = first in sys.stdlib_module_names or is_within(name, (own, *CONTRACT))
        # Another library is for those who ask for what needs it; our own other modules are for nobody here.
        if not allowed and not (lazily and first not in ("", "spirits_env", "training")):
            wrong.append(name)
    return wrong


@pytest.mark.parametrize("game", GAMES)
def test_a_games_folder_imports_only_numpy_numba_its_own_files_and_the_contract(game: str) -> None:
    found = {
        path.name: wrong
        for path in folder_of(game).glob("*.py")
        if (wrong := forbidden_imports(path.read_text(encoding="utf-8"), GAMES[game].module))
    }
    assert found == {}


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("import numpy as np", []),
        ("from numba import njit", []),
        ("import itertools, os.path", []),
        ("from __future__ import annotations", []),
        ("from spirits_env.game import Game", []),
        ("from spirits_env.games.pond import rules", []),
        ("from spirits_env.games.pond.rules import deal", []),
        ("def read():\n    import yaml", []),
        ("import yaml", ["yaml"]),
        ("if TYPE_CHECKING:\n    import yaml", ["yaml"]),
        ("from spirits_env.games import load", ["spirits_env.games.load"]),
        ("from spirits_env.games.ponds import deal", ["spirits_env.games.ponds.deal"]),
        ("from spirits_env.state import State", ["spirits_env.state.State"]),
        ("def read():\n    from spirits_env.state import State", ["spirits_env.state.State"]),
        ("class A:\n    def b(self):\n        import training.config", ["training.config"]),
        ("def read():\n    from ..sea import rules", ["..sea.rules"]),
    ],
)
def test_imports_that_a_game_may_not_make_are_found(line: str, wrong: list[str]) -> None:
    assert forbidden_imports(line, "spirits_env.games.pond") == wrong


def docstrings(tree: ast.AST) -> set[ast.AST]:
    """The docstrings of a file and of all that it defines."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, kinds)]
    return {body[0].value for body in bodies if body and isinstance(body[0], ast.Expr)}


def texts(node: ast.AST) -> Iterator[str]:
    """Every name that a node of a program says, and the text of a string."""
    if isinstance(node, ast.Constant):
        yield from [node.value] if isinstance(node.value, str) else []
    else:
        for _, value in ast.iter_fields(node):
            yield from (item for item in (value if isinstance(value, list) else [value]) if isinstance(item, str))


def mentions(source: str, word: str) -> list[int]:
    """Lines of a program in which a name or a string, but no docstring, holds a word."""
    tree = ast.parse(source)
    spared = docstrings(tree)
    lines = set()
    for node in ast.walk(tree):
        if node not in spared and any(word in map(str.lower, WORD.findall(text)) for text in texts(node)):
            lines.add(getattr(node, "lineno", 0))
    return sorted(lines)


@pytest.mark.parametrize("game", GAMES)
def test_no_shared_code_names_a_game(game: str) -> None:
    own = [folder_of(game), entry_of(game), ROOT / "spirits_env/games/__init__.py"]
    shared = [path for path in SHARED if not any(path.is_relative_to(place) for place in own)]
    assert ROOT / "spirits_env/state.py" in shared
    assert ROOT / "training/config.py" in shared
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in shared
        for line in mentions(path.read_text(encoding="utf-8"), game)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('"""For the pond."""', False),
        ('def a():\n    """The pond."""', False),
        ("# the pond\nx = 1", False),
        ("ponder = responds = 'ponds'", False),
        ("x = 'pond'", True),
        ("def a(game: str = 'pond'): ...", True),
        ("x = f'spirits/Pond-v{n}'", True),
        ("'pond' == 1", True),
        ("from spirits_env.games.pond import rules", True),
        ("from spirits_env import pond_v0", True),
        ("import a as pond", True),
        ("pond = 1", True),
        ("x = games.pond", True),
        ("def pond_only(): ...", True),
        ("class PondSolo: ...", True),
        ("def a(pond): ...", True),
        ("a(pond=1)", True),
        ("def a():\n    global pond", True),
    ],
)
def test_names_of_games_in_shared_code_are_found(line: str, found: bool) -> None:
    assert bool(mentions(line, "pond")) == found
