"""The rules, compiled: deal, legal, play, score, re-deal, in rule-book order.

A card is a list of steps; they run until a decision with more than one choice, so no seat is asked for less.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from spirits_env.game import share_out, shuffle, sort, split
from spirits_env.games.wild.actions import (
    FIRST_CARD,
    FIRST_COYOTE,
    FIRST_PILE,
    FIRST_PLACE,
    FIRST_STONE,
    STOP,
)
from spirits_env.games.wild.components import (
    ADD_THREE,
    ADD_TWO,
    ANIMALS,
    BAG_AT_FIRST,
    CARD_COPIES,
    CARDS,
    COLOURS,
    DOWN_TO_RECOVER,
    FIRST_BOWL,
    KINDS,
    MAX_TURNS,
    PASSES_TO_END,
    PLAYERS,
    RECOVER,
    ROW_SIZES,
    SET_SIZES,
    SPIRIT_STONE,
    SPIRIT_STONES_TO_END,
    STONES_PER_KIND,
    TAKE_ONE,
    TAKE_TWO,
)
from spirits_env.games.wild.places import animal_points, board_points, give, places_of_kind
from spirits_env.games.wild.powers import (
    ADD,
    COYOTE,
    MAX_STEPS,
    MAX_TAKE,
    NONE,
    NOTHING,
    PILE_SIZE,
    PILES,
    POWER_CARDS,
    RETURN,
    RETURN_ALL,
    TAKE_ANY,
    TAKE_DIFFERENT,
    TAKE_SAME,
)
from spirits_env.games.wild.state import CARD, END, MOVE_COYOTE, PILE, PLACE, PUT_BACK, STONE

_ANIMALS = len(ANIMALS)
_CARDS = len(CARDS)
_KINDS = len(KINDS)

# The action cards in the language of the Spirit Powers.
CARD_STEPS = np.zeros((_CARDS, 2, 2), np.int64)
CARD_STEPS[TAKE_ONE, 0] = TAKE_ANY, 1
CARD_STEPS[TAKE_TWO, 0] = TAKE_ANY, 2
CARD_STEPS[ADD_TWO] = (ADD, 2), (TAKE_ANY, 1)
CARD_STEPS[ADD_THREE] = (ADD, 3), (COYOTE, 0)


# --- set-up -----------------------------------------------------------------------------------------------


@njit
def deal(state):
    """Deal bowl, bag and piles from the state's generator."""
    fill_bag(state)
    deal_piles(state)
    state.first_chance = split(state)


@njit
def fill_bag(state):
    """Draw four ordinary stones into the bowl and shake the rest in the bag.

    Spirit Stones drawn into the bowl go back and are drawn anew, so the four are any ordinary stones, and what is
    left lies in any order: drawing from the ordinary stones alone comes to the same.
    """
    ordinary = np.empty(len(COLOURS) * STONES_PER_KIND, np.int8)
    for stone in range(len(ordinary)):
        ordinary[stone] = stone // STONES_PER_KIND
    shuffle(state, ordinary)
    for stone in range(FIRST_BOWL):
        state.first_bowl[stone] = ordinary[stone]
    sort(state.first_bowl)
    for stone in range(BAG_AT_FIRST):
        drawn = FIRST_BOWL + stone
        state.first_bag[stone] = ordinary[drawn] if drawn < len(ordinary) else SPIRIT_STONE
    shuffle(state, state.first_bag)


@njit
def deal_piles(state):
    """Shuffle the Spirit Powers into two piles; without powers there are none."""
    cards = np.empty(POWER_CARDS, np.int8)
    for card in range(POWER_CARDS):
        cards[card] = card
    if state.powers != NONE:
        shuffle(state, cards)
    for card in range(POWER_CARDS):
        state.piles[card // PILE_SIZE, card % PILE_SIZE] = cards[card]


@njit
def begin(state):
    """Put everything but bowl, bag and piles, which are dealt, in its place for the first turn."""
    state.chance = state.first_chance
    state.turn = 0
    state.seat = 0
    state.coyote = -1
    state.passes = 0
    state.put_back = 0
    state.origin = 1
    clear_turn(state)
    for kind in range(_KINDS):
        state.in_bag[kind] = 0
        state.bowl[kind] = 0
    for stone in range(FIRST_BOWL):
        state.bowl[state.first_bowl[stone]] += 1
    for stone in range(BAG_AT_FIRST):
        state.bag[stone] = state.first_bag[stone]
        state.in_bag[state.first_bag[stone]] += 1
    for stone in range(BAG_AT_FIRST, len(state.bag)):
        state.bag[stone] = -1
    state.bag_size = BAG_AT_FIRST
    for pile in range(PILES):
        state.top[pile] = 0
        state.seen[pile] = 1
    for seat in range(PLAYERS):
        clear_board(state, seat)
        for card in range(_CARDS):
            state.down[seat, card] = 0
    # The starting player turns Take Two face down.
    state.down[0, TAKE_TWO] = 1
    ask_card(state)
    settle(state)


@njit
def clear_board(state, seat):
    """Take all stones off a board."""
    for spaces in range(len(SET_SIZES)):
        state.colour[seat, spaces] = -1
        state.count[seat, spaces] = 0
    for row in range(len(ROW_SIZES)):
        for colour in range(len(COLOURS)):
            state.row[seat, row, colour] = 0
    for animal in range(_ANIMALS):
        state.bonus[seat, animal] = 0


@njit
def clear_turn(state):
    """Forget the card that was carried out."""
    state.card = -1
    state.power = -1
    state.pile = -1
    state.step = 0
    state.choosing = 0
    state.chosen = 0
    state.placing = 0
    state.returned = 0
    for stone in range(MAX_TAKE):
        state.held[stone] = -1


# --- the turn: use a card that is face up -----------------------------------------------------------------


@njit
def bowl_size(state):
    """Return how many stones lie in the bowl."""
    stones = 0
    for kind in range(_KINDS):
        stones += np.int64(state.bowl[kind])
    return stones


@njit
def others_down(state, seat):
    """Return how many of a seat's cards but "Spirit Power and Recover" are face down."""
    cards = 0
    for card in range(RECOVER):
        cards += np.int64(state.down[seat, card])
    return cards


@njit
def cards_for(state, seat):
    """Return the cards a seat may use as bits: face up, and with enough stones or cards face down."""
    stones = bowl_size(state)
    cards = 0
    if state.down[seat, TAKE_ONE] < CARD_COPIES[TAKE_ONE] and stones >= 1:
        cards |= 1 << TAKE_ONE
    if state.down[seat, TAKE_TWO] == 0 and stones >= 2:
        cards |= 1 << TAKE_TWO
    if state.down[seat, ADD_TWO] == 0:
        cards |= 1 << ADD_TWO
    if state.down[seat, ADD_THREE] == 0:
        cards |= 1 << ADD_THREE
    if others_down(state, seat) >= DOWN_TO_RECOVER:
        cards |= 1 << RECOVER
    return cards


@njit
def ask_card(state):
    """The seat chooses a card; where it can use none it passes, and two passes in a row end the game."""
    state.phase = CARD
    while cards_for(state, np.int64(state.seat)) == 0:
        state.passes += 1
        if not next_turn(state, state.passes == PASSES_TO_END):
            return


@njit
def use_card(state, card):
    """Start to carry out a card."""
    state.passes = 0
    state.card = card
    state.step = 0
    if card == RECOVER and state.powers != NONE:
        state.phase = PILE
    else:
        run_steps(state)


@njit
def use_pile(state, pile):
    """Start to carry out the Spirit Power on top of a pile."""
    state.pile = pile
    state.power = state.piles[pile, state.top[pile]]
    run_steps(state)


@njit
def step_act(state):
    """Return what the card's next step does; NOTHING after the last."""
    step = np.int64(state.step)
    if state.power >= 0:
        return np.int64(state.steps[state.power, step, 0]) if step < MAX_STEPS else NOTHING
    return CARD_STEPS[state.card, step, 0] if step < 2 else NOTHING


@njit
def step_count(state):
    """Return with how many stones the card's next step does it."""
    if state.power >= 0:
        return np.int64(state.steps[state.power, state.step, 1])
    return CARD_STEPS[state.card, state.step, 1]


@njit
def run_steps(state):
    """Carry out the card's steps in printed order up to one that asks the player, else end it."""
    while True:
        act = step_act(state)
        if act == NOTHING:
            finish_card(state)
            return
        if act == ADD:
            add_stones(state, step_count(state))
        elif act == RETURN_ALL:
            return_all(state)
        elif act == COYOTE:
            state.phase = MOVE_COYOTE
            return
        elif act == RETURN:
            state.choosing = min(step_count(state), bowl_size(state))
            if state.choosing > 0:
                state.phase = PUT_BACK
                return
        elif start_taking(state, act):
            return
        state.step += 1


@njit
def end_step(state):
    """The step is done; go on with the next one."""
    state.step += 1
    run_steps(state)


@njit
def finish_card(state):
    """Turn the card face down, or all cards up; with the second Take One the backs show Coyote."""
    seat = state.seat
    card = state.card
    if card == RECOVER:
        if state.pile >= 0:
            turn_pile(state, np.int64(state.pile))
        for other in range(_CARDS):
            state.down[seat, other] = 0
    else:
        state.down[seat, card] += 1
    clear_turn(state)
    if card == TAKE_ONE and state.down[seat, TAKE_ONE] == CARD_COPIES[TAKE_ONE]:
        state.phase = MOVE_COYOTE
    else:
        end_turn(state)


@njit
def turn_pile(state, pile):
    """Put the card that was used under its own pile; the one that comes on top has now been seen."""
    top = (np.int64(state.top[pile]) + 1) % PILE_SIZE
    state.top[pile] = top
    state.seen[pile] = max(np.int64(state.seen[pile]), top + 1)


# --- add stones to the bowl, put them back into the bag ---------------------------------------------------


@njit
def add_stones(state, count):
    """Draw stones from the bag into the bowl, or as many as there are."""
    for _ in range(min(count, np.int64(state.bag_size))):
        state.bag_size -= 1
        kind = state.bag[state.bag_size]
        state.in_bag[kind] -= 1
        state.bowl[kind] += 1


@njit
def return_all(state):
    """Put all stones of the bowl back into the bag."""
    if bowl_size(state) == 0:
        return
    for kind in range(_KINDS):
        while state.bowl[kind] > 0:
            put_into_bag(state, kind)
    shake(state)


@njit
def put_into_bag(state, kind):
    """Put a stone of the bowl into the bag; from now on no order of the bag tells how it was dealt."""
    state.put_back = 1
    state.bowl[kind] -= 1
    state.in_bag[kind] += 1
    state.bag[state.bag_size] = kind
    state.bag_size += 1


@njit
def shake(state):
    """Mix the bag after stones went back, with the generator that the set-up holds; the other one keeps to deals."""
    deals = state.rng
    state.rng = state.chance
    shuffle(state, state.bag[: state.bag_size])
    state.chance = state.rng
    state.rng = deals


@njit
def return_stone(state, kind):
    """Put a chosen stone back; after the last of the step the bag is shaken."""
    put_into_bag(state, kind)
    state.returned += 1
    state.choosing -= 1
    if state.choosing == 0:
        end_return(state)


@njit
def end_return(state):
    """End a return of chosen stones, however many it was."""
    if state.returned > 0:
        shake(state)
    state.choosing = 0
    state.returned = 0
    end_step(state)


# --- take stones and place them ---------------------------------------------------------------------------


@njit
def kinds_in_bowl(state):
    """Return how many kinds of stones lie in the bowl."""
    kinds = 0
    for kind in range(_KINDS):
        kinds += state.bowl[kind] > 0
    return kinds


@njit
def start_taking(state, act):
    """Start a take, of as many stones as there are up to the step's count; tell whether there are any."""
    count = min(step_count(state), kinds_in_bowl(state) if act == TAKE_DIFFERENT else bowl_size(state))
    if count == 0:
        return False
    state.choosing = count
    state.chosen = 0
    state.placing = 0
    state.phase = STONE
    return True


@njit
def was_chosen(state, kind):
    """Tell whether a stone of this kind is among the chosen ones."""
    for stone in range(state.chosen):
        if state.held[stone] == kind:
            return True
    return False


@njit
def stones_to_choose(state):
    """Return the kinds of stones in the bowl that may be chosen as bits."""
    different = state.phase == STONE and step_act(state) == TAKE_DIFFERENT
    kinds = 0
    for kind in range(_KINDS):
        if state.bowl[kind] > 0 and not (different and was_chosen(state, kind)):
            kinds |= 1 << kind
    return kinds


@njit
def choose_stone(state, kind):
    """Take a stone out of the bowl, or all that are wanted of its kind; they are placed in the order of choice."""
    same = step_act(state) == TAKE_SAME
    if same:
        state.choosing = min(state.choosing, state.bowl[kind])
    while True:
        state.bowl[kind] -= 1
        state.held[state.chosen] = kind
        state.chosen += 1
        state.choosing -= 1
        if state.choosing == 0:
            state.phase = PLACE
            ask_place(state)
            return
        if not same:
            return


@njit
def ask_place(state):
    """The seat places its next chosen stone that fits somewhere; the others go back to the bowl.

    A stone that fits nowhere never comes to fit by the placing of those behind it, so it may go back at once.
    """
    seat = np.int64(state.seat)
    while state.placing < state.chosen:
        kind = np.int64(state.held[state.placing])
        if places_of_kind(state, seat, kind) != 0:
            return
        state.bowl[kind] += 1
        state.held[state.placing] = -1
        state.placing += 1
    state.chosen = 0
    state.placing = 0
    end_step(state)


@njit
def place(state, target):
    """Give the next chosen stone to an animal."""
    kind = np.int64(state.held[state.placing])
    give(state, np.int64(state.seat), target, kind)
    state.held[state.placing] = -1
    state.placing += 1
    ask_place(state)


# --- Coyote -----------------------------------------------------------------------------------------------


@njit
def coyote_moves(state):
    """Return the opponent's animals that Coyote is not yet on as bits; leaving him comes after them."""
    other = 1 - np.int64(state.seat)
    moves = 1 << _ANIMALS
    for animal in range(_ANIMALS):
        if state.coyote != other * _ANIMALS + animal:
            moves |= 1 << animal
    return moves


@njit
def move_coyote(state, animal):
    """Put Coyote on an animal of the opponent, or leave him; go on with the card, or end the turn after the backs."""
    if animal < _ANIMALS:
        state.coyote = (1 - np.int64(state.seat)) * _ANIMALS + animal
    if state.card >= 0:
        end_step(state)
    else:
        end_turn(state)


# --- end of the turn and of the game ----------------------------------------------------------------------


@njit
def spirit_stones_out(state):
    """Return how many Spirit Stones are outside the bag."""
    return STONES_PER_KIND - np.int64(state.in_bag[SPIRIT_STONE])


@njit
def end_turn(state):
    """End the turn, and the game with it if five Spirit Stones are out of the bag."""
    if next_turn(state, spirit_stones_out(state) >= SPIRIT_STONES_TO_END):
        ask_card(state)


@njit
def next_turn(state, over):
    """The other player is next, unless the game is over or had its last turn; tell whether it goes on."""
    state.turn += 1
    if over or state.turn == MAX_TURNS:
        finish(state)
        return False
    state.seat = 1 - np.int64(state.seat)
    return True


@njit
def finish(state):
    """End the game."""
    clear_turn(state)
    state.phase = END
    state.seat = -1


# --- what may be done, and doing it -----------------------------------------------------------------------


@njit
def choices(state):
    """Return the legal actions of the seat to act as bits; none at the end."""
    phase = state.phase
    seat = np.int64(state.seat)
    if phase == CARD:
        return cards_for(state, seat) << FIRST_CARD
    if phase == PILE:
        return ((1 << PILES) - 1) << FIRST_PILE
    if phase == STONE:
        return stones_to_choose(state) << FIRST_STONE
    if phase == PLACE:
        return places_of_kind(state, seat, np.int64(state.held[state.placing])) << FIRST_PLACE
    if phase == MOVE_COYOTE:
        return coyote_moves(state) << FIRST_COYOTE
    if phase == PUT_BACK:
        return stones_to_choose(state) << FIRST_STONE | 1 << STOP
    return 0


@njit
def legal(state, mask):
    """Write 1 for every legal action of the seat to act and 0 for the rest; all 0 at the end."""
    write_bits(choices(state), mask)


@njit
def write_bits(bits, mask):
    """Write bits into an array, one each."""
    for action in range(mask.shape[0]):
        mask[action] = (bits >> action) & 1


@njit
def play(state, action):
    """Carry out one legal decision and go on to the next one with a choice, or to the end."""
    decide(state, action)
    settle(state)


@njit
def settle(state):
    """Carry out decisions as long as there is only one way."""
    while state.phase != END:
        bits = choices(state)
        if bits & (bits - 1) != 0:
            return
        action = 0
        while bits >> action != 1:
            action += 1
        decide(state, action)


@njit
def decide(state, action):
    """Carry out one legal decision."""
    phase = state.phase
    if phase == CARD:
        use_card(state, action - FIRST_CARD)
    elif phase == PILE:
        use_pile(state, action - FIRST_PILE)
    elif phase == STONE:
        choose_stone(state, action - FIRST_STONE)
    elif phase == PLACE:
        place(state, action - FIRST_PLACE)
    elif phase == MOVE_COYOTE:
        move_coyote(state, action - FIRST_COYOTE)
    elif action == STOP:
        end_return(state)
    else:
        return_stone(state, action - FIRST_STONE)


# --- score ------------------------------------------------------------------------------------------------


@njit
def scores(state, points):
    """Write each seat's points."""
    for seat in range(PLAYERS):
        points[seat] = board_points(state, seat)


@njit
def breakdown(state, seat, out):
    """Write a seat's points for each animal."""
    for animal in range(_ANIMALS):
        out[animal] = animal_points(state, seat, animal)


@njit
def winners(state, points, won):
    """Write 1 for each winner: most points, then Coyote on the own board; who tie before he ever moved, share."""
    tied = points[0] == points[1]
    for seat in range(PLAYERS):
        if tied:
            won[seat] = state.coyote < 0 or np.int64(state.coyote) // _ANIMALS == seat
        else:
            won[seat] = points[seat] > points[1 - seat]


@njit
def returns(state, points, won, utility):
    """Write each seat's final utility, given the points and who won."""
    share_out(state, points, won, utility)


# --- what a seat can't know -------------------------------------------------------------------------------


@njit
def redeal(state, seat):
    """Redraw the order of the bag and the cards of the piles that were never on top; both seats know the same.

    All are put in order first, so that the outcome hangs on chance and on what is known, and on nothing else.
    """
    redeal_bag(state)
    if state.powers != NONE:
        redeal_piles(state)
    state.first_chance = state.chance = split(state)


@njit
def redeal_bag(state):
    """Redraw the order of the bag, and of what the bag was after the deal as far as it is the same one.

    Once stones went back, no set-up leads to the new order by the decisions that were made, so there is none.
    """
    bag = state.bag[: state.bag_size]
    sort(bag)
    shuffle(state, bag)
    if state.put_back:
        state.origin = 0
    for stone in range(BAG_AT_FIRST):
        if state.put_back:
            state.first_bag[stone] = -1
        elif stone < state.bag_size:
            state.first_bag[stone] = bag[stone]


@njit
def redeal_piles(state):
    """Redraw the cards that were never on top of their piles."""
    unseen = np.empty(POWER_CARDS, np.int8)
    count = 0
    for pile in range(PILES):
        for place_in_pile in range(state.seen[pile], PILE_SIZE):
            unseen[count] = state.piles[pile, place_in_pile]
            count += 1
    unseen = unseen[:count]
    sort(unseen)
    shuffle(state, unseen)
    count = 0
    for pile in range(PILES):
        for place_in_pile in range(state.seen[pile], PILE_SIZE):
            state.piles[pile, place_in_pile] = unseen[count]
            count += 1
