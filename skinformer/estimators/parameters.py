"""The constructors' parameters, by name, type and default.

scikit-learn stores parameters as they came and says nothing of their types. Declared here, a
misspelt name is found by the type checker wherever an estimator is passed on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skinformer.estimators.parts import Network, Training


@dataclass(kw_only=True, eq=False, repr=False)
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
    time: Any = None
    series: Any = None
    freq: Any = None
    season: int | list[int] | tuple[int, ...] | None = None
    calendar: Any = "auto"
    target_transform: Any = field(init=False)
    members: str | list[Any] | tuple[Any, ...] = "auto"
    network: Network | None = None
    training: Training | None = None
    early_stopping: Any = "auto"
    validation_fraction: float = 0.1
    max_seconds: float | None = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: Any = 0

    if TYPE_CHECKING:

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """Return them by name."""
