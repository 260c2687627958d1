"""Boosted trees as a torch module, on features that are made of windows as `FeatureMaker` does."""

from collections.abc import Iterable
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from skinformer.algebra import tensor_of
from skinformer.model.dates import calendar_fields
from skinformer.tabular.features import Feature, FeatureMaker, Pairs, View
from skinformer.tabular.fit import TabularFit
from skinformer.tabular.regressors import ReadyRegressor
from skinformer.tabular.trees import Trees, uproot
from skinformer.timeline.arrays import AnyArray, IntArray
from skinformer.timeline.clock import Clock
from skinformer.timeline.cycle import CalendarEffect, number_cells


class ServedTrees(nn.Module):
    """Forecast windows by boosted trees; all thresholds, and what meets them, are in float64.

    A feature may equal a threshold, so that its last digit decides: it is the same as in
    `FeatureMaker`.

    fit: of default regressors.
    clock: of the fit.

    **Shape**: standardised values ``(batch, look_back + pred_len, n_columns)``; the first row with
    a known target ``(batch,)``; time ``(batch, look_back + pred_len)``, see `ServedForecast`; the
    forecast ``(batch, pred_len, n_targets)``.
    >>> from skinformer import InformerRegressor
    >>> from skinformer.tabular.features import Columns
    >>> from skinformer.tabular.fit import fit_tabular
    >>> wave = np.sin(np.arange(200.0) / 4)[:, None]
    >>> timeline = InformerRegressor(seq_len=24, members=["ridges"]).fit(wave).timeline_
    >>> fit = fit_tabular(timeline, Columns(1, 0, 0, 0, pred_len=2), quick=True)
    >>> served = ServedTrees(fit, timeline.clock)
    >>> window = torch.zeros(3, fit.look_back + 2, 1)
    >>> served(window, torch.zeros(3, dtype=torch.int64), None).shape
    torch.Size([3, 2, 1])
    """

    def __init__(self, fit: TabularFit, clock: Clock) -> None:
        super().__init__()
        self.maker, self.clock = fit.maker, clock
        self.anchors = [member.anchor for member in fit.members]
        self.trees = _Trees([member.regressor for member in fit.members])

    def forward(self, values: Tensor, begin: Tensor, time: Tensor | None) -> Tensor:
        """Forecast windows; a forecast is the mean of all regressors'."""
        columns = self.maker.columns
        view = _WindowView(values.double(), begin, time, self.maker, self.clock)
        shape = values.shape[0], len(view.at)
        made = self.maker.features(view)
        made = [x if isinstance(x, Tensor) else torch.from_numpy(x.astype(float)) for x in made]
        features = torch.stack([each.expand(shape) for each in made], dim=-1)
        lowest = features.masked_fill(features.isnan(), -torch.inf)
        numbers = torch.stack([features, lowest], dim=-1).flatten(2)
        levels = [_level(features, anchor) for anchor in self.anchors]
        mean: Tensor = (self.trees(numbers) + sum(levels)) / len(levels)
        return mean.float().reshape(-1, columns.pred_len, columns.n_targets)


class _Trees(nn.Module):
    """Trees' nodes, of all regressors, as arrays: every row steps down all trees at once.

    column: where the number stands that a split looks at: each feature is there with NaN, which
    goes to the right, and with the lowest of all numbers instead, which goes to the left.
    threshold: up to which a number goes to the left; NaN for leaves, as none does.
    right: the node to the right of each, which is followed by the one to the left; a leaf itself.
    """

    def __init__(self, fitted: list[ReadyRegressor]) -> None:
        super().__init__()
        each = [cast(Trees, uproot(x.regressor)) for x in fitted]  # which split no categories
        used = [2 * x.used[t.feature] + t.missing_left for x, t in zip(fitted, each, strict=True)]
        sizes, leaf = _joined(t.sizes for t in each), _joined(t.leaf for t in each)
        first, split = np.cumsum(sizes) - sizes, np.flatnonzero(~leaf)
        right, levels = np.arange(len(leaf)), [first]
        right[split] = np.repeat(first, sizes)[split] + _joined(t.right for t in each)
        while len(reached := levels[-1][~leaf[levels[-1]]]):
            levels.append(np.stack([right[reached], reached + 1], axis=1).ravel())
        self.depth, order = len(levels) - 1, np.concatenate(levels)
        column, threshold, value = np.zeros_like(order), np.full(len(order), np.nan), 0.0 * order
        column[split] = _joined(used)
        threshold[split] = _joined(t.thresholds[t.threshold] for t in each)
        value[leaf] = _joined(t.value for t in each)
        self.first = _buffer(np.arange(len(first)))
        self.right = _buffer(np.argsort(order)[right[order]])
        self.column, self.threshold = _buffer(column[order]), _buffer(threshold[order])
        self.value = _buffer(value[order])
        self.baseline = _buffer(np.sum([t.baseline for t in each], axis=0).ravel())

    def forward(self, numbers: Tensor) -> Tensor:
        """Add up the leaves that pairs, (batch, n, 2 · n_features), come to: (batch, n)."""
        node = self.first.expand(*numbers.shape[:2], -1)
        for _ in range(self.depth):
            left = numbers.gather(2, self.column[node]) <= self.threshold[node]
            node = self.right[node] + left
        return self.baseline + self.value[node].sum(dim=-1)


class _WindowView(View):
    """A view of all pairs of windows at once, whose rows are the same in every window."""

    def __init__(
        self, values: Tensor, begin: Tensor, time: Any, maker: FeatureMaker, clock: Clock
    ) -> None:
        shape = maker.columns.pred_len, maker.columns.n_targets
        ahead, target = (index.ravel() for index in np.indices(shape))
        origin = np.full(len(ahead), values.shape[1] - shape[0])
        super().__init__(values, Pairs(origin, ahead, target, 0 * ahead, origin), maker, clock)
        self.begin, self.time = begin[:, None], time
        low, high = tensor_of(maker.low), tensor_of(maker.high)
        row = torch.from_numpy(np.arange(values.shape[1]))
        seen = (row >= self.begin)[..., None] & (values >= low) & (values <= high)
        self.seen = values.masked_fill(~seen, torch.nan).flatten(1)
        self.effect = None if maker.calendar is None else self._effect(maker.calendar)

    def _read(self, column: int | IntArray, rows: IntArray, stop: IntArray) -> Feature:
        column = np.asarray(column)
        if rows.ndim == 2:
            stop, column = stop[:, None], column[..., None]
        place, late = rows * self.values.shape[2] + column, rows >= stop
        if (place == place[:1]).all():
            place, late = place[:1], late[:1]
        read = self.seen.index_select(1, torch.from_numpy(place.ravel())).reshape(-1, *place.shape)
        return read.masked_fill(torch.from_numpy(late), torch.nan) if late.any() else read

    def wall(self) -> tuple[Feature, ...]:
        """Read the same fields as `View.wall`."""
        names = "minute", "hour", "weekday", "day", "year_day"
        time = self.time.index_select(1, torch.from_numpy(self.at))
        minute, hour, weekday, day, year_day = calendar_fields(time, names).double().unbind(-1)
        return hour * 60 + minute, weekday, day + 1, year_day + 1

    def usual(self, ahead: IntArray) -> Feature:
        """Read the same as `View.usual`."""
        assert self.effect is not None
        pairs, n_targets = self.pairs, self.effect.shape[2]
        rows = torch.from_numpy(pairs.origin + ahead).maximum(self.begin)
        return self.effect.flatten(1).gather(1, rows * n_targets + torch.from_numpy(pairs.target))

    def _effect(self, calendar: CalendarEffect) -> Tensor:
        """Add up the effects on all rows."""
        level, known, bounds, places, year = map(tensor_of, (*calendar[:4], calendar.year))
        tables: Any = {"level": level, "known": known, "year": year}
        cell = number_cells(places, calendar_fields(self.time, calendar.fields))
        seen = self.values[..., self.values.shape[2] - known.shape[1] :]
        seen = seen.masked_fill(seen.isnan(), 0.0).clamp(*bounds)
        effect: Tensor = calendar._replace(**tables).one_by_one(seen, cell)
        return effect

    def mean(self, values: Feature) -> Feature:
        """Take the same mean as `View.mean`."""
        known = ~values.isnan()
        # Sums of numbers from single precision are exact here, whatever their order.
        return values.masked_fill(~known, 0.0).sum(dim=-1) / known.sum(dim=-1)

    def median(self, values: Feature) -> Feature:
        """Take the same median as `View.median`."""
        known = ~values.isnan()
        ordered, count = values.masked_fill(~known, torch.inf).sort(dim=-1)[0], known.sum(dim=-1)
        middle = torch.stack([(count - 1).clamp(min=0) // 2, count // 2], dim=-1)
        low, high = ordered.gather(-1, middle).unbind(-1)
        return torch.where(count > 0, (low + high) / 2, torch.nan)


def _level(features: Tensor, anchor: int | None) -> Tensor | float:
    """Give the level that forecasts are distances from, as `TabularFit` does."""
    if anchor is None:
        return 0.0
    level, last = features[..., anchor], features[..., 0]
    level = torch.where(level.isnan(), last, level)
    return level.masked_fill(level.isnan(), 0.0)


def _joined(parts: Iterable[AnyArray]) -> AnyArray:
    return np.concatenate([*parts])


def _buffer(array: AnyArray) -> Tensor:
    return nn.Buffer(tensor_of(array))
