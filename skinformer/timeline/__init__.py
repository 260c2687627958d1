"""From frames to steps: clocks, standardised rows, windows."""
