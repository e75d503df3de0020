"""The benchmarks run, and report what they measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.__main__ import main, table
from benchmarks.startup import Figure
from benchmarks.timing import Candidate, measure


def test_a_quick_run_prints_and_writes_its_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [f"--json={tmp_path / 'b.json'}", f"--markdown={tmp_path / 'b.md'}"]
    assert main(["--quick", "--only", "batch", "aec", "state", *files]) == 0
    shown = capsys.readouterr().out
    assert "batch: 1,024 games, 2 players, 1 thread" in shown
    assert "a copy in plies of play" in shown
    assert (tmp_path / "b.md").read_text() == shown
    values = json.loads((tmp_path / "b.json").read_text())
    assert all(len(rates) == 2 and min(rates) > 0 for rates in values.values())


def test_missed_targets_are_named() -> None:
    slow = Candidate("a: slow", lambda seconds: 1, target=1e12)
    measure([slow], 3, 0.01)
    _, missed = table([slow], [Figure("start: long", [9.0], "s", 1.0), Figure("start: short", [0.5], "s", 1.0)])
    assert missed == ["a: slow", "start: long"]


def test_candidates_take_turns() -> None:
    order: list[str] = []

    def runner(name: str) -> Candidate:
        return Candidate(name, lambda seconds: len(order.append(name) or "x"))  # type: ignore[func-returns-value]

    measure([runner("a"), runner("b")], 2, 0.0)
    assert order == ["a", "b", "a", "b", "a", "b"]
