"""Gymnasium's vector form: 64 games at once, random learners against random opponents."""

import gymnasium as gym
import numpy as np


def main() -> None:
    """Play 1,000 steps in each lane and count the games that end."""
    envs = gym.make_vec("spirits_env:spirits/Forest-v0", num_envs=64, opponents="random", seat="rotate")
    rng = np.random.default_rng(7)
    _, infos = envs.reset(seed=7)
    games, wins = 0, 0.0
    for _ in range(1000):
        # The noise of an illegal action is below that of every legal one. A finished lane has no legal action; the
        # action it gets is ignored, and its next game starts.
        noise = rng.random(infos["action_mask"].shape) * infos["action_mask"]
        _, rewards, terminated, _, infos = envs.step(noise.argmax(axis=1))
        games += int(terminated.sum())
        wins += float((rewards[terminated] > 0).sum())
    envs.close()
    print(games, "games, share won", round(wins / games, 3))


if __name__ == "__main__":
    main()
