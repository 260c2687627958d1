"""skops files hold a fitted model."""

import numpy as np
import pytest

pytest.importorskip("skops")


def test_the_example_asks_to_trust_two_types(run_example):
    """A longer list is one that nobody reads."""
    names = run_example("skops_files.py")
    assert sorted(names["requested"]) == [
        "skinformer.estimators.parts.Training",
        "skinformer.estimators.regressor.InformerRegressor",
    ]
    forecast = names["loaded"].forecast()
    np.testing.assert_array_equal(forecast, names["model"].forecast())
