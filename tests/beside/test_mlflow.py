"""mlflow logs a fit and serves its model."""

import numpy as np
import pytest

mlflow = pytest.importorskip("mlflow")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),
]  # mlflow's own are many


@pytest.fixture(scope="module")
def example(run_example):
    names = run_example("mlflow_models.py")
    yield names
    names["folder"].cleanup()


def test_the_example_logs_each_epoch_and_serves_the_same_forecasts(example):
    """What is served is what was fitted."""
    losses = [point.value for point in example["course"]]
    assert losses == pytest.approx(
        example["model"].history_["validation_loss"].tolist()
    )
    served = example["loaded"].predict(example["later"])
    np.testing.assert_array_equal(served, example["model"].predict(example["later"]))


def test_the_default_format_of_mlflow_sklearn_works(example):
    """skops, with the estimator and the part that it was given to trust."""
    trusted = [
        "skinformer.estimators.parts.Training",
        "skinformer.estimators.regressor.InformerRegressor",
    ]
    with mlflow.start_run():
        info = mlflow.sklearn.log_model(
            example["model"], name="model", skops_trusted_types=trusted,
            pip_requirements=["skinformer"],
        )  # fmt: skip
    loaded = mlflow.sklearn.load_model(info.model_uri)
    later = example["later"]
    np.testing.assert_array_equal(
        loaded.predict(later), example["model"].predict(later)
    )
