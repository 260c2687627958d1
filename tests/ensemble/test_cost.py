"""What a fit may take is guessed by who takes part, and by how much there is."""

import pytest

from skinformer import InformerRegressor
from skinformer.ensemble.building import ModelSizes
from skinformer.ensemble.cost import expected_seconds
from skinformer.ensemble.head import PointHead
from skinformer.estimators.settings import read_settings


def guess(*, n_targets=1, n_rows=17_000, lone=True, **parameters):
    sizes = ModelSizes(n_targets, 0, 0, 0, 0, (), seq_len=96, pred_len=24, patch_len=4)
    settings = read_settings(InformerRegressor(**parameters), PointHead("mse"), requested="cpu")
    return expected_seconds(n_rows, n_rows, sizes, settings, lone=lone)


@pytest.mark.parametrize(("window_norm", "times"), [(True, 7), (False, 1)])
def test_a_network_that_sees_targets_apart_takes_so_many_times(window_norm, times):
    """By itself it forecasts each of them; the documents' networks see all together."""
    options = {"members": ["network"], "window_norm": window_norm}
    one, seven = (guess(n_targets=n, **options)["network"] for n in (1, 7))
    assert seven == pytest.approx(times * one)


def test_who_takes_no_part_takes_no_time():
    """Else a fit of ridges alone would promise minutes."""
    alone = guess(members=["ridges"])
    assert alone["network"] == alone["trees"] == 0
    assert 0 < sum(alone.values()) < 5
    assert guess(members=["ridges", "trees"])["trees"] > 1


def test_a_network_is_expected_to_be_tried_on_one_long_table():
    """A trial is 1,000 windows, where a panel's network is trained on 50,000."""
    options = {"members": ["ridges", "network"]}
    tried, trained = (guess(lone=lone, **options)["network"] for lone in (True, False))
    assert trained == pytest.approx(50 * tried)
