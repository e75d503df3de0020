"""`spirits info` and `spirits bench`: what is installed, what a file is, how fast this machine is."""

from __future__ import annotations

import json
import platform
import re
import shutil
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from spirits_env import __version__, arena, policies, record
from spirits_env.agents.policy import read_card
from spirits_env.arena.results import Journal
from spirits_env.bench import Case, Trial
from spirits_env.cli import info, main
from spirits_env.state import State

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = None

ROOT = Path(__file__).parent.parent


def told(words: list[str], capsys: pytest.CaptureFixture[str]) -> Any:
    """What a command prints as JSON."""
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def facts(text: str) -> dict[str, str]:
    """The two first cells of each row of all Markdown tables of a text."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
    return {row[0]: row[1] for row in rows}


# --- what is installed ------------------------------------------------------------------------------------


def test_what_is_installed_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    here = told(["info"], capsys)
    assert here["spirits_env"] == __version__
    assert here["python"].startswith(platform.python_version())
    assert here["libraries"]["numpy"] == version("numpy")
    assert here["policies"] == [f"policy:{name}" for name in policies.names()]
    assert main(["info"]) == 0
    shown = facts(capsys.readouterr().out)
    assert shown["spirits_env"] == __version__
    assert shown["numba"] == version("numba")
    assert shown["policies"] == ", ".join(here["policies"])


def test_the_folder_of_compiled_rules_holds_them(capsys: pytest.CaptureFixture[str]) -> None:
    State("forest", seed=0)
    folder = told(["info"], capsys)["compiled rules"]
    assert folder.startswith("none") or list(Path(folder).glob("batch.forest_*.nbi"))


def test_what_is_missing_is_told_with_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def without(name: str) -> str:
        if name in ("torch", "starlette", "tqdm"):
            raise info.PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr(info, "version", without)
    assert told(["info"], capsys)["libraries"]["torch"] is None
    assert main(["info"]) == 0
    text = capsys.readouterr().out
    assert facts(text)["starlette"] == "not installed"
    assert '\n`pip install "spirits-env[play]"` brings starlette.\n' in text
    assert '\n`pip install "spirits-env[train]"` brings torch, tqdm.\n' in text


@pytest.mark.skipif(tomllib is None, reason="tomllib came with Python 3.11")
def test_the_libraries_are_those_that_each_part_brings() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    parts = {"": project["dependencies"], **project["optional-dependencies"]}
    brought = {part: {re.split(r"[\[<>=~!]", line)[0] for line in lines} for part, lines in parts.items()}
    for library in info.LIBRARIES:
        assert library.name in brought[library.part], library
    listed = {library.name for library in info.LIBRARIES}
    assert set().union(*(brought[part] for part in ("", "policy", "render", "play", "train"))) <= listed
    assert "ray" in listed


# --- what a file is ---------------------------------------------------------------------------------------


def test_a_policy_is_known_by_what_is_in_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(policies.path("wild"), tmp_path / "nameless")
    assert told(["info", str(tmp_path / "nameless")], capsys) == {"kind": "policy", "card": read_card("policy:wild")}


def test_a_finished_record_tells_its_outcome(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = State("forest", players=3, seed=5, reward="margin")
    while state.seat >= 0:
        state.play(state.legal_actions()[0])
    record.save(state, tmp_path / "r.json")
    found = told(["info", str(tmp_path / "r.json")], capsys)
    assert found == {
        "kind": "record",
        "game": "forest",
        "version": 0,
        "players": 3,
        "options": {"forced_steal": True, "reward": "margin"},
        "decisions": len(state.history),
        "finished": True,
        "scores": state.scores(),
        "winners": state.winners(),
    }
    assert main(["info", str(tmp_path / "r.json")]) == 0
    shown = facts(capsys.readouterr().out)
    assert shown["points"] == ", ".join(f"seat {seat}: {points}" for seat, points in enumerate(state.scores()))
    assert shown["winners"] == ", ".join(f"seat {seat}" for seat in state.winners())
    assert shown["decisions"] == str(len(state.history))


def test_an_unfinished_record_tells_who_is_to_act(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = State("wild", seed=5)
    record.save(state, tmp_path / "r.json")
    found = told(["info", str(tmp_path / "r.json")], capsys)
    assert (found["finished"], found["scores"], found["decisions"]) == (False, [], 0)
    assert main(["info", str(tmp_path / "r.json")]) == 0
    shown = facts(capsys.readouterr().out)
    assert shown["to act"] == f"seat {state.seat}, phase {state.phase}"
    assert "winners" not in shown


def test_an_arena_tells_its_agents_and_how_much_they_played(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.jsonl"
    arena.run(["random", "greedy", "search:2"], path=path, deals=2, processes=1)
    found = told(["info", str(path)], capsys)
    assert (found["kind"], found["game"], found["players"]) == ("arena", "forest", 2)
    assert found["agents"] == ["random", "greedy", "search:2"]
    # Three pairs, two deals, both seats.
    assert found["games"] == 12
    assert found["games_of_agents"] == [8, 8, 8]
    with path.open("a") as file:
        file.write('{"cut sh')
    assert main(["info", str(path)]) == 0
    text = capsys.readouterr().out
    assert facts(text)["games"] == "12"
    assert re.search(r"\| greedy +\| – +\| +8 \|", text)
    assert f"spirits report {path} shows the standings." in text


def test_an_arena_without_games_is_one_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    contest, _ = arena.run(["random", "greedy"], deals=1, processes=1)
    Journal(tmp_path / "a.jsonl", contest, 2).close()
    assert told(["info", str(tmp_path / "a.jsonl")], capsys)["games_of_agents"] == [0, 0]


@pytest.mark.parametrize(
    ("words", "kind"),
    [(["--games", "4", "--against", "random"], "evaluations"), (["--endgames"], "endgames")],
)
def test_evaluations_are_shown_as_when_they_were_made(
    words: list[str], kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "e.json"
    assert main(["evaluate", "random", *words, f"--json={path}"]) == 0
    first = capsys.readouterr().out
    assert main(["info", str(path)]) == 0
    assert capsys.readouterr().out == first
    assert told(["info", str(path)], capsys) == {"kind": kind, "results": json.loads(path.read_text())}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.txt", "Dear reader,", "is no file of this package"),
        ("x.json", "", "is no file of this package"),
        ("x.json", "{}", "is no file of this package"),
        ("x.json", "[]", "is no file of this package"),
        ("x.json", "[" * 100_000, "is no file of this package"),
        ("x.json", '[{"total": 3}]', "is a list, but not one that spirits evaluate --json wrote"),
        ("x.json", "[3]", "is a list, but not one that spirits evaluate --json wrote"),
        ("x.json", '{"actions": []}', "The record has the keys 'actions'"),
        ("x.jsonl", '{"format": "spirits_env arena", "format_version": 1}\n', "has a damaged header"),
        ("x.onnx", "{}", "can't be loaded as an ONNX model"),
        ("x.onnx", "", "can't be loaded as an ONNX model"),
    ],
)
def test_what_is_no_file_of_ours_is_one_line(
    name: str, content: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text(content)
    assert main(["info", str(tmp_path / name)]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert message in shown.err
    assert len(shown.err.splitlines()) == 1


# --- speed ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [["--seconds", "0"], ["--seconds", "0", "--game", "wild"]])
def test_a_machine_is_measured_from_bare_rules_to_a_policy(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", *words]) == 0
    text = capsys.readouterr().out
    rates = facts(text)
    assert len(rates) == 11
    for what in ("step alone", "playouts", "PettingZoo env()", "Gymnasium", "VectorEnv", "trained policy, one game"):
        (rate,) = [rate for name, rate in rates.items() if what in name]
        assert re.fullmatch(r"[\d.]+( [kM])? \([\d.]+( [kM])? to [\d.]+( [kM])?\)", rate), rate


def test_samples_are_given_as_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    cases = [Case("one", "the first", lambda: Trial(lambda: 10_000_000))]
    monkeypatch.setattr("spirits_env.bench.first_look", lambda game, players: cases)
    (figure,) = told(["bench", "--seconds", "0.01"], capsys)["figures"]
    assert (figure["name"], figure["unit"]) == ("one", "decisions/s")
    assert len(figure["cpu"]["samples"]) == 5


def test_what_cannot_be_measured_is_left_out_with_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert main(["bench", "--seconds", "0"]) == 0
    text = capsys.readouterr().out
    assert not any("policy" in name for name in facts(text))
    assert "\nLeft out: policy/1: Policy files need onnxruntime" in text


def test_a_number_of_players_without_a_policy_is_measured_without(capsys: pytest.CaptureFixture[str]) -> None:
    from spirits_env.bench import NotInstalledError, trained_policy

    assert trained_policy("forest", 4).name == "policy:forest"
    with pytest.raises(NotInstalledError, match="no policy for forest with 1 players"):
        trained_policy("forest", 1)
