#!/bin/sh
# onnx refuses a model whose file of weights has a second name, and says that this may be an attack.
#
# With: onnx 1.23.2, onnxruntime 1.32.0, numpy 2.4.6, Python 3.11; Linux; tried on 2026-11-27.
#
# Weights beside a graph (external data) are an ordinary file in the graph's own folder. As soon as this file has another
# hard link anywhere, onnx.load raises a ValidationError. Installers that link from their cache, incremental backups
# and `cp -l` make such links, so the same folder is good on one machine and refused on another, though no byte differs.
# onnxruntime reads both. With load_external_data=False the graph alone can be read.
#
# Seen:
#
#     one name   onnx reads 12 numbers, onnxruntime computes 15.0
#     two names  onnx: ValidationError, onnxruntime computes 15.0
#
# Fails if onnx reads the second, too.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON3:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import os

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

weights = numpy_helper.from_array(np.full((3, 4), 5, np.float32), "weights")
graph = helper.make_graph(
    [helper.make_node("MatMul", ["x", "weights"], ["y"])], "product",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])], [weights],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
onnx.save(model, "model.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)


def seen():
    try:
        size = numpy_helper.to_array(onnx.load("model.onnx").graph.initializer[0]).size
        read = f" reads {size} numbers"
    except onnx.checker.ValidationError:
        read = ": ValidationError"
    session = onnxruntime.InferenceSession("model.onnx", providers=["CPUExecutionProvider"])
    (result,) = session.run(None, {"x": np.ones((1, 3), np.float32)})
    return f"onnx{read}, onnxruntime computes {result[0, 0]}"


one = seen()
os.link("weights.bin", "another-name.bin")
two = seen()
print("one name  ", one)
print("two names ", two)
assert one == "onnx reads 12 numbers, onnxruntime computes 15.0"
assert two == "onnx: ValidationError, onnxruntime computes 15.0", "onnx reads it: this finding is out of date"
PYTHON
