"""dedupe: one representative of every group of copies inside the set.

Three rules, each with its reason code and the kept problem's id as evidence:

    exact_copy         same canonical form (same problem_id)
    shape_blind_copy   same shape-blind form: only names, sizes or style differ
    near_copy          token-set Jaccard above `jaccard`; MinHash proposes, exact Jaccard decides

Rows are visited from the most to the least wanted (pipeline/source/ranking.py), and a row goes only if it
matches a row that was kept: there are no chains, so that A~B and B~C never removes C for A's sake.
"""

import schemas.problem
from pipeline.stage import TableStage
from stages.dedupe.settings import DedupeSettings
from stages.dedupe.work import dedupe

STAGE = TableStage(
    name="dedupe",
    doing="finding copies inside the set",
    version=1,
    settings=DedupeSettings,
    gives=schemas.problem.DEDUPED,
    reads=("problem_id", "code", "licence", "source_name", "path", "line_start"),
    work=dedupe,
)
