"""Fits a self-play policy with PPO of Ray RLlib, one policy in all seats, on one machine or on many.

It needs an environment of its own (`make train-rllib`) and leaves the same kind of run as `training.selfplay`.
"""

from __future__ import annotations

import contextlib
import json
import logging
import math
import os
import platform
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch as th
import yaml
from gymnasium import spaces

from spirits_env import __version__, faces, games
from spirits_env.agents.policy import make_card
from spirits_env.arena import Result, evaluate, to_markdown
from spirits_env.game import stream
from spirits_env.state import State
from training.agent import NetworkAgent
from training.checkpoint import CONFIG, RefusedError, check_run
from training.config import MatchConfig, NetworkConfig, parse
from training.export import ILLEGAL_LOGIT, export
from training.learner import DivergedError
from training.metrics import Writer
from training.networks import Network, make_network

try:
    import ray
    from ray._private import ray_constants
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.core.columns import Columns
    from ray.rllib.core.rl_module import MultiRLModuleSpec, RLModuleSpec
    from ray.rllib.core.rl_module.apis import InferenceOnlyAPI, ValueFunctionAPI
    from ray.rllib.core.rl_module.torch import TorchRLModule
    from ray.rllib.env.multi_agent_env import MultiAgentEnv
except ModuleNotFoundError:
    raise ImportError("Ray RLlib is not installed here; run `make train-rllib`, which makes .venv-rllib.") from None

POLICY = "policy.onnx"
PROGRESS = "progress.json"
INTERRUPTED = 130

# Ray's address for a cluster of one's own.
LOCAL = "local"

# RLlib's name for the one policy.
MODULE = "seats"

# What may differ between a run and its continuation.
_FREE = ("address", "play", "threads", "checkpoint_every", "keep_checkpoints", "evaluation")
_LIBRARIES = ("numpy", "numba", "torch", "ray", "gymnasium", "onnx", "onnxruntime")
# Ray reports nothing to its makers and says little.
_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
_OBJECT_STORE_BYTES = 512 * 2**20
# RLlib adds the index of a runner and the number of a lane to its seed, and NumPy takes 32 bits.
_SEED_BITS = 30
# Below what any number that must be above 0 can sensibly be.
_TINY = 1e-9


# --- configuration ----------------------------------------------------------------------------------------


@dataclass
class PlayConfig:
    """Who plays.

    Attributes:
        runners: Processes that play games, one core each, on whichever machines have one; 0 plays in the main process.
        lanes: Games that each of them plays at once.
    """

    runners: int = 1
    lanes: int = 32


@dataclass
class LearnConfig:
    """PPO of RLlib.

    Attributes:
        learners: 1 for a process of its own that learns, on whichever machine has what it needs; 0 learns in the main
            process. RLlib can't share out a batch to more where seats wait for their turns.
        gpus: GPUs of that process.
        batch_size: Decisions per update, nearly.
        minibatch_size: Decisions per gradient step.
        epochs: Passes over each batch.
        learning_rate: Adam's step size at the start.
        final_learning_rate: Adam's step size at the end, falling linearly.
        clip: Clipping range of the policy ratio.
        gamma: Discount per decision; anything below 1 pays for taking fewer decisions.
        gae_lambda: Trace of the advantage estimate, along each seat's own decisions.
        entropy: Weight of the entropy bonus at the start.
        final_entropy: Weight of the entropy bonus at the end, falling linearly.
        value_weight: Weight of the value loss.
        max_grad_norm: Gradients are scaled down to this norm.
    """

    learners: int = 0
    gpus: float = 0.0
    batch_size: int = 8192
    minibatch_size: int = 512
    epochs: int = 4
    learning_rate: float = 1e-3
    final_learning_rate: float = 1e-4
    clip: float = 0.2
    gamma: float = 1.0
    gae_lambda: float = 0.95
    entropy: float = 0.02
    final_entropy: float = 0.005
    value_weight: float = 0.25
    max_grad_norm: float = 0.5


@dataclass
class RLlibConfig:
    """A training run on RLlib.

    Attributes:
        game: Name of the game.
        players: Players at the table.
        options: The game's options by name.
        name: The run's folder under `folder`; the game's name with "rllib-" before it if empty.
        folder: Where runs are kept.
        address: The cluster: "local" starts one on this machine for the run, "auto" or an address joins a running one.
        decisions: Decisions to learn from, of all seats together.
        seed: Where deals, draws and weights start.
        threads: Threads of torch in the main process.
        checkpoint_every: Decisions between checkpoints.
        keep_checkpoints: How many of the newest to keep.
        network: The network.
        play: Who plays.
        learner: The learner.
        evaluation: How it is judged.
    """

    PROGRAM: ClassVar[str] = "python -m training.rllib_selfplay"
    PURPOSE: ClassVar[str] = "Fit a self-play policy on Ray RLlib, export it and judge it."

    game: str = games.DEFAULT
    players: int = 2
    options: dict[str, Any] = field(default_factory=dict)
    name: str = ""
    folder: str = "runs"
    address: str = LOCAL
    decisions: int = 1_000_000
    seed: int = 1
    threads: int = 1
    checkpoint_every: int = 131072
    keep_checkpoints: int = 2
    network: NetworkConfig = field(default_factory=NetworkConfig)
    play: PlayConfig = field(default_factory=PlayConfig)
    learner: LearnConfig = field(default_factory=LearnConfig)
    evaluation: MatchConfig = field(default_factory=lambda: MatchConfig(every=131072))

    def __post_init__(self) -> None:
        """Settle what was left open: the network's kind and the run's name."""
        if self.network.kind == "auto":
            self.network = replace(self.network, kind="mlp" if games.load(self.game).board is None else "tiles")
        self.name = self.name or f"rllib-{self.game}"

    def check(self) -> None:
        """Raise ValueError for a value that can't work."""
        game = games.load(self.game)
        game.check_players(self.players)
        game.check_options(self.options)
        if self.players == 1:
            raise ValueError("players was 1; self-play needs at least 2 players.")
        if self.network.kind == "tiles" and game.board is None:
            raise ValueError(f"network.kind was 'tiles', but {game.title} has no board of tiles; give 'mlp' or 'auto'.")
        if "/" in self.name or "\\" in self.name or self.name in (".", ".."):
            raise ValueError(f"name was {self.name!r}; give a plain folder name.")
        self._check_numbers()

    def _check_numbers(self) -> None:
        """Raise ValueError for a number out of its range."""
        learner, lanes = self.learner, max(1, self.play.runners) * self.play.lanes
        ranges: dict[str, tuple[float, float, float]] = {
            "decisions": (self.decisions, 1, math.inf),
            "threads": (self.threads, 1, math.inf),
            "checkpoint_every": (self.checkpoint_every, 1, math.inf),
            "keep_checkpoints": (self.keep_checkpoints, 1, math.inf),
            "play.runners": (self.play.runners, 0, math.inf),
            "play.lanes": (self.play.lanes, 1, math.inf),
            "learner.learners": (learner.learners, 0, 1),
            "learner.gpus": (learner.gpus, 0, math.inf),
            "learner.batch_size": (learner.batch_size, lanes, math.inf),
            "learner.minibatch_size": (learner.minibatch_size, 1, learner.batch_size),
            "learner.epochs": (learner.epochs, 1, math.inf),
            "learner.learning_rate": (learner.learning_rate, _TINY, 1),
            "learner.final_learning_rate": (learner.final_learning_rate, 0, 1),
            "learner.clip": (learner.clip, _TINY, math.inf),
            "learner.gamma": (learner.gamma, _TINY, 1),
            "learner.gae_lambda": (learner.gae_lambda, 0, 1),
            "learner.entropy": (learner.entropy, 0, math.inf),
            "learner.final_entropy": (learner.final_entropy, 0, math.inf),
            "learner.value_weight": (learner.value_weight, 0, math.inf),
            "learner.max_grad_norm": (learner.max_grad_norm, _TINY, math.inf),
            "evaluation.every": (self.evaluation.every, 0, math.inf),
            "evaluation.games": (self.evaluation.games, 1, math.inf),
            "evaluation.final_games": (self.evaluation.final_games, 1, math.inf),
        }
        for name, (value, low, high) in ranges.items():
            if not low <= value <= high:
                bounds = f"at least {low}" if high == math.inf else f"from {low} to {high}"
                raise ValueError(f"{name} was {value}; give {bounds}.")

    def values(self) -> dict[str, Any]:
        """The whole configuration as plain values, for YAML."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return plain


# --- what RLlib is given ----------------------------------------------------------------------------------


class SeatsEnv(MultiAgentEnv):  # type: ignore[misc]
    """One game for RLlib: a step gives the seat to act its view, and at the end every seat its reward.

    RLlib credits each agent along its own decisions, so one agent per seat is credit per seat. RLlib's own wrapper of
    PettingZoo environments would do as well. But it plays one more step per seat after each game, and gives runners
    that have several lanes seeds that overlap.

    Args:
        settings: `game`, `players` and `options`, as RLlib hands them to the runner of a `worker_index`.
    """

    def __init__(self, settings: Any) -> None:
        super().__init__()
        self._runner = int(getattr(settings, "worker_index", 0))
        self._state = State(settings["game"], settings["players"], **settings["options"])
        rules = self._state.game
        self.agents = self.possible_agents = [f"player_{seat}" for seat in range(self._state.players)]
        view = spaces.Dict(
            {
                "observations": faces.observation_box(rules.layout),
                "action_mask": spaces.Box(0, 1, (len(rules.actions),), np.int8),
            }
        )
        self.observation_spaces = dict.fromkeys(self.possible_agents, view)
        self.action_spaces = dict.fromkeys(self.possible_agents, spaces.Discrete(len(rules.actions)))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        """Deal a new game.

        Args:
            seed: RLlib's for this lane, told apart from those of other runners here; None goes on with the stream.
            options: Ignored.

        Returns:
            The view of the seat to act, and no infos.
        """
        # Seeds with the top bit set are kept for evaluation.
        self._state.deal(None if seed is None else stream(seed, self._runner) >> 1)
        return self._views(self._state.seat), {}

    def step(self, action_dict: dict[str, Any]) -> tuple[Any, Any, Any, Any, Any]:
        """Play a decision of the seat to act.

        Raises:
            IllegalAction: If the action is not legal; nothing changes.
        """
        self._state.play(action_dict[self.possible_agents[self._state.seat]])
        over = self._state.seat < 0
        # RLlib forgets the last decision of a seat that gets no view after it, where it has cut the game in between.
        views = self._views(*(range(self._state.players) if over else (self._state.seat,)))
        rewards = self._state.returns() if over else [0.0]
        return views, dict(zip(views, rewards, strict=True)), {"__all__": over}, {"__all__": False}, {}

    def _views(self, *seats: int) -> dict[str, dict[str, np.ndarray]]:
        """What some seats see; the masks are those of the seat to act."""
        state = self._state
        return {
            self.possible_agents[seat]: {"observations": state.observation(seat), "action_mask": state.mask()}
            for seat in seats
        }


class SeatsModule(TorchRLModule, InferenceOnlyAPI, ValueFunctionAPI):  # type: ignore[misc]
    """The policy for RLlib: one of our networks, masked as it is exported.

    Its `model_config` has `game`, `kind` and `sizes`, the arguments of `make_network`.
    """

    def setup(self) -> None:
        """Make the network."""
        settings = self.model_config
        self.network = make_network(settings["kind"], games.load(settings["game"]), **settings["sizes"])

    def get_non_inference_attributes(self) -> list[str]:
        """Nothing to leave out where games are played: logits and value come from one pass through one network."""
        return []

    def _look(self, batch: dict[str, Any]) -> tuple[th.Tensor, th.Tensor]:
        """Run the network: masked logits `(b, actions)` and values `(b,)`."""
        views = batch[Columns.OBS]
        logits, values = self.network(views["observations"])
        return th.where(views["action_mask"] != 0, logits, th.full_like(logits, ILLEGAL_LOGIT)), values

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return {Columns.ACTION_DIST_INPUTS: self._look(batch)[0]}

    def _forward_train(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        # What RLlib calls embeddings goes to `compute_values`, so that the network runs once.
        logits, values = self._look(batch)
        return {Columns.ACTION_DIST_INPUTS: logits, Columns.EMBEDDINGS: values}

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> Any:
        """Return the values of the views in a batch, shape `(b,)`."""
        if embeddings is not None:
            return embeddings
        # Asked for a whole batch at once, to estimate advantages: a graph of that would take gigabytes for nothing.
        with th.no_grad():
            return self._look(batch)[1]


def module_of(agent: str, episode: Any, **kwargs: Any) -> str:
    """Let the one policy play every seat."""
    return MODULE


def make_algorithm_config(config: RLlibConfig, decisions: int = 0) -> Any:
    """Turn a run's configuration into RLlib's.

    Args:
        config: The run.
        decisions: Decisions already learned from; a run that goes on gets deals of its own.

    Returns:
        A `PPOConfig`.
    """
    learner, end = config.learner, config.decisions
    settings = {"game": config.game, "players": config.players, "options": config.options}
    network = {"game": config.game, "kind": config.network.kind, "sizes": config.network.sizes()}
    return (
        PPOConfig()
        .framework("torch")
        .environment(SeatsEnv, env_config=settings, disable_env_checking=True)
        .multi_agent(policies={MODULE}, policy_mapping_fn=module_of)
        .rl_module(
            rl_module_spec=MultiRLModuleSpec(
                rl_module_specs={MODULE: RLModuleSpec(module_class=SeatsModule, model_config=network)}
            )
        )
        .env_runners(
            num_env_runners=config.play.runners,
            num_envs_per_env_runner=config.play.lanes,
            batch_mode="truncate_episodes",
            rollout_fragment_length="auto",
            create_env_on_local_worker=config.play.runners == 0,
        )
        .learners(num_learners=learner.learners, num_gpus_per_learner=learner.gpus)
        .training(
            lr=[[0, learner.learning_rate], [end, learner.final_learning_rate]],
            gamma=learner.gamma,
            lambda_=learner.gae_lambda,
            clip_param=learner.clip,
            entropy_coeff=[[0, learner.entropy], [end, learner.final_entropy]],
            vf_loss_coeff=learner.value_weight,
            vf_clip_param=float("inf"),
            use_kl_loss=False,
            grad_clip=learner.max_grad_norm,
            grad_clip_by="global_norm",
            num_epochs=learner.epochs,
            minibatch_size=learner.minibatch_size,
            train_batch_size_per_learner=learner.batch_size,
        )
        # Machines of a cluster come and go; on a single one a runner that fails is an error to be shown.
        .fault_tolerance(restart_failed_env_runners=config.address != LOCAL)
        .debugging(seed=stream(config.seed, decisions) >> (64 - _SEED_BITS), log_level="ERROR")
        .reporting(min_time_s_per_iteration=0)
    )


@contextlib.contextmanager
def cluster(config: RLlibConfig) -> Iterator[None]:
    """Start a cluster on this machine, seen by nobody else, or join a running one; leave it at the end."""
    # Sockets lie in this folder. Their paths may have about 100 characters, which some users' own folders use up.
    scratch = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp" if Path("/tmp").is_dir() else None))
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    logging.getLogger("ray.rllib").setLevel(logging.ERROR)
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        if config.address == LOCAL:
            # Ray's switch for machines on their own. It is read on import, long before this is known.
            os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
            ray_constants.ENABLE_RAY_CLUSTER = False
            ray.init(
                address=LOCAL,
                num_cpus=1 + config.play.runners + config.learner.learners,
                object_store_memory=_OBJECT_STORE_BYTES,
                include_dashboard=False,
                _temp_dir=str(scratch),
                **quiet,
            )
        else:
            ray.init(address=config.address, **quiet)
        yield
    finally:
        ray.shutdown()
        shutil.rmtree(scratch, ignore_errors=True)


# --- a run ------------------------------------------------------------------------------------------------


def open_run(config: RLlibConfig) -> Path:
    """Make the run's folder, or find the run in it that is to go on.

    Raises:
        RefusedError: If the folder holds a finished run or one of another configuration.
    """
    run = Path(config.folder) / config.name
    check_run(run, config.values(), _FREE)
    run.mkdir(parents=True, exist_ok=True)
    (run / CONFIG).write_text(yaml.safe_dump(config.values(), sort_keys=False), encoding="utf-8")
    return run


class Run:
    """A run in the making.

    Args:
        config: Its configuration.
        folder: Its folder.

    Attributes:
        decisions: Decisions learned from so far.
        minutes: Time spent on that.
        interrupted: Whether SIGTERM or Ctrl-C asked to stop.
    """

    def __init__(self, config: RLlibConfig, folder: Path) -> None:
        self.config = config
        self.folder = folder
        self.decisions = 0
        self.minutes = 0.0
        self.interrupted = False
        kept = self.checkpoints()
        if kept:
            progress = json.loads((kept[-1] / PROGRESS).read_text(encoding="utf-8"))
            self.decisions, self.minutes = progress["decisions"], progress["minutes"]
        th.set_num_threads(config.threads)
        self.algorithm = make_algorithm_config(config, self.decisions).build_algo()
        # RLlib makes a folder in the user's home, and leaves it empty.
        shutil.rmtree(self.algorithm.logdir)
        with contextlib.suppress(OSError):
            Path(self.algorithm.logdir).parent.rmdir()
        if kept:
            self.algorithm.restore_from_path(str(kept[-1].resolve() / "rllib"))
            print(f"Going on from {kept[-1]} ({self.decisions} decisions).")
        self._metrics = Writer(folder, self.decisions)

    def checkpoints(self) -> list[Path]:
        """The checkpoint folders, oldest first."""
        return sorted(path.parent for path in self.folder.glob(f"checkpoints/[0-9]*/{PROGRESS}"))

    def network(self) -> Network:
        """The network as it stands.

        Raises:
            DivergedError: If its weights are no longer finite.
        """
        config = self.config
        weights = self.algorithm.learner_group.get_weights()[MODULE]
        state = {name.removeprefix("network."): th.as_tensor(value) for name, value in weights.items()}
        for name, value in state.items():
            if not th.isfinite(value).all():
                raise DivergedError(
                    f"After {self.decisions} decisions the weights {name} are not finite; lower "
                    f"learner.learning_rate and go on from the last checkpoint in {self.folder / 'checkpoints'}."
                )
        network = make_network(config.network.kind, games.load(config.game), **config.network.sizes())
        network.load_state_dict(state)
        return network

    def learn(self) -> None:
        """Learn until the configured count, or until a signal asks to stop."""
        config = self.config
        saved = matched = self.decisions
        before = {number: signal.signal(number, self._on_signal) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            while not self._over():
                row = self._update()
                every = config.evaluation.every
                if every and (self.decisions >= config.decisions or self.decisions - matched >= every):
                    matched = self.decisions
                    row.update(self._match())
                self._tell(row)
                if self._over() or self.decisions - saved >= config.checkpoint_every:
                    saved = self.decisions
                    self.save()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _over(self) -> bool:
        """Tell whether there is nothing more to learn in this process."""
        return self.interrupted or self.decisions >= self.config.decisions

    def _on_signal(self, number: int, frame: Any) -> None:
        """Stop after the update in progress."""
        self.interrupted = True

    def _update(self) -> dict[str, Any]:
        """Play and learn once, and return what is to be told of it."""
        began = time.perf_counter()
        result = self.algorithm.train()
        seconds = time.perf_counter() - began
        played = result["env_runners"]
        decisions = int(played["num_env_steps_sampled_lifetime"])
        if decisions <= self.decisions:
            raise RuntimeError("No games were played: the runners failed, see the logs of the cluster.")
        row: dict[str, Any] = {"time/decisions_per_second": (decisions - self.decisions) / seconds}
        self.decisions, self.minutes = decisions, self.minutes + seconds / 60
        row["time/minutes"] = self.minutes
        row["rollout/game_length"] = played.get("episode_len_mean")
        for agent, mean in played.get("agent_episode_returns_mean", {}).items():
            row[f"rollout/utility_seat{agent.removeprefix('player_')}"] = mean
        learned = result["learners"][MODULE]
        for key, name in _TOLD.items():
            row[f"train/{name}"] = learned.get(key)
        return row

    def _tell(self, row: dict[str, Any]) -> None:
        """Keep the figures of an update, and show how far the run is."""
        self._metrics.write(self.decisions, {key: value for key, value in row.items() if value is not None})
        print(f"{self.decisions} decisions, {row['time/decisions_per_second']:.0f} per second", flush=True)

    def _match(self) -> dict[str, float]:
        """Play the matches of the curve."""
        config = self.config
        result = evaluate(
            NetworkAgent(self.network()),
            config.evaluation.against,
            game=config.game,
            players=config.players,
            games=config.evaluation.games,
            seed=config.evaluation.seed + 1,
            options=config.options,
        )
        return {f"match/win_share_{match.opponent}": match.share.mean for match in result.matches}

    def close(self) -> None:
        """Stop the processes that play and learn."""
        self._metrics.close()
        self.algorithm.stop()

    def save(self) -> None:
        """Write a checkpoint, and remove the oldest beyond those to keep."""
        self.network()
        target = self.folder / "checkpoints" / f"{self.decisions:012d}"
        draft = target.with_suffix(".part")
        shutil.rmtree(draft, ignore_errors=True)
        self.algorithm.save_to_path(str(draft.resolve() / "rllib"))
        progress = {"decisions": self.decisions, "minutes": self.minutes}
        (draft / PROGRESS).write_text(json.dumps(progress) + "\n", encoding="utf-8")
        shutil.rmtree(target, ignore_errors=True)
        draft.replace(target)
        for old in self.checkpoints()[: -self.config.keep_checkpoints]:
            shutil.rmtree(old)


# RLlib's names of what a learner tells, and ours.
_TOLD = {
    "total_loss": "loss",
    "policy_loss": "policy_gradient_loss",
    "vf_loss": "value_loss",
    "vf_explained_var": "explained_variance",
    "entropy": "entropy",
    "gradients_default_optimizer_global_norm": "gradient_norm",
    "default_optimizer_learning_rate": "learning_rate",
    "curr_entropy_coeff": "entropy_weight",
}


def finish(config: RLlibConfig, run: Path, network: Network, training: dict[str, Any]) -> list[Result]:
    """Export the policy, judge the file and write the report.

    Args:
        config: The run's configuration.
        run: Its folder.
        network: What was learned.
        training: Figures of the training, for the card.

    Returns:
        The matches of the policy's best actions and of draws from it.
    """
    game = games.load(config.game)
    training = {
        **training,
        "seed": config.seed,
        "network": config.network.kind,
        "parameters": sum(weights.numel() for weights in network.parameters()),
    }
    own = {"python": platform.python_version(), "spirits-env": __version__}
    libraries = {**own, **{name: version(name) for name in _LIBRARIES}}
    card = make_card(config.game, [config.players], config.options, config.name, training, libraries)
    export(network, game, config.players, card, run / POLICY)
    results = [
        evaluate(
            str(run / POLICY) + suffix,
            config.evaluation.against,
            game=config.game,
            players=config.players,
            games=config.evaluation.final_games,
            seed=config.evaluation.seed,
            options=config.options,
        )
        for suffix in ("", ":sample")
    ]
    told = json.dumps([result.to_dict() for result in results], indent=2)
    (run / "evaluation.json").write_text(told + "\n", encoding="utf-8")
    _write_report(config, run, results, card)
    return results


def _write_report(config: RLlibConfig, run: Path, results: Sequence[Result], card: dict[str, Any]) -> None:
    """Write `report.md`, the last file of a run."""
    figures = "\n".join(f"| {key.replace('_', ' ')} | {value} |" for key, value in card["training"].items())
    text = f"""# Run `{config.name}`, on Ray RLlib

{config.game}, {config.players} players, network `{config.network.kind}`, seed {config.seed}.

## Strength

Measured on the exported `policy.onnx`, on deals that training never saw; `:sample` draws from the policy instead of
playing its best action.

{to_markdown(results)}

## Training

| | |
|---|---|
{figures}

Command: `{" ".join([config.PROGRAM, *sys.argv[1:]])}`

{", ".join(f"{name} {number}" for name, number in card["libraries"].items())}

## Configuration

```yaml
{(run / CONFIG).read_text(encoding="utf-8").rstrip()}
```
"""
    (run / "report.md").write_text(text, encoding="utf-8")


def train(config: RLlibConfig, folder: Path) -> tuple[Run, Network]:
    """Learn until the configured count, from the newest checkpoint if there is one."""
    with cluster(config):
        run = Run(config, folder)
        try:
            run.learn()
            return run, run.network()
        finally:
            run.close()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    config = parse(arguments, RLlibConfig)  # type: ignore[type-var]
    try:
        folder = open_run(config)
        run, network = train(config, folder)
    except (RefusedError, DivergedError, ConnectionError) as error:
        print(f"{config.PROGRAM}: {error}", file=sys.stderr)
        return 2
    if run.interrupted:
        print(f"Stopped after {run.decisions} decisions; the same command goes on from there.")
        return INTERRUPTED
    finish(config, folder, network, {"decisions": run.decisions, "minutes": round(run.minutes, 2)})
    print((folder / "report.md").read_text(encoding="utf-8").split("## Training")[0])
    print(f"The policy is {folder / POLICY}, the report {folder / 'report.md'}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
