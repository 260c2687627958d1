"""The blend is chosen ahead of what it learnt from, and is one linear map in the end."""

import dataclasses
import itertools
import tracemalloc

import numpy as np
import pytest

from skinformer.ridge import calendar
from skinformer.ridge import fit as fitting
from skinformer.ridge.calendar import known_effect
from skinformer.ridge.candidates import Competition
from skinformer.ridge.fit import fit_linear_path
from skinformer.ridge.sums import STRENGTHS, Problem, WindowDistances, gather
from skinformer.timeline.cycle import find_cycle

SEQ, PRED = 12, 4


def make_problem(
    values,
    *,
    n_targets=1,
    n_known=0,
    weight=None,
    missing=None,
    seq_len=SEQ,
    pred_len=PRED,
):
    values = np.asarray(values, dtype=float)
    values = values[:, None] if values.ndim == 1 else values
    effect = np.zeros((n_known, n_targets))
    if missing is None and weight is not None:
        missing = weight <= 0
    return Problem(values, weight, missing, n_targets, seq_len, pred_len, effect)


def origins_of(problem):
    return np.arange(problem.seq_len, len(problem.values) - problem.pred_len + 1)


def fit(problem, *, split=None, refit=False):
    """Fit a single series, each row at the step of its number."""
    origins = origins_of(problem)
    if split is not None:  # as the estimator does: no window has targets on both sides
        origins = origins[(origins <= split - problem.pred_len) | (origins >= split)]
    return fit_linear_path(problem, origins, origins, split=split, refit=refit)[:2]


def forecast(found, problem, origins):
    """Apply the maps window by window."""
    k, n_known = problem.n_targets, len(found.effect)
    out = []
    for origin in origins:
        past = np.nan_to_num(problem.values[origin - problem.seq_len : origin]).astype(
            float
        )
        ahead = np.nan_to_num(
            problem.values[origin : origin + problem.pred_len]
        ).astype(float)
        if n_known:
            past[:, :k] -= past[:, -n_known:] @ found.effect
        distance, last = past - past[-1], past[-1]
        own = [distance[:, j] @ found.own[j % len(found.own)] for j in range(k)]
        one = last[:k] + np.stack(own, axis=1)
        if found.mixed_len:
            recent = distance[problem.seq_len - found.mixed_len :]
            features = np.array([*recent.ravel(), *last, 1.0])
            one = one + (features @ found.mixed).reshape(problem.pred_len, k)
        if n_known:
            one = one + ahead[:, -n_known:] @ found.effect
        out.append(one)
    return np.array(out)


def truth(problem, origins):
    ahead = origins[:, None] + np.arange(problem.pred_len)
    return problem.values[ahead][..., : problem.n_targets]


def relative_error(found, problem, origins=None):
    """Give the forecasts' error over that of the last value."""
    origins = origins_of(problem) if origins is None else origins
    actual = truth(problem, origins)
    last = problem.values[origins - 1][:, None, : problem.n_targets]
    error = ((forecast(found, problem, origins) - actual) ** 2).mean()
    return np.sqrt(error / ((last - actual) ** 2).mean())


def noisy_walk(n=200, n_columns=1, seed=0):
    noise = np.random.default_rng(seed).normal(size=(n, n_columns))
    wave = np.sin(np.arange(n)[:, None] / 4 + np.arange(n_columns))
    return 0.2 * noise.cumsum(axis=0) + wave + 0.1 * noise


def same_maps(one, two, **tolerance):
    for name in ("own", "mixed", "effect"):
        a, b = getattr(one, name), getattr(two, name)
        if a is None or b is None:
            assert a is b
        else:
            np.testing.assert_allclose(a, b, **tolerance)


@pytest.fixture
def same_choice(monkeypatch):
    """Let all candidates count alike, so that only what was learnt can differ."""

    def strengths(stretches, n_strengths):
        return np.full(len(stretches[0]) // n_strengths, 2)

    def weights(stretches, chosen, **_):
        return np.full(len(chosen), 1 / len(chosen))

    monkeypatch.setattr(fitting, "choose_strengths", strengths)
    monkeypatch.setattr(fitting, "choose_weights", weights)


# --- what is found ----------------------------------------------------------------------------


def test_a_wave_is_continued():
    """A sum of sines is a linear function of its past."""
    t = np.arange(300)
    problem = make_problem(np.sin(t / 3) + 0.5 * np.sin(t / 1.7 + 1))
    found, _ = fit(problem)
    assert relative_error(found, problem) < 0.02


def test_a_ramp_is_continued():
    """The map must reach beyond the range that it has seen."""
    problem = make_problem(np.linspace(-1.7, 1.7, 400))
    found, _ = fit(problem)
    later = make_problem(np.linspace(-1.7, 1.7, 400) + 30)
    assert relative_error(found, later) < 0.2


def test_a_random_walk_is_left_where_it_is():
    """Nothing beats the last value there; the price of having tried must be small."""
    ratios = []
    for seed in range(6):
        steps = np.random.default_rng(seed).normal(size=1600)
        problem = make_problem(steps.cumsum() / 10)
        found, _ = fit(problem._replace(values=problem.values[:400]))
        ratios.append(relative_error(found, problem, np.arange(420, 1590)))
    assert np.mean(ratios) < 1.03


def test_noise_is_forecast_by_about_its_mean():
    """The mean of twelve values errs by 4 % more than the true one; a forecast may cost 2 more."""
    values = np.random.default_rng(0).normal(size=3000)
    problem = make_problem(values)
    found, _ = fit(problem._replace(values=problem.values[:1000]))
    origins = np.arange(1020, 2990)
    error = ((forecast(found, problem, origins) - truth(problem, origins)) ** 2).mean()
    assert np.sqrt(error) < 1.06


def test_a_column_that_leads_is_found():
    """What the window of the target alone cannot say, another column may."""
    lead = np.random.default_rng(0).normal(size=404)
    values = np.column_stack([lead[:-4], lead[4:]])  # the target follows in four steps
    problem = make_problem(values)
    found, _ = fit(problem)
    assert relative_error(found, problem) < 0.1
    assert any("mixed" in name and weight > 0.5 for name, weight in found.blend.items())


@pytest.mark.parametrize("rest", ["nothing", "constant", "wave"])
def test_the_effect_of_columns_known_ahead_is_recovered(rest):
    """A price acts on the demand of its own day, and the maps see what remains."""
    t = np.arange(400)
    known = np.random.default_rng(0).normal(size=(400, 2))
    more = {"nothing": 0 * t, "constant": 0 * t + 3.0, "wave": np.sin(t / 3)}[rest]
    problem = make_problem(
        np.column_stack([known @ [0.7, -0.3] + more, known]), n_known=2
    )
    found, _ = fit(problem)
    np.testing.assert_allclose(found.effect[:, 0], [0.7, -0.3], atol=0.03)
    assert relative_error(found, problem) < (0.06 if rest == "wave" else 2e-3)


def test_each_target_has_effects_of_its_own():
    """Two products may answer to one price in opposite ways."""
    known = np.random.default_rng(0).normal(size=(400, 1))
    values = np.column_stack([known, -2 * known, known])
    found, _ = fit(make_problem(values, n_targets=2, n_known=1))
    np.testing.assert_allclose(found.effect, [[1.0, -2.0]], rtol=2e-3)


def test_missing_covariates_count_as_the_mean():
    """NaN must not spread into every map."""
    values = noisy_walk(200, 3)
    runs = values.copy()
    runs[::7, 1] = runs[::5, 2] = np.nan
    found, _ = fit(make_problem(runs, n_known=1))
    same_maps(
        found, fit(make_problem(np.nan_to_num(runs), n_known=1))[0], rtol=0, atol=0
    )


def test_the_maps_are_the_blend_of_the_candidates_forecasts(monkeypatch):
    """Folding many maps into one saves time and must change nothing else."""
    problem = make_problem(noisy_walk(200, 3), n_targets=2)
    competition = Competition(problem)
    [windows] = gather(problem, origins_of(problem))
    competition.learn(origins_of(problem))
    n = len(competition.candidates)
    weights = np.random.default_rng(0).dirichlet(np.ones(n), size=2)
    chosen = (np.arange(n) + np.array([[0], [3]])) % len(STRENGTHS)
    # Of each target in turn.
    strengths, shares = itertools.cycle(chosen), itertools.cycle(weights)
    monkeypatch.setattr(fitting, "choose_strengths", lambda *_: next(strengths))
    monkeypatch.setattr(fitting, "choose_weights", lambda *_, **__: next(shares))
    found, _ = fit(problem)
    expected = windows.last[:, None, :2] + np.zeros_like(windows.future)
    for candidate, equations in competition.equations():
        place = competition.candidates.index(candidate)
        forecasts = list(
            competition.forecasts(candidate, equations.decomposed(), windows)
        )
        for target in range(2):
            by_strength = forecasts[chosen[target, place]][..., target]
            expected[..., target] += weights[target, place] * by_strength
    found = forecast(found, problem, origins_of(problem))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("n", "sizes"),
    [
        (140, {}),
        # Several slices of a stretch, and so few windows that no map is solved for.
        pytest.param(6500, {"seq_len": 2, "pred_len": 2000}, marks=pytest.mark.slow),
    ],
)
def test_the_errors_by_which_candidates_count_are_those_of_their_forecasts(
    n, sizes, monkeypatch
):
    """A quadratic form of 90 forecasts is checked against forecasting."""
    weight = np.random.default_rng(1).integers(0, 3, size=(n, 2)).astype(float)
    missing = np.zeros((n, 2), dtype=bool)
    problem = make_problem(
        noisy_walk(n, 3), n_targets=2, weight=weight, missing=missing, **sizes
    )
    course = Course(monkeypatch)
    fit(problem)
    [stretches] = course.judged
    assert len(stretches) == 4
    # Of each target.
    errors = np.diagonal(stretches[-1], axis1=1, axis2=2)
    competition = Competition(problem)
    learnt, origins = course.compared[-1]
    competition.learn(learnt)
    windows = WindowDistances(
        *map(np.concatenate, zip(*gather(problem, origins), strict=True))
    )
    last = (windows.future**2 * windows.weight).sum(axis=(0, 1)) / windows.weight.sum()
    of_last = errors[:, : len(STRENGTHS)]
    np.testing.assert_allclose(
        of_last, np.repeat(last[:, None], len(STRENGTHS), axis=1), rtol=1e-5
    )
    for candidate, equations in competition.equations():
        first = competition.candidates.index(candidate) * len(STRENGTHS)
        ridges = equations.decomposed()
        for i, one in enumerate(competition.forecasts(candidate, ridges, windows)):
            residual = windows.future - one
            expected = (residual**2 * windows.weight).sum(axis=(0, 1))
            expected /= windows.weight.sum()
            np.testing.assert_allclose(errors[:, first + i], expected, rtol=1e-4)


def test_an_exact_column_is_exact_beside_noise():
    """Hours of daylight beside the wind: what is good for one is far off for the other."""
    t = np.arange(400)
    daylight = np.maximum(np.sin(2 * np.pi * t / 6 + 1), -0.5)
    noise = np.random.default_rng(0).normal(size=(400, 3))
    problem = make_problem(np.column_stack([daylight, noise]), n_targets=4)
    found, _ = fit(problem)
    later = np.arange(300, 390)
    error = np.abs(forecast(found, problem, later) - truth(problem, later))
    assert error[..., 0].mean() < 0.01
    assert error[..., 1:].mean() < 0.85  # that of 0 is 0.80


# --- apart ------------------------------------------------------------------------------------


def fit_apart(values):
    """Fit, and without each of three times."""
    problem = make_problem(values, n_targets=2)
    origins = origins_of(problem)
    return fit_linear_path(
        problem, origins, origins, split=None, refit=False, n_folds=3
    )


@pytest.mark.usefixtures("same_choice")
def test_what_is_fitted_apart_has_not_learnt_its_time_and_has_learnt_the_others():
    """The network's training would be shown residuals that forecasts never have."""
    values = noisy_walk(200, 3)
    first = fit_apart(values)
    ends = [end for end, _ in first.folds]
    assert ends == sorted(ends)
    assert ends[-1] == len(values) - PRED + 1
    begins = [SEQ, *ends[:-1]]
    assert (
        max(ends[i] - begins[i] for i in range(3))
        - min(ends[i] - begins[i] for i in range(3))
        <= 1
    )
    for number, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        other = values.copy()
        other[begin + PRED : end - SEQ] += 3.0  # in no window of another time
        again = fit_apart(other)
        for i in range(3):
            same = np.allclose(first.folds[i][1].own, again.folds[i][1].own, rtol=1e-9)
            assert same == (i == number)
        assert not np.allclose(first.before.own, again.before.own)


@pytest.mark.usefixtures("same_choice")
def test_what_is_fitted_apart_errs_more_on_its_time_than_who_has_learnt_it():
    """A fifth to a third of the error was missing from what networks learnt to correct."""
    values = np.random.default_rng(0).normal(size=(130, 2))
    problem = make_problem(values, n_targets=2)
    found, begin = fit_apart(values), SEQ
    for end, apart in found.folds:
        origins = np.arange(begin, end)
        assert relative_error(apart, problem, origins) > relative_error(
            found.before, problem, origins
        )
        begin = end


@pytest.mark.parametrize("is_small", [True, False])
@pytest.mark.parametrize("split", [None, 170])
def test_each_time_judges_who_has_learnt_all_others(split, is_small, monkeypatch):
    """Whoever has seen a time is no witness of how it would have forecast it."""
    monkeypatch.setattr(Competition, "is_small", lambda *_: is_small)
    problem = make_problem(noisy_walk(200, 3), n_targets=2)
    origins = origins_of(problem)
    kept = (
        origins
        if split is None
        else origins[(origins <= split - PRED) | (origins >= split)]
    )
    course = Course(monkeypatch)
    found = fit_linear_path(problem, kept, kept, split=split, refit=True, n_folds=3)
    assert len(course.compared) == 4 + 3
    assert len(course.judged[-1]) == 4 + 3  # the newest stretches may be one season
    training = kept if split is None else kept[kept < split]
    ends = [end for end, _ in found.folds]
    for begin, end, (_, requested), sums in zip(
        [0, *ends[:-1]], ends, course.compared[4:], course.sums[4:], strict=True
    ):
        inside = (training >= begin) & (training < end)
        learnt = training[~inside]
        truths = np.unique(learnt[:, None] + np.arange(PRED))
        shared = np.isin(training[:, None] + np.arange(PRED), truths).any(axis=1)
        np.testing.assert_array_equal(requested, training[inside & ~shared])
        others = Competition(problem)
        others.learn(learnt)
        expected = [
            a for s in (others.columns, others.mixed) for a in (s.gram, s.cross)
        ]
        for mine, his in zip(sums, expected, strict=True):
            np.testing.assert_allclose(mine, his, rtol=1e-7, atol=1e-7)


def test_many_series_of_one_time_are_no_more_times(monkeypatch):
    """What is chance depends on how often the future was met, not on how many met it."""
    course = Course(monkeypatch)
    one = np.arange(SEQ, 97)
    problem = make_problem(
        np.concatenate([noisy_walk(100, 2, seed=i) for i in range(5)])
    )
    many = np.concatenate([one + 100 * i for i in range(5)])
    fit_linear_path(problem, one, one, split=None, refit=False)
    fit_linear_path(problem, many, np.tile(one, 5), split=None, refit=False)
    of_one, of_many = (np.unique(margins)[1] for _, margins in course.weighed)
    assert of_many == pytest.approx(of_one, rel=0.1)
    assert of_one == pytest.approx(0.5 * np.sqrt(PRED / (len(one) / 8)), rel=0.1)


def test_a_time_without_truth_does_not_vote():
    """A gap in the truth as long as a third of all rows is no perfect forecast."""
    values, weight = noisy_walk(300), np.ones((300, 1))
    weight[110:205] = 0
    problem = make_problem(values, weight=weight)
    origins = origins_of(problem)
    found = fit_linear_path(
        problem, origins, origins, split=None, refit=False, n_folds=3
    ).before
    assert sum(found.blend.values()) == pytest.approx(1, abs=1e-3)


def test_too_few_windows_are_not_parted():
    """A third of them must fill more than a window."""
    assert fit_apart(noisy_walk(3 * (SEQ + PRED) + SEQ + PRED - 2, 2)).folds == ()
    assert len(fit_apart(noisy_walk(3 * (SEQ + PRED) + SEQ + PRED - 1, 2)).folds) == 3


def test_windows_of_one_time_stay_together():
    """The series of a panel move together: one day's truths of one tell those of another."""
    values = np.concatenate([noisy_walk(100, 2)] * 2)
    problem = make_problem(values, n_targets=2)
    one = np.arange(SEQ, 97)
    origins, steps = np.concatenate([one, one + 100]), np.concatenate([one, one])
    before = fit_linear_path(
        problem, origins, steps, split=None, refit=False, n_folds=3
    )
    alone = fit_linear_path(
        problem._replace(values=values[:100]),
        one,
        one,
        split=None,
        refit=False,
        n_folds=3,
    )
    assert [end for end, _ in before.folds] == [end for end, _ in alone.folds]


# --- no leaks ---------------------------------------------------------------------------------


class Course:
    """What was learnt before each comparison, and what weights were chosen by, as it happened."""

    def __init__(self, monkeypatch):
        self.learnt, self.compared, self.sums = [], [], []
        self.judged, self.weighed = [], []
        learn, read = Competition.learn, fitting.gather
        errors_by_target = fitting.errors_by_target
        compare, choose_weights = fitting._compare, fitting.choose_weights

        def spy_learn(competition, origins):
            self.learnt.append(origins)
            return learn(competition, origins)

        def spy_compare(competition, origins):
            sums = competition.columns, competition.mixed
            self.sums.append([a.copy() for s in sums for a in (s.gram, s.cross)])
            return compare(competition, origins)

        def spy_read(problem, origins, n_most):
            self.compared.append((np.concatenate(self.learnt), origins))
            return read(problem, origins, n_most)

        def spy_judge(stretches):
            self.judged.append(list(stretches))
            return errors_by_target(stretches)

        def spy_choose(stretches, *args, margins):
            self.weighed.append((stretches, margins))
            return choose_weights(stretches, *args, margins=margins)

        monkeypatch.setattr(Competition, "learn", spy_learn)
        monkeypatch.setattr(fitting, "_compare", spy_compare)
        monkeypatch.setattr(fitting, "gather", spy_read)
        monkeypatch.setattr(fitting, "errors_by_target", spy_judge)
        monkeypatch.setattr(fitting, "choose_weights", spy_choose)


@pytest.mark.parametrize("split", [None, 160, 196])
@pytest.mark.parametrize("n_series", [1, 3])
def test_no_window_is_learnt_whose_targets_reach_into_a_stretch(
    split, n_series, monkeypatch
):
    """A candidate that has seen the answers wins without being good."""
    course, n = Course(monkeypatch), 200
    problem = make_problem(
        np.concatenate([noisy_walk(n, seed=i) for i in range(n_series)])
    )
    first = np.arange(n_series)[:, None] * n + np.arange(SEQ, n - PRED + 1)
    begin = np.arange(n_series)[:, None] * 7  # the series start at different times
    steps = (first - np.arange(n_series)[:, None] * n + begin).ravel()
    origins = first.ravel()
    if split is not None:
        kept = (steps <= split - PRED) | (steps >= split)
        origins, steps = origins[kept], steps[kept]
    fit_linear_path(problem, origins, steps, split=split, refit=True)
    time = dict(zip(origins.tolist(), steps.tolist(), strict=True))
    assert len(course.compared) == 4
    for learnt, compared in course.compared:
        last_target = max(time[o] for o in learnt.tolist()) + PRED - 1
        assert last_target < min(time[o] for o in compared.tolist())
        assert len(set(learnt.tolist())) == len(learnt)
    starts = [
        min(time[o] for o in compared.tolist()) for _, compared in course.compared
    ]
    assert starts == sorted(set(starts))
    # And everything before the split is learnt when it is compared on.
    if split is not None:
        assert starts[-1] == split
        assert len(course.compared[-1][0]) == (steps < split).sum()
    everything = np.concatenate(course.learnt)
    assert sorted(everything.tolist()) == sorted(origins.tolist())


@pytest.mark.parametrize("stretch", range(4))
@pytest.mark.parametrize("split", [None, 160])
def test_rows_from_a_stretch_on_do_not_reach_what_was_learnt_before_it(
    stretch, split, monkeypatch
):
    """The same, seen from the numbers: sums before the stretch are equal bit by bit."""
    problem = make_problem(noisy_walk(200, 2))
    courses = []
    for changed in (False, True):
        with monkeypatch.context() as patch:
            course = Course(patch)
            values = problem.values.copy()
            if changed:
                values[courses[0].compared[stretch][1].min() :] *= -9
            fit(problem._replace(values=values), split=split, refit=True)
            courses.append(course)
    for a, b in zip(courses[0].sums[stretch], courses[1].sums[stretch], strict=True):
        np.testing.assert_array_equal(a, b)


def test_rows_from_a_stretch_on_do_not_reach_the_effect_that_it_judges(monkeypatch):
    """Many columns known ahead explain any stretch that they were fitted to."""
    problem = make_problem(noisy_walk(200, 2), n_known=1)
    courses = []
    for changed in (False, True):
        with monkeypatch.context() as patch:
            course = Course(patch)
            values = problem.values.copy()
            if changed:
                values[courses[0].compared[0][1].min() :, 0] *= -9
            fit(problem._replace(values=values))
            courses.append(course)
    for a, b in zip(courses[0].sums[0], courses[1].sums[0], strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("n_known", [0, 1])
@pytest.mark.usefixtures("same_choice")
def test_the_tail_does_not_reach_the_maps_that_are_fitted_before_it(n_known):
    """The network is judged on the split, beside maps that must not have seen it."""
    values = noisy_walk(200, 3)
    changed = values.copy()
    changed[160:] *= -9
    (one, same), (two, _) = (
        fit(make_problem(v, n_known=n_known), split=160) for v in (values, changed)
    )
    assert one is same
    same_maps(one, two, rtol=0, atol=0)


def test_with_refit_the_first_maps_are_those_without():
    """The network is trained beside the same path either way."""
    problem = make_problem(noisy_walk(200, 3), n_known=1)
    before, after = fit(problem, split=160, refit=True)
    same_maps(before, fit(problem, split=160)[0], rtol=0, atol=0)
    assert not np.array_equal(before.own, after.own)


def test_rows_of_the_split_choose_nothing_in_the_fit_before_it():
    """They judge it beside other members; the blend of the final one goes by them, too."""
    values = noisy_walk(200, 3)
    other = values.copy()
    other[160:] = np.random.default_rng(1).normal(size=other[160:].shape)
    one, final = fit(make_problem(values, n_known=1), split=160, refit=True)
    two, other_final = fit(make_problem(other, n_known=1), split=160, refit=True)
    same_maps(one, two, rtol=0, atol=0)
    assert one.blend == two.blend
    assert final.blend != other_final.blend


@pytest.mark.usefixtures("same_choice")
def test_refit_solves_on_all_windows():
    """The newest rows say most about the rows to come."""
    problem = make_problem(noisy_walk(200, 3), n_targets=2)
    _, after = fit(problem, split=160, refit=True)
    origins = origins_of(problem)
    origins = origins[(origins <= 156) | (origins >= 160)]
    everything, *_ = fit_linear_path(problem, origins, origins, split=None, refit=False)
    same_maps(after, everything, rtol=1e-8, atol=1e-10)


def test_without_a_tail_both_are_the_same():
    """There is nothing to refit on."""
    before, after = fit(make_problem(noisy_walk()), refit=True)
    assert before is after


def test_a_tail_without_windows_is_learnt_around():
    """A split may be shorter than a forecast in some series."""
    problem = make_problem(noisy_walk(120))
    origins = np.arange(SEQ, 100)
    before, after, _ = fit_linear_path(problem, origins, origins, split=110, refit=True)
    same_maps(before, after, rtol=0, atol=0)
    assert relative_error(before, problem) < 1


# --- weights ----------------------------------------------------------------------------------


def test_rows_of_weight_0_that_no_counted_window_sees_do_not_matter():
    """The user has switched the outliers off, and the rows whose past they are."""
    values, weight = noisy_walk(300, 2), np.ones((300, 1))
    # A window that looks back at row 209 has truths up to SEQ + PRED - 1 rows later.
    weight[200 : 210 + SEQ + PRED] = 0
    wrong = values.copy()
    wrong[200:210] = 1e3
    one, two = (fit(make_problem(v, weight=weight))[0] for v in (values, wrong))
    same_maps(one, two, rtol=1e-9, atol=1e-12)
    assert one.blend == two.blend


@pytest.mark.parametrize("n_known", [0, 1])
def test_wrong_truths_of_weight_0_at_the_end_do_not_matter(n_known):
    """They are the context of no window."""
    values, weight = noisy_walk(200, 2), np.ones((200, 1))
    weight[-PRED:] = 0
    wrong = values.copy()
    wrong[-PRED:, 0] = 1e3
    one, two = (
        fit(make_problem(v, weight=weight, n_known=n_known))[0] for v in (values, wrong)
    )
    same_maps(one, two, rtol=0, atol=0)


def test_equal_weights_are_no_weights():
    """All ones are the default."""
    problem = make_problem(noisy_walk(200, 3), n_targets=2, n_known=1)
    one, two = fit(problem)[0], fit(problem._replace(weight=np.ones((200, 2))))[0]
    same_maps(one, two, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
@pytest.mark.parametrize("n_known", [0, 1])
def test_the_unit_of_the_weights_does_not_matter(n_known, factor):
    """Weights may come as shares that sum to 1."""
    weight = np.random.default_rng(0).uniform(0.5, 1.5, size=(200, 1))
    problem = make_problem(noisy_walk(200, 2), n_known=n_known, weight=weight)
    one, two = fit(problem)[0], fit(problem._replace(weight=weight * factor))[0]
    same_maps(one, two, rtol=1e-5, atol=1e-7)


too_much_missing = pytest.mark.xfail(
    reason="more than two fifths of the truths are missing: nothing is learnt of what may be held"
)


def some_missing(share):
    """Give a wave of 600 rows, and weights that are 0 at random."""
    t = np.arange(600)
    present = np.random.default_rng(0).random((600, 1)) > share
    return np.sin(t / 3) + 0.5 * np.sin(t / 1.7 + 1), present.astype(float)


def missing_by_the_clock():
    """Give a daily wave of 960 rows, and weights that are 0 in half of each day."""
    t = np.arange(960)
    wave = np.sin(2 * np.pi * t / 24) + 0.3 * np.sin(4 * np.pi * t / 24 + 1)
    return wave, (t % 24 < 12).astype(float)[:, None]


@pytest.mark.parametrize("share", [0.02, 0.1, 0.18, 0.3])
def test_truths_missing_at_random_cost_little(share):
    """Gaps are common; a wave with some of its truths missing is still a wave."""
    wave, weight = some_missing(share)
    problem = make_problem(wave, weight=weight)
    assert relative_error(fit(problem)[0], problem) < 0.1


@too_much_missing
def test_truths_missing_by_the_clock_cost_little():
    """Half of each day is missing: what is there is on the same map as ever."""
    wave, weight = missing_by_the_clock()
    problem = make_problem(wave, weight=weight)
    assert relative_error(fit(problem)[0], problem) < 0.1


@pytest.mark.parametrize("rows", [some_missing(0.6), missing_by_the_clock()])
@pytest.mark.parametrize("split", [None, 500])
def test_where_much_is_missing_the_last_value_is_repeated(split, rows):
    """What a map would learn there is to continue held values, which forecasts never see."""
    wave, weight = rows
    for found in fit(make_problem(wave, weight=weight), split=split, refit=True):
        assert found.blend["last"] == 1
        assert not found.own.any()


@pytest.mark.parametrize("share", [0.02, 0.1])
def test_held_values_are_not_learnt_where_enough_windows_are_whole(share):
    """In the rows of an estimator a missing truth repeats the one before it."""
    wave, weight = some_missing(share)
    held = wave.copy()
    for i in np.flatnonzero(weight[:, 0] == 0):
        held[i] = held[i - 1]
    assert (weight[1:] == 0).any()
    one, two = (fit(make_problem(values, weight=weight))[0] for values in (wave, held))
    same_maps(one, two, rtol=0, atol=0)
    assert relative_error(two, make_problem(wave)) < 0.1


@pytest.mark.parametrize("n_rows", [80, 400])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.05, 0.15, 0.3, 0.6])
def test_windows_to_learn_from_are_the_whole_ones_or_all_or_none(
    share, n_rows, monkeypatch
):
    """Whole ones if there are four to a row of a window, else all, or none if much is missing."""
    present = np.random.default_rng(1).random((n_rows, 2)) >= share
    problem = make_problem(
        noisy_walk(n_rows, 2), n_targets=2, weight=present.astype(float)
    )
    origins = origins_of(problem)
    spans = [present[o - SEQ : o + PRED] for o in origins]
    whole = np.array([span.all() for span in spans])
    if whole.sum() >= min(4 * SEQ, len(origins)):
        expected = whole
    else:
        expected = np.full(
            len(origins), np.mean([1 - span.mean() for span in spans]) <= 0.4
        )
    course = Course(monkeypatch)
    fit(problem)
    np.testing.assert_array_equal(np.concatenate(course.learnt), origins[expected])


# --- shapes and corners -----------------------------------------------------------------------


@pytest.mark.parametrize("n_columns", [1, 3])
def test_a_constant_series_stays_constant(n_columns):
    """No distances, no errors, nothing to divide by."""
    problem = make_problem(np.full((100, n_columns), 0.5))
    found, _ = fit(problem, split=80, refit=True)
    np.testing.assert_allclose(forecast(found, problem, origins_of(problem)), 0.5)
    assert sum(found.blend.values()) == pytest.approx(1, abs=1e-3)


def test_no_truth_at_all_repeats_the_last_value():
    """Nothing was compared and nothing learnt."""
    values = noisy_walk(100, 3)
    problem = make_problem(values, n_targets=2, n_known=1, weight=np.zeros((100, 2)))
    found, _ = fit(problem, split=80, refit=True)
    assert found.blend["last"] == sum(found.blend.values()) == 1
    for part in (found.own, found.mixed, found.effect):
        assert not part.any()


def test_no_truth_before_the_tail_repeats_the_last_value():
    """There is a truth to compare with, but none to learn from."""
    weight = np.zeros((100, 1))
    weight[80:] = 1
    found, _ = fit(make_problem(noisy_walk(100), weight=weight), split=80)
    assert not found.own.any()


@pytest.mark.parametrize("n_windows", [0, 1, 2, 3])
@pytest.mark.parametrize("split", [None, SEQ + PRED, 1000])
def test_a_few_windows_are_enough_to_fit(n_windows, split):
    """Where nothing can be compared, the last value is repeated."""
    problem = make_problem(noisy_walk(60, 3), n_targets=2, n_known=1)
    origins = np.arange(SEQ, SEQ + n_windows)
    for found in fit_linear_path(problem, origins, origins, split=split, refit=True)[
        :2
    ]:
        assert all(
            np.isfinite(part).all() for part in (found.own, found.mixed, found.effect)
        )
        if n_windows <= 1:
            assert found.blend["last"] == 1


@pytest.mark.parametrize("pred_len", [1, 7])
@pytest.mark.parametrize("seq_len", [1, 2, 50])
def test_more_rows_in_a_window_than_windows(seq_len, pred_len):
    """Short histories are the rule; the ridge must bound the map."""
    values = noisy_walk(seq_len + pred_len + 12, 2)
    problem = make_problem(values, seq_len=seq_len, pred_len=pred_len)
    found, _ = fit(problem)
    assert found.own.shape == (1, seq_len, pred_len)
    later = make_problem(noisy_walk(300, 2, seed=1), seq_len=seq_len, pred_len=pred_len)
    assert relative_error(found, later) < 2


def test_series_of_different_length_are_one_problem():
    """A panel: rows one series after the other, origins in any order, steps on one clock."""
    lengths, begin = [120, 40, SEQ + PRED, 90], [0, 60, 5, 30]
    values = np.concatenate([noisy_walk(n, 2, seed=n) for n in lengths])
    first = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    origins, steps = [], []
    for row, start, n in zip(first, begin, lengths, strict=True):
        inside = np.arange(SEQ, n - PRED + 1)
        origins += (row + inside).tolist()
        steps += (start + inside).tolist()
    origins, steps = np.array(origins), np.array(steps)
    kept = (steps <= 100 - PRED) | (steps >= 100)
    origins, steps = origins[kept], steps[kept]
    problem = make_problem(values, n_targets=2)
    one = fit_linear_path(problem, origins, steps, split=100, refit=True)
    assert relative_error(one[1], problem, origins) < 1
    order = np.argsort(steps, kind="stable")
    two = fit_linear_path(problem, origins[order], steps[order], split=100, refit=True)
    for a, b in zip(one[:2], two[:2], strict=True):
        same_maps(a, b, rtol=0, atol=0)


def test_a_stretch_without_truth_does_not_vote():
    """A gap in the truth as long as a stretch is no perfect forecast."""
    values, weight = noisy_walk(300), np.ones((300, 1))
    weight[155:215] = 0
    found, _ = fit(make_problem(values, weight=weight))
    assert sum(found.blend.values()) == pytest.approx(1, abs=1e-3)
    assert relative_error(found, make_problem(values)) < 1


@pytest.mark.parametrize(
    ("n", "sizes", "n_most"),
    [
        (2200, {}, 256),
        pytest.param(
            6500, {"seq_len": 2, "pred_len": 2000}, 250, marks=pytest.mark.slow
        ),
    ],
)
def test_of_a_long_stretch_some_windows_are_compared_evenly(
    n, sizes, n_most, monkeypatch
):
    """A million rows must not be forecast a hundred ways, nor a million values."""
    course = Course(monkeypatch)
    problem = make_problem(noisy_walk(n, 2), n_targets=2, **sizes)
    origins = origins_of(problem)
    fit_linear_path(
        problem, origins, origins, split=None, refit=False, n_folds=3 * (not sizes)
    )
    assert {len(compared) for _, compared in course.compared} == {n_most}
    for _, compared in course.compared:
        gaps = np.diff(compared)
        assert gaps.min() >= 0
        assert gaps.max() <= 2 * gaps.mean() + 2  # one in each of equal runs


@pytest.mark.parametrize(("n_columns", "rows"), [(1, 0), (2, 48)])
def test_the_rows_that_are_seen_together_are_read_off_the_map(n_columns, rows):
    """The torch module is built from nothing but the maps."""
    found, _ = fit(make_problem(noisy_walk(120, n_columns), seq_len=60))
    assert found.mixed_len == rows
    assert len(found.mixed) == ((rows + 1) * n_columns + 1) * bool(rows)


def test_the_same_rows_give_the_same_maps():
    """Nothing is drawn."""
    problem = make_problem(noisy_walk(200, 3), n_targets=2, n_known=1)
    same_maps(fit(problem)[0], fit(problem)[0], rtol=0, atol=0)


@pytest.mark.parametrize("split", [None, 70, 88])
def test_doubt_grows_as_the_shortest_stretch_shrinks(split, monkeypatch):
    """An error on few windows that overlap is one forecast, and says as much."""
    course, problem = Course(monkeypatch), make_problem(noisy_walk(100, 2))
    fit(problem, split=split)
    [(_, margins)] = course.weighed
    shortest = min(len(compared) for _, compared in course.compared)
    doubt = 0.5 * np.sqrt(PRED / shortest)
    # The last value has learnt nothing, and more weights have more to prove.
    expected = [candidate.margin for candidate in Competition(problem).candidates]
    assert sorted(set(expected)) == [0.0, 0.2]
    np.testing.assert_allclose(
        margins, [0.0, *(margin + doubt for margin in expected[1:])]
    )


@pytest.mark.slow
def test_many_targets_are_fitted_in_bounded_memory():
    """Kinds of candidates that need too much of it are left out; the others are fitted."""
    values = noisy_walk(200, 150).astype(np.float32)
    problem = make_problem(values, n_targets=150, seq_len=24, pred_len=12)
    tracemalloc.start()
    try:
        _, found = fit(problem, split=160, refit=True)
        used = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert used < 600e6
    assert {name.split(",")[0] for name in found.blend} == {
        "last",
        "shared",
        "per target",
        "mixed",
    }
    assert found.own.shape == (150, 24, 12)
    assert relative_error(found, problem) < 1


def test_columns_known_ahead_that_say_nothing_cost_little():
    """In the features mode any table of regressors is known ahead."""
    rng = np.random.default_rng(0)
    values = np.column_stack(
        [rng.normal(size=500).cumsum() / 6, rng.normal(size=(500, 40))]
    )
    problem = make_problem(values, n_known=40)
    found, _ = fit(problem._replace(values=values[:150]))
    assert relative_error(found, problem, np.arange(170, 490)) < 1.5


def test_a_series_that_explodes_in_the_tail_does_not_spoil_the_maps_of_all():
    """Their strengths were chosen where nothing like it was: they would follow it alone."""
    rng = np.random.default_rng(0)
    n_series, n = 20, 120
    t = np.arange(n)
    rows = np.sin(t * np.pi / 6 + rng.uniform(0, 6, n_series)[:, None])
    rows += 0.2 * rng.normal(size=rows.shape)
    rows[7, 105:] = 3000 * rng.uniform(size=15)
    problem = Problem(rows.reshape(-1, 1), None, None, 1, 24, 6, np.empty((0, 1)))
    places = np.arange(24, n - 5)
    origins = (np.arange(n_series)[:, None] * n + places).ravel()
    before, after, _ = fit_linear_path(
        problem, origins, np.tile(places, n_series), split=100, refit=True
    )
    assert not np.array_equal(before.own, after.own)
    np.testing.assert_allclose(after.own, before.own, atol=0.2)


@pytest.mark.parametrize(("cycle", "true_effect"), [(1.0, 0.0), (0.0, 1.5)])
def test_what_only_has_the_same_cycle_has_no_effect_beside_ridges(cycle, true_effect):
    """Temperature explains when streets are full as long as nothing has seen the day before."""
    rng = np.random.default_rng(0)
    t = np.arange(1500)
    day = np.sin(t * 2 * np.pi / 24)
    weather = np.repeat(rng.normal(size=len(t) // 24 + 1), 24)[: len(t)]
    temperature = cycle * day + weather
    load = 3 * day + true_effect * temperature + 0.3 * rng.normal(size=len(t))
    problem = Problem(
        np.column_stack([load, temperature]), None, None, 1, 48, 12, np.zeros((1, 1))
    )
    origins = np.arange(48, len(t) - 11)
    assert abs(known_effect(problem, origins)[0, 0]) > 0.5
    fit, *_ = fit_linear_path(problem, origins, origins, split=1300, refit=False)
    assert fit.effect[0, 0] == pytest.approx(true_effect, abs=0.03)


# --- what the calendar does -------------------------------------------------------------------


def with_hours(problem):
    """Let the rows be consecutive hours of days."""
    hours = np.arange(len(problem.values))[:, None] % 24
    return problem._replace(cycle=find_cycle(["hour"], hours))


def daily(n=480, *, known_effect=0.0, seed=0):
    """Make a day of 24 unlike hours below a walk, and a column that may act at noon."""
    rng = np.random.default_rng(seed)
    hours = np.arange(n) % 24
    known = np.repeat(rng.integers(0, 2, size=n // 24 + 1), 24)[:n].astype(float)
    day = 2 * np.random.default_rng(9).normal(size=24)
    values = day[hours] + 0.1 * rng.normal(size=n).cumsum() + 0.2 * rng.normal(size=n)
    return np.column_stack([values + known_effect * known * (hours >= 12), known])


def kind_of(found):
    if found.calendar is not None:
        acts = np.abs(found.calendar.known).max(initial=0) > 0.5
        return "both" if acts else "calendar"
    return "columns" if np.abs(found.effect).max(initial=0) > 0.05 else "nothing"


@pytest.mark.parametrize(
    ("case", "kind"),
    [
        ("walk", "nothing"),
        ("line", "columns"),
        ("day", "calendar"),
        ("day and column", "both"),
    ],
)
@pytest.mark.parametrize("split", [None, 400])
def test_of_four_kinds_of_effects_the_one_that_is_there_is_taken(case, kind, split):
    """The simplest that explains later rows: each more is one more thing to get wrong."""
    if case in ("walk", "line"):
        rng = np.random.default_rng(1)
        known = rng.normal(size=480)
        load = 0.1 * rng.normal(size=480).cumsum() + (
            3 * known if case == "line" else 0
        )
        values = np.column_stack([load, known])
    else:
        values = daily(known_effect=6.0 * (case == "day and column"))
    before, after = fit(
        with_hours(make_problem(values, n_known=1)), split=split, refit=True
    )
    assert kind_of(before) == kind_of(after) == kind


@pytest.mark.parametrize(
    ("errors", "kind"),
    [
        (([-0.5, 0.5], [-0.5, 0.5], [-0.5, 0.5], [-0.5, 0.5]), "columns"),
        (([-0.5, 0.5], [0.5, 1.5], [-0.509, 0.491], [0.5, 1.5]), "nothing"),
        (([-0.5, 0.5], [0.5, 1.5], [-0.511, 0.489], [0.5, 1.5]), "calendar"),
        (([-0.5, 0.5], [-0.505, 0.495], [-0.511, 0.489], [-0.52, 0.48]), "both"),
        (([0.0, 0.0], [0.1, 0.1], [-0.03, 0.004], [0.1, 0.1]), "nothing"),
        (([0.0, 0.0], [0.1, 0.1], [-0.014, -0.012], [0.1, 0.1]), "calendar"),
        (([0.3, 0.0], [0.4, 0.1], [0.28, -0.02], [0.4, 0.1]), "calendar"),
        (([0.0, 0.0], [-0.03, 0.02], [0.1, 0.1], [0.1, 0.1]), "columns"),
        (([0.0, 0.0], [-0.03, 0.02], [-0.02, -0.02], [-0.5, 0.4]), "calendar"),
    ],
)
def test_a_cycle_has_to_gain_a_hundredth_on_more_than_one_stretch(
    errors, kind, monkeypatch
):
    """By its mean less a standard error; columns were asked for, and need not be sure."""
    known = np.random.default_rng(1).normal(size=480)
    values = np.column_stack([daily()[:, 0] + 3 * known, known])
    errors_are(monkeypatch, *errors)
    assert kind_of(fit(with_hours(make_problem(values, n_known=1)))[0]) == kind


def errors_are(monkeypatch, *errors):
    """Let logs of errors be given: beside nothing, columns, the calendar, and both."""
    given = itertools.cycle(errors)
    monkeypatch.setattr(fitting, "mixed_errors", lambda *_: np.exp(next(given)))


#: Of which that of one kind is the least.
LEAST = {
    "calendar": ([0.0], [0.0], [-2.0], [-1.0]),
    "both": ([0.0], [0.0], [-1.0], [-2.0]),
}


def same_calendars(one, two):
    return all(
        np.array_equal(a, b) for a, b in zip(one.calendar, two.calendar, strict=True)
    )


@pytest.mark.parametrize("kind", ["calendar", "both"])
@pytest.mark.usefixtures("same_choice")
def test_the_tail_does_not_reach_the_effect_that_is_found_before_it(kind, monkeypatch):
    """The network is judged on the split, beside tables that must not have seen it."""
    errors_are(monkeypatch, *LEAST[kind])
    values = daily(known_effect=6.0)
    changed = values.copy()
    changed[400:] *= -9
    (one, new), (two, other) = (
        fit(with_hours(make_problem(v, n_known=1)), split=400, refit=True)
        for v in (values, changed)
    )
    assert kind_of(one) == kind
    assert same_calendars(one, two)
    same_maps(one, two, rtol=0, atol=0)
    assert not same_calendars(new, one)
    assert not same_calendars(new, other)


def test_rows_from_the_first_stretch_on_do_not_reach_a_calendar_that_is_judged(
    monkeypatch,
):
    """A table that has seen the answers wins without being good."""
    values, seen = daily(known_effect=6.0), []
    find = calendar.calendar_effect

    def spy(problem, origins, *, with_known):
        found = find(problem, origins, with_known=with_known)
        seen[-1].append((found, origins))
        return found

    monkeypatch.setattr(calendar, "calendar_effect", spy)
    with monkeypatch.context() as patch:
        course = Course(patch)
        seen.append([])
        fit(with_hours(make_problem(values, n_known=1)), split=400)
    first = min(compared.min() for _, compared in course.compared)
    values[first:] *= -9
    seen.append([])
    fit(with_hours(make_problem(values, n_known=1)), split=400)
    assert len(seen[0]) >= 2
    for (one, origins), (two, _) in zip(seen[0][:2], seen[1][:2], strict=True):
        assert origins.max() + PRED <= first
        assert one is not None
        for a, b in zip(one, two, strict=True):
            np.testing.assert_array_equal(a, b)


def test_the_newest_rows_reach_the_effect_that_forecasts(monkeypatch):
    """The last holiday, too: with a refit it is found on all windows."""
    errors_are(monkeypatch, *LEAST["both"])
    problem = with_hours(make_problem(daily(known_effect=6.0), n_known=1))
    before, after = fit(problem, split=400, refit=True)
    origins = origins_of(problem)
    origins = origins[(origins <= 400 - PRED) | (origins >= 400)]
    expected = calendar.calendar_effect(problem, origins, with_known=True)
    assert same_calendars(after, dataclasses.replace(after, calendar=expected))
    assert not same_calendars(before, after)
    before, after = fit(problem, split=400)
    assert before.calendar is after.calendar


def test_a_calendar_leaves_what_ridges_forecast_far_better():
    """The day of 24 unlike hours, by who looks twelve rows back."""
    values = daily(900)[:, :1]
    problem = make_problem(values)
    origins = np.arange(700, 890)
    errors = []
    for each in (with_hours(problem), problem):
        found, _ = fit(each._replace(values=values[:700]))
        rest = values
        if found.calendar is not None:
            rest = values - found.calendar.of_rows(values[:, :0], each.cycle.of_row)
        rest = make_problem(rest)
        errors.append(
            ((forecast(found, rest, origins) - truth(rest, origins)) ** 2).mean()
        )
    assert errors[0] < 0.5 * errors[1]


@pytest.mark.parametrize("n_known", [0, 1])
def test_fits_apart_have_the_effect_of_the_whole(n_known):
    """The network corrects what is left of the same thing."""
    values = daily(known_effect=6.0)[:, : 1 + n_known]
    problem = with_hours(make_problem(values, n_known=n_known))
    origins = origins_of(problem)
    before, _, apart = fit_linear_path(
        problem, origins, origins, split=None, refit=False, n_folds=3
    )
    assert before.calendar is not None
    assert len(apart) == 3
    assert all(found.calendar is before.calendar for _, found in apart)


def test_a_stretch_that_rests_has_no_say():
    """The last value is right there to the last digit, and had all weight."""
    open_hours = (
        60 + 20 * np.sin(np.arange(10)) + np.random.default_rng(0).normal(size=(12, 10))
    )
    y = np.zeros((12, 24))
    y[:, 8:18] = open_hours
    y = np.append(np.delete(y, [7, 8], axis=0), np.zeros((3, 24)), axis=0).ravel()
    y = np.append(y, np.tile(y[:24], 3))
    found, _ = fit(make_problem(y, seq_len=24, pred_len=12))
    assert found.blend["last"] < 0.01
