"""Prediction intervals: the size of errors as an origin tells it, and their quantiles."""
