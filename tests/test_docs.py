"""The docs are true: their code runs, their tables and pictures are the code's, their links and heads are there."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from spirits_env import State, faces, forest_v0, games, record
from spirits_env.cli import main as spirits
from spirits_env.sb3 import SelfPlayVecEnv
from training import metrics, selfplay
from training.config import make_parser

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
FOREST = games.load("forest")
PAGE = (ROOT / "docs/forest.md").read_text(encoding="utf-8")
TRAINING = (ROOT / "docs/training.md").read_text(encoding="utf-8")
HEADS = (
    "Specification",
    "Rules in short",
    "Observation",
    "Action",
    "Rewards",
    "End",
    "Arguments",
    "Info keys",
    "Rendering",
    "Records",
    "Version history",
)
# A page may name another value for the time it is tested, in a comment before the code.
WHEN_TESTED = re.compile(r"<!-- when tested: `(.+?)` is `(.+?)` -->\n")
BLOCK = re.compile(r"(?P<notes>(?:<!-- when tested: .+? -->\n)*)```python\n(?P<code>.+?)```", re.DOTALL)


def make() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_make", ROOT / "docs/make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def blocks() -> list[Any]:
    found = []
    for page in PAGES:
        for number, match in enumerate(BLOCK.finditer(page.read_text(encoding="utf-8"))):
            found.append(pytest.param(match["code"], match["notes"], id=f"{page.stem}-{number}"))
    return found


def section(text: str, head: str) -> str:
    return re.split(r"\n## ", text.split(f"\n## {head}\n")[1])[0]


def first_cells(text: str) -> set[str]:
    """Names in back quotes in the first column of the tables of a text."""
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny run, finished, under the name that the docs use."""
    folder = tmp_path_factory.mktemp("docs")
    files = [f"--config={ROOT / 'configs' / name}" for name in ("forest.yaml", "quick.yaml")]
    tiny = ["--decisions=1536", "--evaluation.games=4", "--evaluation.final_games=4", "--progress=false", "--threads=1"]
    small = ["--network.kind=mlp", "--network.hidden=[16]"]
    assert selfplay.main([*files, *tiny, *small, "--name=forest", f"--folder={folder / 'runs'}"]) == 0
    return folder / "runs/forest"


@pytest.fixture
def elsewhere(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what the docs' code reads, to run it in."""
    shutil.copytree(run, tmp_path / "runs/forest")
    shutil.copytree(ROOT / "docs", tmp_path / "docs", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


# --- code -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("code", "notes"), blocks())
def test_code_runs(code: str, notes: str, elsewhere: Path) -> None:
    for old, new in WHEN_TESTED.findall(notes):
        assert old in code, f"the page says `{old}` is `{new}` when tested, but the code has no `{old}`"
        code = code.replace(old, new)
    exec(compile(code, "a block of the docs", "exec"), {"__name__": "__main__"})


def test_the_readme_shows_every_face_in_few_lines() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    code = [match["code"] for match in BLOCK.finditer(text)]
    for word in ("forest_v0.env", "parallel_env", "gym.make(", "make_vec", "SelfPlayVecEnv", "ForestSolo", "State("):
        assert any(word in block for block in code), word
    assert max(len([line for line in block.splitlines() if line.strip()]) for block in code) <= 20


def test_commands_of_training_parse(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    commands = [
        command
        for page in PAGES
        for command in re.findall(r"python -m training\.selfplay([^`\n|]*)", page.read_text(encoding="utf-8"))
    ]
    assert len(commands) > 3
    for command in commands:
        words = [word for word in shlex.split(command) if word not in ("--help", "--print_config")]
        make_parser().parse_args(words)


def test_spirits_commands_run(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    commands = re.findall(r"^    spirits (.+)$", text, re.MULTILINE)
    assert len(commands) > 3
    for command in commands:
        words = re.sub(r"--games \d+", "", command).split()
        tiny = ["--games", "4"] if words[0] == "evaluate" else []
        assert spirits([*words, *tiny]) == 0, capsys.readouterr().err


def test_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    for page in PAGES:
        named = set(re.findall(r"(?:`| {4})make ([a-z-]+)", page.read_text(encoding="utf-8")))
        assert named <= targets, page.name


WRONG: dict[str, Callable[[], Any]] = {
    "IllegalAction: Action 58 (pass) is not legal in phase 'first'; ": lambda: State("forest", seed=0).play(58),
    "AttributeError: 'OrderEnforcing' object has no attribute 'action_masks'": lambda: made().action_masks(),
    "The expected dtype of the sample mask is np.int8": lambda: made().action_space.sample(np.ones(59, np.bool_)),
    "ValueError: The action was 0, but player_0 has finished": lambda: finished().step(0),
    "TypeError: SingleEnv has no argument 'opponent'": lambda: made(opponent="greedy"),
    "players was 1; that is another environment": lambda: made(players=1),
}


def made(**arguments: Any) -> Any:
    return gym.make("spirits_env:spirits/Forest-v0", **arguments)


def finished() -> Any:
    env = forest_v0.env()
    env.reset(seed=0)
    while not env.last()[2]:
        env.step(int(env.last()[0]["action_mask"].argmax()))
    return env


@pytest.mark.parametrize("quote", WRONG)
def test_errors_read_as_the_readme_quotes_them(quote: str) -> None:
    assert f"**`{quote}" in (ROOT / "README.md").read_text(encoding="utf-8")
    with pytest.raises(Exception, match=r".") as error:
        WRONG[quote]()
    name, message = quote.split(": ", 1) if ": " in quote else ("", quote)
    assert message.strip() in str(error.value)
    assert name in ("", type(error.value).__name__)


def test_the_ids_are_unknown_before_the_import_as_the_readme_says() -> None:
    quote = "NamespaceNotFound: Namespace spirits not found"
    assert f"**`{quote}`**" in (ROOT / "README.md").read_text(encoding="utf-8")
    code = "import gymnasium; gymnasium.make('spirits/Forest-v0')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert quote in done.stderr


# --- tables and pictures ----------------------------------------------------------------------------------


def test_tables_and_pictures_are_those_of_the_code() -> None:
    stale = [
        path.name
        for path, text in make().wanted().items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]
    assert not stale, f"{', '.join(stale)}: run `python docs/make.py`"


def test_a_stale_table_is_found() -> None:
    text = PAGE.replace("| `present` |", "| `absent` |")
    assert text != PAGE
    assert make().fill_tables(text) == PAGE


def test_every_table_that_is_made_is_shown() -> None:
    assert set(re.findall(r"<!-- table:([\w-]+) -->", PAGE)) == set(make().TABLES)


def test_every_action_is_in_the_table_under_its_own_id() -> None:
    found = {
        number: name for _, _, ids, names, _ in make().action_groups() for number, name in zip(ids, names, strict=True)
    }
    assert found == {action.id: action.name for action in FOREST.actions}


def test_the_table_of_ids_shows_every_end_and_cell_once() -> None:
    grid = PAGE.split("<!-- table:action-ids -->")[1].split("<!-- /table:action-ids -->")[0]
    cells = [cell.strip() for line in grid.splitlines() if line.startswith("| row") for cell in line.split("|")[2:-1]]
    assert sorted(int(cell) for cell in cells) == list(range(56))


def test_every_phase_is_told() -> None:
    assert first_cells(section(PAGE, "Action").split("### Phases")[1]) == set(FOREST.phases)


@pytest.mark.parametrize("players", [2, 3, 4])
def test_the_formula_of_the_reward_is_that_of_the_rules(players: int) -> None:
    for winners in range(1, players + 1):
        told = [players / (players - 1) * (share - 1 / players) for share in (1 / winners, 0)]
        values = make().final_returns(FOREST, players, winners)
        assert values[0] == pytest.approx(told[0], abs=1e-6)
        assert values[winners:] == pytest.approx([told[1]] * (players - winners), abs=1e-6)


def test_keys_of_records_and_setups_are_told() -> None:
    keys = first_cells(section(PAGE, "Records"))
    alone = State("forest", players=1, seed=0).setup()
    shared = record.write(State("forest", players=2, seed=0))
    assert keys == set(record.KEYS) | set(shared["setup"]) | set(alone)


def test_the_game_of_the_picture_is_a_finished_one() -> None:
    game = json.loads((ROOT / "docs/forest.json").read_text(encoding="utf-8"))
    assert record.replay(game).seat == -1


def test_render_modes_are_told() -> None:
    assert first_cells(section(PAGE, "Rendering")) == set(faces.RENDER_MODES)


# --- info keys --------------------------------------------------------------------------------------------


def told_keys(face: str) -> set[str]:
    rows = [line.split("|") for line in section(PAGE, "Info keys").splitlines() if line.startswith("| ")]
    return {name for row in rows if face in row[1] for name in re.findall(r"`([^`]+)`", row[2])}


def test_info_keys_of_the_aec_face_are_told() -> None:
    env = forest_v0.env()
    env.reset(seed=0)
    assert set(env.last()[4]) == told_keys("AEC")


def test_info_keys_of_the_gymnasium_faces_are_told() -> None:
    env = gym.make("spirits_env:spirits/Forest-v0")
    _, info = env.reset(seed=0)
    keys, over = set(info), False
    while not over:
        _, _, over, _, info = env.step(int(np.flatnonzero(info["action_mask"])[0]))
        keys |= set(info)
    env.reset()
    keys |= set(env.step(58)[4])
    assert keys == told_keys("Gymnasium")


def test_info_keys_of_the_vector_face_are_told() -> None:
    envs = gym.make_vec("spirits_env:spirits/Forest-v0", 1, autoreset_mode=AutoresetMode.SAME_STEP)
    _, infos = envs.reset(seed=0)
    found: set[str] = set()
    while "final_info" not in found:
        infos = envs.step(infos["action_mask"].argmax(axis=1))[4]
        found |= set(infos)
    found = {key for key in found if not key.startswith("_")}
    assert found <= told_keys("Gymnasium") | told_keys("vector")
    assert told_keys("vector") <= found


def test_info_keys_of_the_sb3_face_are_told() -> None:
    env = SelfPlayVecEnv("forest", 1)
    env.seed(0)
    env.reset()
    info: dict[str, Any] = {}
    while not info:
        info = env.step(env.action_masks().argmax(axis=1))[3][0]
    assert set(info) == told_keys("stable-baselines3")


# --- training ---------------------------------------------------------------------------------------------


def test_every_metric_is_told_and_no_other(run: Path) -> None:
    logged = {key for row in metrics.read(run) for key in row}
    told = first_cells(section(TRAINING, "Metrics"))
    for key in list(told):
        if "<n>" in key:
            told |= {key.replace("<n>", str(seat)) for seat in range(2)}
        if "<opponent>" in key:
            told |= {key.replace("<opponent>", name) for name in ("random", "greedy")}
    assert logged == {key for key in told if "<" not in key}


def test_every_file_of_a_run_is_told(run: Path) -> None:
    told = {name.split("/")[0] for name in first_cells(section(TRAINING, "What a run leaves"))}
    assert {path.name for path in run.iterdir()} == told - {"runs", "checkpoint.pt"}


def test_every_key_of_a_card_is_told(run: Path) -> None:
    from spirits_env.agents.policy import read_card

    told = first_cells(section(TRAINING, "The policy file"))
    assert set(read_card(run / "policy.onnx")) == told


def test_every_part_of_the_configuration_is_told() -> None:
    from training.config import Config

    text = section(TRAINING, "Configuration")
    assert all(f"`{key}`" in text for key in Config().values())
    assert all(f"`configs/{path.name}`" in text for path in (ROOT / "configs").glob("*.yaml"))


# --- form -------------------------------------------------------------------------------------------------


def test_the_page_of_the_game_has_its_heads_in_order() -> None:
    assert PAGE.split("\n")[2].startswith("![")
    assert tuple(re.findall(r"^## (.+)$", PAGE, re.MULTILINE)) == HEADS


def anchors(path: Path) -> set[str]:
    heads = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        found = page.parent / path if path else page
        assert found.exists(), target
        assert not anchor or anchor in anchors(found), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_lines_outside_tables_are_short(page: Path) -> None:
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        assert len(line) <= 120 or line.startswith("|"), f"{page.name}:{number}"
