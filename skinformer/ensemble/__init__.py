"""Members of a forecast, their weights, and the one place that weighs them."""
