"""Weights on short tables and in panels, series by series."""

import copy
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from blends import base_blend, trust
from flat_parameters import with_parts
from sklearn.linear_model import Ridge

from skinformer import InformerRegressor, Training
from skinformer.ensemble.classical import Classical
from skinformer.ensemble.member import Member
from skinformer.judging import fit as judging_fit
from skinformer.judging.cutoffs import series_origins
from skinformer.judging.proof import Proof
from skinformer.judging.weights import (
    prior_of_windows,
    weigh_series,
    without_negligible,
)
from skinformer.timeline.windows import Origins

P = {
    "seq_len": 24,
    "pred_len": 4,
    "d_model": 16,
    "n_heads": 2,
    "max_iter": 1,
    "random_state": 0,
}


def forecasts_of(*errors, n_series=1):
    """Give forecasts of a truth of 1 whose errors are these, one window for each series."""
    truth = np.ones((n_series, 2, 1))
    return [
        truth + np.reshape(np.broadcast_to(e, n_series), (-1, 1, 1)) for e in errors
    ], truth


def shares_of(*errors, n_series=1, weight=None, parts=None):
    forecasts, truth = forecasts_of(*errors, n_series=n_series)
    weight = np.ones_like(truth) if weight is None else weight
    proof = proof_of(forecasts, truth, weight, np.arange(n_series))
    return weigh_series(proof, n_series=n_series, prior={}, parts=parts)[:, 0, 0]


def proof_of(forecasts, truth, weight, series):
    """Make a proof of forecasts, named by their numbers."""
    named = {str(i): forecast for i, forecast in enumerate(forecasts)}
    return Proof(SimpleNamespace(series=series), None, truth, weight, forecasts=named)


# --- judging ----------------------------------------------------------------------------------


def test_the_smaller_error_has_the_greater_weight():
    """A tenth less error makes a factor e."""
    one, other = shares_of(0.9048374, 1.0)[0]
    assert one / other == pytest.approx(np.e, rel=1e-3)


def test_no_series_speaks_for_the_others_by_its_size_or_by_going_wild():
    """One of nine, wrong by a million, counts as one of nine."""
    calm = shares_of(np.ones(9), np.full(9, 0.5), n_series=9)
    errors = np.full(9, 0.5)
    errors[0] = 1e6
    outliers = shares_of(np.ones(9), errors, n_series=9)
    assert (calm[:, 1] > 0.99).all()
    assert (outliers[1:, 1] > 0.9).all()


def test_a_series_believes_the_panel_more_than_itself():
    """Eight windows that overlap prove little; the panel has them of every series."""
    errors = np.full(9, 0.8)
    errors[0] = 1.1
    weights = shares_of(np.ones(9), errors, n_series=9)
    assert (weights[:, 1] > 0.5).all()
    assert weights[0, 1] < weights[1, 1]
    # The last row is the panel's.
    np.testing.assert_array_less(weights[0, 1], weights[-1, 1])


def test_a_member_has_a_part_of_its_weight_and_the_others_share_the_rest():
    """However little it errs, it has no more than the part; the others keep their proportions."""
    errors = (1.0, 0.95, 0.01)
    whole, part = shares_of(*errors)[0], shares_of(*errors, parts={"2": 0.25})[0]
    assert whole[2] > 0.99
    assert part[2] == pytest.approx(0.25, rel=0.01)
    assert part[0] / part[1] == pytest.approx(whole[0] / whole[1])
    assert part.sum() == pytest.approx(1)


def test_in_a_panel_it_counts_to_err_on_the_other_side():
    """Two are too high where a third one, a little worse, is too low: others have to say it."""
    errors = np.linspace(0.5, 1.5, 500)
    alone, few, many = (
        shares_of(some, some, -1.1 * some[::-1], n_series=len(some))
        for some in (errors[250:251], errors[::84], errors)
    )
    np.testing.assert_allclose(
        alone[:, 2], np.exp(-np.log(1.1) / 0.1) / 2.386, rtol=0.01
    )
    assert alone[-1, 2] + 0.03 < few[-1, 2] < many[-1, 2] - 0.1
    np.testing.assert_allclose(many[:, 0], many[:, 1])


def test_who_errs_far_more_than_the_others_has_no_part_in_a_large_panel():
    """A hundredth of it would spoil the joint forecast."""
    errors = np.linspace(0.5, 1.5, 500)
    weights = shares_of(errors, -1.1 * errors[::-1], 1000 * errors, n_series=500)
    assert weights[:, 2].max() < 1e-4
    assert weights[-1, :2].min() > 0.3


def test_joint_errors_count_relative_to_the_series():
    """Two that are a hundred times as large as all others are two among thirty."""
    errors, size = np.ones(30), np.repeat([100.0, 1.0], [2, 28])
    even = shares_of(errors, errors, -1.2 * errors, n_series=30)
    np.testing.assert_allclose(
        shares_of(errors * size, errors * size, -1.2 * errors * size, n_series=30), even
    )


def test_who_fails_in_one_series_says_nothing_there():
    """What is not finite, or is not known, tells nothing, and spoils nothing."""
    errors = np.full(9, 0.5)
    expected = shares_of(np.ones(9), errors, n_series=9)
    errors[0] = np.inf
    found = shares_of(np.ones(9), errors, n_series=9)
    np.testing.assert_allclose(found[1:], expected[1:], atol=0.01)
    np.testing.assert_allclose(found[0], found[-1])


def test_missing_truths_say_nothing():
    """A held value in a truth's place is no proof; without any, all forecasters are equal."""
    weight = np.zeros((2, 2, 1))
    np.testing.assert_allclose(shares_of(0.1, 1.0, n_series=2, weight=weight), 0.5)
    weight[1] = 1
    assert (shares_of(0.1, 1.0, n_series=2, weight=weight)[:, 0] > 0.99).all()


def test_a_perfect_forecaster_is_believed():
    """An error of nothing has no logarithm."""
    assert shares_of(0.0, 0.3)[0, 0] > 0.99
    np.testing.assert_allclose(shares_of(0.0, 0.0)[0], 0.5)


def test_windows_of_judging_are_spread_over_each_tail():
    """The first and the last one among them; a series without a split has none."""
    origins = series_origins(Origins(np.array([10, 50, 100]), np.array([12, 49, 249])))
    assert origins.tolist()[:3] == [10, 11, 12]
    assert origins[3:].tolist() == [100 + 149 * place // 63 for place in range(64)]


@pytest.mark.parametrize(
    ("n_series", "n_each"), [(1, 64), (100, 40), (300, 16), (6666, 3), (40_000, 2)]
)
def test_a_large_panel_is_judged_by_fewer_windows_of_each_series(n_series, n_each):
    """A hundred thousand series must not cost 6.4 million forecasts."""
    low = np.arange(0, 100 * n_series, 100)
    expected = low[:, None] + 99 * np.arange(n_each) // (n_each - 1)
    np.testing.assert_array_equal(
        series_origins(Origins(low, low + 99)), expected.ravel()
    )


# --- joint forecasts ----------------------------------------------------------------------------


def months(n, seed, level=100.0):
    rng, t = np.random.default_rng(seed), np.arange(n)
    values = level * (1 + 0.2 * np.sin(t * np.pi / 6) + 0.05 * rng.normal(size=n))
    return pd.DataFrame(
        {"y": values}, pd.date_range("2010-01-01", periods=n, freq="MS")
    )


@pytest.fixture(scope="module")
def panel():
    parts = {i: months(90, i, 10.0**i) for i in range(4)}
    return pd.concat(parts, names=["shop", "month"])


@pytest.fixture(scope="module")
def fitted(panel):
    return InformerRegressor("y", **with_parts(**P)).fit(panel)


def alone(model, name):
    """Forecast by one member, for all series."""
    others = [other for other in model.ensemble_.members if other != name]
    single = copy.copy(model)
    single.ensemble_ = model.ensemble_.without(*others)
    return single.forecast()["y"].to_numpy()


@pytest.fixture(scope="module", params=["panel", "one", "panel and regressor"])
def short(request, panel):
    rows = panel.loc[1] if request.param == "one" else panel
    members = ["classical", "ridges", Ridge(), "network"]
    chosen = members if request.param == "panel and regressor" else "auto"
    return InformerRegressor("y", **with_parts(members=chosen, **P)).fit(rows)


@pytest.mark.slow
def test_the_forecast_is_the_mean_by_the_shares(short):
    """What is told in `series_blend_` is what forecasts."""
    ensemble = short.ensemble_
    said = {
        name: alone(short, name)
        for name in ensemble.members
        if ensemble.weights_of(name)[:-1].all()
    }
    assert {"classical", "ridges", "network"} <= set(said)
    for one, other in pairwise(said.values()):
        assert not np.allclose(one, other)
    weights = {name: np.repeat(ensemble.weights_of(name)[:-1, 0], 4) for name in said}
    assert sum(weights.values()) == pytest.approx(1)
    expected = sum(weights[name].ravel() * forecast for name, forecast in said.items())
    np.testing.assert_allclose(short.forecast()["y"], expected, rtol=1e-4)


@pytest.mark.slow
def test_the_shares_that_are_told_sum_to_one(short):
    """Nobody counts twice."""
    blend = short.series_blend_
    assert list(blend)[-2:] == ["ridges", "network"]
    assert blend.sum(axis=1).between(0.7, 1.001).all()
    assert trust(short) == pytest.approx(blend["network"].mean(), abs=1e-6)
    assert sum(base_blend(short).values()) == pytest.approx(1, abs=0.3)


@pytest.mark.slow
def test_nobody_is_judged_on_rows_that_it_was_fitted_to(panel, monkeypatch):
    """Classical forecasters before the split end where ridges and network do."""
    ends = []
    fit = Classical.from_timeline

    def spy(timeline, *args, **kwargs):
        ends.append(np.diff(timeline.first_row))
        return fit(timeline, *args, **kwargs)

    monkeypatch.setattr(Classical, "from_timeline", spy)
    for early_stopping in ("auto", True):  # True: no weight has seen the last rows
        InformerRegressor("y", **with_parts(early_stopping=early_stopping, **P)).fit(
            panel
        )
    lengths = [set(part.tolist()) for part in ends]
    assert lengths == [{81}, {90}, {81}]


@pytest.mark.slow
def test_a_series_that_was_not_fitted_has_the_panels_shares(fitted):
    """And a scale of its own for classical forecasters."""
    new = pd.concat({9: months(60, 9, 1e3)}, names=["shop", "month"])
    forecast = fitted.forecast(new)["y"]
    assert forecast.between(500, 1500).all()


@pytest.mark.slow
def test_a_series_that_was_not_fitted_is_not_forecast_by_trees(panel):
    """These know no values but those that they have seen; others have their weight."""
    ensemble = (
        InformerRegressor(
            "y", **with_parts(members=["classical", "ridges", Ridge(), "network"], **P)
        )
        .fit(panel)
        .ensemble_
    )
    assert (ensemble.weights_of("Ridge")[:-1] > 0).all()
    assert ensemble.weights_of("Ridge")[-1] == 0
    np.testing.assert_allclose(ensemble.weights.sum(axis=-1), 1)


@pytest.mark.slow
def test_a_short_table_is_judged_by_two_forecasts(panel, monkeypatch):
    """A tenth of fifty rows is one, which proves luck as well as skill."""
    seen = []
    monkeypatch.setattr(
        judging_fit,
        "series_origins",
        lambda origins: seen.append(origins) or series_origins(origins),
    )
    InformerRegressor("y", **with_parts(**P)).fit(panel.loc[1][:50])
    assert (seen[0].low.tolist(), seen[0].high.tolist()) == ([42], [46])


@pytest.mark.slow
@pytest.mark.parametrize(("n", "trained"), [(40, 1), (39, 0)])
def test_a_network_needs_four_forecasts_behind_its_first_context(panel, n, trained):
    """Two to learn from, and two to be judged by."""
    assert (
        InformerRegressor("y", **with_parts(**P)).fit(panel.loc[1][:n]).n_iter_
        == trained
    )


def test_ridges_that_cannot_be_judged_say_nothing(panel):
    """A window, and no rows behind it to judge by: classical forecasters judge themselves."""
    model = InformerRegressor("y", **with_parts(**P)).fit(panel.loc[1][:30])
    np.testing.assert_array_equal(model.ensemble_.weights_of("classical"), 1.0)
    np.testing.assert_array_equal(model.ensemble_.weights_of("ridges"), 0.0)
    assert trust(model) == 0


def test_ridges_of_few_windows_count_less_from_the_start():
    """Ten windows a row are enough; a tenth of them is a tenth of the weight."""
    assert prior_of_windows(10 * 24, 24) == prior_of_windows(10_000, 24) == 0
    assert np.isclose(np.exp(prior_of_windows(60, 60)), 0.1)
    same = np.zeros((1, 2, 1), dtype=np.float32)
    truth = np.ones_like(same)
    none = np.zeros(1, dtype=np.int64)
    proof = proof_of([same, same], truth, truth, none)
    weights = weigh_series(proof, n_series=1, prior={"1": prior_of_windows(60, 60)})
    np.testing.assert_allclose(weights[0, 0, 0], [10 / 11, 1 / 11])


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 3, 8, 15, 23])
def test_a_new_series_shorter_than_a_window_is_forecast_from_what_it_has(fitted, n):
    """Ridges and network would see training means in front of it: levels of other series."""
    new = pd.concat({9: months(n, 9, 6.0)}, names=["shop", "month"])
    assert fitted.forecast(new)["y"].between(3, 9).all()


def test_trees_of_a_short_table_get_a_part_of_their_weight(panel, monkeypatch):
    """Of the weight that their errors ask for, as many twelfths as forecasts judge them."""
    members = ["classical", "ridges", Ridge()]
    options = with_parts(members=members, validation_fraction=0.4, **P)
    model = InformerRegressor("y", **options)
    n_forecasts = (36 - 4 + 1) // 4  # behind each other in 36 of 90 rows
    part = model.fit(panel.loc[1]).series_blend_["Ridge"]
    of_all = model.fit(panel).series_blend_["Ridge"]
    monkeypatch.setattr(judging_fit, "part_of_trees", lambda *_, **__: 1.0)
    whole = model.fit(panel.loc[1]).series_blend_["Ridge"]
    assert whole.min() > 0.05
    np.testing.assert_allclose(part, whole * n_forecasts / 12)
    # Four series have more than twelve together.
    assert (of_all == model.fit(panel).series_blend_["Ridge"]).all()


@pytest.mark.slow
def test_who_has_no_share_is_not_asked(short):
    """What hardly counts must not cost a forward pass, nor bring its infinities."""
    weights = np.tile([0.988, 0.004, 0.004, 0.004], (2, 1, 1))
    assert (without_negligible(weights) == [1, 0, 0, 0]).all()

    class Raises(Member):
        def forecast(self, windows, base=None):
            raise AssertionError("it was asked")

    others = [name for name in short.ensemble_.members if name != "classical"]
    silent, single = dict.fromkeys(others, Raises()), copy.copy(short)
    kept = short.ensemble_.without(*others)
    single.ensemble_ = replace(kept, members=kept.members | silent)
    assert np.isfinite(single.forecast()["y"]).all()
    single.ensemble_ = replace(short.ensemble_, members=kept.members | silent)
    with pytest.raises(AssertionError, match="was asked"):
        single.forecast()


@pytest.mark.slow
def test_constant_series_have_no_say(panel):
    """A network errs by its rounding there, and ridges by nothing at all."""
    flat = {f"flat{i}": panel.loc[0].assign(y=7.0) for i in range(6)}
    both = pd.concat(
        [panel.rename(index=str, level=0), pd.concat(flat, names=["shop", "month"])]
    )
    one, other = (
        InformerRegressor("y", **with_parts(**P)).fit(rows).ensemble_
        for rows in (panel, both)
    )
    for name in ("classical", "network"):
        np.testing.assert_allclose(
            other.weights_of(name)[-1], one.weights_of(name)[-1], atol=0.1
        )


@pytest.mark.slow
def test_a_season_that_windows_hold_is_forecast_as_it_is():
    """Whoever counts most: noise of one around a clear day."""
    t = np.arange(500)
    y = 10 + 3 * np.sin(t * np.pi / 12) + np.random.default_rng(0).normal(size=500)
    frame = pd.DataFrame({"y": y}, pd.date_range("2024-01-01", periods=500, freq="h"))
    model = InformerRegressor("y", random_state=0, training=Training(max_iter=1)).fit(
        frame[:476]
    )
    error = np.abs(
        model.forecast()["y"].to_numpy() - 10 - 3 * np.sin(t[476:] * np.pi / 12)
    )
    assert error.mean() < 0.5


@pytest.mark.slow
def test_a_long_table_is_not_asked_for_classical_forecasts():
    """They look back no further than ridges that have learnt all there is."""
    rows = pd.DataFrame({"y": np.random.default_rng(0).normal(size=20 * 28)})
    assert (
        "classical"
        not in InformerRegressor("y", **with_parts(**P)).fit(rows).ensemble_.members
    )
    assert (
        "classical"
        in InformerRegressor("y", **with_parts(**P)).fit(rows[:-1]).ensemble_.members
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("known", "effect", "margin"),
    [(None, 1.0, 1.0), (["z"], 1.0, 0.0), (["z"], 0.0, 1.0)],
    ids=["none", "driver", "noise"],
)
def test_trees_that_see_no_more_than_ridges_have_to_gain_surely(
    known, effect, margin, monkeypatch
):
    """What is known ahead is their own if it tells anything: there neither end is the safe one."""
    requested = []
    monkeypatch.setattr(
        "skinformer.judging.weights.mean_log_share",
        lambda _, **how: requested.append(how) or 0,
    )
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(1000, 2)), columns=["y", "z"])
    rows["y"] += effect * rows["z"]
    InformerRegressor(
        "y",
        **with_parts(known_future=known, members=["ridges", Ridge(), "network"], **P),
    ).fit(rows)
    assert requested[0] == {"margin": margin}
