"""Shapley values of functions of coalitions: all of them, in random orders, and of sums.

A player's Shapley value is what the value of a coalition gains when the player joins it, averaged
over all orders in which players may come (Shapley 1953, A value for n-person games).
"""

from math import factorial

import numpy as np

from skinformer.timeline.arrays import BoolArray, Float64Array, IntArray


def all_coalitions(n: int) -> BoolArray:
    """List all coalitions of n players, (2 ** n, n): row i has the players whose bits i has."""
    return np.asarray(np.arange(1 << n)[:, None] >> np.arange(n) & 1, dtype=bool)


def of_all(values: Float64Array) -> Float64Array:
    """Give the Shapley values, (n, …), of a game of which every coalition is known.

    Values are those of `all_coalitions`, (2 ** n, …); the sum is that of all players less none's.
    """
    n = len(values).bit_length() - 1
    members = all_coalitions(n)
    size = members.sum(axis=1)
    # Of n! orders, those in which just this coalition comes before a player.
    weight = np.array([factorial(k) * factorial(n - 1 - k) for k in range(n)]) / factorial(n)
    out = np.empty((n, *values.shape[1:]))
    for i in range(n):
        without = np.flatnonzero(~members[:, i])
        gained = values[without | 1 << i] - values[without]
        out[i] = np.tensordot(weight[size[without]], gained, axes=1)
    return out


def draw_orders(n: int, n_pairs: int, seed: int) -> IntArray:
    """Draw orders of players, (2 * n_pairs, n), each with its reverse behind it.

    What any two players do together counts in one half of a pair for the one, in the other half for
    the other: so values are exact where no three do anything together. The seed is that of a
    generator of its own.
    """
    generator = np.random.default_rng(seed)
    drawn = np.array([generator.permutation(n) for _ in range(n_pairs)], dtype=np.int64)
    return np.stack([drawn, drawn[:, ::-1]], axis=1).reshape(-1, n)


def along_orders(orders: IntArray) -> BoolArray:
    """List the coalitions of which values are needed, as players come one after the other.

    The shape is (2 + n_orders * (n - 1), n): none, all, and those between, order by order.
    """
    n = orders.shape[1]
    place = np.argsort(orders, axis=1)
    between = place[:, None] < np.arange(1, n)[:, None]
    ends = np.array([[False], [True]]).repeat(n, axis=1)
    return np.concatenate([ends, between.reshape(-1, n)])


def of_orders(values: Float64Array, orders: IntArray) -> Float64Array:
    """Estimate Shapley values, (n, …), from those of the coalitions that `along_orders` lists.

    Their sum is the value of all players less that of none, whatever the orders.
    """
    n_orders, n = orders.shape
    between = values[2:].reshape(n_orders, n - 1, *values.shape[1:])
    ends = np.broadcast_to(values[:2, None], (2, n_orders, *values.shape[1:]))
    course = np.concatenate([ends[0][:, None], between, ends[1][:, None]], axis=1)
    gained = np.diff(course, axis=1)
    out = np.zeros((n, *values.shape[1:]))
    np.add.at(out, orders, gained)
    out /= n_orders
    return out


def of_exponential(start: Float64Array, changes: Float64Array) -> Float64Array:
    """Give the exact Shapley values of the exponential of a sum, for any number of players.

    start, changes: the sum without anyone, (…), and what each player adds to it, (n, …).

    By Owen's integral over the chance with which each of the others is in, under which the
    exponential is a product: a polynomial of degree n - 1, which Gauss' rule integrates.
    """
    nodes, weights = np.polynomial.legendre.leggauss(len(changes) // 2 + 1)
    gains = np.expm1(changes)
    total = np.zeros_like(changes)
    for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        logs = np.log1p(node * gains)
        total += weight * np.exp(start + logs.sum(axis=0) - logs)
    return np.asarray(total * gains)
