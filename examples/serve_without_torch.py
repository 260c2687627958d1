"""
Forecast without torch
======================

Trains on a year of hourly counts of one street and exports the model to an ONNX file. Then a second
process forecasts from this file; it imports only numpy, pandas and onnxruntime::

    pip install '.[onnx]'
    python examples/serve_without_torch.py [--output FOLDER]

On the machine that serves, run ``pip install --no-deps .`` in the repository's folder and
``pip install pandas onnxruntime``. The script takes about half a minute.
"""

import argparse
import subprocess
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd

STREET = "45 Queen Street"


def export(model_file: Path, rows_file: Path) -> None:
    """Train, export, and write the rows that the server will know."""
    from skinformer import InformerRegressor
    from skinformer.datasets import load_auckland_pedestrians

    counts = load_auckland_pedestrians()[[STREET]][:8760]

    # %%
    # What a graph can hold: ridges, and a network if it promises a gain.
    members = ["ridges", "network"]
    model = InformerRegressor(STREET, members=members, random_state=0)
    model.fit(counts)
    model.export_onnx(model_file)
    print(f"{model_file.name}: {model_file.stat().st_size / 1e3:.0f} kB")

    # %%
    # What the server knows: the rows that a forecast looks back to, four days, as a CSV file. For
    # comparison, what `forecast` says.
    counts[-model.signature_.seq_len :].to_csv(rows_file)
    model.forecast().to_csv(rows_file.with_name("expected.csv"))


def serve(model_file: Path, rows_file: Path) -> None:
    """Forecast the day after the rows; nothing here knows torch."""
    import onnxruntime

    from skinformer.serving import Signature, window_inputs

    # %%
    # The file says by itself which columns it takes, and how many rows of them.
    session = onnxruntime.InferenceSession(
        model_file, providers=["CPUExecutionProvider"]
    )
    signature = Signature.of_metadata(session.get_modelmeta().custom_metadata_map)

    # %%
    # Rows become one window, in their own units: the graph scales, and scales back.
    rows = pd.read_csv(rows_file, index_col=0)
    rows.index = pd.to_datetime(rows.index, utc=True)
    inputs, times = window_inputs(rows, signature)
    (values,) = session.run(["forecast"], inputs)
    forecast = pd.DataFrame(values[0], index=times, columns=list(signature.targets))
    print(forecast.round(1).iloc[6:12].to_string())

    # %%
    # The batch is any number of windows.
    many = {name: np.repeat(array, 32, axis=0) for name, array in inputs.items()}
    for name, batch in (("one window", inputs), ("32 windows", many)):
        print(f"{name}: {measure_ms(session, batch):.1f} ms")

    # %%
    # The graph forecasts what the model does.
    expected = pd.read_csv(rows_file.with_name("expected.csv"), index_col=0)
    distance = np.abs(forecast.to_numpy() - expected.to_numpy()).max()
    deviation = rows[STREET].std()
    print(
        f"farthest from model.forecast(): {distance / deviation:.0e} "
        "of the counts' deviation"
    )
    print("torch was imported:", "torch" in sys.modules)


def measure_ms(session: Any, inputs: dict[str, np.ndarray], n_runs: int = 20) -> float:
    """Measure the milliseconds of one forecast."""
    start = perf_counter()
    for _ in range(n_runs):
        session.run(["forecast"], inputs)
    return (perf_counter() - start) / n_runs * 1e3


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Forecast without torch.")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "output")
    parser.add_argument(
        "--serve", action="store_true", help="forecast from files that are there"
    )
    args = parser.parse_args(argv)
    model_file = args.output / "street.onnx"
    rows_file = args.output / "rows.csv"
    if args.serve:
        serve(model_file, rows_file)
        return
    args.output.mkdir(parents=True, exist_ok=True)
    export(model_file, rows_file)
    # A process of its own, as on another machine.
    command = [sys.executable, __file__, "--serve", "--output", str(args.output)]
    served = subprocess.run(command, check=True, capture_output=True, text=True)
    print(served.stdout, end="")


if __name__ == "__main__":
    main()
