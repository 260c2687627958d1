"""Cut the links from public parameters to the network and its trainer, one at a time.

Each mutant is one change of text in a scratch copy of the sources. A mutant that the tests there
let pass is a link that nothing holds. Run by hand, all of them or those whose name holds a word::

    OMP_NUM_THREADS=1 python tests/mutants.py [WORD ...]

A text that is no longer in its file is an error: write the mutant anew beside the link.
"""

import argparse
import ast
import contextlib
import importlib
import io
import multiprocessing
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
TESTS = ["tests/estimators/test_links.py", "tests/test_recipes.py"]
#: Imported once for all mutants.
HEAVY = ["torch", "pandas", "sklearn.callback", "sklearn.metrics", "scipy.stats"]

BUILDING = "skinformer/ensemble/building.py"
SETTINGS = "skinformer/estimators/settings.py"
PARAMETERS = "skinformer/estimators/parameters.py"
PARTS = "skinformer/estimators/parts.py"
HEAD = "skinformer/ensemble/head.py"
FITTING = "skinformer/ensemble/fitting.py"
MEMBERS = "skinformer/ensemble/members.py"
ENSEMBLE = "skinformer/ensemble/ensemble.py"
HYBRID = "skinformer/ensemble/ridges.py"
BASE = "skinformer/estimators/base.py"
TARGET_SCALE = "skinformer/estimators/target_scale.py"
CALLBACKS = "skinformer/estimators/callbacks.py"
PROGRESS = "skinformer/estimators/progress.py"
REGRESSOR = "skinformer/estimators/regressor.py"
RECIPES = "skinformer/recipes.py"
CYCLE = "skinformer/timeline/cycle.py"
CALENDAR = "skinformer/ridge/calendar.py"
RIDGE_FIT = "skinformer/ridge/fit.py"
PREDICTING = "skinformer/ensemble/predicting.py"
LINEAR_PATH = "skinformer/ridge/linear_path.py"
JUMPS = "skinformer/cleaning/jumps.py"
LATER = "skinformer/cleaning/later.py"
RANGES = "skinformer/cleaning/ranges.py"
UNITS = "skinformer/cleaning/units.py"

#: A process of a pool may have none of its own.
WITH_PROCESSES = (
    "tests/test_threads.py::test_six_fits_of_a_search_give_equal_numbers_in_processes_and_threads"
)


class Mutant(NamedTuple):
    """The first `old` behind `after` becomes `new`."""

    name: str
    path: str
    old: str
    new: str
    after: str = ""
    tests: tuple[str, ...] = tuple(TESTS)

    def apply(self, text):
        """Give the changed source; raise where there is nothing to change."""
        start = text.find(self.after)
        place = text.find(self.old, start + len(self.after)) if start >= 0 else -1
        if place < 0:
            raise LookupError(
                f"mutant {self.name!r}: {self.path} holds no {self.old!r}"
                + (f" behind {self.after!r}" if self.after else "")
            )
        return text[:place] + self.new + text[place + len(self.old) :]


#: Links cut, swapped or bent by hand.
LINKS = [
    Mutant("gate off", SETTINGS, "output_gate=block.output_gate", "output_gate=False"),
    Mutant("distilling on", SETTINGS, "distil=estimator.distil", "distil=True"),
    Mutant("factor 5", SETTINGS, "factor=float(attention.factor)", "factor=5.0"),
    Mutant("no clipping", SETTINGS, "max_grad_norm=_MAX_GRADIENT_NORM", "max_grad_norm=None"),
    Mutant("clipping at 2", SETTINGS, "_MAX_GRADIENT_NORM = 1.0", "_MAX_GRADIENT_NORM = 2.0"),
    Mutant("no warm-up", SETTINGS, "warmup_fraction=_WARMUP", "warmup_fraction=0.0"),
    Mutant("longer warm-up", SETTINGS, "_WARMUP = 0.05", "_WARMUP = 0.1"),
    Mutant(
        "mae to mse", HEAD, "loss = self.loss", "loss = {'mae': 'mse'}.get(self.loss, self.loss)"
    ),
    Mutant(
        "huber to mae",
        HEAD,
        "loss = self.loss",
        "loss = {'huber': 'mae'}.get(self.loss, self.loss)",
    ),
    Mutant("the other quantile", HEAD, "level_error(level=loss)", "level_error(level=1 - loss)"),
    Mutant("trust of a quantile", HEAD, "return isinstance(self.loss, str)", "return True"),
    Mutant("no trust", HEAD, "return isinstance(self.loss, str)", "return False"),
    Mutant("another loss", SETTINGS, "loss=head.error", 'loss="mse"'),
    Mutant(
        "Muon at AdamW's rate",
        SETTINGS,
        "_MUON_RATIO * float(estimator.learning_rate)",
        "estimator.learning_rate",
    ),
    Mutant("Muon's ratio", SETTINGS, "0.02 / 3e-4", "0.02 / 1e-3"),
    Mutant(
        "constant rate",
        "skinformer/training/schedule.py",
        "(1 + math.cos(math.pi * progress)) / 2",
        "1.0",
    ),
    Mutant("tolerance", SETTINGS, "_TOLERANCE = 1e-4", "_TOLERANCE = 1e-3"),
    Mutant("no accumulation", SETTINGS, "estimator.batch_size // micro", "1"),
    Mutant(
        "whole batches in memory", SETTINGS, "batch_size=micro,", "batch_size=estimator.batch_size,"
    ),
    Mutant("pre-norm always", SETTINGS, 'norm_first=block.norm != "post_layer"', "norm_first=True"),
    Mutant(
        "LayerNorm always", SETTINGS, '"zc_rms" if block.norm == "zc_rms" else "layer"', '"layer"'
    ),
    Mutant("biases always", SETTINGS, 'bias=block.norm != "zc_rms"', "bias=True"),
    Mutant(
        "one kernel for both",
        SETTINGS,
        "resolve_attention(attention.encoder,",
        "resolve_attention(attention.decoder,",
    ),
    Mutant(
        "the other kernel",
        SETTINGS,
        "decoder_attention=attention.decoder",
        "decoder_attention=attention.encoder",
    ),
    Mutant("QK norm by the gate", SETTINGS, "qk_norm=block.qk_norm", "qk_norm=block.output_gate"),
    Mutant(
        "gate by QK norm", SETTINGS, "output_gate=block.output_gate", "output_gate=block.qk_norm"
    ),
    Mutant(
        "depths swapped",
        SETTINGS,
        "n_encoder_layers=estimator.n_encoder_layers,\n"
        "        n_decoder_layers=estimator.n_decoder_layers",
        "n_encoder_layers=estimator.n_decoder_layers,\n"
        "        n_decoder_layers=estimator.n_encoder_layers",
    ),
    Mutant(
        "d_ff ignored",
        SETTINGS,
        "4 * int(estimator.d_model) if estimator.d_ff is None else int(estimator.d_ff)",
        "4 * int(estimator.d_model)",
    ),
    Mutant(
        "d_ff twice the width", SETTINGS, "4 * int(estimator.d_model)", "2 * int(estimator.d_model)"
    ),
    Mutant("no mask embedding", SETTINGS, '"mask" in estimator.embeddings', "False"),
    Mutant(
        "no null embedding", BUILDING, '"null_embedding": sizes.may_miss', '"null_embedding": False'
    ),
    Mutant(
        "missing by mask",
        BUILDING,
        '"missing" in settings.embeddings',
        '"mask" in settings.embeddings',
    ),
    Mutant(
        "reads nothing", BUILDING, '"reads_forecast": path is not None', '"reads_forecast": False'
    ),
    Mutant(
        "reads: not handed over",
        "skinformer/model/corrected.py",
        "found.to(future.dtype), future[..., found.shape[-1] :]",
        "0 * found.to(future.dtype), future[..., found.shape[-1] :]",
        tests=("tests/model/test_linear_path.py",),
    ),
    Mutant(
        "reads: always",
        "skinformer/model/corrected.py",
        "if network.reads_forecast:",
        "if True:",
        tests=("tests/model/test_linear_path.py",),
    ),
    Mutant(
        "reads: in other units than the window",
        "skinformer/model/informer.py",
        "future = self.window_norm.normalise_forecast(future, statistics)",
        "pass",
        tests=("tests/estimators/test_units.py", "tests/model/test_linear_path.py"),
    ),
    Mutant(
        "reads: without a bound",
        "skinformer/model/window_norm.py",
        ".clamp(-_FARTHEST, _FARTHEST)",
        "",
        tests=("tests/model/test_window_norm.py",),
    ),
    Mutant(
        "reads: not for attention maps",
        "skinformer/evaluation/attention.py",
        "recorder)).forecast(windows, corrected)",
        "recorder)).forecast(windows, None)",
        tests=("tests/evaluation/test_attention_maps.py",),
    ),
    *(
        Mutant(f"outliers: {name}", path, old, new, tests=("tests/cleaning/test_outliers.py",))
        for name, path, old, new in (
            (
                "no jumps",
                JUMPS,
                "_JUMP, _JUMP_ALIKE = 2.0, 10.0",
                "_JUMP, _JUMP_ALIKE = 99.0, 99.0",
            ),
            ("jumps do not grow", LATER, "limits = growth *", "limits ="),
            ("zeros are nothing new", JUMPS, "*= _JUMP_TO_ZERO", "*= 1.0"),
            ("gaps are no matter", JUMPS, "np.isnan(last) & np.isnan(second)", "np.isnan(same)"),
            ("what jumped is expected again", LATER, "in range(2):", "in range(1):"),
            ("a new level is never usual", LATER, "count >= 3", "count < 0"),
            ("two wild values are a level", LATER, "_trailing(values, 5)", "_trailing(values, 3)"),
            ("covariates may grow", "skinformer/cleaning/outliers.py", "=is_target)", "=True)"),
            ("sensors never fail", RANGES, "len(begins) if is_failure else", ""),
            ("sensors fail for long", RANGES, "(since < _LONG_LEVEL).all() and", ""),
            ("rounding is noise", JUMPS, "jumps.max() <= 0.002", "jumps.max() < 0.0"),
            ("another level is a unit", UNITS, "and np.ptp(known) > 0", ""),
            ("counts stay away from zero", RANGES, "len(known) > _DIFFERENT and", ""),
            ("what is rare is rare in its panel", RANGES, "if judged[0].rare", "if False"),
            ("levels are outliers", RANGES, "outlying &= ~_new_levels", "outlying |= _new_levels"),
            ("zeros before a launch count", RANGES, ">= _LAUNCH", ">= 1_000_000"),
            ("an hour is a season", UNITS, "if n >= 7", "if n >= 2"),
            ("any level is a unit", UNITS, "half < 0.4", "True"),
        )
    ),
    Mutant(
        "files: numbers may be none",
        "skinformer/persistence/checks.py",
        "not np.isfinite(value).all()",
        "False",
        tests=("tests/persistence/test_damage.py",),
    ),
    Mutant(
        "trees: a walk is far from its last value",
        "skinformer/tabular/fit.py",
        "last < _MUCH_CLOSER * mean",
        "False",
        tests=("tests/ensemble/test_proof.py",),
    ),
    Mutant(
        "trees: luck on a walk is believed",
        MEMBERS,
        "> _WANDERS",
        "> 9",
        tests=("tests/ensemble/test_proof.py",),
    ),
    Mutant(
        "trees: prove themselves by few long forecasts",
        MEMBERS,
        "(wanders or not complete)",
        "wanders",
        tests=("tests/ensemble/test_proof.py",),
    ),
    Mutant(
        "trees: with drivers, too, need every stretch",
        MEMBERS,
        "sees_more = drivers or",
        "sees_more =",
        tests=("tests/ensemble/test_proof.py",),
    ),
    Mutant(
        "trees: so does a regressor of the user's",
        MEMBERS,
        " or not isinstance(self.settings.regressor, str)",
        "",
        tests=("tests/ensemble/test_proof.py",),
    ),
    Mutant(
        "weights: everybody is requested for every window",
        ENSEMBLE,
        "some, base = np.flatnonzero(needed[name]), None",
        "some, base = np.arange(len(at)), None",
        tests=("tests/ensemble/test_ensemble.py",),
    ),
    Mutant(
        "weights: short windows by all",
        ENSEMBLE,
        "able = np.where(short, weights[part], 0.0)",
        "able = weights[part]",
        tests=("tests/ensemble/test_ensemble.py",),
    ),
    Mutant(
        "weights: trees for new series",
        MEMBERS,
        "weights[-1, :, : len(members)] *= of_new",
        "del of_new",
        tests=("tests/ensemble/test_weighing.py",),
    ),
    Mutant(
        "first truth: windows of the history see means before it",
        "skinformer/rolling/blocks.py",
        "unknown[(stored >= 0) & (stored < history.first_truth",
        "unknown[(stored >= 9e9) & (stored < history.first_truth",
        tests=("tests/estimators/test_panels.py",),
    ),
    Mutant(
        "first truth: origins see means before it",
        "skinformer/rolling/origins.py",
        "values[rows < history.first_truth[series][track]",
        "values[rows < 0 * history.first_truth[series][track]",
        tests=(
            "tests/evaluation/test_origins.py::test_all_origins_at_once_equal_one_by_one_wherever_truths_are_missing",
        ),
    ),
    Mutant(
        "first truth: a late series has the others' size",
        TARGET_SCALE,
        "split, split, end)",
        "split, split, split)",
        tests=("tests/estimators/test_panels.py",),
    ),
    Mutant(
        "first truth: windows of nothing known are short",
        "skinformer/ensemble/windows.py",
        "np.where(begin < self.origins, begin,",
        "np.where(begin < 9e9, begin,",
        tests=("tests/estimators/test_panels.py",),
    ),
    Mutant(
        "bounds: rounding goes by the largest series",
        "skinformer/timeline/target_scale.py",
        "np.where(least < -_ROUNDING * largest,",
        "np.where(least < -_ROUNDING * largest.max(),",
        tests=("tests/estimators/test_panels.py",),
    ),
    Mutant(
        "judging: ridges see what they forecast",
        "skinformer/classical/fit.py",
        "in candidates(origin).forecast(",
        "in candidates(end).forecast(",
        tests=("tests/classical/test_fit.py",),
    ),
    Mutant(
        "judging: a season seen once is like any other",
        "skinformer/classical/judging.py",
        "_PRIOR * (self.seasonal & (n_asked == 0)) - power",
        "-power",
        tests=("tests/classical/test_judging.py",),
    ),
    Mutant(
        "judging: final forecasts may go anywhere",
        "skinformer/classical/judging.py",
        " - power_of_excess * self.excess",
        "",
        tests=("tests/classical/test_judging.py",),
    ),
    Mutant(
        "steps: what rises slowly is a step",
        "skinformer/classical/steps.py",
        "np.where(is_sudden & is_known,",
        "np.where(is_known,",
        tests=("tests/classical/test_steps.py",),
    ),
    Mutant(
        "likely smoothing: every window has one row",
        "skinformer/classical/smoothing.py",
        "np.minimum(self.n_known, _MOST_LIKELY)[:, None]",
        "np.ones(len(self.n_known))[:, None]",
        tests=("tests/classical/test_smoothing.py",),
    ),
    Mutant(
        "rows to come are silent",
        FITTING,
        "n_open >= settings.pred_len",
        "n_open < 0",
        tests=("tests/estimators/test_missing.py",),
    ),
    Mutant(
        "weights: a lone series has others",
        "skinformer/ensemble/weighing.py",
        "int(known.sum()) - 1",
        "int(known.sum()) + 9",
        tests=("tests/ensemble/test_weighing.py",),
    ),
    Mutant(
        "weights: a large series has the joint error",
        "skinformer/ensemble/weighing.py",
        "max(known.sum(), 1), size, out",
        "max(known.sum(), 1), 1.0, out",
        tests=("tests/ensemble/test_weighing.py",),
    ),
    Mutant(
        "weights: the joint error of what is not finite",
        "skinformer/ensemble/weighing.py",
        "np.where(known[series][:, None, :, None], off, 0.0)",
        "off",
        tests=("tests/ensemble/test_weighing.py",),
    ),
    Mutant(
        "weights: rivals count beside each other",
        MEMBERS,
        "left = left * (1 - share[:, None])",
        "pass",
        tests=("tests/ensemble/test_weighing.py", "tests/ensemble/test_member.py"),
    ),
    Mutant(
        "epochs of a correction",
        SETTINGS,
        "return _EPOCHS_OF_CORRECTION if corrects else _EPOCHS",
        "return _EPOCHS",
    ),
    Mutant(
        "epochs of a network alone",
        SETTINGS,
        "return _EPOCHS_OF_CORRECTION if corrects else _EPOCHS",
        "return _EPOCHS_OF_CORRECTION",
    ),
    Mutant("no series", BUILDING, "fields.append(sizes.n_series + 1)", "pass"),
    Mutant("label_len ignored", BUILDING, "if label_len is None:", "if True:"),
    Mutant("guiding patches cut", BUILDING, "half - half % sizes.decoder_patch_len", "half"),
    Mutant(
        "decoder's patches",
        BUILDING,
        "1 if self.n_known > self.n_static else self.patch_len",
        "self.patch_len",
    ),
    Mutant("fixed seed", BUILDING, '"seed": seed', '"seed": 0'),
    Mutant(
        "no linear path",
        BUILDING,
        "return network if path is None else Corrected(path, network)",
        "return network",
    ),
    Mutant(
        "24 tokens",
        SETTINGS,
        "_TOKENS, _LONGEST_PATCH = 24, 12",
        "_TOKENS, _LONGEST_PATCH = 48, 12",
    ),
    Mutant(
        "longest patch",
        SETTINGS,
        "_TOKENS, _LONGEST_PATCH = 24, 12",
        "_TOKENS, _LONGEST_PATCH = 24, 24",
    ),
    Mutant("sparse later", SETTINGS, '"cpu": 96', '"cpu": 97'),
    Mutant("sparse earlier", SETTINGS, '"cpu": 96', '"cpu": 95'),
    Mutant("attention always auto", SETTINGS, 'if attention != "auto":', "if False:"),
    Mutant("device always auto", SETTINGS, 'if device != "auto":', "if False:"),
    Mutant(
        "continuous without times",
        BUILDING,
        'if settings.network.position == "continuous" else None',
        "if False else None",
    ),
    Mutant("known columns hidden", BUILDING, "n_known=len(roles.known)", "n_known=0"),
    Mutant(
        "precision always auto",
        SETTINGS,
        "resolve_precision(estimator.precision,",
        'resolve_precision("auto",',
    ),
    Mutant("split always auto", FITTING, "if settings.early_stopping is not False:", "if True:"),
    Mutant(
        "linear path always fitted again",
        BASE,
        'refit=settings.early_stopping == "auto"',
        "refit=True",
    ),
    Mutant(
        "linear path never fitted again",
        BASE,
        'refit=settings.early_stopping == "auto"',
        "refit=False",
    ),
    Mutant(
        "validation_fraction ignored",
        FITTING,
        "fraction=settings.validation_fraction",
        "fraction=0.1",
    ),
    Mutant(
        "target_transform ignored",
        SETTINGS,
        "target_transform=estimator.target_transform",
        'target_transform="auto"',
    ),
    Mutant("no transformer", TARGET_SCALE, "transformers=tuple(shapes)", "transformers=()"),
    Mutant("logarithms unasked", TARGET_SCALE, 'if wanted == "log":', "if positive.all():"),
    Mutant("logarithms never", TARGET_SCALE, 'if wanted == "log":', "if False:"),
    Mutant("logarithms unproved", TARGET_SCALE, "if wanted is None or split", "if split"),
    Mutant("nothing judged", TARGET_SCALE, "if wanted is None or split is None", "if True"),
    Mutant("linear path always", BASE, "if settings.linear_path:", "if True:"),
    Mutant("linear path never", BASE, "if settings.linear_path:", "if False:"),
    Mutant("no checkpoint", BASE, "checkpoint=settings.checkpoint,", "checkpoint=None,"),
    Mutant(
        "no fingerprint", BASE, "{} if settings.checkpoint is None else fingerprint(self)", "{}"
    ),
    Mutant("warm start always", BASE, "earlier=self if self.warm_start else None", "earlier=self"),
    Mutant("warm start never", BASE, "earlier=self if self.warm_start else None", "earlier=None"),
    Mutant(
        "random_state ignored",
        BASE,
        "check_random_state(self.random_state)",
        "check_random_state(0)",
    ),
    Mutant(
        "order unseeded",
        FITTING,
        "make(inside, seed=seed, out_of_fold=out_of_fold)",
        "make(inside, seed=0, out_of_fold=out_of_fold)",
    ),
    Mutant(
        "validation shuffled", FITTING, "make(held_out, seed=None)", "make(held_out, seed=seed)"
    ),
    Mutant(
        "max_windows ignored", FITTING, "max_windows=settings.max_windows", "max_windows=10_000"
    ),
    Mutant("epochs silent", CALLBACKS, "running().write(epoch_line(", "str(epoch_line("),
    Mutant("parts silent", BASE, "if self.verbose:", "if False:"),
    Mutant("parts always told", BASE, "if self.verbose:", "if True:"),
    Mutant(
        "stages untold",
        CALLBACKS,
        "self._begin(task)",
        "pass",
        tests=("tests/estimators/test_callbacks.py",),
    ),
    Mutant(
        "silence while a part goes on",
        PROGRESS,
        "while not ended",
        "while False and not ended",
        tests=("tests/estimators/test_progress.py",),
    ),
    Mutant(
        "lines without end",
        PROGRESS,
        "max(_SILENCE, _PART * self.passed)",
        "_SILENCE",
        tests=("tests/estimators/test_progress.py",),
    ),
    Mutant(
        "pace ignored",
        PROGRESS,
        "pace * sum(expected",
        "sum(expected",
        tests=("tests/estimators/test_progress.py",),
    ),
    Mutant(
        "a stage comes again",
        PROGRESS,
        "if part in later:",
        "if part in stages:",
        tests=("tests/estimators/test_progress.py",),
    ),
    Mutant("named attention: encoder", PARTS, '"encoder": kind', '"encoder": "auto"'),
]

#: What the calendar does beside the ridges, cut by hand; and the tests that must notice.
EFFECTS = [
    Mutant(
        "calendar: weeks of seven hours",
        CYCLE,
        "n_cells = 7 * n_times",
        "n_cells = 7",
        tests=("tests/timeline/test_cycle.py",),
    ),
    Mutant(
        "calendar: series mixed",
        CALENDAR,
        "np.diff(origins) >= whole",
        "np.diff(origins) > whole",
        tests=("tests/ridge/test_calendar.py",),
    ),
    Mutant(
        "calendar: missing truths count",
        CALENDAR,
        "product(regressors.T, regressors * share)",
        "product(regressors.T, regressors)",
        tests=("tests/ridge/test_calendar.py",),
    ),
    Mutant(
        "calendar: learnt from the split",
        RIDGE_FIT,
        "problem = find(bare, origins[:n_training])",
        "problem = find(bare, origins)",
        tests=("tests/ridge/test_fit.py",),
    ),
    Mutant(
        "calendar: no gain requested for",
        RIDGE_FIT,
        "_EFFECT_GAIN = 0.01",
        "_EFFECT_GAIN = 0.0",
        tests=("tests/ridge/test_fit.py",),
    ),
    Mutant(
        "calendar: chance is no margin",
        RIDGE_FIT,
        "gain = sure_gain(gains) - margin if margin else float(gains.mean())",
        "gain = float(gains.mean()) - margin",
        tests=("tests/ridge/test_fit.py",),
    ),
    Mutant(
        "calendar: columns have to be sure",
        RIDGE_FIT,
        "gain = sure_gain(gains) - margin if margin else float(gains.mean())",
        "gain = sure_gain(gains) - margin",
        tests=("tests/ridge/test_fit.py",),
    ),
    Mutant(
        "blend: one price for all",
        "skinformer/ridge/blend.py",
        "min(_PRICE * noise**2, _MOST_PRICE)",
        "_MOST_PRICE",
        tests=("tests/ridge/test_blend.py",),
    ),
    Mutant(
        "blend: a price without bounds",
        "skinformer/ridge/blend.py",
        "min(_PRICE * noise**2, _MOST_PRICE)",
        "_PRICE * noise**2",
        tests=("tests/ridge/test_blend.py",),
    ),
    Mutant(
        "blend: the first guess is not left",
        "skinformer/ridge/blend.py",
        "slope = 2 * (errors @ weights) + price * np.log(weights / first)",
        "slope = 2 * (errors @ weights) + 0.1 * np.log(weights / first)",
        tests=("tests/ridge/test_blend.py",),
    ),
    Mutant(
        "blend: what is chance is not told",
        RIDGE_FIT,
        "margins=margins, noise=noise",
        "margins=margins",
        tests=("tests/ridge/test_fit.py",),
    ),
    Mutant(
        "blend: series of one time are many",
        RIDGE_FIT,
        "len(np.unique(steps[held_out]))",
        "len(held_out)",
        tests=("tests/ridge/test_fit.py",),
    ),
    Mutant(
        "blend: times are no judges",
        RIDGE_FIT,
        "stretches += [] if stretch is None else [stretch]",
        "pass",
        tests=("tests/ridge/test_fit.py",),
    ),
    Mutant(
        "blend: times judge who has learnt them",
        RIDGE_FIT,
        "rest.turn_over(whole)",
        "pass",
        tests=("tests/ridge/test_fit.py",),
    ),
    Mutant(
        "blend: times judge by truths that others share",
        RIDGE_FIT,
        "origins[inside & ~near]",
        "origins[inside]",
        tests=("tests/ridge/test_fit.py",),
    ),
    Mutant(
        "blend: all of a long time is forecast",
        RIDGE_FIT,
        "_compare(rest, _thinned(problem, unknown))",
        "_compare(rest, unknown)",
        tests=("tests/ridge/test_fit.py",),
    ),
    Mutant(
        "calendar: stays in the window",
        LINEAR_PATH,
        "remain = past[..., targets] - taken_off",
        "remain = past[..., targets]",
        tests=("tests/model/test_calendar_effect.py",),
    ),
    Mutant(
        "calendar: not in the short way",
        PREDICTING,
        "source.effect_of(path.calendar)",
        "None",
        tests=("tests/estimators/test_batches.py",),
    ),
    Mutant(
        "calendar: judged without the hours",
        PREDICTING,
        "inputs = source.path_inputs(rows) if",
        "inputs = source.path_inputs(rows)[:2] if",
        tests=("tests/estimators/test_calendar_path.py",),
    ),
    Mutant(
        "explained: orders have no reverse",
        "skinformer/evaluation/explain.py",
        "yield order[::-1]",
        "yield order",
        tests=("tests/evaluation/test_explain.py",),
    ),
    Mutant(
        "calendar: both trees are led by it",
        "skinformer/tabular/fit.py",
        "(closest, means, maker.of_effect)",
        "(closest, means, nothing)",
        tests=("tests/tabular/test_fit.py",),
    ),
]
#: The time of the year, cut by hand.
YEARS = [
    Mutant(
        "year: learnt from what it is judged by",
        RIDGE_FIT,
        "within = _with_year(without, early)",
        "within = _with_year(without, origins)",
        tests=("tests/ridge/test_year.py",),
    ),
    Mutant(
        "year: no gain requested for",
        RIDGE_FIT,
        "sure_gain(before - after) < _EFFECT_GAIN",
        "sure_gain(before - after) < 0.0",
        tests=("tests/ridge/test_year.py",),
    ),
    Mutant(
        "year: not found again with the newest rows",
        RIDGE_FIT,
        "return _with_year(found, origins) or found",
        "return _with_year(found, early) or found",
        tests=("tests/ridge/test_year.py",),
    ),
    Mutant(
        "year: a trend is a season",
        CALENDAR,
        "regressors = np.column_stack([table[place], line, np.ones(len(part))])",
        "regressors = np.column_stack([table[place], 0 * line, np.ones(len(part))])",
        tests=("tests/ridge/test_year.py",),
    ),
    Mutant(
        "year: days of other years",
        CALENDAR,
        "seen[0] + cells.n_days",
        "seen[0]",
        tests=("tests/ridge/test_year.py",),
    ),
    Mutant(
        "year: the network has a vector for it",
        BUILDING,
        "sizes.calendar_fields[: sizes.n_network_fields]",
        "sizes.calendar_fields",
        tests=("tests/estimators/test_year_path.py",),
    ),
    Mutant(
        "year: of one alone",
        "skinformer/timeline/calendar.py",
        "_YEARS_OF_RIDGES = 2",
        "_YEARS_OF_RIDGES = 1",
        tests=("tests/estimators/test_year_path.py",),
    ),
]
#: What the time of the day adds to ridges, cut by hand.
PHASES = [
    Mutant(
        "phases: maps have learnt the time that they are judged by",
        "skinformer/ridge/phases.py",
        "part.turn_over(whole)",
        "pass",
        tests=("tests/ridge/test_phases.py",),
    ),
    Mutant(
        "phases: the hour of the last row",
        "skinformer/ridge/phases.py",
        "of_row[time.origins[part]]",
        "of_row[time.origins[part] - 1]",
        tests=("tests/ridge/test_phases.py",),
    ),
    Mutant(
        "phases: all that follows is learnt",
        "skinformer/ridge/phases.py",
        "windows.future - time.fit.blended(windows)",
        "windows.future",
        tests=("tests/ridge/test_phases.py",),
    ),
    Mutant(
        "phases: the blend has seen what is learnt",
        "skinformer/ridge/phases.py",
        "_Times(other, *(part",
        "_Times(fit, *(part",
        tests=("tests/ridge/test_phases.py",),
    ),
    Mutant(
        "phases: judged by other times than the split alone",
        "skinformer/ridge/phases.py",
        "if stretches is not None:",
        "if stretches is not None and not is_split:",
        tests=("tests/ridge/test_phases.py",),
    ),
    Mutant(
        "phases: judged by the split alone",
        "skinformer/ridge/phases.py",
        "if stretches is not None:",
        "if stretches is not None and is_split:",
        tests=("tests/ridge/test_phases.py",),
    ),
    Mutant(
        "phases: a share counts once",
        "skinformer/ridge/phases.py",
        "share**2 * itself",
        "share * itself",
        tests=("tests/ridge/test_phases.py",),
    ),
    Mutant(
        "phases: trusted in full",
        "skinformer/ridge/phases.py",
        "weights=share * each.solve(strength)",
        "weights=each.solve(strength)",
        tests=("tests/ridge/test_phases.py",),
    ),
    Mutant(
        "lagged: a row that went stays",
        "skinformer/ridge/lagged.py",
        "came - went",
        "came",
        tests=("tests/ridge/test_lagged.py",),
    ),
    Mutant(
        "trial: its weights stay",
        "skinformer/ensemble/members.py",
        "self.module.load_state_dict(before)",
        "pass",
        tests=("tests/estimators/test_hybrid.py",),
    ),
    Mutant(
        "phases: the split stays unlearnt",
        "skinformer/ridge/phases.py",
        "Sums.total([whole, _learn(problem, layout, new)])",
        "Sums.total([whole])",
        tests=("tests/ridge/test_phases.py",),
    ),
    Mutant(
        "phases: the network learns from maps that have seen the window",
        "skinformer/ridge/phases.py",
        "(end, replace(other, phases=maps))",
        "(end, replace(other, phases=found[-1]))",
        tests=("tests/ridge/test_phases.py",),
    ),
    Mutant(
        "phases: weights of truths do not count",
        "skinformer/ridge/phases.py",
        "rest[:, :, j], windows.weight[:, :, j])",
        "rest[:, :, j], 1 + 0 * rest[:, :, j])",
        tests=("tests/ridge/test_phases.py",),
    ),
    Mutant(
        "phases: columns known ahead are read",
        "skinformer/ridge/phases.py",
        "int(problem.values.shape[1]) - len(problem.effect)",
        "int(problem.values.shape[1])",
        tests=("tests/ridge/test_phases.py",),
    ),
    Mutant(
        "phases: the last hour ahead",
        LINEAR_PATH,
        "future_calendar[:, 0]",
        "future_calendar[:, -1]",
        tests=("tests/model/test_phase_maps.py",),
    ),
    Mutant(
        "phases: a recursion goes without",
        PREDICTING,
        " or path.phases is not None",
        "",
        tests=("tests/estimators/test_phase_path.py",),
    ),
    Mutant(
        "phases: a warm start keeps what was found",
        HYBRID,
        'name.startswith("path.")',
        'name.startswith("path.x")',
        tests=("tests/estimators/test_phase_path.py",),
    ),
]
#: What is done at less cost, cut by hand.
COSTS = [
    Mutant(
        "cost: what is fitted apart keeps its own time",
        "skinformer/ridge/sums.py",
        "np.subtract(total, mine, out=mine)",
        "pass",
        tests=("tests/ridge/test_sums.py",),
    ),
    Mutant(
        "cost: rounding errors stay",
        "skinformer/ridge/sums.py",
        "np.where(some, left, 0.0)",
        "left",
        tests=("tests/ridge/test_sums.py",),
    ),
    Mutant(
        "cost: trees are many everywhere",
        "skinformer/tabular/fit.py",
        "simple = columns.n_known == 0 and timeline.n_series == 1",
        "simple = False",
        tests=("tests/tabular/test_fit.py",),
    ),
    Mutant(
        "cost: no margin of trees",
        MEMBERS,
        "margin=margin",
        "margin=0.0",
        tests=("tests/ensemble/test_weighing.py",),
    ),
    Mutant(
        "cost: MKL keeps its threads",
        "skinformer/threads.py",
        "mkl, numbers = limit_mkl(1)",
        "mkl, numbers = 0",
        tests=("tests/test_threads.py",),
    ),
    Mutant(
        "cost: MKL keeps one thread for ever",
        "skinformer/threads.py",
        "limit_mkl(mkl)",
        "pass",
        tests=("tests/test_threads.py",),
    ),
]

#: Another value of each recipe's parameter; the second where the first is the recipe's.
OTHER = {
    "target_transform": ['"log"'],
    "members": ['["ridges", "network"]'],
    "patch_len": ["4"],
    "calendar": ['"auto"'],
    "embeddings": ['("mask",)', "()"],
    "d_model": ["32"],
    "n_heads": ["8"],
    "n_encoder_layers": ["3"],
    "n_decoder_layers": ["2"],
    "d_ff": ["128"],
    "attention": ['"dense"', '"probsparse"'],
    "block": ['"plain"'],
    "position": ['"learned"'],
    "distil": ["False"],
    "dropout": ["0.2"],
    "window_norm": ["True"],
    "loss": ['"mae"'],
    "optimizer": ['"muon"', '"adamw"'],
    "learning_rate": ["2e-3"],
    "weight_decay": ["0.05"],
    "batch_size": ["64"],
    "precision": ['"fp16"'],
    "class_weight": ['"balanced"'],
    "label_smoothing": ["0.2"],
    "z_loss": ["1e-3"],
}


#: Another value of each parameter of a block.
OTHER_BLOCK = {
    "qk_norm": ["True", "False"],
    "output_gate": ["True", "False"],
    "activation": ['"relu"'],
    "norm": ['"post_layer"'],
    "init": ['"xavier"'],
}


def defaults(path, of):
    """Give the default of each field of a class, as source."""
    classes = ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8")))
    body = next(part for part in classes if getattr(part, "name", "") == of).body
    fields = [part for part in body if isinstance(part, ast.AnnAssign) and part.value]
    return {part.target.id: ast.unparse(part.value) for part in fields}


def defaulted():
    """Make the mutants in which a parameter that is read into settings is its default."""
    known = {
        "estimator": defaults(PARAMETERS, "Parameters") | defaults(REGRESSOR, "InformerRegressor"),
        "attention": defaults(PARTS, "Attention"),
        "block": defaults(PARTS, "Block"),
        "memory": defaults(PARTS, "MemorySaving"),
    }
    text = (ROOT / SETTINGS).read_text(encoding="utf-8")
    for found in re.finditer(rf"\b({'|'.join(known)})\.([a-z_]*[a-z])\b", text):
        line = text.count("\n", 0, found.start()) + 1
        column = found.start() - text.rfind("\n", 0, found.start())
        if re.search("check_|raise_", text.splitlines()[line - 1]):
            continue  # refusals have tests of their own
        yield Mutant(
            f"{found[2]} is its default ({line}:{column})",
            SETTINGS,
            found[0],
            f"[{known[found[1]][found[2]]}][0]",  # `is` and a literal would be a warning
            after=text[: found.start()],
        )


def block_values():
    """Make the mutants in which one value of a named block is another."""
    text = (ROOT / PARTS).read_text(encoding="utf-8")
    for kind in ("note", "bf16"):
        written = text[text.index(f'"{kind}": {{') :].split("}")[0]
        for key, old in re.findall(r'"(\w+)": ("?\w+"?)', written):
            new = next(other for other in OTHER_BLOCK[key] if other != old)
            yield Mutant(
                f"block {kind}: {key}={new}",
                PARTS,
                f'"{key}": {old}',
                f'"{key}": {new}',
                after=f'"{kind}": {{',
            )


def recipe_values():
    """Make the mutants in which one value of a recipe is another."""
    text = (ROOT / RECIPES).read_text(encoding="utf-8")
    for statement in ast.parse(text).body:
        if not (isinstance(statement, ast.AnnAssign) and isinstance(statement.value, ast.Dict)):
            continue
        recipe = statement.target.id
        for key, value in zip(statement.value.keys, statement.value.values, strict=True):
            if key is None:
                continue  # of another recipe, whose mutants they are
            old = ast.get_source_segment(text, value)
            new = next(other for other in OTHER[key.value] if other != old)
            yield Mutant(
                f"{recipe}: {key.value}={new}",
                RECIPES,
                f'"{key.value}": {old},',
                f'"{key.value}": {new},',
                after=f"\n{recipe}: ",
            )


def all_mutants():
    """Give every mutant; raise if there is nothing for one of them to change."""
    mutants = [
        *LINKS,
        *EFFECTS,
        *YEARS,
        *PHASES,
        *COSTS,
        *defaulted(),
        *block_values(),
        *recipe_values(),
    ]
    for mutant in mutants:
        mutant.apply((ROOT / mutant.path).read_text(encoding="utf-8"))
    return mutants


def run(mutant, tests):
    """Run tests in a copy with a mutant, or without one; give pytest's exit status."""
    text = io.StringIO()
    with tempfile.TemporaryDirectory() as name, contextlib.redirect_stdout(text):
        folder = Path(name)
        for part in ("skinformer", "tests"):
            shutil.copytree(ROOT / part, folder / part)  # what is compiled stays valid
        shutil.copy(ROOT / "pyproject.toml", folder)
        if mutant is not None:
            path = folder / mutant.path
            path.write_text(mutant.apply(path.read_text(encoding="utf-8")), encoding="utf-8")
        os.chdir(folder)
        sys.path[0] = str(folder)
        options = ["-q", "-x", "-p", "no:cacheprovider", "--deselect", WITH_PROCESSES]
        status = int(pytest.main([*options, *tests]))
        os.chdir(ROOT)
    if status not in (0, 1) or (mutant is None and status):
        raise RuntimeError(
            f"the tests did not pass or run with {mutant and mutant.name!r}:\n{text.getvalue()}"
        )
    return status


def run_case(case):
    """Run a pair of a mutant and its tests."""
    return run(*case)


def survivors(mutants, jobs):
    """Give the mutants that the tests let pass."""
    for name in HEAVY:  # forked processes have them, and of this package nothing but their copy
        importlib.import_module(name)
    with multiprocessing.get_context("fork").Pool(jobs, maxtasksperchild=1) as pool:
        tests = sorted({test for mutant in mutants for test in mutant.tests})
        pool.apply(run, [None, tests])  # raises where they fail without any mutant
        alive = []
        cases = [(mutant, mutant.tests) for mutant in mutants]
        for mutant, status in zip(mutants, pool.imap(run_case, cases), strict=True):
            alive += [] if status else [mutant]
            sys.stdout.write(f"{'killed' if status else 'SURVIVED':8} {mutant.name}\n")
            sys.stdout.flush()
    return alive


def main():
    """Apply the chosen mutants and return how many survived."""
    parser = argparse.ArgumentParser(description="Cut links one at a time; tests must notice.")
    parser.add_argument("words", nargs="*", help="part of a mutant's name; none for all mutants")
    parser.add_argument("--jobs", type=int, default=1, help="mutants tried at a time")
    given = parser.parse_args()
    chosen = [
        m for m in all_mutants() if not given.words or any(word in m.name for word in given.words)
    ]
    if not chosen:
        raise LookupError(f"no mutant's name holds one of {given.words}")
    alive = survivors(chosen, given.jobs)
    sys.stdout.write(f"{len(chosen)} mutants, {len(alive)} survived\n")
    for mutant in alive:
        sys.stdout.write(f"survived: {mutant.name} ({mutant.path})\n")
    return min(len(alive), 1)


if __name__ == "__main__":
    sys.exit(main())
