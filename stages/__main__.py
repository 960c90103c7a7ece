"""The command `kernelset`: the engine's commands, and those that belong to one stage."""

from pipeline.cli import build_app, run_app
from stages import STAGES
from stages.decontaminate.commands import register as decontaminate_commands
from stages.measure.commands import register as measure_commands

app = build_app(STAGES)
decontaminate_commands(app)
measure_commands(app)


def main() -> None:
    run_app(app)


if __name__ == "__main__":
    main()
