"""MAPIE's split conformal intervals around forecasts of a series."""

import pytest

pytest.importorskip("mapie")


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_the_example_covers_what_it_asked_for(run_example):
    """Calibrated on the two weeks before, judged on two weeks."""
    names = run_example("mapie_intervals.py")
    covered = names["interval_coverage"](
        names["truth"][names["test"]], names["interval"][:, :, 0]
    )
    assert 0.65 < covered < 0.95
