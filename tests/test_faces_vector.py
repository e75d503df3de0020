"""The vector face plays the games of as many single faces: masks, ends, resets, infos and seeds included."""

import copy
import pickle
from collections import Counter
from itertools import pairwise

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from spirits_env import IllegalAction, SingleEnv, State, VectorEnv

LANES = 5
ARGUMENTS = (
    {},
    {"players": 3, "seat": "rotate", "opponents": ["greedy", "random"], "reward": "margin"},
    {"players": 4, "seat": 2, "forced_steal": False},
    {"players": 1},
)
MODES = (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP)


def equal(one, two):
    """Tell whether two infos (or what is in them) are the same, types included."""
    if isinstance(one, dict):
        return isinstance(two, dict) and one.keys() == two.keys() and all(equal(one[key], two[key]) for key in one)
    if isinstance(one, np.ndarray) and one.dtype == object:
        return two.dtype == object and all(equal(a, b) for a, b in zip(one, two, strict=True))
    if isinstance(one, np.ndarray):
        return one.dtype == two.dtype and one.shape == two.shape and bool((one == two).all())
    return one is None and two is None


def choose(masks, rng):
    """A legal action per lane; any action where there is none."""
    return np.array([rng.choice(np.flatnonzero(row)) if row.any() else rng.integers(len(row)) for row in masks])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_it_equals_gymnasiums_own_vector_of_single_faces_move_by_move(arguments, mode):
    native = VectorEnv(LANES, autoreset_mode=mode, **arguments)
    plain = SyncVectorEnv([lambda: SingleEnv(**arguments)] * LANES, autoreset_mode=mode)
    rng = np.random.default_rng(1)
    ended = 0
    (observation, infos), (expected, expected_infos) = native.reset(seed=3), plain.reset(seed=3)
    for step in range(200):
        assert (observation == expected).all()
        assert equal(infos, expected_infos)
        actions = choose(infos["action_mask"], rng)
        if step % 37 == 36:
            actions[step % LANES] = 58 if step % 2 else -1
        *result, infos = native.step(actions)
        *plain_result, expected_infos = plain.step(actions)
        assert all(equal(one, two) for one, two in zip(result, plain_result, strict=True))
        observation, expected = result[0], plain_result[0]
        ended += result[2].sum()
    assert ended > LANES
    (observation, infos), (expected, expected_infos) = native.reset(), plain.reset()
    assert (observation == expected).all()
    assert equal(infos, expected_infos)


def test_a_reset_with_a_mask_equals_gymnasiums_own():
    native, plain = VectorEnv(LANES), SyncVectorEnv([SingleEnv] * LANES)
    for env in (native, plain):
        env.reset(seed=1)
        env.step(env.reset(seed=1)[1]["action_mask"].argmax(axis=1))
    chosen = np.array([True, False, True, False, False])
    for seed in (None, 9, [1, None, 3, 4, None]):
        (one, infos), (two, plain_infos) = (
            env.reset(seed=seed, options={"reset_mask": chosen.copy()}) for env in (native, plain)
        )
        assert (one == two).all()
        assert equal(infos, plain_infos)
    for bad in (chosen[:2], chosen.astype(int), [True] * LANES, np.zeros(LANES, bool)):
        with pytest.raises(ValueError, match="reset_mask"):
            native.reset(options={"reset_mask": bad})
    with pytest.raises(ValueError, match="all of them in the first reset"):
        VectorEnv(LANES).reset(options={"reset_mask": chosen})


@pytest.mark.slow
def test_threads_change_nothing():
    one, two = VectorEnv(64, seat="rotate"), VectorEnv(64, seat="rotate", threads=2)
    rng = np.random.default_rng(2)
    (seen, infos), (other, _) = one.reset(seed=1), two.reset(seed=1)
    for _ in range(60):
        assert (seen == other).all()
        actions = choose(infos["action_mask"], rng)
        seen, *_, infos = one.step(actions)
        other, *_, other_infos = two.step(actions)
        assert equal(infos, other_infos)


def test_in_next_step_mode_the_action_after_the_end_is_ignored():
    env, other = VectorEnv(3), VectorEnv(3)
    rng = np.random.default_rng(3)
    _, infos = env.reset(seed=1)
    other.reset(seed=1)
    ignored = 0
    for _ in range(300):
        actions = choose(infos["action_mask"], rng)
        changed = actions.copy()
        waiting = ~infos["action_mask"].any(axis=1)
        changed[waiting] = -7
        ignored += waiting.sum()
        observation, reward, over, _, infos = env.step(actions)
        assert (observation == other.step(changed)[0]).all()
        assert (reward[waiting] == 0).all()
        assert not over[waiting].any()
        assert infos["action_mask"][waiting].any(axis=1).all()
    assert ignored > 5


@pytest.mark.parametrize("mode", MODES)
def test_the_last_step_of_a_game_tells_its_outcome_and_last_observation(mode):
    env = VectorEnv(4, players=3, seat=1, autoreset_mode=mode)
    rng = np.random.default_rng(4)
    layout = State("forest").game.layout
    _, infos = env.reset(seed=1)
    games = 0
    while games < 20:
        observation, reward, over, _, infos = env.step(choose(infos["action_mask"], rng))
        if not over.any():
            assert not {"returns", "final_obs", "final_info"} & infos.keys()
            continue
        final = infos["final_info"] if mode == AutoresetMode.SAME_STEP else infos
        last = infos["final_obs"] if mode == AutoresetMode.SAME_STEP else observation
        assert (final["_returns"] == over).all()
        for lane in np.flatnonzero(over):
            assert reward[lane] == final["returns"][lane, 1]
            assert layout.unpack(last[lane])["tiles_left"][0] == 0
            assert not final["action_mask"][lane].any()
            assert final["winners"][lane].any()
            games += 1


def test_disabled_autoreset_waits_for_a_reset_of_the_finished_lanes():
    env = VectorEnv(2, autoreset_mode="Disabled")
    rng = np.random.default_rng(5)
    _, infos = env.reset(seed=1)
    over = np.zeros(2, bool)
    while not over.any():
        _, _, over, _, infos = env.step(choose(infos["action_mask"], rng))
    with pytest.raises(ResetNeeded, match=r"call reset\(\)"):
        env.step(np.zeros(2, int))
    env.reset(options={"reset_mask": over})
    assert env.action_masks().any(axis=1).all()


@pytest.mark.parametrize("mode", MODES)
def test_rotation_holds_over_automatic_resets(mode):
    env = VectorEnv(4, players=3, seat="rotate", autoreset_mode=mode)
    rng = np.random.default_rng(6)
    _, infos = env.reset(seed=2)
    seats = [[int(seat)] for seat in infos["seat"]]
    while min(len(lane) for lane in seats) < 13:
        before = infos["action_mask"].any(axis=1)
        _, _, over, _, infos = env.step(choose(infos["action_mask"], rng))
        started = over if mode == AutoresetMode.SAME_STEP else ~before
        for lane in np.flatnonzero(started):
            seats[lane].append(int(infos["seat"][lane]))
    for lane in seats:
        assert all((one + 1) % 3 == two for one, two in pairwise(lane))
        assert Counter(lane[:12]) == {0: 4, 1: 4, 2: 4}


def test_settings_hold_over_fifty_automatic_resets():
    env = VectorEnv(2, players=4, seat=3, forced_steal=False, autoreset_mode="SameStep")
    rng = np.random.default_rng(7)
    layout = State("forest").game.layout
    observation, infos = env.reset(seed=1, options={"setup": State(players=4, seed=5).setup()})
    resets = 0
    while resets < 50:
        parts = layout.unpack(observation)
        assert (parts["own_seat"].argmax(axis=1) == 3).all()
        assert (parts["players"].argmax(axis=1) == 3).all()
        assert not parts["forced_steal"].any()
        observation, _, over, _, infos = env.step(choose(infos["action_mask"], rng))
        resets += over.sum()


def test_lanes_have_deals_of_their_own_and_the_same_again_in_the_next_run():
    first, _ = VectorEnv(16).reset(seed=5)
    again, _ = VectorEnv(16).reset(seed=5)
    assert len({row.tobytes() for row in first}) == 16
    assert (first == again).all()
    unseeded, _ = VectorEnv(16).reset()
    assert len({row.tobytes() for row in unseeded}) == 16


def test_seeds_can_be_given_lane_by_lane():
    env = VectorEnv(3)
    observation, _ = env.reset(seed=[8, 2, 8])
    for lane, seed in enumerate([8, 2, 8]):
        assert (observation[lane] == State(seed=seed).observation(0)).all()
    with pytest.raises(ValueError, match="The seeds were 2; give one for each of the 3 lanes"):
        env.reset(seed=[1, 2])
    with pytest.raises(ValueError, match="seed was -4"):
        env.reset(seed=[1, 2, -4])


def test_all_lanes_start_from_a_given_setup_and_an_impossible_one_changes_nothing():
    setup = State(seed=77).setup()
    env = VectorEnv(3)
    observation, infos = env.reset(seed=1, options={"setup": setup})
    assert (observation == State(setup=setup).observation(0)).all()
    with pytest.raises(ValueError, match="setup"):
        env.reset(seed=2, options={"setup": {**setup, "unused": []}})
    assert (env.action_masks() == infos["action_mask"]).all()
    other = VectorEnv(3)
    other.reset(seed=1, options={"setup": setup})
    assert (env.reset()[0] == other.reset()[0]).all()


@pytest.mark.parametrize(
    "actions", [None, [0.0, 1.0], [0], [[0], [1]], 3, ["a", "b"], [True, False], [None, 1], np.zeros(2, np.float32)]
)
def test_what_is_no_row_of_whole_numbers_is_refused_and_changes_nothing(actions):
    env = VectorEnv(2)
    _, infos = env.reset(seed=1)
    with pytest.raises(IllegalAction, match=r"give whole numbers of shape \(2,\)"):
        env.step(actions)
    assert (env.action_masks() == infos["action_mask"]).all()


def test_an_illegal_action_forfeits_its_own_game_alone():
    env = VectorEnv(3, players=3, autoreset_mode="SameStep")
    _, infos = env.reset(seed=1)
    actions = infos["action_mask"].argmax(axis=1)
    actions[1] = 58
    _, reward, over, truncated, infos = env.step(actions)
    assert reward.tolist() == [0, -0.5, 0]
    assert over.tolist() == [False, True, False]
    assert not truncated.any()
    final = infos["final_info"]
    assert final["illegal_action"].tolist() == final["_illegal_action"].tolist() == [False, True, False]
    assert final["returns"][1].tolist() == [-0.5, 0, 0]
    assert not final["winners"].any()


def test_a_step_before_the_first_reset_asks_for_a_reset():
    for mode in AutoresetMode:
        with pytest.raises(ResetNeeded, match=r"call reset\(\)"):
            VectorEnv(2, autoreset_mode=mode).step([0, 0])


def test_what_was_handed_out_never_changes_and_writing_into_it_changes_nothing():
    env, other = VectorEnv(3), VectorEnv(3)
    rng = np.random.default_rng(8)
    observation, infos = env.reset(seed=1)
    other.reset(seed=1)
    kept = []
    for _ in range(80):
        actions = choose(infos["action_mask"], rng)
        observation, reward, over, truncated, infos = env.step(actions)
        arrays = [observation, reward, over, truncated, env.action_masks()]
        arrays += [value for value in infos.values() if isinstance(value, np.ndarray)]
        kept += [(array, array.copy()) for array in arrays]
        expected, *_, other_infos = other.step(actions)
        assert (observation == expected).all()
        expected[:] = 1
        other_infos["action_mask"][:] = 1
        other.action_masks()[:] = True
    assert all(equal(array, as_it_was) for array, as_it_was in kept)


@pytest.mark.parametrize("how", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_plays_the_same_games_and_goes_on_by_itself(how):
    env = VectorEnv(3, players=3, seat="rotate", opponents="greedy")
    rng = np.random.default_rng(9)
    _, infos = env.reset(seed=1)
    for _ in range(15):
        *_, infos = env.step(choose(infos["action_mask"], rng))
    twin = how(env)
    masks = env.action_masks()
    twin.step(masks.argmax(axis=1))
    assert (env.action_masks() == masks).all()
    twin = how(env)
    for _ in range(80):
        actions = choose(env.action_masks(), rng)
        assert equal(env.step(actions)[-1], twin.step(actions)[-1])


def test_make_vec_gives_the_native_face_and_the_stock_modes_give_the_same_games():
    native = gymnasium.make_vec("spirits/Forest-v0", num_envs=2, seat=1)
    assert type(native) is VectorEnv
    assert native.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    assert native.spec.id == "spirits/Forest-v0"
    expected, expected_infos = native.reset(seed=1)
    for mode in ("sync", "async"):
        env = gymnasium.make_vec("spirits/Forest-v0", num_envs=2, vectorization_mode=mode, seat=1)
        try:
            assert env.single_observation_space == native.single_observation_space
            assert env.action_space == native.action_space
            observation, infos = env.reset(seed=1)
            assert (observation == expected).all()
            assert equal(infos, expected_infos)
            masks = env.call("action_masks")
            assert (np.stack(masks) == native.action_masks()).all()
        finally:
            env.close()


def test_masked_sampling_works_over_a_hundred_games_of_the_stock_vector():
    env = SyncVectorEnv([SingleEnv] * 8)
    env.action_space.seed(1)
    _, infos = env.reset(seed=1)
    games = 0
    while games < 100:
        *_, over, _, infos = env.step(env.action_space.sample(tuple(infos["action_mask"])))
        assert "illegal_action" not in infos
        games += over.sum()


def test_spaces_fit_what_is_returned():
    env = VectorEnv(3)
    observation, infos = env.reset(seed=1)
    assert env.observation_space.contains(observation)
    assert env.single_observation_space.contains(observation[0])
    assert env.action_space.contains(infos["action_mask"].argmax(axis=1))
    assert env.action_masks().dtype == np.bool_


def test_arguments_that_are_not_allowed_are_refused_by_name():
    with pytest.raises(TypeError, match=r"VectorEnv has no argument 'max_episode_steps'; .*autoreset_mode, threads"):
        VectorEnv(2, max_episode_steps=5)
    for arguments, message in (
        ({"num_envs": 0}, "number of games was 0"),
        ({"threads": 0}, "number of threads was 0"),
        ({"autoreset_mode": "Later"}, "'Later' is not a valid AutoresetMode"),
        ({"render_mode": "human"}, "render_mode was 'human'; give None or one of ansi, rgb_array"),
        ({"seat": 5}, "seat was 5"),
        ({"players": 7}, "players was 7"),
    ):
        with pytest.raises(ValueError, match=message):
            VectorEnv(**arguments)


def test_each_lane_is_drawn(monkeypatch):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    env = VectorEnv(3, render_mode="ansi")
    env.reset(seed=1)
    assert len(env.render()) == 3
    assert all(text == State(seed=1 + lane).text() for lane, text in enumerate(env.render()))
    with pytest.warns(UserWarning, match="render_mode='ansi'"):
        assert VectorEnv(1).render() is None
