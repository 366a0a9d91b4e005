#!/bin/sh
# sacreBLEU splits a text as its language needs, but knows only bare language codes: "zh-CN" is scored as if it were English.
#
# With: sacrebleu 2.6.0, Python 3.11; Linux; tried on 2026-11-28.
#
# BLEU(trg_lang="zh") takes the tokenizer "zh", which splits Chinese into characters. For "zh-CN", "zh-TW", "ja-JP" and
# "ko-KR", as data sets and browsers write languages, it takes "13a" without a word. Chinese has no blanks, so there a
# sentence is a single token, and BLEU is 0 unless it is right to the last character. The signature tells ("tok:13a").
#
# Seen, one character of twelve missing:
#
#     zh     tok:zh   91.31
#     zh-CN  tok:13a  0.00
#
# Fails if "zh-CN" is split as "zh".
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON3:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet sacrebleu==2.6.0
"$folder/venv/bin/python" - <<'PYTHON'
from sacrebleu.metrics import BLEU

seen = {}
for language in ("zh", "zh-CN", "zh-TW", "ja-JP", "ko-KR"):
    bleu = BLEU(trg_lang=language, effective_order=True)
    score = bleu.sentence_score("今天天气很好我们去公园", ["今天天气很好我们去公园玩"]).score
    seen[language] = f"tok:{bleu.tokenizer.signature():4} {score:.2f}"
for language in ("zh", "zh-CN"):
    print(f"{language:6} {seen[language]}")
assert seen.pop("zh") == "tok:zh   91.31"
assert set(seen.values()) == {"tok:13a  0.00"}, "a language with a region is known: this finding is out of date"
PYTHON
