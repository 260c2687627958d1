"""Checks of rows, columns, truths and parameters, each with its message.

Everything behind this border trusts its input; what one function of evaluation or display alone
asks of its arguments stands there. A message names the value, what is required, why, and what to
type instead. This package is also the one home of scikit-learn's private imports.
"""
