"""Sizes of errors where few are known: those of a random walk count beside them."""

from types import SimpleNamespace

import numpy as np
import pytest

from skinformer.intervals.changes import with_random_walk
from skinformer.intervals.residuals import Residuals
from skinformer.intervals.spread import fit_spread

NAN = np.nan


def sizes(errors, rows, first_row=(0, 4)):
    """Return mean errors of two steps ahead, by errors (n, 2), beside a walk of such rows."""
    errors = np.array(errors, dtype=float)[:, :, None]
    n = len(errors)
    spread = fit_spread(
        errors,
        np.zeros((n, 2, 1, 0)),
        np.zeros((n, 2), dtype=int),
        seasons=(),
        n_windows=1e9,
    )
    errors32 = errors.astype(np.float32)
    no_share = np.zeros(errors.shape[2])
    residuals = Residuals(
        errors32, n, np.zeros(n), np.arange(n), errors32, no_share, no_share
    )
    values = np.array(rows, dtype=np.float32)[:, None]
    timeline = SimpleNamespace(
        weight=(~np.isnan(values)).astype(float), first_row=np.array(first_row)
    )
    found, _ = with_random_walk(spread, residuals, timeline, values, errors)
    return np.exp(found.typical[:, 0])


#: Changes of 1, errors of a walk of as many: .8 and .8 times the root of 2.
WALK = np.sqrt(2 / np.pi) * np.sqrt([1.0, 2.0])


@pytest.mark.parametrize("n", [3, 8])
def test_a_walk_counts_as_a_forecast(n):
    """In logs, beside forecasts all of which were off by 3."""
    found = sizes(np.full((n, 2), 3.0), [5.0, 6, 5, 6])
    share = n / (n + 1)
    np.testing.assert_allclose(found, 3.0**share * WALK ** (1 - share), rtol=1e-6)


def test_of_forecasts_that_are_known_in_part_so_much_counts():
    errors = [[3.0, 3.0], [3.0, NAN], [3.0, NAN], [3.0, 3.0]]
    found = sizes(errors, [5.0, 6, 5, 6])
    np.testing.assert_allclose(found, 3.0 ** (3 / 4) * WALK ** (1 / 4), rtol=1e-6)


def test_where_hardly_an_error_is_known_the_walk_counts_alone():
    found = sizes([[3.0, NAN], [3.0, NAN]], [5.0, 6, 5, 6])
    np.testing.assert_allclose(found, WALK, rtol=1e-6)


@pytest.mark.parametrize("rows", [[5.0, 5, 5, 5], [5.0, NAN, 6, NAN]])
def test_a_walk_that_was_never_seen_to_move_counts_nothing(rows):
    """Every second row missing: no two known ones in turn."""
    np.testing.assert_allclose(sizes(np.full((3, 2), 3.0), rows), 3.0, rtol=1e-6)


def test_from_the_end_of_one_series_to_the_next_is_no_change():
    found = sizes(np.full((3, 2), 3.0), [5.0, 6, 905, 906], first_row=(0, 2, 4))
    np.testing.assert_allclose(found, 3.0 ** (3 / 4) * WALK ** (1 / 4), rtol=1e-6)
