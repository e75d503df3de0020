"""Carries out a run, whatever learns in it: schedules, matches, the gate, checkpoints, metrics, stopping, the report.

One command makes `runs/<name>/`: configuration, checkpoints, metrics, curves, `policy.onnx` and `report.md`.
"""

from __future__ import annotations

import copy
import json
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import torch as th
from tqdm import tqdm

from spirits_env import games
from spirits_env.agents import Agent
from spirits_env.agents.policy import make_card
from spirits_env.arena import Result, evaluate
from training import checkpoint
from training.agent import NetworkAgent
from training.config import Config, dump
from training.export import export
from training.gate import compare
from training.learner import DivergedError, Learner
from training.metrics import Writer
from training.report import libraries, provenance, write_report

POLICY = "policy.onnx"
INTERRUPTED = 130

# What may differ between a run and its continuation.
_FREE = ("max_minutes", "progress", "checkpoint_every", "keep_checkpoints", "evaluation")
# The seed of the matches of the curve, beside that of the report.
_CURVE = 1

# Says in sentences what the final matches show.
Explain = Callable[[Sequence[Result]], str]


def find_run(config: Config) -> Path:
    """Return the run's folder, which may hold the beginning of this run; nothing is made yet.

    Raises:
        ValueError: If the folder holds a finished run or one of another configuration.
    """
    run = Path(config.folder) / config.name
    checkpoint.check_run(run, config.values(), _FREE)
    return run


class Run:
    """One run.

    Args:
        learner: What learns; put back to the run's newest checkpoint, or to the weights of `config.start`.
        folder: The run's folder, made once that has worked.
        against: Opponents of the matches beside those of the configuration.

    Attributes:
        best: The weights that are exported: those that came last through the gate.
        best_at: Decisions they had learned from in this run.
        earlier: Decisions and minutes of the runs before, whose weights this one began with.
        interrupted: Whether SIGTERM or Ctrl-C asked to stop.
    """

    def __init__(self, learner: Learner, folder: Path, against: Sequence[Agent] = ()) -> None:
        self.learner = learner
        self.config = learner.config
        self.folder = folder
        self.against = [*against, *self.config.evaluation.against]
        self.interrupted = False
        self._minutes_before = 0.0
        self.earlier = {"decisions": 0, "minutes": 0.0}
        self.best, self.best_at = self._weights(), 0
        self._saved_at = self._matched_at = 0
        kept = checkpoint.folders(folder)
        if kept:
            self._go_on(kept[-1])
        elif self.config.start:
            self._begin_with(checkpoint.newest(self.config.start))
        folder.mkdir(parents=True, exist_ok=True)
        (folder / checkpoint.CONFIG).write_text(dump(self.config), encoding="utf-8")

    def _go_on(self, folder: Path) -> None:
        """Go on from one of the run's own checkpoints."""
        content = checkpoint.load(folder)
        try:
            self.learner.load_state(content["learner"])
            self.best, self.best_at = content["best"], content["best_at"]
            self._matched_at, self._minutes_before = content["matched_at"], content["minutes"]
            self.earlier = content["earlier"]
        except (KeyError, RuntimeError) as error:
            raise ValueError(
                f"{folder} is a checkpoint of another kind ({type(error).__name__}); remove the run's folder."
            ) from error
        self._saved_at = self.learner.decisions
        print(f"Going on from {folder} ({self.learner.decisions} decisions).")

    def _begin_with(self, folder: Path) -> None:
        """Begin with another run's weights; a critic that sees everything may be missing on either side."""
        content = checkpoint.load(folder)
        own, given = self._weights(), content["best"]
        shapes = [
            {name: values.shape for name, values in weights.items() if not name.startswith("oracle.")}
            for weights in (own, given)
        ]
        if shapes[0] != shapes[1]:
            raise ValueError(
                f"start was {self.config.start}, whose network is another one; give the network.* of that run."
            )
        self.learner.network.load_state_dict({**own, **{name: given[name] for name in shapes[1]}})
        self.best = self._weights()
        self.earlier = {
            "decisions": content["best_at"] + content["earlier"]["decisions"],
            "minutes": content["minutes"] + content["earlier"]["minutes"],
        }

    @property
    def minutes(self) -> float:
        """Time spent learning, in this process and before."""
        return self._minutes_before + (time.perf_counter() - self._began) / 60

    def learn(self) -> None:
        """Learn until the configured count, or until it is time to stop."""
        self._began = time.perf_counter()
        handlers = {number: signal.signal(number, self._on_signal) for number in (signal.SIGTERM, signal.SIGINT)}
        self._metrics = Writer(self.folder, self.learner.decisions)
        self._bar = tqdm(
            total=self.config.decisions,
            initial=self.learner.decisions,
            unit=" decisions",
            unit_scale=True,
            disable=not self.config.progress or not sys.stderr.isatty(),
        )
        try:
            self._go()
        finally:
            self._bar.close()
            self._metrics.close()
            for number, handler in handlers.items():
                signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        """Stop at the next place from which the run can go on exactly."""
        self.interrupted = True

    def _go(self) -> None:
        """Alternate learning with all that is due between."""
        config, learner = self.config, self.learner
        while learner.decisions < config.decisions and not self.interrupted and not self._out_of_time():
            began, before = time.perf_counter(), learner.decisions
            metrics = learner.iterate()
            seconds = time.perf_counter() - began
            metrics["time/decisions_per_second"] = (learner.decisions - before) / seconds
            every = config.evaluation.every
            ending = learner.decisions >= config.decisions or self._out_of_time()
            if every and (ending or learner.decisions - self._matched_at >= every):
                metrics |= self.match()
            metrics["time/minutes"] = self.minutes
            self._metrics.write(learner.decisions, metrics)
            self._bar.update(learner.decisions - before)
            if ending or learner.decisions - self._saved_at >= config.checkpoint_every:
                self.save()
        if self.interrupted and learner.decisions > self._saved_at:
            self.save()
        if not config.evaluation.every:
            self.best, self.best_at = self._weights(), learner.decisions

    def _out_of_time(self) -> bool:
        """Tell whether the time is over; a run learns from one rollout at least."""
        return 0 < self.config.max_minutes <= self.minutes and self.learner.decisions > 0

    def match(self) -> dict[str, float]:
        """Play the matches of the curve and the gate; returns their metrics."""
        config, metrics, shown = self.config, {}, {}
        self.learner.check_finite()
        self._matched_at = self.learner.decisions
        agent = NetworkAgent(self.learner.network)
        for players in config.players:
            for match in evaluate(
                agent,
                self.against,
                game=config.game,
                players=players,
                games=config.evaluation.games,
                seed=config.evaluation.seed + _CURVE,
                options=config.options,
            ).matches:
                metrics[f"match_{players}p/win_share_{match.opponent}"] = match.share.mean
                if match.margin is not None:
                    metrics[f"match_{players}p/margin_{match.opponent}"] = match.margin.mean
                shown[f"{players}p {match.opponent}"] = f"{match.share.mean:.0%}"
        metrics |= self._gate()
        self._bar.set_postfix(shown)
        return metrics

    def _gate(self) -> dict[str, float]:
        """Let the present weights take the place of the best ones if they win more from them."""
        config = self.config
        figures: dict[str, float] = {}
        passed = True
        if config.evaluation.gate and self.best_at:
            rival = copy.deepcopy(self.learner.network)
            rival.load_state_dict(self.best)
            verdict = compare(self.learner.network, rival, config, self.learner.decisions)
            figures = {"gate/win_share": verdict.mean, "gate/deals": float(verdict.deals)}
            passed = verdict.decision == "better"
        if passed:
            self.best, self.best_at = self._weights(), self.learner.decisions
        return {**figures, "gate/best_at": float(self.best_at)}

    def _weights(self) -> dict[str, th.Tensor]:
        """Copy the present weights."""
        return {name: values.detach().cpu().clone() for name, values in self.learner.network.state_dict().items()}

    def save(self) -> None:
        """Write a checkpoint."""
        self.learner.check_finite()
        self._saved_at = self.learner.decisions
        content = {
            "learner": self.learner.state(),
            "best": self.best,
            "best_at": self.best_at,
            "matched_at": self._matched_at,
            "minutes": self.minutes,
            "earlier": self.earlier,
        }
        checkpoint.save(self.folder, content, self.learner.decisions, dump(self.config), self.config.keep_checkpoints)

    def finish(self, explain: Explain | None = None) -> list[Result]:
        """Export the best policy, judge the file and write the report.

        Args:
            explain: Gives the report sentences on what the final matches show.
        """
        config, learner = self.config, self.learner
        network = copy.deepcopy(learner.network).cpu()
        network.load_state_dict(self.best)
        made_with = provenance(config)
        training: dict[str, Any] = {
            "decisions": learner.decisions + self.earlier["decisions"],
            "best_at": self.best_at + self.earlier["decisions"],
            "minutes": round(self.minutes + self.earlier["minutes"], 2),
            "seed": config.seed,
            "network": config.network.kind,
            "parameters": sum(weights.numel() for weights in network.parameters()),
            "precision": learner.precision,
            "device": learner.device.type,
        }
        card = make_card(
            *(config.game, config.players, config.options, config.name, training, libraries()),
            margin_weight=learner.margin_weight_at(self.best_at),
            margin_scales={players: float(learner.scales[players]) for players in config.players},
        )
        path = self.folder / POLICY
        difference = export(network, games.load(config.game), config.players[0], card, path)
        training["export_difference"] = f"{difference:.1e}"
        results = [
            evaluate(
                f"{path}{suffix}",
                self.against,
                game=config.game,
                players=players,
                games=config.evaluation.final_games,
                seed=config.evaluation.seed,
                options=config.options,
            )
            for players in config.players
            for suffix in ("", ":sample")
        ]
        (self.folder / "run.json").write_text(
            json.dumps({**made_with, "training": training}, indent=2) + "\n", encoding="utf-8"
        )
        write_report(self.folder, config, results, training, made_with, explain(results) if explain else "")
        return results


def carry_out(
    config: Config,
    make_learner: Callable[[], Learner],
    against: Sequence[Agent] = (),
    explain: Explain | None = None,
) -> int:
    """Do a whole run and say how it went.

    Args:
        config: The run.
        make_learner: Makes what learns.
        against: Opponents of the matches beside those of the configuration.
        explain: Gives the report sentences on what the final matches show.

    Returns:
        The exit code.
    """
    try:
        learner = make_learner()
        run = Run(learner, find_run(config), against)
        run.learn()
        if run.interrupted:
            print(f"Stopped after {learner.decisions} decisions; the same command goes on from there.")
            return INTERRUPTED
        run.finish(explain)
    except DivergedError as error:
        kept = Path(config.folder) / config.name / "checkpoints"
        advice = f"lower learner.learning_rate and go on from the last checkpoint in {kept}."
        print(f"{config.PROGRAM}: {error}; {advice}", file=sys.stderr)
        return 2
    except ValueError as error:
        print(f"{config.PROGRAM}: {error}", file=sys.stderr)
        return 2
    print((run.folder / checkpoint.REPORT).read_text(encoding="utf-8").split("## Curves")[0])
    print(f"The policy is {run.folder / POLICY}, the report {run.folder / checkpoint.REPORT}.")
    return 0
