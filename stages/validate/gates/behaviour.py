"""A function of its inputs and nothing else: no hidden state, no chance, no side effects."""

from collections.abc import Iterator

from stages.validate.gates.verdict import Flag, Gate, Reject, Seen, Verdict, listed


def finite(seen: Seen) -> Iterator[Verdict]:
    """NaN and infinity can't be compared, and pass for equal in careless checkers."""
    if seen["not_finite"]:
        yield Reject("not_finite", "", "elements", seen["not_finite"], 0)
    for name in seen["not_finite_for"]:
        yield Flag(f"not_finite_for:{name}")


def no_chance(seen: Seen) -> Iterator[Verdict]:
    """Random numbers drawn in forward in eval mode; in training mode (dropout) it is a flag."""
    if seen["draws_random"] or seen["random_ops"]:
        yield Reject("random_forward", listed(seen["random_ops"]))
    elif seen.get("training_draws_random"):
        yield Flag("random_in_training")


def repeatable(seen: Seen) -> Iterator[Verdict]:
    """The same call again gives the same bits: here, and in a process that differs in all it may.

    Where it doesn't, one more witness tells what decides: the hash seed (the order of a set of
    strings, `hash("x")`), memory that was never written (both witnesses have the same content in
    it), or the process (an address, the time).
    """
    if seen["second_call_differs"]:
        yield Reject("second_call_differs", listed(seen["changed_attributes"]))
    elif seen["witness"] == seen["digest"]:
        return
    elif seen["witness_of_same_seed"] == seen["digest"]:
        yield Reject("hash_seed_differs", f"other PYTHONHASHSEED: {seen['witness'][:200]}")
    elif seen["witness_of_same_seed"] == seen["witness"]:
        yield Reject("uninitialised_memory", f"memory soiled: {seen['witness'][:200]}")
    else:
        yield Reject("other_process_differs", seen["witness"][:200])


def no_state(seen: Seen) -> Iterator[Verdict]:
    """Parameters and buffers are the same after a call. Other attributes are a flag."""
    if seen["changed_state"]:
        yield Reject("changes_state", listed(seen["changed_state"]))
    if seen["changed_attributes"]:
        yield Flag("keeps_attributes")


def leaves_inputs(seen: Seen) -> Iterator[Verdict]:
    """Inputs are not written to, and the result is memory of its own."""
    if seen["changed_inputs"]:
        yield Reject("mutates_input", f"input {listed(seen['changed_inputs'])}")
    elif seen["equals_input"]:
        yield Reject("returns_input", f"input {listed(seen['equals_input'])}")
    elif seen["shares_memory"]:
        yield Reject("output_aliases", listed(seen["shares_memory"]))


def honest_torch(seen: Seen) -> Iterator[Verdict]:
    """torch, as the program leaves it, is torch."""
    if seen["replaced"]:
        yield Reject("replaces_torch", listed(seen["replaced"]))


FUNCTION = (
    Gate("honest_torch", 1, honest_torch),
    Gate("finite", 1, finite),
    Gate("no_chance", 1, no_chance),
    Gate("no_state", 1, no_state),
    Gate("repeatable", 2, repeatable),
)
SIDE_EFFECTS = (Gate("leaves_inputs", 1, leaves_inputs),)
