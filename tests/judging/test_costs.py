"""What parts of a fit are expected to cost, which a limit of seconds is planned by."""

import numpy as np

from skinformer import InformerRegressor
from skinformer.ensemble.head import PointHead
from skinformer.ensemble.names import RIDGES
from skinformer.estimators.settings import read_settings
from skinformer.judging.costs import fit_costs
from skinformer.timeline.clock import RowClock
from skinformer.timeline.timeline import Table


def cost_of_ridges(pred_len, n_targets=7, n_rows=15_000):
    """Return the seconds of all windows of a table."""
    columns = list(np.zeros((n_targets, n_rows), dtype=np.float32))
    none = np.zeros(n_rows, dtype=np.int64)
    table = Table(columns, n_targets, none, np.arange(n_rows), RowClock())
    model = InformerRegressor(seq_len=336, pred_len=pred_len)
    settings = read_settings(model, PointHead("mse"), requested="cpu")
    return fit_costs(settings, table, 0)[RIDGES].at(1.0)


def test_the_comparison_of_ridges_is_dear_at_long_horizons():
    """Fits of such a table took 6.9, 9.3 and 25 s: products of windows alone grow far less."""
    of_day, of_days, of_weeks = map(cost_of_ridges, (24, 96, 480))
    assert 1.2 < of_days / of_day < 2
    assert 3 < of_weeks / of_day < 6
