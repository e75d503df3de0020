"""stable-baselines3: some seconds of self-play with MaskablePPO, then matches against fixed agents.

`python -m training.selfplay` does the same with a better network, schedules, checkpoints and a report.
"""

import numpy as np
from sb3_contrib import MaskablePPO

from spirits_env import Agent, Views
from spirits_env.arena import evaluate
from spirits_env.sb3 import SelfPlayVecEnv
from training.sb3.buffer import SeatRolloutBuffer


class Learned(Agent):
    """Plays the best legal action of a model."""

    name = "learned"

    def __init__(self, model: MaskablePPO) -> None:
        self.model = model

    def act_many(self, views: Views) -> np.ndarray:
        """Ask the model, masks included."""
        actions, _ = self.model.predict(views.observation, action_masks=views.mask, deterministic=True)
        return actions


def main(decisions: int = 8192) -> None:
    """Learn and judge."""
    env = SelfPlayVecEnv("forest", num_envs=32, players=2)
    model = MaskablePPO(
        "MlpPolicy",
        env,
        n_steps=64,
        batch_size=256,
        n_epochs=4,
        gamma=1.0,
        rollout_buffer_class=SeatRolloutBuffer,
        rollout_buffer_kwargs={"env": env},
        seed=7,
        device="cpu",
    )
    model.learn(decisions)
    for match in evaluate(Learned(model), against=["random", "greedy"], games=100, seed=7).matches:
        print(f"{match.share.mean:.1%} against {match.opponent}, {match.points.mean:.1f} points")


if __name__ == "__main__":
    main()
