"""Adapters to other libraries; each module needs its own, which skinformer does not."""
