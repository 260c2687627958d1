"""Which columns of X are y in another scale, and which are honest features."""

import numpy as np
import pytest

from skinformer.reading.copies import find_copies
from skinformer.reading.targets import read_targets


def found(column, y):
    """Whether a column is taken for y's copy."""
    columns = {"column": np.asarray(column)}
    return find_copies(columns, read_targets(y), classifies=False) == ("column",)


RNG = np.random.default_rng(0)
WALK = 100 + RNG.normal(size=200).cumsum()
COUNTS = RNG.poisson(2, 200).astype(float)
GROWTH = np.exp(np.abs(RNG.normal(size=60)).cumsum() / 9)
ROW = np.arange(60.0)


@pytest.mark.parametrize(
    "y", [WALK, COUNTS, GROWTH, WALK[:10], 1e9 + WALK, 1e-9 * WALK]
)
def test_copies_are_found_in_every_scale(y):
    """Rounding of single precision, ties and a sign do not hide one."""
    for column in (y, 3 * y - 7, -y, ((y - y.mean()) / y.std()).astype(np.float32)):
        assert found(column, y) is True
    distance = (y - y.min()) / y.std()
    for column in (np.log1p(distance), distance**3, np.exp(-distance)):
        with pytest.raises(ValueError, match="on another scale"):
            found(column, y)


def test_missing_values_of_either_are_left_out():
    y, column = WALK.copy(), 2 * WALK
    y[::5], column[::7] = np.nan, np.nan
    assert found(column, y) is True


@pytest.mark.parametrize(
    ("column", "y"),
    {
        "another": (RNG.normal(size=200), WALK),
        "nearly": (WALK + 1e-2 * RNG.normal(size=200), WALK),
        "yesterday": (np.roll(WALK, 1), WALK),
        "constant": (np.ones(200), WALK),
        "constant y": (WALK, np.ones(200)),
        "few rows": (WALK[:5], 2 * WALK[:5]),
        "promotion": ((WALK > 100).astype(float), WALK),
        "tiers": (np.floor(WALK / 3), WALK),
        "rounded y": (WALK, np.floor(WALK)),
        "number of the row": (ROW, GROWTH),
        "logarithm of the row": (np.log1p(ROW), GROWTH),
        "falls with the rows": (-(ROW**2), GROWTH),
        "only at first": (np.append(WALK[:100], RNG.normal(size=100)), WALK),
    }.values(),
)
def test_honest_features_stay_features(column, y):
    """A trend has the order of whatever grows, and a flag that of whatever it moves."""
    assert found(column, y) is False
