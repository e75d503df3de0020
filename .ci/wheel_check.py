"""Check an installed wheel with the core dependencies only: a light import, typed, playable."""

import io
import sys
from contextlib import redirect_stderr
from importlib.resources import files
from pathlib import Path

import spirits_env

heavy = {"PIL", "matplotlib", "numba", "onnxruntime", "pygame", "rich", "stable_baselines3", "torch", "yaml"}
heavy &= set(sys.modules)
assert not heavy, f"`import spirits_env` imports {sorted(heavy)}"
assert "site-packages" in str(spirits_env.__file__), f"not the installed package: {spirits_env.__file__}"
assert files("spirits_env").joinpath("py.typed").is_file(), "py.typed is missing from the wheel"

import gymnasium as gym  # noqa: E402 (the import above must be alone to be judged)

import spirits_env.arena  # noqa: E402
import spirits_env.endgames  # noqa: E402
import spirits_env.policies  # noqa: E402
import spirits_env.solver  # noqa: E402

names = [name for name in gym.registry if name.startswith("spirits/")]
assert names, "no environment is registered"
for name in names:
    env = gym.make(f"spirits_env:{name}")
    _, info = env.reset(seed=0)
    env.action_space.seed(0)
    for step in range(10):
        _, _, terminated, truncated, info = env.step(env.action_space.sample(mask=info["action_mask"]))
        if terminated or truncated:
            _, info = env.reset(seed=step)
    env.close()

# Files of cards are read with a library of the core dependencies.
Path("cards.yaml").write_text("[[COYOTE], [ADD 1], [TAKE 1], [TAKE 2 same], [RETURN 1], [RETURN all]]")
assert spirits_env.State("wild", seed=0, powers="cards.yaml").remarks
# Search, exact play and its positions need no more than that either.
assert len(spirits_env.endgames.load()) >= 500, "the end positions are missing from the wheel"
assert spirits_env.arena.evaluate("search:5", against="random", games=2).illegal == 0
position = spirits_env.endgames.load()[0]
assert set(spirits_env.solver.solve(position.state).values) == set(position.values)
# The policies are there; to play them takes a library that the core dependencies don't bring.
assert {"forest", "wild"} <= set(spirits_env.policies.names()), "policies are missing from the wheel"


def refusal(agent: str) -> str:
    """Why an agent can't be had; empty if it can."""
    try:
        spirits_env.make_agent(agent)
    except ImportError as error:
        return str(error)
    return ""


for name in spirits_env.policies.names():
    assert spirits_env.policies.path(name).stat().st_size > 10_000, f"the policy {name} is cut short"
    for agent in (f"policy:{name}", f"policy:{name}:sample", f"policy:{name}+search:8"):
        why = refusal(agent)
        assert why.endswith('run `pip install "spirits-env[policy]"`.'), f"{agent}: {why or 'loaded'}"
        assert "\n" not in why, why
# Pages and commands come along; what they lack is named.
from spirits_env.cli import main as spirits  # noqa: E402
from spirits_env.render.page import replay_page  # noqa: E402

for page in ("play/static/index.html", "play/static/play.js", "play/static/play.css"):
    assert files("spirits_env").joinpath(page).is_file(), f"{page} is missing from the wheel"
assert "</html>" in replay_page(position.state)
assert spirits(["games"]) == spirits(["info"]) == 0
for command, part in ((["play", "--no-browser"], "play"), (["completion", "bash"], "play")):
    with redirect_stderr(io.StringIO()) as said:
        assert spirits(command) == 2, f"spirits {command[0]} needs nothing"
    assert f'pip install "spirits-env[{part}]"' in said.getvalue(), said.getvalue()
    assert said.getvalue().count("\n") == 1, said.getvalue()
print(f"The wheel imports lightly and plays {', '.join(names)}.")
