"""Days and zones mean the same with every pandas."""

import zoneinfo

import numpy as np
import pandas as pd
import pytest

from skinformer import InformerRegressor
from skinformer.compatibility.dates import elapsed_step, zone_named


def test_a_day_in_hours_is_no_day_of_the_calendar():
    """Rows 24 hours apart move on the wall where summer time begins; days do not."""
    step = elapsed_step(pd.Timedelta(days=2))
    assert type(step) is pd.offsets.Hour
    assert step.n == 48


def test_zones_are_those_of_pandas():
    """Labels of a file and of a frame join only where their zones are of one kind."""
    made = pd.Timestamp("2024-01-01", tz="Europe/Berlin").tz
    assert type(zone_named("Europe/Berlin")) is type(made)
    with pytest.raises((ValueError, zoneinfo.ZoneInfoNotFoundError)):
        zone_named("../../etc/passwd")


@pytest.mark.parametrize("freq", [None, "D"])
def test_days_keep_their_time_on_the_wall(freq):
    """A forecast of days over the end of summer time is of days, with every pandas."""
    days = pd.date_range("2024-05-01", periods=180, freq="D", tz="Europe/Berlin")
    frame = pd.DataFrame({"load": np.arange(180) % 7 + 1.0}, index=days)
    model = InformerRegressor(
        "load", seq_len=14, pred_len=7, members=["ridges"], freq=freq
    )
    forecast = model.fit(frame).forecast()
    assert set(forecast.index.hour) == {0}
    assert str(forecast.index[-1].date()) == "2024-11-03"
