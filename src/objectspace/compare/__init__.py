"""Models side by side: how long a step takes, how fast they learn, how good they are, how it looks."""
