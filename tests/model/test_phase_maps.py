"""What the time of the day adds is read from each window alone, and linear in it."""

import numpy as np
import pytest
import torch
from torch.export import Dim, export

from skinformer.ridge.linear_fit import LinearFit, PhaseMaps
from skinformer.ridge.linear_path import LinearPath

SEQ, PRED = 30, 7


def make_path(*, n_targets=2, n_columns=3, n_known=1, n_others=2, seq_len=SEQ):
    """Make a path whose maps turn with the hour, all with random weights."""
    chance, places = np.random.default_rng(0), np.zeros((2, 60), dtype=np.int64)
    places[0, :24], places[1, :7] = np.arange(24), 24 * np.arange(7)
    shapes = (24, 5), (seq_len, 4), (seq_len, n_others)
    shapes += ((n_targets, 5 * (4 + n_columns * n_others + 1), PRED),)
    maps = PhaseMaps(places, *(0.3 * chance.normal(size=shape) for shape in shapes))
    own = 0.3 * chance.normal(size=(n_targets, seq_len, PRED))
    mixed, effect = np.zeros((0, PRED * n_targets)), np.zeros((n_known, n_targets))
    return LinearPath(LinearFit(own, mixed, 0, effect, {}, phases=maps))


def make_windows(n, *, n_inputs=4, seed=0):
    """Draw windows, their hours and weekdays."""
    chance = torch.Generator().manual_seed(seed)
    past = torch.randn(n, SEQ, n_inputs, generator=chance)
    future = torch.randn(n, PRED, n_inputs, generator=chance)
    hours = torch.randint(0, 9999, (n, 1), generator=chance) + torch.arange(SEQ + PRED)
    fields = torch.stack([hours % 24, hours // 24 % 7], dim=-1)
    return past, future, fields[:, :SEQ], fields[:, SEQ:]


def by_loop(maps, distance, hour, n_columns=3):
    """Give what is added to one window's forecast, number by number."""
    out = torch.zeros(PRED, len(maps.weights), dtype=torch.float64)
    distance = distance.double()[-len(maps.own) :]
    for j, weights in enumerate(maps.weights.double()):
        read = [*(distance[:, j] @ maps.own.double())]
        for column in range(n_columns):
            read += [*(distance[:, column] @ maps.others.double())]
        read = torch.stack([*read, torch.ones((), dtype=torch.float64)])
        waves = maps.waves.double()[hour]
        out[:, j] = (waves[:, None] * read).flatten() @ weights
    return out


@pytest.mark.parametrize("n_others", [0, 2])
@pytest.mark.parametrize("seq_len", [SEQ, SEQ - 6])
def test_what_is_added_is_that_of_the_first_hour_ahead(n_others, seq_len):
    """Read in a window's last rows, of the columns that are not known ahead."""
    path, windows = make_path(n_others=n_others, seq_len=seq_len), make_windows(5)
    maps, (past, _, _, ahead) = path.phases, windows
    both = path(*windows)
    path.phases = None
    alone = path(*windows)
    for i in range(5):
        expected = by_loop(maps, past[i] - past[i, -1], int(ahead[i, 0, 0]))
        torch.testing.assert_close(
            (both - alone)[i].double(), expected, atol=1e-4, rtol=1e-4
        )


def test_columns_known_ahead_and_later_hours_are_not_read():
    path, (past, future, before, ahead) = make_path(), make_windows(3)
    expected = path(past, future, before, ahead)
    changed, later = past.clone(), ahead.clone()
    changed[..., -1] += 1.0
    later[:, 1:, 0] = 23 - later[:, 1:, 0]
    without = path.effect.clone()
    assert not without.any()
    torch.testing.assert_close(path(changed, future, before, later), expected)
    later[:, 0, 0] = (later[:, 0, 0] + 5) % 24
    assert not torch.allclose(path(past, future, before, later), expected)


def test_a_window_is_forecast_the_same_wherever_it_stands():
    path, windows = make_path(), make_windows(32)
    together = path(*windows)
    order = torch.randperm(32, generator=torch.Generator().manual_seed(3))
    again = path(*(x[order] for x in windows))
    assert torch.equal(again, together[order])


def test_an_exported_path_forecasts_batches_of_any_size():
    path = make_path().eval()
    names = ["past", "future", "past_calendar", "future_calendar"]
    dynamic = {name: {0: Dim("batch")} for name in names}
    program = export(path, make_windows(3), dynamic_shapes=dynamic).module()
    for size in (1, 2, 32):
        windows = make_windows(size, seed=size)
        torch.testing.assert_close(program(*windows), path(*windows))
