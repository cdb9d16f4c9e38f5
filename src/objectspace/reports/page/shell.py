"""What all pages share: their files, and a policy that lets nothing in and nothing out."""

import base64
import hashlib
from importlib import resources


def part(name: str) -> str:
    """One of the files that pages are made of."""
    return resources.files("objectspace.reports.page").joinpath(name).read_text(encoding="utf-8")


def policy(style: str, script: str) -> str:
    """No network at all, pictures from within the page, and only this style and this script."""
    return (
        f"default-src 'none'; img-src data:; style-src '{_hash(style)}'; script-src '{_hash(script)}';"
        " base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
