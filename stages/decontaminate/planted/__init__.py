"""Planted copies: a program edited the ways people (and models) edit what they copy.

Each edit keeps what is computed up to sizes and constants, so that whoever calls the result clean
is wrong. `EDITS` are single edits, `CHAINS` several in turn. An edit that finds nothing to change
in a program gives nothing back, and is then not counted.
"""

import ast
from collections.abc import Callable, Mapping

from stages.decontaminate.planted import layers, layout, renaming, structure, style

Edit = Callable[[str], str]

EDITS: Mapping[str, Edit] = {
    "verbatim": lambda code: code,
    "comments": layout.other_comments,
    "reformat": layout.reformatted,
    "names": renaming.other_names,
    "sizes": layout.other_sizes,
    "hints": layout.with_hints,
    "reorder": structure.reordered,
    "imports": style.other_imports,
    "functional": style.functional,
    "modules": style.as_modules,
    "operators": style.operators_to_functions,
    "methods": style.functions_to_methods,
    "inline": structure.inlined_constants,
    "hoist": structure.hoisted_constants,
    "submodule": structure.in_submodule,
    "parent": structure.with_unused_parent,
    "dead_code": structure.with_dead_code,
    "loop": structure.in_loop,
    "unroll": layers.unrolled,
    "layer_loop": layers.looped,
    "einsum": style.einsum,
    "temporaries": style.with_temporaries,
}

CHAINS: Mapping[str, tuple[str, ...]] = {
    "chain_cosmetic": ("comments", "names", "sizes", "hints"),
    "chain_style": ("names", "imports", "operators", "functional", "temporaries"),
    "chain_structure": ("submodule", "names", "dead_code", "reorder", "sizes"),
    "chain_all": (
        "imports", "functional", "operators", "unroll", "hoist", "temporaries", "submodule", "dead_code",
        "reorder", "names", "sizes", "hints", "comments",
    ),
}  # fmt: skip

ALWAYS_CAUGHT = ("verbatim", "comments", "reformat", "names", "sizes", "hints", "reorder")
"""Edits of which not one may pass, over all tiers together."""


class NothingToEdit(Exception):
    """The program has no place where this edit applies."""


def planted(code: str, kind: str) -> str:
    """A copy of the program by one kind of edit or chain.

    Raises:
        NothingToEdit: it doesn't apply here.
        KeyError: no such kind.
    """
    steps = CHAINS.get(kind, (kind,))
    edited = code
    changed = 0
    for step in steps:
        after = EDITS[step](edited)
        changed += not _same_tree(edited, after) or step in ("verbatim", "comments", "reformat")
        edited = after
    if not changed:
        raise NothingToEdit(kind)
    return edited


def _same_tree(one: str, other: str) -> bool:
    return one == other or ast.dump(ast.parse(one)) == ast.dump(ast.parse(other))
