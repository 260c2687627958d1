import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from skinformer.timeline.windows import origins_between, window_rows


@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(-60, 60)), max_size=8))
def test_origins_are_those_of_a_loop_over_series(bounds):
    """Written without a loop for many series; an origin too many reads another series."""
    low = np.array([a for a, _ in bounds], dtype=np.int64)
    high = np.array([b for _, b in bounds], dtype=np.int64)
    expected = [origin for a, b in bounds for origin in range(a, b + 1)]
    origins = origins_between(low, high)
    assert origins.dtype == np.int64
    assert origins.tolist() == expected


@given(st.lists(st.integers(-50, 50), max_size=8), st.integers(1, 9))
def test_windows_are_consecutive_rows(first, length):
    """A window is named by its first row alone."""
    rows = window_rows(np.array(first, dtype=np.int64), length)
    assert rows.shape == (len(first), length)
    assert rows.tolist() == [list(range(a, a + length)) for a in first]
