import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skinformer import InformerRegressor
from skinformer.timeline.scaling import Scaler, affine_link, fit_scaler
from skinformer.timeline.target_scale import TargetScale


def one(*columns):
    """Fit the columns of one series."""
    return fit_scaler(
        list(columns), np.array([0]), np.array([len(columns[0])]), static=[]
    )


def test_a_large_level_with_a_small_spread_keeps_its_digits():
    """In float32 1e8 ± 1 is 1e8: pressure in Pa or a meter's reading would be a flat line."""
    column = 1e8 + np.array([-1.0, 1.0] * 50)
    scaler = one(column)
    np.testing.assert_allclose(scaler.mean, 1e8, rtol=1e-15)
    np.testing.assert_allclose(scaler.scale, 1, rtol=1e-9)
    series = np.zeros(100, dtype=np.int64)
    values = scaler.transform([column], series)
    assert values.dtype == np.float32
    np.testing.assert_array_equal(values[:, 0], column - 1e8)
    np.testing.assert_array_equal(
        scaler.inverse_with_smearing(values, series)[:, 0], column
    )


@pytest.mark.parametrize("level", [0.0, 1.0, -1e-9, 1e8, 0.1, 1e15])
def test_a_constant_column_becomes_zeros(level):
    """Division by a spread of rounding errors would blow noise up to deviations."""
    column = np.full(1001, level)
    scaler = one(column)
    np.testing.assert_allclose(scaler.scale, abs(level) or 1, rtol=1e-12)
    values = scaler.transform([column], np.zeros(1001, dtype=np.int64))
    np.testing.assert_allclose(values, 0, atol=1e-12)


@pytest.mark.parametrize("unit", [1e-300, 1e-8, 1.0, 1e8, 1e300])
def test_a_change_after_a_constant_weighs_the_same_in_every_unit(unit):
    """A pressure of 1e5 Pa that moves by 1 % is no shock of a thousand deviations."""
    values = one(np.full(50, 20 * unit)).transform(
        [np.array([21 * unit])], np.zeros(1, dtype=int)
    )
    np.testing.assert_allclose(values, 0.05, rtol=1e-6)


@pytest.mark.parametrize("exponent", [-990, -500, 400, 600, 990])
def test_no_unit_is_too_large_or_too_small(exponent):
    """Squares of 1e160 run over, those of 1e-170 vanish: powers of two must change nothing."""
    rng = np.random.default_rng(0)
    columns = [rng.normal(50, 9, 60), np.repeat([1.0, 4.0, 2.0], 20)]
    large = [np.ldexp(column, exponent) for column in columns]
    start, stop, series = (
        np.array([0, 20, 40]),
        np.array([20, 40, 60]),
        np.repeat(range(3), 20),
    )
    plain = fit_scaler(columns, start, stop, static=[1]).with_unseen()
    scaler = fit_scaler(large, start, stop, static=[1]).with_unseen()
    np.testing.assert_array_equal(scaler.mean, np.ldexp(plain.mean, exponent))
    np.testing.assert_array_equal(scaler.scale, np.ldexp(plain.scale, exponent))
    values = plain.transform(columns, series)
    np.testing.assert_array_equal(scaler.transform(large, series), values)
    np.testing.assert_array_equal(
        scaler.inverse_with_smearing(values[:, :1], series),
        np.ldexp(plain.inverse_with_smearing(values[:, :1], series), exponent),
    )
    assert affine_link(large[0], columns[0]) == pytest.approx(
        (np.ldexp(1.0, -exponent), 0)
    )


@pytest.mark.parametrize("value", [1e20, -1e40, 1e300])
def test_a_value_beyond_single_precision_is_refused(value):
    """Its square is infinite in the network, whose forecast would be NaN."""
    scaler = one(np.array([1.0, 3.0]))
    message = (
        f"X has the value {value:g}, which is more than 1e+18 standard deviations (1) away from "
        "the mean of the training rows (2): it cannot be used. Correct it, or, in a target, set "
        "it to NaN."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        scaler.transform([np.array([5.0, value])], np.zeros(2, dtype=int))
    assert np.isfinite(
        scaler.transform([np.array([1e18])], np.zeros(1, dtype=int))
    ).all()


@pytest.mark.parametrize(
    ("column", "mean", "scale"),
    [([np.nan] * 5, 0, 1), ([np.nan, 3.0, np.nan, np.nan, np.nan], 3, 3)],
)
def test_a_column_with_no_or_one_value_has_a_scale(column, mean, scale):
    """Nothing is known of its spread, and NaN must not reach the weights."""
    scaler = one(np.array(column))
    assert (scaler.mean.item(), scaler.scale.item()) == (mean, scale)


def test_missing_values_are_ignored_and_stay_missing():
    """A gap is not a zero."""
    column = np.array([1.0, np.nan, 3.0, np.nan, 8.0])
    scaler = one(column)
    np.testing.assert_allclose(scaler.mean, np.nanmean(column))
    np.testing.assert_allclose(scaler.scale, np.nanstd(column))
    values = scaler.transform([column], np.zeros(5, dtype=np.int64))
    np.testing.assert_array_equal(np.isnan(values[:, 0]), np.isnan(column))


def test_a_column_that_is_not_given_is_missing():
    """Past-only columns need not be known on future rows."""
    scaler = one(np.arange(5.0), np.arange(5.0))
    values = scaler.transform([None, np.arange(5.0)], np.zeros(5, dtype=np.int64))
    assert np.isnan(values[:, 0]).all()
    assert np.isfinite(values[:, 1]).all()


@pytest.mark.parametrize(
    "dtype", [np.int64, np.int8, np.uint8, np.float32, np.float64, bool]
)
def test_columns_of_any_number_type_give_the_same(dtype):
    """Counts, flags and single precision are columns like any other."""
    column = np.array([0, 1, 1, 0, 1, 1, 1]).astype(dtype)
    scaler, expected = one(column), one(column.astype(np.float64))
    np.testing.assert_array_equal(scaler.mean, expected.mean)
    np.testing.assert_array_equal(scaler.scale, expected.scale)
    np.testing.assert_allclose(scaler.mean, 5 / 7)
    series = np.zeros(7, dtype=np.int64)
    values = scaler.transform([column], series)
    assert values.dtype == np.float32
    np.testing.assert_allclose(
        values, (column[:, None] - scaler.mean) / scaler.scale, rtol=1e-6
    )


def test_a_long_float32_column_is_summed_in_float64():
    """Summed in float32, a million values of 20 Celsius lose the third digit."""
    column = np.full(300_000, 20.1, dtype=np.float32)
    column[::2] += 1
    np.testing.assert_allclose(
        one(column).mean.item(), column.astype(np.float64).mean(), rtol=1e-12
    )


LENGTHS = st.lists(st.integers(1, 12), min_size=1, max_size=6)


@settings(max_examples=60, deadline=None)
@given(lengths=LENGTHS, split=st.integers(0, 4), seed=st.integers(0, 99))
def test_each_series_is_scaled_by_its_own_training_rows(lengths, split, seed):
    """Rows of the validation split stay outside; a series without any is like the others."""
    rng = np.random.default_rng(seed)
    series = np.repeat(np.arange(len(lengths)), lengths)
    columns = [rng.normal(1e3, 5, len(series)), rng.integers(0, 9, len(series))]
    columns[0][rng.random(len(series)) < 0.2] = np.nan
    stop = np.cumsum(lengths)
    start = stop - lengths
    stop = np.maximum(stop - split, start)
    inside = np.concatenate([np.arange(a, b) for a, b in zip(start, stop, strict=True)])
    frame = pd.DataFrame({"a": columns[0], "b": columns[1]}).iloc[inside]
    groups = frame.groupby(series[inside])
    every = range(len(lengths))
    # A series without a value in training is taken to be like the mean of the others.
    mean = groups.mean().pipe(lambda m: m.reindex(every).fillna(m.mean())).fillna(0)
    spread = groups.std(ddof=0).pipe(lambda s: s.reindex(every).fillna(s.mean()))
    spread = spread.fillna(0)
    # Of a constant nothing but its size is known.
    spread = spread.where(spread > 0, mean.abs()).replace(0, 1)
    scaler = fit_scaler(columns, start, stop, static=[])
    values = scaler.transform(columns, series)
    np.testing.assert_allclose(scaler.mean, mean, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(scaler.scale, spread, rtol=1e-6)
    expected = (np.column_stack(columns) - scaler.mean[series]) / scaler.scale[series]
    np.testing.assert_allclose(values, expected, rtol=1e-6, atol=1e-6)


def test_rows_after_the_training_rows_change_nothing():
    """Standardisation is fitted without the validation split, else its level leaks."""
    column = np.arange(10.0)
    changed = np.where(np.arange(10) < 7, column, 1e6)
    a = fit_scaler([column], np.array([0]), np.array([7]), static=[])
    b = fit_scaler([changed], np.array([0]), np.array([7]), static=[])
    assert a.mean == b.mean
    assert a.scale == b.scale
    assert a.mean.item() == 3


def test_scaled_values_have_mean_0_and_deviation_1():
    """What the network's initialisation is made for."""
    rng = np.random.default_rng(0)
    columns = [rng.normal(50, 9, 500), rng.exponential(1e-6, 500)]
    values = one(*columns).transform(columns, np.zeros(500, dtype=np.int64))
    np.testing.assert_allclose(values.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(values.std(axis=0), 1, atol=1e-5)


def test_inverse_undoes_transform_for_the_targets():
    """Forecasts are returned in the units they came in, series by series."""
    scaler = Scaler(
        mean=np.array([[5.0, 1], [-3, 2]]),
        scale=np.array([[2.0, 1], [7, 3]]),
        targets=TargetScale.unbounded(2, 1),
    )
    series = np.array([0, 1, 1, 0])
    raw = np.array([4.0, 5, 6, 7])
    values = scaler.transform([raw, raw], series)
    inverse = scaler.inverse_with_smearing(values[:, :1], series)
    assert inverse.dtype == np.float64
    np.testing.assert_allclose(inverse[:, 0], raw, rtol=1e-6)


def test_an_unseen_series_has_a_usual_level_and_the_usual_distance_from_it():
    """One city that is far colder than all others does not make all cities vary as much."""
    rng = np.random.default_rng(0)
    deviations = np.array([1.0, 5, 9])
    means = np.array([20.0, 50, -900])
    column = rng.normal(size=300) * np.repeat(deviations, 100) + np.repeat(means, 100)
    scaler = fit_scaler(
        [column], np.array([0, 100, 200]), np.array([100, 200, 300]), static=[]
    )
    more = scaler.with_unseen()
    np.testing.assert_array_equal(more.mean[:3], scaler.mean)
    np.testing.assert_array_equal(more.scale[:3], scaler.scale)
    np.testing.assert_allclose(more.mean[3], scaler.mean[0])
    second = np.hypot(scaler.scale[1], scaler.mean[1] - scaler.mean[0])
    np.testing.assert_allclose(more.scale[3], second)


def test_an_unseen_series_of_amounts_varies_by_a_usual_share_of_its_size():
    """The largest shop does not say how far sales of a usual one vary."""
    targets = TargetScale.unbounded(3, 1)
    targets = replace(targets, floor=np.zeros((3, 1)))
    size = np.array([[1.0], [100.0], [1e6]])
    more = Scaler(9 * size, 2 * size, targets).with_unseen()
    np.testing.assert_allclose([more.mean[3, 0], more.scale[3, 0]], [900, 200])


def test_a_static_column_is_standardised_across_the_series():
    """Within one shop its floor space is constant: scaled there it would be zero everywhere."""
    space = np.repeat([100.0, 400.0, 100.0], [5, 2, 9])
    sales = np.random.default_rng(0).normal(size=16)
    start, stop = np.array([0, 5, 7]), np.array([5, 7, 16])
    scaler = fit_scaler([sales, space], start, stop, static=[1])
    np.testing.assert_allclose(scaler.mean[:, 1], 200)  # each series counts once
    np.testing.assert_allclose(scaler.scale[:, 1], np.std([100, 400, 100]))
    alone = fit_scaler([sales], start, stop, static=[])
    np.testing.assert_array_equal(scaler.mean[:, :1], alone.mean)
    np.testing.assert_array_equal(scaler.scale[:, :1], alone.scale)
    same = fit_scaler([sales, np.full(16, 7.0)], start, stop, static=[1])
    np.testing.assert_array_equal(same.scale[:, 1], 7)


def test_series_without_training_rows_do_not_pull_the_mean_of_a_static_column():
    """A shop that opened within the validation split has no value yet, which is not zero."""
    space = np.repeat([100.0, 400.0, 100.0], [5, 2, 9])
    scaler = fit_scaler([space], np.array([0, 5, 7]), np.array([5, 7, 7]), static=[0])
    np.testing.assert_allclose(scaler.mean[:2, 0], 250)
    np.testing.assert_allclose(scaler.scale[:2, 0], 150)


# --- affine_link --------------------------------------------------------------------------------

NUMBERS = st.floats(-1e3, 1e3).filter(lambda x: x == 0 or abs(x) > 1e-3)


@given(
    slope=NUMBERS.filter(bool),
    intercept=NUMBERS,
    source=st.lists(st.integers(-100, 100), min_size=2, max_size=20, unique=True),
)
def test_a_link_maps_scaled_values_to_raw_ones(slope, intercept, source):
    """Whatever affine scaler a Pipeline has, forecasts come back in y's units."""
    source = np.array(source, dtype=np.float64)
    truth = slope * source + intercept
    found = affine_link(source, truth)
    assert found is not None
    np.testing.assert_allclose(
        found[0] * source + found[1], truth, rtol=1e-6, atol=1e-6
    )


def test_rows_where_either_is_missing_are_left_out():
    """A gap in the history says nothing about the units."""
    source = np.array([0.0, 1, np.nan, 3, 4])
    truth = np.array([5.0, np.nan, 9, 11, 13])
    np.testing.assert_allclose(affine_link(source, truth), (2, 5))


def test_a_relation_that_is_not_affine_has_no_link():
    """A log of the target cannot be undone by two numbers."""
    truth = np.arange(1.0, 50)
    assert affine_link(np.log(truth), truth) is None
    assert affine_link(np.zeros(49), truth) is None
    assert affine_link(np.random.default_rng(0).permutation(truth), truth) is None


def test_rounding_is_no_departure_from_affine():
    """A float32 scaler is as good as a float64 one."""
    truth = np.random.default_rng(0).normal(300, 5, 1000)
    source = ((truth - 300) / 5).astype(np.float32).astype(np.float64)
    np.testing.assert_allclose(affine_link(source, truth), (5, 300), rtol=1e-5)


def test_constants_are_shifted():
    """Of the slope nothing is known; the level must be right."""
    assert affine_link(np.zeros(9), np.full(9, 7.0)) == (1.0, 7.0)
    # The mean of many .1 is not .1, which passed for a relation that is not affine.
    assert affine_link(np.zeros(999), np.full(999, 0.1)) == (1.0, 0.1)
    # Would forecast 7 for ever.
    assert affine_link(np.arange(9.0), np.full(9, 7.0)) is None


def test_booleans_have_a_link():
    """Whether it rained is a target, too; numpy does not subtract booleans."""
    truth = np.arange(50) % 3 == 0
    assert affine_link(truth, truth.astype(float)) == pytest.approx((1, 0))


def test_without_any_truth_the_link_changes_nothing():
    """That y holds nothing is for another check to say."""
    assert affine_link(np.full(3, np.nan), np.arange(3.0)) == (1.0, 0.0)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("level", [0.0, 20.0])
def test_what_others_teach_hardly_moves_a_series_that_never_moved(level, unit):
    """A promotion that lifts others by 3 lifted a constant 20 to 53, and 0 to a million units."""
    rng, weeks = (
        np.random.default_rng(0),
        pd.date_range("2020-01-06", periods=84, freq="W"),
    )
    promo = (rng.random((6, 84)) < 0.2) * 1.0
    sold = 20 + 3 * promo + rng.normal(size=(6, 84))
    sold[5] = level
    index = pd.MultiIndex.from_product([range(6), weeks])
    rows = pd.DataFrame({"y": unit * sold.ravel(), "promo": promo.ravel()}, index)
    history = rows.index.get_level_values(1) < weeks[-4]
    ahead = rows[~history].assign(y=np.nan, promo=1.0)
    sizes = {"seq_len": 12, "pred_len": 4, "members": ["ridges"], "random_state": 0}
    model = InformerRegressor("y", known_future="promo", **sizes).fit(rows[history])
    forecast = model.forecast(ahead)["y"] / unit
    assert (forecast[0] > 21).all()
    assert (np.abs(forecast[5] - level) < 4).all()
