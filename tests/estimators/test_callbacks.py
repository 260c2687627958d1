"""Callbacks of scikit-learn see a fit's stages and epochs, wherever the estimator stands."""

import re

import numpy as np
import pandas as pd
import pytest
from blends import base_blend, trust
from flat_parameters import with_parts
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skinformer
from skinformer import InformerRegressor

callback = pytest.importorskip("sklearn.callback")

SMALL = {
    "seq_len": 12,
    "pred_len": 4,
    "d_model": 8,
    "n_heads": 2,
    "random_state": 0,
    "members": ["network"],
}


@pytest.fixture(scope="module")
def df():
    hours = pd.date_range("2024-01-01", periods=120, freq="h")
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {"temp": rng.normal(size=120), "load": np.sin(np.arange(120) / 4)}, index=hours
    )


class Spy:
    """Note what the hooks are given; stop after some epochs."""

    def __init__(self, stop_after=None):
        self.stop_after, self.epochs, self.begun, self.models = stop_after, 0, 0, []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        self.begun += context.task_name == "epoch"

    def on_fit_task_end(
        self, estimator, context, *, X=None, y=None, fitted_estimator=None
    ):
        if context.task_name != "epoch":
            return False
        self.X, self.y = X, y
        self.epochs += 1
        self.models.append(fitted_estimator)
        return self.epochs == self.stop_after


def test_every_epoch_is_a_task_with_a_model_ready_to_predict(df):
    """A callback may keep a model; training on must not change it."""
    spy = Spy()
    final = InformerRegressor(
        "load", **with_parts(max_iter=3, early_stopping=False, **SMALL)
    )
    final.set_callbacks(spy).fit(df)
    assert (spy.begun, spy.epochs) == (3, 3)
    forecasts = [model.predict(df) for model in spy.models]
    assert not np.array_equal(forecasts[0], forecasts[2])
    np.testing.assert_array_equal(forecasts[2], final.predict(df))


def test_every_stage_is_a_task_so_that_bars_move(df):
    """A bar that counts epochs stands at 0 during ridges and trees, and at 100 % in the end."""

    class Order(Spy):
        told = ()

        def on_fit_task_begin(self, estimator, context):
            self.told += (("begin", context.task_name, context.max_subtasks),)

        def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
            ready = fitted_estimator is not None
            assert ready == (context.task_name in ("epoch", "fit"))
            self.told += (("end", context.task_name, context.max_subtasks),)

    spy = Order()
    options = SMALL | {"members": ["ridges", "network"]}
    InformerRegressor("load", **with_parts(max_iter=2, **options)).set_callbacks(
        spy
    ).fit(df)
    assert spy.told == (
        ("begin", "fit", 3),
        *((step, "ridges", 0) for step in ("begin", "end")),
        ("begin", "network", 2),
        *2 * (("begin", "epoch", 0), ("end", "epoch", 0)),
        ("end", "network", 2),
        *((step, "weights", 0) for step in ("begin", "end")),
        ("end", "fit", 3),
    )


def test_the_hooks_see_the_losses_so_far(df):
    """A callback that stops or plots by the loss must find it, epoch by epoch."""
    spy = Spy()
    final = (
        InformerRegressor("load", **with_parts(max_iter=3, **SMALL))
        .set_callbacks(spy)
        .fit(df)
    )
    for epoch, model in enumerate(spy.models, start=1):
        assert model.n_iter_ == epoch
        assert model.loss_curve_ == final.loss_curve_[:epoch]
        assert model.validation_scores_ == final.validation_scores_[:epoch]


@pytest.mark.slow
def test_the_hooks_see_no_epoch_that_never_ran(df):
    """A pruner would be told of the last epoch twice where a fit has converged."""
    spy = Spy()
    noise = df.assign(load=np.random.default_rng(1).normal(size=120))
    model = InformerRegressor(
        "load", **with_parts(max_iter=50, n_iter_no_change=2, **SMALL)
    )
    model.set_callbacks(spy).fit(noise)
    assert model.n_iter_ < 50
    assert [seen.n_iter_ for seen in spy.models] == list(range(1, model.n_iter_ + 1))
    assert spy.begun == model.n_iter_


def test_the_hooks_of_a_resumed_fit_see_the_losses_before_it(df, tmp_path):
    """Step 3 of a learning curve must not become step 1 because a machine went down."""

    class Crash(Spy):
        def on_fit_task_begin(self, estimator, context):
            super().on_fit_task_begin(estimator, context)
            if self.begun == 3:
                raise MemoryError

    model = InformerRegressor(
        "load", **with_parts(max_iter=4, checkpoint=tmp_path / "fit.pt", **SMALL)
    )
    with pytest.raises(MemoryError):
        model.set_callbacks(Crash()).fit(df)
    spy = Spy()
    model.set_callbacks(spy).fit(df)
    first = model.n_iter_ - len(spy.models) + 1
    assert first > 1
    for epoch, seen in enumerate(spy.models, start=first):
        assert seen.loss_curve_ == model.loss_curve_[:epoch]


def test_the_hooks_get_the_target_in_frame_mode(df):
    """Scorers of callbacks want a y even where fit got none."""
    spy = Spy()
    InformerRegressor("load", **with_parts(max_iter=1, **SMALL)).set_callbacks(spy).fit(
        df
    )
    np.testing.assert_array_equal(spy.y, df["load"])
    assert spy.X is df


def test_a_callback_can_stop_a_fit(df):
    """The hook's True ends the training, and the model is usable."""
    model = (
        InformerRegressor("load", **with_parts(max_iter=9, **SMALL))
        .set_callbacks(Spy(stop_after=2))
        .fit(df)
    )
    assert model.n_iter_ == 2
    assert len(model.history_) == 2
    assert np.isfinite(model.predict(df)).all()


class PrunedError(Exception):
    """What a callback raises, as Optuna's TrialPruned."""


@pytest.mark.parametrize("fitted", [False, True])
def test_a_hook_that_raises_is_told_once_and_the_estimator_stays_as_it_was(df, fitted):
    """A pruner that is told of an epoch twice judges by the wrong one; a pruned fit is no fit."""

    class Prune(Spy):
        def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
            self.epochs += context.task_name == "epoch"
            if self.epochs == 2:
                raise PrunedError

    model = InformerRegressor("load", **with_parts(max_iter=4, **SMALL))
    if fitted:
        model.fit(df)
    before = dict(vars(model))
    spy = Prune()
    with pytest.raises(PrunedError):
        model.set_callbacks(spy).fit(df)
    assert (spy.begun, spy.epochs) == (2, 2)
    model.set_callbacks()
    assert vars(model) == before
    assert all(value is before[name] for name, value in vars(model).items())


def test_what_the_hooks_get_is_whole(df, tmp_path):
    """Whoever keeps the best epoch's model wants its ranges and its file, too."""
    spy = Spy()
    final = (
        InformerRegressor("load", **with_parts(max_iter=2, **SMALL))
        .set_callbacks(spy)
        .fit(df)
    )
    for model in spy.models:
        assert model.best_loss_ == -model.validation_scores_[-1]
        assert "network" in model.fit_times_["part"].tolist()
        assert model.predict_interval(df).shape == (len(df), 2)
        model.save(tmp_path / "epoch.skinformer")
        loaded = skinformer.load(tmp_path / "epoch.skinformer")
        np.testing.assert_array_equal(loaded.predict(df), model.predict(df))
    fitted = {name for name in vars(final) if name.endswith("_")}
    assert fitted <= set(vars(spy.models[0]))


def test_the_end_of_the_fit_comes_with_the_final_model(df):
    """A score at the end of a fit is that of the model one gets: with ridges fitted to all rows."""

    class Last(Spy):
        def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
            if context.task_name == "fit":
                self.models.append(fitted_estimator)

    spy = Last()
    runs = df.assign(load=df["load"].mask(np.arange(120) % 50 == 40))
    final = (
        InformerRegressor("load", **with_parts(max_iter=2, **SMALL))
        .set_callbacks(spy)
        .fit(runs)
    )
    (model,) = spy.models
    assert model.module_ is not final.module_
    np.testing.assert_array_equal(model.predict(runs), final.predict(runs))
    assert trust(model) == trust(final)
    assert base_blend(model) == base_blend(final)


def test_a_callback_that_draws_random_numbers_changes_nothing(df):
    """What watches a fit must not steer it."""
    import torch

    class Noise(Spy):
        def on_fit_task_end(self, estimator, context):
            torch.rand(3)

    watched = (
        InformerRegressor("load", **with_parts(max_iter=2, **SMALL))
        .set_callbacks(Noise())
        .fit(df)
    )
    alone = InformerRegressor("load", **with_parts(max_iter=2, **SMALL)).fit(df)
    np.testing.assert_array_equal(watched.predict(df), alone.predict(df))


def test_a_scoring_monitor_logs_every_epoch(df):
    """One score an epoch, and one for the fit."""
    monitor = callback.ScoringMonitor(scoring="r2")
    InformerRegressor("load", **with_parts(max_iter=3, **SMALL)).set_callbacks(
        monitor
    ).fit(df)
    log = monitor.get_logs().data_as_pandas
    assert (log["task_name"] == "epoch").sum() == 3
    assert np.isfinite(log["r2"]).all()


@pytest.mark.slow
def test_monitor_and_progress_bar_reach_into_a_search_over_pipelines(df, capsys):
    """The bar is set on the search; the monitor, made for one estimator, on that one."""
    pytest.importorskip("rich")
    monitor = callback.ScoringMonitor(scoring="neg_mean_absolute_error")
    pipeline = make_pipeline(
        StandardScaler().set_output(transform="pandas"),
        InformerRegressor("load", **with_parts(max_iter=2, **SMALL)).set_callbacks(
            monitor
        ),
    )
    search = GridSearchCV(
        pipeline, {"informerregressor__network__d_model": [4, 8]}, cv=TimeSeriesSplit(2)
    )
    search.set_callbacks(callback.ProgressBar()).fit(df, df["load"])
    log = monitor.get_logs().data_as_pandas
    fits = 2 * 2 + 1
    epochs = log[(log["task_name"] == "epoch")]
    assert len(epochs) == 2 * fits
    assert np.isfinite(epochs["neg_mean_absolute_error"]).all()
    assert "GridSearchCV" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("members", "judged"),
    [
        (["network"], ["[InformerRegressor] network: weight 100%"]),
        (
            ["ridges", "network"],
            [
                "[InformerRegressor] joint forecast",
                "[InformerRegressor] ridges: weight 50%",
                "[InformerRegressor] network: weight 50%",
            ],
        ),
    ],
)
def test_verbose_writes_one_plain_line_a_part_and_an_epoch(df, capsys, members, judged):
    """Progress without extra packages; silence by default."""
    options = SMALL | {"max_iter": 2, "members": members}
    InformerRegressor("load", **with_parts(**options)).fit(df)
    assert capsys.readouterr().out == ""
    InformerRegressor("load", **with_parts(verbose=1, **options)).fit(df)
    lines = capsys.readouterr().out.splitlines()
    assert [re.split("  |, error", line)[0] for line in lines] == [
        "[InformerRegressor] reading rows",
        *["[InformerRegressor] ridges"] * ("ridges" in members),
        "[InformerRegressor] Informer",
        "[InformerRegressor] epoch 1/2",
        "[InformerRegressor] epoch 2/2",
        "[InformerRegressor] weights",
        *judged,
    ]


def test_ctrl_c_keeps_the_model(df):
    """Hours of training must survive the wish to stop."""

    class Interrupt(Spy):
        def on_fit_task_end(self, estimator, context):
            self.epochs += context.task_name == "epoch"
            if self.epochs == 2:
                self.epochs += 1
                raise KeyboardInterrupt

    model = InformerRegressor("load", **with_parts(max_iter=9, **SMALL)).set_callbacks(
        Interrupt()
    )
    with pytest.warns(
        UserWarning, match="^training interrupted after 2 epochs; the best weights"
    ):
        model.fit(df)
    assert model.n_iter_ == 2
    assert np.isfinite(model.predict(df)).all()
