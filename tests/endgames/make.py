"""Write the end positions that `spirits evaluate --endgames` judges agents by, as they lie in the package.

Run `python tests/endgames/make.py` from the repository root after a change of rules; it takes some ten minutes on two
cores. Games between different agents are played, and at most one position of each is kept: the first that passes
`truth`. Each game has a phase and a number of tiles left to look for: decisions of that phase come first, those with
about so many tiles left before others, and then all others with exactly so many.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
from collections import Counter
from collections.abc import Iterator

import numpy as np

from spirits_env import games
from spirits_env.agents import Agent, RandomAgent, make_agent
from spirits_env.arena import deal_seed
from spirits_env.batch import AGENTS, Views
from spirits_env.endgames import Endgame, path_of, plain
from spirits_env.game import stream
from spirits_env.solver import Solver
from spirits_env.state import State

GAME, PLAYERS = "forest", 2
# Deals are `deal_seed(SEED, number)`: in the half of all seeds that training never uses, and evaluations only use
# these where they are given this very seed.
SEED = 480_060_414
POSITIONS = 520
# Deals of the hidden tokens that are solved, where there are so many.
WORLDS = 24
# More of those that are quick to solve.
TILES_LEFT = (3, 4, 5, 6, 7, 4, 5, 6, 3, 5, 8)
PHASES = ("second", "place", "move", "pay", "first")
# No phase is to fill more than this share of the positions.
PHASE_SHARE = 0.4
# Games handed to the processes at a time.
BLOCK = 100


class Careless(Agent):
    """Greedy, but every fifth decision is drawn at random."""

    name = "greedy, 20 % random"

    def act_many(self, views: Views) -> np.ndarray:
        """Draw who decides from the view's generator, then let them."""
        careless = np.array([stream(int(chance)) % 5 == 0 for chance in views.chance])
        return np.where(careless, RandomAgent().act_many(views), make_agent("greedy").act_many(views))


TABLES: tuple[tuple[str, str], ...] = (
    ("greedy", "greedy"),
    ("search:100", "search:100"),
    ("random", "greedy"),
    ("greedy, 20 % random", "greedy, 20 % random"),
    ("greedy", "search:100"),
    ("random", "random"),
    ("search:100", "greedy, 20 % random"),
)


def agent_of(name: str) -> Agent:
    """Return the agent of a table."""
    return Careless() if name == Careless.name else make_agent(name)


def decisions(seed: int, table: tuple[str, str]) -> list[State]:
    """Play a game and return its decisions with a number of tiles left that is asked for, and with a choice."""
    state = State(GAME, PLAYERS, seed=seed)
    agents = [agent_of(name) for name in table]
    chance = np.array([stream(seed, AGENTS, seat) for seat in range(PLAYERS)], np.uint64)
    found = []
    while state.seat >= 0:
        if state.record["remaining"] in TILES_LEFT and len(state.legal_actions()) > 1:
            found.append(state.copy())
        state.play(agents[state.seat].act(view_of(state, chance)))
    return found


def view_of(state: State, chance: np.ndarray) -> Views:
    """Return what the seat to act may know."""
    seat = state.seat
    return Views(
        state.game,
        state.observation(seat)[None],
        state.mask()[None],
        np.array([seat], np.int8),
        chance[seat : seat + 1],
        np.array([state.record], state.game.dtype),
    )


def worlds(state: State) -> Iterator[State]:
    """Yield the position and up to WORLDS - 1 copies with other tokens in the places that the seat can't see."""
    seen = {state.record["token"].tobytes()}
    yield state
    for number in range(20 * WORLDS):
        if len(seen) == WORLDS:
            return
        other = state.redealt(state.seat, number)
        tokens = other.record["token"].tobytes()
        if tokens not in seen:
            seen.add(tokens)
            yield other


def truth(state: State, solver: Solver) -> tuple[int, dict[int, float], tuple[int, ...]] | None:
    """Return the number of worlds, the mean value of every legal action and the best ones; None to refuse.

    A position is kept if the best actions are the same in all worlds, so that they can be found without knowing what
    is hidden, and some legal action is not among them: that one loses a whole point or more in every world.
    """
    found = []
    best: tuple[int, ...] | None = None
    for world in worlds(state):
        solution = solver.solve(world)
        if (best is not None and solution.best != best) or len(solution.best) == len(solution.values):
            return None
        best = solution.best
        found.append(solution.values)
    assert best is not None
    mean = {action: round(sum(values[action] for values in found) / len(found), 4) for action in found[0]}
    return len(found), mean, best


def candidate(number: int) -> Endgame | None:
    """Return a position of the numbered game, or None if it has none to keep."""
    seed = deal_seed(SEED, number)
    table = TABLES[number % len(TABLES)]
    left, phase = TILES_LEFT[number % len(TILES_LEFT)], PHASES[number % len(PHASES)]
    solver = Solver(games.load(GAME))
    states = decisions(seed, table)
    wanted = sorted((state for state in states if state.phase == phase), key=lambda state: abs(tiles(state) - left))
    for state in [*wanted, *(state for state in states if state.phase != phase and tiles(state) == left)]:
        kept = truth(state, solver)
        if kept is not None:
            return Endgame(state, tiles(state), table, *kept)
    return None


def tiles(state: State) -> int:
    """Return the number of tiles left."""
    return int(state.record["remaining"])


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description="Write the end positions.")
    parser.add_argument("--positions", type=int, default=POSITIONS)
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    path = path_of(GAME, PLAYERS)
    path.parent.mkdir(parents=True, exist_ok=True)
    phases: Counter[str] = Counter()
    workers = multiprocessing.get_context("spawn").Pool(arguments.processes)
    with workers as pool, path.open("w", encoding="utf-8") as file:
        blocks = (pool.imap(candidate, range(start, start + BLOCK)) for start in itertools.count(0, BLOCK))
        for endgame in itertools.chain.from_iterable(blocks):
            if endgame is None or phases[endgame.state.phase] >= PHASE_SHARE * arguments.positions:
                continue
            phases[endgame.state.phase] += 1
            file.write(json.dumps(plain(endgame), separators=(",", ":")) + "\n")
            if phases.total() == arguments.positions:
                break
    print(f"{phases.total()} positions: {dict(phases)}")


if __name__ == "__main__":
    main()
