"""Data sets: generate, convert, load."""
