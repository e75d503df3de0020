"""The command line: every command, and every error in one line with code 2."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from passer import Passer

from spirits_env import __version__, games, record
from spirits_env.agents import BUILT_IN
from spirits_env.arena import Result
from spirits_env.cli import main, make_parser
from spirits_env.game import IllegalAction
from spirits_env.state import State

COMMANDS = {name: command for group in make_parser().groups.values() for name, command in group.items()}


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
    def fail(results: Any) -> None:
        raise OSError("the terminal has gone")

    monkeypatch.setattr("spirits_env.cli.evaluate.show_results", fail)
    assert main(["evaluate", "greedy", "--games", "4", "--against", "random", f"--json={tmp_path / 'r.json'}"]) == 2
    assert Result.from_dict(json.loads((tmp_path / "r.json").read_text())[0]).matches[0].games == 4


@pytest.mark.parametrize("words", [["games"], ["evaluate", "greedy", "--games", "4", "--against", "random"]])
def test_without_rich_people_get_the_tables_that_pipes_get(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 0
    piped = capsys.readouterr().out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert main(words) == 0
    assert "┃" in capsys.readouterr().out
    monkeypatch.setitem(sys.modules, "rich.table", None)
    assert main(words) == 0
    without = capsys.readouterr().out
    assert without.splitlines()[-3][:20] == piped.splitlines()[-3][:20]
    assert "┃" not in without


def test_illegal_choices_are_named_and_give_code_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(BUILT_IN, "passer", Passer)
    assert main(["evaluate", "passer", "--games", "4", "--against", "random"]) == 1
    shown = capsys.readouterr()
    assert shown.err == "spirits: agent passer chose 58 (pass), which was illegal\n"
    assert "| 4, 0 |" in " ".join(shown.out.split())
    assert "| passer | random | 4 | 0.0% |" in " ".join(shown.out.split())


def table_of(text: str) -> list[list[str]]:
    """The rows of the first Markdown table of a text, in cells, without its heads."""
    lines = text.split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]]


def test_games_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["games"]) == 0
    text = capsys.readouterr().out
    ids = "spirits/Forest-v0, spirits/ForestSolo-v0"
    assert table_of(text) == [
        ["forest", "Spirits of the Forest", "1 to 4", "0", ids, "forced_steal, reward"],
        ["wild", "Spirits of the Wild", "2", "0", "spirits/Wild-v0", "powers, reward"],
    ]
    assert "\nwild: house powers: " in text


@pytest.mark.parametrize("game", games.GAMES)
def test_one_game_is_told_in_full(game: str, capsys: pytest.CaptureFixture[str]) -> None:
    rules = games.load(game)
    assert main(["games", game]) == 0
    text = capsys.readouterr().out
    facts = dict(table_of(text))
    assert facts["phases"] == ", ".join(rules.phases)
    assert facts["actions"].startswith(f"{len(rules.actions)}, ")
    assert facts["observation"].startswith(f"{State(game, seed=1).observation(0).size} entries")
    for option in rules.options:
        assert option.text in text
        assert f"| {option.name} " in text
    assert all(remark in text for remark in rules.remarks(rules.check_options({})))


def test_actions_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
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


# --- errors -----------------------------------------------------------------------------------------------

WRONG = [
    "frobnicate",
    "evaluate",
    "evaluate nobody",
    "evaluate missing.onnx",
    "evaluate greedy --games 0",
    "evaluate greedy --games x",
    "evaluate greedy --seed -1",
    "evaluate greedy --players 5",
    "evaluate greedy --game chess",
    "evaluate greedy --against",
    "evaluate greedy --players 1 --against random",
    "evaluate greedy --option x",
    "evaluate greedy --option forced_steal=perhaps",
    "evaluate greedy --json no/such/folder/x.json",
    "evaluate greedy nobody --games 100000",
    "evaluate policy:nobody",
    "evaluate greedy --endgames --against random",
    "arena",
    "arena random --deals 1",
    "arena random greedy --plan best",
    "arena random greedy --deals 0",
    "arena random greedy --gate 5",
    "arena random nobody --deals 1",
    "arena random greedy --html no/such/folder/x.html",
    "ladder nobody",
    "ladder --players 9",
    "report",
    "report missing.jsonl",
    "report {record}",
    "solve",
    "solve missing.json",
    "solve {record} --from 1000",
    "solve {record} --objective fun",
    "solve {cut}",
    "games chess",
    "games forest wild",
    "actions forest",
    "actions --game chess",
    "policies forest",
    "policies --game",
    "info missing.onnx",
    "info policy:nobody",
    "info {cut}",
    "info {text}",
    "info {damaged}",
    "info .",
    "bench --game chess",
    "bench --players 1",
    "bench --players 9",
    "bench --seconds -1",
    "bench --seconds nan",
    "bench --seconds soon",
    "completion",
    "completion dos",
    "replay",
    "replay missing.json",
    "replay {cut}",
    "replay {record} --ply -1",
    "replay {record} --seat 2",
    "replay {record} --html no/such/folder/x.html",
    "replay {record} --policy greedy",
    "replay {record} --policy policy:wild",
    "watch",
    "watch nobody greedy",
    "watch greedy greedy --game chess",
    "watch greedy greedy --players 9",
    "watch greedy greedy greedy --players 2",
    "watch greedy greedy --seat 5",
    "watch greedy greedy --seed -1",
    "watch greedy greedy --delay -1",
    "watch greedy greedy --delay nan",
    "watch greedy greedy --save no/such/folder/x.json",
    "play --no-browser --game chess",
    "play --no-browser --players 9",
    "play --no-browser --players 1 --against greedy",
    "play --no-browser --against nobody",
    "play --no-browser --against policy:wild",
    "play --no-browser --seat 7",
    "play --no-browser --seat x",
    "play --no-browser --seed -1",
    "play --no-browser --port 99999999",
    "play --no-browser --load {cut}",
    "play --no-browser --option x=1",
]


def failed(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The one line that a wrong command line gives, with code 2 and nothing else."""
    try:
        code: Any = main(words)
    except SystemExit as stopped:
        code = stopped.code
    shown = capsys.readouterr()
    assert (code, shown.out) == (2, "")
    assert shown.err.startswith("spirits")
    assert len(shown.err.splitlines()) == 1
    return shown.err


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_word_is_one_line_and_code_2(line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = {name: tmp_path / f"{name}.json" for name in ("record", "cut", "text", "damaged")}
    finished(paths["record"])
    paths["cut"].write_text(paths["record"].read_text()[:500])
    paths["text"].write_text("Dear reader,\n")
    paths["damaged"].write_text('[{"agent": "greedy", "matches": [{}]}]')
    failed(line.format(**paths).split(), capsys)


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("line", ["--no-such-option", "--seed-of-doubt 3", "a b c --bad"])
def test_every_command_refuses_an_option_that_it_does_not_have(
    name: str, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert f"spirits {name} --help" in failed([name, *line.split()], capsys)


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("evalaute greedy", "did you mean evaluate?"),
        ("info --jsn", "did you mean --json?"),
        ("evaluate greedy --agianst random", "there is no option --agianst; did you mean --against?"),
        ("evaluate greedy --gaems=3", "there is no option --gaems; did you mean --games?"),
        ("--verison", "did you mean --version?"),
        ("arena random greedy --plan feild", "there is no 'feild'; did you mean field?"),
        ("completion xyz", "there is no 'xyz'; give bash, zsh or tcsh"),
        ("games forest wild", "there is no place for 'wild'"),
    ],
)
def test_what_was_meant_is_asked(line: str, meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert meant in failed(line.split(), capsys)


def test_an_error_of_many_lines_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    failed(["evaluate", "no\nbody"], capsys)
    failed(["evaluate", "greedy", "--games", "1\n2"], capsys)


def test_ctrl_c_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(games, "load", interrupted)
    assert main(["actions"]) == 130
    assert capsys.readouterr().err.strip() == "spirits: stopped."


@pytest.mark.skipif(sys.platform == "win32", reason="pipes break in another way")
@pytest.mark.parametrize("words", [["actions"], ["--help"]])
def test_a_reader_that_has_gone_is_no_fault(words: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "spirits_env", *words]
    # Unbuffered, argparse itself passes over what it can't write.
    environment = {**os.environ, "PYTHONUNBUFFERED": ""}
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False, env=environment)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


# --- help -------------------------------------------------------------------------------------------------


def help_of(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as stopped:
        main([*words, "--help"])
    assert stopped.value.code == 0
    return capsys.readouterr().out


def test_the_help_leads_to_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    text = help_of([], capsys)
    for name, command in COMMANDS.items():
        (line,) = [line for line in text.splitlines() if line.startswith(f"  {name} ")]
        assert line.split(maxsplit=1)[1] == command.summary
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "docs/" in text
    assert main([]) == 0
    assert capsys.readouterr().out == text


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_examples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = help_of([name], capsys)
    assert f"\nexamples:\n  {COMMANDS[name].examples[0]}\n" in text
    assert len(COMMANDS[name].description or "") > 30


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_examples_are_command_lines_that_are_understood(name: str) -> None:
    parser = make_parser()
    examples = COMMANDS[name].examples if name else parser.examples
    lines = [line.split(" > ")[0] for line in examples if line.startswith("spirits ")]
    assert lines
    commands = [parser.parse_args(shlex.split(line, comments=True)[1:]).command for line in lines]
    assert name in ("", commands[0])


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == f"spirits_env {__version__}\n"


def test_it_runs_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "spirits_env", "games"], capture_output=True, text=True, check=True)
    assert "Spirits of the Forest" in done.stdout
    assert issubclass(IllegalAction, ValueError)
