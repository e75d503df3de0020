"""What environments show: pictures of any size, text in colour, a window, videos; and what they do without all that."""

import copy
import os
import pickle
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env as check_gymnasium_env
from gymnasium.wrappers import RecordVideo
from gymnasium.wrappers import vector as vector_wrappers
from imageio_ffmpeg import count_frames_and_secs, read_frames
from pettingzoo.test.render_test import render_test
from pettingzoo.utils import wrappers as pettingzoo_wrappers

from spirits_env import GAMES, SingleEnv, State, VectorEnv, env_id, faces, make_agent
from spirits_env.aec import RawEnv, parallel_env, wrapped_env
from spirits_env.agents import Agent
from spirits_env.games import load
from spirits_env.render import svg_size, svg_to_rgb
from spirits_env.render.text import coloured, show

ROOT = Path(__file__).parent.parent
TABLES = [(game, players) for game in GAMES for players in load(game).players]
SHARED = [(game, players) for game, players in TABLES if players > 1]
PLAIN = {game: env_id(game, next(name for name, fixed in GAMES[game].ids.items() if not fixed)) for game in GAMES}
CODE = re.compile(r"\x1b\[([0-9;]*)m")


@pytest.fixture(autouse=True)
def nowhere_to_show(monkeypatch):
    """No display, and no wish for colours but a test's own."""
    names = ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "COLORTERM")
    for name in names:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


@pytest.fixture
def display(monkeypatch):
    """A display that nobody sees, and pictures that need not stand for long."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setattr(SingleEnv, "metadata", {**SingleEnv.metadata, "render_fps": 1000})
    monkeypatch.setattr(faces, "RENDER_FPS", 1000)
    window = import_module("spirits_env.render.window")
    yield window
    for each in list(window._OPEN.values()):
        each._destroy()


def positions(game, players, seed=1, every=7):
    """Positions of a random game, the first and the last among them."""
    state = State(game, players=players, seed=seed)
    rng = np.random.default_rng(seed)
    yield state
    ply = 0
    while state.seat >= 0:
        state.play(int(rng.choice(state.legal_actions())))
        ply += 1
        if ply % every == 0 or state.seat < 0:
            yield state


def first_legal(env):
    """An action for the seat to act in any AEC environment."""
    return int(env.observe(env.agent_selection)["action_mask"].argmax())


# --- pictures ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [64, 333, 640])
@pytest.mark.parametrize("game", GAMES)
def test_pictures_have_the_width_that_was_asked_for(game, width):
    table = RawEnv(game, render_mode="rgb_array", render_width=width)
    single = gymnasium.make(PLAIN[game], render_mode="rgb_array", render_width=width)
    table.reset(seed=1)
    single.reset(seed=1)
    across, down = svg_size(State(game, seed=1).svg())
    for env in (table, single):
        picture = env.render()
        assert picture.dtype == np.uint8
        assert picture.flags.writeable
        assert picture.shape[1:] == (width, 3)
        assert picture.shape[0] % 2 == 0
        assert abs(picture.shape[0] - width * down / across) < 2


@pytest.mark.parametrize(("down", "height"), [(32, 32), (33, 34)])
def test_heights_are_even(down, height):
    red, blue = (f'<rect x="{x}" width="50" height="{down}" fill="{fill}"/>' for x, fill in ((0, "red"), (50, "blue")))
    size = f'width="100" height="{down}" viewBox="0 0 100 {down}"'
    picture = svg_to_rgb(f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{red}{blue}</svg>', 100)
    assert picture.shape == (height, 100, 3)
    assert (picture[:, :50] == (255, 0, 0)).all()
    assert (picture[:, 50:] == (0, 0, 255)).all()


def test_pictures_are_960_pixels_wide_when_nothing_is_said():
    env = RawEnv(render_mode="rgb_array")
    env.reset(seed=1)
    assert (env.render() == svg_to_rgb(env.game_state.svg(), 960)).all()


def test_all_faces_pass_the_width_on():
    shapes = []
    for make in (wrapped_env, parallel_env):
        env = make("wild", render_mode="rgb_array", render_width=320)
        env.reset(seed=2)
        shapes.append(env.render().shape)
    lanes = gymnasium.make_vec(PLAIN["wild"], num_envs=2, render_mode="rgb_array", render_width=320)
    lanes.reset(seed=2)
    shapes += [picture.shape for picture in lanes.render()]
    assert len(shapes) == 4
    assert set(shapes) == {svg_to_rgb(State("wild", seed=2).svg(), 320).shape}


@pytest.mark.parametrize("width", [63, 8193, 0, -640, 640.0, True, "640", None])
@pytest.mark.parametrize("face", [RawEnv, SingleEnv, VectorEnv])
def test_other_widths_are_refused(face, width):
    message = f"render_width was {re.escape(repr(width))}; give a whole number of pixels from 64 to 8192"
    with pytest.raises(ValueError, match=message):
        face(render_width=width)


@pytest.mark.parametrize("width", [64, 8192, np.int64(700)])
@pytest.mark.parametrize("face", [RawEnv, SingleEnv, VectorEnv])
def test_the_outermost_widths_are_taken(face, width):
    assert face(render_width=width).render_mode is None


@pytest.mark.parametrize(("game", "players"), TABLES)
def test_all_pictures_of_a_table_have_one_size(game, players):
    sizes = {svg_size(state.svg()) for seed in (1, 2) for state in positions(game, players, seed)}
    assert len(sizes) == 1


def test_a_document_without_a_size_is_refused():
    with pytest.raises(ValueError, match="viewBox"):
        svg_size("<svg></svg>")


def test_every_lane_is_drawn_as_a_game_of_its_own():
    lanes = VectorEnv(3, "forest", render_mode="rgb_array", render_width=200)
    lanes.reset(seed=4)
    pictures = lanes.render()
    assert isinstance(pictures, tuple)
    for lane, picture in enumerate(pictures):
        assert (picture == svg_to_rgb(State("forest", seed=4 + lane).svg(), 200)).all()


@pytest.mark.parametrize("game", GAMES)
def test_notebooks_show_the_game(game):
    table, single = RawEnv(game), SingleEnv(game)
    assert table._repr_svg_() is None
    assert single._repr_svg_() is None
    table.reset(seed=3)
    single.reset(seed=3)
    assert table._repr_svg_() == single._repr_svg_() == State(game, seed=3).svg()
    table.step(first_legal(table))
    assert table._repr_svg_() == table.game_state.svg()


# --- the last decision ------------------------------------------------------------------------------------


class Told(Agent):
    """The greedy agent, which tells a list what it chose."""

    name = "told"

    def __init__(self):
        self.said = []
        self._greedy = make_agent("greedy")

    def act_many(self, views):
        actions = self._greedy.act_many(views)
        self.said += [int(action) for action in actions]
        return actions


@pytest.mark.parametrize(("game", "players"), SHARED)
def test_the_single_face_shows_the_last_decision_at_the_table(game, players):
    opponent = Told()
    env = SingleEnv(game, players, seat=players - 1, opponents=opponent, render_mode="ansi")
    state = State(game, players=players, seed=5)
    env.reset(seed=5)
    over = False
    while not over:
        for action in opponent.said:
            state.play(action)
        opponent.said.clear()
        assert env.render() == state.text()
        if state.last is not None:
            assert state.last.text in env.render()
        action = int(env.action_masks().argmax())
        state.play(action)
        over = env.step(action)[2]
    for action in opponent.said:
        state.play(action)
    assert env.render() == state.text()


@pytest.mark.parametrize("game", GAMES)
def test_after_a_deal_there_is_no_last_decision(game):
    env = SingleEnv(game, render_mode="ansi")
    env.reset(seed=1)
    fresh = env.render()
    env.step(int(env.action_masks().argmax()))
    assert "last: " in env.render()
    env.reset(seed=1)
    assert env.render() == fresh == State(game, seed=1).text()
    assert "last: " not in fresh


@pytest.mark.parametrize("mode", list(gymnasium.vector.AutoresetMode)[:2])
def test_the_lanes_show_what_the_single_face_shows(mode):
    lanes = VectorEnv(2, "wild", render_mode="ansi", autoreset_mode=mode)
    singles = [SingleEnv("wild", render_mode="ansi") for _ in range(2)]
    lanes.reset(seed=6)
    for lane, env in enumerate(singles):
        env.reset(seed=6 + lane)
    waiting = [False, False]
    for _ in range(90):
        actions = lanes.action_masks().argmax(1)
        lanes.step(actions)
        for lane, env in enumerate(singles):
            if waiting[lane]:
                env.reset()
                waiting[lane] = False
            else:
                waiting[lane] = env.step(int(actions[lane]))[2]
                if waiting[lane] and mode == gymnasium.vector.AutoresetMode.SAME_STEP:
                    env.reset()
                    waiting[lane] = False
        assert lanes.render() == tuple(env.render() for env in singles)


# --- text -------------------------------------------------------------------------------------------------


def pieces(text):
    """Cut a coloured text into a style for every visible character."""
    style, styled, at = "", [], 0
    for code in CODE.finditer(text):
        styled += [(character, style) for character in text[at : code.start()]]
        style, at = ("" if code[1] in ("", "0") else code[1]), code.end()
    return styled + [(character, style) for character in text[at:]]


@pytest.mark.parametrize(("game", "players"), TABLES)
def test_colour_changes_no_letter(game, players):
    for state in positions(game, players):
        for seat in (None, *range(players)):
            text = state.text(seat)
            painted = coloured(text, state.game.text_styles, force=True)
            assert painted != text
            assert CODE.sub("", painted) == text


def test_odd_texts_keep_their_letters():
    for text in ("", "\n", "a", "a\n", "\n\n a [b] [/b] {x}\n\n", "[red]no markup[/red] :smile:", "x" * 500 + "\n  y"):
        assert CODE.sub("", coloured(text, ((r"[a-z]+", "red"),), force=True)) == text


def test_later_styles_go_over_earlier_ones():
    painted = coloured("abc", (("abc", "red"), ("b", "green")), force=True)
    assert pieces(painted) == [("a", "31"), ("b", "32"), ("c", "31")]


def style_of(painted, what, among=None):
    """The style of the first letters of a text, after some others if so said."""
    styled = pieces(painted)
    plain = "".join(character for character, _ in styled)
    at = plain.index(what, plain.index(among) if among else 0)
    styles = {style for _, style in styled[at : at + len(what)]}
    assert len(styles) == 1
    return styles.pop()


def test_the_forest_has_its_colours():
    state = next(state for state in positions("forest", 3, every=1) if len(state.history) > 30 and "[" in state.text())
    painted = coloured(state.text(), state.game.text_styles, force=True)
    seats = [style_of(painted, f"seat {seat}", "points") for seat in range(3)]
    gems = [style_of(painted, f"g{seat}") for seat in range(3)]
    assert gems == seats
    assert style_of(painted, "^0") == seats[0]
    codes = [style_of(painted, icon[:3], "codes:") for icon in state.game.categories]
    assert "" not in codes
    assert len({*seats, *codes, style_of(painted, "!"), style_of(painted, "[")}) == 3 + 12 + 2
    plain = CODE.sub("", painted).split("points")[0]
    tiles = list(re.finditer(r"[a-z]{3}(?=[12])", plain))
    assert len(tiles) > 5
    for tile in tiles:
        number = [icon[:3] for icon in state.game.categories].index(tile[0])
        assert {style for _, style in pieces(painted)[tile.start() : tile.end()]} == {codes[number]}


def test_the_wild_has_its_colours():
    state = list(positions("wild", 2))[-1]
    painted = coloured(state.text(), state.game.text_styles, force=True)
    kinds = ("blue", "teal", "orange", "white", "purple", "yellow", "Spirit Stone")
    styles = [style_of(painted, kind, "stones:") for kind in kinds]
    assert "" not in styles
    assert len(set(styles)) == 7
    styled = pieces(painted)
    plain = "".join(character for character, _ in styled)
    stones = 0
    for animal in ("owl", "rabbit", "beaver", "salmon", "turtle"):
        line = re.search(rf"^{animal} .*$", plain, re.MULTILINE)
        for at in range(line.start() + 8, line.end()):
            if plain[at] in "BTOWPYS":
                stones += 1
                assert styled[at][1] == styles["BTOWPYS".index(plain[at])]
    assert stones > 5
    for word in ("COYOTE", "TAKE", "RETURN"):
        if word in plain:
            assert style_of(painted, word) == ""


def luminance(colour):
    """Relative luminance as the web's accessibility guidelines define it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("game", GAMES)
def test_colours_are_seen_on_black_and_on_white(game):
    colours = re.findall(r"#[0-9A-Fa-f]{6}", " ".join(style for _, style in load(game).text_styles))
    assert len(colours) > 5
    for colour in colours:
        assert (luminance(colour) + 0.05) / 0.05 >= 3
        assert 1.05 / (luminance(colour) + 0.05) >= 3


class Terminal:
    """Standard output as it is in a terminal, kept."""

    encoding = "utf-8"

    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text
        return len(text)

    def flush(self):
        pass

    def isatty(self):
        return True


@pytest.mark.parametrize("face", [RawEnv, SingleEnv])
@pytest.mark.parametrize(
    ("terminal", "environment", "has_colour"),
    [
        (False, {}, False),
        (True, {}, True),
        (True, {"NO_COLOR": "1"}, False),
        (False, {"FORCE_COLOR": "1"}, True),
        (False, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (True, {"TERM": "dumb"}, False),
    ],
)
def test_text_is_in_colour_where_it_is_wanted(face, terminal, environment, has_colour, monkeypatch):
    env = face(render_mode="ansi")
    env.reset(seed=1)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    if terminal:
        monkeypatch.setattr(sys, "stdout", Terminal())
    text = env.render()
    assert isinstance(text, str)
    assert CODE.sub("", text) == State(seed=1).text()
    # A colour is 30 to 37, 90 to 97, or 38; bold letters are none.
    codes = {part for code in CODE.findall(text) for part in code.split(";")}
    assert any(re.fullmatch(r"3[0-8]|9[0-7]", part) for part in codes) == has_colour


def test_a_board_is_shown_in_colour_in_a_terminal_and_plain_elsewhere(monkeypatch, capsys):
    state = State("forest", seed=2)
    show(state, 1)
    assert capsys.readouterr().out == state.text(1) + "\n"
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    show(state)
    assert CODE.sub("", terminal.text) == state.text() + "\n"
    assert CODE.search(terminal.text)


def test_text_is_plain_without_rich(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    text = State(seed=1).text()
    assert coloured(text, load("forest").text_styles, force=True) == text


# --- the window -------------------------------------------------------------------------------------------


def window_of(env):
    return env.unwrapped._screen._window


def pixels(window):
    """What stands in a window, shape `(height, width, 3)`."""
    import pygame

    return pygame.surfarray.array3d(window._window.get_surface()).swapaxes(0, 1)


def close_by_hand(window):
    """Do as the user's click does."""
    import pygame

    pygame.event.post(pygame.event.Event(pygame.WINDOWCLOSE, window=window._window))


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("make", [RawEnv, wrapped_env])
def test_the_window_of_a_table_shows_every_position(game, make, display, capsys):
    env = make(game, render_mode="human", render_width=320)
    assert window_of(env) is None
    env.reset(seed=1)
    window = window_of(env)
    for _ in range(4):
        picture = svg_to_rgb(env.unwrapped.game_state.svg(), 320)
        assert len(picture) - len(pixels(window)) in (0, 1)
        assert (pixels(window) == picture[: len(pixels(window))]).all()
        env.step(first_legal(env))
    assert env.render() is None
    assert window_of(env) is window
    assert window.is_open
    env.close()
    assert not window.is_open
    assert capsys.readouterr().out == ""


def test_the_window_shows_the_end(display):
    env = SingleEnv("forest", players=4, render_mode="human", render_width=64)
    env.reset(seed=1)
    drawn = []
    window = window_of(env)
    window._paint = lambda: drawn.append(window._svg)
    steps = 0
    over = False
    while not over:
        over = env.step(int(env.action_masks().argmax()))[2]
        steps += 1
    assert len(drawn) == steps
    assert 'data-seat="-1"' in drawn[-1]
    assert drawn[-1] == env._lanes.state(0).svg()
    env.close()


def test_a_resized_window_is_filled_anew(display):
    env = RawEnv(render_mode="human", render_width=400)
    env.reset(seed=1)
    window = window_of(env)
    window._window.size = (300, 700)
    env.render()
    shown = pixels(window)
    picture = svg_to_rgb(env.game_state.svg(), 300)
    assert shown.shape == (700, 300, 3)
    top = (700 - len(picture)) // 2
    assert (shown[top : top + len(picture)] == picture).all()
    # Above and below there is the paper of the picture.
    assert (shown[:top] == picture[0, 0]).all()
    assert (shown[top + len(picture) :] == picture[0, 0]).all()
    env.close()


def test_a_window_is_no_larger_than_the_desktop(display):
    import pygame

    env = RawEnv("wild", render_mode="human", render_width=8192)
    env.reset(seed=1)
    width, height = window_of(env)._window.size
    across, down = svg_size(env.game_state.svg())
    wide, high = pygame.display.get_desktop_sizes()[0]
    assert 100 < width <= wide
    assert 100 < height <= high
    assert abs(width / height - across / down) < 0.02
    env.close()


@pytest.mark.parametrize("face", [RawEnv, SingleEnv])
def test_closing_the_window_by_hand_does_not_end_the_run(face, display, capsys):
    env = face(render_mode="human", render_width=200)
    env.reset(seed=1)
    other = face(render_mode="human", render_width=200)
    other.reset(seed=1)
    window = window_of(env)
    close_by_hand(window)
    for seed in (None, 3):
        if seed:
            env.reset(seed=seed)
        for _ in range(3):
            env.step(first_legal(env) if face is RawEnv else int(env.action_masks().argmax()))
    assert window_of(env) is window
    assert not window.is_open
    assert window_of(other).is_open
    env.close()
    env.close()
    other.close()
    assert capsys.readouterr().out == ""


def test_quitting_closes_all_windows(display):
    import pygame

    env = RawEnv(render_mode="human", render_width=200)
    env.reset(seed=1)
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    env.render()
    assert not window_of(env).is_open
    env.step(first_legal(env))
    env.close()


def test_the_run_goes_on_where_something_else_ends_the_display(display):
    import pygame

    env, other = RawEnv(render_mode="human", render_width=200), RawEnv(render_mode="human", render_width=200)
    env.reset(seed=1)
    window = window_of(env)
    pygame.display.quit()
    other.reset(seed=1)
    assert window_of(other).is_open
    env.step(first_legal(env))
    assert not window.is_open
    pygame.quit()
    for each in (env, other):
        each.step(first_legal(each))
        each.close()


def pickled(env):
    return pickle.loads(pickle.dumps(env))


WAYS = [(face, way) for face in (RawEnv, SingleEnv) for way in (copy.deepcopy, pickled)]


@pytest.mark.parametrize(("face", "way"), [*WAYS, (RawEnv, RawEnv.clone)])
def test_copies_of_what_holds_a_window_have_none(face, way, display):
    env = face(render_mode="human", render_width=200)
    env.reset(seed=1)
    other = way(env)
    assert window_of(env).is_open
    assert window_of(other) is None
    choose = first_legal if face is RawEnv else lambda one: int(one.action_masks().argmax())
    shown = env._repr_svg_()
    other.step(choose(other))
    assert window_of(other) is not window_of(env)
    assert window_of(other).is_open
    assert env._repr_svg_() == shown != other._repr_svg_()
    other.close()
    assert window_of(env).is_open
    env.step(choose(env))
    env.close()


def test_a_picture_stands_for_its_time(display, monkeypatch):
    now = [100.0]
    slept = []

    def sleep(seconds):
        slept.append(seconds)
        now[0] += seconds

    monkeypatch.setattr(display.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(display.time, "sleep", sleep)
    env = RawEnv(render_mode="human", render_width=100)
    env.metadata["render_fps"] = 4
    env.reset(seed=1)
    assert sum(slept) == 0
    env.step(first_legal(env))
    assert sum(slept) == pytest.approx(0.25)
    env.render()
    assert sum(slept) == pytest.approx(0.25)
    now[0] += 1.0
    env.step(first_legal(env))
    assert sum(slept) == pytest.approx(0.25)
    env.close()
    assert sum(slept) == pytest.approx(0.5)
    assert max(slept) < 0.1


def test_no_waiting_for_a_window_that_is_closed(display, monkeypatch):
    monkeypatch.setattr(display.time, "sleep", lambda seconds: pytest.fail("waits"))
    env = RawEnv(render_mode="human", render_width=100)
    env.metadata["render_fps"] = 0
    env.reset(seed=1)
    env.step(first_legal(env))
    env.metadata["render_fps"] = 0.001
    close_by_hand(window_of(env))
    env.step(first_legal(env))
    env.step(first_legal(env))
    env.close()


# --- no window --------------------------------------------------------------------------------------------


def without(monkeypatch, *names):
    for name in names:
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.parametrize(
    ("missing", "why"),
    [
        ((), "there is no display (neither DISPLAY nor WAYLAND_DISPLAY is set)"),
        (("pygame",), "pygame-ce is not installed"),
        (("resvg_py",), "the libraries for pictures are not installed"),
        (("PIL",), "the libraries for pictures are not installed"),
    ],
)
@pytest.mark.parametrize("face", [RawEnv, SingleEnv])
@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="there is always a display")
def test_where_there_can_be_no_window_the_board_comes_as_text(face, missing, why, monkeypatch, capsys):
    if missing:
        monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    without(monkeypatch, *missing)
    env = face(render_mode="human")
    with pytest.warns(UserWarning, match=f'{re.escape(why)}. .*pip install "spirits-env\\[render\\]"') as warned:
        env.reset(seed=1)
    assert len(warned) == 1
    assert capsys.readouterr().out == State(seed=1).text() + "\n"
    copied = copy.deepcopy(env)
    for one in (env, copied):
        assert one.render() is None
        assert capsys.readouterr().out == State(seed=1).text() + "\n"
    env.close()


def test_a_display_that_is_named_but_not_there_counts_as_none(monkeypatch, capsys):
    if sys.platform in ("win32", "darwin"):
        pytest.skip("displays have no names")
    monkeypatch.setenv("DISPLAY", ":4711")
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/nonexistent")
    import pygame

    pygame.display.quit()
    env = RawEnv(render_mode="human")
    with pytest.warns(UserWarning, match="the display can't be reached"):
        env.reset(seed=1)
    assert capsys.readouterr().out == State(seed=1).text() + "\n"


def test_the_older_pygame_will_not_do(display, monkeypatch, capsys):
    import pygame

    monkeypatch.delattr(pygame, "Window")
    env = RawEnv(render_mode="human")
    with pytest.warns(UserWarning, match="the older pygame"):
        env.reset(seed=1)
    assert capsys.readouterr().out == State(seed=1).text() + "\n"


def test_a_display_that_refuses_a_window_counts_as_none(display, monkeypatch, capsys):
    import pygame

    def refuse(*arguments, **more):
        raise pygame.error("no room")

    monkeypatch.setattr(pygame, "Window", refuse)
    env = RawEnv(render_mode="human")
    with pytest.warns(UserWarning, match=r"the display refused a window \(no room\)"):
        env.reset(seed=1)
    assert capsys.readouterr().out == State(seed=1).text() + "\n"


LIBRARIES = ("pygame", "PIL", "resvg_py", "rich", "moviepy")


def run(code, **environment):
    kept = {name: value for name, value in os.environ.items() if name != "SDL_VIDEODRIVER"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        env={**kept, **environment},
        cwd=ROOT,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_nothing_is_imported_before_it_is_asked_for():
    code = f"""
import sys, gymnasium, spirits_env
from spirits_env.aec import RawEnv
def loaded():
    return [name for name in {LIBRARIES} if name in sys.modules]
def play(env):
    env.reset(seed=1)
    table = isinstance(env, RawEnv)
    for _ in range(3):
        mask = env.observe(env.agent_selection)["action_mask"] if table else env.unwrapped.action_masks()
        env.step(int(mask.argmax()))
for mode in (None, "ansi", "rgb_array"):
    envs = [RawEnv(render_mode=mode), gymnasium.make("spirits/Wild-v0", render_mode=mode)]
    for env in envs:
        play(env)
        env.unwrapped._repr_svg_()
print(loaded())
for mode, expected in (("ansi", ["rich"]), ("rgb_array", ["PIL", "resvg_py", "rich"])):
    env = RawEnv(render_mode=mode)
    env.reset(seed=1)
    env.render()
    print(loaded() == expected)
"""
    assert run(code) == "[]\nTrue\nTrue\n"


def test_everything_but_pictures_works_without_the_libraries_and_without_a_display():
    code = f"""
import sys, warnings
for name in {LIBRARIES}:
    sys.modules[name] = None
import gymnasium, spirits_env
from spirits_env.aec import RawEnv
from spirits_env.state import State
env = RawEnv(render_mode="ansi")
env.reset(seed=1)
print(env.render() == State(seed=1).text())
for make in (lambda: RawEnv(render_mode="human"), lambda: gymnasium.make("spirits/Forest-v0", render_mode="human")):
    env = make()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        env.reset(seed=1)
        env.render()
        env.close()
    print(len(caught))
env = RawEnv(render_mode="rgb_array")
env.reset(seed=1)
try:
    env.render()
except ImportError as error:
    print(error)
"""
    said = run(code)
    plain = State(seed=1).text() + "\n"
    assert said.count(plain) == 4
    assert said.replace(plain, "").split("\n")[:3] == ["True", "1", "1"]
    assert 'pip install "spirits-env[render]"' in said


# --- videos -----------------------------------------------------------------------------------------------


def check_video(path, frames, width):
    """Demand a file that players can show: so many frames, even sizes, and the pixels most of them want."""
    reader = read_frames(str(path))
    about = next(reader)
    reader.close()
    assert count_frames_and_secs(str(path))[0] == frames
    assert about["size"][0] == width
    assert about["size"][1] % 2 == 0
    assert about["pix_fmt"].startswith("yuv420p")
    assert about["fps"] == faces.RENDER_FPS


@pytest.mark.parametrize("game", GAMES)
def test_gymnasium_records_a_video(game, tmp_path):
    plain = gymnasium.make(PLAIN[game], render_mode="rgb_array", render_width=160)
    env = RecordVideo(plain, str(tmp_path / "video"), episode_trigger=lambda episode: True)
    env.reset(seed=1)
    for _ in range(4):
        env.step(int(env.get_wrapper_attr("action_masks")().argmax()))
    env.close()
    check_video(tmp_path / "video/rl-video-episode-0.mp4", 5, 160)


# Not all supported versions have them.
needs_vector_recorder = pytest.mark.skipif(
    not hasattr(vector_wrappers, "RecordVideo"), reason="this Gymnasium records no videos of many lanes"
)
needs_table_recorder = pytest.mark.skipif(
    not hasattr(pettingzoo_wrappers, "RecordVideo"), reason="this PettingZoo records no videos"
)


@needs_vector_recorder
def test_gymnasium_records_a_video_of_all_lanes(tmp_path):
    lanes = gymnasium.make_vec(PLAIN["forest"], num_envs=4, render_mode="rgb_array", render_width=100)
    env = vector_wrappers.RecordVideo(lanes, str(tmp_path / "video"), episode_trigger=lambda episode: True)
    env.reset(seed=1)
    for _ in range(3):
        env.step(lanes.action_masks().argmax(1))
    env.close()
    check_video(tmp_path / "video/rl-video-episode-0.mp4", 4, 200)


@needs_table_recorder
@pytest.mark.parametrize("game", GAMES)
def test_pettingzoo_records_a_video(game, tmp_path):
    raw = wrapped_env(game, render_mode="rgb_array", render_width=160)
    env = pettingzoo_wrappers.RecordVideo(raw, str(tmp_path / "video"), episode_trigger=lambda episode: True)
    env.reset(seed=1)
    for _ in range(4):
        env.step(first_legal(env))
    env.close()
    check_video(next((tmp_path / "video").glob("*.mp4")), 5, 160)


@needs_table_recorder
def test_pettingzoo_records_a_video_of_the_parallel_face(tmp_path):
    raw = parallel_env("forest", render_mode="rgb_array", render_width=160)
    env = pettingzoo_wrappers.RecordVideoParallel(raw, str(tmp_path / "video"), episode_trigger=lambda episode: True)
    observations, _ = env.reset(seed=1)
    for _ in range(4):
        actions = {agent: int(seen["action_mask"].argmax()) for agent, seen in observations.items()}
        observations, *_ = env.step(actions)
    env.close()
    check_video(next((tmp_path / "video").glob("*.mp4")), 5, 160)


# --- stock checkers, with a window ------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES)
def test_stock_checkers_pass_with_a_window(game, display):
    render_test(lambda render_mode: wrapped_env(game, render_mode=render_mode, render_width=100))
    check_gymnasium_env(gymnasium.make(PLAIN[game], render_width=100).unwrapped)
