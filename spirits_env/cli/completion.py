"""`spirits completion`: a script that lets the shell complete commands, options, games, agents and files."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from spirits_env import games, policies
from spirits_env.agents import BUILT_IN
from spirits_env.cli.common import OK

_SHELLS = ("bash", "zsh", "tcsh")
# Where a game, an agent or a file is asked for, by the names under which the commands keep what was given.
_GAMES = ("game",)
_AGENTS = ("agent", "agents", "against", "policies", "policy")
_POLICIES = ("file",)
_FILES = ("html", "json", "load", "markdown", "out", "record", "results", "save")
_FOLDERS = ("folder",)

# The name of a function tells shtab that its answers may be files.
_BASH_NAMES = """\
_spirits_{kind}_files() {{
  compgen -W "{names}" -- "$1"
  compgen -f -- "$1"
}}
"""
_ZSH_NAMES = """\
_spirits_{kind}_files() {{
  local -a names
  names=({names})
  compadd -a names
  _files
}}
"""
# Around the function of shtab for bash. Bash ends words at colons, which are part of the names of agents: the words
# are put together before that function looks at them, and its answers are cut down to what comes after the last colon,
# as bash expects them, and not quoted as files are. An option is looked up by its command alone, since what takes any
# number of words would hide it.
_BASH_WORDS = """
_spirits() {
  local -a words=("${COMP_WORDS[0]}")
  local index word
  for ((index = 1; index <= COMP_CWORD; index++)); do
    word="${COMP_WORDS[index]}"
    if [[ $word == :* || ${words[${#words[@]} - 1]} == *: ]]; then
      words[${#words[@]} - 1]+="$word"
    else
      words+=("$word")
    fi
  done
  word="${words[${#words[@]} - 1]}"
  if [[ $word == -* && ${#words[@]} -gt 2 ]]; then
    words=("${words[0]}" "${words[1]}" "$word")
  fi
  local -a COMP_WORDS=("${words[@]}")
  local COMP_CWORD=$((${#words[@]} - 1))
  _shtab_spirits
  if [[ ${COMPREPLY[*]} == *:* ]]; then
    compopt +o filenames 2>/dev/null || :
  fi
  if [[ $word == *:* && $COMP_WORDBREAKS == *:* ]]; then
    COMPREPLY=("${COMPREPLY[@]#"${word%"${word##*:}"}"}")
  fi
}
complete -o bashdefault -F _spirits spirits
"""


def add(commands: Any) -> None:
    """Add `spirits completion`."""
    parser = commands.add_parser(
        "completion",
        help="print a script for completion in the shell",
        description="Print a script with which the shell completes commands, options, games, agents and files. Keep it "
        "where the shell looks for such scripts, as below, and start a new shell.",
        examples=(
            "spirits completion bash > ~/.local/share/bash-completion/completions/spirits",
            'eval "$(spirits completion bash)"                # in ~/.bashrc, where bash-completion is not installed',
            'spirits completion zsh > "${fpath[1]}/_spirits"  # before compinit runs',
            "spirits completion tcsh > ~/.spirits.csh         # and `source ~/.spirits.csh` in ~/.tcshrc",
        ),
    )
    parser.add_argument("shell", choices=_SHELLS, help="the shell that completes")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run `spirits completion`."""
    print(script(arguments.shell))
    return OK


def script(shell: str) -> str:
    """Write the script.

    Args:
        shell: One of "bash", "zsh" and "tcsh".

    Raises:
        ImportError: If shtab is not installed.
    """
    try:
        import shtab
    except ImportError:
        raise ImportError(
            'Completion in the shell needs shtab, which is not installed; run `pip install "spirits-env[play]"`.'
        ) from None
    # The parser is the command's own, so this can't stand above.
    from spirits_env.cli import make_parser

    parser = make_parser()
    for command in (command for group in parser.groups.values() for command in group.values()):
        # What a shell shows beside the command.
        command.description = command.summary
        for action in command._actions:
            _tell_completion(action, shtab)
    text: str = shtab.complete(parser, shell)
    return text + _BASH_WORDS if shell == "bash" else text


def _tell_completion(action: Any, shtab: Any) -> None:
    """Say how an argument is completed, in the terms of shtab."""
    trained = [policies.PREFIX + name for name in policies.names()]
    if action.dest in _GAMES:
        action.choices = tuple(games.GAMES)
    elif action.dest in _AGENTS:
        action.complete = _names_or_files("agents", [*BUILT_IN, "search:400", *trained])
    elif action.dest in _POLICIES:
        action.complete = _names_or_files("policies", trained)
    elif action.dest in _FILES and action.nargs != 0:
        action.complete = shtab.FILE
    elif action.dest in _FOLDERS:
        action.complete = shtab.DIRECTORY


def _names_or_files(kind: str, names: Sequence[str]) -> dict[str, Any]:
    """Complete a name of some kind, or a file; in tcsh a file alone."""
    words = {"kind": kind, "names": " ".join(names)}
    function = f"_spirits_{kind}_files"
    preamble = {"bash": _BASH_NAMES.format(**words), "zsh": _ZSH_NAMES.format(**words)}
    return {"bash": function, "zsh": function, "tcsh": "f", "preamble": preamble}
