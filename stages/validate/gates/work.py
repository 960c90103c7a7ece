"""There is something to compute, and all of it counts."""

from collections.abc import Iterator

from stages.validate.gates.verdict import Flag, Gate, Reject, Seen, Verdict, listed


def deserves_a_kernel(seen: Seen) -> Iterator[Verdict]:
    """At least one operation that isn't a view, a copy or a factory."""
    if seen["working_ops"] == 0:
        yield Reject("no_work", listed([name for name, _ in seen["ops"]]), "ops", 0, 1)


def no_dead_op(seen: Seen) -> Iterator[Verdict]:
    """Each operation's result, changed, moves the output. Lost in rounding is a flag."""
    if seen["dead_ops"]:
        yield Reject("dead_op", listed(seen["dead_ops"]), "ops", len(seen["dead_ops"]), 0)
    if seen["dead_ops_of_torch"]:
        yield Flag("dead_op_of_torch")
    for name in sorted(set(seen["absorbed_ops"])):
        yield Flag(f"absorbed_op:{name}")


def no_redundant_op(seen: Seen) -> Iterator[Verdict]:
    """An operation that could be left out: real code has them, so it is a flag."""
    for name in sorted(set(seen["redundant_ops"])):
        yield Flag(f"redundant_op:{name}")


def modes(seen: Seen) -> Iterator[Verdict]:
    """What a trainer may want to know before using the row."""
    if seen.get("training_differs"):
        yield Flag("training_differs")
    if seen.get("training_fails"):
        yield Flag("training_fails")
    for name in seen["depends_on_data"]:
        yield Flag(f"depends_on_data:{name}")
    if seen["no_float64"]:
        yield Flag("no_float64")
    if seen["no_bfloat16"]:
        yield Flag("no_bfloat16")
    if len(seen["outputs"]) > 1:
        yield Flag("many_outputs")
    if seen["warnings"]:
        yield Flag("warns")
    if seen["printed"]:
        yield Flag("prints")


WORTH = (Gate("deserves_a_kernel", 1, deserves_a_kernel),)
PARTS = (
    Gate("no_dead_op", 1, no_dead_op),
    Gate("no_redundant_op", 1, no_redundant_op),
    Gate("modes", 1, modes),
)
