import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from skinformer.timeline.digest import content_digest

SHAPES = hnp.array_shapes(min_dims=2, max_dims=2, max_side=6)


@given(hnp.arrays(np.int16, SHAPES))
def test_equal_values_have_one_digest_whatever_holds_them(values):
    """Lists, integers, floats, views and orders of memory are the same training rows."""
    digest = content_digest(values)
    for same in (
        values.tolist(),
        values.astype(float),
        np.asfortranarray(values),
        values[::-1][::-1],
    ):
        assert content_digest(same) == digest


@given(hnp.arrays(np.float64, SHAPES, elements=st.floats(-10, 10)), st.data())
def test_one_changed_value_changes_the_digest(values, data):
    """Later rows that resemble the training rows must not pass for them."""
    i = data.draw(st.integers(0, values.shape[0] - 1))
    j = data.draw(st.integers(0, values.shape[1] - 1))
    other = values.copy()
    other[i, j] += 1
    assert content_digest(other) != content_digest(values)


def test_the_shape_is_part_of_the_content():
    """Four rows of one column are not two rows of two."""
    values = np.arange(4.0)
    assert content_digest(values.reshape(4, 1)) != content_digest(values.reshape(2, 2))
    assert content_digest(values.reshape(4, 1)) != content_digest(values.reshape(1, 4))


@pytest.mark.parametrize("row", [0, (1 << 16) - 1, 1 << 16, (1 << 16) + 4])
def test_rows_beyond_the_first_chunk_count(row):
    """Values are read by chunks; none may be skipped at a border."""
    values = np.zeros((1 << 16) + 5, dtype=np.float32)[:, None]
    other = values.copy()
    other[row] = 1
    assert content_digest(other) != content_digest(values)
    assert content_digest(values.copy()) == content_digest(values)


def test_missing_values_are_values():
    """A training array with gaps is recognised too."""
    values = np.array([[1.0, np.nan]])
    assert content_digest(values) == content_digest(values.copy())
    assert content_digest(values) != content_digest(values[:, ::-1])


def test_rows_in_another_order_are_other_rows():
    """The place of a row is its time."""
    values = np.arange(6.0).reshape(3, 2)
    assert content_digest(values[::-1]) != content_digest(values)
