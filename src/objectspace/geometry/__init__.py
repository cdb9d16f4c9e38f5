"""Shapes in an image, without a model: regions of pixels and what they are made of. numpy and scipy only."""
