"""TRL's offline trainers take one real step on each kind of rows, with the right tokens counted."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
import trl
from datasets import Dataset, load_dataset

from agentgym.agents.settings import TokenSettings
from agentgym.training.config import WORDS, ModelConfig
from agentgym.training.micro import make_model
from agentgym.training.offline.dpo import dpo_rows
from agentgym.training.offline.export import to_dataset, write_rows
from agentgym.training.offline.imitation import Imitator
from agentgym.training.offline.kto import kto_rows
from agentgym.training.offline.sft import message_rows, sft_rows
from agentgym.training.vocabulary import collect_words, make_tokenizer
from agentgym.trajectories.record import Trajectory
from agentgym.types import Json, Limits, TokenTrace
from tests.training.byte_tokens import byte_tokenizer, template
from tests.training.recorded import LOOK, episode, press

hub: Any = trl
SETTINGS = TokenSettings(format="brackets", told=False)
RED, BLUE = press("red"), press("blue")


def group() -> list[Trajectory]:
    good = episode([LOOK, RED], grade=1, answers=("dark", "lit"))
    bad = episode([LOOK, BLUE], grade=0, epoch=1, answers=("dark", "dark"))
    return [good, bad]


def no_limits(episode: Trajectory) -> Limits:
    return Limits()


@pytest.fixture
def tokenizer() -> Any:
    """A tokenizer of whole words, those of the episodes as every format shows them."""
    told = SETTINGS.model_copy(update={"told": True})
    words = collect_words(group(), told, no_limits, pattern=WORDS)
    return make_tokenizer(words, pattern=WORDS)


def model_for(tokenizer: Any) -> Any:
    return make_model(ModelConfig(hidden_size=16, heads=2, context=4096), tokenizer, seed=0)


def settings(kind: str, folder: Path, **more: Any) -> Any:
    return getattr(hub, kind)(
        output_dir=str(folder),
        max_steps=1,
        per_device_train_batch_size=2,
        learning_rate=0.01,
        use_cpu=True,
        bf16=False,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
        max_length=None,
        **more,
    )


def train_a_step(trainer: Any) -> None:
    before = [parameter.detach().clone() for parameter in trainer.model.parameters()]
    done = trainer.train()
    assert done.global_step == 1
    assert torch.isfinite(torch.tensor(done.training_loss))
    moved = [not torch.equal(a, b) for a, b in zip(before, trainer.model.parameters(), strict=True)]
    assert any(moved)


def counted(tokenizer: Any, batch: Any) -> list[list[str]]:
    """Return each row's tokens that a loss is on, decoded one by one."""
    return [
        [tokenizer.decode([label]) for label in row if label != -100]
        for row in batch["labels"].tolist()
    ]


def spoken(*turns: str) -> list[str]:
    """Return the words of turns with what ends each."""
    return [word for turn in turns for word in (*turn.split("·"), "<|end|>")]


def test_sft_counts_the_agents_tokens_and_no_others(tokenizer: Any, tmp_path: Path) -> None:
    rows = list(Imitator(tokenizer, SETTINGS).rows(group(), no_limits))
    first = rows[0]
    decoded = [tokenizer.decode([token]) for token in first["input_ids"]]
    mine = [label != -100 for label in first["labels"]]
    assert list(zip(decoded, mine, strict=True)) == [
        ("<|user|>", False),
        ("Light", False),
        (" the", False),
        (" lamp", False),
        (" of", False),
        (" t0", False),
        (".", False),
        ("<|end|>", False),
        ("<|assistant|>", False),
        ("look", True),
        ("[", True),
        ("]", True),
        ("<|end|>", True),
        ("<|user|>", False),
        ("Observation", False),
        (":", False),
        (" dark", False),
        ("<|end|>", False),
        ("<|assistant|>", False),
        ("press", True),
        ("[", True),
        ("red", True),
        ("]", True),
        ("<|end|>", True),
    ]
    trainer = hub.SFTTrainer(
        model=model_for(tokenizer),
        args=settings("SFTConfig", tmp_path),
        train_dataset=to_dataset(rows),
        processing_class=tokenizer,
    )
    batch = next(iter(trainer.get_train_dataloader()))
    assert sorted(counted(tokenizer, batch)) == sorted(
        [spoken("look·[·]", "press·[·red·]"), spoken("look·[·]", "press·[·blue·]")]
    )
    train_a_step(trainer)


def test_sft_keeps_sampled_tokens_that_encoding_would_not_give(tmp_path: Path) -> None:
    # "a" and "b" were sampled apart, and encoding makes one token of them.
    tokenizer = byte_tokenizer(template("qwen3_training"))
    a, b = tokenizer.encode("a")[0], tokenizer.encode("b")[0]
    assert tokenizer.encode("ab") != [a, b]
    trace = TokenTrace(prompt_ids=(5, 6), output_ids=(a, b, tokenizer.eos_token_id))
    trainer = hub.SFTTrainer(
        model=model_for(tokenizer),
        args=settings("SFTConfig", tmp_path),
        train_dataset=to_dataset(sft_rows([episode([RED], grade=1, tokens=[trace])])),
        processing_class=tokenizer,
    )
    batch = next(iter(trainer.get_train_dataloader()))
    assert batch["labels"].tolist() == [[-100, -100, a, b, tokenizer.eos_token_id]]
    train_a_step(trainer)


def test_sft_on_messages_counts_what_the_assistant_said(tmp_path: Path) -> None:
    tokenizer = byte_tokenizer(template("qwen3_training"))
    trainer = hub.SFTTrainer(
        model=model_for(tokenizer),
        args=settings("SFTConfig", tmp_path, assistant_only_loss=True),
        train_dataset=to_dataset(message_rows(group()[:1])),
        processing_class=tokenizer,
    )
    batch = next(iter(trainer.get_train_dataloader()))
    (row,) = batch["labels"].tolist()
    said = tokenizer.decode([label for label in row if label != -100])
    assert '{"name": "look", "arguments": {}}' in said
    assert '{"name": "press", "arguments": {"button": "red"}}' in said
    assert "dark" not in said
    assert "lamp" not in said
    train_a_step(trainer)


def texts(tokenizer: Any, rows: Sequence[Sequence[int]]) -> list[str]:
    return [tokenizer.decode(list(ids)) for ids in rows]


def test_dpo_counts_single_turns(tokenizer: Any, tmp_path: Path) -> None:
    pairs = list(dpo_rows(group(), action_format="brackets"))
    trainer = hub.DPOTrainer(
        model=model_for(tokenizer),
        ref_model=model_for(tokenizer),
        args=settings("DPOConfig", tmp_path),
        train_dataset=to_dataset(pairs),
        processing_class=tokenizer,
    )
    prepared = trainer.train_dataset
    assert texts(tokenizer, prepared["chosen_ids"]) == ["press[red]<|end|>"]
    assert texts(tokenizer, prepared["rejected_ids"]) == ["press[blue]<|end|>"]
    (prompt,) = texts(tokenizer, prepared["prompt_ids"])
    assert prompt.endswith(
        "<|assistant|>look[]<|end|><|user|>Observation: dark<|end|><|assistant|>"
    )
    train_a_step(trainer)


def test_kto_counts_single_turns(tokenizer: Any, tmp_path: Path) -> None:
    rows = list(kto_rows(group(), action_format="brackets"))
    trainer = hub.KTOTrainer(
        model=model_for(tokenizer),
        ref_model=model_for(tokenizer),
        args=settings("KTOConfig", tmp_path),
        train_dataset=to_dataset(rows),
        processing_class=tokenizer,
    )
    prepared = trainer.train_dataset
    completions = texts(tokenizer, prepared["completion_ids"])
    assert list(zip(completions, prepared["label"], strict=True)) == [
        ("look[]<|end|>", True),
        ("press[red]<|end|>", True),
        ("look[]<|end|>", False),
        ("press[blue]<|end|>", False),
    ]
    train_a_step(trainer)


def arguments_of(row: Json) -> list[Json]:
    messages = [*row.get("messages", []), *row.get("chosen", []), *row.get("completion", [])]
    calls = [call for message in messages for call in message.get("tool_calls") or []]
    return [call["function"]["arguments"] for call in calls]


def test_a_call_without_arguments_is_not_given_those_of_other_rows(tmp_path: Path) -> None:
    rows = list(message_rows([episode([LOOK], grade=1), episode([RED], grade=1, epoch=1)]))
    naive = Dataset.from_list(rows)
    assert arguments_of(naive[0]) == [{"button": None}]  # what Arrow makes of it by itself
    written = {"jsonl": "json", "parquet": "parquet"}
    read = [to_dataset(rows)]
    for suffix, kind in written.items():
        path = tmp_path / f"rows.{suffix}"
        assert write_rows(rows, path) == 2
        cache = str(tmp_path / "cache")
        read.append(load_dataset(kind, data_files=str(path), split="train", cache_dir=cache))
    for dataset in read:
        assert [arguments_of(row) for row in dataset] == [[{}], [{"button": "red"}]]
    # And so it is what a template that writes arguments as they come is given to train on.
    tokenizer = byte_tokenizer(template("qwen2_5_training"))
    tools = json.loads(rows[0]["tools"])
    shown = tokenizer.apply_chat_template(read[0][0]["messages"], tools=tools, tokenize=False)
    assert '{"name": "look", "arguments": {}}' in shown


def test_pairs_and_labels_escape_arrow_too() -> None:
    look = episode([LOOK], grade=1)
    other = episode([RED], grade=0, epoch=1)
    pair = to_dataset(dpo_rows([look, other]))[0]
    assert arguments_of({"chosen": pair["chosen"]}) == [{}]
    assert arguments_of({"chosen": pair["rejected"]}) == [{"button": "red"}]
    labelled = to_dataset(kto_rows([look, other]))
    assert [arguments_of(row) for row in labelled] == [[{}], [{"button": "red"}]]
    assert labelled["label"] == [True, False]
