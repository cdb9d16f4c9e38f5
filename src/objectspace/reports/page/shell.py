"""What all pages share: their files, the templates among them, and a policy that lets nothing in and nothing out."""

import base64
import hashlib
from collections.abc import Iterator
from functools import cache
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup


def part(name: str) -> Markup:
    """One of the files that pages are made of, which needs no escaping."""
    return Markup(resources.files("objectspace.reports.page").joinpath(name).read_text(encoding="utf-8"))


def render(template: str, /, **values: object) -> Markup:
    """A template with its values: text is escaped, `Markup` stays as it is."""
    return Markup("".join(pieces(template, **values)))


def pieces(template: str, /, **values: object) -> Iterator[str]:
    """The same, bit by bit: what the values give one after another is never held as a whole."""
    for piece in _templates().get_template(template).generate(values):
        yield piece.encode("utf-8", "backslashreplace").decode("utf-8")  # there are file names that are no Unicode


def policy(style: str, script: str) -> Markup:
    """No network at all, pictures from within the page, and only this style and this script."""
    return Markup(
        f"default-src 'none'; img-src data:; style-src '{_hash(style)}'; script-src '{_hash(script)}';"
        " base-uri 'none'; form-action 'none'"
    )


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("objectspace.reports.page", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {}  # keys stay in their order
    return environment


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
