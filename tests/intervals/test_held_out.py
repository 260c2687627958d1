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
def test_optimism_is_believed_as_far_as_windows_share_no_row(
    origins, n_apart, monkeypatch
):
    """One window decides a third of it; a hundred nearly all."""
    found = optimism(origins, 3.0, 1.0, monkeypatch)
    np.testing.assert_allclose(found, [3 ** (n_apart / (n_apart + 2))])


def test_no_rows_are_forecast_worse_when_they_were_fitted(monkeypatch):
    """Nor are errors taken to be more than four times as large."""
    many = range(0, 40_000, 4)
    assert optimism(many, 1.0, 3.0, monkeypatch) == [1.0]
    assert optimism(many, 90.0, 1.0, monkeypatch) == [4.0]
