"""How far the network's own dropout moves its forecasts."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from skinformer.estimators.regressor import InformerRegressor
from skinformer.evaluation.ahead import take_apart
from skinformer.evaluation.requested import requested_forecasts
from skinformer.timeline.arrays import Float64Array
from skinformer.validation.arguments import check_count


def dropout_samples(
    estimator: Any, X: Any = None, *, n_samples: int = 100, random_state: Any = 0
) -> Float64Array:
    """
    Forecast many times with the network's dropout on, as in training; the rest stays as it is.

    Where the network itself is unsure, samples lie far apart. They are no prediction interval:
    noise that no network knows of is not in them, nor is what ridges, trees and classical
    forecasters are off by, and nothing calibrates them. `predict_interval` is calibrated.

    Parameters
    ----------
    estimator : InformerRegressor, or a Pipeline or search that ends in one
        Fitted with `dropout` above 0.
    X : DataFrame, Series or array-like of shape (n_samples, n_features), default=None
        Rows that `predict` forecasts; None takes the steps of `forecast()`.
    n_samples : int, default=100
        Forecasts of each row, at least 1.
    random_state : int, RandomState or None, default=0
        Which states are dropped.

    Returns
    -------
    ndarray of float64, shape (n, n_samples) or (n, n_targets, n_samples)
        In the targets' units. A column is a forecast of all rows by one thinner network, so that
        sums over rows have their spread, too.

    Raises
    ------
    TypeError
        If the estimator forecasts no numbers.
    ValueError
        If there is no dropout, or if the network has no share in these forecasts.

    See Also
    --------
    skinformer.InformerRegressor.predict_interval : Intervals by how far forecasts were off.
    skinformer.InformerRegressor.sample : Paths by how far forecasts were off.

    Notes
    -----
    The mean of samples is not the forecast, which drops nothing, but near it. By the share that
    the network has, the spread is smaller than its own. What is fed back beyond `pred_len`, and
    where truths are missing, is the forecast, not the sample.

    Generators of its own draw what is dropped: the fit, the rows asked for together and other calls
    change nothing, and the first of 100 samples are those of fewer.

    Cost: a forecast, and for each `pred_len` rows a forward pass of 32 windows for 32 samples.

    References
    ----------
    Gal and Ghahramani (2016), Dropout as a Bayesian Approximation: Representing Model Uncertainty
    in Deep Learning, ICML, section 4.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from skinformer import InformerRegressor
    >>> from skinformer.evaluation import dropout_samples
    >>> df = pd.DataFrame({"load": np.random.default_rng(0).random(200)})
    >>> model = InformerRegressor(
    ...     members=["network"], seq_len=24, pred_len=6, d_model=8, max_iter=1, random_state=0
    ... )
    >>> samples = dropout_samples(model.fit(df), n_samples=50)
    >>> samples.shape, bool((samples.std(axis=1) > 0).all())
    ((6, 50), True)
    """
    n_samples = check_count("n_samples", n_samples, "it counts forecasts of each row")
    model = take_apart(estimator)[1]
    if not isinstance(model, InformerRegressor):
        raise TypeError(
            f"{type(model).__name__} gives no samples by dropout: they are forecasts of numbers by "
            "a network. Pass a fitted InformerRegressor, or a Pipeline or search that ends in one."
        )
    forecasts = requested_forecasts(estimator, X)
    network = forecasts.seen
    if not network.dropout:
        raise ValueError(
            "the network was fitted with dropout=0 and drops nothing: all samples would be the "
            "forecast. Fit with dropout above 0, such as 0.2; predict_interval tells how far "
            "forecasts of any fit are off."
        )
    shares = network.shares[:, None]
    if not shares.any():
        raise ValueError(
            f"the network has no share in these forecasts (trust_={model.trust_:.3g}): all samples "
            "would be the forecast. predict_interval tells how far it is off; with "
            "members=['network'] the network forecasts alone."
        )
    seed = int(check_random_state(random_state).randint(2**31))
    moved = network.points(n_dropped=n_samples, seed=seed) - network.points()
    outputs = np.stack([window.outputs for window in forecasts.windows])
    forecast = model.head_.point(outputs)[:, None]
    found = (forecast + shares * moved).astype(np.float64)
    points = found[forecasts.window, :, forecasts.ahead]  # (n, n_samples, n_targets)
    calibrated = forecasts.values - forecasts.points
    samples = np.stack(
        [forecasts.in_units(points[:, i]) + calibrated for i in range(n_samples)], axis=2
    )
    return samples[:, 0] if model.roles_.one_dimensional else samples
