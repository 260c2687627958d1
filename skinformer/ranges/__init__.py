"""How far forecasts are off: the size of errors as an origin tells it, and their quantiles."""
