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
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import yaml
from gymnasium.vector import AutoresetMode

from spirits_env import GAMES, State, env_id, faces, forest_v0, games, record
from spirits_env.aec import RawEnv
from spirits_env.cli import main as spirits
from spirits_env.games.wild import powers, rules
from spirits_env.sb3 import SelfPlayVecEnv
from training import metrics, networks, selfplay
from training.compare import CompareConfig
from training.config import Config, make_parser
from training.expert import ExpertConfig
from training.exploiter import ExploiterConfig
from training.sb3.config import SB3Config

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
FOREST, WILD = games.load("forest"), games.load("wild")
PAGE_OF = {name: (ROOT / f"docs/{name}.md").read_text(encoding="utf-8") for name in GAMES}
PAGE, WILD_PAGE = PAGE_OF["forest"], PAGE_OF["wild"]
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


@cache
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


def table_rows(text: str, first_head: str) -> list[list[str]]:
    """The rows of the only table in a text whose first column has this head, in cells."""
    lines = text.splitlines()
    (start,) = [number for number, line in enumerate(lines) if line.startswith(f"| {first_head} |")]
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.split("|")[1:-1]])
    return rows


def quoted(text: str) -> list[str]:
    """What stands in back quotes."""
    return re.findall(r"`([^`]+)`", text)


def first_cells(text: str) -> set[str]:
    """Names in back quotes in the first column of the tables of a text."""
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny run, finished, under the name that the docs use."""
    folder = tmp_path_factory.mktemp("docs")
    files = [f"--config={ROOT / 'configs' / name}" for name in ("forest.yaml", "quick.yaml")]
    tiny = ["--decisions=2600", "--evaluation.games=4", "--evaluation.final_games=4", "--progress=false", "--threads=1"]
    small = ["--network.kind=mlp", "--network.widths=[16]", "--evaluation.gate=0.5"]
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
def test_code_runs(code: str, notes: str, elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A page enters a network of its own, which no other test must get.
    for name, network in networks.NETWORKS.items():
        monkeypatch.setitem(networks.NETWORKS, name, network)
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
    kinds = {
        "selfplay": Config,
        "expert": ExpertConfig,
        "exploiter": ExploiterConfig,
        "sb3": SB3Config,
        "compare": CompareConfig,
    }
    commands = [
        command
        for page in PAGES
        for command in re.findall(r"python -m training\.(\w+)([^`\n|]*)", page.read_text(encoding="utf-8"))
        if command[0] in kinds
    ]
    assert {program for program, _ in commands} == set(kinds)
    for program, command in commands:
        words = [word for word in shlex.split(command) if word not in ("--help", "--print_config")]
        make_parser(kinds[program]).parse_args(words)


def shortened(command: str) -> list[str]:
    """A command with so little to play that a test has time for it."""
    words = re.sub(r"--(games|deals) \d+", "", command).split()
    if words[0] in ("arena", "ladder"):
        return [*words, "--processes", "1", *([] if "--gate" in words else ["--deals", "1"])]
    more = {"evaluate": ["--games", "4"], "play": ["--no-browser", "--port", "0"]}
    return [*words, *more.get(words[0], [])]


def test_spirits_commands_run(
    elsewhere: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spirits_env.arena.ladder.ANCHORS", ("random", "greedy", "search:5"))
    # A server would serve until it is stopped.
    monkeypatch.setattr("spirits_env.play.server.serve", lambda app, listener: None)
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    commands = re.findall(r"^    spirits (.+)$", text, re.MULTILINE)
    assert len(commands) > 3
    for command in commands:
        assert spirits(shortened(command)) == 0, capsys.readouterr().err


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


@pytest.mark.parametrize("game", GAMES)
def test_a_stale_table_is_found(game: str) -> None:
    first = games.load(game).layout.slices[0].name
    text = PAGE_OF[game].replace(f"| `{first}` |", "| `absent` |", 1)
    assert text != PAGE_OF[game]
    assert make().fill_tables(text, game) == PAGE_OF[game]


@pytest.mark.parametrize("game", GAMES)
def test_every_table_that_is_made_for_a_game_is_on_its_page(game: str) -> None:
    shown = set(re.findall(r"<!-- table:([\w-]+) -->", PAGE_OF[game]))
    assert shown - set(make().FACES) == set(make().SHARED) | set(make().own(game).TABLES)


def test_the_arguments_of_each_face_are_told() -> None:
    shown = [name for page in PAGE_OF.values() for name in re.findall(r"<!-- table:([\w-]+) -->", page)]
    assert all(name in shown for name in make().FACES)


def test_a_table_that_is_not_made_for_a_game_is_an_error() -> None:
    with pytest.raises(KeyError, match="tiles"):
        make().fill_tables("<!-- table:tiles --> <!-- /table:tiles -->", "wild")


def test_ids_are_told_with_what_they_fix_and_whom_they_are_for() -> None:
    assert make().ids_text(FOREST) == "`spirits/Forest-v0` (2 to 4 players), `spirits/ForestSolo-v0` (`players=1`)"
    assert make().ids_text(WILD) == "`spirits/Wild-v0` (2 players)"


@pytest.mark.parametrize("game", GAMES)
def test_what_must_be_said_of_results_is_in_the_specification(game: str) -> None:
    told = [row[1] for row in table_rows(section(PAGE_OF[game], "Specification"), "") if row[0].startswith("Results")]
    assert told == {"forest": [], "wild": [powers.HOUSE_REMARK]}[game]


@pytest.mark.parametrize("game", GAMES)
def test_every_action_is_in_the_table_under_its_own_id(game: str) -> None:
    groups = make().own(game).action_groups()
    found = {number: name for _, _, ids, names, _ in groups for number, name in zip(ids, names, strict=True)}
    assert found == {action.id: action.name for action in games.load(game).actions}


def test_the_table_of_ids_shows_every_end_and_cell_once() -> None:
    grid = PAGE.split("<!-- table:action-ids -->")[1].split("<!-- /table:action-ids -->")[0]
    cells = [cell.strip() for line in grid.splitlines() if line.startswith("| row") for cell in line.split("|")[2:-1]]
    assert sorted(int(cell) for cell in cells) == list(range(56))


@pytest.mark.parametrize("game", GAMES)
def test_every_phase_is_told(game: str) -> None:
    rows = table_rows(section(PAGE_OF[game], "Action"), "phase")
    assert [row[0].strip("`") for row in rows] == list(games.load(game).phases)


@pytest.mark.parametrize(
    ("game", "players"), [(name, players) for name in GAMES for players in games.load(name).players if players > 1]
)
def test_the_formula_of_the_reward_is_that_of_the_rules(game: str, players: int) -> None:
    for winners in range(1, players + 1):
        told = [players / (players - 1) * (share - 1 / players) for share in (1 / winners, 0)]
        values = make().final_returns(games.load(game), players, winners)
        assert values[0] == pytest.approx(told[0], abs=1e-6)
        assert values[winners:] == pytest.approx([told[1]] * (players - winners), abs=1e-6)


def test_keys_of_records_and_setups_are_told() -> None:
    keys = first_cells(section(PAGE, "Records"))
    alone = State("forest", players=1, seed=0).setup()
    shared = record.write(State("forest", players=2, seed=0))
    assert keys == set(record.KEYS) | set(shared["setup"]) | set(alone)


def test_keys_of_setups_of_the_wild_are_told() -> None:
    keys = first_cells(section(WILD_PAGE, "Records"))
    assert keys == set(State("wild", seed=0).setup())
    assert keys - {"piles"} == set(State("wild", seed=0, powers="none").setup())


@pytest.mark.parametrize("game", GAMES)
def test_the_game_of_the_picture_is_a_finished_one(game: str) -> None:
    played = json.loads((ROOT / f"docs/{game}.json").read_text(encoding="utf-8"))
    assert record.replay(played).seat == -1
    assert record.replay(played, make().own(game).PICTURE_PLY).seat == make().own(game).PICTURE_SEAT


def test_render_modes_are_told() -> None:
    play = (ROOT / "docs/play.md").read_text(encoding="utf-8")
    assert first_cells(section(play, "Environments that show themselves")) == set(faces.RENDER_MODES)


# --- tables of the Wild -----------------------------------------------------------------------------------

CARDS = ("take_one", "take_two", "add_two", "add_three", "recover")
KINDS = ("blue", "teal", "orange", "white", "purple", "yellow", "spirit_stone")
ANIMALS = ("owl", "rabbit", "beaver", "salmon", "turtle")


def test_the_animals_of_the_wild_are_those_of_the_printed_boards() -> None:
    rows = table_rows(WILD_PAGE, "id | animal")
    numbers = [(row[0], row[1], row[2].split(":")[0], row[5], row[6]) for row in rows]
    assert numbers == [
        ("0", "owl", "6", "9", "18"),
        ("1", "rabbit", "3", "6", "12"),
        ("2", "beaver", "5", "14", "28"),
        ("3", "salmon", "6", "13", "26"),
        ("4", "turtle", "5", "14", "28"),
        ("", "all", "25", "56", "112"),
    ]
    points = [[int(number) for number in re.findall(r"\d+", row[4].replace("from 0", ""))] for row in rows[:5]]
    assert points == [[3], [6, 0], [5, 2, 7], [0, 1, 2, 4, 6, 9, 13], [0, 1, 3, 6, 9, 14]]


def wild_with(stones: int, down: list[int]) -> State:
    """A game whose seat to act finds so many stones, all blue, in the bowl, and these cards of its own face down."""
    state = State("wild", seed=0, powers="none")
    state.record["bowl"] = [stones, 0, 0, 0, 0, 0, 0]
    state.record["down"][0] = down
    return State.of(WILD, state.record)


@pytest.mark.parametrize(
    ("name", "copies", "needs"),
    [("take_one", 2, 1), ("take_two", 1, 2), ("add_two", 1, 0), ("add_three", 1, 0)],
)
def test_cards_can_be_used_with_the_stones_that_the_page_says(name: str, copies: int, needs: int) -> None:
    (row,) = [row for row in table_rows(WILD_PAGE, "name | card") if row[0] == f"`{name}`"]
    assert row[2] == str(copies)
    assert row[3].split(" ")[0] == (str(needs) if needs else "always")
    action = WILD.action_id(f"play_{name}")
    for stones in range(3):
        assert bool(wild_with(stones, [0, 0, 0, 0, 0]).mask()[action]) == (stones >= needs)
    for down in range(copies + 1):
        cards = [down if card == name else 0 for card in CARDS]
        assert bool(wild_with(2, cards).mask()[action]) == (down < copies)


def test_recovering_needs_the_cards_face_down_that_the_page_says() -> None:
    (row,) = [row for row in table_rows(WILD_PAGE, "name | card") if row[0] == "`recover`"]
    assert row[2:4] == ["1", "3 of the other five cards face down"]
    action = WILD.action_id("play_recover")
    for down, count in (([0, 1, 1, 0, 0], 2), ([1, 1, 1, 0, 0], 3), ([2, 1, 0, 0, 0], 3), ([2, 0, 0, 0, 0], 2)):
        assert bool(wild_with(2, down).mask()[action]) == (count >= 3)


def test_the_cards_steps_are_those_of_the_rules() -> None:
    told = {row[0].strip("`"): quoted(row[1]) for row in table_rows(WILD_PAGE, "card | steps")}
    found = {
        name: [powers.step_text(powers.Step(int(act), int(count))) for act, count in steps if act != powers.NOTHING]
        for name, steps in zip(CARDS, rules.CARD_STEPS, strict=True)
    }
    assert tuple(told) == CARDS
    # Those of the last card are a Spirit Power's.
    assert told["recover"] == ['powers="none"']
    assert found == {**told, "recover": []}


def test_the_groups_of_actions_of_the_wild_start_where_the_page_says() -> None:
    first = {
        "play_take_one": 0,
        "stone_blue": 5,
        "place_owl_new": 12,
        "bonus_owl": 19,
        "coyote_owl": 24,
        "leave_coyote": 29,
        "pile_0": 30,
        "stop": 32,
    }
    assert {name: WILD.action_id(name) for name in first} == first
    rows = table_rows(section(WILD_PAGE, "Action"), "ids")
    assert [int(row[0].split(" ")[0]) for row in rows] == list(first.values())


def expanded(names: list[str]) -> set[str]:
    """Names of actions with every kind or animal in the place of `<kind>` and `<animal>`."""
    found = {name.replace("<kind>", kind) for name in names for kind in KINDS}
    return {name.replace("<animal>", animal) for name in found for animal in ANIMALS}


def test_each_phase_of_the_wild_asks_for_the_actions_that_the_page_names() -> None:
    rows = table_rows(section(WILD_PAGE, "Action"), "phase")
    told = {row[0].strip("`"): expanded(quoted(row[2])) for row in rows}
    found: dict[str, set[str]] = {phase: set() for phase in WILD.phases}
    rng = np.random.default_rng(1)
    for seed in range(60):
        state = State("wild", seed=seed, powers=yaml_cards())
        while state.seat >= 0:
            found[state.phase] |= {WILD.actions[action].name for action in state.legal_actions()}
            state.play(int(rng.choice(state.legal_actions())))
    assert found == told


def yaml_cards() -> Any:
    """The cards of the page's YAML file."""
    (text,) = re.findall(r"```yaml\n(.+?)```", WILD_PAGE, re.DOTALL)
    return yaml.safe_load(text)


def test_the_file_of_powers_on_the_page_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "powers.yaml"
    path.write_text(yaml.safe_dump(yaml_cards()), encoding="utf-8")
    assert State("wild", seed=0, powers=str(path)).options["powers"] == [
        ["TAKE 2 any", "ADD 3"],
        ["ADD 4", "TAKE 2 any"],
        ["TAKE 3 same", "ADD 3"],
        ["TAKE 3 different", "ADD 3"],
        ["COYOTE", "TAKE 2 any", "ADD 2"],
        ["RETURN 2", "ADD 4", "TAKE 1 any"],
    ]


def test_the_house_powers_are_those_of_the_reconstruction() -> None:
    rows = table_rows(WILD_PAGE, "id | house power")
    assert [(row[0], row[1], quoted(row[2])) for row in rows] == [
        ("0", "R1", ["TAKE 2 any", "ADD 3"]),
        ("1", "R2", ["ADD 4", "TAKE 2 any"]),
        ("2", "R3", ["TAKE 3 same", "ADD 3"]),
        ("3", "R4", ["TAKE 3 different", "ADD 3"]),
        ("4", "R5", ["COYOTE", "TAKE 2 any", "ADD 2"]),
        ("5", "R6", ["RETURN all", "ADD 5", "TAKE 1 any"]),
    ]
    cards = [quoted(row[2]) for row in rows]
    assert (
        State("wild", seed=0, powers=cards).record["steps"].tolist() == State("wild", seed=0).record["steps"].tolist()
    )


def test_every_form_of_a_step_that_the_page_tells_is_taken() -> None:
    forms = first_cells(section(WILD_PAGE, "Rules in short"))
    steps = [form.replace(" n", " 2") for form in forms if form.isupper() or " " in form]
    assert len(steps) == 7
    assert State("wild", seed=0, powers=[steps[:6], *[steps[1:]] * 5]).options["powers"][0] == steps[:6]


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


@pytest.mark.parametrize("game", GAMES)
def test_remarks_are_told_of_where_a_game_has_any(game: str) -> None:
    told = {row[1].strip("`") for row in table_rows(section(PAGE_OF[game], "Info keys"), "face")}
    env = RawEnv(game)
    env.reset(seed=0)
    before = set(env.last()[4])
    while not env.last()[2]:
        env.step(int(env.last()[0]["action_mask"].argmax()))
    more = set(env.last()[4]) - before
    single = gym.make(f"spirits_env:{env_id(game, next(iter(GAMES[game].ids)))}")
    _, info = single.reset(seed=0)
    assert "remarks" not in info
    over = False
    while not over:
        _, _, over, _, info = single.step(int(info["action_mask"].argmax()))
    assert more == ({"remarks"} if games.load(game).remarks(games.load(game).check_options({})) else set())
    assert more <= told
    assert more == set(info) & {"remarks"}


# --- training ---------------------------------------------------------------------------------------------


def test_every_metric_is_told_and_no_other(run: Path) -> None:
    logged = {key for row in metrics.read(run) for key in row}
    always, rest = section(TRAINING, "Metrics").split("| key | only with |")
    told = set()
    for key in first_cells(always):
        key = key.replace("<n>", "2")
        for mark, names in (("<s>", ("0", "1")), ("<opponent>", ("random", "greedy"))):
            if mark in key:
                told |= {key.replace(mark, name) for name in names}
        told |= set() if "<" in key else {key}
    assert logged == told
    assert not first_cells(rest) & first_cells(always)


def test_every_file_of_a_run_is_told(run: Path) -> None:
    told = {name.split("/")[0] for name in first_cells(section(TRAINING, "What a run leaves"))}
    assert {path.name for path in run.iterdir()} == told - {"runs", "checkpoint.pt"}


def test_every_key_of_a_card_is_told(run: Path) -> None:
    from spirits_env.agents.policy import read_card

    told = first_cells(section(TRAINING, "The policy file"))
    assert set(read_card(run / "policy.onnx")) == told


def test_every_part_of_the_configuration_is_told() -> None:
    text = section(TRAINING, "Configuration")
    assert all(f"`{key}`" in text for key in Config().values())
    assert all(f"`configs/{path.name}`" in text for path in (ROOT / "configs").glob("*.yaml"))


# --- form -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES)
def test_the_page_of_a_game_has_its_heads_in_order(game: str) -> None:
    assert PAGE_OF[game].split("\n")[2].startswith("![")
    # The figures of the first game are told in the README.
    figures = () if game == next(iter(GAMES)) else ("Trained policy", "Speed")
    assert tuple(re.findall(r"^## (.+)$", PAGE_OF[game], re.MULTILINE)) == (*HEADS[:-1], *figures, HEADS[-1])


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
