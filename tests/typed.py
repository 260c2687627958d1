"""Lines that a type checker has to accept, and to refuse; read by mypy, never run.

A line that mypy stops refusing has an ignore too many, which strict mode reports.
"""

import pandas as pd

from skinformer import InformerRegressor

df = pd.DataFrame()
model = InformerRegressor(seq_len=96, pred_len=24).fit(df)
forecast: pd.DataFrame = model.forecast()
score: float = model.update(df).score(df)
curve: list[float] = model.loss_curve_
scores: list[float] | None = model.validation_scores_
columns: int = model.n_features_in_
trust: float = model.trust_

model.forecats()  # type: ignore[attr-defined]
InformerRegressor().fit(df).predcit(df)  # type: ignore[attr-defined]
repr(model.best_los_)  # type: ignore[attr-defined]
repr(model.dmodel)  # type: ignore[attr-defined]
repr(model.sizes_.predlen)  # type: ignore[attr-defined]
repr(model.head_.scor)  # type: ignore[attr-defined]
InformerRegressor(seqlen=3)  # type: ignore[call-arg]
