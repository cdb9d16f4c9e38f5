"""Shapes in an image, without a model: boxes, masks, regions of pixels. numpy and scipy only."""
