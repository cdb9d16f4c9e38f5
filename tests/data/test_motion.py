import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from objectspace.data.dataset import Dataset
from objectspace.data.motion import Motion
from objectspace.errors import UserError


def frames(root: Path, runs: dict[str, int], games: tuple[str, ...] = ("one",)) -> Dataset:
    """A square that goes right by four pixels a frame over still ground; `runs` says how many frames a run has.

    Every game has these runs, each over ground of its own.
    """
    folder = root / "train" / "images"
    folder.mkdir(parents=True)
    entries: list[dict] = []
    for game, (name, count) in product(games, runs.items()):
        for frame in range(count):
            image = np.full((16, 32, 3), 90 - 40 * games.index(game), np.uint8)
            image[:4, :4] = 250  # still
            image[8:12, 4 * frame : 4 * frame + 4] = 200
            file = f"{name}-{frame}.png" if game == "one" else f"{game}-{name}-{frame}.png"
            Image.fromarray(image).save(folder / file)
            entry = {"id": len(entries), "file_name": file, "height": 16, "width": 32, "game": game}
            entries.append(entry | ({"sequence": name} if name != "alone" else {}))
    content = {"images": entries, "annotations": [], "categories": []}
    (root / "train" / "annotations.json").write_text(json.dumps(content))
    return Dataset(root, "train")


def test_what_moves_is_where_it_is_now(tmp_path: Path) -> None:
    dataset = frames(tmp_path, {"a": 5, "b": 3})
    moving = Motion(dataset).of(np.array([dataset.names.index("a-2.png"), dataset.names.index("b-0.png")]))
    expected = np.zeros((2, 16, 32), np.bool_)
    expected[0, 8:12, 8:12] = True
    expected[1, 8:12, 0:4] = True
    assert (moving == expected).all()


def test_runs_of_two_games_are_two_even_if_their_names_are_one(tmp_path: Path) -> None:
    dataset = frames(tmp_path, {"a": 3}, games=("one", "two"))
    moving = Motion(dataset).of(np.array([dataset.names.index(name) for name in ("a-1.png", "two-a-1.png")]))
    assert moving.sum((1, 2)).tolist() == [16, 16]


def test_an_image_of_no_run_or_of_a_short_one_does_not_move(tmp_path: Path) -> None:
    dataset = frames(tmp_path, {"a": 3, "short": 2, "alone": 4})
    indices = [dataset.names.index(name) for name in ("short-1.png", "alone-0.png")]
    assert not Motion(dataset).of(np.array(indices)).any()


def test_a_data_set_without_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--consecutive"):
        Motion(frames(tmp_path, {"short": 2, "alone": 4}))
