"""`objectspace label`: groups, names that are never lost, and their way back into `decompose`."""

import json
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageSequence
from pycocotools.coco import COCO

from helpers.sprites import few_sprites
from objectspace.labels.names import read_labels
from objectspace.models import create
from objectspace.models.genesis import Genesis
from objectspace.scene import Scene
from oracle.mixtures import small_genesis


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return few_sprites(tmp_path_factory.mktemp("label") / "sprites", train=6, test=4)


@pytest.fixture
def sprites(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small data set with categories, and tmp_path as the working directory."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(made, "set")
    return Path("set")


def test_every_object_has_its_group_as_its_category(run, model_folder, sprites):
    said, _ = run("label", sprites, "--model", model_folder, "--out", "out", "--clusters", 3)
    labels = read_labels(Path("out/labels.json"))
    coco = COCO("out/annotations.json")
    assert [each["name"] for each in coco.dataset["categories"]] == ["cluster-00", "cluster-01", "cluster-02"]
    assert len(coco.imgs) == 10
    counts = Counter(each["category_id"] for each in coco.anns.values())
    assert tuple(counts[number] for number in (1, 2, 3)) == labels.objects
    assert labels.objects[0] >= labels.objects[1] >= labels.objects[2] > 0
    page = Path("out/labels.html").read_text()
    assert all(f'placeholder="cluster-0{number}"' in page for number in range(3))
    assert page.count("<img") == sum(min(12, count) for count in labels.objects)
    assert {path.name for path in Path("out").iterdir()} == {
        "annotations.json",
        "labels.json",
        "labels.html",
        ".journal.sqlite",
    }
    assert f"{sum(labels.objects)} objects, 3 groups" in said


def test_purity_is_printed_where_the_data_has_categories(run, sprites):
    said, _ = run("label", sprites, "--model", "space-sprites", "--out", "out", "--clusters", 4)
    assert "purity 0." in said or "purity 1." in said
    for folder in ("train", "test"):
        (sprites / folder / "annotations.json").unlink()
    said, _ = run("label", sprites, "--model", "space-sprites", "--out", "again", "--clusters", 4)
    assert "purity" not in said


def test_the_directory_is_named_after_the_data_and_groups_are_counted_by_themselves(run, model_folder, sprites):
    run("label", f"{sprites}/", "--model", model_folder)
    first = Path("set-labels/labels.json").read_bytes()
    shutil.rmtree("set-labels")
    run("label", sprites, "--model", model_folder)
    assert Path("set-labels/labels.json").read_bytes() == first
    assert len(json.loads(first)["clusters"]) >= 2


def test_names_survive_another_run_and_are_not_given_to_other_groups(run, model_folder, sprites):
    command = ("label", sprites, "--model", model_folder, "--out", "out")
    run(*command, "--clusters", 2)
    content = json.loads(Path("out/labels.json").read_text())
    content["clusters"][1]["name"] = "a <thing>"
    Path("out/labels.json").write_text(json.dumps(content))
    said, _ = run(*command, "--clusters", 2)
    assert "a <thing>" in said
    assert read_labels(Path("out/labels.json")).names == ("cluster-00", "a <thing>")
    assert 'value="a &lt;thing&gt;"' in Path("out/labels.html").read_text()
    _, said = run(*command, "--clusters", 3, code=2)
    assert "holds names for other groups" in said
    assert read_labels(Path("out/labels.json")).names == ("cluster-00", "a <thing>")


def test_groups_with_names_stay_as_long_as_they_hold(run, model_folder, sprites, monkeypatch):
    command = ("label", sprites, "--model", model_folder, "--out", "out")
    run(*command, "--clusters", 3)
    content = json.loads(Path("out/labels.json").read_text())
    content["clusters"][1]["name"] = "thing"
    Path("out/labels.json").write_text(json.dumps(content))

    def others(what: np.ndarray, *_: object, **__: object) -> np.ndarray:
        return what[:3].astype(np.float64)

    for name in ("kmeans", "choose"):  # as if another version of them came to other groups
        monkeypatch.setattr(f"objectspace.labels.labelling.{name}", others)
    for clusters in (3, "auto"):
        run(*command, "--clusters", clusters)
        assert read_labels(Path("out/labels.json")).names == ("cluster-00", "thing", "cluster-02")
    content["clusters"][0]["centroid"][0] += 1.0
    Path("out/labels.json").write_text(json.dumps(content))
    assert "holds names for other groups" in run(*command, "--clusters", 3, code=2)[1]


def test_another_number_of_groups_takes_nothing_apart_again(run, model_folder, sprites, monkeypatch):
    command = ("label", sprites, "--model", model_folder, "--out", "out", "--clusters")
    run(*command, 2)

    def never(*_: object, **__: object) -> list[Scene]:
        raise AssertionError("taken apart again")

    monkeypatch.setattr("objectspace.io.paths.ImageFile.frames", never)
    run(*command, 4)
    assert len(read_labels(Path("out/labels.json")).names) == 4


@pytest.mark.slow
def test_labels_are_used_by_decompose(run, model_folder, sprites):
    run("label", sprites, "--model", model_folder, "--out", "out", "--clusters", 3)
    content = json.loads(Path("out/labels.json").read_text())
    for cluster, name in zip(content["clusters"], ("left", "right", "left"), strict=True):
        cluster["name"] = name
    Path("named.json").write_text(json.dumps(content))
    options = ("--labels", "named.json", "--label-studio", "tasks.json", "--gif", "all.gif")
    run("decompose", sprites, "--model", model_folder, "--out", "again", *options)
    grouped, named = COCO("out/annotations.json"), COCO("again/annotations.json")
    assert [each["name"] for each in named.dataset["categories"]] == ["left", "right"]
    for number in grouped.anns:
        assert named.anns[number]["category_id"] == {1: 1, 2: 2, 3: 1}[grouped.anns[number]["category_id"]]
    scenes = [Scene.from_json(path.read_text()) for path in Path("again/scenes").iterdir()]
    counts = Counter(item.label for scene in scenes for item in scene.objects)
    assert counts == Counter(named.cats[each["category_id"]]["name"] for each in named.anns.values())
    tasks = json.loads(Path("tasks.json").read_text())
    assert {each["value"]["rectanglelabels"][0] for task in tasks for each in task["predictions"][0]["result"]} == {
        "left",
        "right",
    }
    assert '<span class="note">left</span>' in Path("again/report.html").read_text()
    with Image.open("all.gif") as image:
        assert len(ImageSequence.all_frames(image)) == 10
    other = Path("named.json").read_text().replace("right", "wrong")
    Path("named.json").write_text(other)
    _, said = run("decompose", sprites, "--model", model_folder, "--out", "again", *options, code=2)
    assert "--labels was" in said


def test_labels_of_another_model_are_refused(run, model_folder, sprites):
    run("label", sprites, "--model", model_folder, "--out", "out", "--clusters", 2)
    arguments = ("--out", "again", "--labels", "out/labels.json")
    _, said = run("decompose", sprites, "--model", "space-sprites", *arguments, code=2)
    assert "other weights" in said
    assert "latents of" in said
    assert not Path("again").exists()


def test_frames_of_a_gif_are_grouped_too(run, model_folder, sprites):
    pictures = [Image.open(path) for path in sorted((sprites / "train" / "images").iterdir())]
    pictures[0].save("film.gif", save_all=True, append_images=pictures[1:])
    run("label", "film.gif", "--model", model_folder, "--clusters", 2)
    assert len(COCO("film.gif-labels/annotations.json").imgs) == 6
    assert len(list(Path("film.gif-labels/frames").iterdir())) == 6


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("set", "--clusters", "many"), "--clusters many: give a number"),
        (("set", "--clusters", "0"), "--clusters 0: give a number"),
        (("nowhere",), "nowhere does not exist"),
        (("set", "--threshold", "1"), "no object was found in 10 images"),
        (("set", "--out", "taken"), "is there already"),
    ],
)
def test_what_cannot_work_is_said_in_plain_words(run, model_folder, sprites, arguments, said):
    Path("taken").mkdir()
    Path("taken/labels.html").write_text("mine")
    _, errors = run("label", *arguments, "--model", model_folder, code=2)
    assert said in errors
    assert Path("taken/labels.html").read_text() == "mine"


def test_decompose_and_label_do_not_share_a_directory(run, model_folder, sprites):
    run("label", sprites, "--model", model_folder, "--out", "out", "--clusters", 2)
    _, said = run("decompose", sprites, "--model", model_folder, "--out", "out", code=2)
    assert "begun differently" in said


def test_a_model_without_latents_of_objects_is_refused_at_the_first_images(run, sprites, monkeypatch):
    create(small_genesis(), seed=1).save_pretrained("genesis")
    asked = []
    decompose = Genesis.decompose

    def noted(*arguments, **more):
        asked.append(1)
        return decompose(*arguments, **more)

    monkeypatch.setattr(Genesis, "decompose", noted)
    _, err = run("label", sprites, "--model", "genesis", "--out", "out", "--batch", 2, code=2)
    assert "does not say what objects look like" in err
    assert len(asked) == 1
