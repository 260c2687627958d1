"""Forecasts of steps: blocks from one origin after the other, missing truths filled first."""
