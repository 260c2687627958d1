"""scikit-learn's own checks: all pass but three, which a row's place in time rules out."""

import pytest
from sklearn.utils.estimator_checks import (
    check_param_validation,
    parametrize_with_checks,
)

from skinformer import InformerClassifier, InformerRegressor, Network, Training

SMALL = [
    kind(
        seq_len=4,
        pred_len=2,
        random_state=0,
        network=Network(d_model=8, n_heads=2, n_encoder_layers=1, device="cpu"),
        training=Training(max_iter=5, learning_rate=1e-2),
    )
    for kind in (InformerRegressor, InformerClassifier)
]

PLACE_IS_TIME = "a plain array has no clock: a row's place is its time"
EXPECTED_TO_FAIL = {
    "check_methods_subset_invariance": PLACE_IS_TIME,
    "check_methods_sample_order_invariance": PLACE_IS_TIME,
    "check_sample_weight_equivalence_on_dense_data": "a repeated row is another timeline",
}


@pytest.mark.no_cover  # what they reach is reached by tests of its own
@parametrize_with_checks(SMALL, expected_failed_checks=lambda _: EXPECTED_TO_FAIL)
def test_every_check_of_scikit_learn_holds_but_three(estimator, check):
    """Whatever scikit-learn asks of an estimator is what its tools rely on."""
    check(estimator)


@pytest.mark.parametrize("small", SMALL, ids=lambda small: type(small).__name__)
def test_every_parameter_is_validated_by_its_constraints(small):
    """A wrong value must be named before any work is done."""
    check_param_validation(type(small).__name__, small)


@pytest.mark.parametrize("small", SMALL, ids=lambda small: type(small).__name__)
def test_no_tag_hides_a_failing_check(small):
    """`non_deterministic` or `no_validation` would skip checks instead of passing them."""
    tags = small.__sklearn_tags__()
    assert not tags.non_deterministic
    assert not tags.no_validation
    assert not tags.target_tags.required
    assert tags._skip_test is False
