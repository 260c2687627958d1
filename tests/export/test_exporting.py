"""What is exported forecasts what `predict` does, from raw windows; nobody's share is left out."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from flat_parameters import with_parts
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import PowerTransformer
from sklearn.tree import DecisionTreeRegressor

from skinformer import Attention, InformerClassifier, InformerRegressor
from skinformer.estimators.exporting import exported_module
from skinformer.serving import window_inputs

SMALL = {
    "seq_len": 24,
    "pred_len": 6,
    "d_model": 8,
    "n_heads": 2,
    "max_iter": 1,
    "members": ["ridges", "network"],
    "patch_len": 1,
    "random_state": 0,
    "device": "cpu",
}


def make_frame(n=640, *, start="2024-01-01", seed=0, **options):
    """Make a wave with a past-only and a known column, in odd units."""
    noise = np.random.default_rng(seed).normal(size=(n, 3))
    columns = {
        "flow": 3.0 + noise[:, 0],
        "price": 20.0 + 2 * noise[:, 1],
        "load": 1000.0 + 50 * np.sin(np.arange(n) / 4) + 5 * noise[:, 2],
    }
    return pd.DataFrame(
        columns, index=pd.date_range(start, periods=n, freq="h", **options)
    )


def fit(X, y=None, **changes):
    """Fit, and let the network count: a small one earns no trust on so few rows."""
    settings = {**SMALL, "target": "load", "known_future": ["price"], **changes}
    model = InformerRegressor(**with_parts(**settings)).fit(X, y)
    if settings["members"] == SMALL["members"]:
        model.ensemble_ = model.ensemble_.with_network_share(0.7)
    return model


def served(model, X, origins=None, call=None):
    """Forecast by what is exported."""
    inputs, labels = window_inputs(X, model.signature_, origins)
    call = call or exported_module(model)
    with torch.inference_mode():
        forecast, fed_back = call(**{k: torch.from_numpy(v) for k, v in inputs.items()})
    columns = [f"load{j}" if j else "load" for j in range(forecast.shape[2])]
    return tuple(
        pd.DataFrame(
            part.reshape(len(labels), -1).numpy(), index=labels, columns=columns
        )
        for part in (forecast, fed_back)
    )


def assert_close(one, other, spread):
    """Compare with what a target spreads."""
    assert np.abs(np.asarray(one) - np.asarray(other)).max() < 1e-5 * spread


def without_truth(X, n):
    """Hide what is not known of the last rows."""
    X = X.copy()
    X.iloc[-n:, [X.columns.get_loc(name) for name in ("load", "flow")]] = np.nan
    return X


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"members": ["network"]},
        {"members": ["network"], "attention": "probsparse"},
        {
            "members": ["network"],
            "attention": Attention(
                encoder="probsparse", decoder="probsparse", factor=1
            ),
        },
        {"members": ["network"], "block": "bf16", "precision": "bf16"},
        {"members": ["network"], "calendar": None},
        {"members": ["network"], "patch_len": 5, "label_len": 7, "position": "learned"},
        {"members": ["network"], "window_norm": False, "distil": False},
        {"members": ["network"], "embeddings": ["missing", "mask"]},
        {"loss": 0.3},
        {"target_transform": "log"},
        {"known_future": None, "target": ["load", "price"]},
    ],
    ids=str,
)
def test_an_exported_model_forecasts_what_forecast_does(changes):
    """Whatever the network is made of, and with a network that has its share."""
    # Ridges alone speak of long tables.
    X = make_frame(240 if "members" in changes else 640)
    model = fit(X[:-6], **changes)
    expected = model.forecast(
        X[-6:][["price"]] if "price" in model.roles_.known else None
    )
    forecast, _ = served(
        model, without_truth(X, 6)[: None if model.roles_.known else -6]
    )
    assert_close(forecast, expected, 35)
    assert forecast.index.equals(expected.index)


def test_windows_of_many_origins_are_the_blocks_of_predict():
    """The batch is any number of windows: a whole evaluation in one call."""
    X = make_frame()
    model = fit(X[:-60], members=["network"], attention="probsparse")
    origins = X.index[-60::6]
    forecast, _ = served(model, X, origins)
    assert len(forecast) == 60
    assert_close(forecast["load"], model.predict(X[-60:]), 35)


@pytest.mark.parametrize(
    "index",
    [
        *(
            pd.date_range("1950-01-31", periods=420, freq=freq)
            for freq in ["D", "W-WED", "ME", "B"]
        ),
        *(
            pd.period_range("1950-01-31", periods=420, freq=freq)
            for freq in ["h", "W-WED", "2M"]
        ),
    ],
    ids=lambda index: f"{type(index).__name__}, {index.freqstr}",
)
def test_every_clock_gives_the_graph_its_calendar(index):
    """Fields of weeks and months, and of periods."""
    df = pd.DataFrame({"load": np.sin(np.arange(420.0))}, index=index)
    fields = ["weekday", "day", "week", "month"]
    model = fit(df, known_future=None, members=["network"], calendar=fields)
    assert_close(served(model, df)[0], model.forecast(), 0.7)


def test_hours_keep_the_clock_on_the_wall_through_daylight_saving():
    """A graph is given the fields that the wall shows."""
    X = make_frame(start="2024-03-07 00:00", tz="Europe/Berlin")
    model = fit(X[:-6], members=["network"])
    rows = without_truth(X, 6)
    expected = model.forecast(X[-6:][["price"]])
    for given in (rows, rows.tz_convert("UTC")):  # as a server reads them
        forecast, _ = served(model, given)
        assert_close(forecast, expected, 35)
        assert forecast.index.equals(expected.index)


def make_week(n=2300, **options):
    """Make a frame whose load goes by the hour of the week, and its price by the hour."""
    X = make_frame(n, **options)
    week, hour = 60 * np.random.default_rng(9).normal(size=168), X.index.hour
    X["load"] += week[24 * X.index.day_of_week + hour]
    X["load"] += 4 * (X["price"] - 20) * np.where(hour < 12, 3.0, -1.0)
    return X


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "tz"), [({}, "Europe/Berlin"), ({"known_future": None}, None)], ids=str
)
def test_what_the_calendar_does_is_in_the_graph(changes, tz):
    """Cells are counted there, through daylight saving; and a price beyond all is the highest."""
    X = make_week(tz=tz)
    model = fit(X[:-300], **changes)
    known = model.module_.path.calendar.known
    assert known.shape == ((24, 1, 1) if model.roles_.known else (1, 0, 1))
    X.iloc[-3, X.columns.get_loc("price")] = 30.0
    origins = X.index[-300::6]
    # Tracing takes seconds; without a price it is tested where the path is.
    for call in (
        (None, model.export_program().module()) if model.roles_.known else (None,)
    ):
        forecast, _ = served(model, X, origins, call=call)
        assert len(forecast) == 300
        assert_close(forecast["load"], model.predict(X[-300:]), 70)
    model.module_.path.calendar.level.zero_()
    other, _ = served(model, X, origins)
    assert np.abs(other["load"] - forecast["load"]).mean() > 10


def make_panel(n=240, sites=("north", "south", "east")):
    """Make series of different sizes, with a static column."""
    parts = []
    for i, site in enumerate(sites):
        part = make_frame(n, seed=i).assign(area=10.0 ** (i + 1))
        part["load"] = (
            np.exp(part["load"] / 100) if site == "south" else part["load"] * 10**i
        )
        part.index = pd.MultiIndex.from_product(
            [[site], part.index], names=["site", "time"]
        )
        parts.append(part)
    return pd.concat(parts)


@pytest.mark.parametrize(
    "changes", [{}, {"members": ["network"], "embeddings": ["series"]}], ids=str
)
def test_a_panel_has_scales_vectors_and_trust_of_each_series(changes):
    """Series that the fit did not hold have the panel's."""
    X = make_panel(700)
    fitted = X.loc[["north", "south"]]
    known = fitted.groupby(level=0).head(694)
    model = fit(known, **changes)
    if "ridges" in model.ensemble_.members:
        trust = np.array([[0.2], [0.9], [0.4]])
        model.ensemble_ = model.ensemble_.with_network_share(trust[:, None])
    last = X.groupby(level=0).tail(6)
    hidden = X.copy()
    hidden.loc[last.index, ["load", "flow"]] = np.nan
    forecast, _ = served(model, hidden.loc[["south", "north"]])
    expected = model.forecast(last.loc[["north", "south"]][["price", "area"]])
    for site in ("north", "south"):
        spread = X.loc[site, "load"].std()
        assert_close(forecast.loc[site], expected.loc[site], spread)
    forecast, _ = served(model, hidden.loc[["east"]])
    expected = model.forecast(hidden.loc[["east"]])
    assert_close(forecast, expected, X.loc["east", "load"].std())


def test_the_target_is_in_the_units_of_y_whatever_scales_the_rows():
    """Input and output of a graph have the same units; a scaler before the model stays outside."""
    X = make_frame()
    scaled = X.assign(load=(X["load"] - 900) / 7)
    model = fit(scaled[:-6], X["load"][:-6], members=["network"])
    expected = model.predict(without_truth(scaled, 6)[-6:])
    assert_close(served(model, without_truth(X, 6))[0]["load"], expected, 35)


def test_features_and_their_truth_are_columns_of_one_window():
    """In features mode the history is y's, and all columns are known ahead."""
    X = make_frame()
    features = X[["flow", "price"]]
    model = fit(
        features[:-6],
        X["load"][:-6],
        target=None,
        known_future=None,
        members=["network"],
    )
    assert model.signature_.columns == ("load", "flow", "price")
    rows = X.assign(load=X["load"].where(np.arange(len(X)) < len(X) - 6))
    assert_close(served(model, rows)[0]["load"], model.predict(features[-6:]), 35)


def test_bounds_are_kept():
    """No forecast of what never was below zero falls below it; what is fed back may."""
    X = make_frame()[["load"]]
    falling = np.linspace(300, -30, len(X))
    X["load"] = (X["load"] - 1000 + falling).clip(lower=0)
    model = fit(X, known_future=None)
    origins = X.index[-240::6]
    forecast, fed_back = served(model, X, origins)
    assert_close(forecast["load"], model.predict(X[-240:]), X["load"].std())
    assert forecast["load"].min() == 0 > fed_back["load"].min()


@pytest.mark.parametrize("embeddings", [(), ["missing"]])
def test_a_series_shorter_than_a_window_begins_where_it_begins(embeddings):
    """Rows before the first one are the training mean, as where `predict` has no more rows."""
    X = make_frame()
    model = fit(X, members=["network"], embeddings=embeddings)
    young = make_frame(16, start="2030-01-01", seed=7)
    with pytest.warns(UserWarning, match="update"):
        expected = model.forecast(without_truth(young, 6))
    assert_close(served(model, without_truth(young, 6))[0], expected, 35)


def test_missing_covariates_are_held_and_leading_targets_are_the_mean():
    """As `predict` has it for a frame of these rows."""
    X = make_frame()
    model = fit(X, members=["network"])
    later = without_truth(make_frame(30, start="2030-01-01", seed=7), 6)
    later.iloc[:5, 2] = np.nan
    later.iloc[10:13, 0] = np.nan
    with pytest.warns(UserWarning, match=r".") as warned:
        expected = model.forecast(later)
    assert any("forward-filled" in str(each.message) for each in warned)
    assert_close(served(model, later)[0], expected, 35)


@pytest.mark.parametrize("gap", [slice(-10, -8), slice(-7, -6), slice(-30, -6)])
def test_a_window_with_a_hole_has_no_forecast(gap):
    """Its filler depends on rows before the window: NaN is no number that someone believes."""
    X = make_frame()
    model = fit(X, members=["network"])
    rows = without_truth(X, 6)
    rows.iloc[gap, 2] = np.nan
    forecast, fed_back = served(model, rows, rows.index[[-6]])
    assert forecast.isna().all(axis=None)
    assert fed_back.isna().all(axis=None)


def test_what_is_fed_back_continues_a_forecast_as_forecast_does():
    """Means of exponentials are no logarithms: a recursion goes on from medians."""
    X = make_frame(seed=3)[["load"]].assign(load=lambda df: np.exp(df["load"] / 100))
    model = fit(X, known_future=None, target_transform="log")
    targets = model.scaler_.targets
    model.scaler_ = replace(
        model.scaler_, targets=replace(targets, smear=targets.smear + 0.3)
    )
    first, fed_back = served(model, X)
    second, _ = served(model, pd.concat([X, fed_back]))
    both = pd.concat([first, second])
    assert_close(both, model.forecast(horizon=12), X["load"].std())
    wrong, _ = served(model, pd.concat([X, first]))
    assert np.abs(wrong - second).max(axis=None) > 0.1 * X["load"].std()


@pytest.mark.slow
def test_a_program_of_torch_export_has_a_named_batch():
    """One program for a request and for ten thousand; it holds no generator."""
    X = make_frame()
    model = fit(X[:-60], attention="probsparse", n_encoder_layers=1)
    program = model.export_program()
    placeholders = {node.name: node.meta.get("val") for node in program.graph.nodes}
    assert list(program.graph_signature.user_inputs) == list(model.signature_.inputs)
    for name in program.graph_signature.user_inputs:
        assert not isinstance(placeholders[name].shape[0], int)
    assert "randperm" not in str(program.graph)
    call = program.module()
    for origins in (X.index[-60::6], X.index[[-60]]):
        forecast, _ = served(model, X, origins, call)
        alone = model.predict(X[-60:])[: len(forecast)]
        assert_close(forecast["load"], alone, 35)


def test_exporting_leaves_the_model_as_it_is():
    """Keys are drawn in a copy: a warm start draws them as before."""
    X = make_frame()
    model = fit(X, members=["network"], attention="probsparse")
    before = model.predict(X), list(model.module_.state_dict())
    exported_module(model)
    assert np.array_equal(model.predict(X), before[0])
    assert list(model.module_.state_dict()) == before[1]


def test_the_signature_is_plain():
    """It travels as JSON, to programs that know neither pandas nor this package."""
    X = make_panel(240, sites=(3, 5))
    model = fit(X, members=["network"])
    signature = json.loads(model.signature_.to_json())
    assert signature == {
        "version": 3,
        "targets": ["load"],
        "past": ["flow"],
        "known": ["price", "area"],
        "calendar": ["hour", "weekday"],
        "seq_len": 24,
        "pred_len": 6,
        "inputs": ["past", "future", "series", "calendar"],
        "series": [3, 5],
        "freq": "h",
        "tz": None,
        "may_miss": False,
        "origin": None,
        "closed": [],
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"loss": [0.1, 0.9]},
            "loss=[0.1, 0.9] cannot be exported: quantiles of several levels are "
            "calibrated by the errors of earlier windows, which a graph of one window "
            "does not have. Export one model per level, such as loss=0.1; its "
            "quantiles are then not calibrated.",
        ),
        (
            {"target_transform": PowerTransformer()},
            "target_transform=PowerTransformer() cannot be exported: a graph can only "
            'take logarithms. Fit with target_transform="log" or None, or transform '
            "the target yourself, before fit and after the graph.",
        ),
        (
            {"position": "continuous"},
            "position='continuous' cannot be exported: a graph does not get the "
            "times. Fit with position='sinusoidal', which is the same if all steps "
            "are equal.",
        ),
    ],
    ids=["quantiles", "transformer", "continuous"],
)
def test_what_cannot_go_in_is_refused(changes, message):
    """A graph that lacks a share of the forecasts would forecast something else, silently."""
    model = fit(make_frame(), **changes)
    for export in (model.export_program, lambda: model.export_onnx("never.onnx")):
        with pytest.raises(ValueError, match=r".") as caught:
            export()
        assert str(caught.value) == message


REFUSAL = (
    "what {} forecast cannot be exported: a graph holds only ridges and the network. "
    "Fit with members=['ridges', 'network'], or members=['network'] if series are too "
    "short for ridges, and compare the errors by backtest: they were 10 to 42% larger "
    "without trees on four long tables, and 26% with ridges alone on eight panels. Or "
    "serve the whole model with save and skinformer.load."
)


@pytest.mark.slow
def test_each_member_is_limited_before_it_is_weighed():
    """As in `predict`: what one says too much is not shared by the others."""
    X = make_frame()
    X["load"] *= np.exp(np.arange(640) / 50)  # beyond whatever a window has seen
    model, origins = fit(X[:-60], target_transform="log"), X.index[-60::6]
    free, targets = served(model, X, origins)[0]["load"], model.scaler_.targets
    targets = replace(targets, top=targets.top - 1.0, rise=targets.rise * 0)
    model.scaler_ = replace(model.scaler_, targets=targets)
    forecast = served(model, X, origins)[0]["load"]
    assert_close(
        forecast / X["load"][-60:], model.predict(X[-60:]) / X["load"][-60:], 1
    )
    assert 0 < (forecast < 0.99 * free).mean() < 0.9


@pytest.mark.usefixtures("few_trees")
def test_trees_are_refused():
    """They have a share in the forecasts of long tables."""
    model = fit(make_frame(1900), members=["ridges", "trees"])
    with pytest.raises(ValueError, match=r".") as caught:
        model.export_program()
    assert str(caught.value) == REFUSAL.format("trees")


def test_ridges_of_each_series_are_refused():
    """They have a share in the forecasts of panels."""
    model = fit(make_panel(400), members=["ridges", "own_ridges"])
    with pytest.raises(ValueError, match=r".") as caught:
        model.export_program()
    assert str(caught.value) == REFUSAL.format("own_ridges")


def test_a_regressor_of_the_users_is_refused():
    """A graph without it would forecast something else, silently."""
    X = make_frame(1600)
    X["load"] += 100 * (X["price"] > 20)
    model = fit(X, members=["ridges", DecisionTreeRegressor(max_depth=4), "network"])
    with pytest.raises(ValueError, match=r".") as caught:
        model.export_program()
    assert str(caught.value) == REFUSAL.format("DecisionTreeRegressor")


def test_classical_forecasters_are_refused():
    """Of short series these forecast alone, or with a share."""
    X = make_frame(40)[["load"]]
    with pytest.warns(UserWarning, match="network"):
        model = fit(X, members=["classical", "ridges", "network"], known_future=None)
    with pytest.raises(ValueError, match=r".") as caught:
        model.export_program()
    assert str(caught.value) == REFUSAL.format("classical")


def test_classes_are_refused():
    """Frequencies, transitions and trees share their probabilities."""
    X = make_frame()[["load"]]
    X["load"] = np.where(X["load"] > 1000, "high", "low")
    settings = {name: value for name, value in SMALL.items() if name != "members"}
    model = InformerClassifier(
        "load", **with_parts(members=["network"], **settings)
    ).fit(X)
    with pytest.raises(ValueError, match=r".") as caught:
        model.export_program()
    assert str(caught.value) == (
        "InformerClassifier cannot be exported: its probabilities come from several "
        "forecasters, but a graph holds only ridges and the network. Serve it with "
        "skinformer.load or pickle, or export an InformerRegressor."
    )


def test_an_estimator_that_was_not_fitted_is_refused():
    """As everywhere."""
    model = InformerRegressor("load")
    for call in (
        model.export_program,
        lambda: model.export_onnx("x"),
        lambda: model.signature_,
    ):
        with pytest.raises(NotFittedError):
            call()
