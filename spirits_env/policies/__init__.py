"""Trained policies that come with the package, by name: "policy:forest" is the file forest.onnx of this folder.

Each holds its card. Whatever file lies here is listed, so that a new policy needs no more than its file.
"""

from __future__ import annotations

from pathlib import Path

from spirits_env import games
from spirits_env.game import shown

PREFIX = "policy:"
FOLDER = Path(__file__).parent
# What errors and examples name.
EXAMPLE = PREFIX + games.DEFAULT


def names() -> tuple[str, ...]:
    """Return the names of the policies, without the prefix, in the order of the alphabet."""
    return tuple(sorted(file.stem for file in FOLDER.glob("*.onnx")))


def path(name: str) -> Path:
    """Return the file of a policy.

    Args:
        name: One of `names()`.

    Raises:
        ValueError: If there is none of this name.
    """
    if name not in names():
        known = ", ".join(PREFIX + each for each in names())
        raise ValueError(f"The package has no policy {shown(name)}; give {known or 'the path of an .onnx policy'}.")
    return FOLDER / f"{name}.onnx"


def is_named(policy: str | Path) -> bool:
    """Return whether a policy is given by its name in this package, and not by a path."""
    return str(policy).startswith(PREFIX)


def locate(policy: str | Path) -> Path:
    """Return the file of a policy that is given by its name, prefix included, or by its path.

    Raises:
        ValueError: If there is none of this name; whether there is a file at a path is not looked at.
    """
    return path(str(policy).removeprefix(PREFIX)) if is_named(policy) else Path(policy)
