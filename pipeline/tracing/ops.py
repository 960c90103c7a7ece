"""What kind of thing each ATen operation is, by its base name (`add` for `aten.add_.Tensor`)."""

from typing import Any

VIEWS = frozenset((
    "alias", "as_strided", "detach", "diagonal", "expand", "lift_fresh", "narrow", "permute",
    "reshape", "select", "slice", "split", "split_with_sizes", "squeeze", "t", "transpose",
    "unbind", "unfold", "unsqueeze", "view", "_reshape_alias", "_unsafe_view", "view_as_real",
    "movedim", "chunk", "adjoint", "numpy_T", "swapaxes", "unsafe_split", "unsafe_chunk",
))  # fmt: skip
"""They move no data: the result aliases the argument."""

COPIES = frozenset(
    ["clone", "contiguous", "_to_copy", "copy", "lift_fresh_copy", "lift_fresh", "alias", "detach"]
)
"""They compute nothing: the result equals the argument, perhaps in another type or layout."""

CREATIONS = frozenset((
    "zeros", "ones", "full", "empty", "empty_strided", "arange", "linspace", "logspace", "eye",
    "scalar_tensor", "tril_indices", "triu_indices", "zeros_like", "ones_like", "full_like",
    "empty_like", "new_zeros", "new_ones", "new_full", "new_empty", "new_empty_strided",
    "hann_window", "zero", "fill", "_efficientzerotensor",
))  # fmt: skip
"""Their result depends on no tensor's content."""

RANDOM = frozenset((
    "rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like",
    "bernoulli", "normal", "uniform", "multinomial", "dropout", "native_dropout", "exponential",
    "geometric", "log_normal", "cauchy", "random", "poisson", "rrelu_with_noise",
    "_fused_dropout", "alpha_dropout", "feature_dropout",
))  # fmt: skip

READS_TO_PYTHON = frozenset(["_local_scalar_dense", "item", "is_nonzero", "equal"])
"""They hand a tensor's content to Python: from here on control flow may depend on data."""

DATA_SHAPED = frozenset((
    "nonzero", "unique", "unique2", "_unique2", "unique_consecutive", "masked_select",
    "unique_dim", "bincount", "nonzero_static", "repeat_interleave",
))  # fmt: skip
"""Their result's shape depends on a tensor's content."""

REDUCTIONS = frozenset((
    "sum", "mean", "amax", "amin", "max", "min", "prod", "var", "std", "var_mean", "std_mean",
    "norm", "linalg_vector_norm", "logsumexp", "argmax", "argmin", "all", "any", "cumsum",
    "cumprod", "logcumsumexp", "softmax", "_softmax", "_log_softmax", "log_softmax",
    "_safe_softmax", "native_layer_norm", "native_group_norm", "native_batch_norm",
    "_fused_rms_norm", "median", "nansum", "aminmax", "cummax", "cummin",
))  # fmt: skip

TRANSCENDENTAL = frozenset((
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh",
    "cosh", "tanh", "asin", "acos", "atan", "atan2", "erf", "erfc", "erfinv", "sigmoid", "silu",
    "gelu", "mish", "softplus", "elu", "celu", "selu", "pow", "log_sigmoid_forward", "logit",
    "lgamma", "digamma", "hardswish", "rsqrt", "sqrt",
))  # fmt: skip


def base_name(func: Any) -> str:
    """`aten.add_.Tensor` → `add`; other libraries keep their namespace: `mylib::op`."""
    namespace, name = func._schema.name.split("::")
    if name.endswith("_") and not name.endswith("__"):
        name = name[:-1]
    return name if namespace == "aten" else f"{namespace}::{name}"


def is_view(func: Any) -> bool:
    """Whether the result may alias an argument without writing to it."""
    return base_name(func) in VIEWS


def mutated(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The argument tensors that this call writes to."""
    written: list[Any] = []
    for position, argument in enumerate(func._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            value = args[position] if position < len(args) else kwargs.get(argument.name)
            written.extend(value if isinstance(value, list | tuple) else [value])
    return [value for value in written if value is not None]


def works(func: Any) -> bool:
    """Whether a kernel could be written for this call: not a view, a copy or a factory."""
    name = base_name(func)
    return not (name in VIEWS or name in COPIES or name in CREATIONS or name in READS_TO_PYTHON)
