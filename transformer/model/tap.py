"""Watching one pass through the model: every tensor is named once, where it is born.

`Model.forward` and everything below it take a `tap` and hand it each tensor. `OFF` gives the tensor back and keeps
nothing; a `Tap` records it and may exchange it for another. A tap belongs to one pass, so viewers who share a model
never meet in it (hooks on shared modules do meet). What is recorded, with `batch` in front of every shape:

    name                                    shape                          what it is
    --------------------------------------  -----------------------------  -------------------------------------------
    source.embedding                        [source, d_model]              embeddings times sqrt(d_model), section 3.4
    source.position_ids                     [source]  (no batch), whole    which position each token is at, from 0
    source.positions                        [source, d_model]  (no batch)  what is added to them, section 3.5
    target.embedding, target.positions      [target, d_model]              the same for the decoder's input
    target.position_ids                     [target]  (no batch), whole

    encoder.L.self.* / decoder.L.self.* / decoder.L.cross.*                attention sub-layers, L = 0, 1, ...
      .enters                               [query, d_model]               x, what enters the sub-layer
      .queries                              [head, query, d_k]             Q = x W^Q, split into heads
      .keys                                 [head, key, d_k]               K, from x, or from memory for `cross`
      .values                               [head, key, d_head]            V, likewise; d_k is d_head as a rule
      .mask                                 [head, query, key], bool       True = may attend
      .scores                               [head, query, key]             Q K^T times scale, hidden cells -inf
      .weights                              [head, query, key]             softmax of scores over keys; no dropout
      .head_outputs                         [head, query, d_head]          weights times V, before W^O
      .update                               [query, d_model]               what the sub-layer returns, Sublayer(x)
      .sum                                  [query, d_model]               x + Sublayer(x), or with residual=False the
                                                                           update, after a training's dropout
      .leaves                               [query, d_model]               LayerNorm(sum); with norm="pre" or "none" the
                                                                           sum itself

    encoder.L.ff.* / decoder.L.ff.*                                        feed-forward sub-layers
      .enters, .update, .sum, .leaves       [token, d_model]               as above
      .pre_activation, .activation          [token, d_ff]                  before and after the non-linearity

    encoder.output, decoder.output          [source | target, d_model]     what leaves the stack
    logits                                  [target, vocab]                output @ embedding^T, before softmax
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from torch import Tensor

from transformer.texts import UserError

Edit = Callable[[Tensor], Tensor]

KINDS = ("encoder_self", "decoder_self", "cross")  # the three kinds of attention (section 3.2.3)
STACKS = ("encoder", "decoder")
SIDES = ("source", "target")  # whose tokens run through them


def scope(kind: str, layer: int) -> str:
    """What stands before the names of an attention sub-layer: ("cross", 0) -> "decoder.0.cross."."""
    stack = "encoder" if kind == "encoder_self" else "decoder"
    return f"{stack}.{layer}.{'cross' if kind == 'cross' else 'self'}."


def check_stack(stack: str) -> str:
    """The name of a stack. Raises ValueError for one that is none of STACKS."""
    if stack not in STACKS:
        raise ValueError(f"{stack!r} is no stack; there are {' and '.join(STACKS)}")
    return stack


class TapError(UserError):
    """A name recorded twice, an edit that changes a shape, or an edit whose name never came up."""


class Off:
    """Keeps nothing and edits nothing.

    fused: let attention use PyTorch's fused kernel, which never builds the weights. Same result up to rounding, for
    decoding and scoring; without it the arithmetic is that of a recorded pass to the last bit.
    """

    replays = False

    def __init__(self, fused: bool = False) -> None:
        self.fused = fused

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        return tensor

    def at(self, scope: str) -> Off:
        return self

    @property
    def off(self) -> bool:
        return True


OFF = Off()
FUSED = Off(fused=True)


class Tap:
    """Records every tensor of one pass, after the edits a person asked for.

    edits: name (as in the table of this module) -> function of the tensor; it must keep shape and dtype.
    records: name -> tensor, in order of birth.
    replays: whether what a step of decoding computed does not stay true, as where an edit lets the future in.

    Raises TapError as described there; call `finish` after the pass to hear of edits that met no tensor.
    """

    fused = False
    replays = True

    def __init__(self, edits: Mapping[str, Edit] | None = None) -> None:
        self.edits = dict(edits or {})
        self.records: dict[str, Tensor] = {}
        self._prefix = ""

    def at(self, scope: str) -> Tap:
        """The same tap, with `scope.` in front of every name."""
        inner = object.__new__(Tap)
        inner.edits, inner.records, inner._prefix = self.edits, self.records, f"{self._prefix}{scope}."
        return inner

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        name = self._prefix + name
        if name in self.records:
            raise TapError("{name} was recorded twice; a tap serves one pass, make a new one for the next", name=name)
        if self.edits and name in self.edits:
            edited = self.edits[name](tensor)
            if edited.shape != tensor.shape or edited.dtype != tensor.dtype:
                raise TapError(
                    "the edit of {name} returned {shape} {dtype}; it must keep {shape2} {dtype2}",
                    name=name,
                    shape=list(edited.shape),
                    dtype=edited.dtype,
                    shape2=list(tensor.shape),
                    dtype2=tensor.dtype,
                )
            tensor = edited
        self.records[name] = tensor
        return tensor

    @property
    def off(self) -> bool:
        return False

    def finish(self) -> dict[str, Tensor]:
        """What was recorded. Raises TapError if an edit's name never came up."""
        missed = sorted(set(self.edits) - set(self.records))
        if missed:
            raise TapError(
                "no tensor named {missed} came up in this pass; it has {records}",
                missed=missed[0],
                records=", ".join(self.records),
            )
        return self.records


class EditingTap(Tap):
    """Edits and keeps nothing: for the many passes of decoding under switches."""

    def __init__(self, edits: Mapping[str, Edit], replays: bool = True) -> None:
        super().__init__(edits)
        self.replays = replays

    def at(self, scope: str) -> EditingTap:
        inner = object.__new__(EditingTap)
        inner.replays = self.replays
        inner.edits, inner.records, inner._prefix = self.edits, self.records, f"{self._prefix}{scope}."
        return inner

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        edit = self.edits.get(self._prefix + name)
        return tensor if edit is None else edit(tensor)


AnyTap = Off | Tap
