"""Training steps on a GPU that are launched whole: a CUDA graph of one step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

import torch
from torch import Tensor, nn

from skinformer.model.dropout import drawing_from
from skinformer.model.key_sampler import make_generator
from skinformer.training.batch import Batch, to_device

#: Takes one step of all parameters, on batches of the device; returns numbers about it.
TakeStep: TypeAlias = Callable[[Sequence[Batch]], Tensor]

#: Steps before one is recorded: libraries set up their memory, and optimisers their moments.
N_EAGER = 3


class Recorder(Protocol):
    """Runs a function on a device, or records what it launches there."""

    def run(self, function: Callable[[], Tensor]) -> Tensor:
        """Call a function, on the stream that is recorded on."""

    def record(self, function: Callable[[], Tensor]) -> Tensor:
        """Record what a function launches; its result has values once that was replayed."""

    def replay(self) -> None:
        """Launch what was recorded."""


class RecordedStep:
    """Take training steps of a network on a CUDA device, from the fourth on by replay.

    A step is some thousand kernels of microseconds: Python launches them more slowly than a GPU
    runs them. Recorded once, they are launched together. Batches whose shapes are not those of
    the recorded ones, such as the last of an epoch, take their step kernel by kernel.

    take_step: reads nothing from the device.
    network: draws its masks and keys from one generator of the device, seeded for each step by the
    step's number, so that a resumed fit draws what one that went on would have drawn.
    generator: of the device.

    The recorded step holds the memory of one step until the fit ends.
    """

    def __init__(
        self,
        take_step: TakeStep,
        network: nn.Module,
        *,
        generator: torch.Generator,
        recorder: Recorder,
    ) -> None:
        self.take_step, self.network = take_step, network
        self.generator, self.recorder = generator, recorder
        self.seed = seed_of(network)
        self.n_eager, self.n_replayed = 0, 0
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

    def __call__(self, batches: Sequence[Batch], number: int) -> Tensor:
        """Take step ``number`` and return what `take_step` does; nothing waits for the device."""
        self.generator.manual_seed(make_generator(self.seed, number).initial_seed())
        batches = [to_device(batch, device=self.generator.device) for batch in batches]
        if not self.batches and self.n_eager >= N_EAGER:
            self._record(batches)
        if shapes_of(batches) != shapes_of(self.batches):
            self.n_eager += 1
            with drawing_from(self.network, self.generator):
                return self.recorder.run(lambda: self.take_step(batches))
        for recorded, batch in zip(self.batches, batches, strict=True):
            copy_batch(batch, into=recorded)
        self.recorder.replay()
        self.n_replayed += 1
        return self.result.clone()

    def _record(self, batches: Sequence[Batch]) -> None:
        """Record a step on copies of batches; it is not taken."""
        copies = [batch.each(torch.clone) for batch in batches]
        with drawing_from(self.network, self.generator):
            self.result = self.recorder.record(lambda: self.take_step(copies))
        self.batches = copies


class CudaRecorder:
    """Record a CUDA graph.

    device: where.
    generator: of that device; what is replayed draws from its state then.
    """

    def __init__(self, device: torch.device, generator: torch.Generator) -> None:
        self.device = device
        self.stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
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
        with torch.cuda.graph(self.graph, stream=self.stream, capture_error_mode=mode):
            return function()

    def replay(self) -> None:
        """Launch what was recorded, on the current stream."""
        with torch.cuda.device(self.device):
            self.graph.replay()


def can_record(network: nn.Module, *, device: torch.device) -> bool:
    """Whether steps of a network can be recorded.

    On CUDA only, and not where layers run a second time in the backward pass: they would draw other
    masks.
    """
    repeats = any(getattr(module, "recompute", False) for module in network.modules())
    return device.type == "cuda" and not repeats


def seed_of(network: nn.Module) -> int:
    """Return the seed of the first generator of a network; 0 without one."""
    generators = (getattr(module, "generator", None) for module in network.modules())
    return next((each.initial_seed() for each in generators if each is not None), 0)


def shapes_of(batches: Sequence[Batch]) -> list[list[torch.Size | None]]:
    """Return the shapes of all tensors of batches."""
    return [[None if part is None else part.shape for part in _parts(batch)] for batch in batches]


def copy_batch(batch: Batch, *, into: Batch) -> None:
    """Copy the tensors of a batch into another's, of the same shapes."""
    pairs = zip(_parts(into), _parts(batch), strict=True)
    present = [(old, new) for old, new in pairs if old is not None and new is not None]
    torch._foreach_copy_([old for old, _ in present], [new for _, new in present])


def _parts(batch: Batch) -> list[Tensor | None]:
    return [*batch.inputs, batch.target, batch.weight]
