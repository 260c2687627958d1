"""Products of matrices, their eigenvectors and equations, with threads by their size.

NumPy's own library has one number of threads for the whole process; torch's keeps one for each
thread, which `skinformer.threads` goes by.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from skinformer.threads import threads_for
from skinformer.timeline.arrays import Float64Array

__all__ = ["eigenvectors", "product", "solution"]

#: Ridges multiply seldom: a thread of its own is worth it where it takes some 100 milliseconds.
_SELDOM = 16


def product(left: npt.NDArray[np.floating], right: npt.NDArray[np.floating]) -> npt.NDArray[Any]:
    """
    Multiply matrices.

    Parameters
    ----------
    left : ndarray of shape (…, n, m)
        One matrix, or several.
    right : ndarray of shape (…, m, k)
        As many, or one.

    Returns
    -------
    ndarray of shape (…, n, k)
        As ``left @ right``, of their type.

    Examples
    --------
    >>> product(np.ones((1, 2)), np.ones((2, 1)))
    array([[2.]])
    """
    with threads_for(left.shape[-2] * left.shape[-1] * right.shape[-1] / _SELDOM):
        out: npt.NDArray[Any] = (torch.from_numpy(left) @ torch.from_numpy(right)).numpy()
    return out


def eigenvectors(symmetric: Float64Array) -> tuple[Float64Array, Float64Array]:
    """
    Decompose symmetric matrices.

    Parameters
    ----------
    symmetric : ndarray of shape (…, n, n)
        One matrix, or several.

    Returns
    -------
    tuple of ndarray, shape (…, n) and (…, n, n)
        Eigenvalues, ascending, and the eigenvectors as columns.

    Examples
    --------
    >>> eigenvectors(np.diag([2.0, 1.0]))[0]
    array([1., 2.])
    """
    with threads_for(symmetric.shape[-1] ** 3 / _SELDOM):  # it waits at each of its columns
        values, vectors = torch.linalg.eigh(torch.from_numpy(symmetric))
    return values.numpy(), vectors.numpy()


def solution(matrix: Float64Array, right: Float64Array) -> Float64Array:
    """
    Solve linear equations.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        Of full rank.
    right : ndarray of shape (n, k)
        What the products have to be.

    Returns
    -------
    ndarray of shape (n, k)
        `matrix` times it is `right`.

    Examples
    --------
    >>> solution(np.diag([2.0, 4.0]), np.ones((2, 1))).ravel()
    array([0.5 , 0.25])
    """
    with threads_for(matrix.shape[-1] ** 3 / _SELDOM):
        out = torch.linalg.solve(torch.from_numpy(matrix), torch.from_numpy(right))
    solved: Float64Array = out.numpy()
    return solved
