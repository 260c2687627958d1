"""Callbacks of scikit-learn 1.9 or newer; with an older one the tasks of a fit tell nobody."""

from __future__ import annotations

from typing import Any, NoReturn

import sklearn

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """An estimator that takes no callbacks."""

        def set_callbacks(self, *callbacks: Any) -> NoReturn:  # noqa: ARG002
            """Raise an AttributeError: callbacks need a newer scikit-learn."""
            raise AttributeError(
                "callbacks need scikit-learn 1.9 or newer, and "
                f"{sklearn.__version__} is installed: update it, or pass verbose=1, which writes "
                "a line for each part of a fit and each epoch"
            )

        def _init_callback_context(self, *, max_subtasks: int) -> SilentTask:  # noqa: ARG002
            return SilentTask()

    def with_callbacks(method: Any) -> Any:
        """Return the method as it is: there is nothing to tear down."""
        return method


class SilentTask:
    """A task of a fit that tells nobody, and never asks to stop."""

    def subcontext(self, **_: Any) -> SilentTask:
        """Begin a part of it."""
        return self

    def call_on_fit_task_begin(self, **_: Any) -> None:
        """Begin, without anyone to hear of it."""

    def call_on_fit_task_end(self, **_: Any) -> bool:
        """End, and return that the fit goes on."""
        return False


__all__ = ["CallbackSupportMixin", "SilentTask", "with_callbacks"]
