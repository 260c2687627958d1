"""Parameters: their constraints, and those that depend on one another."""

import math
from collections.abc import Collection, Mapping, Sequence
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn

import pandas as pd
from sklearn.base import is_classifier, is_regressor
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from skinformer.timeline.arrays import BoolArray
from skinformer.timeline.calendar import FIELDS
from skinformer.validation.arguments import MOST
from skinformer.validation.forecasters import is_forecaster
from skinformer.validation.warning import first_names, warn_user
from skinformer.wording import number_of

_COUNT = Interval(Integral, 1, 2**31 - 1, closed="both")
_LENGTH = Interval(Integral, 1, MOST, closed="both")
_SEASON = Interval(Integral, 2, MOST, closed="both")
_SHARE = Interval(Real, 0, 1, closed="neither")

_POSITIVE = Interval(Real, 0, None, closed="neither")
_NOT_NEGATIVE = Interval(Real, 0, None, closed="left")

#: Of these torch makes matrices (a billion numbers at most), and layers one by one.
_WIDTH = Interval(Integral, 1, 2**15, closed="both")
_LAYERS = Interval(Integral, 1, 1000, closed="both")


#: The parameters of the estimators, as scikit-learn validates them.
CONSTRAINTS: dict[str, Any] = {
    "target": [None, str, Integral, tuple, list],
    "seq_len": [_LENGTH],
    "pred_len": [_LENGTH],
    "target_transform": [
        None,
        StrOptions({"log"}),
        HasMethods(["fit", "transform", "inverse_transform"]),
    ],
    "members": [StrOptions({"auto"}), list, tuple],
    "known_future": [None, str, list, tuple],
    "time": [None, str, Integral, tuple],
    "series": [None, str, Integral, tuple],
    "freq": [None, str, Integral, pd.offsets.BaseOffset, pd.Timedelta],
    "season": [None, _SEASON, list, tuple],
    "calendar": [None, StrOptions({"auto"}), list],
    "loss": [StrOptions({"mse", "mae", "huber"}), _SHARE, list, tuple],
    "early_stopping": ["boolean", StrOptions({"auto"})],
    "validation_fraction": [_SHARE],
    "max_seconds": [None, Interval(Real, 0, math.inf, closed="neither")],
    "n_jobs": [
        None,
        Interval(Integral, 1, None, closed="left"),
        Interval(Integral, None, -1, closed="right"),
    ],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}


#: Those of a classifier: labels have no scale, and one loss.
CLASSIFIER_CONSTRAINTS = CONSTRAINTS | {
    "class_weight": [None, StrOptions({"balanced"}), dict, list]
}
del CLASSIFIER_CONSTRAINTS["loss"]
del CLASSIFIER_CONSTRAINTS["target_transform"]


#: Those of their parts, see `estimators.parts`.
NETWORK_CONSTRAINTS: dict[str, Any] = {
    "label_len": [None, Interval(Integral, 0, MOST, closed="both")],
    "patch_len": [None, _LENGTH],
    "embeddings": [tuple, list],
    "d_model": [_WIDTH],
    "n_heads": [_WIDTH],
    "n_encoder_layers": [_LAYERS],
    "n_decoder_layers": [_LAYERS],
    "d_ff": [None, _WIDTH],
    "position": [StrOptions({"sinusoidal", "learned", "continuous"})],
    "distil": ["boolean"],
    # A CPU draws masks in steps of 2**-16: of a larger dropout nothing would be kept.
    "dropout": [Interval(Real, 0, 1 - 2**-16, closed="both")],
    "window_norm": [None, "boolean"],
    "device": [str],
}


TRAINING_CONSTRAINTS: dict[str, Any] = {
    "optimizer": [StrOptions({"adamw", "muon"})],
    "precision": [StrOptions({"auto", "fp32", "bf16", "fp16"})],
    "checkpoint": [None, str, PathLike],
    "max_iter": [None, _COUNT],
    "max_windows": [None, _COUNT],
    "learning_rate": [_POSITIVE],
    "weight_decay": [_NOT_NEGATIVE],
    "batch_size": [_COUNT],
    "n_iter_no_change": [_COUNT],
    "warm_start": ["boolean"],
    "label_smoothing": [Interval(Real, 0, 1, closed="left")],
    "z_loss": [_NOT_NEGATIVE],
}


ATTENTION_CONSTRAINTS = {
    "encoder": [StrOptions({"auto", "probsparse", "dense"})],
    "decoder": [StrOptions({"probsparse", "dense"})],
    "factor": [_POSITIVE],
}


BLOCK_CONSTRAINTS = {
    "norm": [StrOptions({"layer", "zc_rms", "post_layer"})],
    "qk_norm": ["boolean"],
    "output_gate": ["boolean"],
    "activation": [StrOptions({"gelu", "relu", "swiglu"})],
    "init": [StrOptions({"xavier", "normal", "scaled"})],
}


MEMORY_SAVING_CONSTRAINTS = {
    "micro_batch_size": [None, _COUNT],
    "gradient_checkpointing": ["boolean"],
}


def part_constraint(part: type, named: Collection[str | None]) -> list[Any]:
    """Return the constraint of a parameter that is a part, or the name of one."""
    names = set(named)
    constraint: list[Any] = [part]
    if None in names:
        names.remove(None)
        constraint.append(None)
    return [*constraint, StrOptions(names)] if names else constraint


def check_part_name(parameter: str, value: Any, named: Collection[str | None]) -> None:
    """Raise if parameters are to be set of something that has none."""
    if value not in list(named):
        raise ValueError(
            f"{parameter}={value!r} has no parameters to set: choose from {list(named)}, or pass "
            f"what skinformer has for {parameter}."
        )


CALENDAR_FEATURES_CONSTRAINTS = {
    "fields": [StrOptions({"auto"}), list],
    "holidays": [str, list, None],
}


SLIDING_WINDOW_CONSTRAINTS = {
    "seq_len": [_LENGTH],
    "lag": [Interval(Integral, 0, MOST, closed="both")],
}


SEASONAL_NAIVE_CONSTRAINTS = {"season": [_LENGTH], "target": CONSTRAINTS["target"]}


def check_moved(params: Collection[str], parts: Mapping[str, type]) -> None:
    """Raise if a parameter of a part is given as one of the estimator."""
    for name in params:
        for part, kind in parts.items():
            if hasattr(kind, name):
                raise TypeError(
                    f"{name!r} is a parameter of {part}: pass {part}={kind.__name__}({name}=...) "
                    f"to the constructor, or {part}__{name}=... to set_params and in searches."
                )


def check_network(network: Any, seq_len: int) -> None:
    """Raise if parameters of the network, each valid by itself, do not fit one another."""
    _check_device(network.device)
    _check_names("embeddings", network.embeddings, ("series", "missing", "mask"))
    if network.label_len is not None and network.label_len > seq_len:
        raise ValueError(
            f"label_len={network.label_len} must be at most seq_len={seq_len}: the "
            "guiding window is the end of the encoder window. Lower label_len or leave it None."
        )
    if network.d_model % network.n_heads:
        features_each = -(-network.d_model // network.n_heads)
        raise ValueError(
            f"d_model={network.d_model} must be a multiple of n_heads={network.n_heads}: each head "
            f"gets d_model / n_heads features. Try d_model={features_each * network.n_heads}."
        )


def check_training(training: Any, micro_batch_size: int, random_state: Any) -> None:
    """Raise if parameters of training, each valid by itself, do not fit one another."""
    if training.batch_size % micro_batch_size:
        raise ValueError(
            f"micro_batch_size={micro_batch_size} must divide batch_size={training.batch_size}: a "
            "step takes the gradient of whole micro-batches. Leave it None or choose a divisor."
        )
    if training.checkpoint is not None:
        _check_checkpoint(training.checkpoint, random_state)


def check_losses_of_classes(training: Any) -> None:
    """Raise if a parameter of the loss of classes is set where numbers are forecast."""
    for name in ("label_smoothing", "z_loss"):
        value = getattr(training, name)
        if value != getattr(type(training), name):
            raise ValueError(
                f"{name}={value!r} is read by InformerClassifier alone: leave it out of Training "
                "for InformerRegressor."
            )


def _check_checkpoint(path: Any, random_state: Any) -> None:
    """Raise if a checkpoint cannot be written, or a fit could not be gone on with."""
    if Path(path).is_dir() or not Path(path).absolute().parent.is_dir():
        raise ValueError(
            f"checkpoint={str(path)!r} must be a file in a folder that exists."
        )
    if not isinstance(random_state, Integral):
        raise ValueError(
            f"checkpoint={str(path)!r} needs an int as random_state, not "
            f"{random_state!r}: a continued fit must shuffle as before. Pass "
            "random_state=0."
        )


def check_each(model: Any) -> None:
    """Raise if a parameter is out of what its constraint cannot say."""
    target = model.target
    if isinstance(target, list) and not 0 < len(target) == len(set(target)):
        raise ValueError(
            f"target={target!r} must name one column or more, each once. Leave it None for the "
            "last column."
        )
    check_calendar("calendar", model.calendar)
    _check_seasons(model.season)


def _check_seasons(season: Any) -> None:
    """Raise if one of several seasons is no number of rows."""
    if not isinstance(season, list | tuple):
        return
    wrong = [n_rows for n_rows in season if not _SEASON.is_satisfied_by(n_rows)]
    if wrong or not season:
        raise ValueError(
            f"season={season!r} must hold whole numbers of rows, each at least 2. Leave it None "
            "for those of the calendar, or those that the rows show."
        )


def check_members(members: Any, *, names: Sequence[str], classifies: bool) -> None:
    """Raise if a list of members holds what forecasts nothing here, or lacks what others need.

    names: what it may hold, "trees" in place of one estimator; the first is weighed beside all
    others; the network, classical forecasters and forecasters of the user's may stand alone.
    """
    if isinstance(members, str):
        return
    kind = "classifier" if classifies else "regressor"
    _check_kinds(members, names, kind)
    _check_once(members, kind)
    alone = [["network"]] if classifies else [["network"], ["classical"]]
    others = [member for member in members if member != "classical"]
    judge_themselves = others and all(map(is_forecaster, others))
    if names[0] in members or list(members) in alone or judge_themselves:
        return
    one_by_one = " or ".join(map(str, alone))
    raise ValueError(
        f"members={members!r} lacks {names[0]!r}, with which all others are combined: "
        f"add it, or pass {one_by_one} to use one member alone."
    )


def _check_once(members: Sequence[Any], kind: str) -> None:
    """Raise if a name is twice among members, or several estimators of a kind are."""
    named = [member for member in members if isinstance(member, str)]
    n_forecasters = sum(map(is_forecaster, members))
    n_estimators = len(members) - len(named) - n_forecasters + named.count("trees")
    if len(set(named)) < len(named) or n_estimators > 1:
        raise ValueError(
            f"members={members!r} has a member twice: each name once, and one {kind} or 'trees', "
            "not both."
        )


def _check_kinds(members: Sequence[Any], names: Sequence[str], kind: str) -> None:
    """Raise if something among members forecasts nothing of a kind."""
    wrong = [member for member in members if not _is_member(member, names, kind)]
    if wrong:
        raise ValueError(
            f"members={members!r} holds {wrong[0]!r}, which is no member of a {kind}: choose from "
            f"{list(names)}, and pass at most one {kind} in place of 'trees', an instance such as "
            f"HistGradientBoosting{kind.title()}(). Objects with predict(history, horizon) are "
            "members of InformerRegressor."
        )


def _is_member(member: Any, names: Sequence[str], kind: str) -> bool:
    """Return whether a member has one of some names, or is an estimator or forecaster of a kind."""
    if isinstance(member, str):
        return member in names
    if is_forecaster(member):
        return kind == "regressor"
    is_kind = is_classifier if kind == "classifier" else is_regressor
    is_instance = hasattr(member, "fit") and not isinstance(member, type)
    return is_instance and bool(is_kind(member))


def raise_no_nested_member(key: str, members: Any) -> NoReturn:
    """Raise if a parameter is to be set of an estimator that is no member."""
    raise ValueError(
        f"{key!r} is no parameter: it names an estimator among members={members!r} by its class in "
        "lower case, such as members__ridge__alpha. Pass the estimator in members first."
    )


def raise_no_network(members: Any) -> NoReturn:
    """Raise for a loss that the network alone learns, without it."""
    raise ValueError(
        f"members={members!r} lacks 'network', the only member that learns this loss: "
        "add it, or choose another loss, 'mse', 'mae' or 'huber'."
    )


def _check_device(device: str) -> None:
    """Raise if torch has no such device."""
    if device == "auto":
        return
    import torch  # here, as the checks of the transformers need none

    try:
        kind = torch.device(device).type
    except RuntimeError:  # of no kind
        kind = ""
    if not kind or (kind == "cuda" and not torch.cuda.is_available()):
        raise ValueError(
            f"device={device!r} is no device that torch finds here: pass 'auto', 'cpu', or, of "
            "CUDA, 'cuda:0'."
        )


def check_calendar(parameter: str, value: Any) -> None:
    """Raise if a list of calendar fields holds an unknown one."""
    if isinstance(value, list):
        _check_names(parameter, value, list(FIELDS))


def _check_names(parameter: str, value: Sequence[str], known: Sequence[str]) -> None:
    """Raise if a list holds a name that is none of those known."""
    unknown = [name for name in value if name not in known]
    if unknown:
        raise ValueError(
            f"{parameter}={value!r} holds the unknown {unknown[0]!r}: choose from {list(known)}."
        )


def check_enough_rows(n_rows: int, settings: Any) -> None:
    """Raise if the longest series holds no window (and no validation split, if one is asked)."""
    needed = 2
    sizes = "one to forecast from and one to forecast"
    validated = settings.early_stopping is True
    if settings.whole_windows or validated:
        needed = settings.seq_len + settings.pred_len * (1 + validated)
        sizes = f"seq_len={settings.seq_len} + pred_len={settings.pred_len}"
        if validated:
            sizes += f" + pred_len={settings.pred_len} for early_stopping=True"
    if n_rows < needed:
        raise ValueError(
            f"n_samples={n_rows} is too few: {needed} consecutive rows are needed, {sizes}. Lower "
            "seq_len or pred_len, or pass more rows."
        )


def warn_of_cpu(reason: str) -> None:
    """Warn that a GPU's memory does not suffice, so that the CPU fits or forecasts."""
    warn_user(
        f"the GPU has too little memory ({reason.splitlines()[0][:120]}): the CPU is "
        "used, which is slower. Free the GPU, lower batch_size or seq_len, or pass "
        "network=Network(device='cpu')."
    )


def warn_of_idle_network(names: Sequence[str], *, trained: bool) -> None:
    """Warn that parameters of the network were set where nothing of it is in forecasts."""
    why = (
        "on validation rows it adds nothing"
        if trained
        else "series are too short to train it"
    )
    warn_user(
        f"parameters of the network ({', '.join(names)}) have no effect on this fit: "
        f"{why}, and other members make the forecasts (see leaderboard()). Set or "
        "search parameters of these, such as seq_len, members and known_future; with "
        "members=['network'] the network forecasts alone."
    )


def warn_of_seconds(most: float, seconds: float, parts: Sequence[str]) -> None:
    """Warn that a fit took longer than it was allowed to."""
    warn_user(
        f"the fit took {seconds:.1f} s, where max_seconds={most:g} allows less: rows have to be "
        f"read, and {', '.join(parts)} were the least that could be fitted. Allow more "
        "seconds, or fit fewer rows, columns or series."
    )


def warn_of_idle_loss(loss: str | float) -> None:
    """Warn that ridges alone forecast, which lower squared errors whatever the loss is."""
    warn_user(
        f"loss={loss!r} has no effect on this fit: only ridges forecast, and their "
        "forecasts are means whatever the loss is. Forecasts follow the loss with "
        "members='auto', ['classical'] or ['ridges', 'network']."
    )


def warn_of_idle_series(
    names: pd.Index | None, trained: BoolArray, *, seq_len: int, pred_len: int
) -> None:
    """Warn of the series of a panel that training learns nothing from."""
    if names is not None and len(trained) > 1 and not trained.all():
        warn_user(
            f"series {first_names(names[~trained])} take no part in training: before "
            f"the validation rows they have no window of seq_len={seq_len} + "
            f"pred_len={pred_len} = {seq_len + pred_len} rows with an actual value to "
            "learn from. They are forecast with what was learnt from the other series."
        )


def warn_of_unknown_series(names: pd.Index | None, is_known: BoolArray) -> None:
    """Warn of the series of a panel that hold no truth."""
    if names is not None and len(is_known) > 1 and not is_known.all():
        warn_user(
            f"series {first_names(names[~is_known])} have no observed target: their "
            "forecast is the mean of the other series, which may be far from their "
            "size. Put 0 where nothing was sold, leave them out, or copy the last "
            "rows of a similar series."
        )


def warn_of_rows_to_come(n: int) -> None:
    """Warn of last steps without a truth, which may be history or are to be forecast."""
    warn_user(
        f"X ends with {number_of(n, 'step')} without an actual value: forecasts begin after "
        "the end. To forecast such steps, fit the rows before them, and pass them to "
        "forecast(X)."
    )


def check_same_weights(earlier: dict[str, Any], new: dict[str, Any]) -> None:
    """Raise if a warm start finds weights of another network."""
    if _shapes(earlier) != _shapes(new):
        raise ValueError(
            "warm_start=True cannot continue from the weights of another network: "
            "columns, lengths or sizes have changed since the last fit. Set "
            "warm_start=False or fit a clone."
        )


def _shapes(weights: dict[str, Any]) -> dict[str, Any]:
    """Return the shape of each weight; None for what is no array."""
    return {name: getattr(weight, "shape", None) for name, weight in weights.items()}


def warn_of_one_series(embeddings: Any) -> None:
    """Warn that series are to be told apart where there is one."""
    warn_user(
        f"embeddings={embeddings!r} asks for a vector per series, but X has only one "
        "series, so none is learnt. Label the rows of several series by a MultiIndex "
        "(series, time), or leave 'series' out."
    )


def check_both_sides(some_truth: bool) -> None:
    """Raise if the training or the validation rows hold no truth to compare with."""
    if not some_truth:
        raise ValueError(
            "early_stopping=True needs observed targets among the last rows, which "
            "are the validation rows, and among the rows before them: one of these "
            "parts has none. Set early_stopping='auto' or another validation_fraction."
        )
