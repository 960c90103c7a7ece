"""Small pieces of other packages that many classes are built of, in words of our own.

Each computes what its namesake computes, from the same arguments, for what programs ask of it; an
argument beyond that raises, and the class is removed. Used where a file imports the name from one of
its homes, or reads it without binding it at all.
"""

FOREIGN: dict[str, tuple[tuple[str, ...], str, tuple[str, ...]]] = {
    "DropPath": (
        ("timm",),
        """class DropPath(nn.Module):
    def __init__(self, drop_prob=0.0, scale_by_keep=True):
        super().__init__()
        self.drop_prob = drop_prob or 0.0
        self.scale_by_keep = scale_by_keep

    def forward(self, x):
        if self.drop_prob == 0.0 or not self.training:
            return x
        keep_prob = 1 - self.drop_prob
        kept = x.new_empty((x.shape[0],) + (1,) * (x.ndim - 1)).bernoulli_(keep_prob)
        if keep_prob > 0.0 and self.scale_by_keep:
            kept.div_(keep_prob)
        return x * kept""",
        (),
    ),
    "FrozenBatchNorm2d": (
        ("torchvision",),
        """class FrozenBatchNorm2d(nn.Module):
    def __init__(self, num_features, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.register_buffer("weight", torch.ones(num_features))
        self.register_buffer("bias", torch.zeros(num_features))
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_var", torch.ones(num_features))

    def forward(self, x):
        weight, bias, mean, variance = (
            one.reshape(1, -1, 1, 1) for one in (self.weight, self.bias, self.running_mean, self.running_var)
        )
        scale = weight * (variance + self.eps).rsqrt()
        return x * scale + (bias - mean * scale)""",
        (),
    ),
    "to_2tuple": (
        ("timm", "mmcv", "mmengine"),
        """def to_2tuple(x):
    return tuple(x) if isinstance(x, (list, tuple)) else (x, x)""",
        (),
    ),
    "to_3tuple": (
        ("timm", "mmcv", "mmengine"),
        """def to_3tuple(x):
    return tuple(x) if isinstance(x, (list, tuple)) else (x, x, x)""",
        (),
    ),
    "make_divisible": (
        ("timm",),
        """def make_divisible(v, divisor=8, min_value=None, round_limit=0.9):
    rounded = max(min_value or divisor, int(v + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < round_limit * v else rounded""",
        (),
    ),
    "build_conv_layer": (
        ("mmcv",),
        """def build_conv_layer(cfg, *args, **kwargs):
    options = dict(cfg or {})
    kind = options.pop("type", "Conv2d")
    layers = {"Conv": nn.Conv2d, "Conv1d": nn.Conv1d, "Conv2d": nn.Conv2d, "Conv3d": nn.Conv3d}
    return layers[kind](*args, **kwargs, **options)""",
        (),
    ),
    "build_norm_layer": (
        ("mmcv",),
        """def build_norm_layer(cfg, num_features, postfix=""):
    options = dict(cfg)
    kind = options.pop("type")
    requires_grad = options.pop("requires_grad", True)
    options.setdefault("eps", 1e-5)
    if kind == "GN":
        layer = nn.GroupNorm(num_channels=num_features, **options)
    else:
        layers = {
            "BN": nn.BatchNorm2d, "BN1d": nn.BatchNorm1d, "BN2d": nn.BatchNorm2d, "BN3d": nn.BatchNorm3d,
            "SyncBN": nn.SyncBatchNorm, "LN": nn.LayerNorm, "IN": nn.InstanceNorm2d,
            "IN1d": nn.InstanceNorm1d, "IN2d": nn.InstanceNorm2d, "IN3d": nn.InstanceNorm3d,
        }
        layer = layers[kind](num_features, **options)
    for parameter in layer.parameters():
        parameter.requires_grad = requires_grad
    name = "bn" if kind == "SyncBN" else kind.lower()[:2]
    return name + str(postfix), layer""",
        (),
    ),
    "build_activation_layer": (
        ("mmcv",),
        """def build_activation_layer(cfg):
    options = dict(cfg)
    layers = {
        "ReLU": nn.ReLU, "LeakyReLU": nn.LeakyReLU, "PReLU": nn.PReLU, "RReLU": nn.RReLU, "ReLU6": nn.ReLU6,
        "ELU": nn.ELU, "Sigmoid": nn.Sigmoid, "Tanh": nn.Tanh, "GELU": nn.GELU, "SiLU": nn.SiLU,
        "HSwish": nn.Hardswish, "Mish": nn.Mish,
    }
    return layers[options.pop("type")](**options)""",
        (),
    ),
    "ConvModule": (
        ("mmcv",),
        """class ConvModule(nn.Module):
    def __init__(
        self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias="auto",
        conv_cfg=None, norm_cfg=None, act_cfg=dict(type="ReLU"), inplace=True, padding_mode="zeros",
        order=("conv", "norm", "act"),
    ):
        super().__init__()
        self.with_norm, self.with_activation = norm_cfg is not None, act_cfg is not None
        self.with_bias = not self.with_norm if bias == "auto" else bias
        self.order = order
        self.conv = build_conv_layer(
            conv_cfg, in_channels, out_channels, kernel_size, stride=stride, padding=padding, dilation=dilation,
            groups=groups, bias=self.with_bias, padding_mode=padding_mode,
        )
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size, self.stride, self.padding = self.conv.kernel_size, self.conv.stride, padding
        if self.with_norm:
            after = order.index("norm") > order.index("conv")
            self.norm_name, norm = build_norm_layer(norm_cfg, out_channels if after else in_channels)
            self.add_module(self.norm_name, norm)
        if self.with_activation:
            options = dict(act_cfg)
            if options["type"] not in ("Tanh", "PReLU", "Sigmoid", "GELU", "SiLU"):
                options.setdefault("inplace", inplace)
            self.activate = build_activation_layer(options)

    @property
    def norm(self):
        return getattr(self, self.norm_name) if self.with_norm else None

    def forward(self, x, activate=True, norm=True):
        for step in self.order:
            if step == "conv":
                x = self.conv(x)
            elif step == "norm" and norm and self.with_norm:
                x = self.norm(x)
            elif step == "act" and activate and self.with_activation:
                x = self.activate(x)
        return x""",
        ("build_conv_layer", "build_norm_layer", "build_activation_layer"),
    ),
    "Scale": (
        ("mmcv",),
        """class Scale(nn.Module):
    def __init__(self, scale=1.0):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(scale, dtype=torch.float))

    def forward(self, x):
        return x * self.scale""",
        (),
    ),
}
"""By name: the packages it is imported from, its definition, and the other ones that this needs."""


_AMBIGUOUS = frozenset({"make_divisible", "Scale"})
"""Names that several packages give different meanings."""


def is_foreign(name: str, package: str | None) -> bool:
    """Whether a name of that package (None: that nobody binds) has a definition here."""
    if package is None:
        return name in FOREIGN and name not in _AMBIGUOUS
    return name in FOREIGN and package in FOREIGN[name][0]


def with_needs(names: set[str]) -> set[str]:
    """The names and those that their definitions need."""
    return names | {need for name in names & FOREIGN.keys() for need in FOREIGN[name][2]}
