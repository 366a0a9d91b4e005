"""The masks of section 3.2.3, switched off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.interventions.switch import (
    EVERYWHERE,
    InterventionError,
    OffSwitch,
    OffTexts,
    SubLayer,
    Where,
    per_head,
    unknown,
)
from transformer.model.tap import Edit
from transformer.texts import N_

MASKED = {"causal": ("decoder_self",), "padding": ("encoder_self", "cross")}  # only the source is ever padded


@dataclass(frozen=True)
class Unmask(OffSwitch):
    """A mask switched off: "causal" (decoder self-attention sees the future) or "padding" (<pad> is seen)."""

    mask: str
    where: Where = EVERYWHERE

    PARAMS = tuple(MASKED)
    EXAMPLES = ("causal=off", "causal=off@decoder_self.1", "padding=off", "padding=off@cross.2.1")
    TEXTS = (
        OffTexts(N_("causal mask off"), N_("causal mask off in {heads}"), N_("Causal mask"), N_(
            "Hides later tokens from decoder self-attention, so that a prediction depends only on earlier tokens "
            "(section 3.2.3).")),
        OffTexts(N_("padding mask off"), N_("padding mask off in {heads}"), N_("Padding mask"), N_(
            "Hides <pad>, which fills up the shorter sentences of a batch. Pad the source, then switch the mask off: "
            "attention leaks to <pad>.")),
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mask not in self.PARAMS:
            raise unknown(N_("unknown mask {value}; choose {names}"), self.mask, self.PARAMS)
        if self.where.kind is not None and self.where.kind not in self.kinds:
            raise InterventionError(
                "the {mask} mask belongs to {kinds}, not to {kind}; leave the kind out",
                mask=self.mask,
                kinds=" and ".join(self.kinds),
                kind=self.where.kind,
            )

    @property
    def param(self) -> str:
        return self.mask

    @classmethod
    def kinds_of(cls, param: str) -> tuple[str, ...]:
        return MASKED[param]

    @classmethod
    def off(cls, param: str, where: Where) -> Unmask:
        return cls(param, where)

    @property
    def leaks(self) -> bool:
        return self.mask == "causal"

    def reaches(self, kind: str, layer: int, head: int) -> bool:
        """A batch also pads shorter targets: then <pad> is seen there too, unless a kind is named."""
        kinds = (*self.kinds, "decoder_self") if self.mask == "padding" else self.kinds
        return kind in kinds and self.where.covers(kind, layer, head)

    @classmethod
    def edit_heads(cls, heads: Sequence[Sequence[Unmask]], sub_layer: SubLayer) -> dict[str, Edit]:
        causal, padding = (
            [any(switch.mask == mask for switch in switches) for switches in heads] for mask in cls.PARAMS
        )

        return {"mask": lambda mask: opened(mask, per_head(padding, mask), per_head(causal, mask), sub_layer)}


def opened(mask: Tensor, padding: Tensor, causal: Tensor, sub_layer: SubLayer) -> Tensor:
    """The mask without the parts that are switched off.

    mask: [batch, head, query, key]; padding, causal: of every head whether that part is off, [head, 1, 1].
    """
    if sub_layer.kind != "decoder_self":
        return mask | padding
    queries, keys = mask.shape[-2:]  # only the last query while decoding with a cache
    past = torch.ones_like(mask[0, 0])
    if sub_layer.config.causal:
        past = past.tril(keys - queries)
    real = mask[..., -1:, :]  # the last row hides no future
    return (past | causal) & (real | padding)
