"""Settings of all tests."""

import os

from hypothesis import settings

# In CI the same examples on every run: a rare counterexample belongs to the change that is
# being written, not to the next one. On a developer's machine each run tries new ones.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("dev", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "dev")
