"""What is known of other people's names: which bases, decorators and helpers have no part in the
computation, and what stands in for those that have."""

import re

from stages.extract import arrays

MODULE_BASES = frozenset(
    [
        "BaseModule",
        "LightningModule",
        "GradientCheckpointingLayer",
        "ModelMixin",
        "MegatronModule",
        "FairseqEncoder",
        "FairseqDecoder",
        "FairseqIncrementalDecoder",
        "BaseFairseqModel",
        "FairseqModule",
        "BaseLoss",
        "PyroModule",
        "BaseDecodeHead",
        "BaseSegmentor",
        "BaseDetector",
        "BaseFeatureExtractor",
        "KerasModule",
        "ModuleWithMetrics",
        "PipelineModule",
        "AbsEncoder",
        "AbsDecoder",
        "ScriptModule",
    ]
)
"""Bases that are nn.Module with services around it: replaced by nn.Module."""

PLAIN_BASES = frozenset(
    [
        "ABC",
        "ABCMeta",
        "Protocol",
        "object",
        "ConfigMixin",
        "PeftAdapterMixin",
        "FromOriginalModelMixin",
        "UNet2DConditionLoadersMixin",
        "AttentionMixin",
        "CacheMixin",
        "GenerationMixin",
        "PyTorchModelHubMixin",
        "ModuleUtilsMixin",
        "EmbeddingAccessMixin",
        "Generic",
        "ModuleProxyWrapper",
        "OriginalModelMixin",
    ]
)
"""Bases without part in the computation: dropped."""

HARMLESS_DECORATORS = re.compile(
    r"auto_docstring|add_\w*docstrings?\w*|replace_return_docstrings|use_kernel\w*|can_return_tuple|deprecate\w*|"
    r"check_model_inputs|merge_with_config_defaults|capture_outputs|maybe_allow_in_graph|register\w*|force_fp32|"
    r"auto_fp16|wrap|typechecked|beartype|jaxtyped|disable|compile|script\w*|unused|ignore|export|final|override|"
    r"custom_fwd|custom_bwd|apply_forward_hook|register_to_config|autocast|deprecated|experimental|requires\w*|"
    r"use_experts_implementation|accepts|profile|record_function|once_differentiable|abstractmethod|abstractproperty|runtime_checkable|"
    r"total_ordering|lru_cache|cache|keras_export|wraps_docs|torch_compile\w*|maybe_compile|configurable|"
    r"dynamic_rope_update|force_fp32|force_bf16|amp_\w+|implements_to_docs|forbid_\w+|lazy_import|nested_compile\w*"
)
HARMLESS_OWNERS = re.compile(
    r"registry|[A-Z_]*(MODELS|LAYERS|REGISTRY|BACKBONES|HEADS|LOSSES|NECKS|MODULES|DETECTORS|ATTENTION|BLOCKS)|tables|jit|registry\w*|Registers?"
)
KEPT_DECORATORS = frozenset(
    [
        "staticmethod",
        "classmethod",
        "property",
        "dataclass",
        "setter",
        "cached_property",
        "no_grad",
        "enable_grad",
        "contextmanager",
        "inference_mode",
        "lru_cache",
        "total_ordering",
        "cache",
        "wraps",
        "singledispatch",
        "getter",
        "overload",
    ]
)

LOGGERS = re.compile(r"_?logger|logging|log|LOG|_LOGGER|LOGGER|rank_zero_\w+|warnings|rank_logger")
LOG_CALLS = re.compile(
    r"(debug|info|warn|warning|error|exception|critical|warning_once|info_once|log|warning_advice|warn_once|deprecate|simplefilter|filterwarnings|print)"
)
BARE_CALLS = frozenset(
    [
        "print",
        "deprecate",
        "deprecation_warning",
        "rank_zero_warn",
        "rank_zero_info",
        "log_api_usage_once",
        "_log_api_usage_once",
        "requires_backends",
        "maybe_install_capturing_hooks",
    ]
)

AVAILABILITY = re.compile(
    r"(is|has)_\w+_available|_?is_tracing|is_torchdynamo_compiling|is_fx_tracing|is_scripting|is_exportable|is_torch_tpu_available|is_torch_xla_available|is_flash_attn_\w+|is_flash_attention_requested|is_torchdynamo_exporting|is_deepspeed_zero3_enabled|is_fsdp_managed_module|is_tracing"
)
"""Questions about the machine or the mode: False, except for torch itself."""
ACCELERATOR = re.compile(r"npu|xpu|mlu|musa|hpu|mps|xla|tpu|neuron|tensorrt")
"""Machines that a problem is not made for, though torch knows them."""

WRITTEN = {
    **arrays.WRITTEN,
    "Apply": """class Apply(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)""",
    "pack_axes": """def pack_axes(tensors, pattern):
    axes = pattern.split()
    place = axes.index("*")
    ends = [one.dim() - (len(axes) - place - 1) for one in tensors]
    shapes = [one.shape[place:end] for one, end in zip(tensors, ends)]
    flat = [
        one.reshape(*one.shape[:place], math.prod(shape), *one.shape[end:])
        for one, shape, end in zip(tensors, shapes, ends)
    ]
    return torch.cat(flat, dim=place), shapes""",
    "unpack_axes": """def unpack_axes(packed, shapes, pattern):
    place = pattern.split().index("*")
    parts = packed.split([math.prod(shape) for shape in shapes], dim=place)
    return [
        part.reshape(*part.shape[:place], *shape, *part.shape[place + 1 :])
        for part, shape in zip(parts, shapes)
    ]""",
}
"""Definitions of ours that an edit's new text uses."""

STAND_INS = {
    "PreTrainedModel": """class PreTrainedModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config

    @property
    def dtype(self):
        return next(self.parameters()).dtype

    @property
    def device(self):
        return next(self.parameters()).device

    def post_init(self):
        pass

    def warn_if_padding_and_no_attention_mask(self, *args):
        pass""",
    "ModelOutput": """class ModelOutput(dict):
    def __post_init__(self):
        self.update((name, value) for name, value in vars(self).items() if value is not None)

    def __getitem__(self, key):
        return super().__getitem__(key) if isinstance(key, str) else tuple(self.values())[key]""",
    "create_causal_mask": """def create_causal_mask(
    config, inputs_embeds, attention_mask=None, past_key_values=None, position_ids=None,
    or_mask_function=None, and_mask_function=None, block_sequence_ids=None, **kwargs
):
    if any(one is not None for one in (or_mask_function, and_mask_function, block_sequence_ids)):
        raise NotImplementedError("a mask of other functions")
    if attention_mask is not None and attention_mask.dim() == 4:
        return attention_mask
    length, device = inputs_embeds.shape[1], inputs_embeds.device
    total = length if attention_mask is None else attention_mask.shape[-1]
    allowed = torch.ones(length, total, dtype=torch.bool, device=device).tril()
    allowed = allowed[None, None]
    if attention_mask is not None:
        allowed = allowed & attention_mask.bool()[:, None, None, :]
    elif position_ids is not None and past_key_values is None:
        steps = torch.diff(position_ids, prepend=position_ids[:, :1] - 1, dim=-1)
        packed = (steps != 1).cumsum(-1)
        allowed = allowed & (packed[:, None, :, None] == packed[:, None, None, :])
    lowest = torch.finfo(inputs_embeds.dtype).min
    return torch.zeros_like(allowed, dtype=inputs_embeds.dtype).masked_fill(~allowed, lowest)""",
    "create_sliding_window_causal_mask": """def create_sliding_window_causal_mask(
    config, inputs_embeds, attention_mask=None, past_key_values=None, position_ids=None,
    or_mask_function=None, and_mask_function=None, block_sequence_ids=None, **kwargs
):
    if any(one is not None for one in (or_mask_function, and_mask_function, block_sequence_ids)):
        raise NotImplementedError("a mask of other functions")
    if attention_mask is not None and attention_mask.dim() == 4:
        return attention_mask
    length, device = inputs_embeds.shape[1], inputs_embeds.device
    total = length if attention_mask is None else attention_mask.shape[-1]
    allowed = torch.ones(length, total, dtype=torch.bool, device=device).tril()
    allowed = allowed.triu(1 - config.sliding_window)
    allowed = allowed[None, None]
    if attention_mask is not None:
        allowed = allowed & attention_mask.bool()[:, None, None, :]
    elif position_ids is not None and past_key_values is None:
        steps = torch.diff(position_ids, prepend=position_ids[:, :1] - 1, dim=-1)
        packed = (steps != 1).cumsum(-1)
        allowed = allowed & (packed[:, None, :, None] == packed[:, None, None, :])
    lowest = torch.finfo(inputs_embeds.dtype).min
    return torch.zeros_like(allowed, dtype=inputs_embeds.dtype).masked_fill(~allowed, lowest)""",
    "create_bidirectional_mask": """def create_bidirectional_mask(
    config, inputs_embeds, attention_mask=None, encoder_hidden_states=None, past_key_values=None,
    or_mask_function=None, and_mask_function=None, **kwargs
):
    if or_mask_function is not None or and_mask_function is not None:
        raise NotImplementedError("a mask of other functions")
    if attention_mask is None or attention_mask.dim() == 4:
        return attention_mask
    if attention_mask.dim() != 2:
        raise ValueError("a mask of two axes is wanted, or one of four")
    allowed = attention_mask.bool()[:, None, None, :]
    lowest = torch.finfo(inputs_embeds.dtype).min
    return torch.zeros_like(allowed, dtype=inputs_embeds.dtype).masked_fill(~allowed, lowest)""",
    "DynamicCache": """class DynamicCache:
    def __init__(self, *args, **kwargs):
        self.is_compileable = False

    def get_seq_length(self, layer_idx=0):
        return 0

    def update(self, key_states, value_states, layer_idx, *args, **kwargs):
        return key_states, value_states""",
    "Cache": """class Cache:
    pass""",
    "EncoderDecoderCache": """class EncoderDecoderCache:
    def __init__(self, self_attention_cache=None, cross_attention_cache=None):
        self.self_attention_cache = self_attention_cache
        self.cross_attention_cache = cross_attention_cache
        self.is_updated = {}

    def get_seq_length(self, layer_idx=0):
        return 0

    def update(self, key_states, value_states, layer_idx, *args, **kwargs):
        return self.self_attention_cache.update(key_states, value_states, layer_idx)""",
    "dispatch_attention_fn": """def dispatch_attention_fn(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False, **kwargs
):
    if attn_mask is not None and attn_mask.shape == (query.shape[0], key.shape[1]):
        attn_mask = attn_mask[:, None, None]
    query, key, value = (x.permute(0, 2, 1, 3) for x in (query, key, value))
    out = nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    )
    return out.permute(0, 2, 1, 3)""",
    "USE_PEFT_BACKEND": "USE_PEFT_BACKEND = False",
    "_is_torch_available": "_is_torch_available = True",
    "same_padding": """def same_padding(kernel_size, dilation=1):
    sizes = kernel_size if isinstance(kernel_size, (list, tuple)) else [kernel_size]
    steps = dilation if isinstance(dilation, (list, tuple)) else [dilation]
    axes = max(len(sizes), len(steps))
    sizes = sizes if len(sizes) > 1 else [*sizes] * axes
    steps = steps if len(steps) > 1 else [*steps] * axes
    spans = [(size - 1) * step for size, step in zip(sizes, steps, strict=True)]
    if any(span % 2 for span in spans):
        raise NotImplementedError("an even kernel has no same padding")
    return tuple(span // 2 for span in spans) if axes > 1 else spans[0] // 2""",
    "stride_minus_kernel_padding": """def stride_minus_kernel_padding(kernel_size, stride):
    sizes = kernel_size if isinstance(kernel_size, (list, tuple)) else [kernel_size]
    steps = stride if isinstance(stride, (list, tuple)) else [stride]
    axes = max(len(sizes), len(steps))
    sizes = sizes if len(sizes) > 1 else [*sizes] * axes
    steps = steps if len(steps) > 1 else [*steps] * axes
    rest = [step - size for size, step in zip(sizes, steps, strict=True)]
    return tuple(rest) if axes > 1 else rest[0]""",
    "ACT2FN": """class TanhGELU(nn.Module):
    def forward(self, x):
        return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


class FastGELU(nn.Module):
    def forward(self, x):
        return 0.5 * x * (1.0 + torch.tanh(x * 0.7978845608 * (1.0 + 0.044715 * x * x)))


class QuickGELU(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(1.702 * x)


class SquaredReLU(nn.Module):
    def forward(self, x):
        return torch.square(nn.functional.relu(x))


ACT2FN = {
    "gelu": nn.GELU(),
    "gelu_new": TanhGELU(),
    "gelu_pytorch_tanh": nn.GELU(approximate="tanh"),
    "gelu_fast": FastGELU(),
    "relu": nn.ReLU(),
    "silu": nn.SiLU(),
    "swish": nn.SiLU(),
    "tanh": nn.Tanh(),
    "sigmoid": nn.Sigmoid(),
    "hardswish": nn.Hardswish(),
    "leaky_relu": nn.LeakyReLU(),
    "linear": nn.Identity(),
    "mish": nn.Mish(),
    "relu6": nn.ReLU6(),
    "quick_gelu": QuickGELU(),
    "relu2": SquaredReLU(),
}""",
}
"""Definitions that take the place of a package's own, where those drag in the whole package or numpy."""
ALONG = {"ACT2FN": ("TanhGELU", "FastGELU", "QuickGELU", "SquaredReLU")}
"""Other names that a stand-in defines."""
HOMES = {
    "dispatch_attention_fn": "diffusers",
    "USE_PEFT_BACKEND": "diffusers",
    "_is_torch_available": "transformers",
    "same_padding": "monai",
    "stride_minus_kernel_padding": "monai",
}
"""The packages whose names these are: elsewhere they may mean something else."""

MATH = {
    "pi": "math.pi", "inf": "math.inf", "sqrt": "math.sqrt", "log": "math.log", "log2": "math.log2", "exp": "math.exp",
    "ceil": "math.ceil", "floor": "math.floor", "prod": "math.prod", "e": "math.e", "nan": "math.nan", "cos": "math.cos",
    "sin": "math.sin", "log10": "math.log10", "abs": "abs", "power": "pow", "max": "max", "min": "min", "sum": "sum",
    "round": "round", "float32": "torch.float32", "mod": "math.fmod", "deg2rad": "math.radians", "rad2deg": "math.degrees",
    "log1p": "math.log1p", "expm1": "math.expm1", "tan": "math.tan", "tanh": "math.tanh", "sinh": "math.sinh", "cosh": "math.cosh",
    "arctan": "math.atan", "arctan2": "math.atan2", "arcsin": "math.asin", "arccos": "math.acos", "gcd": "math.gcd", "hypot": "math.hypot",
    "maximum": "max", "minimum": "min", "int": "int", "float": "float", "newaxis": "None", "finfo": "torch.finfo",
}  # fmt: skip
"""numpy on plain numbers has a twin in the standard library."""

PYTHONS = frozenset(
    ["os", "re", "math", "copy", "time", "random", "warnings", "itertools", "functools", "collections", "inspect", "operator", "sys"]
)  # fmt: skip
"""Modules of Python that a file may read though its import line is lost."""

TORCHS = {
    "has_torch_function": ("torch.overrides", "has_torch_function"),
    "handle_torch_function": ("torch.overrides", "handle_torch_function"),
    "Parameter": ("torch.nn", "Parameter"),
    "Variable": ("torch.autograd", "Variable"),
    "OrderedDict": ("collections", "OrderedDict"),
    "namedtuple": ("collections", "namedtuple"),
    "defaultdict": ("collections", "defaultdict"),
    "deepcopy": ("copy", "deepcopy"),
}
"""Names that only mean one thing, read though their import line is lost: module and name."""

TWINS: dict[tuple[str, str | None], tuple[str, str]] = {
    **{
        ("numpy", name): ("math", name)
        for name in ("pi", "inf", "sqrt", "log", "exp", "ceil", "floor", "prod", "cos", "sin")
    },
    ("timm", "trunc_normal_"): ("torch.nn.init", "trunc_normal_"),
    ("mmcv", "trunc_normal_"): ("torch.nn.init", "trunc_normal_"),
    ("mmengine", "trunc_normal_"): ("torch.nn.init", "trunc_normal_"),
    ("mmengine", "ModuleList"): ("torch.nn", "ModuleList"),
    ("mmengine", "ModuleDict"): ("torch.nn", "ModuleDict"),
    ("mmengine", "Sequential"): ("torch.nn", "Sequential"),
}
"""What other packages took over into torch, or wrap without a part in the computation: (package,
name) to module and name."""
