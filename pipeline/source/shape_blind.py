"""The shape-blind form: one program written one way, whatever its names, sizes and style.

Two programs with the same form do the same computation up to sizes, as far as text can tell:
local names, class names and numbers become placeholders; keywords stand in a fixed order;
`nn.ReLU()(x)`, `F.relu(x)`, `torch.relu(x)` and `x.relu()` are one call, `a @ b` and
`torch.matmul(a, b)` too; asserts, annotations, unused code and the order of definitions are gone.

A number is anything known before the data flows: a literal, a constructor argument, a tensor's
size, or arithmetic on these; all are `N`. Strings, booleans and None stay, because they choose
behaviour ("bilinear", bias=False). What `get_inputs` makes is left out. Tensor programs are not
executed, so control flow is compared as written; the traced graph is the tier that sees through it.
"""

import ast
import builtins
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pipeline.source.canonical import digest
from pipeline.source.survey import Survey, registered, survey
from pipeline.source.torch_names import OPERATORS, STATELESS, one_name
from pipeline.source.trees import walk

SHAPE_BLIND_VERSION = 1
"""Bump when the form changes: fingerprints made by another version are refused."""

N = "N"  # any number
_LONGEST_INLINED = 2000  # letters; a chain of attributes may double at every step
_DEEPEST_CHOICE = 4  # names followed from get_init_inputs; constants may mention themselves


def shape_blind_digest(code: str) -> str:
    """Digest of the shape-blind form, 64 hex digits.

    Raises:
        SyntaxError: the text is not Python.
    """
    return digest(shape_blind_form(code))


def shape_blind_form(code: str) -> str:
    """The program with names, sizes and style taken out; for comparing, not for running.

    Raises:
        SyntaxError: the text is not Python.
    """
    return form_of(ast.parse(code))


def form_of(tree: ast.Module) -> str:
    """The shape-blind form of a program that is parsed already; the tree is left as it is."""
    return _Program(tree).form()


class _Program:
    """What stands at the top of the file, and what has been written of it so far."""

    def __init__(self, tree: ast.Module) -> None:
        self.survey = survey(tree)
        self.imports = _imports(walk(tree) if self.survey.inner_imports else tree.body)
        self.definitions: dict[str, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef] = {}
        self.globals: dict[str, ast.expr] = {}
        for node in tree.body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                self.definitions[node.name] = node
            elif isinstance(node, ast.Assign):
                for name in _plain_names(node.targets):
                    self.globals[name] = node.value
        self.statements = tree.body
        self.own_attributes = set(self.survey.attributes)
        self.attribute_names: dict[str, str] = {}
        self.names: dict[str, str] = {}
        self.waiting: list[str] = []

    def form(self) -> str:
        entry = self._entry()
        if entry is None:
            return "\n".join(_Writer(self).block(self.statements))
        entry = self._unwrapped(entry)
        self.name_of(entry)
        lines: list[str] = []
        while self.waiting:  # in order of first use, so that the order of definitions is no matter
            name = self.waiting.pop(0)
            lines += [f"define {self.names[name]}", *_definition(self, self.definitions[name])]
        return "\n".join([*lines, *self._behaviour()])

    def name_of(self, definition: str) -> str:
        if definition not in self.names:
            self.names[definition] = f"d{len(self.names)}"
            self.waiting.append(definition)
        return self.names[definition]

    def attribute(self, name: str) -> str:
        """An attribute of some object: the author's own get a placeholder, torch's stay."""
        if name not in self.own_attributes:
            return name
        return self.attribute_names.setdefault(name, f"a{len(self.attribute_names)}")

    def _entry(self) -> str | None:
        """`Model`, or else the last class that no other definition mentions."""
        if "Model" in self.definitions:
            return "Model"
        mentioned = {
            name
            for node in self.definitions.values()
            for name, _ in self.survey.names_in(node)
            if name != node.name
        }
        classes = [n for n, d in self.definitions.items() if isinstance(d, ast.ClassDef)]
        return next((name for name in reversed(classes) if name not in mentioned), None)

    def _unwrapped(self, entry: str) -> str:
        """The class that does the work, where the entry only holds one and calls it."""
        for _ in range(len(self.definitions)):
            node = self.definitions[entry]
            inner = _only_calls(node) if isinstance(node, ast.ClassDef) else None
            if inner is None or not isinstance(self.definitions.get(inner), ast.ClassDef):
                break
            entry = inner
        return entry

    def ancestry(self, node: ast.ClassDef) -> list[ast.ClassDef]:
        """The class and those of this file that it derives from, nearest first."""
        line, waiting = [node], list(node.bases)
        while waiting:
            base = waiting.pop(0)
            parent = self.definitions.get(base.id) if isinstance(base, ast.Name) else None
            if isinstance(parent, ast.ClassDef) and parent not in line:
                line.append(parent)
                waiting += parent.bases
        return line

    def _behaviour(self) -> list[str]:
        """Strings, booleans and None among the constructor's values: they choose a computation."""
        node = self.definitions.get("get_init_inputs")
        if node is None:
            return []
        given = [
            part.value
            for part in walk(node)
            if isinstance(part, ast.Assign | ast.Return) and part.value is not None
        ]
        return [f"init {text}" for value in given for text in self._choices(value, depth=0)]

    def _choices(self, node: ast.expr, depth: int) -> Iterator[str]:
        for inner in walk(node):
            if isinstance(inner, ast.Constant) and not _is_number(inner):
                yield repr(inner.value)
            elif isinstance(inner, ast.Name) and depth < _DEEPEST_CHOICE:
                definition = self.definitions.get(inner.id)
                if inner.id in self.globals:
                    yield from self._choices(self.globals[inner.id], depth + 1)
                elif isinstance(definition, ast.ClassDef):  # a config class
                    for part in walk(definition):
                        if isinstance(part, ast.Assign | ast.AnnAssign) and part.value:
                            yield from self._choices(part.value, depth + 1)


def _definition(
    program: _Program, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
) -> list[str]:
    if isinstance(node, ast.ClassDef):
        return _Class(program, node).lines()
    writer = _Writer(program)
    return [*writer.parameters(node.args), *writer.body(node.body)]


class _Class:
    """One class: what its constructor sets up, then `forward` and the methods reached from it."""

    def __init__(self, program: _Program, node: ast.ClassDef) -> None:
        self.program = program
        self.line = program.ancestry(node)
        self.methods = {
            item.name: item
            for ancestor in reversed(self.line)
            for item in ancestor.body
            if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        self.constructors = [
            item
            for ancestor in reversed(self.line)
            for item in ancestor.body
            if isinstance(item, ast.FunctionDef) and item.name == "__init__"
        ]
        self.attributes = dict(self._set_once())
        self.numbers: set[str] = set()  # attributes that hold a number
        self.placeholders: dict[str, str] = {}
        self.inlined: dict[str, str] = {}
        self.reached: list[str] = []

    def lines(self) -> list[str]:
        writer = _Writer(self.program, self)
        own = {ancestor.name for ancestor in self.line}
        bases = {
            writer.expression(base)
            for ancestor in self.line
            for base in ancestor.bases
            if not (isinstance(base, ast.Name) and base.id in own)
        }
        lines = [f"bases {' '.join(sorted(bases))}"]
        for ancestor in reversed(self.line):
            lines += writer.block(
                item
                for item in ancestor.body
                if not isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            )
        for init in self.constructors:
            lines += self._constructor(init)
        self.reached = [name for name in ("forward", "__call__") if name in self.methods]
        if not self.reached:
            self.reached = [name for name in self.methods if name != "__init__"]
        for name in self.reached:  # grows while it is read
            writer = _Writer(self.program, self)
            method = self.methods[name]
            lines += [f"method {self.method(name)}", *writer.parameters(method.args, bound=True)]
            lines += writer.body(method.body)
        return lines

    def _constructor(self, init: ast.FunctionDef) -> list[str]:
        writer = _Writer(self.program, self)
        defaults = [*init.args.defaults, *(d for d in init.args.kw_defaults if d is not None)]
        arguments = [*init.args.posonlyargs, *init.args.args, *init.args.kwonlyargs]
        writer.self_name = arguments[0].arg if arguments else "self"
        writer.numbers |= {argument.arg for argument in arguments[1:]}
        lines = []
        for default in defaults:
            text = writer.expression(default)
            if text not in (N, "None"):
                lines.append(f"default {text}")
        return lines + writer.block(init.body)

    def method(self, name: str) -> str:
        if name in ("forward", "__call__"):
            return "forward"
        if name not in self.reached:
            self.reached.append(name)
        return self.placeholders.setdefault(name, f"m{len(self.placeholders)}")

    def attribute(self, name: str) -> str:
        """`self.<name>` as text: a number, what it was set to, a placeholder, or torch's own."""
        if name in self.numbers:
            return N
        if name in self.inlined:
            return self.inlined[name]
        if name in self.methods:
            return self.method(name)
        if name in self.attributes or name in self.placeholders:
            return self.placeholders.setdefault(name, f"m{len(self.placeholders)}")
        return f"self.{name}"

    def _set_once(self) -> Iterator[tuple[str, ast.expr]]:
        """Attributes that the constructor sets once, at its top level, and nothing sets again."""
        counts = Counter(
            name for ancestor in self.line for name in self.program.survey.attributes_in(ancestor)
        )
        for statement in (part for init in self.constructors for part in init.body):
            match statement:
                case ast.Assign(targets=[ast.Attribute(value=ast.Name(), attr=name)], value=value):
                    if counts[name] == 1:
                        yield name, value
                case ast.Expr(value=ast.Call(args=[_, value, *_]) as call) if names := registered(
                    call
                ):
                    if counts[names[0]] == 1:
                        yield names[0], value


class _Writer:
    """Writes statements and expressions of one function, naming its locals in order of use."""

    def __init__(self, program: _Program, owner: _Class | None = None) -> None:
        self.program = program
        self.owner = owner
        self.self_name = ""
        self.locals: dict[str, str] = {}
        self.numbers: set[str] = set()
        self.texts: dict[str, str] = {}  # locals that are used once: what they stand for
        self.depth = 0  # blocks around the statement: inside one, a name stays one variable
        self.count = 0

    def parameters(self, arguments: ast.arguments, *, bound: bool = False) -> list[str]:
        names = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        if bound and names:
            self.self_name = names.pop(0).arg
        return [f"takes {' '.join(self.local(name.arg) for name in names)}"]

    def local(self, name: str) -> str:
        """A local that is being set. At the top of a function each setting makes a new value, so
        that a value computed before and used after it can't be mistaken."""
        self.numbers.discard(name)
        self.texts.pop(name, None)
        if self.depth == 0 or name not in self.locals:
            self.locals[name] = f"v{self.count}"
            self.count += 1
        return self.locals[name]

    # statements

    def body(self, statements: list[ast.stmt]) -> list[str]:
        """A whole function. A local that is used once disappears into its use."""
        lines: list[str] = []
        mentions = _mentions(statements, self.program.survey)
        for place, statement in enumerate(statements):
            name = _assigned_name(statement)
            uses = _uses(mentions[name], place) if name else None
            if name and uses is not None and uses <= 1:
                value = _assigned_value(statement)
                text = self.expression(value)
                if text == N:
                    self.numbers.add(name)
                    continue
                if uses == 0 and not isinstance(value, ast.Call):
                    continue
                if uses == 1 and len(text) <= _LONGEST_INLINED:
                    self.numbers.discard(name)
                    self.texts[name] = text
                    continue
                lines.append(f"set {self.local(name)} {text}")
                continue
            lines += self.statement(statement)
        return lines

    def block(self, statements: Iterable[ast.stmt]) -> list[str]:
        self.depth += 1
        lines = [line for statement in statements for line in self.statement(statement)]
        self.depth -= 1
        return lines

    def statement(self, node: ast.stmt) -> list[str]:
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Assert() | ast.Raise() | ast.Pass():
                return []
            case ast.Expr(value=ast.Constant()) | ast.AnnAssign(value=None):
                return []
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(
                        value=ast.Name() as owner, attr="register_buffer" | "register_parameter"
                    ),
                    args=[ast.Constant(value=str() as buffer), value, *_],
                )
            ):
                return self._assign([ast.Attribute(owner, buffer, ast.Store())], value)
            case ast.Expr(value=value):
                text = self.expression(value)
                return [] if text == N or "super" in text or text.startswith("(print") else [text]
            case ast.Assign(targets=targets, value=value):
                return self._assign(targets, value)
            case ast.AnnAssign(target=target, value=value) if value is not None:
                return self._assign([target], value)
            case ast.AugAssign(target=target, op=op, value=value):
                read = ast.copy_location(ast.BinOp(_loaded(target), op, value), node)
                return self._assign([target], read)
            case ast.Return(value=value):
                return [f"return {self.expression(value)}" if value else "return"]
            case ast.If(test=test, body=body, orelse=orelse):
                then, other = self.block(body), self.block(orelse)
                if not then and not other:
                    return []  # it only raised
                return [f"if {self.expression(test)}", *then, "else", *other, "end"]
            case ast.For(target=target, iter=iterated, body=body):
                head = f"for {self.target(target)} {self.expression(iterated)}"
                return [head, *self.block(body), "end"]
            case ast.With(items=items, body=body):
                heads = [f"with {self.expression(item.context_expr)}" for item in items]
                for item in items:
                    if item.optional_vars is not None:
                        self.target(item.optional_vars)
                return [*heads, *self.block(body), "end"]
            case ast.FunctionDef(name=name, args=arguments, body=body):
                opening = [f"function {self.local(name)}", *self.parameters(arguments)]
                return [*opening, *self.block(body), "end"]
        return [self._generic(node)]

    def _assign(self, targets: list[ast.expr], value: ast.expr) -> list[str]:
        text = self.expression(value)
        names = [name for target in targets for name in _leaves(target)]
        if text == N and all(isinstance(name, ast.Name) for name in names):
            self.numbers |= {name.id for name in names if isinstance(name, ast.Name)}
            return []
        match targets:
            case [ast.Attribute(value=ast.Name(id=self.self_name), attr=attr)] if (
                self.owner and attr in self.owner.attributes
            ):
                if text == N:
                    self.owner.numbers.add(attr)
                    return []
                if len(text) <= _LONGEST_INLINED:
                    self.owner.inlined[attr] = text
                    return []
        return [f"set {' '.join(self.target(target) for target in targets)} {text}"]

    def target(self, node: ast.expr) -> str:
        match node:
            case ast.Name(id=name):
                return self.local(name)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return f"[{' '.join(map(self.target, parts))}]"
            case ast.Starred(value=inner):
                return f"*{self.target(inner)}"
            case ast.Attribute(value=ast.Name(id=self.self_name), attr=attr) if self.owner:
                owner = self.owner
                return owner.placeholders.setdefault(attr, f"m{len(owner.placeholders)}")
        return self.expression(node)

    # expressions

    def expression(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(value=value):
                return N if _is_number(node) else repr(value)
            case ast.Name(id=name):
                return self._name(name)
            case ast.Attribute():
                return self._attribute(node)
            case ast.BinOp(left=left, op=op, right=right):
                name = OPERATORS[type(op)]
                return _numbers_last(name, [self.expression(left), self.expression(right)])
            case ast.UnaryOp(op=op, operand=operand):
                text = self.expression(operand)
                return N if text == N else f"({type(op).__name__} {text})"
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                texts = [self.expression(part) for part in parts]
                return N if texts and set(texts) == {N} else f"[{' '.join(texts)}]"
            case ast.Subscript(value=value, slice=index):
                text = self.expression(value)
                return N if text == N else f"(at {text} {self.expression(index)})"
            case ast.Starred(value=inner):
                text = self.expression(inner)
                return N if text == N else f"*{text}"
            case ast.Call():
                return self._call(node)
            case ast.Lambda(args=arguments, body=body):
                return f"(lambda {' '.join(self.parameters(arguments))} {self.expression(body)})"
            case ast.IfExp(test=test, body=body, orelse=orelse):
                texts = [self.expression(part) for part in (test, body, orelse)]
                return N if set(texts[1:]) == {N} else f"(choose {' '.join(texts)})"
            case ast.ListComp() | ast.GeneratorExp() | ast.SetComp() | ast.DictComp():
                for part in node.generators:
                    self.target(part.target)
        return self._generic(node)

    def _name(self, name: str) -> str:
        program = self.program
        if name in self.numbers:
            return N
        if name in self.texts:
            return self.texts[name]
        if name in self.locals:
            return self.locals[name]
        if name == self.self_name:
            return "self"
        if name in program.imports:
            return program.imports[name]
        if name in program.definitions:
            return program.name_of(name)
        if name in program.globals:
            value = program.globals.pop(name)  # out of reach meanwhile: it may mention itself
            text = _Writer(program).expression(value)
            program.globals[name] = value
            return text if len(text) <= _LONGEST_INLINED else name
        return name

    def _attribute(self, node: ast.Attribute) -> str:
        if isinstance(node.value, ast.Name) and node.value.id == self.self_name and self.owner:
            return self.owner.attribute(node.attr)
        value = self.expression(node.value)
        if value == N or node.attr in ("shape", "ndim"):
            return N
        if value in ("math", "numpy", "torch") and node.attr in ("pi", "e", "inf", "nan"):
            return N
        if value.startswith(("torch", "math")):
            return f"{value}.{node.attr}"
        if node.attr in ("T", "mT"):
            return f"(transpose {value} {N})"
        return f"(get {value} {self.program.attribute(node.attr)})"

    def _call(self, node: ast.Call) -> str:
        match node.func:
            case ast.Attribute(value=ast.Name(id=name)) if (
                name == self.self_name and self.owner is not None
            ):
                function = self._attribute(node.func)
                own = not function.startswith(("torch", "(torch", "self."))
                return _apply(function, self._arguments(node, own))
            case ast.Attribute(value=value, attr=attr):
                base = self.expression(value)
                if base == N or attr in ("size", "dim", "numel"):
                    return N
                if not base.startswith(("torch", "math", "einops")):
                    return _apply(attr, [base, *self._arguments(node, own=False)])
            case ast.Name(id=name):
                own = name not in self.program.imports and not hasattr(builtins, name)
                return _apply(self.expression(node.func), self._arguments(node, own))
        return _apply(self.expression(node.func), self._arguments(node, own=False))

    def _arguments(self, node: ast.Call, own: bool) -> list[str]:
        """Positional ones in order, then keywords by name; numbers become one `N` at the end.

        The author's `own` functions and classes have keywords of the author's choice: no names.
        """
        texts = [self.expression(argument) for argument in node.args]
        named = []
        for keyword in node.keywords:
            text = self.expression(keyword.value)
            if keyword.arg in ("inplace", "device", "training"):
                continue
            if text != N:
                named.append(f"={text}" if own else f"{keyword.arg}={text}")
            elif keyword.arg == "groups" and ast.unparse(keyword.value) != "1":
                named.append(f"groups={N}")  # a grouped convolution is another computation
            else:
                texts.append(N)
        kept = [text for text in texts if text != N]
        return [*kept, *sorted(named), *([N] if len(kept) < len(texts) else [])]

    def _generic(self, node: ast.AST) -> str:
        parts = []
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "type_comment", "ctx", "decorator_list", "kind"):
                continue
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, ast.expr):
                    parts.append(self.expression(item))
                elif isinstance(item, ast.stmt):
                    parts += self.statement(item)
                elif isinstance(item, ast.AST):
                    parts.append(self._generic(item))
                elif item is not None:
                    parts.append(str(item))
        return f"({type(node).__name__} {' '.join(parts)})"


def _assigned_name(statement: ast.stmt) -> str:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AugAssign(target=ast.Name(id=name)):
            return name
        case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is not None:
            return name
    return ""


def _assigned_value(statement: ast.stmt) -> ast.expr:
    match statement:
        case ast.AugAssign(target=target, op=op, value=value):
            return ast.BinOp(_loaded(target), op, value)
        case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
            return value
    raise TypeError(f"{type(statement).__name__} assigns nothing")


@dataclass(frozen=True)
class _Mention:
    """What one statement of a function does with one name."""

    place: int
    reads: int
    sets: bool
    sure: bool  # outside control flow, lambdas and comprehensions


def _mentions(statements: list[ast.stmt], survey: Survey) -> dict[str, list[_Mention]]:
    """Every name of a function, with the statements that mention it, in order."""
    found: dict[str, list[_Mention]] = {}
    for place, statement in enumerate(statements):
        reads: dict[str, int] = {}
        sets: set[str] = set()
        for name, read in survey.names_in(statement):
            reads[name] = reads.get(name, 0) + read
            if not read:
                sets.add(name)
        sure = isinstance(statement, _STRAIGHT) and not survey.repeats_in(statement)
        if isinstance(statement, ast.AugAssign):
            name = _assigned_name(statement)
            reads[name] = reads.get(name, 0) + 1
        for name, count in reads.items():
            found.setdefault(name, []).append(_Mention(place, count, name in sets, sure))
    return found


def _uses(mentions: list[_Mention], place: int) -> int | None:
    """How often a name set at `place` is read before it is set again; None where that is unsure."""
    count = 0
    for mention in mentions:
        if mention.place <= place:
            continue
        if not mention.sure:
            return None
        count += mention.reads
        if mention.sets:
            break
    return count


_STRAIGHT = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Expr)


def _is_idle(statement: ast.stmt, used: set[str]) -> bool:
    """A docstring, or an assignment of a plain value to a name that is not among those used."""
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    name = _assigned_name(statement)
    calls = any(isinstance(node, ast.Call) for node in walk(statement))
    return bool(name) and name not in used and not calls


def _only_calls(node: ast.ClassDef) -> str | None:
    """The class that `forward` hands its arguments to, in order, if it does nothing else."""
    methods = {item.name: item for item in node.body if isinstance(item, ast.FunctionDef)}
    forward, init = methods.get("forward"), methods.get("__init__")
    if forward is None or init is None:
        return None
    returned = forward.body[-1]
    used = {node.id for node in walk(returned) if isinstance(node, ast.Name)}
    body = [statement for statement in forward.body if not _is_idle(statement, used)]
    match body:
        case [
            ast.Return(
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name(id=owner), attr=attr), args=given, keywords=[]
                )
            )
        ]:
            names = [argument.arg for argument in forward.args.args]
            if [ast.unparse(argument) for argument in given] != names[1:] or owner != names[0]:
                return None
        case _:
            return None
    for statement in init.body:
        match statement:
            case ast.Assign(
                targets=[ast.Attribute(attr=name)],
                value=ast.Call(func=ast.Name(id=made)) as call,
            ) if name == attr:
                # What is handed on must be the settings themselves: `Inner(nn.ReLU())` does more.
                parts = [*call.args, *(keyword.value for keyword in call.keywords)]
                plain = ast.Name | ast.Constant | ast.Starred
                return made if all(isinstance(part, plain) for part in parts) else None
    return None


def _apply(function: str, arguments: list[str]) -> str:
    """A call as text; a module made and called at once becomes its functional twin."""
    if function.startswith("(torch.nn."):
        return _apply_module(function, arguments)
    name = one_name(function)
    if set(arguments) == {N} and (name.startswith("math.") or name in _NUMBER_FUNCTIONS):
        return N
    if name == "einsum" and arguments:
        arguments = [_einsum_letters(arguments[0]), *arguments[1:]]
    return _numbers_last(name, arguments)


def _apply_module(module: str, arguments: list[str]) -> str:
    """`(torch.nn.Softmax N)` called on x: `(softmax x N)`; a Sequential calls its parts in turn."""
    name, parts = _split(module)
    if name == "torch.nn.Sequential" and len(arguments) == 1 and N not in parts:
        value = arguments[0]
        for part in parts:
            value = _apply(part, [value])
        return value
    if name == "torch.nn.Identity" and arguments:
        return arguments[0]
    twin = STATELESS.get(name.removeprefix("torch.nn."))
    if twin is None:
        return f"(apply {module} {' '.join(arguments)})"
    return _numbers_last(twin, [*arguments, *parts])


def _split(text: str) -> tuple[str, list[str]]:
    """A bracketed text's head and parts: `(f a (g b))` gives f, [a, (g b)]."""
    parts, depth, start = [], 0, 1
    for position, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if (letter == " " and depth == 1) or depth == 0:
            parts.append(text[start:position])
            start = position + 1
    return parts[0], [part for part in parts[1:] if part]


def _numbers_last(name: str, arguments: list[str]) -> str:
    kept = [text for text in arguments if text != N]
    if arguments and not kept and name in _ARITHMETIC:
        return N
    if len(kept) < len(arguments):
        # `2 - x` is not `x - 2`; but 2 + x is x + 2.
        first = arguments[0] == N and name in ("sub", "div", "pow")
        kept = [N, *kept] if first else [*kept, N]
    return f"({' '.join([name, *kept])})"


def _einsum_letters(equation: str) -> str:
    names: dict[str, str] = {}
    return "".join(
        names.setdefault(letter, chr(97 + len(names))) if letter.isalpha() else letter
        for letter in equation
    ).replace(" ", "")


def _imports(nodes: Iterable[ast.AST]) -> dict[str, str]:
    """Local name → full dotted name, so that `nn`, `torch.nn` and `from torch import nn` agree."""
    names = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                names[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def _plain_names(targets: list[ast.expr]) -> list[str]:
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _leaves(target: ast.expr) -> list[ast.expr]:
    if isinstance(target, ast.Tuple | ast.List):
        return [leaf for part in target.elts for leaf in _leaves(part)]
    return [target]


def _loaded(target: ast.expr) -> ast.expr:
    match target:
        case ast.Name(id=name):
            return ast.Name(name, ast.Load())
        case ast.Attribute(value=value, attr=attr):
            return ast.Attribute(value, attr, ast.Load())
        case ast.Subscript(value=value, slice=index):
            return ast.Subscript(value, index, ast.Load())
    return target


def _is_number(node: ast.Constant) -> bool:
    return isinstance(node.value, int | float | complex) and not isinstance(node.value, bool)


_ARITHMETIC = frozenset(OPERATORS.values())
_NUMBER_FUNCTIONS = frozenset(
    ("int", "float", "len", "max", "min", "round", "abs", "sum", "sqrt", "log", "exp", "torch.Size")
)
