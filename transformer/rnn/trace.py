"""A RecurrentTrace: every tensor of one pass of the recurrent model, frozen, with its tokens."""

from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.rnn.model import RecurrentModel
from transformer.tracing.trace import TracedPair


@dataclass(frozen=True)
class RecurrentTrace(TracedPair):
    """One teacher-forced pass over one pair of texts: batch of one, float32.

    Row i of a tensor of the decoder is the step that is fed target_in[i] and predicts target_out[i].

    field                     shape                what it is (Bahdanau et al. 2015, appendix A)
    ------------------------  -------------------  ---------------------------------------------------------------
    source_tokens, own, ..    tokens, texts        as in `transformer.tracing.trace.Trace`
    annotations               [source, 2 n]        h_j: forward state and backward state side by side
    first_state               [n]                  s_0
    states                    [target, n]          s_i
    reset, update             [target, n]          the gates r_i and z_i
    scores                    [target, source]     e_ij = v_a^T tanh(W_a s_{i-1} + U_a h_j); [target, 0] without
                                                   attention
    weights                   [target, source]     alpha_ij, softmax of the scores over the source; as scores
    contexts                  [target, 2 n]        c_i, weights times annotations
    outputs                   [target, l]          t_i, after maxout
    logits                    [target, vocab]      before the last softmax
    probabilities             [target]             softmax(logits) of the target_out tokens
    """

    annotations: Tensor
    first_state: Tensor
    states: Tensor
    reset: Tensor
    update: Tensor
    scores: Tensor
    weights: Tensor
    contexts: Tensor
    outputs: Tensor
    logits: Tensor
    probabilities: Tensor

    def __repr__(self) -> str:
        return f"RecurrentTrace({self._summary()})"


@torch.inference_mode()
def trace_pass(model: RecurrentModel, source: Tensor, target_in: Tensor, target_out: Tensor) -> dict[str, Tensor]:
    """The tensor fields of a RecurrentTrace. source: ids [1, source]; target_in, target_out: ids [1, target]."""
    annotations = model.encode(source)
    steps = model.steps(target_in, annotations, source)

    def rows(name: str) -> Tensor:
        return torch.cat([getattr(step, name) for step in steps])

    outputs = rows("output")
    logits = model.project(outputs)
    tensors = {
        "annotations": annotations[0],
        "first_state": model.begin(annotations)[0],
        "states": rows("state"),
        "contexts": rows("context"),
        "outputs": outputs,
        "logits": logits,
        "probabilities": logits.softmax(-1).gather(1, target_out[0, :, None])[:, 0],
        **{name: rows(name) for name in ("reset", "update", "scores", "weights")},
    }
    return {name: tensor.cpu() for name, tensor in tensors.items()}
