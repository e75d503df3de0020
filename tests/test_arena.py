"""The judge: fair seats, same deals, honest intervals."""

from __future__ import annotations

import json

import numpy as np
import pytest

from spirits_env import games
from spirits_env.agents import Agent, GreedyAgent, RandomAgent
from spirits_env.arena import Result, deal_seed, estimate_mean, estimate_share, evaluate, play_games
from spirits_env.arena.estimates import deal_efficiency
from spirits_env.batch import Views
from spirits_env.game import choose_uniform

FOREST = games.load("forest")
OPTIONS = FOREST.check_options({})


class First(Agent):
    """Deterministic: the first legal action."""

    name = "first"

    def act(self, view: Views) -> int:
        return int(view.mask[0].argmax())


class Wrong(Agent):
    """Random, but once in a while illegal."""

    name = "wrong"

    def act_many(self, views: Views) -> np.ndarray:
        actions = np.empty(len(views), np.int64)
        choose_uniform(views.chance, views.mask, actions)
        tiles = views.observation[:, FOREST.layout["tiles_left"].start]
        return np.where(tiles == 20, 58 - 58 * views.mask[:, 58], actions) if (tiles == 20).any() else actions


class Slow(RandomAgent):
    """Random, but makes its games longer: it skips second tiles and places no gems it need not."""

    name = "slow"

    def act_many(self, views: Views) -> np.ndarray:
        actions = super().act_many(views)
        return np.where(views.mask[:, 58] == 1, 58, actions)


@pytest.mark.parametrize("players", [2, 3, 4])
def test_equal_agents_win_their_share_with_every_seat_rotated(players: int) -> None:
    match = evaluate("random", "random", players=players, games=1200).matches[0]
    assert match.share.low is not None
    assert match.share.high is not None
    assert match.share.low < 1 / players < match.share.high
    assert {row.games for row in match.seats} == {1200 // players}
    assert match.seats[0].share > match.seats[-1].share


def test_identical_deterministic_agents_score_exactly_a_half_on_each_deal() -> None:
    match = evaluate(First(), First(), games=60).matches[0]
    assert match.share.mean == 0.5
    assert match.share.error == 0
    assert match.distinct_deals == match.deals == 30


def test_shares_of_each_game_sum_to_one_and_margins_to_zero() -> None:
    played = play_games(FOREST, 3, OPTIONS, RandomAgent(), RandomAgent(), 60, seed=3)
    np.testing.assert_allclose(played.share.sum(axis=1), 1)
    assert len(played.seat) == 180
    np.testing.assert_array_equal(np.bincount(played.seat), [60, 60, 60])


def test_greedy_beats_random_in_well_over_95_percent_of_games() -> None:
    match = evaluate(GreedyAgent(), "random", games=400).matches[0]
    assert match.share.mean > 0.97
    assert match.margin is not None
    assert match.margin.mean > 15
    assert match.illegal == match.opponent_illegal == 0


def test_all_opponents_and_agents_meet_the_same_deals() -> None:
    assert [deal_seed(1, i) for i in range(3)] == [deal_seed(1, i) for i in range(3)]
    assert len({deal_seed(seed, deal) for seed in range(20) for deal in range(100)}) == 2000
    assert all(deal_seed(1, deal) >= 2**63 for deal in range(100))
    one = evaluate(First(), First(), games=20).matches[0]
    both = evaluate(First(), [First(), First()], games=20).matches
    assert [match.points for match in both] == [one.points] * 2


def test_results_follow_from_the_seed_alone() -> None:
    def figures(seed: int, lanes: int = 512) -> tuple[object, ...]:
        match = evaluate("greedy", "random", games=40, seed=seed, lanes=lanes).matches[0]
        return match.share, match.margin, match.seats

    assert figures(1) == figures(1) == figures(1, lanes=7)
    assert figures(1) != figures(2)


def test_long_games_are_not_under_counted_whatever_the_number_of_lanes() -> None:
    one, many = (evaluate(Slow(), "random", games=60, lanes=lanes).matches[0] for lanes in (1, 60))
    assert one.share == many.share
    assert one.games == many.games == 60
    assert one.decisions == many.decisions


def test_an_illegal_choice_is_counted_named_and_loses_the_game() -> None:
    match = evaluate(Wrong(), "random", games=40).matches[0]
    assert match.illegal > 0
    assert match.opponent_illegal == 0
    assert match.illegal_example.startswith("agent wrong chose ")
    result = evaluate("random", Wrong(), games=40)
    assert result.matches[0].illegal_example.startswith("agent wrong chose ")
    assert result.matches[0].opponent_illegal == result.illegal > 0
    assert result.matches[0].share.mean > match.share.mean


@pytest.mark.parametrize("spread", ["share", "mean"])
def test_intervals_cover_the_truth_at_about_their_nominal_rate(spread: str) -> None:
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(2000):
        if spread == "share":
            deals, truth = rng.binomial(2, 0.7, 150) / 2, 0.7
            estimate = estimate_share(deals)
        else:
            deals, truth = rng.normal(3, 10, 40), 3.0
            estimate = estimate_mean(deals)
        assert estimate.low is not None
        assert estimate.high is not None
        covered += estimate.low <= truth <= estimate.high
    assert 0.935 < covered / 2000 < 0.965


def test_deals_that_all_came_out_at_a_third_are_not_called_certain() -> None:
    """A third has no exact number: the deviation of 100 of them is not 0, but no more than rounding."""
    thirds = np.full(100, 1 / 3)
    assert thirds.std(ddof=1) > 0
    share, exact = estimate_share(thirds), estimate_share(np.full(100, 0.25))
    assert share.error == estimate_mean(thirds).error == 0
    wide, narrower = ((each.high or 0) - (each.low or 0) for each in (share, exact))
    assert wide > narrower > 0.15
    assert deal_efficiency(np.tile([1, 0, 0], 100), thirds) is None


def test_a_clean_sweep_still_has_an_interval() -> None:
    for share in (0.0, 1.0):
        estimate = estimate_share(np.full(100, share))
        assert estimate.low is not None
        assert estimate.high is not None
        assert 0.03 < estimate.high - estimate.low < 0.06


def test_one_deal_alone_has_no_interval_for_the_mean() -> None:
    assert estimate_mean(np.array([2.0])).low is None
    assert evaluate("random", "random", games=1).matches[0].games == 2


def test_results_go_through_json_and_tables() -> None:
    result = evaluate("greedy", ["random", "greedy"], games=12, players=3)
    again = Result.from_dict(json.loads(result.to_json()))
    assert again == result
    table = result.to_markdown()
    assert "| greedy | random | 12 |" in " ".join(table.split())
    assert "0, 0" in table
    assert str(result) == table


def test_solitaire_is_judged_without_opponents() -> None:
    result = evaluate("greedy", [], players=1, games=60)
    match = result.matches[0]
    assert result.par is None
    assert match.opponent is None
    assert match.margin is None
    random_match = evaluate("random", [], players=1, games=60).matches[0]
    assert match.share.mean > random_match.share.mean


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"games": 0}, "games was 0"),
        ({"games": 1.5}, "games was 1.5"),
        ({"seed": -1}, "seed"),
        ({"lanes": 0}, "lanes"),
        ({"players": 9}, "players"),
        ({"against": []}, "No opponent"),
        ({"against": "nobody"}, "random, greedy"),
        ({"game": "chess"}, "forest"),
        ({"options": {"colour": 1}}, "colour"),
    ],
)
def test_bad_arguments_are_refused_before_anything_is_played(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        evaluate("random", **{"against": "random", **arguments})  # type: ignore[arg-type]
