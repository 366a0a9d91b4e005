#!/bin/sh
# On a CPU, a torch.nn.Linear in bfloat16 keeps about half a megabyte for every number of rows that it meets: sentences of
# 256 lengths through one small layer (1.2 MB of weights) take over 100 MB, which stay. In float32 they take next to
# nothing. ONEDNN_PRIMITIVE_CACHE_CAPACITY=16 (default 1024) does not give most of it back.
#
# With: torch 2.13.0 (its oneDNN compiles a kernel for each shape), an x86 processor with AVX-512; tried on 2026-11-29 on
# Linux.
#
# It matters to whoever serves or measures a model in 16 bits, one sentence at a time: memory seems to leak for as long as
# new lengths come, times the number of different layers. Rows of zeros up to a few fixed lengths avoid it.
#
# Seen:
#
#     float32                 256 lengths: +10 MB
#     bfloat16                256 lengths: +174 MB, the same lengths again: +1 MB
#     bfloat16, capacity 16   256 lengths: +116 MB, the same lengths again: +7 MB
#
# Fails if bfloat16 takes less than 40 MB or less than three times what float32 takes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON3:-python3}" -m venv venv
venv/bin/pip install --quiet torch==2.13.0 numpy
cat >try.py <<'PYTHON'
import sys

import torch


def resident() -> int:
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) // 1024


torch.set_num_threads(1)
dtype = getattr(torch, sys.argv[1])
layer = torch.nn.Linear(384, 1536).to(dtype)
sentences = [torch.randn(rows, 384, dtype=dtype) for rows in range(2, 258)]
grown = []
with torch.inference_mode():
    layer(torch.randn(1, 384, dtype=dtype))
    for _ in range(2):
        before = resident()
        for sentence in sentences:
            layer(sentence)
        grown.append(resident() - before)
print(*grown)
PYTHON
plain=$(venv/bin/python try.py float32)
half=$(venv/bin/python try.py bfloat16)
small=$(ONEDNN_PRIMITIVE_CACHE_CAPACITY=16 venv/bin/python try.py bfloat16)
echo "float32                 256 lengths: +${plain% *} MB"
echo "bfloat16                256 lengths: +${half% *} MB, the same lengths again: +${half#* } MB"
echo "bfloat16, capacity 16   256 lengths: +${small% *} MB, the same lengths again: +${small#* } MB"
test "${half% *}" -ge 40 && test "${half% *}" -ge $((3 * ${plain% *})) || { echo "this finding is out of date"; exit 1; }
