"""A fit that is killed goes on where it was."""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
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
    np.testing.assert_array_equal(resumed.predict(rows()), model().fit(rows()).predict(rows()))


def test_a_finished_fit_is_read_not_repeated(tmp_path):
    """Calling fit again with the same data costs nothing."""
    first = model(tmp_path / "fit.pt", max_iter=2).fit(rows())
    again = model(tmp_path / "fit.pt", max_iter=2).fit(rows())
    np.testing.assert_array_equal(again.predict(rows()), first.predict(rows()))
    assert again.history_["seconds"].tolist() == first.history_["seconds"].tolist()


def test_other_data_or_parameters_are_refused_by_name(tmp_path):
    """Weights of another fit would be silently wrong."""
    path = tmp_path / "fit.pt"
    model(path, max_iter=1).fit(rows())
    with pytest.raises(ValueError, match=r"was written by another fit: dropout differ\. Delete"):
        model(path, max_iter=1, dropout=0.3).fit(rows())
    with pytest.raises(ValueError, match=r"was written by another fit: data differ\. Delete"):
        model(path, max_iter=1).fit(rows() + 1)


def test_a_checkpoint_needs_a_seed(tmp_path):
    """Without one the batches would be drawn anew."""
    with pytest.raises(ValueError, match=r"needs an int as random_state, not None"):
        model(tmp_path / "fit.pt", random_state=None).fit(rows())


def test_a_file_that_no_fit_wrote_is_refused(tmp_path):
    """Never executed, and not a traceback of the unpickler."""
    (tmp_path / "junk.pt").write_bytes(b"not a checkpoint")
    with pytest.raises(ValueError, match=r"junk\.pt' is not a file that a fit wrote\. Delete it"):
        model(tmp_path / "junk.pt", max_iter=1).fit(rows())


def test_a_place_that_cannot_be_written_is_refused_before_training(tmp_path):
    """Not after an epoch of waiting."""
    with pytest.raises(ValueError, match="its folder does not exist"):
        model(tmp_path / "no" / "fit.pt", max_iter=1).fit(rows())
    with pytest.raises(ValueError, match="is a folder: name a file in it"):
        model(tmp_path, max_iter=1).fit(rows())
