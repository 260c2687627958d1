"""Compute precision: float32 parameters, gradients and optimiser state in every mode."""

from typing import Any

import torch
from torch.amp import GradScaler

COMPUTE_TYPES = {"fp32": None, "bf16": torch.bfloat16, "fp16": torch.float16}


def resolve_precision(precision: str, *, device: torch.device, d_model: int) -> str:
    """Turn "auto" into a precision by a fixed rule; leave the others as they are.

    "bf16" on CUDA that computes in it, and on a CPU with bfloat16 instructions from width 256 on;
    else "fp32".

    PERF: forward and backward of three blocks (batch 32, length 96, CPU with AVX512-BF16, 2
    threads) took 37 ms in float32 and 59 ms in bfloat16 at width 32, 61 and 78 at 64, 116 and 95
    at 128, 383 and 219 at 256, 1334 and 595 at 512.
    """
    if precision != "auto":
        return precision
    min_width_on_cpu = 256
    if device.type == "cuda":
        with torch.cuda.device(device):
            is_faster = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        is_cpu = device.type == "cpu"
        is_faster = is_cpu and d_model >= min_width_on_cpu and _has_bf16_products()
    return "bf16" if is_faster else "fp32"


def _has_bf16_products() -> bool:
    """Whether the CPU multiplies bfloat16 matrices by instructions of its own."""
    # Older releases of torch cannot tell; float32 is then the safe answer.
    features: Any = getattr(torch.cpu, "get_capabilities", dict)()
    return bool(features.get("avx512_bf16") or features.get("amx_bf16"))


def has_cuda() -> bool:
    """Whether torch finds a CUDA device."""
    return torch.cuda.is_available()


def has_cuda_device(name: str) -> bool:
    """Whether a CUDA device of this name, such as "cuda" or "cuda:1", is here."""
    device = torch.device(name)
    number = device.index or 0
    return device.type == "cuda" and number < torch.cuda.device_count()


def autocast(precision: str, *, device: torch.device) -> torch.autocast:
    """Return the context of one forward pass; enter a new one for each.

    Only matrix products change their type. Norms, statistics and losses cast to float32
    themselves, as autocast on a CPU would leave them in bfloat16.
    """
    dtype = COMPUTE_TYPES[precision]
    return torch.autocast(device.type, dtype=dtype, enabled=dtype is not None)


def make_scaler(precision: str, *, device: torch.device) -> GradScaler:
    """Return the gradient scaler, which only "fp16" enables: bfloat16 has float32's exponents.

    It is an error off CUDA, where there is none: gradients would underflow.
    """
    needs_scale = precision == "fp16"
    if needs_scale and device.type != "cuda":
        raise ValueError(
            f"precision='fp16' needs a CUDA device, and the model is on {device.type!r}: "
            "use precision='bf16' or precision='fp32'."
        )
    return GradScaler(device.type, enabled=needs_scale)
