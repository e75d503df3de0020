"""The notebook of first steps runs, in its small version, and is kept with outputs that belong into the file."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from spirits_env import State

ROOT = Path(__file__).parent.parent
PROGRAM = ROOT / "docs/notebook.py"
FILE = ROOT / "docs/first_steps.ipynb"
MOST_BYTES = 500_000


def run(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(PROGRAM), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, timeout=280)


def code_cells(path: Path) -> list[dict[str, Any]]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def texts(cell: dict[str, Any]) -> list[str]:
    """What a cell has printed or shown, in the order of its outputs."""
    found = []
    for output in cell["outputs"]:
        parts = [output["text"]] if "text" in output else list(output["data"].values())
        found += ["".join(part) for part in parts]
    return found


def notebook(path: Path, *cells: dict[str, Any]) -> Path:
    """Write a notebook with cells of code."""
    blank = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    listed = [{**blank, "id": f"cell-{number}", **cell} for number, cell in enumerate(cells)]
    path.write_text(json.dumps({"cells": listed, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    return path


def test_every_cell_runs_with_small_sizes(tmp_path: Path) -> None:
    before = FILE.read_bytes()
    done = run("--quick", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert FILE.read_bytes() == before
    assert not list(tmp_path.iterdir())


def test_it_is_kept_with_the_outputs_of_one_run_from_above_to_below() -> None:
    cells = code_cells(FILE)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    for cell in cells:
        live = "live" in cell["metadata"].get("tags", [])
        assert not (live and cell["outputs"])
        assert all(output["output_type"] in ("stream", "execute_result", "display_data") for output in cell["outputs"])
        assert all(output.get("name") != "stderr" for output in cell["outputs"])
    boards = [text for cell in cells for text in texts(cell) if text.startswith("<svg")]
    assert len(boards) == 3
    shown = "\n".join(text for cell in cells for text in texts(cell))
    assert re.search(r"from random, [\d.]+% from greedy", shown)
    assert re.search(r"^policy:forest +\+\d+ +wins [\d.]+%$", shown, re.MULTILINE)


def test_the_boards_are_drawn_as_they_are_now() -> None:
    state = State("forest", players=2, seed=7)
    drawn = [state.svg()]
    for _ in range(6):
        state.play(state.legal_actions()[0])
    drawn.append(state.svg(seat=0))
    boards = [text for cell in code_cells(FILE) for text in texts(cell) if text.startswith("<svg")]
    assert [board.strip() for board in boards[:2]] == [board.strip() for board in drawn], "run `make notebook`"


def test_the_file_is_small_and_tells_nothing_of_the_machine_that_ran_it() -> None:
    text = FILE.read_text(encoding="utf-8")
    assert len(text.encode()) < MOST_BYTES
    assert not re.search(r"/(tmp|home|root|Users|work)/|[A-Z]:\\\\", text)
    assert str(ROOT) not in text


def test_its_links_lead_somewhere() -> None:
    cells = json.loads(FILE.read_text(encoding="utf-8"))["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    assert len(links) > 3
    assert all((FILE.parent / link).is_file() for link in links)


def test_outputs_are_kept_except_those_that_are_for_the_moment(tmp_path: Path) -> None:
    noted = tmp_path / "size"
    path = notebook(
        tmp_path / "n.ipynb",
        {"source": "import os, sys, pathlib"},
        {"source": "print('to', flush=True)\nprint('a warning', file=sys.stderr)\nprint('keep')"},
        {"source": "print('for the moment')", "metadata": {"tags": ["live"]}},
        {"source": "size = 1000", "metadata": {"when_quick": "size = 1"}},
        {"source": f"print(size, len(os.listdir()))\npathlib.Path({str(noted)!r}).write_text(str(size));"},
    )
    before = path.read_text()
    for words, size in ((["--quick"], "1"), (["--check"], "1000")):
        assert run(str(path), *words, cwd=tmp_path).returncode == 0
        assert (path.read_text(), noted.read_text()) == (before, size)
    assert run(str(path), cwd=tmp_path).returncode == 0
    assert [texts(cell) for cell in code_cells(path)] == [[], ["to\nkeep\n"], [], [], ["1000 0\n"]]


def test_a_cell_that_fails_is_told_and_nothing_is_kept(tmp_path: Path) -> None:
    path = notebook(tmp_path / "n.ipynb", {"source": "print('so far')"}, {"source": "1 / 0"})
    before = path.read_text()
    done = run(str(path), cwd=tmp_path)
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr
    assert path.read_text() == before
