"""What parts of a fit are expected to cost, which a limit of seconds is planned by."""

import numpy as np

from skinformer import InformerRegressor
from skinformer.ensemble.head import PointHead
from skinformer.ensemble.names import NETWORK, RIDGES
from skinformer.estimators.settings import read_settings
from skinformer.judging import costs as costs_of_fits
from skinformer.judging.costs import fit_costs
from skinformer.rolling.missing_runs import CHAIN_OF_GAPS
from skinformer.timeline.clock import RowClock
from skinformer.timeline.timeline import Table


def costs(pred_len=96, n_targets=7, n_rows=15_000):
    """Return what members cost on a table of hours."""
    columns = list(np.zeros((n_targets, n_rows), dtype=np.float32))
    none = np.zeros(n_rows, dtype=np.int64)
    table = Table(columns, n_targets, none, np.arange(n_rows), RowClock())
    model = InformerRegressor(seq_len=336, pred_len=pred_len)
    settings = read_settings(model, PointHead("mse"), requested="cpu")
    return fit_costs(settings, table, 0)


def test_the_comparison_of_ridges_is_dear_at_long_horizons():
    """Fits of such a table took 6.9, 9.3 and 25 s: products of windows alone grow far less."""
    of_day, of_days, of_weeks = (
        costs(pred_len)[RIDGES].at(1.0) for pred_len in (24, 96, 480)
    )
    assert 1.2 < of_days / of_day < 2
    assert 3 < of_weeks / of_day < 6


def test_the_network_is_dear_where_many_windows_judge_it():
    """However little it is trained: forecasts of 6,000 windows took 2.5 s, of 1,400 0.3 s."""
    few, many = (costs(n_rows=n_rows)[NETWORK] for n_rows in (15_000, 60_000))
    assert many.at(0.0) > 2 * few.at(0.0)
    assert many.at(1.0) < 2 * few.at(1.0)


def test_gaps_cost_as_many_turns_as_filling_takes():
    """Neither room may import the other: what is planned follows what is done by this test."""
    assert costs_of_fits._TURNS_OF_GAPS == CHAIN_OF_GAPS
