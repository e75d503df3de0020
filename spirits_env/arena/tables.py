"""Tables for people: how figures and their intervals are written, and how a table looks in Markdown.

Evaluations and arenas write theirs here, so that the same figure looks the same in both.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from spirits_env.arena.estimates import Estimate


class Table(NamedTuple):
    """A table of plain text.

    Attributes:
        columns: What stands above each column.
        rows: The cells.
        labels: So many columns, the first ones, hold words; the others hold figures.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    labels: int


def between(low: float | None, high: float | None, form: str) -> str:
    """Write an interval; a dash where there is none.

    Args:
        low: Lower end.
        high: Upper end.
        form: Format of each end, such as "{:.1%}".
    """
    return "–" if low is None or high is None else f"{form.format(low)} to {form.format(high)}"


def mean(estimate: Estimate | None, form: str) -> str:
    """Write an estimate without its interval; a dash where there is none."""
    return "–" if estimate is None else form.format(estimate.mean)


def span(estimate: Estimate | None, form: str) -> str:
    """Write the interval of an estimate; a dash where there is none."""
    return "–" if estimate is None else between(estimate.low, estimate.high, form)


def milliseconds(ms: float | None) -> str:
    """Write a time with two significant digits, however short or long it is; a dash where there is none."""
    return "–" if ms is None else np.format_float_positional(ms, precision=2, fractional=False, trim="-")


def plain(text: str) -> str:
    """Return text in which Markdown finds neither marks nor tags nor the end of a cell."""
    return re.sub(r"([\\|<&*`\[])", r"\\\1", " ".join(text.split()))


def markdown(table: Table) -> str:
    """Write a table in Markdown, figures to the right; its columns are even, so that it can be read as it is."""
    lines = [[plain(cell) for cell in line] for line in (table.columns, *table.rows)]
    columns = []
    for number, cells in enumerate(zip(*lines, strict=True)):
        width = max(3, *map(len, cells))
        word = number < table.labels
        rule = "-" * width if word else "-" * (width - 1) + ":"
        head, *rest = [cell.ljust(width) if word else cell.rjust(width) for cell in cells]
        columns.append((head, rule, *rest))
    return "\n".join("| " + " | ".join(line) + " |" for line in zip(*columns, strict=True))
