"""The command line: parse, call, print. `objectspace --help` lists the commands."""

import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from objectspace import __version__
from objectspace.cli import compare, data, decompose, demo, evaluate, label, models, paper, recipes, sample, train
from objectspace.errors import UserError
from objectspace.recipes.files import RenamedKeyWarning

app = typer.Typer(
    help="Take scenes apart into objects, without labels.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(data.app, name="data")
app.add_typer(recipes.app, name="recipes")
app.add_typer(compare.app, name="compare")
app.add_typer(paper.app, name="paper")
app.command("demo")(demo.demo)
app.command("train")(train.train)
app.command("evaluate")(evaluate.evaluate)
app.command("decompose")(decompose.decompose)
app.command("label")(label.label)
app.command("sample")(sample.sample)
app.command("models")(models.models)
app.command("pack")(models.pack)
app.command("import-official")(models.import_official)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"objectspace {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
    files: Annotated[
        list[Path] | None,
        typer.Option("--with", metavar="FILE.py", help="Know the models that this file declares. May be repeated."),
    ] = None,
) -> None:
    del version
    for file in files or ():
        from objectspace.plugins import load_file

        load_file(file)


def main() -> None:
    """Run a command; what the user can mend is said in plain words, with exit code 2."""
    plain = warnings.formatwarning

    def in_plain_words(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> str:
        return f"hint: {message}\n" if category is RenamedKeyWarning else plain(message, category, *where, **more)

    warnings.formatwarning = in_plain_words
    try:
        app()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
