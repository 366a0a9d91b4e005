"""Which of sacreBLEU's tokenizers suits a language, and what is said where it is not installed."""

import pytest
import sacrebleu.metrics

from transformer.analysis.bleu import bleu
from transformer.text import bleu_tokenizers
from transformer.text.bleu_tokenizers import (
    NEEDS,
    TOKENIZERS,
    USUAL,
    missing_tokenizer,
    own_tokenizer,
    tokenizer_for,
    usable,
)
from transformer.text.sacrebleu import BLEU
from transformer.texts import UserError


def test_every_tokenizer_is_one_of_sacrebleus_and_its_own_choice_for_bare_codes() -> None:
    assert set(TOKENIZERS) <= set(sacrebleu.metrics.BLEU.TOKENIZERS)
    chosen = sacrebleu.metrics.BLEU._TOKENIZER_MAP
    assert {code: own_tokenizer(code) for code in chosen} == chosen
    assert sacrebleu.metrics.BLEU.TOKENIZER_DEFAULT == USUAL


@pytest.mark.parametrize(
    ("tokenizer", "names"),
    [
        ("ko-mecab", ["Korean", "ko", "ko-KR", "kor_Hang", "Korean numerals or digits"]),
        ("ja-mecab", ["Japanese", "ja_JP", "jpn_Jpan", "jap"]),
        ("zh", ["Chinese", "zh-CN", "zho_Hans", "cmn", "Chinese (traditional)"]),
        ("char", ["Thai", "th", "mya_Mymr"]),
        (USUAL, ["German", "de", "kok", "", "letters", "Zhuang"]),
    ],
)
def test_names_and_codes_of_a_language_are_known(tokenizer: str, names: list[str]) -> None:
    assert [own_tokenizer(name) for name in names] == [tokenizer] * len(names)


def test_characters_stand_in_for_a_tokenizer_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bleu_tokenizers.importlib.util, "find_spec", lambda name: None)
    assert [tokenizer_for(name) for name in ("ko", "ja", "zh", "de")] == ["char", "char", "zh", USUAL]
    assert "ja-mecab, the tokenizer for Japanese, is not installed" in missing_tokenizer("Japanese")
    assert "" == missing_tokenizer("Chinese") == missing_tokenizer("German")


@pytest.mark.parametrize("tokenizer", sorted(NEEDS))
def test_a_tokenizer_is_usable_or_the_message_says_what_to_install(tokenizer: str) -> None:
    if usable(tokenizer):
        assert BLEU(tokenizer).tokenizer_signature.startswith(tokenizer)
        return
    with pytest.raises(UserError, match=rf"{tokenizer} is not installed; run pip install 'sacrebleu\[..\]', or"):
        BLEU(tokenizer)


@pytest.mark.parametrize("tokenizer", [name for name in TOKENIZERS if usable(name) and name != "flores200"])
def test_a_sentence_scores_as_in_sacrebleu(tokenizer: str) -> None:
    hypothesis, references = (
        "나는 어제 학교에 안 갔다. 我今天去学校。",
        ["나는 어제 학교에 갔다. 我昨天去学校。"],
    )
    found = bleu(hypothesis, references, tokenizer)
    assert found.score == sacrebleu.sentence_bleu(hypothesis, references, tokenize=tokenizer).score > 0
    assert f"|tok:{tokenizer}" in found.signature
