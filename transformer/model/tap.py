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
      .products, .bias                      [head, query, key]             with relative positions, not in `cross`: Q
                                                                           K^T times scale, and what is added to it
      .mask                                 [head, query, key], bool       True = may attend
      .scores                               [head, query, key]             Q K^T times scale, plus bias; masked cells
                                                                           -inf
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
      .gate                                 [token, d_ff]                  x V, with gated=True: a factor of .activation

    encoder.output, decoder.output          [source | target, d_model]     the output of the stack
    logits                                  [target, vocab]                output @ embedding^T, before softmax

L counts from 0, as everything in Python; switches as text, messages and pages count from 1. The tensors of all layers
together have the names of a Trace's fields: "cross.weights" is "decoder.0.cross.weights", "decoder.1.cross.weights",
..., "encoder_ff.activation" is "encoder.0.ff.activation", ..., "source_embedding" is "source.embedding"; and
"cross.1.weights" is "decoder.1.cross.weights". Whatever takes a name takes each of them (`in_layers`).
`Pretrained.names` lists the tensors of a model with their shapes.
"""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Self

from torch import Tensor

from transformer.texts import N_, Text, UserError, any_of, nearest

Edit = Callable[..., Tensor]  # of the tensor; or of the tensor and those of its pass so far, by name (`reads`)

KINDS = ("encoder_self", "decoder_self", "cross")  # the three kinds of attention (section 3.2.3)
STACKS = ("encoder", "decoder")
SIDES = ("source", "target")  # the text that each stack reads


def scope(kind: str, layer: int) -> str:
    """The prefix of an attention sub-layer's names: ("cross", 0) -> "decoder.0.cross."."""
    stack = "encoder" if kind == "encoder_self" else "decoder"
    return f"{stack}.{layer}.{'cross' if kind == 'cross' else 'self'}."


_FIELD = re.compile(r"(cross|encoder_self|decoder_self|encoder_ff|decoder_ff)\.(\w+)")
_LAYER = re.compile(r"(encoder|decoder)\.\d+\.(self|cross|ff)\.(\w+)")
_WHOLE = re.compile(r"(source|target|encoder|decoder)[._](\w+)")


def in_layers(name: str, encoder: int, decoder: int) -> list[str]:
    """The tensors that a name means, as in the table of this module. encoder, decoder: how many layers they have."""
    if found := _FIELD.fullmatch(name):
        kind, field = found.groups()
        stack, _, part = ("decoder", "", kind) if kind == "cross" else kind.partition("_")
        return [f"{stack}.{layer}.{part}.{field}" for layer in range(encoder if stack == "encoder" else decoder)]
    found = _WHOLE.fullmatch(name)
    return [".".join(found.groups()) if found else by_stack(name)]


_SUB_LAYER = re.compile(r"(encoder|decoder)\.([^.]+)\.(self|cross|ff)((?:\..*)?)", re.DOTALL)
_KIND = re.compile(r"(cross|encoder_self|decoder_self|encoder_ff|decoder_ff)\.([^.]+)((?:\..*)?)", re.DOTALL)


def by_kind(name: str) -> str:
    """The name of a sub-layer, with what follows, as a kind and a layer: "decoder.1.cross.4" -> "cross.1.4"."""
    found = _SUB_LAYER.fullmatch(name)
    if found is None or found[1] + found[3] == "encodercross":
        return name
    stack, layer, part, rest = found.groups()
    return f"{part if part == 'cross' else f'{stack}_{part}'}.{layer}{rest}"


def by_stack(name: str) -> str:
    """The same the other way round: "cross.1" -> "decoder.1.cross"."""
    found = _KIND.fullmatch(name)
    if found is None:
        return name
    kind, layer, rest = found.groups()
    stack, _, part = ("decoder", "", kind) if kind == "cross" else kind.partition("_")
    return f"{stack}.{layer}.{part}{rest}"


def across_layers(name: str) -> str:
    """The field of a Trace that has a tensor: "decoder.1.cross.weights" -> "cross.weights"."""
    if found := _LAYER.fullmatch(name):
        stack, part, field = found.groups()
        return f"{part if part == 'cross' else f'{stack}_{part}'}.{field}"
    found = _WHOLE.fullmatch(name)
    return "_".join(found.groups()) if found else name


def check_stack(stack: str) -> str:
    """The same name. Raises UserError if it is not in STACKS."""
    if stack not in STACKS:
        raise UserError("unknown stack {stack!r}; choose {stacks}", stack=stack, stacks=any_of(STACKS, stack))
    return stack


class TapError(UserError):
    """A name that is recorded twice, an edit that changes the shape or makes NaN, or one of a tensor that does not
    exist."""


def reads(edit: Edit) -> bool:
    """Whether an edit wants the other tensors of its pass: it has to be called with two arguments."""
    try:
        parameters = inspect.signature(edit).parameters.values()
    except (TypeError, ValueError):  # of a function written in C
        return False
    by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(one.kind in by_place and one.default is one.empty for one in parameters) == 2


class Records(dict[str, Tensor]):
    """The tensors of a pass so far, after their edits, by the names of this module."""

    def __missing__(self, name: str) -> Tensor:
        raise TapError(
            "an edit reads {name!r}, which is not computed yet or does not exist; help(transformer.model.tap) lists "
            "the names in the order of the paper, for example {near}",
            name=name, near=nearest(name, self) or "source.embedding",
        )  # fmt: skip


class Off:
    """Records nothing and edits nothing.

    fused: attention may use PyTorch's fused kernel, which never computes the weights. For decoding and scoring: the
    result is the same up to rounding. Without it, a pass gives the same bits as a recorded pass.
    """

    replays = False
    checks = True

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

    edits: name (as in the table of this module) -> function of the tensor; it must keep shape and dtype. A function
        of two arguments also gets the tensors that the pass has computed before, after their edits.
    records: name -> tensor, in the order of computation.
    replays: whether later decoding steps change the results of earlier ones, as when an edit opens the causal mask.
    checks: whether lengths and positions are checked; False while a pass is exported, where they have no values yet.

    Raises TapError; call `finish` after the pass to check that every edit found its tensor.
    """

    fused = False
    replays = True
    checks = True

    def __init__(self, edits: Mapping[str, Edit] | None = None) -> None:
        self.edits = dict(edits or {})
        self.reading = frozenset(name for name, edit in self.edits.items() if reads(edit))
        self.records = Records()
        self._prefix = ""

    def at(self, scope: str) -> Self:
        """The same tap, with the prefix `scope.` for every name."""
        inner = copy.copy(self)
        inner._prefix = f"{self._prefix}{scope}."
        return inner

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        name = self._prefix + name
        if name in self.records:
            raise TapError("{name} was recorded twice; use a new tap for each pass", name=name)
        if self.edits and name in self.edits:
            tensor = self._edited(name, tensor)
        self.records[name] = tensor
        return tensor

    def _edited(self, name: str, tensor: Tensor) -> Tensor:
        """What the edit of a tensor returns. Raises TapError if it is no tensor of the same shape and type."""
        shape, dtype, edit = list(tensor.shape), tensor.dtype, self.edits[name]
        result: object = edit(tensor, self.records) if name in self.reading else edit(tensor)
        if not isinstance(result, Tensor):
            raise TapError(
                "the edit of {name} returned {type}; it must return a tensor, {shape} {dtype}",
                name=name, type=type(result).__name__, shape=shape, dtype=dtype,
            )  # fmt: skip
        if list(result.shape) != shape or result.dtype != dtype:
            raise TapError(
                "the edit of {name} returned {shape} {dtype}; it must keep {old_shape} {old_dtype}",
                name=name, shape=list(result.shape), dtype=result.dtype, old_shape=shape, old_dtype=dtype,
            )  # fmt: skip
        return result

    @property
    def off(self) -> bool:
        return False

    def finish(self) -> dict[str, Tensor]:
        """The recorded tensors. Raises TapError if an edit found no tensor of its name."""
        _check_names(self.edits, self.records)
        return self.records


class EditingTap(Tap):
    """Edits, and records only if an edit reads: for the many passes of decoding.

    names: of the tensors it has seen. explain: called with the ids of the source and those fed in, [batch, token] each,
    after a step of decoding whose probabilities are no numbers; raises TapError if a person's edits are the reason.
    """

    def __init__(
        self,
        edits: Mapping[str, Edit],
        replays: bool = True,
        explain: Callable[[Tensor, Tensor], object] | None = None,
    ) -> None:
        super().__init__(edits)
        self.replays, self.explain = replays, explain
        self.names: set[str] = set()

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        name = self._prefix + name
        self.names.add(name)
        try:
            tensor = tensor if name not in self.edits else self._edited(name, tensor)
            if self.reading:
                self.records[name] = tensor
            return tensor
        except (IndexError, RuntimeError) as error:
            raise TapError(
                "the edit of {name} failed while the model was decoding, where it gets the shape {shape}: {reason}; "
                "write it for any number of target tokens, or give a target",
                name=name, shape=list(tensor.shape), reason=error,
            ) from error  # fmt: skip

    def check_names(self) -> None:
        """Raises TapError if an edit found no tensor of its name."""
        _check_names(self.edits, self.names)


def _check_names(edits: Collection[str], names: Collection[str]) -> None:
    missing = sorted(set(edits) - set(names))
    if missing:
        raise TapError("{error}", error=no_tensor(missing[0], names))


def no_tensor(name: str, names: Iterable[str]) -> Text:
    """What to say of a name that is not among those of a pass."""
    near = nearest(name, dict.fromkeys(form for one in names for form in (across_layers(one), one)))
    if near is None:
        text = N_("there is no tensor {name!r}; help(transformer.model.tap) lists the names, for example {example}")
    else:
        text = N_("there is no tensor {name!r}; did you mean {near}? help(transformer.model.tap) lists the names")
    return Text(text, name=name, near=near, example="decoder.0.cross.weights")


AnyTap = Off | Tap
