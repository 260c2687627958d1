"""Forecasters that users bring, asked for histories in batches; what was asked is remembered."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from skinformer.stopwatch import running
from skinformer.timeline.arrays import Float64Array
from skinformer.validation.forecasters import check_answer, name_of, warn_of_lost

#: Columns beside a history that are no targets, by "past" and "known", (n_rows, n_columns) each.
Covariates = dict[str, Float64Array]


class History(NamedTuple):
    """Rows of a series in its units, the newest last, NaN where not observed; columns beside it."""

    values: Float64Array
    columns: Covariates

    @property
    def content(self) -> bytes:
        """All numbers, by which equal histories are found."""
        parts = [self.values, *self.columns.values()]
        return b"|".join(part.tobytes() for part in parts)


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
        """Seconds that it may take for a fit and its forecast, ten minutes if it names none."""
        return float(getattr(self.forecaster, "max_seconds", 600))

    def takes(self, name: str) -> bool:
        """Return whether it takes an argument."""
        return name in inspect.signature(self._predict).parameters

    def fitted(self, series: list[Float64Array]) -> Self:
        """Return one that is fitted to series."""
        forecaster = copy.deepcopy(self.forecaster)
        forecaster.fit(series)
        return type(self)(forecaster, self.name)

    def forecast(
        self,
        histories: Sequence[History],
        horizon: int,
        levels: tuple[float, ...] | None = None,
    ) -> Float64Array:
        """Forecast histories, (n, horizon), in their units; the same ones are asked for once.

        levels: of the quantiles that are wanted, (n, horizon, n_levels); None for the forecast.
        """
        keys = [(horizon, levels, history.content) for history in histories]
        kept = self._kept
        # Explaining, intervals and updates ask for the same windows again.
        n_kept = 50_000
        if len(kept) + len(keys) > n_kept:
            kept.clear()
        every = dict(zip(keys, histories, strict=True))
        new = {key: every[key] for key in every if key not in kept}
        self._forecast_batches(new, horizon, levels)
        return np.stack([kept[key] for key in keys])

    def _forecast_batches(
        self,
        histories: Mapping[Any, History],
        horizon: int,
        levels: tuple[float, ...] | None,
    ) -> None:
        """Forecast histories in batches, and keep the forecasts by the same keys."""
        batch_size = int(getattr(self.forecaster, "batch_size", 256))
        keys = list(histories)
        for start in range(0, len(keys), batch_size):
            batch = keys[start : start + batch_size]
            y_pred = self._predict_in_parts(
                [histories[key] for key in batch], horizon, levels
            )
            # Kept if the next one fails.
            self._kept.update(zip(batch, y_pred, strict=True))
            if len(keys) > batch_size:
                done = f"{start + len(batch):,} of {len(keys):,} histories"
                running().note(done)
                running().write(f"{self.name}  {done}", passing=True)

    @property
    def _predict(self) -> Any:
        return getattr(self.forecaster, "predict", self.forecaster)

    def _predict_in_parts(
        self,
        histories: Sequence[History],
        horizon: int,
        levels: tuple[float, ...] | None,
    ) -> Float64Array:
        """Forecast at most its `max_horizon` steps at once, the next ones behind these."""
        longest = int(getattr(self.forecaster, "max_horizon", None) or horizon)
        continued = histories
        parts = []
        for start in range(0, horizon, longest):
            y_pred = self._predict_steps(
                continued, min(longest, horizon - start), levels
            )
            y_pred = self._without_lost(y_pred, histories)
            parts.append(y_pred)
            if levels is not None:
                nearest = np.abs(np.array(levels) - 0.5).argmin()
                y_pred = y_pred[..., nearest]
            continued = [
                History(np.append(history.values, ahead), history.columns)
                for history, ahead in zip(continued, y_pred, strict=True)
            ]
        return np.concatenate(parts, axis=1)

    def _predict_steps(
        self,
        histories: Sequence[History],
        n_steps: int,
        levels: tuple[float, ...] | None,
    ) -> Float64Array:
        """Call the forecaster, and check the shape of what it returns."""
        shape = [len(histories), n_steps]
        given = _columns_beside(histories, n_steps)
        if levels is not None:
            shape.append(len(levels))
            given["levels"] = levels
        answer = self._predict(
            [history.values.copy() for history in histories], n_steps, **given
        )
        return check_answer(answer, self.name, tuple(shape))

    def _without_lost(
        self, y_pred: Float64Array, histories: Sequence[History]
    ) -> Float64Array:
        """Put the last observed value where a forecast is no number, and warn."""
        is_lost = ~np.isfinite(y_pred)
        if not is_lost.any():
            return y_pred
        n_lost = is_lost.reshape(len(y_pred), -1).any(axis=1).sum()
        warn_of_lost(self.name, n_lost, len(histories))
        last = []
        for history in histories:
            values = history.values
            last.append(values[~np.isnan(values)][-1])
        # Transposed, histories are the last axis.
        return np.where(is_lost.T, last, y_pred.T).T


def _columns_beside(histories: Sequence[History], n_steps: int) -> dict[str, Any]:
    """Return other columns beside each history, and known ones of the steps ahead, by argument."""
    given: dict[str, Any] = {}
    for name in histories[0].columns:
        n_ahead = n_steps if name == "known" else 0
        given[name] = [
            _first_rows(history.columns[name], len(history.values) + n_ahead)
            for history in histories
        ]
    return given


def _first_rows(values: Float64Array, n_rows: int) -> Float64Array:
    """Return the first rows, (n_rows, n_columns); NaN behind the last one."""
    lacking = max(n_rows - len(values), 0)
    return np.pad(values[:n_rows], ((0, lacking), (0, 0)), constant_values=np.nan)


def named_forecasters(
    forecasters: Sequence[Any], taken: Collection[str]
) -> tuple[HistoryForecaster, ...]:
    """Name forecasters; those of the same name are numbered.

    taken: names of other members.

    >>> [each.name for each in named_forecasters([max, max], ["ridges"])]
    ['max', 'max 2']
    """
    names = [name_of(forecaster, taken) for forecaster in forecasters]
    found = []
    for i, name in enumerate(names):
        number = names[:i].count(name) + 1
        numbered = name if number == 1 else f"{name} {number}"
        found.append(HistoryForecaster(forecasters[i], numbered))
    return tuple(found)
