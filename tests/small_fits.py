"""A regressor that fits in a twentieth of a second, and frames on every clock."""

from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
from flat_parameters import with_parts

from skinformer import InformerClassifier, InformerRegressor
from skinformer.estimators import fitting, serialisation
from skinformer.estimators.serialisation import FILES
from skinformer.judging.plan import plan_members
from skinformer.tabular.regressors import default_regressors

SEQ_LEN, PRED_LEN = 12, 4

TINY = {
    "seq_len": SEQ_LEN,
    "pred_len": PRED_LEN,
    "d_model": 8,
    "n_heads": 2,
    "n_encoder_layers": 1,
    "max_iter": 1,
    "learning_rate": 1e-2,
    "device": "cpu",
    "random_state": 0,
}

#: Label of the first row and the step of every clock that the contract names.
CLOCKS = {
    "hours": lambda n: pd.date_range("2024-01-01", periods=n, freq="h"),
    "hours with a zone": lambda n: pd.date_range(
        "2024-01-01", periods=n, freq="h", tz="UTC"
    ),
    "hours through spring": lambda n: pd.date_range(
        "2024-03-30 00:00", periods=n, freq="h", tz="Europe/Berlin"
    ),
    "hours through autumn": lambda n: pd.date_range(
        "2024-10-26 00:00", periods=n, freq="h", tz="Europe/Berlin"
    ),
    "quarter hours": lambda n: pd.date_range("2024-01-01", periods=n, freq="15min"),
    "seven minutes": lambda n: pd.date_range(
        "2024-01-01 00:03", periods=n, freq="7min"
    ),
    "days": lambda n: pd.date_range("2024-02-20", periods=n, freq="D"),
    "days through spring": lambda n: pd.date_range(
        "2024-03-01", periods=n, freq="D", tz="America/New_York"
    ),
    "days through autumn": lambda n: pd.date_range(
        "2024-10-01", periods=n, freq="D", tz="America/New_York"
    ),
    # On 4 November 2018 the first hour of the day did not exist there.
    "days without a midnight": lambda n: pd.date_range(
        "2018-09-25", periods=n, freq="D"
    ).tz_localize("America/Sao_Paulo", nonexistent="shift_forward"),
    "business days": lambda n: pd.date_range("2024-01-01", periods=n, freq="B"),
    "weeks to Sunday": lambda n: pd.date_range("2022-01-01", periods=n, freq="W"),
    "weeks to Wednesday": lambda n: pd.date_range(
        "2022-01-01", periods=n, freq="W-WED"
    ),
    "month starts": lambda n: pd.date_range("2015-01-01", periods=n, freq="MS"),
    "month ends": lambda n: pd.date_range("2015-01-31", periods=n, freq="ME"),
    "quarter starts": lambda n: pd.date_range("1990-01-01", periods=n, freq="QS"),
    "quarter ends": lambda n: pd.date_range("1990-03-31", periods=n, freq="QE"),
    "monthly periods": lambda n: pd.period_range("2015-01", periods=n, freq="M"),
    "hourly periods": lambda n: pd.period_range("2024-01-01", periods=n, freq="h"),
    "two-month periods": lambda n: pd.period_range("1990-01", periods=n, freq="2M"),
    "row numbers": lambda n: pd.RangeIndex(n),
    "every tenth integer": lambda n: pd.Index(1000 + 10 * np.arange(n), name="tick"),
}


class Probabilities(InformerClassifier):
    """Tells all that it knows: a likeliest class may stay where its probability moves."""

    def predict(self, X):
        """Give probabilities."""
        return self.predict_proba(X)


def make_small(truths="numbers", **changes):
    """Make an estimator that trains one epoch of a tiny network."""
    kind = InformerRegressor if truths == "numbers" else Probabilities
    return kind(**with_parts(**{**TINY, **changes}))


def labelled(df):
    """Give the target as classes."""
    level = np.digitize(df["load"], [970, 1030])
    return df.assign(load=np.array(["low", "medium", "high"])[level])


def make_frame(index, *, seed=0):
    """Make a past-only column, one that may be known ahead, and the target, in odd units."""
    index = (
        pd.date_range("2024-01-01", periods=index, freq="h")
        if np.isscalar(index)
        else index
    )
    n = len(index)
    # A longer frame begins like this.
    noise = np.random.default_rng(seed).normal(size=(n, 3))
    wave = np.sin(np.arange(n) * 2 * np.pi / 8)
    columns = {
        "flow": 3.0 + noise[:, 0],
        "price": 20.0 + 2 * noise[:, 1],
        "load": 1000.0 + 50 * wave + 5 * noise[:, 2],
    }
    return pd.DataFrame(columns, index=index)


@pytest.fixture(scope="session")
def truths(request):
    """Say what is forecast; tests of what both estimators promise ask for "classes", too."""
    return getattr(request, "param", "numbers")


@pytest.fixture(scope="session")
def small(truths):
    """Give the factory of tiny estimators."""
    return partial(make_small, truths)


@pytest.fixture(scope="session")
def frame(truths):
    """Give the factory of frames: ``frame(80)`` is hourly, ``frame(index)`` is labelled so."""
    if truths == "numbers":
        return make_frame
    return lambda *args, **options: labelled(make_frame(*args, **options))


@pytest.fixture
def save_forged(tmp_path, monkeypatch):
    """Give the function that saves a model with another array in the place of one of its own."""
    encode = type(FILES).encode

    def save(model, honest, forge):
        def forged(codec, content):
            tree, arrays = encode(codec, content)
            same = [np.array_equal(array, honest) for array in arrays]
            assert any(same)
            return tree, [
                np.ascontiguousarray(forge(array)) if forge_it else array
                for array, forge_it in zip(arrays, same, strict=True)
            ]

        with monkeypatch.context() as patch:
            patch.setattr(type(FILES), "encode", forged)
            patch.setattr(serialisation, "check_content", lambda *_: None)
            model.save(tmp_path / "forged")
        return tmp_path / "forged"

    return save


@pytest.fixture(scope="session")
def far(truths):
    """Give the function that makes a target's value that lies far off, on either side."""
    if truths == "numbers":
        return lambda factor: 1000 + factor * 50
    return lambda factor: "high" if factor > 0 else "low"


@pytest.fixture(scope="session", params=CLOCKS)
def labels(request):
    """Give the function that makes n labels of one clock."""
    return CLOCKS[request.param]


@pytest.fixture(scope="session", params=["frame", "both", "features"])
def mode(request):
    """Give each of the three modes in turn."""
    return request.param


class Modes:
    """How one frame is given to `fit` and `predict` in each mode."""

    @staticmethod
    def inputs(mode, df):
        """Give X and y of a frame with the target 'load'."""
        if mode == "frame":
            return df, None
        if mode == "both":
            return df, df["load"]
        return df.drop(columns="load"), df["load"]

    def __init__(self, truths):
        self.truths = truths

    def regressor(self, mode, **changes):
        """Make an estimator that suits a mode."""
        if mode != "features":
            changes = {"target": "load", "known_future": ["price"], **changes}
        return make_small(self.truths, **changes)

    def fit(self, mode, df, **changes):
        """Fit a frame in a mode."""
        return self.regressor(mode, **changes).fit(*self.inputs(mode, df))

    def X(self, mode, df):  # noqa: N802
        """Give what `predict` takes of a frame in a mode."""
        return self.inputs(mode, df)[0]


@pytest.fixture(scope="session")
def modes(truths):
    """Give the ways into the three modes."""
    return Modes(truths)


@pytest.fixture(scope="session")
def fitted(modes, frame):
    """Give a function (mode, clock, n) -> estimator fitted on n rows; each is fitted once."""

    @cache
    def fit(mode, clock="hours", n=60, **changes):
        return modes.fit(mode, frame(CLOCKS[clock](n)), **changes)

    return fit


@pytest.fixture(scope="session")
def panel():
    """Give three series of different level, length, start and end under (site, time)."""

    def make(
        *, seed=0, n=(60, 40, 25), start=(0, 30, 5), names=("a", "b", "c"), level=1000.0
    ):
        hours = pd.date_range("2024-01-01", periods=400, freq="h")
        parts = {}
        for j, name in enumerate(names):
            part = make_frame(hours[start[j] : start[j] + n[j]], seed=seed + j)
            part["load"] = (part["load"] - 1000) * 10**j + level * 100**j
            parts[name] = part
        return pd.concat(parts, names=["site", "time"])

    return make


@pytest.fixture
def few_trees(monkeypatch):
    """Boost a tenth of the trees, at a greater rate: for who asks whether there are any."""

    def few(*, simple, quick):
        trees = default_regressors(simple=simple, quick=quick)
        return tuple(
            t.set_params(max_iter=t.max_iter // 10, learning_rate=0.5) for t in trees
        )

    monkeypatch.setattr("skinformer.tabular.fit.default_regressors", few)


@pytest.fixture(scope="module")
def long_tables():
    """Keep classical forecasters out: a hundred rows stand for a long table."""

    def chosen(settings, table):
        alone = "ridges" not in settings.members
        return plan_members(settings if alone else settings.without("classical"), table)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "plan_members", chosen)
        yield
