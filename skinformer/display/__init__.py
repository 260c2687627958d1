"""Pictures; matplotlib is loaded when one is drawn."""

from skinformer.display.attention import AttentionDisplay
from skinformer.display.contributions import ContributionDisplay
from skinformer.display.cost import CostDisplay
from skinformer.display.coverage import CoverageDisplay
from skinformer.display.errors import ErrorDisplay
from skinformer.display.forecast import ForecastDisplay
from skinformer.display.report.writing import write_report
from skinformer.display.residuals import ResidualDisplay
from skinformer.display.training import TrainingDisplay
from skinformer.display.weights import WeightsDisplay

__all__ = [
    "AttentionDisplay",
    "ContributionDisplay",
    "CostDisplay",
    "CoverageDisplay",
    "ErrorDisplay",
    "ForecastDisplay",
    "ResidualDisplay",
    "TrainingDisplay",
    "WeightsDisplay",
    "write_report",
]
