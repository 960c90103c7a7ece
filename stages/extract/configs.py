"""Values of config objects from the config class's own defaults."""

import ast

from pipeline.source.trees import walk
from stages.extract.modules import locate
from stages.extract.resolve import Local, Module, Resolver

SMALLER = {
    # A base shape must be cheap on a CPU; later stages scale sizes up.
    "hidden_size": 512, "d_model": 512, "intermediate_size": 1376, "vocab_size": 1000, "num_hidden_layers": 2, "n_embd": 512,
    "encoder_layers": 2, "decoder_layers": 2, "num_layers": 2, "num_decoder_layers": 2, "encoder_ffn_dim": 1024, "decoder_ffn_dim": 1024,
    "ffn_dim": 1024, "d_ff": 1024, "num_experts": 8, "num_local_experts": 8, "n_routed_experts": 8, "max_position_embeddings": 512,
    "moe_intermediate_size": 256, "n_layer": 2, "n_layers": 2, "image_size": 64,
}  # fmt: skip


def config_defaults(
    resolver: Resolver, module: Module, annotation: ast.expr | None
) -> dict[str, str]:
    """Attribute → source text, for a parameter annotated with a config class."""
    if annotation is None:
        return {}
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            annotation = ast.parse(annotation.value, mode="eval").body
        except SyntaxError:
            return {}
    for node in walk(annotation):
        if isinstance(node, ast.Name | ast.Attribute):
            origin, _ = locate(resolver, module, node)
            if isinstance(origin, Local) and isinstance(origin.statement, ast.ClassDef):
                return fields_of(resolver, origin.module, origin.statement)
    return {}


def imported_config(resolver: Resolver, module: Module) -> dict[str, str]:
    """The defaults of the file's own config class, for parameters without annotation."""
    for name in sorted(module.bindings):
        if name.endswith("Config") and name not in ("PretrainedConfig", "PreTrainedConfig"):
            origin = resolver.find(module, name)
            if isinstance(origin, Local) and isinstance(origin.statement, ast.ClassDef):
                return fields_of(resolver, origin.module, origin.statement)
    return {}


def fields_of(
    resolver: Resolver, module: Module, node: ast.ClassDef, depth: int = 0
) -> dict[str, str]:
    """Literal defaults of a class: annotated fields, attributes, parameters of `__init__`."""
    found: dict[str, str] = {}
    for base in node.bases:
        origin, _ = locate(resolver, module, base)
        if isinstance(origin, Local) and isinstance(origin.statement, ast.ClassDef) and depth < 6:
            found |= fields_of(resolver, origin.module, origin.statement, depth + 1)
    for statement in node.body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is not None:
                _literal(found, name, value)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                _literal(found, name, value)
            case ast.FunctionDef(name="__init__", args=arguments):
                every = [*arguments.posonlyargs, *arguments.args]
                paired = list(
                    zip(
                        every[len(every) - len(arguments.defaults) :],
                        arguments.defaults,
                        strict=True,
                    )
                )
                paired += [
                    (one, default)
                    for one, default in zip(
                        arguments.kwonlyargs, arguments.kw_defaults, strict=True
                    )
                    if default
                ]
                for one, default in paired:
                    _literal(found, one.arg, default)
            case ast.FunctionDef(name="__post_init__"):
                _derived(found, statement)
            case _:
                pass
    return found


def _derived(found: dict[str, str], function: ast.FunctionDef) -> None:
    """`self.a = self.b` where a has no value of its own."""
    for node in walk(function):
        match node:
            case ast.Assign(
                targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=value
            ) if found.get(name) == "None":
                known = _computed(value, found)
                if known is not None:
                    found[name] = known
            case _:
                pass


def _computed(value: ast.expr, found: dict[str, str]) -> str | None:
    """`self.b`, also as a default of `or` and `if`, and `self.a // self.b`, of known numbers."""
    match value:
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            known = found.get(name)
            return None if known == "None" else known
        case ast.BoolOp() | ast.IfExp():
            parts = value.values if isinstance(value, ast.BoolOp) else [value.body, value.orelse]
            known_parts = (_computed(one, found) for one in parts)
            return next((one for one in known_parts if one is not None), None)
        case ast.BinOp(left=left, op=ast.FloorDiv() | ast.Mult() as sign, right=right):
            one, other = _computed(left, found) or "", _computed(right, found) or ""
            if one.isdigit() and other.isdigit() and int(other):
                times = isinstance(sign, ast.Mult)
                return str(int(one) * int(other) if times else int(one) // int(other))
        case ast.Constant(value=int() as number) if not isinstance(number, bool):
            return str(number)
    return None


def _literal(found: dict[str, str], name: str, value: ast.expr) -> None:
    if (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Name)
        and value.func.id in ("field", "Field")
    ):
        for one in value.keywords:
            if one.arg == "default":
                _literal(found, name, one.value)
        return
    try:
        plain = ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        plain = _number(value)
    if plain is ... or (isinstance(plain, dict) and len(plain) > 6):
        return
    found[name] = repr(plain)


def _number(value: ast.expr) -> object:
    """A product or sum of literals such as `4096 * 32`."""
    match value:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            one, other = _number(left), _number(right)
            return one * other if isinstance(one, int) and isinstance(other, int) else ...
    return ...


HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads")


def with_aliases(values: dict[str, str]) -> dict[str, str]:
    """The values, those too that transformers' `attribute_map` finds under another name."""
    try:
        aliases = ast.literal_eval(values.get("attribute_map", "{}"))
    except (ValueError, SyntaxError):
        return values
    return values | {
        alias: values[name]
        for alias, name in (aliases.items() if isinstance(aliases, dict) else ())
        if isinstance(alias, str) and name in values
    }


def _fits_heads(size: int, values: dict[str, str]) -> int:
    """The size, rounded to what the heads divide."""
    counts = [int(values[name]) for name in HEADS if values.get(name, "").isdigit()]
    heads = next((one for one in counts if one), 1)
    return size if size % heads == 0 else max(1, size // heads // 8 * 8) * heads


def smaller(values: dict[str, str]) -> dict[str, str]:
    """The same config at sizes that a CPU runs in milliseconds, ratios kept."""
    result = dict(values)
    for name in ("use_cache", "output_attentions", "output_hidden_states"):
        if name in result:
            result[name] = "False"
    for name, value in values.items():
        if "dropout" in name or "drop" in name or name.endswith("_pdrop"):
            if value.replace(".", "").isdigit():
                result[name] = "0.0"
        elif name in ("mask_time_prob", "mask_feature_prob"):
            result[name] = "0.0"  # masks drawn anew: the output would not repeat
        elif name.endswith("_token_id") and value.isdigit():
            result[name] = value if int(value) < SMALLER["vocab_size"] else "0"
        elif name == "layer_types" and value == "None":
            result[name] = "['full_attention'] * 4"
        elif value.isdigit() and name in SMALLER and int(value) > SMALLER[name]:
            size = SMALLER[name]
            wide = name in ("d_model", "n_embd", "hidden_size")
            result[name] = str(_fits_heads(size, values) if wide else size)
    if result.get("rope_parameters") == "None":
        result["rope_parameters"] = "{'rope_type': 'default', 'rope_theta': 10000.0}"
    hidden, heads = values.get("hidden_size", ""), values.get("num_attention_heads", "")
    if hidden.isdigit() and heads.isdigit() and int(hidden) > 512 and 0 < int(heads) <= int(hidden):
        head = (
            int(values["head_dim"])
            if values.get("head_dim", "").isdigit()
            else int(hidden) // int(heads)
        )
        count = max(1, 512 // max(head, 1))
        groups = (
            int(heads) // int(values["num_key_value_heads"])
            if values.get("num_key_value_heads", "0").isdigit()
            and int(values.get("num_key_value_heads", "0"))
            else 1
        )
        count = max(groups, count - count % groups) if groups else count
        result["num_attention_heads"] = str(count)
        if "num_key_value_heads" in values and values["num_key_value_heads"] != "None":
            result["num_key_value_heads"] = str(max(1, count // groups))
        result["hidden_size"] = str(count * head)
        for name in ("intermediate_size",):
            if values.get(name, "").isdigit():
                result[name] = str(
                    max(64, int(values[name]) * count * head // int(hidden) // 32 * 32)
                )
    return result
