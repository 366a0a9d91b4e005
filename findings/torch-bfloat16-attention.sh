#!/bin/sh
# On a CPU, torch's fused attention in bfloat16 takes several times as long as the same three operations one by one where
# sentences are short: 256 sentences of 12 tokens, forwards and backwards, 14 times. In float32 it is the other way round,
# for every length. So fused and 16 bits, each faster alone, are slower together.
#
# With: torch 2.13.0, an x86 processor with AVX-512 and bfloat16, two threads; tried on 2026-11-30 on Linux.
#
# It matters to whoever trains a small translation model on a CPU under autocast, where queries, keys and values come out
# of their layers in bfloat16: a whole update of ours took 0.78 s with the fused kernel and 0.63 s without it.
#
# Seen (milliseconds of the fastest of 8, fused and by hand; batch, heads, tokens, size of a head):
#
#     float32   256 8 12 32   17.4   36.5
#     bfloat16  256 8 12 32   69.5    4.8
#     bfloat16  16 8 192 32   33.9   11.7
#     bfloat16  4 8 768 32    58.7  107.1
#
# Fails if, with 12 tokens, fused bfloat16 is less than 3 times as slow as by hand, or fused float32 is slower.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON3:-python3}" -m venv venv
venv/bin/pip install --quiet torch==2.13.0 numpy
cat >try.py <<'PYTHON'
import sys
import time

import torch
import torch.nn.functional as F


def by_hand(q, k, v):
    return torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, -1) @ v


def seconds(attention, *inputs):
    began = time.perf_counter()
    attention(*inputs).sum().backward()
    return time.perf_counter() - began


torch.set_num_threads(2)
times = {}
for dtype, shape in (
    (torch.float32, (256, 8, 12, 32)),
    (torch.bfloat16, (256, 8, 12, 32)),
    (torch.bfloat16, (16, 8, 192, 32)),
    (torch.bfloat16, (4, 8, 768, 32)),
):
    inputs = [torch.randn(shape, dtype=dtype, requires_grad=True) for _ in range(3)]
    fused, plain = F.scaled_dot_product_attention, by_hand
    assert torch.allclose(fused(*inputs), plain(*inputs), atol=0.05)
    measured = [(seconds(fused, *inputs), seconds(plain, *inputs)) for _ in range(8)]
    times[dtype, shape[2]] = best = [1000 * min(column) for column in zip(*measured)]
    print(str(dtype)[6:], *shape, *(f"{one:.1f}" for one in best), sep="\t")
fused, plain = times[torch.bfloat16, 12]
single, other = times[torch.float32, 12]
sys.exit(not (fused >= 3 * plain and single <= other))
PYTHON
venv/bin/python try.py || { echo "this finding is out of date"; exit 1; }
