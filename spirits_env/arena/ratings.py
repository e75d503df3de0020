"""Ratings: how strong agents are on one scale, fitted by maximum likelihood to all games at once.

Agents do not change, so nothing depends on the order of the games; what each seat is worth is fitted along.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, groupby, permutations, product

import numpy as np

from spirits_env.game import is_whole, shown

# Elo points per unit of log-odds.
SCALE = 400 / math.log(10)
# Each agent, and each seat, has drawn so many games that nobody played, spread evenly over all others.
VIRTUAL_DRAWS = 2

_STEPS = 100
_HALVINGS = 40
_CLOSE = 1e-5
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Fit:
    """Fitted ratings.

    Attributes:
        ratings: Rating of each agent in Elo, the anchor's 0; shape `(agents,)`, float64.
        seat_offsets: What each seat adds to the rating of who sits there, in Elo, their sum 0; shape `(players,)`.
        log_likelihood: Of the games alone, without the virtual draws, in natural logarithms.
    """

    ratings: np.ndarray
    seat_offsets: np.ndarray
    log_likelihood: float

    def strengths(self, seats: np.ndarray) -> np.ndarray:
        """The t of each seat (see `fit`), in natural units.

        Args:
            seats: Agent numbers, shape `(games, players)`.

        Returns:
            Array of the same shape, float64.
        """
        return (self.ratings[seats] + self.seat_offsets) / SCALE


@dataclass(frozen=True, eq=False)
class Intervals:
    """95 % intervals of fitted ratings.

    Attributes:
        ratings: Lower and upper end for each agent in Elo, shape `(agents, 2)`.
        seat_offsets: The same for each seat, shape `(players, 2)`.
        fits: The ratings in each of the fits that these are taken from, shape `(resamples, agents)`.
    """

    ratings: np.ndarray
    seat_offsets: np.ndarray
    fits: np.ndarray

    def lead(self, agent: int, other: int) -> tuple[float, float]:
        """Lower and upper end of the difference between two agents' ratings, whatever the anchor is."""
        low, high = _ends(self.fits[:, [agent]] - self.fits[:, [other]])[0].tolist()
        return low, high


def chances(strengths: np.ndarray) -> np.ndarray:
    """Probability that each seat comes first.

    Args:
        strengths: The t of each seat, shape `(..., players)`; of any two columns for who of the two is ahead.

    Returns:
        Array of the same shape; the last axis sums to 1.
    """
    odds = np.exp(strengths - strengths.max(axis=-1, keepdims=True))
    return odds / odds.sum(axis=-1, keepdims=True)


@dataclass(frozen=True, eq=False)
class _Choices:
    """The games as choices of the next best among those left, which is all that their likelihood depends on.

    A contender is an agent in a seat, or for the virtual games an agent alone or a seat alone. What the fit looks
    for are the `free` numbers: the ratings but the anchor's, and the offsets of all seats but the last. Games of one
    pattern are those where the same agents sat in the same seats and ended in the same places.

    Attributes:
        ratings: Turns free numbers into ratings, shape `(agents, free)`.
        offsets: Turns free numbers into seat offsets, shape `(players, free)`.
        features: Turns free numbers into strengths, shape `(contenders + 1, free)`; the last row is for nobody.
        left: Who was left in each different choice, filled up with nobody, shape `(choices, players)`.
        left_features: Their rows of `features`, shape `(choices, players, free)`.
        pattern: Pattern of each game, shape `(games,)`.
        patterns: Number of patterns of games; those after them are the half-wins of the virtual games.
        virtual: What each half-win counts, shape `(half-wins,)`.
        made: Choices made in each pattern: rows of pattern, choice and who was chosen.
        times: How often each was made: once, or in a part of the orders where seats are level.
    """

    ratings: np.ndarray
    offsets: np.ndarray
    features: np.ndarray
    left: np.ndarray
    left_features: np.ndarray
    pattern: np.ndarray
    patterns: int
    virtual: np.ndarray
    made: np.ndarray
    times: np.ndarray

    def count(self, weights: np.ndarray | None, virtual: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How often each contender was chosen, and how often each choice was made.

        Args:
            weights: What each game counts, shape `(games,)`; None for 1.
            virtual: What each half-win of the virtual games counts, shape `(half-wins,)`.
        """
        games = np.bincount(self.pattern, weights, minlength=self.patterns)
        times = self.times * np.concatenate([games, virtual])[self.made[:, 0]]
        chosen = np.bincount(self.made[:, 2], times, minlength=len(self.features))
        return chosen, np.bincount(self.made[:, 1], times, minlength=len(self.left))


def fit(seats: np.ndarray, place: np.ndarray, agents: int, anchor: int = 0, weights: np.ndarray | None = None) -> Fit:
    """Fit ratings and seat offsets to games.

    The model is Plackett's and Luce's (1975, 1959) with an offset per seat: with t = (rating + offset) ln(10) / 400,
    the seats are placed one after the other, each the next among those left with probability exp(t) by the sum of
    theirs. Two players make it Bradley's and Terry's: seat 0 wins with 1 / (1 + 10**(-(R0 - R1 + h) / 400)), h being
    the difference of the two offsets. Where seats are level, every order of them counts equally; between two players
    that is half a win for each.

    So that an agent that won or lost every game has a finite rating, each agent is taken to have drawn two more games,
    spread evenly over all other agents, each with one of them alone and without seats; and likewise each seat. Two
    for each pair of agents would be too many: against five far stronger agents they give the weakest five wins, as
    many as it may have had, and move ratings by more than their intervals.

    Args:
        seats: Agent numbers, shape `(games, players)`; an agent may sit in several seats.
        place: How many seats did better, or any numbers in that order; equal for seats that are level. Same shape.
        agents: Number of agents; who did not play is rated among the others.
        anchor: The agent whose rating is fixed at 0.
        weights: What each game counts, shape `(games,)`; None for 1.

    Raises:
        ValueError: If the arrays don't fit each other, or name an agent that does not exist.
    """
    seats, place = _checked(seats, place, agents, anchor)
    if weights is not None and np.shape(weights) != (len(seats),):
        raise ValueError(f"The weights have shape {np.shape(weights)}; give one for each of the {len(seats)} games.")
    choices = _choices(seats, place, agents, anchor)
    best = _maximise(choices, *choices.count(weights, choices.virtual), np.zeros(choices.features.shape[1]))
    alone, _ = _look(choices, *choices.count(weights, 0 * choices.virtual), best)
    return Fit(SCALE * choices.ratings @ best, SCALE * choices.offsets @ best, alone)


def bootstrap(
    deal: np.ndarray,
    seats: np.ndarray,
    place: np.ndarray,
    agents: int,
    anchor: int = 0,
    resamples: int = 2000,
    seed: int = 1,
) -> Intervals:
    """Tell how far chance may have moved the ratings: 95 % percentile intervals over resampled deals.

    All games of a deal go together, since they share its luck. The virtual games vary as well: each half-win weighs
    what a gamma distribution gives with its weight as mean and scale 1, so that an agent's virtual wins together are
    exponential, as in Rubin's Bayesian bootstrap (1981). Without it an agent that won every game would get an
    interval of no width; with it the interval for n wins out of n is about that of the Beta(n + 1, 1) distribution.

    Args:
        deal: Deal numbers, shape `(games,)`.
        seats: As for `fit`.
        place: As for `fit`.
        agents: As for `fit`.
        anchor: As for `fit`.
        resamples: How many times to draw as many deals as there are.
        seed: Seed of the draws.

    Raises:
        ValueError: If the arrays don't fit each other, or name an agent that does not exist.
    """
    seats, place = _checked(seats, place, agents, anchor)
    if np.shape(deal) != (len(seats),) or not len(seats):
        raise ValueError(f"The deal numbers have shape {np.shape(deal)} for {len(seats)} games; give one for each.")
    if not is_whole(resamples) or resamples < 1:
        raise ValueError(f"The number of resamples was {shown(resamples)}; give a whole number, 1 or more.")
    choices = _choices(seats, place, agents, anchor)
    middle = _maximise(choices, *choices.count(None, choices.virtual), np.zeros(choices.features.shape[1]))
    deals, deal_of = np.unique(deal, return_inverse=True)
    chance = np.random.default_rng(seed)
    found = np.empty((resamples, len(middle)))
    for row in found:
        drawn = np.bincount(chance.integers(len(deals), size=len(deals)), minlength=len(deals))
        virtual = chance.gamma(choices.virtual)
        row[:] = _maximise(choices, *choices.count(drawn[deal_of], virtual), middle)
    fits = SCALE * found @ choices.ratings.T
    return Intervals(_ends(fits), _ends(SCALE * found @ choices.offsets.T), fits)


def _ends(values: np.ndarray) -> np.ndarray:
    """Lower and upper end of the middle 95 % in each column, shape `(columns, 2)`."""
    return np.quantile(values, [0.025, 0.975], axis=0).T


def _checked(seats: np.ndarray, place: np.ndarray, agents: int, anchor: int) -> tuple[np.ndarray, np.ndarray]:
    """Seats and places as arrays that fit each other."""
    seats, place = np.asarray(seats), np.asarray(place)
    if seats.ndim != 2 or seats.shape[1] < 2 or seats.shape != place.shape:
        raise ValueError(
            f"Seats and places have the shapes {seats.shape} and {place.shape}; give both as (games, players), "
            "with two players or more."
        )
    if not 0 <= anchor < agents:
        raise ValueError(f"The anchor was agent {anchor}; with {agents} agents give a number from 0 to {agents - 1}.")
    if len(seats) and (seats.min() < 0 or seats.max() >= agents):
        raise ValueError(
            f"The seats hold agents {seats.min()} to {seats.max()}; "
            f"with {agents} agents give numbers from 0 to {agents - 1}."
        )
    return seats, place


def _choices(seats: np.ndarray, place: np.ndarray, agents: int, anchor: int) -> _Choices:
    """Cut games and virtual games into choices."""
    players = seats.shape[1]
    ratings, offsets = _free(agents, players, anchor)
    both = (ratings[:, None] + offsets).reshape(agents * players, -1)
    alone = agents * players + np.arange(agents + players)
    nobody = len(both) + len(alone)
    patterns, pattern = np.unique(np.concatenate([seats, place], axis=1), axis=0, return_inverse=True)
    number: dict[tuple[int, ...], int] = {}
    made, times = [], []
    for row, values in enumerate(patterns.tolist()):
        contenders = [agent * players + seat for seat, agent in enumerate(values[:players])]
        for left, chosen, part in _ranked(contenders, values[players:]):
            made.append((row, number.setdefault(left, len(number)), chosen))
            times.append(part)
    virtual: list[float] = []
    for group in (alone[:agents].tolist(), alone[agents:].tolist()):
        for pair in combinations(group, 2):
            for chosen in pair:
                made.append((len(patterns) + len(virtual), number.setdefault(pair, len(number)), chosen))
                virtual.append(VIRTUAL_DRAWS / 2 / (len(group) - 1))
    features = np.concatenate([both, ratings, offsets, np.zeros((1, ratings.shape[1]))])
    filled = [(*left, *[nobody] * (players - len(left))) for left in number]
    rows = np.array(filled, np.int64).reshape(-1, players)
    return _Choices(
        ratings=ratings,
        offsets=offsets,
        features=features,
        left=rows,
        left_features=features[rows],
        pattern=pattern.reshape(-1),
        patterns=len(patterns),
        virtual=np.array(virtual),
        made=np.array(made, np.int64).reshape(-1, 3),
        times=np.array(times + [1.0] * len(virtual)),
    )


def _free(agents: int, players: int, anchor: int) -> tuple[np.ndarray, np.ndarray]:
    """Matrices that turn the free numbers into ratings and into seat offsets."""
    free = agents - 1 + players - 1
    ratings, offsets = np.zeros((agents, free)), np.zeros((players, free))
    ratings[np.arange(agents) != anchor, : agents - 1] = np.eye(agents - 1)
    offsets[:-1, agents - 1 :] = np.eye(players - 1)
    offsets[-1, agents - 1 :] = -1
    return ratings, offsets


def _ranked(contenders: list[int], place: list[int]) -> Iterator[tuple[tuple[int, ...], int, float]]:
    """The choices of a game: who was left in the order of their numbers, who was chosen, and in what part of orders."""
    ahead = sorted(range(len(place)), key=place.__getitem__)
    level = [[contenders[seat] for seat in group] for _, group in groupby(ahead, key=place.__getitem__)]
    orders = [sum(order, ()) for order in product(*(permutations(group) for group in level))]
    for order in orders:
        for first in range(len(order) - 1):
            yield tuple(sorted(order[first:])), order[first], 1 / len(orders)


def _look(choices: _Choices, chosen: np.ndarray, made: np.ndarray, free: np.ndarray) -> tuple[float, np.ndarray]:
    """Log-likelihood of choices; probability of who is left to be chosen, shape `(choices, players)`."""
    strengths = choices.features @ free
    value = chosen @ strengths
    strengths[-1] = -np.inf
    left = strengths[choices.left]
    top = left.max(axis=1)
    odds = np.exp(left - top[:, None])
    total = odds.sum(axis=1)
    return float(value - made @ (top + np.log(total))), odds / total[:, None]


def _maximise(choices: _Choices, chosen: np.ndarray, made: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Free numbers of the largest likelihood: Newton's method, each step halved until it does not go down.

    The likelihood is concave in them, and strictly so by the virtual games, so there is one maximum.
    """
    free = start
    value, odds = _look(choices, chosen, made, free)
    for _ in range(_STEPS):
        step = _step(choices, chosen, made, odds)
        for _ in range(_HALVINGS):
            reached, odds = _look(choices, chosen, made, free + step)
            if reached >= value - _ROUNDING * abs(value):
                break
            step = step / 2
        free, value = free + step, reached
        if np.abs(step).max(initial=0) < _CLOSE:
            break
    return free


def _step(choices: _Choices, chosen: np.ndarray, made: np.ndarray, odds: np.ndarray) -> np.ndarray:
    """Newton's step: the gradient by the matrix of second derivatives."""
    expected = np.bincount(choices.left.ravel(), (odds * made[:, None]).ravel(), minlength=len(choices.features))
    mean = (odds[:, None] @ choices.left_features)[:, 0]
    gradient = choices.features.T @ (chosen - expected)
    curvature = choices.features.T @ (expected[:, None] * choices.features) - mean.T @ (made[:, None] * mean)
    return np.linalg.solve(curvature, gradient)
