import numpy as np
import pytest

from skinformer.timeline.clock import RowClock
from skinformer.timeline.seen_range import SeenRange
from skinformer.timeline.timeline import Timeline


def timeline_of(*series):
    """Return a timeline of series of one target."""
    lengths = [len(each) for each in series]
    return Timeline(
        np.concatenate(series).astype(np.float32)[:, None],
        None,
        np.append(0, np.cumsum(lengths)),
        np.zeros(len(series), dtype=int),
        RowClock(),
    )


WAVE = np.tile(10 * np.sin(np.arange(24) * np.pi / 12), 10)


@pytest.mark.parametrize("change", [3, -3])
def test_a_season_beyond_all_at_its_phases_has_left_the_range(change):
    """Though no row is beyond all that was seen at other hours."""
    seen = SeenRange.of(timeline_of(WAVE, WAVE), 1, 24)
    later = np.append(WAVE, WAVE[:24] + change)
    assert seen.find_left(timeline_of(later, WAVE)).tolist() == [[True], [False]]
    assert not seen.find_left(timeline_of(later[:-1], WAVE)).any()


def test_some_rows_beyond_are_ordinary():
    seen = SeenRange.of(timeline_of(WAVE), 1, 24)
    later = np.append(WAVE, WAVE[:24] + 3 * (np.arange(24) > 0))
    assert not seen.find_left(timeline_of(later)).any()


@pytest.mark.parametrize("season", [0, 5])
def test_without_a_long_season_a_dozen_rows_are(season):
    seen = SeenRange.of(timeline_of(np.arange(100.0)), 1, season)
    assert not seen.find_left(timeline_of(np.arange(111.0))).any()
    assert seen.find_left(timeline_of(np.arange(120.0))).all()


def test_series_of_few_rows_have_not_left_it():
    seen = SeenRange.of(timeline_of(np.arange(100.0), np.arange(3.0)), 1, 0)
    later = timeline_of(np.arange(150.0), np.arange(8.0))
    assert seen.find_left(later).tolist() == [[True], [False]]
