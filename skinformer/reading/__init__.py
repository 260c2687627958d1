"""Input of users as rows in their places and columns in their roles.

Estimators, transformers and baselines read by this package: it checks by `validation`, and takes
typed values, never an estimator's parameters.
"""
