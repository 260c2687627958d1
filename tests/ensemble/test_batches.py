"""Batches of windows: what the module is shown, and that a forecast knows no neighbours."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from skinformer.ensemble.batches import WindowBatches, window_source
from skinformer.ensemble.fitting import FitBatches
from skinformer.ensemble.predicting import PREDICTION_CHUNK, predict_windows
from skinformer.model.informer import Informer
from skinformer.timeline.clock import RowClock, clock_for
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
    sizes = SimpleNamespace(
        **{**vars(SIZES), "calendar_fields": fields, "n_series": n_series}
    )
    steps = np.arange(N) if steps is None else steps
    series = np.zeros(N, dtype=np.int64) if series is None else series
    return window_source(
        values, steps, series, clock or RowClock(), sizes=sizes, device="cpu"
    )


def make_batches(**changes):
    source = make_source()
    settings = {"weight": None, "batch_size": 8, "seed": 0}
    settings |= {"max_windows": None, **changes}
    origins = Origins(np.array([SEQ]), np.array([N - PRED]))
    return WindowBatches(source=source, origins=origins, **settings)


def test_a_window_is_the_rows_around_its_origin():
    """A loop over rows says the same."""
    source = make_source()
    past, future, *_ = source.inputs(torch.tensor([6, 20, 37]))
    for k, origin in enumerate([6, 20, 37]):
        np.testing.assert_array_equal(past[k], source.values[origin - SEQ : origin])
        np.testing.assert_array_equal(
            future[k, :, 2], source.values[origin : origin + PRED, 2]
        )


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
    source = make_source(
        clock_for(index, index.freq), ("hour",), series=series, n_series=2
    )
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
    out = predict_windows(module, source, origins)
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
    """What it costs goes by what it can gain; a quarter judges an epoch, and the trust sees all."""
    sizes = {"weight": None, "batch_size": 8, "max_windows": 4000}
    sizes |= {
        "source": make_source(),
        "origins": Origins(np.array([0]), np.array([9999])),
    }
    batches = FitBatches(*(WindowBatches(**sizes, seed=s) for s in (0, None)))
    fewer = batches.with_share(0.5)
    assert (fewer.training.n_drawn, fewer.validation.n_drawn) == (2000, 1000)
    assert batches.with_share(0.01).training.n_drawn == 1000
    large = WindowBatches(**(sizes | {"max_windows": 8000}), seed=None)
    assert FitBatches(large, large).with_share(1.0).validation.n_drawn == 2000
    assert batches.validation.n_drawn == batches.training.n_drawn == 4000
    assert batches.with_share(1.0).training.n_drawn == 4000
    assert batches._replace(validation=None).with_share(0.5).validation is None


def test_a_user_who_wants_all_windows_gets_all():
    """`max_windows=None` is no bound that could be lowered."""
    batches = FitBatches(make_batches(), None)
    assert batches.with_share(0.0) is batches
