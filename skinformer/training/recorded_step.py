"""Training steps on a GPU that are launched whole: a CUDA graph of one step."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeAlias

import torch
from torch import Tensor, nn

from skinformer.model.generators import RandomModule, drawing_from
from skinformer.training.batch import Batch, to_device

#: Takes one step of all parameters, on batches of the device; returns numbers about it.
TakeStep: TypeAlias = Callable[[Sequence[Batch]], Tensor]

#: Steps before one is recorded: libraries set up their memory, and optimisers their moments.
N_EAGER = 3
#: A process records one graph at a time.
_RECORDING = threading.Lock()
#: What is kept for each thread: its streams, by device.
_OF_THREAD = threading.local()


class RecordedStep:
    """Take training steps of a network on a CUDA device, from the fourth on by replay.

    A step is some hundreds of kernels of microseconds: Python launches them more slowly than a GPU
    runs them. Recorded once, they are launched together. Batches whose shapes are not those of
    the first step, such as the last of an epoch, take their step kernel by kernel; so do all where
    there is no memory to record one.

    take_step: reads nothing from the device.
    network: draws its masks and keys from one generator of the device. Its first own generator,
    whose state is part of its state dict, gives the seed of each step: a resumed fit draws what one
    that went on would have drawn.
    generator: of the device.

    The recorded step holds the memory of one step until it is closed.
    """

    def __init__(
        self,
        take_step: TakeStep,
        network: nn.Module,
        *,
        generator: torch.Generator,
        recorder: CudaRecorder,
    ) -> None:
        self.take_step = take_step
        self.network = network
        self.generator = generator
        self.recorder = recorder
        self.seeds = first_generator(network)
        self.shapes: list[torch.Size] = []
        self.n_eager = 0
        self.n_replayed = 0
        self.may_record = True
        self.batches: list[Batch] = []  # of the recorded step
        self.result = torch.empty(0)

    @classmethod
    def on_cuda(
        cls, take_step: TakeStep, network: nn.Module, *, device: torch.device
    ) -> RecordedStep:
        """Record CUDA graphs on a device."""
        generator = torch.Generator(device)
        recorder = CudaRecorder(device, generator)
        return cls(take_step, network, generator=generator, recorder=recorder)

    def __call__(self, batches: Sequence[Batch]) -> Tensor:
        """Take a step and return what `take_step` does; nothing waits for the device."""
        seed = torch.randint(2**62, (), generator=self.seeds)
        self.generator.manual_seed(int(seed))
        device = self.generator.device
        batches = [to_device(batch, device=device) for batch in batches]
        shapes = [part.shape for batch in batches for part in _tensors(batch)]
        self.shapes = self.shapes or shapes
        if shapes != self.shapes:
            return self._take_unrecorded(batches)
        if self.may_record and not self.batches and self.n_eager >= N_EAGER:
            self._record(batches)
        if not self.batches:
            self.n_eager += 1
            return self._take_unrecorded(batches)
        for recorded, batch in zip(self.batches, batches, strict=True):
            torch._foreach_copy_(_tensors(recorded), _tensors(batch))
        self.recorder.replay()
        self.n_replayed += 1
        return self.result.clone()

    def _take_unrecorded(self, batches: Sequence[Batch]) -> Tensor:
        """Take a step kernel by kernel."""
        with drawing_from(self.network, self.generator):
            return self.recorder.run(lambda: self.take_step(batches))

    def close(self) -> None:
        """Free the recorded step."""
        self.batches = []
        self.result = torch.empty(0)
        self.recorder.close()

    def _record(self, batches: Sequence[Batch]) -> None:
        """Record a step on copies of batches; it is not taken."""
        try:
            copies = [batch.each(torch.clone) for batch in batches]
            with _RECORDING, drawing_from(self.network, self.generator):
                self.result = self.recorder.record(lambda: self.take_step(copies))
        except RuntimeError:
            # No memory for a second step, or no way to record this one.
            self.may_record = False
            self.recorder.close()
        else:
            self.batches = copies


class CudaRecorder:
    """Record a CUDA graph.

    device: where.
    generator: of that device; what is replayed draws from its state then.
    """

    def __init__(self, device: torch.device, generator: torch.Generator) -> None:
        self.device = device
        self.stream = _recording_stream(device)
        self.graph = torch.cuda.CUDAGraph()
        self.graph.register_generator_state(generator)

    def run(self, function: Callable[[], Tensor]) -> Tensor:
        """Call a function on the stream that is recorded on; what follows waits for it there."""
        current = torch.cuda.current_stream(self.device)
        self.stream.wait_stream(current)
        with torch.cuda.stream(self.stream):
            result = function()
        current.wait_stream(self.stream)
        return result

    def record(self, function: Callable[[], Tensor]) -> Tensor:
        """Record what a function launches."""
        # Other threads may use the device meanwhile: only this one's calls are checked.
        mode = "thread_local"
        with (
            torch.cuda.device(self.device),
            torch.cuda.graph(self.graph, stream=self.stream, capture_error_mode=mode),
        ):
            return function()

    def replay(self) -> None:
        """Launch what was recorded, on the current stream."""
        with torch.cuda.device(self.device):
            self.graph.replay()

    def close(self) -> None:
        """Free the graph's memory."""
        self.graph.reset()
        torch.cuda.empty_cache()


def _recording_stream(device: torch.device) -> torch.cuda.Stream:
    """Return this thread's stream of a device that steps are recorded on.

    One for all fits: the workspaces that cuBLAS keeps for each stream, 68 MB, are never freed.
    """
    if not hasattr(_OF_THREAD, "streams"):
        _OF_THREAD.streams = {}
    if device not in _OF_THREAD.streams:
        _OF_THREAD.streams[device] = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
    return _OF_THREAD.streams[device]


def can_record(network: nn.Module, *, device: torch.device) -> bool:
    """Whether steps of a network can be recorded.

    On CUDA only, and not where layers run a second time in the backward pass: they would draw other
    masks.
    """
    if device.type != "cuda":
        return False
    return not any(getattr(module, "recompute", False) for module in network.modules())


def first_generator(network: nn.Module) -> torch.Generator:
    """Return the first generator of a network; a new one where it has none."""
    for module in network.modules():
        if isinstance(module, RandomModule):
            return module.generator
    return torch.Generator()


def _tensors(batch: Batch) -> list[Tensor]:
    """List the tensors of a batch, of which a fit has the same ones in each."""
    parts = (*batch.inputs, batch.target, batch.weight)
    return [part for part in parts if part is not None]
