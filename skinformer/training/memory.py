"""Errors of a device without memory."""

import torch

#: What CUDA and its libraries say where the allocator of torch does not: in words, or by a status.
_SIGNS = "out of memory", "not enough memory", "ALLOC_FAILED", "NOT_INITIALIZED"


def is_out_of_memory(error: RuntimeError) -> bool:
    """Whether an error of torch says that memory does not suffice, on a CPU or on a GPU."""
    return isinstance(error, torch.OutOfMemoryError) or any(sign in str(error) for sign in _SIGNS)
