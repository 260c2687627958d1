"""Who takes part in a forecast, at which cut-offs members are compared, and their weights."""
