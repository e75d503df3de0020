"""Gymnasium: a random learner in rotating seats against the greedy agent, and the solitaire."""

import gymnasium as gym


def play(env: gym.Env, games: int) -> None:
    """Play some games with legal moves only."""
    env.action_space.seed(7)
    _, info = env.reset(seed=7)
    for game in range(games):
        seat, over = info["seat"], False
        while not over:
            action = env.action_space.sample(mask=info["action_mask"])
            _, reward, terminated, truncated, info = env.step(action)
            over = terminated or truncated
        print("game", game, "seat", seat, "reward", reward, "scores", info["scores"].tolist())
        _, info = env.reset()
    env.close()


if __name__ == "__main__":
    play(gym.make("spirits_env:spirits/Forest-v0", players=2, seat="rotate", opponents="greedy"), games=4)
    play(gym.make("spirits_env:spirits/ForestSolo-v0"), games=2)
