"""Serving exported models: the arrays that their graphs take, without torch and scikit-learn."""

from skinformer.serving.signature import Signature
from skinformer.serving.windows import WindowInputs, window_inputs

__all__ = ["Signature", "WindowInputs", "window_inputs"]
