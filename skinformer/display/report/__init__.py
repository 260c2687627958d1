"""A report of a backtest as one HTML file."""
