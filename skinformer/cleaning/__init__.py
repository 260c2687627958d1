"""Corrections of rows before a fit: typing errors, failed sensors, other units.

Ridges and networks learn from squares, and a forecast builds on every row of its context: one value
a thousand times too large would spread everywhere. All of it goes by medians and by what was
farthest before, which no typing error moves (notes/robustness.md).
"""
