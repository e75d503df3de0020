"""What is in the box: stones, animals with their spaces and points, and action cards, as data only.

Counts and points are those of the printed rules; the names of the colours are only names.
"""

from __future__ import annotations

import numpy as np

PLAYERS = 2

COLOURS = ("blue", "teal", "orange", "white", "purple", "yellow")
SPIRIT_STONE = len(COLOURS)
KINDS = (*COLOURS, "spirit_stone")
STONES_PER_KIND = 8
STONES = STONES_PER_KIND * len(KINDS)
FIRST_BOWL = 4
BAG_AT_FIRST = STONES - FIRST_BOWL

# The game ends after the turn in which so many Spirit Stones are out of the bag.
SPIRIT_STONES_TO_END = 5

ANIMALS = ("owl", "rabbit", "beaver", "salmon", "turtle")
OWL, RABBIT, BEAVER, SALMON, TURTLE = range(5)

# Spaces whose stones share one colour: three pairs of the owl, trio and pair of the beaver, the turtle.
OWL_PAIRS = 3
TRIO, PAIR, SHELL = 3, 4, 5
SET_SIZES = np.array([2, 2, 2, 3, 2, 5])
SET_ANIMALS = np.array([OWL, OWL, OWL, BEAVER, BEAVER, TURTLE])

# Spaces whose stones all differ: the rabbit and the salmon.
ROW_SIZES = np.array([3, 6])
ROW_ANIMALS = np.array([RABBIT, SALMON])

PAIR_POINTS = 3
RABBIT_POINTS = 6
BEAVER_TRIO_POINTS = 5
BEAVER_PAIR_POINTS = 2
BEAVER_BOTH_POINTS = 7
SALMON_POINTS = np.array([0, 1, 2, 4, 6, 9, 13])
TURTLE_POINTS = np.array([0, 1, 3, 6, 9, 14])
MOST_POINTS = 112

CARDS = ("take_one", "take_two", "add_two", "add_three", "recover")
TAKE_ONE, TAKE_TWO, ADD_TWO, ADD_THREE, RECOVER = range(5)
CARD_COPIES = np.array([2, 1, 1, 1, 1])
CARD_TITLES = ("Take One", "Take Two", "Add Two and Take One", "Add Three and Move Coyote", "Spirit Power and Recover")
# "Spirit Power and Recover" needs so many of the other five cards face down.
DOWN_TO_RECOVER = 3

# Two passes in a row end the game, and so does the last of these turns: see the bound in `__init__.py`.
PASSES_TO_END = 2
MAX_TURNS = 120
