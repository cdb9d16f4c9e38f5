"""The items of the paper that are made here, in the paper's order."""

from objectspace.errors import unknown
from objectspace.paper.claims import boxes, games, rooms, times
from objectspace.paper.declared import Column, Item
from objectspace.paper.findings import Model

BOXES = (
    Column("published_ap50", "AP@0.5"),
    Column("published_ap", "AP@[0.5:0.95]"),
    Column("published_count_error", "count error"),
    Column("ap50", "our rule: AP@0.5"),
    Column("ap", "AP@[0.5:0.95]"),
    Column("count_error", "count error"),
)
SEGMENTS = (
    Column("recall", "recall"),
    Column("f1", "F1"),
    Column("fg_ari", "fg ARI"),
    Column("ari", "ARI"),
    Column("background_miou", "mIoU of floor, wall, sky"),
    Column("squared_error", "squared error", 0),
)
OF_GAMES = (
    Column("f1", "F1"),
    Column("recall", "recall"),
    Column("precision", "precision"),
    Column("published_ap50", "published AP@0.5"),
    Column("squared_error", "squared error", 0),
)
STILL_THINGS = (
    Column("recall_by_category/Shield", "recall of shields"),
    Column("recall_by_category/Key", "recall of the key"),
    Column("groups/Atlantis/recall_by_category/BridgedBazaar", "recall of the middle base, Atlantis"),
    Column("moving_f1", "F1 of what moves"),
)
GAMES = ("spaceinvaders", "airraid", "riverraid")
OUR_DATA = "Images are ours: the paper's were not published; objects, colours and cameras follow its description."
OUR_SCHEDULE = (
    "Laptop recipes train by other schedules, narrower nets and fewer steps than the paper; --full trains the paper's. "
    "In recipes by phases a cell gives way to a surer one with the same box, which the paper's model does not do."
)
RANDOM_PLAY = "Frames are of random play, not of a pretrained agent, and RGB; the truth is OCAtari's."


def _rooms(kind: str, variant: str) -> Model:
    return Model(kind, f"rooms-{variant}", f"{kind.lower()}-rooms-{variant}-fast")


def _game(kind: str, game: str) -> Model:
    return Model(kind, game, f"{kind.lower()}-{'atari-' if game == 'joint10' else ''}{game}-fast")


SMALL_BOXES = "phases.size=0.09"  # half of what objects have
HEMMED = "anneal.boundary=1"
BOUNDARY_OFF = "anneal.boundary=0"
ITEMS = (
    Item(
        name="rooms",
        title="Scenes of 3D rooms, taken apart (figures 2, 8 and 9)",
        shows="boxes, foreground, background and components of five models on small and large rooms",
        measures=("models", "pictures"),
        claims=rooms.ROOMS,
        models=tuple(
            _rooms(kind, variant)
            for variant in ("small", "large")
            for kind in ("SPACE", "SPAIR", "SPAIR-P", "GENESIS", "IODINE")
        ),
        columns=SEGMENTS,
        here="10 trainings of 20 to 60 minutes",
        there="10 trainings of 160,000 steps: weeks each on two cores",
        notes=(OUR_DATA, OUR_SCHEDULE),
    ),
    Item(
        name="atari",
        title="Scenes of Atari games, taken apart (figure 3)",
        shows="SPACE, SPAIR, GENESIS and IODINE on Space Invaders, Air Raid and River Raid; SPAIR-P on the first",
        measures=("models", "pictures"),
        claims=games.ATARI,
        models=(
            *(_game(kind, game) for game in GAMES for kind in ("SPACE", "SPAIR", "GENESIS", "IODINE")),
            _game("SPAIR-P", "spaceinvaders"),
        ),
        columns=OF_GAMES,
        here="13 trainings of 10 to 60 minutes",
        there="13 trainings of 100,000 steps and more",
        notes=(RANDOM_PLAY, OUR_SCHEDULE),
    ),
    Item(
        name="joint10",
        title="One model for ten Atari games (figures 4 and 7)",
        shows="SPACE trained on ten games at once",
        measures=("models", "pictures"),
        claims=games.JOINT10,
        models=(_game("SPACE", "joint10"),),
        columns=(
            Column("group_means/f1", "F1, mean of games"),
            Column("group_means/moving_f1", "F1 of what moves, mean of games"),
            Column("f1", "F1 of all frames"),
            Column("published_ap50", "published AP@0.5"),
        ),
        here="1 training of 30 minutes",
        there="1 training of 160,000 steps",
        notes=(RANDOM_PLAY, OUR_SCHEDULE),
    ),
    Item(
        name="latency",
        title="Gradient step latency against decomposition capacity (figure 5, left)",
        shows="seconds and memory of a training step at 4 x 4 to 32 x 32 cells or as many components",
        measures=("latency",),
        claims=(times.BY_MAKE, *times.LATENCY),
        here="40 minutes",
        there="the same: it times the paper's architectures",
        notes=(
            "Two CPU cores stand in for a GPU: there parallel work is nearly free, here it is not.",
            "With 20 objects an image the models of cells work on those alone; the lines without are the "
            "paper's models.",
        ),
    ),
    Item(
        name="convergence",
        title="Convergence and converged pixel MSE (figure 5, right)",
        shows="squared error on held-out small rooms against minutes of training, at 4 x 4, 8 x 8 and 16 x 16",
        measures=("convergence",),
        claims=times.CONVERGENCE,
        here="12 trainings of 20 minutes: the first steps of what the paper shows",
        there="12 trainings of 160,000 steps",
        notes=(
            OUR_DATA,
            "Time ends these trainings; nothing here has converged. GENESIS and IODINE have at most 9 components, "
            "for lack of memory; the paper gives them as many as SPACE has cells and components.",
        ),
    ),
    Item(
        name="table1",
        title="Table 1: boxes and counts of SPACE and SPAIR",
        shows="AP@0.5, AP@[0.5:0.95] and object count error on small rooms at 8 x 8 and large ones at 16 x 16",
        measures=("models",),
        claims=boxes.TABLE1,
        models=(_rooms("SPACE", "large"), _rooms("SPAIR", "large"), _rooms("SPACE", "small"), _rooms("SPAIR", "small")),
        seeds=3,
        columns=BOXES,
        paper={
            ("SPACE on rooms-large", "published_ap50"): "0.8927 ± 0.0027",
            ("SPACE on rooms-large", "published_ap"): "0.4445 ± 0.0075",
            ("SPACE on rooms-large", "published_count_error"): "0.0446 ± 0.0026",
            ("SPAIR on rooms-large", "published_ap50"): "0.9072 ± 0.0003",
            ("SPAIR on rooms-large", "published_ap"): "0.4364 ± 0.0179",
            ("SPAIR on rooms-large", "published_count_error"): "0.0360 ± 0.0072",
            ("SPACE on rooms-small", "published_ap50"): "0.9027 ± 0.0009",
            ("SPACE on rooms-small", "published_ap"): "0.5069 ± 0.0030",
            ("SPACE on rooms-small", "published_count_error"): "0.0397 ± 0.0026",
            ("SPAIR on rooms-small", "published_ap50"): "0.9081 ± 0.0004",
            ("SPAIR on rooms-small", "published_ap"): "0.5068 ± 0.0081",
            ("SPAIR on rooms-small", "published_count_error"): "0.0209 ± 0.0039",
        },
        here="12 trainings of 20 to 60 minutes",
        there="20 trainings of 160,000 steps (5 best seeds each)",
        notes=(
            OUR_DATA,
            OUR_SCHEDULE,
            "The paper gives the 5 best seeds; here all seeds count, and failed ones are named. AP without perfect "
            "recall ends at 0.909.",
        ),
    ),
    Item(
        name="montezuma",
        title="Montezuma's Revenge: SPACE against SPAIR, the key (figure 6)",
        shows="which of the two models finds the key",
        measures=("models", "pictures"),
        claims=games.MONTEZUMA,
        models=(_game("SPACE", "montezuma"), _game("SPAIR", "montezuma")),
        columns=(Column("recall_by_category/Key", "recall of the key"), *OF_GAMES),
        here="2 trainings of 10 to 60 minutes",
        there="2 trainings of 100,000 steps and more",
        notes=(
            RANDOM_PLAY,
            OUR_SCHEDULE,
            "The laptop recipe's background is a still of the room, which holds all that stands still, the key too; "
            "the paper's recipe has components that cannot draw small things.",
        ),
    ),
    Item(
        name="still-things",
        title="Foreground against background: shields, the key, Atlantis (4.1)",
        shows="which model holds things that stand still as objects: recall of their categories",
        measures=("models",),
        claims=games.STILL,
        models=(
            _game("SPACE", "spaceinvaders"),
            _game("SPAIR", "spaceinvaders"),
            _game("SPACE", "montezuma"),
            _game("SPAIR", "montezuma"),
            _game("SPACE", "joint10"),
        ),
        columns=STILL_THINGS,
        here="5 trainings of 10 to 60 minutes, shared with other items",
        there="5 trainings of 100,000 steps and more",
        notes=(RANDOM_PLAY, OUR_SCHEDULE, "In laptop recipes `still_things` says whose things are that stand still."),
    ),
    Item(
        name="generation",
        title="Generation from the prior (algorithm 4)",
        shows="scenes drawn from the prior, and with looks as seen in training: counts, sizes, colours, distance",
        measures=("models", "samples"),
        claims=boxes.GENERATION,
        models=(_rooms("SPACE", "small"),),
        here="1 training of 20 minutes, 5 minutes of drawing",
        there="1 training of 160,000 steps",
        notes=(
            OUR_SCHEDULE,
            "The distance is Fréchet's, between features of an untrained net of convolutions: good for setting samples "
            "beside one another, not beside other papers' FID.",
        ),
    ),
    Item(
        name="boundary",
        title="The boundary loss on and off (2.2 and C)",
        shows="split objects and tightness of boxes, with a right and a small size prior",
        measures=("models",),
        claims=boxes.BOUNDARY,
        models=(
            Model("SPACE", "rooms-small", "space-rooms-small-fast", paper_changes=()),
            Model("SPACE", "rooms-small", "space-rooms-small-fast", "boundary", (HEMMED,), (HEMMED,)),
            Model(
                "SPACE",
                "rooms-small",
                "space-rooms-small-fast",
                "small-boxes",
                (SMALL_BOXES,),
                (BOUNDARY_OFF, "anneal.scale_prior_mean=-3"),
            ),
            Model(
                "SPACE",
                "rooms-small",
                "space-rooms-small-fast",
                "small-boxes boundary",
                (SMALL_BOXES, HEMMED),
                (HEMMED, "anneal.scale_prior_mean=-3"),
            ),
        ),
        columns=(
            Column("found_per_object", "found / true objects"),
            Column("published_ap50", "AP@0.5"),
            Column("published_ap", "AP@[0.5:0.95]"),
            Column("published_count_error", "count error"),
        ),
        here="4 trainings of 20 minutes, one shared with other items",
        there="4 trainings of 160,000 steps",
        notes=(
            OUR_DATA,
            OUR_SCHEDULE,
            "Laptop recipes have no boundary loss; here it is on from the first step with objects to the last.",
        ),
    ),
)


def by_name(names: str) -> list[Item]:
    """The items of a name, or of several with commas between them; `all` is all."""
    known = {item.name: item for item in ITEMS}
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    if "all" in wanted or not wanted:
        return list(ITEMS)
    for name in wanted:
        if name not in known:
            raise unknown("item of the paper", name, [*known, "all"])
    return [known[name] for name in dict.fromkeys(wanted)]
