"""The benchmarks run, and report what they measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import fixed, ours, peers, report
from benchmarks.__main__ import chosen, known, main
from benchmarks.ratio import Ratio
from spirits_env import GAMES
from spirits_env.bench import Case, Figure, NotInstalledError, Trial, rates


def test_a_quick_run_prints_and_writes_its_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = ["--json", str(tmp_path / "b.json"), "--markdown", str(tmp_path / "b.md")]
    assert main(["--quick", "--only", "batch", "aec/raw", "state", "memory", *files]) == 0
    shown = capsys.readouterr().out
    data = json.loads((tmp_path / "b.json").read_text(encoding="utf-8"))
    assert set(data) == {"machine", "settings", "load", "figures", "targets", "skipped"}
    judged = ("batch/1024x2/step", "aec/raw", "memory/state", "state/copy-in-plies")
    assert set(data["targets"]) == {f"{game}/{name}" for game in GAMES for name in judged}
    figures = {figure["name"]: figure for figure in data["figures"]}
    assert {name for name in known() if "/batch/" in name} <= set(figures)
    for name, figure in figures.items():
        assert name in shown
        for clock in {"cpu", "wall", "value"} & set(figure):
            assert 0 < figure[clock]["min"] <= figure[clock]["median"] <= figure[clock]["max"]
    assert figures["forest/batch/1024x2/step"]["unit"] == "decisions/s"
    table = (tmp_path / "b.md").read_text(encoding="utf-8").splitlines()
    assert sum(line.startswith("|") for line in table) == len(figures) + 2


def test_a_group_stands_for_its_names() -> None:
    assert chosen(["forest/memory"]) == {"forest/memory/state"}
    assert chosen(["wild/batch/1024x2"]) == {"wild/batch/1024x2/step", "wild/batch/1024x2/loop"}
    assert chosen(["wild"]) == {name for name in known() if name.startswith("wild/")}
    assert chosen(None) == set(known())


def test_a_name_without_its_game_stands_for_that_of_each() -> None:
    assert chosen(["memory"]) == {"forest/memory/state", "wild/memory/state"}
    assert chosen(["aec/raw", "forest/rules/2"]) == {"forest/aec/raw", "wild/aec/raw", "forest/rules/2"}


def test_the_games_asked_for_are_measured_and_no_others() -> None:
    assert chosen(["memory"], ["wild"]) == {"wild/memory/state"}
    both = {name for name in known() if name.split("/")[0] not in GAMES}
    assert both == {name for name in known(["wild"]) if not name.startswith("wild/")}
    assert "startup/import" in both
    with pytest.raises(ValueError, match=r"There is no benchmark 'forest/memory' of wild;"):
        chosen(["forest/memory"], ["wild"])


def test_games_are_named_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--game", "wild", "--list"]) == 0
    assert "forest/" not in capsys.readouterr().out
    assert main(["--game", "wild", "--game", "forest", "--list"]) == 0
    assert capsys.readouterr().out.splitlines() == [f"{name:32} {text}" for name, text in known().items()]


def test_batches_are_of_the_player_counts_of_each_game() -> None:
    counts = {game: [name.split("/")[2] for name in known([game]) if "/batch/" in name] for game in GAMES}
    assert counts["wild"] == [size for size in ("64x2", "1024x2", "4096x2") for _ in range(2)]
    more = [size for size in ("1024x3", "1024x4", "1024x1") for _ in range(2)]
    assert counts["forest"] == counts["wild"] + more


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("face", ["aec", "gym"])
def test_the_first_decision_of_each_game_is_timed_on_each_face(game: str, face: str) -> None:
    made: dict[str, Any] = {}
    exec(fixed.first_decision(game, face), made)
    spaces = made["env"].action_space
    assert (spaces("player_0") if face == "aec" else spaces).n == {"forest": 59, "wild": 33}[game]
    assert {f"{game}/startup/{face}-warm", f"{game}/startup/{face}-cold"} <= set(fixed.startup_names(game))


def test_nothing_is_measured_cold_where_no_rounds_are_for_it() -> None:
    assert fixed.startup("wild/startup/aec-cold", 1, 0) == []


def test_every_face_of_every_game_can_be_made_ready() -> None:
    for game in GAMES:
        for case in ours.face_cases(game):
            trial = case.prepare()
            trial.before()
            assert trial.run() > 0, case.name


def test_an_unknown_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--only", "bat"])
    assert "There is no benchmark 'bat'" in capsys.readouterr().err


def test_cases_take_turns_and_lacking_ones_are_left_out() -> None:
    order: list[str] = []

    def case(name: str) -> Case:
        def run() -> int:
            order.append(name)
            return 1

        return Case(name, name, lambda: Trial(run))

    def lacking() -> Trial:
        raise NotInstalledError("there is none")

    skipped: list[str] = []
    figures = rates([case("a"), Case("b", "b", lacking), case("c")], 2, 0.0, skipped)
    turns = [name for i, name in enumerate(order) if i == 0 or order[i - 1] != name]
    assert turns == ["a", "c", "a", "c", "a", "c"]
    assert [figure.name for figure in figures] == ["a", "c"]
    assert skipped == ["b: there is none"]


def test_a_ratio_is_taken_round_by_round() -> None:
    figures = {
        name: Figure(name, name, "1/s", {"cpu": values}) for name, values in (("a", [6.0, 8.0]), ("b", [2.0, 4.0]))
    }
    ratio = Ratio("r", "a over b", "a", "b").figure(figures)
    assert ratio is not None
    assert ratio.samples == {"cpu": [3.0, 2.0]}
    assert Ratio("r", "a over c", "a", "c").figure(figures) is None


@pytest.mark.parametrize("game", GAMES)
def test_every_ratio_is_of_names_that_there_are(game: str) -> None:
    names = set(known([game]))
    for ratio in ours.ratios(game) + peers.ratios(game):
        assert {ratio.over, ratio.under} <= names, ratio.name


def test_missed_targets_are_named() -> None:
    slow = Figure("wild/aec/raw", "slow", "decisions/s", {"cpu": [1.0], "wall": [1e9]})
    late = Figure("startup/import", "late", "s", {"cpu": [0.1], "wall": [9.0]})
    good = Figure("forest/memory/state", "small", "bytes", {"value": [100.0]})
    assert report.missed([slow, late, good]) == ["wild/aec/raw", "startup/import"]


def test_check_fails_on_a_missed_target(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(report.TARGETS, "memory/state", report.Target("value", 1, least=False))
    assert main(["--quick", "--only", "memory"]) == 0
    assert main(["--quick", "--only", "memory", "--check"]) == 1
