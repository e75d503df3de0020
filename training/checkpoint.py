"""Checkpoints: all that the rest of a run depends on, in one file that torch loads without pickled code.

A run taken up from one goes on exactly as if it had never stopped.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection
from pathlib import Path
from typing import Any

import torch as th
import yaml

FILE = "checkpoint.pt"
CONFIG = "config.yaml"
REPORT = "report.md"


class RefusedError(ValueError):
    """The folder of a run holds something else."""


def check_run(run: Path, wanted: dict[str, Any], free: Collection[str]) -> None:
    """Refuse a folder in which this run can neither begin nor go on.

    Args:
        run: The run's folder, which may not be there yet.
        wanted: The configuration as plain values.
        free: Keys that may differ between a run and its continuation.

    Raises:
        RefusedError: If the folder holds a finished run or one of another configuration.
    """
    if (run / REPORT).is_file():
        raise RefusedError(f"{run} holds a finished run; give another --name or remove that folder.")
    path = run / CONFIG
    if path.is_file():
        known = yaml.safe_load(path.read_text(encoding="utf-8"))
        other = [key for key in {**known, **wanted} if key not in free and known.get(key) != wanted.get(key)]
        if other:
            raise RefusedError(
                f"{run} holds a run with other values of {', '.join(other)}; give another --name or remove that folder."
            )


def folders(run: Path) -> list[Path]:
    """Return a run's checkpoint folders, oldest first."""
    return sorted(path for path in (run / "checkpoints").glob("[0-9]*") if (path / FILE).is_file())


def save(run: Path, content: dict[str, Any], decisions: int, config: str, keep: int) -> Path:
    """Write a checkpoint, and remove the oldest beyond `keep`.

    Args:
        run: The run's folder.
        content: What torch saves.
        decisions: Decisions learned from, which name it.
        config: The resolved configuration as YAML, written beside it.
        keep: How many checkpoints to keep.

    Returns:
        The checkpoint's folder.
    """
    target = run / "checkpoints" / f"{decisions:012d}"
    draft = target.with_suffix(".part")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    (draft / CONFIG).write_text(config, encoding="utf-8")
    th.save(content, draft / FILE)
    shutil.rmtree(target, ignore_errors=True)
    os.replace(draft, target)
    for old in folders(run)[:-keep]:
        shutil.rmtree(old)
    return target


def load(folder: Path) -> dict[str, Any]:
    """Read a checkpoint.

    Args:
        folder: The checkpoint's folder.

    Raises:
        ValueError: If the file is missing or damaged.
    """
    path = folder / FILE
    try:
        content: dict[str, Any] = th.load(path, weights_only=True)
    except Exception as error:
        raise ValueError(
            f"{path} can't be loaded ({type(error).__name__}); remove that folder to go on from the one before."
        ) from error
    return content


def newest(folder: str) -> Path:
    """Return a checkpoint's folder from its own name or that of its run.

    Raises:
        ValueError: If there is no checkpoint.
    """
    path = Path(folder)
    if (path / FILE).is_file():
        return path
    kept = folders(path)
    if not kept:
        raise ValueError(f"{folder} has no checkpoint; give a run's folder or one of its checkpoints.")
    return kept[-1]
