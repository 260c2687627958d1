"""The example on few series; it compares a partition with the local forecast itself."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("dask.dataframe")
pytest.importorskip("distributed")

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::DeprecationWarning"
)


def test_series_that_the_fit_never_saw_are_forecast_by_workers(monkeypatch, capsys):
    """One partition of three was the sample."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import parquet_to_parquet

    try:
        parquet_to_parquet.main(
            ["--series", "150", "--partitions", "3", "--sample", "50"]
        )
    finally:
        sys.modules.pop("parquet_to_parquet")
    printed = capsys.readouterr().out
    assert "fit on 50 series" in printed
    assert "forecasts of 150 series, 6 months" in printed
    assert printed.endswith("partition 2, forecast here: the same, bit for bit\n")
