"""A report of a backtest as one HTML file."""

from skinformer.display.report.writing import write_report

__all__ = ["write_report"]
