"""What happens around rollouts: schedules, checkpoints, matches, metrics, stopping.

Everything that must be exact on resuming happens between an update and the next rollout.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import torch as th
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from tqdm import tqdm

from spirits_env.arena import evaluate
from spirits_env.sb3 import SelfPlayVecEnv
from training import checkpoint
from training.agent import NetworkAgent
from training.buffer import SeatRolloutBuffer
from training.config import Config, dump
from training.policy import network_of


class DivergedError(RuntimeError):
    """The weights are no longer finite; the last checkpoint is still good."""


class RunCallback(BaseCallback):
    """Drives one run.

    Args:
        config: The run's configuration.
        env: Its games.
        run: Its folder.
        minutes: Time spent learning before.
        against: Opponents of the matches that make the curve.

    Attributes:
        minutes: Time spent learning, in this process and before.
        interrupted: Whether SIGTERM or Ctrl-C asked to stop.
        saved_at: Decisions at the last checkpoint.
    """

    model: MaskablePPO

    def __init__(self, config: Config, env: SelfPlayVecEnv, run: Path, minutes: float, against: Sequence[Any]) -> None:
        super().__init__()
        self.config = config
        self.env = env
        self.run = run
        self.minutes_before = minutes
        self.against = against
        self.interrupted = False
        self._stop = False
        self.saved_at = -1
        self._matched_at = -1

    @property
    def minutes(self) -> float:
        """Time spent learning, in this process and before."""
        return self.minutes_before + (time.perf_counter() - self._began) / 60

    def _on_training_start(self) -> None:
        self._began = time.perf_counter()
        self.saved_at = self._matched_at = self.model.num_timesteps
        self._handlers = {number: signal.signal(number, self._on_signal) for number in (signal.SIGTERM, signal.SIGINT)}
        self._bar = tqdm(
            total=self.config.decisions,
            initial=self.model.num_timesteps,
            unit=" decisions",
            unit_scale=True,
            disable=not self.config.progress or not sys.stderr.isatty(),
        )

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        """Stop at the next place from which the run can go on exactly."""
        self.interrupted = True

    def _on_rollout_start(self) -> None:
        config, model = self.config, self.model
        self._guard()
        done = min(1.0, model.num_timesteps / config.decisions)
        learner, utility = config.learner, config.utility
        model.ent_coef = learner.entropy + done * (learner.final_entropy - learner.entropy)
        self.env.margin_weight = utility.margin_weight + done * (utility.final_margin_weight - utility.margin_weight)
        self._match_if_due()
        out_of_time = 0 < config.max_minutes <= self.minutes
        if self.interrupted or out_of_time or model.num_timesteps - self.saved_at >= config.checkpoint_every:
            self.save()
        self._stop = self.interrupted or out_of_time
        self._rollout_began = time.perf_counter()

    def _guard(self) -> None:
        """Stop before weights that are not finite reach a checkpoint."""
        for name, weights in self.model.policy.named_parameters():
            if not th.isfinite(weights).all():
                raise DivergedError(
                    f"After {self.model.num_timesteps} decisions the weights {name} are not finite; lower "
                    f"learner.learning_rate and go on from the last checkpoint in {self.run / 'checkpoints'}."
                )

    def _on_step(self) -> bool:
        self._bar.update(self.env.num_envs)
        return not self._stop

    def _on_rollout_end(self) -> None:
        buffer = self.model.rollout_buffer
        assert isinstance(buffer, SeatRolloutBuffer)
        ended = buffer.outcomes[buffer.ends]
        choices = buffer.action_masks.sum(axis=2)
        record = self.logger.record
        record("rollout/games", len(ended))
        for seat in range(self.config.players if len(ended) else 0):
            record(f"rollout/utility_seat{seat}", float(ended[:, seat].mean()))
        record("rollout/kept_share", float(buffer.kept.mean()))
        record("rollout/legal_actions", float(choices.mean()))
        record("rollout/entropy_weight", self.model.ent_coef)
        record("rollout/margin_weight", self.env.margin_weight)
        seconds = time.perf_counter() - self._rollout_began
        record("time/rollout_decisions_per_second", buffer.ends.size / seconds)
        record("time/minutes", self.minutes)

    def _match_if_due(self) -> None:
        every = self.config.evaluation.every
        if every and self.model.num_timesteps - self._matched_at >= every:
            self.match()

    def match(self) -> None:
        """Play the matches of the curve and record them."""
        config = self.config
        self._matched_at = self.model.num_timesteps
        shown = {}
        for result in evaluate(
            NetworkAgent(network_of(self.model)),
            self.against,
            game=config.game,
            players=config.players,
            games=config.evaluation.games,
            seed=config.evaluation.seed + 1,
            options=config.options,
        ).matches:
            self.logger.record(f"match/win_share_{result.opponent}", result.share.mean)
            if result.margin is not None:
                self.logger.record(f"match/margin_{result.opponent}", result.margin.mean)
            shown[str(result.opponent)] = f"{result.share.mean:.0%}"
        self._bar.set_postfix(shown)

    def save(self) -> None:
        """Write a checkpoint."""
        self.saved_at = self.model.num_timesteps
        checkpoint.save(self.model, self.env, self.run, dump(self.config), self.minutes, self.config.keep_checkpoints)

    def _on_training_end(self) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        self._bar.close()
        if not self._stop:
            self._guard()
            self.save()
            self.match()
            self.logger.dump(self.model.num_timesteps)

    def values(self) -> dict[str, Any]:
        """Figures of the run for the policy's card."""
        return {"decisions": self.model.num_timesteps, "minutes": round(self.minutes, 2)}
