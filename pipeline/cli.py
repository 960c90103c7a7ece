"""The command line of the engine: run, status, doctor, explain, releases.

Exit codes: 0 done, 1 failed, 2 wrong use, 3 another run holds the store, 4 finished but some rows
failed, 130 interrupted.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from pipeline.errors import KernelsetError, UsageError
from pipeline.events import Events, run_id
from pipeline.llm.settings import with_budget
from pipeline.outcome import Progress, outcome, recorded
from pipeline.paths import DATA, OUT, RECIPES
from pipeline.progress import Watch, funnel_table
from pipeline.recipe import find_recipe, load_recipe
from pipeline.run import Line, Plan, run_stages
from pipeline.stage import Stage
from pipeline.store import Store

SOME_FAILED = 4
INTERRUPTED = 130

RecipeOption = Annotated[
    str, typer.Option("--recipe", "-r", help="A recipe's name or the path of a TOML file.")
]
OutOption = Annotated[
    Path, typer.Option("--out", "-o", help="Folder of the store and the releases.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for a script.")]


def build_app(stages: Sequence[Stage]) -> typer.Typer:
    """The application, with the commands that need nothing but the list of stages."""
    app = typer.Typer(
        help="Clean, verified, decontaminated PyTorch problems for models that write GPU kernels.",
        epilog="Start with:  kernelset doctor  ·  then  kernelset run --recipe local",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
    )
    names = ", ".join(stage.name for stage in stages)

    @app.command()
    def run(
        recipe: RecipeOption = "local",
        until: Annotated[str | None, typer.Option(help=f"Stop after this stage: {names}.")] = None,
        workers: Annotated[
            int | None,
            typer.Option(min=0, help="Worker processes; 0 runs in this process, for debugging."),
        ] = None,
        scheduler: Annotated[
            str | None, typer.Option(help="Address of a Dask scheduler, tcp://…")
        ] = None,
        limit: Annotated[
            int | None, typer.Option(min=1, help="At most this many files of each source.")
        ] = None,
        budget: Annotated[
            float | None,
            typer.Option(
                min=0,
                help="Dollars that language models may cost in any 24 hours, all stages together, "
                "instead of the recipe's limits; rows beyond it wait for the next run.",
            ),
        ] = None,
        max_requests: Annotated[
            int | None, typer.Option(min=0, help="The same, in requests to language models.")
        ] = None,
        accept: Annotated[
            str, typer.Option(help="Publish although a guard rail objects; give the reason.")
        ] = "",
        out: OutOption = OUT,
        as_json: JsonOption = False,
    ) -> None:
        """Make a dataset: run all stages, do only what is new, publish a release.

        Stop it at any time with Ctrl-C: the same command goes on where it stopped.
        """
        if until is not None and until not in [stage.name for stage in stages]:
            raise UsageError(f"no stage {until!r}; there are: {names}")
        loaded = load_recipe(find_recipe(recipe, RECIPES), stages)
        if limit is not None:
            loaded = loaded.with_setting(stages[0].name, "max_files", limit)
        loaded = with_budget(loaded, budget, max_requests)
        watch, store = Watch(), Store(out)
        events = Events(run := run_id(), store.root / "logs" / f"{run}.jsonl")
        plan = Plan(stages, loaded, store, DATA, watch, workers, scheduler, until, events)
        with store.lock(run):
            store.prepare()
            progress = Progress(plan)
            with recorded(progress):
                lines = run_stages(plan, progress.lines)
                if lines[-1].stage == stages[-1].name:
                    progress.release = _publish(plan, lines, accept)
                    _upload(plan, progress.release[0])
            told = outcome(progress)
        _report(told, as_json)
        if any(line.result.rows["failed"] for line in lines):
            raise typer.Exit(SOME_FAILED)

    @app.command()
    def status(
        recipe: RecipeOption = "local", out: OutOption = OUT, as_json: JsonOption = False
    ) -> None:
        """Say what a run would do, and why, before it does it."""
        from pipeline.status import stage_states, states_table

        loaded = load_recipe(find_recipe(recipe, RECIPES), stages)
        states = stage_states(Plan(stages, loaded, Store(out), DATA, Watch()))
        if as_json:
            _print_json([state.plain() for state in states])
        else:
            Console().print(states_table(states))

    @app.command()
    def doctor(
        recipe: RecipeOption = "local", out: OutOption = OUT, as_json: JsonOption = False
    ) -> None:
        """Say what this machine can do, which recipe fits it and what its GPU work would cost."""
        from pipeline.doctor import advice, checks, checks_table, forecasts

        found = checks()
        if as_json:
            _print_json([check.plain() for check in found])
            return
        console = Console()
        console.print(checks_table(found))
        console.print(advice(found))
        for line in forecasts(
            stages, load_recipe(find_recipe(recipe, RECIPES), stages), Store(out)
        ):
            console.print(line, highlight=False)

    @app.command()
    def explain(
        problem: Annotated[
            str, typer.Argument(help="First digits of a problem_id or file_id, or a class name.")
        ],
        out: OutOption = OUT,
        code: Annotated[bool, typer.Option("--code/--no-code", help="Show the program.")] = True,
        again: Annotated[
            str | None,
            typer.Option(metavar="STAGE", help="Let this stage decide the row again, alone."),
        ] = None,
        recipe: RecipeOption = "local",
        as_json: JsonOption = False,
    ) -> None:
        """Tell a row's way through the stages: kept, removed or failed, and on what evidence."""
        from pipeline.explain import print_story, story

        told = story(problem, stages, Store(out))
        if again is not None:
            loaded = load_recipe(find_recipe(recipe, RECIPES), stages)
            _again(Plan(stages, loaded, Store(out), DATA, Watch()), again, told.row_id)
        elif as_json:
            _print_json(told.plain())
        else:
            print_story(told, Console(), code)

    @app.command()
    def diff(
        old: Annotated[Path, typer.Argument(help="An earlier release: a folder, or its name.")],
        new: Annotated[Path, typer.Argument(help="A later release; default: the latest.")] = Path(
            "latest"
        ),
        out: OutOption = OUT,
        as_json: JsonOption = False,
    ) -> None:
        """Compare two releases: rows added, gone and changed, with the reasons."""
        from pipeline.diff import compare, print_difference
        from pipeline.release import find_release

        found = compare(find_release(old, out), find_release(new, out))
        if as_json:
            _print_json(found.plain())
        else:
            print_difference(found, Console())

    @app.command(name="releases")
    def list_releases(out: OutOption = OUT, as_json: JsonOption = False) -> None:
        """List the releases, oldest first."""
        from pipeline.release import releases

        folders = releases(out.resolve())
        if as_json:
            _print_json([str(folder) for folder in folders])
            return
        console = Console()
        for folder in folders:
            newest = " (latest)" if folder == (out / "latest").resolve() else ""
            console.print(f"{folder}{newest}", highlight=False, soft_wrap=True)
        if not folders:
            console.print("no release yet; make one with: kernelset run")

    return app


def run_app(app: typer.Typer) -> None:
    """Runs the command line: trouble that the user can mend is one line, nothing more."""
    try:
        app()
    except KernelsetError as error:
        Console(stderr=True).print(f"[red]error:[/red] {error}", highlight=False, soft_wrap=True)
        raise SystemExit(error.exit_code) from None
    except KeyboardInterrupt:
        Console(stderr=True).print("interrupted; run the same command again to go on")
        raise SystemExit(INTERRUPTED) from None


def _publish(plan: Plan, lines: Sequence[Line], accept: str) -> tuple[Path, bool]:
    from pipeline.release import publish

    return publish(plan, lines, accept)


def _upload(plan: Plan, release: Path) -> None:
    """On every run, not on new releases alone: what failed last night is made up for."""
    for url in plan.recipe.engine.upload:
        from pipeline.upload import upload

        if upload(release, url):
            plan.watch.tell(f"uploaded to {url}")
            plan.events.tell("uploaded", release=release.name, url=url)


def _report(told: dict[str, Any], as_json: bool) -> None:
    if as_json:
        _print_json(told)
        return
    console = Console()
    console.print(funnel_table(told["stages"]))
    if told["release"] is None:
        console.print("stopped before the release, as asked")
        return
    what = "new release" if told["new_release"] else "nothing changed; the release is still"
    console.print(f"{what}: [bold]{told['release']}[/bold]", highlight=False, soft_wrap=True)
    if (Path(told["release"]) / "report.html").exists():
        console.print(
            f"look at it:    {told['release']}/report.html", highlight=False, soft_wrap=True
        )
    line = f'datasets.load_dataset("parquet", data_dir="{told["release"]}/data")'
    console.print(f"load it with:  {line}", highlight=False, soft_wrap=True)
    failed = sum(stage["failed"] for stage in told["stages"])
    if failed:
        console.print(f"[yellow]{failed} rows failed and are tried again by the next run[/yellow]")


def _again(plan: Plan, stage: str, row_id: str) -> None:
    from pipeline.again import decide_again, told

    for unit in decide_again(plan, stage, row_id):
        name = getattr(unit, "name", "") or getattr(unit, "columns", {}).get("class_name", "")
        typer.echo(f"{stage}: {name + ' ' if name else ''}{told(unit)}")


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, default=str))
