"""Series of a panel are comparable by how much they change, whatever their trends."""

import numpy as np
import pytest

from skinformer.cleaning.scales import rescale_by_volatility
from skinformer.timeline.clock import RowClock
from skinformer.timeline.scaling import fit_scaler
from skinformer.timeline.target_scale import TargetScale
from skinformer.timeline.timeline import Table


def rescaled(*series, split=None):
    """Return the scales of deviations, and those of changes, of series of any lengths."""
    lengths = [len(values) for values in series]
    table = Table(
        [np.concatenate(series)],
        n_targets=1,
        series=np.repeat(np.arange(len(series)), lengths),
        steps=np.concatenate([np.arange(n) for n in lengths]),
        clock=RowClock(),
    )
    one = np.ones((len(series), 1))
    targets = TargetScale(floor=-np.inf * one, low=one, logs=one < 0, smear=0 * one)
    scaler = fit_scaler(
        table.columns,
        table.first_row[:-1],
        table.first_row[1:] if split is None else split,
        static=[],
        targets=targets,
    )
    changed = rescale_by_volatility(scaler, table, split)
    return scaler.scale[:, 0], changed.scale[:, 0]


def noise(n, size, seed):
    return size * np.random.default_rng(seed).normal(size=n)


def mean_change(values):
    return np.abs(np.diff(values)).mean()


def test_series_change_alike_in_units_of_their_scales():
    """One that trends has a deviation of many times its changes."""
    trend = noise(200, 1.0, 0) + 50.0 * np.arange(200)
    series = [noise(200, 1.0, 1), noise(200, 30.0, 2), trend]
    deviations, scales = rescaled(*series)
    changes = [mean_change(values) for values in series]
    relative = changes / scales
    assert np.ptp(relative) < 0.05 * relative.mean()
    assert changes[2] / deviations[2] < 0.1 * changes[0] / deviations[0]


def test_the_median_series_keeps_its_deviation():
    """The unit of the panel as a whole stays what it was."""
    series = [noise(300, size, i) for i, size in enumerate((1.0, 10.0, 100.0))]
    deviations, scales = rescaled(*series)
    assert np.median(scales / deviations) == 1


def test_a_typing_error_changes_no_scale_by_much():
    """It is one change of hundreds, and beyond what most of them are."""
    series = [noise(300, 1.0, i) for i in range(3)]
    _, calm = rescaled(*series)
    series[0][100] = 1e6
    _, spoilt = rescaled(*series)
    assert spoilt[0] == pytest.approx(calm[0], rel=0.05)


def test_rows_of_the_validation_split_are_not_read():
    """They judge what is fitted."""
    series = [noise(300, 1.0, i) for i in range(3)]
    split = np.array([200, 500, 800])
    _, scales = rescaled(*series, split=split)
    for values in series:
        values[200:] *= 1000
    _, later = rescaled(*series, split=split)
    np.testing.assert_array_equal(scales, later)


def test_one_series_alone_keeps_its_deviation():
    """Its columns are not compared with those of others."""
    deviation, scale = rescaled(noise(300, 1.0, 0) + np.arange(300))
    assert deviation == scale


def test_a_series_that_never_changes_keeps_its_scale():
    """No change says nothing of how much it may change."""
    deviations, scales = rescaled(noise(300, 1.0, 0), np.full(300, 7.0))
    assert scales[1] == deviations[1]


def test_missing_values_are_no_changes():
    """A row beside a gap has no change; those around it do."""
    whole = noise(300, 1.0, 0)
    holes = whole.copy()
    holes[::10] = np.nan
    others = [noise(300, 1.0, 1), noise(300, 1.0, 2)]
    _, scales = rescaled(whole, *others)
    _, with_holes = rescaled(holes, *others)
    assert with_holes[0] == pytest.approx(scales[0], rel=0.1)
