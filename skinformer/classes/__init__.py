"""Forecasters of classes without a network: frequencies, transitions, a logistic map, trees."""
