"""Fits a self-play policy with MaskablePPO, the latest policy in all seats, exports it and judges it.

One command makes `runs/<name>/`: configuration, checkpoints, metrics, curves, `policy.onnx` and `report.md`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch as th
import yaml
from sb3_contrib import MaskablePPO
from stable_baselines3.common.logger import Logger, TensorBoardOutputFormat

from spirits_env import games
from spirits_env.agents import Agent
from spirits_env.agents.policy import make_card
from spirits_env.arena import Result, evaluate
from spirits_env.sb3 import FieldVecEnv, SelfPlayVecEnv
from training import checkpoint, metrics
from training.buffer import SeatRolloutBuffer
from training.callbacks import DivergedError, RunCallback
from training.config import Config, dump, parse
from training.export import export
from training.policy import NetworkPolicy, network_of
from training.report import libraries, provenance, write_report

POLICY = "policy.onnx"
INTERRUPTED = 130

# What may differ between a run and its continuation.
_FREE = ("max_minutes", "progress", "checkpoint_every", "keep_checkpoints", "evaluation")


# Says in sentences what the final matches show.
Explain = Callable[[Sequence[Result]], str]


def make_games(config: Config, opponents: Sequence[Agent] = ()) -> SelfPlayVecEnv:
    """Make the games: the latest policy in all seats, or in one of them against frozen opponents."""
    settings = (
        config.game,
        config.learner.lanes,
        config.players,
        config.utility.margin_weight,
        config.utility.margin_scale,
    )
    if opponents:
        return FieldVecEnv(opponents, *settings, **config.options)
    return SelfPlayVecEnv(*settings, **config.options)


def make_learner(config: Config, opponents: Sequence[Agent] = ()) -> tuple[MaskablePPO, SelfPlayVecEnv]:
    """Make the games and the learner, seeded."""
    th.set_num_threads(config.threads)
    learner = config.learner
    env = make_games(config, opponents)
    first, last = learner.learning_rate, learner.final_learning_rate
    model = MaskablePPO(
        NetworkPolicy,
        env,
        learning_rate=lambda remaining: last + remaining * (first - last),
        n_steps=learner.steps,
        batch_size=learner.batch_size,
        n_epochs=learner.epochs,
        gamma=learner.gamma,
        gae_lambda=learner.gae_lambda,
        clip_range=learner.clip,
        ent_coef=learner.entropy,
        vf_coef=learner.value_weight,
        max_grad_norm=learner.max_grad_norm,
        target_kl=learner.target_kl,
        rollout_buffer_class=SeatRolloutBuffer,
        rollout_buffer_kwargs={"env": env},
        policy_kwargs={"game": config.game, "kind": config.network.kind, "sizes": config.network.sizes()},
        seed=config.seed,
        device="cpu",
    )
    return model, env


def open_run(config: Config) -> Path:
    """Make the run's folder, or find the run in it that is to go on.

    Raises:
        ValueError: If the folder holds a finished run or one of another configuration.
    """
    run = Path(config.folder) / config.name
    path = run / checkpoint.CONFIG
    if (run / "report.md").is_file():
        raise ValueError(f"{run} holds a finished run; give another --name or remove that folder.")
    if path.is_file():
        known = yaml.safe_load(path.read_text(encoding="utf-8"))
        wanted = config.values()
        other = [key for key in {**known, **wanted} if key not in _FREE and known.get(key) != wanted.get(key)]
        if other:
            raise ValueError(
                f"{run} holds a run with other values of {', '.join(other)}; give another --name or remove that folder."
            )
    run.mkdir(parents=True, exist_ok=True)
    path.write_text(dump(config), encoding="utf-8")
    return run


def train(config: Config, run: Path, opponents: Sequence[Agent] = ()) -> tuple[MaskablePPO, RunCallback]:
    """Learn until the configured count, from the newest checkpoint if there is one."""
    model, env = make_learner(config, opponents)
    minutes = 0.0
    kept = checkpoint.folders(run)
    if kept:
        minutes = checkpoint.load(model, env, kept[-1])
        print(f"Going on from {kept[-1]} ({model.num_timesteps} decisions).")
    metrics.cut(run, model.num_timesteps)
    model.set_logger(Logger(str(run), [metrics.JSONLWriter(run), TensorBoardOutputFormat(str(run / "tensorboard"))]))
    callback = RunCallback(config, env, run, minutes, [*opponents, *config.evaluation.against])
    remaining = config.decisions - model.num_timesteps
    model.learn(max(0, remaining), callback=callback, reset_num_timesteps=not kept)
    model.logger.close()
    return model, callback


def finish(
    config: Config,
    run: Path,
    model: MaskablePPO,
    training: dict[str, Any],
    opponents: Sequence[Agent] = (),
    explain: Explain | None = None,
) -> list[Result]:
    """Export the policy, judge the file and write the report."""
    game = games.load(config.game)
    made_with = provenance(config)
    training = {
        **training,
        "seed": config.seed,
        "network": config.network.kind,
        "parameters": sum(weights.numel() for weights in network_of(model).parameters()),
    }
    card = make_card(config.game, [config.players], config.options, config.name, training, libraries())
    training["export_difference"] = f"{export(network_of(model), game, config.players, card, run / POLICY):.1e}"
    results = [
        evaluate(
            str(run / POLICY) + suffix,
            [*opponents, *config.evaluation.against],
            game=config.game,
            players=config.players,
            games=config.evaluation.final_games,
            seed=config.evaluation.seed,
            options=config.options,
        )
        for suffix in ("", ":sample")
    ]
    (run / "run.json").write_text(json.dumps({**made_with, "training": training}, indent=2) + "\n", encoding="utf-8")
    write_report(run, config, results, training, made_with, explain(results) if explain else "")
    return results


def carry_out(config: Config, opponents: Sequence[Agent] = (), explain: Explain | None = None) -> int:
    """Do a whole run and say how it went.

    Args:
        config: The run.
        opponents: Frozen agents that the learner meets; none for self-play.
        explain: Gives the report sentences on what the final matches show.

    Returns:
        The exit code.
    """
    try:
        run = open_run(config)
        model, callback = train(config, run, opponents)
        if callback.interrupted:
            print(f"Stopped after {callback.saved_at} decisions; the same command goes on from there.")
            return INTERRUPTED
        finish(config, run, model, callback.values(), opponents, explain)
    except (ValueError, DivergedError) as error:
        print(f"{config.PROGRAM}: {error}", file=sys.stderr)
        return 2
    print((run / "report.md").read_text(encoding="utf-8").split("## Curves")[0])
    print(f"The policy is {run / POLICY}, the report {run / 'report.md'}.")
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    return carry_out(parse(arguments))


if __name__ == "__main__":
    sys.exit(main())
