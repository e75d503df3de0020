"""Check an installed wheel with the core dependencies only: a light import, typed, playable."""

import sys
from importlib.resources import files

import spirits_env

heavy = {"PIL", "matplotlib", "numba", "onnxruntime", "pygame", "rich", "stable_baselines3", "torch"}
heavy &= set(sys.modules)
assert not heavy, f"`import spirits_env` imports {sorted(heavy)}"
assert "site-packages" in str(spirits_env.__file__), f"not the installed package: {spirits_env.__file__}"
assert files("spirits_env").joinpath("py.typed").is_file(), "py.typed is missing from the wheel"

import gymnasium as gym  # noqa: E402 (the import above must be alone to be judged)

env = gym.make("spirits_env:spirits/Forest-v0")
_, info = env.reset(seed=0)
env.action_space.seed(0)
for step in range(10):
    _, _, terminated, truncated, info = env.step(env.action_space.sample(mask=info["action_mask"]))
    if terminated or truncated:
        _, info = env.reset(seed=step)
env.close()
print("The wheel imports lightly and plays.")
