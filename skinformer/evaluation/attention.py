"""What the network looks at: attention maps with times."""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from pandas import DataFrame

from skinformer.ensemble.ensemble import EnsembleForecaster
from skinformer.ensemble.names import NETWORK
from skinformer.ensemble.windows import Rows
from skinformer.estimators.base import BaseInformer
from skinformer.evaluation.ahead import split_last_step
from skinformer.evaluation.recording import requested_forecasts
from skinformer.model.attention_recorder import AttentionRecorder, LayerAttention
from skinformer.timeline.arrays import BoolArray, Float32Array, IntArray
from skinformer.timeline.clock import Clock
from skinformer.validation.warning import warn_user


@dataclass(frozen=True, eq=False)
class AttentionMap:
    """
    The attention weights of one layer for the forecasts from one origin.

    Parameters
    ----------
    where : {"encoder", "decoder", "cross"}
        Self-attention of the encoder, causal self-attention of the decoder, or attention of the
        decoder to the output of the encoder.
    layer : int
        Number of the layer of the encoder or decoder; 1 is the first.
    origin : label of time
        The first step of the forecast.
    series : hashable
        Name of the series in a panel; None for a single series.
    weight : float
        Mean ensemble weight of the network in these forecasts, in [0, 1].
    weights : ndarray of float32, shape (n_heads, n_queries, n_keys)
        Attention weights; they sum to 1 over the keys.
    selected : ndarray of bool, shape (n_heads, n_queries)
        Whether ProbSparse attention selected the query. Queries that are not selected get the mean
        of the values that they may see. In dense attention all are selected.
    visible : ndarray of bool, shape (n_queries, n_keys)
        Whether the query may see the key.
    query_times, key_times : DataFrame of shape (n_queries, 2) and (n_keys, 2)
        Time of the ``first`` and the ``last`` row of each token.

    See Also
    --------
    attention_maps : Returns these maps.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from skinformer.evaluation import AttentionMap
    >>> hours = pd.DataFrame({"first": [0, 1], "last": [0, 1]})
    >>> AttentionMap(
    ...     "encoder", 1, 2, None, 1.0, np.full((4, 2, 2), 0.5), np.ones((4, 2), dtype=bool),
    ...     np.ones((2, 2), dtype=bool), hours, hours,
    ... )
    AttentionMap('encoder', layer=1, origin=2, weight=1, 4 heads, 2 queries, 2 keys)
    """

    where: str
    layer: int
    origin: Any
    series: Hashable
    weight: float
    weights: Float32Array
    selected: BoolArray
    visible: BoolArray
    query_times: DataFrame
    key_times: DataFrame

    def __repr__(self) -> str:
        of = "" if self.series is None else f"series={self.series!r}, "
        n_heads, n_queries, n_keys = self.weights.shape
        return (
            f"AttentionMap({self.where!r}, layer={self.layer}, origin={self.origin}, {of}"
            f"weight={self.weight:.2g}, {n_heads} heads, {n_queries} queries, {n_keys} keys)"
        )


def attention_maps(estimator: Any, X: Any = None) -> list[AttentionMap]:
    """
    Return the attention weights of each layer and head of the network for its forecasts.

    They show how the network works: which heads are alike, which heads attend to all keys equally,
    and which queries ProbSparse attention selects. They do not explain a forecast [1]_, [2]_; use
    `explain` for that.

    Parameters
    ----------
    estimator : InformerRegressor, InformerClassifier, or a Pipeline or search that ends in one
        The fitted estimator.
    X : DataFrame, Series or array-like of shape (n_samples, n_features), default=None
        Rows that `predict` forecasts; None takes the steps of `forecast()`.

    Returns
    -------
    list of AttentionMap
        For each origin of each series, in the order of time (rows of a block of `pred_len` share an
        origin): the layers of the encoder, then for each layer of the decoder its self-attention
        and its attention to the encoder.

    Raises
    ------
    TypeError
        If the estimator has no network.

    Warns
    -----
    UserWarning
        If the network has no weight in the forecasts.

    See Also
    --------
    explain : Contributions of columns to a forecast.
    skinformer.display.AttentionDisplay : A plot of a map.

    Notes
    -----
    Weights come from the queries and keys of the forward pass that makes the forecast, so weights
    times values are what it computes. A token is a patch of rows; distilling merges two neighbours
    between the layers of the encoder. The times of a token are those of its rows. From the second
    layer on, each token contains information from all others, so a weight on a token is not a
    weight on its rows. The last layer of the decoder has queries for the steps to forecast only.

    Rows before the first known row count as the training mean; they have times, too.

    Each layer and origin needs n_heads · n_queries · n_keys numbers of memory, which grows as the
    square of the length, also with ProbSparse attention.

    References
    ----------
    .. [1] Jain and Wallace (2019), Attention is not Explanation, NAACL.
    .. [2] Wiegreffe and Pinter (2019), Attention is not not Explanation, EMNLP.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from skinformer import InformerRegressor, Network, Training
    >>> from skinformer.evaluation import attention_maps
    >>> hours = pd.date_range("2024-01-01", periods=200, freq="h")
    >>> df = pd.DataFrame({"load": np.sin(np.arange(200) * 2 * np.pi / 24)}, index=hours)
    >>> sizes = {"seq_len": 24, "pred_len": 8, "training": Training(max_iter=1)}
    >>> sizes["network"] = Network(d_model=16, n_heads=2, patch_len=4)
    >>> model = InformerRegressor(members=["network"], **sizes)
    >>> maps = attention_maps(model.fit(df))
    >>> maps[-1]
    AttentionMap('cross', layer=1, origin=2024-01-09 08:00:00, weight=1, 2 heads, 2 queries, 3 keys)
    >>> maps[0].key_times.iloc[-1].astype(str).tolist()
    ['2024-01-09 04:00:00', '2024-01-09 07:00:00']
    """
    model = split_last_step(estimator)[1]
    if not isinstance(model, BaseInformer):
        raise TypeError(
            f"{type(model).__name__} has no attention to show. Pass a fitted InformerRegressor or "
            "InformerClassifier, or a Pipeline or search that ends in one."
        )
    forecasts = requested_forecasts(estimator, X)
    windows, window = forecasts.record(_observe)
    n_silent = [windows[each][0] for each in window].count(0)
    if n_silent:
        but = " but for how far quantiles lie apart" if model.head_.outputs else ""
        warn_user(
            f"the network has no weight in {n_silent} of {len(window)} forecasts{but}: "
            "other members make them, so its attention does not explain them. "
            "leaderboard() shows its weight; with members=['network'] it forecasts "
            "alone."
        )
    series = forecasts.labels.get("series")
    _, first = np.unique(window, return_index=True)
    clock = forecasts.steps.clock
    maps = []
    for (weight, layers), row in zip(windows, first, strict=True):
        name = None if series is None else series[row]
        origin = forecasts.origins[row]
        maps += [_as_map(layer, origin, clock, weight, name) for layer in layers]
    return maps


def _observe(ensemble: EnsembleForecaster, rows: Rows, origins: IntArray) -> list[Any]:
    """Return the weight of the network, and the attention of each layer, of some windows."""
    windows = ensemble.windows(rows, origins)
    members = ensemble.ensemble.members
    network: Any = members[NETWORK]
    corrected = None
    if network.base is not None:
        corrected = members[network.base].forecast(windows)
    recorder = AttentionRecorder(network.network, n_kept=len(windows))
    recorded = replace(network, network=recorder)
    recorded.forecast(windows, corrected)
    layers = recorder.kept()
    weights = ensemble.weights(windows)[NETWORK].mean(axis=(1, 2))
    found = []
    for i, weight in enumerate(weights.tolist()):
        found.append((weight, [layer.of_window(i) for layer in layers]))
    return found


def _as_map(
    layer: LayerAttention, origin: int, clock: Clock, weight: float, series: Hashable
) -> AttentionMap:
    """Add times to a layer's attention of one window."""
    return AttentionMap(
        where=layer.where,
        layer=layer.layer + 1,
        origin=clock.labels(np.array([origin]))[0],
        series=series,
        weight=weight,
        weights=layer.weights.cpu().numpy(),
        selected=layer.selected.cpu().numpy(),
        visible=layer.visible.cpu().numpy(),
        query_times=_times_of_tokens(clock, origin + layer.queries.numpy()),
        key_times=_times_of_tokens(clock, origin + layer.keys.numpy()),
    )


def _times_of_tokens(clock: Clock, steps: IntArray) -> DataFrame:
    """Return the times of the first and the last step, (n, 2), of tokens."""
    first = clock.labels(steps[:, 0])
    last = clock.labels(steps[:, 1])
    return DataFrame({"first": first, "last": last})
