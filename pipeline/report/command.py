"""The command `kernelset report`."""

from pathlib import Path
from typing import Annotated

import typer

from pipeline.paths import OUT


def register(app: typer.Typer) -> None:
    """Adds the command to the application."""
    app.command("report")(report)


def report(
    release: Annotated[
        Path, typer.Argument(help="A release: a folder, or its name. Default: the latest.")
    ] = Path("latest"),
    out: Annotated[
        Path | None, typer.Option(help="The page's file. Default: out/reports/<release>.html")
    ] = None,
) -> None:
    """Draw a release as one self-contained HTML page: figures, and a table to search.

    A folder that is no complete release is drawn as well; the page says what is missing.
    """
    from pipeline.release import find_release
    from pipeline.report.page import write_report
    from pipeline.report.reading import read_release

    folder = release.resolve() if (release / "data").is_dir() else find_release(release, OUT)
    file = out or OUT / "reports" / f"{folder.name}.html"
    write_report(read_release(folder), file)
    typer.echo(f"report: {file}")
