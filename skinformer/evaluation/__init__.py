"""Judging forecasts."""

from skinformer.evaluation.attention import AttentionMap, attention_maps
from skinformer.evaluation.backtest import backtest
from skinformer.evaluation.baselines import SeasonalNaive
from skinformer.evaluation.comparison import compare, summary
from skinformer.evaluation.explain import explain, forecast_parts, importance
from skinformer.evaluation.range_scores import (
    crps_of_quantiles,
    crps_of_samples,
    interval_coverage,
    interval_width,
    pinball_loss,
    weighted_quantile_loss,
    winkler_score,
)
from skinformer.evaluation.scorers import ForecastScorer
from skinformer.evaluation.scores import mase, rmsse, skip_missing, smape, wape

__all__ = [
    "AttentionMap",
    "ForecastScorer",
    "SeasonalNaive",
    "attention_maps",
    "backtest",
    "compare",
    "crps_of_quantiles",
    "crps_of_samples",
    "explain",
    "forecast_parts",
    "importance",
    "interval_coverage",
    "interval_width",
    "mase",
    "pinball_loss",
    "rmsse",
    "skip_missing",
    "smape",
    "summary",
    "wape",
    "weighted_quantile_loss",
    "winkler_score",
]
