"""Training of a torch module: the loop, optimisers, schedules, losses, precision, checkpoints."""
