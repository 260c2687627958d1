"""Real data that travels with the library."""

from skinformer.datasets.auckland_holidays import auckland_holidays
from skinformer.datasets.auckland_pedestrians import load_auckland_pedestrians

__all__ = ["auckland_holidays", "load_auckland_pedestrians"]
