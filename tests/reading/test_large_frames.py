"""Reading a large frame costs little time and one copy."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from versions import COPIES_FRAMES

from skinformer import InformerRegressor
from skinformer.estimators.reading import reading_settings
from skinformer.reading.training import read_training
from skinformer.timeline.scaling import fit_scaler
from skinformer.timeline.timeline import build_timeline

N_ROWS, N_COLUMNS = 1_000_000, 8


def read(frame):
    """Do all that fit does before it trains."""
    model = InformerRegressor()
    table = read_training(model, frame, None, None, reading_settings(model)).table
    start, stop = table.first_row[:-1], table.first_row[1:]
    scaler = fit_scaler(table.columns, start, stop, static=[])
    return build_timeline(table, scaler, fill_covariates=True)


def make_rows(n):
    minutes = pd.date_range("2020-01-01", periods=n, freq="min", tz="Europe/Berlin")
    values = np.random.default_rng(0).normal(size=(n, N_COLUMNS))
    return pd.DataFrame(values, index=minutes, columns=list("abcdefgh"))


def test_reading_calls_nothing_row_by_row(count_calls):
    """Validation must not be felt beside training, be it of a million rows."""
    calls = [count_calls(lambda n=n: read(make_rows(n))) for n in (1000, 1000, 50_000)]
    assert calls[2] < 1.5 * calls[1]


@pytest.mark.slow
def test_a_million_rows_are_copied_once_in_single_precision():
    """A frame that fits into memory must fit with its estimator beside it."""
    frame = make_rows(N_ROWS)
    tracemalloc.start()
    timeline = read(frame)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    copy = timeline.values.nbytes
    assert copy == N_ROWS * N_COLUMNS * 4
    index = 5 * N_ROWS * 8  # steps, series and labels, while they are checked
    of_pandas = frame.to_numpy().nbytes if COPIES_FRAMES else 0
    assert peak < copy + index + of_pandas + 4e6


def test_small_changes_of_a_large_level_keep_their_digits():
    """1e8 ± 1 has no digits left in single precision unless it is centred first."""
    values = np.where(np.arange(400) % 2, 1e8 + 1, 1e8 - 1)
    timeline = read(pd.DataFrame({"load": values}))
    np.testing.assert_allclose(np.abs(timeline.values), 1, rtol=1e-6)


@pytest.mark.slow
def test_a_memory_map_and_a_read_only_array_are_used_as_they_are(small, tmp_path):
    """A file larger than memory is read where it lies; nobody's array is written to."""
    rows = np.random.default_rng(0).normal(size=(80, 2)).astype(np.float32)
    rows.tofile(tmp_path / "rows")
    mapped = np.memmap(tmp_path / "rows", dtype=np.float32, mode="r", shape=rows.shape)
    frozen = rows.copy()
    frozen.setflags(write=False)
    expected = small().fit(rows[:70]).predict(rows[70:])
    for given in (mapped, frozen):
        np.testing.assert_array_equal(
            small().fit(given[:70]).predict(given[70:]), expected
        )
    np.testing.assert_array_equal(frozen, rows)
