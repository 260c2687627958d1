import re
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from skinformer import CalendarFeatures, InformerRegressor
from skinformer.datasets import load_auckland_holidays

DAY = pd.Timedelta(days=1)


def frame(index):
    return pd.DataFrame({"load": np.arange(float(len(index)))}, index=index)


def of(place, index):
    """Give the three columns of a place."""
    out = CalendarFeatures([], holidays=place).fit_transform(frame(index))
    return out.filter(like=f"calendar__{place}_")


def test_auckland_has_the_holidays_of_the_law():
    """The bundled table is the second opinion; it leaves out days that are only moved."""
    days = pd.date_range("2023-01-02", "2025-12-31", freq="h", tz="Pacific/Auckland")
    law = load_auckland_holidays().loc[
        days, ["holiday", "free_yesterday", "free_tomorrow"]
    ]
    np.testing.assert_array_equal(of("NZ-AUK", days), law)


def test_days_are_those_of_the_wall_clock():
    """Christmas begins at midnight in Auckland, thirteen hours before it does in London."""
    hours = pd.date_range("2024-12-24 06:00", periods=12, freq="h", tz="UTC")
    local = of("NZ", hours.tz_convert("Pacific/Auckland")).iloc[:, 0]
    np.testing.assert_array_equal(
        local, hours >= pd.Timestamp("2024-12-24 11:00", tz="UTC")
    )
    assert not of("NZ", hours).iloc[:, 0].any()


def test_parts_and_countries_are_columns_of_their_own():
    """Corpus Christi is free in Bavaria, not in Berlin."""
    index = pd.date_range("2024-05-29", periods=3)
    places = ["DE-BY", "DE-BE"]
    model = CalendarFeatures([], holidays=places).fit(frame(index))
    out = model.transform(frame(index))
    assert out["calendar__DE-BY_holiday"].to_list() == [0, 1, 0]
    assert out["calendar__DE-BE_holiday"].to_list() == [0, 0, 0]
    assert out["calendar__DE-BY_free_tomorrow"].to_list() == [1, 0, 1]
    assert list(model.get_feature_names_out()) == list(out.columns)
    assert model.holidays_ == tuple(places)


def test_weekends_are_those_of_the_country():
    """On a Friday people in Saudi Arabia are at home, in Germany at work."""
    thursday = pd.date_range("2024-02-29", periods=2)
    assert of("SA", thursday)["calendar__SA_free_tomorrow"].to_list() == [1, 1]
    assert of("DE", thursday)["calendar__DE_free_tomorrow"].to_list() == [0, 1]


def test_weeks_count_their_holidays():
    weeks = pd.period_range("2024-12-16", periods=3, freq="W")
    assert of("NZ", weeks).iloc[:, 0].to_list() == [0, 2, 2]
    assert of("NZ", weeks).iloc[:, 2].to_list() == [0, 0, 0]  # the Monday after each


@pytest.mark.parametrize("freq", ["W", "M", "Q"])
def test_a_weekend_beside_a_week_tells_nothing(freq):
    """The day before a week is a Sunday: the column was 1 throughout."""
    periods = pd.period_range("2022-01-01", "2025-12-31", freq=freq)
    out = of("NZ", periods)
    first, last = (
        periods.to_timestamp(how=how).normalize() for how in ("start", "end")
    )
    days = of("NZ", pd.date_range("2021-12-01", "2026-01-31"))["calendar__NZ_holiday"]
    for column, beside in (
        ("free_yesterday", first - DAY),
        ("free_tomorrow", last + DAY),
    ):
        np.testing.assert_array_equal(out[f"calendar__NZ_{column}"], days[beside])
    assert out["calendar__NZ_free_tomorrow"].any()


def test_the_fields_stay_before_them():
    index = pd.date_range("2024-12-24", periods=30, freq="h")
    out = CalendarFeatures(["hour"], holidays="NZ").fit_transform(frame(index))
    alone = CalendarFeatures(["hour"]).fit_transform(frame(index))
    pd.testing.assert_frame_equal(out.iloc[:, :3], alone)
    assert out.shape[1] == 6


def test_the_regressor_knows_them_ahead():
    """Without being named, and so that a forecast of a holiday is another one."""
    index = pd.date_range("2023-01-01", "2024-12-24")
    days = CalendarFeatures([], holidays="NZ").fit_transform(frame(index)).iloc[:, 1]
    X = pd.DataFrame(
        {"load": 10 - 5 * days + 0.01 * np.arange(len(days)) % 7}, index=index
    )
    settings = {"seq_len": 14, "pred_len": 7, "members": ["ridges"], "random_state": 0}
    pipe = make_pipeline(
        CalendarFeatures([], holidays="NZ"), InformerRegressor("load", **settings)
    )
    model = pipe.fit(X)[-1]
    assert set(model.roles_.known) == {
        f"calendar__NZ_{kind}"
        for kind in ("holiday", "free_yesterday", "free_tomorrow")
    }
    ahead = pipe[:-1].transform(model.make_future_frame(7)[["load"]])
    forecast = model.forecast(ahead)["load"]
    assert forecast.iloc[:2].max() < forecast.iloc[2:].min()  # Christmas and Boxing Day


def test_days_a_week_apart_do_not_say_which_days_they_mean():
    sundays = pd.date_range("2024-01-07", periods=9, freq="W")
    message = "rows are 7 days 00:00:00 apart, and it is not known which days a row stands for"
    with pytest.raises(ValueError, match=message):
        CalendarFeatures([], holidays="NZ").fit(frame(sundays))


@pytest.mark.parametrize(
    ("places", "kind", "message"),
    [
        (
            "XX",
            ValueError,
            "holidays holds 'XX', which the package holidays does not know",
        ),
        ("DE-XY", ValueError, "choose an ISO code such as 'NZ' or 'DE-BY'."),
        (
            ["NZ", 3],
            ValueError,
            "holidays holds '3', which the package holidays does not know",
        ),
    ],
)
def test_a_place_that_is_none_is_told(places, kind, message):
    index = pd.date_range("2024-01-01", periods=9)
    with pytest.raises(kind, match=re.escape(message)):
        CalendarFeatures(holidays=places).fit(frame(index))


def test_without_the_package_one_reads_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "holidays", None)
    index = pd.date_range("2024-01-01", periods=9)
    with pytest.raises(
        ImportError, match=re.escape("pip install 'skinformer[holidays]'")
    ):
        CalendarFeatures(holidays="NZ").fit(frame(index))


def test_rows_without_dates_have_none():
    with pytest.warns(UserWarning, match="X has no dates"):
        model = CalendarFeatures(holidays="NZ").fit(np.ones((9, 1)))
    assert model.holidays_ == ()
    assert model.transform(np.ones((9, 1))).shape == (9, 1)


def test_codes_may_be_written_otherwise_and_twice():
    """Columns are known ahead by their names, which are those of the codes."""
    index = pd.date_range("2024-12-24", periods=3)
    model = CalendarFeatures([], holidays=["de_by", "NZ", "nz"]).fit(frame(index))
    assert model.holidays_ == ("DE-BY", "NZ")


def test_rows_to_come_may_not_be_weeks_either():
    """Fitted to days or periods, it would count one day of each week."""
    weeks = frame(pd.period_range("2024-01-01", periods=9, freq="W"))
    model = CalendarFeatures([], holidays="NZ").fit(weeks)
    with pytest.raises(ValueError, match="it is not known which days a row stands for"):
        model.transform(frame(weeks.index.to_timestamp()))
