#!/bin/sh
# torch.onnx.export gives axes the names of other axes, without a word, where the entries of dynamic_shapes stand in
# another order than those of the input.
#
# With: torch 2.13.0, onnx 1.23.2, onnxscript 0.7.2, Python 3.11; CPU; tried on 2026-11-27.
#
# An input is a dict of two matrices with any number of rows; dynamic_shapes is a dict with the same keys. torch.export
# matches both by their keys, so the axes that may vary are always the right ones. torch.onnx.export then names these
# axes by position: with b listed before a, the rows of a are called b_rows. There is no error and no warning of it.
#
# It matters to whatever reads the names afterwards, such as a program that makes its inputs by them. Seen, with the
# entries of dynamic_shapes in the order of the input, then in the other order:
#
#     in order   a ['a_rows', 5]  b ['b_rows', 3]
#     reversed   a ['b_rows', 5]  b ['a_rows', 3]
#
# Fails if torch no longer does this.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON3:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet torch==2.13.0 onnx==1.23.2 onnxscript==0.7.2
"$folder/venv/bin/python" - <<'PYTHON'
import torch
from torch.export import Dim


class Sums(torch.nn.Module):
    def forward(self, inputs):
        return inputs["a"].sum() + inputs["b"].sum()


inputs = {"a": torch.ones(7, 5), "b": torch.ones(11, 3)}
axes = {"a": {0: Dim("a_rows")}, "b": {0: Dim("b_rows")}}


def names(shapes):
    program = torch.onnx.export(
        Sums().eval(), kwargs={"inputs": inputs}, dynamic_shapes={"inputs": shapes}, dynamo=True, input_names=["a", "b"],
        verbose=False,
    )
    found = {
        value.name: [axis.dim_param or axis.dim_value for axis in value.type.tensor_type.shape.dim]
        for value in program.model_proto.graph.input
    }
    return "  ".join(f"{name} {shape}" for name, shape in found.items())


in_order = names(axes)
reversed_order = names(dict(reversed(axes.items())))
print("in order  ", in_order)
print("reversed  ", reversed_order)
assert in_order == "a ['a_rows', 5]  b ['b_rows', 3]"
assert reversed_order == "a ['b_rows', 5]  b ['a_rows', 3]", "the names are right: this finding is out of date"
PYTHON
