#!/bin/sh
# kiwipiepy's `join` puts morphemes together and fits every particle and ending to what stands before it (을 or 를, 는다 or
# ㄴ다, 습니다 or ㅂ니다), but not the commonest ending of 이다: after a vowel it writes 에요, after a consonant 예요 stays, and
# both are misspelt. The past of the same word comes out right.
#
# With: kiwipiepy 0.24.1, kiwipiepy_model 0.24.0, Python 3.11; tried on 2026-11-29 on Linux.
#
# It matters to whoever conjugates Korean by exchanging the last ending of an analysis, e.g. to vary the style of training
# text: a noun keeps the spelling that its old sentence's noun asked for. `tokenize` does not show it, because it keeps
# 에요 and 예요 apart, so an analysis joined again unchanged is right.
#
# Seen (the last column is the spelling of the standard, where it differs):
#
#     의사 을 보 는다        의사를 본다
#     사람 를 먹 ㄴ다        사람을 먹는다
#     작가 이 습니다         작가입니다
#     작가 이 었 어요        작가였어요
#     작가 이 에요           작가에요        작가예요
#     학생 이 예요           학생이예요      학생이에요
#
# Fails if kiwipiepy no longer does this.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet kiwipiepy==0.24.1 kiwipiepy_model==0.24.0
cat >try.py <<'PYTHON'
from kiwipiepy import Kiwi

N = "\u11ab"  # a final ㄴ, as kiwipiepy writes it
FOUND = {
    (("의사", "NNG"), ("을", "JKO"), ("보", "VV"), ("는다", "EF")): "의사를 본다",
    (("사람", "NNG"), ("를", "JKO"), ("먹", "VV"), (N + "다", "EF")): "사람을 먹는다",
    (("작가", "NNG"), ("이", "VCP"), ("습니다", "EF")): "작가입니다",
    (("작가", "NNG"), ("이", "VCP"), ("었", "EP"), ("어요", "EF")): "작가였어요",
    (("작가", "NNG"), ("이", "VCP"), ("에요", "EF")): "작가에요",
    (("학생", "NNG"), ("이", "VCP"), ("예요", "EF")): "학생이예요",
}
kiwi = Kiwi()
for morphemes, expected in FOUND.items():
    joined = kiwi.join(morphemes)
    print(*(form for form, _ in morphemes), "->", joined)
    assert joined == expected, "this finding is out of date"
PYTHON
venv/bin/python try.py
