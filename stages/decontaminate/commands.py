"""The commands of this stage: `kernelset fingerprint`, `calibrate` and `audit`."""

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[Path, typer.Option(help="the project's data folder")]
EmbedderName = Annotated[
    str, typer.Option(help="minilm | jina-v3 | st:<folder or hub id> | openai:<model>")
]
Revision = Annotated[str, typer.Option(help="commit of the hub model")]


def register(app: typer.Typer) -> None:
    """Adds the commands to the application."""
    app.command("fingerprint")(fingerprint)


def fingerprint(
    checkout: Annotated[
        str, typer.Argument(help="KernelBench checkout, hub dataset, Parquet/JSONL, folder of .py")
    ],
    name: Annotated[str, typer.Option(help="name of the benchmark")] = "kernelbench",
    commit: Annotated[str, typer.Option(help="commit, where CHECKOUT is no git checkout")] = "",
    column: Annotated[str, typer.Option(help="column that holds the program")] = "",
    embedder: EmbedderName = "minilm",
    revision: Revision = "",
    data: Data = Path("data"),
) -> None:
    """Fingerprints a held-out benchmark: digests, graphs and vectors, no code."""
    from rich.console import Console
    from rich.progress import track

    from stages.decontaminate import fingerprint as making
    from stages.decontaminate.embedders import open_embedder
    from stages.decontaminate.fingerprints import fingerprint_path, write_fingerprints
    from stages.decontaminate.settings import DecontaminateSettings

    console = Console()
    settings = DecontaminateSettings(embedder=embedder, revision=revision, l2=1.0)
    embedders = [open_embedder(settings)]
    problems = making.read_problems(checkout, column)
    untraced: list[str] = []

    def traced(code: str) -> making.Traced:
        answer = making.trace_program(code)
        if answer.fault:
            untraced.append(answer.fault)
        return answer

    found = making.fingerprint_rows(name, problems, embedders, traced)
    rows = list(track(found, "fingerprinting", total=len(problems), console=console))
    made = making.provenance(name, commit or making.commit_of(checkout), rows, embedders)
    path = fingerprint_path(data, name)
    write_fingerprints(rows, made, path)
    console.print(f"{path}: {made.problems} problems, {made.traced} traced, commit {made.commit}")
    for fault in untraced:
        console.print(f"  not traced: {fault.splitlines()[0][:160]}")
