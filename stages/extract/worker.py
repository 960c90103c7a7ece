"""The sandbox's entry: finds arguments and inputs for a class, and the finished program."""

import sys
import warnings
from typing import Any

from stages.extract.prober.search import search


def handle(request: dict[str, Any]) -> dict[str, Any]:
    """Gives a finished program with its verdict, or the farthest error."""
    warnings.simplefilter("ignore")
    return search(request)


_REHEARSAL = {
    "class_name": "Rehearsal",
    "imports": ["import torch", "import torch.nn as nn", "import torch.nn.functional as F"],
    "body": """
class Model(nn.Module):
    def __init__(self, dim, heads, stride=2):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(dim)
        self.mix = nn.Linear(dim, dim)
        self.conv = nn.Conv1d(dim, dim, 3, stride, padding=1)

    def forward(self, x, context, mask):
        assert x.shape[1] % self.heads == 0
        b, n, d = x.shape
        x = self.mix(self.norm(x)) + context
        scores = torch.einsum("bnd,bmd->bnm", x, x).masked_fill(mask == 0, -1.0)
        x = torch.matmul(F.softmax(scores, -1), x).view(b, n, self.heads, d // self.heads)
        return self.conv(F.gelu(x).reshape(b, n, d).transpose(1, 2))
""",
    "names": ["Model"],
    "defaults": {"stride": "2"},
    "arguments": {},
    "hints": {},
    "config_defaults": {},
    "soft": [],
    "tries": 24,
}
# What Python and torch do once (late imports, patterns, first calls) is done here, before the forks.
handle(_REHEARSAL)
sys.modules.pop("program", None)
