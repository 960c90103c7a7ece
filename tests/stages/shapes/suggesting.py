"""A scripted model that proposes sizes, and rows for it."""

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pipeline.paths import DATA
from pipeline.source.program import sizes_of
from pipeline.stage import Workplace
from pipeline.tracing.ask import trace
from stages.shapes.settings import ShapesSettings
from tests.pipeline.llm.scripted import Asked, Said, completion
from tests.stages.validate.programs import program

CODE = program("return torch.softmax(x, -1) * x")

GOOD: Mapping[str, Mapping[str, int]] = {
    "train": {"B": 1024, "D": 512},
    "infer": {"B": 512, "D": 1536},
    "large": {"B": 1536, "D": 1024},
    "odd": {"B": 1023, "D": 513},
    "held_out": {"B": 768, "D": 768},
}
"""For a CPU: a working set beyond its cache, and within its time window."""


def row(code: str = CODE, number: int = 0) -> dict[str, Any]:
    """A row as the shapes stage reads it; `number` makes it another problem with the same facts."""
    facts = _facts(code)
    return {
        "problem_id": f"{number:032d}",
        "code": f"{code}\nversion = {number}\n",
        "sizes": [{"name": n, "value": v} for n, v in sizes_of(code).items()],
        "ops": [{"op": op, "count": count} for op, count in facts["ops"]],
        "atol": 1e-4,
        "rtol": 1e-4,
    } | {name: facts[name] for name in ("flops", "flops_matrix", "bytes_unfused", "working_set")}


@cache
def _facts(code: str) -> dict[str, Any]:
    facts = trace(code)
    assert isinstance(facts, dict) and "flops" in facts, facts
    return facts


def settings_for(url: str, **fields: Any) -> ShapesSettings:
    return ShapesSettings(
        **({"suggester": "llm", "model": "m", "base_url": url, "max_wait_s": 5} | fields)
    )


def place_in(folder: Path) -> Workplace:
    return Workplace(cache=folder / "cache", shared=folder, data=DATA)


def proposing(settings: Mapping[str, Mapping[str, int]], **how: Any) -> Said:
    """A well-formed answer."""
    told = [
        {
            "name": name,
            "reason": f"{name} of a real model",
            "sizes": [{"name": n, "value": v} for n, v in sizes.items()],
        }
        for name, sizes in settings.items()
    ]
    return completion(json.dumps({"settings": told}), **how)


def amending(
    first: Mapping[str, Mapping[str, int]], later: Mapping[str, Mapping[str, int]] = GOOD
) -> Callable[[Asked], Said]:
    """Proposes `first`; asked again, of `later` what was rejected."""

    def script(asked: Asked) -> Said:
        again = rejected(asked)
        return proposing({name: later[name] for name in again} if again else first)

    return script


def rejected(asked: Asked) -> list[str]:
    """The settings that a question asks to amend."""
    _, _, told = asked.user.partition("Rejected; amend these")
    return re.findall(r"^- (\w+)[ :]", told, re.MULTILINE)
