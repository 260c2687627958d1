"""hierarchicalforecast takes the tidy frames of a backtest."""

import numpy as np
import pytest

pytest.importorskip("hierarchicalforecast")


@pytest.mark.slow
def test_the_examples_forecasts_add_up(run_example):
    """Alone they do not; streets make areas, and areas the city."""
    reconciled = run_example("reconciled_totals.py")["reconciled"].unstack(level=0)
    for method, add_up in (("alone", False), ("bottom up", True), ("MinTrace", True)):
        table = reconciled[method]
        for depth in (0, 1):
            for parent in [name for name in table if name.count("/") == depth]:
                below = [
                    c
                    for c in table
                    if c.startswith(f"{parent}/") and c.count("/") > depth
                ]
                sums = table[[c for c in below if c.count("/") == depth + 1]].sum(
                    axis=1
                )
                assert np.allclose(sums, table[parent], rtol=1e-6) == add_up, (
                    method,
                    parent,
                )
