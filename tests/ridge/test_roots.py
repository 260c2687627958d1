"""Ridges see targets whose effects multiply by their square roots."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

import skinformer
from skinformer import InformerRegressor
from skinformer.budget import current_share
from skinformer.datasets import load_auckland_pedestrians
from skinformer.ensemble.ridges import _error
from skinformer.estimators.exporting import exported_module
from skinformer.ridge.roots import Roots, find_roots
from skinformer.serving import window_inputs

N_TEST = 14 * 24


def _counts(*, multiplied: bool) -> pd.DataFrame:
    """People by the hour: weeks that are busy or quiet multiply the day's profile, or shift it."""
    rng = np.random.default_rng(0)
    times = pd.date_range("2024-01-01", periods=200 * 24, freq="h")
    day = 1.2 + np.sin((times.hour.to_numpy() - 9) / 24 * 2 * np.pi)
    level = np.zeros(200)
    for i in range(1, 200):
        level[i] = 0.95 * level[i - 1] + 0.2 * rng.normal()
    busy = np.repeat(level, 24)
    mean = day * np.exp(busy) if multiplied else day + 0.4 * busy + 3.0
    noise = 0.1 * rng.normal(size=len(times)) * (np.sqrt(mean) if multiplied else 1.0)
    people = 100 * np.maximum(mean + noise, 0.0)
    return pd.DataFrame({"people": people, "busy": np.exp(busy)}, times)


def _fit(
    rows: pd.DataFrame, *, known_future: str | None = None, **parameters: object
) -> InformerRegressor:
    rows = rows[["people"] if known_future is None else ["people", known_future]]
    model = InformerRegressor(
        "people",
        known_future=known_future,
        seq_len=48,
        pred_len=24,
        members=["ridges"],
        random_state=0,
        **parameters,
    )
    return model.fit(rows)


def _roots(model: InformerRegressor) -> Roots | None:
    return model.module_.path.fit.roots


@pytest.mark.parametrize(("loss", "power"), [("mse", 2), ("mae", 1)])
def test_counts_of_people_are_forecast_better_by_roots(
    loss, power, monkeypatch
) -> None:
    counts = load_auckland_pedestrians()["183 K Road"].to_frame("people")
    train, later = counts[:-N_TEST], counts[-N_TEST:]

    def error() -> float:
        forecast = _fit(train, loss=loss).predict(later)
        return float((np.abs(forecast - later["people"]) ** power).mean())

    of_roots = error()
    monkeypatch.setattr("skinformer.ensemble.ridges.find_roots", lambda *_, **__: None)
    assert of_roots < 0.97 * error()


def test_a_known_column_that_explains_what_multiplies_is_seen_by_ridges_as_it_is() -> (
    None
):
    """Ridges have its effect at each hour, and of roots it would not be added."""
    assert _roots(_fit(_counts(multiplied=True), known_future="busy")) is None


def test_roots_that_nothing_compares_are_not_taken(monkeypatch) -> None:
    """Where the seconds of ridges are over before those of roots are judged, there are none."""

    def find_at_last(*args: object, **kwargs: object) -> Roots | None:
        found = find_roots(*args, **kwargs)
        assert found is not None
        current_share().end = 0.0
        return found

    monkeypatch.setattr("skinformer.ensemble.ridges.find_roots", find_at_last)
    rows = _counts(multiplied=True)
    assert _roots(_fit(rows, known_future="busy", max_seconds=1000)) is None


def test_rows_without_weight_say_nothing_of_roots(monkeypatch) -> None:
    """What stands for a missing truth is no truth."""
    errors = []

    def error_without_weight(fits, rows, windows, *, of_mean):
        nothing = np.zeros_like(rows.timeline.values[:, :1])
        rows = replace(rows, timeline=replace(rows.timeline, weight=nothing))
        errors.append(_error(fits, rows, windows, of_mean=of_mean))
        return errors[-1]

    monkeypatch.setattr("skinformer.ensemble.ridges._error", error_without_weight)
    _fit(_counts(multiplied=True))
    assert errors == [0.0, 0.0]


def test_windows_that_judge_share_no_truth_with_those_that_were_learnt(
    monkeypatch,
) -> None:
    """Those on both sides of the border of two folds do."""
    reached = []

    def note(fits, rows, windows, *, of_mean):
        times = rows.times_of(windows)
        for end, _ in fits.folds[:-1]:
            reached.append(((times < end) & (times + 24 > end)).sum())
            reached.append(((times >= end) & (times - 24 < end - 1)).sum())
        return _error(fits, rows, windows, of_mean=of_mean)

    monkeypatch.setattr("skinformer.ensemble.ridges._error", note)
    _fit(_counts(multiplied=True))
    assert reached == [0] * 8


def test_means_of_squares_are_not_too_low() -> None:
    rng = np.random.default_rng(1)
    times = pd.date_range("2024-01-01", periods=200 * 24, freq="h")
    wave = 2 + np.sin(times.hour.to_numpy() / 24 * 2 * np.pi)
    people = (wave + 0.7 * rng.normal(size=len(times))).clip(0) ** 2
    rows = pd.DataFrame({"people": people, "busy": 0.0}, times)
    later = rows[-N_TEST:]

    def bias(loss: str) -> float:
        model = _fit(rows[:-N_TEST], loss=loss)
        assert _roots(model) is not None
        return float((model.predict(later[["people"]]) - later["people"]).mean())

    # The variance of the noise is 0.49: squares of forecast roots alone fall short by it.
    assert abs(bias("mse")) < 0.2
    assert bias("mae") < -0.3


def test_added_effects_and_negative_targets_stay_as_they_are() -> None:
    assert _roots(_fit(_counts(multiplied=False))) is None
    rows = _counts(multiplied=True)
    assert _roots(_fit(rows.assign(people=rows["people"] - 50))) is None
    panel = pd.concat({"a": rows, "b": 2 * rows})
    assert _roots(_fit(panel)) is None


def test_only_rows_before_the_split_choose() -> None:
    """Targets behind the split that would refuse roots change nothing."""
    rows = _counts(multiplied=True)
    changed = rows.copy()
    changed.iloc[-100:, 0] = np.random.default_rng(2).exponential(300, 100)
    found = [_roots(_fit(each)) for each in (rows, changed)]
    for first, second in zip(*found, strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-5)


def test_files_and_graphs_hold_roots(tmp_path) -> None:
    rows = _counts(multiplied=True)
    train, later = rows[:-N_TEST], rows[-N_TEST:]
    model = _fit(train)
    assert _roots(model) is not None
    expected = model.predict(later[["people"]])
    file = tmp_path / "roots"
    model.save(file)
    inputs, _ = window_inputs(
        rows[["people"]], model.signature_, later.index[:: model.pred_len]
    )
    tensors = {name: torch.from_numpy(array) for name, array in inputs.items()}
    with torch.inference_mode():
        of_graph, _ = exported_module(model)(**tensors)
    np.testing.assert_allclose(of_graph.numpy().ravel(), expected, rtol=1e-4)
    np.testing.assert_array_equal(
        skinformer.load(file).predict(later[["people"]]), expected
    )


def test_a_target_that_is_zero_in_all_windows_has_no_roots() -> None:
    """Of long tables windows are drawn, and the only row that is not zero may lie between them."""
    values = np.zeros((600_000, 1))
    kinds = {"pred_len": 1, "of_mean": True}
    for place in range(300_000, 300_600, 60):
        values[place] = 1.0
        assert find_roots(values, np.zeros(1), np.ones(1, bool), **kinds) is None
        values[place] = 0.0


def test_a_root_of_no_value_is_no_value() -> None:
    values = np.abs(np.random.default_rng(0).normal(size=(2000, 1))) ** 2
    values[500:520] = np.nan
    roots = find_roots(values, np.zeros(1), np.ones(1, bool), pred_len=3, of_mean=False)
    if roots is not None:
        assert np.isnan(roots.of(values)[500:520]).all()
    one = np.ones(1, np.float32)
    roots = Roots(one, -one, one, one, np.zeros((1, 1), np.float32))
    np.testing.assert_array_equal(
        roots.of(np.array([[np.nan], [-1.0]])), [[np.nan], [-1.0]]
    )


def test_roots_below_zero_are_negative_and_so_are_their_squares() -> None:
    one = np.ones(1)
    roots = Roots(one, 3 * one, 0.5 * one, 2 * one, np.zeros((1, 1)))
    values = np.array([[-6.0], [2.0], [3.0], [7.0]])
    assert (np.diff(roots.of(values), axis=0) > 0).all()
    np.testing.assert_allclose(roots.squared(roots.of(values)), values)


@pytest.mark.filterwarnings("ignore:'people'=:UserWarning")
def test_targets_that_are_negative_after_the_fit_are_forecast_below_zero() -> None:
    """Later rows lift the bound, and ridges of roots follow them as others do."""
    rows = _counts(multiplied=True)[["people"]]
    later = rows[-480:] - 400
    model = _fit(rows[:-480])
    assert _roots(model) is not None
    model.update(later[:-24])
    distance = np.abs(model.forecast()["people"] - later["people"][-24:])
    assert 0 < distance.mean() < 25
