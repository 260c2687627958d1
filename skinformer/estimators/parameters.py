"""The constructor's parameters, by name and type.

scikit-learn stores parameters as they came and says nothing of their types. Declared here, a
misspelt name is found by the type checker wherever an estimator is passed on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from skinformer.estimators.parts import Attention, Block, MemorySaving


class Parameters:
    """The constructor's parameters, valid in a fit; `InformerRegressor` tells each."""

    target: Any
    seq_len: int
    pred_len: int
    known_future: str | list[Any] | None
    loss: str | float | Sequence[float]
    max_iter: int | None
    freq: Any
    calendar: Literal["auto"] | list[str] | None
    embeddings: Sequence[str]
    target_transform: Any
    members: str | list[Any]
    window_norm: bool
    label_len: int | None
    patch_len: int | None
    d_model: int
    n_heads: int
    n_encoder_layers: int
    n_decoder_layers: int
    d_ff: int | None
    attention: str | Attention
    block: str | Block
    position: str
    distil: bool
    dropout: float
    max_windows: int | None
    optimizer: str
    learning_rate: float
    weight_decay: float
    batch_size: int
    memory_saving: MemorySaving | None
    precision: str
    early_stopping: bool | Literal["auto"]
    validation_fraction: float
    n_iter_no_change: int
    checkpoint: Any
    warm_start: bool
    device: str
    random_state: Any
    verbose: int | bool

    if TYPE_CHECKING:

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """Give them by name."""
