"""Products of windows that are added up without the windows equal those of the windows."""

import numpy as np
import pytest

from skinformer.ridge.lagged import add_runs
from skinformer.ridge.sums import Problem, Sums, gather

SEQ, PRED, N, TARGETS = 12, 4, 300, 2
NAMES = ("gram", "cross", "weight")


def make_problem(*, n_known=0, weight=None, seed=0):
    generator = np.random.default_rng(seed)
    values = 5 + generator.normal(size=(N, TARGETS + n_known)).cumsum(axis=0) / 9
    values[[40, 41, 90], 0] = np.nan
    effect = generator.normal(size=(n_known, TARGETS))
    return Problem(values, weight, None, TARGETS, SEQ, PRED, effect)


def nothing(*, per_column=True):
    return Sums.of_sizes(TARGETS if per_column else 1, SEQ, PRED)


def by_windows(problem, origins, *, per_column):
    sums = nothing(per_column=per_column)
    for windows in gather(problem, origins):
        sums.add_columns(windows)
    return sums


def runs_and_others():
    """Two runs, one of them of the shortest length, short ones, and windows by themselves."""
    parts = (12, 60), (70, 70 + SEQ), (100, 100 + SEQ - 1), (150, 151), (160, 250), (260, 263)
    return [np.arange(a, b) for a, b in parts]


@pytest.mark.parametrize("n_known", [0, 2])
@pytest.mark.parametrize("per_column", [True, False])
def test_sums_of_runs_equal_those_of_windows(per_column, n_known):
    problem, runs = make_problem(n_known=n_known), runs_and_others()
    origins = np.random.default_rng(1).permutation(np.concatenate(runs))
    found = nothing(per_column=per_column)
    left = add_runs(found, problem, origins)
    np.testing.assert_array_equal(left, np.concatenate([run for run in runs if len(run) < SEQ]))
    learnt = np.concatenate([run for run in runs if len(run) >= SEQ])
    expected = by_windows(problem, learnt, per_column=per_column)
    for name in NAMES:
        wanted = getattr(expected, name)
        size = np.abs(wanted).max()
        np.testing.assert_allclose(getattr(found, name), wanted, rtol=0, atol=1e-12 * size)


def test_weighted_and_enormous_values_are_left_to_windows():
    """Each window has a weight of its own; and of 1e8 less 1e8 digits are left that are none."""
    problem = make_problem(weight=np.ones((N, TARGETS)))
    outliers = make_problem()
    outliers.values[100, 1] = 1e8
    for each, n_left in ((problem, N - SEQ - PRED), (outliers, N - SEQ - PRED)):
        sums = nothing()
        assert len(add_runs(sums, each, np.arange(SEQ, N - PRED))) == n_left
        assert not sums.gram.any()


def test_no_windows_are_none():
    sums, problem = nothing(), make_problem()
    assert not len(add_runs(sums, problem, np.arange(0)))
    assert not sums.weight.any()
