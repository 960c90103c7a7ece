"""Everything that goes in matters, and the result is more than a constant."""

from collections.abc import Iterator

from stages.validate.gates.verdict import Flag, Gate, Reject, Seen, Verdict, listed

LEAST_EFFECT = 1e-6  # ten times the rounding of float32: below that an input is not seen
LEAST_VARYING = 1e-4  # share of outputs; the public census rejects below the same


def inputs_vary(seen: Seen) -> Iterator[Verdict]:
    """get_inputs draws anew. One fixed input (positions, a mask) is a flag, all of them are not."""
    tensors = [position for position, _ in seen["input_effects"]]
    if seen["fixed_inputs"] and len(seen["fixed_inputs"]) == len(tensors):
        yield Reject("fixed_inputs", "get_inputs gives the same values each time")
    elif seen["fixed_inputs"]:
        yield Flag("fixed_input")


def inputs_matter(seen: Seen) -> Iterator[Verdict]:
    """Each tensor, drawn again alone, moves the result."""
    for position, effect in seen["input_effects"]:
        if effect <= LEAST_EFFECT:
            yield Reject(
                "input_ignored", f"input {position}", "relative_change", effect, LEAST_EFFECT
            )


def output_varies(seen: Seen) -> Iterator[Verdict]:
    """Over other inputs, relative to its own scale."""
    if seen["varying"] < LEAST_VARYING:
        yield Reject("constant_output", "", "share_of_elements", seen["varying"], LEAST_VARYING)


def no_uniform_axis(seen: Seen) -> Iterator[Verdict]:
    """No axis along which all slices are equal: it would be computed once and repeated."""
    for output, axis in seen["uniform_axes"]:
        yield Reject("uniform_axis", f"output {output}, axis {axis}")


def parameters_matter(seen: Seen) -> Iterator[Verdict]:
    """Each parameter is read and, changed, moves the result. Lost in rounding is a flag."""
    if seen["parameters_unread"]:
        yield Reject("unused_parameter", listed(seen["parameters_unread"]))
    elif seen["parameters_still"]:
        yield Reject("parameter_without_effect", listed(seen["parameters_still"]))
    if seen["parameters_absorbed"]:
        yield Flag("absorbed_parameter")
    if seen["identity_parameters"]:
        yield Flag("identity_parameter")


def modules_used(seen: Seen) -> Iterator[Verdict]:
    """No submodule is constructed in vain; dropout, which does nothing in evaluation, may be."""
    if seen["unused_modules"]:
        yield Reject("unused_module", listed(seen["unused_modules"]))


OUTPUT = (
    Gate("inputs_vary", 1, inputs_vary),
    Gate("output_varies", 1, output_varies),
    Gate("inputs_matter", 1, inputs_matter),
    Gate("no_uniform_axis", 1, no_uniform_axis),
)
PARTS = (
    Gate("modules_used", 2, modules_used),
    Gate("parameters_matter", 1, parameters_matter),
)
