"""Training: credit per seat, networks, exact resume, export, configurations."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch as th
import yaml
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer

from spirits_env import GAMES, games
from spirits_env.agents.policy import PolicyAgent, read_card
from spirits_env.arena import evaluate
from spirits_env.batch import Batch
from spirits_env.sb3 import SelfPlayVecEnv
from training import checkpoint, metrics, selfplay
from training.agent import NetworkAgent
from training.buffer import SeatRolloutBuffer
from training.callbacks import DivergedError
from training.config import Config, LearnerConfig, NetworkConfig, dump, parse
from training.export import export, positions
from training.networks import TileNet, make_network
from training.policy import network_of

ROOT = Path(__file__).parent.parent
FOREST = games.load("forest")
TINY = [
    "--config",
    str(ROOT / "configs/forest.yaml"),
    "--config",
    str(ROOT / "configs/quick.yaml"),
    "--threads=1",
    "--progress=false",
]


def learner(players: int = 2, **changes: Any) -> tuple[MaskablePPO, SelfPlayVecEnv]:
    settings = {"lanes": 8, "steps": 256, "batch_size": 128, "epochs": 1, **changes}
    config = Config(
        players=players, threads=1, network=NetworkConfig(width=8, context=16), learner=LearnerConfig(**settings)
    )
    return selfplay.make_learner(config)


def filled(players: int = 2, **changes: Any) -> tuple[SeatRolloutBuffer, MaskablePPO, SelfPlayVecEnv]:
    model, env = learner(players, **changes)
    _, callback = model._setup_learn(1)
    model.collect_rollouts(env, callback, model.rollout_buffer, model.n_steps)
    assert isinstance(model.rollout_buffer, SeatRolloutBuffer)
    return model.rollout_buffer, model, env


def train(arguments: list[str]) -> None:
    config = parse(arguments)
    selfplay.train(config, selfplay.open_run(config))


# --- credit -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("players", [2, 3, 4])
def test_each_decision_is_credited_with_its_own_seats_outcome(players: int) -> None:
    buffer, _, _ = filled(players, gae_lambda=1.0)
    checked = 0
    for lane in range(buffer.n_envs):
        outcome = None
        for step in reversed(range(buffer.buffer_size)):
            if buffer.ends[step, lane]:
                outcome = buffer.outcomes[step, lane]
            if outcome is not None:
                assert buffer.kept[step, lane]
                assert buffer.returns[step, lane] == pytest.approx(outcome[buffer.seats[step, lane]], abs=1e-5)
                checked += 1
    assert checked > 500


def test_the_stock_buffer_pays_the_loser_like_the_winner_and_ours_does_not() -> None:
    ours, _, env = filled(gae_lambda=1.0)
    stock = MaskableRolloutBuffer(256, env.observation_space, env.action_space, "cpu", 1.0, 1.0, 8)
    stock.values, stock.full = ours.values, True
    stock.rewards, stock.episode_starts = ours.rewards, ours.episode_starts
    stock.compute_returns_and_advantage(th.zeros(8, 1), env.dones)
    wrong = 0
    for lane in range(8):
        ends = np.flatnonzero(ours.ends[:, lane])
        before = slice(0, ends[0] + 1)
        losers = ours.outcomes[ends[0], lane, ours.seats[before, lane]] < -0.5
        wrong += int((np.sign(stock.returns[before, lane][losers]) > 0).sum())
        assert (ours.returns[before, lane][losers] < 0).all()
    assert wrong > 0


def test_a_hand_made_rollout_with_three_seats() -> None:
    # Seats 0 0 1 2 0 | end, then 1 0 cut off with seat 0 to act; gamma 1, lambda 0.5, all by hand.
    env = SelfPlayVecEnv("forest", 1, 3)
    env.seed(1)
    env.reset()
    buffer = SeatRolloutBuffer(7, env.observation_space, env.action_space, "cpu", 0.5, 1.0, 1, env=env)
    values = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
    seats = [0, 0, 1, 2, 0, 1, 0]
    mask = np.ones((1, 59), np.bool_)
    for step in range(7):
        env.acted, env.dones = np.array([seats[step]]), np.array([step == 4])
        env.outcomes = np.array([[1.0, -0.5, -0.5]], np.float32)
        buffer.add(
            np.zeros((1, env.batch.game.layout.size)), np.array([[0]]), np.zeros(1), np.zeros(1),
            th.tensor([[values[step]]]), th.tensor([0.0]), action_masks=mask,
        )  # fmt: skip
    env.batch.seat[:] = 0
    buffer.compute_returns_and_advantage(th.tensor([[0.9]]), np.array([False]))
    last = 0.9 - 0.7  # seat 0, bootstrapped
    fifth = 1.0 - 0.5
    second = (0.5 - 0.2) + 0.5 * fifth
    first = (0.2 - 0.1) + 0.5 * second
    expected = [first, second, -0.5 - 0.3, -0.5 - 0.4, fifth, 0.0, last]
    np.testing.assert_allclose(buffer.advantages[:, 0], expected, rtol=1e-5)
    assert buffer.kept[:, 0].tolist() == [True] * 5 + [False, True]


def test_minibatches_hold_each_kept_decision_once_and_nothing_else() -> None:
    buffer, _, _ = filled(3)
    kept = int(buffer.kept.sum())
    assert kept < buffer.kept.size
    sizes = [len(batch.actions) for batch in buffer.get(100)]
    assert sum(sizes) == kept
    assert max(sizes) - min(sizes) <= 1


def test_log_probabilities_before_the_first_update_are_those_of_acting() -> None:
    buffer, model, _ = filled()
    for batch in buffer.get(256):
        _, log_prob, _ = model.policy.evaluate_actions(
            batch.observations, batch.actions.long().flatten(), action_masks=batch.action_masks
        )
        np.testing.assert_allclose((log_prob - batch.old_log_prob).exp().detach().numpy(), 1.0, atol=1e-5)


def test_a_stored_action_must_be_legal_under_the_stored_mask() -> None:
    _, model, _ = filled()
    buffer = model.rollout_buffer
    buffer.reset()
    mask = np.ones((8, 59), np.bool_)
    mask[3, 7] = False
    with pytest.raises(ValueError, match="not legal under the mask"):
        buffer.add(np.zeros((8, 1)), np.full((8, 1), 7), action_masks=mask)


def test_all_seats_are_data() -> None:
    buffer, _, _ = filled(4)
    counts = np.bincount(buffer.seats[buffer.kept], minlength=4) / buffer.kept.sum()
    assert counts.min() > 0.2


def test_a_single_legal_action_gives_finite_gradients() -> None:
    _, model, _ = filled()
    observation = th.zeros(2, FOREST.layout.size)
    mask = th.zeros(2, 59)
    mask[:, 58] = 1
    values, log_prob, entropy = model.policy.evaluate_actions(observation, th.tensor([58, 58]), mask)
    assert entropy is not None
    (values.sum() + log_prob.sum() + entropy.sum()).backward()
    assert all(w.grad is None or th.isfinite(w.grad).all() for w in model.policy.parameters())


# --- networks ---------------------------------------------------------------------------------------------


def mirrored(observation: np.ndarray, rows: list[int], flips: list[bool]) -> np.ndarray:
    other = observation.copy()
    size = sum(part.size for part in FOREST.layout.slices if part.shape[-1] == 48)
    planes = observation[:, :size].reshape(len(observation), -1, 4, 12)[:, :, rows]
    planes = np.stack([planes[:, :, r, ::-1] if flip else planes[:, :, r] for r, flip in enumerate(flips)], axis=2)
    other[:, :size] = planes.reshape(len(observation), size)
    return other


def test_the_tile_network_is_equivariant_to_rows_permuted_and_reversed() -> None:
    th.manual_seed(0)
    network = TileNet(FOREST)
    for weights in network.parameters():
        th.nn.init.normal_(weights, std=0.1)
    observation, _ = positions(FOREST, 2, 40, seed=3)
    rows, flips = [2, 0, 3, 1], [True, False, True, False]
    with th.no_grad():
        logits, value = network(th.as_tensor(observation))
        moved, same_value = network(th.as_tensor(mirrored(observation, rows, flips)))
    np.testing.assert_allclose(value, same_value, atol=1e-4)
    np.testing.assert_allclose(logits[:, 56:], moved[:, 56:], atol=1e-4)
    cells = logits[:, 8:56].reshape(-1, 4, 12)[:, rows]
    cells = th.stack([cells[:, r].flip(1) if flip else cells[:, r] for r, flip in enumerate(flips)], dim=1)
    np.testing.assert_allclose(cells.reshape(-1, 48), moved[:, 8:56], atol=1e-4)
    ends = logits[:, :8].reshape(-1, 4, 2)[:, rows]
    ends = th.stack([ends[:, r].flip(1) if flip else ends[:, r] for r, flip in enumerate(flips)], dim=1)
    # The end actions of an empty row mean nothing.
    left = th.as_tensor(observation[:, :48].reshape(-1, 4, 12).any(axis=2))[:, rows].repeat_interleave(2, dim=1)
    np.testing.assert_allclose(ends.reshape(-1, 8)[left], moved[:, :8][left], atol=1e-4)


@pytest.mark.parametrize("kind", ["tiles", "mlp"])
def test_an_exported_policy_equals_torch_and_plays_the_same(kind: str, tmp_path: Path) -> None:
    th.manual_seed(1)
    network = make_network(kind, FOREST)
    for weights in network.parameters():
        weights.data += 0.05 * th.randn_like(weights)
    card = selfplay.make_card("forest", [2, 3], {}, "test", {"decisions": 0}, {})
    path = tmp_path / "policy.onnx"
    assert export(network, FOREST, 2, card, path) < 1e-5
    assert read_card(path)["players"] == [2, 3]
    batch = Batch("forest", 30, 3)
    batch.reset(range(30))
    agent, same = PolicyAgent(path), NetworkAgent(network)
    for _ in range(40):
        actions = batch.ask(agent, batch.lanes)
        np.testing.assert_array_equal(actions, batch.ask(same, batch.lanes))
        batch.step(actions)
    assert not list(tmp_path.glob("*.part"))


def test_an_unknown_network_is_refused() -> None:
    with pytest.raises(ValueError, match="tiles, mlp"):
        make_network("transformer", FOREST)


# --- a whole run ------------------------------------------------------------------------------------------


def run_weights(folder: Path) -> dict[str, th.Tensor]:
    content = th.load(checkpoint.folders(folder)[-1] / checkpoint.FILE, weights_only=True)
    policy: dict[str, th.Tensor] = content["policy"]
    return policy


def same(one: dict[str, th.Tensor], other: dict[str, th.Tensor]) -> bool:
    return all(th.equal(one[key], other[key]) for key in one)


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    assert selfplay.main([*TINY, f"--folder={folder}", "--name=whole"]) == 0
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
    assert list((whole_run / "tensorboard").iterdir())
    assert [len(list(folder.iterdir())) for folder in checkpoint.folders(whole_run)] == [2, 2]
    assert yaml.safe_load((whole_run / "config.yaml").read_text())["learner"]["lanes"] == 8
    assert read_card(whole_run / "policy.onnx")["training"]["decisions"] == 2048
    rows = metrics.read(whole_run)
    assert [row["decisions"] for row in rows] == sorted(row["decisions"] for row in rows)
    assert {"match/win_share_greedy", "train/approx_kl", "rollout/games"} <= {key for row in rows for key in row}
    results = json.loads((whole_run / "evaluation.json").read_text())
    assert [match["illegal"] for result in results for match in result["matches"]] == [0, 0, 0, 0]
    report = (whole_run / "report.md").read_text()
    assert "| whole | greedy |" in " ".join(report.split())
    assert "whole:sample" in report


def test_the_resolved_configuration_reads_back_as_itself(whole_run: Path) -> None:
    text = (whole_run / "config.yaml").read_text()
    assert dump(parse(["--config", str(whole_run / "config.yaml")])) == text


def test_a_finished_run_is_not_overwritten(whole_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert selfplay.main([*TINY, f"--folder={whole_run.parent}", "--name=whole"]) == 2
    assert "holds a finished run" in capsys.readouterr().err


def test_same_seed_same_weights_and_another_seed_others(whole_run: Path, tmp_path: Path) -> None:
    train([*TINY, f"--folder={tmp_path}", "--evaluation.every=0", "--name=again"])
    train([*TINY, f"--folder={tmp_path}", "--evaluation.every=0", "--name=other", "--seed=2"])
    assert same(run_weights(whole_run), run_weights(tmp_path / "again"))
    assert not same(run_weights(whole_run), run_weights(tmp_path / "other"))


@pytest.mark.skipif(os.name == "nt", reason="SIGTERM can't be caught on Windows")
def test_a_terminated_run_goes_on_exactly_as_if_it_had_not_been(tmp_path: Path) -> None:
    # Many rollouts, so that the signal comes in mid-run however busy the machine is.
    arguments = [*TINY, f"--folder={tmp_path}", "--decisions=8192", "--evaluation.every=0"]
    train([*arguments, "--name=whole"])
    process = subprocess.Popen([sys.executable, "-m", "training.selfplay", *arguments, "--name=killed"], cwd=ROOT)
    path = tmp_path / "killed" / "metrics.jsonl"
    deadline = time.monotonic() + 120
    while not (path.is_file() and path.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    assert process.wait(120) == selfplay.INTERRUPTED
    assert int(checkpoint.folders(tmp_path / "killed")[-1].name) < 8192
    train([*arguments, "--name=killed"])
    assert same(run_weights(tmp_path / "whole"), run_weights(tmp_path / "killed"))
    # The last dump comes before the last update, and once more after it.
    assert [row["decisions"] for row in metrics.read(tmp_path / "killed")] == [*range(512, 8193, 512), 8192]


def test_a_run_is_not_continued_under_another_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "config.yaml").write_text(dump(Config(players=3)))
    assert selfplay.main([*TINY, f"--folder={tmp_path}", "--name=x"]) == 2
    assert "other values of players" in capsys.readouterr().err


def test_a_damaged_checkpoint_is_refused_by_name(whole_run: Path) -> None:
    model, env = selfplay.make_learner(parse(["--config", str(whole_run / "config.yaml")]))
    folder = whole_run.parent / "damaged"
    folder.mkdir()
    good = (checkpoint.folders(whole_run)[-1] / checkpoint.FILE).read_bytes()
    for size in (0, 100, len(good) // 2):
        (folder / checkpoint.FILE).write_bytes(good[:size])
        with pytest.raises(ValueError, match="can't be loaded"):
            checkpoint.load(model, env, folder)


def test_weights_that_are_not_finite_stop_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def spoil(model: MaskablePPO) -> None:
        with th.no_grad():
            next(model.policy.parameters())[0] = th.nan

    monkeypatch.setattr(MaskablePPO, "train", spoil)
    with pytest.raises(DivergedError, match="not finite"):
        train([*TINY, f"--folder={tmp_path}", "--name=nan"])


def test_metrics_after_a_checkpoint_are_forgotten(tmp_path: Path) -> None:
    (tmp_path / metrics.FILE).write_text('{"decisions": 5}\n{"decisions": 9}\n{"decisions": 12, "cut o')
    metrics.cut(tmp_path, 5)
    assert metrics.read(tmp_path) == [{"decisions": 5}]


@pytest.mark.parametrize(
    "bad",
    [
        ["--learner.stepz=3"],
        ["--learner.steps=many"],
        ["--learner.steps=0"],
        ["--players=7"],
        ["--players=1"],
        ["--game=chess"],
        ["--options.colour=red"],
        ["--network.kind=transformer"],
        ["--game=wild", "--network.kind=tiles"],
        ["--game=wild", "--options.powers=real"],
        ["--name=../elsewhere"],
        ["--learner.gamma=1.5"],
        ["--config=missing.yaml"],
    ],
)
def test_a_bad_configuration_is_one_line_and_code_2(bad: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        parse(bad)
    assert stopped.value.code == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_an_unknown_key_in_a_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.yaml").write_text("lerner:\n  lanes: 3\n")
    with pytest.raises(SystemExit):
        parse(["--config", str(tmp_path / "c.yaml")])
    assert "lerner" in capsys.readouterr().err


# That of the exploiter is for another command.
SHIPPED = sorted(path for path in (ROOT / "configs").glob("*.yaml") if path.stem != "exploiter")


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_every_shipped_configuration_parses(path: Path) -> None:
    parse(["--config", str(ROOT / "configs/forest.yaml"), "--config", str(path)])


@pytest.mark.parametrize("game", GAMES)
def test_naming_a_game_is_enough_for_its_name_and_a_network_that_fits(game: str) -> None:
    config = parse([f"--game={game}"])
    assert config.name == game
    assert config.network.kind == ("tiles" if games.load(game).board else "mlp")
    make_network(config.network.kind, games.load(game), **config.network.sizes())


def test_a_run_of_a_game_without_a_board_goes_through_every_step_and_says_its_remarks(tmp_path: Path) -> None:
    shipped = [f"--config={ROOT / 'configs' / name}.yaml" for name in ("wild", "quick")]
    assert selfplay.main([*shipped, f"--folder={tmp_path}", "--threads=1", "--progress=false"]) == 0
    report = (tmp_path / "quick" / "report.md").read_text(encoding="utf-8")
    assert "house powers" in report
    card = read_card(tmp_path / "quick" / "policy.onnx")
    assert (card["game"], card["training"]["network"]) == ("wild", "mlp")
    assert card["remarks"][0].startswith("house powers")


# --- learning ---------------------------------------------------------------------------------------------


def test_self_play_learns_to_win(tmp_path: Path) -> None:
    config = parse(
        [*TINY, f"--folder={tmp_path}", "--decisions=20480", "--learner.lanes=32", "--learner.batch_size=256",
         "--learner.epochs=4", "--network.width=16", "--network.context=32", "--evaluation.every=0"]
    )  # fmt: skip
    model, _ = selfplay.make_learner(config)
    before = evaluate(NetworkAgent(network_of(model)), "random", games=200).matches[0]
    trained, _ = selfplay.train(config, selfplay.open_run(config))
    after = evaluate(NetworkAgent(network_of(trained)), "random", games=200).matches[0]
    assert after.share.mean > max(0.75, before.share.mean)
    assert after.margin is not None
    assert before.margin is not None
    assert after.margin.mean > before.margin.mean + 3


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_validated_distributions_hold_over_200_000_decisions(tmp_path: Path) -> None:
    # sb3-contrib once raised "Simplex" errors from rounding after about as many; validation is never switched off.
    config = parse(
        [
            *(*TINY, f"--folder={tmp_path}", "--decisions=204800", "--learner.lanes=64", "--learner.batch_size=512"),
            *("--network.kind=mlp", "--network.hidden=[64]", "--evaluation.every=0", "--checkpoint_every=1000000"),
        ]
    )
    model, _ = selfplay.train(config, selfplay.open_run(config))
    assert model.num_timesteps >= 204800
    assert th.distributions.Distribution._validate_args
