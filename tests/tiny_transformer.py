"""A tiny transformer that knows the letters of the toy treebank, in the layout of Hugging Face."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tests.command import folder, toy_trees


@cache
def transformer() -> Path:
    """Its folder; torch and transformers must be there."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel

    letters = sorted({c for tree in toy_trees("train") for word in tree.words() for c in word.lower()})
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *letters, *(f"##{c}" for c in letters)]
    tokenizer = Tokenizer(models.WordPiece({one: k for k, one in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    config = BertConfig(
        vocab_size=len(pieces),
        hidden_size=12,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=40,
    )
    place = folder() / "transformer"
    torch.manual_seed(0)
    BertModel(config).save_pretrained(place)
    tokenizer.save(str(place / "tokenizer.json"))
    return place
