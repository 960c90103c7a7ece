"""What a parameter's name says about its value: realistic values, the likeliest first.

Sizes are drawn from a pool so that two parameters of one class never start equal: an accidental
match would hide a wrong guess. All values are Python source text.
"""

import re
from functools import cache

CONFIG = "<config>"
"""Stands for a namespace whose attributes are found by watching which ones are read."""

SIZE_POOL = (64, 128, 192, 256, 320, 384, 448, 512, 576, 640)

_RULES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        r"(num|n|number_of)_?\w*heads?\w*|n_?heads?|heads?|\w*_heads?|head_num|h_num|nhead",
        ("8", "4", "2", "1"),
    ),
    (r"output_padding|out_padding|outpad", ("0", "1", "(0, 0)")),
    (r"\w*attn_implementation\w*", ("'eager'", "'sdpa'")),
    (r"output_(attentions|hidden_states|router_logits|scores|loading_info)", ("False", "True")),
    (r"(use_)?return_dict", ("True", "False")),
    (r"top_?k|topk_\w+|num_experts_per_tok|\w*experts_per_token|n_group", ("2", "1", "4")),
    (
        r"\w*_values?|value|constant\w*|scalar\w*|\w*_scalar|divisor|divide_by|\w*multiplier|negative_slope|slope|leak\w*|\w*factor_value",
        ("0.5", "2.0", "1"),
    ),
    (r"rope_(parameters|scaling)", ("{'rope_type': 'default', 'rope_theta': 10000.0}", "None")),
    (r"rope_theta", ("10000.0",)),
    (r"layer_types", ("['full_attention'] * 4", "['sliding_attention'] * 4")),
    (
        r"head_dim|dim_head|d_head|head_size|attention_head_dim|d_k|d_v|dim_heads?|head_channels",
        ("32", "64", "16"),
    ),
    (
        r"\w*(kernel|ksize|filter_size|k_size)\w*|ks|k",
        ("3", "5", "7", "1", "(3, 3)", "[3, 5, 7]", "[3, 3, 3]"),
    ),
    (r"strides|dilations|paddings", ("[1, 2]", "(1, 1)", "[1, 2, 2, 2]", "1", "[1, 2, 4]")),
    (r"\w*stride\w*|subsample|s", ("1", "2", "(1, 1)", "4")),
    (r"\w*(padding|pad)|p|pad\w*", ("1", "0", "(1, 1)", "'same'", "'zeros'", "'reflect'")),
    (r"\w*dilat\w*|rate|d|atrous\w*", ("1", "2", "(1, 1)", "[1, 2, 4]")),
    (
        r"(num_groups|n_groups|norm_num_groups|gn_groups|resnet_groups|group_num)",
        ("8", "4", "16", "1"),
    ),
    (r"\w*groups?|cardinality|radix|g", ("1", "2", "4", "8")),
    (
        r"\w*drop\w*|\w*_prob|prob|p_drop|sd_rate|\w*_p|keep_prob",
        ("0.0", "0", "None", "[0.0, 0.0]"),
    ),
    (r"\w*eps(ilon)?\w*|smooth(ing)?\w*|layer_norm_eps", ("1e-05", "0.1")),
    (r"\w*momentum|bn_mom\w*", ("0.1",)),
    (
        r"\w*(init|initializer|std|stddev|sigma)(_range|_value|_values|_std|_scale)?",
        ("0.02", "1.0", "'normal'", "None"),
    ),
    (r"alpha|\w*_alpha", ("0.25", "1.0", "4", "[0.25, 0.75]", "'mean'")),
    (r"gamma|\w*_gamma|beta\d?|\w*_beta|power|exponent", ("2.0", "1", "0.5")),
    (
        r"margin\w*|m|delta|threshold|thresh\w*|tau|temperature|temp|\w*_temp\w*|t0|T",
        ("0.5", "1.0", "2"),
    ),
    (
        r"\w*(lambda|lamb|lam|coef|coeff|weight_decay|loss_weight)\w*|\w*lr|learning_rate",
        ("0.1", "1.0", "1"),
    ),
    (
        r"\w*mlp_ratio\w*|ffn_ratio|hidden_ratio|expand\w*|expansion\w*|\w*ffn_expansion\w*|mult|ff_mult|widening_factor|multiplier",
        ("4", "2", "1", "[4, 4]", "4.0"),
    ),
    (
        r"\w*(scale|scales|upscale|scaling|up|upsample|upsampling|scale_factor|factor|downscale|upscale_factor|down\w*factor)",
        ("2", "1.0", "4", "None", "True", "[1, 2, 4]", "(2, 2)", "nn.Identity()"),
    ),
    (
        r"reduction_ratio|\w*_reduction|r|squeeze\w*|se_ratio|reduce_ratio|\w*ratio|rd_ratio",
        ("4", "0.25", "16", "2", "1.0"),
    ),
    (r"reduction|reduce", ("4", "'mean'", "16", "True", "'sum'")),
    (r"reduce_mode|size_average|average", ("'mean'", "True")),
    (
        r"(n|num|number_of)?_?(out_)?(class|classes|labels?|categories|outputs|cls|nclass|nclasses|joints|keypoints|landmarks|targets|answers)(es)?|nc|ncls|nclass\w*|num_class\w*|n_class\w*|num_logits",
        ("10", "20"),
    ),
    (
        r"\w*vocab\w*|ntokens?|num_(embeddings|tokens|words|chars|symbols|items|entities|users|nodes|relations|types|emb)|n_(token|tokens|words|symbols|entities|src_vocab|trg_vocab|items|users|vocab|embed|e|nodes|relations)|\w*_vocab_\w*|\w*vocabulary\w*|codebook_size|\w*_size_vocab|padding_idx_max|user_num|item_num|dict_size",
        ("1000", "512"),
    ),
    (
        r"max_\w*(len|length|position|positions|embeddings|size|seq\w*|tokens)\w*|maxlen|max_len|n_positions|n_ctx|context_(len|length|size)|block_size|ctx_len|max_pos|seq_length_max|max_period|max_seq\w*|length_max|n_position",
        ("512", "10000", "1024"),
    ),
    (
        r"\w*(seq_len|seqlen|sequence_length|seq_length|seq_size|num_frames|n_frames|time_steps?|timesteps|num_patches|num_tokens|n_patches|num_queries|window|horizon|pred_len|label_len|length|win_len\w*|T_max|num_steps|n_steps|num_points|n_points|npoint|num_keypoints|num_segments|n_segment|num_segment)",
        ("80", "16", "8", "4"),
    ),
    (
        r"(img|image|input|crop|in|spatial|feat|fmap|feature|frame|map)_?(size|resolution|shape|dims|hw|res)|resolution|img_dim|img_sz|size|im_size|image_shape|output_size|out_size|\w*_resolution|output_shape|spatial_\w*",
        ("32", "(32, 48)", "224", "[32, 48]", "64", "(3, 32, 48)", "(8, 32, 48)"),
    ),
    (r"h|height|img_h|image_height|img_height|feat_h|H", ("32", "8")),
    (r"w|width|img_w|image_width|img_width|feat_w|W", ("48", "8")),
    (
        r"\w*patch\w*size\w*|patch_dim|patch|patch_len\w*|p_size|ps",
        ("4", "8", "16", "(4, 4)", "2", "[4, 4]"),
    ),
    (
        r"\w*(window|win|ws|chunk|grid|block|pool|local_window)_?size\w*|ws|window",
        ("8", "4", "(8, 8)", "[8, 8]", "2", "7", "(2, 8, 8)"),
    ),
    (
        r"depths|num_blocks_list|layers_list|blocks|repeats|stages|n_blocks_per_\w*|num_layers_\w*|layers|num_units|block_num|\w*layer_sizes|blocks_num|cfgs?_list|num_convs",
        ("[2, 2, 2, 2]", "2", "[1, 2, 1]", "[2, 2]", "3", "[3, 4, 6, 3]"),
    ),
    (
        r"\w*(depth|num_layers?|n_layers?|nlayers?|num_blocks?|n_blocks?|nblocks?|num_stages?|n_stages?|layer_num|num_res\w*|n_res\w*|num_convs?|n_conv\w*|num_levels?|n_levels?|num_scales?|num_hidden_layers|num_stacks?|num_modules|n_modules|num_iter\w*|n_iter\w*|iters|iterations|repeat|num_repeat|num_ups|num_downs?|n_downs?|n_downsampling|levels?|order|num_experts|n_experts|top_?k|num_branches|num_feature_levels|num_outs?|n_hidden_layers|block_num|layer_idx|layer|num_flows|n_flows|num_steps|hops?|K|num_basis|ord|n_iterations|num_freqs?|n_freqs?|multires|num_codebooks)",
        ("2", "4", "1", "3", "[2, 2]"),
    ),
    (
        r"layer_(id|index|i)|idx|index|\w*_idx|\w*_index|i|stage(_id|_idx)?|block_(idx|id)|rank|local_rank|step|epoch\w*|start\w*|level_idx|pad_token_id|bos_token_id|unk_\w*|\w*_token_id",
        ("0", "1", "2"),
    ),
    (r"ignore_index|ignore_label|ignore\w*", ("-100", "255", "0")),
    (
        r"dims?_(out|in|hidden)?_list|\w*(channels|dims|planes|filters|widths|hiddens|features|units|sizes|hidden_sizes|nodes|neurons|hidden_units)_?list|embed_dims|hidden_dims|\w*_dims|dims|chs|channels_list|filters|num_channels_list|hidden_sizes|layer_sizes|layer_dims|layers_dims|mlp|mlps|widths|nb_filter|num_filters_list|channel_list|hidden_layers|hidden_units|fc_dims|filter_list|out_channels_list|in_channels_list|feature_channels|encoder_channels|decoder_channels|num_ch_enc|inplanes_list|ch_mult|channel_mult|channel_multiplier|dim_mults|node_sizes",
        ("[64, 128]", "[64, 128, 256]", "[64, 128, 256, 512]", "(1, 2, 4)", "64", "[32, 64]"),
    ),
    (
        r"in_?chans?|input_?nc|n_?channels?_?in|img_channels|image_channels|input_channels?|in_nc|num_input_channels|nc_in|channels_img|inp_channels|input_ch|num_in_ch|colors?|n_colors|c_in_img|img_ch|num_channels|image_nc|n_input_channels|nchannels|channel_in|n_channels|ch_in|input_dims?_c",
        ("3", "64", "1"),
    ),
    (
        r"out_?chans?|output_?nc|out_nc|num_out_ch|output_channels?|output_ch|oup_img|channels_out|n_channels_out|num_output_channels|channel_out|ch_out",
        ("128", "3", "64", "1"),
    ),
    (
        r"\w*(norm_layer|normalization_layer|layer_norm|norm_module|norm_class|batchnorm|BatchNorm|bn_layer|norm2d|norm_fn|norm_func|bnorm|NormLayer|norm_op)\w*",
        (
            "nn.BatchNorm2d",
            "nn.LayerNorm",
            "'bn'",
            "nn.Identity",
            "None",
            "nn.BatchNorm1d",
            "nn.GroupNorm",
            "'batch'",
            "dict(type='BN')",
        ),
    ),
    (
        r"norm\w*|normalize\w*|normalization\w*|\w*_norm",
        (
            "None",
            "'batch'",
            "'bn'",
            "True",
            "False",
            "nn.BatchNorm2d",
            "nn.LayerNorm",
            "'instance'",
            "'layer'",
            "'none'",
            "'BN'",
            "nn.LayerNorm(64)",
            "nn.BatchNorm2d(64)",
            "'batchnorm'",
            "'instance_norm'",
            "'LN'",
            "dict(type='BN')",
            "2",
        ),
    ),
    (
        r"\w*(act|activ|nonlin|non_lin)\w*|relu|nl|acti",
        (
            "nn.ReLU()",
            "nn.ReLU",
            "'relu'",
            "'ReLU'",
            "F.relu",
            "None",
            "'gelu'",
            "True",
            "'RE'",
            "'lrelu'",
            "dict(type='ReLU')",
            "'linear'",
            "'tanh'",
            "'none'",
        ),
    ),
    (
        r"conv|conv_layer|conv_?\d?d|conv_op|Conv|conv_block|conv_func|conv_type|conv_fn",
        (
            "nn.Conv2d",
            "'conv'",
            "nn.Conv1d",
            "True",
            "nn.Conv2d(64, 64, 3, padding=1)",
            "'2d'",
            "default_conv",
        ),
    ),
    (
        r"(use|is|with|has|do|enable|no|add|return|apply|need|needs|learn|learnable|should|if|only|share|keep|include|skip|train|freeze|fix)_\w+|bias|\w*_bias|affine|residual|shortcut|causal|bidirectional|bidirec\w*|batch_first|pretrained|inplace|verbose|bilinear|transpose|transposed|first|last|deploy|debug|learnable|trainable|flag|gated?|deconv|separable|bn|use_bn|batch_norm|is_\w+|\w*_only|attention|use_cuda|cuda|aux|aux_logits|final|upsample|same_padding|identity|skip|\w*_flag|deterministic|sn|spectral_norm|se|use_se|half|complex|training|qkv_bias|init_weights|weight_norm|preact|tanh|sigmoid|softmax|logits|outermost|innermost|cat|concat|stem|hard|symmetric|wn|track_running_stats|instance_norm|layer_norm|squared|double|log|discrete|spectral|dense",
        ("False", "True", "None", "'relu'", "nn.Identity()"),
    ),
    (r"downsample|down|shortcut_layer|downsampling", ("None", "False", "True", "nn.Identity()")),
    (r"device|gpu\w*|gpu_ids?|dev", ("None", "'cpu'", "torch.device('cpu')", "[]")),
    (r"dtype", ("torch.float32", "'float32'", "None")),
    (
        r"weights?|class_weights?|pos_weight|checkpoint\w*|pretrained_\w*|\w*_path|path|logger|init_cfg|ckpt\w*|state_dict|weight_file|embeddings_weight|mask",
        ("None", "1.0", "torch.ones(10)", "''"),
    ),
    (
        r"\w*(embedding_matrix|embeddings|pretrained_emb\w*|word_emb\w*|emb_matrix|weights_matrix|embedding_weights|word_vectors|vectors|wordvec\w*|init_emb\w*)",
        ("torch.randn(1000, 64)", "64", "None", "nn.Embedding(1000, 64)"),
    ),
    (
        r"config|cfg|args?|opts?|options|hparams|hps?|conf|params|hyper_?params|configs|configuration|model_args|model_config|model_cfg|model_params|param|parameters|flags|settings|hp|ns|opt_\w+|\w*_args|\w*_cfg|\w*_config|\w*_opt|FLAGS|\w*_params|model_hparams",
        (CONFIG, "None", "{}"),
    ),
    (
        r"kwargs|\w*_kwargs|conv_cfg|norm_cfg|act_cfg|init_cfg|train_cfg|test_cfg|norm_kwargs|norm_params|meta",
        ("{}", "None", "dict(type='BN')", "dict(type='ReLU')"),
    ),
    (
        r"mode|\w*_mode|interpolation|\w*_method|method|interp\w*",
        (
            "'bilinear'",
            "'nearest'",
            "'sum'",
            "'mean'",
            "'embedded_gaussian'",
            "'train'",
            "'CNA'",
            "'zeros'",
            "'max'",
            "'fan_in'",
            "'linear'",
            "'general'",
            "'dot'",
            "1",
            "False",
        ),
    ),
    (
        r"\w*type\w*|name|\w*_name|arch\w*|backbone|variant|kind|version|style|model_name|rnn\w*|cell\w*|\w*_arch|pool\w*|aggr\w*|agg|aggregat\w*|how|fusion|metric|dist\w*|criterion|loss_fn|merge\w*|combine\w*",
        (
            "'lstm'",
            "'LSTM'",
            "'relu'",
            "'max'",
            "'avg'",
            "'mean'",
            "'sum'",
            "'base'",
            "'resnet18'",
            "'resnet50'",
            "'zero'",
            "'same'",
            "'A'",
            "'B'",
            "'1d'",
            "'2d'",
            "'gru'",
            "'GRU'",
            "'conv'",
            "'concat'",
            "'dot'",
            "'general'",
            "'l1'",
            "'l2'",
            "'cosine'",
            "'batch'",
            "1",
            "nn.MSELoss()",
            "nn.LSTM",
            "nn.MaxPool2d",
            "nn.Identity()",
        ),
    ),
    (r"shapes?|\w*_shapes?", ("(64,)", "(3, 32, 48)", "64", "(32, 48)", "[64, 32, 48]")),
    (r"bits|\w*_bits?|nbits?|bit\w*|w_bit|a_bit", ("8", "4")),
    (
        r"fn|f|func|function|net|network|model|module|sub_?module|sub_?layer|mod|base_?model|base|encoder|decoder|inner|block_fn|net_\w+|\w*_net|\w*_model|\w*_fn|\w*_module|\w*encoder|\w*decoder|attn|attention_layer|self_attn\w*|feed_forward\w*|ff|ffn|mlp_layer|generator|discriminator|extractor|feature_extractor|head|layer_module|layers_module|operation|op|tokenizer|embed|embedder|transform|\w*_layer|\w*_block|wrapped|student|teacher|features|trunk|body|rnn_layer|src_embed|tgt_embed|criterion\w*|loss\w*|backbone_net|backbone\w*",
        (
            "nn.Identity()",
            "nn.Linear(64, 64)",
            "nn.Conv2d(64, 64, 3, padding=1)",
            "nn.Linear",
            "nn.ReLU",
            "[nn.Identity(), nn.Identity()]",
            "nn.MSELoss()",
            "nn.Embedding(1000, 64)",
            "64",
            "None",
        ),
    ),
    (
        r"modules?|list_of_\w*|\w*_list|nets|models|branches|ops|transforms|fns|funcs|submodules",
        ("[nn.Identity(), nn.Identity()]", "[64, 128]", "[]"),
    ),
    (
        r"block|\w*_block|block_type|block_layer|layer_type|cell|layer_cls|\w*_cls|\w*_class|unit|module_class|klass|cls_type|layer_class|block_class",
        ("BasicBlock", "Bottleneck", "Block", "nn.Identity", "nn.Linear", "nn.Identity()"),
    ),
    (r"gate_channels?|gate_channel", ("64",)),
    (
        r"growth_?rate|growth|k_growth|base_?width|width_per_group|gc|width_mult\w*|width_factor|widen_factor|w_factor|width_multiplier|theta|compression\w*",
        ("32", "1.0", "4", "0.5"),
    ),
    (r"(n|num)_?(mels?|mel_channels|mel_bins?|bins|filts?|freq_bins|banks)|mel_dim", ("80",)),
    (
        r"n_fft|fft_size|nfft|fft_len\w*|filter_length|win_length|n_window|frame_length|nperseg",
        ("64", "128"),
    ),
    (r"hop\w*|frame_shift", ("16",)),
    (r"sample_rate|sr|fs|sampling_rate", ("16000",)),
    (r"\w*(bounds?|range|lims?|interval)|xlim|ylim", ("(-1.0, 1.0)", "1.0", "[0, 1]")),
    (r"min|\w*_min|min_\w*|low|lower|vmin|a_min|log_std_min|minimum", ("0.0", "-1.0", "1")),
    (
        r"max|\w*_max|max_\w*|high|upper|vmax|max_action|action_bound|action_limit|log_std_max|maximum",
        ("1.0", "2", "10"),
    ),
    (
        r"(action|act|n_act|num_act)\w*(dim|size|num|space|shape)s?|action_n|n_actions?|num_actions?|nb_actions|actions|action_?dims?",
        ("6", "4", "(6,)"),
    ),
    (
        r"(state|obs|observation)\w*(dim|size|num|space|shape)s?|n_states?|num_states?|nb_states|num_inputs|n_obs|obs_?dims?",
        ("24", "(24,)", "(3, 84, 84)", "64"),
    ),
    (r"seed", ("0",)),
    (
        r"latent_?dims?|z_?dims?|nz|noise_dim|zdim|n_latent|latent_size|z_size|dim_z|latent",
        ("128", "64"),
    ),
    (
        r"ng?f|nef|ndf|base_(ch\w*|filters?|dim|c|n_filter)|n_filters?|num_filters?|nf|init_features|n_feats?|num_feats?|base_n\w*|num_feat|feature_scale|width|dim_base|start_filts|inner_nc|outer_nc|num_features|conv_dim|n_feat",
        ("64", "32", "4"),
    ),
    (r"num_\w+|n_\w+|\w*_num|\w*_n|count|number|nb_\w+|n", ("4", "64", "8", "2", "16")),
)

_SIZES = re.compile(
    r"\w*(dim|dims|size|channel|channels|planes|features?|hidden|width|units?|embed|embedding|emb|ch|nc|filters|chan|inp|oup|"
    r"inc|outc|ninp|nhid|nout|nin|d_model|d_inner|d_ff|c1|c2|cin|cout|c_in|c_out|n_in|n_out|in_c|out_c|in_ch|out_ch|inplanes|"
    r"outplanes|in_f|out_f|d|c|dm|e|nfeat|in_dim|out_dim|fan_in|fan_out|input|output|n_input|n_output|inputs|outputs|in_|out_|"
    r"d_\w+|dim_\w+|ch_\w+|hid|hidden_\w+|c_\w+|squeeze_planes|mid\w*|inner\w*|inter\w*|bottleneck\w*|rank|in|out|key|value|query)"
)

_UNKNOWN = (
    "64", "2", "0.5", "[64, 128]", "nn.ReLU()", "nn.Identity()", "None", "nn.ReLU", "'mean'", "(64, 64)", CONFIG, "False",
    "nn.Linear(64, 64)", "{}",
)  # fmt: skip

_CASTS = {
    "int": ("64", "2", "1", "0"),
    "float": ("0.5", "1.0", "0.1"),
    "bool": ("False", "True"),
    "str": ("'relu'", "'mean'", "'bilinear'", "'same'", "'none'", "'linear'"),
}


_GROUPS = ("[64, 128]", "(64, 128)", "[64, 128, 256]", "[2, 2]", "[64, 128, 256, 512]", "(2, 2, 2)")

_PATTERNS = tuple((re.compile(pattern), found) for pattern, found in _RULES)
"""Compiled here, in the server: a fork for each class would compile them again, all in 10 ms."""


@cache
def values(name: str, annotation: str = "") -> tuple[tuple[str, ...], bool]:
    """Gives candidate values for a parameter of this name, and whether it is a size.

    A size's candidates are multiples of 64: the caller picks one that no other size has.
    """
    plain = name.strip("_")
    known = re.sub(r"[\s\"']|\|None|Optional\[|\]$", "", annotation)
    numeric = re.search(r"_(size|dim|dims|channels|features|planes|width)$", plain)
    for pattern, found in _PATTERNS if plain not in ("d_model", "dim_model") else ():
        if numeric and not re.match(r"[\[(\d-]", found[0]):
            continue
        if pattern.fullmatch(plain) or pattern.fullmatch(plain.lower()):
            return _fitting(found, known), False
    bare = re.sub(r"_?\d+$", "", plain)
    if bare and bare != plain and not _SIZES.fullmatch(plain.lower()):
        return values(bare, annotation)
    if _SIZES.fullmatch(plain.lower()) or known == "int":
        sizes = tuple(str(size) for size in SIZE_POOL[:5])
        return (*_fitting(sizes, known), "[64, 128]", "(3, 32, 48)", "nn.Identity()", "None"), True
    if known in _CASTS:
        return _CASTS[known], False
    if re.match(r"(list|tuple|sequence|iterable)", known.lower()):
        return _GROUPS, False
    if re.search(r"Callable|Type\[|type\[", known):
        return ("nn.ReLU", "nn.LayerNorm", "nn.BatchNorm2d", "F.relu", "nn.Identity"), False
    if re.search(r"Module", known):
        return ("nn.Identity()", "nn.Linear(64, 64)", "nn.Conv2d(64, 64, 3, padding=1)"), False
    if re.search(r"(Config|Args|Cfg|Params|Namespace)$", known):
        return (CONFIG,), False
    return _UNKNOWN, False


def _fitting(found: tuple[str, ...], annotation: str) -> tuple[str, ...]:
    """Puts the values of the annotated type first."""
    if re.match(r"(list|tuple|sequence|iterable)\b", annotation.lower()):
        groups = tuple(value for value in found if value[0] in "[(")
        return tuple(dict.fromkeys((*groups, *_GROUPS, *found)))
    tests = {
        "int": r"-?\d+",
        "float": r"-?[\d.e-]+",
        "bool": r"True|False",
        "str": r"'.*'",
    }
    if annotation not in tests:
        return found
    matching = tuple(value for value in found if re.fullmatch(tests[annotation], value))
    rest = tuple(value for value in _CASTS[annotation] if value not in matching)
    return matching + rest + tuple(value for value in found if value not in matching)
