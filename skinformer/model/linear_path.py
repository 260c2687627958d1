"""Linear paths: from the past, in closed form, and from covariates known ahead, trained."""

import torch
from torch import Tensor, nn

__all__ = ["KnownFuturePath", "LinearPath"]


class LinearPath(nn.Module):
    """Forecast by a linear map that was found in closed form; the network corrects it.

    It is not trained: gradient steps on its many weights would leave the ridge's solution for
    one that fits the training rows better and others worse.

    Parameters
    ----------
    n_targets : int
        Number of targets, the first columns.
    n_known : int
        Number of columns known ahead, the last ones.
    n_inputs : int
        Number of columns in all.
    n_groups : int
        1, all targets share one map, or `n_targets`.
    mixed_len : int
        Last rows of all columns that are seen together; 0 for none.
    seq_len, pred_len : int
        Last steps of a window that are seen, and steps of the forecast.

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
    >>> import torch
    >>> from skinformer.model.linear_path import LinearPath
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
    ) -> None:
        super().__init__()
        self.n_targets, self.n_known, self.mixed_len = n_targets, n_known, mixed_len
        n_features = (mixed_len + 1) * n_inputs + 1 if mixed_len else 0
        self.register_buffer("own", torch.zeros(n_groups, seq_len, pred_len))
        self.register_buffer("mixed", torch.zeros(n_features, pred_len * n_targets))
        self.register_buffer("effect", torch.zeros(n_known, n_targets))

    def forward(self, past: Tensor, future: Tensor) -> Tensor:
        """Forecast a batch of windows.

        Parameters
        ----------
        past : Tensor of shape (batch, seq_len, n_inputs)
            Standardised windows; NaN counts as the mean.
        future : Tensor of shape (batch, pred_len, n_inputs)
            Standardised covariates known ahead in the last columns; the others are not read.

        Returns
        -------
        Tensor of shape (batch, pred_len, n_targets), float32
            The forecast.
        """
        with torch.autocast(past.device.type, enabled=False):
            return self._mapped(past.float().nan_to_num(), future.float(), 1.0)

    def response(self, past: Tensor, future: Tensor) -> Tensor:
        """Tell how much a change of windows changes their forecasts: the map without its constant.

        Parameters
        ----------
        past : Tensor of shape (batch, seq_len, n_inputs)
            Changes of standardised windows.
        future : Tensor of shape (batch, pred_len, n_inputs)
            Changes of covariates known ahead in the last columns; the others are not read.

        Returns
        -------
        Tensor of shape (batch, pred_len, n_targets), float64
            Changes of the forecast.
        """
        return self._mapped(past.double(), future.double(), 0.0)

    def _mapped(self, past: Tensor, future: Tensor, one: float) -> Tensor:
        targets = slice(self.n_targets)
        effect, own = self.effect.to(past.dtype), self.own.to(past.dtype).transpose(1, 2)
        if self.n_known:
            known = past[..., -self.n_known :] @ effect
            past = torch.cat([past[..., targets] - known, past[..., self.n_targets :]], dim=-1)
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
        if self.n_known:
            forecast = forecast + future[..., -self.n_known :].nan_to_num() @ effect
        return forecast


class KnownFuturePath(nn.Linear):
    """Add to each forecast step a linear function of that step's known covariates.

    For effects such as a price or a holiday that act on the level of the series at once: the
    path is added after the window normalisation is undone, so a covariate's effect is not
    multiplied by the deviation of the window. It is no substitute for the transformer's own
    use of the covariates, which see non-linear effects.

    Parameters
    ----------
    n_known : int
        Number of columns known ahead, at least 1.
    n_targets : int
        Number of targets.

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
    >>> import torch
    >>> from skinformer.model.linear_path import KnownFuturePath
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
        """Compute the linear effect of the covariates.

        Parameters
        ----------
        known : Tensor of shape (batch, pred_len, n_known)
            Covariates of the forecast steps, standardised.

        Returns
        -------
        Tensor of shape (batch, pred_len, n_targets), float32
            What to add to the forecast.
        """
        # In float32 also under autocast: bf16 keeps three digits of a covariate.
        with torch.autocast(known.device.type, enabled=False):
            return super().forward(known.float())
