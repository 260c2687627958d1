"""From what the user passes to rows in their places and columns in their roles.

The one reader of estimators, transformers and yardsticks: it checks by `validation`, and takes
typed values, never an estimator's parameters.
"""
