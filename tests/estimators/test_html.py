"""What a notebook shows of an estimator: parameters as scikit-learn does, and its forecast."""

import copy
import pickle
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.utils import estimator_html_repr

from skinformer import InformerRegressor, notebook

SMALL = {"seq_len": 24, "pred_len": 6, "d_model": 8, "n_heads": 1, "max_iter": 1, "random_state": 0}


@pytest.fixture(scope="module")
def hours():
    index = pd.date_range("2024-01-01", periods=200, freq="h")
    return pd.DataFrame({"a<b": 50 + 10 * np.sin(np.arange(200) * np.pi / 12)}, index=index)


@pytest.fixture(scope="module")
def once(hours):
    return InformerRegressor(members=["classical", "ridges", "network"], **SMALL).fit(hours)


@pytest.fixture
def fitted(once):
    return copy.deepcopy(once)


def drawn(model):
    """Give the numbers of the line of the forecast, and of the history, in pixels."""
    page = model._repr_html_()
    found = re.search(r'<svg class="skinformer-forecast".*?</svg>', page, re.S)
    if not found:
        return None
    lines = re.findall(r'<path d="([^"]*)"', found[0])[1:]
    points = [np.array(re.findall(r"[ML]([\d.]+),([\d.]+)", line), dtype=float) for line in lines]
    return found[0], *points


def test_the_picture_shows_the_forecast_behind_the_history(fitted, hours):
    """A wrong line would be believed."""
    svg, history, ahead = drawn(fitted)
    shown = np.concatenate([hours["a<b"].to_numpy()[-48:], fitted.forecast().to_numpy().ravel()])
    assert len(history) == 48
    assert len(ahead) == 7  # it begins where the history ends
    height = np.concatenate([history, ahead[1:]])[:, 1]
    low, high = shown.min(), shown.max()
    np.testing.assert_allclose(height, 128 - (shown - low) / (high - low) * 104, atol=0.06)
    assert "2024-01-09 08:00" in svg
    assert len(svg) < 30_000


def test_names_are_text(fitted):
    """A column's name is not markup."""
    svg = drawn(fitted)[0]
    assert "a&lt;b: the last 48 steps" in svg
    assert "a<b" not in svg


def test_unknown_truths_leave_a_gap(hours):
    """What was filled was not measured."""
    runs = hours.copy()
    runs.iloc[-20:-15] = np.nan
    svg, history, _ = drawn(
        InformerRegressor(members=["classical", "ridges", "network"], **SMALL).fit(runs)
    )
    assert len(history) == 43
    assert re.findall(r'<path d="([^"]*)"', svg)[1].count("M") == 2


def test_looking_changes_nothing(fitted):
    """Neither what a pickle holds, nor what a clone is, nor what is forecast."""
    before, kept = pickle.dumps(fitted), copy.copy(vars(fitted))
    fitted._repr_html_()
    assert vars(fitted).keys() == kept.keys()
    assert all(vars(fitted)[name] is value for name, value in kept.items())
    assert pickle.dumps(fitted) == before
    assert drawn(clone(fitted)) is None


def test_ranges_are_shown_once_they_are_found(fitted):
    """To find them takes seconds, which a look should not."""
    assert "intervals_" not in fitted._repr_html_()
    fitted.forecast(coverage=0.9)
    assert "intervals_" in fitted._repr_html_()


def test_the_band_is_drawn_once_ranges_are_found(fitted, hours):
    """Around the forecast, in the same units, and up and down the whole way."""
    assert 'opacity="0.3"' not in drawn(fitted)[0]
    ahead = fitted.forecast(coverage=0.8)
    svg, _, line = drawn(fitted)
    around = re.search(r'opacity="0.3" stroke="none" d="([^"]*)Z"', svg)[1]
    band = np.array(re.findall(r"[ML]([\d.]+),([\d.]+)", around), dtype=float)
    shown = np.concatenate([hours["a<b"].to_numpy()[-48:], ahead.to_numpy().ravel()])
    bounds = np.concatenate([ahead.iloc[:, 1], ahead.iloc[::-1, 2]])
    expected = 128 - (bounds - shown.min()) / np.ptp(shown) * 104
    np.testing.assert_allclose(band[:, 1], expected, atol=0.06)
    np.testing.assert_array_equal(band[:6, 0], line[1:, 0])
    np.testing.assert_array_equal(band[6:, 0], line[:0:-1, 0])


def test_it_is_drawn_once_and_anew_after_update(fitted, hours, monkeypatch):
    """A notebook asks for it more than once; a stale one would lie."""
    first = drawn(fitted)[0]
    monkeypatch.setattr(fitted, "_requested_ahead", None)
    assert drawn(fitted)[0] == first
    monkeypatch.undo()
    later = hours.set_axis(hours.index + pd.Timedelta(hours=200))
    assert drawn(fitted.update(later[:5]))[0] != first


def test_the_first_series_of_a_panel_is_shown(hours):
    """A panel of thousands costs what one series costs."""
    panel = pd.concat({"north & co": hours, "south": 3 * hours}, names=["place", "hour"])
    model = InformerRegressor(members=["classical", "ridges", "network"], **SMALL).fit(panel)
    svg, _, ahead = drawn(model)
    assert "of north &amp; co: the last" in svg
    assert len(ahead) == 7


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [{"known_future": ["h"]}, {"loss": [0.1, 0.9]}, {"pred_len": 6, "broken": True}],
    ids=["values ahead are needed", "ranges are needed", "it fails"],
)
def test_without_a_picture_the_rest_is_shown(hours, change, monkeypatch):
    """Whatever is wrong, the parameters are."""
    if change.pop("broken", False):
        monkeypatch.setattr(notebook, "_write", None)
    frame = hours.assign(h=np.arange(200.0) % 7)
    model = InformerRegressor(
        "a<b", members=["classical", "ridges", "network"], **SMALL | change
    ).fit(frame)
    assert drawn(model) is None
    numbered = r"sk-(container|estimator)-id-\d+"
    page, plain = model._repr_html_(), estimator_html_repr(model)
    assert re.sub(numbered, "", page) == re.sub(numbered, "", plain)


def test_long_forecasts_are_not_drawn(hours, monkeypatch):
    """A look has to be quick."""
    monkeypatch.setattr(notebook, "_LONGEST", 5)
    assert (
        drawn(InformerRegressor(members=["classical", "ridges", "network"], **SMALL).fit(hours))
        is None
    )


def test_nothing_is_drawn_before_fit():
    """There is no forecast."""
    assert drawn(InformerRegressor()) is None


class Links(HTMLParser):
    """Where a page leads to."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found += [value for name, value in attrs if name in ("href", "src")]


@pytest.mark.slow
def test_links_lead_to_pages_that_exist(hours):
    """scikit-learn's own parts have a page each; a link to one of ours would lead nowhere."""
    trees = HistGradientBoostingRegressor(max_iter=2)
    page = (
        InformerRegressor(members=["classical", "ridges", trees, "network"], **SMALL)
        .fit(hours)
        ._repr_html_()
    )
    links = Links(page).found
    home = r"https://scikit-learn\.org/\d\.\d+/modules/generated/"
    own = home + r"sklearn\.ensemble\.HistGradientBoostingRegressor\.html(#.*)?"
    assert [link for link in links if not re.fullmatch(own, link, re.S)] == []
    assert Links(InformerRegressor(**SMALL).fit(hours)._repr_html_()).found == []
