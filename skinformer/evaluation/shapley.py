"""Shapley values of functions of coalitions: all of them, in random orders, and of sums.

A player's Shapley value is what the value of a coalition gains when the player joins it, averaged
over all orders in which players may come (Shapley 1953, A value for n-person games).
"""

from __future__ import annotations

from math import factorial

import numpy as np

from skinformer.timeline.arrays import BoolArray, Float64Array, IntArray

__all__ = ["all_coalitions", "along_orders", "draw_orders", "of_all", "of_exponential", "of_orders"]


def all_coalitions(n: int) -> BoolArray:
    """
    List all coalitions of so many players.

    Parameters
    ----------
    n : int
        Players.

    Returns
    -------
    ndarray of bool, shape (2 ** n, n)
        Who is in; row i has the players whose bits i has.

    Examples
    --------
    >>> all_coalitions(2).astype(int).tolist()
    [[0, 0], [1, 0], [0, 1], [1, 1]]
    """
    members: BoolArray = (np.arange(1 << n)[:, None] >> np.arange(n) & 1).astype(bool)
    return members


def of_all(values: Float64Array) -> Float64Array:
    """
    Give the Shapley values of a game of which every coalition is known.

    Parameters
    ----------
    values : ndarray of float64, shape (2 ** n, …)
        Of the coalitions that `all_coalitions` lists.

    Returns
    -------
    ndarray of float64, shape (n, …)
        Their sum is the value of all players less that of none.

    Examples
    --------
    >>> of_all(np.array([0.0, 1.0, 2.0, 5.0]))  # 2 more together
    array([2., 3.])
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
    """
    Draw orders of players, each with its reverse.

    What any two players do together counts in one half of a pair for the one, in the other half
    for the other: so values are exact where no three do anything together.

    Parameters
    ----------
    n : int
        Players.
    n_pairs : int
        How many, at least 1.
    seed : int
        Of a generator of its own.

    Returns
    -------
    ndarray of int64, shape (2 * n_pairs, n)
        Each order and, behind it, its reverse.

    Examples
    --------
    >>> draw_orders(3, 1, seed=0)
    array([[2, 0, 1],
           [1, 0, 2]])
    """
    generator = np.random.default_rng(seed)
    drawn = np.array([generator.permutation(n) for _ in range(n_pairs)], dtype=np.int64)
    return np.stack([drawn, drawn[:, ::-1]], axis=1).reshape(-1, n)


def along_orders(orders: IntArray) -> BoolArray:
    """
    List the coalitions of which values are needed, as players come one after the other.

    Parameters
    ----------
    orders : ndarray of int64, shape (n_orders, n)
        From `draw_orders`.

    Returns
    -------
    ndarray of bool, shape (2 + n_orders * (n - 1), n)
        None, all, and those between, order by order.

    Examples
    --------
    >>> along_orders(np.array([[1, 0]])).astype(int).tolist()
    [[0, 0], [1, 1], [0, 1]]
    """
    n = orders.shape[1]
    place = np.argsort(orders, axis=1)
    between = place[:, None] < np.arange(1, n)[:, None]
    ends = np.array([[False], [True]]).repeat(n, axis=1)
    return np.concatenate([ends, between.reshape(-1, n)])


def of_orders(values: Float64Array, orders: IntArray) -> Float64Array:
    """
    Estimate Shapley values from some orders.

    Parameters
    ----------
    values : ndarray of float64, shape (2 + n_orders * (n - 1), …)
        Of the coalitions that `along_orders` lists.
    orders : ndarray of int64, shape (n_orders, n)
        The orders.

    Returns
    -------
    ndarray of float64, shape (n, …)
        Their sum is the value of all players less that of none, whatever the orders.

    Examples
    --------
    >>> of_orders(np.array([0.0, 5.0, 2.0]), np.array([[1, 0]]))
    array([3., 2.])
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
    """
    Give the exact Shapley values of the exponential of a sum, for any number of players.

    Parameters
    ----------
    start : ndarray of float64, shape (…)
        The sum without anyone.
    changes : ndarray of float64, shape (n, …)
        What each player adds to it.

    Returns
    -------
    ndarray of float64, shape (n, …)
        By Owen's integral over the chance with which each of the others is in, under which the
        exponential is a product: a polynomial of degree n - 1, which Gauss' rule integrates.

    Examples
    --------
    >>> of_exponential(np.log([1.0]), np.log([[2.0], [3.0]])).round(12).tolist()
    [[2.0], [3.0]]
    """
    nodes, weights = np.polynomial.legendre.leggauss(len(changes) // 2 + 1)
    gains = np.expm1(changes)
    total = np.zeros_like(changes)
    for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        logs = np.log1p(node * gains)
        total += weight * np.exp(start + logs.sum(axis=0) - logs)
    shapley: Float64Array = total * gains
    return shapley
