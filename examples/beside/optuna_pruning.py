"""Optuna: stop unpromising fits by the validation loss of each epoch.

A callback of scikit-learn is called after each epoch. The callback of this script reports the loss
of the epoch to Optuna, and raises TrialPruned if the pruner says so. The estimator of a pruned fit
stays as it was.
"""

# %%
import optuna

from skinformer import InformerRegressor, Network, Training
from skinformer.datasets import load_auckland_pedestrians


class PruneEpochs:
    """Report each epoch's validation loss to a trial; end the fit where the pruner says so."""

    def __init__(self, trial):
        self.trial = trial

    def setup(self, estimator, context):
        """Nothing to set up."""

    def on_fit_task_begin(self, estimator, context):
        """Nothing to do: the loss comes at the end."""

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        """Report the epoch, or raise."""
        if context.task_name == "epoch":
            epoch = fitted_estimator.history_.iloc[-1]
            self.trial.report(epoch["validation_loss"], step=int(epoch["epoch"]))
            if self.trial.should_prune():
                raise optuna.TrialPruned

    def teardown(self, estimator, context):
        """Nothing to tear down."""


# %% Two thousand hours of one street. The loss is standardised and of held-out rows: early
# stopping has to be on, which it is by default from 2 * pred_len + seq_len rows on.
target = "45 Queen Street"
counts = load_auckland_pedestrians()[[target]][13000:15000]
train = counts[:-168]
test = counts[-168:]


def objective(trial):
    """Fit once; the error of the best epoch."""
    model = InformerRegressor(
        target,
        seq_len=168,
        pred_len=24,
        members=["ridges", "network"],
        random_state=0,
        network=Network(
            d_model=trial.suggest_categorical("d_model", [8, 16]), n_heads=2
        ),
        training=Training(
            learning_rate=trial.suggest_float("learning_rate", 1e-5, 3e-2, log=True),
            max_iter=6,
            max_windows=500,
        ),
    )
    model.set_callbacks(PruneEpochs(trial)).fit(train)
    return model.best_loss_


# %% A trial is pruned at an epoch whose loss is above the median of those before it.
study = optuna.create_study(
    sampler=optuna.samplers.RandomSampler(seed=0),
    pruner=optuna.pruners.MedianPruner(n_startup_trials=3, n_warmup_steps=1),
)
study.optimize(objective, n_trials=8)

for trial in study.trials:
    state = trial.state.name.lower()
    last = max(trial.intermediate_values)
    print(f"{trial.number}: {state} after epoch {last}, {trial.params}")

# %% Fit once more with what was found, now without the trial.
best = study.best_params
model = InformerRegressor(
    target,
    seq_len=168,
    pred_len=24,
    members=["ridges", "network"],
    random_state=0,
    network=Network(d_model=best["d_model"], n_heads=2),
    training=Training(learning_rate=best["learning_rate"], max_iter=6, max_windows=500),
).fit(train)
print(f"R² of the last week: {model.score(test):.2f}")
