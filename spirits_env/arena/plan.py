"""Who plays whom in an arena: its tables, and the seatings in which each table plays every deal.

All tables meet the same deals, and within a deal every agent sits in every seat equally often.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, permutations

PLANS = {
    "field": "every agent against a field of copies of every other",
    "mixed": "tables of different agents only",
    "first": "the first agent against a field of copies of every other",
}


def make_tables(plan: str, agents: int, players: int) -> list[tuple[int, ...]]:
    """List the tables of an arena; a table is the numbers of its agents.

    Args:
        plan: A name in `PLANS`.
        agents: Number of agents.
        players: Players at a table.

    Returns:
        Pairs (agent, agent of the field), each once for two players, where both ways round are the same games; or
        all sets of `players` different agents.

    Raises:
        ValueError: If the plan is unknown, or does not go with so many agents or players.
    """
    if plan not in PLANS:
        raise ValueError(f"There is no plan {plan!r}; the plans are {', '.join(PLANS)}.")
    if players < 2:
        raise ValueError("An arena needs 2 players or more; measure agents in solitaire with `spirits evaluate`.")
    if agents < 2:
        raise ValueError(f"An arena needs at least 2 agents, not {agents}; name another one.")
    if plan == "mixed":
        if players == 2:
            raise ValueError("The plan 'mixed' needs 3 players or more; with 2 the plan 'field' is the same.")
        if agents < players:
            raise ValueError(f"The plan 'mixed' needs {players} agents or more for {players} players, not {agents}.")
        return list(combinations(range(agents), players))
    if plan == "first":
        return [(0, other) for other in range(1, agents)]
    return list(combinations(range(agents), 2) if players == 2 else permutations(range(agents), 2))


def make_seatings(table: Sequence[int], players: int) -> tuple[tuple[int, ...], ...]:
    """List who sits where in the games that a table plays on each deal.

    A pair is an agent and its field, the agent in each seat once. Different agents sit in all cyclic rotations, three
    of them in all six orders.

    Args:
        table: Numbers of the table's agents.
        players: Players at the table.

    Returns:
        Per game, the number of the agent in each seat.
    """
    if len(table) == players > 2:
        if players == 3:
            return tuple(permutations(table))
        return tuple((*table[turn:], *table[:turn]) for turn in range(players))
    agent, field = table
    return tuple(tuple(agent if seat == own else field for seat in range(players)) for own in range(players))
