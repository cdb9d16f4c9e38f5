"""The sample scenes through the shipped models."""

import json
from pathlib import Path

import pytest
from PIL import Image
from pycocotools.coco import COCO
from typer.testing import CliRunner

from objectspace.cli import app


@pytest.mark.slow
def test_it_leaves_a_page_boxes_and_a_picture(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "demo")])
    assert result.exit_code == 0, result.output
    for name in ("rooms-small", "rooms-large", "sprites"):
        assert name in result.output
    page = (tmp_path / "demo" / "report.html").read_text()
    assert "rooms-small/00000000.png" in page
    boxes = COCO(str(tmp_path / "demo" / "annotations.json"))
    assert len(boxes.getImgIds()) == 32
    images = boxes.loadImgs(boxes.getImgIds())
    assert all((tmp_path / "demo" / image["file_name"]).exists() for image in images)
    assert all((tmp_path / "demo" / image["scene"]).exists() for image in images)
    # 12 x 4 to 8, 8 x 18 to 24 and 12 x 2 to 5 objects: a model that finds none, or one a cell, falls outside
    assert 200 < len(boxes.getAnnIds()) < 400
    assert Image.open(tmp_path / "demo" / "scenes.png").width > 600
    assert json.loads((tmp_path / "demo" / "annotations.json").read_text())["info"]
