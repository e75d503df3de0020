"""PettingZoo: three random players, one game; run it twice and it prints the same."""

import numpy as np

from spirits_env import forest_v0


def main() -> None:
    """Play one game with legal moves only."""
    env = forest_v0.env(players=3)
    env.reset(seed=7)
    rng = np.random.default_rng(7)
    totals = dict.fromkeys(env.possible_agents, 0.0)
    plies = 0
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, _ = env.last()
        totals[agent] += reward
        if terminated or truncated:
            # Every agent that has finished is stepped once with None.
            env.step(None)
            continue
        env.step(int(rng.choice(np.flatnonzero(observation["action_mask"]))))
        plies += 1
    env.close()
    print(plies, "decisions", totals)


if __name__ == "__main__":
    main()
