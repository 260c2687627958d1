"""
Forecast your own CSV
=====================

The quickstart for a file of yours: one row a time step, one column of dates, one or more of
numbers. Prints the errors over the last rows, saves a picture of them, and writes the forecast of
the rows to come into a CSV of the same form::

    python examples/forecast_csv.py load.csv --target load --pred-len 24
"""

import argparse
import sys
from pathlib import Path

import pandas as pd
from comparison import OUTPUT, compare, error_table, make_rivals, picture_path, save_picture
from csv_cells import InputError
from csv_timeline import Timeline, read_timeline

from skinformer import InformerRegressor


def parse_options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Forecast a column of a CSV with an Informer.")
    parser.add_argument("path", type=Path, help="the CSV")
    parser.add_argument("--target", help="column to forecast (default: the last of numbers)")
    parser.add_argument("--series", help="column that tells apart several series in one file")
    sizes = parser.add_argument_group("sizes")
    sizes.add_argument("--seq-len", type=int, default=96, help="rows a forecast sees")
    sizes.add_argument("--pred-len", type=int, default=24, help="rows forecast at once")
    sizes.add_argument("--test", type=int, help="rows to test on (default: 4 forecasts)")
    sizes.add_argument("--epochs", type=int, help="of training, at most")
    form = parser.add_argument_group("form of the file, where it does not show by itself")
    form.add_argument("--sep", type=separator, help="between columns, such as ; or tab")
    form.add_argument("--decimal", choices=[".", ","], help="sign before decimals")
    form.add_argument(
        "--dayfirst",
        action=argparse.BooleanOptionalAction,
        help="01/02/2024 is 1 February, or January 2",
    )
    form.add_argument(
        "--time", action="append", help="column of dates; once more for the time of day"
    )
    form.add_argument("--freq", help="step between rows, such as h, D or MS")
    form.add_argument(
        "--duplicates", choices=["mean", "first", "last"], help="what to keep of rows of one time"
    )
    parser.add_argument(
        "--output", type=Path, default=OUTPUT, help="folder, or file, of the picture"
    )
    return parser.parse_args(argv)


def separator(text: str) -> str:
    sep = {"tab": "\t", r"\t": "\t", "space": " "}.get(text, text)
    if len(sep) != 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not one sign, or the word tab")
    return sep


def check_sizes(options: argparse.Namespace) -> int:
    """Check the sizes asked for and give the number of rows to test on."""
    for name in ("seq_len", "pred_len", "test", "epochs"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise InputError(f"--{name.replace('_', '-')} {value}: must be at least 1.")
    return 4 * options.pred_len if options.test is None else options.test


def split(
    frame: pd.DataFrame, n_test: int, options: argparse.Namespace
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Keep the last rows, of each series, for the test."""
    needed = options.seq_len + options.pred_len + n_test
    why = (
        f"--seq-len {options.seq_len} + --pred-len {options.pred_len} + {n_test} rows to test on "
        f"= {needed} are needed"
    )
    if options.series is None:
        if len(frame) < needed:
            raise InputError(f"{len(frame)} rows are too few: {why}; lower --seq-len or --test.")
        return frame[:-n_test], frame[-n_test:]
    n_rows = frame.groupby(level=0).size()
    if n_rows.max() < needed:
        raise InputError(
            f"{n_rows.max()} rows in the longest series are too few: {why}; lower --seq-len or "
            "--test."
        )
    short = list(n_rows.index[n_rows < needed])
    if short:
        print(f"left out, series of fewer than {needed} rows: {short}")
    frame = frame[~frame.index.get_level_values(0).isin(short)]
    place = frame.groupby(level=0).cumcount(ascending=False)
    return frame[place >= n_test], frame[place < n_test]


def check_values(train: pd.DataFrame, test: pd.DataFrame, target: str) -> None:
    """Raise where a column has nothing to learn from, or the target nothing to test on."""
    for name in train:
        if train[name].isna().all():
            raise InputError(f"column {name!r} is empty in all rows to train on; lower --test.")
    if test[target].isna().all():
        raise InputError(f"column {target!r} is empty in all rows to test on; raise --test.")


def rows_of_a_week(step: pd.offsets.BaseOffset, pred_len: int) -> int | None:
    """Count the rows of a week; None if the step does not divide it or forecasts are longer."""
    week = pd.date_range("2024-01-01", "2024-01-08", freq=step)
    rows = len(week) - 1
    return rows if week[-1] == pd.Timestamp("2024-01-08") and rows >= max(2, pred_len) else None


def run(options: argparse.Namespace) -> None:
    n_test = check_sizes(options)
    picture = picture_path(options.output, f"{options.path.name.split('.')[0]}.png")
    timeline = read_timeline(options)
    frame, step = timeline.frame, timeline.step
    target = frame.columns[-1]
    train, test = split(frame, n_test, options)
    check_values(train, test, target)
    print(f"{len(train)} rows to train on, {len(test)} to test on, target {target!r}")
    sizes = {"seq_len": options.seq_len, "pred_len": options.pred_len}
    informer = InformerRegressor(
        target=[target],
        freq=step,
        embeddings=["missing"] if frame.drop(columns=target).isna().any(axis=None) else [],
        max_iter=options.epochs,
        random_state=0,
        verbose=1,
        **sizes,
    ).fit(train)
    rivals = make_rivals([target], season=rows_of_a_week(step, options.pred_len), **sizes)
    results = compare(informer, rivals, train, test)
    print(f"\nMean absolute error of {target!r} over the last {n_test} rows:\n")
    table = error_table(results, "target" if options.series is None else "series")
    if options.series is None or len(table.columns) > 7:  # too wide for a screen
        table = table["all"].rename("MAE").to_frame()
    print(table.to_string(float_format="{:.5g}".format))
    result, title = results["InformerRegressor"], target
    if options.series is not None:  # one of them shows what a forecast looks like
        result = result[result["series"] == result["series"].iloc[0]]
        title = f"{target} of {result['series'].iloc[0]}"
    title += f": forecast {options.pred_len} rows at a time"
    save_picture(result, picture, target=target, title=title, ylabel=target)
    print(f"\nForecast against actual: {picture}")
    ahead = informer.forecast(test)  # from the last row of the file on
    written = picture.with_name(f"{picture.stem}_forecast.csv")
    write_like(timeline, ahead, written)
    print(f"\nThe {options.pred_len} rows to come: {written}\n")
    print(ahead.head(3).to_string(float_format="{:.5g}".format))


def write_like(timeline: Timeline, rows: pd.DataFrame, path: Path) -> None:
    """Write rows with the separator and the decimal sign of the file that was read."""
    rows.to_csv(path, sep=timeline.sep, decimal=timeline.decimal, float_format="%.6g")


def main(argv: list[str] | None = None) -> int:
    """Give the exit status: 2 for input that cannot be used, with one line that says why."""
    options = parse_options(argv)
    try:
        run(options)
    except (InputError, OSError, ValueError, ArithmeticError) as error:
        print(f"forecast_csv: {options.path}: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
