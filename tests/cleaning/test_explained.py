"""Values far beyond the usual that have a reason are no typing errors."""

import numpy as np
import pandas as pd
import pytest

from skinformer.cleaning.explained import Reasons
from skinformer.cleaning.outliers import find_outliers
from skinformer.timeline.clock import clock_for
from skinformer.timeline.scaling import fit_scaler
from skinformer.timeline.timeline import Table, build_timeline

N_FIT, N_ALL = 200, 214
DEALS = [60, 61, 202, 203]


def quiet(seed=0):
    return 100 + 10 * np.random.default_rng(seed).normal(size=N_ALL)


def table(parts, known=None, freq="D"):
    """Return series one below the other, with a column known ahead."""
    days = pd.date_range("2024-01-01", periods=3, freq=freq)
    columns = [np.concatenate(parts)]
    if known is not None:
        columns.append(np.tile(known, len(parts)))
    series = np.repeat(np.arange(len(parts)), N_ALL)
    steps = np.tile(np.arange(N_ALL), len(parts))
    return Table(columns, 1, series, steps, clock_for(days, days.freq))


def judged(rows):
    """Return the steps of outliers in the fit and after it."""
    is_fitted = rows.steps < N_FIT
    fitted, late = rows.take(is_fitted), rows.take(~is_fitted)
    reasons = Reasons.of(fitted, n_past=0)
    fitted, bounds, found = find_outliers(fitted, reasons.in_rows(fitted), targets=True)
    first_row = fitted.first_row
    scaler = fit_scaler(fitted.columns, first_row[:-1], first_row[1:], static=[])
    history = build_timeline(fitted, scaler, fill_covariates=True)
    found_later = bounds.clean(late, history, reasons.in_rows(late))[2]
    steps = [fitted.steps[outlier.row] for outlier in found]
    return sorted({*steps, *(late.steps[outlier.row] for outlier in found_later)})


@pytest.mark.parametrize("factor", [12, 30])
@pytest.mark.parametrize("column", ["deal", "price"])
@pytest.mark.parametrize("deals", [DEALS, DEALS[2:]])
def test_what_a_known_column_explains_is_no_outlier(factor, column, deals):
    """One deal in the fit, or none: two rows were few enough to be typing errors."""
    deal = np.isin(np.arange(N_ALL), deals)
    y = quiet() * np.where(deal, factor, 1)
    known = deal * 1.0 if column == "deal" else 10.0 - 4 * deal
    assert judged(table([y])) == deals
    assert judged(table([y], known)) == []


def test_a_typing_error_on_the_day_of_a_deal_is_found():
    deal = np.isin(np.arange(N_ALL), DEALS)
    y = quiet() * np.where(deal, 3, 1)
    y[[61, 203]] *= 1000
    assert judged(table([y], deal * 1.0)) == [61, 203]


def test_weather_explains_nothing():
    """Half of all temperatures are far from the mean on one side or the other."""
    y = quiet()
    y[[61, 203]] *= 30
    weather = np.random.default_rng(1).normal(size=N_ALL)
    assert judged(table([y], weather)) == [61, 203]


@pytest.mark.parametrize("factor", [12, 30])
def test_what_a_third_of_the_others_have_at_the_time_is_no_outlier(factor):
    is_event = np.isin(np.arange(N_ALL), DEALS)
    parts = [quiet(seed) * np.where(is_event, factor, 1) for seed in range(4)]
    assert judged(table(parts)) == []
    alone = [parts[0], *(quiet(seed) for seed in range(1, 4))]
    assert judged(table(alone)) == DEALS


def test_what_training_held_is_no_outlier_later():
    """At any day; at night what days have is one."""
    fall = 20 + np.linspace(20, 0, N_ALL) + 0.3 * quiet() / 100
    fall[205] = 33.0
    assert judged(table([fall])) == []
    assert judged(table([fall], freq="h")) == [205]
