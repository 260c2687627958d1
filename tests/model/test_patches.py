from itertools import chain, product

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn

from skinformer.model.patches import merge_steps, n_patches, split_steps, starts

LENGTHS, PATCHES = range(1, 10), range(1, 12)


@pytest.mark.parametrize("n_columns", [1, 3])
@pytest.mark.parametrize("length", LENGTHS)
def test_splitting_undoes_merging_a_future(length, n_columns):
    """A forecast must land on the step that its token stands for."""
    x = torch.randn(2, length, n_columns)
    for patch in PATCHES:
        tokens = merge_steps(x, patch, pad_front=False)
        assert tokens.shape == (2, n_patches(length, patch), patch * n_columns)
        assert torch.equal(split_steps(tokens, patch, length=length), x)


@pytest.mark.parametrize("length", LENGTHS)
def test_patches_equal_a_loop(length):
    """Step by step within a token, column by column within a step; a past ends a patch."""
    x = torch.arange(1.0, 2 * length + 1).reshape(1, length, 2)
    for patch, front in product(PATCHES, (True, False)):
        n = n_patches(length, patch)
        blank, rows = [[0.0, 0.0]] * (n * patch - length), x[0].tolist()
        rows = blank + rows if front else rows + blank
        expected = [list(chain(*rows[i * patch : (i + 1) * patch])) for i in range(n)]
        assert merge_steps(x, patch, pad_front=front)[0].tolist() == expected


@pytest.mark.parametrize("front", [True, False])
@pytest.mark.parametrize("length", LENGTHS)
def test_the_start_of_a_patch_is_its_first_real_step(length, front):
    """Calendar and values of a token must come from the same steps."""
    number = torch.arange(1, length + 1).reshape(1, length, 1)
    for patch in PATCHES:
        tokens = merge_steps(number.float(), patch, pad_front=front)[0]
        expected = [int(token[token > 0][0]) for token in tokens]
        assert starts(number[..., 0], patch, pad_front=front)[0].tolist() == expected
        fields = starts(number.expand(1, length, 4), patch, pad_front=front)
        assert fields.shape == (1, len(tokens), 4)
        assert fields[0, :, 3].tolist() == expected


@pytest.mark.parametrize("length", LENGTHS)
def test_the_number_of_patches_covers_all_steps_and_no_more(length):
    """A token of nothing would be attended to."""
    for patch in PATCHES:
        n = n_patches(length, patch)
        assert (n - 1) * patch < length <= n * patch


def test_a_patch_of_one_step_changes_nothing():
    """The network without patches is the network of the sources, bit by bit."""
    x = torch.randn(2, 5, 3)
    assert merge_steps(x, 1, pad_front=True) is x
    assert starts(x, 1, pad_front=False) is x
    assert torch.equal(split_steps(x, 1, length=5), x)


def test_what_is_not_there_has_no_starts():
    """A network without calendar or times passes None through."""
    assert starts(None, 3, pad_front=True) is None


def test_gradients_reach_every_step_once():
    """The padding takes none, and no step gives twice."""
    x = torch.randn(1, 7, 2, requires_grad=True)
    merge_steps(x, 3, pad_front=True).sum().backward()
    assert torch.equal(x.grad, torch.ones_like(x))


def test_missing_values_stay_in_their_place():
    """The embedding knows a missing value by its column and step."""
    x = torch.zeros(1, 5, 2)
    x[0, 3, 1] = torch.nan
    tokens = merge_steps(x, 2, pad_front=True)
    assert tokens.isnan().nonzero().tolist() == [[0, 2, 1]]


@pytest.mark.parametrize("patch", [1, 2, 5, 6, 7, 48, 60])
def test_a_network_of_any_patch_forecasts_every_step(informer, patch):
    """Patches that divide neither the window nor the horizon, and longer ones, are allowed."""
    model = informer(patch_len=patch, decoder_patch_len=patch, n_known=1)
    out = model(torch.randn(2, 48, 2), torch.randn(2, 6, 2))
    assert out.shape == (2, 6, 1)
    assert out.isfinite().all()


@pytest.mark.parametrize("patch", [2, 5])
def test_the_last_step_of_the_window_reaches_the_forecast(informer, patch):
    """A remainder is filled up at the front: the newest rows are never cut off."""
    options = {"patch_len": patch, "decoder_patch_len": patch, "label_len": 0}
    model = informer(**options, window_norm=False, attention="dense").eval()
    past, future = torch.randn(1, 48, 1), torch.zeros(1, 6, 1)
    before = model(past, future)
    for step in (0, 47):
        changed = past.clone()
        changed[0, step] += 3
        assert not torch.equal(model(changed, future), before)


@pytest.mark.parametrize(("patch", "decoder_patch"), [(2, 2), (3, 3), (4, 1)])
def test_continuous_positions_of_equal_steps_are_the_sinusoidal_ones(
    informer, patch, decoder_patch
):
    """What the notes of the network say, and what holds without patches."""
    past, future = torch.randn(1, 48, 1), torch.zeros(1, 6, 1)
    times = torch.arange(-48.0, 0)[None], torch.arange(6.0)[None]
    options = {
        "patch_len": patch,
        "decoder_patch_len": decoder_patch,
        "attention": "dense",
    }
    one, two = (
        informer(**options, position=p).eval() for p in ("sinusoidal", "continuous")
    )
    two.load_state_dict(one.state_dict())
    torch.testing.assert_close(two(past, future, None, None, *times), one(past, future))


@pytest.mark.parametrize("label_len", range(10))
@pytest.mark.parametrize("patch", [1, 4])
def test_the_decoder_sees_the_guiding_rows_that_were_asked_for(
    informer, patch, label_len
):
    """Three rows in patches of four must not become none: the first patch is filled up."""
    options = {"patch_len": 4, "decoder_patch_len": patch, "label_len": label_len}
    model, seen = informer(**options, window_norm=False), []
    model.decoder_embedding.register_forward_pre_hook(
        lambda _, args: seen.append(args[0])
    )
    past, future = torch.randn(2, 48, 1), torch.zeros(2, 6, 1)
    model(past, future)
    rows = seen[0].reshape(2, -1)[:, : n_patches(label_len, patch) * patch]
    blank = torch.zeros(2, rows.shape[1] - label_len)
    assert torch.equal(rows, torch.cat([blank, past[:, 48 - label_len :, 0]], dim=1))


def test_a_token_of_the_decoder_stands_at_its_steps_calendar_and_time(informer, batch):
    """With an encoder of patches and a decoder of steps each counts in its own."""
    options = {"calendar_sizes": (24,), "position": "continuous", "label_len": 5}
    model, seen = informer(**options, patch_len=4), []
    for embedding in (model.encoder_embedding, model.decoder_embedding):
        embedding.register_forward_pre_hook(lambda _, args: seen.append(args))
    past, future, hours, hours_ahead, time, time_ahead = batch(**options)
    model(past, future, hours, hours_ahead, time, time_ahead)
    assert torch.equal(seen[0][1], hours[:, ::4])
    assert torch.equal(seen[0][2], time[:, ::4] / 4)
    assert torch.equal(seen[1][1], torch.cat([hours[:, -5:], hours_ahead], dim=1))
    assert torch.equal(seen[1][2], torch.cat([time[:, -5:], time_ahead], dim=1))


@pytest.mark.slow
@settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],  # they only build
)
@given(
    patch_len=st.integers(1, 9),
    pred_len=st.integers(1, 9),
    label_len=st.integers(0, 12),
    seed=st.integers(0, 2**31),
    window_norm=st.booleans(),
    mask_embedding=st.booleans(),
    null_embedding=st.booleans(),
    norm=st.sampled_from(["layer", "zc_rms"]),
    position=st.sampled_from(["sinusoidal", "learned", "continuous"]),
    n_decoder_layers=st.integers(1, 2),
)
def test_no_forecast_depends_on_a_value_known_ahead_of_a_later_step(
    informer, batch, seed, **drawn
):
    """A shorter frame must give the forecasts of the longer one; so must a missing value in it."""
    torch.manual_seed(seed)
    options = {"n_known": 2, "calendar_sizes": (24,), "seq_len": 12, **drawn}
    model, inputs = informer(**options).eval(), batch(**options)
    nn.init.normal_(model.known_path.weight)
    past, future, *rest = inputs
    before = model(past, future, *rest)
    for step in range(1, drawn["pred_len"]):
        later = future.clone()
        later[:, step:, 1:] = torch.nan if drawn["null_embedding"] else 5.0
        after = model(past, later, *rest)
        assert torch.equal(after[:, :step], before[:, :step])
        assert not torch.isclose(after[:, step:], before[:, step:]).all()
