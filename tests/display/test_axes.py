"""What pictures are drawn on."""

import pytest

from skinformer.display import ErrorDisplay, ResidualDisplay, WeightsDisplay


@pytest.mark.parametrize("kind", ["figure", "module", "word", "numbers"])
def test_what_is_no_axes_is_refused_in_one_way(fitted, result, pyplot, kind):
    """An AttributeError from within matplotlib does not say which argument was wrong."""
    ax = {
        "figure": pyplot.figure(),
        "module": pyplot,
        "word": "top",
        "numbers": [1, 2, 3],
    }[kind]
    first = result[:12]
    for draw in (
        lambda: fitted.plot(coverage=None, ax=ax),
        lambda: WeightsDisplay.from_estimator(fitted, ax=ax),
        lambda: ErrorDisplay.from_predictions(result, ax=ax),
        lambda: ResidualDisplay.from_predictions(first, ax=ax),
    ):
        with pytest.raises(
            TypeError, match=r"^ax=.* must be matplotlib Axes, or None for a new"
        ):
            draw()


def test_too_many_or_too_few_axes_are_counted(fitted, result, pyplot):
    two = pyplot.subplots(2)[1]
    with pytest.raises(
        ValueError, match=r"^ax holds 2 axes, and 1 are needed: pass one for each plot"
    ):
        fitted.plot(coverage=None, ax=two)
    with pytest.raises(ValueError, match=r"^ax holds 2 axes, and 3 are needed"):
        ResidualDisplay.from_predictions(result[:12], ax=two)


def test_one_axes_of_an_array_is_drawn_on(fitted, pyplot):
    """As `subplots(squeeze=False)` gives it."""
    one = pyplot.subplots(squeeze=False)[1]
    assert fitted.plot(coverage=None, ax=one).ax_ is one[0, 0]
