"""Sums of windows side by side equal those of windows laid out one by one."""

import numpy as np
import pytest

from skinformer.ridge import candidates
from skinformer.ridge.candidates import Competition
from skinformer.ridge.runs import split_runs, sum_products
from skinformer.ridge.sums import Problem


def walk(n_rows, n_columns, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, n_columns)).cumsum(axis=0)


@pytest.mark.parametrize(
    ("n", "n_first", "length", "n_columns"),
    [
        (50, 6, 9, 3),
        (50, 9, 9, 1),
        (2, 6, 9, 2),
        (1, 3, 4, 2),
        (40, 1, 5, 2),
        (7, 1, 1, 1),
    ],
)
def test_products_are_those_of_windows(n, n_first, length, n_columns):
    rows = walk(n + length - 1, n_columns)
    windows = np.stack([rows[t : t + length] for t in range(n)])
    expected = np.einsum("tia,tjb->iajb", windows[:, :n_first], windows)
    found = sum_products(rows, n, n_first)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_runs_and_others_are_all_origins_once():
    origins = np.array([30, 1, 2, 3, 4, 10, 11, 20, 21, 22])
    runs, others = split_runs(origins, 3)
    assert [run.tolist() for run in runs] == [[1, 2, 3, 4], [20, 21, 22]]
    assert others.tolist() == [10, 11, 30]


def test_a_very_long_run_is_cut():
    runs, others = split_runs(np.arange(120_001), 10)
    assert [len(run) for run in runs] == [50_000, 50_000, 20_001]
    assert not len(others)


def make_problem(*, n_rows=400, n_columns=3, n_targets=2, weight=None, values=None):
    if values is None:
        values = walk(n_rows, n_columns) / 4
    return Problem(values, weight, None, n_targets, 8, 3, np.empty((0, n_targets)))


def learnt(problem, origins):
    competition = Competition(problem)
    competition.learn(origins)
    return competition


def count_runs(monkeypatch):
    """Count the windows that are learnt without being laid out."""
    counts = []
    learn_run = Competition._learn_run

    def counted(self, run):
        counts.append(len(run))
        learn_run(self, run)

    monkeypatch.setattr(Competition, "_learn_run", counted)
    return counts


def assert_same_as_laid_out(problem, origins, monkeypatch):
    found = learnt(problem, origins)
    monkeypatch.setattr(candidates, "split_runs", lambda origins, _: ([], origins))
    expected = learnt(problem, origins)
    for name in ("columns", "mixed"):
        for one, other in zip(
            getattr(found, name), getattr(expected, name), strict=True
        ):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n_columns", [1, 3])
@pytest.mark.parametrize("n_targets", [1, 2])
def test_all_sums_are_those_of_windows_laid_out(n_columns, n_targets, monkeypatch):
    counts = count_runs(monkeypatch)
    problem = make_problem(n_columns=n_columns, n_targets=min(n_targets, n_columns))
    # Two runs, and two windows by themselves.
    origins = np.r_[8:50, 60, 62, 100:390]
    assert_same_as_laid_out(problem, origins, monkeypatch)
    assert counts == [42, 290]


def test_missing_truths_count_nothing_and_their_runs_are_laid_out(monkeypatch):
    counts = count_runs(monkeypatch)
    weight = np.ones((400, 2))
    weight[[120, 300], [0, 1]] = 0
    problem = make_problem(weight=weight)
    # The first run's last truth lies before a missing one, and the second's first behind it.
    origins = np.r_[8:118, 121:200, 250:350]
    assert_same_as_laid_out(problem, origins, monkeypatch)
    assert counts == [110, 79]


def test_truths_that_count_half_are_laid_out(monkeypatch):
    counts = count_runs(monkeypatch)
    problem = make_problem(weight=np.full((400, 2), 0.5))
    assert_same_as_laid_out(problem, np.arange(8, 398), monkeypatch)
    assert not counts


def test_many_columns_beside_few_targets_are_laid_out(monkeypatch):
    """Products of all columns with all would be 2 GB."""
    counts = count_runs(monkeypatch)
    problem = make_problem(n_columns=80, n_targets=1)._replace(seq_len=16, pred_len=720)
    problem = problem._replace(values=walk(4000, 80))
    competition = Competition(problem)
    assert competition.mixed_len == 12
    competition.learn(np.arange(16, 16 + 2 * (16 + 720)))
    assert not counts


def test_small_changes_far_from_zero_are_kept(monkeypatch):
    """Distances are differences of products, of which little is left."""
    values = 1000 + 1e-3 * np.sin(np.arange(400.0))[:, None]
    problem = make_problem(values=values, n_targets=1)
    found = learnt(problem, np.arange(8, 398)).columns
    monkeypatch.setattr(candidates, "split_runs", lambda origins, _: ([], origins))
    expected = learnt(problem, np.arange(8, 398)).columns
    np.testing.assert_allclose(found.gram, expected.gram, rtol=1e-6, atol=1e-9)


def test_what_never_changes_has_no_products():
    values = np.full((400, 1), 0.1)
    problem = make_problem(values=values, n_targets=1)
    columns = learnt(problem, np.arange(8, 398)).columns
    assert np.abs(columns.gram).max() < 1e-20
    assert np.abs(columns.cross).max() < 1e-20
