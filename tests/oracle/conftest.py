"""Tiny tensors: one thread is faster than two, and much faster on a shared machine."""

import torch

torch.set_num_threads(1)
