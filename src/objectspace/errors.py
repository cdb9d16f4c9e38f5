"""The one exception that is meant for a user's eyes.

Reads nothing. Whoever finds bad input raises `UserError` with a message that says what is wrong, where, and what to
do about it; the command line prints it and leaves with exit code 2, without a traceback.
"""

import difflib
from collections.abc import Sequence


class UserError(Exception):
    """Something the user gave cannot be used; the message says what, where and what to do."""


def missing_extra(package: str, extra: str) -> UserError:
    """The error for an optional dependency that is not installed."""
    return UserError(f"this needs the package {package}: install it with  pip install 'objectspace[{extra}]'")


def unknown(what: str, name: str, known: Sequence[str]) -> UserError:
    """The error for a name that does not exist: it offers the nearest that does, or all."""
    return UserError(f"there is no {what} {name!r}; {nearest(name, known)}")


def nearest(name: str, known: Sequence[str]) -> str:
    """`did you mean 'x'?` for a name that nearly exists, otherwise the list of what does."""
    by_lower = {each.lower(): each for each in known}
    close = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.5)
    return f"did you mean {by_lower[close[0]]!r}?" if close else f"known are: {', '.join(known) or 'none'}"
