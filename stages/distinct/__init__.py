"""distinct: no computation twice in the set, whatever its text.

`dedupe` compares texts, before anything has run. Here every program has been traced, so that two
classes of different packages which do the same can be told (seven of transformers' and timm's
two-layer perceptrons are one). One reason code, with the kept problem's id as evidence:

    same_computation   same traced graph, and the same operations equally often

The graph alone leans to equality, because it guards a benchmark: a bias more or less is no
difference to it. A training set should lose only what is really there twice, so the operations must
agree too (a product with a bias is `addmm`, without one `mm`). As in `dedupe`, sizes and numeric
arguments are no difference: shapes are chosen later, for every problem.

After `decontaminate`: otherwise a program that goes for its nearness to the benchmark could take an
innocent twin with it. Rows are visited from the most to the least wanted, by the same rule as in
`dedupe` (pipeline/source/ranking.py).
"""

import schemas.problem
from pipeline.stage import TableStage
from stages.distinct.settings import DistinctSettings
from stages.distinct.work import distinct

STAGE = TableStage(
    name="distinct",
    doing="finding one computation in several texts",
    version=1,
    settings=DistinctSettings,
    gives=schemas.problem.DECONTAMINATED,
    reads=(
        "problem_id", "code", "licence", "source_name", "path", "line_start", "copies",
        "graph_sha256", "ops",
    ),
    work=distinct,
)  # fmt: skip
