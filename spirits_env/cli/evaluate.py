"""`spirits evaluate`: measure agents against opponents."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from spirits_env import endgames
from spirits_env.agents import Agent, make_agent
from spirits_env.arena import Result, evaluate, to_markdown
from spirits_env.cli.common import ILLEGAL, OK, add_setting, check_files, show_results
from spirits_env.game import IllegalAction
from spirits_env.policies import EXAMPLE


def add(commands: Any) -> None:
    """Add `spirits evaluate`."""
    parser = commands.add_parser(
        "evaluate",
        help="measure agents against opponents",
        description="Measure each policy against a field of each opponent: every deal is played with the policy in "
        "every seat, all policies and opponents meet the same deals, shared wins are shared.",
        examples=(
            "spirits evaluate greedy --games 200",
            f"spirits evaluate {EXAMPLE}+search:64 --against search:400 --games 100",
        ),
    )
    parser.add_argument(
        "policies",
        nargs="+",
        metavar="POLICY",
        help='an .onnx file or a policy of "spirits policies" (its best action), either with ":sample" after it '
        '(drawn) or "+search:64" (improved by a search), random, greedy, search:400 (playouts) or search:0.2s (time)',
    )
    parser.add_argument(
        "--against", nargs="*", default=None, metavar="AGENT", help="opponents (default: random greedy)"
    )
    add_setting(parser)
    parser.add_argument("--games", type=int, default=1000, help="games per opponent (default: %(default)s)")
    parser.add_argument(
        "--endgames",
        action="store_true",
        help="ask for one decision in each of a fixed set of end positions instead, judged by exact play; "
        "without opponents, and --games says nothing here",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results as JSON")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the results as Markdown tables")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run `spirits evaluate`."""
    against = arguments.against
    if against is None:
        against = [] if arguments.players == 1 else ["random", "greedy"]
    check_files(arguments.json, arguments.markdown)
    agents = [make_agent(policy) for policy in arguments.policies]
    for agent in agents:
        agent.check(arguments.game, arguments.players)
    if arguments.endgames:
        return _judge(agents, arguments)
    results = [
        evaluate(
            agent,
            against,
            game=arguments.game,
            players=arguments.players,
            games=arguments.games,
            seed=arguments.seed,
            options=dict(arguments.option),
            progress=_progress(agent.name),
        )
        for agent in agents
    ]
    # What was played must not be lost to a fault in showing it.
    _write(arguments, results, to_markdown(results))
    show_results(results)
    for match in (match for result in results for match in result.matches if match.illegal_example):
        print(f"spirits: {match.illegal_example}", file=sys.stderr)
    return ILLEGAL if any(result.illegal for result in results) else OK


def _judge(agents: Sequence[Agent], arguments: argparse.Namespace) -> int:
    """Run `spirits evaluate --endgames`."""
    if arguments.against is not None or arguments.option:
        raise ValueError("--endgames has its own positions and no opponents; leave out --against and --option.")
    results: list[endgames.EndgameResult] = []
    try:
        for agent in agents:
            results.append(endgames.judge(agent, arguments.game, arguments.players, arguments.seed))
    except IllegalAction as error:
        print(f"spirits: {error}", file=sys.stderr)
        return ILLEGAL
    finally:
        # Whatever goes wrong with an agent, those before it keep their results.
        if results:
            table = endgames.to_markdown(results)
            _write(arguments, results, table)
            print(table, end="")
    return OK


def _write(
    arguments: argparse.Namespace, results: Sequence[Result] | Sequence[endgames.EndgameResult], table: str
) -> None:
    """Write the files that were asked for."""
    if arguments.json is not None:
        arguments.json.write_text("[" + ",\n".join(result.to_json() for result in results) + "]\n", encoding="utf-8")
    if arguments.markdown is not None:
        arguments.markdown.write_text(table, encoding="utf-8")


def _progress(agent: str) -> Callable[[int, int], None] | None:
    """Show a line of progress where somebody looks on."""
    if not sys.stderr.isatty():
        return None

    def report(finished: int, total: int) -> None:
        end = "\n" if finished >= total else ""
        print(f"\r{agent}: {finished} of {total} games", end=end, file=sys.stderr, flush=True)

    return report
