"""Classical forecasters: for panels of short series, and for what is shorter still.

Where rows are too few for ridges over whole windows, each series is forecast by the blend of
smoothing, drift, seasons and small ridges that proved itself at the ends of its panel's series, and
at its own.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from skinformer.classical.fit import ClassicalFit, fit_classical
from skinformer.classical.periods import find_period
from skinformer.classical.ridges import look_backs
from skinformer.ensemble.building import ModelSizes
from skinformer.ensemble.in_units import InUnits, Series
from skinformer.ensemble.settings import FitSettings
from skinformer.stopwatch import timed
from skinformer.timeline.arrays import Float32Array, IntArray
from skinformer.timeline.seasons import likely_seasons

#: Windows' lengths of a panel's median series below which ridges over whole windows can fail badly:
#: at 1.9 of them (204 rows of a month) these err 2.4 times as much as classical forecasters, at 4.1
#: by 5 % more, at 4.8 by 9 % less (docs/panels.md).
_SHORT = 2.5
#: Forecasts behind the first context of one series for which a network is trained: two or more to
#: learn from, and two to be judged by.
_FORECASTS = 4
#: Windows' lengths from which classical forecasters take no part, of one series and of panels:
#: ridges have learnt all that there is.
_LONG = 8, 20
#: How many times `seq_len` classical forecasters look back at most, to see two seasons.
_FARTHEST = 4
#: Truths from which trees on features take part; a regressor of the user's always does.
_ENOUGH = 1500
#: Windows at a time.
_CHUNK = 4096


def for_rows(settings: FitSettings, first_row: IntArray) -> FitSettings:
    """Decide by the rows which of classical forecasters, trees, ridges and network take part.

    first_row: (n_series + 1,), where each series begins.

    Classical forecasters alone for the shortest series, all of them for longer ones, and for long
    ones those that learn from windows; ridges of each series for panels.
    """
    if settings.classical and not settings.linear_path:
        return settings  # the user wants no others, however long series are
    seq_len, pred_len = settings.seq_len, settings.pred_len
    lengths, size = np.diff(first_row), seq_len + pred_len
    if isinstance(settings.regressor, str) and first_row[-1] < _ENOUGH:
        settings = replace(settings, regressor=None)
    panel, median = len(lengths) > 1, int(np.median(lengths))
    settings = replace(settings, own_ridges=settings.own_ridges and panel)
    if not settings.classical or median >= _LONG[panel] * size:
        return replace(settings, classical=False)
    longest = int(median / _SHORT) - pred_len if panel else median - _FORECASTS * pred_len
    if seq_len <= longest:
        return settings
    ridges = median >= size and not panel
    return replace(settings, linear_path=ridges, own_ridges=False, train_network=False)


@dataclass(frozen=True)
class Classical(InUnits):
    """Classical forecasters, which compete at the end of each series, see `fit_classical`."""

    fit: ClassicalFit

    name = "classical"

    @classmethod
    def takes_part(cls, settings: FitSettings) -> bool:
        """Tell whether series are short enough."""
        return settings.classical

    @staticmethod
    @timed("classical")
    def fit_series(
        series: Series, sizes: ModelSizes, whole: ClassicalFit | None = None
    ) -> ClassicalFit:
        """Let classical forecasters compete; of some rows the season is that of all of them."""
        values, first_row, clock, of_mean = series
        if whole is None:
            period = find_period(values, first_row, likely_seasons(clock))
        else:
            period = whole.period
        seasons = 2 * period if 2 * period <= _FARTHEST * sizes.seq_len else 0
        seq_len = max(sizes.seq_len, seasons)
        return fit_classical(
            values,
            first_row,
            seq_len=seq_len,
            pred_len=sizes.pred_len,
            period=period,
            of_mean=of_mean,
        )

    def knowing(self, whole: Self) -> Self:
        """Return the whole's ridges, and let the errors of its panel alone choose."""
        weights = np.broadcast_to(whole.fit.panel_weights, self.fit.weights.shape)
        never = self.fit.never_negative
        return replace(self, fit=replace(whole.fit, weights=weights, never_negative=never))

    @property
    def fewest_rows(self) -> int:
        """Two seasons; where there are none the rows of the longest ridge."""
        fit = self.fit
        return 2 * fit.period if fit.period > 1 else max(look_backs(fit.seq_len, 1), default=0)

    @property
    def blend(self) -> dict[str, float]:
        """Mean weight of each candidate that counts for a hundredth or more, the greatest first."""
        mean = self.fit.weights.mean(axis=0)
        order = np.argsort(-mean, kind="stable")
        names = self.fit.names
        return {names[i]: round(float(mean[i]), 4) for i in order if mean[i] >= 0.01}

    @property
    def series_blend(self) -> tuple[list[str], Float32Array]:
        """Weights of candidates; those that count for less than a hundredth everywhere are none."""
        counts = np.flatnonzero((self.fit.weights >= 0.01).any(axis=0))
        return [self.fit.names[i] for i in counts], self.fit.weights[:, counts]
