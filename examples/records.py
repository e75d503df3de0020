"""Games as JSON: play one, write it, read it, replay it, and start another one from its set-up."""

import tempfile
from pathlib import Path

import numpy as np

from spirits_env import State, record


def main() -> None:
    """Write and replay a game."""
    state = State("forest", players=2, seed=7)
    rng = np.random.default_rng(7)
    while state.seat >= 0:
        state.play(int(rng.choice(state.legal_actions())))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "game.json"
        record.save(state, path)
        again = record.load(path)
    print("scores", again.scores(), "winners", again.winners(), "decisions", len(again.history))
    for action in again.history[:5]:
        print(action, again.game.actions[action].name)
    same_deal = State("forest", players=2, seed=8, setup=again.setup())
    print("same tiles:", same_deal.setup() == state.setup())


if __name__ == "__main__":
    main()
