"""What the calendar does to a step is its own: the same in any batch, and bounded."""

import numpy as np
import pytest
import torch
from torch.export import Dim, export

from skinformer.model.corrected import Corrected
from skinformer.ridge.linear_fit import LinearFit
from skinformer.ridge.linear_path import LinearPath
from skinformer.timeline.cycle import CalendarEffect

SEQ, PRED = 30, 7


def effect_of(*, n_known=2, n_targets=2, n_times=24, seed=0):
    """Make one of hours and weekdays with random tables."""
    chance, places = np.random.default_rng(seed), np.zeros((2, 60), dtype=np.int64)
    places[0, :24], places[1, :7] = np.arange(24), 24 * np.arange(7)
    level, known = (
        chance.normal(size=(*n, n_targets)).astype(np.float32)
        for n in ((168,), (n_times, n_known))
    )
    bounds = np.repeat([[-1.0], [2.0]], n_known, axis=1).astype(np.float32)
    return CalendarEffect(level, known, bounds, places)


def make_path(*, n_known=2, n_targets=2, with_columns=True, n_times=24, mixed_len=0):
    """Make a path of some targets, one past-only column and some known ahead."""
    effect = effect_of(
        n_known=n_known if with_columns else 0, n_targets=n_targets, n_times=n_times
    )
    rng = np.random.default_rng(1)
    n_features = ((mixed_len + 1) * (n_targets + 1 + n_known) + 1) * bool(mixed_len)
    own = 0.3 * rng.normal(size=(2, SEQ, PRED))
    mixed = 0.3 * rng.normal(size=(n_features, PRED * n_targets))
    none = np.zeros((n_known, n_targets))
    return LinearPath(LinearFit(own, mixed, mixed_len, none, {}, effect))


def make_effect(**options):
    """Give the effect of a path."""
    return make_path(**options).calendar


def make_windows(n, n_known=2, seed=0):
    """Draw windows and their hours; some values lie beyond all bounds."""
    chance = torch.Generator().manual_seed(seed)
    past = 2 * torch.randn(n, SEQ, 3 + n_known, generator=chance)
    future = 2 * torch.randn(n, PRED, 3 + n_known, generator=chance)
    hours = torch.randint(0, 9999, (n, 1), generator=chance) + torch.arange(SEQ + PRED)
    fields = torch.stack([hours % 24, hours // 24 % 7], dim=-1)
    return past, future, fields[:, :SEQ], fields[:, SEQ:]


def by_loop(effect, known, fields):
    """Give the effect on one step, number by number."""
    hour, weekday = map(int, fields)
    out = effect.level[24 * weekday + hour].double()
    for k, value in enumerate(known.double()):
        out = out + value * effect.known[hour % len(effect.known), k].double()
    return out


@pytest.mark.parametrize("n_times", [1, 24])
@pytest.mark.parametrize("n_known", [0, 1, 3])
def test_a_step_has_the_effect_of_its_hour_of_the_week(n_known, n_times):
    """Two tables, and a sum over columns."""
    effect = make_effect(n_known=n_known, n_times=n_times)
    past, _, fields, _ = make_windows(3, n_known)
    known = past[..., 3:]
    found = effect(known, fields)
    assert found.shape == (3, SEQ, 2)
    for place in np.ndindex(3, SEQ):
        expected = by_loop(effect, known[place], fields[place])
        torch.testing.assert_close(
            found[place].double(), expected, rtol=1e-5, atol=1e-5
        )


def test_the_series_behind_the_calendar_is_not_read():
    """Where series are embedded, its number is one more category."""
    effect = make_effect()
    past, _, fields, _ = make_windows(3)
    more = torch.cat([fields, torch.full_like(fields[..., :1], 99)], dim=-1)
    assert torch.equal(effect(past[..., 3:], more), effect(past[..., 3:], fields))


def test_what_lies_beyond_counts_as_the_farthest_that_was_seen():
    """A line through twenty degrees says nothing of forty."""
    effect = make_effect()
    past, *_ = make_windows(5)
    found = effect.within(past)
    assert torch.equal(found[..., :3], past[..., :3])
    assert torch.equal(found[..., 3:], past[..., 3:].clamp(-1.0, 2.0))
    assert (found[..., 3:] != past[..., 3:]).any()
    assert torch.equal(make_effect(n_known=0).within(past), past)


@pytest.mark.parametrize("n_known", [0, 2])
@pytest.mark.parametrize("n_times", [1, 24])
@pytest.mark.parametrize("mixed_len", [0, 3])
def test_the_path_takes_it_off_the_window_and_adds_it_to_the_forecast(
    n_known, n_times, mixed_len
):
    """Ridges see what remains: a path of these rows without an effect says the rest."""
    path = make_path(n_known=n_known, n_times=n_times, mixed_len=mixed_len)
    past, future, *fields = make_windows(6, n_known)
    past[2, 4, 3:] = torch.nan
    found = path(past, future, *fields)
    seen, ahead = (path.calendar.within(x.nan_to_num()) for x in (past, future))
    remain = seen.clone()
    remain[..., :2] -= path.calendar(seen[..., 3:], fields[0])
    path.calendar, path.n_known, path.effect = None, 0, torch.zeros(0, 2)
    bare = path(remain, torch.zeros_like(future))
    effect = make_effect(n_known=n_known, n_times=n_times)(ahead[..., 3:], fields[1])
    torch.testing.assert_close(found, bare + effect)


def test_an_effect_of_the_calendar_alone_leaves_columns_as_they_are():
    """The mixed map reads them, whatever they are."""
    path = make_path(with_columns=False, mixed_len=3)
    past, future, *fields = make_windows(6)
    assert torch.equal(path.seen(past), past)
    later = future + 5.0
    assert torch.equal(path(past, later, *fields), path(past, future, *fields))


@pytest.mark.parametrize("n_known", [0, 2])
def test_only_what_is_known_ahead_is_read_of_the_future(n_known):
    """The other columns hold the answer when somebody forgets to mask them."""
    path = make_path(n_known=n_known)
    past, future, *fields = make_windows(4, n_known)
    other = future.clone()
    other[..., :3] = 77.0
    assert torch.equal(path(past, other, *fields), path(past, future, *fields))


def test_a_value_known_ahead_moves_its_own_step_by_the_effect_of_its_hour():
    """And none beyond what was seen."""
    path = make_path()
    past, future, *fields = make_windows(1)
    future[:] = 0.0
    for step, (value, counted) in enumerate([(0.5, 0.5), (9.0, 2.0), (-9.0, -1.0)]):
        other = future.clone()
        other[0, step, 4] = value
        moved = path(past, other, *fields) - path(past, future, *fields)
        expected = torch.zeros(PRED, 2)
        expected[step] = counted * path.calendar.known[int(fields[1][0, step, 0]), 1]
        torch.testing.assert_close(moved[0], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("n_times", [1, 24])
@pytest.mark.parametrize("n_known", [0, 1, 2])
def test_a_windows_forecast_does_not_depend_on_its_place_in_the_batch(n_known, n_times):
    """Bit for bit: a row predicted alone is the row predicted among others."""
    path = make_path(n_known=n_known, n_times=n_times)
    windows = make_windows(32, n_known)
    order = torch.randperm(32)
    whole = path(*windows)
    assert torch.equal(path(*(x[order] for x in windows)), whole[order])


def test_it_is_float32_under_autocast_and_has_nothing_to_train():
    """bf16 keeps three digits of a level."""
    path = make_path()
    windows = make_windows(2)
    with torch.autocast("cpu", torch.bfloat16):
        found = path(*windows)
    assert found.dtype == torch.float32
    assert torch.equal(found, path(*windows))
    assert not list(path.parameters())
    names = {"own", "mixed", "effect"}
    names |= {
        f"calendar.{name}" for name in ("places", "level", "known", "bounds", "year")
    }
    assert set(path.state_dict()) == names


@pytest.mark.slow
@pytest.mark.parametrize("n_times", [1, 24])
@pytest.mark.parametrize("n_known", [0, 2])
def test_an_exported_path_forecasts_batches_of_any_size(n_known, n_times):
    """Numbers of cells are counted in the graph, too."""
    path = make_path(n_known=n_known, n_times=n_times, mixed_len=3).eval()
    dynamic = tuple({0: Dim("batch")} for _ in range(4))
    program = export(path, make_windows(3, n_known), dynamic_shapes=dynamic).module()
    for size in (1, 2, 7, 32):
        windows = make_windows(size, n_known, seed=size)
        torch.testing.assert_close(program(*windows), path(*windows))


def test_a_network_at_its_start_forecasts_as_its_path(informer):
    """The calendar that the network embeds is the one that the path reads."""
    path = make_path(n_known=1)
    sizes = {
        "seq_len": SEQ,
        "pred_len": PRED,
        "label_len": 12,
        "n_targets": 2,
        "n_past": 1,
    }
    network = informer(
        **sizes, n_known=1, calendar_sizes=(24, 7), forecasts_distance=True
    )
    windows = make_windows(3, 1)
    assert torch.equal(Corrected(path, network).eval()(*windows), path(*windows))
    late = [*windows[:2], windows[2], (windows[3] + 1) % 7]
    assert not torch.equal(path(*late), path(*windows))


@pytest.mark.parametrize(("n_known", "n_targets"), [(40, 300)])
def test_many_columns_and_targets_take_no_table_of_each_step(n_known, n_targets):
    """32 windows of 800 steps: a number of each column and target would be 1.2 GB."""
    effect = make_effect(n_known=n_known, n_targets=n_targets, n_times=1)
    known = torch.randn(2, 300, n_known)
    fields = torch.zeros(2, 300, 2, dtype=torch.int64)
    with torch.profiler.profile(profile_memory=True) as profile:
        found = effect(known, fields)
    largest = max(event.self_cpu_memory_usage for event in profile.events())
    assert largest <= 4 * found.numel() * 4
    expected = effect.level[0] + known @ effect.known[0]
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
