"""Networks learn to correct what the path will get wrong, not what it has learnt by heart."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from flat_parameters import with_parts

from skinformer import InformerRegressor
from skinformer.ensemble.out_of_fold import OutOfFoldPath
from skinformer.estimators import fitting
from skinformer.ridge.calendar import CalendarEffect
from skinformer.ridge.linear_fit import LinearFit, LinearFits
from skinformer.ridge.linear_path import LinearPath

SEQ, PRED = 5, 2

pytestmark = pytest.mark.usefixtures("long_tables")


def make_fit(seed, **changes):
    rng = np.random.default_rng(seed)
    fit = LinearFit(
        own=rng.normal(size=(2, SEQ, PRED)),
        mixed=rng.normal(size=(2 * 3 + 3 + 1, PRED * 2)),
        mixed_len=2,
        effect=rng.normal(size=(1, 2)),
        blend={},
    )
    return replace(fit, **changes)


def test_errors_are_those_of_the_path_that_has_not_learnt_the_time():
    """By the time of each origin, whatever the order of the windows."""
    apart = [make_fit(seed) for seed in (1, 2, 3)]
    whole = LinearFits(*[make_fit(0)] * 2, tuple(zip((10, 20, 30), apart, strict=True)))
    honest = OutOfFoldPath(whole, lambda rows: rows - 100, "cpu")
    origins = np.array([110, 100, 129, 500, 119, 109, 120])
    rng = torch.Generator().manual_seed(0)
    past, future = (torch.randn(7, *s, generator=rng) for s in ((SEQ, 3), (PRED, 3)))
    found = honest.forecast((past, future), origins)
    for i, number in enumerate([1, 0, 2, 2, 1, 0, 2]):  # 500 lies behind all
        path = LinearPath(apart[number])
        expected = path(past[i : i + 1], future[i : i + 1])[0]
        torch.testing.assert_close(found[i], expected, rtol=1e-4, atol=1e-5)
    some = honest.forecast((past[:2], future[:2]), origins[:2])  # none of the last time
    torch.testing.assert_close(some, found[:2], rtol=1e-4, atol=1e-5)


def test_each_path_reads_the_calendar_of_its_windows():
    """In the order of its windows, which are put one path after the other."""
    rng = np.random.default_rng(0)
    places = np.zeros((1, 60), dtype=np.int64)
    places[0, :24] = np.arange(24)
    tables = {"level": rng.normal(size=(24, 2)), "known": rng.normal(size=(24, 1, 2))}
    effect = CalendarEffect(**tables, bounds=np.array([[-1.0], [1.0]]), places=places)
    apart = [make_fit(seed, calendar=effect) for seed in (1, 2, 3)]
    whole = LinearFits(*apart[:2], tuple(zip((10, 20, 30), apart, strict=True)))
    honest = OutOfFoldPath(whole, lambda rows: rows, "cpu")
    origins = np.array([21, 3, 29, 12, 4])
    past, future = torch.randn(5, SEQ, 3), torch.randn(5, PRED, 3)
    hours = torch.from_numpy(origins)[:, None] + torch.arange(-SEQ, PRED)
    fields = hours[:, :SEQ, None] % 24, hours[:, SEQ:, None] % 24
    found = honest.forecast((past, future, *fields), origins)
    for i, number in enumerate([2, 0, 2, 1, 0]):
        path = LinearPath(apart[number])
        inputs = (x[i : i + 1] for x in (past, future, *fields))
        torch.testing.assert_close(found[i], path(*inputs)[0], rtol=1e-4, atol=1e-5)


@pytest.fixture
def shown(monkeypatch):
    """Record what training and validation are shown."""
    seen = {}
    train = fitting.train

    def spy(module, *, training, validation, **kwargs):
        seen["training"], seen["validation"] = training, validation
        return train(module, training=training, validation=validation, **kwargs)

    monkeypatch.setattr(fitting, "train", spy)
    return seen


def noise(n=300):
    return np.random.default_rng(0).normal(size=(n, 1))


P = {
    "seq_len": 24,
    "pred_len": 6,
    "d_model": 8,
    "n_heads": 2,
    "max_iter": 1,
    "random_state": 0,
}


def test_training_is_honest_and_validation_is_as_it_was(shown):
    """The split was not learnt by anyone: there the network corrects the path itself."""
    model = InformerRegressor(
        **with_parts(
            members=["classical", "ridges", "network"], early_stopping=True, **P
        )
    ).fit(noise())
    assert shown["validation"].out_of_fold is None
    batches = shown["training"]
    batches.generator = None  # the same windows each time
    batch, plain = next(iter(batches)), next(iter(replace_honest(batches)))
    assert torch.equal(batch.target, plain.target)
    with torch.no_grad():  # the network has no say
        model.module_.network.projection.weight.zero_()
        model.module_.network.projection.bias.zero_()
        by_heart, honest = (model.module_(*b.inputs) - b.target for b in (plain, batch))
    assert (honest**2).mean() > 1.01 * (by_heart**2).mean()


def replace_honest(batches):
    other = object.__new__(type(batches))
    other.__dict__.update(batches.__dict__, out_of_fold=None)
    return other


def test_windows_behind_those_that_the_path_learnt_from_have_a_path_too(shown):
    """The path leaves windows with missing truths out; the network is shown them."""
    values = noise()
    values[230:250] = np.nan  # no training window behind it is whole
    model = InformerRegressor(
        **with_parts(
            members=["classical", "ridges", "network"], early_stopping=True, **P
        )
    ).fit(values)
    batches = shown["training"]
    fits = batches.out_of_fold.fits
    assert fits.folds[-2][0] < 0
    batches.max_windows, batches.n_drawn, batches.generator = (
        None,
        batches.origins.count,
        None,
    )
    with torch.no_grad():
        for batch in batches:
            path = model.module_.path(*batch.inputs[:2])
            assert (path - batch.inputs[-1]).abs().mean() < 0.75 * path.abs().mean()


def test_without_a_path_there_is_nothing_to_correct(shown):
    """A network that forecasts alone learns the truth."""
    InformerRegressor(**with_parts(members=["network"], **P)).fit(noise())
    assert shown["training"].out_of_fold is None


def test_short_series_are_fitted_as_they_are(shown):
    """A third of their windows would be next to nothing."""
    InformerRegressor(
        **with_parts(members=["classical", "ridges", "network"], **P)
    ).fit(noise(110))
    assert shown["training"].out_of_fold is None
