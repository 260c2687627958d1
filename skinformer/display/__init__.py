"""Pictures; matplotlib is loaded when one is drawn."""

from skinformer.display.forecast import ForecastDisplay

__all__ = ["ForecastDisplay"]
