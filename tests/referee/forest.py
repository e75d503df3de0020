"""Slow, plain referee of the game Spirits of the Forest, for one to four players.

It judges the fast rules, so it is written from the rule book alone and shares no code with them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

SPIRITS = (
    "branches",
    "moss",
    "dew_drops",
    "mushrooms",
    "flowers",
    "web_spiders",
    "fruits",
    "vines",
    "leaves",
)
POWERS = ("moon", "sun", "fire")
PLUS_TOKEN = "plus"

# One line per spirit: singles without power, with moon, with sun, with fire; doubles.
TILE_COUNTS = {
    "branches": (1, 1, 1, 1, 2),
    "moss": (0, 1, 1, 1, 1),
    "dew_drops": (0, 1, 1, 1, 2),
    "mushrooms": (0, 1, 1, 1, 2),
    "flowers": (0, 1, 1, 0, 2),
    "web_spiders": (1, 1, 1, 1, 3),
    "fruits": (0, 1, 1, 2, 1),
    "vines": (1, 1, 1, 1, 2),
    "leaves": (1, 1, 1, 1, 2),
}
TOKEN_CELLS = ((0, 1), (0, 10), (1, 2), (1, 9), (2, 3), (2, 8), (3, 4), (3, 7))
GEMS_EACH = {1: 0, 2: 3, 3: 2, 4: 2}
ROWS = 4
COLUMNS = 12
PENALTY = 3

FIRST_CELL = 8
GEM_FROM_HAND = 56
USE_PLUS = 57
PASS = 58
PLUS_PHASES = ("first", "second", "pay", "place")


@dataclass
class Tile:
    """One spirit tile and what lies on it.

    Attributes:
        spirit: Name of the spirit.
        symbols: Spirit symbols on the tile, one or two.
        power: Name of the power source, None without one.
        row: Row the tile was dealt to.
        col: Column the tile was dealt to.
        token: Name of the favor token on the tile, None without one.
        gem: Seat whose gem lies on the tile, None without one.
    """

    spirit: str
    symbols: int
    power: str | None
    row: int
    col: int
    token: str | None
    gem: int | None


def random_setup(rng: random.Random, players: int) -> dict[str, Any]:
    """Shuffles and deals the components.

    Args:
        rng: Source of chance.
        players: Number of players, 1 for solitaire.

    Returns:
        A set-up in the form of a game record.
    """
    tiles = _all_tiles()
    rng.shuffle(tiles)
    if players == 1:
        names = list(SPIRITS)
        rng.shuffle(names)
        return {
            "tiles": tiles,
            "player_token": names[0],
            "opponent_tokens": names[1:3],
            "unused": names[3:],
        }
    names = [*SPIRITS, *POWERS, PLUS_TOKEN, PLUS_TOKEN]
    rng.shuffle(names)
    tokens = [[row, col, name] for (row, col), name in zip(TOKEN_CELLS, names, strict=False)]
    return {"tiles": tiles, "tokens": tokens, "unused": names[len(TOKEN_CELLS) :]}


def _all_tiles() -> list[list[int | None]]:
    tiles: list[list[int | None]] = []
    for spirit, name in enumerate(SPIRITS):
        plain, moon, sun, fire, double = TILE_COUNTS[name]
        tiles += [[spirit, 1, None] for _ in range(plain)]
        tiles += [[spirit, 1, POWERS.index("moon")] for _ in range(moon)]
        tiles += [[spirit, 1, POWERS.index("sun")] for _ in range(sun)]
        tiles += [[spirit, 1, POWERS.index("fire")] for _ in range(fire)]
        tiles += [[spirit, 2, None] for _ in range(double)]
    return tiles


def _lay_out(setup: dict[str, Any]) -> list[list[Tile]]:
    tokens = {(row, col): name for row, col, name in setup.get("tokens", [])}
    forest: list[list[Tile]] = []
    for row in range(ROWS):
        forest.append([])
        for col in range(COLUMNS):
            spirit, symbols, power = setup["tiles"][COLUMNS * row + col]
            power_name = None if power is None else POWERS[power]
            token = tokens.get((row, col))
            forest[row].append(Tile(SPIRITS[spirit], symbols, power_name, row, col, token, None))
    return forest


def cell_action(tile: Tile) -> int:
    """Returns the action id that names a forest tile for a gem."""
    return FIRST_CELL + COLUMNS * tile.row + tile.col


def icons_on(tiles: list[Tile], icon: str) -> int:
    """Returns how often a spirit symbol or power source icon is printed on the tiles."""
    symbols = sum(tile.symbols for tile in tiles if tile.spirit == icon)
    powers = sum(1 for tile in tiles if tile.power == icon)
    return symbols + powers


def count_points(collected: list[list[Tile]], held: list[list[str]], icons: tuple[str, ...]) -> list[int]:
    """Counts nature points.

    Args:
        collected: The tiles of each player.
        held: The favor tokens of each player.
        icons: The spirits and power sources that are compared.

    Returns:
        The points of each player.
    """
    points = [0] * len(collected)
    for icon in icons:
        on_tiles = [icons_on(tiles, icon) for tiles in collected]
        totals = [count + tokens.count(icon) for count, tokens in zip(on_tiles, held, strict=True)]
        most = max(totals)
        for player in range(len(collected)):
            if totals[player] == most:
                points[player] += most
            if on_tiles[player] == 0:
                points[player] -= PENALTY
    return points


class Referee:
    """One game, played decision by decision.

    Attributes:
        phase: "first", "second", "pay", "place", "move" or "end".
        seat: Seat to act, -1 at the end.
        turn: Number of turns finished.
        rows: The forest, per row the tiles not yet collected from left to right.
        hand: Gems in front of each player.
        removed: Gems of each player that have left the game.
        collected: Tiles of each player.
        held: Names of the tokens each player has examined and not used.
        unexamined: Tokens on tiles collected in the collect step that is still going on.
        used_plus: Number of "+" tokens each player has used.
        first_spirit: Spirit id of the first tile while the second is chosen or paid for.
        paying: Cell of the opponent's gemmed tile that is being paid for.
        lifted: Cell the lifted gem came from.
        opponent_collected: Solitaire only, the opponent's tiles.
        opponent_held: Solitaire only, the opponent's tokens that have been added.
    """

    def __init__(self, setup: dict[str, Any], players: int, forced_steal: bool = True) -> None:
        """Sets up a game.

        Args:
            setup: Tiles and tokens as in a game record; components are not checked.
            players: Number of players, 1 for solitaire.
            forced_steal: Whether a player must take an opponent's gemmed tile when nothing else can be taken.

        Raises:
            ValueError: If the number of players is not 1 to 4.
        """
        if players not in GEMS_EACH:
            raise ValueError(f"one to four players, not {players}")
        self.players = players
        self.forced_steal = forced_steal
        self.rows = _lay_out(setup)
        self.phase = "first"
        self.seat = 0
        self.turn = 0
        self.hand = [GEMS_EACH[players]] * players
        self.removed = [0] * players
        self.collected: list[list[Tile]] = [[] for _ in range(players)]
        self.held: list[list[str]] = [[] for _ in range(players)]
        self.unexamined: list[list[str]] = [[] for _ in range(players)]
        self.used_plus = [0] * players
        self.first_spirit: int | None = None
        self.paying: tuple[int, int] | None = None
        self.lifted: tuple[int, int] | None = None
        self.opponent_collected: list[Tile] = []
        self.opponent_held: list[str] = []
        self._opponent_tokens: list[str] = []
        if players == 1:
            self.held[0].append(setup["player_token"])
            self._opponent_tokens = list(setup["opponent_tokens"])

    # The forest

    def tile(self, row: int, col: int) -> Tile | None:
        """Returns the tile dealt to a cell, None once it is collected."""
        for tile in self.rows[row]:
            if tile.col == col:
                return tile
        return None

    def _forest(self) -> list[Tile]:
        return [tile for row in self.rows for tile in row]

    def _ends(self) -> dict[int, Tile]:
        ends = {}
        for row, tiles in enumerate(self.rows):
            if len(tiles) >= 1:
                ends[2 * row] = tiles[0]
            if len(tiles) >= 2:
                ends[2 * row + 1] = tiles[-1]
        return ends

    def _tile_of(self, action: int) -> Tile:
        for tile in self._forest():
            if cell_action(tile) == action:
                return tile
        raise ValueError(f"action {action} names no forest tile")

    # What is legal

    def legal(self) -> list[int]:
        """Returns the sorted action ids of the seat to act; empty only at the end."""
        if self.phase == "end":
            return []
        if self.players == 1:
            return sorted(self._ends())
        legal_in = {
            "first": self._legal_first,
            "second": self._legal_second,
            "pay": self._legal_pay,
            "place": self._legal_place,
            "move": self._legal_move,
        }
        actions = legal_in[self.phase]()
        if self.phase in PLUS_PHASES and self._plus_usable():
            actions.append(USE_PLUS)
        return sorted(actions)

    def _takeable_ends(self) -> dict[int, Tile]:
        return {action: tile for action, tile in self._ends().items() if self._may_take(tile)}

    def _may_take(self, tile: Tile) -> bool:
        return not self._is_steal(tile) or self._owns_gem()

    def _is_steal(self, tile: Tile) -> bool:
        return tile.gem is not None and tile.gem != self.seat

    def _owns_gem(self) -> bool:
        return self.hand[self.seat] > 0 or len(self._own_gemmed_tiles()) > 0

    def _own_gemmed_tiles(self) -> list[Tile]:
        return [tile for tile in self._forest() if tile.gem == self.seat]

    def _free_tiles(self) -> list[Tile]:
        return [tile for tile in self._forest() if tile.gem is None]

    def _plus_usable(self) -> bool:
        return PLUS_TOKEN in self.held[self.seat] and self.removed[self.seat] > 0

    def _legal_first(self) -> list[int]:
        takeable = self._takeable_ends()
        only_steals = all(self._is_steal(tile) for tile in takeable.values())
        may_pass = not takeable or (only_steals and not self.forced_steal)
        return [*takeable, PASS] if may_pass else [*takeable]

    def _legal_second(self) -> list[int]:
        assert self.first_spirit is not None
        spirit = SPIRITS[self.first_spirit]
        fitting = [
            action for action, tile in self._takeable_ends().items() if tile.spirit == spirit and tile.symbols == 1
        ]
        return [*fitting, PASS]

    def _legal_pay(self) -> list[int]:
        actions = [cell_action(tile) for tile in self._own_gemmed_tiles()]
        if self.hand[self.seat] > 0:
            actions.append(GEM_FROM_HAND)
        return actions

    def _legal_place(self) -> list[int]:
        if self.hand[self.seat] > 0:
            return [*map(cell_action, self._free_tiles()), PASS]
        if len(self._free_tiles()) > 0:
            return [*map(cell_action, self._own_gemmed_tiles()), PASS]
        return [PASS]

    def _legal_move(self) -> list[int]:
        return [cell_action(tile) for tile in self._free_tiles() if (tile.row, tile.col) != self.lifted]

    # Playing

    def play(self, action: int) -> None:
        """Plays one decision, then whatever the rules resolve without asking.

        Args:
            action: Action id.

        Raises:
            ValueError: If the action is not legal; nothing has changed then.
        """
        if action not in self.legal():
            raise ValueError(f"action {action} is not legal in phase {self.phase}")
        self._apply(action)
        while self._resolves_by_itself():
            self._apply(self.legal()[0])

    def _resolves_by_itself(self) -> bool:
        legal = self.legal()
        return legal == [PASS] or (self.phase == "pay" and len(legal) == 1)

    def _apply(self, action: int) -> None:
        if self.players == 1:
            self._play_solitaire(action)
        elif action == USE_PLUS:
            self._use_plus()
        elif self.phase in ("first", "second"):
            self._play_collect(action)
        elif self.phase == "pay":
            self._play_pay(action)
        elif self.phase == "place":
            self._play_place(action)
        else:
            self._play_move(action)

    # Collect tiles

    def _play_collect(self, action: int) -> None:
        if action == PASS:
            self._finish_collecting()
        else:
            self._choose(self._ends()[action])

    def _choose(self, tile: Tile) -> None:
        if self._is_steal(tile):
            self.paying = (tile.row, tile.col)
            self.phase = "pay"
        else:
            self._take(tile)

    def _play_pay(self, action: int) -> None:
        assert self.paying is not None
        if action == GEM_FROM_HAND:
            self.hand[self.seat] -= 1
        else:
            self._tile_of(action).gem = None
        self.removed[self.seat] += 1
        wanted = self.tile(*self.paying)
        assert wanted is not None
        self.paying = None
        self._take(wanted)

    def _take(self, tile: Tile) -> None:
        self.rows[tile.row].remove(tile)
        self.collected[self.seat].append(tile)
        if tile.gem is not None:
            self.hand[tile.gem] += 1
            tile.gem = None
        if tile.token is not None:
            self.unexamined[self.seat].append(tile.token)
            tile.token = None
        self._go_on_after(tile)

    def _go_on_after(self, tile: Tile) -> None:
        was_first = self.first_spirit is None
        # The last tile ends the game at once: nothing is left to decide that could change the score.
        if not self._forest():
            self._examine_tokens()
            self._end_game()
        elif was_first and tile.symbols == 1 and self.turn > 0:
            self.first_spirit = SPIRITS.index(tile.spirit)
            self.phase = "second"
        else:
            self._finish_collecting()

    def _finish_collecting(self) -> None:
        self.first_spirit = None
        self._examine_tokens()
        self.phase = "place"

    # Examine favor tokens

    def _examine_tokens(self) -> None:
        self.held[self.seat] += self.unexamined[self.seat]
        self.unexamined[self.seat] = []

    def _use_plus(self) -> None:
        self.held[self.seat].remove(PLUS_TOKEN)
        self.used_plus[self.seat] += 1
        self.removed[self.seat] -= 1
        self.hand[self.seat] += 1

    # Place gemstones

    def _play_place(self, action: int) -> None:
        if action == PASS:
            self._finish_turn()
        elif self.hand[self.seat] > 0:
            self.hand[self.seat] -= 1
            self._tile_of(action).gem = self.seat
            self._finish_turn()
        else:
            origin = self._tile_of(action)
            origin.gem = None
            self.lifted = (origin.row, origin.col)
            self.phase = "move"

    def _play_move(self, action: int) -> None:
        self._tile_of(action).gem = self.seat
        self.lifted = None
        self._finish_turn()

    def _finish_turn(self) -> None:
        self.turn += 1
        self.seat = (self.seat + 1) % self.players
        self.phase = "first"

    # End of the game

    def _end_game(self) -> None:
        self.turn += 1
        self.first_spirit = None
        self.seat = -1
        self.phase = "end"

    def scores(self) -> list[int]:
        """Returns each seat's points, before the end from what is collected and examined so far."""
        return self.points_on(SPIRITS + POWERS)

    def points_on(self, icons: tuple[str, ...]) -> list[int]:
        """Returns each seat's points for some of the icons."""
        if self.players > 1:
            return count_points(self.collected, self.held, icons)
        if self.phase == "end" and not self._solitaire_won():
            return [0]
        both = [self.collected[0], self.opponent_collected]
        spirits = tuple(icon for icon in icons if icon in SPIRITS)
        return count_points(both, [self.held[0], self.opponent_held], spirits)[:1]

    def winners(self) -> list[int]:
        """Returns the seats that win or share; empty before the end and on a lost solitaire."""
        if self.phase != "end":
            return []
        if self.players == 1:
            return [0] if self._solitaire_won() else []
        scores = self.scores()
        leaders = [seat for seat in range(self.players) if scores[seat] == max(scores)]
        fewest = min(len(self.collected[seat]) for seat in leaders)
        return [seat for seat in leaders if len(self.collected[seat]) == fewest]

    def returns(self, kind: str) -> list[float]:
        """Returns each seat's reward for the game; zeros before the end.

        Args:
            kind: "win" or "margin".

        Raises:
            ValueError: If the kind is another.
        """
        if kind not in ("win", "margin"):
            raise ValueError(f"rewards are win or margin, not {kind}")
        if self.phase != "end":
            return [0.0] * self.players
        if self.players == 1:
            return [self._solitaire_return(kind)]
        if kind == "margin":
            scores = self.scores()
            return [score - sum(scores) / self.players for score in scores]
        return [self._win_return(seat) for seat in range(self.players)]

    def _win_return(self, seat: int) -> float:
        winners = self.winners()
        share = 1 / len(winners) if seat in winners else 0.0
        return self.players / (self.players - 1) * (share - 1 / self.players)

    # Solitaire

    def _play_solitaire(self, action: int) -> None:
        chosen = self._ends()[action]
        row = self.rows[chosen.row]
        row.remove(chosen)
        self.collected[0].append(chosen)
        left_was_chosen = action % 2 == 0
        self.opponent_collected.append(row.pop(-1 if left_was_chosen else 0))
        self.turn += 1
        if not row:
            self._row_emptied()

    def _row_emptied(self) -> None:
        emptied = sum(1 for row in self.rows if not row)
        if emptied <= len(self._opponent_tokens):
            self.opponent_held.append(self._opponent_tokens[emptied - 1])
        if emptied == ROWS - 1:
            self.seat = -1
            self.phase = "end"

    def _deficits(self) -> list[int]:
        deficits = []
        for spirit in SPIRITS:
            own = icons_on(self.collected[0], spirit) + self.held[0].count(spirit)
            other = icons_on(self.opponent_collected, spirit) + self.opponent_held.count(spirit)
            deficits.append(max(0, other - own))
        return deficits

    def _solitaire_won(self) -> bool:
        return sum(self._deficits()) == 0

    def _solitaire_return(self, kind: str) -> float:
        if kind == "margin":
            return float(-sum(self._deficits()))
        return 1.0 if self._solitaire_won() else -1.0
