#!/bin/sh
# After set_random_generator_seed, every new thread of SentencePiece draws the same segmentations from the start.
#
# With: sentencepiece 0.2.3, Python 3.11; Linux; tried on 2026-11-28.
#
# Subword regularisation draws another segmentation each time (enable_sampling=True). The generator belongs to a thread, and
# each starts from the seed that was set for the whole program. So a pool of threads that prepares training data gives every
# worker the same "random" choices, and a thread for each sentence gives each sentence its first draw again and again. Without
# a seed, threads differ.
#
# Seen, three draws in each of three threads:
#
#     with a seed     3 different draws in a thread, 1 different list among threads
#     without a seed  3 different draws in a thread, 3 different lists among threads
#
# Fails if threads differ after a seed was set.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON3:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet sentencepiece==0.2.3
cat >"$folder/draw.py" <<'PYTHON'
import io
import sys
import threading

import sentencepiece

text = ["the quick brown fox jumps over the lazy dog", "translation of words with attention", "a model learns to translate"]
model = io.BytesIO()
sentencepiece.SentencePieceTrainer.train(
    sentence_iterator=iter(text * 50), model_writer=model, vocab_size=80, model_type="unigram", hard_vocab_limit=False,
    minloglevel=2,
)
processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
if sys.argv[1] == "with":
    sentencepiece.set_random_generator_seed(7)
lists = []


def draw():
    options = {"out_type": str, "enable_sampling": True, "alpha": 0.1, "nbest_size": -1}
    lists.append(tuple(" ".join(processor.encode(text[0] + " of translation", **options)) for _ in range(3)))


for _ in range(3):
    thread = threading.Thread(target=draw)
    thread.start()
    thread.join()
print(f"{len(set(lists[0]))} different draws in a thread, {len(set(lists))} different list{'s' * (len(set(lists)) > 1)} among threads")
PYTHON
with=$("$folder/venv/bin/python" "$folder/draw.py" with)
without=$("$folder/venv/bin/python" "$folder/draw.py" without)
printf 'with a seed     %s\nwithout a seed  %s\n' "$with" "$without"
test "$with" = "3 different draws in a thread, 1 different list among threads"
test "$without" = "3 different draws in a thread, 3 different lists among threads"
