"""What a run is: documented dataclasses, read from YAML with dotted overrides.

An unknown key, a wrong type or an impossible value is one clear error before anything starts.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, TypeVar

import yaml
from jsonargparse import ArgumentError, ArgumentParser

from spirits_env import games

ConfigT = TypeVar("ConfigT", bound="Config")

_MOST_GATE = 0.5


@dataclass
class NetworkConfig:
    """The network.

    Attributes:
        kind: "tiles" (tiles and icons share weights, actions point at cells), "mlp" (the plain one), or "auto" (tiles
            for a game with a board of tiles in rows, mlp for others).
        width: tiles: features per tile.
        layers: tiles: row layers.
        context: tiles: features of the whole.
        icon: tiles: features per icon.
        widths: mlp: width of each layer.
    """

    kind: Literal["auto", "tiles", "mlp"] = "auto"
    width: int = 48
    layers: int = 2
    context: int = 128
    icon: int = 32
    widths: tuple[int, ...] = (256, 256)

    def sizes(self) -> dict[str, Any]:
        """The size arguments of the chosen kind."""
        if self.kind == "mlp":
            return {"widths": tuple(self.widths)}
        return {"width": self.width, "layers": self.layers, "context": self.context, "icon": self.icon}


@dataclass
class ForecastConfig:
    """What all learners have in common.

    Attributes:
        games: Games per rollout, all played to their ends; the player counts share them.
        batch_size: Decisions per gradient step, nearly.
        epochs: Passes over each rollout.
        learning_rate: Adam's step size at the start.
        final_learning_rate: Adam's step size at the end, falling linearly.
        gamma: Discount per decision; anything below 1 pays for taking fewer decisions.
        gae_lambda: Trace of the estimate of what a decision led to, along each seat's own decisions.
        value_weight: Weight of the squared error of the observer's value.
        others_weight: Weight of that of the other seats' values.
        lead_weight: Weight of the forecast of who ends with points in each category.
        margin_weight: Weight of the forecast of the final margins.
        max_grad_norm: Gradients are scaled down to this norm.
    """

    games: int = 256
    batch_size: int = 512
    epochs: int = 2
    learning_rate: float = 2.5e-3
    final_learning_rate: float = 5e-5
    gamma: float = 1.0
    gae_lambda: float = 0.95
    value_weight: float = 0.5
    others_weight: float = 0.1
    lead_weight: float = 0.1
    margin_weight: float = 0.1
    max_grad_norm: float = 0.5

    def check(self, players: int) -> None:
        """Raise ValueError for a value that can't work, with so many numbers of players."""
        if self.games < players:
            raise ValueError(f"learner.games was {self.games}; give one or more for each of {players} player counts.")
        check_range("learner", self, at_least_one=("games", "batch_size", "epochs"))
        check_range("learner", self, at_most_one=("gamma", "gae_lambda"))
        check_range("learner", self, above_zero=("gamma", "learning_rate", "max_grad_norm"))


@dataclass
class LearnerConfig(ForecastConfig):
    """PPO on whole games.

    Attributes:
        clip: Clipping range of the policy ratio.
        entropy: Weight of the entropy bonus at the start.
        final_entropy: Weight of the entropy bonus at the end, falling linearly.
        pull: Weight of the divergence from an average of the own weights; 0 for none.
        pull_decay: How much of that average a gradient step keeps.
        pool_share: Share of the games against a past self in all seats but one.
        pool_every: Decisions between the past selves that are kept.
        pool_size: How many of them to keep, spread over the run.
        oracle: Whether the critic also sees what the other seats know and the observer doesn't.
        target_kl: An update stops early when the policy has moved 1.5 times so far; 0 for no such limit.
    """

    clip: float = 0.2
    entropy: float = 0.02
    final_entropy: float = 0.003
    pull: float = 0.0
    pull_decay: float = 0.999
    pool_share: float = 0.0
    pool_every: int = 1_000_000
    pool_size: int = 8
    oracle: bool = False
    target_kl: float = 0.03

    def check(self, players: int) -> None:
        """Raise ValueError for a value that can't work, with so many numbers of players."""
        super().check(players)
        check_range("learner", self, at_least_one=("pool_every", "pool_size"))
        check_range("learner", self, at_most_one=("pull_decay", "pool_share"), above_zero=("clip",))


@dataclass
class UtilityConfig:
    """What the learner is paid at the end of a game: the game's reward option mixed with the margin.

    Attributes:
        margin_weight: Share of tanh(margin / scale) at the start.
        final_margin_weight: Share of the margin at the end, falling linearly.
        margin_width: The scale of the margin, in units of the game's own for each number of players.
    """

    margin_weight: float = 0.5
    final_margin_weight: float = 0.0
    margin_width: float = 1.0


@dataclass
class MatchConfig:
    """Matches, never part of learning and on deals of their own.

    Attributes:
        against: Opponents by name or file.
        every: Decisions between the matches that make the curve; 0 for none.
        games: Games per opponent in each of these.
        final_games: Games per opponent in the report.
        seed: Names the deals.
    """

    against: tuple[str, ...] = ("random", "greedy")
    every: int = 500_000
    games: int = 200
    final_games: int = 1000
    seed: int = 1


@dataclass
class EvaluationConfig(MatchConfig):
    """Matches, and the gate that comes with them.

    Attributes:
        gate: By how much the win share of a policy better than the best so far exceeds that of equals, in the
            sequential test that comes with each of these matches: who passes it takes its place. With several numbers
            of players they count alike, see `training.gate`. 0 for no test: the newest is the best.
    """

    gate: float = 0.02


@dataclass
class Config:
    """A training run.

    Attributes:
        game: Name of the game.
        players: Numbers of players that the one network learns, each in games of its own.
        shares: Shares of the games for each of them, in proportion; equal ones if empty.
        options: The game's options by name.
        name: The run's folder under `folder`; the game's name if empty.
        folder: Where runs are kept.
        start: A checkpoint's folder or a run's, whose weights to begin with; empty for fresh ones.
        decisions: Decisions to learn from, of all seats together; those without a choice don't count.
        max_minutes: Stop learning after so long, whatever the count; 0 for no limit.
        seed: Same seed, same weights (on one machine with the same number of threads).
        threads: Threads of torch.
        device: Where the network computes: "cpu", "cuda", or "auto" for CUDA where there is a device.
        precision: Numbers of the layers: "float32" or "bfloat16" (weights stay in float32), or "auto" for bfloat16
            where the processor has instructions for it.
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
    players: tuple[int, ...] = (2,)
    shares: tuple[float, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    name: str = ""
    folder: str = "runs"
    start: str = ""
    decisions: int = 1_000_000
    max_minutes: float = 10.0
    seed: int = 1
    threads: int = 2
    device: Literal["auto", "cpu", "cuda"] = "auto"
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    checkpoint_every: int = 500_000
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
        game.check_options(self.options)
        if not self.players or len(set(self.players)) < len(self.players):
            raise ValueError(f"players was {list(self.players)}; give at least one number, each once, as in [2, 3, 4].")
        for players in self.players:
            game.check_players(players)
        if 1 in self.players:
            raise ValueError("players had 1; self-play needs at least 2 players.")
        if self.shares and (len(self.shares) != len(self.players) or min(self.shares) <= 0):
            raise ValueError(
                f"shares was {list(self.shares)}; give one number above 0 for each of players {list(self.players)}."
            )
        if self.network.kind == "tiles" and game.board is None:
            raise ValueError(f"network.kind was 'tiles', but {game.title} has no board of tiles; give 'mlp' or 'auto'.")
        if "/" in self.name or "\\" in self.name or self.name in (".", ".."):
            raise ValueError(f"name was {self.name!r}; give a plain folder name.")
        self._check_numbers()

    def _check_numbers(self) -> None:
        """Raise ValueError for a number out of its range."""
        for path, value in _numbers(self):
            if not 0 <= value < float("inf"):
                raise ValueError(f"{path} was {value}; give a number that is not negative.")
        check_range("", self, at_least_one=("decisions", "threads", "checkpoint_every", "keep_checkpoints"))
        self.learner.check(len(self.players))
        check_range("utility", self.utility, at_most_one=("margin_weight", "final_margin_weight"))
        check_range("utility", self.utility, above_zero=("margin_width",))
        check_range("evaluation", self.evaluation, at_least_one=("games", "final_games"))
        if self.evaluation.gate > _MOST_GATE:
            raise ValueError(f"evaluation.gate was {self.evaluation.gate}; give a share up to 0.5, for example 0.02.")

    def values(self) -> dict[str, Any]:
        """The whole configuration as plain values, for YAML."""
        return _plain(self)


def check_range(
    part: str,
    values: Any,
    at_least_one: Sequence[str] = (),
    at_most_one: Sequence[str] = (),
    above_zero: Sequence[str] = (),
) -> None:
    """Raise ValueError for one of some numbers of a part of a configuration that is out of its range."""
    for names, low, high, wanted in (
        (at_least_one, 1, math.inf, "at least 1"),
        (at_most_one, -math.inf, 1, "at most 1"),
        (above_zero, math.ulp(0), math.inf, "a number above 0"),
    ):
        for name in names:
            value = getattr(values, name)
            if not low <= value <= high:
                raise ValueError(f"{part}{'.' if part else ''}{name} was {value}; give {wanted}.")


def _numbers(value: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Give all numbers of a configuration with their dotted names, options left out: a game checks its own."""
    for part in fields(value):
        item, name = getattr(value, part.name), f"{path}{part.name}"
        if hasattr(item, "__dataclass_fields__"):
            yield from _numbers(item, f"{name}.")
        for number in item if isinstance(item, tuple) else (item,):
            if isinstance(number, (int, float)) and not isinstance(number, bool):
                yield name, number


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
