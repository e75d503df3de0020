"""One game as a value: what the faces of a single game, records and tools stand on.

It can be played, viewed, copied, pickled, compared and hashed; equal values are equal games.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from spirits_env import games
from spirits_env.batch import BEGIN, DEAL, NO_LANE, PLAY, Buffers, copied, kernels
from spirits_env.drawing import paint
from spirits_env.game import Game, Standing, is_whole, shown, stream

_ONLY = np.zeros(1, np.int64)


class Last(NamedTuple):
    """The last decision of a game.

    Attributes:
        seat: Who took it.
        action: The action's id.
        text: What it did, in words that say only what everybody at the table may know.
    """

    seat: int
    action: int
    text: str


class Score(NamedTuple):
    """What one category is worth to each seat.

    Attributes:
        category: Its name in `Game.categories`.
        points: Points of each seat, which over all categories add up to its score.
        text: Why, in words.
    """

    category: str
    points: list[int]
    text: str


class State:
    """One game in progress.

    Attributes:
        game: The game.
        record: The record itself (`np.record`); writing to it is at your own risk.
        seat: The seat to act, -1 at the end.
        history: The actions played since the deal.
    """

    def __init__(
        self,
        game: str | Game = games.DEFAULT,
        players: int = 2,
        seed: int | None = None,
        setup: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        """Deal a game.

        Args:
            game: A game or its name.
            players: Number of players.
            seed: Same seed, same game; None takes one from the system.
            setup: A JSON set-up to start from instead of a random deal.
            **options: The game's options.

        Raises:
            ValueError: If an argument is not allowed.
        """
        self.game = games.load(game) if isinstance(game, str) else game
        self._states = self.game.blank(1, players, options)
        self._last = -1
        self._allocate()
        self.deal(int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed, setup)

    @classmethod
    def of(cls, game: Game, record: Any, before: bytes = b"", action: int = -1) -> State:
        """Make a game from a copy of its record; its history starts there.

        Args:
            game: The game.
            record: The record.
            before: The bytes of the record before the last decision, for `last`; empty if unknown.
            action: The last decision.
        """
        state = object.__new__(cls)
        states = np.empty(1, game.dtype)
        states[0] = record
        state.__setstate__({"game": game.name, "states": states, "history": [], "before": before, "action": action})
        return state

    def _allocate(self) -> None:
        """Make the buffers that the compiled loops fill."""
        self._kernels = kernels(self.game)
        self._buffers = Buffers.allocate(self.game, 1)
        # Aliases of what is read at every decision.
        self._mask, self._observation, self._seat = self._buffers[:3]
        self._action = np.zeros(1, np.int64)

    def deal(self, seed: int | None = None, setup: Mapping[str, Any] | None = None) -> None:
        """Start a new game with the same players and options.

        Args:
            seed: A whole number to start the generator from; None goes on with it.
            setup: A JSON set-up instead of a random deal.

        Raises:
            ValueError: If the set-up is impossible; the game is then as it was.
        """
        if seed is not None and not is_whole(seed):
            raise ValueError(f"seed was {shown(seed)}; give a whole number, or None for one from the system.")
        states = copied(self._states)
        if seed is not None:
            states["rng"] = stream(seed)
        if setup is not None:
            self.game.fill_setup(states[0], setup)
        self._states = states
        self._run(DEAL if setup is None else BEGIN)
        self.history: list[int] = []
        self._before = b""
        self.seat = int(states["seat"][0])

    def _refresh(self) -> None:
        """Fill the buffers from the record."""
        self.seat = int(self._states["seat"][0])
        seats = np.array([max(self.seat, 0)], np.int8)
        self._kernels.view(self._states, _ONLY, seats, self._mask, self._observation)

    @property
    def record(self) -> Any:
        """The game's record."""
        return self._states[0]

    @property
    def players(self) -> int:
        """Number of players."""
        return int(self._states["players"][0])

    @property
    def options(self) -> dict[str, Any]:
        """The game's options by name."""
        return self.game.read_options(self.record)

    @property
    def remarks(self) -> str:
        """What must be said of every result of such a game; empty for nothing."""
        return "; ".join(self.game.remarks(self.options))

    @property
    def phase(self) -> str:
        """Name of the phase."""
        return self.game.phases[int(self._states["phase"][0])]

    @property
    def turn(self) -> int:
        """Number of turns finished."""
        return int(self._states["turn"][0])

    def mask(self) -> np.ndarray:
        """Legal actions of the seat to act as a fresh int8 array of shape `(actions,)`; all 0 at the end."""
        return self._mask[0].copy()

    def legal_actions(self) -> list[int]:
        """Legal action ids of the seat to act, in order."""
        return [int(action) for action in np.flatnonzero(self._mask[0])]

    def observation(self, seat: int) -> np.ndarray:
        """What a seat may know: a fresh int8 array of shape `(layout.size,)`.

        Raises:
            ValueError: If nobody plays in that seat.
        """
        # The seat to act is asked for most; it needs no further check.
        if type(seat) is int and 0 <= seat == self.seat:
            return self._observation[0].copy()
        self._check_seat(seat)
        observation = np.empty_like(self._observation)
        unused = np.empty_like(self._mask)
        self._kernels.view(self._states, _ONLY, np.array([seat], np.int8), unused, observation)
        return observation[0]

    def _check_seat(self, seat: Any) -> None:
        """Refuse what is no seat of this game: compiled code would read past its end."""
        if not is_whole(seat) or not 0 <= seat < self.players:
            raise ValueError(f"seat was {shown(seat)}; give a seat from 0 to {self.players - 1}.")

    def play(self, action: Any) -> None:
        """Play one decision of the seat to act.

        Args:
            action: A legal action id.

        Raises:
            IllegalAction: If it is anything else; the game is then as it was.
        """
        number = self.game.check_action(action)
        try:
            self._action[0] = number
        except OverflowError:
            raise self.game.refusal(number, int(self._states["phase"][0]), self._mask[0]) from None
        # Bytes are by far the cheapest copy of a record.
        before = self._states.tobytes()
        wrong = self._run(PLAY)
        if wrong != NO_LANE:
            raise self.game.refusal(number, int(self._states["phase"][0]), self._mask[0])
        self._before = before
        self._last = number
        self.history.append(number)
        self.seat = int(self._seat[0])

    def _run(self, what: int) -> int:
        """Run the compiled loop on the game: play `_action`, deal it or begin it."""
        return self._kernels.step(self._states, _ONLY, self._action, what, False, *self._buffers)

    def _outcome(self) -> None:
        """Fill the outcome buffers from the record."""
        self._kernels.outcome(self._states, _ONLY, self._buffers.utility, self._buffers.points, self._buffers.won)

    def returns(self) -> list[float]:
        """Final utility of each seat under the reward option; 0 before the end."""
        if self.seat >= 0:
            return [0.0] * self.players
        self._outcome()
        return [float(value) for value in self._buffers.utility[0, : self.players]]

    def scores(self) -> list[int]:
        """Points of each seat, as they would be counted now."""
        self._outcome()
        return [int(value) for value in self._buffers.points[0, : self.players]]

    def winners(self) -> list[int]:
        """Seats that win or share the win; none before the end."""
        if self.seat >= 0:
            return []
        self._outcome()
        return [seat for seat in range(self.players) if self._buffers.won[0, seat]]

    def setup(self) -> dict[str, Any]:
        """The set-up this game was dealt from, as JSON."""
        return self.game.read_setup(self.record)

    def redealt(self, seat: int, seed: int) -> State:
        """Copy the game with all that a seat can't know redrawn, and a future of its own.

        Raises:
            ValueError: If nobody plays in that seat.
        """
        self._check_seat(seat)
        other = self.copy()
        other._states["rng"] = stream(seed)
        seats = np.array([seat], np.int8)
        self._kernels.redeal(other._states, seats)
        if self._before:
            # What the seat can't know must not be left in the position before, either.
            before = np.frombuffer(bytearray(self._before), self.game.dtype)
            before["rng"] = stream(seed)
            self._kernels.redeal(before, seats)
            other._before = before.tobytes()
        other._refresh()
        return other

    def copy(self) -> State:
        """Return an independent copy."""
        other = object.__new__(State)
        other.__setstate__(self.__getstate__())
        return other

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> State:
        return self.copy()

    def __getstate__(self) -> dict[str, Any]:
        return {
            "game": self.game.name,
            "states": copied(self._states),
            "history": list(self.history),
            "before": self._before,
            "action": self._last,
        }

    def __setstate__(self, value: dict[str, Any]) -> None:
        self.game = games.load(value["game"])
        self._states = value["states"]
        self.history = value["history"]
        self._before, self._last = value["before"], value["action"]
        self._allocate()
        self._refresh()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, State):
            return NotImplemented
        return self.game is other.game and self._states.tobytes() == other._states.tobytes()

    def __hash__(self) -> int:
        return hash((self.game.name, self._states.tobytes()))

    def tell(self, action: Any) -> str:
        """Say what an action would do now, in words that tell only what everybody at the table may know.

        Raises:
            IllegalAction: If it is no legal action.
        """
        number = self.game.check_action(action)
        if not 0 <= number < len(self.game.actions) or not self._mask[0, number]:
            raise self.game.refusal(number, int(self._states["phase"][0]), self._mask[0])
        return self.game.tell(self.record, number)

    def _previous(self) -> Any:
        """The record before the last decision; None where it is not known."""
        return np.frombuffer(self._before, self.game.dtype)[0] if self._before else None

    @property
    def last(self) -> Last | None:
        """The last decision; None after the deal, and where it is not known."""
        before = self._previous()
        return None if before is None else Last(int(before.seat), self._last, self.game.tell(before, self._last))

    def explain(self) -> list[Score]:
        """Say what each category is worth to each seat, and why, as it would be counted now: for who sees all."""
        points = np.zeros((self.players, len(self.game.categories)), np.int16)
        for seat in range(self.players):
            self.game.breakdown(self.record, seat, points[seat])
        texts = self.game.explain(self.record, points)
        return [
            Score(category, [int(value) for value in points[:, number]], text)
            for number, (category, text) in enumerate(zip(self.game.categories, texts, strict=True))
        ]

    def _standing(self, seat: int | None) -> Standing:
        """What the rules say of the position to a viewer, a record that was written to included."""
        self._refresh()
        self._outcome()
        before = self._previous()
        return Standing(
            self._mask[0],
            self._buffers.points[0],
            self._buffers.won[0],
            self.observation(seat or 0),
            before,
            -1 if before is None else self._last,
        )

    def text(self, seat: int | None = None) -> str:
        """The board as text from a seat's view, or all-seeing."""
        return self.game.draw_text(self.record, seat, self._standing(seat))

    def svg(self, seat: int | None = None, theme: str = "light") -> str:
        """The board as an SVG document.

        Args:
            seat: Whose view; None sees everything.
            theme: "light", "dark", or "auto" for pages: light or dark as the reader prefers.

        Raises:
            ValueError: If nobody plays in that seat, or there is no such theme.
        """
        return paint(self.game.draw_scene(self.record, seat, self._standing(seat)), theme)

    def _repr_svg_(self) -> str:
        """The board for a notebook, all-seeing."""
        return self.svg()

    def __repr__(self) -> str:
        return f"<State of {self.game.title}: {self.players} players, turn {self.turn}, {self.phase}, seat {self.seat}>"
