"""How many images a second the data set gives to training, 128 x 128, batches of 12 at random.

python -m benchmarks.loading
"""

import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.common import bar_plot, report
from objectspace.data.dataset import Dataset
from objectspace.data.generate import generate
from objectspace.data.sampler import Sampler
from objectspace.data.sprites import SpritesSource
from objectspace.data.streams import Stream

IMAGES, BATCH, SECONDS = 3000, 12, 5.0


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "set"
        generate(SpritesSource(height=128, width=128), root, [Stream("train", IMAGES)], workers=2)
        start = time.perf_counter()
        dataset = Dataset(root, "train")
        decoding = IMAGES / (time.perf_counter() - start)
        sampler, step = Sampler(len(dataset), BATCH), 0
        start = time.perf_counter()
        while time.perf_counter() - start < SECONDS:
            dataset.batch(sampler.indices(step))
            step += 1
        loading = step * BATCH / (time.perf_counter() - start)
    rows: list[dict[str, Any]] = [
        {"what": "decode PNG into the memory map, once", "images/s": decoding},
        {"what": f"random batches of {BATCH}, one thread", "images/s": loading},
    ]
    report("loading", rows)
    bar_plot("loading", [row["what"] for row in rows], [row["images/s"] for row in rows], "images a second")


if __name__ == "__main__":
    main()
