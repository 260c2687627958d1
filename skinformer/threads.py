"""Threads by the size of the work, for the thread that works alone.

On a machine that others use too, a product that is split waits for the slowest of its threads, and
each wait lasts as long as the system lets another process run: trees on two threads took twenty
times as long beside four busy processes as on one (notes/performance.md), and not less
in a fit that has the machine to itself. So work that more threads would hardly speed up is done by
one.

OpenMP and MKL keep a number of threads for each thread of a process: others see no change.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar, copy_context
from functools import cache
from pathlib import Path
from typing import TypeVar

import joblib
import sklearn.ensemble  # noqa: F401 - brings an OpenMP library, which has to be there to be found
import torch
from threadpoolctl import (
    LibController,
    ThreadpoolController,
)  # scikit-learn requires it

from skinformer.context import holding

_Found = TypeVar("_Found")
#: Whether the work of this thread lies within small work: then there is nothing left to limit.
_within_small: ContextVar[bool] = ContextVar("_within_small", default=False)
#: Whether a user has said how many threads there may be.
_is_limited: ContextVar[bool] = ContextVar("_is_limited", default=False)


def threads_for(multiply_adds: float) -> AbstractContextManager[object]:
    """Limit the threads of this thread's work to what repays.

    multiply_adds: products of two numbers in the largest product of matrices of the work.

    Inside, torch and scikit-learn's trees use one thread for small work, and for large work what
    they would have used. Cost: 10 microseconds; none within small work.
    """
    # A second thread repays: at 5e7, a network of width 64 on 32 windows of 96 steps, it takes a
    # third off a step; the default network is smaller by far.
    repays = 4e7
    if multiply_adds >= repays or _within_small.get():
        return nullcontext()
    return _one_thread()


@contextmanager
def _one_thread() -> Iterator[None]:
    with holding(_within_small, True), _threads(1):
        yield


@contextmanager
def limited(n_jobs: int | None) -> Iterator[None]:
    """Let this thread's work use so many threads at most, whatever the machine has.

    n_jobs: -1 is a thread for each processor, -2 for all but one; None changes nothing.
    """
    if n_jobs is None or _within_small.get():
        yield
        return
    n_jobs = int(n_jobs)  # may be a number of NumPy, which C libraries do not take
    n_threads = n_jobs if n_jobs > 0 else max(joblib.cpu_count() + 1 + n_jobs, 1)
    with holding(_is_limited, True), _threads(n_threads):
        yield


def at_once(works: Sequence[Callable[[], _Found]]) -> list[_Found]:
    """Run functions in parallel, each on one thread, on as many as this thread may use.

    They never wait for each other, so that on a machine that others use, too, none takes longer
    than it would alone (notes/performance.md). What comes back is in the order of the works.
    """

    def alone(work: Callable[[], _Found]) -> _Found:
        with threads_for(0):
            return work()

    n_threads = min(torch.get_num_threads(), len(works))
    if n_threads < 2:
        return [alone(work) for work in works]
    with ThreadPoolExecutor(n_threads) as pool:
        begun = [pool.submit(copy_context().run, alone, work) for work in works]
        return [each.result() for each in begun]


def has_background() -> bool:
    """Return whether there may be another thread, and no user has said how many there are."""
    return torch.get_num_threads() > 1 and not _is_limited.get()


def run_in_background(work: Callable[[], _Found]) -> Callable[[], _Found]:
    """Start work in another thread, and return a function that waits for its result."""
    with_settings = copy_context().run
    pool = ThreadPoolExecutor(1)
    found = pool.submit(with_settings, work)
    pool.shutdown(wait=False)
    return found.result


@contextmanager
def _threads(n_threads: int) -> Iterator[None]:
    """Set the threads of this thread's work."""
    torch.get_num_threads()  # its first use in a thread sets the number, and would undo the limit
    limit_mkl = _mkl_limit()
    n_mkl = limit_mkl(n_threads)
    libraries = _openmp()
    n_openmp = [library.get_num_threads() for library in libraries]
    try:
        for library in libraries:
            library.set_num_threads(n_threads)
        yield
    finally:
        for library, n_before in zip(libraries, n_openmp, strict=True):
            library.set_num_threads(n_before)
        limit_mkl(n_mkl)


@cache
def _mkl_limit() -> Callable[[int], int]:
    """Return MKL's own setting of this thread, which tells the one before; 0 is the process's.

    A number of MKL's own, by ``MKL_NUM_THREADS`` or ``torch.set_num_threads``, is above OpenMP's:
    two fits at once on two cores, in processes that had it, took eight times as long as one.
    """
    folder = Path(torch.__file__).parent / "lib"
    for library in folder.glob("*torch_cpu.*"):
        with suppress(OSError, AttributeError):  # none, or not linked into torch
            return ctypes.CDLL(str(library)).MKL_Set_Num_Threads_Local
    return lambda _: 0


@cache
def _openmp() -> list[LibController]:
    """Find the OpenMP libraries. PERF: `ThreadpoolController.limit` takes three times as long."""
    return ThreadpoolController().select(user_api="openmp").lib_controllers
