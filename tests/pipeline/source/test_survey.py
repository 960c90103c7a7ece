"""One walk over a program gives what a walk for each question would give."""

import ast
from collections import Counter
from pathlib import Path

import pytest

from pipeline.source.canonical import canonical_form, canonical_of
from pipeline.source.shape_blind import form_of, shape_blind_form
from pipeline.source.survey import survey
from pipeline.source.trees import walk

ROOT = Path(__file__).resolve().parents[3]
OURS = sorted([*ROOT.glob("data/examples/*.py"), *ROOT.glob("pipeline/source/*.py")])
ODD = """
import a
class C(B):
    def __init__(self, n=lambda m: m):
        self.a, self.b = 1, [self.x for self.y in range(n)]
        self.register_buffer("buf", torch.zeros(n)); self.register_buffer(name, 1)
        super().register_parameter(*args)
    def forward(self, x: "hint", *rest: Tensor) -> Other:
        global g
        match x:
            case Point(x=0, y=[first, *others]): del x.a
            case {"k": v, **left} if (w := v): self.c += w
        try: import late
        except E as error: raise X from error
        async def inner():
            async with m as (p, self.q): yield {k: v for k, v in p if k}
        x[i].z = x
"""


def is_set(node: ast.AST) -> list[str]:
    """Attributes that this node sets, said in another way than in the product."""
    match node:
        case ast.Attribute(attr=name, ctx=ast.Store()):
            return [name]
        case ast.Call(
            func=ast.Attribute(attr="register_buffer" | "register_parameter"),
            args=[ast.Constant(value=str() as name), *_],
        ):
            return [name]
    return []


@pytest.mark.parametrize("code", [ODD, *(p.read_text() for p in OURS)], ids=["odd", *(p.name for p in OURS)])  # fmt: skip
def test_a_survey_says_of_every_statement_what_a_walk_over_it_says(code: str) -> None:
    tree = ast.parse(code)
    found = survey(tree)
    comprehensions = ast.Lambda | ast.ListComp | ast.GeneratorExp | ast.DictComp | ast.SetComp
    for statement in (node for node in ast.walk(tree) if isinstance(node, ast.stmt)):
        inside = list(ast.walk(statement))
        names = [(n.id, isinstance(n.ctx, ast.Load)) for n in inside if isinstance(n, ast.Name)]
        assert Counter(found.names_in(statement)) == Counter(names)
        assert Counter(found.attributes_in(statement)) == Counter(
            name for node in inside for name in is_set(node)
        )
        assert found.repeats_in(statement) == any(isinstance(n, comprehensions) for n in inside)
    nested = [n for n in walk(tree) if isinstance(n, ast.Import | ast.ImportFrom)]
    assert found.inner_imports == any(node not in tree.body for node in nested)


def test_a_tree_deeper_than_the_stack_of_python_is_surveyed() -> None:
    found = survey(ast.parse("y = " + " + ".join(["x"] * 2000)))
    assert len(found.names) == 2001


@pytest.mark.parametrize("code", [ODD, *(path.read_text() for path in OURS[:5])])
def test_both_forms_from_one_tree_are_those_from_the_text(code: str) -> None:
    tree = ast.parse(code)
    assert form_of(tree) == shape_blind_form(code)
    assert canonical_of(tree) == canonical_form(code)
