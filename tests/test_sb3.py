"""The self-play VecEnv: every decision of every seat is data, with the mover's view, mask and outcomes."""

from __future__ import annotations

import numpy as np
import pytest
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.vec_env import VecMonitor

from spirits_env.batch import Batch
from spirits_env.game import IllegalAction, choose_uniform
from spirits_env.sb3 import SelfPlayVecEnv


def seeded(lanes: int = 4, players: int = 2, seed: int = 5, **options: object) -> SelfPlayVecEnv:
    env = SelfPlayVecEnv("forest", lanes, players, **options)  # type: ignore[arg-type]
    env.seed(seed)
    env.reset()
    return env


def random_actions(env: SelfPlayVecEnv, rng: np.random.Generator) -> np.ndarray:
    return np.array([rng.choice(np.flatnonzero(mask)) for mask in get_action_masks(env)])


@pytest.mark.parametrize("players", [2, 3, 4])
def test_lanes_play_the_games_of_their_seeds(players: int) -> None:
    env, batch = seeded(6, players), Batch("forest", 6, players)
    batch.reset(range(5, 11))
    chance = batch.chance[:, 0].copy()
    actions = np.empty(6, np.int64)
    for _ in range(400):
        np.testing.assert_array_equal(env.batch.observation, batch.observation)
        np.testing.assert_array_equal(get_action_masks(env), batch.mask.astype(bool))
        choose_uniform(chance, batch.mask, actions)
        mover = batch.seat.copy()
        batch.step(actions)
        observation, rewards, dones, infos = env.step(actions)
        np.testing.assert_array_equal(dones, batch.done)
        np.testing.assert_array_equal(env.acted, mover)
        for lane in np.flatnonzero(batch.done):
            assert rewards[lane] == batch.utility[lane, mover[lane]]
            assert infos[lane]["scores"] == batch.points[lane, :players].tolist()
            assert sum(infos[lane]["returns"]) == pytest.approx(0, abs=1e-6)
            assert infos[lane]["terminal_observation"].shape == observation[lane].shape
            assert infos[lane]["TimeLimit.truncated"] is False
        assert all(info == {} for lane, info in enumerate(infos) if not dones[lane])
        batch.reset(lanes=np.flatnonzero(batch.done))


def test_every_seat_hears_of_the_outcome() -> None:
    env, rng = seeded(8, 3), np.random.default_rng(0)
    games = 0
    while games < 20:
        _, rewards, dones, _ = env.step(random_actions(env, rng))
        for lane in np.flatnonzero(dones):
            games += 1
            assert env.outcomes[lane].sum() == pytest.approx(0, abs=1e-6)
            assert env.outcomes[lane].min() < env.outcomes[lane].max()
            assert rewards[lane] == env.outcomes[lane, env.acted[lane]]


def test_margin_is_mixed_into_the_utilities() -> None:
    env, rng = seeded(8, 2, margin_weight=0.25, margin_scale=10.0), np.random.default_rng(0)
    seen = 0
    while seen < 5:
        _, _, dones, infos = env.step(random_actions(env, rng))
        for lane in np.flatnonzero(dones):
            seen += 1
            mine, other = infos[lane]["scores"]
            expected = 0.75 * infos[lane]["returns"][0] + 0.25 * np.tanh((mine - other) / 10)
            assert env.outcomes[lane, 0] == pytest.approx(expected, rel=1e-5)


def test_returned_arrays_are_fresh() -> None:
    env, rng = seeded(), np.random.default_rng(0)
    observation, _, _, _ = env.step(random_actions(env, rng))
    masks = get_action_masks(env)
    kept, kept_masks = observation.copy(), masks.copy()
    env.step(random_actions(env, rng))
    np.testing.assert_array_equal(observation, kept)
    np.testing.assert_array_equal(masks, kept_masks)
    observation[:] = 1
    assert not (env.batch.observation == 1).all()


def test_masks_are_repeatable_and_change_nothing() -> None:
    env = seeded()
    before = env.snapshot()
    first = get_action_masks(env)
    for _ in range(3):
        np.testing.assert_array_equal(get_action_masks(env), first)
    after = env.snapshot()
    assert all(np.array_equal(before[key], after[key]) for key in before)
    assert first.dtype == np.bool_
    assert first.shape == (4, env.action_space.n)  # type: ignore[attr-defined]


def test_an_illegal_action_in_one_lane_plays_nothing_in_any() -> None:
    env = seeded()
    before = env.snapshot()
    actions = get_action_masks(env).argmax(axis=1)
    actions[2] = get_action_masks(env)[2].argmin()
    with pytest.raises(IllegalAction, match="In game 2"):
        env.step(actions)
    after = env.snapshot()
    assert all(np.array_equal(before[key], after[key]) for key in before)


@pytest.mark.parametrize(
    "bad", [{"num_envs": 0}, {"players": 5}, {"margin_weight": 2.0}, {"margin_scale": 0.0}, {"x": 1}]
)
def test_bad_arguments_are_refused(bad: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r".+"):
        SelfPlayVecEnv("forest", **bad)  # type: ignore[arg-type]


def test_snapshots_go_on_with_the_same_games() -> None:
    env, rng = seeded(), np.random.default_rng(0)
    for _ in range(30):
        env.step(random_actions(env, rng))
    snapshot = env.snapshot()
    other = SelfPlayVecEnv("forest", 4, 2)
    other.restore(snapshot)
    for _ in range(200):
        actions = random_actions(env, rng)
        one, two = env.step(actions), other.step(actions)
        np.testing.assert_array_equal(one[0], two[0])
        np.testing.assert_array_equal(one[1], two[1])
    with pytest.raises(ValueError, match="another batch"):
        SelfPlayVecEnv("forest", 5, 2).restore(snapshot)


def test_stock_maskable_ppo_runs_on_it_behind_a_monitor() -> None:
    env = VecMonitor(SelfPlayVecEnv("forest", 8, 2))
    assert is_masking_supported(env)
    model = MaskablePPO("MlpPolicy", env, n_steps=32, batch_size=64, n_epochs=1, seed=0, device="cpu")
    model.learn(2048)
    assert model.num_timesteps == 2048


def test_unseeded_games_differ_between_environments() -> None:
    one, other = SelfPlayVecEnv("forest", 2), SelfPlayVecEnv("forest", 2)
    assert not np.array_equal(one.reset(), other.reset())
    again = one.reset()
    assert not np.array_equal(again[0], again[1])
