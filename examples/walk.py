"""A walk from an image to boxes to an edited scene, to be read from top to bottom.

python examples/walk.py [--out walk]

It needs nothing but the package: a model and a few scenes that it has never seen come with it. Lines that begin with
`# %%` are cells for editors that know them (VS Code, Spyder, PyCharm), so that it can be walked step by step.
"""

# %% 1. A model and an image.
# Any image will do for `decompose`, but a model knows only the scenes it was trained on: this one knows small rooms.
import argparse
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

from PIL import Image

import objectspace

parser = argparse.ArgumentParser(description="From an image to boxes to an edited scene.")
parser.add_argument("--out", type=Path, default=Path("walk"), help="where the pictures go")
parser.add_argument("--model", default="space-rooms-small", help="a shipped model, or a folder that holds one")
given = parser.parse_args()
given.out.mkdir(parents=True, exist_ok=True)

model = objectspace.load(given.model)
dataset = objectspace.Dataset(str(files("objectspace") / "samples" / "rooms-small"), "test")
image = dataset.images[0]  # (H, W, 3) bytes; `decompose` takes paths, PIL images and tensors just as well
Image.fromarray(image).save(given.out / "1-image.png")

# %% 2. Take it apart. A list in, a list out.
[scene] = model.decompose([image])
print(f"{scene.width} x {scene.height} pixels, {len(scene.objects)} objects; in truth {len(dataset.boxes(0))}")

# %% 3. Each object has a box in the image's pixels, a score, a depth, what it is worth in nats, and what it looks like.
print("   x0   y0   x1   y1  score  depth   nats")
for item in sorted(scene.objects, key=lambda each: each.depth):  # the nearest first
    print("".join(f"{side:5.0f}" for side in item.box), f" {item.score:.3f} {item.depth:6.2f} {item.evidence:6.0f}")

# %% 4. The background without its objects, and the objects without their background.
Image.fromarray(scene.background).save(given.out / "2-background.png")
Image.fromarray(scene.foreground).save(given.out / "3-foreground.png")
Image.fromarray(scene.reconstruction).save(given.out / "4-reconstruction.png")

# %% 5. A scene is frozen: to edit it, make another one. Here the largest object goes ...
largest = max(scene.objects, key=lambda each: each.mask.sum())
without = replace(scene, objects=[each for each in scene.objects if each is not largest])
Image.fromarray(model.render(without)).save(given.out / "5-removed.png")

# %% 6. ... and here it stands a quarter of the image further to the side where there is more room.
# `where_box` is where an object is drawn, hidden parts included; `box` follows from what can be seen of it.
x0, y0, x1, y1 = largest.where_box
aside = scene.width / 4 if x0 + x1 < scene.width else -scene.width / 4
moved = replace(largest, where_box=(x0 + aside, y0, x1 + aside, y1))
Image.fromarray(model.render(replace(without, objects=[*without.objects, moved]))).save(given.out / "6-moved.png")

# %% 7. A scene as a file, and back: COCO and the rest are what `objectspace decompose` writes.
path = given.out / "scene.json"
path.write_text(scene.to_json(), encoding="utf-8")
again = objectspace.Scene.from_json(path.read_text(encoding="utf-8"))
print(f"{path}: {len(again.objects)} objects; the pictures are in {given.out}")
