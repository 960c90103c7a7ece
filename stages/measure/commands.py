"""`kernelset measure export | run | merge`: problems to a GPU machine, figures back."""

from pathlib import Path
from typing import Annotated

import typer

Bundle = Annotated[Path, typer.Argument(help="the bundle's folder")]


def register(app: typer.Typer) -> None:
    """Adds the sub-command `measure` to the application."""
    group = typer.Typer(
        no_args_is_help=True,
        help="Measure on another machine: export a bundle, run it there, merge the figures.",
    )
    group.command("export")(export)
    group.command("run")(run)
    group.command("merge")(merge)
    app.add_typer(group, name="measure")


def export(
    folder: Bundle,
    problems: Annotated[
        Path, typer.Option(help="a release, a table with shapes, or a folder of programs")
    ] = Path("out/latest/data"),
    dtype: Annotated[list[str], typer.Option(help="float32, tf32 or bfloat16; repeatable")] = [  # noqa: B006
        "float32",
        "bfloat16",
    ],
    mode: Annotated[list[str], typer.Option(help="compiled modes; eager always")] = ["inductor"],  # noqa: B006
    runs: Annotated[int, typer.Option(help="timed runs of a block")] = 5,
    unless_in: Annotated[
        Path | None, typer.Option(help="leave out what this file of baselines has")
    ] = None,
    programs: Annotated[
        bool, typer.Option(help="PROBLEMS is a folder of .py files in KernelBench's format")
    ] = False,
) -> None:
    """Writes a bundle that needs Python, torch and triton, and nothing of this project."""
    from rich.console import Console

    from stages.measure import bundle
    from stages.measure.cost import predicted_minutes
    from stages.measure.settings import Precision

    found = bundle.programs_of_folder(problems) if programs else bundle.programs_of_table(problems)
    precisions = [
        Precision(dtype="float32", tf32=True) if name == "tf32" else Precision(dtype=name)  # type: ignore[arg-type]
        for name in dtype
    ]
    known = bundle.settled(unless_in) if unless_in else set()
    jobs = bundle.export(found, folder, precisions, ["eager", *mode], {"runs": runs}, known)
    minutes = predicted_minutes(jobs, len(mode))
    console = Console()
    console.print(
        f"{folder}: {jobs} jobs of {len(found)} programs, about {minutes:.0f} GPU minutes"
    )
    console.print(f"there: python3 {folder.name}/run.py --out RESULTS")


def run(
    folder: Bundle,
    out: Annotated[Path | None, typer.Option(help="results; default: in the bundle")] = None,
    device: Annotated[str, typer.Option(help="cuda, or cpu to rehearse")] = "cuda",
    budget_s: Annotated[float, typer.Option(help="start no job after so many seconds")] = 1e9,
    limit: Annotated[int, typer.Option(help="only so many jobs")] = 0,
) -> None:
    """Measures a bundle on this machine; run again, it goes on where it was."""
    import subprocess
    import sys

    command = [sys.executable, str(folder / "run.py"), "--device", device]
    command += ["--budget-s", str(budget_s), "--limit", str(limit)]
    command += ["--out", str(out)] if out else []
    raise typer.Exit(subprocess.run(command, check=False).returncode)


def merge(
    folder: Bundle,
    results: Annotated[Path | None, typer.Option(help="default: results/ in the bundle")] = None,
    into: Annotated[Path, typer.Option(help="file of baselines to add to")] = Path(
        "out/baselines.parquet"
    ),
    keep_code: Annotated[bool, typer.Option(help="keep Inductor's code in the rows")] = False,
    data: Annotated[Path, typer.Option(help="the project's data folder")] = Path("data"),
) -> None:
    """Checks the results of a run and adds its figures to a file."""
    from collections import Counter

    from rich.console import Console

    from stages.measure import bundle

    rows = bundle.merge(folder, results or folder / "results", into, data, keep_code=keep_code)
    counts = Counter(zip(rows["mode"].to_pylist(), rows["status"].to_pylist(), strict=True))
    console = Console()
    console.print(f"{into}: {rows.num_rows} rows added or replaced")
    for (mode, status), count in sorted(counts.items()):
        console.print(f"  {mode:<24}{status:<20}{count}")
