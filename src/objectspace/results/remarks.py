"""What is said aloud about images that were taken apart, so that nothing goes wrong in silence.

Images much larger than what the model sees, none in which anything was found, and images unlike those that it was
trained on: there it leaves far more of the pixels unexplained.
"""

from collections.abc import Iterator, Sequence

from objectspace.io.files import shown
from objectspace.models.card import Unexplained
from objectspace.results.journal import Journal

LARGE = 2  # times the model's size: beyond it a shrunk image has lost a lot
DARK = 32  # of 255: images that are nowhere brighter are hardly images to a model
_NAMED = 10  # images named in a list


def shrunk(largest: tuple[int, int], model: tuple[int, int]) -> str | None:
    """What to say of images of up to this height and width, which a model saw at its own; None: nothing."""
    if largest[0] <= LARGE * model[0] and largest[1] <= LARGE * model[1]:
        return None
    return (
        f"note: images of up to {largest[1]} x {largest[0]} pixels were shrunk to the model's {model[1]} x {model[0]}; "
        "if their objects are small, look at them in tiles: --tile"
    )


def dark(brightest: int) -> str | None:
    """What to say of images of which none is brighter than this, of 255; None: nothing."""
    if brightest >= DARK:
        return None
    return (
        f"warning: no image is brighter than {brightest} of 255, as where a camera uses 12 of 16 bits: a model "
        "trained with model.view.stretch sees such images (objectspace data info shows their depth)"
    )


def nothing_found(images: int, tiled: bool, largest: tuple[int, int], model: tuple[int, int]) -> str:
    """What to say when no image has an object."""
    advice = "this model may be for other images than these (objectspace models says what each was trained on)"
    if not tiled and shrunk(largest, model) is not None:
        advice = "these images were shrunk a lot, so try --tile, or --tile --tile-scale 0.5; or " + advice
    elif tiled:
        advice = "try another --tile-scale, so that objects are as large as in training; or " + advice
    else:
        advice = "try a lower --threshold or --price; or " + advice
    return f"warning: 0 objects in {'the image' if images == 1 else f'all {images} images'}: {advice}"


def unlike_training(journal: Journal, usual: Unexplained | None) -> Iterator[str]:
    """Which images are unlike those that the model was trained on; nothing where that is not known."""
    if usual is None:
        return
    strange = [(name, share) for name, share in journal.unexplained() if share > usual.strange]
    if strange:
        yield (
            f"warning: {len(strange)} of {journal.totals[0]} images are unlike those that the model was trained on: "
            f"nobody explains more than {usual.strange:.0%} of their pixels, in training {usual.median:.1%} was usual "
            f"and {usual.most:.1%} the most. What was found there may be wrong:"
        )
        yield from _listed(strange)


def _listed(strange: Sequence[tuple[str, float]]) -> Iterator[str]:
    worst = sorted(strange, key=lambda each: -each[1])
    for name, share in worst[:_NAMED]:
        yield f"  {shown(name)}: {share:.0%} unexplained"
    if len(worst) > _NAMED:
        yield f"  and {len(worst) - _NAMED} more: the column `unexplained` of --csv has all"
