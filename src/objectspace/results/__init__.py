"""Scenes for other programs: COCO, Label Studio, tables, latents, pictures."""
