"""Ratings, their intervals and the sequential test: planted truths, closed forms and a slow fit of its own."""

from __future__ import annotations

import math
from itertools import combinations, permutations

import numpy as np
import pytest

from spirits_env.arena.estimates import estimate_share
from spirits_env.arena.ratings import bootstrap, chances, fit
from spirits_env.arena.sprt import CAP, MINIMUM, Verdict, decide


def rank(seats: np.ndarray, ratings: np.ndarray, offsets: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Places drawn from Plackett's and Luce's model: strengths with Gumbel noise, sorted (Yellott, 1977)."""
    luck = (ratings[seats] + offsets) * math.log(10) / 400 + rng.gumbel(size=seats.shape)
    return (-luck).argsort(axis=1).argsort(axis=1)


def round_robin(agents: int, players: int, deals: int) -> tuple[np.ndarray, np.ndarray]:
    """Deal numbers and seats: all tables of different agents, all rotations, on every deal."""
    tables = [table[r:] + table[:r] for table in combinations(range(agents), players) for r in range(players)]
    return np.repeat(np.arange(deals), len(tables)), np.array(tables * deals)


def pair(wins: int, losses: int, draws: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Games of agent 1 against agent 0, each once from either seat."""
    ends = [(0, 1)] * wins + [(1, 0)] * losses + [(0, 0)] * draws
    seats = [(1, 0)] * len(ends) + [(0, 1)] * len(ends)
    return np.array(seats), np.array(ends + [end[::-1] for end in ends])


def elo(odds: float) -> float:
    return 400 * math.log10(odds)


PLANTED = np.array([0.0, 120.0, 260.0, 500.0, 650.0])
OFFSETS = {2: (40.0, -40.0), 3: (70.0, 0.0, -70.0), 4: (90.0, 30.0, -40.0, -80.0)}


@pytest.mark.parametrize("players", [2, 3, 4])
def test_planted_ratings_and_seat_offsets_are_recovered(players):
    rng = np.random.default_rng(players)
    seats = np.array([rng.permutation(5)[:players] for _ in range(20_000)])
    offsets = np.array(OFFSETS[players])
    found = fit(seats, rank(seats, PLANTED, offsets, rng), 5)
    np.testing.assert_allclose(found.ratings, PLANTED, atol=20)
    np.testing.assert_allclose(found.seat_offsets, offsets, atol=8)
    assert found.ratings[0] == 0
    assert found.seat_offsets.sum() == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("players", [3, 4])
def test_fields_of_copies_recover_planted_ratings(players):
    rng = np.random.default_rng(players)
    fields = np.array(
        [
            [agent if seat == own else opponent for seat in range(players)]
            for agent, opponent in permutations(range(3), 2)
            for own in range(players)
        ]
    )
    seats = np.tile(fields, (1000, 1))
    offsets = np.array(OFFSETS[players])
    found = fit(seats, rank(seats, PLANTED[:3], offsets, rng), 3)
    np.testing.assert_allclose(found.ratings, PLANTED[:3], atol=15)
    np.testing.assert_allclose(found.seat_offsets, offsets, atol=10)


@pytest.mark.parametrize(("wins", "losses", "draws"), [(7, 3, 0), (30, 12, 5), (0, 0, 4), (50, 0, 0), (0, 9, 0)])
def test_two_agents_without_seat_effect_have_the_odds_of_their_wins_and_virtual_draws(wins, losses, draws):
    found = fit(*pair(wins, losses, draws), agents=2)
    odds = (2 * wins + draws + 1) / (2 * losses + draws + 1)
    assert found.ratings[1] == pytest.approx(elo(odds), abs=1e-6)
    np.testing.assert_allclose(found.seat_offsets, 0, atol=1e-6)
    share = 1 / (1 + 1 / odds)
    expected = (2 * wins + draws) * math.log(share) + (2 * losses + draws) * math.log(1 - share)
    assert found.log_likelihood == pytest.approx(expected)


def test_the_first_seat_beats_by_the_formula_of_bradley_and_terry():
    rng = np.random.default_rng(0)
    seats = np.array([(1, 0), (0, 1)] * 500)
    found = fit(seats, rank(seats, PLANTED[:2], np.array([60.0, -60.0]), rng), 2)
    h = found.seat_offsets[0] - found.seat_offsets[1]
    expected = 1 / (1 + 10 ** (-(found.ratings[1] + h) / 400))
    assert chances(found.strengths(np.array([[1, 0]])))[0, 0] == pytest.approx(expected)


def slow_log_likelihood(seats, place, ratings, offsets):
    """The definition, game by game: the mean over all orders that the places allow."""
    total = 0.0
    for who, ends in zip(seats.tolist(), place.tolist(), strict=True):
        t = [(ratings[agent] + offsets[seat]) * math.log(10) / 400 for seat, agent in enumerate(who)]
        allowed = [o for o in permutations(range(len(who))) if [ends[s] for s in o] == sorted(ends)]
        for order in allowed:
            for k in range(len(order)):
                below = math.log(sum(math.exp(t[seat]) for seat in order[k:]))
                total += (t[order[k]] - below) / len(allowed)
    return total


def virtual_draws(values):
    """Two draws of each, spread over all others: a draw is half a win and half a loss."""
    chance = [1 / (1 + 10 ** ((b - a) / 400)) for a, b in combinations(values, 2)]
    return sum(2 / (len(values) - 1) * (0.5 * math.log(p) + 0.5 * math.log(1 - p)) for p in chance)


def climb(value, start):
    """A maximiser that knows nothing of derivatives: try each direction, halve the step when none helps."""
    point, step, best = list(start), 128.0, value(start)
    while step > 1e-4:
        moved = False
        for index in range(len(point)):
            for sign in (1, -1):
                trial = [*point]
                trial[index] += sign * step
                reached = value(trial)
                if reached > best:
                    point, best, moved = trial, reached, True
        if not moved:
            step /= 2
    return point


@pytest.mark.parametrize(
    ("seats", "place"),
    [
        ([(0, 1), (1, 0), (2, 1), (0, 2)], [(0, 1), (0, 1), (0, 0), (1, 0)]),
        ([(0, 1, 2), (2, 0, 1), (1, 1, 0), (2, 0, 0)], [(0, 1, 2), (0, 0, 2), (1, 0, 1), (0, 0, 0)]),
    ],
)
def test_the_fit_agrees_with_a_slow_one_of_its_own(seats, place):
    seats, place = np.array(seats), np.array(place)
    players = seats.shape[1]

    def parts(free):
        return [free[0], 0.0, free[1]], [*free[2:], -sum(free[2:])]

    def value(free):
        ratings, offsets = parts(free)
        games = slow_log_likelihood(seats, place, ratings, offsets)
        return games + virtual_draws(ratings) + virtual_draws(offsets)

    ratings, offsets = parts(climb(value, [0.0] * (players + 1)))
    found = fit(seats, place, 3, anchor=1)
    np.testing.assert_allclose(found.ratings, ratings, atol=0.05)
    np.testing.assert_allclose(found.seat_offsets, offsets, atol=0.05)
    assert found.log_likelihood == pytest.approx(slow_log_likelihood(seats, place, ratings, offsets), abs=1e-4)


def test_level_seats_count_as_every_order_of_them():
    rng = np.random.default_rng(1)
    seats = np.array([rng.permutation(4)[:3] for _ in range(60)])
    place = rank(seats, PLANTED[:4], np.zeros(3), rng)
    level = fit(np.vstack([seats, [[0, 1, 2]]]), np.vstack([place, [[0, 0, 0]]]), 4)
    orders = np.array(list(permutations(range(3))))
    split = fit(
        np.vstack([seats, np.tile([0, 1, 2], (6, 1))]),
        np.vstack([place, orders]),
        4,
        weights=np.r_[np.ones(60), np.full(6, 1 / 6)],
    )
    np.testing.assert_allclose(level.ratings, split.ratings, atol=1e-6)
    assert level.log_likelihood == pytest.approx(split.log_likelihood)


def test_weights_count_like_copies_of_games():
    rng = np.random.default_rng(2)
    seats = np.array([rng.permutation(3)[:2] for _ in range(40)])
    place = rank(seats, PLANTED[:3], np.zeros(2), rng)
    times = rng.integers(0, 4, 40)
    copied = fit(np.repeat(seats, times, axis=0), np.repeat(place, times, axis=0), 3)
    np.testing.assert_allclose(fit(seats, place, 3, weights=times).ratings, copied.ratings, atol=1e-6)


def test_the_anchor_moves_all_ratings_alike():
    rng = np.random.default_rng(3)
    seats = np.array([rng.permutation(4)[:3] for _ in range(80)])
    place = rank(seats, PLANTED[:4], np.zeros(3), rng)
    first, third = fit(seats, place, 4), fit(seats, place, 4, anchor=2)
    np.testing.assert_allclose(third.ratings, first.ratings - first.ratings[2], atol=1e-5)
    np.testing.assert_allclose(third.seat_offsets, first.seat_offsets, atol=1e-5)


def test_a_seat_that_always_wins_among_equals_has_a_finite_offset():
    found = fit(np.tile([[0, 1], [1, 0]], (10, 1)), np.tile([0, 1], (20, 1)), 2)
    np.testing.assert_allclose(found.ratings, 0, atol=1e-6)
    assert found.seat_offsets[0] - found.seat_offsets[1] == pytest.approx(elo(21))


def test_games_of_none_leave_everybody_equal():
    found = fit(np.empty((0, 3), np.int64), np.empty((0, 3), np.int64), 4)
    np.testing.assert_array_equal(found.ratings, 0)
    assert found.log_likelihood == 0


def test_the_bootstrap_moves_all_games_of_a_deal_together():
    deal, seats = round_robin(3, 2, 60)
    place = rank(seats, PLANTED[:3], np.zeros(2), np.random.default_rng(4))
    once = np.diff(bootstrap(deal, seats, place, 3, resamples=400).ratings)[1:]
    nine = [np.tile(part, (9, 1)) for part in (seats, place)]
    same_deals = np.diff(bootstrap(np.tile(deal, 9), *nine, 3, resamples=400).ratings)[1:]
    more_deals = np.diff(bootstrap(np.arange(9 * len(deal)) // 6, *nine, 3, resamples=400).ratings)[1:]
    np.testing.assert_allclose(same_deals, once, rtol=0.25)
    np.testing.assert_allclose(more_deals, once / 3, rtol=0.25)


def test_the_bootstrap_is_fixed_by_its_seed():
    deal, seats = round_robin(3, 2, 20)
    place = rank(seats, PLANTED[:3], np.zeros(2), np.random.default_rng(5))
    first, again, other = (bootstrap(deal, seats, place, 3, resamples=50, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.ratings, again.ratings)
    np.testing.assert_array_equal(first.seat_offsets, again.seat_offsets)
    assert (first.ratings[1:] != other.ratings[1:]).all()
    np.testing.assert_array_equal(first.ratings[0], 0)


def test_an_agent_that_won_every_game_has_an_interval_with_a_width():
    seats, place = pair(50, 0)
    low, high = bootstrap(np.tile(np.arange(50), 2), seats, place, 2, resamples=1000).ratings[1]
    # What 100 wins out of 100 leave possible: the middle 95 % of the Beta(101, 1) distribution.
    least, most = (share ** (1 / 101) for share in (0.025, 0.975))
    assert low == pytest.approx(elo(least / (1 - least)), abs=60)
    assert high == pytest.approx(elo(most / (1 - most)), abs=200)
    assert low < fit(seats, place, 2).ratings[1] < high


def covered(ratings: np.ndarray, players: int, deals: int, contests: int, resamples: int) -> np.ndarray:
    """How often the intervals of all ratings but the anchor's, and of all seats, hold the planted values."""
    agents = len(ratings)
    deal, seats = round_robin(agents, players, deals)
    rng = np.random.default_rng(6)
    offsets = np.array(OFFSETS[players])
    held = []
    for contest in range(contests):
        place = rank(seats, ratings, offsets, rng)
        spans = bootstrap(deal, seats, place, agents, resamples=resamples, seed=contest)
        ends = np.vstack([spans.ratings[1:], spans.seat_offsets])
        truth = np.r_[ratings[1:], offsets]
        held.append((ends[:, 0] <= truth) & (truth <= ends[:, 1]))
    return np.mean(held, axis=0)


# As far apart as random play and search, where the weakest agent hardly wins a game.
LADDER = np.array([0.0, 600.0, 950.0, 970.0, 1290.0, 1600.0])


@pytest.mark.parametrize(("ratings", "deals"), [(PLANTED[:3], 40), (LADDER, 200)])
def test_intervals_of_ratings_hold_the_truth_as_often_as_they_say(ratings, deals):
    found = covered(ratings, 2, deals, contests=50, resamples=60)
    # Three standard deviations of 50 tries at 95 %, and a little for few resamples.
    assert found.min() > 0.95 - 3 * math.sqrt(0.95 * 0.05 / 50) - 0.02
    assert found.mean() < 0.995


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ratings", "players", "deals"),
    [(PLANTED[:3], 2, 100), (LADDER, 2, 200), (PLANTED[:4], 3, 60), (PLANTED[:4], 4, 100)],
)
def test_intervals_of_ratings_hold_the_truth_as_often_as_they_say_in_many_contests(ratings, players, deals):
    found = covered(ratings, players, deals, contests=300, resamples=200)
    assert found.min() > 0.9
    assert found.max() < 0.99


@pytest.mark.parametrize("share", [0.5, 0.25, 0.9])
def test_intervals_of_shares_hold_the_truth_when_the_games_of_a_deal_are_alike(share):
    rng = np.random.default_rng(7)
    contests, deals, games = 2000, 100, 4
    luck = rng.beta(2 * share, 2 * (1 - share), (contests, deals))
    means = rng.binomial(games, luck) / games
    spans = [estimate_share(each) for each in means]
    held = np.mean([span.low <= share <= span.high for span in spans])
    assert 0.95 - 0.02 < held < 0.95 + 0.02
    # Games taken as independent would promise too much.
    error = np.sqrt(means.mean(axis=1) * (1 - means.mean(axis=1)) / (deals * games))
    assert np.mean(np.abs(means.mean(axis=1) - share) <= 1.96 * error) < 0.9


def test_bad_input_is_named():
    seats, place = pair(3, 1)
    with pytest.raises(ValueError, match=r"shapes \(8, 2\) and \(4, 2\)"):
        fit(seats, place[:4], 2)
    with pytest.raises(ValueError, match=r"two players or more"):
        fit(seats[:, :1], place[:, :1], 2)
    with pytest.raises(ValueError, match=r"hold agents 0 to 1; with 1 agents"):
        fit(seats, place, 1)
    with pytest.raises(ValueError, match=r"anchor was agent 2"):
        fit(seats, place, 2, anchor=2)
    with pytest.raises(ValueError, match=r"weights have shape \(3,\)"):
        fit(seats, place, 2, weights=np.ones(3))
    with pytest.raises(ValueError, match=r"deal numbers have shape \(3,\) for 8 games"):
        bootstrap(np.arange(3), seats, place, 2)
    with pytest.raises(ValueError, match=r"resamples was 0"):
        bootstrap(np.arange(8), seats, place, 2, resamples=0)


def run_test(draw, par: float, delta: float, every: int) -> Verdict:
    """Play a sequential test to its end, asking every so many deals."""
    means = draw(CAP)
    verdict = decide(means[:every], par, delta)
    while not verdict.ended:
        verdict = decide(means[: verdict.deals + every], par, delta)
    return verdict


def errors(draw, right: str, par: float, delta: float, tests: int, every: int) -> float:
    """How often the test gave the wrong answer."""
    verdicts = [run_test(draw, par, delta, every).decision for _ in range(tests)]
    assert verdicts.count(right) > 0.9 * tests
    return 1 - (verdicts.count(right) + verdicts.count("undecided")) / tests


# Five in a hundred and three standard deviations of 400 tests.
ALLOWED = 0.05 + 3 * math.sqrt(0.05 * 0.95 / 400)


@pytest.mark.parametrize(("players", "delta"), [(2, 0.05), (4, 0.05)])
def test_the_sequential_test_is_seldom_wrong(players, delta):
    rng = np.random.default_rng(8)
    par = 1 / players
    for share, right in ((par, "not better"), (par + delta, "better")):
        wrong = errors(lambda n, p=share: rng.binomial(players, p, n) / players, right, par, delta, 400, 20)
        assert wrong < ALLOWED


@pytest.mark.parametrize("players", [2, 3, 4])
def test_the_sequential_test_waits_for_agents_that_differ_on_few_deals(players):
    rng = np.random.default_rng(9)
    par = 1 / players
    # Level on nearly all deals, a clean win on the few others: the mean is par + delta.
    rare = 0.02 / (1 - par)
    wrong = errors(lambda n: np.where(rng.random(n) < rare, 1.0, par), "better", par, 0.02, 400, 10)
    assert wrong < ALLOWED


@pytest.mark.slow
@pytest.mark.parametrize("every", [5, 50])
@pytest.mark.parametrize("players", [2, 3, 4])
def test_the_sequential_test_is_seldom_wrong_with_its_defaults(players, every):
    rng = np.random.default_rng(10)
    par = 1 / players
    for share, right in ((par, "not better"), (par + 0.02, "better")):
        wrong = errors(lambda n, p=share: rng.binomial(players, p, n) / players, right, par, 0.02, 400, every)
        assert wrong < ALLOWED


def test_the_sequential_test_has_the_statistic_of_its_formula():
    means = np.tile([0.0, 0.5, 0.5, 1.0, 1.0], 400)
    verdict = decide(means, 0.5)
    m, v = 0.6, means.var(ddof=1)
    assert verdict.llr == pytest.approx(2000 * 0.02 * (2 * m - 0.5 - 0.52) / (2 * v), rel=0.01)
    assert verdict.bound == pytest.approx(math.log(19))
    assert (verdict.decision, verdict.deals, verdict.ended) == ("better", 2000, True)
    assert verdict.mean == pytest.approx(0.6)
    assert decide(1 - means, 0.5).decision == "not better"


def test_the_sequential_test_decides_nothing_too_early():
    assert decide(np.ones(MINIMUM - 1), 0.5).decision == "undecided"
    assert decide(np.ones(MINIMUM), 0.5).decision == "better"
    level = np.full(CAP, 0.5)
    assert decide(level[:150], 0.5).decision == "undecided"
    assert decide(level[:200], 0.5).decision == "not better"


def test_the_sequential_test_ends_at_the_cap():
    means = np.tile([0.02, 1.0], CAP // 2)
    verdict = decide(means[:-2], 0.5)
    assert (verdict.decision, verdict.deals, verdict.ended) == ("undecided", CAP - 2, False)
    assert verdict.llr == pytest.approx(0, abs=1e-9)
    assert decide(means, 0.5).ended


@pytest.mark.parametrize(
    ("means", "options", "match"),
    [
        ([], {"par": 0.5}, "at least one deal"),
        ([[0.5]], {"par": 0.5}, r"shape \(1, 1\)"),
        ([0.5], {"par": 1.0}, "Par was 1.0"),
        ([0.5], {"par": 0.5, "delta": 0.0}, "delta 0.0"),
        ([0.5], {"par": 0.5, "delta": 0.6}, "delta 0.6"),
        ([0.5], {"par": 0.5, "error": 0.5}, "error was 0.5"),
    ],
)
def test_the_sequential_test_names_bad_input(means, options, match):
    with pytest.raises(ValueError, match=match):
        decide(np.array(means), **options)
