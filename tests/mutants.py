"""Break what nobody would notice by looking at a forecast, one rule at a time.

Some forty rules keep forecasts honest: no row sees what came later, numbers come back in their
units, rows have their own times, ranges cover what they are asked to, and no file is taken for
something else. A mutant breaks one of them in a scratch copy of the sources; if the tests that are
named beside it still pass, nothing holds that rule. Run by hand, all of them or those whose name
holds a word::

    OMP_NUM_THREADS=1 python tests/mutants.py [WORD ...]

A mutant replaces an expression or a statement of one function, compared by its syntax tree: neither
layout and comments nor other functions matter. If it is no longer there, or there twice, that is an
error: write the mutant anew beside the rule.
"""

import argparse
import ast
import contextlib
import importlib
import io
import multiprocessing
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
#: Imported once for all mutants.
HEAVY = ["torch", "pandas", "sklearn.callback", "sklearn.metrics", "scipy.stats"]


class Mutant(NamedTuple):
    """A rule that is broken.

    name: what goes wrong.
    path: of the file, below skinformer/.
    function: whose body is changed, such as "fit" or "Scaler.inverse".
    old, new: the expression or the statement that is there, and what takes its place.
    tests: paths below tests/, or single tests; some of them have to fail.
    """

    name: str
    path: str
    function: str
    old: str
    new: str
    tests: tuple[str, ...]

    def apply(self, text):
        """Return the changed source; raise where it has not one place to change."""
        tree = ast.parse(text)
        body = tree
        for part in self.function.split("."):
            found = [node for node in body.body if getattr(node, "name", None) == part]
            if not found:
                raise self._error(
                    f"has no {self.function}(): name the function that does it now"
                )
            body = found[-1]
        change = _Change(*_parsed(self.old, self.new))
        change.visit(body)
        if change.count != 1:
            raise self._error(
                f"holds {self.old!r} {change.count} times in {self.function}(), and has to hold it "
                "once: copy from there what the rule is made of now"
            )
        return ast.unparse(ast.fix_missing_locations(tree))

    def _error(self, fault):
        return LookupError(f"mutant {self.name!r}: skinformer/{self.path} {fault}.")


def _parsed(*texts):
    """Parse texts, as expressions if all are."""
    statements = [ast.parse(text).body[0] for text in texts]
    if all(isinstance(statement, ast.Expr) for statement in statements):
        return [statement.value for statement in statements]
    return statements


class _Change(ast.NodeTransformer):
    """Replace all nodes that are like one, and count them."""

    def __init__(self, old, new):
        self.kind, self.old, self.new, self.count = type(old), ast.dump(old), new, 0

    def visit(self, node):
        if type(node) is not self.kind or ast.dump(node) != self.old:
            return self.generic_visit(node)
        self.count += 1
        return self.new


#: No row sees what came later.
CAUSALITY = [
    Mutant(
        "training windows reach into the validation split",
        "judging/cutoffs.py",
        "cut_windows",
        "Origins(earliest, stop - sizes.pred_len)",
        "Origins(earliest, np.minimum(stop, end - sizes.pred_len))",
        (
            "estimators/test_causality.py::test_validation_rows_do_not_reach_the_scaler_or_the_weights",
            "estimators/test_panels.py::test_training_and_validation_windows_share_no_truth_in_any_series",
        ),
    ),
    Mutant(
        "ridges learn windows that end in the split",
        "ridge/sums.py",
        "TimedOrigins.ending_before",
        "split - pred_len",
        "split - 1",
        (
            "ridge/test_fit.py::test_no_window_is_learnt_whose_targets_reach_into_a_stretch",
        ),
    ),
    Mutant(
        "the calendar is learnt from the split that judges it",
        "ridge/fit.py",
        "fit_linear_path",
        "effect.find(problem, training.origins)",
        "effect.find(problem, windows.origins)",
        (
            "ridge/test_fit.py::test_the_tail_does_not_reach_the_effect_that_is_found_before_it",
        ),
    ),
    Mutant(
        "the time of the year is learnt from the rows that judge it",
        "ridge/fit.py",
        "_choose_effect",
        "with_year(taken_off, early)",
        "with_year(taken_off, windows.origins)",
        ("ridge/test_year.py::test_what_was_judged_had_not_seen_the_stretches",),
    ),
    Mutant(
        "days of the year are judged by years that taught them",
        "ridge/year.py",
        "_days_effect",
        "list(Sums.leave_one_out(parts))",
        "[Sums.total(parts)] * len(parts)",
        ("ridge/test_year.py::test_what_came_in_one_year_alone_is_no_season",),
    ),
    Mutant(
        "single days of the year have nothing of their own",
        "ridge/year.py",
        "year_effect",
        "year + _days_effect(_DayChanges.of(days, means))[:, None]",
        "year",
        (
            "ridge/test_year.py::test_a_month_that_begins_and_ends_at_once_is_found_to_the_day",
        ),
    ),
    Mutant(
        "a step that comes every year is one",
        "classical/steps.py",
        "returns",
        "(earlier | later)",
        "(earlier & ~earlier)",
        (
            "classical/test_steps.py::test_a_season_that_begins_some_days_later_is_the_same",
        ),
    ),
    Mutant(
        "a level that halves is no step beside a strong season",
        "classical/steps.py",
        "_find_multiplied",
        "np.where(has_sizes, found.first_behind, 0)",
        "np.where(has_sizes, 0, 0)",
        ("classical/test_level_steps.py::test_a_level_that_halves_or_doubles_goes_on",),
    ),
    Mutant(
        "rows put at the dates of other years are steps",
        "classical/steps.py",
        "without_step",
        "past if seen is None else seen",
        "past",
        (
            "classical/test_level_steps.py::test_weeks_at_the_edge_of_a_yearly_peak_are_no_step",
        ),
    ),
    Mutant(
        "phase maps have learnt the time that they are judged by",
        "ridge/phases.py",
        "_learn_ridges",
        "Sums.leave_one_out(sums)",
        "[whole, whole, whole]",
        (
            "ridge/test_phases.py::test_maps_are_ridges_of_what_blends_leave_that_have_not_seen_it",
        ),
    ),
    Mutant(
        "phase maps correct a blend that has learnt their windows",
        "ridge/phases.py",
        "_cut_periods",
        "_Period(fit, training.take(number == i))",
        "_Period(fits.before, training.take(number == i))",
        (
            "ridge/test_phases.py::test_maps_are_ridges_of_what_blends_leave_that_have_not_seen_it",
        ),
    ),
    Mutant(
        "the network corrects maps that have learnt its windows",
        "ridge/phases.py",
        "_with_maps",
        "_phases_of(layout, ridge, early)",
        "_phases_of(layout, ridges[-1], early)",
        (
            "ridge/test_phases.py::test_maps_are_ridges_of_what_blends_leave_that_have_not_seen_it",
        ),
    ),
    Mutant(
        "classical ridges have learnt what they forecast",
        "classical/fit.py",
        "_judge_at_origins",
        "judged.candidates_before(learnt)",
        "judged.candidates_before(judged.end)",
        (
            "classical/test_fit.py::test_what_learns_is_judged_on_rows_that_it_has_not_seen",
        ),
    ),
    Mutant(
        "trees see the first row ahead",
        "tabular/features.py",
        "View.before",
        "self.pairs.origin",
        "self.pairs.origin + 1",
        (
            "tabular/test_features.py::test_nothing_from_the_origin_on_is_read_but_what_is_known_ahead",
        ),
    ),
    Mutant(
        "past-only columns are read behind the origin",
        "rolling/future.py",
        "without_later",
        "observed.steps >= place.anchor[observed.segment]",
        "observed.steps > place.anchor[observed.segment]",
        (
            "rolling/test_forecast.py::test_past_only_values_from_the_origin_on_are_not_read",
        ),
    ),
    Mutant(
        "origins see their own truth",
        "rolling/origins.py",
        "_observe",
        "rows >= origins[segment]",
        "rows > origins[segment]",
        (
            "evaluation/test_origins.py::test_all_origins_at_once_equal_one_by_one_wherever_truths_are_missing",
        ),
    ),
    Mutant(
        "missing values are filled by later ones",
        "timeline/timeline.py",
        "fill_forward",
        "column.groupby(series).ffill()",
        "column.groupby(series).ffill().bfill()",
        ("timeline/test_timeline.py::test_filling_never_looks_ahead",),
    ),
    Mutant(
        "windows of the history see means before the first truth",
        "rolling/blocks.py",
        "RecursiveForecaster._known_targets",
        "(stored < 0) | (stored >= first_truth)",
        "np.ones_like(stored, dtype=bool)",
        ("estimators/test_panels.py::test_a_late_series_rises_on",),
    ),
    Mutant(
        "a backtest fits to the first row that it forecasts",
        "evaluation/backtest.py",
        "_cut_folds",
        "time < moments[begin]",
        "time <= moments[begin]",
        ("evaluation/test_origins.py::test_a_refit_serves_as_many_origins_as_asked",),
    ),
    Mutant(
        "a backtest shows the truth of the rows ahead",
        "evaluation/rows.py",
        "SortedRows.shown",
        "frame.iloc[np.flatnonzero(ahead), self.hidden] = np.nan",
        "pass",
        (
            "evaluation/test_backtest.py::test_the_future_is_hidden_but_for_what_is_known_ahead",
        ),
    ),
]

#: Who takes part, at which cut-offs members are compared, and what they count.
JUDGING = [
    Mutant(
        "a network is trained for two forecasts",
        "judging/plan.py",
        "_fits_windows",
        "_FORECASTS * settings.pred_len",
        "2 * settings.pred_len",
        ("judging/test_plan.py::test_reasons_say_which_rows_are_meant",),
    ),
    Mutant(
        "classical forecasters leave tables of two windows",
        "judging/plan.py",
        "plan_members",
        "n_rows >= _LONG * window_len",
        "n_rows >= 2 * window_len",
        ("judging/test_plan.py::test_rows_decide_who_takes_part",),
    ),
    Mutant(
        "a table beside classical forecasters is weighed step by step",
        "judging/plan.py",
        "choose_scheme",
        "n_series == 1 and CLASSICAL not in members",
        "n_series == 1",
        (
            "judging/test_plan.py::test_what_is_held_out_decides_how_members_are_weighed",
        ),
    ),
    Mutant(
        "the last rows are one forecast",
        "judging/cutoffs.py",
        "cut_last_rows",
        "end - n_last",
        "end - pred_len",
        (
            "judging/test_cutoffs.py::test_the_last_rows_are_a_quarter_one_to_four_forecasts_long",
        ),
    ),
    Mutant(
        "what forecasts alone is proved on rows that it was fitted to",
        "judging/alone.py",
        "_prove",
        "rows.before_cutoff()",
        "rows",
        ("judging/test_alone.py::test_the_last_rows_change_nothing_that_is_proved",),
    ),
    Mutant(
        "members are judged on rows that they were fitted to",
        "ensemble/fitting.py",
        "FitRows.before_cutoff",
        "timeline.head(self.split)",
        "timeline",
        (
            "judging/test_weights.py::test_nobody_is_judged_on_rows_that_it_was_fitted_to",
        ),
    ),
    Mutant(
        "the split chooses the ridges that it judges",
        "ridge/fit.py",
        "_try_candidates",
        "of_split if start == split else stretches",
        "stretches",
        (
            "ridge/test_fit.py::test_rows_of_the_split_choose_nothing_in_the_fit_before_it",
        ),
    ),
    Mutant(
        "a series' own errors do not count",
        "judging/weights.py",
        "weigh_series",
        "logs - mean_logs",
        "0 * logs",
        ("judging/test_weights.py",),
    ),
    Mutant(
        "a member that errs far more than others is left a hundredth",
        "judging/weights.py",
        "_with_joint_weights",
        "mean_logs.min() + np.log(1.5)",
        "mean_logs.min() + np.log(1e9)",
        (
            "judging/test_weights.py::test_who_errs_far_more_than_the_others_has_no_part_in_a_large_panel",
        ),
    ),
    Mutant(
        "members before a new one keep all of their weight",
        "judging/weights.py",
        "weigh_steps",
        "(1 - share) * weight",
        "weight",
        (
            "judging/test_fit.py::test_a_later_member_gains_on_the_joint_forecast_of_those_before",
        ),
    ),
    Mutant(
        "on random walks any gain counts",
        "judging/plan.py",
        "doubt_of",
        "last_value > _WALK",
        "False",
        (
            "judging/test_fit.py::test_trees_have_to_gain_surely_where_the_target_is_a_random_walk",
        ),
    ),
    Mutant(
        "sums of windows side by side are those of the first one",
        "ridge/runs.py",
        "sum_products",
        "_ends(rows[n:], n_first, length) - _ends(rows, n_first, length)",
        "0.0",
        ("ridge/test_runs.py::test_products_are_those_of_windows",),
    ),
    Mutant(
        "missing truths count in runs of windows",
        "ridge/candidates.py",
        "Competition.learn",
        "self._weighs_alike(run) and self._affords_runs",
        "self._affords_runs",
        (
            "ridge/test_runs.py::test_missing_truths_count_nothing_and_their_runs_are_laid_out",
        ),
    ),
    Mutant(
        "new series have the size of usual ones",
        "rolling/own_size.py",
        "_gain",
        "np.where(has_zero | is_far, gain, 1.0)",
        "np.ones_like(gain)",
        (
            "rolling/test_own_size.py::test_a_price_does_to_a_new_series_what_it_does_to_others",
        ),
    ),
    Mutant(
        "the size of a new series is that of later rows",
        "rolling/own_size.py",
        "InOwnSize._forecast_resized",
        "slice(max(begin, end - self.seq_len), end)",
        "slice(begin, end + self.seq_len)",
        ("rolling/test_own_size.py::test_its_size_is_not_known_before_it_is_seen",),
    ),
    Mutant(
        "sizes of errors of new series stay those of usual ones",
        "intervals/forecaster.py",
        "IntervalForecaster.restored",
        "np.log(size.gain)[:, None]",
        "0.0",
        (
            "rolling/test_own_size.py::test_what_is_ten_times_as_large_has_a_forecast_ten_times_as_large",
        ),
    ),
    Mutant(
        "the first step beyond pred_len has the size of the last one before",
        "intervals/forecaster.py",
        "IntervalForecaster.intervals_of",
        "outputs[:, :, 2] < self.sizes.pred_len",
        "outputs[:, :, 2] <= self.sizes.pred_len",
        (
            "intervals/test_ranges.py::test_steps_beyond_one_forecast_are_looked_at_when_one_is_asked_for",
        ),
    ),
    Mutant(
        "rows after the fit say how large errors beyond pred_len are",
        "intervals/calibration.py",
        "Calibration.with_steps_beyond",
        "self._as_fitted(forecaster)",
        "forecaster",
        (
            "intervals/test_ranges.py::test_ranges_are_those_of_the_fit_whenever_they_are_asked_for",
        ),
    ),
    Mutant(
        "rows that are not known lie behind a collapse that has ended",
        "classical/collapses.py",
        "_find_collapse",
        "np.count_nonzero(~np.isnan(distance[last + 1 :]))",
        "len(distance) - 1 - last",
        ("classical/test_collapses.py", "classical/test_level_steps.py"),
    ),
    Mutant(
        "a step has to show in the last rows of a window, known or not",
        "classical/steps.py",
        "_lasts",
        "_last_known(past)",
        "np.tile(past.n_rows - _FEWEST + np.arange(_FEWEST), (len(height), 1))",
        ("classical/test_steps.py", "classical/test_level_steps.py"),
    ),
    Mutant(
        "weeks are as long as days",
        "timeline/clock.py",
        "WallClock._grid",
        "7 * weeks",
        "weeks",
        ("timeline/test_clock.py",),
    ),
    Mutant(
        "graphs forecast new series in the size of usual ones",
        "export/forecast.py",
        "ExportedForecast._size_of",
        "self.own_size is None",
        "True",
        (
            "export/test_exporting.py::test_a_panel_has_scales_vectors_and_trust_of_each_series",
        ),
    ),
    Mutant(
        "windows behind a standstill count amid a season",
        "intervals/calibration.py",
        "_without_standstill",
        "(changes < STILL) & (latest >= STILL)",
        "(changes < -1) & (latest >= STILL)",
        (
            "intervals/test_short_series.py::"
            "test_a_season_that_began_out_of_nothing_says_nothing_of_what_comes_amid_it",
        ),
    ),
    Mutant(
        "means of rare sales are chosen by absolute errors",
        "classical/fit.py",
        "fit_classical",
        '"mean" if of_mean else "median"',
        '"" if of_mean else "median"',
        ("classical/test_fit.py::test_means_of_rare_sales_are_those_of_many_rows",),
    ),
    Mutant(
        "trees that see no more have all of the share of few forecasts",
        "judging/plan.py",
        "part_of_trees",
        "n_forecasts / MOST_STRETCHES",
        "1.0",
        (
            "judging/test_fit.py::test_trees_that_see_no_more_get_a_part_of_the_share_of_few_stretches",
            "judging/test_weights.py::test_trees_of_a_short_table_get_a_part_of_their_weight",
        ),
    ),
    Mutant(
        "trees of short tables have all of their weight",
        "judging/fit.py",
        "EnsembleFit._weigh_by_series",
        "self._series_weights(proof, prior=prior, parts=parts)",
        "self._series_weights(proof, prior=prior)",
        (
            "judging/test_weights.py::test_trees_of_a_short_table_get_a_part_of_their_weight",
        ),
    ),
    Mutant(
        "what a doubted member does not get goes to it again",
        "judging/weights.py",
        "weigh_series",
        "np.where(part < 1, -np.inf, log_weights)",
        "log_weights",
        (
            "judging/test_weights.py::test_a_member_has_a_part_of_its_weight_and_the_others_share_the_rest",
        ),
    ),
    Mutant(
        "a member that is left out keeps its weight",
        "judging/leaderboard.py",
        "_without",
        "other != name",
        "True",
        (
            "judging/test_leaderboard.py::test_without_a_member_the_others_have_its_weight",
        ),
    ),
]

#: Numbers come back in the units in which they came.
UNITS = [
    Mutant(
        "a series that is unknown before the split has the others' size",
        "estimators/target_transform.py",
        "fit_scale",
        "np.where(first_known(table.missing, first_row) < split, split, stop)",
        "split",
        ("estimators/test_panels.py::test_a_late_series_has_a_size_of_its_own",),
    ),
    Mutant(
        "forecasts of logarithms are medians",
        "timeline/target_scale.py",
        "TargetScale.inverse",
        "values + self.smear[series, :n_targets]",
        "values",
        (
            "timeline/test_scaling.py",
            "estimators/test_target_transform.py::test_means_are_back_transformed_without_bias",
        ),
    ),
    Mutant(
        "quantiles of logarithms are made means",
        "timeline/scaling.py",
        "Scaler.inverse_without_smearing",
        "replace(self, targets=plain)",
        "self",
        ("intervals/test_ranges.py::test_quantiles_of_logarithms_are_no_means",),
    ),
    Mutant(
        "counts are forecast below zero",
        "timeline/target_scale.py",
        "TargetScale.inverse",
        "np.maximum(values, floor)",
        "values",
        (
            "estimators/test_target_transform.py::test_what_never_was_below_zero_is_not_forecast_there",
        ),
    ),
    Mutant(
        "rounding goes by the largest series of a panel",
        "timeline/target_scale.py",
        "_is_negative",
        "least < -1e-9 * np.fmax(largest, 0.0)",
        "least < -1e-9 * np.nanmax(largest)",
        (
            "estimators/test_panels.py::test_a_small_series_below_zero_beside_a_large_one_stays_there",
        ),
    ),
    Mutant(
        "the network reads a forecast in other units than its window",
        "model/informer.py",
        "Informer._forecast",
        "norm.normalise_forecast(future, statistics)",
        "future",
        (
            "model/test_linear_path.py::test_a_correction_goes_with_its_window_level_and_all",
        ),
    ),
    Mutant(
        "a user's forecaster is given standardised values",
        "ensemble/user_forecaster.py",
        "UserForecaster._histories",
        "units.take([i]).inverse_transform(values)[0]",
        "values[0]",
        ("ensemble/test_user_forecaster.py",),
    ),
    Mutant(
        "a user's forecaster sees the row that it forecasts",
        "ensemble/user_forecaster.py",
        "UserForecaster._histories",
        "zip(begin, windows.origins, strict=True)",
        "zip(begin, windows.origins + 1, strict=True)",
        ("ensemble/test_user_forecaster.py",),
    ),
    Mutant(
        "a new series has the size of the last one",
        "timeline/scaling.py",
        "Scaler.with_unseen",
        "np.vstack([self.scale, scale])",
        "np.vstack([self.scale, self.scale[-1:]])",
        ("timeline/test_scaling.py",),
    ),
    Mutant(
        "an exported graph forgets means of logarithms",
        "export/units.py",
        "Units.restore",
        "fed_back + of_windows['smear']",
        "fed_back",
        (
            "export/test_exporting.py::test_an_exported_model_forecasts_what_forecast_does",
        ),
    ),
]

#: Rows have their own times.
TIMESTAMPS = [
    Mutant(
        "a week has seven hours",
        "timeline/cycle.py",
        "find_cycle",
        "places[name] += n_times * number",
        "places[name] += number",
        ("timeline/test_cycle.py::test_hours_have_the_cells_of_their_wall",),
    ),
    Mutant(
        "maps turn by the hour of the last row",
        "ridge/phases.py",
        "_residuals",
        "problem.cycle.of_row[windows.origins]",
        "problem.cycle.of_row[windows.origins - 1]",
        (
            "ridge/test_phases.py::test_maps_are_ridges_of_what_blends_leave_that_have_not_seen_it",
        ),
    ),
    Mutant(
        "maps turn by the last hour ahead",
        "ridge/linear_path.py",
        "LinearPath._turned",
        "calendar[:, 0]",
        "calendar[:, -1]",
        (
            "model/test_phase_maps.py::test_what_is_added_is_that_of_the_first_hour_ahead",
        ),
    ),
    Mutant(
        "of a repeated hour the second is meant",
        "timeline/clock.py",
        "_on_the_clock",
        "np.ones(len(wall), dtype=bool)",
        "np.zeros(len(wall), dtype=bool)",
        ("timeline/test_clock.py::test_a_repeated_wall_time_means_the_first",),
    ),
    Mutant(
        "summer time is not on the wall",
        "timeline/clock.py",
        "ElapsedClock.wall_steps",
        "on_the_wall.to_numpy(dtype=np.int64)[steps - first]",
        "steps",
        ("timeline/test_clock.py::test_the_wall_is_an_hour_ahead_from_the_change_on",),
    ),
    Mutant(
        "blocks begin anywhere",
        "rolling/blocks.py",
        "block_starts",
        "anchor + (steps - anchor) // pred_len * pred_len",
        "steps // pred_len * pred_len",
        ("rolling/test_blocks.py::test_rolling_is_the_naive_loop",),
    ),
    Mutant(
        "served rows are read in their own time zone",
        "serving/windows.py",
        "_in_zone",
        "time.tz_convert(tz)",
        "time",
        (
            "serving/test_windows.py",
            "export/test_exporting.py::test_hours_keep_the_clock_on_the_wall_through_daylight_saving",
        ),
    ),
]

#: Ranges cover what they are asked to.
INTERVALS = [
    Mutant(
        "each side of an interval leaves out what both should",
        "estimators/intervals.py",
        "IntervalsMixin.predict_interval",
        "(1 - check_coverage(coverage)) / 2",
        "1 - check_coverage(coverage)",
        ("intervals/test_ranges.py::test_intervals_cover_what_they_are_asked_to",),
    ),
    Mutant(
        "ranges know the error of the forecast that they belong to",
        "intervals/runs.py",
        "trailing_origins",
        "np.arange(1, N_TRAILING + 1)",
        "np.arange(N_TRAILING)",
        ("intervals/test_runs.py::test_earlier_forecasts_ended_before_the_origin",),
    ),
    Mutant(
        "few errors tell as much as many",
        "intervals/residuals.py",
        "Residuals._spread_out",
        "(found[:-1] - median) * widening",
        "found[:-1] - median",
        (
            "intervals/test_residuals.py::test_few_forecasts_make_wider_ranges_by_students_law",
        ),
    ),
    Mutant(
        "errors of forecasts alike are believed without a proof",
        "intervals/levels.py",
        "level_shares",
        "np.array(SHARES)[best]",
        "np.array(SHARES)[[20 - share for share in best]]",
        (
            "intervals/test_levels.py::test_errors_that_go_by_the_level_are_told_from_those_that_do_not",
        ),
    ),
    Mutant(
        "blocks of time are judged by themselves",
        "intervals/levels.py",
        "level_shares",
        "residuals.some(block != number)",
        "residuals.some(block == number)",
        ("intervals/test_levels.py::test_noise_is_not_taken_for_a_level",),
    ),
    Mutant(
        "a target's own errors choose nothing in its blend",
        "ridge/blend.py",
        "errors_by_target",
        "_in_least_errors(own)",
        "of_all",
        ("ridge/test_fit.py::test_an_exact_column_is_exact_beside_noise",),
    ),
    Mutant(
        "errors on rows that were learnt count as they are",
        "intervals/calibration.py",
        "_as_unseen",
        "errors[:n] *= optimism",
        "pass",
        ("intervals/test_ranges.py::test_optimism_makes_errors_of_fitted_rows_larger",),
    ),
    Mutant(
        "what fills a gap has sizes of errors that nobody reads",
        "intervals/forecaster.py",
        "_SizedWindows._with_earlier",
        "trailing[~np.isin(origins, self.asked)] = -1",
        "pass",
        ("intervals/test_ranges.py::test_what_fills_a_gap_needs_no_size",),
    ),
    Mutant(
        "the windows that are asked for have no sizes of errors before them",
        "intervals/forecaster.py",
        "_SizedWindows._with_earlier",
        "trailing[~np.isin(origins, self.asked)] = -1",
        "trailing[:] = -1",
        ("intervals/test_ranges.py::test_ranges_widen_as_update_brings_wilder_times",),
    ),
    Mutant(
        "levels are turned round by a transformer that falls",
        "intervals/forecaster.py",
        "Intervals.quantiles",
        "np.where(is_decreasing, mirrored, residuals)",
        "residuals",
        (
            "intervals/test_ranges.py::test_a_transformer_that_falls_turns_no_level_round",
        ),
    ),
]

#: No file is taken for something else.
FILES = [
    Mutant(
        "a file need not be what was written",
        "persistence/container.py",
        "read_content",
        "n_read != len(body) or _digest(length, text, body) != stated",
        "n_read != len(body)",
        ("persistence/test_damage.py::test_no_byte_can_change_unseen",),
    ),
    Mutant(
        "numbers of a file may be none",
        "persistence/checks.py",
        "FieldCheck._check_numbers",
        "not np.isfinite(value).all()",
        "False",
        ("persistence/test_damage.py::test_a_forged_calendar_is_refused",),
    ),
    Mutant(
        "a write that fails leaves a part",
        "persistence/atomic.py",
        "replacing",
        "temporary.unlink(missing_ok=True)",
        "pass",
        (
            "training/test_damage.py::test_a_failed_write_keeps_the_old_state_and_leaves_no_file",
        ),
    ),
    Mutant(
        "a checkpoint of another fit goes on",
        "training/checkpoint.py",
        "load",
        "stored.get(name) != fingerprint.get(name)",
        "False",
        ("training/test_checkpoint.py::test_another_fit_is_refused_by_name",),
    ),
    Mutant(
        "a checkpoint may run code",
        "training/checkpoint.py",
        "load",
        "torch.load(file, map_location='cpu', weights_only=True)",
        "torch.load(file, map_location='cpu', weights_only=False)",
        ("training/test_damage.py::test_a_file_cannot_run_code",),
    ),
]

#: No forecast is what none may be.
BOUNDS = [
    Mutant(
        "a wild member has its whole share in the forecast",
        "ensemble/ensemble.py",
        "EnsembleForecaster._predict_members",
        "self.bounds.limit(y_pred, chosen)",
        "y_pred",
        (
            "ensemble/test_ensemble.py::test_each_member_is_limited_before_it_is_weighed",
        ),
    ),
    Mutant(
        "forecasts leave what was seen",
        "bounds/bounds.py",
        "Bounds.limit",
        "self.reach.apply(y_pred, windows.series, windows.observed_range)",
        "y_pred",
        ("bounds/test_bounds.py::test_a_member_keeps_near_what_was_seen",),
    ),
    Mutant(
        "an exported graph leaves what was seen",
        "export/forecast.py",
        "ExportedForecast._limit",
        "self.bounds.limit(found[name], window, known, bounds)",
        "found[name]",
        ("export/test_bounds.py::test_what_rises_out_of_what_was_seen_is_held",),
    ),
    Mutant(
        "an exported graph is lit at night",
        "export/forecast.py",
        "ExportedForecast._forecast",
        "self.bounds.zeros(mean, ahead, steps_ahead, row, bounds)",
        "mean",
        ("export/test_bounds.py::test_nights_are_dark",),
    ),
    Mutant(
        "forecasts stand in the history where nothing is ever observed",
        "rolling/forecaster.py",
        "StepForecaster._filled",
        "self._recursive_forecaster(forecast, closed)",
        "self._recursive_forecaster(forecast, None)",
        ("estimators/test_ordinary.py::test_a_closed_step_holds_what_was_before_it",),
    ),
    Mutant(
        "nights of one clock are those of another",
        "bounds/bounds.py",
        "Bounds.on_clock",
        "replace(self, zero_phases=None, closed=None, clock=clock)",
        "self",
        (
            "bounds/test_bounds.py::test_a_night_is_zero_on_the_clock_of_the_history_alone",
        ),
    ),
    Mutant(
        "what is closed ahead is open where nights are dark",
        "bounds/bounds.py",
        "Bounds.zeros",
        "found.append(self.closed_ahead.at(values, series))",
        "found.append(self.closed_ahead.at(values, series) & False)",
        ("bounds/test_bounds.py::test_a_column_known_ahead_tells_what_is_closed",),
    ),
    Mutant(
        "dates that are closed every year are forecast open",
        "bounds/bounds.py",
        "Bounds.zeros",
        "found.append(self.closed_dates.at(self.clock, series, steps))",
        "found.append(self.closed_dates.at(self.clock, series, steps) & False)",
        (
            "export/test_bounds.py::test_dates_at_which_it_is_closed_every_year_close_a_graph_too",
        ),
    ),
    Mutant(
        "zeros of a closure of every year are rows as others are",
        "cleaning/closures.py",
        "Closures.in_rows",
        "self.dates.in_rows(table)",
        "False",
        ("cleaning/test_closed_dates.py::test_rows_after_the_fit_may_be_closed",),
    ),
    Mutant(
        "a closure that was open this year is one",
        "cleaning/closed_dates.py",
        "_Days.close_together",
        "is_open_now.sum() <= _MOST_OPEN",
        "is_open_now.sum() >= 0",
        (
            "cleaning/test_closed_dates.py::test_a_year_that_was_open_says_that_it_is_no_rule",
        ),
    ),
    Mutant(
        "zeros of a closure of every year are none in a graph",
        "export/bounds.py",
        "ExportedBounds.without_closures",
        "self._without_dates(rows, steps, row, n_targets)",
        "rows",
        (
            "export/test_bounds.py::test_dates_at_which_it_is_closed_every_year_close_a_graph_too",
        ),
    ),
    Mutant(
        "windows that have not seen a season count as those that have",
        "intervals/runs.py",
        "earliest_origins",
        "np.maximum.reduce([context, one, two])",
        "np.maximum(context, two)",
        (
            "intervals/test_short_series.py::test_windows_that_have_not_seen_a_season_do_not_widen_ranges",
        ),
    ),
    Mutant(
        "what is always zero has the quantiles of recent rows",
        "intervals/forecaster.py",
        "IntervalForecaster.set_constant",
        "outputs[where, 3:] = value[where][:, None]",
        "outputs[where, 3:] += 0",
        ("intervals/test_recent.py::test_what_is_always_zero_stays_zero",),
    ),
    Mutant(
        "points exceed the ceiling of their quantiles",
        "rolling/forecaster.py",
        "StepForecaster.in_units",
        "self.bounds.below_ceilings(in_units, places.series)",
        "in_units",
        (
            "intervals/test_ceilings.py::test_points_stay_below_the_ceiling_as_their_bounds_do",
        ),
    ),
    Mutant(
        "an exported graph exceeds a ceiling",
        "export/forecast.py",
        "ExportedForecast._forecast",
        "self.bounds.below_ceilings(unbounded, bounds)",
        "unbounded",
        ("export/test_bounds.py::test_a_rate_near_its_ceiling_is_what_predict_says",),
    ),
    Mutant(
        "nights and seasons are rare sales",
        "classical/fit.py",
        "find_rare",
        "_shares_of_zeros(after_sales) > share / 2",
        "share > 0.5",
        ("classical/test_fit.py::test_goods_of_one_season_are_not_rare",),
    ),
]
#: Sums over months are divided by what their days do, and forecasts multiplied by it again.
MONTHS = [
    Mutant(
        f"months are {what}",
        path,
        function,
        old,
        new,
        (f"estimators/test_months.py::{test}",),
    )
    for what, path, function, old, new, test in [
        (
            "not put on forecasts",
            "intervals/forecaster.py",
            "IntervalForecaster.forecasts",
            "return places.with_months(bounded)",
            "return bounded",
            "test_forecasts_and_intervals",
        ),
        (
            "not put on paths",
            "estimators/intervals.py",
            "IntervalsMixin._draw_paths",
            "return places.with_months(paths)",
            "return paths",
            "test_paths",
        ),
        (
            "not taken off rows of predict",
            "rolling/forecaster.py",
            "StepForecaster.observe",
            "self.months.taken_off(table)",
            "table",
            "test_later_rows_are_read_and_forecast",
        ),
        (
            "not taken off rows of update",
            "rolling/forecaster.py",
            "StepForecaster.appended",
            "self.months.taken_off(table)",
            "table",
            "test_updates",
        ),
        (
            "not put on what graphs forecast",
            "export/forecast.py",
            "ExportedForecast.forward",
            "return forecast * ahead, fed_back * ahead",
            "return forecast, fed_back * ahead",
            "test_exported_graphs",
        ),
    ]
]

MUTANTS = [
    *CAUSALITY,
    *JUDGING,
    *UNITS,
    *MONTHS,
    *BOUNDS,
    *TIMESTAMPS,
    *INTERVALS,
    *FILES,
]


def source_of(mutant, root=ROOT):
    """Return the path of a mutant's file, and what it makes of it."""
    path = root / "skinformer" / mutant.path
    return path, mutant.apply(path.read_text(encoding="utf-8"))


def run(mutant, tests):
    """Run tests in a copy with a mutant, or without one; return pytest's exit status."""
    text = io.StringIO()
    with tempfile.TemporaryDirectory() as name, contextlib.redirect_stdout(text):
        folder = Path(name)
        for part in ("skinformer", "tests"):
            shutil.copytree(ROOT / part, folder / part)  # what is compiled stays valid
        for file in ("pyproject.toml", "conftest.py"):
            shutil.copy(ROOT / file, folder)
        if mutant is not None:
            path, changed = source_of(mutant, folder)
            path.write_text(changed, encoding="utf-8")
        os.chdir(folder)
        sys.path[0] = str(folder)
        options = ["-q", "-x", "-p", "no:cacheprovider"]
        status = int(pytest.main([*options, *(f"tests/{test}" for test in tests)]))
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
    """Return the mutants that the tests let pass."""
    # Forked processes have them, and of this package nothing but their copy.
    for name in HEAVY:
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
    """Apply the chosen mutants and return whether any survived."""
    parser = argparse.ArgumentParser(
        description="Break rules one at a time; tests must notice."
    )
    parser.add_argument(
        "words", nargs="*", help="part of a mutant's name; none for all mutants"
    )
    parser.add_argument("--jobs", type=int, default=1, help="mutants tried at a time")
    given = parser.parse_args()
    words = given.words or [""]
    chosen = [
        mutant for mutant in MUTANTS if any(word in mutant.name for word in words)
    ]
    if not chosen:
        raise LookupError(f"no mutant's name holds one of {given.words}")
    for mutant in chosen:
        source_of(mutant)
    alive = survivors(chosen, given.jobs)
    sys.stdout.write(f"{len(chosen)} mutants, {len(alive)} survived\n")
    for mutant in alive:
        sys.stdout.write(f"survived: {mutant.name} ({mutant.path})\n")
    return min(len(alive), 1)


if __name__ == "__main__":
    sys.exit(main())
