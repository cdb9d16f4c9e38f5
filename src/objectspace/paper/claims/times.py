"""On how long a step takes, and how soon models converge."""

from objectspace.compare.candidates import all_cells
from objectspace.paper.claims import QUANTITATIVE
from objectspace.paper.declared import Claim
from objectspace.paper.timing import faster, grows, no_room, slowest, sooner, together
from objectspace.paper.verdicts import both, by_construction, untested

BY_MAKE = Claim(
    "The decomposition capacity, the number of parts that an image can be divided into, is H × W cells plus K "
    "background components for SPACE, H × W plus 1 for SPAIR, and K components for IODINE and GENESIS.",
    QUANTITATIVE,
    "how the models are made",
    by_construction("comparisons build each model at a given capacity that way"),
)

LATENCY = (
    Claim(
        "SPAIR's step takes longer with more cells, because it infers their latents one after another.",
        QUANTITATIVE,
        "SPAIR's step at the largest grid measured against that at the smallest",
        grows(all_cells("spair"), 4.0, 2.0),
    ),
    Claim(
        "The steps of GENESIS and IODINE take longer with more components, because both work on one after another.",
        QUANTITATIVE,
        "the step at the largest number of components that fits against that at the smallest",
        both(grows("genesis", 2.0, 1.5), grows("iodine", 2.0, 1.5)),
    ),
    Claim(
        "IODINE is the slowest of all, since its iterative inference costs so much.",
        QUANTITATIVE,
        "IODINE's step is the longest at every capacity",
        slowest("iodine"),
    ),
    Claim(
        "IODINE and GENESIS keep data for each component, so that 256 components or more did not fit into the 22 GB "
        "of a GPU.",
        QUANTITATIVE,
        "no room for GENESIS and IODINE from 16 x 16 on",
        no_room(("genesis", "iodine"), 16),
    ),
    Claim(
        "SPACE works on its foreground in parallel, so that it scales to large grids and detects many objects without "
        "a significant loss of performance.",
        QUANTITATIVE,
        "SPACE's step at the largest grid is at most 1.5 times that at the smallest (all cells; and 20 present "
        "objects)",
        both(grows(all_cells("space"), 1.5, 4.0), grows("space, 20 objects", 1.5, 4.0)),
    ),
    Claim(
        "SPACE's inference and gradient steps are orders of magnitude faster than SPAIR's, with boxes about as good.",
        QUANTITATIVE,
        "at 16 x 16 SPAIR's step takes 10 times as long as SPACE's, both with all cells",
        faster(all_cells("space"), all_cells("spair"), 16, 10.0, 1.5),
    ),
    Claim(
        "Gradient steps were timed, but inference, a main part of them, should compare in a similar way.",
        QUANTITATIVE,
        "not measured by this item",
        untested("this item times training steps only"),
    ),
)

CONVERGENCE = (
    Claim(
        "In every setting SPACE and SPAIR converge far sooner than IODINE and GENESIS.",
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
        "At 4 × 4 and 8 × 8, SPACE and SPAIR take equally long to converge.",
        QUANTITATIVE,
        "within a factor of 1.5 in time",
        both(*(together("space", "spair", grid, 1.5, 3.0) for grid in (4, 8))),
    ),
    Claim(
        "At 16 × 16, SPAIR has become much slower to converge than SPACE.",
        QUANTITATIVE,
        "at 16 x 16 SPAIR takes at least twice as long",
        sooner("space", "spair", 16, 2.0, 1.2),
    ),
)
