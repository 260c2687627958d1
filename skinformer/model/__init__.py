"""The network, in torch: of standardised tensors, without frames, units or timestamps."""
