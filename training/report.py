"""What a run leaves for people: curves as a picture and a report in Markdown.

Both are made from the run's own files, so they can be made again.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import matplotlib

from spirits_env import __version__
from spirits_env.arena import Result, to_markdown
from training import metrics
from training.config import Config, dump

LIBRARIES = (
    "numpy",
    "numba",
    "torch",
    "stable-baselines3",
    "sb3-contrib",
    "gymnasium",
    "onnx",
    "onnxruntime",
)


def libraries() -> dict[str, str]:
    """Return the versions of what a run depends on, Python's own among them."""
    # What is installed for editing may carry the number of the day it was installed.
    found = {"python": platform.python_version(), "spirits-env": __version__}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def provenance(config: Config) -> dict[str, Any]:
    """Return what a run was made with: versions, source revision, machine, command."""
    return {
        "command": " ".join([config.PROGRAM, *sys.argv[1:]]),
        "revision": _git("rev-parse", "HEAD"),
        "uncommitted_changes": bool(_git("status", "--porcelain", "--untracked-files=no")),
        "libraries": libraries(),
        "platform": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "threads": config.threads,
        "seed": config.seed,
    }


def _git(*arguments: str) -> str:
    """Ask Git about the checkout the run was started from; empty where there is none."""
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def draw_curves(run: Path, path: Path, config: Config) -> None:
    """Draw the run's curves from its metrics.

    Args:
        run: The run's folder.
        path: The PNG to write.
        config: The run's configuration.
    """
    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = metrics.read(run)
    figure, axes = pyplot.subplots(2, 2, figsize=(10, 6.4), layout="constrained")
    for axis, figure_of in ((axes[0, 0], "win_share"), (axes[0, 1], "margin")):
        # Opponents go by the names of their metrics, which are not those of their files.
        found = {key for row in rows for key in row if re.match(rf"match_\d+p/{figure_of}_", key)}
        for key in sorted(found):
            players, opponent = re.fullmatch(rf"match_(\d+)p/{figure_of}_(.*)", key, re.DOTALL).groups()  # type: ignore[union-attr]
            many = f", {players} players" if len(config.players) > 1 else ""
            _draw(axis, rows, key, f"against {opponent}{many}")
    for players in config.players:
        axes[0, 0].axhline(1 / players, color="grey", linewidth=0.8, linestyle=":")
    axes[0, 0].set(title="Win share (dotted: equals)", ylim=(0, 1.02))
    axes[0, 1].axhline(0, color="grey", linewidth=0.8, linestyle=":")
    axes[0, 1].set(title="Margin in points over the mean of the others")
    _draw(axes[1, 0], rows, "train/entropy", None)
    axes[1, 0].set(title="Entropy of the policy in nats", ylim=(0, None))
    _draw(axes[1, 1], rows, "train/explained_variance", None)
    axes[1, 1].set(title="Variance of the outcome that the value explains")
    for axis in axes.flat:
        axis.set_xlabel("decisions")
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
        if axis.get_legend_handles_labels()[0]:
            axis.legend(frameon=False)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def _draw(axis: Any, rows: Sequence[dict[str, float]], key: str, label: str | None) -> None:
    """Draw one metric over decisions, where it was measured."""
    points = [(row["decisions"], row[key]) for row in rows if row.get(key) == row.get(key) and key in row]
    marker = "o" if len(points) < 40 else None
    axis.plot([x for x, _ in points], [y for _, y in points], label=label, marker=marker, markersize=3)


def write_report(
    run: Path,
    config: Config,
    results: Sequence[Result],
    training: dict[str, Any],
    made_with: dict[str, Any],
    meaning: str = "",
) -> None:
    """Write `report.md`, `evaluation.json` and `curves.png`.

    Args:
        run: The run's folder.
        config: Its configuration.
        results: The final matches.
        training: Figures of the training.
        made_with: What `provenance` returned.
        meaning: What the matches show, in sentences, for a run that asks more than how strong its policy is.
    """
    draw_curves(run, run / "curves.png", config)
    (run / "evaluation.json").write_text(
        json.dumps([result.to_dict() for result in results], indent=2) + "\n", encoding="utf-8"
    )
    figures = "\n".join(f"| {key.replace('_', ' ')} | {value} |" for key, value in training.items())
    versions = ", ".join(f"{name} {number}" for name, number in made_with["libraries"].items())
    revision = made_with["revision"] or "unknown"
    changed = " with uncommitted changes" if made_with["uncommitted_changes"] else ""
    players = " and ".join(map(str, config.players))
    # A table is of one number of players.
    tables = "\n\n".join(
        to_markdown([result for result in results if result.players == count]) for count in config.players
    )
    text = f"""# Run `{config.name}`

{config.game}, {players} players, network `{config.network.kind}`, seed {config.seed}.

## Strength

Measured on the exported `policy.onnx`, on deals that training never saw; `:sample` draws from the policy instead of
playing its best action.

{meaning}{tables}

## Curves

![Curves](curves.png)

{config.evaluation.games} games per opponent and point; the points on the curve use other deals than the table.

## Training

| | |
|---|---|
{figures}

Command: `{made_with["command"]}`

Source revision {revision}{changed}; {made_with["platform"]}, {made_with["cores"]} cores,
{made_with["threads"]} threads.

{versions}

## Configuration

```yaml
{dump(config).rstrip()}
```
"""
    (run / "report.md").write_text(text, encoding="utf-8")
