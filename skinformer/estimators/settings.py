"""Parameters of an estimator, checked against one another and resolved once, at a fit's start."""

from typing import Any, Literal

import torch
from sklearn.base import is_classifier

from skinformer.ensemble.head import ClassHead, Head
from skinformer.ensemble.history_forecaster import HistoryForecaster, named_forecasters
from skinformer.ensemble.members import CLASS_NAMES, NAMES
from skinformer.ensemble.names import NETWORK, RIDGES, TREES
from skinformer.ensemble.settings import FitSettings
from skinformer.estimators.parameters import Parameters
from skinformer.estimators.parts import (
    PARTS,
    Attention,
    Block,
    MemorySaving,
    Network,
    Training,
)
from skinformer.model.patches import n_patches
from skinformer.model.settings import NetworkSettings
from skinformer.training.precision import has_cuda, resolve_precision
from skinformer.training.record import TrainerSettings
from skinformer.validation.forecasters import is_forecaster
from skinformer.validation.parameters import (
    check_each,
    check_losses_of_classes,
    check_members,
    check_network,
    check_training,
    raise_no_network,
)

#: Parameters that change nothing but what the network forecasts.
_OF_THE_NETWORK_ALONE = (
    "label_len",
    "patch_len",
    "d_model",
    "n_heads",
    "n_encoder_layers",
    "n_decoder_layers",
    "d_ff",
    "attention",
    "block",
    "position",
    "distil",
    "dropout",
    "optimizer",
    "learning_rate",
    "weight_decay",
)


def read_settings(estimator: Parameters, head: Head, *, requested: str) -> FitSettings:
    """Check parameters, each valid by itself, against one another, and resolve them.

    head: what the outputs of the network mean.
    requested: device; "auto", or one of torch's.
    """
    check_each(estimator)
    network = Network.of(estimator.network)
    check_network(network, estimator.seq_len)
    training = Training.of(estimator.training)
    memory = MemorySaving.of(training.memory_saving)
    micro = int(memory.micro_batch_size or training.batch_size)
    check_training(training, micro, estimator.random_state)
    if not isinstance(head, ClassHead):
        check_losses_of_classes(training)
    members, forecasters = _resolve_members(estimator, head)
    device = resolve_device(requested)
    seq_len = int(estimator.seq_len)  # may be a number of NumPy
    patch_len = resolve_patch_len(network.patch_len, seq_len=seq_len)
    n_tokens = n_patches(seq_len, patch_len)
    label_len = network.label_len
    return FitSettings(
        head=head,
        network=_network(
            network,
            n_tokens=n_tokens,
            classifies=isinstance(head, ClassHead),
            gradient_checkpointing=memory.gradient_checkpointing,
            device=device,
        ),
        trainer=_trainer(
            training,
            head,
            micro,
            corrects=RIDGES in members,
            d_model=network.d_model,
            device=device,
        ),
        seq_len=seq_len,
        label_len=None if label_len is None else int(label_len),
        pred_len=int(estimator.pred_len),
        patch_len=patch_len,
        calendar=estimator.calendar,
        seasons=_as_seasons(estimator.season),
        embeddings=tuple(network.embeddings),
        members=members,
        forecasters=forecasters,
        target_transform=estimator.target_transform,
        early_stopping=as_stopping(estimator.early_stopping),
        validation_fraction=float(estimator.validation_fraction),
        batch_size=micro,
        max_windows=training.max_windows,
        checkpoint=training.checkpoint,
        device=device,
    )


def _resolve_members(
    estimator: Parameters, head: Head
) -> tuple[dict[str, Any], tuple[HistoryForecaster, ...]]:
    """Return the members that forecast what a head does, by name, and the user's forecasters."""
    classifies = isinstance(head, ClassHead)
    members = members_of(estimator.members, classifies=classifies)
    if classifies or head.allows_ridges:
        forecasters = forecasters_of(estimator.members)
        return members, named_forecasters(forecasters, (*NAMES, *CLASS_NAMES))
    if NETWORK not in members:
        raise_no_network(estimator.members)
    # Ridges know no outputs but values.
    others = [NETWORK, RIDGES] if head.in_units else [NETWORK]
    return {name: members[name] for name in others if name in members}, ()


def non_default_network_params(model: Parameters) -> list[str]:
    """Name the parameters of a wanted network, and of how it learns, that the user has changed."""
    if NETWORK not in members_of(model.members, classifies=is_classifier(model)):
        return []
    changed = []
    for part, kind in PARTS.items():
        given = kind.of(getattr(model, part)).get_params(deep=False)
        for name, value in given.items():
            if name in _OF_THE_NETWORK_ALONE and value != getattr(kind, name):
                changed.append(f"{part}__{name}")
    return changed


def members_of(members: Any, *, classifies: bool) -> dict[str, Any]:
    """Return members by name; an estimator of the user's, in place of "auto", is that of trees.

    Forecasters of the user's are not among them, see `forecasters_of`.
    """
    names = CLASS_NAMES if classifies else NAMES
    check_members(members, names=names, classifies=classifies)
    if isinstance(members, str):
        return dict.fromkeys(names, "auto")
    found = {}
    for member in members:
        if isinstance(member, str):
            found[member] = "auto"
        elif not is_forecaster(member):
            found[TREES] = member
    return found


def forecasters_of(members: Any) -> list[Any]:
    """Return the forecasters that a user brought among members."""
    if isinstance(members, str):
        return []
    return [member for member in members if is_forecaster(member)]


def as_stopping(early_stopping: bool | Literal["auto"]) -> bool | Literal["auto"]:
    """Return Python's own True and False, also where a search passes NumPy's."""
    return "auto" if early_stopping == "auto" else bool(early_stopping)


def _as_seasons(season: int | list[int] | tuple[int, ...] | None) -> tuple[int, ...]:
    """Return the seasons that are named, ascending, each once."""
    if season is None:
        return ()
    several = season if isinstance(season, list | tuple) else [season]
    return tuple(sorted({int(n_rows) for n_rows in several}))


def _network(
    network: Network,
    *,
    n_tokens: int,
    classifies: bool,
    gradient_checkpointing: bool,
    device: torch.device,
) -> NetworkSettings:
    attention = Attention.of(network.attention)
    block = Block.of(network.block)
    norm = block.norm
    d_model = int(network.d_model)
    d_ff = network.d_ff
    window_norm = network.window_norm
    return NetworkSettings(
        d_model=d_model,
        n_heads=int(network.n_heads),
        n_encoder_layers=network.n_encoder_layers,
        n_decoder_layers=network.n_decoder_layers,
        d_ff=4 * d_model if d_ff is None else int(d_ff),
        dropout=float(network.dropout),
        activation=block.activation,
        norm="zc_rms" if norm == "zc_rms" else "layer",
        norm_first=norm != "post_layer",
        attention=resolve_attention(
            attention.encoder, n_tokens=n_tokens, device=device
        ),
        decoder_attention=attention.decoder,
        factor=float(attention.factor),
        qk_norm=block.qk_norm,
        output_gate=block.output_gate,
        distil=network.distil,
        bias=norm != "zc_rms",
        position=network.position,
        mask_embedding="mask" in network.embeddings,
        window_norm=not classifies if window_norm is None else bool(window_norm),
        init=block.init,
        gradient_checkpointing=gradient_checkpointing,
    )


def _trainer(
    training: Training,
    head: Head,
    micro: int,
    *,
    corrects: bool,
    d_model: int,
    device: torch.device,
) -> TrainerSettings:
    learning_rate = float(training.learning_rate)
    return TrainerSettings(
        max_iter=resolve_max_iter(training.max_iter, corrects=corrects),
        n_iter_no_change=training.n_iter_no_change,
        tol=1e-4,  # in standardised units
        learning_rate=learning_rate,
        # The BF16 recipe peaks at 0.02 for Muon beside 3e-4 for AdamW.
        muon_learning_rate=0.02 / 3e-4 * learning_rate,
        weight_decay=float(training.weight_decay),
        optimizer=training.optimizer,
        # Both sources: steps with a rising rate, 2000 at most, and the norm of gradients.
        warmup_fraction=0.05,
        max_grad_norm=1.0,
        accumulate=training.batch_size // micro,
        precision=resolve_precision(training.precision, device=device, d_model=d_model),
        loss=head.error,
    )


def resolve_max_iter(max_iter: int | None, *, corrects: bool) -> int:
    """Return the most epochs: fewer where the network corrects ridges, whose rate falls sooner.

    After ten its weights were those of the first, before the rate had fallen.
    """
    if max_iter is not None:
        return int(max_iter)
    return 5 if corrects else 10


def resolve_patch_len(patch_len: int | None, *, seq_len: int) -> int:
    """Decide how many steps make a token.

    None takes what leaves 24 tokens, or more where a patch would be longer than 12 steps.
    """
    if patch_len is not None:
        return int(patch_len)
    return min(max(seq_len // 24, 1), 12)


def resolve_attention(attention: str, *, n_tokens: int, device: torch.device) -> str:
    """Take the attention that is faster at this length on "auto"; the dense one is exact.

    On a CPU ProbSparse takes 7.6 against 9.4 ms at 96 steps, 10.2 against 18.9 at 144. CUDA's fused
    kernels carry dense attention further: on an H100 steps of 1024 tokens take 3 to 5% longer with
    ProbSparse, of 2048 tokens 2 to 14% less, of 8192 30 to 45% less.
    """
    if attention != "auto":
        return attention
    sparse_from = 96 if device.type == "cpu" else 2048
    return "probsparse" if n_tokens >= sparse_from else "dense"


def resolve_device(device: str) -> torch.device:
    """Take CUDA where torch finds it, else the CPU, on "auto"."""
    if device != "auto":
        return torch.device(device)
    return torch.device("cuda" if has_cuda() else "cpu")
