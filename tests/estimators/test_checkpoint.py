"""A fit that is killed goes on where it was."""

import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from killed_fit import model, rows

SCRIPT = Path(__file__).with_name("killed_fit.py")


@pytest.mark.slow
def test_a_killed_fit_ends_with_the_weights_of_one_never_killed(tmp_path):
    """Power fails at any instant: only the last epoch may be lost."""
    checkpoint, forecasts = tmp_path / "fit.pt", tmp_path / "forecasts.npy"
    command = [sys.executable, str(SCRIPT), str(checkpoint), str(forecasts)]
    process = subprocess.Popen(command)
    deadline = time.monotonic() + 60
    while not checkpoint.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.15)
    process.kill()
    process.wait()
    assert checkpoint.exists()
    assert not forecasts.exists(), "the fit ended before it was killed"
    resumed = model(checkpoint).fit(rows())
    assert resumed.n_iter_ == 12
    np.testing.assert_array_equal(
        resumed.predict(rows()), model().fit(rows()).predict(rows())
    )


#: What is kept of a fit is the training of its network.
network = partial(model, members=["network"])


def test_a_finished_fit_is_read_not_repeated(tmp_path):
    """Calling fit again with the same data costs nothing."""
    first = network(tmp_path / "fit.pt", training__max_iter=2).fit(rows())
    again = network(tmp_path / "fit.pt", training__max_iter=2).fit(rows())
    np.testing.assert_array_equal(again.predict(rows()), first.predict(rows()))
    assert again.history_["seconds"].tolist() == first.history_["seconds"].tolist()


def test_other_data_or_parameters_are_refused_by_name(tmp_path):
    """Weights of another fit would be silently wrong."""
    path = tmp_path / "fit.pt"
    network(path, training__max_iter=1).fit(rows())
    with pytest.raises(
        ValueError,
        match=r"was written by another fit: network__dropout differ\. Delete",
    ):
        network(path, training__max_iter=1, network__dropout=0.3).fit(rows())
    with pytest.raises(
        ValueError, match=r"was written by another fit: data differ\. Delete"
    ):
        network(path, training__max_iter=1).fit(rows() + 1)


def dated(start="2024-01-01", freq="h", n=90, tz=None):
    index = pd.date_range(start, periods=n, freq=freq, tz=tz)
    return pd.Series(rows()[:n, 0], index=index, name="load")


HOLIDAYS = [
    pd.offsets.CustomBusinessDay(holidays=[f"2024-01-0{day}"]) for day in (3, 4)
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "then"),
    [
        ({}, {"start": "2024-01-01 07:00"}),
        ({}, {"freq": "2h"}),
        ({"tz": "UTC"}, {"tz": "Asia/Tokyo", "start": "2024-01-01 09:00"}),
        ({"start": "2024-03-01", "freq": "D"}, {"tz": "Europe/Berlin"}),
        ({"freq": HOLIDAYS[0]}, {"freq": HOLIDAYS[1]}),
    ],
    ids=["later", "slower", "elsewhere", "through spring", "other holidays"],
)
def test_the_same_values_at_other_times_are_other_data(tmp_path, first, then):
    """The network learns hours and weekdays: its weights would forecast another calendar."""
    path = tmp_path / "fit.pt"
    estimator = network(path, training__max_iter=1)
    assert repr(HOLIDAYS[0]) == repr(HOLIDAYS[1])
    holidays = first.get("freq") in HOLIDAYS
    estimator.set_params(freq=first["freq"] if holidays else None).fit(dated(**first))
    estimator.fit(dated(**first))
    estimator.set_params(freq=then["freq"] if holidays else None)
    with pytest.raises(ValueError, match=r"was written by another fit: data differ\."):
        estimator.fit(dated(**{**first, **then}))


def test_times_are_compared_in_any_unit_and_under_any_name(tmp_path):
    """A file read again by another program is the same data."""
    frame = dated().to_frame()
    network(tmp_path / "fit.pt", training__max_iter=1).fit(frame)
    again = frame.set_index(frame.index.as_unit("ns").rename("time"))
    network(tmp_path / "fit.pt", training__max_iter=1).fit(again)


@pytest.mark.parametrize("damage", ["bit", "end"])
def test_a_damaged_file_is_refused(tmp_path, damage):
    """One flipped bit gave other forecasts, a file cut off an error of the operating system."""
    path = tmp_path / "fit.pt"
    network(path, training__max_iter=1).fit(rows())
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 4
    path.write_bytes(content if damage == "bit" else content[:-500])
    message = r"is damaged or not a checkpoint of this version: its content is not what was written"
    with pytest.raises(ValueError, match=message):
        network(path, training__max_iter=1).fit(rows())


def test_a_full_disk_costs_the_file_not_the_fit(tmp_path, monkeypatch):
    """Hours of training are worth more than their copy."""

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.warns(
        UserWarning, match=r"fit\.pt' could not be written: \[Errno 28\] No space"
    ):
        fitted = network(tmp_path / "fit.pt", training__max_iter=2).fit(rows())
    expected = network(training__max_iter=2).fit(rows())
    np.testing.assert_array_equal(fitted.predict(rows()), expected.predict(rows()))
    assert list(tmp_path.iterdir()) == []


def test_a_checkpoint_needs_a_seed(tmp_path):
    """Without one the batches would be drawn anew."""
    with pytest.raises(ValueError, match=r"needs an int as random_state, not None"):
        network(tmp_path / "fit.pt", random_state=None).fit(rows())


def test_a_file_that_no_fit_wrote_is_refused(tmp_path):
    """Never executed, and not a traceback of the unpickler."""
    (tmp_path / "junk.pt").write_bytes(b"not a checkpoint")
    message = r"junk\.pt' is damaged or not a checkpoint of this version: it does not begin like"
    with pytest.raises(ValueError, match=message):
        network(tmp_path / "junk.pt", training__max_iter=1).fit(rows())


def test_a_place_that_cannot_be_written_is_refused_before_training(tmp_path):
    """Not after an epoch of waiting."""
    with pytest.raises(ValueError, match="must be a file in a folder that exists"):
        network(tmp_path / "no" / "fit.pt", training__max_iter=1).fit(rows())
    with pytest.raises(ValueError, match="must be a file in a folder that exists"):
        network(tmp_path, training__max_iter=1).fit(rows())
