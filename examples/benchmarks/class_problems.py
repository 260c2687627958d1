"""Problems of classes on public series, and what a user would pick instead.

Each problem is forecast from every `pred_len`-th row, fitted once on what lies before; the rows
before the test rows are for choices. References read the classes up to the origin, nothing later.
"""

import argparse
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skinformer import InformerClassifier
from skinformer.datasets import load_auckland_pedestrians

DATA = Path(os.environ.get("SKINFORMER_BENCH_DATA", "../shared/data"))
LEVELS = ["quiet", "normal", "busy"]
DAY = 24


@dataclass(frozen=True)
class Problem:
    """A frame whose column `target` holds classes, and the rows that are forecast."""

    name: str
    df: pd.DataFrame
    target: str
    pred_len: int
    seq_len: int
    n_test: int
    lags: int
    known: tuple[str, ...] = ()

    def parts(self, *, test: bool) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return training rows and those to forecast: the last ones, or those before them."""
        stop = len(self.df) if test else len(self.df) - self.n_test
        return self.df[: stop - self.n_test], self.df[stop - self.n_test : stop]


def levels(values: pd.Series, n_train: int) -> pd.Series:
    """Cut numbers into quiet, normal and busy by the thirds of the training rows."""
    low, high = values[:n_train].quantile([1 / 3, 2 / 3])
    cut = pd.cut(values, [-np.inf, low, high, np.inf], labels=LEVELS)
    return cut.rename("level")


def crowd(street: str = "45 Queen Street") -> Problem:
    """Forecast how crowded each hour of tomorrow is."""
    n_test = 8 * 7 * DAY
    people = load_auckland_pedestrians()[street]
    frame = pd.DataFrame(
        {"people": people, "level": levels(people, len(people) - 2 * n_test)}
    )
    return Problem("crowd", frame, "level", DAY, 168, n_test, 168)


def bike_level() -> Problem:
    """Forecast how many ride tomorrow, the weather forecast known."""
    df = pd.read_csv(DATA / "drivers/bike_sharing.csv.gz", parse_dates=["date_time"])
    df = df.set_index("date_time").asfreq("h")
    n_test = 60 * DAY
    known = ("holiday", "workingday", "temp", "hum", "windspeed")
    frame = df[[*known]].assign(level=levels(df["users"], len(df) - 2 * n_test))
    return Problem("traffic level", frame, "level", DAY, 168, n_test, 168, known)


def weather() -> Problem:
    """Forecast whether each hour of tomorrow is clear, misty or rainy."""
    df = pd.read_csv(DATA / "drivers/bike_sharing.csv.gz", parse_dates=["date_time"])
    df = df.set_index("date_time").asfreq("h")
    return Problem(
        "weather",
        df[["temp", "hum", "windspeed", "weather"]],
        "weather",
        DAY,
        168,
        60 * DAY,
        72,
    )


def rain() -> Problem:
    """Forecast whether it rains on each of the next seven days."""
    df = pd.read_csv(DATA / "seattle-weather.csv", parse_dates=["date"]).set_index(
        "date"
    )
    df = df.asfreq("D")
    frame = df[["temp_max", "temp_min", "wind"]].assign(
        rain=np.where(df["precipitation"] > 0, "rain", "dry")
    )
    return Problem("rain", frame, "rain", 7, 28, 196, 28)


def price() -> Problem:
    """Forecast whether the S&P 500 rises on each of the next five days."""
    df = pd.read_csv(DATA / "sp500.csv.gz", index_col=0, parse_dates=True)
    change = np.log(df["Adj Close"]).diff().dropna()
    frame = pd.DataFrame({"change": change.to_numpy(), "rises": change.to_numpy() > 0})
    return Problem("price", frame, "rises", 5, 60, 500, 60)


def transformer() -> Problem:
    """Forecast whether the oil is cool, warm or hot in each hour of tomorrow."""
    df = (
        pd.read_csv(DATA / "ETTh1.csv", parse_dates=["date"])
        .set_index("date")
        .asfreq("h")
    )
    n_test = 120 * DAY
    frame = df.assign(level=levels(df["OT"], len(df) - 2 * n_test))
    return Problem("oil", frame, "level", DAY, 168, n_test, 168)


PROBLEMS = {
    "crowd": crowd,
    "traffic": bike_level,
    "weather": weather,
    "rain": rain,
    "price": price,
    "oil": transformer,
}


# %%
# What a user would pick instead. Each gives probabilities of the test rows, classes sorted.


def frequencies(train: pd.Series, rows: pd.Index, cells) -> pd.DataFrame:
    """Count classes in each cell; one truth more of each class by its share."""
    share = train.value_counts(normalize=True).sort_index()
    counts = pd.crosstab(cells(train.index), train.to_numpy()).reindex(
        columns=share.index
    )
    table = counts.add(1.0 * share, axis=1)
    table = table.div(table.sum(axis=1), axis=0)
    wanted = table.reindex(cells(rows))
    return wanted.fillna(share).to_numpy()


def hour_and_weekday(index: pd.Index):
    if isinstance(index, pd.DatetimeIndex):
        return index.day_of_week * 24 + index.hour
    return np.asarray(index) % 5


def all_rows(index: pd.Index):
    return np.zeros(len(index), dtype=int)


def codes_of(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    labels = problem.df[problem.target].astype(object).to_numpy()
    classes, codes = np.unique(labels, return_inverse=True)
    return classes, codes


def transition(problem: Problem, n_train: int, rows: np.ndarray) -> np.ndarray:
    """How often each class is so many steps after the last known one."""
    _, codes = codes_of(problem)
    n_classes = codes.max() + 1
    one = np.eye(n_classes)[codes]
    share = one[:n_train].mean(axis=0)
    out = np.empty((len(rows), n_classes))
    for i, row in enumerate(rows):
        lag = (row - rows[0]) % problem.pred_len + 1
        if i < problem.pred_len:
            counts = one[: n_train - lag].T @ one[lag:n_train] + share
            transition.table[lag] = counts / counts.sum(axis=1, keepdims=True)
        out[i] = transition.table[lag][codes[row - lag]]
    return out


transition.table = {}


def lag_table(problem: Problem, *, numbers: bool, one_hot: bool) -> np.ndarray:
    """Make lags that are known at every origin, `pred_len` steps and older, and the calendar."""
    # 1. What lags are of: the class, and other columns that are not known ahead.
    _, codes = codes_of(problem)
    columns = [np.eye(codes.max() + 1)[codes] if one_hot else codes[:, None]]
    known = list(problem.known)
    if numbers:
        others = problem.df.columns.drop([problem.target, *known])
        columns.append(problem.df[others].to_numpy(dtype=float))
    values = np.hstack(columns).astype(float)
    # 2. Lags.
    table = []
    for lag in range(problem.pred_len, problem.pred_len + problem.lags):
        moved = np.full_like(values, np.nan)
        moved[lag:] = values[:-lag]
        table.append(moved)
    # 3. What is known ahead.
    table.append(problem.df[known].to_numpy(dtype=float))
    index = problem.df.index
    if isinstance(index, pd.DatetimeIndex):
        table.append(calendar(index, one_hot=one_hot))
    return np.hstack(table)


def calendar(index: pd.DatetimeIndex, *, one_hot: bool) -> np.ndarray:
    """Make columns of hour, weekday and month; with the hour of the week if they are 0 or 1."""
    fields = pd.DataFrame()
    fields["hour"] = index.hour
    fields["weekday"] = index.day_of_week
    fields["month"] = index.month
    if one_hot:
        fields["hour of the week"] = index.day_of_week * 24 + index.hour
        fields = pd.get_dummies(fields.astype(str))
    return fields.to_numpy(dtype=float)


def learnt(problem: Problem, n_train: int, rows: np.ndarray, kind: str) -> np.ndarray:
    _, codes = codes_of(problem)
    first = problem.pred_len + problem.lags
    one_hot = kind == "logistic"
    table = lag_table(problem, numbers=not one_hot, one_hot=one_hot)
    model = (
        make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=2000))
        if one_hot
        else HistGradientBoostingClassifier(random_state=0)
    )
    model.fit(table[first:n_train], codes[first:n_train])
    return model.predict_proba(table[rows])


def references(
    problem: Problem, n_train: int, rows: np.ndarray
) -> dict[str, np.ndarray]:
    labels = problem.df[problem.target].astype(object)
    train, index = labels[:n_train], problem.df.index[rows]
    _, codes = codes_of(problem)
    n_classes = codes.max() + 1
    naive = np.empty((len(rows), n_classes))
    lag = (rows - rows[0]) % problem.pred_len + 1
    stays = np.mean(
        codes[problem.pred_len : n_train] == codes[: n_train - problem.pred_len]
    )
    naive[:] = (1 - stays) / (n_classes - 1)
    naive[np.arange(len(rows)), codes[rows - lag]] = stays
    transition.table = {}
    return {
        "last class": naive,
        "all rows": frequencies(train, index, all_rows),
        "hour x weekday": frequencies(train, index, hour_and_weekday),
        "transitions": transition(problem, n_train, rows),
        "logistic on lags": learnt(problem, n_train, rows, "logistic"),
        "boosting on lags": learnt(problem, n_train, rows, "boosting"),
    }


# %%
# Scores.


def log_loss(codes: np.ndarray, probabilities: np.ndarray) -> float:
    came = np.maximum(probabilities[np.arange(len(codes)), codes], 1e-15)
    return float(-np.log(came).mean())


def balanced_accuracy(codes: np.ndarray, probabilities: np.ndarray) -> float:
    right = probabilities.argmax(axis=1) == codes
    return float(np.mean([right[codes == k].mean() for k in np.unique(codes)]))


def calibration_error(
    codes: np.ndarray, probabilities: np.ndarray, n_bins: int = 10
) -> float:
    """Compute the expected calibration error of the forecast class, by ten bins of equal width."""
    sure, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == codes
    place = np.minimum((sure * n_bins).astype(int), n_bins - 1)
    gaps = [
        np.sum(place == k) * abs(sure[place == k].mean() - right[place == k].mean())
        for k in np.unique(place)
    ]
    return float(np.sum(gaps) / len(codes))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problems", nargs="*", default=list(PROBLEMS))
    parser.add_argument("--test", action="store_true", help="forecast the test rows")
    args = parser.parse_args()
    for name in args.problems:
        problem = PROBLEMS[name]()
        train, rows = problem.parts(test=args.test)
        at = len(train) + np.arange(len(rows))
        truth = codes_of(problem)[1][at]
        model = InformerClassifier(
            problem.target,
            seq_len=problem.seq_len,
            pred_len=problem.pred_len,
            known_future=list(problem.known) or None,
            random_state=0,
        ).fit(train)
        forecasts = references(problem, len(train), at)
        forecasts["InformerClassifier"] = model.predict_proba(rows)
        scores = (log_loss, balanced_accuracy, calibration_error)
        table = {
            n: [score(truth, each) for score in scores] for n, each in forecasts.items()
        }
        print(name, model.leaderboard().weight.to_dict(), model.temperature_)
        columns = ["log loss", "balanced accuracy", "calibration error"]
        print(pd.DataFrame(table, index=columns).T.round(4).to_string())


if __name__ == "__main__":
    main()
