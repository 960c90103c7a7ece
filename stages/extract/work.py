"""The stage's work: a file in, one outcome for each of its module classes out."""

import ast
import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from pipeline.sandbox import Fault, Limits, shared_sandbox
from pipeline.sandbox.decision import decided
from pipeline.source.canonical import canonical_form, digest, problem_id
from pipeline.source.package import read_package
from pipeline.source.personal import without_personal_data
from pipeline.stage import Failed, Kept, Outcome, Removed, Row, Workplace
from pipeline.tracing.bundle import bundled
from stages.extract.callsites import Sites, arguments_at_call_sites, as_evidence
from stages.extract.closure import Closure, NotClosed, close
from stages.extract.configs import config_defaults, imported_config, smaller, with_aliases
from stages.extract.dropout import without_dropout
from stages.extract.hints import input_hints, soft_attributes
from stages.extract.modules import ancestry, is_abstract, method
from stages.extract.parsing import Unparsable, parse
from stages.extract.render import Definitions, render
from stages.extract.resolve import Files, Module, OneFile, Package, Resolver
from stages.extract.settings import ExtractSettings

WORKER = Path(__file__).with_name("worker.py")

# No fault of ours: the same program would end so again.
OWN_FAULTS = frozenset(("no_result", "bad_result", "worker_error"))


def work(
    rows: Sequence[Row], settings: ExtractSettings, workplace: Workplace
) -> list[list[Outcome]]:
    """Gives the outcomes of each file."""
    with _no_collections():
        return [outcomes(row, settings, workplace) for row in rows]


@contextmanager
def _no_collections() -> Iterator[None]:
    """Keeps the collector from walking a package's syntax trees, which hold no cycles, over and over."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def outcomes(row: Row, settings: ExtractSettings, workplace: Workplace) -> list[Outcome]:
    """One outcome for each module class; one for a file that holds none."""
    try:
        tree = parse(row["text"])
    except Unparsable as trouble:
        return [Removed(trouble.reason, trouble.detail)]
    name = row["path"].removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    module = Module(name, row["text"], tree, row["path"].endswith("__init__.py"))
    resolver = Resolver(_files(row["package_sha256"], workplace.shared))
    results = [
        outcome
        for node in classes(tree)
        for outcome in _of_class(resolver, module, node, settings, workplace)
    ]
    return results or [Removed("no_module", "no class of the file descends from nn.Module")]


@lru_cache(maxsize=8)
def _files(package_sha256: str, shared: Path) -> Files:
    """The files of a row's package; parsed ones stay for the next row."""
    return Package(read_package(package_sha256, shared)) if package_sha256 else OneFile()


def classes(tree: ast.Module) -> list[ast.ClassDef]:
    """The file's classes, those inside conditions too."""
    found: list[ast.ClassDef] = []
    bodies = [tree.body]
    while bodies:
        for node in bodies.pop(0):
            match node:
                case ast.ClassDef():
                    found.append(node)
                case ast.If() | ast.Try():
                    bodies += [
                        node.body,
                        node.orelse,
                        *(one.body for one in getattr(node, "handlers", [])),
                    ]
                case _:
                    pass
    return sorted(found, key=lambda node: node.lineno)


def _of_class(
    resolver: Resolver,
    module: Module,
    node: ast.ClassDef,
    settings: ExtractSettings,
    workplace: Workplace,
) -> list[Outcome]:
    try:
        prepared = prepare(resolver, module, node, settings.allow_missing)
    except RecursionError:
        return [Removed("too_deep", "the class overflows a recursive walk", name=node.name)]
    except Exception as error:  # noqa: BLE001  a mistake of ours costs its class, not the file
        return [Failed("extract_error", f"{type(error).__name__}: {error}"[:300], name=node.name)]
    if prepared is None:
        return []
    if isinstance(prepared, Removed):
        return [prepared]
    outcome = prepared.run(settings, workplace)
    if prepared.missing is not None and isinstance(outcome, Removed):
        outcome = Removed(prepared.missing.reason, prepared.missing.detail, name=node.name)
    return [outcome]


def prepare(
    resolver: Resolver, module: Module, node: ast.ClassDef, allow_missing: bool
) -> "Prepared | Removed | None":
    """The static part: closure and text. None if the class is no module."""
    kin = ancestry(resolver, module, node)
    line = [
        node,
        *(one.statement for one in kin.ancestors if isinstance(one.statement, ast.ClassDef)),
    ]
    forward = method(line, "forward")
    if kin.kind == "not_module" or (kin.kind == "outside" and forward is None):
        return None
    if kin.kind == "outside":
        return Removed("outside_dependency", f"base class from {kin.outside}", name=node.name)
    if (forward is None and kin.torch_base in ("Module", "ModuleList", "ModuleDict", "")) or (
        forward is not None and is_abstract(forward)
    ):
        return Removed("abstract", "no forward of its own", name=node.name)
    sites = arguments_at_call_sites(resolver, module, node.name, method(line, "__init__"))
    values = [
        value
        for found in sites.values()
        for _, _, value in found
        if not isinstance(value, ast.Constant)
    ]
    try:
        closure, definitions, sites, missing = _definitions(
            resolver, module, node, values, sites, allow_missing
        )
    except NotClosed as trouble:
        return Removed(trouble.reason, trouble.detail, name=node.name)
    prepared = Prepared(resolver, module, node, line, forward, closure, definitions)
    prepared.request["arguments"] = as_evidence(sites)
    prepared.missing = missing
    return prepared


def _definitions(
    resolver: Resolver,
    module: Module,
    node: ast.ClassDef,
    values: list[ast.expr],
    sites: Sites,
    allow_missing: bool,
) -> tuple[Closure, Definitions, Sites, NotClosed | None]:
    """Closure and text; with less around the class where all of it can't be had.

    An argument may need what the class itself does not, and so may an import that never runs. At
    last goes what branches need that may never run; then the first trouble is given too.

    Raises:
        NotClosed: the class itself can't be closed.
    """
    first: NotClosed | None = None
    ways = [(values, sites, True, False), ([], {}, True, False), ([], {}, False, False)]
    if allow_missing:
        ways.append(([], {}, False, True))
    for more, found, late, lenient in ways:
        try:
            closure = close(resolver, module, node, more, late, lenient)
            return closure, render(closure), found, first if lenient else None
        except NotClosed as trouble:
            first = first or trouble
    assert first is not None
    raise first


class Prepared:
    """A class with everything it needs, ready to be tried in the sandbox."""

    def __init__(
        self,
        resolver: Resolver,
        module: Module,
        node: ast.ClassDef,
        line: Sequence[ast.ClassDef],
        forward: ast.FunctionDef | None,
        closure: Closure,
        definitions: Definitions,
    ) -> None:
        self.node = node
        self.quiet = False
        self.missing: NotClosed | None = None  # what the program does without
        self.definitions = definitions
        constructor = method(list(line), "__init__")
        self.defaults = _defaults(constructor)
        comments = _comments(module, forward) if forward in node.body else ""
        self.hints = input_hints(forward, (ast.get_docstring(node) or "") + "\n" + comments)
        configs: dict[str, str] = {}
        for one in constructor.args.args[1:] if constructor else []:
            configs |= config_defaults(resolver, module, one.annotation)
            if one.annotation is None and one.arg in ("config", "cfg"):
                configs |= imported_config(resolver, module)
        self.request = {
            "class_name": node.name,
            "imports": list(definitions.imports),
            "body": definitions.body,
            "names": sorted(definitions.names),
            "defaults": self.defaults,
            "arguments": {},
            "hints": self.hints,
            "config_defaults": with_aliases(smaller(configs)),
            "soft": sorted(soft_attributes(closure)),
        }

    def run(self, settings: ExtractSettings, workplace: Workplace) -> Outcome:
        limits = Limits(wall_s=settings.wall_s, cpu_s=settings.cpu_s, memory_mb=settings.memory_mb)
        sandbox = shared_sandbox(bundled(WORKER), limits, workplace.minimum_sandbox)
        name = self.node.name
        # Most classes that lack something need it: few tries show that.
        tries = settings.tries if self.missing is None else -(-settings.tries // 3)
        reply = sandbox.run(self.request | {"tries": tries}, limits)
        if isinstance(reply, Fault):
            return decided(reply, limits, blamed=OWN_FAULTS, name=name)
        plan = reply.value
        if not plan["found"]:
            reason = {
                "import": "import_failed",
                "init": "init_failed",
                "forward": "no_input_found",
            }[plan["stage"]]
            return Removed(
                reason,
                plan["error"].replace("\n", " "),
                name=name,
                metric="tries",
                value=float(plan["tries"]),
            )
        if plan["verdict"] == "nondeterministic" and not self.quiet:
            body, count = without_dropout(self.definitions.body)
            if count:
                self.quiet = True
                words = f"set {count} dropout probabilities to 0.0: the output must repeat"
                self.definitions = replace(
                    self.definitions, body=body, edits=(*self.definitions.edits, words)
                )
                self.request["body"] = body
                return self.run(settings, workplace)
        if plan["verdict"] != "ok":
            return Removed(plan["verdict"], plan["detail"].replace("\n", " "), name=name)
        code, cleaned = without_personal_data(plan["code"])
        return Kept(
            {
                "problem_id": problem_id(code),
                "code": code,
                "class_name": name,
                "family_id": digest(canonical_form(self.definitions.code))[:32],
                "line_start": self.node.lineno,
                "line_end": self.node.end_lineno or self.node.lineno,
                "sizes": plan["sizes"],
                "arguments": plan["arguments"],
                "inputs": plan["inputs"],
                "edits": [*self.definitions.edits, *plan["edits"], *cleaned],
            }
        )


def _comments(module: Module, function: ast.FunctionDef | None) -> str:
    """The comments in a function: authors write shapes there."""
    if function is None:
        return ""
    lines = module.lines[function.lineno - 1 : function.end_lineno]
    found = [line.decode(errors="replace").partition("#") for line in lines if b"#" in line]
    return "\n".join(comment.strip() for _, _, comment in found)


def _defaults(constructor: ast.FunctionDef | None) -> dict[str, str]:
    if constructor is None:
        return {}
    arguments = constructor.args
    every = [*arguments.posonlyargs, *arguments.args]
    paired = list(
        zip(every[len(every) - len(arguments.defaults) :], arguments.defaults, strict=True)
    )
    paired += [
        (one, value)
        for one, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if value
    ]
    return {one.arg: ast.unparse(value) for one, value in paired}
