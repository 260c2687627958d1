"""Forecasters of the user's as members: any object with `predict(history, horizon)`, or a function.

It is asked for windows of one target of one series each, in the units of the rows.
"""

from __future__ import annotations

import copy
import inspect
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from skinformer.ensemble.building import ModelSizes
from skinformer.ensemble.fitting import FitRows
from skinformer.ensemble.in_units import SeriesUnits
from skinformer.ensemble.member import Member
from skinformer.ensemble.settings import FitSettings
from skinformer.ensemble.windows import Windows
from skinformer.stopwatch import running, timed
from skinformer.timeline.arrays import Float32Array, Float64Array, IntArray
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.timeline import Timeline
from skinformer.timeline.windows import spread_places
from skinformer.validation import forecasters as checks

#: Histories that are passed at once where the forecaster names no `batch_size`.
_BATCH = 256
#: Seconds that one may take for a fit and its forecast, where it names no `max_seconds`.
_MOST_SECONDS = 600
#: Forecasts that are kept: explaining, intervals and updates ask for the same windows again.
_MOST_KEPT = 50_000


@dataclass(frozen=True)
class UserForecaster(Member):
    """A forecaster, and how values of the rows become those that it is given.

    forecaster: a function of history and horizon, or an object with such a `predict`.
    called: its name among members.
    sizes, scaler: of the fit; None before it.
    n_rows: rows of the longest series, to which it may look back.
    """

    forecaster: Any
    called: str
    sizes: ModelSizes | None = None
    scaler: Scaler | None = None
    n_rows: int = 0
    _kept: dict[bytes, Float64Array] = field(default_factory=dict, compare=False, repr=False)

    forecasts_short = True
    cost = 8

    @property
    def name(self) -> str:
        """Its name among members."""
        return self.called

    @property
    def look_back(self) -> int:
        """Rows before an origin that are read: its `max_context`, or the longest series."""
        longest = getattr(self.forecaster, "max_context", None)
        return self.n_rows if longest is None else min(int(longest), self.n_rows)

    @property
    def fits_again(self) -> bool:  # type: ignore[override]
        """Whether it learns from rows, so that it has to be fitted anew to fewer of them."""
        return hasattr(self.forecaster, "fit")

    @classmethod
    def of_rows(
        cls,
        rows: FitRows,
        settings: FitSettings,  # noqa: ARG003
        *,
        before_split: bool,
        earlier: Self | None = None,
    ) -> Self:
        """Fit the forecaster of `earlier`, which need not be fitted, where it has a `fit`."""
        assert earlier is not None
        timeline = rows.timeline
        if before_split and rows.split is not None:
            timeline = timeline.head(rows.split)
        return earlier.fitted_again(timeline, rows.sizes, rows.scaler)

    def fitted_again(self, timeline: Timeline, sizes: ModelSizes, scaler: Scaler) -> Self:
        """Return a copy for other rows; where it has a `fit`, its forecaster is one fitted to them.

        Of a series `fit` is given the observed rows, in their units; NaN is a missing one.
        """
        forecaster = self.forecaster
        if self.fits_again:
            forecaster = copy.deepcopy(forecaster)
            with timed(self.name):
                forecaster.fit(_all_series(timeline, sizes, scaler))
        n_rows = max(self.n_rows, int(np.diff(timeline.first_row).max()))
        # Forecasts of the same function of the same history are the same.
        kept = {} if self.fits_again else self._kept
        return replace(
            self,
            forecaster=forecaster,
            sizes=sizes,
            scaler=scaler.with_unseen(),
            n_rows=n_rows,
            _kept=kept,
        )

    def forecast(self, at: Windows, base: Float32Array | None = None) -> Float32Array:  # noqa: ARG002
        """Forecast windows, see `Member.forecast`; the training mean where nothing is known."""
        assert self.sizes is not None
        out = np.zeros((len(at), self.sizes.pred_len, self.sizes.n_targets), dtype=np.float32)
        with timed(self.name):
            for j in range(self.sizes.n_targets):
                out[:, :, j] = self._forecast_target(at, j)
        return out

    def check_seconds(self, at: Windows, n_asked: int) -> None:
        """Raise if `n_asked` windows would take longer than `max_seconds`, as a few of `at` do."""
        some = at.take(spread_places(len(at), 8))
        self.forecast(some.take(np.array([0])))  # what is imported and compiled is not counted
        began = time.perf_counter()
        self.forecast(some)
        seconds = (time.perf_counter() - began) / max(len(some) - 1, 1)
        most = float(getattr(self.forecaster, "max_seconds", _MOST_SECONDS))
        checks.check_seconds(seconds * n_asked, most, self.name, n_asked)

    def _forecast_target(self, at: Windows, j: int) -> Float64Array:
        """Forecast one target of windows, standardised, (n, pred_len)."""
        assert self.sizes is not None
        assert self.scaler is not None
        unseen = len(self.scaler.mean) - 1
        series = np.minimum(at.series, unseen)
        begin = np.maximum(at.begin, at.origins - self.look_back)
        histories: list[Float64Array] = []
        asked: list[int] = []
        for i, (first, origin) in enumerate(zip(begin, at.origins, strict=True)):
            rows = np.arange(first, origin)
            values = at.values[rows, j].astype(np.float64)[None]
            units = SeriesUnits.of(self.scaler, series[[i]], j, own_logs=True)
            history = units.raw(values)[0]
            if at.known is not None:
                history[~at.known[rows, j]] = np.nan
            observed = np.flatnonzero(~np.isnan(history))
            if len(observed):
                histories.append(history[observed[0] :])
                asked.append(i)
        found = np.zeros((len(at), self.sizes.pred_len))
        if asked:
            columns = self._columns(at, np.array(asked), histories)
            answers = self._ask(histories, columns)
            units = SeriesUnits.of(self.scaler, series[asked], j, own_logs=True)
            found[asked] = units.standardised(answers)
        return found

    def _columns(
        self, at: Windows, asked: IntArray, histories: list[Float64Array]
    ) -> list[dict[str, Float64Array]]:
        """Return what a forecaster is told of columns that are no targets, for each history.

        past: (n_rows, n_past), beside the history. known: (n_rows + pred_len, n_known), beside the
        history and its forecast. Both in their units, as far as the forecaster takes them.
        """
        assert self.sizes is not None
        assert self.scaler is not None
        k, sizes = self.sizes.n_targets, self.sizes
        n_columns = at.values.shape[1]
        wanted: dict[str, tuple[slice, int]] = {}
        if sizes.n_past and _takes(self.forecaster, "past"):
            wanted["past"] = slice(k, k + sizes.n_past), 0
        if sizes.n_known and _takes(self.forecaster, "known"):
            wanted["known"] = slice(n_columns - sizes.n_known, n_columns), sizes.pred_len
        if not wanted:
            return [{} for _ in histories]
        series = np.minimum(at.series[asked], len(self.scaler.mean) - 1)
        found = []
        for origin, history, own in zip(at.origins[asked], histories, series, strict=True):
            columns = {}
            for name, (place, n_ahead) in wanted.items():
                rows = np.arange(origin - len(history), origin + n_ahead)
                values = at.values[np.minimum(rows, len(at.values) - 1), place].astype(np.float64)
                columns[name] = (
                    values * self.scaler.scale[own, place] + self.scaler.mean[own, place]
                )
            found.append(columns)
        return found

    def _ask(
        self, histories: list[Float64Array], columns: list[dict[str, Float64Array]]
    ) -> Float64Array:
        """Forecast histories, (n, pred_len), in batches; what was asked before is remembered."""
        keys = []
        for history, own in zip(histories, columns, strict=True):
            parts = [history, *own.values()]
            keys.append(b"|".join(part.tobytes() for part in parts))
        if len(self._kept) + len(keys) > _MOST_KEPT:
            self._kept.clear()
        first = {key: i for i, key in reversed(list(enumerate(keys)))}
        places = [i for key, i in first.items() if key not in self._kept]
        size = int(getattr(self.forecaster, "batch_size", _BATCH))
        for start in range(0, len(places), size):
            batch = places[start : start + size]
            answers = self._answer([histories[i] for i in batch], [columns[i] for i in batch])
            self._kept.update(zip((keys[i] for i in batch), answers, strict=True))
            if len(places) > size:
                done = start + len(batch)
                running().write(f"{self.name}  {done:,} of {len(places):,} windows")
        return np.stack([self._kept[key] for key in keys])

    def _answer(
        self, histories: list[Float64Array], columns: list[dict[str, Float64Array]]
    ) -> Float64Array:
        """Let the forecaster answer, in parts of its `max_horizon` steps; check what it says."""
        assert self.sizes is not None
        pred_len = self.sizes.pred_len
        longest = getattr(self.forecaster, "max_horizon", None) or pred_len
        predict = getattr(self.forecaster, "predict", self.forecaster)
        out = np.empty((len(histories), 0))
        while out.shape[1] < pred_len:
            horizon = min(int(longest), pred_len - out.shape[1])
            continued = [np.append(h, more) for h, more in zip(histories, out, strict=True)]
            given = {}
            for name in columns[0]:
                n_rows = [len(history) + horizon * (name == "known") for history in continued]
                given[name] = [_rows_of(c[name], n) for c, n in zip(columns, n_rows, strict=True)]
            answer = predict(continued, horizon, **given)
            part = checks.check_answer(answer, self.name, len(histories), horizon)
            lost = ~np.isfinite(part)
            if lost.any():
                checks.warn_of_lost(self.name, int(lost.any(axis=1).sum()), len(part))
                last = np.array([h[~np.isnan(h)][-1] for h in histories])
                part = np.where(lost, last[:, None], part)
            out = np.concatenate([out, part], axis=1)
        return out


def _rows_of(values: Float64Array, n_rows: int) -> Float64Array:
    """Return the first rows, (n_rows, n_columns); behind the last one NaN, as in a later part."""
    if n_rows <= len(values):
        return values[:n_rows]
    lacking = np.full((n_rows - len(values), values.shape[1]), np.nan)
    return np.concatenate([values, lacking])


def _takes(forecaster: Any, name: str) -> bool:
    """Return whether a forecaster takes an argument."""
    predict = getattr(forecaster, "predict", forecaster)
    return name in inspect.signature(predict).parameters


def _all_series(timeline: Timeline, sizes: ModelSizes, scaler: Scaler) -> list[Float64Array]:
    """Return each target of each series in its units, series by series for the first target."""
    found = []
    for j in range(sizes.n_targets):
        for i in range(timeline.n_series):
            rows = np.arange(timeline.first_row[i], timeline.first_row[i + 1])
            units = SeriesUnits.of(scaler, np.array([i]), j, own_logs=True)
            values = units.raw(timeline.values[rows, j].astype(np.float64)[None])[0]
            if timeline.weight is not None:
                values[timeline.weight[rows, j] == 0] = np.nan
            observed = np.flatnonzero(~np.isnan(values))
            found.append(values[observed[0] :] if len(observed) else values[:0])
    return found


def named_forecasters(forecasters: Sequence[Any]) -> tuple[UserForecaster, ...]:
    """Make members that are not fitted; those of the same name are numbered.

    >>> [each.name for each in named_forecasters([max, max])]
    ['max', 'max 2']
    """
    found: list[UserForecaster] = []
    count: dict[str, int] = {}
    for forecaster in forecasters:
        name = checks.name_of(forecaster)
        count[name] = count.get(name, 0) + 1
        called = name if count[name] == 1 else f"{name} {count[name]}"
        found.append(UserForecaster(forecaster, called))
    return tuple(found)
