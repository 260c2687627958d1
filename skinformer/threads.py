"""Threads by the size of the work, for the thread that works alone.

On a machine that others use too, a product that is split waits for the slowest of its threads, and
each wait lasts as long as the system lets another process run: trees on two threads took twenty
times as long beside four busy processes as on one (docs/performance.md). So work that more threads
would hardly speed up is done by one.

OpenMP keeps the number of threads for each thread of a process: other threads see no change.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path

import sklearn.ensemble  # noqa: F401 - brings an OpenMP library, which has to be there to be found
import torch
from threadpoolctl import ThreadpoolController  # scikit-learn requires it

__all__ = ["threads_for", "threads_that_idle"]

#: Products of two numbers in a layer that a second thread repays: at 5e7, a network of width 64 on
#: 32 windows of 96 steps, it takes a third off a step; the default one is smaller by far.
_REPAYS = 4e7
_LOAD = Path("/proc/loadavg")


def threads_for(multiply_adds: float) -> AbstractContextManager[object]:
    """
    Let work of this thread be split only where it repays.

    Parameters
    ----------
    multiply_adds : float
        Products of two numbers in the largest product of matrices of the work.

    Returns
    -------
    context manager
        Inside, torch and scikit-learn's trees use one thread for small work, and for large work
        what they would have used. Cost: 50 microseconds.
    """
    return nullcontext() if multiply_adds >= _REPAYS else _at_most(1)


def threads_that_idle() -> AbstractContextManager[object]:
    """
    Let work of this thread be split over the cores that nobody else uses.

    For work whose results are the same for any number of threads.

    Returns
    -------
    context manager
        Inside, torch and scikit-learn's trees use as many threads as cores are idle now, one at
        least and never more than they would have used.
    """
    return _at_most(max(1, _cores() - max(0, _busy())))


def _at_most(limit: int) -> AbstractContextManager[object]:
    pools = _openmp()
    torch.get_num_threads()  # its first use in a thread sets the number, and would undo the limit
    now = min((pool["num_threads"] for pool in pools.info()), default=1)
    return nullcontext() if now <= limit else pools.limit(limits=limit)


@cache
def _openmp() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="openmp")


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _busy() -> int:
    """Count what runs on this machine besides this thread."""
    try:
        now = int(_LOAD.read_text(encoding="ascii").split()[3].partition("/")[0])
    except (OSError, ValueError, IndexError):
        now = 1
    lately = round(os.getloadavg()[0]) if hasattr(os, "getloadavg") else 0
    return max(now, lately) - 1  # one of them is this thread
