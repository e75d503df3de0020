"""The stock checkers of PettingZoo, Gymnasium and stable-baselines3 pass, with warnings as errors."""

from importlib import import_module

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

from spirits_env import GAMES, env_id
from spirits_env.games import load

TABLES = [(game, players) for game in GAMES for players in load(game).players if players > 1]
FACES = ("raw_env", "env")
IDS = [env_id(game, name) for game, listing in GAMES.items() for name in listing.ids]
# An id that fixes nothing is for every table.
LEARNERS = [(name, {}) for name in IDS] + [
    (
        env_id(game, next(name for name, fixed in GAMES[game].ids.items() if not fixed)),
        {
            "players": players,
            "seat": "rotate",
            "reward": "margin",
            "opponents": ["greedy", "random", "random"][: players - 1],
        },
    )
    for game, players in TABLES
]


# The checkers try all render modes; where there is no display, the window's says so and writes text.
pytestmark = pytest.mark.filterwarnings("ignore:.*The board comes as text instead of in a window:UserWarning")


@pytest.fixture(autouse=True)
def no_display(monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"):
        monkeypatch.delenv(name, raising=False)


def maker(game, face):
    """Return what makes a game's environments: `env`, `raw_env` or `parallel_env` of its module."""
    return getattr(import_module(f"spirits_env.{game}_v{GAMES[game].version}"), face)


@pytest.mark.parametrize(("game", "players"), TABLES)
@pytest.mark.parametrize("face", FACES)
def test_pettingzoo_api_test_passes(game, players, face):
    api_test(maker(game, face)(players=players), num_cycles=300)


@pytest.mark.parametrize(("game", "players"), TABLES)
@pytest.mark.parametrize("face", FACES)
def test_pettingzoo_seed_test_passes(game, players, face):
    seed_test(lambda: maker(game, face)(players=players), num_cycles=50)


@pytest.mark.parametrize(("game", "players"), TABLES)
@pytest.mark.parametrize("face", FACES)
def test_pettingzoo_render_test_passes(game, players, face):
    render_test(lambda render_mode: maker(game, face)(players=players, render_mode=render_mode))


@pytest.mark.parametrize(("game", "players"), TABLES)
def test_pettingzoo_parallel_api_test_passes(game, players):
    parallel_api_test(maker(game, "parallel_env")(players=players), num_cycles=300)


@pytest.mark.parametrize(("game", "players"), TABLES)
def test_pettingzoo_parallel_seed_test_passes(game, players):
    parallel_seed_test(lambda: maker(game, "parallel_env")(players=players), num_cycles=20)


@pytest.mark.parametrize(("game", "players"), TABLES)
def test_pettingzoo_state_test_passes(game, players):
    state_test(maker(game, "env")(players=players), maker(game, "parallel_env")(players=players), num_cycles=20)


@pytest.mark.parametrize("game", GAMES)
def test_a_turn_game_is_not_called_parallelizable(game):
    env = maker(game, "env")()
    assert env.metadata["is_parallelizable"] is False
    with pytest.raises(AssertionError):
        aec_to_parallel(env)


@pytest.mark.parametrize(("name", "arguments"), LEARNERS)
def test_gymnasium_check_env_passes(name, arguments):
    check_gymnasium_env(gymnasium.make(name, **arguments).unwrapped)


@pytest.mark.parametrize(("name", "arguments"), LEARNERS)
def test_stable_baselines3_check_env_passes(name, arguments):
    check_sb3_env(gymnasium.make(name, **arguments).unwrapped)


@pytest.mark.parametrize("name", IDS)
def test_gymnasium_passive_checker_is_content_over_whole_games(name):
    env = gymnasium.make(name, seat="rotate")
    env.action_space.seed(1)
    for seed in range(3):
        _, info = env.reset(seed=seed)
        over = False
        while not over:
            _, _, over, _, info = env.step(env.action_space.sample(info["action_mask"]))


@pytest.mark.parametrize("name", IDS)
def test_sb3_contrib_finds_the_masks_through_gymnasium_wrappers(name):
    env = gymnasium.make(name)
    _, info = env.reset(seed=1)
    assert is_masking_supported(env)
    masks = get_action_masks(env)
    assert masks.dtype == np.bool_
    assert (masks == info["action_mask"]).all()


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("kind", [DummyVecEnv, SubprocVecEnv])
def test_sb3_contrib_finds_the_masks_in_vector_envs(kind, name):
    venv = make_vec_env(f"spirits_env:{name}", n_envs=2, seed=1, vec_env_cls=kind)
    try:
        venv.reset()
        assert is_masking_supported(venv)
        masks = get_action_masks(venv)
        assert masks.dtype == np.bool_
        assert masks.shape == (2, venv.action_space.n)
        venv.step(masks.argmax(axis=1))
    finally:
        venv.close()
