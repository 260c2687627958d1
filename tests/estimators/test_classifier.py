"""InformerClassifier: labels in, labels and probabilities out."""

import pickle
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from blends import base_blend, trust
from flat_parameters import with_parts
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.metrics import ConfusionMatrixDisplay, log_loss
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    KFold,
    TimeSeriesSplit,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skinformer import InformerClassifier
from skinformer.ensemble import classes
from skinformer.ensemble.building import ModelSizes
from skinformer.ensemble.ensemble import Ensemble, EnsembleForecaster
from skinformer.ensemble.head import ClassHead
from skinformer.ensemble.network import NetworkMember
from skinformer.ensemble.windows import Rows
from skinformer.timeline.clock import RowClock

P = {
    "seq_len": 24,
    "pred_len": 6,
    "d_model": 16,
    "n_heads": 2,
    "max_iter": 1,
    "random_state": 0,
}
LEVELS = ["quiet", "normal", "busy"]


def make_frame(n=300, seed=0):
    """Give hours that are quiet at night, and busy more often the higher the price."""
    hours = pd.date_range("2024-01-01", periods=n, freq="h")
    rng = np.random.default_rng(seed)
    price = rng.random(n)
    level = np.where(
        hours.hour < 8, "quiet", np.where(price + rng.random(n) > 1, "busy", "normal")
    )
    return pd.DataFrame({"price": price, "level": level}, index=hours)


@pytest.fixture(scope="module")
def df():
    return make_frame()


@pytest.fixture(scope="module")
def fitted(df):
    return InformerClassifier("level", **with_parts(known_future=["price"], **P)).fit(
        df[:-24]
    )


def test_it_is_a_classifier_whose_names_are_those_of_scikit_learn(fitted, df):
    """Whoever knows one classifier knows this one."""
    assert is_classifier(fitted)
    assert fitted.classes_.tolist() == ["busy", "normal", "quiet"]
    probabilities = fitted.predict_proba(df)
    assert probabilities.shape == (300, 3)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_array_equal(
        fitted.classes_[probabilities.argmax(axis=1)], fitted.predict(df)
    )
    np.testing.assert_array_equal(np.log(probabilities), fitted.predict_log_proba(df))
    truth = df["level"].to_numpy()
    assert (
        fitted.score(df)
        == fitted.score(df, truth)
        == np.mean(fitted.predict(df) == truth)
    )
    assert fitted.score(df) > 0.75


def test_before_a_fit_there_are_no_classes():
    """Tools ask by `hasattr`."""
    assert not hasattr(InformerClassifier(), "classes_")
    assert not hasattr(InformerClassifier(), "predict_interval")


def test_a_forecast_is_the_prediction_of_the_future_frame(fitted):
    """Labels and probabilities come with timestamps, columns are named by the labels."""
    future = fitted.make_future_frame(10)
    future["price"] = 0.9
    labels, probabilities = fitted.forecast(future), fitted.forecast_proba(future)
    np.testing.assert_array_equal(labels["level"], fitted.predict(future))
    np.testing.assert_array_equal(probabilities, fitted.predict_proba(future))
    assert probabilities.columns.tolist() == fitted.classes_.tolist()
    assert labels.index.equals(probabilities.index)
    assert labels.index[0] == pd.Timestamp("2024-01-12 12:00")


def relabelled(df, kind):
    level = df["level"]
    if kind == "bool":
        return level == "quiet"
    if kind == "int":
        return level.map({"quiet": 3, "normal": 5, "busy": 11})
    if kind == "categorical":
        return pd.Categorical(level, LEVELS, ordered=True)
    return level.astype(kind)


@pytest.fixture(scope="module")
def of_objects(df):
    """Give the probabilities of labels that are objects, of half the rows."""
    rows = df[:150].astype({"level": object})
    return InformerClassifier("level", **with_parts(**P)).fit(rows).predict_proba(rows)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["bool", "int", "categorical", "object", "str", "string"]
)
def test_labels_of_any_type_come_back_as_they_were(df, of_objects, kind):
    """Sorted as scikit-learn sorts them; a categorical keeps its order."""
    rows = df[:150].assign(level=relabelled(df[:150], kind))
    model = InformerClassifier("level", **with_parts(**P)).fit(rows)
    assert model.classes_.tolist() == sorted(set(rows["level"].tolist()))
    predicted, labels = model.predict(rows), model.forecast()["level"]
    assert set(predicted) <= set(model.classes_)
    assert (predicted.dtype.kind, model.score(rows) > 0.5) == (
        {"bool": "b", "int": "i"}.get(kind, "O"),
        True,
    )
    if kind == "categorical":
        assert labels.dtype == rows["level"].dtype
        assert labels.cat.ordered
        later = pd.concat([rows, model.make_future_frame(2)])
        assert later["level"].dtype == labels.dtype
    if kind in ("categorical", "str", "string"):
        np.testing.assert_array_equal(of_objects, model.predict_proba(rows))


@pytest.mark.slow
@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT])
@pytest.mark.parametrize("given", ["frame", "both", "features"])
def test_missing_labels_are_left_out_and_filled(df, missing, given):
    """Whatever stands for one, in fit, update and score."""
    rows = df.astype({"level": object})
    rows.iloc[[40, 41, 200, 280], 1] = missing
    X = rows[["price"]] if given == "features" else rows
    y = None if given == "frame" else rows["level"]
    # A label is missing before anyone forecasts.
    members = "auto" if missing is np.nan else ["network"]
    model = InformerClassifier(
        None if given == "features" else "level", **with_parts(members=members, **P)
    )
    model.fit(X[:270], None if y is None else y[:270])
    assert len(model.classes_) == 3
    assert np.isnan(model.predict_proba(X)).sum() == 0
    filled = model.timeline_.values[[40, 41, 200], :3]
    np.testing.assert_allclose(filled.sum(axis=1), 1, rtol=1e-6)
    assert (filled > 0).all()  # an expectation, no class
    model.update(X[270:], None if y is None else y[270:])
    assert model.make_future_frame().index[0] == df.index[-1] + pd.Timedelta("1h")
    assert 0 < model.score(X, y) <= 1


def test_several_targets_have_a_list_of_probabilities(df):
    """As scikit-learn's multi-output classifiers."""
    rows = df.assign(cheap=df["price"] < 0.5)
    model = InformerClassifier(["level", "cheap"], **with_parts(**P)).fit(rows)
    assert [classes.tolist() for classes in model.classes_] == [
        ["busy", "normal", "quiet"],
        [False, True],
    ]
    parts = model.predict_proba(rows)
    assert [part.shape for part in parts] == [(300, 3), (300, 2)]
    assert model.predict(rows).shape == (300, 2)
    assert model.forecast_proba().columns.tolist()[-2:] == [
        ("cheap", False),
        ("cheap", True),
    ]
    assert model.forecast().dtypes.tolist()[1] == np.dtype(bool)
    right = (model.predict(rows) == rows[["level", "cheap"]].to_numpy()).all(axis=1)
    assert model.score(rows) == right.mean()


def test_a_panel_of_series_has_rows_for_each(df):
    """Series differ in how often a class comes."""
    sites = {"a": df[:150], "b": df[:120].assign(level="busy")}
    panel = pd.concat(sites, names=["site", "time"])
    model = InformerClassifier("level", **with_parts(**P)).fit(panel)
    forecast = model.forecast_proba()
    assert forecast.shape == (12, 3)
    mean = forecast.groupby(level=0)["busy"].mean()
    assert mean["b"] > mean["a"]


def test_a_label_that_training_never_saw_is_wrong_in_a_score_and_missing_as_history(
    fitted, df
):
    """A rare class may be in the test fold alone: cross-validation must go on."""
    rows = df[-24:].copy()
    rows.iloc[0, 1] = "closed"
    with pytest.warns(
        UserWarning, match="holds 'closed', which fit never saw"
    ) as caught:
        predicted = fitted.predict(rows)
    assert str(caught[0].message) == (
        "X (column 'level') holds 'closed', which fit never saw (1 row of such labels): they "
        "are taken as missing. Fit again with rows that hold them."
    )
    truth = rows["level"].to_numpy()
    with pytest.warns(UserWarning, match="which fit never saw"):
        assert fitted.score(rows, truth) == np.mean(predicted == truth)


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        (
            lambda df: df["price"],
            ValueError,
            r"^Unknown label type: continuous. X \(column 'level'\) holds 0.63696\d, and classes "
            "are labels. Use InformerRegressor to forecast numbers, or make classes of them",
        ),
        (
            lambda df: df["level"].astype(object).where(df["level"] != "busy", 3),
            TypeError,
            r"^X \(column 'level'\) mixes labels of types int and str, which have no order: make "
            r"them all of one type, for example by astype\(str\).$",
        ),
        (lambda df: np.nan, ValueError, "^Input y contains NaN only"),
    ],
)
def test_labels_that_are_no_classes_are_refused(df, labels, error, message):
    """The message says what to type instead."""
    with pytest.raises(error, match=message):
        InformerClassifier("level", **with_parts(**P)).fit(df.assign(level=labels(df)))


def test_a_target_of_x_that_went_through_a_scaler_is_refused(df):
    """Scaled codes are no labels of y."""
    rows = df.assign(level=(df["level"] == "busy").astype(int))
    piped = make_pipeline(
        StandardScaler(), InformerClassifier("level", **with_parts(**P))
    )
    with pytest.raises(
        ValueError,
        match=r"in the column 'level', which is not a class of y, although both",
    ):
        piped.set_output(transform="pandas").fit(rows, rows["level"])


def test_a_regressor_is_no_base_of_classes(df):
    """It has no probabilities."""
    model = InformerClassifier(
        "level",
        **with_parts(
            members=["classes", RandomForestClassifier(n_estimators=3), "network"], **P
        ),
    ).fit(df)
    assert list(base_blend(model))[-1] == "RandomForestClassifier"
    with pytest.raises(ValueError, match=r"holds Ridge\(\), which is no member"):
        InformerClassifier(
            "level", **with_parts(members=["classes", Ridge()], **P)
        ).fit(df)


def test_class_weights_move_probabilities_to_rare_classes(df):
    """The rows are as if the classes were equally often, whoever speaks."""
    rare = df.assign(level=np.where(df["price"] > 0.9, "rare", "usual"))[["level"]]
    plain, balanced, heavy = (
        InformerClassifier(**with_parts(class_weight=weight, **P))
        .fit(rare)
        .forecast_proba()["rare"]
        .mean()
        for weight in (None, "balanced", {"rare": 1000.0, "usual": 1.0})
    )
    assert plain < 0.25 < balanced < 0.75 < heavy
    message = "class_weight has 2 entries for 1 target"
    with pytest.raises(ValueError, match=message):
        InformerClassifier(**with_parts(class_weight=[None, "balanced"], **P)).fit(rare)


def test_a_weight_counts_rows_so_often(df):
    """Rows of weight 0 are as good as missing ones."""
    weight = (df["level"] != "busy").to_numpy(dtype=float)
    model = InformerClassifier("level", **with_parts(**P)).fit(df, sample_weight=weight)
    assert model.forecast_proba()["busy"].max() < 0.1


# Who speaks


def test_simple_forecasters_and_the_network_share_the_forecast(df):
    """The blend tells who; nothing of it without a base."""
    model = InformerClassifier("level", **with_parts(**P)).fit(df)
    assert list(base_blend(model)) == ["season", "transitions", "logistic"]
    assert sum(base_blend(model).values()) == pytest.approx(1, abs=1e-3)
    assert base_blend(model)["transitions"] < 0.2
    alone = InformerClassifier("level", **with_parts(members=["network"], **P)).fit(df)
    assert (base_blend(alone), trust(alone)) == ({}, 1.0)


@pytest.mark.slow
def test_trees_take_part_where_rows_are_many():
    """From 1500 truths on."""
    model = InformerClassifier("level", **with_parts(known_future=["price"], **P)).fit(
        make_frame(1600)
    )
    assert list(base_blend(model))[-1] == "trees"
    assert base_blend(model)["trees"] > 0.05


def test_noise_is_forecast_by_its_frequencies():
    """Where nothing can be known, nobody may be sure."""
    rng = np.random.default_rng(0)
    hours = pd.date_range("2024-01-01", periods=1700, freq="h")
    noise = pd.DataFrame({"coin": rng.random(1700) < 0.3}, index=hours)
    model = InformerClassifier(**with_parts(**P)).fit(noise[:1500])
    probabilities = model.predict_proba(noise[1500:])
    best = log_loss(noise["coin"][1500:], np.full(200, 0.3))
    assert log_loss(noise["coin"][1500:], probabilities[:, 1]) < 1.02 * best


def test_the_network_speaks_as_far_as_it_is_trusted(df, monkeypatch):
    """Its logits are mixed in, and divided by the temperature with the others."""
    model = InformerClassifier("level", **with_parts(**P)).fit(df)
    each = np.array([[[[0.7, 0.2, 0.1]]], [[[0.5, 0.4, 0.1]]]])
    logits = np.array([[[2.0, 0.0, 0.0]]], dtype=np.float32)
    fit = SimpleNamespace(forecast=lambda *_: each, look_back=0)
    base = classes.Classes(fit, np.array([[0.5, 0.5]]))
    network = NetworkMember(
        lambda *_: torch.from_numpy(logits).repeat(32, 1, 1), None, (slice(0, 3),)
    )
    halves = Ensemble.combine(
        [base, network], {"classes": 0.5, "network": 0.5}, n_series=1, n_targets=3
    )
    sizes = ModelSizes(3, 0, 0, 0, 0, (), seq_len=1, pred_len=1, patch_len=1)
    forecast = EnsembleForecaster(
        replace(halves, temperature=2.0),
        sizes,
        np.array([0]),
        RowClock(),
        "cpu",
        model.head_,
    )
    rows = Rows(
        np.zeros((3, 3), dtype=np.float32),
        np.zeros(3, int),
        np.arange(3),
        np.zeros(1, int),
        np.ones((3, 3), dtype=bool),
    )
    logs = 2.0 - np.log(np.exp(2) + 2), -np.log(np.exp(2) + 2), -np.log(np.exp(2) + 2)
    expected = (0.5 * np.log([0.6, 0.3, 0.1]) + 0.5 * np.array(logs)) / 2
    np.testing.assert_allclose(forecast(rows, np.array([1]))[0, 0], expected, rtol=1e-6)
    monkeypatch.setattr("skinformer.judging.classes.minimax_share", lambda _: 4)
    trusting = InformerClassifier("level", **with_parts(**P)).fit(df)
    assert trust(trusting) == 1.0 != trust(model)
    assert not np.allclose(
        trusting.predict_proba(df), model.predict_proba(df), atol=1e-3
    )


def test_far_ahead_forecasts_are_fed_back_as_probabilities(df):
    """A run of likeliest classes would be as sure in a week as in an hour."""
    rng = np.random.default_rng(0)
    state = np.cumsum(rng.random(600) < 0.05) % 2
    model = InformerClassifier(**with_parts(calendar=None, **P)).fit(
        pd.DataFrame({"state": state})
    )
    sure = model.forecast_proba(horizon=60).max(axis=1)
    assert sure.iloc[0] > 0.85
    assert sure.iloc[-1] < sure.iloc[5]


# The head


def test_the_error_of_the_head_is_the_cross_entropy_of_each_target():
    """Smoothing and z-loss by their formulas; targets count alike whatever their classes."""
    head = ClassHead((3, 2), label_smoothing=0.1, z_loss=0.01)
    logits = torch.tensor([[[1.0, 0.0, -1.0, 0.5, 0.0]]])
    truth = torch.tensor([[[0.0, 1.0, 0.0, 1.0, 0.0]]])
    expected = []
    for own, k in ((logits[0, 0, :3], 1), (logits[0, 0, 3:], 0)):
        logs, n = torch.log_softmax(own, 0), len(own)
        smooth = torch.full((n,), 0.1 / (n - 1))
        smooth[k] = 0.9
        expected.append(0.01 * torch.logsumexp(own, 0) ** 2 - (smooth * logs).sum())
    assert head.error(logits, truth).mean().item() == pytest.approx(
        np.mean(expected), rel=1e-6
    )


def test_smoothing_and_z_loss_reach_the_training(df):
    """Two parameters that nothing reads would look the same."""

    def losses(**changes):
        return (
            InformerClassifier("level", **with_parts(**P | {"z_loss": 0.0} | changes))
            .fit(df)
            .loss_curve_
        )

    assert losses(label_smoothing=0.2) != losses() != losses(z_loss=1.0)


# Tools


@pytest.mark.slow
@pytest.mark.parametrize("scoring", ["roc_auc", "neg_log_loss", "balanced_accuracy"])
def test_searches_take_the_scores_of_classes(df, scoring):
    """By their names, on frames."""
    rows = df.assign(level=df["level"] == "busy")
    model = InformerClassifier(
        "level", **with_parts(known_future=["price"], members=["network"], **P)
    )
    search = GridSearchCV(
        model,
        {"training__label_smoothing": [0.0, 0.1]},
        scoring=scoring,
        cv=TimeSeriesSplit(2),
    )
    search.fit(rows, rows["level"])
    assert np.isfinite(search.best_score_)
    scores = cross_val_score(
        model, rows, rows["level"], scoring=scoring, cv=TimeSeriesSplit(2)
    )
    assert np.isfinite(scores).all()


def test_thresholds_and_calibration_of_others_work_on_a_fitted_one(df):
    """Fixed and tuned thresholds, and calibration of a frozen estimator."""
    rows = df.assign(level=df["level"] == "busy")
    model = InformerClassifier("level", **with_parts(known_future=["price"], **P)).fit(
        rows[:200]
    )
    late = rows[200:]
    never = FixedThresholdClassifier(FrozenEstimator(model), threshold=1.1).fit(
        late, late["level"]
    )
    assert not never.predict(late).any()
    tuned = TunedThresholdClassifierCV(clone(model), cv=TimeSeriesSplit(2), refit=True)
    assert 0 < tuned.fit(rows, rows["level"]).best_threshold_ < 1
    calibrated = CalibratedClassifierCV(FrozenEstimator(model), cv=KFold(2))
    early = rows[:200]  # rows of a later fold would follow a gap
    assert calibrated.fit(early, early["level"]).predict_proba(late).shape == (100, 2)


@pytest.mark.filterwarnings("ignore:future covariates .* have no values:UserWarning")
def test_pieces_of_rows_keep_their_context_once_it_is_history(df):
    """A calibrator's folds hide the rows between: forecasts were made far from what is known."""
    model = InformerClassifier("level", **with_parts(known_future=["price"], **P)).fit(
        df[:200]
    )
    later = df[200:]
    whole = model.predict_proba(later)
    ask = {"cv": KFold(4), "method": "predict_proba"}
    with pytest.warns(UserWarning, match="Call update with the rows between"):
        pieces = cross_val_predict(FrozenEstimator(model), later, later["level"], **ask)
    assert np.abs(pieces - whole).max() > 0.01
    whole = model.update(later).predict_proba(later)
    pieces = cross_val_predict(FrozenEstimator(model), later, later["level"], **ask)
    np.testing.assert_allclose(pieces, whole, atol=1e-6)


def test_the_confusion_is_drawn(fitted, df):
    """From the estimator, as of any classifier."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    shown = ConfusionMatrixDisplay.from_estimator(fitted, df, df["level"])
    assert shown.confusion_matrix.sum() == 300


def test_a_stored_classifier_says_the_same(fitted, df):
    """Nothing of it is lost."""
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(df), fitted.predict_proba(df))
    fresh = clone(fitted).fit(df[:-24])
    np.testing.assert_array_equal(fresh.predict_proba(df), fitted.predict_proba(df))


def test_the_regressors_file_knows_no_classes():
    """What an output means stands in one place."""
    from skinformer.estimators import regressor

    with open(regressor.__file__, encoding="utf-8") as file:
        text = file.read().lower()
    assert "classif" not in text
    assert "label" not in text.replace("label_len", "")
