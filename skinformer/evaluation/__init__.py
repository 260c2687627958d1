"""Judging forecasts."""

from skinformer.evaluation.backtest import backtest
from skinformer.evaluation.baselines import SeasonalNaive
from skinformer.evaluation.metrics import skip_missing

__all__ = ["SeasonalNaive", "backtest", "skip_missing"]
