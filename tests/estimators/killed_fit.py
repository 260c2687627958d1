"""A fit that a test kills: ``python killed_fit.py CHECKPOINT FORECASTS``."""

import sys

import numpy as np

from skinformer import InformerRegressor, Network, Training


def model(checkpoint=None, **changes):
    estimator = InformerRegressor(
        seq_len=24,
        pred_len=6,
        members=["network"],  # beside ridges it would give up
        network=Network(d_model=16, n_heads=2, attention="probsparse", device="cpu"),
        training=Training(max_iter=12, n_iter_no_change=12, checkpoint=checkpoint),
        random_state=0,
    )
    return estimator.set_params(**changes)


def rows():
    rng = np.random.default_rng(0)
    return (np.sin(np.arange(600) / 4) + rng.normal(size=600) / 9)[:, None]


if __name__ == "__main__":
    fitted = model(sys.argv[1]).fit(rows())
    np.save(sys.argv[2], fitted.predict(rows()))
