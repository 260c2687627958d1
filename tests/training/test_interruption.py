"""Ctrl-C at every line of a fit: a whole model, a whole file, and the rest of the fit to come."""

import random
import sys
import warnings
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch

from skinformer.training import trainer
from skinformer.training.batch import Batch
from skinformer.training.checkpoint import load
from skinformer.training.trainer import train

OURS = str(Path(trainer.__file__).parent)
TORCH_SAVE = torch.serialization.__file__


class Lines:
    """Counts the lines that run in files or functions, and presses Ctrl-C at one of them."""

    def __init__(self, *places, at=None):
        self.places, self.at, self.n = places, at, 0
        self.folder = OURS  # a module's names are gone when Python ends

    def __enter__(self):
        self.before = sys.gettrace()
        sys.settrace(self._trace)
        return self

    def __exit__(self, *_):
        sys.settrace(self.before)

    def _trace(self, frame, event, argument):
        code = frame.f_code
        ours = code.co_filename.startswith(self.folder) and code.co_name in self.places
        if not (ours or code.co_filename.startswith(self.places)):
            return None
        if event == "line":
            self.n += 1
            if self.n == self.at:
                raise KeyboardInterrupt
        return self._trace


class Fit:
    """A fit of three short epochs, of which each is known."""

    def __init__(self, toy, data, settings, *, validated):
        self.toy, self.data, self.validated = toy, data, validated
        self.settings = settings(max_iter=3, n_iter_no_change=9, learning_rate=0.3)
        self.seen = [self.weights(toy()[0])]
        self.module, self.record = self.run(None)

    @staticmethod
    def weights(module):
        return [p.detach().clone() for p in module.parameters()]

    def run(self, checkpoint, lines=None):
        """Fit; the seen weights are those of a fit that nobody interrupts."""
        self.started, groups = self.toy()
        self.batches, validation = self.data(n=96)
        self.batches.batches = self.batches.batches[:2]
        torch.manual_seed(7)

        def on_epoch(so_far, module):
            if checkpoint is None:
                self.seen.append(self.weights(module))

        with lines or nullcontext():
            record = train(
                self.started, training=self.batches, settings=self.settings, groups=groups,
                validation=validation if self.validated else None, on_epoch=on_epoch,
                checkpoint=checkpoint, fingerprint={},
            )  # fmt: skip
        return self.started, record


def same(first, second):
    return all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.fixture(autouse=True)
def _autocast_is_left():
    """Leave autocast: the tracer cuts `with` off before exit, and later tests would be in it."""
    yield
    torch.autocast_increment_nesting()
    while torch.autocast_decrement_nesting():
        pass
    torch.clear_autocast_cache()


@pytest.fixture(params=[True, False], ids=["validated", "not validated"])
def fit(toy, data, settings, request):
    return Fit(toy, data, settings, validated=request.param)


def without_seconds(record):
    return [
        row._replace(seconds=0, validation_loss=str(row.validation_loss))
        for row in record.rows
    ]


def interrupt(fit, path, lines):
    """Fit with Ctrl-C at a line; check what is left; fit to the end."""
    raised, record = False, None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # The tracer cuts `with` off before exit.
        warnings.simplefilter("ignore", ResourceWarning)
        try:
            _, record = fit.run(path, lines)
        except KeyboardInterrupt:
            raised = True
    module = fit.started
    if raised:
        assert not caught
        assert same(module.parameters(), fit.seen[0]) or same(
            module.parameters(), fit.module.parameters()
        )
    else:
        assert record.n_iter >= 1
        assert record.stopped == "interrupted"
        assert [str(c.message)[:20] for c in caught] == ["training interrupted"]
        assert not any(m.training for m in module.modules())
        expected = fit.record.rows[: record.n_iter]
        assert [row.loss for row in record.rows] == [row.loss for row in expected]
        if fit.validated:
            assert same(module.parameters(), fit.seen[record.best_iter])
            assert record.best_loss == min(row.validation_loss for row in expected)
    assert {p.name for p in path.parent.iterdir()} <= {"fit.pt"}
    if path.exists():
        assert 1 <= len(load(path, fingerprint={})["rows"]) <= 3
    resumed, resumed_record = fit.run(path)
    assert same(resumed.parameters(), fit.module.parameters())
    assert without_seconds(resumed_record) == without_seconds(fit.record)
    path.unlink()


def interrupt_at(fit, path, places, drawn):
    """Do so at a part of all lines, in an order by chance."""
    with Lines(*places) as lines:
        fit.run(path, lines)
    path.unlink()
    every = range(1, lines.n + 1)
    for at in random.Random(0).sample(every, lines.n)[drawn]:
        interrupt(fit, path, Lines(*places, at=at))


def first_and_later(n, n_all):
    """Give the lines that the quick tests interrupt, and others for the slow ones."""
    later = pytest.param(slice(n, n_all), marks=pytest.mark.slow)
    return pytest.mark.parametrize(
        "drawn", [slice(0, n), later], ids=["first", "later"]
    )


@pytest.mark.slow
@first_and_later(15, 45)
def test_ctrl_c_at_any_line_leaves_a_whole_model_and_a_whole_file(fit, tmp_path, drawn):
    """Nobody knows what the machine is at when the user presses it."""
    interrupt_at(fit, tmp_path / "fit.pt", [OURS], drawn)


@pytest.mark.slow
def test_ctrl_c_between_two_epochs_finds_one_noted_or_not(fit, tmp_path):
    """Half noted, the record would name an epoch that the model does not hold."""
    noting = "finish_epoch", "close", "restore_best", "save"
    interrupt_at(fit, tmp_path / "fit.pt", noting, slice(None))


@pytest.mark.slow
@first_and_later(6, 20)
def test_ctrl_c_in_the_midst_of_torch_save_leaves_the_epoch_before(
    fit, tmp_path, drawn
):
    """Most of a write's time is torch's."""
    interrupt_at(fit, tmp_path / "fit.pt", [TORCH_SAVE], drawn)


@pytest.mark.parametrize("epoch", [1, 2])
def test_ctrl_c_in_a_callback_keeps_its_epoch(fit, toy, tmp_path, epoch):
    """The epoch has ended: it counts in the model; the file gets it when the fit goes on."""
    path = tmp_path / "fit.pt"
    (module, groups), (batches, validation) = toy(), fit.data(n=96)
    batches.batches = batches.batches[:2]

    def on_epoch(so_far, module):
        if so_far.n_iter == epoch:
            raise KeyboardInterrupt

    torch.manual_seed(7)
    with pytest.warns(
        UserWarning, match=f"training interrupted after {epoch} epochs?; the"
    ) as got:
        record = train(
            module, training=batches, settings=fit.settings, groups=groups, on_epoch=on_epoch,
            validation=validation if fit.validated else None, checkpoint=path, fingerprint={},
        )  # fmt: skip
    assert got[0].filename == __file__
    assert record.n_iter == epoch
    assert same(module.parameters(), fit.seen[record.best_iter])
    assert path.exists() == (epoch > 1)
    resumed, _ = fit.run(path)
    assert same(resumed.parameters(), fit.module.parameters())


def test_an_error_of_a_callback_or_the_data_leaves_evaluation_mode(toy, settings):
    """Who keeps the module after an error must not forecast with dropout."""

    class Broken(list):
        def __iter__(self):
            yield self[0]
            raise RuntimeError("the data are gone")

    module, groups = toy()
    with pytest.raises(RuntimeError, match="the data are gone"):
        train(
            module, training=Broken([Batch((torch.ones(2, 5),), torch.ones(2, 3, 1), None)]),
            settings=settings(), groups=groups, on_epoch=None, validation=None, checkpoint=None,
            fingerprint={},
        )  # fmt: skip
    assert not any(m.training for m in module.modules())
