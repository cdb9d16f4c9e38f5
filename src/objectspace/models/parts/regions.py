from dataclasses import dataclass

import numpy as np
from scipy import ndimage as nd


@dataclass(frozen=True)
class Region:
    box: tuple
    mask: np.ndarray
    area: int


def find_regions(unexplained, image=None, least_pixels=4, most=None):
    m = unexplained > 0.5
    lab, n = nd.label(m, np.ones((3, 3)))
    out = []
    for i, sl in enumerate(nd.find_objects(lab), 1):
        k = lab[sl] == i
        a = int(k.sum())
        if a >= least_pixels:
            out.append(Region((sl[1].start, sl[0].start, sl[1].stop, sl[0].stop), k, a))
    return out
