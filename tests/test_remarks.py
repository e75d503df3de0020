"""What must be said of every result with an option is said wherever a result shows."""

from __future__ import annotations

import json
from typing import Any

import gymnasium
import numpy as np
import pytest

from spirits_env import State, forest_v0, wild_v0
from spirits_env.agents.policy import make_card
from spirits_env.arena import Result, evaluate
from spirits_env.cli import main
from spirits_env.sb3 import SelfPlayVecEnv

OWN = [["TAKE 1"]] * 6
SAID = {"house": "house powers: ", "own": "own powers: ", "none": ""}
POWERS = {"house": "house", "own": OWN, "none": "none"}


def check(powers: str, info: Any) -> None:
    """Compare an info's remarks with what must be said."""
    if powers == "none":
        assert "remarks" not in info
    else:
        assert str(info["remarks"]).startswith(SAID[powers])


@pytest.mark.parametrize("powers", POWERS)
def test_the_last_info_of_the_single_face_says_it(powers: str) -> None:
    env = gymnasium.make("spirits/Wild-v0", powers=POWERS[powers])
    _, info = env.reset(seed=1)
    over = False
    while not over:
        assert "remarks" not in info
        _, _, over, _, info = env.step(int(info["action_mask"].argmax()))
    check(powers, info)
    assert "remarks" not in env.reset()[1]


@pytest.mark.parametrize("powers", POWERS)
def test_the_vector_face_says_it_of_the_lanes_that_ended(powers: str) -> None:
    env = gymnasium.make_vec("spirits/Wild-v0", num_envs=3, powers=POWERS[powers])
    _, infos = env.reset(seed=1)
    ended = np.zeros(3, np.bool_)
    while not ended.any():
        _, _, ended, _, infos = env.step(infos["action_mask"].argmax(axis=1))
    lane = int(ended.argmax())
    assert infos.get("_remarks", ended * 0)[lane] == (powers != "none")
    check(powers, {name: rows[lane] for name, rows in infos.items() if name in ("remarks", "scores")})


@pytest.mark.parametrize("powers", POWERS)
def test_the_last_infos_of_the_pettingzoo_faces_say_it(powers: str) -> None:
    for make in (wild_v0.env, wild_v0.raw_env):
        env = make(powers=POWERS[powers])
        env.reset(seed=1)
        while not any(env.terminations.values()):
            assert "remarks" not in env.infos[env.agent_selection]
            env.step(int(env.observe(env.agent_selection)["action_mask"].argmax()))
        for agent in env.agents:
            check(powers, env.infos[agent])


@pytest.mark.parametrize("powers", POWERS)
def test_the_last_info_of_self_play_says_it(powers: str) -> None:
    env = SelfPlayVecEnv("wild", 2, powers=POWERS[powers])
    env.seed(1)
    env.reset()
    dones, infos = np.zeros(2, np.bool_), [{}, {}]
    while not dones.any():
        _, _, dones, infos = env.step(env.action_masks().argmax(axis=1))
    check(powers, infos[int(dones.argmax())])


@pytest.mark.parametrize("powers", POWERS)
def test_an_evaluation_says_it_in_its_tables_and_keeps_it(powers: str) -> None:
    result = evaluate("random", "random", game="wild", games=2, options={"powers": POWERS[powers]})
    assert [remark.partition(": ")[0] + ": " for remark in result.remarks] == [SAID[powers]] * (powers != "none")
    assert all(remark in result.to_markdown().splitlines()[0] for remark in result.remarks)
    again = Result.from_dict(json.loads(result.to_json()))
    assert again == result


@pytest.mark.parametrize("powers", POWERS)
def test_a_policys_card_says_it(powers: str) -> None:
    card = make_card("wild", [2], {"powers": POWERS[powers]}, "name", {}, {})
    assert [remark.partition(": ")[0] + ": " for remark in card["remarks"]] == [SAID[powers]] * (powers != "none")


def test_the_list_of_games_says_it_of_the_default_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["games"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert ["house powers" in line for line in lines] == [line.startswith("wild") for line in lines]


def test_a_game_without_remarks_says_nothing() -> None:
    assert State("forest", seed=1).remarks == ""
    assert evaluate("random", "random", games=2).remarks == ()
    env = forest_v0.env()
    env.reset(seed=1)
    while not any(env.terminations.values()):
        env.step(int(env.observe(env.agent_selection)["action_mask"].argmax()))
    assert all(set(env.infos[agent]) == {"action_mask"} for agent in env.agents)
