"""Forecasts by any regressor of scikit-learn, on features of each window and step ahead."""
