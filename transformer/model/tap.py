"""Record and edit the tensors of one pass. Each tensor gets its name where it is computed.

`Transformer.forward` and everything below it take a `tap` and pass each tensor through it. `OFF` returns the tensor
unchanged; a `Tap` records it and may replace it. A tap belongs to one pass, so viewers who share a model never see each
other's tensors (with hooks on shared modules they would). The recorded tensors; every shape starts with `batch`:

    name                                    shape                          what it is
    --------------------------------------  -----------------------------  -------------------------------------------
    source.embedding                        [source, d_model]              embeddings times sqrt(d_model), section 3.4
    source.position_ids                     [source]  (no batch), whole    position of each token, from 0
    source.positions                        [source, d_model]  (no batch)  the positions added to them, section 3.5
    target.embedding, target.positions      [target, d_model]              the same for the decoder's input
    target.position_ids                     [target]  (no batch), whole

    encoder.L.self.* / decoder.L.self.* / decoder.L.cross.*                attention sub-layers, L = 0, 1, ...
      .enters                               [query, d_model]               x, the input of the sub-layer
      .queries                              [head, query, d_k]             Q = x W^Q, split into heads
      .keys                                 [head, key, d_k]               K, from x, or from memory for `cross`
      .values                               [head, key, d_head]            V, likewise; usually d_k = d_head
      .mask                                 [head, query, key], bool       True = may attend
      .scores                               [head, query, key]             Q K^T times scale, masked cells -inf
      .weights                              [head, query, key]             softmax of scores over keys; no dropout
      .head_outputs                         [head, query, d_head]          weights times V, before W^O
      .update                               [query, d_model]               the sub-layer's result, Sublayer(x)
      .sum                                  [query, d_model]               x + Sublayer(x), after dropout in training;
                                                                           with residual=False the update alone
      .leaves                               [query, d_model]               LayerNorm(sum); with norm="pre" or "none" the
                                                                           sum itself

    encoder.L.ff.* / decoder.L.ff.*                                        feed-forward sub-layers
      .enters, .update, .sum, .leaves       [token, d_model]               as above
      .pre_activation, .activation          [token, d_ff]                  before and after the non-linearity

    encoder.output, decoder.output          [source | target, d_model]     the output of the stack
    logits                                  [target, vocab]                output @ embedding^T, before softmax
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from torch import Tensor

from transformer.texts import UserError

Edit = Callable[[Tensor], Tensor]

KINDS = ("encoder_self", "decoder_self", "cross")  # the three kinds of attention (section 3.2.3)
STACKS = ("encoder", "decoder")
SIDES = ("source", "target")  # the text that each stack reads


def scope(kind: str, layer: int) -> str:
    """The prefix of an attention sub-layer's names: ("cross", 0) -> "decoder.0.cross."."""
    stack = "encoder" if kind == "encoder_self" else "decoder"
    return f"{stack}.{layer}.{'cross' if kind == 'cross' else 'self'}."


def check_stack(stack: str) -> str:
    """The same name. Raises ValueError if it is not in STACKS."""
    if stack not in STACKS:
        raise ValueError(f"unknown stack {stack!r}; choose {' or '.join(STACKS)}")
    return stack


class TapError(UserError):
    """A name that is recorded twice, an edit that changes the shape, or an edit of a tensor that does not exist."""


class Off:
    """Records nothing and edits nothing.

    fused: attention may use PyTorch's fused kernel, which never computes the weights. For decoding and scoring: the
    result is the same up to rounding. Without it, a pass gives the same bits as a recorded pass.
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
    """Records every tensor of one pass, after its edits.

    edits: name (as in the table of this module) -> function of the tensor; it must keep shape and dtype.
    records: name -> tensor, in the order of computation.
    replays: whether later decoding steps change the results of earlier ones, as when an edit opens the causal mask.

    Raises TapError; call `finish` after the pass to check that every edit found its tensor.
    """

    fused = False
    replays = True

    def __init__(self, edits: Mapping[str, Edit] | None = None) -> None:
        self.edits = dict(edits or {})
        self.records: dict[str, Tensor] = {}
        self._prefix = ""

    def at(self, scope: str) -> Tap:
        """The same tap, with the prefix `scope.` for every name."""
        inner = object.__new__(Tap)
        inner.edits, inner.records, inner._prefix = self.edits, self.records, f"{self._prefix}{scope}."
        return inner

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        name = self._prefix + name
        if name in self.records:
            raise TapError("{name} was recorded twice; use a new tap for each pass", name=name)
        if self.edits and name in self.edits:
            edited = self.edits[name](tensor)
            if edited.shape != tensor.shape or edited.dtype != tensor.dtype:
                raise TapError(
                    "the edit of {name} returned {shape} {dtype}; it must keep {old_shape} {old_dtype}",
                    name=name,
                    shape=list(edited.shape),
                    dtype=edited.dtype,
                    old_shape=list(tensor.shape),
                    old_dtype=tensor.dtype,
                )
            tensor = edited
        self.records[name] = tensor
        return tensor

    @property
    def off(self) -> bool:
        return False

    def finish(self) -> dict[str, Tensor]:
        """The recorded tensors. Raises TapError if an edit found no tensor of its name."""
        missing = sorted(set(self.edits) - set(self.records))
        if missing:
            raise TapError(
                "this pass has no tensor {missing}; it has {names}",
                missing=missing[0],
                names=", ".join(self.records),
            )
        return self.records


class EditingTap(Tap):
    """Edits but records nothing: for the many passes of decoding with switches."""

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
