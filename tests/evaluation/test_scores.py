"""Scores: each equals a loop over what is known, and a missing truth has no part."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import mean_absolute_error, mean_pinball_loss

from skinformer.evaluation import (
    crps_of_quantiles,
    crps_of_samples,
    interval_coverage,
    interval_width,
    mase,
    pinball_loss,
    rmsse,
    smape,
    wape,
    weighted_quantile_loss,
    winkler_score,
)
from skinformer.evaluation.scores import seasonal_change

LEVELS = [0.1, 0.5, 0.8]


def drawn(n=40, n_targets=None, behind=()):
    rng = np.random.default_rng(0)
    shape = (n,) if n_targets is None else (n, n_targets)
    return rng.normal(size=shape), rng.normal(size=(*shape, *behind))


def test_pinball_loss_equals_scikit_learns():
    """The number that everybody else prints, level by level."""
    truth, quantiles = drawn(behind=(3,))
    each = [
        mean_pinball_loss(truth, quantiles[:, i], alpha=a) for i, a in enumerate(LEVELS)
    ]
    assert pinball_loss(truth, quantiles, levels=LEVELS) == pytest.approx(np.mean(each))


def test_losses_of_the_median_are_those_of_points():
    """One level of a half is a point forecast: no scale may creep in between."""
    truth, quantiles = drawn(behind=(1,))
    wql = weighted_quantile_loss(truth, quantiles, levels=[0.5])
    assert wql == pytest.approx(wape(truth, quantiles[:, 0]))
    crps = crps_of_quantiles(truth, quantiles, levels=[0.5])
    assert crps == pytest.approx(mean_absolute_error(truth, quantiles[:, 0]))


def test_crps_of_many_quantiles_and_of_many_samples_is_that_of_the_normal_law():
    """Its closed form at y: y (2 Φ(y) - 1) + 2 φ(y) - 1 / √π."""
    levels = (np.arange(400) + 0.5) / 400
    normal = np.sort(np.random.default_rng(0).normal(size=200_000))
    quantiles = np.quantile(normal, levels)
    expected = 1.0 * (2 * 0.841345 - 1) + 2 * 0.241971 - 1 / np.sqrt(np.pi)
    assert crps_of_quantiles([1.0], quantiles[None], levels=levels) == pytest.approx(
        expected, abs=5e-3
    )
    assert crps_of_samples([1.0], normal[None, ::50]) == pytest.approx(
        expected, abs=5e-3
    )


def test_crps_of_quantiles_takes_levels_in_any_order():
    """Each level stands for those nearest to it, wherever it is named."""
    truth, quantiles = drawn(behind=(3,))
    turned = crps_of_quantiles(truth, quantiles[:, [2, 0, 1]], levels=[0.8, 0.1, 0.5])
    assert turned == pytest.approx(crps_of_quantiles(truth, quantiles, levels=LEVELS))


def test_crps_of_samples_equals_a_loop_over_pairs():
    """Sorting in place of pairs must not change the number."""
    truth, draws = drawn(n=5, behind=(4,))
    loop = []
    for y, row in zip(truth, draws, strict=True):
        pairs = [
            abs(a - b) for i, a in enumerate(row) for j, b in enumerate(row) if i != j
        ]
        loop.append(np.abs(row - y).mean() - np.mean(pairs) / 2)
    assert crps_of_samples(truth, draws) == pytest.approx(np.mean(loop))


def test_few_samples_are_no_disadvantage():
    """An estimate that shrank with the number of draws would compare models by their draws."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=20_000)
    few, many = (crps_of_samples(truth, rng.normal(size=(20_000, n))) for n in (2, 50))
    assert few == pytest.approx(many, rel=0.03)


def test_winkler_score_equals_a_loop():
    """Width, and 2 / (1 - coverage) times what lies outside on either side."""
    truth, _ = drawn()
    low, high = truth.mean() - 0.5, truth.mean() + 0.7
    bounds = np.tile([low, high], (len(truth), 1))
    loop = [high - low + 20 * (max(low - y, 0) + max(y - high, 0)) for y in truth]
    assert winkler_score(truth, bounds, coverage=0.9) == pytest.approx(np.mean(loop))
    assert interval_width(truth, bounds) == pytest.approx(1.2)
    inside = ((truth >= low) & (truth <= high)).mean()
    assert interval_coverage(truth, bounds) == pytest.approx(inside)


def test_a_truth_on_a_bound_is_covered():
    """Counts lie on bounds often: half of a car part's months are exactly zero."""
    assert interval_coverage([0.0, 2.0], [[0.0, 2.0], [0.0, 2.0]]) == 1.0


@pytest.mark.parametrize(
    ("score", "behind", "options"),
    [
        (pinball_loss, (3,), {"levels": LEVELS}),
        (weighted_quantile_loss, (3,), {"levels": LEVELS}),
        (crps_of_quantiles, (3,), {"levels": LEVELS}),
        (crps_of_samples, (3,), {}),
        (interval_coverage, (2,), {}),
        (interval_width, (2,), {}),
        (winkler_score, (2,), {"coverage": 0.8}),
        (wape, (), {}),
        (smape, (), {}),
    ],
)
def test_scores_leave_out_missing_truths_weigh_rows_and_average_targets(
    score, behind, options
):
    """The same rules for every score: what nobody measured is neither right nor wrong."""
    truth, forecast = drawn(n_targets=2, behind=behind)
    if behind == (2,):
        forecast.sort(axis=-1)
    full = score(truth, forecast, **options)
    each = [score(truth[:, j], forecast[:, j], **options) for j in (0, 1)]
    assert full == pytest.approx(np.mean(each))
    holed = truth.copy()
    holed[:20, 0] = np.nan
    forecast[:20, 0] = np.nan  # need not be forecast either
    later = [score(truth[20:, 0], forecast[20:, 0], **options), each[1]]
    assert score(holed, forecast, **options) == pytest.approx(np.mean(later))
    weight = (np.arange(40) >= 20).astype(float)
    weighted = score(truth[:, 1], forecast[:, 1], sample_weight=weight, **options)
    assert weighted == pytest.approx(score(truth[20:, 1], forecast[20:, 1], **options))


def test_mase_and_rmsse_scale_each_series_by_its_own_changes():
    """A series in thousands must not speak for one in thousandths."""
    index = pd.MultiIndex.from_product([["b", "a"], range(3)])
    train = pd.Series([1.0, 3.0, 5.0, 1000.0, 4000.0, 7000.0], index)
    later = pd.MultiIndex.from_product([["a", "b"], range(3, 5)])
    truth = pd.Series([0.0, 0.0, 0.0, np.nan], later)
    forecast = np.array([1500.0, 4500.0, 4.0, 99.0])
    assert mase(truth, forecast, y_train=train) == pytest.approx((1.0 + 2.0) / 2)
    root = np.sqrt((0.5**2 + 1.5**2) / 2)
    assert rmsse(truth, forecast, y_train=train) == pytest.approx((root + 2.0) / 2)


def test_a_series_that_never_changed_or_was_not_trained_on_is_left_out():
    """It has no unit; a zero would make the score infinite."""
    index = pd.MultiIndex.from_product([["a", "b"], range(3)])
    train = pd.Series([1.0, 2.0, 3.0, 5.0, 5.0, 5.0], index)
    truth = pd.Series(
        [0.0, 0.0, 0.0], pd.MultiIndex.from_product([["a", "b", "c"], [9]])
    )
    assert mase(truth, [2.0, 70.0, 80.0], y_train=train) == 2.0
    message = "no series of y_true varies in y_train"
    with pytest.raises(ValueError, match=message):
        mase([1.0], [1.0], y_train=[2.0, 2.0])


def test_mase_of_several_targets_is_their_mean():
    """Each in its own unit."""
    train = np.column_stack([np.arange(5.0), 10 * np.arange(5.0)])
    assert mase([[1.0, 1.0]], [[2.0, 31.0]], y_train=train) == pytest.approx(
        (1 + 3) / 2
    )


def test_a_season_is_compared_with_the_one_before():
    """A series shorter than a season, and a gap, are compared as far as they can be."""
    assert seasonal_change(np.array([1.0, 9.0, 2.0, 9.0]), 2) == 0.5
    assert seasonal_change(np.array([1.0, 9.0]), 2) == 8.0
    assert seasonal_change(np.array([1.0, np.nan, 4.0, 5.0]), 1) == 1.0
    assert np.isnan(seasonal_change(np.ones(4), 1))


def test_smape_is_that_of_the_competitions():
    """From 0 to 200; zero forecast as zero is right."""
    assert smape([0.0, 100.0, 1.0], [0.0, 50.0, -1.0]) == pytest.approx(
        (0 + 200 / 3 + 200) / 3
    )


def test_one_column_fits_a_truth_without_and_forecasts_of_it():
    """scikit-learn gives both shapes for one target."""
    truth, forecast = drawn()
    assert wape(truth[:, None], forecast) == wape(truth, forecast[:, None])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: wape([1.0, 2.0], [1.0]),
            "forecasts of shape (1,) do not fit actual values of shape (2,): they need shape (2,).",
        ),
        (
            lambda: pinball_loss([1.0], [[1.0, 2.0]], levels=[0.5]),
            "forecasts of shape (1, 2) do not fit actual values of shape (1,): they need "
            "shape (1, 1).",
        ),
        (
            lambda: wape([1.0, 2.0], [1.0, np.nan]),
            "forecasts hold 1 NaN where the actual value is known: a score of the "
            "other rows would favour a model that forecasts only the easy ones. "
            "Forecast all of them.",
        ),
        (
            lambda: crps_of_samples([1.0], None),
            "forecasts of shape () do not fit actual values of shape (1,): they need shape (1,).",
        ),
        (lambda: wape([1.0], "1,5"), "could not convert string to float: '1,5'"),
        (
            lambda: crps_of_samples([1.0], np.empty((1, 0))),
            "forecasts of shape (1, 0) do not fit actual values of shape (1,): they need "
            "shape (1, 0).",
        ),
        (
            lambda: pinball_loss(np.ones((2, 2)), np.ones((2, 3, 2)), levels=LEVELS),
            "forecasts of shape (2, 3, 2) do not fit actual values of shape (2, 2): they need "
            "shape (2, 2, 3).",
        ),
        (
            lambda: pinball_loss([1.0], [[1.0]], levels=[1.0]),
            "levels=[1.0] must be a list of numbers between 0 and 1, each once, such as [0.1, 0.5, "
            "0.9].",
        ),
        (
            lambda: pinball_loss([1.0], [[1.0, 1.0]], levels=[0.5, 0.5]),
            "levels=[0.5, 0.5] must be a list of numbers between 0 and 1, each once, such as [0.1, "
            "0.5, 0.9].",
        ),
        (
            lambda: winkler_score([1.0], [[1.0, 2.0]], coverage=90),
            "coverage=90 must be a number between 0 and 1: the share of actual values that "
            "should lie inside, such as 0.9.",
        ),
        (
            lambda: mase([1.0], [2.0], y_train=[1.0, 2.0], season=0),
            "season=0 must be a whole number from 1 to 1,000,000: it counts rows.",
        ),
        (
            lambda: mase([1.0], [2.0], y_train=[1.0, 2.0], season=10**30),
            f"season={10**30} must be a whole number from 1 to 1,000,000: it counts rows.",
        ),
    ],
)
def test_what_does_not_fit_is_refused(call, message):
    """Broadcasting would give a number all the same."""
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        call()


def test_no_known_truth_is_an_error():
    """A mean of nothing is no score."""
    with pytest.raises(
        ValueError, match="score found no row whose actual value is known"
    ):
        wape([np.nan], [1.0])
