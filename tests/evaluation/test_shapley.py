"""Shapley values against their definition: the mean over all orders of players."""

from itertools import permutations

import numpy as np
import pytest

from skinformer.evaluation.shapley import (
    all_coalitions,
    along_orders,
    draw_orders,
    of_all,
    of_exponential,
    of_orders,
)


def by_definition(value, n):
    """Let players come in each order, and give each the mean of what it brings."""
    gained = np.zeros(n)
    orders = list(permutations(range(n)))
    for order in orders:
        inside = set()
        for player in order:
            before = value(inside)
            inside.add(player)
            gained[player] += value(inside) - before
    return gained / len(orders)


@pytest.fixture
def game():
    """Give a game of four in which every coalition has a value of its own."""
    values = np.random.default_rng(0).normal(size=16)
    return values, lambda inside: values[sum(1 << i for i in inside)]


def test_all_coalitions_give_the_mean_over_all_orders(game):
    """The oracle of everything else."""
    values, value = game
    np.testing.assert_allclose(of_all(values), by_definition(value, 4), atol=1e-12)


def test_drawn_orders_that_are_all_orders_give_the_same(game):
    """A sample estimates the same number."""
    values, value = game
    orders = np.array(list(permutations(range(4))))
    members = along_orders(orders)
    found = of_orders(values[members @ (1 << np.arange(4))], orders)
    np.testing.assert_allclose(found, by_definition(value, 4), atol=1e-12)


def test_one_order_and_its_reverse_are_exact_where_two_act_together_at_most():
    """So a few pairs do: what three do together is all that is left to chance."""
    generator = np.random.default_rng(1)
    alone, together = generator.normal(size=9), generator.normal(size=(9, 9))
    orders = draw_orders(9, 1, seed=3)

    def value(members):
        inside = members.astype(float)
        return inside @ alone + np.einsum("ni,ij,nj->n", inside, together, inside)

    found = of_orders(value(along_orders(orders)), orders)
    np.testing.assert_allclose(found, of_all(value(all_coalitions(9))), atol=1e-12)


def test_any_orders_share_out_all():
    """However few are drawn, nothing is lost."""
    orders = draw_orders(30, 2, seed=0)
    members = along_orders(orders)
    values = np.random.default_rng(0).normal(size=(len(members), 2, 3))
    np.testing.assert_allclose(of_orders(values, orders).sum(axis=0), values[1] - values[0])


def test_exponentials_of_sums_are_exact_for_any_number_of_players():
    """The integral has a rule that is exact: it must be that of enough points."""
    for n in (1, 2, 5, 8):
        changes = np.random.default_rng(n).normal(size=(n, 3))
        start = np.array([0.0, 2.0, -1.0])
        values = np.exp(start + all_coalitions(n) @ changes)
        np.testing.assert_allclose(of_exponential(start, changes), of_all(values), rtol=1e-10)
    many = np.random.default_rng(0).normal(size=(40, 1)) / 10
    total = np.exp(many.sum()) - 1
    np.testing.assert_allclose(of_exponential(np.zeros(1), many).sum(), total, rtol=1e-12)
