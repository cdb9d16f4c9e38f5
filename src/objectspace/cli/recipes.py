"""`objectspace recipes`: list the recipes, print one in full."""

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from objectspace.recipes import files as recipe_files

app = typer.Typer(help="The recipes for training: list them, print one in full.")


@app.callback(invoke_without_command=True)
def list_recipes(context: typer.Context) -> None:
    """The recipes for training: list them, print one in full."""
    if context.invoked_subcommand is not None:
        return
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for column in ("recipe", "model", "capacity", "steps", "what it is for"):
        table.add_column(column, no_wrap=column != "what it is for")
    for name in recipe_files.shipped():
        recipe = recipe_files.load(name)
        table.add_row(name, recipe.model.kind, recipe.model.capacity, f"{recipe.training.steps:,}", recipe.about)
    Console().print(table)


@app.command("show")
def show(
    name: Annotated[str, typer.Argument(help="A recipe's name, or a .toml file.")],
    changes: Annotated[
        list[str] | None, typer.Option("--set", help="Change a value: phases.size=0.2. May be repeated.")
    ] = None,
) -> None:
    """Print the full recipe, defaults and changes included, as TOML."""
    text = recipe_files.dump(recipe_files.load(name, changes or ()))
    typer.echo(text.encode(), nl=False)  # TOML is UTF-8, whatever the terminal's encoding
