"""Products of matrices, their eigenvectors and equations, with threads by their size.

NumPy's own library has one number of threads for the whole process; torch's keeps one for each
thread, which `skinformer.threads` goes by.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch

from skinformer.threads import threads_for
from skinformer.timeline.arrays import Float64Array

_Found = TypeVar("_Found")
#: Ridges multiply seldom: a thread of its own is worth it where it takes some 100 milliseconds.
_SELDOM = 16


def tensor_of(array: npt.NDArray[Any]) -> torch.Tensor:
    """Share an array's memory with a tensor, or copy it where it is not to be written.

    So are arrays that joblib maps from a file, in other processes, too; torch would warn of them.

    >>> array = np.zeros(2)
    >>> np.shares_memory(tensor_of(array).numpy(), array)
    True
    """
    return torch.from_numpy(array if array.flags.writeable else array.copy("K"))


def product(
    left: npt.NDArray[np.floating], right: npt.NDArray[np.floating]
) -> npt.NDArray[Any]:
    """Multiply matrices, (…, n, m), by others, (…, m, k), as ``left @ right`` does.

    >>> product(np.ones((1, 2)), np.ones((2, 1)))
    array([[2.]])
    """
    n_products = left.shape[-2] * left.shape[-1] * right.shape[-1]
    with threads_for(n_products / _SELDOM):
        multiplied = tensor_of(left) @ tensor_of(right)
    return multiplied.numpy()


def eigenvectors(symmetric: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Return eigenvalues, (…, n), ascending, and eigenvectors as columns, (…, n, n).

    >>> eigenvectors(np.diag([2.0, 1.0]))[0]
    array([1., 2.])
    """
    values, vectors = _robustly(torch.linalg.eigh, symmetric)
    return values.numpy(), vectors.numpy()


def solution(symmetric: Float64Array, right: Float64Array) -> Float64Array:
    """Solve linear equations, (…, n, k): `symmetric` times the result is `right`.

    Matrices, (…, n, n), have no negative eigenvalues, and any rank.
    >>> solution(np.diag([2.0, 4.0]), np.ones((2, 1))).ravel()
    array([0.5 , 0.25])
    """

    def solve(matrix: torch.Tensor) -> torch.Tensor:
        factor = torch.linalg.cholesky(matrix)
        return torch.cholesky_solve(tensor_of(right), factor)

    return _robustly(solve, symmetric).numpy()


def _robustly(
    work: Callable[[torch.Tensor], _Found], symmetric: Float64Array
) -> _Found:
    """Run LAPACK; where it gives up, as MKL does on constants, on a matrix next to it."""
    n = symmetric.shape[-1]
    largest = np.abs(symmetric).max(initial=0.0) or 1.0
    distinct = np.diag(np.linspace(1, 2, n))
    nearby = symmetric
    with threads_for(n**3 / _SELDOM):
        for share in (1e-15, 1e-12, 1e-9):
            with suppress(torch.linalg.LinAlgError):  # type: ignore[attr-defined]
                return work(tensor_of(nearby))
            nearby = symmetric + share * largest * distinct
        return work(tensor_of(nearby))
