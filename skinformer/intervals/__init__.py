"""Prediction intervals: the size of errors by what is known at an origin, and their quantiles."""
