"""Fits a self-play policy with stable-baselines3, the latest policy in all seats, exports it and judges it.

See `training.sb3.learner` for how it learns and `training.run` for what a run leaves.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from training.config import parse
from training.run import carry_out
from training.sb3.config import SB3Config
from training.sb3.learner import SB3Learner


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    config = parse(arguments, SB3Config)
    return carry_out(config, lambda: SB3Learner(config))


if __name__ == "__main__":
    sys.exit(main())
