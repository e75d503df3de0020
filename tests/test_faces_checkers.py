"""The stock checkers of PettingZoo, Gymnasium and stable-baselines3 pass, with warnings as errors."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env as check_gymnasium_env
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, seed_test
from pettingzoo.test.render_test import render_test
from pettingzoo.test.state_test import state_test
from pettingzoo.utils.conversions import aec_to_parallel
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.env_checker import check_env as check_sb3_env
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv

from spirits_env import forest_v0

PLAYERS = (2, 3, 4)
FACES = (forest_v0.raw_env, forest_v0.env)
LEARNERS = (
    ("spirits/Forest-v0", {}),
    ("spirits/Forest-v0", {"players": 3, "seat": 2, "opponents": ["greedy", "random"]}),
    ("spirits/Forest-v0", {"players": 4, "seat": "rotate", "reward": "margin", "forced_steal": False}),
    ("spirits/ForestSolo-v0", {}),
    ("spirits/ForestSolo-v0", {"reward": "margin"}),
)


@pytest.mark.parametrize("players", PLAYERS)
@pytest.mark.parametrize("make", FACES)
def test_pettingzoo_api_test_passes(make, players):
    api_test(make(players=players), num_cycles=300)


@pytest.mark.parametrize("players", PLAYERS)
@pytest.mark.parametrize("make", FACES)
def test_pettingzoo_seed_test_passes(make, players):
    seed_test(lambda: make(players=players), num_cycles=50)


@pytest.mark.parametrize("players", PLAYERS)
@pytest.mark.parametrize("make", FACES)
def test_pettingzoo_render_test_passes(make, players):
    render_test(lambda render_mode: make(players=players, render_mode=render_mode))


@pytest.mark.parametrize("players", PLAYERS)
def test_pettingzoo_parallel_api_test_passes(players):
    parallel_api_test(forest_v0.parallel_env(players=players), num_cycles=300)


def test_pettingzoo_parallel_seed_test_passes():
    parallel_seed_test(lambda: forest_v0.parallel_env(players=3), num_cycles=20)


def test_pettingzoo_state_test_passes():
    state_test(forest_v0.env(players=3), forest_v0.parallel_env(players=3), num_cycles=20)


def test_a_turn_game_is_not_called_parallelizable():
    env = forest_v0.env()
    assert env.metadata["is_parallelizable"] is False
    with pytest.raises(AssertionError):
        aec_to_parallel(env)


@pytest.mark.parametrize(("name", "arguments"), LEARNERS)
def test_gymnasium_check_env_passes(name, arguments):
    check_gymnasium_env(gymnasium.make(name, **arguments).unwrapped)


@pytest.mark.parametrize(("name", "arguments"), LEARNERS)
def test_stable_baselines3_check_env_passes(name, arguments):
    check_sb3_env(gymnasium.make(name, **arguments).unwrapped)


def test_gymnasium_passive_checker_is_content_over_whole_games():
    env = gymnasium.make("spirits/Forest-v0", seat="rotate")
    env.action_space.seed(1)
    for game in range(3):
        _, info = env.reset(seed=game)
        over = False
        while not over:
            _, _, over, _, info = env.step(env.action_space.sample(info["action_mask"]))


def test_sb3_contrib_finds_the_masks_through_gymnasium_wrappers():
    env = gymnasium.make("spirits/Forest-v0")
    _, info = env.reset(seed=1)
    assert is_masking_supported(env)
    masks = get_action_masks(env)
    assert masks.dtype == np.bool_
    assert (masks == info["action_mask"]).all()


@pytest.mark.parametrize("kind", [DummyVecEnv, SubprocVecEnv])
def test_sb3_contrib_finds_the_masks_in_vector_envs(kind):
    venv = make_vec_env("spirits_env:spirits/Forest-v0", n_envs=2, seed=1, vec_env_cls=kind)
    try:
        venv.reset()
        assert is_masking_supported(venv)
        masks = get_action_masks(venv)
        assert masks.dtype == np.bool_
        assert masks.shape == (2, venv.action_space.n)
        venv.step(masks.argmax(axis=1))
    finally:
        venv.close()
