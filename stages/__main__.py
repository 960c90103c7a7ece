"""The command `kernelset`: the engine's, those that belong to one stage, the library's."""

from pathlib import Path

from kernelset.commands import register as library_commands
from kernelset.sample.vectors import Embedder, EmbedderChoice
from pipeline.cli import build_app, run_app
from pipeline.errors import KernelsetError, UsageError
from pipeline.report.command import register as report_command
from stages import STAGES
from stages.decontaminate.commands import register as decontaminate_commands
from stages.measure.commands import register as measure_commands


def open_embedder(choice: EmbedderChoice, cache: Path) -> Embedder:
    """An embedder of the decontaminate stage, for the library's sampling.

    Raises:
        UsageError: no such embedder, or it has no calibrated threshold and none is given.
    """
    from stages.decontaminate import embedders
    from stages.decontaminate.settings import CALIBRATED_L2, DecontaminateSettings

    near_l2 = choice.near_l2
    if near_l2 is None:
        near_l2 = CALIBRATED_L2.get(choice.name.split(":")[0])
    if near_l2 is None:
        raise UsageError(f"embedder {choice.name!r} has no calibrated threshold; give --near")
    settings = DecontaminateSettings(
        embedder=choice.name, revision=choice.revision, base_url=choice.base_url, l2=near_l2
    )
    opened = embedders.open_embedder(settings, cache)

    def embed(text: str) -> embedders.base.Vector:
        try:
            return opened.embed(text)
        except embedders.EmbeddingFailed as error:
            raise KernelsetError(f"a row can't be embedded: {error}") from error

    return Embedder(opened.identity, embed, near_l2)


app = build_app(STAGES)
report_command(app)
decontaminate_commands(app)
measure_commands(app)
library_commands(app, open_embedder)


def main() -> None:
    run_app(app)


if __name__ == "__main__":
    main()
