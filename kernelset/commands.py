"""`kernelset export` and `kernelset sample`: a release in the form and mix that a trainer needs."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipeline.paths import OUT
from pipeline.release import LATEST

if TYPE_CHECKING:
    from rich.console import Console

    from kernelset.sample.vectors import Embedder, EmbedderChoice

Release = Annotated[
    str, typer.Option("--release", help="Folder of a release or a sample, or a release's name.")
]
Levels = Annotated[str | None, typer.Option(help="L3, L2-L5 or L2,L4.")]
Sources = Annotated[str | None, typer.Option(help="Only of this source, by its name.")]


OpenEmbedder = Callable[["EmbedderChoice", Path], "Embedder"]
"""Opens an embedder that keeps its vectors in a folder."""


def register(app: typer.Typer, open_embedder: OpenEmbedder) -> None:
    """Adds the commands to the application."""
    app.command("export")(export)
    app.command("sample")(sample_command(open_embedder))


def export(
    to: Annotated[str, typer.Option(help="kernelbench | verl | trl | openai-rft | jsonl")],
    release: Release = LATEST,
    out: Annotated[
        Path | None, typer.Option(help="Folder to write; default: out/export/FORMAT.")
    ] = None,
    prompt: Annotated[
        Path | None, typer.Option(help="A jinja2 template; default: kernelset/export/prompt.md.j2.")
    ] = None,
    shapes: Annotated[
        str, typer.Option(help="train | held-out | all: training never sees held-out shapes.")
    ] = "train",
    levels: Levels = None,
    source: Sources = None,
    device: Annotated[
        str | None, typer.Option(help="Only problems with an accepted time on this device.")
    ] = None,
) -> None:
    """Write a release for a trainer: KernelBench's folder, verl, TRL, OpenAI RFT or JSONL.

    Nothing is executed.
    """
    from rich.console import Console

    from kernelset.export import Request
    from kernelset.export import export as write
    from kernelset.export.prompt import DEFAULT, Prompt
    from kernelset.problems import load

    problems = load(release, level=levels, source=source, device=device)
    folder = out or OUT / "export" / to
    request = Request(to, shapes, Prompt(prompt or DEFAULT))
    record = write(problems, problems.folder, request, folder)
    rows = ", ".join(f"{count} {split}" for split, count in record["rows"].items())
    console = Console()
    console.print(f"{folder}: {rows}, format {to}", highlight=False, soft_wrap=True)
    if record["without_such_shape"]:
        console.print(f"left out: {record['without_such_shape']} without a {shapes} shape")


def sample_command(open_embedder: OpenEmbedder) -> Callable[..., None]:
    """The command `sample`; which embedders there are is not known here."""

    def sample(
        size: Annotated[
            int, typer.Option(min=1, help="Rows to draw; fewer if there are not so many.")
        ],
        out: Annotated[Path, typer.Option(help="Folder to write.")],
        release: Release = LATEST,
        levels: Levels = None,
        runtime: Annotated[
            str | None, typer.Option(help="Window of times at the first shape, e.g. 1ms-1000ms.")
        ] = None,
        device: Annotated[
            str, typer.Option(help="Whose times: part of a device's name, cuda or cpu.")
        ] = "",
        mode: Annotated[
            str, typer.Option(help="Times of inductor, inductor-max-autotune or eager.")
        ] = "inductor",
        source: Sources = None,
        split: Annotated[
            str | None, typer.Option(help="Only of this split of the release.")
        ] = None,
        seed: Annotated[int, typer.Option(min=0, help="Another seed draws other rows.")] = 0,
        clusters: Annotated[int, typer.Option(min=1, help="k of k-means.")] = 50,
        validation: Annotated[
            float, typer.Option(min=0, help="At most this share of the rows; whole groups only.")
        ] = 0.1,
        embedder: Annotated[
            str, typer.Option(help="minilm | jina-v3 | st:<folder or hub id> | openai:<model>")
        ] = "minilm",
        revision: Annotated[str, typer.Option(help="Commit of the hub model.")] = "",
        base_url: Annotated[str, typer.Option(help="Endpoint of an openai: embedder.")] = "",
        near: Annotated[
            float | None,
            typer.Option(min=0, help="L2 of near copies; default: the embedder's threshold."),
        ] = None,
        cache: Annotated[
            Path | None, typer.Option(help="Folder of vectors; default: the one that a run fills.")
        ] = None,
    ) -> None:
        """Draw a subset that is spread over what a release has, as in arXiv 2602.11000.

        Equal options give equal rows. Nothing is executed.
        """
        from rich.console import Console

        from kernelset.problems import parse_levels
        from kernelset.sample import Filters, Request
        from kernelset.sample import sample as make
        from kernelset.sample.filters import parse_window
        from kernelset.sample.vectors import EmbedderChoice
        from pipeline.store import Store

        window = parse_window(runtime) if runtime else None
        request = Request(
            size,
            Filters(parse_levels(levels), source, split, window, device, mode),
            seed,
            clusters,
            validation,
        )
        vectors = cache or Store(OUT).cache("decontaminate")
        opened = open_embedder(EmbedderChoice(embedder, revision, base_url, near), vectors)
        console = Console()
        with console.status("drawing; rows that no run has embedded take a while"):
            made = make(release, request, out, root=OUT, embedder=opened)
        _tell(made, out, console)

    return sample


def _tell(made: Mapping[str, Any], folder: Path, console: "Console") -> None:
    rows = made["rows"]
    for name, count in rows["left_out"].items():
        console.print(f"left out by {name}: {count}", highlight=False)
    counts = ", ".join(f"{count} {name}" for name, count in rows["levels"].items())
    splits = ", ".join(f"{count} {name}" for name, count in rows["splits"].items())
    console.print(
        f"{folder}: {rows['drawn']} of {rows['eligible']} rows from {len(made['clusters'])} clusters "
        f"({counts}); {splits} in {rows['groups']} groups that were kept together",
        highlight=False,
        soft_wrap=True,
    )
    if made["recipe"]["validation"] and len(rows["splits"]) == 1:
        console.print("no validation: no group but the largest fits into its share")
