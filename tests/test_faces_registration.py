"""Ids are found where they should be, in any process, and importing the package stays light."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import gymnasium
import pettingzoo
import pytest

import spirits_env
from spirits_env import GAMES, aec, forest_v0
from spirits_env.games import load

ROOT = Path(__file__).parent.parent
# Every id, and how many play when nothing is said.
NUMBERS = {
    f"spirits/{name}-v{listing.version}": fixed.get("players", 2)
    for listing in GAMES.values()
    for name, fixed in listing.ids.items()
}
MODULES = {game: f"{game}_v{listing.version}" for game, listing in GAMES.items()}
# The ids that fix nothing, one for each game.
PLAIN = {
    game: f"spirits/{name}-v{listing.version}"
    for game, listing in GAMES.items()
    for name, fixed in listing.ids.items()
    if not fixed
}


def run(code, *flags, arguments=(), **environment):
    done = subprocess.run(
        [sys.executable, *flags, "-c", code, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        cwd=ROOT,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_the_package_imports_nothing_heavy_and_no_old_gym():
    heavy = ("numba", "torch", "pygame", "matplotlib", "PIL", "resvg_py", "onnxruntime", "stable_baselines3", "gym")
    code = f"import sys, spirits_env; print([name for name in {heavy} if name in sys.modules])"
    assert run(code, "-W", "error") == "[]"


@pytest.mark.parametrize("game", GAMES)
def test_playing_imports_no_renderer_and_no_training_library(game):
    heavy = ("torch", "pygame", "matplotlib", "PIL", "resvg_py", "onnxruntime", "stable_baselines3", "gym")
    code = (
        f"import sys, gymnasium; from spirits_env import {MODULES[game]} as module;"
        f"env = module.env(render_mode='rgb_array'); env.reset(seed=1); gymnasium.make('{PLAIN[game]}').reset(seed=1);"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    assert run(code) == "[]"


def test_an_id_without_prefix_is_known_after_the_import_only():
    code = (
        "import gymnasium\n"
        "try:\n"
        "    gymnasium.make('spirits/Forest-v0')\n"
        "except gymnasium.error.NamespaceNotFound:\n"
        "    import spirits_env\n"
        "    print(gymnasium.make('spirits/Forest-v0').spec.id)\n"
    )
    assert run(code) == "spirits/Forest-v0"


WORKERS = f"""
import multiprocessing, sys
import gymnasium

NAMES = {[f"spirits_env:{name}" for name in NUMBERS]}

def make(name):
    env = gymnasium.make(name)
    env.reset(seed=3)
    return int(env.get_wrapper_attr("action_masks")().sum())

if __name__ == "__main__":
    for method in sys.argv[1:]:
        with multiprocessing.get_context(method).Pool(1) as pool:
            print(method, *pool.map(make, NAMES))
    print("spirits_env" in sys.modules)
"""


def test_a_prefixed_id_works_in_workers_whose_parent_never_imported_the_package(tmp_path):
    script = tmp_path / "workers.py"
    script.write_text(WORKERS)
    methods = ["spawn"] if sys.platform == "win32" else ["spawn", "forkserver"]
    done = subprocess.run([sys.executable, script, *methods], capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    legal = []
    for name in NUMBERS:
        _, info = gymnasium.make(name).reset(seed=3)
        legal.append(str(int(info["action_mask"].sum())))
    assert done.stdout.split() == [word for method in methods for word in (method, *legal)] + ["False"]


def test_importing_twice_registers_once_and_without_warnings():
    before = {name: spec for name, spec in gymnasium.registry.items() if name.startswith("spirits/")}
    importlib.reload(spirits_env)
    after = {name: spec for name, spec in gymnasium.registry.items() if name.startswith("spirits/")}
    assert before.keys() == after.keys() == NUMBERS.keys()
    assert all(before[name] is after[name] for name in before)


@pytest.mark.parametrize("name", NUMBERS)
def test_ids_are_written_as_strings_so_that_specs_become_json(name):
    spec = gymnasium.spec(name)
    assert "spirits_env.single:SingleEnv" in spec.to_json()
    assert isinstance(spec.vector_entry_point, str)


@pytest.mark.parametrize(("name", "players"), NUMBERS.items())
def test_each_id_makes_games_of_its_number_of_players(name, players):
    env = gymnasium.make(name)
    env.reset(seed=1)
    over = False
    while not over:
        *_, over, _, info = env.step(int(env.get_wrapper_attr("action_masks")().argmax()))
    assert len(info["returns"]) == players


def test_one_player_is_sent_from_the_forest_to_its_solitaire():
    for make in (gymnasium.make, gymnasium.make_vec):
        with pytest.raises(ValueError, match=r"players was 1; .*make spirits/ForestSolo-v0"):
            make("spirits/Forest-v0", players=1)
    with pytest.raises(ValueError, match=r"players was 1; .*make spirits/ForestSolo-v0"):
        forest_v0.env(players=1)


def test_the_solitaire_is_for_one_player_alone():
    for make in (gymnasium.make, gymnasium.make_vec):
        with pytest.raises(ValueError, match=r"players was 2; spirits/ForestSolo-v0 is for players=1 alone"):
            make("spirits/ForestSolo-v0", players=2)


@pytest.mark.parametrize("game", GAMES)
def test_the_multi_agent_environment_is_in_pettingzoos_registry(game):
    env = pettingzoo.make("aec", PLAIN[game])
    assert isinstance(env.unwrapped, aec.RawEnv)
    assert env.metadata["name"] == MODULES[game]
    assert len(env.possible_agents) == 2
    assert not any(name.startswith("spirits/") for name in pettingzoo.parallel_registry)


def test_the_arguments_of_a_multi_agent_environment_go_through_pettingzoos_registry():
    assert len(pettingzoo.make("aec", "spirits/Forest-v0", players=3).possible_agents) == 3


def test_gymnasium_knows_no_multi_agent_environment():
    for spec in gymnasium.registry.values():
        for module in ("aec", *MODULES.values()):
            assert f"spirits_env.{module}" not in str(spec.entry_point)


def test_an_older_pettingzoo_without_a_registry_is_no_hindrance():
    code = (
        "import pettingzoo; del pettingzoo.register; import spirits_env, gymnasium;"
        f"print(all(name in gymnasium.registry for name in {list(NUMBERS)}))"
    )
    assert run(code, "-W", "error") == "True"


def test_every_public_name_can_be_had():
    assert all(getattr(spirits_env, name) is not None for name in spirits_env.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Forrest'"):
        spirits_env.Forrest  # noqa: B018


def test_the_version_is_that_of_the_package():
    declared = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert declared is not None
    assert spirits_env.__version__ == declared[1]


HASHED_GAME = """
import importlib, sys
import gymnasium, numpy as np
module, name, players = sys.argv[1:]
def trace(env):
    text = []
    env.reset(seed=5)
    for agent in env.agent_iter():
        observation, reward, over, _, _ = env.last()
        text.append((agent, reward, observation["observation"].tobytes().hex()))
        env.step(None if over else int(np.flatnonzero(observation["action_mask"])[-1]))
    return text
import hashlib
make = importlib.import_module(f"spirits_env.{module}").raw_env
digest = hashlib.sha256(repr(trace(make(players=int(players)))).encode())
env = gymnasium.make(f"spirits_env:{name}", seat="rotate", opponents="greedy")
observation, info = env.reset(seed=5)
over = False
while not over:
    digest.update(observation.tobytes())
    observation, reward, over, _, info = env.step(int(info["action_mask"].argmax()))
print(digest.hexdigest(), info["returns"])
"""


@pytest.mark.parametrize("game", GAMES)
def test_one_seed_is_one_game_in_every_process_whatever_the_hash_seed(game):
    arguments = (MODULES[game], PLAIN[game], str(load(game).players[-1]))
    one, other = (run(HASHED_GAME, arguments=arguments, PYTHONHASHSEED=seed) for seed in ("1", "2"))
    assert one == other


ILLEGAL = """
import sys
import numpy as np
from spirits_env import IllegalAction, SingleEnv, VectorEnv
from spirits_env.aec import RawEnv
game = sys.argv[1]
def refused(call, *arguments):
    try:
        call(*arguments)
    except IllegalAction:
        return True
    return False
raw = RawEnv(game)
raw.reset(seed=1)
before = raw.game_state
illegal = int(np.flatnonzero(raw.observe(raw.agent_selection)["action_mask"] == 0)[0])
answers = [refused(raw.step, action) for action in (illegal, -1, 10_000, 2**70, None, 1.0, "0", np.uint64(2**64 - 1))]
answers.append(raw.game_state == before and raw.record()["actions"] == [])
single, vector = SingleEnv(game), VectorEnv(2, game)
single.reset(seed=1), vector.reset(seed=1)
answers += [refused(single.step, None), refused(single.step, 1.5), refused(vector.step, [0.0, 1.0])]
print(__debug__, all(answers), answers)
"""


@pytest.mark.parametrize("game", GAMES)
def test_illegal_actions_are_refused_under_python_o(game):
    assert run(ILLEGAL, "-O", arguments=[game]).startswith("False True")
