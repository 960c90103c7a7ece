"""From Arrow to pandas, without a Python object per nested value."""

from collections.abc import Sequence

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc


def frame(table: pa.Table) -> pd.DataFrame:
    """A DataFrame whose text columns hold str or None."""
    return pd.DataFrame({name: _values(table[name]) for name in table.schema.names})


def exploded(column: pa.ChunkedArray, fields: Sequence[str]) -> pd.DataFrame:
    """A column of lists of structs as a table: one line an element.

    Returns:
        The columns `row` (place of the list in the column) and `fields`; a field that the structs
        do not have is null.
    """
    lists = column.combine_chunks()
    if isinstance(lists, pa.ChunkedArray):  # a column without chunks stays one in some versions
        lists = pa.concat_arrays(lists.chunks) if lists.num_chunks else pa.array([], lists.type)
    parts = {"row": pc.list_parent_indices(lists).to_pandas()}
    elements = lists.flatten()
    known = {field.name for field in elements.type}
    for name in fields:
        values = pc.struct_field(elements, name) if name in known else pa.nulls(len(elements))
        parts[name] = _values(values)
    return pd.DataFrame(parts)


def _values(values: pa.Array | pa.ChunkedArray) -> pd.Series:
    """Text as object, so that a null is None and not a NaN that prints as a number."""
    if pa.types.is_string(values.type) or pa.types.is_null(values.type):
        return pd.Series(values.to_pylist(), dtype=object)
    return pd.Series(values.to_pandas())
