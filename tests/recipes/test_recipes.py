import math
import re
import tomllib
import warnings
from pathlib import Path

import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

from objectspace.errors import UserError
from objectspace.models.space import SpaceConfig
from objectspace.ops.schedules import Schedule
from objectspace.recipes import files as recipe_files
from objectspace.recipes.files import RenamedKeyWarning
from objectspace.recipes.recipe import Recipe

PAPER = ["space-atari-joint10", "space-riverraid", "space-rooms-large", "space-rooms-small", "space-spaceinvaders"]


def test_the_papers_recipes_ship() -> None:
    assert set(PAPER) <= set(recipe_files.shipped())


@pytest.mark.parametrize("name", sorted(recipe_files.shipped()))
def test_every_recipe_loads_and_says_what_it_is_for(name: str) -> None:
    recipe = recipe_files.load(name)
    assert recipe.about
    assert recipe.source
    assert recipe.data.made_by.startswith("objectspace data ")


@pytest.mark.parametrize("name", sorted(recipe_files.shipped()))
def test_a_printed_recipe_reads_back_the_same(name: str, tmp_path: Path) -> None:
    recipe = recipe_files.load(name)
    path = tmp_path / "again.toml"
    path.write_text(recipe_files.dump(recipe), encoding="utf-8")
    assert recipe_files.load(path) == recipe


@pytest.mark.parametrize("name", sorted(recipe_files.shipped()))
def test_a_printed_recipe_has_a_line_for_each_value_in_the_order_of_its_keys(name: str) -> None:
    recipe = recipe_files.load(name)
    lines = recipe_files.dump(recipe).splitlines()
    assert all(re.fullmatch(r"\[[a-z_.]+\]|[a-z_0-9]+ = .*[^,\[]|", line) for line in lines)
    sections = [lines.index(f"[{section}]") for section in ("model", "anneal", "training", "data")]
    assert sections == sorted(sections)
    training = lines[sections[2] + 1 : lines.index("", sections[2])]
    keys = [key for key in type(recipe.training).model_fields if key not in ("foreground", "background")]
    assert [line.partition(" = ")[0] for line in training] == keys
    assert f'temperature = "{recipe.anneal.temperature}"' in lines
    assert f"image_size = {list(recipe.model.image_size)}" in lines


@pytest.mark.parametrize(
    "text",
    [
        "a 🚀 takes off, 𝔘nfraktured",
        "Grüße, 世界",
        'she said "objects"',
        "'''\"\"\"",
        "C:\\new\\table\\u1234",
        "two\nlines,\nwith a comma and a [\nbracket,\n]",
        "\r\n\ta tab, a bell\a, an escape\x1b, a null\0, a delete\x7f, a next line\x85, a separator\u2028",
        "# no comment",
        "[training]\nsteps = 1",
        "",
    ],
)
def test_any_text_in_a_recipe_reads_back_as_it_was(text: str, tmp_path: Path) -> None:
    recipe = Recipe(about=text, source=text)
    path = tmp_path / "mine.toml"
    path.write_bytes(recipe_files.dump(recipe).encode())
    assert recipe_files.load(path) == recipe
    assert recipe_files.load(path, ["training.steps=7"]).about == text


@given(st.text(st.characters(exclude_categories=["Cs"])))
@settings(max_examples=200, deadline=None)
def test_whatever_the_text_is(text: str) -> None:
    assert tomllib.loads(recipe_files.dump(Recipe(about=text)))["about"] == text


VALUES = st.recursive(
    st.one_of(st.booleans(), st.integers(-(2**60), 2**60), st.floats(allow_nan=False), st.text('ab[]{},\n"\\🚀')),
    lambda inner: st.lists(inner, max_size=3),
)


@pytest.mark.slow
@given(st.dictionaries(st.text('ab,[\n"', min_size=1), VALUES))
@settings(max_examples=200, deadline=None)
def test_arrays_on_a_line_are_the_same_arrays(table: dict) -> None:
    text = recipe_files._arrays_on_a_line(tomli_w.dumps(table))
    assert tomllib.loads(text) == table
    assert text.count("\n") == len(table)


def test_text_that_is_no_unicode_is_refused() -> None:
    with pytest.raises(UserError, match="not text in UTF-8"):
        recipe_files.load("space-rooms-small", ["about=caf\udce9"])


@pytest.mark.parametrize("name", sorted(recipe_files.shipped()))
def test_a_recipe_holds_only_what_differs(name: str) -> None:
    def compare(table: dict, default: dict, path: str) -> None:
        for key, value in table.items():
            if isinstance(value, dict) and value.keys() != {"channels", "groups"}:  # a stack of layers is one value
                compare(value, default[key], f"{path}{key}.")
            else:
                assert value != default[key], f"{path}{key} is the default"

    content = tomllib.loads(recipe_files.shipped()[name].read_text())
    model, phases = content.get("model", {}), content.pop("phases", None)
    given = {key: model.pop(key) for key in ("kind", "width") if key in model}  # the rest follows from these and phases
    assert not {"kind": "space", "width": "paper"}.items() & given.items()
    default = recipe_files.build({"model": {"kind": "space"} | given, "phases": phases}, name)
    compare(content, default.model_dump(mode="json"), "")


def space(recipe: Recipe) -> SpaceConfig:
    assert isinstance(recipe.model, SpaceConfig)
    return recipe.model


def test_the_numbers_are_the_papers() -> None:
    large = recipe_files.load("space-rooms-large")
    assert space(large).foreground.grid == (16, 16)
    assert space(large).background.components == 5
    assert space(large).foreground.sigma == space(large).background.sigma == 0.15
    assert large.anneal.presence_prior == Schedule(0.1, 0.01, 4000, 10000)
    assert large.anneal.scale_prior_mean == Schedule(-1, -2, 10000, 20000)
    assert large.anneal.temperature == Schedule(2.5, 0.5, 0, 20000)
    assert (large.training.steps, large.training.batch) == (160_000, 12)
    joint = recipe_files.load("space-atari-joint10")
    assert joint.anneal.presence_prior.final() == 1e-10
    assert joint.anneal.temperature == Schedule(2.5, 1.0, 0, 10000)
    assert (joint.anneal.fixed_alpha, joint.anneal.fixed_alpha_steps) == (Schedule(0.1, 0.1), 4000)
    assert (space(joint).foreground.sigma, space(joint).background.sigma) == (0.2, 0.1)


def test_overrides_reach_nested_values() -> None:
    changes = ["training.steps=500", "anneal.temperature=(2.0 -> 1.0):(0 -> 9)", "model.foreground.budget=12"]
    recipe = recipe_files.load("space-rooms-small", changes)
    assert recipe.training.steps == 500
    assert recipe.anneal.temperature == Schedule(2, 1, 0, 9)
    assert space(recipe).foreground.budget == 12
    unlimited = recipe_files.load("space-rooms-small", [*changes, "model.foreground.budget=none"])
    assert space(unlimited).foreground.budget is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("training.stepz=500", "unknown key training.stepz; did you mean 'steps'"),
        ("trainig.steps=500", "unknown key trainig; did you mean 'training'"),
        ("model.foreground.qqq=1", "Allowed here: grid"),
        ("model.grid=8", "did you mean 'model.foreground.grid'"),
        ("training=3", "training is a section"),
        ("model.foreground.encoder.channels=[16]", "1 channels but 6 groups"),
        ("training.steps=0", "training.steps = 0: Input should be greater than or equal to 1"),
        ("training.foreground.name=sgdd", "'adam', 'adamw' or 'rmsprop'"),
        ("model.foreground.grid=9", "a grid of 9 x 9 does not fit an image of 128 x 128"),
        ("model.foreground.glimpse=20", "8, 16, 32 or 64"),
        ("anneal.temperature=warm", "'warm' is no schedule"),
        ("anneal.temperature=-1", "temperature must be positive"),
        ("anneal.foreground_sigma=(1 -> 0):(5 -> 9)", "foreground_sigma must be positive"),
        ("anneal.sigma_factor=0.8", "foreground_sigma and background_sigma are schedules"),
        ("anneal.unknown=1", "unknown must lie between 0 and 1"),
        ("anneal.warm_start=5", "set unknown above 0"),
        ("anneal.background_first=-1", "background_first"),
        ("anneal.presence_prior=1.5", "presence_prior must lie between 0 and 1"),
        ("anneal.fixed_alpha=0.1", "go together"),
        ("training.foreground.rate=nan", "training.foreground.rate = nan: Input should be"),
        ("training.foreground.rate=inf", "training.foreground.rate = inf: Input should be a finite number"),
        ("training.clip=nan", "training.clip = nan: Input should be greater than 0"),
        ("training.steps=inf", "training.steps = inf: Input should be a finite number"),
        ("model.init.alpha_bias=-inf", "model.init.alpha_bias = -inf: Input should be a finite number"),
        ("model.foreground.margin=nan", "model.foreground.margin = nan"),
        ("model.foreground.dense=[nan]", "model.foreground.dense.0 = nan: Input should be a finite number"),
        ("anneal.temperature=inf", "a schedule needs finite values"),
        ("anneal.temperature=(1 -> 1e999):(0 -> 9)", "a schedule needs finite values"),
        ("anneal.temperature=(2 -> 1):(0 -> 1e999)", "a schedule's steps must be whole numbers"),
        ("training.steps", "write it as section.key=value"),
        ("training.steps.more=1", "steps is a value, not a section"),
    ],
)
def test_a_bad_value_names_the_file_the_key_and_what_is_allowed(change: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("[training]\nsteps = 7\n")
    with pytest.raises(UserError) as error:
        recipe_files.load(path, [change])
    assert said in str(error.value)
    if not said.startswith(("write", "steps is")):
        assert "mine.toml" in str(error.value)


def test_gradients_may_be_left_unclipped(tmp_path: Path) -> None:
    recipe = recipe_files.load("space-rooms-small", ["training.clip=inf"])
    assert recipe.training.clip == math.inf
    (tmp_path / "mine.toml").write_text(recipe_files.dump(recipe), encoding="utf-8")
    assert recipe_files.load(tmp_path / "mine.toml") == recipe


def test_an_old_key_is_read_and_its_new_name_is_said(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text("[training]\nlook_every = 7\nvalidate_images = 3\n")
    with pytest.warns(RenamedKeyWarning, match=r"training\.look_every is now called training\.validate_every") as said:
        recipe = recipe_files.load(path)
    assert len(said) == 1
    assert (recipe.training.validate_every, recipe.training.validate_images) == (7, 3)
    with pytest.warns(RenamedKeyWarning, match=r"training\.look_images is now called training\.validate_images"):
        changed = recipe_files.load("space-rooms-small", ["training.look_images=5"])
    assert changed.training.validate_images == 5
    assert "look_" not in recipe_files.dump(changed)


def test_an_old_key_in_what_nobody_typed_is_read_in_silence(tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_text("[training]\nlook_every = 7\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert recipe_files.load_run(tmp_path).training.validate_every == 7
        assert recipe_files.parse("[training]\nlook_images = 9\n", "card.json").training.validate_images == 9


def test_a_key_by_its_old_and_its_new_name_is_refused() -> None:
    with pytest.raises(UserError, match=r"mine\.toml: training\.look_every is the old name of training\."):
        recipe_files.build({"training": {"look_every": 1, "validate_every": 2}}, "mine.toml")


def test_an_unknown_recipe_names_the_nearest() -> None:
    with pytest.raises(UserError, match="did you mean 'space-rooms-small'"):
        recipe_files.load("space-room-small")


def test_broken_toml_and_missing_files_are_explained(tmp_path: Path) -> None:
    (tmp_path / "broken.toml").write_text("steps = = 3")
    with pytest.raises(UserError, match=r"broken\.toml is not valid TOML"):
        recipe_files.load(tmp_path / "broken.toml")
    with pytest.raises(UserError, match="cannot read the recipe"):
        recipe_files.load(tmp_path / "absent.toml")


def test_images_need_not_be_square() -> None:
    model = SpaceConfig.model_validate({"image_size": [96, 160], "foreground": {"grid": [12, 20]}})
    assert model.image_size == (96, 160)


def test_an_unknown_kind_of_model_is_named() -> None:
    with pytest.raises(UserError, match="there is no kind of model 'spaec': did you mean 'space'"):
        recipe_files.build({"model": {"kind": "spaec"}}, "mine.toml")


def test_a_motion_prior_is_for_models_of_cells() -> None:
    recipe = recipe_files.build({"anneal": {"motion_prior": "(0.5 -> 0.01):(0 -> 2000)"}}, "mine.toml")
    assert recipe.anneal.at(0).motion_prior == 0.5
    assert recipe.anneal.final().motion_prior is None, "what moves is not known when images are taken apart"
    with pytest.raises(UserError, match="a genesis has none"):
        recipe_files.build({"model": {"kind": "genesis"}, "anneal": {"motion_prior": 0.5}}, "mine.toml")
