"""Checkpoints that are damaged, foreign or cannot be written."""

import errno
import hashlib
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import skinformer
from skinformer.training import checkpoint as checkpoints
from skinformer.training.checkpoint import load, save
from skinformer.training.trainer import train

HERE = Path(__file__).parent
MAGIC = b"skinformer fit\r\n"
HEADER = len(MAGIC) + 4 + 32  # the format's number and a digest of the rest


@pytest.fixture
def fit(toy, data, settings):
    """Return a function: fit a toy, the same each time, with a checkpoint."""

    def run(checkpoint, *, module=None, on_epoch=None, **changes):
        module, groups = toy() if module is None else module
        training, validation = data()
        torch.manual_seed(7)
        record = train(
            module,
            training=training,
            validation=validation,
            settings=settings(**{"max_iter": 3, "n_iter_no_change": 9, **changes}),
            groups=groups,
            on_epoch=on_epoch,
            checkpoint=checkpoint,
            fingerprint={"data": "a"},
        )
        return module, record

    return run


def refused(path, fault=".+"):
    """Return the one error of a file from which no fit can go on."""
    message = (
        rf"checkpoint={re.escape(repr(str(path)))} is damaged or not a checkpoint of this "
        rf"version: {fault}\. Delete the file, or give another checkpoint, to start afresh\."
    )
    return pytest.raises(ValueError, match=rf"\A{message}\Z")


def same(first, second):
    return all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


# --- what is read -----------------------------------------------------------------------------


def test_every_flipped_bit_is_refused(fit, tmp_path):
    """A bad disk must end in an error, never in other forecasts."""
    path = tmp_path / "fit.pt"
    fit(path, max_iter=1)
    whole = path.read_bytes()
    rng = random.Random(0)
    places = [*range(HEADER), *rng.sample(range(len(whole)), 250)]
    for place in places:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        with refused(path):
            load(path, fingerprint={"data": "a"})
    path.write_bytes(whole)
    assert load(path, fingerprint={"data": "a"})["step"] == 6


def test_a_file_of_any_other_length_is_refused(fit, tmp_path):
    """Copying breaks off, file systems give back zeros; empty files are the commonest of all."""
    path = tmp_path / "fit.pt"
    fit(path, max_iter=1)
    whole = path.read_bytes()
    lengths = [*range(70), *range(70, len(whole), len(whole) // 60), len(whole) - 1]
    for length in lengths:
        for rest in {b"", bytes(len(whole) - length)} - {whole[length:]}:
            path.write_bytes(whole[:length] + rest)
            with refused(path):
                load(path, fingerprint={"data": "a"})
    path.write_bytes(whole + b"\0")
    with refused(path):
        load(path, fingerprint={"data": "a"})


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "it does not begin like one"),
        (b"\n", "it does not begin like one"),
        (b"not a checkpoint" * 9, "it does not begin like one"),
        (b"\x80\x02}q\x00." * 20, "it does not begin like one"),
        (bytes(999), "it does not begin like one"),
    ],
)
def test_a_file_of_something_else_is_refused(tmp_path, content, fault):
    """A typing error in the path must not end in a traceback of the unpickler."""
    path = tmp_path / "fit.pt"
    path.write_bytes(content)
    with refused(path, fault):
        load(path, fingerprint={})


@pytest.mark.parametrize("sealed", [False, True])
def test_garbage_is_refused_whatever_it_holds(tmp_path, sealed):
    """With a valid digest or without: torch's reader ends in a dozen kinds of errors."""
    path = tmp_path / "fit.pt"
    save(path, {"fingerprint": {}, "weights": torch.zeros(9)})
    archive = path.read_bytes()[HEADER:]
    rng = random.Random(0)
    for _ in range(150):
        content = bytearray(rng.choice([rng.randbytes(rng.randrange(200)), archive]))
        for place in rng.choices(range(max(1, len(content))), k=rng.randrange(1, 30)):
            content[place : place + 1] = rng.randbytes(rng.randrange(3))
        path.write_bytes(seal(bytes(content)) if sealed else bytes(content))
        try:
            state = load(path, fingerprint={})
        except ValueError as error:
            assert "is damaged or not a checkpoint" in str(error)  # noqa: PT017
        else:
            assert sealed
            assert state["weights"].shape == (9,)


def seal(content, version=checkpoints.FORMAT):
    """Forge a file with a valid digest."""
    digest = hashlib.blake2b(content, digest_size=32).digest()
    return MAGIC + version.to_bytes(4, "little") + digest + content


def test_other_formats_are_named(tmp_path):
    """A file of another version is not damaged; deleting it is the reader's choice."""
    path = tmp_path / "fit.pt"
    torch.save({"fingerprint": {}}, path)
    with refused(path, "it does not begin like one"):
        load(path, fingerprint={})
    path.write_bytes(seal(path.read_bytes(), version=3))
    with refused(path, "its format is 3, and this version reads 2"):
        load(path, fingerprint={})


@pytest.mark.parametrize(
    "state", [3, [], {}, {"fingerprint": 3}, {"fingerprint": {3: "a"}}]
)
def test_a_state_without_a_fingerprint_is_refused(tmp_path, state):
    """Somebody else's archive of tensors."""
    save(tmp_path / "fit.pt", state)
    with refused(tmp_path / "fit.pt", "it holds no state of a fit"):
        load(tmp_path / "fit.pt", fingerprint={"data": "a"})


def test_a_file_cannot_run_code(tmp_path):
    """Checkpoints are passed around; a pickle could do anything, and a digest is soon forged."""

    class Trap:
        def __reduce__(self):
            return os.remove, (str(tmp_path / "fit.pt"),)

    path = tmp_path / "fit.pt"
    save(path, {"fingerprint": {}, "trap": Trap()})
    with refused(path, "it holds no state of a fit"):
        load(path, fingerprint={})
    assert path.exists()


# --- what is taken over -----------------------------------------------------------------------


def change(state, keys, value):
    """Set an entry of a nested state, or drop it."""
    *parents, last = keys
    for key in parents:
        state = state[key]
    if value is None:
        del state[last]
    else:
        state[last] = value


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (["module"], None),
        (["module", "out.bias"], None),
        (["module", "out.bias"], torch.zeros(4)),
        (["module", "more"], torch.zeros(3)),
        (["optimizers"], []),
        (["rows", 0], (1, 2)),
        (["step"], None),
        (["batches"], torch.zeros(3)),
    ],
    ids=str,
)
def test_a_state_that_does_not_fit_changes_nothing(fit, toy, tmp_path, keys, value):
    """Written by another version of the network: half of its weights would be nobody's."""
    path = tmp_path / "fit.pt"
    fit(path)
    state = load(path, fingerprint={"data": "a"})
    change(state, keys, value)
    save(path, state)
    module, groups = toy()
    untouched, _ = toy()
    module.dropout.eval()
    with refused(path, "its state does not fit this network"):
        fit(path, module=(module, groups))
    assert same(module.state_dict().values(), untouched.state_dict().values())
    assert (module.training, module.out.training, module.dropout.training) == (
        True,
        True,
        False,
    )


def test_a_refused_checkpoint_changes_nothing(toy, data, settings, tmp_path):
    """The module keeps weights and mode, the batches and torch their generators, the file all."""
    path = tmp_path / "fit.pt"
    save(path, {"fingerprint": {"data": "another"}})
    content = path.read_bytes()
    for training_mode in (True, False):
        (module, groups), (untouched, _) = toy(), toy()
        module.train(training_mode)
        batches, validation = data()
        generators = torch.get_rng_state(), batches.get_state()
        with pytest.raises(ValueError, match="was written by another fit: data differ"):
            train(
                module, training=batches, validation=validation, settings=settings(), groups=groups,
                on_epoch=None, checkpoint=path, fingerprint={"data": "a"},
            )  # fmt: skip
        assert module.training is module.dropout.training is training_mode
        assert same(module.parameters(), untouched.parameters())
        assert same((torch.get_rng_state(), batches.get_state()), generators)
        assert path.read_bytes() == content


# --- what is written --------------------------------------------------------------------------


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_failed_write_keeps_the_old_state_and_leaves_no_file(
    tmp_path, monkeypatch, error
):
    """A full disk or Ctrl-C must not cost the hours before."""
    path = tmp_path / "fit.pt"
    save(path, {"step": 1, "fingerprint": {}})

    def fail(state, file):
        file.write(b"half a st")
        raise error

    monkeypatch.setattr(torch, "save", fail)
    with pytest.raises(error):
        save(path, {"step": 2, "fingerprint": {}})
    assert load(path, fingerprint={})["step"] == 1
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()]
)
@pytest.mark.parametrize("n_written", [1, 3, 6])
def test_torch_does_not_hide_what_broke_a_write_off(
    monkeypatch, tmp_path, error, n_written
):
    """Closing its archive, it raises a RuntimeError of its own; the fit would end by that."""
    torch_save = torch.save

    class Breaking:
        def __init__(self, file):
            self.file, self.n_left = file, n_written

        def write(self, content):
            self.n_left -= 1
            if self.n_left == 0:
                raise error
            return self.file.write(content)

        def flush(self):
            self.file.flush()

    monkeypatch.setattr(
        torch, "save", lambda state, file: torch_save(state, Breaking(file))
    )
    with pytest.raises(type(error)) as raised:
        save(tmp_path / "fit.pt", {"fingerprint": {}})
    assert raised.value is error


def test_an_error_from_before_is_not_taken_for_the_cause(monkeypatch, tmp_path):
    """Who fits in an except clause must not see that clause's error again."""

    def fail(state, file):
        raise RuntimeError("torch cannot write this")

    monkeypatch.setattr(torch, "save", fail)
    try:
        raise FileNotFoundError("no model yet")
    except FileNotFoundError:
        with pytest.raises(RuntimeError, match="torch cannot write this"):
            save(tmp_path / "fit.pt", {"fingerprint": {}})


@pytest.mark.skipif(os.name != "posix", reason="folders are files on POSIX only")
def test_a_write_is_on_the_disk_when_it_returns(tmp_path, monkeypatch):
    """Content before the rename, the rename before the next epoch: power fails in between."""
    path, calls = tmp_path / "fit.pt", []
    fsync, replace = os.fsync, Path.replace

    def note_fsync(descriptor):
        calls.append(("fsync", os.fstat(descriptor).st_ino))
        fsync(descriptor)

    def note_replace(source, target):
        calls.append(("replace", source.stat().st_ino))
        return replace(source, target)

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(Path, "replace", note_replace)
    save(path, {"fingerprint": {}})
    file, folder = path.stat().st_ino, tmp_path.stat().st_ino
    assert calls == [("fsync", file), ("replace", file), ("fsync", folder)]


def full_disk(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(
    ("owner", "name"),
    [(Path, "open"), (torch, "save"), (os, "fsync"), (Path, "replace")],
)
def test_a_fit_outlives_a_full_disk(fit, tmp_path, monkeypatch, owner, name):
    """The file costs less than the epochs: one warning, the same model, the last file that was."""
    path = tmp_path / "fit.pt"
    whole, _ = fit(None, max_iter=5)

    def on_epoch(so_far, module):
        if so_far.n_iter == 2:
            monkeypatch.setattr(owner, name, full_disk)

    message = (
        rf"^checkpoint={re.escape(repr(str(path)))} could not be written: \[Errno 28\] No space "
        "left on device. Training goes on and tries again after each epoch; the file holds the "
        "last epoch that could be written.$"
    )
    with pytest.warns(UserWarning, match=message) as caught:
        module, record = fit(path, max_iter=5, on_epoch=on_epoch)
    monkeypatch.undo()
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert record.n_iter == 5
    assert same(module.parameters(), whole.parameters())
    assert len(load(path, fingerprint={"data": "a"})["rows"]) == 1
    assert list(tmp_path.iterdir()) == [path]


def test_a_disk_with_room_again_gets_the_later_epochs(fit, tmp_path, monkeypatch):
    """An hour without a disk must not end the safety of the days after."""
    path = tmp_path / "fit.pt"

    def on_epoch(so_far, module):
        if so_far.n_iter in {1, 3}:
            monkeypatch.setattr(os, "fsync", full_disk)
        else:
            monkeypatch.undo()

    with pytest.warns(UserWarning, match="could not be written") as caught:
        fit(path, max_iter=4, on_epoch=on_epoch)
    assert len(caught) == 1
    assert len(load(path, fingerprint={"data": "a"})["rows"]) == 4


def test_a_fit_outlives_its_folder(fit, tmp_path):
    """Somebody tidies up; the model is what counts."""
    folder = tmp_path / "runs"
    folder.mkdir()

    def on_epoch(so_far, module):
        if so_far.n_iter == 2:
            (folder / "fit.pt").unlink()
            folder.rmdir()

    with pytest.warns(
        UserWarning,
        match=r"could not be written: there is no folder .* path\. Training",
    ):
        _, record = fit(folder / "fit.pt", on_epoch=on_epoch)
    assert record.n_iter == 3


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="RLIMIT_FSIZE is POSIX's")
def test_a_fit_outlives_a_disk_that_is_really_full(tmp_path):
    """The kernel refuses bytes in the middle of torch's archive, at one place or another."""
    paths = str(HERE), str(Path(skinformer.__file__).parent.parent)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, str(HERE / "full_disk_fit.py"), str(tmp_path / "fit.pt")]
    subprocess.run(command, env=environment, check=True)
    assert list(tmp_path.iterdir()) == [tmp_path / "fit.pt"]
    assert len(load(tmp_path / "fit.pt", fingerprint={})["rows"]) == 1


def test_states_of_any_size_come_back(tmp_path):
    """Nothing is cut off, padded or rounded."""
    for n in (0, 1, 77, 100_000):
        state = {"fingerprint": {}, "weights": torch.randn(n), "text": "ä" * n}
        save(tmp_path / "fit.pt", state)
        stored = load(tmp_path / "fit.pt", fingerprint={})
        assert torch.equal(stored["weights"], state["weights"])
        assert stored["text"] == state["text"]
