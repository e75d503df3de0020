"""The benchmarks run, and report what they measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import report
from benchmarks.__main__ import chosen, known, main
from benchmarks.measure import Case, Figure, NotInstalledError, Ratio, Trial, rates


def test_a_quick_run_prints_and_writes_its_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = ["--json", str(tmp_path / "b.json"), "--markdown", str(tmp_path / "b.md")]
    assert main(["--quick", "--only", "batch", "aec/raw", "state", "memory", *files]) == 0
    shown = capsys.readouterr().out
    data = json.loads((tmp_path / "b.json").read_text(encoding="utf-8"))
    assert set(data) == {"machine", "settings", "load", "figures", "targets", "skipped"}
    assert {"batch/1024x2/step", "aec/raw", "memory/state", "state/copy-in-plies"} <= set(data["targets"])
    figures = {figure["name"]: figure for figure in data["figures"]}
    assert {name for name in known() if name.startswith("batch/")} <= set(figures)
    for name, figure in figures.items():
        assert name in shown
        for clock in {"cpu", "wall", "value"} & set(figure):
            assert 0 < figure[clock]["min"] <= figure[clock]["median"] <= figure[clock]["max"]
    assert figures["batch/1024x2/step"]["unit"] == "decisions/s"
    table = (tmp_path / "b.md").read_text(encoding="utf-8").splitlines()
    assert sum(line.startswith("|") for line in table) == len(figures) + 2


def test_a_group_stands_for_its_names() -> None:
    assert chosen(["memory"]) == {"memory/state"}
    assert chosen(["batch/1024x2"]) == {"batch/1024x2/step", "batch/1024x2/loop"}
    assert chosen(None) == set(known())


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


def test_missed_targets_are_named() -> None:
    slow = Figure("aec/raw", "slow", "decisions/s", {"cpu": [1.0], "wall": [1e9]})
    late = Figure("startup/import", "late", "s", {"cpu": [0.1], "wall": [9.0]})
    good = Figure("memory/state", "small", "bytes", {"value": [100.0]})
    assert report.missed([slow, late, good]) == ["aec/raw", "startup/import"]


def test_check_fails_on_a_missed_target(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(report.TARGETS, "memory/state", report.Target("value", 1, least=False))
    assert main(["--quick", "--only", "memory"]) == 0
    assert main(["--quick", "--only", "memory", "--check"]) == 1
