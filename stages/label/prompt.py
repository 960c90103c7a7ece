"""The question that the judge is asked, and the form of its answer."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from pipeline.identity import digest
from pipeline.llm.question import Message, Question
from pipeline.llm.view import VIEW_VERSION, marked, view
from stages.label.facts import op_counts

ROOM = Path(__file__).parent
RUBRIC = (ROOM / "rubric.md").read_text(encoding="utf-8")
TASK = (ROOM / "task.md").read_text(encoding="utf-8")
MOST_OPS = 40  # in the prompt; a deep network has hundreds

LEVELS = ("L0", "L1", "L2", "L3", "L4", "L5")


class Verdict(BaseModel):
    """The judge's answer. The reason comes first, so that the level follows from it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rationale: str = Field(description="one sentence: what makes the kernel hard or easy")
    level: Literal["L0", "L1", "L2", "L3", "L4", "L5", "abstain"]


PROMPT_VERSION = "p1-" + digest([RUBRIC, TASK, VIEW_VERSION, Verdict.model_json_schema()])[:8]
"""In every row's `judge`: the digest changes with any word of rubric or task."""


def votes_on(row: Mapping[str, Any], votes: int) -> list[Question]:
    """The questions for so many independent votes on one problem.

    Raises:
        SyntaxError: the code is not Python.
    """
    system = Message("system", f"{TASK}\n\n{RUBRIC}")
    user = Message("user", f"{_facts(row)}\n\n{marked(view(row['code']))}")
    return [Question((system, user), Verdict, PROMPT_VERSION, vote) for vote in range(votes)]


def _facts(row: Mapping[str, Any]) -> str:
    """Traced facts: the judge does not have to guess what a program computes."""
    counts = sorted(op_counts(row).items(), key=lambda item: (-item[1], item[0]))
    shown = ", ".join(f"{op} {count}" for op, count in counts[:MOST_OPS])
    more = f", and {len(counts) - MOST_OPS} more" if len(counts) > MOST_OPS else ""
    fused, unfused = int(row["bytes_fused"]), int(row["bytes_unfused"])
    outputs = "; ".join(f"{o['dtype']} {list(o['shape'])}" for o in row["outputs"][:8])
    return "\n".join(
        (
            "Traced facts of one forward:",
            f"- ATen operations: {shown}{more}",
            f"- floating-point operations: {row['flops']:,}, of these in products: "
            f"{row['flops_matrix']:,}",
            f"- bytes that must be moved: {fused:,}; moved operation by operation: {unfused:,} "
            f"({unfused / max(1, fused):.1f} times as many)",
            f"- operations per byte: {row['flops'] / max(1, fused):.1f}",
            f"- parameters: {row['parameters']:,}; outputs: {outputs}",
        )
    )
