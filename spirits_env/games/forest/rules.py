"""The rules for two to four players, compiled: deal, legal, play, score, re-deal, in rule-book order.

Every function takes one record; nothing here knows of any interface.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from spirits_env.game import share_out, shuffle, sort
from spirits_env.games.forest import solitaire
from spirits_env.games.forest.actions import FIRST_CELL, HAND, PASS, PLUS
from spirits_env.games.forest.components import (
    CELLS,
    COLUMNS,
    GEM_SUPPLY,
    ICONS,
    MAX_SEATS,
    MISSING_PENALTY,
    PLUS_TOKEN,
    ROWS,
    TOKEN_AT,
    TOKEN_CELLS,
    TOKEN_POOL,
    UNUSED_TOKENS,
)
from spirits_env.games.forest.state import END, FIRST, HELD, LYING, MOVE, PAY, PLACE, SECOND, UNEXAMINED, USED
from spirits_env.games.forest.tiles import gain_tile, lay_tiles, remove_tile

_ENDS = 2 * ROWS
_TOKENS = len(TOKEN_CELLS)
_ICONS = len(ICONS)


# --- set-up -----------------------------------------------------------------------------------------------


@njit
def deal(state):
    """Deal tiles and tokens from the state's generator."""
    lay_tiles(state)
    if state.players == 1:
        solitaire.deal_tokens(state)
    else:
        deal_tokens(state)


@njit
def deal_tokens(state):
    """Lay eight of the fourteen favor tokens on their cells; six leave the game."""
    pool = TOKEN_POOL.copy()
    shuffle(state, pool)
    for token in range(_TOKENS):
        state.token[token] = pool[token]
    for token in range(UNUSED_TOKENS):
        state.unused[token] = pool[_TOKENS + token]


@njit
def begin(state):
    """Put everything but tiles and tokens in its place for the first turn."""
    state.turn = 0
    state.seat = 0
    state.phase = FIRST
    state.first_spirit = -1
    state.paying = -1
    state.lifted = -1
    state.remaining = CELLS
    for row in range(ROWS):
        state.left[row] = 0
        state.right[row] = COLUMNS - 1
    for cell in range(CELLS):
        state.present[cell] = 1
        state.gem[cell] = -1
    for token in range(_TOKENS):
        state.token_seat[token] = -1
        state.token_status[token] = LYING
    for seat in range(MAX_SEATS):
        state.hand[seat] = GEM_SUPPLY[state.players] if seat < state.players else 0
        state.placed[seat] = 0
        state.removed[seat] = 0
        state.tiles[seat] = 0
        for icon in range(_ICONS):
            state.icons[seat, icon] = 0
    if state.players == 1:
        solitaire.begin(state)


# --- collect tiles ----------------------------------------------------------------------------------------


@njit
def end_cell(state, end):
    """Return the cell at an end of a row (0-7), or -1 where there is no such end."""
    row = end >> 1
    left = np.int64(state.left[row])
    right = np.int64(state.right[row])
    if left > right:
        return -1
    if end & 1 == 0:
        return row * COLUMNS + left
    if left == right:
        return -1
    return row * COLUMNS + right


@njit
def has_gem(state, seat):
    """Tell whether a seat has a gem in hand or forest to pay with."""
    return state.hand[seat] + state.placed[seat] > 0


@njit
def can_take(state, seat, cell):
    """Tell whether the gem rule lets a seat take a tile."""
    gem = state.gem[cell]
    return gem < 0 or gem == seat or has_gem(state, seat)


@njit
def is_first(state, cell):
    """Tell whether the tile may be the first tile of the turn."""
    return cell >= 0 and can_take(state, state.seat, cell)


@njit
def is_second(state, cell):
    """Tell whether the tile may be the second: same spirit, one symbol, and the gem rule."""
    return (
        cell >= 0
        and state.spirit[cell] == state.first_spirit
        and state.symbols[cell] == 1
        and can_take(state, state.seat, cell)
    )


@njit
def must_steal(state):
    """Tell whether some tile can be taken, and every such tile carries an opponent's gem."""
    found = False
    for end in range(_ENDS):
        cell = end_cell(state, end)
        if is_first(state, cell):
            gem = state.gem[cell]
            if gem < 0 or gem == state.seat:
                return False
            found = True
    return found


@njit
def has_first(state):
    """Tell whether any tile can be the first."""
    for end in range(_ENDS):
        if is_first(state, end_cell(state, end)):
            return True
    return False


@njit
def has_second(state):
    """Tell whether any tile can be the second."""
    for end in range(_ENDS):
        if is_second(state, end_cell(state, end)):
            return True
    return False


@njit
def choose(state, cell):
    """Take a tile, or go and pay for it first where an opponent's gem lies on it."""
    gem = state.gem[cell]
    if gem >= 0 and gem != state.seat:
        state.paying = cell
        state.phase = PAY
    else:
        collect(state, cell)


@njit
def collect(state, cell):
    """Move a tile, its icons and its token to the seat, and the seat's own gem back to hand."""
    seat = state.seat
    if state.gem[cell] == seat:
        state.gem[cell] = -1
        state.placed[seat] -= 1
        state.hand[seat] += 1
    remove_tile(state, cell)
    gain_tile(state, seat, cell)
    token = TOKEN_AT[cell]
    if token >= 0:
        state.token_seat[token] = seat
        state.token_status[token] = UNEXAMINED
    first_of_turn = state.first_spirit < 0
    if state.remaining == 0:
        examine_tokens(state)
        finish(state)
    elif first_of_turn and state.symbols[cell] == 1 and state.turn > 0:
        state.first_spirit = state.spirit[cell]
        state.phase = SECOND
    else:
        end_collect(state)


# --- pay for an opponent's gemmed tile --------------------------------------------------------------------


@njit
def pay_with(state, source):
    """Take the seat's own gem (a cell, or -1 for the hand) out of the game and take the tile paid for."""
    seat = state.seat
    if source < 0:
        state.hand[seat] -= 1
    else:
        state.gem[source] = -1
        state.placed[seat] -= 1
    state.removed[seat] += 1
    cell = np.int64(state.paying)
    owner = state.gem[cell]
    state.gem[cell] = -1
    state.placed[owner] -= 1
    state.hand[owner] += 1
    state.paying = -1
    collect(state, cell)


@njit
def single_payment(state):
    """Return the only way to pay (a cell, -1 for the hand), or -2 if there is a choice."""
    return -2 if can_use_plus(state) else only_gem(state)


@njit
def only_gem(state):
    """Return the only gem the seat has (a cell, -1 for the hand, whose gems are all alike), or -2 if there are more."""
    seat = state.seat
    if state.hand[seat] > 0:
        return -1 if state.placed[seat] == 0 else -2
    if state.placed[seat] > 1:
        return -2
    # Whoever pays has a gem, so this one lies somewhere.
    cell = 0
    while state.gem[cell] != seat:
        cell += 1
    return cell


# --- examine favor tokens ---------------------------------------------------------------------------------


@njit
def end_collect(state):
    """Close the collect step: tokens are examined, and the gem step follows."""
    examine_tokens(state)
    state.first_spirit = -1
    state.phase = PLACE


@njit
def examine_tokens(state):
    """The seat sees the tokens it collected this turn."""
    for token in range(_TOKENS):
        if state.token_status[token] == UNEXAMINED:
            state.token_status[token] = HELD


@njit
def held_plus(state, seat):
    """Return the index of an unused "+" token the seat has examined, or -1."""
    for token in range(_TOKENS):
        if state.token_status[token] == HELD and state.token_seat[token] == seat and state.token[token] == PLUS_TOKEN:
            return token
    return -1


@njit
def can_use_plus(state):
    """Tell whether the seat to act may bring a lost gem back."""
    return state.removed[state.seat] > 0 and held_plus(state, state.seat) >= 0


@njit
def use_plus(state):
    """Discard a "+" token face up; a lost gem comes back to hand."""
    state.token_status[held_plus(state, state.seat)] = USED
    state.removed[state.seat] -= 1
    state.hand[state.seat] += 1


# --- place gemstones --------------------------------------------------------------------------------------


@njit
def free_tiles(state):
    """Return the number of forest tiles without a gem."""
    free = np.int64(state.remaining)
    for seat in range(state.players):
        free -= state.placed[seat]
    return free


@njit
def can_place(state):
    """Tell whether a gem can be placed from hand, or an own gem moved."""
    return has_gem(state, state.seat) and free_tiles(state) > 0


@njit
def place(state, cell):
    """Place a gem from hand, or lift the own gem that lies there."""
    seat = state.seat
    if state.hand[seat] > 0:
        state.hand[seat] -= 1
        put_gem(state, cell)
    else:
        state.gem[cell] = -1
        state.placed[seat] -= 1
        state.lifted = cell
        state.phase = MOVE


@njit
def put_gem(state, cell):
    """Lay a gem on a tile; that ends the turn."""
    state.gem[cell] = state.seat
    state.placed[state.seat] += 1
    state.lifted = -1
    next_turn(state)


@njit
def next_turn(state):
    """The player to the left is next."""
    state.turn += 1
    state.seat = (state.seat + 1) % state.players
    state.phase = FIRST


# --- what may be done, and doing it -----------------------------------------------------------------------


@njit
def legal(state, mask):
    """Write 1 for every legal action of the seat to act and 0 for the rest; all 0 at the end."""
    mask[:] = 0
    if state.players == 1:
        solitaire.legal(state, mask)
        return
    phase = state.phase
    if phase == FIRST:
        legal_first(state, mask)
    elif phase == SECOND:
        legal_second(state, mask)
    elif phase == PAY:
        legal_pay(state, mask)
    elif phase == PLACE:
        legal_place(state, mask)
    elif phase == MOVE:
        mark_free(state, mask[FIRST_CELL:HAND])
        mask[FIRST_CELL + np.int64(state.lifted)] = 0
    if phase < MOVE and can_use_plus(state):
        mask[PLUS] = 1


@njit
def legal_first(state, mask):
    """First tile: every end the gem rule allows; pass if there is none, or only stealing and it is not forced."""
    found = False
    for end in range(_ENDS):
        if is_first(state, end_cell(state, end)):
            mask[end] = 1
            found = True
    if not found or (state.forced_steal == 0 and must_steal(state)):
        mask[PASS] = 1


@njit
def legal_second(state, mask):
    """Second tile: ends of the same spirit with one symbol; pass."""
    for end in range(_ENDS):
        if is_second(state, end_cell(state, end)):
            mask[end] = 1
    mask[PASS] = 1


@njit
def legal_pay(state, mask):
    """Payment: own gems in the forest, and one in hand."""
    mark_gems(state.gem, state.seat, mask[FIRST_CELL:HAND])
    if state.hand[state.seat] > 0:
        mask[HAND] = 1


@njit
def legal_place(state, mask):
    """Gem step: tiles without a gem for a gem in hand, else own gems that can move; pass."""
    if can_place(state):
        if state.hand[state.seat] > 0:
            mark_free(state, mask[FIRST_CELL:HAND])
        else:
            mark_gems(state.gem, state.seat, mask[FIRST_CELL:HAND])
    mask[PASS] = 1


@njit
def mark_free(state, cells):
    """Write 1 for the forest tiles without a gem."""
    mark_free_cells(state.present, state.gem, cells)


@njit
def mark_free_cells(present, gem, cells):
    """Write 1 where a tile lies and no gem does: over slices, so that the loop vectorises."""
    for i in range(cells.shape[0]):
        cells[i] = present[i] & (gem[i] < 0)


@njit
def mark_gems(gem, seat, cells):
    """Write 1 where the seat's gem lies."""
    for i in range(cells.shape[0]):
        cells[i] = gem[i] == seat


@njit
def play(state, action):
    """Carry out one legal decision and go on to the next real decision or to the end."""
    if state.players == 1:
        solitaire.play(state, action)
        return
    decide(state, action)
    settle(state)


@njit
def decide(state, action):
    """Carry out one legal decision."""
    phase = state.phase
    if action == PLUS:
        use_plus(state)
    elif action == PASS:
        if phase == PLACE:
            next_turn(state)
        else:
            end_collect(state)
    elif phase == PAY:
        pay_with(state, -1 if action == HAND else action - FIRST_CELL)
    elif phase == PLACE:
        place(state, action - FIRST_CELL)
    elif phase == MOVE:
        put_gem(state, action - FIRST_CELL)
    else:
        choose(state, end_cell(state, action))


@njit
def only_pass(state):
    """Tell whether passing is the only legal action."""
    return not has_choice(state) and not can_use_plus(state)


@njit
def has_choice(state):
    """Tell whether there is anything to do but to pass or to use a "+"."""
    if state.phase == FIRST:
        return has_first(state)
    if state.phase == SECOND:
        return has_second(state)
    return state.phase != PLACE or can_place(state)


@njit
def settle(state):
    """Resolve what needs no asking: payments with one way to pay, and decisions that could only be a pass."""
    while state.phase != END:
        if state.phase == PAY:
            source = single_payment(state)
            if source == -2:
                return
            pay_with(state, source)
        elif only_pass(state):
            decide(state, PASS)
        else:
            return


# --- end and score ----------------------------------------------------------------------------------------


@njit
def finish(state):
    """The last tile is collected: nobody acts any more."""
    state.turn += 1
    state.seat = -1
    state.phase = END
    state.first_spirit = -1


@njit
def counted(state, seat, icon):
    """Return a seat's count of an icon, its examined tokens included."""
    count = np.int64(state.icons[seat, icon])
    for token in range(_TOKENS):
        if state.token[token] == icon and state.token_status[token] == HELD and state.token_seat[token] == seat:
            count += 1
    return count


@njit
def points_for(state, seat, icon):
    """Return a seat's points for an icon: a majority, shared ones too, less 3 if it has no tile of it."""
    mine = counted(state, seat, icon)
    best = mine
    for other in range(state.players):
        best = max(best, counted(state, other, icon))
    points = mine if mine == best else 0
    if state.icons[seat, icon] == 0:
        points -= MISSING_PENALTY
    return points


@njit
def score(state, seat):
    """Return a seat's points, for all icons together."""
    points = 0
    for icon in range(_ICONS):
        points += points_for(state, seat, icon)
    return points


@njit
def scores(state, points):
    """Write each seat's points."""
    if state.players == 1:
        points[0] = solitaire.score(state)
        return
    for seat in range(state.players):
        points[seat] = score(state, seat)


@njit
def breakdown(state, seat, out):
    """Write a seat's points for each icon."""
    if state.players == 1:
        solitaire.breakdown(state, out)
        return
    for icon in range(_ICONS):
        out[icon] = points_for(state, seat, icon)


@njit
def wins(state, points, seat):
    """Tell whether a seat wins or shares the win: most points, then fewest tiles."""
    for other in range(state.players):
        if points[other] > points[seat]:
            return False
        if points[other] == points[seat] and state.tiles[other] < state.tiles[seat]:
            return False
    return True


@njit
def winners(state, points, won):
    """Write 1 for each winner, given the points."""
    if state.players == 1:
        won[0] = solitaire.deficit(state) == 0
        return
    for seat in range(state.players):
        won[seat] = wins(state, points, seat)


@njit
def returns(state, points, won, utility):
    """Write each seat's final utility, given the points and who won."""
    if state.players == 1:
        utility[0] = solitaire.utility(state)
    else:
        share_out(state, points, won, utility)


# --- what a seat can't know -------------------------------------------------------------------------------


@njit
def is_hidden(state, seat, token):
    """Tell whether a dealt token's kind is hidden from a seat."""
    status = state.token_status[token]
    if status == HELD:
        return state.token_seat[token] != seat
    return status != USED


@njit
def redeal(state, seat):
    """Redraw all tokens (and, alone, all tiles) that the seat can't know, consistent with what it sees.

    They are put in order first, so that the outcome hangs on chance and on what the seat sees, and on nothing else.
    A decision of another seat that exists only through a "+" shows that it has one: draws without are rejected.
    """
    if state.players == 1:
        solitaire.redeal(state)
        return
    shown = state.seat >= 0 and state.seat != seat and revealed_plus(state)
    pool = np.empty(_TOKENS + UNUSED_TOKENS, np.int8)
    count = 0
    for token in range(_TOKENS):
        if is_hidden(state, seat, token):
            pool[count] = state.token[token]
            count += 1
    for token in range(UNUSED_TOKENS):
        pool[count] = state.unused[token]
        count += 1
    pool = pool[:count]
    sort(pool)
    while True:
        shuffle(state, pool)
        spread(state, seat, pool)
        if not shown or held_plus(state, state.seat) >= 0:
            return


@njit
def spread(state, seat, pool):
    """Give the tokens hidden from a seat the kinds of a pool; the rest of it goes unused."""
    count = 0
    for token in range(_TOKENS):
        if is_hidden(state, seat, token):
            state.token[token] = pool[count]
            count += 1
    for token in range(UNUSED_TOKENS):
        state.unused[token] = pool[count + token]


@njit
def revealed_plus(state):
    """Tell whether the decision the acting seat faces would have resolved by itself but for its "+"."""
    if not can_use_plus(state):
        return False
    if state.phase == PAY:
        return only_gem(state) != -2
    return not has_choice(state)
