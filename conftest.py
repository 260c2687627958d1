"""Fixtures of all rooms; modules that need what is not installed are not collected."""

from importlib.util import find_spec

_ADAPTERS = {
    "chronos": "chronos",
    "flair": "flaircast",
    "fracast": "fracast",
    "sktime": "sktime",
    "sktime_member": "sktime",
    "statsforecast": "statsforecast",
    "timesfm": "timesfm",
    "tirex": "tirex",
}
#: A tiny estimator and frames on every clock, which the tests of most rooms fit.
pytest_plugins = ["small_fits"]
collect_ignore = [
    f"skinformer/beside/{module}.py"
    for module, library in _ADAPTERS.items()
    if not find_spec(library)
]
