"""Training: from a data set and a recipe to weights, surviving whatever happens on the way."""
