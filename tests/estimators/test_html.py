"""What a notebook shows of an estimator: parameters and fitted attributes, as scikit-learn does."""

import copy
import pickle
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from flat_parameters import with_parts
from sklearn.ensemble import HistGradientBoostingRegressor
from versions import SHOWS_FITTED

from skinformer import CalendarFeatures, InformerRegressor

shows_fitted = pytest.mark.skipif(
    not SHOWS_FITTED, reason="scikit-learn shows parameters alone"
)

SMALL = {
    "seq_len": 24,
    "pred_len": 6,
    "d_model": 8,
    "n_heads": 1,
    "max_iter": 1,
    "random_state": 0,
}


@pytest.fixture(scope="module")
def hours():
    index = pd.date_range("2024-01-01", periods=200, freq="h")
    return pd.DataFrame(
        {"a<b": 50 + 10 * np.sin(np.arange(200) * np.pi / 12)}, index=index
    )


@pytest.fixture(scope="module")
def once(hours):
    return InformerRegressor(
        **with_parts(members=["classical", "ridges", "network"], **SMALL)
    ).fit(hours)


@pytest.fixture
def fitted(once):
    return copy.deepcopy(once)


def test_looking_changes_nothing(fitted):
    """Neither what a pickle holds, nor what a clone is, nor what is forecast."""
    before, kept = pickle.dumps(fitted), copy.copy(vars(fitted))
    fitted._repr_html_()
    assert vars(fitted).keys() == kept.keys()
    assert all(vars(fitted)[name] is value for name, value in kept.items())
    assert pickle.dumps(fitted) == before


@shows_fitted
def test_ranges_are_shown_once_they_are_found(fitted):
    """To find them takes seconds, which a look should not."""
    assert "intervals_" not in fitted._repr_html_()
    fitted.forecast(coverage=0.9)
    assert "intervals_" in fitted._repr_html_()


class Links(HTMLParser):
    """Where a page leads to."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found += [value for name, value in attrs if name in ("href", "src")]


@shows_fitted
@pytest.mark.slow
def test_links_lead_to_pages_that_exist(hours):
    """scikit-learn's own parts have a page each; a link to one of ours would lead nowhere."""
    trees = HistGradientBoostingRegressor(max_iter=2)
    page = (
        InformerRegressor(
            **with_parts(members=["classical", "ridges", trees, "network"], **SMALL)
        )
        .fit(hours)
        ._repr_html_()
    )
    links = Links(page).found
    home = r"https://scikit-learn\.org/\d\.\d+/modules/generated/"
    own = home + r"sklearn\.ensemble\.HistGradientBoostingRegressor\.html(#.*)?"
    assert [link for link in links if not re.fullmatch(own, link, re.S)] == []
    page = InformerRegressor(**with_parts(**SMALL)).fit(hours)._repr_html_()
    assert "seq_len" in page
    assert "n_iter_" in page
    for fitted in (page, CalendarFeatures().fit(hours)._repr_html_()):
        assert Links(fitted).found == []
