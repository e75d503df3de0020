"""The arena's report: all that was measured stands in it, safely written, and its pictures are true to the figures."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import permutations
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib import get_data_path
from PIL import ImageFont

from spirits_env.arena.contest import Contest, Played
from spirits_env.arena.estimates import Estimate
from spirits_env.arena.report import heading, heat, to_html, to_markdown
from spirits_env.arena.standings import AgentRow, Cell, SeatEffect, SeatShare, Standings, standings

SVG = "{http://www.w3.org/2000/svg}"
VOID = {"meta", "br", "hr", "img", "link", "input"}
NASTY = 'a|b <script>alert("x")</script> & *c* `d`'
# Name, rating and milliseconds, best first.
LADDER = (
    ("policy.onnx+search:64", 1772.0, 31.0),
    ("search:1600", 1750.0, 120.0),
    ("policy.onnx", 1520.0, 0.9),
    ("search:400", 1290.0, 29.0),
    ("greedy", 1000.0, 0.004),
    ("search:100", 972.0, 7.4),
    ("search:25", 540.0, 1.9),
    ("random", 0.0, 0.0004),
)


def estimate(mean: float, half: float | None) -> Estimate:
    if half is None:
        return Estimate(mean, None, None, None)
    return Estimate(mean, mean - half, mean + half, half / 1.96)


def made(
    agents: tuple[tuple[str, float, float | None], ...] = LADDER,
    players: int = 2,
    half: float | None = 0.021,
    kind: str = "field",
) -> Standings:
    """Standings with every figure chosen here: no two games or shares are alike; `half` None is a single deal."""
    par, last = 1 / players, len(agents) - 1
    cell_par = 0.5 if kind == "mixed" else par
    cells = []
    for number, (i, j) in enumerate(permutations(range(len(agents)), 2)):
        games = 1000 + number
        share, margin = estimate(0.05 + 0.015 * number, half), estimate(0.3 * number - 8, half)
        cells.append(Cell(i, j, games, games // players, share, margin, 0.04 + 0.002 * number, 3, 80.5, 1.02))
    rows = tuple(
        AgentRow(
            agent=i,
            name=name,
            games=7000 + i,
            share=estimate(0.75 - i / 20, half),
            margin=estimate(9.5 - i, half),
            rating=rating,
            low=None if i == last or half is None else rating - 20 - 3 * i,
            high=None if i == last or half is None else rating + 25 + 3 * i,
            lead=None if i == last else rating - agents[i + 1][1],
            lead_low=None if i == last or half is None else rating - agents[i + 1][1] - 9,
            lead_high=None if i == last or half is None else rating - agents[i + 1][1] + 11,
            ms=ms,
            decisions=1000 if ms else 0,
            seats=tuple(
                SeatShare(seat, 3500 + 10 * i + seat, 0.411 + 0.01 * i + 0.1 * seat) for seat in range(players)
            ),
        )
        for i, (name, rating, ms) in enumerate(agents)
    )
    seats = []
    for seat in range(players):
        elo = 14.0 * seat - 7 * (players - 1)
        low, high = (None, None) if half is None else (elo - 6, elo + 8)
        seats.append(SeatEffect(seat, estimate(par + 0.01 * seat, half), elo, low, high))
    names = tuple(name for name, _, _ in agents)
    contest = Contest(
        "forest", 1, "9.9.9", players, {"tokens": "<hidden>"}, ("one remark & more",), 77, names, ("",) * len(names)
    )
    return Standings(
        contest=contest,
        kind=kind,
        games=28000,
        deals=512,
        par=par,
        cell_par=cell_par,
        plies=85.2,
        shared_wins=140,
        anchor=last,
        resamples=2000,
        log_likelihood=-1234.5,
        cells=tuple(cells),
        rows=rows,
        seats=tuple(seats),
        triples=(),
    )


ALONE = made((("policy.onnx", 30.0, 1.0), ("random", 0.0, None)), half=None)
ALL = [
    pytest.param(made(), id="ladder"),
    pytest.param(made(players=4), id="four"),
    pytest.param(made(players=3, kind="mixed"), id="mixed"),
    pytest.param(ALONE, id="one deal"),
    pytest.param(made((("twin", 0.0, 1.0), ("random", 0.0, 1.0)), half=None), id="level"),
    pytest.param(made(((NASTY, 5.0, 2.0), ("x" * 200, 4.0, 2.0), ("random", 0.0, 0.001))), id="names"),
    pytest.param(replace(made(), cells=made().cells[3:]), id="pairs missing"),
]


class Reader(HTMLParser):
    """Reads a page strictly: every element is closed in order. Gathers text, attributes and tables."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.tables: list[list[list[str]]] = []
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text.append(data)
        if "td" in self.open or "th" in self.open:
            self.tables[-1][-1][-1] += f"{data} "


def tables_of(markdown: str) -> list[list[list[str]]]:
    """The tables of a Markdown text as rows of cells, each as a reader would see it."""
    tables: list[list[list[str]]] = [[]]
    for line in markdown.splitlines():
        if line.startswith("|"):
            cells = re.split(r"(?<!\\)\|", line)[1:-1]
            tables[-1].append([re.sub(r"\\(.)", r"\1", cell.strip()) for cell in cells])
        elif tables[-1]:
            tables.append([])
    return [table for table in tables if table]


def pictures(page: str) -> list[ElementTree.Element]:
    return [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]


def titled(page: str, start: str) -> ElementTree.Element:
    """The picture whose title starts so."""
    return next(picture for picture in pictures(page) if (picture[0].text or "").startswith(start))


def straight(values: list[float], positions: list[float]) -> tuple[float, float]:
    """The line through all points; fails if one lies more than the rounding of coordinates beside it."""
    slope, start = np.polyfit(values, positions, 1)
    assert np.abs(slope * np.array(values) + start - np.array(positions)).max() < 0.02
    return float(slope), float(start)


def number(element: ElementTree.Element, name: str) -> float:
    return float(element.attrib[name])


def parts(picture: ElementTree.Element, kind: str) -> list[ElementTree.Element]:
    return [element for element in picture.iter() if element.get("class") == kind]


# --- words ------------------------------------------------------------------------------------------------


def test_heading_tells_what_was_played():
    line = heading(made(players=4))
    for fact in (
        "Spirits of the Forest, 4 players",
        "rules version 1",
        "tokens=<hidden>",
        "seed 77",
        "512 deals, 28000 games",
        "equals would win 25.0%",
        "85.2 decisions a game",
        "a deal's games tell 1.02 times what independent ones would",
        "140 shared wins (0.5%)",
        "spirits-env 9.9.9",
        "one remark & more",
    ):
        assert fact in line
    assert "\n" not in line


@pytest.mark.parametrize("given", ALL)
def test_markdown_tables_are_whole(given):
    tables = tables_of(to_markdown(given))
    assert len(tables) == 5
    for table in tables:
        assert len({len(row) for row in table}) == 1
        assert all(set(rule) <= set("-:") for rule in table[1])


@pytest.mark.parametrize("given", ALL)
def test_markdown_holds_every_agent_and_cell(given):
    ratings, matrix, seats, by_seat, _ = tables_of(to_markdown(given))
    names = [" ".join(row.name.split()) for row in given.rows]
    assert [row[1] for row in ratings[2:]] == names
    assert [row[0] for row in matrix[2:]] == names
    assert matrix[0][1:] == names
    for row, line in zip(given.rows, matrix[2:], strict=True):
        for column, text in zip(given.rows, line[1:], strict=True):
            cell = given.cell(row.agent, column.agent)
            if cell is None:
                assert text == "–"
            else:
                assert text.startswith(f"{100 * cell.share.mean:.1f}% (")
                assert text.endswith(f"; {cell.games})")
                assert cell.share.low is None or f"{100 * cell.share.low:.1f}% to {100 * cell.share.high:.1f}%" in text
    for row, line in zip(given.rows, by_seat[2:], strict=True):
        assert line == [row.name, *(f"{100 * seat.share:.1f}% ({seat.games})" for seat in row.seats)]
    assert [line[0] for line in seats[2:]] == [str(seat) for seat in range(given.contest.players)]


def test_ratings_are_told_with_intervals_and_times():
    ratings = tables_of(to_markdown(made()))[0]
    assert ratings[2] == [
        *("1", "policy.onnx+search:64", "+1772", "+1752 to +1797", "+22", "+13 to +33", "75.0%", "72.9% to 77.1%"),
        *("+9.5", "+9.5 to +9.5", "7000", "31"),
    ]
    assert ratings[-1][2:6] == ["0", "fixed", "–", "–"]
    assert ratings[-1][-1] == "0.0004"


@pytest.mark.parametrize(
    ("ms", "words"),
    [(1234.0, "1200"), (120.0, "120"), (31.4, "31"), (9.96, "10"), (0.068, "0.068"), (7e-6, "0.000007")],
)
def test_times_are_written_without_powers_of_ten(ms, words):
    given = made((("slow", 5.0, ms), ("random", 0.0, ms)))
    assert [row[-1] for row in tables_of(to_markdown(given))[0][2:]] == [words, words]
    assert f"; {words} ms a decision" in to_html(given)


def test_one_deal_and_agents_without_games_leave_gaps():
    idle = replace(
        ALONE.rows[0], games=0, share=None, margin=None, seats=(SeatShare(0, 0, None), SeatShare(1, 0, None))
    )
    given = replace(ALONE, rows=(idle, ALONE.rows[1]))
    ratings, _, seats, by_seat, residuals = tables_of(to_markdown(given))
    assert ratings[2] == ["1", "policy.onnx", "+30", "–", "+30", *"–––––", "0", "1"]
    assert ratings[3][-1] == "–"
    assert seats[2][2] == "–"
    assert by_seat[2][1:] == ["–", "–"]
    assert residuals[2][6] == "–"
    assert "None" not in Reader(to_html(given)).text
    assert "nan" not in to_html(given)


@pytest.mark.parametrize(
    ("players", "kind", "words", "pairs"),
    [
        (2, "field", "against the column's, shared wins counted one half", 28),
        (4, "field", "where the column's sits in all other seats", 56),
        (3, "mixed", "finished ahead of the column's where both sat", 28),
    ],
)
def test_residuals_come_by_size_and_mirrors_once(players, kind, words, pairs):
    given = made(players=players, kind=kind)
    text = to_markdown(given)
    assert words in text
    lines = tables_of(text)[4][2:]
    size = [abs(float(line[5].split()[0])) for line in lines]
    assert size == sorted(size, reverse=True)
    assert len(lines) == 12 < pairs
    told = {(line[0], line[1]) for line in lines}
    assert any((b, a) in told for a, b in told) == (pairs == 56)
    for line in lines:
        measured, predicted = float(line[2][:-1]), float(line[4][:-1])
        assert float(line[5].split()[0]) == pytest.approx(measured - predicted, abs=0.11)
        assert line[6] == ("yes" if abs(measured - predicted) < 2.1 else "no")


def test_residuals_say_whether_chance_may_be_why():
    """With three agents the pairs' residuals are 1, 2.3 and 4.9 points, and the intervals 2.1 points to each side."""
    lines = tables_of(to_markdown(made(LADDER[-3:])))[4][2:]
    assert [line[5:7] for line in lines] == [["+4.9 points", "no"], ["+2.3 points", "no"], ["+1.0 points", "yes"]]


def test_triples_are_told_as_circles():
    assert "none found" in to_markdown(made())
    given = replace(made(), triples=((0, 2, 4), (1, 3, 5)))
    for text in (to_markdown(given), " ".join(Reader(to_html(given)).text)):
        assert "policy.onnx+search:64 beats policy.onnx, policy.onnx beats greedy, greedy beats policy.onnx+sea" in text
        assert "search:1600 beats search:400, search:400 beats search:100, search:100 beats search:1600." in text
        assert "none found" not in text


# --- page -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", ALL)
def test_page_is_whole_and_stands_alone(given):
    page = to_html(given)
    reader = Reader(page)
    assert page.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert reader.tags.count("title") >= 1
    assert not {"script", "link", "img", "iframe", "object"} & set(reader.tags)
    assert not {"src", "href", "srcset", "onload", "onclick"} & {name for name, _ in reader.attributes}
    assert not re.findall(r"url\(|@import", page)
    assert set(re.findall(r"\w+://[^\"' ]*", page)) == {"http://www.w3.org/2000/svg"}
    for picture in pictures(page):
        assert picture.get("role") == "img"
        assert picture[0].tag == f"{SVG}title"
        assert picture[0].text
    for table in reader.tables:
        assert len({len(row) for row in table}) == 1


@pytest.mark.parametrize("given", ALL)
def test_page_says_what_the_markdown_says(given):
    def words(text: str) -> list[str]:
        return re.findall(r"[^\s();]+", text)

    shown, told = Reader(to_html(given)).tables, tables_of(to_markdown(given))
    # The heat map writes "n =" before the number of games.
    shown[1] = [[cell.replace("n = ", "") for cell in row] for row in shown[1]]
    for table, lines in zip(shown, told, strict=True):
        for row, line in zip(table, [lines[0], *lines[2:]], strict=True):
            for cell, text in zip(row, line, strict=True):
                assert words(cell) == words(text)


def test_names_are_escaped_everywhere():
    given = made(((NASTY, 5.0, 2.0), ("random", 0.0, None)))
    page = to_html(given)
    assert "<script" not in page
    reader = Reader(page)
    assert NASTY in reader.text
    titles = [value for name, value in reader.attributes if name == "title"]
    assert titles[0].startswith(f"{NASTY} against random: ")
    markdown = to_markdown(given)
    assert not re.findall(r"(?<!\\)<", markdown)
    assert tables_of(markdown)[0][2][1] == NASTY


def test_heat_cells_carry_their_colour_and_all_figures():
    given = made(players=4)
    page = to_html(given)
    for cell in given.cells:
        row, column = given.contest.agents[cell.agent], given.contest.agents[cell.opponent]
        about = f"{row} against {column}: {cell.share.mean:.1%}"
        found = re.findall(rf'<td style="background: ([^"]*)" title="{re.escape(about)}[^"]* {cell.games} games', page)
        assert found == [heat(cell.share.mean, 0.25)]


# --- colours ----------------------------------------------------------------------------------------------


def tint(share: float, par: float) -> tuple[tuple[int, ...], float]:
    red, green, blue, alpha = re.fullmatch(r"rgba\((\d+), (\d+), (\d+), ([\d.]+)\)", heat(share, par)).groups()  # type: ignore[union-attr]
    return (int(red), int(green), int(blue)), float(alpha)


@pytest.mark.parametrize("par", [1 / 2, 1 / 3, 1 / 4])
def test_colours_are_symmetric_about_par(par):
    assert tint(par, par)[1] == 0
    more, strongest = tint(1, par)
    less, _ = tint(0, par)
    assert more[2] > more[0]
    assert less[0] > less[2]
    for part in (0.1, 0.25, 0.5, 0.9, 1.0):
        above, below = tint(par + part * (1 - par), par), tint(par - part * par, par)
        assert above[0] == more
        assert below[0] == less
        assert above[1] == pytest.approx(below[1], abs=0.001)
        assert above[1] == pytest.approx(part * strongest, abs=0.001)


def test_figures_can_be_read_on_every_colour():
    def light(colour: tuple[float, ...]) -> float:
        """Relative luminance, as the Web Content Accessibility Guidelines 2 define it."""
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (part / 255 for part in colour)]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    page = to_html(made())
    papers = [bytes.fromhex(paper) for paper in re.findall(r"--page: #(\w{6})", page)]
    inks = [bytes.fromhex(ink) for ink in re.findall(r"--ink: #(\w{6})", page)]
    assert len(papers) == len(inks) == 3
    for paper, ink in zip(papers, inks, strict=True):
        for share in (0.0, 0.3, 0.5, 0.7, 1.0):
            colour, alpha = tint(share, 0.5)
            mixed = tuple(alpha * over + (1 - alpha) * under for over, under in zip(colour, paper, strict=True))
            dark, bright = sorted((light(mixed), light(tuple(ink))))
            assert (bright + 0.05) / (dark + 0.05) >= 4.5


# --- pictures ---------------------------------------------------------------------------------------------


def marks(picture: ElementTree.Element) -> dict[str, ElementTree.Element]:
    """The groups of a picture by the name in their title."""
    return {(group[0].text or "").rsplit(": ", 1)[0]: group for group in picture.iter(f"{SVG}g")}


def test_ratings_stand_where_the_axis_says():
    given = made()
    picture = titled(to_html(given), "Ratings")
    groups = marks(picture)
    assert list(groups) == [row.name for row in given.rows]
    values, positions = [], []
    for row in given.rows:
        group = groups[row.name]
        values.append(row.rating)
        positions.append(number(parts(group, "dot")[0], "cx"))
        for bar in parts(group, "bar"):
            values += [row.low, row.high]
            positions += [number(bar, "x1"), number(bar, "x2")]
        assert len(parts(group, "bar")) == (row.low is not None)
    ticks = parts(picture, "tick")
    values += [float(tick.text or "") for tick in ticks]
    positions += [number(tick, "x") for tick in ticks]
    slope, _ = straight(values, positions)
    assert slope > 0
    assert len(ticks) >= 4
    heights = [number(parts(group, "dot")[0], "cy") for group in groups.values()]
    assert heights == sorted(heights)
    names = parts(picture, "name")
    assert [name.text for name in names] == [row.name for row in given.rows]
    assert [number(name, "y") for name in names] == pytest.approx(heights, abs=6)


def test_seats_stand_where_the_axis_says():
    given = made(players=4)
    picture = titled(to_html(given), "Worth of the seats")
    groups = marks(picture)
    values, positions = [], []
    for seat in given.seats:
        group = groups[f"seat {seat.seat}"]
        values += [seat.elo, seat.low, seat.high]
        bar = parts(group, "bar")[0]
        positions += [number(parts(group, "dot")[0], "cx"), number(bar, "x1"), number(bar, "x2")]
    values += [float(tick.text or "") for tick in parts(picture, "tick")]
    positions += [number(tick, "x") for tick in parts(picture, "tick")]
    assert straight(values, positions)[0] > 0


def milliseconds(text: str) -> float:
    figure, unit = text.split()
    return float(figure) * {"µs": 1e-3, "ms": 1.0, "s": 1e3}[unit]


def test_times_stand_on_a_logarithmic_axis():
    given = made()
    picture = titled(to_html(given), "Rating against time")
    groups = marks(picture)
    across: tuple[list[float], list[float]] = ([], [])
    up: tuple[list[float], list[float]] = ([], [])
    for row, group in zip(given.rows, groups.values(), strict=True):
        assert (group[0].text or "").startswith(f"{row.name}: ")
        dot = parts(group, "dot")[0]
        across[0].append(math.log10(row.ms or 0))
        across[1].append(number(dot, "cx"))
        up[0].append(row.rating)
        up[1].append(number(dot, "cy"))
        for bar in parts(group, "bar"):
            up[0].extend([row.low or 0, row.high or 0])
            up[1].extend([number(bar, "y1"), number(bar, "y2")])
    for tick in parts(picture, "tick"):
        if re.fullmatch(r"-?[\d.]+", tick.text or ""):
            up[0].append(float(tick.text or ""))
            up[1].append(number(tick, "y") - 4.5)
        else:
            across[0].append(math.log10(milliseconds(tick.text or "")))
            across[1].append(number(tick, "x"))
    assert straight(*across)[0] > 0
    assert straight(*up)[0] < 0


def test_agents_without_a_time_are_named_beside_the_picture():
    page = to_html(made((("policy.onnx", 30.0, 1.0), ("idle", 20.0, None), ("random", 0.0, 0.001))))
    assert "Not shown, as no time was taken: idle." in " ".join(Reader(page).text)
    assert {name.text for name in parts(titled(page, "Rating against time"), "name")} == {"policy.onnx", "random"}
    none = to_html(made((("policy.onnx", 30.0, None), ("random", 0.0, None))))
    assert len(pictures(none)) == 2
    assert "Not shown, as no time was taken: policy.onnx, random." in " ".join(Reader(none).text)


CROWD = (*((f"search:{100 + 7 * k}:c{k}", 300.0 - 12 * k, 5.0 + 0.8 * k) for k in range(10)), ("random", 0.0, 0.002))
LONG = (
    ("runs/" + "long" * 30 + "/policy.onnx", 900.0, 9000.0),
    ("x" * 28, 895.0, 8500.0),
    ("W" * 28, 400.0, 0.5),
    ("random", 0.0, 0.0011),
)


@pytest.mark.parametrize("agents", [LADDER, CROWD, LONG], ids=["ladder", "crowd", "long"])
def test_names_do_not_overlap_and_are_not_cut_off(agents):
    # A wide typeface that Matplotlib brings along.
    font = ImageFont.truetype(f"{get_data_path()}/fonts/ttf/DejaVuSans.ttf", 13)
    for picture in pictures(to_html(made(agents))):
        _, _, right, bottom = (float(part) for part in picture.attrib["viewBox"].split())
        boxes = []
        for text in picture.iter(f"{SVG}text"):
            if text.get("transform"):
                continue
            long = font.getlength(text.text or "")
            part = {"start": 0.0, "middle": 0.5, "end": 1.0}[text.attrib["text-anchor"]]
            left, y = number(text, "x") - part * long, number(text, "y")
            boxes.append((left, y - 10, left + long, y + 3))
        for place, box in enumerate(boxes):
            assert box[0] >= 0
            assert box[1] >= 0
            assert box[2] <= right
            assert box[3] <= bottom
            for other in boxes[:place]:
                apart = box[2] <= other[0] or other[2] <= box[0] or box[3] <= other[1] or other[3] <= box[1]
                assert apart


# --- from games on ----------------------------------------------------------------------------------------


def test_report_of_played_games():
    """Eight deals of two agents, each in both seats: the first wins three of four games."""
    played = [
        Played(
            table=table,
            deal=deal,
            seats=((table[0], table[1]), (table[1], table[0])),
            share=((1.0, 0.0), (0.0, 1.0)) if deal % 2 else ((1.0, 0.0), (1.0, 0.0)),
            points=((20, 10), (10, 20)) if deal % 2 else ((20, 10), (20, 10)),
            place=((0, 1), (1, 0)) if deal % 2 else ((0, 1), (0, 1)),
            plies=(80, 90),
            decisions=(85, 85),
            seconds=(0.17, 0.0017),
        )
        for table in ((1, 0),)
        for deal in range(8)
    ]
    contest = Contest("forest", 1, "9.9.9", 2, {}, (), 5, ("random", "greedy"), ("", ""))
    given = standings(contest, played, bootstrap=50)
    ratings, matrix, seats, by_seat, residuals = tables_of(to_markdown(given))
    assert [line[1] for line in ratings[2:]] == ["greedy", "random"]
    assert ratings[2][6] == "75.0%"
    assert ratings[2][-2:] == ["16", "2"]
    assert ratings[3][-1] == "0.02"
    assert matrix[2][2].startswith("75.0% (")
    assert matrix[3][1].startswith("25.0% (")
    assert [line[3] for line in seats[2:]] == ["75.0%", "25.0%"]
    assert by_seat[2][1:] == ["100.0% (8)", "50.0% (8)"]
    assert len(residuals) == 3
    assert "85.0 decisions a game" in heading(given)
    assert len(pictures(to_html(given))) == 3
