"""Lines that a type checker has to accept, and to refuse; read by mypy, never run.

A line that mypy stops refusing has an ignore too many, which strict mode reports.
"""

import pandas as pd

from skinformer import InformerRegressor


def accepted(df: pd.DataFrame) -> None:
    """Use what there is."""
    model = InformerRegressor(seq_len=96, pred_len=24).fit(df)
    forecast: pd.DataFrame = model.forecast()
    score: float = model.update(forecast).score(df)
    curve: list[float] = model.loss_curve_
    scores: list[float] | None = model.validation_scores_
    n_columns: int = model.n_features_in_
    repr((score, curve, scores, n_columns, model.leaderboard()))


def refused(df: pd.DataFrame) -> None:
    """Misspell it."""
    model = InformerRegressor().fit(df)
    model.forecats()  # type: ignore[attr-defined]
    InformerRegressor().fit(df).predcit(df)  # type: ignore[attr-defined]
    repr(model.best_los_)  # type: ignore[attr-defined]
    repr(model.dmodel)  # type: ignore[attr-defined]
    repr(model.sizes_.predlen)  # type: ignore[attr-defined]
    repr(model.head_.scor)  # type: ignore[attr-defined]
    InformerRegressor(seqlen=3)  # type: ignore[call-arg]
