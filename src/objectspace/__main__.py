"""`python -m objectspace` and `objectspace` begin here, so that Ctrl-C is understood from the first moment."""

import sys

INTERRUPTED = 130  # the exit code of what Ctrl-C ends


def main() -> None:
    """Load the command line and run it."""
    try:
        from objectspace.cli import main as run

        run()
    except KeyboardInterrupt:  # while modules are loaded; commands say themselves how to go on
        print("stopped", file=sys.stderr)
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
