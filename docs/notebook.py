"""Runs a notebook, docs/first_steps.ipynb unless another is named, and keeps its outputs in the file.

`--check` keeps nothing; `--quick` does so too, and runs what the notebook's cells name for tests in their place.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

NOTEBOOK = Path(__file__).parent / "first_steps.ipynb"
# A cell with this tag shows something for the one who runs it, which is too large for the file or never twice the same.
LIVE = "live"
# Under this key of its metadata a cell has what takes its place in a quick run.
WHEN_QUICK = "when_quick"


def execute(notebook: NotebookNode, quick: bool = False) -> NotebookNode:
    """Run all cells of a notebook, in a temporary folder that is gone afterwards.

    Args:
        notebook: The notebook; stays as it is.
        quick: Whether cells that name something smaller for it run that.

    Returns:
        A copy with the outputs.

    Raises:
        CellExecutionError: If a cell fails.
    """
    run = deepcopy(notebook)
    if quick:
        for cell in run.cells:
            cell.source = cell.metadata.get(WHEN_QUICK, cell.source)
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "TMPDIR": folder, "TMP": folder, "TEMP": folder}
        client = NotebookClient(
            run,
            timeout=None,
            kernel_name="python3",
            record_timing=False,
            resources={"metadata": {"path": folder}},
            extra_arguments=["--log-level=ERROR"],
        )
        client.execute(env=environment)
    return run


def kept(notebook: NotebookNode) -> NotebookNode:
    """Drop from a notebook that was run what is not worth keeping: warnings, progress, and outputs of live cells."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            live = LIVE in cell.metadata.get("tags", [])
            cell.outputs = [] if live else _joined([one for one in cell.outputs if one.get("name") != "stderr"])
    notebook.metadata["language_info"] = {"name": "python"}
    return notebook


def _joined(outputs: Sequence[NotebookNode]) -> list[NotebookNode]:
    """Put together what was printed in pieces."""
    found: list[NotebookNode] = []
    for output in outputs:
        if found and output.output_type == found[-1].output_type == "stream":
            found[-1].text += output.text
        else:
            found.append(output)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    parser = argparse.ArgumentParser(description="Run a notebook and keep its outputs in the file.")
    parser.add_argument("notebook", nargs="?", type=Path, default=NOTEBOOK, help="(default: docs/first_steps.ipynb)")
    parser.add_argument("--check", action="store_true", help="run it, and leave the file as it is")
    parser.add_argument(
        "--quick", action="store_true", help="run its small version for tests, and leave the file as it is"
    )
    words = parser.parse_args(arguments)
    try:
        run = execute(nbformat.read(words.notebook, as_version=4), quick=words.quick)
    except CellExecutionError as error:
        print(error, file=sys.stderr)
        return 1
    if not words.check and not words.quick:
        nbformat.write(kept(run), words.notebook)
    return 0


if __name__ == "__main__":
    sys.exit(main())
