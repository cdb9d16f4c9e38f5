"""Measurements on scenes; nothing here knows a model."""
