"""
Forecast your own CSV
=====================

The quickstart for a file of yours, with one row for each time step, a column of dates, and columns
of numbers or text. It prints the errors over the last rows, saves a plot of them, and writes the
forecast of future rows into a CSV of the same form::

    python examples/forecast_csv.py load.csv --target load --pred-len 24
    python examples/forecast_csv.py sales.csv --series shop --known price promotion --coverage 0.8

The last rows of the file may contain future covariates and an empty target: these rows are
forecast.
"""

import argparse
import sys
import warnings
from math import floor, log10
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from comparison import (
    OUTPUT,
    compare,
    error_table,
    make_rivals,
    picture_path,
    save_picture,
)
from csv_cells import InputError, and_more
from csv_timeline import Timeline, read_timeline

from skinformer import InformerRegressor, Training
from skinformer.timeline.clock import Clock


def parse_options(argv: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description="Forecast a column of a CSV with an Informer."
    )
    parser.add_argument("path", type=Path, help="the CSV")
    parser.add_argument(
        "--target", help="column to forecast (default: the last numeric column)"
    )
    parser.add_argument(
        "--series", help="column with the names of several series in one file"
    )
    parser.add_argument(
        "--known",
        action="extend",
        nargs="+",
        default=[],
        metavar="COLUMN",
        help="future covariates: columns known in advance, such as a promotion",
    )
    parser.add_argument(
        "--coverage",
        type=float,
        help="add a prediction interval with this coverage, such as 0.8",
    )
    sizes = parser.add_argument_group("sizes")
    sizes.add_argument(
        "--seq-len", type=int, default=96, help="rows that a forecast is based on"
    )
    sizes.add_argument("--pred-len", type=int, default=24, help="rows to forecast")
    sizes.add_argument(
        "--test",
        type=int,
        help="rows to test on (default: 4 times pred-len, at most a quarter of the file)",
    )
    sizes.add_argument("--epochs", type=int, help="largest number of training epochs")
    add_form_options(parser)
    parser.add_argument(
        "--output", type=Path, default=OUTPUT, help="folder or file of the plot"
    )
    return parser.parse_args(argv)


def add_form_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how a file is written."""
    form = parser.add_argument_group(
        "form of the file, where it does not show by itself"
    )
    form.add_argument(
        "--sep", type=separator, help="separator of columns, such as ; or tab"
    )
    form.add_argument("--decimal", choices=[".", ","], help="decimal sign")
    form.add_argument(
        "--dayfirst",
        action=argparse.BooleanOptionalAction,
        help="whether 01/02/2024 is 1 February (or January 2)",
    )
    form.add_argument(
        "--time",
        action="append",
        help="column of dates; give it twice for a date and a time of day",
    )
    form.add_argument("--freq", help="step between rows, such as h, D or MS")
    form.add_argument(
        "--duplicates",
        choices=["mean", "first", "last"],
        help="what to do with several rows of the same time",
    )


def separator(text: str) -> str:
    """Read one sign, or its name."""
    sep = {"tab": "\t", r"\t": "\t", "space": " "}.get(text, text)
    if len(sep) != 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not one sign, or the word tab")
    return sep


def check_sizes(options: argparse.Namespace) -> None:
    """Check the sizes asked for."""
    for name in ("seq_len", "pred_len", "test", "epochs"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise InputError(f"--{name.replace('_', '-')} {value}: must be at least 1.")
    if options.coverage is not None and not 0 < options.coverage < 1:
        raise InputError(
            f"--coverage {options.coverage:g}: must lie between 0 and 1, such as 0.8."
        )


def by_series(frame: pd.DataFrame) -> dict[str, Any]:
    """Return the arguments of `groupby` that group the rows of each series."""
    return {"level": 0} if frame.index.nlevels > 1 else {"by": lambda _: 0}


def split(
    frame: pd.DataFrame, options: argparse.Namespace
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Part, of each series, the rows to train on, those to test on and those to come."""
    # 1. Rows to come lie after the last one with a target.
    observed = frame.iloc[:, -1].notna()
    is_past = observed[::-1].groupby(**by_series(frame)).cummax()[::-1]
    to_come = frame[~is_past]
    frame = frame[is_past]
    # 2. Series that are long enough.
    n_rows = frame.groupby(**by_series(frame)).size()
    longest = n_rows.max()
    n_test = options.test or choose_n_test(longest, options.pred_len)
    needed = n_test + 2  # one row to forecast from, one to forecast
    if longest < needed:
        where = "" if options.series is None else " in the longest series"
        raise InputError(
            f"{longest} rows{where} are too few: {n_test} to test on and 2 to train on are needed; "
            "lower --test."
        )
    if options.series is not None:
        short = list(n_rows.index[n_rows < needed])
        if short:
            print(f"left out, series of fewer than {needed} rows: {short}")
        frame = frame[~frame.index.isin(short, level=0)]
        to_come = to_come[~to_come.index.isin(short, level=0)]
    # 3. Test rows are the last ones.
    n_after = frame.groupby(**by_series(frame)).cumcount(ascending=False)
    return frame[n_after >= n_test], frame[n_after < n_test], to_come


def choose_n_test(n_rows: int, pred_len: int) -> int:
    """Choose how many of so many rows are tested on: 4 forecasts, of few rows a quarter."""
    n_forecasts = min(4, n_rows // (4 * pred_len))
    if n_forecasts:
        return n_forecasts * pred_len
    return -(-n_rows // 4)


def check_values(train: pd.DataFrame) -> None:
    """Raise where a column has nothing to learn from."""
    for name in train:
        if train[name].isna().all():
            raise InputError(
                f"column {name!r} is empty in all rows to train on; lower --test."
            )


def rows_ahead(to_come: pd.DataFrame) -> pd.DataFrame:
    """Leave out rows to come that the shortest series has not: all are forecast equally far."""
    if not len(to_come):
        return to_come
    groups = to_come.groupby(**by_series(to_come))
    return groups.head(groups.size().min())


def check_known(rows: pd.DataFrame, timeline: Timeline, known: list[str]) -> None:
    """Raise where a column known ahead has no value in a row to come."""
    for name in known:
        missing = rows.index[rows[name].isna()]
        if not len(missing):
            continue
        row = missing[0]
        if row in timeline.lines.index:
            fault = f"line {timeline.lines[row]}: {name!r} is empty"
        elif rows.index.nlevels > 1:
            fault = f"no line is of {row[1]} of {row[0]!r}"
        else:
            fault = f"no line is of {row}"
        raise InputError(
            f"{fault}{and_more(len(missing))}, and --known {name} needs a value in each "
            "row to come; fill it in, or end the file before."
        )


def rows_of_a_week(clock: Clock, pred_len: int) -> int | None:
    """Count the rows of a week; None if the step does not divide it or forecasts are longer."""
    start = clock.labels(np.array([0]))
    [n_rows] = clock.steps(start + pd.Timedelta(days=7))  # negative between two steps
    return int(n_rows) if n_rows >= max(2, pred_len) else None


def run(options: argparse.Namespace) -> None:
    """Read the file, fit, compare, and forecast the rows to come."""
    check_sizes(options)
    picture = picture_path(options.output, f"{options.path.name.split('.')[0]}.png")
    # 1. Rows.
    timeline = read_timeline(options)
    frame = timeline.frame
    target = frame.columns[-1]
    train, test, to_come = split(frame, options)
    check_values(train)
    if options.known:
        to_come = rows_ahead(to_come)
        check_known(to_come, timeline, options.known)
    print(f"{len(train)} rows to train on, {len(test)} to test on, target {target!r}")
    unused = [name for name in frame.columns[:-1] if to_come[name].notna().any()]
    if unused and not options.known:
        names = " ".join(unused)
        print(f"columns with values in rows to come are used by --known {names}")
    # 2. The model, beside its rivals on the test rows.
    informer = make_model(target, options)
    informer.fit(train)
    rivals = make_rivals(
        [target],
        seq_len=options.seq_len,
        pred_len=options.pred_len,
        season=rows_of_a_week(timeline.clock, options.pred_len),
    )
    results = compare(informer, rivals, train, test, coverage=options.coverage)
    show_errors(results, target, options)
    draw_series(results["InformerRegressor"], target, options, picture)
    # 3. The rows to come.
    ahead = forecast(informer, test, to_come, options)
    if ahead is not None:
        path = picture.with_name(f"{picture.stem}_forecast.csv")
        timeline.write(ahead, path)
        print(f"\nThe {len(ahead)} rows to come: {path}\n")
        first = timeline.written(ahead.head(3))
        print(first.to_string(index=False, float_format="{:.5g}".format))


def make_model(target: str, options: argparse.Namespace) -> InformerRegressor:
    """Make the forecaster, which takes columns of text and gaps as they are."""
    return InformerRegressor(
        target=[target],
        known_future=options.known or None,
        seq_len=options.seq_len,
        pred_len=options.pred_len,
        freq=options.freq,
        random_state=0,
        verbose=1,
        training=Training(max_iter=options.epochs),
    )


def show_errors(
    results: dict[str, pd.DataFrame], target: str, options: argparse.Namespace
) -> None:
    """Print the errors over the test rows, and how many of these an interval holds."""
    result = results["InformerRegressor"]
    by = "target" if options.series is None else "series"
    n_test = result.groupby(by).size().max()
    print(f"\nMean absolute error of {target!r} over the last {n_test} rows:\n")
    table = error_table(results, by)
    if options.series is None or len(table.columns) > 7:  # too wide for a screen
        table = table["all"].rename("MAE").to_frame()
    smallest = table.where(table > 0).min(axis=None)
    n_decimals = 0 if pd.isna(smallest) else max(0, 3 - floor(log10(smallest)))
    print(table.to_string(float_format=f"{{:.{n_decimals}f}}".format))
    if options.coverage is not None:
        known = result.dropna(subset="actual")
        low, high = [name for name in known if name.startswith("q")]
        inside = known["actual"].between(known[low], known[high]).mean()
        print(
            f"\n{inside:.0%} of these rows lie within their {options.coverage:.0%} interval."
        )


def draw_series(
    result: pd.DataFrame, target: str, options: argparse.Namespace, picture: Path
) -> None:
    """Save a picture of the forecasts of one series, the first of several."""
    title = target
    if options.series is not None:
        series = result["series"].iloc[0]
        result = result[result["series"] == series]
        title = f"{target} of {series}"
    title += f": forecast {options.pred_len} rows at a time"
    save_picture(result, picture, target=target, title=title, ylabel=target)
    print(f"\nForecast against actual: {picture}")


def forecast(
    informer: InformerRegressor,
    test: pd.DataFrame,
    to_come: pd.DataFrame,
    options: argparse.Namespace,
) -> pd.DataFrame | None:
    """Forecast from the last row of the target on; None where nothing is known ahead."""
    n_known = to_come.groupby(**by_series(to_come)).size()
    horizon = None
    if options.known:
        if not len(n_known):
            names = ", ".join(options.known)
            print(
                f"\nNo rows to come: for their forecast, add rows with {names} and no target."
            )
            return None
        horizon = n_known.min()  # of each series
        if options.series is not None:
            without = test.index.unique(0).difference(n_known.index)
            if len(without):
                print(f"\nnot forecast, series without rows to come: {list(without)}")
            test = test[test.index.isin(n_known.index, level=0)]
    rows = pd.concat([test, to_come]).sort_index()
    return informer.forecast(rows, horizon, coverage=options.coverage)


class NotesOnce:
    """Print each message of a warning once, wherever it comes from.

    The filter "once" of Python counts each file that warns by itself.
    """

    def __init__(self) -> None:
        self._printed: set[str] = set()

    def __call__(self, message: Warning | str, *_: object) -> None:
        """Print what `warnings.showwarning` gets."""
        text = str(message)
        if text not in self._printed:
            self._printed.add(text)
            print(f"note: {text}")


def main(argv: list[str] | None = None) -> int:
    """Return the exit status: 2 for input that cannot be used, with one line that says why."""
    options = parse_options(argv)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = NotesOnce()
            run(options)
    except (InputError, OSError, ValueError, ArithmeticError) as error:
        print(
            f"forecast_csv: {options.path}: {' '.join(str(error).split())}",
            file=sys.stderr,
        )
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
