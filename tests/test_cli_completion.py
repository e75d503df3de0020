"""Completion in the shell: the script for bash, run by bash, completes commands, options, games, agents and files."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from spirits_env import games, policies
from spirits_env.cli import main, make_parser
from spirits_env.cli.completion import script

BASH = shutil.which("bash")
COMMANDS = {name for group in make_parser().groups.values() for name in group}
AGENTS = {"random", "greedy", "search:400", *(f"policy:{name}" for name in policies.names())}
# Prints what bash would offer for the words, the last of which is being typed; the words are cut as bash cuts them.
ASK = """
source "$1"
shift
COMP_WORDBREAKS=$' \\t\\n"\\'><=;|&(:'
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
COMP_LINE="$*"
COMP_POINT=${#COMP_LINE}
$(complete -p spirits | sed 's/.*-F \\([^ ]*\\) .*/\\1/') spirits "${COMP_WORDS[COMP_CWORD]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def bash_script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("completion") / "spirits.bash"
    path.write_text(script("bash"))
    return path


def offered(script: Path, folder: Path, *words: str) -> set[str]:
    """What bash offers for the last of the words."""
    assert BASH is not None
    command = [BASH, "--norc", "-c", ASK, "bash", str(script), "spirits", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder, timeout=60)
    assert done.stderr == ""
    return set(done.stdout.split())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with some files."""
    for name in ("game.json", "other.onnx", "random.txt"):
        (tmp_path / name).touch()
    return tmp_path


needs_bash = pytest.mark.skipif(BASH is None, reason="there is no bash here")


@needs_bash
def test_commands_are_completed(bash_script: Path, folder: Path) -> None:
    assert offered(bash_script, folder, "") == COMMANDS
    assert offered(bash_script, folder, "ev") == {"evaluate"}
    assert offered(bash_script, folder, "--ver") == {"--version"}


@needs_bash
@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_options_of_every_command_are_completed(name: str, bash_script: Path, folder: Path) -> None:
    usage = next(group[name] for group in make_parser().groups.values() if name in group).format_usage()
    found = offered(bash_script, folder, name, "--")
    assert "--help" in found
    assert {word for word in found if word != "--help"} == {
        word for word in usage.replace("[", " ").replace("]", " ").split() if word.startswith("--")
    }


@needs_bash
def test_games_and_choices_are_completed(bash_script: Path, folder: Path) -> None:
    assert offered(bash_script, folder, "evaluate", "greedy", "--game", "") == set(games.GAMES)
    assert offered(bash_script, folder, "games", "wi") == {"wild"}
    assert offered(bash_script, folder, "arena", "random", "greedy", "--plan", "m") == {"mixed"}
    assert offered(bash_script, folder, "completion", "") == {"bash", "zsh", "tcsh"}


@needs_bash
def test_agents_and_files_are_completed(bash_script: Path, folder: Path) -> None:
    files = {"game.json", "other.onnx", "random.txt"}
    assert offered(bash_script, folder, "evaluate", "") == AGENTS | files
    assert offered(bash_script, folder, "arena", "greedy", "ra") == {"random", "random.txt"}
    assert offered(bash_script, folder, "evaluate", "greedy", "--against", "o") == {"other.onnx"}
    assert offered(bash_script, folder, "report", "") == files
    assert offered(bash_script, folder, "evaluate", "greedy", "--json", "g") == {"game.json"}


@needs_bash
@pytest.mark.parametrize(
    "words", [["info"], ["evaluate", "greedy", "--against"], ["arena", "random", "policy", ":", "wild"]]
)
def test_names_with_a_colon_are_completed_after_it(words: list[str], bash_script: Path, folder: Path) -> None:
    assert offered(bash_script, folder, *words, "policy", ":", "for") == {"forest"}
    assert offered(bash_script, folder, *words, "policy", ":") == set(policies.names())
    assert offered(bash_script, folder, *words, "policy", ":", "x") == set()


@needs_bash
def test_what_comes_after_a_name_with_a_colon_is_completed(bash_script: Path, folder: Path) -> None:
    assert offered(bash_script, folder, "evaluate", "policy", ":", "forest", "--game", "") == set(games.GAMES)
    assert offered(bash_script, folder, "info", "policy", ":", "forest", "--j") == {"--json"}
    assert offered(bash_script, folder, "evaluate", "greedy", "--against", "random", "--ga") == {"--game", "--games"}


@pytest.mark.parametrize("shell", ["zsh", "tcsh"])
def test_other_shells_get_a_script_with_every_command(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in COMMANDS)
    assert ("policy:forest" in text) == (shell == "zsh")


def test_without_shtab_it_is_said_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.endswith('needs shtab, which is not installed; run `pip install "spirits-env[play]"`.\n')
