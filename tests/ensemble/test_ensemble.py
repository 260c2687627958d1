"""Who is asked, with what, and how what they say is mixed."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from skinformer.bounds.bounds import Bounds
from skinformer.bounds.limits import Limits
from skinformer.ensemble.building import ModelSizes
from skinformer.ensemble.ensemble import Ensemble, EnsembleForecaster
from skinformer.ensemble.head import PointHead, QuantileHead
from skinformer.ensemble.member import Member
from skinformer.ensemble.windows import Rows
from skinformer.timeline.clock import RowClock

SIZES = ModelSizes(1, 0, 0, 0, 0, (), seq_len=2, pred_len=2, patch_len=1)
ROWS = Rows(
    np.arange(12, dtype=np.float32)[:, None],
    np.repeat([0, 1], 6),
    np.tile(np.arange(6), 2),
    np.array([0, 6]),
    np.ones((12, 1), dtype=bool),
)


class Says(Member):
    """Says its value, added to its base's, and keeps which windows it was asked for."""

    name = base = None

    def __init__(self, name, value, base=None):
        self.name, self.value, self.base, self.requested = name, value, base, []

    def forecast(self, windows, base=None):
        self.requested.append(windows.origins.tolist())
        out = np.full((len(windows), 2, 1), self.value, dtype=np.float32)
        return out if base is None else out + base


@pytest.fixture
def trio():
    """Two, of whom one is corrected."""
    members = [
        Says("other", 7.0),
        Says("ridges", 10.0),
        Says("network", 2.0, base="ridges"),
    ]
    weights = {
        "other": [0.5, 0.0, 0.0],
        "ridges": [0.5, 1.0, 0.0],
        "network": [0.0, 0.0, 1.0],
    }
    weights = {name: np.reshape(weight, (3, 1, 1)) for name, weight in weights.items()}
    return Ensemble.combine(members, weights, n_series=2, n_targets=1)


def forecaster(ensemble, series=(0, 1), head=None, **options):
    series = np.array(series)
    head = head or PointHead("mse")
    return EnsembleForecaster(
        ensemble, SIZES, series, RowClock(), "cpu", head, **options
    )


def test_a_forecast_is_the_mean_by_the_weights_of_its_series(trio):
    """Also of one that the fit did not hold, which has the last row."""
    found = forecaster(trio)(ROWS, np.array([2, 8, 3]))
    assert found[:, 0, 0].tolist() == [8.5, 10.0, 8.5]
    assert forecaster(trio, series=(0, 9))(ROWS, np.array([8]))[0, 0, 0] == 12.0


def test_who_has_no_weight_in_a_window_is_not_asked(trio):
    """But for the base of who has."""
    forecaster(trio, series=(0, 5))(ROWS, np.array([2, 8, 9]))
    assert {name: member.requested for name, member in trio.members.items()} == {
        "other": [[2]],
        "ridges": [[2, 8, 9]],
        "network": [[8, 9]],
    }


def test_of_several_outputs_the_network_is_asked_always(trio):
    """How far they lie apart nobody else tells."""
    forecaster(trio, head=QuantileHead((0.1, 0.9)))(ROWS, np.array([2]))
    assert trio.members["network"].requested == [[2]]


def test_each_member_is_limited_before_it_is_weighed(trio):
    """And what a network corrects is not limited before."""
    low = np.zeros((3, 1), dtype=np.float32)
    limits = Limits(low + 2.0, low, low + 1.0)
    mixed = trio.with_network_share(0.5)
    found = forecaster(mixed, bounds=Bounds(limits=limits))(ROWS, np.array([2]))[
        0, 0, 0
    ]
    limited = [2 + 1 / (1 + 1 / (value - 2.0)) for value in (7.0, 10.0, 12.0)]
    assert found == pytest.approx(
        0.5 * limited[0] + 0.25 * limited[1] + 0.25 * limited[2]
    )


def test_short_windows_are_forecast_by_who_can(trio):
    """With equal weights where nobody who can has any; all are asked where nobody can."""
    rows = ROWS._replace(begin=np.array([1, 7]))
    origins = np.array([2, 8])
    assert forecaster(trio)(rows, origins)[:, 0, 0].tolist() == [8.5, 10.0]
    trio.members["other"].forecasts_short = True
    assert forecaster(trio)(rows, origins)[:, 0, 0].tolist() == [7.0, 7.0]


def test_the_weighted_mean_is_divided_by_the_temperature(trio):
    """Less sure, where it is above 1."""
    found = forecaster(replace(trio, temperature=2.0))(ROWS, np.array([8]))
    assert found[0, 0, 0] == 5.0


def test_parts_are_what_each_says_alone_and_what_it_counts(trio):
    """They add up to the forecast; who does not count is left out."""
    parts = forecaster(trio).parts(ROWS, np.array([2]))
    told = {
        name: (share[0, 0, 0], points[0, 0, 0])
        for name, (share, points) in parts.items()
    }
    assert told == {"other": (0.5, 7.0), "ridges": (0.5, 10.0)}


def test_weights_are_told_by_step_by_series_and_by_candidate(trio):
    """Means over the others."""
    names = pd.Index(["a", "b"], name="shop")
    assert trio.by_step(2).loc[2].tolist() == [0.25, 0.75, 0.0]
    assert trio.by_series(names, pd.Index(["y"])).loc["b"].tolist() == [0.0, 1.0, 0.0]
    assert list(trio.series_blend(names, pd.Index(["y"]))) == ["other", "ridges"]
    mixed = trio.with_network_share(0.2)
    assert mixed.trust == pytest.approx(0.15)
    assert mixed.without("other").weights[0, 0, 0] == pytest.approx([0.0, 0.8, 0.2])


def test_of_classes_each_target_has_a_row():
    """However many classes it has: their columns have one weight."""
    members = [Says("classes", 0.0), Says("network", 0.0)]
    ensemble = Ensemble.combine(
        members, {"classes": 0.25, "network": 0.75}, n_series=1, n_targets=5
    )
    table = ensemble.series_blend(None, pd.Index(["light", "door"]))
    assert table.to_dict("index") == {
        "light": {"classes": 0.25, "network": 0.75},
        "door": {"classes": 0.25, "network": 0.75},
    }
