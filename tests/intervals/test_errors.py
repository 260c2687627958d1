"""By how much errors on fitted rows are too small."""

import numpy as np
import pytest

from skinformer.intervals.errors import optimism_of


def factor(before, behind, n_apart):
    """Return the optimism where all errors before a refit, and behind it, are so large."""
    shape = n_apart, 4, 1
    return optimism_of(np.full(shape, before), np.full(shape, behind), n_apart)


@pytest.mark.parametrize("n_apart", [1, 3, 100])
def test_large_factors_are_believed_where_several_windows_share_no_row(n_apart):
    """One window shows a quarter at most, three nearly what they show."""
    share = 1 / n_apart**2
    expected = 1.25**share * 3 ** (1 - share)
    np.testing.assert_allclose(factor(3.0, 1.0, n_apart), [expected])


@pytest.mark.parametrize("ratio", [1.1, 1.2])
def test_small_factors_are_believed_of_one_window(ratio):
    np.testing.assert_allclose(factor(ratio, 1.0, 1), [ratio])


def test_no_rows_are_forecast_worse_when_they_were_fitted():
    """Nor are errors taken to be more than four times as large."""
    assert factor(1.0, 3.0, 1000) == [1.0]
    np.testing.assert_allclose(factor(90.0, 1.0, 1000), [4.0], rtol=1e-4)
