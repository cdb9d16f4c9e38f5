"""On scenes of 3D rooms."""

from objectspace.paper.claims import AP50, LARGE, QUALITATIVE, SMALL
from objectspace.paper.declared import Claim
from objectspace.paper.verdicts import both, close, differs, reaches, untested

ROOMS = (
    Claim(
        "In small and large rooms SPACE finds almost all objects accurately, however much they differ in place, "
        "colour and shape, and divides walls, ground and sky cleanly.",
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
        "SPAIR finds tight boxes in small and large rooms and in the two Atari games.",
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
        "SPAIR detects foreground objects about as well as SPACE, but puts the whole background into one component, "
        "so that what it represents is less disentangled.",
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
        "SPAIR-P often fails to put proper boxes around foreground objects, frequently gives an "
        "object several boxes, and also takes parts of the background for objects.",
        QUALITATIVE,
        "on small rooms, AP@0.5 at least 0.1 below SPAIR's, and precision of at most 0.7",
        both(
            differs("AP@0.5", AP50, f"SPAIR on {SMALL}", f"SPAIR-P on {SMALL}", 0.1, 0.03),
            reaches("precision", f"SPAIR-P on {SMALL}", "published_precision", 0.7, 0.85),
        ),
    ),
    Claim(
        "In 3D rooms IODINE puts objects and background into separate components.",
        QUALITATIVE,
        "ARI over all pixels of 0.7",
        both(*(reaches("ARI", f"IODINE on {data}", "ari", 0.7, 0.4) for data in (SMALL, LARGE))),
    ),
    Claim(
        "Now and then IODINE does not take objects apart properly (in a large room an orange ball on the right is "
        "missing), and its objects may be blurry.",
        QUALITATIVE,
        "IODINE's recall on large rooms is at most 0.95",
        reaches("recall", f"IODINE on {LARGE}", "recall", 0.95, 0.99),
    ),
    Claim(
        "GENESIS divides what lies behind, walls, floor and sky, into several components.",
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
        "GENESIS captures blurry objects in small rooms, but in large ones, where there are more, it does not capture "
        "them cleanly.",
        QUALITATIVE,
        "GENESIS' recall is at least 0.5 on small rooms, and at most 0.5 on large ones",
        both(
            reaches("recall", f"GENESIS on {SMALL}", "recall", 0.5, 0.3),
            reaches("recall", f"GENESIS on {LARGE}", "recall", 0.5, 0.7),
        ),
    ),
    Claim(
        "SPACE describes foreground objects by explicit factors and also divides complex backgrounds; earlier models "
        "do one of the two well, but not both.",
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
        "The objects that SPACE finds agree better with intuition than those of other methods.",
        "5 Conclusion",
        "a judgement of people",
        untested("nobody was asked; look at the pictures"),
    ),
)
