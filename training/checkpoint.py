"""Checkpoints: all that the rest of a run depends on, in one file that torch loads without pickled code.

A run taken up from one goes on exactly as if it had never stopped.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import torch as th
from sb3_contrib import MaskablePPO

from spirits_env.sb3 import SelfPlayVecEnv

FILE = "checkpoint.pt"
CONFIG = "config.yaml"


def folders(run: Path) -> list[Path]:
    """Return a run's checkpoint folders, oldest first."""
    return sorted(path for path in (run / "checkpoints").glob("[0-9]*") if (path / FILE).is_file())


def save(model: MaskablePPO, env: SelfPlayVecEnv, run: Path, config: str, minutes: float, keep: int) -> Path:
    """Write a checkpoint between two rollouts, and remove the oldest beyond `keep`.

    Args:
        model: The learner.
        env: Its games.
        run: The run's folder.
        config: The resolved configuration as YAML, written beside it.
        minutes: Time spent learning so far.
        keep: How many checkpoints to keep.

    Returns:
        The checkpoint's folder.
    """
    chance = np.random.get_state(legacy=False)  # noqa: NPY002 (stable-baselines3 draws from it)
    assert isinstance(chance, dict)
    content = {
        "policy": model.policy.state_dict(),
        "optimizer": model.policy.optimizer.state_dict(),
        "decisions": model.num_timesteps,
        "updates": model._n_updates,
        "minutes": minutes,
        "games": {key: th.from_numpy(value.view(np.uint8)) for key, value in env.snapshot().items()},
        "torch": th.get_rng_state(),
        "numpy": {
            "keys": th.from_numpy(chance["state"]["key"].astype(np.int64)),
            "position": int(chance["state"]["pos"]),
            "has_gauss": int(chance["has_gauss"]),
            "gauss": float(chance["gauss"]),
        },
    }
    target = run / "checkpoints" / f"{model.num_timesteps:012d}"
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


def load(model: MaskablePPO, env: SelfPlayVecEnv, folder: Path) -> float:
    """Put a fresh learner and its games back to a checkpoint.

    Returns:
        Minutes spent learning so far.

    Raises:
        ValueError: If the file is damaged or of another configuration.
    """
    path = folder / FILE
    try:
        content: dict[str, Any] = th.load(path, weights_only=True)
        model.policy.load_state_dict(content["policy"])
        model.policy.optimizer.load_state_dict(content["optimizer"])
        known = env.snapshot()
        games = {key: value.numpy().view(known[key].dtype) for key, value in content["games"].items()}
        model._last_obs = env.restore(games)
    except Exception as error:
        raise ValueError(
            f"{path} can't be loaded ({type(error).__name__}); remove that folder to go on from the one before."
        ) from error
    model._last_episode_starts = np.zeros(env.num_envs, np.bool_)
    model.num_timesteps = content["decisions"]
    model._n_updates = content["updates"]
    chance = content["numpy"]
    keys = chance["keys"].numpy().astype(np.uint32)
    state = ("MT19937", keys, chance["position"], chance["has_gauss"], chance["gauss"])
    np.random.set_state(state)  # noqa: NPY002
    th.set_rng_state(content["torch"])
    return float(content["minutes"])
