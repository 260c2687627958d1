"""A model in a file: the same numbers, the same labels, no code; refusals in words."""

import copy
import io
import os
import pickle
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import GenericAlias, SimpleNamespace
from typing import NamedTuple, TypeVar

import joblib
import numpy as np
import pandas as pd
import pytest
import torch
from flat_parameters import with_parts
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Lasso, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import PowerTransformer

import skinformer
from skinformer import (
    Block,
    CalendarFeatures,
    InformerClassifier,
    InformerRegressor,
    MaskFuture,
    ModelFileError,
    Network,
    SlidingWindow,
    Training,
    VersionWarning,
)
from skinformer.datasets import load_auckland_pedestrians
from skinformer.ensemble.head import ClassHead
from skinformer.estimators import serialisation
from skinformer.evaluation import SeasonalNaive
from skinformer.persistence.atomic import replacing
from skinformer.persistence.checks import FieldCheck
from skinformer.persistence.codec import Codec, record_kinds
from skinformer.persistence.labels import LABEL_KINDS

P = {
    "seq_len": 24,
    "pred_len": 6,
    "d_model": 16,
    "n_heads": 2,
    "max_iter": 1,
    "random_state": 0,
}
GOLDEN = Path(__file__).parent.parent / "data" / "model-18.skinformer"


def panel(lengths):
    t = np.arange(1000)
    each = {
        name: pd.DataFrame({"load": np.sin(t[:n] / 3 + i) + i})
        for i, (name, n) in enumerate(lengths.items())
    }
    return pd.concat(each, names=["site", "time"])


CASES = {
    "columns": lambda df: (df, {"known_future": ["plan"]}),
    "dates": lambda df: (df[["load"]], {"members": ["ridges"]}),
    "naive dates": lambda df: (
        df[["load"]].tz_convert("UTC").tz_localize(None),
        {"members": ["ridges"]},
    ),
    "days": lambda df: (
        df[["load"]].set_axis(
            pd.date_range("2024-01-01", periods=len(df), tz="Europe/Berlin")
        ),
        {"members": ["ridges"]},
    ),
    "months": lambda df: (
        df[["load"]].set_axis(
            pd.period_range("1990-01", periods=len(df), freq="M", name="month")
        ),
        {"members": ["ridges"]},
    ),
    "numbers": lambda df: (
        df[["load"]].reset_index(drop=True),
        {"members": ["ridges"]},
    ),
    "two targets": lambda df: (
        df,
        {"target": ["wind", "load"], "members": ["classical", "ridges"]},
    ),
    "parts": lambda df: (
        df[["load"]],
        {
            "block": Block(norm="zc_rms"),
            "attention": "probsparse",
            "position": "continuous",
            "members": ["network"],
        },
    ),
    "alone": lambda df: (
        df,
        {"members": ["network"], "loss": 0.3, "embeddings": ["missing", "mask"]},
    ),
    "ridge": lambda df: (df[["load"]], {"members": ["ridges", Ridge()]}),
    "lasso": lambda df: (df[["load"]], {"members": ["ridges", Lasso(0.01)]}),
    "boosted": lambda df: (
        df,
        {"members": ["ridges", HistGradientBoostingRegressor(max_iter=10)]},
    ),
    "logs": lambda df: (
        df[["load"]] + 5,
        {"target_transform": "log", "members": ["classical", "ridges"]},
    ),
}


def answers(model, later):
    """Everything that a fitted model says of later rows, and after them."""
    ahead = later.assign(**dict.fromkeys(model.roles_.targets, np.nan))
    after = copy.deepcopy(model).update(later)
    return [
        model.predict(later),
        model.predict_interval(later),
        model.forecast(ahead),
        model.forecast(ahead, coverage=0.8),
        model.sample(3, ahead, random_state=0),
        np.array(model.score(later)),
        after.predict(later),
        after.predict_interval(later),
        after.make_future_frame(),
    ]


def assert_same(mine, other):
    for one, two in zip(mine, other, strict=True):
        if isinstance(one, pd.DataFrame):
            pd.testing.assert_frame_equal(one, two, check_exact=True)
        else:
            np.testing.assert_array_equal(one, two)


CLASSES = {
    "texts": (np.array(["low", "mid", "high"]), {}),
    "objects": (np.array(["low", "mid", "high"], dtype=object), {}),
    "numbers": (np.array([30, 10, 20]), {"members": ["classes", "network"]}),
    "two": (np.array([True, False, True]), {}),
    "network alone": (np.array(["low", "mid", "high"]), {"members": ["network"]}),
}


def class_frame(labels, n):
    t, rng = np.arange(n), np.random.default_rng(0)
    level = np.sin(t / 4) + rng.normal(size=n) / 3
    state = labels[np.digitize(level, [-0.4, 0.4])]
    hours = pd.date_range("2024-03-20", periods=n, freq="h")
    return pd.DataFrame({"plan": t % 5, "state": state}, index=hours)


@pytest.mark.slow
@pytest.mark.parametrize("case", CLASSES)
def test_a_loaded_classifier_says_the_same_bit_for_bit(case, tmp_path):
    """Labels of any type, probabilities, trees, and updates."""
    labels, parameters = CLASSES[case]
    df = class_frame(labels, 1700 if case == "texts" else 600)
    if case == "objects":
        df["state"] = df["state"].astype(
            pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
        )
    sizes = {"seq_len": 24, "pred_len": 6, "d_model": 8, "n_heads": 2, "max_iter": 1}
    model = InformerClassifier(
        "state", **with_parts(**sizes, max_windows=64, random_state=0, **parameters)
    )
    model.fit(df[:-40])
    if case == "texts":
        # Trees.
        assert model.ensemble_.members["classes"].fit.targets[0].classifier is not None
    after = copy.deepcopy(model).update(df[-40:])
    for history in ("all", "context"):
        model.save(tmp_path / history, history=history)
        loaded = skinformer.load(tmp_path / history)
        assert type(loaded) is InformerClassifier
        np.testing.assert_array_equal(loaded.classes_, model.classes_)
        np.testing.assert_array_equal(loaded.predict(df[-40:]), model.predict(df[-40:]))
        np.testing.assert_array_equal(
            loaded.predict_proba(df[-40:]), model.predict_proba(df[-40:])
        )
        loaded.update(df[-40:])
        plan = pd.DataFrame({"plan": range(6)}, index=loaded.make_future_frame().index)
        pd.testing.assert_frame_equal(loaded.forecast(plan), after.forecast(plan))
        pd.testing.assert_frame_equal(
            loaded.forecast_proba(plan), after.forecast_proba(plan)
        )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:past covariates")
@pytest.mark.parametrize("case", CASES)
def test_a_loaded_model_says_the_same_bit_for_bit(case, frame, tmp_path):
    """With all rows and with the context alone, later rows, updates and ranges included."""
    df, parameters = CASES[case](frame)
    model = InformerRegressor(
        **with_parts(**{"target": "load", **P, **parameters})
    ).fit(df[:380])
    expected = answers(model, df[380:])
    model.save(tmp_path / "all")
    model.save(tmp_path / "context", history="context")
    loaded = skinformer.load(tmp_path / "all")
    assert_same(answers(loaded, df[380:]), expected)
    np.testing.assert_array_equal(loaded.predict(df[:380]), model.predict(df[:380]))
    context = skinformer.load(tmp_path / "context")
    assert_same(answers(context, df[380:]), expected)
    with pytest.raises(ValueError, match='was saved with history="context"'):
        context.predict(df[:380])
    assert repr(loaded) == repr(model)
    pd.testing.assert_frame_equal(loaded.history_, model.history_)


@pytest.mark.slow
@pytest.mark.parametrize("lengths", [{"a": 60, "b": 50}, {"a": 400, "b": 380}])
def test_a_panel_comes_back(lengths, tmp_path):
    """Classical forecasters of short series, vectors of series, names."""
    df = panel({name: n + 20 for name, n in lengths.items()})
    end = df.index.get_level_values(0).map(lengths)
    old = df.index.get_level_values(1) < end
    model = InformerRegressor("load", **with_parts(embeddings=["series"], **P)).fit(
        df[old]
    )
    expected = answers(model, df[~old])
    for history in ("all", "context"):
        model.save(tmp_path / "panel", history=history)
        loaded = skinformer.load(tmp_path / "panel")
        assert loaded.series_.equals(model.series_)
        assert_same(answers(loaded, df[~old]), expected)


@pytest.mark.parametrize(
    "names", [("a", "b"), (True, False), (("a", 1), ("b", 2))], ids=str
)
def test_series_of_any_name_come_back(names, tmp_path):
    """Tuples, too, which pandas takes for places in an index of two levels."""
    df = panel({"first": 60, "second": 50})
    index = pd.Index(names, tupleize_cols=False, name="site")
    series = index.take(pd.factorize(df.index.get_level_values(0))[0])
    df.index = pd.MultiIndex.from_arrays([series, df.index.get_level_values(1)])
    model = InformerRegressor("load", **with_parts(members=["network"], **P)).fit(df)
    model.save(tmp_path / "panel")
    loaded = skinformer.load(tmp_path / "panel")
    pd.testing.assert_frame_equal(loaded.forecast(), model.forecast(), check_exact=True)


@pytest.mark.slow
def test_trees_come_back_as_scikit_learns_own(made, tmp_path):
    """The default of a long table: a file that lost a digit of a threshold would forecast else."""
    df = made(1700, tz="UTC")[["plan", "load"]]
    df["load"] += (df["plan"] == 2) * df["plan"].shift(3).eq(4)
    model = InformerRegressor("load", **with_parts(known_future=["plan"], **P)).fit(
        df[:1680]
    )
    assert "trees" in model.ensemble_.members
    model.save(tmp_path / "all")
    model.save(tmp_path / "context", history="context")
    expected = answers(model, df[1680:])
    for name in ("all", "context"):
        loaded = skinformer.load(tmp_path / name)
        assert_same(answers(loaded, df[1680:]), expected)
    assert len(pickle.dumps(model)) < 1_200_000
    assert (tmp_path / "context").stat().st_size < 800_000


def test_the_context_holds_no_more_rows_than_forecasts_need(model, tmp_path):
    """Who gets the file gets its rows."""
    model.save(tmp_path / "context", history="context")
    loaded = skinformer.load(tmp_path / "context")
    assert len(loaded.timeline_.values) < len(model.timeline_.values)
    # Two days, a block, and windows before it.
    back = 48 + 6 + 24 * loaded.intervals_.distance
    assert len(loaded.timeline_.values) <= back
    assert loaded.calibration_.proved is None


@pytest.mark.parametrize("history", ["all", "context"])
def test_arrays_recognise_their_training_rows(history, tmp_path):
    """A plain array has no clock: its content says that it is in-sample."""
    X = np.sin(np.arange(120.0))[:, None]
    model = InformerRegressor(**with_parts(**P)).fit(X)
    model.save(tmp_path / "model", history=history)
    loaded = skinformer.load(tmp_path / "model")
    if history == "all":
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    else:
        with pytest.raises(
            ValueError, match="X holds 120 rows within the training data"
        ):
            loaded.predict(X)


def test_the_context_refuses_rows_in_words(model, frame, tmp_path):
    """A forecast from what is left of the history would be another one, without a word."""
    model.save(tmp_path / "context", history="context")
    loaded = skinformer.load(tmp_path / "context")
    message = (
        "X holds 10 rows within the training data, the first at 2024-03-20 "
        '00:00:00+01:00: this model was saved with history="context", which leaves '
        "out what such rows would be forecast from. Pass later rows only, or save "
        'the model with history="all".'
    )
    for ask in (loaded.predict, loaded.score, loaded.forecast, loaded.predict_interval):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            ask(frame[["load"]][:10])
    loaded.save(tmp_path / "again", history="context")
    again = skinformer.load(tmp_path / "again")
    assert again.forecast().equals(model.forecast())


def test_parameters_changed_after_the_fit_change_no_forecast(frame, tmp_path):
    """The network is rebuilt from what it was built from."""
    model = InformerRegressor("load", **with_parts(**P)).fit(frame[["load"]])
    model.set_params(network__d_model=64, seq_len=5, members=["network"], loss="mae")
    model.save(tmp_path / "model")
    loaded = skinformer.load(tmp_path / "model")
    assert loaded.forecast().equals(model.forecast())
    assert repr(loaded.get_params()) == repr(model.get_params())


def test_a_checkpoint_stays_where_it_is(frame, tmp_path):
    """A file from elsewhere must not say where the next fit writes."""
    model = InformerRegressor(
        "load", **with_parts(checkpoint=tmp_path / "fit.pt", **P)
    ).fit(frame[["load"]])
    model.save(tmp_path / "model")
    assert skinformer.load(tmp_path / "model").training.checkpoint is None


INSTEAD = (
    "Write it by pickle, joblib or skops, whose files may run code when they are read."
)


def test_a_regressor_that_only_code_can_stand_for_is_refused(frame, tmp_path):
    """In words that name the way."""
    model = InformerRegressor(
        "load",
        **with_parts(
            members=["classical", "ridges", KNeighborsRegressor(), "network"], **P
        ),
    ).fit(frame[["load"]])
    message = (
        "save cannot write params.members[2], a KNeighborsRegressor: files hold numbers, text and "
        f"this package's own types, so that reading them runs no code. {INSTEAD}"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        model.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_transformer_is_refused(frame, tmp_path):
    """It is fitted by code of somebody else's."""
    transform = PowerTransformer()
    model = InformerRegressor(
        "load", **with_parts(target_transform=transform, **P)
    ).fit(frame[["load"]])
    with pytest.raises(
        ValueError, match=r"params\.target_transform, a PowerTransformer"
    ):
        model.save(tmp_path / "model")


def test_a_file_that_mixes_classes_and_numbers_is_refused(model, tmp_path, monkeypatch):
    """Its forecasts would be nobody's."""
    mixed = copy.copy(model)
    mixed.head_ = ClassHead((2,), 0.0, 0.0)
    monkeypatch.setattr(serialisation, "check_content", lambda *_: None)
    mixed.save(tmp_path / "mixed")
    with pytest.raises(ModelFileError, match="is damaged"):
        skinformer.load(tmp_path / "mixed")


class Own(InformerRegressor):
    pass


def test_a_subclass_is_refused(frame, tmp_path):
    """`load` would have to import it."""
    message = (
        "save writes only InformerRegressor and InformerClassifier, not Own: reading the file "
        f"would have to import it. {INSTEAD}"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Own("load", **with_parts(**P)).fit(frame[["load"]]).save(tmp_path / "model")


def test_unknown_rows_are_refused(model, tmp_path):
    """A misspelt word would save all rows."""
    message = (
        'history=\'contex\' must be "all" or "context": a file holds all rows, '
        "or only those that later forecasts need."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        model.save(tmp_path / "model", history="contex")


@pytest.mark.parametrize(
    "label",
    [
        pd.Timestamp("2024-03-31 01:30", tz="Europe/Paris"),
        pd.Timestamp("2024-03-31 01:30:00.123456789", tz="UTC").as_unit("ns"),
        pd.Timestamp("2024-01-01T00:00:00+05:30"),
        pd.Timedelta("3h"),
        pd.Period("2024Q3"),
        pd.offsets.MonthEnd(2),
        pd.offsets.Week(weekday=3),
        pd.Index(["ä", "中", ""], name=("a", 1)),
        pd.Index(["a", 1, None, pd.Timestamp(0)], dtype=object),
        pd.Index([3, 1], dtype="int16"),
        pd.Index([0.5, np.nan]),
        pd.Index([True, False]),
        pd.CategoricalIndex(["b", "a", "b"], categories=["b", "a"], ordered=True),
        pd.date_range("2024-10-26", periods=4, tz="Europe/Paris")._with_freq(None),
        pd.period_range("2024", periods=3, freq="W-THU"),
        pd.Index(np.array([1, 5], "m8[s]")),
        np.float32(0.1),
        float("nan"),
        -0.0,
    ],
    ids=repr,
)
def test_labels_come_back(label):
    """Time zones, units, names and types: an index that differs is another clock."""
    codec = Codec(LABEL_KINDS)
    again = codec.decode(*codec.encode(label))
    if isinstance(label, pd.Index):
        pd.testing.assert_index_equal(again, label, exact=True)
    else:
        assert repr(again) == repr(label)


STEPS = [
    pd.DateOffset(months=1),
    pd.DateOffset(months=2, days=3, hour=5),
    pd.DateOffset(n=2, weekday=3),
    pd.offsets.CustomBusinessDay(weekmask="Mon Tue Wed Thu Fri Sat"),
    pd.offsets.CustomBusinessDay(2, holidays=["2024-05-01", "2024-12-25"]),
    pd.offsets.CustomBusinessDay(offset=pd.Timedelta("2h").to_pytimedelta()),
    pd.offsets.CustomBusinessHour(start="08:30", end="17:00", weekmask="Sun Mon Tue"),
    pd.offsets.BusinessHour(start=["08:00", "13:00"], end=["12:00", "17:00"]),
    pd.offsets.CustomBusinessMonthEnd(holidays=["2024-05-31"]),
    pd.offsets.FY5253(startingMonth=1, weekday=4, variation="last"),
    pd.offsets.FY5253Quarter(startingMonth=2, weekday=5, qtr_with_extra_week=2),
    pd.offsets.Easter(),
    pd.offsets.LastWeekOfMonth(weekday=2),
    pd.offsets.WeekOfMonth(week=2, weekday=1),
    pd.offsets.SemiMonthEnd(day_of_month=10),
    pd.offsets.BQuarterEnd(startingMonth=2),
    pd.offsets.MonthEnd(normalize=True),
]


@pytest.mark.parametrize("step", STEPS, ids=repr)
def test_steps_come_back(step):
    """A clock of other workdays would be another clock."""
    codec = Codec(LABEL_KINDS)
    again = codec.decode(*codec.encode(step))
    assert again == step
    assert type(again) is type(step)
    begin = pd.Timestamp("2024-04-12 09:00")
    expected = pd.date_range(begin, periods=60, freq=step)
    pd.testing.assert_index_equal(
        pd.date_range(begin, periods=60, freq=again), expected
    )


@pytest.mark.parametrize("step", STEPS[:1] + STEPS[3:5] + STEPS[6:8], ids=repr)
def test_a_model_of_any_step_is_saved(step, tmp_path):
    """Those that the library finds, too: rows on each 15th."""
    days = pd.date_range("2010-01-15 09:00", periods=60, freq=step)
    df = pd.DataFrame({"load": np.sin(np.arange(60.0))}, index=days)
    df = df if step == STEPS[0] else df.asfreq(step)
    model = InformerRegressor("load", seq_len=8, pred_len=2, members=["ridges"]).fit(df)
    model.save(tmp_path / "model")
    pd.testing.assert_frame_equal(
        skinformer.load(tmp_path / "model").forecast(), model.forecast()
    )


def test_a_calendar_of_numpy_is_refused():
    """Its days are not those that the step's own weekmask names."""
    step = pd.offsets.CustomBusinessDay(
        calendar=np.busdaycalendar("1111110", ["2024-05-01"])
    )
    with pytest.raises(ValueError, match=" is a CustomBusinessDay"):
        Codec(LABEL_KINDS).encode(step)


@pytest.mark.parametrize(
    "forged",
    [
        {"name": "DataFrame", "n": 1, "normalize": False, "given": {}},
        {"name": "__class__", "n": 1, "normalize": False, "given": {}},
        ["D"],
        "h" * 101,
    ],
    ids=str,
)
def test_only_steps_of_pandas_are_built(forged):
    """A name in a file leads to a closed list."""
    codec = Codec(LABEL_KINDS)
    tree, arrays = codec.encode(forged)
    with pytest.raises(ModelFileError, match="a step that is none"):
        codec.decode({"is": "Step", "of": tree}, arrays)


def test_a_save_that_fails_leaves_the_old_file(model, tmp_path, monkeypatch):
    """And no stray one."""
    path = tmp_path / "model"
    model.save(path)
    before = path.read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        model.save(path, history="context")
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_save_that_is_killed_leaves_the_old_file(tmp_path):
    """Not even Python's last words run."""
    path = tmp_path / "model"
    path.write_bytes(b"old")
    code = (
        "import os, sys\n"
        "from skinformer.persistence.atomic import replacing\n"
        "with replacing(sys.argv[1]) as file:\n"
        "    file.write(b'new' * 9999)\n"
        "    file.flush()\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, path], check=False)
    assert done.returncode == -9
    assert path.read_bytes() == b"old"
    with replacing(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"new"


def test_a_file_of_this_version_loads(frame):
    """Written once, and read as long as the format has its number."""
    loaded = skinformer.load(GOLDEN)
    forecast = loaded.forecast()
    assert forecast.index[0] == pd.Timestamp("2024-04-04 21:00", tz="Europe/Paris")
    noted = [
        float(line) for line in GOLDEN.with_suffix(".txt").read_text("utf-8").split()
    ]
    # One is near 0.
    np.testing.assert_allclose(forecast["load"], noted, rtol=1e-5, atol=1e-6)
    loaded.update(frame[["load"]][380:390])


HEAVY = [
    "sympy",
    "torch._dynamo",
    "torch._inductor",
    "torch.onnx",
    "matplotlib",
    "rich.progress",
]


@pytest.mark.slow
def test_a_new_process_loads_what_a_forecast_needs(model, tmp_path):
    """A server that starts for one forecast waits for imports more than for anything else."""
    model.save(tmp_path / "model")
    code = (
        "import sys, torch, pandas, skinformer.compatibility.callbacks\n"
        "before = set(sys.modules)\n"
        "model = skinformer.load(sys.argv[1])\n"
        "assert '_intervals_' in vars(model)\n"
        "model.forecast(coverage=0.8)\n"
        "print(*set(sys.modules) - before)\n"
    )
    run = [sys.executable, "-c", code, tmp_path / "model"]
    imported = subprocess.run(
        run, check=True, capture_output=True, text=True
    ).stdout.split()
    assert not set(HEAVY) & set(imported)
    rooms = {name.split(".")[0] for name in imported}
    small = {"_loss", "fractions", "pytz", "tzdata"}  # of scikit-learn and pandas
    assert rooms <= {"skinformer", "sklearn", "torch", "pyarrow"} | small


def test_records_have_all_their_fields():
    """Also those that have a default: a file is of this version, or it is damaged."""

    class Record(NamedTuple):
        old: int
        new: int = 7

    codec = Codec(record_kinds(Record))
    tree, arrays = codec.encode(Record(1, 2))
    assert codec.decode(tree, arrays) == (1, 2)
    for fields in [tree["of"]["of"][:1], tree["of"]["of"][1:], tree["of"]["of"][::-1]]:
        with pytest.raises(ModelFileError, match="other fields"):
            codec.decode({**tree, "of": {**tree["of"], "of": fields}}, arrays)


# Pickles


@pytest.mark.parametrize("way", [pickle.dumps, copy.deepcopy, joblib.dump])
def test_pickles_say_the_same(way, model, frame, tmp_path):
    """They hold plain values and arrays, as files do, and what is listed nowhere as it is."""
    if way is copy.deepcopy:
        again = copy.deepcopy(model)
    elif way is joblib.dump:
        joblib.dump(model, tmp_path / "model")
        again = joblib.load(tmp_path / "model")
    else:
        again = pickle.loads(pickle.dumps(model))
    later = frame[["load"]][380:]
    assert_same(answers(again, later), answers(model, later))
    assert vars(again).keys() == vars(model).keys()


def test_a_model_may_lie_in_a_mapped_file(model, frame, tmp_path):
    """So joblib gives models to processes; torch warned of arrays that cannot be written."""
    joblib.dump(model, tmp_path / "model")
    torch.set_warn_always(True)  # else it warns once in a process
    try:
        again = joblib.load(tmp_path / "model", mmap_mode="r")
        assert not again.timeline_.values.flags.writeable
        again.save(tmp_path / "saved")
        for each in (again, skinformer.load(tmp_path / "saved")):
            pd.testing.assert_frame_equal(
                each.forecast(), model.forecast(), check_exact=True
            )
    finally:
        torch.set_warn_always(False)


PLAIN = {
    "model": lambda df: InformerRegressor("load", **with_parts(**P)).fit(df),
    "windows": lambda df: SlidingWindow(3).fit(df),
    "naive": lambda df: SeasonalNaive(season=24).fit(df),
    "calendar": lambda df: CalendarFeatures().fit(df),
    "mask": lambda df: MaskFuture("load", pred_len=3).fit(df),
}


@pytest.mark.parametrize("name", PLAIN)
def test_a_pickle_holds_no_object_of_torch_or_pandas(name, frame):
    """So that skops, and who else reads plain types alone, can hold it."""
    seen = set()

    class Spy(pickle.Unpickler):
        def find_class(self, module, name):
            seen.add(module.split(".")[0])
            return super().find_class(module, name)

    fitted = PLAIN[name](frame[["load"]])
    again = Spy(io.BytesIO(pickle.dumps(fitted))).load()
    assert seen <= {"skinformer", "numpy", "builtins", "collections"}
    assert vars(again).keys() == vars(fitted).keys()
    ask = "predict" if hasattr(fitted, "predict") else "transform"
    one, two = (
        np.asarray(getattr(each, ask)(frame[["load"]])) for each in (fitted, again)
    )
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("version", ["0.0.1", None])
def test_a_pickle_of_another_version_warns(version, model):
    """What its state means may have changed."""
    state = model.__getstate__()
    state.pop("_skinformer_version")
    if version:
        state["_skinformer_version"] = version
    with pytest.warns(VersionWarning, match=r"was pickled by skinformer 0\..*read by"):
        InformerRegressor.__new__(InformerRegressor).__setstate__(state)


@pytest.mark.parametrize("temperature", [0.0, -1e30])
def test_odd_numbers_are_saved(temperature, model, tmp_path):
    """What a fit found is not judged: a rule of what may be would refuse honest fits."""
    odd = copy.copy(model)
    odd.ensemble_ = replace(model.ensemble_, temperature=temperature)
    with np.errstate(divide="ignore", invalid="ignore"):
        odd.save(tmp_path / "model")
        assert skinformer.load(tmp_path / "model").ensemble_.temperature == temperature


def test_a_model_of_numbers_of_numpy_is_saved(frame, tmp_path):
    """As a search over np.arange sets them."""
    sizes = {"seq_len": 24, "pred_len": 6, "random_state": 0, "n_jobs": 1}
    training = Training(
        max_iter=np.int64(1),
        max_windows=np.int32(40),
        learning_rate=np.float32(1e-3),
        warm_start=np.False_,
    )
    fitted = InformerRegressor(
        "load",
        **{name: np.int64(value) for name, value in sizes.items()},
        members=["network"],
        network=Network(d_model=np.int64(8), n_heads=np.int64(2), distil=np.True_),
        training=training,
    ).fit(frame)
    fitted.save(tmp_path / "model")
    loaded = skinformer.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.forecast(), fitted.forecast())
    assert type(loaded.training.max_windows) is int


def test_a_model_that_would_not_load_is_not_saved(model, tmp_path):
    """It would be a model lost, while there is a pickle to write."""
    odd = copy.copy(model)
    odd.ensemble_ = replace(model.ensemble_, temperature=np.nan)
    with pytest.raises(
        ValueError, match=r"its Ensemble\.temperature is not finite, which load"
    ):
        odd.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_years_of_hours_are_saved(tmp_path):
    """Days of the year beside hours of the week: a table of two years and more."""
    df = load_auckland_pedestrians()[["45 Queen Street"]]
    sizes = {"seq_len": 168, "pred_len": 24, "random_state": 0}
    model = InformerRegressor(
        "45 Queen Street", **with_parts(members=["ridges"], **sizes)
    ).fit(df)
    model.save(tmp_path / "model", history="context")
    assert skinformer.load(tmp_path / "model").forecast().equals(model.forecast())


@pytest.mark.slow
def test_each_bundled_table_is_saved(tmp_path):
    """All streets together, with everything that a file holds."""
    df = load_auckland_pedestrians()[-700:]
    sizes = {"seq_len": 168, "pred_len": 24, "random_state": 0}
    model = InformerRegressor(
        [*df.columns], **with_parts(members=["ridges"], **sizes)
    ).fit(df)
    for history in ("all", "context"):
        model.save(tmp_path / history, history=history)
        assert skinformer.load(tmp_path / history).forecast().equals(model.forecast())


def test_aliases_made_by_type_are_what_they_stand_for():
    """NumPy's ``NDArray`` is one from 2.5 on, with which no model could be saved."""
    item = TypeVar("item")
    numbers = GenericAlias(SimpleNamespace(__value__=list[item]), (float,))
    check = FieldCheck((), n_numbers=10)
    check.check([1.0, 2.0], numbers, "levels")
    check.check(None, SimpleNamespace(__value__=float | None), "level")
    for wrong, alias in (
        ("x", SimpleNamespace(__value__=float | None)),
        (["x"], numbers),
    ):
        with pytest.raises(ModelFileError, match="is something else"):
            check.check(wrong, alias, "level")


def told_at(path, kind):
    """Return what is said against writing a file there."""
    with pytest.raises(kind) as caught, replacing(path):
        pytest.fail("the file is open")
    assert ".tmp" not in str(caught.value)
    return str(caught.value)


def test_a_file_in_the_place_of_a_folder_is_named(tmp_path):
    """To make the folder, as of a missing one, would fail."""
    file = tmp_path / "file"
    file.write_bytes(b"")
    said = told_at(file / "model.skinformer", NotADirectoryError)
    assert said.startswith(f"{str(file)!r} is a file, not a folder")


def test_a_path_where_no_file_can_be_is_named(tmp_path):
    """The hidden file that is written first is nobody's affair."""
    folder = tmp_path / "missing"
    path = folder / "model.skinformer"
    sentence = (
        f"there is no folder {str(folder)!r} to write {str(path)!r} to: make it, "
        f"os.makedirs({str(folder)!r}), or choose another path."
    )
    assert told_at(path, FileNotFoundError) == sentence
    assert told_at(tmp_path, IsADirectoryError) == (
        f"{str(tmp_path)!r} is a folder, where no file can be written: name a file in it."
    )


def test_a_path_where_the_system_writes_nothing_is_named(tmp_path):
    path = tmp_path / ("n" * 250)  # the hidden file's name is too long
    assert str(path) in told_at(path, OSError)
