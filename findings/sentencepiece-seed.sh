#!/bin/sh
# A seed does not let SentencePiece's sampling be repeated: two runs differ. But it makes all threads of a run draw alike.
#
# With: sentencepiece 0.2.3, Python 3.11; Linux; tried on 2026-11-28.
#
# Subword regularisation draws another segmentation each time (enable_sampling=True). After set_random_generator_seed(7)
# a new process draws others than the last one, so training on samples cannot be repeated. Within a process, each
# thread has its own generator, and all of them start alike: every worker of a pool makes the same "random" choices, and
# a thread for each sentence gives each its first draw. Without a seed, threads differ.
#
# Seen, three draws in each of three threads, in each of three runs:
#
#     with a seed     1 list of draws among the threads of a run, 3 lists among the runs
#     without a seed  3 lists of draws among the threads of a run, 9 lists among the runs
#
# Fails if a seed repeats a run, or if threads differ after it.
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

text = ["the quick brown fox jumps over the lazy dog", "translation of words with attention", "it learns to translate"]
model = io.BytesIO()
sentencepiece.SentencePieceTrainer.train(
    sentence_iterator=iter(text * 50), model_writer=model, vocab_size=80, model_type="unigram",
    hard_vocab_limit=False, minloglevel=2,
)
processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
if sys.argv[1] == "with":
    sentencepiece.set_random_generator_seed(7)


def draw():
    options = {"out_type": str, "enable_sampling": True, "alpha": 0.1, "nbest_size": -1}
    print([processor.encode(text[0] + " of translation", **options) for _ in range(3)])


for _ in range(3):
    thread = threading.Thread(target=draw)
    thread.start()
    thread.join()
PYTHON
seen=$(for seed in with without; do
    for run in 1 2 3; do
        "$folder/venv/bin/python" "$folder/draw.py" $seed >"$folder/$seed.$run"
    done
    echo "$(sort -u "$folder/$seed.1" | wc -l) $(sort -u "$folder/$seed".? | wc -l)"
done)
printf '%s\n' "$seen" | { read -r a b; read -r c d; printf '%s\n' \
    "with a seed     $a list of draws among the threads of a run, $b lists among the runs" \
    "without a seed  $c lists of draws among the threads of a run, $d lists among the runs"; }
test "$seen" = "1 3
3 9"
