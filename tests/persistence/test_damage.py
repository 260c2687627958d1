"""Files that are cut off, damaged, forged or too large: one kind of error, and nothing else."""

import json
import pickle
import random
import re
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from flat_parameters import with_parts

import skinformer
from skinformer import InformerRegressor, ModelFileError
from skinformer.estimators.serialisation import FILES
from skinformer.persistence.container import (
    FORMAT,
    Content,
    read_content,
    write_content,
)

GOLDEN = Path(__file__).parent.parent / "data" / "model-18.skinformer"
RAW = GOLDEN.read_bytes()


@pytest.fixture(scope="module")
def damaged():
    """Load the script beside this file, which can also be run for longer."""
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location("damaged", Path(__file__).with_name("damaged.py"))
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def forged():
    """Load the other one: forged models of many kinds, and what is asked of those that load."""
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location("forged", Path(__file__).with_name("forged.py"))
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


@pytest.mark.slow
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
    for raw in (
        pickle.dumps({}),
        (tmp_path / "zip").read_bytes(),
        b"{}" * 99,
        bytes(999),
    ):
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
    later = FORMAT + 1
    header["__metadata__"]["version"] = str(later)
    assert f"its format is {later}, and this version reads {FORMAT}" in refusal(
        damaged.rebuilt(header, body)
    )


def test_the_page_on_files_names_the_version_of_the_format():
    """Whoever reads files by another library goes by it."""
    page = Path(__file__).parents[2] / "docs" / "files.md"
    row = f"| `version` | the version of the format, {FORMAT} |"
    assert row in page.read_text("utf-8").splitlines()


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


@pytest.mark.parametrize(
    "forge", [deep, not_a_number, twice, huge, overlapping, unknown_type]
)
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
    header["__metadata__"]["state"] = json.dumps(
        json.loads(state.replace(found, forged))
    )
    assert "is damaged" in refusal(damaged.rebuilt(header, body))


def test_layers_below_zero_make_up_for_no_others(refusal, damaged):
    """Their sum was bounded, and a file of a few bytes built as many as it liked."""
    header, body = damaged.parts(RAW)
    state = header["__metadata__"]["state"]
    state = state.replace('["n_encoder_layers",2]', '["n_encoder_layers",3000]')
    forged = re.sub(r'\["n_decoder_layers",\d+]', '["n_decoder_layers",-3000]', state)
    assert forged != state
    header["__metadata__"]["state"] = json.dumps(json.loads(forged))
    assert "more layers than weights" in refusal(damaged.rebuilt(header, body))


@pytest.fixture(scope="module")
def dated():
    """Give a model whose calendar says something, of hours and a column known ahead."""
    rng, hours = (
        np.random.default_rng(0),
        pd.date_range("2024-01-01", periods=900, freq="h"),
    )
    plan = np.repeat(rng.integers(0, 2, size=38), 24)[:900].astype(float)
    load = rng.normal(size=24)[hours.hour] * (5 - plan) + 0.1 * rng.normal(size=900)
    df = pd.DataFrame({"plan": plan, "load": load}, index=hours)
    sizes = {"seq_len": 8, "pred_len": 3, "d_model": 8, "n_heads": 2, "max_iter": 1}
    sizes |= {
        "max_windows": 32,
        "random_state": 0,
        "members": ["classical", "ridges", "network"],
        "calendar": ["hour"],
    }
    model = InformerRegressor("load", **with_parts(known_future=["plan"], **sizes)).fit(
        df
    )
    assert model.module_.path.calendar.known.shape == (24, 1, 1)
    return model


def put(name, index, value):
    """Say that a number of a table is another one."""

    def forge(tables):
        tables[name] = tables[name].copy()
        tables[name][index] = value

    return forge


def shaped(name, change):
    def forge(tables):
        tables[name] = np.ascontiguousarray(change(tables[name]))

    return forge


FORGED = {
    "places of other numbers": shaped("places", lambda a: a.astype(np.int32)),
    "places of fewer values": shaped("places", lambda a: a[:, :5]),
    "no cells": shaped("level", lambda a: a[:0]),
    "cells of two targets": shaped("level", lambda a: np.hstack([a, a])),
    "cells of no target": shaped("level", lambda a: a[:, :0]),
    "a flat level": shaped("level", lambda a: a[:, 0]),
    "a number for a level": shaped("level", lambda a: a[0, 0]),
    "a level of singles": shaped("level", lambda a: a.astype(np.float32)),
    "no times": shaped("known", lambda a: a[:0]),
    "columns of two targets": shaped("known", lambda a: np.concatenate([a, a], axis=2)),
    "flat columns": shaped("known", lambda a: a[:, 0]),
    "other bounds": shaped("bounds", lambda a: np.hstack([a, a])),
    "one bound": shaped("bounds", lambda a: a[:1]),
    "a level that is no number": put("level", (5, 0), np.nan),
    "an infinite effect": put("known", (5, 0, 0), np.inf),
    "a bound that is no number": put("bounds", (1, 0), np.nan),
    "no level": lambda tables: tables.pop("level"),
    "no places at all": lambda tables: tables.pop("places"),
}


def find_calendar(tree):
    """Find what a tree of a file says of a calendar."""
    if isinstance(tree, dict) and tree.get("is") == "CalendarEffect":
        return tree
    parts = (
        tree.values()
        if isinstance(tree, dict)
        else tree
        if isinstance(tree, list)
        else ()
    )
    return next((found for found in map(find_calendar, parts) if found), None)


@pytest.mark.parametrize("case", FORGED)
def test_a_forged_calendar_is_refused(case, dated, refusal, tmp_path):
    """Shapes, types and finite numbers: what any forecast goes through."""
    dated.save(tmp_path / "forged")
    tree, arrays = read_content(tmp_path / "forged")
    found = find_calendar(tree)
    tables = FILES.decode(found["of"], arrays)
    FORGED[case](tables)
    # Behind all others: tables that nothing refers to any more stay where they are.
    found["of"], more = FILES.encode(tables)
    renumber(found["of"], len(arrays))
    write_content(tmp_path / "forged", Content(tree, [*arrays, *more]))
    assert "is damaged" in refusal((tmp_path / "forged").read_bytes())


def renumber(tree, first):
    """Let a tree refer to arrays behind so many others."""
    if isinstance(tree, dict) and tree.get("is") in ("array", "turned"):
        tree["of"] += first
        return
    for part in (
        tree.values()
        if isinstance(tree, dict)
        else tree
        if isinstance(tree, list)
        else ()
    ):
        renumber(part, first)


@pytest.mark.parametrize("given", [[], 0, "level", {}, {"level": 1}], ids=repr)
def test_a_calendar_of_something_else_is_refused(given, dated, refusal, tmp_path):
    """It is no table at all."""
    dated.save(tmp_path / "forged")
    tree, arrays = read_content(tmp_path / "forged")
    find_calendar(tree)["of"] = FILES.encode(given)[0]
    write_content(tmp_path / "forged", Content(tree, arrays))
    assert "is damaged" in refusal((tmp_path / "forged").read_bytes())


def test_nothing_that_a_forger_writes_of_a_calendar_is_run(damaged, dated, tmp_path):
    """What loads, loads as what it says."""
    dated.save(tmp_path / "whole")
    raw = (tmp_path / "whole").read_bytes()
    watch, chance = damaged.Watch(), random.Random(2)
    skinformer.load(tmp_path / "whole")
    for i in range(60):
        (tmp_path / "model").write_bytes(damaged.WAYS[1 + i % 2](raw, chance))
        _, _, events = damaged.try_file(tmp_path / "model", watch)
        assert events == []


@pytest.mark.slow
def test_nothing_that_a_forger_writes_is_run(damaged, tmp_path):
    """A few hundred here; ten thousand by hand, see damaged.py."""
    watch, chance = damaged.Watch(), random.Random(1)
    path = tmp_path / "model"
    skinformer.load(GOLDEN)
    for i in range(150):
        path.write_bytes(damaged.WAYS[i % 3](RAW, chance))
        found, _, events = damaged.try_file(path, watch)
        assert events == []
        if i % 3 == 0:
            assert found == "refused" or path.read_bytes() == RAW


@pytest.mark.slow
def test_a_forged_model_is_refused_or_loads(forged, tmp_path):
    """In little time and memory, whatever it says; five thousand by hand, see forged.py."""
    outcomes = forged.run(60, tmp_path)
    assert outcomes.keys() <= {"refused", "loads", "not forged"}, outcomes
    assert outcomes["loads"] > 10
    assert outcomes["refused"] > 10
