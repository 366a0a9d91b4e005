#!/bin/sh
# Making a CTranslate2 model with 8 or 16 bits multiplies the weights of the model that it is made from, in its memory.
#
# With: ctranslate2 4.8.5, numpy 2.4.6, Python 3.11; Linux; tried on 2026-11-28.
#
# A specification (ctranslate2.specs) takes arrays; optimize(quantization=...) turns them into whole numbers and a scale.
# The array is multiplied where it lies, not a copy of it. Whoever fills a specification from a model in use, where a
# torch tensor and its numpy() are the same bytes, has another model afterwards. float16 and float32 change nothing.
# The converters that read files do not show it: nobody else holds their arrays.
#
# Seen, the largest weight of a matrix, which was 0.5 before:
#
#     int8     127.0
#     int16    1024.0
#     float16  0.5
#     float32  0.5
#
# Fails if another quantization changes the array, or one of these leaves it alone.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON3:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet ctranslate2==4.8.5 numpy==2.4.6
cat >"$folder/round.py" <<'PYTHON'
import numpy as np
from ctranslate2.specs import common_spec, model_spec


class OneMatrix(model_spec.LayerSpec):
    def __init__(self):
        self.linear = common_spec.LinearSpec()


for kind in ("int8", "int16", "float16", "float32"):
    weights = np.array([[0.5, -0.25], [0.125, 0.5]], dtype=np.float32)
    spec = OneMatrix()
    spec.linear.weight, spec.linear.bias = weights, np.zeros(2, dtype=np.float32)
    spec.validate()
    spec.optimize(quantization=kind)
    print(f"{kind:8} {weights.max()}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/round.py")
printf '%s\n' "$seen"
test "$seen" = "int8     127.0
int16    1024.0
float16  0.5
float32  0.5"
