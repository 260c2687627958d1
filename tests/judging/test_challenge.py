"""Members beside the ridges of a long table are added one after the other, where they gain."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from skinformer import InformerRegressor
from skinformer.ensemble.head import PointHead
from skinformer.ensemble.member import Member
from skinformer.ensemble.names import RIDGES, TREES
from skinformer.estimators.settings import read_settings
from skinformer.judging.challenge import weigh_challengers
from skinformer.judging.plan import Plan
from skinformer.judging.proof import Proof

PRED_LEN = 4
N_WINDOWS = 240


class Windows(SimpleNamespace):
    """Cut-offs at consecutive steps."""

    def __len__(self):
        return len(self.steps)


def kind_of(name, forecast, plain=()):
    """Make a member that forecasts the cut-offs so, whatever it was fitted to."""

    class Fake(Member):
        plain_columns = plain

        @property
        def name(self):
            return name

        @classmethod
        def from_rows(cls, rows, settings):
            return cls()

        def forecast(self, windows, base=None):
            return forecast

    return Fake


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
    """Weigh members by name beside the forecast of ridges."""
    sizes = SimpleNamespace(
        seq_len=24, pred_len=PRED_LEN, n_targets=1, n_known=n_known, n_static=0
    )
    windows = Windows(
        steps=np.arange(n_windows), values=truth, buffer=SimpleNamespace(sizes=sizes)
    )
    some = slice(n_windows)
    weight = np.ones_like(truth[some])
    proof = Proof(
        windows, PointHead("mse"), truth[some], weight, {RIDGES: ridges[some]}
    )
    return weigh_challengers(
        SimpleNamespace(blend={"last": last}),
        kinds,
        proof,
        SimpleNamespace(sizes=sizes),
        plan_of(*kinds),
    )


def test_a_member_that_errs_less_takes_the_weight_of_the_ridges():
    """It is right where ridges are a deviation off."""
    truth = draw(0)
    other = kind_of("other", truth + draw(2, 0.01))
    challenge, _ = weigh({"other": other}, ridges=truth + draw(1), truth=truth)
    assert challenge.weights["other"].min() > 0.9
    np.testing.assert_allclose(challenge.y_pred, truth, atol=0.5)


def test_a_member_that_errs_more_gets_none():
    """The joint forecast stays that of the ridges."""
    truth = draw(0)
    ridges = truth + draw(1, 0.1)
    other = kind_of("other", truth + draw(2, 2.0))
    challenge, _ = weigh({"other": other}, ridges=ridges, truth=truth)
    assert not challenge.weights["other"].any()
    np.testing.assert_array_equal(challenge.y_pred, ridges)


def test_weights_go_by_the_steps_ahead_at_which_a_member_gains():
    """It is right at the last steps, and wrong at the first."""
    truth = draw(0)
    forecast = truth + draw(2, 0.8)
    forecast[:, 2:] = truth[:, 2:]
    challenge, _ = weigh(
        {"other": kind_of("other", forecast)}, ridges=truth + draw(1, 0.5), truth=truth
    )
    weight = challenge.weights["other"][:, 0]
    assert weight[0] + 0.2 < weight[-1]


def test_a_later_member_gains_on_the_joint_forecast_of_those_before():
    """A copy of the one before adds nothing; all weights add up to one."""
    truth = draw(0)
    forecast = truth + draw(2, 0.5)
    kinds = {name: kind_of(name, forecast) for name in ("first", "copy")}
    challenge, _ = weigh(kinds, ridges=truth + draw(1, 0.5), truth=truth)
    assert [member.name for member in challenge.challengers] == ["first", "copy"]
    assert 0.3 < challenge.weights["first"].mean() < 0.7
    assert challenge.weights["copy"].max() < 0.2
    total = sum(challenge.weights.values())
    np.testing.assert_allclose(total, 1.0)
    joint = sum(
        challenge.weights[name] * challenge.proof.forecasts[name][0]
        for name in (RIDGES, "first", "copy")
    )
    np.testing.assert_allclose(challenge.y_pred[0], joint, rtol=1e-4, atol=1e-5)


def test_nothing_is_weighed_where_the_split_holds_no_two_forecasts():
    """One stretch alone proves nothing; the plan says why."""
    truth = draw(0)
    other = kind_of(TREES, truth)
    challenge, plan = weigh(
        {TREES: other}, ridges=truth + 1, truth=truth, n_windows=2 * PRED_LEN - 1
    )
    assert challenge is None
    assert plan.reasons == {TREES: "the validation split holds no two forecasts"}


def test_trees_are_not_asked_on_a_random_walk_without_columns_known_ahead():
    """The last value is best there, however well trees do by chance."""
    truth = draw(0)
    challenge, plan = weigh(
        {TREES: kind_of(TREES, truth)},
        ridges=truth + 1,
        truth=truth,
        n_known=0,
        last=0.5,
    )
    assert challenge is None
    assert plan.reasons[TREES].startswith("no future covariates, and a random walk")
    assert TREES not in plan.settings.members


def test_trees_that_found_no_column_to_tell_anything_gain_by_a_standard_error():
    """They see no more than ridges do: what is as good by chance gets less weight."""
    truth = draw(0)
    ridges = truth + draw(1)
    forecast = ridges + draw(3, 0.3) - 0.04 * (ridges - truth)
    weights = []
    for plain in [(), (0,)]:
        kinds = {TREES: kind_of(TREES, forecast, plain)}
        challenge, _ = weigh(kinds, ridges=ridges, truth=truth)
        weights.append(challenge.weights[TREES].mean())
    assert weights[0] > 1.5 * weights[1]
