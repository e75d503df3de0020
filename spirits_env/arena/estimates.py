"""Means and shares with 95 % intervals: the deal is what counts as one observation, not the game."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

_NORMAL = 1.959964
# Student's 97.5 % quantiles where the expansion in `_quantile` is too rough.
_STUDENT = {1: 12.7062, 2: 4.3027}
# Means of deals that differ by less came out equal, but for rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Estimate:
    """A mean over deals with its 95 % interval.

    Attributes:
        mean: Mean of the deals' means.
        low: Lower end of the interval; None where one deal can't tell.
        high: Upper end.
        error: Standard error of the mean: standard deviation of the deals' means by the root of their number.
    """

    mean: float
    low: float | None
    high: float | None
    error: float | None


def _quantile(freedom: int) -> float:
    """97.5 % quantile of Student's t: expansion in 1/freedom (Abramowitz and Stegun 26.7.5), exact for 1 and 2."""
    if freedom in _STUDENT:
        return _STUDENT[freedom]
    z = _NORMAL
    return (
        z
        + (z**3 + z) / (4 * freedom)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)
    )


def _level(deals: np.ndarray) -> bool:
    """Whether all deals came out equal; a third has no exact number, so their spread is not always 0 then."""
    return float(np.ptp(deals)) < _ROUNDING


def estimate_mean(deals: np.ndarray) -> Estimate:
    """Estimate a mean from one value per deal: mean +- t * sd / sqrt(deals).

    The games of a deal share its luck, so the deal is what counts as one observation, not the game.

    Args:
        deals: Each deal's mean over its seatings, shape `(deals,)`.
    """
    mean = float(deals.mean())
    if len(deals) < 2:
        return Estimate(mean, None, None, None)
    error = 0.0 if _level(deals) else float(deals.std(ddof=1)) / math.sqrt(len(deals))
    half = _quantile(len(deals) - 1) * error
    return Estimate(mean, mean - half, mean + half, error)


def estimate_share(deals: np.ndarray) -> Estimate:
    """Estimate a share between 0 and 1 from one value per deal: Wilson's interval at the effective sample size.

    With the standard error SE = sd / sqrt(deals), as many independent games as n = p (1 - p) / SE**2 would be as
    certain; Wilson's interval (1927) for n, with Student's quantile, is mean +- t * SE in the middle and keeps its
    promise near 0 and 1, where that one is too narrow. Where all deals came out equal there is no SE, and n is the
    number of deals: after 100 deals without a loss the share is said to be at least 0.962.

    Args:
        deals: Each deal's mean over its seatings, shape `(deals,)`, from 0 to 1.
    """
    plain = estimate_mean(deals)
    p, count = plain.mean, float(len(deals))
    t = _quantile(len(deals) - 1) if len(deals) > 1 else _NORMAL
    if plain.error:
        count = p * (1 - p) / plain.error**2
    centre = (p + t * t / (2 * count)) / (1 + t * t / count)
    half = t / (1 + t * t / count) * math.sqrt(p * (1 - p) / count + t * t / (4 * count * count))
    # Rounding must not put the mean outside.
    return Estimate(p, min(p, max(0.0, centre - half)), max(p, min(1.0, centre + half)), plain.error)


def deal_efficiency(games: np.ndarray, deals: np.ndarray) -> float | None:
    """Tell how much more than independent games the games of deals say: var(game) / (k * var(deal mean)).

    Args:
        games: Each game's share, shape `(games,)`, k games for each deal.
        deals: Each deal's mean over its seatings, shape `(deals,)`.

    Returns:
        1 where the games of a deal are as good as independent; None if it can't be told.
    """
    if len(deals) < 2 or _level(deals):
        return None
    return float(games.var(ddof=1) / (len(games) / len(deals) * deals.var(ddof=1)))
