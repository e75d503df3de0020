"""Fits a self-play policy with PPO, the latest policy in all seats, exports it and judges it.

See `training.ppo` for how it learns and `training.run` for what a run leaves.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from training.config import Config, parse
from training.ppo import PPO
from training.run import carry_out


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    config: Config = parse(arguments)
    return carry_out(config, lambda: PPO(config))


if __name__ == "__main__":
    sys.exit(main())
