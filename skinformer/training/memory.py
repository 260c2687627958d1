"""Errors of a device without memory."""

import torch

#: What CUDA and its libraries say where torch's allocator was not asked: the last two, of a library
#: that finds no memory for its workspace.
_OF_GPU = (
    "CUDA error: out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUBLAS_STATUS_NOT_INITIALIZED",
)
#: What the allocator of the CPU says, by system.
_OF_CPU = "not enough memory", "can't allocate memory"


def is_gpu_out_of_memory(error: RuntimeError) -> bool:
    """Whether an error of torch says that the memory of a GPU does not suffice."""
    return isinstance(error, torch.OutOfMemoryError) or any(
        sign in str(error) for sign in _OF_GPU
    )


def is_out_of_memory(error: RuntimeError) -> bool:
    """Whether an error of torch says that memory does not suffice, on a CPU or on a GPU."""
    return is_gpu_out_of_memory(error) or any(sign in str(error) for sign in _OF_CPU)
