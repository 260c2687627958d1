"""Forecasts of steps: blocks from one origin after the other, missing targets filled first."""
