"""Measurements: each prints a table and writes JSON and a plot to `benchmarks/results/`."""
