"""The command line: every command, and every error in one line with code 2."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from spirits_env import record
from spirits_env.agents import BUILT_IN, Agent
from spirits_env.arena import Result
from spirits_env.batch import Views
from spirits_env.cli import main
from spirits_env.game import IllegalAction
from spirits_env.state import State


def finished(path: Path, players: int = 2) -> State:
    state, rng = State("forest", players, seed=4), np.random.default_rng(0)
    while state.seat >= 0:
        state.play(rng.choice(state.legal_actions()))
    record.save(state, path)
    return state


def test_evaluate_prints_and_writes_what_it_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [f"--json={tmp_path / 'r.json'}", f"--markdown={tmp_path / 'r.md'}"]
    assert main(["evaluate", "greedy", "random", "--games", "20", "--against", "random", *files]) == 0
    shown = capsys.readouterr().out
    assert "| greedy | random | 20 |" in " ".join(shown.split())
    assert (tmp_path / "r.md").read_text() == shown
    results = [Result.from_dict(value) for value in json.loads((tmp_path / "r.json").read_text())]
    assert [result.agent for result in results] == ["greedy", "random"]
    assert results[0].matches[0].games == 20
    assert results[0].illegal == 0


def test_evaluate_takes_players_seed_and_options(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["evaluate", "greedy", "--games", "9", "--players", "3", "--seed", "7", "--option", "forced_steal=false"]
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert "3 players, forced_steal=False, reward=win; seed 7, 3 deals" in shown
    assert "| greedy | greedy | 9 |" in " ".join(shown.split())


def test_solitaire_needs_no_opponents(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "greedy", "--games", "10", "--players", "1"]) == 0
    assert "| greedy | – | 10 |" in " ".join(capsys.readouterr().out.split())


def test_what_was_played_is_written_even_if_it_cannot_be_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.table", None)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert main(["evaluate", "greedy", "--games", "4", "--against", "random", f"--json={tmp_path / 'r.json'}"]) == 2
    assert Result.from_dict(json.loads((tmp_path / "r.json").read_text())[0]).matches[0].games == 4


def test_illegal_choices_are_named_and_give_code_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Passer(Agent):
        name = "passer"

        def act_many(self, views: Views) -> np.ndarray:
            return np.full(len(views), 58)

    monkeypatch.setitem(BUILT_IN, "passer", Passer)
    assert main(["evaluate", "passer", "--games", "4", "--against", "random"]) == 1
    shown = capsys.readouterr()
    assert shown.err == "spirits: agent passer chose 58 (pass), which was illegal\n"
    assert "| 4, 0 |" in " ".join(shown.out.split())
    assert "| passer | random | 4 | 0.0% |" in " ".join(shown.out.split())


def test_games_and_actions_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["games"]) == 0
    assert "spirits/Forest-v0" in capsys.readouterr().out
    assert main(["actions"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 59
    assert "use_plus" in lines[57]


def test_a_record_is_replayed_to_any_ply(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = finished(tmp_path / "r.json")
    assert main(["replay", str(tmp_path / "r.json")]) == 0
    assert capsys.readouterr().out == state.text() + "\n"
    assert main(["replay", str(tmp_path / "r.json"), "--ply", "3", "--seat", "1"]) == 0
    assert capsys.readouterr().out == record.replay(record.write(state), 3).text(1) + "\n"


@pytest.mark.parametrize(
    "words",
    [
        ["evaluate", "nobody"],
        ["evaluate", "missing.onnx"],
        ["evaluate", "greedy", "--games", "0"],
        ["evaluate", "greedy", "--seed", "-1"],
        ["evaluate", "greedy", "--players", "5"],
        ["evaluate", "greedy", "--game", "chess"],
        ["evaluate", "greedy", "--against"],
        ["evaluate", "greedy", "--players", "1", "--against", "random"],
        ["evaluate", "greedy", "--option", "forced_steal=perhaps"],
        ["evaluate", "greedy", "--json", "no/such/folder/x.json"],
        ["evaluate", "greedy", "nobody", "--games", "100000"],
        ["evaluate", "policy:nobody"],
        ["info", "missing.onnx"],
        ["policies", "missing.onnx"],
        ["policies", "nobody"],
        ["replay", "missing.json"],
        ["actions", "--game", "chess"],
    ],
)
def test_a_wrong_word_is_one_line_and_code_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("spirits: ")
    assert len(shown.err.splitlines()) == 1


@pytest.mark.parametrize(
    "words",
    [[], ["frobnicate"], ["evaluate"], ["evaluate", "greedy", "--games", "x"], ["evaluate", "greedy", "--option", "x"]],
)
def test_a_wrong_usage_is_one_line_and_code_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(words)
    assert stopped.value.code == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_bad_record_ply_or_seat_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    finished(tmp_path / "r.json")
    (tmp_path / "cut.json").write_text((tmp_path / "r.json").read_text()[:500])
    for words in (["cut.json"], ["r.json", "--ply", "-1"], ["r.json", "--seat", "2"]):
        assert main(["replay", str(tmp_path / words[0]), *words[1:]]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 3


COMMANDS = ("evaluate", "arena", "ladder", "report", "solve", "games", "info", "policies", "actions", "replay")


def test_every_command_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ([], *([name] for name in COMMANDS)):
        with pytest.raises(SystemExit) as stopped:
            main([*command, "--help"])
        assert stopped.value.code == 0
    assert "--against" in capsys.readouterr().out


def test_it_runs_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "spirits_env", "games"], capture_output=True, text=True, check=True)
    assert "Spirits of the Forest" in done.stdout
    assert issubclass(IllegalAction, ValueError)
