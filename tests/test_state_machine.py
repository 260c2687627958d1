"""Whatever is called in whatever order: a refusal changes nothing, and results repeat.

``SKINFORMER_FUZZ_STEPS=50000 python -m pytest tests/test_state_machine.py`` runs more steps.
"""

import copy
import io
import os
import pickle
import sys
import warnings
from functools import partial
from unittest import mock

import joblib
import numpy as np
import pandas as pd
import pytest
from blends import trust
from flat_parameters import with_parts
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

from skinformer import InformerRegressor
from skinformer.evaluation import backtest

N_STEPS = int(os.environ.get("SKINFORMER_FUZZ_STEPS", "150"))
STEPS_A_RUN = 25

SMALL = {"seq_len": 8, "pred_len": 3, "d_model": 4, "n_heads": 1, "n_encoder_layers": 1}
SMALL |= {
    "d_ff": 4,
    "max_iter": 1,
    "max_windows": 32,
    "random_state": 0,
    "members": ["classical", "ridges", Ridge(), "network"],
}
N_ROWS, N_LATER = 40, 24


def wave(n, level, seed):
    return (
        level
        + np.sin(np.arange(n) / 2)
        + np.random.default_rng(seed).normal(size=n) / 9
    )


def dated(n=N_ROWS + N_LATER):
    return pd.DataFrame(
        {"load": wave(n, 5, 0)}, pd.date_range("2024", periods=n, freq="h")
    )


def with_covariates():
    df = dated()
    return df.assign(temp=wave(len(df), 0, 1), price=np.arange(len(df)) % 7.0)[
        ["temp", "price", "load"]
    ]


def panel(names=("a", "b", "c")):
    parts = {name: dated() + 10.0**i for i, name in enumerate(names)}
    return pd.concat(parts, names=["series", "time"])


def holed():
    """Leave out truths, the last one of the fit among them."""
    df = dated()
    df.iloc[[0, 3, 9, 10, 11, 12, 25, N_ROWS - 1, N_ROWS + 4]] = np.nan
    return df


def names_and_holes():
    """Text, categories and yes or no, one of them with holes, as a file has them."""
    df = with_covariates()
    place = np.arange(len(df))
    df["price"] = df["price"].mask(np.isin(place, [5, 6, 7, 20, 42, 50, 51]))
    df["temp"] = df["temp"].mask(place % 11 == 3)
    names = {
        "weather": np.array(["sun", "rain", "fog"])[place * place % 3],
        "event": np.where(place % 6 == 0, "fair", None),
        "size": pd.Categorical(
            np.array(["s", "m"])[place % 2], ["s", "m"], ordered=True
        ),
        "open": place % 5 > 0,
    }
    return df.assign(**names)[[*names, *df]]


def outliers():
    factor = np.ones(N_ROWS + N_LATER)
    factor[[20, N_ROWS - 2, N_ROWS + 3]] = [1e3, 1e6, -1e4]
    return dated().mul(factor, axis=0)


#: Frames to fit, whole: the first rows are fitted, later ones are for updates.
FRAMES = {
    "short": dated(),
    "shortest": dated(),
    "constant": dated() * 0 + 5,
    "panel with a constant": panel().mul(
        np.repeat([0.0, 1.0, 1.0], N_ROWS + N_LATER), axis=0
    ),
    "gaps": holed(),
    "wild": outliers(),
    "dated": dated(),
    "covariates": with_covariates(),
    "names and holes": names_and_holes(),
    "numbered": dated().reset_index(drop=True),
    "panel": panel(),
    "turned panel": panel(("c", "a")),
}


#: Columns that are known ahead.
KNOWN = {"covariates": ["price"], "names and holes": ["price", "weather", "event"]}

#: Where the rows of a fit begin.
FIRST = {"short": N_ROWS - 17, "shortest": N_ROWS - 6}


def rows(frame, start, stop):
    """Cut the same places out of every series."""
    if frame.index.nlevels == 1:
        return frame.iloc[start:stop]
    return frame.groupby(level=0, sort=False).nth(slice(start, stop))


#: What makes a fit or an update refuse, early or late.
SPOILED = {
    "infinite": lambda X: X.assign(load=np.inf),
    "backwards": lambda X: X[::-1],
    "twice": lambda X: pd.concat([X, X]),
    "text": lambda X: X.assign(load="many"),
    "nothing": lambda X: X[:0],
    "gaps": lambda X: X.drop(X.index[2:14]),
    "no columns": lambda X: X[[]],
}
BAD_PARAMETERS = [
    {"network__n_heads": 3},
    {"network__label_len": 99},
    {"target": "no such"},
    {"seq_len": 0},
]
BAD_PARAMETERS += [
    {"training__learning_rate": 1e38, "members": ["network"]},
    {"early_stopping": "always"},
]
LEVELS = [0.1, 0.5, 0.9]


def slowly(*_):
    """Take rows origin by origin."""


#: Where Ctrl-C strikes.
PLACES = ["read_training", "fit_scale", "build_timeline", "linear_fit", "start_module"]
PLACES += ["train", "EnsembleFit.finish"]


class Machine(RuleBasedStateMachine):
    """One estimator, and what it must go on answering."""

    def __init__(self):
        super().__init__()
        self.model = InformerRegressor(**with_parts(**SMALL))
        self.name, self.end, self.expected, self.weight = None, 0, None, None
        self.cloned = True

    @property
    def fitted(self):
        return self.name is not None

    def answers(self):
        """Ask everything public that a user could compare."""
        frame = FRAMES[self.name]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # held values, other timelines
            future = self.model.make_future_frame(2)
            before = rows(frame, FIRST.get(self.name, 0), self.end)
            later = rows(frame, self.end, self.end + 5)
            answers = {
                "predict": self.model.predict(before),
                "quantiles": self.quantiles(
                    lambda: self.model.predict_quantiles(before, LEVELS)
                ),
                "later quantiles": self.quantiles(
                    lambda: self.model.predict_quantiles(later, LEVELS)
                ),
                "later": self.model.predict(later),
                "forecast": None
                if "price" in frame
                else self.model.forecast(horizon=4),
                "future": future,
                "trust": trust(self.model),
                "losses": self.model.loss_curve_,
                "attributes": sorted(vars(self.model)),
            }
        for name in ("predict", "quantiles", "later", "later quantiles"):
            assert np.isfinite(answers[name]).all(), name
        return answers

    def quantiles(self, ask):
        """Ask for quantiles, which the fewest rows cannot tell of."""
        if self.model.intervals_ is not None:
            return ask()
        with pytest.raises(
            ValueError, match=r"^prediction intervals need errors of earlier forecasts"
        ):
            ask()
        return np.zeros(0)

    def check(self):
        """Compare what is answered now with what was answered before."""
        if not self.fitted:
            with pytest.raises(NotFittedError):
                self.model.predict(FRAMES["dated"])
            return
        for name, now in self.answers().items():
            before = self.expected[name]
            if isinstance(before, pd.DataFrame):
                pd.testing.assert_frame_equal(now, before, check_exact=True)
            else:
                np.testing.assert_array_equal(now, before, err_msg=name)

    @initialize(warm=st.booleans())
    def begin(self, warm):
        self.model.set_params(training__warm_start=warm)

    @rule(
        name=st.sampled_from(sorted(FRAMES)),
        weight=st.sampled_from([None, 1e-300, 1e300]),
    )
    def fit(self, name, weight):
        X = rows(FRAMES[name], FIRST.get(name, 0), N_ROWS)
        if weight is not None:
            weight = np.where(np.arange(len(X)) % 3 == 1, weight, 1.0)
        self.model.set_params(known_future=KNOWN.get(name))
        try:
            with warnings.catch_warnings():
                # Too few rows, a wild value.
                warnings.simplefilter("ignore", UserWarning)
                assert self.model.fit(X, sample_weight=weight) is self.model
        except ValueError as error:
            if not str(error).startswith(
                "warm_start=True cannot continue from the weights of another"
            ):
                raise
            self.model.set_params(known_future=KNOWN.get(self.name))
            self.check()
            return
        self.name, self.end, self.weight, self.cloned = name, N_ROWS, weight, False
        self.expected = self.answers()

    @rule(name=st.sampled_from(sorted(FRAMES)), spoil=st.sampled_from(sorted(SPOILED)))
    def refused_fit(self, name, spoil):
        with pytest.raises((ValueError, TypeError)):
            self.model.fit(SPOILED[spoil](rows(FRAMES[name], 0, N_ROWS)))
        self.check()

    @rule(name=st.sampled_from(sorted(FRAMES)), bad=st.sampled_from(BAD_PARAMETERS))
    def fit_with_bad_parameters(self, name, bad):
        before = {key: self.model.get_params()[key] for key in bad}
        self.model.set_params(**bad)
        with pytest.raises((ValueError, TypeError, FloatingPointError)):
            self.model.fit(rows(FRAMES[name], 0, N_ROWS))
        self.model.set_params(**before)
        self.check()

    @rule(name=st.sampled_from(sorted(FRAMES)), place=st.sampled_from(PLACES))
    def interrupted_fit(self, name, place):
        model = self.model.set_params(known_future=KNOWN.get(name))
        X = rows(FRAMES[name], 0, N_ROWS)
        X = X.assign(load=X["load"] * 1000)
        before = vars(model).copy()
        with (
            mock.patch(
                f"skinformer.estimators.fitting.{place}", side_effect=KeyboardInterrupt
            ),
            pytest.raises((KeyboardInterrupt, ValueError)),
        ):
            model.fit(X)
        assert vars(model) == before
        model.set_params(known_future=KNOWN.get(self.name))
        self.check()

    @precondition(lambda self: self.fitted and self.end + 9 < N_ROWS + N_LATER)
    @rule(n=st.integers(1, 4), gap=st.booleans())
    def update(self, n, gap):
        X = rows(FRAMES[self.name], self.end, self.end + n).copy()
        if gap:
            X.iloc[0, X.columns.get_loc("load")] = np.nan
        assert self.model.update(X) is self.model
        self.end += n
        self.expected = self.answers()

    @precondition(lambda self: self.fitted and self.end + 9 < N_ROWS + N_LATER)
    @rule(
        spoil=st.sampled_from(["infinite", "twice", "text", "no columns"]),
        late=st.booleans(),
    )
    def refused_update(self, spoil, late):
        X = rows(FRAMES[self.name], self.end + late, self.end + 4)
        with pytest.raises((ValueError, TypeError)):
            self.model.update(SPOILED[spoil](X))
        if late:
            with pytest.raises(ValueError, match="follow the history directly"):
                self.model.update(X)
        self.check()

    @precondition(lambda self: self.fitted)
    @rule(ahead=st.integers(0, 9), n=st.integers(1, 9), seed=st.integers(0, 9))
    def predict_in_any_order(self, ahead, n, seed):
        start = max(self.end - 12, FIRST.get(self.name, 0))
        X = rows(FRAMES[self.name], start, self.end + n)
        shuffled = X.sample(frac=1, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            in_order = pd.Series(self.model.predict(X), X.index)
            np.testing.assert_array_equal(
                self.model.predict(shuffled), in_order[shuffled.index]
            )
        self.check()

    @precondition(lambda self: self.fitted)
    @rule(call=st.sampled_from(["predict", "forecast", "score"]))
    def refused_question(self, call):
        with pytest.raises((ValueError, TypeError)):
            getattr(self.model, call)(SPOILED["infinite"](FRAMES[self.name]))
        self.check()

    @precondition(lambda self: self.fitted and self.end + 12 < N_ROWS + N_LATER)
    @rule(
        seed=st.integers(0, 99),
        missing=st.sampled_from([0.0, 0.1, 0.5]),
        factor=st.sampled_from([1.0, 1e3, -1e6]),
        horizon=st.integers(1, 7),
        step=st.integers(1, 4),
    )
    def backtest(self, seed, missing, factor, horizon, step):
        """All origins at once are each on its own, and neither knows what comes later."""
        generator = np.random.default_rng(seed)
        X = rows(FRAMES[self.name], self.end, self.end + 12).copy()
        place, load = np.arange(len(X)) % 12, X["load"].to_numpy(copy=True)
        load[place == generator.integers(12)] *= factor
        load[generator.random(len(X)) < missing] = np.nan
        since = int(generator.integers(12))
        other = np.where(
            place >= since, generator.choice([np.nan, 7.0], size=len(X)), load
        )
        levels = LEVELS if self.model.intervals_ is not None else None
        ask = partial(backtest, self.model, horizon=horizon, step=step, levels=levels)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found, changed = ask(X.assign(load=load)), ask(X.assign(load=other))
            with mock.patch.object(
                sys.modules[backtest.__module__], "after_updates", slowly
            ):
                one_by_one = ask(X.assign(load=load))
        pd.testing.assert_frame_equal(found, one_by_one, check_exact=True)
        told = found.columns[found.columns.get_loc("forecast") :]
        assert np.isfinite(found[told]).all(axis=None)
        first = X.index.get_level_values(-1).unique()[since]
        early = found["origin"] <= first
        pd.testing.assert_frame_equal(
            found[told][early], changed[told][early], check_exact=True
        )
        self.check()

    @precondition(lambda self: self.fitted)
    @rule(how=st.sampled_from(["pickle", "copy", "deepcopy", "joblib"]))
    def copy(self, how):
        if how == "joblib":
            file = io.BytesIO()
            joblib.dump(self.model, file)
            file.seek(0)
            self.model = joblib.load(file)
        elif how == "pickle":
            self.model = pickle.loads(pickle.dumps(self.model))
        else:
            self.model = getattr(copy, how)(self.model)
        self.check()

    @precondition(lambda self: self.fitted)
    @rule(
        change=st.sampled_from(
            [
                {"network__dropout": 0.5},
                {"training__max_iter": 2},
                {"loss": "mae"},
                {"seq_len": 12},
                {"pred_len": 5},
            ]
        )
    )
    def parameters_after_fit(self, change):
        before = {key: self.model.get_params()[key] for key in change}
        self.model.set_params(**change)
        self.check()
        self.model.set_params(**before)

    # Once a fit: a second clone would learn what the first did, and take most of the steps' time.
    @precondition(
        lambda self: (
            not (self.cloned or self.end > N_ROWS or self.model.training.warm_start)
        )
    )
    @rule()
    def a_clone_learns_the_same(self):
        self.cloned = True
        twin = clone(self.model)
        assert not any(name.endswith("_") for name in vars(twin))
        X = rows(FRAMES[self.name], FIRST.get(self.name, 0), N_ROWS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            twin.fit(X, sample_weight=self.weight)
        np.testing.assert_array_equal(twin.predict(X), self.expected["predict"])


@pytest.mark.filterwarnings("ignore:.* is (taken|replaced) :UserWarning")
@pytest.mark.filterwarnings("ignore:columns have missing values:UserWarning")
@pytest.mark.slow
def test_no_order_of_calls_surprises():
    """Refused, interrupted, copied, updated: what is answered depends on what succeeded alone."""
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=max(1, N_STEPS // STEPS_A_RUN),
            stateful_step_count=STEPS_A_RUN,
            deadline=None,
            derandomize=N_STEPS == 150,
            database=None,
            phases=[
                Phase.generate
            ],  # shrinking takes minutes, and the steps are printed anyway
            suppress_health_check=list(HealthCheck),
        ),
    )
