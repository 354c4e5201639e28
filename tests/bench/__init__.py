"""Measurements: each bench_*.py module has a NAME and figures(full)."""
