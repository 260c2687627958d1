"""Reducers, samplers, shufflers and one-row calls: what cannot work is refused or warned of."""

import numpy as np
import pandas as pd
import pytest
from flat_parameters import with_parts
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.model_selection import KFold, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline

from skinformer import InformerRegressor

SMALL = {
    "seq_len": 24, "pred_len": 6, "d_model": 8, "n_heads": 2, "max_iter": 1, "random_state": 0
}  # fmt: skip


@pytest.fixture(scope="module")
def df():
    rng = np.random.default_rng(0)
    hours = pd.date_range("2024-01-01", periods=300, freq="h")
    wave = np.sin(np.arange(300) * 2 * np.pi / 24)
    columns = {"temp": rng.normal(size=300), "wind": rng.normal(size=300)}
    return pd.DataFrame(
        {**columns, "load": wave + rng.normal(scale=0.3, size=300)}, index=hours
    )


def test_a_reducer_of_the_drivers_alone_passes_the_target_through(df):
    """The message's own advice works, and keeps the components out of the future."""
    reduce = ColumnTransformer(
        [("pca", PCA(), ["temp", "wind"])],
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    pipeline = make_pipeline(
        reduce, InformerRegressor("load", **with_parts(**SMALL))
    ).fit(df)
    assert pipeline[-1].roles_.past == ("pca0", "pca1")
    assert len(pipeline.predict(df)) == len(df)


def _draw(model, df, how):
    if how == "folds":
        folds = KFold(3, shuffle=True, random_state=0)
        return cross_val_score(model, df, df["load"], cv=folds, error_score="raise")
    if how == "train_test_split":
        return model.fit(train_test_split(df, random_state=0)[0])
    return model.fit(df.sample(frac=0.7, random_state=0).sort_index())


@pytest.mark.parametrize("how", ["folds", "train_test_split", "sample"])
def test_shufflers_and_samplers_of_dated_rows_are_refused(df, how):
    """Rows out of order, or with gaps, are no timeline."""
    model = InformerRegressor("load", **with_parts(**SMALL))
    with pytest.raises(
        ValueError, match=r"^X.index (is not in time order|lacks \d+ timestamps)"
    ):
        _draw(model, df, how)


# One-row calls


@pytest.fixture(scope="module")
def model(df):
    return InformerRegressor("load", **with_parts(**SMALL)).fit(df[["load"]][:200])


@pytest.mark.slow
@pytest.mark.parametrize("ahead", [6, 23, 24])
def test_a_row_by_itself_beyond_the_first_block_is_warned_of(df, model, ahead):
    """Row by row a test set was forecast without what had been observed; all at once with it."""
    row = df[["load"]][200 + ahead :][:1]
    with pytest.warns(
        UserWarning, match=rf"^X begins {ahead} steps after the history: the steps"
    ):
        alone = model.predict(row)
    together = model.predict(df[["load"]][200 : 201 + ahead])
    assert alone[0] != together[-1]


def test_rows_that_need_no_others_are_not_warned_of(df, model):
    """In the first block, in sample, ahead of any truth, or several with a gap, as by folds."""
    rows = df[["load"]]
    for i in (150, 200, 205):
        model.predict(rows[i : i + 1])
    model.predict(model.make_future_frame(20)[-1:])
    model.predict(rows[210:220])
    model.update(rows[200:206]).predict(rows[206:207])


@pytest.mark.slow
def test_a_panel_is_warned_of_the_series_whose_row_stands_alone(df):
    """One that is up to date must not hide one that is not."""
    rows = pd.concat({"a": df[["load"]], "b": df[["load"]]}, names=["site", "time"])
    early = rows[rows.index.get_level_values(1) < df.index[200]]
    fitted = InformerRegressor("load", **with_parts(**SMALL)).fit(early)
    good = rows.loc[["a"]][200:210]
    with pytest.warns(UserWarning, match="^X begins 9 steps after the history"):
        fitted.predict(pd.concat([good, rows.loc[["b"]][209:210]]))
    fitted.predict(good)
