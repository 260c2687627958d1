"""Every candidate's map equals scikit-learn's ridge on windows that are laid out one by one."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge as Oracle

from skinformer.ridge.candidates import Candidate, Competition
from skinformer.ridge.sums import STRENGTHS, Equations, Problem, gather

SEQ, PRED, N, TARGETS, COLUMNS = 8, 3, 60, 2, 3
ORIGINS = np.arange(SEQ, N - PRED + 1)


def make_problem(
    *, n_columns=COLUMNS, n_targets=TARGETS, seq_len=SEQ, n=N, weight=None
):
    values = np.random.default_rng(0).normal(size=(n, n_columns)).cumsum(axis=0) / 4
    return Problem(
        values, weight, None, n_targets, seq_len, PRED, np.empty((0, n_targets))
    )


def trained(problem, origins=ORIGINS):
    competition = Competition(problem)
    competition.learn(origins)
    return competition


def by_hand(candidate, past, last):
    """Lay out one window's features for a candidate of the kind "mixed"."""
    split = [*last, 1.0] if candidate.level else []
    return np.array([*past[len(past) - candidate.length :].ravel(), *split])


def laid_out(problem, candidate, origins):
    """Give features and what followed, one row a window, for each group of a candidate."""
    rows = {
        group: ([], [], [])
        for group in range(TARGETS if candidate.kind == "per target" else 1)
    }
    for origin in origins:
        last = problem.values[origin - 1]
        past = problem.values[origin - SEQ : origin] - last
        future = problem.values[origin : origin + PRED, :TARGETS] - last[:TARGETS]
        weight = (
            1.0
            if problem.weight is None
            else problem.weight[origin : origin + PRED].mean(0)
        )
        weight = np.broadcast_to(weight, TARGETS)
        if candidate.kind == "mixed":
            parts = [(0, by_hand(candidate, past, last), future.ravel(), weight.mean())]
        else:
            parts = [
                (
                    j if candidate.kind == "per target" else 0,
                    past[SEQ - candidate.length :, j],
                    future[:, j],
                    weight[j],
                )
                for j in range(TARGETS)
            ]
        for group, x, y, w in parts:
            for column, value in zip(rows[group], (x, y, w), strict=True):
                column.append(value)
    return [tuple(np.array(column) for column in group) for group in rows.values()]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("strength", STRENGTHS)
def test_every_candidate_equals_scikit_learns_ridge(strength, weighted):
    """Another program, another algorithm, the same maps: shared, own and mixed, long and short."""
    problem, origins = make_problem(), ORIGINS
    if weighted:  # windows a horizon apart: all steps of a window have one weight
        origins = ORIGINS[::PRED]
        weight = np.ones((N, TARGETS))
        for origin in origins:
            weight[origin : origin + PRED] = origin % 4
        problem = problem._replace(weight=weight)
    competition = trained(problem, origins)
    solutions = dict(competition.equations())
    assert set(solutions) == set(competition.candidates[1:])
    for candidate, equations in solutions.items():
        maps = equations.solve(strength)
        groups = laid_out(problem, candidate, origins)
        assert len(maps) == len(groups)
        for found, (x, y, w) in zip(maps, groups, strict=True):
            oracle = Oracle(alpha=strength * w.sum(), fit_intercept=False)
            oracle.fit(x, y, sample_weight=w)
            np.testing.assert_allclose(found, oracle.coef_.T, rtol=1e-6, atol=1e-8)


def test_the_candidates_are_named_once_each():
    """Their weights are reported by name."""
    names = [str(candidate) for candidate in Competition(make_problem()).candidates]
    assert len(set(names)) == len(names)
    assert names[0] == "last"
    assert "shared, 8 rows" in names
    assert "per target, 1 rows" in names
    assert "mixed, 8 rows and levels" in names


@pytest.mark.parametrize("seq_len", [1, 2, 3, 5, 7, 8, 100])
@pytest.mark.parametrize(("n_columns", "n_targets"), [(1, 1), (2, 1), (2, 2), (5, 3)])
def test_candidates_differ_and_fit_into_the_window(seq_len, n_columns, n_targets):
    """Halving an odd or tiny window must give neither no rows nor the same map twice."""
    problem = make_problem(
        n_columns=n_columns, n_targets=n_targets, seq_len=seq_len, n=seq_len + 9
    )
    competition = Competition(problem)
    assert len(set(competition.candidates)) == len(competition.candidates)
    assert all(1 <= c.length <= seq_len for c in competition.candidates[1:])
    kinds = {candidate.kind for candidate in competition.candidates}
    assert ("mixed" in kinds) == (n_columns > 1)
    assert ("per target" in kinds) == (n_targets > 1)
    competition.learn(np.arange(seq_len, seq_len + 7))
    for candidate, equations in competition.equations():
        assert np.isfinite(equations.solve(1.0)).all()
        [windows] = gather(problem, np.array([seq_len]))
        for forecast in competition.forecasts(
            candidate, equations.decomposed(), windows
        ):
            assert forecast.shape == windows.future.shape


def test_a_forecast_equals_a_loop():
    """Groups and features are told apart by their place; a mix-up would still look like one."""
    problem = make_problem()
    competition = trained(problem, ORIGINS[:20])
    [windows] = gather(problem, ORIGINS[20:])
    for candidate, equations in competition.equations():
        maps = equations.solve(0.1)
        forecasts = list(
            competition.forecasts(candidate, equations.decomposed(), windows)
        )
        found = forecasts[STRENGTHS.index(0.1)]
        for i in range(len(windows.last)):
            if candidate.kind == "mixed":
                features = by_hand(candidate, windows.past[i], windows.last[i])
                expected = (features @ maps[0]).reshape(PRED, TARGETS)
            else:
                past = windows.past[i, SEQ - candidate.length :]
                groups = [
                    j if candidate.kind == "per target" else 0 for j in range(TARGETS)
                ]
                expected = np.stack(
                    [past[:, j] @ maps[g] for j, g in enumerate(groups)], axis=1
                )
            np.testing.assert_allclose(found[i], expected, atol=1e-12)


def test_a_level_added_to_all_rows_leaves_maps_of_distances_as_they_are():
    """A candidate that does not see levels must not learn from them."""
    problem = make_problem()
    shifted = problem._replace(values=problem.values + 7.0)
    one, two = (dict(trained(p).equations()) for p in (problem, shifted))
    for candidate, equations in one.items():
        if not candidate.level:
            maps = two[candidate].solve(0.1)
            np.testing.assert_allclose(maps, equations.solve(0.1), rtol=1e-6, atol=1e-9)


def test_targets_in_another_order_have_their_maps_in_another_order():
    """No target is favoured by its place."""
    problem = make_problem()
    swapped = problem._replace(values=problem.values[:, [1, 0, 2]])
    own = Candidate("per target", SEQ)
    one, two = (
        dict(trained(p).equations())[own].solve(0.1) for p in (problem, swapped)
    )
    np.testing.assert_allclose(two, one[::-1], rtol=1e-9)


@pytest.mark.parametrize(
    ("n_columns", "n_targets", "seq_len", "pred_len", "left_out"),
    [
        (80, 80, 720, 24, set()),
        (321, 321, 336, 96, {"mixed"}),
        (862, 862, 96, 96, {"mixed"}),
        (862, 862, 336, 96, {"per target", "mixed"}),
        (100, 2, 10, 6000, {"mixed"}),
        (40, 40, 2000, 2, {"per target"}),
    ],
)
def test_kinds_are_left_out_for_their_own_size_only(
    n_columns, n_targets, seq_len, pred_len, left_out
):
    """One map for all is worse where targets differ; a fit must fit in memory all the same."""
    values, effect = np.zeros((1, n_columns)), np.empty((0, n_targets))
    competition = Competition(
        Problem(values, None, None, n_targets, seq_len, pred_len, effect)
    )
    kinds = {candidate.kind for candidate in competition.candidates}
    assert kinds == {"last", "shared", "per target", "mixed"} - left_out
    assert len(competition.columns.gram) == (
        1 if "per target" in left_out else n_targets
    )


@pytest.mark.parametrize(
    ("n_columns", "length"), [(3, 8), (300, 3), (1000, 1), (1025, 0)]
)
def test_many_columns_are_seen_together_over_fewer_rows(n_columns, length):
    """The products of all features with all must stay small."""
    competition = Competition(make_problem(n_columns=n_columns))
    assert bool(competition.mixed_len) == (length > 0)
    lengths = {c.length for c in competition.candidates if c.kind == "mixed"}
    assert lengths == ({length, max(1, length // 2)} if length else set())


def test_a_stronger_ridge_gives_a_smaller_map():
    """The order of the strengths is what the choice between them means."""
    for _, equations in trained(make_problem()).equations():
        sizes = [
            float((equations.solve(strength) ** 2).sum()) for strength in STRENGTHS
        ]
        assert sizes == sorted(sizes, reverse=True)


def test_fewer_windows_than_rows_have_a_solution():
    """The gram is then singular; the ridge is what makes it solvable."""
    competition = trained(make_problem(), ORIGINS[:2])
    for _, equations in competition.equations():
        maps = equations.solve(STRENGTHS[0])
        assert np.isfinite(maps).all()
        assert np.abs(maps).max() < 10


def test_a_gram_of_zeros_gives_a_map_of_zeros():
    """A constant series has no distances."""
    equations = Equations(np.zeros((1, 4, 4)), np.zeros((1, 4, 2)))
    assert not equations.solve(STRENGTHS[0]).any()


def test_solving_twice_gives_the_same_and_more_windows_are_added_to_it():
    """A competition is solved before each stretch and goes on learning."""
    problem = make_problem()
    competition = trained(problem, ORIGINS[:20])
    first, again = (
        {c: each.solve(0.1) for c, each in competition.equations()} for _ in range(2)
    )
    for candidate, maps in first.items():
        np.testing.assert_array_equal(again[candidate], maps)
    competition.learn(ORIGINS[20:])
    everything = dict(trained(problem).equations())
    for candidate, equations in competition.equations():
        expected = everything[candidate].solve(0.1)
        np.testing.assert_allclose(
            equations.solve(0.1), expected, rtol=1e-7, atol=1e-10
        )
