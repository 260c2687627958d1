"""What windows that were held out say of errors on fitted rows."""

from types import SimpleNamespace

import numpy as np
import pytest

from skinformer.intervals import held_out as module
from skinformer.intervals.errors import WindowForecasts
from skinformer.intervals.held_out import HeldOut

PRED_LEN = 4


def optimism(origins, held_out, fitted, monkeypatch):
    """Of windows at origins, whose errors all are so large."""

    def forecast_windows(forecaster, origins):
        errors = np.full((len(origins), PRED_LEN, 1), forecaster.error)
        return WindowForecasts(errors, errors)

    monkeypatch.setattr(module, "forecast_windows", forecast_windows)
    sizes = SimpleNamespace(pred_len=PRED_LEN)
    earlier = SimpleNamespace(error=held_out)
    final = SimpleNamespace(error=fitted, sizes=sizes)
    origins = np.asarray(origins)
    return HeldOut(earlier, origins, origins).optimism(final)


@pytest.mark.parametrize(
    ("origins", "n_apart"),
    [([7], 1), ([7, 8, 10], 1), ([7, 11, 15], 3), (range(0, 400, 4), 100)],
)
def test_large_factors_are_believed_where_several_windows_share_no_row(
    origins, n_apart, monkeypatch
):
    """One window shows a quarter at most, three nearly what they show."""
    found = optimism(origins, 3.0, 1.0, monkeypatch)
    share = 1 / n_apart**2
    expected = 1.25**share * 3 ** (1 - share)
    np.testing.assert_allclose(found, [expected])


@pytest.mark.parametrize("factor", [1.1, 1.2])
def test_small_factors_are_believed_of_one_window(factor, monkeypatch):
    np.testing.assert_allclose(optimism([7], factor, 1.0, monkeypatch), [factor])


def test_no_rows_are_forecast_worse_when_they_were_fitted(monkeypatch):
    """Nor are errors taken to be more than four times as large."""
    many = range(0, 4000, 4)
    assert optimism(many, 1.0, 3.0, monkeypatch) == [1.0]
    np.testing.assert_allclose(optimism(many, 90.0, 1.0, monkeypatch), [4.0], rtol=1e-4)
