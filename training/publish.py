"""Measures a run's policy and writes it, with what was measured in its card, where the package ships its policies.

The card then says how strong the policy is, in which seats, and by which commands it was made.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import onnx
import yaml

from spirits_env import policies
from spirits_env.agents.policy import CARD_KEY, read_card
from spirits_env.arena import evaluate
from training import checkpoint
from training.run import POLICY

PROGRAM = "python -m training.publish"
# How a match names the policy's best action.
BEST = "best"
# A way to play, a number of games, an opponent.
_FEWEST = 3


def commands_of(run: Path) -> list[str]:
    """Return the commands that made a run, those of the runs that it began with first."""
    config = yaml.safe_load((run / checkpoint.CONFIG).read_text(encoding="utf-8"))
    own = json.loads((run / "run.json").read_text(encoding="utf-8"))["command"]
    start = Path(config.get("start") or "")
    if not config.get("start"):
        return [own]
    earlier = start if (start / checkpoint.CONFIG).is_file() and (start / "run.json").is_file() else start.parents[1]
    return [*commands_of(earlier), own]


class Match(NamedTuple):
    """Games to play.

    Attributes:
        players: In games of how many; 0 for every number that the policy's card names.
        suffix: What the policy's file is followed by, for it to play in some way.
        games: Games against each opponent.
        opponents: The opponents.
    """

    players: int
    suffix: str
    games: int
    opponents: tuple[str, ...]

    @classmethod
    def read(cls, words: Sequence[str]) -> Match:
        """Make one from the words of the command line.

        Raises:
            ValueError: If they are not a way to play, a number of games, and opponents.
        """
        number, *rest = words if re.fullmatch(r"[1-9]p", words[0]) else ("0p", *words)
        way = rest[0] if rest else ""
        known = way in (BEST, "sample") or way.startswith("search:")
        if not known or len(rest) < _FEWEST or not rest[1].isdigit():
            raise ValueError(
                f"--match was {' '.join(words)!r}; give, if it is for one number of players only, that as in 2p, then "
                "best, sample or search:N, the number of games, and opponents."
            )
        suffix = "" if way == BEST else f":{way}" if way == "sample" else f"+{way}"
        return cls(int(number[0]), suffix, int(rest[1]), tuple(rest[2:]))


def measure(path: Path, matches: Sequence[Match], seed: int) -> list[dict[str, Any]]:
    """Play matches.

    Args:
        path: The policy file.
        matches: The matches.
        seed: Names the deals.

    Returns:
        Results as plain JSON values, by numbers of players.
    """
    card = read_card(path)
    results = []
    for players in card["players"]:
        for match in matches:
            if match.players not in (0, players):
                continue
            result = evaluate(
                f"{path}{match.suffix}",
                match.opponents,
                game=card["game"],
                players=players,
                games=match.games,
                seed=seed,
                options=card["options"],
            )
            print(result, flush=True)
            results.append(result.to_dict())
    return results


def write(source: Path, target: Path, more: dict[str, Any]) -> None:
    """Copy a policy file with more in its card; an older file is replaced at once or not at all."""
    model = onnx.load(source)
    (entry,) = [entry for entry in model.metadata_props if entry.key == CARD_KEY]
    entry.value = json.dumps({**json.loads(entry.value), **more})
    draft = target.with_suffix(".part")
    draft.write_bytes(model.SerializeToString())
    draft.replace(target)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog=PROGRAM, description=__doc__)
    parser.add_argument("run", type=Path, help="the folder of a finished run")
    parser.add_argument("--name", required=True, help="the policy's name in the package")
    parser.add_argument(
        "--match",
        nargs="+",
        action="append",
        required=True,
        metavar="WORD",
        help="how to play (best, sample, search:64), the number of games, the opponents (best 1000 random greedy), "
        "before them 2p if only games of two players are meant; may be given several times",
    )
    parser.add_argument("--weakness", action="append", default=[], help="a sentence on what the policy is weak at")
    parser.add_argument("--seed", type=int, default=1, help="names the deals (default: %(default)s)")
    parser.add_argument("--folder", type=Path, default=policies.FOLDER, help="where to write it (default: the package)")
    given = sys.argv[1:] if arguments is None else list(arguments)
    words = parser.parse_args(given)
    path = words.run / POLICY
    try:
        matches = [Match.read(each) for each in words.match]
        known = read_card(path)["players"]
        strange = {match.players for match in matches} - {0, *known}
        if strange:
            raise ValueError(f"--match named {min(strange)} players; the policy plays {known}.")
        made = [*commands_of(words.run), shlex.join([*PROGRAM.split(), *given])]
        results = measure(path, matches, words.seed)
        more = {"name": words.name, "results": results, "weaknesses": words.weakness, "commands": made}
        write(path, words.folder / f"{words.name}.onnx", more)
    except (OSError, ValueError) as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
