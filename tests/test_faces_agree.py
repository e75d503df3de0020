"""One seed and one line of play is one game on every face, move by move."""

import zlib
from importlib import import_module

import numpy as np
import pytest

from spirits_env import GAMES, Agent, Batch, SingleEnv, State, VectorEnv
from spirits_env.games import load

SEEDS = range(6)
# Every player count with the default options, and with each other choice of each.
TABLES = [
    (game, players, options)
    for game in GAMES
    for players in load(game).players
    for options in [
        {},
        *(
            {option.name: choice}
            for option in load(game).options
            for choice in option.choices
            if choice != option.default
        ),
    ]
]
SEVERAL = [table for table in TABLES if table[1] > 1]


def choice(observation, mask):
    """A legal action that depends on nothing but what the seat sees."""
    legal = np.flatnonzero(mask)
    return int(legal[zlib.crc32(observation.tobytes()) % len(legal)])


class Hashing(Agent):
    """Plays that choice."""

    name = "hashing"

    def act(self, view):
        return choice(view.observation[0], view.mask[0])


def line(game, players, seed, options):
    """One game on the value itself: per ply the seat, its view and mask and its choice; then the game."""
    state = State(game, players, seed, **options)
    plies = []
    while state.seat >= 0:
        seat, observation, mask = state.seat, state.observation(state.seat), state.mask()
        action = choice(observation, mask)
        plies.append((seat, observation, mask, action))
        state.play(action)
    return plies, state


@pytest.mark.parametrize(("game", "players", "options"), SEVERAL)
@pytest.mark.parametrize("face", ["raw_env", "env"])
def test_the_pettingzoo_face_plays_the_game_of_the_value(face, game, players, options):
    make = getattr(import_module(f"spirits_env.{game}_v{GAMES[game].version}"), face)
    for seed in SEEDS:
        plies, final = line(game, players, seed, options)
        env = make(players=players, **options)
        env.reset(seed=seed)
        for seat, observation, mask, action in plies:
            seen, *_ = env.last()
            assert env.agent_selection == f"player_{seat}"
            assert (seen["observation"] == observation).all()
            assert (seen["action_mask"] == mask).all()
            env.step(action)
        assert all(env.terminations.values())
        assert [env.rewards[agent] for agent in env.possible_agents] == final.returns()
        assert env.unwrapped.game_state == final


@pytest.mark.parametrize(("game", "players", "options"), TABLES)
def test_the_lanes_of_a_batch_play_the_games_of_values_while_they_drift_apart(game, players, options):
    batch = Batch(game, len(SEEDS), players, options)
    batch.reset(list(SEEDS))
    lines = [line(game, players, seed, options) for seed in SEEDS]
    for ply in range(max(len(plies) for plies, _ in lines)):
        lanes = np.array([lane for lane, (plies, _) in enumerate(lines) if ply < len(plies)])
        for lane in lanes:
            seat, observation, mask, _ = lines[lane][0][ply]
            assert batch.seat[lane] == seat
            assert (batch.observation[lane] == observation).all()
            assert (batch.mask[lane] == mask).all()
        batch.step(np.array([lines[lane][0][ply][3] for lane in lanes]), lanes)
    for lane, (_, final) in enumerate(lines):
        assert batch.done[lane]
        assert batch.utility[lane, :players].tolist() == final.returns()
        assert batch.points[lane, :players].tolist() == final.scores()
        assert np.flatnonzero(batch.won[lane]).tolist() == final.winners()


def check_ends_alike(observation, info, seat, final):
    assert (observation == final.observation(seat)).all()
    assert info["returns"].tolist() == final.returns()
    assert info["scores"].tolist() == final.scores()
    assert np.flatnonzero(info["winners"]).tolist() == final.winners()


@pytest.mark.parametrize(("game", "players", "options"), TABLES)
def test_the_single_face_plays_the_game_of_the_value_in_every_seat(game, players, options):
    for seat in range(players):
        env = SingleEnv(game, players, seat, Hashing(), **options)
        for seed in SEEDS:
            plies, final = line(game, players, seed, options)
            seen, info = env.reset(seed=seed)
            for acting, observation, mask, action in plies:
                if acting == seat:
                    assert (seen == observation).all()
                    assert (info["action_mask"] == mask).all()
                    seen, reward, over, _, info = env.step(action)
            assert over
            assert reward == final.returns()[seat]
            check_ends_alike(seen, info, seat, final)


@pytest.mark.parametrize(("game", "players", "options"), TABLES)
def test_the_vector_face_plays_the_games_of_values_while_its_lanes_drift_apart(game, players, options):
    seat = players - 1
    env = VectorEnv(len(SEEDS), game, players, seat, Hashing(), **options)
    lines = [line(game, players, seed, options) for seed in SEEDS]
    own = [[ply for ply in plies if ply[0] == seat] for plies, _ in lines]
    seen, infos = env.reset(seed=0)
    for step in range(max(len(plies) for plies in own)):
        actions = np.zeros(len(SEEDS), np.int64)
        for lane, plies in enumerate(own):
            if step < len(plies):
                _, observation, mask, actions[lane] = plies[step]
                assert (seen[lane] == observation).all()
                assert (infos["action_mask"][lane] == mask).all()
        seen, _, over, _, infos = env.step(actions)
        for lane, plies in enumerate(own):
            if step == len(plies) - 1:
                assert over[lane]
                outcome = {name: infos[name][lane] for name in ("returns", "scores", "winners")}
                check_ends_alike(seen[lane], outcome, seat, lines[lane][1])
