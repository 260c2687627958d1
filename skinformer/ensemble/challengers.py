"""Members beside ridges and network of one long table: weighed before the network is trained."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from skinformer.ensemble import weighing
from skinformer.ensemble.fitting import FitRows
from skinformer.ensemble.head import Head
from skinformer.ensemble.member import RIDGES, TREES, Member
from skinformer.ensemble.predicting import prediction_threads
from skinformer.ensemble.ridges import Ridges
from skinformer.ensemble.settings import FitSettings
from skinformer.ensemble.user_forecaster import MOST_WEIGHED, UserForecaster
from skinformer.ensemble.windows import Windows
from skinformer.selection import MOST_STRETCHES, split_into_stretches
from skinformer.stopwatch import timed
from skinformer.timeline.arrays import Float32Array, Float64Array, IntArray
from skinformer.timeline.windows import spread_places

#: Standard errors by which a challenger has to gain on ridges where it sees no more than these do:
#: without, trees' errors on ETTh2 were 1.074 of those (docs/laboratory/drivers.md).
_MARGIN = 1.0


def predict_points(
    member: Member,
    windows: Windows,
    head: Head,
    base: Float32Array | None = None,
) -> Float32Array:
    """Forecast the one value by which members are compared, (n, pred_len, n_targets).

    base: what the member corrects.
    """
    sizes = windows.buffer.sizes
    n_linear = sizes.seq_len * sizes.pred_len * windows.values.shape[1]
    with prediction_threads(member.largest_product, n_linear):
        return head.to_points(member.forecast(windows, base))


def weigh_challengers(
    ridges: Ridges,
    kinds: Mapping[str, type[Member]],
    windows: Windows,
    rows: FitRows,
    settings: FitSettings,
) -> Challenge | None:
    """Weigh members beside the ridges, one after the other, by stretches of the validation split.

    kinds: built-in members, by name; forecasters of the user's come behind them.
    windows: of the split.

    None is weighed where the split is too short for two stretches. ValueError where a forecaster of
    the user's is too slow.
    """
    stretches = split_into_stretches(
        windows.steps, rows.sizes.pred_len, n_most=MOST_STRETCHES
    )
    if stretches is None:
        return None
    margins = _margins(
        kinds, ridges, rows, settings, is_complete=stretches.max() + 1 == MOST_STRETCHES
    )
    if not margins and not settings.forecasters:
        return None
    challenge = Challenge(
        rows,
        settings,
        windows,
        stretches,
        predict_points(ridges, windows, settings.head),
    )
    for name, margin in margins.items():
        with timed(name):
            challenge.add(kinds[name].from_rows, margin)
    if settings.forecasters:
        challenge.take(spread_places(len(windows), MOST_WEIGHED))
    for source in settings.forecasters:
        challenge.add(partial(UserForecaster.from_source, source), _MARGIN)
    return challenge


def _margins(
    kinds: Mapping[str, type[Member]],
    ridges: Ridges,
    rows: FitRows,
    settings: FitSettings,
    *,
    is_complete: bool,
) -> dict[str, float]:
    """Return by how many standard errors built-in members have to gain on ridges.

    is_complete: whether the split has all stretches. Trees that see no more than ridges do need
    them, and are not asked without: what few long forecasts say of a level holds for their season
    alone, and cost 26 % on ETTh1, 336 steps ahead (docs/laboratory/drivers.md).
    """
    margins = dict.fromkeys(kinds, _MARGIN)
    if TREES not in kinds:
        return margins
    # Weight of the last value among ridges: .38 to .75 on walks and prices, 0 to .13 on hours
    # of weather, streets and loads.
    is_random_walk = ridges.blend.get("last", 0.0) > 1 / 3
    has_known = rows.sizes.n_known > 0
    sees_more = has_known or not isinstance(settings.members[TREES], str)
    if has_known and not is_random_walk:
        margins[TREES] = 0.0
    if not sees_more and (is_random_walk or not is_complete):
        del margins[TREES]
    return margins


@dataclass
class Challenge:
    """The joint forecast of ridges and challengers so far.

    windows, stretches: windows of the split, and the stretch of each.
    y_pred: joint forecast of the windows.
    challengers: those that it consists of, beside the ridges.
    weights: of the ridges and of these, (1 or pred_len, 1), by name.
    """

    rows: FitRows
    settings: FitSettings
    windows: Windows
    stretches: IntArray
    y_pred: Float32Array
    challengers: list[Member] = field(default_factory=list)
    weights: dict[str, Float64Array] = field(
        default_factory=lambda: {RIDGES: np.ones((1, 1))}
    )

    def take(self, some: IntArray) -> None:
        """Go on with some of the windows."""
        self.windows = self.windows.take(some)
        self.stretches = self.stretches[some]
        self.y_pred = self.y_pred[some]

    def add(self, fit: Callable[..., Member], margin: float) -> None:
        """Fit a member, and add it by the weight that it has beside those before it.

        margin: standard errors by which it has to gain on them; where it found no column known
        ahead that tells anything, those of one that sees no more than ridges.
        """
        head = self.settings.head
        member = fit(self.rows, self.settings, before_split=True)
        sizes = self.rows.sizes
        if len(member.plain_columns) == sizes.n_known - sizes.n_static:
            margin = max(margin, _MARGIN)
        member.check_seconds(self.windows)
        own = predict_points(member, self.windows, head)
        weight = weighing.weigh_steps(
            (self.y_pred, own),
            self.rows,
            self.windows.origins,
            self.stretches,
            head,
            margin=margin,
        )[:, None]
        for name, others in self.weights.items():
            self.weights[name] = (1 - weight) * others
        self.weights[member.name] = weight
        self.y_pred += weight.astype(np.float32) * (own - self.y_pred)
        self.challengers.append(member)
