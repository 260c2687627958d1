from types import SimpleNamespace

import pytest
import torch

from skinformer.model.embedding import CalendarEmbedding, StepEmbedding
from skinformer.model.initialization import initialize
from skinformer.model.position import sinusoid


def make(*, length=10, origin=6, n_masked=0, **options):
    defaults = {
        "n_inputs": 3,
        "calendar_sizes": (),
        "mask_embedding": n_masked > 0,
        "null_embedding": False,
        "d_model": 8,
        "position": "sinusoidal",
        "norm": "layer",
    }
    settings = SimpleNamespace(**defaults | options)
    tokens = {"n_before": origin, "n_ahead": length - origin}
    return StepEmbedding(settings, settings, patch_len=1, **tokens)


def test_calendar_equals_its_formula():
    calendar = CalendarEmbedding(sizes=(24, 7), d_model=16)
    fields = torch.tensor([[[23, 6], [0, 3]]])
    for t, (hour, weekday) in enumerate(fields[0]):
        e = torch.cat(
            [calendar.tables[0].weight[hour], calendar.tables[1].weight[weekday]]
        )
        hidden = (calendar.hidden.weight @ e + calendar.hidden.bias).clamp(min=0)
        expected = calendar.output.weight @ hidden + calendar.output.bias
        torch.testing.assert_close(calendar(fields)[0, t], expected)


def test_december_has_a_row_and_a_thirteenth_month_has_not():
    """Months count from 0 here; N's table of 12 breaks on m = 12."""
    calendar = CalendarEmbedding(sizes=(12,), d_model=8)
    assert calendar(torch.tensor([[[11]]])).isfinite().all()
    with pytest.raises(IndexError):
        calendar(torch.tensor([[[12]]]))


def test_tables_are_eight_wide():
    calendar = CalendarEmbedding(sizes=(24, 7, 12), d_model=16)
    assert [tuple(table.weight.shape) for table in calendar.tables] == [
        (24, 8),
        (7, 8),
        (12, 8),
    ]


@pytest.mark.parametrize("norm", ["layer", "zc_rms"])
def test_embedding_is_the_norm_of_the_sum(norm):
    embedding = make(calendar_sizes=(24,), norm=norm)
    x, hours = torch.randn(2, 10, 3), torch.randint(24, (2, 10, 1))
    total = embedding.values(x) + sinusoid(10, 8) + embedding.calendar(hours)
    torch.testing.assert_close(embedding(x, hours), embedding.norm(total))


def test_norm_stays_when_the_calendar_is_off():
    out = make()(torch.randn(2, 10, 3) * 100, None)
    torch.testing.assert_close(out.mean(-1), torch.zeros(2, 10), atol=1e-6, rtol=0)
    torch.testing.assert_close(
        out.std(-1, correction=0), torch.ones(2, 10), atol=1e-3, rtol=0
    )


@pytest.mark.parametrize("position", ["sinusoidal", "continuous", "learned"])
def test_mask_vector_is_added_to_the_masked_steps_only(position):
    embedding = make(n_masked=4, position=position)
    x, time = torch.randn(2, 10, 3), torch.randn(2, 10)
    before = embedding(x, None, time)
    with torch.no_grad():
        embedding.mask.weight += torch.randn(8)
    after = embedding(x, None, time)
    assert torch.equal(after[:, :6], before[:, :6])
    assert not torch.isclose(after[:, 6:], before[:, 6:]).all(-1).any()


@pytest.mark.parametrize("init", ["normal", "xavier", "scaled"])
@pytest.mark.parametrize("n_inputs", [1, 7])
def test_content_is_not_drowned_by_the_position_code(init, n_inputs):
    """With N(0, 0.02²) weights the content of one column is 35 times smaller than the code."""
    embedding = make(n_inputs=n_inputs, d_model=64)
    initialize(embedding, init=init, seed=0)
    content = embedding.values(torch.randn(100, 10, n_inputs))
    assert content.std() / embedding.position.weight.std() > 0.15


def test_embedding_is_float32_under_autocast():
    embedding = make(length=600)
    x = torch.zeros(1, 600, 3)
    with torch.autocast("cpu", torch.bfloat16):
        out = embedding(x, None)
    assert out.dtype == torch.float32
    torch.testing.assert_close(out, embedding(x, None), atol=2e-2, rtol=0)


@pytest.mark.parametrize("position", ["sinusoidal", "continuous", "learned"])
def test_position_code_is_added_in_float32_under_autocast(position):
    """In bf16 the integers above 256 collapse, and neighbouring steps with them."""
    embedding = make(length=600, position=position)
    with torch.no_grad():
        for parameter in embedding.values.parameters():
            parameter.zero_()
    x, time = torch.zeros(1, 600, 3), torch.arange(600.0).unsqueeze(0)
    with torch.autocast("cpu", torch.bfloat16):
        out = embedding(x, None, time)
    expected = embedding.norm(embedding.position(time)).expand_as(out)
    torch.testing.assert_close(out, expected, atol=0, rtol=0)


def test_times_of_equal_steps_give_the_sinusoidal_embedding():
    one, other = make(position="continuous"), make()
    other.load_state_dict(one.state_dict())
    x, time = torch.randn(2, 10, 3), torch.arange(-6.0, 4).expand(2, 10)
    torch.testing.assert_close(one(x, None, time), other(x, None), atol=1e-5, rtol=1e-5)


def test_each_window_has_its_own_times():
    embedding = make(position="continuous")
    x = torch.randn(1, 10, 3).expand(2, 10, 3)
    time = torch.arange(-6.0, 4).repeat(2, 1)
    time[1, 3] += 0.5
    out = embedding(x, None, time)
    same = torch.arange(10) != 3
    assert torch.equal(out[0, same], out[1, same])
    assert not torch.isclose(out[0, 3], out[1, 3]).all()


@pytest.mark.parametrize("position", ["sinusoidal", "learned"])
def test_times_are_ignored_without_continuous_positions(position):
    embedding = make(position=position)
    x = torch.randn(2, 10, 3)
    assert torch.equal(embedding(x, None, torch.randn(2, 10)), embedding(x, None))


def test_unknown_position_is_refused():
    with pytest.raises(KeyError, match="rotary"):
        make(position="rotary")
