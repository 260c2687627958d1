"""Maps that turn with the time of the day: found where there are any, and honestly judged."""

import numpy as np
import pandas as pd
import pytest
import torch

from skinformer.ridge import phases
from skinformer.ridge.fit import fit_linear_path
from skinformer.ridge.linear_path import LinearPath
from skinformer.ridge.sums import STRENGTHS, Problem, gather
from skinformer.selection import SHARES
from skinformer.timeline.calendar import calendar_values
from skinformer.timeline.cycle import find_cycle
from skinformer.timeline.windows import spread_places

SEQ, PRED = 48, 6
FIELDS = ("hour", "weekday")


def cells_of(index):
    fields = FIELDS if index[1] - index[0] < pd.Timedelta("1D") else ("weekday",)
    return find_cycle(fields, calendar_values(index, fields))


def choose(monkeypatch, strength, share):
    """Let the choice of strength and share be given."""
    place = STRENGTHS.index(strength) * len(SHARES) + SHARES.index(share)
    monkeypatch.setattr(phases, "upper_bound_share", lambda _: place)


def make_problem(values, index, *, weight=None, n_known=0, seq_len=SEQ):
    values = np.asarray(values, dtype=float).reshape(len(index), -1)
    k = min(values.shape[1] - n_known, 2)
    effect = np.zeros((n_known, k))
    return Problem(values, weight, None, k, seq_len, PRED, effect, cells_of(index))


def turning(n=4000, *, freq="h", n_columns=2, seed=0, period=24, loud=None):
    """Give columns of which the next value has the sign of this one by day, the other by night."""
    chance = np.random.default_rng(seed)
    index = pd.date_range("2024-01-01", periods=n, freq=freq)
    noise = chance.normal(size=(n, n_columns))
    sign = np.where(np.arange(n) % period < period / 2, 0.9, -0.9)
    values = np.zeros((n, n_columns))
    for t in range(1, n):
        values[t] = sign[t] * values[t - 1] + noise[t]
    return values, index


def fit(problem, *, split=None, n_folds=3, refit=False):
    origins = np.arange(problem.seq_len, len(problem.values) - PRED + 1)
    split = 9 * len(problem.values) // 10 if split is None else split
    options = {"split": split, "refit": refit, "n_folds": n_folds}
    return fit_linear_path(problem, origins, origins, **options)


def read_by_hand(maps, problem, origins):
    """Lay out what maps read of windows, number by number: (n_targets, n_windows, n_features)."""
    out = [[] for _ in range(problem.n_targets)]
    n_columns = problem.values.shape[1] - len(problem.effect)
    for origin in origins:
        past = problem.values[origin - problem.seq_len : origin]
        distance = past - past[-1]
        waves = maps.waves[problem.cycle.of_row[origin] % len(maps.waves)]
        for j in range(problem.n_targets):
            read = [*(maps.own.T @ distance[:, j])]
            for column in range(n_columns):
                read += [*(maps.others.T @ distance[:, column])]
            out[j].append([wave * x for wave in waves for x in [*read, 1.0]])
    return np.array(out)


def added(maps, problem, origins):
    """Forecast what is added."""
    return (read_by_hand(maps, problem, origins) @ maps.weights).transpose(1, 2, 0)


def left_by(linear, windows):
    """Give what a blend leaves, without phases."""
    past, last = torch.tensor(windows.past).float(), torch.tensor(windows.last).float()
    return windows.future - LinearPath(linear).map_distances(past, last).numpy()


def residuals(problem, linear, origins):
    """Give what a fit leaves, with what the time of the day adds and without."""
    [windows] = gather(problem, origins)
    blend = left_by(linear, windows)
    with_phases = (
        blend
        if linear.phases is None
        else blend - added(linear.phases, problem, origins)
    )
    return with_phases, blend


def test_what_turns_with_the_hour_is_found():
    """No map that is the same at all hours can know the sign of the next step."""
    problem = make_problem(*turning())
    before, after, _ = fit(problem)
    later = make_problem(*turning(seed=1))
    origins = np.arange(SEQ, 300)
    for linear in (before, after):
        left, blend = residuals(later, linear, origins)
        assert (left**2).mean() < 0.85 * (blend**2).mean()


@pytest.mark.slow
# Of 80 draws seven took some, this fifth one, too.
@pytest.mark.parametrize("seed", [0, 5])
def test_noise_and_walks_have_no_hours_that_count(seed):
    chance = np.random.default_rng(seed)
    index = pd.date_range("2024-01-01", periods=2400, freq="h")
    noise = chance.normal(size=(2400, 2))
    for values in (noise, noise.cumsum(axis=0) / 30):
        found = fit(make_problem(values[:2000], index[:2000]))[0]
        left, blend = residuals(
            make_problem(values, index), found, np.arange(2000, 2390)
        )
        assert (left**2).mean() < 1.005 * (blend**2).mean()


@pytest.mark.parametrize(
    ("freq", "period", "n_times", "n_waves"),
    [("3h", 8, 24, 7), ("D", 7, 7, 7), ("12h", 2, None, 0)],
)
def test_a_cycle_has_as_many_waves_as_its_rows_can_tell(
    freq, period, n_times, n_waves, monkeypatch
):
    """Days have their week; of two rows a day nothing is said."""
    choose(monkeypatch, 0.1, 0.5)
    values, index = turning(3000, freq=freq, period=period)
    maps = fit(make_problem(values, index))[0].phases
    assert (maps is None) == (n_times is None)
    if maps is not None:
        assert maps.waves.shape == (n_times, n_waves)
        angle = 2 * np.pi * np.arange(n_times) / n_times
        np.testing.assert_allclose(maps.waves[:, 1], np.cos(angle), atol=1e-12)
        np.testing.assert_allclose(
            maps.waves[:, -1], np.sin(n_waves // 2 * angle), atol=1e-12
        )
        # Means over a cycle's rows and the window's.
        assert (maps.others > 0).sum(axis=0).tolist() == [period, SEQ]


def test_what_is_read_is_the_last_rows_and_means_of_parts(monkeypatch):
    choose(monkeypatch, 0.1, 0.5)
    maps = fit(make_problem(*turning(3000), seq_len=60))[0].phases
    distance = np.arange(60.0)
    read = distance @ maps.own
    # The last distance is 0.
    np.testing.assert_allclose(read[:24], np.arange(35.0, 59.0))
    np.testing.assert_allclose(read[24:], np.arange(0, 60, 2) + 0.5)  # of two rows each
    np.testing.assert_allclose(distance @ maps.others, [np.arange(36, 60).mean(), 29.5])


@pytest.mark.parametrize("weighted", [False, True])
def test_maps_are_ridges_of_what_blends_leave_that_have_not_seen_it(
    monkeypatch, weighted
):
    """By the sums of all other times, each corrected by the blend without it."""
    choose(monkeypatch, 0.1, 0.5)
    n, split, seq_len = 900, 810, 12
    values, index = turning(n, n_columns=3)
    weight = None
    if weighted:
        weight = np.ones((n, 2))
        weight[200:500] = 0.0
    problem = make_problem(values, index, weight=weight, seq_len=seq_len)
    before, after, others = fit(problem, refit=True)
    training = np.arange(seq_len, split - PRED + 1)
    ends = np.array([end for end, _ in others])
    place = np.searchsorted(ends[:-1], training, side="right")
    sums = []
    for number, (_, apart) in enumerate([*others, (0, before)]):
        origins = (
            training[place == number]
            if number < 3
            else np.arange(split - PRED + 1, n - PRED + 1)
        )
        [windows] = gather(problem, origins)
        rest = left_by(apart, windows)
        features = read_by_hand(before.phases, problem, origins)
        each = windows.weight.mean(axis=(1, 2))
        gram = np.einsum("knf,kng,n->kfg", features, features, each)
        cross = np.einsum("knf,nhk,nhk->kfh", features, rest, windows.weight)
        sums.append((gram, cross, windows.weight.sum(axis=0).T))

    def solved(numbers):
        gram, cross, total = (sum(sums[i][part] for i in numbers) for part in range(3))
        shrunk = gram / total.mean(axis=1)[:, None, None] + 0.1 * np.eye(gram.shape[1])
        return 0.5 * np.linalg.solve(shrunk, cross / total[:, None])

    for linear, numbers in (
        (others[0][1], [1, 2]),
        (others[1][1], [0, 2]),
        (others[2][1], [0, 1]),
        (before, [0, 1, 2]),
        (after, [0, 1, 2, 3]),
    ):
        np.testing.assert_allclose(linear.phases.weights, solved(numbers), atol=1e-5)


@pytest.mark.slow
def test_strength_and_share_are_those_of_least_error_on_times_that_were_not_learnt(
    monkeypatch,
):
    """By each of three times, of the final fit by the split, too; all stretches alike."""
    seen = []
    real = phases.upper_bound_share
    monkeypatch.setattr(
        phases, "upper_bound_share", lambda losses: seen.append(losses) or real(losses)
    )
    problem = make_problem(*turning())
    before, _, others = fit(problem)
    early, losses = seen
    assert losses.shape == (3 * 4 + 12, len(STRENGTHS) * 21)
    np.testing.assert_array_equal(early, losses[:12])
    losses = losses.reshape(24, len(STRENGTHS), 21)
    np.testing.assert_allclose(losses[:, 1:, 0], losses[:, :1, 0].repeat(6, axis=1))
    best = np.unravel_index(real(early), losses.shape[1:])
    share = 0.05 * best[1]
    origins = np.arange(3600, 4000 - PRED + 1)
    left, blend = residuals(problem, before, origins)
    whole = blend - (blend - left) / share
    np.testing.assert_allclose((blend**2).sum(), losses[12:, 0, 0].sum(), rtol=1e-4)
    np.testing.assert_allclose(
        (whole**2).sum(), losses[12:, best[0], 20].sum(), rtol=1e-4
    )
    for place in (10, best[1]):
        some = blend + 0.05 * place * (whole - blend)
        np.testing.assert_allclose(
            (some**2).sum(), losses[12:, best[0], place].sum(), rtol=1e-4
        )
    middle = np.arange(SEQ, 3600 - PRED + 1)
    ends = [end for end, _ in others]
    for number, (_, apart) in enumerate(others):
        low = middle[0] if number == 0 else ends[number - 1]
        every = np.arange(low, ends[number])
        every = every[spread_places(len(every), 600)]
        left, _ = residuals(problem, apart, every)
        stretches = losses[4 * number : 4 * number + 4, best[0], best[1]]
        np.testing.assert_allclose((left**2).sum(), stretches.sum(), rtol=1e-4)


@pytest.mark.slow
def test_one_season_alone_proves_nothing():
    """What turned in the split alone, or in one of the times alone, may turn again."""
    values, index = turning()
    noise = np.random.default_rng(5).normal(size=values.shape) * values.std()
    tail_alone, no_tail = values.copy(), values.copy()
    tail_alone[:3600] = noise[:3600]
    no_tail[1200:] = noise[1200:]
    for changed in (tail_alone, no_tail):
        assert fit(make_problem(changed, index))[0].phases is None


@pytest.mark.slow
def test_the_tail_is_learnt_where_all_is_fitted_again_alone(monkeypatch):
    """What is judged by the split must not have seen it."""
    choose(monkeypatch, 0.1, 1.0)
    fitting = "skinformer.ridge.fit"
    monkeypatch.setattr(
        f"{fitting}.choose_strengths", lambda s, n: np.zeros(len(s[0]) // n, int)
    )
    monkeypatch.setattr(
        f"{fitting}.choose_weights", lambda s, chosen, *_, **__: np.eye(len(chosen))[1]
    )
    values, index = turning()
    changed = values.copy()
    changed[3600:] = np.random.default_rng(3).normal(size=(400, 2))
    (one, one_last, _), (other, other_last, _) = (
        fit(make_problem(each, index), refit=True) for each in (values, changed)
    )
    np.testing.assert_array_equal(one.phases.weights, other.phases.weights)
    assert not np.allclose(one_last.phases.weights, other_last.phases.weights)
    assert not np.allclose(one.phases.weights, one_last.phases.weights)
    same, last, _ = fit(make_problem(values, index))
    np.testing.assert_array_equal(same.phases.weights, one.phases.weights)
    np.testing.assert_array_equal(last.phases.weights, one.phases.weights)


@pytest.mark.parametrize(("n_columns", "n_shared"), [(4, 3), (18, 0)])
def test_columns_known_ahead_are_not_read_and_many_columns_are_not_shared(
    n_columns, n_shared, monkeypatch
):
    choose(monkeypatch, 0.1, 0.5)
    problem = make_problem(*turning(2000, n_columns=n_columns), n_known=1, seq_len=24)
    maps = fit(problem)[0].phases
    assert maps.others.shape == (24, 2 * bool(n_shared))
    assert maps.weights.shape[1] == 9 * (maps.own.shape[1] + n_shared * 2 + 1)


@pytest.mark.parametrize("lacking", ["cycle", "split", "apart"])
def test_nothing_is_found_without_a_clock_or_anything_to_judge_by(lacking):
    problem = make_problem(*turning())
    if lacking == "cycle":
        problem = problem._replace(cycle=None)
    origins = np.arange(SEQ, len(problem.values) - PRED + 1)
    split = None if lacking == "split" else 3600
    n_folds = 0 if lacking == "apart" else 3
    options = {"split": split, "refit": False, "n_folds": n_folds}
    assert fit_linear_path(problem, origins, origins, **options)[0].phases is None


def test_a_tail_without_truths_proves_nothing():
    """All its windows are left out, if there are others enough."""
    problem = make_problem(*turning())
    missing = np.zeros((4000, 2), dtype=bool)
    missing[3600:] = True
    assert fit(problem._replace(missing=missing))[0].phases is None


def test_a_tail_of_one_forecast_proves_nothing():
    problem = make_problem(*turning())
    assert fit(problem, split=len(problem.values) - 2 * PRED)[1].phases is None
