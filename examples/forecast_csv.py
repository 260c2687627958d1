"""
Forecast your own CSV
=====================

The quickstart for a file of yours: one row a time step, one column of dates, one or more of
numbers. Prints the errors over the last rows and saves a picture::

    python examples/forecast_csv.py load.csv --target load --pred-len 24
"""

import argparse
import sys
import warnings
from pathlib import Path

import pandas as pd
from comparison import compare, error_table, make_rivals, save_picture

from skinformer import InformerRegressor


class InputError(Exception):
    """What is wrong with the file or the options, in one line for the user."""


def parse_options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Forecast a column of a CSV with an Informer.")
    parser.add_argument("path", type=Path, help="the CSV, with a header")
    parser.add_argument("--target", help="column to forecast (default: the last one)")
    parser.add_argument("--time", help="column of dates (default: the first that parses)")
    parser.add_argument("--freq", help="step between rows, such as h or MS (default: read off)")
    parser.add_argument("--seq-len", type=int, default=96, help="rows a forecast sees")
    parser.add_argument("--pred-len", type=int, default=24, help="rows forecast at once")
    parser.add_argument("--test", type=int, help="rows to test on (default: 4 forecasts)")
    parser.add_argument("--epochs", type=int, default=10, help="of training, at most")
    parser.add_argument("--output", type=Path, default=Path("forecast.png"), help="the picture")
    return parser.parse_args(argv)


def read_frame(path: Path, time: str | None) -> pd.DataFrame:
    """Read the file and make its dates the index."""
    try:
        frame = pd.read_csv(path)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file.") from None
    except pd.errors.EmptyDataError:
        raise InputError(f"{path}: the file is empty.") from None
    except (OSError, ValueError, pd.errors.ParserError) as error:
        raise InputError(f"{path}: cannot be read as a CSV: {_one_line(error)}") from None
    if frame.empty:
        raise InputError(f"{path}: the file has a header but no rows.")
    if time is not None and time not in frame:
        raise InputError(f"--time {time}: no such column; there are {_names(frame)}.")
    for name in frame.columns if time is None else [time]:
        dates = parse_dates(frame[name])
        if dates is not None:
            return frame.drop(columns=name).set_index(dates.rename(name))
    looked_at = f"columns {_names(frame)}" if time is None else f"column {time!r}"
    raise InputError(f"{path}: no dates in {looked_at}. Write them as 2024-12-31 23:00.")


def parse_dates(column: pd.Series) -> pd.DatetimeIndex | None:
    """Read a column as dates, or give None; numbers are no dates."""
    if pd.api.types.is_numeric_dtype(column):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # pandas says which format it guessed
        for utc in (False, True):  # offsets that change with daylight saving need UTC
            try:
                return pd.DatetimeIndex(pd.to_datetime(column, utc=utc))
            except (ValueError, TypeError):
                continue
    return None


def choose_target(frame: pd.DataFrame, target: str | None) -> pd.DataFrame:
    """Keep the numeric columns, the target last."""
    numeric = frame.select_dtypes("number")
    if target is None and not len(numeric.columns):
        raise InputError(f"no column of numbers to forecast; there are {_names(frame)}.")
    target = frame.columns[-1] if target is None else target
    if target not in frame:
        raise InputError(f"--target {target}: no such column; there are {_names(frame)}.")
    if target not in numeric:
        bad = frame[target][pd.to_numeric(frame[target], errors="coerce").isna()].dropna()
        example = f", such as {bad.iloc[0]!r}" if len(bad) else ""
        raise InputError(
            f"--target {target}: the column holds values that are no numbers{example}."
        )
    left_out = [name for name in frame if name not in numeric]
    if left_out:
        print(f"left out, not numeric: {left_out}")
    return numeric[[name for name in numeric if name != target] + [target]]


def check_and_split(
    frame: pd.DataFrame, options: argparse.Namespace
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Check the sizes asked for and keep the last rows for the test."""
    for name in ("seq_len", "pred_len", "test", "epochs"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise InputError(f"--{name.replace('_', '-')} {value}: must be at least 1.")
    n_test = 4 * options.pred_len if options.test is None else options.test
    needed = options.seq_len + options.pred_len + n_test
    if len(frame) < needed:
        raise InputError(
            f"{options.path}: {len(frame)} rows are too few: --seq-len {options.seq_len} + "
            f"--pred-len {options.pred_len} + {n_test} rows to test on = {needed} are needed."
        )
    if not options.output.absolute().parent.is_dir():  # before training, not after it
        raise InputError(f"--output {options.output}: its folder does not exist.")
    return frame[:-n_test], frame[-n_test:]


def rows_of_a_week(index: pd.DatetimeIndex, pred_len: int) -> int | None:
    """Count the rows of a week; None if the step does not divide it or forecasts are longer."""
    rows = pd.Timedelta(weeks=1) / pd.Series(index).diff().median()
    return round(rows) if rows >= max(2, pred_len) and rows == round(rows) else None


def run(options: argparse.Namespace) -> None:
    frame = choose_target(read_frame(options.path, options.time), options.target)
    target = frame.columns[-1]
    train, test = check_and_split(frame, options)
    print(f"{len(train)} rows to train on, {len(test)} to test on, target {target!r}")
    informer = InformerRegressor(
        target=[target],
        seq_len=options.seq_len,
        pred_len=options.pred_len,
        freq=options.freq,
        max_iter=options.epochs,
        random_state=0,
        verbose=1,
    ).fit(train)
    season = rows_of_a_week(frame.index, options.pred_len)
    rivals = make_rivals(
        [target], seq_len=options.seq_len, pred_len=options.pred_len, season=season
    )
    results = compare(informer, rivals, train, test)
    print(f"\nMean absolute error of {target!r} over the last {len(test)} rows:\n")
    print(error_table(results)["all"].rename("MAE").to_frame().to_string())
    save_picture(
        results["InformerRegressor"],
        options.output,
        target=target,
        title=f"{target}: forecast {options.pred_len} rows at a time",
        ylabel=target,
    )
    print(f"\nForecast against actual: {options.output.resolve()}")


def main(argv: list[str] | None = None) -> int:
    """Give the exit status: 2 for input that cannot be used, with one line that says why."""
    options = parse_options(argv)
    try:
        run(options)
    except (InputError, ValueError) as error:
        print(f"forecast_csv: {_one_line(error)}", file=sys.stderr)
        return 2
    return 0


def _names(frame: pd.DataFrame) -> str:
    return ", ".join(map(repr, frame.columns))


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


if __name__ == "__main__":
    sys.exit(main())
