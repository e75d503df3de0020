"""The policies of the package: every file is sound, small and playable, and goes by its name wherever agents do."""

from __future__ import annotations

import hashlib
import json
import pickle
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import onnx
import pytest

from spirits_env import GAMES, games, make_agent, policies
from spirits_env.agents.guided import PolicySearchAgent
from spirits_env.agents.policy import PolicyAgent, check_card, read_card
from spirits_env.arena import Result, evaluate, run
from spirits_env.batch import Batch
from spirits_env.cli import main
from training.config import parse
from training.exploiter import ExploiterConfig, budget, file_of

ROOT = Path(__file__).parent.parent
NAMES = policies.names()
MOST_BYTES = 5_000_000


def tables() -> list[Any]:
    """Every policy with each number of players that its card claims."""
    found = [(name, players) for name in NAMES for players in read_card(policies.path(name))["players"]]
    return [pytest.param(name, players, id=f"{name}-{players}") for name, players in found]


def with_card(source: Path, target: Path, **more: Any) -> Path:
    """Write a policy again with more in its card."""
    model = onnx.load(source)
    (entry,) = [entry for entry in model.metadata_props if entry.key == "card"]
    entry.value = json.dumps({**json.loads(entry.value), **more})
    onnx.save(model, target)
    return target


# --- the files --------------------------------------------------------------------------------------------


def test_every_game_has_a_policy_of_its_name() -> None:
    assert set(GAMES) <= set(NAMES)
    assert [read_card(policies.path(game))["game"] for game in GAMES] == list(GAMES)


def test_all_files_together_are_small() -> None:
    assert sum(policies.path(name).stat().st_size for name in NAMES) < MOST_BYTES


def test_what_lies_in_the_folder_is_listed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for file in ("b.onnx", "a.onnx", "c.txt"):
        (tmp_path / file).touch()
    monkeypatch.setattr(policies, "FOLDER", tmp_path)
    assert policies.names() == ("a", "b")
    assert policies.path("b") == tmp_path / "b.onnx"


@pytest.mark.parametrize("name", NAMES)
def test_a_card_claims_what_the_game_can_play_and_says_how_it_was_made(name: str) -> None:
    card = read_card(policies.path(name))
    rules = games.load(card["game"])
    assert card["players"]
    assert set(card["players"]) <= set(rules.players) - {1}
    assert card["training"]["decisions"] > 0
    assert card.get("remarks", []) == list(rules.remarks(card["options"]))
    for players in rules.players:
        if players not in card["players"]:
            with pytest.raises(ValueError, match=f"not for {players}"):
                check_card(card, card["game"], players)


@pytest.mark.parametrize(("name", "players"), tables())
def test_a_policy_plays_whole_legal_games_with_each_number_of_players(name: str, players: int) -> None:
    agent = make_agent(f"policy:{name}")
    assert isinstance(agent, PolicyAgent)
    game = agent.card["game"]
    agent.check(game, players)
    batch = Batch(game, 8, players, agent.card["options"])
    batch.reset(range(8))
    seats: set[int] = set()
    while len(going := np.flatnonzero(batch.seat >= 0)):
        actions = batch.ask(agent, going)
        assert batch.mask[going, actions].all()
        seats |= set(batch.seat[going].tolist())
        batch.step(actions, going)
    assert seats == set(range(players))


@pytest.mark.parametrize(("name", "players"), tables())
def test_a_policy_has_learned_something(name: str, players: int) -> None:
    game = read_card(policies.path(name))["game"]
    (match,) = evaluate(f"policy:{name}", "random", game=game, players=players, games=48).matches
    assert match.illegal == match.opponent_illegal == 0
    assert match.share.mean > max(0.8, 1.5 / players)


@pytest.mark.parametrize(("name", "players"), tables())
def test_drawing_and_searching_play_legal_games_too(name: str, players: int) -> None:
    game = read_card(policies.path(name))["game"]
    agents = [f"policy:{name}:sample", f"policy:{name}+search:4,considered=2"]
    for agent in agents:
        result = evaluate(agent, f"policy:{name}", game=game, players=players, games=2 * players)
        assert (result.agent, result.matches[0].opponent) == (agent, f"policy:{name}")
        assert result.illegal == 0


# --- names ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_an_agent_is_called_as_it_was_asked_for_and_known_by_its_files_hash(name: str) -> None:
    file = policies.path(name)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    for text in ("", ":sample", "+search:64", "+search:64,c_scale=0.5"):
        agent = make_agent(f"policy:{name}{text}")
        assert agent.name == str(agent) == f"policy:{name}{text}"
        assert digest.startswith(agent.fingerprint)
        assert len(agent.fingerprint) == 16
    assert isinstance(agent, PolicySearchAgent)
    assert make_agent(file).name == read_card(file)["name"]
    assert make_agent(file).fingerprint == agent.fingerprint


def test_a_file_elsewhere_of_the_same_name_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in ("policy:forest", "forest.onnx", "forest"):
        (tmp_path / file).write_bytes(b"nothing")
    monkeypatch.chdir(tmp_path)
    assert make_agent("policy:forest").name == "policy:forest"


@pytest.mark.parametrize(
    "text", ["policy:nobody", "policy:nobody:sample", "policy:nobody+search:8", "policy:", "policy:../forest"]
)
def test_an_unknown_policy_is_one_sentence_with_the_known_ones(text: str) -> None:
    with pytest.raises(ValueError, match="The package has no policy") as caught:
        make_agent(text)
    message = str(caught.value)
    assert message.count(". ") == message.count("\n") == 0
    assert all(f"policy:{name}" in message for name in NAMES)


def test_an_unknown_agent_is_told_of_the_policies() -> None:
    with pytest.raises(ValueError, match="There is no agent 'nobody'") as caught:
        make_agent("nobody")
    assert all(f"policy:{name}" in str(caught.value) for name in NAMES)


@pytest.mark.parametrize("text", ["policy:forest", "policy:forest:sample", "policy:forest+search:8"])
def test_another_game_or_number_of_players_is_refused(text: str) -> None:
    agent = make_agent(text)
    asked = text.split("+", maxsplit=1)[0]
    with pytest.raises(ValueError, match=f"Policy '{asked}' plays 'forest', not 'wild'"):
        agent.check("wild", 2)
    with pytest.raises(ValueError, match=f"Policy '{asked}' was trained for .* players, not for 1"):
        agent.check("forest", 1)
    with pytest.raises(ValueError, match="not 'wild'"):
        evaluate("random", text, game="wild", games=2)
    with pytest.raises(ValueError, match="not 'wild'"):
        gym.make("spirits_env:spirits/Wild-v0", opponents=text)


@pytest.mark.parametrize("text", ["policy:forest", "policy:forest:sample", "policy:forest+search:8"])
def test_without_onnxruntime_it_is_said_how_to_install_it(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ImportError, match=r'run `pip install "spirits-env\[policy\]"`\.$'):
        make_agent(text)


# --- wherever an agent is asked for -----------------------------------------------------------------------


@pytest.mark.parametrize("text", ["policy:forest", "policy:forest:sample", "policy:forest+search:8"])
def test_a_pickled_agent_is_the_same_without_the_file(
    text: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    batches = [Batch("forest", 20, 2) for _ in range(2)]
    for batch in batches:
        batch.reset(range(20))
    agent = make_agent(text)
    sent = pickle.dumps(agent)
    monkeypatch.setattr(policies, "FOLDER", tmp_path)
    other = pickle.loads(sent)
    assert (other.name, other.fingerprint) == (agent.name, agent.fingerprint)
    np.testing.assert_array_equal(batches[0].ask(agent, batches[0].lanes), batches[1].ask(other, batches[1].lanes))


def test_arenas_play_policies_in_processes(tmp_path: Path) -> None:
    agents = ["policy:forest", "policy:forest:sample", "random"]
    contest, played = run(agents, path=tmp_path / "a.jsonl", deals=1, processes=2)
    assert contest.agents == ("policy:forest", "policy:forest:sample", "random")
    assert contest.fingerprints == (make_agent(agents[0]).fingerprint,) * 2 + ("",)
    assert len(played) == 3


def test_opponents_of_environments_can_be_policies() -> None:
    env = gym.make("spirits_env:spirits/Forest-v0", opponents="policy:forest", seat=1)
    _, info = env.reset(seed=0)
    over = False
    while not over:
        _, _, over, _, info = env.step(int(np.flatnonzero(info["action_mask"])[0]))
    assert "illegal_action" not in info
    envs = gym.make_vec("spirits_env:spirits/Forest-v0", 4, opponents="policy:forest:sample", seat="rotate")
    envs.reset(seed=0)
    envs.close()


def test_a_match_is_the_same_by_the_name_and_by_the_path() -> None:
    one, two = (evaluate(agent, "greedy", games=20, seed=3) for agent in ("policy:forest", policies.path("forest")))
    assert one.matches[0].share == two.matches[0].share
    assert one.matches[0].points == two.matches[0].points


def test_exploiters_find_the_file_and_its_budget() -> None:
    file = policies.path("forest")
    for text in ("", ":sample", "+search:64", "+search:64,c_scale=0.5"):
        assert file_of(f"policy:forest{text}") == file
    assert budget([file]) == read_card(file)["training"]["decisions"]
    assert file_of("runs/x/policy.onnx:sample") == Path("runs/x/policy.onnx")
    words = ["--config", str(ROOT / "configs/exploiter.yaml"), "--opponents", "[policy:forest, policy:forest:sample]"]
    config = parse(words, ExploiterConfig)
    assert [victim.name for victim in config.victims] == ["policy:forest", "policy:forest:sample"]
    assert config.name == "exploiter-of-policy-forest-policy-forest-sample"
    assert config.decisions == read_card(file)["training"]["decisions"]


# --- the command ------------------------------------------------------------------------------------------


def shown_cells(text: str) -> list[list[str]]:
    """The rows of the first table of a text, in cells."""
    lines = [line for line in text.split("\n\n")[0].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in (lines[0], *lines[2:])]


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    """A policy whose card has evaluations, weaknesses and commands."""
    source = policies.path("forest")
    results = [evaluate("greedy", ["random", "greedy"], games=10, seed=seed).to_dict() for seed in (1, 2)]
    told = {"weaknesses": ["It never passes on Sundays."], "commands": ["make train"]}
    return with_card(source, tmp_path / "measured.onnx", results=results, **told)


def test_the_list_has_every_policy_with_what_its_card_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policies"]) == 0
    text = capsys.readouterr().out
    head, *rows = shown_cells(text)
    assert head[:2] == ["policy", "game"]
    assert [row[0] for row in rows] == [f"policy:{name}" for name in NAMES]
    for row, name in zip(rows, NAMES, strict=True):
        card = read_card(policies.path(name))
        assert row[1] == card["game"]
        assert row[2] == ", ".join(map(str, card["players"]))
        assert row[3] == f"{card['training']['decisions']:,}"
        assert all(f"policy:{name}: {remark}" in text for remark in card.get("remarks", []))


def test_the_list_tells_the_strength_that_the_card_keeps(
    measured: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(policies, "FOLDER", measured.parent)
    assert main(["policies"]) == 0
    (match,) = [row for row in read_card(measured)["results"][0]["matches"] if row["opponent"] == "greedy"]
    share = match["share"]
    expected = f"2p {share['mean']:.1%} ({share['low']:.1%} to {share['high']:.1%})"
    assert shown_cells(capsys.readouterr().out)[1][-1] == expected


def test_a_card_is_shown_whole(measured: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(measured)]) == 0
    text = capsys.readouterr().out
    facts = {row[0]: row[1] for row in shown_cells(text)[1:]}
    card = read_card(measured)
    assert facts["game"] == "forest"
    assert facts["options: reward"] == card["options"]["reward"]
    assert facts["training: decisions"] == f"{card['training']['decisions']:,}"
    assert facts["libraries: numpy"] == card["libraries"]["numpy"]
    for result in card["results"]:
        assert Result.from_dict(result).to_markdown() in text
    assert "Known weaknesses:\n\n- It never passes on Sundays.\n\nMade with:\n\n- make train\n" in text


def test_the_card_of_a_policy_of_the_package_is_shown_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "policy:forest"]) == 0
    shown = shown_cells(capsys.readouterr().out)
    assert shown[0][0] == "policy:forest"
    assert shown[1] == ["file", "forest.onnx"]


def test_cards_are_given_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "policy:forest", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"kind": "policy", "card": read_card("policy:forest")}
    assert main(["policies", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {f"policy:{name}": read_card(f"policy:{name}") for name in NAMES}


@pytest.mark.parametrize("words", [["policies"], ["info", "{file}"]])
def test_people_get_the_same_in_boxes(
    words: list[str], measured: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(policies, "FOLDER", measured.parent)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "400")
    assert main([word.format(file=measured) for word in words]) == 0
    text = capsys.readouterr().out
    assert "┃" in text
    assert f"{read_card(measured)['training']['decisions']:,}" in text
    assert ("- It never passes on Sundays." in text) == (len(words) == 2)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"results": [{"agent": "greedy"}]}, "results"),
        ({"results": 3}, "results"),
        ({"results": ["greedy"]}, "results"),
        ({"weaknesses": "many"}, "weaknesses"),
        ({"commands": [1]}, "commands"),
    ],
)
def test_a_card_with_damaged_parts_is_one_line_and_code_2(
    more: dict[str, Any], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = with_card(policies.path("forest"), tmp_path / "damaged.onnx", **more)
    assert main(["info", str(file)]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == f"spirits: {file} has damaged {words} in its card; export it again.\n"


@pytest.mark.parametrize("words", [["policies"], ["info", "policy:forest"]])
def test_without_onnxruntime_the_command_says_how_to_install_it(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert main(words) == 2
    assert capsys.readouterr().err.endswith('run `pip install "spirits-env[policy]"`.\n')
