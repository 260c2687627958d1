"""Frames of polars go into a Pipeline as they are."""

import pytest

pytest.importorskip("polars")
pytest.importorskip("pyarrow")


def test_the_example_forecasts_each_row_of_its_frame(run_example):
    """In the frame's order, as for the same rows in pandas."""
    names = run_example("polars_frames.py")
    later, model = names["later"], names["model"]
    expected = model.predict(later.drop("forecast").to_pandas())
    assert later["forecast"].to_list() == expected.tolist()
