"""Publishing a policy: what is measured, what its card says of it, and what is refused."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from spirits_env.agents.policy import read_card
from spirits_env.arena import Result, evaluate
from training import publish, selfplay
from training.run import POLICY

ROOT = Path(__file__).parent.parent
TINY = [
    *(f"--config={ROOT / 'configs' / name}.yaml" for name in ("forest", "quick")),
    *("--threads=1", "--progress=false", "--network.kind=mlp", "--network.widths=[16]", "--decisions=300"),
    *("--evaluation.every=0", "--evaluation.final_games=2", "--players=[2,3]"),
]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run, and another one that began with its weights."""
    folder = tmp_path_factory.mktemp("runs")
    assert selfplay.main([*TINY, f"--folder={folder}", "--name=first"]) == 0
    assert selfplay.main([*TINY, f"--folder={folder}", "--name=second", f"--start={folder / 'first'}"]) == 0
    return folder


def published(run: Path, folder: Path, *words: str) -> Path:
    folder.mkdir(exist_ok=True)
    assert publish.main([str(run), "--name=pair", f"--folder={folder}", *words]) == 0
    return folder / "pair.onnx"


def test_the_card_holds_each_match_for_each_number_of_players_it_is_for(runs: Path, tmp_path: Path) -> None:
    words = ["--seed", "5", "--match", "best", "6", "random", "greedy", "--match", "3p", "search:2", "3", "random"]
    card = read_card(published(runs / "first", tmp_path, *words))
    results = [Result.from_dict(values) for values in card["results"]]
    assert card["name"] == "pair"
    assert [result.players for result in results] == [2, 3, 3]
    assert [[match.opponent for match in result.matches] for result in results] == [
        ["random", "greedy"],
        ["random", "greedy"],
        ["random"],
    ]
    again = evaluate(runs / "first" / POLICY, ["random", "greedy"], players=2, games=6, seed=5)
    assert [match.share for match in results[0].matches] == [match.share for match in again.matches]
    assert results[2].agent.endswith("+search:2")
    assert results[2].matches[0].games == 3


def test_the_card_tells_all_commands_in_order_and_the_weaknesses(runs: Path, tmp_path: Path) -> None:
    words = ["--match", "2p", "best", "2", "random", "--weakness", "It knows nothing."]
    card = read_card(published(runs / "second", tmp_path, *words))
    own = [
        json.loads((runs / name / "run.json").read_text(encoding="utf-8"))["command"] for name in ("first", "second")
    ]
    assert card["commands"][:2] == own
    assert shlex.split(card["commands"][2])[:4] == ["python", "-m", "training.publish", str(runs / "second")]
    assert card["weaknesses"] == ["It knows nothing."]


def test_only_the_card_is_another_one(runs: Path, tmp_path: Path) -> None:
    path = published(runs / "first", tmp_path, "--match", "2p", "best", "2", "random")
    before, after = (
        evaluate(file, ["greedy"], players=3, games=9).matches[0] for file in (runs / "first" / POLICY, path)
    )
    assert before.share == after.share
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["best", "2"], "--match was 'best 2'"),
        (["2p"], "--match was '2p'"),
        (["2p", "best", "2"], "--match was '2p best 2'"),
        (["worst", "2", "random"], "--match was 'worst 2 random'"),
        (["best", "few", "random"], "--match was 'best few random'"),
        (["4p", "best", "2", "random"], "--match named 4 players; the policy plays [2, 3]"),
        (["best", "2", "nobody"], "nobody"),
    ],
)
def test_what_is_no_match_is_refused_and_nothing_is_written(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], says: str
) -> None:
    folder = tmp_path / "policies"
    folder.mkdir()
    assert publish.main([str(runs / "first"), "--name=pair", f"--folder={folder}", "--match", *words]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert len(error.splitlines()) == 1
    assert not list(folder.iterdir())


def test_a_run_that_has_not_ended_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert publish.main([str(tmp_path), "--name=pair", "--match", "best", "2", "random"]) == 2
    assert str(tmp_path / POLICY) in capsys.readouterr().err
