"""Cross-validation of panels: every series is cut at the same times."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import TimeSeriesSplit

from skinformer import PanelTimeSeriesSplit

OPTIONS = [
    {"n_splits": 3},
    {"n_splits": 3, "test_size": 2},
    {"n_splits": 3, "test_size": 2, "gap": 2},
    {"n_splits": 3, "max_train_size": 4},
]


def panel():
    """Series of different length, which begin and end at different times."""
    index = pd.date_range("2024-01-01", periods=24, freq="h", tz="Europe/Berlin")
    parts = {"b": index[2:20], "a": index, "c": index[13:]}
    frames = {
        name: pd.DataFrame({"load": np.arange(len(t))}, index=t)
        for name, t in parts.items()
    }
    return pd.concat(frames)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("shuffled", [False, True])
def test_every_series_of_a_panel_is_cut_at_the_same_times(options, shuffled):
    """Cut by rows, the score would come from other series in the same hour."""
    X = panel()
    X = X.sample(frac=1, random_state=0) if shuffled else X
    time = X.index.get_level_values(1)
    moments = np.array(sorted(set(time)))
    splits = list(PanelTimeSeriesSplit(**options).split(X))
    expected = list(TimeSeriesSplit(**options).split(moments))
    assert len(splits) == len(expected) == 3
    for (train, test), (train_at, test_at) in zip(splits, expected, strict=True):
        wanted = set(moments[train_at]), set(moments[test_at])
        assert train.tolist() == [i for i, t in enumerate(time) if t in wanted[0]]
        assert test.tolist() == [i for i, t in enumerate(time) if t in wanted[1]]
        assert time[train].max() < time[test].min()


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("kind", ["frame", "array"])
def test_without_series_it_splits_as_sklearn_does(options, kind):
    """One splitter for both, so that code need not ask which it has."""
    X = panel().loc["a"]
    X = X if kind == "frame" else X.to_numpy()
    ours, theirs = (
        PanelTimeSeriesSplit(**options).split(X),
        TimeSeriesSplit(**options).split(X),
    )
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(mine[0], other[0])
        np.testing.assert_array_equal(mine[1], other[1])


@pytest.mark.parametrize("as_kind", [np.asarray, lambda X: X.to_numpy().tolist()])
def test_the_series_may_be_named_by_y(as_kind):
    """A scaler before has made an array, or a list, of X."""
    X = panel()
    splitter = PanelTimeSeriesSplit(3)
    for mine, other in zip(
        splitter.split(as_kind(X), X["load"]), splitter.split(X), strict=True
    ):
        np.testing.assert_array_equal(mine[0], other[0])
        np.testing.assert_array_equal(mine[1], other[1])


def test_a_splitter_counts_its_splits_and_shows_its_parameters():
    """Searches ask for both."""
    splitter = PanelTimeSeriesSplit(4, gap=2)
    assert splitter.get_n_splits() == 4
    shown = repr(splitter)
    assert shown.startswith("PanelTimeSeriesSplit(")
    assert "gap=2" in shown
    assert clone(splitter, safe=False).gap == 2


def test_too_few_times_are_refused_by_sklearn():
    """Rows are not times: eight series of three hours are three moments."""
    X = pd.concat(dict.fromkeys("abcdefgh", panel().loc["a"].iloc[:3]))
    with pytest.raises(
        ValueError, match=r"^Cannot have number of folds=6 greater than"
    ):
        next(PanelTimeSeriesSplit(5).split(X))


@pytest.mark.parametrize("panel", [False, True], ids=["one", "panel"])
def test_no_test_row_is_trained_on(panel):
    """A gap below zero let scikit-learn do so."""
    index = pd.MultiIndex.from_product([["a", "b"], range(20)]) if panel else range(40)
    with pytest.raises(
        ValueError, match=r"^gap=-1 must be 0 or more: below it test rows would"
    ):
        list(PanelTimeSeriesSplit(2, gap=-1).split(pd.DataFrame({"load": 0.0}, index)))
