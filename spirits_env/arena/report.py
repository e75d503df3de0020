"""An arena's standings for people: as Markdown, and as one page that needs nothing but itself.

The matrix of win shares is the claim of record; ratings, seats and residuals stand beside it to be judged by it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from html import escape
from statistics import median
from typing import NamedTuple

from spirits_env import games as listing
from spirits_env.arena.standings import AgentRow, Cell, Standings
from spirits_env.arena.tables import Table, between, markdown, mean, milliseconds, plain, span

# Residuals shown: enough to see a pattern, few enough to read.
_MOST = 12
# Blue and orange that people with any kind of colour vision tell apart, as red, green and blue; see `heat`.
_MORE, _LESS = (0, 114, 178), (213, 94, 0)
# The strongest tint on which dark text on a light page and light text on a dark page can still be read.
_STRONGEST = 0.62

# --- what is told, in words and tables --------------------------------------------------------------------


class _Section(NamedTuple):
    """A part of the report: a title, what there is to know before its tables, and these."""

    title: str
    note: str
    tables: tuple[Table, ...]


def _title(standings: Standings) -> str:
    """What was played, in a few words."""
    contest = standings.contest
    return f"{listing.load(contest.game).title}, {contest.players} players"


def _facts(standings: Standings) -> list[str]:
    """What must be known to play the same games again."""
    contest = standings.contest
    return [
        f"rules version {contest.game_version}",
        ", ".join(f"{name}={value}" for name, value in contest.options.items()) or "no options",
        f"seed {contest.seed}",
        f"{standings.deals} deals, {standings.games} games",
        f"equals would win {standings.par:.1%}",
        f"{standings.plies:.1f} decisions a game",
        *_efficiency(standings),
        f"{standings.shared_wins} shared wins ({standings.shared_wins / max(standings.games, 1):.1%})",
        f"spirits-env {contest.package_version}",
        *contest.remarks,
    ]


def _efficiency(standings: Standings) -> list[str]:
    """How much the games of a deal tell, beside independent ones: if it is far from 1, luck of the deal matters."""
    told = [cell.deal_efficiency for cell in standings.cells if cell.deal_efficiency is not None]
    return [f"a deal's games tell {median(told):.2f} times what independent ones would"] if told else []


def heading(standings: Standings) -> str:
    """One line that says what was played."""
    return f"{_title(standings)}; {'; '.join(_facts(standings))}."


def _sections(standings: Standings) -> tuple[_Section, _Section, _Section, _Section, _Section]:
    """All parts of the report: ratings, matrix, seats, residuals, triples."""
    return (
        _Section("Ratings", _rating_note(standings), (_rating_table(standings),)),
        _Section("Who beats whom", _matrix_note(standings), (_matrix_table(standings),)),
        _Section("Seats", _SEAT_NOTE, (_seat_table(standings), _agent_seat_table(standings))),
        _Section("What the ratings do not tell", _RESIDUAL_NOTE, (_residual_table(standings),)),
        _Section("Non-transitive triples", _triple_note(standings), ()),
    )


def _rating_note(standings: Standings) -> str:
    """How the ratings came about."""
    return (
        f"Ratings in Elo, fitted to all games at once; {_names(standings)[standings.anchor]} is fixed at 0. Intervals "
        f"hold 95 % of {standings.resamples} fits to resampled deals. Those of ratings all share the doubt about the "
        "distance to the agent at 0, so they overlap even where agents are clearly apart: the lead over the next agent "
        "below has an interval without it. Win share and margin are over each agent's own games, so they depend on "
        "whom it met. Times are of decisions asked in batches."
    )


def _names(standings: Standings) -> dict[int, str]:
    """Names of the agents by number."""
    return {row.agent: row.name for row in standings.rows}


def _rating_table(standings: Standings) -> Table:
    """The agents, best first."""
    rows = [
        (
            str(rank),
            row.name,
            f"{row.rating:+.0f}" if row.agent != standings.anchor else f"{row.rating:.0f}",
            "fixed" if row.agent == standings.anchor else between(row.low, row.high, "{:+.0f}"),
            "–" if row.lead is None else f"{row.lead:+.0f}",
            between(row.lead_low, row.lead_high, "{:+.0f}"),
            mean(row.share, "{:.1%}"),
            span(row.share, "{:.1%}"),
            mean(row.margin, "{:+.1f}"),
            span(row.margin, "{:+.1f}"),
            str(row.games),
            milliseconds(row.ms),
        )
        for rank, row in enumerate(standings.rows, 1)
    ]
    interval = "95 % interval"
    columns = ("rank", "agent", "rating", interval, "lead", interval, "win share", interval, "margin", interval)
    return Table((*columns, "games", "ms a decision"), tuple(rows), 2)


def _matrix_note(standings: Standings) -> str:
    """What a cell of the matrix says."""
    if standings.kind == "mixed":
        meaning = "how often the row's agent finished ahead of the column's where both sat, level counted one half"
    elif standings.contest.players == 2:
        meaning = "the win share of the row's agent against the column's, shared wins counted one half"
    else:
        meaning = "the win share of the row's agent where the column's sits in all other seats, shared wins shared"
    return (
        f"Each cell is {meaning}, with its 95 % interval and the number of games. Equals get {standings.cell_par:.1%}."
    )


def _matrix_table(standings: Standings) -> Table:
    """Share, interval and games of every pair."""
    rows = [
        (row.name, *(_cell_text(standings.cell(row.agent, column.agent)) for column in standings.rows))
        for row in standings.rows
    ]
    return Table(("agent ↓ against →", *(row.name for row in standings.rows)), tuple(rows), 1)


def _cell_text(cell: Cell | None) -> str:
    """A cell of the matrix in words."""
    if cell is None:
        return "–"
    return f"{cell.share.mean:.1%} ({span(cell.share, '{:.1%}')}; {cell.games})"


_SEAT_NOTE = (
    "What a seat is worth beside the agents in it, in Elo (all seats sum to 0), and what it won; then each agent's win "
    "share by seat, with its games there."
)


def _seat_table(standings: Standings) -> Table:
    """What each seat is worth."""
    rows = [
        (
            str(seat.seat),
            f"{seat.elo:+.0f}",
            between(seat.low, seat.high, "{:+.0f}"),
            f"{seat.share.mean:.1%}",
            span(seat.share, "{:.1%}"),
        )
        for seat in standings.seats
    ]
    return Table(("seat", "worth in Elo", "95 % interval", "win share", "95 % interval"), tuple(rows), 1)


def _agent_seat_table(standings: Standings) -> Table:
    """Each agent's win share by seat."""
    rows = [
        (row.name, *("–" if seat.share is None else f"{seat.share:.1%} ({seat.games})" for seat in row.seats))
        for row in standings.rows
    ]
    return Table(("agent", *(f"seat {seat.seat}" for seat in standings.seats)), tuple(rows), 1)


_RESIDUAL_NOTE = (
    "Ratings need not add up: one number per agent can't say that one opponent suits it better than another. These are "
    "the pairs whose measured share lies farthest from what the ratings predict. Where the two differ, the matrix is "
    "the claim of record."
)


def _residual_table(standings: Standings) -> Table:
    """The pairs that the ratings predict worst."""
    names = _names(standings)
    rows = [
        (
            names[cell.agent],
            names[cell.opponent],
            f"{cell.share.mean:.1%}",
            span(cell.share, "{:.1%}"),
            f"{cell.predicted:.1%}",
            f"{100 * cell.residual:+.1f} points",
            _held(cell),
            str(cell.games),
        )
        for cell in _told_once(standings)[:_MOST]
    ]
    columns = (
        "agent",
        "against",
        "measured",
        "95 % interval",
        "predicted",
        "difference",
        "in the interval",
        "games",
    )
    return Table(columns, tuple(rows), 2)


def _held(cell: Cell) -> str:
    """Whether chance alone may be why the prediction differs."""
    if cell.share.low is None or cell.share.high is None:
        return "–"
    return "yes" if cell.share.low <= cell.predicted <= cell.share.high else "no"


def _told_once(standings: Standings) -> list[Cell]:
    """The cells by size of the residual, without those that tell of the same games from the other side."""
    if standings.contest.players > 2 and standings.kind != "mixed":
        return list(standings.residuals)
    rank = {row.agent: number for number, row in enumerate(standings.rows)}
    return [cell for cell in standings.residuals if rank[cell.agent] < rank[cell.opponent]]


def _triple_note(standings: Standings) -> str:
    """Agents that beat one another in a circle."""
    names = _names(standings)
    circles = [", ".join(f"{names[a]} beats {names[b]}" for a, b in _steps(triple)) for triple in standings.triples]
    rule = f"the whole 95 % interval of its share lies above {standings.cell_par:.1%}"
    found = "; ".join(circles) or "none found"
    return f"Agents that beat one another in a circle, where one beats another if {rule}: {found}."


def _steps(triple: tuple[int, int, int]) -> Iterator[tuple[int, int]]:
    """Who beats whom in a circle of three."""
    return zip(triple, (*triple[1:], triple[0]), strict=True)


# --- Markdown ---------------------------------------------------------------------------------------------


def to_markdown(standings: Standings) -> str:
    """Show standings as Markdown: a line of facts, then ratings, matrix, seats, residuals and triples.

    Args:
        standings: What the games say.
    """
    blocks = [plain(heading(standings))]
    for section in _sections(standings):
        blocks += [f"## {section.title}", plain(section.note), *map(markdown, section.tables)]
    return "\n\n".join(blocks) + "\n"


# --- page -------------------------------------------------------------------------------------------------

_STYLE = """
:root { color-scheme: light dark; --page: #ffffff; --ink: #1d1f22; --faint: #5d636b; --line: #d4d7db; }
@media (prefers-color-scheme: dark) {
  :root { --page: #15171a; --ink: #e9eaec; --faint: #a3a9b1; --line: #3a3f45; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1rem; background: var(--page); color: var(--ink);
  font: 1rem/1.5 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0.5rem 0; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 0.4rem; }
p { max-width: 46rem; margin: 0.4rem 0 0.8rem; overflow-wrap: anywhere; }
.facts { display: flex; flex-wrap: wrap; gap: 0.1rem 1.2rem; padding: 0; margin: 0; list-style: none;
  color: var(--faint); overflow-wrap: anywhere; }
.wide { overflow-x: auto; margin: 0.8rem 0; }
table { border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.3rem 0.6rem; border-bottom: 1px solid var(--line); text-align: right; vertical-align: middle; }
th { font-weight: 600; }
.name { paint-order: stroke; stroke: var(--page); stroke-width: 4px; stroke-linejoin: round; }
.word { text-align: left; min-width: 5rem; max-width: 15rem; overflow-wrap: anywhere; font-weight: normal; }
thead th { vertical-align: bottom; }
.heat th[scope=row] { position: sticky; left: 0; background: var(--page); }
.heat th[scope=col] { max-width: 8rem; min-width: 5.5rem; overflow-wrap: anywhere; text-align: center; }
.heat td { text-align: center; border: 1px solid var(--page); print-color-adjust: exact;
  -webkit-print-color-adjust: exact; }
.heat td b { display: block; font-size: 1rem; }
.heat td small { display: block; font-size: 0.72rem; line-height: 1.3; white-space: nowrap; }
.key { display: inline-block; width: 12rem; max-width: 50%; height: 0.8rem; margin: 0 0.5rem; vertical-align: middle;
  print-color-adjust: exact; -webkit-print-color-adjust: exact; }
svg { display: block; width: 100%; min-width: 30rem; max-width: 45rem; height: auto; }
@media (max-width: 40rem) { .word { max-width: 8rem; } }
@page { size: landscape; }
@media print {
  :root { color-scheme: light; --page: #ffffff; --ink: #000000; --faint: #444444; --line: #bbbbbb; }
  body { max-width: none; padding: 0; font-size: 0.8rem; }
  .wide { overflow: visible; }
  tr, svg { break-inside: avoid; }
  h2 { break-after: avoid; }
}
"""


def to_html(standings: Standings) -> str:
    """Show standings as one HTML page that fetches nothing and runs nothing.

    Args:
        standings: What the games say.
    """
    ratings, matrix, seats, residuals, triples = _sections(standings)
    title = escape(f"Arena: {_title(standings)}")
    facts = "\n".join(f"<li>{escape(fact)}</li>" for fact in _facts(standings))
    body = [
        f'<h1>{title}</h1>\n<ul class="facts">\n{facts}\n</ul>',
        _html_section(ratings, _wide("Ratings", _rating_chart(standings)), *_html_tables(ratings)),
        _html_section(matrix, _legend(standings), _heat_map(standings)),
        _html_section(
            _Section("Strength against time", _time_note(standings), ()),
            *(_wide("Strength against time", chart) for chart in _time_charts(standings)),
        ),
        _html_section(seats, _wide("Seats", _seat_chart(standings)), *_html_tables(seats)),
        _html_section(residuals, *_html_tables(residuals)),
        _html_section(triples),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        # The page's own promise, kept by the browser: only what stands in the page.
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(body)
        + "\n</main>\n</body>\n</html>\n"
    )


def _html_section(section: _Section, *parts: str) -> str:
    """A section of the page."""
    inner = "\n".join([f"<h2>{escape(section.title)}</h2>", f"<p>{escape(section.note)}</p>", *parts])
    return f"<section>\n{inner}\n</section>"


def _html_tables(section: _Section) -> list[str]:
    """The tables of a section, named by its title."""
    return [_html_table(section.title, table) for table in section.tables]


def _wide(label: str, inner: str) -> str:
    """What may be wider than the screen, and is then moved in its own frame."""
    return f'<div class="wide" role="region" aria-label="{escape(label)}" tabindex="0">\n{inner}\n</div>'


def _html_table(label: str, table: Table) -> str:
    """One table; its words head the rows."""
    head = "".join(_html_cell(cell, number < table.labels, "col") for number, cell in enumerate(table.columns))
    rows = "\n".join(
        "<tr>" + "".join(_html_cell(cell, number < table.labels, "row") for number, cell in enumerate(row)) + "</tr>"
        for row in table.rows
    )
    inner = f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"
    return _wide(label, inner)


def _html_cell(text: str, word: bool, scope: str) -> str:
    """A cell of a plain table."""
    kind = ' class="word"' if word else ""
    if word or scope == "col":
        return f'<th scope="{scope}"{kind}>{escape(text)}</th>'
    return f"<td>{escape(text)}</td>"


def heat(share: float, par: float) -> str:
    """Return the CSS colour of a share: a tint that grows evenly from none at par to the strongest at 0 and at 1.

    The tint is transparent, so that par is the page itself, be that light or dark.

    Args:
        share: From 0 to 1.
        par: What equals get, between 0 and 1.
    """
    far = (share - par) / (1 - par) if share >= par else (par - share) / par
    red, green, blue = _MORE if share >= par else _LESS
    return f"rgba({red}, {green}, {blue}, {_STRONGEST * far:.3f})"


def _legend(standings: Standings) -> str:
    """What the colours of the matrix mean."""
    par = standings.cell_par
    colours = ", ".join((heat(0, par), heat(par, par), heat(1, par)))
    return (
        f'<p>0% <span class="key" style="background: linear-gradient(to right, {colours})"></span> 100%, '
        f"without colour at {par:.1%}</p>"
    )


def _heat_map(standings: Standings) -> str:
    """The matrix of win shares, coloured."""
    head = "".join(f'<th scope="col">{escape(row.name)}</th>' for row in standings.rows)
    rows = "\n".join(
        f'<tr><th scope="row" class="word">{escape(row.name)}</th>'
        + "".join(_heat_cell(standings, row, column) for column in standings.rows)
        + "</tr>"
        for row in standings.rows
    )
    corner = '<th scope="col" class="word">agent ↓ against →</th>'
    table = f'<table class="heat">\n<thead><tr>{corner}{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>'
    return _wide("Win shares", table)


def _heat_cell(standings: Standings, row: AgentRow, column: AgentRow) -> str:
    """A coloured cell: share, interval and games, and all there is to say where a pointer rests on it."""
    cell = standings.cell(row.agent, column.agent)
    if cell is None:
        return "<td>–</td>"
    share = cell.share
    about = (
        f"{row.name} against {column.name}: {share.mean:.1%}, "
        f"95 % interval {span(share, '{:.1%}')}, {cell.games} games on {cell.deals} deals; "
        f"margin {cell.margin.mean:+.1f}, 95 % interval {span(cell.margin, '{:+.1f}')}; predicted {cell.predicted:.1%}"
    )
    return (
        f'<td style="background: {heat(share.mean, standings.cell_par)}" title="{escape(about)}">'
        f"<b>{share.mean:.1%}</b><small>{span(share, '{:.1%}')}</small>"
        f"<small>n = {cell.games}</small></td>"
    )


# --- charts -----------------------------------------------------------------------------------------------

_BLUE = "#3A87C8"
_WIDTH = 720
_FONT = 13
# Widths of letters by the size of the font: those of a wide typeface, so that no text is wider than it is taken to be.
_NARROW, _BROAD, _CAPITAL, _OTHER = 0.42, 1.0, 0.79, 0.65
_LONGEST = 28


class _Mark(NamedTuple):
    """A value with its interval and its name."""

    name: str
    value: float
    low: float | None
    high: float | None


class _Box(NamedTuple):
    """A rectangle of a chart."""

    left: float
    top: float
    right: float
    bottom: float

    def shared(self, other: _Box) -> float:
        """The area that two rectangles share."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(width, 0.0) * max(height, 0.0)

    def outside(self, frame: _Box) -> float:
        """The area that lies outside a frame."""
        return (self.right - self.left) * (self.bottom - self.top) - self.shared(frame)


def _svg(title: str, height: float, parts: Sequence[str]) -> str:
    """A chart as an SVG element; its ink is that of the text around it."""
    inner = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {_WIDTH} {height:.0f}" font-size="{_FONT}" '
        f'font-family="system-ui, DejaVu Sans, sans-serif" fill="currentColor">\n'
        f"<title>{escape(title)}</title>\n{inner}\n</svg>"
    )


def _line(x1: float, y1: float, x2: float, y2: float, kind: str, opacity: float = 1.0, width: float = 1.0) -> str:
    """A straight line."""
    return (
        f'<line class="{kind}" x1="{x1:.2f}" y1="{y1:.2f}" x2="{x2:.2f}" y2="{y2:.2f}" stroke="currentColor" '
        f'stroke-width="{width:g}" stroke-opacity="{opacity:g}"/>'
    )


def _text(x: float, y: float, text: str, kind: str = "tick", anchor: str = "middle", turn: str = "") -> str:
    """A line of text that stands on `y`."""
    return f'<text class="{kind}" x="{x:.2f}" y="{y:.2f}" text-anchor="{anchor}"{turn}>{escape(text)}</text>'


def _dot(x: float, y: float) -> str:
    """The mark of a value."""
    return f'<circle class="dot" cx="{x:.2f}" cy="{y:.2f}" r="4.5" fill="{_BLUE}"/>'


def _short(name: str) -> str:
    """A name that fits beside a chart; the end of a path tells more than its beginning."""
    return name if len(name) <= _LONGEST else f"…{name[1 - _LONGEST :]}"


def _letter_width(letter: str) -> float:
    """The room that a letter needs at most, by the size of the font."""
    if letter in "fijlrt.,:;|!'/\\()[] -":
        return _NARROW
    if letter in "mwMW@%…#&+<=>^~":
        return _BROAD
    return _CAPITAL if letter.isupper() else _OTHER


def _text_width(text: str) -> float:
    """The room that a line of text needs at most."""
    return _FONT * sum(map(_letter_width, text))


def _scale(low: float, high: float, first: float, last: float) -> Callable[[float], float]:
    """Map values from `low` to `high` evenly to positions from `first` to `last`."""
    return lambda value: first + (value - low) / (high - low) * (last - first)


def _ticks(low: float, high: float, most: int = 8) -> list[float]:
    """Round values, at most `most` of even distance, the first at or below `low` and the last at or above `high`."""
    if high <= low:
        low, high = low - 1, high + 1
    step = 10.0 ** math.floor(math.log10((high - low) / most))
    for factor in (1, 2, 5, 10, 20, 50):
        first, last = math.floor(low / (factor * step)), math.ceil(high / (factor * step))
        if last - first < most:
            break
    return [number * factor * step for number in range(first, last + 1)]


def _spread(marks: Sequence[_Mark]) -> list[float]:
    """Ticks of an axis on which all intervals and the zero find room."""
    ends = [end for mark in marks for end in (mark.value, mark.low, mark.high) if end is not None]
    return _ticks(min([0.0, *ends]), max([0.0, *ends]))


def _about(mark: _Mark) -> str:
    """A mark in words."""
    return f"{mark.name}: {mark.value:+.0f}, 95 % interval {between(mark.low, mark.high, '{:+.0f}')}"


def _interval_chart(title: str, axis: str, marks: Sequence[_Mark]) -> str:
    """A chart of values with their intervals, one below the other.

    Args:
        title: What the chart shows.
        axis: Name and unit of the values.
        marks: Values from top to bottom.
    """
    row, top = 26.0, 10.0
    left = max(_text_width(_short(mark.name)) for mark in marks) + 18
    ticks = _spread(marks)
    at = _scale(ticks[0], ticks[-1], left, _WIDTH - 28)
    bottom = top + row * len(marks)
    parts = [_line(at(tick), top, at(tick), bottom, "grid", 0.6 if tick == 0 else 0.15) for tick in ticks]
    parts += [_text(at(tick), bottom + 18, f"{tick:g}") for tick in ticks]
    parts.append(_text((left + _WIDTH - 28) / 2, bottom + 38, axis, "axis"))
    for number, mark in enumerate(marks):
        y = top + row * (number + 0.5)
        parts.append(_text(left - 12, y + 4.5, _short(mark.name), "name", "end"))
        parts.append(f"<g>\n<title>{escape(_about(mark))}</title>")
        if mark.low is not None and mark.high is not None:
            parts += [_line(at(mark.low), y, at(mark.high), y, "bar", width=1.6)]
            parts += [_line(at(end), y - 5, at(end), y + 5, "cap", width=1.6) for end in (mark.low, mark.high)]
        parts += [_dot(at(mark.value), y), "</g>"]
    return _svg(title, bottom + 48, parts)


def _rating_mark(row: AgentRow) -> _Mark:
    """An agent's rating as a mark."""
    return _Mark(row.name, row.rating, row.low, row.high)


def _rating_chart(standings: Standings) -> str:
    """The ratings with their intervals."""
    marks = [_rating_mark(row) for row in standings.rows]
    return _interval_chart("Ratings with 95 % intervals", "rating (Elo)", marks)


def _seat_chart(standings: Standings) -> str:
    """What the seats are worth, with intervals."""
    marks = [_Mark(f"seat {seat.seat}", seat.elo, seat.low, seat.high) for seat in standings.seats]
    return _interval_chart("Worth of the seats with 95 % intervals", "worth of the seat (Elo)", marks)


def _timed(standings: Standings) -> list[tuple[_Mark, float]]:
    """The agents whose decisions took a time that can be shown, with that time in milliseconds."""
    return [(_rating_mark(row), row.ms) for row in standings.rows if row.ms]


def _time_note(standings: Standings) -> str:
    """What the chart of times shows, and whom it can't."""
    note = "Rating against the mean time of a decision, asked in batches; each step to the right is ten times as long."
    missing = [row.name for row in standings.rows if not row.ms]
    return f"{note} Not shown, as no time was taken: {', '.join(missing)}." if missing else note


def _time_charts(standings: Standings) -> list[str]:
    """The chart of ratings against times; none if no time was taken."""
    timed = _timed(standings)
    return [_time_chart(timed)] if timed else []


def _time_chart(timed: Sequence[tuple[_Mark, float]]) -> str:
    """Ratings against the time of a decision, on a logarithmic axis.

    Args:
        timed: Marks with their time in milliseconds.
    """
    frame = _Box(64, 12, _WIDTH - 34, 372)
    marks = [mark for mark, _ in timed]
    times = [math.log10(ms) for _, ms in timed]
    decades = range(math.floor(min(times) - 0.1), math.ceil(max(times) + 0.1) + 1)
    ticks = _spread(marks)
    across = _scale(decades[0], decades[-1], frame.left, frame.right)
    up = _scale(ticks[0], ticks[-1], frame.bottom, frame.top)
    parts = [_line(frame.left, up(tick), frame.right, up(tick), "grid", 0.6 if tick == 0 else 0.15) for tick in ticks]
    parts += [_text(frame.left - 8, up(tick) + 4.5, f"{tick:g}", anchor="end") for tick in ticks]
    parts += [_line(across(tick), frame.top, across(tick), frame.bottom, "grid", 0.15) for tick in decades]
    parts += [_text(across(tick), frame.bottom + 18, _duration(tick)) for tick in decades[:: -(-len(decades) // 9)]]
    parts.append(_text((frame.left + frame.right) / 2, frame.bottom + 38, "time of a decision", "axis"))
    middle = (frame.top + frame.bottom) / 2
    parts.append(_text(16, middle, "rating (Elo)", "axis", turn=f' transform="rotate(-90 16 {middle:g})"'))
    points = [(across(time), up(mark.value)) for mark, time in zip(marks, times, strict=True)]
    bars = [_bar(mark, x, up) for mark, (x, _) in zip(marks, points, strict=True)]
    for (mark, ms), (x, y), bar in zip(timed, points, bars, strict=True):
        parts.append(f"<g>\n<title>{escape(f'{_about(mark)}; {milliseconds(ms)} ms a decision')}</title>")
        if mark.low is not None and mark.high is not None:
            parts.append(_line(x, bar.bottom, x, bar.top, "bar", width=1.6))
            parts += [_line(x - 5, end, x + 5, end, "cap", width=1.6) for end in (bar.bottom, bar.top)]
        parts += [_dot(x, y), "</g>"]
    return _svg("Rating against time of a decision", frame.bottom + 48, parts + _labels(marks, points, bars, frame))


def _duration(power: int) -> str:
    """A power of ten of milliseconds in words."""
    for unit, size in (("s", 3), ("ms", 0), ("µs", -3)):
        if power >= size:
            return f"{10 ** (power - size)} {unit}"
    return f"{10.0 ** (power + 3):g} µs"


def _bar(mark: _Mark, x: float, up: Callable[[float], float]) -> _Box:
    """Where an upright interval lies; as high as nothing where there is none."""
    low, high = (mark.value if end is None else end for end in (mark.low, mark.high))
    return _Box(x - 5, up(high), x + 5, up(low))


# Where a label may stand, the first `_NEAR` close by: its distance from the point, and the part of its width that lies
# left of there.
_NEAR = 8
_PLACES = tuple(
    (across * ring, up * ring, part)
    for ring in (1.0, 2.2, 3.6, 6.0)
    for across, up, part in (
        (11, 0, 0.0),
        (-11, 0, 1.0),
        (0, -16, 0.5),
        (0, 16, 0.5),
        (9, -13, 0.0),
        (9, 13, 0.0),
        (-9, -13, 1.0),
        (-9, 13, 1.0),
    )
)


def _labels(
    marks: Sequence[_Mark], points: Sequence[tuple[float, float]], bars: Sequence[_Box], frame: _Box
) -> list[str]:
    """Names beside their points, each where it hides least of what stands there already."""
    taken = [*bars, *(_Box(x - 6, y - 6, x + 6, y + 6) for x, y in points)]
    parts = []
    for mark, (x, y) in zip(marks, points, strict=True):
        text = _short(mark.name)
        choices = [_label_box(text, x + across, y + up, part) for across, up, part in _PLACES]
        costs = [
            sum(box.shared(other) for other in taken) + 9 * box.outside(frame) + 2 * number
            for number, box in enumerate(choices)
        ]
        best = costs.index(min(costs))
        box = choices[best]
        taken.append(box)
        if best >= _NEAR:
            parts.append(_line(x, y, min(max(x, box.left), box.right), min(max(y, box.top), box.bottom), "lead", 0.4))
        parts.append(_label(text, box, _PLACES[best][2]))
    return parts


def _label_box(text: str, x: float, middle: float, part: float) -> _Box:
    """The room that a label takes, with `part` of its width left of `x`."""
    width = _text_width(text) + 6
    return _Box(x - part * width, middle - 8, x + (1 - part) * width, middle + 8)


def _label(text: str, box: _Box, part: float) -> str:
    """A name at that side of its room that lies next to the point; see `_label_box`."""
    anchor = {0.0: "start", 0.5: "middle", 1.0: "end"}[part]
    x = box.left + 3 + part * (box.right - box.left - 6)
    return _text(x, (box.top + box.bottom) / 2 + 4.5, text, "name", anchor)
