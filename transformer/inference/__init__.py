"""Translating: a model with its tokenizer, greedy and beam search, incremental decoding."""
