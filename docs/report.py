"""Write the example of report.md, and photograph it: `python docs/report.py [FOLDER]`.

The report goes into a temporary folder, its picture into docs/images or FOLDER. It takes Chromium.
"""

import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

from skinformer import InformerRegressor, Network, Training
from skinformer.datasets import load_auckland_pedestrians
from skinformer.display import write_report
from skinformer.evaluation import SeasonalNaive, backtest

#: As root in a container, and without the services that a browser calls at home for.
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
]
FLAGS += [
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
FLAGS += ["--hide-scrollbars"]


def browser():
    """Find Chromium, if it is installed."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for path in map(shutil.which, names) if path), None)


def browse(*options):
    """Run Chromium with a profile of its own and return what it says on both streams."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [browser(), *FLAGS, f"--user-data-dir={profile}", *map(str, options)]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=120, check=True
        )


def write_example(path):
    """Write the report of four weeks of hourly counts."""
    counts = load_auckland_pedestrians().loc["2023-08":"2024-03", ["45 Queen Street"]]
    train, test = counts[: -24 * 28], counts[-24 * 28 :]
    estimators = {
        "InformerRegressor": InformerRegressor(
            "45 Queen Street",
            seq_len=168,
            pred_len=24,
            members=["ridges", "network"],
            network=Network(d_model=8, n_heads=1),
            training=Training(max_iter=2),
            random_state=0,
        ),
        "last week repeated": SeasonalNaive(168, target=["45 Queen Street"]),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of a fit that is this small
        for estimator in estimators.values():
            estimator.fit(train)
    results = {
        "InformerRegressor": backtest(
            estimators["InformerRegressor"],
            test,
            levels=[0.05, 0.1, 0.25, 0.75, 0.9, 0.95],
        ),
        "last week repeated": backtest(
            estimators["last week repeated"], test, test, horizon=24
        ),
    }
    unit = "people per hour"
    title = "Forecasts of 45 Queen Street"
    return write_report(path, results, estimator=estimators, unit=unit, title=title)


def photograph(page, picture):
    """Take the top of the page as a picture with few colours."""
    from PIL import Image

    browse("--window-size=1200,1330", f"--screenshot={picture}", page.as_uri())
    with Image.open(picture) as image:
        small = image.convert("RGB").quantize(64)
    small.save(picture, optimize=True)
    return picture


if __name__ == "__main__":
    folder = sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "images"
    with tempfile.TemporaryDirectory() as temporary:
        report = write_example(Path(temporary, "report.html"))
        photograph(report, Path(folder, "report.png").resolve())
