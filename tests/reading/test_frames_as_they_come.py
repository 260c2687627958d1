"""Tables of the kinds that people ask about: a forecast, or one sentence that says what to type."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from versions import TEXT

from skinformer import InformerRegressor

N = 120
DAYS = pd.date_range("2024-01-01", periods=N, freq="D")
NOISE = np.random.default_rng(0).normal(0, 0.1, N)
SALES = 10 + np.sin(np.arange(N) * 2 * np.pi / 7) + NOISE
TO_COME = 10 + np.sin(np.arange(N, N + 7) * 2 * np.pi / 7)


def days(**columns):
    return pd.DataFrame({"sales": SALES, **columns}, index=DAYS)


def model(target="sales"):
    return InformerRegressor(
        target, seq_len=14, pred_len=7, members=["classical", "ridges"]
    )


@pytest.mark.parametrize(
    ("frame", "told"),
    [
        (days(code=[str(i) if i % 3 else i for i in range(N)]), []),
        (days(empty=np.nan), ["columns ['empty'] have no values"]),
        (days(kind=np.where(np.arange(N) % 9 == 0, None, "sun")), []),
        (days(kind=pd.Categorical(np.resize(["sun", "rain"], N))), []),
        (
            pd.DataFrame({"date": DAYS.strftime("%Y-%m-%d"), "sales": SALES}),
            ["the times of rows are those of column 'date'"],
        ),
        (
            days().drop(index=DAYS[[50, 51, 70]]),
            [
                "there are no rows for 3 time steps (frequency 'D'), the first 2024-02-20"
            ],
        ),
        (
            days(price=np.where(np.arange(N) % 11 == 0, np.nan, 2.0)),
            ["columns have missing values: 'price' (9.2%)"],
        ),
        (days().astype({"sales": "Float64"}), []),
        (days().tz_localize("Europe/Berlin"), []),
        (pd.DataFrame({"sales": SALES}), []),
    ],
    ids=[
        "numbers, some as text",
        "an empty column",
        "text with holes",
        "categories",
        "dates as text in a column",
        "days that are not there",
        "holes in a price",
        "nullable numbers",
        "a time zone",
        "numbered rows",
    ],
)
def test_they_are_forecast(frame, told):
    """A week that goes on, within four times its noise; what is assumed of rows is said once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        forecast = model().fit(frame).forecast()
    np.testing.assert_allclose(forecast["sales"].to_numpy(float), TO_COME, atol=0.4)
    assert len(caught) == len(told)
    for warning, beginning in zip(caught, told, strict=True):
        assert str(warning.message).startswith(beginning)


@pytest.mark.parametrize(
    ("frame", "sentence"),
    [
        (
            days().assign(sales=[f"{x:.2f}".replace(".", ",") for x in SALES]),
            f"could not convert column 'sales' of dtype {TEXT} to float: it holds '10,01'. "
            "Decimals stand behind a comma: read the file with pd.read_csv(path, decimal=',').",
        ),
        (
            days().assign(
                sales=[
                    f"{1000 * x:,.2f}".translate(str.maketrans(",.", ".,"))
                    for x in SALES
                ]
            ),
            f"could not convert column 'sales' of dtype {TEXT} to float: it holds '10.012,57'. "
            "Thousands are parted by points, and decimals stand behind a comma: read the file "
            "with pd.read_csv(path, decimal=',', thousands='.').",
        ),
        (
            days().assign(sales=[f"{1000 * x:,.2f}" for x in SALES]),
            f"could not convert column 'sales' of dtype {TEXT} to float: it holds '10,012.57'. "
            "Thousands are parted by commas: read it with pd.read_csv(path, thousands=',').",
        ),
        (
            days(share=[f"{i % 50}%" for i in range(N)]),
            f"could not convert column 'share' of dtype {TEXT} to float: it holds '0%'. Take the "
            "sign off, X['share'] = X['share'].str.rstrip('% ').astype(float).",
        ),
        (
            days().assign(sales=[f"${1000 * x:,.2f}" for x in SALES]),
            f"could not convert column 'sales' of dtype {TEXT} to float: it holds '$10,012.57'. "
            "Take the sign off, X['sales'] = X['sales'].str.replace(r'[^\\d.-]', '', "
            "regex=True).astype(float).",
        ),
        (
            pd.DataFrame({"ds": [*DAYS, *DAYS], "sales": [*SALES, *SALES]}),
            "column 'ds' holds 120 times again, the first '2024-01-01 00:00:00': keep one row a "
            "time, X.drop_duplicates(['ds']), or name the column of the series that they are of, "
            "series='shop'.",
        ),
        (
            days(order=[f"A-{i:05}" for i in range(N)]).rename(
                columns={"sales": "sum"}
            ),
            "target='sales' is not a column of X: the columns are ['sum', 'order']. Name one of "
            "them; verbose_feature_names_out=False keeps a ColumnTransformer from prefixing names.",
        ),
        (
            pd.DataFrame({"day": DAYS.strftime("%d.%m.%Y"), "sales": SALES})[::-1],
            "column 'day' is not in time order: call X.sort_values(['day']) before fit; in "
            "cross-validation use TimeSeriesSplit, which keeps the order.",
        ),
        (
            pd.DataFrame(
                {"ordered": DAYS, "sent": DAYS + pd.Timedelta("1D"), "sales": SALES}
            ),
            "columns ['ordered', 'sent'] hold dates: name the one that is the time of each row, "
            "time='ordered', and drop the others or make numbers of them, such as days until then.",
        ),
        (
            days(order=[f"A-{i:05}" for i in range(N)]),
            "column 'order' holds 120 different values in 120 rows, more than one in "
            "ten rows: it looks like an id or a comment, from which nothing can be "
            "learnt. Drop it, X.drop(columns=['order']), or group its values into "
            "fewer; names of series belong in the index, X.set_index([series, time]), "
            "and text that holds numbers is converted by pd.to_numeric.",
        ),
        (
            pd.DataFrame(np.c_[SALES, SALES], columns=["sales", "sales"], index=DAYS),
            "X has several columns named 'sales': give each its own name.",
        ),
    ],
    ids=[
        "decimal commas",
        "points between thousands",
        "commas between thousands",
        "percent signs",
        "amounts of money",
        "a panel without names",
        "a misspelt target beside an order number",
        "the newest first",
        "two columns of dates",
        "an order number",
        "a name twice",
    ],
)
def test_or_one_sentence_says_what_to_type(frame, sentence):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
            model().fit(frame)
