"""Panels that are cut from tables."""

import pandas as pd
import pytest
from cuts import CUTS, cut_pieces
from measure import main
from panels import load_panel

NAME = "cut_hourly_counts"


def test_pieces_are_the_same_in_every_run_and_as_long_as_they_should_be(tmp_path):
    one, other = (cut_pieces(NAME, tmp_path) for _ in range(2))
    assert len(one) == CUTS[NAME].n_series
    for name, piece in one.items():
        pd.testing.assert_series_equal(piece, other[name])
        assert CUTS[NAME].rows[0] <= len(piece) <= CUTS[NAME].rows[1]
        assert piece.notna().all()


def test_no_piece_holds_rows_of_the_time_that_another_is_tested_on(tmp_path):
    for development in (False, True):
        panel = load_panel(NAME, tmp_path, development=development)
        spans = [(times[0], times[-1]) for times in panel.times]
        ahead = pd.Timedelta(hours=panel.horizon)
        for first, last in spans:
            tested = last, last + ahead
            assert not any(
                a < tested[1] and b > tested[0] for a, b in spans if b != last
            ), first


@pytest.mark.slow
def test_a_cut_is_a_panel_by_its_name(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(CUTS, NAME, CUTS[NAME]._replace(n_series=6, rows=(300, 400)))
    main(["--panel", NAME, "--panels-folder", str(tmp_path), "--method", "classical"])
    assert "6 series" in capsys.readouterr().out
