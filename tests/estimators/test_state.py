import inspect

import pytest

from skinformer import InformerClassifier, InformerRegressor
from skinformer.estimators.parameters import Parameters
from skinformer.estimators.state import FittedState


@pytest.mark.parametrize("estimator", [InformerRegressor, InformerClassifier])
def test_the_parameters_are_declared_as_the_constructor_has_them(estimator):
    """Helpers are typed by these declarations: one too few is a misspelling that nobody finds."""
    own = list(inspect.signature(estimator).parameters)
    assert own == [name for name in Parameters.__annotations__ if name in own]


def test_what_fit_leaves_is_declared(small, frame):
    """The same for what a fitted estimator carries."""
    fitted = vars(small().fit(frame(60)))
    left = {name for name in fitted if name.endswith("_")}
    assert left == set(FittedState.__annotations__)
