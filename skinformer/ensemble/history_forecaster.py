"""Forecasters that users bring, asked for histories in batches; what was asked is remembered."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Hashable, Sequence
from typing import Any, Self

import numpy as np

from skinformer.stopwatch import running
from skinformer.timeline.arrays import Float64Array
from skinformer.validation import forecasters as checks

#: Histories that are passed at once where the forecaster names no `batch_size`.
_BATCH = 256
#: Seconds that one may take for a fit and its forecast, where it names no `max_seconds`.
_MOST_SECONDS = 600
#: Forecasts that are kept: explaining, intervals and updates ask for the same windows again.
_MOST_KEPT = 50_000

#: Columns beside a history that are no targets, by "past" and "known", (n_rows, n_columns) each.
Columns = dict[str, Float64Array]


class HistoryForecaster:
    """A forecaster of the user's.

    forecaster: a function of history and horizon, or an object with such a `predict`.
    name: by which weights, tables and pictures call it.
    """

    def __init__(self, forecaster: Any, name: str) -> None:
        self.forecaster = forecaster
        self.name = name
        self._kept: dict[Hashable, Float64Array] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Keep no forecasts in pickles and copies."""
        return {**vars(self), "_kept": {}}

    @property
    def learns(self) -> bool:
        """Whether it has a `fit`."""
        return hasattr(self.forecaster, "fit")

    @property
    def max_context(self) -> int | None:
        """Rows that it looks back at most; None for all."""
        return getattr(self.forecaster, "max_context", None)

    @property
    def max_seconds(self) -> float:
        """Seconds that it may take for a fit and its forecast."""
        return float(getattr(self.forecaster, "max_seconds", _MOST_SECONDS))

    def takes(self, name: str) -> bool:
        """Return whether it takes an argument."""
        return name in inspect.signature(self._predict).parameters

    def fitted(self, series: Sequence[Float64Array]) -> Self:
        """Return one that is fitted to series; the same one where there is nothing to fit."""
        if not self.learns:
            return self
        forecaster = copy.deepcopy(self.forecaster)
        forecaster.fit(list(series))
        return type(self)(forecaster, self.name)

    def forecast(
        self,
        histories: Sequence[Float64Array],
        columns: Sequence[Columns],
        horizon: int,
        levels: Sequence[float] | None = None,
    ) -> Float64Array:
        """Forecast histories, (n, horizon), in their units; the same ones are asked for once.

        histories: rows of each, of which the last is the newest; NaN was not observed.
        levels: of the quantiles that are wanted, (n, horizon, n_levels); None for the forecast.
        """
        asked = horizon, None if levels is None else tuple(levels)
        keys = [
            (*asked, _bytes_of(*each)) for each in zip(histories, columns, strict=True)
        ]
        if len(self._kept) + len(keys) > _MOST_KEPT:
            self._kept.clear()
        place_of: dict[Hashable, int] = {}
        for i, key in enumerate(keys):
            if key not in self._kept:
                place_of.setdefault(key, i)
        new = list(place_of)
        size = int(getattr(self.forecaster, "batch_size", _BATCH))
        for start in range(0, len(new), size):
            batch = new[start : start + size]
            places = [place_of[key] for key in batch]
            answers = self._answer(
                [histories[i] for i in places],
                [columns[i] for i in places],
                horizon,
                levels,
            )
            self._kept.update(zip(batch, answers, strict=True))
            if len(new) > size:
                done = start + len(batch)
                running().write(f"{self.name}  {done:,} of {len(new):,} histories")
        return np.stack([self._kept[key] for key in keys])

    @property
    def _predict(self) -> Any:
        return getattr(self.forecaster, "predict", self.forecaster)

    def _answer(
        self,
        histories: Sequence[Float64Array],
        columns: Sequence[Columns],
        horizon: int,
        levels: Sequence[float] | None,
    ) -> Float64Array:
        """Call the forecaster, in parts of its `max_horizon` steps, and check what it returns."""
        longest = int(getattr(self.forecaster, "max_horizon", None) or horizon)
        n_levels = () if levels is None else (len(levels),)
        continued = [history.copy() for history in histories]
        parts = []
        for start in range(0, horizon, longest):
            n_steps = min(longest, horizon - start)
            given = _columns_beside(continued, columns, n_steps)
            if levels is not None:
                given["levels"] = tuple(levels)
            answer = self._predict(continued, n_steps, **given)
            y_pred = checks.check_answer(
                answer, self.name, (len(histories), n_steps, *n_levels)
            )
            y_pred = self._without_lost(y_pred, histories)
            parts.append(y_pred)
            if levels is not None:
                nearest = int(np.abs(np.array(levels) - 0.5).argmin())
                y_pred = y_pred[..., nearest]
            continued = [
                np.append(*each) for each in zip(continued, y_pred, strict=True)
            ]
        return np.concatenate(parts, axis=1)

    def _without_lost(
        self, forecast: Float64Array, histories: Sequence[Float64Array]
    ) -> Float64Array:
        """Put the last observed value where a forecast is no number, and warn."""
        lost = ~np.isfinite(forecast)
        if not lost.any():
            return forecast
        n_lost = int(lost.any(axis=tuple(range(1, lost.ndim))).sum())
        checks.warn_of_lost(self.name, n_lost, len(histories))
        last = np.array([history[~np.isnan(history)][-1] for history in histories])
        return np.where(lost, last.reshape(-1, *[1] * (lost.ndim - 1)), forecast)


def _bytes_of(history: Float64Array, columns: Columns) -> bytes:
    parts = [history, *columns.values()]
    return b"|".join(part.tobytes() for part in parts)


def _columns_beside(
    histories: Sequence[Float64Array], columns: Sequence[Columns], n_steps: int
) -> dict[str, Any]:
    """Return other columns beside each history, and known ones of the steps ahead, by argument."""
    given: dict[str, Any] = {}
    for name in columns[0]:
        n_ahead = n_steps if name == "known" else 0
        given[name] = [
            _first_rows(own[name], len(history) + n_ahead)
            for own, history in zip(columns, histories, strict=True)
        ]
    return given


def _first_rows(values: Float64Array, n_rows: int) -> Float64Array:
    """Return the first rows, (n_rows, n_columns); NaN behind the last one."""
    lacking = max(n_rows - len(values), 0)
    return np.pad(values[:n_rows], ((0, lacking), (0, 0)), constant_values=np.nan)


def named_forecasters(forecasters: Sequence[Any]) -> tuple[HistoryForecaster, ...]:
    """Name forecasters; those of the same name are numbered.

    >>> [each.name for each in named_forecasters([max, max])]
    ['max', 'max 2']
    """
    found: list[HistoryForecaster] = []
    count: dict[str, int] = {}
    for forecaster in forecasters:
        name = checks.name_of(forecaster)
        count[name] = count.get(name, 0) + 1
        numbered = name if count[name] == 1 else f"{name} {count[name]}"
        found.append(HistoryForecaster(forecaster, numbered))
    return tuple(found)
