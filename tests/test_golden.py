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
        assert {header["options"][option.name] for header in headers} == set(option.choices)
    assert game in LISTINGS


def test_the_golden_games_of_the_forest_ask_every_phase_and_use_every_kind_of_action() -> None:
    lines = [line for path in FILES if path.name.startswith("forest_") for line in lines_of(path)]
    phases = {line.split(", ")[1] for line in lines if line.startswith("ply ")}
    assert phases == {"first", "second", "pay", "place", "move"}
    kinds = {line.split()[2].rstrip("0123456789_") for line in lines if line.startswith("  play ")}
    assert {"cell", "give_from_hand", "use_plus", "pass"} <= kinds
