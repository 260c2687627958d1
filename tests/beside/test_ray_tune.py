"""Ray Tune stops fits epoch by epoch."""

import pytest

pytest.importorskip("ray.tune")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray's own, of other packages
def test_the_example_stops_some_trials(run_example):
    """A scheduler that hears nothing stops nothing."""
    results = run_example("ray_tune.py")["results"]
    epochs = [len(result.metrics_dataframe) for result in results]
    assert max(epochs) == 4
    assert min(epochs) == 2
    assert not results.errors
