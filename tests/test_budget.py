"""A fit of limited seconds: what it plans, what it leaves out, and where it stops."""

import math

import numpy as np
import pandas as pd
import pytest
from flat_parameters import with_parts
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge

from skinformer import InformerClassifier, InformerRegressor, load
from skinformer.budget import LEAST, Budget, Cost, Share, current_share, running
from skinformer.classical.fit import ends_of_ridges
from skinformer.classical.judging import origin_distances
from skinformer.classical.ridges import MOST_WINDOWS
from skinformer.ensemble.names import NETWORK
from skinformer.estimators.fitting import Fit
from skinformer.judging.costs import REFITS, _classical, _Workload
from skinformer.threads import limited
from skinformer.training.trainer import _OngoingFit as NetworkFit

P = {
    "seq_len": 24,
    "pred_len": 6,
    "d_model": 8,
    "n_heads": 2,
    "max_iter": 3,
    "random_state": 0,
}


class Clock:
    """Time that passes by so much with each look, and when the test says so."""

    def __init__(self, tick=0.0):
        self.now = 0.0
        self.tick = tick

    def __call__(self):
        self.now += self.tick
        return self.now


def planned(costs, seconds=10.0, clock=None):
    budget = Budget(seconds, clock=clock or Clock(), slowness=1.0)
    budget.plan(costs)
    return budget


def test_ridges_that_series_share_cost_as_many_fits_as_are_made():
    """Panels of long series fit them for several origins at once, and once to all rows."""
    sizes = _Workload(
        n_rows=36_000,
        n_series=40,
        rows=900,
        n_targets=1,
        n_columns=1,
        n_known=0,
        seq_len=168,
        pred_len=14,
        n_windows=28_760,
    )
    n_fits = len({*ends_of_ridges(origin_distances(14, 40), 900 // 20).values()})
    of_fit = 2.5e-7 * MOST_WINDOWS * 168
    cost = _classical(sizes)
    others = _classical(sizes._replace(seq_len=0))
    of_ridges = cost.fixed + cost.variable - others.fixed - others.variable
    assert of_ridges == pytest.approx((n_fits + 1) * of_fit)


def test_all_parts_are_cut_alike_before_one_is_left_out():
    """Nine of ten seconds are planned with: of 1 and 16, these are half of what varies."""
    budget = planned({"a": Cost(1.0, 8.0), "b": Cost(0.0, 8.0)})
    assert budget.effort == pytest.approx(0.5)
    assert budget.takes("a")
    assert budget.takes("b")


def test_the_least_important_part_is_left_out_where_the_least_share_is_too_much():
    budget = planned({"a": Cost(4.0, 20.0), "b": Cost(4.0), "c": Cost(1.0)})
    assert budget.takes("a")
    assert not budget.takes("b")
    assert budget.takes("c")
    assert budget.left_out == {
        "b": "it would take 4.0 s at least, and 3.0 s were left of max_seconds=10"
    }


def test_the_first_part_is_never_left_out():
    budget = planned({"ridges": Cost(100.0, 100.0), "trees": Cost(0.1)})
    assert budget.takes("ridges")
    assert not budget.takes("trees")
    with budget.part("ridges") as share:
        assert share.effort == LEAST


def test_what_took_longer_than_planned_makes_the_rest_take_longer():
    """As on a machine that others use, too."""
    clock = Clock()
    budget = planned({"a": Cost(1.0), "b": Cost(0.0, 4.0)}, 10.0, clock)
    with budget.part("a"):
        clock.now += 4
    assert budget.pace == pytest.approx(3.0)
    # Of 4 times 3 seconds 5 are left.
    assert budget.effort == pytest.approx(5 / 12)


def test_what_a_part_needs_behind_the_fit_is_kept_for_it():
    """Its forecasts for prediction intervals; nothing where it is left out."""
    budget = planned({"a": Cost(1.0, 0.0, later=5.0), "b": Cost(2.0), "c": Cost(2.0)})
    assert budget.takes("b")
    assert not budget.takes("c")
    with budget.part("a"):
        pass
    assert budget.left == pytest.approx(4.0)
    budget = planned({"a": Cost(1.0), "b": Cost(2.0, 0.0, later=9.0), "c": Cost(8.0)})
    assert not budget.takes("b")
    assert budget.takes("c")


def test_a_part_that_was_quick_makes_no_other_quicker():
    clock = Clock()
    budget = planned({"a": Cost(8.0), "b": Cost(0.0, 10.0)}, 10.0, clock)
    with budget.part("a"):
        pass
    assert budget.pace == 1.0


def test_a_part_stops_before_a_piece_that_would_take_too_long():
    """A piece is believed to take as long as the one before."""
    clock = Clock()
    share = Share(1.0, 10.0, clock)
    stops = []
    for now in (0.0, 4.0, 8.0):
        clock.now = now
        stops.append(share.must_stop())
    assert stops == [False, False, True]
    assert share.stopped


def test_a_share_of_windows_is_never_less_than_the_least():
    share = Share(0.25)
    assert share.of(100) == 25
    assert share.of(100, power=0.5) == 50
    assert share.of(100, least=40) == 40
    assert share.of(30, least=40) == 30
    assert Share().of(7) == 7


def test_without_a_limit_nothing_is_measured_or_stopped():
    """And outside of a fit all is allowed."""
    budget = Budget(clock=Clock())
    with budget.part("trees") as share:
        assert current_share() is share
        assert share.effort == 1
        assert share.end == math.inf
        assert not share.must_stop()
    assert current_share().effort == 1
    assert budget.affords_again("trees")


def test_a_part_may_end_while_another_thread_adds_up_what_is_ahead(monkeypatch):
    budget = planned({"a": Cost(1.0), "b": Cost(1.0)}, None)

    def ended(_cost, _effort):
        budget.done("b")
        return 1.0

    monkeypatch.setattr(Cost, "at", ended)
    assert budget.seconds_ahead == pytest.approx(2.0)


def test_no_time_left_is_told_where_the_last_part_takes_longer_than_planned():
    """It said for many seconds that about 0 s were left."""
    clock = Clock()
    budget = planned({"a": Cost(1.0), "b": Cost(2.0)}, None, clock)
    with budget.part("a"):
        clock.now += 3
        assert budget.seconds_ahead == pytest.approx(2.0)
    with budget.part("b"):
        clock.now += 1
        assert budget.seconds_ahead > 0
        clock.now += 9
        assert budget.seconds_ahead is None


def test_a_part_is_done_again_if_its_seconds_are_left():
    clock = Clock()
    budget = planned({"a": Cost(1.0), "b": Cost(1.0)}, 10.0, clock)
    for name, seconds in {"a": 1, "b": 5}.items():
        with budget.part(name):
            clock.now += seconds
    assert budget.affords_again("a")
    assert not budget.affords_again("b")


# ------------------------------------------------------------------------------------ whole fits


def hours(n, seed=0):
    index = pd.date_range("2024-01-01", periods=n, freq="h")
    noise = np.random.default_rng(seed).normal(0, 0.2, n)
    return pd.DataFrame({"y": 10 + np.sin(np.arange(n) * np.pi / 12) + noise}, index)


def panel(n, n_series=3):
    parts = {f"s{i}": hours(n, i) for i in range(n_series)}
    return pd.concat(parts, names=["shop", "time"])


def fitted(df, seconds, clock, slowness=1.0, kind=InformerRegressor, **options):
    """Fit by a clock of the test."""
    model = kind("y", **with_parts(**(P | options)), max_seconds=seconds)
    budget = Budget(seconds, clock=clock, slowness=slowness)
    with running(budget):
        Fit(model, device="cpu", earlier=None, budget=budget).run(df, None, None)
    return model, budget


@pytest.fixture
def work(monkeypatch):
    """Return a clock that work makes go: a second for ten trees or a step of training."""
    clock = Clock(tick=0.001)
    clock.trees = clock.steps = 0
    fit_trees = HistGradientBoostingRegressor.fit
    take_step = NetworkFit.take_step

    def fit(self, X, y, sample_weight=None):
        before = getattr(self, "n_iter_", 0) if self.warm_start else 0
        fit_trees(self, X, y, sample_weight)
        clock.trees += self.n_iter_ - before
        clock.now += (self.n_iter_ - before) / 10
        return self

    def step(self, batches):
        clock.steps += 1
        clock.now += 1
        return take_step(self, batches)

    monkeypatch.setattr(HistGradientBoostingRegressor, "fit", fit)
    monkeypatch.setattr(NetworkFit, "take_step", step)
    return clock


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [12, 40])
@pytest.mark.parametrize("make", [lambda: hours(1600), lambda: panel(520)])
def test_a_fit_takes_1_2_times_its_seconds_at_most(work, seconds, make):
    """Though each piece takes far longer than planned."""
    _, budget = fitted(make(), seconds, work)
    assert work.now <= 1.2 * seconds
    assert budget.efforts.keys() >= {"ridges"}


@pytest.mark.slow
def test_training_stops_within_an_epoch(work):
    """The network ends with its best weights so far."""
    model, budget = fitted(hours(900), 20, work, members=["ridges", "network"])
    assert 1 <= work.steps <= 24
    assert "network" in budget.stopped
    assert len(model.history_) >= 1
    assert "stopped when its part of max_seconds=20 was over" in set(
        model.leaderboard()["reason"].str.removeprefix(
            "other members have smaller errors at the cut-offs; "
        )
    )


@pytest.mark.slow
def test_training_that_seconds_ended_goes_on_from_its_checkpoint(work, tmp_path):
    """With other seconds, or with none: what was trained is not lost."""
    options = {
        "members": ["ridges", "network"],
        "max_iter": 4,
        "checkpoint": tmp_path / "fit.pt",
    }
    rows = hours(900)
    stopped, _ = fitted(rows, 20, work, **options)
    n_before = len(stopped.loss_curve_)
    assert 1 <= n_before < 4
    model = InformerRegressor("y", **with_parts(**(P | options))).fit(rows)
    assert len(model.loss_curve_) == 4
    assert model.loss_curve_[:n_before] == stopped.loss_curve_


@pytest.mark.slow
def test_trees_stop_after_some(work):
    fitted(hours(1600), 15, work, members=["ridges", "trees"])
    assert 8 <= work.trees < 150


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [90, 150])
def test_trees_that_are_fitted_behind_the_network_are_not_fewer_than_before(
    work, seconds
):
    """On one thread they are fitted to all rows behind it, or stay as they were judged."""
    df = hours(1700)
    df["promotion"] = np.random.default_rng(1).normal(size=len(df))
    df["y"] += 3.0 * (np.abs(df["promotion"]) > 1)
    with limited(1):
        model, _ = fitted(
            df[["promotion", "y"]],
            seconds,
            work,
            members=["ridges", "trees", "network"],
            known_future="promotion",
            max_iter=20,
        )
    for member in model.ensemble_.members["trees"].fit.members:
        assert member.regressor.regressor.n_iter_ >= 150
    assert work.now <= 1.2 * seconds


@pytest.mark.slow
def test_where_seconds_are_many_all_takes_part():
    """Nothing is cut, and forecasts are those without a limit."""
    df = hours(600)
    model, budget = fitted(df, 1e6, Clock(tick=1e-6))
    assert set(budget.efforts.values()) == {1.0}
    assert not budget.left_out
    assert not budget.stopped
    free = InformerRegressor("y", **with_parts(**P)).fit(df)
    np.testing.assert_array_equal(model.predict(df[-48:]), free.predict(df[-48:]))


def test_too_few_seconds_leave_ridges_and_warn():
    """A forecast is always made; the leaderboard says why nothing else takes part."""
    clock = Clock(tick=0.05)
    with pytest.warns(UserWarning, match=r"max_seconds=0.1 allows less.* ridges were"):
        model, budget = fitted(hours(500), 0.1, clock)
    assert list(budget.efforts) == ["ridges"]
    assert np.isfinite(model.forecast().to_numpy()).all()
    board = model.leaderboard()
    assert board.index[board["takes_part"]].tolist() == [
        "joint forecast",
        "ridges",
    ] or (board.index[board["takes_part"]].tolist() == ["ridges"])
    assert board.loc["network", "reason"].startswith("it would take ")
    assert board.loc["network", "reason"].endswith("of max_seconds=0.1")


def test_the_leaderboard_says_what_was_cut(tmp_path):
    """Also from a file."""
    model, _ = fitted(hours(500), 10.0, Clock(tick=1e-4), slowness=60.0)
    reason = model.leaderboard().loc["ridges", "reason"]
    assert reason.startswith("max_seconds=10 left it ")
    assert reason.endswith("% of its windows")
    model.save(tmp_path / "model.skinformer")
    again = load(tmp_path / "model.skinformer")
    pd.testing.assert_frame_equal(again.leaderboard(), model.leaderboard())


def test_a_regressor_in_place_of_trees_is_fitted_again_only_where_its_seconds_are_left():
    """Its part of the fit is planned as that of trees, and its name is its own."""

    class Slow(Ridge):
        def fit(self, X, y, sample_weight=None):
            clock.now += 100
            return super().fit(X, y, sample_weight)

    clock = Clock(tick=1e-4)
    model, _ = fitted(hours(500), 150, clock, members=["ridges", Slow()])
    assert model.leaderboard().loc["Slow", "error"] > 0
    assert clock.now < 150


@pytest.mark.parametrize("kind", [InformerRegressor, InformerClassifier])
def test_refits_are_not_ahead_when_a_fit_is_done(kind):
    """Whatever was compared, or was not."""
    df = hours(200)
    members = ["ridges", "network"]
    if kind is InformerClassifier:
        df["y"] = np.where(df["y"] > 10, "high", "low")
        members = ["classes"]
    _, budget = fitted(df, 1e4, Clock(tick=1e-4), kind=kind, members=members)
    assert not budget.seconds_ahead


def test_seconds_of_refits_of_a_panel_are_kept_while_the_network_is_trained(
    monkeypatch,
):
    """Its members are weighed behind it; those of a long table, before."""
    ahead = {}
    part = Budget.part

    def note(budget, name):
        ahead[name] = set(budget._ahead)
        return part(budget, name)

    monkeypatch.setattr(Budget, "part", note)
    monkeypatch.setattr("skinformer.judging.fit.has_background", lambda: True)
    for rows, is_ahead in ((panel(120), True), (hours(500), False)):
        fitted(rows, 1e4, Clock(tick=1e-4), members=["ridges", NETWORK])
        assert (REFITS in ahead[NETWORK]) == is_ahead


@pytest.mark.slow
def test_classes_have_a_budget(work):
    df = hours(1600)
    df["y"] = np.where(df["y"] > 10, "high", "low")
    _, budget = fitted(df, 20, work, kind=InformerClassifier)
    assert work.now <= 24
    assert "classes" in budget.efforts


@pytest.mark.parametrize("seconds", [0, -1, math.inf, math.nan, "5"])
def test_seconds_are_positive(seconds):
    with pytest.raises(ValueError, match="max_seconds"):
        InformerRegressor("y", max_seconds=seconds).fit(hours(60))


def test_seconds_are_a_parameter():
    model = InformerRegressor("y", max_seconds=5)
    assert clone(model).max_seconds == 5
    assert model.set_params(max_seconds=None).get_params()["max_seconds"] is None


@pytest.mark.slow
def test_gaps_are_filled_whatever_is_left():
    """The last ones by forecasts; nothing stays missing."""
    df = hours(600)
    df[np.random.default_rng(0).random(600) < 0.15] = np.nan
    model, budget = fitted(df, 3.0, Clock(tick=0.01), slowness=50.0)
    assert budget.efforts["filling"] < 1
    assert np.isfinite(model.timeline_.values).all()
    assert np.isfinite(model.forecast().to_numpy()).all()
