"""Data sets: generate, convert, load."""

from objectspace.data.dataset import Dataset
from objectspace.data.sampler import Sampler

__all__ = ["Dataset", "Sampler"]
