"""Metrics of a run as one JSON object per line, for curves and for people.

Names are those of `docs/training.md`; every line has `decisions`.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3.common.logger import KVWriter

FILE = "metrics.jsonl"


class JSONLWriter(KVWriter):
    """A stable-baselines3 logger output that appends to `metrics.jsonl`."""

    def __init__(self, run: Path) -> None:
        self.path = run / FILE

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, tuple[str, ...]], step: int = 0) -> None:
        """Append one line with all finite numbers."""
        numbers = {key: float(value) for key, value in key_values.items() if isinstance(value, (int, float, np.number))}
        # JSON has no word for what can't be told.
        numbers = {key: value for key, value in numbers.items() if math.isfinite(value)}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"decisions": step, **dict(sorted(numbers.items()))}) + "\n")

    def close(self) -> None:
        """Nothing stays open."""


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


def cut(run: Path, decisions: int) -> None:
    """Forget lines after a checkpoint, before the run goes on from it."""
    rows = [row for row in read(run) if row["decisions"] <= decisions]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (run / FILE).write_text(text, encoding="utf-8")
