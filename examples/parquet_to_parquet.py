"""
Millions of series, from Parquet to Parquet
===========================================

One model, fitted to a sample of the series, forecasts all of them. It is saved in a file, which
every worker loads; the worker then forecasts its partitions and writes them. The example has 20,000
shops with five years of monthly sales in 40 partitions, and uses two processes on this machine. On
a cluster the same code runs with ``Client("scheduler:8786")`` and a folder that all machines
share::

    pip install '.[dask]' pyarrow
    python examples/parquet_to_parquet.py
"""

import argparse
import time
import warnings
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster

import skinformer
from skinformer import InformerRegressor

N_MONTHS = 60
HORIZON = 6

# %%
# A partition contains whole series, because a series in two partitions would be forecast twice.
# Write your own data set in this form: ``frame.set_index("shop").repartition(divisions=…)``.


def write_sales(folder: Path, *, n_series: int, n_partitions: int) -> None:
    """Write a file for each partition."""
    folder.mkdir(parents=True)
    shops = [f"shop {i:05d}" for i in range(n_series)]
    for i, part in enumerate(np.array_split(shops, n_partitions)):
        table = make_sales(part, seed=i)
        table.to_parquet(folder / f"part.{i:04d}.parquet", index=False)


def make_sales(shops: np.ndarray, *, seed: int) -> pd.DataFrame:
    """Make sales that have a level, a season and a trend of their own in each shop."""
    random = np.random.default_rng(seed)
    n_shops = len(shops)
    months = np.arange(N_MONTHS)
    first_month = random.integers(12, size=(n_shops, 1))
    season = 0.3 * np.sin((months + first_month) * np.pi / 6)
    trend = random.normal(0.0, 0.005, size=(n_shops, 1)) * months
    noise = random.normal(0.0, 0.05, size=(n_shops, N_MONTHS))
    level = 100 * random.lognormal(size=(n_shops, 1))
    sold = level * np.exp(season + trend + noise)
    times = pd.date_range("2020-01-01", periods=N_MONTHS, freq="MS")
    index = pd.MultiIndex.from_product([shops, times], names=["shop", "month"])
    return pd.Series(sold.ravel(), index, name="sold").reset_index()


# %%
# This function is what a worker does with a partition. It loads the model once. ``forecast(X)``
# accepts series of the fit, whose history X continues or repeats, and new series, whose history is
# in X.


@cache
def load_once(path: str) -> InformerRegressor:
    return skinformer.load(path)


def forecast_partition(table: pd.DataFrame, path: str) -> pd.DataFrame:
    """Forecast every series of a partition from its last row on."""
    rows = table.set_index(["shop", "month"]).sort_index()
    ahead = load_once(path).forecast(rows, horizon=HORIZON)
    return ahead.rename(columns={"sold": "forecast"}).reset_index()


def fit_on_sample(
    sales: dd.DataFrame, path: str, *, n_series: int
) -> InformerRegressor:
    """Fit the shops of as many partitions as hold so many series, and save what was learnt."""
    n_partitions = max(1, n_series * N_MONTHS // len(sales.partitions[0]))
    spread = np.linspace(0, sales.npartitions - 1, n_partitions).astype(int)
    partitions = [sales.partitions[int(i)] for i in spread]
    sample = dd.concat(partitions).compute()
    sample = sample.set_index(["shop", "month"]).sort_index()
    model = InformerRegressor("sold", seq_len=36, pred_len=HORIZON, random_state=0)
    # Five years are few for a network: classical forecasters take its place.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "parameters of the network", UserWarning)
        model.fit(sample)
    model.save(path, history="context")
    return model


# %%
# The rest is reading, forecasting and writing. No partition waits for another.


def run(folder: Path, *, n_series: int, n_partitions: int, n_sample: int) -> float:
    """Fit, save and forecast in a folder; return the seconds that forecasts took."""
    source = folder / "sales"
    target = folder / "forecasts"
    path = str(folder / "sales.skinformer")
    write_sales(source, n_series=n_series, n_partitions=n_partitions)
    sales = dd.read_parquet(source)

    begin = time.perf_counter()
    model = fit_on_sample(sales, path, n_series=n_sample)
    seconds = time.perf_counter() - begin
    megabytes = Path(path).stat().st_size / 1e6
    print(f"fit on {len(model.series_)} series: {seconds:.0f} s, {megabytes:.1f} MB")

    begin = time.perf_counter()
    meta = {"shop": "str", "month": "datetime64[us]", "forecast": "float64"}
    forecasts = sales.map_partitions(forecast_partition, path, meta=meta)
    forecasts.to_parquet(target, write_index=False)
    seconds = time.perf_counter() - begin

    table = pd.read_parquet(target)
    n_forecast = table["shop"].nunique()
    print(
        f"forecasts of {n_forecast} series, {HORIZON} months: {seconds:.0f} s, "
        f"{n_forecast / seconds:.0f} a second"
    )
    print(table.head(HORIZON).to_string(index=False, float_format="{:.1f}".format))
    compare_last_partition(sales, target, path)
    return seconds


def compare_last_partition(sales: dd.DataFrame, target: Path, path: str) -> None:
    """Check that a worker's forecasts are those that this process makes."""
    last = sales.npartitions - 1
    by_worker = dd.read_parquet(target).partitions[last].compute()
    here = forecast_partition(sales.partitions[last].compute(), path)
    pd.testing.assert_frame_equal(by_worker, here, check_exact=True, check_dtype=False)
    print(f"partition {last}, forecast here: the same, bit for bit")


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Forecast many series with Dask.")
    parser.add_argument("--series", type=int, default=20_000, help="how many")
    parser.add_argument(
        "--partitions", type=int, default=40, help="files that hold them"
    )
    parser.add_argument("--sample", type=int, default=500, help="series to fit to")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    options = parser.parse_args(argv)
    with (
        TemporaryDirectory() as folder,
        LocalCluster(
            n_workers=options.workers, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster),
    ):
        run(
            Path(folder),
            n_series=options.series,
            n_partitions=options.partitions,
            n_sample=options.sample,
        )


if __name__ == "__main__":
    main()
