"""Settings of all tests."""

import copy
import gc
import os
import sys
import tempfile
import warnings
from functools import wraps
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

import skinformer
from skinformer.estimators.base import BaseInformer
from skinformer.frames import to_pandas

#: One fit in so many is saved and loaded, in a full run each.
_EVERY = 1 if os.environ.get("SKINFORMER_SAVE_EVERY_FIT") == "1" else 50
#: What `save` says of what numbers and text cannot stand for, and of subclasses.
_NOT_SAVED = (
    "save cannot write params.",
    "save cannot write fitted.",
    "save writes only Informer",
)

# In CI the same examples on every run: a rare counterexample belongs to the change that is
# being written, not to the next one. On a developer's machine each run tries new ones.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("dev", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Collect garbage among what tests make alone: half a million objects are there to stay."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture
def count_calls():
    """Count the calls of functions in some work: what a loop over rows costs, on every machine."""

    def count(work):
        calls = 0

        def see(frame, event, argument):
            nonlocal calls
            calls += event in ("call", "c_call")

        sys.setprofile(see)
        try:
            work()
        finally:
            sys.setprofile(None)
        return calls

    return count


@pytest.fixture(autouse=True, scope="session")
def kept_fits():
    """Keep copies of what tests fit, as they are right after the fit."""
    fit, n_fits, kept = BaseInformer.fit, [0], []

    @wraps(fit)
    def fit_and_keep(self, *args, **kwargs):
        fitted = fit(self, *args, **kwargs)
        n_fits[0] += 1
        if n_fits[0] % _EVERY == 0 and hasattr(fitted, "ensemble_"):
            kept.append(copy.copy(fitted))
        return fitted

    # Warnings name the first line outside of the library: this one counts as inside.
    inside = fit.__code__.co_filename
    fit_and_keep.__code__ = fit_and_keep.__code__.replace(co_filename=inside)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BaseInformer, "fit", fit_and_keep)
        yield kept


@pytest.fixture(autouse=True)
def saved_fits(kept_fits):
    """Save and load what a test fitted, once it has ended: whatever was fitted can be saved."""
    kept_fits.clear()
    yield
    for model in kept_fits:
        check_saved(model)
    kept_fits.clear()


def check_saved(model):
    """Raise unless a model's file forecasts as it does, or `save` says why there is none."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder, "model")
        try:
            model.save(path)
        except ValueError as error:
            if str(error).startswith(_NOT_SAVED):
                return
            raise
        members = [] if isinstance(model.members, str) else model.members
        # A file does not say how a forecaster of sktime is made, see its adapter.
        given = [
            each if hasattr(each, "forecaster") else type(each) for each in members
        ]
        loaded = skinformer.load(path, forecasters=given)
        future = model._future_frame(None)
        future[list(model.roles_.sources_of(model.roles_.known))] = 0.0
        for encoding in model.roles_.categories:
            future[encoding.name] = encoding.levels[0]
        future = future if model.roles_.known else None
        forecasts = [to_pandas(one.forecast(future)) for one in (loaded, model)]
        np.testing.assert_array_equal(*forecasts)
