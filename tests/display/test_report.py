"""The report is one file: right numbers in plain sentences, markup that cannot be broken."""

import base64
import re
import sys
from html import escape
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from skinformer.display import write_report
from skinformer.display.report.facts import TargetFacts
from skinformer.display.report.sentences import summary_sentences
from skinformer.evaluation import SeasonalNaive, backtest

VOID = {"br", "col", "img", "link", "meta"}
EVIL = '<script>alert("1")</script>'


class Page(HTMLParser):
    """What a page holds, and whether its elements close in the order they open."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.values, self.texts = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.values += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())

    @property
    def pictures(self):
        """Decode the pictures that the page holds."""
        start = "data:image/svg+xml;base64,"
        coded = [value for name, value in self.values if name == "src"]
        assert all(value.startswith(start) for value in coded)
        return [base64.b64decode(value.removeprefix(start)).decode() for value in coded]


def told(name, ahead, actual, forecast, **more):
    """Make a result by hand, of hours from midnight on."""
    time = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(len(actual)), "h")
    origin = time - pd.to_timedelta(np.asarray(ahead) - 1, "h")
    rows = {"ahead": ahead, "target": name, "actual": actual, "forecast": forecast}
    return pd.DataFrame({"origin": origin, "time": time, **rows, **more})


def halves(**more):
    """Give two days: off by 1 in the first half of each, by 3 in the other; truth 10."""
    off = np.tile(np.repeat([1.0, 3.0], 12), 2)
    return told(
        "load", np.tile(np.arange(1, 25), 2), np.full(48, 10.0), 10 + off, **more
    )


@pytest.fixture(scope="module")
def panel():
    """Write a report of a panel of two targets, with names that are markup and gaps."""
    index = pd.MultiIndex.from_product(
        [
            [f"shop {i} & co" for i in range(9)] + [EVIL],
            pd.date_range("2024", periods=60),
        ]
    )
    noise = np.random.default_rng(0).normal(size=(len(index), 2))
    X = pd.DataFrame(
        10 + noise, index=index, columns=[EVIL, 'cost $\\oops$ " onload="x']
    )
    X.iloc[50:53, 0] = np.nan
    day = index.get_level_values(1)
    train, test = X[day < "2024-02-01"], X[day >= "2024-02-01"]
    return {
        f"<b>{n}</b>": backtest(
            SeasonalNaive(n, target=list(X)).fit(train), test, test, horizon=4, step=2
        )
        for n in (7, 1)
    }


@pytest.fixture(scope="module")
def hostile(panel, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    return write_report(path, panel, unit={EVIL: "<i>"}, title="<h1>A & B").read_text(
        "utf-8"
    )


@pytest.mark.slow
def test_elements_are_nested_and_pictures_are_whole(hostile):
    """A browser would repair it, each in its own way."""
    found = Page(hostile).pictures
    assert len(found) == 2 * 5
    for picture in found:
        assert ElementTree.fromstring(picture).tag.endswith("svg")


def test_nothing_is_fetched_and_nothing_runs(hostile):
    """It is opened where there is no network, and by who does not trust it."""
    page = Page(hostile)
    assert not {"script", "iframe", "object", "base", "form"} & set(page.tags)
    assert [name for name, _ in page.values if name.startswith("on")] == []
    assert [value for name, value in page.values if name in ("srcset", "action")] == []
    links = {value for name, value in page.values if name.endswith("href")}
    assert all(link.startswith("#") or link == "data:," for link in links)
    assert not re.search(r"https?:|@import|url\(", hostile)
    for picture in page.pictures:
        assert "<script" not in picture
        assert re.findall(r"url\((?!#)|href=\"(?!#)", picture) == []


def test_names_are_text_in_pictures_too(hostile):
    """A column may be called anything."""
    page = Page(hostile)
    assert page.tags.count("b") == len(page.pictures)  # none of those in the names
    assert "i" not in page.tags
    assert page.text.count(EVIL) >= 5
    written = "".join(page.pictures)  # glyphs, each text in a comment before them
    assert escape(EVIL, quote=False) in written
    assert r"cost $\oops$" in written


@pytest.mark.slow
def test_same_results_same_bytes(tmp_path, pyplot):
    """A report under version control changes where results do."""
    one = write_report(tmp_path / "one.html", halves())
    with pyplot.style.context(
        ["dark_background", {"axes.grid": True, "font.size": 20}]
    ):
        other = write_report(tmp_path / "other.html", halves())
        # The user's own settings are back.
        assert pyplot.rcParams["text.color"] == "white"
    assert one.read_bytes() == other.read_bytes()


@pytest.mark.slow
def test_sentences_and_tables_hold_the_numbers(tmp_path):
    """A manager reads these alone."""
    naive = halves().assign(forecast=lambda table: table["actual"] + 4)
    results = {"model": halves(**{"q0.1": 9.0, "q0.9": 11.5}), "last week": naive}
    text = Page(
        write_report(tmp_path / "r.html", results, unit="MW").read_text("utf-8")
    ).text
    for said in (
        "forecasts by model from 2024-01-01 to 2024-01-02 23:00. They were made from 2 origins,",
        "The mean absolute error of load is 2 MW, or 20% of the mean size of the actual values.",
        "The mean of forecast minus actual value is 2 MW.",
        "The error is 50% smaller than that of last week, which is 4 MW.",
        "cannot be tested: there are too few origins, or their forecasts overlap too much.",
        "The 80% prediction interval contained 100% of actual values: it is wider than needed. "
        "It is 2.5 MW wide",
        "forecaster MAE WAPE RMSE bias skill Diebold–Mariano p-value coverage width model 2 20%",
    ):
        assert said in text


@pytest.mark.parametrize(
    ("held", "verdict"),
    [
        ([0.8] * 14, "80% of actual values: it is as requested."),
        ([1.0, 0.6] * 7, "80% of actual values: it is as requested."),
        (
            [1.0, 0.7] * 7,
            "85% of actual values: it is wider than needed, but this may be due to chance.",
        ),
        ([0.9, 0.8] * 7, "85% of actual values: it is wider than needed. It"),
        ([0.6, 0.7] * 7, "65% of actual values: it is too narrow. It"),
        (
            [0.2, 1.0] * 7,
            "60% of actual values: it is too narrow, but this may be due to chance.",
        ),
        (
            [0.5],
            "50% of actual values: it is too narrow, but this may be due to chance.",
        ),
    ],
)
def test_a_verdict_on_coverage_allows_for_chance(held, verdict):
    """Hours of a day fail together: fourteen days are fourteen tries, not 336."""
    parts = []
    for day, share in enumerate(held):
        inside = np.arange(20) < round(20 * share)
        time = pd.date_range("2024-01-01", periods=20, freq="h") + pd.Timedelta(
            days=day
        )
        part = {
            "origin": time[0],
            "time": time,
            "ahead": np.arange(1, 21),
            "target": "load",
        }
        parts.append(
            pd.DataFrame(part | {"actual": np.where(inside, 0.0, 9.0), "forecast": 0.0})
        )
    result = pd.concat(parts, ignore_index=True).assign(**{"q0.1": -1.0, "q0.9": 1.0})
    text = summary_sentences(TargetFacts("load", None, {"model": result}, None))[-1]
    assert f"contained {verdict}" in text.replace("\xa0", " ")


def test_series_are_told_apart(hostile, panel):
    """The mean hides the series that is forecast badly."""
    text = Page(hostile).text
    table = next(iter(panel.values())).dropna()
    table = table[table["target"] == EVIL]
    error = (table["forecast"] - table["actual"]).abs().groupby(table["series"]).sum()
    share = error / table["actual"].abs().groupby(table["series"]).sum()
    errors = text.partition("By series")[2]
    assert errors.index(share.idxmax()) < errors.index(share.idxmin())
    # Three rows, two origins each.
    assert "Left out because an actual value or a forecast is missing: 6." in text


def test_of_several_forecasts_of_a_time_the_nearest_is_drawn():
    """The farthest would make residuals larger than they need be."""
    overlapping = told("load", [2, 1, 3], np.zeros(3), [7.0, 5.0, 9.0])
    overlapping = overlapping.assign(time=[4, 4, 5], series="")
    nearest = TargetFacts("load", None, {"model": overlapping}, None).nearest
    assert nearest["forecast"].tolist() == [5.0, 9.0]


@pytest.mark.slow
def test_unknown_truths_have_no_part(tmp_path):
    """A gap is not an error of zero."""
    runs = halves()
    runs.loc[:5, "actual"] = np.nan
    text = Page(write_report(tmp_path / "r.html", runs).read_text("utf-8")).text
    assert "Left out because an actual value or a forecast is missing: 6." in text
    assert "is 2.14, or 21.4%" in text


@pytest.mark.slow
def test_a_missing_forecast_is_left_out_of_all(tmp_path):
    """Otherwise two forecasters would be compared on different rows."""
    naive = halves()
    naive.loc[:11, "forecast"] = np.nan
    results = {"model": halves(), "naive": naive}
    text = Page(write_report(tmp_path / "r.html", results).read_text("utf-8")).text
    assert "is 2.33, or" in text
    assert "The error is 0% smaller than that of naive, which is 2.33" in text
    nothing = {"model": halves(), "naive": halves().assign(forecast=np.nan)}
    with pytest.raises(
        ValueError, match=r"results have no row with an actual value and all forecasts"
    ):
        write_report(tmp_path / "none.html", nothing)
    assert not (tmp_path / "none.html").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["one row ahead", "months", "numbers", "one origin", "quantile"]
)
def test_backtests_of_every_kind_have_a_report(kind, tmp_path):
    """No picture may ask for more than a result holds."""
    result = halves()
    if kind == "one row ahead":
        result = told("load", np.ones(30, int), np.arange(30.0), np.arange(30.0) + 1)
    elif kind == "months":
        months = pd.period_range("2020-01", periods=48, freq="M")
        result = result.assign(time=months, origin=months[[0, 24]].repeat(24))
    elif kind == "numbers":
        result = result.assign(
            time=np.arange(48), origin=np.arange(48) // 24 * 24, target=7
        )
    elif kind == "one origin":
        result = result[:24]
    elif kind == "quantile":
        result = result.assign(**{"q0.5": 10.0})
    page = Page(write_report(tmp_path / "r.html", result).read_text("utf-8"))
    assert len(page.pictures) >= 2
    assert "coverage" not in page.text.partition("Terms")[0]  # of no range


def test_settings_name_versions_and_parameters(tmp_path):
    """Numbers that nobody can make again prove nothing."""
    naive = SeasonalNaive(24, target=["load"])
    path = write_report(tmp_path / "r.html", halves(), estimator=naive)
    text = Page(path.read_text("utf-8")).text
    assert f"The model {naive!r}" in text
    assert f"pandas {pd.__version__}" in text


def test_matplotlib_is_asked_for_by_name(monkeypatch, tmp_path):
    """It is an extra."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(
        ImportError, match=r"write_report draws with matplotlib, which is not"
    ):
        write_report(tmp_path / "r.html", halves())


def test_a_failed_report_leaves_the_old_one(tmp_path, monkeypatch):
    """A server may show it meanwhile."""
    path = tmp_path / "r.html"
    path.write_text("the old one")
    with pytest.raises(ValueError, match="are of different rows"):
        write_report(path, {"a": halves(), "b": halves()[:24]})
    assert path.read_text() == "the old one"
    assert [each.name for each in tmp_path.iterdir()] == ["r.html"]
