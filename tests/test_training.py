"""Whole training runs: configurations, exact resume, starts, checkpoints, the gate, metrics, what a run leaves."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch as th
import yaml

import training.run
from spirits_env import GAMES, __version__, games
from spirits_env.agents import GreedyAgent, RandomAgent
from spirits_env.agents.policy import read_card
from training import checkpoint, gate, metrics, selfplay
from training.config import Config, dump, parse
from training.learner import DivergedError
from training.networks import make_network
from training.ppo import PPO
from training.run import INTERRUPTED, Run, find_run

ROOT = Path(__file__).parent.parent
# The plain network, which is looked through and exported faster, except where the other one matters.
TINY = [
    *(f"--config={ROOT / 'configs' / name}.yaml" for name in ("forest", "quick")),
    *("--threads=1", "--progress=false", "--network.kind=mlp", "--network.widths=[16]"),
]
TILES = ["--network.kind=tiles", "--network.width=8", "--network.context=16", "--network.icon=8"]
WHOLE = [
    *(*TINY, "--name=whole", "--players=[2, 3]", "--decisions=1000"),
    *("--learner.games=4", "--evaluation.gate=0", "--evaluation.every=900", "--evaluation.games=6"),
    *("--evaluation.final_games=12", "--utility.final_margin_weight=0.25", "--utility.margin_width=2"),
]
# Everything that a checkpoint has to keep.
RICH = [
    *("--players=[2, 3, 4]", "--shares=[2, 1, 1]", "--learner.pool_share=0.5", "--learner.pool_every=300"),
    *("--learner.pool_size=2", "--learner.pull=0.1", "--learner.oracle=true", "--learner.epochs=2"),
]


def begun(arguments: list[str]) -> Run:
    """A run at its start, or where it was left."""
    config = parse(arguments)
    return Run(PPO(config), find_run(config))


def train(arguments: list[str]) -> Run:
    run = begun(arguments)
    run.learn()
    return run


def stop_after(run: Run, rollouts: int) -> None:
    """Ask a run to stop in the midst of a rollout, as a signal does."""
    iterate, left = run.learner.iterate, [rollouts]

    def count() -> dict[str, float]:
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGTERM)
        return iterate()

    run.learner.iterate = count  # type: ignore[method-assign]


def equal(one: Any, other: Any) -> bool:
    """Compare nested content bit by bit."""
    if isinstance(one, th.Tensor):
        return th.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(equal, one, other))
    return bool(one == other)


# --- configurations ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bad",
    [
        ["--learner.gamez=3"],
        ["--learner.games=many"],
        ["--learner.games=0"],
        ["--learner.games=2", "--players=[2, 3, 4]"],
        ["--learner.epochs=0"],
        ["--learner.clip=0"],
        ["--learner.gamma=1.5"],
        ["--learner.gamma=0"],
        ["--learner.gae_lambda=-0.1"],
        ["--learner.pool_share=1.5"],
        ["--learner.pool_size=0"],
        ["--learner.pull_decay=2"],
        ["--utility.margin_weight=2"],
        ["--utility.margin_width=0"],
        ["--evaluation.gate=0.7"],
        ["--evaluation.games=0"],
        ["--decisions=0"],
        ["--decisions=-1"],
        ["--max_minutes=nan"],
        ["--players=[7]"],
        ["--players=[1]"],
        ["--players=[2, 2]"],
        ["--players=[]"],
        ["--players=[2, 3]", "--shares=[1]"],
        ["--players=[2, 3]", "--shares=[1, 0]"],
        ["--game=chess"],
        ["--options.colour=red"],
        ["--network.kind=transformer"],
        ["--game=wild", "--network.kind=tiles"],
        ["--game=wild", "--options.powers=real"],
        ["--device=gpu"],
        ["--precision=int8"],
        ["--name=../elsewhere"],
        ["--name=.."],
        ["--config=missing.yaml"],
    ],
    ids=" ".join,
)
def test_a_bad_configuration_is_one_line_and_code_2(bad: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        parse(bad)
    assert stopped.value.code == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("python -m training.selfplay: ")


def test_an_unknown_key_in_a_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.yaml").write_text("lerner:\n  games: 3\n")
    with pytest.raises(SystemExit):
        parse(["--config", str(tmp_path / "c.yaml")])
    assert "lerner" in capsys.readouterr().err


# Those of other commands.
OTHERS = ("expert", "exploiter", "rllib", "sb3")
SHIPPED = sorted(path for path in (ROOT / "configs").glob("*.yaml") if not path.stem.startswith(OTHERS))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_every_shipped_configuration_parses_and_can_be_written_and_read_again(path: Path, tmp_path: Path) -> None:
    config = parse(["--config", str(ROOT / "configs/forest.yaml"), "--config", str(path)])
    (tmp_path / "c.yaml").write_text(dump(config), encoding="utf-8")
    assert parse(["--config", str(tmp_path / "c.yaml")]) == config


@pytest.mark.parametrize("game", GAMES)
def test_naming_a_game_is_enough_for_its_name_and_a_network_that_fits(game: str) -> None:
    config = parse([f"--game={game}"])
    assert config.name == game
    assert config.network.kind == ("tiles" if games.load(game).board else "mlp")
    make_network(config.network.kind, games.load(game), **config.network.sizes())


def test_later_files_and_words_win() -> None:
    config = parse([*TINY, "--learner.games=5"])
    assert (config.name, config.decisions, config.learner.games, config.learner.epochs) == ("quick", 2000, 5, 1)


# --- a whole run ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    assert selfplay.main([*WHOLE, f"--folder={folder}"]) == 0
    return folder / "whole"


def test_a_run_leaves_everything_it_promises(whole_run: Path) -> None:
    for name in (
        "policy.onnx",
        "config.yaml",
        "metrics.jsonl",
        "curves.png",
        "report.md",
        "evaluation.json",
        "run.json",
    ):
        assert (whole_run / name).stat().st_size > 100, name
    assert (whole_run / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert list((whole_run / "tensorboard").iterdir())
    assert [len(list(folder.iterdir())) for folder in checkpoint.folders(whole_run)] == [2, 2]
    assert yaml.safe_load((whole_run / "config.yaml").read_text())["learner"]["games"] == 4
    card = read_card(whole_run / "policy.onnx")
    assert card["players"] == [2, 3]
    assert card["training"]["decisions"] == int(checkpoint.folders(whole_run)[-1].name) >= 1000
    assert card["libraries"]["spirits-env"] == __version__
    assert card["utility"] == {"margin_weight": 0.25, "margin_scales": {"2": 24.0, "3": 16.0}}
    results = json.loads((whole_run / "evaluation.json").read_text())
    assert [(result["agent"], result["players"]) for result in results] == [
        ("whole", 2), ("whole:sample", 2), ("whole", 3), ("whole:sample", 3)
    ]  # fmt: skip
    assert [match["illegal"] for result in results for match in result["matches"]] == [0] * 8
    report = (whole_run / "report.md").read_text()
    assert "| whole | greedy |" in " ".join(report.split())
    assert "whole:sample" in report
    assert "Command: `python -m training.selfplay" in report


def test_the_metrics_of_a_run_are_all_finite_and_tell_of_every_part(whole_run: Path) -> None:
    rows = metrics.read(whole_run)
    assert [row["decisions"] for row in rows] == sorted({row["decisions"] for row in rows})
    assert {
        *("match_2p/win_share_greedy", "match_3p/win_share_random", "match_3p/margin_random", "gate/best_at"),
        *("train/approx_kl", "train/value_loss", "train/others_loss", "train/lead_loss", "train/margin_loss"),
        *("train/entropy", "train/clip_fraction", "train/explained_variance", "train/learning_rate", "time/minutes"),
        *("rollout/games", "rollout/utility_2p_seat0", "rollout/utility_3p_seat2", "time/decisions_per_second"),
    } <= {key for row in rows for key in row}
    assert all(np.isfinite(value) for row in rows for value in row.values())
    assert all(row["rollout/games"] == 4 for row in rows)
    rates = [row["train/learning_rate"] for row in rows]
    assert rates[0] == parse(TINY).learner.learning_rate
    assert rates == sorted(rates, reverse=True)


def test_the_resolved_configuration_reads_back_as_itself(whole_run: Path) -> None:
    text = (whole_run / "config.yaml").read_text()
    assert dump(parse(["--config", str(whole_run / "config.yaml")])) == text


def test_a_finished_run_is_not_overwritten(whole_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.stat().st_mtime_ns for path in whole_run.rglob("*")}
    assert selfplay.main([*WHOLE, f"--folder={whole_run.parent}"]) == 2
    assert "holds a finished run" in capsys.readouterr().err
    assert {path: path.stat().st_mtime_ns for path in whole_run.rglob("*")} == before


def test_a_run_is_not_continued_under_another_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "config.yaml").write_text(dump(Config(players=(3,))))
    assert selfplay.main([*TINY, f"--folder={tmp_path}", "--name=x"]) == 2
    said = capsys.readouterr().err
    assert len(said.strip().splitlines()) == 1
    assert "other values of players" in said


def test_a_run_of_a_game_without_a_board_goes_through_every_step_and_says_its_remarks(tmp_path: Path) -> None:
    shipped = [f"--config={ROOT / 'configs' / name}.yaml" for name in ("wild", "quick")]
    words = ["--evaluation.against=[random]", "--evaluation.final_games=4", "--decisions=300", "--network.widths=[16]"]
    assert selfplay.main([*shipped, f"--folder={tmp_path}", "--threads=1", "--progress=false", *words]) == 0
    report = (tmp_path / "quick" / "report.md").read_text(encoding="utf-8")
    assert "house powers" in report
    card = read_card(tmp_path / "quick" / "policy.onnx")
    assert (card["game"], card["training"]["network"]) == ("wild", "mlp")
    assert card["remarks"][0].startswith("house powers")


# --- going on ---------------------------------------------------------------------------------------------


def test_same_seed_same_weights_and_another_seed_others(tmp_path: Path) -> None:
    words = [*TINY, f"--folder={tmp_path}", "--decisions=300", "--evaluation.every=0", "--learner.games=3"]
    one, again, other = (
        train([*words, *more]).learner.state() for more in (["--name=a"], ["--name=b"], ["--name=c", "--seed=2"])
    )
    assert equal(one, again)
    assert not equal(one["network"], other["network"])


def odd_gate(network: th.nn.Module, rival: th.nn.Module, *settings: Any) -> Any:
    """A quick gate whose verdict hangs on the weights of both."""
    first, second = (float(next(each.parameters()).detach().abs().sum()) for each in (network, rival))
    return SimpleNamespace(mean=0.5, deals=1, decision="better" if int(1e4 * (first - second)) % 2 else "not better")


@pytest.mark.parametrize("extra", [["--precision=bfloat16"], RICH], ids=["plain", "rich"])
def test_a_stopped_run_goes_on_exactly_as_if_it_had_not_been(
    extra: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [
        *TINY,
        *TILES,
        "--precision=float32",
        *extra,
        f"--folder={tmp_path}",
        "--decisions=1200",
        "--learner.games=4",
    ]
    words += [
        "--evaluation.every=700",
        "--evaluation.games=4",
        "--evaluation.gate=0.5",
        "--evaluation.against=[random]",
    ]
    monkeypatch.setattr(training.run, "compare", odd_gate)
    whole = train([*words, "--name=whole"])
    cut = begun([*words, "--name=cut"])
    stop_after(cut, 2)
    cut.learn()
    assert cut.interrupted
    assert 0 < cut.learner.decisions < 1200
    again = train([*words, "--name=cut"])
    assert not again.interrupted
    one, other = whole.learner.state(), again.learner.state()
    assert (len(one["pool"]) > 0) == (extra is RICH)
    assert (one["average"] is not None) == (extra is RICH)
    assert equal(one, other)
    assert whole.best_at == again.best_at > 0
    assert equal(whole.best, again.best)
    rows, others = ([{k: v for k, v in row.items() if not k.startswith("time/")} for row in metrics.read(run.folder)]
                    for run in (whole, again))  # fmt: skip
    assert rows == others


@pytest.mark.skipif(os.name == "nt", reason="SIGTERM can't be caught on Windows")
def test_a_terminated_command_saves_and_the_same_command_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [*TINY, f"--folder={tmp_path}", "--learner.games=2", "--name=killed", "--evaluation.every=0"]
    # Far more than can be learned before the signal comes, however busy the machine is.
    arguments += ["--decisions=1000000", "--checkpoint_every=1000000"]
    command = [sys.executable, "-m", "training.selfplay", *arguments]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    path = tmp_path / "killed" / "metrics.jsonl"
    deadline = time.monotonic() + 120
    while not (path.is_file() and path.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    said, _ = process.communicate(timeout=120)
    assert process.returncode == INTERRUPTED
    (kept,) = checkpoint.folders(tmp_path / "killed")
    assert f"Stopped after {int(kept.name)} decisions; the same command goes on from there." in said
    assert int(kept.name) == metrics.read(tmp_path / "killed")[-1]["decisions"]
    again = begun(arguments)
    assert f"Going on from {kept} ({int(kept.name)} decisions)." in capsys.readouterr().out
    fresh = PPO(parse(arguments))
    for _ in range(again.learner.number + 1):
        fresh.iterate()
    again.learner.iterate()
    assert equal(again.learner.state(), fresh.state())


def test_handlers_of_signals_are_put_back(tmp_path: Path) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    train([*TINY, f"--folder={tmp_path}", "--decisions=1", "--evaluation.every=0"])
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)] == before


def test_a_run_out_of_time_is_judged_and_saved_and_the_time_of_its_parts_adds_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On this clock each rollout takes a minute and all else no time.
    now = [0.0]
    monkeypatch.setattr(training.run, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    iterate = PPO.iterate

    def tick(self: PPO) -> dict[str, float]:
        now[0] += 60.0
        return iterate(self)

    monkeypatch.setattr(PPO, "iterate", tick)
    words = [
        *TINY,
        f"--folder={tmp_path}",
        "--learner.games=2",
        "--checkpoint_every=100000",
        "--evaluation.every=90000",
    ]
    words += ["--evaluation.games=2", "--evaluation.gate=0"]
    first = train([*words, "--max_minutes=1.5"])
    rows = metrics.read(first.folder)
    assert [row["time/minutes"] for row in rows] == [1, 2]
    assert ["match_2p/win_share_random" in row for row in rows] == [False, True]
    assert [int(folder.name) for folder in checkpoint.folders(first.folder)] == [rows[-1]["decisions"]]
    assert first.best_at == first.learner.decisions < 2000
    again = train([*words, "--max_minutes=3"])
    assert [row["time/minutes"] for row in metrics.read(first.folder)] == [1, 2, 3]
    assert (again.learner.number, again.minutes) == (3, 3)
    train([*words, "--max_minutes=3"])
    assert len(metrics.read(first.folder)) == 3


# --- checkpoints ------------------------------------------------------------------------------------------


def test_only_the_newest_checkpoints_are_kept(tmp_path: Path) -> None:
    for decisions in (5, 900, 10, 1000):
        checkpoint.save(tmp_path, {"at": decisions}, decisions, "", keep=2)
    assert [checkpoint.load(folder)["at"] for folder in checkpoint.folders(tmp_path)] == [900, 1000]
    assert not list((tmp_path / "checkpoints").glob("*.part"))
    assert checkpoint.newest(str(tmp_path)) == checkpoint.folders(tmp_path)[-1]
    assert checkpoint.newest(str(checkpoint.folders(tmp_path)[0])) == checkpoint.folders(tmp_path)[0]
    with pytest.raises(ValueError, match="has no checkpoint; give"):
        checkpoint.newest(str(tmp_path / "none"))


def test_a_damaged_checkpoint_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [*TINY, f"--folder={tmp_path}", "--name=x", "--evaluation.every=0", "--decisions=500"]
    run = train(words)
    path = checkpoint.folders(run.folder)[-1] / checkpoint.FILE
    good = path.read_bytes()
    for size in (0, 100, len(good) // 2):
        path.write_bytes(good[:size])
        assert selfplay.main(words) == 2
        said = capsys.readouterr().err.strip()
        assert len(said.splitlines()) == 1
        assert f"{path} can't be loaded" in said
        assert "remove that folder to go on from the one before" in said
    th.save({"policy": {}}, path)
    assert selfplay.main(words) == 2
    said = capsys.readouterr().err.strip()
    assert len(said.splitlines()) == 1
    assert "is a checkpoint of another kind" in said


@pytest.mark.parametrize("what", ["weights", "loss"])
def test_a_run_that_diverged_says_where_and_leaves_the_last_good_checkpoint(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*TINY, f"--folder={tmp_path}", "--name=nan", "--evaluation.every=0", "--checkpoint_every=1"]
    words += ["--decisions=600", "--learner.games=2"]
    learn = PPO.learn

    def spoil(self: PPO, rollout: Any) -> dict[str, float]:
        if self.number == 2 and what == "loss":
            rollout.kept["value"][:] = np.nan
        shown = learn(self, rollout)
        if self.number == 2:
            next(self.network.parameters()).data[0] = th.nan
        return shown

    monkeypatch.setattr(PPO, "learn", spoil)
    assert selfplay.main(words) == 2
    said = capsys.readouterr().err.strip()
    assert len(said.splitlines()) == 1
    good = checkpoint.folders(tmp_path / "nan")[-1]
    content = checkpoint.load(good)
    assert content["learner"]["number"] == 2
    assert all(th.isfinite(weights).all() for weights in content["learner"]["network"].values())
    if what == "loss":
        assert f"After {int(good.name)} decisions, in rollout 2, pass 0, minibatch 0, train/loss and " in said
        assert "train/value_loss" in said
        assert "train/entropy" not in said
    else:
        assert "the weights" in said
        assert "not finite" in said
    assert "go on from the last checkpoint" in said
    monkeypatch.undo()
    assert train(words).learner.decisions >= 600


def test_weights_that_are_not_finite_are_never_saved(tmp_path: Path) -> None:
    run = begun([*TINY, f"--folder={tmp_path}"])
    run._began = 0.0
    next(run.learner.network.parameters()).data[0] = th.inf
    with pytest.raises(DivergedError, match="not finite"):
        run.save()
    assert not checkpoint.folders(run.folder)


# --- starting from another run ----------------------------------------------------------------------------


def weights_of(run: Run) -> dict[str, th.Tensor]:
    return run.learner.network.state_dict()


def test_a_run_starts_with_the_best_weights_of_another(tmp_path: Path) -> None:
    words = [*TINY, f"--folder={tmp_path}", "--evaluation.every=0", "--decisions=500"]
    first = train([*words, "--name=first"])
    content = checkpoint.load(checkpoint.folders(first.folder)[-1])
    content["best"] = {name: weights + 1 for name, weights in content["best"].items()}
    checkpoint.save(first.folder, content, 10**6, "", keep=2)
    for number, start in enumerate((first.folder, checkpoint.folders(first.folder)[-1])):
        second = begun([*words, f"--name=second{number}", f"--start={start}", "--seed=5"])
        assert equal(weights_of(second), content["best"])
        assert (second.learner.decisions, second.best_at) == (0, 0)
        assert equal(second.best, content["best"])


@pytest.mark.parametrize("oracles", [(False, True), (True, False)])
def test_a_start_may_lack_or_bring_a_critic_that_sees_everything(oracles: tuple[bool, bool], tmp_path: Path) -> None:
    words = [*TINY, f"--folder={tmp_path}", "--evaluation.every=0", "--decisions=300"]
    had, wants = (f"--learner.oracle={str(oracle).lower()}" for oracle in oracles)
    first = train([*words, "--name=first", had])
    kept = checkpoint.load(checkpoint.folders(first.folder)[-1])["best"]
    second = weights_of(begun([*words, "--name=second", wants, f"--start={first.folder}"]))
    assert all(th.equal(second[name], kept[name]) for name in second if not name.startswith("oracle."))


@pytest.mark.parametrize(
    ("network", "said"),
    [
        ("--network.widths=[8]", "whose network is another one; give the network.* of that run"),
        ("--network.widths=[16, 16]", "whose network is another one"),
        ("--start=nowhere", "checkpoint"),
    ],
)
def test_a_start_that_does_not_fit_is_one_sentence(
    network: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*TINY, f"--folder={tmp_path}", "--evaluation.every=0", "--decisions=300"]
    first = train([*words, "--name=first"])
    capsys.readouterr()
    assert selfplay.main([*words, "--name=second", f"--start={first.folder}", network]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert said in lines[0]
    # Nothing is in the way of the command that is right.
    assert not (tmp_path / "second").exists()


# --- the gate ---------------------------------------------------------------------------------------------


def gates(decisions: list[str], asked: list[tuple[Any, ...]]) -> Callable[..., Any]:
    """A gate that decides as told, and notes whom it was asked about."""

    def compare(network: th.nn.Module, rival: th.nn.Module, config: Config, at: int) -> Any:
        asked.append((*(next(each.parameters()).detach().clone() for each in (network, rival)), at))
        return SimpleNamespace(mean=0.5, deals=7, decision=decisions[len(asked) - 1])

    return compare


def test_only_weights_that_came_through_the_gate_are_exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []
    monkeypatch.setattr(training.run, "compare", gates(["not better", "better", "undecided", "undecided"], asked))
    words = [*TINY, f"--folder={tmp_path}", "--evaluation.every=1", "--evaluation.games=2", "--evaluation.gate=0.2"]
    words += ["--decisions=1500", "--evaluation.against=[random]", "--players=[3, 2]", "--learner.games=3"]
    run = train(words)
    rows = metrics.read(run.folder)
    at = [row["decisions"] for row in rows]
    assert len(at) == len(asked) + 1 == 5
    # The first match has no rival; then the second is refused, the third passes, the others don't.
    assert [row["gate/best_at"] for row in rows] == [at[0], at[0], at[2], at[2], at[2]]
    assert run.best_at == at[2]
    assert [th.equal(one[1], other[1]) for one, other in itertools.pairwise(asked)] == [True, False, True]
    assert th.equal(asked[2][1], asked[1][0])
    assert th.equal(next(iter(run.best.values())), asked[1][0])
    # Who goes on from there keeps them.
    again = begun(words)
    assert again.best_at == at[2]
    assert equal(again.best, run.best)
    assert not equal(again.best, weights_of(again))
    assert [each[2] for each in asked] == at[1:]
    assert [("gate/win_share" in row, row.get("gate/deals")) for row in rows] == [(False, None)] + [(True, 7)] * 4


def test_without_a_gate_or_without_matches_the_newest_weights_are_exported(tmp_path: Path) -> None:
    for number, words in enumerate((["--evaluation.gate=0", "--evaluation.games=2"], ["--evaluation.every=0"])):
        run = train([*TINY, f"--folder={tmp_path}", f"--name={number}", "--decisions=300", "--learner.games=2", *words])
        assert run.best_at == run.learner.decisions
        assert equal(run.best, weights_of(run))


def test_the_gate_lets_only_the_better_one_through_at_all_numbers_of_players(monkeypatch: pytest.MonkeyPatch) -> None:
    config = parse([*TINY, "--players=[2, 3]", "--evaluation.gate=0.1"])
    learner = PPO(config)
    network = learner.network
    # Against copies of itself it wins, over all seats of a deal, exactly the share of equals.
    verdict = gate.compare(network, network, config, 5)
    assert (verdict.decision, verdict.mean) == ("not better", pytest.approx(0.5, abs=1e-12))
    assert verdict.deals % 64 == 0
    strong, weak = GreedyAgent(), RandomAgent()
    for better in (True, False):
        pair = iter((strong, weak) if better else (weak, strong))
        monkeypatch.setattr(gate, "NetworkAgent", lambda network, name="", pair=pair: next(pair))
        verdict = gate.compare(network, network, config, 5)
        assert verdict.decision == ("better" if better else "not better")
        assert 0 <= verdict.mean <= 1
        assert (verdict.mean > 0.8) == better


@pytest.mark.parametrize(("share", "mean"), [(1.0, 1.0), (0.0, 0.125), (0.5, 0.5625)])
def test_win_shares_of_numbers_of_players_are_stretched_to_one_scale(
    share: float, mean: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, int, int]] = []

    def play_games(game: Any, players: int, options: Any, agent: Any, other: Any, deals: int, seed: int) -> Any:
        asked.append((players, deals, seed))
        seat = np.tile(np.arange(players), deals)
        return SimpleNamespace(seat=seat, share=np.where(np.arange(players) == seat[:, None], share, 9.0))

    monkeypatch.setattr(gate, "play_games", play_games)
    monkeypatch.setattr(
        gate, "decide", lambda figures, at, gain: SimpleNamespace(mean=figures.mean(), ended=len(asked) > 4)
    )
    config = parse([*TINY, "--players=[2, 3]"])
    # Of two 1/2 + (share - 1/2), of three 1/2 + (share - 1/3) 3/4.
    assert gate.compare(PPO(config).network, PPO(config).network, config, 5).mean == pytest.approx(mean)
    assert [(players, deals) for players, deals, _ in asked] == [(2, 64), (3, 64)] * 3
    assert len({seed for _, _, seed in asked}) == 3


def test_a_gate_that_never_decides_keeps_the_old_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "_MOST", 128)
    config = parse([*TINY, "--evaluation.gate=0.000001"])
    verdict = gate.compare(PPO(config).network, PPO(config).network, config, 5)
    assert verdict.decision not in ("better", "not better")
    assert verdict.deals == 128


# --- metrics ----------------------------------------------------------------------------------------------


def test_metrics_after_a_checkpoint_are_forgotten_and_only_finite_numbers_written(tmp_path: Path) -> None:
    (tmp_path / metrics.FILE).write_text('{"decisions": 5}\n{"decisions": 9}\n{"decisions": 12, "cut o')
    assert metrics.read(tmp_path) == [{"decisions": 5}, {"decisions": 9}]
    writer = metrics.Writer(tmp_path, 5)
    assert metrics.read(tmp_path) == [{"decisions": 5}]
    writer.write(7, {"b": np.float32(0.5), "a": float("nan"), "c": float("inf")})
    writer.close()
    assert metrics.read(tmp_path) == [{"decisions": 5}, {"decisions": 7, "b": 0.5}]
    assert metrics.read(tmp_path / "none") == []
