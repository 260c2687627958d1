"""Batches of windows: what the module is shown, and that a forecast knows no neighbours."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from skinformer.ensemble.batches import WindowBatches, window_source
from skinformer.ensemble.fitting import FitBatches
from skinformer.ensemble.predicting import PREDICTION_CHUNK, WindowPredictor
from skinformer.model.informer import Informer
from skinformer.ridge.linear_fit import LinearFit
from skinformer.ridge.linear_path import LinearPath
from skinformer.timeline.clock import RowClock, clock_for
from skinformer.timeline.cycle import CalendarEffect
from skinformer.timeline.windows import Origins

N, SEQ, PRED = 40, 6, 3
SIZES = SimpleNamespace(
    n_targets=1,
    n_past=1,
    calendar_fields=(),
    n_series=0,
    mean_step=None,
    seq_len=SEQ,
    pred_len=PRED,
)


def make_source(clock=None, fields=(), steps=None, series=None, n_series=0):
    values = np.arange(N * 3, dtype=np.float32).reshape(N, 3)
    sizes = SimpleNamespace(**{**vars(SIZES), "calendar_fields": fields, "n_series": n_series})
    steps = np.arange(N) if steps is None else steps
    series = np.zeros(N, dtype=np.int64) if series is None else series
    return window_source(values, steps, series, clock or RowClock(), sizes=sizes, device="cpu")


def make_batches(**changes):
    source = make_source()
    settings = {"weight": None, "n_targets": 1, "batch_size": 8, "seed": 0}
    settings |= {"max_windows": None, **changes}
    return WindowBatches(source, Origins(np.array([SEQ]), np.array([N - PRED])), **settings)


def test_a_window_is_the_rows_around_its_origin():
    """A loop over rows says the same."""
    source = make_source()
    past, future, *_ = source.inputs(torch.tensor([6, 20, 37]))
    for k, origin in enumerate([6, 20, 37]):
        np.testing.assert_array_equal(past[k], source.values[origin - SEQ : origin])
        np.testing.assert_array_equal(future[k, :, 2], source.values[origin : origin + PRED, 2])


def test_nothing_hidden_is_in_the_future_of_a_window():
    """Target and past-only columns are masked; only what is known ahead stays."""
    _, future, *_ = make_source().inputs(torch.arange(6, 30))
    assert (future[:, :, :2] == 0).all()
    assert (future[:, :, 2] != 0).all()


def test_masking_leaves_the_source_alone():
    """The values are the stored history."""
    source = make_source()
    before = source.values.clone()
    source.inputs(torch.arange(6, 30))
    assert (source.values == before).all()


def test_the_calendar_of_a_window_is_that_of_its_steps():
    """A row's step, not its place in the block of memory, tells its hour."""
    index = pd.date_range("2024-01-01", periods=100, freq="h")
    clock = clock_for(index, index.freq)
    steps = np.concatenate([np.arange(20, 40), np.arange(3, 23)])  # two series
    source = make_source(clock, ("hour", "weekday"), steps)
    _, _, past, future, *_ = source.inputs(torch.tensor([6, 30]))
    np.testing.assert_array_equal(past[0, :, 0], index[20:26].hour)
    np.testing.assert_array_equal(future[1, :, 0], index[13:16].hour)
    np.testing.assert_array_equal(future[1, :, 1], index[13:16].day_of_week)


def test_the_series_of_a_window_stands_after_its_calendar():
    """Those that were not trained share the number after the last one."""
    index = pd.date_range("2024-01-01", periods=100, freq="h")
    series = np.repeat([0, 1, 5, 7], 10)
    source = make_source(clock_for(index, index.freq), ("hour",), series=series, n_series=2)
    _, _, past, future, *_ = source.inputs(torch.tensor([6, 17, 27, 37]))
    assert past.shape == (4, SEQ, 2)
    np.testing.assert_array_equal(future[:, 0, 1], [0, 1, 2, 2])
    np.testing.assert_array_equal(past[:, 0, 0], [0, 11, 21, 7])


def test_without_fields_there_is_no_calendar():
    """Undated rows have none."""
    assert make_source().inputs(torch.tensor([6]))[2:] == (None,) * 4


def test_every_window_comes_once_an_epoch():
    """Neither lost nor doubled by shuffling or by the last, smaller batch."""
    batches = make_batches()
    for _ in range(2):
        seen = torch.cat([batch.target[:, 0, 0] for batch in batches])
        assert sorted(seen.tolist()) == [3.0 * row for row in range(SEQ, N - PRED + 1)]
        assert len(batches) == len(list(batches)) == 4


def test_shuffling_is_new_each_epoch_and_the_same_for_a_seed():
    """The order is drawn from the seed alone."""

    def first(batches):
        return next(iter(batches)).target[:, 0, 0].tolist()

    one, two = make_batches(), make_batches()
    orders = [first(one) for _ in range(3)]
    torch.manual_seed(99)
    assert [first(two) for _ in range(3)] == orders
    assert orders[0] != orders[1]
    assert first(make_batches(seed=1)) != orders[0]


def test_without_a_seed_the_order_is_kept():
    """Validation needs no shuffling."""
    batches = make_batches(seed=None)
    seen = torch.cat([batch.target[:, 0, 0] for batch in batches]).tolist()
    assert seen == sorted(seen)


def test_shuffling_goes_on_from_a_stored_state():
    """A resumed training sees the windows that the interrupted one would have seen."""
    one, two = make_batches(), make_batches()
    list(one)
    state = one.get_state()
    expected = torch.cat([batch.target for batch in one])
    two.set_state(state)
    assert torch.equal(torch.cat([batch.target for batch in two]), expected)
    assert make_batches(seed=None).get_state() is None


def test_weights_belong_to_their_truth():
    """A weight one row off would mask the wrong step."""
    weight = torch.arange(N, dtype=torch.float32)[:, None]
    for batch in make_batches(weight=weight):
        assert torch.equal(batch.weight * 3, batch.target)


class Sum(torch.nn.Module):
    """Forecast the sum of the context; record the shapes that come in."""

    def __init__(self):
        super().__init__()
        self.shapes = []

    def forward(self, past, *_):
        self.shapes.append(tuple(past.shape))
        return past.sum(dim=(1, 2))[:, None, None].repeat(1, PRED, 1)


@pytest.mark.parametrize("n", [1, 31, 32, 33, 64, 65])
def test_predictions_are_made_in_chunks_of_one_shape(n):
    """Matrix products round by shape: a forecast must be the same in any company."""
    module, source = Sum(), make_source()
    origins = SEQ + np.arange(n) % (N - SEQ - PRED)
    out = WindowPredictor(module, source)(origins)
    assert set(module.shapes) == {(PREDICTION_CHUNK, SEQ, 3)}
    assert out.shape == (n, PRED, 1)
    expected = [source.values[o - SEQ : o].sum() for o in origins]
    np.testing.assert_allclose(out[:, 0, 0], expected)


@pytest.mark.parametrize("members", [["network"], ["ridges", "network"]])
def test_fit_and_predict_mask_the_future_alike_and_after_scaling(
    modes, frame, monkeypatch, members
):
    """A raw 0 is 25 deviations from the mean; another mask in predict is another model.

    What ridges forecast stands where the target would be, the truth nowhere.
    """
    seen = {True: {}, False: {}}
    forward = Informer.forward

    def recorded(self, past, future, *rest):
        for window, ahead in zip(past.numpy(), future.numpy(), strict=True):
            seen[self.training][window.tobytes()] = ahead.copy()
        return forward(self, past, future, *rest)

    monkeypatch.setattr(Informer, "forward", recorded)
    df = frame(60)  # the load is about 1000, 25 deviations from 0
    modes.fit("frame", df, early_stopping=False, members=members).predict(df)
    both = seen[True].keys() & seen[False].keys()
    assert len(both) == 12  # one in four of the origins from row 12 to row 56
    for window in both:
        np.testing.assert_array_equal(seen[True][window], seen[False][window])
    futures = np.stack(list(seen[True].values()))
    assert not futures[..., 1].any()  # the flow
    assert futures[..., 0].any() == ("ridges" in members)  # the load
    if "ridges" in members:
        loads = np.concatenate([np.frombuffer(each, np.float32)[::3] for each in both])
        assert not np.isin(futures[..., 0], loads).any()
    assert futures[..., 2].all()  # the price, which is known ahead


def test_a_pass_draws_one_window_from_each_run():
    """Drawn anew each epoch, spread over all time, none twice: a sample of the whole series."""
    windows = make_batches(max_windows=5)
    passes = [torch.cat([b.target[:, 0, 0] for b in windows]) for _ in range(2)]
    every = windows.source.values[SEQ : N - PRED + 1, 0]
    n = len(every)
    for drawn in passes:
        places = sorted(int((every == value).nonzero()[0]) for value in drawn)
        assert [place * 5 // n for place in places] == list(range(5))
    assert len(windows) == 1
    assert not torch.equal(passes[0], passes[1])


def test_without_a_seed_the_drawn_windows_are_the_same_in_each_pass():
    """Validation losses of two epochs can be compared on the same windows only."""
    windows = make_batches(max_windows=5, seed=None)
    first, second = (torch.cat([b.target for b in windows]) for _ in range(2))
    assert torch.equal(first, second)


def test_a_network_with_a_small_share_draws_and_watches_fewer_windows():
    """What it costs goes by what it can gain; and no epoch judges by more than it learns from."""
    sizes = {"weight": None, "n_targets": 1, "batch_size": 8, "max_windows": 4000}
    origins = Origins(np.array([0]), np.array([9999]))
    batches = FitBatches(
        *(WindowBatches(make_source(), origins, **sizes, seed=s) for s in (0, None))
    )
    eased = batches.eased(0.5)
    assert (eased.training.n_drawn, eased.validation.n_drawn) == (2000, 2000)
    assert batches.eased(0.01).training.n_drawn == 1000
    assert batches.validation.n_drawn == batches.training.n_drawn == 4000  # trust sees all of them
    assert batches.eased(1.0) == batches
    assert batches._replace(validation=None).eased(0.5).validation is None


def test_a_user_who_wants_all_windows_gets_all():
    """`max_windows=None` is no bound that could be lowered."""
    batches = FitBatches(make_batches(), None)
    assert batches.eased(0.0) is batches


def zeros(*, n_targets, n_known, n_inputs, n_groups, mixed_len, seq_len, pred_len, **found):
    """Make a path whose maps are 0."""
    n_features = ((mixed_len + 1) * n_inputs + 1) * bool(mixed_len)
    fit = LinearFit(
        own=np.zeros((n_groups, seq_len, pred_len), dtype=np.float32),
        mixed=np.zeros((n_features, pred_len * n_targets), dtype=np.float32),
        mixed_len=mixed_len,
        effect=np.zeros((n_known, n_targets), dtype=np.float32),
        blend={},
        **found,
    )
    return LinearPath(fit)


@pytest.mark.parametrize("n_targets", [1, 2])
@pytest.mark.parametrize("n_groups", [1, 2])
@pytest.mark.parametrize("n_past", [0, 1])
@pytest.mark.parametrize("n", [1, 7, 32, 40])
def test_the_short_way_of_a_path_rounds_as_the_path_does(n_targets, n_groups, n_past, n):
    """Both forecast rows of one frame, where some windows trust the network and others do not."""
    rng, n_columns, seq_len = np.random.default_rng(n), n_targets + n_past, 48
    values = rng.normal(size=(400, n_columns)).astype(np.float32)
    values[rng.random(values.shape) < 0.02] = np.nan
    path = zeros(
        n_targets=n_targets,
        n_known=0,
        n_inputs=n_columns,
        n_groups=min(n_groups, n_targets),
        mixed_len=0,
        seq_len=seq_len - 8,
        pred_len=PRED,
    )
    path.own.copy_(torch.from_numpy(rng.normal(size=path.own.shape)))
    sizes = SimpleNamespace(
        **{**vars(SIZES), "n_targets": n_targets, "n_past": n_past, "seq_len": seq_len}
    )
    source = window_source(values, None, None, RowClock(), sizes=sizes, device="cpu")
    origins = rng.integers(seq_len, len(values) - PRED, size=n)
    chunk = np.resize(origins[-(n % 32 or 32) :], PREDICTION_CHUNK)
    forecast = WindowPredictor(path, source)(origins)[-(n % 32 or 32) :]
    whole = path(*source.path_inputs(torch.from_numpy(chunk))).numpy()
    np.testing.assert_array_equal(forecast, whole[: len(forecast)])


def calendar_path(n_targets, n_past=0, *, seq_len=48):
    """Make a path with random maps and what hours and weekdays do."""
    rng, places = np.random.default_rng(0), np.zeros((2, 60), dtype=np.int64)
    places[0, :24], places[1, :7] = np.arange(24), 24 * np.arange(7)
    level, none = rng.normal(size=(168, n_targets)), np.zeros((1, 0, n_targets))
    effect = CalendarEffect(level, none, np.zeros((2, 0)), places)
    sizes = {"n_known": 0, "n_inputs": n_targets + n_past, "n_groups": 1, "mixed_len": 0}
    path = zeros(n_targets=n_targets, **sizes, seq_len=seq_len - 8, pred_len=PRED, calendar=effect)
    path.own.copy_(torch.from_numpy(rng.normal(size=path.own.shape)))
    return path.eval()


def calendar_source(values, n_targets, *, seq_len=48, n_series=0, steps=None):
    """Make rows of hours, with gaps."""
    sizes = {"n_targets": n_targets, "n_past": values.shape[1] - n_targets, "n_series": n_series}
    sizes |= {"seq_len": seq_len, "calendar_fields": ("hour", "weekday")}
    index = pd.date_range("2024-03-25", periods=900, freq="h", tz="Europe/Berlin")
    steps = np.arange(len(values)) + 77 if steps is None else steps
    series = np.zeros(len(values), dtype=np.int64)
    sizes = SimpleNamespace(**{**vars(SIZES), **sizes})
    clock = clock_for(index, index.freq)
    return window_source(values, steps, series, clock, sizes=sizes, device="cpu")


def holed_rows(n_columns, n=400):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(n, n_columns)).astype(np.float32)
    values[rng.random(values.shape) < 0.02] = np.nan
    return values


@pytest.mark.parametrize("n_targets", [1, 2])
@pytest.mark.parametrize("n_past", [0, 1])
@pytest.mark.parametrize("n_series", [0, 2])
@pytest.mark.parametrize("n", [1, 7, 32, 40])
def test_the_short_way_takes_the_calendar_off_as_the_path_does(
    n_targets, n_past, n_series, n, monkeypatch
):
    """Bit for bit, call after call: what lies in unused places is that of an earlier chunk."""
    values = holed_rows(n_targets + n_past)
    source = calendar_source(values, n_targets, n_series=n_series)
    path = calendar_path(n_targets, n_past)
    short = WindowPredictor(path, source)
    rng = np.random.default_rng(n)
    for _ in range(3):
        origins = rng.integers(48, len(values) - PRED, size=n)
        with monkeypatch.context() as patch:
            patch.setattr(path, "forward", None)  # it takes none of the long one
            found = short(origins)
        for i in range(0, n, PREDICTION_CHUNK):
            part = origins[i : i + PREDICTION_CHUNK]
            chunk = torch.from_numpy(np.resize(part, PREDICTION_CHUNK))
            whole = path(*source.path_inputs(chunk)).numpy()[: len(part)]
            np.testing.assert_array_equal(found[i : i + PREDICTION_CHUNK], whole)


@pytest.mark.slow
def test_the_calendar_of_long_tables_is_not_laid_out_at_once(monkeypatch):
    """They are asked for some windows, and may have a hundred million rows."""
    values = np.zeros((1 << 20) + 1, dtype=np.float32)[:, None]
    path, source = calendar_path(1), calendar_source(values, 1)
    monkeypatch.setattr(type(source), "effect_of", None)
    assert np.isfinite(WindowPredictor(path, source)(np.array([100, 900_000]))).all()


def test_the_short_way_reads_what_a_recursion_writes():
    """Forecasts are fed back into the rows; what the calendar does there stays as it was."""
    values = holed_rows(1)
    path = calendar_path(1)
    source = calendar_source(values, 1)
    short = WindowPredictor(path, source)
    origins = np.array([100, 101])
    short(origins)
    values[90:100] = 5.0
    again = WindowPredictor(path, calendar_source(values.copy(), 1))
    np.testing.assert_array_equal(short(origins), again(origins))


def test_the_calendar_of_a_row_is_that_of_its_step_and_none_without_one():
    """Rows of a panel lie one series after the other."""
    values, path = holed_rows(1), calendar_path(1)
    steps = np.concatenate([np.arange(200) + 300, np.arange(200)])
    source = calendar_source(values, 1, steps=steps)
    hours = pd.date_range("2024-03-25", periods=900, freq="h", tz="Europe/Berlin")[steps]
    expected = path.calendar.level[24 * hours.day_of_week.to_numpy() + hours.hour.to_numpy()]
    np.testing.assert_array_equal(source.effect_of(path.calendar), expected)
    assert source.effect_of(None) is None
    assert make_source().effect_of(path.calendar) is None
