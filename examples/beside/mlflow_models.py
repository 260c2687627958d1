"""mlflow: log a fit, epoch by epoch, and serve its model.

There are two formats. `mlflow.sklearn` writes skops files by default, which load only listed types;
the types of a fit are listed below. A pyfunc around `skinformer.load` needs no list, because the
file runs no code (docs/files.md).
"""

# %%
import tempfile
from pathlib import Path

import mlflow
import numpy as np

import skinformer
from skinformer import InformerRegressor, Training
from skinformer.datasets import load_auckland_pedestrians


class LogEpochs:
    """Log each epoch's losses to the active run."""

    def setup(self, estimator, context):
        """Nothing to set up."""

    def on_fit_task_begin(self, estimator, context):
        """Nothing to do: losses come at the end."""

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        """Log the epoch."""
        if context.task_name == "epoch":
            epoch = fitted_estimator.history_.iloc[-1]
            losses = {name: float(epoch[name]) for name in ("loss", "validation_loss")}
            mlflow.log_metrics(losses, step=int(epoch["epoch"]))

    def teardown(self, estimator, context):
        """Nothing to tear down."""


class Forecaster(mlflow.pyfunc.PythonModel):
    """What mlflow serves: rows with an index of time in, forecasts out."""

    def load_context(self, context):
        """Load the file once."""
        self.model = skinformer.load(context.artifacts["model"])

    def predict(self, context, model_input, params=None):
        """Forecast each row."""
        return self.model.predict(model_input)


# %% Runs go to a folder here; a server's address would stand in its place.
folder = tempfile.TemporaryDirectory()
mlflow.set_tracking_uri(f"sqlite:///{folder.name}/runs.db")
artifacts = Path(folder.name, "artifacts")
mlflow.create_experiment("streets", artifact_location=artifacts.as_uri())
mlflow.set_experiment("streets")

target = "45 Queen Street"
counts = load_auckland_pedestrians()[[target]][13000:14200]
train = counts[:-24]
later = counts[-24:]
model = InformerRegressor(
    target,
    seq_len=168,
    pred_len=24,
    members=["ridges", "network"],
    random_state=0,
    training=Training(max_iter=2, max_windows=300),
)

# %% Parameters, losses and the model in one run. Callbacks belong to the fit: take them off after.
with mlflow.start_run() as run:
    mlflow.log_params({"seq_len": model.seq_len, "pred_len": model.pred_len})
    model.set_callbacks(LogEpochs()).fit(train)
    model.set_callbacks()
    mlflow.log_metric("later_r2", model.score(later))

    path = Path(folder.name, "street.skinformer")
    model.save(path, history="context")
    served = mlflow.pyfunc.log_model(
        name="served",
        python_model=Forecaster(),
        artifacts={"model": str(path)},
        pip_requirements=[f"skinformer=={skinformer.__version__}"],
    )

client = mlflow.MlflowClient()
course = client.get_metric_history(run.info.run_id, "validation_loss")
print("validation loss:", [round(point.value, 4) for point in course])

# %% What a server does: load by address, and forecast.
loaded = mlflow.pyfunc.load_model(served.model_uri)
assert np.array_equal(loaded.predict(later), model.predict(later))
print("pyfunc:", loaded.predict(later)[:3].round(1))
