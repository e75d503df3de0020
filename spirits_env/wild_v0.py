"""Spirits of the Wild for PettingZoo: `env()`, `raw_env()` and `parallel_env()`, for two players.

All three take `render_mode` and the game's options; see `spirits_env.aec.RawEnv`.
"""

from spirits_env.aec import entry_points

env, raw_env, parallel_env = entry_points("wild")
