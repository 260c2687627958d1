"""What fitted values in files may be: one line for each that its type does not say all of."""

from typing import Any, get_type_hints

import numpy as np
import pandas as pd

from skinformer.ensemble.member import NETWORK, RIDGES
from skinformer.model.informer import Informer
from skinformer.persistence.errors import ModelFileError
from skinformer.persistence.schema import Rule, Sizes
from skinformer.ridge.linear_fit import LinearFit
from skinformer.tabular.trees import Trees
from skinformer.timeline.arrays import Float32Array, Float64Array, IntArray
from skinformer.timeline.calendar import FIELDS

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
_FARTHEST_STEP = 1 << 22
_LONGEST = 1e11  # seconds, some three thousand years
_WEIGHT, _VALUE, _FLOAT = "-1e6..1e6", "-1e18..1e18", "-1e300..1e300"
LIMITS: dict[str, str] = {
    # sizes
    "ModelSizes.n_targets": "=1..1e6",
    "ModelSizes.n_past|n_known": "=0..1e6",
    "ModelSizes.n_static": "=0..n_known",
    "ModelSizes.n_series": "n_embedded=0..1e9",
    "ModelSizes.calendar_fields": "[n_fields]",
    "ModelSizes.seq_len|pred_len": "=1..1e9",
    "ModelSizes.patch_len": "=1..seq_len",
    "ModelSizes.mean_step": "1e-300..1e18",
    "ModelSizes.n_network_fields": "0..n_fields",
    "ModelSizes.season": "0..seq_len",
    # rows
    "Timeline.values": f"[n_rows n_columns] {_VALUE} nan",
    "Timeline.weight": "[n_rows n_targets] 0..1e38",
    "Timeline.first_step|forecast_from": "[n_series] -1e15..1e15",
    "Timeline.first_row": "[Ends] 0..n_rows",
    "Scaler.mean": f"[Scaled n_columns] {_FLOAT}",
    "Scaler.scale": "[Scaled n_columns] 1e-300..1e300",
    "TargetScale.floor": "[Scaled n_labels] -inf..0",
    "TargetScale.low": "[Scaled n_labels] -inf..inf nan",
    "TargetScale.logs": "[Scaled n_labels]",
    "TargetScale.smear": "[Scaled n_labels] 0..100",
    "TargetScale.transformers": "[0]",
    "TargetScale.top": "[Scaled n_labels] -1e3..inf",
    "TargetScale.rise": "[Scaled n_labels] 0..inf",
    "Usual.low|high": "[n_series n_columns] -inf..inf",
    "Usual.reach": "[n_series n_columns] 0..inf",
    "Usual.season": "1..1e6",
    "Usual.pending": "[n_series n_columns 2] -inf..inf nan",
    "Usual.leaps": "[n_series n_targets Phases 3] -inf..inf",
    # what columns are
    "Roles.targets": "[n_labels]",
    "Roles.past": "[n_past]",
    "Roles.known": "[n_known]",
    "Roles.static": "[n_static]",
    "Roles.links": "[0|n_labels]",
    # the network, and what it corrects
    "LinearFit.own": f"[1|n_targets Seen pred_len] {_WEIGHT}",
    "LinearFit.mixed": f"[Mixed Outputs] {_WEIGHT}",
    "LinearFit.mixed_len": "0..seq_len",
    "LinearFit.effect": f"[n_known n_targets] {_WEIGHT}",
    "LinearFit.blend": "0..1.001",
    "PhaseMaps.places": "[Fields 60] 0..1e9",
    "PhaseMaps.waves": f"[Turns Waves] {_WEIGHT}",
    "PhaseMaps.own": f"[Read Own] {_WEIGHT}",
    "PhaseMaps.others": f"[Read Others] {_WEIGHT}",
    "PhaseMaps.weights": f"[n_targets Width pred_len] {_WEIGHT}",
    "CalendarEffect.level": f"[Cells Targets] {_WEIGHT}",
    "CalendarEffect.known": f"[Times Known Targets] {_WEIGHT}",
    "CalendarEffect.bounds": f"[2 Known] {_VALUE}",
    "CalendarEffect.places": "[Fields 60] 0..1e9",
    "CalendarEffect.fields": "[Fields]",
    "CalendarEffect.year": f"[Days Each 0|Targets] {_WEIGHT}",
    "Informer.weights": _WEIGHT,
    "Informer.built_from.label_len|season": "0..seq_len",
    "Informer.built_from.decoder_patch_len": "1..patch_len",
    "Informer.built_from.d_model|n_heads|d_ff": "1..1e6",
    "Informer.built_from.n_encoder_layers|n_decoder_layers": "1..256",
    "Informer.built_from.dropout": "0..1",
    "Informer.built_from.factor": "1e-6..1e6",
    "Informer.built_from.seed": "0..4294967295",
    "best_loss_|loss_curve_|validation_scores_": "-inf..inf nan",
    # who forecasts, and how much each counts
    "Ensemble.weights": "[n_series+1 1|pred_len n_targets Members] 0..1.001",
    "Ensemble.temperature": "1e-3..1e3",
    "Classes.weights": "[pred_len Forecasters] 0..1.001",
    "Classical.effect": f"[n_known n_targets] {_WEIGHT}",
    "ClassicalFit.seq_len": "Reach=1..1e9",
    "ClassicalFit.period": "=1..Reach",
    "ClassicalFit.weights": "[Owners Candidates] 0..1.001",
    "ClassicalFit.panel_weights": "[Candidates] 0..1.001",
    "ClassicalFit.never_negative": "[Owners]",
    "SharedRidges.seq_len": "1..1e9",
    "SharedRidges.maps": "[3 Rows pred_len]",
    "OwnRidges.effect": f"[n_known n_targets] {_WEIGHT}",
    "OwnFit.seq_len": "1..1e9",
    "OwnRidge.shared": f"[Rows pred_len] {_WEIGHT}",
    "OwnRidge.directions": f"[Rows Directions] {_WEIGHT}",
    "OwnRidge.own": f"[Owners Directions pred_len] {_WEIGHT}",
    "OwnRidge.weight": "[Owners] 0..1.001",
    "FeatureMaker.seasons": "2..2048",
    "FeatureMaker.low": "[Columns] -inf..1e18",
    "FeatureMaker.high": "[Columns] -1e18..inf",
    "Columns.n_targets": "1..n_targets",
    "Columns.n_past": "0..n_targets+n_past",
    "Anchored.anchor": "0..4096",
    "ReadyRegressor.used": "[Used] 0..65535",
    "ReadyRegressor.mean": "[Used]",
    "ReadyRegressor.deviation": "[Used] 0..1e18",
    "Trees.n_features": "1..65535",
    "Trees.thresholds": "-1e300..inf",
    # classes
    "ClassHead.sizes": "[n_labels] 2..n_targets",
    "ClassHead.label_smoothing": "0..1",
    "ClassHead.z_loss": "0..1e3",
    "LabelReader.targets": "[n_labels]",
    "Labels.weight": "[Classes]",
    "ClassFit.targets": "[n_labels]",
    "slice": "[2] 0..n_targets",
    "Frequencies.table": "[Blocks Cells Classes] 1e-300..1",
    "Frequencies.level": "[n_series+1 Classes] 1e-9..1e9",
    "Transitions.table": "[pred_len Known Classes] 0..1",
    "Logistic.mean": f"[Features] {_VALUE}",
    "Logistic.scale": "[Features] 1e-300..inf",
    "Logistic.slope": f"[Classes Features] {_WEIGHT}",
    "Logistic.intercept": f"[Classes] {_WEIGHT}",
    "TargetFit.seen": "0..n_targets",
    "ClassFeatures.rich|other|known": "0..n_columns",
    # how far forecasts may be off
    "QuantileHead.levels": "1e-9..0.999999999",
    "Intervals.quiet": "[n_targets] 1e-300..1e18",
    "Intervals.far": "[Far n_targets] -100..100",
    "Intervals.growth": "[n_targets] -10..10",
    "Intervals.optimism": "[n_targets] 1e-3..1e3",
    "Intervals.distance": "1..1e9",
    "Intervals.fitted_until": "[n_series] -1e15..1e15",
    "Spread.typical": "[pred_len n_targets] -100..100",
    "Spread.centre": "[n_targets Features] -100..100",
    "Spread.slope": "[n_targets Features] -10..10",
    "Spread.profile": "[Season n_targets] -100..100",
    "Residuals.errors": "[Windows pred_len n_targets] nan",
    "Residuals.n_windows": "0..1e9",
    "Residuals.series": "[Windows] 0..n_series",
    "Residuals.origins": "[Windows] -1e15..1e15",
    "Calibration.split": "[n_series] 0..n_rows",
    "Calibration.n_rows": "[n_series] 0..1e15",
}


def _rows_agree(timeline: Any, sizes: Sizes) -> bool:
    first = timeline.first_row
    covered = len(first) == sizes["n_series"] + 1 and first[0] == 0 < np.diff(first).min()
    covered = covered and first[-1] == sizes["n_rows"]
    if hasattr(timeline.clock, "wall") and np.abs(timeline.first_step).max() > _FARTHEST_STEP:
        return False  # such clocks are read off a list of all their steps
    left_out = timeline.forecast_from
    if left_out is not None and covered:
        end = timeline.first_step + np.diff(first)
        covered = (left_out >= timeline.first_step).all() and (left_out <= end).all()
    n_columns = sizes["n_targets"] + sizes["n_past"] + sizes["n_known"]
    room = sizes["seq_len"] + sizes["pred_len"] <= 4 * sizes["n_rows"] + 1024
    known = np.isfinite(timeline.values[:, : sizes["n_targets"]]).all()
    dated = _within_years(timeline.clock, timeline.first_step)
    return bool(covered and dated and room and known and sizes["n_columns"] == n_columns)


def _within_years(clock: Any, steps: Any) -> bool:
    """Tell whether steps stay among the years that have dates."""
    if not isinstance(clock.freq, str):
        return True
    try:
        step = pd.tseries.frequencies.to_offset(clock.freq)
    except ValueError:
        return False
    length = pd.Timedelta(step).total_seconds() if isinstance(step, pd.offsets.Tick) else 86_400
    return bool(np.abs(steps).max() * length < _LONGEST)


def _calendar_is_whole(calendar: Any, _: Sizes) -> bool:
    """Every cell lies in its table."""
    n_cells, n_times = len(calendar.level), len(calendar.known)
    n_days, n_each, n_targets = calendar.year.shape
    if not (n_cells and n_times and n_each) or n_cells % n_times:
        return False
    if n_days and (n_cells % n_each or n_targets != calendar.level.shape[1]):
        return False
    return bool(calendar.places.max(axis=1, initial=0).sum() < n_cells * max(n_days, 1))


def _path_agrees(path: Any, sizes: Sizes) -> bool:
    """No map reads before the window, or more columns and fields than there are."""
    n_inputs, n_targets, n_fields = (sizes[n] for n in ("n_columns", "n_targets", "n_fields"))
    n_seen, calendar, phases = [path.own.shape[1], path.mixed_len], path.calendar, path.phases
    n_features = ((path.mixed_len + 1) * n_inputs + 1) * bool(path.mixed_len)
    fits = path.mixed.shape == (n_features, sizes["pred_len"] * n_targets) and n_seen[0] > 0
    if calendar is not None:
        fits = fits and calendar.known.shape[1] in (0, sizes["n_known"])
        fits = fits and calendar.level.shape[1] == n_targets
        fits = fits and 0 < len(calendar.places) <= n_fields
    if phases is not None:
        n_own, n_others = phases.own.shape[1], phases.others.shape[1]
        n_read, rest = divmod(phases.weights.shape[1], max(phases.waves.shape[1], 1))
        n_columns = (n_read - n_own - 1) / n_others if n_others else n_targets
        n_seen.append(len(phases.own))
        fits = fits and not rest and len(phases.waves) > 0 and len(phases.own) > 0
        fits = fits and n_columns in range(n_targets, n_inputs + 1)
        fits = fits and len(phases.places) <= n_fields
        fits = fits and (n_others or n_read == n_own + 1)
    return bool(fits and max(n_seen) <= sizes["seq_len"])


def _of_units(member: Any, sizes: Sizes) -> bool:
    """Tell whether it knows the units of each series, and looks back as far as members do."""
    reach = member.fit.seq_len <= 4 * sizes["seq_len"]
    return bool(reach and len(member.scaler.mean) == sizes["n_series"] + 1)


def _reads_what_it_used(ready: Any, _: Sizes) -> bool:
    """Tell whether it is fitted to as many features as are used, or to one of zeros."""
    inner, n_used = ready.regressor, max(len(ready.used), 1)
    if hasattr(inner, "trees"):
        return inner.trees is not None and inner.trees.n_features == n_used
    coef = getattr(inner.learnt, "coef_", None)
    whole = coef is not None and coef.shape in [(n_used,), (1, n_used)]
    filled = ready.fill and hasattr(ready, "mean") and hasattr(ready, "deviation")
    return whole and filled and np.size(getattr(inner.learnt, "intercept_", ())) == 1


def _names_agree(roles: Any, _: Sizes) -> bool:
    """Columns are those that have a role, under one name each, which has all levels."""
    used, columns, targets = (
        [repr(name) for name in names]
        for names in ((*roles.past, *roles.known), roles.columns, roles.targets)
    )
    own = used if roles.mode == "features" else [*used, *targets]
    each = zip((roles.targets, roles.columns), roles.levels, strict=True)
    return (
        len(set(used)) == len(used)
        and len(set(columns)) == len(columns)
        and set(columns) == set(own)
        and {repr(name) for name in (*roles.static, *roles.unchanged)} <= set(used)
        and len({type(name) for name in (*roles.columns, *roles.targets)}) == 1
        and all(
            len(levels) == 1
            or (levels and all(type(name) is list and len(name) == len(levels) for name in names))
            for names, levels in each
        )
    )


def _members_agree(ensemble: Any, _: Sizes) -> bool:
    """Each is who its name says, with weights; who is corrected comes before who corrects."""
    members, earlier = dict(ensemble.members), dict(ensemble.held_out)
    base = getattr(members.get(NETWORK), "base", None)
    return (
        len(members) == len(ensemble.members) == ensemble.weights.shape[3]
        and list(members)[-1:] == [NETWORK]
        and hasattr(members[NETWORK], "network")
        and (RIDGES in members) == (base == RIDGES)
        and all(hasattr(each.get(RIDGES), "path") for each in (members, earlier) if RIDGES in each)
        and set(earlier) <= set(members)
    )


def _attributes_agree(fitted: Any, sizes: Sizes) -> bool:
    roles, reader, head = fitted.roles_, fitted.reader_, fitted.head_
    named = getattr(fitted, "feature_names_in_", roles.columns)
    network = dict(fitted.ensemble_.members)[NETWORK]
    built = network.network.built_from
    fields = fitted.sizes_.calendar_fields[: fitted.sizes_.n_network_fields]
    embedded = sizes["n_embedded"]
    categories = [FIELDS[name].size for name in fields] + [embedded + 1] * (embedded > 0)
    outputs = [len(head.levels)] if hasattr(head, "levels") else []
    labels = hasattr(head, "sizes")
    if labels != hasattr(reader, "targets") or labels != bool(network.groups):
        raise ModelFileError("it mixes classes and numbers")
    if labels and (
        [len(each.classes) for each in reader.targets] != head.sizes
        or sum(head.sizes) != sizes["n_targets"]
        or (
            roles.mode == "frame"
            and list(map(repr, reader.names)) != list(map(repr, roles.targets))
        )
        or reader.by_name != roles.by_name
    ):
        return False
    return (
        built.outputs == outputs
        and built.calendar_sizes == categories
        and embedded in (0, sizes["n_series"])
        and (labels or sizes["n_labels"] == sizes["n_targets"])
        and fitted.n_features_in_ == len(roles.columns)
        and list(map(repr, named)) == list(map(repr, roles.columns))
        and (fitted.series_ is not None or sizes["n_series"] == 1)
        and fitted.device_ in ("cpu", "cuda")
    )


RULES: dict[str, Rule] = {
    "ModelSizes.calendar_fields": lambda names, _: set(names) <= set(FIELDS),
    "Timeline": _rows_agree,
    "Spread.profile": lambda profile, _: len(profile) > 0,
    "Scaler": lambda scaler, _: (np.abs(scaler.mean) <= 1e15 * scaler.scale).all(),
    "TargetScale": lambda scale, _: ((scale.low > 0) & (scale.low < 1e300))[scale.logs].all(),
    "ReadyRegressor": _reads_what_it_used,
    "SharedRidges.maps": lambda found, _: all(maps.shape[1] == key[-1] - 1 for key, maps in found),
    "Classical": lambda member, sizes: (
        _of_units(member, sizes)
        and len(member.fit.weights) == sizes["n_series"] * sizes["n_targets"]
        and member.fit.ridges.seq_len == member.fit.seq_len
    ),
    "OwnRidges": lambda member, sizes: (
        _of_units(member, sizes)
        and all(
            len(ridge.weight) == sizes["n_series"] * sizes["n_targets"] + 1
            and 0 < len(ridge.shared) <= member.fit.seq_len
            for ridge in member.fit.ridges
        )
    ),
    "scaler_": lambda scaler, sizes: len(scaler.mean) == sizes["n_series"],
    "LinearFit": _path_agrees,
    "Roles": _names_agree,
    "fitted": _attributes_agree,
    "Anchored.regressor": lambda found, _: hasattr(found, "used"),
    "TargetFit.classifier": lambda found, _: found is None or hasattr(found, "used"),
    "Labels": lambda found, _: len(set(map(repr, found.classes))) == len(found.classes) > 1,
    "ClassFit": lambda fit, sizes: (
        [0, *(target.group[1] for target in fit.targets)]
        == [*(target.group[0] for target in fit.targets), sizes["n_targets"]]
        and 3 <= len(fit.names) <= 4
    ),
    "Ensemble": _members_agree,
    "Classes": lambda base, _: base.weights.shape[1] == len(base.fit.names),
    "CalendarEffect": _calendar_is_whole,
    "CalendarEffect.fields": lambda names, _: set(names) <= set(FIELDS),
}
