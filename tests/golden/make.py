"""Write the golden games: whole games as text that a person can read and a test compares line by line.

Run `python tests/golden/make.py` from the repository root after a wanted change of rules or observation, and read
the difference before keeping it.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spirits_env.games.forest.components import POWERS, SPIRITS, TOKEN_CELLS, TOKENS
from spirits_env.games.forest.state import HELD, LYING, UNEXAMINED
from spirits_env.games.wild.components import ANIMALS, CARDS, KINDS
from spirits_env.state import State

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Golden:
    """One golden game.

    Attributes:
        file: Name of the file.
        game: Name of the game.
        players: Number of players.
        seed: Seed of the deal and of the line of play.
        options: Options other than the default.
    """

    file: str
    game: str
    players: int
    seed: int
    options: Mapping[str, Any] = field(default_factory=dict)


# Cards with every kind of step.
OWN_POWERS = [
    ["TAKE 3 same", "ADD 3"],
    ["RETURN 2", "ADD 4", "TAKE 1 any"],
    ["TAKE 3 different", "COYOTE"],
    ["RETURN all", "ADD 5", "TAKE 2 any"],
    ["COYOTE", "TAKE 2 any"],
    ["ADD 2", "RETURN 1", "TAKE 2 same"],
]

# The seeds are ones whose games hold payments, uses of "+" and moved gems; of Wild, every phase.
GOLDEN = (
    Golden("forest_1p.txt", "forest", 1, 1),
    Golden("forest_2p.txt", "forest", 2, 16),
    Golden("forest_3p.txt", "forest", 3, 0),
    Golden("forest_4p.txt", "forest", 4, 29),
    Golden("forest_2p_unforced_margin.txt", "forest", 2, 52, {"forced_steal": False, "reward": "margin"}),
    Golden("wild_house.txt", "wild", 2, 111),
    Golden("wild_none_margin.txt", "wild", 2, 22, {"powers": "none", "reward": "margin"}),
    Golden("wild_own.txt", "wild", 2, 18, {"powers": OWN_POWERS}),
)


def list_forest(state: State) -> list[str]:
    """Rows of tiles (spirit, symbols, power; `*` for a token, `@` and the seat for a gem), then what each seat has.

    Spirits are written with the first two letters of their names, powers with the first; solitaire's opponent is
    the second seat.
    """
    record = state.record
    tokens = {
        12 * row + column
        for (row, column), status in zip(TOKEN_CELLS, record["token_status"], strict=True)
        if status == LYING
    }
    lines = []
    for row in range(4):
        words = [_tile(record, cell, cell in tokens) for cell in range(12 * row, 12 * row + 12)]
        lines.append(f"  row {row}: {' '.join(words)}")
    for seat in range(max(state.players, 2)):
        gems = "/".join(str(record[where][seat]) for where in ("hand", "placed", "removed"))
        icons = " ".join(str(count) for count in record["icons"][seat])
        taken = [
            TOKENS[kind] + {UNEXAMINED: " (unexamined)", HELD: ""}.get(int(status), " (used)")
            for kind, owner, status in zip(record["token"], record["token_seat"], record["token_status"], strict=True)
            if owner == seat
        ]
        lines.append(f"  seat {seat}: gems {gems}, {record['tiles'][seat]} tiles, icons {icons}, tokens {taken}")
    return lines


def _tile(record: Any, cell: int, token: bool) -> str:
    if not record["present"][cell]:
        return "."
    power, gem = int(record["power"][cell]), int(record["gem"][cell])
    return "".join(
        (
            SPIRITS[record["spirit"][cell]][:2],
            str(record["symbols"][cell]),
            POWERS[power][0] if power >= 0 else "",
            "*" if token else "",
            f"@{gem}" if gem >= 0 else "",
        )
    )


def list_wild(state: State) -> list[str]:
    """Stones as counts by kind, pairs and other sets as count and colour, then each seat's animals and cards.

    Colours are written with the first two letters of their names; `+` marks a Spirit Stone on an animal, `!` Coyote.
    """
    record = state.record
    held = [KINDS[kind] for kind in record["held"] if kind >= 0]
    tops = zip(record["piles"], record["top"], strict=True)
    piles = [[int(card) for card in [*pile[top:], *pile[:top]]] for pile, top in tops]
    lines = [
        f"  bowl {_stones(record['bowl'])}; bag {_stones(record['in_bag'])}; held {held}; piles {piles}",
    ]
    for seat in range(2):
        sets = [_set(*pair) for pair in zip(record["colour"][seat], record["count"][seat], strict=True)]
        rabbit, salmon = (_colours(row) for row in record["row"][seat])
        spaces = (f"{sets[0]} {sets[1]} {sets[2]}", rabbit, f"{sets[3]} {sets[4]}", salmon, sets[5])
        animals = [
            f"{name}{'+' if bonus else ''}{'!' if record['coyote'] == 5 * seat + animal else ''} {space}"
            for animal, (name, bonus, space) in enumerate(zip(ANIMALS, record["bonus"][seat], spaces, strict=True))
        ]
        down = [name for name, count in zip(CARDS, record["down"][seat], strict=True) for _ in range(count)]
        lines.append(
            f"  seat {seat}: {'; '.join(animals)}; down {' '.join(down) or '-'}; {state.scores()[seat]} points"
        )
    return lines


def _stones(counts: Any) -> str:
    return " ".join(f"{name[:2]}{count}" for name, count in zip(KINDS, counts, strict=True) if count) or "-"


def _set(colour: Any, count: Any) -> str:
    return f"{count}{KINDS[colour][:2]}" if count else "-"


def _colours(row: Any) -> str:
    return "".join(name[:2] for name, there in zip(KINDS, row, strict=False) if there) or "-"


LISTINGS: dict[str, Callable[[State], list[str]]] = {"forest": list_forest, "wild": list_wild}


def start(header: Mapping[str, Any]) -> State:
    """Deal the game that a header tells of."""
    return State(header["game"], header["players"], seed=0, setup=header["setup"], **header["options"])


def header_lines(header: Mapping[str, Any]) -> list[str]:
    """The header: a key and its JSON per line."""
    return [f"{key} {json.dumps(value)}" for key, value in header.items()]


def read(lines: Sequence[str]) -> tuple[dict[str, Any], list[int]]:
    """Read the header and the chosen actions of a golden game back."""
    gap = list(lines).index("")
    header = {key: json.loads(value) for key, _, value in (line.partition(" ") for line in lines[:gap])}
    actions = [int(line.split()[1]) for line in lines[gap:] if line.startswith("  play ")]
    return header, actions


def runs(state: State) -> str:
    """Legal actions, id and name; three or more in a row as the first and the last."""
    legal, words = state.legal_actions(), []
    names = [action.name for action in state.game.actions]
    while legal:
        length = 1
        while length < len(legal) and legal[length] == legal[0] + length:
            length += 1
        if length < 3:
            length = 1
            words.append(f"{legal[0]} {names[legal[0]]}")
        else:
            last = legal[length - 1]
            words.append(f"{legal[0]}..{last} {names[legal[0]]}..{names[last]}")
        legal = legal[length:]
    return ", ".join(words)


def position_lines(state: State) -> list[str]:
    """The board, and a short hash of what each seat sees."""
    seen = [hashlib.sha256(state.observation(seat).tobytes()).hexdigest()[:12] for seat in range(state.players)]
    return [*LISTINGS[state.game.name](state), f"  sees {' '.join(seen)}"]


def write(header: Mapping[str, Any], choose: Callable[[State, int], int]) -> list[str]:
    """Play a game and tell it line by line.

    Args:
        header: What the game is dealt from.
        choose: `(state, ply) -> action`.
    """
    state = start(header)
    lines = [*header_lines(header), ""]
    ply = 0
    while state.seat >= 0:
        action = choose(state, ply)
        lines += [f"ply {ply}: seat {state.seat}, {state.phase}, turn {state.turn}", *position_lines(state)]
        lines += [f"  legal {runs(state)}", f"  play {action} {state.game.actions[action].name}"]
        state.play(action)
        ply += 1
    lines += [f"end: {state.phase}, turn {state.turn}", *position_lines(state)]
    # Adding 0.0 makes a negative zero a plain one.
    rewards = " ".join(f"{value + 0.0:.4f}" for value in state.returns())
    lines += [f"scores {state.scores()}", f"winners {state.winners()}", f"returns {rewards}"]
    return lines


def make(golden: Golden) -> list[str]:
    """Play a golden game anew: at random, but rarely passing, so that gems come to lie and to be fought for."""
    state = State(golden.game, golden.players, seed=golden.seed, **golden.options)
    header = {
        "game": golden.game,
        "version": state.game.version,
        "players": golden.players,
        "options": state.options,
        "layout": state.game.layout.fingerprint(),
        "setup": state.setup(),
    }
    rng = random.Random(golden.seed)

    def choose(state: State, ply: int) -> int:
        legal = state.legal_actions()
        active = [action for action in legal if state.game.actions[action].name != "pass"]
        return rng.choice(active if active and rng.random() < 0.8 else legal)

    return write(header, choose)


def main() -> None:
    """Write every golden game."""
    for golden in GOLDEN:
        (FOLDER / golden.file).write_text("\n".join(make(golden)) + "\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
