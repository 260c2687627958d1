"""Data in which something happens: a random part of the map of examples/benchmarks/events.py."""

import events
import numpy as np
import ordinary
import pandas as pd
import pytest

#: Cells of more rows take seconds.
MOST_ROWS = 200


def measured_cells():
    """Measure a cell of each shape, which a fixed seed chooses."""
    rng = np.random.default_rng(7)
    small = [cell for cell in events.make_cells([], []) if cell.n_rows <= MOST_ROWS]
    names = sorted({cell.shape for cell in small})
    chosen = [
        rng.choice([cell for cell in small if cell.shape == name]) for name in names
    ]
    return ordinary.relate(
        pd.DataFrame([events.run(cell, [11], {}) for cell in chosen])
    )


def test_defaults_are_about_as_good_as_what_a_careful_user_takes():
    """In the middle, as one seed says little of one shape; open steps lie in their ranges."""
    cells = measured_cells()
    assert len(cells) >= 8
    assert np.isfinite(cells[["error", "covered"]]).all(axis=None)
    assert cells.ratio.median() < 1.3
    assert cells.covered.median() > 0.7


@pytest.mark.parametrize("shape", events.SHAPES)
def test_simple_forecasts_read_no_closed_and_no_incomplete_step(shape):
    """Every shape has something to read before the origin and behind it, and draws it again."""
    for cell in events.make_cells([shape], []):
        index, drawn = cell.draw(3)
        n_steps = cell.n_rows + cell.frequency.horizon
        assert len(index) == len(drawn.y) == len(drawn.is_read) == n_steps
        assert drawn.is_read[: cell.n_rows].any()
        assert drawn.is_read[cell.n_rows :].any()
        assert (drawn.y[~drawn.is_read] < drawn.y[drawn.is_read].mean()).all()
        np.testing.assert_array_equal(drawn.y, cell.draw(3)[1].y)
        assert (drawn.y != cell.draw(4)[1].y).any()


def test_a_known_closure_ends_at_the_origin_and_is_told():
    """The column says when the shop opens, past and future."""
    for cell in events.make_cells(["closure"], []):
        _, drawn = cell.draw(0)
        n_closed = 3 * cell.frequency.season
        closed = np.flatnonzero(drawn.known == 0)
        assert closed.tolist() == list(range(cell.n_rows - n_closed, cell.n_rows))
        assert (drawn.y[closed] == 0).all()


def test_the_last_period_alone_is_incomplete():
    """What a careful user leaves out."""
    for cell in events.make_cells(["incomplete_end"], []):
        _, drawn = cell.draw(0)
        assert np.flatnonzero(~drawn.is_read).tolist() == [cell.n_rows - 1]


def test_only_cells_that_are_named_are_made():
    """By shape and by frequency."""
    cells = events.make_cells(["drop", "closure"], ["D"])
    assert {(cell.shape, cell.frequency.name) for cell in cells} == {
        ("drop", "D"),
        ("closure", "D"),
    }
