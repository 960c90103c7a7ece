"""How a column is written down: name, type, meaning and, where it has one, unit."""

from collections.abc import Iterable

import pyarrow as pa


def column(
    name: str, kind: pa.DataType, meaning: str, *, unit: str = "", nullable: bool = False
) -> pa.Field:
    """One column of a table; meaning and unit travel in the Parquet file itself."""
    notes = {"meaning": meaning} | ({"unit": unit} if unit else {})
    return pa.field(name, kind, nullable=nullable, metadata=notes)


def table(*groups: Iterable[pa.Field]) -> pa.Schema:
    """A table's schema from groups of columns, in reading order."""
    return pa.schema([field for group in groups for field in group])


def describe(schema: pa.Schema) -> list[dict[str, str]]:
    """Rows for a person: column, type, unit, meaning. The dataset card is made from this."""
    rows = []
    for field in schema:
        notes = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
        rows.append(
            {
                "column": field.name,
                "type": type_name(field.type) + (" or null" if field.nullable else ""),
                "unit": notes.get("unit", ""),
                "meaning": notes.get("meaning", ""),
            }
        )
    return rows


def type_name(kind: pa.DataType) -> str:
    """An Arrow type as a person would write it: `list of {name: string, value: int64}`."""
    if pa.types.is_list(kind):
        return f"list of {type_name(kind.value_type)}"
    if pa.types.is_struct(kind):
        return "{" + ", ".join(f"{f.name}: {type_name(f.type)}" for f in kind) + "}"
    return str(kind)


def struct(**fields: pa.DataType) -> pa.DataType:
    return pa.struct([pa.field(name, kind) for name, kind in fields.items()])


def list_of(**fields: pa.DataType) -> pa.DataType:
    return pa.list_(struct(**fields))


text = pa.string()
integer = pa.int64()
real = pa.float64()
flag = pa.bool_()
texts = pa.list_(pa.string())
integers = pa.list_(pa.int64())
reals = pa.list_(pa.float64())
