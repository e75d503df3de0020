"""Networks from an observation to a policy, values and forecasts: tiles that share weights, and a plain MLP.

Each takes int8 or float observations as the layout lays them out, and scales them itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import torch as th
from torch import nn

from spirits_env.game import Game

# Head of the values: its hidden layer.
_VALUE_WIDTH = 64
# Sizes in low precision are multiples of these.
_TILES, _ROWS = 512, 64


class Heads(NamedTuple):
    """All that a network says of b observations, float32; seats count from the observer, absent ones mean nothing.

    Attributes:
        logits: Of each action, legal or not, shape `(b, actions)`.
        values: Expected utility of each seat, shape `(b, seats)`.
        leads: Logits of each seat ending with points above 0 in each of the game's categories (in Spirits of the
            Forest: with the majority), shape `(b, seats, categories)`.
        margins: Expected tanh(margin / scale) of each seat, shape `(b, seats)`.
        oracle: Expected utility of the observer for who also sees what is hidden, shape `(b,)`; None without it.
    """

    logits: th.Tensor
    values: th.Tensor
    leads: th.Tensor
    margins: th.Tensor
    oracle: th.Tensor | None


class Network(nn.Module):
    """Base of all networks: subclasses give `look`, on which all heads stand.

    Args:
        game: The game whose layout and actions it serves.
        context: Features of the whole.
        hidden: Entries of what is hidden from the observer, for a critic that sees them; 0 for none.
    """

    scales: th.Tensor

    def __init__(self, game: Game, context: int, hidden: int = 0) -> None:
        super().__init__()
        self.layout = dict(game.layout)
        self.seats = game.seats
        self.categories = len(game.categories)
        # One over the largest value of each entry.
        self.register_buffer("scales", 1.0 / th.as_tensor(game.layout.high()).float().clamp(min=1.0), persistent=False)
        self.value = nn.Sequential(nn.Linear(context, _VALUE_WIDTH), nn.ReLU(), nn.Linear(_VALUE_WIDTH, self.seats))
        self.margin = nn.Linear(context, self.seats)
        self.oracle = nn.Sequential(nn.Linear(context + hidden, context), nn.ReLU(), nn.Linear(context, 1))
        if not hidden:
            del self.oracle
        self.hidden = hidden

    def look(self, observation: th.Tensor) -> tuple[th.Tensor, th.Tensor, th.Tensor]:
        """Map observations `(b, size)` to logits, features of the whole `(b, context)` and leads."""
        raise NotImplementedError

    def heads(self, observation: th.Tensor, hidden: th.Tensor | None = None) -> Heads:
        """Map observations `(b, size)`, and what is hidden `(b, hidden)` where a critic sees it, to everything."""
        logits, whole, leads = self._look(observation)
        oracle = None
        if self.hidden and hidden is not None:
            oracle = self.oracle(th.cat([whole, hidden.to(whole.dtype)], dim=1)).squeeze(1).float()
        return Heads(logits.float(), self.value(whole).float(), leads.float(), self.margin(whole).float(), oracle)

    def forward(self, observation: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """Map observations `(b, size)` to logits `(b, actions)` and the observer's values `(b,)`."""
        logits, whole, _ = self._look(observation)
        return logits.float(), self.value(whole)[:, 0].float()

    def _look(self, observation: th.Tensor) -> tuple[th.Tensor, th.Tensor, th.Tensor]:
        """Look at observations, in low precision with more rows than asked for.

        Libraries prepare code for each size of matrix in low precision, which takes longer than the multiplication:
        there must not be a new size at every step.
        """
        if working_type(observation) == th.float32:
            return self.look(observation)
        rows = observation.shape[0]
        logits, whole, leads = self.look(th.cat([observation, self.padding(observation)]))
        return logits[:rows], whole[:rows], leads[:rows]

    def padding(self, observation: th.Tensor) -> th.Tensor:
        """Return rows that make observations a multiple of 64."""
        return observation.new_zeros(-observation.shape[0] % _ROWS, observation.shape[1])


class MLPNet(Network):
    """The simple one: the flat vector through fully connected layers.

    Args:
        game: The game whose layout and actions it serves.
        widths: Width of each layer.
        hidden: As for `Network`.
    """

    def __init__(self, game: Game, widths: tuple[int, ...] = (256, 256), hidden: int = 0) -> None:
        super().__init__(game, widths[-1], hidden)
        layers: list[nn.Module] = []
        width = game.layout.size
        for size in widths:
            layers += [nn.Linear(width, size), nn.ReLU()]
            width = size
        self.trunk = nn.Sequential(*layers)
        self.policy = nn.Linear(width, len(game.actions))
        self.lead = nn.Linear(width, self.seats * self.categories)
        nn.init.normal_(self.policy.weight, std=0.01)

    def look(self, observation: th.Tensor) -> tuple[th.Tensor, th.Tensor, th.Tensor]:
        """Map observations to logits, features of the whole and leads."""
        whole = self.trunk(observation.float() * self.scales)
        return self.policy(whole), whole, self.lead(whole).reshape(-1, self.seats, self.categories)


class TileBoard(Protocol):
    """A board of tiles in rows, as a game for `TileNet` gives it in `Game.board`.

    The action table starts with the ends (`2 * row + side`) and goes on with the cells, row by row. Tiles are only
    taken from the ends of rows, so that those left in a row lie side by side. A tile has at most one icon of each of
    the two kinds, and the game's categories are the icons.

    Attributes:
        rows: Number of rows.
        columns: Cells in a row.
        planes: Slices that hold planes of cells, in order, from the start of the observation.
        present: The plane that tells where a tile lies.
        icons: Two slices with one plane per icon, in the order of the counts.
        counts: Slices with one entry per icon: the observer's own, one row per seat (the observer's first), what is
            left, and one row per seat of what is missing.
        picked: A slice with one entry per icon of the first kind that marks one of them.
    """

    rows: int
    columns: int
    planes: tuple[str, ...]
    present: str
    icons: tuple[str, str]
    counts: tuple[str, str, str, str]
    picked: str


class _Tiles(NamedTuple):
    """The tiles that still lie, of all b observations in one list, n in all.

    Attributes:
        cell: Where each lies: `cells * row of the batch + cell`, shape `(n,)`.
        printed: Features, shape `(n, planes + 2)`.
        icon: For each kind, the row of the table of icons it reads, shape `(n,)`.
        left: The tile before it in its row, n for none, shape `(n,)`.
        right: The tile after it, likewise.
    """

    cell: th.Tensor
    printed: th.Tensor
    icon: tuple[th.Tensor, th.Tensor]
    left: th.Tensor
    right: th.Tensor


class TileNet(Network):
    """For boards of tiles in rows: tiles share their weights, icons share theirs, and actions point at cells.

    Permuting rows or reversing a row permutes the logits the same way and leaves the value as it is: row layers add
    what both neighbours give before weighing it, and all pooling is over sets. Icons read how the seats stand in them,
    tiles read their icons, rows look at their neighbours, icons collect from their tiles, and the whole collects from
    the icons, first what they are, then which seats they forecast to have points in them. Tiles read their icons again,
    and the whole. The action of an end reads the logit of the tile that lies there. Only tiles that still lie are
    computed, about half of the cells over a game.

    Args:
        game: A game with a board.
        width: Features per tile.
        layers: Row layers.
        context: Features of the whole.
        icon: Features per icon.
        hidden: As for `Network`.

    Raises:
        ValueError: If the game has no board of tiles in rows.
    """

    def __init__(
        self, game: Game, width: int = 48, layers: int = 2, context: int = 128, icon: int = 32, hidden: int = 0
    ) -> None:
        super().__init__(game, context, hidden)
        board: TileBoard | None = game.board
        if board is None:
            raise ValueError(f"{game.title} has no board of tiles in rows; choose the network kind 'mlp'.")
        self.board = board
        self.cells = board.rows * board.columns
        self.planes = self.layout[board.planes[-1]].stop // self.cells
        self.kinds = [
            (at.start // self.cells, at.stop // self.cells) for at in map(self.layout.__getitem__, board.icons)
        ]
        self.first, self.second = (stop - start for start, stop in self.kinds)
        facts = game.layout.size - self.planes * self.cells
        self.facts = nn.Linear(facts, context)
        # Per icon: own, one per seat, left, missing by seat, lead by seat, picked.
        self.stand = nn.Linear(3 + 3 * self.seats, icon)
        self.stand_more = nn.Linear(icon, icon)
        self.names = nn.Parameter(th.zeros(self.categories, icon))
        self.stand_facts = nn.Linear(context, icon, bias=False)
        # A tile's planes, and how many tiles lie on either side of it.
        self.encode = nn.Linear(self.planes + 2, width)
        self.encode_icon = nn.Linear(icon, width, bias=False)
        self.encode_facts = nn.Linear(context, width, bias=False)
        self.same = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.near = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(layers))
        self.again = nn.Linear(icon, icon)
        self.collect = nn.Linear(width, icon, bias=False)
        self.pool = nn.Linear(width + 2 * icon + context, context)
        self.lead_whole = nn.Linear(context, icon)
        self.lead = nn.Linear(icon, self.seats)
        self.outlook = nn.Linear(self.categories * self.seats, context)
        self.point = nn.Linear(context, width)
        self.point_icon = nn.Linear(icon, width, bias=False)
        self.pointer = nn.Linear(width, 2)
        self.others = nn.Linear(context, len(game.actions) - 2 * board.rows - self.cells)
        for head in (self.pointer, self.others):
            nn.init.normal_(head.weight, std=0.01)

    def look(self, observation: th.Tensor) -> tuple[th.Tensor, th.Tensor, th.Tensor]:
        """Map observations to logits, features of the whole and leads."""
        dtype = working_type(observation)
        count, flat = observation.shape[0], self.planes * self.cells
        rest = (observation[:, flat:].float() * self.scales[flat:]).to(dtype)
        facts = th.relu(self.facts(rest))
        standings = th.relu(self.stand(self._standings(rest)) + (self.names + self.stand_facts(facts).unsqueeze(1)))
        standings = standings + th.relu(self.stand_more(standings))
        tiles = self._tiles(observation, dtype)
        table = self._table(self.encode_icon(standings), self.encode_facts(facts))
        hidden = th.relu(
            self.encode(tiles.printed) + table.index_select(0, tiles.icon[0]) + table.index_select(0, tiles.icon[1])
        )
        nothing = hidden.new_zeros(1, hidden.shape[1])
        for same, near in zip(self.same, self.near, strict=True):
            row = th.cat([hidden, nothing])
            beside = row.index_select(0, tiles.left) + row.index_select(0, tiles.right)
            hidden = hidden + th.relu(same(hidden) + near(beside))
        collected = hidden.new_zeros(table.shape)
        for kind in tiles.icon:
            collected = collected.index_add(0, kind, hidden)
        # About as many tiles as this share an icon.
        collected = collected.reshape(count, -1, hidden.shape[1]) / 4
        first, second = collected[:, : self.first], collected[:, self.first + 1 : -1]
        icons = th.relu(self.again(standings) + self.collect(th.cat([first, second], dim=1)))
        everything = collected[:, : self.first + 1].sum(dim=1)
        whole = th.relu(self.pool(th.cat([everything, icons.sum(dim=1) / 4, icons.amax(dim=1), facts], dim=1)))
        leads = self.lead(th.relu(icons + self.lead_whole(whole).unsqueeze(1)))
        whole = whole + th.relu(self.outlook(th.sigmoid(leads).reshape(count, -1)))
        table = self._table(self.point_icon(icons), self.point(whole))
        pointed = self.pointer(
            th.relu(hidden + table.index_select(0, tiles.icon[0]) + table.index_select(0, tiles.icon[1]))
        )
        cells = pointed.new_zeros(count * self.cells, 2).index_copy(0, tiles.cell, pointed).reshape(count, -1, 2)
        ends = self._end_logits(cells[:, :, 0], observation)
        return th.cat([ends, cells[:, :, 1], self.others(whole)], dim=1), whole, leads.transpose(1, 2)

    def padding(self, observation: th.Tensor) -> th.Tensor:
        """Return rows that make observations a multiple of 64, with a multiple of 512 tiles in all."""
        present = self.layout[self.board.present]
        missing = -int(observation[:, present].sum(dtype=th.int32)) % _TILES
        rows = -(-missing // self.cells)
        rows += -(observation.shape[0] + rows) % _ROWS
        extra = observation.new_zeros(rows, observation.shape[1])
        lying = th.arange(rows * self.cells, device=observation.device) < missing
        extra[:, present] = lying.reshape(rows, self.cells).to(observation.dtype)
        return extra

    def _standings(self, rest: th.Tensor) -> th.Tensor:
        """Tell for each icon how the seats stand in it: `(b, icons, features)`."""
        start = self.planes * self.cells
        parts = []
        for name in self.board.counts:
            at = self.layout[name]
            rows = (at.stop - at.start) // self.categories
            counts = rest[:, at.start - start : at.stop - start].reshape(-1, rows, self.categories)
            parts.append(counts.transpose(1, 2))
        by_seat = parts[1]
        leads = [
            mine - th.cat([by_seat[:, :, :seat], by_seat[:, :, seat + 1 :]], dim=2).amax(dim=2)
            for seat, mine in enumerate(by_seat.unbind(dim=2))
        ]
        at = self.layout[self.board.picked]
        picked = nn.functional.pad(rest[:, at.start - start : at.stop - start], (0, self.second))
        return th.cat([*parts, th.stack(leads, dim=2), picked.unsqueeze(2)], dim=2)

    def _tiles(self, observation: th.Tensor, dtype: th.dtype) -> _Tiles:
        """List the tiles that still lie."""
        count = observation.shape[0]
        lying = observation[:, self.layout[self.board.present]]
        cell = (lying.reshape(-1) != 0).nonzero().squeeze(1)
        sample = cell.div(self.cells, rounding_mode="floor")
        grid = observation[:, : self.planes * self.cells].reshape(count, self.planes, self.cells).transpose(1, 2)
        planes = grid.reshape(count * self.cells, self.planes).index_select(0, cell)
        depths = self._depths(lying).index_select(0, cell) / self.board.columns
        printed = th.cat([planes.to(dtype), depths.to(dtype)], dim=1)
        # The table of icons has a row for no icon after each kind.
        stride = self.first + self.second + 2
        icon = []
        for (start, stop), offset in zip(self.kinds, (0, self.first + 1), strict=True):
            kind = planes[:, start:stop]
            known = th.where(kind.amax(dim=1) > 0, kind.argmax(dim=1), stop - start)
            icon.append(sample * stride + offset + known)
        column = cell % self.board.columns
        tiles = cell.shape[0]
        order = th.arange(tiles, device=cell.device)
        outside = cell.new_full((1,), -2)
        before, after = th.cat([outside, cell[:-1]]), th.cat([cell[1:], outside])
        left = th.where((column > 0) & (before == cell - 1), order - 1, tiles)
        right = th.where((column < self.board.columns - 1) & (after == cell + 1), order + 1, tiles)
        return _Tiles(cell, printed, (icon[0], icon[1]), left, right)

    def _depths(self, lying: th.Tensor) -> th.Tensor:
        """Count for each cell the tiles to the nearer and to the farther end, its own among them: `(b * cells, 2)`."""
        rows = lying.reshape(-1, self.board.rows, self.board.columns).int()
        from_left = rows.cumsum(dim=2, dtype=th.int32)
        from_right = from_left[:, :, -1:] - from_left + rows
        both = th.stack([th.minimum(from_left, from_right), th.maximum(from_left, from_right)], dim=3)
        return both.reshape(-1, 2)

    def _table(self, icons: th.Tensor, whole: th.Tensor) -> th.Tensor:
        """Make what tiles read of their icons, with a row for no icon after each kind: `(b * (icons + 2), width)`.

        Args:
            icons: Of each icon, shape `(b, icons, width)`.
            whole: Of the whole, shape `(b, width)`: goes with the first kind, of which each tile reads one row.
        """
        whole = whole.unsqueeze(1)
        nothing = icons.new_zeros(icons.shape[0], 1, icons.shape[2])
        table = th.cat([icons[:, : self.first] + whole, whole, icons[:, self.first :], nothing], dim=1)
        return table.reshape(-1, icons.shape[2])

    def _end_logits(self, pointed: th.Tensor, observation: th.Tensor) -> th.Tensor:
        """Read the logit of the tile at each end of each row: `(b, 2 * rows)`."""
        lying = observation[:, self.layout[self.board.present]]
        rows = lying.reshape(-1, self.board.rows, self.board.columns).int()
        left = rows.argmax(dim=2)
        right = self.board.columns - 1 - rows.flip(2).argmax(dim=2)
        ends = th.stack([left, right], dim=2)
        logits = pointed.reshape(-1, self.board.rows, self.board.columns)
        return logits.gather(2, ends).reshape(-1, 2 * self.board.rows)


def working_type(observation: th.Tensor) -> th.dtype:
    """Return the type in which layers compute now: that of autocast, where it is on."""
    device = observation.device.type
    return th.get_autocast_dtype(device) if th.is_autocast_enabled(device) else th.float32


NETWORKS: dict[str, type[Network]] = {"tiles": TileNet, "mlp": MLPNet}


def make_network(kind: str, game: Game, **sizes: Any) -> Network:
    """Make a network by name.

    Raises:
        ValueError: If there is no such kind, or it does not fit the game.
    """
    if kind not in NETWORKS:
        raise ValueError(f"There is no network {kind!r}; the networks are {', '.join(NETWORKS)}.")
    return NETWORKS[kind](game, **sizes)
