"""TRL's GRPOTrainer: Parquet with a conversational `prompt` column.

The trainer hands every further column to the reward functions under its own name, as a list with
one value a completion: `def reward(completions, problem_id, shapes, baselines, **kwargs)`.
"""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from kernelset.export.facts import TYPES
from kernelset.export.item import Item
from kernelset.export.tables import write_tables
from schemas.columns import list_of, text

SCHEMA = pa.schema({"prompt": list_of(role=text, content=text), **TYPES})


def write_trl(items: Sequence[Item], folder: Path) -> None:
    """`train.parquet` and, where there are such rows, `validation.parquet`."""
    write_tables(
        items, folder, SCHEMA, lambda index, item: {"prompt": item.messages(), **item.facts}
    )
