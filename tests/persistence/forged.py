"""Forge model files, with a valid digest, and see that they are refused or load.

``python tests/persistence/forged.py 5000`` forges so many, and tells of each that does
neither, or takes long.
"""

import copy
import random
import resource
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
from flat_parameters import with_parts

import skinformer
from skinformer import InformerClassifier, InformerRegressor, ModelFileError
from skinformer.persistence.container import Content, read_content, write_content

P = {
    "seq_len": 24,
    "pred_len": 6,
    "d_model": 16,
    "n_heads": 2,
    "max_iter": 1,
    "random_state": 0,
}
SECONDS, KILOBYTES = (
    60,
    400_000,
)  # on a busy machine; more than the file itself stands for


def table(n):
    """Give hourly rows."""
    values = 50 + 10 * np.sin(2 * np.pi * np.arange(n) / 24)
    values += np.random.default_rng(0).normal(size=n)
    return pd.DataFrame(
        {"load": values}, index=pd.date_range("2026-01-01", periods=n, freq="h")
    )


def default():
    return InformerRegressor("load", **with_parts(**P)).fit(table(1600))


def network():
    return InformerRegressor("load", **with_parts(**P, members=["network"])).fit(
        table(160)
    )


def panel():
    rng, parts = np.random.default_rng(1), []
    for name, n in zip("abcde", (18, 25, 31, 39, 28), strict=True):
        time = pd.date_range("2020-01-01", periods=n, freq="MS")
        sales = 20 + 5 * np.sin(2 * np.pi * np.arange(n) / 12) + rng.normal(size=n)
        parts.append(pd.DataFrame({"series": name, "time": time, "sales": sales}))
    rows = pd.concat(parts).set_index(["series", "time"])
    return InformerRegressor("sales", **with_parts(**P | {"seq_len": 12})).fit(rows)


def drivers():
    rng, df = np.random.default_rng(2), table(500)
    df["temp"], df["plan"] = rng.normal(size=500), rng.integers(0, 2, 500).astype(float)
    df["load"] += 3 * df["temp"]
    settings = P | {"loss": [0.1, 0.5, 0.9], "calendar": ["hour", "weekday"]}
    return InformerRegressor(
        "load", **with_parts(known_future=["temp", "plan"], **settings)
    ).fit(df)


def classes():
    df = table(420)
    df["load"] = np.where(df["load"] > 50, "high", "low")
    return InformerClassifier("load", **with_parts(**P)).fit(df)


def ridge():
    """Own regressor in place of trees, logarithms, ranges found, integers for time."""
    from sklearn.linear_model import Ridge

    df = np.exp(table(420).reset_index(drop=True) / 10)
    model = InformerRegressor(
        "load",
        **with_parts(
            members=["classical", "ridges", Ridge(), "network"],
            target_transform="log",
            **P,
        ),
    ).fit(df)
    assert model.intervals_
    return model


def write(folder):
    """Write one file of each kind of model, and two with the context alone; give their paths."""
    paths = []
    for make in (default, network, panel, drivers, classes, ridge):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = make()
        for history in ("all", "context")[: 1 + (make in (default, drivers))]:
            paths.append(Path(folder, f"{make.__name__}-{history}"))
            model.save(paths[-1], history=history)
    return paths


# --- forging -----------------------------------------------------------------------------------

NUMBERS = [
    -1,
    0,
    1,
    2,
    3,
    7,
    1000,
    1_000_006,
    24 + 2**32,
    2**31,
    2**63,
    10**30,
    -(10**9),
]
FLOATS = [-1.0, 0.0, 0.5, 1e-30, 1e12, 1e30, 1e300, -1e300, {"is": "float", "of": "nan"},
          {"is": "float", "of": "inf"}, {"is": "float", "of": "-inf"}]  # fmt: skip
OTHERS = [None, True, False, "", "x", "probsparse", "continuous", [], {"is": "dict", "of": []},
          {"is": "tuple", "of": []}, {"is": "bytes", "of": "00"}, {"is": "Step", "of": "7D"},
          {"is": "Step", "of": "s"}, {"is": "tuple", "of": [1, 2]}, *NUMBERS, *FLOATS]  # fmt: skip


def places(tree, found):
    """List all places of a tree: what holds a value, and under which key."""
    if isinstance(tree, dict):
        inner = tree["of"]
        if tree["is"] in ("array", "turned", "float", "bytes"):
            return
        if tree["is"] == "dict":
            for pair in inner:
                found.append((pair, 1))
                places(pair[1], found)
        else:
            found.append((tree, "of"))
            places(inner, found)
    elif isinstance(tree, list):
        for i, part in enumerate(tree):
            found.append((tree, i))
            places(part, found)


def array_changed(array, chance):
    """Change some of an array: numbers, type, or shape."""
    way, array = chance.randrange(7), array.copy()
    if way < 3 and array.size:
        odd = [
            -1,
            0,
            1,
            5,
            1e6,
            1e12,
            2**62,
            np.nan,
            np.inf,
            -np.inf,
            1e30,
            -1e30,
            3e38,
        ]
        value = chance.choice(odd)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = np.array(value).astype(array.dtype)
        at = chance.randrange(array.size)
        array.reshape(-1)[at : at + chance.choice([1, 1, array.size])] = value
        return array
    if way == 3:
        kinds = ["f4", "f8", "i8", "i4", "u1", "?"]
        return np.nan_to_num(array).astype(chance.choice(kinds))
    if way == 4 and array.ndim:
        axis = chance.randrange(array.ndim)
        return np.concatenate([array, array], axis=axis)
    if way == 5 and array.ndim:
        return (
            np.take(array, range(array.shape[0] - 1), axis=0)
            if len(array)
            else array[None]
        )
    none = array[:0] if array.ndim else array
    return chance.choice([array[None], array.T.copy(), array.ravel(), none])


def forge(content, chance):  # noqa: C901 – a list of ways
    """Change one thing of a file's content, or two."""
    tree, arrays = copy.deepcopy(content.tree), list(content.arrays)
    for _ in range(chance.choice([1, 1, 1, 2])):
        found = []
        places(tree, found)
        ints = [p for p in found if type(p[0][p[1]]) is int]
        floats = [p for p in found if type(p[0][p[1]]) is float]
        way = chance.randrange(12)
        if way < 4:
            at = chance.randrange(len(arrays))
            arrays[at] = array_changed(arrays[at], chance)
            continue
        if way == 4:
            holder, key = chance.choice(ints)
            holder[key] = chance.choice(
                [*NUMBERS, holder[key] + 1, holder[key] * 2, -holder[key]]
            )
            continue
        if way == 5 and floats:
            holder, key = chance.choice(floats)
            holder[key] = copy.deepcopy(chance.choice(FLOATS))
            continue
        holder, key = chance.choice(found)
        if way in (6, 7):
            holder[key] = copy.deepcopy(chance.choice(OTHERS))
        elif way == 8:
            siblings = list(range(len(holder))) if isinstance(holder, list) else []
            if len(siblings) > 1:
                other = chance.choice(siblings)
                holder[key], holder[other] = holder[other], holder[key]
        elif way == 9:
            source, name = chance.choice(found)
            holder[key] = copy.deepcopy(source[name])
        elif way == 10:
            outer = [
                p[0][p[1]] for p in found if isinstance(p[0][p[1]], list) and p[0][p[1]]
            ]
            inner = chance.choice(outer)
            if chance.random() < 0.5:
                del inner[chance.randrange(len(inner))]
            else:
                inner.append(copy.deepcopy(chance.choice(inner)))
        else:
            nodes = [
                (h, k)
                for h, k in found
                if isinstance(h[k], dict) and h[k]["is"] == "array"
            ]
            one, other = chance.sample(nodes, 2)
            one[0][one[1]], other[0][other[1]] = other[0][other[1]], one[0][one[1]]
            if chance.random() < 0.5:  # one array, twice
                one[0][one[1]] = copy.deepcopy(other[0][other[1]])
    return Content(tree, arrays)


# --- what is asked -----------------------------------------------------------------------------


def attempt(path):
    """Give "refused" or "loads", or raise."""
    try:
        skinformer.load(path)
    except ModelFileError:
        return "refused"
    return "loads"


def run(count, folder, start=0):
    """Forge so many files in a folder; tell of each that is neither refused nor loads."""
    outcomes = Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        contents = [(path.name, read_content(path)) for path in write(folder)]
        for name, content in contents:
            write_content(Path(folder, "honest"), content)
            assert attempt(Path(folder, "honest")) == "loads", name
        for seed in range(start, start + count):
            name, content = contents[seed % len(contents)]
            outcomes[_outcome(name, content, Path(folder, "model"), seed)] += 1
            if seed % 200 == 199:
                print(seed, dict(outcomes), flush=True)  # noqa: T201
    return outcomes


def _outcome(name, content, path, seed):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        write_content(path, forge(content, random.Random(seed)))
    except (KeyError, ValueError, IndexError, TypeError):  # nothing to forge here
        return "not forged"
    try:
        begun = time.perf_counter()
        outcome = attempt(path)
    except BaseException as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        what = type(error).__name__, str(error)[:150], last.filename[-40:], last.lineno
        print(seed, name, *what, flush=True)  # noqa: T201
        return type(error).__name__
    taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    if taken > KILOBYTES or time.perf_counter() - begun > SECONDS:
        print(  # noqa: T201
            seed, name, outcome, "took", taken, "KB", time.perf_counter() - begun, "s"
        )
        return "too much"
    return outcome


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as where:
        print(run(int(sys.argv[1]), where, int((sys.argv[2:] or [0])[0])))  # noqa: T201
