"""`python -m objectspace` is the same as `objectspace`."""

from objectspace.cli import main

if __name__ == "__main__":
    main()
