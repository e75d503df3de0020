"""Measures two learners side by side: how long each takes to win so often from an opponent, on the same machine.

Both fit the same network by self-play: PPO of `training.ppo`, and that of stable-baselines3 in `training.sb3`.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Literal

import matplotlib

from spirits_env import games
from spirits_env.agents import Agent, make_agent
from spirits_env.arena import evaluate
from training.agent import NetworkAgent
from training.config import Config, LearnerConfig, NetworkConfig, UtilityConfig, check_range, parse
from training.learner import DivergedError, Learner
from training.ppo import PPO
from training.report import provenance
from training.run import INTERRUPTED
from training.sb3.config import SB3Config, SB3LearnerConfig
from training.sb3.learner import SB3Learner

FILE, TABLE, PICTURE = "compare.json", "compare.md", "compare.png"

# The learners, with the names that people read.
LEARNERS = {"ppo": "training.selfplay", "sb3": "training.sb3"}
_COLOURS = {"ppo": "tab:blue", "sb3": "tab:orange"}

# What may differ between a comparison and its continuation.
_FREE = ("seeds", "name", "folder")


@dataclass
class CompareConfig:
    """A comparison.

    Attributes:
        game: Name of the game.
        players: Players in each game.
        options: The game's options by name.
        name: The comparison's folder under `folder`.
        folder: Where it is kept.
        seeds: Each learner learns once from each seed.
        against: The opponent, by name or file.
        target: The win share from it to be reached by best actions.
        minutes: Time of learning after which a learner that hasn't reached it is stopped.
        every: Seconds of learning between matches.
        games: Games per match.
        match_seed: Names the deals of the matches; each match has deals of its own.
        ppo_decisions: Decisions over which the schedules of `ppo` run; what comes later has their last values.
        sb3_decisions: The same of `sb3`.
        threads: Threads of torch.
        device: As for a training run.
        precision: As for a training run.
        network: The network of both.
        utility: What both are paid.
        ppo: The learner of `python -m training.selfplay`.
        sb3: The learner of `python -m training.sb3`.
    """

    PROGRAM: ClassVar[str] = "python -m training.compare"
    PURPOSE: ClassVar[str] = "Measure how long each of two learners takes to reach a win share."

    game: str = games.DEFAULT
    players: int = 2
    options: dict[str, Any] = field(default_factory=dict)
    name: str = "compare"
    folder: str = "runs"
    seeds: tuple[int, ...] = (1, 2, 3)
    against: str = "greedy"
    target: float = 0.5
    minutes: float = 12.0
    every: float = 10.0
    games: int = 200
    match_seed: int = 1
    ppo_decisions: int = 1_000_000
    sb3_decisions: int = 1_000_000
    threads: int = 2
    device: Literal["auto", "cpu", "cuda"] = "auto"
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    network: NetworkConfig = field(default_factory=NetworkConfig)
    utility: UtilityConfig = field(default_factory=UtilityConfig)
    ppo: LearnerConfig = field(default_factory=LearnerConfig)
    sb3: SB3LearnerConfig = field(default_factory=SB3LearnerConfig)

    def check(self) -> None:
        """Raise ValueError for a value that can't work."""
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise ValueError(f"seeds was {list(self.seeds)}; give at least one number, each once, as in [1, 2, 3].")
        if min(self.seeds) < 0 or self.match_seed < 0:
            raise ValueError(f"seeds was {list(self.seeds)} and match_seed {self.match_seed}; give none below 0.")
        check_range("", self, at_least_one=("games", "ppo_decisions", "sb3_decisions"), at_most_one=("target",))
        check_range("", self, above_zero=("target", "minutes", "every"))
        for learner in LEARNERS:
            try:
                self.run_of(learner, self.seeds[0]).check()
            except ValueError as error:
                # A run calls its learner's part `learner`; here it goes by the learner's name.
                raise ValueError(str(error).replace("learner.", f"{learner}.")) from None
        self.opponent.check(self.game, self.players)

    @property
    def opponent(self) -> Agent:
        """The opponent."""
        return make_agent(self.against)

    def run_of(self, learner: str, seed: int) -> Config:
        """The configuration that one of the learners learns with."""
        shared: dict[str, Any] = {
            "game": self.game,
            "players": (self.players,),
            "options": self.options,
            "name": self.name,
            "folder": self.folder,
            "seed": seed,
            "threads": self.threads,
            "device": self.device,
            "precision": self.precision,
            "network": self.network,
            "utility": self.utility,
        }
        if learner == "ppo":
            return Config(**shared, decisions=self.ppo_decisions, learner=self.ppo)
        return SB3Config(**shared, decisions=self.sb3_decisions, learner=self.sb3)

    def values(self) -> dict[str, Any]:
        """All that its measurements depend on, as JSON gives it back."""
        values: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return {name: value for name, value in values.items() if name not in _FREE}


@dataclass
class Point:
    """A match on the way.

    Attributes:
        minutes: Time of learning before it.
        decisions: Decisions learned from before it.
        win_share: Of the network's best actions.
    """

    minutes: float
    decisions: int
    win_share: float


@dataclass
class Outcome:
    """What one learner did from one seed.

    Attributes:
        learner: Its name.
        seed: The seed.
        curve: The matches.
        reached: The first of two matches in a row that came up to the target; None for never.
        minutes: Time of learning in all.
        decisions: Decisions learned from in all.
    """

    learner: str
    seed: int
    curve: list[Point]
    reached: Point | None
    minutes: float
    decisions: int

    @property
    def speed(self) -> float:
        """Decisions learned from per second of learning."""
        return self.decisions / (60 * self.minutes)

    @classmethod
    def read(cls, values: dict[str, Any]) -> Outcome:
        """Make one from what JSON gave back."""
        reached = values["reached"] and Point(**values["reached"])
        return cls(**{**values, "curve": [Point(**point) for point in values["curve"]], "reached": reached})


def make_learner(config: CompareConfig, learner: str, seed: int) -> Learner:
    """Make a fresh learner."""
    run = config.run_of(learner, seed)
    return SB3Learner(run) if isinstance(run, SB3Config) else PPO(run)


def measure(config: CompareConfig, learner: str, seed: int) -> Outcome:
    """Let one learner learn from one seed until it has reached the target twice in a row, or is out of time.

    Raises:
        DivergedError: If it diverges.
    """
    model, opponent = make_learner(config, learner, seed), config.opponent
    curve: list[Point] = []
    seconds, due = 0.0, config.every
    while True:
        began = time.perf_counter()
        model.iterate()
        seconds += time.perf_counter() - began
        out_of_time = seconds >= 60 * config.minutes
        if seconds < due and not out_of_time:
            continue
        due = seconds + config.every
        share = match(config, model, opponent, config.match_seed + len(curve))
        curve.append(Point(seconds / 60, model.decisions, share))
        reached = first_of_two(curve, config.target)
        if reached or out_of_time:
            return Outcome(learner, seed, curve, reached, seconds / 60, model.decisions)


def first_of_two(curve: Sequence[Point], target: float) -> Point | None:
    """Return the first match that came up to the target together with the next one."""
    for one, following in pairwise(curve):
        if min(one.win_share, following.win_share) >= target:
            return one
    return None


def match(config: CompareConfig, model: Learner, opponent: Agent, seed: int) -> float:
    """Play a match of a learner's best actions; returns their win share."""
    return (
        evaluate(
            NetworkAgent(model.network),
            [opponent],
            game=config.game,
            players=config.players,
            games=config.games,
            seed=seed,
            options=config.options,
        )
        .matches[0]
        .share.mean
    )


def warm_up(config: CompareConfig, learner: str) -> None:
    """Learn once and play a match, for all that is compiled or read at first use not to count."""
    model = make_learner(config, learner, 0)
    model.iterate()
    match(config, model, config.opponent, config.match_seed)


def compare(config: CompareConfig, folder: Path) -> list[Outcome]:
    """Measure what is not yet measured, learner by learner and seed by seed; what is done is kept after each.

    Raises:
        ValueError: If the folder holds a comparison of another configuration.
        DivergedError: If a learner diverges.
    """
    outcomes = load(config, folder)
    done = {(outcome.learner, outcome.seed) for outcome in outcomes}
    missing = [(learner, seed) for seed in config.seeds for learner in LEARNERS if (learner, seed) not in done]
    for learner in sorted({learner for learner, _ in missing}):
        warm_up(config, learner)
    for learner, seed in missing:
        outcome = measure(config, learner, seed)
        outcomes.append(outcome)
        save(config, folder, outcomes)
        minutes = _shown(_minutes(outcome), ".2f")
        print(f"{LEARNERS[learner]}, seed {seed}, minutes to the target: {minutes}", flush=True)
    wanted = [outcome for seed in config.seeds for outcome in outcomes if outcome.seed == seed]
    (folder / TABLE).write_text(to_markdown(config, wanted), encoding="utf-8")
    draw(config, wanted, folder / PICTURE)
    return wanted


def load(config: CompareConfig, folder: Path) -> list[Outcome]:
    """Read what was measured before.

    Raises:
        ValueError: If it is damaged or of another configuration.
    """
    path = folder / FILE
    if not path.is_file():
        return []
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        known, outcomes = content["config"], [Outcome.read(values) for values in content["outcomes"]]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} can't be read ({type(error).__name__}); give another --name or remove it.") from error
    wanted = config.values()
    other = [name for name in {**known, **wanted} if known.get(name) != wanted.get(name)]
    if other:
        raise ValueError(
            f"{path} holds a comparison with other values of {', '.join(other)}; give another --name or remove it."
        )
    return outcomes


def save(config: CompareConfig, folder: Path, outcomes: Sequence[Outcome]) -> None:
    """Write what was measured, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    made_with = provenance(config.run_of("ppo", config.seeds[0]))
    del made_with["seed"]
    content = {
        "config": config.values(),
        "outcomes": [asdict(outcome) for outcome in outcomes],
        **made_with,
        "command": " ".join([config.PROGRAM, *sys.argv[1:]]),
    }
    draft = folder / f"{FILE}.part"
    draft.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    draft.replace(folder / FILE)


def to_markdown(config: CompareConfig, outcomes: Sequence[Outcome]) -> str:
    """Write the table, medians and ratios."""
    rows = [(one.learner, str(one.seed), one.speed, _decisions(one), _minutes(one)) for one in outcomes]
    for learner in LEARNERS:
        theirs = [row[2:] for row in rows if row[0] == learner]
        speed, decisions, minutes = (statistics.median(column) for column in zip(*theirs, strict=True))
        rows.append((learner, "median", speed, decisions, minutes))
    lines = "\n".join(
        f"| {LEARNERS[learner]} | {seed} | {speed:,.0f} | {_shown(decisions, ',.0f')} | {_shown(minutes, '.2f')} |"
        for learner, seed, speed, decisions, minutes in rows
    )
    return f"""# Learners side by side

{games.load(config.game).title}, {config.players} players. Both learners fit the same network
(`{config.run_of("ppo", 0).network.kind}`) with the same number of threads ({config.threads}), in turn on one machine.
The target is a win share of {config.target:.0%} from `{config.against}` by best actions, in two matches in a row of
{config.games} games; the first of the two counts. There is one after every {config.every:g} seconds of learning, and
matches are not counted as learning. A learner is stopped after {config.minutes:g} minutes of it. Decisions that leave
no choice are not counted.

| learner | seed | decisions per second | decisions to the target | minutes to the target |
| --- | --- | ---: | ---: | ---: |
{lines}

{_ratios(outcomes)}

![Win share while learning]({PICTURE})
"""


def _decisions(outcome: Outcome) -> float:
    """Decisions to the target, infinite where it was not reached."""
    return outcome.reached.decisions if outcome.reached else math.inf


def _minutes(outcome: Outcome) -> float:
    """Minutes to the target, infinite where it was not reached."""
    return outcome.reached.minutes if outcome.reached else math.inf


def _shown(value: float, form: str) -> str:
    """Write a number for people."""
    return "not reached" if math.isinf(value) else f"{value:{form}}"


def _ratios(outcomes: Sequence[Outcome]) -> str:
    """Say how many times as much the second learner has or takes as the first, seed by seed."""
    first, second = LEARNERS
    by_seed = {(one.learner, one.seed): one for one in outcomes}
    pairs = [(one, by_seed[second, one.seed]) for one in outcomes if one.learner == first]
    both = [pair for pair in pairs if all(one.reached for one in pair)]
    lines = [f"`{LEARNERS[second]}` over `{LEARNERS[first]}`, median of the seeds and their range:", ""]
    for name, of, counted in (
        ("decisions per second", lambda one: one.speed, pairs),
        ("decisions to the target", _decisions, both),
        ("minutes to the target", _minutes, both),
    ):
        ratios = [of(other) / of(one) for one, other in counted]
        text = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})" if ratios else "unknown"
        left_out = len(pairs) - len(counted)
        without = f"; {left_out} of {len(pairs)} seeds left out: not both reached it" if left_out else ""
        lines.append(f"- {name}: {text}{without}")
    return "\n".join(lines)


def draw(config: CompareConfig, outcomes: Sequence[Outcome], path: Path) -> None:
    """Draw win shares over minutes and over decisions, one line per seed."""
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(10, 3.8), layout="constrained", sharey=True)
    labelled = set()
    for one in outcomes:
        label = None if one.learner in labelled else LEARNERS[one.learner]
        labelled.add(one.learner)
        shares = [point.win_share for point in one.curve]
        for axis, places in (
            (axes[0], [point.minutes for point in one.curve]),
            (axes[1], [point.decisions for point in one.curve]),
        ):
            axis.plot(places, shares, color=_COLOURS[one.learner], label=label, marker="o", markersize=3, alpha=0.8)
    for axis, unit in zip(axes, ("minutes of learning", "decisions"), strict=True):
        axis.axhline(config.target, color="grey", linewidth=0.8, linestyle=":")
        axis.set(xlabel=unit, xlim=(0, None), ylim=(0, 1.02))
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set(ylabel=f"win share from {config.against}")
    axes[0].legend(frameon=False)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    config = parse(arguments, CompareConfig)  # type: ignore[type-var]
    folder = Path(config.folder) / config.name
    try:
        compare(config, folder)
    except KeyboardInterrupt:
        print("Stopped; the same command goes on with what is not yet measured.")
        return INTERRUPTED
    except (DivergedError, ValueError) as error:
        print(f"{config.PROGRAM}: {error}", file=sys.stderr)
        return 2
    print((folder / TABLE).read_text(encoding="utf-8"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
