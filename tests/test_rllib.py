"""Training on Ray RLlib: masked as our networks are, credited per seat, and a whole run from start to judged policy."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch as th
import yaml

from spirits_env import games
from spirits_env.agents.policy import PolicyAgent, read_card
from spirits_env.arena import evaluate

pytest.importorskip("ray", reason="Ray RLlib has an environment of its own: make test-rllib")
# Ray and what it imports are full of deprecations.
pytestmark = pytest.mark.filterwarnings("ignore")

from ray.rllib.core.columns import Columns  # noqa: E402
from ray.rllib.env.multi_agent_env_runner import MultiAgentEnvRunner  # noqa: E402
from ray.rllib.evaluation.postprocessing import Postprocessing  # noqa: E402

from training import rllib_selfplay as rllib  # noqa: E402
from training.config import NetworkConfig, parse  # noqa: E402
from training.export import positions  # noqa: E402
from training.learner import DivergedError  # noqa: E402
from training.networks import make_network  # noqa: E402

# Threads that wait for each other's cores are slower than one.
th.set_num_threads(1)

ROOT = Path(__file__).parent.parent
FOREST = games.load("forest")
TINY = [
    f"--config={ROOT / 'configs/rllib_forest.yaml'}",
    "--decisions=2048",
    "--checkpoint_every=1000",
    "--network.kind=mlp",
    "--network.widths=[16]",
    "--play.lanes=8",
    "--learner.batch_size=1024",
    "--learner.minibatch_size=256",
    "--learner.epochs=1",
    "--evaluation.every=1024",
    "--evaluation.games=4",
    "--evaluation.final_games=20",
]
LOG: list[list[tuple[int, int, np.ndarray]]] = []
OUTCOMES: list[list[float]] = []


class RecordingEnv(rllib.SeatsEnv):
    """Keeps what was decided in each game, and how it ended."""

    def reset(self, **arguments: Any) -> Any:
        self.game: list[tuple[int, int, np.ndarray]] = []
        LOG.append(self.game)
        OUTCOMES.append([])
        self.number = len(LOG) - 1
        return super().reset(**arguments)

    def step(self, action_dict: Any) -> Any:
        ((agent, action),) = action_dict.items()
        seat = self._state.seat
        assert agent == f"player_{seat}"
        assert self._state.mask()[action]
        self.game.append((seat, int(action), self._state.observation(seat)))
        answer = super().step(action_dict)
        if self._state.seat < 0:
            OUTCOMES[self.number] = self._state.returns()
        return answer


def settings(players: int = 2, lanes: int = 4, batch: int = 600, **learner: Any) -> rllib.RLlibConfig:
    return rllib.RLlibConfig(
        players=players,
        network=NetworkConfig(kind="mlp", widths=(16,)),
        play=rllib.PlayConfig(runners=0, lanes=lanes),
        learner=rllib.LearnConfig(batch_size=batch, minibatch_size=100, epochs=1, **learner),
    )


@pytest.fixture(scope="module")
def ray_here() -> Iterator[None]:
    with rllib.cluster(settings()):
        yield


def sampled(config: rllib.RLlibConfig, rounds: int) -> tuple[MultiAgentEnvRunner, list[Any]]:
    """Some rollouts, each cut where its batch is full, of games that are kept in LOG and OUTCOMES."""
    LOG.clear()
    OUTCOMES.clear()
    made = rllib.make_algorithm_config(config)
    made.environment(RecordingEnv, env_config=made.env_config)
    runner = MultiAgentEnvRunner(config=made, worker_index=0)
    return runner, [episode for _ in range(rounds) for episode in runner.sample()]


# --- masking ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["mlp", "tiles"])
def test_the_module_gives_our_networks_probabilities_over_legal_actions(kind: str) -> None:
    views = rllib.SeatsEnv({"game": "forest", "players": 2, "options": {}})
    module = rllib.SeatsModule(
        observation_space=views.observation_spaces["player_0"],
        action_space=views.action_spaces["player_0"],
        model_config={"game": "forest", "kind": kind, "sizes": {}},
    )
    network = make_network(kind, FOREST)
    network.load_state_dict(module.network.state_dict())
    observation, mask = (th.as_tensor(array) for array in positions(FOREST, 2, 40, seed=1))
    batch = {Columns.OBS: {"observations": observation, "action_mask": mask}}
    with th.no_grad():
        logits, value = network(observation)
        given = {name: getattr(module, f"forward_{name}")(batch) for name in ("inference", "exploration", "train")}
    for outputs in given.values():
        distribution = module.get_exploration_action_dist_cls().from_logits(outputs[Columns.ACTION_DIST_INPUTS])
        for row in range(40):
            legal = np.flatnonzero(mask[row])
            expected = th.log_softmax(logits[row, legal], dim=0)
            found = [distribution.logp(th.full((40,), int(action)))[row] for action in legal]
            th.testing.assert_close(th.stack(found), expected)
            assert distribution.entropy()[row] == pytest.approx(-(expected.exp() * expected).sum().item(), abs=1e-5)
    th.testing.assert_close(module.compute_values(batch), value)
    assert module.compute_values(batch, given["train"][Columns.EMBEDDINGS]) is given["train"][Columns.EMBEDDINGS]


# --- games and credit -------------------------------------------------------------------------------------


def test_the_environment_plays_the_games_of_the_rules() -> None:
    env = rllib.SeatsEnv({"game": "forest", "players": 3, "options": {}})
    rng = np.random.default_rng(0)
    view, _ = env.reset(seed=5)
    state = env._state.copy()
    over = False
    while not over:
        ((agent, seen),) = view.items()
        assert agent == f"player_{state.seat}"
        assert env.observation_spaces[agent].contains(seen)
        np.testing.assert_array_equal(seen["observations"], state.observation(state.seat))
        np.testing.assert_array_equal(seen["action_mask"], state.mask())
        action = int(rng.choice(state.legal_actions()))
        state.play(action)
        view, rewards, terminated, truncated, _ = env.step({agent: action})
        over = terminated["__all__"]
        assert truncated == {"__all__": False}
        assert over or (set(rewards) == set(view) and not any(rewards.values()))
    assert set(view) == set(rewards) == set(env.possible_agents)
    for seat, agent in enumerate(env.possible_agents):
        np.testing.assert_array_equal(view[agent]["observations"], state.observation(seat))
        assert not view[agent]["action_mask"].any()
    assert rewards == dict(zip(env.possible_agents, state.returns(), strict=True))


def test_lanes_and_runners_have_deals_of_their_own() -> None:
    class Settings(dict):  # type: ignore[type-arg]
        worker_index = 0

    dealt = set()
    for runner in range(3):
        given = Settings(game="forest", players=2, options={})
        given.worker_index = runner
        for lane in range(3):
            env = rllib.SeatsEnv(given)
            # RLlib's seed of a runner is the run's plus the runner's index; its lanes count on from there.
            env.reset(seed=100 + runner + lane)
            dealt.add(json.dumps(env._state.setup()))
            env.reset()
            dealt.add(json.dumps(env._state.setup()))
    assert len(dealt) == 18


@pytest.mark.parametrize("players", [2, 3, 4])
def test_every_decision_is_data_once_and_each_seat_hears_of_its_own_outcome(players: int, ray_here: None) -> None:
    # Batches of 50 cut the games of 4 lanes in many places, often while seats wait for their next turn.
    runner, episodes = sampled(settings(players, batch=50), rounds=30)
    decisions: dict[str, dict[int, list[tuple[int, np.ndarray]]]] = defaultdict(lambda: defaultdict(list))
    rewards: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    ended = {}
    for episode in episodes:
        for agent, own in episode.agent_episodes.items():
            seat = int(agent.removeprefix("player_"))
            actions, views = own.get_actions(), own.get_observations(slice(0, len(own)))
            assert views["action_mask"][np.arange(len(own)), actions].all()
            decisions[episode.id_][seat] += zip(actions.tolist(), views["observations"], strict=True)
            rewards[episode.id_][seat] += own.get_rewards().tolist()
            if own.is_terminated:
                ended[episode.id_, seat] = True
    matched = 0
    for log, outcome in zip(LOG, OUTCOMES, strict=True):
        if not outcome:
            continue
        per_seat = {seat: [(a, o) for s, a, o in log if s == seat] for seat in range(players)}
        (game,) = [key for key in decisions if same(decisions[key], per_seat)]
        for seat in range(players):
            given = rewards[game][seat]
            assert given[-1] == pytest.approx(outcome[seat])
            assert not any(given[:-1])
            assert ended[game, seat]
        matched += 1
    assert matched >= 8
    runner.stop()


def same(found: Any, expected: Any) -> bool:
    return all(
        len(found[seat]) == len(own)
        and all(a == b and np.array_equal(x, y) for (a, x), (b, y) in zip(found[seat], own, strict=True))
        for seat, own in expected.items()
    )


def test_what_is_learned_from_is_each_seats_own_outcome(tmp_path: Path, ray_here: None) -> None:
    # With discount and trace 1 the target of every decision of a finished game is its seat's outcome. The second
    # rollout starts within games, where all seats but one have a decision waiting for what comes of it.
    config = settings(lanes=8, batch=1000, gae_lambda=1.0)
    runner, _ = sampled(config, rounds=1)
    episodes = runner.sample()
    run = rllib.Run(config, tmp_path)
    learner = run.algorithm.learner_group._learner
    learner.module[rllib.MODULE].load_state_dict(runner.module[rllib.MODULE].state_dict())
    batch = learner._learner_connector(rl_module=learner.module, batch={}, episodes=episodes, shared_data={})
    data = batch[rllib.MODULE]
    valid, targets = data[Columns.LOSS_MASK].numpy(), data[Postprocessing.VALUE_TARGETS].numpy()
    stops = np.flatnonzero(~valid)
    starts = np.concatenate([[0], stops[:-1] + 1])
    checked, signs = 0, set()
    for start, stop in zip(starts, stops, strict=True):
        # Each seat's part of a game ends with one step that RLlib adds for the value to go on from.
        if data[Columns.TERMINATEDS][stop - 1]:
            outcome = float(data[Columns.REWARDS][start:stop].sum())
            np.testing.assert_allclose(targets[start:stop], outcome, atol=1e-5)
            checked += stop - start
            signs.add(outcome)
    assert checked > 400
    assert signs >= {-1.0, 1.0}
    views = data[Columns.OBS]
    with th.no_grad():
        logits, _ = learner.module[rllib.MODULE].network(views["observations"])
    logits = logits.masked_fill(views["action_mask"] == 0, -th.inf)
    logp = th.log_softmax(logits, dim=1).gather(1, data[Columns.ACTIONS].long().unsqueeze(1)).squeeze(1)
    np.testing.assert_allclose(data[Columns.ACTION_LOGP].numpy()[valid], logp.numpy()[valid], atol=1e-5)
    runner.stop()
    run.close()


def test_weights_that_are_not_finite_are_never_saved(tmp_path: Path, ray_here: None) -> None:
    run = rllib.Run(settings(), tmp_path)
    weights = run.algorithm.learner_group.get_weights()
    next(iter(weights[rllib.MODULE].values()))[:] = np.nan
    run.algorithm.learner_group.set_weights(weights)
    with pytest.raises(DivergedError, match="are not finite; lower learner"):
        run.save()
    assert run.checkpoints() == []
    run.close()


# --- a run ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was interrupted after its first update, taken up again by the same command, and finished."""
    folder = tmp_path_factory.mktemp("rllib")
    command = [sys.executable, "-m", "training.rllib_selfplay", *TINY, f"--folder={folder}", "--name=tiny"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        assert first.split()[1] == "decisions,"
        process.send_signal(signal.SIGTERM)
        rest = process.stdout.read()
    assert process.returncode == rllib.INTERRUPTED, rest
    assert "Stopped after" in rest
    (kept,) = (folder / "tiny/checkpoints").iterdir()
    assert 1024 <= int(kept.name) < 2048
    assert not (folder / "tiny/policy.onnx").exists()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert f"Going on from {kept} ({int(kept.name)} decisions)." in done.stdout
    return folder / "tiny"


def test_a_run_leaves_its_files(run: Path) -> None:
    assert {path.name for path in run.iterdir()} == {
        "checkpoints",
        "config.yaml",
        "evaluation.json",
        "metrics.jsonl",
        "policy.onnx",
        "report.md",
        "tensorboard",
    }
    known = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))
    assert known["learner"]["batch_size"] == 1024
    assert "| tiny:sample |" in (run / "report.md").read_text(encoding="utf-8")


def test_a_run_that_goes_on_counts_on(run: Path) -> None:
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["decisions"] // 1024 for row in rows] == [1, 2]
    # Schedules go on too: halfway from 1e-3 to 1e-4 after the first of two updates.
    assert rows[0]["train/learning_rate"] == pytest.approx(5.5e-4, rel=0.05)
    assert rows[1]["train/learning_rate"] == pytest.approx(1e-4)
    assert rows[1]["time/minutes"] > rows[0]["time/minutes"] > 0
    assert 0 <= rows[1]["match/win_share_random"] <= 1


def test_the_policy_is_that_of_the_last_checkpoint(run: Path, ray_here: None) -> None:
    card = read_card(run / "policy.onnx")
    assert (card["game"], card["players"], card["name"]) == ("forest", [2], "tiny")
    assert card["training"]["decisions"] >= 2048
    assert card["libraries"]["ray"].startswith("2.60.")
    config = rllib.RLlibConfig(**{**vars(parse(TINY, rllib.RLlibConfig)), "name": "tiny"})  # type: ignore[type-var]
    config.play.runners = 0
    taken_up = rllib.Run(config, run)
    observation, mask = positions(FOREST, 2, 40, seed=2)
    with th.no_grad():
        logits, value = taken_up.network()(th.as_tensor(observation))
    found, found_value = PolicyAgent(run / "policy.onnx").logits(observation, mask)
    np.testing.assert_allclose(found[mask != 0], logits.numpy()[mask != 0], atol=1e-4)
    np.testing.assert_allclose(found_value, value.numpy(), atol=1e-4)
    taken_up.close()


def test_the_policy_is_judged_by_the_arena(run: Path) -> None:
    told = json.loads((run / "evaluation.json").read_text(encoding="utf-8"))
    assert [match["opponent"] for match in told[0]["matches"]] == ["random", "greedy"]
    result = evaluate(str(run / "policy.onnx"), ["greedy"], games=20, seed=1)
    assert result.matches[0].share.mean == pytest.approx(told[0]["matches"][1]["share"]["mean"])


def test_the_policy_plays_in_the_environment_without_ray(run: Path) -> None:
    python = ROOT / ".venv/bin/python"
    if not python.exists():
        pytest.skip("there is no .venv here: make test makes it")
    code = (
        "import sys; from spirits_env.arena import evaluate;"
        f"result = evaluate({str(run / 'policy.onnx')!r}, ['greedy'], games=4, seed=1);"
        "assert 'ray' not in sys.modules; print(result.matches[0].share.mean)"
    )
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert 0 <= float(done.stdout) <= 1


def test_a_finished_run_is_not_overwritten(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert rllib.main([*TINY, f"--folder={run.parent}", "--name=tiny"]) == 2
    assert "holds a finished run" in capsys.readouterr().err


def test_a_run_of_other_values_is_not_gone_on_with(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = parse([*TINY, f"--folder={tmp_path}"], rllib.RLlibConfig)  # type: ignore[type-var]
    rllib.open_run(config)
    assert rllib.main([*TINY, f"--folder={tmp_path}", "--learner.epochs=2"]) == 2
    assert "other values of learner" in capsys.readouterr().err
    # Who plays may change from one machine to another.
    rllib.open_run(parse([*TINY, f"--folder={tmp_path}", "--play.runners=3"], rllib.RLlibConfig))  # type: ignore[type-var]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--learner.steps=3"], "steps"),
        (["--play.lanes=0"], "play.lanes was 0; give at least 1."),
        (["--players=1"], "players was 1; self-play needs at least 2 players."),
        (["--players=7"], "players was 7"),
        (["--learner.minibatch_size=5000"], "learner.minibatch_size was 5000; give from 1 to 1024."),
        (["--learner.batch_size=4"], "learner.batch_size was 4; give at least 8."),
        (["--learner.gamma=0"], "learner.gamma was 0.0; give from 1e-09 to 1."),
        (["--game=chess"], "chess"),
        (["--game=wild", "--network.kind=tiles"], "network.kind was 'tiles'"),
        (["--name=a/b"], "name was 'a/b'; give a plain folder name."),
    ],
)
def test_wrong_configurations_are_one_line_and_exit_code_2(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as error:
        parse([*TINY, *arguments], rllib.RLlibConfig)  # type: ignore[type-var]
    assert error.value.code == 2
    text = capsys.readouterr().err
    assert told in text
    assert text.count("\n") == 1


def test_a_cluster_of_ones_own_is_seen_by_nobody_and_leaves_nothing(tmp_path: Path) -> None:
    before = set(Path("/tmp").glob("ray-*"))
    code = (
        "import ray; from training import rllib_selfplay as rllib\n"
        "config = rllib.RLlibConfig(network=rllib.NetworkConfig(kind='mlp', widths=(4,)),"
        " play=rllib.PlayConfig(runners=0, lanes=1))\n"
        "with rllib.cluster(config):\n"
        "    assert ray.util.get_node_ip_address() == '127.0.0.1'\n"
        f"    rllib.Run(config, rllib.Path({str(tmp_path / 'run')!r})).close()\n"
        "assert not ray.is_initialized()"
    )
    (tmp_path / "run").mkdir()
    home = {**os.environ, "HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, env=home)
    assert done.returncode == 0, done.stderr
    # By the token its processes know each other; it is made once. The cache belongs to other libraries.
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")}
    assert {path for path in left if path.split("/")[0] not in ("run", ".cache")} == {".ray", ".ray/auth_token"}
    assert set(Path("/tmp").glob("ray-*")) <= before
