"""Pictures and plots of scenes; nothing here knows a model."""
