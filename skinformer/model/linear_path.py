"""Linear paths: from the past, in closed form, and from covariates known ahead, trained."""

import torch
from torch import Tensor, nn

from skinformer.model.calendar_effect import CalendarEffect
from skinformer.model.phase_maps import PhaseMaps

__all__ = ["KnownFuturePath", "LinearPath"]


class LinearPath(nn.Module):
    """Forecast by a linear map that was found in closed form; the network corrects it.

    It is not trained: gradient steps on its many weights would leave the ridge's solution for
    one that fits the training rows better and others worse.

    Parameters
    ----------
    n_targets, n_known, n_inputs : int
        Numbers of targets, the first columns, of columns known ahead, the last ones, and of all.
    n_groups : int
        1, all targets share one map, or `n_targets`.
    mixed_len : int
        Last rows of all columns that are seen together; 0 for none.
    seq_len, pred_len : int
        Last steps of a window that are seen, and steps of the forecast.
    calendar : CalendarEffect or None, default=None
        Effect of the calendar and of columns known ahead, in place of `effect`.
    phases : PhaseMaps or None, default=None
        What is added to the forecast by the time of the day.

    Attributes
    ----------
    own : Tensor of shape (n_groups, seq_len, pred_len)
        From a target's distances from its last value to its own future.
    mixed : Tensor of shape (mixed_len · n_inputs + n_inputs + 1, pred_len · n_targets)
        From all columns' last distances, last values and 1; empty if `mixed_len` is 0.
    effect : Tensor of shape (n_known, n_targets)
        Effect of columns known ahead on the targets of their own step, which is taken off the
        window first and added to the forecast last.

    Notes
    -----
    ``ŷ = y_L + (y - y_L) W_own + [x - x_L, x_L, 1] W_mixed``, in float32. All weights are
    buffers, 0 at first, so that an unfitted path repeats the last value. Cost of a window:
    ``n_targets · seq_len · pred_len`` products and those of `mixed`.

    **Shape**: past ``(batch, seq_len, n_inputs)``, future ``(batch, pred_len, n_inputs)``, output
    ``(batch, pred_len, n_targets)``.

    References
    ----------
    Time-series chapter (T), section 7.5.1, hybrid models.

    Examples
    --------
    >>> sizes = {"n_targets": 1, "n_known": 0, "n_inputs": 1, "n_groups": 1, "mixed_len": 0}
    >>> path = LinearPath(**sizes, seq_len=3, pred_len=2)
    >>> path(torch.tensor([[[1.0], [2.0], [5.0]]]), torch.zeros(1, 2, 1)).flatten().tolist()
    [5.0, 5.0]
    """

    own: Tensor
    mixed: Tensor
    effect: Tensor

    def __init__(
        self,
        *,
        n_targets: int,
        n_known: int,
        n_inputs: int,
        n_groups: int,
        mixed_len: int,
        seq_len: int,
        pred_len: int,
        calendar: CalendarEffect | None = None,
        phases: PhaseMaps | None = None,
    ) -> None:
        super().__init__()
        self.n_targets, self.n_known, self.mixed_len = n_targets, n_known, mixed_len
        self.calendar, self.phases = calendar, phases
        n_features = (mixed_len + 1) * n_inputs + 1 if mixed_len else 0
        self.register_buffer("own", torch.zeros(n_groups, seq_len, pred_len))
        self.register_buffer("mixed", torch.zeros(n_features, pred_len * n_targets))
        self.register_buffer("effect", torch.zeros(n_known, n_targets))

    def forward(
        self,
        past: Tensor,
        future: Tensor,
        past_calendar: Tensor | None = None,
        future_calendar: Tensor | None = None,
    ) -> Tensor:
        """Forecast windows, (batch, pred_len, n_targets), float32; NaN counts as the mean.

        past, future: standardised, (batch, length, n_inputs); of the future only columns known
        ahead, the last ones, are read.
        past_calendar, future_calendar: as of `Informer`, for `calendar` and `phases`.
        """
        with torch.autocast(past.device.type, enabled=False):
            past, future = (self.seen(x.float().nan_to_num()) for x in (past, future))
            return self._mapped(past, future, past_calendar, future_calendar, 1.0)

    def seen(self, values: Tensor) -> Tensor:
        """Clip columns known ahead to what a `calendar` has seen."""
        return values if self.calendar is None else self.calendar.within(values)

    def response(
        self,
        past: Tensor,
        future: Tensor,
        past_calendar: Tensor | None = None,
        future_calendar: Tensor | None = None,
    ) -> Tensor:
        """Give changes of forecasts for changes of windows: the map without its constant.

        (batch, pred_len, n_targets), float64; the calendar does not change.
        """
        return self._mapped(past.double(), future.double(), past_calendar, future_calendar, 0.0)

    def _mapped(
        self,
        past: Tensor,
        future: Tensor,
        past_calendar: Tensor | None,
        future_calendar: Tensor | None,
        one: float,
    ) -> Tensor:
        targets = slice(self.n_targets)
        own = self.own.to(past.dtype).transpose(1, 2)
        taken_off = self._effect(past, past_calendar, one)
        if taken_off is not None:
            remain = past[..., targets] - taken_off
            past = torch.cat([remain, past[..., self.n_targets :]], dim=-1)
        last = past[:, -1:]  # (batch, 1, n_inputs)
        distance = past - last
        # Maps to the left, windows as columns: then a product rounds the same wherever in the
        # batch a window stands, which rows of a product do not.
        seen = distance[:, -own.shape[2] :, targets].permute(2, 1, 0)
        ahead = own @ seen  # (n_targets, pred_len, batch)
        forecast = last[..., targets] + ahead.permute(2, 1, 0)
        if self.mixed_len:
            recent = distance[:, -self.mixed_len :].flatten(1)
            ones = last.new_full((last.shape[0], 1), one)
            features = torch.cat([recent, last[:, 0], ones], dim=1)
            mixed = self.mixed.to(past.dtype).T @ features.T  # (pred_len · n_targets, batch)
            forecast = forecast + mixed.T.reshape(forecast.shape)
        if self.phases is not None and future_calendar is not None:
            forecast = forecast + self.phases(distance, future_calendar[:, 0], one)
        added = self._effect(future, future_calendar, one)
        return forecast if added is None else forecast + added

    def _effect(self, values: Tensor, calendar: Tensor | None, one: float) -> Tensor | None:
        """Give the effect of columns known ahead on some steps; None where there is none."""
        known = values[..., values.shape[-1] - self.n_known :]
        if self.calendar is not None and calendar is not None:
            effect: Tensor = self.calendar(known, calendar, one)
            return effect
        return known @ self.effect.to(values.dtype) if self.n_known else None


class KnownFuturePath(nn.Linear):
    """Add to each forecast step a linear function of that step's known covariates.

    For effects such as a price or a holiday that act on the level of the series at once: the
    path is added after the window normalisation is undone, so a covariate's effect is not
    multiplied by the deviation of the window. It is no substitute for the transformer's own
    use of the covariates, which see non-linear effects.

    Parameters
    ----------
    n_known, n_targets : int
        Numbers of columns known ahead, at least 1, and of targets.

    Attributes
    ----------
    weight : nn.Parameter of shape (n_targets, n_known)
        Effect of one standardised unit of each covariate on each standardised target. Zero at
        the start: the untrained path adds no noise to the forecast, and since its gradient is
        the covariate times the error it leaves zero with the first step.

    Notes
    -----
    ``ŷ_t ← ŷ_t + W c_t``, one W for all steps, no bias (the projection has one);
    O(pred_len · n_known · n_targets).

    **Shape**: input ``(batch, pred_len, n_known)``, output ``(batch, pred_len, n_targets)``,
    float32.

    NOTE[DIFF]: N has no linear path; T 7.5.1 puts a linear model beside the network. This is
    the part of it that is trained; `LinearPath` is the other.

    References
    ----------
    Time-series chapter (T), section 7.5.1.

    Examples
    --------
    >>> path = KnownFuturePath(n_known=2, n_targets=1)
    >>> path(torch.ones(1, 3, 2)).flatten().tolist()
    [0.0, 0.0, 0.0]
    """

    def __init__(self, *, n_known: int, n_targets: int) -> None:
        super().__init__(n_known, n_targets, bias=False)

    def reset_parameters(self) -> None:
        """Set the weights to zero."""
        nn.init.zeros_(self.weight)

    def forward(self, known: Tensor) -> Tensor:
        """Give the effect of known covariates, (batch, pred_len, n_known), on targets."""
        # In float32 also under autocast: bf16 keeps three digits of a covariate.
        with torch.autocast(known.device.type, enabled=False):
            return super().forward(known.float())
