"""Other members of an ensemble of scikit-learn, which hands the same X to all."""

import inspect
from typing import Any

from skinformer.timeline.roles import Names
from skinformer.validation.warning import shown

#: Libraries whose regressors take rows as they are.
_OF_ROWS = ("sklearn", "lightgbm", "xgboost", "catboost")


def check_co_members(targets: Names) -> None:
    """Raise if a member of the ensemble that fits here would take the target in X for a feature."""
    for name, member in _members_of_caller():
        regressor = _unwrapped(member)
        if not _sees_all_columns(regressor):
            continue
        kind = type(regressor).__name__
        raise ValueError(
            f"X contains the target {', '.join(map(shown, targets))}, and the ensemble "
            f"also passes it to its member {name!r}: {kind} would use the actual value "
            "as a feature. Pass it the other columns only, "
            f"make_pipeline(make_column_transformer(('drop', {list(targets)}), "
            f"remainder='passthrough'), {kind}())."
        )


def _unwrapped(member: Any) -> Any:
    """Return what a search, or a TransformedTargetRegressor, fits."""
    for name in ("estimator", "regressor"):
        inner = getattr(member, name, None)
        if inner is not None:
            return _unwrapped(inner)
    return member


def _sees_all_columns(regressor: Any) -> bool:
    """Return whether a regressor is known to take every column of X as a feature.

    A Pipeline may leave the target out, and what another ensemble hands on is seen there.
    """
    library = type(regressor).__module__.split(".")[0]
    is_composed = hasattr(regressor, "steps") or hasattr(regressor, "estimators")
    return library in _OF_ROWS and not is_composed


def _members_of_caller() -> list[tuple[str, Any]]:
    """Find the ensemble of scikit-learn that calls this fit, and return its members by name.

    It is on the stack only if it fits in this process.
    """
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith("sklearn.ensemble."):
            ensemble = frame.f_locals.get("self")
            members = getattr(ensemble, "estimators", None)
            if members is not None:
                return list(members)
        frame = frame.f_back
    return []
