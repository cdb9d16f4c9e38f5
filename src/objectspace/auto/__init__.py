"""Pictures in, objects out, nothing to choose: what `objectspace train auto` looks at, chooses, trains and judges."""
