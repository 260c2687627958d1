"""The command line of the benchmark."""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import driver_methods
import drivers
import numpy as np
import pandas as pd
import panel_methods
import panel_ranges
import panels
import protocol

from skinformer import InformerRegressor, Network, Training, recipes
from skinformer.datasets import load_auckland_pedestrians


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark from the command line; None takes the process's own."""
    arguments = sys.argv[1:] if arguments is None else arguments
    given = {argument.split("=")[0] for argument in arguments}
    kind = next((kind for kind in _KINDS if f"--{kind}" in given), "data")
    make_parser, run = _KINDS[kind]
    parser = make_parser()
    options = parser.parse_args(arguments)
    try:
        run(options)
    except (OSError, ValueError, FloatingPointError) as error:
        reason = " ".join(str(error).split())
        names = getattr(options, kind)
        names = names if isinstance(names, str) else " ".join(names)
        parser.error(f"--{kind} {names}: {getattr(error, 'strerror', None) or reason}")
    return 0


def _parser(
    module: ModuleType, *, epilog: str | None = None
) -> argparse.ArgumentParser:
    """Make a parser of the options that all protocols have."""
    about = (module.__doc__ or "").split("\n", maxsplit=1)[0]
    parser = argparse.ArgumentParser(description=about, epilog=epilog)
    parser.add_argument(
        "--parameters", type=_parameters, default={}, help="of the model, as JSON"
    )
    parser.add_argument("--output", type=_new_file, help="JSON file for the results")
    return parser


def _files_parser(
    protocol: ModuleType, kind: str, folder: str, methods: list[str], default: list[str]
) -> argparse.ArgumentParser:
    """Make a parser of the options of protocols that read files of a folder."""
    parser = _parser(protocol)
    parser.add_argument(
        f"--{kind}", required=True, nargs="+", help="NAME of NAME.csv.gz"
    )
    parser.add_argument(
        f"--{folder}", type=Path, default=Path(), help="where the files are"
    )
    parser.add_argument(
        "--development",
        action="store_true",
        help="cut the test rows off every series first",
    )
    about = "the estimator, a yardstick, or a part of the estimator alone"
    parser.add_argument(
        "--method", choices=methods, nargs="+", default=default, help=about
    )
    return parser


def _make_driver_parser() -> argparse.ArgumentParser:
    methods = ["default", *driver_methods.METHODS]
    parser = _files_parser(drivers, "drivers", "drivers-folder", methods, methods)
    parser.add_argument(
        "--target-only",
        action="store_true",
        help="forecast without anything known ahead",
    )
    return parser


def _make_panel_parser() -> argparse.ArgumentParser:
    methods = ["default", *panel_methods.METHODS]
    parser = _files_parser(panels, "panel", "panels-folder", methods, ["default"])
    parser.add_argument(
        "--levels",
        action="store_true",
        help="measure quantiles, of the estimator alone",
    )
    return parser


def _make_parser() -> argparse.ArgumentParser:
    parser = _parser(
        protocol,
        epilog="With --panel NAME it measures panels of many series, with --drivers NAME a series "
        "whose drivers are known ahead: --panel x --help and --drivers x --help tell how.",
    )
    parser.add_argument(
        "--data", required=True, help='CSV file, time first; or "bundled"'
    )
    parser.add_argument(
        "--horizon", required=True, type=_count, nargs="+", help="steps forecast"
    )
    parser.add_argument(
        "--columns", choices="SM", default="M", help="S: the last alone; M: all"
    )
    parser.add_argument(
        "--recipe", choices=["NOTE", "BF16"], help="parameters of a source"
    )
    parser.add_argument(
        "--seed", type=int, nargs="+", default=[0], help="random_state, one or more"
    )
    parser.add_argument(
        "--shares",
        type=float,
        nargs=2,
        default=(0.7, 0.2),
        help="of training and test rows",
    )
    parser.add_argument(
        "--parts",
        action="store_true",
        help="measure ridges, trees and network by themselves",
    )
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least 1")
    return int(text)


#: Parameters of the model that the protocol sets, and the options by which.
_SET_BY = {
    "random_state": "--seed",
    "pred_len": "--horizon",
    "target": "--columns",
    "early_stopping": "the protocol",
    "validation_fraction": "--shares",
}


def _parameters(text: str) -> dict[str, Any]:
    """Read parameters of the model from JSON."""
    try:
        given = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text} is no JSON: {error}") from None
    if not isinstance(given, dict):
        raise argparse.ArgumentTypeError(
            f'{text} must name its values, as {{"seq_len": 720}}'
        )
    known = InformerRegressor(network=Network(), training=Training()).get_params()
    for name in given:
        # Within a part of a part, such as network__block__norm.
        if name not in known and name.rpartition("__")[0] not in known:
            raise argparse.ArgumentTypeError(
                f"InformerRegressor has no parameter {name!r}; it has {', '.join(sorted(known))}"
            )
        if name in _SET_BY:
            raise argparse.ArgumentTypeError(f"{name!r} is set by {_SET_BY[name]}")
    return given


def _new_file(text: str) -> Path:
    path = Path(text)
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise argparse.ArgumentTypeError(
            f"{text} must be a file in a folder that exists"
        )
    return path


class _Results:
    """Results are printed, and kept in a file, one by one: a stopped run keeps what it has."""

    def __init__(self, output: Path | None, **facts: Any) -> None:
        self.output, self.facts = output, {"commit": _commit(), **facts}
        sys.stdout.write(f"commit {self.facts['commit']}\n")

    def add(self, title: str, table: pd.DataFrame, **results: Any) -> None:
        """Print a table, and write all results so far."""
        sys.stdout.write(f"{title}\n{table.round(4).to_string()}\n")
        sys.stdout.flush()
        if self.output:
            self.output.write_text(
                json.dumps(self.facts | results, indent=2, default=repr)
            )


def _run(options: argparse.Namespace) -> None:
    """Measure every horizon with every seed."""
    name, frame = _load(options.data)
    frame = frame.iloc[:, -1:] if options.columns == "S" else frame
    split = protocol.split_rows(name, len(frame), tuple(options.shares))
    recipe = getattr(recipes, options.recipe) if options.recipe else {}
    facts = {"data": name, "columns": options.columns, "split": split._asdict()}
    results, runs = _Results(options.output, **facts), []
    for horizon, seed in itertools.product(options.horizon, options.seed):
        parameters = recipe | {"random_state": seed} | options.parameters
        table = protocol.measure(
            frame,
            split,
            horizon=horizon,
            parameters=parameters,
            references=seed == options.seed[0],
            parts=options.parts,
        )
        rows = table.to_dict(orient="index")
        runs.append({"horizon": horizon, "parameters": parameters, "results": rows})
        results.add(f"{name}, {horizon} steps ahead, {parameters}", table, runs=runs)


def _run_panels(options: argparse.Namespace) -> None:
    """Measure one panel after the other, and give the mean of what they have in common."""
    levels, folder = options.levels, options.panels_folder
    parameters = {"random_state": 0} | options.parameters
    facts = {"development": options.development, "parameters": options.parameters}
    results = _Results(options.output, levels=levels, **facts)
    known = {
        "default": panel_methods.make_forecaster(parameters),
        **panel_methods.METHODS,
    }
    chosen = {"seasonal naive": panel_methods.forecast_seasonal_naive}
    chosen |= {name: known[name] for name in options.method}
    measured: dict[str, Any] = {}
    errors = {}
    for name in options.panel:
        panel = panels.load_panel(
            name, folder, development=options.development, one_horizon=levels
        )
        if levels:
            table = panel_ranges.measure_panel_ranges(
                panel,
                {
                    "seasonal naive": panel_ranges.repeat_last_season,
                    "default": panel_ranges.make_quantile_forecaster(parameters),
                },
            )
            published = panel_ranges.published_losses(name, folder)
        else:
            table = panels.measure_panel(
                panel, chosen, naive2=panel_methods.forecast_naive2
            )
            published = panels.published_errors(name, folder)
        measured[name] = table.to_dict(orient="index")
        if not options.development:  # others were measured on the test part alone
            table = pd.concat(
                [table, published.drop(index=table.index, errors="ignore")]
            )
        errors[name] = table["WQL" if levels else "relative"]
        results.add(f"{name}, {len(panel.series)} series", table, panels=measured)
    mean = np.exp(np.log(pd.DataFrame(errors).astype(float).dropna()).mean(axis=1))
    what = "WQL" if levels else "MASE over seasonal naive's"
    sys.stdout.write(f"geometric mean of {what}\n{mean.round(5).to_string()}\n")


def _run_drivers(options: argparse.Namespace) -> None:
    """Measure one series after the other."""
    default = driver_methods.make_forecaster({"random_state": 0} | options.parameters)
    known = {"default": default, **driver_methods.METHODS}
    chosen = {"weekly naive": driver_methods.forecast_weekly_naive}
    chosen |= {name: known[name] for name in options.method}
    results = _Results(
        options.output,
        development=options.development,
        target_only=options.target_only,
        parameters=options.parameters,
    )
    measured: dict[str, Any] = {}
    for name in options.drivers:
        driven = drivers.load_driven(
            name,
            options.drivers_folder,
            development=options.development,
            drivers=not options.target_only,
        )
        table = drivers.measure_driven(driven, chosen)
        measured[name] = table.to_dict(orient="index")
        results.add(f"{name}, {len(driven.origins)} origins", table, series=measured)


def _load(data: str) -> tuple[str, pd.DataFrame]:
    if data == "bundled":
        return data, load_auckland_pedestrians()
    return Path(data).name.split(".")[0], protocol.load_series(data)


def _commit() -> str | None:
    """Find which version of the code was measured, where the package lies in a git checkout."""
    folder = Path(__file__).parent
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return found.stdout.strip()


#: Parsers and protocols by the option that names the data.
_KINDS = {
    "panel": (_make_panel_parser, _run_panels),
    "drivers": (_make_driver_parser, _run_drivers),
    "data": (_make_parser, _run),
}


if __name__ == "__main__":
    sys.exit(main())
