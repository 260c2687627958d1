"""The command line of the benchmark."""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from skinformer import InformerRegressor, benchmark, recipes
from skinformer.benchmark import driver_methods, drivers, panel_methods, panel_ranges, panels
from skinformer.datasets import load_auckland_pedestrians

__all__ = ["main"]


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


def _make_driver_parser() -> argparse.ArgumentParser:
    about = (drivers.__doc__ or "").split("\n", maxsplit=1)[0]
    parser = argparse.ArgumentParser(prog="python -m skinformer.benchmark", description=about)
    parser.add_argument("--drivers", required=True, nargs="+", help="NAME of NAME.csv.gz")
    parser.add_argument("--drivers-folder", type=Path, default=Path(), help="where the files are")
    parser.add_argument(
        "--development", action="store_true", help="cut the test rows off every series first"
    )
    parser.add_argument(
        "--target-only", action="store_true", help="forecast without anything known ahead"
    )
    parser.add_argument(
        "--method",
        choices=["default", *driver_methods.METHODS],
        nargs="+",
        default=["default", *driver_methods.METHODS],
        help="the estimator, a yardstick, or a part of the estimator alone",
    )
    parser.add_argument("--parameters", type=_parameters, default={}, help="of the model, as JSON")
    parser.add_argument("--output", type=_new_file, help="JSON file for the results")
    return parser


def _make_panel_parser() -> argparse.ArgumentParser:
    about = (panels.__doc__ or "").split("\n", maxsplit=1)[0]
    parser = argparse.ArgumentParser(prog="python -m skinformer.benchmark", description=about)
    parser.add_argument("--panel", required=True, nargs="+", help="NAME of NAME.csv.gz")
    parser.add_argument("--panels-folder", type=Path, default=Path(), help="where the files are")
    parser.add_argument(
        "--development", action="store_true", help="cut the test part off every series first"
    )
    parser.add_argument(
        "--method",
        choices=["default", *panel_methods.METHODS],
        nargs="+",
        default=["default"],
        help="the estimator, or a part of it alone",
    )
    parser.add_argument(
        "--levels", action="store_true", help="measure quantiles, of the estimator alone"
    )
    parser.add_argument("--parameters", type=_parameters, default={}, help="of the model, as JSON")
    parser.add_argument("--output", type=_new_file, help="JSON file for the results")
    return parser


def _make_parser() -> argparse.ArgumentParser:
    about = (benchmark.__doc__ or "").split("\n", maxsplit=1)[0]
    parser = argparse.ArgumentParser(
        prog="python -m skinformer.benchmark",
        description=about,
        epilog="With --panel NAME it measures panels of many series, with --drivers NAME a series "
        "whose drivers are known ahead: --panel x --help and --drivers x --help tell how.",
    )
    parser.add_argument("--data", required=True, help='CSV file, time first; or "bundled"')
    parser.add_argument("--horizon", required=True, type=_count, nargs="+", help="steps forecast")
    parser.add_argument("--columns", choices="SM", default="M", help="S: the last alone; M: all")
    parser.add_argument("--recipe", choices=["NOTE", "BF16"], help="parameters of a source")
    parser.add_argument("--parameters", type=_parameters, default={}, help="of the model, as JSON")
    parser.add_argument(
        "--seed", type=int, nargs="+", default=[0], help="random_state, one or more"
    )
    parser.add_argument(
        "--shares", type=float, nargs=2, default=(0.7, 0.2), help="of training and test rows"
    )
    parser.add_argument(
        "--parts", action="store_true", help="measure ridges, trees and network by themselves"
    )
    parser.add_argument("--output", type=_new_file, help="JSON file for the results")
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
        raise argparse.ArgumentTypeError(f'{text} must name its values, as {{"seq_len": 720}}')
    known = InformerRegressor().get_params()
    for name in given:
        if name.partition("__")[0] not in known:
            raise argparse.ArgumentTypeError(
                f"InformerRegressor has no parameter {name!r}; it has {', '.join(sorted(known))}"
            )
        if name in _SET_BY:
            raise argparse.ArgumentTypeError(f"{name!r} is set by {_SET_BY[name]}")
    return given


def _new_file(text: str) -> Path:
    path = Path(text)
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise argparse.ArgumentTypeError(f"{text} must be a file in a folder that exists")
    return path


def _run(options: argparse.Namespace) -> None:
    """Measure every horizon with every seed, and print and keep each result at once."""
    name, frame = _load(options.data)
    frame = frame.iloc[:, -1:] if options.columns == "S" else frame
    split = benchmark.split_rows(name, len(frame), tuple(options.shares))
    recipe = getattr(recipes, options.recipe) if options.recipe else {}
    commit = _commit()
    sys.stdout.write(f"commit {commit}\n")
    results = []
    for horizon, seed in itertools.product(options.horizon, options.seed):
        parameters = recipe | {"random_state": seed} | options.parameters
        references = seed == options.seed[0]
        table = benchmark.measure(
            frame,
            split,
            horizon=horizon,
            parameters=parameters,
            references=references,
            parts=options.parts,
        )
        sys.stdout.write(
            f"{name}, {horizon} steps ahead, {parameters}\n{table.round(4).to_string()}\n"
        )
        sys.stdout.flush()
        rows = table.to_dict(orient="index")
        results.append({"horizon": horizon, "parameters": parameters, "results": rows})
        if options.output:  # after each, so that a stopped run keeps what it has
            facts = {"data": name, "columns": options.columns, "split": split._asdict()}
            facts |= {"commit": commit}
            options.output.write_text(json.dumps(facts | {"runs": results}, indent=2))


def _run_panels(options: argparse.Namespace) -> None:
    """Measure one panel after the other, and give the mean of what they have in common."""
    if options.levels:
        _run_panel_ranges(options)
        return
    default = panel_methods.make_forecaster({"random_state": 0} | options.parameters)
    known = {"default": default, **panel_methods.METHODS}
    chosen = {"seasonal naive": panel_methods.forecast_seasonal_naive}
    chosen |= {name: known[name] for name in options.method}
    commit = _commit()
    sys.stdout.write(f"commit {commit}\n")
    results: dict[str, Any] = {}
    relative = {}
    for name in options.panel:
        panel = panels.load_panel(name, options.panels_folder, development=options.development)
        table = panels.measure_panel(panel, chosen, naive2=panel_methods.forecast_naive2)
        relative[name] = table["relative"]
        results[name] = table.to_dict(orient="index")
        published = panels.published_errors(name, options.panels_folder)
        if not options.development:  # others were measured on the test part alone
            table = pd.concat([table, published])
        sys.stdout.write(f"{name}, {len(panel.series)} series\n{table.round(4).to_string()}\n")
        sys.stdout.flush()
        if options.output:
            facts = {"commit": commit, "development": options.development}
            facts |= {"parameters": options.parameters, "panels": results}
            options.output.write_text(json.dumps(facts, indent=2))
    mean = np.exp(np.log(pd.DataFrame(relative)).mean(axis=1))
    sys.stdout.write(f"geometric mean of MASE over seasonal naive's\n{mean.round(4).to_string()}\n")


def _run_panel_ranges(options: argparse.Namespace) -> None:
    """Measure the quantiles of one panel after the other."""
    parameters = {"random_state": 0} | options.parameters
    chosen = {
        "seasonal naive": panel_ranges.repeat_last_season,
        "default": panel_ranges.make_quantile_forecaster(parameters),
    }
    commit = _commit()
    sys.stdout.write(f"commit {commit}\n")
    results: dict[str, Any] = {}
    losses = {}
    for name in options.panel:
        panel = panels.load_panel(
            name, options.panels_folder, development=options.development, one_horizon=True
        )
        table = panel_ranges.measure_panel_ranges(panel, chosen)
        results[name] = table.to_dict(orient="index")
        if not options.development:  # others were measured on the test part alone
            published = panel_ranges.published_losses(name, options.panels_folder)
            table = pd.concat([table, published.drop(index=table.index, errors="ignore")])
        losses[name] = table["WQL"]
        sys.stdout.write(f"{name}, {len(panel.series)} series\n{table.round(4).to_string()}\n")
        sys.stdout.flush()
        if options.output:
            facts = {"commit": commit, "development": options.development, "levels": True}
            facts |= {"parameters": options.parameters, "panels": results}
            options.output.write_text(json.dumps(facts, indent=2))
    everywhere = pd.DataFrame(losses).dropna()
    mean = np.exp(np.log(everywhere).mean(axis=1))
    sys.stdout.write(f"geometric mean of WQL\n{mean.round(5).to_string()}\n")


def _run_drivers(options: argparse.Namespace) -> None:
    """Measure one series after the other."""
    default = driver_methods.make_forecaster({"random_state": 0} | options.parameters)
    known = {"default": default, **driver_methods.METHODS}
    chosen = {"weekly naive": driver_methods.forecast_weekly_naive}
    chosen |= {name: known[name] for name in options.method}
    commit = _commit()
    sys.stdout.write(f"commit {commit}\n")
    facts = {"commit": commit, "development": options.development}
    facts |= {"target_only": options.target_only, "parameters": options.parameters}
    results: dict[str, Any] = {}
    for name in options.drivers:
        driven = drivers.load_driven(
            name,
            options.drivers_folder,
            development=options.development,
            drivers=not options.target_only,
        )
        table = drivers.measure_driven(driven, chosen)
        results[name] = table.to_dict(orient="index")
        sys.stdout.write(f"{name}, {len(driven.origins)} origins\n{table.round(4).to_string()}\n")
        sys.stdout.flush()
        if options.output:
            options.output.write_text(json.dumps(facts | {"series": results}, indent=2))


def _load(data: str) -> tuple[str, pd.DataFrame]:
    if data == "bundled":
        return data, load_auckland_pedestrians()
    return Path(data).name.split(".")[0], benchmark.load_series(data)


def _commit() -> str | None:
    """Tell which version of the code was measured, where the package lies in a git checkout."""
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
