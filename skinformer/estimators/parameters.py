"""The constructors' parameters, by name, type and default.

scikit-learn stores parameters as they came and says nothing of their types. Declared here, a
misspelt name is found by the type checker wherever an estimator is passed on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skinformer.estimators.parts import Attention, Block, MemorySaving


@dataclass(
    kw_only=True,
    eq=False,
    repr=False,
)
class Parameters:
    """The constructor's parameters, valid in a fit; `InformerRegressor` describes each.

    What has no default here is a parameter of one estimator alone, which declares it with one; its
    place is that in the constructor.
    """

    target: Any = field(default=None, kw_only=False)
    seq_len: int = 96
    pred_len: int = 24
    known_future: str | list[Any] | tuple[Any, ...] | None = None
    loss: Any = field(init=False)
    class_weight: Any = field(init=False)
    max_iter: int | None = None
    freq: Any = None
    season: int | list[int] | tuple[int, ...] | None = None
    calendar: Any = "auto"
    embeddings: Any = ()
    target_transform: Any = field(init=False)
    label_smoothing: float = field(init=False)
    z_loss: float = field(init=False)
    members: str | list[Any] | tuple[Any, ...] = "auto"
    window_norm: bool = True
    label_len: int | None = None
    patch_len: int | None = None
    d_model: int = 32
    n_heads: int = 4
    n_encoder_layers: int = 2
    n_decoder_layers: int = 1
    d_ff: int | None = None
    attention: str | Attention = "auto"
    block: str | Block = "plain"
    position: str = "sinusoidal"
    distil: bool = True
    dropout: float = 0.2
    max_windows: int | None = 10_000
    optimizer: str = "adamw"
    learning_rate: float = 2e-3
    weight_decay: float = 0.01
    batch_size: int = 64
    memory_saving: MemorySaving | None = None
    precision: str = "auto"
    early_stopping: Any = "auto"
    validation_fraction: float = 0.1
    n_iter_no_change: int = 3
    checkpoint: Any = None
    warm_start: bool = False
    device: str = "auto"
    random_state: Any = None
    verbose: Any = 0

    if TYPE_CHECKING:

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """Return them by name."""
