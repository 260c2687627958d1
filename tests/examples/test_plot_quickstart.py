"""The quickstart, with its own data, on few rows and one epoch."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.ensemble import HistGradientBoostingRegressor

from skinformer import InformerRegressor, datasets
from skinformer.datasets import load_auckland_holidays, load_auckland_pedestrians

#: So few rows hold no Christmas, and a marathon is none of their Sundays.
pytestmark = pytest.mark.filterwarnings(
    "ignore:future covariates .* never changed", "ignore:.* outliers"
)

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def few_trees(**given):
    return HistGradientBoostingRegressor(**given | {"max_iter": 40})


@pytest.fixture
def quickstart(monkeypatch):
    """Give what runs the script as Python does: its folder comes first; boost briefly."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import comparison

    monkeypatch.setattr(comparison, "HistGradientBoostingRegressor", few_trees)

    def run(*options):
        monkeypatch.setattr("sys.argv", ["plot_quickstart.py", *options])
        try:
            runpy.run_path(str(EXAMPLES / "plot_quickstart.py"), run_name="__main__")
        finally:
            pyplot.close("all")

    return run


@pytest.mark.slow
def test_prints_one_table_and_says_where_the_picture_is(
    quickstart, tmp_path, capsys, monkeypatch
):
    """Everything but the length of the training is as in the README.

    Every day is forecast from its own midnight, also from that on when summer time begins: no later
    chunk of 24 rows begins at one o'clock.
    """
    counts = load_auckland_pedestrians()["2024-06-01":]
    monkeypatch.setattr(datasets, "load_auckland_pedestrians", lambda: counts)
    predict, stretches = InformerRegressor.predict, []

    def spy(model, X):
        # The history ends before it.
        assert model.make_future_frame(1).index[0] == X.index[0]
        stretches.append(X.index)
        return predict(model, X)

    monkeypatch.setattr(InformerRegressor, "predict", spy)
    quickstart("--output", str(tmp_path / "new"), "--epochs", "1")
    path = tmp_path / "new" / "quickstart.png"
    printed = capsys.readouterr().out
    assert "720 hours to train on, 4415 to test on, 3 streets" in printed
    rows = [
        line
        for line in printed.splitlines()
        if line[:1].islower() or "Informer" in line[:8]
    ]
    table = {
        row[:22].strip(): row[22:].split() for row in rows if len(row[22:].split()) == 2
    }
    names = [
        "InformerRegressor",
        "weekly seasonal naive",
        "ridge on lags",
        "boosting on lags",
    ]
    assert list(table) == names
    assert all(float(number) > 0 for row in table.values() for number in row)
    naive = [float(number) for number in table["weekly seasonal naive"]]
    assert naive == pytest.approx([92.2, 182.0])  # as with all rows
    assert printed.endswith(f"Forecast against actual: {path.resolve()}\n")
    assert path.read_bytes().startswith(b"\x89PNG")
    for rows in stretches:
        hours = rows.normalize().value_counts()
        assert rows[0].hour == 0
        assert len(hours) == 1 or set(hours) == {24}
    assert sum(map(len, stretches)) == 4415


@pytest.mark.slow
def test_rivals_know_holidays_and_no_hour_from_the_midnight_on(quickstart):
    """A rival that saw less, or more, would make the table worthless."""
    df = load_auckland_pedestrians()[-800:]
    df = df.join(load_auckland_holidays())
    streets, known = list(df.columns[:8]), list(df.columns[8:])
    train, test = df[:-48], df[-48:]
    from comparison import make_rivals

    rivals = make_rivals(
        streets, seq_len=168, pred_len=24, season=168, known_future=known
    )
    other = test.assign(
        holiday=1 - test["holiday"], shops_closed=1 - test["shops_closed"]
    )
    hidden = test.copy()
    hidden.loc[hidden.index[24:], streets] = np.nan
    for name in ["ridge on lags", "boosting on lags"]:
        model = rivals[name].fit(train, train[streets])
        forecast = model.predict(test)
        assert np.abs(forecast - model.predict(other)).max() > 1
        np.testing.assert_array_equal(forecast, model.predict(hidden))


def test_a_picture_that_cannot_be_written_is_told_before_training(
    quickstart, tmp_path, capsys
):
    """A minute of training would be lost."""
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit, match="2"):
        quickstart("--output", str(tmp_path / "file" / "x"))
    assert "cannot be written: Not a directory." in capsys.readouterr().err
