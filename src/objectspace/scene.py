"""A scene taken apart: what every model gives back, and all that evaluation, reports and exports read.

Plain frozen records with numpy arrays inside; reading one needs no torch. Convention: x right, y down, pixels; a box
is (x0, y0, x1, y1) with x1, y1 one past the last pixel. Shapes: H W image, h w crop, D latent.
"""

import base64
import io
import json
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from objectspace.errors import UserError
from objectspace.geometry import rle
from objectspace.geometry.boxes import Box as Box  # noqa: PLC0414 - a scene is made of them
from objectspace.geometry.window import Window

Picture = NDArray[np.uint8]  # (H, W, 3) RGB
SCENE_FORMAT = 1


class _WindowedMask:
    """A field that takes a mask (H, W) or a `Window` of one, keeps the window, and gives the whole mask when read."""

    @overload
    def __get__(self, item: None, kind: type) -> None: ...
    @overload
    def __get__(self, item: object, kind: type) -> rle.Mask | None: ...
    def __get__(self, item: object | None, kind: type) -> rle.Mask | None:
        window = None if item is None else item.__dict__.get("window")
        return None if window is None else window.whole

    def __set__(self, item: object, mask: rle.Mask | Window | None) -> None:
        if mask is not None and not isinstance(mask, Window):
            mask = Window.of(_checked_array("mask", mask, np.bool_, dimensions=2))
        item.__dict__["window"] = mask


@dataclass(frozen=True, eq=False)
class Object:
    """One foreground object.

    `box` is tight around the visible `mask`; `where_box` is what the model's latent says, hidden parts included;
    `whole_box` is tight around the object as drawn, before others hide it. `score` is how likely it is there, times the
    share of it that nothing hides; `evidence` is how many nats the image gains by it, less what its latents cost;
    `depth` grows away from the viewer, `what` (D,) describes the appearance. An object that is not `understood` is
    something that was found because nobody explains it: its model cannot draw it, and its `what` says little.

    >>> Object(box=(2, 3, 10, 8), where_box=(1, 2, 11, 9), score=0.9).box
    (2.0, 3.0, 10.0, 8.0)
    """

    box: Box
    where_box: Box
    score: float = 1.0
    depth: float = 0.0
    what: NDArray[np.float32] | None = None
    mask: _WindowedMask = _WindowedMask()  # (H, W), visible pixels, or None; made of `window` when it is read
    crop: Picture | None = None  # (h, w, 3)
    label: str | None = None
    whole_box: Box | None = None
    evidence: float | None = None  # nats
    understood: bool = True

    def __post_init__(self) -> None:
        for name in ("box", "where_box", "whole_box"):
            if getattr(self, name) is not None or name != "whole_box":
                object.__setattr__(self, name, _checked_box(name, getattr(self, name)))
        for name in ("score", "depth", "evidence"):
            if getattr(self, name) is not None or name != "evidence":
                object.__setattr__(self, name, _checked_number(name, getattr(self, name)))
        _freeze(self, "what", np.float32, dimensions=1)
        _freeze(self, "crop", np.uint8, dimensions=3)

    @property
    def window(self) -> Window | None:
        """The part of the image that holds the mask: all that is kept of it. None: there is no mask."""
        window: Window | None = self.__dict__["window"]
        return window

    def changed(self, **values: Any) -> "Object":
        """The object with some fields changed, as `dataclasses.replace` does it, which would make the whole mask."""
        return Object(
            **{field.name: getattr(self, field.name) for field in fields(self) if field.name not in ("mask", *values)}
            | {"mask": self.window}
            | values
        )


@dataclass(frozen=True, eq=False)
class Component:
    """One segment: the pixels it owns, and what it paints over the whole image.

    In a model that has nothing but components each may be an object; it then has a `box`, tight around its pixels.
    """

    mask: rle.Mask  # (H, W)
    image: Picture | None = None  # (H, W, 3)
    box: Box | None = None

    def __post_init__(self) -> None:
        if self.box is not None:
            object.__setattr__(self, "box", _checked_box("box", self.box))
        _freeze(self, "mask", np.bool_, dimensions=2)
        _freeze(self, "image", np.uint8, dimensions=3)


@dataclass(frozen=True, eq=False)
class Scene:
    """An image taken apart; no objects and no components is a scene too.

    >>> ball, box = Object((2, 3, 10, 8), (2, 3, 10, 8), score=0.9), Object((20, 3, 30, 8), (20, 3, 30, 8), score=0.7)
    >>> scene = Scene(height=24, width=32, objects=(ball, box))
    >>> scene.boxes.shape, scene.scores.tolist()
    ((2, 4), [0.9, 0.7])
    >>> from dataclasses import replace
    >>> edited = replace(scene, objects=(ball,))  # frozen: a change is a new scene, which `model.render` draws
    >>> len(edited.objects)
    1
    """

    height: int
    width: int
    objects: tuple[Object, ...] = ()
    components: tuple[Component, ...] = ()
    reconstruction: Picture | None = None  # (H, W, 3)
    background: Picture | None = None  # (H, W, 3)
    foreground: Picture | None = None  # (H, W, 3) the objects on black
    alpha: NDArray[np.uint8] | None = None  # (H, W) how much of each pixel the foreground takes, 0 to 255
    unexplained: rle.Mask | None = None  # (H, W) pixels that nobody explains; None: the model knows no such thing

    def __post_init__(self) -> None:
        if self.height < 1 or self.width < 1:
            raise ValueError(f"a scene needs a positive size, not {self.height} x {self.width}")
        object.__setattr__(self, "objects", tuple(self.objects))
        object.__setattr__(self, "components", tuple(self.components))
        _freeze(self, "reconstruction", np.uint8, dimensions=3)
        _freeze(self, "background", np.uint8, dimensions=3)
        _freeze(self, "foreground", np.uint8, dimensions=3)
        _freeze(self, "alpha", np.uint8, dimensions=2)
        _freeze(self, "unexplained", np.bool_, dimensions=2)
        sizes = [array.shape[:2] for array in self._full_size() if array is not None]
        sizes += [item.window.size for item in self.objects if item.window is not None]
        for size in sizes:
            if size != (self.height, self.width):
                raise ValueError(f"an array of {size} does not fit a scene of {(self.height, self.width)}")

    def _full_size(self) -> Iterable[NDArray[Any] | None]:
        yield from (self.reconstruction, self.background, self.foreground, self.alpha, self.unexplained)
        for component in self.components:
            yield from (component.mask, component.image)

    @cached_property
    def found(self) -> tuple[Object, ...]:
        """Everything that may be an object: the objects, and the components that have a box."""
        boxed = ((each.box, each.mask) for each in self.components if each.box is not None)
        return self.objects + tuple(Object(box, box, mask=mask) for box, mask in boxed)

    def of_understood(self) -> "Scene":
        """The scene without objects that were found and not understood; its pictures stay."""
        return replace(self, objects=tuple(item for item in self.objects if item.understood))

    @property
    def boxes(self) -> NDArray[np.float64]:
        """The visible boxes, (M, 4)."""
        return np.array([item.box for item in self.found], np.float64).reshape(-1, 4)

    @property
    def where_boxes(self) -> NDArray[np.float64]:
        """The latents' boxes, (M, 4)."""
        return np.array([item.where_box for item in self.found], np.float64).reshape(-1, 4)

    @property
    def whole_boxes(self) -> NDArray[np.float64]:
        """The boxes around whole objects, the latents' where there are none, (M, 4)."""
        boxes = [item.where_box if item.whole_box is None else item.whole_box for item in self.found]
        return np.array(boxes, np.float64).reshape(-1, 4)

    @property
    def scores(self) -> NDArray[np.float64]:
        """How likely each is there and can be seen, (M,)."""
        return np.array([item.score for item in self.found], np.float64)

    @property
    def unexplained_share(self) -> float | None:
        """How many of the pixels nobody explains, from 0 to 1; None where the model knows no such thing."""
        return None if self.unexplained is None else float(self.unexplained.mean())

    def to_json(self) -> str:
        """The scene as text; masks as COCO run lengths, pictures as PNG in base64."""
        content = {
            "format": SCENE_FORMAT,
            "height": self.height,
            "width": self.width,
            "objects": [_object_to_dict(item) for item in self.objects],
            "components": [
                {"mask": rle.encode(component.mask), "image": _picture_to_text(component.image), "box": component.box}
                for component in self.components
            ],
            "reconstruction": _picture_to_text(self.reconstruction),
            "background": _picture_to_text(self.background),
            "foreground": _picture_to_text(self.foreground),
            "alpha": _picture_to_text(self.alpha),
            "unexplained": None if self.unexplained is None else rle.encode(self.unexplained),
            "unexplained_share": self.unexplained_share,
        }
        return json.dumps(content)

    @classmethod
    def from_json(cls, text: str | bytes) -> "Scene":
        """Read back what `to_json` wrote; anything else is a `UserError`.

        >>> Scene.from_json(Scene(24, 32).to_json()).width
        32
        """
        try:
            content = json.loads(text)
            if content["format"] != SCENE_FORMAT:
                raise UserError(f"this scene has format {content['format']}; this version reads {SCENE_FORMAT}")
            size = int(content["height"]), int(content["width"])
            return cls(
                *size,
                objects=tuple(_object_from_dict(item, size) for item in content["objects"]),
                components=tuple(
                    Component(_mask_from(item["mask"], size), _picture_from_text(item["image"]), item.get("box"))
                    for item in content["components"]
                ),
                reconstruction=_picture_from_text(content["reconstruction"]),
                background=_picture_from_text(content["background"]),
                foreground=_picture_from_text(content["foreground"]),
                alpha=_picture_from_text(content["alpha"], mode="L"),
                unexplained=_optional_mask(content.get("unexplained"), size),
            )
        except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
            raise UserError(f"this is not a scene that can be read: {type(error).__name__}: {error}") from error


def _object_to_dict(item: Object) -> dict[str, Any]:
    content = {
        "box": list(item.box),
        "where_box": list(item.where_box),
        "score": item.score,
        "depth": item.depth,
        "whole_box": None if item.whole_box is None else list(item.whole_box),
        "evidence": item.evidence,
        "label": item.label,
        "what": None if item.what is None else [float(value) for value in item.what],
        "mask": None if item.window is None else item.window.encoded(),
        "crop": _picture_to_text(item.crop),
    }
    return content if item.understood else content | {"understood": False}


def _object_from_dict(content: dict[str, Any], size: tuple[int, int]) -> Object:
    return Object(
        box=content["box"],
        where_box=content["where_box"],
        score=content["score"],
        depth=content["depth"],
        label=content["label"],
        what=None if content["what"] is None else np.asarray(content["what"], np.float32),
        mask=_optional_mask(content["mask"], size),
        crop=_picture_from_text(content["crop"]),
        whole_box=content.get("whole_box"),  # neither is in scenes of earlier versions
        evidence=content.get("evidence"),
        understood=bool(content.get("understood", True)),  # written only where it is not
    )


def _optional_mask(code: rle.RunLength | None, size: tuple[int, int]) -> rle.Mask | None:
    return None if code is None else _mask_from(code, size)


def _mask_from(code: rle.RunLength, size: tuple[int, int]) -> rle.Mask:
    if tuple(code["size"]) != size:  # before decoding: a foreign size could ask for any amount of memory
        raise ValueError(f"a mask of {code['size']} does not fit a scene of {size}")
    return rle.decode(code)


def _picture_to_text(picture: NDArray[np.uint8] | None) -> str | None:
    if picture is None:
        return None
    if picture.size == 0:
        raise ValueError("a picture needs at least one pixel")
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, format="PNG", compress_level=3)
    return base64.b64encode(buffer.getvalue()).decode()


def _picture_from_text(text: str | None, mode: str = "RGB") -> NDArray[np.uint8] | None:
    if text is None:
        return None
    with Image.open(io.BytesIO(base64.b64decode(text, validate=True)), formats=["PNG"]) as image:
        return np.asarray(image.convert(mode))


def _checked_box(name: str, box: Iterable[float]) -> Box:
    values = tuple(float(value) for value in box)
    if len(values) != 4 or not all(np.isfinite(values)) or values[2] < values[0] or values[3] < values[1]:
        raise ValueError(f"an object's {name} must be finite x0 <= x1, y0 <= y1, but is {values}")
    return values[0], values[1], values[2], values[3]


def _checked_number(name: str, value: float) -> float:
    if not np.isfinite(value := float(value)):
        raise ValueError(f"an object's {name} must be finite, but is {value}")
    return value


def _freeze(record: object, name: str, dtype: type[np.generic], dimensions: int) -> None:
    """Check an array field and replace it by a read-only view."""
    array = getattr(record, name)
    if array is None:
        return
    view = _checked_array(name, array, dtype, dimensions).view()
    view.flags.writeable = False
    object.__setattr__(record, name, view)


def _checked_array(name: str, values: Any, dtype: type[np.generic], dimensions: int) -> NDArray[Any]:
    array: NDArray[Any] = np.asarray(values)
    if array.dtype != dtype or array.ndim != dimensions or (dimensions == 3 and array.shape[2] != 3):
        expected = {1: "(D,)", 2: "(H, W)", 3: "(H, W, 3)"}[dimensions]
        raise ValueError(
            f"{name} must be {np.dtype(dtype).name} {expected}, but is {array.dtype.name} {tuple(array.shape)}"
        )
    return array
