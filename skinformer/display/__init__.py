"""Pictures; matplotlib is loaded when one is drawn."""

from skinformer.display.attention import AttentionDisplay
from skinformer.display.contributions import ContributionDisplay
from skinformer.display.fits import TrainingDisplay, WeightsDisplay
from skinformer.display.forecast import ForecastDisplay
from skinformer.display.groups import CoverageDisplay, ErrorDisplay
from skinformer.display.report.writing import write_report
from skinformer.display.residuals import ResidualDisplay

__all__ = [
    "AttentionDisplay",
    "ContributionDisplay",
    "CoverageDisplay",
    "ErrorDisplay",
    "ForecastDisplay",
    "ResidualDisplay",
    "TrainingDisplay",
    "WeightsDisplay",
    "write_report",
]
