"""Standings: cells, rows, seats, triples and residuals of games made by hand or drawn from planted strengths."""

from __future__ import annotations

import json
import math
from itertools import combinations, permutations

import numpy as np
import pytest

from spirits_env.arena.contest import Contest, Played
from spirits_env.arena.estimates import estimate_mean, estimate_share
from spirits_env.arena.standings import Standings, standings


def contest(*agents: str, players: int = 2) -> Contest:
    return Contest("forest", 0, "0", players, {}, (), 1, agents, ("",) * len(agents))


def games(table, deal, seats, points, plies=80, decisions=None, seconds=None) -> Played:
    """The games of a table on a deal, from points alone: most points win."""
    place = tuple(tuple(sum(other > own for other in game) for own in game) for game in points)
    share = tuple(tuple((rank == 0) / game.count(0) for rank in game) for game in place)
    return Played(
        table=table,
        deal=deal,
        seats=tuple(map(tuple, seats)),
        share=share,
        points=tuple(map(tuple, points)),
        place=place,
        plies=(plies,) * len(seats),
        decisions=decisions or (10,) * len(table),
        seconds=seconds or (0.1,) * len(table),
    )


def both_seats(table, deal, first, second, **more) -> Played:
    """Two players: points of agent and opponent with the agent in seat 0, and again with it in seat 1."""
    a, b = table
    return games(table, deal, [(a, b), (b, a)], [first, second[::-1]], **more)


def drawn(tables, deals, lead, seed=0) -> list[Played]:
    """Two players: the first of a table wins a game with the probability that `lead` gives."""
    rng = np.random.default_rng(seed)
    played = []
    for deal in range(deals):
        for a, b in tables:
            won = rng.random(2) < lead(a, b)
            ends = [(2, 1) if each else (1, 2) for each in won]
            played.append(both_seats((a, b), deal, *ends))
    return played


THREE = [
    both_seats((0, 1), 0, (30, 20), (25, 25), plies=80, decisions=(100, 60), seconds=(0.5, 0.1)),
    both_seats((0, 1), 1, (10, 40), (31, 30), plies=90, decisions=(100, 40), seconds=(0.5, 0.3)),
    both_seats((0, 1), 2, (50, 20), (45, 25), plies=100, decisions=(100, 60), seconds=(0.5, 0.1)),
]


def test_cells_of_two_players_hold_both_views_of_the_pair():
    found = standings(contest("a", "b"), THREE, 100)
    assert (found.kind, found.games, found.deals, found.par, found.cell_par) == ("field", 6, 3, 0.5, 0.5)
    assert (found.plies, found.shared_wins) == (90, 1)
    own, other = found.cell(0, 1), found.cell(1, 0)
    deals = np.array([0.75, 0.5, 1.0])
    assert own.share == estimate_share(deals)
    assert other.share == estimate_share(1 - deals)
    assert own.margin == estimate_mean(np.array([5, -14.5, 25]))
    assert other.margin.mean == -own.margin.mean
    assert (own.games, own.deals, own.shared_wins, own.plies) == (6, 3, 1, 90)
    singles = np.array([1, 0.5, 0, 1, 1, 1])
    assert own.deal_efficiency == pytest.approx(singles.var(ddof=1) / (2 * deals.var(ddof=1)))


def test_rows_hold_seats_margin_and_time():
    found = standings(contest("a", "b"), THREE, 100)
    best, worst = found.rows
    assert (best.name, best.agent, best.games, best.decisions) == ("a", 0, 6, 300)
    assert best.ms == pytest.approx(5)
    assert worst.ms == pytest.approx(1000 * 0.5 / 160)
    assert best.share == found.cell(0, 1).share
    assert best.margin == found.cell(0, 1).margin
    assert [(seat.games, seat.share) for seat in best.seats] == [(3, pytest.approx(2 / 3)), (3, pytest.approx(2.5 / 3))]
    assert [seat.share.mean for seat in found.seats] == [pytest.approx(2.5 / 6), pytest.approx(3.5 / 6)]
    assert sum(seat.elo for seat in found.seats) == pytest.approx(0)


def test_the_rating_is_the_odds_of_shares_with_the_virtual_draws():
    found = standings(contest("a", "random"), [both_seats((0, 1), deal, (2, 1), (2, 1)) for deal in range(20)], 100)
    assert found.anchor == 1
    assert [row.name for row in found.rows] == ["a", "random"]
    assert found.rows[0].rating == pytest.approx(400 * math.log10(41))
    assert found.rows[0].low < found.rows[0].rating < found.rows[0].high
    assert (found.rows[1].rating, found.rows[1].low, found.rows[1].high) == (0, 0, 0)
    assert found.cell(0, 1).predicted == pytest.approx(41 / 42)
    assert found.cell(0, 1).residual == pytest.approx(1 - 41 / 42)


def test_a_lead_is_known_better_than_the_distance_to_a_far_anchor():
    """Random wins one game of 400 from each other agent, and "a" 70 % from "b"."""
    far = drawn([(0, 1), (0, 2)], 200, lambda a, b: 0.0025 if a == 0 else 0.9975)
    found = standings(contest("random", "b", "a"), [*far, *drawn([(2, 1)], 200, lambda a, b: 0.7)], 400)
    best, middle, last = found.rows
    assert [row.name for row in found.rows] == ["a", "b", "random"]
    assert best.lead == pytest.approx(best.rating - middle.rating)
    assert best.lead_low < best.lead < best.lead_high
    assert best.lead_high - best.lead_low < (best.high - best.low) / 2
    assert (middle.lead, middle.lead_low, middle.lead_high) == (middle.rating, middle.low, middle.high)
    assert (last.lead, last.lead_low, last.lead_high) == (None, None, None)


def test_the_anchor_is_the_first_agent_that_played_without_random():
    played = [both_seats((1, 2), deal, (2, 1), (2, 1)) for deal in range(3)]
    found = standings(contest("random", "a", "b"), played, 100)
    assert found.anchor == 1
    assert [row.name for row in found.rows] == ["a", "b"]


def test_equal_deterministic_agents_have_exactly_par():
    # The same line of play whoever sits where: seat 0 always wins.
    played = [both_seats((0, 1), deal, (30, 20), (20, 30)) for deal in range(30)]
    found = standings(contest("a", "b"), played, 100)
    cell = found.cell(0, 1)
    assert cell.share.mean == 0.5
    assert cell.margin.mean == 0
    assert cell.deal_efficiency is None
    assert [row.rating for row in found.rows] == pytest.approx([0, 0], abs=1e-6)
    assert found.seats[0].share.mean == 1
    assert found.seats[0].low < found.seats[0].elo < found.seats[0].high
    assert found.seats[0].low > 0


def test_fields_measure_one_agent_against_copies():
    played = [
        games((0, 1), 0, [(0, 1, 1), (1, 0, 1), (1, 1, 0)], [(30, 20, 10), (20, 20, 5), (9, 3, 9)], decisions=(30, 70)),
        games((1, 0), 0, [(1, 0, 0), (0, 1, 0), (0, 0, 1)], [(1, 2, 3), (1, 2, 3), (1, 2, 3)], decisions=(5, 20)),
        games((0, 1), 1, [(0, 1, 1), (1, 0, 1), (1, 1, 0)], [(5, 7, 0), (6, 6, 6), (1, 2, 3)], decisions=(30, 70)),
    ]
    found = standings(contest("a", "b", players=3), played, 100)
    assert (found.kind, found.games, found.deals) == ("field", 9, 2)
    assert found.par == found.cell_par == 1 / 3
    cell = found.cell(0, 1)
    assert cell.share == estimate_share(np.array([2 / 3, (0 + 1 / 3 + 1) / 3]))
    assert cell.margin.mean == pytest.approx(np.mean([15, 7.5, 3, 1.5, 0, 1.5]))
    assert cell.shared_wins == 3
    assert found.cell(1, 0).share.mean == pytest.approx(1 / 3)
    assert (found.cell(1, 0).games, found.cell(1, 0).deals, found.cell(1, 0).shared_wins) == (3, 1, 0)
    rows = {row.agent: row for row in found.rows}
    assert (rows[0].games, rows[1].games) == (6, 3)
    assert (rows[0].decisions, rows[1].decisions) == (80, 145)
    assert [seat.share for seat in rows[0].seats] == [pytest.approx(x) for x in (1 / 2, (1 / 2 + 1 / 3) / 2, 3 / 4)]


def test_who_only_fills_fields_has_a_rating_but_no_share():
    seats = [(0, 1, 1), (1, 0, 1), (1, 1, 0)]
    played = [games((0, 1), deal, seats, [(3, 2, 1), (2, 3, 1), (1, 2, 3)]) for deal in range(4)]
    found = standings(contest("a", "b", players=3), played, 100)
    assert found.cell(1, 0) is None
    row = found.rows[1]
    assert (row.name, row.games, row.share, row.margin) == ("b", 0, None, None)
    assert row.rating < found.rows[0].rating
    assert [seat.share for seat in row.seats] == [None, None, None]


def test_mixed_tables_compare_who_is_ahead():
    seats = [(0, 1, 2), (1, 2, 0), (2, 0, 1)]
    played = [
        games((0, 1, 2), 0, seats, [(30, 20, 10), (20, 20, 30), (5, 5, 5)]),
        games((0, 1, 2), 1, seats, [(10, 20, 30), (3, 2, 1), (2, 1, 3)]),
    ]
    found = standings(contest("a", "b", "c", players=3), played, 100)
    assert (found.kind, found.games, found.par, found.cell_par) == ("mixed", 6, 1 / 3, 0.5)
    ahead = found.cell(0, 1)
    assert ahead.share == estimate_share(np.array([(1 + 1 + 0.5) / 3, 0.0]))
    assert ahead.margin.mean == pytest.approx(np.mean([10, 10, 0, -10, -2, -2]))
    assert found.cell(1, 2).share.mean == pytest.approx(np.mean([1, 0.5, 0.5, 0, 1, 1]))
    for a, b in permutations(range(3), 2):
        assert found.cell(a, b).share.mean == pytest.approx(1 - found.cell(b, a).share.mean)
        assert found.cell(a, b).predicted == pytest.approx(1 - found.cell(b, a).predicted)
        assert (found.cell(a, b).games, found.cell(a, b).deals) == (6, 2)
    row = next(row for row in found.rows if row.agent == 0)
    assert row.share.mean == pytest.approx(np.mean([1, 1, 1 / 3, 0, 0, 0]))
    assert row.margin.mean == pytest.approx(np.mean([15, 10, 0, -15, -1.5, -1.5]))


def test_predictions_hold_where_the_model_does():
    ratings = np.array([0, 150, 400]) * math.log(10) / 400
    played = drawn(list(combinations(range(3), 2)), 2000, lambda a, b: 1 / (1 + np.exp(ratings[b] - ratings[a])))
    found = standings(contest("random", "a", "b"), played, bootstrap=100)
    for cell in found.cells:
        assert cell.predicted == pytest.approx(1 / (1 + np.exp(ratings[cell.opponent] - ratings[cell.agent])), abs=0.03)
        assert abs(cell.residual) < 0.03
    for row in found.rows:
        assert row.low - 1e-9 <= row.rating <= row.high + 1e-9


def circle(strength: float):
    """Each of three agents beats the next: 0 beats 1 beats 2 beats 0."""
    return lambda a, b: strength if (b - a) % 3 == 1 else 1 - strength


def test_a_planted_circle_is_found_and_shows_as_residuals():
    found = standings(contest("rock", "scissors", "paper"), drawn([(0, 1), (0, 2), (1, 2)], 300, circle(0.7)), 50)
    assert found.triples == ((0, 1, 2),)
    for row in found.rows:
        assert abs(row.rating) < 40
    assert len(found.residuals) == 6
    for cell in found.residuals:
        sign = 1 if (cell.opponent - cell.agent) % 3 == 1 else -1
        assert cell.residual == pytest.approx(0.2 * sign, abs=0.06)
    sizes = [abs(cell.residual) for cell in found.residuals]
    assert sizes == sorted(sizes, reverse=True)


def test_a_circle_within_chance_is_none():
    won, lost = ((2, 1), (2, 1)), ((1, 2), (1, 2))
    tables = [(0, 1), (1, 2), (2, 0)]
    played = [both_seats(table, deal, *(won if deal < 11 else lost)) for table in tables for deal in range(20)]
    found = standings(contest("a", "b", "c"), played, 50)
    assert [found.cell(*table).share.mean for table in tables] == pytest.approx([0.55, 0.55, 0.55])
    assert found.triples == ()


def test_a_ladder_has_no_circles():
    found = standings(contest("a", "b", "c"), drawn([(0, 1), (0, 2), (1, 2)], 200, lambda a, b: 0.8), 50)
    assert found.triples == ()


def test_circles_of_four_agents_start_with_the_smallest_number():
    # 3 beats 1 beats 2 beats 3, and all lose to 0.
    wins = {(3, 1), (1, 2), (2, 3), (0, 1), (0, 2), (0, 3)}
    played = drawn(list(combinations(range(4), 2)), 200, lambda a, b: 0.75 if (a, b) in wins else 0.25)
    assert standings(contest("a", "b", "c", "d"), played, 50).triples == ((1, 2, 3),)


def test_one_deal_has_no_intervals_of_ratings():
    found = standings(contest("a", "b"), THREE[:1])
    assert all(row.low is None and row.high is None for row in found.rows)
    assert all(seat.low is None and seat.high is None for seat in found.seats)
    assert found.cell(0, 1).margin.low is None


def test_copies_of_one_agent_inform_the_seats_but_are_no_cell():
    mirror = [both_seats((1, 1), deal, (3, 2), (2, 3)) for deal in range(5)]
    found = standings(contest("a", "b"), [*THREE, *mirror], 100)
    assert {(cell.agent, cell.opponent) for cell in found.cells} == {(0, 1), (1, 0)}
    assert [row.games for row in found.rows] == [6, 6]
    assert found.seats[0].elo > standings(contest("a", "b"), THREE, 100).seats[0].elo


def test_tables_without_games_or_of_two_kinds_are_refused():
    with pytest.raises(ValueError, match="no games"):
        standings(contest("a", "b"), [])
    field = games((0, 1), 0, [(0, 1, 1)], [(1, 2, 3)])
    mixed = games((0, 1, 2), 0, [(0, 1, 2)], [(1, 2, 3)])
    with pytest.raises(ValueError, match="2 or 3 agents"):
        standings(contest("a", "b", "c", players=3), [field, mixed])


def test_standings_are_fixed_by_the_seed_whatever_the_order_of_the_lines():
    played = drawn([(0, 1), (0, 2), (1, 2)], 30, lambda a, b: 0.6)
    first = standings(contest("a", "b", "c"), played, 100)
    assert first == standings(contest("a", "b", "c"), played, 100)
    again = standings(contest("a", "b", "c"), played[::-1], 100)
    for one, other in zip(first.rows, again.rows, strict=True):
        assert (one.agent, one.low, one.high) == (other.agent, pytest.approx(other.low), pytest.approx(other.high))


def plain(found: Standings) -> dict:
    return json.loads(json.dumps(found.to_dict()))


def test_standings_turn_into_json():
    found = standings(contest("rock", "scissors", "paper"), drawn([(0, 1), (0, 2), (1, 2)], 100, circle(0.8)), 50)
    value = plain(found)
    assert value == found.to_dict()
    assert value["contest"] == found.contest.to_dict()
    assert value["triples"] == [[0, 1, 2]]
    assert value["cells"][0]["share"]["mean"] == found.cells[0].share.mean
    assert value["cells"][0]["residual"] == found.cells[0].residual
    assert value["rows"][2]["seats"][1]["games"] == 200
