"""Equal seeds give equal numbers, and nothing outside the estimator is touched."""

import copy
import io
import pickle
import random
from functools import cache, partial

import joblib
import numpy as np
import pytest
import torch
from sklearn.base import clone


def weights(estimator):
    return {
        name: value.numpy().copy()
        for name, value in estimator.module_.state_dict().items()
    }


def assert_same_weights(one, two):
    for name, value in weights(one).items():
        np.testing.assert_array_equal(value, weights(two)[name], err_msg=name)


class ContentPickler(pickle.Pickler):
    """Pickle tensors by their values: torch numbers their storages anew each time."""

    def reducer_override(self, value):
        if isinstance(value, torch.Tensor):
            return np.array, (value.detach().numpy(),)
        if isinstance(value, torch.Generator):
            return bytes, (value.get_state().numpy().tobytes(),)
        return NotImplemented


def content(estimator):
    stream = io.BytesIO()
    ContentPickler(stream).dump(estimator.__dict__)
    # Loaded and dumped again: which equal strings are one object is no state.
    return pickle.dumps(pickle.loads(stream.getvalue()))


@pytest.fixture(scope="module")
def noisy(modes):
    """Fit with dropout, shuffling and early stopping: all that draws numbers."""

    def fit(df, mode="frame", **changes):
        return modes.fit(mode, df, dropout=0.3, max_iter=2, batch_size=8, **changes)

    return fit


@pytest.fixture(scope="module")
def alone(noisy):
    """Fit the network alone: where only what is drawn is looked at."""
    return partial(noisy, members=["network"])


@pytest.fixture(scope="module")
def kept(noisy, frame):
    """Give the fit of a mode to n rows, made once: to copy and compare with, not to change."""
    return cache(lambda mode, n: noisy(frame(n), mode))


@pytest.mark.slow
def test_two_fits_with_one_seed_are_equal(noisy, frame, mode, modes):
    """Without that no result can be repeated."""
    df = frame(70)
    one, two = noisy(df[:60], mode), noisy(df[:60], mode)
    assert_same_weights(one, two)
    np.testing.assert_array_equal(
        one.predict(modes.X(mode, df)), two.predict(modes.X(mode, df))
    )
    assert one.loss_curve_ == two.loss_curve_


def test_a_second_fit_forgets_the_first(alone, frame):
    """Fit starts anew, whatever was fitted before."""
    df = frame(60)
    again = alone(frame(60, seed=5)).fit(df)
    assert_same_weights(again, alone(df))


def test_another_seed_gives_other_weights(alone, frame):
    """Otherwise random_state is not used at all."""
    one, two = alone(frame(60)), alone(frame(60), random_state=1)
    np.testing.assert_raises(AssertionError, assert_same_weights, one, two)


def test_the_callers_generators_do_not_reach_the_fit(alone, frame):
    """With an int seed, what the caller drew before must not matter."""
    df = frame(60)
    torch.manual_seed(1)
    np.random.seed(1)  # noqa: NPY002 – the global generator is the point
    one = alone(df)
    torch.manual_seed(2)
    np.random.seed(2)  # noqa: NPY002
    assert_same_weights(one, alone(df))


def test_no_global_generator_moves(noisy, frame):
    """A library that reseeds the caller's generators makes his other results depend on it."""
    df = frame(70)
    states = torch.get_rng_state(), np.random.get_state(), random.getstate()  # noqa: NPY002
    estimator = noisy(df[:60])
    estimator.predict(df)
    estimator.update(df[60:])
    estimator.score(df)
    torch.testing.assert_close(torch.get_rng_state(), states[0])
    for now, before in zip(np.random.get_state(), states[1], strict=True):  # noqa: NPY002
        np.testing.assert_array_equal(now, before)
    assert random.getstate() == states[2]


def test_a_random_state_instance_moves_on_and_none_differs(alone, frame):
    """scikit-learn's rule: an instance is drawn from, None is new each time."""
    df = frame(60)
    shared = np.random.RandomState(0)
    one, two = alone(df, random_state=shared), alone(df, random_state=shared)
    np.testing.assert_raises(AssertionError, assert_same_weights, one, two)
    again = alone(df, random_state=np.random.RandomState(0))
    assert_same_weights(one, again)
    free = alone(df, random_state=None), alone(df, random_state=None)
    np.testing.assert_raises(AssertionError, assert_same_weights, *free)


@pytest.mark.filterwarnings("ignore:Please use the new API settings:UserWarning")
def test_settings_of_torch_stay(alone, frame):
    """Threads, determinism and the default dtype belong to the caller."""

    def read():
        return (
            torch.get_num_threads(),
            torch.are_deterministic_algorithms_enabled(),
            torch.get_default_dtype(),
            torch.is_grad_enabled(),
            torch.get_float32_matmul_precision(),
        )

    before = read()
    alone(frame(60)).predict(frame(60))
    assert read() == before


@pytest.mark.slow
def test_predict_and_its_kin_write_no_state(noisy, frame, modes, mode):
    """State written by predict would differ between processes and spoil pickles."""
    df = frame(70)
    X = modes.X(mode, df)
    estimator = noisy(df[:60], mode)
    before, names = content(estimator), dict(estimator.__dict__)
    estimator.predict(X)
    estimator.score(X, df["load"])
    estimator.forecast(
        estimator.make_future_frame().fillna({"price": 20.0, "flow": 3.0})
    )
    assert list(estimator.__dict__) == list(names)
    assert all(estimator.__dict__[name] is value for name, value in names.items())
    assert content(estimator) == before
    assert not estimator.module_.training


@pytest.mark.slow
def test_the_callers_frames_are_left_alone(noisy, frame):
    """Standardising in place would change the user's data."""
    df = frame(70)
    df.iloc[[5, 65], 2] = np.nan
    before = df.copy(deep=True)
    noisy(df[:60]).predict(df)
    assert df.equals(before)
    values = frame(60).to_numpy()
    values.flags.writeable = False
    noisy(frame(60)).predict(frame(60))
    kept = values.copy()
    estimator = noisy(frame(60), target=None, known_future=None).fit(values)
    estimator.predict(values)
    np.testing.assert_array_equal(values, kept)


def through_joblib(estimator, folder):
    joblib.dump(estimator, folder / "model.joblib")
    return joblib.load(folder / "model.joblib")


COPIES = {
    "deepcopy": lambda estimator, _: copy.deepcopy(estimator),
    "copy": lambda estimator, _: copy.copy(estimator),
    "pickle": lambda estimator, _: pickle.loads(pickle.dumps(estimator)),
    "pickle 2": lambda estimator, _: pickle.loads(pickle.dumps(estimator, protocol=2)),
    "joblib": through_joblib,
}


# All ways in one mode, and all modes in two ways: what a way leaves out is left out in every mode.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("way", "mode"),
    [
        *((way, "frame") for way in COPIES),
        *((way, mode) for way in ("copy", "pickle") for mode in ("both", "features")),
    ],
)
def test_a_copy_predicts_bit_equal_and_can_go_on(
    way, kept, frame, modes, mode, tmp_path
):
    """What is stored today must forecast the same tomorrow."""
    df = frame(80)
    estimator = copy.deepcopy(kept(mode, 60))
    twin = COPIES[way](estimator, tmp_path)
    X = modes.X(mode, df)
    np.testing.assert_array_equal(twin.predict(X), estimator.predict(X))
    y = df["load"][60:64]
    twin.update(X[60:64], y)
    np.testing.assert_array_equal(
        twin.predict(X), estimator.update(X[60:64], y).predict(X)
    )
    assert_same_weights(twin.fit(*modes.inputs(mode, df)), kept(mode, 80))


def test_an_update_of_a_copy_leaves_the_original(alone, frame):
    """Two forecasters must not share one history."""
    df = frame(70)
    estimator = alone(df[:60])
    twin = copy.copy(estimator)
    twin.update(df[60:])
    assert estimator.timeline_.end_step == 60


def test_a_clone_has_the_parameters_and_nothing_fitted(alone, frame):
    """Clone is how scikit-learn's tools start anew."""
    estimator = alone(frame(60), target=["load"], known_future=["price"])
    twin = clone(estimator)
    assert repr(twin.get_params()) == repr(estimator.get_params())
    assert not [
        name for name in vars(twin) if name.endswith("_") and not name.startswith("_")
    ]
    assert_same_weights(twin.fit(frame(60)), estimator)


def test_fit_changes_no_parameter(alone, frame, mode):
    """__init__ stores and fit reads; nothing is written back."""
    estimator = alone(frame(60), mode)
    fresh = alone(frame(60), mode).set_params()
    assert repr(estimator.get_params()) == repr(fresh.get_params())
    assert estimator.network.d_ff is None
    assert estimator.network.label_len is None
    assert estimator.early_stopping == "auto"
