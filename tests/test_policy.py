"""Saved policies: one ONNX file with its card, refused in one sentence when it does not fit."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from spirits_env import games
from spirits_env.agents import make_agent
from spirits_env.agents.policy import PolicyAgent, check_card, draw_softmax, make_card, read_card
from spirits_env.arena import evaluate
from spirits_env.batch import Batch
from spirits_env.game import stream

FOREST = games.load("forest")
SIZE, ACTIONS = FOREST.layout.size, len(FOREST.actions)


def card_of(**changes: Any) -> dict[str, Any]:
    return {**make_card("forest", [2, 3], {}, "test", {}, {}), **changes}


def write_policy(path: Path, logits: np.ndarray, card: dict[str, Any] | str | None, size: int = SIZE) -> Path:
    """Write a policy whose logits are constants, masked; the observation only feeds the value."""
    nodes = [
        helper.make_node("Cast", ["mask"], ["open"], to=TensorProto.FLOAT),
        helper.make_node("Sub", ["open", "one"], ["closed"]),
        helper.make_node("Mul", ["closed", "much"], ["penalty"]),
        helper.make_node("Add", ["penalty", "weights"], ["logits"]),
        helper.make_node("Cast", ["observation"], ["seen"], to=TensorProto.FLOAT),
        helper.make_node("ReduceSum", ["seen", "axis"], ["value"], keepdims=0),
    ]
    constants = {
        "one": np.array(1, np.float32),
        "much": np.array(1e9, np.float32),
        "weights": logits.astype(np.float32)[None],
        "axis": np.array([1], np.int64),
    }
    graph = helper.make_graph(
        nodes,
        "policy",
        [
            helper.make_tensor_value_info("observation", TensorProto.INT8, ["batch", size]),
            helper.make_tensor_value_info("mask", TensorProto.INT8, ["batch", len(logits)]),
        ],
        [
            helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", len(logits)]),
            helper.make_tensor_value_info("value", TensorProto.FLOAT, ["batch"]),
        ],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    if card is not None:
        entry = model.metadata_props.add()
        entry.key, entry.value = "card", card if isinstance(card, str) else json.dumps(card)
    onnx.save(model, path)
    return path


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    return write_policy(tmp_path / "p.onnx", np.linspace(-60, 60, ACTIONS), card_of())


def dealt(lanes: int = 50) -> Batch:
    batch = Batch("forest", lanes, 2)
    batch.reset(range(lanes))
    return batch


def test_the_best_action_is_the_legal_one_with_the_highest_logit_in_original_ids(policy: Path) -> None:
    batch, agent = dealt(), PolicyAgent(policy)
    for _ in range(60):
        batch.reset(lanes=np.flatnonzero(batch.done))
        actions = batch.ask(agent, batch.lanes)
        np.testing.assert_array_equal(actions, [np.flatnonzero(mask)[-1] for mask in batch.mask])
        batch.step(actions)


def test_sampling_never_draws_an_illegal_action_however_extreme_the_logits(policy: Path) -> None:
    batch, agent = dealt(500), PolicyAgent(policy, sample=True)
    drawn = 0
    while drawn < 100_000:
        batch.reset(lanes=np.flatnonzero(batch.done))
        batch.step(batch.ask(agent, batch.lanes))
        drawn += len(batch)


def test_sampling_follows_the_softmax() -> None:
    scores = np.log(np.array([[0.5, 0.3, 0.2, 0.0001]]))
    scores[0, 3] = -np.inf
    chance = np.array([stream(i) for i in range(40_000)], np.uint64)
    drawn = draw_softmax(np.repeat(scores, len(chance), axis=0), chance)
    np.testing.assert_allclose(np.bincount(drawn, minlength=4) / len(drawn), [0.5, 0.3, 0.2, 0], atol=0.01)


def test_a_policy_without_numbers_is_an_error_and_no_move(tmp_path: Path) -> None:
    path = write_policy(tmp_path / "nan.onnx", np.full(ACTIONS, np.nan), card_of())
    batch = dealt(3)
    with pytest.raises(ValueError, match="test"):
        batch.ask(PolicyAgent(path), batch.lanes)


def test_the_name_and_sampling_can_be_given_as_words(policy: Path) -> None:
    assert make_agent(str(policy)).name == "test"
    assert make_agent(f"{policy}:sample").name == "test:sample"
    assert make_agent(policy).name == "test"


def test_copies_and_pickles_play_the_same_without_the_file(policy: Path) -> None:
    agent, batch = PolicyAgent(policy), dealt()
    expected = batch.ask(agent, batch.lanes)
    copies = [copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))]
    policy.unlink()
    for other in copies:
        np.testing.assert_array_equal(batch.ask(other, batch.lanes), expected)


def test_a_policy_loads_in_another_process_and_folder_without_torch(policy: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from spirits_env.arena import evaluate\n"
        f"r = evaluate({str(policy)!r}, 'random', games=4)\n"
        "assert r.illegal == 0 and not {'torch', 'onnx', 'stable_baselines3'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)


def test_a_file_cut_short_anywhere_is_refused(policy: Path, tmp_path: Path) -> None:
    whole = policy.read_bytes()
    for size in (0, 1, 50, len(whole) // 2, len(whole) - 1):
        path = tmp_path / "cut.onnx"
        path.write_bytes(whole[:size])
        with pytest.raises(ValueError, match=r"cut\.onnx") as caught:
            PolicyAgent(path)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("card", "words"),
    [
        (None, "without a card"),
        ("{not json", "another kind"),
        ({"format": "something else"}, "another kind"),
        (card_of(format_version=2), "version"),
        ({key: value for key, value in card_of().items() if key != "players"}, "players"),
    ],
)
def test_an_onnx_file_without_our_card_is_refused(card: Any, words: str, tmp_path: Path) -> None:
    path = write_policy(tmp_path / "foreign.onnx", np.zeros(ACTIONS), card)
    with pytest.raises(ValueError, match=words):
        read_card(path)


def utility(weight: Any = 0.2, **scales: Any) -> dict[str, Any]:
    return {"margin_weight": weight, "margin_scales": {number[1:]: scale for number, scale in scales.items()}}


@pytest.mark.parametrize(
    "wrong",
    [
        0.2,
        {"margin_weight": 0.2},
        utility(p2=12.0),
        utility(1.5, p2=12.0, p3=8.0),
        utility(-0.1, p2=12.0, p3=8.0),
        utility("0.2", p2=12.0, p3=8.0),
        utility(True, p2=12.0, p3=8.0),
        utility(p2=12.0, p3=0.0),
        utility(p2=12.0, p3="8"),
    ],
)
def test_a_card_with_a_damaged_utility_is_refused(wrong: Any, tmp_path: Path) -> None:
    path = write_policy(tmp_path / "damaged.onnx", np.zeros(ACTIONS), card_of(utility=wrong))
    with pytest.raises(ValueError, match="wrong or missing: utility"):
        read_card(path)


def test_a_card_tells_how_much_of_the_margin_the_values_count(tmp_path: Path) -> None:
    card = make_card("forest", [2, 3], {}, "test", {}, {}, margin_weight=0.2, margin_scales={2: 12, 3: 8.0})
    agent = PolicyAgent(write_policy(tmp_path / "margin.onnx", np.zeros(ACTIONS), card))
    assert [agent.margin(players) for players in (2, 3)] == [(0.2, 12.0), (0.2, 8.0)]
    plain = PolicyAgent(write_policy(tmp_path / "plain.onnx", np.zeros(ACTIONS), card_of()))
    assert plain.margin(2)[0] == 0
    with pytest.raises(ValueError, match="margin_scales None; give"):
        make_card("forest", [2, 3], {}, "test", {}, {}, margin_weight=0.2)


def test_a_network_that_does_not_keep_its_cards_promise_is_refused(tmp_path: Path) -> None:
    path = write_policy(tmp_path / "liar.onnx", np.zeros(ACTIONS), card_of(), size=SIZE + 1)
    with pytest.raises(ValueError, match=r"liar\.onnx"):
        PolicyAgent(path)


@pytest.mark.parametrize(
    ("changes", "players", "words"),
    [
        ({"game": "wild"}, 2, "wild"),
        ({"version": 1}, 2, "version 1"),
        ({"layout": "0" * 16}, 2, "layout"),
        ({"action_count": 3}, 2, "action"),
        ({}, 4, "2 and 3 players|2, 3 players|players"),
    ],
)
def test_a_policy_for_something_else_is_refused(changes: dict[str, Any], players: int, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        check_card(card_of(**changes), "forest", players)
    assert str(caught.value).count(". ") == 0


def test_evaluating_for_the_wrong_players_fails_before_anything_is_played(policy: Path) -> None:
    played: list[int] = []
    with pytest.raises(ValueError, match="players"):
        evaluate(str(policy), "random", players=4, games=4, progress=lambda finished, total: played.append(finished))
    assert not played
    with pytest.raises(ValueError, match="players"):
        evaluate("random", str(policy), players=4, games=4)
