"""Modules that need what is not installed are not collected for their docstrings."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("sktime") else ["skinformer/beside/sktime.py"]
