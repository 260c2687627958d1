"""Models of statsforecast as members."""

import numpy as np
import pytest

pytest.importorskip("statsforecast")
from statsforecast.models import MSTL, AutoETS, AutoTheta, SeasonalNaive

from skinformer.beside.statsforecast import StatsForecaster


def test_it_is_a_member_like_any_other(use_as_member):
    """Fitted, searched, judged, copied and saved with the model that holds it."""
    models = [AutoTheta(season_length=12), SeasonalNaive(season_length=12)]
    use_as_member(StatsForecaster(models[0]), {"model": models}, StatsForecaster)


def test_a_season_stands_where_a_history_is_too_short():
    """AutoETS raises for fewer than six values; so may one history of a panel."""
    model = StatsForecaster(AutoETS(season_length=4))
    short = [
        np.array([7.0]),
        np.array([1.0, 2.0, 3.0, 4.0, 5.0]),
        np.array([1.0, np.nan, 3.0]),
    ]
    forecast = model.predict(short, 4)
    np.testing.assert_array_equal(forecast, [[7, 7, 7, 7], [2, 3, 4, 5], [3, 3, 3, 3]])


def test_what_is_missing_last_is_forecast_too():
    """Rows behind the last observed value are steps ahead of it."""
    season = np.tile([1.0, 2.0, 3.0], 4)
    naive = StatsForecaster(SeasonalNaive(season_length=3))
    forecast = naive.predict([np.append(season, np.nan), season], 2)
    np.testing.assert_array_equal(forecast, [[2.0, 3.0], [1.0, 2.0]])


def test_a_model_that_fails_on_a_long_history_is_warned_of():
    """A wrong parameter would hide behind the last season."""
    failing = StatsForecaster(MSTL(season_length=4, stl_kwargs={"no": 1}))
    with pytest.warns(
        UserWarning, match=r"MSTL failed for 1 of 2 histories.*TypeError"
    ):
        forecast = failing.predict([np.arange(30.0), np.arange(3.0)], 2)
    np.testing.assert_array_equal(forecast, [[26, 27], [2, 2]])


@pytest.mark.slow
def test_processes_forecast_the_same():
    """The order of histories is kept."""
    histories = [np.arange(20.0) % 4 + level for level in range(3)]
    one = StatsForecaster(AutoTheta(season_length=4)).predict(histories, 3)
    two = StatsForecaster(AutoTheta(season_length=4), n_jobs=2).predict(histories, 3)
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    "model",
    [
        MSTL(
            season_length=[6, 12],
            trend_forecaster=AutoETS(model="ZAN"),
            alias="two seasons",
        ),
        AutoETS(season_length=12, damped=True),
    ],
)
def test_files_describe_models_by_their_parameters(model):
    """Models inside models, too."""
    forecaster = StatsForecaster(model, max_context=48)
    built = StatsForecaster.from_config(forecaster.to_config())
    assert built.name == model.alias
    assert built.max_context == 48
    history = [np.sin(np.arange(60.0)) + np.arange(60.0)]
    np.testing.assert_array_equal(
        built.predict(history, 5), forecaster.predict(history, 5)
    )


@pytest.mark.parametrize(
    "name", ["np", "partial", "ConformalIntervals", "__builtins__"]
)
def test_a_file_names_no_other_class(name):
    """What a file says must not reach beyond the models of the library."""
    with pytest.raises(ValueError, match="is not a model"):
        StatsForecaster.from_config({"model": {"class": name, "parameters": {}}})


@pytest.mark.slow
def test_the_example_gains_by_its_member(run_example):
    """Beside the default, on eight weeks that no fit has seen."""
    names = run_example("statsforecast_member.py")
    assert names["errors"]["both"] < 0.995 * names["errors"]["default"]
    assert names["weights"]["DynamicOptimizedTheta"] > 0.05
    np.testing.assert_allclose(
        names["loaded"].forecast(), names["both"].forecast(), rtol=1e-5
    )
