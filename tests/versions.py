"""What pandas and scikit-learn are called and can do in the versions that are installed."""

from importlib.util import find_spec

import pandas as pd
from sklearn.base import BaseEstimator

#: The dtype of a column of text: "str", or "object" before pandas 3.
TEXT = str(pd.Series(["a"]).dtype)
#: Whether a frame made of another's columns is a copy at once: before pandas 3.
COPIES_FRAMES = int(pd.__version__.split(".")[0]) < 3
#: Whether scikit-learn has callbacks: 1.9 or newer.
HAS_CALLBACKS = find_spec("sklearn.callback") is not None
#: Whether scikit-learn's page of an estimator shows its fitted attributes.
SHOWS_FITTED = hasattr(BaseEstimator, "_get_fitted_attr_html")
