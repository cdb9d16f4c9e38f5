"""On scenes of 3D rooms."""

from objectspace.paper.claims import AP50, LARGE, QUALITATIVE, SMALL
from objectspace.paper.declared import Claim
from objectspace.paper.verdicts import both, close, differs, reaches, untested

ROOMS = (
    Claim(
        "In both 3D-Room, SPACE is able to accurately detect almost all objects despite the large variations in object "
        "positions, colors, and shapes, while producing a clean segmentation of the background walls, ground, and sky.",
        QUALITATIVE,
        "recall at IoU 0.5 of 0.9, and mIoU of floor, wall and sky of 0.9",
        both(
            *(
                reaches(name, f"SPACE on {data}", key, 0.9, fair)
                for data in (SMALL, LARGE)
                for name, key, fair in (("recall", "recall", 0.8), ("mIoU of the background", "background_miou", 0.7))
            )
        ),
    ),
    Claim(
        "SPAIR is able to detect tight bounding boxes in both 3D-Rooms and the two Atari games.",
        QUALITATIVE,
        "AP@[0.5:0.95] of 0.4 by the published rule, rooms and two games",
        both(
            *(
                reaches("AP@[0.5:0.95]", f"SPAIR on {data}", "published_ap", 0.4, 0.25)
                for data in (SMALL, LARGE, "spaceinvaders", "airraid")
            )
        ),
    ),
    Claim(
        "This is in contrast to the SPAIR model, while being able to provide similar foreground detection quality, "
        "encodes the whole background into a single component, which makes the representation less disentangled.",
        QUALITATIVE,
        "AP@0.5 within 0.02; the single component is how the model is made",
        both(
            *(
                close("AP@0.5", AP50, f"SPACE on {data}", f"SPAIR on {data}", 0.02, 0.05, 0.5)
                for data in (SMALL, LARGE)
            ),
            *(
                differs("mIoU of the background", "background_miou", f"SPACE on {data}", f"SPAIR on {data}", 0.2, 0.1)
                for data in (SMALL, LARGE)
            ),
        ),
    ),
    Claim(
        "SPAIR-P, however, often fails to detect the foreground objects in proper bounding boxes, frequently uses "
        "multiple bounding boxes for one object and redundantly detects parts of the background as foreground objects.",
        QUALITATIVE,
        "on small rooms, AP@0.5 at least 0.1 below SPAIR's, and precision of at most 0.7",
        both(
            differs("AP@0.5", AP50, f"SPAIR on {SMALL}", f"SPAIR-P on {SMALL}", 0.1, 0.03),
            reaches("precision", f"SPAIR-P on {SMALL}", "published_precision", 0.7, 0.85),
        ),
    ),
    Claim(
        "In the 3D-Room environment, IODINE is able to segment the objects and the background into separate "
        "components.",
        QUALITATIVE,
        "ARI over all pixels of 0.7",
        both(*(reaches("ARI", f"IODINE on {data}", "ari", 0.7, 0.4) for data in (SMALL, LARGE))),
    ),
    Claim(
        "However, it occasionally does not properly decompose objects (in the Large 3D-room results, the orange sphere "
        "on the right is not reconstructed) and may generate blurry objects.",
        QUALITATIVE,
        "IODINE's recall on large rooms is at most 0.95",
        reaches("recall", f"IODINE on {LARGE}", "recall", 0.95, 0.99),
    ),
    Claim(
        "GENESIS is able to segment the background walls, floor, and sky into multiple components.",
        QUALITATIVE,
        "mIoU of floor, wall and sky of 0.7",
        both(
            *(
                reaches("mIoU of the background", f"GENESIS on {data}", "background_miou", 0.7, 0.5)
                for data in (SMALL, LARGE)
            )
        ),
    ),
    Claim(
        "It is able to capture blurry foreground objects in the Small 3D-Room, but is not able to cleanly capture "
        "foreground objects with the larger number of objects in the Large 3D-Room.",
        QUALITATIVE,
        "GENESIS' recall is at least 0.5 on small rooms, and at most 0.5 on large ones",
        both(
            reaches("recall", f"GENESIS on {SMALL}", "recall", 0.5, 0.3),
            reaches("recall", f"GENESIS on {LARGE}", "recall", 0.5, 0.7),
        ),
    ),
    Claim(
        "SPACE can explicitly provide factorized object representations for foreground objects while also decomposing "
        "background segments of complex morphology. Previous models are good at either of these, but not both.",
        "Abstract",
        "no rival on small rooms has a recall of 0.9 and a background mIoU of 0.7, and SPACE has both",
        both(
            reaches("recall", f"SPACE on {SMALL}", "recall", 0.9, 0.8),
            reaches("mIoU of the background", f"SPACE on {SMALL}", "background_miou", 0.7, 0.5),
            reaches("mIoU of the background", f"SPAIR on {SMALL}", "background_miou", 0.7, 0.8),
            reaches("recall", f"GENESIS on {SMALL}", "recall", 0.9, 0.95),
            reaches("recall", f"IODINE on {SMALL}", "recall", 0.9, 0.95),
        ),
    ),
    Claim(
        "Besides, the detected objects in SPACE are also more intuitive than other methods.",
        "5 Conclusion",
        "a judgement of people",
        untested("nobody was asked; look at the pictures"),
    ),
)
