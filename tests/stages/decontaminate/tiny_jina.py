"""A tiny jina-embeddings-v3 with random weights: same class, tokenizer, adapters and files."""

import json
from pathlib import Path

TASKS = ("retrieval.query", "retrieval.passage", "separation", "classification", "text-matching")
TEXTS = ["def forward(self, x):\n    return torch.relu(x)", "class Model(nn.Module): y = a @ b + c"]


def save_tiny_jina(folder: Path, tasks: tuple[str, ...] = TASKS, trained: bool = True) -> Path:
    """Saves it; with `trained=False` the adapters are new and change nothing."""
    import torch
    from peft import LoraConfig, get_peft_model
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import (
        AutoModel,
        JinaEmbeddingsV3Config,
        JinaEmbeddingsV3Model,
        XLMRobertaTokenizer,
    )

    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=200, special_tokens=["<s>", "<pad>", "</s>", "<unk>"], unk_token="<unk>"
    )
    tokenizer.train_from_iterator(TEXTS * 50, trainer)
    vocab = [tuple(item) for item in json.loads(tokenizer.to_str())["model"]["vocab"]]
    saved = XLMRobertaTokenizer(vocab=vocab, model_max_length=512)
    saved.save_pretrained(folder)
    torch.manual_seed(0)
    config = JinaEmbeddingsV3Config(
        vocab_size=len(saved), hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=128, pad_token_id=saved.pad_token_id, bos_token_id=saved.bos_token_id,
        eos_token_id=saved.eos_token_id,
    )  # fmt: skip
    JinaEmbeddingsV3Model(config, add_pooling_layer=False).save_pretrained(folder)
    for task in tasks:
        base = AutoModel.from_pretrained(folder, add_pooling_layer=False)
        layers = ["q_proj", "k_proj", "v_proj", "o_proj", "fc1", "fc2"]
        lora = LoraConfig(r=4, lora_alpha=4, init_lora_weights=not trained, target_modules=layers)
        name = task.replace(".", "_").replace("-", "_")
        get_peft_model(base, lora).save_pretrained(folder / name)
    return folder
