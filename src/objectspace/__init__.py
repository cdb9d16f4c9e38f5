"""objectspace: take scenes apart into objects, without labels."""

__version__ = "0.1.0"
