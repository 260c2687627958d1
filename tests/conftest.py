"""Settings of all tests."""

import os

from hypothesis import settings

# In CI the same examples on every run: a rare counterexample belongs to the change that is
# being written, not to the next one. On a developer's machine each run tries new ones.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("dev", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


def pytest_collection_modifyitems(items):
    """Look for covered lines in quick tests alone: watching takes half as long as running."""
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker("no_cover")
