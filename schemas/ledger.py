"""`removed` and `failed`: the ledger. Every row that is not in the release is here, with a reason.

Removed means decided, with evidence. Failed means we could not tell: it is tried again next time.
"""

from schemas.columns import column, integer, real, table, text

WHO = [
    column("stage", text, "the stage that decided"),
    column("row_id", text, "file_id or problem_id of the row that entered the stage"),
    column("unit", integer, "position among the units that this row gave rise to"),
    column("name", text, "class or file name, for people"),
    column("source_name", text, "the row's source"),
    column("path", text, "file inside its origin"),
    column("reason", text, "reason code; see the stage's README"),
    column("detail", text, "one line for a person"),
]

EVIDENCE = [
    column(
        "matched_id",
        text,
        "what it matched: a kept problem_id or benchmark/level/id",
        nullable=True,
    ),
    column(
        "metric", text, "l2, jaccard, seconds, … : the unit of value and threshold", nullable=True
    ),
    column("value", real, "what was measured", nullable=True),
    column("threshold", real, "what it was compared with", nullable=True),
    column("policy", integer, "version of the stage's rules that decided"),
]

REMOVED = table(WHO, EVIDENCE)
FAILED = table(WHO)
