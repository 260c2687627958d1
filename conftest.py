"""Modules that need what is not installed are not collected for their docstrings."""

from importlib.util import find_spec

_ADAPTERS = {
    "chronos": "chronos",
    "fracast": "fracast",
    "sktime": "sktime",
    "sktime_member": "sktime",
    "statsforecast": "statsforecast",
}
collect_ignore = [
    f"skinformer/beside/{module}.py"
    for module, library in _ADAPTERS.items()
    if not find_spec(library)
]
