"""Metrics of a run, one JSON object per line for people and programs, and the same for TensorBoard.

Names are those of `docs/training.md`; every line has `decisions`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path

from torch.utils.tensorboard import SummaryWriter

FILE = "metrics.jsonl"


class Writer:
    """Writes to `metrics.jsonl` and `tensorboard/` of a run.

    Args:
        run: The run's folder.
        decisions: Where the run goes on: lines after that are forgotten.
    """

    def __init__(self, run: Path, decisions: int) -> None:
        self.path = run / FILE
        rows = [row for row in read(run) if row["decisions"] <= decisions]
        self.path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        self._board = SummaryWriter(str(run / "tensorboard"), purge_step=decisions + 1)

    def write(self, decisions: int, values: Mapping[str, float]) -> None:
        """Append one line with all finite numbers: JSON has no word for what can't be told."""
        numbers = {key: float(value) for key, value in sorted(values.items()) if math.isfinite(value)}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"decisions": decisions, **numbers}) + "\n")
        for key, value in numbers.items():
            self._board.add_scalar(key, value, decisions)

    def close(self) -> None:
        """Write what TensorBoard still holds back."""
        self._board.close()


def read(run: Path) -> list[dict[str, float]]:
    """Read a run's metrics, oldest first; a line cut off by a kill is left out."""
    path = run / FILE
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else []:
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return rows
