"""The course of a fit, and the weights of its members."""

import copy
import re
import sys

import numpy as np
import pandas as pd
import pytest
from blends import base_blend, trust
from flat_parameters import with_parts
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeRegressor

from skinformer import InformerRegressor
from skinformer.display import (
    CoverageDisplay,
    ErrorDisplay,
    ResidualDisplay,
    TrainingDisplay,
    WeightsDisplay,
)
from skinformer.evaluation import SeasonalNaive

SMALL = {"seq_len": 24, "pred_len": 6, "d_model": 8, "n_heads": 1, "random_state": 0}


@pytest.fixture(scope="module")
def with_trees(hours):
    return InformerRegressor(
        **with_parts(
            members=["ridges", DecisionTreeRegressor(max_depth=4), "network"],
            max_iter=1,
            **SMALL,
        )
    ).fit(hours[:300].assign(load=lambda df: df["load"] * (1 + (df.index.hour == 5))))


@pytest.fixture(scope="module")
def short_panel():
    """Fit two short series, which classical forecasters forecast alone."""
    months = pd.date_range("2020-01-01", periods=30, freq="MS")
    frame = pd.DataFrame({"sales": np.arange(30.0) + 50}, index=months)
    panel = pd.concat({"a": frame, "b": 200 - frame})
    return InformerRegressor(**with_parts(**SMALL)).fit(panel)


def test_losses_are_those_of_the_history(fitted, texts):
    display = TrainingDisplay.from_estimator(fitted)
    losses = [line.get_ydata() for line in display.lines_]
    np.testing.assert_array_equal(losses[0], fitted.history_["loss"])
    np.testing.assert_array_equal(losses[1], fitted.history_["validation_loss"])
    best = int(fitted.history_["validation_loss"].idxmin()) + 1
    assert f"dashed: {best}, with the lowest loss" in display.ax_.get_xlabel()
    assert texts(display.ax_) == ["training", "validation"]
    assert set(display.ax_.lines[2].get_xdata()) == {best}


def test_trust_is_told(fitted):
    """A loss that falls is no use if the forecast takes nothing of it."""
    display = TrainingDisplay.from_estimator(make_pipeline("passthrough", fitted))
    told = f"uses {trust(fitted):.0%} of the network's correction."
    assert display.ax_.get_xlabel().endswith(told)


def test_without_held_out_rows_there_is_one_loss(hours):
    """A line of NaN would be a name in the legend, and nothing else."""
    model = InformerRegressor(
        **with_parts(members=["network"], early_stopping=False, max_iter=2, **SMALL)
    )
    display = TrainingDisplay.from_estimator(model.fit(hours[:100]))
    assert [line.get_label() for line in display.lines_] == ["training"]
    assert display.ax_.get_xlabel() == "epoch (dashed: 2, with the lowest loss)"


def test_a_network_that_was_not_trained_has_no_course(short_panel):
    """Empty axes look like a defect."""
    message = (
        "history_ has no epochs: the network was not trained, because these series "
        "are too short for it. WeightsDisplay shows which models forecast them."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        TrainingDisplay.from_estimator(short_panel)


@pytest.mark.parametrize("display", [TrainingDisplay, WeightsDisplay])
def test_other_estimators_have_nothing_to_tell(display, hours):
    naive = SeasonalNaive(target=["load"]).fit(hours)
    with pytest.raises(AttributeError, match="SeasonalNaive' object has no attribute"):
        display.from_estimator(naive)


@pytest.mark.parametrize("by", ["ahead", "series"])
@pytest.mark.parametrize("kind", ["fitted", "with_trees", "short_panel"])
def test_shares_have_the_sum_one(kind, by, request):
    """Someone says each part of a forecast."""
    model = request.getfixturevalue(kind)
    shares = WeightsDisplay.from_estimator(model, by=by).weights
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=0.01)


def test_shares_by_step_are_those_of_the_fit(with_trees, texts):
    """Trees prove themselves at some steps ahead and not at others."""
    display = WeightsDisplay.from_estimator(with_trees)
    assert list(display.weights.index) == [1, 2, 3, 4, 5, 6]
    trees = with_trees.ensemble_.weights_of("DecisionTreeRegressor")[0, :, 0]
    assert trees.max() > 0.1
    np.testing.assert_allclose(display.weights["DecisionTreeRegressor"], trees)
    mean = display.weights["DecisionTreeRegressor"].mean()
    assert mean == pytest.approx(
        base_blend(with_trees)["DecisionTreeRegressor"], abs=1e-4
    )
    first = next(iter(display.weights))
    area = display.ax_.collections[0].get_paths()[0].vertices
    top = [area[area[:, 0] == step, 1].max() for step in range(1, 7)]
    np.testing.assert_allclose(top, display.weights[first])
    assert texts(display.ax_) == list(display.weights)


def test_trust_is_the_network_s_share_of_the_ridges(fitted, with_trees):
    """As `series_blend_` has it, also for fits that have none; the rest is ridges alone."""
    linear, both = copy.copy(fitted), copy.copy(with_trees)
    for model in (linear, both):
        model.ensemble_ = model.ensemble_.with_network_share(0.25)
        shares = WeightsDisplay.from_estimator(model).weights
        np.testing.assert_allclose(shares["ridges"], 3 * shares["network"])
        np.testing.assert_allclose(shares.sum(axis=1), 1)


def test_shares_by_series_are_bars_of_their_names(short_panel):
    """Series by series, the classical forecasters as one."""
    display = WeightsDisplay.from_estimator(short_panel, by="series")
    assert list(display.weights) == ["classical"]
    assert [tick.get_text() for tick in display.ax_.get_yticklabels()] == ["a", "b"]
    assert [bar.get_width() for bar in display.ax_.patches] == pytest.approx([1, 1])


def test_many_series_have_no_names(pyplot):
    """A thousand names are a black column."""
    shares = pd.DataFrame(
        {"ridges": 0.25, "trees": 0.75}, index=[f"s{i}" for i in range(99)]
    )
    display = WeightsDisplay(shares).plot()
    assert display.ax_.get_yticklabels() == []
    assert display.ax_.patches[99].get_x() == 0.25


def test_the_network_alone_says_all(hours):
    """As its authors had it."""
    model = InformerRegressor(
        **with_parts(members=["network"], max_iter=1, **SMALL)
    ).fit(hours[:100])
    for by in ("ahead", "series"):
        assert WeightsDisplay.from_estimator(model, by=by).weights.to_numpy().min() == 1
    with pytest.raises(
        ValueError, match=r"^by='x' must be one of \['ahead', 'member', 'series'\]"
    ):
        WeightsDisplay.from_estimator(model, by="x")


@pytest.mark.parametrize(
    "draw",
    [
        lambda r: ErrorDisplay.from_predictions(r),
        lambda r: CoverageDisplay.from_predictions(r),
        lambda r: ResidualDisplay.from_predictions(r),
        lambda r: WeightsDisplay(pd.DataFrame({"trees": [1.0]})).plot(),
        lambda r: TrainingDisplay(pd.DataFrame({"epoch": [1]})).plot(),
    ],
)
def test_without_matplotlib_each_says_what_to_install(result, draw, monkeypatch):
    """It is an extra, and the name is that of the picture."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(
        ImportError, match=r"^\w+Display draws .* pip install 'skinformer\[plot\]'"
    ):
        draw(result)
