"""Classes whose parts lie in several files."""

from pathlib import Path

from stages.extract.resolve import Package
from tests.stages.extract.helpers import extract, one_kept, reasons

HEAD = "import torch\nfrom torch import nn\n"
PACKAGE = {
    "pkg/__init__.py": "from .layers import *\n",
    "pkg/layers/__init__.py": "from .norm import RMSNorm as Norm\nfrom . import acts\n__all__ = ['Norm']\n",
    "pkg/layers/norm.py": HEAD + (
        "EPS = 1e-6\n\nclass RMSNorm(nn.Module):\n    def __init__(self, dim):\n        super().__init__()\n"
        "        self.weight = nn.Parameter(torch.ones(dim))\n\n    def forward(self, x):\n"
        "        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPS) * self.weight\n"
    ),
    "pkg/layers/acts.py": "import torch\nEPS = 3\n\ndef gate(x):\n    return x.sigmoid() * x + EPS\n",
    "pkg/cycle.py": "from .model import Other\n",
    "pkg/base.py": HEAD + (
        "class Base(nn.Module):\n    def __init__(self, dim):\n        super().__init__()\n        self.dim = dim\n"
    ),
}  # fmt: skip
MODEL = (
    HEAD
    + """
from pkg import Norm
from .base import Base
from .layers import acts
import pkg.layers.acts as again
try:
    from fast_kernels import fused
except ImportError:
    fused = None


class Block(Base):
    def __init__(self, dim):
        super().__init__(dim)
        self.norm = Norm(dim)

    def forward(self, x):
        if fused is not None:
            return fused(x)
        return acts.gate(self.norm(x)) + again.gate(x)
"""
)


def test_a_class_is_followed_through_relative_absolute_and_re_exported_imports(
    tmp_path: Path,
) -> None:
    row = one_kept(extract(MODEL, tmp_path, PACKAGE, "pkg/model.py"))
    code = str(row["code"])
    assert (
        "class RMSNorm(nn.Module)" in code
        and "class Base(nn.Module)" in code
        and "def gate(x)" in code
    )
    assert "acts.gate" not in code and "pkg" not in code and "fast_kernels" not in code
    assert "fused = None" in code


def test_an_optional_dependency_is_taken_as_absent_and_that_is_listed(tmp_path: Path) -> None:
    text = HEAD + (
        "try:\n    import apex\n    from apex import fast\n    has_apex = True\n"
        "except ImportError:\n    has_apex = False\n\n\n"
        "class A(nn.Module):\n    def forward(self, x):\n        return fast(x) if has_apex else x.cos()\n"
    )
    row = one_kept(extract(text, tmp_path))
    assert "has_apex = False" in str(row["code"]) and "fast = None" in str(row["code"])
    assert any("absent" in edit for edit in row["edits"])  # type: ignore[attr-defined]


def test_two_files_with_one_name_for_two_things_keep_both(tmp_path: Path) -> None:
    row = one_kept(extract(MODEL, tmp_path, PACKAGE, "pkg/model.py"))
    code = str(row["code"])
    assert "= 3\n" in code and "= 1e-6\n" in code and "EPS_2" in code
    assert any("renamed EPS" in edit for edit in row["edits"])  # type: ignore[attr-defined]


def test_a_circular_import_is_a_reason_and_no_endless_loop(tmp_path: Path) -> None:
    text = (
        HEAD
        + "from .cycle import Other\n\n\nclass A(nn.Module):\n    def forward(self, x):\n        return Other(x)\n"
    )
    assert reasons(extract(text, tmp_path, PACKAGE, "pkg/model.py")) == {"A": "outside_dependency"}


def test_the_removed_row_names_what_is_missing_and_who_needs_it(tmp_path: Path) -> None:
    text = HEAD + (
        "import cv2\n\n\ndef mix(x):\n    return cv2.blur(x)\n\n\n"
        "class A(nn.Module):\n    def forward(self, x):\n        return mix(x)\n"
    )
    (outcome,) = extract(text, tmp_path)
    assert outcome.detail == "cv2 from cv2, needed by mix for A"  # type: ignore[union-attr]


def test_a_star_import_takes_only_what_all_names(tmp_path: Path) -> None:
    """And the files that don't offer a name are not even parsed: transformers has a thousand."""
    files = {
        "pkg/__init__.py": "from .open import *\nfrom .closed import *\n",
        "pkg/open.py": "def helper(x):\n    return x * 2\n",
        "pkg/closed.py": "__all__ = ['other']\n\ndef helper(x):\n    return x * 3\n",
    }
    model = HEAD + (
        "from pkg import helper\n\nclass Twice(nn.Module):\n    def forward(self, x):\n"
        "        return helper(x).sin()\n"
    )
    code = str(one_kept(extract(model, tmp_path, files, "pkg/model.py"))["code"])
    assert "x * 2" in code and "x * 3" not in code
    package = Package(files)
    assert package.may_bind("pkg.open", "helper") and package.may_bind("pkg.closed", "other")
    assert not package.may_bind("pkg.closed", "helper")


def test_what_a_function_imports_when_it_runs_is_part_of_the_program(tmp_path: Path) -> None:
    text = HEAD + (
        "class Late(nn.Module):\n    def __init__(self, dim):\n        super().__init__()\n"
        "        from .layers.norm import RMSNorm as Norm\n        self.norm = Norm(dim)\n\n"
        "    def forward(self, x):\n        if x.dim() > 9:\n            from .missing import gone\n"
        "            return gone(x)\n        return self.norm(x)\n"
    )
    row = one_kept(extract(text, tmp_path, PACKAGE, "pkg/late.py"))
    code = str(row["code"])
    assert "class RMSNorm" in code and ".layers" not in code
    assert "from .missing import gone" in code, "what the package lacks stays as it was"
    assert any("RMSNorm" in edit for edit in row["edits"])  # type: ignore[attr-defined]


def test_questions_about_torchs_version_are_answered_and_listed(tmp_path: Path) -> None:
    text = HEAD + (
        "from packaging import version\nfrom .compare import is_torch_version\nOLDEST = '2.5.0'\n"
        "NEW = is_torch_version('>=', OLDEST)\n\n"
        "class Versions(nn.Module):\n    def forward(self, x):\n"
        "        if version.parse(torch.__version__) < version.parse('1.9') or not NEW:\n"
        "            return x\n        return x.sigmoid() * x\n"
    )
    package = PACKAGE | {"pkg/compare.py": "from packaging.version import parse\ndef is_torch_version(a, b):\n    return parse(b) > a\n"}  # fmt: skip
    row = one_kept(extract(text, tmp_path, package, "pkg/model.py"))
    code = str(row["code"])
    assert "NEW = True" in code and "if False or not NEW" in code and "version" not in code
    edits = " ".join(row["edits"])  # type: ignore[arg-type]
    assert "is_torch_version('>=', OLDEST) is True from torch 2.11 on" in edits


def test_arguments_come_from_calls_in_other_files_too(tmp_path: Path) -> None:
    text = HEAD + (
        "class Scaled(nn.Module):\n    def __init__(self, times, act):\n        super().__init__()\n"
        "        self.times, self.act = times, act()\n\n"
        "    def forward(self, x):\n        return self.act(x) * self.times\n"
    )
    users = {
        "pkg/one.py": "from torch import nn\nfrom .scaled import Scaled\nx = [Scaled(3.5, nn.SiLU), Scaled(3.5, MINE)]\n",
        "pkg/two.py": "from torch import nn\nimport pkg.scaled as s\nfrom pkg.scaled import Scaled\nx = Scaled(2.5, nn.SiLU)\n",
        "pkg/else.py": "from torch import nn\n\nclass Scaled:\n    pass\nx = [Scaled(9.5, nn.GELU)] * 5\n",
    }  # fmt: skip
    row = one_kept(extract(text, tmp_path, PACKAGE | users, "pkg/scaled.py"))
    assert row["arguments"] == [
        {"name": "times", "value": "3.5", "evidence": "call site (2)"},
        {"name": "act", "value": "nn.SiLU", "evidence": "call site (2)"},
    ]
