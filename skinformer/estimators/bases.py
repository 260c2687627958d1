"""Bases of scikit-learn, with the types that it does not give.

Without them a type checker takes every attribute of an estimator for anything: a misspelt method
of ``InformerRegressor().fit(df)`` would pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Self, TypeVar

    Method = TypeVar("Method", bound=Callable[..., Any])

    class BaseEstimator:
        """Parameters by name."""

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """Return the parameters by name."""

        def set_params(self, **params: Any) -> Self:
            """Change parameters by name."""

        def get_metadata_routing(self) -> Any:
            """Return what metadata the methods ask for."""

        def set_fit_request(self, *, sample_weight: bool | str | None = ...) -> Self:
            """Request weights in fit from meta-estimators."""

        def set_score_request(self, *, sample_weight: bool | str | None = ...) -> Self:
            """Request weights in score from meta-estimators."""

        def __getstate__(self) -> dict[str, Any]: ...
        def __setstate__(self, state: dict[str, Any]) -> None: ...
        def __sklearn_tags__(self) -> Any: ...
        def _get_fitted_attr_html(self, doc_link: str = "") -> Any: ...
        def _validate_params(self) -> None: ...

    class ClassifierMixin:
        """Tags of a classifier."""

    class RegressorMixin:
        """Tags of a regressor."""

    class CallbackSupportMixin:
        """Callbacks of a fit."""

        def set_callbacks(self, *callbacks: Any) -> Self:
            """Set the callbacks of fits."""

        def _init_callback_context(self, *, max_subtasks: int) -> Any: ...

    def with_callbacks(method: Method) -> Method:
        """Tear callbacks down when the method ends."""

else:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

    from skinformer.compatibility.callbacks import CallbackSupportMixin, with_callbacks

__all__ = [
    "BaseEstimator",
    "CallbackSupportMixin",
    "ClassifierMixin",
    "RegressorMixin",
    "with_callbacks",
]
