"""Writes a network as the one ONNX file that agents load, with its card inside.

The file is checked against torch before it takes its name.
"""

from __future__ import annotations

import copy
import json
import logging
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch as th
from torch import nn

from spirits_env.agents.policy import EVERY_SEAT, OUTPUTS
from spirits_env.batch import Batch
from spirits_env.game import Game, choose_uniform
from training.networks import Network

TOLERANCE = 1e-5
ILLEGAL_LOGIT = -1e9


class MaskedNetwork(nn.Module):
    """What is exported: illegal actions get a very low logit."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network

    def forward(self, observation: th.Tensor, mask: th.Tensor) -> tuple[th.Tensor, th.Tensor, th.Tensor]:
        """Map `(b, size)` and `(b, actions)` int8 to logits, the observer's values `(b,)` and those of every seat."""
        heads = self.network.heads(observation)
        logits = th.where(mask != 0, heads.logits, th.full_like(heads.logits, ILLEGAL_LOGIT))
        return logits, heads.values[:, 0], heads.values


def positions(game: Game, players: int, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Sample views of uniformly random games.

    Returns:
        Observations `(count, size)` and masks `(count, actions)`, int8.
    """
    batch = Batch(game, count, players, autoreset=True)
    batch.reset(range(seed, seed + count))
    chance = batch.chance[:, 0].copy()
    actions = np.empty(count, np.int64)
    for ply in range(count):
        choose_uniform(chance, batch.mask, actions)
        # Lanes stop at different depths, so that every part of a game is sampled.
        playing = np.flatnonzero(np.arange(count) >= ply)
        batch.step(actions[playing], playing)
    return batch.observation.copy(), batch.mask.copy()


def export(network: Network, game: Game, players: int, card: dict[str, Any], path: Path) -> float:
    """Write the ONNX file.

    Args:
        network: The network.
        game: The game.
        players: Players of the positions it is checked on.
        card: What the file says of itself.
        path: Where it goes; an older file is replaced at once or not at all.

    Returns:
        The largest difference between torch and onnxruntime over sampled positions, see `compare`.

    Raises:
        ValueError: If it is above 1e-5.
    """
    masked = MaskedNetwork(copy.deepcopy(network).cpu()).eval()
    observation, mask = positions(game, players, 64, seed=0)
    draft = path.with_suffix(".part")
    _trace(masked, th.as_tensor(observation), th.as_tensor(mask), draft)
    model = onnx.load(draft)
    del model.metadata_props[:]
    entry = model.metadata_props.add()
    entry.key, entry.value = "card", json.dumps(card)
    draft.write_bytes(model.SerializeToString())
    difference = compare(masked, draft, observation, mask)
    if difference > TOLERANCE:
        draft.unlink()
        raise ValueError(f"The exported policy differs from torch by {difference:.1e}; at most {TOLERANCE} is allowed.")
    draft.replace(path)
    return difference


def _trace(masked: nn.Module, observation: th.Tensor, mask: th.Tensor, path: Path) -> None:
    """Run torch's exporter, which is talkative."""
    level = logging.getLogger("torch.onnx").level
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    batch = th.export.Dim.DYNAMIC
    with warnings.catch_warnings():
        # The exporter trips over deprecations inside torch itself.
        warnings.simplefilter("ignore", FutureWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        th.onnx.export(
            masked,
            (observation, mask),
            str(path),
            input_names=["observation", "mask"],
            output_names=[*OUTPUTS, EVERY_SEAT],
            dynamic_shapes=({0: batch}, {0: batch}),
            dynamo=True,
            external_data=False,
            verbose=False,
        )
    logging.getLogger("torch.onnx").setLevel(level)


def compare(masked: nn.Module, path: Path, observation: np.ndarray, mask: np.ndarray) -> float:
    """Return the largest difference between torch and onnxruntime, whole and one by one.

    Differences count by size above 1: float32 holds seven digits of a logit, however large.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    worst = 0.0
    for rows in (slice(None), slice(0, 1), slice(5, 12)):
        with th.no_grad():
            expected = masked(th.as_tensor(observation[rows]), th.as_tensor(mask[rows]))
        got = session.run(None, {"observation": observation[rows], "mask": mask[rows]})
        for one, other in zip(expected, got, strict=True):
            worst = max(worst, float((np.abs(one.numpy() - other) / np.maximum(1, np.abs(other))).max()))
    return worst
