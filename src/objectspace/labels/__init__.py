"""Objects in groups that look alike: clusters of latents, their names, and how well they fit known categories."""
