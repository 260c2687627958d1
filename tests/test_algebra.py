"""Equations of Gram matrices, which constants and copies of columns make singular."""

import numpy as np
import pytest
import torch

from skinformer.algebra import eigenvectors, solution


def gram_of(seed, *, rank=3, n=12):
    """Make products of features of which most are sums of the others."""
    generator = np.random.default_rng(seed)
    features = generator.normal(size=(40, rank)) @ generator.normal(size=(rank, n))
    return features.T @ features / 40


@pytest.mark.parametrize("gram", [gram_of(0), np.ones((5, 5)), np.zeros((4, 4))])
def test_a_singular_matrix_has_a_solution(gram):
    """What the products can be is reached, whatever the rank."""
    right = gram @ np.ones((len(gram), 2))
    found = solution(gram, right)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(gram @ found, right, atol=1e-6)


def test_eigenvectors_give_the_matrix_back():
    """Of several at once, ascending."""
    grams = np.stack([gram_of(1), gram_of(2)])
    values, vectors = eigenvectors(grams)
    back = (vectors * values[:, None]) @ np.swapaxes(vectors, 1, 2)
    np.testing.assert_allclose(back, grams, atol=1e-12)
    assert (np.diff(values) >= 0).all()


@pytest.mark.parametrize("refusals", [1, 3])
def test_equations_are_solved_where_lapack_gives_up(monkeypatch, refusals):
    """A Gram matrix of copies may have a pivot below zero; one next to it will do."""
    gram, work, seen = gram_of(1)[None], torch.linalg.cholesky, []

    def refusing(matrix):
        seen.append(matrix)
        if len(seen) <= refusals:
            raise torch.linalg.LinAlgError
        return work(matrix)

    monkeypatch.setattr(torch.linalg, "cholesky", refusing)
    right = gram @ np.ones((12, 2))
    np.testing.assert_allclose(gram @ solution(gram, right), right, atol=1e-6)
    assert len(seen) > refusals
