"""What members forecast at the cut-offs, and what a fit keeps of it."""

from types import SimpleNamespace

import numpy as np
import pytest

from skinformer.ensemble.ensemble import Ensemble
from skinformer.ensemble.windows import Windows
from skinformer.judging.proof import Proof, Proved


def proof_of(n, *names):
    """Make a proof of n windows, whose forecasts are the numbers of their windows."""
    forecast = np.arange(n, dtype=np.float32)[:, None, None]
    windows = Windows(None, 100 + np.arange(n))
    forecasts = dict.fromkeys(names, forecast)
    return Proof(windows, None, forecast, forecast, forecasts=forecasts)


def ensemble_of(*costs):
    members = {f"member {cost}": SimpleNamespace(cost=cost) for cost in costs}
    return Ensemble(members, np.ones((2, 1, 1, len(costs))) / len(costs))


@pytest.mark.parametrize(
    ("cost", "n_windows", "n_kept"), [(1, 1000, 256), (4, 1000, 64), (1, 9, 9)]
)
def test_a_fit_keeps_some_windows_of_its_proof(cost, n_windows, n_kept):
    """They are spread over all, fewer where members are costly to forecast by."""
    proof = proof_of(n_windows, f"member {cost}", "left out")
    proved = Proved.of(proof, ensemble_of(cost))
    assert proved.forecasts.keys() == {f"member {cost}"}
    assert len(proved.origins) == n_kept
    assert np.ptp(proved.origins) >= 0.95 * (n_windows - 1)
    kept = proved.forecasts[f"member {cost}"][:, 0, 0]
    np.testing.assert_array_equal(proved.origins, 100 + kept)


def test_without_windows_nothing_is_proved():
    assert Proved.of(None, ensemble_of(1)) is None
    assert Proved.of(proof_of(0, "member 1"), ensemble_of(1)) is None
