"""Deep forecasting behind scikit-learn's interface.

The public names are loaded when they are first used (PEP 562), so that ``import skinformer``
takes milliseconds and loads neither torch nor matplotlib.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skinformer import datasets, display, evaluation, recipes, serving
    from skinformer.estimators.classifier import InformerClassifier
    from skinformer.estimators.loading import load
    from skinformer.estimators.parts import (
        Attention,
        Block,
        MemorySaving,
        Network,
        Training,
    )
    from skinformer.estimators.regressor import InformerRegressor
    from skinformer.evaluation.panel_split import PanelTimeSeriesSplit
    from skinformer.persistence.errors import ModelFileError, VersionWarning
    from skinformer.preprocessing.calendar_features import CalendarFeatures
    from skinformer.preprocessing.mask_future import MaskFuture
    from skinformer.preprocessing.sliding_window import SlidingWindow
    from skinformer.preprocessing.time_index import TimeIndex

__version__ = "0.1.0"

__all__ = [
    "Attention",
    "Block",
    "CalendarFeatures",
    "InformerClassifier",
    "InformerRegressor",
    "MaskFuture",
    "MemorySaving",
    "ModelFileError",
    "Network",
    "PanelTimeSeriesSplit",
    "SlidingWindow",
    "TimeIndex",
    "Training",
    "VersionWarning",
    "__version__",
    "datasets",
    "display",
    "evaluation",
    "load",
    "recipes",
    "serving",
]

#: Where each name is defined.
_MODULES = {
    "Attention": "skinformer.estimators.parts",
    "Block": "skinformer.estimators.parts",
    "CalendarFeatures": "skinformer.preprocessing.calendar_features",
    "InformerClassifier": "skinformer.estimators.classifier",
    "InformerRegressor": "skinformer.estimators.regressor",
    "MaskFuture": "skinformer.preprocessing.mask_future",
    "MemorySaving": "skinformer.estimators.parts",
    "ModelFileError": "skinformer.persistence.errors",
    "Network": "skinformer.estimators.parts",
    "PanelTimeSeriesSplit": "skinformer.evaluation.panel_split",
    "SlidingWindow": "skinformer.preprocessing.sliding_window",
    "TimeIndex": "skinformer.preprocessing.time_index",
    "Training": "skinformer.estimators.parts",
    "VersionWarning": "skinformer.persistence.errors",
    "load": "skinformer.estimators.loading",
}
_SUBMODULES = frozenset({"datasets", "display", "evaluation", "recipes", "serving"})


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    if name in _SUBMODULES:
        return import_module(f"skinformer.{name}")
    raise AttributeError(f"module 'skinformer' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
