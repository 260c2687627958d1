"""shap explains a forecast by the inputs of its window."""

import pytest

pytest.importorskip("shap")


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_the_example_finds_the_price(run_example):
    """The series is a wave less half the price; the explanation has to say so."""
    names = run_example("shap_lags.py")
    share = names["effects"]["price, ahead"]
    away = names["window"][0, -1] - names["background"][:, -1].mean()
    assert share == pytest.approx(-0.5 * away, abs=0.15)
