"""The Informer beside its linear path: what each of them sees, says and is trusted with."""

import copy
import pickle
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from blends import base_blend, trust
from flat_parameters import with_parts
from sklearn.base import clone

from skinformer import InformerRegressor, Network, Training
from skinformer.ensemble import ridges
from skinformer.ensemble.building import ModelSizes
from skinformer.ensemble.fitting import FitRows
from skinformer.ensemble.head import PointHead
from skinformer.ensemble.ridges import linear_fit
from skinformer.estimators import fitting as fitting_of_model
from skinformer.judging import trial
from skinformer.judging import weights as weighing
from skinformer.judging.weights import network_share
from skinformer.model.informer import Informer
from skinformer.recipes import NOTE
from skinformer.ridge import fit as fitting
from skinformer.selection import gain_of_best_share
from skinformer.timeline.clock import RowClock
from skinformer.timeline.timeline import Timeline
from skinformer.timeline.windows import Origins
from skinformer.training import checkpoint as checkpoints
from skinformer.training.batch import Batch

SEQ, PRED = 12, 4

pytestmark = pytest.mark.usefixtures("long_tables")


def distrust(estimator):
    """Leave the linear path alone."""
    estimator.ensemble_ = estimator.ensemble_.with_network_share(0.0)
    return estimator


def maps(estimator):
    """Give the maps that forecast."""
    state = estimator.module_.path.state_dict()
    return {name: state[name].numpy() for name in ("own", "mixed", "effect")}


def same_maps(one, two):
    for name, values in maps(one).items():
        np.testing.assert_array_equal(values, maps(two)[name])


def fix_the_choice(monkeypatch, weights=np.ones):
    """Let candidates count as they are told to, all alike, whatever the stretches say."""

    def strengths(stretches, n_strengths):
        return np.full(len(stretches[0]) // n_strengths, 2)

    def chosen(stretches, strengths, **_):
        return weights(len(strengths)) / weights(len(strengths)).sum()

    monkeypatch.setattr(fitting, "choose_strengths", strengths)
    monkeypatch.setattr(fitting, "choose_weights", chosen)


@pytest.fixture
def options(small):
    """Give a regressor of a target, a past-only column and one that is known ahead."""

    def make(**changes):
        return small(**{"target": "load", "known_future": ["price"], **changes})

    return make


# --- the path alone ---------------------------------------------------------------------------


def test_without_trust_a_forecast_is_the_linear_path_in_plain_numpy(options, frame):
    """From the user's units to the user's units, with nothing of torch in the oracle."""
    df = frame(160)
    estimator = distrust(options().fit(df[:150]))
    at = {name: i for i, name in enumerate(estimator.roles_.columns)}
    order = [at["load"], at["flow"], at["price"]]
    scaler, found = estimator.scaler_, maps(estimator)
    z = (df.iloc[:, order].to_numpy() - scaler.mean[0]) / scaler.scale[0]
    for origin in (150, 154):
        past, ahead = z[origin - SEQ : origin].copy(), z[origin : origin + PRED]
        past[:, 0] -= past[:, 2] * found["effect"][0, 0]
        last, distance = past[-1], past - past[-1]
        features = np.array([*distance.ravel(), *last, 1.0])
        one = last[0] + distance[:, 0] @ found["own"][0] + features @ found["mixed"]
        one += ahead[:, 2] * found["effect"][0, 0]
        expected = one * scaler.scale[0, 0] + scaler.mean[0, 0]
        forecast = estimator.predict(df)[origin : origin + PRED]
        np.testing.assert_allclose(forecast, expected, rtol=1e-5)


def test_with_trust_0_the_network_does_not_matter(options, frame, monkeypatch):
    """What did not prove itself must not reach a forecast by any way."""
    monkeypatch.setattr(weighing, "network_share", lambda *_, **__: 0.0)
    df = frame(120)
    one = options().fit(df[:100])
    two = options(d_model=16, max_iter=2, patch_len=3, random_state=7).fit(df[:100])
    assert trust(one) == trust(two) == 0
    same_maps(one, two)
    np.testing.assert_array_equal(one.predict(df), two.predict(df))


def test_the_note_has_no_linear_path(small, frame):
    """The recipe is the source's network, and nothing beside it."""
    df = frame(80)
    estimator = InformerRegressor(
        **with_parts(
            **NOTE | {"d_model": 8, "n_heads": 2},
            target="load",
            seq_len=SEQ,
            pred_len=PRED,
            max_iter=1,
        )
    ).fit(df)
    assert isinstance(estimator.module_, Informer)
    assert (trust(estimator), base_blend(estimator)) == (1.0, {})
    assert estimator.sizes_.patch_len == 1


def test_a_fit_without_the_path_forgets_that_of_the_last_one(options, frame):
    """Attributes describe the last fit; these would describe a path that is not there."""
    estimator = options().fit(frame(80))
    estimator.set_params(members=["network"]).fit(frame(80))
    assert (trust(estimator), base_blend(estimator)) == (1.0, {})


def test_the_weights_of_the_blend_are_told(options, frame):
    """Who asks why a forecast is what it is finds names and shares."""
    blend = base_blend(options().fit(frame(100)))
    assert "last" in blend
    assert any(name.startswith("mixed") for name in blend)
    assert sum(blend.values()) == pytest.approx(1, abs=0.01)


# --- trust ------------------------------------------------------------------------------------


class Held:
    """Validation batches that are made by hand, with what the network says of them."""

    def __init__(self, corrections, *, batch_size=8, weight=None, error=1.0):
        n = len(corrections)
        target = torch.ones(n, 3, 1) * error  # the path says 0 everywhere
        inputs = torch.as_tensor(corrections, dtype=torch.float32).reshape(n, 1, 1)
        weight = torch.ones_like(target) if weight is None else weight
        parts = (torch.split(a, batch_size) for a in (inputs, target, weight))
        self.batch_size, self.steps = batch_size, np.arange(n)
        self.source = SimpleNamespace(sizes=SimpleNamespace(pred_len=target.shape[1]))
        self.batches = [
            Batch((x, torch.zeros(len(x), 3, 1)), y, w)
            for x, y, w in zip(*parts, strict=True)
        ]

    def __len__(self):
        return len(self.batches)

    def __iter__(self):
        return iter(self.batches)

    def trust(self, loss="mse"):
        class Module(torch.nn.Module):
            largest_product = 0
            path = staticmethod(lambda past, future: torch.zeros_like(future))
            forward = staticmethod(lambda past, future: past + torch.zeros_like(future))

        return network_share(Module(), self, steps=self.steps, head=PointHead(loss))


@pytest.mark.parametrize("loss", ["mse", "mae", "huber"])
@pytest.mark.parametrize(
    ("correction", "share"),
    [(1.0, 1.0), (2.0, 0.5), (4.0, 0.25), (-1.0, 0.0), (100.0, 0.0)],
)
def test_a_correction_is_trusted_with_the_share_that_does_best(correction, share, loss):
    """Twice too much is trusted by half, and the wrong way not at all."""
    assert Held([correction] * 64).trust(loss) == share


@pytest.mark.parametrize("stretch", range(4))
@pytest.mark.parametrize(("harm", "share"), [(0.0, 1.0), (-0.3, 0.65), (-1.0, 0.0)])
def test_harm_on_one_quarter_is_weighed_against_the_gain_on_the_others(
    stretch, harm, share
):
    """A third of the gain back halves the share; as much harm as gain might be chance: silence."""
    corrections = np.ones(64)
    corrections[16 * stretch : 16 * (stretch + 1)] = harm
    assert Held(corrections).trust() == pytest.approx(share, abs=0.11)


def test_rows_of_weight_0_have_no_say_in_trust():
    """A missing truth is filled by a held value, which proves nothing."""
    corrections, weight = np.ones(64), torch.ones(64, 3, 1)
    corrections[20:30] = -9
    weight[20:30] = 0
    assert Held(corrections, weight=weight).trust() == 1


@pytest.mark.parametrize("batch_size", [64, 32])
def test_trust_does_not_depend_on_the_size_of_batches(batch_size):
    """Stretches are cut in time, whatever fits in memory."""
    corrections = np.ones(64)
    corrections[48:] = -0.3
    trust = Held(corrections, batch_size=batch_size).trust()
    assert 0 < trust < 1
    assert trust == Held(corrections).trust()


def test_stretches_are_cut_in_time(small):
    """The windows of a panel come series by series; the harm of a month must not be averaged."""
    corrections = np.ones(64)
    corrections[::4] = -1
    held = Held(corrections)
    assert held.trust() > 0
    held.steps = np.argsort(np.argsort(corrections, kind="stable"))
    assert held.trust() == 0


@pytest.mark.parametrize("perfect", [slice(0, 64), slice(48, 64)])
def test_a_correction_of_a_perfect_path_is_not_trusted(perfect):
    """Where the path alone has no error, any correction does harm."""
    held = Held(np.ones(64))
    number = torch.arange(64).reshape(-1, 8)
    for rows, batch in zip(number, held.batches, strict=True):
        batch.target[(rows >= perfect.start) & (rows < perfect.stop)] = 0
    assert held.trust() == 0


@pytest.mark.parametrize("loss", ["mse", "mae"])
@pytest.mark.parametrize(
    ("n_windows", "share"), [(1, 0.0), (4, 0.0), (5, 0.0), (6, 1.0)]
)
def test_fewer_windows_than_two_forecasts_prove_nothing(n_windows, share, loss):
    """Windows of 3 steps overlap: five of them are less than two stretches of one."""
    assert Held(np.ones(n_windows)).trust(loss) == share


@pytest.mark.parametrize(
    ("n_rows", "trusted"), [(400, True), (120, True), (100, False)]
)
def test_a_network_is_not_trusted_for_what_it_does_on_a_short_tail(
    small, frame, n_rows, trusted, monkeypatch
):
    """A tenth is held out; below 8 windows, twice the horizon, luck looks like skill."""
    fix_the_choice(monkeypatch, lambda n: np.eye(n)[0])  # so that any network is better
    monkeypatch.setattr(fitting, "find_phases", lambda _, fits, *rest: fits)
    rows = frame(n_rows)[["load"]]
    estimator = small(max_iter=8).fit(rows)
    assert (trust(estimator) > 0) == trusted
    if not trusted:
        assert trust(estimator) == 0
        np.testing.assert_array_equal(
            estimator.predict(rows), distrust(estimator).predict(rows)
        )


def test_a_network_that_learnt_noise_changes_little(small):
    """On noise the path is as good as it gets, and a correction is a risk without a return."""
    rng = np.random.default_rng(0)
    df = pd.DataFrame({"load": rng.normal(size=600)})
    estimator = small(max_iter=3).fit(df[:500])
    with_network = estimator.predict(df[500:])
    alone = distrust(estimator).predict(df[500:])
    assert np.abs(with_network - alone).mean() < 0.15


def test_without_validation_the_network_is_trusted(small, frame):
    """There is nothing to judge it by."""
    assert trust(small(early_stopping=False).fit(frame(80)[["load"]])) == 1
    assert trust(small().fit(frame(18)[["load"]])) == 1


def test_the_trust_that_is_told_is_the_one_that_counts(options, frame):
    """In the weights, which forecast, and in the attribute, which is read."""
    estimator = options(max_iter=2).fit(frame(150))
    assert estimator.ensemble_.with_network_share(trust(estimator)).trust == trust(
        estimator
    )
    ridges, network = (
        estimator.ensemble_.weights_of(name) for name in ("ridges", "network")
    )
    np.testing.assert_allclose(network, trust(estimator) * (ridges + network))


# --- which rows it is fitted to ---------------------------------------------------------------


@pytest.mark.parametrize("early_stopping", [True, "auto", False])
def test_auto_refits_on_all_rows_and_true_leaves_the_last_ones_out(
    options, frame, early_stopping, monkeypatch
):
    """The promise of early_stopping=True is that no weight has seen the last rows."""
    fix_the_choice(monkeypatch)
    df = frame(120)
    other = df.copy()
    other.iloc[108:, :] = 1.5 * other.iloc[108:, :].to_numpy()
    one, two = (
        options(early_stopping=early_stopping).fit(rows) for rows in (df, other)
    )
    equal = all(np.array_equal(a, maps(two)[name]) for name, a in maps(one).items())
    assert equal == (early_stopping is True)


def test_of_many_windows_some_are_learnt_evenly(monkeypatch):
    """A hundred million rows must not cost a hundred million windows."""
    seen, n = [], 330_020

    def spy(problem, origins, *args, **options):
        seen.append(origins)
        return SimpleNamespace(folds=())

    monkeypatch.setattr(ridges, "fit_linear_path", spy)
    rows = np.zeros((n, 1), dtype=np.float32), None, np.array([0, n]), np.array([0])
    sizes = ModelSizes(1, 0, 0, 0, 0, (), seq_len=SEQ, pred_len=PRED, patch_len=1)
    low, high = np.array([[SEQ], [300_000]]), np.array([[300_000 - PRED], [n - PRED]])
    training, validation = (Origins(*ends) for ends in zip(low, high, strict=True))
    timeline, split = Timeline(*rows, RowClock()), np.array([300_000])
    fit_rows = FitRows(timeline, sizes, None, split, validation, None, 0)
    linear_fit(fit_rows, training, refit=True)
    assert len(seen[0]) == pytest.approx(100_000, abs=2)
    assert np.diff(seen[0]).max() <= 2 * 3.3 + 2  # spread over all


def test_the_path_at_the_end_is_the_one_fitted_to_all_rows(options, frame, monkeypatch):
    """The network is trained beside the first fit, and forecasts are made with the second."""
    fits = []

    def spy(*args, **kwargs):
        fits.append(linear_fit(*args, **kwargs))
        return fits[-1]

    monkeypatch.setattr(fitting_of_model, "linear_fit", spy)
    for early_stopping in ("auto", True):
        estimator = options(early_stopping=early_stopping).fit(frame(120))
        before, after, _ = fits[-1]
        assert np.array_equal(before.own, after.own) == (early_stopping is True)
        for name, values in maps(estimator).items():
            np.testing.assert_array_equal(values, np.float32(getattr(after, name)))


@pytest.mark.parametrize("warm_start", [False, True])
def test_the_network_is_trained_beside_the_path_that_has_not_seen_the_tail(
    options, frame, warm_start, monkeypatch
):
    """Else its validation loss would be one on rows that the path knows."""
    fits, seen = [], []

    def spy(*args, **kwargs):
        fits.append(linear_fit(*args, **kwargs))
        return fits[-1]

    def share(module, validation, **options):
        seen.append(module.path.own.numpy().copy())
        return 0.25

    monkeypatch.setattr(fitting_of_model, "linear_fit", spy)
    monkeypatch.setattr(weighing, "network_share", share)
    estimator = options(warm_start=warm_start)
    # The second network starts with full trust again, to prove itself.
    for seed in range(2):
        estimator.fit(frame(120, seed=seed))
        np.testing.assert_array_equal(seen[seed], np.float32(fits[seed][0].own))
        assert trust(estimator) == 0.25


@pytest.fixture
def tried(options, frame, monkeypatch):
    """Fit with a trial of few windows, and gains of it and of the first epoch that are given."""

    def fit(*gains, stretches=3, has_trial=True, **changes):
        monkeypatch.setattr(trial, "TRIAL", 24 if has_trial else 1e9)
        left = list(gains)
        monkeypatch.setattr(trial, "gain_of_best_share", lambda _: left.pop(0))
        monkeypatch.setattr(trial, "MOST_STRETCHES", stretches)
        return options(max_iter=3, early_stopping=True, **changes).fit(frame(160))

    return fit


LITTLE, ENOUGH = 0.004, 0.006


def test_a_network_whose_trial_gains_little_is_not_trained_on(tried):
    """Most tables have none for it, and it would take three quarters of the fit."""
    one = tried(LITTLE)
    assert one.n_iter_ == len(one.loss_curve_) == len(one.validation_scores_) == 1
    # Less than one epoch: its rate went down to the end of one.
    untried = tried(ENOUGH, has_trial=False)
    assert (
        one.history_["learning_rate"].iloc[-1]
        < untried.history_["learning_rate"].iloc[0]
    )


def test_after_a_trial_that_gains_all_is_as_before(tried):
    """Weights, what they were trained on, and what dropout drew."""
    one, two = tried(ENOUGH, ENOUGH), tried(ENOUGH, has_trial=False)
    assert one.loss_curve_ == two.loss_curve_
    for name, values in one.module_.state_dict().items():
        torch.testing.assert_close(
            two.module_.state_dict()[name], values, rtol=0, atol=0
        )


def test_training_goes_on_after_an_epoch_that_gains_and_no_other_is_asked(tried):
    """A trial of 1,000 windows sees nothing on bikes, where the first epoch has 1 % of 4."""
    going, ended = tried(ENOUGH, has_trial=False), tried(LITTLE, has_trial=False)
    assert (going.n_iter_, ended.n_iter_) == (3, 1)
    assert ended.loss_curve_ == going.loss_curve_[:1]


def test_few_forecasts_in_the_validation_split_say_nothing(tried):
    """Of WTH, 720 steps ahead, a trial would cost 1.1 % of the error; an epoch needs half."""
    # By its first epoch, as nothing else was asked.
    assert tried(LITTLE, stretches=6).n_iter_ == 1
    assert tried(stretches=8).n_iter_ == 3


@pytest.mark.parametrize("scale", [0.01, 0.0025, -0.5])
def test_a_gain_is_what_the_best_share_takes_off_less_a_standard_error(scale):
    """None is found where stretches differ by more."""
    stretches = 1 + np.random.default_rng(0).normal(size=12) * 0.001
    losses = stretches[:, None] * (1 - scale * np.array([0.0, 0.5, 1.0]))
    assert gain_of_best_share(losses) == pytest.approx(max(scale, 0), abs=1e-9)
    losses[:, 1:] *= np.linspace(0.95, 1.05, 12)[:, None]
    assert gain_of_best_share(losses) < max(scale, 1e-9)
    assert gain_of_best_share(losses[:1]) == gain_of_best_share(0 * losses) == 0


def test_a_fit_that_writes_checkpoints_has_no_trial(tried, tmp_path):
    """Its file would know nothing of it; that its first epoch was the last one, it knows."""
    given = {"checkpoint": tmp_path / "fit", "random_state": 0}
    assert tried(ENOUGH, **given).n_iter_ == 3
    (tmp_path / "fit").unlink()
    assert tried(LITTLE, **given).n_iter_ == tried(**given).n_iter_ == 1


def test_weight_0_switches_off_what_the_path_would_learn_of_outliers(small):
    """The truths of a faulty week are switched off, and those forecast from it."""
    t = np.arange(400)
    wave = 10 + np.sin(t / 3) + 0.05 * np.random.default_rng(0).normal(size=400)
    faulty, weight = wave.copy(), np.ones(400)
    faulty[200:210] += 4 * np.random.default_rng(1).normal(size=10)
    weight[200 : 210 + SEQ + PRED] = 0
    clean, off, on = (
        distrust(small(early_stopping=False).fit(rows[:, None], sample_weight=w))
        .forecast(horizon=8)
        .to_numpy()
        .ravel()
        for rows, w in ((wave, weight), (faulty, weight), (faulty, None))
    )
    truth = 10 + np.sin(np.arange(400, 408) / 3)
    np.testing.assert_allclose(off, clean, atol=0.05)
    assert np.abs(off - truth).mean() < 0.15
    assert np.abs(off - clean).max() < np.abs(on - clean).max()


@pytest.mark.xfail(reason="one gram for all steps: weights by the clock bend the maps")
def test_weights_by_the_clock_leave_the_path_as_good_as_it_was(small):
    """Who only cares for the day gives the night no weight, and must not get worse days."""
    t = np.arange(960)
    wave = np.sin(2 * np.pi * t / 24) + 0.3 * np.sin(4 * np.pi * t / 24 + 1)
    wave = wave + 0.05 * np.random.default_rng(0).normal(size=960)
    day = t % 24 < 12
    errors = []
    for weight in (None, day.astype(float)[:800]):
        estimator = distrust(
            small(seq_len=24).fit(wave[:800, None], sample_weight=weight)
        )
        later = (t >= 800) & day
        errors.append(np.abs(estimator.predict(wave[:, None]) - wave)[later].mean())
    assert errors[1] < 1.5 * errors[0]


def test_truths_that_are_missing_every_night_leave_the_days_as_good_as_held_ones(small):
    """A shop has no sales at night; its days must not be worse than if zeros were written there."""
    t = np.arange(960)
    wave = np.sin(2 * np.pi * t / 24) + 0.3 * np.sin(4 * np.pi * t / 24 + 1)
    wave = wave + 0.05 * np.random.default_rng(0).normal(size=960)
    day = t % 24 < 12
    runs = np.where(day, wave, np.nan)
    estimator = small(seq_len=24).fit(runs[:800, None])
    held = pd.Series(runs).ffill().to_numpy()
    later = (t >= 800) & day
    one, two = (
        np.abs(estimator.predict(rows[:, None]) - wave)[later].mean()
        for rows in (runs, held)
    )
    assert one < 2 * two


# --- leaks ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize("column", ["load", "flow"])
@pytest.mark.parametrize("position", [100, 102, 107])
def test_no_forecast_moves_with_rows_after_its_origin(
    options, frame, trusted, column, position
):
    """Truths and measured columns are known up to the origin only; the mixed map reads both."""
    df = frame(112)
    estimator = options().fit(df[:100])
    estimator = estimator if trusted else distrust(estimator)
    changed = df.copy()
    changed.iloc[position:, df.columns.get_loc(column)] += 7.0
    before, after = estimator.predict(df), estimator.predict(changed)
    origins = 100 + (np.arange(112) - 100) // PRED * PRED
    reached = origins > position
    np.testing.assert_array_equal(after[~reached], before[~reached])
    assert (after[reached] != before[reached]).all()


def test_a_value_known_ahead_moves_its_own_step_of_the_path_only(options, frame):
    """The path gives a price to its own day: by its effect, and to no other day of the block."""
    df = frame(104)
    df["load"] -= 8 * (df["price"] - 20)
    estimator = distrust(options().fit(df[:100]))
    before = estimator.predict(df)
    for row in range(100, 104):
        changed = df.copy()
        changed.iloc[row, 1] += 1.0
        moved = estimator.predict(changed) - before
        assert np.flatnonzero(moved).tolist() == [row]
        scale = estimator.scaler_.scale[0]
        effect = float(estimator.module_.path.effect[0, 0])
        assert moved[row] == pytest.approx(
            effect * scale[0] / scale[2], rel=1e-2, abs=1e-3
        )


def test_a_known_effect_is_learnt_to_the_percent(small):
    """A column that makes the target is what ordinary regression expects to work."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=400), "b": 5 * rng.normal(size=400)})
    y = 100 + 3 * X["a"] - 0.4 * X["b"]
    estimator = distrust(small().fit(X[:360], y[:360]))
    np.testing.assert_allclose(estimator.predict(X)[360:], y[360:], atol=0.05)


def test_missing_covariates_leave_the_path_finite(options, frame):
    """A vector stands for a missing value in the network; in the path it counts as the mean."""
    df = frame(120)
    df.loc[df.index[5::9], "flow"] = df.loc[df.index[3::8], "price"] = np.nan
    estimator = options(embeddings=("missing",)).fit(df[:100])
    assert np.isfinite(estimator.predict(df)).all()
    assert np.isfinite(distrust(estimator).predict(df)).all()


# --- copies, and fits that go on --------------------------------------------------------------


def test_copies_forecast_the_same_bit_by_bit(options, frame):
    """The maps are a part of the state."""
    df = frame(120)
    estimator = options().fit(df[:100])
    expected = estimator.predict(df)
    for other in (
        pickle.loads(pickle.dumps(estimator)),
        copy.deepcopy(estimator),
        clone(estimator).fit(df[:100]),
    ):
        np.testing.assert_array_equal(other.predict(df), expected)
        assert trust(other) == trust(estimator)
        assert base_blend(other) == base_blend(estimator)


def test_a_warm_start_fits_the_path_to_the_new_rows(options, frame):
    """A ridge is solved, not trained: there is nothing of the old one to go on from."""
    old, new = frame(100), frame(130, seed=3)
    warm = options(warm_start=True).fit(old)
    earlier = maps(warm)
    warm.fit(new)
    cold = options().fit(new)
    same_maps(warm, cold)
    assert not np.array_equal(earlier["own"], maps(warm)["own"])
    assert base_blend(warm) == base_blend(cold)


@pytest.mark.slow
def test_a_fit_that_was_stopped_ends_like_one_that_was_not(
    options, frame, tmp_path, monkeypatch
):
    """The path is fitted again, the network goes on, and the trust is that of the whole."""
    df = frame(140)
    settings = {"max_iter": 4, "n_iter_no_change": 9}
    whole = options(**settings).fit(df)
    save, written = checkpoints.save, []

    def save_and_stop(*args):
        save(*args)
        written.append(1)
        if len(written) == 2:
            raise MemoryError("the machine is gone")

    stopped = options(checkpoint=tmp_path / "fit.pt", **settings)
    monkeypatch.setattr(checkpoints, "save", save_and_stop)
    with pytest.raises(MemoryError, match="the machine is gone"):
        stopped.fit(df)
    monkeypatch.undo()
    for _ in range(2):  # once from the middle, once from the end
        resumed = options(checkpoint=tmp_path / "fit.pt", **settings).fit(df)
        assert trust(resumed) == trust(whole)
        for name, values in whole.module_.state_dict().items():
            assert torch.equal(values, resumed.module_.state_dict()[name]), name


# --- is it worth it ---------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* is taken as missing:UserWarning")
@pytest.mark.parametrize(("kind", "most"), [("noise", 1.10), ("walk", 1.05)])
def test_forecasts_of_what_cannot_be_forecast_are_not_much_worse_than_none(
    small, kind, most
):
    """The mean is the best of noise, the last value of a random walk; blends may cost a little."""
    ratios = []
    for seed in range(4):
        y = np.random.default_rng(seed).normal(size=1200)
        y = y.cumsum() if kind == "walk" else y
        forecast = small(max_iter=3).fit(y[:600, None]).predict(y[:, None])[600:]
        origins = 600 + np.arange(600) // PRED * PRED
        naive = y[origins - 1] if kind == "walk" else y[:600].mean()
        ratios.append(
            np.abs(forecast - y[600:]).mean() / np.abs(naive - y[600:]).mean()
        )
    assert np.mean(ratios) < most


@pytest.mark.filterwarnings("ignore:.* is taken as missing:UserWarning")
def test_a_short_random_walk_is_forecast_about_as_well_as_by_its_last_value():
    """With the defaults' window and horizon, 300 rows are a handful of forecasts to learn from."""
    ratios = []
    for seed in range(3):
        y = np.random.default_rng(seed).normal(size=1020).cumsum()
        estimator = InformerRegressor(
            random_state=0,
            network=Network(d_model=8, device="cpu"),
            training=Training(max_iter=1),
        )
        assert (estimator.seq_len, estimator.pred_len) == (96, 24)
        forecast = estimator.fit(y[:300, None]).predict(y[:, None])
        rows = np.arange(312, 1020)  # in blocks of the horizon from row 0 on
        naive = y[rows // 24 * 24 - 1]
        error = ((forecast[rows] - y[rows]) ** 2).mean()
        ratios.append(error / ((naive - y[rows]) ** 2).mean())
    assert np.mean(ratios) <= 1.15


def test_the_path_helps_where_there_is_something_to_forecast(small, frame):
    """One epoch of a tiny network learns nothing; the path makes a good forecast of a wave."""
    df = frame(400)[["load"]]
    errors = {}
    for start in ("ridges", None):
        members = ["ridges", "network"] if start else ["network"]
        forecast = small(members=members).fit(df[:300]).predict(df)
        errors[start] = np.abs(forecast - df["load"])[300:].mean()
    assert errors["ridges"] < 6  # the noise alone gives 4
    assert errors["ridges"] < 0.5 * errors[None]


@pytest.mark.filterwarnings("ignore:series .* take no part in training:UserWarning")
def test_a_panel_of_short_and_long_series_has_a_path(small, panel):
    """Series that are too short for a window take part by being forecast."""
    df = panel(n=(90, 40, 3))
    estimator = small(target="load").fit(df)
    assert np.isfinite(estimator.forecast()["load"]).all()
    assert np.isfinite(distrust(estimator).predict(df)).all()


def test_a_quantile_is_never_replaced_by_the_mean(small, frame):
    """Ridges forecast means; a level of .9 that fell back to one would be wrong by its meaning."""
    high = small(loss=0.9, early_stopping=True).fit(frame(80))
    assert trust(high) == 1


def test_a_warm_start_goes_on_from_a_pickle_as_from_the_model(options, frame):
    """Generators of dropout are where they were."""
    df = frame(120)
    model = options(members=["network"], dropout=0.3, warm_start=True).fit(df)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.fit(df).predict(df), again.fit(df).predict(df))
