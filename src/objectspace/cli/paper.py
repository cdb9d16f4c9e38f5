"""`objectspace paper`: the paper's tables, figures and claims, made here."""

from pathlib import Path
from typing import Annotated

import typer

from objectspace.cli.shared import resumable
from objectspace.errors import UserError
from objectspace.io.files import check_writable, write_atomically

ROOMY = 200  # columns that a terminal must have for the list to be a table

app = typer.Typer(help="The paper's tables, figures and claims, item by item, made here.", no_args_is_help=True)


@app.command("list")
def list_items(
    wide: Annotated[bool, typer.Option("--wide", help="A line an item, with tabs between the columns.")] = False,
) -> None:
    """What each item shows, needs and takes, and what became of it here."""
    from rich.console import Console
    from rich.table import Table

    from objectspace.paper.items import ITEMS
    from objectspace.paper.listing import HEAD, known_results, row_of
    from objectspace.paper.shown import NOT_YET

    results = known_results()
    rows = [row_of(item, results.get(item.name, NOT_YET)) for item in ITEMS]
    if wide:
        for row in [HEAD, *rows]:
            print("\t".join(row))
        return
    console = Console()
    if console.width < ROOMY:
        for name, *cells in rows:
            print(name, *(f"  {head}: {cell}" for head, cell in zip(HEAD[1:], cells, strict=True)), sep="\n")
        return
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for name in HEAD:
        table.add_column(name, no_wrap=name == "item")
    for row in rows:
        table.add_row(*row)
    console.print(table)


@app.command()
def run(
    item: Annotated[str, typer.Argument(help="An item's name, several with commas between them, or all.")],
    out: Annotated[Path, typer.Option(help="The directory to write; the same command again continues it.")],
    minutes: Annotated[
        float | None,
        typer.Option(
            min=0.01,
            help="Minutes of training in all, divided evenly; schedules are shortened to fit. Measuring takes more.",
        ),
    ] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Seeds of each model; as the item says by default.")] = None,
    full: Annotated[bool, typer.Option("--full", help="The paper's own recipes, steps and numbers of images.")] = False,
    runs: Annotated[
        Path | None, typer.Option(help="A directory of finished runs to use, named RECIPE-seedN; they are only read.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="A directory of data sets to use, named as `paper list` names them.")
    ] = None,
    images: Annotated[int | None, typer.Option(min=1, help="Measure on the first so many test images only.")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes that make data.")] = 2,
) -> None:
    """Make what an item needs and is not there, measure, draw, and write its page; every stage can be continued."""
    from objectspace.paper.items import by_name

    items = by_name(item)
    check_writable(out / "index.html")
    from objectspace.paper.place import Place
    from objectspace.paper.stages import Wanted, run_items

    with resumable():
        run_items(items, Place(out, full, runs, data), Wanted(minutes, seeds, workers, images), _say)
    print(f"{out / 'index.html'}: {', '.join(each.name for each in items)}")


@app.command()
def page(
    directory: Annotated[Path, typer.Argument(help="What `objectspace paper run` wrote.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="The Markdown to write; pictures go beside it.")
    ] = Path("paper.md"),
) -> None:
    """All items on one page of Markdown, from what has been measured."""
    if not (directory / "paper.json").is_file():
        raise UserError(f"{directory} was not written by `objectspace paper run`: there is no paper.json in it")
    check_writable(output)
    from objectspace.paper.findings import read_findings
    from objectspace.paper.items import ITEMS
    from objectspace.paper.pages import markdown
    from objectspace.paper.shown import prepare

    findings = read_findings(directory / "measurements")
    shown = [prepare(item, findings, directory / "pictures") for item in ITEMS]
    try:
        write_atomically(output, markdown(shown, output.parent / "images").encode())
    except OSError as error:
        raise UserError(f"cannot write {output}: {error}") from error
    print(f"{output}: {sum(each.has_run for each in shown)} of {len(shown)} items have been run")


def _say(line: str) -> None:
    print(line, flush=True)
