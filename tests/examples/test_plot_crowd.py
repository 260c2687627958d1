"""The crowd example, on few rows and one epoch."""

from pathlib import Path

import pytest
from matplotlib import pyplot

from skinformer import datasets
from skinformer.datasets import load_auckland_pedestrians

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.slow
def test_prints_one_table_and_says_where_the_picture_is(tmp_path, capsys, monkeypatch):
    """Everything but the length of the training is as in the documentation."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    counts = load_auckland_pedestrians()[-1800:]
    monkeypatch.setattr(datasets, "load_auckland_pedestrians", lambda: counts)
    monkeypatch.setattr(
        "sys.argv", ["plot_crowd.py", "--output", str(tmp_path), "--epochs", "1"]
    )
    code = (EXAMPLES / "plot_crowd.py").read_text(encoding="utf-8")
    assert code.count("26 * WEEK") == 1
    exec(compile(code.replace("26 * WEEK", "2 * WEEK"), "plot_crowd.py", "exec"), {})
    pyplot.close("all")
    printed = capsys.readouterr().out
    assert "1464 hours to train on, 336 to test on: 45 Queen Street" in printed
    for name in (
        "InformerClassifier",
        "last level",
        "hour and weekday",
        "boosting on 168 lags",
    ):
        assert name in printed
    assert (tmp_path / "crowd.png").read_bytes().startswith(b"\x89PNG")
