import numpy as np
import pytest
import torch

from skinformer.model.corrected import Corrected
from skinformer.ridge.linear_fit import LinearFit
from skinformer.ridge.linear_path import LinearPath

SEQ, PRED, TARGETS, INPUTS = 7, 3, 2, 4


def zeros(
    *, n_targets, n_known, n_inputs, n_groups, mixed_len, seq_len, pred_len, **found
):
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


def make_path(*, n_known=1, n_groups=2, mixed_len=5, seed=0):
    """Make a path with random maps, and the float64 fit that it holds."""
    rng = np.random.default_rng(seed)
    n_features = (mixed_len + 1) * INPUTS + 1
    fit = LinearFit(
        own=rng.normal(size=(n_groups, SEQ, PRED)),
        mixed=rng.normal(size=(n_features * bool(mixed_len), PRED * TARGETS)),
        mixed_len=mixed_len,
        effect=rng.normal(size=(n_known, TARGETS)),
        blend={},
    )
    return LinearPath(fit), fit


def by_loop(fit, past, future, *, mixed_len):
    """Forecast one window in float64, value by value."""
    past, future = (
        np.nan_to_num(past.astype(float)),
        np.nan_to_num(future.astype(float)),
    )
    n_known = len(fit.effect)
    known = range(INPUTS - n_known, INPUTS)
    for row in past:
        row[:TARGETS] -= sum(row[c] * fit.effect[k] for k, c in enumerate(known))
    last, out = past[-1], np.zeros((PRED, TARGETS))
    features = (
        [*(past[SEQ - mixed_len :] - last).ravel(), *last, 1.0] if mixed_len else []
    )
    for h, j in np.ndindex(PRED, TARGETS):
        own = fit.own[j % len(fit.own)][:, h]
        out[h, j] = last[j] + sum((past[i, j] - last[j]) * own[i] for i in range(SEQ))
        out[h, j] += sum(
            x * fit.mixed[f, h * TARGETS + j] for f, x in enumerate(features)
        )
        out[h, j] += sum(future[h, c] * fit.effect[k, j] for k, c in enumerate(known))
    return out


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("mixed_len", [0, 1, 5, SEQ])
@pytest.mark.parametrize("n_groups", [1, TARGETS])
@pytest.mark.parametrize("n_known", [0, 1, 2])
def test_the_path_forecasts_what_the_fit_says(n_known, n_groups, mixed_len, missing):
    """Fitted in numpy, applied in torch: two layouts that must agree to float32."""
    path, fit = make_path(n_known=n_known, n_groups=n_groups, mixed_len=mixed_len)
    past, future = torch.randn(6, SEQ, INPUTS), torch.randn(6, PRED, INPUTS)
    if missing:
        past[0, 2, 3] = past[1, -1, 2] = future[2, 1, 3] = torch.nan
    out = path(past, future)
    assert out.dtype == torch.float32
    for i in range(6):
        expected = by_loop(fit, past[i].numpy(), future[i].numpy(), mixed_len=mixed_len)
        np.testing.assert_allclose(out[i].numpy(), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("mixed_len", [0, 3])
def test_an_unfitted_path_repeats_the_last_value(mixed_len):
    """Zeros are the one start that is a forecast."""
    path = zeros(
        n_targets=2,
        n_known=1,
        n_inputs=4,
        n_groups=1,
        mixed_len=mixed_len,
        seq_len=7,
        pred_len=3,
    )
    past = torch.randn(5, 7, 4)
    out = path(past, torch.randn(5, 3, 4))
    assert torch.equal(out, past[:, -1:, :2].expand(5, 3, 2))


def test_a_path_has_no_parameters_and_keeps_its_maps_in_the_state():
    """Gradient steps would leave the ridge's solution; a pickle must hold it all the same."""
    path, _ = make_path()
    assert not list(path.parameters())
    assert set(path.state_dict()) == {"own", "mixed", "effect"}


def test_only_known_columns_of_the_future_are_read():
    """The others hold the answer when somebody forgets to mask them."""
    path, _ = make_path(n_known=1)
    past, future = torch.randn(2, SEQ, INPUTS), torch.randn(2, PRED, INPUTS)
    other = future.clone()
    other[..., :3] = torch.nan
    assert torch.equal(path(past, future), path(past, other))


def test_a_known_value_moves_its_own_step_only():
    """The effect is one of the same row."""
    path, fit = make_path(n_known=1)
    past, future = torch.randn(1, SEQ, INPUTS), torch.randn(1, PRED, INPUTS)
    other = future.clone()
    other[0, 1, 3] += 1
    moved = path(past, other) - path(past, future)
    expected = np.zeros((PRED, TARGETS))
    expected[1] = fit.effect[0]
    np.testing.assert_allclose(moved[0].numpy(), expected, atol=1e-5)


def test_the_path_is_float32_under_autocast():
    """bf16 keeps three digits of a level."""
    path, _ = make_path()
    past, future = torch.randn(2, SEQ, INPUTS), torch.randn(2, PRED, INPUTS)
    with torch.autocast("cpu", torch.bfloat16):
        out = path(past, future)
    assert out.dtype == torch.float32
    assert torch.equal(out, path(past, future))


def test_a_windows_forecast_is_its_own():
    """No window reaches another of its batch."""
    path, _ = make_path()
    past, future = torch.randn(4, SEQ, INPUTS), torch.randn(4, PRED, INPUTS)
    other = past.clone()
    other[2] = 99.0
    kept = [0, 1, 3]
    torch.testing.assert_close(path(other, future)[kept], path(past, future)[kept])


@pytest.mark.parametrize(("n_targets", "seq_len", "pred_len"), [(1, 24, 6), (2, 30, 7)])
def test_a_windows_forecast_does_not_depend_on_its_place_in_the_batch(
    n_targets, seq_len, pred_len
):
    """Bit for bit: a row predicted alone is the row predicted among others."""
    sizes = {"n_targets": n_targets, "n_inputs": n_targets, "n_groups": n_targets}
    path = zeros(**sizes, n_known=0, mixed_len=0, seq_len=seq_len, pred_len=pred_len)
    path.own.normal_()
    past, future = (
        torch.randn(32, seq_len, n_targets),
        torch.zeros(32, pred_len, n_targets),
    )
    order = torch.randperm(32)
    assert torch.equal(path(past[order], future), path(past, future)[order])


def test_a_new_network_forecasts_as_its_path(informer):
    """Its projection starts at zero: training begins at the ridge, not at noise."""
    sizes = {"n_targets": 1, "n_known": 1, "n_inputs": 2, "n_groups": 1, "mixed_len": 2}
    path = zeros(**sizes, seq_len=48, pred_len=6)
    path.own.normal_()
    path.mixed.normal_()
    path.effect.normal_()
    model = Corrected(path, informer(n_known=1, forecasts_distance=True)).eval()
    past, future = torch.randn(3, 48, 2), torch.randn(3, 6, 2)
    assert torch.equal(model(past, future), path(past, future))


@pytest.mark.parametrize("window_norm", [False, True])
def test_a_correction_depends_on_what_it_corrects(informer, window_norm):
    """Of the step itself and of earlier ones, of its own path and of one that is handed over."""
    sizes = {"n_targets": 1, "n_known": 1, "n_inputs": 2, "n_groups": 1, "mixed_len": 0}
    network = {"n_known": 1, "decoder_patch_len": 1, "window_norm": window_norm}
    network = informer(**network, forecasts_distance=True, reads_forecast=True).eval()
    torch.nn.init.normal_(network.projection.weight)
    model = Corrected(zeros(**sizes, seq_len=48, pred_len=6), network)
    past, future = torch.randn(3, 48, 2), torch.randn(3, 6, 2)
    found = torch.randn(3, 6, 1)
    times = [None] * 4
    first = model(past, future, *times, found) - found
    moved = found.clone()
    moved[:, 3] += 1.0
    other = model(past, future, *times, moved) - moved
    torch.testing.assert_close(first[:, :3], other[:, :3])
    assert (first[:, 3:] - other[:, 3:]).abs().amax(dim=(0, 2)).min() > 1e-4
    own = model.path(past, future)
    torch.testing.assert_close(model(past, future), model(past, future, *times, own))


def test_a_network_of_before_reads_nothing(informer):
    """As files have them that do not say it: their decoders learnt from zeros."""
    sizes = {"n_targets": 1, "n_known": 1, "n_inputs": 2, "n_groups": 1, "mixed_len": 0}
    network = informer(n_known=1, forecasts_distance=True).eval()
    torch.nn.init.normal_(network.projection.weight)
    model = Corrected(zeros(**sizes, seq_len=48, pred_len=6), network)
    past, future, found = (
        torch.randn(3, 48, 2),
        torch.randn(3, 6, 2),
        torch.randn(3, 6, 1),
    )
    future[..., :1] = 0.0
    corrected = model(past, future, *[None] * 4, found)
    torch.testing.assert_close(corrected, found + network(past, future))


def test_a_correction_goes_with_its_window_level_and_all(informer):
    """A window of another level and spread, and the forecast with it: the same, in its spread."""
    sizes = {"n_targets": 1, "n_known": 0, "n_inputs": 1, "n_groups": 1, "mixed_len": 0}
    network = informer(
        window_norm=True, forecasts_distance=True, reads_forecast=True
    ).eval()
    torch.nn.init.normal_(network.projection.weight)
    model = Corrected(zeros(**sizes, seq_len=48, pred_len=6), network)
    past, future, found = (
        torch.randn(3, 48, 1),
        torch.zeros(3, 6, 1),
        torch.randn(3, 6, 1),
    )
    times = [None] * 4
    first = model(past, future, *times, found) - found
    moved = 4 * found + 3
    other = model(4 * past + 3, future, *times, moved) - moved
    torch.testing.assert_close(other, 4 * first, atol=1e-4, rtol=1e-4)
