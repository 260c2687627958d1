import copy
import io
import pickle

import pytest
import torch
from torch import nn

MODERN = {
    "activation": "swiglu",
    "norm": "zc_rms",
    "qk_norm": True,
    "output_gate": True,
    "bias": False,
    "mask_embedding": True,
    "null_embedding": True,
    "init": "scaled",
}
CONTINUOUS = {"position": "continuous"}
ONE_HEAD = {"n_heads": 1}
FULL = {"n_targets": 2, "n_past": 1, "n_known": 2, "calendar_sizes": (24, 7, 12)}


def train_step(model, arguments):
    model.train()
    out = model(*arguments)
    out.square().mean().backward()
    return out


@pytest.mark.parametrize(
    "options", [{}, MODERN, FULL, MODERN | FULL | CONTINUOUS], ids=str
)
@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("decoder_attention", ["dense", "probsparse"])
def test_shape_type_and_gradients(
    informer, batch, options, norm_first, decoder_attention
):
    options = options | {
        "norm_first": norm_first,
        "decoder_attention": decoder_attention,
    }
    model = informer(dropout=0.1, **options)
    out = train_step(model, batch(**options))
    assert out.shape == (3, 6, options.get("n_targets", 1))
    assert out.dtype == torch.float32
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name


@pytest.mark.parametrize("seq_len", [1, 2, 8, 10])
@pytest.mark.parametrize("label_len", [0, 1])
@pytest.mark.parametrize("pred_len", [1, 2])
@pytest.mark.parametrize("attention", ["probsparse", "dense"])
def test_tiny_lengths(informer, batch, seq_len, label_len, pred_len, attention):
    options = {"seq_len": seq_len, "label_len": label_len, "pred_len": pred_len}
    model = informer(
        n_encoder_layers=3, attention=attention, decoder_attention=attention, **options
    )
    out = train_step(model, batch(**options))
    assert out.shape == (3, pred_len, 1)
    assert all(
        p.grad.isfinite().all() for p in model.parameters() if p.grad is not None
    )


def test_guiding_rows_are_the_last_of_the_window(informer, batch):
    """With label_len=0 a slice from -0 would take the whole window."""
    for label_len in (0, 5, 48):
        model = informer(label_len=label_len, window_norm=False)
        seen = []
        model.decoder_embedding.register_forward_pre_hook(
            lambda _, args: seen.append(args[0])  # noqa: B023
        )
        past, future = batch()
        model(past, future)
        assert torch.equal(
            seen[0], torch.cat([past[:, 48 - label_len :], future], dim=1)
        )


def test_decoder_sees_the_normalised_window_and_masked_zeros(informer, batch):
    model = informer(n_known=1)
    seen = []
    model.decoder_embedding.register_forward_pre_hook(
        lambda _, args: seen.append(args[0])
    )
    past, future = batch(n_known=1)
    model(past * 3 + 50, future)
    z, _ = model.window_norm(past * 3 + 50)
    assert torch.equal(seen[0], torch.cat([z[:, -12:], future], dim=1))


@pytest.mark.parametrize("options", [{}, {"outputs": (3,)}, {"season": 5}], ids=str)
def test_a_target_apart_is_forecast_as_if_it_were_alone(informer, batch, options):
    """By the same weights: what other targets do does not matter, and none is mixed up."""
    others = {"n_past": 1, **options}
    model = informer(n_targets=3, apart=True, **others).eval()
    alone = informer(n_targets=1, **others).eval()
    past, future = batch(n_targets=3, n_past=1)
    found = model(past, future)
    assert found.shape[:3] == (3, 6, 3)
    for j in range(3):
        own = alone(past[..., [j, 3]], future[..., [j, 3]])
        torch.testing.assert_close(found[:, :, [j]], own)


def test_columns_known_ahead_reach_each_target_apart_by_a_path_of_its_own(
    informer, batch
):
    """A holiday empties one street and fills another."""
    model = informer(n_targets=2, n_known=1, apart=True).eval()
    weight = model.known_path.weight
    with torch.no_grad():
        weight.copy_(torch.tensor([[2.0], [-3.0]]))
    past, future = batch(n_targets=2, n_known=1)
    before = model(past, future)
    with torch.no_grad():
        weight.zero_()
    moved = before - model(past, future)
    known = future[..., 2:]
    torch.testing.assert_close(moved, torch.cat([2 * known, -3 * known], dim=-1))


@pytest.mark.parametrize(("season", "pred_len"), [(5, 6), (24, 6), (48, 100), (1, 3)])
def test_masked_steps_hold_the_mean_of_their_phase_in_the_window(
    informer, batch, season, pred_len
):
    """What is usual at this time of the day, known from the first step of training on."""
    sizes = {"pred_len": pred_len, "season": season, "n_known": 1, "label_len": 0}
    model, seen = informer(**sizes), []
    model.decoder_embedding.register_forward_pre_hook(
        lambda _, args: seen.append(args[0])
    )
    past, future = batch(n_known=1, pred_len=pred_len)
    model(past, future)
    z, _ = model.window_norm(past)
    for step in range(pred_len):
        phase = range(48 - season + step % season, -1, -season)
        rows = [row for row in phase if row >= 48 % season]
        torch.testing.assert_close(seen[0][:, step, 0], z[:, rows, 0].mean(dim=1))
        assert torch.equal(seen[0][:, step, 1], future[:, step, 1])


@pytest.mark.parametrize("scale", [1e-3, 0.5, 1e3])
@pytest.mark.parametrize("attention", ["probsparse", "dense"])
def test_forecast_follows_scale_and_level_of_the_window(
    informer, batch, scale, attention
):
    model = informer(attention=attention).eval()
    past, future = batch()
    level = 100 * scale
    expected = scale * model(past, future) + level
    out = model(scale * past + level, future)
    torch.testing.assert_close(out, expected, atol=1e-3 * scale, rtol=0)


def test_without_window_norm_the_forecast_does_not_follow(informer, batch):
    model = informer(window_norm=False).eval()
    past, future = batch()
    assert not torch.isclose(
        model(past + 5, future), model(past, future) + 5, atol=0.5
    ).any()


@pytest.mark.parametrize("level", [0.0, 0.1, 1e5])
def test_constant_window_forecasts_its_level(informer, level):
    model = informer()
    out = train_step(model, (torch.full((2, 48, 1), level), torch.zeros(2, 6, 1)))
    torch.testing.assert_close(out, torch.full((2, 6, 1), level), atol=1e-3, rtol=1e-6)
    assert all(p.grad.isfinite().all() for p in model.parameters())


def test_known_covariates_reach_their_own_step_after_the_window_norm(informer, batch):
    """Their effect is in units of the target, not in deviations of the window."""
    model = informer(n_known=2).eval()
    past, future = batch(n_known=2)
    past = past * 40
    before = model(past, future)
    with torch.no_grad():
        model.known_path.weight.copy_(torch.tensor([[2.0, -1.0]]))
    expected = before + 2 * future[..., 1:2] - future[..., 2:]
    torch.testing.assert_close(model(past, future), expected, atol=1e-4, rtol=1e-5)


def test_forecast_never_depends_on_covariates_of_a_later_step(informer, batch):
    model = informer(n_known=1).eval()
    past, future = batch(n_known=1)
    before = model(past, future)
    future[:, 3:, -1] += 5
    after = model(past, future)
    torch.testing.assert_close(after[:, :3], before[:, :3], atol=1e-5, rtol=1e-5)
    assert not torch.isclose(after[:, 3:], before[:, 3:]).any()


def test_calendar_matters_and_december_works(informer, batch):
    model = informer(calendar_sizes=(12,)).eval()
    past, future, past_calendar, future_calendar = batch(calendar_sizes=(12,))
    december = torch.full_like(future_calendar, 11)
    out = model(past, future, past_calendar, december)
    assert out.isfinite().all()
    june = torch.full_like(future_calendar, 5)
    assert not torch.equal(out, model(past, future, past_calendar, june))


def test_no_fields_and_no_calendar_are_the_same(informer, batch):
    model = informer().eval()
    past, future = batch()
    nothing = torch.zeros(3, 48, 0, dtype=torch.int64)
    assert torch.equal(
        model(past, future), model(past, future, nothing, nothing[:, :6])
    )


def test_evaluation_has_no_dropout_and_repeats(informer, batch):
    model = informer(dropout=0.5).eval()
    arguments = batch()
    first = model(*arguments)
    torch.manual_seed(99)
    model.train()(*arguments)
    assert torch.equal(model.eval()(*arguments), first)


@pytest.mark.parametrize("attention", ["dense", "probsparse"])
@pytest.mark.parametrize(
    "options", [{}, CONTINUOUS, MODERN, MODERN | FULL, ONE_HEAD], ids=str
)
def test_batch_mates_make_no_difference(informer, batch, attention, options):
    model = informer(attention=attention, decoder_attention=attention, **options).eval()
    arguments = batch(batch_size=8, **options)
    whole = model(*arguments)
    alone = [
        model(*(x if x is None else x[i : i + 1] for x in arguments)) for i in range(8)
    ]
    torch.testing.assert_close(whole, torch.cat(alone), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("attention", ["dense", "probsparse"])
@pytest.mark.parametrize("options", [{}, MODERN], ids=["note", "modern"])
def test_one_head_trains_and_uses_the_whole_width(informer, batch, attention, options):
    options = (
        options | ONE_HEAD | {"attention": attention, "decoder_attention": attention}
    )
    model = informer(factor=1, **options)
    assert train_step(model, batch()).isfinite().all()
    assert all(p.grad.isfinite().all() for p in model.parameters())


@pytest.mark.parametrize(
    "options", [{}, MODERN, ONE_HEAD], ids=["note", "modern", "one head"]
)
def test_with_all_queries_selected_the_model_is_that_of_dense_attention(
    informer, batch, options
):
    """The approximation is in the selection and nowhere else, in every layer and length."""
    sparse = informer(decoder_attention="probsparse", factor=1000, **options).eval()
    dense = informer(attention="dense", **options).eval()
    dense.load_state_dict(
        {k: v for k, v in sparse.state_dict().items() if "sampler" not in k}
    )
    arguments = batch()
    torch.testing.assert_close(
        sparse(*arguments), dense(*arguments), atol=1e-5, rtol=1e-5
    )


@pytest.mark.parametrize("label_len", [0, 12, 48])
def test_times_of_equal_steps_give_the_sinusoidal_forecast(informer, batch, label_len):
    """Times count from the first forecast step: -48, …, -1 and 0, …, 5."""
    models = [
        informer(position=p, label_len=label_len) for p in ("continuous", "sinusoidal")
    ]
    models[1].load_state_dict(models[0].state_dict())
    continuous, sinusoidal = (model.eval() for model in models)
    past, future = batch()
    past_time, future_time = torch.arange(-48.0, 6).expand(3, 54).split((48, 6), dim=1)
    out = continuous(past, future, None, None, past_time, future_time)
    torch.testing.assert_close(out, sinusoidal(past, future), atol=1e-4, rtol=1e-4)


def test_times_are_ignored_without_continuous_positions(informer, batch):
    arguments = batch(**CONTINUOUS)
    model = informer().eval()
    assert torch.equal(model(*arguments), model(*arguments[:2]))


def test_continuous_positions_need_times(informer, batch):
    with pytest.raises(ValueError, match="pass past_time and future_time"):
        informer(**CONTINUOUS)(*batch())


def test_uneven_steps_matter_and_their_guiding_rows_keep_their_times(informer, batch):
    model = informer(**CONTINUOUS).eval()
    seen = []
    model.decoder_embedding.position.register_forward_pre_hook(
        lambda _, args: seen.append(args[0])
    )
    past, future, _, _, past_time, future_time = batch(**CONTINUOUS)
    before = model(past, future, None, None, past_time, future_time)
    assert torch.equal(seen[0], torch.cat([past_time[:, -12:], future_time], dim=1))
    after = model(past, future, None, None, past_time * 1.1, future_time * 1.1)
    assert not torch.isclose(before, after).any()


def test_training_draws_new_keys_and_its_own(informer, batch):
    """With dropout 0 the keys are all that varies, and the global seed has no part in it."""
    arguments = batch()
    one, other = informer(factor=1), informer(factor=1)
    other.load_state_dict(one.state_dict())
    torch.manual_seed(1)
    first, second = one(*arguments), one(*arguments)
    assert not torch.equal(first, second)
    torch.manual_seed(2)
    assert torch.equal(other(*arguments), first)
    assert torch.equal(other(*arguments), second)


def through_a_file(model):
    buffer = io.BytesIO()
    torch.save(model.state_dict(), buffer)
    buffer.seek(0)
    twin = copy.deepcopy(model)
    for parameter in twin.parameters():
        nn.init.zeros_(parameter)
    for layer in twin.encoder.layers:
        layer.attention.kernel.sampler.generator.manual_seed(123)
    twin.load_state_dict(torch.load(buffer, weights_only=True))
    return twin


@pytest.mark.parametrize(
    "duplicate",
    [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m)), through_a_file],
)
def test_copies_give_equal_outputs_and_repeat_the_generator(informer, batch, duplicate):
    """A training resumed from a checkpoint repeats bit for bit."""
    model = informer(factor=1, **MODERN)
    arguments = batch()
    model(*arguments)
    twin = duplicate(model)
    for _ in range(2):
        assert torch.equal(twin(*arguments), model(*arguments))
    assert torch.equal(twin.eval()(*arguments), model.eval()(*arguments))


@pytest.mark.parametrize("options", [{}, MODERN | FULL], ids=["note", "modern"])
def test_bf16_autocast_stays_near_float32(informer, batch, options):
    model = informer(factor=100, **options).eval()
    arguments = batch(batch_size=16, **options)
    expected = model(*arguments)
    with torch.autocast("cpu", torch.bfloat16):
        out = model(*arguments)
    assert out.dtype == torch.float32
    assert (out - expected).abs().mean() < 0.03 * expected.std()


@pytest.mark.parametrize("decoder_attention", ["dense", "probsparse"])
def test_bf16_autocast_trains_with_float32_gradients(
    informer, batch, decoder_attention
):
    model = informer(
        decoder_attention=decoder_attention, dropout=0.1, factor=1, **MODERN
    )
    with torch.autocast("cpu", torch.bfloat16):
        loss = model(*batch()).square().mean()
    loss.backward()
    for parameter in model.parameters():
        assert parameter.grad.dtype == torch.float32
        assert parameter.grad.isfinite().all()


def test_layers_sample_from_different_seeds(informer):
    model = informer(n_decoder_layers=2, decoder_attention="probsparse")
    layers = [*model.encoder.layers, *model.decoder.layers]
    assert len({layer.attention.kernel.sampler.seed for layer in layers}) == 4


@pytest.mark.slow
def test_some_steps_of_training_lower_the_loss(informer):
    """The parts learn together: a sine is continued far better than by its mean."""
    model = informer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    series = torch.sin(torch.arange(400) * 0.5)
    windows = series.unfold(0, 54, 1).unsqueeze(-1)
    past, target = windows[:, :48], windows[:, 48:]
    for _ in range(120):
        rows = torch.randint(len(windows), (32,))
        loss = (model(past[rows], torch.zeros(32, 6, 1)) - target[rows]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss < 0.2 * series.var()


@pytest.mark.parametrize("sizes", [(), (24,), (24, 5)])
def test_unseen_value_of_the_last_field_gets_the_mean_of_the_others(informer, sizes):
    model = informer(calendar_sizes=sizes)
    before = {name: value.clone() for name, value in model.named_parameters()}
    model.embed_unseen()
    last = f"calendar.tables.{len(sizes) - 1}.weight"
    for name, value in model.named_parameters():
        expected = before[name]
        if name.endswith(last):
            expected[-1] = expected[:-1].mean(0)
        assert torch.equal(value, expected)
