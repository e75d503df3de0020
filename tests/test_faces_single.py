"""The Gymnasium face: the learner's own rewards, seats, opponents, forfeits, ends and copies."""

import copy
import operator
import pickle
from collections import Counter
from itertools import pairwise

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded

from spirits_env import Agent, IllegalAction, SingleEnv, State
from spirits_env.batch import Views
from spirits_env.games.forest.actions import PASS

GAMES = ({}, {"players": 3, "seat": 1}, {"players": 4, "seat": "rotate"}, {"players": 1})
NUMBER_OF_ACTIONS = len(State("forest").game.actions)


class Recorder(Agent):
    """Plays the last legal action and keeps what it was given."""

    name = "recorder"

    def __init__(self):
        self.seen = []

    def act(self, view):
        self.seen.append(view)
        return int(np.flatnonzero(view.mask[0])[-1])


class Cheat(Agent):
    """Plays an illegal action."""

    name = "cheat"

    def act(self, view):
        return int(np.flatnonzero(view.mask[0] == 0)[0])


def started(seed=1, **arguments):
    env = SingleEnv(**arguments)
    env.reset(seed=seed)
    return env


def play(env, steps=1000, seed=0):
    """Play up to so many random decisions and return what the last step returned."""
    rng = np.random.default_rng(seed)
    result = None
    for _ in range(steps):
        legal = np.flatnonzero(env.action_masks())
        if len(legal) == 0:
            break
        result = env.step(int(rng.choice(legal)))
    return result


def illegal(env):
    return int(np.flatnonzero(~env.action_masks())[0])


def trace(env, games=1, seed=0):
    """All that is returned over some games of a fixed random learner."""
    rng = np.random.default_rng(seed)
    lines = []
    for game in range(games):
        observation, info = env.reset() if game else env.reset(seed=11)
        over = False
        while not over:
            lines.append((observation.tobytes(), info["action_mask"].tobytes(), info["seat"]))
            action = int(rng.choice(np.flatnonzero(info["action_mask"])))
            observation, reward, over, truncated, info = env.step(action)
            lines.append((reward, truncated))
        lines.append(observation.tobytes())
    return lines


@pytest.mark.parametrize("arguments", GAMES)
def test_what_a_step_returns_has_the_types_and_spaces_that_were_promised(arguments):
    env = SingleEnv(**arguments)
    rng = np.random.default_rng(1)
    observation, info = env.reset(seed=1)
    over = False
    while True:
        assert env.observation_space.contains(observation)
        assert info["action_mask"].dtype == np.int8
        assert info["action_mask"].shape == (NUMBER_OF_ACTIONS,)
        assert env.action_masks().dtype == np.bool_
        assert (env.action_masks() == info["action_mask"]).all()
        assert type(info["seat"]) is int
        if over:
            break
        assert info.keys() == {"action_mask", "seat"}
        assert env.action_masks().any()
        observation, reward, over, truncated, info = env.step(int(rng.choice(np.flatnonzero(info["action_mask"]))))
        assert (type(reward), type(over), truncated) == (float, bool, False)
    assert not info["action_mask"].any()
    assert info.keys() == {"action_mask", "seat", "returns", "scores", "winners"}


@pytest.mark.parametrize("reward", ["win", "margin"])
@pytest.mark.parametrize("players", [2, 3, 4])
def test_the_rewards_of_a_game_add_up_to_the_learners_return_in_every_seat(players, reward):
    for seat in range(players):
        env = SingleEnv(players=players, seat=seat, reward=reward)
        for seed in range(4):
            env.reset(seed=seed)
            rng = np.random.default_rng(seed)
            total, over = 0.0, False
            while not over:
                action = int(rng.choice(np.flatnonzero(env.action_masks())))
                _, gained, over, _, info = env.step(action)
                total += gained
            assert total == info["returns"][seat]
            assert info["returns"].shape == info["scores"].shape == info["winners"].shape == (players,)
            assert info["returns"].sum() == pytest.approx(0, abs=1e-5)
            winners = info["winners"]
            assert winners.any()
            # A tie in points that the tiles decide is a tie in margin.
            below = operator.lt if reward == "win" else operator.le
            assert winners.all() or below(info["returns"][~winners].max(), info["returns"][winners].min())
            assert info["scores"][winners].min() == info["scores"].max()


@pytest.mark.parametrize("arguments", GAMES)
@pytest.mark.parametrize("reward", ["win", "margin"])
def test_an_illegal_action_ends_the_game_as_the_worst_loss(arguments, reward):
    env = SingleEnv(**arguments, reward=reward)
    worst = State("forest").game.worst_return(arguments.get("players", 2), {"reward": reward})
    for action in (None, -1, NUMBER_OF_ACTIONS, 2**70, -(2**70), np.uint64(2**64 - 1), np.int8(-3)):
        _, info = env.reset(seed=1)
        seat = info["seat"]
        play(env, 4)
        observation, paid, *ends, info = env.step(illegal(env) if action is None else action)
        assert env.observation_space.contains(observation)
        assert (ends, info["illegal_action"]) == ([True, False], True)
        assert paid == info["returns"][seat] == pytest.approx(worst)
        assert not np.delete(info["returns"], seat).any()
        assert not info["winners"].any()
        assert not info["action_mask"].any()
        assert not env.action_masks().any()


def test_no_real_game_is_worse_than_a_forfeit():
    for arguments in GAMES:
        for reward in ("win", "margin"):
            env = SingleEnv(**arguments, reward=reward)
            worst = State("forest").game.worst_return(arguments.get("players", 2), {"reward": reward})
            for seed in range(20):
                env.reset(seed=seed)
                assert play(env, seed=seed)[-1]["returns"].min() >= worst - 1e-6


def test_after_a_forfeit_the_next_game_is_the_one_that_would_have_come_anyway():
    env, other = started(), started()
    env.step(illegal(env))
    play(other, 0)
    assert (env.reset()[0] == other.reset()[0]).all()


@pytest.mark.parametrize("action", [None, 1.0, 1.5, "1", np.float32(2), True, [1], np.array([1])])
def test_what_is_no_whole_number_is_refused_and_changes_nothing(action):
    env, other = started(), started()
    play(env, 3)
    play(other, 3)
    with pytest.raises(IllegalAction, match="give a whole number"):
        env.step(action)
    assert all((one == two).all() for one, two in zip(play(env)[0:1], play(other)[0:1], strict=True))


@pytest.mark.parametrize("make", [int, np.int32, np.int64, np.uint8, np.array])
def test_every_kind_of_whole_number_is_an_action(make):
    env, other = started(), started()
    action = int(env.action_masks().argmax())
    assert (env.step(make(action))[0] == other.step(action)[0]).all()


def test_a_step_before_the_first_reset_after_the_end_or_after_a_forfeit_asks_for_a_reset():
    env = SingleEnv()
    with pytest.raises(ResetNeeded, match=r"call reset\(\)"):
        env.step(0)
    env.reset(seed=1)
    play(env)
    with pytest.raises(ResetNeeded, match=r"call reset\(\)"):
        env.step(0)
    env.reset()
    env.step(illegal(env))
    with pytest.raises(ResetNeeded, match=r"call reset\(\)"):
        env.step(0)
    env.reset()
    assert env.action_masks().any()


@pytest.mark.parametrize("players", [1, 2, 3, 4])
def test_in_rotation_the_learner_sits_one_seat_further_in_each_game(players):
    env = SingleEnv(players=players, seat="rotate")
    seats = [env.reset(seed=5 if game == 0 else None)[1]["seat"] for game in range(4 * players)]
    assert Counter(seats) == dict.fromkeys(range(players), 4)
    assert all((one + 1) % players == two for one, two in pairwise(seats))


def test_in_rotation_the_first_seat_comes_from_the_seed_and_evenly():
    env = SingleEnv(players=3, seat="rotate")
    seats = [env.reset(seed=seed)[1]["seat"] for seed in range(300)]
    assert seats == [env.reset(seed=seed)[1]["seat"] for seed in range(300)]
    assert min(Counter(seats).values()) > 70
    assert len(Counter(seats)) == 3


@pytest.mark.parametrize("seat", [0, 1, 2])
def test_a_given_seat_is_kept_and_is_the_one_the_learner_sees_from(seat):
    env = SingleEnv(players=3, seat=seat)
    layout = State("forest").game.layout
    for seed in (3, None, None):
        observation, info = env.reset(seed=seed)
        assert info["seat"] == seat
        assert layout.unpack(observation)["own_seat"].tolist() == np.eye(4, dtype=int)[seat].tolist()


def test_seat_opponents_players_and_options_hold_over_many_games_whatever_the_reset():
    opponent = Recorder()
    env = SingleEnv(players=3, seat=2, opponents=opponent, reward="margin", forced_steal=False, render_mode="ansi")
    layout = State("forest").game.layout
    for game in range(50):
        observation, info = env.reset(seed=7 if game % 10 == 3 else None)
        parts = layout.unpack(observation)
        assert (info["seat"], parts["players"].argmax(), parts["forced_steal"][0]) == (2, 2, 0)
        assert env.render_mode == "ansi"
        opponent.seen.clear()
        assert len(play(env, seed=game)[-1]["returns"]) == 3
        assert {int(view.seat[0]) for view in opponent.seen} == {0, 1}


def test_opponents_sit_in_turn_order_after_the_learner():
    opponents = [Recorder(), Recorder(), Recorder()]
    for seat in range(4):
        env = started(players=4, seat=seat, opponents=opponents)
        for opponent in opponents:
            opponent.seen.clear()
        env.reset(seed=3)
        play(env)
        for turn, opponent in enumerate(opponents, start=1):
            assert {int(view.seat[0]) for view in opponent.seen} == {(seat + turn) % 4}


def test_opponents_get_views_of_their_own_seat_and_nothing_else():
    opponent = Recorder()
    env = started(players=3, seat=0, opponents=opponent)
    play(env)
    layout = State("forest").game.layout
    for view in opponent.seen:
        assert type(view) is Views
        assert len(view) == 1
        parts = layout.unpack(view.observation[0])
        assert parts["own_seat"].argmax() == view.seat[0]
        assert parts["to_act"][0] == 1


def test_what_opponents_do_depends_on_the_seed_alone():
    for opponents in ("random", "greedy", ["greedy", "random"]):
        arguments = {"players": 3 if isinstance(opponents, list) else 2, "seat": "rotate", "opponents": opponents}
        assert trace(SingleEnv(**arguments), 3) == trace(SingleEnv(**arguments), 3)
    assert trace(SingleEnv(opponents="random")) != trace(SingleEnv(opponents="greedy"))


def test_an_opponent_that_cheats_is_named():
    env = SingleEnv(seat=1, opponents=Cheat())
    with pytest.raises(IllegalAction, match=r"Agent cheat: .* is not legal"):
        env.reset(seed=1)


def test_masks_can_be_asked_for_at_any_time_without_changing_anything():
    env, other = started(), started()
    rng = np.random.default_rng(2)
    while env.action_masks().any():
        asked = [env.action_masks() for _ in range(3)]
        assert all((mask == asked[0]).all() for mask in asked)
        asked[0][:] = True
        action = int(rng.choice(np.flatnonzero(env.action_masks())))
        assert (env.step(action)[0] == other.step(action)[0]).all()


def test_what_was_handed_out_never_changes_and_writing_into_it_changes_nothing():
    env, other = SingleEnv(), SingleEnv()
    kept = []
    observation, info = env.reset(seed=1)
    other.reset(seed=1)
    over = False
    while not over:
        action = int(np.flatnonzero(other.action_masks())[-1])
        kept += [(array, array.copy()) for array in (observation, info["action_mask"])]
        observation, _, over, _, info = env.step(action)
        expected = other.step(action)[0]
        assert (observation == expected).all()
        expected[:] = 1
    assert all((array == as_it_was).all() for array, as_it_was in kept)


@pytest.mark.parametrize("how", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
@pytest.mark.parametrize("opponents", ["random", "greedy"])
@pytest.mark.parametrize("steps", [0, 12, 1000])
def test_a_copy_is_the_same_game_and_goes_on_by_itself(how, opponents, steps):
    env = started(players=3, seat="rotate", opponents=opponents, render_mode="ansi")
    play(env, steps)
    env.render()
    twin = how(env)
    masks = env.action_masks()
    assert (twin.action_masks() == masks).all()
    play(twin, seed=3)
    assert (env.action_masks() == masks).all()
    play(env, seed=3)
    for _ in range(2):
        (one, info), (two, other_info) = env.reset(), twin.reset()
        assert (one == two).all()
        assert info["seat"] == other_info["seat"]
        assert (play(env, seed=4)[0] == play(twin, seed=4)[0]).all()


def test_a_copy_through_gymnasiums_wrappers_keeps_the_game():
    env = gymnasium.make("spirits/Forest-v0")
    env.reset(seed=1)
    play(env.unwrapped, 8)
    twin = copy.deepcopy(env)
    assert (twin.unwrapped.action_masks() == env.unwrapped.action_masks()).all()
    assert (twin.step(PASS)[0] == env.step(PASS)[0]).all()


def test_a_seed_starts_the_deals_and_no_seed_goes_on_with_them():
    env, other = SingleEnv(seat=0), SingleEnv(seat=0)
    state = State(seed=3)
    env.reset(seed=4)
    env.reset(seed=3)
    other.reset(seed=3)
    deals = set()
    for _ in range(4):
        observation = env.reset(seed=3)[0] if not deals else env.reset()[0]
        assert (observation == state.observation(0)).all()
        deals.add(observation.tobytes())
        state.deal()
    assert len(deals) == 4
    assert env.np_random_seed == 3


def test_unseeded_environments_play_different_games():
    assert (SingleEnv().reset()[0] != SingleEnv().reset()[0]).any()


@pytest.mark.parametrize("seed", [-1, 1.5, "1", True])
def test_a_seed_that_is_no_whole_number_is_refused(seed):
    with pytest.raises(ValueError, match="seed was"):
        SingleEnv().reset(seed=seed)


@pytest.mark.parametrize("players", [1, 2, 3, 4])
def test_a_game_starts_from_a_given_setup(players):
    setup = State(players=players, seed=77).setup()
    env = SingleEnv(players=players)
    observation, _ = env.reset(seed=1, options={"setup": setup})
    assert (observation == State(players=players, setup=setup).observation(0)).all()
    assert play(env)[2]


def test_an_impossible_setup_is_refused_and_changes_nothing():
    env, other = started(), started()
    play(env, 5)
    play(other, 5)
    setup = State(seed=1).setup()
    for bad in ({**setup, "tiles": setup["tiles"][1:]}, {**setup, "more": 1}, State(players=1, seed=1).setup(), 3):
        with pytest.raises(ValueError, match="setup"):
            env.reset(seed=8, options={"setup": bad})
        assert (env.action_masks() == other.action_masks()).all()
    assert (play(env)[0] == play(other)[0]).all()
    assert (env.reset()[0] == other.reset()[0]).all()
    assert env.np_random_seed == 1


def test_reset_options_of_others_are_ignored_and_misplaced_ones_of_ours_refused():
    env = SingleEnv()
    assert (env.reset(seed=1, options={"episode": 3})[0] == env.reset(seed=1)[0]).all()
    for key in ("seat", "opponents", "players", "reward"):
        with pytest.raises(ValueError, match=f"{key}.*give it to the constructor"):
            env.reset(options={key: 1})
    with pytest.raises(ValueError, match='"setup"'):
        env.reset(options={"set-up": {}})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"players": 5}, "players was 5; .*give one of these"),
        ({"players": "2"}, "players was '2'"),
        ({"seat": 2}, 'seat was 2; give a seat from 0 to 1, or "rotate"'),
        ({"seat": -1}, "seat was -1"),
        ({"seat": "rotated"}, "seat was 'rotated'"),
        ({"seat": True}, "seat was True"),
        ({"seat": None}, "seat was None"),
        ({"opponents": "grandmaster"}, "no agent 'grandmaster'"),
        ({"opponents": ["random", "random"]}, "opponents were 2; 2 players need 1"),
        ({"opponents": None}, "opponents was None"),
        ({"opponents": 3}, "opponents was 3"),
        ({"players": 1, "opponents": ["random"]}, "opponents were 1; 1 players need 0"),
        ({"game": "chess"}, "no game named 'chess'"),
        ({"variant": "Desert"}, "no variant 'Desert'"),
        ({"render_mode": "window"}, "render_mode was 'window'"),
        ({"reward": "points"}, "'reward' was 'points'"),
        ({"forced_steal": 1}, "'forced_steal' was 1"),
    ],
)
def test_an_argument_that_is_not_allowed_is_refused_by_name(arguments, message):
    with pytest.raises(ValueError, match=message):
        SingleEnv(**arguments)


def test_an_unknown_argument_is_refused_with_those_there_are():
    with pytest.raises(TypeError, match=r"no argument 'opponent'; .*seat, opponents, .*forced_steal, reward"):
        gymnasium.make("spirits/Forest-v0", opponent="greedy")


@pytest.mark.parametrize("players", [1, 2, 3, 4])
@pytest.mark.parametrize("avoid", ["takes", "nothing"])
def test_random_learners_and_learners_who_never_want_to_finish_do_finish(players, avoid):
    env = SingleEnv(players=players, seat="rotate")
    rng = np.random.default_rng(6)
    for seed in range(5):
        env.reset(seed=seed)
        steps, over = 0, False
        while not over:
            legal = np.flatnonzero(env.action_masks())
            dallying = legal[(legal >= 8) & (legal != PASS)] if avoid == "takes" else legal
            over = env.step(int(rng.choice(dallying if len(dallying) else legal[-1:])))[2]
            steps += 1
        assert steps <= State("forest").game.max_plies


def test_the_final_position_is_drawn_as_text_and_as_a_picture():
    env = started(render_mode="ansi")
    rng = np.random.default_rng(3)
    before = ""
    while env.action_masks().any():
        before = env.render()
        env.step(int(rng.choice(np.flatnonzero(env.action_masks()))))
    assert env.render() != before
    picture = started(render_mode="rgb_array").render()
    assert picture.dtype == np.uint8
    assert picture.shape[2] == 3
    assert picture.min() < picture.max()


def test_rendering_without_a_mode_warns_and_gives_nothing():
    with pytest.warns(UserWarning, match="render_mode='ansi'"):
        assert started().render() is None
