"""The sequential test: is an agent better than par, told with as few deals as the answer needs.

It decides between two claims, that the agent is no better than par and that it is better by `delta`; whoever runs it
plays on while the answer is open.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from spirits_env.game import shown

# A test that is still open after so many deals ends undecided.
CAP = 6000
# Before that many deals nothing is decided.
MINIMUM = 50
# The variance counts so many deals more, with the largest variance that a share with mean par can have.
_PSEUDO_DEALS = 8


@dataclass(frozen=True)
class Verdict:
    """Where a sequential test stands.

    Attributes:
        decision: "better", "not better", or "undecided".
        llr: Logarithm of how much likelier the deals are if the agent is better than if it is not.
        bound: "better" from this on, "not better" from its negative on.
        deals: Deals that were counted.
        mean: Mean share over them.
    """

    decision: str
    llr: float
    bound: float
    deals: int
    mean: float

    @property
    def ended(self) -> bool:
        """Whether the test is over: decided, or at the cap."""
        return self.decision != "undecided" or self.deals >= CAP


def decide(deal_means: np.ndarray, par: float, delta: float = 0.02, error: float = 0.05) -> Verdict:
    """Decide whether an agent wins more than par, or say that it takes more deals.

    Wald's test (1945) of the mean s1 = par + delta against s0 = par, for means of deals taken as normal:
    LLR = D (s1 - s0) (2 m - s0 - s1) / (2 v), with m and v the mean and variance of the D deals. It may be asked after
    every deal or every so many; each of the two wrong answers then comes at most about as often as `error` says.

    Those bounds hold for a known variance. A few deals can have one near 0 by chance, which would make any
    difference look decisive: agents that play nearly alike draw most deals exactly. So nothing is decided before
    `MINIMUM` deals, and v is taken as if 8 more deals had the variance par (1 - par), the largest for a share with
    mean par. After some hundred deals that changes nothing; deals that all came out at par are called "not better"
    after some 170 (with the defaults, between two players).

    Args:
        deal_means: The agent's share on each deal, its mean over all seatings; shape `(deals,)`, from 0 to 1.
        par: Share of an agent that is as good as the others.
        delta: By how much a better agent exceeds par.
        error: How often to be wrong, for each of the two wrong answers.

    Raises:
        ValueError: If there are no deals, or a number makes no sense.
    """
    means = np.asarray(deal_means, np.float64)
    if means.ndim != 1 or not len(means):
        raise ValueError(f"The deal means have shape {means.shape}; give one number for each of at least one deal.")
    if not (0 < par < 1 and 0 < delta <= 1 - par):
        raise ValueError(
            f"Par was {shown(par)} and delta {shown(delta)}; give a par between 0 and 1 and a delta above 0, "
            "not above 1 together."
        )
    if not 0 < error < 0.5:
        raise ValueError(f"The error was {shown(error)}; give a number between 0 and 0.5.")
    deals, mean = len(means), float(means.mean())
    variance = (float(((means - mean) ** 2).sum()) + _PSEUDO_DEALS * par * (1 - par)) / (deals - 1 + _PSEUDO_DEALS)
    llr = deals * delta * (2 * mean - 2 * par - delta) / (2 * variance)
    bound = math.log((1 - error) / error)
    decision = "undecided"
    if deals >= MINIMUM and abs(llr) >= bound:
        decision = "better" if llr > 0 else "not better"
    return Verdict(decision, llr, bound, deals, mean)
