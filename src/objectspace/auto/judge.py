"""A trained model judged without labels: what it explains, what its objects are worth, whether it is sure of them.

Reads scenes of held-out images at the model's own size, and how many regions its background left there before there
were objects; gives a verdict in plain words, with the command to try where it is not good.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from objectspace.evaluation.detection import detection
from objectspace.geometry.boxes import iou
from objectspace.geometry.rle import Mask
from objectspace.scene import Scene

Word = Literal["good", "doubtful", "failed"]

NO_OBJECTS = 0.05  # objects an image
ALL_CELLS = 0.95  # of those an image may have, in the middle image
COVERED = 0.85  # of the pixels are objects'
NOBODY = 0.25, 0.06  # of the pixels are nobody's: failed, doubtful
REGIONS = 0.6, 1.7  # objects for every region that the background left
DUPLICATES = 0.12  # of the objects overlap a surer one by more than half
STABLE = 0.65  # of the objects are the same one checkpoint earlier
WORTH = 30.0  # nats, of the middle object
ON_GROUND = 0.15  # of the objects; an object does when more than half of it lies there
STRANGE = 0.35  # of the objects are found and not understood
EMPTY = 0.25  # more of the images are empty than have no regions


@dataclass(frozen=True)
class Measures:
    """What can be known without labels, on some images."""

    images: int
    objects: float  # an image
    limit: float  # the middle image's number of objects, by how many it may have
    regions: float  # an image, that the background alone leaves
    background: float  # share of the pixels that it explains
    foreground: float  # that are objects'
    nobody: float  # that nobody explains
    evidence: float  # nats, of the middle object; 0 without any
    duplicates: float  # share of the objects
    strange: float  # share of the objects that are found and not understood
    empty: float  # share of the images in which nothing is found
    bare: float  # share of the images in which the background leaves no region
    on_ground: float = 0.0  # share of the objects that lie on ground which the background leaves: frames, edges
    stability: float | None = None  # share of the objects that are the same one checkpoint earlier


@dataclass(frozen=True)
class Verdict:
    """How it went, in a word, why, and what to try."""

    word: Word
    reasons: tuple[str, ...]
    advice: tuple[str, ...]

    def __str__(self) -> str:
        said = f"{self.word}: {'; '.join(self.reasons)}"
        return f"{said}. Try {' or '.join(self.advice)}" if self.advice else said

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def measure(
    scenes: Sequence[Scene],
    earlier: Sequence[Scene] | None,
    regions: Sequence[int],
    budget: int,
    ground: Sequence[Mask] | None = None,
) -> Measures:
    """Measure scenes; `earlier` are of the same images by the checkpoint before, `regions` are numbers of regions.

    `ground` are the pixels (H, W) of each image that the background does not explain, though they are no object's.
    """
    objects = [item for scene in scenes for item in scene.objects]
    counts = np.array([len(scene.objects) for scene in scenes])
    nobody = float(np.mean([scene.unexplained_share or 0.0 for scene in scenes]))
    foreground = float(np.mean([_covered(scene) for scene in scenes]))
    evidence = [item.evidence for item in objects if item.evidence is not None]
    return Measures(
        images=len(scenes),
        objects=float(counts.mean()),
        limit=float(np.median(counts)) / budget,
        regions=float(np.mean(regions)),
        background=max(0.0, 1 - foreground - nobody),
        foreground=foreground,
        nobody=nobody,
        evidence=float(np.median(evidence)) if evidence else 0.0,
        duplicates=float(np.mean(np.concatenate([_doubled(scene) for scene in scenes]))) if objects else 0.0,
        strange=float(np.mean([not item.understood for item in objects])) if objects else 0.0,
        empty=float((counts == 0).mean()),
        bare=float((np.array(regions) == 0).mean()),
        on_ground=_on_ground(scenes, ground) if objects and ground is not None else 0.0,
        stability=None if earlier is None else _same(scenes, earlier),
    )


def judge(seen: Measures, doubts: Sequence[str] = ()) -> Verdict:
    """The verdict on what was measured, and on what was doubtful before."""
    wrong = _failures(seen)
    if wrong:
        return Verdict("failed", tuple(wrong), tuple(dict.fromkeys(wrong.values())))
    doubtful = _doubts(seen) | dict.fromkeys(doubts, "--set phases.size=FRACTION, measured by hand")
    if doubtful:
        return Verdict("doubtful", tuple(doubtful), tuple(dict.fromkeys(doubtful.values())))
    return Verdict(
        "good",
        (
            f"{seen.objects:.1f} objects an image of the model's size, where the background leaves {seen.regions:.1f} "
            f"regions; nobody explains {seen.nobody:.1%} of the pixels",
        ),
        (),
    )


def _failures(seen: Measures) -> Mapping[str, str]:
    """What is wrong altogether, each with what to try."""
    found = {}
    if seen.objects < NO_OBJECTS:
        found["no objects are found on held-out pictures"] = (
            "--set model.background.sigma=0.04 (objects too faint)" if seen.regions < 1 else "more --minutes"
        )
    elif seen.objects * (1 - seen.strange) < NO_OBJECTS:
        found["no object is learned: what is found is only what the background leaves"] = "more --minutes"
    if seen.limit >= ALL_CELLS:
        found[f"images are full of objects, {seen.objects:.0f} each: it takes the ground for objects"] = (
            "--set model.background.components=5 --set model.background.palette=true, or a still for a fixed camera"
        )
    if seen.foreground > COVERED:
        found[f"objects cover {seen.foreground:.0%} of the pixels"] = "--set model.background.components=5"
    if seen.nobody > NOBODY[0]:
        found[f"nobody explains {seen.nobody:.0%} of the pixels"] = "--set model.background.components=5"
    return found


def _doubts(seen: Measures) -> dict[str, str]:
    """What may be wrong, each with what to try."""
    found = {}
    if seen.nobody > NOBODY[1]:
        found[f"nobody explains {seen.nobody:.1%} of the pixels"] = "--set model.background.components=5"
    if seen.objects < REGIONS[0] * seen.regions:
        found[f"{seen.objects:.1f} objects where the background leaves {seen.regions:.1f} regions"] = "more --minutes"
    if seen.objects > REGIONS[1] * seen.regions:
        found[f"{seen.objects:.1f} objects where the background leaves only {seen.regions:.1f} regions"] = (
            "a larger --set phases.size"
        )
    if seen.duplicates > DUPLICATES:
        found[f"{seen.duplicates:.0%} of the objects lie on another one"] = "--set phases.price=70"
    if seen.stability is not None and seen.stability < STABLE:
        found[f"only {seen.stability:.0%} of the objects were the same a little earlier"] = "more --minutes"
    if 0 < seen.evidence < WORTH:
        found[f"an object is worth only {seen.evidence:.0f} nats"] = "--set model.background.sigma=0.04"
    if seen.on_ground > ON_GROUND:
        found[f"{seen.on_ground:.0%} of the objects lie on ground that the background does not explain"] = (
            "--set model.background.components=5 --set model.background.palette=true, and more --minutes"
        )
    if seen.strange > STRANGE:
        found[f"{seen.strange:.0%} of the objects are found and not understood"] = "more --minutes"
    if seen.empty > seen.bare + EMPTY:
        found[f"{seen.empty:.0%} of the images have no object, {seen.bare:.0%} no region"] = "more --minutes"
    return found


def _covered(scene: Scene) -> float:
    covered = np.zeros((scene.height, scene.width), np.bool_)
    for item in scene.objects:
        if item.mask is not None:
            covered |= item.mask
    return float(covered.mean())


def _doubled(scene: Scene) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which objects (n,) overlap a surer one by more than half."""
    order = np.argsort(-scene.scores, kind="stable")
    overlaps = np.tril(iou(scene.boxes[order], scene.boxes[order]), -1)
    return np.asarray(overlaps.max(axis=1, initial=0.0) > 0.5)


def _on_ground(scenes: Sequence[Scene], ground: Sequence[Mask]) -> float:
    """The share of the objects that lie on ground, by more than half."""
    lie = [
        ground_of[item.mask].mean() > 0.5
        for scene, ground_of in zip(scenes, ground, strict=True)
        for item in scene.objects
        if item.mask is not None and item.mask.any()
    ]
    return float(np.mean(lie)) if lie else 0.0


def _same(scenes: Sequence[Scene], earlier: Sequence[Scene]) -> float:
    """F1 of the boxes of two lots of scenes, the one being the truth of the other; 1 where neither has any."""
    found = detection([(scene.boxes, scene.scores) for scene in scenes], [scene.boxes for scene in earlier]).f1
    return 1.0 if np.isnan(found) else float(found)
