"""The benchmark of panels measures as competitions do."""

import json

import numpy as np
import pandas as pd
import pytest
from measure import main
from panel_methods import (
    forecast_classical,
    forecast_naive2,
    forecast_seasonal_naive,
    make_forecaster,
)
from panel_ranges import (
    LEVELS,
    measure_panel_ranges,
    published_losses,
    repeat_last_season,
)
from panels import load_panel, measure_panel, panel_frame, published_errors


@pytest.fixture
def folder(tmp_path):
    """Two quarterly series, 16 and 14 rows; horizons 4 and 2; the second lacks a value."""
    rows = np.arange(16.0)
    long = 10 + rows + np.tile([4.0, -1, -2, -1], 4)
    short = 100.0 + rows[:14]
    short[3] = np.nan
    frame = pd.DataFrame(
        {
            "series": ["A"] * 16 + ["B"] * 14,
            "t": [*range(16), *range(14)],
            "y": [*long, *short],
        }
    )
    frame.to_csv(tmp_path / "tiny.csv.gz", index=False)
    meta = pd.DataFrame(
        {"series": ["A", "B"], "n_train": [12, 12], "horizon": [4, 2], "m": 4}
    )
    meta.to_csv(tmp_path / "tiny.meta.csv.gz", index=False)
    (tmp_path / "monash_mean_mase.csv").write_text(
        "panel,SES,ETS\ntiny,1.5,-\nother,2,2\n"
    )
    (tmp_path / "chronos_zero_shot.csv").write_text(
        "panel,chronos-bolt_MASE,x_WQL\ntiny,0.9,0.25\n"
    )
    return tmp_path


def test_the_last_rows_of_each_series_are_its_truth(folder):
    panel = load_panel("tiny", folder)
    assert [len(rows) for rows in panel.train] == [12, 12]
    np.testing.assert_array_equal(panel.truth[1], [112, 113, np.nan, np.nan])


def test_development_never_holds_a_test_row(folder):
    panel = load_panel("tiny", folder, development=True)
    assert [len(rows) for rows in panel.train] == [8, 10]
    np.testing.assert_array_equal(panel.truth[1], [110, 111, np.nan, np.nan])


def test_frames_have_the_dates_that_the_frequency_calls_for_and_end_together(folder):
    frame = panel_frame(load_panel("tiny", folder))
    times = frame.index.get_level_values("time")
    assert set(times.month) == {1, 4, 7, 10}
    ends = pd.Series(times, index=frame.index).groupby(level=0).max()
    assert len(set(ends)) == 1


def test_errors_are_those_computed_by_hand(folder):
    panel = load_panel("tiny", folder)
    table = measure_panel(
        panel, {"one": forecast_seasonal_naive}, naive2=lambda panel: np.ones((2, 4))
    )
    # A grows by 4 a year, in training as after it. B: 112 and 113 against 108 and 109; its
    # changes over four rows, but for those of the missing one, are 4.
    assert table.loc["one", "MASE"] == pytest.approx(1)
    a_truth = panel.truth[0]
    smape_a = np.mean(200 * 4 / (2 * a_truth - 4))
    smape_b = np.mean([200 * 4 / (112 + 108), 200 * 4 / (113 + 109)])
    assert table.loc["one", "sMAPE"] == pytest.approx((smape_a + smape_b) / 2)
    ones = [np.abs(panel.truth[0] - 1).mean() / 4, (111 + 112) / 2 / 4]
    percent = [np.mean(200 * (t - 1) / (t + 1)) for t in (a_truth, panel.truth[1, :2])]
    owa = (1 / np.mean(ones) + (smape_a + smape_b) / 2 / np.mean(percent)) / 2
    assert table.loc["one", "OWA"] == pytest.approx(owa)


def test_naive2_continues_seasons_that_multiply_and_no_others(folder):
    panel = load_panel("tiny", folder)
    factors = np.array([1.4, 0.6, 0.8, 1.2])
    seasonal = np.tile(factors, 6) * 50
    noise = np.random.default_rng(0).random(24) + 5
    both = [seasonal, noise]
    panel = type(panel)("x", panel.series, both, panel.truth, 4, panel.times)
    got = forecast_naive2(panel)
    np.testing.assert_allclose(got[0], factors * 50)
    np.testing.assert_allclose(got[1], noise[-1])


def test_gaps_are_filled_by_the_season_before(folder):
    panel = load_panel("tiny", folder)
    assert np.isnan(panel.train[1]).sum() == 1
    assert panel.filled[1][3] == panel.filled[1][2]


def test_published_errors_are_found(folder):
    table = published_errors("tiny", folder)
    assert table["MASE"].to_dict() == {"SES": 1.5, "chronos-bolt": 0.9}
    assert published_errors("unknown", folder).empty


@pytest.mark.filterwarnings("ignore:parameters of the network:UserWarning")
def test_the_estimator_forecasts_every_series_in_order(folder):
    """Forecasts come sorted by the panel's own order, not by name."""
    forecast = make_forecaster(
        {
            "seq_len": 4,
            "network__d_model": 8,
            "network__n_heads": 1,
            "training__max_iter": 1,
            "random_state": 0,
        }
    )
    panel = load_panel("tiny", folder)
    swapped = type(panel)(
        "x", ["B", "A"], panel.train[::-1], panel.truth[::-1], 4, panel.times[::-1]
    )
    got = forecast(swapped)
    assert got.shape == (2, 4)
    assert got[0].min() > 60 > got[1].max()


def test_the_command_measures_and_keeps_results(folder, capsys):
    output = folder / "out.json"
    main(["--panel", "tiny", "--panels-folder", str(folder), "--method", "classical"])
    shown = capsys.readouterr().out
    assert "chronos-bolt" in shown
    assert "geometric mean" in shown
    command = [
        "--panel",
        "tiny",
        "--panels-folder",
        str(folder),
        "--method",
        "classical",
    ]
    main([*command, "--development", "--output", str(output)])
    assert "chronos-bolt" not in capsys.readouterr().out
    kept = json.loads(output.read_text())
    assert kept["development"]
    assert kept["panels"]["tiny"]["classical"]["MASE"] > 0


def test_a_missing_panel_is_named(folder, capsys):
    with pytest.raises(SystemExit):
        main(["--panel", "nowhere", "--panels-folder", str(folder)])
    assert "--panel nowhere: No such file or directory" in capsys.readouterr().err


def test_the_classical_blend_alone_is_measured_like_any_function(folder):
    panel = load_panel("tiny", folder)
    assert forecast_classical(panel).shape == (2, 4)


def test_all_series_may_be_forecast_as_far_as_the_farthest(folder):
    """Published losses of CIF are of twelve months for all."""
    panel = load_panel("tiny", folder, one_horizon=True)
    assert [len(rows) for rows in panel.train] == [12, 10]
    np.testing.assert_array_equal(panel.truth[1], [110, 111, 112, 113])


def test_losses_are_those_computed_by_hand(folder):
    """Over the sum of all truths, not a mean over series."""
    panel = load_panel("tiny", folder)
    table = measure_panel_ranges(panel, {"one": repeat_last_season})
    # All levels at once: A is 4 too low at four rows, B at two, and their mean is a half.
    total = np.nansum(panel.truth)
    assert table.loc["one", "WQL"] == pytest.approx(6 * 4 / total)
    assert np.mean(LEVELS) == 0.5
    wide = measure_panel_ranges(
        panel,
        {"wide": lambda panel, levels: np.array(levels) * 400 + np.zeros((2, 4, 1))},
    )
    a, b = panel.truth[0], panel.truth[1, :2]
    inside = [(part >= 40) & (part <= 360) for part in (a, b)]
    assert wide.loc["wide", "80%"] == pytest.approx(np.concatenate(inside).mean())
    assert wide.loc["wide", "80% least"] == min(np.mean([inside[0][i]]) for i in (2, 3))


@pytest.mark.filterwarnings("ignore:parameters of the network:UserWarning")
def test_the_command_measures_quantiles(folder, capsys):
    command = ["--panel", "tiny", "--panels-folder", str(folder), "--levels"]
    output = folder / "out.json"
    main([*command, "--parameters", '{"seq_len": 4}', "--output", str(output)])
    shown = capsys.readouterr().out
    assert "WQL" in shown
    assert published_losses("tiny", folder)["WQL"].to_dict() == {"x": 0.25}
    kept = json.loads(output.read_text())
    assert kept["levels"]
    assert 0 < kept["panels"]["tiny"]["default"]["WQL"] < 0.1
