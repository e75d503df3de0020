"""`spirits policies`: the trained policies that come with the package; and how a policy's card is shown.

Figures of strength are the ones kept in the card when the policy was measured; nothing is played here.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from spirits_env import policies
from spirits_env.agents.policy import read_card
from spirits_env.arena import Match, Result
from spirits_env.arena.tables import Table, span
from spirits_env.cli.common import OK, show_json, show_results, show_table

# Every game has this opponent.
_YARDSTICK = "greedy"
_LISTS = {"weaknesses": "Known weaknesses", "commands": "Made with"}


def add(commands: Any) -> None:
    """Add `spirits policies`."""
    parser = commands.add_parser(
        "policies",
        help="list the policies of the package",
        description="List the trained policies that come with the package: what they play, how much they learned from, "
        'what was measured. "spirits info" with the name of one tells all that its card says.',
        examples=("spirits policies", f"spirits info {policies.EXAMPLE}"),
    )
    parser.add_argument("--json", action="store_true", help="print all cards by name, as JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run `spirits policies`."""
    cards = {policies.PREFIX + name: read_card(policies.path(name)) for name in policies.names()}
    if arguments.json:
        show_json(cards)
    else:
        _print_list(cards)
    return OK


def _print_list(cards: Mapping[str, Mapping[str, Any]]) -> None:
    """Print a line per policy."""
    columns = ("policy", "game", "players", "decisions", "parameters", "size", f"wins from {_YARDSTICK}")
    rows = [
        (
            policy,
            card["game"],
            _written(card["players"]),
            _written(card["training"].get("decisions", "–")),
            _written(card["training"].get("parameters", "–")),
            _size(policy),
            _strength(_results(policy, card)),
        )
        for policy, card in cards.items()
    ]
    show_table(Table(columns, tuple(rows), 3))
    remarks = [f"{policy}: {remark}" for policy, card in cards.items() for remark in card.get("remarks", [])]
    if remarks:
        print("", *remarks, sep="\n")


def show_card(policy: str, card: Mapping[str, Any]) -> None:
    """Print all that a card says.

    Args:
        policy: The file, or the name of a policy of the package.
        card: Its card.

    Raises:
        ValueError: If a part of the card is damaged; nothing is printed then.
    """
    results = _results(policy, card)
    lists = {head: _lines(policy, card, key) for key, head in _LISTS.items()}
    facts = [("file", policies.locate(policy).name), ("size", _size(policy))]
    facts += [fact for key, value in card.items() if key not in ("results", *_LISTS) for fact in _facts(key, value)]
    show_table(Table((policy, ""), tuple(facts), 2))
    for _, group in groupby(results, lambda result: (result.players, result.seed, result.matches[0].deals)):
        print()
        show_results(list(group))
    for head, lines in lists.items():
        if lines:
            print("", f"{head}:", "", *(f"- {line}" for line in lines), sep="\n")


def _facts(key: str, value: Any) -> Iterator[tuple[str, str]]:
    """A value's lines: one for each entry of what has names."""
    if isinstance(value, dict) and value:
        for name, entry in value.items():
            yield from _facts(f"{key}: {name}", entry)
    else:
        yield key, _written(value)


def _written(value: Any) -> str:
    """A value for people."""
    if isinstance(value, list):
        return ", ".join(_written(entry) for entry in value) or "–"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return value if isinstance(value, str) else json.dumps(value)


def _size(policy: str) -> str:
    """The size of a policy's file."""
    return f"{policies.locate(policy).stat().st_size / 1e6:.2f} MB"


def _results(policy: str, card: Mapping[str, Any]) -> list[Result]:
    """The evaluations that a card keeps."""
    try:
        results = [Result.from_dict(value) for value in card.get("results", [])]
        if all(result.matches for result in results):
            return results
    except (AttributeError, KeyError, TypeError, ValueError):
        pass
    raise ValueError(f"{policies.locate(policy)} has damaged results in its card; export it again.")


def _lines(policy: str, card: Mapping[str, Any], key: str) -> list[str]:
    """The texts that a card lists under a key."""
    lines = card.get(key, [])
    if isinstance(lines, list) and all(isinstance(line, str) for line in lines):
        return lines
    raise ValueError(f"{policies.locate(policy)} has damaged {key} in its card; export it again.")


def _strength(results: list[Result]) -> str:
    """For each number of players the win share that was measured first, with its interval."""
    found: dict[int, Match] = {}
    for result in results:
        for match in result.matches:
            if match.opponent == _YARDSTICK:
                found.setdefault(result.players, match)
    return (
        "; ".join(
            f"{players}p {match.share.mean:.1%} ({span(match.share, '{:.1%}')})"
            for players, match in sorted(found.items())
        )
        or "–"
    )
