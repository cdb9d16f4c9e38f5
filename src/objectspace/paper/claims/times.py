"""On how long a step takes, and how soon models converge."""

from objectspace.paper.claims import QUANTITATIVE
from objectspace.paper.declared import Claim
from objectspace.paper.timing import faster, grows, no_room, slowest, sooner, together
from objectspace.paper.verdicts import both, by_construction, untested

BY_MAKE = Claim(
    "For SPACE, the decomposition capacity is equal to the number of grid cells H×W [...] plus the number of "
    "background "
    "components K. For SPAIR, [...] H×W plus 1 for background. For IODINE and GENESIS, it is equal to the number of "
    "components K.",
    QUANTITATIVE,
    "how the models are made",
    by_construction("comparisons build each model at a given capacity that way"),
)

LATENCY = (
    Claim(
        "We see that SPAIR's latency grows with the number of cells because of the sequential nature of its latent "
        "inference step.",
        QUANTITATIVE,
        "SPAIR's step at the largest grid measured against that at the smallest",
        grows("spair, all cells", 4.0, 2.0),
    ),
    Claim(
        "Similarly GENESIS and IODINE's latency grows with the number of components K because each component is "
        "processed sequentially in both the models.",
        QUANTITATIVE,
        "the step at the largest number of components that fits against that at the smallest",
        both(grows("genesis", 2.0, 1.5), grows("iodine", 2.0, 1.5)),
    ),
    Claim(
        "IODINE is the slowest overall with its computationally expensive iterative inference procedure.",
        QUANTITATIVE,
        "IODINE's step is the longest at every capacity",
        slowest("iodine"),
    ),
    Claim(
        "both IODINE and GENESIS require storing data for each of the K components, so we were unable to run our "
        "experiments on 256 components or greater before running out of memory on our 22GB GPU.",
        QUANTITATIVE,
        "no room for GENESIS and IODINE from 16 x 16 on",
        no_room(("genesis", "iodine"), 16),
    ),
    Claim(
        "SPACE employs parallel processing for the foreground which makes it scalable to large grid sizes, allowing it "
        "to detect a large number of foreground objects without any significant performance degradation.",
        QUANTITATIVE,
        "SPACE's step at the largest grid is at most 1.5 times that at the smallest (all cells; and 20 present "
        "objects)",
        both(grows("space, all cells", 1.5, 4.0), grows("space, 20 objects", 1.5, 4.0)),
    ),
    Claim(
        "SPACE can produce similar quality bounding boxes as SPAIR while 1) having orders of magnitude faster "
        "inference "
        "and gradient step time",
        QUANTITATIVE,
        "at 16 x 16 SPAIR's step takes 10 times as long as SPACE's, both with all cells",
        faster("space, all cells", "spair, all cells", 16, 10.0, 1.5),
    ),
    Claim(
        "Although this data was collected for gradient step latency, this comparison implies a similar relationship "
        "exists with inference time which is a main component in the gradient step.",
        QUANTITATIVE,
        "not measured by this item",
        untested("this item times training steps only"),
    ),
)

CONVERGENCE = (
    Claim(
        "In all settings, SPAIR and SPACE converge much faster than IODINE and GENESIS.",
        QUANTITATIVE,
        "IODINE and GENESIS take at least twice as long to come near the smallest error of the grid",
        both(
            *(
                sooner(one, other, grid, 2.0, 1.2)
                for grid in (4, 8, 16)
                for one in ("space", "spair")
                for other in ("iodine", "genesis")
            )
        ),
    ),
    Claim(
        "In the 4×4 and 8×8 setting, SPAIR and SPACE converge equally fast.",
        QUANTITATIVE,
        "within a factor of 1.5 in time",
        both(*(together("space", "spair", grid, 1.5, 3.0) for grid in (4, 8))),
    ),
    Claim(
        "But as we scale up to 16×16, SPAIR becomes much slower than SPACE.",
        QUANTITATIVE,
        "at 16 x 16 SPAIR takes at least twice as long",
        sooner("space", "spair", 16, 2.0, 1.2),
    ),
)
