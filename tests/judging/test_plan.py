"""Who takes part in a fit, with the reason in words, and how members are weighed."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from skinformer import InformerRegressor
from skinformer.ensemble.head import PointHead
from skinformer.ensemble.names import TREES
from skinformer.estimators.settings import read_settings
from skinformer.judging.plan import (
    Plan,
    Scheme,
    choose_scheme,
    plan_members,
    plan_trees,
)
from skinformer.timeline.clock import RowClock
from skinformer.timeline.timeline import Table

ALL = {"ridges", "classical", "own_ridges", "trees", "network"}


def settings_of(**options):
    model = InformerRegressor(seq_len=20, pred_len=5, **options)
    return read_settings(model, PointHead("mse"), requested="cpu")


def table_of(n_rows, n_series=1, missing=None):
    series, steps = np.divmod(np.arange(n_rows * n_series), n_rows)
    wave = np.sin(steps * 0.7)
    if missing is not None:
        wave[missing] = np.nan
    return Table([wave], 1, series, steps, RowClock())


def plan_of(n_rows, n_series=1, missing=None, **options):
    return plan_members(settings_of(**options), table_of(n_rows, n_series, missing))


@pytest.mark.parametrize(
    ("n_rows", "n_series", "left_out"),
    [
        (30, 1, {"own_ridges", "trees", "network"}),
        (24, 1, {"own_ridges", "trees", "network", "ridges"}),
        (100, 1, {"own_ridges", "trees"}),
        (499, 1, {"own_ridges", "trees"}),
        (500, 1, {"own_ridges", "trees", "classical"}),
        (2000, 1, {"own_ridges", "classical"}),
        (40, 9, {"own_ridges", "trees", "network", "ridges"}),
        (80, 9, {"trees"}),
        (200, 9, set()),
        (500, 9, {"classical"}),
    ],
)
def test_rows_decide_who_takes_part(n_rows, n_series, left_out):
    """And everyone who does not has a reason."""
    plan = plan_of(n_rows, n_series)
    assert set(plan.reasons) == left_out
    assert set(plan.settings.members) == ALL - left_out
    assert all(plan.reasons.values())


def test_reasons_say_which_rows_are_meant():
    assert plan_of(39).reasons["network"] == (
        "series of 39 rows are too short for windows of 25 rows"
    )
    assert plan_of(100).reasons["trees"] == "fewer than 1,500 rows"
    assert (
        plan_of(100).reasons["own_ridges"]
        == "only for panels: a single series has the ridges"
    )
    assert (
        "at least 20 windows of seq_len + pred_len = 25"
        in plan_of(600).reasons["classical"]
    )


def test_what_the_user_asks_for_alone_takes_part_at_any_length():
    """Classical forecasters without ridges; a regressor in place of trees."""
    assert plan_of(5000, members=["classical"]).reasons == {}
    assert "trees" in plan_of(100, members=["ridges", Ridge()]).settings.members


def test_classical_forecasters_see_gaps_that_windows_do_not():
    assert "classical" not in plan_of(600, missing=slice(None, None, 8)).reasons
    assert "classical" in plan_of(600, missing=slice(None, None, 20)).reasons


def test_who_is_not_asked_has_no_reason():
    plan = Plan(settings_of(members=["ridges"])).without(
        "some reason", "trees", "ridges"
    )
    assert plan.reasons == {"ridges": "some reason"}
    assert plan.settings.members == {}


@pytest.mark.parametrize(
    ("members", "n_series", "has_split", "scheme"),
    [
        (["ridges", "network"], 1, True, Scheme.BY_STEP),
        (["ridges", "network"], 2, True, Scheme.BY_SERIES),
        (["ridges", "classical"], 1, True, Scheme.BY_SERIES),
        (["ridges", "network"], 1, False, Scheme.ONE_ALONE),
        (["network"], 1, True, Scheme.ONE_ALONE),
        (["classical"], 3, False, Scheme.ONE_ALONE),
        (["classical", "own"], 3, False, Scheme.BY_LAST_ROWS),
        (["ridges", "own"], 1, True, Scheme.BY_STEP),
    ],
)
def test_what_is_held_out_decides_how_members_are_weighed(
    members, n_series, has_split, scheme
):
    def own(history, horizon):
        return np.repeat(history[-1], horizon)

    chosen = [own if name == "own" else name for name in members]
    settings = settings_of(members=chosen)
    assert choose_scheme(settings, n_series=n_series, has_split=has_split) is scheme


@pytest.mark.parametrize(
    ("trees", "has_known", "n_forecasts", "last_value", "takes_part"),
    [
        ("auto", True, 12, 0.0, True),
        ("auto", True, 12, 0.4, True),
        ("auto", False, 2, 0.0, True),
        ("auto", False, 12, 0.4, False),
        (Ridge(), False, 12, 0.4, True),
        ("auto", False, 1, 0.0, False),
        ("auto", True, 1, 0.0, True),
        (Ridge(), False, 1, 0.0, True),
    ],
)
def test_trees_that_see_no_more_than_ridges_forecast_no_walk_nor_where_nothing_judges_them(
    trees, has_known, n_forecasts, last_value, takes_part
):
    """On walks the last value is best; one forecast says nothing of the next."""
    members = ["ridges", "trees" if trees == "auto" else trees]
    plan = plan_trees(
        Plan(settings_of(members=members)),
        has_known=has_known,
        n_forecasts=n_forecasts,
        last_value=last_value,
    )
    assert (TREES in plan.settings.members) == takes_part
    assert (TREES in plan.reasons) != takes_part
