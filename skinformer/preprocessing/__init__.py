"""Transformers for Pipelines: one row in, one row out."""
