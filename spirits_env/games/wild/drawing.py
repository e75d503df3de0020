"""The table as text and as an SVG document, from a seat's view or all-seeing.

Both are drawn from the same `View`, which alone decides what may be seen; the record itself is never changed.
"""

from __future__ import annotations

import textwrap
from string import ascii_letters
from typing import Any

from spirits_env.drawing import (
    CREAM,
    DARK,
    FAINT,
    GOLD,
    INK,
    LAUREL,
    LINE,
    PAPER,
    QUIET,
    RED,
    TEXT_STYLES,
    Shape,
    draw_shape,
    finish_scene,
    finish_text,
    tell_result,
    write,
)
from spirits_env.game import Standing
from spirits_env.games.wild.components import (
    ANIMALS,
    CARD_TITLES,
    CARDS,
    KINDS,
    PLAYERS,
    SALMON,
    SALMON_POINTS,
    SPIRIT_STONE,
    SPIRIT_STONES_TO_END,
    STONES_PER_KIND,
    TAKE_ONE,
    TURTLE,
    TURTLE_POINTS,
)
from spirits_env.games.wild.figures import FIGURES, draw_animal, draw_coyote, draw_stone
from spirits_env.games.wild.state import CARD, END, MOVE_COYOTE, PHASES, PILE, PLACE, PUT_BACK, STONE
from spirits_env.games.wild.telling import stone_name
from spirits_env.games.wild.view import NO_ACTION, Animal, Card, Power, Seat, Spaces, View, look

# --- what is said of it -----------------------------------------------------------------------------------


def _task(view: View) -> str:
    """Say what the seat to act is asked."""
    if view.phase == PLACE:
        kind = view.held[0]
        return f"where the {stone_name(kind)}{'' if kind == SPIRIT_STONE else ' stone'} goes"
    if view.phase == PUT_BACK:
        return f"which stone goes back into the bag (up to {view.choosing})"
    if view.phase == STONE:
        return f"which stone to take ({view.choosing} to go)"
    return {CARD: "which card to use", PILE: "which Spirit Power to use", MOVE_COYOTE: "where Coyote goes"}[view.phase]


def _headline(view: View) -> str:
    """Say whose decision it is, or who has won."""
    if view.phase != END:
        return f"turn {view.turn + 1}: seat {view.actor}, {_task(view)}"
    return tell_result(view.turn, sorted(f"seat {seat.number}" for seat in view.seats if seat.wins))


def _use(view: View) -> str:
    """Say which card is in use and how far, or what else led here."""
    if view.card < 0:
        if view.phase == MOVE_COYOTE:
            return "both Take One are face down: their backs show Coyote"
        return f"seat {PLAYERS - 1 - view.actor} has passed" if view.passes and view.phase != END else ""
    said = f"in use: {CARD_TITLES[view.card]}"
    for pile in view.piles:
        power = pile.cards[0]
        if power.step >= 0 and power.steps is not None:
            said += f", {power.name}, step {power.step + 1} of {len(power.steps)}: {power.steps[power.step]}"
    return said


def _spirit_stones_out(view: View) -> int:
    """Return how many Spirit Stones are out of the bag."""
    return STONES_PER_KIND - view.bag[SPIRIT_STONE]


def _coyote_place(view: View) -> str:
    """Say where Coyote is."""
    if view.coyote is None:
        return "beside the table"
    seat, animal = view.coyote
    return f"on seat {seat}'s {ANIMALS[animal]}"


# --- text -------------------------------------------------------------------------------------------------

_TEXT_WIDTH = 110
_LETTERS = "BTOWPYS"
_OTHER_LETTERS = "".join(sorted(set(ascii_letters) - set(_LETTERS)))
_STONE_STYLES = ("#4A86E0", "#16938A", "#D9751A", "#8A8A8A", "#9A63D0", "#AD8A0E", "#6F8FBF")
STYLES = (
    *TEXT_STYLES,
    *((rf"(?i)\b{kind.replace('_', ' ')}\b", style) for kind, style in zip(KINDS, _STONE_STYLES, strict=True)),
    # Letters that stand alone or among other stones and empty spaces, not those of words.
    *(
        (rf"(?<![{_OTHER_LETTERS}]){letter}(?=[{_LETTERS}.]*(?![A-Za-z]))", style)
        for letter, style in zip(_LETTERS, _STONE_STYLES, strict=True)
    ),
    (r"\bC\b", "bold #A8714D"),
    (r"\([a-z_]+\)", "dim"),
)
_HALF = 48


def _lit(text: str, choice: int) -> str:
    """Put what can be chosen into brackets."""
    return f"[{text}]" if choice >= 0 else text


def _stones_text(kinds: list[int]) -> str:
    """Write stones by name, in order."""
    return ", ".join(map(stone_name, kinds)) or "none"


def _bowl_text(view: View) -> str:
    """Write the bowl by kind."""
    parts = [
        _lit(f"{stone_name(kind)} {count}", view.bowl_choices[kind]) for kind, count in enumerate(view.bowl) if count
    ]
    return f"bowl    {sum(view.bowl):>2}: {', '.join(parts) or 'empty'}"


def _bag_text(view: View) -> str:
    """Write the bag by kind."""
    parts = [f"{stone_name(kind)} {count}" for kind, count in enumerate(view.bag) if count]
    return f"bag     {sum(view.bag):>2}: {', '.join(parts) or 'empty'}"


def _power_text(power: Power, choice: int) -> str:
    """Write a Spirit Power with its steps; what is in use in braces, from the step that it has come to."""
    if power.steps is None:
        return "face down"
    steps = [f"{{{step}}}" if number == power.step else step for number, step in enumerate(power.steps)]
    name = _lit(str(power.name), choice)
    return f"{name}: {', '.join(steps)}{'' if power.known else ' (not seen yet)'}"


def _piles_text(view: View) -> list[str]:
    """Write the piles from the top, one line or more for each card."""
    if not view.piles:
        return [f"{view.powers}: the card only recovers"]
    lines = [view.powers]
    for number, pile in enumerate(view.piles):
        for depth, power in enumerate(pile.cards):
            label = f"pile {number}  " if depth == 0 else " " * 8
            said = _power_text(power, pile.choice if depth == 0 else NO_ACTION)
            lines += textwrap.wrap(said, _TEXT_WIDTH, initial_indent=label, subsequent_indent=" " * 12)
    return lines


def _spaces_text(spaces: Spaces) -> str:
    """Write spaces as letters and dots."""
    letters = "".join(_LETTERS[kind] for kind in spaces.kinds)
    return _lit(letters.ljust(spaces.size, "."), spaces.choice)


def _animal_text(animal: Animal) -> str:
    """Write an animal: spaces, bonus space, Coyote and points."""
    spaces = " ".join(map(_spaces_text, animal.spaces))
    bonus = _lit("S" if animal.spirit_stone else ".", animal.bonus_choice)
    coyote = _lit("C" if animal.coyote else ".", animal.coyote_choice)
    return f"{spaces:<16}{bonus:^7}{coyote:^8}{animal.points:>6}"


def _boards_text(view: View) -> list[str]:
    """Write both boards side by side."""
    heads = []
    for seat in view.seats:
        mark = " wins" if seat.wins else " to act" if seat.acts else ""
        heads.append(f"seat {seat.number}{mark}".ljust(16) + " bonus  Coyote  points")
    lines = [" " * 8 + "".join(head.ljust(_HALF) for head in heads)]
    for number, name in enumerate(ANIMALS):
        halves = [_animal_text(seat.animals[number]) for seat in view.seats]
        lines.append(f"{name:<8}" + "".join(half.ljust(_HALF) for half in halves))
    totals = [f"{seat.points:>37}" for seat in view.seats]
    return [*lines, f"{'total':<8}" + "".join(total.ljust(_HALF) for total in totals)]


def _card_text(card: Card) -> str:
    """Write an action card's short name in the brackets of its state."""
    name = CARDS[card.card]
    return f"({name})" if card.down else f"{{{name}}}" if card.used else _lit(name, card.choice)


def _cards_text(view: View) -> list[str]:
    """Write both players' action cards."""
    return [f"seat {seat.number}  cards: " + " ".join(map(_card_text, seat.cards)) for seat in view.seats]


def _legend() -> list[str]:
    """Explain the marks."""
    letters = " ".join(f"{letter} {stone_name(kind)}" for kind, letter in enumerate(_LETTERS))
    return [f"stones: {letters}   . empty   C Coyote", "[ ] can be chosen   ( ) face down   { } in use"]


def draw_text(state: Any, seat: int | None, standing: Standing) -> str:
    """Draw a position as text, at most 110 columns of ASCII.

    Args:
        state: One record of the game.
        seat: Whose view; None sees everything.
        standing: What the rules say of the position.
    """
    view = look(state, seat, standing)
    lines = [_headline(view), _use(view), view.said, "", *_boards_text(view), "", *_cards_text(view), ""]
    lines += [_bowl_text(view), _bag_text(view)]
    if view.following is not None:
        lines.append(f"next      : {_stones_text(view.following)}")
    lines += [f"held    {len(view.held):>2}: {_stones_text(view.held)}"]
    lines.append(f"out       : {_spirit_stones_out(view)} Spirit Stones of {SPIRIT_STONES_TO_END}")
    lines.append(f"Coyote    : {_coyote_place(view)}")
    choices = [text for text, choice in (("[leave Coyote]", view.leave), ("[stop]", view.stop)) if choice >= 0]
    lines += [" ".join(choices)] if choices else []
    return finish_text([*lines, "", *_piles_text(view), "", *_legend()])


# --- marks of the picture ---------------------------------------------------------------------------------


def _attributes(**values: Any) -> str:
    """Write an element's class and its `data-` attributes; None is left out."""
    given = [(name, value) for name, value in values.items() if value is not None]
    return " ".join(f'class="{value}"' if name == "cls" else f'data-{name}="{value}"' for name, value in given)


def _group(parts: list[str], **values: Any) -> str:
    """Group elements that are one thing of the game."""
    return f"<g {_attributes(**values)}>{''.join(parts)}</g>"


def _moved(parts: list[str], x: float, y: float) -> str:
    """Draw what was drawn around (0, 0) somewhere else."""
    return f'<g transform="translate({x:g} {y:g})">{"".join(parts)}</g>'


def _box(width: float, height: float, style: str, margin: float = 0) -> str:
    """Draw a rounded rectangle with its upper left corner at (0, 0), or so much wider on all sides."""
    size = f'width="{width + 2 * margin:g}" height="{height + 2 * margin:g}"'
    return f'<rect x="{-margin:g}" y="{-margin:g}" {size} rx="{7 + margin:g}" {style}/>'


def _frame(width: float, height: float, **values: Any) -> str:
    """Draw a frame of gold around what can be chosen."""
    return _box(width, height, f'{_attributes(cls="choice", **values)} fill="none" stroke="{GOLD}" stroke-width="4"', 2)


def _in_use(width: float, height: float) -> str:
    """Draw the frame of a card that is being carried out."""
    return _box(width, height, f'fill="none" stroke="{RED}" stroke-width="4" stroke-dasharray="9 5"', 2)


def _ring(x: float, y: float, radius: float, **values: Any) -> str:
    """Draw a ring of gold around what can be chosen."""
    attributes = _attributes(cls="choice", **values)
    return f'<circle {attributes} cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="none" stroke="{GOLD}" stroke-width="3"/>'


def _hollow(x: float, y: float, radius: float, attributes: str = "") -> str:
    """Draw where something will lie, or lay."""
    return (
        f'<circle {attributes} cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="none" stroke="{FAINT}" '
        'stroke-width="1.3" stroke-dasharray="3 2.4"/>'
    )


def _stone(kind: int, x: float, y: float, radius: float, **values: Any) -> str:
    """Draw a stone that is on the table."""
    parts = [f"<title>{stone_name(kind)}</title>", draw_stone(kind, x, y, radius)]
    return _group(parts, cls="stone", **values, kind=KINDS[kind])


# --- boards -----------------------------------------------------------------------------------------------

_MARGIN, _SEATS_TOP = 30, 80
_PANEL_WIDTH, _PANEL_HEIGHT, _PANEL_PITCH = 200, 170, 210
_RADIUS = 12
_WORTH_BY_STONES = {SALMON: SALMON_POINTS, TURTLE: TURTLE_POINTS}


def _space(owner: int, number: int, animal: Animal, spaces: Spaces, at: int) -> str:
    """Draw a space with its stone, or empty; lit where the next stone can go, faint where none can go any more."""
    figure = FIGURES[number]
    x, y = figure.places[animal.spaces.index(spaces)][at]
    where = {"seat": owner, "animal": ANIMALS[number], "space": spaces.name}
    if at < len(spaces.kinds):
        return _stone(spaces.kinds[at], x, y, _RADIUS, **where)
    opacity = ' fill-opacity="0.45" stroke-opacity="0.45"' if animal.spirit_stone else ""
    parts = [
        f'<circle {_attributes(cls="space", **where)} cx="{x}" cy="{y}" r="{_RADIUS - 1}" fill="{CREAM}" '
        f'stroke="{figure.dark}" stroke-width="1.3"{opacity}/>'
    ]
    if number in _WORTH_BY_STONES and not animal.spirit_stone:
        parts.append(write(str(_WORTH_BY_STONES[number][at + 1]), x, y, 7, QUIET, 0.5))
    if spaces.choice >= 0 and at == len(spaces.kinds):
        parts.append(_ring(x, y, _RADIUS + 1, **where, legal=spaces.choice))
    return "".join(parts)


def _bonus(owner: int, number: int, animal: Animal) -> list[str]:
    """Draw a bonus space; with its Spirit Stone the animal is doubled and closed."""
    figure = FIGURES[number]
    x, y = figure.bonus
    where = {"seat": owner, "animal": ANIMALS[number]}
    if animal.spirit_stone:
        closed = _group([write("closed", x, y + 24, 6.5, figure.dark, 0.5)], cls="closed", **where)
        return [_stone(SPIRIT_STONE, x, y, 15, **where, space="bonus"), closed]
    parts = [
        f'<path {_attributes(cls="space", **where, space="bonus")} d="M{x} {y - 14}l12 7v14l-12 7l-12 -7v-14Z" '
        f'fill="{CREAM}" stroke="{figure.dark}" stroke-width="1.3" stroke-dasharray="3 2.4"/>',
        write("x2", x, y, 7, QUIET, 0.5),
    ]
    if animal.bonus_choice >= 0:
        parts.append(_ring(x, y, 17, **where, space="bonus", legal=animal.bonus_choice))
    return parts


def _panel(owner: int, number: int, animal: Animal, last: bool) -> list[str]:
    """Draw an animal's part of a board with all that lies on it."""
    figure = FIGURES[number]
    where = {"seat": owner, "animal": ANIMALS[number]}
    points = write(str(animal.points), _PANEL_WIDTH - 10, 16, 11, DARK, 1.0)
    parts = [
        _box(_PANEL_WIDTH, _PANEL_HEIGHT, f'fill="{figure.ground}"'),
        *draw_animal(figure),
        write(ANIMALS[number], 10, 15, 8.5, figure.dark),
        _group([points], cls="points", **where, value=animal.points),
    ]
    for spaces in animal.spaces:
        parts += [_space(owner, number, animal, spaces, at) for at in range(spaces.size)]
    parts += _bonus(owner, number, animal)
    if animal.coyote:
        style = 'fill="none" stroke="#8A4B1C" stroke-width="3" stroke-dasharray="9 6"'
        parts.append(_box(_PANEL_WIDTH, _PANEL_HEIGHT, style, -1.5))
        parts.append(_group(["<title>Coyote</title>", draw_coyote(172, 55, 22)], cls="coyote", **where))
    if last:
        style = (
            f'{_attributes(cls="last", **where)} fill="none" stroke="{DARK}" stroke-width="2" stroke-dasharray="2 5"'
        )
        parts.append(_box(_PANEL_WIDTH, _PANEL_HEIGHT, style, -6))
    if animal.coyote_choice >= 0:
        parts.append(_frame(_PANEL_WIDTH, _PANEL_HEIGHT, **where, legal=animal.coyote_choice))
    return parts


# --- action cards -----------------------------------------------------------------------------------------

_BACK, _BACK_LETTERS = "#4B5D52", "#B7C5B8"
# Letters on a light card, whatever the theme.
_CARD_RED = "#C62828"
_CARD_LEFT, _CARD_WIDTH, _CARD_HEIGHT, _CARD_PITCH = 152, 141, 44, 149
_SEAT_HEIGHT = _CARD_HEIGHT + 12 + _PANEL_HEIGHT
_SIGNS = ("1", "2", "+2", "+3", "")
_RECOVER_SIGN = Shape("", "M7 -5A8.6 8.6 0 1 0 8.6 1M7.6 -10V-4.6H2.2")


def _sign(card: Card, colour: str) -> str:
    """Draw what a card does in short; the backs of Take One show Coyote."""
    if card.down and card.card == TAKE_ONE:
        return draw_coyote(21, _CARD_HEIGHT / 2, 13, "#8E7B5E")
    sign = _SIGNS[card.card]
    middle = _CARD_HEIGHT / 2
    return write(sign, 21, middle, 13, colour, 0.5) if sign else draw_shape(_RECOVER_SIGN, 21, middle, 9, colour)


def _card(owner: int, card: Card) -> str:
    """Draw an action card, face up or down, lit where it can be used."""
    where = {"seat": owner, "card": CARDS[card.card], "copy": card.copy}
    fill, letters = (_BACK, _BACK_LETTERS) if card.down else (CREAM, DARK)
    lines = textwrap.wrap(CARD_TITLES[card.card], 13)
    top = _CARD_HEIGHT / 2 - 7 * (len(lines) - 1)
    parts = [
        _box(_CARD_WIDTH, _CARD_HEIGHT, f'fill="{fill}" stroke="{DARK}" stroke-width="1.2"'),
        _sign(card, letters),
        *[write(line, 42, top + 14 * i, 7, letters) for i, line in enumerate(lines)],
    ]
    if card.used:
        parts.append(_in_use(_CARD_WIDTH, _CARD_HEIGHT))
    if card.choice >= 0:
        parts.append(_frame(_CARD_WIDTH, _CARD_HEIGHT, **where, legal=card.choice))
    return _group(parts, cls="card", **where, down=int(card.down), used=1 if card.used else None)


def _plate(seat: Seat) -> str:
    """Draw a seat's name and points: dark where it is to act, on laurel where it has won."""
    name = "winner" if seat.wins else "actor" if seat.acts else "waits"
    fill, letters = {"winner": (LAUREL, INK), "actor": (INK, PAPER), "waits": (LINE, INK)}[name]
    text = f"{seat.points} point{'' if seat.points == 1 else 's'}"
    parts = [
        _box(_CARD_LEFT - 12, _CARD_HEIGHT, f'fill="{fill}"'),
        write(f"seat {seat.number}", 12, 14, 11, letters),
        _group([write(text, 12, 33, 8, letters)], cls="total", seat=seat.number, value=seat.points),
    ]
    return _group(parts, cls=name, seat=seat.number)


def _seat(view: View, seat: Seat) -> list[str]:
    """Draw all that lies before a player: name, cards, and the board below them."""
    parts = [_plate(seat)]
    for i, card in enumerate(seat.cards):
        parts.append(_moved([_card(seat.number, card)], _CARD_LEFT + _CARD_PITCH * i, 0))
    for i, animal in enumerate(seat.animals):
        panel = _panel(seat.number, i, animal, view.last == (seat.number, i))
        parts.append(_moved(panel, _PANEL_PITCH * i, _CARD_HEIGHT + 12))
    return parts


# --- Spirit Powers ----------------------------------------------------------------------------------------

_POWER_WIDTH, _POWER_HEIGHT, _POWER_PITCH, _PILE_PITCH = 164, 108, 172, 532


def _power_back() -> list[str]:
    """Draw the back of a Spirit Power that was never on top."""
    line = f'fill="none" stroke="{_BACK_LETTERS}" stroke-opacity="0.6"'
    return [
        _box(_POWER_WIDTH, _POWER_HEIGHT, f'fill="{_BACK}"'),
        _box(_POWER_WIDTH, _POWER_HEIGHT, line, -6),
        write("?", _POWER_WIDTH / 2, _POWER_HEIGHT / 2, 20, _BACK_LETTERS, 0.5),
    ]


def _power_face(power: Power, steps: list[str], on_top: bool) -> list[str]:
    """Draw a Spirit Power with its steps, the one that is being carried out in red."""
    letters = DARK if on_top else QUIET
    parts = [
        _box(_POWER_WIDTH, _POWER_HEIGHT, f'fill="{CREAM}" stroke="{letters}" stroke-width="1.4"'),
        write(str(power.name), 12, 16, 9, letters),
    ]
    if not power.known:
        parts.append(write("not seen yet", _POWER_WIDTH - 10, 16, 6.5, _CARD_RED, 1.0))
    for i, step in enumerate(steps):
        y = 36 + 12 * i
        if i == power.step:
            parts.append(f'<path class="step" data-step="{i}" d="M7 {y - 4}l7 4l-7 4Z" fill="{_CARD_RED}"/>')
        parts.append(write(step, 18, y, 7, _CARD_RED if i == power.step else letters))
    return parts


def _power(pile: int, place: int, power: Power, choice: int) -> str:
    """Draw a Spirit Power in its pile; lit where it can be used."""
    where = {"pile": pile, "place": place}
    if power.steps is None:
        return _group(_power_back(), cls="power", **where)
    parts = _power_face(power, power.steps, on_top=place == 0)
    if power.step >= 0:
        parts.append(_in_use(_POWER_WIDTH, _POWER_HEIGHT))
    if choice >= 0:
        parts.append(_frame(_POWER_WIDTH, _POWER_HEIGHT, **where, legal=choice))
    return _group(parts, cls="power", **where, card=power.number, known=int(power.known))


def _piles(view: View) -> list[str]:
    """Draw the piles side by side, each from its top."""
    if not view.piles:
        return [_group([write(f"{view.powers}: the card only recovers", 0, 6, 7.5, FAINT)], cls="powers")]
    parts = []
    for number, pile in enumerate(view.piles):
        left = _PILE_PITCH * number
        text = f"{view.powers}: pile {number}, from the top"
        parts.append(_group([write(text, left, 6, 7.5, FAINT)], cls="powers"))
        for place, power in enumerate(pile.cards):
            drawn = _power(number, place, power, NO_ACTION if place else pile.choice)
            parts.append(_moved([drawn], left + _POWER_PITCH * place, 20))
    return parts


# --- bowl, held stones, bag -------------------------------------------------------------------------------

_MIDDLE_HEIGHT = 146
_BOWL = (
    '<path d="M2 78L16 136Q18 146 30 146H378Q390 146 392 136L406 78Z" fill="#8A6546"/>'
    '<ellipse cx="204" cy="78" rx="203" ry="25" fill="#A67F5C"/><ellipse cx="204" cy="78" rx="190" ry="19" '
    'fill="#6E4F36"/>'
)
_BAG = (
    '<path d="M140 14C40 16 -4 50 0 124Q0 146 24 146H324Q348 146 348 124C352 50 308 16 208 14Z" fill="#5F6F63"/>'
    '<path d="M140 14L126 -5Q150 3 174 -2Q198 3 222 -5L208 14Z" fill="#75867A"/>'
    '<path d="M138 14H210" stroke="#C9A86A" stroke-width="4.5" stroke-linecap="round"/>'
)
_TRAY_WIDTH = 236


def _heap(kind: int, count: int, choice: int) -> list[str]:
    """Draw the stones of one kind in the bowl, one upon the other."""
    heap = [_stone(kind, 0, -7.5 * i, 13, place="bowl") for i in range(count)]
    if choice >= 0:
        heap.append(_ring(0, -7.5 * (count - 1), 14, place="bowl", kind=KINDS[kind], legal=choice))
    heap.append(write(str(count), 0, 38, 10, CREAM, 0.5))
    heap.append(write(KINDS[kind].split("_")[0], 0, 55, 6.5, CREAM, 0.5))
    return [_group(heap, cls="bowl", kind=KINDS[kind], count=count)]


def _bowl(view: View) -> list[str]:
    """Draw the bowl with its stones in heaps by kind."""
    parts = [write(f"bowl: {sum(view.bowl)}", 0, 2, 8.5, INK), _BOWL]
    heaps = zip(view.bowl, view.bowl_choices, strict=True)
    return parts + [_moved(_heap(kind, *heap), 42 + 54 * kind, 78) for kind, heap in enumerate(heaps)]


def _button(text: str, legal: int) -> str:
    """Draw a choice that is no thing on the table."""
    parts = [
        _box(_TRAY_WIDTH, 24, f'fill="{CREAM}"'),
        _frame(_TRAY_WIDTH, 24, legal=legal),
        write(text, _TRAY_WIDTH / 2, 12, 7.5, DARK, 0.5),
    ]
    return _moved(parts, 0, 120)


def _tray(view: View) -> list[str]:
    """Draw what is between bowl and bag: stones held, Coyote or where he is, and choices without a place."""
    parts = [_box(_TRAY_WIDTH, 60, f'fill="none" stroke="{LINE}" stroke-width="1.5"')]
    parts.append(write("stones held, the next one first", 10, 13, 6.5, FAINT))
    for i, kind in enumerate(view.held):
        parts.append(_stone(kind, 26 + 37 * i, 39, 13, place="held", order=i))
    if view.phase == PLACE:
        parts.append(f'<circle cx="26" cy="39" r="15" fill="none" stroke="{RED}" stroke-width="3"/>')
    if view.coyote is None:
        parts.append(_group(["<title>Coyote</title>", draw_coyote(24, 90, 20)], cls="coyote"))
    else:
        parts.append(_hollow(24, 90, 17))
    parts += [write("Coyote", 56, 82, 8.5, INK), write(_coyote_place(view), 56, 99, 7, INK)]
    if view.leave >= 0:
        parts.append(_button("leave Coyote where he is", view.leave))
    if view.stop >= 0:
        parts.append(_button("return no more stones", view.stop))
    return parts


def _bag(view: View) -> list[str]:
    """Draw the bag with the number of stones of each kind, and the next ones for who sees all."""
    stones = sum(view.bag)
    parts = [_BAG, _group([write(f"bag: {stones}", 174, 34, 8.5, CREAM, 0.5)], cls="in-bag", value=stones)]
    for kind, count in enumerate(view.bag):
        x = 36 + 46 * kind
        shown = [_stone(kind, x, 66, 11, place="bag"), write(str(count), x, 89, 9, CREAM, 0.5)]
        parts.append(_group(shown, cls="bag", kind=KINDS[kind], count=count))
    if view.following is not None:
        parts.append(write("next:", 28, 119, 8, CREAM))
        parts += [_stone(kind, 104 + 36 * i, 119, 12, place="next", order=i) for i, kind in enumerate(view.following)]
    return parts


def _spirit_stones(view: View) -> str:
    """Draw the Spirit Stones out of the bag, with as many places as end the game."""
    out = _spirit_stones_out(view)
    places = max(SPIRIT_STONES_TO_END, out)
    parts = [write(f"{out} of {SPIRIT_STONES_TO_END} Spirit Stones out", 0, 19, 7, INK, 1.0)]
    for i in range(places):
        x = -12 - 27 * (places - 1 - i)
        parts.append(_stone(SPIRIT_STONE, x, 42, 11, place="out") if i < out else _hollow(x, 42, 10))
    return _group(parts, cls="out", value=out)


def draw_scene(state: Any, seat: int | None, standing: Standing) -> str:
    """Draw a position as an SVG document that needs no font and nothing from outside.

    Args:
        state: One record of the game.
        seat: Whose view; None sees everything.
        standing: What the rules say of the position.
    """
    view = look(state, seat, standing)
    own, other = view.seats
    piles = _SEATS_TOP + _SEAT_HEIGHT + 18
    middle = piles + (20 + _POWER_HEIGHT if view.piles else 12) + 20
    bottom = middle + _MIDDLE_HEIGHT + 20
    parts = [
        f'<g class="headline">{write(_headline(view), _MARGIN, 22, 12, INK)}</g>',
        f'<g class="use">{write(_use(view), _MARGIN, 44, 8, FAINT)}</g>',
        f'<g class="said">{write(view.said, _MARGIN, 62, 7, FAINT)}</g>',
        _moved([_spirit_stones(view)], 1070, 0),
        _moved(_seat(view, other), _MARGIN, _SEATS_TOP),
        _moved(_piles(view), _MARGIN, piles),
        _moved(_bowl(view), _MARGIN, middle),
        _moved(_tray(view), 464, middle),
        _moved(_bag(view), 722, middle),
        _moved(_seat(view, own), _MARGIN, bottom),
    ]
    return finish_scene(1100, bottom + _SEAT_HEIGHT + 26, view.turn, PHASES[view.phase], view.actor, parts)
