"""What a fit tells of its members: who takes part, what each proved."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from flat_parameters import with_parts
from sklearn.linear_model import Ridge
from versions import SHOWS_FITTED

import skinformer
from skinformer import InformerClassifier, InformerRegressor
from skinformer.display import WeightsDisplay
from skinformer.ensemble.ensemble import Ensemble
from skinformer.intervals.errors import forecast_windows
from skinformer.judging.classes import weigh_classes
from skinformer.judging.leaderboard import Standings
from skinformer.judging.proof import Proof

P = {
    "seq_len": 24,
    "pred_len": 6,
    "d_model": 8,
    "n_heads": 2,
    "max_iter": 1,
    "random_state": 0,
}


def hours(n, seed=0):
    index = pd.date_range("2024-01-01", periods=n, freq="h")
    noise = np.random.default_rng(seed).normal(0, 0.2, n)
    return pd.DataFrame({"y": 10 + np.sin(np.arange(n) * np.pi / 12) + noise}, index)


@pytest.fixture(scope="module")
def panel():
    parts = {name: hours(300, seed) for seed, name in enumerate("abc")}
    return pd.concat(parts, names=["shop", "time"])


@pytest.fixture(scope="module")
def of_panel(panel):
    return InformerRegressor("y", **with_parts(**P)).fit(panel)


def test_rows_are_the_joint_forecast_those_that_take_part_and_the_others(of_panel):
    board = of_panel.leaderboard()
    assert board.index[0] == "joint forecast"
    assert set(board.index[1:]) == {
        "classical",
        "own_ridges",
        "ridges",
        "network",
        "trees",
    }
    members = board[1:]
    assert members["weight"].sum() == pytest.approx(1)
    assert members["weight"].is_monotonic_decreasing
    np.testing.assert_array_equal(members["takes_part"], members["weight"] > 0)
    assert board.loc["trees", "reason"] == "fewer than 1,500 rows"
    assert (members["reason"] == "").tolist() == members["takes_part"].tolist()


@pytest.mark.parametrize("members", [["ridges"], ["classical"]])
def test_a_network_that_was_not_asked_for_is_told_so(members):
    """It said that there were no validation rows, where there were."""
    model = InformerRegressor("y", **with_parts(**P, members=members)).fit(hours(300))
    assert model.leaderboard().loc["network", "reason"] == "it is not in members"


def test_classes_without_a_weight_beside_the_network_say_why(monkeypatch):
    """They said that there were no validation rows, where the network had all weight by these."""

    def weigh_network_alone(*given):
        base, _, temperature = weigh_classes(*given)
        return base, 1.0, temperature

    monkeypatch.setattr("skinformer.judging.fit.weigh_classes", weigh_network_alone)
    rows = hours(100)
    rows["y"] = np.where(rows["y"] > 10, "up", "down")
    board = InformerClassifier("y", **with_parts(**P)).fit(rows).leaderboard()
    reason = "the log loss on the validation rows is lowest by the network alone"
    assert board.loc["classes", "reason"] == reason


def test_errors_are_those_of_forecasts_behind_the_cut_off(of_panel, panel):
    """All weights of a fit that is not refitted are those of its proof: it can be done again."""
    options = with_parts(**P, members=["ridges", "classical"], early_stopping=True)
    model = InformerRegressor("y", **options).fit(panel)
    board = model.leaderboard()
    rows = model.calibration_.split
    timeline, pred_len = model.timeline_, 6
    origins = np.concatenate(
        [
            np.arange(first, end - pred_len + 1)
            for first, end in zip(rows, timeline.first_row[1:], strict=True)
        ]
    )
    steps = origins[:, None] + np.arange(pred_len)
    truth = timeline.values[steps, :1]
    for name in ("ridges", "classical"):
        forecaster = model._forecaster
        alone = forecaster.ensemble.without(
            *(set(forecaster.ensemble.members) - {name})
        )
        model.ensemble_, kept = alone, model.ensemble_
        errors = forecast_windows(model._forecaster, origins).errors
        model.ensemble_ = kept
        assert errors.shape == truth.shape
        assert board.loc[name, "error"] == pytest.approx(
            np.abs(errors).mean(), rel=0.02
        )


def test_without_a_member_the_others_have_its_weight(panel):
    """Of two, what is left is the other's own error."""
    options = with_parts(**P, members=["ridges", "classical"])
    board = InformerRegressor("y", **options).fit(panel).leaderboard()
    error, without = board["error"], board["error_without"]
    assert without["ridges"] == pytest.approx(error["classical"])
    assert without["classical"] == pytest.approx(error["ridges"])
    assert error["joint forecast"] < error[["ridges", "classical"]].max()
    assert np.isnan(without["joint forecast"])


def test_a_long_table_has_the_network_among_those_that_are_compared():
    model = InformerRegressor("y", **with_parts(**P)).fit(hours(1600))
    board = model.leaderboard()
    assert board.loc[["ridges", "trees", "network"], "error"].notna().all()
    assert "at least 20 windows" in board.loc["classical", "reason"]
    assert (
        board.loc["own_ridges", "reason"]
        == "only for panels: a single series has the ridges"
    )
    assert (
        board.loc[["ridges", "trees"], ["fit_seconds", "forecast_seconds"]] > 0
    ).all(axis=None)
    assert sum(board.loc["ridges", "parts"].values()) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("n_series", [1, 3])
def test_a_regressor_in_place_of_trees_has_seconds(panel, n_series):
    """They stand under its own name, there and among the parts of the fit."""
    rows = hours(400) if n_series == 1 else panel
    options = with_parts(**P, members=["ridges", Ridge()])
    model = InformerRegressor("y", **options).fit(rows)
    seconds = model.fit_times_.set_index("part")["seconds"]
    assert "trees" not in seconds
    board = model.leaderboard()
    assert board.loc["Ridge", "fit_seconds"] == seconds["Ridge"] > 0


def test_what_a_limit_of_seconds_took_is_said_of_a_regressor_in_place_of_trees():
    """It is planned as trees are, and has a name of its own."""
    forecast = np.zeros((1, 1, 1), np.float32)
    member = SimpleNamespace(part="trees", base=None)
    proof = Proof(SimpleNamespace(series=np.zeros(1, int)), None, forecast, forecast)
    proof.members["Ridge"] = member
    proof.forecasts["Ridge"] = forecast
    ensemble = Ensemble({"Ridge": member}, np.ones((2, 1, 1, 1)))
    cuts = {"trees": "stopped"}
    assert Standings.of({}, proof, ensemble, cuts).cuts["Ridge"] == "stopped"


def test_a_regressor_that_errs_more_has_a_reason(panel):
    class Wrong(Ridge):
        def predict(self, X):
            return super().predict(X) + 9

    options = with_parts(**P, members=["ridges", Wrong()])
    board = InformerRegressor("y", **options).fit(panel).leaderboard()
    assert not board.loc["Wrong", "takes_part"]
    assert (
        board.loc["Wrong", "reason"]
        == "other members have smaller errors at the cut-offs"
    )
    assert board.loc["Wrong", "error"] > 5


def test_where_nothing_is_compared_errors_are_unknown():
    """A network alone; and what forecasts classes."""
    alone = InformerRegressor("y", **with_parts(**P, members=["network"]))
    board = alone.fit(hours(200)).leaderboard()
    assert board.index.tolist() == ["network"]
    assert board.loc["network", ["takes_part", "weight"]].tolist() == [True, 1.0]
    assert np.isnan(board.loc["network", "error"])
    levels = hours(300)["y"].gt(10).map({True: "high", False: "low"}).to_frame()
    of_classes = InformerClassifier("y", **with_parts(**P)).fit(levels).leaderboard()
    assert of_classes.loc["classes", "parts"].keys() >= {"season", "logistic"}
    assert of_classes.loc["network", "weight"] == 0
    assert "does not lower the log loss" in of_classes.loc["network", "reason"]


def test_it_is_saved_drawn_written_and_shown(of_panel, panel, tmp_path, capsys):
    of_panel.save(tmp_path / "model")
    loaded = skinformer.load(tmp_path / "model").leaderboard()
    expected = of_panel.leaderboard()
    same = ["takes_part", "weight", "error", "error_without", "reason", "parts"]
    pd.testing.assert_frame_equal(loaded[same], expected[same])
    display = WeightsDisplay.from_estimator(of_panel, by="member")
    labels = [text.get_text() for text in display.ax_.get_yticklabels()]
    first = expected.index[1]
    assert labels[0] == f"{first}, error {expected.error.iloc[1]:.3f}"
    if SHOWS_FITTED:
        assert "leaderboard()" in of_panel._repr_html_()
    InformerRegressor("y", verbose=1, **with_parts(**P)).fit(panel)
    written = capsys.readouterr().out
    assert f"{first}: weight {expected.weight.iloc[1]:.0%}, error" in written
    assert "trees: takes no part, fewer than 1,500 rows" in written


@pytest.mark.parametrize("members", [["ridges"], ["ridges", "network"]])
def test_ridges_of_a_long_table_have_an_error_where_nothing_challenges_them(members):
    options = with_parts(**P, members=members)
    board = InformerRegressor("y", **options).fit(hours(400)).leaderboard()
    assert 0.1 < board.loc["ridges", "error"] < 1.0
    assert board.loc["joint forecast", "error"] <= board.loc["ridges", "error"] * 1.05


def test_members_that_nothing_compares_have_a_row_and_a_reason():
    """Short series have enough rows for trees together, and no validation rows to judge them by."""
    index = pd.date_range("2020-01-01", periods=36, freq="MS")
    walks = np.random.default_rng(0).normal(0, 1, (50, 36)).cumsum(axis=1) + 20
    parts = {shop: pd.DataFrame({"y": walk}, index) for shop, walk in enumerate(walks)}
    panel = pd.concat(parts, names=["shop", "time"])
    options = with_parts(**P, members=["classical", "ridges", "trees"])
    board = InformerRegressor("y", **options).fit(panel).leaderboard()
    assert board["weight"].idxmax() == "classical"
    assert not board.loc["trees", "takes_part"]
    assert "no validation rows" in board.loc["trees", "reason"]
