"""Graphs for torch.export and ONNX: windows in units in, forecasts in units out."""
