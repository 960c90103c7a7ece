"""The commands of this stage: `kernelset fingerprint`, `calibrate` and `audit`."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from stages.decontaminate.settings import DecontaminateSettings

Data = Annotated[Path, typer.Option(help="The project's data folder.")]
EmbedderName = Annotated[
    str, typer.Option(help="minilm | jina-v3 | st:<folder or hub id> | openai:<model>")
]
Revision = Annotated[str, typer.Option(help="Commit of the hub model.")]
BaseUrl = Annotated[str, typer.Option(help="Endpoint of an openai: embedder.")]
Workers = Annotated[int, typer.Option(min=1, help="Processes.")]
Column = Annotated[str, typer.Option(help="Column that holds the program.")]


def register(app: typer.Typer) -> None:
    """Adds the commands to the application."""
    app.command("fingerprint")(fingerprint)
    app.command("calibrate")(calibrate)
    app.command("audit")(audit)


def fingerprint(
    checkout: Annotated[
        str, typer.Argument(help="KernelBench checkout, hub dataset, Parquet/JSONL, folder of .py.")
    ],
    name: Annotated[str, typer.Option(help="Name of the benchmark.")] = "kernelbench",
    commit: Annotated[str, typer.Option(help="Commit, where CHECKOUT is no git checkout.")] = "",
    column: Column = "",
    embedder: EmbedderName = "minilm",
    revision: Revision = "",
    base_url: BaseUrl = "",
    data: Data = Path("data"),
) -> None:
    """Fingerprint a held-out benchmark: digests, graphs and vectors, no code.

    Its programs are traced in the sandbox, with fake tensors.
    """
    from rich.console import Console
    from rich.progress import track

    from stages.decontaminate import fingerprint as making
    from stages.decontaminate.embedders import open_embedder
    from stages.decontaminate.fingerprints import fingerprint_path, write_fingerprints

    console = Console()
    embedders = [open_embedder(_settings(embedder, revision, base_url))]
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


def calibrate(
    checkout: Annotated[str, typer.Argument(help="The benchmark's programs.")],
    negatives: Annotated[
        str, typer.Option(help="Ordinary programs that must stay: any dataset `audit` reads.")
    ] = "data/examples",
    column: Column = "",
    embedder: EmbedderName = "minilm",
    revision: Revision = "",
    base_url: BaseUrl = "",
    every: Annotated[int, typer.Option(min=1, help="Take every n-th problem.")] = 1,
    trace: Annotated[bool, typer.Option(help="Trace every copy, for the graph tier.")] = True,
    recall: Annotated[
        float, typer.Option(min=0, max=1, help="Recall wanted of the embedding tier alone.")
    ] = 0.98,
    llm_model: Annotated[str, typer.Option(help="Also plant copies rewritten by this model.")] = "",
    llm_url: Annotated[
        str, typer.Option(help="Its OpenAI-compatible endpoint; the key is in OPENAI_API_KEY.")
    ] = "https://api.openai.com/v1",
    out: Annotated[Path, typer.Option(help="Folder for the tables.")] = Path("out/calibration"),
) -> None:
    """Measure recall on planted copies and false removals, and find an embedder's threshold."""
    from rich.console import Console
    from rich.progress import track

    from stages.decontaminate.calibrate import THRESHOLDS, Calibration, plant_and_try
    from stages.decontaminate.embedders import open_embedder
    from stages.decontaminate.fingerprint import read_problems, trace_program
    from stages.decontaminate.reading import read_programs

    console = Console()
    settings = _settings(embedder, revision, base_url)
    others = {p.name: p.code for p in read_programs(negatives, column) if p.code}
    trials = plant_and_try(
        read_problems(checkout),
        others,
        open_embedder(settings, out / "cache"),
        trace_program if trace else None,
        every=every,
        paraphrase=_paraphraser(llm_model, llm_url, out) if llm_model else None,
    )
    found = Calibration(list(track(trials, "planting copies", console=console)))
    at = {"jaccard": settings.jaccard, "l2": settings.l2_threshold}
    tables = {
        "recall": found.recall(**at),
        "false_removals": found.false_removals(**at),
        "curve": found.curve(THRESHOLDS),
    }
    for title, rows in tables.items():
        console.print(_table(title, rows))
    tables |= {
        "missed": [trial.as_row(**at) for trial in found.missed(**at)],
        "removed_negatives": [trial.as_row(**at) for trial in found.removed(**at)],
        "set_aside": [trial.as_row(**at) for trial in found.set_aside],
        "trials": [trial.as_row(**at) for trial in found.trials],
    }
    for title, rows in tables.items():
        _write_csv(out / f"{title}.csv", rows)
    for trial in found.removed(**at)[:10]:
        near = trial.nearest
        console.print(
            f"  {trial.kind} {trial.name} goes by {', '.join(sorted(trial.tiers(**at)))}: "
            f"jaccard {near.jaccard:.3f} {near.jaccard_problem}, l2 {near.l2:.3f} {near.l2_problem}"
        )
    needed = found.l2_for_recall(recall)
    console.print(
        f"tables at jaccard > {at['jaccard']:g}, l2 < {at['l2']:g}\n"
        f"L2 at which the embedding tier alone removes at most 1 % of the negatives: "
        f"{found.l2_for_false_removals(0.01):.2f}\n"
        f"L2 at which it alone finds {recall:.0%} of the copies: "
        f"{'none' if needed is None else f'{needed:.2f}'}\n"
        f"ordinary programs set aside, as they have a problem's form or graph: "
        f"{len(found.set_aside)}"
    )
    for promise, held in found.targets(**at):
        console.print(f"{'held  ' if held else 'MISSED'} {promise}")
    console.print(f"tables: {out}")


def _paraphraser(model: str, url: str, out: Path) -> Callable[[str], str | None]:
    from pipeline.llm.settings import LlmSettings
    from pipeline.stage import Workplace
    from stages.decontaminate.planted.paraphrase import paraphraser

    place = Workplace(cache=out / "cache", shared=out / "cache", data=Path("data"))
    return paraphraser(LlmSettings(model=model, base_url=url, max_tokens=8000), place)


def audit(
    dataset: Annotated[
        str, typer.Argument(help="Parquet, JSONL, CSV, folder of .py, or hub id (owner/name).")
    ],
    against: Annotated[list[str], typer.Option(help="Benchmark; may be given again.")] = [  # noqa: B006  typer copies it
        "kernelbench"
    ],
    column: Column = "",
    embed: Annotated[bool, typer.Option(help="Use the embedding tier; slow.")] = True,
    embedder: EmbedderName = "minilm",
    revision: Revision = "",
    base_url: BaseUrl = "",
    checkout: Annotated[
        str, typer.Option(help="Your checkout of the benchmark, to see both texts side by side.")
    ] = "",
    trace: Annotated[
        bool, typer.Option(help="Execute programs in the sandbox, to compare what they compute.")
    ] = False,
    fail_over: Annotated[
        int | None,
        typer.Option(
            help="Exit with 1 if more programs than this are within reach or can't be compared."
        ),
    ] = None,
    workers: Workers = 2,
    out: Annotated[Path, typer.Option(help="Folder for the table and the page.")] = Path(
        "out/audit"
    ),
    data: Data = Path("data"),
) -> None:
    """Ask how contaminated a dataset is, anyone's. Without --trace nothing of it is executed."""
    from rich.console import Console

    from pipeline.files import whole_file
    from stages.decontaminate.audit import audit as run_audit
    from stages.decontaminate.audit import problem_texts
    from stages.decontaminate.fingerprint import trace_program
    from stages.decontaminate.page import audit_page

    console = Console()
    found = run_audit(
        dataset,
        against,
        column=column,
        data=data,
        settings=_settings(embedder, revision, base_url, calibrated=True),
        embed=embed,
        cache=out / "cache",
        trace=trace_program if trace else None,
        workers=workers,
    )
    texts = problem_texts([(against[0], checkout)]) if checkout else {}
    with whole_file(out / "hits.parquet") as path:
        found.hits().to_parquet(path)
    with whole_file(out / "audit.html") as path:
        path.write_text(audit_page(found, texts), encoding="utf-8")
    console.print(found.verdict(), highlight=False)
    console.print(f"table: {out / 'hits.parquet'}\npage:  {out / 'audit.html'}", highlight=False)
    if fail_over is not None and found.not_clean() > fail_over:
        raise typer.Exit(1)


def _settings(
    embedder: str, revision: str, base_url: str, calibrated: bool = False
) -> "DecontaminateSettings":
    """Settings for these options; a threshold is not needed where it is being looked for."""
    from stages.decontaminate.settings import CALIBRATED_L2, DecontaminateSettings

    known = embedder.split(":")[0] in CALIBRATED_L2
    l2 = None if known or calibrated else 1.0
    return DecontaminateSettings(embedder=embedder, revision=revision, base_url=base_url, l2=l2)


def _table(title: str, rows: Sequence[Mapping[str, Any]]) -> "Table":
    from rich.table import Table

    table = Table(*rows[0], title=title)
    for row in rows:
        table.add_row(*(f"{v:.3f}" if isinstance(v, float) else str(v) for v in row.values()))
    return table


def _write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    import csv

    from pipeline.files import whole_file

    with whole_file(path) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]) if rows else [])
        writer.writeheader()
        writer.writerows(rows)
