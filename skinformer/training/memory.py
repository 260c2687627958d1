"""Errors of a device without memory."""

import torch


def is_gpu_out_of_memory(error: RuntimeError) -> bool:
    """Whether an error of torch says that the memory of a GPU does not suffice."""
    # What CUDA and its libraries say where torch's allocator was not asked: the last two, of a
    # library that finds no memory for its workspace.
    return isinstance(error, torch.OutOfMemoryError) or _says_any(
        error,
        "CUDA error: out of memory",
        "CUBLAS_STATUS_ALLOC_FAILED",
        "CUBLAS_STATUS_NOT_INITIALIZED",
    )


def is_out_of_memory(error: RuntimeError) -> bool:
    """Whether an error of torch says that memory does not suffice, on a CPU or on a GPU."""
    # What the allocator of the CPU says, by system.
    return is_gpu_out_of_memory(error) or _says_any(
        error, "not enough memory", "can't allocate memory"
    )


def _says_any(error: RuntimeError, *messages: str) -> bool:
    text = str(error)
    return any(message in text for message in messages)
