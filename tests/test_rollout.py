"""Rollouts: every game is played to its end, and each decision is credited with what came of it for its own seat."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from referee.forest import Referee

from spirits_env import games
from spirits_env.agents import GreedyAgent, RandomAgent
from spirits_env.batch import Views
from spirits_env.game import stream
from spirits_env.state import State
from training.rollout import (
    Asked,
    Games,
    Rollout,
    credit,
    mixed_utility,
    play_forced,
    run_seed,
    share_lanes,
    squashed_margin,
)

FOREST = games.load("forest")


class Drawn:
    """Draws legal actions at random and keeps a number of each decision."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.asked: list[Asked] = []

    def choose(self, asked: Asked) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        self.asked.append(asked)
        action = (asked.mask * self.rng.random(asked.mask.shape)).argmax(axis=1)
        return action, {"value": self.rng.random(len(action), np.float32), "twice": 2 * asked.seat}


class Noted(RandomAgent):
    """Plays at random and notes what it was asked, by the observation."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.seen: list[tuple[bytes, int]] = []

    def act_many(self, views: Views) -> np.ndarray:
        self.seen += [(row.tobytes(), int(seat)) for row, seat in zip(views.observation, views.seat, strict=True)]
        return super().act_many(views)


def played(game: str = "forest", players: tuple[int, ...] = (2, 3, 4), lanes: tuple[int, ...] = (4, 3, 3)) -> Rollout:
    return Games(games.load(game), players, lanes, {}).play(Drawn(), 1, 0)


def as_arrays(*values: Any) -> tuple[np.ndarray, ...]:
    """Lane, seat, value and utility in the types of a rollout."""
    lane, seat, value, utility = values
    return np.array(lane), np.array(seat), np.array(value, np.float32), np.array(utility, np.float32)


def credited(*values: Any, gamma: float = 1.0, trace: float = 1.0) -> np.ndarray:
    arrays = as_arrays(*values)
    advantage = np.full(len(arrays[0]), np.nan, np.float32)
    credit(*arrays, gamma, trace, advantage)
    return advantage


# --- credit -----------------------------------------------------------------------------------------------


def test_two_seats_by_hand() -> None:
    # Seats 0 0 1 0 1 of one game; the winner's values are 0.5, 0.1, 0.2, the loser's 0.4 and -0.6.
    game = ([0] * 5, [0, 0, 1, 0, 1], [0.5, 0.1, 0.4, 0.2, -0.6], [[1, -1]])
    np.testing.assert_allclose(credited(*game), [0.5, 0.9, -1.4, 0.8, -0.4], rtol=1e-6)
    np.testing.assert_allclose(credited(*game, trace=0), [0.1 - 0.5, 0.2 - 0.1, -0.6 - 0.4, 0.8, -0.4], rtol=1e-6)
    # gamma 0.9, lambda 0.5: factor 0.45 from one own decision to the next.
    last, final = 1 - 0.2, -1 + 0.6
    middle = 0.9 * 0.2 - 0.1 + 0.45 * last
    first = 0.9 * 0.1 - 0.5 + 0.45 * middle
    other = 0.9 * -0.6 - 0.4 + 0.45 * final
    np.testing.assert_allclose(credited(*game, gamma=0.9, trace=0.5), [first, middle, other, last, final], rtol=1e-6)
    assert first == pytest.approx(-0.212)


def test_three_seats_by_hand_with_a_seat_that_never_decides_again() -> None:
    # Seats 0 0 1 2 0, lambda 0.5: what comes between does not matter to a seat.
    game = ([0] * 5, [0, 0, 1, 2, 0], [0.1, 0.2, 0.3, 0.4, 0.5], [[1, -0.5, -0.5]])
    fifth = 1 - 0.5
    second = (0.5 - 0.2) + 0.5 * fifth
    first = (0.2 - 0.1) + 0.5 * second
    np.testing.assert_allclose(credited(*game, trace=0.5), [first, second, -0.8, -0.9, fifth], rtol=1e-6)
    assert (first, second) == pytest.approx((0.375, 0.55))


def test_four_seats_in_two_games_whose_decisions_are_mixed() -> None:
    lane = [1, 0, 1, 0, 0, 1]
    seat = [3, 2, 0, 2, 1, 3]
    value = [0.5, -0.25, 0.0, 0.75, 0.125, -0.5]
    utility = [[-1, 0.5, 0.25, 0.25], [0.25, 0, -1, 0.75]]
    expected = [0.5 * -0.5 - 0.5 + 0.25 * 1.25, 0.5 * 0.75 + 0.25 + 0.25 * -0.5, 0.25, -0.5, 0.375, 1.25]
    np.testing.assert_allclose(credited(lane, seat, value, utility, gamma=0.5, trace=0.5), expected, rtol=1e-6)


def test_credit_leaves_what_it_reads_as_it_was() -> None:
    arrays = as_arrays([0, 0], [0, 1], [0.5, 0.5], [[1, -1]])
    before = [array.copy() for array in arrays]
    credit(*arrays, 0.9, 0.9, np.empty(2, np.float32))
    for array, kept in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, kept)


@pytest.mark.parametrize(("gamma", "trace"), [(1.0, 1.0), (1.0, 0.95), (0.9, 0.0), (0.97, 0.6)])
def test_credit_is_the_sum_of_discounted_surprises_of_the_seat(gamma: float, trace: float) -> None:
    rng = np.random.default_rng(int(100 * gamma + 10 * trace))
    count, lanes, seats = 400, 7, 4
    lane, seat = rng.integers(lanes, size=count), rng.integers(seats, size=count)
    value, utility = rng.normal(size=count), rng.normal(size=(lanes, seats))
    expected = np.empty(count)
    for k in range(lanes):
        for s in range(seats):
            own = np.flatnonzero((lane == k) & (seat == s))
            # What the seat expects before each of its decisions, and what it gets in the end.
            path = [*value[own], utility[k, s]]
            steps = [(1.0 if i == len(own) - 1 else gamma) * path[i + 1] - path[i] for i in range(len(own))]
            for i, row in enumerate(own):
                expected[row] = sum((gamma * trace) ** (j - i) * steps[j] for j in range(i, len(own)))
    got = credited(lane, seat, value, utility, gamma=gamma, trace=trace)
    np.testing.assert_allclose(got, expected, atol=2e-5)


# --- whole games ------------------------------------------------------------------------------------------


def replayed(rollout: Rollout, seed: int = 1, number: int = 0, **options: Any) -> list[State]:
    """Play the games of a rollout again by its decisions, forced ones filled in, and check each on the way."""
    states = []
    for lane, players in enumerate(rollout.players):
        state = State("forest", int(players), seed=run_seed(seed, 10, number, lane), **options)
        rows = list(np.flatnonzero(rollout.lane == lane))
        while state.seat >= 0:
            legal = state.legal_actions()
            if len(legal) == 1:
                state.play(legal[0])
                continue
            row = rows.pop(0)
            assert rollout.seat[row] == state.seat
            np.testing.assert_array_equal(rollout.observation[row], state.observation(state.seat))
            np.testing.assert_array_equal(rollout.mask[row], state.mask())
            state.play(int(rollout.action[row]))
        assert not rows
        states.append(state)
    return states


@pytest.mark.parametrize("reward", ["win", "margin"])
def test_a_rollout_is_every_decision_of_its_games_once_and_what_came_of_them(reward: str) -> None:
    rollout = Games(FOREST, (2, 3, 4), (4, 3, 3), {"reward": reward}).play(Drawn(), 1, 0)
    assert rollout.players.tolist() == [2] * 4 + [3] * 3 + [4] * 3
    assert (rollout.mask.sum(axis=1) > 1).all()
    for lane, state in enumerate(replayed(rollout, reward=reward)):
        n = state.players
        np.testing.assert_allclose(rollout.utility[lane, :n], state.returns(), rtol=1e-6)
        points = np.array(state.scores(), float)
        for seat in range(n):
            others = np.delete(points, seat)
            assert rollout.margin[lane, seat] == pytest.approx(points[seat] - others.mean())
        referee = Referee(state.setup(), n)
        for action in state.history:
            referee.play(action)
        for category, icon in enumerate(FOREST.categories):
            above = [points > 0 for points in referee.points_on((icon,))]
            np.testing.assert_array_equal(rollout.lead[lane, :n, category], above)
        for absent in (rollout.utility, rollout.margin, rollout.lead, rollout.learner):
            assert not absent[lane, n:].any()
        assert rollout.learner[lane, :n].all()
    assert rollout.lead.any()


def test_what_is_kept_lies_beside_its_decision_and_rows_are_in_the_order_of_play() -> None:
    choices = Drawn()
    rollout = Games(FOREST, (2, 4), (3, 2), {}).play(choices, 1, 0)
    np.testing.assert_array_equal(rollout.kept["twice"], 2 * rollout.seat)
    assert set(rollout.kept) == {"value", "twice"}
    asked = choices.asked
    for name in ("observation", "mask", "lane", "seat"):
        np.testing.assert_array_equal(getattr(rollout, name), np.concatenate([getattr(each, name) for each in asked]))
    # All games are asked together, each at most once, and a game's decisions come one after another.
    assert all(len(set(each.lane)) == len(each.lane) for each in asked)
    assert len(asked[0].lane) == 5
    for each in asked:
        assert each.states["seat"].tolist() == each.seat.tolist()
        assert each.states["players"].tolist() == [2 if lane < 3 else 4 for lane in each.lane]


def test_what_choices_are_given_are_copies() -> None:
    class Vandal(Drawn):
        def choose(self, asked: Asked) -> tuple[np.ndarray, dict[str, np.ndarray]]:
            answer = super().choose(asked)
            asked.states["rng"] = 1
            asked.states["gem"] = -1
            return answer

    one, other = (Games(FOREST, (2,), (3,), {}).play(choices, 1, 0) for choices in (Drawn(), Vandal()))
    np.testing.assert_array_equal(one.action, other.action)
    np.testing.assert_array_equal(one.observation, other.observation)


@pytest.mark.parametrize(("game", "players"), [("forest", (2, 3)), ("wild", (2,))])
def test_games_of_every_game_are_played_to_their_ends(game: str, players: tuple[int, ...]) -> None:
    rollout = played(game, players, (8 // len(players),) * len(players))
    assert set(rollout.lane) == set(range(8))
    for lane, n in enumerate(rollout.players):
        assert set(rollout.seat[rollout.lane == lane]) == set(range(n))
        assert rollout.utility[lane, :n].sum() == pytest.approx(0, abs=1e-5)
        assert rollout.utility[lane].any()
    assert rollout.mask[np.arange(len(rollout)), rollout.action].all()


def test_forced_decisions_are_played_until_there_is_a_choice() -> None:
    table = Games(FOREST, (2,), (40,), {}).deal(1, 0, ())[0]
    rng, forced = np.random.default_rng(0), 0
    while len(lanes := np.flatnonzero(table.batch.seat >= 0)):
        forced += int((table.batch.mask[lanes].sum(axis=1) == 1).sum())
        play_forced(table.batch)
        lanes = np.flatnonzero(table.batch.seat >= 0)
        assert (table.batch.mask[lanes].sum(axis=1) > 1).all()
        table.batch.step(np.array([rng.choice(np.flatnonzero(mask)) for mask in table.batch.mask[lanes]], int), lanes)
    assert forced > 0


def test_an_illegal_choice_is_an_error() -> None:
    class Cheat(Drawn):
        def choose(self, asked: Asked) -> tuple[np.ndarray, dict[str, np.ndarray]]:
            return asked.mask.argmin(axis=1), {}

    with pytest.raises(ValueError, match="In game 0"):
        Games(FOREST, (2,), (3,), {}).play(Cheat(), 1, 0)


# --- seats counted from the one that decided --------------------------------------------------------------


def test_values_are_looked_up_from_the_seat_that_decided_with_absent_seats_last() -> None:
    rollout = replace(
        played(),
        lane=np.array([0, 0, 1, 1, 2]),
        seat=np.array([0, 1, 2, 1, 3]),
        players=np.array([2, 3, 4]),
        utility=np.zeros((3, 4), np.float32),
    )
    order = [[0, 1, 2, 3], [1, 0, 2, 3], [2, 0, 1, 3], [1, 2, 0, 3], [3, 0, 1, 2]]
    np.testing.assert_array_equal(rollout.seat_order, order)
    here = [[1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
    np.testing.assert_array_equal(rollout.present, np.array(here, bool))
    values = np.arange(12).reshape(3, 4)
    expected = [[0, 1, 2, 3], [1, 0, 2, 3], [6, 4, 5, 7], [5, 6, 4, 7], [11, 8, 9, 10]]
    np.testing.assert_array_equal(rollout.seats_from(values), expected)
    deep = np.stack([values, -values], axis=2)
    np.testing.assert_array_equal(rollout.seats_from(deep)[:, :, 1], -np.array(expected))


# --- opponents --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("players", [2, 3, 4])
def test_an_opponent_has_all_seats_but_one_of_a_game_from_first_to_last(players: int) -> None:
    agents = [Noted("one"), Noted("two")]
    lanes = 2 * players * 2
    rollout = Games(FOREST, (players,), (lanes,), {}, share=1.0).play(Drawn(), 1, 0, agents)
    assert (rollout.learner.sum(axis=1) == 1).all()
    for lane in range(lanes):
        own = rollout.learner[lane].argmax()
        assert set(rollout.seat[rollout.lane == lane]) == {own}
    # Each pair of a seat and an opponent comes as often as any other.
    table = Games(FOREST, (players,), (lanes,), {}, share=1.0).deal(1, 0, agents)[0]
    np.testing.assert_array_equal(table.learner, rollout.learner[:, :players])
    pairs = Counter(zip(table.learner.argmax(axis=1).tolist(), table.opponent.tolist(), strict=True))
    assert pairs == {(seat, opponent): 2 for seat in range(players) for opponent in range(2)}
    # Nobody but a game's opponent was asked in it, and nothing of theirs is in the rollout.
    mine = {row.tobytes() for row in rollout.observation}
    assert not mine & {seen for agent in agents for seen, _ in agent.seen}
    assert all(len(agent.seen) > lanes for agent in agents)


def test_each_game_is_played_against_its_own_opponent_alone() -> None:
    # A first and a last legal action tell the opponents' decisions apart.
    class First(RandomAgent):
        def act_many(self, views: Views) -> np.ndarray:
            return views.mask.argmax(axis=1)

    class Last(RandomAgent):
        def act_many(self, views: Views) -> np.ndarray:
            return views.mask.shape[1] - 1 - views.mask[:, ::-1].argmax(axis=1)

    agents = [First(), Last()]
    table = Games(FOREST, (2,), (8,), {}, share=0.75).deal(3, 5, agents)[0]
    rollout = Games(FOREST, (2,), (8,), {}, share=0.75).play(Drawn(), 3, 5, agents)
    assert rollout.learner[:, :2].sum(axis=1).tolist() == [1] * 6 + [2] * 2
    for lane in range(6):
        state = State("forest", 2, seed=run_seed(3, 10, 5, lane))
        rows = list(np.flatnonzero(rollout.lane == lane))
        while state.seat >= 0:
            legal = state.legal_actions()
            if len(legal) == 1:
                state.play(legal[0])
            elif state.seat == table.learner[lane].argmax():
                row = rows.pop(0)
                np.testing.assert_array_equal(rollout.observation[row], state.observation(state.seat))
                state.play(int(rollout.action[row]))
            else:
                state.play(legal[0] if table.opponent[lane] == 0 else legal[-1])
        assert not rows
        np.testing.assert_allclose(rollout.utility[lane, :2], state.returns(), rtol=1e-6)


def test_seats_go_on_rotating_from_rollout_to_rollout_and_without_opponents_the_learner_has_all() -> None:
    pool = Games(FOREST, (3,), (1,), {}, share=1.0)
    seats = Counter(int(pool.deal(1, number, [RandomAgent()])[0].learner[0].argmax()) for number in range(300))
    assert min(seats.values()) > 70
    assert pool.deal(1, 0, ())[0].learner.all()
    assert Games(FOREST, (3,), (4,), {}).deal(1, 0, [RandomAgent()])[0].learner.all()


def test_the_chance_of_opponents_is_part_of_the_deal() -> None:
    one, other = (
        Games(FOREST, (2, 3), (4, 3), {}, share=1.0).play(Drawn(), 1, 0, [RandomAgent(), GreedyAgent()])
        for _ in range(2)
    )
    np.testing.assert_array_equal(one.observation, other.observation)
    np.testing.assert_array_equal(one.utility, other.utility)


# --- deals ------------------------------------------------------------------------------------------------


def deals(of: Games, seed: int, number: int) -> list[bytes]:
    return [row.tobytes() for table in of.deal(seed, number, ()) for row in table.batch.observation]


def test_deals_depend_on_seed_and_number_alone_and_none_comes_twice() -> None:
    fresh, used = Games(FOREST, (2, 3), (4, 3), {}), Games(FOREST, (2, 3), (4, 3), {})
    used.play(Drawn(), 1, 7)
    assert deals(fresh, 1, 3) == deals(used, 1, 3)
    everything = [deal for seed in (1, 2) for number in range(4) for deal in deals(fresh, seed, number)]
    assert len(set(everything)) == len(everything) == 56


def test_seeds_of_training_are_below_those_that_are_held_out() -> None:
    seeds = [run_seed(seed, purpose, number) for seed in (0, 1, 2**63) for purpose in (10, 14) for number in range(50)]
    assert len(set(seeds)) == 300
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert max(seeds) > 2**62
    assert run_seed(5, 12, 3, 1) == stream(5, 12, 3, 1) // 2


@pytest.mark.parametrize(
    ("count", "shares", "lanes"),
    [
        (256, [1.0], [256]),
        (8, [1, 1], [4, 4]),
        (10, [2, 1, 1], [6, 2, 2]),
        (9, [1, 1, 1], [3, 3, 3]),
        (10, [1, 1, 1], [4, 3, 3]),
        (100, [0.5, 0.25, 0.25], [50, 25, 25]),
        (4, [100, 1, 1], [2, 1, 1]),
    ],
)
def test_games_are_shared_out_in_proportion_with_one_each_at_least(
    count: int, shares: list[float], lanes: list[int]
) -> None:
    assert share_lanes(count, shares) == lanes
    assert sum(lanes) == count


def test_no_games_are_lost_or_added_by_sharing() -> None:
    for count in range(3, 60):
        for shares in ([1, 1, 1], [1, 5, 5], [1, 100, 100], [3, 2, 2]):
            lanes = share_lanes(count, shares)
            assert sum(lanes) == count, (count, shares)
            assert min(lanes) >= 1


# --- what is paid -----------------------------------------------------------------------------------------


def test_the_margin_is_squashed_by_its_scale_for_each_number_of_players_and_mixed_in() -> None:
    rollout = replace(
        played(),
        players=np.array([2, 3]),
        utility=np.array([[1, -1, 0, 0], [-0.5, 1, -0.5, 0]], np.float32),
        margin=np.array([[6, -6, 0, 0], [0, 8, -8, 0]], np.float32),
    )
    scales = np.array([1, 6, 12, 8, 6], np.float32)
    half, one = 0.46211716, 0.76159416
    squashed = [[half, -half, 0, 0], [0, one, -one, 0]]
    np.testing.assert_allclose(squashed_margin(rollout, scales), squashed, rtol=1e-6)
    np.testing.assert_allclose(mixed_utility(rollout, scales, 1.0), squashed, rtol=1e-6)
    np.testing.assert_array_equal(mixed_utility(rollout, scales, 0.0), rollout.utility)
    mixed = [[0.75 + 0.25 * half, -0.75 - 0.25 * half, 0, 0], [-0.375, 0.75 + 0.25 * one, -0.375 - 0.25 * one, 0]]
    np.testing.assert_allclose(mixed_utility(rollout, scales, 0.25), mixed, rtol=1e-6)
    assert mixed_utility(rollout, scales, 0.25).dtype == np.float32
