"""Plays dealt games to their end: every judge's one loop, for any agents in any seats.

Games are planned before the first move and all of them are played out, so none is under-counted for being long.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from spirits_env.agents import Agent
from spirits_env.batch import AGENTS, Batch, Views
from spirits_env.game import Game, is_whole, shown, stream


def check_count(name: str, value: Any, least: int) -> None:
    """Refuse what is no whole number of at least so many.

    Raises:
        ValueError: If it is none; the message calls it `name`.
    """
    if not is_whole(value) or value < least:
        raise ValueError(f"{name} was {shown(value)}; give a whole number, {least} or more.")


class Side(Agent):
    """One side of a match: asks its agent, keeps the time and puts illegal choices aside.

    Attributes:
        agent: Who chooses.
        decisions: Choices made.
        seconds: Time they took.
        illegal: Illegal ones among them.
        example: Its first illegal choice in words; empty without one.
        wrong: Which rows of the last call were illegal, shape `(n,)`, bool.
    """

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.name = agent.name
        self.decisions = 0
        self.seconds = 0.0
        self.illegal = 0
        self.example = ""
        self.wrong = np.zeros(0, np.bool_)

    def act_many(self, views: Views) -> np.ndarray:
        """Ask the agent; a legal action stands in for an illegal one, whose game goes no further."""
        # The agent may write into what it was given.
        mask = views.mask.copy()
        started = time.perf_counter()
        actions = np.asarray(self.agent.act_many(views))
        self.seconds += time.perf_counter() - started
        self.decisions += len(mask)
        self.wrong = np.zeros(len(mask), np.bool_)
        if actions.shape != self.wrong.shape or not np.issubdtype(actions.dtype, np.integer):
            # No choice at all: whoever asked refuses it with the agent's name.
            return actions
        inside = (actions >= 0) & (actions < mask.shape[1])
        self.wrong = ~inside | (mask[np.arange(len(mask)), np.where(inside, actions, 0)] == 0)
        self.illegal += int(self.wrong.sum())
        if self.wrong.any() and not self.example:
            action = int(actions[self.wrong][0])
            name = views.game.actions[action].name if 0 <= action < mask.shape[1] else "no action"
            self.example = f"agent {self.name} chose {action} ({name}), which was illegal"
        return np.where(self.wrong, mask.argmax(axis=1), actions)


class Course(NamedTuple):
    """How games went.

    Attributes:
        lost: The seat whose illegal choice ended the game, else -1, shape `(n,)`, int64.
        decisions: Decisions of each side in each game, shape `(n, sides)`, int64.
    """

    lost: np.ndarray
    decisions: np.ndarray


def deal_games(
    rules: Game, players: int, options: Mapping[str, Any], seeds: Sequence[int], seatings: Sequence[int]
) -> Batch:
    """Deal games: one seed is one deal, and each of its seatings has other streams for the agents' choices.

    Args:
        rules: The game.
        players: Players at the table.
        options: All options of the game.
        seeds: The seed of each game's deal.
        seatings: Each game's number among those of its deal; with the seed it fixes all chance of the game.
    """
    batch = Batch(rules, len(seeds), players, options)
    batch.reset(seeds)
    for lane, (seed, seating) in enumerate(zip(seeds, seatings, strict=True)):
        for seat in range(players):
            batch.chance[lane, seat] = stream(seed, AGENTS, int(seating), seat)
    return batch


def warm_up(rules: Game, players: int, options: Mapping[str, Any], agent: Agent) -> None:
    """Ask an agent once in a game that doesn't count, so that what it compiles or loads isn't timed."""
    batch = deal_games(rules, players, options, [0], [0])
    batch.ask(Side(agent), batch.lanes)


def play_out(batch: Batch, sides: Sequence[Side], who: np.ndarray) -> Course:
    """Play all games to their end.

    Args:
        batch: Dealt games.
        sides: Who plays.
        who: The side that sits in each lane and seat, as an index of `sides`, shape `(n, players)`.
    """
    lost = np.full(len(batch), -1, np.int64)
    decisions = np.zeros((len(batch), len(sides)), np.int64)
    actions = np.zeros(len(batch), np.int64)
    live = batch.lanes
    while live.size:
        asked = who[live, batch.seat[live]]
        for number, side in enumerate(sides):
            lanes = live[asked == number]
            if lanes.size:
                actions[lanes] = batch.ask(side, lanes)
                decisions[lanes, number] += 1
                wrong = lanes[side.wrong]
                lost[wrong] = batch.seat[wrong]
        live = live[lost[live] < 0]
        batch.step(actions[live], live)
        live = live[batch.seat[live] >= 0]
    return Course(lost, decisions)


def outcome(batch: Batch, lost: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Share out the wins of finished games; a forfeited one is won by all other seats.

    Args:
        batch: Games that were played out.
        lost: The seat that forfeited, else -1, shape `(n,)`.

    Returns:
        Shares and points, both of shape `(n, players)`.
    """
    forfeited = lost >= 0
    batch.count(np.flatnonzero(forfeited))
    winners = batch.won[:, : batch.players].astype(np.float64)
    winners[forfeited] = np.arange(batch.players) != lost[forfeited, None]
    # Nobody wins a solitaire that was lost.
    return winners / np.maximum(winners.sum(axis=1, keepdims=True), 1), batch.points[:, : batch.players]
