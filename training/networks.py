"""Networks from observation to logits and value: tiles sharing weights over cells, and a plain MLP.

Each takes int8 or float observations as the layout lays them out, and scales them itself.
"""

from __future__ import annotations

from typing import Any, Protocol

import torch as th
from torch import nn

from spirits_env.game import Game


def _scales(game: Game) -> th.Tensor:
    """Return one over the largest value of each observation entry, shape `(size,)`."""
    return 1.0 / th.as_tensor(game.layout.high()).float().clamp(min=1.0)


class MLPNet(nn.Module):
    """The simple one: the flat vector through fully connected layers.

    Args:
        game: The game whose layout and actions it serves.
        hidden: Width of each layer.
    """

    scales: th.Tensor

    def __init__(self, game: Game, hidden: tuple[int, ...] = (256, 256)) -> None:
        super().__init__()
        self.register_buffer("scales", _scales(game), persistent=False)
        layers: list[nn.Module] = []
        width = game.layout.size
        for size in hidden:
            layers += [nn.Linear(width, size), nn.ReLU()]
            width = size
        self.trunk = nn.Sequential(*layers)
        self.policy = nn.Linear(width, len(game.actions))
        self.value = nn.Linear(width, 1)
        nn.init.normal_(self.policy.weight, std=0.01)

    def forward(self, observation: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """Map observations `(b, size)` to logits `(b, actions)` and values `(b,)`."""
        hidden = self.trunk(observation.float() * self.scales)
        return self.policy(hidden), self.value(hidden).squeeze(-1)


class TileBoard(Protocol):
    """A board of tiles in rows, as a game for `TileNet` gives it in `Game.board`.

    The action table starts with the ends (`2 * row + side`) and goes on with the cells, row by row.

    Attributes:
        rows: Number of rows.
        columns: Cells in a row.
        planes: Slices that hold planes of cells, in order, from the start of the observation.
        present: The plane that tells where a tile lies.
        icons: Slices with one plane per icon, in the order of the counts.
        counts: Slices with one entry per icon: the observer's own, one row per seat (the observer's first), what is
            left, and one row per seat of what is missing.
        picked: Slices with one entry per icon of the first of `icons` that mark some of them.
    """

    rows: int
    columns: int
    planes: tuple[str, ...]
    present: str
    icons: tuple[str, ...]
    counts: tuple[str, ...]
    picked: tuple[str, ...]


class TileNet(nn.Module):
    """For boards of tiles in rows: cells share their weights, rows see their neighbours, and actions point at cells.

    Permuting rows or reversing a row permutes the logits the same way and leaves the value as it is: row layers add
    both neighbours before weighing them (y = relu(W0 x + W1 (left + right))), and pooling is by sum and maximum. The
    action of an end reads the logit of the tile that lies there.

    Args:
        game: A game with a board.
        width: Features per cell.
        layers: Row layers.
        context: Features of the pooled whole.

    Raises:
        ValueError: If the game has no board of tiles in rows.
    """

    scales: th.Tensor

    def __init__(self, game: Game, width: int = 48, layers: int = 2, context: int = 128) -> None:
        super().__init__()
        board: TileBoard | None = game.board
        if board is None:
            raise ValueError(f"{game.title} has no board of tiles in rows; choose the network kind 'mlp'.")
        self.board = board
        self.layout = dict(game.layout)
        self.cells = board.rows * board.columns
        self.actions = len(game.actions)
        self.seats = game.seats
        self.planes = self.layout[board.planes[-1]].stop // self.cells
        self.register_buffer("scales", _scales(game), persistent=False)
        # Per icon slice: own, best of the others, lead, left, missing. Then picked icons, nearer and farther depth.
        features = self.planes + 5 * len(board.icons) + len(board.picked) + 2
        facts = game.layout.size - self.planes * self.cells
        self.facts = nn.Linear(facts, context)
        self.encode = nn.Linear(features, width)
        self.encode_facts = nn.Linear(context, width, bias=False)
        self.same = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.near = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(layers))
        self.pool = nn.Linear(2 * width + context, context)
        self.point = nn.Linear(context, width)
        self.pointer = nn.Linear(width, 2)
        self.others = nn.Linear(context, self.actions - 2 * board.rows - self.cells)
        self.value = nn.Sequential(nn.Linear(context, 64), nn.ReLU(), nn.Linear(64, 1))
        for head in (self.pointer, self.others):
            nn.init.normal_(head.weight, std=0.01)

    def forward(self, observation: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """Map observations `(b, size)` to logits `(b, actions)` and values `(b,)`."""
        scaled = observation.float() * self.scales
        planes = scaled[:, : self.planes * self.cells].reshape(-1, self.planes, self.cells)
        present = scaled[:, self.layout[self.board.present]]
        facts = th.relu(self.facts(scaled[:, self.planes * self.cells :]))
        cells = th.cat([planes, self._standings(scaled), self._depths(present)], dim=1).transpose(1, 2)
        hidden = th.relu(self.encode(cells) + self.encode_facts(facts).unsqueeze(1)) * present.unsqueeze(2)
        for same, near in zip(self.same, self.near, strict=True):
            hidden = hidden + th.relu(same(hidden) + near(self._neighbours(hidden))) * present.unsqueeze(2)
        pooled = th.cat([hidden.sum(dim=1) / self.board.columns, hidden.amax(dim=1), facts], dim=1)
        whole = th.relu(self.pool(pooled))
        pointed = self.pointer(th.relu(hidden + self.point(whole).unsqueeze(1)))
        logits = th.cat([self._end_logits(pointed[:, :, 0], present), pointed[:, :, 1], self.others(whole)], dim=1)
        return logits, self.value(whole).squeeze(-1)

    def _standings(self, scaled: th.Tensor) -> th.Tensor:
        """Tell each cell how the observer stands in the icons printed on it: `(b, k, cells)`."""
        own_name, table_name, left_name, missing_name = self.board.counts
        own = scaled[:, self.layout[own_name]]
        icons = own.shape[1]
        table = scaled[:, self.layout[table_name]].reshape(-1, self.seats, icons)
        best = table[:, 1:].amax(dim=1)
        missing = scaled[:, self.layout[missing_name]].reshape(-1, self.seats, icons)[:, 0]
        counts = th.stack([own, best, own - best, scaled[:, self.layout[left_name]], missing], dim=1)
        parts = []
        start = 0
        for name in self.board.icons:
            printed = scaled[:, self.layout[name]].reshape(scaled.shape[0], -1, self.cells)
            stop = start + printed.shape[1]
            parts.append(th.bmm(counts[:, :, start:stop], printed))
            start = stop
        first = scaled[:, self.layout[self.board.icons[0]]].reshape(scaled.shape[0], -1, self.cells)
        for name in self.board.picked:
            parts.append(th.bmm(scaled[:, self.layout[name]].unsqueeze(1), first))
        return th.cat(parts, dim=1)

    def _depths(self, present: th.Tensor) -> th.Tensor:
        """Tell each cell how many tiles lie between it and the nearer and the farther end: `(b, 2, cells)`."""
        rows = present.reshape(-1, self.board.rows, self.board.columns)
        from_left = rows.cumsum(dim=2)
        from_right = rows.sum(dim=2, keepdim=True) - from_left + rows
        both = th.stack([th.minimum(from_left, from_right), th.maximum(from_left, from_right)], dim=1)
        return (both * rows.unsqueeze(1)).reshape(-1, 2, self.cells) / self.board.columns

    def _neighbours(self, hidden: th.Tensor) -> th.Tensor:
        """Add up the two neighbours of each cell in its row: `(b, cells, width)`."""
        rows = hidden.reshape(-1, self.board.rows, self.board.columns, hidden.shape[2])
        padded = nn.functional.pad(rows, (0, 0, 1, 1))
        return (padded[:, :, :-2] + padded[:, :, 2:]).reshape(hidden.shape)

    def _end_logits(self, pointed: th.Tensor, present: th.Tensor) -> th.Tensor:
        """Read the logit of the tile at each end of each row: `(b, 2 * rows)`."""
        rows = present.reshape(-1, self.board.rows, self.board.columns)
        left = rows.argmax(dim=2)
        right = self.board.columns - 1 - rows.flip(2).argmax(dim=2)
        ends = th.stack([left, right], dim=2)
        logits = pointed.reshape(-1, self.board.rows, self.board.columns)
        return logits.gather(2, ends).reshape(-1, 2 * self.board.rows)


NETWORKS: dict[str, type[nn.Module]] = {"tiles": TileNet, "mlp": MLPNet}


def make_network(kind: str, game: Game, **sizes: Any) -> nn.Module:
    """Make a network by name.

    Raises:
        ValueError: If there is no such kind, or it does not fit the game.
    """
    if kind not in NETWORKS:
        raise ValueError(f"There is no network {kind!r}; the networks are {', '.join(NETWORKS)}.")
    return NETWORKS[kind](game, **sizes)
