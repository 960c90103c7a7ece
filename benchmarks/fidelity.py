"""Does an extracted program compute what the class it was cut from computes?

    python -m benchmarks.fidelity [--classes 200] [--packages torch transformers]

For classes of installed packages, chosen by digest: the program that `extract` makes and the class
itself get the same arguments, seed, state dict and inputs; their outputs must be equal bit for bit.
A class that can't be built from what its program holds (a config that asks for more) is counted
apart, with the reason. Runs installed packages, and programs cut from them, in this process.
"""

import argparse
import hashlib
import importlib
import inspect
import sys
import tempfile
import types
import typing
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import torch

from pipeline.files import write_table
from pipeline.source.package import PACKAGE, package_path
from pipeline.stage import Kept, Workplace
from stages import STAGES

STAGE = next(stage for stage in STAGES if stage.name == "extract")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--classes", type=int, default=200)
    parser.add_argument("--packages", nargs="+", default=["torch", "transformers"])
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="kernelset-bench-"))
    verdicts: list[tuple[str, str]] = []
    for path, columns in programs(arguments.packages, folder):
        verdicts.append((f"{path}:{columns['class_name']}", compared(path, columns)))
        compared_so_far = sum(not verdict.startswith("not") for _, verdict in verdicts)
        if compared_so_far == arguments.classes:
            break
    _report(verdicts)


def programs(packages: list[str], folder: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Files of the packages in turn, by digest of their path, and the programs of each."""
    rows = [row for package in packages for row in package_rows(package, folder)]
    rows.sort(key=lambda row: hashlib.sha256(row["path"].encode()).hexdigest())
    for row in rows:
        for columns in programs_of(row, folder):
            yield row["path"], columns


def programs_of(row: Mapping[str, str], folder: Path) -> list[Mapping[str, Any]]:
    """The columns of the programs that one file gives."""
    place = Workplace(cache=folder / "cache", shared=folder, data=folder)
    (outcomes,) = STAGE.work([row], STAGE.settings(tries=18, cpu_s=6), place)
    return [one.columns for one in outcomes if isinstance(one, Kept)]


def package_rows(package: str, folder: Path) -> list[dict[str, str]]:
    """The files of an installed package that define models, as the stage takes them."""
    (root,) = importlib.import_module(package).__path__
    files = {
        str(path.relative_to(Path(root).parent)): path.read_text(errors="replace")
        for path in sorted(Path(root).rglob("*.py"))
    }
    table = [{"path": name, "text": text} for name, text in files.items()]
    sha256 = hashlib.sha256(package.encode()).hexdigest()
    write_table(pa.Table.from_pylist(table, schema=PACKAGE), package_path(sha256, folder))
    wanted = ("torch/nn/modules/", "/modeling_")
    empty = dict.fromkeys(STAGE.reads, "")
    return [
        empty | {"path": name, "text": text, "package_sha256": sha256}
        for name, text in files.items()
        if any(part in name for part in wanted)
    ]


def compared(path: str, columns: Mapping[str, Any]) -> str:
    """`equal`, `differs`, or `not comparable: …`."""
    program = types.ModuleType("program")
    sys.modules["program"] = program
    exec(columns["code"], program.__dict__)
    dotted = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    try:
        original = getattr(importlib.import_module(dotted), columns["class_name"])
        original = _adapted(program, original, columns["class_name"])
        given = program.get_init_inputs()
        torch.manual_seed(0)
        model = program.Model(*given).eval()
        twin = _built(original, given).eval()
        model.load_state_dict(twin.state_dict())  # in this order: the class may tie its weights
    except Exception as error:  # noqa: BLE001  whatever the package raises is the reason
        return f"not comparable: {type(error).__name__}: {error}"[:160]
    outputs = []
    for one in (model, twin):
        torch.manual_seed(1)
        inputs = program.get_inputs()
        try:
            with torch.no_grad():
                outputs.append(_tensors(one(*inputs)))
        except Exception as error:  # noqa: BLE001  whatever the package raises is the reason
            return f"not comparable: {type(error).__name__}: {error}"[:160]
    ours, theirs = outputs
    same = len(ours) == len(theirs) and all(map(_same_bits, ours, theirs))
    return "equal" if same else "differs"


def _built(original: type, given: list[Any]) -> torch.nn.Module:
    """The original from the program's own arguments, its short configs among them where they do."""
    for value in given:
        if type(value).__module__ == "program":
            type(value)._attn_implementation = "eager"  # the program takes the eager attention
    try:
        twin = original(*given)
    except Exception:  # noqa: BLE001  a class of transformers may ask for a config of its own
        twin = original(*_for_original(original, given))
    assert isinstance(twin, torch.nn.Module)
    return twin


def _same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.dtype == other.dtype and torch.equal(one, other)


def _adapted(program: types.ModuleType, original: type, name: str) -> type:
    """The original with the program's own plain forward around it, where the program has one."""
    forward = program.Model.__dict__.get("forward")
    if program.Model.__bases__[0].__name__ != name or forward is None or not forward.__closure__:
        return original
    adapted = type("Adapted", (original,), {})
    cell = types.CellType(adapted)
    adapted.forward = types.FunctionType(
        forward.__code__, program.__dict__, "forward", forward.__defaults__, (cell,)
    )
    return adapted


def _for_original(original: type, given: list[Any]) -> list[Any]:
    """Arguments with real configs in the place of the program's short ones."""
    parameters = list(inspect.signature(original).parameters.values())
    hints = typing.get_type_hints(original.__init__)
    result = []
    for parameter, value in zip(parameters, given, strict=False):
        if type(value).__module__ == "program" or type(value).__name__.endswith("Config"):
            real = hints.get(parameter.name)
            real = next((one for one in typing.get_args(real) if isinstance(one, type)), real)
            if isinstance(real, type):
                fields = {k: v for k, v in vars(type(value)).items() if not k.startswith("__")}
                config = real()
                for key, field in fields.items():
                    setattr(config, key, field)
                config._attn_implementation = "eager"
                config.use_cache = False  # a cache copies keys: another layout, other rounding
                value = config
        result.append(value)
    return result


def _tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [one for item in value for one in _tensors(item)]
    return []


def _report(verdicts: list[tuple[str, str]]) -> None:
    counts = Counter(verdict.split(":")[0] for _, verdict in verdicts)
    lines = [f"{count:5d}  {verdict}" for verdict, count in counts.most_common()]
    lines += [f"differs: {name}" for name, verdict in verdicts if verdict == "differs"]
    reasons = Counter(verdict for _, verdict in verdicts if verdict.startswith("not"))
    lines += [f"{count:5d}  {reason}" for reason, count in reasons.most_common(15)]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
