"""`problem`: one self-contained PyTorch program. Each stage adds a group of columns.

A boundary's schema is the sum of the groups so far, so a column means the same thing wherever it
is read, and a stage can only ever add.
"""

from schemas.baseline import BASELINE_FIELDS
from schemas.columns import (
    column,
    flag,
    integer,
    integers,
    list_of,
    real,
    table,
    text,
    texts,
)
from schemas.source_file import ORIGIN

SIZES = list_of(name=text, value=integer)

IDENTITY = [
    column("problem_id", text, "sha256 of the canonical form of `code`, first 32 hex digits"),
    column("code", text, "the program: Model, get_inputs(), get_init_inputs(); torch alone"),
    column("class_name", text, "the author's name of the class that became Model"),
    column("family_id", text, "digest of the author's class without sizes: variants share it"),
    column("line_start", integer, "first line of the class in its file", unit="line"),
    column("line_end", integer, "last line of the class in its file", unit="line"),
    column("sizes", SIZES, "the program's named integer constants and their values"),
    column(
        "arguments",
        list_of(name=text, value=text, evidence=text),
        "constructor arguments as source text, and where each value comes from",
    ),
    column(
        "inputs",
        list_of(name=text, dtype=text, shape=texts, evidence=text),
        "forward arguments: shape in names of sizes or numbers, and where it comes from",
    ),
    column("edits", texts, "every change made to the author's code, in words"),
]

COPIES = [
    column("copies", integer, "problems of this run that this row stands for, itself included"),
]

FACTS = [
    column("sandbox_level", text, "the sandbox in which the program was executed"),
    column("ops", list_of(op=text, count=integer), "ATen operations of one forward, traced"),
    column("graph_sha256", text, "traced computation without shapes: ops and edges, ordered"),
    column("parameters", integer, "number of parameter elements", unit="elements"),
    column("flops", integer, "floating-point operations of one forward", unit="flop"),
    column("flops_matrix", integer, "of these, in matrix products and the like", unit="flop"),
    column("bytes_fused", integer, "inputs, parameters and outputs once each", unit="byte"),
    column("bytes_unfused", integer, "what all ops read and write one by one", unit="byte"),
    column("working_set", integer, "peak live tensors, estimated", unit="byte"),
    column("outputs", list_of(shape=integers, dtype=text), "output tensors in order"),
    column("dtypes", texts, "types of all tensors of one forward, sorted"),
    column("output_scale", real, "root mean square of the first floating output"),
    column("atol", real, "absolute tolerance to compare a kernel with, in units of the output"),
    column("rtol", real, "relative tolerance to compare a kernel with"),
    column("atol_bf16", real, "the same in bfloat16, if it runs in it", nullable=True),
    column("rtol_bf16", real, "the same in bfloat16, if it runs in it", nullable=True),
    column("flags", texts, "what a gate noted without rejecting"),
]

EVIDENCE = [
    column("embedder", text, "model that made the vectors, with its revision"),
    column("l2", real, "true L2 distance to the nearest benchmark problem; smaller is nearer"),
    column("cosine", real, "cosine similarity to that problem; larger is nearer"),
    column("l2_problem", text, "nearest benchmark problem by embedding: benchmark/level/id"),
    column("jaccard", real, "token-set Jaccard with the nearest benchmark problem, 0 to 1"),
    column("jaccard_problem", text, "nearest benchmark problem by tokens"),
    column(
        "same_canonical_problem",
        text,
        "a benchmark problem with the same canonical form, where the recipe keeps such rows",
        nullable=True,
    ),
    column(
        "same_shape_blind_problem",
        text,
        "one with the same shape-blind form, where the recipe keeps such rows",
        nullable=True,
    ),
    column(
        "same_graph_problem",
        text,
        "one with the same traced computation, where the recipe keeps such rows",
        nullable=True,
    ),
    column("same_ops_problem", text, "a benchmark problem with the same set of ops", nullable=True),
    column("near_miss", flag, "within 0.05 of a removal threshold"),
]

DIFFICULTY = [
    column("level", text, "difficulty L0 (trivial) to L5 (expert)"),
    column("judge", text, "who decided: rules-vN, or model and prompt version"),
    column("agreement", real, "share of votes for the level, 0 to 1"),
    column("rationale", text, "the judge's reason, short"),
]

SHAPES = [
    column(
        "shapes",
        list_of(
            shape_id=text,
            name=text,
            sizes=SIZES,
            working_set=integer,
            flops=integer,
            bytes_fused=integer,
            held_out=flag,
            reason=text,
            suggested_by=text,
        ),
        "input shapes, each executed before it was believed; working_set and bytes in bytes",
    ),
]

BASELINES = [
    column("baselines", list_of(**BASELINE_FIELDS), "measured times; see schemas/baseline.py"),
]

SPLIT = [
    column("split", text, "train or validation; near copies and one origin stay together"),
]

EXTRACTED = table(IDENTITY, ORIGIN)
DEDUPED = table(IDENTITY, ORIGIN, COPIES)
VALIDATED = table(IDENTITY, ORIGIN, COPIES, FACTS)
DECONTAMINATED = table(IDENTITY, ORIGIN, COPIES, FACTS, EVIDENCE)
LABELLED = table(IDENTITY, ORIGIN, COPIES, FACTS, EVIDENCE, DIFFICULTY)
SHAPED = table(IDENTITY, ORIGIN, COPIES, FACTS, EVIDENCE, DIFFICULTY, SHAPES)
MEASURED = table(IDENTITY, ORIGIN, COPIES, FACTS, EVIDENCE, DIFFICULTY, SHAPES, BASELINES)
RELEASED = table(IDENTITY, ORIGIN, COPIES, FACTS, EVIDENCE, DIFFICULTY, SHAPES, BASELINES, SPLIT)
