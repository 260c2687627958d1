"""From parameters and sizes to the torch module and the trainer's settings."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch

from skinformer import validation
from skinformer.estimators.state import FittedState, Parameters
from skinformer.model.corrected import Corrected
from skinformer.model.informer import Informer
from skinformer.model.linear_path import LinearPath
from skinformer.timeline.calendar import FIELDS, choose_fields
from skinformer.timeline.timeline import Timeline
from skinformer.training.losses import level_error
from skinformer.training.record import TrainerSettings

__all__ = [
    "ModelSizes",
    "build_module",
    "model_sizes",
    "resolve_attention",
    "resolve_device",
    "resolve_patch_len",
    "trainer_settings",
]


#: Both sources clip gradients at this norm.
_MAX_GRADIENT_NORM = 1.0
#: What both sources prescribe; the trainer has others.
_SCHEDULE = "cosine"
#: Share of the steps with a rising rate; the trainer caps it at 2000 steps.
_WARMUP = 0.05
#: The training configuration peaks at 0.02 for Muon beside 3e-4 for AdamW.
_MUON_RATIO = 0.02 / 3e-4
#: Improvement of the validation loss that counts, in standardised units.
_TOLERANCE = 1e-4
#: Length from which "auto" takes ProbSparse: on a CPU it is then the faster one (7.6 against
#: 9.4 ms at 96 steps, 10.2 against 18.9 at 144). CUDA's fused kernels carry dense attention
#: further; its number is a guess until one is measured.
_SPARSE_FROM = {"cpu": 96, "cuda": 4096}

#: Tokens that "auto" patches leave, and the longest patch.
_TOKENS, _LONGEST_PATCH = 24, 12


class ModelSizes(NamedTuple):
    """What the data, not the user, decides about the module; no series: no embedding of them."""

    n_targets: int
    n_past: int
    n_known: int
    n_static: int
    n_series: int
    calendar_fields: tuple[str, ...]
    seq_len: int
    pred_len: int
    patch_len: int
    mean_step: float | None = None
    """Mean length of a step, where positions are continuous in time."""
    may_miss: bool = False
    """Whether covariates may be NaN, which a learnt vector then stands for."""

    @property
    def decoder_patch_len(self) -> int:
        """
        Decide how many steps make a token of the decoder.

        Returns
        -------
        int
            1 where columns known ahead vary: all values of a token reach all its forecasts, which
            would depend on values of later steps, and on whether these were given at all.
        """
        return 1 if self.n_known > self.n_static else self.patch_len


def model_sizes(estimator: Parameters, roles: Any, timeline: Timeline) -> ModelSizes:
    """
    Read the module's sizes off the data.

    Parameters
    ----------
    estimator : InformerRegressor
        Its ``calendar``, ``seq_len`` and ``pred_len``.
    roles : Roles
        What each column is.
    timeline : Timeline
        The training rows.

    Returns
    -------
    ModelSizes
        Numbers of columns and steps, and the calendar fields.
    """
    fields: tuple[str, ...] = ()
    if timeline.clock.dated and estimator.calendar is not None:
        chosen = estimator.calendar
        fields = choose_fields(timeline.labels) if chosen == "auto" else tuple(chosen)
    return ModelSizes(
        n_targets=len(roles.targets),
        n_past=len(roles.past),
        n_known=len(roles.known),
        n_static=len(roles.static),
        n_series=_n_embedded(estimator.embeddings, timeline.n_series),
        calendar_fields=fields,
        seq_len=int(estimator.seq_len),
        pred_len=int(estimator.pred_len),
        patch_len=resolve_patch_len(estimator.patch_len, seq_len=estimator.seq_len),
        mean_step=_mean_step(timeline) if estimator.position == "continuous" else None,
        may_miss="missing" in estimator.embeddings,
    )


def _n_embedded(embeddings: Any, n_series: int) -> int:
    """Count the series that get a vector; one alone would be one more bias."""
    if "series" not in embeddings:
        return 0
    if n_series == 1:
        validation.warn_of_one_series(embeddings)
        return 0
    return n_series


def _mean_step(timeline: Timeline) -> float:
    ends = np.array([timeline.first_step.min(), timeline.end_step.max() - 1])
    elapsed = timeline.clock.elapsed(ends)
    return float(elapsed[1] - elapsed[0]) / max(1, int(ends[1] - ends[0]))


def build_module(
    estimator: FittedState, sizes: ModelSizes, *, path: LinearPath | None, seed: int
) -> Informer | Corrected:
    """
    Build the network with newly drawn weights, and what it corrects.

    Parameters
    ----------
    estimator : InformerRegressor
        Its model parameters.
    sizes : ModelSizes
        What the data decides.
    path : LinearPath or None
        What the network corrects.
    seed : int
        Seed of weights, dropout and key sampling.

    Returns
    -------
    Informer or Corrected
        In training mode, on the CPU.
    """
    label_len = estimator.label_len
    if label_len is None:  # whole patches, so that none has to be filled up
        half = sizes.seq_len // 2
        label_len = half - half % sizes.decoder_patch_len
    fields = [FIELDS[name].size for name in sizes.calendar_fields]
    if sizes.n_series:  # a series is one more category of each step; the last stands for others
        fields.append(sizes.n_series + 1)
    network = Informer(
        n_targets=sizes.n_targets,
        n_past=sizes.n_past,
        n_known=sizes.n_known,
        calendar_sizes=tuple(fields),
        seq_len=sizes.seq_len,
        label_len=int(label_len),
        pred_len=sizes.pred_len,
        patch_len=sizes.patch_len,
        decoder_patch_len=sizes.decoder_patch_len,
        forecasts_distance=path is not None,
        d_model=estimator.d_model,
        n_heads=estimator.n_heads,
        n_encoder_layers=estimator.n_encoder_layers,
        n_decoder_layers=estimator.n_decoder_layers,
        d_ff=4 * estimator.d_model if estimator.d_ff is None else estimator.d_ff,
        dropout=estimator.dropout,
        activation=estimator.activation,
        norm="zc_rms" if estimator.norm == "zc_rms" else "layer",
        norm_first=estimator.norm != "post_layer",
        attention=estimator.attention_,
        decoder_attention=estimator.decoder_attention,
        factor=estimator.factor,
        qk_norm=estimator.qk_norm,
        output_gate=estimator.output_gate,
        distil=estimator.distil,
        bias=estimator.norm != "zc_rms",
        position=estimator.position,
        mask_embedding="mask" in estimator.embeddings,
        null_embedding=sizes.may_miss,
        window_norm=estimator.window_norm,
        init=estimator.init,
        gradient_checkpointing=estimator.gradient_checkpointing,
        seed=seed,
    )
    return network if path is None else Corrected(path, network)


def trainer_settings(estimator: FittedState) -> TrainerSettings:
    """
    Collect what the trainer is told.

    Parameters
    ----------
    estimator : InformerRegressor
        Its trainer parameters.

    Returns
    -------
    TrainerSettings
        Every value resolved.
    """
    micro = estimator.micro_batch_size or estimator.batch_size
    loss = estimator.loss
    return TrainerSettings(
        max_iter=estimator.max_iter,
        n_iter_no_change=estimator.n_iter_no_change,
        tol=_TOLERANCE,
        learning_rate=estimator.learning_rate,
        muon_learning_rate=_MUON_RATIO * estimator.learning_rate,
        weight_decay=estimator.weight_decay,
        optimizer=estimator.optimizer,
        schedule=_SCHEDULE,
        warmup_fraction=_WARMUP,
        max_grad_norm=_MAX_GRADIENT_NORM,
        accumulate=estimator.batch_size // micro,
        precision=estimator.precision_,
        loss=loss if isinstance(loss, str) else level_error(level=loss),
    )


def resolve_patch_len(patch_len: int | None, *, seq_len: int) -> int:
    """
    Decide how many steps make a token.

    Parameters
    ----------
    patch_len : int or None
        What the user asked for.
    seq_len : int
        Steps of the encoder's window.

    Returns
    -------
    int
        For None what leaves 24 tokens, or more where a patch would be longer than 12 steps.
    """
    if patch_len is not None:
        return int(patch_len)
    return min(max(seq_len // _TOKENS, 1), _LONGEST_PATCH)


def resolve_attention(attention: str, *, n_tokens: int, device: torch.device) -> str:
    """
    Decide how the encoder attends.

    Parameters
    ----------
    attention : {"auto", "probsparse", "dense"}
        What the user asked for.
    n_tokens : int
        Length of the encoder's input.
    device : torch.device
        Where the network runs.

    Returns
    -------
    {"probsparse", "dense"}
        For "auto" the one that is faster at this length; dense attention is the exact one.
    """
    if attention != "auto":
        return attention
    return "probsparse" if n_tokens >= _SPARSE_FROM.get(device.type, 4096) else "dense"


def resolve_device(device: str) -> torch.device:
    """
    Decide where the network runs.

    Parameters
    ----------
    device : str
        ``"auto"`` is CUDA if torch finds it, else the CPU; anything else is torch's own name.

    Returns
    -------
    torch.device
        The device.
    """
    if device != "auto":
        return torch.device(device)
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
