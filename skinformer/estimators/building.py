"""From parameters and sizes to the torch module and the trainer's settings."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from skinformer.model.informer import Informer
from skinformer.timeline.calendar import FIELDS, choose_fields
from skinformer.timeline.timeline import Timeline
from skinformer.training.record import TrainerSettings

__all__ = ["ModelSizes", "build_module", "model_sizes", "resolve_device", "trainer_settings"]


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


def model_sizes(estimator: Any, roles: Any, timeline: Timeline) -> ModelSizes:
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
        n_series=timeline.n_series if estimator.series_embedding else 0,
        calendar_fields=fields,
        seq_len=int(estimator.seq_len),
        pred_len=int(estimator.pred_len),
    )


def build_module(estimator: Any, sizes: ModelSizes, *, seed: int) -> Informer:
    """
    Build the network with newly drawn weights.

    Parameters
    ----------
    estimator : InformerRegressor
        Its model parameters.
    sizes : ModelSizes
        What the data decides.
    seed : int
        Seed of the key sampling; the weights are drawn from torch's global generator.

    Returns
    -------
    Informer
        In training mode, on the CPU.
    """
    label_len = sizes.seq_len // 2 if estimator.label_len is None else estimator.label_len
    fields = [FIELDS[name].size for name in sizes.calendar_fields]
    if sizes.n_series:  # a series is one more category of each step; the last stands for others
        fields.append(sizes.n_series + 1)
    return Informer(
        n_targets=sizes.n_targets,
        n_past=sizes.n_past,
        n_known=sizes.n_known,
        calendar_sizes=tuple(fields),
        seq_len=sizes.seq_len,
        label_len=int(label_len),
        pred_len=sizes.pred_len,
        d_model=estimator.d_model,
        n_heads=estimator.n_heads,
        n_encoder_layers=estimator.n_encoder_layers,
        n_decoder_layers=estimator.n_decoder_layers,
        d_ff=4 * estimator.d_model if estimator.d_ff is None else estimator.d_ff,
        dropout=estimator.dropout,
        activation="gelu",
        norm="layer",
        norm_first=True,
        attention="probsparse",
        decoder_attention="dense",
        factor=estimator.factor,
        qk_norm=False,
        output_gate=False,
        distil=estimator.distil,
        bias=True,
        position="sinusoidal",
        mask_embedding=False,
        null_embedding=estimator.null_embedding,
        window_norm=estimator.window_norm,
        init="xavier",
        seed=seed,
    )


def trainer_settings(estimator: Any) -> TrainerSettings:
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
    return TrainerSettings(
        max_iter=estimator.max_iter,
        n_iter_no_change=estimator.n_iter_no_change,
        tol=estimator.tol,
        learning_rate=estimator.learning_rate,
        muon_learning_rate=estimator.learning_rate,
        weight_decay=estimator.weight_decay,
        optimizer="adamw",
        schedule="cosine",
        warmup_fraction=estimator.warmup_fraction,
        max_grad_norm=estimator.max_grad_norm,
        accumulate=1,
        precision="fp32",
        loss="mse",
    )


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
