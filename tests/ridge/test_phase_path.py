"""What the time of the day adds to an estimator's ridges: the same for everyone who forecasts."""

import pickle

import numpy as np
import pandas as pd
import pytest
import torch
from flat_parameters import with_parts

import skinformer
from skinformer import InformerRegressor, ModelFileError
from skinformer.estimators.exporting import exported_module
from skinformer.evaluation import explain
from skinformer.serving import window_inputs

TRAIN, PRED = 1600, 6
SIZES = {
    "target": ["one", "two"],
    "seq_len": 48,
    "pred_len": PRED,
    "d_model": 8,
    "n_heads": 2,
    "max_iter": 1,
    "max_windows": 64,
    "members": ["classical", "ridges", "network"],
    "known_future": ["price"],
    "device": "cpu",
    "random_state": 0,
}

pytestmark = pytest.mark.usefixtures("long_tables")


def make_frame(n=TRAIN + 300, *, seed=0, turns=True):
    """By day the next value has the sign of this one, by night the other sign."""
    hours = pd.date_range("2024-01-01", periods=n, freq="h", name="hour")
    chance = np.random.default_rng(seed)
    noise, values = chance.normal(size=(n, 2)), np.zeros((n, 2))
    for t in range(1, n if turns else 1):
        values[t] = (0.9 if hours[t].hour < 12 else -0.9) * values[t - 1] + noise[t]
    values = 50 + 10 * (values if turns else noise)
    frame = pd.DataFrame(values, index=hours, columns=["one", "two"])
    return frame.assign(price=chance.normal(size=n))


def fit(df, **changes):
    return InformerRegressor(**with_parts(**{**SIZES, **changes})).fit(df)


def phases(model):
    return model.module_.path.phases


def errors(model, later):
    return float(
        np.square(model.predict(later) - later[["one", "two"]].to_numpy()).mean()
    )


@pytest.fixture(scope="module")
def df():
    return make_frame()


@pytest.fixture(scope="module")
def model(df, long_tables):
    return fit(df[:TRAIN])


@pytest.mark.slow
def test_forecasts_know_the_hour(df, model):
    """As rows are read, fed back and updated; without the clock nobody can know it."""
    later = df[TRAIN:]
    assert phases(model) is not None
    without = fit(df[:TRAIN], calendar=None)
    assert phases(without) is None
    assert errors(model, later) < 0.9 * errors(without, later)
    known = later.assign(one=np.nan, two=np.nan)
    ahead = model.forecast(known[: 2 * PRED])
    np.testing.assert_allclose(ahead[:PRED], model.predict(later[:PRED]), rtol=1e-6)
    shown = pd.concat(
        [later[:PRED].assign(one=ahead["one"], two=ahead["two"]), known[PRED:]]
    )
    # What was said is read as if it had come.
    fed_back = model.predict(shown[: 2 * PRED])
    np.testing.assert_allclose(ahead[PRED:], fed_back[PRED:], rtol=1e-4)


@pytest.mark.slow
def test_what_does_not_turn_is_left():
    assert phases(fit(make_frame(turns=False)[:TRAIN])) is None


@pytest.mark.slow
def test_series_of_a_panel_have_days_of_their_own(df):
    panel = pd.concat({"a": df[:TRAIN], "b": df[:TRAIN]})
    assert phases(fit(panel)) is None


@pytest.mark.slow
@pytest.mark.parametrize("way", ["file", "pickle"])
def test_copies_forecast_the_same_bit_for_bit(df, model, way, tmp_path):
    if way == "file":
        model.save(tmp_path / "model")
        again = skinformer.load(tmp_path / "model")
    else:
        again = pickle.loads(pickle.dumps(model))
    assert torch.equal(phases(again).weights, phases(model).weights)
    later = df[TRAIN:]
    np.testing.assert_array_equal(again.predict(later), model.predict(later))


def test_what_is_exported_knows_the_hour(df, model):
    assert_exported(model, df)


def test_what_is_exported_of_a_series_alone_knows_the_hour(df):
    """Its ridges have a faster way elsewhere, which knows no hours."""
    df = df[["one"]]
    model = fit(df[:TRAIN], target="one", known_future=None)
    assert phases(model) is not None
    model.ensemble_ = model.ensemble_.with_network_share(0.0)
    assert_exported(model, df)


def assert_exported(model, df):
    known = df[TRAIN : TRAIN + PRED].assign(
        **dict.fromkeys(model.roles_.targets, np.nan)
    )
    inputs, _ = window_inputs(pd.concat([df[:TRAIN], known]), model.signature_)
    with torch.inference_mode():
        forecast, _ = exported_module(model)(
            **{k: torch.from_numpy(v) for k, v in inputs.items()}
        )
    np.testing.assert_allclose(forecast.numpy()[0], model.forecast(known), rtol=1e-4)


def test_explanations_add_up_to_forecasts(df, model):
    """A change of the window does what it does at that hour."""
    later = df[TRAIN : TRAIN + PRED].assign(one=np.nan, two=np.nan)
    reasons = explain(model, pd.concat([df[:TRAIN], later])[-PRED:])
    sums = reasons.pivot_table("contribution", "time", "target", aggfunc="sum")
    np.testing.assert_allclose(sums, model.predict(later), rtol=1e-4)
    assert (reasons["source"] == "two").any()


@pytest.mark.slow
def test_the_network_corrects_what_the_hours_leave(df, monkeypatch):
    """In training each window's maps are those that have not learnt its time."""
    seen = []
    from skinformer.ensemble import out_of_fold

    real = out_of_fold.LinearPath
    monkeypatch.setattr(
        out_of_fold, "LinearPath", lambda fit: seen.append(fit) or real(fit)
    )
    model = fit(df[:TRAIN])
    assert len(seen) == 3
    weights = [each.phases.weights for each in seen]
    final = phases(model).weights.numpy()
    assert not any(np.allclose(each, final) for each in weights)
    assert not np.allclose(*weights[:2])


@pytest.mark.slow
def test_a_warm_start_takes_hours_up_and_drops_them(df):
    """Other rows, other habits: what was found is found anew."""
    model = fit(df[:TRAIN], warm_start=True)
    still = make_frame(turns=False)
    model.set_params(training__max_iter=2).fit(still[:TRAIN])
    assert phases(model) is None
    model.set_params(training__max_iter=3).fit(df[:TRAIN])
    assert phases(model) is not None


def shorter(array):
    return array[:-1]


@pytest.mark.parametrize(
    ("name", "forge"),
    [
        ("weights", lambda x: x[:, :-1]),
        ("weights", lambda x: x[..., :-1]),
        ("weights", lambda x: x * np.nan),
        ("weights", lambda x: x.astype(np.int64)),
        (
            "weights",
            lambda x: x[:, : x.shape[1] - 9 * 2],
        ),  # of one column, but two targets
        ("waves", lambda x: x[:0]),
        ("waves", lambda x: x[:, :0]),
        ("own", shorter),
    ],
)
def test_forged_maps_are_refused(model, name, forge, save_forged):
    """They would end a forecast, or change it, long after the file was opened."""
    path = save_forged(model, getattr(phases(model), name).numpy(), forge)
    with pytest.raises(ModelFileError):
        skinformer.load(path)
