"""Ordinary data: a random part of the map of examples/benchmarks/ordinary.py, with bars."""

import numpy as np
import ordinary
import pandas as pd

#: Cells of tables and of panels that are drawn, of 600 rows at most: longer ones take seconds.
N_TABLES, N_PANELS, MOST_ROWS = 60, 6, 600


def measured_cells():
    """Measure some cells that a fixed seed chooses."""
    rng = np.random.default_rng(7)
    chosen = []
    for kind, n_cells in (("table", N_TABLES), ("panel", N_PANELS)):
        all_cells = [
            cell for cell in ordinary.make_cells([kind]) if cell.n_rows <= MOST_ROWS
        ]
        chosen += [
            all_cells[i] for i in rng.choice(len(all_cells), n_cells, replace=False)
        ]
    return ordinary.measure(chosen, seeds=[11])


def test_defaults_are_about_as_good_as_the_right_simple_forecast():
    """Nothing absurd, few cells twice as bad (by chance: each has one seed), ranges that cover."""
    cells = measured_cells()
    assert cells[cells.absurd != ""].empty
    assert ordinary.geometric_mean(cells.ratio) < 1.05
    assert (cells.ratio > 2).mean() <= 0.1
    assert 0.74 < cells.covered.mean() < 0.9


def test_cells_are_related_to_the_simple_forecast_that_suits_them():
    """A walk is forecast by its last value; where this cannot be had, by the next best."""
    rivals = {
        "last": 1.0,
        "season": np.nan,
        "mean of season": 0.5,
        "mean": 2.0,
        "line": 3.0,
    }
    made = [
        {"frequency": "D", "shape": shape, "series": 1, "error": 2.0, **rivals}
        for shape in ("walk", "wave")
    ]
    related = ordinary.relate(pd.DataFrame(made))
    assert related.ratio.round(1).tolist() == [2.0, 3.9]


def test_what_must_never_be_is_found():
    """A check that finds nothing proves nothing."""
    daily = ordinary.FREQUENCIES[2]
    cell = ordinary.Cell(daily, "counts", 28)
    past = np.tile([1.0, 3.0], 14)
    fine = pd.DataFrame({"y": [2.0] * 14, "low": 1.0, "high": 3.0})
    assert ordinary.find_absurd(cell, past, fine) == []
    assert ordinary.find_absurd(cell, past, fine.assign(y=-0.5)) == [
        "negative",
        "outside of its range",
    ]
    assert "far outside" in ordinary.find_absurd(cell, past, fine.assign(y=7.0))
    assert ordinary.find_absurd(cell, past, fine.assign(y=np.nan)) == ["not finite"]
