"""Heads: what the outputs of the network mean.

The one home of that. How many outputs a step and target have, how wrong they are, what is fed
back where a truth is missing, how they get their units and by what forecasts are scored: training,
recursion and the estimators ask the head.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, TypeVar

import numpy as np
import torch
from sklearn.metrics import r2_score
from torch import Tensor

from skinformer.timeline.arrays import Float32Array, Float64Array, IntArray
from skinformer.timeline.scaling import Scaler
from skinformer.training import losses

#: Standardised or in units.
Floats = TypeVar("Floats", Float32Array, Float64Array)


class Head:
    """
    What `BaseInformer` needs to know of outputs; here, of one value that is forecast.

    Arrays of outputs have the axes of what they are forecasts of, the last of these being the
    targets, and then those of `outputs`.
    """

    #: Whether outputs are values of the target, such as quantiles; logits are not.
    in_units: ClassVar[bool] = True

    @property
    def outputs(self) -> tuple[int, ...]:
        """Shape of the outputs of one step and target; () is one value."""
        return ()

    @property
    def median_index(self) -> int | None:
        """
        Place of the output that is the forecast; None where there is one alone.

        The others tell by their distances from it how sure the network is. Shares of forecasters
        are shares in the forecast: what is sure or not is the network's to say.
        """
        return None

    @property
    def groups(self) -> list[slice]:
        """The columns of the classes of each target; none where numbers are forecast."""
        return []

    @property
    def level(self) -> float | None:
        """Level of the quantile that `predict` gives, from calibrated ranges; None for `point`."""
        return None

    @property
    def allows_ridges(self) -> bool:
        """Whether the linear path forecasts the same thing, and so alone where little is proved."""
        return True

    @property
    def of_mean(self) -> bool:
        """Whether the error is lowest for the mean, not for a median or another quantile."""
        return False

    @property
    def learnt_levels(self) -> tuple[float, ...] | None:
        """Levels of the quantiles that are forecast; None where one value is."""
        return None

    def error(self, outputs: Tensor, truth: Tensor) -> Tensor:
        """Return what training lowers, in float32: one error for each truth."""
        raise NotImplementedError

    def point_error(self, points: Tensor, truth: Tensor) -> Tensor:
        """Return the errors of points by which forecasters are compared with one another."""
        return self.error(points, truth)

    def point(self, outputs: Floats) -> Floats:
        """Return the one value that is forecast: what is fed back, and ranges lie around."""
        return outputs

    def to_points(self, y_pred: Float32Array) -> Float32Array:
        """Return the one value that is forecast of outputs or, as they are, points.

        Points are (n, pred_len, n_targets); outputs have the axes of `outputs` behind these.
        """
        return y_pred if y_pred.ndim == 3 else self.point(y_pred)

    def to_units(
        self, outputs: Float64Array, scaler: Scaler, series: IntArray
    ) -> Float64Array:
        """Put outputs of rows of these series, (n, n_targets, *outputs), into the truth's units."""
        return scaler.inverse_with_smearing(outputs, series)

    def score(
        self, truth: Float64Array, forecast: Float64Array, weight: Float64Array | None
    ) -> float:
        """Score forecasts, (n, n_targets), of rows whose truth is known; higher is better.

        It is R², both in the truth's units.
        """
        return float(r2_score(truth, forecast, sample_weight=weight))


@dataclass(frozen=True)
class PointHead(Head):
    """One value, for which `loss` is lowest: mean, median, what lies between, or a quantile."""

    loss: str | float

    @property
    def allows_ridges(self) -> bool:
        """Whether ridges forecast the same thing, a point: no quantile can fall back to these."""
        return isinstance(self.loss, str)

    @property
    def of_mean(self) -> bool:
        """Return whether the forecast is a mean; Huber's is close to a median."""
        return self.loss == "mse"

    def error(self, outputs: Tensor, truth: Tensor) -> Tensor:
        """Return the error of each output, (batch, pred_len, n_targets), in standardised units."""
        if isinstance(self.loss, str):
            return losses.LOSSES[self.loss](outputs, truth)
        return losses.quantile_error(outputs[..., None], truth, levels=[self.loss])


@dataclass(frozen=True)
class QuantileHead(Head):
    """Several quantiles: the network forecasts each, and the median if it is none of them.

    levels: ascending, in (0, 1).

    All who share a forecast share the median. How far the network's quantiles lie from its median
    is one of the things that the size of errors may go by, see `features_of` in
    `intervals/features.py`: calibrated ranges, which never cross, are wide where the network is
    unsure, as far as that proves right.
    """

    levels: tuple[float, ...]

    @property
    def learnt_levels(self) -> tuple[float, ...]:
        """The levels, and the median."""
        return tuple(sorted({*self.levels, 0.5}))

    @property
    def outputs(self) -> tuple[int, ...]:
        """Number of quantiles that the network forecasts."""
        return (len(self.learnt_levels),)

    @property
    def median_index(self) -> int:
        """Place of the median."""
        return self.learnt_levels.index(0.5)

    @property
    def level(self) -> float:
        """The level that is nearest to the median, the lower one of two."""
        return min(self.levels, key=lambda level: round(abs(level - 0.5), 12))

    def error(self, outputs: Tensor, truth: Tensor) -> Tensor:
        """Return the mean quantile loss of all levels, (batch, pred_len, n_targets).

        Outputs, (batch, pred_len, n_targets, n_outputs), are standardised.
        """
        return losses.quantile_error(outputs, truth, levels=self.learnt_levels)

    def point_error(self, points: Tensor, truth: Tensor) -> Tensor:
        """Return the absolute error of each median, (…, n_targets)."""
        return losses.absolute_error(points, truth)

    def point(self, outputs: Floats) -> Floats:
        """Return the median, (…, n_targets), of quantiles, (…, n_targets, n_outputs)."""
        return outputs[..., self.median_index]

    def to_units(
        self, outputs: Float64Array, scaler: Scaler, series: IntArray
    ) -> Float64Array:
        """Undo the standardisation of quantiles, (n, n_targets, n_outputs), each of its series."""
        quantiles = np.empty(outputs.shape)
        for i in range(outputs.shape[-1]):
            quantiles[..., i] = scaler.inverse_with_smearing(outputs[..., i], series)
        return quantiles


@dataclass(frozen=True)
class ClassHead(Head):
    """Logits: one for each class of each target, which all count as columns that are forecast.

    sizes: number of classes of each target.
    label_smoothing: probability that the truth leaves to the other classes.
    z_loss: weight of the squared logarithm of the sum of exponentials of logits.

    What is fed back are probabilities. The likeliest class would throw away what the forecast knows
    of the others, and a run of likeliest classes soon never changes (notes/decisions.md).
    """

    sizes: tuple[int, ...]
    label_smoothing: float
    z_loss: float

    in_units: ClassVar[bool] = False
    allows_ridges: ClassVar[bool] = False

    @property
    def groups(self) -> list[slice]:
        """The columns of each target."""
        return [slice(*ends) for ends in pairwise(np.cumsum([0, *self.sizes]))]

    def error(self, outputs: Tensor, truth: Tensor) -> Tensor:
        """Return the cross-entropy of each target on all its columns, (batch, pred_len, n_columns).

        It is such that the mean over columns is the mean over targets.
        """
        share = sum(self.sizes) / len(self.sizes)
        errors = []
        for group in self.groups:
            came = truth[..., group].argmax(dim=-1)
            n_classes = group.stop - group.start
            error = losses.cross_entropy(
                outputs[..., group],
                came,
                label_smoothing=self.label_smoothing,
                z_weight=self.z_loss,
            )
            error = error * (share / n_classes)
            errors.append(error[..., None].expand(*error.shape, n_classes))
        return torch.cat(errors, dim=-1)

    def point(self, outputs: Floats) -> Floats:
        """Return the probabilities of logits, (…, n_columns), of sum 1 for each target."""
        out = np.empty_like(outputs)
        for group in self.groups:
            logits = outputs[..., group]
            powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
            out[..., group] = powers / powers.sum(axis=-1, keepdims=True)
        return out

    def to_units(
        self,
        outputs: Float64Array,
        scaler: Scaler,  # noqa: ARG002
        series: IntArray,  # noqa: ARG002
    ) -> Float64Array:
        """Return the probabilities of logits: classes have no scale."""
        return self.point(outputs)

    def likeliest(self, probabilities: Float64Array) -> Float64Array:
        """Return the code of each target's likeliest class, (n, n_targets); of equals the first."""
        codes = [probabilities[..., group].argmax(axis=-1) for group in self.groups]
        return np.stack(codes, axis=-1).astype(np.float64)

    def score(
        self, truth: Float64Array, forecast: Float64Array, weight: Float64Array | None
    ) -> float:
        """Return the share of rows whose codes are all right; no truth is missing."""
        right = (truth == forecast).all(axis=1)
        return float(np.average(right, weights=weight))
