"""The board as text and as an SVG document, from a seat's view or all-seeing.

Both are drawn from the same `View`, which alone decides what may be seen; the record itself is never changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from spirits_env.drawing import (
    CREAM,
    DARK,
    FAINT,
    GOLD,
    INK,
    LAUREL,
    LINE,
    PLATE,
    QUIET,
    RED,
    SEAT_STYLES,
    TEXT_STYLES,
    Shape,
    disc,
    draw_shape,
    finish_scene,
    finish_text,
    tell_result,
    text_width,
    write,
)
from spirits_env.game import Standing
from spirits_env.games.forest.actions import FIRST_CELL, HAND, PASS, PLUS
from spirits_env.games.forest.components import (
    CELLS,
    COLOURS,
    COLUMNS,
    ICONS,
    MISSING_PENALTY,
    PLUS_TOKEN,
    POWERS,
    ROWS,
    SPIRITS,
    TOKEN_CELLS,
    TOKENS,
)
from spirits_env.games.forest.state import END, FIRST, HELD, LYING, PHASES, PLACE, USED
from spirits_env.games.forest.telling import end_cell, tell

_TASKS = ("first tile", "second tile", "payment", "gem step", "new place of the lifted gem", "end")

# --- what may be seen -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tile:
    """A tile in the forest: spirit index, symbols and power index (-1 for none); None in all three if face down."""

    spirit: int | None
    symbols: int | None
    power: int | None


@dataclass(frozen=True)
class Collection:
    """What one seat (alone: the player, then the opponent) has, as far as it may be seen."""

    label: str
    counts: list[int]  # icons on tiles and on visible tokens
    leads: list[bool]
    missing: list[bool]
    tokens: list[int]  # kinds of the visible ones
    hidden: int  # tokens whose kind can't be seen
    used: int
    tiles: int
    hand: int
    removed: int
    points: int | None
    wins: bool


@dataclass(frozen=True)
class View:
    """All facts of a position that a drawing shows."""

    players: int
    turn: int
    phase: int
    actor: int
    tiles: list[Tile | None]
    gems: list[int]
    tokens: dict[int, int | None]
    takeable: dict[int, int]  # actions by cell
    choices: dict[int, int]  # of gems, for who acts or sees all: actions by cell
    buttons: list[tuple[str, int]]  # other choices, likewise
    lit: bool  # whether the viewer acts or sees all
    said: str  # the last decision
    last: int  # its cell, else -1
    paying: int
    lifted: int
    collections: list[Collection]
    icons: tuple[str, ...]


def _is_seen(state: Any, seat: int | None, token: int) -> bool:
    """Tell whether a token's kind may be seen: at the end, held ones are counted openly."""
    status = int(state.token_status[token])
    if seat is None or status == USED:
        return True
    return status == HELD and (int(state.token_seat[token]) == seat or int(state.phase) == END)


def _row_ends(state: Any) -> set[int]:
    """Return the cells at the ends of the rows."""
    ends = set()
    for row in range(ROWS):
        left, right = int(state.left[row]), int(state.right[row])
        if left <= right:
            ends |= {row * COLUMNS + left, row * COLUMNS + right}
    return ends


def _takeable(state: Any, mask: np.ndarray) -> dict[int, int]:
    """Return the cells of the ends that the acting seat may take, with their actions."""
    return {end_cell(state, end): end for end in range(FIRST_CELL) if mask[end]}


def _buttons(state: Any, mask: np.ndarray) -> list[tuple[str, int]]:
    """Return the choices that are no tile, in short, with their actions."""
    phase = int(state.phase)
    nothing = "no tile" if phase == FIRST else "no gem" if phase == PLACE else "no second tile"
    labels = {HAND: "pay from the hand", PLUS: "use +", PASS: nothing}
    return [(label, action) for action, label in labels.items() if mask[action]]


def _last(standing: Standing) -> tuple[str, int]:
    """Say what the last decision was, and return its cell, -1 if it had none."""
    before, action = standing.before, standing.action
    if before is None:
        return "", -1
    cell = end_cell(before, action) if action < FIRST_CELL else action - FIRST_CELL if action < HAND else -1
    return f"last: seat {before.seat}: {tell(before, action)}", cell


def _tiles(state: Any, seat: int | None) -> list[Tile | None]:
    """Return the tile on each cell; alone, those between the ends of a row lie face down."""
    seen = set(range(CELLS)) if seat is None or int(state.players) > 1 else _row_ends(state)
    tiles: list[Tile | None] = []
    for cell in range(CELLS):
        if not state.present[cell]:
            tiles.append(None)
        elif cell in seen:
            tiles.append(Tile(int(state.spirit[cell]), int(state.symbols[cell]), int(state.power[cell])))
        else:
            tiles.append(Tile(None, None, None))
    return tiles


def _lying_tokens(state: Any, seat: int | None) -> dict[int, int | None]:
    """Return the kind (None if hidden) of the token on each cell that has one."""
    lying: dict[int, int | None] = {}
    for token, (row, column) in enumerate(TOKEN_CELLS):
        if int(state.token_status[token]) == LYING:
            lying[row * COLUMNS + column] = int(state.token[token]) if seat is None else None
    return lying


def _counts(state: Any, seat: int | None, owner: int, icons: int) -> list[int]:
    """Count an owner's icons on tiles and on the tokens that count and may be seen."""
    counts = [int(count) for count in state.icons[owner, :icons]]
    for token in range(len(TOKEN_CELLS)):
        status, kind = int(state.token_status[token]), int(state.token[token])
        # A "+" is no icon, so of the used tokens only the opponent's turned-up ones of the game alone count.
        if int(state.token_seat[token]) == owner and status in (HELD, USED) and kind != PLUS_TOKEN:
            counts[kind] += _is_seen(state, seat, token)
    return counts


def _owned_tokens(state: Any, seat: int | None, owner: int) -> tuple[list[int], int, int]:
    """Return an owner's visible tokens, the number of hidden ones, and of used "+" tokens."""
    visible, hidden, used = [], 0, 0
    for token in range(len(TOKEN_CELLS)):
        if int(state.token_seat[token]) != owner:
            continue
        kind = int(state.token[token])
        if not _is_seen(state, seat, token):
            hidden += 1
        elif int(state.token_status[token]) == USED and kind == PLUS_TOKEN:
            used += 1
        else:
            visible.append(kind)
    return visible, hidden, used


def _collections(state: Any, seat: int | None, standing: Standing, icons: int) -> list[Collection]:
    """Return what each seat has."""
    alone = int(state.players) == 1
    owners = range(2 if alone else int(state.players))
    counts = [_counts(state, seat, owner, icons) for owner in owners]
    over = int(state.phase) == END
    collections = []
    for owner in owners:
        tokens, hidden, used = _owned_tokens(state, seat, owner)
        opponent = alone and owner == 1
        collections.append(
            Collection(
                label="opponent" if opponent else f"seat {owner}",
                counts=counts[owner],
                leads=[0 < mine == max(row[icon] for row in counts) for icon, mine in enumerate(counts[owner])],
                missing=[not state.icons[owner, icon] and not opponent for icon in range(icons)],
                tokens=tokens,
                hidden=hidden,
                used=used,
                tiles=int(state.tiles[owner]),
                hand=int(state.hand[owner]),
                removed=int(state.removed[owner]),
                points=int(standing.points[owner]) if (over or seat is None) and not opponent else None,
                wins=over and (not standing.won[0] if opponent else bool(standing.won[owner])),
            )
        )
    return collections


def _view(state: Any, seat: int | None, standing: Standing) -> View:
    """Gather what a seat may see (None: everything)."""
    icons = SPIRITS if int(state.players) == 1 else ICONS
    # Whether a "+" can be used is known only to who holds it.
    lit = seat is None or seat == int(state.seat)
    said, last = _last(standing)
    return View(
        players=int(state.players),
        turn=int(state.turn),
        phase=int(state.phase),
        actor=int(state.seat),
        tiles=_tiles(state, seat),
        gems=[int(gem) for gem in state.gem],
        tokens={} if int(state.players) == 1 else _lying_tokens(state, seat),
        takeable=_takeable(state, standing.mask),
        choices={cell: FIRST_CELL + cell for cell in range(CELLS) if lit and standing.mask[FIRST_CELL + cell]},
        buttons=_buttons(state, standing.mask) if lit else [],
        lit=lit,
        said=said,
        last=last,
        paying=int(state.paying),
        lifted=int(state.lifted),
        collections=_collections(state, seat, standing, len(icons)),
        icons=icons,
    )


def _name(kind: int) -> str:
    """Return a token's name as people read it."""
    return "+" if kind == PLUS_TOKEN else TOKENS[kind].replace("_", " ")


def _headline(view: View) -> str:
    """Say whose decision it is, or who has won."""
    if view.phase != END:
        task = _TASKS[view.phase] if view.players > 1 else "tile"
        return f"turn {view.turn + 1}: seat {view.actor}, {task}"
    return tell_result(view.turn, [collection.label for collection in view.collections if collection.wins])


# --- text -------------------------------------------------------------------------------------------------

_CODES = (*(icon[:3] for icon in ICONS), "+")
_ICON_STYLES = (
    "#87902F",
    "#4E9A3A",
    "#1E968E",
    "#A8714D",
    "#8C8966",
    "#8C77B4",
    "#D8566A",
    "#C67C22",
    "#B556B0",
    "#7286B8",
    "#B3860F",
    "#DB5A2C",
)
STYLES = (
    *TEXT_STYLES,
    *(
        (rf"(?<![a-z])(?:{icon[:3]}|{icon.replace('_', ' ')})(?![a-z])", style)
        for icon, style in zip(ICONS, _ICON_STYLES, strict=True)
    ),
    *((rf"(?<=[a-z]\d){power[0]}", style) for power, style in zip(POWERS, _ICON_STYLES[len(SPIRITS) :], strict=True)),
    *((rf"(?<![a-z])[g^]{seat}", style) for seat, style in enumerate(SEAT_STYLES)),
    (r"\bopponent\b", SEAT_STYLES[1]),
    (r"\d*\*", "bold"),
    (r"\d*!", "#DB4437"),
)
_WIDTH = 8


def _tile_text(view: View, cell: int) -> str:
    """Write a tile as code, symbols and power, in the brackets of its mark."""
    tile = view.tiles[cell]
    if tile is None:
        return "   ."
    if tile.spirit is None or tile.power is None:
        return "  ???"
    power = POWERS[tile.power][0] if tile.power >= 0 else ""
    opening, closing = ("{", "}") if cell == view.paying else ("[", "]") if cell in view.takeable else (" ", "")
    return f"{opening}{_CODES[tile.spirit]}{tile.symbols}{power}{closing}"


def _things_text(view: View, cell: int) -> str:
    """Write what lies on a tile: gem or mark of the lifted one, and token."""
    gem = f"^{view.actor}" if cell == view.lifted else f"g{view.gems[cell]}" if view.gems[cell] >= 0 else "  "
    if cell not in view.tokens:
        return f" {gem}"
    kind = view.tokens[cell]
    return f" {gem} {'o' if kind is None else _CODES[kind]}"


def _board_text(view: View) -> list[str]:
    """Write the four rows, two lines each, under the column numbers."""
    lines = ["col    " + "".join(f" {column:<{_WIDTH - 1}}" for column in range(COLUMNS))]
    for row in range(ROWS):
        cells = range(row * COLUMNS, (row + 1) * COLUMNS)
        lines.append(f"row {row}  " + "".join(f"{_tile_text(view, cell):<{_WIDTH}}" for cell in cells))
        if view.players > 1:
            lines.append("       " + "".join(f"{_things_text(view, cell):<{_WIDTH}}" for cell in cells))
    return lines


def _collection_text(view: View, owner: int) -> str:
    """Write one line of the table."""
    collection = view.collections[owner]
    cells = []
    for count, leads, missing in zip(collection.counts, collection.leads, collection.missing, strict=True):
        cells.append(f"{count:>3}{'*' * leads + '!' * missing:<3}")
    cells.append(f"{collection.tiles:>5}")
    if view.players > 1:
        cells.append(f"{collection.hand:>5}{collection.removed:>5}")
    if collection.points is not None:
        cells.append(f"{collection.points:>7}")
    return f"{collection.label:<9}" + "".join(cells)


def _token_text(collection: Collection) -> str:
    """Write a seat's tokens by name, the hidden ones as a number."""
    parts = [_name(kind) for kind in collection.tokens]
    if collection.hidden:
        parts.append(f"{collection.hidden} hidden")
    if collection.used:
        parts.append(f"{collection.used} used +")
    return f"{collection.label:<9} tokens: {', '.join(parts) or 'none'}"


def _legend(view: View) -> list[str]:
    """Explain the marks."""
    lines = ["[ ] can be taken   * leads   ! no tile (-3)   codes: " + " ".join(_CODES[: len(view.icons)])]
    if view.players > 1:
        lines.append("{ } being paid for   g0 gem of seat 0   ^0 lifted from here   o token   power m s f")
    return lines


def draw_text(state: Any, seat: int | None, standing: Standing) -> str:
    """Draw a position as text, at most 110 columns of ASCII.

    Args:
        state: One record of the game.
        seat: Whose view; None sees everything.
        standing: What the rules say of the position.
    """
    view = _view(state, seat, standing)
    header = " " * 9 + "".join(f"{_CODES[icon]:>3}   " for icon in range(len(view.icons))) + "tiles"
    if view.players > 1:
        header += " hand lost"
    if view.collections[0].points is not None:
        header += " points"
    lines = [_headline(view), view.said, "", *_board_text(view), "", header]
    lines += [_collection_text(view, owner) for owner in range(len(view.collections))]
    lines += [""] + [_token_text(collection) for collection in view.collections]
    return finish_text([*lines, "", *_legend(view)])


# --- SVG --------------------------------------------------------------------------------------------------

_SEAT_COLOURS = ("#7DB2F5", "#F0C23B", "#EDEDED", "#2FA66F")

# Icons must stand out from the colours that people know the spirits by; the orange of the vines is a light one.
_ICON_COLOURS = tuple(DARK if name == "vines" else CREAM for name in SPIRITS)
_POWER_COLOUR = "#FFE08A"

_SCENE_WIDTH = 1100
_LEFT, _TOP, _PITCH, _SIZE = 104, 88, 80, 72
_TABLE = _TOP + ROWS * _PITCH + 22
_ROW = 30


_SHAPES = {
    "branches": Shape("", "M0 10V-10M0 5L-8 -3M0 1L8 -7"),
    "moss": Shape(disc(0, -5, 4.6) + disc(-5.2, 4.2, 4.6) + disc(5.2, 4.2, 4.6), ""),
    "dew_drops": Shape("M0 -10C3 -5 7 -1 7 3A7 7 0 0 1 -7 3C-7 -1 -3 -5 0 -10Z", ""),
    "mushrooms": Shape("M-10 1A10 10 0 0 1 10 1ZM-3 3H3V10H-3Z", ""),
    "flowers": Shape(disc(0, -6, 4) + disc(6, 0, 4) + disc(0, 6, 4) + disc(-6, 0, 4), "M-4 -4L4 4M4 -4L-4 4"),
    "web_spiders": Shape("", "M0 -9L8 -4.5V4.5L0 9L-8 4.5V-4.5ZM0 -9V9M8 -4.5L-8 4.5M-8 -4.5L8 4.5"),
    "fruits": Shape(disc(-4.8, 5, 4.6) + disc(4.8, 5, 4.6), "M-4.8 2L2 -9L4.8 2"),
    "vines": Shape("", "M-9 6C-9 -12 0 -12 0 0C0 12 9 12 9 -6"),
    "leaves": Shape("M-9 9C-10 -4 -3 -10 9 -9C10 3 4 10 -9 9Z", ""),
    "moon": Shape("M4 -9A9.5 9.5 0 1 0 4 9A11 11 0 0 1 4 -9Z", ""),
    "sun": Shape(
        disc(0, 0, 4.6),
        "M0 -9V-8M0 8V9M-9 0H-8M8 0H9M-6.4 -6.4L-5.7 -5.7M5.7 5.7L6.4 6.4M-6.4 6.4L-5.7 5.7M5.7 -5.7L6.4 -6.4",
    ),
    "fire": Shape("M1 -10C2 -5 7 -3 7 3A7 7 0 0 1 -7 3C-7 0 -5 -2 -4 -5C-2 -4 -1 -2 -1 -1C1 -3 2 -6 1 -10Z", ""),
    "plus": Shape("", "M-7 0H7M0 -7V7"),
}


def _icon(name: str, x: float, y: float, radius: float, colour: str) -> str:
    """Draw an icon around a point."""
    return draw_shape(_SHAPES[name], x, y, radius, colour)


def _diamond(x: float, y: float, seat: int, attributes: str, hollow: bool = False) -> str:
    """Draw a gem in its seat's colour, with the seat's number; hollow where it is gone."""
    style = f'fill="{CREAM}" stroke-dasharray="3 2.4"' if hollow else f'fill="{_SEAT_COLOURS[seat]}"'
    return (
        f'<g {attributes}><path d="M{x:g} {y - 13:g}L{x + 11:g} {y:g}L{x:g} {y + 13:g}L{x - 11:g} {y:g}Z" {style} '
        f'stroke="{DARK}" stroke-width="1.6"/>{write(str(seat), x, y, 8, DARK, 0.5)}</g>'
    )


def _token(x: float, y: float, kind: int | None, attributes: str) -> str:
    """Draw a token as a disc, with its icon if it may be seen."""
    if kind is None:
        inner = ""
    else:
        attributes += f' data-kind="{TOKENS[kind]}"'
        inner = f"<title>{_name(kind)}</title>" + _icon(TOKENS[kind], x, y, 6.5, DARK)
    return (
        f'<g {attributes}><circle cx="{x:g}" cy="{y:g}" r="10" fill="{CREAM}" stroke="{DARK}" '
        f'stroke-width="1.4"/>{inner}</g>'
    )


def _corner(cell: int) -> tuple[int, int]:
    """Return the upper left corner of a cell."""
    return _LEFT + cell % COLUMNS * _PITCH, _TOP + cell // COLUMNS * _PITCH


def _box(cell: int, margin: int, style: str) -> str:
    """Draw a rounded square around a cell."""
    x, y = _corner(cell)
    size = _SIZE + 2 * margin
    return f'<rect x="{x - margin}" y="{y - margin}" width="{size}" height="{size}" rx="{max(0, 7 + margin)}" {style}/>'


def _tile(cell: int, tile: Tile | None) -> str:
    """Draw a tile with its symbols and its power, face down if unseen, or the place where one lay."""
    if tile is None:
        return _box(cell, -6, f'fill="none" stroke="{LINE}" stroke-width="1.5"')
    if tile.spirit is None or tile.symbols is None or tile.power is None:
        back = _box(cell, 0, f'fill="{QUIET}"') + _box(cell, -8, f'fill="none" stroke="{CREAM}" opacity="0.5"')
        return f'<g class="tile" data-cell="{cell}" data-spirit="hidden">{back}</g>'
    x, y = _corner(cell)
    name, colour = SPIRITS[tile.spirit], _ICON_COLOURS[tile.spirit]
    attributes = f'class="tile" data-cell="{cell}" data-spirit="{name}" data-symbols="{tile.symbols}"'
    parts = [_box(cell, 0, f'fill="{COLOURS[tile.spirit]}"')]
    if tile.symbols == 1:
        parts.append(_icon(name, x + 36, y + 35, 15, colour))
    else:
        parts += [_icon(name, x + 21, y + 27, 12, colour), _icon(name, x + 51, y + 27, 12, colour)]
    if tile.power >= 0:
        attributes += f' data-power="{POWERS[tile.power]}"'
        parts.append(f'<circle cx="{x + 58}" cy="{y + 14}" r="11" fill="{DARK}"/>')
        parts.append(_icon(POWERS[tile.power], x + 58, y + 14, 7, _POWER_COLOUR))
    return f"<g {attributes}>{''.join(parts)}</g>"


def _takeable_mark(view: View, cell: int) -> str:
    """Frame a tile that can be taken; it is a choice for who acts or sees all."""
    legal = f' data-legal="{view.takeable[cell]}"' if view.lit else ""
    return _box(cell, 3, f'class="takeable" data-cell="{cell}"{legal} fill="none" stroke="{GOLD}" stroke-width="3"')


def _button_row(view: View) -> list[str]:
    """Draw the choices that are no tile, from the right edge to the left."""
    parts, right = [], _SCENE_WIDTH - 36.0
    for label, action in reversed(view.buttons):
        width = text_width(label, 8) + 28
        left = right - width
        parts.append(
            f'<g class="choice" data-legal="{action}"><rect x="{left:g}" y="18" width="{width:g}" height="30" rx="8" '
            f'fill="{CREAM}" stroke="{GOLD}" stroke-width="3"/>{write(label, left + width / 2, 33, 8, DARK, 0.5)}</g>'
        )
        right = left - 12
    return parts


def _board(view: View) -> list[str]:
    """Draw the forest: labels, tiles, and what lies on and marks them."""
    parts = [
        write(str(column), _LEFT + column * _PITCH + _SIZE / 2, _TOP - 16, 9, FAINT, 0.5) for column in range(COLUMNS)
    ]
    parts += [write(f"row {row}", 30, _TOP + row * _PITCH + _SIZE / 2, 9, FAINT) for row in range(ROWS)]
    parts += [_tile(cell, tile) for cell, tile in enumerate(view.tiles)]
    parts += [_takeable_mark(view, cell) for cell in sorted(view.takeable)]
    for cell, action in view.choices.items():
        style = f'class="choice" data-cell="{cell}" data-legal="{action}" fill="none" stroke="{GOLD}"'
        parts.append(_box(cell, 2, style + ' stroke-width="2"'))
    if view.last >= 0:
        style = f'class="last" data-cell="{view.last}" fill="none" stroke="{INK}" stroke-width="2"'
        parts.append(_box(view.last, -3, style + ' stroke-dasharray="2 5" stroke-linecap="round"'))
    if view.paying >= 0:
        style = f'class="paying" data-cell="{view.paying}" fill="none" stroke="{RED}" stroke-width="4"'
        parts.append(_box(view.paying, 3, style + ' stroke-dasharray="9 5"'))
    for cell, kind in view.tokens.items():
        x, y = _corner(cell)
        parts.append(_token(x + 59, y + 59, kind, f'class="token" data-cell="{cell}"'))
    for cell, seat in enumerate(view.gems):
        x, y = _corner(cell)
        if seat >= 0:
            parts.append(_diamond(x + 14, y + 57, seat, f'class="gem" data-cell="{cell}" data-seat="{seat}"'))
        elif cell == view.lifted:
            parts.append(_diamond(x + 14, y + 57, view.actor, f'class="lifted" data-cell="{cell}"', hollow=True))
    return parts


def _rule(y: float) -> str:
    """Draw a thin line across the table."""
    return f'<path d="M30 {y:g}H{_SCENE_WIDTH - 36}" stroke="{LINE}" stroke-width="1.5"/>'


def _owner(view: View, owner: int, y: float) -> str:
    """Name a seat at the start of a table row, bold where it has won."""
    collection = view.collections[owner]
    text = write(collection.label, 30, y, 9, INK)
    if collection.wins:
        text = f'<g class="winner" data-seat="{owner}"><rect x="22" y="{y - 11:g}" width="84" height="22" rx="5" '
        text += f'fill="{LAUREL}"/>{write(collection.label, 30, y, 9, INK)}</g>'
    return text


def _count(view: View, owner: int, icon: int, y: float) -> str:
    """Draw one count; leaders on a plate, icons without a tile in red with the penalty."""
    collection = view.collections[owner]
    count, leads, missing = collection.counts[icon], collection.leads[icon], collection.missing[icon]
    attributes = f'class="count" data-seat="{owner}" data-icon="{view.icons[icon]}" data-value="{count}"'
    x = _LEFT + icon * _PITCH + _SIZE / 2
    parts = []
    if leads:
        attributes += ' data-leads="1"'
        parts.append(f'<rect x="{x - 17:g}" y="{y - 11:g}" width="34" height="22" rx="5" fill="{PLATE}"/>')
    if missing:
        attributes += ' data-missing="1"'
        parts.append(write(f"-{MISSING_PENALTY}", x + 20, y, 7, RED))
    parts.append(write(str(count), x, y, 10, RED if missing else INK, 0.5))
    return f"<g {attributes}>{''.join(parts)}</g>"


def _plaque(icon: int, x: float, y: float) -> str:
    """Draw an icon as it is on the tiles."""
    fill, colour = (COLOURS[icon], _ICON_COLOURS[icon]) if icon < len(SPIRITS) else (DARK, _POWER_COLOUR)
    plate = f'<rect x="{x - 13:g}" y="{y - 12:g}" width="26" height="24" rx="6" fill="{fill}"/>'
    return plate + _icon(ICONS[icon], x, y, 8.5, colour)


def _count_table(view: View) -> list[str]:
    """Draw the table of icons: one column each, under the columns of the forest."""
    parts = []
    for icon, name in enumerate(view.icons):
        x = _LEFT + icon * _PITCH + _SIZE / 2
        parts.append(_plaque(icon, x, _TABLE))
        parts.append(write(name.replace("_", " "), x, _TABLE + 20, 6.5, INK, 0.5))
    for owner in range(len(view.collections)):
        y = _TABLE + 46 + owner * _ROW
        parts += [_rule(y - _ROW / 2), _owner(view, owner, y)]
        parts += [_count(view, owner, icon, y) for icon in range(len(view.icons))]
    return parts


# Where the second table's columns start.
_COLUMNS_AT = {"tiles": 140, "hand": 220, "out of the game": 370, "tokens": 550, "used +": 910, "points": 1000}


def _number(name: str, owner: int, value: int, y: float) -> str:
    """Draw a number of the second table."""
    attributes = f'class="{name.split()[0]}" data-seat="{owner}" data-value="{value}"'
    return f"<g {attributes}>{write(str(value), _COLUMNS_AT[name], y, 10, INK)}</g>"


def _gems_of(name: str, owner: int, count: int, y: float) -> str:
    """Draw the gems in a seat's hand, or hollow those out of the game."""
    x = _COLUMNS_AT[name] + 10
    gems = "".join(_diamond(x + 26 * i, y, owner, 'class="spare"', hollow=name != "hand") for i in range(count))
    return f'<g class="{name.split()[0]}" data-seat="{owner}" data-value="{count}">{gems}</g>'


def _tokens_of(collection: Collection, owner: int, y: float) -> str:
    """Draw a seat's tokens, the hidden ones as blank discs."""
    kinds = [*collection.tokens, *[None] * collection.hidden]
    x = _COLUMNS_AT["tokens"] + 10
    discs = [_token(x + 26 * i, y, kind, f'class="held" data-seat="{owner}"') for i, kind in enumerate(kinds)]
    names = ", ".join(map(_name, collection.tokens))
    left = x + 26 * len(kinds) - 4
    # Where there are many, their icons must do.
    fits = left + text_width(names, 6.5) < _COLUMNS_AT["used +"] - 10
    return "".join(discs) + (write(names, left, y, 6.5, INK) if fits else "")


def _possession_table(view: View, top: float) -> list[str]:
    """Draw the table of tiles, gems, tokens and points."""
    names = ["tiles", "tokens"] + ["hand", "out of the game", "used +"] * (view.players > 1)
    names += ["points"] * (view.collections[0].points is not None)
    parts = [write(name, _COLUMNS_AT[name], top, 7, FAINT) for name in names]
    for owner, collection in enumerate(view.collections):
        y = top + 28 + owner * _ROW
        parts += [_rule(y - _ROW / 2), _owner(view, owner, y), _number("tiles", owner, collection.tiles, y)]
        parts.append(_tokens_of(collection, owner, y))
        if view.players > 1:
            parts.append(_gems_of("hand", owner, collection.hand, y))
            parts.append(_gems_of("out of the game", owner, collection.removed, y))
            parts.append(_number("used +", owner, collection.used, y))
        if collection.points is not None:
            parts.append(_number("points", owner, collection.points, y))
    return parts


def draw_scene(state: Any, seat: int | None, standing: Standing) -> str:
    """Draw a position as an SVG document that needs no font and nothing from outside.

    Args:
        state: One record of the game.
        seat: Whose view; None sees everything.
        standing: What the rules say of the position.
    """
    view = _view(state, seat, standing)
    second = _TABLE + 46 + len(view.collections) * _ROW + 16
    height = second + 28 + len(view.collections) * _ROW + 6
    parts = [
        f'<g class="headline">{write(_headline(view), 30, 28, 13, INK)}</g>',
        f'<g class="said">{write(view.said, 30, 52, 7, FAINT)}</g>',
        *_button_row(view),
        *_board(view),
        *_count_table(view),
        *_possession_table(view, second),
    ]
    return finish_scene(_SCENE_WIDTH, height, view.turn, PHASES[view.phase], view.actor, parts)
