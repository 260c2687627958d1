"""Position codes: fixed sines and cosines of step numbers or times, or learnt."""

import torch
from torch import Tensor, nn


def make_position(
    position: str, *, length: int, origin: int, d_model: int
) -> nn.Module:
    """Build the position code that ``position`` names; ``origin`` is for "continuous" alone."""
    if position == "continuous":
        return ContinuousPosition(origin=origin, d_model=d_model)
    positions = {"sinusoidal": SinusoidalPosition, "learned": LearnedPosition}
    return positions[position](length=length, d_model=d_model)


def sinusoid(length: int, d_model: int) -> Tensor:
    """Return the sinusoidal code, (length, d_model): sin(p / 10000^(2i/d)), and cos, in turn.

    >>> sinusoid(2, 4)
    tensor([[0.0000, 1.0000, 0.0000, 1.0000],
            [0.8415, 0.5403, 0.0100, 0.9999]])
    """
    if _shapes_alone():
        return torch.empty(length, d_model)
    position = torch.arange(length, dtype=torch.float64).unsqueeze(-1)
    angle = position * _frequencies(d_model)
    return _waves(angle, d_model).float()


def _frequencies(d_model: int) -> Tensor:
    """Return the angle per step of each pair of columns, (⌈d_model/2⌉,), float64."""
    if _shapes_alone():
        return torch.empty(-(-d_model // 2), dtype=torch.float64)
    even = torch.arange(0, d_model, 2, dtype=torch.float64)
    return 10000.0 ** (-even / d_model)


def _shapes_alone() -> bool:
    """Whether tensors are made on "meta": to compute there, torch imports its compiler first."""
    return torch.get_default_device().type == "meta"


def _waves(angle: Tensor, d_model: int) -> Tensor:
    """Return sines and cosines of (..., ⌈d_model/2⌉) angles in turn, (..., d_model)."""
    pair = torch.stack([angle.sin(), angle.cos()], dim=-1)  # (..., ⌈d_model/2⌉, 2)
    return pair.flatten(-2)[..., :d_model]


class SinusoidalPosition(nn.Module):
    """Fixed position code of sines and cosines, one row per position.

    For ``position="sinusoidal"``. It has no parameters and is not part of the state dict.

    length, d_model: number of positions, and width.

    `weight`, (length, d_model), is the code.

    ``PE(p, 2i) = sin(p/10000^(2i/d))``, ``PE(p, 2i+1) = cos(p/10000^(2i/d))``.

    **Shape**: ``weight`` is ``(length, d_model)``.

    NOTE[DIFF]: the specification slices ``PE[:, :, L, :]``, one position instead of the first L;
    the code here has exactly the rows that are needed.

    Vaswani et al. (2017), Attention Is All You Need.
    >>> SinusoidalPosition(length=96, d_model=64).weight.shape
    torch.Size([96, 64])
    """

    weight: Tensor

    def __init__(self, *, length: int, d_model: int) -> None:
        super().__init__()
        self.register_buffer("weight", sinusoid(length, d_model), persistent=False)

    def forward(self, time: Tensor | None) -> Tensor:  # noqa: ARG002  (codes are called alike)
        """Return the code, (length, d_model), the same for all windows."""
        return self.weight


class ContinuousPosition(nn.Module):
    """The sinusoidal code at real-valued times instead of step numbers.

    For ``position="continuous"``: clocks whose steps differ in length, such as months or
    business days. On a clock of equal steps it is `SinusoidalPosition`, at a higher cost. It
    has no parameters and is not part of the state dict.

    origin, d_model: position of time 0, and width.

    `frequency`, (⌈d_model/2⌉,), is the angle per unit of time of each pair of columns.

    ``sin(p/10000^(2i/d))`` and ``cos(p/10000^(2i/d))`` with ``p = time + origin``, in float32;
    time may be negative. Times come as float32, so that their angles, and with them the code,
    are off by up to 1.2e-7 · p. O(batch · length · d_model), once per forward pass.

    **Shape**: time ``(batch, length)``, output ``(batch, length, d_model)``.

    NOTE[DIFF]: the paper's positions are step numbers, for which a month of 28 days is as long as
    one of 31.

    Vaswani et al. (2017), Attention Is All You Need.
    >>> position = ContinuousPosition(origin=2, d_model=4)
    >>> position(torch.tensor([[-2.0, -0.9]]))
    tensor([[[0.0000, 1.0000, 0.0000, 1.0000],
             [0.8912, 0.4536, 0.0110, 0.9999]]])
    """

    frequency: Tensor

    def __init__(self, *, origin: int, d_model: int) -> None:
        super().__init__()
        self.origin = origin
        self.d_model = d_model
        frequency = _frequencies(d_model).float()
        self.register_buffer("frequency", frequency, persistent=False)

    def forward(self, time: Tensor | None) -> Tensor:
        """Return the code of each window's times, (batch, length, d_model); None is an error."""
        if time is None:
            raise ValueError(
                "time=None must be the time of each step with position='continuous', which has "
                "no step numbers; pass past_time and future_time"
            )
        position = time.float() + self.origin
        angle = position.unsqueeze(-1) * self.frequency
        return _waves(angle, self.d_model)


class LearnedPosition(nn.Embedding):
    """Learnt position code, one row per position.

    For ``position="learned"``. Rows mean nothing beyond the length they were trained for.

    length, d_model: number of positions, and width.

    `weight`, (length, d_model), is the code.

    **Shape**: ``weight`` is ``(length, d_model)``.

    Vaswani et al. (2017), Attention Is All You Need.
    >>> LearnedPosition(length=96, d_model=64).weight.shape
    torch.Size([96, 64])
    """

    def __init__(self, *, length: int, d_model: int) -> None:
        super().__init__(length, d_model)

    def forward(self, time: Tensor | None) -> Tensor:  # noqa: ARG002  (codes are called alike)
        """Return the code, (length, d_model), the same for all windows."""
        return self.weight
