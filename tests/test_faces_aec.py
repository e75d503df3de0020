"""The PettingZoo face keeps PettingZoo's promises: turns, ends, masks, fresh arrays, copies and errors."""

import copy
import operator
import pickle
import timeit
from collections import Counter

import numpy as np
import pytest
from gymnasium.error import ResetNeeded

from spirits_env import IllegalAction, State, forest_v0, record
from spirits_env.games.forest.actions import PASS

PLAYERS = (2, 3, 4)
MAX_PLIES = State("forest").game.max_plies


def started(players=2, seed=1, **arguments):
    env = forest_v0.raw_env(players=players, **arguments)
    env.reset(seed=seed)
    return env


def pick(mask, rng):
    return int(rng.choice(np.flatnonzero(mask)))


def play(env, plies=MAX_PLIES, seed=0):
    """Play up to so many random decisions, or until no agent can act."""
    rng = np.random.default_rng(seed)
    for _ in range(plies):
        observation, _, over, _, _ = env.last()
        if over:
            break
        env.step(pick(observation["action_mask"], rng))
    return env


def everything(env):
    """All that an environment shows, as a comparable value."""
    return (
        env.agents[:],
        env.agent_selection if env.agents else None,
        {agent: {name: array.tobytes() for name, array in env.observe(agent).items()} for agent in env.possible_agents},
        {agent: info["action_mask"].tobytes() for agent, info in env.infos.items()},
        dict(env.rewards),
        dict(env.terminations),
        dict(env.truncations),
        dict(env._cumulative_rewards),
        env.unwrapped.record(),
    )


def illegal(env):
    return int(np.flatnonzero(env.observe(env.agent_selection)["action_mask"] == 0)[0])


@pytest.mark.parametrize("players", PLAYERS)
def test_observations_lie_in_their_space_and_masks_fit_sampling_at_every_ply(players):
    env = started(players)
    for agent in env.agent_iter():
        observation, _, over, _, info = env.last()
        for each in env.possible_agents:
            assert env.observation_space(each).contains(env.observe(each))
        mask = observation["action_mask"]
        assert mask.dtype == info["action_mask"].dtype == np.int8
        assert (mask == info["action_mask"]).all()
        env.step(None if over else env.action_space(agent).sample(mask))


@pytest.mark.parametrize("players", PLAYERS)
def test_only_the_seat_to_act_has_legal_actions_and_it_always_has_one(players):
    env = started(players)
    rng = np.random.default_rng(1)
    for agent in env.agent_iter():
        over = env.terminations[agent]
        assert set(env.infos) == set(env.agents)
        for each in env.agents:
            legal = env.observe(each)["action_mask"].any()
            assert legal == (each == agent and not over)
            assert (env.infos[each]["action_mask"] == env.observe(each)["action_mask"]).all()
        env.step(None if over else pick(env.observe(agent)["action_mask"], rng))
    assert not any(env.observe(each)["action_mask"].any() for each in env.possible_agents)


@pytest.mark.parametrize("players", PLAYERS)
def test_the_agent_to_act_is_the_games_and_may_act_several_times_in_a_row(players):
    env = play(started(players), 0)
    rng = np.random.default_rng(2)
    repeated = 0
    while not env.terminations[env.agent_selection]:
        agent = env.agent_selection
        assert agent == f"player_{env.game_state.seat}"
        env.step(pick(env.observe(agent)["action_mask"], rng))
        repeated += env.agent_selection == agent
    assert repeated > 0


@pytest.mark.parametrize("make", [int, np.int32, np.int64, np.uint8, np.array])
@pytest.mark.parametrize("face", [forest_v0.raw_env, forest_v0.env])
def test_every_kind_of_whole_number_is_an_action(make, face):
    env = face()
    env.reset(seed=1)
    action = int(env.observe("player_0")["action_mask"].argmax())
    env.step(make(action))
    assert env.unwrapped.record()["actions"] == [action]


@pytest.mark.parametrize("plies", [0, 1, 20])
def test_an_illegal_action_raises_names_the_phase_and_changes_nothing(plies):
    env = play(started(3), plies)
    before = everything(env)
    with pytest.raises(
        IllegalAction, match=r"is not legal in phase '(first|second|pay|place|move)'; the legal actions"
    ):
        env.step(illegal(env))
    for action in (-1, 59, 2**70, -(2**70), None, 1.0, 1.5, "1", True, np.float32(1), np.array([1]), [1]):
        with pytest.raises(IllegalAction):
            env.step(action)
    assert everything(env) == before


def test_wrapped_an_illegal_action_ends_the_game_as_a_loss_of_whoever_played_it(capsys):
    env = forest_v0.env(players=3)
    env.reset(seed=1)
    play(env, 7)
    loser = env.agent_selection
    env.step(illegal(env))
    totals = Counter()
    steps = 0
    for agent in env.agent_iter():
        observation, reward, terminated, _, info = env.last()
        assert terminated
        assert not observation["action_mask"].any()
        assert not info["action_mask"].any()
        totals[agent] += reward
        steps += 1
        env.step(None)
    assert steps == 3
    assert totals == {agent: -0.5 if agent == loser else 0.0 for agent in env.possible_agents}


def test_after_an_illegal_action_and_reset_the_game_is_that_of_a_fresh_environment(capsys):
    env, fresh = forest_v0.env(), forest_v0.env()
    env.reset(seed=1)
    play(env, 9)
    env.step(illegal(env))
    env.step(None)
    for one in (env, fresh):
        one.reset(seed=8)
    for _ in range(200):
        assert everything(env) == everything(fresh)
        if env.terminations[env.agent_selection]:
            break
        action = pick(env.observe(env.agent_selection)["action_mask"], np.random.default_rng(3))
        env.step(action)
        fresh.step(action)


@pytest.mark.parametrize("players", PLAYERS)
def test_all_seats_finish_in_the_step_of_the_last_move_and_leave_one_by_one(players):
    env = play(started(players))
    assert env.agents == env.possible_agents
    assert env.terminations == dict.fromkeys(env.possible_agents, True)
    assert env.truncations == dict.fromkeys(env.possible_agents, False)
    for left in range(players, 0, -1):
        assert len(env.agents) == left
        assert set(env.agents) == set(env.rewards) == set(env.infos) == set(env.terminations) == set(env.truncations)
        env.step(None)
    assert env.agents == []


def test_an_action_for_a_finished_seat_is_refused_with_the_cure():
    env = play(started())
    before = everything(env)
    with pytest.raises(ValueError, match=r"player_0 has finished: call step\(None\) once for each agent"):
        env.step(3)
    assert everything(env) == before


def test_stepping_before_the_first_reset_and_after_the_last_seat_left_asks_for_a_reset():
    env = forest_v0.raw_env()
    for _ in range(2):
        for call in (lambda: env.step(0), lambda: env.step(None), env.last):
            with pytest.raises(ResetNeeded, match=r"call reset\(\)"):
                call()
        env.reset(seed=1)
        play(env)
        env.step(None)
        env.step(None)


@pytest.mark.parametrize("plies", [0, 1, 30, MAX_PLIES])
@pytest.mark.parametrize("players", PLAYERS)
def test_reset_gives_all_seats_and_the_first_player_whatever_happened_before(players, plies):
    env = play(started(players), plies)
    if env.terminations[env.agent_selection]:
        env.step(None)
    env.reset()
    assert env.agents == env.possible_agents == [f"player_{seat}" for seat in range(players)]
    assert env.agent_selection == "player_0"
    assert env.rewards == env._cumulative_rewards == dict.fromkeys(env.agents, 0.0)
    assert not any(env.terminations.values())


@pytest.mark.parametrize("players", PLAYERS)
@pytest.mark.parametrize("reward", ["win", "margin"])
def test_rewards_read_through_last_add_up_to_each_seats_return(players, reward):
    for seed in range(5):
        env = started(players, seed, reward=reward)
        totals = Counter(dict.fromkeys(env.agents, 0.0))
        rng = np.random.default_rng(seed)
        for agent in env.agent_iter():
            observation, gained, over, _, _ = env.last()
            totals[agent] += gained
            final = env.game_state
            env.step(None if over else pick(observation["action_mask"], rng))
        assert [totals[agent] for agent in env.possible_agents] == final.returns()
        assert sum(totals.values()) == pytest.approx(0, abs=1e-5)
        losers = set(range(players)) - set(final.winners())
        for loser in losers:
            # A tie in points that the tiles decide is a tie in margin.
            below = operator.lt if reward == "win" else operator.le
            assert all(below(totals[f"player_{loser}"], totals[f"player_{winner}"]) for winner in final.winners())


def test_rewards_of_a_finished_game_can_also_be_read_at_once():
    env = play(started(3))
    assert [env.rewards[agent] for agent in env.agents] == env.game_state.returns()


def test_what_was_handed_out_never_changes_afterwards():
    env = started(3)
    rng = np.random.default_rng(4)
    kept = []
    for agent in env.agent_iter():
        observation, _, over, _, info = env.last()
        arrays = [*observation.values(), info["action_mask"], env.state()]
        arrays += [i["action_mask"] for i in env.infos.values()]
        kept += [(array, array.copy()) for array in arrays]
        env.step(None if over else pick(env.observe(agent)["action_mask"], rng))
    assert all((array == as_it_was).all() for array, as_it_was in kept)


def test_writing_into_what_was_handed_out_does_not_change_the_game():
    env, untouched = started(), started()
    for _ in range(40):
        for agent in env.agents:
            for array in env.observe(agent).values():
                array[:] = 1
        for info in env.infos.values():
            info["action_mask"][:] = 1
        env.state()[:] = 1
        env.rewards["player_0"] = 0.0
        action = pick(untouched.observe(untouched.agent_selection)["action_mask"], np.random.default_rng(5))
        env.step(action)
        untouched.step(action)
        assert everything(env) == everything(untouched)


COPIES = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda env: pickle.loads(pickle.dumps(env)),
    "clone": lambda env: env.clone(),
}


@pytest.mark.parametrize("plies", [0, 25, MAX_PLIES])
@pytest.mark.parametrize("how", COPIES)
def test_a_copy_is_the_same_game_and_goes_on_by_itself(how, plies):
    env = play(started(3, render_mode="ansi"), plies)
    env.render()
    twin = COPIES[how](env)
    before = everything(env)
    assert everything(twin) == before
    if plies < MAX_PLIES:
        play(twin, seed=9)
        assert everything(env) == before
        play(env, seed=9)
        assert everything(twin) == everything(env)
    for one in (env, twin):
        one.reset()
    assert everything(twin) == everything(env)
    assert twin.np_random.random() == env.np_random.random()


@pytest.mark.parametrize("how", ["deepcopy", "pickle"])
def test_a_wrapped_environment_copies_too(how):
    env = forest_v0.env()
    env.reset(seed=1)
    play(env, 15)
    twin = COPIES[how](env)
    assert everything(twin) == everything(env)
    play(twin)
    assert twin.terminations["player_0"]
    assert not env.terminations["player_0"]


def test_an_environment_copies_before_its_first_reset():
    env = forest_v0.raw_env()
    for how in COPIES.values():
        twin = how(env)
        twin.reset(seed=1)
        assert everything(twin) == everything(started())


def test_a_clone_costs_less_than_ten_decisions():
    env = play(started(), 20)
    clone = min(timeit.repeat(env.clone, number=50, repeat=5)) / 50
    actions = play(env.clone()).record()["actions"][20:]

    def replay():
        twin = env.clone()
        for action in actions:
            twin.last()
            twin.step(action)

    decision = (min(timeit.repeat(replay, number=5, repeat=5)) / 5 - clone) / len(actions)
    assert clone < 10 * decision


def test_the_makers_pickle_by_name():
    for maker in (forest_v0.env, forest_v0.raw_env, forest_v0.parallel_env):
        env = pickle.loads(pickle.dumps(maker))(players=3)
        assert len(env.possible_agents) == 3


def test_the_game_can_be_taken_out_and_put_back():
    env = play(started(), 20)
    kept, before = env.game_state, everything(env)
    play(env)
    env.game_state = kept
    assert everything(env) == before
    play(env, 3)
    assert kept.history == before[-1]["actions"]
    finished = play(started(seed=4)).game_state
    env.game_state = finished
    assert all(env.terminations.values())
    assert [env.last()[1], env.rewards["player_1"]] == finished.returns()


def test_a_game_of_another_kind_is_not_taken_over():
    env = started(reward="margin")
    before = everything(env)
    for other in (State(players=3, seed=1), State(seed=1)):
        with pytest.raises(ValueError, match="make another one"):
            env.game_state = other
    assert everything(env) == before


def test_a_record_replays_to_the_same_game():
    env = play(started(4), 60)
    replayed = started(4, seed=99)
    replayed.game_state = record.replay(env.record())
    assert everything(replayed) == everything(env)


def test_what_a_seat_cannot_know_changes_nothing_it_is_shown():
    env = started(3, seed=6)
    rng = np.random.default_rng(6)
    while not env.terminations[env.agent_selection]:
        for seat, agent in enumerate(env.agents):
            other = env.clone()
            other.game_state = env.game_state.redealt(seat, int(rng.integers(1000)))
            assert all((env.observe(agent)[name] == array).all() for name, array in other.observe(agent).items())
            assert (env.infos[agent]["action_mask"] == other.infos[agent]["action_mask"]).all()
            assert other.rewards == env.rewards
        env.step(pick(env.observe(env.agent_selection)["action_mask"], rng))


def test_the_state_is_every_seats_view_in_seat_order_and_in_its_space():
    env = play(started(3), 30)
    state = env.state()
    assert env.state_space.contains(state)
    views = [env.observe(agent)["observation"] for agent in env.possible_agents]
    assert (state.reshape(3, -1) == np.stack(views)).all()


def test_a_seed_starts_the_deals_and_no_seed_goes_on_with_them():
    one, two = started(seed=3), started(seed=4)
    two.reset(seed=3)
    games = []
    for _ in range(4):
        assert everything(one) == everything(two)
        games.append(str(one.record()["setup"]))
        one.reset()
        two.reset()
    assert len(set(games)) == 4
    assert started(seed=3).record()["setup"] == State(seed=3).setup()


def test_unseeded_environments_play_different_games():
    env, other = forest_v0.raw_env(), forest_v0.raw_env()
    env.reset()
    other.reset()
    assert env.record()["setup"] != other.record()["setup"]


@pytest.mark.parametrize("seed", [-1, 1.5, "1", True])
def test_a_seed_that_is_no_whole_number_is_refused(seed):
    env = play(started(), 5)
    before = everything(env)
    with pytest.raises(ValueError, match="seed was"):
        env.reset(seed=seed)
    assert everything(env) == before


def test_a_game_starts_from_a_given_setup():
    env = started(players=3, seed=5)
    setup = State(players=3, seed=77).setup()
    env.reset(options={"setup": setup})
    assert env.record()["setup"] == setup
    assert env.agent_selection == "player_0"
    play(env)
    assert env.record()["setup"] == setup


def bad_setups():
    good = State(seed=1).setup()
    yield "tiles", {**good, "tiles": good["tiles"][:-1]}
    yield "tile", {**good, "tiles": [good["tiles"][0]] * 48}
    yield "keys", {key: good[key] for key in ("tiles", "tokens")}
    yield "token", {**good, "unused": ["gold"] * 6}
    yield "dict", [1, 2]


@pytest.mark.parametrize(("name", "setup"), tuple(bad_setups()))
def test_an_impossible_setup_is_refused_and_changes_nothing(name, setup):
    env = play(started(), 12)
    before = everything(env)
    with pytest.raises(ValueError, match=f"setup.*{name}"):
        env.reset(seed=9, options={"setup": setup})
    assert everything(env) == before
    env.reset()
    fresh = started()
    fresh.reset()
    assert env.record()["setup"] == fresh.record()["setup"]


def test_reset_options_of_others_are_ignored_and_misplaced_ones_of_ours_refused():
    env = started()
    env.reset(seed=1, options={"options": 1, "video": True, 3: 4})
    assert everything(env) == everything(started())
    for key in ("players", "reward", "render_mode"):
        with pytest.raises(ValueError, match=f"{key}.*give it to the constructor"):
            env.reset(options={key: 2})
    for key in ("set_up", "Setup", "setups", "stup"):
        with pytest.raises(ValueError, match=f"held '{key}'; .*\"setup\""):
            env.reset(options={key: None})
    with pytest.raises(ValueError, match="give a dict"):
        env.reset(options=["setup"])


def test_reset_keeps_what_the_constructor_was_told():
    env = forest_v0.raw_env(players=4, render_mode="ansi", reward="margin", forced_steal=False)
    for seed in (None, 3, None):
        env.reset(seed=seed)
        play(env, 10)
        game = env.record()
        assert (game["players"], game["options"]) == (4, {"reward": "margin", "forced_steal": False})
        assert env.render_mode == "ansi"
        assert len(env.agents) == 4


@pytest.mark.parametrize("players", [0, 5, -1, 2.0, "2", None, True])
def test_a_wrong_number_of_players_is_refused(players):
    with pytest.raises(ValueError, match=f"players was {players!r}; .*give one of these"):
        forest_v0.env(players=players)


def test_unknown_arguments_and_values_are_refused_by_name():
    with pytest.raises(TypeError, match=r"no argument 'rewards'; .*players.*render_mode.*forced_steal.*reward"):
        forest_v0.env(rewards="win")
    with pytest.raises(ValueError, match="'reward' was 'points'; give 'win' or 'margin'"):
        forest_v0.env(reward="points")
    with pytest.raises(ValueError, match="render_mode was 'svg'; give None or one of human, ansi, rgb_array"):
        forest_v0.env(render_mode="svg")


@pytest.mark.parametrize("players", PLAYERS)
@pytest.mark.parametrize("avoid", ["takes", "nothing"])
def test_random_players_and_players_who_never_want_to_finish_do_finish(players, avoid):
    rng = np.random.default_rng(7)
    for seed in range(10):
        env = started(players, seed)
        while not env.terminations[env.agent_selection]:
            legal = np.flatnonzero(env.observe(env.agent_selection)["action_mask"])
            dallying = legal[(legal >= 8) & (legal != PASS)] if avoid == "takes" else legal
            env.step(int(rng.choice(dallying if len(dallying) else legal[-1:])))
        assert len(env.record()["actions"]) <= MAX_PLIES


def test_the_final_position_is_drawn():
    env = started(render_mode="ansi")
    rng = np.random.default_rng(8)
    while not env.terminations[env.agent_selection]:
        before = env.render()
        env.step(pick(env.observe(env.agent_selection)["action_mask"], rng))
    assert isinstance(before, str)
    assert env.render() != before


@pytest.mark.filterwarnings("ignore:.*The board comes as text instead of in a window:UserWarning")
def test_human_mode_writes_the_board_to_the_terminal_at_each_step_where_there_is_no_display(capsys, monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    env = started(render_mode="human")
    text = forest_v0.raw_env(render_mode="ansi")
    text.reset(seed=1)
    assert capsys.readouterr().out.strip() == text.render().strip()
    play(env, 1)
    play(text, 1)
    assert capsys.readouterr().out.strip() == text.render().strip()
    assert env.render() is None


def test_a_picture_is_not_uniform():
    picture = started(render_mode="rgb_array").render()
    assert picture.dtype == np.uint8
    assert picture.min() < picture.max()


def test_rendering_without_a_mode_warns_and_gives_nothing():
    with pytest.warns(UserWarning, match="render_mode='ansi'"):
        assert started().render() is None


def test_the_parallel_form_plays_the_same_game():
    env, parallel = started(3), forest_v0.parallel_env(players=3)
    observations, _ = parallel.reset(seed=1)
    rng = np.random.default_rng(9)
    totals = Counter()
    while True:
        agent = env.agent_selection
        action = pick(env.observe(agent)["action_mask"], rng)
        assert observations[agent]["action_mask"][action] == 1
        env.step(action)
        observations, rewards, terminations, _, _ = parallel.step(dict.fromkeys(parallel.agents, action))
        totals.update(rewards)
        for each in env.agents:
            assert (observations[each]["observation"] == env.observe(each)["observation"]).all()
        if any(terminations.values()):
            break
    assert all(terminations.values())
    assert [totals[agent] for agent in env.possible_agents] == env.game_state.returns()
    assert parallel.agents == []
