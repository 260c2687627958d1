import inspect

from skinformer import InformerRegressor
from skinformer.estimators.parameters import Parameters
from skinformer.estimators.state import FittedState


def test_the_parameters_are_declared_as_the_constructor_has_them():
    """Helpers are typed by these declarations: one too few is a misspelling that nobody finds."""
    assert list(Parameters.__annotations__) == list(inspect.signature(InformerRegressor).parameters)


def test_what_fit_leaves_is_declared(small, frame):
    """The same for what a fitted estimator carries."""
    fitted = vars(small().fit(frame(60)))
    left = {name for name in fitted if name.endswith("_")}
    assert left == set(FittedState.__annotations__)
