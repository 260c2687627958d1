"""Settings of all tests."""

import gc
import os
import sys

import pytest
from hypothesis import settings

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


def pytest_collection_modifyitems(items):
    """Look for covered lines in quick tests alone: watching takes half as long as running."""
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker("no_cover")


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
