"""What a run is: documented dataclasses, read from YAML with dotted overrides.

An unknown key, a wrong type or an impossible value is one clear error before anything starts.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, TypeVar

import yaml
from jsonargparse import ArgumentError, ArgumentParser

from spirits_env import games

ConfigT = TypeVar("ConfigT", bound="Config")


@dataclass
class NetworkConfig:
    """The network.

    Attributes:
        kind: "tiles" (cells share weights, actions point at cells), "mlp" (the plain one), or "auto" (tiles for a game
            with a board of tiles in rows, mlp for others).
        width: tiles: features per cell.
        layers: tiles: row layers.
        context: tiles: features of the pooled whole.
        hidden: mlp: width of each layer.
    """

    kind: Literal["auto", "tiles", "mlp"] = "auto"
    width: int = 48
    layers: int = 2
    context: int = 128
    hidden: tuple[int, ...] = (256, 256)

    def sizes(self) -> dict[str, Any]:
        """The size arguments of the chosen kind."""
        if self.kind == "mlp":
            return {"hidden": tuple(self.hidden)}
        return {"width": self.width, "layers": self.layers, "context": self.context}


@dataclass
class LearnerConfig:
    """MaskablePPO.

    Attributes:
        lanes: Games played at once.
        steps: Decisions per lane and rollout.
        batch_size: Decisions per gradient step, nearly.
        epochs: Passes over each rollout.
        learning_rate: Adam's step size at the start.
        final_learning_rate: Adam's step size at the end, falling linearly.
        clip: Clipping range of the policy ratio.
        gamma: Discount per decision; anything below 1 pays for taking fewer decisions.
        gae_lambda: Trace of the advantage estimate, along each seat's own decisions.
        entropy: Weight of the entropy bonus at the start.
        final_entropy: Weight of the entropy bonus at the end, falling linearly.
        value_weight: Weight of the value loss.
        max_grad_norm: Gradients are scaled down to this norm.
        target_kl: An update stops early when the policy has moved 1.5 times so far.
    """

    lanes: int = 64
    steps: int = 128
    batch_size: int = 512
    epochs: int = 4
    learning_rate: float = 1e-3
    final_learning_rate: float = 1e-4
    clip: float = 0.2
    gamma: float = 1.0
    gae_lambda: float = 0.95
    entropy: float = 0.02
    final_entropy: float = 0.005
    value_weight: float = 0.5
    max_grad_norm: float = 0.5
    target_kl: float = 0.03


@dataclass
class UtilityConfig:
    """What the learner is paid at the end of a game: the game's reward option mixed with the margin.

    Attributes:
        margin_weight: Share of tanh(margin / margin_scale) at the start.
        final_margin_weight: Share of the margin at the end, falling linearly.
        margin_scale: About the spread of the margin in points: 12, 8, 7 for 2, 3, 4 players.
    """

    margin_weight: float = 0.5
    final_margin_weight: float = 0.0
    margin_scale: float = 12.0


@dataclass
class EvaluationConfig:
    """Matches, never part of learning and on deals of their own.

    Attributes:
        against: Opponents by name or file.
        every: Decisions between the matches that make the curve; 0 for none.
        games: Games per opponent in each of these.
        final_games: Games per opponent in the report.
        seed: Names the deals.
    """

    against: tuple[str, ...] = ("random", "greedy")
    every: int = 131072
    games: int = 200
    final_games: int = 1000
    seed: int = 1


@dataclass
class Config:
    """A training run.

    Attributes:
        game: Name of the game.
        players: Players at the table.
        options: The game's options by name.
        name: The run's folder under `folder`; the game's name if empty.
        folder: Where runs are kept.
        decisions: Decisions to learn from, of all seats together.
        max_minutes: Stop learning after so long, whatever the count; 0 for no limit.
        seed: Same seed, same weights (on one machine with the same number of threads).
        threads: Threads of torch.
        checkpoint_every: Decisions between checkpoints.
        keep_checkpoints: How many of the newest to keep.
        progress: Show a progress bar.
        network: The network.
        learner: The learner.
        utility: What it is paid.
        evaluation: How it is judged.
    """

    PROGRAM: ClassVar[str] = "python -m training.selfplay"
    PURPOSE: ClassVar[str] = "Fit a self-play policy, export it and judge it."

    game: str = games.DEFAULT
    players: int = 2
    options: dict[str, Any] = field(default_factory=dict)
    name: str = ""
    folder: str = "runs"
    decisions: int = 1_000_000
    max_minutes: float = 10.0
    seed: int = 1
    threads: int = 2
    checkpoint_every: int = 131072
    keep_checkpoints: int = 2
    progress: bool = True
    network: NetworkConfig = field(default_factory=NetworkConfig)
    learner: LearnerConfig = field(default_factory=LearnerConfig)
    utility: UtilityConfig = field(default_factory=UtilityConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)

    def __post_init__(self) -> None:
        """Settle what was left open: the network's kind and the run's name."""
        if self.network.kind == "auto":
            self.network = replace(self.network, kind="mlp" if games.load(self.game).board is None else "tiles")
        self.name = self.name or self.game

    def check(self) -> None:
        """Raise ValueError for a value that can't work."""
        game = games.load(self.game)
        game.check_players(self.players)
        game.check_options(self.options)
        if self.network.kind == "tiles" and game.board is None:
            raise ValueError(f"network.kind was 'tiles', but {game.title} has no board of tiles; give 'mlp' or 'auto'.")
        if self.players == 1:
            raise ValueError("players was 1; self-play needs at least 2 players.")
        at_least_one = {
            "decisions": self.decisions,
            "threads": self.threads,
            "checkpoint_every": self.checkpoint_every,
            "keep_checkpoints": self.keep_checkpoints,
            "learner.lanes": self.learner.lanes,
            "learner.steps": self.learner.steps,
            "learner.batch_size": self.learner.batch_size,
            "learner.epochs": self.learner.epochs,
            "evaluation.games": self.evaluation.games,
            "evaluation.final_games": self.evaluation.final_games,
        }
        for name, value in at_least_one.items():
            if value < 1:
                raise ValueError(f"{name} was {value}; give at least 1.")
        if "/" in self.name or "\\" in self.name or self.name in (".", ".."):
            raise ValueError(f"name was {self.name!r}; give a plain folder name.")
        if not 0 < self.learner.gamma <= 1 or not 0 <= self.learner.gae_lambda <= 1:
            raise ValueError("learner.gamma must lie above 0 and learner.gae_lambda at 0 or above, both at most 1.")

    def values(self) -> dict[str, Any]:
        """The whole configuration as plain values, for YAML."""
        return _plain(self)


def _plain(value: Any) -> Any:
    """Turn dataclasses and tuples into dicts and lists."""
    if hasattr(value, "__dataclass_fields__"):
        return {part.name: _plain(getattr(value, part.name)) for part in fields(value)}
    return list(value) if isinstance(value, tuple) else value


def dump(config: Config) -> str:
    """Write a resolved configuration as YAML that `--config` reads again."""
    text: str = yaml.safe_dump(config.values(), sort_keys=False)
    return text


def make_parser(kind: type[Config] = Config) -> ArgumentParser:
    """Make the command line of a training run of this kind."""
    parser = ArgumentParser(
        prog=kind.PROGRAM,
        exit_on_error=False,
        description=f"{kind.PURPOSE} A run that was interrupted goes on when the same command is given again.",
    )
    parser.add_argument("--config", action="config", help="a YAML file; may be given several times, later ones win")
    parser.add_class_arguments(kind)
    return parser


def parse(arguments: Sequence[str] | None = None, kind: type[ConfigT] = Config) -> ConfigT:  # type: ignore[assignment]
    """Read a configuration from the command line.

    Args:
        arguments: Command-line words; None takes the process's own.
        kind: The configuration's class.

    Raises:
        SystemExit: With code 2 after one line on the standard error stream, if anything is wrong.
    """
    parser = make_parser(kind)
    try:
        values = parser.instantiate(parser.parse_args(arguments))
        config = kind(**{part.name: values[part.name] for part in fields(kind)})
        config.check()
    except (ArgumentError, ValueError) as error:
        text = " ".join(str(error).split())
        print(f"{parser.prog}: {text} (--help lists all keys)", file=sys.stderr)
        raise SystemExit(2) from None
    return config
