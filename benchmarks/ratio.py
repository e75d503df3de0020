"""How many times one figure is another: taken round by round, so that load cancels out."""

from __future__ import annotations

from dataclasses import dataclass

from spirits_env.bench import Figure


@dataclass(frozen=True)
class Ratio:
    """How many times one figure is another, round by round.

    Attributes:
        name: The name of the ratio.
        text: What it tells, for people.
        over: Name of the figure divided.
        under: Name of the figure it is divided by.
        clock: The clock of both.
    """

    name: str
    text: str
    over: str
    under: str
    clock: str = "cpu"

    def figure(self, figures: dict[str, Figure]) -> Figure | None:
        """The ratio as a figure, or None where one of the two was not measured."""
        if self.over not in figures or self.under not in figures:
            return None
        pairs = zip(figures[self.over].samples[self.clock], figures[self.under].samples[self.clock], strict=True)
        return Figure(self.name, self.text, "times", {self.clock: [over / under for over, under in pairs]})
