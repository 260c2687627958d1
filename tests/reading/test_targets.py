"""One finder of targets: whoever asks, the answer is the same."""

import re

import numpy as np
import pandas as pd
import pytest

from skinformer import InformerRegressor, MaskFuture
from skinformer.estimators.reading import reading_settings
from skinformer.evaluation import SeasonalNaive, backtest
from skinformer.reading.targets import find_known, find_targets, read_targets
from skinformer.reading.training import read_training

DAYS = pd.date_range("2024-01-01", periods=40, freq="D")
VALUES = np.random.default_rng(0).normal(size=(40, 3))
FRAME = pd.DataFrame(VALUES, index=DAYS, columns=["price", "load", "flow"])


HEAT = pd.Series(
    np.random.default_rng(1).normal(size=len(FRAME)), FRAME.index, name="heat"
)


def roles_of(X, y=None, **parameters):
    model = InformerRegressor(seq_len=8, pred_len=2, **parameters)
    return read_training(model, X, y, None, reading_settings(model)).roles


@pytest.mark.parametrize("target", [None, "load", ["load"], ["flow", "price"]])
def test_estimators_transformers_and_yardsticks_find_the_same_targets(target):
    """A model and what it is measured by must not forecast different columns."""
    found = roles_of(FRAME, target=target).targets
    yardstick = SeasonalNaive(target=target).fit(FRAME)
    assert [FRAME.columns[j] for j in yardstick.targets_] == list(found)
    hidden = MaskFuture(target=target, known_future=list(set(FRAME) - set(found))).fit(
        FRAME
    )
    assert {FRAME.columns[j] for j in hidden.hidden_} == set(found)


@pytest.mark.parametrize(
    ("target", "y", "places"),
    [
        (None, FRAME["load"], [1]),
        (None, FRAME[["flow", "load"]], [2, 1]),
        (None, HEAT, []),
        (None, HEAT.to_numpy(), []),
        ("load", FRAME["load"].to_numpy(), [1]),
        ("heat", HEAT.to_numpy(), []),
        ("heat", HEAT, []),
    ],
)
def test_with_y_they_find_them_in_the_same_place(target, y, places):
    """Empty where y alone holds them."""
    roles = roles_of(FRAME, 2 * y, target=target)
    assert (roles.mode == "features") == (not places)
    if places:
        assert [FRAME.columns.get_loc(name) for name in roles.targets] == places
    assert SeasonalNaive(target=target).fit(FRAME, y).targets_ == places


@pytest.mark.parametrize("target", ["load", ["load"]])
def test_a_prefixed_target_is_never_taken_for_a_feature(target):
    """A transformer's prefix would have the yardstick learn from y, and the model from its leak."""
    X, y = FRAME.add_prefix("num__"), FRAME["load"].to_numpy()
    message = (
        f"target='load' is not a column of X: the columns are {list(X.columns)}. Name one of them; "
        "verbose_feature_names_out=False keeps a ColumnTransformer from prefixing names."
    )
    for read in (
        lambda: roles_of(X, y, target=target),
        lambda: SeasonalNaive(target=target).fit(X, y),
        lambda: MaskFuture(target=target).fit(X),
    ):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            read()


def test_a_target_that_is_named_like_the_calendar_is_not_known_ahead():
    """It would stand among the inputs of its own steps, and in the rows that backtest shows."""
    name = "calendar__hour_sin"
    df = FRAME.rename(columns={"flow": name})
    roles = roles_of(df)
    assert (roles.targets, roles.past, roles.known) == ((name,), ("price", "load"), ())
    told = []

    class Last(SeasonalNaive):
        def predict(self, X):
            told.append(X[name].isna().to_numpy())
            return super().predict(X)

    backtest(Last().fit(df[:30]), df[30:34], df[name][30:34], horizon=2)
    assert [list(hidden) for hidden in told] == [[True] * 2, [False] * 2 + [True] * 2]


def test_known_columns_keep_their_order():
    """Weights belong to places."""
    names = ["b", "a__calendar__hour_sin", "load", "a"]
    assert find_known(names, ["a", "b"], ["load"]) == (
        "b",
        "a__calendar__hour_sin",
        "a",
    )


def test_names_of_an_array_match_no_names_of_y():
    """Column 0 of an array is a place, and a y named 0 something else."""
    names = read_targets(pd.Series([1.0, 2.0], name=0)).own_names
    assert find_targets(None, [0, 1], named=False, y_names=names) == ()
    assert find_targets(None, [0, 1], named=True, y_names=names) == (0,)
