"""PyTorch's several names for one operation, reduced to one."""

import ast

OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.FloorDiv: "floor_divide",
    ast.Mod: "remainder",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
    ast.BitAnd: "bitwise_and",
    ast.BitOr: "bitwise_or",
    ast.BitXor: "bitwise_xor",
    ast.LShift: "bitwise_left_shift",
    ast.RShift: "bitwise_right_shift",
}

STATELESS = {
    "ReLU": "relu",
    "ReLU6": "relu6",
    "LeakyReLU": "leaky_relu",
    "GELU": "gelu",
    "SiLU": "silu",
    "Mish": "mish",
    "ELU": "elu",
    "SELU": "selu",
    "CELU": "celu",
    "GLU": "glu",
    "Sigmoid": "sigmoid",
    "LogSigmoid": "logsigmoid",
    "Tanh": "tanh",
    "Tanhshrink": "tanhshrink",
    "Hardtanh": "hardtanh",
    "Hardswish": "hardswish",
    "Hardsigmoid": "hardsigmoid",
    "Hardshrink": "hardshrink",
    "Softshrink": "softshrink",
    "Softplus": "softplus",
    "Softsign": "softsign",
    "Softmax": "softmax",
    "Softmin": "softmin",
    "LogSoftmax": "log_softmax",
    "Threshold": "threshold",
    "Dropout": "dropout",
    "Dropout1d": "dropout1d",
    "Dropout2d": "dropout2d",
    "Dropout3d": "dropout3d",
    "AlphaDropout": "alpha_dropout",
    "MaxPool1d": "max_pool1d",
    "MaxPool2d": "max_pool2d",
    "MaxPool3d": "max_pool3d",
    "AvgPool1d": "avg_pool1d",
    "AvgPool2d": "avg_pool2d",
    "AvgPool3d": "avg_pool3d",
    "AdaptiveAvgPool1d": "adaptive_avg_pool1d",
    "AdaptiveAvgPool2d": "adaptive_avg_pool2d",
    "AdaptiveAvgPool3d": "adaptive_avg_pool3d",
    "AdaptiveMaxPool1d": "adaptive_max_pool1d",
    "AdaptiveMaxPool2d": "adaptive_max_pool2d",
    "AdaptiveMaxPool3d": "adaptive_max_pool3d",
    "Upsample": "interpolate",
    "Flatten": "flatten",
    "Unflatten": "unflatten",
    "PixelShuffle": "pixel_shuffle",
    "PixelUnshuffle": "pixel_unshuffle",
    "ChannelShuffle": "channel_shuffle",
    "Fold": "fold",
    "Unfold": "unfold",
    "CosineSimilarity": "cosine_similarity",
    "PairwiseDistance": "pairwise_distance",
    "MSELoss": "mse_loss",
    "L1Loss": "l1_loss",
    "SmoothL1Loss": "smooth_l1_loss",
    "HuberLoss": "huber_loss",
    "CrossEntropyLoss": "cross_entropy",
    "NLLLoss": "nll_loss",
    "KLDivLoss": "kl_div",
    "BCELoss": "binary_cross_entropy",
    "BCEWithLogitsLoss": "binary_cross_entropy_with_logits",
    "HingeEmbeddingLoss": "hinge_embedding_loss",
    "CosineEmbeddingLoss": "cosine_embedding_loss",
    "MarginRankingLoss": "margin_ranking_loss",
    "TripletMarginLoss": "triplet_margin_loss",
}
"""Modules without parameters, and the function of torch.nn.functional that computes the same."""

_SYNONYMS = {
    "mm": "matmul",
    "bmm": "matmul",
    "view": "reshape",
    "multiply": "mul",
    "divide": "div",
    "true_divide": "div",
    "subtract": "sub",
    "negative": "neg",
    "concat": "cat",
    "concatenate": "cat",
    "absolute": "abs",
    "clip": "clamp",
    "swapaxes": "transpose",
    "swapdims": "transpose",
    "moveaxis": "movedim",
    "expit": "sigmoid",
}


def one_name(function: str) -> str:
    """`torch.nn.functional.relu`, `torch.relu` and `relu_` are `relu`; `torch.mm` is `matmul`.

    Names of classes (`torch.nn.Conv2d`) and of anything outside torch stay whole.
    """
    last = function.rsplit(".", 1)[-1]
    if function.startswith("torch.nn.") and not function.startswith("torch.nn.functional."):
        return function
    if function != last and not function.startswith("torch."):
        return function
    if last.endswith("_") and not last.endswith("__"):
        last = last[:-1]
    return _SYNONYMS.get(last, last)
