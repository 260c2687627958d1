"""What of the fitted values in files has to agree: a shape for each array that others go by."""

from typing import Any, get_type_hints

import numpy as np

from skinformer.model.informer import Informer
from skinformer.persistence.schema import Rule, Sizes
from skinformer.ridge.linear_fit import LinearFit
from skinformer.tabular.trees import Trees
from skinformer.timeline.arrays import Float32Array, Float64Array, IntArray

_BOOSTED: dict[str, Any] = {"parameters": dict | None, "trees": Trees | None}
_LINEAR = {"coef_?": Float64Array, "intercept_?": float | Float64Array, "n_features_in_?": int}
_REGRESSOR = {"parameters": dict, "learnt": _LINEAR}
_FILLED = {"mean?": Float64Array, "deviation?": Float64Array}
_BUILT_FROM = get_type_hints(Informer.__init__)
#: Kinds that are no records, as they are taken apart.
ANNOTATIONS: dict[str, Any] = {
    "Informer": {
        # Older files know of no path of the window.
        "built_from": {k: v for k, v in _BUILT_FROM.items() if k not in ("return", "window_path")}
        | {"calendar_sizes": tuple[int, ...], "window_path?": bool},
        "weights": dict[str, Float32Array],
    },
    "LinearPath": {"fit": LinearFit},
    "HistGradientBoostingRegressor": _BOOSTED,
    "HistGradientBoostingClassifier": _BOOSTED | {"classes": IntArray | None},
    **dict.fromkeys(("ElasticNet", "Lasso", "LinearRegression", "Ridge"), _REGRESSOR),
    "ReadyRegressor": {"regressor": Any, "fill": bool, "used": IntArray, **_FILLED},
    "slice": list[int],
}
#: Steps of a clock that is read off a list of all of them: a thousand years of business hours.
_FARTHEST_STEP = 1 << 21
#: Numbers by whose name shapes are told.
SIZES: dict[str, str] = {
    f"ModelSizes.{name}": name
    for name in ("n_targets", "n_past", "n_known", "n_static", "seq_len", "pred_len")
}
SHAPES: dict[str, str] = {
    "ModelSizes.calendar_fields": "n_fields",
    # rows
    "Timeline.values": "n_rows n_columns",
    "Timeline.weight": "n_rows n_targets",
    "Timeline.first_step|forecast_from": "n_series",
    "Timeline.first_row": "Ends",
    "Scaler.mean|scale": "Scaled n_columns",
    "TargetScale.floor|low|logs|smear|top|rise": "Scaled n_labels",
    "TargetScale.transformers": "0",
    "Usual.low|high|reach": "n_series n_columns",
    "Usual.pending": "n_series n_columns 2",
    "Usual.leaps": "n_series n_targets Phases 3",
    # what columns are
    "Roles.targets": "n_labels",
    "Roles.past": "n_past",
    "Roles.known": "n_known",
    "Roles.static": "n_static",
    "Roles.links": "0|n_labels",
    # the network, and what it corrects
    "LinearFit.own": "1|n_targets Seen pred_len",
    "LinearFit.mixed": "Mixed Outputs",
    "LinearFit.effect": "n_known n_targets",
    "PhaseMaps.places": "Fields 60",
    "PhaseMaps.waves": "Turns Waves",
    "PhaseMaps.own": "Read Own",
    "PhaseMaps.others": "Read Others",
    "PhaseMaps.weights": "n_targets Width pred_len",
    "CalendarEffect.level": "Cells Targets",
    "CalendarEffect.known": "Times Known Targets",
    "CalendarEffect.bounds": "2 Known",
    "CalendarEffect.places": "Fields 60",
    "CalendarEffect.fields": "Fields",
    "CalendarEffect.year": "Days Each 0|Targets",
    # who forecasts, and how much each counts
    "Ensemble.weights": "n_series+1 1|pred_len n_targets Members",
    "Classes.weights": "pred_len Forecasters",
    "Classical.effect": "n_known n_targets",
    "ClassicalFit.weights": "Owners Candidates",
    "ClassicalFit.panel_weights": "Candidates",
    "ClassicalFit.never_negative": "Owners",
    "SharedRidges.maps": "3 Rows pred_len",
    "OwnRidges.effect": "n_known n_targets",
    "OwnRidge.shared": "Rows pred_len",
    "OwnRidge.directions": "Rows Directions",
    "OwnRidge.own": "Owners Directions pred_len",
    "OwnRidge.weight": "Owners",
    "FeatureMaker.low|high": "Columns",
    "ReadyRegressor.used|mean|deviation": "Used",
    # classes
    "ClassHead.sizes": "n_labels",
    "LabelReader.targets": "n_labels",
    "Labels.weight": "Classes",
    "ClassFit.targets": "n_labels",
    "slice": "2",
    "Frequencies.table": "Blocks Cells Classes",
    "Frequencies.level": "n_series+1 Classes",
    "Transitions.table": "pred_len Known Classes",
    "Logistic.mean|scale": "Features",
    "Logistic.slope": "Classes Features",
    "Logistic.intercept": "Classes",
    # how far forecasts may be off
    "Intervals.quiet|growth|optimism": "n_targets",
    "Intervals.far": "Far n_targets",
    "Intervals.fitted_until": "n_series",
    "Spread.typical": "pred_len n_targets",
    "Spread.centre|slope": "n_targets Features",
    "Spread.profile": "Season n_targets",
    "Residuals.errors": "Windows pred_len n_targets",
    "Calibration.split|n_rows": "n_series",
}
#: Where numbers may be unknown or infinite, or as large as they like.
OPEN = {
    "Timeline.values",
    "TargetScale.floor",
    "TargetScale.low",
    "TargetScale.top",
    "TargetScale.rise",
    *(f"Usual.{name}" for name in ("low", "high", "reach", "pending", "leaps")),
    "FeatureMaker.low",
    "FeatureMaker.high",
    "Trees.thresholds",
    "Logistic.scale",
    "Residuals.errors",
    "best_loss_",
    "loss_curve_",
    "validation_scores_",
    "n_iter_",
    "Informer.built_from.seed",
}


def _rows_agree(timeline: Any, sizes: Sizes) -> bool:
    """Whether series share the rows, one after the other, and columns are those that there are."""
    first, left_out = timeline.first_row, timeline.forecast_from
    if len(first) != sizes["n_series"] + 1 or first[0] != 0 or np.diff(first).min() <= 0:
        return False
    if hasattr(timeline.clock, "wall") and np.abs(timeline.first_step).max() > _FARTHEST_STEP:
        return False
    if left_out is not None:
        end = timeline.first_step + np.diff(first)
        if (left_out < timeline.first_step).any() or (left_out > end).any():
            return False
    n_columns = sizes["n_targets"] + sizes["n_past"] + sizes["n_known"]
    return bool(first[-1] == sizes["n_rows"] and sizes["n_columns"] == n_columns)


def _of_each_series(member: Any, sizes: Sizes) -> bool:
    """Whether a member has weights for each series and target, and the units of each series."""
    n_owners = sizes["n_series"] * sizes["n_targets"]
    fit = member.fit
    if hasattr(fit, "weights"):
        owners = [len(fit.weights)]
    else:
        owners = [len(ridge.weight) - 1 for ridge in fit.ridges]
    return set(owners) <= {n_owners} and len(member.scaler.mean) == sizes["n_series"] + 1


RULES: dict[str, Rule] = {
    "Timeline": _rows_agree,
    "scaler_": lambda scaler, sizes: len(scaler.mean) == sizes["n_series"],
    "Classical": _of_each_series,
    "OwnRidges": _of_each_series,
}
