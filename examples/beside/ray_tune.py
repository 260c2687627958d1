"""Ray Tune: stop unpromising fits by the validation loss of each epoch.

The callback is that of the script for Optuna, but `tune.report` raises no error: Ray ends the
process of a trial that its scheduler stops. Every trial has one core. `tune.with_parameters` sends
the frame to each process once.
"""

# %%
import logging
import tempfile

import ray
from ray import tune

from skinformer import InformerRegressor, Network, Training
from skinformer.datasets import load_auckland_pedestrians


class ReportEpochs:
    """Report each epoch's validation loss to Ray."""

    def setup(self, estimator, context):
        """Nothing to set up."""

    def on_fit_task_begin(self, estimator, context):
        """Nothing to do: the loss comes at the end."""

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        """Report the epoch."""
        if context.task_name == "epoch":
            epoch = fitted_estimator.history_.iloc[-1]
            tune.report({"validation_loss": float(epoch["validation_loss"])})

    def teardown(self, estimator, context):
        """Nothing to tear down."""


def trial(config, train, target):
    """Fit once."""
    model = InformerRegressor(
        target,
        seq_len=168,
        pred_len=24,
        members=["ridges", "network"],
        network=Network(d_model=8, n_heads=2),
        training=Training(max_iter=4, max_windows=300, **config),
        random_state=0,
    )
    model.set_callbacks(ReportEpochs()).fit(train)


# %% Half of the trials are stopped after the second epoch, half of the rest after the fourth.
if __name__ == "__main__":
    target = "45 Queen Street"
    counts = load_auckland_pedestrians()[[target]][13000:14200]
    folder = tempfile.TemporaryDirectory()
    ray.init(num_cpus=2, include_dashboard=False, logging_level=logging.WARNING)
    scheduler = tune.schedulers.ASHAScheduler(
        max_t=4, grace_period=2, reduction_factor=2
    )
    tuner = tune.Tuner(
        tune.with_parameters(trial, train=counts, target=target),
        param_space={"learning_rate": tune.grid_search([1e-5, 1e-3, 3e-3, 1e-2])},
        tune_config=tune.TuneConfig(
            metric="validation_loss", mode="min", scheduler=scheduler
        ),
        run_config=tune.RunConfig(storage_path=folder.name, verbose=0),
    )
    results = tuner.fit()
    for result in results:
        rate = result.config["learning_rate"]
        n_epochs = len(result.metrics_dataframe)
        loss = result.metrics["validation_loss"]
        print(f"learning_rate={rate}: {n_epochs} epochs, loss {loss:.4f}")
    print("best:", results.get_best_result().config)
    ray.shutdown()
    folder.cleanup()
