"""Attention maps as pictures: weights at their times, and queries that look at nothing as such."""

import re
import sys

import numpy as np
import pandas as pd
import pytest
from flat_parameters import with_parts
from matplotlib.dates import date2num
from matplotlib.patches import Rectangle

from skinformer import Attention, InformerRegressor
from skinformer.display import AttentionDisplay
from skinformer.evaluation import AttentionMap, attention_maps

SIZES = {
    "seq_len": 24,
    "pred_len": 6,
    "patch_len": 2,
    "d_model": 8,
    "n_heads": 2,
    "max_iter": 1,
}


@pytest.fixture(scope="module")
def maps(hours):
    attention = Attention(encoder="probsparse", factor=1)
    model = InformerRegressor(
        **with_parts(members=["network"], random_state=0, attention=attention, **SIZES)
    )
    return attention_maps(model.fit(hours[:300]), hours[300:312])


def find(maps, where, layer=1):
    return next(each for each in maps if (each.where, each.layer) == (where, layer))


def test_each_head_is_drawn_with_its_weights_at_their_times(maps):
    """Queries down, keys across; one scale of colours."""
    display = AttentionDisplay.from_maps(maps)
    each = find(maps, "encoder")
    assert len(display.axes_) == 2
    limits = {ax.collections[0].get_clim() for ax in display.axes_}
    assert len(limits) == 1
    borders = date2num(pd.date_range("2024-01-12 12:00", periods=13, freq="2h"))
    for head, ax in enumerate(display.axes_):
        mesh = ax.collections[0]
        np.testing.assert_array_equal(mesh.get_array(), each.weights[head])
        np.testing.assert_allclose(mesh.get_coordinates()[0, :, 0], borders)
        np.testing.assert_allclose(mesh.get_coordinates()[:, 0, 1], borders)
        assert ax.get_ylim()[0] > ax.get_ylim()[1]
        assert ax.get_title() == f"head {head + 1}: 2 of 12 selected"
    assert display.ax_ is display.axes_[0]
    assert display.figure_.get_suptitle() == (
        "encoder, layer 1, forecasts from 2024-01-13 12:00\n"
        "hatched: not selected, takes the mean of what it may see"
    )
    first, second = display.axes_
    assert first.get_xlabel() == second.get_xlabel() == "keys, time"
    assert [first.get_ylabel(), second.get_ylabel()] == ["queries, time", ""]
    assert display.figure_.axes[-1].get_ylabel() == "attention weight (0.083 if even)"


def test_queries_that_are_not_selected_are_hatched(maps):
    """Even weights would look like a finding."""
    display = AttentionDisplay.from_maps(maps)
    ax = display.axes_[1]
    each = find(maps, "encoder")
    hatched = [
        patch
        for patch in ax.patches
        if isinstance(patch, Rectangle) and patch.get_hatch()
    ]
    left_out = np.flatnonzero(~each.selected[1])
    assert len(hatched) == len(left_out) == 10
    tops = date2num(each.query_times["first"].iloc[left_out])
    np.testing.assert_allclose([patch.get_y() for patch in hatched], tops)
    assert all(patch.get_x() == ax.get_xlim()[0] for patch in hatched)
    dense = AttentionDisplay.from_maps(maps, where="cross")
    assert not dense.ax_.patches
    assert dense.ax_.get_title() == "head 1"


def test_keys_that_may_not_be_seen_are_left_out(maps, pyplot):
    """Their weight of zero is no choice, in any style."""
    for style in ("default", "dark_background"):
        with pyplot.style.context(style):
            display = AttentionDisplay.from_maps(
                maps, where="decoder", origin=maps[-1].origin
            )
        ax, each = display.ax_, find(maps, "decoder")
        mesh = ax.collections[0]
        np.testing.assert_array_equal(mesh.get_array().mask, ~each.visible)
        ground, hidden = np.array(ax.get_facecolor()[:3]), mesh.cmap.get_bad()[:3]
        assert 0.4 < np.abs(ground - hidden).max() < 0.6
        np.testing.assert_allclose(mesh.cmap(0.0)[:3], ground, atol=0.01)
        assert display.figure_.get_suptitle().endswith("\ngrey: later, may not be seen")
        assert display.attention is [m for m in maps if m.where == "decoder"][-1]


def test_a_fit_is_drawn_in_one_line_on_axes_that_are_given(hours, pyplot):
    """A list of axes, one for each head."""
    index = hours.index.tz_localize("Pacific/Auckland")
    model = InformerRegressor(
        **with_parts(members=["network"], random_state=0, **SIZES)
    ).fit(hours[:300].set_axis(index[:300]))
    figure, axes = pyplot.subplots(1, 2)
    display = AttentionDisplay.from_estimator(model, where="cross", ax=axes)
    assert list(display.axes_) == list(axes)
    assert display.figure_ is figure
    assert figure.get_suptitle() == ""
    assert axes[1].get_xlabel() == "keys, time (Pacific/Auckland)"
    assert axes[1].get_ylabel() == "queries, time (Pacific/Auckland)"


@pytest.mark.slow
@pytest.mark.parametrize("n_heads", [1, 8])
def test_one_head_and_eight(n_heads, hours):
    """Eight take two rows."""
    sizes = SIZES | {"n_heads": n_heads}
    model = InformerRegressor(
        **with_parts(members=["network"], random_state=0, **sizes)
    ).fit(hours.to_numpy())
    display = AttentionDisplay.from_estimator(model)
    assert len(display.axes_) == n_heads
    rows = {round(ax.get_position().y0, 3) for ax in display.axes_}
    assert len(rows) == -(-n_heads // 4)
    assert "forecasts from 400" in display.figure_.get_suptitle()
    display.figure_.canvas.draw()


def test_what_cannot_be_drawn_is_refused(maps):
    """In words that say what there is."""
    text = "(where, layer)=('encoder', 3) must be one of [('cross', 1), ('decoder', 1), ('enc"
    with pytest.raises(ValueError, match=re.escape(text)):
        AttentionDisplay.from_maps(maps, layer=3)
    text = "origin=7 must be one of [Timestamp('2024-01-13 12:00:00'), "
    with pytest.raises(ValueError, match=re.escape(text)):
        AttentionDisplay.from_maps(maps, origin=7)
    display = AttentionDisplay.from_maps(maps)
    with pytest.raises(
        ValueError, match=r"^ax holds 1 axes, and 2 are needed: pass one for each plot"
    ):
        display.plot(ax=display.ax_)
    with pytest.raises(ValueError, match="maps must be the result of attention_maps"):
        AttentionDisplay.from_maps([])
    parts = [getattr(maps[0], name) for name in AttentionMap.__dataclass_fields__]
    named = [AttentionMap(*parts[:3], name, *parts[4:]) for name in "ab"]
    text = (
        "maps are of several series, but a plot shows one. Pass [m for m in maps "
        "if m.series == 'a']."
    )
    with pytest.raises(ValueError, match=re.escape(text)):
        AttentionDisplay.from_maps(named)


def test_without_matplotlib_it_says_what_to_install(maps, monkeypatch):
    """It is an extra."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'skinformer\[plot\]'"):
        AttentionDisplay.from_maps(maps)
