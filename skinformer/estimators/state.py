"""What an estimator carries, by name and type: its parameters, and what `fit` leaves.

scikit-learn stores parameters as they came and says nothing of their types. Declared here, a
misspelt name is found by the type checker wherever an estimator is passed on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pandas as pd

    from skinformer.estimators.building import ModelSizes
    from skinformer.estimators.head import Head
    from skinformer.estimators.parts import Attention, Block, MemorySaving
    from skinformer.estimators.simple_path import SimplePath
    from skinformer.model.corrected import Corrected
    from skinformer.model.informer import Informer
    from skinformer.timeline.roles import Roles
    from skinformer.timeline.scaling import Scaler
    from skinformer.timeline.timeline import Timeline

__all__ = ["FittedState", "Parameters"]


class Parameters:
    """The constructor's parameters, valid in a fit; `InformerRegressor` tells each."""

    target: Any
    seq_len: int
    pred_len: int
    known_future: list[Any] | None
    loss: str | float
    max_iter: int
    freq: Any
    calendar: Literal["auto"] | list[str] | None
    embeddings: Sequence[str]
    linear_path: bool
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


class FittedState(Parameters):
    """Parameters, and what `fit` found; `InformerRegressor` tells each."""

    n_features_in_: int
    feature_names_in_: Any
    series_: pd.Index | None
    roles_: Roles
    scaler_: Scaler
    timeline_: Timeline
    sizes_: ModelSizes
    device_: str
    attention_: str
    precision_: str
    module_: Informer | Corrected
    head_: Head
    simple_path_: SimplePath | None
    trust_: float
    linear_blend_: dict[str, float]
    history_: pd.DataFrame
    loss_curve_: list[float]
    validation_scores_: list[float] | None
    n_iter_: int
    best_loss_: float
    _training_digest_: bytes
