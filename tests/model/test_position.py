import math
import re

import pytest
import torch

from skinformer.model.position import (
    ContinuousPosition,
    LearnedPosition,
    SinusoidalPosition,
    make_position,
    sinusoid,
)


@pytest.mark.parametrize("d_model", [1, 2, 7, 16])
def test_sinusoid_equals_its_formula(d_model):
    code = sinusoid(50, d_model)
    for p in range(50):
        for j in range(d_model):
            angle = p / 10000 ** (2 * (j // 2) / d_model)
            expected = math.cos(angle) if j % 2 else math.sin(angle)
            assert code[p, j].item() == pytest.approx(expected, abs=1e-6)


def test_sinusoid_is_float32_whatever_the_default_type():
    """In bf16 positions above 256 share a code."""
    assert sinusoid(2000, 16).dtype == torch.float32
    assert len(sinusoid(2000, 16).unique(dim=0)) == 2000


@pytest.mark.parametrize("d_model", [1, 2, 7, 16])
def test_continuous_code_equals_its_formula(d_model):
    time = torch.rand(3, 20) * 60 - 40
    code = ContinuousPosition(origin=30, d_model=d_model)(time)
    assert code.shape == (3, 20, d_model)
    for b, t, j in torch.cartesian_prod(
        *(torch.arange(n) for n in code.shape)
    ).tolist():
        angle = (time[b, t].item() + 30) / 10000 ** (2 * (j // 2) / d_model)
        expected = math.cos(angle) if j % 2 else math.sin(angle)
        assert code[b, t, j].item() == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("length", [1, 96, 3000])
@pytest.mark.parametrize("d_model", [7, 64])
def test_continuous_code_at_integer_times_is_the_sinusoidal_code(length, d_model):
    """Up to the rounding of float32 times, 1.2e-7 of the position."""
    position = ContinuousPosition(origin=length, d_model=d_model)
    code = position(torch.arange(-length, 0).float().unsqueeze(0))[0]
    tolerance = 1.2e-7 * (length + 1)
    torch.testing.assert_close(
        code, sinusoid(length, d_model), atol=tolerance, rtol=1e-6
    )


def test_continuous_code_is_float32_under_autocast():
    position = ContinuousPosition(origin=600, d_model=16)
    time = torch.arange(-600.0, 0).unsqueeze(0)
    with torch.autocast("cpu", torch.bfloat16):
        code = position(time)
    assert code.dtype == torch.float32
    assert torch.equal(code, position(time))


def test_continuous_code_needs_times():
    message = (
        "time=None must be the time of each step with position='continuous', which has no step "
        "numbers; pass past_time and future_time"
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        ContinuousPosition(origin=8, d_model=4)(None)


@pytest.mark.parametrize("name", ["sinusoidal", "continuous"])
def test_fixed_code_has_no_parameters_and_no_state(name):
    position = make_position(name, length=8, origin=8, d_model=4)
    assert not list(position.parameters())
    assert not position.state_dict()


def test_learned_code_is_a_parameter():
    assert LearnedPosition(length=8, d_model=4).weight.requires_grad


@pytest.mark.parametrize("kind", [SinusoidalPosition, LearnedPosition])
def test_codes_of_step_numbers_ignore_times(kind):
    position = kind(length=8, d_model=4)
    assert torch.equal(position(torch.randn(2, 8)), position(None))


def test_unknown_name_is_refused():
    with pytest.raises(KeyError, match="rotary"):
        make_position("rotary", length=8, origin=8, d_model=4)
