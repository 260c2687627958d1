import math

import pytest
import torch

from skinformer.model.position import LearnedPosition, SinusoidalPosition, sinusoid


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


def test_fixed_code_has_no_parameters_and_no_state():
    position = SinusoidalPosition(length=8, d_model=4)
    assert not list(position.parameters())
    assert not position.state_dict()


def test_learned_code_is_a_parameter():
    assert LearnedPosition(length=8, d_model=4).weight.requires_grad
