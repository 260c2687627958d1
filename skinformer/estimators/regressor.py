"""InformerRegressor: forecasts of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import r2_score

from skinformer import validation
from skinformer.estimators.base import BaseInformer
from skinformer.estimators.bases import RegressorMixin
from skinformer.estimators.placement import Placement, after_history, find_early
from skinformer.estimators.reading import fitted_rows
from skinformer.estimators.rolling import Observed
from skinformer.reading.prediction import read_truth_of, read_update
from skinformer.timeline.arrays import Float64Array, IntArray
from skinformer.timeline.clock import join_series
from skinformer.timeline.timeline import Table, runs

__all__ = ["InformerRegressor"]


class InformerRegressor(RegressorMixin, BaseInformer):
    """
    Forecast time series with an Informer, as a scikit-learn regressor.

    A frame is a timeline: its rows are consecutive steps of time. `fit` learns from windows of
    it, `predict` gives one forecast per row from an origin before that row, and `forecast`
    gives the steps that come after the history. It is not for rows without an order in time.

    Parameters
    ----------
    target : str, int, tuple, list or None, default=None
        Column(s) of X to forecast; None is the last one. A list makes `predict` return
        (n, n_targets); a tuple is one column of two levels. Positions for arrays.
    seq_len : int, default=96
        Steps of the past that a forecast sees, at least 1.
    label_len : int or None, default=None
        Steps of the past that the decoder sees again, 0 … `seq_len`; None is half of `seq_len`, in
        whole patches.
    pred_len : int, default=24
        Steps forecast at once, at least 1. Beyond them forecasts are fed back.
    linear_path : bool, default=True
        Start from a blend of ridges in closed form, which compete on stretches of time in `fit`,
        and let the Informer correct it; see `linear_blend_`. Without it the Informer forecasts
        alone, as its authors had it.
    patch_len : int or None, default=None
        Neighbouring steps that make one token of the Informer (of its decoder only where no column
        is known ahead); None is ``seq_len // 24``, at least 1 and at most 12.
    known_future : list or None, default=None
        Columns whose values are known ahead, such as holidays or planned prices. All others
        but the target count as known only up to the present. Columns made by
        `CalendarFeatures` are known without being named, and so are all columns of X when y
        is not one of them. What is named here is never taken for static.
    freq : str, offset, int or None, default=None
        The step between rows; None reads it off the index.
    calendar : "auto", list or None, default="auto"
        Calendar fields of dated rows ("minute", "hour", "weekday", "day", "week", "month") that
        are embedded: "auto" takes those that the step calls for and that vary in training; those
        of the year from three years on.
    embeddings : tuple or list, default=()
        Vectors to learn besides those of calendar fields: "series", one for each series of a
        panel (series that training did not hold get their mean); "missing", one for each
        column, which then may miss values (without it, only targets may); "mask", one that
        marks the steps to forecast in the decoder's input.
    d_model : int, default=32
        Width of the network, a multiple of `n_heads`.
    n_heads : int, default=4
        Attention heads.
    n_encoder_layers : int, default=2
        Encoder layers.
    n_decoder_layers : int, default=1
        Decoder layers.
    d_ff : int or None, default=None
        Inner width of the feed-forward blocks; None is four times `d_model`.
    attention : {"auto", "probsparse", "dense"}, default="auto"
        Self-attention of the encoder; "auto" goes by length and device, see `attention_`.
    decoder_attention : {"dense", "probsparse"}, default="dense"
        Causal self-attention of the decoder. The choice of queries in "probsparse" still ranks
        across time.
    factor : float, default=5.0
        ProbSparse attention keeps ⌊factor · ln L⌋ of L queries and samples as many keys. Without
        effect on dense attention, which "auto" takes below 96 tokens on a CPU (`attention_`).
    qk_norm : bool, default=False
        Give queries and keys unit length, and each head a learnt temperature.
    output_gate : bool, default=False
        Gate attention outputs by the input.
    activation : {"gelu", "relu", "swiglu"}, default="gelu"
        Form of the feed-forward blocks; "swiglu" uses two thirds of `d_ff`.
    norm : {"layer", "zc_rms", "post_layer"}, default="layer"
        LayerNorm before each sublayer; RMSNorm with a zero-centred gain, and then no biases in
        attention, feed-forward and gates; or LayerNorm after each sum.
    position : {"sinusoidal", "learned", "continuous"}, default="sinusoidal"
        Code of a step's place; "continuous" takes the time that passed, for steps of different
        length such as months.
    init : {"xavier", "normal", "scaled"}, default="xavier"
        Initial weights: Xavier uniform; N(0, 0.02²); Xavier with outputs of residual branches
        scaled down by their number.
    distil : bool, default=True
        Halve the sequence between encoder layers.
    dropout : float, default=0.2
        Share of activations dropped in training, in [0, 1).
    window_norm : bool, default=True
        Normalise each window by its own mean and deviation and undo it on the forecast:
        halves the error where the level drifts.
    loss : {"mse", "mae", "huber"} or float, default="mse"
        What training lowers, in standardised units. A number in (0, 1) forecasts that quantile.
    max_iter : int, default=10
        Epochs at most.
    max_windows : int or None, default=10_000
        Windows of an epoch at most (and of a look at the validation rows), drawn anew for each;
        None takes all. It bounds the time of a fit, however long the series.
    optimizer : {"adamw", "muon"}, default="adamw"
        "muon" steps the matrices of attention and feed-forward by Muon, at 200/3 times
        `learning_rate` (0.02 for 3e-4), everything else by AdamW.
    learning_rate : float, default=2e-3
        Peak rate of AdamW; it rises over the first 5 % of the steps (2000 at most) and falls
        by a cosine to a tenth.
    weight_decay : float, default=0.01
        Decoupled decay of matrices (not of biases, norms and embeddings).
    batch_size : int, default=64
        Windows in a training step.
    micro_batch_size : int or None, default=None
        Windows in memory at once, a divisor of `batch_size`; gradients are accumulated. None is
        `batch_size`.
    gradient_checkpointing : bool, default=False
        Compute activations again in the backward pass: less memory, a third more time.
    precision : {"auto", "fp32", "bf16", "fp16"}, default="auto"
        Of matrix products in training; weights, statistics and losses are float32. "auto" goes
        by width and device, see `precision_`.
    early_stopping : bool or "auto", default="auto"
        Watch the loss on the last rows, keep the best epoch's weights, and let the Informer
        correct the linear path only as far as it did better on four stretches of these rows.
        "auto" does so from ``seq_len + 2 * pred_len`` rows on, and then fits the linear path
        again on all rows; True leaves the last rows out for good.
    validation_fraction : float, default=0.1
        Share of rows, the last ones, for early stopping; in (0, 1).
    n_iter_no_change : int, default=3
        Epochs without improvement of the validation loss by 1e-4 before training stops.
    checkpoint : path-like or None, default=None
        File written after each epoch. If it exists, `fit` goes on from it when data and
        parameters are the same, and raises otherwise; needs an int as `random_state`.
    warm_start : bool, default=False
        Go on from the weights of the last `fit` instead of new ones.
    device : str, default="auto"
        Where the network runs: "cpu", "cuda", …; "auto" is CUDA where torch finds it.
    random_state : int, RandomState or None, default=None
        Seed of weights, batches and dropout. With an int, two fits are equal; no global
        generator of torch or numpy is touched.
    verbose : int or bool, default=0
        Above 0: one line per epoch.

    Attributes
    ----------
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of str
        Their names, if X had names.
    roles_ : Roles
        The mode, and what each column is.
    timeline_ : Timeline
        The standardised rows that `fit` and `update` saw.
    scaler_ : Scaler
        Means and deviations of the columns.
    series_ : Index or None
        Names of the series of a panel.
    module_ : torch.nn.Module
        The trained network; with ``linear_path=True`` the sum of the path (``module_.path``) and
        the trusted share of the network (``module_.network``).
    device_ : str
        Where it is.
    attention_ : str
        What "auto" came to: "probsparse" on a CPU from 96 tokens on, on CUDA from 4096; else
        "dense". A token is a patch.
    precision_ : str
        What "auto" came to: "bf16" on CUDA that computes in it and, from a width of 256 on, on a
        CPU that does; else "fp32".
    linear_blend_ : dict of str to float
        Weight of each ridge in the linear path; empty with ``linear_path=False``.
    trust_ : float
        Share of the Informer's correction that proved itself, 0 to 1; 0 is the linear path alone.
        1 without validation rows, for quantiles, and with ``linear_path=False``.
    history_ : DataFrame
        One row per epoch: loss, validation_loss, learning_rate, gradient_norm, seconds.
    loss_curve_ : list of float
        The training loss of each epoch.
    validation_scores_ : list of float or None
        Minus the validation loss of each epoch: the higher, the better.
    n_iter_ : int
        Epochs run, with those of earlier fits after a warm start.
    best_loss_ : float
        Loss of the weights kept: on validation rows if there are any, with the Informer fully
        trusted.

    See Also
    --------
    SlidingWindow : Lag features for any other regressor.

    Notes
    -----
    Training costs ``max_iter * min(n_rows, max_windows) / batch_size`` steps; the linear path
    ``n_rows * n_targets * seq_len * (seq_len + pred_len)`` products. Memory holds the rows once,
    in float32, and one batch.

    References
    ----------
    Zhou et al. (2021), Informer: Beyond Efficient Transformer for Long Sequence Time-Series
    Forecasting, AAAI.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from skinformer import InformerRegressor
    >>> hours = pd.date_range("2024-01-01", periods=200, freq="h")
    >>> df = pd.DataFrame({"load": np.sin(np.arange(200) * 2 * np.pi / 24)}, index=hours)
    >>> model = InformerRegressor(
    ...     seq_len=24, pred_len=6, d_model=16, n_heads=2, max_iter=2, random_state=0
    ... )
    >>> model.fit(df).forecast().index[0]
    Timestamp('2024-01-09 08:00:00')
    >>> model.predict(df).shape
    (200,)
    """

    def __init__(
        self,
        target: Any = None,
        *,
        seq_len: int = 96,
        label_len: int | None = None,
        pred_len: int = 24,
        linear_path: bool = True,
        patch_len: int | None = None,
        known_future: list[Any] | None = None,
        freq: Any = None,
        calendar: Any = "auto",
        embeddings: Any = (),
        d_model: int = 32,
        n_heads: int = 4,
        n_encoder_layers: int = 2,
        n_decoder_layers: int = 1,
        d_ff: int | None = None,
        attention: str = "auto",
        decoder_attention: str = "dense",
        factor: float = 5.0,
        qk_norm: bool = False,
        output_gate: bool = False,
        activation: str = "gelu",
        norm: str = "layer",
        position: str = "sinusoidal",
        init: str = "xavier",
        distil: bool = True,
        dropout: float = 0.2,
        window_norm: bool = True,
        loss: Any = "mse",
        max_iter: int = 10,
        max_windows: int | None = 10_000,
        optimizer: str = "adamw",
        learning_rate: float = 2e-3,
        weight_decay: float = 0.01,
        batch_size: int = 64,
        micro_batch_size: int | None = None,
        gradient_checkpointing: bool = False,
        precision: str = "auto",
        early_stopping: Any = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 3,
        checkpoint: Any = None,
        warm_start: bool = False,
        device: str = "auto",
        random_state: Any = None,
        verbose: Any = 0,
    ) -> None:
        self.target = target
        self.seq_len = seq_len
        self.label_len = label_len
        self.pred_len = pred_len
        self.linear_path = linear_path
        self.patch_len = patch_len
        self.known_future = known_future
        self.freq = freq
        self.calendar = calendar
        self.embeddings = embeddings
        self.d_model = d_model
        self.n_heads = n_heads
        self.n_encoder_layers = n_encoder_layers
        self.n_decoder_layers = n_decoder_layers
        self.d_ff = d_ff
        self.attention = attention
        self.decoder_attention = decoder_attention
        self.factor = factor
        self.qk_norm = qk_norm
        self.output_gate = output_gate
        self.activation = activation
        self.norm = norm
        self.position = position
        self.init = init
        self.distil = distil
        self.dropout = dropout
        self.window_norm = window_norm
        self.loss = loss
        self.max_iter = max_iter
        self.max_windows = max_windows
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.micro_batch_size = micro_batch_size
        self.gradient_checkpointing = gradient_checkpointing
        self.precision = precision
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.checkpoint = checkpoint
        self.warm_start = warm_start
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        """Say that y is optional and may have several columns."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags

    def predict(self, X: Any) -> Float64Array:
        """
        Forecast each row of X at its own time.

        Rows are forecast in blocks of `pred_len` steps whose borders lie whole blocks from the
        end of the history, each block from the rows before it. So the order of rows does not
        matter, and no row is forecast from itself or from later ones.

        Parameters
        ----------
        X : DataFrame, Series or array-like of shape (n_samples, n_features)
            Rows like those of `fit`. A missing target is a step to be forecast; an observed one
            becomes history for later blocks. Columns that are not known ahead may be left out.
            Rows of an array without index follow the training rows, unless they are the
            training array itself.

        Returns
        -------
        ndarray of float64, shape (n_samples,) or (n_samples, n_targets)
            Forecasts in y's (else the target column's) units.

        Raises
        ------
        TypeError, ValueError
            If the rows cannot be placed in time; the message says what to type instead.

        Warns
        -----
        UserWarning
            If rows without an index follow a dated history or come one by one, if rows lie far
            after the history, before it or off its steps, or if values that a later block needs
            are missing and were held.
        """
        table, observed = self._observe(X)
        place, observed = self._place(table, observed)
        values = self._forecast_steps(observed, observed.track, table.steps, place, table.clock)
        return values[:, 0] if self.roles_.one_dimensional else values

    def forecast(self, X: Any = None, horizon: int | None = None) -> pd.DataFrame:
        """
        Forecast the steps after the history.

        Parameters
        ----------
        X : DataFrame, Series or array-like, default=None
            Later history (target observed), what is known of the future (target missing or left
            out), or both; told apart by the target. The fitted state stays as it was.
        horizon : int, default=None
            Steps to forecast, at least 1. None: the rows of X after the history, else
            `pred_len`.

        Returns
        -------
        DataFrame of shape (horizon, n_targets)
            Forecasts with their timestamps, in the index's time zone and frequency; for several
            series (those of X, if X is given) horizon rows each, under a MultiIndex.

        Raises
        ------
        ValueError
            If a column known ahead lacks a value at one of the steps.
        """
        validation.check_fitted(self)
        if horizon is not None:
            validation.check_horizon(horizon)
        validation.check_rows_not_horizon(X)
        if X is None:
            empty = np.empty((0, self.timeline_.values.shape[1]), dtype=np.float32)
            nothing = np.empty(0, dtype=np.int64)
            observed = Observed(empty, nothing, nothing)
            place, clock, names = after_history(self.timeline_), self.timeline_.clock, self.series_
            wanted = np.arange(self.timeline_.n_series)
        else:
            table, observed = self._without_early(*self._observe(X))
            place, observed = self._place(table, observed)
            place, clock, names = self._after_observed(place, observed), table.clock, table.names
            observed = self._without_future(observed, place)
            wanted = np.unique(observed.track)
        horizon = self._horizon(observed, place) if horizon is None else int(horizon)
        track = np.repeat(wanted, horizon)
        steps = (place.anchor[wanted][:, None] + np.arange(horizon)).ravel()
        self._check_known_ahead(observed, place, wanted, horizon, clock)
        values = self._forecast_steps(observed, track, steps, place, clock)
        labels = join_series(names, place.series[track], clock.labels(steps))
        return pd.DataFrame(values, index=labels, columns=self.roles_.target_labels)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """
        Give the R² of `predict`; rows whose truth is missing are left out.

        Parameters
        ----------
        X : DataFrame, Series or array-like of shape (n_samples, n_features)
            Rows to forecast.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            The truth; None takes it from X's target column(s).
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        float
            1 is perfect, 0 as good as the mean of the truth.
        """
        validation.check_fitted(self)
        validation.check_same_index(X, sample_weight, "sample_weight")
        truth = read_truth_of(self, X, y, self.roles_)
        forecast = self.predict(X).reshape(truth.shape)
        present = ~np.isnan(truth).any(axis=1)
        validation.check_any_truth(int(present.sum()))
        weight = validation.score_weight(sample_weight, len(truth))
        weight = None if weight is None else weight[present]
        return float(r2_score(truth[present], forecast[present], sample_weight=weight))

    def update(self, X: Any, y: Any = None) -> InformerRegressor:
        """
        Take in later history without training.

        Parameters
        ----------
        X : DataFrame, Series or array-like of shape (n_samples, n_features)
            Rows that follow the history directly.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            Their truth, where X does not hold it.

        Returns
        -------
        self
            Forecasts now start after these rows.

        Raises
        ------
        ValueError
            If rows are missing between the history and X, or within X.
        """
        validation.check_fitted(self)
        table = read_update(self, X, y, fitted_rows(self))
        table = table.take(np.lexsort((table.steps, table.series)))
        first_row = runs(table.series, self.timeline_.n_series)
        expected = np.repeat(self.timeline_.end_step - first_row[:-1], np.diff(first_row))
        expected += np.arange(len(expected))
        validation.check_follows(table.steps, table.clock, expected, self.timeline_.clock)
        self._append(table)
        return self

    def make_future_frame(self, horizon: int | None = None) -> pd.DataFrame:
        """
        Make rows for the steps after the history: fill in what is known, then `predict`.

        Parameters
        ----------
        horizon : int, default=None
            Steps, at least 1; None is `pred_len`.

        Returns
        -------
        DataFrame of shape (horizon, n_features)
            X's columns in their order, all missing, with the timestamps to come.
        """
        validation.check_fitted(self)
        if horizon is not None:
            validation.check_horizon(horizon)
        steps = int(self.sizes_.pred_len if horizon is None else horizon)
        end, n_series = self.timeline_.end_step, self.timeline_.n_series
        labels = self.timeline_.clock.labels((end[:, None] + np.arange(steps)).ravel())
        labels = join_series(self.series_, np.repeat(np.arange(n_series), steps), labels)
        return pd.DataFrame(np.nan, index=labels, columns=self.roles_.column_labels)

    def _without_early(self, table: Table, observed: Observed) -> tuple[Table, Observed]:
        """Forget rows before the stored history of series that X has later rows of."""
        early = find_early(table, self.timeline_)
        later = np.bincount(table.series[~early], minlength=int(table.series.max()) + 1) > 0
        kept = ~early | ~later[table.series]
        values, track, steps = observed
        return table.take(kept), Observed(values[kept], track[kept], steps[kept])

    def _after_observed(self, place: Placement, observed: Observed) -> Placement:
        """Move the anchor behind the last observed target of X."""
        anchor = place.begin.copy()
        seen = ~np.isnan(observed.values[:, : self.sizes_.n_targets]).any(axis=1)
        np.maximum.at(anchor, observed.track[seen], observed.steps[seen] + 1)
        return place._replace(anchor=anchor)

    def _without_future(self, observed: Observed, place: Placement) -> Observed:
        """Forget past-only values that X holds after the origin."""
        values = observed.values.copy()
        ahead = observed.steps >= place.anchor[observed.track]
        first = self.sizes_.n_targets
        values[ahead, first : first + self.sizes_.n_past] = np.nan
        return observed._replace(values=values)

    def _horizon(self, observed: Observed, place: Placement) -> int:
        ahead = observed.steps - place.anchor[observed.track] + 1
        return int(ahead.max(initial=0)) or self.sizes_.pred_len

    def _check_known_ahead(
        self, observed: Observed, place: Placement, wanted: IntArray, horizon: int, clock: Any
    ) -> None:
        """Raise if a column known ahead lacks a value at a step to forecast."""
        ahead = observed.steps - place.anchor[observed.track]
        rows = (ahead >= 0) & (ahead < horizon)
        first = self.sizes_.n_targets + self.sizes_.n_past
        for j, name in enumerate(self.roles_.known, start=first):
            if self.sizes_.may_miss or name in self.roles_.static:
                continue
            missing = np.ones((len(place.anchor), horizon), dtype=bool)
            given = rows & ~np.isnan(observed.values[:, j])
            missing[observed.track[given], ahead[given]] = False
            if missing[wanted].any():
                row, step = np.argwhere(missing[wanted])[0]
                label = clock.labels(place.anchor[wanted[[row]]] + step)[0]
                validation.raise_unknown_ahead(name, int(missing[wanted].sum()), label)
