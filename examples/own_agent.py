"""An agent of one's own: what it is given, how it draws chance, and how it is measured."""

import numpy as np

from spirits_env import Agent, Views
from spirits_env.arena import evaluate
from spirits_env.game import choose_uniform


class Collector(Agent):
    """Takes the tile whose spirit it has collected most of; anything else it decides at random."""

    name = "collector"

    def act(self, view: Views) -> int:
        """Choose for one seat, from what it may know."""
        parts = view.game.layout.unpack(view.observation[0])
        # For each of the 48 cells: how many symbols of the tile's spirit the seat already has.
        worth = parts["own_icons"][:9] @ parts["spirit"]
        ends = {action: worth[end_cell(parts["end"], action)] for action in np.flatnonzero(view.mask[0, :8]).tolist()}
        if ends:
            return max(ends, key=lambda action: ends[action])
        # Chance comes from the view, so that a seed fixes a whole match.
        action = np.empty(1, np.int64)
        choose_uniform(view.chance, view.mask, action)
        return int(action[0])


def end_cell(ends: np.ndarray, action: int) -> int:
    """The cell of the tile that an action 0-7 takes: `2 * row + side`."""
    row, side = divmod(action, 2)
    columns = np.flatnonzero(ends.reshape(4, 12)[row])
    return 12 * row + int(columns[-1 if side else 0])


if __name__ == "__main__":
    for match in evaluate(Collector(), against=["random", "greedy"], games=400, seed=7).matches:
        share = match.share
        print(f"{share.mean:.1%} ({share.low:.1%} to {share.high:.1%}) against {match.opponent}")
