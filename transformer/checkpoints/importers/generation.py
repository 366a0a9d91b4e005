"""The settings of `generate` in a folder of Hugging Face, as the rule of our searches.

What a caller chooses here, too (beams, a limit, sampling's temperature), is not among them. The others are followed, or
named: a setting that changes the output is never lost silently.
"""

from collections.abc import Callable, Mapping
from reprlib import repr as shown
from typing import Any

from transformer.checkpoints.beam_rule import BeamRule
from transformer.checkpoints.constraints import Constraints
from transformer.model.config import ModelConfig
from transformer.texts import Text

SETTINGS = "generation_config.json"
ENDS = {False: "present", True: "full", "never": "overtaken"}
FOLLOWED = (
    "length_penalty", "early_stopping", "renormalize_logits", "bad_words_ids", "suppress_tokens",
    "begin_suppress_tokens", "forced_bos_token_id", "forced_eos_token_id", "min_length", "min_new_tokens",
    "repetition_penalty", "no_repeat_ngram_size",
)  # fmt: skip
NAMED = (
    "do_sample", "encoder_no_repeat_ngram_size", "encoder_repetition_penalty", "exponential_decay_length_penalty",
    "sequence_bias", "guidance_scale", "watermarking_config", "stop_strings", "max_time", "token_healing",
    "num_beam_groups", "diversity_penalty", "constraints", "force_words_ids", "penalty_alpha", "dola_layers",
    "assistant_ensemble_weight",
)  # fmt: skip


def ignored(file: str, settings: Mapping[str, Any]) -> list[Text]:
    """The sentence that these settings of a file are not followed; none if there are none."""
    if not settings:
        return []
    listed = ", ".join(f"{name}: {shown(value)}" for name, value in settings.items())
    return [
        Text(
            "{file} has settings that Headscope does not follow, so transformers may give other results: {settings}",
            file=file,
            settings=f"{listed:.400}",
        )
    ]


def search_rule(settings: Mapping[str, Any], config: ModelConfig) -> tuple[BeamRule, float, list[Text]]:
    """Rule and length penalty of the settings, with Hugging Face's defaults; and a sentence on those not followed."""
    lost = {name: settings[name] for name in NAMED if not _neutral(settings.get(name))}

    def read(name: str, default: Any, fits: Callable[[Any], bool]) -> Any:
        value = settings.get(name)
        if value is None or fits(value):
            return default if value is None else value
        lost[name] = value
        return default

    def token(value: Any) -> bool:
        return type(value) is int and 0 <= value < config.output_size

    def tokens(value: Any) -> bool:
        return isinstance(value, list) and all(map(token, value))

    def count(value: Any) -> bool:
        return type(value) is int and 0 <= value <= 1_000_000

    def between(low: float, high: float) -> Callable[[Any], bool]:
        return lambda value: type(value) in (int, float) and low <= value <= high

    for name, ours in (("eos", config.end_id), ("pad", config.pad_id), ("decoder_start", config.start_id)):
        read(f"{name}_token_id", ours, [ours, [ours]].__contains__)
    alpha = read("length_penalty", 1.0, between(-10, 10))
    ends = read("early_stopping", False, lambda value: isinstance(value, bool | str) and value in ENDS)
    renormalise = read("renormalize_logits", False, lambda value: isinstance(value, bool))
    words = read("bad_words_ids", [], lambda value: isinstance(value, list) and all(map(tokens, value)) and all(value))
    words = [word for word in words if word != [config.end_id]]  # as transformers reads it
    words += [[one] for one in read("suppress_tokens", [], tokens)]
    constraints = Constraints(
        barred=tuple(tuple(word) for word in words if word not in [[one] for one in config.unwritten]),
        barred_first=tuple(read("begin_suppress_tokens", [], tokens)),
        first=read("forced_bos_token_id", None, token),
        last=read("forced_eos_token_id", None, token),
        shortest=read("min_new_tokens", max(0, read("min_length", 0, count) - 1), count),  # min_length counts the start
        repetition=float(read("repetition_penalty", 1.0, between(0.01, 100))),
        n_gram=read("no_repeat_ngram_size", 0, count),
    )
    rule = BeamRule("length", ENDS[ends], renormalise, cut=True, constraints=constraints)
    return rule, float(alpha), ignored(SETTINGS, lost)


def _neutral(value: Any) -> bool:
    """Whether a setting is not set, or to what changes nothing."""
    return value is not True and value in (None, False, 0, 1, [], {})
