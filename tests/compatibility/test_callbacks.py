"""Without scikit-learn's callbacks a fit goes on, and says what would bring them."""

import subprocess
import sys

import pytest

WITHOUT_CALLBACKS = """
import sys
# Whatever in scikit-learn itself takes part in callbacks has to be there before.
import sklearn.ensemble, sklearn.linear_model, sklearn.metrics, sklearn.model_selection
sys.modules["sklearn.callback"] = None  # as before scikit-learn 1.9

import numpy as np
import pandas as pd
from skinformer import InformerRegressor, Network, Training

df = pd.DataFrame({"load": np.sin(np.arange(90.0))})
model = InformerRegressor(
    "load",
    seq_len=8,
    pred_len=2,
    members=["ridges", "network"],
    network=Network(d_model=8, n_heads=2),
    training=Training(max_iter=2),
    verbose=1,
).fit(df)
assert len(model.history_) == 2
assert np.isfinite(model.forecast()).all(axis=None)
try:
    model.set_callbacks()
except AttributeError as error:
    print(error)
"""


@pytest.mark.slow
def test_a_fit_writes_plain_progress_and_says_what_callbacks_need():
    """Statsforecast and others hold scikit-learn back; a fit needs none of the newest."""
    done = subprocess.run(
        [sys.executable, "-W", "error::FutureWarning", "-c", WITHOUT_CALLBACKS],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    *progress, last = done.stdout.splitlines()
    for epoch in ("epoch 1/2", "epoch 2/2"):
        assert any(epoch in line for line in progress)
    assert last.startswith("callbacks need scikit-learn 1.9 or newer, and ")
    assert "pass verbose=1" in last
