"""Models that other installed packages bring: each is an entry point of the group `objectspace.models`.

The entry point's name is the model's kind, its value the module that declares it. A module is imported only when its
kind is asked for, so that what is installed costs nothing.
"""

from importlib.metadata import entry_points

from objectspace.errors import UserError

GROUP = "objectspace.models"


def import_installed(kind: str | None = None) -> None:
    """Import the module that declares a kind of model, if a package brings one; None: those of all kinds."""
    for entry in entry_points(group=GROUP):
        if kind not in (None, entry.name):
            continue
        try:
            entry.load()
        except Exception as error:  # whatever a stranger's module may raise
            package = entry.dist.name if entry.dist is not None else entry.value
            raise UserError(
                f"the kind of model {entry.name!r}, which the package {package} brings, cannot be imported "
                f"({type(error).__name__}: {error}): mend or remove that package"
            ) from error
