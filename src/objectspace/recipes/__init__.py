"""The recipes that ship with the package: `<model>-<data>.toml`, each only what differs from the defaults."""
