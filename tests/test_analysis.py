"""What a policy thinks of a game: its network's own words, and losses that can be worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from spirits_env import record
from spirits_env.agents import Agent, make_agent
from spirits_env.agents.policy import PolicyAgent
from spirits_env.analysis import COSTLY, UNLIKELY, Judgement, analyse
from spirits_env.batch import Batch
from spirits_env.state import State

Values = Callable[[np.ndarray], np.ndarray]


class Told(PolicyAgent):
    """Prefers the legal action with the highest number; its values are a given function of what seats see."""

    def __init__(self, values: Values, utility: dict[str, Any] | None = None, reward: str = "win") -> None:
        self.name = "told"
        self.values = values
        self.card = {"options": {"reward": reward}} | ({"utility": utility} if utility else {})

    def check(self, game: str, players: int) -> None:
        pass

    def judge(self, observation: np.ndarray, mask: np.ndarray, players: int) -> tuple[np.ndarray, np.ndarray]:
        logits = np.tile(np.arange(mask.shape[1], dtype=np.float32), (len(mask), 1))
        return logits, self.values(observation).astype(np.float32)


def played(game: str = "forest", players: int = 2, seed: int = 0, **options: Any) -> State:
    state, rng = State(game, players, seed=seed, **options), np.random.default_rng(seed)
    while state.seat >= 0:
        state.play(rng.choice(state.legal_actions()))
    return state


def positions(whole: State) -> list[State]:
    content = record.write(whole)
    return [record.replay(content, ply) for ply in range(len(whole.history) + 1)]


def after(state: State, action: int) -> State:
    other = state.copy()
    other.play(action)
    return other


@pytest.fixture(scope="module")
def policy() -> Agent:
    return make_agent("policy:forest")


@pytest.mark.parametrize("players", [2, 3, 4])
def test_probabilities_and_values_are_what_the_network_says_to_the_seat_to_act(players: int, policy: Agent) -> None:
    assert isinstance(policy, PolicyAgent)
    whole = played(players=players, seed=players)
    judged = analyse(whole, policy)
    assert [one.ply for one in judged] == list(range(len(whole.history)))
    for one, state in zip(judged, positions(whole), strict=False):
        logits, value = policy.logits(state.observation(state.seat)[None], state.mask()[None])
        heights = {action: math.exp(logits[0, action] - logits[0].max()) for action in state.legal_actions()}
        total = sum(heights.values())
        assert one.seat == state.seat
        assert one.action == whole.history[one.ply]
        assert one.probabilities == pytest.approx({a: height / total for a, height in heights.items()}, abs=1e-4)
        assert one.value == pytest.approx(value[0], abs=1e-3)
        assert one.probabilities[one.best] == max(one.probabilities.values())


@pytest.mark.parametrize("players", [2, 3, 4])
def test_a_loss_is_the_difference_of_the_movers_values_after_both_actions(players: int) -> None:
    icons = State("forest").game.layout["icons"]

    def values(observation: np.ndarray) -> np.ndarray:
        return observation[:, icons].reshape(len(observation), 4, 12).sum(axis=2) / 100

    whole = played(players=players, seed=players)
    seen = set()
    for one, state in zip(analyse(whole, Told(values)), positions(whole), strict=False):
        assert one.best == max(state.legal_actions())
        futures = [after(state, action) for action in (one.best, one.action)]
        if all(future.seat >= 0 for future in futures):
            best, actual = (int(future.record.icons[one.seat].sum()) / 100 for future in futures)
            assert one.loss == pytest.approx(max(0, best - actual), abs=1e-6)
            if one.loss > 0:
                seen.add(tuple((other.seat - one.seat) % players for other in futures))
    # Whoever acts next, whether it is the mover again or anybody else, is asked for the mover's value.
    assert {seat for seats in seen for seat in seats} == {0, 1}


def ends() -> tuple[State, State]:
    """Find a game whose last decision cost its mover points, whatever the mover could not know."""
    for seed in range(400):
        whole = played("wild", seed=seed)
        last = record.replay(record.write(whole), len(whole.history) - 1)
        pair = (max(last.legal_actions()), whole.history[-1])
        lost, best = after(last, pair[1]).scores(), after(last, pair[0]).scores()
        deals = [last, *(last.redealt(last.seat, seed) for seed in range(20))]
        certain = all(
            end.seat < 0 and end.scores() == scores
            for deal in deals
            for end, scores in zip((after(deal, action) for action in pair), (best, lost), strict=True)
        )
        if certain and best[last.seat] - best[1 - last.seat] > lost[last.seat] - lost[1 - last.seat]:
            return whole, after(last, pair[0])
    raise AssertionError("no such game")


@pytest.mark.parametrize(("reward", "weight"), [("win", 0.0), ("win", 0.25), ("margin", 0.0)])
def test_an_end_counts_what_the_policy_was_trained_for(reward: str, weight: float) -> None:
    whole, best = ends()
    utility = {"margin_weight": weight, "margin_scales": {"2": 12.0}}
    told = Told(lambda observation: np.full((len(observation), 2), 99.0), utility, reward)
    last = analyse(whole, told)[-1]

    def worth(state: State) -> float:
        own, other = state.scores()[last.seat], state.scores()[1 - last.seat]
        paid = (own - other) / 2 if reward == "margin" else float(np.sign(own - other))
        return (1 - weight) * paid + weight * math.tanh((own - other) / 12)

    assert last.loss == pytest.approx(worth(best) - worth(whole), abs=1e-5)
    assert reward == "win" or last.loss > 0


def test_what_a_seat_cannot_know_changes_nothing(policy: Agent) -> None:
    whole = played(seed=7)
    other_set_ups = 0
    for ply in (0, 11, 24, 40, 63):
        state = record.replay(record.write(whole), ply)
        other = state.redealt(state.seat, seed=ply)
        other_set_ups += other.setup() != state.setup()
        for game in (state, other):
            game.play(whole.history[ply])
        mine, theirs = analyse(state, policy)[-1], analyse(other, policy)[-1]
        assert theirs.probabilities == pytest.approx(mine.probabilities, abs=1e-5)
        assert theirs.value == pytest.approx(mine.value, abs=1e-4)
        assert theirs.best == mine.best
        # Other re-deals are drawn, from the same possibilities.
        assert theirs.loss == pytest.approx(mine.loss, abs=0.04)
    assert other_set_ups >= 4


def test_a_loss_does_not_know_the_token_that_a_move_turns_up() -> None:
    own = State("forest").game.layout["own_tokens"]

    def values(observation: np.ndarray) -> np.ndarray:
        kinds = observation[:, own] @ -np.arange(own.stop - own.start)
        return np.stack([kinds, np.zeros(len(kinds))], axis=1)

    def kind(game: State) -> int:
        return int(game.observation(game.seat)[own] @ np.arange(own.stop - own.start))

    compared = 0
    for seed in range(12):
        whole = played(seed=seed)
        for ply, action in enumerate(whole.history[:40]):
            state = record.replay(record.write(whole), ply)
            if kind(state) or after(state, action).seat != state.seat or not kind(after(state, action)):
                continue
            other = state.redealt(state.seat, seed)
            first, second = after(state, action), after(other, action)
            if abs(kind(first) - kind(second)) >= 6:
                losses = [analyse(game, Told(values))[-1].loss for game in (first, second)]
                # The mean of 32 draws of a kind, whose numbers go up to 12, comes within 3 of the true mean.
                assert losses[0] == pytest.approx(losses[1], abs=3)
                compared += min(losses) > 0
    assert compared >= 3


def test_the_preferred_action_costs_nothing_and_no_loss_is_below_0(policy: Agent) -> None:
    judged = analyse(played(seed=3), policy)
    assert all(one.loss == 0 for one in judged if one.action == one.best)
    assert all(one.loss >= 0 for one in judged)
    assert sum(one.mistake for one in judged) > 5


def test_the_policy_itself_makes_hardly_any_mistakes(policy: Agent) -> None:
    counts = []
    for agent in (policy, make_agent("random")):
        state = State("forest", 2, seed=5)
        batch = Batch("forest", 1, 2)
        batch.reset(setup=state.setup(), seeds=[5])
        while state.seat >= 0:
            actions = batch.ask(agent, batch.lanes)
            batch.step(actions)
            state.play(int(actions[0]))
        counts.append(sum(one.mistake for one in analyse(state, policy)))
    assert counts[0] <= 1
    assert counts[1] > 10


def test_a_mistake_is_unlikely_and_costly() -> None:
    def judgement(chance: float, loss: float) -> Judgement:
        return Judgement(0, 0, 3, {3: chance, 4: 1 - chance}, 0.0, 4, loss)

    assert judgement(UNLIKELY - 0.001, COSTLY).mistake
    assert not judgement(UNLIKELY, COSTLY).mistake
    assert not judgement(UNLIKELY - 0.001, COSTLY - 0.001).mistake


def test_a_search_judges_too() -> None:
    whole = record.replay(record.write(played(seed=2)), 30)
    judged = analyse(whole, make_agent("policy:forest+search:8"))
    assert len(judged) == 30
    for one in judged:
        assert sum(one.probabilities.values()) == pytest.approx(1, abs=1e-5)
        assert one.probabilities[one.best] == max(one.probabilities.values())


def test_records_and_games_are_judged_alike_every_time(policy: Agent) -> None:
    whole = played("forest", 3, seed=6)
    first = analyse(whole, policy)
    assert first == analyse(record.write(whole), policy) == analyse(whole.copy(), policy)


def test_nothing_played_is_nothing_judged(policy: Agent) -> None:
    assert analyse(State("forest", 2, seed=0), policy) == []


@pytest.mark.parametrize("name", ["greedy", "random", "search:10"])
def test_an_agent_without_a_policy_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"Agent '{name}' has no policy to ask; give a saved policy such as"):
        analyse(State("forest", 2, seed=0), make_agent(name))


def test_a_policy_for_another_game_is_refused(policy: Agent) -> None:
    with pytest.raises(ValueError, match="plays 'forest', not 'wild'"):
        analyse(State("wild", 2, seed=0), policy)
    with pytest.raises(ValueError, match="trained for 2 or 3 or 4 players"):
        analyse(State("forest", 1, seed=0), policy)


def test_numbers_that_are_none_are_refused() -> None:
    told = Told(lambda observation: np.full((len(observation), 2), np.nan))
    with pytest.raises(ValueError, match="'told' gave no finite numbers"):
        analyse(played(seed=1), told)
