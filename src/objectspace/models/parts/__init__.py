"""What models are made of: cells of a grid that hold objects, components of a background, and scenes of either."""
