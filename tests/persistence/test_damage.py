"""Files that are cut off, damaged, forged or too large: one kind of error, and nothing else."""

import json
import pickle
import random
import re
import zipfile
from pathlib import Path

import pytest

import skinformer
from skinformer import ModelFileError
from skinformer.persistence import read_content

GOLDEN = Path(__file__).parent.parent / "data" / "model-1.skinformer"
RAW = GOLDEN.read_bytes()


@pytest.fixture(scope="module")
def damaged():
    """Load the script beside this file, which can also be run for longer."""
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location("damaged", Path(__file__).with_name("damaged.py"))
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def refusal(tmp_path):
    """Give what loading some bytes says."""

    def refused(raw):
        path = tmp_path / "model"
        path.write_bytes(raw)
        with pytest.raises(ModelFileError) as caught:
            skinformer.load(path)
        return str(caught.value)

    return refused


def test_no_byte_can_change_unseen(tmp_path):
    """A forecast from a flipped bit would look like any other."""
    path = tmp_path / "model"
    raw = bytearray(RAW)
    chance = random.Random(0)
    header = range(8 + int.from_bytes(RAW[:8], "little"))
    for at in [*header[:200], *chance.sample(range(len(raw)), 800)]:
        raw[at] ^= 1 << chance.randrange(8)
        path.write_bytes(raw)
        with pytest.raises(ModelFileError):
            read_content(path)
        raw[at] = RAW[at]
    path.write_bytes(raw)
    read_content(path)


@pytest.mark.parametrize("length", [0, 1, 7, 8, 20, 99, 100, 5000, len(RAW) - 1])
def test_a_cut_file_is_refused(length, refusal):
    """As a copy that broke off."""
    assert "is damaged, or no model of this version" in refusal(RAW[:length])


def test_a_longer_file_is_refused(refusal):
    """No byte of it is outside the digest."""
    assert "its content is not what was written" in refusal(RAW + b"\0")


def test_files_of_others_are_refused(refusal, tmp_path):
    """A pickle above all, which would be run by who guesses."""
    with zipfile.ZipFile(tmp_path / "zip", "w") as archive:
        archive.writestr("0.npy", "x")
    for raw in (pickle.dumps({}), (tmp_path / "zip").read_bytes(), b"{}" * 99, bytes(999)):
        assert "it does not begin like one" in refusal(raw)


def test_the_refusal_says_what_to_do(refusal, tmp_path):
    """In one sentence and another."""
    message = (
        f"'{tmp_path}/model' is damaged, or no model of this version ({skinformer.__version__}): "
        "its content is not what was written. Save the model anew, or load the file with the "
        "version that wrote it."
    )
    assert re.fullmatch(re.escape(message), refusal(RAW[:-1] + b"\xff\xff"))


def test_a_later_format_is_refused(refusal, damaged):
    """With the number, so that one knows what to install."""
    header, body = damaged.parts(RAW)
    header["__metadata__"]["version"] = "2"
    assert "its format is 2, and this version reads 1" in refusal(damaged.rebuilt(header, body))


def test_a_missing_file_is_the_systems_own_error(tmp_path):
    """It is not damaged."""
    with pytest.raises(FileNotFoundError):
        skinformer.load(tmp_path / "nothing")


def deep(header, body):
    header["__metadata__"]["state"] = "[" * 100_000 + "]" * 100_000


def not_a_number(header, body):
    header["__metadata__"]["state"] = '{"is": "float", "of": NaN}'


def twice(header, body):
    header["__metadata__"]["state"] = '{"is": "x", "is": "dict", "of": []}'


def huge(header, body):
    name = next(name for name in header if name != "__metadata__")
    header[name]["shape"] = [10**15]


def overlapping(header, body):
    names = [name for name in header if name != "__metadata__"]
    header[names[1]]["data_offsets"] = header[names[0]]["data_offsets"]


def unknown_type(header, body):
    header["__metadata__"]["state"] = '{"is": "os.system", "of": "true"}'


@pytest.mark.parametrize("forge", [deep, not_a_number, twice, huge, overlapping, unknown_type])
def test_a_forged_header_is_refused(forge, refusal, damaged):
    """Though it is signed: the digest is no secret."""
    header, body = damaged.parts(RAW)
    forge(header, body)
    assert "is damaged" in refusal(damaged.rebuilt(header, body))


@pytest.mark.parametrize(
    ("found", "forged"),
    [
        ('["seq_len",12]', '["seq_len",1000000000000]'),
        ('["n_encoder_layers",2]', '["n_encoder_layers",1000000000]'),
        ('["d_model",8]', '["d_model",1000000]'),
        ('"Europe/Paris"', '"dateutil//etc/passwd"'),
        ('"Europe/Paris"', '"../../../etc/passwd"'),
        ('"Europe/Paris"', '"/etc/passwd"'),
        ('["n_iter_",1]', '["predict",1]'),
        ('["n_iter_",1]', '["n_iter_","many"]'),
    ],
)
def test_a_forged_value_is_refused(found, forged, refusal, damaged):
    """Networks of any size, files as time zones, methods as attributes."""
    header, body = damaged.parts(RAW)
    state = header["__metadata__"]["state"]
    assert found in state
    header["__metadata__"]["state"] = json.dumps(json.loads(state.replace(found, forged)))
    assert "is damaged" in refusal(damaged.rebuilt(header, body))


def test_nothing_that_a_forger_writes_is_run(damaged, tmp_path):
    """A few hundred here; ten thousand by hand, see damaged.py."""
    watch, chance = damaged.Watch(), random.Random(1)
    path = tmp_path / "model"
    skinformer.load(GOLDEN)
    for i in range(150):
        path.write_bytes(damaged.WAYS[i % 3](RAW, chance))
        found, seconds, events = damaged.try_file(path, watch)
        assert events == []
        assert seconds < 20
        if i % 3 == 0:
            assert found == "refused" or path.read_bytes() == RAW
