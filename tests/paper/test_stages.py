"""An item goes through all stages, each is resumed where it was stopped, and nothing that is finished is done again."""

from pathlib import Path

import pytest

from objectspace.errors import UserError
from objectspace.io.files import read_json
from objectspace.paper import measure, samples, stages, trainings
from objectspace.paper.findings import read_findings
from objectspace.paper.place import Place
from objectspace.training.loop import DivergedError

RUN = "tiny-seed0"
STAGES = [
    (stages, "generate"),
    (trainings, "train"),
    (measure, "measure_model"),
    (samples, "_drawn"),
    (stages, "compared_sheet"),
]


@pytest.fixture(scope="module")
def never(request):
    def nobody(*_, **__):
        raise AssertionError("this has been done before")

    return nobody


@pytest.mark.slow
def test_from_nothing_to_a_page_and_then_nothing_is_left_to_do(run, item, tmp_path, monkeypatch, never) -> None:
    out = tmp_path / "out"
    said = run(out)
    assert (out / "runs" / RUN / "model" / "model.safetensors").exists()
    assert (out / "pictures" / "tiny-tiny-sprites.png").exists()
    assert (out / "pictures" / "generation-looks-from-the-prior.png").exists()
    assert any("data to be made: tiny-sprites" in line for line in said)
    page = (out / "tiny.html").read_text()
    assert "12.5\u00a0±\u00a00.5" in page
    assert "It &lt;draws&gt; badly." in page
    assert "SPACE on galaxy not run here yet" in page
    assert "training.seed=0" in page
    assert 'href="tiny.html"' in (out / "index.html").read_text()
    found = read_findings(out / "measurements")
    assert found.of("SPACE on tiny-sprites")[0].steps == 4
    assert found.of("SPACE on tiny-sprites", "samples")[0].numbers["data"]["times_floor"] == 1
    for stage in STAGES:
        monkeypatch.setattr(*stage, never)
    assert any("1 of them done; to do: 0" in line for line in run(out))


@pytest.mark.slow
def test_what_is_interrupted_at_any_stage_is_continued(run, tmp_path, monkeypatch, never) -> None:
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    done: list[tuple[object, str]] = []
    for stage in STAGES:
        with monkeypatch.context() as patch:
            patch.setattr(*stage, interrupted)
            for before in done[:-1]:  # the stage before may have to be finished
                patch.setattr(*before, never)
            with pytest.raises(KeyboardInterrupt):
                run(tmp_path)
        done.append(stage)
        assert not (tmp_path / "tiny.html").exists()
    run(tmp_path)
    assert "12.5\u00a0±" in (tmp_path / "tiny.html").read_text()


@pytest.mark.slow
def test_a_training_that_is_cut_off_is_said_to_be_and_goes_on(run, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(trainings, "seconds_a_step", lambda recipe, data: 60.0)
    said = run(tmp_path, minutes=1e-5)
    assert any("will be cut off" in line for line in said)
    before = read_findings(tmp_path / "measurements").of("SPACE on tiny-sprites")[0]
    assert before.ended == "out of time"
    assert before.planned == 2
    assert "was cut off at step 1 of 2" in (tmp_path / "tiny.html").read_text()
    run(tmp_path)
    after = read_findings(tmp_path / "measurements").of("SPACE on tiny-sprites")[0]
    assert (after.ended, after.steps) == ("finished", 2)
    assert "schedule shortened from 4 to 2 steps" in after.remarks
    assert "was cut off" not in (tmp_path / "tiny.html").read_text()


@pytest.mark.slow
def test_what_somebody_made_before_is_used_where_it_lies(run, tmp_path, monkeypatch, never) -> None:
    run(tmp_path / "first")
    for module, name in ((stages, "generate"), (trainings, "train")):
        monkeypatch.setattr(module, name, never)
    run(tmp_path / "second", runs_from=tmp_path / "first" / "runs", data_from=tmp_path / "first" / "data")
    assert not (tmp_path / "second" / "runs").exists()
    assert "brought in" in (tmp_path / "second" / "tiny.html").read_text()


def test_a_run_that_fails_is_named_and_left_alone(run, tmp_path, monkeypatch) -> None:
    def diverges(*_, **__):
        raise DivergedError("the gradient was not finite")

    with monkeypatch.context() as patch:
        patch.setattr(trainings, "train", diverges)
        run(tmp_path)
    assert read_json(tmp_path / "runs" / RUN / "failed.json")["failure"] == "the gradient was not finite"
    said = run(tmp_path)
    assert any("to do: 0" in line for line in said)
    assert "failed: the gradient was not finite" in (tmp_path / "tiny.html").read_text()


def test_a_directory_keeps_to_the_settings_it_was_begun_with(tmp_path) -> None:
    Place(tmp_path).begin()
    with pytest.raises(UserError, match="begun without --full"):
        Place(tmp_path, full=True).begin()
    with pytest.raises(UserError, match="no directory"):
        Place(tmp_path / "new", runs_from=Path("absent")).begin()
