"""MAPIE: split conformal intervals around an InformerRegressor.

MAPIE calls `predict` with arrays, which have no times. `FrozenRows` is a regressor whose only
feature is the number of a row; it forecasts all rows in one call and looks the forecasts up.
`predict_interval` needs no such class, and its width depends on the step ahead, the season and the
volatility (docs/other_intervals.md).
"""

# %%
import numpy as np
from mapie.regression import SplitConformalRegressor
from sklearn.base import BaseEstimator, RegressorMixin

from skinformer import InformerRegressor, Training
from skinformer.datasets import load_auckland_pedestrians
from skinformer.evaluation import interval_coverage, winkler_score


class FrozenRows(RegressorMixin, BaseEstimator):
    """A fitted model over the rows of one frame, asked by their numbers."""

    def __init__(self, model, rows):
        self.model = model
        self.rows = rows

    def fit(self, X, y=None):
        """Forecast all rows at once: each block from the rows before it."""
        self.forecasts_ = self.model.predict(self.rows)
        self.n_features_in_ = 1
        return self

    def predict(self, X):
        """Look the forecasts up."""
        return self.forecasts_[np.asarray(X)[:, 0].astype(int)]


# %% Train, calibrate on what follows directly, test on what follows that.
target = "45 Queen Street"
counts = load_auckland_pedestrians()[[target]][13000:15000]
train = counts[:1328]
later = counts[1328:]
model = InformerRegressor(
    target,
    seq_len=168,
    pred_len=24,
    members=["ridges", "network"],
    random_state=0,
    training=Training(max_iter=1, max_windows=300),
).fit(train)

numbers = np.arange(len(later))[:, None]
truth = later[target].to_numpy()
calibration = slice(0, 336)
test = slice(336, 672)
frozen = FrozenRows(model, later).fit(numbers)
split = SplitConformalRegressor(frozen, confidence_level=0.8, prefit=True)
split.conformalize(numbers[calibration], truth[calibration])
_, interval = split.predict_interval(numbers[test])

# %% Beside the intervals that every fit has.
own = model.predict_interval(later, coverage=0.8)[test]
for name, bounds in {"MAPIE": interval[:, :, 0], "predict_interval": own}.items():
    covered = interval_coverage(truth[test], bounds)
    score = winkler_score(truth[test], bounds, coverage=0.8)
    print(f"{name}: covers {covered:.2f}, Winkler {score:.0f}")
