"""verl: Parquet in the row convention of its RLHFDataset.

`reward_model.ground_truth` is the facts as JSON: verl hands it to the reward function as it is,
`compute_score(data_source, solution_str, ground_truth, extra_info)`.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from kernelset.export.item import Item
from kernelset.export.tables import write_tables
from schemas.columns import integer, list_of, struct, text

DATA_SOURCE = "kernelset"  # by this name a reward function is chosen
SCHEMA = pa.schema(
    {
        "data_source": text,
        "prompt": list_of(role=text, content=text),
        "ability": text,
        "reward_model": struct(style=text, ground_truth=text),
        "extra_info": struct(index=integer, split=text, problem_id=text, name=text, level=text),
    }
)


def write_verl(items: Sequence[Item], folder: Path) -> None:
    """`train.parquet` and, where there are such rows, `validation.parquet`."""
    write_tables(items, folder, SCHEMA, _row)


def _row(index: int, item: Item) -> dict[str, Any]:
    about = {name: item.facts[name] for name in ("problem_id", "name", "level")}
    return {
        "data_source": DATA_SOURCE,
        "prompt": item.messages(),
        "ability": "code",
        "reward_model": {
            "style": "rule",
            "ground_truth": json.dumps(item.facts, ensure_ascii=False, allow_nan=False),
        },
        "extra_info": {"index": index, "split": item.split, **about},
    }
