"""The blend of classical candidates on a panel: who may disturb whom, and what must go on."""

import numpy as np
import pytest

from skinformer.classical.fit import fit_classical
from skinformer.classical.judging import Ledger, judging_offsets
from skinformer.classical.ridges import fit_ridges
from skinformer.classical.windows import padded, pasts

SEQ_LEN, PRED_LEN, PERIOD = 24, 4, 4
SIZES = {"seq_len": SEQ_LEN, "pred_len": PRED_LEN, "period": PERIOD, "of_mean": False}


def make_panel(n_series=40, *, seed=0, level=50.0):
    """Give series of 20 to 60 rows with trends, seasons and noise of their own."""
    rng = np.random.default_rng(seed)
    series = []
    for n in rng.integers(20, 60, n_series):
        rows = np.arange(n)
        season = rng.normal(size=PERIOD)[rows % PERIOD] * 3
        noise = rng.normal(size=n).cumsum() * 0.5 + rng.normal(size=n)
        series.append(level + rng.normal() * 0.3 * rows + season + noise)
    return series


def stacked(series):
    return np.concatenate(series), np.concatenate([[0], np.cumsum([len(s) for s in series])])


def fitted(series, **sizes):
    values, first_row = stacked(series)
    return fit_classical(values, first_row, **(SIZES | sizes))


def forecasts(series, fit=None):
    """Forecast what follows each series."""
    values, first_row = stacked(series)
    fit = fitted(series) if fit is None else fit
    past, length = pasts(values, first_row[:-1], first_row[1:], fit.seq_len)
    return fit.forecast(past, length, np.arange(len(series)))


PANEL = make_panel()
FORECASTS = forecasts(PANEL)


def test_the_order_of_series_does_not_matter():
    order = np.random.default_rng(1).permutation(len(PANEL))
    np.testing.assert_allclose(forecasts([PANEL[i] for i in order]), FORECASTS[order], rtol=1e-4)


@pytest.mark.parametrize("factor", [1e6, 1e-6])
def test_a_series_in_other_units_is_forecast_in_them_and_disturbs_none(factor):
    # A pooled unit would let the large series speak for all.
    scaled = forecasts([PANEL[0] * factor, *PANEL[1:]])
    np.testing.assert_allclose(scaled[0], factor * FORECASTS[0], rtol=1e-4)
    np.testing.assert_allclose(scaled[1:], FORECASTS[1:], rtol=1e-4)


def test_a_shift_without_logarithms_shifts_the_forecasts():
    below = [series - 1e4 for series in PANEL]
    shifted = [series - 2e4 for series in PANEL]
    np.testing.assert_allclose(forecasts(shifted), forecasts(below) - 1e4, atol=1e-2)


@pytest.mark.parametrize("garbage", [1e9, -1e9, 0.0])
def test_garbage_at_one_series_end_changes_no_other_by_a_hundredth(garbage):
    spoilt = PANEL[0].copy()
    spoilt[-5:] = garbage * np.array([1, -1, 1, 1, -0.5])
    changed = forecasts([spoilt, *PANEL[1:]])
    assert np.isfinite(changed).all()
    np.testing.assert_allclose(changed[1:], FORECASTS[1:], rtol=0.01)


def test_what_stands_before_a_window_does_not_matter():
    fit = fitted(PANEL)
    past, length = np.full((1, SEQ_LEN), np.nan), np.array([9])
    past[0, -9:] = PANEL[3][-9:]
    one = fit.forecast(past, length, np.array([3]))
    np.testing.assert_array_equal(one, fit.forecast(padded(past, length), length, np.array([3])))
    assert np.isfinite(one).all()


def test_weights_are_shares():
    fit = fitted(PANEL)
    assert fit.weights.shape == (len(PANEL), len(fit.names))
    assert len(set(fit.names)) == len(fit.names)
    np.testing.assert_allclose(fit.weights.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(fit.panel_weights.sum(), 1, rtol=1e-5)
    assert (fit.weights >= 0).all()


def test_a_series_that_the_fit_did_not_hold_has_the_panels_weights():
    fit = fitted(PANEL)
    other = make_panel(1, seed=9)[0][None, -SEQ_LEN:]
    unknown = fit.forecast(other, np.array([SEQ_LEN]), np.array([-1]))
    assert np.abs(unknown - other.mean()).max() < 10 * other.std()


def test_odd_series_get_finite_forecasts_and_disturb_none():
    spikes = np.zeros(40)
    spikes[[5, 20, 33]] = 7
    odd = [np.zeros(40), np.full(40, 3.0), spikes, np.array([5.0]), np.array([1.0, 2.0])]
    # 40 + 5 series: the odd ones may have a word about the panel, a small one.
    got = forecasts([*PANEL, *odd])
    assert np.isfinite(got).all()
    np.testing.assert_allclose(got[:40], FORECASTS, rtol=0.03)
    np.testing.assert_array_equal(got[40], 0)
    np.testing.assert_allclose(got[41], 3)
    assert ((got[42] >= 0) & (got[42] <= 7)).all()
    np.testing.assert_allclose(got[43], 5)


def test_forecasts_stay_above_zero_where_the_series_did():
    rng = np.random.default_rng(0)
    falling = [np.maximum(40 - 1.1 * np.arange(36), 0.2) + rng.random(36) * 0.1 for _ in range(5)]
    assert (forecasts(falling) >= 0).all()
    steep = [60.0 - 1.5 * np.arange(39) for _ in range(5)]
    assert (forecasts(steep) >= 0).all()
    been_there = [series - 10 for series in steep]
    assert (forecasts(been_there) < -7.5).all()


def test_trends_go_on():
    # A ridge on distances alone shrinks them away.
    rng = np.random.default_rng(0)
    slopes = rng.uniform(1, 3, 20)
    series = [100 + slope * np.arange(50) + rng.normal(size=50) * 0.2 for slope in slopes]
    expected = 100 + slopes[:, None] * np.arange(50, 50 + PRED_LEN)
    assert np.abs(forecasts(series) - expected).max() < 1


def test_growth_and_seasons_that_multiply_go_on():
    rows, rng = np.arange(48), np.random.default_rng(0)
    curves = [
        np.exp(rate * rows + np.tile(rng.normal(size=4), 12) * 0.3)
        for rate in rng.uniform(0.02, 0.06, 20)
    ]
    got = forecasts([curve[:-PRED_LEN] for curve in curves])
    truth = np.stack([curve[-PRED_LEN:] for curve in curves])
    assert np.median(np.abs(got / truth - 1)) < 0.03


def test_a_jump_does_not_explode():
    # On logarithms the last slope of this series would reach 10¹².
    jump = np.ones(30)
    jump[-1] = 1000
    assert forecasts([*PANEL, jump])[-1].max() < 5000


def test_a_panel_too_short_to_be_judged_repeats_last_values():
    # The simplest candidate speaks where nothing can be proved.
    short = [np.array([1.0, 2.0, 4.0]), np.array([3.0]), np.array([5.0, 1.0])]
    expected = np.repeat([[4.0], [3.0], [1.0]], PRED_LEN, axis=1)
    np.testing.assert_allclose(forecasts(short), expected)


def test_a_series_without_rows_before_the_end_takes_no_part():
    fit = fitted([PANEL[0][:0], *PANEL])
    np.testing.assert_allclose(fit.weights[0], fit.panel_weights, rtol=1e-5)


@pytest.mark.parametrize(("seq_len", "pred_len", "period"), [(1, 1, 1), (3, 7, 12), (8, 40, 4)])
def test_odd_sizes_work(seq_len, pred_len, period):
    fit = fitted(PANEL, seq_len=seq_len, pred_len=pred_len, period=period)
    got = forecasts(PANEL, fit)
    assert got.shape == (len(PANEL), pred_len)
    assert np.isfinite(got).all()


def test_batches_do_not_matter(monkeypatch):
    monkeypatch.setattr("skinformer.classical.fit._BATCH", 9)
    monkeypatch.setattr("skinformer.classical.judging._BATCH", 7)
    np.testing.assert_allclose(forecasts(PANEL), FORECASTS, rtol=1e-5)


def test_what_learns_is_judged_on_rows_that_it_has_not_seen(monkeypatch):
    # Ridges that knew the truth would look better than any candidate that cannot.
    seen = []

    def spy(values, begin, end, **sizes):
        seen.append(end)
        return fit_ridges(values, begin, end, **sizes)

    monkeypatch.setattr("skinformer.classical.fit.fit_ridges", spy)
    fitted(PANEL)
    _, first_row = stacked(PANEL)
    offsets = judging_offsets(np.diff(first_row), PRED_LEN, PERIOD)
    assert len(seen) == len(offsets) + 1
    for end, offset in zip(seen, [*offsets, 0], strict=True):
        np.testing.assert_array_equal(end, first_row[1:] - offset)


def test_kinds_are_told_by_rows_that_are_not_judged(monkeypatch):
    """Else those that trend by chance where they are judged would speak for trends."""
    seen = []
    weigh = Ledger.weights
    monkeypatch.setattr(Ledger, "weights", lambda *args: seen.append(args[1:]) or weigh(*args))
    whole = fitted(PANEL)
    offsets = judging_offsets(np.array([len(s) for s in PANEL]), PRED_LEN, PERIOD).max(axis=0)
    turned = [np.r_[s[:-k], s[-k:][::-1] * 2] for s, k in zip(PANEL, offsets, strict=True)]
    assert fitted(turned).names == whole.names
    np.testing.assert_array_equal(seen[0][0], seen[1][0])
    assert (seen[0][1] != seen[1][1]).all()
