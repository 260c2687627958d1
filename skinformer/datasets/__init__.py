"""Real data that travels with the library."""

from skinformer.datasets.auckland_holidays import load_auckland_holidays
from skinformer.datasets.auckland_pedestrians import load_auckland_pedestrians

__all__ = ["load_auckland_holidays", "load_auckland_pedestrians"]
