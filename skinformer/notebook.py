"""A small picture of the forecast for notebooks: the last stretch of the history, and what follows.

It is written as SVG by hand, which takes a hundredth of the time that matplotlib takes to load, and
follows the colours of the notebook.
"""

from html import escape
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd
from torch import nn

from skinformer.ensemble.members import network_of
from skinformer.timeline.arrays import Float64Array, IntArray
from skinformer.timeline.clock import short_label

#: Steps of a forecast at most, and of history beside it: what a glance takes in, in 30 kB.
_LONGEST, _LEAST_BEFORE = 400, 48
#: Of the picture, and of the room of its lines.
_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 560, 150, 62, 24, 128
_TWO_LABELS = 170  # room for both labels of time
_LEVELS = (0.1, 0.9)  # of the band
#: By network, as every fit has its own; with the end of the history, which `update` moves.
_DRAWN: WeakKeyDictionary[nn.Module, tuple[bytes, str]] = WeakKeyDictionary()


def forecast_picture(model: Any) -> str:
    """Draw the forecast after the history, of the first series and target, as HTML.

    It is empty where there is nothing to draw at once: before `fit`, if columns known ahead are
    needed, beyond 400 steps, or if quantiles have to be found first. Once intervals were, a band
    shows where four truths of five should lie. It is drawn once for each state of the history. The
    estimator stays as it is.
    """
    try:
        with_band = vars(model).get("_intervals_") is not None
        state = model.timeline_.end_step.tobytes() + bytes([with_band])
        network = network_of(model.module_)
        drawn = _DRAWN.get(network)
        if drawn is None or drawn[0] != state:
            drawn = _DRAWN[network] = (state, _draw(model, with_band))
        return drawn[1]
    except Exception:  # a notebook shows the parameters, whatever may be wrong with the rest
        return ""


def _draw(model: Any, with_band: bool) -> str:
    pred_len = model.sizes_.pred_len
    if pred_len > _LONGEST or (model.head_.level is not None and "_intervals_" not in vars(model)):
        return ""
    requested = model._requested_ahead(None, None)
    first = requested.track == 0
    requested = requested._replace(track=requested.track[first], steps=requested.steps[first])
    levels = np.array(_LEVELS if with_band else ())
    forecast = model._with_quantiles(requested, levels)[:, 0]
    steps, history = last_steps(model, max(3 * pred_len, _LEAST_BEFORE))
    times = requested.clock.labels(np.array([steps[0], requested.steps[0]]))
    name = str(model.roles_.target_labels[0])
    if model.series_ is not None:
        name += f" of {model.series_[0]}"
    said = f"{name}: the last {len(steps)} steps, and the forecast of {pred_len}"
    return _write(history, forecast, times, said)


def last_steps(
    model: Any, n: int, series: int = 0, target: int = 0
) -> tuple[IntArray, Float64Array]:
    """Give the last steps of a series, and a target there in its units; NaN was missing."""
    timeline = model.timeline_
    first, stop = timeline.first_row[series : series + 2].tolist()
    rows = np.arange(max(stop - n, first), stop)
    values = timeline.truths(rows, model.scaler_, model.sizes_.n_targets)
    return timeline.steps_of(rows), values[:, target]


def _write(history: Float64Array, forecast: Float64Array, times: pd.Index, said: str) -> str:
    # forecast: (pred_len, 1 or 3), points and the bounds of a band.
    values = np.concatenate([np.repeat(history[:, None], forecast.shape[1], 1), forecast])
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    x = np.linspace(_LEFT, _WIDTH - 8, len(values))
    y = _BOTTOM - (values - low) / (high - low or 1.0) * (_BOTTOM - _TOP)
    y, *bounds = y.T
    n = len(history)
    texts = [
        _text(_LEFT, 14, said, "start"),
        _text(_LEFT - 6, _TOP + 4, f"{high:.4g}", "end"),
        _text(_LEFT - 6, _BOTTOM + 4, f"{low:.4g}", "end"),
        _text(x[n], _HEIGHT - 5, short_label(times[1]), "middle"),
    ]
    if x[n] - _LEFT > _TWO_LABELS:
        texts.append(_text(_LEFT, _HEIGHT - 5, short_label(times[0]), "start"))
    band = ""
    if bounds:
        around = _path(
            np.append(x[n:], x[: n - 1 : -1]), np.append(bounds[0][n:], bounds[1][: n - 1 : -1])
        )
        band = f'<path fill="#ff7f0e" opacity="0.3" stroke="none" d="{around}Z"/>'
    border = f'<path d="M{x[n]:.1f},{_TOP}V{_BOTTOM + 6}" stroke-dasharray="3" opacity="0.5"/>'
    return (
        f'<svg class="skinformer-forecast" role="img" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'aria-label="{escape(said)}" style="display:block;width:100%;max-width:{_WIDTH}px;'
        'color:var(--jp-ui-font-color1,currentColor)" fill="none" stroke="currentColor">'
        f'{band}{border}<path d="{_path(x[:n], y[:n])}"/>'
        f'<path d="{_path(x[n - 1 :], y[n - 1 :])}" stroke="#ff7f0e" stroke-width="2"/>'
        f'<g stroke="none" fill="currentColor" font-family="sans-serif" font-size="11">'
        f"{''.join(texts)}</g></svg>"
    )


def _path(x: Float64Array, y: Float64Array) -> str:
    """Write a line that breaks where nothing is known."""
    known = ~np.isnan(y)
    begins = known & ~np.append(False, known[:-1])
    points = zip(begins[known], x[known], y[known], strict=True)
    return "".join(f"{'M' if begin else 'L'}{left:.1f},{top:.1f}" for begin, left, top in points)


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'
