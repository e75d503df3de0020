"""Recorded games stay what they were: every line of `golden/*.txt` comes out again."""

from __future__ import annotations

from pathlib import Path

import pytest
from golden.make import FOLDER, GOLDEN, LISTINGS, Golden, make, read, start, write

from spirits_env.games import GAMES, load

FILES = sorted(FOLDER.glob("*.txt"))


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_golden_game_comes_out_again_line_by_line(path: Path) -> None:
    recorded = lines_of(path)
    header, actions = read(recorded)
    again = write(header, lambda state, ply: actions[ply])
    for number, (was, now) in enumerate(zip(recorded, again, strict=False), 1):
        assert now == was, f"line {number} of {path.name}"
    assert len(again) == len(recorded)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_golden_header_is_of_today(path: Path) -> None:
    header, _ = read(lines_of(path))
    state = start(header)
    assert header["version"] == state.game.version == GAMES[header["game"]].version
    assert header["layout"] == state.game.layout.fingerprint()
    assert header["options"] == state.options
    assert header["setup"] == state.setup()


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: golden.file)
def test_a_golden_game_is_what_its_maker_makes(golden: Golden) -> None:
    assert make(golden) == lines_of(FOLDER / golden.file)


@pytest.mark.parametrize("game", GAMES)
def test_every_game_has_golden_games_for_every_player_count_and_option(game: str) -> None:
    headers = [header for header, _ in map(read, map(lines_of, FILES)) if header["game"] == game]
    assert {header["players"] for header in headers} == set(load(game).players)
    for option in load(game).options:
        played = [header["options"][option.name] for header in headers]
        assert all(choice in played for choice in option.choices)
    assert game in LISTINGS


def told(game: str) -> tuple[set[str], set[str]]:
    """Phases that a game's golden games ask, and names of the actions they play, without numbers."""
    lines = [line for path in FILES if path.name.startswith(f"{game}_") for line in lines_of(path)]
    phases = {line.split(", ")[1] for line in lines if line.startswith("ply ")}
    return phases, {line.split()[2].rstrip("0123456789_") for line in lines if line.startswith("  play ")}


@pytest.mark.parametrize("game", GAMES)
def test_the_golden_games_ask_every_phase_and_use_every_kind_of_action(game: str) -> None:
    phases, kinds = told(game)
    assert phases == {*load(game).phases} - {"end"}
    if game == "forest":
        assert {"cell", "give_from_hand", "use_plus", "pass"} <= kinds
    else:
        assert {action.name.rstrip("0123456789_") for action in load(game).actions} == kinds
