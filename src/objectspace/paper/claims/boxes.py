"""On boxes and counts: Table 1, the boundary loss; and on drawing new scenes."""

from objectspace.compare.candidates import all_cells
from objectspace.paper.claims import AP50, COUNT, LARGE, QUANTITATIVE, SMALL
from objectspace.paper.declared import Claim
from objectspace.paper.timing import faster
from objectspace.paper.verdicts import both, by_construction, close, differs, reaches, untested

PLAIN, HEMMED = f"SPACE on {SMALL}", f"SPACE on {SMALL} boundary"
SPLIT, MENDED = f"SPACE on {SMALL} small-boxes", f"SPACE on {SMALL} small-boxes boundary"
TABLE1 = (
    Claim(
        "SPACE and SPAIR have nearly the same average precision and count error.",
        QUANTITATIVE,
        "AP@0.5 within 0.02 and count error within 0.02 of each other, published rule, both data sets",
        both(
            *(
                close(name, key, f"SPACE on {data}", f"SPAIR on {data}", 0.02, 0.05, least)
                for data in (SMALL, LARGE)
                for name, key, least in (("AP@0.5", AP50, 0.5), ("count error", COUNT, 0.0))
            )
        ),
    ),
    Claim(
        "Although SPACE infers its objects in parallel, it counts them about as well as SPAIR.",
        QUANTITATIVE,
        "SPACE's count error is at most 0.02 above SPAIR's, published rule",
        both(
            *(
                differs("count error", COUNT, f"SPACE on {data}", f"SPAIR on {data}", 0.02, 0.05)
                for data in (SMALL, LARGE)
            )
        ),
    ),
    Claim(
        "By attending in parallel, SPACE does not have its forerunners' trouble with scale: scenes may hold many "
        "objects, and it does no worse on them.",
        "Abstract",
        "SPACE's AP@0.5 on small rooms (4-8 objects) of 0.8, and on large ones (18-24) at most 0.02 below that",
        both(
            reaches("AP@0.5", f"SPACE on {SMALL}", AP50, 0.8, 0.6),
            differs("AP@0.5", AP50, f"SPACE on {LARGE}", f"SPACE on {SMALL}", -0.02, -0.05),
        ),
    ),
    Claim(
        "Experiments confirm that cells need not know of each other: SPACE detects about as well as SPAIR, trains "
        "much faster, and scales well to scenes of many objects.",
        "2.2 Inference and training",
        "AP@0.5 at most 0.02 below SPAIR's; at 16 x 16 SPAIR's step takes twice as long as SPACE's (item latency)",
        both(
            *(differs("AP@0.5", AP50, f"SPACE on {data}", f"SPAIR on {data}", -0.02, -0.05) for data in (SMALL, LARGE)),
            faster(all_cells("space"), all_cells("spair"), 16, 2.0, 1.2),
        ),
    ),
    Claim(
        "SPACE's boxes are about as good as SPAIR's, and it also divides complex backgrounds.",
        QUANTITATIVE,
        "AP@[0.5:0.95] within 0.05 of SPAIR's, published rule, and mIoU of floor, wall and sky of 0.7",
        both(
            *(
                close("AP", "published_ap", f"SPACE on {data}", f"SPAIR on {data}", 0.05, 0.1, 0.2)
                for data in (SMALL, LARGE)
            ),
            *(
                reaches("mIoU of the background", f"SPACE on {data}", "background_miou", 0.7, 0.5)
                for data in (SMALL, LARGE)
            ),
        ),
    ),
)

BOUNDARY = (
    Claim(
        "With too small a prior for the size of boxes, the model may cover a large object by several of them.",
        "2.2 Preventing box-splitting",
        "with half the size: found / true objects rises by 0.1, published rule",
        differs("found / true objects", "found_per_object", SPLIT, PLAIN, 0.1, 0.02),
    ),
    Claim(
        "The boundary loss makes it costly to cover a large object by several smaller boxes.",
        "2.2 Preventing box-splitting",
        "with half the size, the boundary loss lowers found / true objects by 0.1, published rule",
        differs("found / true objects", "found_per_object", SPLIT, MENDED, 0.1, 0.02),
    ),
    Claim(
        "The boundary loss makes boxes looser and average precision lower, so once the model has converged well it is "
        "switched off, and the ELBO alone is optimised.",
        "C Boundary loss",
        "with the loss kept to the end AP@[0.5:0.95] by the published rule is at least 0.05 lower",
        differs("AP@[0.5:0.95]", "published_ap", PLAIN, HEMMED, 0.05, 0.01),
    ),
)

GENERATION = (
    Claim(
        "A new foreground is drawn by taking the latents from their priors, not from what an image says.",
        "D.1 Algorithms",
        "how samples are drawn; how near they come to the data is in the table",
        by_construction("samples are drawn that way, but for the number of objects, which is that of training images"),
    ),
    Claim(
        "Independent foregrounds and backgrounds worked well in practice, but if one depended on the other, samples "
        "might be better.",
        "2.1 Generative process",
        "no such model here",
        untested("no model here conditions one on the other"),
    ),
)
