"""Members beside the ridges of a long table are added one after the other, where they gain."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from skinformer import InformerRegressor
from skinformer.budget import Budget
from skinformer.ensemble.head import PointHead
from skinformer.ensemble.member import Member
from skinformer.ensemble.names import RIDGES, TREES
from skinformer.estimators.settings import read_settings
from skinformer.judging.fit import EnsembleFit
from skinformer.judging.plan import Plan
from skinformer.judging.proof import Proof
from skinformer.judging.weights import Doubt, weigh_series, weigh_steps

PRED_LEN = 4
N_WINDOWS = 240


class Windows(SimpleNamespace):
    """Cut-offs at consecutive steps."""

    def __len__(self):
        return len(self.steps)


def kind_of(title, forecast, plain=(), **attributes):
    """Make a member that forecasts the cut-offs so, whatever it was fitted to."""

    class Fake(Member):
        name = title
        plain_columns = plain

        @classmethod
        def from_rows(cls, rows, settings):
            return cls()

        def forecast(self, windows, base=None):
            return forecast

    for attribute, value in attributes.items():
        setattr(Fake, attribute, value)
    return Fake


class Fit(EnsembleFit):
    """The fit of a long table at given cut-offs."""

    _kinds = None

    def __init__(self, kinds, ridges, proof, plan):
        self._kinds = kinds
        self.ridges = ridges
        self.proof = proof
        self.plan = plan
        self.budget = Budget()
        self.rows = SimpleNamespace(sizes=proof.windows.buffer.sizes)
        self.rows.before_cutoff = lambda: self.rows

    def _validation_windows(self, n_most):
        return None

    def _begin_proof(self, windows):
        return self.proof


def draw(seed, size=1.0):
    """Draw what came, and errors beside it."""
    rng = np.random.default_rng(seed)
    return (size * rng.normal(size=(N_WINDOWS, PRED_LEN, 1))).astype(np.float32)


def plan_of(*names):
    """Return the plan of a fit with these members."""
    model = InformerRegressor(seq_len=24, pred_len=PRED_LEN)
    settings = read_settings(model, PointHead("mse"), requested="cpu")
    return Plan(replace(settings, members=dict.fromkeys((RIDGES, *names), "auto")))


def weigh(kinds, *, ridges, truth, n_known=1, last=0.0, n_windows=N_WINDOWS):
    """Weigh members beside the forecast of ridges: weights by name at each step, and the plan."""
    sizes = SimpleNamespace(
        seq_len=24, pred_len=PRED_LEN, n_targets=1, n_known=n_known, n_static=0
    )
    windows = Windows(
        steps=np.arange(n_windows), values=truth, buffer=SimpleNamespace(sizes=sizes)
    )
    some = slice(n_windows)
    proof = Proof(windows, PointHead("mse"), truth[some], np.ones_like(truth[some]))
    ridges = kind_of(RIDGES, ridges[some], blend={"last": last})()
    fit = Fit(kinds, ridges, proof, plan_of(*kinds))
    fit._weigh_challengers()
    if not proof.others:
        return None, fit.plan
    np.testing.assert_allclose(sum(fit.weights.values()), 1.0)
    return {name: weight[0, :, 0] for name, weight in fit.weights.items()}, fit.plan


def test_a_member_that_errs_less_takes_the_weight_of_the_ridges():
    """It is right where ridges are a deviation off."""
    truth = draw(0)
    other = kind_of("other", truth + draw(2, 0.01))
    weights, _ = weigh({"other": other}, ridges=truth + draw(1), truth=truth)
    assert weights["other"].min() > 0.9


def test_a_member_that_errs_more_gets_none():
    """The joint forecast stays that of the ridges."""
    truth = draw(0)
    ridges = truth + draw(1, 0.1)
    other = kind_of("other", truth + draw(2, 2.0))
    weights, _ = weigh({"other": other}, ridges=ridges, truth=truth)
    assert not weights["other"].any()
    np.testing.assert_array_equal(weights[RIDGES], 1.0)


def test_weights_go_by_the_steps_ahead_at_which_a_member_gains():
    """It is right at the last steps, and wrong at the first."""
    truth = draw(0)
    forecast = truth + draw(2, 0.8)
    forecast[:, 2:] = truth[:, 2:]
    weights, _ = weigh(
        {"other": kind_of("other", forecast)}, ridges=truth + draw(1, 0.5), truth=truth
    )
    weight = weights["other"]
    assert weight[0] + 0.2 < weight[-1]


def test_a_later_member_gains_on_the_joint_forecast_of_those_before():
    """A copy of the one before adds nothing; all weights add up to one."""
    truth = draw(0)
    forecast = truth + draw(2, 0.5)
    kinds = {name: kind_of(name, forecast) for name in ("first", "copy")}
    weights, _ = weigh(kinds, ridges=truth + draw(1, 0.5), truth=truth)
    assert 0.3 < weights["first"].mean() < 0.7
    assert weights["copy"].max() < 0.2


def test_nothing_is_weighed_where_the_split_holds_no_two_forecasts():
    """One stretch alone proves nothing; the plan says why."""
    truth = draw(0)
    other = kind_of(TREES, truth)
    weights, plan = weigh(
        {TREES: other}, ridges=truth + 1, truth=truth, n_windows=2 * PRED_LEN - 1
    )
    assert weights is None
    assert plan.reasons == {TREES: "the validation split holds no two forecasts"}


def test_trees_are_not_asked_on_a_random_walk_without_columns_known_ahead():
    """The last value is best there, however well trees do by chance."""
    truth = draw(0)
    weights, plan = weigh(
        {TREES: kind_of(TREES, truth)},
        ridges=truth + 1,
        truth=truth,
        n_known=0,
        last=0.5,
    )
    assert weights is None
    assert plan.reasons[TREES].startswith("no future covariates, and a random walk")
    assert TREES not in plan.settings.members


def test_trees_that_found_no_column_to_tell_anything_gain_by_a_standard_error():
    """They see no more than ridges do: what is as good by chance gets less weight."""
    truth = draw(0)
    ridges = truth + draw(1)
    forecast = ridges + draw(3, 0.3) - 0.04 * (ridges - truth)
    means = []
    for plain in [(), (0,)]:
        kinds = {TREES: kind_of(TREES, forecast, plain)}
        weights, _ = weigh(kinds, ridges=ridges, truth=truth)
        means.append(weights[TREES].mean())
    assert means[0] > 1.5 * means[1]


def test_trees_have_to_gain_surely_where_the_target_is_a_random_walk():
    """The same gain that counts elsewhere is as likely chance beside the last value."""
    truth = draw(0)
    ridges = truth + draw(1)
    kinds = {TREES: kind_of(TREES, ridges + draw(3, 0.3) - 0.04 * (ridges - truth))}
    means = []
    for last in (0.0, 0.4):
        weights, _ = weigh(kinds, ridges=ridges, truth=truth, last=last)
        means.append(weights[TREES].mean())
    assert means[0] > 1.5 * means[1]


@pytest.mark.parametrize(("n_stretches", "share"), [(2, 1 / 6), (6, 0.5), (12, 1.0)])
def test_trees_that_see_no_more_get_a_part_of_the_share_of_few_stretches(
    n_stretches, share
):
    """They make no error there; with a column known ahead that tells something they have all."""
    n_windows = n_stretches * PRED_LEN
    truth = draw(0)
    kinds = {TREES: kind_of(TREES, truth[:n_windows])}
    for n_known, expected in ((0, share), (1, 1.0)):
        weights, _ = weigh(
            kinds,
            ridges=truth + draw(1),
            truth=truth,
            n_known=n_known,
            n_windows=n_windows,
        )
        np.testing.assert_allclose(weights[TREES], expected)


def test_both_ways_of_weighing_return_weights_by_series_step_target_and_member():
    """So what weighs is chosen in one place, and nothing that follows asks by what."""
    truth = np.tile(draw(0), (1, 1, 2))
    forecasts = {"one": truth + 0.1, "other": truth + 1.0}
    windows = Windows(
        steps=np.arange(N_WINDOWS), series=np.zeros(N_WINDOWS, dtype=np.int64)
    )
    proof = Proof(windows, PointHead("mse"), truth, np.ones_like(truth))
    proof.forecasts |= forecasts
    by_steps = weigh_steps(proof, proof.stretches, [Doubt(0.0)])
    by_series = weigh_series(proof, n_series=1, prior={})
    assert by_steps.shape == (2, PRED_LEN, 2, 2)
    assert by_series.shape == (2, 1, 2, 2)
    for weights in (by_steps, by_series):
        np.testing.assert_allclose(weights.sum(axis=-1), 1.0)
        assert (weights[..., 0] > 0.99).all()
